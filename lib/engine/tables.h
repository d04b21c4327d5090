/* The tables of a server: columns in their order, and the statements that create them. */
#ifndef GT_ENGINE_TABLES_H
#define GT_ENGINE_TABLES_H

#include <stdbool.h>

#include "base/buffer.h"
#include "engine/server.h"
#include "schema/metric.h"

enum gt_engine_table {
    GT_ENGINE_TRACKERS,
    GT_ENGINE_FINALS,
    GT_ENGINE_DEVICES,
    GT_ENGINE_SAMPLES, /* from here on, rows are numbered by their order in the recording */
    GT_ENGINE_MINUTES,
    GT_ENGINE_GPU_SAMPLES,
    GT_ENGINE_PROCESS_SAMPLES,
    GT_ENGINE_CALLS,
    GT_ENGINE_TABLES
};

struct gt_engine_column {
    char name[64];
    const char *type;
    const char *codec; /* for modern servers; NULL: none */
    int scope;         /* enum gt_scope; -1: not a metric */
    bool is_later;     /* not a metric, and not in tables of earlier versions */
    enum gt_metric_id metric;
};

enum { GT_ENGINE_COLUMNS = 40 + GT_SCOPE_COUNT * GT_METRIC_COUNT }; /* upper bound */

struct gt_engine_columns {
    size_t count;
    struct gt_engine_column column[GT_ENGINE_COLUMNS];
    bool has[GT_ENGINE_COLUMNS]; /* whether the server's table has it, after gt_engine_find_columns */
};

const char *gt_engine_table_name(enum gt_engine_table table);
void gt_engine_columns(struct gt_engine_columns *ret, enum gt_engine_table table);
/* Returns the factor by which a metric is stored as an integer. */
double gt_engine_scale(enum gt_metric_id metric);

/* Append the statements that create the tables, with semicolons, and run them on a server. NULL: a current server, and
 * they are not run. */
int gt_engine_make(struct gt_buffer *sql, struct gt_server *server, struct gt_error *error);

/* List the columns of a database. Tables of earlier versions lack metrics of later ones. */
int gt_engine_list(struct gt_answer *ret, struct gt_server *server, struct gt_error *error);
/* Returns true for every column if the list is empty, as after an error. */
bool gt_engine_has(const struct gt_answer *listed, const char *table, const char *column);

/* Find out which columns the server's table has, and add missing ones if the user may. `left_out` gets the names of
 * other missing metrics. -ENOENT: no such table. -EINVAL: a column is missing that rows need. */
int gt_engine_find_columns(struct gt_server *server, enum gt_engine_table table, struct gt_engine_columns *columns,
                           struct gt_buffer *left_out, struct gt_error *error);

#endif
