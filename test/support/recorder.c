#include "support/recorder.h"
#include "support/test.h"

#include <fcntl.h>

static void die(const char *what)
{
    perror(what);
    abort();
}

struct gt_machine *recorder_machine(bool has_gpus)
{
    static struct gt_gpu gpus[2] = {
        {.uuid = "GPU-0001",
         .name = "Model \"A\", 80 GB",
         .brand = "nvidia",
         .memory = 85899345920.0,
         .selected = true},
        {.uuid = "GPU-0002", .name = "Model B", .brand = "nvidia", .memory = NAN},
    };
    static struct gt_machine machine;
    machine = (struct gt_machine){
        .ram_unit = "megabytes",
        .gpu_ram_unit = "gigabytes",
        .time_unit = "minutes",
        .ram_capacity = 25274793984.0,
        .core_count = 4,
        .expected_cores = 3,
        .host = "node1",
        .command = "python \"a, b\".py 'it''s'\nsecond line",
        .pid = 4711,
        .period = 0.125,
        .start_real_ns = INT64_C(1700000000123456000),
        .ram_method = "control group of the job",
    };
    if (has_gpus) {
        machine.gpu = gpus;
        machine.gpu_length = 2;
        machine.gpu_count = 2;
        machine.expected_gpus = 1;
        machine.gpu_ram_capacity = 85899345920.0;
    }
    return &machine;
}

double recorder_value(int number, int row, enum gt_scope scope, enum gt_metric_id metric)
{
    if (!gt_metric_has(metric, scope) || (metric == GT_SWAP && number % 3 == 0))
        return NAN;
    switch (gt_metrics[metric].unit) {
    case GT_BYTES: return (double)(INT64_C(123456789) * (row + 1) + INT64_C(4096) * number + metric);
    case GT_RATIO: return (number % 100) / 128.0 + row;
    case GT_SECONDS: return number * 0.001 + row * 1e-9 * metric;
    case GT_WATTS:
    case GT_JOULES: return number * 0.123 + row;
    default: return number % 50 + row + metric;
    }
}

const struct gt_sample *recorder_sample(int number)
{
    static struct gt_row rows[RECORDER_ROWS];
    static struct gt_sample sample;
    sample = (struct gt_sample){
        .real_ns = INT64_C(1700000000123456000) + INT64_C(1000000) * number,
        .monotonic_ns = INT64_C(5000000000) + INT64_C(1000000) * number,
        .row_count = RECORDER_ROWS,
        .row = rows,
    };
    for (int r = 0; r < RECORDER_ROWS; r++) {
        int gpu = r - GT_FIXED_ROWS, process = gpu - 2;
        rows[r] = (struct gt_row){.scope = r, .device = -1};
        if (r >= GT_FIXED_ROWS)
            rows[r].scope = process < 0 ? GT_SCOPE_GPU : GT_SCOPE_PROCESS;
        if (rows[r].scope == GT_SCOPE_GPU)
            rows[r].device = gpu;
        if (rows[r].scope == GT_SCOPE_PROCESS) {
            rows[r].pid = 4711 + process;
            rows[r].parent = 4710;
            rows[r].start = 123456789012u + (unsigned)process;
        }
        for (int metric = 0; metric < GT_METRIC_COUNT; metric++)
            rows[r].value[metric] = recorder_value(number, r, rows[r].scope, metric);
    }
    return &sample;
}

struct gt_outcome recorder_outcome(int samples)
{
    static struct gt_provenance provenance[] = {
        {GT_SCOPE_MAIN, GT_RAM_PEAK, GT_EXACT, "/proc/PID/status VmHWM", "it's \"quoted\""},
        {GT_SCOPE_SYSTEM, GT_GPU_ENERGY, GT_MISSING, "", "no driver"},
    };
    struct gt_outcome outcome = {
        .complete = true,
        .elapsed = 12.3456,
        .exit_status = 137,
        .ending = GT_ENDED_BY_SIGNAL,
        .own_cpu_time = 0.25,
        .slowest_sample = NAN,
        .samples = (uint64_t)samples,
        .missed = 2,
        .provenance_count = 2,
        .provenance = provenance,
    };
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        for (int metric = 0; metric < GT_METRIC_COUNT; metric++)
            outcome.value[scope][metric] = recorder_value(samples + 1000, scope, scope, metric);
    return outcome;
}

void recorder_send(struct gt_store *store, const struct gt_sample *sample)
{
    struct gt_sample_batch batch = {0};
    if (gt_sample_batch_add(&batch, sample) < 0)
        abort();
    gt_store_send(store, &batch);
    free(batch.bytes);
}

void recorder_write(const char *path, int count, bool detail)
{
    struct gt_error error = {0};
    struct gt_store *store;
    struct gt_store_options options = {.path = path, .overwrite = true, .detail = detail};
    struct gt_outcome outcome = recorder_outcome(count);
    int status = gt_store_open(&store, &options, recorder_machine(true), &error);
    for (int i = 0; i < count && status >= 0; i++)
        recorder_send(store, recorder_sample(i));
    if (status < 0 || gt_store_close(store, &outcome, &error) < 0) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
}

void recorder_put(const char *path, const char *text, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, text, length) != (ssize_t)length)
        die(path);
    close(fd);
}
