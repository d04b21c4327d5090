/* A window as the record that AIPowerMeter writes, and the folder it writes it into. */
#ifndef GT_STORE_EXPERIMENT_RECORD_H
#define GT_STORE_EXPERIMENT_RECORD_H

#include "aggregate/power.h"
#include "base/json_write.h"

/* {"temperature": {...}, "cpu": {...}, "gpu": {...}} of the window. What was not measured is left out. */
void gt_experiment_write_metrics(struct gt_json *json, const struct gt_power *power);

/* "2026-03-04 05:06:07.123456+01:00": local time, and which that is. */
void gt_experiment_date_text(char *text, size_t size, int64_t real_ns, bool has_zone);

/* power_metrics.json in a folder, open for appending. */
struct gt_experiment_folder {
    int fd;          /* -1: closed */
    char path[4096]; /* of the file */
    bool has_records;
};

/* Make the folder with its metadata.json where they are not there; `description` may be NULL. What an earlier recording left
 * without an end of its segment gets one; a line that was cut off is removed. */
int gt_experiment_folder_open(struct gt_experiment_folder *folder, const char *path, const char *description,
                              struct gt_error *error);
/* Append the record of the window: whole, or not at all. */
int gt_experiment_folder_write(struct gt_experiment_folder *folder, const struct gt_power *power,
                               struct gt_error *error);
/* End the segment, unless it has no record. */
int gt_experiment_folder_close(struct gt_experiment_folder *folder, struct gt_error *error);

/* Append to a folder laid out as AIPowerMeter's, which is made where it is not there, as whole lines: "power": the "metrics" of a record
 * of now; "results": figures of the program's own, as of now; "end": the end of a segment, `json` being NULL. "model": the summary of
 * a model, in place of the last. -EINVAL: it is no JSON. */
int gt_experiment_save(const char *folder, const char *kind, const char *json, struct gt_error *error);

#endif
