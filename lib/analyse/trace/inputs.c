#include "analyse/trace/inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/trace/shown.h"
#include "base/number.h"
#include "report/brief.h"
#include "trace/source.h"

enum { SHOWN = 12 };

/* ---- contents ---- */

bool gt_inputs_has_content(const struct gt_trace *trace, const struct gt_trace_file *file)
{
    for (size_t i = 0; i < trace->profile_count; i++)
        if (&trace->file[trace->profile[i].file] == file)
            return true;
    return file->read || file->samples;
}

static int check_contents(const struct gt_trace *trace, struct gt_error *error)
{
    for (size_t i = 0; i < trace->file_count; i++)
        if (gt_inputs_has_content(trace, &trace->file[i]))
            return 0;
    if (trace->file_count == 1)
        return gt_error_set(error, EINVAL, "%s: no events, samples or functions", trace->file->path);
    return gt_error_set(error, EINVAL, "no events, samples or functions in the %zu files", trace->file_count);
}

/* ---- filters ---- */

/* Adds a name that is none of those before it; beyond SHOWN only dots. */
static size_t add_name(struct gt_buffer *names, const struct gt_trace *trace, uint32_t *seen, size_t count,
                       uint32_t string)
{
    for (size_t i = 0; i < count; i++)
        if (seen[i] == string)
            return count;
    if (count < SHOWN)
        gt_buffer_printf(names, "%s%s", count ? ", " : "", gt_trace_text(trace, string));
    else if (count == SHOWN)
        gt_buffer_text(names, ", ...");
    else
        return count;
    seen[count] = string;
    return count + 1;
}

static int refuse(struct gt_error *error, const char *kind, const char *wanted, struct gt_buffer *names, size_t count)
{
    gt_error_set(error, EINVAL, "no %s '%s'%s%s", kind, wanted,
                 count > 1 ? ": there are "
                 : count   ? ": there is "
                           : " in the traces",
                 count ? names->data : "");
    gt_buffer_release(names);
    return -EINVAL;
}

static int check_node(const struct gt_trace *trace, const char *wanted, struct gt_error *error)
{
    struct gt_buffer names = {0};
    uint32_t seen[SHOWN + 1];
    size_t count = 0;
    bool found = gt_has_node(trace, wanted);
    for (size_t i = 0; i < trace->file_count && !trace->shown_node; i++)
        found |= trace->file[i].kept > 0;
    if (found)
        return 0;
    for (size_t i = 0; i < trace->file_count; i++)
        if (gt_inputs_has_content(trace, &trace->file[i]))
            count = add_name(&names, trace, seen, count, gt_trace_node_of(trace, (uint32_t)i));
    for (size_t i = 0; i < trace->series_count; i++)
        if (trace->series[i].node != GT_TRACE_NONE)
            count = add_name(&names, trace, seen, count, trace->series[i].node);
    return refuse(error, "node", wanted, &names, count);
}

/* "TRAIN" is also the phase of "Step:ModeKeys.TRAIN". */
static bool has_name(const struct gt_trace *trace, const char *phase)
{
    static const char *const prefixes[] = {"", "Step:", "Step:ModeKeys."};
    char name[256];
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        snprintf(name, sizeof name, "%s%s", prefixes[i], phase);
        if (gt_trace_find(trace, name) != GT_TRACE_NONE)
            return true;
    }
    return false;
}

static int check_phases(const struct gt_trace *trace, const char *const *phases, struct gt_error *error)
{
    struct gt_buffer names = {0};
    uint32_t seen[SHOWN + 1];
    size_t count = 0;
    if (!phases || !*phases)
        return 0;
    for (size_t i = 0; phases[i]; i++)
        if (has_name(trace, phases[i]))
            return 0;
    for (size_t i = 0; i < trace->step_count; i++)
        count = add_name(&names, trace, seen, count, trace->step[i].mode);
    return refuse(error, "phase", phases[0], &names, count);
}

static bool has_event(const struct gt_trace *trace)
{
    for (size_t i = 0; i < trace->events.count; i++)
        if (!(trace->events.flag[i] & GT_TRACE_HIDDEN))
            return true;
    return false;
}

static bool has_function(const struct gt_trace *trace)
{
    for (size_t i = 0; i < trace->profile_count; i++)
        for (size_t j = 0; j < trace->profile[i].function_count; j++)
            if (!isnan(trace->profile[i].function[j].total_time))
                return true;
    return false;
}

/* Returns which of the bounds there are, in words; NULL: none. */
static const char *bounds_of(const struct gt_trace_options *reading)
{
    if (reading->by_step)
        return "steps from start to end";
    return reading->start != -GT_TRACE_EVER || reading->end != GT_TRACE_EVER ? "times from start to end" : NULL;
}

static int refuse_bounds(const struct gt_trace *trace, const struct gt_trace_options *reading, const char *bounds,
                         struct gt_error *error)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < trace->file_count; i++) {
        const struct gt_trace_file *file = &trace->file[i];
        first = file->first < first ? file->first : first;
        last = file->first <= file->last && file->last > last ? file->last : last;
    }
    const char *select = reading->select ? ", by a name that is selected" : "";
    if (reading->by_step || first > last)
        return gt_error_set(error, EINVAL, "nothing in the traces lies in the %s that were asked for%s", bounds,
                            select);
    return gt_error_set(error, EINVAL, "nothing in the traces lies in the %s that were asked for%s: they last %g s",
                        bounds, select, (double)(last - first) / 1e9);
}

int gt_inputs_matched(const struct gt_trace *trace, const struct gt_trace_options *reading,
                      const struct gt_profile_options *options, struct gt_error *error)
{
    const char *bounds = bounds_of(reading);
    int status = reading->node && trace->file_count ? check_node(trace, reading->node, error) : 0;
    if (status >= 0 && options)
        status = check_phases(trace, options->phases, error);
    bool has_filter = bounds || reading->select || reading->node || reading->suffixes;
    if (status >= 0 && !has_filter && trace->file_count)
        status = check_contents(trace, error);
    if (status < 0 || (!bounds && !reading->select) || !trace->file_count || has_event(trace) || has_function(trace) ||
        trace->samples.count || (bounds && trace->step_count))
        return status;
    return bounds
               ? refuse_bounds(trace, reading, bounds, error)
               : gt_error_set(error, EINVAL, "select: no name of an event or function matches \"%s\"", reading->select);
}

/* ---- ranks ---- */

/* Of files without a clock only the same times say that they are of one moment. */
static bool is_twice(const struct gt_trace_file *one, const struct gt_trace_file *other)
{
    if (one->rank != other->rank || strcmp(one->format, other->format) != 0 || one->node != other->node)
        return false;
    if (one->clock == GT_CLOCK_UNKNOWN || other->clock == GT_CLOCK_UNKNOWN)
        return one->first == other->first && one->last == other->last && one->read == other->read;
    return other->first < one->last && one->first < other->last;
}

static int by_rank_and_begin(const void *a, const void *b)
{
    const struct gt_trace_file *x = *(const struct gt_trace_file *const *)a,
                               *y = *(const struct gt_trace_file *const *)b;
    int order = GT_ORDER_BY(GT_ORDER(x->rank, y->rank), strcmp(x->format, y->format));
    order = GT_ORDER_BY(order, GT_ORDER(x->first, y->first));
    return GT_ORDER_BY(order, GT_ORDER(x, y));
}

/* Pages and Markdown begin with the brief, and the format "summary" has nothing else. Other parts may have no brief. */
static void tell_in_brief(struct gt_node *root, const char *title, const char *words)
{
    if (root->brief && words)
        gt_brief_first(root->brief, title, words);
}

static int tell_twice(struct gt_node *root, const struct gt_trace *trace, const char *key)
{
    const struct gt_trace_file **file = calloc(trace->file_count + 1, sizeof *file);
    struct gt_buffer text = {0};
    size_t count = 0, told = 0;
    for (size_t i = 0; file && i < trace->file_count; i++)
        if (trace->file[i].rank >= 0 && trace->file[i].read && trace->file[i].part_of == GT_TRACE_NONE)
            file[count++] = &trace->file[i];
    if (count)
        qsort(file, count, sizeof *file, by_rank_and_begin);
    for (size_t i = 1; i < count; i++)
        if (is_twice(file[i - 1], file[i]) && ++told <= 3)
            gt_buffer_printf(&text, "%srank %d is in %s and in %s", told > 1 ? "; " : "", (int)file[i]->rank,
                             file[i - 1]->path, file[i]->path);
    if (told > 3)
        gt_buffer_printf(&text, "; %zu more", told - 3);
    if (told)
        gt_buffer_text(&text, ", whose times overlap: what both hold counts twice");
    if (told && text.data)
        gt_report_text(root, key, "Read twice", text.data);
    if (told)
        tell_in_brief(root, "read twice", text.data);
    int status = !file ? -ENOMEM : text.failed;
    gt_buffer_release(&text);
    free(file);
    return status;
}

/* ---- files ---- */

/* Folders that hold nothing to be read are no trace without events. */
int gt_inputs_refuse_nothing(const struct gt_trace *trace, const char *path, const struct gt_trace_options *reading,
                             struct gt_error *error)
{
    if (trace->file_count || reading->suffixes)
        return 0;
    if (trace->unreadable.count)
        return gt_error_set(error, EACCES, "%s", trace->unreadable.first);
    if (trace->ignored + trace->doubtful.count)
        return gt_error_set(
            error, EINVAL,
            "%s: none of the %" PRIu64 " files in this folder is a trace or profile of a known format%s%s", path,
            trace->ignored + trace->doubtful.count, trace->doubtful.count ? ": " : "", trace->doubtful.first);
    return gt_error_set(error, EINVAL, "%s: the folder is empty", path);
}

/* Was the file found beside one of the paths, not named by them? */
static bool is_beside(const char *file, const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(paths[i]);
        while (length > 1 && paths[i][length - 1] == '/')
            length--;
        if (strncmp(file, paths[i], length) == 0 &&
            (!file[length] || file[length] == '/' || paths[i][length - 1] == '/'))
            return false;
    }
    return true;
}

/* Returns true if the file is damaged. */
static bool add_damage(struct gt_buffer *out, const struct gt_trace_file *file)
{
    const struct gt_trace_damage *damage = &file->damage;
    uint64_t lost = gt_damage_lost(damage);
    if (!lost && !damage->lost_bytes && !damage->cut_off)
        return false;
    gt_buffer_printf(out, "%s%s: ", out->length ? "; " : "", file->path);
    if (lost)
        gt_buffer_printf(out, "%" PRIu64 " %s lost%s", lost, lost == 1 ? "event or sample" : "events or samples",
                         damage->cut_off ? ", cut off" : "");
    else if (damage->cut_off)
        gt_buffer_text(out, "cut off");
    else
        gt_buffer_printf(out, "%" PRIu64 " bytes that could not be read", damage->lost_bytes);
    if (*damage->first)
        gt_buffer_printf(out, " (%s)", damage->first);
    return true;
}

/* The first of the damaged files, and how many there are. */
static void brief_damage(struct gt_node *root, const struct gt_trace *trace)
{
    struct gt_buffer text = {0}, rest = {0};
    size_t count = 0;
    for (size_t i = 0; i < trace->file_count; i++)
        count += add_damage(count ? &rest : &text, &trace->file[i]);
    if (count > 1)
        gt_buffer_printf(&text, "; %zu more of %zu files", count - 1, (size_t)trace->file_count);
    if (count)
        tell_in_brief(root, "damaged", text.data);
    gt_buffer_release(&text);
    gt_buffer_release(&rest);
}

/* `named`: so many of them stand in the text already. */
static void tell_unread(struct gt_node *root, const struct gt_trace_unreadable *files, uint64_t named, const char *key,
                        const char *title)
{
    char text[600];
    if (!files->count)
        return;
    snprintf(text, sizeof text, files->count > named ? "%s, and %" PRIu64 " more" : "%s", files->first,
             files->count - named);
    gt_report_text(root, key, title, text);
}

static bool is_lost(const struct gt_trace *trace, const struct gt_trace_file *file)
{
    if (gt_inputs_has_content(trace, file) || file->part_of != GT_TRACE_NONE)
        return false;
    for (size_t i = 0; i < trace->file_count; i++)
        if (strcmp(file->path, trace->file[i].path) != 0 && gt_paths_alike(file->path, trace->file[i].path) &&
            gt_inputs_has_content(trace, &trace->file[i]))
            return true;
    return false;
}

/* A rank whose trace holds nothing is as lost as one whose file is no trace. */
static void tell_doubtful(struct gt_node *root, const struct gt_trace *trace, const char *key)
{
    struct gt_trace_unreadable doubtful = trace->doubtful;
    for (size_t i = 0; i < trace->file_count; i++)
        if (is_lost(trace, &trace->file[i]))
            gt_name_doubtful(&doubtful, trace->file[i].path, "it holds no events");
    tell_unread(root, &doubtful, GT_TRACE_NAMED, key, "May be missing");
}

int gt_inputs_tell(struct gt_report *report, const struct gt_trace *trace, const char *const *paths, size_t count,
                   bool is_second)
{
    static const char *const keys[][5] = {{"beside", "damaged", "unreadable", "doubtful", "twice"},
                                          {"beside_b", "damaged_b", "unreadable_b", "doubtful_b", "twice_b"}};
    const char *const *key = keys[is_second];
    struct gt_node *root = &report->root;
    struct gt_buffer beside = {0}, damaged = {0};
    for (size_t i = 0; i < trace->file_count; i++) {
        if (trace->file[i].part_of == GT_TRACE_NONE && is_beside(trace->file[i].path, paths, count))
            gt_buffer_printf(&beside, "%s%s", beside.length ? ", " : "", trace->file[i].path);
        add_damage(&damaged, &trace->file[i]);
    }
    tell_unread(root, &trace->unreadable, 1, key[2], "Could not be read");
    tell_doubtful(root, trace, key[3]);
    if (beside.length)
        gt_report_text(root, key[0], "Read with it", beside.data);
    if (damaged.length)
        gt_report_text(root, key[1], "Damaged", damaged.data);
    brief_damage(root, trace);
    int failed = beside.failed ? beside.failed : damaged.failed;
    failed = failed ? failed : tell_twice(root, trace, key[4]);
    gt_buffer_release(&beside);
    gt_buffer_release(&damaged);
    return gt_report_failed(report) ? -ENOMEM : failed;
}
