/* A store type is one file format of recordings. */
#ifndef GT_STORE_TYPE_H
#define GT_STORE_TYPE_H

#include "store/column.h"
#include "store/field.h"
#include "store/store_options.h"

struct gt_store_type {
    const char *suffix; /* ".csv"; "/": a folder */
    const char *help;
    bool has_detail_files; /* GPU and PROCESS rows go to files beside the main one */
    bool lists_names;      /* has a place for processes by name without detail */
    bool keeps_provenance; /* has a place for where each figure comes from */
    bool is_direct;        /* all of writing runs on the thread that calls, which waits for it */

    /* Every store has create, write, flush and finish; with `open` the other functions of reading, too. Those that may be NULL say so. */

    /* Before anything is written: may what lies beside the name be there? May be NULL. */
    int (*check)(const char *path, bool overwrite, struct gt_error *error);
    /* Writing. `create` runs on the thread that opens the store, the others on the writer thread. */
    int (*create)(void **ret, const struct gt_store_options *options, const struct gt_machine *machine,
                  struct gt_error *error);
    int (*write)(void *state, const struct gt_sample *sample, struct gt_error *error);
    int (*flush)(void *state, struct gt_error *error); /* what was written outlives the process */
    /* Returns how many samples, as the spool that it lies in was full; may be NULL: none ever. */
    uint64_t (*left_out)(const void *state);
    /* Write the outcome (may be NULL), close and free. `whole`: no write failed before. */
    int (*finish)(void *state, const struct gt_outcome *outcome, bool whole, struct gt_error *error);

    /* Reading: open; then begin, once; then next: 1 a sample, 0 the end. `copy` has its fixed rows, which keep their
     * values but for the wanted columns; `next` adds the detail rows. */
    int (*open)(void **ret, const char *path, struct gt_recorded *recorded, struct gt_error *error);
    const char
        *unread; /* where `open` is NULL: what a path is told to be instead, as "is a picture: a viewer shows it" */
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
