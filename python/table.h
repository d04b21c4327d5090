/* Tables of columns, shared by Python objects and by consumers of Arrow streams, who may outlive them. */
#ifndef PYTHON_TABLE_H
#define PYTHON_TABLE_H

#include <stdint.h>

#include "core.h"

struct table_column {
    char *name;
    enum gt_dataset_kind kind;
    void *value;       /* double or int64_t [rows]; for texts int64_t [rows + 1], where each begins and the last ends */
    char *text;        /* texts, one behind the other */
    uint8_t *validity; /* bit i is set when row i is not missing; NULL: none is */
    int64_t missing;
};

struct table {
    int references; /* changed with atomic builtins only */
    size_t rows, count;
    struct table_column *column;
};

struct table *table_keep(struct table *table);
void table_drop(struct table *table);

/* A new object gpu_tracker.Table, which takes over the reference; NULL with an exception. */
PyObject *core_table_object(PyObject *module, struct table *table);
/* The table of a dataset, which is freed. */
PyObject *core_table_of_dataset(PyObject *module, struct gt_dataset *dataset);

/* The Arrow C stream and schema of a table, as capsules. */
PyObject *core_arrow_stream(struct table *table);
PyObject *core_arrow_schema(const struct table *table);

#endif
