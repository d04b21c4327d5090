/* The merge: survey the files, find their clocks and the window, then read them once more and write. */
#include "analyse/merge/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "analyse/display.h"
#include "analyse/merge/merged_trace.h"
#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "schema/human.h"

/* ---- the merged file ---- */

enum { BLOCK = 1 << 20 };

struct gt_merged_file {
    struct gt_new_file new;
    bool has_new;
    char *path;
    struct gt_buffer text;
    bool is_gzip, overwrite;
    z_stream stream;
    unsigned char *packed;
};

static int start_gzip(struct gt_merged_file *file)
{
    file->packed = malloc(BLOCK);
    if (!file->packed || deflateInit2(&file->stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    file->is_gzip = true;
    return 0;
}

static void release_file(struct gt_merged_file *file)
{
    if (file->is_gzip)
        deflateEnd(&file->stream);
    if (file->has_new)
        gt_new_file_drop(&file->new);
    free(file->packed);
    free(file->path);
    gt_buffer_release(&file->text);
    free(file);
}

/* Names that end in .gz are written as gzip, the same bytes for the same content. -EEXIST without `overwrite`. */
static int open_file(struct gt_merged_file **ret, const char *path, bool overwrite, struct gt_error *error)
{
    if (!overwrite && access(path, F_OK) == 0)
        return gt_error_exists(error, path);
    struct gt_merged_file *file = calloc(1, sizeof *file);
    if (!file)
        return gt_error_system(error, ENOMEM, "%s", path);
    file->overwrite = overwrite;
    file->path = strdup(path);
    size_t length = strlen(path);
    int status = file->path ? 0 : -ENOMEM;
    if (!status && length > 3 && strcmp(path + length - 3, ".gz") == 0)
        status = start_gzip(file);
    if (!status)
        status = gt_new_file_begin_unnamed(&file->new, file->path);
    file->has_new = !status;
    if (status < 0) {
        release_file(file);
        return gt_error_system(error, -status, "%s", path);
    }
    *ret = file;
    return 0;
}

struct gt_buffer *gt_merged_file_text(struct gt_merged_file *file)
{
    return &file->text;
}

static int write_all(struct gt_merged_file *file, const void *bytes, size_t length, struct gt_error *error)
{
    int status = gt_file_write_all(file->new.fd, bytes, length);
    return status < 0 ? gt_error_system(error, -status, "%s", file->path) : 0;
}

static int pack(struct gt_merged_file *file, int mode, struct gt_error *error)
{
    file->stream.next_in = (Bytef *)file->text.data;
    file->stream.avail_in = (uInt)file->text.length;
    do {
        file->stream.next_out = file->packed;
        file->stream.avail_out = BLOCK;
        deflate(&file->stream, mode);
        int status = write_all(file, file->packed, BLOCK - file->stream.avail_out, error);
        if (status < 0)
            return status;
    } while (!file->stream.avail_out);
    return 0;
}

/* Arguments of events are copied as they are in the traces. */
static void make_valid(struct gt_buffer *text)
{
    struct gt_buffer valid = {0};
    if (text->failed || !text->length || gt_utf8_are_valid(text->data, text->length))
        return;
    int status = gt_utf8_valid_bytes(&valid, text->data, text->length);
    gt_buffer_release(text);
    *text = valid;
    text->failed = status;
}

static int write_text(struct gt_merged_file *file, int mode, struct gt_error *error)
{
    make_valid(&file->text);
    if (file->text.failed)
        return gt_error_system(error, -file->text.failed, "%s", file->path);
    int status = file->is_gzip ? pack(file, mode, error) : write_all(file, file->text.data, file->text.length, error);
    gt_buffer_clear(&file->text);
    return status;
}

int gt_merged_file_flush(struct gt_merged_file *file, struct gt_error *error)
{
    return file->text.length < BLOCK && !file->text.failed ? 0 : write_text(file, Z_NO_FLUSH, error);
}

/* Write the rest and put the file into its place, or (not `whole`) remove it. Releases `file`, which may be NULL. */
static int close_file(struct gt_merged_file *file, bool whole, struct gt_error *error)
{
    if (!file)
        return 0;
    int status = whole ? write_text(file, Z_FINISH, error) : 0;
    if (whole && status >= 0) {
        file->has_new = false;
        status = gt_new_file_place(&file->new, file->overwrite);
        if (status == 0 && close(file->new.fd) < 0)
            status = -errno;
        if (status == -EEXIST)
            gt_error_exists(error, file->path);
        else if (status < 0)
            gt_error_system(error, -status, "%s", file->path);
    }
    release_file(file);
    return status;
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
    uint32_t file;                  /* the one being read */
    bool is_first_reading;          /* nothing is known yet: what is taken may turn out to be taken wrongly */
    bool is_wrong, is_read;         /* it was; all was taken */
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
    merge->is_wrong |= merge->file == file; /* it is read again: its clock or node was told late */
    merge->file = file;
    return sink.file(&merge->columns, file, error);
}

static int take_event(void *context, const struct gt_trace_event *event, struct gt_error *error)
{
    struct merge *merge = context;
    if (!merge->is_first_reading)
        return gt_merged_event(&merge->merged, event, error);
    if (!merge->is_wrong)
        merge->is_wrong = gt_merged_event(&merge->merged, event, NULL) < 0;
    return 0;
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
    struct gt_buffer *out = gt_merged_file_text(merge->merged.file);
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
    gt_merged_forget(&merge->merged);
    merge->trace->samples.count = 0;
    merge->columns = (struct gt_columns_sink){.trace = merge->trace, .options = gt_trace_source_options(merge->source)};
    merge->file = GT_TRACE_NONE;
    int status = gt_sorted_text_open(&merge->merged.sorted, merge->output ? merge->output : "", 0, error);
    return status < 0 ? status : gt_trace_source_read(merge->source, &sink, merge->shift, error);
}

static int write_file(struct merge *merge, struct gt_error *error)
{
    const struct gt_merge_options *options = merge->options;
    int status = gt_trace_spare_inputs(merge->output, merge->paths, merge->count,
                                       gt_trace_source_options(merge->source)->suffixes, error);
    if (status >= 0)
        status = open_file(&merge->merged.file, merge->output, options->request.overwrite, error);
    if (status < 0)
        return status;
    struct gt_buffer *out = gt_merged_file_text(merge->merged.file);
    gt_buffer_char(out, '[');
    write_base(merge);
    status = merge->is_read ? 0 : read_events(merge, error);
    gt_merged_tell(&merge->merged);
    if (status >= 0)
        status = gt_merged_samples(&merge->merged, error);
    if (status >= 0 && options->request.critical_path)
        status = gt_merged_critical_path(&merge->merged, merge->paths, merge->count,
                                         gt_trace_source_options(merge->source), merge->shift, error);
    if (status >= 0)
        status = gt_merged_write(&merge->merged, error);
    bool is_empty = !merge->merged.events && !merge->merged.counters;
    if (is_empty)
        gt_buffer_clear(out);
    gt_buffer_text(out, is_empty ? "[]\n" : "\n]\n");
    bool is_wanted = !(is_empty && merge->options->request.not_empty);
    if (!is_wanted)
        merge->output = NULL;
    int closed = close_file(merge->merged.file, status >= 0 && is_wanted, error);
    return status < 0 ? status : closed;
}

static bool is_shifted(const struct merge *merge)
{
    for (size_t i = 0; i < merge->trace->file_count; i++)
        if (merge->shift[i])
            return true;
    return false;
}

/* Files that tell of several nodes may say so behind the events. */
static bool has_parts(const struct gt_trace *trace)
{
    return trace->file_count && trace->file[trace->file_count - 1].part_of != GT_TRACE_NONE;
}

/* Where clocks and steps need not be known before, the files are read once, as if ids were as many files suggest. Where that
 * was wrong they are read again. */
static int read_first(struct merge *merge, struct gt_error *error)
{
    const struct gt_trace_options *options = &merge->options->trace;
    if (merge->options->request.align || options->by_step || options->from_first)
        return gt_trace_source_read(merge->source, NULL, NULL, error);
    merge->merged.nodes = merge->trace->file_count;
    merge->is_first_reading = true;
    int status = read_events(merge, error);
    merge->is_first_reading = false;
    merge->is_read = !merge->is_wrong && !has_parts(merge->trace);
    return status;
}

static int prepare(struct merge *merge, struct gt_error *error)
{
    int status = read_first(merge, error);
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
    if (status >= 0 && is_shifted(merge)) {
        merge->is_read = false;
        status = gt_trace_source_read(merge->source, NULL, merge->shift, error);
    }
    if (status >= 0)
        status = choose_window(merge, error);
    if (status >= 0 && gt_merged_number(&merge->merged) < 0)
        status = gt_error_system(error, ENOMEM, "merging");
    if (status >= 0) {
        bool are_apart = merge->merged.nodes > 1;
        choose_base(merge);
        count_nodes(merge);
        merge->is_read &= !merge->merged.has_ids || are_apart == (merge->merged.nodes > 1);
    }
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
    struct gt_node *root = gt_report_root(*ret);
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
                 trace->file[i].damage.bad_events + trace->file[i].damage.bad_samples + trace->file[i].damage.unopened);
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
