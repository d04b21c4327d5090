/* What does a part of my own program cost? Tracks this process with a background thread, reads values while it runs, and
 * prints the report at the end.
 *
 *     export PKG_CONFIG_PATH=$HOME/.local/lib/pkgconfig   # after make install PREFIX=$HOME/.local; not needed for packages
 *     cc embed.c $(pkg-config --cflags --libs gpu-tracker) -Wl,-rpath,$(pkg-config --variable=libdir gpu-tracker) -o embed && ./embed
 */
#include <gpu_tracker.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void on_warning(void *context, const char *sentence)
{
    (void)context;
    fprintf(stderr, "embed: %s\n", sentence);
}

static void work(size_t megabytes, double seconds)
{
    size_t size = megabytes * 1000000;
    char *memory = malloc(size);
    clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    while (memory && clock() < end)
        memset(memory, (int)clock(), size);
    free(memory);
}

int main(void)
{
    struct gt_error error = {0};
    struct gt_tracker_options options = GT_INIT(struct gt_tracker_options);
    struct gt_tracker *tracker = NULL;
    struct gt_report *report = NULL;
    char *text = NULL;
    size_t length;

    options.sleep_time = 0.01;
    options.ram_unit = "megabytes";
    options.time_unit = "seconds";
    options.warn = on_warning;
    int status = gt_tracker_open(&tracker, 0, &options, &error);
    if (status >= 0)
        status = gt_tracker_start(tracker, &error);
    if (status >= 0) {
        work(100, 0.3);
        double cpu = gt_tracker_value(tracker, GT_SCOPE_MAIN, gt_metric_find("cpu_time"));
        printf("CPU time so far: %.1f s\n", cpu);
        status = gt_tracker_finish(tracker, &error);
    }
    if (status >= 0)
        status = gt_tracker_report(tracker, &report, &error);
    if (status >= 0)
        status = gt_report_render(report, "text", &text, &length, &error);
    if (status >= 0)
        fwrite(text, 1, length, stdout);
    else
        fprintf(stderr, "embed: %s\n", error.text);
    free(text);
    gt_report_free(report);
    gt_tracker_close(tracker);
    return status < 0;
}
