/* The module gpu_tracker._core: errors, options, objects, and functions without a file of their own. */
#include "core.h"

#include <errno.h>
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

/* ---- lists and dicts ---- */

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

PyObject *core_import_and_call(const char *module, const char *function, PyObject *argument)
{
    PyObject *from = argument ? PyImport_ImportModule(module) : NULL;
    PyObject *ret = from ? PyObject_CallMethod(from, function, "O", argument) : NULL;
    Py_XDECREF(from);
    Py_XDECREF(argument);
    return ret;
}

/* ---- options of a tracker ---- */

#define KIND_TEXT CORE_TEXT
#define KIND_WORDS CORE_TEXT
#define KIND_CHOICE CORE_TEXT
#define KIND_PATH CORE_PATH
#define KIND_LIST CORE_LIST
#define KIND_FLAG CORE_FLAG
#define KIND_INTEGER CORE_COUNT
#define KIND_NUMBER CORE_NUMBER

static const struct setting {
    struct core_option option;
    const char *word;     /* on the command line */
    const char *fallback; /* NULL: none */
} settings[] = {
#define GT_OPTION(member, key, type, long, ...) \
    {{#key, KIND_##type, offsetof(struct gt_tracker_options, member)}, "--" long, NULL},
#define GT_OPTION_OR(fallback, member, key, type, long, ...) \
    {{#key, KIND_##type, offsetof(struct gt_tracker_options, member)}, "--" long, #fallback},
#include "schema/option.def"
};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* Returns the option's value of a dict; NULL if it is missing or None. */
static PyObject *given(PyObject *keywords, size_t i)
{
    PyObject *value = PyDict_GetItemString(keywords, settings[i].option.name);
    return value == Py_None ? NULL : value;
}

/* The library takes 0 as the default. A 0 from Python is an error, so it becomes a value that the library refuses. */
static void refuse_default(const struct core_option *option, struct gt_tracker_options *options)
{
    void *place = (char *)options + option->offset;
    if (option->kind == CORE_NUMBER && *(double *)place == 0)
        *(double *)place = -1;
    if (option->kind == CORE_COUNT && (*(int *)place < 1 || *(int *)place == INT_MAX))
        *(int *)place = -1;
}

static int store_options(PyObject *keywords, struct gt_tracker_options *ret, PyObject *keep)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        PyObject *value = given(keywords, i);
        if (value && core_option_store(&settings[i].option, value, ret, keep) < 0)
            return -1;
        if (value)
            refuse_default(&settings[i].option, ret);
    }
    return 0;
}

static PyObject *check(struct core_call *call)
{
    struct gt_tracker_options options = GT_INIT(struct gt_tracker_options);
    struct gt_error error = {0};
    if (store_options(call->object[0], &options, call->keep) < 0)
        return NULL;
    int status = gt_tracker_check(&options, &error);
    return status < 0 ? core_raise(status, &error) : core_none(call);
}

static PyObject *tracker_options(struct core_call *call)
{
    static const char *const kinds[] = {[CORE_TEXT] = "text", [CORE_PATH] = "path",     [CORE_LIST] = "list",
                                        [CORE_FLAG] = "flag", [CORE_COUNT] = "integer", [CORE_NUMBER] = "number"};
    PyObject *ret = PyDict_New();
    (void)call;
    for (size_t i = 0; ret && i < SETTINGS; i++)
        core_put(&ret, settings[i].option.name,
                 Py_BuildValue("(ssz)", settings[i].word, kinds[settings[i].option.kind], settings[i].fallback));
    return ret;
}

/* ---- the module ---- */

static PyObject *version(struct core_call *call)
{
    (void)call;
    return PyUnicode_FromString(gt_version());
}

/* The unit of ratios and counts is "". */
static PyObject *metric_units(struct core_call *call)
{
    PyObject *ret = PyDict_New();
    (void)call;
    for (int id = 0; ret && id < GT_METRIC_COUNT; id++) {
        bool has_unit = gt_metrics[id].unit != GT_RATIO && gt_metrics[id].unit != GT_COUNT;
        const char *unit = has_unit ? gt_unit_name(gt_metrics[id].unit) : "";
        core_put(&ret, gt_metrics[id].name, PyUnicode_FromString(unit));
    }
    return ret;
}

static PyObject *rule(struct core_call *call)
{
    struct gt_usage_rule rule;
    struct gt_error error = {0};
    int status = gt_usage_rule_read(&rule, call->text[0], &error);
    if (status < 0)
        return core_raise(status, &error);
    return Py_BuildValue("(sOd)", rule.word->name, rule.above ? Py_True : Py_False, rule.limit);
}

/* ---- messages of the sampler ---- */

static PyObject *shown(struct core_call *call)
{
    return core_shown(call->array[0]);
}

static PyObject *raise_error(struct core_call *call)
{
    struct gt_error error = {.code = (int)call->integer[0], .path_length = (int)call->integer[2]};
    snprintf(error.text, sizeof error.text, "%s", (const char *)call->array[1]);
    return core_raise(-error.code, &error);
}

/* ---- the memory of this process ---- */

static PyObject *own_memory(struct core_call *call)
{
    double resident, hwm;
    int status = gt_own_memory(&resident, &hwm);
    (void)call;
    if (status < 0) {
        errno = -status;
        return PyErr_SetFromErrnoWithFilename(PyExc_OSError, "/proc/self/status");
    }
    return Py_BuildValue("(dd)", resident, hwm);
}

static PyObject *own_peak_begin(struct core_call *call)
{
    int window = gt_own_peak_begin();
    (void)call;
    return PyLong_FromLong(window < 0 ? 0 : window);
}

static PyObject *own_peak_end(struct core_call *call)
{
    int64_t number = call->integer[0];
    return PyFloat_FromDouble(number > 0 && number <= INT_MAX ? gt_own_peak_end((int)number) : Py_NAN);
}

static const struct core_function functions[] = {
    {"version", "", NULL, version, "version()\n--\n\nReturn the version of the library."},
    {"metric_units", "", NULL, metric_units,
     "metric_units()\n--\n\nReturn the base unit of each metric; \"\" for ratios and counts."},
    {"rule", "s", NULL, rule,
     "rule(text, /)\n--\n\nParse a rule of --fail-if: (value, whether larger values break it, limit in base units)."},
    {"check", "o", NULL, check,
     "check(options, /)\n--\n\nCheck the options of a tracker, including the folder of the tracking file."},
    {"tracker_options", "", NULL, tracker_options,
     "tracker_options()\n--\n\nReturn (word of the command line, kind, default as text or None) of the options of a tracker."},
    {"shown", "y", NULL, shown, "shown(sentence, /)\n--\n\nReturn a sentence without control characters."},
    {"raise_error", "iyi", NULL, raise_error,
     "raise_error(code, sentence, path_length, /)\n--\n\nRaise the exception for an error of the library."},
    {"own_memory", "", NULL, own_memory,
     "own_memory()\n--\n\nReturn (resident memory, its high-water mark) of this process in bytes."},
    {"own_peak_begin", "", NULL, own_peak_begin,
     "own_peak_begin()\n--\n\nStart a window and reset the kernel's high-water mark of this process. Return its number; 0 if "
     "the kernel refuses."},
    {"own_peak_end", "i", NULL, own_peak_end,
     "own_peak_end(window, /)\n--\n\nEnd a window. Return its peak resident memory in bytes; NaN if unknown."},
    {NULL, NULL, NULL, NULL, NULL},
};

static int fill(PyObject *module)
{
    static const struct core_function *const all[] = {functions, core_file_functions, core_trace_functions,
                                                      core_power_functions, core_table_functions};
    PyObject *type = PyType_FromModuleAndSpec(module, &core_block_spec, NULL);
    int status = type ? PyModule_AddType(module, (PyTypeObject *)type) : -1;
    Py_XDECREF(type);
    if (!status)
        status = PyModule_AddObjectRef(module, "Handle", (PyObject *)&PyCapsule_Type); /* for annotations */
    for (size_t i = 0; !status && i < sizeof all / sizeof *all; i++)
        status = core_add_functions(module, all[i]);
    return status;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "gpu_tracker._core",
    .m_doc = "libgputracker for Python.",
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
