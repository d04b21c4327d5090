#include "engine/tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "LowCardinality(String)" /* a text of few values */
#define STEADY "DoubleDelta, ZSTD(1)"
#define FIGURE "Delta(8), ZSTD(1)"
#define PACKED "ZSTD(1)"

static const struct {
    const char *name, *version, *order;
    bool is_kept;
} tables[GT_ENGINE_TABLES] = {
#define TABLE(table, name, version, order, is_kept) [GT_ENGINE_##table] = {#name, version, order, is_kept},
#define COLUMN(table, name, type, codec)
#define LATER(table, name, type, codec)
#define METRICS(table, first, last)
#include "engine/table.def"
#undef TABLE
#undef COLUMN
#undef LATER
#undef METRICS
};

const char *gt_engine_table_name(enum gt_engine_table table)
{
    return tables[table].name;
}

static struct gt_engine_column *append(struct gt_engine_columns *columns)
{
    struct gt_engine_column *column = &columns->column[columns->count++];
    *column = (struct gt_engine_column){.scope = -1};
    return column;
}

/* Digits behind the point of what is stored as a whole number. */
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

static const char *type_of(enum gt_metric_id metric)
{
    switch (digits_of(metric)) {
    case 1: return "Nullable(Decimal64(1))";
    case 3: return "Nullable(Decimal64(3))";
    case 4: return "Nullable(Decimal64(4))";
    case 6: return "Nullable(Decimal64(6))";
    default: return "Nullable(Int64)";
    }
}

/* Columns of one scope alone have the metric's name. */
static void append_metrics(struct gt_engine_columns *columns, enum gt_scope first, enum gt_scope last)
{
    for (int metric = 0; metric < GT_METRIC_COUNT; metric++)
        for (int scope = (int)first; scope <= (int)last; scope++) {
            if (!gt_metric_has((enum gt_metric_id)metric, (enum gt_scope)scope))
                continue;
            struct gt_engine_column *column = append(columns);
            column->scope = scope;
            column->metric = (enum gt_metric_id)metric;
            column->type = type_of(column->metric);
            column->codec = FIGURE;
            snprintf(column->name, sizeof column->name, "%s%s%s",
                     first == last ? "" : gt_scope_name((enum gt_scope)scope), first == last ? "" : "_",
                     gt_metrics[metric].name);
        }
}

static void append_plain(struct gt_engine_columns *columns, const char *name, const char *type, const char *codec,
                         bool is_later)
{
    struct gt_engine_column *column = append(columns);
    snprintf(column->name, sizeof column->name, "%s", name);
    column->type = type;
    column->codec = codec;
    column->is_later = is_later;
}

/* A plain table. */
void gt_engine_columns(struct gt_engine_columns *ret, enum gt_engine_table table)
{
    ret->count = 0;
#define TABLE(table, name, version, order, is_kept)
#define COLUMN(of, name, type, codec) \
    if (table == GT_ENGINE_##of)      \
        append_plain(ret, #name, type, codec, false);
#define LATER(of, name, type, codec) \
    if (table == GT_ENGINE_##of)     \
        append_plain(ret, #name, type, codec, true);
#define METRICS(of, first, last) \
    if (table == GT_ENGINE_##of) \
        append_metrics(ret, first, last);
#include "engine/table.def"
#undef TABLE
#undef COLUMN
#undef LATER
#undef METRICS
}

/* ---- Statements ---- */

/* Values that texts share are stored once where a server can. */
static const char *type_in(const char *type, const struct gt_dialect *dialect)
{
    return !gt_dialect_is_modern(dialect) && !strcmp(type, NAME) ? "String" : type;
}

static void add_column(struct gt_buffer *sql, const struct gt_engine_column *column, const struct gt_dialect *dialect)
{
    gt_buffer_printf(sql, "%s %s", column->name, type_in(column->type, dialect));
    if (column->codec && gt_dialect_is_modern(dialect))
        gt_buffer_printf(sql, " CODEC(%s)", column->codec);
}

void gt_engine_create(struct gt_buffer *sql, enum gt_engine_table table, const struct gt_dialect *dialect)
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
        add_column(sql, &columns->column[i], dialect);
    }
    free(columns);
    if (gt_engine_is_numbered(table))
        gt_buffer_printf(sql,
                         gt_dialect_is_modern(dialect)
                             ? ",\n  moment DateTime64(9) ALIAS fromUnixTimestamp64Nano(%s)"
                             : ",\n  moment DateTime ALIAS toDateTime(intDiv(%s, 1000000000))",
                         table == GT_ENGINE_CALLS ? "start" : "time");
    gt_buffer_text(sql, "\n) ENGINE = ReplacingMergeTree");
    if (*tables[table].version)
        gt_buffer_printf(sql, "(%s)", tables[table].version);
    gt_buffer_printf(sql, " PARTITION BY %s ORDER BY (%s)", tables[table].is_kept ? "toYYYYMM(day)" : "day",
                     tables[table].order);
    if (!gt_dialect_is_modern(dialect))
        return;
    if (!tables[table].is_kept)
        gt_buffer_text(sql, " TTL day + INTERVAL 30 DAY");
    gt_buffer_printf(sql, " SETTINGS %snon_replicated_deduplication_window = 10000",
                     tables[table].is_kept ? "" : "ttl_only_drop_parts = 1, ");
}

void gt_engine_create_all(struct gt_buffer *sql, const struct gt_dialect *dialect)
{
    for (int table = 0; table < GT_ENGINE_TABLES; table++) {
        gt_engine_create(sql, (enum gt_engine_table)table, dialect);
        gt_buffer_text(sql, ";\n");
    }
}

int gt_engine_make(struct gt_server *server, struct gt_error *error)
{
    struct gt_dialect dialect;
    struct gt_buffer sql = {0};
    int status = gt_server_dialect(server, &dialect, error);
    for (int table = 0; status >= 0 && table < GT_ENGINE_TABLES; table++) {
        gt_buffer_clear(&sql);
        gt_engine_create(&sql, (enum gt_engine_table)table, &dialect);
        status = sql.failed ? gt_error_system(error, ENOMEM, "%s", gt_server_name(server))
                            : gt_server_run(server, sql.data, error);
    }
    gt_buffer_release(&sql);
    return status;
}

/* ---- Columns that a server has ---- */

static int list_columns(struct gt_server *server, enum gt_engine_table table, const struct gt_engine_columns *columns,
                        bool *has, struct gt_error *error)
{
    struct gt_buffer sql = {0}, text = {0};
    gt_buffer_text(&sql, "SELECT name FROM system.columns WHERE database = ");
    gt_sql_text(&sql, gt_server_address(server)->database);
    gt_buffer_printf(&sql, " AND table = '%s'", tables[table].name);
    int status = sql.failed ? gt_error_system(error, ENOMEM, "%s", gt_server_name(server))
                            : gt_server_ask(server, sql.data, &text, error);
    struct gt_answer answer;
    char *name;
    size_t found = 0;
    memset(has, 0, columns->count * sizeof *has);
    gt_answer_begin(&answer, &text);
    while (status >= 0 && gt_answer_next(&answer, &name, 1))
        for (size_t i = 0; i < columns->count; i++)
            if (name && !strcmp(name, columns->column[i].name)) {
                has[i] = true;
                found++;
            }
    if (status >= 0 && !found)
        status = gt_error_set(error, ENOENT,
                              "%s has no table %s; an administrator creates it with gpu-tracker push --init %s",
                              gt_server_name(server), tables[table].name, gt_server_name(server));
    gt_buffer_release(&sql);
    gt_buffer_release(&text);
    return status;
}

/* IF NOT EXISTS came after 18.16; two that add the same column at once both find it there afterwards. */
static bool add_to_server(struct gt_server *server, enum gt_engine_table table, const struct gt_engine_column *column)
{
    struct gt_dialect dialect;
    struct gt_buffer sql = {0};
    if (gt_server_dialect(server, &dialect, NULL) < 0)
        return false;
    gt_buffer_printf(&sql, "ALTER TABLE %s ADD COLUMN %s", tables[table].name,
                     gt_dialect_is_modern(&dialect) ? "IF NOT EXISTS " : "");
    add_column(&sql, column, &dialect);
    bool added = !sql.failed && gt_server_run(server, sql.data, NULL) >= 0;
    gt_buffer_release(&sql);
    return added;
}

int gt_engine_find_columns(struct gt_server *server, enum gt_engine_table table,
                           const struct gt_engine_columns *columns, bool *has, struct gt_buffer *left_out,
                           struct gt_error *error)
{
    int status = list_columns(server, table, columns, has, error);
    for (size_t i = 0; status >= 0 && i < columns->count; i++) {
        if (has[i])
            continue;
        has[i] = add_to_server(server, table, &columns->column[i]);
        if (!has[i])
            gt_buffer_printf(left_out, "%s%s.%s", left_out->length ? ", " : "", tables[table].name,
                             columns->column[i].name);
    }
    return status;
}

void gt_engine_list(struct gt_engine_listed *ret, struct gt_server *server)
{
    struct gt_buffer sql = {0};
    gt_buffer_text(&sql, "SELECT '', table, name, '' FROM system.columns WHERE database = ");
    gt_sql_text(&sql, gt_server_address(server)->database);
    if (!sql.failed && gt_server_ask(server, sql.data, &ret->text, NULL) < 0)
        gt_buffer_release(&ret->text);
    gt_buffer_release(&sql);
}

bool gt_engine_has(const struct gt_engine_listed *listed, const char *table, const char *column)
{
    char line[160];
    snprintf(line, sizeof line, "\t%s\t%s\t", table, column);
    return !listed->text.length || strstr(listed->text.data, line);
}
