/* The energy relay and its clients talk over a Unix socket of type SOCK_SEQPACKET, one line at a time:
 *
 *     client: read 1
 *     relay:  energy 1 INSTANCE PERIOD QUANTUM cpu_energy=N dram_energy=N ...
 *
 * 1 is the version. INSTANCE differs each time a relay is started, and after a counter was set back: counting begins anew. Figures are
 * whole numbers of QUANTUM joules, and change once in PERIOD seconds at most; one that the relay has not now is left out. */
#ifndef GT_COLLECT_ENERGY_ENERGY_RELAY_H
#define GT_COLLECT_ENERGY_ENERGY_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/metric.h"

#define GT_RELAY_REQUEST "read 1\n"

enum { GT_RELAY_MESSAGE = 512, GT_RELAY_FIGURES = 5 };
extern const enum gt_metric_id gt_relay_metrics[GT_RELAY_FIGURES];

struct gt_relay_answer {
    uint64_t instance;
    double period, quantum; /* seconds, joules */
    uint64_t count[GT_RELAY_FIGURES];
    bool has[GT_RELAY_FIGURES];
};

/* Returns the length of the message, which is below GT_RELAY_MESSAGE. */
size_t gt_relay_write(char text[GT_RELAY_MESSAGE], const struct gt_relay_answer *answer);
/* Returns 0, -EINVAL for what is no such message, or -EPROTONOSUPPORT for another version. Figures of other names are passed over. */
int gt_relay_parse(const char *text, size_t length, struct gt_relay_answer *ret);

#endif
