#include "analyse/usage/usage.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/coverage.h"
#include "analyse/display.h"
#include "blocks/block_event.h"
#include "collect/gpu/gpu.h"
#include "schema/human.h"

/* Shorter runs say little about shares of time. */
static const double LEAST_SECONDS = 1, LEAST_TO_ADVISE = 10;
static const double LITTLE = 1e6, UNUSED = 4e9, AT_LIMIT = 0.97, NEARLY_FULL = 0.9;

/* Returns true, as a rule that applies. */
__attribute__((format(printf, 3, 4))) static bool say(struct gt_warning *warning, double value, const char *format, ...)
{
    va_list arguments;
    warning->value = value;
    va_start(arguments, format);
    vsnprintf(warning->sentence, sizeof warning->sentence, format, arguments);
    va_end(arguments);
    return true;
}

__attribute__((format(printf, 2, 3))) static void add(struct gt_warning *warning, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(warning->detail, sizeof warning->detail, format, arguments);
    va_end(arguments);
}

double gt_usage_given(const struct gt_usage *usage, enum gt_limit_kind kind)
{
    double value = usage->machine->limit[kind].value;
    return value > 0 ? value : NAN;
}

/* A group above, or one that the job made and nobody saw, may have killed it with much less. */
double gt_usage_memory_limit_met(const struct gt_usage *usage)
{
    double limit = gt_usage_given(usage, GT_LIMIT_GROUP_MEMORY), met = usage->outcome->events.limit_met;
    if (met > 0)
        return met;
    return fmax(gt_usage_peak(usage), gt_usage_group_peak(usage)) >= limit / 2 ? limit : NAN;
}

/* ---- Code blocks ------------------------------------------------------------------------------------------------- */

enum { BLOCKS_NAMED = 3 };

/* The largest of the sums that are left, which is then taken out; -1: none is. */
static int take_largest(double *seconds, size_t count)
{
    int largest = -1;
    for (size_t i = 0; i < count; i++)
        if (seconds[i] > (largest < 0 ? 0 : seconds[largest]))
            largest = (int)i;
    return largest;
}

/* Blocks of several threads at once took more time than there was: then seconds say more than shares. */
static void write_shares(char *text, size_t size, const struct gt_strings *names, double *seconds, double elapsed)
{
    double sum = 0;
    size_t length = 0;
    for (size_t i = 0; i < names->count; i++)
        sum += seconds[i];
    for (int named = 0; named < BLOCKS_NAMED && length < size; named++) {
        char amount[GT_HUMAN_SIZE], shown[44];
        int name = take_largest(seconds, names->count);
        if (name < 0 || seconds[name] < 0.005 * elapsed)
            return;
        gt_shorten(shown, sizeof shown, gt_strings_text(names, (size_t)name));
        if (sum > 1.02 * elapsed)
            gt_human_seconds(amount, seconds[name]);
        else
            gt_human_percent(amount, seconds[name] / elapsed);
        length += (size_t)snprintf(text + length, size - length, "%s%s %s", named ? "   " : "", shown, amount);
        seconds[name] = 0;
    }
}

static void describe_blocks(struct gt_block_brief *ret, const struct gt_intervals *intervals,
                            const struct gt_strings *names, double elapsed)
{
    const struct gt_interval *last = NULL;
    double *seconds = calloc(names->count + 1, sizeof *seconds);
    for (size_t i = 0; seconds && i < intervals->count; i++) {
        const struct gt_interval *interval = &intervals->interval[i];
        seconds[interval->name] += isfinite(interval->self) ? interval->self : 0;
        if (interval->unfinished && (!last || interval->start > last->start))
            last = interval;
    }
    if (seconds)
        write_shares(ret->shares, sizeof ret->shares, names, seconds, elapsed);
    if (last)
        gt_shorten(ret->unfinished, sizeof ret->unfinished, gt_strings_text(names, last->name));
    free(seconds);
}

void gt_block_brief(struct gt_block_brief *ret, const struct gt_usage *usage)
{
    char path[PATH_MAX];
    struct gt_block_event_list list = {.skip_bad = true, .skip_foreign = true};
    struct gt_intervals intervals = {0};
    double elapsed = usage->outcome->elapsed, end = (double)usage->machine->start_real_ns / 1e9 + elapsed;
    *ret = (struct gt_block_brief){.shares = ""};
    if (!usage->recording || !(elapsed > 0) || gt_block_event_collected(path, sizeof path, usage->recording) < 0)
        return;
    if (gt_block_event_list_add(&list, path, NULL) == 0 && gt_block_event_list_pair(&list, &intervals) == 0 &&
        gt_intervals_close(&intervals, end, NAN) == 0)
        describe_blocks(ret, &intervals, &list.names, elapsed);
    gt_intervals_release(&intervals);
    gt_block_event_list_release(&list);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static bool was_killed(const struct gt_usage *usage)
{
    return usage->outcome->exit_status == 128 + SIGKILL;
}

/* A group above, or the machine, may have killed somebody else. */
enum gt_out_of_memory gt_usage_out_of_memory(const struct gt_usage *usage)
{
    const struct gt_kernel_events *events = &usage->outcome->events;
    double limit = gt_usage_given(usage, GT_LIMIT_GROUP_MEMORY);
    if (events->oom_kills > 0)
        return GT_MEMORY_RAN_OUT;
    if (events->limit_met > 0)
        return GT_MEMORY_PROBABLY_RAN_OUT;
    bool is_at_limit = fmax(gt_usage_peak(usage), gt_usage_group_peak(usage)) >= AT_LIMIT * limit;
    return was_killed(usage) && (events->oom_kills_above > 0 || is_at_limit) ? GT_MEMORY_PROBABLY_RAN_OUT
                                                                             : GT_MEMORY_SUFFICED;
}

static void say_where(const struct gt_usage *usage, char *text, size_t size)
{
    double limit = gt_usage_memory_limit_met(usage), used = usage->summary->of[GT_SCOPE_SYSTEM][GT_RAM].max;
    if (limit > 0)
        snprintf(text, size, "at the limit of %s", GT_HUMAN(bytes, limit));
    else if (used >= NEARLY_FULL * usage->machine->ram_capacity)
        snprintf(text, size, "when the machine had no memory left");
    else
        snprintf(text, size, "at a memory limit that is not known");
}

/* The largest known: its last reading is older than its end. */
static double victim_peak(const struct gt_usage *usage)
{
    const struct gt_kernel_events *events = &usage->outcome->events;
    const struct gt_process_records *records = &usage->outcome->records;
    double peak = events->largest_ram;
    if (events->largest_pid == usage->machine->pid)
        peak = fmax(peak, gt_usage_scope_peak(usage, GT_SCOPE_MAIN));
    for (size_t i = 0; i < records->count; i++)
        if (records->record[i].pid == events->largest_pid && !strcmp(records->record[i].name, events->largest_name))
            peak = fmax(peak, records->record[i].ram_peak);
    return peak;
}

/* The kernel kills the largest, where that has most of what there is. */
static void name_victim(const struct gt_usage *usage, char *text, size_t size)
{
    const struct gt_kernel_events *events = &usage->outcome->events;
    double limit = gt_usage_memory_limit_met(usage), whole = isnan(limit) ? gt_usage_peak(usage) : limit;
    double peak = victim_peak(usage);
    if (!events->largest_pid || !events->largest_is_gone || !(peak > whole / 2))
        snprintf(text, size, "a process");
    else
        snprintf(text, size, "%s (pid %d, %s)", *events->largest_name ? events->largest_name : "a process",
                 (int)events->largest_pid, GT_HUMAN(bytes, peak));
}

static size_t largest_point(const struct gt_sample_course *course, int line)
{
    size_t largest = 0;
    for (size_t i = 1; i < gt_sample_course_points(course); i++) {
        double value = gt_sample_course_point(course, line, i);
        if (!isnan(value) && !(value < gt_sample_course_point(course, line, largest)))
            largest = i;
    }
    return largest;
}

/* Bytes a second over the quarter of the course before its top. */
static double growth_at_end(const struct gt_usage *usage)
{
    const struct gt_sample_course *course = &usage->summary->course;
    int line = gt_sample_course_find(course, GT_SCOPE_COMBINED, GT_RAM, -1);
    if (line < 0)
        return NAN;
    size_t last = largest_point(course, line), first = last - last / 4;
    while (first && isnan(gt_sample_course_point(course, line, first)))
        first--;
    double seconds = gt_sample_course_time(course, last) - gt_sample_course_time(course, first);
    return (gt_sample_course_point(course, line, last) - gt_sample_course_point(course, line, first)) / seconds;
}

static bool out_of_memory(const struct gt_usage *usage, struct gt_warning *warning)
{
    enum gt_out_of_memory what = gt_usage_out_of_memory(usage);
    char victim[128], where[80];
    double limit = gt_usage_memory_limit_met(usage), growth = growth_at_end(usage);
    struct gt_block_brief blocks;
    if (what == GT_MEMORY_SUFFICED)
        return false;
    say_where(usage, where, sizeof where);
    name_victim(usage, victim, sizeof victim);
    say(warning, limit > 0 ? limit : gt_usage_peak(usage), "the kernel %skilled %s %s",
        what == GT_MEMORY_RAN_OUT ? "" : "probably ", victim, where);
    gt_block_brief(&blocks, usage);
    if (growth > LITTLE)
        add(warning, "memory grew by %s a second at the end%s%s%s", GT_HUMAN(bytes, growth),
            *blocks.unfinished ? ", in block \"" : "", blocks.unfinished, *blocks.unfinished ? "\"" : "");
    else if (*blocks.unfinished)
        add(warning, "in block \"%s\"", blocks.unfinished);
    return true;
}

static bool swapped(const struct gt_usage *usage, struct gt_warning *warning)
{
    double swap = usage->summary->of[GT_SCOPE_COMBINED][GT_SWAP].max;
    double waited = gt_usage_share(usage, GT_SCOPE_SYSTEM, GT_PRESSURE_MEMORY);
    bool waits = waited > 0.05 && usage->outcome->elapsed >= LEAST_SECONDS;
    if (!(swap > LITTLE) && !waits)
        return false;
    if (swap > LITTLE && waits)
        return say(warning, swap, "%s were swapped out, %s of the time something waited for memory",
                   GT_HUMAN(bytes, swap), GT_HUMAN(percent, waited));
    if (swap > LITTLE)
        return say(warning, swap, "%s were swapped out: memory was short", GT_HUMAN(bytes, swap));
    return say(warning, waited, "something waited for memory for %s of the time", GT_HUMAN(percent, waited));
}

static bool memory_unused(const struct gt_usage *usage, struct gt_warning *warning)
{
    double asked = gt_usage_given(usage, GT_LIMIT_MEMORY), peak = gt_usage_peak(usage) + gt_usage_unmapped(usage);
    if (!(peak < 0.5 * asked) || !(asked - peak > UNUSED))
        return false;
    return say(warning, peak / asked, "%s asked for, %s used", GT_HUMAN(round_bytes, asked), GT_HUMAN(bytes, peak));
}

/* ---- Time -------------------------------------------------------------------------------------------------------- */

static bool time_limit(const struct gt_usage *usage, struct gt_warning *warning)
{
    double given = gt_usage_given(usage, GT_LIMIT_TIME), left = given - usage->outcome->elapsed;
    int status = usage->outcome->exit_status;
    if ((status != 128 + SIGTERM && status != 128 + SIGKILL && status != 128 + SIGXCPU) || !(left < 60))
        return false;
    if (left > 0)
        return say(warning, left, "the job was probably ended for its time: %s of the allocation were left",
                   GT_HUMAN(seconds, left));
    return say(warning, left, "the job was probably ended for its time: the allocation was over");
}

/* ---- Cores ------------------------------------------------------------------------------------------------------- */

static bool throttled(const struct gt_usage *usage, struct gt_warning *warning)
{
    double share = usage->outcome->events.throttled_periods, cores = gt_usage_given(usage, GT_LIMIT_CORES);
    if (!(share > GT_THROTTLED_SHARE))
        return false;
    if (isnan(cores))
        return say(warning, share, "the CPU was throttled in %s of the periods of a quota", GT_HUMAN(percent, share));
    return say(warning, share, "the CPU was throttled in %s of the periods: the quota is %s cores",
               GT_HUMAN(percent, share), GT_HUMAN(round_number, cores));
}

static bool cores_unused(const struct gt_usage *usage, struct gt_warning *warning)
{
    double given = gt_usage_given(usage, GT_LIMIT_CORES);
    double used = gt_utilization_cores(&usage->summary->utilization, 0.95);
    if (!(given > 1) || !(used < 0.6 * given) || usage->outcome->elapsed < LEAST_TO_ADVISE)
        return false;
    return say(warning, used, "%s cores asked for, at most %s busy for 95 %% of the time",
               GT_HUMAN(round_number, given), GT_HUMAN(number, used));
}

static bool too_many_threads(const struct gt_usage *usage, struct gt_warning *warning)
{
    double given = gt_usage_given(usage, GT_LIMIT_CORES), cores = given > 0 ? given : usage->machine->core_count,
           threads = gt_summary_mean(usage->summary, GT_SCOPE_COMBINED, GT_THREADS);
    double rate = gt_usage_share(usage, GT_SCOPE_COMBINED, GT_INVOLUNTARY_SWITCHES);
    bool is_busy = gt_usage_cores(usage, GT_SCOPE_COMBINED) > 0.8 * cores;
    if (!(threads > 2 * cores) || !(rate > 1000) || !is_busy || usage->outcome->elapsed < LEAST_SECONDS)
        return false;
    return say(warning, threads, "%.0f threads on %s cores: they took turns %.0f times a second", threads,
               GT_HUMAN(round_number, cores), rate);
}

/* On a part of a machine others are no disturbance, nor are the other ranks of a job, which nothing here tells from strangers. */
double gt_usage_others(const struct gt_usage *usage)
{
    int cores = usage->machine->core_count;
    bool has_all = isnan(gt_usage_given(usage, GT_LIMIT_CORES)) && usage->machine->world < 2;
    if (!has_all || cores < 1 || !(usage->outcome->elapsed >= LEAST_SECONDS))
        return NAN;
    double others = gt_usage_cores(usage, GT_SCOPE_SYSTEM) - gt_usage_cores(usage, GT_SCOPE_COMBINED);
    return others > 0.3 * cores ? others : NAN;
}

static bool disturbed(const struct gt_usage *usage, struct gt_warning *warning)
{
    double others = gt_usage_others(usage);
    if (isnan(others))
        return false;
    warning->is_of_others = true;
    return say(warning, others, "other programs used %s of the %d cores: do not compare these times",
               GT_HUMAN(number, others), usage->machine->core_count);
}

static bool waited_for_disk(const struct gt_usage *usage, struct gt_warning *warning)
{
    double share = gt_usage_share(usage, GT_SCOPE_SYSTEM, GT_PRESSURE_IO);
    double bytes = fmax(gt_usage_final(usage, GT_SCOPE_COMBINED, GT_READ_BYTES),
                        gt_usage_final(usage, GT_SCOPE_COMBINED, GT_WRITTEN_BYTES));
    if (!(share > 0.1) || !(bytes >= LITTLE) || usage->outcome->elapsed < LEAST_SECONDS)
        return false;
    return say(warning, share, "something waited for the disk for %s of the time", GT_HUMAN(percent, share));
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

/* Returns true for the GPUs that the job may use. What a machine has beside them is nobody's concern. */
static bool has_gpu(const struct gt_usage *usage, size_t index)
{
    return index < usage->summary->utilization.gpus && index < usage->machine->gpu_length &&
           usage->machine->gpu[index].selected;
}

static bool uses_gpus(const struct gt_usage *usage)
{
    bool is_given = gt_usage_given(usage, GT_LIMIT_GPUS) > 0;
    return is_given || usage->summary->of[GT_SCOPE_COMBINED][GT_GPU_RAM].max > 0 ||
           usage->summary->of[GT_SCOPE_COMBINED][GT_GPU_UTILIZATION].max > 0;
}

static double idle_share(const struct gt_gpu_use_time *time)
{
    return time->idle / time->known;
}

static double starved_share(const struct gt_gpu_use_time *time)
{
    return idle_share(time) > 0.9 ? 0 : time->starved / time->known; /* the one is told as the other */
}

static double slowed_share(const struct gt_gpu_use_time *time)
{
    return time->slowed / time->reported;
}

/* GPUs of which a share of the time is remarkable. */
struct named_gpus {
    char names[180]; /* "gpu 1", "gpus 1, 3" */
    size_t count;
    double share; /* the largest, of this GPU: */
    const struct gt_gpu_use_time *worst;
};

/* Finds the GPUs of a job that uses some with a share above `least`. */
static struct named_gpus name_gpus(const struct gt_usage *usage, double (*share_of)(const struct gt_gpu_use_time *),
                                   double least)
{
    const struct gt_utilization *utilization = &usage->summary->utilization;
    struct named_gpus ret = {.share = NAN};
    char list[160] = "";
    size_t length = 0;
    for (size_t i = 0; i < utilization->gpus && uses_gpus(usage); i++) {
        double share = has_gpu(usage, i) ? share_of(&utilization->gpu[i]) : NAN;
        if (!(share > least))
            continue;
        if (length < sizeof list)
            length += (size_t)snprintf(list + length, sizeof list - length, "%s%zu", ret.count ? ", " : "", i);
        ret.count++;
        if (!(share <= ret.share)) {
            ret.share = share;
            ret.worst = &utilization->gpu[i];
        }
    }
    snprintf(ret.names, sizeof ret.names, "gpu%s %s", ret.count > 1 ? "s" : "", list);
    return ret;
}

/* Errors of a GPU, or of all together. */
struct gpu_errors {
    double lost, xids, xid, ecc, remap_failed; /* ecc: since the first sample; xid: the last number; NaN: not known */
};

static double grown(const struct gt_statistic *statistic, double now)
{
    return statistic->count ? fmax(now, statistic->last) - statistic->min : NAN;
}

static struct gpu_errors errors_of(const struct gt_statistic *of)
{
    return (struct gpu_errors){of[GT_GPU_LOST].max, of[GT_GPU_XIDS].max, of[GT_GPU_XID].last,
                               grown(&of[GT_GPU_ECC_UNCORRECTED], NAN), of[GT_GPU_REMAP_FAILED].max};
}

static void append(char *text, size_t size, const char *format, double number)
{
    size_t used = strlen(text);
    used += (size_t)snprintf(text + used, size - used, "%s", used ? ", " : "");
    snprintf(text + used, size - used, format, number);
}

/* Returns false where there are none. */
static bool describe_errors(const struct gpu_errors *errors, bool is_one, char *text, size_t size)
{
    *text = '\0';
    if (errors->lost > 0)
        append(text, size, is_one ? "lost to its driver" : "%.0f lost to their driver", errors->lost);
    if (errors->xids > 0 && errors->xid > 0)
        append(text, size, gt_xid_is_of_program(errors->xid) ? "XID %.0f, an error of a program" : "XID %.0f",
               errors->xid);
    if (errors->xids > 0 && !(errors->xid > 0 && (is_one || errors->xids == 1)))
        append(text, size, errors->xids > 1 ? "%.0f XIDs in all" : "%.0f XID", errors->xids);
    if (errors->ecc > 0)
        append(text, size, "%.0f memory errors that ECC could not correct", errors->ecc);
    if (errors->remap_failed > 0)
        append(text, size, "memory rows that could not be replaced", 0);
    return *text;
}

/* Returns whether all errors are a program's; a driver reports those as XIDs, too. */
static bool is_of_program(const struct gpu_errors *errors)
{
    bool is_hardware = errors->lost > 0 || errors->ecc > 0 || errors->remap_failed > 0;
    return errors->xids > 0 && gt_xid_is_of_program(errors->xid) && !is_hardware;
}

/* Names the GPUs whose errors are a program's, or the others. Without rows of GPUs only all together are known; at the end of a
 * run they may have more. */
static bool gpu_errors(const struct gt_usage *usage, bool of_program, struct gt_warning *warning)
{
    const double *final = usage->outcome->value[GT_SCOPE_SYSTEM];
    const struct gt_statistic *system = usage->summary->of[GT_SCOPE_SYSTEM];
    struct gpu_errors all = {final[GT_GPU_LOST], final[GT_GPU_XIDS], final[GT_GPU_XID],
                             grown(&system[GT_GPU_ECC_UNCORRECTED], final[GT_GPU_ECC_UNCORRECTED]),
                             final[GT_GPU_REMAP_FAILED]};
    char list[sizeof warning->sentence] = "", text[160];
    size_t used = 0;
    bool has_rows = false;
    for (size_t i = 0; i < usage->summary->gpu_count && used < sizeof list; i++) {
        struct gpu_errors one = errors_of(usage->summary->gpu[i]);
        if (!describe_errors(&one, true, text, sizeof text))
            continue;
        has_rows = true;
        if (is_of_program(&one) == of_program)
            used += (size_t)snprintf(list + used, sizeof list - used, "%sgpu %zu: %s", used ? "; " : "", i, text);
    }
    bool has_errors = describe_errors(&all, false, text, sizeof text);
    double value = fmax(fmax(all.lost, all.xids), fmax(all.ecc, 1));
    if (used)
        return say(warning, value, "%s", list);
    return !has_rows && has_errors && is_of_program(&all) == of_program &&
           say(warning, value, "errors of the GPUs: %s", text);
}

static bool gpu_failed(const struct gt_usage *usage, struct gt_warning *warning)
{
    return gpu_errors(usage, false, warning);
}

static bool gpu_program_error(const struct gt_usage *usage, struct gt_warning *warning)
{
    return gpu_errors(usage, true, warning);
}

static bool is_never_measured(const struct gt_outcome *outcome)
{
    for (size_t i = 0; i < outcome->provenance_count; i++) {
        const struct gt_provenance *entry = &outcome->provenance[i];
        if (entry->scope == GT_SCOPE_SYSTEM && entry->metric == GT_GPU_RAM)
            return entry->exactness == GT_MISSING &&
                   strncmp(entry->note, GT_SILENT_DRIVER, strlen(GT_SILENT_DRIVER)) == 0;
    }
    return false;
}

/* Without an energy counter it is not known when a driver hung. */
static bool gpu_silent(const struct gt_usage *usage, struct gt_warning *warning)
{
    const struct gt_gap *gap = &usage->outcome->counter[GT_ENERGY_GPU].gap;
    const char *source = usage->machine->energy_source[GT_ENERGY_GPU].name;
    source = *source ? source : "their driver";
    if (gt_gap_is_silence(gap))
        return say(warning, gap->began, "the GPUs were not measured from %.3g s on: %s did not answer", gap->began,
                   source);
    return is_never_measured(usage->outcome) &&
           say(warning, 0, "the GPUs were not measured: %s did not answer in time", source);
}

static bool gpu_idle(const struct gt_usage *usage, struct gt_warning *warning)
{
    struct named_gpus gpus = name_gpus(usage, idle_share, 0.5);
    return gpus.count && usage->outcome->elapsed >= LEAST_SECONDS &&
           say(warning, gpus.share, "%s %s idle: below 5 %% for %s of the time", gpus.names,
               gpus.count > 1 ? "were" : "was", GT_HUMAN(percent, gpus.share));
}

static bool gpu_starved(const struct gt_usage *usage, struct gt_warning *warning)
{
    struct named_gpus gpus = name_gpus(usage, starved_share, 0.1);
    return gpus.count && usage->outcome->elapsed >= LEAST_SECONDS &&
           say(warning, gpus.share, "%s starved for %s: below 30 %% while the job kept a core busy", gpus.names,
               GT_HUMAN(seconds, gpus.worst->starved));
}

static bool gpu_slowed(const struct gt_usage *usage, struct gt_warning *warning)
{
    struct named_gpus gpus = name_gpus(usage, slowed_share, 0.05);
    return gpus.count && say(warning, gpus.share, "%s slowed down for %s of the time, by %s", gpus.names,
                             GT_HUMAN(percent, gpus.share),
                             gpus.worst->hot > gpus.worst->powered_down ? "heat"
                             : gpus.worst->powered_down > 0             ? "the power limit"
                                                                        : "the hardware");
}

/* ---- The tracker itself ------------------------------------------------------------------------------------------ */

static bool incomplete(const struct gt_usage *usage, struct gt_warning *warning)
{
    const struct gt_outcome *outcome = usage->outcome;
    double planned = (double)(outcome->samples + outcome->missed);
    if (outcome->dropped)
        return say(warning, (double)outcome->dropped,
                   "the recording lost %llu samples: its disk was too slow, or its spool full",
                   (unsigned long long)outcome->dropped);
    return outcome->missed > 0.05 * planned && outcome->missed > 5 &&
           say(warning, (double)outcome->missed, "%llu of %.0f samples were missed: the machine had no time for them",
               (unsigned long long)outcome->missed, planned);
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

/* The dearest first: what ended the job, what cost it time, what was asked for and not used, what spoils the figures. A plain table. */
static const struct rule {
    const char *name;
    bool (*applies)(const struct gt_usage *usage, struct gt_warning *warning); /* fills in sentence and value */
} rules[] = {
    {"gpu_failed", gpu_failed},
    {"gpu_silent", gpu_silent},
    {"gpu_program_error", gpu_program_error},
    {"out_of_memory", out_of_memory},
    {"time_limit", time_limit},
    {"swapped", swapped},
    {"cpu_throttled", throttled},
    {"gpu_idle", gpu_idle},
    {"gpu_slowed_down", gpu_slowed},
    {"gpu_starved", gpu_starved},
    {"memory_unused", memory_unused},
    {"cores_unused", cores_unused},
    {"too_many_threads", too_many_threads},
    {"disk", waited_for_disk},
    {"disturbed", disturbed},
    {"incomplete", incomplete},
};

size_t gt_warnings(const struct gt_usage *usage, struct gt_warning *ret)
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        ret[count] = (struct gt_warning){.name = rules[i].name, .value = NAN};
        count += rules[i].applies(usage, &ret[count]);
    }
    return count;
}

void gt_usage_warnings_table(const struct gt_usage *usage, struct gt_node *root)
{
    struct gt_warning warning[GT_WARNINGS];
    size_t count = gt_warnings(usage, warning);
    struct gt_table *table = gt_report_table(root, "warnings", "Warnings");
    gt_table_flags(table, GT_NOT_IN_ORIGINAL | (count ? 0 : GT_ONLY_DATA));
    gt_display_column(table, "name", "Name", GT_CELL_TEXT, NULL, GT_COLUMN_ONLY_DATA);
    gt_table_column(table, "sentence", "What", GT_CELL_TEXT, NULL);
    gt_table_column(table, "detail", "More", GT_CELL_TEXT, NULL);
    gt_display_column(table, "value", "Figure", GT_CELL_NUMBER, NULL, GT_COLUMN_ONLY_DATA);
    for (size_t i = 0; i < count; i++) {
        GT_CELLS(table, warning[i].name, warning[i].sentence, *warning[i].detail ? warning[i].detail : NULL,
                 warning[i].value);
    }
}

void gt_usage_limits_section(const struct gt_usage *usage, struct gt_node *root)
{
    static const struct {
        enum gt_limit_kind kind;
        const char *key, *title, *unit;
    } lines[] = {
        {GT_LIMIT_MEMORY, "memory", "Memory asked for", "bytes"},
        {GT_LIMIT_GROUP_MEMORY, "memory_limit", "Memory limit of the control group", "bytes"},
        {GT_LIMIT_CORES, "cores", "Cores", NULL},
        {GT_LIMIT_GPUS, "gpus", "GPUs", NULL},
        {GT_LIMIT_TIME, "time", "Time from the begin on", "seconds"},
    };
    struct gt_node *section = gt_report_section(root, "limits", "Limits");
    gt_node_flags(section, GT_ONLY_DATA);
    gt_report_text(section, "scheduler", "Scheduler", *usage->machine->scheduler ? usage->machine->scheduler : NULL);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *source = usage->machine->limit[lines[i].kind].source;
        char key[40];
        gt_report_number(section, lines[i].key, lines[i].title, gt_usage_given(usage, lines[i].kind), lines[i].unit);
        snprintf(key, sizeof key, "%s_source", lines[i].key);
        gt_report_text(section, key, "From", *source ? source : NULL);
    }
}
