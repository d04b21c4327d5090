#include "collect/collector.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"

const char gt_remedy_net_admin[] =
    "sudo setcap cap_net_admin+ep \"$(command -v gpu-tracker)\" (opens what all processes used when they "
    "ended, to whoever runs it; see gpu-tracker doctor --fix)";
const char gt_remedy_energy[] =
    "the energy relay (opens joules of the machine, coarsely, to a group of users); gpu-tracker doctor --fix "
    "has its lines, and other ways with what they open";
const char gt_remedy_delegate[] = "systemd-run --user --scope -p Delegate=yes gpu-tracker ...";

int gt_unavailable(struct gt_availability *availability, enum gt_source_state state, const char *remedy,
                   const char *reason, ...)
{
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(availability->reason, sizeof availability->reason, reason, arguments);
    va_end(arguments);
    snprintf(availability->remedy, sizeof availability->remedy, "%s", remedy ? remedy : "");
    availability->state = state;
    return 0;
}

#define COLLECTOR(name) extern const struct gt_collector_type gt_collector_##name;
#include "collect/collector.def"
#undef COLLECTOR

const struct gt_collector_type *const gt_collector_types[] = {
#define COLLECTOR(name) &gt_collector_##name,
#include "collect/collector.def"
#undef COLLECTOR
    NULL,
};
const size_t gt_collector_type_count = sizeof gt_collector_types / sizeof *gt_collector_types - 1;

bool gt_collector_is_of_energy(const struct gt_collector_type *type)
{
    for (size_t i = 0; i < type->metric_count; i++)
        if (gt_metrics[type->metrics[i]].unit != GT_JOULES)
            return false;
    return type->metric_count && type != &gt_collector_relay;
}

int gt_collector_open(const struct gt_collector_type *type, void **ret, const struct gt_collect_options *options,
                      struct gt_snapshot *snapshot, struct gt_availability *availability, struct gt_error *error)
{
    *availability = (struct gt_availability){.refresh = type->refresh};
    snprintf(availability->source, sizeof availability->source, "%s", type->source);
    *ret = calloc(1, type->state_size);
    int status = *ret ? type->open(*ret, options, snapshot, availability, error) : -ENOMEM;
    if (status >= 0 && availability->state == GT_READY)
        return 0;
    gt_collector_close(type, *ret);
    *ret = NULL;
    return status == -ENOMEM ? gt_error_system(error, ENOMEM, "collector %s", type->name) : status;
}

void gt_collector_close(const struct gt_collector_type *type, void *state)
{
    if (state && type->close)
        type->close(state);
    free(state);
}

struct gt_share *gt_snapshot_share(struct gt_snapshot *snapshot, int device, pid_t pid)
{
    for (size_t i = 0; i < snapshot->share_count; i++)
        if (snapshot->share[i].device == device && snapshot->share[i].pid == pid)
            return &snapshot->share[i];
    return gt_snapshot_add_share(snapshot, device, pid);
}

struct gt_share *gt_snapshot_add_share(struct gt_snapshot *snapshot, int device, pid_t pid)
{
    struct gt_share *share = GT_GROW(snapshot, share);
    if (!share)
        return NULL;
    share->device = device;
    share->pid = pid;
    gt_values_clear(share->value);
    return share;
}

struct gt_device *gt_snapshot_device(struct gt_snapshot *snapshot)
{
    struct gt_device *device = GT_GROW_BY_ONE(snapshot->device, snapshot->device_count);
    if (!device)
        return NULL;
    snapshot->device_count++;
    *device = (struct gt_device){
        .parent = -1, .gpu_instance = -1, .compute_instance = -1, .selected = true, .memory = NAN};
    gt_values_clear(device->value);
    return device;
}

const char *gt_collect_library(const struct gt_collect_options *options, const char *name)
{
    size_t length = strlen(name);
    for (const char *const *entry = options->library; entry && *entry; entry++)
        if (!strncmp(*entry, name, length) && (*entry)[length] == '=')
            return *entry + length + 1;
    return NULL;
}

int gt_collect_library_check(const char *const *library, struct gt_error *error)
{
    for (; library && *library; library++) {
        char known[200] = "";
        size_t length = strcspn(*library, "=");
        bool is_known = false;
        for (size_t i = 0; i < gt_collector_type_count; i++)
            for (const char *const *name = gt_collector_types[i]->libraries; name && *name; name++) {
                size_t used = strlen(known);
                is_known |= strlen(*name) == length && !strncmp(*library, *name, length);
                snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", *name);
            }
        if (!is_known || !(*library)[length] || !(*library)[length + 1])
            return gt_error_set(error, EINVAL, "library \"%.100s\" is not NAME=PATH with one of the names %s", *library,
                                known);
    }
    return 0;
}

bool gt_snapshot_claim(struct gt_snapshot *snapshot, enum gt_metric_id metric, const struct gt_collector_type *type)
{
    if (snapshot->owner[metric] && snapshot->owner[metric] != type)
        return false;
    snapshot->owner[metric] = type;
    return true;
}

bool gt_collector_fills(const struct gt_collector_type *type, enum gt_metric_id metric)
{
    for (size_t i = 0; i < type->metric_count; i++)
        if (type->metrics[i] == metric)
            return true;
    for (size_t i = 0; i < type->origin_count; i++)
        if (type->origins[i].metric == metric)
            return true;
    return false;
}

int gt_access_read(struct gt_rights *access, const struct gt_root *root, struct gt_error *error)
{
    char text[4096];
    *access = (struct gt_rights){.root = root};
    ssize_t length = gt_root_read(root, "proc/self/status", text, sizeof text);
    const char *line = length > 0 ? strstr(text, "\nCapEff:") : NULL;
    if (!line)
        return gt_error_set(error, length < 0 ? (int)-length : EIO, "/proc/self/status does not tell capabilities");
    access->capabilities = strtoull(line + strlen("\nCapEff:"), NULL, 16);
    return 0;
}

bool gt_access_has(const struct gt_rights *access, enum gt_capability capability)
{
    return access->capabilities >> capability & 1;
}

bool gt_access_is_denied(const struct gt_rights *access, const char *path, int mode)
{
    int status = gt_root_access(access->root, path, mode);
    return status == -EACCES || status == -EPERM;
}

bool gt_access_exists(const struct gt_rights *access, const char *path)
{
    return gt_root_access(access->root, path, F_OK) == 0;
}
