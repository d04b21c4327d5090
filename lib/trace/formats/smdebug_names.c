#include "trace/formats/smdebug_names.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct gt_span gt_path_part(const char *path, int back)
{
    const char *end = path + strlen(path);
    for (;; back--) {
        const char *from = end;
        while (from > path && from[-1] != '/')
            from--;
        if (back == 0)
            return from == end ? (struct gt_span){0} : (struct gt_span){from, (size_t)(end - from)};
        if (from == path)
            return (struct gt_span){0};
        end = from - 1;
    }
}

static bool is_digits(struct gt_span text)
{
    for (size_t i = 0; i < text.length; i++)
        if (text.text[i] < '0' || text.text[i] > '9')
            return false;
    return text.length > 0;
}

/* Take what stands before the next `separator`, or the rest. */
static struct gt_span take(struct gt_span *rest, char separator)
{
    if (!rest->text)
        return (struct gt_span){0};
    const char *at = memchr(rest->text, separator, rest->length);
    struct gt_span part = {rest->text, at ? (size_t)(at - rest->text) : rest->length};
    *rest = at ? (struct gt_span){at + 1, rest->length - part.length - 1} : (struct gt_span){0};
    return part;
}

bool gt_names_timeline(const char *name, struct gt_span *node, const char **suffix)
{
    struct gt_span rest = {name, strlen(name)};
    struct gt_span end = take(&rest, '_');
    *node = take(&rest, '_');
    *suffix = rest.text;
    return is_digits(end) && node->length && rest.text;
}

int gt_names_node(struct gt_reading *reading, struct gt_span node)
{
    static const char algorithm[] = "-algo-";
    const size_t length = sizeof algorithm - 1;
    const char *dash = node.text ? memchr(node.text, '-', node.length) : NULL;
    struct gt_span first = {node.text, dash ? (size_t)(dash - node.text) : 0};
    if (!node.length)
        return 0;
    char turned[128];
    if (!is_digits(first) || node.length - first.length <= length || node.length > sizeof turned - 1 ||
        memcmp(dash, algorithm, length) != 0)
        return gt_reading_node(reading, node.text, node.length);
    int size = snprintf(turned, sizeof turned, "%.*s-%.*s", (int)(node.length - first.length - 1), dash + 1,
                        (int)first.length, node.text);
    return gt_reading_node(reading, turned, (size_t)size);
}

struct moment {
    struct gt_span mode, step, phase, time;
};

/* "train-10-forwardpassend-1599000000000000.5" */
static bool read_moment(struct gt_span text, struct moment *ret)
{
    ret->mode = take(&text, '-');
    ret->step = take(&text, '-');
    ret->phase = take(&text, '-');
    ret->time = text;
    return ret->mode.length && ret->step.length && ret->phase.length && ret->time.length;
}

static int keep_moment(struct gt_reading *reading, const struct moment *moment, double outside, uint32_t *mode,
                       double *step, uint32_t *phase, int64_t *time)
{
    int64_t number, when;
    int64_t mode_text = gt_reading_string(reading, moment->mode);
    int64_t phase_text = mode_text < 0 ? mode_text : gt_reading_string(reading, moment->phase);
    if (phase_text < 0)
        return (int)phase_text;
    if (gt_span_decimal(moment->time, 3, &when) < 0)
        return 0;
    if (gt_span_is(moment->step, "*"))
        *step = outside;
    else if (gt_span_decimal(moment->step, 0, &number) >= 0)
        *step = (double)number;
    *mode = (uint32_t)mode_text;
    *phase = (uint32_t)phase_text;
    *time = when;
    return 0;
}

/* "<start us>_<end us>_<node>_<step>", as older versions named it. */
static int read_old_folder(struct gt_reading *reading, struct gt_span folder, struct gt_trace_profile *profile)
{
    struct gt_span start = take(&folder, '_'), end = take(&folder, '_'), node = take(&folder, '_'), step = folder;
    int64_t first, last, number;
    if (!step.length || gt_span_decimal(start, 3, &first) < 0 || gt_span_decimal(end, 3, &last) < 0)
        return 0;
    profile->start = first;
    profile->end = last;
    if (gt_span_is(step, "*")) {
        profile->start_step = -1;
        profile->end_step = INFINITY;
    } else if (gt_span_decimal(step, 0, &number) >= 0) {
        profile->start_step = profile->end_step = (double)number;
    }
    return gt_names_node(reading, node);
}

static bool is_profiler(struct gt_span name)
{
    return gt_span_is(name, "cprofile") || gt_span_is(name, "cProfile") || gt_span_is(name, "pyinstrument");
}

static int keep_place(struct gt_reading *reading, const char *path, bool below_node, struct gt_trace_profile *profile)
{
    struct gt_span framework = {0};
    int status = 0;
    struct gt_span above = gt_path_part(path, 2);
    if (is_profiler(above)) {
        framework = gt_path_part(path, 3);
    } else if (is_profiler(gt_path_part(path, 3))) {
        status = gt_names_node(reading, above);
        framework = gt_path_part(path, 4);
    } else if (below_node) { /* taken out of SMDebug's tree */
        status = gt_names_node(reading, above);
    }
    if (status < 0 || !framework.text)
        return status;
    int64_t number = gt_reading_string(reading, framework);
    profile->framework = (uint32_t)number;
    return number < 0 ? (int)number : 0;
}

int gt_names_profile(struct gt_reading *reading, const char *path, struct gt_trace_profile *profile)
{
    struct gt_span folder = gt_path_part(path, 1), rest = folder;
    struct moment start, end;
    int status = 0;
    if (!folder.text)
        return 0;
    struct gt_span first = take(&rest, '_');
    bool is_new = read_moment(first, &start) && rest.text && read_moment(rest, &end);
    if (is_new) {
        status = keep_moment(reading, &start, -1, &profile->start_mode, &profile->start_step, &profile->start_phase,
                             &profile->start);
        if (status >= 0)
            status = keep_moment(reading, &end, INFINITY, &profile->end_mode, &profile->end_step, &profile->end_phase,
                                 &profile->end);
    } else {
        status = read_old_folder(reading, folder, profile);
    }
    if (status >= 0)
        status = keep_place(reading, path, is_new, profile);
    struct gt_trace_file *file = gt_reading_file(reading);
    profile->node = file->node;
    if (profile->start > -GT_TRACE_EVER && profile->end < GT_TRACE_EVER) {
        file->first = profile->start;
        file->last = profile->end;
        file->clock = GT_CLOCK_NAME;
    }
    return status;
}
