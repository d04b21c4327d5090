/* Python's pickle, protocol 2 (the opcodes are described in CPython's Lib/pickletools.py).
 *
 * A tracking report becomes the dataclasses of gpu_tracker.tracker, written as Python itself pickles them: class, NEWOBJ,
 * state, BUILD. It has the original's fields alone. Any other report becomes a call of
 * gpu_tracker._results.from_tree(type, tree), where the tree is that of the JSON format. Missing numbers are NaN. Joined reports
 * become a list. */
#include <string.h>

#include "base/utf8.h"
#include "report/format.h"
#include "report/tree.h"

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

static void begin_dict(struct gt_buffer *out)
{
    put(out, EMPTY_DICT);
    put(out, MARK);
}

static void end_dict(struct gt_buffer *out)
{
    put(out, SETITEMS);
}

static void begin_list(struct gt_buffer *out)
{
    put(out, EMPTY_LIST);
    put(out, MARK);
}

static void end_list(struct gt_buffer *out)
{
    put(out, APPENDS);
}

static void put_piece(void *out, struct gt_tree_piece piece)
{
    switch (piece.kind) {
    case GT_TREE_OBJECT: begin_dict(out); break;
    case GT_TREE_OBJECT_END: end_dict(out); break;
    case GT_TREE_LIST: begin_list(out); break;
    case GT_TREE_LIST_END: end_list(out); break;
    case GT_TREE_KEY:
    case GT_TREE_TEXT: put_text(out, piece.text); break;
    case GT_TREE_NUMBER: put_number(out, piece.number); break;
    case GT_TREE_INTEGER: put_integer(out, piece.integer); break;
    case GT_TREE_BOOL: put(out, piece.boolean ? NEWTRUE : NEWFALSE); break;
    }
}

static void put_tree(struct gt_buffer *out, const struct gt_node *node)
{
    int status = gt_tree_walk(node, put_piece, out);
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
    begin_dict(out);
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
    end_dict(out);
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
        begin_list(out);
    for (const struct gt_node *part = is_list ? root->first : root; part; part = is_list ? part->next : NULL)
        put_result(out, report->type, part);
    if (is_list)
        end_list(out);
    put(out, STOP);
    return 0;
}

const struct gt_format gt_format_pickle = {
    .name = "pickle",
    .help = "For Python: the classes of the gpu_tracker package",
    .suffix = ".pkl",
    .write = write_pickle,
};
