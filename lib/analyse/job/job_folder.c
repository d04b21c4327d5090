/* A folder as the source of a job. Recordings are read one at a time. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "aggregate/summary.h"
#include "analyse/job/job.h"
#include "base/os/clock.h"
#include "base/number.h"
#include "blocks/block_event.h"
#include "engine/tables.h"
#include "store/minutes.h"
#include "store/store.h"
#include "store/type.h"
#include "trace/source.h"

/* ---- The files ---- */

static bool ends_in(const char *name, size_t length, const char *end)
{
    size_t size = strlen(end);
    return length > size && !memcmp(name + length - size, end, size);
}

/* Returns true for recordings, not for their journals and other files beside them. */
static bool is_recording_name(const char *name)
{
    const char *suffix = strrchr(name, '.');
    const char *part;
    if (!suffix || *name == '.' || !gt_store_type_of(name, NULL))
        return false;
    for (size_t i = 0; (part = gt_store_part(i)); i++)
        if (ends_in(name, (size_t)(suffix - name), part))
            return false;
    return true;
}

static int is_listed(const struct dirent *entry)
{
    return is_recording_name(entry->d_name);
}

int gt_job_each_file(const char *folder, int (*use)(void *context, const char *path, struct gt_error *error),
                     void *context, struct gt_error *error)
{
    struct dirent **names = NULL;
    size_t length = strlen(folder);
    int count = scandir(folder, &names, is_listed, versionsort), status = 0;
    if (count < 0)
        return gt_error_system(error, errno, "%s", folder);
    for (int i = 0; i < count; i++) {
        char *path = NULL;
        bool has_slash = length && folder[length - 1] == '/';
        if (status >= 0 && asprintf(&path, "%s%s%s", folder, has_slash ? "" : "/", names[i]->d_name) < 0)
            status = gt_error_system(error, ENOMEM, "%s", folder);
        else if (status >= 0)
            status = use(context, path, error);
        free(path);
        free(names[i]);
    }
    free(names);
    return status < 0 ? status : count;
}

/* Settings and reports have such suffixes, too, so the content decides. */
static bool is_trace(const char *path)
{
    static const char *const suffixes[] = {".json", ".gz", ".pb", ".trace", ".pftrace", ".nsys-rep", ".prof", ".zst"};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (ends_in(path, length, suffixes[i]))
            return gt_trace_is_at(path);
    return false;
}

enum { DEEPEST = 8 };

struct folder_holds {
    size_t recordings;
    bool traces; /* ends the search */
};

/* Count recordings in the folder itself, and look for traces also below it. */
static void look_into(const char *path, int depth, struct folder_holds *ret)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder && !ret->traces && (entry = readdir(folder))) {
        struct stat about;
        char *child = NULL;
        if (*entry->d_name == '.' || fstatat(dirfd(folder), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) < 0 ||
            asprintf(&child, "%s/%s", path, entry->d_name) < 0)
            continue;
        if (S_ISDIR(about.st_mode) && depth < DEEPEST && !ends_in(child, strlen(child), ".blocks"))
            look_into(child, depth + 1, ret);
        else if (is_recording_name(entry->d_name))
            ret->recordings += depth == 0;
        else if (!S_ISDIR(about.st_mode))
            ret->traces = is_trace(child);
        free(child);
    }
    if (folder)
        closedir(folder);
}

bool gt_job_is_folder(const char *path)
{
    struct folder_holds holds = {0};
    look_into(path, 0, &holds);
    return holds.recordings && !holds.traces;
}

/* ---- Ranks ---- */

/* The recording of a killed tracker has only samples. */
static int summarize(struct gt_recording *recording, const char *path, struct gt_machine *machine,
                     struct gt_outcome *ret, struct gt_error *error)
{
    const struct gt_sample *sample;
    struct gt_summary *summary = malloc(sizeof *summary);
    if (!summary)
        return gt_error_system(error, ENOMEM, "%s", path);
    gt_summary_init(summary);
    int status;
    while ((status = gt_recording_next(recording, &sample, error)) > 0)
        if (gt_summary_add(summary, sample) < 0) {
            status = gt_error_system(error, ENOMEM, "%s", path);
            break;
        }
    gt_summary_outcome(summary, ret);
    if (!machine->start_real_ns)
        machine->start_real_ns = summary->first_real_ns;
    else if (summary->samples)
        ret->elapsed = gt_seconds(summary->last_real_ns - machine->start_real_ns);
    if (isnan(ret->value[GT_SCOPE_COMBINED][GT_RAM_PEAK]))
        ret->value[GT_SCOPE_COMBINED][GT_RAM_PEAK] = summary->of[GT_SCOPE_COMBINED][GT_RAM].max;
    if (!status && !summary->samples)
        status = gt_error_set(error, EINVAL, "%s: it has no samples", path);
    gt_summary_release(summary);
    free(summary);
    return status;
}

static int add_recording(struct gt_job *job, const char *path, struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    struct gt_outcome outcome;
    int status = gt_recording_open(&recording, path, error);
    if (status >= 0) {
        struct gt_machine machine = *gt_recording_machine(recording);
        const struct gt_outcome *recorded = gt_recording_outcome(recording);
        if (!recorded)
            status = summarize(recording, path, &machine, &outcome, error);
        if (status >= 0)
            status = gt_job_add_rank(job, path, &machine, recorded ? recorded : &outcome);
    }
    gt_recording_close(recording);
    return status;
}

static int add_file(void *job, const char *path, struct gt_error *error)
{
    struct gt_error problem = {0};
    int status = add_recording(job, path, &problem);
    if (status < 0 && status != -ENOMEM) /* the other files are still useful */
        status = gt_job_leave_out(job, path, problem.text);
    return status < 0 ? gt_error_system(error, -status, "%s", path) : 0;
}

static int read_ranks(void *folder, struct gt_job *job, struct gt_error *error)
{
    int status = gt_job_each_file(folder, add_file, job, error);
    if (status >= 0 && !job->count)
        status = gt_error_set(error, ENODATA, "%s: no recording in this folder%s%s", (const char *)folder,
                              job->left_out_count ? ": " : "", job->left_out_count ? job->left_out[0].why : "");
    return status;
}

/* ---- Series ---- */

struct answer {
    const struct gt_job_question *question;
    const struct gt_job_rank *rank;
    size_t parts;                 /* 0: not divided */
    struct gt_job_bucket *bucket; /* [parts or 1][subjects][buckets] */
    bool *has_part;
    double *sum; /* [parts][subjects]: sums over processes of each rank below at one moment */
};

/* Two columns may have one metric; either is sufficient. */
static int choose_columns(struct gt_recording *recording, const struct gt_job_question *question,
                          struct gt_error *error)
{
    const struct gt_columns *columns = gt_recording_list(recording);
    const char *name[4 * GT_JOB_SUBJECTS];
    size_t count = 0;
    if (gt_job_is_divided(question))
        gt_recording_detail(recording, true);
    for (size_t i = 0; i < columns->count; i++)
        for (size_t k = 0; k < question->subjects && count < sizeof name / sizeof *name; k++)
            if (columns->column[i].scope == (int)question->subject[k].scope &&
                columns->column[i].metric == question->subject[k].metric &&
                gt_recording_has(recording, columns->column[i].name))
                name[count++] = columns->column[i].name;
    return gt_recording_columns(recording, name, count, error);
}

/* Values have the digits that a server keeps. Sums of integers are the same in any order. */
static void take_value(struct gt_job_bucket *bucket, double value, double scale)
{
    if (isnan(value))
        return;
    double scaled = nearbyint(value * scale);
    value = scaled / scale;
    if (!bucket->count)
        *bucket = (struct gt_job_bucket){0, 0, value, value, value, value};
    bucket->count++;
    bucket->sum = (nearbyint(bucket->sum * scale) + scaled) / scale;
    bucket->least = fmin(bucket->least, value);
    bucket->most = fmax(bucket->most, value);
    bucket->last = value;
}

/* Processes of each rank at one moment are added up with as many digits as a server keeps. */
static void take_processes(struct answer *answer, const struct gt_sample *sample, size_t place)
{
    const struct gt_job_question *question = answer->question;
    for (size_t i = 0; i < answer->parts * question->subjects; i++)
        answer->sum[i] = NAN;
    for (size_t i = GT_FIXED_ROWS; i < sample->row_count; i++) {
        const struct gt_row *row = &sample->row[i];
        size_t part = row->scope == GT_SCOPE_PROCESS && row->rank > 0 ? 0 : answer->parts;
        while (part < answer->parts && answer->rank->below[part].rank != row->rank - 1)
            part++;
        for (size_t k = 0; k < question->subjects && part < answer->parts; k++) {
            enum gt_metric_id metric = question->subject[k].metric;
            double scale = gt_engine_scale(metric), *sum = &answer->sum[part * question->subjects + k];
            gt_add_known(sum, nearbyint(row->value[metric] * scale) / scale);
        }
    }
    for (size_t i = 0; i < answer->parts * question->subjects; i++) {
        answer->has_part[i / question->subjects] |= !isnan(answer->sum[i]);
        take_value(&answer->bucket[i * question->buckets + place], answer->sum[i],
                   gt_engine_scale(question->subject[i % question->subjects].metric));
    }
}

/* Take the row of a GPU; NULL: each subject is in the row of its scope. */
static void take_values(struct answer *answer, const struct gt_sample *sample, const struct gt_row *row, size_t place)
{
    const struct gt_job_question *question = answer->question;
    size_t device = row ? (size_t)row->device : 0;
    struct gt_job_bucket *bucket = answer->bucket + device * question->subjects * question->buckets + place;
    for (size_t i = 0; i < question->subjects; i++, bucket += question->buckets) {
        const struct gt_job_subject *subject = &question->subject[i];
        double value = (row ? row : &sample->row[subject->scope])->value[subject->metric];
        if (subject->bits)
            take_value(bucket, isnan(value) ? NAN : ((unsigned)value & subject->bits) != 0, 1);
        else
            take_value(bucket, value, gt_engine_scale(subject->metric));
    }
}

static size_t place_of(const struct gt_job_question *question, double time)
{
    double place = (time - question->begin) / question->width;
    return (size_t)fmin(fmax(place, 0), (double)question->buckets - 1);
}

static void take_sample(struct answer *answer, const struct gt_sample *sample)
{
    const struct gt_job_question *question = answer->question;
    size_t place = place_of(question, gt_seconds(sample->real_ns));
    if (!gt_job_is_divided(question))
        take_values(answer, sample, NULL, place);
    else if (question->subject[0].scope == GT_SCOPE_PROCESS)
        take_processes(answer, sample, place);
    else
        for (size_t i = GT_FIXED_ROWS; i < sample->row_count; i++) {
            const struct gt_row *row = &sample->row[i];
            if (row->scope != GT_SCOPE_GPU || row->device < 0 || (size_t)row->device >= answer->parts)
                continue;
            answer->has_part[row->device] = true;
            take_values(answer, sample, row, place);
        }
}

/* Unreadable rows are left out. */
static int read_samples(struct answer *answer, const char *path, struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    const struct gt_sample *sample;
    int status = gt_recording_open(&recording, path, error);
    if (status >= 0)
        status = choose_columns(recording, answer->question, error);
    for (bool more = status >= 0; more;) {
        struct gt_error problem = {0};
        int next = gt_recording_next(recording, &sample, &problem);
        if (next > 0)
            take_sample(answer, sample);
        more = next > 0 || next == -EBADMSG;
        if (!more && next < 0)
            status = gt_error_copy(error, &problem);
    }
    gt_recording_close(recording);
    return status;
}

/* ---- Minutes instead of samples ---- */

/* Shares of the hardware follow from the sums. */
static bool wants_column(const void *context, const struct gt_column *column)
{
    const struct answer *answer = context;
    for (size_t i = 0; i < answer->question->subjects; i++)
        if ((int)answer->question->subject[i].scope == column->scope &&
            answer->question->subject[i].metric == column->metric)
            return !column->per_unit;
    return false;
}

/* Minutes of counters have only the last value, which also counts as the others. The first is unknown and is the least.
 * Values have the digits of samples. */
static void take_figure(struct gt_job_bucket *bucket, const struct gt_minute_row *minute, double value, double scale,
                        bool is_gauge)
{
    bool is_last = minute->statistic == GT_MINUTE_LAST;
    if (isnan(value))
        return;
    double scaled = nearbyint(value * scale);
    value = scaled / scale;
    if (!bucket->count && minute->statistic != (is_gauge ? GT_MINUTE_MEAN : GT_MINUTE_LAST))
        return;
    if (!bucket->count)
        *bucket = (struct gt_job_bucket){0, 0, value, value, NAN, value};
    if (minute->statistic == GT_MINUTE_MEAN || (is_last && !is_gauge)) {
        bucket->count += minute->weight;
        bucket->sum = (nearbyint(bucket->sum * scale) + scaled * minute->weight) / scale;
    }
    bucket->least = fmin(bucket->least, value);
    bucket->most = fmax(bucket->most, value);
    bucket->last = is_last ? value : bucket->last;
    if (isnan(bucket->first) && (minute->statistic == GT_MINUTE_MIN || !is_gauge))
        bucket->first = value;
}

static void take_minute(void *context, const struct gt_minute_row *minute)
{
    struct answer *answer = context;
    const struct gt_job_question *question = answer->question;
    size_t place = place_of(question, (double)minute->begin_s);
    for (size_t i = 0; i < question->subjects; i++) {
        const struct gt_job_subject *subject = &question->subject[i];
        take_figure(&answer->bucket[i * question->buckets + place], minute,
                    minute->sample->row[subject->scope].value[subject->metric], gt_engine_scale(subject->metric),
                    gt_metrics[subject->metric].kind == GT_GAUGE);
    }
}

static int read_rank(struct answer *answer, const struct gt_job_rank *rank, struct gt_error *error)
{
    const struct gt_minutes_use use = {answer, wants_column, take_minute};
    int status = -ENOTSUP;
    if (gt_job_minutes_answer(answer->question, rank))
        status = gt_minutes_read(rank->path, &rank->machine, &use, error);
    return status == -ENOTSUP ? read_samples(answer, rank->path, error) : status;
}

/* ---- Handing on ---- */

static int read_each(const struct gt_job *job, struct answer *answer,
                     int (*take)(void *context, const struct gt_job_series *series), void *context,
                     struct gt_error *error)
{
    size_t each = answer->question->subjects * answer->question->buckets;
    bool is_divided = gt_job_is_divided(answer->question);
    int status = 0;
    for (size_t i = 0; i < job->count && status >= 0; i++) {
        answer->rank = &job->rank[i];
        answer->parts = gt_job_parts(answer->question, answer->rank);
        size_t ranges = is_divided ? answer->parts : 1;
        if (!ranges)
            continue;
        for (size_t k = 0; k < each * ranges; k++)
            answer->bucket[k].count = 0;
        memset(answer->has_part, !is_divided, ranges);
        status = read_rank(answer, &job->rank[i], error);
        for (size_t k = 0; k < ranges && status >= 0; k++)
            if (answer->has_part[k])
                status = take(context, &(struct gt_job_series){i, is_divided ? (int)k : -1, answer->bucket + k * each});
    }
    return status;
}

static int read_series(void *folder, const struct gt_job *job, const struct gt_job_question *question,
                       int (*take)(void *context, const struct gt_job_series *series), void *context,
                       struct gt_error *error)
{
    size_t parts = 1;
    struct answer answer = {.question = question};
    for (size_t i = 0; i < job->count; i++)
        if (gt_job_parts(question, &job->rank[i]) > parts)
            parts = gt_job_parts(question, &job->rank[i]);
    answer.bucket = calloc(parts * question->subjects * question->buckets + 1, sizeof *answer.bucket);
    answer.has_part = calloc(parts + 1, sizeof *answer.has_part);
    answer.sum = calloc(parts * question->subjects + 1, sizeof *answer.sum);
    int status = answer.bucket && answer.has_part && answer.sum ? read_each(job, &answer, take, context, error)
                                                                : -ENOMEM;
    free(answer.bucket);
    free(answer.has_part);
    free(answer.sum);
    return status == -ENOMEM ? gt_error_system(error, ENOMEM, "%s", (const char *)folder) : status;
}

/* ---- Calls ---- */

/* Rows that a killed process left incomplete are left out. */
static int read_events(struct gt_block_event_list *events, struct gt_intervals *calls, const char *path,
                       struct gt_error *error)
{
    events->skip_bad = events->skip_foreign = true;
    int status = gt_block_event_list_add(events, path, error);
    if (status >= 0)
        status = gt_block_event_list_pair(events, calls);
    if (status >= 0)
        status = gt_intervals_close(calls, events->last, events->last_monotonic);
    return status < 0 ? gt_error_system(error, -status, "%s", path) : 0;
}

static int read_calls(void *folder, const struct gt_job *job, size_t rank, struct gt_calls_of_rank *ret,
                      struct gt_error *error)
{
    (void)folder;
    char place[PATH_MAX];
    struct gt_block_event_list events = {0};
    struct gt_intervals calls = {0};
    if (gt_block_event_collected(place, sizeof place, job->rank[rank].path) < 0)
        return 0;
    int status = read_events(&events, &calls, place, error);
    if (status >= 0) {
        *ret = (struct gt_calls_of_rank){events.names, calls.interval, calls.count, calls.count};
        for (size_t i = 0; i < calls.count; i++) { /* to the nanosecond, as a server has them */
            struct gt_interval *call = &calls.interval[i];
            call->elapsed = nearbyint(call->elapsed * 1e9) / 1e9;
            call->self = nearbyint(call->self * 1e9) / 1e9;
            call->cpu_stop = nearbyint((call->cpu_stop - call->cpu_start) * 1e9) / 1e9;
            call->cpu_start = isnan(call->cpu_stop) ? NAN : 0;
        }
        events.names = (struct gt_strings){0};
        calls.interval = NULL;
    }
    gt_intervals_release(&calls);
    gt_block_event_list_release(&events);
    return status;
}

int gt_job_folder_open(struct gt_job_source *ret, const char *folder, struct gt_error *error)
{
    struct stat found;
    if (stat(folder, &found) < 0)
        return gt_error_system(error, errno, "%s", folder);
    *ret = (struct gt_job_source){.name = folder,
                                  .keeps = "file",
                                  .left_out = "Files left out",
                                  .state = strdup(folder),
                                  .ranks = read_ranks,
                                  .series = read_series,
                                  .calls = read_calls,
                                  .close = free};
    return ret->state ? 0 : gt_error_system(error, ENOMEM, "%s", folder);
}
