#include "base/grow.h"
#include "store/sqlite.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool gt_sqlite_has_table(sqlite3 *database, const char *table)
{
    sqlite3_stmt *statement = NULL;
    sqlite3_prepare_v2(database, "SELECT 1 FROM sqlite_schema WHERE name = ?", -1, &statement, NULL);
    sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
    bool found = sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    return found;
}

static const char *text_of(sqlite3_stmt *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    return text ? (const char *)text : "";
}

static double number_of(sqlite3_stmt *statement, int column)
{
    return sqlite3_column_type(statement, column) == SQLITE_NULL ? NAN : sqlite3_column_double(statement, column);
}

static int read_fact(sqlite3_stmt *statement, int column, struct gt_machine *machine, const struct gt_field *fact,
                     const char *path, struct gt_error *error)
{
    int type = sqlite3_column_type(statement, column);
    if (fact->kind == GT_FIELD_TEXT || type == SQLITE_TEXT || type == SQLITE_BLOB)
        return gt_machine_fact_read(machine, fact, text_of(statement, column), path, error);
    gt_field_set_number(fact, machine, number_of(statement, column));
    return 0;
}

static int read_static(sqlite3 *database, const char *path, struct gt_machine *machine, struct gt_error *error)
{
    sqlite3_stmt *statement = NULL;
    int status = gt_sqlite_prepare(&statement, database, path, "SELECT * FROM static_data LIMIT 1", error);
    if (status < 0)
        return status;
    if (sqlite3_step(statement) != SQLITE_ROW)
        status = gt_error_set(error, EINVAL, "%s: its table static_data is empty", path);
    for (size_t i = 0; !status && i < gt_machine_field_count; i++)
        for (int column = 0; !status && column < sqlite3_column_count(statement); column++)
            if (!strcmp(sqlite3_column_name(statement, column), gt_machine_fields[i].name))
                status = read_fact(statement, column, machine, &gt_machine_fields[i], path, error);
    sqlite3_finalize(statement);
    return status;
}

/* Call `row` for each row of a query. */
static int each_row(sqlite3 *database, const char *path, const char *sql,
                    int (*row)(sqlite3_stmt *, struct gt_recorded *), struct gt_recorded *recorded,
                    struct gt_error *error)
{
    sqlite3_stmt *statement = NULL;
    int status = gt_sqlite_prepare(&statement, database, path, sql, error);
    int stepped = SQLITE_DONE;
    while (!status && (stepped = sqlite3_step(statement)) == SQLITE_ROW)
        if (row(statement, recorded) < 0)
            status = gt_error_system(error, ENOMEM, "%s", path);
    if (!status && stepped != SQLITE_DONE)
        status = gt_sqlite_error(database, path, error);
    sqlite3_finalize(statement);
    return status;
}

static int take_gpu(sqlite3_stmt *statement, struct gt_recorded *recorded)
{
    struct gt_gpu *gpu = gt_machine_add_gpu(&recorded->machine);
    if (!gpu)
        return -ENOMEM;
    snprintf(gpu->uuid, sizeof gpu->uuid, "%s", text_of(statement, 0));
    snprintf(gpu->name, sizeof gpu->name, "%s", text_of(statement, 1));
    snprintf(gpu->brand, sizeof gpu->brand, "%s", text_of(statement, 2));
    gpu->memory = number_of(statement, 3);
    gpu->selected = sqlite3_column_int(statement, 4) != 0;
    return 0;
}

static int take_outcome(sqlite3_stmt *statement, struct gt_recorded *recorded)
{
    int index = gt_field_find(gt_outcome_fields, gt_outcome_field_count, text_of(statement, 0));
    if (index < 0)
        return 0;
    recorded->has_outcome = true;
    const struct gt_field *field = &gt_outcome_fields[index];
    if (field->kind == GT_FIELD_TEXT)
        gt_field_set_text(field, &recorded->outcome, text_of(statement, 1));
    else
        gt_field_set_number(field, &recorded->outcome, number_of(statement, 1));
    return 0;
}

/* The column of this name is a figure, which an earlier version may have called otherwise. */
static bool find_renamed(const char *scope_name, const char *metric_name, enum gt_scope *scope,
                         enum gt_metric_id *metric)
{
    char name[128];
    struct gt_columns columns;
    snprintf(name, sizeof name, "%s_%s", scope_name, metric_name);
    gt_store_columns(&columns, NULL);
    int index = gt_store_column_find(&columns, name);
    if (index < 0 || columns.column[index].scope < 0)
        return false;
    *scope = columns.column[index].scope;
    *metric = columns.column[index].metric;
    return true;
}

/* The number of a scope and metric by their names in columns 0 and 1; false for those of another version. */
static bool find_figure(sqlite3_stmt *statement, enum gt_scope *scope, enum gt_metric_id *metric)
{
    int found = gt_metric_find(text_of(statement, 1));
    if (found < 0)
        return find_renamed(text_of(statement, 0), text_of(statement, 1), scope, metric);
    for (int i = 0; found >= 0 && i < GT_SCOPE_COUNT; i++)
        if (!strcmp(gt_scope_name(i), text_of(statement, 0))) {
            *scope = i;
            *metric = found;
            return true;
        }
    return false;
}

static int take_final(sqlite3_stmt *statement, struct gt_recorded *recorded)
{
    enum gt_scope scope;
    enum gt_metric_id metric;
    if (find_figure(statement, &scope, &metric) && (int)scope < GT_FIXED_ROWS)
        recorded->outcome.value[scope][metric] = number_of(statement, 2);
    return 0;
}

static struct gt_package_figures *find_package(struct gt_outcome *outcome, int number)
{
    for (size_t i = 0; i < outcome->package_count; i++)
        if (outcome->package[i].number == number)
            return &outcome->package[i];
    if (outcome->package_count == GT_PACKAGES)
        return NULL;
    struct gt_package_figures *package = &outcome->package[outcome->package_count++];
    package->number = number;
    for (int figure = 0; figure < GT_PACKAGE_FIGURES; figure++)
        package->value[figure] = NAN;
    return package;
}

static int take_package(sqlite3_stmt *statement, struct gt_recorded *recorded)
{
    struct gt_package_figures *package = find_package(&recorded->outcome, sqlite3_column_int(statement, 0));
    for (int figure = 0; package && figure < GT_PACKAGE_FIGURES; figure++)
        if (!strcmp(gt_package_figure_names[figure], text_of(statement, 1)))
            package->value[figure] = number_of(statement, 2);
    return 0;
}

static enum gt_exactness find_exactness(const char *name)
{
    for (int i = GT_MISSING; i <= GT_ESTIMATED; i++)
        if (!strcmp(gt_exactness_name(i), name))
            return i;
    return GT_MISSING;
}

static int take_provenance(sqlite3_stmt *statement, struct gt_recorded *recorded)
{
    struct gt_provenance entry = {.exactness = find_exactness(text_of(statement, 2))};
    if (!find_figure(statement, &entry.scope, &entry.metric))
        return 0;
    snprintf(entry.source, sizeof entry.source, "%s", text_of(statement, 3));
    snprintf(entry.note, sizeof entry.note, "%s", text_of(statement, 4));
    struct gt_outcome *outcome = &recorded->outcome;
    struct gt_provenance *place = GT_GROW_BY_ONE(outcome->provenance, outcome->provenance_count);
    if (!place)
        return -ENOMEM;
    *place = entry;
    outcome->provenance_count++;
    return 0;
}

static int take_life(sqlite3_stmt *statement, struct gt_recorded *recorded)
{
    struct gt_life life;
    gt_life_init(&life);
    for (int column = 0; column < sqlite3_column_count(statement); column++) {
        int index = gt_field_find(gt_life_fields, gt_life_field_count, sqlite3_column_name(statement, column));
        if (index < 0)
            continue;
        if (gt_life_fields[index].kind == GT_FIELD_TEXT)
            gt_field_set_text(&gt_life_fields[index], &life, text_of(statement, column));
        else
            gt_field_set_number(&gt_life_fields[index], &life, number_of(statement, column));
    }
    return gt_lives_add(&recorded->outcome.lives, &life);
}

static int take_version(sqlite3_stmt *statement, struct gt_recorded *recorded)
{
    (void)recorded;
    return sqlite3_column_int(statement, 0) > GT_RECORDING_VERSION ? -ENOTSUP : 0;
}

int gt_sqlite_read_fields(sqlite3 *database, const char *path, struct gt_recorded *recorded, struct gt_error *error)
{
    static const struct {
        const char *table, *sql;
        int (*take)(sqlite3_stmt *, struct gt_recorded *);
    } further[] = {
        {"gpu", "SELECT uuid, name, brand, memory, selected FROM gpu ORDER BY device", take_gpu},
        {"outcome", "SELECT key, value FROM outcome", take_outcome},
        {"final", "SELECT scope, metric, value FROM final", take_final},
        {"package", "SELECT package, key, value FROM package", take_package},
        {GT_LIFE_TABLE, "SELECT * FROM " GT_LIFE_TABLE, take_life},
        {"provenance", "SELECT scope, metric, exactness, source, note FROM provenance", take_provenance},
    };
    if (!gt_sqlite_has_table(database, "static_data"))
        return gt_error_set(error, EINVAL, "%s is not a tracking file: it has no table static_data", path);
    gt_outcome_init(&recorded->outcome);
    int status = each_row(database, path, "PRAGMA user_version", take_version, recorded, NULL);
    if (status < 0)
        return gt_recording_version_check(GT_RECORDING_VERSION + 1, path, error);
    status = read_static(database, path, &recorded->machine, error);
    for (size_t i = 0; !status && i < sizeof further / sizeof *further; i++)
        if (gt_sqlite_has_table(database, further[i].table))
            status = each_row(database, path, further[i].sql, further[i].take, recorded, error);
    return status;
}
