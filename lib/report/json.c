/* JSON as Python's json.dumps(value, indent=1) writes it, at full precision. Missing values are null. */
#include "base/json.h"
#include "report/format.h"
#include "report/tree.h"

static void object_begin(void *json)
{
    gt_json_object_begin(json);
}

static void object_end(void *json)
{
    gt_json_object_end(json);
}

static void list_begin(void *json)
{
    gt_json_array_begin(json);
}

static void list_end(void *json)
{
    gt_json_array_end(json);
}

static void key(void *json, const char *name)
{
    gt_json_key(json, name);
}

static void number(void *json, double value)
{
    gt_json_double(json, value);
}

static void integer(void *json, int64_t value)
{
    gt_json_integer(json, value);
}

static void text(void *json, const char *value)
{
    gt_json_text(json, value);
}

static void boolean(void *json, bool value)
{
    gt_json_bool(json, value);
}

static const struct gt_tree_sink sink = {
    .object_begin = object_begin,
    .object_end = object_end,
    .list_begin = list_begin,
    .list_end = list_end,
    .key = key,
    .number = number,
    .integer = integer,
    .text = text,
    .boolean = boolean,
};

static int write_json(const struct gt_report *report, struct gt_buffer *out, struct gt_error *error)
{
    struct gt_json json;
    gt_json_init(&json, out, 1);
    int status = gt_tree_walk(&report->root, &sink, &json);
    gt_buffer_char(out, '\n');
    return status < 0 ? gt_error_system(error, -status, "json") : 0;
}

const struct gt_format gt_format_json = {
    .name = "json",
    .help = "For programs: nested keys, full precision, every figure's provenance",
    .suffix = ".json",
    .write = write_json,
};
