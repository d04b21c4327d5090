/* Columns made of Python's values: of lists, of numpy's and other arrays, and of texts chosen by number. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "base/dataset.h"

int table_prepare(struct table_column *column, const char *name, enum gt_dataset_kind kind, size_t rows)
{
    column->name = strdup(name);
    column->kind = kind;
    column->value = calloc(rows + 1, sizeof(int64_t));
    return column->name && column->value ? 0 : -1;
}

int table_set_missing(struct table_column *column, size_t row, size_t rows)
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
        return table_set_missing(column, row, rows);
    return 0;
}

static int fill_from_list(struct table_column *column, PyObject *name, PyObject *values, size_t rows)
{
    PyObject *bytes = PyUnicode_AsUTF8String(name);
    int status = bytes ? table_prepare(column, PyBytes_AsString(bytes), kind_of(values), rows) : -1;
    Py_XDECREF(bytes);
    for (size_t row = 0; status == 0 && row < rows; row++)
        status = set_cell(column, row, rows, PyList_GetItem(values, (Py_ssize_t)row));
    if (status < 0 && !PyErr_Occurred())
        PyErr_NoMemory();
    return status;
}

/* ---- arrays ---- */

static enum gt_dataset_kind kind_of_buffer(const Py_buffer *buffer)
{
    return buffer->format && strcmp(buffer->format, "d") == 0 ? GT_DATASET_NUMBER : GT_DATASET_INTEGER;
}

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

static int fill_from_buffer(struct table_column *column, const char *name, PyObject *values, size_t rows)
{
    Py_buffer buffer;
    if (open_buffer(values, "dlq", sizeof(int64_t), &buffer) < 0)
        return -1;
    int status = table_prepare(column, name, kind_of_buffer(&buffer), rows);
    if (status == 0 && rows)
        memcpy(column->value, buffer.buf, rows * sizeof(int64_t));
    PyBuffer_Release(&buffer);
    for (size_t i = 0; status == 0 && column->kind == GT_DATASET_NUMBER && i < rows; i++)
        if (isnan(((double *)column->value)[i]))
            status = table_set_missing(column, i, rows);
    return status;
}

/* The texts, as a column of their own would have them. */
static int fill_choices(struct table_column *column, PyObject *texts)
{
    struct table_column list = {.kind = GT_DATASET_TEXT};
    column->choices = (size_t)PyList_Size(texts);
    list.value = calloc(column->choices + 1, sizeof(int64_t));
    int status = list.value ? 0 : -1;
    for (size_t i = 0; status == 0 && i < column->choices; i++) {
        PyObject *text = PyList_GetItem(texts, (Py_ssize_t)i);
        status = PyUnicode_Check(text) ? append_text(&list, i, text) : -1;
        if (!PyUnicode_Check(text))
            PyErr_SetString(PyExc_TypeError, "choices of a table are texts");
    }
    column->begin = list.value;
    column->text = list.text ? list.text : calloc(1, 1);
    return status == 0 && column->text ? 0 : -1;
}

/* (numbers, texts): which of the texts each row has, -1 for none. */
static int fill_from_pair(struct table_column *column, const char *name, PyObject *values, size_t rows)
{
    Py_buffer buffer;
    if (open_buffer(PyTuple_GetItem(values, 0), "il", sizeof(int32_t), &buffer) < 0)
        return -1;
    int status = table_prepare(column, name, GT_DATASET_CHOICE, rows);
    if (status == 0 && rows)
        memcpy(column->value, buffer.buf, rows * sizeof(int32_t));
    PyBuffer_Release(&buffer);
    if (status == 0)
        status = fill_choices(column, PyTuple_GetItem(values, 1));
    for (size_t i = 0; status == 0 && i < rows; i++) {
        int32_t choice = ((int32_t *)column->value)[i];
        if (choice >= 0 && (size_t)choice >= column->choices) {
            PyErr_SetString(PyExc_ValueError, "a number of a table's column chooses none of the texts");
            return -1;
        }
        if (choice < 0)
            status = table_set_missing(column, i, rows);
    }
    return status;
}

static int is_pair(PyObject *values)
{
    return PyTuple_Check(values) && PyTuple_Size(values) == 2 && PyList_Check(PyTuple_GetItem(values, 1));
}

Py_ssize_t table_rows_of(PyObject *values)
{
    if (PyList_Check(values))
        return PyList_Size(values);
    PyObject *array = is_pair(values) ? PyTuple_GetItem(values, 0) : values;
    return PyObject_CheckBuffer(array) ? PyObject_Size(array) : -1;
}

int table_fill(struct table_column *column, PyObject *name, PyObject *values, size_t rows)
{
    if (PyList_Check(values))
        return fill_from_list(column, name, values, rows);
    PyObject *bytes = PyUnicode_AsUTF8String(name);
    const char *text = bytes ? PyBytes_AsString(bytes) : NULL;
    int status = !text             ? -1
                 : is_pair(values) ? fill_from_pair(column, text, values, rows)
                                   : fill_from_buffer(column, text, values, rows);
    Py_XDECREF(bytes);
    if (status < 0 && !PyErr_Occurred())
        PyErr_NoMemory();
    return status;
}
