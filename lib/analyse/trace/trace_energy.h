/* A trace that a recording of ours belongs to has the energy that the job drew in each span. */
#ifndef GT_ANALYSE_TRACE_TRACE_ENERGY_H
#define GT_ANALYSE_TRACE_TRACE_ENERGY_H

#include "analyse/energy.h"
#include "analyse/gpu/lists.h"

struct gt_node_energy; /* of one node; private */

struct gt_trace_energy {
    const struct gt_analysis_input *input;
    struct gt_machine machine; /* what the options say of carbon and price */
    struct gt_node_energy *node;
    size_t count;
    uint32_t only_node; /* the one that events are of, GT_TRACE_NONE: they are of several */
};

/* The error of -EINVAL names an option about costs that is wrong. */
int gt_trace_energy_open(struct gt_trace_energy *energy, const struct gt_analysis_input *input);
/* Add further columns to a table, and their cells to a row, where energy was recorded. A node without a recording
 * has that of the only node that has one, when events are of one node alone: programs name a machine differently.
 * Spans may overlap. The second returns 0 or -ENOMEM. */
void gt_trace_energy_columns(const struct gt_trace_energy *energy, struct gt_table *table);
int gt_trace_energy_cells(const struct gt_trace_energy *energy, struct gt_table *table, uint32_t node,
                          const int64_t *start, const int64_t *end, size_t count);
/* Adds the section of the whole run, where one node alone recorded energy. */
void gt_trace_energy_section(const struct gt_trace_energy *energy, struct gt_node *root);
void gt_trace_energy_close(struct gt_trace_energy *energy);

#endif
