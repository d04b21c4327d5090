/* Reports on traces as objects, and the functions that make them of files. */
#include <errno.h>
#include <stdlib.h>

#include "table.h"
#include "report/report.h"

struct report_object {
    PyObject_HEAD struct gt_report *report;
};

static const struct gt_report *report_of(PyObject *self)
{
    return ((struct report_object *)self)->report;
}

PyObject *core_report_object(PyObject *module, int status, struct gt_report *report, const struct gt_error *error)
{
    if (status < 0)
        return core_raise(status, error);
    PyObject *type = PyObject_GetAttrString(module, "Report");
    allocfunc make = type ? (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc) : NULL;
    PyObject *self = make ? make((PyTypeObject *)type, 0) : NULL;
    if (self)
        ((struct report_object *)self)->report = report;
    else
        gt_report_free(report);
    Py_XDECREF(type);
    return self;
}

static void report_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    gt_report_free(((struct report_object *)self)->report);
    release(self);
    Py_DECREF(type);
}

static PyObject *report_render(PyObject *self, PyObject *format)
{
    struct gt_error error = {0};
    char *text = NULL;
    size_t length = 0;
    PyObject *bytes = PyUnicode_AsUTF8String(format);
    if (!bytes)
        return NULL;
    int status = gt_report_render(report_of(self), PyBytes_AsString(bytes), &text, &length, &error);
    Py_DECREF(bytes);
    PyObject *ret = status < 0 ? core_raise(status, &error)
                               : PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "surrogateescape");
    free(text);
    return ret;
}

static PyObject *report_tables(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *module = PyType_GetModule(Py_TYPE(self)), *tables = module ? PyDict_New() : NULL;
    for (size_t i = 0; tables; i++) {
        struct gt_error error = {0};
        struct gt_table *found = NULL;
        const char *key;
        int status = gt_report_table_data(report_of(self), i, &key, &found, &error);
        if (status == -ENOENT)
            break;
        PyObject *table = core_take_table(module, status, found, &error);
        if (!table || PyDict_SetItemString(tables, key, table) < 0)
            Py_CLEAR(tables);
        Py_XDECREF(table);
    }
    return tables;
}

static PyMethodDef report_methods[] = {
    {"render", report_render, METH_O, "render($self, format, /)\n--\n\nThe report in one of the program's formats."},
    {"tables", report_tables, METH_NOARGS, "tables($self, /)\n--\n\nIts tables by name."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot report_slots[] = {
    {Py_tp_doc, "What an analysis found."},
    {Py_tp_dealloc, (void *)report_free},
    {Py_tp_methods, report_methods},
    {0, NULL},
};

PyType_Spec core_trace_report_spec = {
    .name = "gpu_tracker._core.Report",
    .basicsize = sizeof(struct report_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = report_slots,
};

/* ---- functions ---- */

static PyObject *analyses(PyObject *module, PyObject *unused)
{
    const char *name, *help;
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && gt_analysis_info(i, &name, &help) == 0; i++) {
        PyObject *pair = Py_BuildValue("(ss)", name, help);
        if (!pair || PyList_Append(list, pair) < 0)
            Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

static size_t count_of(const char *const *texts)
{
    size_t count = 0;
    while (texts[count])
        count++;
    return count;
}

static PyObject *profile_report(PyObject *module, PyObject *arguments)
{
    PyObject *list, *reading, *analysing, *keep = PyList_New(0);
    const char *analysis, *const *paths;
    struct gt_trace_request request;
    struct gt_profile_options options;
    struct gt_report *report = NULL;
    struct gt_error error = {0};
    int status, good = keep && PyArg_ParseTuple(arguments, "sOO!O!:profile_report", &analysis, &list, &PyDict_Type,
                                                &reading, &PyDict_Type, &analysing);
    good = good && core_texts(list, &paths, keep) == 0 && core_trace_request(reading, &request, keep) == 0 &&
           core_profile_options(analysing, &options, keep) == 0;
    if (good) {
        Py_BEGIN_ALLOW_THREADS status = gt_profile_report(analysis, paths, count_of(paths), &request, &options, &report,
                                                          &error);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(keep);
    return good ? core_report_object(module, status, report, &error) : NULL;
}

static PyObject *timeline_info(PyObject *module, PyObject *arguments)
{
    PyObject *list, *reading, *keep = PyList_New(0);
    const char *const *paths;
    struct gt_trace_request request;
    struct gt_report *report = NULL;
    struct gt_error error = {0};
    int status, good = keep && PyArg_ParseTuple(arguments, "OO!:timeline_info", &list, &PyDict_Type, &reading);
    good = good && core_texts(list, &paths, keep) == 0 && core_trace_request(reading, &request, keep) == 0;
    if (good) {
        Py_BEGIN_ALLOW_THREADS status = gt_timeline_info(paths, count_of(paths), &request, &report, &error);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(keep);
    return good ? core_report_object(module, status, report, &error) : NULL;
}

static PyObject *timeline_merge(PyObject *module, PyObject *arguments)
{
    PyObject *list, *reading, *merging, *keep = PyList_New(0);
    const char *const *paths;
    struct gt_trace_request request;
    struct gt_merge_request merge;
    struct gt_report *report = NULL;
    struct gt_error error = {0};
    int status, good = keep && PyArg_ParseTuple(arguments, "OO!O!:timeline_merge", &list, &PyDict_Type, &reading,
                                                &PyDict_Type, &merging);
    good = good && core_texts(list, &paths, keep) == 0 && core_trace_request(reading, &request, keep) == 0 &&
           core_merge_request(merging, &merge, keep) == 0;
    if (good) {
        Py_BEGIN_ALLOW_THREADS status = gt_timeline_merge(paths, count_of(paths), &request, &merge, &report, &error);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(keep);
    return good ? core_report_object(module, status, report, &error) : NULL;
}

PyMethodDef core_trace_methods[] = {
    {"analyses", analyses, METH_NOARGS, "analyses()\n--\n\nName and help of every analysis of traces."},
    {"profile_report", profile_report, METH_VARARGS,
     "profile_report(analysis, paths, request, options, /)\n--\n\nRead files and analyse them."},
    {"timeline_info", timeline_info, METH_VARARGS, "timeline_info(paths, request, /)\n--\n\nWhat files hold."},
    {"timeline_merge", timeline_merge, METH_VARARGS,
     "timeline_merge(paths, request, merge, /)\n--\n\nMerge files into one Chrome trace."},
    {"time_text", core_time_text, METH_O,
     "time_text(nanoseconds, /)\n--\n\nA moment since the epoch as SMDebug writes it, in UTC."},
    {NULL, NULL, 0, NULL},
};
