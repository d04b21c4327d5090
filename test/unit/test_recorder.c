/* A recorder by a clock that is a number, on a made-up machine: nothing happens but what is asked for. */
#include "record/recorder.h"
#include "support/fake_proc.h"
#include "support/test.h"

enum { MAIN = 100, CHILD = 101 };

struct bench {
    char folder[64], path[96], said[400];
    int64_t now_ns, set_ns; /* by which the clock was set */
    struct gt_root root;
    struct gt_clock clock;
    struct gt_tracker_options options;
    struct gt_recorder recorder;
};

static int64_t read_clock(void *context)
{
    return ((const struct bench *)context)->now_ns;
}

static int64_t read_time_of_day(void *context)
{
    const struct bench *bench = context;
    return bench->now_ns + bench->set_ns;
}

static void hear(void *context, const char *sentence)
{
    struct bench *bench = context;
    size_t length = strlen(bench->said);
    snprintf(bench->said + length, sizeof bench->said - length, "%s\n", sentence);
}

static void write_process(const struct bench *bench, pid_t pid, unsigned long pages, unsigned long ticks)
{
    fake_proc_write(bench->folder, &(struct fake_process){.pid = pid,
                                                          .parent = pid == MAIN ? 1 : MAIN,
                                                          .session = MAIN,
                                                          .start = 1000 + (unsigned long long)pid,
                                                          .resident_pages = pages,
                                                          .peak_kib = pid == MAIN ? 4000 : 12000,
                                                          .cpu_ticks = ticks,
                                                          .threads = 1});
}

static void begin(struct bench *bench)
{
    *bench = (struct bench){.now_ns = 1000 * GT_SECOND};
    fake_proc_create(bench->folder, &bench->root);
    write_process(bench, MAIN, 1000, 0);
    snprintf(bench->path, sizeof bench->path, "%s/run.sqlite", bench->folder);
    bench->clock = (struct gt_clock){.real = read_time_of_day, .monotonic = read_clock, .context = bench};
    bench->options = GT_INIT(struct gt_tracker_options);
    bench->options.sleep_time = 1;
    bench->options.ram_unit = bench->options.gpu_ram_unit = "bytes";
    bench->options.time_unit = "seconds";
    bench->options.memory = "rss";
    bench->options.idle = "share";
    bench->options.machine_root = bench->folder;
    bench->options.tracking_file = bench->path;
    const struct gt_recorder_options options = {
        .tracker = &bench->options, .clock = &bench->clock, .warn = hear, .context = bench};
    assert_int_equal(gt_recorder_open(&bench->recorder, MAIN, false, &options, NULL), 0);
}

static void end(struct bench *bench)
{
    gt_recorder_close(&bench->recorder);
    unlink(bench->path);
    fake_proc_destroy(bench->folder, &bench->root);
}

static void pass(struct bench *bench, double seconds)
{
    bench->now_ns += (int64_t)(seconds * 1e9);
}

static size_t recorded(const struct bench *bench, double *elapsed)
{
    struct gt_recording *recording = NULL;
    const struct gt_sample *sample;
    size_t count = 0;
    assert_int_equal(gt_recording_open(&recording, bench->path, NULL), 0);
    while (gt_recording_next(recording, &sample, NULL) > 0)
        count++;
    *elapsed = gt_recording_outcome(recording)->elapsed;
    gt_recording_close(recording);
    return count;
}

/* A look and a reading between two samples count for peaks; samples alone are written down. */
TEST(test_samples_are_recorded_and_looks_are_not)
{
    struct bench bench;
    const double page = (double)sysconf(_SC_PAGESIZE);
    struct gt_recorder *recorder = &bench.recorder;
    int64_t used_ns = -1;
    begin(&bench);
    write_process(&bench, CHILD, 100, 0);
    assert_true(isnan(gt_recorder_value(recorder, GT_SCOPE_COMBINED, GT_RAM)));
    assert_int_equal(gt_recorder_read(recorder, true, NULL), 1);
    assert_close(gt_recorder_value(recorder, GT_SCOPE_COMBINED, GT_RAM), 1100 * page, 1);
    write_process(&bench, CHILD, 3000, 0);
    pass(&bench, 0.4);
    assert_int_equal(gt_recorder_look(recorder, &used_ns, NULL), 1);
    assert_true(used_ns >= 0);
    write_process(&bench, CHILD, 500, 50);
    pass(&bench, 0.4);
    assert_int_equal(gt_recorder_read(recorder, false, NULL), 1);
    assert_close(gt_recorder_value(recorder, GT_SCOPE_COMBINED, GT_RAM), 1100 * page, 1); /* of the last sample */
    pass(&bench, 0.2);
    assert_int_equal(gt_recorder_read(recorder, true, NULL), 1);
    assert_close(gt_recorder_value(recorder, GT_SCOPE_COMBINED, GT_RAM), 1500 * page, 1);
    assert_int_equal(gt_recorder_finish(recorder, NULL), 0);
    double elapsed;
    assert_int_equal(recorder->summary.samples, 2);
    assert_int_equal(recorded(&bench, &elapsed), 2);
    assert_close(elapsed, 1, 1e-9);
    assert_close(gt_recorder_value(recorder, GT_SCOPE_COMBINED, GT_RAM_PEAK), 4000 * page, 1);
    end(&bench);
}

TEST(test_setting_the_clock_moves_no_sample)
{
    struct bench bench;
    struct gt_recording *recording;
    const struct gt_sample *sample;
    int64_t before_ns = 0;
    begin(&bench);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(gt_recorder_read(&bench.recorder, true, NULL), 1);
        bench.set_ns += (i % 2 ? 500 : -300) * GT_SECOND;
        pass(&bench, 1);
    }
    assert_int_equal(gt_recorder_finish(&bench.recorder, NULL), 0);
    assert_int_equal(gt_recording_open(&recording, bench.path, NULL), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(gt_recording_next(recording, &sample, NULL), 1);
        assert_int_equal(sample->real_ns, before_ns ? before_ns + GT_SECOND : 1000 * GT_SECOND);
        before_ns = sample->real_ns;
    }
    gt_recording_close(recording);
    end(&bench);
}

TEST(test_the_job_and_its_end)
{
    struct bench bench;
    struct gt_recorder *recorder = &bench.recorder;
    pid_t pids[2];
    begin(&bench);
    write_process(&bench, CHILD, 10, 0);
    assert_true(gt_recorder_contains(recorder, CHILD)); /* before a reading has met it */
    assert_false(gt_recorder_contains(recorder, 999));
    assert_int_equal(gt_recorder_read(recorder, true, NULL), 1);
    assert_int_equal(gt_recorder_processes(recorder, pids, 2), 2);
    assert_int_equal(pids[0], MAIN);
    fake_proc_remove(bench.folder, MAIN);
    pass(&bench, 3);
    assert_int_equal(gt_recorder_read(recorder, true, NULL), 1); /* a descendant lives */
    assert_int_equal(recorder->end_ns - recorder->start_ns, 3 * GT_SECOND);
    fake_proc_remove(bench.folder, CHILD);
    pass(&bench, 1);
    assert_int_equal(gt_recorder_read(recorder, true, NULL), 0);
    assert_int_equal(recorder->summary.samples, 2);
    assert_int_equal(gt_recorder_finish(recorder, NULL), 0);
    assert_close(recorder->outcome.elapsed, 3, 1e-9);
    end(&bench);
}

/* Those that wait are in whatever is asked for meanwhile. */
TEST(test_frequent_samples_are_recorded_together)
{
    struct bench bench;
    struct gt_outcome outcome = {0};
    const double page = (double)sysconf(_SC_PAGESIZE);
    double elapsed;
    begin(&bench);
    bench.options.sleep_time = 0.1;
    for (int i = 0; i < 25; i++, pass(&bench, 0.1)) {
        write_process(&bench, MAIN, 1000 + (unsigned long)i, 0);
        assert_int_equal(gt_recorder_read(&bench.recorder, true, NULL), 1);
        assert_close(gt_recorder_value(&bench.recorder, GT_SCOPE_COMBINED, GT_RAM), (1000 + i) * page, 1);
        if (i % 8)
            continue;
        assert_int_equal(gt_recorder_outcome(&bench.recorder, &outcome, NULL), 0);
        assert_int_equal(outcome.samples, i + 1);
        assert_close(outcome.value[GT_SCOPE_COMBINED][GT_RAM], (1000 + i) * page, 1);
    }
    gt_outcome_release(&outcome);
    assert_int_equal(gt_recorder_finish(&bench.recorder, NULL), 0);
    assert_int_equal(bench.recorder.summary.samples, 25);
    assert_int_equal(recorded(&bench, &elapsed), 25);
    end(&bench);
}
