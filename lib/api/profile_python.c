/* Dumps of Python profilers as tables: what there is, and functions and callers added up over some of them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/trace/functions.h"
#include "base/table.h"
#include "api/profile.h"
#include "base/order.h"

/* ---- dumps ---- */

static const struct gt_column_kind dump_columns[] = {
    {"profiler_name", GT_CELL_PLAIN_TEXT, false},
    {"framework", GT_CELL_TEXT, false},
    {"node_id", GT_CELL_TEXT, false},
    {"start_mode", GT_CELL_TEXT, false},
    {"start_phase", GT_CELL_TEXT, false},
    {"start_step", GT_CELL_NUMBER, false},
    {"start_us", GT_CELL_NUMBER, false},
    {"end_mode", GT_CELL_TEXT, false},
    {"end_phase", GT_CELL_TEXT, false},
    {"end_step", GT_CELL_NUMBER, false},
    {"end_us", GT_CELL_NUMBER, false},
    {"stats_path", GT_CELL_PLAIN_TEXT, false},
    {"html_path", GT_CELL_TEXT, false},
};

static const char *const profilers[] = {
    [GT_PROFILER_CPROFILE] = "cprofile", [GT_PROFILER_PYINSTRUMENT] = "pyinstrument"};

static int by_start(const void *a, const void *b, void *context)
{
    const struct gt_trace *trace = context;
    const struct gt_trace_profile *x = &trace->profile[*(const size_t *)a], *y = &trace->profile[*(const size_t *)b];
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    int order = strcmp(gt_trace_text(trace, x->node), gt_trace_text(trace, y->node));
    return order ? order : GT_ORDER(x, y);
}

static void put_text(struct gt_table *data, const struct gt_trace *trace, uint32_t string)
{
    gt_table_choice(data, string, gt_trace_text(trace, string));
}

static void put_moment(struct gt_table *data, const struct gt_trace *trace, uint32_t mode, uint32_t phase, double step,
                       int64_t time)
{
    bool known = time != GT_TRACE_EVER && time != -GT_TRACE_EVER;
    put_text(data, trace, mode);
    put_text(data, trace, phase);
    gt_table_number(data, step);
    gt_table_number(data, known ? (double)time / 1e3 : NAN);
}

static void put_dump(struct gt_table *data, const struct gt_trace *trace, const struct gt_trace_profile *profile)
{
    gt_table_text(data, profilers[profile->profiler]);
    put_text(data, trace, profile->framework);
    put_text(data, trace, profile->node);
    put_moment(data, trace, profile->start_mode, profile->start_phase, profile->start_step, profile->start);
    put_moment(data, trace, profile->end_mode, profile->end_phase, profile->end_step, profile->end);
    gt_table_text(data, trace->file[profile->file].path);
    put_text(data, trace, profile->report);
}

int gt_profile_dumps(const struct gt_profile *profile, struct gt_table **ret, struct gt_error *error)
{
    enum { COLUMNS = sizeof dump_columns / sizeof *dump_columns };
    struct gt_trace *trace = profile->trace;
    size_t *order = calloc(trace->profile_count + 1, sizeof *order);
    if (!order)
        return gt_error_system(error, ENOMEM, "profile");
    for (size_t i = 0; i < trace->profile_count; i++)
        order[i] = i;
    qsort_r(order, trace->profile_count, sizeof *order, by_start, trace);
    struct gt_table *data = gt_table_new();
    gt_table_add_columns(data, dump_columns, COLUMNS);
    for (size_t i = 0; i < trace->profile_count; i++)
        put_dump(data, trace, &trace->profile[order[i]]);
    free(order);
    return gt_table_finish_columns(ret, data, dump_columns, COLUMNS, "profile", error);
}

/* ---- functions ---- */

/* A function, or a caller and whom it calls, with what it took. */
struct row {
    uint32_t key[6]; /* file, name, line; callers: the same of the caller behind it */
    double figure[4];
    bool only_named; /* known as a caller alone */
};

struct rows {
    struct row *row;
    size_t count;
};

enum { PRIMITIVE, TOTAL, SELF, CUMULATIVE };

static bool is_chosen(const struct gt_trace *trace, const struct gt_trace_profile *profile, const char *const *paths)
{
    for (; *paths; paths++)
        if (strcmp(trace->file[profile->file].path, *paths) == 0)
            return true;
    return false;
}

static int by_key(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    for (size_t i = 0; i < sizeof x->key / sizeof *x->key; i++)
        if (x->key[i] != y->key[i])
            return x->key[i] < y->key[i] ? -1 : 1;
    return 0;
}

/* One row for each key. Figures of the same dump order sum alike, so sums do not depend on the sort. */
static void unite(struct rows *rows)
{
    size_t count = 0;
    if (rows->count)
        qsort(rows->row, rows->count, sizeof *rows->row, by_key);
    for (size_t i = 0; i < rows->count; i++) {
        struct row *last = count ? &rows->row[count - 1] : NULL;
        if (!last || by_key(last, &rows->row[i]) != 0) {
            rows->row[count++] = rows->row[i];
        } else if (last->only_named) {
            *last = rows->row[i];
        } else if (!rows->row[i].only_named) {
            for (size_t figure = 0; figure < 4; figure++)
                last->figure[figure] += rows->row[i].figure[figure];
        }
    }
    rows->count = count;
}

static struct row row_of(const struct gt_trace_function *function)
{
    return (struct row){
        .key = {function->file, function->function, (uint32_t)function->line},
        .figure = {(double)function->primitive_calls, (double)function->total_calls, function->total_time,
                   function->cumulative_time},
        .only_named = isnan(function->total_time),
    };
}

static int collect_functions(const struct gt_trace *trace, const char *const *paths, struct rows *ret)
{
    size_t count = 0;
    for (size_t i = 0; i < trace->profile_count; i++)
        count += trace->profile[i].function_count;
    ret->row = calloc(count + 1, sizeof *ret->row);
    if (!ret->row)
        return -ENOMEM;
    for (size_t i = 0; i < trace->profile_count; i++)
        for (size_t j = 0; is_chosen(trace, &trace->profile[i], paths) && j < trace->profile[i].function_count; j++)
            ret->row[ret->count++] = row_of(&trace->profile[i].function[j]);
    unite(ret);
    return 0;
}

static void add_callers(const struct gt_trace_profile *profile, struct rows *ret)
{
    for (size_t i = 0; i < profile->function_count; i++) {
        const struct gt_trace_function *function = &profile->function[i];
        for (uint32_t j = 0; j < function->callers; j++) {
            const struct gt_trace_caller *caller = &profile->caller[function->caller + j];
            const struct gt_trace_function *from = &profile->function[caller->function];
            ret->row[ret->count++] = (struct row){
                .key = {function->file, function->function, (uint32_t)function->line, from->file, from->function,
                        (uint32_t)from->line},
                .figure = {(double)caller->primitive_calls, (double)caller->total_calls, caller->total_time,
                           caller->cumulative_time},
            };
        }
    }
}

static int collect_callers(const struct gt_trace *trace, const char *const *paths, struct rows *ret)
{
    size_t count = 0;
    for (size_t i = 0; i < trace->profile_count; i++)
        count += trace->profile[i].caller_count;
    ret->row = calloc(count + 1, sizeof *ret->row);
    if (!ret->row)
        return -ENOMEM;
    for (size_t i = 0; i < trace->profile_count; i++)
        if (is_chosen(trace, &trace->profile[i], paths))
            add_callers(&trace->profile[i], ret);
    unite(ret);
    return 0;
}

static void put_name(struct gt_table *data, const struct gt_trace *trace, const struct row *row)
{
    struct gt_buffer text = {0};
    const char *name = gt_function_name(gt_trace_text(trace, row->key[0]), row->key[2],
                                        gt_trace_text(trace, row->key[1]), &text);
    gt_table_text(data, name ? name : "");
    gt_buffer_release(&text);
}

static void put_figures(struct gt_table *data, const struct row *row)
{
    gt_table_integer(data, (int64_t)row->figure[PRIMITIVE]);
    gt_table_integer(data, (int64_t)row->figure[TOTAL]);
    gt_table_number(data, row->figure[SELF]);
    gt_table_number(data, row->figure[CUMULATIVE]);
}

static const struct gt_column_kind function_columns[] = {
    {"file", GT_CELL_TEXT, false},          {"line", GT_CELL_INTEGER, false},
    {"function", GT_CELL_TEXT, false},      {"function_name", GT_CELL_PLAIN_TEXT, false},
    {"prim_calls", GT_CELL_INTEGER, false}, {"total_calls", GT_CELL_INTEGER, false},
    {"total_time", GT_CELL_NUMBER, false},  {"cumulative_time", GT_CELL_NUMBER, false},
};
static const struct gt_column_kind caller_columns[] = {
    {"function", GT_CELL_INTEGER, false},   {"caller", GT_CELL_INTEGER, false},
    {"prim_calls", GT_CELL_INTEGER, false}, {"total_calls", GT_CELL_INTEGER, false},
    {"total_time", GT_CELL_NUMBER, false},  {"cumulative_time", GT_CELL_NUMBER, false},
};

int gt_profile_functions(const struct gt_profile *profile, const char *const *stats_paths, struct gt_table **ret,
                         struct gt_error *error)
{
    enum { COLUMNS = sizeof function_columns / sizeof *function_columns };
    const struct gt_trace *trace = profile->trace;
    struct rows rows = {0};
    if (collect_functions(trace, stats_paths, &rows) < 0)
        return gt_error_system(error, ENOMEM, "profile");
    struct gt_table *data = gt_table_new();
    gt_table_add_columns(data, function_columns, COLUMNS);
    for (size_t i = 0; i < rows.count; i++) {
        const struct row *row = &rows.row[i];
        put_text(data, trace, row->key[0]);
        gt_table_integer(data, (int32_t)row->key[2]);
        put_text(data, trace, row->key[1]);
        put_name(data, trace, row);
        put_figures(data, row);
    }
    free(rows.row);
    return gt_table_finish_columns(ret, data, function_columns, COLUMNS, "profile", error);
}

static int64_t row_number(const struct rows *functions, const uint32_t key[3])
{
    struct row wanted = {.key = {key[0], key[1], key[2]}};
    const struct row *found = bsearch(&wanted, functions->row, functions->count, sizeof wanted, by_key);
    return found ? found - functions->row : -1;
}

int gt_profile_callers(const struct gt_profile *profile, const char *const *stats_paths, struct gt_table **ret,
                       struct gt_error *error)
{
    enum { COLUMNS = sizeof caller_columns / sizeof *caller_columns };
    struct rows functions = {0}, callers = {0};
    int status = collect_functions(profile->trace, stats_paths, &functions);
    if (status >= 0)
        status = collect_callers(profile->trace, stats_paths, &callers);
    struct gt_table *data = gt_table_new();
    gt_table_add_columns(data, caller_columns, COLUMNS);
    for (size_t i = 0; i < callers.count && status >= 0; i++) {
        const struct row *row = &callers.row[i];
        gt_table_integer(data, row_number(&functions, row->key));
        gt_table_integer(data, row_number(&functions, row->key + 3));
        put_figures(data, row);
    }
    free(functions.row);
    free(callers.row);
    if (status >= 0)
        return gt_table_finish_columns(ret, data, caller_columns, COLUMNS, "profile", error);
    gt_table_free(data);
    return gt_error_system(error, -status, "profile");
}
