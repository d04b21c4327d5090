/* Members of a job by events that are made up, on a stored machine. */
#include <sys/stat.h>

#include "sample/job_finder.h"
#include "support/test.h"

struct job {
    struct gt_root root;
    char path[64];
    struct gt_membership membership;
    struct gt_job_peak peak;
};

static void store_text(const char *directory, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Process `pid` with `threads` threads numbered from `pid` on. */
static void store_process(struct job *job, pid_t pid, int threads, char process_state)
{
    char path[128], text[256];
    snprintf(path, sizeof path, "%s/proc/%d/task", job->path, (int)pid);
    snprintf(text, sizeof text, "mkdir -p %s", path);
    assert_int_equal(system(text), 0);
    for (int i = 0; i < threads; i++) {
        snprintf(path, sizeof path, "%s/proc/%d/task/%d", job->path, (int)pid, (int)pid + i);
        mkdir(path, 0755);
    }
    snprintf(path, sizeof path, "%s/proc/%d", job->path, (int)pid);
    snprintf(text, sizeof text, "%d (a ) name) %c 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 %d 0 1000 0 0", (int)pid,
             process_state, threads);
    store_text(path, "stat", text);
}

static int open_job(void **state)
{
    struct job *job = calloc(1, sizeof *job);
    strcpy(job->path, "/tmp/membership-XXXXXX");
    if (!mkdtemp(job->path) || gt_root_open(&job->root, job->path, NULL))
        return -1;
    job->membership = (struct gt_membership){.root = &job->root, .peak = &job->peak};
    store_process(job, 100, 1, 'S');
    *state = job;
    return gt_membership_seed(&job->membership, &(struct gt_seed){.pid = 100}, 1, NULL);
}

static int close_job(void **state)
{
    struct job *job = *state;
    char command[128];
    gt_membership_release(&job->membership);
    gt_job_peak_release(&job->peak);
    gt_root_close(&job->root);
    snprintf(command, sizeof command, "rm -r %s", job->path);
    int result = system(command);
    free(job);
    return result;
}

#define TEST_OF_JOB(name) TEST_OF(struct job *job, name, open_job, close_job)

static void feed(struct job *job, struct gt_event event)
{
    event.monotonic_ns = INT64_MAX; /* after every seed */
    assert_int_equal(gt_membership_feed(&job->membership, &event), 0);
}

static void fork_of(struct job *job, pid_t parent, pid_t child)
{
    feed(job, (struct gt_event){.kind = GT_EVENT_FORK, .pid = child, .tgid = child, .parent = parent});
}

static void thread_of(struct job *job, pid_t process, pid_t thread)
{
    feed(job, (struct gt_event){.kind = GT_EVENT_FORK, .pid = thread, .tgid = process, .parent = 1});
}

static void exit_of(struct job *job, pid_t process, pid_t thread)
{
    feed(job, (struct gt_event){.kind = GT_EVENT_EXIT, .pid = thread, .tgid = process});
}

static void record_of(struct job *job, pid_t process, pid_t thread, uint64_t cpu_ns, uint64_t peak)
{
    feed(job, (struct gt_event){.kind = GT_EVENT_RECORD,
                                .pid = thread,
                                .tgid = process,
                                .record = {.cpu_ns = cpu_ns, .minor_faults = 1, .peak_rss = peak}});
}

static void lose(struct job *job, enum gt_event_source source)
{
    feed(job, (struct gt_event){.kind = GT_EVENT_LOST, .source = source});
}

static bool lives(const struct job *job, pid_t pid)
{
    const struct gt_member *member = gt_membership_find(&job->membership, pid);
    return member && !member->has_ended;
}

static void expect(const struct job *job, size_t processes, size_t threads)
{
    struct gt_membership_counts counts = job->membership.counts;
    size_t living = 0;
    assert_int_equal(counts.processes, processes);
    assert_int_equal(counts.threads, threads);
    for (pid_t pid = 1; pid < 1000; pid++)
        living += lives(job, pid);
    assert_int_equal(living, processes);
}

TEST_OF_JOB(descendants_are_members_and_strangers_are_not)
{
    expect(job, 1, 1);
    fork_of(job, 100, 101);
    fork_of(job, 101, 102);
    fork_of(job, 7, 103);
    fork_of(job, 103, 104);
    expect(job, 3, 3);
    assert_true(lives(job, 102));
    assert_null(gt_membership_find(&job->membership, 103));
    exit_of(job, 101, 101); /* its child stays */
    fork_of(job, 102, 105);
    exit_of(job, 103, 103);
    expect(job, 3, 3);
    struct gt_membership_counts counts = job->membership.counts;
    assert_int_equal(counts.started, 4);
    assert_int_equal(counts.processes_peak, 3);
    assert_false(counts.has_lost_forks);
}

TEST_OF_JOB(a_process_lives_as_long_as_its_last_thread)
{
    thread_of(job, 100, 110);
    thread_of(job, 100, 111);
    thread_of(job, 100, 111);
    thread_of(job, 9, 112);
    expect(job, 1, 3);
    exit_of(job, 100, 100);
    exit_of(job, 100, 110);
    expect(job, 1, 1);
    fork_of(job, 100, 120);
    exit_of(job, 100, 111);
    expect(job, 1, 1);
    assert_true(lives(job, 120));
    assert_int_equal(job->membership.counts.threads_peak, 3);
}

/* A thread other than the first calls execve: it ends the others and goes on under the number of the first. */
TEST_OF_JOB(execve_by_a_thread_does_not_end_the_process)
{
    thread_of(job, 100, 110);
    thread_of(job, 100, 111);
    exit_of(job, 100, 111);
    exit_of(job, 100, 100);
    expect(job, 1, 1);
    thread_of(job, 100, 112);
    expect(job, 1, 2);
    exit_of(job, 100, 112);
    exit_of(job, 100, 100);
    expect(job, 0, 0);
}

TEST_OF_JOB(a_number_used_again_is_another_process)
{
    fork_of(job, 100, 101);
    exit_of(job, 101, 101);
    fork_of(job, 7, 101); /* a stranger */
    fork_of(job, 101, 102);
    expect(job, 1, 1);
    fork_of(job, 100, 101); /* a member again */
    thread_of(job, 101, 103);
    expect(job, 2, 3);
    assert_int_equal(job->membership.counts.started, 3);
    fork_of(job, 7, 101); /* its end was lost */
    expect(job, 1, 1);
    assert_false(lives(job, 101));
}

TEST_OF_JOB(records_of_a_member_add_up)
{
    fork_of(job, 100, 101);
    thread_of(job, 101, 102);
    record_of(job, 101, 102, 1000, 50);
    exit_of(job, 101, 102);
    assert_int_equal(gt_membership_find(&job->membership, 101)->record.cpu_ns, 1000);
    exit_of(job, 101, 101);
    assert_int_equal(gt_membership_find(&job->membership, 101)->record.cpu_ns, 1000);
    gt_membership_settle(&job->membership);
    record_of(job, 101, 101, 500, 70);    /* comes one round late */
    record_of(job, 101, 101, 9999, 9999); /* a stranger's, who has the number now */
    record_of(job, 77, 77, 9999, 9999);
    const struct gt_exit_record *ended = &gt_membership_find(&job->membership, 101)->record;
    assert_int_equal(ended->cpu_ns, 1500);
    assert_int_equal(ended->minor_faults, 2);
    assert_int_equal(ended->peak_rss, 70);
    gt_membership_settle(&job->membership);
    assert_null(gt_membership_find(&job->membership, 101));
    struct gt_membership_counts counts = job->membership.counts;
    assert_int_equal(counts.records, 2);
    assert_int_equal(counts.tasks_ended, 2);
}

TEST_OF_JOB(after_a_loss_a_seed_sets_it_right)
{
    fork_of(job, 100, 101);
    fork_of(job, 100, 300);
    thread_of(job, 100, 110);
    lose(job, GT_EVENTS_RECORDS);
    assert_false(job->membership.counts.has_lost_forks);
    lose(job, GT_EVENTS_FORKS); /* 101 and 110 ended, 200 with three threads began, 400 is a zombie */
    store_process(job, 200, 3, 'R');
    store_process(job, 300, 1, 'S');
    store_process(job, 400, 1, 'Z');
    assert_int_equal(
        gt_membership_seed(&job->membership,
                           (struct gt_seed[]){{.pid = 100}, {.pid = 200}, {.pid = 300}, {.pid = 400}, {.pid = 500}}, 5,
                           NULL),
        0);
    expect(job, 3, 5);
    assert_false(lives(job, 101));
    assert_true(gt_membership_find(&job->membership, 300)->seen_from_fork);
    assert_false(gt_membership_find(&job->membership, 200)->seen_from_fork);
    exit_of(job, 200, 201);
    fork_of(job, 200, 401);
    expect(job, 4, 5);
    struct gt_membership_counts counts = job->membership.counts;
    assert_true(counts.has_lost_forks);
    assert_int_equal(counts.lost, 2);
    assert_int_equal(counts.started, 5);
}

/* Its first thread stays as a zombie until the others have ended. */
TEST_OF_JOB(a_seed_that_has_lost_its_first_thread_lives)
{
    store_process(job, 600, 3, 'Z');
    assert_int_equal(gt_membership_seed(&job->membership, (struct gt_seed[]){{.pid = 100}, {.pid = 600}}, 2, NULL), 0);
    expect(job, 2, 3);
    exit_of(job, 600, 601);
    expect(job, 2, 2);
    exit_of(job, 600, 602);
    expect(job, 1, 1);
}

/* An orphan of the job has the tracker for its parent, and gives it to another of its own making (CLONE_PARENT). */
TEST_OF_JOB(what_the_tracker_is_given_for_a_child_is_a_member)
{
    fork_of(job, 77, 200);
    assert_false(lives(job, 200));
    job->membership.tracker = 77;
    fork_of(job, 77, 300);
    fork_of(job, 300, 301);
    expect(job, 3, 3);
    assert_true(lives(job, 300) && lives(job, 301));
}

/* The fork of a process that a seed found may wait unread. */
TEST_OF_JOB(a_fork_older_than_the_seed_changes_nothing)
{
    struct gt_event old = {.kind = GT_EVENT_FORK, .pid = 100, .tgid = 100, .parent = 1, .monotonic_ns = 1};
    assert_int_equal(gt_membership_feed(&job->membership, &old), 0);
    expect(job, 1, 1);
    fork_of(job, 1, 100);
    expect(job, 0, 0);
}

TEST_OF_JOB(a_storm_needs_no_more_room)
{
    for (pid_t i = 0; i < 100000; i++) {
        fork_of(job, 100, 1000 + i % 30000);
        record_of(job, 1000 + i % 30000, 1000 + i % 30000, 10, 5);
        exit_of(job, 1000 + i % 30000, 1000 + i % 30000);
        if (i % 10 == 9)
            gt_membership_settle(&job->membership);
    }
    expect(job, 1, 1);
    assert_int_equal(job->membership.counts.started, 100001);
    assert_int_equal(job->membership.counts.processes_peak, 2);
    size_t known = 0;
    for (pid_t pid = 1000; pid < 31000; pid++)
        known += gt_membership_find(&job->membership, pid) != NULL;
    assert_int_equal(known, 10);
}

/* A sampler is forked by a helper that ends; both turn out to be no part of the job. */
TEST_OF_JOB(what_is_excluded_has_never_been)
{
    fork_of(job, 100, 101);
    fork_of(job, 101, 102);
    feed(job, (struct gt_event){.kind = GT_EVENT_EXECUTE, .pid = 101, .tgid = 101});
    thread_of(job, 102, 103);
    exit_of(job, 101, 101);
    expect(job, 2, 3);
    gt_membership_exclude(&job->membership, 102, false);
    expect(job, 1, 1);
    struct gt_membership_counts counts = job->membership.counts;
    assert_int_equal(counts.started, 1);
    assert_int_equal(counts.processes_peak, 1);
    fork_of(job, 102, 104); /* its children are nobody's */
    expect(job, 1, 1);
    assert_int_equal(job->membership.excluded_cpu, 0);
    record_of(job, 101, 101, 7000, 1 << 20); /* the helper's, whom the main process waits for */
    assert_int_equal(job->membership.excluded_cpu, 7000);
    record_of(job, 102, 102, 9000, 1 << 20);
    assert_int_equal(job->membership.excluded_cpu, 7000);
    assert_close(gt_job_peak_most(&job->peak, GT_PEAK_COMBINED), 0, 0);
}

/* The main process gets its threads before and after a helper's life; then the sampler and its helper are excluded. */
TEST_OF_JOB(what_was_reached_without_the_excluded_stays)
{
    thread_of(job, 100, 110);
    fork_of(job, 100, 101);
    exit_of(job, 101, 101);
    for (pid_t thread = 111; thread < 115; thread++)
        thread_of(job, 100, thread);
    fork_of(job, 100, 102);
    exit_of(job, 102, 102);
    gt_membership_exclude(&job->membership, 101, false);
    struct gt_membership_counts counts = job->membership.counts;
    assert_int_equal(counts.main_threads_peak, 6);
    assert_int_equal(counts.threads_peak, 7);
    gt_membership_exclude(&job->membership, 102, false);
    counts = job->membership.counts;
    assert_int_equal(counts.threads_peak, 6);
    assert_int_equal(counts.descendant_threads_peak, 0);
    assert_int_equal(counts.processes_peak, 1);
}

TEST_OF_JOB(threads_of_each_scope_have_their_peak)
{
    for (pid_t thread = 110; thread < 115; thread++)
        thread_of(job, 100, thread);
    fork_of(job, 100, 101);
    for (pid_t thread = 120; thread < 123; thread++)
        thread_of(job, 101, thread);
    for (pid_t thread = 110; thread < 115; thread++)
        exit_of(job, 100, thread);
    fork_of(job, 100, 102);
    struct gt_membership_counts counts = job->membership.counts;
    assert_int_equal(counts.main_threads_peak, 6);
    assert_int_equal(counts.descendant_threads_peak, 5);
    assert_int_equal(counts.threads_peak, 10);
}
