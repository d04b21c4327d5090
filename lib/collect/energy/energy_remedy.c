/* Energy counters that this user may not read: by the relay, by perf events, by powercap. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/early.h"
#include "collect/remedy.h"

/* kernel/events/core.c: above 0, events of a whole CPU take CAP_PERFMON; CAP_SYS_ADMIN before Linux 5.8. */
static bool is_perf_denied(struct gt_access *access)
{
    char text[16] = "2";
    gt_root_read(access->root, "proc/sys/kernel/perf_event_paranoid", text, sizeof text);
    return gt_access_exists(access, "sys/bus/event_source/devices/power/type") && strtol(text, NULL, 10) > 0 &&
           !gt_access_has(access, GT_CAPABILITY_PERFMON) && !gt_access_has(access, GT_CAPABILITY_SYS_ADMIN) &&
           !(access->root->is_machine && gt_early_has("perf/"));
}

static bool is_powercap_denied(struct gt_access *access)
{
    static const char *const zones[] = {"intel-rapl:0", "intel-rapl:1", "intel-rapl-mmio:0"};
    char path[128];
    bool any = false;
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        snprintf(path, sizeof path, "sys/class/powercap/%s/energy_uj", zones[i]);
        any |= gt_access_is_denied(access, path, R_OK) && !(access->root->is_machine && gt_early_has(path));
    }
    return any;
}

static bool is_relay_denied(struct gt_access *access)
{
    return gt_access_is_denied(access, &GT_ENERGY_RELAY_SOCKET[1], W_OK);
}

static bool is_relay_wanted(struct gt_access *access)
{
    return !gt_access_exists(access, &GT_ENERGY_RELAY_SOCKET[1]) &&
           (is_perf_denied(access) || is_powercap_denied(access));
}

#define SIDE_CHANNEL \
    "energy read every millisecond tells what other programs compute: keys were found so (PLATYPUS, CVE-2020-8694)"

const struct gt_remedy gt_energy_remedies[] = {
    {is_relay_wanted, "CPU energy, for a group of users, coarsely",
     "sudo useradd --system --user-group --shell /usr/sbin/nologin gpu-tracker\n"
     "sudo usermod -aG gpu-tracker \"$USER\"\n"
     "sudo systemctl enable --now gpu-tracker-energy-relay.service",
     "joules of the whole machine, ten times a second, in steps of 0.1 J, to members of the group gpu-tracker",
     "least of the three ways to CPU energy: too coarse for the attacks that are known on single operations",
     GT_NO_CAPABILITY},
    {is_relay_denied, "CPU energy from the relay that runs",
     "sudo usermod -aG \"$(stat -c %%G " GT_ENERGY_RELAY_SOCKET ")\" \"$USER\"",
     "joules of the whole machine, ten times a second, in steps of 0.1 J, to this user", "as above", GT_NO_CAPABILITY},
    {is_perf_denied, "CPU energy by perf events", NULL,
     "joules of the whole machine, exactly and as often as wanted, to whoever executes gpu-tracker", SIDE_CHANNEL,
     GT_CAPABILITY_PERFMON},
    {is_powercap_denied, "CPU energy by powercap",
     "sudo groupadd --system --force energy\n"
     "sudo usermod -aG energy \"$USER\"\n"
     "printf 'z /sys/devices/virtual/powercap/%%s/energy_uj 0440 root energy - -\\n' '*/*' '*/*/*' | "
     "sudo tee /etc/tmpfiles.d/energy.conf\n"
     "sudo systemd-tmpfiles --create /etc/tmpfiles.d/energy.conf",
     "the energy counters, to every program of the members of the group energy; in force again after each start",
     SIDE_CHANNEL, GT_NO_CAPABILITY},
    {0},
};
