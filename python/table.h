/* gpu_tracker.Table, a view of a table of the library. */
#ifndef PYTHON_TABLE_H
#define PYTHON_TABLE_H

#include <stdint.h>

#include "base/table.h"
#include "core.h"

/* A new object gpu_tracker.Table, which takes over the table; NULL with an exception. */
PyObject *core_table_object(PyObject *module, struct gt_table *table);
/* The same of a call that may have failed. */
PyObject *core_take_table(PyObject *module, int status, struct gt_table *table, const struct gt_error *error);
/* The table of an object of the type gpu_tracker.Table; NULL with a TypeError. */
struct gt_table *core_table_of(PyObject *module, PyObject *object);

#endif
