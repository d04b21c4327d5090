/* Dumps of NCCL's flight recorder: the collectives that some ranks have not finished, begun or called, or called otherwise. */
#ifndef GT_ANALYSE_TRACE_FLIGHT_H
#define GT_ANALYSE_TRACE_FLIGHT_H

#include "analyse/trace/analysis.h"

/* An analysis has the reader keep these, one behind the other. */
#define GT_FLIGHT_ARGUMENTS "state", "process_group", "number", "is_p2p", "input_sizes"
enum { GT_FLIGHT_ARGUMENT_COUNT = 5 };

enum gt_flight_state {
    GT_FLIGHT_SCHEDULED,
    GT_FLIGHT_STARTED,
    GT_FLIGHT_COMPLETED,
    GT_FLIGHT_NOT_CALLED,
    GT_FLIGHT_STATES
};

/* `ranks` are their numbers as text ("0, 2"), by state; NULL: none is in it. */
struct gt_flight_call {
    const char *group, *name, *sizes; /* sizes may be NULL */
    int64_t number;
    const char *ranks[GT_FLIGHT_STATES];
    bool is_open, differs; /* not finished by all; not the same call on all */
};

struct gt_flight_visitor {
    void (*call)(void *context, const struct gt_flight_call *call); /* each that is open or differs */
    void *context;
};

/* `first` is the number of the first of GT_FLIGHT_ARGUMENTS. Returns 0 or -ENOMEM. */
int gt_flight_visit(const struct gt_analysis_input *input, uint32_t first, const struct gt_flight_visitor *visitor);

#endif
