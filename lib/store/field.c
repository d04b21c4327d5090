#include "store/field.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"
#include "schema/unit.h"

enum storage {
    TEXT,
    KNOWN_TEXT,
    INT,
    FROM_ONE,
    POSITIVE,
    PID,
    KNOWN_PID,
    BOOL,
    UINT64,
    TICKS,
    DOUBLE,
    KNOWN,
    NS,
    RAM,
    GPU_RAM
};

#define FIELD(type, name, member, kind, storage)                                                          \
    {                                                                                                     \
        name, GT_FIELD_##kind, storage, offsetof(struct type, member), sizeof(((struct type *)0)->member) \
    }

#define FIELDS(array)                          \
    {                                          \
        array, sizeof(array) / sizeof *(array) \
    }

static const struct gt_field machine_fields[] = {
    FIELD(gt_machine, "ram_unit", ram_unit, TEXT, TEXT),
    FIELD(gt_machine, "gpu_ram_unit", gpu_ram_unit, TEXT, TEXT),
    FIELD(gt_machine, "time_unit", time_unit, TEXT, TEXT),
    FIELD(gt_machine, "ram_system_capacity", ram_capacity, NUMBER, RAM),
    FIELD(gt_machine, "gpu_ram_system_capacity", gpu_ram_capacity, NUMBER, GPU_RAM),
    FIELD(gt_machine, "system_core_count", core_count, INTEGER, INT),
    FIELD(gt_machine, "n_expected_cores", expected_cores, INTEGER, INT),
    FIELD(gt_machine, "system_gpu_count", gpu_count, INTEGER, INT),
    FIELD(gt_machine, "n_expected_gpus", expected_gpus, INTEGER, INT),
    FIELD(gt_machine, "host", host, TEXT, TEXT),
    FIELD(gt_machine, "command", command, TEXT, TEXT),
    FIELD(gt_machine, "pid", pid, INTEGER, PID),
    FIELD(gt_machine, "period", period, NUMBER, DOUBLE),
    FIELD(gt_machine, "start", start_real_ns, NUMBER, NS),
    FIELD(gt_machine, "ram_method", ram_method, TEXT, TEXT),
    FIELD(gt_machine, "idle_policy", idle_policy, TEXT, TEXT),
    FIELD(gt_machine, "cpu_energy_source", energy_source[GT_ENERGY_CPU].name, TEXT, TEXT),
    FIELD(gt_machine, "cpu_energy_refresh", energy_source[GT_ENERGY_CPU].refresh, NUMBER, DOUBLE),
    FIELD(gt_machine, "dram_energy_source", energy_source[GT_ENERGY_DRAM].name, TEXT, TEXT),
    FIELD(gt_machine, "dram_energy_refresh", energy_source[GT_ENERGY_DRAM].refresh, NUMBER, DOUBLE),
    FIELD(gt_machine, "gpu_energy_source", energy_source[GT_ENERGY_GPU].name, TEXT, TEXT),
    FIELD(gt_machine, "gpu_energy_refresh", energy_source[GT_ENERGY_GPU].refresh, NUMBER, DOUBLE),
    FIELD(gt_machine, "cpu_packages", cpu_packages, INTEGER, INT),
    FIELD(gt_machine, "cpu_packages_missing", cpu_packages_missing, TEXT, TEXT),
    FIELD(gt_machine, "carbon_intensity", carbon_intensity, NUMBER, DOUBLE),
    FIELD(gt_machine, "carbon_source", carbon_source, TEXT, TEXT),
    FIELD(gt_machine, "price", price, NUMBER, DOUBLE),
    FIELD(gt_machine, "currency", currency, TEXT, TEXT),
    FIELD(gt_machine, "scheduler", scheduler, TEXT, TEXT),
    FIELD(gt_machine, "memory_asked", limit[GT_LIMIT_MEMORY].value, NUMBER, DOUBLE),
    FIELD(gt_machine, "memory_asked_source", limit[GT_LIMIT_MEMORY].source, TEXT, TEXT),
    FIELD(gt_machine, "memory_limit", limit[GT_LIMIT_GROUP_MEMORY].value, NUMBER, DOUBLE),
    FIELD(gt_machine, "memory_limit_source", limit[GT_LIMIT_GROUP_MEMORY].source, TEXT, TEXT),
    FIELD(gt_machine, "cores_asked", limit[GT_LIMIT_CORES].value, NUMBER, DOUBLE),
    FIELD(gt_machine, "cores_asked_source", limit[GT_LIMIT_CORES].source, TEXT, TEXT),
    FIELD(gt_machine, "gpus_asked", limit[GT_LIMIT_GPUS].value, NUMBER, DOUBLE),
    FIELD(gt_machine, "gpus_asked_source", limit[GT_LIMIT_GPUS].source, TEXT, TEXT),
    FIELD(gt_machine, "time_asked", limit[GT_LIMIT_TIME].value, NUMBER, DOUBLE),
    FIELD(gt_machine, "time_asked_source", limit[GT_LIMIT_TIME].source, TEXT, TEXT),
    FIELD(gt_machine, "tasks", tasks, INTEGER, INT),
    FIELD(gt_machine, "memory_by_core", asks_by_core, INTEGER, BOOL),
    FIELD(gt_machine, "job", job, TEXT, TEXT),
    FIELD(gt_machine, "launcher", launcher, TEXT, TEXT),
    FIELD(gt_machine, "rank", rank, INTEGER, FROM_ONE),
    FIELD(gt_machine, "local_rank", local_rank, INTEGER, FROM_ONE),
    FIELD(gt_machine, "world_size", world, INTEGER, POSITIVE),
    FIELD(gt_machine, "node", node, TEXT, TEXT),
    FIELD(gt_machine, "node_name", node_name, TEXT, TEXT),
    FIELD(gt_machine, "network_namespace", network, NUMBER, KNOWN),
    FIELD(gt_machine, "control_group", control_group, TEXT, TEXT),
    FIELD(gt_machine, "clock_error", clock_error, NUMBER, KNOWN),
};
const struct gt_fields gt_machine_fields = FIELDS(machine_fields);

/* clang-format off */
#define COUNTER_FIELD(device, name, number, member) \
    FIELD(gt_outcome, device "_energy_" name, counter[number].member, NUMBER, DOUBLE)
#define COUNTER_FIELDS(device, number) \
    COUNTER_FIELD(device, "most_watts", number, most_watts), \
    COUNTER_FIELD(device, "job_most_watts", number, job_most_watts), \
    COUNTER_FIELD(device, "doubt", number, doubt), \
    COUNTER_FIELD(device, "gap_began", number, gap.began), \
    COUNTER_FIELD(device, "gap_ended", number, gap.ended), \
    COUNTER_FIELD(device, "gap_times", number, gap.times), \
    COUNTER_FIELD(device, "gap_cause", number, gap.cause), \
    COUNTER_FIELD(device, "gap_gpu", number, gap.gpu), \
    COUNTER_FIELD(device, "gap_gpus", number, gap.gpus)
/* clang-format on */

static const struct gt_field outcome_fields[] = {
    FIELD(gt_outcome, "complete", complete, INTEGER, BOOL),
    FIELD(gt_outcome, "elapsed", elapsed, NUMBER, DOUBLE),
    FIELD(gt_outcome, "exit_status", exit_status, INTEGER, INT),
    FIELD(gt_outcome, "descendants_ram_peak_private", peak[GT_SCOPE_DESCENDANTS].private_bytes, NUMBER, DOUBLE),
    FIELD(gt_outcome, "combined_ram_peak_private", peak[GT_SCOPE_COMBINED].private_bytes, NUMBER, DOUBLE),
    FIELD(gt_outcome, "ram_peak_untold", peak_missing_hwm, NUMBER, DOUBLE),
    COUNTER_FIELDS("cpu", GT_ENERGY_CPU),
    COUNTER_FIELDS("dram", GT_ENERGY_DRAM),
    COUNTER_FIELDS("gpu", GT_ENERGY_GPU),
    FIELD(gt_outcome, "oom_kills", events.oom_kills, NUMBER, DOUBLE),
    FIELD(gt_outcome, "oom_kills_above", events.oom_kills_above, NUMBER, DOUBLE),
    FIELD(gt_outcome, "throttled", events.throttled, NUMBER, DOUBLE),
    FIELD(gt_outcome, "throttled_periods", events.throttled_periods, NUMBER, DOUBLE),
    FIELD(gt_outcome, "largest_process", events.largest_pid, INTEGER, PID),
    FIELD(gt_outcome, "largest_process_ram", events.largest_ram, NUMBER, DOUBLE),
    FIELD(gt_outcome, "largest_process_name", events.largest_name, TEXT, TEXT),
    FIELD(gt_outcome, "largest_process_is_gone", events.largest_is_gone, INTEGER, BOOL),
    FIELD(gt_outcome, "memory_limit_met", events.limit_met, NUMBER, DOUBLE),
    FIELD(gt_outcome, "own_cpu_time", own_cpu_time, NUMBER, DOUBLE),
    FIELD(gt_outcome, "slowest_sample", slowest_sample, NUMBER, DOUBLE),
    FIELD(gt_outcome, "samples", samples, INTEGER, UINT64),
    FIELD(gt_outcome, "missed", missed, INTEGER, UINT64),
    FIELD(gt_outcome, "dropped", dropped, INTEGER, UINT64),
    FIELD(gt_outcome, "processes_not_listed", processes_not_listed, INTEGER, UINT64),
    FIELD(gt_outcome, "has_detail", has_detail, INTEGER, BOOL),
    FIELD(gt_outcome, "ended_by_signal", ending, INTEGER, FROM_ONE),
    FIELD(gt_outcome, "platform_energy_error", platform_error, NUMBER, DOUBLE),
};
const struct gt_fields gt_outcome_fields = FIELDS(outcome_fields);

static const struct gt_field process_record_fields[] = {
    FIELD(gt_process_record, "number", number, INTEGER, UINT64),
    FIELD(gt_process_record, "pid", pid, INTEGER, KNOWN_PID),
    FIELD(gt_process_record, "parent", parent, INTEGER, KNOWN_PID),
    FIELD(gt_process_record, "start", start, INTEGER, TICKS),
    FIELD(gt_process_record, "name", name, TEXT, KNOWN_TEXT),
    FIELD(gt_process_record, "command", command, TEXT, KNOWN_TEXT),
    FIELD(gt_process_record, "began", begin, NUMBER, DOUBLE),
    FIELD(gt_process_record, "ended", end, NUMBER, DOUBLE),
    FIELD(gt_process_record, "ram_peak", ram_peak, NUMBER, DOUBLE),
    FIELD(gt_process_record, "cpu_time", cpu_time, NUMBER, DOUBLE),
    FIELD(gt_process_record, "rank", rank, INTEGER, FROM_ONE),
};
const struct gt_fields gt_process_record_fields = FIELDS(process_record_fields);

static const struct gt_field gpu_fields[] = {
    FIELD(gt_gpu, "uuid", uuid, TEXT, TEXT),
    FIELD(gt_gpu, "name", name, TEXT, TEXT),
    FIELD(gt_gpu, "brand", brand, TEXT, TEXT),
    FIELD(gt_gpu, "memory", memory, NUMBER, DOUBLE),
    FIELD(gt_gpu, "selected", selected, INTEGER, BOOL),
};
const struct gt_fields gt_gpu_fields = FIELDS(gpu_fields);

static const struct gt_field local_rank_fields[] = {
    FIELD(gt_local_rank, "rank", rank, INTEGER, INT),
    FIELD(gt_local_rank, "local_rank", local, INTEGER, FROM_ONE),
    FIELD(gt_local_rank, "world_size", size, INTEGER, POSITIVE),
    FIELD(gt_local_rank, "launcher", launcher, TEXT, TEXT),
    FIELD(gt_local_rank, "pid", pid, INTEGER, PID),
    FIELD(gt_local_rank, "processes", processes, INTEGER, UINT64),
    FIELD(gt_local_rank, "cpu_time", cpu_time, NUMBER, DOUBLE),
    FIELD(gt_local_rank, "ram_peak", ram_peak, NUMBER, DOUBLE),
    FIELD(gt_local_rank, "gpu_ram_peak", gpu_ram_peak, NUMBER, DOUBLE),
    FIELD(gt_local_rank, "gpu_utilization", gpu_utilization, NUMBER, DOUBLE),
    FIELD(gt_local_rank, "cpu_energy", energy[GT_ENERGY_CPU], NUMBER, DOUBLE),
    FIELD(gt_local_rank, "dram_energy", energy[GT_ENERGY_DRAM], NUMBER, DOUBLE),
    FIELD(gt_local_rank, "gpu_energy", energy[GT_ENERGY_GPU], NUMBER, DOUBLE),
    FIELD(gt_local_rank, "gpus", gpus, TEXT, TEXT),
    FIELD(gt_local_rank, "gpus_are_told", gpus_are_told, INTEGER, BOOL),
};
const struct gt_fields gt_local_rank_fields = FIELDS(local_rank_fields);

const char *gt_field_text(const struct gt_field *field, const void *object)
{
    const char *text = (const char *)object + field->offset;
    return field->storage == KNOWN_TEXT && !*text ? NULL : text;
}

static double bytes_per_unit(const struct gt_field *field, const struct gt_machine *machine)
{
    double factor = 1;
    gt_unit_memory(field->storage == RAM ? machine->ram_unit : machine->gpu_ram_unit, &factor, NULL);
    return factor;
}

double gt_field_number(const struct gt_field *field, const void *object)
{
    const void *at = (const char *)object + field->offset;
    switch ((enum storage)field->storage) {
    case INT: return *(const int *)at;
    case FROM_ONE: return *(const int *)at <= 0 ? NAN : *(const int *)at - 1; /* 0 in memory: missing */
    case POSITIVE: return *(const int *)at <= 0 ? NAN : *(const int *)at;
    case PID: return *(const pid_t *)at;
    case BOOL: return *(const bool *)at;
    case UINT64: return (double)*(const uint64_t *)at;
    case DOUBLE: return *(const double *)at;
    case KNOWN: return *(const double *)at > 0 ? *(const double *)at : NAN;
    case KNOWN_PID: return *(const pid_t *)at ? *(const pid_t *)at : NAN;
    case TICKS: return *(const uint64_t *)at ? (double)*(const uint64_t *)at : NAN;
    case NS: return (double)(*(const int64_t *)at / 1000) / 1e6;
    case RAM:
    case GPU_RAM: return *(const double *)at / bytes_per_unit(field, object);
    case TEXT:
    case KNOWN_TEXT: break;
    }
    return NAN;
}

void gt_field_set_text(const struct gt_field *field, void *object, const char *text)
{
    snprintf((char *)object + field->offset, field->size, "%s", text);
}

static double between(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

void gt_field_set_number(const struct gt_field *field, void *object, double value)
{
    void *at = (char *)object + field->offset;
    if (isnan(value) && field->kind == GT_FIELD_INTEGER)
        return;
    switch ((enum storage)field->storage) {
    case FROM_ONE: *(int *)at = (int)between(value + 1, 0, INT32_MAX); break;
    case INT:
    case POSITIVE: *(int *)at = (int)between(value, INT32_MIN, INT32_MAX); break;
    case PID:
    case KNOWN_PID: *(pid_t *)at = (pid_t)between(value, 0, INT32_MAX); break;
    case BOOL: *(bool *)at = value != 0; break;
    case UINT64:
    case TICKS: *(uint64_t *)at = (uint64_t)between(value, 0, 0x1p53); break;
    case DOUBLE: *(double *)at = value; break;
    case KNOWN: *(double *)at = value > 0 ? value : 0; break;
    case NS: *(int64_t *)at = isnan(value) ? 0 : (int64_t)(between(value, 0, 9e9) * 1e6) * 1000; break;
    case RAM:
    case GPU_RAM: *(double *)at = nearbyint(value * bytes_per_unit(field, object)); break;
    case TEXT:
    case KNOWN_TEXT: break;
    }
}

void gt_fields_take(const struct gt_fields *fields, void *object, const json_t *members)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct gt_field *field = &fields->field[i];
        const json_t *value = json_object_get(members, field->name);
        if (field->kind == GT_FIELD_TEXT && json_is_string(value))
            gt_field_set_text(field, object, json_string_value(value));
        else if (value && field->kind != GT_FIELD_TEXT)
            gt_field_set_number(field, object, json_is_true(value) ? 1 : gt_json_number_or_nan(value));
    }
}

const struct gt_field *gt_field_find(const struct gt_fields *fields, const char *name)
{
    for (size_t i = 0; i < fields->count; i++)
        if (!strcmp(fields->field[i].name, name))
            return &fields->field[i];
    return NULL;
}

int gt_machine_field_read(struct gt_machine *machine, const struct gt_field *field, const char *text, const char *path,
                          struct gt_error *error)
{
    if (field->kind == GT_FIELD_TEXT) {
        gt_field_set_text(field, machine, text ? text : "");
        return 0;
    }
    double value = NAN;
    if (text && *text && gt_number_double(text, &value) < 0)
        return gt_error_set(error, EINVAL, "%s: %s: \"%s\" is not a number", path, field->name, text);
    gt_field_set_number(field, machine, value);
    return 0;
}

void gt_process_record_init(struct gt_process_record *record)
{
    *record = (struct gt_process_record){.begin = NAN, .end = NAN, .ram_peak = NAN, .cpu_time = NAN};
}

struct gt_gpu *gt_machine_add_gpu(struct gt_machine *machine)
{
    struct gt_gpu *gpu = GT_GROW_BY_ONE(machine->gpu, machine->gpu_length);
    if (!gpu)
        return NULL;
    machine->gpu_length++;
    *gpu = (struct gt_gpu){.memory = NAN};
    return gpu;
}

void gt_machine_gpus_write(const struct gt_machine *machine, struct gt_buffer *out)
{
    struct gt_json json;
    gt_json_init(&json, out, 0);
    gt_json_array_begin(&json);
    for (size_t i = 0; i < machine->gpu_length; i++) {
        gt_json_object_begin(&json);
        for (size_t k = 0; k < gt_gpu_fields.count; k++) {
            const struct gt_field *field = &gt_gpu_fields.field[k];
            gt_json_key(&json, field->name);
            if (field->kind == GT_FIELD_TEXT)
                gt_json_text(&json, gt_field_text(field, &machine->gpu[i]));
            else if (field->kind == GT_FIELD_INTEGER)
                gt_json_bool(&json, gt_field_number(field, &machine->gpu[i]) != 0);
            else
                gt_json_double(&json, gt_field_number(field, &machine->gpu[i]));
        }
        gt_json_object_end(&json);
    }
    gt_json_array_end(&json);
}

int gt_machine_gpus_read(struct gt_machine *machine, const char *text, const char *path, struct gt_error *error)
{
    json_error_t problem;
    json_t *list = json_loads(text, 0, &problem);
    int status = json_is_array(list) ? 0 : gt_error_set(error, EINVAL, "%s: gpus: not a JSON list of GPUs", path);
    for (size_t i = 0; !status && i < json_array_size(list); i++) {
        struct gt_gpu *gpu = gt_machine_add_gpu(machine);
        if (!gpu)
            status = gt_error_system(error, ENOMEM, "%s", path);
        else
            gt_fields_take(&gt_gpu_fields, gpu, json_array_get(list, i));
    }
    json_decref(list);
    return status;
}

void gt_recorded_release(struct gt_recorded *recorded)
{
    free(recorded->machine.gpu);
    gt_outcome_release(&recorded->outcome);
}

int gt_recording_version_check(double version, const char *path, struct gt_error *error)
{
    if (version > GT_RECORDING_VERSION)
        return gt_error_set(error, ENOTSUP,
                            "%s: recorded by a newer gpu-tracker (layout %.0f, this one reads up to %d)", path, version,
                            GT_RECORDING_VERSION);
    return 0;
}
