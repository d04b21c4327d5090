/* Arrow C streams and schemas in capsules, after the Arrow PyCapsule interface. */
#include "base/arrow.h"

#include <stdlib.h>

#include "table.h"

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

PyObject *core_arrow_stream(struct gt_table *table)
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

PyObject *core_arrow_schema(const struct gt_table *table)
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
