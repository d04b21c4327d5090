/* A store type is one file format of recordings. */
#ifndef GT_STORE_TYPE_H
#define GT_STORE_TYPE_H

#include "store/column.h"
#include "store/field.h"

struct gt_store_options;

/* Tables of samples, GPUs and processes: 1 more than an index of gt_details. */
enum gt_stored_table { GT_TABLE_SAMPLES, GT_TABLE_GPUS, GT_TABLE_PROCESSES, GT_TABLES };

struct gt_store_type {
    const char *suffix; /* ".csv" */
    bool is_database; /* one file, with places for processes by name without detail, and for the source of each value */

    /* Before anything is written: may what lies beside the name be there? May be NULL. */
    int (*check)(const char *path, bool overwrite, struct gt_error *error);
    /* Writing, on a thread of its own. */
    int (*create)(void **ret, const struct gt_store_options *options, const struct gt_machine *machine,
                  struct gt_error *error);
    int (*write)(void *state, const struct gt_sample *sample, struct gt_error *error);
    /* What was written outlives the process. Returns 1 if samples were left out because the spool is full. */
    int (*flush)(void *state, struct gt_error *error);
    /* Write the outcome (may be NULL), close and free. `whole`: no write failed before. */
    int (*finish)(void *state, const struct gt_outcome *outcome, bool whole, struct gt_error *error);

    /* Reading: open; then begin, once for each table, that of samples first; then row. */
    int (*open)(void **ret, const char *path, struct gt_recorded *recorded, struct gt_error *error);
    /* Returns true if the table of samples has a column of this name. */
    bool (*has)(const void *state, const char *column);
    /* Begin to read a table behind its first `after` rows. `source` gets those of the wanted columns (NULL: all) that the table has.
     * Returns their number; 0 without such a table. */
    int (*begin)(void *state, enum gt_stored_table table, const struct gt_columns *columns, const bool wanted[],
                 int64_t after, const struct gt_column *source[], struct gt_error *error);
    /* Returns 1 with a value for each source, 0 at the end, -EBADMSG for a bad row, behind which the next call goes on. */
    int (*row)(void *state, enum gt_stored_table table, double value[], struct gt_error *error);
    uint64_t (*unfinished)(const void *state); /* rows of samples; may be NULL: none */
    bool can_begin_after;
    void (*close)(void *state);
};

/* Find the type by the suffix of a path. NULL comes with an error that names the suffixes there are. */
const struct gt_store_type *gt_store_type_of(const char *path, struct gt_error *error);
/* Returns suffix number `index` of the files beside a recording of a type that has several, code blocks last; NULL past the end. */
const char *gt_store_part(size_t index);
#define GT_BLOCKS_SUFFIX ".blocks"
/* Makes "NAME.gpus.csv" of "NAME.csv" and ".gpus". Returns 0 or -ENAMETOOLONG. */
int gt_store_path_beside(char *ret, size_t size, const char *path, const char *suffix);

#endif
