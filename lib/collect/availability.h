/* A collector says in a struct gt_availability whether it can read, and what would let it. */
#ifndef GT_COLLECT_AVAILABILITY_H
#define GT_COLLECT_AVAILABILITY_H

#include "collect/collector.h"

/* The remedy for everything that takes CAP_NET_ADMIN. */
extern const char gt_remedy_net_admin[];
/* The remedy for energy counters that may not be read: the least first. */
extern const char gt_remedy_energy[];
/* The remedy for everything that takes a control group of the tracker's own. */
extern const char gt_remedy_delegate[];

/* Set state, reason (as printf; cut off where it does not fit) and remedy, which may be NULL. Always returns 0. */
int gt_unavailable(struct gt_availability *availability, enum gt_state state, const char *remedy, const char *reason,
                   ...) __attribute__((format(printf, 4, 5)));

#endif
