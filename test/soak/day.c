/* day [HOURS]: a tracker of a made-up machine through 24 hours at one sample a second, by a clock that does not wait. A job of a
 * main process and five workers has a worker end and another begin every ten seconds, and is recorded with --detail. Says each
 * hour what memory the program has, as CSV; ends with 1 when the last hour has more than 2 % and 1 MB over the second. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/tracker.h"
#include "test/support/fake_proc.h"

enum { MAIN = 700, WORKERS = 5, HOUR = 3600 };

static int64_t now_ns = 1000 * GT_SECOND;

static int64_t read_clock(void *context)
{
    (void)context;
    return now_ns;
}

static const struct gt_clock clock_that_runs = {.real = read_clock, .monotonic = read_clock};

static void fail(const char *what)
{
    fprintf(stderr, "day: %s\n", what);
    exit(2);
}

static void write_process(const char *folder, pid_t pid, long second)
{
    const struct fake_process process = {
        .pid = pid,
        .parent = pid == MAIN ? 1 : MAIN,
        .session = MAIN,
        .start = 1000 + (unsigned long long)pid,
        .cpu_ticks = (unsigned long)(second * 3),
        .resident_pages = 10000 + (unsigned long)((second * 37 + pid) % 1000),
        .peak_kib = 80000,
        .threads = 2,
    };
    fake_proc_write(folder, &process);
}

/* Every ten seconds the oldest worker makes way for a new one. */
static void change(const char *folder, long second, pid_t *newest)
{
    write_process(folder, MAIN, second);
    if (second % 10 == 0) {
        if (*newest >= MAIN + WORKERS)
            fake_proc_remove(folder, *newest - WORKERS + 1);
        write_process(folder, ++*newest, second);
    }
    for (pid_t pid = *newest - WORKERS + 2; pid <= *newest; pid++)
        if (pid > MAIN)
            write_process(folder, pid, second);
}

static double resident(void)
{
    long size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%ld %ld", &size, &pages) != 2)
        fail("/proc/self/statm");
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double in_use(void)
{
    return (double)mallinfo2().uordblks;
}

int main(int argc, char **argv)
{
    int hours = argc > 1 ? atoi(argv[1]) : 24;
    char folder[64], path[128];
    struct gt_root root;
    struct gt_tracker *tracker = NULL;
    struct gt_error error = {0};
    pid_t newest = MAIN;
    double second_hour = 0, heap = 0;
    fake_proc_create(folder, &root);
    change(folder, 0, &newest);
    snprintf(path, sizeof path, "%s/day.sqlite", folder);
    struct gt_tracker_options options = GT_INIT(struct gt_tracker_options);
    options.machine_root = folder;
    options.tracking_file = path;
    options.detail = 1;
    if (gt_tracker_open(&tracker, MAIN, &options, &error) < 0)
        fail(error.text);
    tracker->recorder.sampler.clock = clock_that_runs;
    tracker->recorder.patience_ns = 0; /* no reading of smaps_rollup is waited for: that would be in real time */
    printf("hour,samples,heap,resident\n");
    for (long second = 1; second <= (long)hours * HOUR; second++) {
        now_ns += GT_SECOND;
        change(folder, second, &newest);
        if (gt_tracker_sample(tracker, &error) != 1)
            fail(error.text[0] ? error.text : "the job is gone");
        if (second % HOUR)
            continue;
        usleep(500000); /* what is queued gets written */
        heap = in_use();
        if (second == 2 * HOUR)
            second_hour = heap;
        printf("%ld,%llu,%.0f,%.0f\n", second / HOUR, (unsigned long long)tracker->recorder.summary.samples, heap,
               resident());
        fflush(stdout);
    }
    if (gt_tracker_finish(tracker, &error) < 0)
        fail(error.text);
    gt_tracker_close(tracker);
    unlink(path);
    fake_proc_destroy(folder, &root);
    return hours > 2 && heap > 1.02 * second_hour + 1e6;
}
