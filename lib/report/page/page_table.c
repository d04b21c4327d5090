#include "report/page/page.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "report/page/chart.h"

/* Beyond these numbers of columns rows are cards on a phone, on half a screen, on a screen. */
enum { NARROW = 3, MIDDLE = 6, WIDE = 11, HEAT_COLUMNS = 3, LONG_TEXT = 300 };

/* Of longer tables the first rows are shown, and those with the greatest of a column, until a reader asks for the others. */
enum { FOLDED_FROM = 13, FIRST_ROWS = 10 };

enum look { PLAIN, BAR, HEAT };

struct column {
    bool is_left_out;
    enum look look;
    size_t cut; /* bytes at the begin of each text, which are the same in all */
    double most;
    size_t of; /* the column of the table */
};

struct shape {
    const struct gt_grid *grid;
    const struct gt_table *table;
    struct column *column;
    size_t shown;
    bool folds;
};

/* ---- What is shown of a column ----------------------------------------------------------------------------------- */

/* The folders that all names of files begin with. */
static size_t common_folder(const struct gt_grid *grid, size_t column)
{
    const char *first = grid->rows > 1 ? gt_grid_at(grid, 1, column) : "";
    size_t length = strlen(first);
    for (size_t row = 2; row < grid->rows && length; row++) {
        const char *other = gt_grid_at(grid, row, column);
        size_t same = 0;
        while (same < length && other[same] == first[same])
            same++;
        length = same;
    }
    while (length && first[length - 1] != '/')
        length--;
    return length;
}

static double number_at(const struct shape *shape, size_t row, size_t column)
{
    return gt_table_cell_display(shape->table, row - 1, shape->column[column].of);
}

static bool is_number(const struct shape *shape, size_t column)
{
    enum gt_cell_kind kind = shape->table->column[shape->column[column].of].kind;
    return kind == GT_CELL_NUMBER || kind == GT_CELL_INTEGER;
}

static bool is_share(const struct shape *shape, size_t column)
{
    const char *unit = shape->table->column[shape->column[column].of].unit;
    return is_number(shape, column) && unit && (!strcmp(unit, "%") || !strcmp(unit, "percent"));
}

/* By which the rows are sorted, the greatest first, perhaps for each trace anew. Returns the greatest number, or 0. */
static double order_of(const struct shape *shape, size_t column, bool has_groups)
{
    const struct gt_grid *grid = shape->grid;
    double most = 0;
    if (!is_number(shape, column) || grid->rows < 4)
        return 0;
    for (size_t row = 1; row < grid->rows; row++) {
        double number = number_at(shape, row, column);
        bool is_other = strcmp(gt_grid_at(grid, row, 0), gt_grid_at(grid, row - 1, 0)) != 0;
        bool begins = row == 1 || (has_groups && is_other);
        if (!(number >= 0 && (begins || number <= number_at(shape, row - 1, column))))
            return 0;
        most = fmax(most, number);
    }
    return most;
}

/* Names that differ in all rows are no traces. */
static bool has_groups(const struct gt_grid *grid)
{
    size_t changes = 0;
    for (size_t row = 2; row < grid->rows; row++)
        changes += strcmp(gt_grid_at(grid, row, 0), gt_grid_at(grid, row - 1, 0)) != 0;
    return changes * 2 < grid->rows;
}

static void choose_looks(struct shape *shape)
{
    size_t shares = 0;
    bool has_order = false, is_grouped = shape->grid->columns && has_groups(shape->grid);
    for (size_t i = 0; i < shape->grid->columns; i++)
        shares += !shape->column[i].is_left_out && is_share(shape, i);
    for (size_t i = 0; i < shape->grid->columns; i++) {
        struct column *column = &shape->column[i];
        if (column->is_left_out)
            continue;
        double order = has_order || shares ? 0 : order_of(shape, i, is_grouped);
        bool is_of_share = is_share(shape, i);
        has_order |= order > 0;
        column->look = is_of_share && shares >= HEAT_COLUMNS ? HEAT : is_of_share || order > 0 ? BAR : PLAIN;
        column->most = is_of_share ? 100 : order;
    }
}

static bool is_same_in_all(const struct gt_grid *grid, size_t column)
{
    return gt_grid_is_same(grid, column) && !(grid->keyed && column == 0);
}

/* Where nothing but names differs, all columns stay: names alone are no table. */
static void shape_analysis(struct shape *shape)
{
    const struct gt_grid *grid = shape->grid;
    size_t different = 0;
    for (size_t i = 0; i < grid->columns; i++)
        different += !is_same_in_all(grid, i);
    for (size_t i = 0; i < grid->columns; i++) {
        bool is_left_out = different > 1 && shape->shown > 2 && is_same_in_all(grid, i);
        shape->column[i] = (struct column){.of = grid->of[i], .is_left_out = is_left_out};
        shape->shown -= shape->column[i].is_left_out;
        if (grid->is_text[i])
            shape->column[i].cut = common_folder(grid, i);
    }
    choose_looks(shape);
}

/* Who compares two sessions need not read the name of one in each row. */
static void shape_measured(struct shape *shape)
{
    const struct gt_grid *grid = shape->grid;
    for (size_t i = 0; i < grid->columns; i++) {
        bool names_rows = i == 0, is_amount = gt_grid_exact(grid, 0, i);
        shape->column[i].of = grid->of[i];
        shape->column[i].is_left_out = shape->table && !names_rows && !is_amount && grid->rows > FIRST_ROWS &&
                                       gt_grid_is_same(grid, i);
        shape->shown -= shape->column[i].is_left_out;
    }
}

/* ---- Cells ------------------------------------------------------------------------------------------------------- */

static void put_look(struct gt_buffer *out, const struct shape *shape, size_t row, size_t number)
{
    const struct column *column = &shape->column[number];
    double part = column->look ? number_at(shape, row, number) / column->most * 100 : 0;
    if (part > 0)
        gt_buffer_printf(out, " data-l=\"%s\" style=\"--p:%.0f%%\"", column->look == HEAT ? "heat" : "bar",
                         fmin(part, 100));
}

/* Whether a line of a tree begins here, which is three bytes. */
static bool is_line(const char *text)
{
    static const char *const lines[] = {"\xe2\x94\x82", "\xe2\x94\x9c", "\xe2\x94\x94"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strncmp(text, lines[i], 3))
            return true;
    return false;
}

/* A name behind the lines of a tree, which do not break. */
static bool is_branch(const char *text)
{
    return is_line(text + strspn(text, " "));
}

/* How deep a name stands in a tree: each step is a line or a blank, and a blank behind it. */
static size_t depth_of(const char *text)
{
    size_t depth = 0;
    for (; is_branch(text); depth++)
        text += is_line(text) ? 4 : 2;
    return depth;
}

/* Texts stand at the left, and on lines of their own where a row is a card. */
static bool is_text(const struct shape *shape, size_t column)
{
    const struct gt_table *table = shape->table;
    return shape->grid->is_text[column] && !(table && table->column[shape->grid->of[column]].flags & GT_COLUMN_FIGURE);
}

/* Identifiers that are longer than their use: the cell shows the beginning, and all of it on hover. */
static bool is_cut(const struct shape *shape, size_t column)
{
    const struct gt_table *table = shape->table;
    return table && strcmp(table->column[shape->grid->of[column]].key, "uuid") == 0;
}

/* The whole name where the cell has it cut. */
static void put_whole(struct gt_buffer *out, const struct shape *shape, size_t row, size_t number)
{
    const struct gt_table *table = shape->table;
    size_t column = shape->grid->of[number];
    struct gt_buffer text = {0};
    const char *whole = table && table->column[column].flags & GT_COLUMN_FUNCTION
                            ? gt_table_cell_text(table, row - 1, column, &text)
                            : NULL;
    if (is_cut(shape, number))
        whole = gt_grid_at(shape->grid, row, number);
    if (whole && (is_cut(shape, number) || strcmp(whole, gt_grid_at(shape->grid, row, number)) != 0))
        gt_html(out, " title=\"%s\"", whole);
    gt_buffer_release(&text);
}

void gt_page_exact(struct gt_buffer *out, const char *exact, const char *unit)
{
    gt_html(out, " title=\"%s%s%s\" data-v=\"%s\"", exact, *unit ? " " : "", unit, exact);
}

static void put_exact(struct gt_buffer *out, const struct shape *shape, size_t row, size_t column)
{
    const char *exact = gt_grid_exact(shape->grid, row, column);
    struct gt_buffer scratch = {0};
    bool is_amount = shape->table && row > 0 && !shape->grid->is_text[column];
    if (exact)
        gt_page_exact(out, exact,
                      is_amount ? gt_table_cell_unit(shape->table, row - 1, shape->grid->of[column], &scratch) : "");
    gt_buffer_release(&scratch);
}

static void put_cell(struct gt_buffer *out, const struct shape *shape, size_t row, size_t column)
{
    const struct gt_grid *grid = shape->grid;
    const char *text = gt_grid_at(grid, row, column);
    bool names_row = row > 0 && grid->keyed && column == 0, is_title = row == 0 && *text;
    size_t cut = row > 0 ? shape->column[column].cut : 0;
    gt_buffer_text(out, names_row ? "<th scope=\"row\"" : is_title ? "<th scope=\"col\"" : "<td");
    if (is_text(shape, column) && !names_row && (row > 0 || *text))
        gt_buffer_text(out, row > 0 && is_branch(text)         ? " class=\"t branch\""
                            : row > 0 && is_cut(shape, column) ? " class=\"t cut\""
                                                               : " class=\"t\"");
    if (row > 0) {
        put_look(out, shape, row, column);
        put_whole(out, shape, row, column);
    }
    put_exact(out, shape, row, column);
    gt_buffer_char(out, '>');
    gt_html(out, strlen(text + cut) > LONG_TEXT ? "<span class=\"long\">%s</span>" : "%s", text + cut);
    gt_buffer_text(out, names_row || is_title ? "</th>" : "</td>");
}

/* Neither the string nor the element around it may end early. */
static void put_style_text(struct gt_buffer *out, const char *text)
{
    struct gt_buffer shown = {0};
    gt_utf8_show(&shown, text);
    gt_buffer_char(out, '"');
    for (const char *at = shown.data ? shown.data : ""; *at; at++)
        if ((unsigned char)*at < ' ' || strchr("\"\\<>&", *at))
            gt_buffer_printf(out, "\\%x ", (unsigned char)*at);
        else
            gt_buffer_char(out, *at);
    gt_buffer_char(out, '"');
    gt_buffer_release(&shown);
}

/* What stands before a cell where its row is a card: once for each column, for there may be thousands of rows. */
static void put_titles(struct gt_buffer *out, const struct shape *shape, size_t number)
{
    size_t place = 0;
    gt_buffer_text(out, "<style>");
    for (size_t column = 0; column < shape->grid->columns; column++) {
        const char *title = gt_grid_at(shape->grid, 0, column);
        if (shape->column[column].is_left_out)
            continue;
        place++;
        if (!*title)
            continue;
        gt_buffer_printf(out, ".k%zu td:nth-child(%zu){--t:", number, place);
        put_style_text(out, title);
        gt_buffer_char(out, '}');
    }
    gt_buffer_text(out, "</style>");
}

static bool is_folded(const struct shape *shape)
{
    return shape->folds && shape->grid->rows > FOLDED_FROM;
}

/* Which rows have the greatest number of a column of amounts. NULL without memory: none is told then. */
static bool *find_worst(const struct shape *shape)
{
    const struct gt_grid *grid = shape->grid;
    bool *is_worst = calloc(grid->rows, sizeof *is_worst);
    for (size_t column = 0; is_worst && shape->table && column < grid->columns; column++) {
        size_t worst = 0;
        if (grid->is_text[column] || !*shape->table->column[grid->of[column]].unit)
            continue;
        for (size_t row = 1; row < grid->rows; row++)
            if (isfinite(number_at(shape, row, column)) &&
                (!worst || number_at(shape, row, column) > number_at(shape, worst, column)))
                worst = row;
        is_worst[worst] = true;
    }
    return is_worst;
}

/* The column that is a tree; how many there are where none is. */
static size_t tree_column(const struct gt_grid *grid)
{
    for (size_t column = 0; column < grid->columns; column++)
        for (size_t row = 1; row < grid->rows; row++)
            if (grid->is_text[column] && is_branch(gt_grid_at(grid, row, column)))
                return column;
    return grid->columns;
}

/* A branch would seem to grow from whatever stands above it: what it grows from is shown with it. */
static void find_ancestors(const struct gt_grid *grid, size_t tree, bool *is_worst)
{
    for (size_t row = FIRST_ROWS + 1; row < grid->rows; row++) {
        size_t depth = is_worst[row] ? depth_of(gt_grid_at(grid, row, tree)) : 0;
        for (size_t above = row - 1; depth && above; above--) {
            size_t found = depth_of(gt_grid_at(grid, above, tree));
            if (found >= depth)
                continue;
            is_worst[above] = true;
            depth = found;
        }
    }
}

static bool says_nothing(const struct gt_grid *grid, size_t row)
{
    for (size_t column = 0; column < grid->columns; column++)
        if (!grid->is_text[column] && strcmp(gt_grid_at(grid, row, column), "n/a") != 0)
            return false;
    return true;
}

static void put_row(struct gt_buffer *out, const struct shape *shape, size_t row, bool is_worst)
{
    gt_buffer_text(out, is_worst ? "<tr class=\"worst\">" : "<tr>");
    for (size_t column = 0; column < shape->grid->columns; column++)
        if (!shape->column[column].is_left_out)
            put_cell(out, shape, row, column);
    gt_buffer_text(out, row == 0 ? "</tr></thead>\n" : "</tr>\n");
}

/* Of a table that is folded, rows in which nothing was measured come last, unless it is a tree. */
static void put_body(struct gt_buffer *out, const struct shape *shape)
{
    const struct gt_grid *grid = shape->grid;
    bool folds = is_folded(shape), *is_worst = folds ? find_worst(shape) : NULL;
    size_t tree = folds ? tree_column(grid) : grid->columns;
    if (is_worst && tree < grid->columns)
        find_ancestors(grid, tree, is_worst);
    folds = folds && tree == grid->columns;
    gt_buffer_text(out, "<thead>");
    put_row(out, shape, 0, false);
    gt_buffer_text(out, grid->rows > 1 ? "<tbody>\n" : "");
    for (int is_last = 0; is_last < (folds ? 2 : 1); is_last++)
        for (size_t row = 1; row < grid->rows; row++)
            if (!folds || says_nothing(grid, row) == is_last)
                put_row(out, shape, row, is_worst && is_worst[row]);
    gt_buffer_text(out, grid->rows > 1 ? "</tbody>" : "");
    free(is_worst);
}

static void put_rows(struct gt_buffer *out, const struct shape *shape)
{
    size_t number = out->length; /* no other table begins here */
    bool is_one_row = !shape->table && shape->grid->rows == 2;
    const char *class = shape->shown > WIDE || (is_one_row && shape->shown > MIDDLE) ? "c3"
                        : shape->shown > MIDDLE                                      ? "c2"
                                                                                     : "c1";
    if (is_folded(shape))
        gt_buffer_printf(out, "<input type=\"checkbox\" class=\"more\" id=\"more%zu\">", number);
    if (shape->shown > NARROW) {
        gt_buffer_printf(out, "<div class=\"scroll %s k%zu\" tabindex=\"0\">", class, number);
        put_titles(out, shape, number);
    } else {
        gt_buffer_text(out, "<div class=\"scroll\" tabindex=\"0\">");
    }
    gt_buffer_text(out, "<table>\n");
    put_body(out, shape);
    gt_buffer_text(out, "</table></div>\n");
    if (is_folded(shape))
        gt_buffer_printf(out, "<label for=\"more%zu\"><span>show all %zu rows</span><span>show fewer</span></label>\n",
                         number, shape->grid->rows - 1);
}

static void put_same(struct gt_buffer *out, const struct shape *shape)
{
    const struct gt_grid *grid = shape->grid;
    bool has_begun = false;
    for (size_t i = 0; i < grid->columns; i++) {
        if (!shape->column[i].is_left_out)
            continue;
        gt_buffer_text(out, has_begun ? "; " : "<p class=\"silent\">The same in all rows: ");
        has_begun = true;
        gt_html(out, "%s %s", gt_grid_at(grid, 0, i), gt_grid_at(grid, 1, i) + shape->column[i].cut);
    }
    gt_buffer_text(out, has_begun ? "</p>\n" : "");
}

/* Each row as a sentence, and what is known of it behind. */
static void put_sentences(struct gt_buffer *out, const struct shape *shape)
{
    const struct gt_grid *grid = shape->grid;
    gt_buffer_text(out, "<ul class=\"warnings\">\n");
    for (size_t row = 1; row < grid->rows; row++) {
        bool has_begun = false;
        gt_buffer_text(out, "<li>");
        for (size_t i = 0; i < grid->columns; i++)
            if (grid->is_text[i] && !strcmp(gt_grid_at(grid, 0, i), "advice"))
                gt_html_escape(out, gt_grid_at(grid, row, i) + shape->column[i].cut);
        gt_buffer_text(out, "<span>");
        for (size_t i = 0; i < grid->columns; i++) {
            if (!strcmp(gt_grid_at(grid, 0, i), "advice") || !*gt_grid_at(grid, row, i))
                continue;
            gt_html(out, "%s%s: %s", has_begun ? "; " : "", gt_grid_at(grid, 0, i), gt_grid_at(grid, row, i));
            has_begun = true;
        }
        gt_buffer_text(out, "</span></li>\n");
    }
    gt_buffer_text(out, "</ul>\n");
}

void gt_page_table(struct gt_buffer *out, struct gt_grid *grid, const struct gt_table *table, unsigned flags)
{
    struct shape shape = {grid, table, calloc(grid->columns + 1, sizeof *shape.column), grid->columns,
                          !(flags & GT_PAGE_TABLE_ANALYSIS)};
    if (!shape.column) {
        out->failed = out->failed ? out->failed : -ENOMEM;
        gt_grid_release(grid);
        return;
    }
    if (table && flags & GT_PAGE_TABLE_ANALYSIS)
        shape_analysis(&shape);
    else
        shape_measured(&shape);
    if (table && table->flags & GT_SENTENCES) {
        put_sentences(out, &shape);
    } else {
        put_rows(out, &shape);
        put_same(out, &shape);
    }
    free(shape.column);
    gt_grid_release(grid);
}
