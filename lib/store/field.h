/* The static data and the outcome of a recording are lists of named fields, the same for every format. */
#ifndef GT_STORE_FIELD_H
#define GT_STORE_FIELD_H

#include "base/buffer.h"
#include "sample/machine.h"
#include "sample/outcome.h"

enum gt_field_kind { GT_FIELD_TEXT, GT_FIELD_INTEGER, GT_FIELD_NUMBER };

struct gt_field {
    const char *name;
    enum gt_field_kind kind;
    int storage; /* how it lies in the struct: field.c's business */
    size_t offset, size;
};

/* Fields of a struct gt_machine. The first nine are gpu_tracker's own static data, in its order and units. */
extern const struct gt_field gt_machine_fields[];
extern const size_t gt_machine_field_count;
/* Fields of a struct gt_outcome, without its values. The first is "complete". */
extern const struct gt_field gt_outcome_fields[];
extern const size_t gt_outcome_field_count;
/* Fields of a process record: the columns of the list of processes, in SQLite the table "process", in CSV the file NAME.process_list.csv.
 * A process may have several rows, of which the last counts; a finished recording has one of each. Base units. */
#define GT_PROCESS_RECORD_TABLE "process"
#define GT_PROCESS_RECORD_SUFFIX ".process_list"
extern const struct gt_field gt_process_record_fields[];
extern const size_t gt_process_record_field_count;
/* Clear it: nothing is known. */
void gt_process_record_init(struct gt_process_record *record);

/* Fields of a struct gt_gpu: columns of the table "gpu" in SQLite after its number, members of a JSON list in CSV. */
extern const struct gt_field gt_gpu_fields[];
extern const size_t gt_gpu_field_count;
/* Fields of a struct gt_local_rank: the columns of the table "ranks" in SQLite, which is there when there are ranks below the tracker. */
#define GT_RANKS_TABLE "ranks"
extern const struct gt_field gt_local_rank_fields[];
extern const size_t gt_local_rank_field_count;

const char *gt_field_text(const struct gt_field *field, const void *object);
double gt_field_number(const struct gt_field *field, const void *object); /* NaN: missing */
void gt_field_set_text(const struct gt_field *field, void *object, const char *text);
void gt_field_set_number(const struct gt_field *field, void *object, double value);
/* Returns the index, or -ENOENT. */
int gt_field_find(const struct gt_field *fields, size_t count, const char *name);

/* Set a member of a machine from a field of a file, NULL or "" when it is missing: -EINVAL names the field that is not a number or not a
 * unit. The unit names come before the capacities. */
int gt_machine_field_read(struct gt_machine *machine, const struct gt_field *field, const char *text, const char *path,
                          struct gt_error *error);

/* A reader knows this of a recording before its first sample. */
struct gt_recorded {
    struct gt_machine machine;
    struct gt_outcome outcome; /* its process records are there without an outcome, too */
    bool has_outcome;
};

/* Add a GPU to the machine, behind the others. Returns NULL without memory. */
struct gt_gpu *gt_machine_add_gpu(struct gt_machine *machine);
/* Write and read the GPUs as a JSON list, for formats that have one table only. */
void gt_machine_gpus_write(const struct gt_machine *machine, struct gt_buffer *out);
int gt_machine_gpus_read(struct gt_machine *machine, const char *text, const char *path, struct gt_error *error);
void gt_recorded_release(struct gt_recorded *recorded);

/* Recordings of a later layout than this are refused. */
enum { GT_RECORDING_VERSION = 1 };
int gt_recording_version_check(double version, const char *path, struct gt_error *error);

#endif
