/* What to ask for next time: from one run, from several, and from one that was killed. */
#include "analyse/usage/usage.h"
#include "support/test.h"

static const double GIB = 1073741824;

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

TEST(test_one_run)
{
    struct run run;
    struct gt_next_time next;
    gt_next_time_init(&next);
    begin(&run, 13.9e9, 4320);
    run.machine.gpu_count = run.machine.gpu_length = 2;
    run.gpu[0].selected = run.gpu[1].selected = true;
    work(&run, 100, 1.6, 0.8);
    run.outcome.value[GT_SCOPE_COMBINED][GT_CPU_TIME] = 1.5 * 4320;
    add(&next, &run);
    asks(&next, "slurm", "--mem=16G --cpus-per-task=2 --gpus=1 --time=1:35:00");
    asks(&next, "pbs", "-l select=1:ncpus=2:mem=16gb:ngpus=1 -l walltime=1:35:00");
    asks(&next, "k8s", "resources: {requests: {cpu: 1600m, memory: 16Gi}, limits: {memory: 16Gi, nvidia.com/gpu: 1}}");
    asks(&next, "docker", "--memory=16g --cpus=2 --gpus=1");
    asks(&next, "lsf", "-n 2 -M 16GB -R \"span[hosts=1] rusage[mem=16GB]\" -gpu \"num=1\" -W 1:35");
    struct gt_buffer out = {0};
    assert_int_equal(gt_next_time_request(&out, &next, "sun"), -ENOENT);
    gt_next_time_doubt(&out, &next);
    assert_null(out.data);
}

/* Who asked for memory by core is answered so. */
TEST(test_memory_for_each_core)
{
    struct run run;
    struct gt_next_time next;
    gt_next_time_init(&next);
    begin(&run, 5e9, 4320);
    strcpy(run.machine.limit[GT_LIMIT_MEMORY].source, "SLURM_MEM_PER_CPU");
    work(&run, 100, 1.6, 0);
    run.outcome.value[GT_SCOPE_COMBINED][GT_CPU_TIME] = 1.5 * 4320;
    add(&next, &run);
    asks(&next, "slurm", "--mem-per-cpu=3G --cpus-per-task=2 --time=1:35:00");
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

/* Forked workers have inherited what they did not use. */
TEST(test_workers_beside_a_large_parent)
{
    struct run run;
    struct gt_next_time next;
    gt_next_time_init(&next);
    begin(&run, 429e6, 60);
    run.outcome.value[GT_SCOPE_COMBINED][GT_RAM_PEAK_BOUND] = 3720e6;
    work(&run, 60, 0.5, 0);
    add(&next, &run);
    asks(&next, "slurm", "--mem=768M --cpus-per-task=1 --time=0:10:00");
}

/* A mean just above one core is one; small memory in steps of 256 MiB, with so much to spare. */
TEST(test_small)
{
    struct run run;
    struct gt_next_time next;
    gt_next_time_init(&next);
    begin(&run, 21e6, 5);
    add(&next, &run);
    asks(&next, "slurm", "--mem=512M --cpus-per-task=1 --time=0:10:00");
    assert_true(next.memory >= 21e6 + 256 * 1048576.0);
}

/* Never below what was used, whatever that is. */
TEST(test_never_below_use)
{
    for (double ram = 1e6; ram < 2e12; ram *= 1.37) {
        struct run run;
        struct gt_next_time next;
        gt_next_time_init(&next);
        begin(&run, ram, 10);
        run.outcome.value[GT_SCOPE_COMBINED][GT_RAM_PEAK_BOUND] = 1.1 * ram;
        run.outcome.value[GT_SCOPE_COMBINED][GT_CPU_TIME] = 10 * ram / 1e12;
        add(&next, &run);
        assert_true(next.memory >= 1.2 * ram && next.memory <= 1.2 * ram + GIB);
        double cores = ram / 1e12; /* a little above one is one */
        assert_true(next.cores >= cores - 1e-9 || (next.cores == 1 && cores < 1.1));
    }
}

TEST(test_the_largest_of_several)
{
    struct run run;
    struct gt_next_time next;
    gt_next_time_init(&next);
    begin(&run, 2e9, 7200);
    add(&next, &run);
    begin(&run, 20e9, 60);
    work(&run, 30, 3.7, 0);
    run.outcome.value[GT_SCOPE_COMBINED][GT_CPU_TIME] = 3 * 60;
    add(&next, &run);
    asks(&next, "slurm", "--mem=23G --cpus-per-task=4 --time=2:30:00");
    assert_int_equal(next.runs, 2);
}

/* A run that failed says nothing about time; one that was killed for memory nothing about memory but that it takes more. */
TEST(test_killed)
{
    struct run run;
    struct gt_next_time next;
    struct gt_buffer out = {0};
    gt_next_time_init(&next);
    begin(&run, 15.9e9, 41);
    run.machine.limit[GT_LIMIT_GROUP_MEMORY].value = 16e9;
    run.outcome.exit_status = 137;
    run.outcome.events.oom_kills = 1;
    add(&next, &run);
    asks(&next, "slurm", "--mem=30G --cpus-per-task=1");
    assert_true(next.memory >= 2 * 16e9);
    gt_next_time_doubt(&out, &next);
    assert_string_equal(out.data, "more than 16.0 GB; the limit ended the run before its peak");
    gt_buffer_release(&out);
    gt_next_time_try(&out, &next);
    assert_string_equal(out.data, "30G"); /* a scheduler takes it */
    gt_buffer_release(&out);
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
