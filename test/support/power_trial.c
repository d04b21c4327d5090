#include "support/power_trial.h"

#include "aggregate/attribute.h"
#include "support/test.h"

const char *const trial_shape_names[TRIAL_SHAPES] = {"constant",  "step up",   "step down", "ramp",
                                                     "slow wave", "fast wave", "square 1",  "square 7 Hz",
                                                     "bursts",    "spikes",    "sawtooth",  "fading"};
const char *const trial_load_names[TRIAL_LOADS] = {"saturated", "one core", "beside others", "in bursts",
                                                   "others come and go"};

static const double TICK = 0.01, CPU_REFRESH = 0.001, GPU_REFRESH = 0.1;
enum { JOB_PID = 10 };

double trial_random(struct trial *trial)
{
    unsigned x = trial->setting.seed;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    trial->setting.seed = x;
    return x / 4294967296.0;
}

/* ---- power and load ---- */

/* A part from 0 to 1 of what a device draws more than while idle; `phase` differs between trials. */
static double shape_at(int shape, double t, double phase)
{
    double turn = t + phase;
    switch (shape) {
    case 0: return 0.6;
    case 1: return t < 3 + phase ? 0.15 : 0.9;
    case 2: return t < 8 - phase ? 0.9 : 0.15;
    case 3: return 0.1 + 0.9 * t * 1000 / TRIAL_MS;
    case 4: return 0.5 + 0.4 * sin(2 * M_PI * turn / 4);
    case 5: return 0.5 + 0.4 * sin(2 * M_PI * turn * 5);
    case 6: return fmod(turn, 1) < 0.5 ? 0.9 : 0.2;
    case 7: return fmod(turn * 7, 1) < 0.5 ? 0.9 : 0.2;
    case 8: return sin(turn * 1.7) + sin(turn * 4.3 + 1) > 0.5 ? 0.95 : 0.25;
    case 9: return fmod(turn, 0.73) < 0.02 ? 1 : 0.3;
    case 10: return fmod(turn / 2.3, 1);
    default: return 0.1 + 0.9 * exp(-t / 3);
    }
}

/* How many cores the job and others use; each thread of the job is as its first. */
static void load_at(int load, double t, double phase, int *ret_job, int *ret_others)
{
    double turn = t + phase;
    *ret_job = load == 0 ? TRIAL_CORES : load == 1 ? 1 : load == 2 ? 2 : load == 3 ? 4 : 3;
    *ret_others = load == 2 || load == 3 ? 3 : 0;
    if (load == 3 && fmod(turn * 1.9 + 0.3 * sin(turn * 5), 1) > 0.6)
        *ret_job = 0;
    if (load == 4)
        *ret_others = fmod(turn, 1.7) < 0.8 ? 4 : 0;
}

/* Each tick finds a core busy or not: those of the cores that are in use then. */
static void live(struct trial *trial)
{
    double phase = trial_random(trial), tick = 0.0;
    int next_tick = 1 + (int)(trial_random(trial) * 9);
    for (int ms = 0; ms < TRIAL_MS; ms++) {
        int job, others;
        double t = (ms + 0.5) / 1000, part = shape_at(trial->setting.shape, t, phase);
        load_at(trial->setting.load, t, phase, &job, &others);
        int busy = job + others;
        double joules = (20 + (busy ? 8 * busy + 70 * part : 0)) / 1000, each = busy ? joules / busy : 0;
        if (ms == next_tick) {
            tick += busy * TICK;
            next_tick += 10;
        }
        trial->ticks[ms + 1] = tick;
        trial->cpu[ms + 1] = trial->cpu[ms] + joules;
        trial->cpu_job[ms + 1] = trial->cpu_job[ms] + each * job;
        trial->cpu_thread[ms + 1] = trial->cpu_thread[ms] + (job ? each : 0);
        trial->gpu[ms + 1] = trial->gpu[ms] + (60 + 340 * part) / 1000;
        trial->job_seconds[ms + 1] = trial->job_seconds[ms] + job / 1000.0;
        trial->thread_seconds[ms + 1] = trial->thread_seconds[ms] + (job ? 0.001 : 0);
    }
}

double trial_at(const double sum[TRIAL_MS + 1], double seconds)
{
    double ms = fmin(fmax(seconds * 1000, 0), TRIAL_MS);
    int whole = ms >= TRIAL_MS ? TRIAL_MS - 1 : (int)ms;
    return sum[whole] + (ms - whole) * (sum[whole + 1] - sum[whole]);
}

/* ---- readings ---- */

struct reader {
    struct gt_attribution attribution;
    struct gt_snapshot snapshot;
    struct gt_device device;
    struct gt_share share;
    struct gt_process process, *processes[1];
    struct gt_tree tree;
    double cpu_phase, gpu_phase;
};

static const int64_t START = 1000 * GT_SECOND;

/* As a counter shows it that is renewed now and then. */
static double shown(const double sum[TRIAL_MS + 1], double t, double refresh, double phase)
{
    return trial_at(sum, floor((t + phase) / refresh) * refresh - phase);
}

static void take_sample(struct trial *trial, struct reader *reader, double t)
{
    static double first_cpu, first_gpu, first_ticks, first_job;
    double late = 0.0002 + 0.002 * trial_random(trial), later = late + 0.0005 * trial_random(trial);
    double cpu = shown(trial->cpu, t, CPU_REFRESH, reader->cpu_phase);
    double gpu = shown(trial->gpu, t, GPU_REFRESH, reader->gpu_phase);
    double ticks = trial_at(trial->ticks, t + late), job = trial_at(trial->job_seconds, t + later);
    if (t == 0) {
        first_cpu = cpu;
        first_gpu = gpu;
        first_ticks = ticks;
        first_job = job;
    }
    int64_t now = START + (int64_t)llround(t * 1e9) + 1;
    struct gt_snapshot *snapshot = &reader->snapshot;
    gt_energy_reading_clear(&trial->reading);
    gt_values_clear(snapshot->system);
    snapshot->monotonic_ns = now;
    snapshot->read_seconds = later;
    snapshot->system[GT_CPU_ENERGY] = cpu - first_cpu;
    reader->device.value[GT_GPU_ENERGY] = gpu - first_gpu;
    gt_attribution_cover(&reader->attribution, snapshot);
    gt_attribute_cpu(&reader->attribution, cpu - first_cpu,
                     (struct gt_cpu_use){.at_ns = now,
                                         .busy = floor((ticks - first_ticks) / TICK + 0.5) * TICK,
                                         .job = job - first_job,
                                         .late = later});
    assert_int_equal(gt_attribute_gpus(&reader->attribution, snapshot, &reader->tree), 0);
    trial->reading.cpu_time = job - first_job;
    gt_attribution_read(&reader->attribution, &trial->reading);
    assert_int_equal(gt_energy_curve_add(&trial->curve, t, &trial->reading), 0);
}

static void begin(struct trial *trial, struct reader *reader)
{
    static const double refresh[GT_ENERGY_DEVICES] = {[GT_ENERGY_CPU] = CPU_REFRESH, [GT_ENERGY_GPU] = GPU_REFRESH};
    trial->machine = (struct gt_machine){
        .core_count = TRIAL_CORES,
        .energy_source = {[GT_ENERGY_CPU] = {"RAPL", CPU_REFRESH}, [GT_ENERGY_GPU] = {"NVML", GPU_REFRESH}}};
    *reader = (struct reader){.cpu_phase = CPU_REFRESH * trial_random(trial),
                              .gpu_phase = GPU_REFRESH * trial_random(trial)};
    gt_attribution_init(&reader->attribution, GT_IDLE_SHARE, TRIAL_CORES, START);
    gt_attribution_refresh(&reader->attribution, refresh);
    gt_values_clear(reader->device.value);
    gt_values_clear(reader->share.value);
    reader->device.parent = -1;
    reader->device.selected = true;
    reader->share.pid = JOB_PID;
    reader->process.pid = JOB_PID;
    reader->processes[0] = &reader->process;
    reader->snapshot.device = &reader->device;
    reader->snapshot.device_count = 1;
    reader->snapshot.share = &reader->share;
    reader->snapshot.share_count = 1;
    reader->tree = (struct gt_tree){.process = reader->processes, .count = 1};
    assert_int_equal(gt_map_put(&reader->tree.places, JOB_PID, 0), 0);
    gt_energy_curve_init(&trial->curve, &trial->machine);
}

void trial_run(struct trial *trial, struct trial_setting setting)
{
    static struct reader reader;
    double end = TRIAL_MS / 1000.0 - 0.05;
    *trial = (struct trial){.setting = setting};
    live(trial);
    begin(trial, &reader);
    take_sample(trial, &reader, 0);
    for (double t = setting.period; t < end; t += setting.period)
        take_sample(trial, &reader, fmin(end, t + 0.05 * setting.period * trial_random(trial)));
    take_sample(trial, &reader, trial->seconds = end + 0.001);
    for (int device = 0; device < GT_ENERGY_DEVICES; device++)
        gt_attribution_show_counter(&reader.attribution, device, &trial->counter[device]);
    gt_attribution_release(&reader.attribution);
    gt_map_release(&reader.tree.places);
    assert_int_equal(gt_energy_curve_finish(&trial->curve), 0);
}

void trial_end(struct trial *trial)
{
    gt_energy_curve_release(&trial->curve);
}
