#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/push_state.h"

enum { DAY = 86400, BUCKET = 1 << 16 };

/* ---- Statements ---- */

/* " WHERE job IN ('...') AND source IN (...)" of all shipments for which a row may be on the server. */
static void add_where(struct gt_buffer *sql, const struct gt_push *push)
{
    const char *last = "";
    gt_buffer_text(sql, " WHERE job IN (");
    for (size_t i = 0; i < push->count; i++) {
        if (strcmp(last, push->shipment[i]->job) == 0)
            continue;
        gt_buffer_text(sql, *last ? ", " : "");
        gt_sql_text(sql, last = push->shipment[i]->job);
    }
    gt_buffer_text(sql, ") AND source IN (");
    for (size_t i = 0; i < push->count; i++)
        gt_buffer_printf(sql, "%s%u, %u", i ? ", " : "", push->shipment[i]->source,
                         gt_shipment_own_source(push->shipment[i]));
    gt_buffer_char(sql, ')');
}

static int ask(const struct gt_push *push, struct gt_buffer *sql, struct gt_buffer *text, struct gt_error *error)
{
    int status = sql->failed ? gt_error_system(error, ENOMEM, "%s", gt_server_name(push->server))
                             : gt_server_ask(push->server, sql->data, text, error);
    gt_buffer_release(sql);
    return status;
}

static struct gt_shipment *find(const struct gt_push *push, const char *job, uint32_t source)
{
    for (size_t i = 0; i < push->count; i++)
        if (push->shipment[i]->source == source && strcmp(push->shipment[i]->job, job) == 0)
            return push->shipment[i];
    return NULL;
}

/* ---- What still runs ---- */

static int wait_for_ours(struct gt_push *push, struct gt_error *error)
{
    struct gt_buffer sql = {0};
    char prefix[400];
    const char *last = "";
    long long count = 0;
    gt_buffer_text(&sql, "SELECT count() FROM system.processes WHERE 0");
    for (size_t i = 0; i < push->count; i++) {
        const struct gt_shipment *shipment = push->shipment[i];
        if (i && strcmp(last, shipment->node) == 0 && strcmp(push->shipment[i - 1]->job, shipment->job) == 0)
            continue;
        last = shipment->node;
        snprintf(prefix, sizeof prefix, "gt/%s/%s/", shipment->job, shipment->node);
        gt_buffer_text(&sql, " OR position(query_id, ");
        gt_sql_text(&sql, prefix);
        gt_buffer_text(&sql, ") = 1");
    }
    int status = sql.failed ? gt_error_system(error, ENOMEM, "%s", gt_server_name(push->server))
                            : gt_server_ask_number(push->server, sql.data, &count, error);
    gt_buffer_release(&sql);
    if (status >= 0 && count)
        status = gt_error_set(error, EAGAIN, "%s still works on %lld inserts", gt_server_name(push->server), count);
    return status;
}

/* ---- Whose rank it is ---- */

static void leave_out(struct gt_push *push, struct gt_shipment *shipment, long long theirs)
{
    long long apart = llabs(theirs - shipment->machine.start_real_ns) / GT_SECOND / DAY;
    shipment->is_left_out = true;
    gt_warn(
        push->options.warn, push->options.context,
        "%s is not sent: job %s on the server has rank %u of a run %lld days apart: give this one another name, as in "
        "clickhouse://HOST/DATABASE/JOB",
        shipment->path, shipment->job, shipment->source, apart);
}

static void compare_runs(struct gt_push *push, struct gt_shipment *shipment, long long started,
                         unsigned long long version)
{
    if (started == (long long)shipment->machine.start_real_ns) {
        shipment->is_source_known = shipment->is_told = true;
        shipment->known_version = version;
    } else if (shipment->source == gt_shipment_own_source(shipment)) {
        shipment->is_source_known = true;
    } else if (llabs(started - (long long)shipment->machine.start_real_ns) / GT_SECOND > DAY) {
        leave_out(push, shipment, started);
    } else {
        shipment->source = gt_shipment_own_source(shipment);
    }
}

/* Another recording of this push has the rank. */
static void part_from_others(struct gt_push *push, size_t index)
{
    struct gt_shipment *shipment = push->shipment[index];
    for (size_t i = 0; i < push->count && !shipment->is_source_known; i++)
        if (i != index && push->shipment[i]->source == shipment->source &&
            (i < index || push->shipment[i]->is_source_known) && strcmp(push->shipment[i]->job, shipment->job) == 0)
            shipment->source = gt_shipment_own_source(shipment);
}

static int find_trackers(struct gt_push *push, struct gt_error *error)
{
    struct gt_buffer sql = {0}, text = {0};
    struct gt_answer answer;
    char *field[4];
    gt_buffer_text(&sql, "SELECT job, source, argMax(started, version), max(version) FROM trackers");
    add_where(&sql, push);
    gt_buffer_text(&sql, " GROUP BY job, source");
    int status = ask(push, &sql, &text, error);
    gt_answer_begin(&answer, &text);
    while (status >= 0 && gt_answer_next(&answer, field, 4)) {
        struct gt_shipment *shipment = field[3] ? find(push, field[0], (uint32_t)strtoul(field[1], NULL, 10)) : NULL;
        if (shipment && !shipment->is_left_out)
            compare_runs(push, shipment, atoll(field[2]), strtoull(field[3], NULL, 10));
    }
    gt_buffer_release(&text);
    for (size_t i = 0; status >= 0 && i < push->count; i++)
        part_from_others(push, i);
    return status;
}

/* A recording that took a source of its own may be on the server under it. */
static int find_sources(struct gt_push *push, struct gt_error *error)
{
    int status = find_trackers(push, error);
    for (size_t i = 0; status >= 0 && i < push->count; i++)
        if (!push->shipment[i]->is_source_known &&
            push->shipment[i]->source == gt_shipment_own_source(push->shipment[i]))
            return find_trackers(push, error);
    return status;
}

/* ---- How many rows there are ---- */

struct counted {
    uint64_t rows, next;
};

/* `take` is called for each shipment that has rows in the table. */
static int count_rows(struct gt_push *push, enum gt_engine_table table,
                      void (*take)(struct gt_shipment *shipment, enum gt_engine_table table,
                                   const struct counted *counted),
                      struct gt_error *error)
{
    struct gt_buffer sql = {0}, text = {0};
    struct gt_answer answer;
    char *field[4];
    gt_buffer_printf(&sql, "SELECT job, source, uniqExact(number), max(number) FROM %s", gt_engine_table_name(table));
    add_where(&sql, push);
    gt_buffer_text(&sql, " GROUP BY job, source");
    int status = ask(push, &sql, &text, error);
    gt_answer_begin(&answer, &text);
    while (status >= 0 && gt_answer_next(&answer, field, 4)) {
        struct gt_shipment *shipment = field[3] ? find(push, field[0], (uint32_t)strtoul(field[1], NULL, 10)) : NULL;
        struct counted counted = {field[3] ? strtoull(field[2], NULL, 10) : 0,
                                  field[3] ? strtoull(field[3], NULL, 10) + 1 : 0};
        if (shipment)
            take(shipment, table, &counted);
    }
    gt_buffer_release(&text);
    return status;
}

static void take_sent(struct gt_shipment *shipment, enum gt_engine_table table, const struct counted *counted)
{
    shipment->sent[table] = counted->next;
}

int gt_push_settle(struct gt_push *push, struct gt_error *error)
{
    gt_push_drop_batches(push);
    int status = wait_for_ours(push, error);
    if (status >= 0)
        status = find_sources(push, error);
    for (size_t i = 0; i < push->count && status >= 0; i++) {
        memset(push->shipment[i]->sent, 0, sizeof push->shipment[i]->sent);
        gt_shipment_doubt(push->shipment[i]);
    }
    for (int table = GT_ENGINE_SAMPLES; status >= 0 && table < GT_ENGINE_TABLES; table++)
        status = count_rows(push, (enum gt_engine_table)table, take_sent, error);
    return status;
}

/* ---- Holes ---- */

static void take_counted(struct gt_shipment *shipment, enum gt_engine_table table, const struct counted *counted)
{
    shipment->sure[table] = counted->rows;
}

/* Clear the bits of rows that are there: of whole buckets at once, of others one by one. */
static int find_present(struct gt_push *push, const struct gt_shipment *shipment, enum gt_engine_table table,
                        uint8_t *hole, struct gt_error *error)
{
    struct gt_buffer sql = {0}, text = {0};
    struct gt_answer answer;
    char *number;
    uint64_t rows = shipment->read[table];
    int status = 0;
    for (uint64_t first = 0; status >= 0 && first < rows; first += BUCKET) {
        gt_buffer_printf(&sql, "SELECT DISTINCT number FROM %s WHERE job = ", gt_engine_table_name(table));
        gt_sql_text(&sql, shipment->job);
        gt_buffer_printf(&sql, " AND source = %u AND number >= %llu AND number < %llu", shipment->source,
                         (unsigned long long)first, (unsigned long long)(first + BUCKET));
        status = ask(push, &sql, &text, error);
        sql = (struct gt_buffer){0};
        gt_answer_begin(&answer, &text);
        while (status >= 0 && gt_answer_next(&answer, &number, 1)) {
            uint64_t present = number ? strtoull(number, NULL, 10) : rows;
            if (present < rows)
                hole[present / 8] &= (uint8_t) ~(1u << (present % 8));
        }
    }
    gt_buffer_release(&text);
    return status;
}

static int dig(struct gt_push *push, struct gt_shipment *shipment, enum gt_engine_table table, struct gt_error *error)
{
    size_t size = (size_t)(shipment->read[table] / 8 + 1);
    uint8_t *hole = malloc(size);
    if (!hole)
        return gt_error_system(error, ENOMEM, "%s", shipment->path);
    memset(hole, 0xff, size);
    int status = find_present(push, shipment, table, hole, error);
    free(shipment->hole[table]);
    shipment->hole[table] = hole;
    return status;
}

int gt_push_count(struct gt_push *push, struct gt_error *error)
{
    int status = 0, holes = 0;
    for (int table = GT_ENGINE_SAMPLES; status >= 0 && table < GT_ENGINE_TABLES; table++) {
        for (size_t i = 0; i < push->count; i++)
            if (gt_push_is_closing(push->shipment[i]))
                push->shipment[i]->sure[table] = 0;
        status = count_rows(push, (enum gt_engine_table)table, take_counted, error);
        for (size_t i = 0; status >= 0 && i < push->count; i++) {
            struct gt_shipment *shipment = push->shipment[i];
            bool lacks = gt_push_is_closing(shipment) && shipment->sure[table] < shipment->read[table];
            if (gt_push_is_closing(shipment))
                shipment->sure[table] = shipment->read[table];
            if (lacks) {
                status = dig(push, shipment, (enum gt_engine_table)table, error);
                holes++;
            }
        }
    }
    return status < 0 ? status : holes;
}

/* ---- The last rows ---- */

static void take_last(struct gt_shipment *shipment, enum gt_engine_table table, uint64_t rows)
{
    if (table == GT_ENGINE_FINALS)
        shipment->has_finals = rows >= shipment->finals;
    else
        shipment->has_tracker = true;
}

/* Of all recordings in one question; those of other versions are passed over. */
static int find_last(struct gt_push *push, enum gt_engine_table table, const char *what, struct gt_error *error)
{
    struct gt_buffer sql = {0}, text = {0};
    struct gt_answer answer;
    char *field[4];
    gt_buffer_printf(&sql, "SELECT job, source, version, %s FROM %s", what, gt_engine_table_name(table));
    add_where(&sql, push);
    gt_buffer_text(&sql, " GROUP BY job, source, version");
    int status = ask(push, &sql, &text, error);
    gt_answer_begin(&answer, &text);
    while (status >= 0 && gt_answer_next(&answer, field, 4)) {
        struct gt_shipment *shipment = field[3] ? find(push, field[0], (uint32_t)strtoul(field[1], NULL, 10)) : NULL;
        if (shipment && shipment->version == strtoull(field[2], NULL, 10))
            take_last(shipment, table, strtoull(field[3], NULL, 10));
    }
    gt_buffer_release(&text);
    return status;
}

int gt_push_find_last(struct gt_push *push, struct gt_error *error)
{
    for (size_t i = 0; i < push->count; i++)
        push->shipment[i]->has_finals = push->shipment[i]->has_tracker = false;
    int status = find_last(push, GT_ENGINE_FINALS, "uniqExact(scope, metric)", error);
    return status < 0 ? status : find_last(push, GT_ENGINE_TRACKERS, "count()", error);
}
