/* A push, for the files that it is made of. */
#ifndef GT_ENGINE_PUSH_STATE_H
#define GT_ENGINE_PUSH_STATE_H

#include "engine/push.h"
#include "engine/server.h"

enum { GT_BATCH_ROWS = 10000, GT_BATCH_BYTES = 8 << 20 };

/* Rows on their way into a table. */
struct gt_batch {
    struct gt_engine_columns columns;
    bool has[sizeof((struct gt_engine_columns *)0)->column /
             sizeof(struct gt_engine_column)]; /* of the server's table */
    bool is_known;                             /* these two are */
    struct gt_buffer sql;                      /* all in front of the rows */
    struct gt_buffer rows;
    size_t count;
    char identity[500]; /* of the first row */
};

struct gt_push {
    struct gt_server *server;
    struct gt_push_options options;
    char job[sizeof((struct gt_address *)0)->jobs]; /* that recordings get; "": their own */
    struct gt_shipment **shipment;
    size_t count, capacity;
    struct gt_batch *batch[GT_ENGINE_TABLES];
    bool is_in_doubt;
    unsigned repairs; /* times that holes were filled */
    double clock_server;
    double told_at; /* when heartbeats were sent; of the monotonic clock */
    unsigned long long rows;
};

/* ---- push_read.c: batches ---- */

/* The batch of a table, whose columns are asked for when it is first needed. NULL comes with an error. */
struct gt_batch *gt_push_batch(struct gt_push *push, enum gt_engine_table table, int *status, struct gt_error *error);
/* A row has been appended: the first one names the batch. Sends all when there is enough. */
int gt_push_added(struct gt_push *push, struct gt_shipment *shipment, enum gt_engine_table table, uint64_t number,
                  size_t rows, struct gt_error *error);
int gt_push_send(struct gt_push *push, enum gt_engine_table table, struct gt_error *error);
int gt_push_send_all(struct gt_push *push, struct gt_error *error);
void gt_push_drop_batches(struct gt_push *push);

/* ---- push_read.c: rows ---- */

/* Read what a recording has behind its place, and add the rows that the server lacks. */
int gt_push_read(struct gt_push *push, struct gt_shipment *shipment, struct gt_error *error);
/* The same for minutes and code blocks, of which there are all at the end. */
int gt_push_read_minutes(struct gt_push *push, struct gt_shipment *shipment, struct gt_error *error);
int gt_push_read_calls(struct gt_push *push, struct gt_shipment *shipment, struct gt_error *error);
/* What is known of its end, or of its course so far. The caller releases it by gt_push_release_outcome. */
int gt_push_outcome(struct gt_shipment *shipment, struct gt_outcome *ret, struct gt_error *error);
void gt_push_release_outcome(struct gt_outcome *outcome);

/* ---- push_ask.c ---- */

/* Nothing of ours runs on the server, and all that was not sure is known. */
int gt_push_settle(struct gt_push *push, struct gt_error *error);
/* Count the rows of what has been read to the end; what the server lacks becomes a hole. Returns how many have one. */
int gt_push_count(struct gt_push *push, struct gt_error *error);
/* Which shipments have their finals of this version on the server, and the row of their tracker? Sets has_finals and has_tracker. */
int gt_push_find_last(struct gt_push *push, struct gt_error *error);

static inline bool gt_push_is_closing(const struct gt_shipment *shipment)
{
    return !shipment->is_left_out && !shipment->is_shipped && shipment->has_ended;
}

#endif
