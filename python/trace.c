/* Traces: options of analyses, reports, and traces kept in memory. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyse/calls/functions.h"
#include "analyse/export/tables.h"
#include "analyse/trace/analysis.h"
#include "analyse/trace/dataloader.h"
#include "analyse/trace/window.h"
#include "api/python.h"
#include "core.h"
#include "report/report.h"
#include "trace/tables.h"

/* ---- options from dicts of keywords ---- */

enum kind { TEXT, LIST, FLAG, COUNT, NUMBER };

struct option {
    const char *name;
    enum kind kind;
    size_t offset;
};

static int store(const struct option *option, PyObject *value, void *options, PyObject *keep)
{
    void *place = (char *)options + option->offset;
    long number;
    switch (option->kind) {
    case TEXT: return (*(const char **)place = core_text(value, keep)) ? 0 : -1;
    case LIST: /* a single text would be split into characters */
        if (!PyUnicode_Check(value) && !PyBytes_Check(value))
            return core_texts(value, place, keep);
        PyErr_SetNone(PyExc_TypeError);
        return -1;
    case FLAG: return (*(int *)place = PyObject_IsTrue(value)) < 0 ? -1 : 0;
    case NUMBER: *(double *)place = PyFloat_AsDouble(value); return PyErr_Occurred() ? -1 : 0;
    case COUNT: break;
    }
    number = PyLong_AsLong(value);
    *(int *)place = number > INT_MAX ? INT_MAX : number < INT_MIN ? INT_MIN : (int)number;
    return PyErr_Occurred() ? -1 : 0;
}

/* Stores a value, or raises a TypeError with the name of the option and its accepted type. */
static int store_named(const struct option *option, PyObject *value, void *options, PyObject *keep)
{
    static const char *const accepted[] = {[TEXT] = "a text",
                                           [LIST] = "a list of texts",
                                           [FLAG] = "True or False",
                                           [COUNT] = "an integer",
                                           [NUMBER] = "a number"};
    int status = store(option, value, options, keep);
    if (status < 0 && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s=%R is not %s", option->name, value, accepted[option->kind]);
    }
    return status;
}

static const struct option *find(const struct option *option, size_t count, PyObject *name)
{
    for (size_t i = 0; i < count; i++)
        if (PyUnicode_CompareWithASCIIString(name, option[i].name) == 0)
            return &option[i];
    PyErr_Format(PyExc_TypeError, "unknown option '%S'", name);
    return NULL;
}

/* Arguments of functions of files. `keep` of the files holds the texts of all options. */
struct call {
    struct core_paths files;
    struct gt_trace_request request;
    struct gt_profile_options profile;
    struct gt_merge_request merge;
    struct gt_export_request export;
};

/* The functions below are for "O&" of PyArg_ParseTuple, after the files. None keeps the default. */
static int fill(const struct option *option, size_t count, PyObject *keywords, void *options, PyObject *keep)
{
    PyObject *name, *value;
    Py_ssize_t position = 0;
    if (!PyDict_Check(keywords)) {
        PyErr_Format(PyExc_TypeError, "options must be a dict, not %R", keywords);
        return 0;
    }
    while (PyDict_Next(keywords, &position, &name, &value)) {
        const struct option *found = find(option, count, name);
        if (!found || (value != Py_None && store_named(found, value, options, keep) < 0))
            return 0;
    }
    return 1;
}

static int take_request(PyObject *keywords, void *ret)
{
    static const struct option options[] = {
        {"start", TEXT, offsetof(struct gt_trace_request, start)},
        {"end", TEXT, offsetof(struct gt_trace_request, end)},
        {"by_step", FLAG, offsetof(struct gt_trace_request, by_step)},
        {"suffixes", LIST, offsetof(struct gt_trace_request, suffixes)},
        {"select", TEXT, offsetof(struct gt_trace_request, select)},
        {"node", TEXT, offsetof(struct gt_trace_request, node)},
        {"threads", COUNT, offsetof(struct gt_trace_request, threads)},
    };
    struct call *call = ret;
    call->request = GT_INIT(struct gt_trace_request);
    return fill(options, sizeof options / sizeof *options, keywords, &call->request, call->files.keep);
}

static int take_profile(PyObject *keywords, void *ret)
{
    static const struct option options[] = {
        {"by", TEXT, offsetof(struct gt_profile_options, by)},
        {"phases", LIST, offsetof(struct gt_profile_options, phases)},
        {"device", TEXT, offsetof(struct gt_profile_options, device)},
        {"ranges", TEXT, offsetof(struct gt_profile_options, ranges)},
        {"key", TEXT, offsetof(struct gt_profile_options, key)},
        {"top", COUNT, offsetof(struct gt_profile_options, top)},
        {"carbon_intensity", TEXT, offsetof(struct gt_profile_options, carbon_intensity)},
        {"carbon_file", TEXT, offsetof(struct gt_profile_options, carbon_file)},
        {"price", TEXT, offsetof(struct gt_profile_options, price)},
        {"peak_flops", TEXT, offsetof(struct gt_profile_options, peak_flops)},
        {"operator", TEXT, offsetof(struct gt_profile_options, operator_name)},
        {"length", COUNT, offsetof(struct gt_profile_options, length)},
    };
    struct call *call = ret;
    call->profile = GT_INIT(struct gt_profile_options);
    return fill(options, sizeof options / sizeof *options, keywords, &call->profile, call->files.keep);
}

static int take_merge(PyObject *keywords, void *ret)
{
    static const struct option options[] = {
        {"low_gpu", NUMBER, offsetof(struct gt_merge_request, low_gpu)},
        {"metrics", TEXT, offsetof(struct gt_merge_request, metrics)},
        {"align", TEXT, offsetof(struct gt_merge_request, align)},
        {"output", TEXT, offsetof(struct gt_merge_request, output)},
        {"overwrite", FLAG, offsetof(struct gt_merge_request, overwrite)},
        {"critical_path", FLAG, offsetof(struct gt_merge_request, critical_path)},
    };
    struct call *call = ret;
    call->merge = GT_INIT(struct gt_merge_request);
    return fill(options, sizeof options / sizeof *options, keywords, &call->merge, call->files.keep);
}

static int take_export(PyObject *keywords, void *ret)
{
    static const struct option options[] = {
        {"output", TEXT, offsetof(struct gt_export_request, output)},
        {"overwrite", FLAG, offsetof(struct gt_export_request, overwrite)},
    };
    struct call *call = ret;
    call->export = GT_INIT(struct gt_export_request);
    return fill(options, sizeof options / sizeof *options, keywords, &call->export, call->files.keep);
}

/* ---- reports as objects, and functions that make them from files ---- */

static const struct gt_report *report_of(PyObject *self)
{
    return ((struct core_holder *)self)->held;
}

/* Returns an object that owns a report of the library, or raises the exception of a failed call. */
static PyObject *report_object_of(PyObject *module, int status, struct gt_report *report, const struct gt_error *error)
{
    if (status < 0)
        return core_raise(status, error);
    PyObject *type = PyObject_GetAttrString(module, "Report");
    PyObject *self = type ? core_hold((PyTypeObject *)type, report) : NULL;
    if (!self)
        gt_report_free(report);
    Py_XDECREF(type);
    return self;
}

static void report_free(PyObject *self)
{
    gt_report_free(((struct core_holder *)self)->held);
    core_object_free(self);
}

static PyObject *report_render(PyObject *self, PyObject *format)
{
    PyObject *bytes = PyUnicode_AsUTF8String(format);
    PyObject *ret = bytes ? core_render(report_of(self), PyBytes_AsString(bytes)) : NULL;
    Py_XDECREF(bytes);
    return ret;
}

static PyObject *report_tables(PyObject *self, PyObject *Py_UNUSED(unused))
{
    PyObject *module = PyType_GetModule(Py_TYPE(self)), *tables = module ? PyDict_New() : NULL;
    for (size_t i = 0; tables; i++) {
        struct gt_error error = {0};
        struct gt_table *found = NULL;
        const char *key;
        int status = gt_report_table_data(report_of(self), i, &key, &found, &error);
        if (status == -ENOENT)
            break;
        core_put(&tables, key, core_take_table(module, status, found, &error));
    }
    return tables;
}

static PyMethodDef report_methods[] = {
    {"render", report_render, METH_O, "render($self, format, /)\n--\n\nReturn the report in a format of the program."},
    {"tables", report_tables, METH_NOARGS, "tables($self, /)\n--\n\nReturn the tables by name."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot report_slots[] = {
    {Py_tp_doc, "Result of an analysis."},
    {Py_tp_dealloc, (void *)report_free},
    {Py_tp_methods, report_methods},
    {0, NULL},
};

PyType_Spec core_trace_report_spec = {
    .name = "gpu_tracker._core.Report",
    .basicsize = sizeof(struct core_holder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = report_slots,
};

/* ---- functions ---- */

static PyObject *analyses(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    const char *name, *help;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && gt_analysis_info(i, &name, &help) == 0; i++)
        core_append(&list, Py_BuildValue("(ss)", name, help));
    return list;
}

static PyObject *profile_report(PyObject *module, PyObject *arguments)
{
    const char *analysis;
    struct call call = {0};
    struct gt_report *report = NULL;
    struct gt_error error = {0};
    int status;
    if (!PyArg_ParseTuple(arguments, "sO&O&O&:profile_report", &analysis, core_paths, &call.files, take_request, &call,
                          take_profile, &call))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = gt_profile_report(analysis, call.files.path, call.files.count, &call.request,
                                                      &call.profile, &report, &error);
    Py_END_ALLOW_THREADS Py_DECREF(call.files.keep);
    return report_object_of(module, status, report, &error);
}

static PyObject *timeline_info(PyObject *module, PyObject *arguments)
{
    struct call call = {0};
    struct gt_report *report = NULL;
    struct gt_error error = {0};
    int status;
    if (!PyArg_ParseTuple(arguments, "O&O&:timeline_info", core_paths, &call.files, take_request, &call))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = gt_timeline_info(call.files.path, call.files.count, &call.request, &report, &error);
    Py_END_ALLOW_THREADS Py_DECREF(call.files.keep);
    return report_object_of(module, status, report, &error);
}

static PyObject *timeline_merge(PyObject *module, PyObject *arguments)
{
    struct call call = {0};
    struct gt_report *report = NULL;
    struct gt_error error = {0};
    int status;
    if (!PyArg_ParseTuple(arguments, "O&O&O&:timeline_merge", core_paths, &call.files, take_request, &call, take_merge,
                          &call))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = gt_timeline_merge(call.files.path, call.files.count, &call.request, &call.merge,
                                                      &report, &error);
    Py_END_ALLOW_THREADS Py_DECREF(call.files.keep);
    return report_object_of(module, status, report, &error);
}

static PyObject *timeline_export(PyObject *module, PyObject *arguments)
{
    struct call call = {0};
    struct gt_report *report = NULL;
    struct gt_error error = {0};
    int status;
    if (!PyArg_ParseTuple(arguments, "O&O&O&:timeline_export", core_paths, &call.files, take_request, &call,
                          take_export, &call))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = gt_timeline_export(call.files.path, call.files.count, &call.request, &call.export,
                                                       &report, &error);
    Py_END_ALLOW_THREADS Py_DECREF(call.files.keep);
    return report_object_of(module, status, report, &error);
}

typedef int table_function(const struct call *call, const struct gt_trace_options *options, struct gt_table **ret,
                           struct gt_error *error);

static PyObject *table_of_files(PyObject *module, PyObject *arguments, const char *format, table_function *read)
{
    struct call call = {0};
    struct gt_trace_options options;
    struct gt_table *table = NULL;
    struct gt_error error = {0};
    int status;
    if (!PyArg_ParseTuple(arguments, format, core_paths, &call.files, take_request, &call))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = gt_trace_request_read(&call.request, &options, &error);
    if (status >= 0)
        status = read(&call, &options, &table, &error);
    Py_END_ALLOW_THREADS Py_DECREF(call.files.keep);
    return core_take_table(module, status, table, &error);
}

static int read_raw(const struct call *call, const struct gt_trace_options *options, struct gt_table **ret,
                    struct gt_error *error)
{
    return gt_trace_raw_table(call->files.path, call->files.count, options, ret, error);
}

static PyObject *raw_events(PyObject *module, PyObject *arguments)
{
    return table_of_files(module, arguments, "O&O&:raw_events", read_raw);
}

static int read_events(const struct call *call, const struct gt_trace_options *options, struct gt_table **ret,
                       struct gt_error *error)
{
    struct gt_trace_source *source = NULL;
    int status = gt_trace_source_open(&source, call->files.path, call->files.count, options, error);
    if (status >= 0)
        status = gt_export_table(source, ret, error);
    gt_trace_source_close(source);
    return status;
}

static PyObject *events_table(PyObject *module, PyObject *arguments)
{
    return table_of_files(module, arguments, "O&O&:events_table", read_events);
}

PyMethodDef core_trace_methods[] = {
    {"events_table", events_table, METH_VARARGS,
     "events_table(paths, request, /)\n--\n\nReturn events with the columns of `gpu-tracker timeline export`."},
    {"raw_events", raw_events, METH_VARARGS,
     "raw_events(paths, request, /)\n--\n\nReturn events as in their files, with all arguments as JSON."},
    {"analyses", analyses, METH_NOARGS, "analyses()\n--\n\nReturn name and help of every analysis of traces."},
    {"profile_report", profile_report, METH_VARARGS,
     "profile_report(analysis, paths, request, options, /)\n--\n\nRead files and analyse them."},
    {"timeline_info", timeline_info, METH_VARARGS,
     "timeline_info(paths, request, /)\n--\n\nDescribe the contents of files."},
    {"timeline_export", timeline_export, METH_VARARGS,
     "timeline_export(paths, request, what, /)\n--\n\nWrite files as tables or as a flame graph."},
    {"timeline_merge", timeline_merge, METH_VARARGS,
     "timeline_merge(paths, request, merge, /)\n--\n\nMerge files into one Chrome trace."},
    {"time_text", core_time_text, METH_O,
     "time_text(nanoseconds, /)\n--\n\nConvert a moment since the epoch to SMDebug's form, in UTC."},
    {NULL, NULL, 0, NULL},
};

/* ---- traces in memory ----
 * Profile: a trace kept in memory, and its tables. */

static const struct gt_trace *trace_of(PyObject *self)
{
    return ((struct core_holder *)self)->held;
}

static PyObject *make(PyTypeObject *type, int status, struct gt_trace *trace, const struct gt_error *error)
{
    if (status < 0)
        return core_raise(status, error);
    PyObject *self = core_hold(type, trace);
    if (!self)
        gt_trace_close(trace);
    return self;
}

static int read_files(struct gt_trace **ret, const struct call *call, struct gt_error *error)
{
    static const char *const arguments[] = {GT_TABLE_ARGUMENTS, NULL};
    struct gt_trace_options options;
    int status = gt_trace_request_read(&call->request, &options, error);
    options.arguments = arguments;
    return status < 0 ? status : gt_trace_load(ret, call->files.path, call->files.count, &options, error);
}

static PyObject *profile_new(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(keywords))
{
    struct call call = {0};
    struct gt_trace *trace = NULL;
    struct gt_error error = {0};
    int status;
    if (!PyArg_ParseTuple(arguments, "O&O&:Profile", core_paths, &call.files, take_request, &call))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = read_files(&trace, &call, &error);
    Py_END_ALLOW_THREADS Py_DECREF(call.files.keep);
    return make(type, status, trace, &error);
}

static void profile_free(PyObject *self)
{
    gt_trace_close(((struct core_holder *)self)->held);
    core_object_free(self);
}

/* ---- of tables ---- */

static PyObject *of_tables(PyObject *class, PyObject *arguments)
{
    PyObject *object[2], *module = PyType_GetModule((PyTypeObject *)class);
    struct gt_table *table[2] = {NULL, NULL};
    struct gt_trace *trace = NULL;
    struct gt_error error = {0};
    int status;
    if (!module || !PyArg_ParseTuple(arguments, "OO:of_tables", &object[0], &object[1]))
        return NULL;
    for (size_t i = 0; i < 2; i++)
        if (!(table[i] = core_table_of(module, object[i])))
            return NULL;
    Py_BEGIN_ALLOW_THREADS status = gt_trace_of_tables(&trace, table[0], table[1], &error);
    Py_END_ALLOW_THREADS return make((PyTypeObject *)class, status, trace, &error);
}

/* ---- tables ---- */

/* A query is (start, end, by_step, names or None, are_patterns). */
struct queries {
    struct gt_trace_rows *rows;
    size_t count;
    PyObject *keep;
};

static int read_query(PyObject *query, struct gt_trace_rows *rows, PyObject *keep)
{
    PyObject *names, *parts = PySequence_Tuple(query);
    long long start, end;
    int by_step, are_patterns;
    int status = parts && PyArg_ParseTuple(parts, "LLpOp", &start, &end, &by_step, &names, &are_patterns) ? 0 : -1;
    if (status == 0) {
        *rows = (struct gt_trace_rows){start, end, by_step, NULL, are_patterns};
        status = names == Py_None ? 0 : core_texts(names, &rows->names, keep);
    }
    Py_XDECREF(parts);
    return status;
}

static void close_queries(struct queries *queries)
{
    free(queries->rows);
    Py_XDECREF(queries->keep);
}

static int open_queries(struct queries *ret, PyObject *list)
{
    Py_ssize_t count = PyList_Size(list);
    *ret = (struct queries){NULL, 0, NULL};
    if (count < 0)
        return -1;
    ret->keep = PyList_New(0);
    ret->rows = calloc((size_t)count + 1, sizeof *ret->rows);
    ret->count = (size_t)count;
    int status = ret->keep && ret->rows ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < count; i++)
        status = read_query(PyList_GetItem(list, i), &ret->rows[i], ret->keep);
    if (status < 0) {
        close_queries(ret);
        if (!PyErr_Occurred())
            PyErr_NoMemory();
    }
    return status;
}

static PyObject *take(PyObject *self, int status, struct gt_table *table, const struct gt_error *error)
{
    PyObject *module = PyType_GetModule(Py_TYPE(self));
    return module ? core_take_table(module, status, table, error) : NULL;
}

typedef int rows_function(const struct gt_trace *trace, const struct gt_trace_rows *rows, size_t count,
                          struct gt_table **ret, struct gt_error *error);

static PyObject *rows_table(PyObject *self, PyObject *list, rows_function *function)
{
    struct queries queries;
    struct gt_error error = {0};
    struct gt_table *table = NULL;
    int status;
    if (open_queries(&queries, list) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = function(trace_of(self), queries.rows, queries.count, &table, &error);
    Py_END_ALLOW_THREADS close_queries(&queries);
    return take(self, status, table, &error);
}

static PyObject *samples(PyObject *self, PyObject *queries)
{
    return rows_table(self, queries, gt_trace_samples_table);
}

static PyObject *events(PyObject *self, PyObject *queries)
{
    return rows_table(self, queries, gt_trace_events_table);
}

static PyObject *loader_events(PyObject *self, PyObject *queries)
{
    return rows_table(self, queries, gt_trace_loader_table);
}

static PyObject *loader_outliers(PyObject *self, PyObject *part)
{
    struct gt_error error = {0};
    struct gt_table *table = NULL;
    PyObject *bytes = PyUnicode_AsUTF8String(part);
    if (!bytes)
        return NULL;
    int status = gt_loader_outliers(trace_of(self), PyBytes_AsString(bytes), &table, &error);
    Py_DECREF(bytes);
    return take(self, status, table, &error);
}

static PyObject *dumps(PyObject *self, PyObject *Py_UNUSED(unused))
{
    struct gt_error error = {0};
    struct gt_table *table = NULL;
    int status = gt_dumps_table(trace_of(self), &table, &error);
    return take(self, status, table, &error);
}

static PyObject *dump_table(PyObject *self, PyObject *paths, bool of_callers)
{
    struct gt_error error = {0};
    struct gt_table *table = NULL;
    const char *const *texts;
    PyObject *keep = PyList_New(0);
    int good = keep && core_texts(paths, &texts, keep) == 0;
    int status = good ? gt_functions_table(trace_of(self), texts, of_callers, &table, &error) : 0;
    Py_XDECREF(keep);
    return good ? take(self, status, table, &error) : NULL;
}

static PyObject *functions(PyObject *self, PyObject *paths)
{
    return dump_table(self, paths, false);
}

static PyObject *callers(PyObject *self, PyObject *paths)
{
    return dump_table(self, paths, true);
}

/* Converts a list of (start, end) in nanoseconds. */
static int64_t (*spans_of(PyObject *list))[2]
{
    Py_ssize_t count = PyList_Size(list);
    int64_t(*spans)[2] = calloc((size_t)count + 1, sizeof *spans);
    for (Py_ssize_t i = 0; spans && i < count; i++) {
        long long start, end;
        PyObject *pair = PySequence_Tuple(PyList_GetItem(list, i));
        int good = pair && PyArg_ParseTuple(pair, "LL", &start, &end);
        Py_XDECREF(pair);
        if (!good) {
            free(spans);
            return NULL;
        }
        spans[i][0] = start;
        spans[i][1] = end;
    }
    if (!spans)
        PyErr_NoMemory();
    return spans;
}

static PyObject *overlaps(PyObject *self, PyObject *arguments)
{
    PyObject *list, *names, *keep = PyList_New(0);
    struct gt_error error = {0};
    struct gt_table *table = NULL;
    const char *const *texts = NULL;
    int status = 0, good = keep && PyArg_ParseTuple(arguments, "O!O:overlaps", &PyList_Type, &list, &names);
    good = good && (names == Py_None || core_texts(names, &texts, keep) == 0);
    int64_t(*spans)[2] = good ? spans_of(list) : NULL;
    if (spans) {
        size_t count = (size_t)PyList_Size(list);
        Py_BEGIN_ALLOW_THREADS status = gt_trace_overlaps(trace_of(self), (const int64_t(*)[2])spans, count, texts,
                                                          &table, &error);
        Py_END_ALLOW_THREADS
    }
    good = spans != NULL;
    free(spans);
    Py_XDECREF(keep);
    return good ? take(self, status, table, &error) : NULL;
}

/* ---- reports ---- */

static PyObject *analyse(PyObject *self, PyObject *arguments)
{
    PyObject *module = PyType_GetModule(Py_TYPE(self));
    struct call call = {.files.keep = PyList_New(0)};
    struct gt_report *report = NULL;
    struct gt_error error = {0};
    const char *name;
    int status,
        good = module && call.files.keep && PyArg_ParseTuple(arguments, "sO&:analyse", &name, take_profile, &call);
    if (good) {
        Py_BEGIN_ALLOW_THREADS status = gt_analysis_of_trace(trace_of(self), name, &call.profile, &report, &error);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(call.files.keep);
    return good ? report_object_of(module, status, report, &error) : NULL;
}

static PyObject *window(PyObject *self, PyObject *arguments)
{
    PyObject *names[2], *module = PyType_GetModule(Py_TYPE(self)), *keep = PyList_New(0);
    const char *const *texts[2] = {NULL, NULL};
    struct gt_report *report = NULL;
    struct gt_error error = {0};
    long long start, end;
    int good = module && keep && PyArg_ParseTuple(arguments, "LLOO:window", &start, &end, &names[0], &names[1]);
    for (size_t i = 0; good && i < 2; i++)
        good = core_texts(names[i], &texts[i], keep) == 0;
    int status = good ? gt_trace_window(trace_of(self), start, end, texts[0], texts[1], &report, &error) : 0;
    Py_XDECREF(keep);
    return good ? report_object_of(module, status, report, &error) : NULL;
}

static PyObject *origin(PyObject *self, void *Py_UNUSED(unused))
{
    return PyLong_FromLongLong(gt_trace_origin(trace_of(self)));
}

/* ---- the type ---- */

static PyMethodDef methods[] = {
    {"of_tables", of_tables, METH_VARARGS | METH_CLASS,
     "of_tables($type, samples, events, /)\n--\n\nCreate a trace from tables of system metrics and events."},
    {"samples", samples, METH_O, "samples($self, queries, /)\n--\n\nReturn system metrics that match any query."},
    {"events", events, METH_O, "events($self, queries, /)\n--\n\nReturn events that match any query."},
    {"loader_events", loader_events, METH_O,
     "loader_events($self, queries, /)\n--\n\nReturn events with values of the data loader."},
    {"loader_outliers", loader_outliers, METH_O,
     "loader_outliers($self, part, /)\n--\n\nReturn events of the data loader that take at least twice the median."},
    {"overlaps", overlaps, METH_VARARGS,
     "overlaps($self, spans, names, /)\n--\n\nReturn the duration of events in intervals of nanoseconds since the epoch."},
    {"dumps", dumps, METH_NOARGS, "dumps($self, /)\n--\n\nReturn dumps of Python profilers."},
    {"functions", functions, METH_O, "functions($self, stats_paths, /)\n--\n\nReturn the sum of functions of dumps."},
    {"callers", callers, METH_O, "callers($self, stats_paths, /)\n--\n\nReturn the callers of functions, by number."},
    {"analyse", analyse, METH_VARARGS, "analyse($self, analysis, options, /)\n--\n\nReturn the report of an analysis."},
    {"window", window, METH_VARARGS,
     "window($self, start, end, events, dimensions, /)\n--\n\nReturn an interval for a chart."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"origin", origin, NULL, "Base time of columns in microseconds, in nanoseconds since the epoch.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Profile(paths, request, /)\n--\n\nFiles and folders as one trace, kept in memory by the library."},
    {Py_tp_new, (void *)profile_new},
    {Py_tp_dealloc, (void *)profile_free},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, NULL},
};

PyType_Spec core_profile_spec = {
    .name = "gpu_tracker._core.Profile",
    .basicsize = sizeof(struct core_holder),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
