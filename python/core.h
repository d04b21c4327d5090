/* The extension module gpu_tracker._core: what its files share. Written for the limited API of CPython 3.11. */
#ifndef PYTHON_CORE_H
#define PYTHON_CORE_H

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "gpu_tracker.h"

/* Raise what a failed call of the library means: ValueError for wrong arguments and damaged files, else OSError or its subclass for the
 * errno (FileExistsError, ProcessLookupError, ...). Returns NULL. */
PyObject *core_raise(int status, const struct gt_error *error);

/* Options of gt_tracker_open from a dict of keywords; the strings live in *keep, which the caller drops afterwards. */
int core_tracker_options(PyObject *keywords, struct gt_tracker_options *ret, PyObject **keep);

extern PyType_Spec core_sampler_spec, core_sub_tracker_spec, core_table_spec;
/* Functions of other files that become functions of the module. */
extern PyMethodDef core_memory_methods[], core_report_methods[];

#endif
