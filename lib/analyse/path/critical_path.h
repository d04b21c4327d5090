/* The critical path of each step: from its end back to its begin, at each point to what it waited for in the end. The
 * pieces of a path sum to the step. Of each rank, where waiting for other ranks is a piece of its own; and of the job,
 * which goes on at the rank that came last. Times are ns by the clock of the first rank. */
#ifndef GT_ANALYSE_PATH_CRITICAL_PATH_H
#define GT_ANALYSE_PATH_CRITICAL_PATH_H

#include "analyse/path/path_graph.h"

struct gt_path_piece {
    int64_t start, end;
    uint32_t lane, name; /* name: a string or GT_TRACE_NONE */
    enum gt_path_kind kind;
};

struct gt_path_anchor { /* a moment: so long behind a point */
    uint32_t point;
    int64_t rest;
};

struct gt_path_step {
    struct gt_keyed_span span; /* keys: node (GT_TRACE_NONE: of the job), mode, number */
    bool is_whole_node;
    size_t piece, piece_end;
    struct gt_path_anchor begin;  /* of the host */
    struct gt_path_anchor before; /* of a first step: the end of earlier work of GPUs */
    size_t end, end_end;          /* anchors: the latest of them is the end */
    size_t member, member_end;    /* of the job: its steps of ranks, by number */
};

/* The steps of a node, or of the job. */
struct gt_path_owner {
    uint32_t node; /* GT_TRACE_NONE: of the job, or of no known node */
    bool is_job, is_whole_node;
    size_t from, to;
    int64_t whole, part[GT_PATH_KINDS]; /* ns of the steps, and of their paths by kind */
};

struct gt_critical_path {
    struct gt_path_graph graph;
    struct gt_path_step *step;   /* of ranks, node by node, then of the job */
    size_t ranks, steps;         /* steps of ranks, and all */
    struct gt_path_owner *owner; /* that of the job is the last */
    uint32_t owners;
    bool has_job;
    struct gt_path_piece *piece;
    size_t piece_count, piece_capacity;
    struct gt_path_anchor *anchor;
    size_t anchor_count, anchor_capacity;
    size_t *member;
    struct gt_path_replay *replay; /* memory for gt_critical_path_what_if */
};

/* The reader keeps GT_PATH_ARGUMENTS, the first of which has number `first`. Returns 0, -ENOMEM or -EOVERFLOW. */
int gt_critical_path_find(struct gt_critical_path *path, const struct gt_analysis_input *input, uint32_t first);
void gt_critical_path_close(struct gt_critical_path *path);
const char *gt_path_kind_name(enum gt_path_kind kind);

/* What takes no time: a kind (GT_PATH_KINDS: none) or a name (a string; GT_TRACE_NONE: none). */
struct gt_path_what {
    enum gt_path_kind kind;
    uint32_t name;
};
/* Finds how long the steps of each owner would be in all: the longest way through the whole graph is sought anew, from
 * the begin of the trace on. `length` has path->owners places; those of ranks are found, or (`of_job`) that of the
 * job. */
void gt_critical_path_what_if(const struct gt_critical_path *path, const struct gt_path_what *what, bool of_job,
                              int64_t *length);

#endif
