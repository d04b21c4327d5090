/* What to ask for next time: from one run, from several, and from one that was killed. */
#include "analyse/usage/usage.h"
#include "support/test.h"

struct run {
    struct gt_machine machine;
    struct gt_gpu gpu[2];
    struct gt_summary summary;
    struct gt_outcome outcome;
};

static void begin(struct run *run, double ram, double seconds)
{
    memset(run, 0, sizeof *run);
    run->machine = (struct gt_machine){.core_count = 16, .gpu = run->gpu};
    gt_summary_init(&run->summary);
    gt_summary_outcome(&run->summary, &run->outcome);
    run->outcome.elapsed = seconds;
    run->outcome.exit_status = 0;
    run->outcome.complete = true;
    run->outcome.value[GT_SCOPE_COMBINED][GT_RAM_PEAK] = ram;
    run->outcome.value[GT_SCOPE_COMBINED][GT_CPU_TIME] = 1.02 * seconds;
}

/* So many seconds with so many cores busy, in samples a second. */
static void work(struct run *run, int seconds, double cores, double gpu)
{
    static double cpu;
    static int64_t now;
    for (int i = 0; i <= seconds; i++) {
        struct gt_row row[GT_FIXED_ROWS + 2];
        now += 1000000000;
        cpu += i ? cores : 0;
        for (int k = 0; k < GT_FIXED_ROWS + 2; k++) {
            bool is_gpu = k >= GT_FIXED_ROWS;
            row[k].scope = is_gpu ? GT_SCOPE_GPU : (enum gt_scope)k;
            row[k].device = is_gpu ? k - GT_FIXED_ROWS : -1;
            gt_values_clear(row[k].value);
        }
        row[GT_SCOPE_COMBINED].value[GT_CPU_TIME] = cpu;
        row[GT_FIXED_ROWS].value[GT_GPU_UTILIZATION] = gpu;
        row[GT_FIXED_ROWS + 1].value[GT_GPU_UTILIZATION] = 0;
        struct gt_sample sample = {.real_ns = now, .monotonic_ns = now, .row_count = GT_FIXED_ROWS + 2, .row = row};
        assert_int_equal(gt_summary_add(&run->summary, &sample), 0);
    }
}

static void add(struct gt_next_time *next, struct run *run)
{
    gt_next_time_add(next,
                     &(struct gt_usage){.machine = &run->machine, .summary = &run->summary, .outcome = &run->outcome});
    gt_summary_release(&run->summary);
}

static void asks(const struct gt_next_time *next, const char *kind, const char *expected)
{
    struct gt_buffer out = {0};
    assert_int_equal(gt_next_time_request(&out, next, kind), 0);
    assert_string_equal(out.data, expected);
    gt_buffer_release(&out);
}

static void put_by_core(struct gt_next_time *next, int tasks)
{
    struct run run;
    begin(&run, 29e9, 4320);
    run.machine.asks_by_core = true;
    run.machine.tasks = tasks;
    work(&run, 100, 6.5, 0);
    run.outcome.value[GT_SCOPE_COMBINED][GT_CPU_TIME] = 6.5 * 4320;
    add(next, &run);
}

/* Seven cores for three tasks are three for each. */
TEST(test_tasks_and_arrays)
{
    struct gt_next_time next;
    gt_next_time_init(&next);
    put_by_core(&next, 3);
    asks(&next, "slurm", "--mem-per-cpu=3840M --cpus-per-task=3 --time=1:35:00");
    put_by_core(&next, 1); /* another run had one */
    asks(&next, "slurm", "--mem-per-cpu=4864M --cpus-per-task=7 --time=1:35:00");
}

/* A quota that holds a run back hides how many cores it would use. */
TEST(test_throttled)
{
    struct run run;
    struct gt_next_time next;
    struct gt_buffer out = {0};
    gt_next_time_init(&next);
    begin(&run, 21e6, 100);
    run.machine.limit[GT_LIMIT_CORES].value = 0.2;
    run.outcome.events.throttled_periods = 0.98;
    run.outcome.value[GT_SCOPE_COMBINED][GT_CPU_TIME] = 0.2 * 100;
    add(&next, &run);
    asks(&next, "k8s", "resources: {requests: {cpu: 400m, memory: 512Mi}, limits: {memory: 512Mi}}");
    gt_next_time_doubt(&out, &next);
    assert_string_equal(out.data, "more than 0.2 cores; the limit slowed the run");
    gt_buffer_release(&out);
    gt_next_time_try(&out, &next);
    assert_string_equal(out.data, "0.40 cores");
    gt_buffer_release(&out);
    begin(&run, 21e6, 100);
    run.outcome.events.throttled_periods = 0.01; /* hardly ever */
    gt_next_time_init(&next);
    add(&next, &run);
    gt_next_time_doubt(&out, &next);
    assert_null(out.data);
}
