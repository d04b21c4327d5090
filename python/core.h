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

/* Raise what a failed call of the library means: ValueError for wrong arguments and damaged files, else OSError or its subclass for the
 * errno (FileExistsError, ProcessLookupError, ...). Returns NULL. */
PyObject *core_raise(int status, const struct gt_error *error);
/* A sentence as a text that does nothing to a terminal. */
PyObject *core_shown(const char *text);

/* Options of gt_tracker_open from a dict of keywords; the strings live in *keep, which the caller drops afterwards. */
int core_tracker_options(PyObject *keywords, struct gt_tracker_options *ret, PyObject **keep);

/* A str or path as a C string, and a sequence of them, NULL-terminated; both live in the list `keep`. NULL and -1 with an
 * exception. */
const char *core_text(PyObject *value, PyObject *keep);
int core_texts(PyObject *value, const char *const **ret, PyObject *keep);

/* "2020-09-13T12:26:40:000000" of nanoseconds since the epoch, UTC. */
PyObject *core_time_text(PyObject *module, PyObject *nanoseconds);

extern PyType_Spec core_profile_spec, core_trace_report_spec;
extern PyMethodDef core_trace_methods[];

extern PyType_Spec core_sampler_spec, core_sub_tracker_spec, core_table_spec, core_experiment_spec;
extern PyType_Spec core_energy_sample_spec;
/* Functions of other files that become functions of the module. */
extern PyMethodDef core_memory_methods[], core_report_methods[], core_power_methods[];

#endif
