/* Shared by the programs of known behaviour. MB are 10^6 bytes, in whole pages. Each program prints what is true of it as
 * one JSON object on a line. */
#ifndef TEST_TRUTH_TRUTH_H
#define TEST_TRUTH_TRUTH_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u

static inline void fail(const char *what)
{
    perror(what);
    exit(99);
}

static inline double argument(int argc, char **argv, int index, const char *usage)
{
    char *end = NULL;
    double value = index < argc ? strtod(argv[index], &end) : -1;
    if (index >= argc || *end || end == argv[index] || value < 0) {
        fprintf(stderr, "usage: %s %s\n", argv[0], usage);
        exit(98);
    }
    return value;
}

static inline double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static inline void sleep_until(double moment)
{
    struct timespec time = {(time_t)moment, (long)((moment - (double)(time_t)moment) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
        ;
}

static inline void sleep_ms(double ms)
{
    sleep_until(now(CLOCK_MONOTONIC) + ms / 1e3);
}

/* Use that much CPU time. */
static inline void burn(double seconds)
{
    double end = now(CLOCK_PROCESS_CPUTIME_ID) + seconds;
    while (now(CLOCK_PROCESS_CPUTIME_ID) < end)
        for (volatile int i = 0; i < 1000; i++)
            ;
}

static inline size_t megabytes(double count)
{
    return ((size_t)(count * 1e6) + PAGE - 1) / PAGE * PAGE;
}

/* Memory in pages of 4 KiB, so that what is touched is what is resident. */
static inline void *map(size_t size, int flags, int fd)
{
    char *memory = mmap(NULL, size ? size : PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (memory == MAP_FAILED)
        fail("mmap");
    madvise(memory, size, MADV_NOHUGEPAGE);
    return memory;
}

static inline void write_pages(char *memory, size_t size)
{
    for (size_t i = 0; i < size; i += PAGE)
        memory[i] = (char)(i / PAGE + 1);
}

static inline void read_pages(const char *memory, size_t size)
{
    for (size_t i = 0; i < size; i += PAGE)
        (void)*(const volatile char *)(memory + i);
}

static inline char *written(size_t size, int flags)
{
    char *memory = map(size, flags | MAP_ANONYMOUS, -1);
    write_pages(memory, size);
    return memory;
}

static inline pid_t start(void)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        fail("fork");
    return pid;
}

static inline double used_cpu(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

#endif
