#include "store/sqlite.h"

int gt_sqlite_lives_create(sqlite3_stmt **ret, sqlite3 *database, const char *path, struct gt_error *error)
{
    static const char *const types[] = {"VARCHAR", "INTEGER", "FLOAT"};
    struct gt_buffer create = {0}, insert = {0};
    gt_buffer_text(&create, "CREATE TABLE IF NOT EXISTS " GT_LIFE_TABLE " (");
    gt_buffer_text(&insert, "REPLACE INTO " GT_LIFE_TABLE " VALUES (");
    for (size_t i = 0; i < gt_life_field_count; i++) {
        const struct gt_field *fact = &gt_life_fields[i];
        gt_buffer_printf(&create, "%s%s %s%s", i ? ", " : "", fact->name, types[fact->kind], i ? "" : " PRIMARY KEY");
        gt_buffer_text(&insert, i ? ",?" : "?");
    }
    gt_buffer_char(&create, ')');
    gt_buffer_char(&insert, ')');
    int status = create.failed ? create.failed : insert.failed;
    status = status < 0 ? gt_error_system(error, -status, "%s", path)
                        : gt_sqlite_run(database, path, create.data, error);
    if (!status)
        status = gt_sqlite_prepare(ret, database, path, insert.data, error);
    gt_buffer_release(&create);
    gt_buffer_release(&insert);
    return status;
}

static void bind(sqlite3_stmt *insert, int position, const struct gt_field *fact, const struct gt_life *life)
{
    if (fact->kind != GT_FIELD_TEXT)
        gt_sqlite_bind_number(insert, position, gt_life_number(fact, life), fact->kind == GT_FIELD_INTEGER);
    else if (*gt_field_text(fact, life))
        gt_sqlite_bind_text(insert, position, gt_field_text(fact, life));
    else
        sqlite3_bind_null(insert, position);
}

int gt_sqlite_lives_write(sqlite3_stmt *insert, const char *path, const struct gt_life *life, size_t count,
                          struct gt_error *error)
{
    int status = 0;
    for (size_t k = 0; !status && k < count; k++) {
        for (size_t i = 0; i < gt_life_field_count; i++)
            bind(insert, (int)i + 1, &gt_life_fields[i], &life[k]);
        status = gt_sqlite_step(insert, sqlite3_db_handle(insert), path, error);
    }
    return status;
}
