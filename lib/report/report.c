#include "report/report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* ---- memory ---- */

/* All texts of a report, and what does not grow, are freed with it. */
struct gt_report_block {
    struct gt_report_block *next;
    max_align_t memory[];
};

void *gt_report_memory(struct gt_report *report, size_t size)
{
    struct gt_report_block *block = calloc(1, sizeof *block + size);
    if (!block) {
        report->failed = true;
        return NULL;
    }
    block->next = report->block;
    report->block = block;
    return block->memory;
}

const char *gt_report_keep(struct gt_report *report, const char *text)
{
    char *copy = text && *text ? gt_report_memory(report, strlen(text) + 1) : NULL;
    return copy ? strcpy(copy, text) : "";
}

const char *gt_report_keep_format(struct gt_report *report, const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0) {
        report->failed = true;
        return "";
    }
    const char *ret = gt_report_keep(report, text);
    free(text);
    return ret;
}

int gt_report_new(struct gt_report **ret, const char *type, struct gt_error *error)
{
    struct gt_report *report = calloc(1, sizeof *report);
    if (!report)
        return gt_error_system(error, ENOMEM, "report %s", type);
    report->root.kind = report->page.kind = GT_NODE_SECTION;
    report->root.report = report->page.report = report;
    report->type = gt_report_keep(report, type);
    *ret = report;
    return 0;
}

static void release_series(struct gt_series *series)
{
    for (size_t i = 0; i < series->lines; i++) {
        free(series->line[i].point);
        gt_course_release(series->line[i].course);
    }
    free(series->line);
    free(series->band);
}

static void release_node(struct gt_node *node)
{
    for (struct gt_node *child = node->first; child; child = child->next)
        release_node(child);
    if (node->kind == GT_NODE_TABLE)
        gt_table_free(node->table);
    if (node->kind == GT_NODE_SERIES)
        release_series(&node->series);
}

void gt_report_free(struct gt_report *report)
{
    if (!report)
        return;
    release_node(&report->root);
    release_node(&report->page);
    for (struct gt_report_block *block = report->block, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(report);
}

void gt_report_set_width(struct gt_report *report, size_t columns)
{
    report->width = columns;
}

void gt_report_set_style(struct gt_report *report, unsigned style)
{
    report->style = style;
}

void gt_report_set_page_size(struct gt_report *report, size_t bytes)
{
    report->page_size = bytes;
}

int gt_report_set_picture(struct gt_report *report, double centimetres, const char *font)
{
    report->picture_width = centimetres;
    report->picture_font = font ? gt_report_keep(report, font) : NULL;
    return report->failed ? -ENOMEM : 0;
}

static bool has_failed_table(const struct gt_node *node)
{
    if (node->kind == GT_NODE_TABLE && (!node->table || node->table->failed))
        return true;
    for (const struct gt_node *child = node->first; child; child = child->next)
        if (has_failed_table(child))
            return true;
    return false;
}

bool gt_report_failed(const struct gt_report *report)
{
    return report->failed || has_failed_table(&report->root);
}

static int fail(struct gt_node *node)
{
    if (node)
        node->report->failed = true;
    return -ENOMEM;
}

static struct gt_node *add_node(struct gt_node *parent, enum gt_node_kind kind, const char *key, const char *title,
                                const char *unit)
{
    struct gt_node *node = parent ? gt_report_memory(parent->report, sizeof *node) : NULL;
    if (!node)
        return NULL;
    node->report = parent->report;
    node->kind = kind;
    node->key = gt_report_keep(node->report, key);
    node->title = gt_report_keep(node->report, title);
    node->unit = gt_report_keep(node->report, unit);
    *(parent->last ? &parent->last->next : &parent->first) = node;
    parent->last = node;
    return node;
}

struct gt_node *gt_report_section(struct gt_node *parent, const char *key, const char *title)
{
    return add_node(parent, GT_NODE_SECTION, key, title, NULL);
}

struct gt_node *gt_report_number(struct gt_node *parent, const char *key, const char *title, double value,
                                 const char *unit)
{
    struct gt_node *node = add_node(parent, GT_NODE_NUMBER, key, title, unit);
    if (node)
        node->number = value;
    return node;
}

struct gt_node *gt_report_integer(struct gt_node *parent, const char *key, const char *title, int64_t value,
                                  const char *unit)
{
    struct gt_node *node = add_node(parent, GT_NODE_INTEGER, key, title, unit);
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
    struct gt_node *node = add_node(parent, GT_NODE_TEXT, key, title, NULL);
    if (node && value)
        node->text = gt_report_keep(node->report, value);
    return node;
}

void gt_report_tell_alone(struct gt_node *root, const char *sentence)
{
    struct gt_node **at = &root->first, *node;
    root->brief = NULL;
    for (root->last = NULL; (node = *at);) {
        if (node->kind == GT_NODE_TEXT) {
            *at = node->next;
            continue;
        }
        *(node->kind == GT_NODE_TABLE && node->table ? &node->table->flags : &node->flags) |= GT_ONLY_DATA;
        root->last = node;
        at = &node->next;
    }
    gt_report_text(root, "reason", "No result", sentence);
}

struct gt_node *gt_report_bool(struct gt_node *parent, const char *key, const char *title, bool value)
{
    struct gt_node *node = add_node(parent, GT_NODE_BOOL, key, title, NULL);
    if (node)
        node->boolean = value;
    return node;
}

struct gt_table *gt_report_table(struct gt_node *parent, const char *key, const char *title)
{
    struct gt_node *node = add_node(parent, GT_NODE_TABLE, key, title, NULL);
    return node ? node->table = gt_table_new() : NULL;
}

const char *gt_table_title(const struct gt_node *parent, const struct gt_table *table)
{
    for (const struct gt_node *child = parent->first; child; child = child->next)
        if (gt_node_table(child) == table)
            return child->title;
    return "";
}

void gt_table_flags(struct gt_table *table, unsigned flags)
{
    if (table)
        table->flags = flags;
}

void gt_table_column_flags(struct gt_table *table, unsigned flags)
{
    if (table && table->columns)
        table->column[table->columns - 1].flags = flags;
}

void gt_node_flags(struct gt_node *node, unsigned flags)
{
    if (node)
        node->flags = flags;
}

void gt_node_hide_missing(struct gt_node *section)
{
    bool is_seen = false;
    for (struct gt_node *child = section ? section->first : NULL; child; child = child->next) {
        bool is_missing = child->kind == GT_NODE_NUMBER ? !isfinite(child->number)
                                                        : child->kind == GT_NODE_TEXT && !child->text;
        if (child->kind == GT_NODE_SECTION)
            gt_node_hide_missing(child);
        child->flags |= is_missing ? GT_ONLY_DATA : 0;
        is_seen |= !(child->flags & GT_ONLY_DATA);
    }
    if (section && !is_seen)
        section->flags |= GT_ONLY_DATA;
}

void gt_node_display(struct gt_node *node, double factor, const char *unit)
{
    if (!node)
        return;
    node->display_factor = factor;
    node->display_unit = unit ? gt_report_keep(node->report, unit) : NULL;
}

void gt_node_measure(struct gt_node *node, const char *unit)
{
    if (node && unit)
        node->measure = gt_report_keep(node->report, unit);
}

const char *gt_node_measure_of(const struct gt_node *node)
{
    return node->measure ? node->measure : gt_node_display_unit(node);
}

unsigned gt_node_flag_bits(const struct gt_node *node)
{
    return node->kind == GT_NODE_TABLE && node->table ? node->table->flags : node->flags;
}

const struct gt_node *gt_node_visible(const struct gt_node *node, unsigned hidden)
{
    while (node && gt_node_flag_bits(node) & hidden)
        node = node->next;
    return node;
}

bool gt_node_is_field(const struct gt_node *node)
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

double gt_node_display_number(const struct gt_node *node)
{
    return gt_node_number(node) * (node->display_factor > 0 ? node->display_factor : 1);
}

const char *gt_node_display_unit(const struct gt_node *node)
{
    return node->display_unit ? node->display_unit : node->unit;
}

bool gt_node_is_absent(const struct gt_node *node)
{
    return node->flags & GT_NO_DEVICE && gt_node_number(node) == 0;
}

const char *gt_node_text(const struct gt_node *node)
{
    return node->kind == GT_NODE_TEXT ? node->text : NULL;
}

struct gt_table *gt_node_table(const struct gt_node *node)
{
    return node->kind == GT_NODE_TABLE ? node->table : NULL;
}

bool gt_table_has_column_for(const struct gt_table *table, size_t column, unsigned reader)
{
    unsigned others = reader == GT_ONLY_DATA ? GT_COLUMN_ONLY_PEOPLE : GT_COLUMN_ONLY_DATA;
    return !(table->column[column].flags & (others | GT_COLUMN_FACTOR | GT_COLUMN_NO_DEVICE | GT_COLUMN_UNIT));
}

/* The number of the row in the column with this flag, or `otherwise`. */
static double number_in(const struct gt_table *table, size_t row, unsigned flag, double otherwise)
{
    for (size_t i = 0; i < table->columns; i++)
        if (table->column[i].flags & flag)
            return gt_table_cell_number(table, row, i);
    return otherwise;
}

bool gt_table_cell_is_absent(const struct gt_table *table, size_t row, size_t column)
{
    return gt_table_cell_number(table, row, column) == 0 && number_in(table, row, GT_COLUMN_NO_DEVICE, 0) > 0;
}

double gt_table_cell_display(const struct gt_table *table, size_t row, size_t column)
{
    bool as_is = table->column[column].flags & GT_COLUMN_AS_IS;
    return gt_table_cell_number(table, row, column) * (as_is ? 1 : number_in(table, row, GT_COLUMN_FACTOR, 1));
}

const char *gt_table_cell_unit(const struct gt_table *table, size_t row, size_t column, struct gt_buffer *scratch)
{
    const struct gt_table_column *of = &table->column[column];
    if (*of->unit || of->flags & GT_COLUMN_AS_IS || of->kind != GT_CELL_NUMBER)
        return of->unit;
    for (size_t i = 0; i < table->columns; i++)
        if (table->column[i].flags & GT_COLUMN_UNIT) {
            const char *unit = gt_table_cell_text(table, row, i, scratch);
            return unit ? unit : "";
        }
    return "";
}

static void copy_cell(struct gt_table *ret, const struct gt_table *table, size_t row, size_t column)
{
    size_t length;
    if (gt_table_is_missing(table, row, column)) {
        gt_table_missing(ret);
        return;
    }
    switch (table->column[column].kind) {
    case GT_CELL_NUMBER: gt_table_number(ret, gt_table_cell_number(table, row, column)); return;
    case GT_CELL_INTEGER: gt_table_integer(ret, gt_table_cell_integer(table, row, column)); return;
    case GT_CELL_TIME: gt_table_time(ret, gt_table_cell_integer(table, row, column)); return;
    default: break;
    }
    const char *text = gt_table_cell_bytes(table, row, column, &length);
    gt_table_text_of(ret, text, length);
}

static bool is_for_people(const struct gt_table *table, size_t column)
{
    return table->column[column].flags & GT_COLUMN_ONLY_PEOPLE;
}

/* What people see of a figure has the name of the figure: it is no data. NULL without memory. */
static struct gt_table *data_of(struct gt_table *table)
{
    size_t people = 0;
    for (size_t i = 0; i < table->columns; i++)
        people += is_for_people(table, i);
    if (!people)
        return gt_table_keep(table);
    struct gt_table *ret = gt_table_new();
    for (size_t i = 0; i < table->columns; i++)
        if (!is_for_people(table, i))
            gt_table_column(ret, table->column[i].key, table->column[i].title, table->column[i].kind,
                            table->column[i].unit);
    for (size_t row = 0; row < gt_table_rows(table); row++)
        for (size_t i = 0; i < table->columns; i++)
            if (!is_for_people(table, i))
                copy_cell(ret, table, row, i);
    if (!ret || !ret->failed)
        return ret;
    gt_table_free(ret);
    return NULL;
}

int gt_report_table_data(const struct gt_report *report, size_t index, const char **key, struct gt_table **ret,
                         struct gt_error *error)
{
    const struct gt_node *node = report->root.first;
    for (; node; node = node->next)
        if (node->kind == GT_NODE_TABLE && !index--)
            break;
    if (!node)
        return -ENOENT;
    if (!node->table || node->table->failed)
        return gt_error_system(error, ENOMEM, "%s", node->key);
    *key = node->key;
    *ret = data_of(node->table);
    return *ret ? 0 : gt_error_system(error, ENOMEM, "%s", node->key);
}

/* ---- series ---- */

struct gt_node *gt_report_series(struct gt_node *parent, const char *key, const char *title, const char *x_unit,
                                 const char *unit, unsigned flags)
{
    struct gt_node *node = add_node(parent, GT_NODE_SERIES, key, title, unit);
    if (node) {
        node->series.x_unit = gt_report_keep(node->report, x_unit);
        node->flags = flags;
    }
    return node;
}

int gt_series_line(struct gt_node *node, const char *key, const char *title)
{
    struct gt_series *series = node ? &node->series : NULL;
    struct gt_series_line *line = series ? GT_GROW_BY_ONE(series->line, series->lines) : NULL;
    if (!line)
        return fail(node);
    *line = (struct gt_series_line){.key = gt_report_keep(node->report, key),
                                    .title = gt_report_keep(node->report, title)};
    return (int)series->lines++;
}

int gt_series_point(struct gt_node *node, int number, double x, double y)
{
    if (!node)
        return -ENOMEM;
    if (number < 0 || (size_t)number >= node->series.lines)
        return -EINVAL;
    struct gt_series_line *line = &node->series.line[number];
    if (GT_GROW_TO(line->point, line->capacity, line->points + 1) < 0)
        return fail(node);
    line->point[line->points++] = (struct gt_point){x, y};
    return 0;
}

void gt_series_course(struct gt_node *node, int number, struct gt_course *course, int of, double unit)
{
    if (!node || number < 0)
        return;
    struct gt_series_line *line = &node->series.line[number];
    line->course = gt_course_keep(course);
    line->course_line = (size_t)of;
    line->course_unit = unit;
}

int gt_series_band(struct gt_node *node, int lane, const char *title, double from, double to)
{
    struct gt_series *series = node ? &node->series : NULL;
    if (!series || GT_GROW_TO(series->band, series->band_capacity, series->bands + 1) < 0)
        return fail(node);
    series->band[series->bands++] = (struct gt_band){gt_report_keep(node->report, title), from, to, lane};
    return 0;
}

void gt_series_limit(struct gt_node *node, const char *title, double value)
{
    if (node && isfinite(value))
        node->series.limit = (struct gt_mark){gt_report_keep(node->report, title), value};
}

void gt_series_note(struct gt_node *node, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (node)
        node->series.note = gt_report_keep_format(node->report, format, arguments);
    va_end(arguments);
}

/* ---- joining ---- */

/* A node that memory was short for fails the report that it belongs to. */
static void give(struct gt_node *node, struct gt_report *report)
{
    node->report = report;
    for (struct gt_node *child = node->first; child; child = child->next)
        give(child, report);
}

static void move_children(struct gt_node *from, struct gt_node *to)
{
    if (!from->first)
        return;
    *(to->last ? &to->last->next : &to->first) = from->first;
    to->last = from->last;
    from->first = from->last = NULL;
    give(to, to->report);
}

/* Moves the memory of nodes; a report that is left without any keeps its type. */
static void move_memory(struct gt_report *from, struct gt_report *to)
{
    struct gt_report_block **last = &from->block;
    while (*last)
        last = &(*last)->next;
    *last = to->block;
    to->block = from->block;
    from->block = NULL;
    from->root.brief = from->page.brief = NULL;
    from->type = gt_report_keep(from, from->type);
    from->feed = from->picture_font = NULL;
}

int gt_report_join(struct gt_report **ret, struct gt_report *const reports[], const char *const names[], size_t count,
                   struct gt_error *error)
{
    struct gt_report *joined;
    if (!count)
        return gt_error_set(error, EINVAL, "no report to join");
    int status = gt_report_new(&joined, reports[0]->type, error);
    if (status < 0)
        return status;
    joined->layout = reports[0]->layout;
    joined->root.flags = GT_LIST;
    for (size_t i = 0; i < count; i++) {
        struct gt_node *part = gt_report_section(&joined->root, "report", names[i]);
        gt_node_flags(gt_report_text(part, "recording", "Recording", names[i]), GT_ONLY_DATA);
        if (gt_report_failed(reports[i]))
            fail(part);
        if (part) { /* which has the charts of what its page began with */
            part->brief = reports[i]->root.brief;
            move_children(&reports[i]->page, part);
            move_children(&reports[i]->root, part);
            move_memory(reports[i], joined);
        }
    }
    if (gt_report_failed(joined)) {
        gt_report_free(joined);
        return gt_error_system(error, ENOMEM, "reports");
    }
    *ret = joined;
    return 0;
}

/* ---- one table of a report, for formats that are one table ---- */

/* The table with this key; where `name` is NULL the one that stands for the report, or the first. `names` gets the keys of all. */
static const struct gt_node *find_table(const struct gt_node *root, const char *name, struct gt_buffer *names)
{
    const struct gt_node *found = NULL;
    gt_buffer_text(names, "");
    for (const struct gt_node *node = root->first; node; node = node->next) {
        if (node->kind != GT_NODE_TABLE)
            continue;
        gt_buffer_printf(names, "%s%s", names->length ? ", " : "", node->key);
        bool is_it = name ? strcmp(name, node->key) == 0 : gt_node_flag_bits(node) & GT_ALONE;
        if (is_it || (!found && !name))
            found = node;
    }
    return found;
}

static bool is_reason(const struct gt_node *node)
{
    return strncmp(node->key, "reason", strlen("reason")) == 0;
}

/* Why a table is empty is told in its place, and why all are with each of them. */
static bool belongs_to(const struct gt_node *root, const struct gt_node *node, const struct gt_node *table)
{
    bool is_of_table = false;
    if (!is_reason(node))
        return false;
    for (const struct gt_node *other = root->first; other; other = other->next)
        is_of_table |= other->kind == GT_NODE_TABLE && strcmp(node->title, other->title) == 0;
    return !is_of_table || strcmp(node->title, table->title) == 0;
}

static void tell(const struct gt_node *node, bool names_tables, bool names_reason, struct gt_buffer *rest)
{
    size_t rows = node->kind == GT_NODE_TABLE && names_tables ? gt_table_rows(gt_node_table(node)) : 0;
    if (node->kind == GT_NODE_TEXT && gt_node_text(node) && (!is_reason(node) || names_reason))
        gt_buffer_printf(rest, "%s%s: %s", rest->length ? "; " : "", node->title, gt_node_text(node));
    else if (rows)
        gt_buffer_printf(rest, "%s%zu %s more with --table %s", rest->length ? "; " : "", rows,
                         rows == 1 ? "row" : "rows", node->key);
}

static void hide(struct gt_node *node, unsigned from)
{
    if (node->kind == GT_NODE_TABLE)
        gt_table_flags(gt_node_table(node), gt_node_flag_bits(node) | from);
    else
        gt_node_flags(node, gt_node_flag_bits(node) | from);
}

const char *gt_report_doubt(const struct gt_report *report, int index, const char **words)
{
    static const char *const doubts[][2] = {
        {"doubtful", "may be missing"}, {"doubtful_b", "may be missing"}, {"damaged", "damaged"},
        {"damaged_b", "damaged"},       {"twice", "read twice"},          {"twice_b", "read twice"},
    };
    bool is_known = (size_t)index < sizeof doubts / sizeof *doubts;
    const struct gt_node *node = is_known ? gt_node_find(&report->root, doubts[index][0]) : NULL;
    *words = is_known ? doubts[index][1] : NULL;
    return node ? gt_node_text(node) : NULL;
}

const char *gt_report_reason(const struct gt_report *report)
{
    const struct gt_node *node = gt_node_find(&report->root, "reason");
    return node && node->kind == GT_NODE_TEXT ? gt_node_text(node) : NULL;
}

int gt_report_choose_table(struct gt_report *report, const char *name, bool is_alone, char **rest,
                           struct gt_error *error)
{
    const struct gt_node *root = &report->root;
    struct gt_buffer names = {0}, others = {0};
    const struct gt_node *table = find_table(root, name, &names);
    int status = 0;
    *rest = NULL;
    if (!table && name)
        status = gt_error_set(error, EINVAL, "unknown table '%s': choose one of %s", name,
                              names.length ? names.data : "none");
    for (const struct gt_node *node = root->first; table && node; node = node->next) {
        bool is_its = belongs_to(root, node, table);
        if (node == table || (is_its && !is_alone))
            continue;
        tell(node, !name, is_its, &others);
        hide((struct gt_node *)(uintptr_t)node, GT_ONLY_PEOPLE | (name ? GT_ONLY_DATA : 0));
    }
    gt_buffer_release(&names);
    if (others.failed)
        status = gt_error_system(error, -others.failed, "choosing a table");
    if (status < 0 || !others.length)
        gt_buffer_release(&others);
    else
        *rest = others.data;
    return status;
}
