/* A recording on its way into the tables of a server, and its rows in the format RowBinary. */
#ifndef GT_ENGINE_UPLOAD_H
#define GT_ENGINE_UPLOAD_H

#include "aggregate/summary.h"
#include "blocks/interval.h"
#include "engine/tables.h"
#include "store/minutes.h"
#include "store/store.h"

/* Rows of one table. Their numbers count from 0 in the order of the recording. */
struct gt_upload_rows {
    uint64_t read;        /* number of the next row of the recording */
    uint64_t next, count; /* on the server when it was asked: the highest number + 1, and how many rows */
    uint8_t *is_there;    /* a bit for each row before `next`, if some are missing; else NULL */
};

struct gt_upload {
    char *path;
    struct gt_machine machine; /* with its own copy of the GPUs */
    char job[200];             /* "alps:4242.0" */
    char node[160];            /* in identities of inserts */
    uint32_t source;           /* its rank, or own_source without a rank or if another run has the rank */
    uint32_t own_source;       /* greater than any rank */
    uint16_t day;              /* of the start, since 1970: all rows are in one partition */
    uint64_t version;          /* of the next rows in `trackers` and `finals`; it rises with the samples */
    bool is_left_out;          /* another run has its name on the server */
    bool has_ended;            /* it does not grow any more */
    bool is_there;             /* for the owner of the push */

    /* State of the server when it was asked; reset by every question. */
    bool is_asked;
    bool is_source_known;    /* the source belongs to this recording, or will */
    bool is_announced;       /* `trackers` has a row */
    uint64_t known_version;  /* of `trackers` */
    uint64_t finals_version; /* of `finals` */
    uint64_t finals_count;
    uint64_t sent; /* rows of samples, minutes and calls since then */

    /* Progress. */
    bool is_read;      /* to the end, after it had ended */
    bool is_whole;     /* the server has all rows of samples, minutes and calls */
    bool is_last_sent; /* final values and the last row of `trackers` were sent */
    bool is_shipped;   /* the server has these, too */
    struct gt_upload_rows rows[GT_ENGINE_TABLES];
    struct gt_recording_place place;
    int64_t heard;             /* time of the last sample */
    int64_t epoch_ns;          /* its wall clock minus the monotonic clock */
    struct gt_summary summary; /* of the samples until `place`, if the recording has no outcome */
};

/* Open a recording. `job` names the job; "": as the recording does. */
int gt_upload_open(struct gt_upload **ret, const char *path, const char *job, struct gt_error *error);
void gt_upload_close(struct gt_upload *upload);
/* Read the recording again from its start. */
void gt_upload_restart(struct gt_upload *upload);
/* Get the name of the job of a recording on a server. */
void gt_upload_name_job(char *ret, size_t size, const struct gt_machine *machine, const char *job);

/* The values of one row. Each table reads only its own members (table.def). */
struct gt_row_input {
    const struct gt_upload *upload;
    uint64_t number;
    const struct gt_sample *sample;
    const struct gt_row *row; /* of a GPU or process */
    const struct gt_minute_row *minute;
    const struct gt_interval *call;
    const char *name; /* of the call */
    const struct gt_outcome *outcome;
    int64_t ended; /* of the tracker; 0: unknown */
    double clock_server;
    const char *facts;
    char scope[32]; /* of a final value */
    const char *metric;
    double value;
    const struct gt_provenance *provenance;
};

/* Append one row with the columns that the server has. */
void gt_row_write(struct gt_buffer *out, enum gt_engine_table table, const struct gt_engine_columns *columns,
                  const struct gt_row_input *in);
/* Append everything that a recording knows besides samples, as JSON. */
void gt_upload_facts(struct gt_buffer *out, const struct gt_upload *upload, const struct gt_outcome *outcome);
/* Get the next final value of an outcome from position 0 on. Returns false at the end. */
bool gt_final_next(const struct gt_outcome *outcome, size_t *position, struct gt_row_input *in);

#endif
