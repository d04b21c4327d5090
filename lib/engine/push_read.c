#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "blocks/block_event.h"
#include "engine/push_state.h"
#include "engine/row_binary.h"
#include "store/field.h"

/* ---- Batches ---- */

static void name_columns(struct gt_batch *batch, enum gt_engine_table table)
{
    gt_buffer_clear(&batch->sql);
    gt_buffer_printf(&batch->sql, "INSERT INTO %s (", gt_engine_table_name(table));
    const char *comma = "";
    for (size_t i = 0; i < batch->columns.count; i++) {
        if (!batch->has[i])
            continue;
        gt_buffer_printf(&batch->sql, "%s%s", comma, batch->columns.column[i].name);
        comma = ",";
    }
    gt_buffer_text(&batch->sql, ") FORMAT RowBinary\n");
}

/* Metrics may be left out, and what came later. */
static int check_columns(const struct gt_push *push, const struct gt_batch *batch, enum gt_engine_table table,
                         const struct gt_buffer *left_out, struct gt_error *error)
{
    for (size_t i = 0; i < batch->columns.count; i++)
        if (!batch->has[i] && batch->columns.column[i].scope < 0 && !batch->columns.column[i].is_later)
            return gt_error_set(error, EINVAL, "%s: its table %s has no column %s", gt_server_name(push->server),
                                gt_engine_table_name(table), batch->columns.column[i].name);
    if (left_out->length)
        gt_warn(push->options.warn, push->options.context,
                "%s lacks these columns, and they could not be added; recordings have them: %s",
                gt_server_name(push->server), left_out->data);
    return 0;
}

struct gt_batch *gt_push_batch(struct gt_push *push, enum gt_engine_table table, int *status, struct gt_error *error)
{
    struct gt_batch *batch = push->batch[table];
    struct gt_buffer left_out = {0};
    *status = 0;
    if (batch && batch->is_known)
        return batch;
    if (!batch && !(batch = push->batch[table] = calloc(1, sizeof *batch))) {
        *status = gt_error_system(error, ENOMEM, "%s", gt_server_name(push->server));
        return NULL;
    }
    gt_engine_columns(&batch->columns, table);
    *status = gt_engine_find_columns(push->server, table, &batch->columns, batch->has, &left_out, error);
    if (*status >= 0)
        *status = check_columns(push, batch, table, &left_out, error);
    name_columns(batch, table);
    gt_buffer_release(&left_out);
    if (*status >= 0 && batch->sql.failed)
        *status = gt_error_system(error, ENOMEM, "%s", gt_server_name(push->server));
    batch->is_known = *status >= 0;
    return *status < 0 ? NULL : batch;
}

static size_t bytes_of(const struct gt_push *push)
{
    size_t bytes = 0;
    for (int table = 0; table < GT_ENGINE_TABLES; table++)
        bytes += push->batch[table] ? push->batch[table]->rows.length : 0;
    return bytes;
}

/* An insert that fills a hole is another one than that which left it. */
static void identify(const struct gt_push *push, struct gt_batch *batch, const struct gt_shipment *shipment,
                     enum gt_engine_table table, uint64_t number)
{
    int length = snprintf(batch->identity, sizeof batch->identity, "gt/%s/%s/%s/%u/%llu", shipment->job, shipment->node,
                          gt_engine_table_name(table), shipment->source, (unsigned long long)number);
    if (push->repairs && length > 0 && (size_t)length < sizeof batch->identity)
        snprintf(batch->identity + length, sizeof batch->identity - (size_t)length, "/%lld",
                 (long long)gt_clock_real(&gt_clock_system));
}

int gt_push_added(struct gt_push *push, struct gt_shipment *shipment, enum gt_engine_table table, uint64_t number,
                  size_t rows, struct gt_error *error)
{
    struct gt_batch *batch = push->batch[table];
    if (batch->rows.failed)
        return gt_error_system(error, -batch->rows.failed, "%s", shipment->path);
    if (!batch->count && rows)
        identify(push, batch, shipment, table, number);
    batch->count += rows;
    if (bytes_of(push) >= GT_BATCH_BYTES)
        return gt_push_send_all(push, error);
    return batch->count >= GT_BATCH_ROWS ? gt_push_send(push, table, error) : 0;
}

int gt_push_send(struct gt_push *push, enum gt_engine_table table, struct gt_error *error)
{
    struct gt_batch *batch = push->batch[table];
    char identity[sizeof batch->identity + 24];
    if (!batch || !batch->count)
        return 0;
    snprintf(identity, sizeof identity, "%s/%zu", batch->identity, batch->count);
    int status = gt_server_insert(push->server, batch->sql.data, &batch->rows, identity, error);
    if (status >= 0) {
        push->rows += batch->count;
        for (size_t i = 0; i < push->count; i++)
            if (push->shipment[i]->sent[table] < push->shipment[i]->read[table])
                push->shipment[i]->sent[table] = push->shipment[i]->read[table];
    }
    gt_buffer_clear(&batch->rows);
    batch->count = 0;
    return status;
}

int gt_push_send_all(struct gt_push *push, struct gt_error *error)
{
    int status = 0;
    for (int table = 0; status >= 0 && table < GT_ENGINE_TABLES; table++)
        status = gt_push_send(push, (enum gt_engine_table)table, error);
    return status;
}

void gt_push_drop_batches(struct gt_push *push)
{
    for (int table = 0; table < GT_ENGINE_TABLES; table++)
        if (push->batch[table]) {
            gt_buffer_clear(&push->batch[table]->rows);
            push->batch[table]->count = 0;
        }
}

static bool is_wanted(const struct gt_shipment *shipment, enum gt_engine_table table, uint64_t number)
{
    const uint8_t *hole = shipment->hole[table];
    return number >= shipment->sent[table] || (hole && hole[number / 8] >> (number % 8) & 1);
}

/* ---- Samples ---- */

static int add_sample(struct gt_push *push, struct gt_shipment *shipment, const struct gt_sample *sample,
                      struct gt_error *error)
{
    int status = 0;
    uint64_t number = shipment->read[GT_ENGINE_SAMPLES]++;
    if (!is_wanted(shipment, GT_ENGINE_SAMPLES, number))
        return 0;
    struct gt_batch *batch = gt_push_batch(push, GT_ENGINE_SAMPLES, &status, error);
    if (!batch)
        return status;
    gt_rows_sample(&batch->rows, &batch->columns, batch->has, shipment, sample, number);
    return gt_push_added(push, shipment, GT_ENGINE_SAMPLES, number, 1, error);
}

static int add_detail(struct gt_push *push, struct gt_shipment *shipment, const struct gt_sample *sample,
                      const struct gt_row *row, struct gt_error *error)
{
    int status = 0;
    enum gt_engine_table table = row->scope == GT_SCOPE_GPU ? GT_ENGINE_GPU_SAMPLES : GT_ENGINE_PROCESS_SAMPLES;
    uint64_t number = shipment->read[table]++;
    if (!is_wanted(shipment, table, number))
        return 0;
    struct gt_batch *batch = gt_push_batch(push, table, &status, error);
    if (!batch)
        return status;
    gt_rows_detail(&batch->rows, table, &batch->columns, batch->has, shipment, sample, row, number);
    return gt_push_added(push, shipment, table, number, 1, error);
}

/* Rows have numbers in the order of the file, so one that cannot be read leaves no gap. */
static int read_samples(struct gt_push *push, struct gt_shipment *shipment, struct gt_recording *recording,
                        struct gt_error *error)
{
    const struct gt_sample *sample;
    for (;;) {
        struct gt_error bad = {0};
        int status = gt_recording_next(recording, &sample, &bad);
        if (status == 0)
            return 0;
        if (status == -EBADMSG)
            continue;
        if (status < 0)
            return gt_error_copy(error, &bad);
        shipment->heard = sample->real_ns;
        shipment->epoch_ns = sample->real_ns - sample->monotonic_ns;
        status = add_sample(push, shipment, sample, error);
        for (size_t i = GT_FIXED_ROWS; status >= 0 && i < sample->row_count; i++)
            status = add_detail(push, shipment, sample, &sample->row[i], error);
        if (status < 0)
            return status;
    }
}

static bool is_begin(const struct gt_recording_place *place)
{
    static const struct gt_recording_place begin;
    return !memcmp(place, &begin, sizeof begin);
}

/* Only SQLite's recordings are read from where they were left. */
static void begin(struct gt_shipment *shipment, struct gt_recording *recording)
{
    gt_recording_detail(recording, true);
    if (is_begin(&shipment->place) || gt_recording_begin_after(recording, &shipment->place) < 0) {
        shipment->read[GT_ENGINE_SAMPLES] = 0;
        shipment->read[GT_ENGINE_GPU_SAMPLES] = shipment->read[GT_ENGINE_PROCESS_SAMPLES] = 0;
        shipment->place = (struct gt_recording_place){0};
    }
}

int gt_push_read(struct gt_push *push, struct gt_shipment *shipment, struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    int status = gt_recording_open(&recording, shipment->path, error);
    if (status < 0)
        return status;
    begin(shipment, recording);
    status = read_samples(push, shipment, recording, error);
    if (status >= 0)
        gt_recording_place(recording, &shipment->place);
    gt_recording_close(recording);
    return status;
}

/* ---- Minutes ---- */

struct minutes {
    struct gt_push *push;
    struct gt_shipment *shipment;
    struct gt_error *error;
    int status;
};

/* The share of the hardware follows from the sum. */
static bool wants_column(const void *minutes, const struct gt_column *column)
{
    (void)minutes;
    return !column->per_unit;
}

static void take_minute(void *context, const struct gt_minute_row *minute)
{
    struct minutes *minutes = context;
    struct gt_shipment *shipment = minutes->shipment;
    if (minutes->status < 0)
        return;
    uint64_t number = shipment->read[GT_ENGINE_MINUTES]++;
    if (!is_wanted(shipment, GT_ENGINE_MINUTES, number))
        return;
    struct gt_batch *batch = gt_push_batch(minutes->push, GT_ENGINE_MINUTES, &minutes->status, minutes->error);
    if (!batch)
        return;
    gt_rows_minute(&batch->rows, &batch->columns, batch->has, shipment, minute, number);
    minutes->status = gt_push_added(minutes->push, shipment, GT_ENGINE_MINUTES, number, 1, minutes->error);
}

int gt_push_read_minutes(struct gt_push *push, struct gt_shipment *shipment, struct gt_error *error)
{
    struct minutes minutes = {push, shipment, error, 0};
    struct gt_error none = {0};
    const struct gt_minutes_use use = {&minutes, wants_column, take_minute};
    shipment->read[GT_ENGINE_MINUTES] = 0;
    int status = gt_minutes_read(shipment->path, &shipment->machine, &use, &none);
    if (minutes.status < 0)
        return minutes.status;
    return status >= 0 || status == -ENOTSUP ? 0 : gt_error_copy(error, &none);
}

/* ---- Code blocks ---- */

static int64_t nanoseconds(double seconds)
{
    return (int64_t)floor(seconds) * GT_SECOND + (int64_t)nearbyint((seconds - floor(seconds)) * 1e9);
}

static void add_call_row(struct gt_buffer *out, const struct gt_shipment *shipment, const struct gt_interval *call,
                         const char *name, uint64_t number)
{
    bool has_ended = !call->unfinished && !call->stepped;
    gt_row_text(out, shipment->job);
    gt_row_u32(out, shipment->source);
    gt_row_u16(out, shipment->day);
    gt_row_u64(out, number);
    gt_row_text(out, name);
    gt_row_u32(out, (uint32_t)call->process);
    gt_row_u64(out, call->thread < 0 ? 0 : (uint64_t)call->thread);
    gt_row_u64(out, call->call < 0 ? 0 : (uint64_t)call->call);
    gt_row_i64(out, nanoseconds(call->start));
    if (gt_row_has(out, has_ended)) /* the length is that of the clock that never steps */
        gt_row_i64(out, nanoseconds(call->start) + nanoseconds(call->elapsed));
    gt_row_scaled(out, has_ended ? call->self : NAN, 1e9);
    gt_row_scaled(out, has_ended ? call->cpu_stop - call->cpu_start : NAN, 1e9);
}

static int add_calls(struct gt_push *push, struct gt_shipment *shipment, const struct gt_intervals *calls,
                     const struct gt_strings *names, struct gt_error *error)
{
    int status = 0;
    struct gt_batch *batch = calls->count ? gt_push_batch(push, GT_ENGINE_CALLS, &status, error) : NULL;
    shipment->read[GT_ENGINE_CALLS] = 0;
    for (size_t i = 0; status >= 0 && i < calls->count; i++) {
        uint64_t number = shipment->read[GT_ENGINE_CALLS]++;
        if (!is_wanted(shipment, GT_ENGINE_CALLS, number))
            continue;
        add_call_row(&batch->rows, shipment, &calls->interval[i], gt_strings_text(names, calls->interval[i].name),
                     number);
        status = gt_push_added(push, shipment, GT_ENGINE_CALLS, number, 1, error);
    }
    return status;
}

int gt_push_read_calls(struct gt_push *push, struct gt_shipment *shipment, struct gt_error *error)
{
    char path[PATH_MAX];
    struct gt_block_event_list list = {.skip_bad = true};
    struct gt_intervals calls = {0};
    if (gt_block_event_collected(path, sizeof path, shipment->path) < 0)
        return 0; /* it has none */
    int status = gt_block_event_list_add(&list, path, error);
    if (status >= 0 && gt_block_event_list_pair(&list, &calls) < 0)
        status = gt_error_system(error, ENOMEM, "%s", path);
    if (status >= 0 && gt_intervals_close(&calls, list.last, list.last_monotonic) < 0)
        status = gt_error_system(error, ENOMEM, "%s", path);
    if (status >= 0)
        status = add_calls(push, shipment, &calls, &list.names, error);
    gt_intervals_release(&calls);
    gt_block_event_list_release(&list);
    return status;
}

/* ---- Outcomes ---- */

static int summarize(struct gt_shipment *shipment, struct gt_recording *recording, struct gt_error *error)
{
    const struct gt_sample *sample;
    int status;
    if (!shipment->live) {
        if (!(shipment->live = malloc(sizeof *shipment->live)))
            return gt_error_system(error, ENOMEM, "%s", shipment->path);
        gt_summary_init(shipment->live);
    } else if (gt_recording_begin_after(recording, &shipment->live_place) < 0) {
        gt_summary_release(shipment->live);
        gt_summary_init(shipment->live);
    }
    while ((status = gt_recording_next(recording, &sample, NULL)) != 0)
        if (status > 0 ? gt_summary_add(shipment->live, sample) < 0 : status != -EBADMSG)
            return gt_error_system(error, ENOMEM, "%s", shipment->path);
    gt_recording_place(recording, &shipment->live_place);
    return 0;
}

/* As far as samples tell. */
static void live_outcome(const struct gt_shipment *shipment, struct gt_outcome *ret)
{
    const struct gt_summary *live = shipment->live;
    gt_summary_outcome(live, ret);
    if (live->samples)
        ret->elapsed = gt_seconds(live->last_real_ns - shipment->machine.start_real_ns);
    if (isnan(ret->value[GT_SCOPE_COMBINED][GT_RAM_PEAK]))
        ret->value[GT_SCOPE_COMBINED][GT_RAM_PEAK] = live->of[GT_SCOPE_COMBINED][GT_RAM].max;
}

static int copy_outcome(const struct gt_outcome *outcome, struct gt_outcome *ret)
{
    *ret = *outcome;
    ret->lives = (struct gt_lives){0};
    size_t size = outcome->provenance_count * sizeof *outcome->provenance;
    size_t ranks = outcome->rank_count * sizeof *outcome->rank;
    ret->provenance = malloc(size + 1);
    ret->rank = malloc(ranks + 1);
    if (ret->provenance && size)
        memcpy(ret->provenance, outcome->provenance, size);
    if (ret->rank && ranks)
        memcpy(ret->rank, outcome->rank, ranks);
    return ret->provenance && ret->rank ? 0 : -ENOMEM;
}

int gt_push_outcome(struct gt_shipment *shipment, struct gt_outcome *ret, struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    gt_outcome_init(ret);
    int status = gt_recording_open(&recording, shipment->path, error);
    if (status < 0)
        return status;
    const struct gt_outcome *outcome = gt_recording_outcome(recording);
    if (outcome) {
        if (copy_outcome(outcome, ret) < 0)
            status = gt_error_system(error, ENOMEM, "%s", shipment->path);
    } else if ((status = summarize(shipment, recording, error)) >= 0) {
        live_outcome(shipment, ret);
    }
    gt_recording_close(recording);
    return status;
}

void gt_push_release_outcome(struct gt_outcome *outcome)
{
    free(outcome->provenance);
    free(outcome->rank);
    outcome->provenance = NULL;
    outcome->rank = NULL;
}
