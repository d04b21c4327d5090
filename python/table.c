/* Functions of tables: columns as bytes and texts, and Arrow capsules. */
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "core.h"

/* ---- tables from columns ---- */

static int add_texts(struct gt_table *table, size_t column, bool is_dictionary, PyObject *texts)
{
    for (Py_ssize_t i = 0; i < PyList_Size(texts); i++) {
        PyObject *value = PyList_GetItem(texts, i);
        Py_ssize_t length = 0;
        const char *text = value == Py_None ? "" : PyUnicode_AsUTF8AndSize(value, &length);
        if (!text)
            return -1;
        gt_table_seek(table, column);
        if (is_dictionary)
            gt_table_dictionary_text(table, column, text, (size_t)length);
        else if (value == Py_None)
            gt_table_missing(table);
        else
            gt_table_text_of(table, text, (size_t)length);
    }
    return 0;
}

/* Adds the cells of a column of numbers of 8 bytes, or of 4 bytes that choose texts. */
static void add_numbers(struct gt_table *table, size_t column, const char *data, Py_ssize_t length, const char *missing)
{
    enum gt_cell_kind kind = table->column[column].kind;
    size_t size = kind == GT_CELL_TEXT ? sizeof(int32_t) : sizeof(int64_t), rows = (size_t)length / size;
    for (size_t i = 0; i < rows; i++) {
        gt_table_seek(table, column);
        if (missing && missing[i])
            gt_table_missing(table);
        else if (kind == GT_CELL_NUMBER)
            gt_table_number(table, ((const double *)(const void *)data)[i]);
        else if (kind == GT_CELL_INTEGER)
            gt_table_integer(table, ((const int64_t *)(const void *)data)[i]);
        else
            gt_table_chosen(table, ((const int32_t *)(const void *)data)[i]);
    }
}

static const char *const kinds[] = {[GT_CELL_NUMBER] = "f8",
                                    [GT_CELL_INTEGER] = "i8",
                                    [GT_CELL_TEXT] = "i4",
                                    [GT_CELL_PLAIN_TEXT] = "text",
                                    [GT_CELL_TIME] = "time"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Adds a column (name, kind, bytes, bytes of missing cells or None, texts). */
static int add_column(struct gt_table *table, size_t column, PyObject *parts, bool has_cells)
{
    const char *name, *kind, *data, *missing;
    Py_ssize_t length, missing_length;
    PyObject *texts;
    if (!PyArg_ParseTuple(parts, "ssy#z#O!:column", &name, &kind, &data, &length, &missing, &missing_length,
                          &PyList_Type, &texts))
        return -1;
    if (!has_cells) {
        int number = 0;
        while (number < KINDS - 1 && strcmp(kind, kinds[number]) != 0)
            number++;
        gt_table_column(table, name, name, (enum gt_cell_kind)number, NULL);
        return 0;
    }
    if (add_texts(table, column, table->column[column].kind == GT_CELL_TEXT, texts) < 0)
        return -1;
    add_numbers(table, column, data, length, missing);
    return 0;
}

static PyObject *table_new(struct core_call *call)
{
    struct gt_table *table = gt_table_new();
    PyObject *list = call->object[0];
    PyObject *handle = table ? core_handle_object(CORE_TABLE, table) : PyErr_NoMemory();
    for (int has_cells = 0; handle && has_cells < 2; has_cells++)
        for (Py_ssize_t i = 0; handle && i < PyList_Size(list); i++)
            if (add_column(table, (size_t)i, PyList_GetItem(list, i), has_cells) < 0)
                Py_CLEAR(handle);
    if (handle && table->failed) {
        struct gt_error error = {.text = "a column of a table refers to texts that it does not have"};
        int status = table->failed;
        Py_CLEAR(handle);
        core_raise(status, &error);
    }
    return handle;
}

/* ---- columns of tables ---- */

static PyObject *names(struct core_call *call)
{
    const struct gt_table *table = call->handle[0];
    PyObject *names = PyList_New(0);
    for (size_t i = 0; names && i < table->columns; i++)
        core_append(&names, PyUnicode_FromString(table->column[i].key));
    return names;
}

static PyObject *rows(struct core_call *call)
{
    return PyLong_FromSize_t(gt_table_rows(call->handle[0]));
}

static PyObject *decode(const char *text, size_t length)
{
    return text ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "replace") : Py_NewRef(Py_None);
}

static PyObject *texts_of(const struct gt_table *table, size_t column, size_t from, size_t count)
{
    const struct gt_table_column *of = &table->column[column];
    PyObject *list = PyList_New(0);
    if (of->kind == GT_CELL_TEXT)
        for (size_t i = 0; list && i < of->texts; i++)
            core_append(&list, decode(of->text + of->begin[i], (size_t)(of->begin[i + 1] - of->begin[i])));
    else if (of->kind == GT_CELL_PLAIN_TEXT)
        for (size_t i = from; list && i < from + count; i++) {
            size_t length = 0;
            const char *text = gt_table_cell_bytes(table, i, column, &length);
            core_append(&list, decode(text, length));
        }
    return list;
}

/* Returns a byte for each cell, 1 if it is missing; None if no cell is missing. */
static PyObject *missing_of(const struct gt_table *table, size_t column, size_t from, size_t count)
{
    if (!table->column[column].missing)
        return Py_NewRef(Py_None);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)count);
    for (size_t i = 0; bytes && i < count; i++)
        PyBytes_AsString(bytes)[i] = gt_table_is_missing(table, from + i, column);
    return bytes;
}

static PyObject *column(struct core_call *call)
{
    const struct gt_table *table = call->handle[0];
    size_t column = (size_t)call->integer[1], from = (size_t)call->integer[2], count = (size_t)call->integer[3];
    const struct gt_table_column *of = &table->column[column];
    size_t size = of->kind == GT_CELL_TEXT ? sizeof(int32_t) : of->kind == GT_CELL_PLAIN_TEXT ? 0 : sizeof(int64_t);
    const char *data = size && count ? (const char *)of->cell + from * size : "";
    return Py_BuildValue("(sy#NN)", kinds[of->kind], data, (Py_ssize_t)(count * size),
                         missing_of(table, column, from, count), texts_of(table, column, from, count));
}

/* ---- Arrow C streams and schemas in capsules, after the Arrow PyCapsule interface ---- */

static void free_stream(PyObject *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream->release)
        stream->release(stream);
    free(stream);
}

static void free_schema(PyObject *capsule)
{
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema->release)
        schema->release(schema);
    free(schema);
}

/* The capsule is made first, so that it owns what the library makes. */
static PyObject *arrow_stream(struct core_call *call)
{
    struct ArrowArrayStream *stream = calloc(1, sizeof *stream);
    PyObject *capsule = stream ? PyCapsule_New(stream, "arrow_array_stream", free_stream) : PyErr_NoMemory();
    if (!capsule)
        free(stream);
    else if (gt_table_arrow_stream(call->handle[0], stream) < 0) {
        Py_CLEAR(capsule);
        PyErr_NoMemory();
    }
    return capsule;
}

static PyObject *arrow_schema(struct core_call *call)
{
    struct ArrowSchema *schema = calloc(1, sizeof *schema);
    PyObject *capsule = schema ? PyCapsule_New(schema, "arrow_schema", free_schema) : PyErr_NoMemory();
    if (!capsule)
        free(schema);
    else if (gt_table_arrow_schema(call->handle[0], schema) < 0) {
        Py_CLEAR(capsule);
        PyErr_NoMemory();
    }
    return capsule;
}

const struct core_function core_table_functions[] = {
    {"table_new", "o", NULL, table_new,
     "table_new(columns, /)\n--\n\nMake a table of (name, kind, bytes, missing, texts), with the kinds of `table_column` except "
     "\"time\"."},
    {"table_names", "1", NULL, names, "table_names(table, /)\n--\n\nReturn the names of the columns."},
    {"table_rows", "1", NULL, rows, "table_rows(table, /)\n--\n\nReturn the number of rows."},
    {"table_column", "1iii", NULL, column,
     "table_column(table, column, start, count, /)\n--\n\nReturn rows of a column as (kind, bytes, missing, texts).\n\n"
     "The kind is \"f8\" or \"i8\" for numbers, \"time\" for nanoseconds since the epoch, \"i4\" for numbers of texts, and "
     "\"text\" for texts without bytes. `missing` has 1 for each missing cell, or is None."},
    {"table_stream", "1", NULL, arrow_stream,
     "table_stream(table, /)\n--\n\nReturn the table for Arrow libraries, without a copy."},
    {"table_schema", "1", NULL, arrow_schema, "table_schema(table, /)\n--\n\nReturn the Arrow schema."},
    {NULL, NULL, NULL, NULL, NULL},
};
