/* What the energy counters add to a sample: bench_energy PROCESSES PACKAGES SAMPLES prints CPU microseconds for each sample, of
 * a tree of so many sleeping processes on a machine whose powercap tree has so many packages, each with its memory; 0: none.
 * CPUs are spread over the packages where there are enough. All but the counters and that is the running machine's. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpu_tracker.h"

static char root[] = "/dev/shm/bench-energy-XXXXXX";

static void put(const char *path, const char *text)
{
    char full[256];
    snprintf(full, sizeof full, "%s/%s", root, path);
    int fd = open(full, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        exit(1);
    close(fd);
}

static void make_folder(const char *path)
{
    char full[256];
    snprintf(full, sizeof full, "%s/%s", root, path);
    if (mkdir(full, 0700) < 0 && errno != EEXIST)
        exit(1);
}

static void write_zone(const char *zone, const char *name, long microjoules)
{
    char path[128], text[32];
    snprintf(path, sizeof path, "sys/class/powercap/%s", zone);
    make_folder(path);
    snprintf(path, sizeof path, "sys/class/powercap/%s/name", zone);
    put(path, name);
    snprintf(path, sizeof path, "sys/class/powercap/%s/max_energy_range_uj", zone);
    put(path, "262143328850\n");
    snprintf(path, sizeof path, "sys/class/powercap/%s/energy_uj", zone);
    snprintf(text, sizeof text, "%012ld\n", microjoules);
    put(path, text);
}

/* Each package has drawn that much; a counter that stands still would be left out. */
static void write_counters(int packages, long microjoules)
{
    for (int i = 0; i < packages; i++) {
        char zone[32], name[32];
        snprintf(zone, sizeof zone, "intel-rapl:%d", i);
        snprintf(name, sizeof name, "package-%d\n", i);
        write_zone(zone, name, microjoules + i * 1000000L);
        snprintf(zone, sizeof zone, "intel-rapl:%d:0", i);
        write_zone(zone, "dram\n", microjoules / 10);
    }
}

static void write_topology(int packages)
{
    static const char *const parents[] = {"sys/devices", "sys/devices/system", "sys/devices/system/cpu"};
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++)
        make_folder(parents[i]);
    for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++) {
        char path[128], number[16];
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%ld", cpu);
        make_folder(path);
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%ld/topology", cpu);
        make_folder(path);
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%ld/topology/physical_package_id", cpu);
        snprintf(number, sizeof number, "%ld\n", cpu % packages);
        put(path, number);
    }
}

static void make_root(int packages)
{
    char link[256];
    if (!mkdtemp(root))
        exit(1);
    snprintf(link, sizeof link, "%s/proc", root);
    if (symlink("/proc", link) < 0)
        exit(1);
    make_folder("sys");
    make_folder("sys/class");
    make_folder("sys/class/powercap");
    write_counters(packages, 1000000);
    if (packages)
        write_topology(packages);
}

static int remove_one(const char *path, const struct stat *info, int flag, struct FTW *walk)
{
    (void)info, (void)flag, (void)walk;
    return remove(path);
}

/* A process with children that do nothing. They run a program: the memory of mere forks is read more often. */
static pid_t make_tree(int processes)
{
    pid_t main = fork();
    if (main == 0) {
        setpgid(0, 0);
        for (int i = 1; i < processes; i++)
            if (fork() == 0)
                execlp("sleep", "sleep", "1000", (char *)NULL);
        for (;;)
            pause();
    }
    setpgid(main, main);
    usleep(200000);
    return main;
}

static double cpu_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Seconds for each sample, or negative. */
static double measure(pid_t pid, int packages, int samples, struct gt_error *error)
{
    struct gt_tracker_options options = GT_INIT(struct gt_tracker_options);
    struct gt_tracker *tracker = NULL;
    double spent = 0;
    options.machine_root = root;
    options.memory = "rss";
    if (gt_tracker_open(&tracker, pid, &options, error) < 0)
        return -1;
    for (int i = 1; i <= samples; i++) {
        write_counters(packages, 1000000 + i * 1000L);
        usleep(10000); /* caches are as cold as between samples of a job */
        double begin = cpu_seconds();
        if (gt_tracker_sample(tracker, error) < 0)
            spent = -INFINITY;
        spent += cpu_seconds() - begin;
    }
    double joules = gt_tracker_value(tracker, GT_SCOPE_COMBINED, gt_metric_find("energy"));
    gt_tracker_close(tracker);
    if (packages && isnan(joules)) {
        snprintf(error->text, sizeof error->text, "no energy was measured");
        return -1;
    }
    return spent / samples;
}

int main(int count, char **words)
{
    int processes = count > 1 ? atoi(words[1]) : 0, packages = count > 2 ? atoi(words[2]) : -1;
    int samples = count > 3 ? atoi(words[3]) : 0;
    struct gt_error error = {0};
    if (processes < 1 || packages < 0 || samples < 1)
        return fprintf(stderr, "bench_energy PROCESSES PACKAGES SAMPLES\n"), 2;
    make_root(packages);
    pid_t pid = make_tree(processes);
    double seconds = measure(pid, packages, samples, &error);
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
    nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (seconds < 0)
        return fprintf(stderr, "%s\n", error.text), 1;
    printf("%.1f\n", seconds * 1e6);
    return 0;
}
