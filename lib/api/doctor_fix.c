/* What this user may not read on this machine, and the lines by which an administrator would change that. Nothing is done. */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/early.h"
#include "collect/energy/energy_relay.h"
#include "collect/process/events.h"
#include "collect/process/identity.h"

/* Numbers of capabilities(7), in linux/capability.h. */
enum { DAC_READ_SEARCH = 2, NET_ADMIN = 12, SYS_PTRACE = 19, SYS_ADMIN = 21, PERFMON = 38, NO_CAPABILITY = -1 };

struct machine {
    const struct gt_root *root;
    unsigned long long capabilities; /* in effect */
    char group[64];                  /* of the device that may not be opened */
};

static bool has(const struct machine *machine, int capability)
{
    return machine->capabilities >> capability & 1;
}

static bool is_denied(const struct machine *machine, const char *path, int mode)
{
    int status = gt_root_access(machine->root, path, mode);
    return status == -EACCES || status == -EPERM;
}

static bool exists(const struct machine *machine, const char *path)
{
    return gt_root_access(machine->root, path, F_OK) == 0;
}

/* kernel/events/core.c: above 0, events of a whole CPU take CAP_PERFMON; CAP_SYS_ADMIN before Linux 5.8. */
static bool is_perf_denied(struct machine *machine)
{
    char text[16] = "2";
    gt_root_read(machine->root, "proc/sys/kernel/perf_event_paranoid", text, sizeof text);
    return exists(machine, "sys/bus/event_source/devices/power/type") && strtol(text, NULL, 10) > 0 &&
           !has(machine, PERFMON) && !has(machine, SYS_ADMIN) && !(machine->root->is_machine && gt_early_has("perf/"));
}

static bool is_powercap_denied(struct machine *machine)
{
    static const char *const zones[] = {"intel-rapl:0", "intel-rapl:1", "intel-rapl-mmio:0"};
    char path[128];
    bool any = false;
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        snprintf(path, sizeof path, "sys/class/powercap/%s/energy_uj", zones[i]);
        any |= is_denied(machine, path, R_OK) && !(machine->root->is_machine && gt_early_has(path));
    }
    return any;
}

static bool is_relay_denied(struct machine *machine)
{
    return is_denied(machine, &GT_ENERGY_RELAY_SOCKET[1], W_OK);
}

static bool is_relay_wanted(struct machine *machine)
{
    return !exists(machine, &GT_ENERGY_RELAY_SOCKET[1]) && (is_perf_denied(machine) || is_powercap_denied(machine));
}

static bool are_records_denied(struct machine *machine)
{
    return !has(machine, NET_ADMIN) && !(machine->root->is_machine && gt_events_has_early(GT_EVENTS_RECORDS));
}

static bool are_others_denied(struct machine *machine)
{
    return !has(machine, SYS_PTRACE);
}

/* The name of a group by the machine's own file, or its number. */
static void name_group(const struct gt_root *root, gid_t gid, char *ret, size_t size)
{
    char text[65536];
    snprintf(ret, size, "%u", (unsigned)gid);
    if (gt_root_read(root, "etc/group", text, sizeof text) <= 0)
        return;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *password = strchr(line, ':'), *number = password ? strchr(password + 1, ':') : NULL;
        if (number && strtoul(number + 1, NULL, 10) == gid && (size_t)(password - line) < size) {
            snprintf(ret, size, "%.*s", (int)(password - line), line);
            return;
        }
    }
}

static bool is_member(gid_t gid)
{
    gid_t groups[256];
    int count = getgroups(sizeof groups / sizeof *groups, groups);
    bool is = getegid() == gid;
    for (int i = 0; i < count; i++)
        is |= groups[i] == gid;
    return is;
}

/* proc(5): who is in the group of the mount sees all processes, but with hidepid=ptraceable. */
static bool is_proc_hidden(const struct machine *machine, bool *has_group)
{
    char text[65536];
    *has_group = false;
    if (has(machine, SYS_PTRACE) || gt_root_read(machine->root, "proc/mounts", text, sizeof text) <= 0)
        return false;
    const char *line = !strncmp(text, "proc /proc proc ", 16) ? text : strstr(text, "\nproc /proc proc ");
    size_t length = line ? strcspn(line + 1, "\n") + 1 : 0;
    const char *hidden = line ? memmem(line, length, "hidepid=", 8) : NULL;
    const char *group = line ? memmem(line, length, ",gid=", 5) : NULL;
    if (!hidden || hidden[8] == '0' || !strncmp(hidden + 8, "off", 3))
        return false;
    bool by_ptrace = hidden[8] == '4' || !strncmp(hidden + 8, "ptraceable", 10);
    *has_group = group && !by_ptrace;
    return !*has_group || !is_member((gid_t)strtoul(group + 5, NULL, 10));
}

static bool is_proc_hidden_from_all(struct machine *machine)
{
    bool has_group;
    return is_proc_hidden(machine, &has_group) && !has_group;
}

static bool is_proc_hidden_but_for_a_group(struct machine *machine)
{
    bool has_group;
    return is_proc_hidden(machine, &has_group) && has_group;
}

static bool are_devices_denied(struct machine *machine)
{
    static const char *const devices[] = {"dev/nvidiactl", "dev/nvidia0", "dev/kfd", "dev/dri/renderD128",
                                          "dev/dri/renderD129"};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        gid_t gid;
        if (!is_denied(machine, devices[i], R_OK | W_OK) || gt_root_group(machine->root, devices[i], &gid) < 0)
            continue;
        name_group(machine->root, gid, machine->group, sizeof machine->group);
        return true;
    }
    return false;
}

#define SIDE_CHANNEL \
    "energy read every millisecond tells what other programs compute: keys were found so (PLATYPUS, CVE-2020-8694)"

/* In the order of the text; "%s" in a command is the group of the device. A fix without a command is part of the one setcap
 * line at the end. */
static const struct fix {
    bool (*is_denied)(struct machine *machine);
    const char *what, *command, *opens, *risk;
    int capability;
} fixes[] = {
    {is_relay_wanted, "CPU energy, for a group of users, coarsely",
     "sudo useradd --system --user-group --shell /usr/sbin/nologin gpu-tracker\n"
     "sudo usermod -aG gpu-tracker \"$USER\"\n"
     "sudo systemctl enable --now gpu-tracker-energy-relay.service",
     "joules of the whole machine, ten times a second, in steps of 0.1 J, to members of the group gpu-tracker",
     "least of the three ways to CPU energy: too coarse for the attacks that are known on single operations",
     NO_CAPABILITY},
    {is_relay_denied, "CPU energy from the relay that runs",
     "sudo usermod -aG \"$(stat -c %%G " GT_ENERGY_RELAY_SOCKET ")\" \"$USER\"",
     "joules of the whole machine, ten times a second, in steps of 0.1 J, to this user", "as above", NO_CAPABILITY},
    {is_perf_denied, "CPU energy by perf events", NULL,
     "joules of the whole machine, exactly and as often as wanted, to whoever executes gpu-tracker", SIDE_CHANNEL,
     PERFMON},
    {is_powercap_denied, "CPU energy by powercap",
     "sudo groupadd --system --force energy\n"
     "sudo usermod -aG energy \"$USER\"\n"
     "printf 'z /sys/devices/virtual/powercap/%%s/energy_uj 0440 root energy - -\\n' '*/*' '*/*/*' | "
     "sudo tee /etc/tmpfiles.d/energy.conf\n"
     "sudo systemd-tmpfiles --create /etc/tmpfiles.d/energy.conf",
     "the energy counters, to every program of the members of the group energy; in force again after each start",
     SIDE_CHANNEL, NO_CAPABILITY},
    {are_records_denied, "what processes used that ended between two samples (taskstats)", NULL,
     "what all processes used when they ended, to whoever executes gpu-tracker",
     "the capability is far wider than its use here: until it is given up, a fault in gpu-tracker could change the network",
     NET_ADMIN},
    {are_others_denied, "memory and bytes of other users' processes, for serve --all (for attach: as root)",
     "sudo mkdir -p /etc/systemd/system/gpu-tracker-serve.service.d\n"
     "printf '[Service]\\nAmbientCapabilities=CAP_SYS_PTRACE\\nCapabilityBoundingSet=CAP_SYS_PTRACE\\n' | "
     "sudo tee /etc/systemd/system/gpu-tracker-serve.service.d/others.conf\n"
     "sudo systemctl daemon-reload\n"
     "sudo systemctl enable --now gpu-tracker-serve.service",
     "every other process, its memory included, to the service, which shows sums of it to whoever may ask it",
     "a fault in the service could read other users' data; a file capability would be given up before it is of use",
     NO_CAPABILITY},
    {is_proc_hidden_from_all, "other users' processes, which /proc hides (hidepid; for serve --all)",
     "sudo groupadd --system --force proc\n"
     "sudo usermod -aG proc \"$USER\"\n"
     "sudo mount -o remount,hidepid=invisible,gid=\"$(getent group proc | cut -d: -f3)\" /proc",
     "names, command lines and use of all processes, to every program of the members of the group proc, until the next start "
     "(in /etc/fstab for good)",
     "command lines may hold passwords; without it other users and their GPU shares are missing", NO_CAPABILITY},
    {is_proc_hidden_but_for_a_group,
     "other users' processes, which /proc shows to one group (hidepid; for serve --all)",
     "sudo usermod -aG \"$(grep -m1 ' /proc proc ' /proc/mounts | grep -o 'gid=[0-9]*' | cut -d= -f2)\" \"$USER\"",
     "names, command lines and use of all processes, to every program of this user",
     "command lines may hold passwords; without it other users and their GPU shares are missing", NO_CAPABILITY},
    {are_devices_denied, "GPUs whose device files this user may not open", "sudo usermod -aG %s \"$USER\"",
     "the GPUs, to every program of this user, for computing as well as for reading",
     "the user can take GPU time and memory from others", NO_CAPABILITY},
};
enum { FIXES = sizeof fixes / sizeof *fixes };

static const char *capability_name(int capability)
{
    return capability == PERFMON ? "cap_perfmon" : "cap_net_admin";
}

static void write_fix(struct gt_buffer *out, const struct fix *fix, const struct machine *machine)
{
    gt_buffer_printf(out, "# %s\n#   opens: %s\n#   risk: %s\n", fix->what, fix->opens, fix->risk);
    if (fix->capability != NO_CAPABILITY)
        gt_buffer_printf(out, "#   by: %s, in the line at the end\n", capability_name(fix->capability));
    else
        gt_buffer_printf(out, fix->command, machine->group);
    gt_buffer_text(out, fix->capability == NO_CAPABILITY ? "\n\n" : "\n");
}

/* setcap replaces what was set before, so there is one line for all. */
static void write_capabilities(struct gt_buffer *out, const bool denied[FIXES])
{
    bool any = false;
    for (int i = 0; i < FIXES; i++) {
        if (!denied[i] || fixes[i].capability == NO_CAPABILITY)
            continue;
        gt_buffer_text(
            out,
            any ? ","
                : "# Leave out what is not wanted. It is given up once the counters are open, and commands that gpu-tracker starts get "
                  "nothing of it.\n"
                  "sudo setcap ");
        gt_buffer_text(out, capability_name(fixes[i].capability));
        any = true;
    }
    if (any)
        gt_buffer_text(out, "+ep \"$(command -v gpu-tracker)\"\n");
}

static int read_capabilities(struct machine *machine, struct gt_error *error)
{
    char text[4096];
    ssize_t length = gt_root_read(machine->root, "proc/self/status", text, sizeof text);
    const char *line = length > 0 ? strstr(text, "\nCapEff:") : NULL;
    if (!line)
        return gt_error_set(error, length < 0 ? (int)-length : EIO, "/proc/self/status does not tell capabilities");
    machine->capabilities = strtoull(line + strlen("\nCapEff:"), NULL, 16);
    return 0;
}

static int write_all(struct machine *machine, struct gt_buffer *out)
{
    bool denied[FIXES];
    int count = 0;
    for (int i = 0; i < FIXES; i++)
        count += denied[i] = fixes[i].is_denied(machine);
    gt_buffer_text(out, count ? "# For an administrator to choose from. Nothing was changed.\n\n"
                              : "# Nothing is denied to this user that gpu-tracker reads on this machine.\n");
    for (int i = 0; i < FIXES; i++)
        if (denied[i])
            write_fix(out, &fixes[i], machine);
    write_capabilities(out, denied);
    return count > 0;
}

int gt_doctor_fix(const char *machine_root, char **ret, size_t *length, struct gt_error *error)
{
    struct gt_root root = {.fd = -1};
    struct machine machine = {.root = &root};
    struct gt_buffer out = {0};
    int status = gt_root_open(&root, machine_root, error);
    if (status >= 0)
        status = read_capabilities(&machine, error);
    if (status >= 0)
        status = write_all(&machine, &out);
    gt_root_close(&root);
    if (status >= 0 && out.failed)
        status = gt_error_system(error, -out.failed, "doctor");
    if (status < 0) {
        gt_buffer_release(&out);
        return status;
    }
    *ret = out.data;
    *length = out.length;
    return status;
}
