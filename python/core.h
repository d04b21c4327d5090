/* Shared functions of the extension module gpu_tracker._core, written for the limited API of CPython 3.11.
 * The limited API of 3.10 has no buffers, so 3.10 uses the whole API. */
#ifndef PYTHON_CORE_H
#define PYTHON_CORE_H

#include <patchlevel.h>
#if PY_VERSION_HEX >= 0x030b0000
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "gpu_tracker.h"
#include "analyse/experiment/experiment.h"
#include "base/table.h"

/* Raises the exception of a failed call of the library: ValueError for wrong arguments and damaged files, otherwise
 * OSError or its subclass for the errno (FileExistsError, ProcessLookupError, ...). Returns NULL. */
PyObject *core_raise(int status, const struct gt_error *error);
/* Returns a sentence as a text without control characters. */
PyObject *core_shown(const char *text);

/* Creates a zeroed object of a type of the module. core_object_free releases the object after its contents. */
PyObject *core_object(PyTypeObject *type);
void core_object_free(PyObject *self);
/* Object that holds one thing of the library. If core_hold returns NULL, the caller keeps the thing. */
struct core_holder {
    PyObject_HEAD void *held;
};
PyObject *core_hold(PyTypeObject *type, void *held);
/* PyArg_ParseTuple for the constructor of a type without keywords. The format ends in ":NAME". */
bool core_arguments(PyObject *arguments, PyObject *keywords, const char *format, ...);
/* Appends an item to *list and releases the item. Without the item or memory, *list becomes NULL, with an exception. */
void core_append(PyObject **list, PyObject *item);
/* The same for a member of a dict. */
void core_put(PyObject **dict, const char *key, PyObject *item);

PyObject *core_render(const struct gt_report *report, const char *format);

/* Converts a dict of keywords to options of gt_tracker_open. *keep holds the strings; the caller releases it. */
int core_tracker_options(PyObject *keywords, struct gt_tracker_options *ret, PyObject **keep);

/* Convert a str or path to a C string, and a sequence of them to a NULL-terminated array. The list `keep` holds the
 * memory. They return NULL or -1 with an exception. */
const char *core_text(PyObject *value, PyObject *keep);
int core_texts(PyObject *value, const char *const **ret, PyObject *keep);
/* The same for "O&" of PyArg_ParseTuple, which releases `keep` if a later argument is wrong. Otherwise the caller
 * releases it. */
struct core_paths {
    PyObject *keep;
    const char *const *path;
    size_t count;
};
int core_paths(PyObject *list, void *ret);

/* Returns a gpu_tracker.Table that owns the table; NULL with an exception. */
PyObject *core_table_object(PyObject *module, struct gt_table *table);
/* The same after a call of the library that may have failed. */
PyObject *core_take_table(PyObject *module, int status, struct gt_table *table, const struct gt_error *error);
/* Returns the table of a gpu_tracker.Table; NULL with a TypeError. */
struct gt_table *core_table_of(PyObject *module, PyObject *object);

/* Converts nanoseconds since the epoch to "2020-09-13T12:26:40:000000", UTC. */
PyObject *core_time_text(PyObject *module, PyObject *nanoseconds);

extern PyType_Spec core_profile_spec, core_trace_report_spec;
extern PyMethodDef core_trace_methods[];

extern PyType_Spec core_sampler_spec, core_sub_tracker_spec, core_table_spec, core_experiment_spec;
extern PyType_Spec core_energy_sample_spec;
/* Functions of the module in other files. */
extern PyMethodDef core_report_methods[], core_power_methods[];

#endif
