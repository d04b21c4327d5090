#include "collect/process/own_peak.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"

struct window {
    int number;
    double bytes;
};

/* Global, as the mark is. */
static struct {
    pthread_mutex_t lock;
    struct window *window;
    size_t count, capacity;
    int last_number;
    bool watches_forks;
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void forget(void)
{
    pthread_mutex_init(&own.lock, NULL); /* a thread that is not in the child may have held it */
    own.count = 0;
}

/* The number of kB behind `key` in /proc/PID/status, in bytes. */
static double bytes_of(const char *status, const char *key)
{
    const char *line = strstr(status, key);
    return line ? (double)strtoull(line + strlen(key), NULL, 10) * 1024 : NAN;
}

int gt_own_memory(double *ret_resident, double *ret_hwm)
{
    char text[8192];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t length = read(fd, text, sizeof text - 1);
    int status = length < 0 ? -errno : 0;
    close(fd);
    text[length < 0 ? 0 : length] = '\0';
    *ret_resident = bytes_of(text, "\nVmRSS:");
    *ret_hwm = bytes_of(text, "\nVmHWM:");
    return status;
}

/* Bytes, or negative errno. */
static double read_hwm(void)
{
    double resident, hwm;
    int status = gt_own_memory(&resident, &hwm);
    return status < 0 ? status : isnan(hwm) ? -ENODATA : hwm;
}

double gt_own_hwm(void)
{
    double hwm = read_hwm();
    return hwm > 0 ? hwm : INFINITY;
}

static int set_back(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int result = write(fd, "5", 1) == 1 ? 0 : -errno;
    close(fd);
    return result;
}

static void hand_out(double hwm)
{
    for (size_t i = 0; i < own.count; i++)
        own.window[i].bytes = fmax(own.window[i].bytes, hwm);
}

static int begin(void)
{
    double before = read_hwm();
    int result = before < 0 ? (int)before : GT_GROW_TO(own.window, own.capacity, own.count + 1);
    if (result == 0)
        result = set_back();
    if (result < 0)
        return result;
    hand_out(before);
    own.last_number = own.last_number < 1 << 30 ? own.last_number + 1 : 1;
    own.window[own.count++] = (struct window){own.last_number, fmax(0, read_hwm())};
    return own.last_number;
}

int gt_own_peak_begin(void)
{
    pthread_mutex_lock(&own.lock);
    if (!own.watches_forks)
        own.watches_forks = pthread_atfork(NULL, NULL, forget) == 0;
    int result = own.watches_forks ? begin() : -ENOMEM;
    pthread_mutex_unlock(&own.lock);
    return result;
}

double gt_own_peak_end(int window)
{
    double bytes = NAN;
    pthread_mutex_lock(&own.lock);
    double hwm = read_hwm();
    if (hwm >= 0)
        hand_out(hwm);
    for (size_t i = 0; i < own.count; i++) {
        if (own.window[i].number != window)
            continue;
        bytes = hwm < 0 ? NAN : own.window[i].bytes;
        own.window[i] = own.window[--own.count];
        break;
    }
    pthread_mutex_unlock(&own.lock);
    return bytes;
}
