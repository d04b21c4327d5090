/* Table: columns of numbers, integers, texts or times, of the library or made from Python values. */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct table_object {
    PyObject_HEAD struct gt_table *table;
};

static struct gt_table *table_of(PyObject *self)
{
    return ((struct table_object *)self)->table;
}

static PyObject *allocate(PyTypeObject *type, struct gt_table *table)
{
    allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *self = table ? make(type, 0) : NULL;
    if (self)
        ((struct table_object *)self)->table = table;
    else
        gt_table_free(table);
    return self;
}

struct gt_table *core_table_of(PyObject *module, PyObject *object)
{
    PyObject *type = PyObject_GetAttrString(module, "Table");
    int is_table = type ? PyObject_IsInstance(object, type) : -1;
    Py_XDECREF(type);
    if (is_table == 0)
        PyErr_SetString(PyExc_TypeError, "a gpu_tracker.Table is wanted");
    return is_table == 1 ? table_of(object) : NULL;
}

PyObject *core_table_object(PyObject *module, struct gt_table *table)
{
    PyObject *type = PyObject_GetAttrString(module, "Table");
    PyObject *self = type ? allocate((PyTypeObject *)type, table) : NULL;
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
    if (keywords && PyDict_Size(keywords)) {
        PyErr_SetString(PyExc_TypeError, "Table takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "O!:Table", &PyDict_Type, &columns))
        return NULL;
    return allocate(type, core_table_of_dict(columns));
}

static void table_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    gt_table_free(table_of(self));
    release(self);
    Py_DECREF(type);
}

static Py_ssize_t table_length(PyObject *self)
{
    return (Py_ssize_t)gt_table_rows(table_of(self));
}

static PyObject *table_names(PyObject *self, void *unused)
{
    (void)unused;
    const struct gt_table *table = table_of(self);
    PyObject *names = PyList_New(0);
    for (size_t i = 0; names && i < table->columns; i++) {
        PyObject *name = PyUnicode_FromString(table->column[i].key);
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

/* The bytes of a column of numbers or of a dictionary's, for numpy.frombuffer. */
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

/* The dictionary of a column of texts. */
static PyObject *table_choices(PyObject *self, PyObject *name)
{
    const struct gt_table_column *column = find_column(table_of(self), name);
    size_t texts = column && column->kind == GT_CELL_TEXT ? column->texts : 0;
    PyObject *list = column ? PyList_New(0) : NULL;
    for (size_t i = 0; list && i < texts; i++) {
        PyObject *text = decode(column->text + column->begin[i], (size_t)(column->begin[i + 1] - column->begin[i]));
        if (!text || PyList_Append(list, text) < 0)
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
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
