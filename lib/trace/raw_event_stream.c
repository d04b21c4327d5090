#include "trace/raw_event.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/grow.h"
#include "trace/input/torn.h"
#include "trace/shapes.h"

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
    const struct gt_raw_event_receiver *receiver;
    struct gt_trace_damage *damage;
    struct job *job;
    size_t jobs;
    size_t received; /* batches, in all */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool ends;
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
    const struct gt_raw_event_receiver *receiver = stream->receiver;
    size_t next = 0;
    int status = job->status < 0 ? gt_error_system(error, -job->status, "reading a trace") : 0;
    gt_damage_add(stream->damage, &job->batch.damage);
    for (size_t i = 0; i < job->batch.count && status >= 0; i++) {
        const struct gt_scan_entry *entry = &job->batch.entry[i];
        const char *text = job->batch.text;
        if (entry->key_length != SIZE_MAX && receiver->member)
            status = receiver->member(receiver->context, (struct gt_span){text + entry->key, entry->key_length},
                                      (struct gt_span){text + entry->value, entry->value_length}, error);
        for (; next < job->count && job->of[next] == i && status >= 0; next++)
            status = receiver->item(receiver->context, &job->item[next], error);
    }
    return status;
}

static int run_alone(struct stream *stream, struct gt_scan *scan, struct gt_error *error)
{
    int status;
    while ((status = gt_scan_next(scan, &stream->job->batch, error)) > 0) {
        stream->job->status = parse(stream->job);
        status = deliver(stream, stream->job, error);
        if (status < 0)
            return status;
    }
    gt_damage_add(stream->damage, &stream->job->batch.damage);
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

static int run_together(struct stream *stream, struct gt_scan *scan, int threads, struct gt_error *error)
{
    pthread_t thread[MOST_THREADS];
    int started = 0;
    pthread_mutex_init(&stream->mutex, NULL);
    pthread_cond_init(&stream->changed, NULL);
    while (started < threads - 1 && pthread_create(&thread[started], NULL, work, stream) == 0)
        started++;
    int status = started ? feed(stream, scan, error) : run_alone(stream, scan, error);
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

int gt_raw_event_stream(struct gt_input *input, const struct gt_raw_event_receiver *receiver, int threads, size_t block,
                        struct gt_trace_damage *damage, struct gt_raw_event_end *ret, struct gt_error *error)
{
    struct stream stream = {.receiver = receiver, .damage = damage};
    struct gt_scan *scan = NULL;
    threads = threads > MOST_THREADS ? MOST_THREADS : threads;
    stream.jobs = threads > 1 ? (size_t)threads * BATCHES_PER_THREAD : 1;
    stream.job = calloc(stream.jobs, sizeof *stream.job);
    if (!stream.job || gt_scan_open(&scan, input, GT_SCAN_EVENTS, block) < 0) {
        free(stream.job);
        return gt_error_system(error, ENOMEM, "reading a trace");
    }
    int status = threads > 1 ? run_together(&stream, scan, threads, error) : run_alone(&stream, scan, error);
    const char *trouble = gt_input_trouble(input);
    *ret = (struct gt_raw_event_end){gt_scan_bytes(scan), gt_scan_has_list(scan)};
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
