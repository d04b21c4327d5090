/* GT_CELLS(table, node, count, seconds) adds the next cells of a row: texts, numbers of floating point, integers of all others. */
#ifndef GT_ANALYSE_CELLS_H
#define GT_ANALYSE_CELLS_H

#include "base/table.h"

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
