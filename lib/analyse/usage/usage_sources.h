/* The sources of the tracking report: what was recorded of one run. */
#ifndef GT_ANALYSE_USAGE_USAGE_SOURCES_H
#define GT_ANALYSE_USAGE_USAGE_SOURCES_H

#include "aggregate/summary.h"
#include "sample/machine.h"

struct gt_usage_sources {
    const struct gt_machine *machine;
    const struct gt_summary *summary;
    const struct gt_outcome *outcome;
    const char *recording; /* the path of the tracking file; NULL: there is none */
    const char *address;   /* of its job on a server, to which it is sent; NULL: it stays where it is */
};

/* The same with the units of the report, as its parts take them. */
struct gt_usage {
    const struct gt_machine *machine;
    const struct gt_summary *summary;
    const struct gt_outcome *outcome;
    const char *recording;                    /* the path of its tracking file; NULL: there is none */
    const char *address;                      /* of its job on a server; NULL: it stays where it is */
    double ram_unit, gpu_ram_unit, time_unit; /* bytes and seconds in one of the report's units */
};

#endif
