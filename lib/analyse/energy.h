/* All reports show energy in the same way: its parts, their error, and their carbon and price. */
#ifndef GT_ANALYSE_ENERGY_H
#define GT_ANALYSE_ENERGY_H

#include "aggregate/energy_curve.h"
#include "report/report.h"

/* The rules by which parts of a run get their energy, in short. */
#define GT_ENERGY_BY_TIME "share of time"
#define GT_ENERGY_BY_CPU_TIME "share of CPU time"

/* A whole run. */
struct gt_energy_figures {
    const struct gt_machine *machine;
    const struct gt_energy_reading *end;
    double seconds;                   /* in which it was drawn, NaN: not known */
    const char *reason;               /* why there is none, where nothing was measured; NULL: not told */
    const struct gt_outcome *outcome; /* where it tells the packages apart; NULL: not told */
    const char *parts;                /* how the tables of parts beside it came to theirs; NULL: there are none */
};

/* Adds the section "energy": each device with its parts, source, method and error; the carbon and price of the job's
 * part; the lines of conservation. Where nothing was measured people see one line that tells why. */
void gt_energy_section(struct gt_node *root, const struct gt_energy_figures *figures);

/* Joules by which the job's part may be off, of all devices together; NaN: not known. */
double gt_energy_job_error(const struct gt_energy_figures *figures);
/* The part of the time of which it is known what was drawn, by the device of which the least is known. */
double gt_energy_known_part(const struct gt_energy_figures *figures);

/* Adds a table of a part of the run, with a row for each device that was measured, and their sum. `by_cpu_time`: the
 * CPU's figure rests on CPU time, else on time. Returns NULL where nothing was measured. */
struct gt_table *gt_energy_table(struct gt_node *parent, const struct gt_machine *machine,
                                 const struct gt_spent spent[GT_ENERGY_DEVICES], bool by_cpu_time);

/* Add columns and cells to tables of many such parts: energy and its error, with `marks` (of gt_energy_curve_marks)
 * also certainty and coverage, and carbon and price where the machine tells them. */
void gt_energy_columns(struct gt_table *table, const struct gt_machine *machine, unsigned marks);
void gt_energy_cells(struct gt_table *table, const struct gt_machine *machine, unsigned marks, struct gt_spent spent);
struct gt_spent gt_energy_sum(const struct gt_spent spent[GT_ENERGY_DEVICES]);

#endif
