/* JSON as Python's json.dumps(value, indent=1) writes it, at full precision. Missing values are null. */
#include "base/json.h"
#include "report/format.h"
#include "report/tree.h"

static void put(void *json, struct gt_tree_piece piece)
{
    switch (piece.kind) {
    case GT_TREE_OBJECT: gt_json_object_begin(json); break;
    case GT_TREE_OBJECT_END: gt_json_object_end(json); break;
    case GT_TREE_LIST: gt_json_array_begin(json); break;
    case GT_TREE_LIST_END: gt_json_array_end(json); break;
    case GT_TREE_KEY: gt_json_key(json, piece.text); break;
    case GT_TREE_NUMBER: gt_json_double(json, piece.number); break;
    case GT_TREE_INTEGER: gt_json_integer(json, piece.integer); break;
    case GT_TREE_TEXT: gt_json_text(json, piece.text); break;
    case GT_TREE_BOOL: gt_json_bool(json, piece.boolean); break;
    }
}

static int write_json(const struct gt_report *report, struct gt_buffer *out, struct gt_error *error)
{
    struct gt_json json;
    gt_json_init(&json, out, 1);
    int status = gt_tree_walk(&report->root, put, &json);
    gt_buffer_char(out, '\n');
    return status < 0 ? gt_error_system(error, -status, "json") : 0;
}

const struct gt_format gt_format_json = {
    .name = "json",
    .help = "For programs: nested keys, full precision, every figure's provenance",
    .suffix = ".json",
    .write = write_json,
};
