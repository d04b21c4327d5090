/* bench_pss PID [MS]: the largest sum of proportional set sizes of a process and all below it, read every few milliseconds until the
 * process has ended. Prints {"peak": bytes, "looks": count}. What no tracker has to do with, for comparison in side_by_side.py. */
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static double kilobytes(const char *key, const char *path)
{
    char line[256];
    double found = 0;
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            found = strtod(line + strlen(key), NULL);
    if (file)
        fclose(file);
    return found;
}

static double sum_of_tree(int pid);

static double sum_of_children(int pid, const char *task)
{
    char path[300];
    int child;
    double sum = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%s/children", pid, task);
    FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%d", &child) == 1)
        sum += sum_of_tree(child);
    if (file)
        fclose(file);
    return sum;
}

static double sum_of_tree(int pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
    double sum = kilobytes("Pss:", path) * 1024;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    for (struct dirent *entry; tasks && (entry = readdir(tasks));)
        if (entry->d_name[0] != '.')
            sum += sum_of_children(pid, entry->d_name);
    if (tasks)
        closedir(tasks);
    return sum;
}

int main(int count, char **words)
{
    int pid = count > 1 ? atoi(words[1]) : 0, pause = count > 2 ? atoi(words[2]) : 2;
    struct pollfd end = {(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0};
    double peak = 0;
    long looks = 0;
    if (end.fd < 0) {
        perror("bench_pss");
        return 1;
    }
    for (; poll(&end, 1, pause) == 0; looks++) {
        double sum = sum_of_tree(pid);
        peak = sum > peak ? sum : peak;
    }
    printf("{\"peak\": %.0f, \"looks\": %ld}\n", peak, looks);
    return 0;
}
