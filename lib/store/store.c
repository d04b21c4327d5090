#include "store/store.h"
#include "store/type.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* Samples wait in a queue for the writer thread, in slots that are used again. The last slot given back is the first
 * taken, so that a queue that is nearly empty touches little memory. */
enum { QUEUE_BYTES = 16 << 20, HURRY_BYTES = QUEUE_BYTES / 8 };
/* Between two writings. Whoever collects the samples of a second is not to wait for another. */
static const int64_t FLUSH_NS = GT_SECOND * 8 / 10;

struct slot {
    struct slot *next;
    struct gt_sample_copy copy;
};

struct gt_store {
    const struct gt_store_type *type;
    void *state;
    char *path;
    bool detail;
    pthread_t writer;
    bool has_writer, is_direct; /* without a thread, who writes waits for the disk */
    enum trouble { NONE, FULL, DROPPED, STOPPED } told;
    char trouble[700]; /* the owner's: what gt_store_trouble last said */
    struct stat file;

    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t wake;
    bool idle, closing;
    struct slot *first, *last, *spare;
    size_t bytes;   /* of all slots */
    size_t waiting; /* bytes of those that wait */
    uint64_t dropped;
    bool is_full;            /* the spool that it lies in was, and samples were left out */
    struct gt_error failure; /* the first error of writing; nothing is written after it */
    bool has_outcome;
    struct gt_outcome outcome; /* what finish shall write */
};

/* ---- The writer thread --------------------------------------------------------------------------------------- */

static void look_for_room(struct gt_store *store)
{
    if (store->is_full || !store->type->left_out || !store->type->left_out(store->state))
        return;
    pthread_mutex_lock(&store->lock);
    store->is_full = true;
    pthread_mutex_unlock(&store->lock);
}

static void write_batch(struct gt_store *store, const struct slot *batch, struct gt_error *failure)
{
    int status = 0;
    for (; batch && !failure->code && status >= 0; batch = batch->next)
        status = store->type->write(store->state, &batch->copy.sample, failure);
    if (!failure->code)
        store->type->flush(store->state, failure);
    look_for_room(store);
}

static void give_back(struct gt_store *store, struct slot *batch)
{
    while (batch) {
        struct slot *next = batch->next;
        batch->next = store->spare;
        store->spare = batch;
        batch = next;
    }
}

static struct timespec moment(int64_t ns)
{
    return (struct timespec){ns / GT_SECOND, ns % GT_SECOND};
}

/* With the lock held. */
static void sleep_until(struct gt_store *store, int64_t when_ns)
{
    struct timespec until = moment(when_ns);
    if (gt_clock_monotonic(&gt_clock_system) >= when_ns)
        return;
    while (!store->closing && store->waiting < HURRY_BYTES &&
           pthread_cond_timedwait(&store->wake, &store->lock, &until) == 0)
        ;
}

/* With the lock held: until there is something to write and the last writing is long enough ago to make it worth a
 * wake-up, or much waits. A rare sample is written at once, frequent ones together. */
static void wait_for_work(struct gt_store *store, int64_t not_before_ns)
{
    while (!store->first && !store->closing) {
        store->idle = true;
        pthread_cond_wait(&store->wake, &store->lock);
    }
    store->idle = false;
    sleep_until(store, not_before_ns);
}

static void finish(struct gt_store *store, struct gt_error *failure)
{
    struct stat found = {0};
    store->type->finish(store->state, store->has_outcome ? &store->outcome : NULL, !failure->code, failure);
    if (store->file.st_ino && (stat(store->path, &found) < 0 || found.st_ino != store->file.st_ino))
        gt_error_set(failure, ENOENT, "%s was removed or replaced while it was written", store->path);
}

static void *writer(void *argument)
{
    struct gt_store *store = argument;
    struct gt_error failure = {0};
    int64_t not_before_ns = 0;
    pthread_mutex_lock(&store->lock);
    while (!store->closing || store->first) {
        wait_for_work(store, not_before_ns);
        struct slot *batch = store->first;
        store->first = store->last = NULL;
        store->waiting = 0;
        pthread_mutex_unlock(&store->lock);
        write_batch(store, batch, &failure);
        not_before_ns = gt_clock_monotonic(&gt_clock_system) + FLUSH_NS;
        pthread_mutex_lock(&store->lock);
        give_back(store, batch);
        store->failure = failure;
    }
    pthread_mutex_unlock(&store->lock);
    finish(store, &failure);
    store->failure = failure;
    return NULL;
}

/* The writer takes no signals: they are the program's. A file size limit (SIGXFSZ) then shows as an error of writing. */
static int start_writer(struct gt_store *store, struct gt_error *error)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&store->writer, NULL, writer, store);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code)
        return gt_error_system(error, code, "%s: no thread for writing", store->path);
    store->has_writer = true;
    return 0;
}

/* ---- The owner's side ---------------------------------------------------------------------------------------- */

/* Without the writer thread: a SIGXFSZ of ours is taken away again. */
struct guard {
    sigset_t before, pending;
};

static struct guard begin_guard(void)
{
    struct guard guard;
    sigset_t limit;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    sigpending(&guard.pending);
    pthread_sigmask(SIG_BLOCK, &limit, &guard.before);
    return guard;
}

static void end_guard(const struct guard *guard)
{
    sigset_t limit;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    if (!sigismember(&guard->pending, SIGXFSZ))
        sigtimedwait(&limit, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
}

static void release(struct gt_store *store)
{
    give_back(store, store->first);
    for (struct slot *slot = store->spare, *next; slot; slot = next) {
        next = slot->next;
        gt_sample_copy_release(&slot->copy);
        free(slot);
    }
    pthread_cond_destroy(&store->wake);
    pthread_mutex_destroy(&store->lock);
    free(store->path);
    free(store);
}

int gt_store_open(struct gt_store **ret, const struct gt_store_options *options, const struct gt_machine *machine,
                  struct gt_error *error)
{
    bool is_handed_over = options->readings && options->readings->experiment.record;
    int status = is_handed_over ? 0 : gt_store_check(options, error);
    if (status >= 0 && !is_handed_over && gt_store_type_of(options->path, NULL)->suffix[0] != '/')
        status = gt_store_make_folder(options->path, error);
    if (status < 0)
        return status;
    struct gt_store *store = calloc(1, sizeof *store);
    char *path = strdup(options->path);
    if (!store || !path) {
        free(store);
        free(path);
        return gt_error_system(error, ENOMEM, "%s", options->path);
    }
    store->path = path;
    store->detail = options->detail;
    store->type = gt_store_type_of(is_handed_over ? "/" : path, NULL);
    store->is_direct = store->type->is_direct;
    pthread_mutex_init(&store->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&store->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    struct guard guard = begin_guard();
    status = store->type->create(&store->state, options, machine, error);
    end_guard(&guard);
    if (status < 0) {
        release(store);
        return status;
    }
    if (!is_handed_over && store->type->open)
        stat(path, &store->file);
    *ret = store;
    return 0;
}

/* With the lock held: a slot for `rows` rows and the lives of the sample, or NULL when the queue may not grow further. */
static struct slot *take_slot(struct gt_store *store, size_t rows, size_t lives)
{
    struct slot *slot = store->spare;
    if (slot) {
        store->spare = slot->next;
    } else if (store->bytes < QUEUE_BYTES && (slot = calloc(1, sizeof *slot))) {
        store->bytes += sizeof *slot;
    } else {
        return NULL;
    }
    size_t before = gt_sample_copy_bytes(&slot->copy);
    bool fits = (rows <= slot->copy.capacity && lives <= slot->copy.life_capacity) ||
                store->bytes + rows * sizeof(struct gt_row) + lives * sizeof(struct gt_life) <= QUEUE_BYTES;
    bool is_ready = fits && gt_sample_copy_reserve(&slot->copy, rows) == 0 &&
                    gt_sample_copy_reserve_lives(&slot->copy, lives) == 0;
    store->bytes += gt_sample_copy_bytes(&slot->copy) - before;
    if (is_ready)
        return slot;
    slot->next = store->spare;
    store->spare = slot;
    return NULL;
}

/* With the lock held. */
static void enqueue(struct gt_store *store, const struct gt_sample *sample)
{
    size_t rows = store->detail ? sample->row_count : GT_FIXED_ROWS;
    struct slot *slot = take_slot(store, rows, sample->life_count);
    if (!slot) {
        store->dropped++;
        return;
    }
    gt_sample_copy_set(&slot->copy, sample, rows);
    slot->next = NULL;
    if (store->last)
        store->last->next = slot;
    else
        store->first = slot;
    store->last = slot;
    store->waiting += sizeof *slot + gt_sample_copy_bytes(&slot->copy);
}

static void write_directly(struct gt_store *store, const struct gt_sample *sample)
{
    struct gt_sample fixed = *sample;
    fixed.row_count = store->detail ? sample->row_count : GT_FIXED_ROWS;
    struct guard guard = begin_guard();
    if (!store->failure.code && store->type->write(store->state, &fixed, &store->failure) >= 0)
        store->type->flush(store->state, &store->failure);
    look_for_room(store);
    end_guard(&guard);
}

void gt_store_add(struct gt_store *store, const struct gt_sample *sample)
{
    if (!store->has_writer && !store->is_direct)
        store->is_direct = start_writer(store, NULL) < 0;
    if (store->is_direct) {
        write_directly(store, sample);
        return;
    }
    pthread_mutex_lock(&store->lock);
    if (!store->failure.code)
        enqueue(store, sample);
    pthread_mutex_unlock(&store->lock);
}

void gt_store_wake(struct gt_store *store)
{
    pthread_mutex_lock(&store->lock);
    bool wakes = store->first && (store->idle || store->waiting >= HURRY_BYTES);
    store->idle = false; /* one signal is enough */
    pthread_mutex_unlock(&store->lock);
    if (wakes) /* after the lock is free, or the writer would wake up to wait for it */
        pthread_cond_signal(&store->wake);
}

void gt_store_write(struct gt_store *store, const struct gt_sample *sample)
{
    gt_store_add(store, sample);
    gt_store_wake(store);
}

/* With the lock held: of several the worst. */
static enum trouble trouble_of(const struct gt_store *store)
{
    return store->failure.code ? STOPPED : store->dropped ? DROPPED : store->is_full ? FULL : NONE;
}

static void describe_trouble(struct gt_store *store)
{
    char *text = store->trouble;
    const size_t size = sizeof store->trouble;
    if (store->told == STOPPED)
        snprintf(text, size, "The recording has stopped: %s", store->failure.text);
    else if (store->told == DROPPED)
        snprintf(text, size, "%s: %llu samples were not recorded because writing is slower than sampling", store->path,
                 (unsigned long long)store->dropped);
    else if (store->told == FULL)
        snprintf(text, size,
                 "%s: its spool is full, as the server does not take what waits in it (spool-limit): until it does, "
                 "minutes and final figures are recorded, and no samples",
                 store->path);
}

const char *gt_store_trouble(struct gt_store *store)
{
    pthread_mutex_lock(&store->lock);
    enum trouble trouble = trouble_of(store);
    if (trouble > store->told) {
        store->told = trouble;
        describe_trouble(store);
    }
    pthread_mutex_unlock(&store->lock);
    return store->told ? store->trouble : NULL;
}

/* After the writer has ended. */
static int whole_or_not(struct gt_store *store, struct gt_error *error)
{
    store->told = trouble_of(store);
    describe_trouble(store);
    if (store->told == STOPPED)
        return gt_error_copy(error, &store->failure);
    if (store->told == DROPPED)
        return gt_error_set(error, EOVERFLOW, "%s", store->trouble);
    return 0;
}

int gt_store_close(struct gt_store *store, const struct gt_outcome *outcome, struct gt_error *error)
{
    if (!store)
        return 0;
    store->has_outcome = outcome;
    if (outcome) {
        store->outcome = *outcome;
        store->outcome.dropped = store->dropped;
    }
    if (!store->has_writer && !store->is_direct)
        store->is_direct = start_writer(store, NULL) < 0;
    if (store->is_direct) {
        struct guard guard = begin_guard();
        finish(store, &store->failure);
        end_guard(&guard);
    } else {
        pthread_mutex_lock(&store->lock);
        store->closing = true;
        pthread_cond_signal(&store->wake);
        pthread_mutex_unlock(&store->lock);
        pthread_join(store->writer, NULL);
    }
    int status = whole_or_not(store, error);
    release(store);
    return status;
}
