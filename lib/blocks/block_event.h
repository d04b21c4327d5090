/* Sub-tracking files: the rows that mark where code blocks start and stop, whoever wrote them.
 *
 * CSV, or SQLite with a table "blocks", else "data". Required columns: process_id, code_block_name,
 * position (0 start, 1 stop), timestamp (seconds since the epoch); ours add those of gt_block_event_columns. Columns may stand
 * in any order and others are ignored. */
#ifndef GT_BLOCKS_BLOCK_EVENT_H
#define GT_BLOCKS_BLOCK_EVENT_H

#include "base/buffer.h"
#include "base/map.h"
#include "blocks/interval.h"

struct sqlite3_stmt;
struct gt_block_event_reader;

/* Opens a file and never creates one. -EINVAL: the suffix is neither .csv nor .sqlite; -EBADMSG: it is no sub-tracking file. */
int gt_block_event_open(struct gt_block_event_reader **ret, const char *path, struct gt_error *error);
/* Opens CSV that is open already and stays the caller's, or with a negative `csv` a file as SQLite. */
int gt_block_event_open_as(struct gt_block_event_reader **ret, int csv, const char *path, struct gt_error *error);
/* Returns 1 for a row, 0 at the end, -EBADMSG for a bad row, named with its line, after which the next call goes on; other negative values
 * end the reading. `*name` is borrowed until the next call. ret->name and ret->source are not set. */
int gt_block_event_next(struct gt_block_event_reader *reader, struct gt_block_event *ret, const char **name,
                        struct gt_error *error);
void gt_block_event_close(struct gt_block_event_reader *reader);

/* All rows of some files. */
struct gt_block_event_list {
    struct gt_block_event *event;
    size_t count, capacity;
    uint64_t rows;               /* that were read, */
    double last, last_monotonic; /* and the latest of them; NaN when no row has that clock */
    struct gt_strings names;
    struct gt_strings files; /* as asked for; row i came from that of number event[i].source */
    bool skip_bad;           /* set by the caller: count bad rows instead of failing */
    bool skip_foreign; /* set by the caller: a folder is one of a run; leave files out that no process of it left */
    uint64_t bad, torn, foreign;
    int64_t last_call;           /* the largest call number of any file */
    struct gt_buffer complaints; /* one line for each of the first bad rows and foreign files */
};

/* Insert a row with a prepared GT_BLOCK_SQLITE_INSERT. Returns a status of SQLite. */
#define GT_BLOCK_SQLITE_INSERT "INSERT INTO blocks VALUES (?,?,?,?,?,?,?,?,?)"
int gt_block_sqlite_insert(struct sqlite3_stmt *insert, const struct gt_block_event *event, const char *name);

/* Append a file, or every sub-tracking file of a folder. -EINVAL: this file was added before. */
int gt_block_event_list_add(struct gt_block_event_list *list, const char *path, struct gt_error *error);
/* Pairs what was read, as gt_intervals_pair does; the rows are gone then. 0 or -ENOMEM. */
int gt_block_event_list_pair(struct gt_block_event_list *list, struct gt_intervals *ret);
/* Warns of the first rows and files that were left out. */
void gt_block_event_list_warn(const struct gt_block_event_list *list, void (*warn)(void *context, const char *sentence),
                              void *context);
void gt_block_event_list_release(struct gt_block_event_list *list);

/* Checks that such a file may be made. -EINVAL: suffix; -EEXIST: it is there, and `overwrite` is not set. */
int gt_block_event_list_check(const char *path, bool overwrite, struct gt_error *error);
/* Write rows to a new file, beside and renamed, so that a file is there whole or not at all. Call numbers are made unique
 * over all files. Errors as of gt_block_event_list_check. */
int gt_block_event_list_save(const struct gt_block_event_list *list, const char *path, bool overwrite,
                             struct gt_error *error);
/* Put them into a tracking file: the table "blocks" of SQLite, or NAME.blocks.csv beside NAME.csv. */
int gt_block_event_list_attach(const struct gt_block_event_list *list, const char *tracking_file,
                               struct gt_error *error);
/* Checks that the blocks of a run may be brought to the file beside its recording. -EEXIST without `overwrite`. */
int gt_block_event_check(const char *tracking_file, bool overwrite, struct gt_error *error);
/* Finds where the blocks of a recording lie: the recording itself or the file beside it; -ENOENT when it has none,
 * -ELOOP when a symbolic link, which is not followed, lies where they were. */
int gt_block_event_collected(char *ret, size_t size, const char *tracking_file);
/* Names the folder in which the processes of a run leave their files until it ends: TRACKING_FILE.blocks. */
int gt_block_event_folder(char *ret, size_t size, const char *tracking_file);

#endif
