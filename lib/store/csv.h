/* Recordings are kept as CSV. Lines 1 and 2 hold the names and values of the static data, line 3 the names of columns, and each
 * further line a sample; all end in \r\n. Our static data stand behind gpu_tracker's own. The outcome follows them in fields of
 * fixed width, which are blank until the recording is finished. GPUs and processes go to NAME.gpus.csv and NAME.processes.csv, which
 * begin with a line of columns. The list of processes is NAME.process_list.csv: see gt_life_fields. */
#ifndef GT_STORE_CSV_H
#define GT_STORE_CSV_H

#include "store/type.h"

#define GT_CSV_VERSION_FIELD "layout"
#define GT_CSV_GPUS_FIELD "gpus"
#define GT_CSV_FINAL "final_"

enum { GT_CSV_OUTCOME_WIDTH = 24 }; /* the longest double */

/* List the final values that the last row does not tell, those of counters and peaks. Begin with a `final` of zeros; false at the
 * end. */
struct gt_csv_final {
    enum gt_scope scope;
    enum gt_metric_id metric;
    int next;
};
bool gt_csv_final_next(struct gt_csv_final *final);
/* Write its name, "final_main_ram_peak". */
enum { GT_CSV_FINAL_SIZE = 64 };
void gt_csv_final_name(const struct gt_csv_final *final, char name[GT_CSV_FINAL_SIZE]);

int gt_csv_read_open(void **ret, const char *path, struct gt_recorded *recorded, struct gt_error *error);
bool gt_csv_read_has(const void *state, const char *column);
int gt_csv_read_begin(void *state, const struct gt_columns *columns, const bool wanted[], bool detail,
                      struct gt_error *error);
int gt_csv_read_next(void *state, struct gt_sample_copy *copy, struct gt_error *error);
uint64_t gt_csv_read_unfinished(const void *state);
void gt_csv_read_close(void *state);

#endif
