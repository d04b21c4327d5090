#include "progress.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

enum { LINE_SIZE = 200, REFRESH_NS = 500000000 };

void progress_open(struct progress *progress, bool wanted)
{
    *progress = (struct progress){.start = gt_clock_ns(CLOCK_MONOTONIC)};
    if (wanted && isatty(STDERR_FILENO))
        progress->next_ns = progress->start + REFRESH_NS;
}

static size_t columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

static void bytes_text(char *text, size_t size, double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    for (; bytes >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1000;
    if (isnan(bytes))
        snprintf(text, size, "n/a");
    else
        snprintf(text, size, "%.*f %s", unit && bytes < 99.95 ? 1 : 0, bytes, units[unit]);
}

static void share_text(char *text, size_t size, double ratio)
{
    if (isnan(ratio))
        snprintf(text, size, "n/a");
    else
        snprintf(text, size, "%.0f %%", ratio * 100);
}

static double value(const struct gt_tracker *tracker, const char *metric)
{
    return gt_tracker_value(tracker, GT_SCOPE_COMBINED, gt_metric_find(metric));
}

static size_t line_text(char *line, size_t size, int64_t elapsed, const struct gt_tracker *tracker)
{
    char ram[24], gpu_ram[24], cpu[24], gpu[24];
    long long seconds = elapsed / 1000000000;
    bytes_text(ram, sizeof ram, value(tracker, "ram"));
    bytes_text(gpu_ram, sizeof gpu_ram, value(tracker, "gpu_ram"));
    share_text(cpu, sizeof cpu, value(tracker, "cpu_utilization"));
    share_text(gpu, sizeof gpu, value(tracker, "gpu_utilization"));
    snprintf(line, size, "%lld:%02lld:%02lld  RAM %s  CPU %s  GPU %s  GPU RAM %s", seconds / 3600, seconds / 60 % 60,
             seconds % 60, ram, cpu, gpu, gpu_ram);
    return strlen(line);
}

/* A line that the terminal has wrapped since, because it became narrower, covers more than one row. */
static size_t erase_text(char *text, size_t size, size_t drawn)
{
    size_t rows = drawn ? (drawn - 1) / columns() : 0;
    if (rows)
        return (size_t)snprintf(text, size, "\r\033[%zuA\033[J", rows);
    return (size_t)snprintf(text, size, "\r\033[K");
}

void progress_draw(struct progress *progress, const struct gt_tracker *tracker, int64_t now_ns)
{
    char text[LINE_SIZE + 32], line[LINE_SIZE];
    if (!progress->next_ns || now_ns < progress->next_ns || !tracker)
        return;
    progress->next_ns += (now_ns - progress->next_ns) / REFRESH_NS * REFRESH_NS + REFRESH_NS;
    size_t length = line_text(line, sizeof line, now_ns - progress->start, tracker);
    size_t width = columns() - 1; /* a full line would make some terminals wrap */
    if (length > width)
        length = width;
    size_t start = erase_text(text, sizeof text, progress->drawn);
    memcpy(text + start, line, length);
    gt_file_write_all(STDERR_FILENO, text, start + length);
    progress->drawn = length;
}

void progress_erase(struct progress *progress)
{
    char text[32];
    if (progress->drawn)
        gt_file_write_all(STDERR_FILENO, text, erase_text(text, sizeof text, progress->drawn));
    progress->drawn = 0;
}

void progress_close(struct progress *progress)
{
    progress_erase(progress);
    progress->next_ns = 0;
}
