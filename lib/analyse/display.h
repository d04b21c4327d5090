/* People see measurements of ours in the units that the user chose, as those of the original beside them. Programs
 * see base units, as the columns of recordings have them. Below is what all builders of reports share. */
#ifndef GT_ANALYSE_DISPLAY_H
#define GT_ANALYSE_DISPLAY_H

#include "base/table.h"
#include "report/report.h"
#include "store/store.h"

struct gt_display_unit {
    char label[128];  /* "main_ram_private (gigabytes)", "combined_cpu_energy (joules, estimated)" */
    double factor;    /* from the value in data to the one that is shown */
    const char *unit; /* of the one that is shown; "" where it has none */
};

/* Returns how people see a column. The original's columns, and names that are no columns, stay as they are. The
 * machine tells units and what counts energy. */
struct gt_display_unit gt_display_unit_as(const struct gt_columns *columns, const char *name,
                                          const struct gt_machine *machine);

/* Returns true when the joules or watts of this metric rest on a model of the user's. */
bool gt_display_unit_is_estimated(enum gt_metric_id metric, const struct gt_machine *machine);
/* Adds columns, whose titles are their keys: "text:name integer:calls number:total". */
void gt_display_columns(struct gt_table *table, const char *columns);

/* Adds a column with flags of enum gt_column_flag. */
void gt_display_column(struct gt_table *table, const char *key, const char *title, enum gt_cell_kind kind,
                       const char *unit, unsigned flags);

/* Hands over a report that is built: 0, or -ENOMEM where `status` or the building failed, with the report freed. */
int gt_display_end(struct gt_report **ret, struct gt_report *report, int status, const char *subject,
                   struct gt_error *error);

/* GT_CELLS(table, node, count, seconds) adds the next cells of a row: texts, numbers of floating point, integers of all others. */

/* Adds an integer, or a missing cell where there is none. */
static inline void gt_integer_if(struct gt_table *table, bool is_there, int64_t value)
{
    if (is_there)
        gt_table_integer(table, value);
    else
        gt_table_missing(table);
}

#define GT_CELL(table, value) \
    _Generic((value),                \
        char *: gt_table_text,       \
        const char *: gt_table_text, \
        float: gt_table_number,      \
        double: gt_table_number,     \
        default: gt_table_integer)(table, value)
#define GT_CELLS_1(table, value) GT_CELL(table, value)
#define GT_CELLS_2(table, value, ...) (GT_CELL(table, value), GT_CELLS_1(table, __VA_ARGS__))
#define GT_CELLS_3(table, value, ...) (GT_CELL(table, value), GT_CELLS_2(table, __VA_ARGS__))
#define GT_CELLS_4(table, value, ...) (GT_CELL(table, value), GT_CELLS_3(table, __VA_ARGS__))
#define GT_CELLS_5(table, value, ...) (GT_CELL(table, value), GT_CELLS_4(table, __VA_ARGS__))
#define GT_CELLS_6(table, value, ...) (GT_CELL(table, value), GT_CELLS_5(table, __VA_ARGS__))
#define GT_CELLS_7(table, value, ...) (GT_CELL(table, value), GT_CELLS_6(table, __VA_ARGS__))
#define GT_CELLS_8(table, value, ...) (GT_CELL(table, value), GT_CELLS_7(table, __VA_ARGS__))
#define GT_CELLS_9(table, value, ...) (GT_CELL(table, value), GT_CELLS_8(table, __VA_ARGS__))
#define GT_CELLS_10(table, value, ...) (GT_CELL(table, value), GT_CELLS_9(table, __VA_ARGS__))
#define GT_CELLS_OF(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, chosen, ...) chosen
#define GT_CELLS(table, ...)                                                                                      \
    GT_CELLS_OF(__VA_ARGS__, GT_CELLS_10, GT_CELLS_9, GT_CELLS_8, GT_CELLS_7, GT_CELLS_6, GT_CELLS_5, GT_CELLS_4, \
                GT_CELLS_3, GT_CELLS_2, GT_CELLS_1, )                                                             \
    (table, __VA_ARGS__)

#endif
