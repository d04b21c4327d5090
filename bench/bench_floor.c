/* What the kernel takes for a sample: bench_floor PID PERIOD processes|machine reads the CPU clock and statm of the process and
 * its descendants from kept descriptors on schedule, and does nothing with them; "machine": and meminfo and stat of the machine
 * every time. Ended by SIGINT, it prints the moments of the readings. No program that samples by /proc can be cheaper. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4096, MOST_SAMPLES = 1 << 20 };

static struct {
    clockid_t clock;
    int statm;
} process[MOST];
static size_t processes;
static double moments[MOST_SAMPLES];
static volatile sig_atomic_t is_over;

static void end(int signal)
{
    (void)signal;
    is_over = 1;
}

static int open_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        perror(path);
        exit(1);
    }
    return fd;
}

static void find(int pid);

static void find_children(int pid, const char *thread)
{
    char path[300];
    int child;
    snprintf(path, sizeof path, "/proc/%d/task/%s/children", pid, thread);
    FILE *children = fopen(path, "re");
    while (children && fscanf(children, "%d", &child) == 1)
        find(child);
    if (children)
        fclose(children);
}

static void find(int pid)
{
    char path[300];
    if (processes == MOST || clock_getcpuclockid(pid, &process[processes].clock))
        return;
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    process[processes++].statm = open_file(path);
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    for (struct dirent *entry; threads && (entry = readdir(threads));)
        if (entry->d_name[0] != '.')
            find_children(pid, entry->d_name);
    if (threads)
        closedir(threads);
}

static void read_file(int fd)
{
    char text[8192];
    if (pread(fd, text, sizeof text, 0) <= 0)
        is_over = 1;
}

static double seconds(struct timespec t)
{
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int count, char **arguments)
{
    if (count != 4) {
        fprintf(stderr, "bench_floor PID PERIOD processes|machine\n");
        return 2;
    }
    sigaction(SIGINT, &(struct sigaction){.sa_handler = end}, NULL);
    find(atoi(arguments[1]));
    long period = (long)(atof(arguments[2]) * 1e9);
    bool has_machine = !strcmp(arguments[3], "machine");
    int files[] = {open_file("/proc/meminfo"), open_file("/proc/stat")};
    struct timespec due, now;
    prctl(PR_SET_TIMERSLACK, 1);
    clock_gettime(CLOCK_MONOTONIC, &due);
    size_t samples = 0;
    while (samples < MOST_SAMPLES && !is_over) {
        clock_gettime(CLOCK_REALTIME, &now);
        moments[samples++] = seconds(now);
        for (size_t i = 0; i < processes; i++) {
            clock_gettime(process[i].clock, &now);
            read_file(process[i].statm);
        }
        for (size_t i = 0; has_machine && i < sizeof files / sizeof *files; i++)
            read_file(files[i]);
        due.tv_nsec += period;
        due.tv_sec += due.tv_nsec / 1000000000;
        due.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    }
    for (size_t i = 0; i < samples; i++)
        printf("%.6f\n", moments[i]);
}
