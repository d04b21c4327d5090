#include "report/node.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

struct gt_report {
    char *type;
    enum gt_layout layout;
    size_t width;
    bool failed;
    struct gt_node root;
};

int gt_report_new(struct gt_report **ret, const char *type, struct gt_error *error)
{
    struct gt_report *report = calloc(1, sizeof *report);
    if (report)
        report->type = strdup(type);
    if (!report || !report->type) {
        free(report);
        return gt_error_system(error, ENOMEM, "report %s", type);
    }
    report->root.kind = GT_NODE_SECTION;
    report->root.report = report;
    *ret = report;
    return 0;
}

static void release_node(struct gt_node *node)
{
    for (struct gt_node *child = node->first, *next; child; child = next) {
        next = child->next;
        release_node(child);
        free(child);
    }
    if (node->kind == GT_NODE_TEXT)
        free(node->text);
    if (node->kind == GT_NODE_TABLE)
        gt_table_release(&node->table);
    if (node->kind == GT_NODE_SERIES)
        gt_series_release(&node->series);
    free(node->key);
    free(node->title);
    free(node->unit);
}

void gt_report_free(struct gt_report *report)
{
    if (!report)
        return;
    release_node(&report->root);
    free(report->type);
    free(report);
}

const char *gt_report_type(const struct gt_report *report)
{
    return report->type;
}

void gt_report_layout(struct gt_report *report, enum gt_layout layout)
{
    report->layout = layout;
}

void gt_report_width(struct gt_report *report, size_t columns)
{
    report->width = columns;
}

size_t gt_report_width_of(const struct gt_report *report)
{
    return report->width;
}

enum gt_layout gt_report_layout_of(const struct gt_report *report)
{
    return report->layout;
}

struct gt_node *gt_report_root(struct gt_report *report)
{
    return &report->root;
}

const struct gt_node *gt_report_top(const struct gt_report *report)
{
    return &report->root;
}

bool gt_report_failed(const struct gt_report *report)
{
    return report->failed;
}

int gt_node_fail(struct gt_node *node)
{
    if (node)
        node->report->failed = true;
    return -ENOMEM;
}

void *gt_node_grow(void *array, size_t count, size_t *capacity, size_t size)
{
    return gt_grow_to(&array, capacity, count + 1, size) < 0 ? NULL : array;
}

struct gt_node *gt_node_add(struct gt_node *parent, enum gt_node_kind kind, const char *key, const char *title,
                            const char *unit)
{
    if (!parent)
        return NULL;
    struct gt_node *node = calloc(1, sizeof *node);
    if (node) {
        node->report = parent->report;
        node->kind = kind;
        node->key = strdup(key);
        node->title = strdup(title);
        node->unit = strdup(unit ? unit : "");
    }
    if (!node || !node->key || !node->title || !node->unit) {
        gt_node_fail(parent);
        if (node)
            release_node(node);
        free(node);
        return NULL;
    }
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    return node;
}

struct gt_node *gt_report_section(struct gt_node *parent, const char *key, const char *title)
{
    return gt_node_add(parent, GT_NODE_SECTION, key, title, NULL);
}

struct gt_node *gt_report_number(struct gt_node *parent, const char *key, const char *title, double value,
                                 const char *unit)
{
    struct gt_node *node = gt_node_add(parent, GT_NODE_NUMBER, key, title, unit);
    if (node)
        node->number = value;
    return node;
}

struct gt_node *gt_report_integer(struct gt_node *parent, const char *key, const char *title, int64_t value,
                                  const char *unit)
{
    struct gt_node *node = gt_node_add(parent, GT_NODE_INTEGER, key, title, unit);
    if (node)
        node->integer = value;
    return node;
}

struct gt_node *gt_report_count(struct gt_node *parent, const char *key, const char *title, double value,
                                const char *unit)
{
    if (!(fabs(value) < 0x1p63))
        return gt_report_number(parent, key, title, value, unit);
    return gt_report_integer(parent, key, title, llround(value), unit);
}

struct gt_node *gt_report_text(struct gt_node *parent, const char *key, const char *title, const char *value)
{
    struct gt_node *node = gt_node_add(parent, GT_NODE_TEXT, key, title, NULL);
    if (node && value && !(node->text = strdup(value)))
        gt_node_fail(node);
    return node;
}

struct gt_node *gt_report_bool(struct gt_node *parent, const char *key, const char *title, bool value)
{
    struct gt_node *node = gt_node_add(parent, GT_NODE_BOOL, key, title, NULL);
    if (node)
        node->boolean = value;
    return node;
}

void gt_node_flags(struct gt_node *node, unsigned flags)
{
    if (node)
        node->flags = flags;
}

enum gt_node_kind gt_node_kind(const struct gt_node *node)
{
    return node->kind;
}

unsigned gt_node_flag_bits(const struct gt_node *node)
{
    return node->flags;
}

const char *gt_node_key(const struct gt_node *node)
{
    return node->key;
}

const char *gt_node_title(const struct gt_node *node)
{
    return node->title;
}

const char *gt_node_unit(const struct gt_node *node)
{
    return node->unit;
}

const struct gt_node *gt_node_child(const struct gt_node *node)
{
    return node->first;
}

const struct gt_node *gt_node_next(const struct gt_node *node)
{
    return node->next;
}

const struct gt_node *gt_node_visible(const struct gt_node *node, unsigned hidden)
{
    while (node && node->flags & hidden)
        node = node->next;
    return node;
}

bool gt_node_is_fact(const struct gt_node *node)
{
    return node->kind != GT_NODE_SECTION && node->kind != GT_NODE_TABLE && node->kind != GT_NODE_SERIES;
}

const struct gt_node *gt_node_find(const struct gt_node *node, const char *key)
{
    for (const struct gt_node *child = node ? node->first : NULL; child; child = child->next)
        if (!strcmp(child->key, key))
            return child;
    return NULL;
}

double gt_node_number(const struct gt_node *node)
{
    if (node->kind == GT_NODE_NUMBER)
        return node->number;
    return node->kind == GT_NODE_INTEGER ? (double)node->integer : NAN;
}

double gt_node_original(const struct gt_node *node)
{
    double number = gt_node_number(node);
    return isnan(number) && node->flags & GT_ORIGINAL_ZERO ? 0.0 : number;
}

int64_t gt_node_integer(const struct gt_node *node)
{
    return node->kind == GT_NODE_INTEGER ? node->integer : 0;
}

bool gt_node_bool(const struct gt_node *node)
{
    return node->kind == GT_NODE_BOOL && node->boolean;
}

const char *gt_node_text(const struct gt_node *node)
{
    return node->kind == GT_NODE_TEXT ? node->text : NULL;
}
