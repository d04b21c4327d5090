/* The tables of a server: columns, in their order, and the statements that make them. */
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
    GT_ENGINE_SAMPLES,
    GT_ENGINE_MINUTES,
    GT_ENGINE_GPU_SAMPLES,
    GT_ENGINE_PROCESS_SAMPLES,
    GT_ENGINE_CALLS,
    GT_ENGINE_TABLES
};

/* Rows of these have numbers: their places in the recording. */
static inline bool gt_engine_is_numbered(enum gt_engine_table table)
{
    return table >= GT_ENGINE_SAMPLES;
}

struct gt_engine_column {
    char name[64];
    const char *type;
    const char *codec; /* of servers that have codecs; NULL: none */
    int scope;         /* enum gt_scope; -1: it is no metric */
    bool is_later;     /* it is no metric, and rows can do without it */
    enum gt_metric_id metric;
};

struct gt_engine_columns {
    size_t count;
    struct gt_engine_column column[16 + GT_SCOPE_COUNT * GT_METRIC_COUNT];
};

const char *gt_engine_table_name(enum gt_engine_table table);
void gt_engine_columns(struct gt_engine_columns *ret, enum gt_engine_table table);
/* Returns what a metric is multiplied with before it is stored as a whole number. */
double gt_engine_scale(enum gt_metric_id metric);
/* Append the statement that makes a table, without a semicolon. */
void gt_engine_create(struct gt_buffer *sql, enum gt_engine_table table, const struct gt_dialect *dialect);
/* The same for all, with semicolons. */
void gt_engine_create_all(struct gt_buffer *sql, const struct gt_dialect *dialect);
/* Make what is missing of them. */
int gt_engine_make(struct gt_server *server, struct gt_error *error);

/* Which columns of a table a server has; true[i] for column i. What is missing is added where the user may; where not, `left_out` gets
 * the names. */
int gt_engine_find_columns(struct gt_server *server, enum gt_engine_table table,
                           const struct gt_engine_columns *columns, bool *has, struct gt_buffer *left_out,
                           struct gt_error *error);

/* The columns of a database, as far as the server tells. Tables made by an earlier version lack those of metrics that came later. */
struct gt_engine_listed {
    struct gt_buffer text;
};
/* Keeps what is asked in it until it is released; where the server does not tell, it has them all. */
void gt_engine_list(struct gt_engine_listed *ret, struct gt_server *server);
bool gt_engine_has(const struct gt_engine_listed *listed, const char *table, const char *column);

#endif
