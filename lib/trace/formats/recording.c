/* Our own files, and the original gpu_tracker's: samples of tracking files as series, code blocks of sub-tracking files
 * as slices. A SQLite tracking file may hold both. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocks/block_event.h"
#include "store/store.h"
#include "trace/format.h"

static bool may_be_ours(const struct gt_trace_probe *probe)
{
    if (probe->length >= 16 && memcmp(probe->head, "SQLite format 3", 16) == 0)
        return gt_path_ends(probe->name, ".sqlite");
    return gt_path_ends(probe->name, ".csv") && memchr(probe->head, ',', probe->length);
}

static bool is_recording(const char *path)
{
    struct gt_recording *recording = NULL;
    int status = gt_recording_open(&recording, path, NULL);
    gt_recording_close(recording);
    return status >= 0;
}

static bool has_blocks(const char *path)
{
    struct gt_block_event_reader *reader = NULL;
    int status = gt_block_event_open(&reader, path, NULL);
    gt_block_event_close(reader);
    return status >= 0;
}

static int probe_recording(const struct gt_trace_probe *probe)
{
    return may_be_ours(probe) && (is_recording(probe->path) || has_blocks(probe->path)) ? 70 : 0;
}

static int take_row(struct gt_reading *reading, const struct gt_row *row, int64_t time, const char *host)
{
    char name[32];
    const char *scope = gt_scope_name(row->scope);
    if (row->scope == GT_SCOPE_GPU)
        snprintf(name, sizeof name, "gpu%d", row->device);
    else if (row->scope == GT_SCOPE_PROCESS)
        snprintf(name, sizeof name, "%d", (int)row->pid);
    else
        snprintf(name, sizeof name, "%s", scope);
    for (int metric = 0; metric < GT_METRIC_COUNT; metric++) {
        if (isnan(row->value[metric]))
            continue;
        int64_t series = gt_reading_series(reading, gt_span_of(scope), gt_span_of(name),
                                           gt_span_of(gt_metrics[metric].name),
                                           *host ? gt_span_of(host) : (struct gt_span){0});
        int status = series < 0 ? (int)series : gt_reading_sample(reading, (uint32_t)series, time, row->value[metric]);
        if (status < 0)
            return status;
    }
    return 0;
}

/* The step of a job and its attempt, "42.1", "42.0+1"; NULL in the first attempt of the first step, and where there are none. */
static const char *later_step(const char *job)
{
    const char *colon = strchr(job, ':'), *name = colon ? colon + 1 : job, *rest = name + strcspn(name, ".+");
    bool is_later = (*rest == '.' && strtol(rest + 1, NULL, 10) > 0) || strchr(rest, '+');
    return is_later ? name : NULL;
}

/* "n0-3", "n0-3 of 42.1": each rank of a step is a node of its own, as several of them may run on one machine. */
static void name_node(char *ret, size_t size, const struct gt_machine *machine)
{
    const char *step = later_step(machine->job);
    if (*machine->launcher && machine->rank > 0)
        snprintf(ret, size, "%s-%d%s%s", *machine->node_name ? machine->node_name : machine->host, machine->rank - 1,
                 step ? " of " : "", step ? step : "");
    else
        snprintf(ret, size, "%s", machine->host);
}

static int read_samples(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    struct gt_trace_file *file = gt_reading_file(reading);
    struct gt_recording *recording = NULL;
    const struct gt_sample *sample;
    int status = gt_recording_open(&recording, path, error);
    if (status >= 0)
        status = gt_recording_detail(recording, true);
    char host[320] = "";
    if (status >= 0)
        name_node(host, sizeof host, gt_recording_machine(recording));
    if (status >= 0 && *host)
        status = gt_reading_node(reading, host, strlen(host));
    if (status >= 0 && gt_recording_machine(recording)->rank > 0)
        status = gt_reading_rank(reading, gt_recording_machine(recording)->rank - 1);
    gt_reading_judge_node(reading); /* by its rank, too */
    for (bool more = status >= 0; more;) {
        struct gt_error trouble = {0};
        status = gt_recording_next(recording, &sample, &trouble);
        if (status == -EBADMSG) {
            file->damage.bad_samples++;
            gt_damage_note(&file->damage, file->samples, "%s", trouble.text);
            continue;
        }
        more = status > 0;
        for (size_t i = 0; more && i < sample->row_count && status >= 0; i++)
            status = take_row(reading, &sample->row[i], sample->real_ns, host);
        more &= status >= 0;
    }
    if (recording)
        file->damage.cut_off |= gt_recording_unfinished(recording) > 0;
    gt_recording_close(recording);
    return status;
}

static int64_t nanoseconds(double seconds)
{
    double whole = floor(seconds);
    return isfinite(seconds) && fabs(seconds) < 9e9 ? (int64_t)whole * 1000000000 + llround((seconds - whole) * 1e9)
                                                    : 0;
}

static int take_interval(struct gt_reading *reading, const struct gt_interval *interval, const char *name)
{
    char pid[24], tid[24];
    snprintf(pid, sizeof pid, "%" PRId64, interval->process);
    snprintf(tid, sizeof tid, "%" PRId64, interval->thread);
    struct gt_raw_event item = gt_raw_event_of((struct gt_span){0}, nanoseconds(interval->start),
                                               isfinite(interval->elapsed) ? nanoseconds(interval->elapsed) : 0);
    item.category = gt_span_of("code_block");
    return gt_reading_text_event(reading, &item, pid, interval->thread < 0 ? NULL : tid, name,
                                 interval->unfinished ? GT_TRACE_PAIRED | GT_TRACE_UNCLOSED : GT_TRACE_PAIRED);
}

static int read_blocks(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    struct gt_trace_damage *damage = &gt_reading_file(reading)->damage;
    struct gt_block_event_list list = {.skip_bad = true, .skip_foreign = true};
    struct gt_intervals intervals = {0};
    double end = -INFINITY, clock_end = -INFINITY;
    int status = gt_block_event_list_add(&list, path, error);
    for (size_t i = 0; i < list.count && status >= 0; i++) {
        end = fmax(end, list.event[i].timestamp);
        clock_end = fmax(clock_end, list.event[i].monotonic);
    }
    if (status >= 0 && list.count)
        status = gt_intervals_pair(&intervals, list.event, list.count);
    if (status >= 0 && list.count)
        status = gt_intervals_close(&intervals, end, isfinite(clock_end) ? clock_end : NAN);
    for (size_t i = 0; i < intervals.count && status >= 0; i++) {
        status = take_interval(reading, &intervals.interval[i],
                               gt_strings_text(&list.names, intervals.interval[i].name));
        damage->unclosed += intervals.interval[i].unfinished;
    }
    damage->unopened += intervals.orphans;
    damage->bad_events += list.bad;
    damage->cut_off |= list.torn > 0;
    if (list.complaints.length)
        gt_damage_note(damage, 0, "%.*s", (int)strcspn(list.complaints.data, "\n"), list.complaints.data);
    gt_intervals_release(&intervals);
    gt_block_event_list_release(&list);
    return status;
}

static int read_recording(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    int status = is_recording(path) ? read_samples(reading, path, error) : 0;
    if (status >= 0 && has_blocks(path))
        status = read_blocks(reading, path, error);
    gt_reading_file(reading)->clock = GT_CLOCK_RECORD;
    return status;
}

const struct gt_trace_format gt_trace_recording = {
    .name = "gpu-tracker",
    .help = "tracking files and sub-tracking files of gpu-tracker and gpu_tracker, CSV and SQLite",
    .probe = probe_recording,
    .read = read_recording,
    .companion = gt_block_event_collected,
};
