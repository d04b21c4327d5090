/* Functions of traces: analyses of files, and traces in memory. */
#include <errno.h>

#include "analyse/calls/functions.h"
#include "analyse/export/tables.h"
#include "analyse/trace/analysis.h"
#include "analyse/trace/dataloader.h"
#include "analyse/trace/window.h"
#include "api/python.h"
#include "core.h"
#include "trace/tables.h"

/* ---- files ---- */

static PyObject *analyses(struct core_call *call)
{
    const char *name, *help;
    PyObject *list = PyList_New(0);
    (void)call;
    for (size_t i = 0; list && gt_analysis_info(i, &name, &help) == 0; i++)
        core_append(&list, Py_BuildValue("(ss)", name, help));
    return list;
}

static int profile_report(struct core_call *call, struct gt_error *error)
{
    return gt_profile_report(call->text[0], call->texts[1], call->count[1], &call->request, &call->profile,
                             &call->report, error);
}

static int timeline_info(struct core_call *call, struct gt_error *error)
{
    return gt_timeline_info(call->texts[0], call->count[0], &call->request, &call->report, error);
}

static int timeline_merge(struct core_call *call, struct gt_error *error)
{
    return gt_timeline_merge(call->texts[0], call->count[0], &call->request, &call->merge, &call->report, error);
}

static int timeline_export(struct core_call *call, struct gt_error *error)
{
    return gt_timeline_export(call->texts[0], call->count[0], &call->request, &call->export, &call->report, error);
}

static int raw_events(struct core_call *call, struct gt_error *error)
{
    struct gt_trace_options options;
    int status = gt_trace_request_read(&call->request, &options, error);
    return status < 0 ? status : gt_trace_raw_table(call->texts[0], call->count[0], &options, &call->table, error);
}

static int events_table(struct core_call *call, struct gt_error *error)
{
    struct gt_trace_options options;
    struct gt_trace_source *source = NULL;
    int status = gt_trace_request_read(&call->request, &options, error);
    if (status >= 0)
        status = gt_trace_source_open(&source, call->texts[0], call->count[0], &options, error);
    if (status >= 0)
        status = gt_export_table(source, &call->table, error);
    gt_trace_source_close(source);
    return status;
}

/* ---- traces in memory ---- */

static int trace(struct core_call *call, struct gt_error *error)
{
    static const char *const arguments[] = {GT_TABLE_ARGUMENTS, NULL};
    struct gt_trace_options options;
    int status = gt_trace_request_read(&call->request, &options, error);
    options.arguments = arguments;
    return status < 0 ? status : gt_trace_load(&call->trace, call->texts[0], call->count[0], &options, error);
}

static int trace_of_tables(struct core_call *call, struct gt_error *error)
{
    return gt_trace_of_tables(&call->trace, call->handle[0], call->handle[1], error);
}

static PyObject *give_trace(struct core_call *call)
{
    return core_handle_object(CORE_TRACE, call->made);
}

static PyObject *origin(struct core_call *call)
{
    return PyLong_FromLongLong(gt_trace_origin(call->handle[0]));
}

static int samples(struct core_call *call, struct gt_error *error)
{
    return gt_trace_samples_table(call->handle[0], call->array[1], call->count[1], &call->table, error);
}

static int events(struct core_call *call, struct gt_error *error)
{
    return gt_trace_events_table(call->handle[0], call->array[1], call->count[1], &call->table, error);
}

static int loader_events(struct core_call *call, struct gt_error *error)
{
    return gt_trace_loader_table(call->handle[0], call->array[1], call->count[1], &call->table, error);
}

static int loader_outliers(struct core_call *call, struct gt_error *error)
{
    return gt_loader_outliers(call->handle[0], call->text[1], &call->table, error);
}

static int overlaps(struct core_call *call, struct gt_error *error)
{
    return gt_trace_overlaps(call->handle[0], call->array[1], call->count[1], call->texts[2], &call->table, error);
}

static int dumps(struct core_call *call, struct gt_error *error)
{
    return gt_dumps_table(call->handle[0], &call->table, error);
}

static int functions(struct core_call *call, struct gt_error *error)
{
    return gt_functions_table(call->handle[0], call->texts[1], call->flag[2], &call->table, error);
}

static int analyse(struct core_call *call, struct gt_error *error)
{
    return gt_analysis_of_trace(call->handle[0], call->text[1], &call->profile, &call->report, error);
}

static int window(struct core_call *call, struct gt_error *error)
{
    return gt_trace_window(call->handle[0], call->integer[1], call->integer[2], call->texts[3], call->texts[4],
                           &call->report, error);
}

const struct core_function core_trace_functions[] = {
    {"analyses", "", NULL, analyses, "analyses()\n--\n\nReturn name and help of every analysis of traces."},
    {"profile_report", "sPRA", profile_report, core_report,
     "profile_report(analysis, paths, request, options, /)\n--\n\nRead files and analyse them."},
    {"timeline_info", "PR", timeline_info, core_report,
     "timeline_info(paths, request, /)\n--\n\nDescribe the contents of files."},
    {"timeline_export", "PRE", timeline_export, core_report,
     "timeline_export(paths, request, what, /)\n--\n\nWrite files as tables or as a flame graph."},
    {"timeline_merge", "PRM", timeline_merge, core_report,
     "timeline_merge(paths, request, merge, /)\n--\n\nMerge files into one Chrome trace."},
    {"events_table", "PR", events_table, core_table,
     "events_table(paths, request, /)\n--\n\nReturn events with the columns of `gpu-tracker timeline export`."},
    {"raw_events", "PR", raw_events, core_table,
     "raw_events(paths, request, /)\n--\n\nReturn events as in their files, with all arguments as JSON."},
    {"trace", "PR", trace, give_trace,
     "trace(paths, request, /)\n--\n\nRead files and folders as one trace in memory."},
    {"trace_of_tables", "11", trace_of_tables, give_trace,
     "trace_of_tables(samples, events, /)\n--\n\nCreate a trace from tables of system metrics and events."},
    {"trace_origin", "2", NULL, origin,
     "trace_origin(trace, /)\n--\n\nReturn the base time of columns in microseconds, in nanoseconds since the epoch."},
    {"trace_samples", "2Q", samples, core_table,
     "trace_samples(trace, queries, /)\n--\n\nReturn system metrics that match any query."},
    {"trace_events", "2Q", events, core_table,
     "trace_events(trace, queries, /)\n--\n\nReturn events that match any query."},
    {"trace_loader_events", "2Q", loader_events, core_table,
     "trace_loader_events(trace, queries, /)\n--\n\nReturn events with values of the data loader."},
    {"trace_loader_outliers", "2s", loader_outliers, core_table,
     "trace_loader_outliers(trace, part, /)\n--\n\nReturn events of the data loader that take at least twice the median."},
    {"trace_overlaps", "2LN", overlaps, core_table,
     "trace_overlaps(trace, spans, names, /)\n--\n\nReturn the duration of events in intervals of nanoseconds since the epoch."},
    {"trace_dumps", "2", dumps, core_table, "trace_dumps(trace, /)\n--\n\nReturn dumps of Python profilers."},
    {"trace_functions", "2Pb", functions, core_table,
     "trace_functions(trace, stats_paths, of_callers, /)\n--\n\nReturn the sum of functions of dumps, or their callers by number."},
    {"trace_analyse", "2sA", analyse, core_report,
     "trace_analyse(trace, analysis, options, /)\n--\n\nReturn the report of an analysis."},
    {"trace_window", "2iiNN", window, core_report,
     "trace_window(trace, start, end, events, dimensions, /)\n--\n\nReturn an interval for a chart."},
    {NULL, NULL, NULL, NULL, NULL},
};
