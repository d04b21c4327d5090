#include "engine/push_files.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/server.h"

static const double shortest = 0.2, longest = 60;
static const double answer_least = 5, answer_most = 60; /* how long a request is waited for */

double gt_pause_next(struct gt_pause *pause)
{
    if (!pause->seconds) {
        pause->seconds = shortest;
        pause->seed = (unsigned)gt_clock_monotonic(&gt_clock_system) ^ (unsigned)getpid();
    }
    double wait = pause->seconds * (0.5 + rand_r(&pause->seed) / (double)RAND_MAX);
    pause->seconds = pause->seconds * 2 < longest ? pause->seconds * 2 : longest;
    return wait;
}

void gt_sleep(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

static double now(void)
{
    return gt_seconds(gt_clock_monotonic(&gt_clock_system));
}

/* Again and again, as long as there is hope. */
static int push_all(struct gt_push *push, const struct gt_push_options *options, double patience,
                    struct gt_error *error)
{
    struct gt_pause pause = {0};
    struct gt_push_figures figures;
    unsigned long long rows = 0;
    double success = now();
    for (;;) {
        struct gt_error problem = {0};
        int status = gt_push_round(push, &problem);
        if (status >= 0)
            return 0;
        gt_push_figures(push, &figures);
        if (figures.rows > rows) {
            success = now();
            pause.seconds = 0;
        }
        rows = figures.rows;
        double wait = gt_pause_next(&pause);
        if (gt_server_refused(status) || now() + wait - success > patience)
            return gt_error_copy(error, &problem);
        gt_warn(options->warn, options->context, "%s; trying again in %.1f s", problem.text, wait);
        gt_sleep(wait);
    }
}

int gt_push_files(const char *const *paths, size_t count, const char *address, const struct gt_push_options *options,
                  double patience, struct gt_push_figures *ret, struct gt_error *error)
{
    struct gt_address parts;
    struct gt_push *push = NULL;
    struct gt_shipment *shipment;
    struct gt_push_options own = *options;
    size_t bad = 0;
    own.limits.seconds = fmin(answer_most, fmax(answer_least, patience));
    int status = gt_address_read(&parts, address, error);
    if (status >= 0)
        status = gt_push_open(&push, &parts, &own, error);
    for (size_t i = 0; status >= 0 && i < count; i++) {
        struct gt_error problem = {0};
        int added = gt_push_add(push, paths[i], &shipment, &problem);
        if (added < 0)
            gt_warn(options->warn, options->context, "%s", problem.text);
        else
            shipment->has_ended = true;
        bad += added < 0 && added != -EEXIST;
    }
    if (status >= 0)
        status = push_all(push, options, patience, error);
    if (push)
        gt_push_figures(push, ret);
    gt_push_close(push);
    if (status >= 0 && bad)
        status = gt_error_set(error, EBADMSG, "%zu of %zu recordings could not be read", bad, count);
    return status;
}
