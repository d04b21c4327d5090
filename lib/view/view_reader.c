/* From a recording to the model. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyse/past_runs.h"
#include "base/os/clock.h"
#include "base/map.h"
#include "base/number.h"
#include "blocks/block_event.h"
#include "view/view_model.h"

/* ---- The blocks of a job, while their processes still write them, and afterwards ---- */

/* Calls from here on, whose blocks are in the model, in the order of their begin. */
struct reading {
    struct gt_view_model *model;
    const struct gt_block_event_list *list;
    struct gt_intervals *calls;
    double begin, at; /* seconds since the epoch: of the recording, and of the moment shown */
    uint32_t *number; /* of each name: its block in the model */
    uint32_t *parent; /* of each name: the name of what it lies in */
};

/* While a job runs, and where others put files there also afterwards, the folder of its processes is there. */
static int add_files(struct gt_block_event_list *list, const char *recording, struct gt_error *error)
{
    char folder[PATH_MAX], path[PATH_MAX];
    struct stat facts;
    list->skip_bad = list->skip_foreign = true;
    bool has_folder = gt_block_event_folder(folder, sizeof folder, recording) >= 0 && stat(folder, &facts) == 0;
    if (has_folder && (gt_block_event_list_add(list, folder, NULL) < 0 || list->count))
        return list->count > 0;
    if (gt_block_event_collected(path, sizeof path, recording) < 0 || (has_folder && !strcmp(path, folder)))
        return 0;
    return gt_block_event_list_add(list, path, error) < 0 ? 0 : 1;
}

static int by_start(const void *a, const void *b)
{
    const struct gt_interval *first = a, *second = b;
    return GT_ORDER_BY(GT_ORDER(first->start, second->start), GT_ORDER(second->stop, first->stop)); /* outer first */
}

/* The last of `most` lengths are kept. */
static size_t add_length(double *length, size_t count, size_t most, double elapsed)
{
    if (count == most)
        memmove(length, length + 1, --count * sizeof *length);
    length[count] = elapsed;
    return count + 1;
}

static void note_call(struct reading *reading, const struct gt_interval *call)
{
    struct gt_view_model *model = reading->model;
    struct gt_view_block *block = &model->block[reading->number[call->name]];
    block->latest = call->start - reading->begin;
    block->latest_elapsed = call->unfinished ? NAN : call->elapsed;
    if (call->unfinished) {
        block->running++;
        block->now = fmax(0, reading->at - call->start);
        return;
    }
    if (isnan(call->elapsed))
        return;
    block->calls++;
    block->total += call->elapsed;
    block->least = fmin(block->least, call->elapsed);
    block->most = fmax(block->most, call->elapsed);
    block->last_count = add_length(block->last, block->last_count, GT_VIEW_LAST_CALLS, call->elapsed);
    if (strcmp(block->name, model->alone) != 0)
        return;
    model->call = model->call ? model->call : calloc(GT_VIEW_CALLS, sizeof *model->call);
    if (model->call)
        model->call_count = add_length(model->call, model->call_count, GT_VIEW_CALLS, call->elapsed);
}

/* Calls of one thread follow each other here: what is still open when one begins holds it. Of each name the first call tells. */
static void find_parents(struct reading *reading)
{
    const struct gt_interval *open[64];
    size_t depth = 0;
    for (size_t i = 0; i < reading->calls->count; i++) {
        const struct gt_interval *call = &reading->calls->interval[i];
        bool is_same = i && call->source == call[-1].source && call->process == call[-1].process &&
                       call->thread == call[-1].thread;
        depth = is_same ? depth : 0;
        while (depth && open[depth - 1]->stop < call->stop)
            depth--;
        while (depth && open[depth - 1]->stop <= call->start)
            depth--;
        if (reading->parent[call->name] == GT_MAP_ABSENT && depth && open[depth - 1]->name != call->name)
            reading->parent[call->name] = open[depth - 1]->name;
        if (depth < sizeof open / sizeof *open)
            open[depth++] = call;
    }
}

/* Blocks of the model in the order in which they first began, as process records for the drawing of a tree. */
static int order(struct reading *reading, struct gt_process_tree_row **place)
{
    struct gt_process_records records = {0};
    int status = 0;
    for (size_t i = 0; !status && i < reading->calls->count; i++) {
        const struct gt_interval *call = &reading->calls->interval[i];
        uint32_t parent = reading->parent[call->name];
        if (reading->number[call->name] != GT_MAP_ABSENT)
            continue;
        struct gt_process_record record = {.number = records.count,
                                           .pid = (pid_t)call->name + 1,
                                           .parent = parent == GT_MAP_ABSENT ? 0 : (pid_t)parent + 1,
                                           .begin = call->start};
        reading->number[call->name] = (uint32_t)records.count;
        status = gt_process_records_add(&records, &record);
    }
    if (!status)
        status = gt_process_tree(place, &records);
    struct gt_view_block *block = calloc(records.count + 1, sizeof *block);
    reading->model->block = block;
    status = block ? status : -ENOMEM;
    for (size_t i = 0; !status && i < records.count; i++) {
        const struct gt_process_record *record = &records.record[(*place)[i].record];
        block[i] = (struct gt_view_block){
            .depth = (*place)[i].depth, .open = (*place)[i].open, .now = NAN, .least = NAN, .most = NAN};
        gt_shorten(block[i].name, sizeof block[i].name,
                   gt_strings_text(&reading->list->names, (size_t)record->pid - 1));
        reading->number[record->pid - 1] = (uint32_t)i;
    }
    reading->model->block_count = status < 0 ? 0 : records.count;
    gt_process_records_release(&records);
    return status;
}

static int fill(struct reading *reading)
{
    size_t names = reading->list->names.count;
    struct gt_process_tree_row *place = NULL;
    reading->number = malloc((names + 1) * sizeof *reading->number);
    reading->parent = malloc((names + 1) * sizeof *reading->parent);
    int status = reading->number && reading->parent ? 0 : -ENOMEM;
    for (size_t i = 0; !status && i < names; i++)
        reading->number[i] = reading->parent[i] = GT_MAP_ABSENT;
    if (!status) {
        find_parents(reading);
        qsort(reading->calls->interval, reading->calls->count, sizeof *reading->calls->interval, by_start);
        status = order(reading, &place);
    }
    for (size_t i = 0; !status && i < reading->calls->count; i++)
        note_call(reading, &reading->calls->interval[i]);
    free(place);
    free(reading->number);
    free(reading->parent);
    return status;
}

/* The blocks that the job has marked up to a moment. Both are times of day in seconds: the begin of the recording, and the moment. */
static int read_blocks(struct gt_view_model *model, const char *path, double begin, double at, struct gt_error *error)
{
    struct gt_block_event_list list = {0};
    struct gt_intervals calls = {0};
    struct reading reading = {.model = model, .list = &list, .calls = &calls, .begin = begin, .at = at};
    free(model->block);
    model->block = NULL;
    model->block_count = model->call_count = 0;
    int status = add_files(&list, path, error);
    if (status > 0) {
        size_t kept = 0;
        for (size_t i = 0; i < list.count; i++) /* events after a past moment are unknown at that moment */
            if (!model->is_past || list.event[i].timestamp <= at)
                list.event[kept++] = list.event[i];
        list.count = kept;
        status = gt_intervals_pair(&calls, list.event, list.count);
        if (status >= 0)
            status = gt_intervals_close(&calls, INFINITY, INFINITY);
        if (status >= 0 && calls.count)
            status = fill(&reading);
        if (status < 0)
            status = gt_error_system(error, -status, "%s", path);
    }
    gt_intervals_release(&calls);
    gt_block_event_list_release(&list);
    return status < 0 ? status : 0;
}

/* ---- The reader ---- */

static const char *const wanted[] = {
    "combined_ram",
    "combined_ram_peak",
    "combined_swap",
    "cpu_combined_sum_utilization_percent",
    "combined_cpu_time",
    "combined_processes",
    "combined_n_threads",
    "combined_cpu_energy",
    "combined_gpu_energy",
    "combined_energy",
    "combined_read_bytes",
    "combined_written_bytes",
    "system_pressure_io",
    "system_gpu_lost",
    "system_gpu_xid",
    "system_gpu_ecc_uncorrected",
    "gpu_sum_utilization_percent",
};
enum { WANTED = sizeof wanted / sizeof *wanted };
static const int64_t SHORTEST_SPAN_NS = GT_SECOND / 100;

struct gt_view_reader {
    char *path;
    struct gt_view_model model;
    struct gt_recording_place place;
    struct gt_block_progress *progress; /* NULL: nobody has looked for it */
    struct stat file;
    char alone_block[96];
    pid_t alone_pid;
    bool wants_blocks, has_asked, has_begun, has_sample;
    double earlier;                  /* as of the model; once has_asked */
    int64_t begin_ns, begin_real_ns; /* monotonic and time of day of the begin */
    double ecc_before;               /* ECC errors of the first sample */
    double period;
    int gpus;                     /* of the job; 0: none */
    double *value;                /* [lines of the course] */
    struct gt_sample_copy sample; /* the last one up to the moment shown */
    struct gt_course_rate energy_cpu, energy_gpu, bytes;
    double until;                   /* the moment wanted the last time */
    double reached;                 /* moment of `sample` */
    double last;                    /* of the last sample of the recording that was seen */
    int64_t last_real_ns, epoch_ns; /* the time of day minus the monotonic clock */
};

int gt_view_reader_open(struct gt_view_reader **ret, const char *path, bool wants_blocks, struct gt_error *error)
{
    struct gt_view_reader *reader = calloc(1, sizeof *reader);
    if (!reader || !(reader->path = strdup(path))) {
        free(reader);
        return gt_error_system(error, ENOMEM, "%s", path);
    }
    reader->wants_blocks = wants_blocks;
    *ret = reader;
    return 0;
}

/* All but which file it is, and how long. */
static void forget(struct gt_view_reader *reader)
{
    struct gt_view_model *model = &reader->model;
    gt_course_release(model->course);
    gt_sample_copy_release(&reader->sample);
    free(model->gpu);
    free(model->process);
    free(model->block);
    free(model->call);
    gt_block_progress_close(reader->progress);
    free(reader->value);
    char block[sizeof reader->alone_block];
    memcpy(block, reader->alone_block, sizeof block);
    *reader = (struct gt_view_reader){.path = reader->path,
                                      .wants_blocks = reader->wants_blocks,
                                      .alone_pid = reader->alone_pid,
                                      .has_asked = reader->has_asked,
                                      .earlier = reader->earlier,
                                      .file = reader->file,
                                      .last = reader->last,
                                      .last_real_ns = reader->last_real_ns,
                                      .epoch_ns = reader->epoch_ns};
    memcpy(reader->alone_block, block, sizeof block);
}

void gt_view_reader_close(struct gt_view_reader *reader)
{
    if (!reader)
        return;
    forget(reader);
    free(reader->path);
    free(reader);
}

void gt_view_reader_look_at(struct gt_view_reader *reader, const char *block, pid_t pid)
{
    if (reader->alone_pid != pid) {
        reader->alone_pid = pid;
        forget(reader); /* it is read from the start again */
    }
    snprintf(reader->alone_block, sizeof reader->alone_block, "%s", block);
}

const struct gt_view_model *gt_view_reader_model(const struct gt_view_reader *reader)
{
    return &reader->model;
}

/* ---- Samples ----------------------------------------------------------------------------------------------------- */

static double smaller(double limit, double known)
{
    return limit > 0 && !(known <= limit) ? limit : known;
}

void gt_view_take_limits(struct gt_view_model *model, const struct gt_machine *machine)
{
    const struct gt_limit *limit = machine->limit;
    double ram = machine->ram_capacity > 0 ? machine->ram_capacity : NAN;
    model->ram_capacity = smaller(limit[GT_LIMIT_MEMORY].value, smaller(limit[GT_LIMIT_GROUP_MEMORY].value, ram));
    model->cores = smaller(limit[GT_LIMIT_CORES].value, machine->core_count > 0 ? machine->core_count : NAN);
    model->time_limit = limit[GT_LIMIT_TIME].value;
}

/* What no sample has told is not known. */
void gt_view_forget_figures(struct gt_view_model *model)
{
    model->ram = model->ram_peak = model->swap = model->cpu = model->cpu_mean = model->gpu_busy = NAN;
    model->power = model->cpu_power = model->gpu_power = model->energy = NAN;
    model->disk = model->disk_read = model->disk_written = model->disk_wait = NAN;
    model->gpus_lost = model->gpu_xid = model->gpu_ecc = NAN;
    model->progress.left = model->earlier = NAN;
}

static int set_up(struct gt_view_reader *reader, const struct gt_machine *machine, struct gt_error *error)
{
    struct gt_view_model *model = &reader->model;
    size_t lines = GT_VIEW_LINES + 2 * machine->gpu_length + GT_VIEW_ALONE_LINES;
    model->gpu_count = machine->gpu_length;
    model->gpu = calloc(machine->gpu_length + 1, sizeof *model->gpu);
    reader->value = calloc(lines, sizeof *reader->value);
    model->course = gt_course_new(SHORTEST_SPAN_NS, GT_COURSE_SPANS, lines, false);
    if (!model->gpu || !reader->value || !model->course)
        return gt_error_system(error, ENOMEM, "%s", reader->path);
    snprintf(model->command, sizeof model->command, "%s", machine->command);
    snprintf(model->host, sizeof model->host, "%s", machine->host);
    if (machine->pid > 0)
        snprintf(model->pid_text, sizeof model->pid_text, "%d", (int)machine->pid);
    gt_view_take_limits(model, machine);
    for (size_t i = 0; i < machine->gpu_length; i++) {
        model->gpu[i] = (struct gt_view_gpu){"", NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
        gt_shorten(model->gpu[i].name, sizeof model->gpu[i].name, machine->gpu[i].name);
        model->gpu[i].capacity = machine->gpu[i].memory > 0 ? machine->gpu[i].memory : NAN;
    }
    gt_view_forget_figures(model);
    if (reader->wants_blocks && !reader->has_asked)
        reader->earlier = gt_past_runs_usual(model->command, NULL, model->host);
    model->earlier = reader->wants_blocks ? reader->earlier : NAN;
    reader->has_asked = true;
    reader->period = model->period = machine->period > 0 ? machine->period : 0;
    reader->begin_real_ns = machine->start_real_ns;
    reader->gpus = machine->gpu_count <= 0 ? 0 : machine->expected_gpus > 0 ? machine->expected_gpus : 1;
    return 0;
}

static void begin_with(struct gt_view_reader *reader, const struct gt_sample *sample)
{
    int64_t since = sample->real_ns - reader->begin_real_ns;
    bool is_told = reader->begin_real_ns > 0 && since >= 0 && since < 3600 * GT_SECOND;
    reader->begin_ns = sample->monotonic_ns - (is_told ? since : 0);
    reader->begin_real_ns = sample->real_ns - (is_told ? since : 0);
    gt_course_rate_init(&reader->energy_cpu);
    gt_course_rate_init(&reader->energy_gpu);
    gt_course_rate_init(&reader->bytes);
    reader->ecc_before = sample->row[GT_SCOPE_SYSTEM].value[GT_GPU_ECC_UNCORRECTED];
    reader->has_begun = true;
}

/* The sum of what is known. */
static double sum_of(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

static void take_gpu(struct gt_view_reader *reader, const struct gt_row *row)
{
    struct gt_view_gpu *gpu = &reader->model.gpu[row->device];
    gpu->busy = row->value[GT_GPU_UTILIZATION];
    gpu->ram = row->value[GT_GPU_RAM];
    gpu->power = row->value[GT_GPU_POWER];
    gpu->temperature = row->value[GT_GPU_TEMPERATURE];
    gpu->throttle = row->value[GT_GPU_THROTTLE];
    gpu->lost = row->value[GT_GPU_LOST];
    gpu->xid = row->value[GT_GPU_XID];
    gpu->ecc = row->value[GT_GPU_ECC_UNCORRECTED];
    reader->value[GT_VIEW_LINES + 2 * (size_t)row->device] = gpu->busy;
    reader->value[GT_VIEW_LINES + 2 * (size_t)row->device + 1] = gpu->ram;
}

static void take_rates(struct gt_view_reader *reader, const double *job, double at)
{
    struct gt_view_model *model = &reader->model;
    model->cpu_power = gt_course_rate_next(&reader->energy_cpu, at, job[GT_CPU_ENERGY]);
    model->gpu_power = gt_course_rate_next(&reader->energy_gpu, at, job[GT_GPU_ENERGY]);
    model->power = sum_of(model->cpu_power, model->gpu_power);
    model->disk_read = job[GT_READ_BYTES];
    model->disk_written = job[GT_WRITTEN_BYTES];
    model->disk = gt_course_rate_next(&reader->bytes, at, sum_of(model->disk_read, model->disk_written));
}

static int take(struct gt_view_reader *reader, const struct gt_sample *sample, double at)
{
    struct gt_view_model *model = &reader->model;
    const double *job = sample->row[GT_SCOPE_COMBINED].value, *system = sample->row[GT_SCOPE_SYSTEM].value;
    for (size_t i = 0; i < model->course->lines; i++)
        reader->value[i] = NAN;
    take_rates(reader, job, at);
    model->at = at;
    model->ram = job[GT_RAM];
    model->ram_peak = fmax(model->ram_peak, fmax(job[GT_RAM], job[GT_RAM_PEAK]));
    model->swap = job[GT_SWAP];
    model->cpu = job[GT_CPU_UTILIZATION];
    model->cpu_mean = job[GT_CPU_TIME] / at;
    model->energy = job[GT_ENERGY];
    model->disk_wait = system[GT_PRESSURE_IO] / at;
    model->gpus_lost = system[GT_GPU_LOST];
    model->gpu_xid = system[GT_GPU_XID];
    model->gpu_ecc = system[GT_GPU_ECC_UNCORRECTED] - reader->ecc_before;
    model->gpu_busy = reader->gpus > 0 ? fmin(1, system[GT_GPU_UTILIZATION] / reader->gpus) : NAN;
    reader->value[GT_VIEW_RAM] = model->ram;
    reader->value[GT_VIEW_CPU] = model->cpu;
    reader->value[GT_VIEW_POWER] = model->power;
    reader->value[GT_VIEW_DISK] = model->disk;
    double *alone = reader->value + GT_VIEW_LINES + 2 * model->gpu_count;
    for (size_t i = 0; i < sample->row_count; i++) {
        const struct gt_row *row = &sample->row[i];
        if (row->scope == GT_SCOPE_GPU && row->device >= 0 && (size_t)row->device < model->gpu_count)
            take_gpu(reader, row);
        if (row->scope != GT_SCOPE_PROCESS || row->pid != reader->alone_pid)
            continue;
        alone[GT_VIEW_ALONE_CPU] = row->value[GT_CPU_UTILIZATION];
        alone[GT_VIEW_ALONE_RAM] = row->value[GT_RAM];
        alone[GT_VIEW_ALONE_GPU] = row->value[GT_GPU_RAM];
    }
    return gt_course_take(model->course, sample->monotonic_ns - reader->begin_ns, reader->value);
}

/* ---- Processes --------------------------------------------------------------------------------------------------- */

static void fill_process(struct gt_view_process *process, const struct gt_row *row)
{
    process->cpu = row->value[GT_CPU_UTILIZATION];
    process->cpu_time = NAN;
    process->ram = row->value[GT_RAM];
    process->peak = row->value[GT_RAM_PEAK];
    process->gpu_ram = row->value[GT_GPU_RAM];
    process->threads = row->value[GT_THREADS];
    process->read = row->value[GT_READ_BYTES];
    process->written = row->value[GT_WRITTEN_BYTES];
}

/* A list with a record for each process of the last sample, in the same order. */
static int live_now(struct gt_process_records *ret, const struct gt_view_reader *reader,
                    const struct gt_process_records *records)
{
    const struct gt_sample *sample = &reader->sample.sample;
    for (size_t i = 0; i < sample->row_count; i++) {
        const struct gt_row *row = &sample->row[i];
        struct gt_process_record record = {.pid = row->pid, .parent = row->parent, .begin = NAN};
        if (row->scope != GT_SCOPE_PROCESS)
            continue;
        for (size_t k = 0; k < records->count; k++)
            if (records->record[k].pid == row->pid &&
                (!records->record[k].start || records->record[k].start == row->start))
                record = records->record[k];
        record.number = i; /* where its figures are */
        if (gt_process_records_add(ret, &record) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int take_processes(struct gt_view_reader *reader, const struct gt_process_records *records)
{
    struct gt_view_model *model = &reader->model;
    struct gt_process_records now = {0};
    struct gt_process_tree_row *place = NULL;
    model->has_ended_processes = model->state == GT_VIEW_ENDED && !model->is_past && records->count > 0;
    int status = model->has_ended_processes ? 0 : live_now(&now, reader, records);
    for (size_t i = 0; !status && model->has_ended_processes && i < records->count; i++)
        status = gt_process_records_add(&now, &records->record[i]);
    gt_process_records_sort(&now);
    if (!status)
        status = gt_process_tree(&place, &now);
    free(model->process);
    model->process = calloc(now.count + 1, sizeof *model->process);
    model->process_count = model->process && !status ? now.count : 0;
    for (size_t i = 0; i < model->process_count; i++) {
        const struct gt_process_record *record = &now.record[place[i].record];
        struct gt_view_process *process = &model->process[i];
        *process = (struct gt_view_process){.pid = record->pid,
                                            .depth = place[i].depth,
                                            .open = place[i].open,
                                            .cpu_time = record->cpu_time,
                                            .peak = record->ram_peak,
                                            .cpu = NAN,
                                            .ram = NAN,
                                            .gpu_ram = NAN,
                                            .threads = NAN,
                                            .read = NAN,
                                            .written = NAN};
        memcpy(process->name, record->name, sizeof process->name);
        memcpy(process->command, record->command, sizeof process->command);
        process->age = (model->has_ended_processes && !isnan(record->end) ? record->end : model->at) - record->begin;
        if (!model->has_ended_processes)
            fill_process(process, &reader->sample.sample.row[record->number]);
    }
    free(place);
    gt_process_records_release(&now);
    return status < 0 || !model->process ? -ENOMEM : 0;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* From where it was read to last time, or from the start. */
static int seek(struct gt_view_reader *reader, struct gt_recording *recording, struct gt_error *error)
{
    int status = gt_recording_columns(recording, wanted, WANTED, error);
    if (status >= 0)
        status = gt_recording_detail(recording, true);
    if (status >= 0 && reader->has_begun && gt_recording_begin_after(recording, &reader->place) < 0)
        forget(reader); /* it is read from its start each time */
    if (status >= 0 && !reader->model.course)
        status = set_up(reader, gt_recording_machine(recording), error);
    return status;
}

/* Samples up to the one that is nearest to `until`. Those behind it are left for later. 1: there was one. */
static int read_samples(struct gt_view_reader *reader, struct gt_recording *recording, double until,
                        struct gt_error *error)
{
    const struct gt_sample *sample;
    struct gt_error bad = {0};
    int status, news = 0;
    while ((status = gt_recording_next(recording, &sample, &bad)) > 0 || status == -EBADMSG) {
        if (status < 0)
            continue;
        if (!reader->has_begun)
            begin_with(reader, sample);
        double at = (double)(sample->monotonic_ns - reader->begin_ns) / GT_SECOND;
        reader->last = fmax(reader->last, at);
        reader->last_real_ns = sample->real_ns;
        reader->epoch_ns = sample->real_ns - sample->monotonic_ns;
        if (at > until && reader->has_sample && at - until >= fabs(until - reader->reached))
            break;
        if (take(reader, sample, at) < 0 || gt_sample_copy_set(&reader->sample, sample) < 0)
            return gt_error_system(error, ENOMEM, "%s", reader->path);
        reader->reached = at;
        gt_recording_place(recording, &reader->place);
        reader->has_sample = true;
        news = 1;
    }
    return status < 0 ? gt_error_copy(error, &bad) : news;
}

static void take_state(struct gt_view_reader *reader, const struct gt_outcome *outcome, int64_t now_ns)
{
    struct gt_view_model *model = &reader->model;
    double overdue = gt_machine_overdue(reader->period);
    model->whole = reader->last;
    model->exit_status = -1;
    model->silence = (double)(now_ns - reader->last_real_ns) / GT_SECOND;
    model->state = !reader->has_begun ? GT_VIEW_WAITING : model->silence > overdue ? GT_VIEW_SILENT : GT_VIEW_RUNNING;
    if (!outcome || !outcome->complete)
        return;
    model->state = GT_VIEW_ENDED;
    model->exit_status = outcome->exit_status;
    model->ending = outcome->ending;
    model->whole = isnan(outcome->elapsed) ? reader->last : outcome->elapsed;
}

/* The end of a job that ended has its last figures. */
static void take_end(struct gt_view_reader *reader, const struct gt_outcome *outcome, double until)
{
    struct gt_view_model *model = &reader->model;
    model->is_past = until < reader->last;
    if (model->is_past)
        model->at = until;
    if (model->state != GT_VIEW_ENDED || model->is_past)
        return;
    const double *job = outcome->value[GT_SCOPE_COMBINED];
    model->at = model->whole;
    model->ram_peak = fmax(model->ram_peak, job[GT_RAM_PEAK]);
    if (!isnan(job[GT_CPU_TIME]) && model->whole > 0)
        model->cpu_mean = job[GT_CPU_TIME] / model->whole;
    model->energy = isnan(job[GT_ENERGY]) ? model->energy : job[GT_ENERGY];
}

static void take_progress(struct gt_view_reader *reader, int64_t now_ns)
{
    char folder[PATH_MAX];
    struct gt_view_model *model = &reader->model;
    model->progress = (struct gt_progress){.left = NAN};
    if (model->state != GT_VIEW_RUNNING || model->is_past)
        return;
    if (!reader->progress && gt_block_event_folder(folder, sizeof folder, reader->path) >= 0)
        reader->progress = gt_block_progress_open(folder);
    if (!reader->progress)
        return;
    gt_block_progress_read(reader->progress);
    model->progress = gt_block_progress_at(reader->progress, (double)now_ns / GT_SECOND);
}

/* Of a job that runs they are told up to now: the last sample is a while ago. */
static int take_blocks(struct gt_view_reader *reader, int64_t now_ns, struct gt_error *error)
{
    struct gt_view_model *model = &reader->model;
    double begin = (double)reader->begin_real_ns / GT_SECOND;
    bool is_now = model->state == GT_VIEW_RUNNING && !model->is_past;
    take_progress(reader, now_ns);
    model->block_at = is_now ? (double)now_ns / GT_SECOND - begin : model->at;
    snprintf(model->alone, sizeof model->alone, "%s", reader->alone_block);
    return read_blocks(model, reader->path, begin, begin + model->block_at, error);
}

int gt_view_reader_update(struct gt_view_reader *reader, double until, int64_t now_ns, struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    struct stat file = {0};
    if (stat(reader->path, &file) < 0 || file.st_ino != reader->file.st_ino || file.st_dev != reader->file.st_dev) {
        reader->last = 0;
        forget(reader);
    }
    if (file.st_ino)
        reader->file = file;
    if (reader->has_begun && until < reader->until)
        forget(reader);
    reader->until = until;
    int status = gt_recording_open(&recording, reader->path, error);
    if (status >= 0)
        status = seek(reader, recording, error);
    if (status >= 0)
        status = read_samples(reader, recording, until, error);
    if (status >= 0) {
        const struct gt_outcome *outcome = gt_recording_outcome(recording);
        const struct gt_process_records *records = gt_recording_process_records(recording);
        take_state(reader, outcome, now_ns - gt_recording_clock_set(gt_recording_machine(recording), reader->epoch_ns));
        take_end(reader, outcome, until);
        int taken = take_processes(reader, records);
        reader->model.has_detail = reader->model.process_count;
        status = taken < 0 ? gt_error_system(error, ENOMEM, "%s", reader->path) : status;
    }
    gt_recording_close(recording);
    if (status >= 0 && reader->has_begun && reader->wants_blocks) {
        int blocks = take_blocks(reader, now_ns, error);
        status = blocks < 0 ? blocks : status;
    }
    return status;
}
