/* The static data and the outcome of a recording are lists of named fields, the same for every format. */
#ifndef GT_STORE_FIELD_H
#define GT_STORE_FIELD_H

#include "base/json.h"
#include "sample/machine.h"
#include "sample/outcome.h"

enum gt_field_kind { GT_FIELD_TEXT, GT_FIELD_INTEGER, GT_FIELD_NUMBER };

struct gt_field {
    const char *name;
    enum gt_field_kind kind;
    int storage; /* how it lies in the struct: field.c's business */
    size_t offset, size;
};

struct gt_fields {
    const struct gt_field *field;
    size_t count;
};

/* The fields of each struct. Of a machine the first nine are gpu_tracker's own static data, in its order and units. An outcome has its
 * values elsewhere, and its first field is "complete". Those of a process record are the columns of the list of processes, in SQLite the
 * table "process", in CSV the file NAME.process_list.csv: a process may have several rows, of which the last counts, and a finished
 * recording has one of each. Those of a GPU are columns of the table "gpu" in SQLite after its number, members of a JSON list in CSV.
 * Those of ranks below the tracker are the table "ranks" in SQLite. */
extern const struct gt_fields gt_machine_fields, gt_outcome_fields, gt_process_record_fields, gt_gpu_fields,
    gt_local_rank_fields;
#define GT_PROCESS_RECORD_TABLE "process"
#define GT_PROCESS_RECORD_SUFFIX ".process_list"
#define GT_RANKS_TABLE "ranks"

/* Clear it: nothing is known. */
void gt_process_record_init(struct gt_process_record *record);

const char *gt_field_text(const struct gt_field *field, const void *object); /* NULL: missing */
double gt_field_number(const struct gt_field *field, const void *object);    /* NaN: missing */
void gt_field_set_text(const struct gt_field *field, void *object, const char *text);
void gt_field_set_number(const struct gt_field *field, void *object, double value);
/* Set the fields that a JSON object has as members. */
void gt_fields_take(const struct gt_fields *fields, void *object, const json_t *members);
/* Returns NULL where no field has the name. */
const struct gt_field *gt_field_find(const struct gt_fields *fields, const char *name);

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
