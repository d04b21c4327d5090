#include "view/grid.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static const uint32_t ELLIPSIS = 0x2026;

static struct gt_view_cell *at(const struct gt_view_grid *grid, int row, int column)
{
    if (row < 0 || row >= grid->rows || column < 0 || column >= grid->columns)
        return NULL;
    return &grid->cell[(size_t)row * (size_t)grid->columns + (size_t)column];
}

static void put(const struct gt_view_grid *grid, int row, int column, uint32_t character, enum gt_view_style style)
{
    struct gt_view_cell *cell = at(grid, row, column);
    if (cell)
        *cell = (struct gt_view_cell){character, (uint8_t)style};
}

void gt_cells_clear(const struct gt_view_grid *grid)
{
    for (int row = 0; row < grid->rows; row++)
        for (int column = 0; column < grid->columns; column++)
            put(grid, row, column, ' ', GT_VIEW_PLAIN);
}

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

struct pen {
    const struct gt_view_grid *grid; /* NULL: measure only */
    int row, column, used, width;
    enum gt_view_style style;
};

static void pen_put(struct pen *pen, uint32_t code)
{
    int width = gt_utf8_code_width(code);
    if (pen->grid && width && pen->used + width <= pen->width) {
        put(pen->grid, pen->row, pen->column + pen->used, code, pen->style);
        if (width == 2)
            put(pen->grid, pen->row, pen->column + pen->used + 1, 0, pen->style);
    }
    pen->used += width;
}

static int draw(struct pen *pen, const char *text)
{
    char piece[GT_UTF8_SHOWN];
    while (*text && (!pen->grid || pen->used < pen->width)) {
        gt_utf8_show_next(&text, piece);
        for (const char *p = piece; *p; p += gt_utf8_length(p))
            pen_put(pen, gt_utf8_code(p));
    }
    return pen->used;
}

/* A wide character of which one half was overwritten would take two columns still. */
static void mend(const struct gt_view_grid *grid, int row, int column)
{
    struct gt_view_cell *here = at(grid, row, column), *left = at(grid, row, column - 1);
    if (here && here->character && left && gt_utf8_code_width(left->character) == 2)
        left->character = ' ';
}

int gt_cells_text(const struct gt_view_grid *grid, int row, int column, int width, enum gt_view_style style,
                  const char *text)
{
    struct pen measure = {.width = width};
    if (column + width > grid->columns)
        width = grid->columns - column;
    if (width <= 0)
        return 0;
    bool is_cut = draw(&measure, text) > width;
    struct pen pen = {grid, row, column, 0, is_cut ? width - 1 : width, style};
    draw(&pen, text);
    int used = pen.used < pen.width ? pen.used : pen.width;
    mend(grid, row, column);
    if (is_cut) {
        put(grid, row, column + width - 1, ELLIPSIS, style);
        mend(grid, row, column + width - 1);
        used = width;
    }
    struct gt_view_cell *behind = at(grid, row, column + used);
    if (behind && !behind->character)
        behind->character = ' ';
    return used;
}

int gt_cells_print(const struct gt_view_grid *grid, int row, int column, int width, enum gt_view_style style,
                   const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return gt_cells_text(grid, row, column, width, style, text);
}

int gt_cells_print_right(const struct gt_view_grid *grid, int row, int column, int width, enum gt_view_style style,
                         const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct pen measure = {.width = width};
    int needed = draw(&measure, text);
    int begin = needed < width ? column - needed : column - width;
    gt_cells_text(grid, row, begin, column - begin, style, text);
    return begin;
}

/* ---- Lines, bars, curves ----------------------------------------------------------------------------------------- */

void gt_cells_rule(const struct gt_view_grid *grid, int row, int column, int width)
{
    for (int i = 0; i < width; i++)
        put(grid, row, column + i, 0x2500, GT_VIEW_DIM);
}

void gt_cells_bar(const struct gt_view_grid *grid, int row, int column, int width, double share,
                  enum gt_view_style style)
{
    static const uint32_t eighths[] = {0x2591, 0x258f, 0x258e, 0x258d, 0x258c, 0x258b, 0x258a, 0x2589, 0x2588};
    if (isnan(share))
        return;
    double full = fmax(0, fmin(share, 1)) * width;
    for (int i = 0; i < width; i++) {
        int part = (int)fmax(0, fmin(8, round((full - i) * 8)));
        if (i == 0 && part == 0 && share > 0)
            part = 1;
        put(grid, row, column + i, eighths[part], part ? style : GT_VIEW_DIM);
    }
}

void gt_cells_curve(const struct gt_view_grid *grid, int row, int column, int count, const double *value, double most,
                    enum gt_view_style style)
{
    for (int i = 0; i < count; i++) {
        if (isnan(value[i]))
            continue;
        double share = most > 0 ? fmax(0, fmin(value[i] / most, 1)) : 0;
        put(grid, row, column + i, 0x2581 + (uint32_t)fmin(7, floor(share * 8)), style);
    }
}

void gt_cells_area(const struct gt_view_grid *grid, int row, int column, int count, int rows, const double *value,
                   double most, enum gt_view_style style)
{
    for (int i = 0; i < count; i++) {
        double share = most > 0 ? fmax(0, fmin(value[i] / most, 1)) : 0;
        int eighths = isnan(value[i]) ? 0 : (int)fmax(1, round(share * rows * 8));
        for (int line = 0; line < rows && eighths > line * 8; line++) {
            int part = eighths - line * 8 < 8 ? eighths - line * 8 : 8;
            put(grid, row + rows - 1 - line, column + i, 0x2580 + (uint32_t)part, style);
        }
    }
}

void gt_cells_keys(const struct gt_view_grid *grid, const char *const *line, size_t count)
{
    gt_cells_clear(grid);
    gt_cells_text(grid, 0, 1, grid->columns - 2, GT_VIEW_BOLD, "gpu-tracker top: keys");
    for (size_t i = 0; i < count; i++)
        gt_cells_text(grid, (int)i + 2, 1, grid->columns - 2, GT_VIEW_PLAIN, line[i]);
}

void gt_cells_restyle(const struct gt_view_grid *grid, int row, int column, int width, enum gt_view_style style)
{
    for (int i = 0; i < width; i++) {
        struct gt_view_cell *cell = at(grid, row, column + i);
        if (cell)
            cell->style = (uint8_t)style;
    }
}

/* ---- As text ----------------------------------------------------------------------------------------------------- */

static uint32_t ascii_of(uint32_t code)
{
    static const char heights[] = "_.-=+*#@";
    if (code < 0x7f)
        return code;
    if (code >= 0x2581 && code <= 0x2588)
        return (uint32_t)heights[code - 0x2581];
    switch (code) {
    case 0x2591: return '.';
    case 0x2589:
    case 0x258a:
    case 0x258b:
    case 0x258c: return '#';
    case 0x258d:
    case 0x258e:
    case 0x258f: return ':';
    case 0x2500: return '-';
    case 0x2502: return '|';
    case 0x251c: return '+';
    case 0x2514: return '`';
    case 0xb0: return ' ';
    case 0x2026: return '~';
    default: return '?';
    }
}

void gt_cells_to_ascii(const struct gt_view_grid *grid)
{
    for (int row = 0; row < grid->rows; row++)
        for (int column = 0; column < grid->columns; column++) {
            struct gt_view_cell *cell = at(grid, row, column);
            cell->character = cell->character ? ascii_of(cell->character) : '?';
        }
}

static int used_columns(const struct gt_view_grid *grid, int row)
{
    int used = grid->columns;
    while (used && at(grid, row, used - 1)->character == ' ')
        used--;
    return used;
}

int gt_cells_write(const struct gt_view_grid *grid, struct gt_buffer *out)
{
    int rows = grid->rows;
    while (rows && !used_columns(grid, rows - 1))
        rows--;
    gt_buffer_text(out, "");
    for (int row = 0; row < rows; row++) {
        int used = used_columns(grid, row);
        for (int column = 0; column < used; column++)
            if (at(grid, row, column)->character)
                gt_utf8_append(out, at(grid, row, column)->character);
        gt_buffer_char(out, '\n');
    }
    return out->failed;
}
