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

/* Beyond this, samples that a slow disk keeps waiting are dropped. */
enum { QUEUE_BYTES = 16 << 20 };

struct gt_store {
    const struct gt_store_type *type;
    void *state;
    char *path;
    const struct gt_store_options *options; /* until the file is there */
    const struct gt_machine *machine;
    pthread_t writer;
    bool is_direct; /* no thread can be made, as where clone3 is forbidden: the owner waits for the disk */
    enum trouble { NONE, FULL, DROPPED, STOPPED } told;
    char trouble[700]; /* the owner's: what gt_store_trouble last said */
    struct stat file;
    const struct gt_outcome *outcome; /* what finish shall write */

    struct gt_sample_batch writing; /* the writer's, with the sample at hand */
    struct gt_sample_copy sample;

    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t wake;
    bool is_open, closing; /* is_open: the file is there, or `failure` says why not */
    struct gt_sample_batch queue;
    uint64_t dropped;
    bool is_full;            /* the spool that it lies in was, and samples were left out */
    struct gt_error failure; /* the first error of writing; nothing is written after it */
};

/* ---- The writer thread --------------------------------------------------------------------------------------- */

/* Returns true if samples were left out because the spool is full. */
static bool write_batch(struct gt_store *store, struct gt_error *failure)
{
    int status = 1;
    while (status > 0 && !failure->code)
        if ((status = gt_sample_batch_take(&store->writing, &store->sample)) > 0)
            store->type->write(store->state, &store->sample.sample, failure);
    if (status < 0)
        gt_error_system(failure, ENOMEM, "%s", store->path);
    if (!failure->code)
        status = store->type->flush(store->state, failure);
    gt_sample_batch_clear(&store->writing);
    return status > 0;
}

static void finish(struct gt_store *store)
{
    struct stat found = {0};
    store->type->finish(store->state, store->outcome, !store->failure.code, &store->failure);
    if (store->file.st_ino && (stat(store->path, &found) < 0 || found.st_ino != store->file.st_ino))
        gt_error_set(&store->failure, ENOENT, "%s was removed or replaced while it was written", store->path);
}

/* With the lock held. */
static void write_all(struct gt_store *store)
{
    struct gt_error failure = {0};
    while (!store->closing || store->queue.count) {
        if (!store->queue.count) {
            pthread_cond_wait(&store->wake, &store->lock);
            continue;
        }
        gt_sample_batch_move(&store->writing, &store->queue);
        pthread_mutex_unlock(&store->lock);
        bool is_full = write_batch(store, &failure);
        pthread_mutex_lock(&store->lock);
        store->failure = failure;
        store->is_full = is_full;
    }
}

static int create(struct gt_store *store, struct gt_error *failure)
{
    int status = store->type->create(&store->state, store->options, store->machine, failure);
    if (status >= 0)
        stat(store->path, &store->file);
    return status;
}

static void *writer(void *argument)
{
    struct gt_store *store = argument;
    struct gt_error failure = {0};
    int status = create(store, &failure);
    pthread_mutex_lock(&store->lock);
    store->failure = failure;
    store->is_open = true;
    pthread_cond_signal(&store->wake);
    if (status >= 0)
        write_all(store);
    pthread_mutex_unlock(&store->lock);
    if (status >= 0)
        finish(store);
    return NULL;
}

/* The writer takes no signals: they are the program's. A file size limit (SIGXFSZ) then shows as an error of writing. */
static int start_writer(struct gt_store *store)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&store->writer, NULL, writer, store);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -code;
}

/* ---- The owner's side ---------------------------------------------------------------------------------------- */

static void release(struct gt_store *store)
{
    gt_sample_copy_release(&store->sample);
    free(store->writing.bytes);
    free(store->queue.bytes);
    pthread_cond_destroy(&store->wake);
    pthread_mutex_destroy(&store->lock);
    free(store->path);
    free(store);
}

/* The thread makes the file. */
static int begin(struct gt_store *store, struct gt_error *error)
{
    store->is_direct = start_writer(store) < 0;
    if (store->is_direct)
        return create(store, error);
    pthread_mutex_lock(&store->lock);
    while (!store->is_open)
        pthread_cond_wait(&store->wake, &store->lock);
    int status = gt_error_copy(error, &store->failure);
    pthread_mutex_unlock(&store->lock);
    if (status < 0)
        pthread_join(store->writer, NULL);
    return status;
}

int gt_store_open(struct gt_store **ret, const struct gt_store_options *options, const struct gt_machine *machine,
                  struct gt_error *error)
{
    int status = gt_store_check(options, error);
    if (status >= 0)
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
    store->type = gt_store_type_of(path, NULL);
    store->options = options;
    store->machine = machine;
    pthread_mutex_init(&store->lock, NULL);
    pthread_cond_init(&store->wake, NULL);
    status = begin(store, error);
    if (status < 0)
        release(store);
    else
        *ret = store;
    return status;
}

void gt_store_send(struct gt_store *store, struct gt_sample_batch *batch)
{
    size_t count = batch->count;
    if (store->is_direct) {
        gt_sample_batch_move(&store->writing, batch);
        store->is_full = write_batch(store, &store->failure);
        return;
    }
    pthread_mutex_lock(&store->lock);
    bool fits = !store->queue.count || store->queue.length + batch->length <= QUEUE_BYTES;
    if (!store->failure.code && (!fits || gt_sample_batch_move(&store->queue, batch) < 0))
        store->dropped += count;
    pthread_mutex_unlock(&store->lock);
    gt_sample_batch_clear(batch);
    pthread_cond_signal(&store->wake); /* after the lock is free, or the writer would wake up to wait for it */
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
    enum trouble trouble = store->failure.code ? STOPPED : store->dropped ? DROPPED : store->is_full ? FULL : NONE;
    bool is_worse = trouble > store->told;
    if (is_worse) {
        store->told = trouble;
        describe_trouble(store);
    }
    pthread_mutex_unlock(&store->lock);
    return is_worse ? store->trouble : NULL;
}

int gt_store_close(struct gt_store *store, const struct gt_outcome *outcome, struct gt_error *error)
{
    if (!store)
        return 0;
    struct gt_outcome all;
    if (outcome) {
        all = *outcome;
        all.dropped = store->dropped;
        /* cppcheck-suppress autoVariables ; the writer ends before this function does */
        store->outcome = &all;
    }
    pthread_mutex_lock(&store->lock);
    store->closing = true;
    pthread_mutex_unlock(&store->lock);
    pthread_cond_signal(&store->wake);
    if (store->is_direct)
        finish(store);
    else
        pthread_join(store->writer, NULL);
    store->told = store->failure.code ? STOPPED : DROPPED;
    describe_trouble(store);
    int status = 0;
    if (store->failure.code)
        status = gt_error_copy(error, &store->failure);
    else if (store->dropped)
        status = gt_error_set(error, EOVERFLOW, "%s", store->trouble);
    release(store);
    return status;
}
