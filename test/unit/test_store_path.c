#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/os/rank.h"
#include "support/folder.h"
#include "support/recorder.h"
#include "support/test.h"

static int clear_environment(void **state)
{
    (void)state;
    static const char *const variables[] = {"GPU_TRACKER_JOB",
                                            "SLURM_JOB_ID",
                                            "PBS_JOBID",
                                            "LSB_JOBID",
                                            "LSB_JOBINDEX",
                                            "JOB_ID",
                                            "SGE_TASK_ID",
                                            "FLUX_JOB_ID",
                                            "SLURM_PROCID",
                                            "SLURM_STEP_ID",
                                            "SLURM_STEP_NUM_TASKS",
                                            "OMPI_COMM_WORLD_RANK",
                                            "OMPI_COMM_WORLD_SIZE",
                                            "PMIX_RANK",
                                            "PMI_RANK",
                                            "PMI_SIZE",
                                            "FLUX_TASK_RANK",
                                            "RANK",
                                            "WORLD_SIZE",
                                            "LOCAL_RANK",
                                            "LOCAL_WORLD_SIZE",
                                            "JOB_COMPLETION_INDEX"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    return 0;
}

static void check_path(const char *pattern, const char *expected)
{
    char path[200];
    struct gt_error error = {0};
    if (gt_store_path(path, sizeof path, pattern, 4711, &error) < 0)
        fail_msg("%s: %s", pattern, error.text);
    assert_string_equal(path, expected);
}

static void check_refused(const char *pattern, const char *named)
{
    char path[200] = "untouched";
    struct gt_error error = {0};
    assert_int_equal(gt_store_path(path, sizeof path, pattern, 4711, &error), -EINVAL);
    if (!strstr(error.text, named))
        fail_msg("%s: \"%s\" does not name %s", pattern, error.text, named);
    assert_string_equal(path, "untouched");
}

TEST_WITH(placeholders_are_filled_in, clear_environment, NULL)
{
    char host[100] = "", expected[200];
    gethostname(host, sizeof host - 1);
    check_path("a.csv", "a.csv");
    check_path("folder.d/a", "folder.d/a.sqlite");
    check_path("a-%p.csv", "a-4711.csv");
    check_path("100%%.csv", "100%.csv");
    check_path("a.%p", "a.4711.sqlite");
    snprintf(expected, sizeof expected, "%s.sqlite", host);
    check_path("%h", expected);
    setenv("PBS_JOBID", "12[3].server/x", 1);
    setenv("RANK", "9", 1);
    check_path("%j-%r.csv", "12[3].server_x-9.csv");
    setenv("SLURM_JOB_ID", "77", 1);
    setenv("SLURM_PROCID", "3", 1);
    setenv("SLURM_STEP_ID", "0", 1);
    check_path("%j-%r.csv", "77-3.csv");
}

TEST(elements_of_an_array_are_jobs_of_their_own)
{
    clear_environment(state);
    setenv("LSB_JOBID", "12", 1);
    setenv("LSB_JOBINDEX", "0", 1);
    check_path("%j.csv", "12.csv");
    setenv("LSB_JOBINDEX", "5", 1);
    check_path("%j.csv", "12_5.csv");
    clear_environment(state);
    setenv("JOB_ID", "9", 1);
    setenv("SGE_TASK_ID", "undefined", 1);
    check_path("%j.csv", "9.csv");
    setenv("SGE_TASK_ID", "2", 1);
    check_path("%j.csv", "9_2.csv");
    setenv("GPU_TRACKER_JOB", "mine/too", 1);
    check_path("%j.csv", "mine_too.csv");
}

TEST_WITH(what_cannot_be_filled_in_is_named, clear_environment, NULL)
{
    check_refused("a-%x.csv", "%x");
    check_refused("a.csv%", "%");
    check_refused("a-%j.csv", "%j");
    check_refused("a-%r.csv", "%r");
    check_refused("a.txt", ".csv");
    check_refused("a.CSV", "a.CSV");
    check_refused("folder/", "folder/");
    check_refused("", "\"\"");
    check_refused("-", "standard output");
    check_path("./-", "./-.sqlite");
    check_path("-.csv", "-.csv");
    char small[8];
    assert_int_equal(gt_store_path(small, sizeof small, "longer.csv", 1, NULL), -ENAMETOOLONG);
}

static int check(const char *name, bool overwrite, bool detail, const char *named)
{
    struct gt_error error = {0};
    struct gt_store_options options = {.path = folder_path(name), .overwrite = overwrite, .detail = detail};
    int status = gt_store_check(&options, &error);
    if (status < 0 && !strstr(error.text, named))
        fail_msg("\"%s\" does not name %s", error.text, named);
    return status;
}

TEST_WITH(places_are_checked_and_nothing_is_made, folder_make, folder_remove)
{
    assert_int_equal(check("a.csv", false, true, ""), 0);
    assert_int_equal(folder_count(), 0);
    recorder_put(folder_path("a.sqlite"), "old", 3);
    recorder_put(folder_path("b.processes.csv"), "old", 3);
    assert_int_equal(check("a.sqlite", false, false, "a.sqlite already exists"), -EEXIST);
    assert_int_equal(check("a.sqlite", true, false, ""), 0);
    assert_int_equal(check("b.csv", false, false, ""), 0);
    assert_int_equal(check("b.csv", false, true, "b.processes.csv already exists"), -EEXIST);
    assert_int_equal(check("b.csv", true, true, ""), 0);
    assert_int_equal(check("none/a.csv", false, false, ""), 0); /* its folder is made when recording begins */
    assert_int_equal(check("none/none/a.csv", false, false, "none"), -ENOENT);
    assert_int_equal(check("a.sqlite/a.csv", false, false, "a.sqlite"), -ENOTDIR);
    assert_int_equal(check("a.json", false, false, ".sqlite or .csv"), -EINVAL);
    struct gt_store_options options = {.path = "/tmp/.csv/../../tmp/x.csv"};
    assert_int_equal(gt_store_check(&options, NULL), -ENOENT);
    assert_int_equal(folder_count(), 2);
}

/* Its permissions say that root may write there. */
TEST(a_folder_that_takes_no_files_is_found)
{
    struct gt_error error = {0};
    struct gt_store_options options = {.path = "/proc/x.csv"};
    assert_true(gt_store_check(&options, &error) < 0);
    assert_non_null(strstr(error.text, "/proc"));
}

static int check_as(uid_t user, const char *path)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(seteuid(user) < 0 ? 100
                                : -gt_store_check(&(struct gt_store_options){.path = path, .overwrite = true}, NULL));
    assert_int_equal(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
}

TEST_WITH(another_user_s_file_in_a_shared_folder_stays, folder_make, folder_remove)
{
    if (geteuid() != 0)
        skip();
    const char *path = folder_path("a.csv");
    recorder_put(path, "old", 3);
    assert_int_equal(chown(path, 1234, 0), 0);
    assert_int_equal(chmod(test_folder, 0777), 0);
    assert_int_equal(check_as(4321, path), 0);
    assert_int_equal(chmod(test_folder, 01777), 0);
    assert_int_equal(check_as(4321, path), EPERM);
    assert_int_equal(check_as(1234, path), 0);
}

TEST_WITH(an_old_file_is_replaced_at_the_start_and_not_before, folder_make, folder_remove)
{
    struct gt_store_options options = {.path = folder_path("a.sqlite"), .overwrite = false};
    struct gt_store *store;
    recorder_put(options.path, "old", 3);
    recorder_put(folder_path("a.sqlite-wal"), "left by a killed tracker", 24);
    assert_int_equal(gt_store_open(&store, &options, recorder_machine(true), NULL), -EEXIST);
    struct stat status;
    assert_int_equal(stat(options.path, &status), 0);
    assert_int_equal(status.st_size, 3);
    options.overwrite = true;
    assert_int_equal(gt_store_open(&store, &options, recorder_machine(true), NULL), 0);
    assert_int_equal(gt_store_close(store, NULL, NULL), 0);
    assert_int_equal(folder_count(), 1);
}

TEST_WITH(the_folder_is_made, folder_make, folder_remove)
{
    struct gt_store_options options = {.path = folder_path("run-7/a.sqlite")};
    struct gt_store *store;
    assert_int_equal(gt_store_open(&store, &options, recorder_machine(true), NULL), 0);
    assert_int_equal(gt_store_close(store, NULL, NULL), 0);
    assert_int_equal(access(options.path, R_OK), 0);
    assert_int_equal(unlink(options.path), 0);
    assert_int_equal(gt_store_make_folder(options.path, NULL), 0); /* another has made it */
    assert_int_equal(rmdir(folder_path("run-7")), 0);
    assert_int_equal(gt_store_make_folder(folder_path("none/none/a.sqlite"), NULL), -ENOENT);
}

/* Somebody's files, which SQLite would take for a new recording's. */
TEST_WITH(files_beside_a_new_name_are_left_alone, folder_make, folder_remove)
{
    static const char *const beside[] = {"a.sqlite-wal", "a.sqlite-shm", "a.sqlite-journal"};
    char path[200];
    struct gt_store_options options = {.path = path};
    struct gt_store *store;
    snprintf(path, sizeof path, "%s", folder_path("a.sqlite"));
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        struct gt_error error = {0};
        recorder_put(folder_path(beside[i]), "somebody's", 10);
        options.overwrite = false;
        assert_int_equal(gt_store_check(&options, &error), -EEXIST);
        assert_non_null(strstr(error.text, beside[i]));
        assert_int_equal(gt_store_open(&store, &options, recorder_machine(true), NULL), -EEXIST);
        assert_int_equal(folder_count(), 1);
        options.overwrite = true;
        assert_int_equal(gt_store_open(&store, &options, recorder_machine(true), NULL), 0);
        assert_int_equal(gt_store_close(store, NULL, NULL), 0);
        assert_int_equal(unlink(options.path), 0);
        assert_int_equal(folder_count(), 0);
        assert_int_equal(symlink("elsewhere", folder_path(beside[i])), 0);
        assert_int_equal(gt_store_open(&store, &options, recorder_machine(true), NULL), -EEXIST);
        assert_int_equal(unlink(folder_path(beside[i])), 0);
    }
}

static atomic_bool is_over;

struct link {
    char victim[200], path[200];
};

static void *put_links(void *context)
{
    const struct link *link = context;
    while (!is_over)
        if (symlink(link->victim, link->path) < 0)
            sched_yield();
    return NULL;
}

TEST_WITH(a_link_put_in_the_way_is_not_followed, folder_make, folder_remove)
{
    struct link link;
    struct gt_store_options options = {.path = link.path, .overwrite = true};
    snprintf(link.victim, sizeof link.victim, "%s", folder_path("victim"));
    snprintf(link.path, sizeof link.path, "%s", folder_path("a.sqlite"));
    recorder_put(link.victim, "", 0);
    pthread_t other;
    is_over = false;
    assert_int_equal(pthread_create(&other, NULL, put_links, &link), 0);
    struct stat facts = {0};
    for (int i = 0; i < FEWER(200, 20) && !facts.st_size; i++) {
        struct gt_store *store = NULL;
        if (gt_store_open(&store, &options, recorder_machine(true), NULL) == 0)
            gt_store_close(store, NULL, NULL);
        unlink(options.path);
        assert_int_equal(stat(link.victim, &facts), 0);
    }
    is_over = true;
    pthread_join(other, NULL);
    assert_int_equal(facts.st_size, 0);
}
