/* A recording on its way into the tables of a server. */
#ifndef GT_ENGINE_SHIPMENT_H
#define GT_ENGINE_SHIPMENT_H

#include "aggregate/summary.h"
#include "engine/tables.h"
#include "store/minutes.h"
#include "store/store.h"

struct gt_shipment {
    char *path;
    struct gt_machine machine; /* its GPUs are copied */
    char job[200];             /* "alps:4242.0" */
    char node[160];            /* what identities of inserts call it */
    uint32_t source;
    uint16_t day;           /* on which the tracker began, since 1970: all of its rows are in one partition */
    uint64_t version;       /* of the rows in `trackers` and `finals` that are sent next: it rises with the samples, */
    uint64_t known_version; /* and of those that the server has */
    bool is_source_known;   /* nobody else has it there */
    bool is_left_out;       /* it cannot be sent, which has been told */

    /* Rows of each table: read by now; sent, as far as we know; and as they were when all before was acknowledged. */
    uint64_t read[GT_ENGINE_TABLES], sent[GT_ENGINE_TABLES], sure[GT_ENGINE_TABLES];
    struct gt_recording_place place, sure_place;
    int64_t heard;                   /* the time of the last sample that was read */
    int64_t epoch_ns;                /* its time of day minus the monotonic clock */
    bool is_told;                    /* the row in `trackers` has been sent once */
    uint8_t *hole[GT_ENGINE_TABLES]; /* a bit for each row that the server lacks; NULL: it lacks none before `sent` */

    bool has_ended;               /* nothing comes any more */
    uint64_t finals;              /* how many of them its last version has */
    bool has_finals, has_tracker; /* the server, of that version */
    bool is_shipped;              /* the server has all of it, and has been asked */
    struct gt_summary *live;      /* of one that has no outcome yet, as far as `live_place` */
    struct gt_recording_place live_place;
};

/* Look at a recording. `job` is the name of the job, "" for what the recording says. */
int gt_shipment_open(struct gt_shipment **ret, const char *path, const char *job, struct gt_error *error);
void gt_shipment_close(struct gt_shipment *shipment);
/* Name the job that a recording is of on a server, as gt_shipment_open does. */
void gt_shipment_name_job(char *ret, size_t size, const struct gt_machine *machine, const char *job);
/* The number for a tracker without a rank, and for one whose rank another tracker of the job has. */
uint32_t gt_shipment_own_source(const struct gt_shipment *shipment);
/* Go back to what the server has for sure: nobody knows what became of the rest. */
void gt_shipment_doubt(struct gt_shipment *shipment);

/* ---- Rows ---- */

/* `has` tells which columns the server has. */
void gt_rows_sample(struct gt_buffer *out, const struct gt_engine_columns *columns, const bool *has,
                    const struct gt_shipment *shipment, const struct gt_sample *sample, uint64_t number);
void gt_rows_minute(struct gt_buffer *out, const struct gt_engine_columns *columns, const bool *has,
                    const struct gt_shipment *shipment, const struct gt_minute_row *minute, uint64_t number);
void gt_rows_detail(struct gt_buffer *out, enum gt_engine_table table, const struct gt_engine_columns *columns,
                    const bool *has, const struct gt_shipment *shipment, const struct gt_sample *sample,
                    const struct gt_row *row, uint64_t number);
void gt_rows_tracker(struct gt_buffer *out, const struct gt_shipment *shipment, const struct gt_outcome *outcome,
                     double clock_server);
/* These return how many rows they made. */
size_t gt_rows_finals(struct gt_buffer *out, const struct gt_shipment *shipment, const struct gt_outcome *outcome);
size_t gt_rows_devices(struct gt_buffer *out, const struct gt_shipment *shipment);

#endif
