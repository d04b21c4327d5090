/* What programs do with the fake of the CUDA driver, for the fake of the management library to tell: a file for each process in the folder
 * that GT_FAKE_GPU names. One GPU of 60 W, 300 W while a kernel runs. */
#ifndef TEST_FAKE_LIVE_H
#define TEST_FAKE_LIVE_H

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#include "fake.h"

enum { LIVE_CONTEXT = 400000000, LIVE_IDLE_MW = 60000, LIVE_BUSY_MW = 240000, LIVE_PROCESSES = 256 };

struct live {
    uint64_t bytes, most, start_us;
    double busy, busy_until; /* seconds of kernels, to the end of the last one at that moment */
};

struct live_process {
    int pid;
    bool is_running;
    struct live live;
    double busy; /* seconds so far */
};

/* All of them, those that ended too. */
static inline size_t live_processes(struct live_process *ret)
{
    const char *path = getenv("GT_FAKE_GPU");
    DIR *folder = path ? opendir(path) : NULL;
    struct dirent *entry;
    size_t count = 0;
    while (folder && (entry = readdir(folder)) && count < LIVE_PROCESSES) {
        struct live_process *process = &ret[count];
        int fd = openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC);
        if ((process->pid = atoi(entry->d_name)) && fd >= 0 &&
            read(fd, &process->live, sizeof process->live) == sizeof process->live) {
            double left = process->live.busy_until - fake_now();
            process->is_running = kill(process->pid, 0) == 0;
            process->busy = process->live.busy - (left > 0 ? left : 0);
            count++;
        }
        if (fd >= 0)
            close(fd);
    }
    if (folder)
        closedir(folder);
    return count;
}

/* The share of time since the last reading but one tenth of a second in which the kernels of a process ran; 0: of all. */
static inline double live_share(int pid)
{
    static struct {
        int pid;
        double at, busy, share;
    } last[LIVE_PROCESSES + 1];
    struct live_process process[LIVE_PROCESSES];
    size_t count = live_processes(process), slot = 0;
    double busy = 0, now = fake_now();
    for (size_t i = 0; i < count; i++)
        busy += !pid || process[i].pid == pid ? process[i].busy : 0;
    while (slot < LIVE_PROCESSES && last[slot].at > 0 && last[slot].pid != pid)
        slot++;
    if (last[slot].at > 0 && now - last[slot].at < 0.1)
        return last[slot].share;
    double share = last[slot].at > 0 ? (busy - last[slot].busy) / (now - last[slot].at) : 0;
    last[slot].pid = pid;
    last[slot].at = now;
    last[slot].busy = busy;
    last[slot].share = share < 0 ? 0 : share > 1 ? 1 : share;
    return last[slot].share;
}

static inline unsigned long long live_millijoules(void)
{
    struct live_process process[LIVE_PROCESSES];
    size_t count = live_processes(process);
    double busy = 0;
    for (size_t i = 0; i < count; i++)
        busy += process[i].busy;
    return (unsigned long long)(LIVE_IDLE_MW * fake_now() + LIVE_BUSY_MW * busy);
}

#endif
