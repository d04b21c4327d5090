/* Results of the analysis of blocks, read back as the tree that their JSON is. */
#ifndef GT_ANALYSE_RESULTS_H
#define GT_ANALYSE_RESULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json_tree.h"
#include "report/report.h"

/* JSON, pickles, or a tracking file, which is analysed; of an earlier version too. `warn` may be NULL. Free with
 * gt_json_free. */
int gt_results_load(struct gt_json_value **ret, const char *path, void (*warn)(void *context, const char *sentence),
                    void *context, struct gt_error *error);

/* Bring the tree of an earlier version of our results to what this one has; see GT_RESULTS_VERSION. */
int gt_results_upgrade(struct gt_json_value *tree, struct gt_error *error);

/* A pickle of results, see results_pickle.c. Nothing in it is executed; every other pickle is -EBADMSG. */
int gt_results_unpickle(struct gt_json_value **ret, const void *bytes, size_t length, const char *name,
                        struct gt_error *error);

/* The number at a path of keys, NULL-terminated; NaN when there is none. */
double gt_results_number(const struct gt_json_value *tree, const char *const keys[]);

/* Results in JSON as the report that they came from, of the types "sub_tracking_results", "code_block_results" and
 * "comparison_results"; what the original's results do not have is left out. */
int gt_results_report(struct gt_report **ret, const char *type, const char *json, struct gt_error *error);

/* "main_ram" -> "Main Ram", as the original writes it. */
void gt_results_title(char *title, size_t size, const char *key);

#endif
