/* Floating point operations of an operator, from the shapes of its inputs. */
#ifndef GT_ANALYSE_CALLS_FLOP_FORMULAS_H
#define GT_ANALYSE_CALLS_FLOP_FORMULAS_H

#include <stdbool.h>

struct gt_flop_formula;

/* Returns NULL where the operator has none. */
const struct gt_flop_formula *gt_flop_formula_find(const char *name);
/* An operator that is made of others counts only where none of these does. */
bool gt_flop_formula_is_made_of_others(const struct gt_flop_formula *formula);
/* Takes Kineto's "Input Dims" and "Concrete Inputs", JSON; the latter may be NULL. Returns NaN where they do not tell. */
double gt_flop_formula_count(const struct gt_flop_formula *formula, const char *dims, const char *values);

#endif
