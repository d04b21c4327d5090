/* Timelines of the Trace Event Format: their metadata, where each event belongs, and the pairing of B with E by
 * process and thread, innermost first, within one file and in its order. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/grow.h"
#include "trace/format.h"
#include "trace/input/torn.h"
#include "trace/pairing.h"
#include "trace/shapes.h"

struct timeline {
    struct gt_reading *reading;
    bool labels_rename;
    struct gt_pairing pairing; /* a lane for each track of the file */
    struct gt_buffer args;
    bool has_items;
};

/* ---- metadata, and the places of events ---- */

static int take_name(struct gt_reading *reading, struct gt_span value, uint32_t *ret)
{
    int64_t number = gt_reading_string(reading, gt_span_unquoted(value));
    if (number < 0)
        return (int)number;
    *ret = (uint32_t)number;
    return 0;
}

/* A number of 0 to 2^31-1, or -1. */
static int32_t number_of(struct gt_span text)
{
    int64_t number;
    bool is_number = text.text && gt_span_decimal(text, 0, &number) >= 0 && number >= 0 && number <= INT32_MAX;
    return is_number ? (int32_t)number : -1;
}

static int take_process(struct timeline *timeline, const struct gt_raw_event *item)
{
    struct gt_reading *reading = timeline->reading;
    struct gt_span base = {0}, name = {0}, labels = {0}, sort = {0}, node = {0}, own = {0}, rank = {0}, source = {0};
    int64_t number, process;
    int status = 0;
    GT_FIND(item->args, {"start_time_since_epoch_in_micros", &base}, {"name", &name}, {"labels", &labels},
            {"sort_index", &sort}, {"node", &node}, {"source_pid", &own}, {"rank", &rank}, {"source", &source});
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
    if (node.text && *node.text == '"' && status >= 0)
        status = gt_reading_process_node(reading, (uint32_t)process, node, number_of(rank), number_of(source));
    if (own.text && *own.text == '"' && status >= 0)
        status = take_name(reading, own, &about->own);
    if (labels.text && gt_span_is(item->name, "process_labels"))
        status = take_name(reading, labels, &about->label);
    if (sort.text && gt_span_is(item->name, "process_sort_index") && gt_span_decimal(sort, 0, &number) >= 0)
        about->sort = number;
    return status;
}

static int take_thread(struct timeline *timeline, const struct gt_raw_event *item)
{
    struct gt_reading *reading = timeline->reading;
    struct gt_span name = {0}, sort = {0};
    int64_t number, track = gt_reading_track(reading, item->pid, item->tid, (struct gt_span){0});
    GT_FIND(item->args, {"name", &name}, {"sort_index", &sort});
    if (track < 0)
        return (int)track;
    if (sort.text && gt_span_is(item->name, "thread_sort_index") && gt_span_decimal(sort, 0, &number) >= 0)
        reading->trace->track[track].sort = number;
    return name.text && gt_span_is(item->name, "thread_name")
               ? take_name(reading, name, &reading->trace->track[track].name)
               : 0;
}

/* The track that an event is shown on. */
static int64_t track_of(const struct timeline *timeline, const struct gt_raw_event *item)
{
    bool renames = timeline->labels_rename;
    struct gt_span tid = renames && item->real_tid.text ? item->real_tid : item->tid;
    return gt_reading_track(timeline->reading, item->pid, tid, renames ? item->real_pid : (struct gt_span){0});
}

static int place(struct timeline *timeline, const struct gt_raw_event *item, uint8_t flag)
{
    bool renames = timeline->labels_rename;
    struct gt_span label = renames && item->label.text && item->label.length ? item->label : item->name;
    int64_t track = track_of(timeline, item);
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

/* ---- pairing B with E ---- */

/* The lane of a track of the file. */
static uint32_t lane_of(const struct timeline *timeline, uint32_t track)
{
    return track - gt_reading_file(timeline->reading)->track;
}

static bool is_member(struct gt_span object, struct gt_span wanted)
{
    struct gt_walk walk;
    struct gt_span key, value;
    if (gt_walk_open(&walk, object) < 0)
        return false;
    while (gt_walk_member(&walk, &key, &value) > 0)
        if (gt_span_same(key, wanted))
            return true;
    return false;
}

/* The arguments of both; where both have one, that of E. */
static int unite(struct timeline *timeline, struct gt_raw_event *begin, struct gt_span end)
{
    struct gt_walk walk;
    struct gt_span key, value;
    if (!end.text || *end.text != '{')
        return 0;
    if (!begin->args.text || *begin->args.text != '{') {
        begin->args = end;
        return 0;
    }
    gt_buffer_clear(&timeline->args);
    gt_buffer_char(&timeline->args, '{');
    for (int side = 0; side < 2; side++) {
        gt_walk_open(&walk, side ? end : begin->args);
        while (gt_walk_member(&walk, &key, &value) > 0) {
            if (side == 0 && is_member(end, key))
                continue;
            if (timeline->args.length > 1)
                gt_buffer_char(&timeline->args, ',');
            gt_buffer_char(&timeline->args, '"');
            gt_buffer_append(&timeline->args, key.text, key.length);
            gt_buffer_append(&timeline->args, "\":", 2);
            gt_buffer_append(&timeline->args, value.text, value.length);
        }
    }
    gt_buffer_char(&timeline->args, '}');
    begin->args = (struct gt_span){timeline->args.data, timeline->args.length};
    return timeline->args.failed;
}

/* Returns the last time of the track that an event is shown on. */
static int64_t last_of_track(struct timeline *timeline, const struct gt_raw_event *item)
{
    int64_t track = track_of(timeline, item);
    const struct gt_lane *lane = track < 0 ? NULL
                                           : gt_pairing_lane(&timeline->pairing, lane_of(timeline, (uint32_t)track));
    return lane ? lane->last : INT64_MIN;
}

/* `args` of what closes it, or none. */
static int close_one(struct timeline *timeline, size_t open, int64_t end, struct gt_span args, uint8_t flag)
{
    struct gt_open_event begin = gt_pairing_end(&timeline->pairing, open);
    struct gt_raw_event item;
    int status = gt_raw_event_parse(&item, (struct gt_span){begin.text, begin.length});
    if (status == 0)
        status = unite(timeline, &item, args);
    if (status == 0) {
        gt_raw_event_arguments(&item);
        item.phase = 'X';
        int64_t last = flag & GT_TRACE_UNCLOSED ? last_of_track(timeline, &item) : end;
        end = last > end ? last : end;
        item.duration = end > item.start ? end - item.start : 0;
        status = place(timeline, &item, flag);
    }
    free(begin.text);
    return status;
}

static int begin_event(struct timeline *timeline, const struct gt_raw_event *item, uint32_t track)
{
    struct gt_open_event event = {.start = item->start,
                                  .lane = lane_of(timeline, track),
                                  .text = (char *)(uintptr_t)item->text.text,
                                  .length = item->text.length};
    int status = gt_pairing_begin(&timeline->pairing, &event);
    gt_reading_file(timeline->reading)->damage.unclosed += status > 0;
    return status < 0 ? status : 0;
}

static size_t latest_of_process(const struct timeline *timeline, uint32_t track)
{
    const struct gt_trace_track *tracks = timeline->reading->trace->track;
    const struct gt_pairing *pairing = &timeline->pairing;
    uint32_t first = gt_reading_file(timeline->reading)->track;
    for (size_t i = pairing->open_count; i-- > 0;)
        if (pairing->open[i].lane != GT_TRACE_NONE &&
            tracks[first + pairing->open[i].lane].process == tracks[track].process)
            return i;
    return GT_TRACE_NONE;
}

/* An E without a thread, and without a B of that, closes the latest B of its process. */
static int end_event(struct timeline *timeline, const struct gt_raw_event *item, uint32_t track)
{
    const struct gt_lane *lane = gt_pairing_lane(&timeline->pairing, lane_of(timeline, track));
    if (!lane)
        return -ENOMEM;
    size_t open = lane->top;
    if (open == GT_TRACE_NONE && !item->tid.text)
        open = latest_of_process(timeline, track);
    if (open == GT_TRACE_NONE || item->start < timeline->pairing.open[open].start) {
        gt_reading_file(timeline->reading)->damage.unopened++;
        return 0;
    }
    return close_one(timeline, open, item->start, item->args, GT_TRACE_PAIRED);
}

/* Events still open are handed on, flagged, up to the last time of their track, the innermost first. */
static int close_all(struct timeline *timeline)
{
    const struct gt_pairing *pairing = &timeline->pairing;
    int status = 0;
    while (pairing->open_count && status >= 0) {
        size_t last = pairing->open_count - 1;
        gt_reading_file(timeline->reading)->damage.unclosed++;
        status = close_one(timeline, last, pairing->lane[pairing->open[last].lane].last, (struct gt_span){0},
                           GT_TRACE_PAIRED | GT_TRACE_UNCLOSED);
    }
    return status;
}

static void release(struct timeline *timeline)
{
    gt_pairing_release(&timeline->pairing);
    gt_buffer_release(&timeline->args);
}

/* ---- a file ---- */

static int keep_time(struct timeline *timeline, const struct gt_raw_event *item, uint32_t track)
{
    int64_t end;
    if (!(item->has & GT_RAW_EVENT_TIME) || __builtin_add_overflow(item->start, item->duration, &end))
        return 0;
    return gt_pairing_see(&timeline->pairing, lane_of(timeline, track), end);
}

static int take_item(struct timeline *timeline, struct gt_raw_event *item)
{
    timeline->has_items = true;
    bool is_half = item->phase == 'B' || item->phase == 'E';
    if (item->phase == 'M')
        return take_metadata(timeline, item);
    /* An E may be without the arguments by which SMDebug names threads: halves are paired by tid. */
    int64_t lane = is_half ? gt_reading_track(timeline->reading, item->pid, item->tid, (struct gt_span){0})
                           : track_of(timeline, item);
    int status = lane < 0 ? (int)lane : keep_time(timeline, item, (uint32_t)lane);
    if (status < 0)
        return status;
    if (!is_half)
        return place(timeline, item, 0);
    return item->phase == 'B' ? begin_event(timeline, item, (uint32_t)lane) : end_event(timeline, item, (uint32_t)lane);
}

static int take_distributed(struct gt_reading *reading, struct gt_span value)
{
    enum { MOST_RANKS = 1 << 20 };
    struct gt_span rank = {0}, world = {0};
    int64_t number;
    GT_FIND(value, {"rank", &rank}, {"world_size", &world});
    if (world.text && gt_span_decimal(world, 0, &number) >= 0 && number > 0 && number <= MOST_RANKS)
        gt_reading_file(reading)->world = (int32_t)number;
    return rank.text && gt_span_decimal(rank, 0, &number) >= 0 ? gt_reading_rank(reading, number) : 0;
}

/* Kineto's list of GPUs: how much memory there is. */
static void take_devices(struct gt_trace_file *file, struct gt_span value)
{
    struct gt_walk walk = gt_walk_list(value);
    struct gt_span device;
    int64_t bytes;
    while (gt_walk_element(&walk, &device) > 0) {
        struct gt_span memory = {0};
        GT_FIND(device, {"totalGlobalMem", &memory});
        if (memory.text && gt_span_decimal(memory, 0, &bytes) >= 0 && bytes > 0 &&
            (!file->device_bytes || bytes < file->device_bytes))
            file->device_bytes = bytes;
    }
}

static int take_member(struct timeline *timeline, struct gt_span key, struct gt_span value)
{
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

/* ---- a stream of events ---- One thread reads and cuts, others parse, and the first again receives, batch after
 * batch in the order of the text. While the batch that is due is not ready, the first parses as well. */

enum { MOST_THREADS = 64, BATCHES_PER_THREAD = 2 };

enum stage { FREE, CUT, PARSING, PARSED };

struct job {
    struct gt_batch batch;
    struct gt_shapes *shapes;
    struct gt_raw_event *item; /* those that are events */
    uint32_t *of;              /* of which entry each is */
    size_t count, capacity;
    int status;
    enum stage stage;
};

struct stream {
    struct timeline *timeline; /* receives the events */
    struct gt_trace_damage *damage;
    struct job *job;
    size_t jobs;
    size_t received; /* batches, in all */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool ends;
};

struct stream_end {
    uint64_t bytes; /* of text */
    bool has_list;  /* the text has a list of events, possibly an empty one */
};

/* Room for one more. NULL without memory. */
static struct gt_raw_event *next_item(struct job *job)
{
    size_t capacity = job->capacity; /* of both arrays */
    if (job->count == capacity &&
        (GT_GROW_TO(job->item, capacity, job->count + 1) < 0 || GT_GROW_TO(job->of, job->capacity, job->count + 1) < 0))
        return NULL;
    return &job->item[job->count];
}

/* A damaged entry may hold several events, when a quote too many hid their borders: read what looks whole in it. */
static int salvage(struct job *job, struct gt_span text, size_t entry)
{
    size_t at = 0, end;
    struct gt_trace_damage *damage = &job->batch.damage;
    damage->bad_events++;
    gt_damage_note(damage, job->batch.offset + (uint64_t)(text.text - job->batch.text), "no event: %.*s",
                   (int)(text.length < 100 ? text.length : 100), text.text);
    uint64_t lost = text.length;
    while ((at = gt_torn_next(text.text, at + 1, text.length, true, &end, &damage->bad_events))) {
        struct gt_raw_event *item = next_item(job);
        if (!item)
            return -ENOMEM;
        if (gt_raw_event_parse(item, (struct gt_span){text.text + at, end - at}) == 0) {
            job->of[job->count++] = (uint32_t)entry;
            lost -= end - at;
        }
        at = end - 1;
    }
    damage->lost_bytes += lost;
    return 0;
}

static int parse(struct job *job)
{
    job->count = 0;
    if (!job->shapes && gt_shapes_open(&job->shapes) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < job->batch.count; i++) {
        const struct gt_scan_entry *entry = &job->batch.entry[i];
        if (entry->key_length != SIZE_MAX)
            continue;
        struct gt_span text = {job->batch.text + entry->value, entry->value_length};
        struct gt_raw_event *item = next_item(job);
        if (!item)
            return -ENOMEM;
        int status = gt_shapes_parse(job->shapes, item, text);
        if (!status)
            job->of[job->count++] = (uint32_t)i;
        else if (status < 0 && (status = salvage(job, text, i)) < 0)
            return status;
    }
    return 0;
}

/* Parse the batch that is due first among those that wait. The caller holds the mutex, which is released meanwhile.
 * False when none waits. */
static bool parse_one(struct stream *stream)
{
    struct job *job = NULL;
    for (size_t i = 0; i < stream->jobs && !job; i++) {
        struct job *next = &stream->job[(stream->received + i) % stream->jobs];
        job = next->stage == CUT ? next : NULL;
    }
    if (!job)
        return false;
    job->stage = PARSING;
    pthread_mutex_unlock(&stream->mutex);
    job->status = parse(job);
    pthread_mutex_lock(&stream->mutex);
    job->stage = PARSED;
    pthread_cond_broadcast(&stream->changed);
    return true;
}

static void *work(void *context)
{
    struct stream *stream = context;
    pthread_mutex_lock(&stream->mutex);
    while (!stream->ends)
        if (!parse_one(stream))
            pthread_cond_wait(&stream->changed, &stream->mutex);
    pthread_mutex_unlock(&stream->mutex);
    return NULL;
}

/* Members and events in their order. */
static int deliver(struct stream *stream, struct job *job, struct gt_error *error)
{
    struct timeline *timeline = stream->timeline;
    size_t next = 0;
    int status = job->status < 0 ? gt_error_system(error, -job->status, "reading a trace") : 0;
    gt_damage_add(stream->damage, &job->batch.damage);
    for (size_t i = 0; i < job->batch.count && status >= 0; i++) {
        const struct gt_scan_entry *entry = &job->batch.entry[i];
        const char *text = job->batch.text;
        if (entry->key_length != SIZE_MAX)
            status = take_member(timeline, (struct gt_span){text + entry->key, entry->key_length},
                                 (struct gt_span){text + entry->value, entry->value_length});
        for (; next < job->count && job->of[next] == i && status >= 0; next++)
            status = take_item(timeline, &job->item[next]);
    }
    return status;
}

static void put(struct stream *stream, struct job *job, enum stage stage)
{
    pthread_mutex_lock(&stream->mutex);
    job->stage = stage;
    stream->received += stage == FREE;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
}

static void wait_for(struct stream *stream, const struct job *job)
{
    pthread_mutex_lock(&stream->mutex);
    while (job->stage != PARSED)
        if (!parse_one(stream))
            pthread_cond_wait(&stream->changed, &stream->mutex);
    pthread_mutex_unlock(&stream->mutex);
}

/* Cut into every free job, then receive the oldest. */
static int feed(struct stream *stream, struct gt_scan *scan, struct gt_error *error)
{
    struct gt_trace_damage last = {0};
    size_t cut = 0;
    bool more = true;
    int status = 0;
    while (status >= 0 && (more || stream->received < cut)) {
        while (more && status >= 0 && cut - stream->received < stream->jobs) {
            struct job *job = &stream->job[cut % stream->jobs];
            status = gt_scan_next(scan, &job->batch, error);
            more = status > 0;
            if (!more)
                last = job->batch.damage;
            else if (++cut)
                put(stream, job, CUT);
        }
        if (status < 0 || stream->received == cut)
            break;
        struct job *job = &stream->job[stream->received % stream->jobs];
        wait_for(stream, job);
        status = deliver(stream, job, error);
        put(stream, job, FREE);
    }
    gt_damage_add(stream->damage, &last);
    return status;
}

static int run(struct stream *stream, struct gt_scan *scan, int threads, struct gt_error *error)
{
    pthread_t thread[MOST_THREADS];
    int started = 0;
    pthread_mutex_init(&stream->mutex, NULL);
    pthread_cond_init(&stream->changed, NULL);
    while (started < threads - 1 && pthread_create(&thread[started], NULL, work, stream) == 0)
        started++;
    int status = feed(stream, scan, error);
    pthread_mutex_lock(&stream->mutex);
    stream->ends = true;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->mutex);
    return status;
}

/* Scans an input and takes its events, on `threads` threads (1: on this one alone). */
static int stream_events(struct timeline *timeline, struct gt_input *input, int threads, struct gt_trace_damage *damage,
                         struct stream_end *ret, struct gt_error *error)
{
    struct stream stream = {.timeline = timeline, .damage = damage};
    struct gt_scan *scan = NULL;
    threads = threads > MOST_THREADS ? MOST_THREADS : threads;
    stream.jobs = threads > 1 ? (size_t)threads * BATCHES_PER_THREAD : 1;
    stream.job = calloc(stream.jobs, sizeof *stream.job);
    if (!stream.job || gt_scan_open(&scan, input, GT_SCAN_EVENTS, timeline->reading->options->block) < 0) {
        free(stream.job);
        return gt_error_system(error, ENOMEM, "reading a trace");
    }
    int status = run(&stream, scan, threads, error);
    const char *trouble = gt_input_trouble(input);
    *ret = (struct stream_end){gt_scan_bytes(scan), gt_scan_has_list(scan)};
    if (status >= 0 && trouble) {
        damage->cut_off = true;
        gt_damage_note(damage, ret->bytes, "%s", trouble);
    }
    gt_scan_close(scan);
    for (size_t i = 0; i < stream.jobs; i++) {
        gt_batch_release(&stream.job[i].batch);
        gt_shapes_close(stream.job[i].shapes);
        free(stream.job[i].item);
        free(stream.job[i].of);
    }
    free(stream.job);
    return status;
}

/* ---- the file ---- */

/* What looks like a trace and has no event that can be read is none. */
static int refuse_nothing(const struct gt_trace_file *file, const struct stream_end *end, bool has_items,
                          const char *path, struct gt_error *error)
{
    if (has_items || !end->bytes || file->damage.cut_off)
        return 0;
    if (!end->has_list)
        return gt_error_set(error, EINVAL, "%s: it has no list of events (\"traceEvents\": [...])", path);
    if (file->damage.bad_events)
        return gt_error_set(error, EINVAL, "%s: none of its events can be read: %s", path, file->damage.first);
    return 0;
}

int gt_timeline_read(struct gt_reading *reading, const char *path, bool labels_rename, struct gt_error *error)
{
    struct timeline timeline = {.reading = reading, .labels_rename = labels_rename};
    struct gt_trace_damage damage = {0};
    struct gt_input *input = NULL;
    struct stream_end end = {0};
    int status = gt_input_open(&input, path, reading->options->ceiling, error);
    if (status >= 0)
        status = stream_events(&timeline, input, gt_reading_threads(reading, gt_input_size(input)), &damage, &end,
                               error);
    if (status >= 0)
        status = close_all(&timeline);
    struct gt_trace_file *file = gt_reading_file(reading);
    gt_damage_add(&file->damage, &damage);
    file->bytes = end.bytes;
    if (status >= 0)
        status = refuse_nothing(file, &end, timeline.has_items, path, error);
    if (status >= 0)
        judge_clock(file);
    struct gt_trace *trace = reading->trace;
    for (size_t i = trace->file_count; i-- > 0 && trace->file[i].part_of != GT_TRACE_NONE;)
        if (trace->file[i].part_of == reading->file)
            trace->file[i].clock = file->clock;
    release(&timeline);
    gt_input_close(input);
    return status;
}
