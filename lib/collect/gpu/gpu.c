#include "collect/gpu/gpu.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/number.h"
#include "collect/remedy.h"

enum { MAX_PID = 4194304 }; /* PID_MAX_LIMIT of the kernel */

static const int64_t longest_wait_ns = 10 * GT_SECOND;

bool gt_pace_due(const struct gt_pace *pace, const struct gt_frame *frame, int64_t now_ns)
{
    return frame->is_last || now_ns >= pace->next_ns;
}

void gt_pace_spent(struct gt_pace *pace, int64_t start_ns, int64_t end_ns)
{
    int64_t spent = end_ns - start_ns;
    if (pace->cost_ns && spent > 4 * pace->cost_ns)
        spent = 4 * pace->cost_ns;
    pace->cost_ns = spent;
    pace->first_ns = pace->first_ns ? pace->first_ns : start_ns;
    double wait = fmin((double)spent / pace->share, (double)(end_ns - pace->first_ns));
    pace->next_ns = start_ns + (wait < (double)longest_wait_ns ? (int64_t)wait : longest_wait_ns);
}

double gt_energy_counter_read(struct gt_energy_counter *counter, double joules)
{
    if (isnan(joules))
        return NAN;
    if (joules > counter->last)
        counter->total += joules - counter->last;
    counter->resets += joules < counter->last;
    counter->last = joules;
    return counter->total;
}

double gt_energy_counter_doubt(struct gt_energy_counter *counter)
{
    bool is_new = counter->resets > counter->told;
    counter->told = counter->resets;
    return is_new ? INFINITY : 0;
}

static void judge_window(struct gt_energy_check *check)
{
    static const double shortest_window = 2, least_joules = 50, tolerance = 4;
    if (check->seconds < shortest_window || check->expected < least_joules)
        return;
    bool agrees = check->counted < check->expected * tolerance && check->counted > check->expected / tolerance;
    check->has_agreed |= agrees;
    check->disagreements = agrees ? 0 : check->disagreements + 1;
    check->is_wrong |= check->disagreements > 1;
    check->counted = check->expected = check->seconds = 0;
}

static double better(const struct gt_energy_check *check, double counted, double summed)
{
    static const double tolerance = 4, least_joules = 5;
    if (isnan(summed))
        return check->is_wrong ? NAN : counted;
    if (isnan(counted))
        return check->has_agreed && !check->is_wrong ? NAN : summed;
    bool is_odd = !check->has_agreed && fabs(counted - summed) > least_joules &&
                  !(counted < summed * tolerance && counted > summed / tolerance);
    return check->is_wrong || is_odd ? summed : counted;
}

double gt_energy_choose(struct gt_energy_check *check, double counted, double summed)
{
    double joules = better(check, counted, summed);
    check->shown = fmax(check->shown, joules);
    return isnan(joules) ? NAN : check->shown;
}

/* There is enough to tell by. */
static bool is_told(const struct gt_energy_check *check)
{
    static const double shortest = 4, least_joules = 50;
    return check->all_seconds >= shortest && fmax(check->all_counted, check->all_expected) >= least_joules;
}

static bool agrees(const struct gt_energy_check *check)
{
    static const double most_apart = 0.25;
    return fabs(check->all_counted - check->all_expected) <= most_apart * fmax(check->all_counted, check->all_expected);
}

int gt_energy_check_report(struct gt_energy_check *check, const struct gt_device *device, struct gt_error *error)
{
    if (check->is_wrong && !check->is_wrong_told) {
        check->is_wrong_told = check->is_difference_told = true;
        return gt_error_set(error, EIO,
                            "GPU %d (%s, %s): its energy counter contradicts its power; the power is added up instead",
                            device->index, device->name, device->uuid);
    }
    if (check->is_wrong || check->is_difference_told || !check->has_agreed || !is_told(check) || agrees(check))
        return 0;
    check->is_difference_told = true;
    return gt_error_set(
        error, EIO,
        "GPU %d (%s, %s): its energy counter has %.4g J, and its power adds up to %.4g J, in %.3g s; the "
        "counter is used",
        device->index, device->name, device->uuid, check->all_counted, check->all_expected, check->all_seconds);
}

double gt_energy_check_doubt(struct gt_energy_check *check)
{
    bool is_apart = !check->is_wrong && is_told(check) && !agrees(check);
    double apart = is_apart ? fabs(check->all_counted - check->all_expected) : 0;
    double more = fmax(0, apart - check->doubted);
    check->doubted += more;
    return more;
}

int gt_energy_check_describe(const struct gt_energy_check *check, char *text, size_t size)
{
    if (!is_told(check))
        return snprintf(text, size, "%s", "");
    return snprintf(text, size, "counter %.4g J, power added up %.4g J in %.4g s: they %s, the %s is used",
                    check->all_counted, check->all_expected, check->all_seconds, agrees(check) ? "agree" : "disagree",
                    check->is_wrong ? "power" : "counter");
}

void gt_energy_check_add(struct gt_energy_check *check, int64_t now_ns, double joules, double watts)
{
    if (isnan(joules) || isnan(watts))
        return;
    if (!isnan(check->joules)) {
        double seconds = (double)(now_ns - check->last_ns) / 1e9;
        check->seconds += seconds;
        check->expected += seconds * (watts + check->watts) / 2;
        check->counted += joules - check->joules;
        check->all_seconds += seconds;
        check->all_expected += seconds * (watts + check->watts) / 2;
        check->all_counted += joules - check->joules;
        judge_window(check);
    }
    check->joules = joules;
    check->watts = watts;
    check->last_ns = now_ns;
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

static bool has_pids(const unsigned char *rows, size_t count, const struct gt_row_layout *layout)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t pid = gt_row_u32(rows + i * layout->size, layout->pid);
        if (pid == 0 || pid > MAX_PID)
            return false;
    }
    return true;
}

const struct gt_row_layout *gt_row_layout_find(const unsigned char *rows, size_t capacity, size_t count, size_t slack,
                                               const struct gt_row_layout *layouts, size_t layout_count)
{
    size_t written = capacity;
    while (written > 0 && rows[written - 1] == GT_ROW_PATTERN)
        written--;
    for (size_t i = 0; i < layout_count; i++) {
        size_t whole = count * layouts[i].size;
        if (whole <= capacity && written <= whole && written + slack > whole && has_pids(rows, count, &layouts[i]))
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
    char path[80], status[32];
    if (!*pci)
        return false;
    snprintf(path, sizeof path, "sys/bus/pci/devices/%.15s/power/runtime_status", pci);
    return gt_root_read(root, path, status, sizeof status) > 0 && !strncmp(status, "suspend", strlen("suspend"));
}

bool gt_pci_known(const struct gt_frame *frame, const char *pci)
{
    for (size_t i = 0; i < frame->device_count; i++)
        if (*pci && !strcasecmp(frame->device[i].pci, pci))
            return true;
    return false;
}

enum { MAX_NAME = 128 };

static bool is_index(const struct gt_device *device, const char *name)
{
    int64_t index;
    return device->parent < 0 && isdigit((unsigned char)*name) && gt_number_i64(name, &index) == 0 &&
           index == device->index;
}

/* "MIG-GPU-<uuid of the board>/<gpu instance>/<compute instance>", as drivers before R470 named slices. */
static bool is_old_slice(const struct gt_frame *frame, const struct gt_device *device, const char *name)
{
    char known[MAX_NAME];
    if (device->parent < 0 || device->gpu_instance < 0)
        return false;
    snprintf(known, sizeof known, "MIG-%s/%d/%d", frame->device[device->parent].uuid, device->gpu_instance,
             device->compute_instance);
    return !strcasecmp(known, name);
}

static bool is_exact(const struct gt_frame *frame, const struct gt_device *device, const char *name)
{
    return !strcasecmp(device->uuid, name) || is_index(device, name) || is_old_slice(frame, device, name);
}

static bool is_prefix(const struct gt_frame *frame, const struct gt_device *device, const char *name)
{
    (void)frame;
    size_t length = strlen(name);
    bool is_number = strspn(name, "0123456789") == length;
    return !is_number && !strncasecmp(device->uuid, name, length);
}

static int count_matches(const struct gt_frame *frame, const char *name, int *ret_last,
                         bool (*matches)(const struct gt_frame *, const struct gt_device *, const char *))
{
    int count = 0;
    for (size_t i = 0; i < frame->device_count; i++)
        if (matches(frame, &frame->device[i], name)) {
            *ret_last = (int)i;
            count++;
        }
    return count;
}

static int refuse(const struct gt_frame *frame, const char *name, const char *why, struct gt_error *error)
{
    char known[300] = "none";
    size_t used = 0;
    for (size_t i = 0; i < frame->device_count && used < sizeof known - 1; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", frame->device[i].uuid);
    return gt_error_set(error, EINVAL, "GPU \"%.80s\" %s; known: %s", name, why, known);
}

static int find(const struct gt_frame *frame, const char *name, int *ret, struct gt_error *error)
{
    int found = 0;
    int count = count_matches(frame, name, &found, is_exact);
    if (!count)
        count = count_matches(frame, name, &found, is_prefix);
    if (!count)
        return refuse(frame, name, "is not there", error);
    if (count > 1)
        return refuse(frame, name, "fits more than one device", error);
    *ret = found;
    return 0;
}

static void mark(const struct gt_frame *frame, bool *chosen, int device)
{
    chosen[device] = true;
    for (size_t i = 0; i < frame->device_count; i++)
        if (frame->device[i].parent == device)
            chosen[i] = true;
}

/* Copy the next name of the list without the blanks around it; where the list goes on, or NULL at its end. */
static const char *next_name(const char *list, char name[MAX_NAME])
{
    list += strspn(list, " \t");
    size_t length = strcspn(list, ",");
    const char *rest = list[length] ? list + length + 1 : NULL;
    while (length && isspace((unsigned char)list[length - 1]))
        length--;
    snprintf(name, MAX_NAME, "%.*s", (int)length, list);
    return rest;
}

static int choose(const struct gt_frame *frame, const char *text, bool *chosen, struct gt_error *error)
{
    int status = 0;
    for (const char *list = text; list && status == 0;) {
        char name[MAX_NAME];
        int device = 0;
        list = next_name(list, name);
        status = *name ? find(frame, name, &device, error)
                       : gt_error_set(error, EINVAL, "GPU list \"%.100s\": a name is missing", text);
        if (status == 0)
            mark(frame, chosen, device);
    }
    return status;
}

int gt_devices_named(const struct gt_frame *frame, const char *text, uint64_t *ret)
{
    bool *chosen = calloc(frame->device_count + 1, sizeof *chosen);
    int status = chosen ? choose(frame, text, chosen, NULL) : -ENOMEM;
    *ret = 0;
    for (size_t i = 0; status == 0 && i < frame->device_count && i < 64; i++)
        *ret |= (uint64_t)chosen[i] << i;
    free(chosen);
    return status;
}

int gt_device_select(struct gt_frame *frame, const char *text, struct gt_error *error)
{
    bool selects_all = !text || !text[strspn(text, " \t")];
    bool *chosen = calloc(frame->device_count + 1, sizeof *chosen);
    if (!chosen)
        return gt_error_set(error, ENOMEM, "selecting GPUs: no memory");
    int status = selects_all ? 0 : choose(frame, text, chosen, error);
    for (size_t i = 0; i < frame->device_count && status == 0; i++)
        frame->device[i].selected = selects_all || chosen[i];
    free(chosen);
    return status;
}

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
                          const bool *is_told, size_t count)
{
    int length = 0;
    bool is_any = false;
    *ret = (struct gt_availability){.state = GT_ABSENT, .refresh = NAN};
    snprintf(ret->source, sizeof ret->source, "%s", source);
    for (size_t i = 0; i < count; i++) {
        is_any |= is_told[i];
        if (!is_told[i] && (size_t)length < sizeof ret->reason)
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
