/* What becomes of a recording when its writer is killed, the disk is full, or folders may not be written. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/os/clock.h"
#include "support/folder.h"
#include "support/recorder.h"
#include "support/test.h"

static const char *const names[] = {"a.csv", "a.sqlite"};

struct result {
    int samples;
    uint64_t unfinished;
    int64_t last_ns;
    bool has_outcome;
};

static struct result read_all(const char *path)
{
    struct result result = {0};
    struct gt_error error = {0};
    struct gt_recording *recording;
    const struct gt_sample *sample;
    int status = gt_recording_open(&recording, path, &error);
    if (status < 0)
        fail_msg("%s", error.text);
    result.has_outcome = gt_recording_outcome(recording);
    while ((status = gt_recording_next(recording, &sample, &error)) > 0) {
        result.samples++;
        result.last_ns = sample->real_ns;
    }
    if (status < 0)
        fail_msg("%s", error.text);
    result.unfinished = gt_recording_unfinished(recording);
    gt_recording_close(recording);
    return result;
}

/* ---- kill -9 ------------------------------------------------------------------------------------------------- */

/* The times of the first and the last sample that were handed over. */
struct handed {
    int64_t first_ns, last_ns;
};

/* Record a sample each half millisecond, for ever. */
static void record_for_ever(const char *path, int report)
{
    struct gt_store_options options = {.path = path, .overwrite = true};
    struct handed handed = {0};
    struct gt_store *store;
    if (gt_store_open(&store, &options, recorder_machine(true), NULL) < 0)
        _exit(1);
    for (int number = 0;; number++) {
        struct gt_sample sample = *recorder_sample(number);
        sample.real_ns = gt_clock_real(&gt_clock_system);
        recorder_send(store, &sample);
        handed.last_ns = sample.real_ns;
        if (!number)
            handed.first_ns = sample.real_ns;
        if (pwrite(report, &handed, sizeof handed, 0) < 0)
            _exit(1);
        usleep(500);
    }
}

static struct handed record_and_kill(const char *path, unsigned us)
{
    char report_name[] = "/tmp/gpu-tracker-test-XXXXXX";
    int report = mkstemp(report_name);
    assert_true(report >= 0);
    unlink(report_name);
    pid_t pid = fork();
    if (pid == 0)
        record_for_ever(path, report);
    usleep(us);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    struct handed handed = {0};
    if (pread(report, &handed, sizeof handed, 0) < 0)
        handed = (struct handed){0};
    close(report);
    return handed;
}

/* How many of some rounds were late. */
static int late_of(int rounds)
{
    int late = 0;
    for (int round = 0; round < rounds; round++) {
        const char *path = folder_path(names[round % 2]);
        struct handed handed = record_and_kill(path, 1200000 + (unsigned)rand() % 900000);
        if (!handed.first_ns)
            continue; /* not even begun */
        struct result result = read_all(path);
        assert_false(result.has_outcome);
        int64_t missing = handed.last_ns - (result.samples ? result.last_ns : handed.first_ns);
        late += missing > 1100 * (int64_t)1000000;
    }
    return late;
}

/* A busy machine may keep the writer from running: one round of eight may be late, and eight others may be better. */
TEST_WITH(a_killed_recorder_loses_a_second_at_most, folder_make, folder_remove)
{
    srand(20);
    int late = late_of(8);
    for (int i = 0; i < 10 && late > 1; i++)
        late = late_of(8);
    assert_in_range(late, 0, 1);
}

TEST_WITH(a_killed_recorder_leaves_what_can_be_read_at_any_moment, folder_make, folder_remove)
{
    for (unsigned us = 0; us < 30000; us += FEWER(1500, 6000))
        for (int i = 0; i < 2; i++) {
            const char *path = folder_path(names[i]);
            unlink(path);
            record_and_kill(path, us);
            struct gt_recording *recording;
            struct gt_error error = {0};
            int status = gt_recording_open(&recording, path, &error);
            if (status < 0) /* killed before it had written the static data */
                assert_true(error.text[0]);
            else
                gt_recording_close(recording);
        }
}

/* As root every folder may be written: then only the other halves of these tests mean something. */
TEST_WITH(reading_creates_no_file, folder_make, folder_remove)
{
    const char *path = folder_path("a.sqlite");
    char log[512], index[512];
    snprintf(log, sizeof log, "%s-wal", path);
    snprintf(index, sizeof index, "%s-shm", path);
    struct handed handed = {0};
    int samples = 0; /* those of less than a second may not be written yet */
    for (unsigned us = 100000; !samples; us *= 2) {
        assert_true(us < 60000000);
        handed = record_and_kill(path, us);
        samples = handed.last_ns - handed.first_ns < 50000000 ? 0 : read_all(path).samples;
    }
    assert_int_equal(access(log, F_OK), 0);
    int files = folder_count();

    assert_int_equal(read_all(path).samples, samples);
    assert_int_equal(folder_count(), files);

    assert_int_equal(unlink(index), 0); /* as when file and log were copied */
    assert_int_equal(read_all(path).samples, samples);
    assert_int_equal(folder_count(), files - 1);

    assert_int_equal(chmod(test_folder, 0500), 0); /* and into a folder that may not be written */
    assert_int_equal(read_all(path).samples, samples);
    assert_int_equal(chmod(test_folder, 0700), 0);
    assert_int_equal(folder_count(), files - 1);

    assert_int_equal(unlink(log), 0); /* the log is gone: what was folded in by then is there */
    struct gt_recording *recording;
    struct gt_error error = {0};
    if (gt_recording_open(&recording, path, &error) == 0)
        gt_recording_close(recording);
    assert_int_equal(folder_count(), files - 2);
}

TEST_WITH(a_live_recording_can_be_read, folder_make, folder_remove)
{
    for (int i = 0; i < 2; i++) {
        const char *path = folder_path(names[i]);
        struct gt_store_options options = {.path = path, .overwrite = true};
        struct gt_outcome outcome = recorder_outcome(3000);
        struct gt_store *store;
        assert_int_equal(gt_store_open(&store, &options, recorder_machine(true), NULL), 0);
        int seen = 0;
        for (int number = 0; number < 3000; number++) {
            recorder_send(store, recorder_sample(number));
            if (number % 300 == 299) {
                int now = read_all(path).samples;
                assert_true(now >= seen);
                seen = now;
            }
        }
        assert_int_equal(gt_store_close(store, &outcome, NULL), 0);
        assert_int_equal(read_all(path).samples, 3000);
    }
    assert_int_equal(folder_count(), 2);
}

/* ---- The disk is full ---------------------------------------------------------------------------------------- */

/* A file size limit stands for a full disk. SIGXFSZ would end the process by default: the job must not notice. Exit
 * status: 0, or the number of what went wrong. */
static int record_until_full(const char *path, rlim_t limit)
{
    struct rlimit limits = {limit, limit};
    setrlimit(RLIMIT_FSIZE, &limits);
    signal(SIGXFSZ, SIG_DFL);
    struct gt_store_options options = {.path = path, .overwrite = true};
    struct gt_outcome outcome = recorder_outcome(4000);
    struct gt_error error = {0};
    struct gt_store *store;
    if (gt_store_open(&store, &options, recorder_machine(true), &error) < 0)
        return strstr(error.text, path) && access(path, F_OK) < 0 ? 40 : 1;
    const char *trouble = NULL;
    for (int number = 0; number < 4000; number++)
        recorder_send(store, recorder_sample(number));
    for (int waits = 0; (!trouble || !strstr(trouble, "stopped")) && waits < 6000; waits++) {
        const char *new = gt_store_trouble(store);
        trouble = new ? new : trouble;
        usleep(10000);
    }
    if (!trouble || !strstr(trouble, path) || !strstr(trouble, "stopped") || !strstr(trouble, "large"))
        return 3;
    return gt_store_close(store, &outcome, &error) < 0 && error.code == EFBIG ? 0 : 4;
}

static int run_until_full(const char *path, rlim_t limit)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(record_until_full(path, limit));
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST_WITH(a_full_disk_ends_the_recording_and_nothing_else, folder_make, folder_remove)
{
    for (int i = 0; i < 2; i++) {
        const char *path = folder_path(names[i]);
        assert_int_equal(run_until_full(path, 1000000), 0);
        struct result result = read_all(path);
        assert_true(result.samples > 100 && result.samples < 4000);
        assert_int_equal(result.unfinished, 0); /* whole lines only */
    }
    assert_true(read_all(folder_path("a.csv")).has_outcome); /* its place was kept */
}

TEST_WITH(a_disk_that_is_full_already_is_told_before_the_first_sample, folder_make, folder_remove)
{
    for (int i = 0; i < 2; i++)
        assert_int_equal(run_until_full(folder_path(names[i]), 1000), 40);
    assert_int_equal(folder_count(), 0);
}
