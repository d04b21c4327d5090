/* Shared parts of the extension module gpu_tracker._core, written for the limited API of CPython 3.11.
 * The limited API of 3.10 has no buffers, so 3.10 uses the whole API. */
#ifndef PYTHON_CORE_H
#define PYTHON_CORE_H

#include <patchlevel.h>
#if PY_VERSION_HEX >= 0x030b0000
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "gpu_tracker.h"

/* Raises the exception of a failed call of the library: ValueError for wrong arguments and damaged files, otherwise
 * OSError or its subclass for the errno (FileExistsError, ProcessLookupError, ...). Returns NULL. */
PyObject *core_raise(int status, const struct gt_error *error);
/* Returns a sentence as a text without control characters. */
PyObject *core_shown(const char *text);
/* Returns the result of a call of Python and releases its argument, which may be NULL with an exception. */
PyObject *core_import_and_call(const char *module, const char *function, PyObject *argument);

/* Append an item to *list, or put it into *dict, and release it. Without the item or memory, *list or *dict becomes
 * NULL, with an exception. */
void core_append(PyObject **list, PyObject *item);
void core_put(PyObject **dict, const char *key, PyObject *item);

/* ---- options ---- */

enum core_kind { CORE_TEXT, CORE_PATH, CORE_LIST, CORE_FLAG, CORE_COUNT, CORE_NUMBER };

/* A key of a dict, and its member of a struct of options. */
struct core_option {
    const char *name;
    enum core_kind kind;
    size_t offset;
};

/* Stores a value; `keep`, a list, holds its memory. Returns 0, or -1 with a TypeError that names the option. */
int core_option_store(const struct core_option *option, PyObject *value, void *options, PyObject *keep);

/* ---- functions of the module ---- */

/* The library's objects are capsules of these kinds. */
enum core_handle { CORE_REPORT, CORE_TABLE, CORE_TRACE, CORE_EXPERIMENT, CORE_ENERGY, CORE_HANDLES };

PyObject *core_handle_object(enum core_handle kind, void *held);

enum { CORE_ARGUMENTS = 5 };

/* One call of a function: its arguments, number i in element i of the member for its type, and its results. */
struct core_call {
    PyObject *object[CORE_ARGUMENTS];
    const char *text[CORE_ARGUMENTS];
    const char *const *texts[CORE_ARGUMENTS];
    size_t count[CORE_ARGUMENTS]; /* of a list */
    double number[CORE_ARGUMENTS];
    int64_t integer[CORE_ARGUMENTS];
    int flag[CORE_ARGUMENTS];
    void *handle[CORE_ARGUMENTS];
    void *array[CORE_ARGUMENTS];
    struct gt_trace_request request;
    struct gt_profile_options profile;
    struct gt_merge_request merge;
    struct gt_export_request export;
    PyObject *keep; /* a list that holds the memory of texts and arrays */

    union { /* the handle that the function returns */
        void *made;
        struct gt_report *report;
        struct gt_table *table;
        struct gt_trace *trace;
        struct gt_experiment *experiment;
        struct gt_energy_sample *energy;
    };
    char *data;
    size_t length;
    char **warning;
    size_t warning_count;
};

/* A function of the module. */
struct core_function {
    const char *name;
    /* A letter for each argument:
     *   o any object   b truth   i integer   d number   n number, None is NaN   s text   z text or None   p path   y bytes
     *   P list of paths   N list of texts or None   D list of (start, stop) in seconds or None   L the same in
     *   nanoseconds, not None   Q list of queries   R A M E dict of the options of a request, an analysis, a merge, an
     *   export   0 1 2 3 4 handle of this kind of enum core_handle */
    const char *arguments;
    int (*run)(struct core_call *call, struct gt_error *error); /* works without the interpreter's lock; may be NULL */
    PyObject *(*give)(struct core_call *call);                  /* the result; NULL with an exception */
    const char *help;
};

/* Common results: None, a handle, the text or bytes in `data`. */
PyObject *core_none(struct core_call *call);
PyObject *core_report(struct core_call *call);
PyObject *core_table(struct core_call *call);
PyObject *core_text(struct core_call *call);
PyObject *core_bytes(struct core_call *call);

/* Adds functions, up to one without a name, to the module. Returns 0 or -1. */
int core_add_functions(PyObject *module, const struct core_function *functions);

extern const struct core_function core_file_functions[], core_trace_functions[], core_power_functions[],
    core_table_functions[];

extern PyType_Spec core_block_spec;

#endif
