/* Table: columns of numbers, integers or texts, made from a dataset of the library or from Python values. */
#include "table.h"
#include "base/dataset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
        if (!table->column[i].is_borrowed)
            free(table->column[i].value);
        free(table->column[i].text);
        free(table->column[i].begin);
        free(table->column[i].validity);
    }
    free(table->column);
    gt_dataset_free(table->dataset);
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

/* ---- from data sets ---- */

static int mark_missing(struct table_column *column, const struct gt_dataset_column *from, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        int missing = (from->number && isnan(from->number[i])) || (from->choice && from->choice[i] < 0);
        if (missing && table_set_missing(column, i, rows) < 0)
            return -1;
    }
    return 0;
}

/* Where texts begin, from where they end. */
static int64_t *begins(const int64_t *end, size_t count)
{
    int64_t *begin = calloc(count + 1, sizeof *begin);
    if (begin && count)
        memcpy(begin + 1, end, count * sizeof *begin);
    return begin;
}

/* Texts are copied, rows of numbers stay the data set's. */
static int take_column(struct table_column *column, const struct gt_dataset_column *from, size_t rows)
{
    size_t texts = from->kind == GT_DATASET_TEXT ? rows : from->choices;
    size_t length = texts ? (size_t)from->text_end[texts - 1] : 0;
    const void *values[] = {from->number, from->integer, NULL, from->choice, from->integer};
    column->name = strdup(from->name);
    column->kind = from->kind;
    column->value = (void *)(uintptr_t)values[from->kind];
    column->is_borrowed = from->kind != GT_DATASET_TEXT;
    column->choices = from->choices;
    if (from->kind == GT_DATASET_TEXT)
        column->value = begins(from->text_end, rows);
    if (from->kind == GT_DATASET_CHOICE)
        column->begin = begins(from->text_end, texts);
    column->text = malloc(length + 1);
    if (!column->name || !column->text || (from->kind == GT_DATASET_CHOICE && !column->begin) ||
        (from->kind == GT_DATASET_TEXT && !column->value))
        return -1;
    if (length)
        memcpy(column->text, from->text, length);
    return mark_missing(column, from, rows);
}

PyObject *core_table_of_dataset(PyObject *module, struct gt_dataset *dataset)
{
    struct table *table = new_table(gt_dataset_rows(dataset), gt_dataset_columns(dataset));
    int status = table ? 0 : -1;
    if (table)
        table->dataset = dataset;
    else
        gt_dataset_free(dataset);
    for (size_t i = 0; status == 0 && i < table->count; i++) {
        struct gt_dataset_column column;
        gt_dataset_column(dataset, i, &column);
        status = take_column(&table->column[i], &column, table->rows);
    }
    if (status == 0)
        return core_table_object(module, table);
    table_drop(table);
    return PyErr_NoMemory();
}

/* ---- from Python ---- */

/* Of a dict of equally long lists; NULL with an exception. */
static struct table *table_of_dict(PyObject *columns)
{
    PyObject *name, *values;
    Py_ssize_t position = 0, rows = -1;
    struct table *table = NULL;
    size_t column = 0;
    while (PyDict_Next(columns, &position, &name, &values)) {
        Py_ssize_t found = PyUnicode_Check(name) ? table_rows_of(values) : -1;
        if (found < 0 || (rows >= 0 && found != rows)) {
            PyErr_SetString(PyExc_TypeError,
                            "a table is made of a dict of lists, all of one length, with texts as keys");
            table_drop(table);
            return NULL;
        }
        rows = found;
        if (!table)
            table = new_table((size_t)rows, (size_t)PyDict_Size(columns));
        if (!table || table_fill(&table->column[column++], name, values, (size_t)rows) < 0) {
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

const struct table *core_table_of(PyObject *module, PyObject *object)
{
    PyObject *type = PyObject_GetAttrString(module, "Table");
    int is_table = type ? PyObject_IsInstance(object, type) : -1;
    Py_XDECREF(type);
    if (is_table == 0)
        PyErr_SetString(PyExc_TypeError, "a gpu_tracker.Table is wanted");
    return is_table == 1 ? table_of(object) : NULL;
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

/* As SMDebug writes moments; what is less than a microsecond is cut off. */
static PyObject *time_text(int64_t nanoseconds)
{
    int64_t microseconds = nanoseconds / 1000 - (nanoseconds % 1000 < 0);
    int64_t fraction = (microseconds % 1000000 + 1000000) % 1000000;
    time_t seconds = (time_t)((microseconds - fraction) / 1000000);
    struct tm parts;
    char text[80];
    if (!gmtime_r(&seconds, &parts))
        return PyErr_Format(PyExc_OverflowError, "a time beyond the calendar");
    size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + length, sizeof text - length, ":%06d", (int)fraction);
    return PyUnicode_FromString(text);
}

PyObject *core_time_text(PyObject *module, PyObject *nanoseconds)
{
    (void)module;
    int64_t time = PyLong_AsLongLong(nanoseconds);
    return time == -1 && PyErr_Occurred() ? NULL : time_text(time);
}

static PyObject *text_of(const struct table_column *column, const int64_t *begin, size_t number)
{
    return PyUnicode_DecodeUTF8(column->text + begin[number], (Py_ssize_t)(begin[number + 1] - begin[number]),
                                "replace");
}

static PyObject *cell(const struct table_column *column, size_t row)
{
    if (column->validity && !(column->validity[row / 8] >> row % 8 & 1))
        return Py_NewRef(Py_None);
    const int64_t *integers = column->value;
    switch (column->kind) {
    case GT_DATASET_NUMBER: return PyFloat_FromDouble(((const double *)column->value)[row]);
    case GT_DATASET_INTEGER: return PyLong_FromLongLong(integers[row]);
    case GT_DATASET_TIME: return time_text(integers[row]);
    case GT_DATASET_CHOICE: return text_of(column, column->begin, (size_t)((const int32_t *)column->value)[row]);
    case GT_DATASET_TEXT: break;
    }
    return text_of(column, integers, row);
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

/* The bytes of a column of numbers or of choices, for numpy.frombuffer. */
static PyObject *table_bytes(PyObject *self, PyObject *name)
{
    static const char *const types[] = {"f8", "i8", NULL, "i4", NULL};
    const struct table *table = table_of(self);
    const struct table_column *column = find_column(table, name);
    if (!column)
        return NULL;
    if (!types[column->kind])
        Py_RETURN_NONE;
    size_t size = column->kind == GT_DATASET_CHOICE ? sizeof(int32_t) : sizeof(int64_t);
    PyObject *bytes = PyBytes_FromStringAndSize(table->rows ? column->value : "", (Py_ssize_t)(table->rows * size));
    return bytes ? Py_BuildValue("(sN)", types[column->kind], bytes) : NULL;
}

/* The texts that a column of choices chooses from. */
static PyObject *table_choices(PyObject *self, PyObject *name)
{
    const struct table_column *column = find_column(table_of(self), name);
    PyObject *texts = column ? PyList_New(0) : NULL;
    for (size_t i = 0; texts && i < column->choices; i++) {
        PyObject *text = text_of(column, column->begin, i);
        if (!text || PyList_Append(texts, text) < 0)
            Py_CLEAR(texts);
        Py_XDECREF(text);
    }
    return texts;
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
     "_bytes($self, name, /)\n--\n\nThe type (\"f8\", \"i8\", \"i4\" for choices) and bytes of a column; None for texts."},
    {"_choices", table_choices, METH_O,
     "_choices($self, name, /)\n--\n\nThe texts that the numbers of a column choose from."},
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
    "Columns of one length: numbers, integers, texts or times, where None is missing.\n"
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
