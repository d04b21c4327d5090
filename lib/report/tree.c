/* JSON and pickle have the same shape: a tree of objects, lists and values, passed on piece by piece. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "report/format.h"

struct piece {
    enum {
        GT_TREE_OBJECT,
        GT_TREE_OBJECT_END,
        GT_TREE_LIST,
        GT_TREE_LIST_END,
        GT_TREE_KEY,
        GT_TREE_NUMBER,
        GT_TREE_INTEGER,
        GT_TREE_TEXT,
        GT_TREE_BOOL
    } kind;
    union {
        const char *text; /* also of KEY; NULL: missing */
        double number;    /* NaN: missing */
        int64_t integer;
        bool boolean;
    };
};

static const unsigned HIDDEN = GT_ONLY_PEOPLE;

struct walk {
    void (*take)(void *context, struct piece piece);
    void *context;
    struct gt_buffer text; /* of a cell */
};

static void tell(const struct walk *walk, int kind)
{
    walk->take(walk->context, (struct piece){.kind = kind});
}

/* Passes on a piece with a value: TELL(walk, KEY, .text = "name"). */
#define TELL(walk, which, value) (walk)->take((walk)->context, (struct piece){.kind = GT_TREE_##which, value})

static void walk_node(struct walk *walk, const struct gt_node *node);

static void walk_cell(struct walk *walk, const struct gt_table *table, size_t row, size_t column)
{
    enum gt_cell_kind kind = table->column[column].kind;
    if (kind == GT_CELL_TEXT)
        TELL(walk, TEXT, .text = gt_table_cell_text(table, row, column, &walk->text));
    else if (kind == GT_CELL_INTEGER && !gt_table_is_missing(table, row, column))
        TELL(walk, INTEGER, .integer = gt_table_cell_integer(table, row, column));
    else
        TELL(walk, NUMBER, .number = gt_table_cell_number(table, row, column));
}

static void walk_row(struct walk *walk, const struct gt_table *table, size_t row, size_t first_column)
{
    tell(walk, GT_TREE_OBJECT);
    for (size_t column = first_column; column < table->columns; column++) {
        if (!gt_table_has_column_for(table, column, GT_ONLY_DATA))
            continue;
        TELL(walk, KEY, .text = table->column[column].key);
        walk_cell(walk, table, row, column);
    }
    tell(walk, GT_TREE_OBJECT_END);
}

static void walk_keyed_table(struct walk *walk, const struct gt_table *table)
{
    tell(walk, GT_TREE_OBJECT);
    for (size_t row = 0; row < gt_table_rows(table); row++) {
        const char *key = gt_table_cell_text(table, row, 0, &walk->text);
        TELL(walk, KEY, .text = key ? key : "");
        walk_row(walk, table, row, 1);
    }
    tell(walk, GT_TREE_OBJECT_END);
}

static void walk_table(struct walk *walk, const struct gt_table *table)
{
    if (table->flags & GT_KEYED) {
        walk_keyed_table(walk, table);
        return;
    }
    tell(walk, GT_TREE_LIST);
    for (size_t row = 0; row < gt_table_rows(table); row++)
        walk_row(walk, table, row, 0);
    tell(walk, GT_TREE_LIST_END);
}

static void walk_points(struct walk *walk, const struct gt_node *series, size_t line)
{
    const struct gt_series_line *of = &series->series.line[line];
    tell(walk, GT_TREE_LIST);
    for (size_t i = 0; i < of->points; i++) {
        tell(walk, GT_TREE_LIST);
        TELL(walk, NUMBER, .number = of->point[i].x);
        TELL(walk, NUMBER, .number = of->point[i].y);
        tell(walk, GT_TREE_LIST_END);
    }
    tell(walk, GT_TREE_LIST_END);
}

static void walk_bands(struct walk *walk, const struct gt_node *series)
{
    tell(walk, GT_TREE_LIST);
    for (size_t i = 0; i < series->series.bands; i++) {
        const struct gt_band *band = &series->series.band[i];
        tell(walk, GT_TREE_OBJECT);
        TELL(walk, KEY, .text = "name");
        TELL(walk, TEXT, .text = band->title);
        TELL(walk, KEY, .text = "start");
        TELL(walk, NUMBER, .number = band->from);
        TELL(walk, KEY, .text = "stop");
        TELL(walk, NUMBER, .number = band->to);
        tell(walk, GT_TREE_OBJECT_END);
    }
    tell(walk, GT_TREE_LIST_END);
}

static void walk_series(struct walk *walk, const struct gt_node *series)
{
    tell(walk, GT_TREE_OBJECT);
    TELL(walk, KEY, .text = "x_unit");
    TELL(walk, TEXT, .text = series->series.x_unit);
    TELL(walk, KEY, .text = "unit");
    TELL(walk, TEXT, .text = series->unit);
    TELL(walk, KEY, .text = "lines");
    tell(walk, GT_TREE_OBJECT);
    for (size_t line = 0; line < series->series.lines; line++) {
        TELL(walk, KEY, .text = series->series.line[line].key);
        walk_points(walk, series, line);
    }
    tell(walk, GT_TREE_OBJECT_END);
    TELL(walk, KEY, .text = "bands");
    walk_bands(walk, series);
    tell(walk, GT_TREE_OBJECT_END);
}

static void walk_section(struct walk *walk, const struct gt_node *section)
{
    bool is_list = gt_node_flag_bits(section) & GT_LIST;
    tell(walk, is_list ? GT_TREE_LIST : GT_TREE_OBJECT);
    for (const struct gt_node *node = gt_node_visible(section->first, HIDDEN); node;
         node = gt_node_visible(node->next, HIDDEN)) {
        if (!is_list)
            TELL(walk, KEY, .text = node->key);
        walk_node(walk, node);
    }
    tell(walk, is_list ? GT_TREE_LIST_END : GT_TREE_OBJECT_END);
}

static void walk_node(struct walk *walk, const struct gt_node *node)
{
    switch (node->kind) {
    case GT_NODE_SECTION: walk_section(walk, node); break;
    case GT_NODE_TABLE: walk_table(walk, gt_node_table(node)); break;
    case GT_NODE_SERIES: walk_series(walk, node); break;
    case GT_NODE_NUMBER: TELL(walk, NUMBER, .number = gt_node_number(node)); break;
    case GT_NODE_INTEGER: TELL(walk, INTEGER, .integer = node->integer); break;
    case GT_NODE_TEXT: TELL(walk, TEXT, .text = gt_node_text(node)); break;
    case GT_NODE_BOOL: TELL(walk, BOOL, .boolean = node->boolean); break;
    }
}

/* Passes on the value of `node`, without its key and without parts that only people see. Returns 0 or -ENOMEM. */
static int walk_tree(const struct gt_node *node, void (*take)(void *context, struct piece piece), void *context)
{
    struct walk walk = {.take = take, .context = context};
    walk_node(&walk, node);
    int status = walk.text.failed;
    gt_buffer_release(&walk.text);
    return status;
}

/* ---- JSON as Python's json.dumps(value, indent=1) writes it, at full precision. Missing values are null. ---- */

static void put_json(void *json, struct piece piece)
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
    int status = walk_tree(&report->root, put_json, &json);
    gt_buffer_char(out, '\n');
    return status < 0 ? gt_error_system(error, -status, "json") : 0;
}

const struct gt_format gt_format_json = {
    .name = "json",
    .help = "For programs: nested keys, full precision, every figure's provenance",
    .suffix = ".json",
    .write = write_json,
};

/* ---- Python's pickle, protocol 2 ----
 *
 * The opcodes are described in CPython's Lib/pickletools.py. A tracking report becomes the dataclasses of
 * gpu_tracker.tracker, written as Python itself pickles them: class, NEWOBJ, state, BUILD. It has the original's fields
 * alone. Any other report becomes a call of gpu_tracker._results.from_tree(type, tree) with the tree of the JSON format.
 * Missing numbers are NaN. Joined reports become a list. */

enum opcode {
    MARK = '(',
    EMPTY_TUPLE = ')',
    STOP = '.',
    BINFLOAT = 'G',
    BININT = 'J',
    NONE = 'N',
    REDUCE = 'R',
    BINUNICODE = 'X',
    EMPTY_LIST = ']',
    APPENDS = 'e',
    BUILD = 'b',
    GLOBAL = 'c',
    SETITEMS = 'u',
    EMPTY_DICT = '}',
    PROTO = 0x80,
    NEWOBJ = 0x81,
    TUPLE2 = 0x86,
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    LONG1 = 0x8a,
};

static void put(struct gt_buffer *out, enum opcode opcode)
{
    gt_buffer_char(out, (char)opcode);
}

static void put_little_endian(struct gt_buffer *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        gt_buffer_char(out, (char)(value >> (8 * i)));
}

static void put_text(struct gt_buffer *out, const char *value)
{
    if (!value) {
        put(out, NONE);
        return;
    }
    struct gt_buffer text = {0};
    put(out, BINUNICODE);
    if (gt_utf8_valid(&text, value) < 0)
        out->failed = text.failed;
    put_little_endian(out, text.length, 4);
    gt_buffer_append(out, text.data, text.length);
    gt_buffer_release(&text);
}

static void put_number(struct gt_buffer *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(out, BINFLOAT);
    for (int shift = 56; shift >= 0; shift -= 8)
        gt_buffer_char(out, (char)(bits >> shift));
}

static void put_integer(struct gt_buffer *out, int64_t value)
{
    if (value >= INT32_MIN && value <= INT32_MAX) {
        put(out, BININT);
        put_little_endian(out, (uint64_t)value, 4);
        return;
    }
    put(out, LONG1);
    gt_buffer_char(out, 8);
    put_little_endian(out, (uint64_t)value, 8);
}

static void begin(struct gt_buffer *out, enum opcode empty)
{
    put(out, empty);
    put(out, MARK);
}

static void put_piece(void *out, struct piece piece)
{
    switch (piece.kind) {
    case GT_TREE_OBJECT: begin(out, EMPTY_DICT); break;
    case GT_TREE_OBJECT_END: put(out, SETITEMS); break;
    case GT_TREE_LIST: begin(out, EMPTY_LIST); break;
    case GT_TREE_LIST_END: put(out, APPENDS); break;
    case GT_TREE_KEY:
    case GT_TREE_TEXT: put_text(out, piece.text); break;
    case GT_TREE_NUMBER: put_number(out, piece.number); break;
    case GT_TREE_INTEGER: put_integer(out, piece.integer); break;
    case GT_TREE_BOOL: put(out, piece.boolean ? NEWTRUE : NEWFALSE); break;
    }
}

static void put_tree(struct gt_buffer *out, const struct gt_node *node)
{
    int status = walk_tree(node, put_piece, out);
    out->failed = out->failed ? out->failed : status;
}

/* The class of the section `key` in a class. */
static const struct {
    const char *owner, *key, *name;
} members[] = {
    {"ResourceUsage", "max_ram", "MaxRAM"},
    {"ResourceUsage", "max_gpu_ram", "MaxGPURAM"},
    {"ResourceUsage", "cpu_utilization", "CPUUtilization"},
    {"ResourceUsage", "gpu_utilization", "GPUUtilization"},
    {"ResourceUsage", "compute_time", "ComputeTime"},
    {"MaxRAM", "main", "RSSValues"},
    {"MaxRAM", "descendants", "RSSValues"},
    {"MaxRAM", "combined", "RSSValues"},
    {"CPUUtilization", "system", "ProcessingUnitPercentages"},
    {"CPUUtilization", "main", "ProcessingUnitPercentages"},
    {"CPUUtilization", "descendants", "ProcessingUnitPercentages"},
    {"CPUUtilization", "combined", "ProcessingUnitPercentages"},
    {"GPUUtilization", "gpu_percentages", "ProcessingUnitPercentages"},
};

static const char *class_of(const char *owner, const char *key)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!strcmp(members[i].owner, owner) && !strcmp(members[i].key, key))
            return members[i].name;
    return NULL;
}

static void put_global(struct gt_buffer *out, const char *module, const char *name)
{
    put(out, GLOBAL);
    gt_buffer_printf(out, "%s\n%s\n", module, name);
}

/* An instance with the section's fields and those of its sections that are members of the class. */
static void put_instance(struct gt_buffer *out, const char *class, const struct gt_node *section)
{
    put_global(out, "gpu_tracker.tracker", class);
    put(out, EMPTY_TUPLE);
    put(out, NEWOBJ);
    begin(out, EMPTY_DICT);
    for (const struct gt_node *node = section->first; node; node = node->next) {
        const char *member = class_of(class, node->key);
        if (!member && !gt_node_is_field(node))
            continue;
        put_text(out, node->key);
        if (member)
            put_instance(out, member, node);
        else
            put_tree(out, node);
    }
    put(out, SETITEMS);
    put(out, BUILD);
}

static void put_result(struct gt_buffer *out, const char *type, const struct gt_node *top)
{
    if (!strcmp(type, "resource_usage")) {
        put_instance(out, "ResourceUsage", top);
        return;
    }
    put_global(out, "gpu_tracker._results", "from_tree");
    put_text(out, type);
    put_tree(out, top);
    put(out, TUPLE2);
    put(out, REDUCE);
}

static int write_pickle(const struct gt_report *report, struct gt_buffer *out, struct gt_error *error)
{
    (void)error;
    const struct gt_node *root = &report->root;
    bool is_list = gt_node_flag_bits(root) & GT_LIST;
    put(out, PROTO);
    gt_buffer_char(out, 2);
    if (is_list)
        begin(out, EMPTY_LIST);
    for (const struct gt_node *part = is_list ? root->first : root; part; part = is_list ? part->next : NULL)
        put_result(out, report->type, part);
    if (is_list)
        put(out, APPENDS);
    put(out, STOP);
    return 0;
}

const struct gt_format gt_format_pickle = {
    .name = "pickle",
    .help = "For Python: the classes of the gpu_tracker package",
    .suffix = ".pkl",
    .write = write_pickle,
};
