/* What must happen before what: points in time on lanes (threads of hosts, streams of GPUs), each held by the point
 * before it on its lane and by edges from points of others. A binding edge tells what a point waited for in the end:
 * its time is exactly that of its origin and the weight. Times are ns by the clock of the first rank. */
#ifndef GT_ANALYSE_PATH_PATH_GRAPH_H
#define GT_ANALYSE_PATH_PATH_GRAPH_H

#include "analyse/gpu/collectives.h"
#include "analyse/gpu/gpu.h"

enum gt_path_kind {
    GT_PATH_LOADING, /* everything inside a data loader */
    GT_PATH_OPERATORS,
    GT_PATH_CALLS, /* of the runtime, and from a call to the begin of its work */
    GT_PATH_SYNCHRONIZATION,
    GT_PATH_COMPUTE,
    GT_PATH_COMMUNICATION,
    GT_PATH_COPIES,
    GT_PATH_WAITING, /* in a collective, for the rank that comes last */
    GT_PATH_GAPS,    /* on a stream, behind other work */
    GT_PATH_OTHER,   /* outside of operators and calls */
    GT_PATH_KINDS
};

/* In gt_path_graph.kind beside the kind of what lasts until a point. */
enum {
    GT_PATH_KIND = 15,
    GT_PATH_ALONE = 16,   /* the point before it on its lane does not hold it, but where an edge says so */
    GT_PATH_HELD = 32,    /* it has edges */
    GT_PATH_START = 64,   /* of work on a GPU, or of a collective of hosts */
    GT_PATH_MEETING = 128 /* from here on all ranks are in the collective; the point before is its start */
};

struct gt_path_edge {
    int64_t weight;
    uint32_t to, from, name; /* name: a string or GT_TRACE_NONE */
    unsigned char kind;
    bool is_binding;
};

struct gt_path_work {
    uint32_t start, end, event, call; /* points and events; call GT_TRACE_NONE: it is not known */
    int64_t launched;                 /* INT64_MIN: not known */
};

struct gt_path_lane {
    uint32_t node, file, track; /* node is a place */
    uint32_t from, to;          /* points */
    size_t edge;                /* first of its edges */
    size_t work, work_end;      /* of a stream */
    int64_t ahead;              /* its clock */
    bool is_gpu;
};

struct gt_path_meeting {
    uint32_t point, collective;
};

/* A collective of hosts, on a thread of its own: points. */
struct gt_path_exchange {
    uint32_t begin, end;
};

struct gt_path_graph {
    struct gt_query *query; /* owns what does not grow, and remembers failures */
    int64_t *time;          /* of points, lane by lane */
    uint32_t *name;         /* string of what lasts until a point, or GT_TRACE_NONE */
    unsigned char *kind;
    uint32_t *order; /* the lane of each point in an order that no edge runs against */
    uint32_t points, lanes;
    struct gt_path_lane *lane;
    struct gt_path_edge *edge; /* by `to` */
    size_t edge_count, edge_capacity;
    struct gt_path_work *work;
    size_t work_count;
    struct gt_path_meeting *meeting; /* by point */
    size_t meeting_count;
    struct gt_path_exchange *exchange;
    size_t exchange_count, exchange_capacity;
    uint32_t *latest; /* of each collective: the point at which the last rank came; GT_TRACE_NONE: none met */
    size_t collectives;
    size_t incomplete;   /* collectives in which ranks took part that have no trace */
    size_t cut;          /* other collectives that the trace of a rank does not reach */
    size_t inferred;     /* waits of streams for streams that the trace does not tell */
    struct gt_spans gpu; /* work of GPUs, with its calls */
    const size_t *call;
    struct gt_spans range; /* the time of each node */
};

/* The reader keeps GT_PATH_ARGUMENTS, the first of which has number `first`. The query fails with -ENOMEM or
 * -EOVERFLOW, and gt_path_graph_open returns that. */
#define GT_PATH_ARGUMENTS GT_COLLECTIVE_ARGUMENTS, "wait_on_stream", "wait_on_cuda_event_record_corr_id"
enum { GT_PATH_WAIT_ON_STREAM = 9, GT_PATH_WAIT_ON_RECORD };
int gt_path_graph_open(struct gt_path_graph *graph, const struct gt_analysis_input *input,
                       const struct gt_collectives *collectives, uint32_t first);
void gt_path_graph_close(struct gt_path_graph *graph);

/* Return the lane of a point; the last point of a lane that is not behind a time, or GT_TRACE_NONE; the first edge of a
 * point or one behind it. */
uint32_t gt_path_lane_of(const struct gt_path_graph *graph, uint32_t point);
uint32_t gt_path_at(const struct gt_path_graph *graph, uint32_t lane, int64_t time);
size_t gt_path_edges(const struct gt_path_graph *graph, uint32_t point);
/* Returns the collective of a point that is GT_PATH_MEETING. */
uint32_t gt_path_collective(const struct gt_path_graph *graph, uint32_t point);

/* Append to a list of an owner, or make the query fail. */
#define GT_PATH_APPEND(graph, owner, list, ...) \
    (GT_APPEND_TO(owner, list, __VA_ARGS__) < 0 ? gt_query_fail((graph)->query, -ENOMEM) : (void)0)

/* Add an edge that binds, which replaces the hold of the point before on the lane; one that holds by a weight; and,
 * unless another binds the point, one that binds where a thread goes on that another lane has kept waiting. */
void gt_path_bind(struct gt_path_graph *graph, uint32_t to, uint32_t from, uint32_t name, unsigned kind);
void gt_path_hold(struct gt_path_graph *graph, uint32_t to, uint32_t from, uint32_t name, unsigned kind,
                  int64_t weight);
void gt_path_go_on(struct gt_path_graph *graph, uint32_t to, uint32_t from);

/* What work of GPUs follows, and the calls that wait for it. */
struct gt_path_wait {    /* a call that may wait for a GPU */
    uint32_t event, end; /* `end` is its last point */
    int64_t start;
};
struct gt_path_hosts {
    const struct gt_analysis_input *input;
    uint32_t first;            /* argument */
    const uint32_t *begin;     /* of each event that is a call: its first point */
    const uint32_t *lane_of;   /* of each track, or GT_TRACE_NONE */
    unsigned char *calls;      /* of a name: 1 + enum gt_path_call; 0: not looked at yet */
    struct gt_path_wait *wait; /* by event */
    size_t count, capacity;
};
enum gt_path_call { GT_PATH_NO_WAIT, GT_PATH_WAITS, GT_PATH_COPIES_MEMORY, GT_PATH_RECORDS, GT_PATH_ORDERS };
enum gt_path_call gt_path_call(const struct gt_path_hosts *hosts, uint32_t name);
void gt_path_hold_gpus(struct gt_path_graph *graph, const struct gt_path_hosts *hosts);
/* Threads of the host go on where another stops. */
void gt_path_hold_threads(struct gt_path_graph *graph, const struct gt_analysis_input *input, const uint32_t *lane_of);

#endif
