/* NVML: which processes use a GPU, how much of it, and which process a number means. */
#include "collect/gpu/nvml.h"
#include "support/gpu_machine.h"
#include "support/test.h"

#define BOARD "device 0\nuuid GPU-aaaa\nname Fake H100\nminor 0\nmemory 80000000000 0 1000000000\n"

static struct gpu_machine machine;

static int setup(void **state)
{
    *state = &machine;
    gpu_machine_begin(&machine);
    gpu_machine_process(&machine, 100);
    gpu_machine_process(&machine, 200);
    gpu_machine_process(&machine, 300);
    return 0;
}

static int setup_on_host(void **state)
{
    setup(state);
    gpu_machine_initial_namespace(&machine);
    return 0;
}

static void open_with(const char *file, const char *data)
{
    gpu_machine_library(&machine, "nvml", file, "GT_FAKE_NVML", data);
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_nvml), GT_READY);
}

static double share(pid_t pid, enum gt_metric_id metric)
{
    return gpu_machine_share(&machine, 0, pid, metric);
}

#define THREE_ROWS "process 0 100 11000000\nprocess 0 200 22000000\nprocess 1 300 33000000\n"
#define ONE_USER "process 0 100 1000000\nused 100 1700000000900000 40 0 0 0\n"

/* What one reading tells of processes 100, 200 and 300; what no case names is missing. */
static const struct list_case {
    const char *name, *library, *data;
    const char *status_200, *status_300; /* in /proc, where the tracker is on the host */
    bool is_in_container;                /* where process 200 holds the device */
    double ram[3], used[3];              /* MB; percent */
    const char *told;
} list_cases[] = {
    {"rows of 16 bytes", "nvml_v1", "row_size 0\n" BOARD THREE_ROWS, .ram = {11, 22, 33}},
    {"rows of 24 bytes", "nvml_v2", "row_size 0\n" BOARD THREE_ROWS, .ram = {11, 22, 33}},
    {"rows of 24 bytes by v3", "nvml_v3", "row_size 24\n" BOARD THREE_ROWS, .ram = {11, 22, 33}},
    {"rows of 32 bytes by v3", "nvml_v3", "row_size 32\n" BOARD THREE_ROWS, .ram = {11, 22, 33}},
    {"rows of the detail list", "nvml", "row_size 24\n" BOARD THREE_ROWS, .ram = {11, 22, 33}},
    {"unknown rows are not guessed", "nvml_v3", "row_size 28\n" BOARD THREE_ROWS, .told = "unknown form"},
    {"a process in two lists counts once", "nvml",
     BOARD "process 0 100 5000000\nprocess 1 100 5000000\nprocess 2 200 6000000\nprocess 1 300 7000000\n",
     .ram = {5, 6, 7}},
    {"memory that is not available", "nvml_v2", BOARD "process 0 100 n/a\nprocess 0 200 n/a\nprocess 1 200 9000000\n",
     .ram = {NAN, 9}},
    {"utilization that is not supported", "nvml",
     BOARD ONE_USER "fail nvmlDeviceGetProcessesUtilizationInfo 3\nfail nvmlDeviceGetProcessUtilization 3\n",
     .ram = {1}, .used = {NAN}},
    {"functions of older drivers", "nvml",
     BOARD ONE_USER "fail nvmlDeviceGetProcessesUtilizationInfo 25\nfail nvmlDeviceGetRunningProcessDetailList 25\n",
     .ram = {1}, .used = {40}},
    {"the host sees a container", "nvml", BOARD "process 0 45 4000000\nprocess 0 300 5000000\n",
     "Name:\tjob\nNSpid:\t200\t45\t7\nThreads:\t1\n", .ram = {0, 4, 5}, .told = "mapped by NSpid"},
    {"one number of two containers is nobody", "nvml", BOARD "process 0 45 4000000\n", "Name:\tjob\nNSpid:\t200\t45\n",
     "Name:\tjob\nNSpid:\t300\t45\n", .told = "no visible process"},
    /* 300 is a process here, but not that one */
    {"a number of the host in a container", "nvml", BOARD "process 0 300 4000000\n", .is_in_container = true,
     .ram = {0, 4}, .told = "the only process of the job that holds the device"},
    {"two strange numbers in a container", "nvml", BOARD "process 0 4500 4000000\nprocess 0 4600 5000000\n",
     .is_in_container = true, .told = "no visible process"},
    {"the container's number in the list and the host's in samples", "nvml",
     BOARD "process 0 200 4000000\nused 45678 1700000000900000 60 0 0 0\n", .is_in_container = true, .ram = {0, 4},
     .used = {0, 60}},
};

static void check_list(const struct list_case *one)
{
    char text[300];
    size_t count = 0;
    for (int i = 0; i < 3; i++) {
        double ram = one->ram[i] == 0 ? NAN : one->ram[i] * 1e6, found = share(100 * (i + 1), GT_GPU_RAM);
        double used = share(100 * (i + 1), GT_GPU_UTILIZATION);
        if (!is_close(found, ram, 0) || (one->used[i] != 0 && !is_close(used, one->used[i] / 100, 1e-9)))
            fail_msg("%s: process %d has %g bytes, used %g", one->name, 100 * (i + 1), found, used);
        count += one->ram[i] != 0;
    }
    if (machine.snapshot.share_count != count)
        fail_msg("%s: %zu processes", one->name, machine.snapshot.share_count);
    machine.type->describe(machine.state, text, sizeof text);
    if (one->told && !strstr(text, one->told))
        fail_msg("%s: \"%s\" is not in \"%s\"", one->name, one->told, text);
}

TEST(processes_of_every_list_are_those_of_the_job)
{
    for (size_t i = 0; i < sizeof list_cases / sizeof *list_cases; i++) {
        const struct list_case *one = &list_cases[i];
        void *opened = NULL;
        (one->is_in_container ? setup : setup_on_host)(&opened);
        if (one->status_200)
            gpu_machine_file(&machine, "proc/200/status", "%s", one->status_200);
        if (one->status_300)
            gpu_machine_file(&machine, "proc/300/status", "%s", one->status_300);
        if (one->is_in_container)
            gpu_machine_link(&machine, "proc/200/fd/5", "/dev/nvidia0");
        open_with(one->library, one->data);
        assert_int_equal(gpu_machine_collect(&machine, 1), 0);
        check_list(one);
        gpu_machine_teardown(&opened);
    }
}

TEST_WITH(devices_have_their_own_last_sample, setup_on_host, gpu_machine_teardown)
{
    open_with("nvml", BOARD ONE_USER "device 1\nuuid GPU-bbbb\nprocess 0 100 1000000\n"
                                     "used 100 1700000000300000 25 0 0 0\n");
    gpu_machine_collect(&machine, 1);
    assert_true(share(100, GT_GPU_UTILIZATION) == 0.40);
    assert_true(gpu_machine_share(&machine, 1, 100, GT_GPU_UTILIZATION) == 0.25);
}

/* More rows than the buffer holds, and a driver whose answer to "how many" is too small. */
TEST_WITH(many_processes, setup_on_host, gpu_machine_teardown)
{
    enum { COUNT = FEWER(5000, 1000) };
    char *data = malloc(64 * (COUNT + 10));
    size_t used = (size_t)sprintf(data, "understate 1\n" BOARD);
    for (int i = 0; i < COUNT; i++)
        used += (size_t)sprintf(data + used, "process 0 %d %d\n", 1000 + i, 1000 + i);
    sprintf(data + used, "process 0 100 123\n");
    for (int i = 0; i < COUNT; i++) {
        char path[32];
        snprintf(path, sizeof path, "proc/%d/stat", 1000 + i);
        gpu_machine_file(&machine, path, "x");
    }
    open_with("nvml_v2", data);
    free(data);
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    assert_int_equal(machine.snapshot.share_count, COUNT + 1);
    assert_true(share(100, GT_GPU_RAM) == 123);
    assert_true(share(999 + COUNT, GT_GPU_RAM) == 999 + COUNT);
}

TEST_WITH(utilization_of_processes, setup_on_host, gpu_machine_teardown)
{
    open_with("nvml", BOARD "process 0 100 1000000\nprocess 0 200 1000000\n"
                            "used 100 1700000000900000 40 10 1 2\n"
                            "used 200 1700000000800000 20 5 0 0\nused 200 1700000000700000 99 99 0 0\n"
                            "frame\ndevice 0\nused -\n"
                            "frame\ndevice 0\nused 200 1700000002900000 30 3 0 0\n");
    gpu_machine_collect(&machine, 1);
    assert_true(share(100, GT_GPU_UTILIZATION) == 0.40);
    assert_true(share(100, GT_GPU_MEMORY_UTILIZATION) == 0.10);
    assert_true(share(100, GT_GPU_ENCODER) == 0.01);
    assert_true(share(100, GT_GPU_DECODER) == 0.02);
    assert_true(share(200, GT_GPU_UTILIZATION) == 0.20);
    gpu_machine_step(&machine, "nvml", 1);
    gpu_machine_collect(&machine, 0.5); /* NOT_FOUND: no new sample yet */
    assert_true(share(100, GT_GPU_UTILIZATION) == 0.40);
    gpu_machine_step(&machine, "nvml", 2);
    gpu_machine_collect(&machine, 1.5); /* still no row of 100: it is idle */
    assert_true(share(100, GT_GPU_UTILIZATION) == 0);
    assert_true(share(200, GT_GPU_UTILIZATION) == 0.30);
}

TEST_WITH(rows_that_make_no_sense_are_left_out, setup_on_host, gpu_machine_teardown)
{
    open_with("nvml_v3", BOARD "used_always 1\nprocess 0 100 1000000\nprocess 0 200 1000000\nprocess 0 300 1000000\n"
                               "used 100 1700000000900000 4294967295 0 0 0\n" /* above 100 */
                               "used 200 1600000000000000 50 0 0 0\n"         /* long ago */
                               "used 300 1900000000000000 50 0 0 0\n"         /* to come */
                               "used 999 1700000000900000 77 0 0 0\n"         /* not in the list */
                               "used 300 1700000000900000 12 0 0 0\n"
                               "frame\ndevice 0\nused 200 1700000000800000 66 0 0 0\n"); /* older than the last seen */
    gpu_machine_collect(&machine, 1);
    assert_true(share(100, GT_GPU_UTILIZATION) == 0);
    assert_true(share(200, GT_GPU_UTILIZATION) == 0);
    assert_true(share(300, GT_GPU_UTILIZATION) == 0.12);
    gpu_machine_step(&machine, "nvml_v3", 1);
    gpu_machine_collect(&machine, 0.1);
    assert_true(share(200, GT_GPU_UTILIZATION) == 0);
}

TEST_WITH(processes_come_and_go, setup_on_host, gpu_machine_teardown)
{
    open_with("nvml", BOARD "process 0 100 1000000\nframe\ndevice 0\nprocess 0 200 2000000\n"
                            "frame\ndevice 0\nprocess -\n");
    gpu_machine_collect(&machine, 1);
    assert_true(share(100, GT_GPU_RAM) == 1e6);
    gpu_machine_step(&machine, "nvml", 1);
    gpu_machine_collect(&machine, 1);
    assert_int_equal(machine.snapshot.share_count, 1);
    assert_true(share(200, GT_GPU_RAM) == 2e6);
    gpu_machine_step(&machine, "nvml", 2);
    gpu_machine_collect(&machine, 1);
    assert_int_equal(machine.snapshot.share_count, 0);
}

/* ---- the driver's high-water marks ---- */

static double bound_of(pid_t pid)
{
    for (size_t i = 0; i < machine.snapshot.hwm_count; i++)
        if (machine.snapshot.hwm[i].pid == pid)
            return machine.snapshot.hwm[i].bound;
    return NAN;
}

static double hwm_of(pid_t pid)
{
    for (size_t i = 0; i < machine.snapshot.hwm_count; i++)
        if (machine.snapshot.hwm[i].pid == pid)
            return machine.snapshot.hwm[i].bytes;
    return NAN;
}

static void expect_marks(double a, double b, double c)
{
    const double expected[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        double found = hwm_of(100 * (i + 1));
        if (!(found == expected[i] || (isnan(found) && isnan(expected[i]))))
            fail_msg("process %d: %g instead of %g", 100 * (i + 1), found, expected[i]);
    }
}

static enum gt_source_state accounting_state(void)
{
    struct gt_availability found;
    gt_nvml_survey_hwms(machine.state, &found);
    assert_true(found.state != GT_DENIED || strstr(found.remedy, "nvidia-smi -am 1"));
    return found.state;
}

#define ACCOUNTS                                                                                                           \
    "process 0 100 1000\nprocess 0 200 2000\naccount 100 5000 99999999999999999 1\naccount 200 2500 99999999999999999 1\n" \
    "account 400 9000 1 1\naccount 300 18446744073709551615 1 1\nprocess 0 300 10\nprocess 0 400 10\n"

TEST_WITH(marks_need_the_driver_accounts, setup_on_host, gpu_machine_teardown)
{
    open_with("nvml", BOARD "accounting 0\n" ACCOUNTS);
    gpu_machine_collect(&machine, 1);
    expect_marks(NAN, NAN, NAN);
    assert_int_equal(accounting_state(), GT_DENIED);
}

TEST_WITH(old_drivers_have_no_marks, setup_on_host, gpu_machine_teardown)
{
    open_with("nvml_minimal", BOARD ACCOUNTS);
    gpu_machine_collect(&machine, 1);
    expect_marks(NAN, NAN, NAN);
    assert_int_equal(accounting_state(), GT_ABSENT);
}

/* All ones is not available, and the accounts of others are not read. */
TEST_WITH(marks_of_the_job, setup_on_host, gpu_machine_teardown)
{
    open_with("nvml", BOARD "accounting 1\n" ACCOUNTS);
    assert_int_equal(accounting_state(), GT_READY);
    gpu_machine_collect(&machine, 1);
    expect_marks(5000, 2500, NAN);
    assert_true(isnan(hwm_of(400)));
    assert_true(share(100, GT_GPU_RAM) == 1000);
}

/* Its last mark comes after its end, once; an account of another process that had the number is none of it. */
TEST_WITH(marks_of_processes_that_ended, setup_on_host, gpu_machine_teardown)
{
    open_with("nvml", BOARD "accounting 1\nprocess 0 100 1000\naccount 100 5000 1 1\naccount 200 7000 3 0\n"
                            "frame\ndevice 0\naccount 100 8000 1 0\naccount 200 9000 3 0\n"
                            "frame\ndevice 0\naccount 100 9000 5 0\n");
    gpu_machine_collect(&machine, 1);
    expect_marks(NAN, NAN, NAN); /* it may be of the time before */
    assert_true(bound_of(100) == 5000);
    gpu_machine_step(&machine, "nvml", 1);
    machine.snapshot.process_count = 0;
    gpu_machine_collect(&machine, 0.001);
    expect_marks(8000, NAN, NAN);
    gpu_machine_collect(&machine, 1);
    expect_marks(NAN, NAN, NAN);
}

/* A process that no list has had: it is believed where it began to use the GPU after it was met. */
TEST_WITH(marks_of_processes_between_two_lists, setup_on_host, gpu_machine_teardown)
{
    open_with("nvml", BOARD "accounting 1\naccount 100 9000 5 0\n"
                            "frame\ndevice 0\naccount 100 4000 99999999999999999 0\naccount 200 6000 5 0\n");
    gpu_machine_collect(&machine, 1);
    expect_marks(NAN, NAN, NAN);
    gpu_machine_step(&machine, "nvml", 1);
    machine.snapshot.is_last = true;
    gpu_machine_collect(&machine, 0.001);
    expect_marks(4000, NAN, NAN);
}

TEST_WITH(slices_have_no_marks, setup_on_host, gpu_machine_teardown)
{
    open_with("nvml", BOARD "accounting 1\nmig 1\n" ACCOUNTS "device 0.0\nuuid MIG-a\ninstance 1 0\nmemory 10 0 1\n");
    gpu_machine_collect(&machine, 1);
    expect_marks(NAN, NAN, NAN);
    assert_int_equal(accounting_state(), GT_ABSENT);
}
