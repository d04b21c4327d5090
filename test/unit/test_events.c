/* Against the running kernel: forks and exits counted exactly, and what ended tasks had used. */
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "collect/process/events.h"
#include "support/test.h"
#include "support/valgrind.h"

enum { FORKS = 1 << GT_EVENTS_FORKS, RECORDS = 1 << GT_EVENTS_RECORDS };

static const size_t MANY = FEWER(5000, 500);
static struct gt_root root;

/* Opens what is asked for, or skips the test and says why. */
static struct gt_events *open_or_skip(unsigned wanted)
{
    struct gt_availability availability[GT_EVENTS_SOURCES];
    struct gt_events *events;
    struct gt_error error = {0};
    assert_int_equal(gt_events_open(&events, &root, wanted, availability, &error), 0);
    for (int source = 0; source < GT_EVENTS_SOURCES; source++) {
        if (wanted & 1u << source && availability[source].state != GT_READY) {
            print_message("skipped: %s: %s\n", availability[source].source, availability[source].reason);
            assert_string_not_equal(availability[source].reason, "");
            gt_events_close(events);
            skip();
        }
    }
    return events;
}

struct seen {
    size_t forks, exits; /* of children of this process */
    size_t lost[GT_EVENTS_SOURCES];
};

/* Fork `count` children that end at once, and wait for each. */
static void storm(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(7);
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
    }
}

/* Adds what waits to `seen`. */
static void drain(struct gt_events *events, struct seen *seen)
{
    static bool ours[1 << 22]; /* by pid: forked by this process and not ended */
    struct gt_event event;
    struct gt_error error = {0};
    int result;
    while ((result = gt_events_next(events, &event, &error)) == 1) {
        if (event.kind == GT_EVENT_LOST)
            seen->lost[event.source]++;
        if (event.kind == GT_EVENT_FORK && event.pid == event.tgid && event.parent == getpid()) {
            ours[event.pid] = true;
            seen->forks++;
        }
        if (event.kind == GT_EVENT_EXIT && event.pid == event.tgid && ours[event.pid]) {
            assert_int_equal(WEXITSTATUS(event.wait_status), 7);
            ours[event.pid] = false;
            seen->exits++;
        }
    }
    assert_int_equal(result, 0);
}

/* The EXIT of a child that was waited for may still be on its way: allow it ten seconds. */
static void drain_until(struct gt_events *events, struct seen *seen, size_t exits)
{
    drain(events, seen);
    for (int i = 0; i < 10000 && seen->exits < exits; i++) {
        usleep(1000);
        drain(events, seen);
    }
}

TEST(thousands_of_forks_wait_unread)
{
    SKIP_UNDER_VALGRIND();
    struct gt_events *events = open_or_skip(FORKS);
    int bytes = 0;
    socklen_t size = sizeof bytes;
    getsockopt(gt_events_fd(events, GT_EVENTS_FORKS), SOL_SOCKET, SO_RCVBUF, &bytes, &size);
    if (bytes < 20000 * 896) {
        gt_events_close(events);
        print_message("skipped: this user's queue is short (net.core.rmem_max)\n");
        skip();
    }
    struct seen seen = {0};
    storm(MANY);
    drain_until(events, &seen, MANY);
    assert_int_equal(seen.forks, MANY);
    assert_int_equal(seen.exits, MANY);
    assert_int_equal(seen.lost[GT_EVENTS_FORKS], 0);
    gt_events_close(events);
}

static void resize_queue(struct gt_events *events, enum gt_event_source source, int bytes)
{
    assert_int_equal(setsockopt(gt_events_fd(events, source), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes), 0);
}

TEST(loss_is_told)
{
    SKIP_UNDER_VALGRIND();
    struct gt_events *events = open_or_skip(FORKS);
    resize_queue(events, GT_EVENTS_FORKS, 16384);
    struct seen stalled = {0}, after = {0};
    storm(200);
    drain(events, &stalled);
    assert_true(stalled.forks < 200);
    assert_true(stalled.lost[GT_EVENTS_FORKS] >=
                1); /* more when strangers fork meanwhile, who may also take the whole queue */
    resize_queue(events, GT_EVENTS_FORKS, 1 << 20);
    drain(events, &(struct seen){0});
    storm(5);
    drain(events, &after);
    assert_int_equal(after.forks, 5);
    assert_int_equal(after.lost[GT_EVENTS_FORKS], 0);
    gt_events_close(events);
}

TEST(lost_records_are_told)
{
    struct gt_events *events = open_or_skip(RECORDS);
    resize_queue(events, GT_EVENTS_RECORDS, 16384);
    struct seen seen = {0};
    storm(200);
    drain(events, &seen);
    assert_true(seen.lost[GT_EVENTS_RECORDS] >= 1);
    gt_events_close(events);
}

TEST(a_waiting_event_wakes_a_poller)
{
    struct gt_events *events = open_or_skip(FORKS);
    struct pollfd wait = {.fd = gt_events_fd(events, GT_EVENTS_FORKS), .events = POLLIN};
    assert_int_equal(gt_events_fd(events, GT_EVENTS_RECORDS), -1);
    storm(1);
    assert_int_equal(poll(&wait, 1, 30000), 1);
    gt_events_close(events);
}

static uint64_t own_cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* The record of a child that was waited for; it came before its end. */
static struct gt_event find_record(struct gt_events *events, pid_t pid)
{
    struct gt_event event;
    while (gt_events_next(events, &event, NULL) == 1)
        if (event.kind == GT_EVENT_RECORD && event.pid == pid)
            return event;
    fail_msg("no record of %d", (int)pid);
    return (struct gt_event){0};
}

static void burn(void)
{
    for (volatile long i = 0; i < 3000000; i++)
        ;
}

static uint64_t least_to_burn(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 10; i++) {
        uint64_t before = own_cpu_ns();
        burn();
        uint64_t spent = own_cpu_ns() - before;
        least = spent < least ? spent : least;
    }
    return least;
}

/* They end before the scheduler looks, mostly, and do not ask for their clock, at which it would look. */
TEST(what_was_never_interrupted_has_run)
{
    SKIP_UNDER_VALGRIND();
    enum { CHILDREN = FEWER(200, 20), TICK_NS = 10000000 };
    struct gt_events *events = open_or_skip(RECORDS);
    uint64_t counted = 0, ran = 0, truth = CHILDREN * least_to_burn();
    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            burn();
            _exit(0);
        }
        waitpid(pid, NULL, 0);
        struct gt_exit_record record = find_record(events, pid).record;
        assert_in_range(record.ran_ns, record.cpu_ns, record.cpu_ns + TICK_NS);
        counted += record.cpu_ns;
        ran += record.ran_ns;
    }
    print_message("%d children: at least %.3f ms, counted %.3f ms, ran %.3f ms\n", CHILDREN, (double)truth / 1e6,
                  (double)counted / 1e6, (double)ran / 1e6);
    assert_true(ran >= truth / 2);
    gt_events_close(events);
}

TEST(a_record_tells_faults_switches_and_bytes)
{
    SKIP_UNDER_VALGRIND();
    enum { PAGES = 1000, SLEEPS = 20, BYTES = 1 << 20 };
    struct gt_events *events = open_or_skip(RECORDS);
    pid_t pid = fork();
    if (pid == 0) {
        size_t size = PAGES * (size_t)getpagesize();
        char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(memory, size, MADV_NOHUGEPAGE);
        memset(memory, 1, size);
        for (int i = 0; i < SLEEPS; i++)
            usleep(2000);
        FILE *sink = fopen("/dev/null", "w");
        _exit(sink && write(fileno(sink), memory, BYTES) == BYTES ? 0 : 1);
    }
    waitpid(pid, NULL, 0);
    struct gt_event event = find_record(events, pid);
    assert_int_equal(event.wait_status, 0);
    assert_in_range(event.record.minor_faults, PAGES, PAGES + 2000);
    assert_in_range(event.record.voluntary_switches, SLEEPS, SLEEPS + 20);
    assert_in_range(event.record.written_characters, BYTES, BYTES + 4096);
    assert_int_equal(event.record.written_bytes, 0);
    gt_events_close(events);
}

TEST(forks_come_before_records)
{
    struct gt_events *events = open_or_skip(FORKS | RECORDS);
    static bool forked[1 << 22];
    size_t records = 0;
    for (int round = 0; round < 20; round++) {
        storm(20);
        struct gt_event event;
        while (gt_events_next(events, &event, NULL) == 1) {
            if (event.kind == GT_EVENT_FORK)
                forked[event.pid] = true;
            if (event.kind == GT_EVENT_RECORD && event.parent == getpid()) {
                assert_true(forked[event.pid]);
                records++;
            }
        }
    }
    assert_int_equal(records, 20 * 20);
    gt_events_close(events);
}

/* A child that, once told to, forks `count` children, of which each forks one. */
static pid_t begin_family(size_t count, int *go)
{
    int pipes[2];
    char byte;
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(pipes[1]);
        while (read(pipes[0], &byte, 1) > 0)
            ;
        for (size_t i = 0; i < count; i++)
            if (!fork()) {
                if (!fork())
                    _exit(7);
                wait(NULL);
                _exit(7);
            } else {
                wait(NULL);
            }
        _exit(7);
    }
    close(pipes[0]);
    *go = pipes[1];
    return pid;
}

/* Strangers may have numbers that the filter takes for those of a family, so of theirs some may come, but not all. */
TEST(a_narrow_filter_lets_a_family_through)
{
    enum { CHILDREN = 50, STRANGERS = 200 };
    static bool is_family[1 << 22];
    struct gt_events *events = open_or_skip(FORKS | RECORDS);
    int go;
    pid_t family = begin_family(CHILDREN, &go);
    gt_events_mark(events, family);
    struct gt_event event;
    while (gt_events_next(events, &event, NULL) == 1)
        ;
    if (!gt_events_narrow(events, true)) {
        gt_events_close(events);
        close(go);
        waitpid(family, NULL, 0);
        print_message("skipped: no filter in the kernel (CAP_BPF, Linux 5.5)\n");
        skip();
    }
    storm(STRANGERS);
    close(go);
    waitpid(family, NULL, 0);
    size_t forks = 0, exits = 0, records = 0, strangers = 0;
    is_family[family] = true;
    for (int i = 0; i < 1000 && (exits < 2 * CHILDREN + 1 || records < 2 * CHILDREN + 1); i++) {
        while (gt_events_next(events, &event, NULL) == 1) {
            is_family[event.pid] |= event.kind == GT_EVENT_FORK && is_family[event.parent];
            forks += event.kind == GT_EVENT_FORK && is_family[event.pid];
            exits += event.kind == GT_EVENT_EXIT && is_family[event.pid];
            records += event.kind == GT_EVENT_RECORD && is_family[event.pid];
            strangers += !is_family[event.tgid];
        }
        usleep(1000);
    }
    assert_int_equal(forks, 2 * CHILDREN);
    assert_int_equal(exits, 2 * CHILDREN + 1);
    assert_int_equal(records, 2 * CHILDREN + 1);
    assert_true(strangers < STRANGERS / 2);
    gt_events_narrow(events, false);
    storm(1);
    size_t again = 0;
    for (int i = 0; i < 1000 && !again; i++, usleep(1000))
        while (gt_events_next(events, &event, NULL) == 1)
            again += event.kind == GT_EVENT_FORK && event.parent == getpid();
    assert_int_equal(again, 1);
    gt_events_close(events);
}

TEST(a_stored_machine_has_none)
{
    struct gt_root stored;
    struct gt_events *events;
    struct gt_availability availability[GT_EVENTS_SOURCES];
    assert_int_equal(gt_root_open(&stored, "/tmp", NULL), 0);
    assert_int_equal(gt_events_open(&events, &stored, FORKS | RECORDS, availability, NULL), 0);
    assert_null(events);
    assert_int_equal(availability[GT_EVENTS_FORKS].state, GT_ABSENT);
    assert_int_equal(availability[GT_EVENTS_RECORDS].state, GT_ABSENT);
    gt_root_close(&stored);
    gt_events_close(NULL);
}

/* Without CAP_NET_ADMIN exit records are denied, with the command that would allow them. */
TEST(denial_names_the_remedy)
{
    SKIP_UNDER_VALGRIND();
    if (geteuid() != 0)
        skip();
    pid_t pid = fork();
    if (pid == 0) {
        struct gt_events *events;
        struct gt_availability availability[GT_EVENTS_SOURCES];
        if (setgid(65534) || setuid(65534) || gt_events_open(&events, &root, RECORDS, availability, NULL))
            _exit(2);
        bool right = !events && (availability[GT_EVENTS_RECORDS].state == GT_ABSENT ||
                                 (availability[GT_EVENTS_RECORDS].state == GT_DENIED &&
                                  strstr(availability[GT_EVENTS_RECORDS].remedy, "cap_net_admin")));
        gt_events_close(events);
        _exit(!right);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

static int open_root(void **state)
{
    (void)state;
    return gt_root_open(&root, NULL, NULL);
}

static int close_root(void **state)
{
    (void)state;
    gt_root_close(&root);
    return 0;
}

ALL_TESTS(open_root, close_root);
