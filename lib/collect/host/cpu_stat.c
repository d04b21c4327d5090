#include "collect/host/cpu_stat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "collect/topology.h"

enum { FIRST_LINE = 256, MOST_TEXT = 1 << 24 };

/* "user nice system idle iowait irq softirq steal guest guest_nice": guest time is part of user and nice. Seconds. */
static double busy_time(const char *fields)
{
    enum { USER, NICE, SYSTEM, IDLE, WAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
    unsigned long long field[FIELDS] = {0};
    int count = 0;
    for (char *end; count < FIELDS; fields = end, count++) {
        field[count] = strtoull(fields, &end, 10);
        if (end == fields)
            break;
    }
    if (count <= IDLE)
        return NAN;
    unsigned long long busy = field[USER] + field[NICE] + field[SYSTEM] + field[IRQ] + field[SOFTIRQ] + field[STEAL];
    return (double)busy / (double)sysconf(_SC_CLK_TCK);
}

static double whole_machine(const char *text)
{
    return strncmp(text, "cpu ", 4) ? NAN : busy_time(text + 4);
}

/* The lines of CPUs come first: all of them are there when another one follows. */
static bool has_all_cpus(const char *text)
{
    const char *line = text;
    while (line && !strncmp(line, "cpu", 3)) {
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return line && *line;
}

static bool read_text(struct gt_cpu_stat *stat)
{
    ssize_t length = gt_root_reread_piece(stat->fd, stat->text, stat->size);
    while (length == (ssize_t)stat->size - 1 && !has_all_cpus(stat->text) && stat->size < MOST_TEXT) {
        if (GT_GROW_TO(stat->text, stat->size, stat->size * 2) < 0)
            return false;
        length = gt_root_reread_piece(stat->fd, stat->text, stat->size);
    }
    return length > 0;
}

static int make_room(struct gt_cpu_stat *stat, size_t cpu)
{
    size_t before = stat->cpu_capacity;
    if (GT_GROW_TO(stat->last, stat->cpu_capacity, cpu + 1) < 0)
        return -ENOMEM;
    for (size_t i = before; i < stat->cpu_capacity; i++)
        stat->last[i] = NAN;
    return 0;
}

/* The package of the CPU, or what gt_package_learn has instead. */
static int count_cpu(struct gt_cpu_stat *stat, int cpu, double busy)
{
    int package = gt_package_learn(stat->topology, stat->root, cpu);
    if (package < 0 || isnan(busy))
        return package;
    if (make_room(stat, (size_t)cpu) < 0)
        return -ENOMEM;
    stat->cpus[package]++;
    if (busy > stat->last[cpu])
        stat->busy[package] += busy - stat->last[cpu];
    stat->last[cpu] = busy;
    return package;
}

/* False: it is not known on which package a CPU is. */
static bool count_cpus(struct gt_cpu_stat *stat)
{
    bool is_whole = true;
    memset(stat->cpus, 0, sizeof stat->cpus);
    for (const char *line = strchr(stat->text, '\n'); line && !strncmp(line + 1, "cpu", 3);
         line = strchr(line + 1, '\n')) {
        char *end;
        int cpu = (int)strtol(line + 4, &end, 10);
        is_whole &= count_cpu(stat, cpu, busy_time(end)) >= 0;
    }
    return is_whole;
}

static bool has_every_package(const struct gt_cpu_stat *stat, const struct gt_frame *frame)
{
    for (size_t i = 0; i < frame->package_count; i++)
        if (!stat->cpus[i])
            return false;
    return true;
}

void gt_cpu_stat_show(const struct gt_cpu_stat *stat, struct gt_frame *frame)
{
    for (size_t i = 0; i < frame->package_count; i++) {
        frame->package[i].cpus = stat->cpus[i];
        frame->package[i].value[GT_CPU_TIME] = stat->busy[i];
    }
}

int gt_cpu_stat_open(struct gt_cpu_stat *stat, const struct gt_collect_options *options, struct gt_frame *frame)
{
    *stat = (struct gt_cpu_stat){
        .root = options->root, .topology = options->topology, .size = frame->package_count ? 16384 : FIRST_LINE};
    stat->fd = gt_root_open_file(options->root, "proc/stat");
    stat->text = malloc(stat->size);
    if (!stat->text)
        return -ENOMEM;
    if (!frame->package_count)
        return 0;
    if (stat->fd >= 0 && read_text(stat) && count_cpus(stat) && has_every_package(stat, frame))
        return 0;
    gt_packages_forget(frame, stat->topology, "the system does not tell on which package each CPU is");
    stat->size = FIRST_LINE;
    return 0;
}

double gt_cpu_stat_read(struct gt_cpu_stat *stat, struct gt_frame *frame)
{
    if (stat->fd < 0)
        return NAN;
    if (!frame->package_count)
        return gt_root_reread_piece(stat->fd, stat->text, stat->size) > 0 ? whole_machine(stat->text) : NAN;
    if (!read_text(stat))
        return NAN;
    count_cpus(stat);
    gt_cpu_stat_show(stat, frame);
    return whole_machine(stat->text);
}

void gt_cpu_stat_close(struct gt_cpu_stat *stat)
{
    if (stat->fd >= 0)
        close(stat->fd);
    free(stat->text);
    free(stat->last);
}
