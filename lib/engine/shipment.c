#include "engine/shipment.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/map.h"
#include "engine/row_binary.h"
#include "store/field.h"

static const uint32_t own_sources = 1u << 31;

enum { DAY = 86400 };

/* Names have letters that need no quotes anywhere. */
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

void gt_shipment_name_job(char *ret, size_t size, const struct gt_machine *machine, const char *job)
{
    if (*job || *machine->job)
        snprintf(ret, size, "%s", *job ? job : machine->job);
    else
        snprintf(ret, size, "%s-%d-%lld", *machine->host ? machine->host : "host", (int)machine->pid,
                 (long long)(machine->start_real_ns / GT_SECOND));
    clean(ret);
}

static void name_job(struct gt_shipment *shipment, const char *job)
{
    const struct gt_machine *machine = &shipment->machine;
    gt_shipment_name_job(shipment->job, sizeof shipment->job, machine, job);
    snprintf(shipment->node, sizeof shipment->node, "%s", *node_of(machine) ? node_of(machine) : "node");
    clean(shipment->node);
}

uint32_t gt_shipment_own_source(const struct gt_shipment *shipment)
{
    char text[300];
    int length = snprintf(text, sizeof text, "%s %d %lld", node_of(&shipment->machine), (int)shipment->machine.pid,
                          (long long)shipment->machine.start_real_ns);
    return own_sources | (uint32_t)gt_hash(text, (size_t)length);
}

static bool has_rank(const struct gt_machine *machine)
{
    return *machine->launcher && machine->rank > 0;
}

static int take_machine(struct gt_shipment *shipment, struct gt_recording *recording, struct gt_error *error)
{
    const struct gt_machine *machine = gt_recording_machine(recording);
    shipment->machine = *machine;
    shipment->machine.gpu = calloc(machine->gpu_length + 1, sizeof *machine->gpu);
    if (!shipment->machine.gpu)
        return gt_error_system(error, ENOMEM, "%s", shipment->path);
    if (machine->gpu_length)
        memcpy(shipment->machine.gpu, machine->gpu, machine->gpu_length * sizeof *machine->gpu);
    return 0;
}

/* The original's files do not tell when they began. */
static int find_start(struct gt_shipment *shipment, struct gt_recording *recording, struct gt_error *error)
{
    const struct gt_sample *sample;
    if (shipment->machine.start_real_ns)
        return 0;
    int status = gt_recording_next(recording, &sample, error);
    if (status > 0)
        shipment->machine.start_real_ns = sample->real_ns;
    return status < 0 ? status : status > 0 ? 0 : gt_error_set(error, EINVAL, "%s: it has no samples", shipment->path);
}

int gt_shipment_open(struct gt_shipment **ret, const char *path, const char *job, struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    struct gt_shipment *shipment = calloc(1, sizeof *shipment);
    if (!shipment || !(shipment->path = strdup(path))) {
        free(shipment);
        return gt_error_system(error, ENOMEM, "%s", path);
    }
    int status = gt_recording_open(&recording, path, error);
    if (status >= 0)
        status = take_machine(shipment, recording, error);
    if (status >= 0)
        status = find_start(shipment, recording, error);
    gt_recording_close(recording);
    if (status < 0) {
        gt_shipment_close(shipment);
        return status;
    }
    name_job(shipment, job);
    shipment->heard = shipment->machine.start_real_ns;
    shipment->day = (uint16_t)(shipment->machine.start_real_ns / GT_SECOND / DAY);
    shipment->source = has_rank(&shipment->machine) ? (uint32_t)shipment->machine.rank - 1
                                                    : gt_shipment_own_source(shipment);
    *ret = shipment;
    return 0;
}

void gt_shipment_close(struct gt_shipment *shipment)
{
    if (!shipment)
        return;
    if (shipment->live)
        gt_summary_release(shipment->live);
    free(shipment->live);
    for (int table = 0; table < GT_ENGINE_TABLES; table++)
        free(shipment->hole[table]);
    free(shipment->machine.gpu);
    free(shipment->path);
    free(shipment);
}

void gt_shipment_doubt(struct gt_shipment *shipment)
{
    memcpy(shipment->read, shipment->sure, sizeof shipment->read);
    shipment->place = shipment->sure_place;
}

/* ---- Rows ---- */

/* Job, source and day begin the rows of every table. */
static void begin_row(struct gt_buffer *out, const struct gt_shipment *shipment)
{
    gt_row_text(out, shipment->job);
    gt_row_u32(out, shipment->source);
    gt_row_u16(out, shipment->day);
}

static void add_moment(struct gt_buffer *out, const struct gt_sample *sample, uint64_t number)
{
    gt_row_i64(out, sample->real_ns);
    gt_row_u64(out, number);
    gt_row_i64(out, sample->monotonic_ns ? sample->real_ns - sample->monotonic_ns : 0);
}

void gt_rows_sample(struct gt_buffer *out, const struct gt_engine_columns *columns, const bool *has,
                    const struct gt_shipment *shipment, const struct gt_sample *sample, uint64_t number)
{
    begin_row(out, shipment);
    add_moment(out, sample, number);
    for (size_t i = 0; i < columns->count; i++) {
        const struct gt_engine_column *column = &columns->column[i];
        if (column->scope >= 0 && has[i])
            gt_row_scaled(out, sample->row[column->scope].value[column->metric], gt_engine_scale(column->metric));
    }
}

void gt_rows_minute(struct gt_buffer *out, const struct gt_engine_columns *columns, const bool *has,
                    const struct gt_shipment *shipment, const struct gt_minute_row *minute, uint64_t number)
{
    begin_row(out, shipment);
    gt_row_i64(out, minute->begin_s * GT_SECOND);
    gt_row_u64(out, number);
    gt_row_u8(out, (uint8_t)(minute->statistic + 1)); /* mean, min, max, last */
    gt_row_u32(out, (uint32_t)minute->weight);
    for (size_t i = 0; i < columns->count; i++) {
        const struct gt_engine_column *column = &columns->column[i];
        if (column->scope >= 0 && has[i])
            gt_row_scaled(out, minute->sample->row[column->scope].value[column->metric],
                          gt_engine_scale(column->metric));
    }
}

/* GPUs without an identity of their own are told apart by their number. */
static void add_gpu(struct gt_buffer *out, const struct gt_shipment *shipment, int device)
{
    const struct gt_machine *machine = &shipment->machine;
    char name[160];
    bool is_known = device >= 0 && (size_t)device < machine->gpu_length && *machine->gpu[device].uuid;
    snprintf(name, sizeof name, "%s:%d", machine->host, device);
    gt_row_text(out, is_known ? machine->gpu[device].uuid : name);
}

void gt_rows_detail(struct gt_buffer *out, enum gt_engine_table table, const struct gt_engine_columns *columns,
                    const bool *has, const struct gt_shipment *shipment, const struct gt_sample *sample,
                    const struct gt_row *row, uint64_t number)
{
    begin_row(out, shipment);
    add_moment(out, sample, number);
    if (table == GT_ENGINE_GPU_SAMPLES) {
        add_gpu(out, shipment, row->device);
    } else {
        gt_row_u32(out, (uint32_t)row->pid);
        gt_row_u64(out, row->start);
        gt_row_u32(out, (uint32_t)row->parent);
    }
    for (size_t i = 0; i < columns->count; i++) {
        const struct gt_engine_column *column = &columns->column[i];
        if (column->scope >= 0 && has[i])
            gt_row_scaled(out, row->value[column->metric], gt_engine_scale(column->metric));
        else if (column->is_later && has[i] && gt_row_has(out, row->rank > 0))
            gt_row_i32(out, row->rank - 1);
    }
}

/* ---- Facts: all that a recording knows beside its samples, as JSON ---- */

static void add_fields(struct gt_json *json, const struct gt_field *fields, size_t count, const void *object)
{
    gt_json_object_begin(json);
    for (size_t i = 0; i < count; i++) {
        gt_json_key(json, fields[i].name);
        if (fields[i].kind == GT_FIELD_TEXT)
            gt_json_text(json, gt_field_text(&fields[i], object));
        else
            gt_json_double(json, gt_field_number(&fields[i], object));
    }
    gt_json_object_end(json);
}

static void add_facts(struct gt_buffer *out, const struct gt_shipment *shipment, const struct gt_outcome *outcome)
{
    struct gt_json json;
    gt_json_init(&json, out, 0);
    gt_json_object_begin(&json);
    gt_json_key(&json, "recording");
    gt_json_text(&json, shipment->path);
    gt_json_key(&json, "machine");
    add_fields(&json, gt_machine_fields, gt_machine_field_count, &shipment->machine);
    gt_json_key(&json, "outcome");
    add_fields(&json, gt_outcome_fields, gt_outcome_field_count, outcome);
    if (outcome->rank_count)
        gt_json_key(&json, "ranks");
    if (outcome->rank_count)
        gt_json_array_begin(&json);
    for (size_t i = 0; i < outcome->rank_count; i++)
        add_fields(&json, gt_local_rank_fields, gt_local_rank_field_count, &outcome->rank[i]);
    if (outcome->rank_count)
        gt_json_array_end(&json);
    gt_json_object_end(&json);
}

/* ---- Trackers ---- */

static void add_limits(struct gt_buffer *out, const struct gt_machine *machine)
{
    static const enum gt_limit_kind kinds[] = {GT_LIMIT_CORES, GT_LIMIT_GPUS, GT_LIMIT_TIME};
    gt_row_scaled(out, machine->limit[GT_LIMIT_MEMORY].value > 0 ? machine->limit[GT_LIMIT_MEMORY].value : NAN, 1);
    for (int i = 0; i < 3; i++) {
        double limit = machine->limit[kinds[i]].value;
        if (kinds[i] != GT_LIMIT_GPUS)
            gt_row_known(out, limit > 0 ? limit : NAN);
        else if (gt_row_has(out, limit > 0))
            gt_row_i32(out, (int32_t)limit);
    }
}

static void add_identity(struct gt_buffer *out, const struct gt_machine *machine)
{
    const char *user = getenv("USER");
    gt_row_i32(out, machine->rank > 0 ? machine->rank - 1 : -1);
    gt_row_i32(out, machine->local_rank > 0 ? machine->local_rank - 1 : -1);
    gt_row_u32(out, (uint32_t)machine->world);
    gt_row_text(out, machine->node);
    gt_row_text(out, *machine->node_name ? machine->node_name : machine->host);
    gt_row_u64(out, machine->network > 0 ? (uint64_t)machine->network : 0);
    gt_row_text(out, machine->control_group);
    gt_row_text(out, machine->launcher);
    gt_row_text(out, user ? user : "");
    gt_row_text(out, machine->command);
    gt_row_u32(out, (uint32_t)machine->pid);
    gt_row_double(out, machine->period);
}

void gt_rows_tracker(struct gt_buffer *out, const struct gt_shipment *shipment, const struct gt_outcome *outcome,
                     double clock_server)
{
    const struct gt_machine *machine = &shipment->machine;
    struct gt_buffer facts = {0};
    bool has_ended = outcome->complete && isfinite(outcome->elapsed);
    begin_row(out, shipment);
    gt_row_u64(out, shipment->version);
    int64_t ended = has_ended ? machine->start_real_ns + (int64_t)(outcome->elapsed * 1e9) : 0;
    gt_row_i64(out, machine->start_real_ns);
    if (gt_row_has(out, has_ended))
        gt_row_i64(out, ended);
    gt_row_i64(out, shipment->heard > ended ? shipment->heard : ended); /* the last samples may have been left out */
    add_identity(out, machine);
    gt_row_known(out, machine->clock_error > 0 ? machine->clock_error : NAN);
    gt_row_known(out, clock_server);
    add_limits(out, machine);
    gt_row_u8(out, outcome->complete);
    if (gt_row_has(out, outcome->complete && outcome->exit_status >= 0))
        gt_row_i32(out, outcome->exit_status);
    gt_row_u64(out, outcome->samples);
    gt_row_u64(out, outcome->missed);
    gt_row_u64(out, outcome->dropped);
    add_facts(&facts, shipment, outcome);
    gt_row_text(out, facts.data ? facts.data : "");
    if (facts.failed)
        out->failed = facts.failed;
    gt_buffer_release(&facts);
}

/* ---- Finals and devices ---- */

static const struct gt_provenance *provenance_of(const struct gt_outcome *outcome, enum gt_scope scope,
                                                 enum gt_metric_id metric)
{
    for (size_t i = 0; i < outcome->provenance_count; i++)
        if (outcome->provenance[i].scope == scope && outcome->provenance[i].metric == metric)
            return &outcome->provenance[i];
    return NULL;
}

static void add_final(struct gt_buffer *out, const struct gt_shipment *shipment, const char *scope, const char *metric,
                      double value, const struct gt_provenance *provenance)
{
    begin_row(out, shipment);
    gt_row_u64(out, shipment->version);
    gt_row_text(out, scope);
    gt_row_text(out, metric);
    gt_row_double(out, value);
    gt_row_text(out, provenance ? gt_exactness_name(provenance->exactness) : "");
    gt_row_text(out, provenance ? provenance->source : "");
    gt_row_text(out, provenance ? provenance->note : "");
}

static size_t add_packages(struct gt_buffer *out, const struct gt_shipment *shipment, const struct gt_outcome *outcome)
{
    size_t count = 0;
    for (size_t i = 0; i < outcome->package_count; i++) {
        char scope[32];
        snprintf(scope, sizeof scope, "package:%d", outcome->package[i].number);
        for (int figure = 0; figure < GT_PACKAGE_FIGURES; figure++)
            if (!isnan(outcome->package[i].value[figure])) {
                add_final(out, shipment, scope, gt_package_figure_names[figure], outcome->package[i].value[figure],
                          NULL);
                count++;
            }
    }
    return count;
}

size_t gt_rows_finals(struct gt_buffer *out, const struct gt_shipment *shipment, const struct gt_outcome *outcome)
{
    size_t count = 0;
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        for (int metric = 0; metric < GT_METRIC_COUNT; metric++) {
            double value = outcome->value[scope][metric];
            if (isnan(value))
                continue;
            add_final(out, shipment, gt_scope_name((enum gt_scope)scope), gt_metrics[metric].name, value,
                      provenance_of(outcome, (enum gt_scope)scope, (enum gt_metric_id)metric));
            count++;
        }
    return count + add_packages(out, shipment, outcome);
}

size_t gt_rows_devices(struct gt_buffer *out, const struct gt_shipment *shipment)
{
    const struct gt_machine *machine = &shipment->machine;
    for (size_t i = 0; i < machine->gpu_length; i++) {
        begin_row(out, shipment);
        gt_row_u32(out, (uint32_t)i);
        gt_row_text(out, machine->gpu[i].uuid);
        gt_row_text(out, machine->gpu[i].name);
        gt_row_text(out, machine->gpu[i].brand);
        gt_row_scaled(out, machine->gpu[i].memory, 1);
        gt_row_u8(out, machine->gpu[i].selected);
    }
    return machine->gpu_length;
}
