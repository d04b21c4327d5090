/* The module gpu_tracker._core: errors, options, objects, and functions without a file of their own. */
#include "core.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/usage/usage_rule.h"
#include "collect/process/memory.h"
#include "schema/metric.h"

/* Splits a sentence that may begin with a path into (errno, cause[, path]). Python's argument replaces an option. */
static PyObject *os_error_arguments(int status, const char *text, int path_length)
{
    const char *cause = text + path_length + strspn(text + path_length, ":, ");
    if (!path_length || !*cause)
        return Py_BuildValue("iN", -status, core_shown(text));
    PyObject *shown = core_shown(cause);
    PyObject *ours = shown ? PyObject_CallMethod(shown, "replace", "ss", "use --overwrite", "set overwrite to True")
                           : NULL;
    Py_XDECREF(shown);
    return Py_BuildValue("iNN", -status, ours, PyUnicode_DecodeFSDefaultAndSize(text, path_length));
}

PyObject *core_shown(const char *text)
{
    char *shown = gt_text_show(text);
    PyObject *ret = shown ? PyUnicode_FromString(shown) : PyErr_NoMemory();
    free(shown);
    return ret;
}

PyObject *core_raise(int status, const struct gt_error *error)
{
    const char *text = error && error->text[0] ? error->text : strerror(-status);
    bool is_value = status == -EINVAL || status == -ERANGE || status == -ENODEV || status == -E2BIG ||
                    status == -EBADMSG;
    if (status == -ENOMEM)
        return PyErr_NoMemory();
    PyObject *arguments = is_value ? Py_BuildValue("(N)", core_shown(text))
                                   : os_error_arguments(status, text, error ? error->path_length : 0);
    PyObject *exception = arguments ? PyObject_CallObject(is_value ? PyExc_ValueError : PyExc_OSError, arguments)
                                    : NULL; /* of the subclass for the code */
    if (exception)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    Py_XDECREF(arguments);
    return NULL;
}

/* ---- objects and lists ---- */

PyObject *core_object(PyTypeObject *type)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return allocate(type, 0);
}

void core_object_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

PyObject *core_hold(PyTypeObject *type, void *held)
{
    PyObject *self = core_object(type);
    if (self)
        ((struct core_holder *)self)->held = held;
    return self;
}

bool core_arguments(PyObject *arguments, PyObject *keywords, const char *format, ...)
{
    va_list places;
    if (keywords && PyDict_Size(keywords)) {
        PyErr_Format(PyExc_TypeError, "%s takes no keywords", strchr(format, ':') + 1);
        return false;
    }
    va_start(places, format);
    int is_parsed = PyArg_VaParse(arguments, format, places);
    va_end(places);
    return is_parsed;
}

void core_append(PyObject **list, PyObject *item)
{
    if (*list && (!item || PyList_Append(*list, item) < 0))
        Py_CLEAR(*list);
    Py_XDECREF(item);
}

void core_put(PyObject **dict, const char *key, PyObject *item)
{
    if (*dict && (!item || PyDict_SetItemString(*dict, key, item) < 0))
        Py_CLEAR(*dict);
    Py_XDECREF(item);
}

PyObject *core_render(const struct gt_report *report, const char *format)
{
    struct gt_error error = {0};
    char *text = NULL;
    size_t length = 0;
    int status = gt_report_render(report, format, &text, &length, &error);
    PyObject *ret = status < 0 ? core_raise(status, &error)
                               : PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "surrogateescape");
    free(text);
    return ret;
}

/* ---- options ---- */

enum kind { KIND_TEXT, KIND_PATH, KIND_NUMBER, KIND_COUNT, KIND_FLAG, KIND_LIST };
#define KIND_WORDS KIND_TEXT
#define KIND_CHOICE KIND_TEXT
#define KIND_INTEGER KIND_COUNT

static const struct {
    const char *name, *option; /* in Python, on the command line */
    const char *fallback;      /* NULL: none */
    enum kind kind;
    size_t offset;
} settings[] = {
#define GT_OPTION(member, key, type, long, ...) \
    {#key, "--" long, NULL, KIND_##type, offsetof(struct gt_tracker_options, member)},
#define GT_OPTION_OR(fallback, member, key, type, long, ...) \
    {#key, "--" long, #fallback, KIND_##type, offsetof(struct gt_tracker_options, member)},
#include "schema/option.def"
};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* The text is in the encoding of the file system. */
const char *core_text(PyObject *value, PyObject *keep)
{
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(value, &bytes))
        return NULL;
    const char *text = PyBytes_AsString(bytes);
    if (PyList_Append(keep, bytes) < 0)
        text = NULL;
    Py_DECREF(bytes);
    return text;
}

int core_texts(PyObject *value, const char *const **place, PyObject *keep)
{
    Py_ssize_t count = PySequence_Size(value);
    if (count < 0)
        return -1;
    PyObject *memory = PyBytes_FromStringAndSize(NULL, (count + 1) * (Py_ssize_t)sizeof(char *));
    if (!memory || PyList_Append(keep, memory) < 0) {
        Py_XDECREF(memory);
        return -1;
    }
    Py_DECREF(memory);
    const char **texts = (const char **)(void *)PyBytes_AsString(memory);
    *place = texts;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(value, i);
        texts[i] = item ? core_text(item, keep) : NULL;
        Py_XDECREF(item);
        if (!texts[i])
            return -1;
    }
    texts[count] = NULL;
    return 0;
}

int core_paths(PyObject *list, void *ret)
{
    struct core_paths *paths = ret;
    if (!list) {
        Py_CLEAR(paths->keep);
        return 0;
    }
    paths->keep = PyList_New(0);
    if (!paths->keep || core_texts(list, &paths->path, paths->keep) < 0) {
        Py_CLEAR(paths->keep);
        return 0;
    }
    paths->count = (size_t)PySequence_Size(list);
    return Py_CLEANUP_SUPPORTED;
}

/* The library takes 0 as the default. A 0 from Python is an error, so it becomes a value that the library refuses. */
static int store_number(enum kind kind, PyObject *value, void *place)
{
    if (kind == KIND_NUMBER) {
        double number = PyFloat_AsDouble(value);
        *(double *)place = number == 0 ? -1 : number;
    } else {
        long number = PyLong_AsLong(value);
        *(int *)place = number < 1 || number > INT_MAX ? -1 : (int)number;
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int store(size_t i, PyObject *value, struct gt_tracker_options *options, PyObject *keep)
{
    void *place = (char *)options + settings[i].offset;
    switch (settings[i].kind) {
    case KIND_TEXT:
        if (!PyUnicode_Check(value)) {
            PyErr_SetString(PyExc_TypeError, "it must be a text");
            return -1;
        }
        return (*(const char **)place = core_text(value, keep)) ? 0 : -1;
    case KIND_PATH: return (*(const char **)place = core_text(value, keep)) ? 0 : -1;
    case KIND_LIST: return core_texts(value, place, keep);
    case KIND_FLAG: return (*(int *)place = PyObject_IsTrue(value)) < 0 ? -1 : 0;
    case KIND_NUMBER:
    case KIND_COUNT: break;
    }
    return store_number(settings[i].kind, value, place);
}

int core_tracker_options(PyObject *keywords, struct gt_tracker_options *ret, PyObject **keep)
{
    *ret = GT_INIT(struct gt_tracker_options);
    *keep = PyList_New(0);
    if (!*keep)
        return -1;
    for (size_t i = 0; i < SETTINGS; i++) {
        PyObject *value = PyDict_GetItemString(keywords, settings[i].name);
        if (value && value != Py_None && store(i, value, ret, *keep) < 0) {
            Py_CLEAR(*keep);
            return -1;
        }
    }
    return 0;
}

static PyObject *check(PyObject *Py_UNUSED(module), PyObject *keywords)
{
    struct gt_tracker_options options;
    struct gt_error error = {0};
    PyObject *keep;
    if (core_tracker_options(keywords, &options, &keep) < 0)
        return NULL;
    int status = gt_tracker_check(&options, &error);
    Py_DECREF(keep);
    if (status < 0)
        return core_raise(status, &error);
    Py_RETURN_NONE;
}

/* Appends "--sleep-time=0.5" or "--overwrite"; nothing if a flag is not set. */
static int append_word(PyObject *words, size_t i, PyObject *value)
{
    const char *option = settings[i].option;
    int is_set = PyObject_IsTrue(value);
    if (is_set < 0 || (settings[i].kind == KIND_FLAG && !is_set))
        return is_set < 0 ? -1 : 0;
    /* str() of a number of another library can differ from that of a float. */
    PyObject *plain = settings[i].kind == KIND_NUMBER  ? PyNumber_Float(value)
                      : settings[i].kind == KIND_COUNT ? PyNumber_Index(value)
                                                       : Py_NewRef(value);
    PyObject *word = !plain                          ? NULL
                     : settings[i].kind == KIND_FLAG ? PyUnicode_FromString(option)
                                                     : PyUnicode_FromFormat("%s=%S", option, plain);
    int status = word ? PyList_Append(words, word) : -1;
    Py_XDECREF(plain);
    Py_XDECREF(word);
    return status;
}

static int append_words(PyObject *words, size_t i, PyObject *value)
{
    if (settings[i].kind != KIND_LIST)
        return append_word(words, i, value);
    for (Py_ssize_t item = 0; item < PySequence_Size(value); item++) {
        PyObject *text = PySequence_GetItem(value, item);
        int status = text ? append_word(words, i, text) : -1;
        Py_XDECREF(text);
        if (status < 0)
            return -1;
    }
    return 0;
}

static PyObject *command_line(PyObject *Py_UNUSED(module), PyObject *keywords)
{
    PyObject *words = PyList_New(0);
    for (size_t i = 0; words && i < SETTINGS; i++) {
        PyObject *value = PyDict_GetItemString(keywords, settings[i].name);
        if (value && value != Py_None && append_words(words, i, value) < 0)
            Py_CLEAR(words);
    }
    return words;
}

static PyObject *fallback_of(size_t i)
{
    if (!settings[i].fallback)
        return Py_NewRef(Py_None);
    return settings[i].kind == KIND_NUMBER ? PyFloat_FromDouble(atof(settings[i].fallback))
                                           : PyUnicode_FromString(settings[i].fallback);
}

static PyObject *tracker_options(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    PyObject *ret = PyDict_New();
    for (size_t i = 0; ret && i < SETTINGS; i++)
        core_put(&ret, settings[i].name, fallback_of(i));
    return ret;
}

/* ---- the module ---- */

static PyObject *version(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return PyUnicode_FromString(gt_version());
}

/* The unit of ratios and counts is "". */
static PyObject *metric_units(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    PyObject *ret = PyDict_New();
    for (int id = 0; ret && id < GT_METRIC_COUNT; id++) {
        bool has_unit = gt_metrics[id].unit != GT_RATIO && gt_metrics[id].unit != GT_COUNT;
        const char *unit = has_unit ? gt_unit_name(gt_metrics[id].unit) : "";
        core_put(&ret, gt_metrics[id].name, PyUnicode_FromString(unit));
    }
    return ret;
}

static PyObject *rule(PyObject *Py_UNUSED(module), PyObject *text)
{
    struct gt_usage_rule rule;
    struct gt_error error = {0};
    const char *words = PyUnicode_AsUTF8AndSize(text, NULL);
    if (!words)
        return NULL;
    int status = gt_usage_rule_read(&rule, words, &error);
    if (status < 0)
        return core_raise(status, &error);
    return Py_BuildValue("(sOd)", rule.word->name, rule.above ? Py_True : Py_False, rule.limit);
}

/* ---- the memory of this process ---- */

static PyObject *own_memory(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    double resident, hwm;
    int status = gt_own_memory(&resident, &hwm);
    if (status < 0) {
        errno = -status;
        return PyErr_SetFromErrnoWithFilename(PyExc_OSError, "/proc/self/status");
    }
    return Py_BuildValue("(dd)", resident, hwm);
}

static PyObject *own_peak_begin(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    int window = gt_own_peak_begin();
    return PyLong_FromLong(window < 0 ? 0 : window);
}

static PyObject *own_peak_end(PyObject *Py_UNUSED(module), PyObject *window)
{
    long number = PyLong_AsLong(window);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    return PyFloat_FromDouble(number > 0 && number <= INT_MAX ? gt_own_peak_end((int)number) : Py_NAN);
}

static PyMethodDef methods[] = {
    {"version", version, METH_NOARGS, "version()\n--\n\nReturn the version of the library."},
    {"metric_units", metric_units, METH_NOARGS,
     "metric_units()\n--\n\nReturn the base unit of each metric; \"\" for ratios and counts."},
    {"rule", rule, METH_O,
     "rule(text, /)\n--\n\nParse a rule of --fail-if: (value, whether larger values break it, limit in base units)."},
    {"check", check, METH_O,
     "check(options, /)\n--\n\nCheck the options of a tracker, including the folder of the tracking file."},
    {"tracker_options", tracker_options, METH_NOARGS,
     "tracker_options()\n--\n\nReturn the options of a tracker and their defaults; None without a default."},
    {"command_line", command_line, METH_O,
     "command_line(options, /)\n--\n\nReturn the options of a tracker as arguments of the command line."},
    {"own_memory", own_memory, METH_NOARGS,
     "own_memory()\n--\n\nReturn (resident memory, its high-water mark) of this process in bytes."},
    {"own_peak_begin", own_peak_begin, METH_NOARGS,
     "own_peak_begin()\n--\n\nStart a window and reset the kernel's high-water mark of this process. Return its number; 0 if "
     "the kernel refuses."},
    {"own_peak_end", own_peak_end, METH_O,
     "own_peak_end(window, /)\n--\n\nEnd a window. Return its peak resident memory in bytes; NaN if unknown."},
    {NULL, NULL, 0, NULL},
};

static int add_type(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    int status = type ? PyModule_AddType(module, (PyTypeObject *)type) : -1;
    Py_XDECREF(type);
    return status;
}

static int fill(PyObject *module)
{
    static PyType_Spec *const types[] = {&core_sampler_spec,      &core_sub_tracker_spec, &core_table_spec,
                                         &core_experiment_spec,   &core_profile_spec,     &core_trace_report_spec,
                                         &core_energy_sample_spec};
    static PyMethodDef *const functions[] = {core_trace_methods, core_power_methods, core_report_methods};
    int status = 0;
    for (size_t i = 0; !status && i < sizeof types / sizeof *types; i++)
        status = add_type(module, types[i]);
    for (size_t i = 0; !status && i < sizeof functions / sizeof *functions; i++)
        status = PyModule_AddFunctions(module, functions[i]);
    return status;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "gpu_tracker._core", .m_doc = "libgputracker for Python.", .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
