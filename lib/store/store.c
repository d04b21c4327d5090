#include "store/type.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

/* Samples wait in a queue for the writer thread, in slots that are used again. The last slot given back is the first
 * taken, so that a queue that is nearly empty touches little memory. */
enum { QUEUE_BYTES = 16 << 20, FLUSH_NS = 40 * 1000 * 1000 };

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
    bool has_writer;
    char trouble[700]; /* the owner's: what gt_store_trouble last said */

    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t wake;
    bool idle, closing;
    struct slot *first, *last, *spare;
    size_t bytes; /* of all slots */
    uint64_t dropped;
    struct gt_error failure; /* the first error of writing; nothing is written after it */
    bool has_outcome;
    struct gt_outcome outcome; /* what finish shall write */
};

/* ---- The writer thread --------------------------------------------------------------------------------------- */

static void write_batch(struct gt_store *store, const struct slot *batch, struct gt_error *failure)
{
    int status = 0;
    for (; batch && !failure->code && status >= 0; batch = batch->next)
        status = store->type->write(store->state, &batch->copy.sample, failure);
    if (!failure->code)
        store->type->flush(store->state, failure);
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
    while (!store->closing && pthread_cond_timedwait(&store->wake, &store->lock, &until) == 0)
        ;
}

/* With the lock held: until there is something to write and the last writing is long enough ago to make it worth a
 * wake-up. A rare sample is written at once, frequent ones together; those need nobody to wake the writer. */
static void wait_for_work(struct gt_store *store, int64_t not_before_ns, bool is_frequent)
{
    if (is_frequent)
        sleep_until(store, not_before_ns);
    while (!store->first && !store->closing) {
        store->idle = true;
        pthread_cond_wait(&store->wake, &store->lock);
    }
    sleep_until(store, not_before_ns);
}

static void *writer(void *argument)
{
    struct gt_store *store = argument;
    struct gt_error failure = {0};
    int64_t not_before_ns = 0;
    bool is_frequent = false;
    pthread_mutex_lock(&store->lock);
    while (!store->closing || store->first) {
        wait_for_work(store, not_before_ns, is_frequent);
        struct slot *batch = store->first;
        is_frequent = batch && batch->next;
        store->first = store->last = NULL;
        pthread_mutex_unlock(&store->lock);
        write_batch(store, batch, &failure);
        not_before_ns = gt_clock_monotonic(&gt_clock_system) + FLUSH_NS;
        pthread_mutex_lock(&store->lock);
        give_back(store, batch);
        store->failure = failure;
    }
    pthread_mutex_unlock(&store->lock);
    bool whole = !failure.code;
    store->type->finish(store->state, store->has_outcome ? &store->outcome : NULL, whole, &failure);
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

/* `create` runs before there is a writer thread. A SIGXFSZ of its own is taken away again. */
static int create_guarded(struct gt_store *store, const struct gt_store_options *options,
                          const struct gt_machine *machine, struct gt_error *error)
{
    sigset_t limit, before, pending;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    int status = store->type->create(&store->state, options, machine, error);
    if (!sigismember(&pending, SIGXFSZ))
        sigtimedwait(&limit, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
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
    int status = gt_store_check(options, error);
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
    store->type = gt_store_type_of(path, NULL);
    pthread_mutex_init(&store->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&store->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    status = create_guarded(store, options, machine, error);
    if (status < 0)
        release(store);
    else
        *ret = store;
    return status;
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

/* With the lock held; whether the writer sleeps and has to be woken. */
static bool enqueue(struct gt_store *store, const struct gt_sample *sample)
{
    size_t rows = store->detail ? sample->row_count : GT_FIXED_ROWS;
    struct slot *slot = take_slot(store, rows, sample->life_count);
    if (!slot) {
        store->dropped++;
        return false;
    }
    gt_sample_copy_set(&slot->copy, sample, rows);
    slot->next = NULL;
    if (store->last)
        store->last->next = slot;
    else
        store->first = slot;
    store->last = slot;
    bool was_idle = store->idle;
    store->idle = false; /* one signal is enough */
    return was_idle;
}

int gt_store_write(struct gt_store *store, const struct gt_sample *sample, struct gt_error *error)
{
    if (!store->has_writer) {
        int status = start_writer(store, error);
        if (status < 0)
            return status;
    }
    pthread_mutex_lock(&store->lock);
    bool wake = !store->failure.code && enqueue(store, sample);
    pthread_mutex_unlock(&store->lock);
    if (wake) /* after the lock is free, or the writer would wake up to wait for it */
        pthread_cond_signal(&store->wake);
    return 0;
}

const char *gt_store_trouble(struct gt_store *store)
{
    pthread_mutex_lock(&store->lock);
    if (store->failure.code)
        snprintf(store->trouble, sizeof store->trouble, "The recording has stopped: %s", store->failure.text);
    else if (store->dropped)
        snprintf(store->trouble, sizeof store->trouble,
                 "%s: %llu samples were not recorded because writing is slower than sampling", store->path,
                 (unsigned long long)store->dropped);
    pthread_mutex_unlock(&store->lock);
    return *store->trouble ? store->trouble : NULL;
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
    int status = store->has_writer ? 0 : start_writer(store, error);
    if (status < 0) {
        store->type->finish(store->state, store->has_outcome ? &store->outcome : NULL, true, error);
    } else {
        pthread_mutex_lock(&store->lock);
        store->closing = true;
        pthread_cond_signal(&store->wake);
        pthread_mutex_unlock(&store->lock);
        pthread_join(store->writer, NULL);
        if (store->failure.code)
            status = gt_error_copy(error, &store->failure);
        else if (store->dropped)
            status = gt_error_set(error, EOVERFLOW, "%s", gt_store_trouble(store));
    }
    release(store);
    return status;
}
