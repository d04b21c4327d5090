/* A screen as rows of cells, each with one character. What is put beside or beyond it is cut. */
#ifndef GT_VIEW_GRID_H
#define GT_VIEW_GRID_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* A character is shown in one of these ways; without colours all are told apart by words. */
enum gt_view_style {
    GT_VIEW_PLAIN,
    GT_VIEW_DIM,
    GT_VIEW_BOLD,
    GT_VIEW_TITLE,
    GT_VIEW_CURVE,
    GT_VIEW_GOOD,
    GT_VIEW_BAD,
    GT_VIEW_CHOSEN,
    GT_VIEW_STYLES
};

struct gt_view_cell {
    uint32_t character; /* Unicode; 0: the right half of a wide one */
    uint8_t style;      /* enum gt_view_style */
};

struct gt_view_grid {
    int columns, rows;
    struct gt_view_cell *cell; /* [rows][columns], the caller's */
};

/* Fill all with blanks. */
void gt_cells_clear(const struct gt_view_grid *grid);
/* Put a text from outside: what a terminal would obey is shown escaped, wide characters take two cells, marks above others are left out.
 * A text longer than `width` columns ends in an ellipsis. Returns the columns it takes. */
int gt_cells_text(const struct gt_view_grid *grid, int row, int column, int width, enum gt_view_style style,
                  const char *text);
/* The same from a format, of texts that are ours. */
int gt_cells_print(const struct gt_view_grid *grid, int row, int column, int width, enum gt_view_style style,
                   const char *format, ...) __attribute__((format(printf, 6, 7)));
/* So that it ends at `column` (exclusive), if it is not longer than `width`. */
int gt_cells_print_right(const struct gt_view_grid *grid, int row, int column, int width, enum gt_view_style style,
                         const char *format, ...) __attribute__((format(printf, 6, 7)));
/* A line of `width` cells with titles in it is drawn by putting the titles behind it. */
void gt_cells_rule(const struct gt_view_grid *grid, int row, int column, int width);
/* `share` of `width` cells are full. NaN: nothing is drawn. */
void gt_cells_bar(const struct gt_view_grid *grid, int row, int column, int width, double share,
                  enum gt_view_style style);
/* Heights of `count` values against `most`, one cell each. NaN: a blank. */
void gt_cells_curve(const struct gt_view_grid *grid, int row, int column, int count, const double *value, double most,
                    enum gt_view_style style);
/* The same, `rows` high. */
void gt_cells_area(const struct gt_view_grid *grid, int row, int column, int count, int rows, const double *value,
                   double most, enum gt_view_style style);
/* A page that lists the keys of `top`, one line each, in place of everything else. */
void gt_cells_keys(const struct gt_view_grid *grid, const char *const *line, size_t count);
/* Show what stands there in another style. */
void gt_cells_restyle(const struct gt_view_grid *grid, int row, int column, int width, enum gt_view_style style);
/* For terminals without UTF-8: every character becomes one of ASCII. */
void gt_cells_to_ascii(const struct gt_view_grid *grid);
/* Rows as lines, without blanks at their ends and empty rows at the end. Returns 0 or -ENOMEM. */
int gt_cells_write(const struct gt_view_grid *grid, struct gt_buffer *out);

#endif
