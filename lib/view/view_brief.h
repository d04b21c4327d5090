/* A job as one row of a list: what `top` and the list of `serve` show of each. */
#ifndef GT_VIEW_VIEW_BRIEF_H
#define GT_VIEW_VIEW_BRIEF_H

#include "schema/human.h"
#include "view/grid.h"

struct gt_view_model;

enum gt_view_brief_column {
    GT_VIEW_BRIEF_TIME,
    GT_VIEW_BRIEF_MEMORY,
    GT_VIEW_BRIEF_PEAK,
    GT_VIEW_BRIEF_CPU,
    GT_VIEW_BRIEF_GPU,
    GT_VIEW_BRIEF_STATE,
    GT_VIEW_BRIEF_COLUMNS
};
extern const char *const gt_view_brief_titles[GT_VIEW_BRIEF_COLUMNS];
struct gt_view_brief {
    char name[16]; /* set by the caller: what the user types for the job */
    char command[512];
    char text[GT_VIEW_BRIEF_COLUMNS][GT_HUMAN_SIZE]; /* "": missing */
};
/* Fill all but the name. */
void gt_view_brief_fill(struct gt_view_brief *ret, const struct gt_view_model *model);
/* The same of a recording that is complete, without reading its samples. */
int gt_view_brief_read(struct gt_view_brief *ret, const char *path, struct gt_error *error);
/* Draw it into the first row of a grid. NULL: the titles. */
void gt_view_brief_draw(const struct gt_view_grid *grid, const struct gt_view_brief *brief);

#endif
