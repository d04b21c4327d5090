/* Marking code blocks: each case marks in a forked process with a folder of its own, then reads the files it left. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "blocks/block.h"
#include "support/folder.h"
#include "support/marking.h"
#include "support/test.h"
#include "support/valgrind.h"

#include <sqlite3.h>

static void counted_work(void)
{
    GT_BLOCK_OF("epoch", 12);
    GT_BLOCK("step");
}

TEST(test_how_many_there_will_be)
{
    char text[1000] = "";
    pid_t pid;
    assert_int_equal(marking_run(counted_work, &pid), 0);
    FILE *file = fopen(folder_path(marking_file_of(pid)), "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *row = strstr(text, ",epoch,0,");
    assert_non_null(row);
    assert_true(strstr(row, ",12,") && strstr(row, ",12,") < strchr(row, '\n'));
    assert_null(strstr(strchr(row, '\n'), ",12,"));
}

static void names_work(void)
{
    static char enormous[5000];
    memset(enormous, 'x', sizeof enormous - 1);
    for (int i = 0; i < 300; i++) {
        GT_BLOCK("a,b \"c\"\nd é");
        GT_BLOCK("plain");
    }
    GT_BLOCK(enormous);
    GT_BLOCK("");
}

TEST(test_names)
{
    static struct marking_row row[2000];
    pid_t pid;
    assert_int_equal(marking_run(names_work, &pid), 0);
    assert_int_equal(marking_read(marking_file_of(pid), row, 2000), 1204);
    size_t special = 0, plain = 0, unnamed = 0;
    for (int i = 0; i < 1204; i++) {
        special += strcmp(row[i].name, "a,b \"c\"\nd é") == 0;
        plain += strcmp(row[i].name, "plain") == 0;
        unnamed += strcmp(row[i].name, "(unnamed)") == 0;
    }
    assert_int_equal(special, 600);
    assert_int_equal(plain, 600);
    assert_int_equal(unnamed, 2);
}

enum { THREADS = 8, EACH = 2000 };

static void killed_work(void)
{
    for (int i = 0; i < 777; i++) {
        GT_BLOCK("survives");
    }
    struct gt_block open = gt_block_begin("never ends");
    (void)open;
    raise(SIGKILL);
}

TEST(test_killed)
{
    static struct marking_row row[2000];
    pid_t pid;
    assert_int_equal(WTERMSIG(marking_run(killed_work, &pid)), SIGKILL);
    assert_int_equal(marking_read(marking_file_of(pid), row, 2000), 2 * 777 + 1);
    assert_string_equal(row[2 * 777].name, "never ends");
}

static void fork_work(void)
{
    GT_BLOCK("parent");
    pid_t pid = fork();
    if (pid == 0) {
        {
            GT_BLOCK("child");
        }
        return; /* through the end of "parent", which is not the child's */
    }
    int status;
    waitpid(pid, &status, 0);
    FILE *note = fopen("child", "w");
    fprintf(note, "%d", (int)pid);
    fclose(note);
}

TEST(test_fork)
{
    struct marking_row row[8];
    pid_t pid;
    assert_int_equal(marking_run(fork_work, &pid), 0);
    assert_int_equal(marking_read(marking_file_of(pid), row, 8), 2);
    assert_string_equal(row[0].name, "parent");
    assert_string_equal(row[1].name, "parent");

    char path[128];
    int child = 0;
    snprintf(path, sizeof path, "%s/child", test_folder);
    FILE *note = fopen(path, "r");
    assert_non_null(note);
    assert_int_equal(fscanf(note, "%d", &child), 1);
    fclose(note);
    assert_int_equal(marking_read(marking_file_of(child), row, 8), 2);
    assert_string_equal(row[0].name, "child");
    assert_int_equal(row[0].process, child);
    assert_int_equal(row[0].thread, child);
}

static void leftover_work(void)
{
    FILE *leftover = fopen(marking_file_of(getpid()), "w");
    fputs("an earlier file", leftover);
    fclose(leftover);
    GT_BLOCK("kept");
}

TEST(test_leftover_is_kept)
{
    struct marking_row row[8];
    pid_t pid;
    char name[64];
    assert_int_equal(marking_run(leftover_work, &pid), 0);
    snprintf(name, sizeof name, "%d-2.csv", (int)pid);
    assert_int_equal(marking_read(name, row, 8), 2);
}

static void unwritable_work(void)
{
    setenv(GT_BLOCKS_ENVIRONMENT, "/dev/null/folder", 1);
    GT_BLOCK("nowhere");
    if (!gt_block_trouble() || !strstr(gt_block_trouble(), "/dev/null/folder"))
        exit(1);
}

/* CPU seconds of borders that have no place, and of as many readings of the clock that each would need. */
static void unwritable_cost_work(void)
{
    enum { BORDERS = 40000 };
    setenv(GT_BLOCKS_ENVIRONMENT, "/dev/null/folder", 1);
    struct timespec time[3], now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time[0]);
    for (int i = 0; i < BORDERS / 2; i++) {
        GT_BLOCK("nowhere");
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time[1]);
    for (int i = 0; i < BORDERS; i++)
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time[2]);
    double spent[2];
    for (int i = 0; i < 2; i++)
        spent[i] = (double)(time[i + 1].tv_sec - time[i].tv_sec) +
                   (double)(time[i + 1].tv_nsec - time[i].tv_nsec) / 1e9;
    exit(spent[0] < spent[1] / 2 ? 0 : 1);
}

TEST(test_unwritable_costs_next_to_nothing)
{
    pid_t pid;
    SKIP_UNDER_VALGRIND();
    assert_int_equal(marking_run(unwritable_cost_work, &pid), 0);
}

static void without_cpu_work(void)
{
    setenv(GT_BLOCKS_CPU_ENVIRONMENT, "no", 1);
    for (int i = 0; i < 200; i++) {
        char name[300] = "";
        memset(name, 'x', (size_t)i);
        GT_BLOCK(name);
        GT_BLOCK("a, b");
    }
    struct gt_block_file *file;
    if (gt_block_file_open(&file, "without.sqlite", 0, NULL) < 0)
        exit(1);
    struct gt_block block = gt_block_begin_in(file, "x", 0);
    gt_block_end_with_children(&block, 5);
}

/* Neither 0 nor the zeros that fill a page up, and no row crosses a page. */
TEST(test_without_cpu_time)
{
    static struct marking_row row[1000];
    static char text[200000];
    pid_t pid;
    sqlite3 *database;
    sqlite3_stmt *statement;
    assert_int_equal(marking_run(without_cpu_work, &pid), 0);
    size_t rows = marking_read(marking_file_of(pid), row, 1000);
    assert_int_equal(rows, 800);
    for (size_t i = 0; i < rows; i++)
        assert_true(isnan(row[i].cpu_time) && (i == 0 || row[i].monotonic >= row[i - 1].monotonic));
    FILE *file = fopen(folder_path(marking_file_of(pid)), "r");
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    assert_true(length > 10 * 4096);
    for (size_t at = 4096; at <= length; at += 4096)
        assert_memory_equal(text + at - 2, "\r\n", 2);
    assert_int_equal(sqlite3_open(folder_path("without.sqlite"), &database), SQLITE_OK);
    const char *sql = "SELECT count(*), count(cpu_time) FROM blocks";
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(statement, 0), 2);
    assert_int_equal(sqlite3_column_int(statement, 1), 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
}

TEST(test_unwritable_is_quiet)
{
    pid_t pid;
    assert_int_equal(marking_run(unwritable_work, &pid), 0);
}

static void chosen_file_work(void)
{
    struct gt_block_file *file, *again;
    struct gt_error error = {0};
    if (gt_block_file_open(&file, "chosen.csv", 0, &error) < 0 ||
        gt_block_file_open(&again, "chosen.csv", 0, &error) < 0)
        exit(1);
    if (file != again || gt_block_file_open(&again, "chosen.txt", 0, &error) != -EINVAL)
        exit(2);
    struct gt_block block = gt_block_begin_in(file, "here", 0);
    gt_block_end(&block);
    gt_block_end(&block); /* the second time does nothing */
}

TEST(test_chosen_file)
{
    struct marking_row row[8];
    pid_t pid;
    assert_int_equal(marking_run(chosen_file_work, &pid), 0);
    assert_int_equal(marking_read("chosen.csv", row, 8), 2);
    assert_string_equal(row[0].name, "here");
}

ALL_TESTS(folder_make, folder_remove);
