/* A store type is one file format of recordings. */
#ifndef GT_STORE_TYPE_H
#define GT_STORE_TYPE_H

#include "store/field.h"
#include "store/store.h"

/* Beyond its fixed rows a sample has a row for each GPU and each process. They have tables of their own, and a sample that is
 * copied takes them along. */

/* Columns that identify a row have these numbers where others have a scope. */
enum { GT_COLUMN_DEVICE = -3, GT_COLUMN_PID = -4, GT_COLUMN_PARENT = -5, GT_COLUMN_START = -6 };

/* Each scope of detail has one table. */
struct gt_detail {
    enum gt_scope scope;
    const char *table;  /* SQLite: "gpu_data" */
    const char *suffix; /* CSV: the file NAME.gpus.csv beside NAME.csv */
};

enum { GT_DETAIL_COUNT = 2 };
extern const struct gt_detail gt_details[GT_DETAIL_COUNT];

/* Columns are the sample's timestamp, the identity, and each metric that has the scope, in base units. */
void gt_detail_columns(struct gt_columns *ret, enum gt_scope scope);
double gt_detail_value(const struct gt_column *column, const struct gt_sample *sample, const struct gt_row *row);
void gt_detail_assign(const struct gt_column *column, double value, struct gt_sample *sample, struct gt_row *row);

/* A sample that owns its rows. Its capacity only grows. */
struct gt_sample_copy {
    struct gt_sample sample; /* its lives are those below */
    size_t capacity;
    struct gt_life *life;
    size_t life_capacity;
};

int gt_sample_copy_reserve(struct gt_sample_copy *copy, size_t rows);
int gt_sample_copy_reserve_lives(struct gt_sample_copy *copy, size_t lives);
size_t gt_sample_copy_bytes(const struct gt_sample_copy *copy);
/* Copy the first `rows` rows of `sample`, and its lives. Returns 0 or -ENOMEM. */
int gt_sample_copy_set(struct gt_sample_copy *copy, const struct gt_sample *sample, size_t rows);
/* Add a row without values. Returns NULL without memory. */
struct gt_row *gt_sample_copy_add(struct gt_sample_copy *copy, enum gt_scope scope);
void gt_sample_copy_release(struct gt_sample_copy *copy);

/* Reads a table of detail rows beside the samples. The row at hand belongs to the sample with its timestamp. */
struct gt_detail_cursor {
    enum gt_scope scope;
    bool has_row;
    struct gt_sample moment; /* only its time is used */
    struct gt_row row;
};

/* Call this before the columns of a row are assigned to `moment` and `row`. */
void gt_detail_begin_row(struct gt_detail_cursor *cursor);
/* Add the rows of the sample in `copy` to it. Rows of samples that are not there are passed over. `read` fills in the next
 * row: 1, 0 at the end, negative on an error. */
int gt_detail_take(struct gt_detail_cursor *cursor, struct gt_sample_copy *copy,
                   int (*read)(void *context, struct gt_detail_cursor *cursor, struct gt_error *error), void *context,
                   struct gt_error *error);

struct gt_store_type {
    const char *suffix; /* ".csv"; "/": a folder */
    const char *help;
    bool has_detail_files; /* GPU and PROCESS rows go to files beside the main one */
    bool lists_names;      /* has a place for processes by name without detail */
    bool is_direct;        /* all of writing runs on the thread that calls, which waits for it */

    /* Before anything is written: may what lies beside the name be there? May be NULL. */
    int (*check)(const char *path, bool overwrite, struct gt_error *error);
    /* Writing. `create` runs on the thread that opens the store, the others on the writer thread. */
    int (*create)(void **ret, const struct gt_store_options *options, const struct gt_machine *machine,
                  struct gt_error *error);
    int (*write)(void *state, const struct gt_sample *sample, struct gt_error *error);
    int (*flush)(void *state, struct gt_error *error); /* what was written outlives the process */
    /* Returns true where all its files are found under their names, with all that was written to them. */
    bool (*is_in_place)(const void *state);
    /* They are not: write all that was recorded into new ones, in which it goes on. Nothing that is there is replaced: -EEXIST.
     * After an error it goes on in the old ones. */
    int (*restore)(void *state, struct gt_error *error);
    /* Write the outcome (may be NULL), close and free. `whole`: no write failed before. */
    int (*finish)(void *state, const struct gt_outcome *outcome, bool whole, struct gt_error *error);

    /* Reading: open; then begin, once; then next: 1 a sample, 0 the end. `copy` has its fixed rows, which keep their
     * values but for the wanted columns; `next` adds the detail rows. */
    int (*open)(void **ret, const char *path, struct gt_recorded *recorded,
                struct gt_error *error); /* NULL: not read */
    bool (*has)(const void *state, const char *column);
    int (*begin)(void *state, const struct gt_columns *columns, const bool wanted[], bool detail,
                 struct gt_error *error);
    int (*next)(void *state, struct gt_sample_copy *copy, struct gt_error *error);
    uint64_t (*unfinished)(const void *state);
    /* Both may be NULL: see gt_recording_begin_after. */
    void (*begin_after)(void *state, const struct gt_recording_place *place);
    void (*place)(const void *state, struct gt_recording_place *ret);
    void (*close)(void *state); /* may be NULL */
};

/* Find the type by the suffix of a path. NULL comes with an error that names the suffixes there are. */
const struct gt_store_type *gt_store_type_of(const char *path, struct gt_error *error);
/* Returns suffix number `index` of the files beside a recording of a type that has several, code blocks last; NULL past the end. */
const char *gt_store_part(size_t index);
#define GT_BLOCKS_SUFFIX ".blocks"
/* Makes "NAME.gpus.csv" of "NAME.csv" and ".gpus". Returns 0 or -ENAMETOOLONG. */
int gt_store_path_beside(char *ret, size_t size, const char *path, const char *suffix);

#endif
