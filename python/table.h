/* Tables of columns, shared by Python objects and by consumers of Arrow streams, who may outlive them. */
#ifndef PYTHON_TABLE_H
#define PYTHON_TABLE_H

#include <stdint.h>

#include "core.h"
#include "base/dataset.h"

struct table_column {
    char *name;
    enum gt_dataset_kind kind;
    void *value;     /* double or int64_t [rows], int32_t for choices (-1: missing); for texts see below, [rows + 1] */
    int is_borrowed; /* the value is the dataset's */
    char *text;      /* texts, one behind the other */
    int64_t *begin;  /* of choices: where each text begins and the last ends, [choices + 1] */
    size_t choices;
    uint8_t *validity; /* bit i is set when row i is not missing; NULL: none is */
    int64_t missing;
};

struct table {
    int references; /* changed with atomic builtins only */
    size_t rows, count;
    struct table_column *column;
    struct gt_dataset *dataset; /* NULL when made of Python's values */
};

struct table *table_keep(struct table *table);
void table_drop(struct table *table);

/* A new object gpu_tracker.Table, which takes over the reference; NULL with an exception. */
PyObject *core_table_object(PyObject *module, struct table *table);
/* The table of a dataset, which it takes over. */
PyObject *core_table_of_dataset(PyObject *module, struct gt_dataset *dataset);
/* The table of an object of the type gpu_tracker.Table; NULL with a TypeError. */
const struct table *core_table_of(PyObject *module, PyObject *object);

/* table_python.c: a column of a dict's item: a list, (codes, texts), or a buffer of 8-byte numbers. Rows, or -1 with an
 * exception. */
Py_ssize_t table_rows_of(PyObject *values);
int table_fill(struct table_column *column, PyObject *name, PyObject *values, size_t rows);
int table_set_missing(struct table_column *column, size_t row, size_t rows);
int table_prepare(struct table_column *column, const char *name, enum gt_dataset_kind kind, size_t rows);

/* The Arrow C stream and schema of a table, as capsules. */
PyObject *core_arrow_stream(struct table *table);
PyObject *core_arrow_schema(const struct table *table);

#endif
