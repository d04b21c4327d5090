#include "sample/smaps_reader.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "collect/process/process.h"

enum { STACK_BYTES = 256 * 1024 };

double gt_smaps_machine_shmem(const struct gt_root *root)
{
    char text[8192];
    return gt_root_read(root, "proc/meminfo", text, sizeof text) > 0 ? gt_process_number(text, "\nShmem:") * 1024 : NAN;
}

static void *run(void *opaque)
{
    struct gt_smaps_reader *reader = opaque;
    prctl(PR_SET_TIMERSLACK, 1);
    pthread_mutex_lock(&reader->lock);
    while (!reader->is_stopping) {
        if (!reader->is_asked) {
            pthread_cond_wait(&reader->wake, &reader->lock);
            continue;
        }
        bool stops = false;
        pthread_mutex_unlock(&reader->lock);
        int64_t began_ns = gt_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        for (size_t i = 0; i < reader->count && !stops; i++) {
            struct gt_smaps_reading *one = &reader->reading[i];
            one->status = gt_smaps_read(reader->root, one->pid, one->start, &one->smaps);
            pthread_mutex_lock(&reader->lock);
            stops = reader->is_stopping;
            pthread_mutex_unlock(&reader->lock);
        }
        reader->shmem = gt_smaps_machine_shmem(reader->root);
        reader->used_ns = gt_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
        pthread_mutex_lock(&reader->lock);
        reader->is_asked = false;
        pthread_cond_signal(&reader->finished);
    }
    pthread_mutex_unlock(&reader->lock);
    return NULL;
}

/* Signals are the program's: this thread, which the program does not know, must not get any. */
static int start_thread(struct gt_smaps_reader *reader)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    int result = pthread_attr_init(&attributes);
    if (result)
        return -result;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    result = pthread_create(&reader->thread, &attributes, run, reader);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    reader->has_thread = result == 0;
    return -result;
}

void gt_smaps_reader_open(struct gt_smaps_reader *reader, const struct gt_root *root)
{
    pthread_condattr_t attributes;
    *reader = (struct gt_smaps_reader){.root = root};
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&reader->lock, NULL);
    pthread_cond_init(&reader->wake, NULL);
    pthread_cond_init(&reader->finished, &attributes);
    pthread_condattr_destroy(&attributes);
}

void gt_smaps_reader_close(struct gt_smaps_reader *reader)
{
    if (reader->has_thread) {
        pthread_mutex_lock(&reader->lock);
        reader->is_stopping = true;
        pthread_cond_signal(&reader->wake);
        pthread_mutex_unlock(&reader->lock);
        pthread_join(reader->thread, NULL);
    }
    pthread_mutex_destroy(&reader->lock);
    pthread_cond_destroy(&reader->wake);
    pthread_cond_destroy(&reader->finished);
    free(reader->reading);
}

/* Processes are read in turn. A page that another process maps meanwhile must not count in full in the one and in
 * part in the other, so the processes that have the fewest pages, which may map more, are read first. */
static int by_files(const void *a, const void *b)
{
    const struct gt_smaps_reading *one = a, *other = b;
    return (one->files > other->files) - (one->files < other->files);
}

int gt_smaps_reader_start(struct gt_smaps_reader *reader)
{
    int status = reader->has_thread ? 0 : start_thread(reader);
    if (status < 0)
        return status;
    qsort(reader->reading, reader->count, sizeof *reader->reading, by_files);
    pthread_mutex_lock(&reader->lock);
    reader->is_asked = true;
    pthread_cond_signal(&reader->wake);
    pthread_mutex_unlock(&reader->lock);
    return 0;
}

bool gt_smaps_reader_await(struct gt_smaps_reader *reader, int64_t patience_ns)
{
    int64_t until = gt_clock_monotonic(&gt_clock_system) + patience_ns;
    const struct timespec deadline = {until / GT_SECOND, until % GT_SECOND};
    pthread_mutex_lock(&reader->lock);
    while (reader->is_asked && patience_ns > 0)
        if (pthread_cond_timedwait(&reader->finished, &reader->lock, &deadline))
            break;
    bool has_ended = !reader->is_asked;
    pthread_mutex_unlock(&reader->lock);
    return has_ended;
}
