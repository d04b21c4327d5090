#include "engine/upload.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/json.h"
#include "base/map.h"
#include "store/field.h"

/* ---- Names ---- */

/* Replace letters that need quotes somewhere. */
static void clean(char *name)
{
    for (; *name; name++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:+-", *name))
            *name = '_';
}

static const char *node_of(const struct gt_machine *machine)
{
    return *machine->node ? machine->node : machine->host;
}

void gt_upload_name_job(char *ret, size_t size, const struct gt_machine *machine, const char *job)
{
    if (*job || *machine->job)
        snprintf(ret, size, "%s", *job ? job : machine->job);
    else
        snprintf(ret, size, "%s-%d-%lld", *machine->host ? machine->host : "host", (int)machine->pid,
                 (long long)(machine->start_real_ns / GT_SECOND));
    clean(ret);
}

/* ---- Recordings ---- */

static int take_machine(struct gt_upload *upload, struct gt_recording *recording, struct gt_error *error)
{
    const struct gt_machine *machine = gt_recording_machine(recording);
    const struct gt_sample *sample;
    upload->machine = *machine;
    upload->machine.gpu = calloc(machine->gpu_length + 1, sizeof *machine->gpu);
    if (!upload->machine.gpu)
        return gt_error_system(error, ENOMEM, "%s", upload->path);
    if (machine->gpu_length)
        memcpy(upload->machine.gpu, machine->gpu, machine->gpu_length * sizeof *machine->gpu);
    if (machine->start_real_ns)
        return 0;
    int status = gt_recording_next(recording, &sample, error); /* the original's files have no start */
    if (status > 0)
        upload->machine.start_real_ns = sample->real_ns;
    return status ? status : gt_error_set(error, EINVAL, "%s: it has no samples", upload->path);
}

int gt_upload_open(struct gt_upload **ret, const char *path, const char *job, struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    char run[300];
    struct gt_upload *upload = calloc(1, sizeof *upload);
    if (!upload || !(upload->path = strdup(path))) {
        free(upload);
        return gt_error_system(error, ENOMEM, "%s", path);
    }
    gt_summary_init(&upload->summary);
    int status = gt_recording_open(&recording, path, error);
    if (status >= 0)
        status = take_machine(upload, recording, error);
    gt_recording_close(recording);
    if (status < 0) {
        gt_upload_close(upload);
        return status;
    }
    const struct gt_machine *machine = &upload->machine;
    gt_upload_name_job(upload->job, sizeof upload->job, machine, job);
    snprintf(upload->node, sizeof upload->node, "%s", *node_of(machine) ? node_of(machine) : "node");
    clean(upload->node);
    upload->heard = machine->start_real_ns;
    upload->day = (uint16_t)(machine->start_real_ns / GT_SECOND / 86400);
    int length = snprintf(run, sizeof run, "%s %d %lld", node_of(machine), (int)machine->pid,
                          (long long)machine->start_real_ns);
    upload->own_source = 1u << 31 | (uint32_t)gt_hash(run, (size_t)length);
    upload->source = *machine->launcher && machine->rank > 0 ? (uint32_t)machine->rank - 1 : upload->own_source;
    *ret = upload;
    return 0;
}

void gt_upload_close(struct gt_upload *upload)
{
    if (!upload)
        return;
    gt_summary_release(&upload->summary);
    for (int table = 0; table < GT_ENGINE_TABLES; table++)
        free(upload->rows[table].is_there);
    free(upload->machine.gpu);
    free(upload->path);
    free(upload);
}

void gt_upload_restart(struct gt_upload *upload)
{
    gt_summary_release(&upload->summary);
    gt_summary_init(&upload->summary);
    upload->place = (struct gt_recording_place){0};
    upload->is_read = false;
    for (int table = 0; table < GT_ENGINE_TABLES; table++)
        upload->rows[table].read = 0;
}

/* ---- RowBinary: https://clickhouse.com/docs/interfaces/formats/RowBinary ---- */

/* Append a number as it is in memory. */
#define PUT(out, type, value) gt_buffer_append(out, &(type){(type)(value)}, sizeof(type))

/* Append a text after its length. */
static void put_text(struct gt_buffer *out, const char *text)
{
    size_t length = strlen(text);
    for (size_t rest = length;; rest >>= 7) {
        PUT(out, uint8_t, (rest & 127) | (rest > 127 ? 128 : 0));
        if (rest <= 127)
            break;
    }
    gt_buffer_append(out, text, length);
}

/* Append the mark before a value or NULL. Returns true if a value follows. */
static bool put_mark(struct gt_buffer *out, bool has_value)
{
    PUT(out, uint8_t, !has_value);
    return has_value;
}

/* Append a Nullable(Int64), or a Nullable(Decimal64) times its scale. Values of more than 18 digits become NULL. */
static void put_scaled(struct gt_buffer *out, double value, double scale)
{
    double scaled = nearbyint(value * scale);
    if (put_mark(out, fabs(scaled) < 1e18))
        PUT(out, int64_t, scaled);
}

static void put_double(struct gt_buffer *out, double value)
{
    if (put_mark(out, isfinite(value)))
        PUT(out, double, value);
}

/* Encodings by kind. The conditions for NULL are in the names of kinds: NaN, 0 for times, negative for other
 * integers. */
#define PUT_TEXT(value) put_text(out, value)
#define PUT_NAME(value) put_text(out, value)
#define PUT_U8(value) PUT(out, uint8_t, value)
#define PUT_U32(value) PUT(out, uint32_t, value)
#define PUT_U64(value) PUT(out, uint64_t, value)
#define PUT_I32(value) PUT(out, int32_t, value)
#define PUT_I64(value) PUT(out, int64_t, value)
#define PUT_F64(value) PUT(out, double, value)
#define PUT_DATE(value) PUT(out, uint16_t, value)
#define PUT_STATISTIC(value) PUT(out, uint8_t, value)
#define PUT_I32_OR_NULL(value) (void)(put_mark(out, (value) >= 0) && PUT(out, int32_t, value))
#define PUT_I64_OR_NULL(value) put_scaled(out, value, 1)
#define PUT_F64_OR_NULL(value) put_double(out, value)
#define PUT_TIME_OR_NULL(value) (void)(put_mark(out, (value) != 0) && PUT(out, int64_t, value))
#define PUT_NS_OR_NULL(value) put_scaled(out, value, 1e9)
#define PUT_SECONDS_OR_NULL(value) put_scaled(out, value, 1e9)

static double above_zero(double value)
{
    return value > 0 ? value : NAN;
}

static int64_t nanoseconds(double seconds)
{
    return (int64_t)floor(seconds) * GT_SECOND + (int64_t)nearbyint((seconds - floor(seconds)) * 1e9);
}

static bool has_ended(const struct gt_interval *call)
{
    return !call->unfinished && !call->stepped;
}

static int64_t stop_of(const struct gt_interval *call)
{
    return has_ended(call) ? nanoseconds(call->start) + nanoseconds(call->elapsed) : 0;
}

/* GPUs without a UUID are named by their number. */
static const char *name_gpu(char *ret, size_t size, const struct gt_machine *machine, int device)
{
    if (device >= 0 && (size_t)device < machine->gpu_length && *machine->gpu[device].uuid)
        return machine->gpu[device].uuid;
    snprintf(ret, size, "%s:%d", machine->host, device);
    return ret;
}

/* A plain table. */
void gt_row_write(struct gt_buffer *out, enum gt_engine_table table, const struct gt_engine_columns *columns,
                  const struct gt_row_input *in)
{
    const struct gt_upload *upload = in->upload;
    const struct gt_machine *machine = &upload->machine;
    const struct gt_outcome *outcome = in->outcome;
    const char *user = table == GT_ENGINE_TRACKERS ? getenv("USER") : NULL;
    char gpu[160];
    size_t i = 0;
#define TABLE(table, name, version, order, is_kept)
#define COLUMN(of, name, kind, codec, value)          \
    if (table == GT_ENGINE_##of && columns->has[i++]) \
        PUT_##kind(value);
#define LATER COLUMN
#define METRICS(of, first, last, of_metric)                      \
    for (; table == GT_ENGINE_##of && i < columns->count; i++) { \
        int scope = columns->column[i].scope;                    \
        enum gt_metric_id metric = columns->column[i].metric;    \
        (void)scope;                                             \
        if (columns->has[i])                                     \
            put_scaled(out, of_metric, gt_engine_scale(metric)); \
    }
#include "engine/table.def"
}

/* ---- Facts ---- */

static void add_fields(struct gt_json *json, const struct gt_fields *fields, const void *object)
{
    gt_json_object_begin(json);
    for (size_t i = 0; i < fields->count; i++) {
        const struct gt_field *field = &fields->field[i];
        gt_json_key(json, field->name);
        if (field->kind == GT_FIELD_TEXT)
            gt_json_text(json, gt_field_text(field, object));
        else
            gt_json_double(json, gt_field_number(field, object));
    }
    gt_json_object_end(json);
}

void gt_upload_facts(struct gt_buffer *out, const struct gt_upload *upload, const struct gt_outcome *outcome)
{
    struct gt_json json;
    gt_json_init(&json, out, 0);
    gt_json_object_begin(&json);
    gt_json_key(&json, "recording");
    gt_json_text(&json, upload->path);
    gt_json_key(&json, "machine");
    add_fields(&json, &gt_machine_fields, &upload->machine);
    gt_json_key(&json, "outcome");
    add_fields(&json, &gt_outcome_fields, outcome);
    if (outcome->rank_count) {
        gt_json_key(&json, "ranks");
        gt_json_array_begin(&json);
        for (size_t i = 0; i < outcome->rank_count; i++)
            add_fields(&json, &gt_local_rank_fields, &outcome->rank[i]);
        gt_json_array_end(&json);
    }
    gt_json_object_end(&json);
}

/* ---- Final values ---- */

static const struct gt_provenance *provenance_of(const struct gt_outcome *outcome, size_t scope, size_t metric)
{
    for (size_t i = 0; i < outcome->provenance_count; i++)
        if (outcome->provenance[i].scope == scope && outcome->provenance[i].metric == metric)
            return &outcome->provenance[i];
    return NULL;
}

bool gt_final_next(const struct gt_outcome *outcome, size_t *position, struct gt_row_input *in)
{
    size_t fixed = GT_FIXED_ROWS * GT_METRIC_COUNT, end = fixed + outcome->package_count * GT_PACKAGE_FIGURES;
    for (; *position < end; ++*position) {
        size_t at = *position, package = (at - fixed) / GT_PACKAGE_FIGURES, figure = (at - fixed) % GT_PACKAGE_FIGURES;
        size_t scope = at / GT_METRIC_COUNT, metric = at % GT_METRIC_COUNT;
        in->value = at < fixed ? outcome->value[scope][metric] : outcome->package[package].value[figure];
        if (isnan(in->value))
            continue;
        if (at < fixed)
            snprintf(in->scope, sizeof in->scope, "%s", gt_scope_name((enum gt_scope)scope));
        else
            snprintf(in->scope, sizeof in->scope, "package:%d", outcome->package[package].number);
        in->metric = at < fixed ? gt_metrics[metric].name : gt_package_figure_names[figure];
        in->provenance = at < fixed ? provenance_of(outcome, scope, metric) : NULL;
        ++*position;
        return true;
    }
    return false;
}
