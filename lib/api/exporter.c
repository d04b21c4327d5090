/* The exporter samples the machine and the jobs it follows, and writes each sample as the text of a scrape. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/combine.h"
#include "aggregate/energy_curve.h"
#include "aggregate/job_groups.h"
#include "api/tracker.h"
#include "base/os/clock.h"
#include "base/grow.h"
#include "collect/cgroup/control_group.h"
#include "collect/host/host.h"
#include "report/exposition.h"

/* A job may use so much; NaN: no limit is known. */
struct limits {
    double ram, cores;
};

/* A process that is followed with its descendants. */
struct gt_exporter_job {
    pid_t pid;
    struct gt_identity identity;
    char user[64];
    struct gt_tracker *tracker;
    int64_t ended_ns; /* 0: it lives */
    struct limits limits;
    double value[GT_METRIC_COUNT];
    double (*gpu)[GT_METRIC_COUNT]; /* of each device of its tracker */
    size_t gpu_capacity;
};

struct gt_exporter {
    struct gt_exporter_options options; /* its pointers are not kept */
    bool has_crowd;
    char host[128];
    struct gt_sampler sampler; /* of the machine */
    struct gt_combiner combiner;
    struct gt_all_processes processes;
    struct gt_job_groups groups;
    struct gt_sample sample; /* the latest */
    double system[GT_METRIC_COUNT];
    struct gt_exporter_job *job;
    size_t job_count;

    int64_t sampled_ns, period_ns;
    double sample_seconds;
    uint64_t samples;
    struct gt_energy_curve energy;           /* of the processors and all jobs together, since the last sample */
    double job_joules, cpu_watts, job_watts; /* for AIPowerMeter's gauges */

    struct gt_exposition_row *row;
    size_t row_count, row_capacity;
    struct gt_buffer text[GT_EXPOSITION_COUNT];
};

struct label {
    const char *name, *value;
};

static int add(struct gt_exporter *exporter, enum gt_scope scope, const double *value, const struct label *label,
               size_t count)
{
    struct gt_buffer text = {0};
    gt_buffer_text(&text, "");
    gt_exposition_label(&text, "host", exporter->host);
    for (size_t i = 0; i < count; i++)
        gt_exposition_label(&text, label[i].name, label[i].value);
    struct gt_exposition_row *row = text.failed ? NULL : GT_GROW(exporter, row);
    if (!row) {
        gt_buffer_release(&text);
        return -ENOMEM;
    }
    *row = (struct gt_exposition_row){.scope = scope, .value = value, .labels = text.data};
    return 0;
}

static void drop_rows(struct gt_exporter *exporter)
{
    for (size_t i = 0; i < exporter->row_count; i++)
        free((char *)exporter->row[i].labels);
    exporter->row_count = 0;
}

static void tell(struct gt_exporter *exporter, enum gt_capacity_id capacity, double value)
{
    exporter->row[exporter->row_count - 1].capacity[capacity] = value;
}

static bool has_any(const double *value)
{
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        if (!isnan(value[id]))
            return true;
    return false;
}

enum { JOB_LABELS = 4 };

/* A job's own figures, and those on each GPU that it uses. */
static int add_job(struct gt_exporter *exporter, const double *value, double (*gpu)[GT_METRIC_COUNT],
                   const struct gt_snapshot *snapshot, const struct limits *limits,
                   const struct label of_job[JOB_LABELS])
{
    struct label label[JOB_LABELS + 2];
    memcpy(label, of_job, JOB_LABELS * sizeof *label);
    int status = add(exporter, GT_SCOPE_COMBINED, value, label, JOB_LABELS);
    if (status >= 0) {
        tell(exporter, GT_CAPACITY_RAM_LIMIT, limits->ram);
        tell(exporter, GT_CAPACITY_CORE_LIMIT, limits->cores);
    }
    for (size_t i = 0; i < snapshot->device_count && status >= 0; i++) {
        const struct gt_device *device = &snapshot->device[i];
        label[JOB_LABELS] = (struct label){"uuid", device->uuid};
        label[JOB_LABELS + 1] = (struct label){"parent",
                                               device->parent < 0 ? "" : snapshot->device[device->parent].uuid};
        if (has_any(gpu[i]))
            status = add(exporter, GT_SCOPE_COMBINED, gpu[i], label, JOB_LABELS + 2);
    }
    return status;
}

static int add_followed(struct gt_exporter *exporter, const struct gt_exporter_job *job)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)job->pid);
    const struct label label[JOB_LABELS] = {
        {"pid", pid}, {"user", job->user}, {"job_id", job->identity.job}, {"command", job->identity.command}};
    return add_job(exporter, job->value, job->gpu, &job->tracker->recorder.sampler.snapshot, &job->limits, label);
}

static int add_group(struct gt_exporter *exporter, const struct gt_job_groups_group *group)
{
    bool is_job = exporter->groups.by_slurm;
    struct label label[JOB_LABELS] = {
        {"user", group->user}, {"job_id", group->job}, {"command", group->command}, {"", ""}};
    if (group->is_other)
        label[is_job ? 1 : 2].value = "other";
    const struct limits limits = {group->ram_limit, group->core_limit};
    return add_job(exporter, group->value, group->gpu, &exporter->sampler.snapshot, &limits, label);
}

static int add_gpus(struct gt_exporter *exporter)
{
    const struct gt_snapshot *snapshot = &exporter->sampler.snapshot;
    int status = 0;
    for (size_t i = GT_FIXED_ROWS; i < exporter->sample.row_count && status >= 0; i++) {
        const struct gt_row *row = &exporter->sample.row[i];
        const struct gt_device *device = &snapshot->device[row->device];
        const char *parent = device->parent < 0 ? "" : snapshot->device[device->parent].uuid;
        const struct label label[] = {{"uuid", device->uuid}, {"parent", parent}};
        status = add(exporter, GT_SCOPE_GPU, row->value, label, sizeof label / sizeof *label);
        if (status >= 0)
            tell(exporter, GT_CAPACITY_GPU_RAM, device->memory);
    }
    return status;
}

/* The rows of the latest sample. -ENOMEM. */
static int exporter_rows(struct gt_exporter *exporter)
{
    drop_rows(exporter);
    int status = add(exporter, GT_SCOPE_SYSTEM, exporter->system, NULL, 0);
    if (status >= 0) {
        tell(exporter, GT_CAPACITY_RAM, gt_capacity_memory(&exporter->sampler.root));
        tell(exporter, GT_CAPACITY_CORES, exporter->combiner.core_count);
        status = add_gpus(exporter);
    }
    for (size_t i = 0; i < exporter->job_count && status >= 0; i++)
        if (exporter->job[i].tracker)
            status = add_followed(exporter, &exporter->job[i]);
    for (size_t i = 0; exporter->has_crowd && i <= exporter->groups.most && status >= 0; i++)
        if (exporter->groups.group[i].is_used)
            status = add_group(exporter, &exporter->groups.group[i]);
    return status;
}

/* The gauges that AIPowerMeter offered to Prometheus, by their names: of what is followed, or of the machine when
 * nothing is. */

/* The sum over all rows of jobs; NaN when none has it. Without jobs what the machine has. */
static double of_jobs(const struct gt_exporter *exporter, enum gt_metric_id metric)
{
    double sum = NAN;
    bool has_jobs = false;
    for (size_t i = 0; i < exporter->row_count; i++) {
        const struct gt_exposition_row *row = &exporter->row[i];
        if (row->scope != GT_SCOPE_COMBINED)
            continue;
        has_jobs = true;
        if (!isnan(row->value[metric]))
            sum = (isnan(sum) ? 0 : sum) + row->value[metric];
    }
    return has_jobs ? sum : exporter->system[metric];
}

/* When the jobs have less than before, one of them is gone: the time up to here is not asked for. */
static int exporter_note_power(struct gt_exporter *exporter)
{
    double now = (double)exporter->sample.monotonic_ns / 1e9, since = exporter->energy.time;
    struct gt_energy_reading reading;
    struct gt_energy_drawn drawn;
    gt_energy_reading_clear(&reading);
    reading.device[GT_ENERGY_CPU].total = exporter->system[GT_CPU_ENERGY];
    reading.device[GT_ENERGY_CPU].job = of_jobs(exporter, GT_CPU_ENERGY);
    if (!exporter->samples || reading.device[GT_ENERGY_CPU].job < exporter->job_joules) {
        gt_energy_curve_release(&exporter->energy);
        gt_energy_curve_follow(&exporter->energy, &(struct gt_machine){0}, now);
    }
    exporter->job_joules = reading.device[GT_ENERGY_CPU].job;
    int status = gt_energy_curve_add(&exporter->energy, now, &reading);
    gt_energy_curve_take(&exporter->energy, &drawn);
    exporter->cpu_watts = drawn.total / (now - since);
    exporter->job_watts = drawn.job / (now - since);
    return status;
}

/* The gauges power_draw_cpu, intel_power, mem_used_cpu, mem_used_gpu and power_draw_gpu, at each sample and in the
 * text. */
static void exporter_write_aipowermeter(const struct gt_exporter *exporter, struct gt_buffer *out,
                                        enum gt_exposition form)
{
    double ram = of_jobs(exporter, GT_RAM);
    const struct {
        const char *name, *help;
        double value;
    } gauges[] = {
        {"power_draw_cpu", "Power of the processors drawn for the followed processes, watts", exporter->job_watts},
        {"intel_power", "Power of all processor packages, watts", exporter->cpu_watts},
        {"mem_used_cpu", "Memory of the followed processes, bytes", isnan(ram) ? of_jobs(exporter, GT_RSS) : ram},
        {"mem_used_gpu", "GPU memory of the followed processes, bytes", of_jobs(exporter, GT_GPU_RAM)},
        {"power_draw_gpu", "Power of all GPUs, watts", exporter->system[GT_GPU_POWER]},
    };
    for (size_t i = 0; i < sizeof gauges / sizeof *gauges; i++) {
        if (isnan(gauges[i].value))
            continue;
        gt_exposition_family(out, form, gauges[i].name, "gauge", NULL, gauges[i].help);
        gt_exposition_sample(out, gauges[i].name, "gauge", "", gauges[i].value);
    }
}

enum { DEFAULT_MOST = 100, GREATEST_MOST = 10000 };

static int64_t now_of(const struct gt_exporter *exporter)
{
    return gt_clock_monotonic(&exporter->sampler.clock);
}

static int check(struct gt_exporter_options *options, struct gt_error *error)
{
    if ((options->pid_count > 0) + (options->all_processes != 0) + (options->slurm != 0) > 1)
        return gt_error_set(error, EINVAL, "single processes, all processes and Slurm's jobs exclude each other");
    if (options->most < 0 || options->most > GREATEST_MOST)
        return gt_error_set(error, EINVAL,
                            "%d is too many or too few jobs with figures of their own (max-jobs): from 1 to %d",
                            options->most, GREATEST_MOST);
    if (options->sleep_time != 0 && !(options->sleep_time >= 0.001))
        return gt_error_set(error, EINVAL, "sleep_time %g: at least 0.001 seconds", options->sleep_time);
    options->most = options->most ? options->most : DEFAULT_MOST;
    options->sleep_time = options->sleep_time != 0 ? options->sleep_time : 1;
    return 0;
}

static void read_host(struct gt_exporter *exporter)
{
    char text[sizeof exporter->host];
    const struct gt_root *root = &exporter->sampler.root;
    if (root->is_machine)
        gethostname(exporter->host, sizeof exporter->host - 1);
    else if (gt_root_read(root, "proc/sys/kernel/hostname", text, sizeof text) > 0)
        snprintf(exporter->host, sizeof exporter->host, "%.*s", (int)strcspn(text, "\n"), text);
}

/* ---- Jobs that were named ---------------------------------------------------------------------------------------- */

static void find_limits(struct gt_exporter *exporter, struct gt_exporter_job *job)
{
    const struct gt_root *root = &exporter->sampler.root;
    struct gt_limit limit;
    struct gt_control_group watched[GT_CONTROLLERS];
    gt_control_groups_find(root, job->pid, watched);
    gt_limit_memory(&limit, root, watched);
    job->limits.ram = limit.value;
    gt_limit_cores(&limit, root, watched, job->pid, exporter->combiner.core_count);
    job->limits.cores = limit.value;
}

static int open_job(struct gt_exporter *exporter, struct gt_exporter_job *job, pid_t pid, struct gt_error *error)
{
    const struct gt_exporter_options *from = &exporter->options;
    struct gt_tracker_options options = GT_INIT(struct gt_tracker_options);
    options.sleep_time = from->sleep_time;
    options.gpu_brand = from->gpu_brand;
    options.memory = from->memory;
    options.idle = from->idle;
    options.machine_root = from->machine_root;
    options.libraries = from->libraries;
    job->pid = pid;
    int status = gt_tracker_open(&job->tracker, pid, &options, error);
    if (status < 0)
        return status;
    gt_identity_read(&exporter->sampler.root, pid, &job->identity);
    find_limits(exporter, job);
    gt_user_name(&exporter->sampler.root, job->identity.uid, job->user, sizeof job->user);
    return 0;
}

static int open_jobs(struct gt_exporter *exporter, struct gt_error *error)
{
    size_t count = exporter->options.pid_count;
    exporter->job = calloc(count ? count : 1, sizeof *exporter->job);
    if (!exporter->job)
        return gt_error_system(error, ENOMEM, "exporter");
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++)
            if (exporter->options.pids[k] == exporter->options.pids[i])
                return gt_error_set(error, EINVAL, "process %d is named twice", (int)exporter->options.pids[i]);
        exporter->job_count++;
        int status = open_job(exporter, &exporter->job[i], exporter->options.pids[i], error);
        if (status < 0)
            return status;
    }
    return 0;
}

static void close_job(struct gt_exporter_job *job)
{
    gt_tracker_close(job->tracker);
    free(job->gpu);
    job->tracker = NULL;
    job->gpu = NULL;
}

/* A sum over GPUs and its parts must not stand beside each other: only the parts are shown. */
static int divide_by_gpu(struct gt_exporter_job *job)
{
    const struct gt_sampler *sampler = &job->tracker->recorder.sampler;
    if (GT_GROW_TO(job->gpu, job->gpu_capacity, sampler->snapshot.device_count) < 0)
        return -ENOMEM;
    job->value[GT_GPU_RAM] = job->value[GT_GPU_UTILIZATION] = NAN;
    for (size_t i = 0; i < sampler->snapshot.device_count; i++)
        gt_values_clear(job->gpu[i]);
    for (size_t i = 0; i < sampler->snapshot.share_count; i++) {
        const struct gt_share *share = &sampler->snapshot.share[i];
        if (job->ended_ns || !gt_tree_find(&sampler->tree, share->pid))
            continue;
        for (int id = 0; id < GT_METRIC_COUNT; id++) {
            double *sum = &job->gpu[share->device][id];
            if (gt_metric_has(id, GT_SCOPE_COMBINED) && gt_metrics[id].combine == GT_SUM && !isnan(share->value[id]))
                *sum = (isnan(*sum) ? 0 : *sum) + share->value[id];
        }
    }
    return 0;
}

/* The counters and peaks of a job that has ended are shown for a while, so that the last ones are seen. */
static int sample_job(struct gt_exporter_job *job, int64_t now_ns, struct gt_error *error)
{
    if (!job->tracker || (job->ended_ns && now_ns - job->ended_ns <= GT_JOB_GROUPS_KEPT_NS))
        return 0;
    if (job->ended_ns) {
        close_job(job);
        return 0;
    }
    int status = gt_tracker_sample(job->tracker, error);
    if (status == 0) {
        job->ended_ns = now_ns;
        status = gt_tracker_finish(job->tracker, error);
    }
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        job->value[id] = job->ended_ns && gt_metrics[id].kind == GT_GAUGE
                             ? NAN
                             : gt_tracker_value(job->tracker, GT_SCOPE_COMBINED, id);
    return divide_by_gpu(job) < 0 ? gt_error_system(error, ENOMEM, "exporter") : status;
}

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

static void warn_of_sources(const struct gt_exporter *exporter)
{
    char sentence[600];
    for (size_t i = 0; exporter->options.warn && i < exporter->sampler.source_count; i++)
        if (gt_sampler_complaint(&exporter->sampler, i, sentence, sizeof sentence))
            exporter->options.warn(exporter->options.context, sentence);
}

static int open_machine(struct gt_exporter *exporter, struct gt_error *error)
{
    const struct gt_exporter_options *options = &exporter->options;
    struct gt_sampler_options sampler = {
        .machine_root = options->machine_root,
        .gpu_brand = options->gpu_brand,
        .libraries = options->libraries,
        .period = options->sleep_time,
    };
    int status = gt_collect_library_check(options->libraries, error);
    if (status >= 0)
        status = gt_sampler_open_machine(&exporter->sampler, &sampler, error);
    if (status < 0)
        return status;
    int cores = gt_capacity_cores(&exporter->sampler.root);
    int idle = options->idle ? gt_idle_policy_find(options->idle) : GT_IDLE_SHARE;
    if (idle < 0)
        return gt_error_set(error, EINVAL, "idle \"%s\": share, exclude or all", options->idle);
    gt_combine_init(&exporter->combiner, &(struct gt_combine_options){
                                             .core_count = cores > 0 ? cores : (int)sysconf(_SC_NPROCESSORS_ONLN),
                                             .period = options->sleep_time,
                                             .idle = (enum gt_idle_policy)idle,
                                             .start_ns = now_of(exporter),
                                         });
    exporter->has_crowd = options->all_processes || options->slurm;
    if (exporter->has_crowd &&
        gt_job_groups_init(&exporter->groups, options->slurm, (size_t)options->most, exporter->combiner.core_count,
                           exporter->sampler.snapshot.device_count) < 0)
        return gt_error_system(error, ENOMEM, "exporter");
    read_host(exporter);
    return 0;
}

/* Energy of the machine is divided between a job and the rest; here there are many jobs, or none. */
static void drop_parts(double system[GT_METRIC_COUNT])
{
    static const enum gt_metric_id parts[] = {
        GT_CPU_ENERGY_OTHER, GT_CPU_ENERGY_IDLE,   GT_CPU_ENERGY_UNATTRIBUTED, GT_GPU_ENERGY_OTHER,
        GT_GPU_ENERGY_IDLE,  GT_DRAM_ENERGY_OTHER, GT_GPU_ENERGY_UNATTRIBUTED, GT_DRAM_ENERGY_UNATTRIBUTED,
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        system[parts[i]] = NAN;
}

static int sample_machine(struct gt_exporter *exporter, struct gt_error *error)
{
    struct gt_sampler *sampler = &exporter->sampler;
    int status = gt_sampler_read_machine(sampler, exporter->has_crowd ? &exporter->processes : NULL, error);
    if (status < 0)
        return status;
    sampler->trouble = (struct gt_error){0}; /* what could not be read is missing from the text */
    if (exporter->has_crowd)
        status = gt_job_groups_count(&exporter->groups, sampler);
    gt_sampler_settle_machine(sampler);
    if (status >= 0)
        status = gt_combine(&exporter->combiner, sampler, &exporter->sample);
    if (status < 0)
        return gt_error_system(error, -status, "sample");
    if (exporter->has_crowd)
        gt_job_groups_show(&exporter->groups, sampler, &exporter->combiner.attribution);
    memcpy(exporter->system, exporter->sample.row[GT_SCOPE_SYSTEM].value, sizeof exporter->system);
    if (!exporter->options.all_processes)
        drop_parts(exporter->system);
    return 0;
}

static int sample(struct gt_exporter *exporter, struct gt_error *error)
{
    int64_t began = now_of(exporter);
    int status = sample_machine(exporter, error);
    for (size_t i = 0; i < exporter->job_count && status >= 0; i++)
        status = sample_job(&exporter->job[i], began, error);
    if (status >= 0)
        status = exporter_rows(exporter) < 0 ? gt_error_system(error, ENOMEM, "exporter") : 0;
    if (status >= 0 && exporter_note_power(exporter) < 0)
        status = gt_error_system(error, ENOMEM, "exporter");
    if (status < 0)
        return status;
    exporter->sampled_ns = began;
    exporter->samples++;
    exporter->sample_seconds = (double)(now_of(exporter) - began) / 1e9;
    for (int form = 0; form < GT_EXPOSITION_COUNT; form++)
        gt_buffer_clear(&exporter->text[form]);
    return 0;
}

void gt_exporter_close(struct gt_exporter *exporter)
{
    if (!exporter)
        return;
    for (size_t i = 0; i < exporter->job_count; i++)
        close_job(&exporter->job[i]);
    free(exporter->job);
    gt_job_groups_release(&exporter->groups);
    gt_all_processes_release(&exporter->processes);
    gt_combine_release(&exporter->combiner);
    gt_energy_curve_release(&exporter->energy);
    gt_sampler_close(&exporter->sampler);
    drop_rows(exporter);
    free(exporter->row);
    for (int form = 0; form < GT_EXPOSITION_COUNT; form++)
        gt_buffer_release(&exporter->text[form]);
    free(exporter);
}

int gt_exporter_open(struct gt_exporter **ret, const struct gt_exporter_options *options, struct gt_error *error)
{
    struct gt_exporter *exporter = calloc(1, sizeof *exporter);
    if (!exporter)
        return gt_error_system(error, ENOMEM, "exporter");
    gt_own(&exporter->options, sizeof exporter->options, options);
    exporter->sampler.root.fd = -1;
    int status = check(&exporter->options, error);
    if (status >= 0)
        status = open_machine(exporter, error);
    if (status >= 0)
        status = open_jobs(exporter, error);
    if (status >= 0) {
        exporter->period_ns = (int64_t)(exporter->options.sleep_time * 1e9);
        warn_of_sources(exporter);
        status = sample(exporter, error);
    }
    if (status < 0) {
        gt_exporter_close(exporter);
        return status;
    }
    *ret = exporter;
    return 0;
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

static void write_gpu_names(const struct gt_exporter *exporter, struct gt_buffer *out, enum gt_exposition form)
{
    static const char name[] = "gpu_tracker_gpu";
    const struct gt_snapshot *snapshot = &exporter->sampler.snapshot;
    for (size_t i = 0; i < snapshot->device_count; i++) {
        const struct gt_device *device = &snapshot->device[i];
        struct gt_buffer labels = {0};
        gt_exposition_label(&labels, "host", exporter->host);
        gt_exposition_label(&labels, "uuid", device->uuid);
        gt_exposition_label(&labels, "parent", device->parent < 0 ? "" : snapshot->device[device->parent].uuid);
        gt_exposition_label(&labels, "name", device->name);
        gt_exposition_label(&labels, "brand", device->brand);
        gt_exposition_label(&labels, "pci", device->pci);
        if (i == 0)
            gt_exposition_family(out, form, name, "info", NULL, "What a GPU is; parent is the board of a slice");
        if (!labels.failed)
            gt_exposition_sample(out, name, "info", labels.data, 1);
        gt_buffer_release(&labels);
    }
}

static void write_self(const struct gt_exporter *exporter, struct gt_buffer *out, enum gt_exposition form)
{
    struct gt_buffer labels = {0};
    const struct {
        const char *name, *type, *unit, *help;
        double value;
    } own[] = {
        {"gpu_tracker_exporter_samples", "counter", NULL, "Samples taken for scrapes", (double)exporter->samples},
        {"gpu_tracker_exporter_sample_seconds", "gauge", "seconds", "Time that the latest sample took",
         exporter->sample_seconds},
        {"gpu_tracker_exporter_cpu_time_seconds", "counter", "seconds", "CPU time the exporter has used",
         (double)gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9},
    };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        gt_exposition_family(out, form, own[i].name, own[i].type, own[i].unit, own[i].help);
        gt_exposition_sample(out, own[i].name, own[i].type, "", own[i].value);
    }
    gt_exposition_label(&labels, "version", gt_version());
    gt_exposition_family(out, form, "gpu_tracker_build", "info", NULL, "The program that gives these figures");
    gt_exposition_sample(out, "gpu_tracker_build", "info", labels.data ? labels.data : "", 1);
    gt_buffer_release(&labels);
}

int gt_exporter_text(struct gt_exporter *exporter, enum gt_exposition form, const char **ret, size_t *length,
                     struct gt_error *error)
{
    if ((unsigned)form >= GT_EXPOSITION_COUNT)
        return gt_error_set(error, EINVAL, "form %d: there is none of that number", (int)form);
    int status = now_of(exporter) - exporter->sampled_ns >= exporter->period_ns ? sample(exporter, error) : 0;
    if (status < 0)
        return status;
    struct gt_buffer *out = &exporter->text[form];
    bool is_new = !out->length;
    if (is_new) {
        gt_exposition_metrics(out, form, exporter->row, exporter->row_count);
        write_gpu_names(exporter, out, form);
        if (exporter->options.aipowermeter)
            exporter_write_aipowermeter(exporter, out, form);
        write_self(exporter, out, form);
        gt_exposition_end(out, form);
    }
    if (out->failed)
        return gt_error_system(error, -out->failed, "the text of a scrape");
    *ret = out->data;
    *length = out->length;
    return is_new;
}
