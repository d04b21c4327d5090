#include "report/human_text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/function_name.h"
#include "base/number.h"
#include "base/utf8.h"
#include "report/report.h"
#include "schema/human.h"

/* Columns of tables for people have one unit, which suits their greatest number: 115 ms for 115,057.9 us. */

struct column_scale {
    double by;        /* numbers are divided by it */
    const char *unit; /* NULL: that of the column */
    bool is_moment;   /* numbers that are near each other, of which small differences matter */
};

struct step {
    double by;
    const char *unit;
};

static const struct step times[] = {{1e6, "s"}, {1e3, "ms"}, {1, "us"}, {1e-3, "ns"}};
static const struct step sizes[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "bytes"}};

static double greatest_in(const struct gt_table *table, size_t column)
{
    double greatest = 0;
    for (size_t row = 0; row < gt_table_rows(table); row++) {
        double value = gt_table_is_missing(table, row, column) ? 0 : fabs(gt_table_cell_display(table, row, column));
        greatest = isfinite(value) ? fmax(greatest, value) : greatest;
    }
    return greatest;
}

/* Columns of one group have one unit, so that their numbers can be compared along a row. */
enum group { OTHERS, MOMENTS, MEANS, STATISTICS };

static enum group group_of(const char *key)
{
    static const char *const moments[] = {"start_us", "end_us", "peak_at_us"};
    static const char *const statistics[] = {"min_", "max_", "p50_", "p95_", "p99_"};
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++)
        if (!strcmp(key, moments[i]))
            return MOMENTS;
    for (size_t i = 0; i < sizeof statistics / sizeof *statistics; i++)
        if (!strncmp(key, statistics[i], 4))
            return STATISTICS;
    return strncmp(key, "mean_", 5) ? OTHERS : MEANS;
}

/* Minima and maxima may be far from what is usual: their unit is that of the means. */
static double greatest_of_group(const struct gt_table *table, const char *unit, enum group group)
{
    double greatest = 0;
    for (size_t i = 0; i < table->columns; i++)
        if (table->column[i].flags & GT_COLUMN_SCALED && !strcmp(table->column[i].unit, unit) &&
            group_of(table->column[i].key) == group)
            greatest = fmax(greatest, greatest_in(table, i));
    return greatest;
}

static const struct step *step_of(const char *unit, double number)
{
    bool is_time = !strcmp(unit, "us");
    const struct step *step = is_time ? times : sizes;
    size_t count = is_time ? sizeof times / sizeof *times : sizeof sizes / sizeof *sizes;
    while (--count && number < step->by)
        step++;
    return step;
}

/* Only columns with GT_COLUMN_SCALED are scaled. */
static struct column_scale scale_of(const struct gt_table *table, size_t column)
{
    const struct gt_table_column *of = &table->column[column];
    enum group group = group_of(of->key);
    struct column_scale scale = {.by = 1, .is_moment = group == MOMENTS};
    if (!(of->flags & GT_COLUMN_SCALED) || (strcmp(of->unit, "us") && strcmp(of->unit, "bytes")))
        return scale;
    double own = greatest_in(table, column);
    double greatest = greatest_of_group(table, of->unit, group == STATISTICS ? MEANS : group);
    if (!(greatest > 0))
        greatest = greatest_of_group(table, of->unit, group);
    if (!(greatest > 0))
        return scale;
    const struct step *step = step_of(of->unit, greatest);
    if (own > 0 && own < step->by / 1000) /* nothing but zeros before the digits */
        step = step_of(of->unit, own);
    scale.by = step->by;
    scale.unit = step->unit;
    return scale;
}

const struct gt_node *gt_node_seen(const struct gt_node *node)
{
    return gt_node_visible(node, GT_ONLY_DATA);
}

static int decimals(const struct gt_report *report, unsigned flags, double value)
{
    if (!(flags & GT_BRIEF))
        return report->layout == GT_LAYOUT_ANALYSIS ? 8 : 3;
    double digits = value != 0 && isfinite(value) ? floor(log10(fabs(value))) : 0;
    return (int)fmin(fmax(3 - digits, 0), 12);
}

static void add_number(struct gt_buffer *out, double value, int decimals)
{
    char text[GT_NUMBER_SIZE];
    if (!isfinite(value))
        gt_buffer_text(out, "n/a");
    else
        gt_buffer_append(out, text, gt_number_rounded(text, value, decimals));
}

/* "-12345.5" is "-12,345.5". */
static void add_grouped(struct gt_buffer *out, const char *digits)
{
    size_t sign = *digits == '-', whole = strspn(digits + sign, "0123456789");
    gt_buffer_append(out, digits, sign);
    digits += sign;
    for (size_t i = 0; i < whole; i++) {
        if (i && (whole - i) % 3 == 0)
            gt_buffer_char(out, ',');
        gt_buffer_char(out, digits[i]);
    }
    gt_buffer_text(out, digits + whole);
}

static bool is_missing(const struct gt_node *field)
{
    switch (field->kind) {
    case GT_NODE_NUMBER: return !isfinite(gt_node_number(field)) || gt_node_is_absent(field);
    case GT_NODE_TEXT: return !gt_node_text(field);
    default: return false;
    }
}

void gt_human_text_field(struct gt_buffer *out, const struct gt_report *report, const struct gt_node *field)
{
    double number = gt_node_display_number(field);
    if (is_missing(field)) {
        gt_buffer_text(out, "n/a");
        return;
    }
    switch (field->kind) {
    case GT_NODE_NUMBER: add_number(out, number, decimals(report, gt_node_flag_bits(field), number)); break;
    case GT_NODE_INTEGER: gt_buffer_printf(out, "%lld", (long long)field->integer); break;
    case GT_NODE_TEXT: gt_utf8_show(out, gt_node_text(field)); break;
    case GT_NODE_BOOL: gt_buffer_text(out, field->boolean ? "yes" : "no"); break;
    default: break;
    }
    if (*gt_node_display_unit(field))
        gt_buffer_char(out, ' ');
    gt_utf8_show(out, gt_node_display_unit(field));
}

bool gt_human_text_amount(struct gt_buffer *out, const struct gt_node *field)
{
    enum gt_node_kind kind = field->kind;
    double number = kind == GT_NODE_INTEGER ? (double)field->integer : gt_node_display_number(field);
    return (kind == GT_NODE_NUMBER || kind == GT_NODE_INTEGER) && !is_missing(field) &&
           gt_human_amount(out, number, gt_node_measure_of(field));
}

void gt_human_text_shown(struct gt_buffer *out, const struct gt_report *report, const struct gt_node *field)
{
    if (report->layout != GT_LAYOUT_AMOUNTS || !gt_human_text_amount(out, field))
        gt_human_text_field(out, report, field);
}

static void add_text(struct gt_buffer *out, const struct gt_grid *grid, const char *text, bool is_function)
{
    struct gt_buffer name = {0};
    if (is_function) {
        gt_function_name(&name, text ? text : "", grid->report->style & GT_STYLE_ASCII ? "..." : "…");
        text = name.data;
    }
    if (text)
        gt_utf8_show(out, text);
    out->failed = out->failed ? out->failed : name.failed;
    gt_buffer_release(&name);
}

/* Of a column in its unit, which may have made many digits behind the point of few before it. */
static int decimals_of(const struct gt_grid *grid, const struct gt_table *table, const struct column_scale *scale,
                       double number)
{
    bool is_brief = (grid->flags & GT_GRID_BRIEF && grid->report->layout == GT_LAYOUT_ANALYSIS) ||
                    grid->flags & GT_GRID_ALWAYS_BRIEF;
    int count = decimals(grid->report, table->flags | (is_brief && !scale->is_moment ? GT_BRIEF : 0), number);
    int least = decimals(grid->report, GT_BRIEF, number);
    /* Rounding must not make a zero of another number. */
    bool is_lost = number != 0 && isfinite(number) && fabs(number) < 0.5 * pow(10, -count);
    bool is_kept = grid->report->layout != GT_LAYOUT_ANALYSIS && is_lost;
    return (scale->unit || is_kept) && count < least ? least : count;
}

static void put_cell(struct gt_buffer *out, const struct gt_grid *grid, const struct gt_table *table, size_t row,
                     size_t column, const struct column_scale *scale)
{
    struct gt_buffer text = {0};
    double number = gt_table_cell_display(table, row, column) / scale->by;
    bool is_absent = !(grid->flags & GT_GRID_ORIGINAL) && gt_table_cell_is_absent(table, row, column);
    if (gt_table_is_missing(table, row, column) || is_absent) {
        gt_buffer_text(out, "n/a");
        return;
    }
    enum gt_cell_kind kind = scale->unit ? GT_CELL_NUMBER : table->column[column].kind;
    switch (kind) {
    case GT_CELL_NUMBER: add_number(out, number, decimals_of(grid, table, scale, number)); break;
    case GT_CELL_INTEGER: gt_buffer_printf(out, "%lld", (long long)gt_table_cell_integer(table, row, column)); break;
    default:
        add_text(out, grid, gt_table_cell_text(table, row, column, &text),
                 table->column[column].flags & GT_COLUMN_FUNCTION);
    }
    out->failed = out->failed ? out->failed : text.failed;
    gt_buffer_release(&text);
}

static void add_cell(struct gt_buffer *out, const struct gt_grid *grid, const struct gt_table *table, size_t row,
                     size_t column, const struct column_scale *scale)
{
    struct gt_buffer text = {0};
    if (!(table->column[column].flags & GT_COLUMN_THOUSANDS)) {
        put_cell(out, grid, table, row, column, scale);
        return;
    }
    put_cell(&text, grid, table, row, column, scale);
    add_grouped(out, text.data ? text.data : "");
    out->failed = out->failed ? out->failed : text.failed;
    gt_buffer_release(&text);
}

static void add_title(struct gt_buffer *out, const char *title, const char *unit)
{
    gt_utf8_show(out, title);
    if (!*unit)
        return;
    gt_buffer_text(out, " (");
    gt_utf8_show(out, unit);
    gt_buffer_char(out, ')');
}

/* Without memory the grid has no cells. */
static void allocate(struct gt_grid *grid, size_t columns, size_t rows)
{
    grid->text = calloc(columns * rows + 1, sizeof *grid->text);
    grid->is_text = calloc(columns + 1, sizeof *grid->is_text);
    grid->of = calloc(columns + 1, sizeof *grid->of);
    grid->exact = calloc(columns * rows + 1, sizeof *grid->exact);
    bool is_there = grid->text && grid->exact && grid->is_text && grid->of;
    grid->failed = is_there ? 0 : -ENOMEM;
    grid->columns = is_there ? columns : 0;
    grid->rows = is_there ? rows : 0;
}

/* Moves what was appended into the grid, instead of what is there. */
static void take(struct gt_grid *grid, size_t row, size_t column, struct gt_buffer *text)
{
    char **cell = &grid->text[row * grid->columns + column];
    gt_buffer_text(text, "");
    grid->failed = text->failed ? text->failed : grid->failed;
    free(*cell);
    *cell = text->data;
    *text = (struct gt_buffer){0};
}

/* Shows another text; what was there stays as the exact one. */
static void put_instead(struct gt_grid *grid, size_t row, size_t column, struct gt_buffer *amount)
{
    size_t at = row * grid->columns + column;
    grid->exact[at] = grid->text[at];
    grid->text[at] = NULL;
    take(grid, row, column, amount);
}

/* Columns of a table without keys in which every value is missing are left out. */
static bool has_column(const struct gt_table *table, size_t number)
{
    const struct gt_table_column *column = &table->column[number];
    return gt_table_has_column_for(table, number, GT_ONLY_PEOPLE) &&
           (table->flags & GT_KEYED || !column->count || column->missing < column->count);
}

/* Returns the greatest number of a row among the columns with GT_COLUMN_SCALED of the same unit: they are compared. */
static double greatest_beside(const struct gt_table *table, size_t row, size_t column)
{
    const struct gt_table_column *of = &table->column[column];
    double greatest = fabs(gt_table_cell_display(table, row, column));
    for (size_t i = 0; of->flags & GT_COLUMN_SCALED && i < table->columns; i++)
        if (table->column[i].flags & GT_COLUMN_SCALED && !strcmp(table->column[i].unit, of->unit) &&
            !gt_table_is_missing(table, row, i))
            greatest = fmax(greatest, fabs(gt_table_cell_display(table, row, i)));
    return greatest;
}

/* The numbers of a column in units by their size. Its title then has none. */
static void show_amounts(struct gt_grid *grid, const struct gt_table *table, size_t from, size_t to)
{
    struct gt_buffer text = {0}, unit = {0}, exact = {0};
    char digits[GT_NUMBER_SIZE];
    bool is_amount = false;
    for (size_t row = 1; row < grid->rows; row++) {
        double number = gt_table_cell_display(table, row - 1, from);
        if (gt_table_is_missing(table, row - 1, from) || !strcmp(gt_grid_at(grid, row, to), "n/a") ||
            !gt_human_amount_beside(&text, number, greatest_beside(table, row - 1, from),
                                    gt_table_cell_unit(table, row - 1, from, &unit)))
            continue;
        is_amount = true;
        gt_number_repr(digits, number);
        gt_buffer_text(&exact, digits);
        take(grid, row, to, &exact);
        put_instead(grid, row, to, &text);
    }
    gt_buffer_release(&unit);
    if (!is_amount || !*table->column[from].unit || (to == 0 && grid->keyed))
        return;
    gt_utf8_show(&text, table->column[from].title);
    put_instead(grid, 0, to, &text);
}

/* The unit of a row stands in its cells, no longer behind its name. */
static void cut_units(struct gt_grid *grid, const struct gt_table *table)
{
    struct gt_buffer text = {0}, scratch = {0};
    size_t units = 0;
    while (units < table->columns && !(table->column[units].flags & GT_COLUMN_UNIT))
        units++;
    for (size_t row = 1; units < table->columns && row < grid->rows; row++)
        for (size_t column = 0; column < grid->columns; column++) {
            const char *unit = gt_table_cell_text(table, row - 1, units, &scratch);
            if (!grid->is_text[column] || !unit || !gt_human_amount(&text, 1, unit))
                continue;
            gt_buffer_clear(&text);
            gt_human_amount_title(&text, gt_grid_at(grid, row, column), unit);
            if (strcmp(text.data ? text.data : "", gt_grid_at(grid, row, column)) != 0)
                put_instead(grid, row, column, &text);
            gt_buffer_release(&text);
        }
    gt_buffer_release(&scratch);
}

static void fill_column(struct gt_grid *grid, const struct gt_table *table, size_t from, size_t to)
{
    struct gt_buffer text = {0};
    struct column_scale scale = scale_of(table, from);
    grid->is_text[to] = table->column[from].kind == GT_CELL_TEXT;
    grid->of[to] = from;
    if (to > 0 || !grid->keyed)
        add_title(&text, table->column[from].title, scale.unit ? scale.unit : table->column[from].unit);
    take(grid, 0, to, &text);
    for (size_t row = 1; row < grid->rows; row++) {
        add_cell(&text, grid, table, row - 1, from, &scale);
        take(grid, row, to, &text);
    }
    if (grid->flags & GT_GRID_AMOUNTS && !grid->is_text[to])
        show_amounts(grid, table, from, to);
}

static void fill_from_table(struct gt_grid *grid, const struct gt_table *table)
{
    size_t visible = 0;
    grid->keyed = table->flags & GT_KEYED;
    for (size_t column = 0; column < table->columns; column++)
        visible += has_column(table, column);
    allocate(grid, visible, gt_table_rows(table) + 1);
    visible = 0;
    for (int is_last = 0; is_last < 2; is_last++)
        for (size_t column = 0; grid->rows && column < table->columns; column++) {
            bool is_name = table->column[column].flags & GT_COLUMN_FUNCTION && !(grid->keyed && column == 0);
            if (has_column(table, column) && is_name == is_last)
                fill_column(grid, table, column, visible++);
        }
    if (grid->flags & GT_GRID_AMOUNTS)
        cut_units(grid, table);
}

static size_t fields_of(const struct gt_node *section)
{
    size_t count = 0;
    for (const struct gt_node *field = gt_node_seen(section->first); field; field = gt_node_seen(field->next))
        count++;
    return count;
}

static void fill_titles(struct gt_grid *grid, const struct gt_node *section)
{
    struct gt_buffer text = {0};
    size_t column = 0;
    if (grid->keyed) {
        grid->is_text[column] = true;
        take(grid, 0, column++, &text);
    }
    for (const struct gt_node *field = gt_node_seen(section->first); field; field = gt_node_seen(field->next)) {
        grid->is_text[column] = field->kind == GT_NODE_TEXT;
        gt_utf8_show(&text, field->title);
        take(grid, 0, column++, &text);
    }
}

static void fill_row(struct gt_grid *grid, const struct gt_node *section, size_t row)
{
    struct gt_buffer text = {0};
    size_t column = 0;
    if (grid->keyed) {
        gt_utf8_show(&text, section->title);
        take(grid, row, column++, &text);
    }
    for (const struct gt_node *field = gt_node_seen(section->first); field; field = gt_node_seen(field->next)) {
        if (grid->flags & GT_GRID_ORIGINAL && gt_node_is_absent(field))
            add_number(&text, 0, 0);
        else
            gt_human_text_field(&text, grid->report, field);
        take(grid, row, column, &text);
        if (grid->flags & GT_GRID_AMOUNTS && gt_human_text_amount(&text, field))
            put_instead(grid, row, column, &text);
        column++;
    }
}

/* One section has no name; with several, those that are items of lists have none. */
static void fill_from_fields(struct gt_grid *grid, const struct gt_node *section, size_t count)
{
    bool any_text = false;
    grid->keyed = count > 1 && *section->title;
    allocate(grid, grid->keyed + fields_of(section), count + 1);
    if (grid->rows)
        fill_titles(grid, section);
    for (size_t row = 1; row < grid->rows; row++, section = gt_node_seen(section->next))
        fill_row(grid, section, row);
    /* As in pandas, where a row has one type: with a text among them, all are texts. */
    for (size_t column = 0; count == 1 && column < grid->columns; column++)
        any_text |= grid->is_text[column];
    for (size_t column = 0; any_text && column < grid->columns; column++)
        grid->is_text[column] = true;
}

int gt_grid_init(struct gt_grid *grid, const struct gt_report *report, const struct gt_node *node, size_t count,
                 unsigned flags)
{
    const struct gt_table *table = gt_node_table(node);
    *grid = (struct gt_grid){.report = report, .flags = flags};
    if (report->layout == GT_LAYOUT_AMOUNTS)
        grid->flags |= GT_GRID_AMOUNTS;
    if (table)
        fill_from_table(grid, table);
    else
        fill_from_fields(grid, node, count);
    int status = grid->failed;
    if (status < 0)
        gt_grid_release(grid);
    return status;
}

static bool holds_fields_alone(const struct gt_node *section)
{
    if (section->kind != GT_NODE_SECTION || gt_node_flag_bits(section) || !gt_node_seen(section->first))
        return false;
    for (const struct gt_node *field = gt_node_seen(section->first); field; field = gt_node_seen(field->next))
        if (!gt_node_is_field(field))
            return false;
    return true;
}

static bool same_keys(const struct gt_node *a, const struct gt_node *b)
{
    a = gt_node_seen(a->first);
    b = gt_node_seen(b->first);
    for (; a && b && !strcmp(a->key, b->key); a = gt_node_seen(a->next), b = gt_node_seen(b->next))
        ;
    return !a && !b;
}

size_t gt_human_text_alike(const struct gt_node *first)
{
    size_t count = 0;
    for (const struct gt_node *section = first; section && holds_fields_alone(section) && same_keys(first, section);
         section = gt_node_seen(section->next))
        count++;
    return count;
}

const struct gt_node *gt_human_text_last(const struct gt_node *first, size_t count)
{
    while (--count)
        first = gt_node_seen(first->next);
    return first;
}

void gt_grid_release(struct gt_grid *grid)
{
    for (size_t i = 0; grid->text && i < grid->columns * grid->rows; i++)
        free(grid->text[i]);
    for (size_t i = 0; grid->exact && i < grid->columns * grid->rows; i++)
        free(grid->exact[i]);
    free(grid->text);
    free(grid->exact);
    free(grid->is_text);
    free(grid->of);
    *grid = (struct gt_grid){0};
}

const char *gt_grid_exact(const struct gt_grid *grid, size_t row, size_t column)
{
    return grid->exact[row * grid->columns + column];
}

const char *gt_grid_at(const struct gt_grid *grid, size_t row, size_t column)
{
    const char *text = grid->text[row * grid->columns + column];
    return text ? text : "";
}

bool gt_grid_is_same(const struct gt_grid *grid, size_t column)
{
    for (size_t row = 2; row < grid->rows; row++)
        if (strcmp(gt_grid_at(grid, row, column), gt_grid_at(grid, 1, column)) != 0)
            return false;
    return grid->rows > 2;
}

/* ---- terminals ---- */

void gt_put_spaces(struct gt_buffer *out, size_t count)
{
    while (count--)
        gt_buffer_char(out, ' ');
}

size_t gt_text_columns(const char *text)
{
    return gt_utf8_width_of(text, strlen(text));
}

/* Behind these a name goes on in the next line. */
static const char JOINTS[] = "/_:,=";

size_t gt_wrap_piece(const char *text, size_t width, const char **ret_next)
{
    size_t length = 0, columns = 0, space = 0, joint = 0;
    for (; text[length]; length++) {
        size_t own = gt_utf8_width(text + length);
        if (columns && own && columns + own > width)
            break;
        if (text[length] == ' ')
            space = length;
        if (length && strchr(JOINTS, text[length - 1]))
            joint = length;
        columns += own;
    }
    if (text[length] && text[length] != ' ' && (space || joint > width / 2))
        length = space ? space : joint;
    *ret_next = text + length + (text[length] == ' ');
    return length;
}

void gt_put_wrapped(struct gt_buffer *out, const char *text, size_t column, size_t indent, size_t width)
{
    const char *next = text;
    for (bool is_first = true; is_first || *next; is_first = false, column = indent) {
        size_t room = width > column + 8 ? width - column : 8;
        if (!is_first)
            gt_put_spaces(out, indent);
        const char *at = next;
        gt_buffer_append(out, at, gt_wrap_piece(at, room, &next));
        gt_buffer_char(out, '\n');
    }
}
