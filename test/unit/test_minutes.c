/* The rows of minutes beside the samples of a recording in SQLite. */
#include <sqlite3.h>

#include "base/os/clock.h"
#include "store/type.h"
#include "support/folder.h"
#include "support/recorder.h"
#include "support/test.h"

/* Of these samples 0 to 3 are one minute, 4 to 12 the next; then somebody sets the clock back: 13 is the first of the third, and its
 * time is that of the first. */
static const int64_t FIRST_NS = INT64_C(1700000040) * GT_SECOND;
static const int first_of[] = {0, 4, 13, 20};
enum { MINUTES = 3, SAMPLES = 20 };

static void record(const char *path, bool has_gpus, const struct gt_outcome *outcome)
{
    struct gt_store *store;
    struct gt_error error = {0};
    struct gt_store_options options = {.path = path, .overwrite = true};
    if (gt_store_open(&store, &options, recorder_machine(has_gpus), &error) < 0)
        fail_msg("%s", error.text);
    for (int i = 0; i < SAMPLES; i++) {
        struct gt_sample sample = *recorder_sample(i);
        int seconds = i < first_of[1] ? 14 * i : i < first_of[2] ? 60 + 5 * (i - first_of[1]) : i;
        sample.real_ns = FIRST_NS + seconds * GT_SECOND;
        recorder_send(store, &sample);
    }
    assert_int_equal(gt_store_close(store, outcome, &error), 0);
}

static void assert_figure(double found, double expected)
{
    assert_close(found, expected, isnan(expected) ? 0 : 1e-9 + fabs(expected) * 1e-13);
}

static sqlite3 *opened(const char *path)
{
    sqlite3 *database;
    assert_int_equal(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    return database;
}

/* The only value of a query; NaN for NULL. */
static double ask(sqlite3 *database, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(database));
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    bool is_null = sqlite3_column_type(statement, 0) == SQLITE_NULL;
    double value = is_null ? NAN : sqlite3_column_double(statement, 0);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return value;
}

static double of_minute(sqlite3 *database, const char *column, int minute, const char *statistic)
{
    return ask(database, "SELECT \"%w\" FROM minutes WHERE number = %d AND statistic = '%s'", column, minute,
               statistic);
}

/* What SQLite makes of the samples of the minute. */
static double of_samples(sqlite3 *database, const char *function, const char *column, int minute)
{
    return ask(database, "SELECT %s(\"%w\") FROM data WHERE rowid > %d AND rowid <= %d", function, column,
               first_of[minute], first_of[minute + 1]);
}

static double last_sample(sqlite3 *database, const char *column, int minute)
{
    return ask(
        database,
        "SELECT \"%w\" FROM data WHERE rowid > %d AND rowid <= %d AND \"%w\" IS NOT NULL ORDER BY rowid DESC LIMIT 1",
        column, first_of[minute], first_of[minute + 1], column);
}

static void check_column(sqlite3 *database, const struct gt_column *column, int minute)
{
    const char *name = column->name;
    bool is_gauge = column->scope < 0 || gt_metrics[column->metric].kind == GT_GAUGE;
    static const char *const statistics[][2] = {{"mean", "avg"}, {"min", "min"}, {"max", "max"}};
    for (int i = 0; i < 3; i++) {
        double found = of_minute(database, name, minute, statistics[i][0]);
        if (is_gauge)
            assert_figure(found, of_samples(database, statistics[i][1], name, minute));
        else
            assert_true(isnan(found));
    }
    assert_figure(of_minute(database, name, minute, "last"), last_sample(database, name, minute));
}

TEST_WITH(every_column_of_samples_is_summed_up, folder_make, folder_remove)
{
    struct gt_outcome outcome = recorder_outcome(SAMPLES);
    static struct gt_columns columns;
    gt_store_columns(&columns, recorder_machine(true));
    record(folder_path("a.sqlite"), true, &outcome);
    sqlite3 *database = opened(folder_path("a.sqlite"));
    assert_figure(ask(database, "SELECT count(*) FROM minutes"), MINUTES * 4);
    for (int minute = 0; minute < MINUTES; minute++) {
        assert_figure(ask(database, "SELECT count(DISTINCT statistic) FROM minutes WHERE number = %d", minute), 4);
        assert_figure(of_minute(database, "time", minute, "last"), 1700000040 + (minute == 1 ? 60 : 0));
        assert_figure(of_minute(database, "weight", minute, "min"), first_of[minute + 1] - first_of[minute]);
        for (size_t i = 0; i < columns.count; i++)
            check_column(database, &columns.column[i], minute);
    }
    sqlite3_close(database);
}

/* Where the original's columns have 0 for what nobody measured, a minute has nothing. */
TEST_WITH(without_gpus_their_figures_are_missing, folder_make, folder_remove)
{
    struct gt_outcome outcome = recorder_outcome(SAMPLES);
    record(folder_path("a.sqlite"), false, &outcome);
    sqlite3 *database = opened(folder_path("a.sqlite"));
    assert_figure(ask(database, "SELECT count(main_gpu_ram) FROM data"), SAMPLES);
    assert_figure(ask(database, "SELECT count(main_gpu_ram) FROM minutes"), 0);
    assert_figure(ask(database, "SELECT count(main_ram) FROM minutes"), MINUTES * 4);
    sqlite3_close(database);
}

TEST_WITH(a_killed_tracker_leaves_the_minutes_that_were_over, folder_make, folder_remove)
{
    record(folder_path("a.sqlite"), true, NULL);
    sqlite3 *database = opened(folder_path("a.sqlite"));
    assert_figure(ask(database, "SELECT count(DISTINCT number) FROM minutes"), MINUTES - 1);
    assert_figure(ask(database, "SELECT count(*) FROM data"), SAMPLES);
    sqlite3_close(database);
}
