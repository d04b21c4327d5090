/* The extension module gpu_tracker._core: what its files share. Written for the limited API of CPython 3.11;
 * that of 3.10 has no buffers, so for it the same calls are of the whole API. */
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

/* Raise what a failed call of the library means: ValueError for wrong arguments and damaged files, else OSError or its subclass for the
 * errno (FileExistsError, ProcessLookupError, ...). Returns NULL. */
PyObject *core_raise(int status, const struct gt_error *error);
/* A sentence as a text that does nothing to a terminal. */
PyObject *core_shown(const char *text);

/* A new object of a type of the module's, zero behind its head; and its end, behind that of what it holds. */
PyObject *core_object(PyTypeObject *type);
void core_object_free(PyObject *self);
/* An object that holds one thing of the library, which the caller keeps where NULL is returned. */
struct core_holder {
    PyObject_HEAD void *held;
};
PyObject *core_hold(PyTypeObject *type, void *held);
/* PyArg_ParseTuple for the constructor of a type that takes no keywords; the format ends in ":NAME". */
bool core_arguments(PyObject *arguments, PyObject *keywords, const char *format, ...);
/* Append an item to *list, and give it up. Without the item, or memory, *list becomes NULL, with the exception. */
void core_append(PyObject **list, PyObject *item);
/* The same for a member of a dict. */
void core_put(PyObject **dict, const char *key, PyObject *item);

PyObject *core_render(const struct gt_report *report, const char *format);

/* Options of gt_tracker_open from a dict of keywords; the strings live in *keep, which the caller drops afterwards. */
int core_tracker_options(PyObject *keywords, struct gt_tracker_options *ret, PyObject **keep);

/* A str or path as a C string, and a sequence of them, NULL-terminated; both live in the list `keep`. NULL and -1 with an
 * exception. */
const char *core_text(PyObject *value, PyObject *keep);
int core_texts(PyObject *value, const char *const **ret, PyObject *keep);
/* A list of them, for "O&" of PyArg_ParseTuple; PyArg_ParseTuple drops `keep` where a later argument is wrong, else the caller does. */
struct core_paths {
    PyObject *keep;
    const char *const *path;
    size_t count;
};
int core_paths(PyObject *list, void *ret);

/* A new object gpu_tracker.Table, which takes over the table; NULL with an exception. */
PyObject *core_table_object(PyObject *module, struct gt_table *table);
/* The same of a call that may have failed. */
PyObject *core_take_table(PyObject *module, int status, struct gt_table *table, const struct gt_error *error);
/* The table of an object of the type gpu_tracker.Table; NULL with a TypeError. */
struct gt_table *core_table_of(PyObject *module, PyObject *object);

/* "2020-09-13T12:26:40:000000" of nanoseconds since the epoch, UTC. */
PyObject *core_time_text(PyObject *module, PyObject *nanoseconds);

extern PyType_Spec core_profile_spec, core_trace_report_spec;
extern PyMethodDef core_trace_methods[];

extern PyType_Spec core_sampler_spec, core_sub_tracker_spec, core_table_spec, core_experiment_spec;
extern PyType_Spec core_energy_sample_spec;
/* Functions of other files that become functions of the module. */
extern PyMethodDef core_report_methods[], core_power_methods[];

#endif
