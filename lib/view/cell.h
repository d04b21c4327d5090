/* A cell of a screen holds one character and its style. */
#ifndef GT_VIEW_CELL_H
#define GT_VIEW_CELL_H

#include <stdint.h>

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

#endif
