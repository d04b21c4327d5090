#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/push_state.h"

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
