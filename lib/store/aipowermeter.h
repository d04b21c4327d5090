/* Folders as AIPowerMeter records into; their paths end in "/". A line of power_metrics.json tells of a window of time,
 * more than samples do, so that the store looks at the tracker's readings themselves, on the tracker's thread. */
#ifndef GT_STORE_AIPOWERMETER_H
#define GT_STORE_AIPOWERMETER_H

#include "base/json.h"
#include "store/aipowermeter_window.h"

/* "2026-03-04 05:06:07.123456+01:00": local time, and its zone. */
void gt_experiment_date_text(char *text, size_t size, int64_t real_ns, bool has_zone);

#endif
