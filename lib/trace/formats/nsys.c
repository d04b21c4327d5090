/* Nsight Systems' SQLite exports: kernels, graphs, copies and sets of memory, synchronization, calls of the CUDA runtime and of
 * the operating system, NVTX ranges. Names are
 * numbers into StringIds; times are ns, from the begin of the session or, where the export says so, the epoch. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/sqlite.h"
#include "trace/format.h"

static bool has(sqlite3 *database, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(database, NULL, table, column, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;
}

/* A table whose rows are events. Columns: start, end, name, process, thread, correlation, bytes; missing ones are NULL.
 */
struct source {
    const char *table, *category;
    const char *name; /* SQL for it */
    const char *process, *thread, *correlation, *bytes;
    bool is_gpu; /* lanes are devices and streams */
};

static const struct source sources[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", "kernel", "(SELECT value FROM StringIds WHERE id = demangledName)", "deviceId",
     "streamId", "correlationId", NULL, true},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", "gpu_memcpy",
     "CASE copyKind WHEN 1 THEN 'Memcpy HtoD' WHEN 2 THEN 'Memcpy DtoH' WHEN 8 THEN 'Memcpy DtoD' WHEN 10 THEN 'Memcpy PtoP' "
     "ELSE 'Memcpy' END",
     "deviceId", "streamId", "correlationId", "bytes", true},
    {"CUPTI_ACTIVITY_KIND_MEMSET", "gpu_memset", "'Memset'", "deviceId", "streamId", "correlationId", "bytes", true},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "kernel", "'CUDA graph ' || graphId", "deviceId", "streamId", "correlationId",
     NULL, true},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "cuda_sync",
     "CASE syncType WHEN 1 THEN 'Event synchronization' WHEN 2 THEN 'Stream waits for event' WHEN 3 THEN 'Stream synchronization' "
     "WHEN 4 THEN 'Context synchronization' ELSE 'Synchronization' END",
     "deviceId", "streamId", "correlationId", NULL, true},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "cuda_runtime", "(SELECT value FROM StringIds WHERE id = nameId)", "globalTid",
     "globalTid", "correlationId", NULL, false},
    {"NVTX_EVENTS", "user_annotation", "coalesce(text, (SELECT value FROM StringIds WHERE id = textId))", "globalTid",
     "globalTid", NULL, NULL, false},
    {"OSRT_API", "osrt", "(SELECT value FROM StringIds WHERE id = nameId)", "globalTid", "globalTid", NULL, NULL,
     false},
};

static bool has_any_source(sqlite3 *database)
{
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (has(database, sources[i].table, "start"))
            return true;
    return has(database, "TARGET_INFO_SYSTEM_ENV", NULL);
}

static int probe_nsys(const struct gt_trace_probe *probe)
{
    if (probe->length < 16 || memcmp(probe->head, "SQLite format 3", 16) != 0)
        return 0;
    sqlite3 *database = NULL;
    bool is_ours = gt_sqlite_open_existing(&database, probe->path, NULL) >= 0 && has(database, "StringIds", "value") &&
                   has_any_source(database);
    sqlite3_close(database);
    return is_ours ? 95 : 0;
}

/* The column if the table has it, else NULL. */
static const char *column(sqlite3 *database, const struct source *source, const char *name)
{
    return name && has(database, source->table, name) ? name : "NULL";
}

/* globalTid: the process in bits 24 to 47, the thread in the lowest 24. */
static void name_lane(const struct source *source, sqlite3_int64 process, sqlite3_int64 thread, char pid[32],
                      char tid[32])
{
    if (source->is_gpu) {
        snprintf(pid, 32, "GPU %lld", (long long)process);
        snprintf(tid, 32, "%lld", (long long)thread);
    } else {
        snprintf(pid, 32, "%lld", (long long)(process >> 24 & 0xffffff));
        snprintf(tid, 32, "%lld", (long long)(thread & 0xffffff));
    }
}

/* Nsight adds the version to names of the runtime's calls: "cudaMalloc_v3020". cuMemAlloc_v2 is a name of its own. */
static void write_name(struct gt_buffer *name, const struct source *source, const char *text)
{
    const char *version = strrchr(text, '_');
    bool is_call = version && strcmp(source->category, "cuda_runtime") == 0 && version[1] == 'v';
    size_t digits = is_call ? strspn(version + 2, "0123456789") : 0;
    bool has_version = digits >= 4 && !version[2 + digits];
    gt_buffer_append(name, text, has_version ? (size_t)(version - text) : strlen(text));
}

static int take_row(struct gt_reading *reading, const struct source *source, sqlite3_stmt *row)
{
    char pid[32], tid[32];
    struct gt_buffer name = {0};
    const char *text = (const char *)sqlite3_column_text(row, 2);
    bool has_end = sqlite3_column_type(row, 1) == SQLITE_INTEGER;
    int64_t start = sqlite3_column_int64(row, 0), end = sqlite3_column_int64(row, 1), length = 0;
    if (sqlite3_column_type(row, 0) != SQLITE_INTEGER ||
        (has_end && (__builtin_sub_overflow(end, start, &length) || length < 0))) {
        gt_reading_file(reading)->damage.bad_events++;
        return 0;
    }
    name_lane(source, sqlite3_column_int64(row, 3), sqlite3_column_int64(row, 4), pid, tid);
    write_name(&name, source, text ? text : "");
    struct gt_raw_event item = gt_raw_event_of((struct gt_span){0}, start, length);
    item.category = gt_span_of(source->category);
    if (sqlite3_column_type(row, 6) == SQLITE_INTEGER)
        item.bytes = sqlite3_column_int64(row, 6);
    if (sqlite3_column_type(row, 5) == SQLITE_INTEGER)
        item.correlation = (uint64_t)sqlite3_column_int64(row, 5);
    item.phase = has_end ? 'X' : 'i';
    int status = name.failed ? name.failed
                             : gt_reading_text_event(reading, &item, pid, tid, name.length ? name.data : "", 0);
    gt_buffer_release(&name);
    return status;
}

static int read_table(struct gt_reading *reading, sqlite3 *database, const struct source *source)
{
    if (!has(database, source->table, "start") || !has(database, source->table, "end"))
        return 0;
    char *query = sqlite3_mprintf(
        "SELECT start, \"end\", %s, %s, %s, %s, %s FROM %s ORDER BY start, rowid", source->name,
        column(database, source, source->process), column(database, source, source->thread),
        column(database, source, source->correlation), column(database, source, source->bytes), source->table);
    sqlite3_stmt *row = NULL;
    int status = query ? 0 : -ENOMEM, step = SQLITE_DONE;
    if (!status && sqlite3_prepare_v2(database, query, -1, &row, NULL) != SQLITE_OK) {
        gt_damage_note(&gt_reading_file(reading)->damage, 0, "%s: %s", source->table, sqlite3_errmsg(database));
        gt_reading_file(reading)->damage.bad_events++;
    }
    while (row && status >= 0 && (step = sqlite3_step(row)) == SQLITE_ROW)
        status = take_row(reading, source, row);
    if (step != SQLITE_DONE && step != SQLITE_ROW) {
        gt_damage_note(&gt_reading_file(reading)->damage, 0, "%s: %s", source->table, sqlite3_errmsg(database));
        gt_reading_file(reading)->damage.cut_off = true;
    }
    sqlite3_finalize(row);
    sqlite3_free(query);
    return status;
}

/* The moment that the session's times count from, where the export has it. */
static int read_base(struct gt_reading *reading, sqlite3 *database)
{
    sqlite3_stmt *row = NULL;
    int64_t base = 0;
    if (!has(database, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs") ||
        sqlite3_prepare_v2(database, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME LIMIT 1", -1, &row, NULL) !=
            SQLITE_OK)
        return 0;
    bool found = sqlite3_step(row) == SQLITE_ROW && sqlite3_column_type(row, 0) == SQLITE_INTEGER;
    base = found ? sqlite3_column_int64(row, 0) : 0;
    sqlite3_finalize(row);
    return found ? gt_reading_base(reading, base, GT_CLOCK_RECORD) : 0;
}

static int read_nsys(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    sqlite3 *database = NULL;
    int status = gt_sqlite_open_existing(&database, path, error);
    if (status < 0)
        return status;
    status = read_base(reading, database);
    for (size_t i = 0; i < sizeof sources / sizeof *sources && status >= 0; i++)
        status = read_table(reading, database, &sources[i]);
    sqlite3_close(database);
    return status;
}

const struct gt_trace_format gt_trace_nsys = {
    .name = "nsys",
    .help = "Nsight Systems reports exported to SQLite",
    .probe = probe_nsys,
    .read = read_nsys,
};
