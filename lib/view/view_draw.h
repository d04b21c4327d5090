/* From numbers to cells: a pure function of a model, of what its user has chosen, and of the size of the screen. */
#ifndef GT_VIEW_VIEW_DRAW_H
#define GT_VIEW_VIEW_DRAW_H

#include "view/grid.h"
#include "view/view_model.h"

enum gt_view_sort {
    GT_VIEW_BY_CPU,
    GT_VIEW_BY_RAM,
    GT_VIEW_BY_PEAK,
    GT_VIEW_BY_GPU,
    GT_VIEW_BY_AGE,
    GT_VIEW_BY_NAME,
    GT_VIEW_SORTS
};

enum gt_view_kind { GT_VIEW_NOTHING, GT_VIEW_BLOCK, GT_VIEW_PROCESS };

/* A row is about one of these. */
struct gt_view_item {
    enum gt_view_kind kind;
    char name[96]; /* of a block */
    pid_t pid;     /* of a process */
};

/* Where on the screen rows are that can be chosen. */
enum { GT_VIEW_PLACES = 256 };
struct gt_view_places {
    struct gt_view_place {
        int row, column, columns;
        struct gt_view_item item;
    } place[GT_VIEW_PLACES];
    size_t count;
};

struct gt_view_choice {
    bool hides_gpus, hides_blocks, hides_processes, hides_curves;
    bool is_flat; /* processes in the order of `sort`, not as a tree */
    enum gt_view_sort sort;
    bool is_backwards, shows_command;
    struct gt_view_item chosen;
    bool is_alone;   /* what is chosen, and nothing else */
    char follow[96]; /* the block in whose latest call times and curves begin; "": none */
    bool is_binary;  /* MiB instead of MB */
    double window;   /* seconds of the curves; 0: from the begin */
    bool is_held, is_help, is_filtering, is_marking;
    char mark[64];       /* the name for this moment, as far as it is typed */
    char filter[64];     /* a part of names of processes and blocks; "": all */
    bool is_still;       /* nobody presses keys */
    const char *message; /* said at the bottom, or NULL */
};

/* `before`: an earlier run at the same time since its begin, or NULL; `places` may be NULL. Returns how many rows there is something to
 * tell in. */
int gt_view_draw_all(const struct gt_view_grid *grid, const struct gt_view_model *model,
                     const struct gt_view_model *before, const struct gt_view_choice *choice,
                     struct gt_view_places *places);

/* Seconds that the job will still take, by what is known best: its own count, an earlier run (`before`, or of the same command), what
 * it was given; NaN: nothing is known. *is_given: it is the last of these. */
double gt_view_left(const struct gt_view_model *model, const struct gt_view_model *before, bool *is_given);
/* One row for a terminal whose others are the job's. */
void gt_view_status_draw(const struct gt_view_grid *grid, const struct gt_view_model *model);

/* ---- The parts ---------------------------------------------------------------------------------------------------- */

struct gt_view_picture {
    struct gt_view_grid grid;
    const struct gt_view_model *model, *before;
    const struct gt_view_choice *choice;
    struct gt_view_places *places;
};

/* A part of the screen. */
struct gt_view_box {
    int row, column, rows, columns;
};

/* Rows that each pane would fill. 0: there is nothing to show. */
int gt_view_gpus_rows(const struct gt_view_picture *picture);
int gt_view_blocks_rows(const struct gt_view_picture *picture);
int gt_view_processes_rows(const struct gt_view_picture *picture);
void gt_view_gpus_draw(const struct gt_view_picture *picture, struct gt_view_box box);
void gt_view_blocks_draw(const struct gt_view_picture *picture, struct gt_view_box box);
void gt_view_processes_draw(const struct gt_view_picture *picture, struct gt_view_box box);
/* Curve of a line of the course up to the moment shown, of the mean of each cell or of its most, in `count` cells; returns the most. */
double gt_view_curve(const struct gt_view_picture *picture, const struct gt_view_model *model, size_t line,
                     bool is_most, int count, double *value);
enum { GT_VIEW_CURVE_MOST = 256 };

/* The time that curves are of: seconds from the begin of the recording. */
void gt_view_span(const struct gt_view_picture *picture, double *begin, double *end);
const struct gt_view_block *gt_view_block_named(const struct gt_view_model *model, const char *name);
/* In the units that were chosen; returns `ret`. */
const char *gt_view_bytes(const struct gt_view_choice *choice, char *ret, double bytes);

/* Lists what can be chosen, blocks before processes. Returns how many, and *ret to be freed; 0 without memory. */
size_t gt_view_items(const struct gt_view_picture *picture, struct gt_view_item **ret);
bool gt_view_item_is(const struct gt_view_item *item, const struct gt_view_item *other);
/* Draws what is chosen, alone, in the rows from `row` on. Returns the row behind it. */
int gt_view_alone_draw(const struct gt_view_picture *picture, int row, int rows);

/* Tables of panes: columns from right to left but for the first ones. */
struct gt_view_column {
    const char *title;
    int width;    /* 0: what is left; < 0: left out */
    bool is_left; /* its texts begin at the left */
};
struct gt_view_table {
    const struct gt_view_picture *picture;
    struct gt_view_box box;
    const struct gt_view_column *column;
    int count;
};
void gt_view_titles(const struct gt_view_table *table);
/* Where column `index` begins, and how wide it is, in *width. */
int gt_view_column_at(const struct gt_view_table *table, int index, int *width);
void gt_view_field(const struct gt_view_table *table, int row, int index, enum gt_view_style style, const char *text);

#endif
