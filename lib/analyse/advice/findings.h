/* Findings: what costs time, or is wrong, on a node, on one of its devices or in the whole job. A rule looks at one
 * subject and adds a finding only where it is at least 5 % of the time. */
#ifndef GT_ANALYSE_ADVICE_FINDINGS_H
#define GT_ANALYSE_ADVICE_FINDINGS_H

#include <math.h>

#include "analyse/gpu/collectives.h"
#include "analyse/gpu/gpu.h"
#include "analyse/gpu/lists.h"
#include "analyse/path/path_graph.h"
#include "analyse/trace/flight.h"
#include "analyse/trace/ranks.h"

/* Each has a line in the table of findings.c. */
enum gt_rule {
    GT_RULE_LOADING,
    GT_RULE_ITERATORS,
    GT_RULE_SLOW_FETCHES,
    GT_RULE_FUNCTION,
    GT_RULE_ALLOCATION_CALLS,
    GT_RULE_BLOCKING_COPIES,
    GT_RULE_PAGEABLE_COPIES,
    GT_RULE_THROTTLED,
    GT_RULE_LOW_USE,
    GT_RULE_STORAGE_WAIT,
    GT_RULE_FULL_MEMORY,
    GT_RULE_PRESSURE_IO,
    GT_RULE_PRESSURE_CPU,
    GT_RULE_PRESSURE_MEMORY,
    GT_RULE_BUSY_CPUS,
    GT_RULE_IDLE_ENERGY,
    GT_RULE_IDLE_LOADING,
    GT_RULE_IDLE_HOST,
    GT_RULE_IDLE_OTHER,
    GT_RULE_EXPOSED_SENDS,
    GT_RULE_EXPOSED_COMMUNICATION,
    GT_RULE_EXPOSED_COPIES,
    GT_RULE_SHORT_WORK,
    GT_RULE_FULL_QUEUE,
    GT_RULE_LITTLE_MEMORY,
    GT_RULE_FRAGMENTS,
    GT_RULE_GROWTH,
    GT_RULE_SLOW_STEPS,
    GT_RULE_FEW_LONG_STEPS,
    GT_RULE_LAST_BY_TIME,
    GT_RULE_SLOW_STAGE,
    GT_RULE_LATE_RANKS,
    GT_RULE_POOLED_LATE,
    GT_RULE_UNEVEN,
    GT_RULE_SHORT_TRACE,
    GT_RULE_OPEN_COLLECTIVE,
    GT_RULE_UNLIKE_COLLECTIVE,
    GT_RULE_PATH,                                            /* and the kind: enum gt_path_kind */
    GT_RULE_PATH_WITH_ABSENT = GT_RULE_PATH + GT_PATH_KINDS, /* communication, where ranks may be waited for */
    GT_RULES
};

/* Findings that share a cause on one node are of the same time; the most detailed stays. */
enum gt_cause {
    GT_CAUSE_OTHER, /* shared with no other finding */
    GT_CAUSE_LOADING,
    GT_CAUSE_HOST,
    GT_CAUSE_COMMUNICATION,
    GT_CAUSE_COPIES
};
enum gt_finding_detail { GT_DETAIL_PATH, GT_DETAIL_DEVICE, GT_DETAIL_PART, GT_DETAIL_STRAGGLER };

/* The maximum saving: a share of the time of a GPU, rank or job, and that time. NaN: no time, or an unknown one. */
struct gt_saving {
    double percent, us;
};
#define GT_NO_SAVING ((struct gt_saving){NAN, NAN})

/* Places; GT_TRACE_NONE: the whole job, or no device alone. */
struct gt_where {
    uint32_t node, device;
};
#define GT_IN_JOB ((struct gt_where){GT_TRACE_NONE, GT_TRACE_NONE})
#define GT_ON_NODE(node) ((struct gt_where){node, GT_TRACE_NONE})

struct gt_finding {
    enum gt_rule rule;
    struct gt_where where;
    struct gt_saving saving;
    enum gt_cause cause; /* of the rule, unless the rule sets another */
    uint32_t cause_node;
    char *sentence;   /* begins with node and device, if it has these */
    bool is_repeated; /* others of the same cause have more detail */
};

/* Time of a node that a finding over a straggler accounts for, in ns of each GPU: other findings leave it out. */
struct gt_attributed {
    enum gt_cause cause;
    uint32_t node;
    double ns;
};

/* What holds the steps of a rank, or (node GT_TRACE_NONE) those of all ranks: ns of their critical paths. */
struct gt_held_steps {
    uint32_t node;
    double whole, part[GT_PATH_KINDS];
};

struct gt_findings {
    const struct gt_analysis_input *input;
    struct gt_rank_figures *rank;
    unsigned char *found; /* of each place of a node: bits for the parts of names that its events have */
    double *time;         /* of each rank: what its costs are shares of; NaN unknown */
    size_t ranks;
    size_t worst[GT_RANK_FIGURES]; /* a rank, or SIZE_MAX, as of gt_ranks_worst */
    struct gt_finding *finding;
    size_t count, capacity;
    size_t minor;            /* findings below 5 %, which are left out */
    struct gt_spans awaited; /* exposed communication that is waiting for late ranks: keys node, device; from 0 on */
    bool is_pipeline;        /* ranks are stages of one, and share no collectives */
    struct gt_attributed *attributed;
    size_t attributed_count, attributed_capacity;
    struct gt_held_steps *held;
    size_t held_count;
    int status;               /* negative errno of what failed; rules do nothing then */
    size_t absent, absent_of; /* up to this number of ranks of a communicator of this size have no trace */
};

/* Finds the ranks, runs all rules, and sorts the findings: the greatest saving first, those without a time last.
 * Returns 0 or a negative errno. */
int gt_findings_find(struct gt_findings *findings);
void gt_findings_release(struct gt_findings *findings);
/* Writes what costs are a share of: "% of the time of GPUs". */
const char *gt_findings_base(const struct gt_findings *findings, char text[160]);
/* Returns the analyses that show the numbers of a rule, "idle, operators". */
const char *gt_rule_see(enum gt_rule rule);

/* Adds a finding unless its saving is below 5 %: then, and after a failure, NULL. The sentence goes on behind "node: "
 * or "node: GPU 0". The result is valid until the next call. */
__attribute__((format(printf, 5, 6))) struct gt_finding *gt_finding_add(struct gt_findings *findings, enum gt_rule rule,
                                                                        struct gt_where where, struct gt_saving saving,
                                                                        const char *format, ...);
struct gt_saving gt_saving_of(double part, double whole); /* of ns; at most the whole */
/* Returns the saving of `part` ns. The time of a rank is that of its GPUs, from their first work to their last, or of
 * its steps where that is longer, and all that was recorded where it has no GPU; of a node GT_TRACE_NONE, that of the
 * rank with the longest: another's trace may be cut. */
struct gt_saving gt_saving_on(const struct gt_findings *findings, uint32_t node, double part);
/* The same of time of the host that holds GPUs up: at most the idle time of the device, or of the most idle one of the
 * node. */
struct gt_saving gt_saving_of_idle(const struct gt_findings *findings, struct gt_where where, double part);

/* Returns the time of a device in findings->awaited; 0: none. */
double gt_awaited_time(const struct gt_findings *findings, uint32_t node, uint32_t device);
double gt_attributed_time(const struct gt_findings *findings, uint32_t node, enum gt_cause cause);
void gt_attribute_time(struct gt_findings *findings, struct gt_attributed attributed);
/* Time of another finding is named in a sentence if it is at least 1 % of the time. */
static inline bool gt_is_worth_naming(double part, double whole)
{
    return part > 0 && part >= 0.01 * whole;
}
/* Returns the words for time of a straggler that another sentence leaves out. */
const char *gt_words_apart(const struct gt_findings *findings);
/* Writes " (41 % of that in aten::item within checkpoint, in 2 of 20 steps)", of the time in which the GPUs of a node
 * wait for the host; nothing where they do not. */
void gt_write_host_wait(const struct gt_findings *findings, uint32_t node, char *text, size_t size);
/* Returns true where an event of the node has a name with `part` in it: what is there is not recommended. */
bool gt_findings_has_name(const struct gt_findings *findings, uint32_t node, const char *part);
/* Returns true where work of GPUs of the node was recorded. */
bool gt_findings_has_gpu_work(const struct gt_findings *findings, uint32_t node);

const char *gt_times_words(size_t count, char text[32]); /* "once", "2 times" */
#define GT_TIMES(count) gt_times_words(count, (char[32]){0})

/* The rules read these arguments of events. */
#define GT_RULE_ARGUMENTS GT_MEMORY_ARGUMENTS, "num_workers", GT_FLIGHT_ARGUMENTS, GT_PATH_ARGUMENTS
enum { GT_RULE_NUM_WORKERS = 6, GT_RULE_FLIGHT, GT_RULE_COLLECTIVES = GT_RULE_FLIGHT + GT_FLIGHT_ARGUMENT_COUNT };

/* ---- rules ---- */

void gt_rules_loader(struct gt_findings *findings);
void gt_rules_functions(struct gt_findings *findings);
void gt_rules_api(struct gt_findings *findings);     /* calls that make the host or the GPU wait */
void gt_rules_samples(struct gt_findings *findings); /* of SMDebug's system metrics, and of our own recordings */
void gt_rules_idle(struct gt_findings *findings);
void gt_rules_uses(struct gt_findings *findings); /* communication and copies that nothing hides */
void gt_rules_launches(struct gt_findings *findings);
void gt_rules_memory(struct gt_findings *findings);
void gt_rules_stragglers(struct gt_findings *findings);
void gt_rules_ends(struct gt_findings *findings);  /* traces that end before those of the other ranks */
void gt_rules_hangs(struct gt_findings *findings); /* collectives that not all ranks have finished, or called alike */
void gt_rules_path(struct gt_findings *findings);
/* Finds stragglers by who comes last to collectives. Returns false where these do not show it; steps do then if ranks
 * have no collectives in common. */
bool gt_rules_arrivals(struct gt_findings *findings, bool *any_in_common);
/* Finds the slowest stage of a pipeline, by sends and receives. Returns false where there is no pipeline. */
bool gt_rules_pipeline(struct gt_findings *findings);
/* Returns true for a row of gt_communication_times at least half of whose time is sends and receives. */
bool gt_is_pipeline(const struct gt_rows *times, size_t row);

#endif
