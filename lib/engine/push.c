#include "engine/push.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/grow.h"
#include "blocks/block_event.h"
#include "store/field.h"

enum { BATCH_ROWS = 10000, BATCH_BYTES = 8 << 20, HEARTBEAT_S = 600, REPAIRS = 5 };

/* Rows for one insert into a table. They may be of several recordings. */
struct gt_push_batch {
    struct gt_engine_columns columns;
    struct gt_buffer sql; /* precedes the rows */
    struct gt_buffer rows;
    size_t count;
    char identity[500]; /* of the first row */
};

int gt_push_open(struct gt_push **ret, const struct gt_address *address, const struct gt_push_options *options,
                 struct gt_error *error)
{
    struct gt_push *push = calloc(1, sizeof *push);
    if (!push)
        return gt_error_system(error, ENOMEM, "%s", address->host);
    push->options = *options;
    push->clock_server = NAN;
    push->heartbeat = -INFINITY;
    snprintf(push->job, sizeof push->job, "%s", address->jobs);
    int status = strchr(address->jobs, ',')
                     ? gt_error_set(error, EINVAL, "%s: recordings are of one job", address->jobs)
                     : gt_server_open(&push->server, address, options->files, error);
    if (status < 0) {
        gt_push_close(push);
        return status;
    }
    push->server->limits = options->limits;
    *ret = push;
    return 0;
}

void gt_push_close(struct gt_push *push)
{
    if (!push)
        return;
    for (size_t i = 0; i < push->count; i++)
        gt_upload_close(push->upload[i]);
    for (int table = 0; table < GT_ENGINE_TABLES; table++)
        if (push->batch[table]) {
            gt_buffer_release(&push->batch[table]->sql);
            gt_buffer_release(&push->batch[table]->rows);
            free(push->batch[table]);
        }
    free(push->upload);
    gt_server_close(push->server);
    free(push);
}

int gt_push_add(struct gt_push *push, const char *path, struct gt_upload **ret, struct gt_error *error)
{
    struct gt_upload *upload = NULL;
    int status = gt_upload_open(&upload, path, push->job, error);
    for (size_t i = 0; status >= 0 && i < push->count; i++) {
        const struct gt_upload *other = push->upload[i];
        if (other->own_source == upload->own_source && strcmp(other->job, upload->job) == 0 &&
            other->machine.start_real_ns == upload->machine.start_real_ns &&
            other->machine.rank == upload->machine.rank)
            status = gt_error_set(error, EEXIST, "%s is not sent: it is the same run as %s", path, other->path);
    }
    if (status >= 0 && GT_APPEND(push, upload, upload) < 0)
        status = gt_error_system(error, ENOMEM, "%s", path);
    if (status < 0)
        gt_upload_close(upload);
    else
        *ret = upload;
    return status;
}

void gt_push_remove(struct gt_push *push, size_t index)
{
    gt_upload_close(push->upload[index]);
    memmove(&push->upload[index], &push->upload[index + 1], (--push->count - index) * sizeof *push->upload);
}

/* ---- Batches ---- */

static int open_batch(struct gt_push *push, enum gt_engine_table table, struct gt_error *error)
{
    struct gt_buffer left_out = {0};
    struct gt_push_batch *batch = calloc(1, sizeof *batch);
    if (!batch)
        return gt_error_system(error, ENOMEM, "%s", push->server->name);
    gt_engine_columns(&batch->columns, table);
    int status = gt_engine_find_columns(push->server, table, &batch->columns, &left_out, error);
    gt_buffer_printf(&batch->sql, "INSERT INTO %s ", gt_engine_table_name(table));
    for (size_t i = 0, count = 0; i < batch->columns.count; i++)
        if (batch->columns.has[i])
            gt_buffer_printf(&batch->sql, "%s%s", count++ ? "," : "(", batch->columns.column[i].name);
    gt_buffer_text(&batch->sql, ") FORMAT RowBinary\n");
    if (status >= 0 && left_out.length)
        gt_warn(push->options.warn, push->options.context,
                "%s lacks these columns, and they could not be added; recordings have them: %s", push->server->name,
                left_out.data);
    if (status >= 0 && batch->sql.failed)
        status = gt_error_system(error, ENOMEM, "%s", push->server->name);
    gt_buffer_release(&left_out);
    if (status >= 0) {
        push->batch[table] = batch;
        return 0;
    }
    gt_buffer_release(&batch->sql);
    free(batch);
    return status;
}

static int send_batch(struct gt_push *push, enum gt_engine_table table, struct gt_error *error)
{
    struct gt_push_batch *batch = push->batch[table];
    char identity[sizeof batch->identity + 24];
    if (!batch || !batch->count)
        return 0;
    snprintf(identity, sizeof identity, "%s/%zu", batch->identity, batch->count);
    int status = gt_server_insert(push->server, batch->sql.data, &batch->rows, identity, error);
    if (status >= 0)
        push->rows += batch->count;
    gt_buffer_clear(&batch->rows);
    batch->count = 0;
    return status;
}

/* `trackers` is last: its row says that the others are there. */
static int send_all(struct gt_push *push, struct gt_error *error)
{
    int status = 0;
    for (int table = GT_ENGINE_TABLES - 1; status >= 0 && table >= 0; table--)
        status = send_batch(push, (enum gt_engine_table)table, error);
    return status;
}

/* Repairs need other identities, because the server ignores an insert whose identity it knows. */
static void identify(const struct gt_push *push, struct gt_push_batch *batch, enum gt_engine_table table,
                     const struct gt_upload *upload, uint64_t number)
{
    int length = snprintf(batch->identity, sizeof batch->identity, "gt/%s/%s/%s/%u/%llu", upload->job, upload->node,
                          gt_engine_table_name(table), upload->source, (unsigned long long)number);
    if (push->repairs && length > 0 && (size_t)length < sizeof batch->identity)
        snprintf(batch->identity + length, sizeof batch->identity - (size_t)length, "/%lld",
                 (long long)gt_clock_real(&gt_clock_system));
}

static int add_row(struct gt_push *push, enum gt_engine_table table, const struct gt_row_input *in,
                   struct gt_error *error)
{
    int status = push->batch[table] ? 0 : open_batch(push, table, error);
    if (status < 0)
        return status;
    struct gt_push_batch *batch = push->batch[table];
    size_t bytes = 0;
    if (!batch->count++)
        identify(push, batch, table, in->upload, table >= GT_ENGINE_SAMPLES ? in->number : in->upload->version);
    gt_row_write(&batch->rows, table, &batch->columns, in);
    if (batch->rows.failed)
        return gt_error_system(error, -batch->rows.failed, "%s", in->upload->path);
    for (int i = 0; i < GT_ENGINE_TABLES; i++)
        bytes += push->batch[i] ? push->batch[i]->rows.length : 0;
    if (bytes >= BATCH_BYTES)
        return send_all(push, error);
    return batch->count >= BATCH_ROWS ? send_batch(push, table, error) : 0;
}

/* ---- What the server has ---- */

/* Append " WHERE job IN (...) AND source IN (...)" for uploads whose state is unknown. */
static void add_where(struct gt_buffer *sql, const struct gt_push *push)
{
    const char *last = "";
    gt_buffer_text(sql, " WHERE job IN (");
    for (size_t i = 0; i < push->count; i++) {
        const struct gt_upload *upload = push->upload[i];
        if (upload->is_asked || strcmp(last, upload->job) == 0)
            continue;
        gt_buffer_text(sql, *last ? ", " : "");
        gt_sql_text(sql, last = upload->job);
    }
    gt_buffer_text(sql, ") AND source IN (");
    const char *comma = "";
    for (size_t i = 0; i < push->count; i++)
        if (!push->upload[i]->is_asked) {
            gt_buffer_printf(sql, "%s%u, %u", comma, push->upload[i]->source, push->upload[i]->own_source);
            comma = ", ";
        }
    gt_buffer_char(sql, ')');
}

/* Returns the upload that the first two fields of a row name; NULL for others, and for those whose state is known. */
static struct gt_upload *find(const struct gt_push *push, char *const field[])
{
    for (size_t i = 0; i < push->count && field[0] && field[1]; i++)
        if (!push->upload[i]->is_asked && push->upload[i]->source == (uint32_t)strtoul(field[1], NULL, 10) &&
            strcmp(push->upload[i]->job, field[0]) == 0)
            return push->upload[i];
    return NULL;
}

static uint64_t number_of(const char *field)
{
    return field ? strtoull(field, NULL, 10) : 0;
}

static int wait_for_inserts(struct gt_push *push, struct gt_error *error)
{
    struct gt_buffer sql = {0};
    struct gt_answer answer;
    char prefix[400], *count = NULL;
    const struct gt_upload *last = NULL;
    gt_buffer_text(&sql, "SELECT count() FROM system.processes WHERE 0");
    for (size_t i = 0; i < push->count; i++) {
        const struct gt_upload *upload = push->upload[i];
        if (upload->is_asked || (last && strcmp(last->node, upload->node) == 0 && strcmp(last->job, upload->job) == 0))
            continue;
        last = upload;
        snprintf(prefix, sizeof prefix, "gt/%s/%s/", upload->job, upload->node);
        gt_buffer_text(&sql, " OR position(query_id, ");
        gt_sql_text(&sql, prefix);
        gt_buffer_text(&sql, ") = 1");
    }
    int status = gt_server_query(push->server, &sql, &answer, error);
    if (status >= 0 && (!gt_answer_next(&answer, &count, 1) || !count))
        status = gt_error_set(error, EIO, "%s gives an empty answer", push->server->name);
    else if (status >= 0 && strcmp(count, "0") != 0)
        status = gt_error_set(error, EAGAIN, "%s still works on %s inserts", push->server->name, count);
    gt_answer_release(&answer);
    return status;
}

/* A row of `trackers` says which run has a source. A second run of a rank takes a source of its own. */
static void compare_runs(struct gt_push *push, struct gt_upload *upload, uint32_t source, int64_t started,
                         uint64_t version)
{
    if (source == upload->own_source || (source == upload->source && started == upload->machine.start_real_ns)) {
        upload->source = source;
        upload->is_source_known = upload->is_announced = true;
        upload->known_version = version;
        return;
    }
    if (source != upload->source)
        return;
    long long days = llabs((long long)started - (long long)upload->machine.start_real_ns) / GT_SECOND / 86400;
    upload->source = upload->own_source;
    upload->is_left_out = days > 0;
    if (days > 0)
        gt_warn(
            push->options.warn, push->options.context,
            "%s is not sent: job %s on the server has rank %u of a run %lld days apart: give this one another name, "
            "as in clickhouse://HOST/DATABASE/JOB",
            upload->path, upload->job, source, days);
}

/* Another recording of this push has the source. */
static void part_from_others(struct gt_push *push, size_t index)
{
    struct gt_upload *upload = push->upload[index];
    for (size_t i = 0; i < push->count && !upload->is_source_known; i++)
        if (i != index && push->upload[i]->source == upload->source &&
            (i < index || push->upload[i]->is_source_known) && strcmp(push->upload[i]->job, upload->job) == 0)
            upload->source = upload->own_source;
}

static int ask_trackers(struct gt_push *push, struct gt_error *error)
{
    struct gt_buffer sql = {0};
    struct gt_answer answer;
    char *field[4];
    gt_buffer_text(&sql, "SELECT job, source, argMax(started, version), max(version) FROM trackers");
    add_where(&sql, push);
    gt_buffer_text(&sql, " GROUP BY job, source ORDER BY source DESC"); /* own sources are first */
    int status = gt_server_query(push->server, &sql, &answer, error);
    while (gt_answer_next(&answer, field, 4))
        for (size_t i = 0; i < push->count && field[3]; i++) {
            struct gt_upload *upload = push->upload[i];
            if (!upload->is_asked && !upload->is_left_out && !upload->is_announced &&
                strcmp(upload->job, field[0]) == 0)
                compare_runs(push, upload, (uint32_t)number_of(field[1]), atoll(field[2]), number_of(field[3]));
        }
    gt_answer_release(&answer);
    for (size_t i = 0; status >= 0 && i < push->count; i++)
        part_from_others(push, i);
    return status;
}

/* Find out which rows before the highest number the server has. */
static int ask_numbers(struct gt_push *push, struct gt_upload *upload, enum gt_engine_table table,
                       struct gt_error *error)
{
    struct gt_upload_rows *rows = &upload->rows[table];
    struct gt_buffer sql = {0};
    struct gt_answer answer;
    char *field;
    if (!(rows->is_there = calloc(1, (size_t)(rows->next / 8 + 1))))
        return gt_error_system(error, ENOMEM, "%s", upload->path);
    gt_buffer_printf(&sql, "SELECT DISTINCT number FROM %s WHERE job = ", gt_engine_table_name(table));
    gt_sql_text(&sql, upload->job);
    gt_buffer_printf(&sql, " AND source = %u", upload->source);
    int status = gt_server_query(push->server, &sql, &answer, error);
    while (gt_answer_next(&answer, &field, 1)) {
        uint64_t number = number_of(field);
        if (field && number < rows->next)
            rows->is_there[number / 8] |= (uint8_t)(1u << (number % 8));
    }
    gt_answer_release(&answer);
    return status;
}

static void take_state(struct gt_upload *upload, enum gt_engine_table table, uint64_t highest, uint64_t count)
{
    struct gt_upload_rows *rows = &upload->rows[table];
    if (table >= GT_ENGINE_SAMPLES) {
        rows->next = highest + 1;
        rows->count = count;
    } else if (highest >= upload->finals_version) {
        upload->finals_version = highest;
        upload->finals_count = count;
    }
}

/* Ask for final values of each version and, with `has_parts`, for the rows of tables that number them. */
static int ask_rows(struct gt_push *push, bool has_parts, struct gt_error *error)
{
    struct gt_buffer sql = {0};
    struct gt_answer answer;
    char *field[5];
    gt_buffer_printf(&sql, "SELECT %d, job, source, version, uniqExact(scope, metric) FROM finals", GT_ENGINE_FINALS);
    add_where(&sql, push);
    gt_buffer_text(&sql, " GROUP BY job, source, version");
    for (int table = GT_ENGINE_SAMPLES; has_parts && table < GT_ENGINE_TABLES; table++) {
        gt_buffer_printf(&sql, " UNION ALL SELECT %d, job, source, max(number), uniqExact(number) FROM %s", table,
                         gt_engine_table_name((enum gt_engine_table)table));
        add_where(&sql, push);
        gt_buffer_text(&sql, " GROUP BY job, source");
    }
    int status = gt_server_query(push->server, &sql, &answer, error);
    while (gt_answer_next(&answer, field, 5)) {
        struct gt_upload *upload = field[4] ? find(push, field + 1) : NULL;
        uint64_t table = number_of(field[0]);
        if (upload && table < GT_ENGINE_TABLES)
            take_state(upload, (enum gt_engine_table)table, number_of(field[3]), number_of(field[4]));
    }
    gt_answer_release(&answer);
    for (size_t i = 0; i < push->count && has_parts; i++)
        for (int table = GT_ENGINE_SAMPLES; status >= 0 && table < GT_ENGINE_TABLES; table++)
            if (!push->upload[i]->is_asked && push->upload[i]->rows[table].count < push->upload[i]->rows[table].next)
                status = ask_numbers(push, push->upload[i], (enum gt_engine_table)table, error);
    return status;
}

static void forget_state(struct gt_upload *upload)
{
    upload->is_announced = false;
    upload->known_version = upload->finals_version = upload->finals_count = upload->sent = 0;
    for (int table = 0; table < GT_ENGINE_TABLES && !upload->is_whole; table++) {
        struct gt_upload_rows *rows = &upload->rows[table];
        free(rows->is_there);
        *rows = (struct gt_upload_rows){.read = rows->read};
    }
}

/* Compare the server's rows with those that were read, and go on after them or begin again. */
static void resume(struct gt_push *push, struct gt_upload *upload)
{
    bool has_all = true, has_holes = false;
    for (int table = GT_ENGINE_SAMPLES; table < GT_ENGINE_TABLES && !upload->is_whole; table++) {
        has_all &= upload->rows[table].count >= upload->rows[table].read;
        has_holes |= upload->rows[table].is_there != NULL;
    }
    upload->is_asked = true;
    upload->is_whole |= upload->is_read && has_all;
    if (upload->is_read && !has_all)
        push->repairs++;
    if (!upload->is_whole && (!has_all || has_holes))
        gt_upload_restart(upload);
}

/* Update the state of all uploads for which it is unknown. */
static int ask_all(struct gt_push *push, struct gt_error *error)
{
    bool is_any = false, is_any_part = false;
    for (size_t i = 0; i < push->count; i++)
        if (!push->upload[i]->is_asked) {
            forget_state(push->upload[i]);
            is_any = true;
            is_any_part |= !push->upload[i]->is_whole;
        }
    int status = is_any ? wait_for_inserts(push, error) : 0;
    if (status >= 0 && is_any)
        status = ask_trackers(push, error);
    if (status >= 0 && is_any)
        status = ask_rows(push, is_any_part, error);
    for (size_t i = 0; status >= 0 && i < push->count; i++)
        if (!push->upload[i]->is_asked)
            resume(push, push->upload[i]);
    return status;
}

/* ---- Rows of samples, minutes and calls ---- */

/* Read one row: add it if the server lacks it. */
static int take_row(struct gt_push *push, struct gt_upload *upload, enum gt_engine_table table, struct gt_row_input *in,
                    struct gt_error *error)
{
    struct gt_upload_rows *rows = &upload->rows[table];
    in->upload = upload;
    in->number = rows->read++;
    if (in->number < rows->next && !(rows->is_there && !(rows->is_there[in->number / 8] >> (in->number % 8) & 1)))
        return 0;
    upload->sent++;
    return add_row(push, table, in, error);
}

static int take_sample(struct gt_push *push, struct gt_upload *upload, const struct gt_sample *sample, bool has_outcome,
                       struct gt_error *error)
{
    upload->heard = sample->real_ns;
    upload->epoch_ns = sample->real_ns - sample->monotonic_ns;
    if (!has_outcome && gt_summary_add(&upload->summary, sample) < 0)
        return gt_error_system(error, ENOMEM, "%s", upload->path);
    int status = take_row(push, upload, GT_ENGINE_SAMPLES, &(struct gt_row_input){.sample = sample}, error);
    for (size_t i = GT_FIXED_ROWS; status >= 0 && i < sample->row_count; i++)
        status = take_row(push, upload,
                          sample->row[i].scope == GT_SCOPE_GPU ? GT_ENGINE_GPU_SAMPLES : GT_ENGINE_PROCESS_SAMPLES,
                          &(struct gt_row_input){.sample = sample, .row = &sample->row[i]}, error);
    return status;
}

/* Numbers follow the order of the file, so a row that cannot be read leaves no gap. Only recordings in SQLite are read
 * from where they were left. */
static int read_samples(struct gt_push *push, struct gt_upload *upload, struct gt_error *error)
{
    static const struct gt_recording_place start;
    const struct gt_sample *sample;
    struct gt_recording *recording = NULL;
    struct gt_error bad = {0};
    int status = gt_recording_open(&recording, upload->path, error);
    if (status < 0)
        return status;
    bool has_outcome = gt_recording_outcome(recording);
    gt_recording_detail(recording, true);
    if (memcmp(&upload->place, &start, sizeof start) != 0 && gt_recording_begin_after(recording, &upload->place) < 0)
        gt_upload_restart(upload);
    while (status >= 0 && (status = gt_recording_next(recording, &sample, &bad)) != 0) {
        if (status > 0)
            status = take_sample(push, upload, sample, has_outcome, error);
        else if (status == -EBADMSG)
            status = 0;
        else
            gt_error_copy(error, &bad);
        bad = (struct gt_error){0};
    }
    gt_recording_place(recording, &upload->place);
    gt_recording_close(recording);
    return status;
}

struct minutes {
    struct gt_push *push;
    struct gt_upload *upload;
    struct gt_error *error;
    int status;
};

/* Shares of the hardware follow from the sums. */
static bool wants_column(const void *context, const struct gt_column *column)
{
    (void)context;
    return !column->per_unit;
}

static void take_minute(void *context, const struct gt_minute_row *minute)
{
    struct minutes *minutes = context;
    if (minutes->status >= 0)
        minutes->status = take_row(minutes->push, minutes->upload, GT_ENGINE_MINUTES,
                                   &(struct gt_row_input){.minute = minute}, minutes->error);
}

static int read_minutes(struct gt_push *push, struct gt_upload *upload, struct gt_error *error)
{
    struct minutes minutes = {push, upload, error, 0};
    struct gt_error bad = {0};
    upload->rows[GT_ENGINE_MINUTES].read = 0;
    int status = gt_minutes_read(upload->path, &upload->machine,
                                 &(struct gt_minutes_use){&minutes, wants_column, take_minute}, &bad);
    if (minutes.status < 0)
        return minutes.status;
    return status >= 0 || status == -ENOTSUP ? 0 : gt_error_copy(error, &bad);
}

static int read_calls(struct gt_push *push, struct gt_upload *upload, struct gt_error *error)
{
    char path[PATH_MAX];
    struct gt_block_event_list list = {.skip_bad = true};
    struct gt_intervals calls = {0};
    upload->rows[GT_ENGINE_CALLS].read = 0;
    if (gt_block_event_collected(path, sizeof path, upload->path) < 0)
        return 0; /* without calls */
    int status = gt_block_event_list_add(&list, path, error);
    if (status >= 0 &&
        (gt_block_event_list_pair(&list, &calls) < 0 || gt_intervals_close(&calls, list.last, list.last_monotonic) < 0))
        status = gt_error_system(error, ENOMEM, "%s", path);
    for (size_t i = 0; status >= 0 && i < calls.count; i++) {
        const struct gt_interval *call = &calls.interval[i];
        struct gt_row_input in = {.call = call, .name = gt_strings_text(&list.names, call->name)};
        status = take_row(push, upload, GT_ENGINE_CALLS, &in, error);
    }
    gt_intervals_release(&calls);
    gt_block_event_list_release(&list);
    return status;
}

static int read_upload(struct gt_push *push, struct gt_upload *upload, struct gt_error *error)
{
    bool has_ended = upload->has_ended;
    int status = read_samples(push, upload, error);
    if (status >= 0 && has_ended)
        status = read_minutes(push, upload, error);
    if (status >= 0 && has_ended)
        status = read_calls(push, upload, error);
    upload->is_read = status >= 0 && has_ended;
    return status;
}

/* ---- Rows about trackers ---- */

static int add_tracker(struct gt_push *push, struct gt_upload *upload, const struct gt_outcome *outcome,
                       struct gt_error *error)
{
    struct gt_buffer facts = {0};
    bool has_ended = outcome->complete && isfinite(outcome->elapsed);
    gt_upload_facts(&facts, upload, outcome);
    const struct gt_row_input in = {
        .upload = upload,
        .outcome = outcome,
        .ended = has_ended ? upload->machine.start_real_ns + (int64_t)(outcome->elapsed * 1e9) : 0,
        .clock_server = push->clock_server + gt_seconds(gt_recording_clock_set(&upload->machine, upload->epoch_ns)),
        .facts = facts.data ? facts.data : ""};
    int status = facts.failed ? gt_error_system(error, ENOMEM, "%s", upload->path)
                              : add_row(push, GT_ENGINE_TRACKERS, &in, error);
    gt_buffer_release(&facts);
    return status;
}

static int add_finals(struct gt_push *push, struct gt_upload *upload, const struct gt_outcome *outcome,
                      struct gt_error *error)
{
    struct gt_row_input in = {.upload = upload};
    int status = 0;
    for (size_t position = 0; status >= 0 && gt_final_next(outcome, &position, &in);)
        status = add_row(push, GT_ENGINE_FINALS, &in, error);
    return status;
}

/* Announce new trackers before their samples, so that others see which sources are taken. */
static int announce(struct gt_push *push, struct gt_error *error)
{
    struct gt_outcome unknown;
    int status = 0;
    gt_outcome_init(&unknown);
    for (size_t i = 0; status >= 0 && i < push->count; i++) {
        struct gt_upload *upload = push->upload[i];
        if (upload->is_announced || upload->is_left_out)
            continue;
        upload->version = 0;
        for (size_t device = 0; status >= 0 && device < upload->machine.gpu_length; device++)
            status = add_row(push, GT_ENGINE_DEVICES, &(struct gt_row_input){.upload = upload, .number = device},
                             error);
        if (status >= 0)
            status = add_tracker(push, upload, &unknown, error);
    }
    if (status >= 0)
        status = send_all(push, error);
    for (size_t i = 0; status >= 0 && i < push->count; i++)
        push->upload[i]->is_announced = push->upload[i]->is_source_known = true;
    return status;
}

/* Get the outcome of a recording, or what its samples show. The caller closes the recording, also after an error. */
static int read_outcome(const struct gt_upload *upload, struct gt_recording **recording, struct gt_outcome *ret,
                        struct gt_error *error)
{
    const struct gt_summary *summary = &upload->summary;
    *recording = NULL;
    int status = gt_recording_open(recording, upload->path, error);
    if (status < 0)
        return status;
    if (gt_recording_outcome(*recording)) {
        *ret = *gt_recording_outcome(*recording);
        return 0;
    }
    gt_summary_outcome(summary, ret);
    if (summary->samples)
        ret->elapsed = gt_seconds(summary->last_real_ns - upload->machine.start_real_ns);
    if (isnan(ret->value[GT_SCOPE_COMBINED][GT_RAM_PEAK]))
        ret->value[GT_SCOPE_COMBINED][GT_RAM_PEAK] = summary->of[GT_SCOPE_COMBINED][GT_RAM].max;
    return 0;
}

/* Show the progress of recordings that grow. */
static int send_heartbeat(struct gt_push *push, struct gt_error *error)
{
    double now = gt_seconds(gt_clock_monotonic(&gt_clock_system));
    int status = 0;
    if (!push->options.is_live || now - push->heartbeat < HEARTBEAT_S)
        return 0;
    for (size_t i = 0; status >= 0 && i < push->count; i++) {
        struct gt_upload *upload = push->upload[i];
        struct gt_recording *recording;
        struct gt_outcome outcome;
        if (upload->is_left_out || upload->has_ended || !upload->rows[GT_ENGINE_SAMPLES].read)
            continue;
        status = read_outcome(upload, &recording, &outcome, error);
        upload->version = 2 * upload->rows[GT_ENGINE_SAMPLES].read;
        outcome.complete = false; /* until all rows are there */
        if (status >= 0)
            status = add_finals(push, upload, &outcome, error);
        if (status >= 0)
            status = add_tracker(push, upload, &outcome, error);
        gt_recording_close(recording);
    }
    if (status >= 0)
        status = send_all(push, error);
    if (status >= 0)
        push->heartbeat = now;
    return status;
}

/* Send the final values and the last row of `trackers`, unless the server has them, or those of a longer recording. */
static int add_last(struct gt_push *push, struct gt_upload *upload, struct gt_error *error)
{
    struct gt_recording *recording;
    struct gt_outcome outcome;
    struct gt_row_input in;
    uint64_t count = 0;
    int status = read_outcome(upload, &recording, &outcome, error);
    if (status >= 0) {
        upload->version = 2 * upload->rows[GT_ENGINE_SAMPLES].read + outcome.complete;
        for (size_t position = 0; gt_final_next(&outcome, &position, &in);)
            count++;
        bool has_finals = !count || (upload->finals_version == upload->version && upload->finals_count >= count);
        bool has_tracker = upload->known_version == upload->version;
        upload->is_shipped = upload->known_version > upload->version || (has_finals && has_tracker);
        push->repairs += upload->is_last_sent && !upload->is_shipped;
        upload->is_last_sent = true;
        if (!upload->is_shipped && !has_finals)
            status = add_finals(push, upload, &outcome, error);
        if (status >= 0 && !upload->is_shipped && !has_tracker)
            status = add_tracker(push, upload, &outcome, error);
    }
    gt_recording_close(recording);
    return status;
}

/* ---- Rounds ---- */

static bool is_closing(const struct gt_upload *upload)
{
    return upload->has_ended && !upload->is_left_out && !upload->is_shipped;
}

/* Ask and send once. Returns 1 if the server has to be asked again, because recordings have ended and something was
 * sent for them. */
static int pass(struct gt_push *push, struct gt_error *error)
{
    int status = ask_all(push, error);
    bool is_any = false;
    if (status >= 0 && push->options.is_live)
        gt_server_clock(push->server, &push->clock_server, NULL);
    if (status >= 0)
        status = announce(push, error);
    for (size_t i = 0; status >= 0 && i < push->count; i++) {
        struct gt_upload *upload = push->upload[i];
        if (!upload->is_left_out && !upload->is_whole)
            status = read_upload(push, upload, error);
        upload->is_whole |= status >= 0 && upload->is_read && !upload->sent;
    }
    if (status >= 0)
        status = send_all(push, error);
    if (status >= 0)
        status = send_heartbeat(push, error);
    for (size_t i = 0; status >= 0 && i < push->count; i++) {
        struct gt_upload *upload = push->upload[i];
        if (is_closing(upload) && upload->is_whole)
            status = add_last(push, upload, error);
        if (is_closing(upload)) {
            is_any = true;
            upload->is_asked = false;
        }
    }
    if (status >= 0)
        status = send_all(push, error);
    return status < 0 ? status : is_any;
}

int gt_push_round(struct gt_push *push, struct gt_error *error)
{
    int status = push->count > 0;
    push->repairs = 0;
    while (status > 0 && push->repairs <= REPAIRS)
        status = pass(push, error);
    if (status > 0)
        status = gt_error_set(error, EIO, "%s loses rows that it has taken", push->server->name);
    if (status >= 0)
        return 0;
    for (int table = 0; table < GT_ENGINE_TABLES; table++)
        if (push->batch[table]) {
            gt_buffer_clear(&push->batch[table]->rows);
            push->batch[table]->count = 0;
        }
    for (size_t i = 0; i < push->count; i++) {
        push->upload[i]->is_asked = false;
        if (!push->upload[i]->is_whole)
            gt_upload_restart(push->upload[i]); /* it may have stopped within a sample */
    }
    return status;
}

/* ---- Files ---- */

double gt_pause_next(struct gt_pause *pause)
{
    if (!pause->seconds) {
        pause->seconds = 0.2;
        pause->seed = (unsigned)gt_clock_monotonic(&gt_clock_system) ^ (unsigned)getpid();
    }
    double wait = pause->seconds * (0.5 + rand_r(&pause->seed) / (double)RAND_MAX);
    pause->seconds = fmin(pause->seconds * 2, 60);
    return wait;
}

void gt_sleep(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

/* Try until all is sent, or without success for the patience of the options. */
static int push_all(struct gt_push *push, const struct gt_push_options *options, double patience,
                    struct gt_error *error)
{
    struct gt_pause pause = {0};
    unsigned long long rows = 0;
    int64_t success = gt_clock_monotonic(&gt_clock_system);
    for (;;) {
        struct gt_error problem = {0};
        int status = gt_push_round(push, &problem);
        if (status >= 0)
            return 0;
        int64_t now = gt_clock_monotonic(&gt_clock_system);
        if (push->rows > rows) {
            success = now;
            pause.seconds = 0;
        }
        rows = push->rows;
        double wait = gt_pause_next(&pause);
        if (gt_server_refused(status) || gt_seconds(now - success) + wait > patience)
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
    struct gt_upload *upload;
    struct gt_push_options own = *options;
    size_t bad = 0;
    own.limits.seconds = fmin(60, fmax(5, patience));
    *ret = (struct gt_push_figures){0};
    int status = gt_address_read(&parts, address, error);
    if (status >= 0)
        status = gt_push_open(&push, &parts, &own, error);
    for (size_t i = 0; status >= 0 && i < count; i++) {
        struct gt_error problem = {0};
        int added = gt_push_add(push, paths[i], &upload, &problem);
        if (added < 0)
            gt_warn(options->warn, options->context, "%s", problem.text);
        else
            upload->has_ended = true;
        bad += added < 0 && added != -EEXIST;
    }
    if (status >= 0)
        status = push_all(push, options, patience, error);
    if (push)
        *ret = (struct gt_push_figures){push->rows, push->server->requests, push->server->bytes, push->count, 0};
    for (size_t i = 0; i < ret->recordings; i++)
        ret->shipped += push->upload[i]->is_shipped;
    gt_push_close(push);
    if (status >= 0 && bad)
        status = gt_error_set(error, EBADMSG, "%zu of %zu recordings could not be read", bad, count);
    return status;
}
