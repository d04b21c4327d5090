/* SQLite recordings: tables static_data and data as gpu_tracker has them, with further columns at their ends, and
 *   outcome(key, value)                                 what is known only at the end
 *   final(scope, metric, value)                         final counters and peaks
 *   provenance(scope, metric, exactness, source, note)  how each figure came about
 *   minutes(time, number, statistic, weight, ...)       the columns of data, a row for each minute and statistic
 *   gpu(device, uuid, name, brand, memory, selected)
 *   gpu_data, process_data                              the detail rows; they carry their sample's timestamp
 *   process(number, pid, parent, start, name, command, began, ended, ram_peak, cpu_time, rank)    with detail: each process
 *   ranks(rank, ...)                                    where ranks were started below the tracker: what each used
 * While it is written the database is in WAL mode; a finished one is a single file. user_version is the layout. File systems of a network
 * and those without locks or shared memory get no WAL: there each change is undone by a journal, if its writer is killed. */
#ifndef GT_STORE_SQLITE_H
#define GT_STORE_SQLITE_H

#include <sqlite3.h>

#include "store/type.h"

/* "PATH: what SQLite says"; returns a negative errno. */
int gt_sqlite_error(sqlite3 *database, const char *path, struct gt_error *error);
int gt_sqlite_run(sqlite3 *database, const char *path, const char *sql, struct gt_error *error);
int gt_sqlite_prepare(sqlite3_stmt **ret, sqlite3 *database, const char *path, const char *sql, struct gt_error *error);
/* The same of what was put together in `sql`, which is released. */
int gt_sqlite_run_text(sqlite3 *database, const char *path, struct gt_buffer *sql, struct gt_error *error);
int gt_sqlite_prepare_text(sqlite3_stmt **ret, sqlite3 *database, const char *path, struct gt_buffer *sql,
                           struct gt_error *error);
/* Prepare "INSERT INTO table VALUES (?,?,...)"; `verb` may be REPLACE as well. */
int gt_sqlite_prepare_row(sqlite3_stmt **ret, sqlite3 *database, const char *path, const char *verb, const char *table,
                          size_t columns, struct gt_error *error);
/* Append `"name"`, with the quotes in it doubled. */
void gt_sqlite_name(struct gt_buffer *sql, const char *name);

/* NaN and NULL: NULL. Texts become valid UTF-8, or readers of the database would fail. Positions count from 1. */
void gt_sqlite_bind_number(sqlite3_stmt *statement, int position, double value, bool integer);
void gt_sqlite_bind_text(sqlite3_stmt *statement, int position, const char *text);
/* Run a statement that returns no rows, and reset it for the next time. */
int gt_sqlite_step(sqlite3_stmt *statement, sqlite3 *database, const char *path, struct gt_error *error);

int gt_sqlite_create(void **ret, const struct gt_store_options *options, const struct gt_machine *machine,
                     struct gt_error *error);
int gt_sqlite_write(void *state, const struct gt_sample *sample, struct gt_error *error);
int gt_sqlite_flush(void *state, struct gt_error *error);
int gt_sqlite_finish(void *state, const struct gt_outcome *outcome, bool whole, struct gt_error *error);

/* What lies beside a new file, from a killed writer or with another file: SQLite would take it for the new one's. Without
 * `may_remove` it is refused, and so is always what is no regular file. The check removes nothing. */
int gt_sqlite_check_logs(const char *path, bool may_remove, struct gt_error *error);
int gt_sqlite_clear_logs(const char *path, bool may_remove, struct gt_error *error);

/* SQLite relies on locks and on memory that processes share, which file systems of a network have in part or not at all. Returns true
 * where other machines see the file as well: NFS, Lustre, GPFS, BeeGFS, CephFS, SMB. */
bool gt_file_is_on_network(int fd);
/* Returns false where the file system keeps no locks on files. */
bool gt_file_has_locks(int fd);
/* Open a recording for reading. It may be what a killed tracker left, and its folder may be read-only. Nothing is created. */
int gt_sqlite_open_existing(sqlite3 **ret, const char *path, struct gt_error *error);
bool gt_sqlite_has_table(sqlite3 *database, const char *table);

#endif
