/* Analyses of files: reports as texts, tables as objects. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "api/python.h"
#include "base/grow.h"

/* ---- warnings ---- */

/* Warnings are collected while the library works without the interpreter's lock, and returned with the result. */
struct warnings {
    char **text;
    size_t count;
};

static void keep_warning(void *context, const char *sentence)
{
    struct warnings *warnings = context;
    char **text = GT_GROW_BY_ONE(warnings->text, warnings->count);
    if (text && (*text = strdup(sentence)))
        warnings->count++;
}

static PyObject *take_warnings(struct warnings *warnings)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; i < warnings->count; i++) {
        core_append(&list, core_shown(warnings->text[i]));
        free(warnings->text[i]);
    }
    free(warnings->text);
    return list;
}

/* ---- reports ---- */

/* Returns (JSON, text, warnings) of a report, and frees the report. */
static PyObject *take_report(int status, struct gt_report *report, struct warnings *warnings,
                             const struct gt_error *error)
{
    PyObject *list = take_warnings(warnings);
    PyObject *json = status < 0 ? core_raise(status, error) : core_render(report, "json");
    PyObject *text = json ? core_render(report, "text") : NULL;
    gt_report_free(report);
    return Py_BuildValue("(NNN)", json, text, list);
}

static PyObject *analyze(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *path = NULL;
    struct core_paths files = {0};
    struct warnings warnings = {0};
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    struct gt_blocks_options options = GT_INIT(struct gt_blocks_options);
    int status;
    if (!PyArg_ParseTuple(arguments, "O&O&p:analyze", PyUnicode_FSConverter, &path, core_paths, &files,
                          &options.blocks_optional))
        return NULL;
    options.tracking_file = PyBytes_AsString(path);
    options.sub_tracking_files = files.path;
    options.warn = keep_warning;
    options.context = &warnings;
    Py_BEGIN_ALLOW_THREADS status = gt_blocks_analyze(&options, &report, &error);
    Py_END_ALLOW_THREADS Py_DECREF(files.keep);
    Py_DECREF(path);
    return take_report(status, report, &warnings, &error);
}

static PyObject *compare(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    struct core_paths sessions = {0};
    struct warnings warnings = {0};
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    struct gt_compare_options options = GT_INIT(struct gt_compare_options);
    int status;
    if (!PyArg_ParseTuple(arguments, "O&spp:compare", core_paths, &sessions, &options.statistic, &options.strict,
                          &options.allow_partial))
        return NULL;
    options.sessions = sessions.path;
    options.warn = keep_warning;
    options.context = &warnings;
    Py_BEGIN_ALLOW_THREADS status = gt_blocks_compare(&options, &report, &error);
    Py_END_ALLOW_THREADS Py_DECREF(sessions.keep);
    return take_report(status, report, &warnings, &error);
}

/* Reads the report of a recording for pages, without the interpreter's lock. Returns NULL with an exception. */
static PyObject *open_page(PyObject *path, struct gt_report **ret)
{
    struct gt_recording_options options = GT_INIT(struct gt_recording_options);
    struct gt_error error = {0};
    int status;
    options.page = true;
    Py_BEGIN_ALLOW_THREADS status = gt_recording_report(PyBytes_AsString(path), &options, ret, &error);
    Py_END_ALLOW_THREADS return status < 0 ? core_raise(status, &error) : path;
}

static PyObject *recording_page(PyObject *Py_UNUSED(module), PyObject *object)
{
    PyObject *path = NULL;
    struct gt_report *report = NULL;
    if (!PyUnicode_FSConverter(object, &path))
        return NULL;
    PyObject *text = open_page(path, &report) ? core_render(report, "html") : NULL;
    gt_report_free(report);
    Py_DECREF(path);
    return text;
}

static PyObject *recording_picture(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *path = NULL, *ret = NULL;
    const char *charts, *kind, *font;
    double width;
    char *data = NULL;
    size_t length = 0;
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    if (!PyArg_ParseTuple(arguments, "O&zsdz:recording_picture", PyUnicode_FSConverter, &path, &charts, &kind, &width,
                          &font))
        return NULL;
    if (open_page(path, &report)) {
        int status = gt_report_set_picture(report, width, font);
        if (status >= 0)
            status = gt_report_picture(report, charts, kind, &data, &length, &error);
        ret = status < 0 ? core_raise(status, &error) : PyBytes_FromStringAndSize(data, (Py_ssize_t)length);
    }
    free(data);
    gt_report_free(report);
    Py_DECREF(path);
    return ret;
}

static PyObject *results_text(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    const char *type, *json, *format;
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    if (!PyArg_ParseTuple(arguments, "sss:results_text", &type, &json, &format))
        return NULL;
    int status = gt_results_report(&report, type, json, &error);
    PyObject *text = status < 0 ? core_raise(status, &error) : core_render(report, format);
    gt_report_free(report);
    return text;
}

static PyObject *results_read(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *path = NULL;
    const char *tree = NULL;
    char *json = NULL;
    struct gt_error error = {0};
    if (!PyArg_ParseTuple(arguments, "O&|z:results_read", PyUnicode_FSConverter, &path, &tree))
        return NULL;
    int status = gt_results_json(&json, PyBytes_AsString(path), tree, &error);
    Py_DECREF(path);
    PyObject *text = status < 0 ? core_raise(status, &error) : PyUnicode_FromString(json);
    free(json);
    return text;
}

static PyObject *combine(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *path = NULL;
    struct core_paths files = {0};
    struct gt_error error = {0};
    int status;
    if (!PyArg_ParseTuple(arguments, "O&O&:combine", PyUnicode_FSConverter, &path, core_paths, &files))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = gt_blocks_combine(PyBytes_AsString(path), files.path, 0, 0, &error);
    Py_END_ALLOW_THREADS Py_DECREF(path);
    Py_DECREF(files.keep);
    return status < 0 ? core_raise(status, &error) : Py_NewRef(Py_None);
}

/* ---- tables ---- */

static PyObject *static_data(PyObject *module, PyObject *object)
{
    PyObject *path = NULL;
    struct gt_error error = {0};
    struct gt_table *table = NULL;
    if (!PyUnicode_FSConverter(object, &path))
        return NULL;
    int status = gt_recording_static(PyBytes_AsString(path), &table, &error);
    Py_DECREF(path);
    return core_take_table(module, status, table, &error);
}

static struct gt_time_span *spans_of(PyObject *list)
{
    Py_ssize_t count = PyList_Size(list);
    struct gt_time_span *spans = calloc((size_t)count + 1, sizeof *spans);
    for (Py_ssize_t i = 0; spans && i < count; i++) {
        PyObject *pair = PySequence_Tuple(PyList_GetItem(list, i));
        int good = pair && PyArg_ParseTuple(pair, "dd", &spans[i].start, &spans[i].stop);
        Py_XDECREF(pair);
        if (!good) {
            free(spans);
            return NULL;
        }
    }
    if (!spans)
        PyErr_NoMemory();
    return spans;
}

static PyObject *timepoints(PyObject *module, PyObject *arguments)
{
    PyObject *path = NULL, *list;
    struct gt_error error = {0};
    struct gt_table *table = NULL;
    struct gt_time_span *spans = NULL;
    int status = -ENOMEM;
    if (!PyArg_ParseTuple(arguments, "O&O:timepoints", PyUnicode_FSConverter, &path, &list))
        return NULL;
    size_t count = list == Py_None ? 0 : (size_t)PyList_Size(list);
    if (!PyErr_Occurred() && list != Py_None)
        spans = spans_of(list);
    if (!PyErr_Occurred()) {
        Py_BEGIN_ALLOW_THREADS status = gt_recording_samples(PyBytes_AsString(path), spans, count, &table, &error);
        Py_END_ALLOW_THREADS
    }
    free(spans);
    Py_DECREF(path);
    return PyErr_Occurred() ? NULL : core_take_table(module, status, table, &error);
}

static PyObject *calls(PyObject *module, PyObject *list)
{
    struct core_paths files = {0};
    struct gt_error error = {0};
    struct gt_table *table = NULL;
    int status;
    if (!core_paths(list, &files))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = gt_blocks_calls(files.path, &table, &error);
    Py_END_ALLOW_THREADS Py_DECREF(files.keep);
    return core_take_table(module, status, table, &error);
}

static PyObject *pairs(PyObject *module, PyObject *arguments)
{
    struct core_paths files = {0};
    struct gt_error error = {0};
    struct gt_table *table = NULL;
    const char *name;
    int status;
    if (!PyArg_ParseTuple(arguments, "O&s:pairs", core_paths, &files, &name))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = gt_blocks_pairs(files.path, name, &table, &error);
    Py_END_ALLOW_THREADS Py_DECREF(files.keep);
    return core_take_table(module, status, table, &error);
}

PyMethodDef core_report_methods[] = {
    {"analyze", analyze, METH_VARARGS,
     "analyze(tracking_file, sub_tracking_files, blocks_optional, /)\n--\n\nAnalyse a recording. Return (JSON, text, warnings)."},
    {"compare", compare, METH_VARARGS,
     "compare(sessions, statistic, strict, allow_partial, /)\n--\n\nCompare sessions \"NAME=PATH\". Return (JSON, text, warnings)."},
    {"results_read", results_read, METH_VARARGS,
     "results_read(path, json=None, /)\n--\n\nRead results from a file, or from the JSON of a file, and return JSON."},
    {"results_text", results_text, METH_VARARGS,
     "results_text(type, json, format, /)\n--\n\nConvert results in JSON to a format of reports."},
    {"recording_page", recording_page, METH_O, "recording_page(path, /)\n--\n\nReturn the HTML page of a recording."},
    {"recording_picture", recording_picture, METH_VARARGS,
     "recording_picture(path, charts, kind, width, font, /)\n--\n\nDraw charts of a recording as \"svg\", \"png\" or \"pdf\". None means all "
     "charts, 0 the default width."},
    {"combine", combine, METH_VARARGS, "combine(path, files, /)\n--\n\nCombine sub-tracking files into one file."},
    {"static_data", static_data, METH_O,
     "static_data(tracking_file, /)\n--\n\nReturn a table of one row: units, capacities, counts."},
    {"timepoints", timepoints, METH_VARARGS,
     "timepoints(tracking_file, spans, /)\n--\n\nReturn the samples of a recording in intervals. None means all samples."},
    {"calls", calls, METH_O, "calls(sub_tracking_files, /)\n--\n\nReturn a table of all calls of all blocks."},
    {"pairs", pairs, METH_VARARGS,
     "pairs(sub_tracking_files, code_block_name, /)\n--\n\nReturn a table of start and stop of the calls of a block."},
    {NULL, NULL, 0, NULL},
};
