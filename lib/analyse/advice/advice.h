/* Advice is sentences with the time that could be won. A rule looks at one matter and says something only where it
 * is wrong. */
#ifndef GT_ANALYSE_ADVICE_ADVICE_H
#define GT_ANALYSE_ADVICE_ADVICE_H

#include <math.h>

#include "analyse/gpu/collectives.h"
#include "analyse/gpu/lists.h"
#include "analyse/path/path_graph.h"
#include "analyse/trace/flight.h"
#include "analyse/trace/ranks.h"

/* So much could be won at most: a share of the time of a GPU, rank or job, and that time. NaN: no time, or not known. */
struct gt_gain {
    double percent, us;
    uint32_t gpu; /* of one device: its place and 1; 0: not of one alone */
};
#define GT_NO_GAIN ((struct gt_gain){NAN, NAN, 0})
struct gt_gain gt_gain_of(double part, double whole); /* of ns; no more than the whole can be won */
/* The time of a rank is that of its GPUs, from their first work to their last, or of its steps where that is longer, and all that was
 * recorded where it has no GPU; of a node GT_TRACE_NONE, that of the rank with the longest: another's trace may be cut. */
struct gt_adviser;
struct gt_gain gt_gain_of_rank(const struct gt_adviser *adviser, uint32_t node, double part);
/* Of the same, what one GPU may win. */
struct gt_gain gt_gain_of_gpu(const struct gt_adviser *adviser, double part, uint32_t node, uint32_t device);

/* What a finding is about. Of findings that tell of one loss the one that tells most of its cause stays. */
enum gt_loss_kind {
    GT_LOSS_OTHER, /* never that of another finding */
    GT_LOSS_LOADING,
    GT_LOSS_HOST,
    GT_LOSS_COMMUNICATION,
    GT_LOSS_COPIES
};
enum gt_loss_detail { GT_LOSS_OF_PATH, GT_LOSS_OF_DEVICE, GT_LOSS_OF_PART, GT_LOSS_OF_STRAGGLER };
struct gt_loss {
    enum gt_loss_kind kind;
    enum gt_loss_detail detail;
    uint32_t node; /* a place, or GT_TRACE_NONE: of the job */
};

struct gt_advice {
    struct gt_gain gain;
    struct gt_loss loss;
    const char *see;
    const char *matter; /* the format of the sentence: the same on all nodes */
    char *sentence;
    bool is_repeated; /* others tell of the same loss in more detail */
    bool is_hidden;   /* it is of a node that is not shown */
};

/* Why a rank keeps others waiting is told with it, and of the rank itself only what goes beyond that. */
struct gt_blame {
    struct gt_loss loss;
    double ns; /* what the rank has of it more than the others, on each GPU */
};

/* What holds the steps of a rank, or (node GT_TRACE_NONE) those of all ranks: ns of their critical paths. */
struct gt_held_steps {
    uint32_t node;
    double whole, part[GT_PATH_KINDS];
};

struct gt_adviser {
    const struct gt_analysis_input *input;
    struct gt_rank_figures *rank;
    unsigned char *found; /* of each place of a node: bits for the parts of names that its events have */
    double *time;         /* of each: what its costs are shares of; NaN not known */
    size_t ranks;
    struct gt_advice *advice;
    size_t count, capacity;
    size_t minor;            /* sentences left out, for they tell of less than 5 % */
    struct gt_spans awaited; /* exposed communication that is waiting for late ranks: keys node, device; from 0 on */
    bool is_pipeline;        /* ranks are stages of one, and share no collectives */
    struct gt_blame *blame;
    size_t blame_count, blame_capacity;
    struct gt_held_steps *held;
    size_t held_count, held_capacity;
    int status;               /* negative errno of what failed; rules do nothing then */
    size_t absent, absent_of; /* so many ranks at most of so many of a communicator have no trace */
};

/* Adds a sentence, and returns true, unless its gain is below 5 %. `see` names the analysis that shows the numbers. */
__attribute__((format(printf, 4, 5))) bool gt_advise(struct gt_adviser *adviser, struct gt_gain gain, const char *see,
                                                     const char *format, ...);
/* Returns true for the format of sentences that begin with their node. */
bool gt_advice_names_node(const char *matter);
/* Says what loss the last sentence is of; `told` is what gt_advise returned for it. */
void gt_advice_is(struct gt_adviser *adviser, bool told, struct gt_loss loss);
/* Returns the time of a device in adviser->awaited; 0: none. */
double gt_advice_awaited(const struct gt_adviser *adviser, uint32_t node, uint32_t device);
/* Returns the ns of a loss of a node that are told of it as of a straggler. */
double gt_advice_blamed(const struct gt_adviser *adviser, uint32_t node, enum gt_loss_kind kind);
/* Time of another finding is named in a sentence if it is at least 1 % of the time. */
static inline bool gt_advice_is_worth_naming(double part, double whole)
{
    return part > 0 && part >= 0.01 * whole;
}
/* Returns how that is told where it is taken out of another sentence. */
const char *gt_advice_apart(const struct gt_adviser *adviser);
double gt_advice_median_of_others(const struct gt_numbers *sorted, double own);
/* Writes " (41 % of that in aten::item within checkpoint, in 2 of 20 steps)", of the time in which the GPUs of a node wait for the
 * host; nothing where they do not. */
struct gt_host_waits;
void gt_advice_waits_in(const struct gt_adviser *adviser, const struct gt_host_waits *waits, uint32_t node, char *text,
                        size_t size);
/* Returns what stands before a device: those of some tools' traces are named "GPU 0", others have numbers. */
const char *gt_advice_gpu(const char *device);
/* Returns true where an event of the node, a place, has a name with `part` in it: what is there is not recommended. */
bool gt_advice_finds(const struct gt_adviser *adviser, uint32_t node, const char *part);

/* The rules read these arguments of events. */
#define GT_ADVICE_ARGUMENTS GT_MEMORY_ARGUMENTS, "num_workers", GT_FLIGHT_ARGUMENTS, GT_PATH_ARGUMENTS
enum {
    GT_ADVICE_NUM_WORKERS = 6,
    GT_ADVICE_FLIGHT,
    GT_ADVICE_COLLECTIVES = GT_ADVICE_FLIGHT + GT_FLIGHT_ARGUMENT_COUNT
};

const char *gt_advice_times(size_t count, char text[32]); /* "once", "2 times" */
#define GT_TIMES(count) gt_advice_times(count, (char[32]){0})

/* Writes what costs are a share of: "% of the time of GPUs". */
const char *gt_advice_base(const struct gt_adviser *adviser, char text[160]);

/* Finds the ranks, runs all rules, and sorts what they say: what could win the most time first. Returns 0 or a negative errno. */
int gt_advise_all(struct gt_adviser *adviser);
void gt_adviser_release(struct gt_adviser *adviser);

void gt_advise_idle(struct gt_adviser *adviser);       /* why GPUs stood still */
void gt_advise_uses(struct gt_adviser *adviser);       /* communication and copies that nothing hides */
void gt_advise_launches(struct gt_adviser *adviser);   /* kernels shorter than their launch; full queues */
void gt_advise_api(struct gt_adviser *adviser);        /* calls that make the host or the GPU wait */
void gt_advise_memory(struct gt_adviser *adviser);     /* little left, reserved for nothing, growing */
void gt_advise_stragglers(struct gt_adviser *adviser); /* ranks that others wait for */
void gt_advise_ends(struct gt_adviser *adviser);       /* traces that end before those of the other ranks */
void gt_advise_hangs(struct gt_adviser *adviser); /* collectives that not all ranks have finished, or called alike */
void gt_advise_critical_path(struct gt_adviser *adviser); /* without what steps would be shortest */
/* Does the same by who comes last to collectives. Returns false where these do not tell it; steps tell it then if ranks have
 * no collectives in common. */
bool gt_advise_arrivals(struct gt_adviser *adviser, bool *any_in_common);
/* Ranks that are stages of a pipeline, by their sends and receives: names the slowest. Returns false where there are none. */
bool gt_advise_pipeline(struct gt_adviser *adviser);
/* Returns true for a row of gt_communication_times at least half of whose time is sends and receives. */
bool gt_advice_is_pipeline(const struct gt_rows *times, size_t row);

/* For whom ranks wait at collectives. Some may come last together, and who comes last may itself have been held by another
 * collective just before: then it is who that one waited for. */

/* Ranks are places in gt_collectives.rank. */
struct gt_late_ranks {
    size_t *blamed; /* of each collective: the first of the ranks that it waits for; SIZE_MAX: nobody stands out */
    size_t *root;   /* of each collective: that in which they were late by themselves, mostly the same */
    size_t *first;  /* of each rank: the first of those that mostly come last together with it, or it alone */
    bool *is_held; /* of each arrival: it is with the last, because the rank waited in another collective just before */
};

/* Returns 0 or -ENOMEM. */
int gt_late_ranks_find(const struct gt_collectives *all, struct gt_late_ranks *ret);
void gt_late_ranks_release(struct gt_late_ranks *late);

static inline size_t gt_late_rank_of(const struct gt_collectives *all, const struct gt_arrival *arrival)
{
    return (size_t)(gt_collectives_rank(all, arrival->node) - all->rank);
}

/* Does any rank wait for longer than clocks may be wrong? */
static inline bool gt_is_waited_in(const struct gt_collective *collective)
{
    return (double)(collective->last - collective->first) > collective->error;
}

#endif
