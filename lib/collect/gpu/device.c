#include "collect/gpu/device.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"

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

int gt_device_select(struct gt_frame *frame, const char *text, struct gt_error *error)
{
    bool selects_all = !text || !text[strspn(text, " \t")];
    bool *chosen = calloc(frame->device_count + 1, sizeof *chosen);
    if (!chosen)
        return gt_error_set(error, ENOMEM, "selecting GPUs: no memory");
    int status = 0;
    for (const char *list = selects_all ? NULL : text; list && status == 0;) {
        char name[MAX_NAME];
        int device = 0;
        list = next_name(list, name);
        status = *name ? find(frame, name, &device, error)
                       : gt_error_set(error, EINVAL, "GPU list \"%.100s\": a name is missing", text);
        if (status == 0)
            mark(frame, chosen, device);
    }
    for (size_t i = 0; i < frame->device_count && status == 0; i++)
        frame->device[i].selected = selects_all || chosen[i];
    free(chosen);
    return status;
}
