/* Functions of the module from rows of a table: conversion of their arguments, the call without the interpreter's lock,
 * and common results. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

#include "api/python.h"
#include "analyse/experiment/experiment.h"
#include "base/table.h"
#include "trace/tables.h"

/* ---- texts and arrays, whose memory is in a list ---- */

/* Returns memory for items of 8 bytes or less; NULL with an exception. */
static void *array_in(PyObject *keep, Py_ssize_t count, size_t size)
{
    PyObject *memory = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)size);
    void *ret = memory && PyList_Append(keep, memory) == 0 ? PyBytes_AsString(memory) : NULL;
    Py_XDECREF(memory);
    return ret;
}

/* Converts a str or path to a text in the encoding of the file system. Returns NULL with an exception. */
static const char *text_in(PyObject *keep, PyObject *value)
{
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(value, &bytes))
        return NULL;
    const char *text = PyList_Append(keep, bytes) == 0 ? PyBytes_AsString(bytes) : NULL;
    Py_DECREF(bytes);
    return text;
}

/* Converts a sequence of them to a NULL-terminated array. A single text would be split into characters. */
static const char *const *texts_in(PyObject *keep, PyObject *value, size_t *ret_count)
{
    if (PyUnicode_Check(value) || PyBytes_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%R is not a list of texts", value);
        return NULL;
    }
    Py_ssize_t count = PySequence_Size(value);
    const char **texts = count < 0 ? NULL : array_in(keep, count + 1, sizeof *texts);
    for (Py_ssize_t i = 0; texts && i < count; i++) {
        PyObject *item = PySequence_GetItem(value, i);
        if (!item || !(texts[i] = text_in(keep, item)))
            texts = NULL;
        Py_XDECREF(item);
    }
    if (texts)
        texts[count] = NULL;
    *ret_count = (size_t)count;
    return texts;
}

/* ---- options ---- */

static int store(const struct core_option *option, PyObject *value, void *place, PyObject *keep)
{
    size_t count;
    long number;
    switch (option->kind) {
    case CORE_LIST: return (*(const char *const **)place = texts_in(keep, value, &count)) ? 0 : -1;
    case CORE_FLAG: return (*(int *)place = PyObject_IsTrue(value)) < 0 ? -1 : 0;
    case CORE_NUMBER: *(double *)place = PyFloat_AsDouble(value); return PyErr_Occurred() ? -1 : 0;
    case CORE_COUNT:
        number = PyLong_AsLong(value);
        *(int *)place = number > INT_MAX ? INT_MAX : number < INT_MIN ? INT_MIN : (int)number;
        return PyErr_Occurred() ? -1 : 0;
    case CORE_TEXT:
        if (!PyUnicode_Check(value)) {
            PyErr_SetNone(PyExc_TypeError);
            return -1;
        }
        break;
    case CORE_PATH: break;
    }
    return (*(const char **)place = text_in(keep, value)) ? 0 : -1;
}

int core_option_store(const struct core_option *option, PyObject *value, void *options, PyObject *keep)
{
    static const char *const accepted[] = {
        [CORE_TEXT] = "a text",        [CORE_PATH] = "a text or a path", [CORE_LIST] = "a list of texts",
        [CORE_FLAG] = "True or False", [CORE_COUNT] = "an integer",      [CORE_NUMBER] = "a number"};
    int status = store(option, value, (char *)options + option->offset, keep);
    if (status < 0 && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s=%R is not %s", option->name, value, accepted[option->kind]);
    }
    return status;
}

#define AT(member) offsetof(struct core_call, member)

static const struct {
    char letter; /* of core_function.arguments */
    struct core_option option;
} options[] = {
    {'R', {"start", CORE_TEXT, AT(request.start)}},
    {'R', {"end", CORE_TEXT, AT(request.end)}},
    {'R', {"by_step", CORE_FLAG, AT(request.by_step)}},
    {'R', {"suffixes", CORE_LIST, AT(request.suffixes)}},
    {'R', {"select", CORE_TEXT, AT(request.select)}},
    {'R', {"node", CORE_TEXT, AT(request.node)}},
    {'R', {"threads", CORE_COUNT, AT(request.threads)}},
    {'A', {"by", CORE_TEXT, AT(profile.by)}},
    {'A', {"phases", CORE_LIST, AT(profile.phases)}},
    {'A', {"device", CORE_TEXT, AT(profile.device)}},
    {'A', {"ranges", CORE_TEXT, AT(profile.ranges)}},
    {'A', {"key", CORE_TEXT, AT(profile.key)}},
    {'A', {"top", CORE_COUNT, AT(profile.top)}},
    {'A', {"carbon_intensity", CORE_TEXT, AT(profile.carbon_intensity)}},
    {'A', {"carbon_file", CORE_PATH, AT(profile.carbon_file)}},
    {'A', {"price", CORE_TEXT, AT(profile.price)}},
    {'A', {"peak_flops", CORE_TEXT, AT(profile.peak_flops)}},
    {'A', {"operator", CORE_TEXT, AT(profile.operator_name)}},
    {'A', {"length", CORE_COUNT, AT(profile.length)}},
    {'M', {"low_gpu", CORE_NUMBER, AT(merge.low_gpu)}},
    {'M', {"metrics", CORE_TEXT, AT(merge.metrics)}},
    {'M', {"align", CORE_TEXT, AT(merge.align)}},
    {'M', {"output", CORE_PATH, AT(merge.output)}},
    {'M', {"overwrite", CORE_FLAG, AT(merge.overwrite)}},
    {'M', {"critical_path", CORE_FLAG, AT(merge.critical_path)}},
    {'E', {"output", CORE_PATH, AT(export.output)}},
    {'E', {"overwrite", CORE_FLAG, AT(export.overwrite)}},
};
enum { OPTIONS = sizeof options / sizeof *options };

/* Stores the items of a dict. None keeps the default. */
static int store_all(struct core_call *call, char letter, PyObject *keywords)
{
    PyObject *name, *value;
    Py_ssize_t position = 0;
    if (!PyDict_Check(keywords)) {
        PyErr_Format(PyExc_TypeError, "options must be a dict, not %R", keywords);
        return -1;
    }
    while (PyDict_Next(keywords, &position, &name, &value)) {
        size_t i = 0;
        while (i < OPTIONS &&
               (options[i].letter != letter || PyUnicode_CompareWithASCIIString(name, options[i].option.name) != 0))
            i++;
        if (i == OPTIONS) {
            PyErr_Format(PyExc_TypeError, "unknown option '%S'", name);
            return -1;
        }
        if (value != Py_None && core_option_store(&options[i].option, value, call, call->keep) < 0)
            return -1;
    }
    return 0;
}

/* ---- the library's objects ---- */

static const char *const handle_names[CORE_HANDLES] = {[CORE_REPORT] = "gpu_tracker.Report",
                                                       [CORE_TABLE] = "gpu_tracker.Table",
                                                       [CORE_TRACE] = "gpu_tracker.Trace",
                                                       [CORE_EXPERIMENT] = "gpu_tracker.Experiment",
                                                       [CORE_ENERGY] = "gpu_tracker.EnergySample"};

static void handle_free(enum core_handle kind, void *held)
{
    switch (kind) {
    case CORE_REPORT: gt_report_free(held); break;
    case CORE_TABLE: gt_table_free(held); break;
    case CORE_TRACE: gt_trace_close(held); break;
    case CORE_EXPERIMENT: gt_experiment_free(held); break;
    case CORE_ENERGY: gt_energy_sample_free(held); break;
    case CORE_HANDLES: break;
    }
}

static void handle_release(PyObject *capsule)
{
    const char *name = PyCapsule_GetName(capsule);
    for (enum core_handle kind = 0; kind < CORE_HANDLES; kind++)
        if (handle_names[kind] == name)
            handle_free(kind, PyCapsule_GetPointer(capsule, name));
}

PyObject *core_handle_object(enum core_handle kind, void *held)
{
    PyObject *capsule = PyCapsule_New(held, handle_names[kind], handle_release);
    if (!capsule)
        handle_free(kind, held);
    return capsule;
}

/* ---- arguments ---- */

/* Reads pairs of numbers of 8 bytes with a format of PyArg_ParseTuple. */
static void *pairs_in(PyObject *keep, PyObject *list, const char *format, size_t *ret_count)
{
    Py_ssize_t count = PySequence_Size(list);
    int64_t(*pair)[2] = count < 0 ? NULL : array_in(keep, count, sizeof *pair);
    for (Py_ssize_t i = 0; pair && i < count; i++) {
        PyObject *item = PySequence_GetItem(list, i), *tuple = item ? PySequence_Tuple(item) : NULL;
        if (!tuple || !PyArg_ParseTuple(tuple, format, &pair[i][0], &pair[i][1]))
            pair = NULL;
        Py_XDECREF(item);
        Py_XDECREF(tuple);
    }
    *ret_count = (size_t)count;
    return pair;
}

/* Reads queries (start, end, by_step, names or None, are_patterns). */
static void *queries_in(PyObject *keep, PyObject *list, size_t *ret_count)
{
    Py_ssize_t count = PySequence_Size(list);
    struct gt_trace_rows *rows = count < 0 ? NULL : array_in(keep, count, sizeof *rows);
    for (Py_ssize_t i = 0; rows && i < count; i++) {
        PyObject *names, *query = PySequence_GetItem(list, i);
        long long start, end;
        int by_step, are_patterns;
        size_t unused;
        if (!query || !PyArg_ParseTuple(query, "LLpOp", &start, &end, &by_step, &names, &are_patterns)) {
            Py_XDECREF(query);
            return NULL;
        }
        rows[i] = (struct gt_trace_rows){start, end, by_step, NULL, are_patterns};
        if (names != Py_None && !(rows[i].names = texts_in(keep, names, &unused)))
            rows = NULL;
        Py_DECREF(query);
    }
    *ret_count = (size_t)count;
    return rows;
}

static void *bytes_of(PyObject *value, size_t *ret_length)
{
    char *bytes;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(value, &bytes, &length) < 0)
        return NULL;
    *ret_length = (size_t)length;
    return bytes;
}

static int number_or_nan(PyObject *value, double *ret)
{
    *ret = value == Py_None ? Py_NAN : PyFloat_AsDouble(value);
    return PyErr_Occurred() ? -1 : 0;
}

static int handle_in(PyObject *value, char letter, void **ret)
{
    *ret = PyCapsule_GetPointer(value, handle_names[letter - '0']);
    return *ret ? 0 : -1;
}

/* Converts argument number i. Returns 0, or -1 with an exception. A plain switch. */
static int read_argument(struct core_call *call, char letter, int i, PyObject *value)
{
    long long integer;
    switch (letter) {
    case 'o': return 0;
    case 'b': return (call->flag[i] = PyObject_IsTrue(value)) < 0 ? -1 : 0;
    case 'i': call->integer[i] = integer = PyLong_AsLongLong(value); return integer == -1 && PyErr_Occurred() ? -1 : 0;
    case 'd': return PyArg_Parse(value, "d", &call->number[i]) ? 0 : -1;
    case 'n': return number_or_nan(value, &call->number[i]);
    case 's': return PyArg_Parse(value, "s", &call->text[i]) ? 0 : -1;
    case 'z': return PyArg_Parse(value, "z", &call->text[i]) ? 0 : -1;
    case 'p': return (call->text[i] = text_in(call->keep, value)) ? 0 : -1;
    case 'y': return (call->array[i] = bytes_of(value, &call->count[i])) ? 0 : -1;
    case 'N':
        if (value == Py_None)
            return 0;
        /* fall through */
    case 'P': return (call->texts[i] = texts_in(call->keep, value, &call->count[i])) ? 0 : -1;
    case 'D':
        if (value == Py_None)
            return 0;
        return (call->array[i] = pairs_in(call->keep, value, "dd", &call->count[i])) ? 0 : -1;
    case 'L': return (call->array[i] = pairs_in(call->keep, value, "LL", &call->count[i])) ? 0 : -1;
    case 'Q': return (call->array[i] = queries_in(call->keep, value, &call->count[i])) ? 0 : -1;
    case 'R':
    case 'A':
    case 'M':
    case 'E': return store_all(call, letter, value);
    default: return handle_in(value, letter, &call->handle[i]);
    }
}

static int read_arguments(struct core_call *call, const struct core_function *function, PyObject *arguments)
{
    int count = (int)strlen(function->arguments);
    if (PyTuple_Size(arguments) != count) {
        PyErr_Format(PyExc_TypeError, "%s takes %d arguments", function->name, count);
        return -1;
    }
    *call = (struct core_call){.request = GT_INIT(struct gt_trace_request),
                               .profile = GT_INIT(struct gt_profile_options),
                               .merge = GT_INIT(struct gt_merge_request),
                               .export = GT_INIT(struct gt_export_request),
                               .keep = PyList_New(0)};
    int status = call->keep ? 0 : -1;
    for (int i = 0; i < count && status == 0; i++) {
        call->object[i] = PyTuple_GetItem(arguments, i);
        status = read_argument(call, function->arguments[i], i, call->object[i]);
    }
    return status;
}

/* ---- calls ---- */

/* A function object of the module owns this. */
struct bound {
    const struct core_function *function;
    PyMethodDef definition;
};

static void bound_free(PyObject *capsule)
{
    free(PyCapsule_GetPointer(capsule, NULL));
}

static PyObject *dispatch(PyObject *self, PyObject *arguments)
{
    const struct core_function *function = ((struct bound *)PyCapsule_GetPointer(self, NULL))->function;
    struct core_call call = {.keep = NULL};
    struct gt_error error = {0};
    PyObject *ret = NULL;
    int status = 0;
    if (read_arguments(&call, function, arguments) == 0) {
        if (function->run) {
            Py_BEGIN_ALLOW_THREADS status = function->run(&call, &error);
            Py_END_ALLOW_THREADS
        }
        ret = status < 0 ? core_raise(status, &error) : function->give(&call);
    }
    for (size_t i = 0; i < call.warning_count; i++)
        free(call.warning[i]);
    free(call.warning);
    free(call.data);
    Py_XDECREF(call.keep);
    return ret;
}

static PyObject *function_object(PyObject *module_name, const struct core_function *function)
{
    struct bound *bound = malloc(sizeof *bound);
    if (!bound)
        return PyErr_NoMemory();
    *bound = (struct bound){function, {function->name, dispatch, METH_VARARGS, function->help}};
    PyObject *self = PyCapsule_New(bound, NULL, bound_free);
    if (!self) {
        free(bound);
        return NULL;
    }
    PyObject *ret = PyCFunction_NewEx(&bound->definition, self, module_name);
    Py_DECREF(self);
    return ret;
}

int core_add_functions(PyObject *module, const struct core_function *functions)
{
    PyObject *name = PyModule_GetNameObject(module);
    int status = name ? 0 : -1;
    for (; functions->name && status == 0; functions++) {
        PyObject *function = function_object(name, functions);
        status = function ? PyModule_AddObjectRef(module, functions->name, function) : -1;
        Py_XDECREF(function);
    }
    Py_XDECREF(name);
    return status;
}

/* ---- results ---- */

PyObject *core_none(struct core_call *call)
{
    (void)call;
    return Py_NewRef(Py_None);
}

PyObject *core_report(struct core_call *call)
{
    return core_handle_object(CORE_REPORT, call->made);
}

PyObject *core_table(struct core_call *call)
{
    PyObject *handle = core_handle_object(CORE_TABLE, call->made);
    return core_import_and_call("gpu_tracker._tables", "of_handle", handle);
}

PyObject *core_text(struct core_call *call)
{
    const char *text = call->data ? call->data : "";
    size_t length = call->length ? call->length : strlen(text);
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "surrogateescape");
}

PyObject *core_bytes(struct core_call *call)
{
    return PyBytes_FromStringAndSize(call->data, (Py_ssize_t)call->length);
}
