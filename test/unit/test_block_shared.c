/* Sub-tracking files that several processes write: whose they are, and that they are whole at any moment. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "blocks/block.h"
#include "support/folder.h"
#include "support/marking.h"
#include "support/test.h"
#include "support/valgrind.h"

#include <sqlite3.h>

static struct gt_block_file *open_file(const char *name, int overwrite)
{
    struct gt_block_file *file = NULL;
    struct gt_error error = {0};
    if (gt_block_file_open(&file, name, overwrite, &error) < 0) {
        fprintf(stderr, "%s\n", error.text);
        _exit(90);
    }
    return file;
}

static void mark(struct gt_block_file *file, const char *name, int pairs)
{
    for (int i = 0; i < pairs; i++) {
        struct gt_block block = gt_block_begin_in(file, name, 0);
        gt_block_end(&block);
    }
}

static size_t count_sql(const char *name, const char *sql)
{
    sqlite3 *database;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open(folder_path(name), &database), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    size_t count = (size_t)sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return count;
}

enum { CHILDREN = 4, EACH = 100, ALL = CHILDREN * EACH + 1 };

static void check_pairs(const char *name)
{
    static struct marking_row row[2 * ALL + 1];
    if (strstr(name, ".sqlite")) {
        assert_int_equal(count_sql(name, "SELECT count(*) FROM data"), 2 * ALL);
        assert_int_equal(count_sql(name, "SELECT count(DISTINCT process_id) FROM data"), CHILDREN + 1);
        assert_int_equal(count_sql(name, "SELECT count(*) FROM (SELECT 1 FROM blocks GROUP BY process_id, call HAVING "
                                         "count(*) = 2 AND sum(position) = 1)"),
                         ALL);
        return;
    }
    assert_int_equal(marking_read(name, row, 2 * ALL + 1), 2 * ALL);
    for (int i = 0; i < 2 * ALL; i++) {
        int partners = 0;
        for (int j = 0; j < 2 * ALL; j++)
            partners += row[j].process == row[i].process && row[j].call == row[i].call &&
                        row[j].position != row[i].position;
        assert_int_equal(partners, 1);
    }
}

/* ---- all pairs, whoever opens the file and when ---- */

static const struct {
    const char *name;
    bool parent_opens, parent_marks_first, child_opens, overwrite, leftover;
} ways[] = {
    {"inherited.csv", true, true, false, false, false},
    {"inherited-late.csv", true, false, false, false, false},
    {"inherited-anew.csv", true, true, false, true, true},
    {"own.csv", true, true, true, false, false},
    {"own-anew.csv", true, true, true, true, true},
    {"children.csv", false, false, true, false, false},
    {"children-anew.csv", false, false, true, true, true},
    {"inherited.sqlite", true, true, false, false, false},
    {"inherited-late.sqlite", true, false, false, false, false},
    {"inherited-anew.sqlite", true, true, false, true, true},
    {"own.sqlite", true, true, true, false, false},
    {"own-anew.sqlite", true, true, true, true, true},
    {"children.sqlite", false, false, true, false, false},
    {"children-anew.sqlite", false, false, true, true, true},
};
static size_t way; /* that the work below takes */

static void share_work(void)
{
    const char *name = ways[way].name;
    struct gt_block_file *file = NULL;
    if (ways[way].parent_opens)
        file = open_file(name, ways[way].overwrite);
    if (ways[way].parent_marks_first)
        mark(file, "before", 1);
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0) {
            mark(ways[way].child_opens ? open_file(name, ways[way].overwrite) : file, "child", EACH);
            _exit(0); /* as the workers of multiprocessing end */
        }
    for (int i = 0, status = 0; i < CHILDREN; i++)
        if (wait(&status) < 0 || status != 0)
            exit(91);
    if (!ways[way].parent_marks_first)
        mark(open_file(name, ways[way].overwrite), "after", 1);
}

TEST(test_all_pairs)
{
    for (way = 0; way < sizeof ways / sizeof *ways; way++) {
        pid_t pid;
        if (ways[way].leftover)
            folder_put(test_folder, ways[way].name, "of an earlier run\n");
        if (marking_run(share_work, &pid) != 0)
            fail_msg("%s", ways[way].name);
        check_pairs(ways[way].name);
    }
}

/* ---- other programs: this one, executed again (see main) ---- */

static int run_program(const char *name, const char *overwrite, pid_t parent)
{
    char number[16];
    snprintf(number, sizeof number, "%d", (int)parent);
    pid_t pid = fork();
    if (pid == 0) {
        if (chdir(test_folder) == 0)
            execl("/proc/self/exe", "marker", name, overwrite, number, (char *)NULL);
        _exit(99);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int be_a_program(char **words)
{
    struct gt_block_file *file;
    gt_block_parent((pid_t)atoi(words[3]));
    int status = gt_block_file_open(&file, words[1], atoi(words[2]), NULL);
    if (status == 0)
        mark(file, "program", 1);
    return -status;
}

TEST(test_an_earlier_run_is_not_joined)
{
    struct marking_row row[8];
    static const char *const names[] = {"runs.csv", "runs.sqlite"};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(run_program(names[i], "0", 0), 0);
        assert_int_equal(run_program(names[i], "0", 0), EEXIST);
        assert_int_equal(run_program(names[i], "1", 0), 0); /* replaced */
    }
    assert_int_equal(marking_read("runs.csv", row, 8), 2);
    assert_int_equal(count_sql("runs.sqlite", "SELECT count(*) FROM data"), 2);
}

/* A log that lies beside without its database would be taken for the new one's. It is nobody's to remove unasked. */
TEST(test_an_old_log_is_not_read)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (chdir(test_folder) < 0)
            _exit(99);
        mark(open_file("log.sqlite", 0), "old", 1);
        raise(SIGKILL);
    }
    waitpid(pid, NULL, 0);
    assert_int_equal(access(folder_path("log.sqlite-wal"), F_OK), 0);
    assert_int_equal(unlink(folder_path("log.sqlite")), 0);
    assert_int_equal(run_program("log.sqlite", "0", 0), ENOTEMPTY);
    assert_int_equal(access(folder_path("log.sqlite-wal"), F_OK), 0);
    assert_int_equal(run_program("log.sqlite", "1", 0), 0);
    assert_int_equal(count_sql("log.sqlite", "SELECT count(*) FROM data WHERE code_block_name = 'program'"), 2);
    assert_int_equal(count_sql("log.sqlite", "SELECT count(*) FROM data"), 2);
}

/* ---- whole at any moment ---- */

struct counts {
    atomic_uint finished[CHILDREN]; /* marks whose function has returned */
};
static struct counts *counts;

static const char *name_of(unsigned number)
{
    static char names[3][1001];
    const char *const plain[] = {"a",      "block of work", "folder/script.py:12", names[0], names[1],
                                 names[2], "say \"x\""};
    memset(names[0], 'm', 150);
    memset(names[1], 'l', 400);
    memset(names[2], 'L', 1000);
    return plain[number * 2654435761u % 97 % 7];
}

enum { MOST = 30000 }; /* marks, should nobody end the child */

static void mark_until_killed(struct gt_block_file *file, int child)
{
    for (unsigned i = 0; i < MOST; i++) {
        struct gt_block block = file ? gt_block_begin_in(file, name_of(i), 0) : gt_block_begin(name_of(i));
        atomic_fetch_add(&counts->finished[child], 1);
        gt_block_end(&block);
        atomic_fetch_add(&counts->finished[child], 1);
    }
    pause();
}

/* Everything that the file holds now; whole lines of eight fields (no name here has a comma), and nothing else. */
static size_t check_text(int fd, off_t from)
{
    static char text[1 << 16];
    ssize_t length = pread(fd, text, sizeof text - 1, from);
    assert_true(length >= 0);
    text[length] = '\0';
    size_t lines = 0;
    for (char *line = text, *end; line < text + length; line = end + 2, lines++) {
        end = strstr(line, "\r\n");
        if (!end && length == sizeof text - 1)
            break;
        if (!end)
            fail_msg("a torn row at the end: \"%.300s\"", line);
        int fields = 1;
        for (const char *c = line; c < end; c++)
            fields += *c == ',';
        if (fields != GT_BLOCK_EVENT_COLUMNS)
            fail_msg("%d fields: \"%.*s\"", fields, (int)(end - line), line);
    }
    return lines;
}

static void watch(const char *path, double seconds)
{
    struct timespec begin, now;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        struct stat facts;
        assert_int_equal(fstat(fd, &facts), 0);
        off_t page = facts.st_size / 4096 * 4096; /* rows begin there */
        check_text(fd, page ? page : 0);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 < seconds);
    close(fd);
}

static void wait_for_marks(int children)
{
    for (int i = 0; i < children; i++)
        while (!atomic_load(&counts->finished[i]))
            usleep(1000);
}

static size_t rows_in_database(const char *name, pid_t pid)
{
    char sql[100];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM data WHERE process_id = %d", (int)pid);
    return count_sql(name, sql);
}

static size_t rows_of(const char *path, pid_t pid)
{
    char start[32], line[8192];
    size_t count = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    snprintf(start, sizeof start, "%d,", (int)pid);
    while (fgets(line, sizeof line, file))
        count += strncmp(line, start, strlen(start)) == 0;
    fclose(file);
    return count;
}

/* Children mark in a file of their own (one child, no name) or in one that they share; they are watched, and killed. */
static void mark_watch_kill(const char *name, int children, double seconds)
{
    pid_t pid[CHILDREN];
    memset(counts, 0, sizeof *counts);
    for (int i = 0; i < children; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (chdir(test_folder) == 0)
                mark_until_killed(name ? open_file(name, 0) : NULL, i);
            _exit(99);
        }
    }
    wait_for_marks(children);
    const char *path = folder_path(name ? name : marking_file_of(pid[0]));
    watch(path, seconds);
    for (int i = 0; i < children; i++) {
        kill(pid[i], SIGKILL);
        waitpid(pid[i], NULL, 0);
    }
    watch(path, 0);
    for (int i = 0; i < children; i++) { /* the mark that was being made is there or not */
        size_t rows = rows_of(path, pid[i]), finished = atomic_load(&counts->finished[i]);
        if (rows != finished && rows != finished + 1)
            fail_msg("%s: %zu rows of %zu marks", path, rows, finished);
    }
    assert_int_equal(unlink(path), 0);
}

/* Nothing of those that are killed is missing, and nobody else is disturbed. */
TEST(test_a_shared_database_survives_kills)
{
    pid_t pid[CHILDREN];
    memset(counts, 0, sizeof *counts);
    for (int i = 0; i < CHILDREN; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (chdir(test_folder) == 0)
                mark_until_killed(open_file("killed.sqlite", 0), i);
            _exit(99);
        }
    }
    wait_for_marks(CHILDREN);
    for (int i = 0; i < CHILDREN; i++) {
        unsigned others = atomic_load(&counts->finished[CHILDREN - 1]);
        kill(pid[i], SIGKILL);
        waitpid(pid[i], NULL, 0);
        for (int k = 0; i + 1 < CHILDREN && atomic_load(&counts->finished[CHILDREN - 1]) < others + 50 && k < 20000;
             k++)
            usleep(1000);
        assert_true(i + 1 == CHILDREN || atomic_load(&counts->finished[CHILDREN - 1]) >= others + 50);
    }
    for (int i = 0; i < CHILDREN; i++) {
        size_t rows = rows_in_database("killed.sqlite", pid[i]), finished = atomic_load(&counts->finished[i]);
        if (rows != finished && rows != finished + 1)
            fail_msg("%zu rows of %zu marks", rows, finished);
    }
    assert_int_equal(
        count_sql("killed.sqlite", "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
}

TEST(test_a_file_of_its_own_is_whole_at_any_moment)
{
    setenv(GT_BLOCKS_ENVIRONMENT, test_folder, 1);
    for (int round = 0; round < 20; round++)
        mark_watch_kill(NULL, 1, 0.03);
    unsetenv(GT_BLOCKS_ENVIRONMENT);
}

TEST(test_a_shared_file_is_whole_at_any_moment)
{
    for (int round = 0; round < 20; round++)
        mark_watch_kill("watched.csv", CHILDREN, 0.03);
}

/* A name that is longer than all before, wherever in a page that happens. */
static void growing_names_work(void)
{
    char file_name[32], name[1000] = "";
    memset(name, 'n', sizeof name - 1);
    for (int before = 0; before < 40; before++) {
        snprintf(file_name, sizeof file_name, "growing-%d.csv", before);
        struct gt_block_file *file = open_file(file_name, 0);
        mark(file, "short", before);
        mark(file, name + 300, 1);
        mark(file, name, 5);
    }
    for (int i = 0; i < 100; i++) {
        GT_BLOCK(name + sizeof name - 1 - i * 9);
    }
}

static void check_pages(const char *name)
{
    char bytes[2];
    int fd = open(folder_path(name), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    off_t page = 4096;
    for (; pread(fd, bytes, 2, page - 2) == 2; page += 4096)
        assert_memory_equal(bytes, "\r\n", 2);
    assert_true(page > 4096);
    close(fd);
}

TEST(test_no_row_crosses_a_page)
{
    pid_t pid;
    assert_int_equal(marking_run(growing_names_work, &pid), 0);
    for (int before = 0; before < 40; before++) {
        char name[32];
        snprintf(name, sizeof name, "growing-%d.csv", before);
        check_pages(name);
    }
    check_pages(marking_file_of(pid));
}

/* ---- what the program does to us ---- */

static void removed_work(void)
{
    static const char *const names[] = {"removed.csv", "removed.sqlite", "renamed.csv", "renamed.sqlite"};
    for (int i = 0; i < 4; i++) {
        struct gt_error error = {0};
        struct gt_block_file *file = open_file(names[i], 0);
        mark(file, "there", 1);
        if (gt_block_file_status(file, &error) != 0)
            exit(1);
        usleep(1000); /* names are not looked up at every mark */
        if (i < 2 ? unlink(names[i]) : rename(names[i], "elsewhere"))
            exit(2);
        mark(file, "gone", 1);
        if (gt_block_file_status(file, &error) != -ENOENT || !strstr(error.text, names[i]) ||
            !strstr(error.text, "was removed in the middle of writing"))
            exit(3);
        pid_t pid = fork();
        if (pid == 0) {
            mark(file, "gone", 1);
            _exit(gt_block_file_status(file, NULL) == -ENOENT ? 0 : 1);
        }
        int status = -1;
        if (waitpid(pid, &status, 0) < 0 || status != 0)
            exit(4);
    }
}

TEST(test_removed_files)
{
    pid_t pid;
    assert_int_equal(marking_run(removed_work, &pid), 0);
    assert_int_equal(access(folder_path("removed.csv"), F_OK), -1);
}

/* Close all descriptors, as daemons do, and have every number again for a file of one's own. */
static void closing_work(void)
{
    struct gt_block_file *file = open_file("closed.csv", 0);
    mark(file, "before", 1);
    {
        GT_BLOCK("before");
    }
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    int mine = open("mine", O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0666);
    for (int fd = 3; fd < 1000; fd++)
        if (fd != mine && dup2(mine, fd) < 0)
            exit(1);
    mark(file, "after", 3);
    for (int i = 0; i < 3; i++) {
        GT_BLOCK("after");
    }
    struct stat facts;
    if (fstat(mine, &facts) < 0 || facts.st_size != 0)
        exit(2);
}

TEST(test_descriptors_that_are_closed_and_used_again)
{
    SKIP_UNDER_VALGRIND();
    struct marking_row row[16];
    pid_t pid;
    assert_int_equal(marking_run(closing_work, &pid), 0);
    assert_int_equal(marking_read("closed.csv", row, 16), 8);
    assert_int_equal(marking_read(marking_file_of(pid), row, 16), 8);
}

/* A file size limit stands for a full disk. SIGXFSZ would end the program. */
static void limited_work(void)
{
    signal(SIGXFSZ, SIG_DFL);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){10000, 10000});
    struct gt_block_file *file = open_file("limited.csv", 0);
    mark(file, "until it is full", 1000);
    if (!gt_block_trouble() || !strstr(gt_block_trouble(), "limited.csv"))
        exit(1);
    if (gt_block_file_status(file, NULL) >= 0)
        exit(2);
}

TEST(test_a_full_disk_leaves_whole_rows)
{
    static struct marking_row row[1000];
    pid_t pid;
    assert_int_equal(marking_run(limited_work, &pid), 0);
    assert_true(marking_read("limited.csv", row, 1000) > 50);
}

/* The children of a program that forks while its threads mark. */
static void *mark_threads(void *argument)
{
    mark(argument, "thread", 200);
    return NULL;
}

static void forking_work(void)
{
    struct gt_block_file *csv = open_file("threads.csv", 0), *sqlite = open_file("threads.sqlite", 0);
    pthread_t thread[2];
    pthread_create(&thread[0], NULL, mark_threads, csv);
    pthread_create(&thread[1], NULL, mark_threads, sqlite);
    for (int i = 0; i < 10; i++) {
        if (fork() == 0) {
            mark(csv, "child", 10);
            mark(sqlite, "child", 10);
            _exit(0);
        }
        mark(sqlite, "parent", 1);
    }
    for (int i = 0; i < 10; i++)
        wait(NULL);
    pthread_join(thread[0], NULL);
    pthread_join(thread[1], NULL);
}

TEST(test_forks_beside_threads)
{
    static struct marking_row row[1000];
    pid_t pid;
    assert_int_equal(marking_run(forking_work, &pid), 0);
    assert_int_equal(marking_read("threads.csv", row, 1000), 2 * (200 + 10 * 10));
    assert_int_equal(count_sql("threads.sqlite", "SELECT count(*) FROM data"), 2 * (200 + 10 * 10 + 10));
}

static int make_all(void **state)
{
    counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return counts == MAP_FAILED ? -1 : folder_make(state);
}

ALL_TESTS(make_all, folder_remove);

int main(int count, char **words)
{
    return count > 3 ? be_a_program(words) : test_run(words[1]);
}
