#include "engine/tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Types by kind. */
#define TYPE_TEXT "String"
#define TYPE_NAME "LowCardinality(String)" /* texts with few different values */
#define TYPE_U8 "UInt8"
#define TYPE_U32 "UInt32"
#define TYPE_U64 "UInt64"
#define TYPE_I32 "Int32"
#define TYPE_I64 "Int64"
#define TYPE_F64 "Float64"
#define TYPE_DATE "Date"
#define TYPE_STATISTIC "Enum8('mean' = 1, 'min' = 2, 'max' = 3, 'last' = 4)"
#define TYPE_I32_OR_NULL "Nullable(Int32)"
#define TYPE_I64_OR_NULL "Nullable(Int64)"
#define TYPE_F64_OR_NULL "Nullable(Float64)"
#define TYPE_TIME_OR_NULL "Nullable(Int64)"
#define TYPE_NS_OR_NULL "Nullable(Int64)"
#define TYPE_SECONDS_OR_NULL "Nullable(Decimal64(9))"

/* Codecs. */
#define STEADY "DoubleDelta, ZSTD(1)"
#define FIGURE "Delta(8), ZSTD(1)"
#define PACKED "ZSTD(1)"

static const struct {
    const char *name, *version, *order;
    bool is_kept;
} tables[GT_ENGINE_TABLES] = {
#define TABLE(table, name, version, order, is_kept) [GT_ENGINE_##table] = {#name, version, order, is_kept},
#define COLUMN(table, name, kind, codec, value)
#define LATER(table, name, kind, codec, value)
#define METRICS(table, first, last, value)
#include "engine/table.def"
};

const char *gt_engine_table_name(enum gt_engine_table table)
{
    return tables[table].name;
}

/* Decimal places of a metric that is stored as an integer. */
static int digits_of(enum gt_metric_id metric)
{
    switch (gt_metrics[metric].unit) {
    case GT_JOULES:
    case GT_WATTS: return 3;
    case GT_RATIO: return 4;
    case GT_SECONDS: return 6;
    case GT_CELSIUS: return 1;
    default: return 0;
    }
}

double gt_engine_scale(enum gt_metric_id metric)
{
    static const double scales[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
    return scales[digits_of(metric)];
}

/* A table with one scope names its columns by the metric alone. */
static void append_metrics(struct gt_engine_columns *columns, enum gt_scope first, enum gt_scope last)
{
    static const char *const types[] = {"Nullable(Int64)",        "Nullable(Decimal64(1))", "Nullable(Decimal64(2))",
                                        "Nullable(Decimal64(3))", "Nullable(Decimal64(4))", "Nullable(Decimal64(5))",
                                        "Nullable(Decimal64(6))"};
    for (int metric = 0; metric < GT_METRIC_COUNT; metric++)
        for (int scope = (int)first; scope <= (int)last; scope++) {
            if (!gt_metric_has((enum gt_metric_id)metric, (enum gt_scope)scope))
                continue;
            struct gt_engine_column *column = &columns->column[columns->count++];
            *column = (struct gt_engine_column){.type = types[digits_of((enum gt_metric_id)metric)],
                                                .codec = FIGURE,
                                                .scope = scope,
                                                .metric = (enum gt_metric_id)metric};
            snprintf(column->name, sizeof column->name, "%s%s%s",
                     first == last ? "" : gt_scope_name((enum gt_scope)scope), first == last ? "" : "_",
                     gt_metrics[metric].name);
        }
}

/* A plain table. */
void gt_engine_columns(struct gt_engine_columns *ret, enum gt_engine_table table)
{
    ret->count = 0;
#define TABLE(table, name, version, order, is_kept)
#define PLAIN(of, name, kind, codec, is_later)                                           \
    if (table == GT_ENGINE_##of)                                                         \
        ret->column[ret->count++] = (struct gt_engine_column){#name, TYPE_##kind, codec, \
                                                              -1,    is_later,    (enum gt_metric_id)0};
#define COLUMN(of, name, kind, codec, value) PLAIN(of, name, kind, codec, false)
#define LATER(of, name, kind, codec, value) PLAIN(of, name, kind, codec, true)
#define METRICS(of, first, last, value) \
    if (table == GT_ENGINE_##of)        \
        append_metrics(ret, first, last);
#include "engine/table.def"
}

/* ---- Statements ---- */

static void add_column(struct gt_buffer *sql, const struct gt_engine_column *column, bool is_modern)
{
    gt_buffer_printf(sql, "%s %s", column->name,
                     is_modern || strcmp(column->type, TYPE_NAME) != 0 ? column->type : "String");
    if (column->codec && is_modern)
        gt_buffer_printf(sql, " CODEC(%s)", column->codec);
}

/* Append the statement that creates a table, without a semicolon. */
static void add_create(struct gt_buffer *sql, enum gt_engine_table table, bool is_modern)
{
    struct gt_engine_columns *columns = malloc(sizeof *columns);
    if (!columns) {
        sql->failed = -ENOMEM;
        return;
    }
    gt_engine_columns(columns, table);
    gt_buffer_printf(sql, "CREATE TABLE IF NOT EXISTS %s (", tables[table].name);
    for (size_t i = 0; i < columns->count; i++) {
        gt_buffer_text(sql, i ? ",\n  " : "\n  ");
        add_column(sql, &columns->column[i], is_modern);
    }
    free(columns);
    if (table >= GT_ENGINE_SAMPLES)
        gt_buffer_printf(sql,
                         is_modern ? ",\n  moment DateTime64(9) ALIAS fromUnixTimestamp64Nano(%s)"
                                   : ",\n  moment DateTime ALIAS toDateTime(intDiv(%s, 1000000000))",
                         table == GT_ENGINE_CALLS ? "start" : "time");
    gt_buffer_text(sql, "\n) ENGINE = ReplacingMergeTree");
    if (*tables[table].version)
        gt_buffer_printf(sql, "(%s)", tables[table].version);
    gt_buffer_printf(sql, " PARTITION BY %s ORDER BY (%s)", tables[table].is_kept ? "toYYYYMM(day)" : "day",
                     tables[table].order);
    if (is_modern)
        gt_buffer_printf(sql, "%s SETTINGS %snon_replicated_deduplication_window = 10000",
                         tables[table].is_kept ? "" : " TTL day + INTERVAL 30 DAY",
                         tables[table].is_kept ? "" : "ttl_only_drop_parts = 1, ");
}

int gt_engine_make(struct gt_buffer *sql, struct gt_server *server, struct gt_error *error)
{
    bool is_modern = true;
    int status = server ? gt_server_is_modern(server, &is_modern, error) : 0;
    for (int table = 0; status >= 0 && table < GT_ENGINE_TABLES; table++) {
        struct gt_buffer one = {0};
        add_create(&one, (enum gt_engine_table)table, is_modern);
        gt_buffer_printf(sql, "%s;\n", one.data ? one.data : "");
        if (one.failed || sql->failed)
            status = gt_error_system(error, ENOMEM, "%s", tables[table].name);
        else if (server)
            status = gt_server_run(server, &one, error);
        gt_buffer_release(&one);
    }
    return status;
}

/* ---- Columns of a server ---- */

int gt_engine_list(struct gt_answer *ret, struct gt_server *server, struct gt_error *error)
{
    struct gt_buffer sql = {0};
    gt_buffer_text(&sql, "SELECT '', table, name, '' FROM system.columns WHERE database = ");
    gt_sql_text(&sql, server->address.database);
    int status = gt_server_query(server, &sql, ret, error);
    if (status < 0)
        gt_answer_release(ret);
    return status;
}

bool gt_engine_has(const struct gt_answer *listed, const char *table, const char *column)
{
    char line[160];
    snprintf(line, sizeof line, "\t%s\t%s\t", table, column);
    return !listed->text.length || strstr(listed->text.data, line);
}

/* IF NOT EXISTS is newer than 18.16. */
static bool add_to_server(struct gt_server *server, enum gt_engine_table table, const struct gt_engine_column *column)
{
    bool is_modern;
    struct gt_buffer sql = {0};
    if (gt_server_is_modern(server, &is_modern, NULL) < 0)
        return false;
    gt_buffer_printf(&sql, "ALTER TABLE %s ADD COLUMN %s", tables[table].name, is_modern ? "IF NOT EXISTS " : "");
    add_column(&sql, column, is_modern);
    return gt_server_run(server, &sql, NULL) >= 0;
}

int gt_engine_find_columns(struct gt_server *server, enum gt_engine_table table, struct gt_engine_columns *columns,
                           struct gt_buffer *left_out, struct gt_error *error)
{
    struct gt_answer listed = {0};
    const char *name = tables[table].name;
    int status = gt_engine_list(&listed, server, error);
    if (status >= 0 && (!listed.text.length || !gt_engine_has(&listed, name, columns->column[0].name)))
        status = gt_error_set(error, ENOENT,
                              "%s has no table %s; an administrator creates it with gpu-tracker push --init %s",
                              server->name, name, server->name);
    for (size_t i = 0; status >= 0 && i < columns->count; i++) {
        const struct gt_engine_column *column = &columns->column[i];
        columns->has[i] = gt_engine_has(&listed, name, column->name) || add_to_server(server, table, column);
        if (columns->has[i])
            continue;
        if (column->scope < 0 && !column->is_later)
            status = gt_error_set(error, EINVAL, "%s: its table %s has no column %s", server->name, name, column->name);
        gt_buffer_printf(left_out, "%s%s.%s", left_out->length ? ", " : "", name, column->name);
    }
    gt_answer_release(&listed);
    return status;
}
