/* Pages show amounts in a unit chosen by their size: 0.033 hours is "1 min 59 s". */
#ifndef GT_REPORT_HUMAN_AMOUNT_H
#define GT_REPORT_HUMAN_AMOUNT_H

#include <stdbool.h>

#include "base/buffer.h"

/* Appends `value` of `unit` ("gigabytes", "seconds", "joules"). Returns false, and appends nothing, where it is missing or
 * the unit is of another kind. */
bool gt_human_amount(struct gt_buffer *out, double value, const char *unit);
/* Appends the title of a figure without its unit, which its cells have: "main_ram (gigabytes)" is "main_ram". */
void gt_human_amount_title(struct gt_buffer *out, const char *title, const char *unit);

#endif
