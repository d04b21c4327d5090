#include "blocks/block_memory.h"

#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "blocks/block.h"
#include "blocks/block_notes.h"
#include "store/sqlite.h"
#include "store/store.h"

static const char create[] =
    "BEGIN; DROP TABLE IF EXISTS block_memory; CREATE TABLE block_memory (code_block_name VARCHAR, "
    "allocated INTEGER, reserved INTEGER, peak_at_least INTEGER, peak_at_most INTEGER)";
static const char insert[] = "INSERT INTO block_memory VALUES (?, ?, ?, ?, nullif(?, -1))";
static const char query[] = "SELECT code_block_name, allocated, reserved, peak_at_least, ifnull(peak_at_most, -1) "
                            "FROM block_memory ORDER BY 1";

/* ---- the list ---- */

static struct gt_block_memory *add(struct gt_block_memories *memories, const char *name)
{
    for (size_t i = 0; i < memories->count; i++)
        if (strcmp(memories->memory[i].name, name) == 0)
            return &memories->memory[i];
    char *copy = strdup(name);
    struct gt_block_memory *memory = copy ? GT_GROW_LIST(memories, memory) : NULL;
    if (memory)
        *memory = (struct gt_block_memory){.name = copy};
    else
        free(copy);
    return memory;
}

void gt_block_memory_release(struct gt_block_memories *memories)
{
    for (size_t i = 0; i < memories->count; i++)
        free(memories->memory[i].name);
    free(memories->memory);
    *memories = (struct gt_block_memories){0};
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void take_note(void *context, pid_t process, const char *line)
{
    long long allocated, reserved, least, most;
    int end = 0;
    (void)process;
    if (sscanf(line, "memory %lld %lld %lld %lld %n", &allocated, &reserved, &least, &most, &end) != 4 || !end)
        return;
    struct gt_block_memory *memory = add(context, line + end);
    if (!memory)
        return;
    memory->allocated = greater(memory->allocated, allocated);
    memory->reserved = greater(memory->reserved, reserved);
    memory->least = greater(memory->least, least);
    memory->most = most < 0 || memory->most < 0 ? -1 : greater(memory->most, most);
}

/* ---- the recording ---- */

static int write_rows(const char *path, const struct gt_block_memories *memories, struct gt_error *error)
{
    sqlite3 *database;
    sqlite3_stmt *statement = NULL;
    int status = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL);
    status = status == SQLITE_OK ? 0 : gt_sqlite_error(database, path, error);
    if (status >= 0)
        status = gt_sqlite_run(database, path, create, error);
    if (status >= 0)
        status = gt_sqlite_prepare(&statement, database, path, insert, error);
    for (size_t i = 0; i < memories->count && status >= 0; i++) {
        const struct gt_block_memory *memory = &memories->memory[i];
        gt_sqlite_bind_text(statement, 1, memory->name);
        sqlite3_bind_int64(statement, 2, memory->allocated);
        sqlite3_bind_int64(statement, 3, memory->reserved);
        sqlite3_bind_int64(statement, 4, memory->least);
        sqlite3_bind_int64(statement, 5, memory->most);
        status = gt_sqlite_step(statement, database, path, error);
    }
    sqlite3_finalize(statement);
    if (status >= 0)
        status = gt_sqlite_run(database, path, "COMMIT", error);
    sqlite3_close(database);
    return status;
}

int gt_block_memory_collect(const char *folder, const char *tracking_file, pid_t pid, struct gt_error *error)
{
    char path[PATH_MAX];
    struct gt_block_memories memories = {0};
    gt_block_notes_read(folder, take_note, &memories);
    int status = memories.count ? gt_store_path(path, sizeof path, tracking_file, pid, error) : 0;
    if (status >= 0 && memories.count)
        status = write_rows(path, &memories, error);
    gt_block_memory_release(&memories);
    return status;
}

static int read_rows(struct gt_block_memories *ret, sqlite3 *database, const char *path, struct gt_error *error)
{
    sqlite3_stmt *statement;
    int status = gt_sqlite_prepare(&statement, database, path, query, error), step = SQLITE_DONE;
    if (status < 0)
        return status;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        struct gt_block_memory *memory = add(ret, name ? name : "");
        if (!memory)
            break;
        memory->allocated = sqlite3_column_int64(statement, 1);
        memory->reserved = sqlite3_column_int64(statement, 2);
        memory->least = sqlite3_column_int64(statement, 3);
        memory->most = sqlite3_column_int64(statement, 4);
    }
    status = step == SQLITE_DONE  ? 0
             : step == SQLITE_ROW ? gt_error_system(error, ENOMEM, "%s", path)
                                  : gt_sqlite_error(database, path, error);
    sqlite3_finalize(statement);
    return status;
}

int gt_block_memory_load(struct gt_block_memories *ret, const char *tracking_file, struct gt_error *error)
{
    sqlite3 *database;
    *ret = (struct gt_block_memories){0};
    if (gt_block_writer_of(tracking_file) != &gt_block_sqlite)
        return 0;
    int status = sqlite3_open_v2(tracking_file, &database, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
                         gt_sqlite_has_table(database, "block_memory")
                     ? read_rows(ret, database, tracking_file, error)
                     : 0;
    sqlite3_close(database);
    return status;
}
