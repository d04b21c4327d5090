/* Timelines: what metadata events and members beside the events mean, and where each event belongs. */
#include <errno.h>

#include "trace/pair.h"

struct timeline {
    struct gt_reading *reading;
    const struct gt_timeline_options *options;
    struct gt_pairing *pairing;
};

/* args.<key> of a metadata event; {NULL} when there is none. */
static struct gt_span argument(const struct gt_raw_event *item, const char *wanted)
{
    struct gt_walk walk;
    struct gt_span key, value, found = {0};
    if (!item->args.text || *item->args.text != '{')
        return found;
    gt_walk_open(&walk, item->args);
    while (gt_walk_member(&walk, &key, &value) > 0)
        if (gt_span_is(key, wanted))
            found = value;
    return found;
}

static int take_name(struct gt_reading *reading, struct gt_span value, uint32_t *ret)
{
    int64_t number = gt_reading_string(reading, gt_span_unquoted(value));
    if (number < 0)
        return (int)number;
    *ret = (uint32_t)number;
    return 0;
}

static int take_process(struct timeline *timeline, const struct gt_raw_event *item)
{
    struct gt_reading *reading = timeline->reading;
    struct gt_span base = argument(item, "start_time_since_epoch_in_micros"), name = argument(item, "name"),
                   labels = argument(item, "labels"), sort = argument(item, "sort_index");
    int64_t number, process;
    int status = 0;
    if (base.text && gt_span_decimal(base, 3, &number) >= 0)
        status = gt_reading_base(reading, number, GT_CLOCK_RECORD);
    if (status < 0 || (!name.text && !labels.text && !sort.text))
        return status;
    process = gt_reading_process(reading, item->pid);
    if (process < 0)
        return (int)process;
    struct gt_trace_process *about = &reading->trace->process[process];
    if (name.text && gt_span_is(item->name, "process_name"))
        status = take_name(reading, name, &about->name);
    if (labels.text && gt_span_is(item->name, "process_labels"))
        status = take_name(reading, labels, &about->label);
    if (sort.text && gt_span_is(item->name, "process_sort_index") && gt_span_decimal(sort, 0, &number) >= 0)
        about->sort = number;
    return status;
}

static int take_thread(struct timeline *timeline, const struct gt_raw_event *item)
{
    struct gt_reading *reading = timeline->reading;
    struct gt_span name = argument(item, "name"), sort = argument(item, "sort_index");
    int64_t number, track = gt_reading_track(reading, item->pid, item->tid, (struct gt_span){0});
    if (track < 0)
        return (int)track;
    if (sort.text && gt_span_is(item->name, "thread_sort_index") && gt_span_decimal(sort, 0, &number) >= 0)
        reading->trace->track[track].sort = number;
    return name.text && gt_span_is(item->name, "thread_name")
               ? take_name(reading, name, &reading->trace->track[track].name)
               : 0;
}

static int place(struct timeline *timeline, const struct gt_raw_event *item, uint8_t flag)
{
    bool renames = timeline->options->labels_rename;
    struct gt_span label = renames && item->label.text && item->label.length ? item->label : item->name;
    struct gt_span tid = renames && item->real_tid.text ? item->real_tid : item->tid;
    int64_t track = gt_reading_track(timeline->reading, item->pid, tid, renames ? item->real_pid : (struct gt_span){0});
    return track < 0 ? (int)track : gt_reading_event(timeline->reading, item, label, (uint32_t)track, flag);
}

static int take_metadata(struct timeline *timeline, const struct gt_raw_event *item)
{
    if (gt_span_is(item->name, "process_name") || gt_span_is(item->name, "process_labels") ||
        gt_span_is(item->name, "process_sort_index"))
        return take_process(timeline, item);
    if (gt_span_is(item->name, "thread_name") || gt_span_is(item->name, "thread_sort_index"))
        return take_thread(timeline, item);
    return place(timeline, item, 0);
}

static int take_whole(void *context, const struct gt_raw_event *item, uint8_t flag)
{
    return place(context, item, flag);
}

/* SMDebug's own writer makes whole events only: lanes are for the others, where they are the tracks. */
static int keep_time(struct timeline *timeline, const struct gt_raw_event *item, uint32_t lane)
{
    int64_t end;
    if (!(item->has & GT_RAW_EVENT_TIME) || __builtin_add_overflow(item->start, item->duration, &end))
        return 0;
    return gt_pairing_time(timeline->pairing, lane, end);
}

static int take_item(void *context, struct gt_raw_event *item, struct gt_error *error)
{
    (void)error;
    struct timeline *timeline = context;
    bool is_half = item->phase == 'B' || item->phase == 'E';
    if (item->phase == 'M')
        return take_metadata(timeline, item);
    if (timeline->options->labels_rename && !is_half)
        return place(timeline, item, 0);
    int64_t lane = gt_reading_track(timeline->reading, item->pid, item->tid, (struct gt_span){0});
    int status = lane < 0 ? (int)lane : keep_time(timeline, item, (uint32_t)lane);
    if (status < 0)
        return status;
    if (!is_half)
        return gt_reading_event(timeline->reading, item, item->name, (uint32_t)lane, 0);
    return item->phase == 'B' ? gt_pairing_begin(timeline->pairing, item, (uint32_t)lane)
                              : gt_pairing_end(timeline->pairing, item, (uint32_t)lane);
}

static int take_distributed(struct gt_reading *reading, struct gt_span value)
{
    struct gt_walk walk;
    struct gt_span key, inner;
    int64_t rank;
    if (gt_walk_open(&walk, value) < 0 || *value.text != '{')
        return 0;
    while (gt_walk_member(&walk, &key, &inner) > 0)
        if (gt_span_is(key, "rank") && gt_span_decimal(inner, 0, &rank) >= 0)
            return gt_reading_rank(reading, rank);
    return 0;
}

/* Kineto's list of GPUs: how much memory there is. */
static void take_devices(struct gt_trace_file *file, struct gt_span value)
{
    struct gt_walk walk, device;
    struct gt_span each, key, inner;
    int64_t bytes;
    if (gt_walk_open(&walk, value) < 0 || *value.text != '[')
        return;
    while (gt_walk_element(&walk, &each) > 0) {
        if (gt_walk_open(&device, each) < 0 || *each.text != '{')
            continue;
        while (gt_walk_member(&device, &key, &inner) > 0)
            if (gt_span_is(key, "totalGlobalMem") && gt_span_decimal(inner, 0, &bytes) >= 0 && bytes > 0 &&
                (!file->device_bytes || bytes < file->device_bytes))
                file->device_bytes = bytes;
    }
}

static int take_member(void *context, struct gt_span key, struct gt_span value, struct gt_error *error)
{
    (void)error;
    struct timeline *timeline = context;
    int64_t base;
    if (gt_span_is(key, "baseTimeNanoseconds") && gt_span_decimal(value, 0, &base) >= 0)
        return gt_reading_base(timeline->reading, base, GT_CLOCK_RECORD);
    if (gt_span_is(key, "distributedInfo"))
        return take_distributed(timeline->reading, value);
    if (gt_span_is(key, "deviceProperties"))
        take_devices(gt_reading_file(timeline->reading), value);
    return 0;
}

/* Times of our age count from the epoch although no base says so. */
static void judge_clock(struct gt_trace_file *file)
{
    const int64_t year_2000 = INT64_C(946684800) * 1000000000;
    if (file->clock == GT_CLOCK_UNKNOWN && file->first != INT64_MAX && file->first >= year_2000)
        file->clock = GT_CLOCK_RECORD;
}

int gt_timeline_read(struct gt_reading *reading, const char *path, const struct gt_timeline_options *options,
                     struct gt_error *error)
{
    struct timeline timeline = {reading, options, NULL};
    struct gt_pair_receiver whole = {&timeline, take_whole};
    struct gt_raw_event_receiver receiver = {&timeline, take_item, take_member};
    struct gt_trace_damage damage = {0};
    struct gt_input *input = NULL;
    uint64_t bytes = 0;
    int status = gt_input_open(&input, path, reading->options->ceiling, error);
    if (status >= 0)
        status = gt_pairing_open(&timeline.pairing, reading, &whole);
    if (status >= 0)
        status = gt_raw_event_stream(input, &receiver, gt_reading_threads(reading, gt_input_size(input)),
                                     reading->options->block, &damage, &bytes, error);
    if (status >= 0)
        status = gt_pairing_finish(timeline.pairing);
    struct gt_trace_file *file = gt_reading_file(reading);
    gt_damage_add(&file->damage, &damage);
    file->bytes = bytes;
    if (status >= 0)
        judge_clock(file);
    gt_pairing_close(timeline.pairing);
    gt_input_close(input);
    return status;
}
