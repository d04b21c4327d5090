/* Figures as people read them: three digits at most, in a unit that suits their size. */
#ifndef GT_BASE_QUANTITY_H
#define GT_BASE_QUANTITY_H

#include <stddef.h>

enum { GT_QUANTITY_SIZE = 32 };

/* These write "n/a" for NaN, and return `ret`, which has GT_QUANTITY_SIZE bytes. Units are decimal. */
const char *gt_quantity_bytes(char *ret, double bytes);   /* "13.9 GB", "412 MB", "0 B" */
const char *gt_quantity_binary(char *ret, double bytes);  /* "12.9 GiB": the one that is not decimal */
const char *gt_quantity_time(char *ret, double seconds);  /* "1 h 12 min", "41 s", "3.2 s", "12 ms" */
const char *gt_quantity_clock(char *ret, double seconds); /* "1:12:05", "0:41" */
const char *gt_quantity_about(char *ret, double seconds); /* "~38 min", "~1.5 h", "~41 s" */
const char *gt_quantity_energy(char *ret, double joules); /* "3.2 J", "41 kJ", "0.52 kWh" */
const char *gt_quantity_number(char *ret, double value);  /* "1.52", "15.2", "152", "9412" */
const char *gt_quantity_percent(char *ret, double ratio); /* "9 %", "152 %" */

#endif
