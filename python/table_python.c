/* Tables made of Python's values: of lists, of numpy's and other arrays, and of texts chosen by number. */
#include <math.h>
#include <string.h>

#include "table.h"

static enum gt_cell_kind kind_of_list(PyObject *list)
{
    enum gt_cell_kind kind = GT_CELL_INTEGER;
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
        PyObject *value = PyList_GetItem(list, i);
        if (PyUnicode_Check(value))
            return GT_CELL_PLAIN_TEXT;
        if (!PyLong_Check(value))
            kind = GT_CELL_NUMBER;
    }
    return kind;
}

static int add_cell(struct gt_table *table, enum gt_cell_kind kind, PyObject *value)
{
    if (value == Py_None) {
        gt_table_missing(table);
    } else if (kind == GT_CELL_INTEGER) {
        gt_table_integer(table, PyLong_AsLongLong(value));
    } else if (kind == GT_CELL_NUMBER) {
        gt_table_number(table, PyFloat_AsDouble(value));
    } else {
        Py_ssize_t length = 0;
        const char *text = PyUnicode_AsUTF8AndSize(value, &length);
        if (text)
            gt_table_text_of(table, text, (size_t)length);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int fill_from_list(struct gt_table *table, size_t column, PyObject *list)
{
    int status = 0;
    for (Py_ssize_t row = 0; status == 0 && row < PyList_Size(list); row++) {
        gt_table_seek(table, column);
        status = add_cell(table, table->column[column].kind, PyList_GetItem(list, row));
    }
    return status;
}

/* ---- arrays ---- */

/* Numbers of `size` bytes each in one dimension, of one of the types. */
static int open_buffer(PyObject *values, const char *types, Py_ssize_t size, Py_buffer *buffer)
{
    if (PyObject_GetBuffer(values, buffer, PyBUF_CONTIG_RO | PyBUF_FORMAT) < 0)
        return -1;
    if (buffer->ndim == 1 && buffer->itemsize == size && buffer->format && buffer->format[0] && !buffer->format[1] &&
        strchr(types, buffer->format[0]))
        return 0;
    PyBuffer_Release(buffer);
    PyErr_SetString(PyExc_TypeError, "an array of a table holds int64, float64 or, for choices, int32");
    return -1;
}

static int open_numbers(PyObject *values, Py_buffer *buffer)
{
    return open_buffer(values, "dlq", sizeof(int64_t), buffer);
}

static enum gt_cell_kind kind_of_buffer(const Py_buffer *buffer)
{
    return strcmp(buffer->format, "d") == 0 ? GT_CELL_NUMBER : GT_CELL_INTEGER;
}

static int fill_from_buffer(struct gt_table *table, size_t column, PyObject *values)
{
    Py_buffer buffer;
    if (open_numbers(values, &buffer) < 0)
        return -1;
    for (Py_ssize_t row = 0; row < buffer.len / buffer.itemsize; row++) {
        gt_table_seek(table, column);
        if (table->column[column].kind == GT_CELL_NUMBER)
            gt_table_number(table, ((const double *)buffer.buf)[row]);
        else
            gt_table_integer(table, ((const int64_t *)buffer.buf)[row]);
    }
    PyBuffer_Release(&buffer);
    return 0;
}

static int fill_dictionary(struct gt_table *table, size_t column, PyObject *texts)
{
    for (Py_ssize_t i = 0; i < PyList_Size(texts); i++) {
        PyObject *value = PyList_GetItem(texts, i);
        Py_ssize_t length = 0;
        if (!PyUnicode_Check(value)) {
            PyErr_SetString(PyExc_TypeError, "choices of a table are texts");
            return -1;
        }
        const char *text = PyUnicode_AsUTF8AndSize(value, &length);
        if (!text)
            return -1;
        gt_table_dictionary_text(table, column, text, (size_t)length);
    }
    return 0;
}

/* (numbers, texts): which of the texts each row has, -1 for none. */
static int fill_from_pair(struct gt_table *table, size_t column, PyObject *pair)
{
    Py_buffer buffer;
    Py_ssize_t texts = PyList_Size(PyTuple_GetItem(pair, 1));
    if (open_buffer(PyTuple_GetItem(pair, 0), "il", sizeof(int32_t), &buffer) < 0)
        return -1;
    int status = fill_dictionary(table, column, PyTuple_GetItem(pair, 1));
    for (Py_ssize_t row = 0; status == 0 && row < buffer.len / buffer.itemsize; row++) {
        int32_t number = ((const int32_t *)buffer.buf)[row];
        if (number >= texts) {
            PyErr_SetString(PyExc_ValueError, "a number of a table's column chooses none of the texts");
            status = -1;
        }
        gt_table_seek(table, column);
        gt_table_chosen(table, number);
    }
    PyBuffer_Release(&buffer);
    return status;
}

static int is_pair(PyObject *values)
{
    return PyTuple_Check(values) && PyTuple_Size(values) == 2 && PyList_Check(PyTuple_GetItem(values, 1));
}

/* ---- tables ---- */

/* How many rows a column has, or -1 for anything else than a column. */
static Py_ssize_t rows_of(PyObject *values)
{
    if (PyList_Check(values))
        return PyList_Size(values);
    PyObject *array = is_pair(values) ? PyTuple_GetItem(values, 0) : values;
    return PyObject_CheckBuffer(array) ? PyObject_Size(array) : -1;
}

static int kind_of(PyObject *values, enum gt_cell_kind *ret)
{
    Py_buffer buffer;
    *ret = PyList_Check(values) ? kind_of_list(values) : GT_CELL_TEXT;
    if (PyList_Check(values) || is_pair(values))
        return 0;
    if (open_numbers(values, &buffer) < 0)
        return -1;
    *ret = kind_of_buffer(&buffer);
    PyBuffer_Release(&buffer);
    return 0;
}

static int add_column(struct gt_table *table, PyObject *name, PyObject *values)
{
    enum gt_cell_kind kind;
    PyObject *bytes = PyUnicode_AsUTF8String(name);
    int status = bytes ? kind_of(values, &kind) : -1;
    if (status == 0)
        gt_table_column(table, PyBytes_AsString(bytes), PyBytes_AsString(bytes), kind, NULL);
    Py_XDECREF(bytes);
    return status;
}

static int add_columns(struct gt_table *table, PyObject *columns)
{
    PyObject *name, *values;
    Py_ssize_t position = 0, rows = -1;
    while (PyDict_Next(columns, &position, &name, &values)) {
        Py_ssize_t found = PyUnicode_Check(name) ? rows_of(values) : -1;
        if (found < 0 || (rows >= 0 && found != rows)) {
            PyErr_SetString(PyExc_TypeError,
                            "a table is made of a dict of lists, all of one length, with texts as keys");
            return -1;
        }
        rows = found;
        if (add_column(table, name, values) < 0)
            return -1;
    }
    return 0;
}

static int fill(struct gt_table *table, size_t column, PyObject *values)
{
    if (PyList_Check(values))
        return fill_from_list(table, column, values);
    return is_pair(values) ? fill_from_pair(table, column, values) : fill_from_buffer(table, column, values);
}

struct gt_table *core_table_of_dict(PyObject *columns)
{
    PyObject *name, *values;
    Py_ssize_t position = 0;
    struct gt_table *table = gt_table_new();
    int status = table ? add_columns(table, columns) : -1;
    for (size_t column = 0; status == 0 && !table->failed && PyDict_Next(columns, &position, &name, &values); column++)
        status = fill(table, column, values);
    if (status == 0 && !table->failed)
        return table;
    if (!PyErr_Occurred())
        PyErr_NoMemory();
    gt_table_free(table);
    return NULL;
}
