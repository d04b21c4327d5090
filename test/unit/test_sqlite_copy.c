/* A recording on a file system of a network is read while its writer goes on, which keeps the index of its log to itself. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/sqlite.h"
#include "support/folder.h"
#include "support/sanitized.h"

enum { PAIRS = 250, BURST = 20 };

static void run(sqlite3 *database, const char *sql)
{
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
        _exit(1);
}

/* The rows of a pair lie far from each other and always agree; the log is begun anew every few changes, which come in
 * bursts. */
static void write_for_ever(const char *path, int ready)
{
    sqlite3 *database;
    char sql[400];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (sqlite3_open(path, &database) != SQLITE_OK)
        _exit(1);
    snprintf(sql, sizeof sql,
             "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; BEGIN;"
             "CREATE TABLE row (number INTEGER PRIMARY KEY, value, text);"
             "WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
             "INSERT INTO row SELECT i, 0, hex(zeroblob(1500)) FROM n; COMMIT; PRAGMA wal_autocheckpoint=6;",
             2 * PAIRS - 1);
    run(database, sql);
    if (write(ready, "", 1) != 1)
        _exit(1);
    for (int i = 1;; i++) {
        int which = i * 7 % PAIRS;
        snprintf(sql, sizeof sql, "UPDATE row SET value = %d WHERE number IN (%d, %d)", i, which, which + PAIRS);
        run(database, sql);
        if (i % BURST == 0)
            usleep(10000);
    }
}

static int64_t number(sqlite3 *database, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK || sqlite3_step(statement) != SQLITE_ROW)
        fail_msg("%s: %s", sql, sqlite3_errmsg(database));
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* On a busy machine a copy may take longer than the writer leaves a log alone, as often as it is tried. */
static sqlite3 *open_patiently(const char *path)
{
    sqlite3 *database = NULL;
    int status = -EBUSY;
    for (int i = 0; status == -EBUSY && i < 1000; i++) {
        struct gt_error error = {0};
        status = gt_sqlite_open_existing(&database, path, &error);
        if (status < 0 && status != -EBUSY)
            fail_msg("%s", error.text);
    }
    assert_int_equal(status, 0);
    return database;
}

/* The last change that the copy has. */
static int64_t read_copy(const char *path)
{
    sqlite3 *database = open_patiently(path);
    assert_int_equal(number(database, "SELECT count(*) FROM row"), 2 * PAIRS);
    assert_int_equal(number(database, "SELECT count(*) FROM row a JOIN row b ON b.number = a.number + 250"
                                      " WHERE a.value != b.value"),
                     0);
    int64_t last = number(database, "SELECT max(value) FROM row");
    sqlite3_close(database);
    return last;
}

static void what_is_written_meanwhile_is_whole(void **state)
{
    (void)state;
    const char *path = folder_path("a.sqlite");
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0)
        write_for_ever(path, ready[1]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    int64_t first = read_copy(path), before = first;
    for (int i = 0; i < FEWER(30, 10) || before == first; i++) {
        int64_t now = read_copy(path);
        assert_true(now >= before);
        before = now;
    }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(read_copy(path) >= before); /* the lock went with the writer */
    assert_int_equal(folder_count(), 3);    /* the file, its log, and the folder for copies */
    assert_int_equal(rmdir(getenv("TMPDIR")), 0);
}

static void a_copy_that_finds_no_room_is_told(void **state)
{
    (void)state;
    sqlite3 *database = NULL;
    struct gt_error error = {0};
    setenv("TMPDIR", "/nowhere", 1);
    assert_true(gt_sqlite_open_copy(&database, folder_path("a.sqlite"), &error) < 0);
    assert_non_null(strstr(error.text, "a.sqlite: no folder for a copy, /nowhere/"));
    assert_null(database);
}

static int make_folder(void **state)
{
    folder_make(state);
    mkdir(folder_path("copies"), 0700);
    return setenv("TMPDIR", folder_path("copies"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_written_meanwhile_is_whole, make_folder, folder_remove),
        cmocka_unit_test_setup_teardown(a_copy_that_finds_no_room_is_told, make_folder, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
