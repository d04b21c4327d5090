/* What a process of a random job knows of itself, and the actions by which it uses memory, files and threads. */
#ifndef TEST_TRUTH_RANDOM_USE_H
#define TEST_TRUTH_RANDOM_USE_H

#include <fcntl.h>
#include <pthread.h>

#include "random_job.h"

#define REGIONS 24
#define MOST_BYTES (500L << 20)
#define DEPTH 4

struct region {
    char *at;
    size_t size;
    bool is_copied_on_write; /* private: a child may copy it */
};

static struct {
    struct ledger *ledger;
    struct record *record, *last; /* its own, and that of its last child */
    uint64_t seed;                /* of this process */
    uint64_t random;              /* of the action */
    int ledger_fd, depth, action;
    atomic_int threads; /* beside the one that runs this */
    long bytes;         /* of the ledger's sum */
    int regions;
    struct region region[REGIONS];
} job;

static uint64_t mixed(uint64_t value)
{
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

static int any(int least, int most)
{
    job.random = mixed(job.random);
    return least + (int)(job.random % (uint64_t)(most - least + 1));
}

static bool in_percent_of_cases(int percent)
{
    return any(1, 100) <= percent;
}

static bool is_over(void)
{
    return now(CLOCK_MONOTONIC) > job.ledger->began + job.ledger->limit;
}

/* Every process and thread is counted before it is there. */
static void count(atomic_int *counter, atomic_int *most, int more)
{
    int is = atomic_fetch_add(counter, more) + more, was = atomic_load(most);
    while (is > was && !atomic_compare_exchange_weak(most, &was, is))
        ;
}

/* ---- actions ---- */

static void use_cpu(void)
{
    burn(any(1, 60) / 1e3);
}

static void rest(void)
{
    sleep_ms(any(0, 80));
}

static struct region *new_region(size_t size)
{
    if (job.regions == REGIONS || atomic_load(&job.ledger->memory) > MOST_BYTES)
        return NULL;
    atomic_fetch_add(&job.ledger->memory, (long)size);
    job.bytes += (long)size;
    struct region *region = &job.region[job.regions++];
    *region = (struct region){.size = size};
    return region;
}

static void map_anonymous(int flags, int advice)
{
    struct region *region = new_region(megabytes(any(1, 40)));
    if (!region)
        return;
    region->at = map(region->size, flags | MAP_ANONYMOUS, -1);
    region->is_copied_on_write = flags == MAP_PRIVATE;
    if (advice)
        madvise(region->at, region->size, advice);
    write_pages(region->at, region->size);
}

static void take_private(void)
{
    map_anonymous(MAP_PRIVATE, 0);
}

static void take_shared(void)
{
    map_anonymous(MAP_SHARED, 0);
}

static void take_huge_pages(void)
{
    map_anonymous(MAP_PRIVATE, MADV_HUGEPAGE);
}

static void take_tmpfs(void)
{
    struct region *region = new_region(megabytes(any(1, 30)));
    if (!region)
        return;
    int fd = memfd_create("random", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)region->size) < 0)
        fail("memfd");
    region->at = map(region->size, MAP_SHARED, fd);
    write_pages(region->at, region->size);
    close(fd);
}

static int new_file(long size)
{
    char name[] = "random-XXXXXX";
    static const char bytes[1 << 16];
    int fd = mkstemp(name);
    if (fd < 0)
        fail("mkstemp");
    unlink(name);
    for (long rest_of = size; rest_of > 0;) {
        ssize_t done = write(fd, bytes, rest_of > (long)sizeof bytes ? sizeof bytes : (size_t)rest_of);
        if (done <= 0)
            fail("write");
        rest_of -= done;
    }
    return fd;
}

static void take_file(void)
{
    struct region *region = new_region(megabytes(any(1, 20)));
    if (!region)
        return;
    int fd = new_file((long)region->size), is_shared = any(0, 1);
    region->at = map(region->size, is_shared ? MAP_SHARED : MAP_PRIVATE, fd);
    region->is_copied_on_write = !is_shared;
    close(fd);
    read_pages(region->at, region->size);
    if (in_percent_of_cases(50))
        write_pages(region->at, region->size / 2 / PAGE * PAGE);
}

static void grow_heap(void)
{
    size_t size = megabytes(any(1, 10));
    char *at = sbrk((intptr_t)size);
    if (at == (char *)-1)
        return;
    job.bytes += (long)size;
    atomic_fetch_add(&job.ledger->memory, (long)size);
    memset(at, 1, size);
}

static struct region *some_region(void)
{
    return job.regions ? &job.region[any(0, job.regions - 1)] : NULL;
}

static void let_go(void)
{
    struct region *region = some_region();
    if (!region)
        return;
    munmap(region->at, region->size);
    *region = job.region[--job.regions];
}

static void drop_pages(void)
{
    struct region *region = some_region();
    if (region)
        madvise(region->at, region->size / (unsigned)any(1, 3) / PAGE * PAGE, MADV_DONTNEED);
}

static void resize(void)
{
    struct region *region = some_region();
    if (!region || !region->is_copied_on_write)
        return;
    size_t size = region->size / PAGE / 2 * (size_t)any(1, 3) * PAGE + PAGE;
    char *at = mremap(region->at, region->size, size, MREMAP_MAYMOVE);
    if (at == MAP_FAILED)
        return;
    region->at = at;
    region->size = size;
}

static void lock_pages(void)
{
    struct region *region = some_region();
    if (region)
        mlock(region->at, region->size / 4);
}

/* Of memory that was there before a fork this makes copies. */
static void write_again(void)
{
    struct region *region = some_region();
    if (!region || atomic_load(&job.ledger->memory) > MOST_BYTES)
        return;
    size_t size = region->size / (unsigned)any(1, 4) / PAGE * PAGE;
    long bytes = region->is_copied_on_write ? (long)size : 0;
    if (region->is_copied_on_write && job.depth)
        job.bytes += bytes, atomic_fetch_add(&job.ledger->memory, bytes);
    for (size_t at = 0; at < size; at += PAGE)
        region->at[at]++;
}

static void use_file(void)
{
    static char bytes[1 << 16];
    long size = any(1, 4000) * 1024L + any(0, 1000);
    int fd = new_file(size);
    if (in_percent_of_cases(30)) {
        fsync(fd);
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    }
    for (off_t at = 0; in_percent_of_cases(95);) {
        ssize_t done = pread(fd, bytes, sizeof bytes, at);
        if (done <= 0)
            break;
        at += done;
    }
    close(fd);
}

static void *work_in_thread(void *argument)
{
    long microseconds = (long)argument;
    struct timespec time;
    if (microseconds < 0) {
        sleep_ms((double)-microseconds / 1e3);
    } else {
        for (double end = now(CLOCK_THREAD_CPUTIME_ID) + (double)microseconds / 1e6;
             now(CLOCK_THREAD_CPUTIME_ID) < end;)
            clock_gettime(CLOCK_MONOTONIC, &time);
    }
    atomic_fetch_sub(&job.threads, 1);
    atomic_fetch_sub(&job.ledger->threads, 1);
    return NULL;
}

static bool start_thread(pthread_t *ret, void *(*body)(void *), long microseconds)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 17);
    atomic_fetch_add(&job.threads, 1);
    count(&job.ledger->threads, &job.ledger->most_threads, 1);
    job.record->threads++;
    int error = pthread_create(ret, &attributes, body, (void *)microseconds);
    pthread_attr_destroy(&attributes);
    if (!error)
        return true;
    atomic_fetch_sub(&job.threads, 1);
    atomic_fetch_sub(&job.ledger->threads, 1);
    job.record->threads--;
    return false;
}

static void work_together(void)
{
    pthread_t thread[20];
    int there = 0, wanted = any(1, 20);
    while (there < wanted &&
           start_thread(&thread[there], work_in_thread, any(0, 1) ? any(100, 9000) : -any(1000, 50000)))
        there++;
    while (there > 0)
        pthread_join(thread[--there], NULL);
}

static void many_short_threads(void)
{
    for (int left = any(20, 120); left > 0; left--) {
        pthread_t thread;
        if (start_thread(&thread, work_in_thread, any(10, 300)))
            pthread_join(thread, NULL);
    }
}

static void lasting_threads(void)
{
    for (int left = any(1, 6); left > 0; left--) {
        pthread_t thread;
        if (start_thread(&thread, work_in_thread, -20000000))
            pthread_detach(thread);
    }
}

#endif
