/* Every metric, where it comes from on this machine, and what would enable the rest. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/program.h"
#include "api/python.h"
#include "api/tracker.h"
#include "blocks/block_injection.h"
#include "base/buffer.h"
#include "collect/energy/rapl.h"
#include "collect/gpu/gpu.h"
#include "collect/gpu/nvml.h"
#include "collect/process/process.h"
#include "collect/collector.h"
#include "report/report.h"
#include "sample/sampler.h"

/* A collector, or one of the sources below that are none. */
struct source {
    const char *name;
    const enum gt_metric_id *metrics; /* of a source that is no collector */
    size_t metric_count;
    const struct gt_collector_type *type; /* NULL: none of the collectors */
    struct gt_availability availability;
};

enum { OTHER_SOURCES = 8 + GT_RAPL_INTERFACES + GT_BLOCK_SOURCES };

struct doctor {
    struct source *source;
    size_t count;
};

static void add_source(struct doctor *doctor, const char *name, const enum gt_metric_id *metrics, size_t metric_count,
                       const struct gt_availability *availability)
{
    doctor->source[doctor->count++] = (struct source){name, metrics, metric_count, NULL, *availability};
}

/* How memory that processes share is counted once. */
static void add_memory(struct doctor *doctor, const struct gt_tracker_options *options)
{
    static const enum gt_metric_id counted[] = {GT_RAM, GT_RAM_PRIVATE, GT_RAM_SHARED};
    struct gt_availability availability = {.state = GT_READY};
    int best = gt_memory_method_find(options ? options->memory : NULL, NULL);
    bool is_group = best == GT_MEMORY_GROUP;
    enum gt_memory_method method = best == GT_MEMORY_RSS ? GT_MEMORY_RSS : GT_MEMORY_FAULTS;
    snprintf(availability.source, sizeof availability.source, "%s%s",
             is_group ? "memory.stat of a job's own control group, else " : "", gt_memory_method_source(method));
    add_source(doctor, "memory", counted, sizeof counted / sizeof *counted, &availability);
}

/* Exact counts of processes and threads, and peaks of processes that ended. */
static void add_events(struct doctor *doctor, const struct gt_sampler *sampler)
{
    static const enum gt_metric_id counted[] = {GT_PROCESSES_STARTED, GT_PROCESSES_PEAK, GT_THREADS_PEAK};
    static const enum gt_metric_id recorded[] = {GT_RAM_PEAK};
    struct gt_job_finder finder;
    if (gt_job_finder_open(&finder, &sampler->root, NULL) < 0)
        return;
    add_source(doctor, "events", counted, sizeof counted / sizeof *counted, &finder.availability[GT_EVENTS_FORKS]);
    add_source(doctor, "exit records", recorded, sizeof recorded / sizeof *recorded,
               &finder.availability[GT_EVENTS_RECORDS]);
    gt_job_finder_close(&finder);
}

/* Each way to the processors' energy counters, and whether two of them agree. */
static void add_rapl(struct doctor *doctor, const struct gt_sampler *sampler)
{
    static const char *const names[GT_RAPL_INTERFACES] = {"rapl: perf", "rapl: powercap"};
    struct gt_availability each[GT_RAPL_INTERFACES], both;
    gt_rapl_survey(&sampler->root, each, &both);
    for (int interface = 0; interface < GT_RAPL_INTERFACES; interface++)
        add_source(doctor, names[interface], NULL, 0, &each[interface]);
    add_source(doctor, "rapl: perf against powercap", NULL, 0, &both);
}

/* Whether blocks of unmodified programs can be recorded. */
static void add_block_sources(struct doctor *doctor)
{
    struct gt_error missing = {0};
    char library[PATH_MAX];
    bool has_library = gt_block_library(library, sizeof library, &missing) == 0;
    for (int i = 0; i < GT_BLOCK_SOURCES; i++) {
        struct gt_availability availability = {0};
        const char *taken = gt_block_source_taken(i, has_library ? library : "");
        snprintf(availability.source, sizeof availability.source, "%s", gt_block_sources[i].variable);
        if (!has_library)
            gt_unavailable(&availability, GT_ABSENT, "", "%s", missing.text);
        else if (taken)
            gt_unavailable(&availability, GT_ABSENT, "", "%s is set already, to another tool", taken);
        add_source(doctor, gt_block_sources[i].row, NULL, 0, &availability);
    }
}

static void gather(struct doctor *doctor, const struct gt_sampler *sampler, const struct gt_tracker_options *options)
{
    struct gt_availability availability;
    for (size_t i = 0; i < sampler->source_count; i++) {
        const struct gt_sampler_source *source = &sampler->source[i];
        add_source(doctor, source->type->name, NULL, 0, &source->availability);
        doctor->source[doctor->count - 1].type = source->type;
        if (source->type == &gt_collector_rapl)
            add_rapl(doctor, sampler);
        if (source->type ==
            &gt_collector_nvml) { /* high-water marks, which an administrator enables; counters of errors */
            gt_nvml_survey_hwms(source->state, &availability);
            add_source(doctor, "nvml: accounting", NULL, 0, &availability);
            gt_nvml_survey_health(source->state, &availability);
            add_source(doctor, "nvml: health", NULL, 0, &availability);
        }
        if (source->type == &gt_collector_amd) {
            gt_amd_survey_health(source->state, &availability);
            add_source(doctor, "amd: health", NULL, 0, &availability);
        }
    }
    add_memory(doctor, options);
    add_events(doctor, sampler);
    if (sampler->root.is_machine) { /* unknown for a stored machine */
        gt_pidfd_survey(&availability);
        add_source(doctor, "kernel: pidfd", NULL, 0, &availability);
    }
    add_block_sources(doctor);
}

/* A figure that several could give comes from the one that claimed it. */
static bool gives(const struct source *source, const struct gt_snapshot *snapshot, enum gt_metric_id id)
{
    if (snapshot->owner[id] && source->type != snapshot->owner[id])
        return false;
    for (size_t i = 0; i < source->metric_count; i++)
        if (source->metrics[i] == id)
            return true;
    return source->type && gt_collector_fills(source->type, id);
}

static bool is_ready_for(const struct source *source, const struct gt_snapshot *snapshot, enum gt_metric_id id)
{
    return source->availability.state == GT_READY && (!source->type || !source->type->claims || snapshot->owner[id]);
}

/* The names of the sources of a metric: the ready ones, or where none is ready all that could be. */
static void add_metric(struct gt_table *table, const struct doctor *doctor, const struct gt_snapshot *snapshot,
                       enum gt_metric_id id)
{
    bool is_ready = false, is_known = false;
    for (size_t i = 0; i < doctor->count; i++)
        if (gives(&doctor->source[i], snapshot, id)) {
            is_known = true;
            is_ready = is_ready || is_ready_for(&doctor->source[i], snapshot, id);
        }
    if (!is_known)
        return;
    char names[256] = "";
    for (size_t i = 0, used = 0; i < doctor->count && used < sizeof names; i++)
        if (gives(&doctor->source[i], snapshot, id) && is_ready == is_ready_for(&doctor->source[i], snapshot, id))
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                     doctor->source[i].name);
    bool is_of_job = id == GT_CGROUP_RAM || id == GT_CGROUP_RAM_PEAK; /* doctor has no job and no group of one */
    gt_table_text(table, gt_metrics[id].name);
    gt_table_text(table, is_ready ? "ready" : is_of_job ? "per job" : "missing");
    gt_table_text(table, names);
}

static void add_metrics(struct gt_node *root, const struct doctor *doctor, const struct gt_snapshot *snapshot)
{
    struct gt_table *table = gt_report_table(root, "metrics", "Metrics");
    gt_table_column(table, "metric", "Metric", GT_CELL_TEXT, "");
    gt_table_column(table, "state", "State", GT_CELL_TEXT, "");
    gt_table_column_flags(table, GT_COLUMN_STATE);
    gt_table_column(table, "sources", "Sources", GT_CELL_TEXT, "");
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        add_metric(table, doctor, snapshot, id);
}

/* ---- in one sentence ---- */

static const struct subject {
    const char *name;
    enum gt_metric_id metric;
} subjects[] = {
    {"memory", GT_RAM},
    {"CPU", GT_CPU_UTILIZATION},
    {"disk", GT_READ_BYTES},
    {"network", GT_NETWORK_NAMESPACE_RECEIVED},
    {"processes between two samples", GT_PROCESSES_STARTED},
    {"GPUs", GT_GPU_RAM}, /* two before their energy */
    {"energy of the CPU", GT_CPU_ENERGY},
    {"energy of the GPUs", GT_GPU_ENERGY},
};

enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static enum gt_source_state state_of(const struct doctor *doctor, const struct gt_snapshot *snapshot,
                                     enum gt_metric_id id)
{
    enum gt_source_state state = GT_ABSENT;
    for (size_t i = 0; i < doctor->count; i++) {
        if (!gives(&doctor->source[i], snapshot, id))
            continue;
        if (is_ready_for(&doctor->source[i], snapshot, id))
            return GT_READY;
        if (doctor->source[i].availability.state == GT_DENIED)
            state = GT_DENIED;
        else if (doctor->source[i].availability.state == GT_BROKEN && state == GT_ABSENT)
            state = GT_BROKEN;
    }
    return state;
}

/* Without GPUs nothing is said of their energy. */
static bool is_subject(const enum gt_source_state *state, size_t number, enum gt_source_state wanted)
{
    bool is_of_nothing = subjects[number].metric == GT_GPU_ENERGY && state[number - 2] == GT_ABSENT;
    return state[number] == wanted && !is_of_nothing;
}

/* "memory, CPU and disk"; how many. */
static size_t list(struct gt_buffer *out, const enum gt_source_state *state, enum gt_source_state wanted)
{
    size_t count = 0, all = 0;
    for (size_t i = 0; i < SUBJECTS; i++)
        all += is_subject(state, i, wanted);
    for (size_t i = 0; i < SUBJECTS; i++)
        if (is_subject(state, i, wanted)) {
            count++;
            gt_buffer_printf(out, "%s%s", count == 1 ? "" : count == all ? " and " : ", ", subjects[i].name);
        }
    return all;
}

static void add_clause(struct gt_buffer *out, const enum gt_source_state *state, enum gt_source_state wanted,
                       const char *one, const char *several)
{
    struct gt_buffer names = {0};
    size_t count = list(&names, state, wanted);
    if (count)
        gt_buffer_printf(out, "%s%s %s", out->length ? "; " : "", names.data ? names.data : "",
                         count > 1 ? several : one);
    gt_buffer_release(&names);
}

static void add_sentence(struct gt_node *root, const struct doctor *doctor, const struct gt_snapshot *snapshot)
{
    enum gt_source_state state[SUBJECTS];
    struct gt_buffer out = {0};
    for (size_t i = 0; i < SUBJECTS; i++)
        state[i] = state_of(doctor, snapshot, subjects[i].metric);
    add_clause(&out, state, GT_READY, "is measured", "are measured");
    add_clause(&out, state, GT_DENIED, "is there, but denied to you (gpu-tracker doctor --fix)",
               "are there, but denied to you (gpu-tracker doctor --fix)");
    add_clause(&out, state, GT_BROKEN, "does not work", "do not work");
    add_clause(&out, state, GT_ABSENT, "cannot be had", "cannot be had");
    gt_buffer_char(&out, '.');
    gt_report_text(root, "summary", "This machine", out.data);
    gt_buffer_release(&out);
}

static void add_sources(struct gt_node *root, const struct doctor *doctor)
{
    static const char *const states[] = {"ready", "absent", "denied", "broken"};
    struct gt_table *table = gt_report_table(root, "sources", "Sources");
    gt_table_column(table, "source", "Source", GT_CELL_TEXT, "");
    gt_table_column(table, "state", "State", GT_CELL_TEXT, "");
    gt_table_column_flags(table, GT_COLUMN_STATE);
    gt_table_column(table, "interface", "Interface", GT_CELL_TEXT, "");
    gt_table_column(table, "refresh", "Refresh", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "reason", "Reason", GT_CELL_TEXT, "");
    gt_table_column(table, "remedy", "Would enable it", GT_CELL_TEXT, "");
    for (size_t i = 0; i < doctor->count; i++) {
        const struct gt_availability *availability = &doctor->source[i].availability;
        gt_table_text(table, doctor->source[i].name);
        gt_table_text(table, states[availability->state]);
        gt_table_text(table, availability->source);
        gt_table_number(table, availability->refresh);
        gt_table_text(table, availability->reason);
        gt_table_text(table, availability->remedy);
    }
}

int gt_doctor_report(const struct gt_tracker_options *options, struct gt_report **ret, struct gt_error *error)
{
    struct gt_sampler sampler;
    struct gt_sampler_options probe = {
        .machine_root = options ? options->machine_root : NULL,
        .gpu_brand = options ? options->gpu_brand : NULL,
        .libraries = options ? options->libraries : NULL,
        .period = 1,
        .power_meter = options ? options->power_meter : NULL,
        .power_model = options ? options->power_model : NULL,
        .cpu_tdp = options ? options->cpu_tdp : 0,
    };
    int status = gt_tracker_check_values(options, error);
    if (status >= 0)
        status = gt_sampler_probe(&sampler, &probe, error);
    if (status < 0)
        return status;
    struct gt_report *report = NULL;
    struct doctor doctor = {.source = calloc(sampler.source_count + OTHER_SOURCES, sizeof *doctor.source)};
    status = doctor.source ? gt_report_new(&report, "doctor", error) : gt_error_system(error, ENOMEM, "doctor");
    if (status >= 0) {
        gather(&doctor, &sampler, options);
        add_sentence(&report->root, &doctor, &sampler.snapshot);
        add_metrics(&report->root, &doctor, &sampler.snapshot);
        add_sources(&report->root, &doctor);
        *ret = report;
    }
    free(doctor.source);
    gt_sampler_close(&sampler);
    return status;
}

/* The figures that this user may not read on this machine, and the lines by which an administrator would change that.
 * Nothing is done. */

/* In the order of the text: the least of the ways to CPU energy comes first. */
static const struct gt_remedy *const tables[] = {gt_energy_remedies, gt_process_remedies, gt_gpu_remedies};

/* setcap replaces what was set before, so there is one line for all, into which `capabilities` go. */
static void write_remedy(struct gt_buffer *out, struct gt_buffer *capabilities, const struct gt_remedy *remedy,
                         const struct gt_rights *access)
{
    gt_buffer_printf(out, "# %s\n#   opens: %s\n#   risk: %s\n", remedy->what, remedy->opens, remedy->risk);
    if (remedy->capability == GT_NO_CAPABILITY) {
        gt_buffer_printf(out, remedy->command, access->group);
        gt_buffer_text(out, "\n\n");
        return;
    }
    const char *name = remedy->capability == GT_CAPABILITY_PERFMON ? "cap_perfmon" : "cap_net_admin";
    gt_buffer_printf(out, "#   by: %s, in the line at the end\n\n", name);
    gt_buffer_printf(capabilities, "%s%s", capabilities->length ? "," : "", name);
}

/* 1: something is denied. */
static int write_all(struct gt_rights *access, struct gt_buffer *out)
{
    struct gt_buffer capabilities = {0};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct gt_remedy *remedy = tables[i]; remedy->is_denied; remedy++) {
            if (!remedy->is_denied(access))
                continue;
            if (!out->length)
                gt_buffer_text(out, "# For an administrator to choose from. Nothing was changed.\n\n");
            write_remedy(out, &capabilities, remedy, access);
        }
    bool is_any = out->length;
    if (!is_any)
        gt_buffer_text(out, "# Nothing is denied to this user that gpu-tracker reads on this machine.\n");
    if (capabilities.length)
        gt_buffer_printf(
            out,
            "# Leave out what is not wanted. It is given up once the counters are open, and commands that gpu-tracker starts get "
            "nothing of it.\nsudo setcap %s+ep \"$(command -v gpu-tracker)\"\n",
            capabilities.data);
    out->failed = out->failed ? out->failed : capabilities.failed;
    gt_buffer_release(&capabilities);
    return is_any;
}

int gt_doctor_fix(const char *machine_root, char **ret, size_t *length, struct gt_error *error)
{
    struct gt_root root = {.fd = -1};
    struct gt_rights access;
    struct gt_buffer out = {0};
    int status = gt_root_open(&root, machine_root, error);
    if (status >= 0)
        status = gt_access_read(&access, &root, error);
    if (status >= 0)
        status = write_all(&access, &out);
    gt_root_close(&root);
    if (status >= 0 && out.failed)
        status = gt_error_system(error, -out.failed, "doctor");
    return gt_buffer_give(&out, status, ret, length);
}
