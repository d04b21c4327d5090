/* Results of the analysis of blocks are read back from files. */
#ifndef GT_ANALYSE_BLOCKS_RESULTS_H
#define GT_ANALYSE_BLOCKS_RESULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "report/report.h"

/* Reads the results in a file: JSON, a pickle of `--format pickle`, or a tracking file, which is analysed; of an earlier version, too.
 * `json`: reads this text instead of the file, whose name errors have; or NULL. `warn` may be NULL. */
int gt_results_load(json_t **ret, const char *path, const char *json, void (*warn)(void *context, const char *sentence),
                    void *context, struct gt_error *error);
/* Reads the same as text, to be freed. */
int gt_results_json(char **ret, const char *path, const char *json, struct gt_error *error);

/* Returns the value at a path of keys, NULL-terminated; NULL when there is none. */
const json_t *gt_results_find(const json_t *results, const char *const keys[]);
/* Returns its number; NaN when it is none. */
double gt_results_number(const json_t *results, const char *const keys[]);
/* Returns the text `key` of "static_data"; NULL when there is none. */
const char *gt_results_static(const json_t *results, const char *key);

/* Makes of results in JSON the report that they came from, of the types "sub_tracking_results", "code_block_results"
 * and "comparison_results"; what the original's results do not have is left out. */
int gt_results_report(struct gt_report **ret, const char *type, const char *json, struct gt_error *error);

/* Makes a title as the original writes it: "Main Ram" of "main_ram". */
void gt_results_title(char *title, size_t size, const char *key);

/* Reads a pickle of `--format pickle` as the tree that its JSON would be. Nothing in it is executed. -EBADMSG: it holds
 * anything else; the package reads pickles of Python, see gpu_tracker._unpickle. */
int gt_results_unpickle(json_t **ret, const void *bytes, size_t length, const char *name, struct gt_error *error);

#endif
