/* Table: columns of numbers, integers or texts, made from a dataset of the library or from Python values. */
#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct table *table_keep(struct table *table)
{
    __atomic_add_fetch(&table->references, 1, __ATOMIC_RELAXED);
    return table;
}

void table_drop(struct table *table)
{
    if (!table || __atomic_sub_fetch(&table->references, 1, __ATOMIC_ACQ_REL))
        return;
    for (size_t i = 0; table->column && i < table->count; i++) {
        free(table->column[i].name);
        free(table->column[i].value);
        free(table->column[i].text);
        free(table->column[i].validity);
    }
    free(table->column);
    free(table);
}

static struct table *new_table(size_t rows, size_t columns)
{
    struct table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    *table = (struct table){.references = 1, .rows = rows, .count = columns};
    table->column = calloc(columns + 1, sizeof *table->column);
    if (table->column)
        return table;
    table_drop(table);
    return NULL;
}

static int prepare_column(struct table_column *column, const char *name, enum gt_dataset_kind kind, size_t rows)
{
    column->name = strdup(name);
    column->kind = kind;
    column->value = calloc(rows + 1, sizeof(int64_t));
    return column->name && column->value ? 0 : -1;
}

static int set_missing(struct table_column *column, size_t row, size_t rows)
{
    if (!column->validity) {
        column->validity = malloc(rows / 8 + 1);
        if (!column->validity)
            return -1;
        memset(column->validity, 0xff, rows / 8 + 1);
    }
    column->validity[row / 8] &= (uint8_t) ~(1u << row % 8);
    column->missing++;
    return 0;
}

/* ---- from data sets ---- */

static int copy_column(struct table_column *column, const struct gt_dataset_column *from, size_t rows)
{
    if (prepare_column(column, from->name, from->kind, rows) < 0)
        return -1;
    if (from->kind == GT_DATASET_INTEGER && rows)
        memcpy(column->value, from->integer, rows * sizeof *from->integer);
    if (from->kind == GT_DATASET_NUMBER && rows)
        memcpy(column->value, from->number, rows * sizeof *from->number);
    for (size_t i = 0; from->kind == GT_DATASET_NUMBER && i < rows; i++)
        if (isnan(from->number[i]) && set_missing(column, i, rows) < 0)
            return -1;
    if (from->kind != GT_DATASET_TEXT || !rows)
        return 0;
    size_t length = (size_t)from->text_end[rows - 1];
    memcpy((int64_t *)column->value + 1, from->text_end, rows * sizeof *from->text_end);
    column->text = malloc(length + 1);
    if (column->text && length)
        memcpy(column->text, from->text, length);
    return column->text ? 0 : -1;
}

PyObject *core_table_of_dataset(PyObject *module, struct gt_dataset *dataset)
{
    struct table *table = new_table(gt_dataset_rows(dataset), gt_dataset_columns(dataset));
    int status = table ? 0 : -1;
    for (size_t i = 0; status == 0 && i < table->count; i++) {
        struct gt_dataset_column column;
        gt_dataset_column(dataset, i, &column);
        status = copy_column(&table->column[i], &column, table->rows);
    }
    gt_dataset_free(dataset);
    if (status == 0)
        return core_table_object(module, table);
    table_drop(table);
    return PyErr_NoMemory();
}

/* ---- from Python ---- */

static enum gt_dataset_kind kind_of(PyObject *values)
{
    enum gt_dataset_kind kind = GT_DATASET_INTEGER;
    for (Py_ssize_t i = 0; i < PyList_Size(values); i++) {
        PyObject *value = PyList_GetItem(values, i);
        if (PyUnicode_Check(value))
            return GT_DATASET_TEXT;
        if (!PyLong_Check(value))
            kind = GT_DATASET_NUMBER;
    }
    return kind;
}

static int append_text(struct table_column *column, size_t row, PyObject *value)
{
    int64_t *begin = column->value;
    Py_ssize_t length = 0;
    const char *text = value == Py_None ? "" : PyUnicode_AsUTF8AndSize(value, &length);
    char *grown = text ? realloc(column->text, (size_t)(begin[row] + length) + 1) : NULL;
    if (!grown)
        return -1;
    memcpy(grown + begin[row], text, (size_t)length);
    column->text = grown;
    begin[row + 1] = begin[row] + length;
    return 0;
}

static int set_cell(struct table_column *column, size_t row, size_t rows, PyObject *value)
{
    double number = NAN;
    if (column->kind == GT_DATASET_TEXT && append_text(column, row, value) < 0)
        return -1;
    if (column->kind == GT_DATASET_INTEGER)
        ((int64_t *)column->value)[row] = PyLong_AsLongLong(value);
    if (column->kind == GT_DATASET_NUMBER && value != Py_None)
        number = PyFloat_AsDouble(value);
    if (column->kind == GT_DATASET_NUMBER)
        ((double *)column->value)[row] = number;
    if (PyErr_Occurred())
        return -1;
    if (value == Py_None || (column->kind == GT_DATASET_NUMBER && isnan(number)))
        return set_missing(column, row, rows);
    return 0;
}

static int fill_from_list(struct table_column *column, PyObject *name, PyObject *values, size_t rows)
{
    PyObject *bytes = PyUnicode_AsUTF8String(name);
    int status = bytes ? prepare_column(column, PyBytes_AsString(bytes), kind_of(values), rows) : -1;
    Py_XDECREF(bytes);
    for (size_t row = 0; status == 0 && row < rows; row++)
        status = set_cell(column, row, rows, PyList_GetItem(values, (Py_ssize_t)row));
    if (status < 0 && !PyErr_Occurred())
        PyErr_NoMemory();
    return status;
}

/* Of a dict of equally long lists; NULL with an exception. */
static struct table *table_of_dict(PyObject *columns)
{
    PyObject *name, *values;
    Py_ssize_t position = 0, rows = -1;
    struct table *table = NULL;
    size_t column = 0;
    while (PyDict_Next(columns, &position, &name, &values)) {
        if (!PyUnicode_Check(name) || !PyList_Check(values) || (rows >= 0 && PyList_Size(values) != rows)) {
            PyErr_SetString(PyExc_TypeError,
                            "a table is made of a dict of lists, all of one length, with texts as keys");
            table_drop(table);
            return NULL;
        }
        rows = PyList_Size(values);
        if (!table)
            table = new_table((size_t)rows, (size_t)PyDict_Size(columns));
        if (!table || fill_from_list(&table->column[column++], name, values, (size_t)rows) < 0) {
            table_drop(table);
            return NULL;
        }
    }
    table = table ? table : new_table(0, 0);
    if (!table)
        PyErr_NoMemory();
    return table;
}

/* ---- the type ---- */

struct table_object {
    PyObject_HEAD struct table *table;
};

static struct table *table_of(PyObject *self)
{
    return ((struct table_object *)self)->table;
}

static PyObject *allocate(PyTypeObject *type, struct table *table)
{
    allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *self = table ? make(type, 0) : NULL;
    if (self)
        ((struct table_object *)self)->table = table;
    else
        table_drop(table);
    return self;
}

PyObject *core_table_object(PyObject *module, struct table *table)
{
    PyObject *type = PyObject_GetAttrString(module, "Table");
    PyObject *self = type ? allocate((PyTypeObject *)type, table) : NULL;
    if (!type)
        table_drop(table);
    Py_XDECREF(type);
    return self;
}

static PyObject *table_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *columns;
    if (keywords && PyDict_Size(keywords)) {
        PyErr_SetString(PyExc_TypeError, "Table takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "O!:Table", &PyDict_Type, &columns))
        return NULL;
    return allocate(type, table_of_dict(columns));
}

static void table_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    table_drop(table_of(self));
    release(self);
    Py_DECREF(type);
}

static Py_ssize_t table_length(PyObject *self)
{
    return (Py_ssize_t)table_of(self)->rows;
}

static PyObject *table_names(PyObject *self, void *unused)
{
    (void)unused;
    const struct table *table = table_of(self);
    PyObject *names = PyList_New(0);
    for (size_t i = 0; names && i < table->count; i++) {
        PyObject *name = PyUnicode_FromString(table->column[i].name);
        if (!name || PyList_Append(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

static PyObject *cell(const struct table_column *column, size_t row)
{
    if (column->validity && !(column->validity[row / 8] >> row % 8 & 1))
        return Py_NewRef(Py_None);
    const int64_t *integers = column->value;
    if (column->kind == GT_DATASET_NUMBER)
        return PyFloat_FromDouble(((const double *)column->value)[row]);
    if (column->kind == GT_DATASET_INTEGER)
        return PyLong_FromLongLong(integers[row]);
    return PyUnicode_DecodeUTF8(column->text + integers[row], (Py_ssize_t)(integers[row + 1] - integers[row]),
                                "replace");
}

static const struct table_column *find_column(const struct table *table, PyObject *name)
{
    PyObject *bytes = PyUnicode_AsUTF8String(name);
    const struct table_column *found = NULL;
    for (size_t i = 0; bytes && i < table->count; i++)
        if (strcmp(table->column[i].name, PyBytes_AsString(bytes)) == 0)
            found = &table->column[i];
    if (bytes && !found)
        PyErr_SetObject(PyExc_KeyError, name);
    Py_XDECREF(bytes);
    return found;
}

static PyObject *table_get(PyObject *self, PyObject *name)
{
    const struct table *table = table_of(self);
    const struct table_column *column = find_column(table, name);
    PyObject *values = column ? PyList_New((Py_ssize_t)table->rows) : NULL;
    for (size_t i = 0; values && i < table->rows; i++) {
        PyObject *value = cell(column, i);
        if (!value || PyList_SetItem(values, (Py_ssize_t)i, value) < 0)
            Py_CLEAR(values);
    }
    return values;
}

/* The bytes of a column of numbers, for numpy.frombuffer. */
static PyObject *table_bytes(PyObject *self, PyObject *name)
{
    const struct table *table = table_of(self);
    const struct table_column *column = find_column(table, name);
    if (!column)
        return NULL;
    if (column->kind == GT_DATASET_TEXT)
        Py_RETURN_NONE;
    PyObject *bytes = PyBytes_FromStringAndSize(column->value, (Py_ssize_t)(table->rows * sizeof(int64_t)));
    return bytes ? Py_BuildValue("(sN)", column->kind == GT_DATASET_NUMBER ? "f8" : "i8", bytes) : NULL;
}

static PyObject *table_stream(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"requested_schema", NULL};
    PyObject *requested = NULL; /* a hint, which a producer may leave aside */
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:__arrow_c_stream__", names, &requested))
        return NULL;
    return core_arrow_stream(table_of(self));
}

static PyObject *table_schema(PyObject *self, PyObject *unused)
{
    (void)unused;
    return core_arrow_schema(table_of(self));
}

static PyMethodDef methods[] = {
    {"_bytes", table_bytes, METH_O,
     "_bytes($self, name, /)\n--\n\nThe type (\"f8\", \"i8\") and bytes of a column; None for texts."},
    {"__arrow_c_stream__", (PyCFunction)(void (*)(void))table_stream, METH_VARARGS | METH_KEYWORDS,
     "__arrow_c_stream__($self, requested_schema=None)\n--\n\nThe table for Arrow libraries, which take it uncopied."},
    {"__arrow_c_schema__", table_schema, METH_NOARGS, "__arrow_c_schema__($self, /)\n--\n\nIts Arrow schema."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"column_names", table_names, NULL, "The names of the columns, in order.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static const char documentation[] =
    "Table(columns, /)\n--\n\n"
    "Columns of one length: numbers, integers or texts, where None is missing.\n"
    "\n"
    "`table[name]` is a column as a list, `len(table)` the number of rows. pyarrow.table(table),\n"
    "polars.DataFrame(table) and duckdb take it without copying (the Arrow PyCapsule interface).\n"
    "\n"
    "Args:\n"
    "    columns: Lists by name.\n";

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)documentation},   {Py_tp_new, (void *)table_new},
    {Py_tp_dealloc, (void *)table_free},  {Py_tp_methods, methods},
    {Py_tp_getset, attributes},           {Py_mp_length, (void *)table_length},
    {Py_mp_subscript, (void *)table_get}, {0, NULL},
};

PyType_Spec core_table_spec = {
    .name = "gpu_tracker.Table",
    .basicsize = sizeof(struct table_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
