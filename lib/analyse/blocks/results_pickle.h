/* Pickles of the results of sub-track analyze are read as the tree that their JSON would be. */
#ifndef GT_ANALYSE_RESULTS_PICKLE_H
#define GT_ANALYSE_RESULTS_PICKLE_H

#include <stddef.h>

#include "base/error.h"
#include "base/json.h"

/* Nothing in the pickle is executed; one of anything else than results is -EBADMSG. */
int gt_results_unpickle(struct gt_json_value **ret, const void *bytes, size_t length, const char *name,
                        struct gt_error *error);

#endif
