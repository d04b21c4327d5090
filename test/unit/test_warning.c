/* Warnings: each rule on one side of its limit and on the other. */
#include "analyse/usage/usage.h"
#include "support/test.h"

enum { GPUS = 2, ROWS = GT_FIXED_ROWS + GPUS };

struct run {
    struct gt_machine machine;
    struct gt_gpu gpu[GPUS];
    struct gt_summary summary;
    struct gt_outcome outcome;
    struct gt_row row[ROWS];
    int64_t now;
};

/* A job of a hundred seconds on 8 cores that did nothing remarkable. */
static void begin(struct run *run)
{
    memset(run, 0, sizeof *run);
    run->machine = (struct gt_machine){
        .pid = 4711, .core_count = 8, .ram_capacity = 64e9, .gpu = run->gpu, .gpu_length = GPUS};
    gt_summary_init(&run->summary);
    gt_summary_outcome(&run->summary, &run->outcome);
    run->outcome.elapsed = 100;
    run->outcome.exit_status = 0;
    run->outcome.complete = true;
    run->outcome.value[GT_SCOPE_COMBINED][GT_RAM_PEAK] = 1e9;
    run->outcome.value[GT_SCOPE_COMBINED][GT_CPU_TIME] = 700;
    run->outcome.value[GT_SCOPE_SYSTEM][GT_CPU_TIME] = 710;
    for (int i = 0; i < ROWS; i++) {
        run->row[i].scope = i < GT_FIXED_ROWS ? (enum gt_scope)i : GT_SCOPE_GPU;
        run->row[i].device = i < GT_FIXED_ROWS ? -1 : i - GT_FIXED_ROWS;
        gt_values_clear(run->row[i].value);
    }
    for (int i = 0; i < GPUS; i++)
        run->gpu[i].selected = true;
}

static void sample(struct run *run, int count)
{
    double cpu = run->row[GT_SCOPE_COMBINED].value[GT_CPU_UTILIZATION];
    for (int i = 0; i < count; i++) {
        run->now += 1000000000;
        double *time = &run->row[GT_SCOPE_COMBINED].value[GT_CPU_TIME];
        *time = (isnan(*time) ? 0 : *time) + (isnan(cpu) ? 0 : cpu);
        struct gt_sample sample = {.real_ns = run->now, .monotonic_ns = run->now, .row_count = ROWS, .row = run->row};
        assert_int_equal(gt_summary_add(&run->summary, &sample), 0);
    }
}

/* The sentence of a rule; NULL: it does not apply. */
static const char *said(struct run *run, const char *name)
{
    static struct gt_warning warning[GT_WARNINGS];
    struct gt_usage usage = {.machine = &run->machine, .summary = &run->summary, .outcome = &run->outcome};
    size_t count = gt_warnings(&usage, warning);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(warning[i].name, name)) {
            assert_false(isnan(warning[i].value));
            return warning[i].sentence;
        }
    return NULL;
}

static void end(struct run *run)
{
    gt_summary_release(&run->summary);
}

TEST(test_nothing)
{
    struct run run;
    struct gt_warning warning[GT_WARNINGS];
    begin(&run);
    sample(&run, 10);
    struct gt_usage usage = {.machine = &run.machine, .summary = &run.summary, .outcome = &run.outcome};
    assert_int_equal(gt_warnings(&usage, warning), 0);
    end(&run);
}

TEST(test_out_of_memory)
{
    struct run run;
    begin(&run);
    run.machine.limit[GT_LIMIT_GROUP_MEMORY].value = 16e9;
    run.outcome.value[GT_SCOPE_COMBINED][GT_RAM_PEAK] = 15.9e9;
    assert_null(said(&run, "out_of_memory"));
    run.outcome.exit_status = 137;
    assert_string_equal(said(&run, "out_of_memory"), "the kernel probably killed a process at the limit of 16.0 GB");
    run.outcome.events = (struct gt_kernel_events){
        .oom_kills = 1, .largest_pid = 4712, .largest_ram = 15.7e9, .largest_name = "python", .largest_is_gone = true};
    assert_string_equal(said(&run, "out_of_memory"),
                        "the kernel killed python (pid 4712, 15.7 GB) at the limit of 16.0 GB");
    struct gt_process_record record[] = {{.pid = 4712, .name = "sh", .ram_peak = 17e9},
                                         {.pid = 4712, .name = "python", .ram_peak = 16e9}};
    run.outcome.records = (struct gt_process_records){.record = record, .count = 2};
    assert_string_equal(said(&run, "out_of_memory"),
                        "the kernel killed python (pid 4712, 16.0 GB) at the limit of 16.0 GB");
    run.outcome.records = (struct gt_process_records){0};
    run.outcome.events.largest_is_gone = false; /* another one was killed */
    assert_string_equal(said(&run, "out_of_memory"), "the kernel killed a process at the limit of 16.0 GB");
    run.outcome.events = (struct gt_kernel_events){.oom_kills = 0};
    run.outcome.value[GT_SCOPE_COMBINED][GT_RAM_PEAK] = 8e9; /* killed by somebody */
    assert_null(said(&run, "out_of_memory"));
    run.machine.limit[GT_LIMIT_GROUP_MEMORY].value = 0;
    run.outcome.events.oom_kills_above = 1;
    assert_string_equal(said(&run, "out_of_memory"),
                        "the kernel probably killed a process at a memory limit that is not known");
    run.machine.limit[GT_LIMIT_GROUP_MEMORY].value = 32e9; /* of a group above the one that was too small */
    assert_string_equal(said(&run, "out_of_memory"),
                        "the kernel probably killed a process at a memory limit that is not known");
    run.machine.limit[GT_LIMIT_GROUP_MEMORY].value = 0;
    run.row[GT_SCOPE_SYSTEM].value[GT_RAM] = 63e9;
    sample(&run, 1);
    assert_string_equal(said(&run, "out_of_memory"),
                        "the kernel probably killed a process when the machine had no memory left");
    run.outcome.exit_status = 0; /* somebody else was killed */
    assert_null(said(&run, "out_of_memory"));
    end(&run);
}

TEST(test_memory)
{
    struct run run;
    begin(&run);
    run.machine.limit[GT_LIMIT_MEMORY].value = 64e9;
    run.outcome.value[GT_SCOPE_COMBINED][GT_RAM_PEAK] = 13.9e9;
    assert_string_equal(said(&run, "memory_unused"), "64 GB asked for, 13.9 GB used");
    run.outcome.value[GT_SCOPE_COMBINED][GT_RAM_PEAK] = 33e9;
    assert_null(said(&run, "memory_unused"));
    run.machine.limit[GT_LIMIT_MEMORY].value = 4e9; /* little is little */
    run.outcome.value[GT_SCOPE_COMBINED][GT_RAM_PEAK] = 1e8;
    assert_null(said(&run, "memory_unused"));
    run.outcome.value[GT_SCOPE_SYSTEM][GT_PRESSURE_MEMORY] = 4;
    assert_null(said(&run, "swapped"));
    run.outcome.value[GT_SCOPE_SYSTEM][GT_PRESSURE_MEMORY] = 20;
    assert_string_equal(said(&run, "swapped"), "something waited for memory for 20 % of the time");
    run.row[GT_SCOPE_COMBINED].value[GT_SWAP] = 2e9;
    sample(&run, 1);
    assert_string_equal(said(&run, "swapped"),
                        "2.00 GB were swapped out, 20 % of the time something waited for memory");
    end(&run);
}

TEST(test_time_limit)
{
    struct run run;
    begin(&run);
    run.machine.limit[GT_LIMIT_TIME].value = 130;
    assert_null(said(&run, "time_limit"));
    run.outcome.exit_status = 143;
    assert_string_equal(said(&run, "time_limit"),
                        "the job was probably ended for its time: 30 s of the allocation were left");
    run.machine.limit[GT_LIMIT_TIME].value = 99;
    assert_string_equal(said(&run, "time_limit"), "the job was probably ended for its time: the allocation was over");
    run.machine.limit[GT_LIMIT_TIME].value = 200;
    assert_null(said(&run, "time_limit"));
    end(&run);
}

TEST(test_cores)
{
    struct run run;
    begin(&run);
    run.machine.limit[GT_LIMIT_CORES].value = 4;
    run.row[GT_SCOPE_COMBINED].value[GT_CPU_UTILIZATION] = 1.5;
    sample(&run, 20);
    assert_string_equal(said(&run, "cores_unused"), "4 cores asked for, at most 1.51 busy for 95 % of the time");
    run.machine.limit[GT_LIMIT_CORES].value = 2;
    assert_null(said(&run, "cores_unused"));
    run.outcome.events.throttled_periods = 0.04;
    assert_null(said(&run, "cpu_throttled"));
    run.outcome.events.throttled_periods = 0.34;
    assert_string_equal(said(&run, "cpu_throttled"),
                        "the CPU was throttled in 34 % of the periods: the quota is 2 cores");
    end(&run);
}

TEST(test_threads_and_others)
{
    struct run run;
    begin(&run);
    run.outcome.value[GT_SCOPE_COMBINED][GT_INVOLUNTARY_SWITCHES] = 500000;
    run.row[GT_SCOPE_COMBINED].value[GT_THREADS] = 64;
    sample(&run, 3);
    assert_string_equal(said(&run, "too_many_threads"), "64 threads on 8 cores: they took turns 5000 times a second");
    run.outcome.value[GT_SCOPE_COMBINED][GT_CPU_TIME] = 100;
    assert_null(said(&run, "too_many_threads")); /* they sleep */
    assert_string_equal(said(&run, "disturbed"), "other programs used 6.10 of the 8 cores: do not compare these times");
    run.machine.world = 8;
    assert_null(said(&run, "disturbed")); /* the others are other ranks */
    run.machine.world = 1;
    assert_non_null(said(&run, "disturbed"));
    run.machine.limit[GT_LIMIT_CORES].value = 2;
    assert_null(said(&run, "disturbed")); /* on cores that are not the job's */
    run.outcome.value[GT_SCOPE_SYSTEM][GT_PRESSURE_IO] = 30;
    assert_null(said(&run, "disk"));
    run.outcome.value[GT_SCOPE_COMBINED][GT_READ_BYTES] = 1e9;
    assert_string_equal(said(&run, "disk"), "something waited for the disk for 30 % of the time");
    end(&run);
}

TEST(test_gpus)
{
    struct run run;
    begin(&run);
    double *first = run.row[GT_FIXED_ROWS].value, *second = run.row[GT_FIXED_ROWS + 1].value;
    first[GT_GPU_UTILIZATION] = 0.2;
    first[GT_GPU_THROTTLE] = 2;
    second[GT_GPU_UTILIZATION] = 0.01;
    second[GT_GPU_THROTTLE] = 8;
    run.row[GT_SCOPE_COMBINED].value[GT_CPU_UTILIZATION] = 1;
    sample(&run, 61);
    assert_null(said(&run, "gpu_idle")); /* the job has nothing to do with GPUs */
    run.machine.limit[GT_LIMIT_GPUS].value = 2;
    assert_string_equal(said(&run, "gpu_idle"), "gpu 1 was idle: below 5 % for 100 % of the time");
    assert_string_equal(said(&run, "gpu_starved"),
                        "gpu 0 starved for 1 min: below 30 % while the job kept a core busy");
    assert_string_equal(said(&run, "gpu_slowed_down"), "gpu 0 slowed down for 100 % of the time, by heat");
    run.gpu[1].selected = false;
    assert_null(said(&run, "gpu_idle"));
    end(&run);
}

TEST(test_gpu_failed)
{
    struct run run;
    begin(&run);
    double *first = run.row[GT_FIXED_ROWS].value, *second = run.row[GT_FIXED_ROWS + 1].value;
    first[GT_GPU_ECC_UNCORRECTED] = second[GT_GPU_ECC_UNCORRECTED] = 7; /* from before */
    first[GT_GPU_XIDS] = first[GT_GPU_XID] = first[GT_GPU_LOST] = second[GT_GPU_LOST] = 0;
    sample(&run, 10);
    assert_null(said(&run, "gpu_failed"));
    first[GT_GPU_LOST] = first[GT_GPU_XIDS] = 1;
    first[GT_GPU_XID] = 79;
    second[GT_GPU_ECC_UNCORRECTED] = 257;
    sample(&run, 1);
    assert_string_equal(said(&run, "gpu_failed"),
                        "gpu 0: lost to its driver, XID 79; gpu 1: 250 memory errors that ECC "
                        "could not correct");
    run.outcome.events.oom_kills = 1;
    struct gt_warning warning[GT_WARNINGS];
    struct gt_usage usage = {.machine = &run.machine, .summary = &run.summary, .outcome = &run.outcome};
    assert_true(gt_warnings(&usage, warning) > 1 && !strcmp(warning[0].name, "gpu_failed"));
    end(&run);
    begin(&run);
    run.outcome.value[GT_SCOPE_SYSTEM][GT_GPU_LOST] = 3;
    run.outcome.value[GT_SCOPE_SYSTEM][GT_GPU_XIDS] = 1;
    assert_string_equal(said(&run, "gpu_failed"), "errors of the GPUs: 3 lost to their driver, 1 XID");
    run.outcome.value[GT_SCOPE_SYSTEM][GT_GPU_XID] = 79;
    assert_string_equal(said(&run, "gpu_failed"), "errors of the GPUs: 3 lost to their driver, XID 79");
    run.outcome.value[GT_SCOPE_SYSTEM][GT_GPU_XIDS] = 4;
    assert_string_equal(said(&run, "gpu_failed"), "errors of the GPUs: 3 lost to their driver, XID 79, 4 XIDs in all");
    end(&run);
}

/* Programs cause some XIDs: the GPU has not failed. */
TEST(test_gpu_program_error)
{
    struct run run;
    begin(&run);
    double *first = run.row[GT_FIXED_ROWS].value, *second = run.row[GT_FIXED_ROWS + 1].value;
    first[GT_GPU_XIDS] = run.outcome.value[GT_SCOPE_SYSTEM][GT_GPU_XIDS] = 1;
    first[GT_GPU_XID] = run.outcome.value[GT_SCOPE_SYSTEM][GT_GPU_XID] = 13;
    sample(&run, 1);
    assert_null(said(&run, "gpu_failed"));
    assert_string_equal(said(&run, "gpu_program_error"), "gpu 0: XID 13, an error of a program");
    second[GT_GPU_XIDS] = 2;
    second[GT_GPU_XID] = 48;
    sample(&run, 1);
    assert_string_equal(said(&run, "gpu_failed"), "gpu 1: XID 48");
    assert_string_equal(said(&run, "gpu_program_error"), "gpu 0: XID 13, an error of a program");
    first[GT_GPU_LOST] = 1;
    sample(&run, 1);
    assert_null(said(&run, "gpu_program_error"));
    end(&run);
    begin(&run);
    run.outcome.value[GT_SCOPE_SYSTEM][GT_GPU_XIDS] = 1;
    run.outcome.value[GT_SCOPE_SYSTEM][GT_GPU_XID] = 43;
    assert_null(said(&run, "gpu_failed"));
    assert_string_equal(said(&run, "gpu_program_error"), "errors of the GPUs: XID 43, an error of a program");
    end(&run);
}

TEST(test_incomplete)
{
    struct run run;
    begin(&run);
    run.outcome.samples = 100;
    run.outcome.missed = 4;
    assert_null(said(&run, "incomplete"));
    run.outcome.missed = 30;
    assert_string_equal(said(&run, "incomplete"), "30 of 130 samples were missed: the machine had no time for them");
    run.outcome.dropped = 9;
    assert_string_equal(said(&run, "incomplete"),
                        "the recording lost 9 samples: its disk was too slow, or its spool full");
    end(&run);
}
