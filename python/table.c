/* Table: columns of numbers, integers, texts or times, of the library or made from Python values. */
#include "core.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arrow.h"

/* ---- tables from Python values: lists, arrays, and texts chosen by number ---- */

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

/* Opens a one-dimensional array of numbers with `size` bytes, of one of the types. */
static int open_buffer(PyObject *values, const char *types, Py_ssize_t size, Py_buffer *buffer)
{
    if (PyObject_GetBuffer(values, buffer, PyBUF_CONTIG_RO | PyBUF_FORMAT) < 0)
        return -1;
    if (buffer->ndim == 1 && buffer->itemsize == size && buffer->format && buffer->format[0] && !buffer->format[1] &&
        strchr(types, buffer->format[0]))
        return 0;
    PyBuffer_Release(buffer);
    PyErr_SetString(PyExc_TypeError, "an array of a table must contain int64, float64 or, for choices, int32");
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
            PyErr_SetString(PyExc_TypeError, "choices of a table must be texts");
            return -1;
        }
        const char *text = PyUnicode_AsUTF8AndSize(value, &length);
        if (!text)
            return -1;
        gt_table_dictionary_text(table, column, text, (size_t)length);
    }
    return 0;
}

/* (numbers, texts): each row has the number of its text, or -1. */
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
            PyErr_SetString(PyExc_ValueError, "a number of a table's column is outside the list of texts");
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

/* Returns the number of rows of a column, or -1 if it is not a column. */
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
            PyErr_SetString(PyExc_TypeError, "a table needs a dict of lists of equal length, with texts as keys");
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

/* Makes a table from a dict of columns of equal length: lists, (codes, texts), or buffers of 8-byte numbers. Returns
 * NULL with an exception. */
static struct gt_table *table_of_dict(PyObject *columns)
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

/* ---- Arrow C streams and schemas in capsules, after the Arrow PyCapsule interface ---- */

static void free_stream_capsule(PyObject *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream->release)
        stream->release(stream);
    free(stream);
}

static void free_schema_capsule(PyObject *capsule)
{
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema->release)
        schema->release(schema);
    free(schema);
}

static PyObject *arrow_stream(struct gt_table *table)
{
    struct ArrowArrayStream *stream = calloc(1, sizeof *stream);
    if (!stream || gt_table_arrow_stream(table, stream) < 0) {
        free(stream);
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(stream, "arrow_array_stream", free_stream_capsule);
    if (!capsule) {
        stream->release(stream);
        free(stream);
    }
    return capsule;
}

static PyObject *arrow_schema(const struct gt_table *table)
{
    struct ArrowSchema *schema = calloc(1, sizeof *schema);
    if (!schema || gt_table_arrow_schema(table, schema) < 0) {
        free(schema);
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(schema, "arrow_schema", free_schema_capsule);
    if (!capsule) {
        schema->release(schema);
        free(schema);
    }
    return capsule;
}

/* ---- the type ---- */

static struct gt_table *table_of(PyObject *self)
{
    return ((struct core_holder *)self)->held;
}

static PyObject *wrapped(PyTypeObject *type, struct gt_table *table)
{
    PyObject *self = table ? core_hold(type, table) : NULL;
    if (!self)
        gt_table_free(table);
    return self;
}

struct gt_table *core_table_of(PyObject *module, PyObject *object)
{
    PyObject *type = PyObject_GetAttrString(module, "Table");
    int is_table = type ? PyObject_IsInstance(object, type) : -1;
    Py_XDECREF(type);
    if (is_table == 0)
        PyErr_SetString(PyExc_TypeError, "the argument must be a gpu_tracker.Table");
    return is_table == 1 ? table_of(object) : NULL;
}

PyObject *core_table_object(PyObject *module, struct gt_table *table)
{
    PyObject *type = PyObject_GetAttrString(module, "Table");
    PyObject *self = type ? wrapped((PyTypeObject *)type, table) : NULL;
    if (!type)
        gt_table_free(table);
    Py_XDECREF(type);
    return self;
}

PyObject *core_take_table(PyObject *module, int status, struct gt_table *table, const struct gt_error *error)
{
    return status < 0 ? core_raise(status, error) : core_table_object(module, table);
}

static PyObject *table_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *columns;
    if (!core_arguments(arguments, keywords, "O!:Table", &PyDict_Type, &columns))
        return NULL;
    return wrapped(type, table_of_dict(columns));
}

static void table_free(PyObject *self)
{
    gt_table_free(table_of(self));
    core_object_free(self);
}

static Py_ssize_t table_length(PyObject *self)
{
    return (Py_ssize_t)gt_table_rows(table_of(self));
}

static PyObject *table_names(PyObject *self, void *Py_UNUSED(unused))
{
    const struct gt_table *table = table_of(self);
    PyObject *names = PyList_New(0);
    for (size_t i = 0; names && i < table->columns; i++)
        core_append(&names, PyUnicode_FromString(table->column[i].key));
    return names;
}

/* Returns SMDebug's text of a time, truncated to microseconds. */
static PyObject *time_text(int64_t nanoseconds)
{
    int64_t microseconds = nanoseconds / 1000 - (nanoseconds % 1000 < 0);
    int64_t fraction = (microseconds % 1000000 + 1000000) % 1000000;
    time_t seconds = (time_t)((microseconds - fraction) / 1000000);
    struct tm parts;
    char text[80];
    if (!gmtime_r(&seconds, &parts))
        return PyErr_Format(PyExc_OverflowError, "a time is outside the calendar");
    size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + length, sizeof text - length, ":%06d", (int)fraction);
    return PyUnicode_FromString(text);
}

PyObject *core_time_text(PyObject *Py_UNUSED(module), PyObject *nanoseconds)
{
    int64_t time = PyLong_AsLongLong(nanoseconds);
    return time == -1 && PyErr_Occurred() ? NULL : time_text(time);
}

static PyObject *decode(const char *text, size_t length)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "replace");
}

static PyObject *cell(const struct gt_table *table, size_t row, size_t column)
{
    size_t length = 0;
    if (gt_table_is_missing(table, row, column))
        return Py_NewRef(Py_None);
    switch (table->column[column].kind) {
    case GT_CELL_NUMBER: return PyFloat_FromDouble(gt_table_cell_number(table, row, column));
    case GT_CELL_INTEGER: return PyLong_FromLongLong(gt_table_cell_integer(table, row, column));
    case GT_CELL_TIME: return time_text(gt_table_cell_integer(table, row, column));
    default: break;
    }
    const char *text = gt_table_cell_bytes(table, row, column, &length);
    return decode(text, length);
}

static const struct gt_table_column *find_column(const struct gt_table *table, PyObject *name)
{
    if (!PyUnicode_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "the name of a column must be a str: see column_names");
        return NULL;
    }
    PyObject *bytes = PyUnicode_AsUTF8String(name);
    const struct gt_table_column *found = NULL;
    for (size_t i = 0; bytes && i < table->columns; i++)
        if (strcmp(table->column[i].key, PyBytes_AsString(bytes)) == 0)
            found = &table->column[i];
    if (bytes && !found)
        PyErr_SetObject(PyExc_KeyError, name);
    Py_XDECREF(bytes);
    return found;
}

static PyObject *table_get(PyObject *self, PyObject *name)
{
    const struct gt_table *table = table_of(self);
    const struct gt_table_column *column = find_column(table, name);
    size_t rows = gt_table_rows(table);
    PyObject *values = column ? PyList_New((Py_ssize_t)rows) : NULL;
    for (size_t i = 0; values && i < rows; i++) {
        PyObject *value = cell(table, i, (size_t)(column - table->column));
        if (!value || PyList_SetItem(values, (Py_ssize_t)i, value) < 0)
            Py_CLEAR(values);
    }
    return values;
}

/* Returns the bytes of a column of numbers or codes, for numpy.frombuffer. */
static PyObject *table_bytes(PyObject *self, PyObject *name)
{
    static const char *const types[] = {[GT_CELL_NUMBER] = "f8",
                                        [GT_CELL_INTEGER] = "i8",
                                        [GT_CELL_TEXT] = "i4",
                                        [GT_CELL_TIME] = NULL,
                                        [GT_CELL_PLAIN_TEXT] = NULL};
    const struct gt_table *table = table_of(self);
    const struct gt_table_column *column = find_column(table, name);
    if (!column)
        return NULL;
    if (!types[column->kind])
        Py_RETURN_NONE;
    size_t rows = gt_table_rows(table), size = column->kind == GT_CELL_TEXT ? sizeof(int32_t) : sizeof(int64_t);
    PyObject *bytes = PyBytes_FromStringAndSize(rows ? column->cell : "", (Py_ssize_t)(rows * size));
    return bytes ? Py_BuildValue("(sN)", types[column->kind], bytes) : NULL;
}

/* Returns the texts of a column of codes. */
static PyObject *table_choices(PyObject *self, PyObject *name)
{
    const struct gt_table_column *column = find_column(table_of(self), name);
    size_t texts = column && column->kind == GT_CELL_TEXT ? column->texts : 0;
    PyObject *list = column ? PyList_New(0) : NULL;
    for (size_t i = 0; list && i < texts; i++)
        core_append(&list, decode(column->text + column->begin[i], (size_t)(column->begin[i + 1] - column->begin[i])));
    return list;
}

/* Returns a byte for each cell, 1 if it is missing; None if no cell is missing. */
static PyObject *table_missing(PyObject *self, PyObject *name)
{
    const struct gt_table *table = table_of(self);
    const struct gt_table_column *column = find_column(table, name);
    size_t rows = gt_table_rows(table);
    if (!column)
        return NULL;
    if (!column->missing)
        Py_RETURN_NONE;
    char *missing = malloc(rows + 1);
    for (size_t i = 0; missing && i < rows; i++)
        missing[i] = gt_table_is_missing(table, i, (size_t)(column - table->column));
    PyObject *bytes = missing ? PyBytes_FromStringAndSize(missing, (Py_ssize_t)rows) : PyErr_NoMemory();
    free(missing);
    return bytes;
}

static PyObject *row_of(const struct gt_table *table, size_t row)
{
    PyObject *values = PyTuple_New((Py_ssize_t)table->columns);
    for (size_t i = 0; values && i < table->columns; i++) {
        PyObject *value = cell(table, row, i);
        if (!value || PyTuple_SetItem(values, (Py_ssize_t)i, value) < 0)
            Py_CLEAR(values);
    }
    return values;
}

/* Returns a range of rows for display. */
static PyObject *table_rows(PyObject *self, PyObject *arguments)
{
    const struct gt_table *table = table_of(self);
    Py_ssize_t from, to;
    if (!PyArg_ParseTuple(arguments, "nn:_rows", &from, &to))
        return NULL;
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = from < 0 ? 0 : from; list && i < to && i < (Py_ssize_t)gt_table_rows(table); i++)
        core_append(&list, row_of(table, (size_t)i));
    return list;
}

/* module.function(self) */
static PyObject *hand_over(PyObject *self, const char *module, const char *function)
{
    PyObject *from = PyImport_ImportModule(module), *call = from ? PyObject_GetAttrString(from, function) : NULL;
    PyObject *ret = call ? PyObject_CallFunctionObjArgs(call, self, NULL) : NULL;
    Py_XDECREF(from);
    Py_XDECREF(call);
    return ret;
}

static PyObject *table_to_pandas(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return hand_over(self, "gpu_tracker._tables", "frame");
}

static PyObject *table_to_polars(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return hand_over(self, "polars", "DataFrame");
}

static PyObject *table_to_arrow(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return hand_over(self, "pyarrow", "table");
}

static PyObject *table_repr(PyObject *self)
{
    return hand_over(self, "gpu_tracker._tables", "text");
}

static PyObject *table_html(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return hand_over(self, "gpu_tracker._tables", "page");
}

static PyObject *table_stream(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"requested_schema", NULL};
    PyObject *requested = NULL; /* a hint, which a producer can ignore */
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:__arrow_c_stream__", names, &requested))
        return NULL;
    return arrow_stream(table_of(self));
}

static PyObject *table_schema(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return arrow_schema(table_of(self));
}

static PyMethodDef methods[] = {
    {"_bytes", table_bytes, METH_O,
     "_bytes($self, name, /)\n--\n\nReturn the type (\"f8\", \"i8\", \"i4\" for choices) and bytes of a column; None for texts."},
    {"_choices", table_choices, METH_O,
     "_choices($self, name, /)\n--\n\nReturn the texts to which the numbers of a column refer."},
    {"_missing", table_missing, METH_O,
     "_missing($self, name, /)\n--\n\nReturn a byte for each cell of a column, 1 if it is missing; None if no cell is missing."},
    {"_rows", table_rows, METH_VARARGS, "_rows($self, start, stop, /)\n--\n\nReturn rows as tuples."},
    {"_repr_html_", table_html, METH_NOARGS,
     "_repr_html_($self, /)\n--\n\nReturn the first and last rows for notebooks."},
    {"to_pandas", table_to_pandas, METH_NOARGS, "to_pandas($self, /)\n--\n\nReturn the table as a pandas.DataFrame."},
    {"to_polars", table_to_polars, METH_NOARGS, "to_polars($self, /)\n--\n\nReturn the table as a polars.DataFrame."},
    {"to_arrow", table_to_arrow, METH_NOARGS, "to_arrow($self, /)\n--\n\nReturn the table as a pyarrow.Table."},
    {"__arrow_c_stream__", (PyCFunction)(void (*)(void))table_stream, METH_VARARGS | METH_KEYWORDS,
     "__arrow_c_stream__($self, requested_schema=None)\n--\n\nReturn the table for Arrow libraries, without a copy."},
    {"__arrow_c_schema__", table_schema, METH_NOARGS, "__arrow_c_schema__($self, /)\n--\n\nReturn the Arrow schema."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"column_names", table_names, NULL, "The names of the columns, in order.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static const char documentation[] =
    "Table(columns, /)\n--\n\n"
    "A table with columns of equal length: numbers, integers, texts or times. Missing values are None.\n"
    "\n"
    "`table[name]` returns a column as a list, `len(table)` the number of rows. pyarrow.table(table),\n"
    "polars.DataFrame(table) and duckdb read it without a copy (Arrow PyCapsule interface).\n"
    "`to_pandas`, `to_polars` and `to_arrow` convert it. print shows its first and last rows.\n"
    "\n"
    "Args:\n"
    "    columns: Dict of names and lists.\n";

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)documentation},
    {Py_tp_new, (void *)table_new},
    {Py_tp_dealloc, (void *)table_free},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_mp_length, (void *)table_length},
    {Py_mp_subscript, (void *)table_get},
    {Py_tp_repr, (void *)table_repr},
    {0, NULL},
};

PyType_Spec core_table_spec = {
    .name = "gpu_tracker.Table",
    .basicsize = sizeof(struct core_holder),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
