/* The table `minutes` of a recording in SQLite: see sqlite.h. */
#ifndef GT_STORE_SQLITE_MINUTES_H
#define GT_STORE_SQLITE_MINUTES_H

#include <sqlite3.h>

#include "base/buffer.h"
#include "store/minute.h"

#define GT_MINUTES_TABLE "minutes"

/* Append what creates the table: the columns of a minute, then those of samples, of which `samples` is the list. */
void gt_sqlite_minutes_schema(struct gt_buffer *sql, const char *samples);
/* Write the rows of the minute, and begin the next one. *insert is made when it is first needed. */
int gt_sqlite_minutes_write(sqlite3 *database, const char *path, sqlite3_stmt **insert, struct gt_minute *minute,
                            const struct gt_columns *columns, struct gt_error *error);

#endif
