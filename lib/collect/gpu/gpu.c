#include "collect/gpu/gpu.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/number.h"
#include "collect/process/process.h"
#include "collect/collector.h"

enum { MAX_PID = 4194304 }; /* PID_MAX_LIMIT of the kernel */

static const int64_t longest_wait_ns = 10 * GT_SECOND;

bool gt_rate_limit_due(const struct gt_rate_limit *limit, const struct gt_snapshot *snapshot, int64_t now_ns)
{
    return snapshot->is_last || now_ns >= limit->next_ns;
}

void gt_rate_limit_spent(struct gt_rate_limit *limit, int64_t start_ns, int64_t end_ns)
{
    int64_t spent = end_ns - start_ns;
    if (limit->cost_ns && spent > 4 * limit->cost_ns)
        spent = 4 * limit->cost_ns;
    limit->cost_ns = spent;
    limit->first_ns = limit->first_ns ? limit->first_ns : start_ns;
    double wait = fmin((double)spent / limit->share, (double)(end_ns - limit->first_ns));
    limit->next_ns = start_ns + (wait < (double)longest_wait_ns ? (int64_t)wait : longest_wait_ns);
}

uint32_t gt_row_u32(const unsigned char *row, size_t offset)
{
    uint32_t value;
    memcpy(&value, row + offset, sizeof value);
    return value;
}

uint64_t gt_row_u64(const unsigned char *row, size_t offset)
{
    uint64_t value;
    memcpy(&value, row + offset, sizeof value);
    return value;
}

const struct gt_row_layout *gt_row_layout_find(const unsigned char *rows, size_t capacity, size_t count, size_t slack,
                                               const struct gt_row_layout *layouts, size_t layout_count)
{
    size_t written = capacity;
    while (written > 0 && rows[written - 1] == GT_ROW_PATTERN)
        written--;
    for (size_t i = 0; i < layout_count; i++) {
        size_t whole = count * layouts[i].size;
        bool fits = whole <= capacity && written <= whole && written + slack > whole;
        for (size_t k = 0; k < count && fits; k++) {
            uint32_t pid = gt_row_u32(rows + k * layouts[i].size, layouts[i].pid);
            fits = pid > 0 && pid <= MAX_PID;
        }
        if (fits)
            return &layouts[i];
    }
    return NULL;
}

bool gt_brand_wanted(const struct gt_collect_options *options, const char *brand)
{
    return !options->gpu_brand || !strcasecmp(options->gpu_brand, brand);
}

void gt_pci_name(char text[16], unsigned domain, unsigned bus, unsigned device, unsigned function)
{
    snprintf(text, 16, "%04x:%02x:%02x.%x", domain & 0xffff, bus & 0xff, device & 0x1f, function & 0x7);
}

bool gt_pci_is_asleep(const struct gt_root *root, const char *pci)
{
    char status[32] = "";
    if (*pci)
        gt_root_read_line(root, status, sizeof status, "sys/bus/pci/devices/%.15s/power/runtime_status", pci);
    return !strncmp(status, "suspend", strlen("suspend"));
}

bool gt_pci_known(const struct gt_snapshot *snapshot, const char *pci)
{
    for (size_t i = 0; i < snapshot->device_count; i++)
        if (*pci && !strcasecmp(snapshot->device[i].pci, pci))
            return true;
    return false;
}

/* ---- Energy ------------------------------------------------------------------------------------------------------- */

/* A counter that is off by this factor is wrong. */
static const double TOLERANCE = 4;
/* Joules below which nothing is judged. */
static const double LEAST_JOULES = 50;

static bool are_alike(double counted, double expected)
{
    return counted < expected * TOLERANCE && counted > expected / TOLERANCE;
}

static void add_reading(struct gt_energy_window *window, double counted, double expected, double seconds)
{
    window->counted += counted;
    window->expected += expected;
    window->seconds += seconds;
}

static void compare(struct gt_gpu_meter *meter, int64_t now_ns, double joules, double watts)
{
    static const double shortest_window = 2;
    if (isnan(joules) || isnan(watts))
        return;
    if (!isnan(meter->joules)) {
        double seconds = (double)(now_ns - meter->compared_ns) / 1e9, expected = seconds * (watts + meter->watts) / 2;
        add_reading(&meter->window, joules - meter->joules, expected, seconds);
        add_reading(&meter->all, joules - meter->joules, expected, seconds);
        if (meter->window.seconds >= shortest_window && meter->window.expected >= LEAST_JOULES) {
            bool is_alike = are_alike(meter->window.counted, meter->window.expected);
            meter->has_agreed |= is_alike;
            meter->disagreements = is_alike ? 0 : meter->disagreements + 1;
            meter->is_wrong |= meter->disagreements > 1;
            meter->window = (struct gt_energy_window){0};
        }
    }
    meter->joules = joules;
    meter->watts = watts;
    meter->compared_ns = now_ns;
}

static double better(const struct gt_gpu_meter *meter, double counted, double summed)
{
    static const double least_joules = 5;
    if (isnan(summed))
        return meter->is_wrong ? NAN : counted;
    if (isnan(counted))
        return meter->has_agreed && !meter->is_wrong ? NAN : summed;
    bool is_odd = !meter->has_agreed && fabs(counted - summed) > least_joules && !are_alike(counted, summed);
    return meter->is_wrong || is_odd ? summed : counted;
}

static bool has_enough(const struct gt_energy_window *all)
{
    static const double shortest = 4;
    return all->seconds >= shortest && fmax(all->counted, all->expected) >= LEAST_JOULES;
}

static bool agrees(const struct gt_energy_window *all)
{
    static const double most_apart = 0.25;
    return fabs(all->counted - all->expected) <= most_apart * fmax(all->counted, all->expected);
}

void gt_gpu_begin(struct gt_gpu_base *gpu, const struct gt_snapshot *snapshot)
{
    *gpu = (struct gt_gpu_base){.device = (int)snapshot->device_count - 1,
                                .meter = {.counter.last = NAN, .integral.watts = NAN, .joules = NAN}};
    gt_values_clear(gpu->value);
}

bool gt_gpu_rest(struct gt_gpu_base *gpu, bool is_asleep, int64_t now_ns)
{
    gpu->is_asleep = is_asleep;
    if (!is_asleep)
        return false;
    gt_values_clear(gpu->value);
    if (!isnan(gpu->meter.integral.watts))
        gt_power_integrate(&gpu->meter.integral, now_ns, 0);
    gpu->meter.joules = NAN;
    return true;
}

double gt_gpu_energy(struct gt_gpu_base *gpu, int64_t now_ns, double joules, double watts)
{
    struct gt_gpu_meter *meter = &gpu->meter;
    double summed = gt_power_integrate(&meter->integral, now_ns, watts);
    double counted = gt_energy_counter_read(&meter->counter, joules);
    /* A counter that was set back lost what was drawn between two readings; power has it. */
    bool was_set_back = meter->counter.resets > meter->bridged;
    if (was_set_back && summed > meter->summed)
        meter->counter.total += summed - meter->summed;
    else if (was_set_back)
        meter->doubt = INFINITY;
    meter->bridged = meter->counter.resets;
    meter->summed = summed;
    counted = isnan(counted) ? NAN : meter->counter.total;
    compare(meter, now_ns, counted, watts);
    double chosen = better(meter, counted, summed);
    meter->read_ns = now_ns;
    meter->shown = fmax(meter->shown, chosen);
    return isnan(chosen) || gpu->is_left_out ? NAN : meter->shown;
}

/* The doubt since the last call: also the joules by which counter and power have come to disagree. */
static double take_doubt(struct gt_gpu_meter *meter)
{
    bool is_apart = has_enough(&meter->all) && !agrees(&meter->all);
    double apart = is_apart ? fabs(meter->all.counted - meter->all.expected) : 0;
    double by_power = gt_power_doubt(&meter->integral), by_counter = meter->doubt + fmax(0, apart - meter->doubted);
    meter->doubt = 0;
    if (meter->is_wrong || isnan(meter->counter.last))
        return by_power;
    meter->doubted = fmax(meter->doubted, apart);
    return by_counter;
}

void gt_gpu_publish(struct gt_gpu_base *gpu, struct gt_snapshot *snapshot, const struct gt_collector_type *type,
                    bool is_new)
{
    struct gt_device *device = &snapshot->device[gpu->device];
    for (size_t i = 0; i < type->metric_count; i++)
        device->value[type->metrics[i]] = gpu->value[type->metrics[i]];
    device->is_resting = gpu->is_asleep;
    device->is_old = !is_new;
    device->read_ns = gpu->meter.read_ns;
    device->doubt = take_doubt(&gpu->meter);
}

int gt_gpu_report(struct gt_gpu_base *gpu, const struct gt_snapshot *snapshot, struct gt_error *error)
{
    const struct gt_device *device = &snapshot->device[gpu->device];
    struct gt_gpu_meter *meter = &gpu->meter;
    if (meter->is_wrong && !meter->is_wrong_reported) {
        meter->is_wrong_reported = true;
        return gt_error_set(error, EIO,
                            "GPU %d (%s, %s): its energy counter contradicts its power; the power is added up instead",
                            device->index, device->name, device->uuid);
    }
    if (meter->is_wrong || meter->is_difference_reported || !meter->has_agreed || !has_enough(&meter->all) ||
        agrees(&meter->all))
        return 0;
    meter->is_difference_reported = true;
    return gt_error_set(error, EIO,
                        "GPU %d (%s, %s): its energy counter has %.4g J, and its power adds up to %.4g J, in %.3g s; "
                        "the counter is used",
                        device->index, device->name, device->uuid, meter->all.counted, meter->all.expected,
                        meter->all.seconds);
}

void gt_gpu_describe(const struct gt_gpu_base *gpu, char *text, size_t size)
{
    const struct gt_energy_window *all = &gpu->meter.all;
    *text = '\0';
    if (has_enough(all))
        snprintf(text, size, "counter %.4g J, power added up %.4g J in %.4g s: they %s, the %s is used", all->counted,
                 all->expected, all->seconds, agrees(all) ? "agree" : "disagree",
                 gpu->meter.is_wrong ? "power" : "counter");
}

/* ---- Choice of devices -------------------------------------------------------------------------------------------- */

enum { MAX_NAME = 128 };

/* A name may be a UUID, the first part of one, the index of a board, or "MIG-GPU-<uuid of the board>/<gpu instance>/<compute
 * instance>", as drivers before R470 named slices. */
enum fit { NO_FIT, PREFIX, EXACT, FITS };

static enum fit fit_of(const struct gt_snapshot *snapshot, const struct gt_device *device, const char *name)
{
    char slice[MAX_NAME] = "";
    int64_t index;
    size_t length = strlen(name);
    if (device->parent >= 0 && device->gpu_instance >= 0)
        snprintf(slice, sizeof slice, "MIG-%s/%d/%d", snapshot->device[device->parent].uuid, device->gpu_instance,
                 device->compute_instance);
    if (!strcasecmp(device->uuid, name) || !strcasecmp(slice, name))
        return EXACT;
    if (strspn(name, "0123456789") == length)
        return device->parent < 0 && gt_number_i64(name, &index) == 0 && index == device->index ? EXACT : NO_FIT;
    return strncasecmp(device->uuid, name, length) ? NO_FIT : PREFIX;
}

static int refuse(const struct gt_snapshot *snapshot, const char *name, const char *why, struct gt_error *error)
{
    char known[300] = "none";
    size_t used = 0;
    for (size_t i = 0; i < snapshot->device_count && used < sizeof known - 1; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", snapshot->device[i].uuid);
    return gt_error_set(error, EINVAL, "GPU \"%.80s\" %s; known: %s", name, why, known);
}

static int find(const struct gt_snapshot *snapshot, const char *name, int *ret, struct gt_error *error)
{
    int count[FITS] = {0}, last[FITS] = {0};
    for (size_t i = 0; i < snapshot->device_count; i++) {
        enum fit fit = fit_of(snapshot, &snapshot->device[i], name);
        count[fit]++;
        last[fit] = (int)i;
    }
    enum fit best = count[EXACT] ? EXACT : PREFIX;
    if (!count[best])
        return refuse(snapshot, name, "is not there", error);
    if (count[best] > 1)
        return refuse(snapshot, name, "fits more than one device", error);
    *ret = last[best];
    return 0;
}

static int choose(const struct gt_snapshot *snapshot, const char *text, bool *chosen, struct gt_error *error)
{
    int status = 0;
    for (const char *list = text, *rest; list && status == 0; list = rest) {
        char name[MAX_NAME];
        int device = 0;
        list += strspn(list, " \t");
        size_t length = strcspn(list, ",");
        rest = list[length] ? list + length + 1 : NULL;
        while (length && isspace((unsigned char)list[length - 1]))
            length--;
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        status = *name ? find(snapshot, name, &device, error)
                       : gt_error_set(error, EINVAL, "GPU list \"%.100s\": a name is missing", text);
        for (size_t i = 0; i < snapshot->device_count && status == 0; i++)
            chosen[i] |= (int)i == device || snapshot->device[i].parent == device;
    }
    return status;
}

int gt_devices_named(const struct gt_snapshot *snapshot, const char *text, uint64_t *ret)
{
    bool *chosen = calloc(snapshot->device_count + 1, sizeof *chosen);
    int status = chosen ? choose(snapshot, text, chosen, NULL) : -ENOMEM;
    *ret = 0;
    for (size_t i = 0; status == 0 && i < snapshot->device_count && i < 64; i++)
        *ret |= (uint64_t)chosen[i] << i;
    free(chosen);
    return status;
}

int gt_device_select(struct gt_snapshot *snapshot, const char *text, struct gt_error *error)
{
    bool selects_all = !text || !text[strspn(text, " \t")];
    bool *chosen = calloc(snapshot->device_count + 1, sizeof *chosen);
    if (!chosen)
        return gt_error_set(error, ENOMEM, "selecting GPUs: no memory");
    int status = selects_all ? 0 : choose(snapshot, text, chosen, error);
    for (size_t i = 0; i < snapshot->device_count && status == 0; i++)
        snapshot->device[i].selected = selects_all || chosen[i];
    free(chosen);
    return status;
}

/* ---- Process numbers of drivers ----------------------------------------------------------------------------------- */

void gt_gpu_pids_open(struct gt_gpu_pids *map, const struct gt_root *root)
{
    *map = (struct gt_gpu_pids){.root = root, .is_initial = gt_pid_namespace_is_initial(root)};
}

enum holds { HOLDS_NOT, HOLDS, HOLDS_UNKNOWN };

static enum holds holds_file(const struct gt_root *root, unsigned pid, const char *file)
{
    char path[48], link[64];
    snprintf(path, sizeof path, "proc/%u/fd", pid);
    DIR *directory = file ? gt_root_list(root, path) : NULL;
    if (!directory)
        return HOLDS_UNKNOWN;
    enum holds holds = HOLDS_NOT;
    for (struct dirent *entry; holds == HOLDS_NOT && (entry = readdir(directory));) {
        ssize_t length = readlinkat(dirfd(directory), entry->d_name, link, sizeof link - 1);
        if (length > 0) {
            link[length] = '\0';
            holds = !strcmp(link, file) ? HOLDS : HOLDS_NOT;
        }
    }
    closedir(directory);
    return holds;
}

static pid_t find_same(const struct gt_gpu_pids *map, const char *file, unsigned driver_pid)
{
    char path[32];
    snprintf(path, sizeof path, "proc/%u", driver_pid);
    bool is_visible = gt_root_access(map->root, path, F_OK) == 0;
    bool is_same = map->is_initial || (is_visible && holds_file(map->root, driver_pid, file) != HOLDS_NOT);
    return is_visible && is_same ? (pid_t)driver_pid : 0;
}

/* Returns true where one of the numbers that a process has in the namespaces below the tracker's is `wanted`. The first number of the
 * line is the one in the tracker's own. */
static bool has_namespace_pid(const struct gt_root *root, pid_t pid, unsigned wanted)
{
    char text[4096];
    if (gt_root_read_process(root, pid, "status", text, sizeof text) < 0)
        return false;
    char *at = strstr(text, "\nNSpid:");
    if (!at)
        return false;
    strtoul(at + strlen("\nNSpid:"), &at, 10);
    while (*(at += strspn(at, " \t")) >= '0' && *at <= '9')
        if (strtoul(at, &at, 10) == wanted)
            return true;
    return false;
}

static pid_t find_in_namespaces(const struct gt_gpu_pids *map, const struct gt_snapshot *snapshot, unsigned driver_pid)
{
    pid_t found = 0;
    for (size_t i = 0; i < snapshot->process_count; i++)
        if (has_namespace_pid(map->root, snapshot->process[i]->pid, driver_pid)) {
            if (found)
                return 0;
            found = snapshot->process[i]->pid;
        }
    return found;
}

static struct gt_pid_entry *entry_at(void *rows, size_t size, size_t number)
{
    return (void *)((char *)rows + number * size);
}

static pid_t find_only_holder(const struct gt_gpu_pids *map, const struct gt_snapshot *snapshot, const char *file,
                              void *rows, size_t count, size_t size)
{
    pid_t found = 0;
    for (size_t i = 0; i < snapshot->process_count; i++) {
        pid_t pid = snapshot->process[i]->pid;
        bool is_placed = false;
        for (size_t k = 0; k < count && !is_placed; k++)
            is_placed = entry_at(rows, size, k)->pid == pid;
        if (is_placed || holds_file(map->root, (unsigned)pid, file) != HOLDS)
            continue;
        if (found)
            return 0;
        found = pid;
    }
    return found;
}

void gt_gpu_pids_resolve(struct gt_gpu_pids *map, const struct gt_snapshot *snapshot, const char *file, void *rows,
                         size_t count, size_t size)
{
    struct gt_pid_entry *left = NULL;
    map->unknown = 0;
    for (size_t i = 0; i < count; i++) {
        struct gt_pid_entry *entry = entry_at(rows, size, i);
        if (entry->pid)
            continue;
        if ((entry->pid = find_same(map, file, entry->driver_pid)))
            map->methods |= GT_PID_SAME;
        else if ((entry->pid = find_in_namespaces(map, snapshot, entry->driver_pid)))
            map->methods |= GT_PID_NAMESPACE;
        else {
            left = entry;
            map->unknown++;
        }
    }
    if (map->unknown == 1 && file && !map->is_initial &&
        (left->pid = find_only_holder(map, snapshot, file, rows, count, size))) {
        map->methods |= GT_PID_EXCLUSIVE;
        map->unknown = 0;
    }
}

void gt_gpu_pids_describe(const struct gt_gpu_pids *map, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s%s", map->methods & GT_PID_SAME ? "process numbers as the driver gives them; " : "",
             map->methods & GT_PID_NAMESPACE ? "process numbers mapped by NSpid; " : "",
             map->methods & GT_PID_EXCLUSIVE ? "the only process of the job that holds the device; " : "",
             map->unknown ? "some process numbers belong to no visible process; " : "");
}

/* ---- Remedies and health ------------------------------------------------------------------------------------------ */

/* GPUs whose device files this user may not open. */

static bool are_devices_denied(struct gt_rights *access)
{
    static const char *const devices[] = {"dev/nvidiactl", "dev/nvidia0", "dev/kfd", "dev/dri/renderD128",
                                          "dev/dri/renderD129"};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        gid_t gid;
        if (!gt_access_is_denied(access, devices[i], R_OK | W_OK) || gt_root_group(access->root, devices[i], &gid) < 0)
            continue;
        snprintf(access->group, sizeof access->group, "%u", (unsigned)gid);
        gt_root_name_of(access->root, "etc/group", gid, access->group, sizeof access->group);
        return true;
    }
    return false;
}

const struct gt_remedy gt_gpu_remedies[] = {
    {are_devices_denied, "GPUs whose device files this user may not open", "sudo usermod -aG %s \"$USER\"",
     "the GPUs, to every program of this user, for computing as well as for reading",
     "the user can take GPU time and memory from others", GT_NO_CAPABILITY},
    {0},
};

void gt_gpu_survey_errors(struct gt_availability *ret, const char *source, const char *const *names,
                          const bool *is_counted, size_t count)
{
    int length = 0;
    bool is_any = false;
    *ret = (struct gt_availability){.state = GT_ABSENT, .refresh = NAN};
    snprintf(ret->source, sizeof ret->source, "%s", source);
    for (size_t i = 0; i < count; i++) {
        is_any |= is_counted[i];
        if (!is_counted[i] && (size_t)length < sizeof ret->reason)
            length += snprintf(ret->reason + length, sizeof ret->reason - (size_t)length, "%s%s",
                               length ? ", " : "missing: ", names[i]);
    }
    if (is_any)
        ret->state = GT_READY;
    else
        snprintf(ret->reason, sizeof ret->reason, "no GPU counts its errors");
}

bool gt_xid_is_of_program(double number)
{
    static const int of_programs[] = {13, 31, 43, 45, 68, 69};
    for (size_t i = 0; i < sizeof of_programs / sizeof *of_programs; i++)
        if (number == of_programs[i])
            return true;
    return false;
}
