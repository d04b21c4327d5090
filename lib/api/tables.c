#include "api/python.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "blocks/block.h"
#include "blocks/block_event.h"
#include "blocks/interval.h"
#include "store/field.h"
#include "store/store.h"

enum { ORIGINAL_FACTS = 9 };

/* ---- recordings ---- */

static bool is_inside(const struct gt_time_span *spans, size_t count, double time)
{
    size_t low = 0, high = count; /* the spans before `low` have started by then */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans[middle].start <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low && time <= spans[low - 1].stop;
}

/* Those columns that the file has, in its order of importance: the original's, then ours. */
static size_t choose_columns(const struct gt_columns *all, const struct gt_recording *recording,
                             const struct gt_column **chosen, struct gt_table *table)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct gt_column *column = &all->column[i];
        if (!gt_recording_has(recording, column->name))
            continue;
        chosen[count++] = column;
        gt_table_column(table, column->name, column->name, GT_CELL_NUMBER, NULL);
    }
    return count;
}

static int read_samples(struct gt_table *table, struct gt_recording *recording, const struct gt_time_span *spans,
                        size_t span_count, struct gt_error *error)
{
    const struct gt_columns *columns = gt_recording_list(recording);
    const struct gt_column *chosen[sizeof columns->column / sizeof *columns->column];
    const struct gt_sample *sample;
    int status;
    const struct gt_column *timestamp = &columns->column[gt_store_column_find(columns, "timestamp")];
    size_t count = choose_columns(columns, recording, chosen, table);
    while ((status = gt_recording_next(recording, &sample, error)) > 0) {
        if (spans && !is_inside(spans, span_count, gt_store_column_value(timestamp, sample)))
            continue;
        for (size_t i = 0; i < count; i++)
            gt_table_number(table, gt_store_column_value(chosen[i], sample));
    }
    for (size_t i = 0; i < count; i++)
        if (chosen[i]->is_integer)
            gt_table_make_integer(table, i);
    return status;
}

int gt_recording_samples(const char *path, const struct gt_time_span *spans, size_t span_count, struct gt_table **ret,
                         struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    struct gt_table *table = gt_table_new();
    int status = gt_recording_open(&recording, path, error);
    if (status >= 0)
        status = read_samples(table, recording, spans, span_count, error);
    gt_recording_close(recording);
    if (status >= 0)
        return gt_table_finish(ret, table, path, error);
    gt_table_free(table);
    return status;
}

int gt_recording_static(const char *path, struct gt_table **ret, struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    int status = gt_recording_open(&recording, path, error);
    if (status < 0)
        return status;
    const struct gt_machine *machine = gt_recording_machine(recording);
    struct gt_table *table = gt_table_new();
    for (int i = 0; i < ORIGINAL_FACTS; i++) {
        enum gt_field_kind kind = gt_machine_fields.field[i].kind;
        const char *name = gt_machine_fields.field[i].name;
        gt_table_column(table, name, name,
                        kind == GT_FIELD_TEXT      ? GT_CELL_PLAIN_TEXT
                        : kind == GT_FIELD_INTEGER ? GT_CELL_INTEGER
                                                   : GT_CELL_NUMBER,
                        NULL);
    }
    for (int i = 0; i < ORIGINAL_FACTS; i++) {
        const struct gt_field *field = &gt_machine_fields.field[i];
        if (field->kind == GT_FIELD_TEXT)
            gt_table_text(table, gt_field_text(field, machine));
        else if (field->kind == GT_FIELD_INTEGER)
            gt_table_integer(table, (int64_t)gt_field_number(field, machine));
        else
            gt_table_number(table, gt_field_number(field, machine));
    }
    gt_recording_close(recording);
    return gt_table_finish(ret, table, path, error);
}

/* ---- sub-tracking files ---- */

static const struct gt_column_kind call_columns[] = {
    {"code_block_name", GT_CELL_PLAIN_TEXT, false},
    {"process_id", GT_CELL_INTEGER, false},
    {"thread_id", GT_CELL_NUMBER, true},
    {"call", GT_CELL_NUMBER, true},
    {"start", GT_CELL_NUMBER, false},
    {"stop", GT_CELL_NUMBER, false},
    {"elapsed", GT_CELL_NUMBER, false},
    {"self", GT_CELL_NUMBER, false},
};
enum { CALL_COLUMNS = sizeof call_columns / sizeof *call_columns };

static int by_time(const void *a, const void *b)
{
    const struct gt_interval *one = a, *other = b;
    return GT_ORDER(one->start, other->start);
}

static struct gt_table *table_of_calls(const struct gt_intervals *intervals, const struct gt_strings *names)
{
    struct gt_table *table = gt_table_new();
    gt_table_add_columns(table, call_columns, CALL_COLUMNS);
    for (size_t i = 0; i < intervals->count; i++) {
        const struct gt_interval *call = &intervals->interval[i];
        gt_table_text(table, gt_strings_text(names, call->name));
        gt_table_integer(table, call->process);
        gt_table_number(table, call->thread < 0 ? NAN : (double)call->thread);
        gt_table_number(table, call->call < 0 ? NAN : (double)call->call);
        gt_table_number(table, call->start);
        gt_table_number(table, call->unfinished ? NAN : call->stop);
        gt_table_number(table, call->unfinished ? NAN : call->elapsed);
        gt_table_number(table, call->unfinished ? NAN : call->self);
    }
    return table;
}

/* Where what never ended is cut off: only its own row shows it, as missing. */
static double last_time(const struct gt_block_event_list *list, bool monotonic)
{
    double last = -INFINITY;
    for (size_t i = 0; i < list->count; i++)
        last = fmax(last, monotonic ? list->event[i].monotonic : list->event[i].timestamp);
    return last;
}

static int read_events(struct gt_block_event_list *list, const char *const *files, struct gt_error *error)
{
    int status = 0;
    for (; status >= 0 && *files; files++)
        status = gt_block_event_list_add(list, *files, error);
    return status;
}

static int pair(struct gt_intervals *intervals, struct gt_block_event_list *list, struct gt_error *error)
{
    double end = last_time(list, false), clock_end = last_time(list, true);
    int status = gt_intervals_pair(intervals, list->event, list->count);
    if (status >= 0)
        status = gt_intervals_close(intervals, end, clock_end);
    return status < 0 ? gt_error_system(error, -status, "code blocks") : status;
}

/* ---- the calls of one block ---- */

static bool has_name(const struct gt_block_event_list *list, const char *name)
{
    for (size_t i = 0; i < list->names.count; i++)
        if (strcmp(gt_strings_text(&list->names, i), name) == 0)
            return true;
    return false;
}

/* As it is written: the original does not cut names off. */
static void keep_block(struct gt_block_event_list *list, const char *name)
{
    size_t kept = 0;
    char cut[GT_BLOCK_NAME_MAX + 1];
    if (!has_name(list, name))
        name = gt_block_name(name, cut);
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(gt_strings_text(&list->names, list->event[i].name), name) == 0)
            list->event[kept++] = list->event[i];
    list->count = kept;
}

static int by_process(const void *a, const void *b)
{
    const struct gt_interval *one = a, *other = b;
    int order = GT_ORDER(one->source, other->source);
    order = order ? order : GT_ORDER(one->process, other->process);
    return order ? order : by_time(a, b);
}

/* With the end that a clock which was set back gave it, too: such a pair holds no time. */
static int check_order(const struct gt_intervals *intervals, const struct gt_block_event_list *list, const char *name,
                       struct gt_error *error)
{
    if (intervals->orphans)
        return gt_error_set(error, EBADMSG,
                            "%s: a call of \"%s\" in process %lld stops at %.6f and starts nowhere before",
                            gt_strings_text(&list->files, intervals->orphan.source), name,
                            (long long)intervals->orphan.process, intervals->orphan.timestamp);
    for (size_t i = 0; i < intervals->count; i++) {
        const struct gt_interval *call = &intervals->interval[i];
        if (!call->unfinished && call->stop < call->start)
            return gt_error_set(
                error, EBADMSG, "%s: a call of \"%s\" in process %lld stops at %.6f, before its start at %.6f",
                gt_strings_text(&list->files, call->source), name, (long long)call->process, call->stop, call->start);
    }
    return 0;
}

int gt_blocks_calls(const char *const *files, const char *name, struct gt_table **ret, struct gt_error *error)
{
    struct gt_block_event_list list = {0};
    struct gt_intervals intervals = {0};
    int status = read_events(&list, files, error);
    if (status >= 0 && name)
        keep_block(&list, name);
    if (status >= 0)
        status = pair(&intervals, &list, error);
    if (status >= 0 && name)
        status = check_order(&intervals, &list, name, error);
    if (status >= 0) {
        qsort(intervals.interval, intervals.count, sizeof *intervals.interval, name ? by_process : by_time);
        status = gt_table_finish_columns(ret, table_of_calls(&intervals, &list.names), call_columns, CALL_COLUMNS,
                                         "code blocks", error);
    }
    gt_intervals_release(&intervals);
    gt_block_event_list_release(&list);
    return status;
}
