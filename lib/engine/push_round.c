#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "engine/push.h"
#include "engine/push_state.h"
#include "engine/server.h"
#include "store/field.h"

enum { HEARTBEAT = 600, REPAIRS = 5 };

int gt_push_open(struct gt_push **ret, const struct gt_address *address, const struct gt_push_options *options,
                 struct gt_error *error)
{
    struct gt_push *push = calloc(1, sizeof *push);
    if (!push)
        return gt_error_system(error, ENOMEM, "%s", address->host);
    push->options = *options;
    push->is_in_doubt = true;
    push->clock_server = NAN;
    snprintf(push->job, sizeof push->job, "%s", address->jobs);
    int status = strchr(address->jobs, ',')
                     ? gt_error_set(error, EINVAL, "%s: recordings are of one job", address->jobs)
                     : gt_server_open(&push->server, address, options->files, error);
    if (status >= 0)
        gt_server_limit(push->server, &options->limits);
    if (status < 0)
        gt_push_close(push);
    else
        *ret = push;
    return status;
}

void gt_push_close(struct gt_push *push)
{
    if (!push)
        return;
    for (size_t i = 0; i < push->count; i++)
        gt_shipment_close(push->shipment[i]);
    for (int table = 0; table < GT_ENGINE_TABLES; table++)
        if (push->batch[table]) {
            gt_buffer_release(&push->batch[table]->sql);
            gt_buffer_release(&push->batch[table]->rows);
            free(push->batch[table]);
        }
    free(push->shipment);
    gt_server_close(push->server);
    free(push);
}

static bool is_same_run(const struct gt_shipment *a, const struct gt_shipment *b)
{
    return gt_shipment_own_source(a) == gt_shipment_own_source(b) && strcmp(a->job, b->job) == 0 &&
           a->machine.start_real_ns == b->machine.start_real_ns && a->machine.rank == b->machine.rank;
}

int gt_push_add(struct gt_push *push, const char *path, struct gt_shipment **ret, struct gt_error *error)
{
    struct gt_shipment *shipment = NULL;
    int status = gt_shipment_open(&shipment, path, push->job, error);
    for (size_t i = 0; status >= 0 && i < push->count; i++)
        if (is_same_run(push->shipment[i], shipment))
            status = gt_error_set(error, EEXIST, "%s is not sent: it is the same run as %s", path,
                                  push->shipment[i]->path);
    struct gt_shipment **place = status >= 0 ? GT_GROW_LIST(push, shipment) : NULL;
    if (place) {
        *ret = *place = shipment;
        push->is_in_doubt = true; /* what the server has of it is to be asked */
        return 0;
    }
    gt_shipment_close(shipment);
    return status < 0 ? status : gt_error_system(error, ENOMEM, "%s", path);
}

void gt_push_remove(struct gt_push *push, struct gt_shipment *shipment)
{
    for (size_t i = 0; i < push->count; i++)
        if (push->shipment[i] == shipment) {
            memmove(&push->shipment[i], &push->shipment[i + 1], (push->count - i - 1) * sizeof *push->shipment);
            push->count--;
            gt_shipment_close(shipment);
            return;
        }
}

int gt_push_check(struct gt_push *push, struct gt_error *error)
{
    int status = 0;
    for (int table = 0; status >= 0 && table < GT_ENGINE_TABLES; table++)
        gt_push_batch(push, (enum gt_engine_table)table, &status, error);
    return status;
}

void gt_push_figures(const struct gt_push *push, struct gt_push_figures *ret)
{
    *ret = (struct gt_push_figures){.rows = push->rows, .recordings = push->count};
    gt_server_traffic(push->server, &ret->requests, &ret->bytes);
    for (size_t i = 0; i < push->count; i++)
        ret->shipped += push->shipment[i]->is_shipped;
}

/* ---- Rows about trackers ---- */

static int add_tracker(struct gt_push *push, struct gt_shipment *shipment, const struct gt_outcome *outcome,
                       struct gt_error *error)
{
    int status;
    struct gt_batch *batch = gt_push_batch(push, GT_ENGINE_TRACKERS, &status, error);
    if (!batch)
        return status;
    double set = gt_seconds(gt_recording_clock_set(&shipment->machine, shipment->epoch_ns));
    gt_rows_tracker(&batch->rows, shipment, outcome, push->clock_server + set);
    return gt_push_added(push, shipment, GT_ENGINE_TRACKERS, shipment->version, 1, error);
}

static int add_finals(struct gt_push *push, struct gt_shipment *shipment, const struct gt_outcome *outcome,
                      struct gt_error *error)
{
    int status;
    struct gt_batch *batch = gt_push_batch(push, GT_ENGINE_FINALS, &status, error);
    if (!batch)
        return status;
    size_t rows = gt_rows_finals(&batch->rows, shipment, outcome);
    return gt_push_added(push, shipment, GT_ENGINE_FINALS, shipment->version, rows, error);
}

static int add_devices(struct gt_push *push, struct gt_shipment *shipment, struct gt_error *error)
{
    int status = 0;
    struct gt_batch *batch = shipment->machine.gpu_length ? gt_push_batch(push, GT_ENGINE_DEVICES, &status, error)
                                                          : NULL;
    if (!batch)
        return status;
    size_t rows = gt_rows_devices(&batch->rows, shipment);
    return gt_push_added(push, shipment, GT_ENGINE_DEVICES, 0, rows, error);
}

/* The first row says whose rank it is, before there are others. */
static int announce(struct gt_push *push, struct gt_error *error)
{
    int status = 0;
    bool has_new = false;
    for (size_t i = 0; status >= 0 && i < push->count; i++) {
        struct gt_shipment *shipment = push->shipment[i];
        struct gt_outcome unknown;
        if (shipment->is_told || shipment->is_left_out)
            continue;
        has_new = true;
        gt_outcome_init(&unknown);
        shipment->version = 0;
        status = add_devices(push, shipment, error);
        if (status >= 0)
            status = add_tracker(push, shipment, &unknown, error);
    }
    if (status >= 0 && has_new)
        status = gt_push_send_all(push, error);
    for (size_t i = 0; status >= 0 && i < push->count; i++)
        push->shipment[i]->is_told = push->shipment[i]->is_source_known = true;
    return status;
}

/* How it goes, for those who look while it runs. */
static int tell_progress(struct gt_push *push, struct gt_error *error)
{
    double now = gt_seconds(gt_clock_monotonic(&gt_clock_system));
    int status = 0;
    if (!push->options.is_live || (push->told_at > 0 && now - push->told_at < HEARTBEAT))
        return 0;
    for (size_t i = 0; status >= 0 && i < push->count; i++) {
        struct gt_shipment *shipment = push->shipment[i];
        struct gt_outcome outcome;
        if (shipment->is_left_out || gt_push_is_closing(shipment) || shipment->is_shipped ||
            !shipment->read[GT_ENGINE_SAMPLES])
            continue;
        status = gt_push_outcome(shipment, &outcome, error);
        shipment->version = 2 * shipment->read[GT_ENGINE_SAMPLES];
        outcome.complete = false; /* the last word is that after the count */
        if (status >= 0)
            status = add_finals(push, shipment, &outcome, error);
        if (status >= 0)
            status = add_tracker(push, shipment, &outcome, error);
        gt_push_release_outcome(&outcome);
    }
    if (status >= 0)
        push->told_at = now;
    return status < 0 ? status : gt_push_send_all(push, error);
}

/* ---- The end ---- */

static int read_the_rest(struct gt_push *push, struct gt_error *error)
{
    int status = 0;
    for (size_t i = 0; status >= 0 && i < push->count; i++) {
        if (!gt_push_is_closing(push->shipment[i]))
            continue;
        status = gt_push_read_minutes(push, push->shipment[i], error);
        if (status >= 0)
            status = gt_push_read_calls(push, push->shipment[i], error);
    }
    return status < 0 ? status : gt_push_send_all(push, error);
}

static bool has_hole(const struct gt_shipment *shipment)
{
    for (int table = 0; table < GT_ENGINE_TABLES; table++)
        if (shipment->hole[table])
            return true;
    return false;
}

static int fill_holes(struct gt_push *push, struct gt_error *error)
{
    int status = 0;
    push->repairs++;
    for (size_t i = 0; status >= 0 && i < push->count; i++) {
        struct gt_shipment *shipment = push->shipment[i];
        if (!has_hole(shipment))
            continue;
        shipment->place = (struct gt_recording_place){0};
        status = gt_push_read(push, shipment, error);
        if (status >= 0)
            status = gt_push_read_minutes(push, shipment, error);
        if (status >= 0)
            status = gt_push_read_calls(push, shipment, error);
    }
    if (status >= 0)
        status = gt_push_send_all(push, error);
    push->repairs--;
    for (size_t i = 0; i < push->count; i++)
        for (int table = 0; table < GT_ENGINE_TABLES; table++) {
            free(push->shipment[i]->hole[table]);
            push->shipment[i]->hole[table] = NULL;
        }
    return status;
}

/* The server's word counts, and not that it answered. */
static int count_all(struct gt_push *push, struct gt_error *error)
{
    int holes = 1;
    for (int i = 0; i < REPAIRS && holes > 0; i++) {
        holes = gt_push_count(push, error);
        int status = holes > 0 ? fill_holes(push, error) : holes;
        if (status < 0)
            return status;
    }
    return holes > 0 ? gt_error_set(error, EIO, "%s loses rows that it has taken", gt_server_name(push->server)) : 0;
}

static int find_version(struct gt_shipment *shipment, struct gt_error *error)
{
    struct gt_outcome outcome;
    struct gt_buffer rows = {0};
    int status = gt_push_outcome(shipment, &outcome, error);
    if (status >= 0) {
        shipment->version = 2 * shipment->read[GT_ENGINE_SAMPLES] + outcome.complete;
        shipment->finals = gt_rows_finals(&rows, shipment, &outcome);
    }
    gt_buffer_release(&rows);
    gt_push_release_outcome(&outcome);
    return status;
}

/* Its finals, then the row that says that all is there; those that are there already are not sent again. */
static int send_last(struct gt_push *push, struct gt_shipment *shipment, struct gt_error *error)
{
    struct gt_outcome outcome;
    int status = gt_push_outcome(shipment, &outcome, error);
    if (status >= 0 && !shipment->has_finals)
        status = add_finals(push, shipment, &outcome, error);
    if (status >= 0 && !shipment->has_tracker)
        status = add_tracker(push, shipment, &outcome, error);
    gt_push_release_outcome(&outcome);
    return status;
}

/* Returns how many had to be sent. */
static int send_lacking(struct gt_push *push, struct gt_error *error)
{
    int sent = 0, status = gt_push_find_last(push, error);
    for (size_t i = 0; status >= 0 && i < push->count; i++) {
        struct gt_shipment *shipment = push->shipment[i];
        if (!gt_push_is_closing(shipment))
            continue;
        shipment->is_shipped = shipment->version < shipment->known_version || /* it knows more than this file */
                               (shipment->has_finals && shipment->has_tracker);
        if (shipment->is_shipped)
            continue;
        status = send_last(push, shipment, error);
        sent++;
    }
    for (int table = GT_ENGINE_FINALS; status >= 0 && table >= GT_ENGINE_TRACKERS;
         table--) /* the tracker's row is the last */
        status = gt_push_send(push, (enum gt_engine_table)table, error);
    return status < 0 ? status : sent;
}

static int end_recordings(struct gt_push *push, struct gt_error *error)
{
    int status = 0, left = 1;
    for (size_t i = 0; status >= 0 && i < push->count; i++)
        if (gt_push_is_closing(push->shipment[i]))
            status = find_version(push->shipment[i], error);
    for (int attempt = 0; status >= 0 && left > 0 && attempt < REPAIRS; attempt++)
        status = left = send_lacking(push, error);
    return status >= 0 && left
               ? gt_error_set(error, EIO, "%s loses rows that it has taken", gt_server_name(push->server))
               : status;
}

static int close_recordings(struct gt_push *push, struct gt_error *error)
{
    bool is_any = false;
    for (size_t i = 0; i < push->count; i++)
        is_any = is_any || gt_push_is_closing(push->shipment[i]);
    int status = is_any ? read_the_rest(push, error) : 0;
    if (status >= 0 && is_any)
        status = count_all(push, error);
    return status < 0 || !is_any ? status : end_recordings(push, error);
}

/* ---- A round ---- */

static void compare_clocks(struct gt_push *push)
{
    double offset, bound;
    if (push->options.is_live && gt_server_clock(push->server, &offset, &bound, NULL) >= 0)
        push->clock_server = offset;
}

static int read_all(struct gt_push *push, struct gt_error *error)
{
    int status = 0;
    for (size_t i = 0; status >= 0 && i < push->count; i++)
        if (!push->shipment[i]->is_left_out && !push->shipment[i]->is_shipped)
            status = gt_push_read(push, push->shipment[i], error);
    if (status >= 0)
        status = gt_push_send_all(push, error);
    for (size_t i = 0; status >= 0 && i < push->count; i++) {
        memcpy(push->shipment[i]->sure, push->shipment[i]->read, sizeof push->shipment[i]->sure);
        push->shipment[i]->sure_place = push->shipment[i]->place;
    }
    return status;
}

int gt_push_round(struct gt_push *push, struct gt_error *error)
{
    if (!push->count)
        return 0;
    int status = push->is_in_doubt ? gt_push_settle(push, error) : 0;
    push->is_in_doubt = true; /* until all went well */
    if (status >= 0)
        compare_clocks(push);
    if (status >= 0)
        status = announce(push, error);
    if (status >= 0)
        status = read_all(push, error);
    if (status >= 0)
        status = tell_progress(push, error);
    if (status >= 0)
        status = close_recordings(push, error);
    if (status < 0)
        gt_push_drop_batches(push);
    push->is_in_doubt = status < 0;
    return status;
}

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
