/* How the nodes of a report are held; private to lib/report. */
#ifndef GT_REPORT_NODE_H
#define GT_REPORT_NODE_H

#include "report/report.h"

union gt_cell {
    double number;
    int64_t integer;
    char *text;
};

struct gt_table_column {
    char *key, *title, *unit;
    enum gt_cell_kind kind;
};

enum gt_cell_mark { GT_CELL_PRESENT, GT_CELL_MISSING, GT_CELL_ORIGINAL_ZERO };

struct gt_table {
    struct gt_table_column *column;
    size_t columns;
    union gt_cell *cell; /* row by row */
    uint8_t *mark;       /* enum gt_cell_mark */
    size_t cells, capacity;
};

struct gt_series_line {
    char *key, *title;
    struct gt_point *point;
    size_t points, capacity;
};

struct gt_series {
    char *x_unit;
    struct gt_series_line *line;
    size_t lines;
    struct gt_band *band;
    size_t bands, band_capacity;
};

struct gt_node {
    struct gt_report *report;
    enum gt_node_kind kind;
    unsigned flags;
    char *key, *title, *unit;
    struct gt_node *first, *last, *next;
    union {
        double number;
        int64_t integer;
        bool boolean;
        char *text;
        struct gt_table table;
        struct gt_series series;
    };
};

/* A child of `parent`, NULL when that is NULL or memory is short (then the report has failed). */
struct gt_node *gt_node_add(struct gt_node *parent, enum gt_node_kind kind, const char *key, const char *title,
                            const char *unit);
/* Remember that memory was short; returns -ENOMEM. */
int gt_node_fail(struct gt_node *node);
void gt_table_release(struct gt_table *table);
void gt_series_release(struct gt_series *series);
/* Room for one more element in an array that doubles; NULL without memory, and the array is as before. */
void *gt_node_grow(void *array, size_t count, size_t *capacity, size_t size);

#endif
