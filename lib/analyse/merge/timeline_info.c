/* The files that were found, and their contents. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/display.h"
#include "analyse/merge/merge.h"
#include "base/number.h"
#include "schema/human.h"
#include "trace/source.h"

enum { MOST_PHASES = 40 };

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static void add_moment(struct gt_node *root, const char *key_us, const char *key, const char *title, bool any,
                       int64_t ns)
{
    char text[48];
    gt_node_flags(gt_report_count(root, key_us, title, any ? floor((double)(ns / 1000)) : NAN, "microseconds"),
                  GT_ONLY_DATA);
    gt_node_flags(gt_report_text(root, key, title, any ? gt_moment_words(ns, text) : NULL), GT_ONLY_PEOPLE);
}

/* Beside files that tell the time of day, one that counts from an unknown moment says nothing of the whole. */
static bool any_tells_time(const struct gt_trace *trace)
{
    for (size_t i = 0; i < trace->file_count; i++)
        if (trace->file[i].clock != GT_CLOCK_UNKNOWN && trace->file[i].first <= trace->file[i].last)
            return true;
    return false;
}

/* Two whole numbers, so that nothing is lost: seconds of our age as doubles tell no more than 240 ns. */
static void add_range(struct gt_node *root, const struct gt_trace *trace)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    bool told_alone = any_tells_time(trace);
    for (size_t i = 0; i < trace->file_count; i++) {
        if (told_alone && trace->file[i].clock == GT_CLOCK_UNKNOWN)
            continue;
        first = trace->file[i].first < first ? trace->file[i].first : first;
        last = trace->file[i].last > last ? trace->file[i].last : last;
    }
    bool any = first <= last;
    add_moment(root, "start_us", "start", "Start", any, first);
    add_moment(root, "end_us", "end", "End", any, last);
    gt_node_flags(gt_report_number(root, "duration", "Duration", any ? seconds(last - first) : NAN, "seconds"),
                  GT_BRIEF);
}

static void add_totals(struct gt_node *root, const struct gt_trace *trace)
{
    uint64_t events = 0, samples = 0, bad = 0;
    int64_t files = 0;
    for (size_t i = 0; i < trace->file_count; i++) {
        const struct gt_trace_damage *damage = &trace->file[i].damage;
        files += trace->file[i].part_of == GT_TRACE_NONE;
        events += trace->file[i].read;
        samples += trace->file[i].samples;
        bad += gt_damage_lost(damage);
    }
    gt_report_integer(root, "files", "Files", files, "");
    if (trace->unreadable.count) {
        gt_report_integer(root, "unreadable", "Could not be read", (int64_t)trace->unreadable.count, "");
        gt_report_text(root, "unreadable_first", "The first of them", trace->unreadable.first);
    }
    if (trace->doubtful.count) {
        gt_report_integer(root, "doubtful", "May be missing", (int64_t)trace->doubtful.count, "");
        gt_report_text(root, "doubtful_first", "The first of these", trace->doubtful.first);
    }
    gt_report_integer(root, "ignored", "Other files", (int64_t)trace->ignored, "");
    gt_report_integer(root, "events", "Events", (int64_t)events, "");
    gt_report_integer(root, "samples", "Samples", (int64_t)samples, "");
    gt_report_integer(root, "profiles", "Python profiles", (int64_t)trace->profile_count, "");
    gt_report_integer(root, "lost", "Lost events and samples", (int64_t)bad, "");
}

static void add_columns(struct gt_table *table, const char *const columns[][2], const char *kinds)
{
    for (size_t i = 0; kinds[i]; i++)
        gt_table_column(table, columns[i][0], columns[i][1],
                        kinds[i] == 't'   ? GT_CELL_TEXT
                        : kinds[i] == 'i' ? GT_CELL_INTEGER
                                          : GT_CELL_NUMBER,
                        kinds[i] == 's' ? "seconds" : "");
}

static void add_files(struct gt_node *root, const struct gt_trace *trace)
{
    static const char *const columns[][2] = {
        {"file", "File"},         {"format", "Format"},     {"node", "Node"},         {"rank", "Rank"},
        {"clock", "Clock"},       {"events", "Events"},     {"kept", "Kept"},         {"samples", "Samples"},
        {"duration", "Duration"}, {"cut_off", "Cut off"},   {"lost", "Lost"},         {"lost_bytes", "Lost bytes"},
        {"mended", "Mended"},     {"unclosed", "Unclosed"}, {"unopened", "Unopened"}, {"damage", "First damage"}};
    struct gt_table *table = gt_report_table(root, "sources", "Sources");
    add_columns(table, columns, "tttttiiistiiiiit");
    for (size_t i = 0; i < trace->file_count; i++) {
        const struct gt_trace_file *file = &trace->file[i];
        const struct gt_trace_damage *damage = &file->damage;
        char rank[16];
        snprintf(rank, sizeof rank, "%d", (int)file->rank);
        GT_CELLS(table, file->path, file->format, file->node == GT_TRACE_NONE ? NULL : gt_trace_text(trace, file->node),
                 file->rank < 0 ? NULL : rank, gt_trace_clock_names[file->clock], file->read, file->kept,
                 file->samples);
        GT_CELLS(table, file->first <= file->last ? seconds(file->last - file->first) : NAN,
                 damage->cut_off ? "yes" : "no", damage->bad_events + damage->bad_samples, damage->lost_bytes,
                 damage->mended, damage->unclosed, damage->unopened, *damage->first ? damage->first : NULL);
    }
}

struct phase {
    uint32_t name;
    uint64_t events;
    const struct gt_trace *trace;
};

static int by_events(const void *a, const void *b)
{
    const struct phase *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(y->events, x->events),
                       strcmp(gt_trace_text(x->trace, x->name), gt_trace_text(y->trace, y->name)));
}

/* Processes by name, of all files; the most frequent ones. */
static int add_phases(struct gt_node *root, const struct gt_trace *trace)
{
    struct phase *phase = calloc(trace->process_count + 1, sizeof *phase);
    struct gt_keys keys = {0};
    size_t count = 0;
    int64_t at = phase ? 0 : -ENOMEM;
    for (size_t i = 0; i < trace->track_count && at >= 0; i++) {
        const struct gt_trace_process *process = &trace->process[trace->track[i].process];
        uint32_t name = process->name == GT_TRACE_NONE ? process->pid : process->name;
        at = gt_keys_add(&keys, (struct gt_key){{name, 0, 0, 0}}, (uint32_t)count);
        if (at == (int64_t)count)
            phase[count++] = (struct phase){name, 0, trace};
        if (at >= 0)
            phase[at].events += trace->track[i].read;
    }
    gt_keys_release(&keys);
    if (at >= 0) {
        static const char *const columns[][2] = {{"phase", "Process or phase"}, {"events", "Events"}};
        struct gt_table *table = gt_report_table(root, "phases", "Processes and phases");
        add_columns(table, columns, "ti");
        qsort(phase, count, sizeof *phase, by_events);
        for (size_t i = 0; i < count && i < MOST_PHASES; i++) {
            GT_CELLS(table, gt_trace_text(trace, phase[i].name), phase[i].events);
        }
    }
    free(phase);
    return at < 0 ? (int)at : 0;
}

/* A row for each node and mode; steps come sorted by node and start. */
static void add_steps(struct gt_node *root, const struct gt_trace *trace)
{
    static const char *const columns[][2] = {
        {"node", "Node"}, {"mode", "Mode"}, {"steps", "Steps"}, {"first", "First"}, {"last", "Last"}};
    struct gt_table *table = gt_report_table(root, "steps", "Steps");
    bool *done = calloc(trace->step_count + 1, sizeof *done);
    add_columns(table, columns, "ttiii");
    for (size_t i = 0; done && i < trace->step_count; i++) {
        const struct gt_trace_step *step = &trace->step[i];
        int64_t count = 0, first = INT64_MAX, last = INT64_MIN;
        if (done[i])
            continue;
        for (size_t j = i; j < trace->step_count && trace->step[j].node == step->node; j++) {
            if (trace->step[j].mode != step->mode)
                continue;
            done[j] = true;
            count++;
            first = trace->step[j].step < first ? trace->step[j].step : first;
            last = trace->step[j].step > last ? trace->step[j].step : last;
        }
        GT_CELLS(table, gt_trace_text(trace, step->node), gt_trace_text(trace, step->mode), count, first, last);
    }
    free(done);
}

static void add_series(struct gt_node *root, const struct gt_trace *trace)
{
    static const char *const columns[][2] = {
        {"node", "Node"}, {"type", "Type"}, {"name", "Name"}, {"dimension", "Dimension"}};
    struct gt_table *table = gt_report_table(root, "series", "Sampled metrics");
    add_columns(table, columns, "tttt");
    gt_table_flags(table, GT_ONLY_DATA);
    for (size_t i = 0; i < trace->series_count; i++) {
        const uint32_t cells[] = {trace->series[i].node, trace->series[i].type, trace->series[i].name,
                                  trace->series[i].dimension};
        for (size_t j = 0; j < 4; j++)
            gt_table_text(table, cells[j] == GT_TRACE_NONE ? NULL : gt_trace_text(trace, cells[j]));
    }
}

/* Only the filters' counts are wanted. */
static int pass(void *context, const struct gt_trace_event *event, struct gt_error *error)
{
    (void)context, (void)event, (void)error;
    return 0;
}

int gt_trace_info(struct gt_report **ret, const char *const paths[], size_t count,
                  const struct gt_trace_options *options, struct gt_error *error)
{
    struct gt_trace_source *source = NULL;
    struct gt_report *report = NULL;
    struct gt_trace_sink sink = {.event = pass};
    int status = gt_trace_source_open(&source, paths, count, options, error);
    if (status >= 0)
        status = gt_trace_source_read(source, &sink, NULL, error);
    if (status >= 0)
        status = gt_report_new(&report, "timeline_info", error);
    if (status >= 0) {
        const struct gt_trace *trace = gt_trace_source_trace(source);
        struct gt_node *root = &report->root;
        add_totals(root, trace);
        add_range(root, trace);
        add_files(root, trace);
        status = add_phases(root, trace);
        add_steps(root, trace);
        add_series(root, trace);
        if (status >= 0 && gt_report_failed(report))
            status = gt_error_system(error, ENOMEM, "report");
    }
    if (status < 0)
        gt_report_free(report);
    else
        *ret = report;
    gt_trace_source_close(source);
    return status;
}
