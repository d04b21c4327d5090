/* The merge: survey the files, find their clocks and the window, then read them once more and write. */
#include "analyse/merge/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/display.h"
#include "analyse/merge/merged_trace.h"
#include "base/os/file.h"
#include "base/json.h"
#include "schema/human.h"

/* ---- the merged file ---- */

/* Names that end in .gz are written as gzip, the same bytes for the same content. -EEXIST without `overwrite`. */
static int open_file(struct gt_merged_trace *merged, struct gt_new_file *new, const char *path, bool overwrite,
                     struct gt_error *error)
{
    size_t length = strlen(path);
    bool is_gzip = length > 3 && strcmp(path + length - 3, ".gz") == 0;
    if (!overwrite && access(path, F_OK) == 0)
        return gt_error_exists(error, path);
    int status = gt_new_file_begin_unnamed(new, path);
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    int fd = fcntl(new->fd, F_DUPFD_CLOEXEC, 0);
    merged->path = path;
    merged->file = fd < 0 ? NULL : gzdopen(fd, is_gzip ? "wb6" : "wbT");
    if (merged->file)
        return 0;
    if (fd >= 0)
        close(fd);
    gt_new_file_drop(new);
    return gt_error_system(error, ENOMEM, "%s", path);
}

/* Write the rest and put the file into its place, or (not `whole`) remove it. */
static int close_file(struct gt_merged_trace *merged, struct gt_new_file *new, bool whole, bool overwrite,
                      struct gt_error *error)
{
    int status = whole ? gt_merged_write(merged, error) : 0;
    if (gzclose(merged->file) != Z_OK && whole && status >= 0)
        status = gt_error_system(error, errno ? errno : EIO, "%s", merged->path);
    if (!whole || status < 0) {
        gt_new_file_drop(new);
        return status;
    }
    return gt_new_file_finish(new, overwrite, error);
}

/* ---- the merge ---- */

struct merge {
    const struct gt_merge_options *options;
    const char *const *paths;
    size_t count;
    const char *output; /* where the file goes; from `name` when the options do not tell */
    struct gt_buffer name;
    struct gt_trace_source *source;
    struct gt_trace *trace;
    int64_t *shift;                 /* ns by which each file is moved */
    const char **clock;             /* for each file: how its times became absolute */
    struct gt_columns_sink columns; /* takes the samples */
    struct gt_merged_trace merged;
};

/* The first time of an event in each node's files, INT64_MAX without. */
struct alignment {
    const char *event;
    struct gt_trace *trace;
    int64_t *first; /* of each file */
};

static int take_landmark(void *context, const struct gt_trace_event *event, struct gt_error *error)
{
    (void)error;
    struct alignment *alignment = context;
    const struct gt_trace *trace = alignment->trace;
    int64_t *first = &alignment->first[trace->process[trace->track[event->track].process].file];
    if (event->start < *first && strcmp(gt_trace_text(trace, event->name), alignment->event) == 0)
        *first = event->start;
    return 0;
}

static bool is_same_node(const struct gt_trace *trace, size_t a, size_t b)
{
    return gt_trace_node_of(trace, (uint32_t)a) == gt_trace_node_of(trace, (uint32_t)b);
}

/* The event is at one moment everywhere: where the first file with a clock, or else the first file, has it. */
static int shift_to_landmark(struct merge *merge, const int64_t *first)
{
    const struct gt_trace *trace = merge->trace;
    size_t reference = SIZE_MAX;
    for (size_t i = 0; i < trace->file_count; i++) {
        bool has_clock = trace->file[i].clock != GT_CLOCK_UNKNOWN;
        if (first[i] != INT64_MAX &&
            (reference == SIZE_MAX || (has_clock && trace->file[reference].clock == GT_CLOCK_UNKNOWN)))
            reference = i;
    }
    if (reference == SIZE_MAX)
        return -ENOENT;
    int64_t moment = first[reference];
    for (size_t j = 0; j < trace->file_count; j++) /* earlier files of the same node may have it earlier */
        if (is_same_node(trace, reference, j) && first[j] < moment)
            moment = first[j];
    for (size_t i = 0; i < trace->file_count; i++) {
        int64_t own = INT64_MAX;
        for (size_t j = 0; j < trace->file_count; j++)
            if (is_same_node(trace, i, j) && first[j] < own)
                own = first[j];
        if (own == INT64_MAX)
            continue;
        merge->shift[i] = moment - own;
        merge->clock[i] = "aligned by the event";
    }
    return 0;
}

static int align(struct merge *merge, struct gt_error *error)
{
    const struct gt_trace *trace = merge->trace;
    struct alignment alignment = {merge->options->request.align, merge->trace, NULL};
    struct gt_trace_sink sink = {.context = &alignment, .event = take_landmark};
    alignment.first = malloc((trace->file_count + 1) * sizeof *alignment.first);
    if (!alignment.first)
        return gt_error_system(error, ENOMEM, "merging");
    for (size_t i = 0; i < trace->file_count; i++)
        alignment.first[i] = INT64_MAX;
    struct gt_trace_options *options = gt_trace_source_options(merge->source), asked = *options;
    options->start = -GT_TRACE_EVER; /* the event is looked for everywhere, kept or not */
    options->end = GT_TRACE_EVER;
    options->select = options->node = NULL;
    int status = gt_trace_source_read(merge->source, &sink, NULL, error);
    *options = asked;
    if (status >= 0 && shift_to_landmark(merge, alignment.first) < 0)
        status = gt_error_set(error, ENOENT, "align: no file has an event \"%s\"", merge->options->request.align);
    free(alignment.first);
    return status;
}

/* INT64_MAX where there is none. */
static int64_t begin_of(const struct gt_trace *trace, bool with_clock)
{
    int64_t begin = INT64_MAX;
    for (size_t i = 0; i < trace->file_count; i++)
        if (trace->file[i].first < begin && (!with_clock || trace->file[i].clock != GT_CLOCK_UNKNOWN))
            begin = trace->file[i].first;
    return begin;
}

/* Files that do not say when they began are laid at the begin of those that do. */
static void place_unknown(struct merge *merge)
{
    const struct gt_trace *trace = merge->trace;
    static const char *const names[] = {"unknown", "of the file", "of its name"};
    int64_t begin = begin_of(trace, true);
    for (size_t i = 0; i < trace->file_count; i++) {
        const struct gt_trace_file *file = &trace->file[i];
        if (merge->clock[i])
            continue;
        merge->clock[i] = names[file->clock];
        if (file->clock != GT_CLOCK_UNKNOWN || begin == INT64_MAX || file->first == INT64_MAX)
            continue;
        merge->shift[i] = begin - file->first;
        merge->clock[i] = "unknown, placed at the begin of the others";
    }
}

static int64_t first_of_step(const struct gt_trace *trace, int32_t from)
{
    int64_t first = INT64_MAX;
    int32_t found = INT32_MAX;
    for (size_t i = 0; i < trace->step_count; i++) /* the lowest number from there on; on all nodes and in all modes */
        if (trace->step[i].step >= from && trace->step[i].step < found)
            found = trace->step[i].step;
    for (size_t i = 0; i < trace->step_count; i++)
        if (trace->step[i].step == found && trace->step[i].start < first)
            first = trace->step[i].start;
    return first;
}

/* From the first event of a step up to one microsecond before the first of another, as SMDebug has it. */
static int choose_window(struct merge *merge, struct gt_error *error)
{
    const struct gt_trace_options *options = &merge->options->trace;
    const struct gt_trace *trace = merge->trace;
    int64_t start = options->start, end = options->end, begin = begin_of(trace, false);
    if (options->by_step) {
        start = first_of_step(trace, options->start_step);
        end = first_of_step(trace, options->end_step);
        if (start == INT64_MAX)
            return gt_error_set(error, ENOENT, "start: no step %d or later", (int)options->start_step);
        end = end == INT64_MAX ? GT_TRACE_EVER : end - 1000;
    } else if (options->from_first && begin != INT64_MAX) {
        start = start == -GT_TRACE_EVER ? start : begin + start;
        end = end == GT_TRACE_EVER ? end : begin + end;
    }
    gt_trace_source_options(merge->source)->start = start;
    gt_trace_source_options(merge->source)->end = end;
    return 0;
}

static void choose_base(struct merge *merge)
{
    int64_t begin = begin_of(merge->trace, false);
    merge->merged.base = begin == INT64_MAX || begin < 0 ? 0 : begin - begin % 1000;
}

static void count_nodes(struct merge *merge)
{
    struct gt_keys nodes = {0};
    for (uint32_t i = 0; i < merge->trace->file_count; i++)
        if (merge->trace->file[i].read)
            gt_keys_add(&nodes, (struct gt_key){{gt_trace_node_of(merge->trace, i), 0, 0, 0}}, i);
    merge->merged.nodes = nodes.count;
    gt_keys_release(&nodes);
}

static int take_file(void *context, uint32_t file, struct gt_error *error)
{
    struct merge *merge = context;
    struct gt_trace_sink sink = gt_columns_sink(&merge->columns);
    return sink.file(&merge->columns, file, error);
}

static int take_event(void *context, const struct gt_trace_event *event, struct gt_error *error)
{
    struct merge *merge = context;
    return gt_merged_event(&merge->merged, event, error);
}

static int take_sample(void *context, uint32_t series, int64_t time, double value, struct gt_error *error)
{
    struct merge *merge = context;
    struct gt_trace_sink sink = gt_columns_sink(&merge->columns);
    return sink.sample(&merge->columns, series, time, value, error);
}

/* The first event says what the times count from, and how each file's clock was found. */
static void write_base(struct merge *merge)
{
    struct gt_buffer *out = &merge->merged.out;
    const struct gt_trace *trace = merge->trace;
    gt_buffer_printf(
        out,
        "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 0, \"args\": {\"start_time_since_epoch_in_micros\": %" PRId64
        ", \"sources\": [",
        merge->merged.base / 1000);
    for (size_t i = 0; i < trace->file_count; i++) {
        gt_buffer_text(out, i ? ", {\"file\": " : "{\"file\": ");
        gt_json_quote(out, trace->file[i].path);
        gt_buffer_text(out, ", \"clock\": ");
        gt_json_quote(out, merge->clock[i]);
        gt_buffer_text(out, ", \"shift_us\": ");
        gt_merged_time(out, merge->shift[i]);
        gt_buffer_char(out, '}');
    }
    gt_buffer_text(out, "]}}");
}

/* The name of the file where none was given, as SMDebug has it: END_NODE_merged_timeline.json, the end in
 * microseconds of what the window lets in. */
static int name_output(struct merge *merge, struct gt_error *error)
{
    const struct gt_trace *trace = merge->trace;
    int64_t last = INT64_MIN, end = gt_trace_source_options(merge->source)->end;
    const char *node = NULL;
    char host[HOST_NAME_MAX + 1] = "";
    bool differ = false;
    for (uint32_t i = 0; i < trace->file_count; i++) {
        const struct gt_trace_file *file = &trace->file[i];
        if (file->first > file->last)
            continue;
        last = file->last > last ? file->last : last;
        differ |= !node ? file->node == GT_TRACE_NONE : strcmp(node, gt_trace_text(trace, file->node)) != 0;
        node = gt_trace_text(trace, file->node);
    }
    if (!node || differ)
        gethostname(host, sizeof host - 1);
    last = last < end ? last : end;
    gt_buffer_printf(&merge->name, "%" PRId64 "_%s_merged_timeline.json", last == INT64_MIN ? 0 : last / 1000,
                     node && !differ ? node : host);
    if (merge->name.failed)
        return gt_error_system(error, ENOMEM, "merging");
    for (char *c = strchr(merge->name.data, '_') + 1; c < strstr(merge->name.data, "_merged_timeline"); c++)
        *c = *c == '/' || *c == ' ' || *c == '_' ? '-' : *c;
    merge->output = merge->name.data;
    return 0;
}

static int read_events(struct merge *merge, struct gt_error *error)
{
    struct gt_trace_sink sink = {merge, take_file, take_event, take_sample, .is_raw = true};
    merge->trace->samples.count = 0;
    merge->columns = (struct gt_columns_sink){.trace = merge->trace, .options = gt_trace_source_options(merge->source)};
    return gt_trace_source_read(merge->source, &sink, merge->shift, error);
}

static int write_file(struct merge *merge, struct gt_error *error)
{
    const struct gt_merge_request *request = &merge->options->request;
    struct gt_merged_trace *merged = &merge->merged;
    struct gt_trace_options *reading = gt_trace_source_options(merge->source);
    struct gt_new_file new;
    int status = gt_trace_spare_inputs(merge->output, merge->paths, merge->count, reading->suffixes, error);
    if (status >= 0)
        status = open_file(merged, &new, merge->output, request->overwrite, error);
    if (status < 0)
        return status;
    gt_buffer_char(&merged->out, '[');
    write_base(merge);
    status = read_events(merge, error);
    if (status >= 0)
        status = gt_merged_samples(merged, error);
    if (status >= 0 && request->critical_path)
        status = gt_merged_critical_path(merged, merge->paths, merge->count, reading, merge->shift, error);
    bool is_empty = !merged->events && !merged->counters, is_wanted = !(is_empty && request->not_empty);
    if (is_empty)
        gt_buffer_clear(&merged->out);
    gt_buffer_text(&merged->out, is_empty ? "[]\n" : "\n]\n");
    if (!is_wanted)
        merge->output = NULL;
    int closed = close_file(merged, &new, status >= 0 && is_wanted, request->overwrite, error);
    return status < 0 ? status : closed;
}

static bool is_shifted(const struct merge *merge)
{
    for (size_t i = 0; i < merge->trace->file_count; i++)
        if (merge->shift[i])
            return true;
    return false;
}

/* Everything that the second reading needs: clocks, the window, and the numbers of processes. */
static int prepare(struct merge *merge, struct gt_error *error)
{
    int status = gt_trace_source_read(merge->source, NULL, NULL, error);
    if (status < 0)
        return status;
    merge->shift = calloc(merge->trace->file_count + 1, sizeof *merge->shift);
    merge->clock = calloc(merge->trace->file_count + 1, sizeof *merge->clock);
    if (!merge->shift || !merge->clock)
        return gt_error_system(error, ENOMEM, "merging");
    if (merge->options->request.align)
        status = align(merge, error);
    if (status >= 0)
        place_unknown(merge);
    if (status >= 0 && is_shifted(merge))
        status = gt_trace_source_read(merge->source, NULL, merge->shift, error);
    if (status >= 0)
        status = choose_window(merge, error);
    if (status >= 0 && gt_merged_number(&merge->merged) < 0)
        status = gt_error_system(error, ENOMEM, "merging");
    choose_base(merge);
    count_nodes(merge);
    return status;
}

/* Microseconds since the epoch: where the window ends, or else the last of what was merged; NaN when nothing was. */
static double end_of_window(const struct merge *merge)
{
    int64_t end = gt_trace_source_options(merge->source)->end;
    if (end == GT_TRACE_EVER)
        end = merge->merged.last;
    return end == INT64_MIN ? NAN : (double)(end / 1000 - (end % 1000 < 0));
}

/* The file that begins longest after all that began before it has ended, and how long; GT_TRACE_NONE: none. */
static size_t latest_apart(const struct gt_trace *trace, int64_t *ret_gap)
{
    size_t best = GT_TRACE_NONE;
    *ret_gap = 0;
    for (size_t i = 0; i < trace->file_count; i++) {
        int64_t end = INT64_MIN, begin = trace->file[i].first;
        for (size_t k = 0; k < trace->file_count; k++)
            if (trace->file[k].first < begin && trace->file[k].last > end)
                end = trace->file[k].last;
        if (begin == INT64_MAX || end == INT64_MIN || begin <= end || begin - end <= *ret_gap)
            continue;
        *ret_gap = begin - end;
        best = i;
    }
    return best;
}

/* Most of what was merged is a pause: files of different runs, or of clocks that are not the same. */
static void tell_apart(struct gt_node *root, const struct merge *merge)
{
    char length[GT_HUMAN_SIZE], sentence[PATH_MAX + 200];
    int64_t gap;
    size_t file = latest_apart(merge->trace, &gap);
    if (file == GT_TRACE_NONE || gap < (merge->merged.last - merge->merged.first) / 2 || merge->options->request.align)
        return;
    snprintf(sentence, sizeof sentence,
             "%s begins %s after the end of the others: are they of one run? --align moves clocks",
             merge->trace->file[file].path, gt_human_seconds(length, (double)gap / 1e9));
    gt_report_text(root, "apart", "Apart in time", sentence);
}

static int report_merge(struct gt_report **ret, const struct merge *merge, struct gt_error *error)
{
    const struct gt_trace *trace = merge->trace;
    int status = gt_report_new(ret, "merged_timeline", error);
    if (status < 0)
        return status;
    struct gt_node *root = &(*ret)->root;
    bool any = merge->merged.first <= merge->merged.last;
    gt_report_text(root, "file", "File", merge->output);
    gt_report_integer(root, "events", "Events", (int64_t)merge->merged.events, "");
    gt_report_integer(root, "counters", "Samples of counters", (int64_t)merge->merged.counters, "");
    gt_report_integer(root, "marks", "Marks of idle GPUs", (int64_t)merge->merged.marks, "");
    gt_report_number(root, "start", "Start", any ? (double)merge->merged.first / 1e9 : NAN, "seconds");
    gt_report_number(root, "duration", "Duration", any ? (double)(merge->merged.last - merge->merged.first) / 1e9 : NAN,
                     "seconds");
    gt_node_flags(gt_report_count(root, "end_us", "End of the window", end_of_window(merge), ""), GT_ONLY_DATA);
    if (any)
        tell_apart(root, merge);
    struct gt_table *table = gt_report_table(root, "sources", "Sources");
    gt_table_column(table, "file", "File", GT_CELL_TEXT, "");
    gt_table_column(table, "clock", "Clock", GT_CELL_TEXT, "");
    gt_table_column(table, "shift", "Shift", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "lost", "Lost events", GT_CELL_INTEGER, "");
    for (size_t i = 0; i < trace->file_count; i++) {
        GT_CELLS(table, trace->file[i].path, merge->clock[i], (double)merge->shift[i] / 1e9,
                 gt_damage_lost(&trace->file[i].damage));
    }
    return gt_report_failed(*ret) ? gt_error_system(error, ENOMEM, "report") : 0;
}

static int merge_files(struct gt_report **ret, const char *const paths[], size_t count,
                       const struct gt_merge_options *options, const regex_t *metrics, struct gt_error *error)
{
    struct merge merge = {
        .options = options,
        .paths = paths,
        .count = count,
        .output = options->request.output,
        .merged = {.metrics = metrics, .low_gpu = options->request.low_gpu, .first = INT64_MAX, .last = INT64_MIN}};
    struct gt_trace_options wide = options->trace; /* the window is chosen once the clocks are known */
    struct gt_report *report = NULL;
    wide.by_step = wide.from_first = false;
    int status = gt_trace_source_open(&merge.source, paths, count, &wide, error);
    if (status < 0)
        return status;
    merge.trace = gt_trace_source_trace(merge.source);
    merge.merged.trace = merge.trace;
    status = prepare(&merge, error);
    if (status >= 0 && !merge.output)
        status = name_output(&merge, error);
    if (status >= 0)
        status = write_file(&merge, error);
    if (status >= 0)
        status = report_merge(&report, &merge, error);
    bool is_empty = !merge.merged.events && !merge.merged.counters;
    if (status >= 0)
        *ret = report;
    else
        gt_report_free(report);
    gt_trace_source_close(merge.source);
    gt_buffer_release(&merge.name);
    free(merge.shift);
    free(merge.clock);
    gt_merged_release(&merge.merged);
    return status < 0 ? status : is_empty;
}

int gt_merge(struct gt_report **ret, const char *const paths[], size_t count, const struct gt_merge_options *options,
             struct gt_error *error)
{
    regex_t metrics;
    if (!options->request.metrics)
        return merge_files(ret, paths, count, options, NULL, error);
    if (regcomp(&metrics, options->request.metrics, REG_EXTENDED | REG_NOSUB))
        return gt_error_set(error, EINVAL, "metrics: \"%s\" is not a regular expression", options->request.metrics);
    int status = merge_files(ret, paths, count, options, &metrics, error);
    regfree(&metrics);
    return status;
}
