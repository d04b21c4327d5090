/* Figures as people read them at a glance: one unit chosen by the size, three digits at most. Sizes are decimal but for
 * one. */
#ifndef GT_SCHEMA_HUMAN_H
#define GT_SCHEMA_HUMAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

enum { GT_HUMAN_SIZE = 32, GT_HUMAN_STATUS_SIZE = 48 };

/* Each writes into `ret`, which it returns; "n/a" for what is not known. */
char *gt_human_bytes(char ret[GT_HUMAN_SIZE], double bytes);     /* "13.9 GB", "412 MB" */
char *gt_human_binary(char ret[GT_HUMAN_SIZE], double bytes);    /* "12.9 GiB", "1010 MiB" */
char *gt_human_seconds(char ret[GT_HUMAN_SIZE], double seconds); /* "1 h 12 min", "41 s", "3 ms" */
char *gt_human_clock(char ret[GT_HUMAN_SIZE], double seconds);   /* "1:12:05", "0:41" */
char *gt_human_about(char ret[GT_HUMAN_SIZE], double seconds);   /* "~38 min", "~1.5 h", "~41 s" */
char *gt_human_energy(char ret[GT_HUMAN_SIZE], double joules);   /* "3.20 J", "0.52 kWh" */
/* Writes an amount in the unit of another, without its name: "0.03". */
char *gt_human_energy_part(char ret[GT_HUMAN_SIZE], double joules, double whole);
char *gt_human_power(char ret[GT_HUMAN_SIZE], double watts);   /* "306 W" */
char *gt_human_mass(char ret[GT_HUMAN_SIZE], double grams);    /* "29 g", "3.1 mg" */
char *gt_human_percent(char ret[GT_HUMAN_SIZE], double ratio); /* "81 %", "0.4 %" */
/* A number without a unit: "1.52", "0.61", "16". */
char *gt_human_number(char ret[GT_HUMAN_SIZE], double value);
/* These write as people ask for it: without zeros behind the point ("64 GB"). */
char *gt_human_round_bytes(char ret[GT_HUMAN_SIZE], double bytes);
char *gt_human_round_number(char ret[GT_HUMAN_SIZE], double value);
/* GT_HUMAN(bytes, value) is such a text as an argument: it lives as long as the block around it. */
#define GT_HUMAN(kind, ...) gt_human_##kind((char[GT_HUMAN_SIZE]){""}, __VA_ARGS__)
/* An exit status, 128 + n for signal n: "exit 3", "exit 137 (SIGKILL)". A process that is known to have ended by itself
 * had no such signal; a shell makes the same of one that its last command had. */
char *gt_human_status(char ret[GT_HUMAN_STATUS_SIZE], int status, bool is_by_itself);
/* Writes two sizes in the unit of the second: "31.2 of 80 GB". `ret` has 2 * GT_HUMAN_SIZE. */
char *gt_human_part(char *ret, double bytes, double whole);

/* Pages show amounts in a unit chosen by their size: 0.033 hours is "1 min 59 s". */

/* Appends `value` of `unit` ("gigabytes", "seconds", "joules"). Returns false, and appends nothing, where it is missing
 * or the unit is of another kind. */
bool gt_human_amount(struct gt_buffer *out, double value, const char *unit);
/* The same in the unit that suits `greatest`, which it stands beside; sizes below a thousandth of that have their
 * own. */
bool gt_human_amount_beside(struct gt_buffer *out, double value, double greatest, const char *unit);
/* Appends the title of a figure without its unit, which its cells have: "main_ram (gigabytes)" is "main_ram". */
void gt_human_amount_title(struct gt_buffer *out, const char *title, const char *unit);

/* Times as people read them: in the unit that suits their size. */

struct gt_time_unit {
    double ns;
    const char *name; /* "s", "ms", "us", "ns" */
};

/* Returns the greatest unit that `ns` has at least one of. */
struct gt_time_unit gt_time_unit_of(double ns);
/* Returns `text`, "12.3 ms"; NULL for NaN. */
const char *gt_time_words(double ns, char text[32]);
#define GT_TIME_WORDS(ns) \
    gt_time_words(ns, (char[32]){""}) /* as an argument: it lives as long as the block around it */
/* Returns `text`, "2026-01-31 12:00:00.250000 UTC" of ns since 1970; "5.12 s by a clock of its own" before 2000, for no
 * trace is so old. */
const char *gt_moment_words(int64_t ns, char text[48]);

#endif
