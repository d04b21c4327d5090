#include "sample/sample.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/map.h"
#include "base/number.h"
#include "base/utf8.h"

/* ---- A reading of energy ------------------------------------------------------------------------------------------- */

const enum gt_metric_id gt_energy_metrics[GT_ENERGY_DEVICES] = {
    [GT_ENERGY_CPU] = GT_CPU_ENERGY,
    [GT_ENERGY_DRAM] = GT_DRAM_ENERGY,
    [GT_ENERGY_GPU] = GT_GPU_ENERGY,
};

const enum gt_metric_id gt_energy_missing_metrics[GT_ENERGY_DEVICES] = {
    [GT_ENERGY_CPU] = GT_CPU_ENERGY_MISSING,
    [GT_ENERGY_DRAM] = GT_DRAM_ENERGY_MISSING,
    [GT_ENERGY_GPU] = GT_GPU_ENERGY_MISSING,
};

/* The idle energy that is charged to the job follows the parts. */
enum { IDLE_JOB = GT_ENERGY_PARTS, FIELDS };

/* The total is in the machine's row, the job's part under the same name in the job's. Memory is never idle. */
static const enum gt_metric_id part_metrics[GT_ENERGY_DEVICES][FIELDS] = {
    [GT_ENERGY_CPU] = {GT_CPU_ENERGY, GT_CPU_ENERGY, GT_CPU_ENERGY_OTHER, GT_CPU_ENERGY_IDLE,
                       GT_CPU_ENERGY_UNATTRIBUTED, GT_CPU_ENERGY_IDLE_CHARGED},
    [GT_ENERGY_DRAM] = {GT_DRAM_ENERGY, GT_DRAM_ENERGY, GT_DRAM_ENERGY_OTHER, GT_METRIC_COUNT,
                        GT_DRAM_ENERGY_UNATTRIBUTED, GT_METRIC_COUNT},
    [GT_ENERGY_GPU] = {GT_GPU_ENERGY, GT_GPU_ENERGY, GT_GPU_ENERGY_OTHER, GT_GPU_ENERGY_IDLE,
                       GT_GPU_ENERGY_UNATTRIBUTED, GT_GPU_ENERGY_IDLE_CHARGED},
};

static bool is_of_job(int field)
{
    return field == GT_ENERGY_JOB || field == IDLE_JOB;
}

static double *field_of(struct gt_energy *energy, int field)
{
    double *const fields[FIELDS] = {[GT_ENERGY_TOTAL] = &energy->total,
                                    [GT_ENERGY_JOB] = &energy->job,
                                    [GT_ENERGY_OTHER] = &energy->other,
                                    [GT_ENERGY_IDLE] = &energy->idle,
                                    [GT_ENERGY_UNATTRIBUTED] = &energy->unattributed,
                                    [IDLE_JOB] = &energy->idle_job};
    return fields[field];
}

double gt_energy_part(const struct gt_energy *energy, enum gt_energy_part part)
{
    struct gt_energy copy = *energy;
    return part < GT_ENERGY_PARTS ? *field_of(&copy, part) : NAN;
}

bool gt_energy_is_divided(const struct gt_energy *energy)
{
    return !isnan(energy->total + energy->job + energy->other + energy->idle + energy->unattributed);
}

void gt_energy_reading_clear(struct gt_energy_reading *reading)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        reading->device[i] = (struct gt_energy){false, NAN, NAN, NAN, NAN, NAN, NAN};
        reading->missing[i] = NAN;
    }
    reading->cpu_time = reading->share_error = reading->placement_error = reading->platform = reading->wall = NAN;
}

bool gt_energy_reading_uses(enum gt_metric_id metric)
{
    bool uses = metric == GT_CPU_TIME || gt_metrics[metric].unit == GT_JOULES;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        uses |= metric == gt_energy_missing_metrics[i];
    return uses;
}

void gt_energy_reading_take(struct gt_energy_reading *ret, const double *system, const double *job)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        ret->device[i].is_measured = !isnan(system[part_metrics[i][GT_ENERGY_TOTAL]]);
        for (int field = 0; field < FIELDS; field++) {
            enum gt_metric_id metric = part_metrics[i][field];
            *field_of(&ret->device[i], field) = metric == GT_METRIC_COUNT ? 0
                                                                          : (is_of_job(field) ? job : system)[metric];
        }
        ret->missing[i] = system[gt_energy_missing_metrics[i]];
    }
    ret->cpu_time = job[GT_CPU_TIME];
    ret->share_error = job[GT_CPU_ENERGY_SHARE_ERROR];
    ret->placement_error = job[GT_CPU_ENERGY_PLACEMENT_ERROR];
    ret->platform = system[GT_PLATFORM_ENERGY];
    ret->wall = system[GT_WALL_ENERGY];
}

static void show_known(double *value, double figure)
{
    if (!isnan(figure))
        *value = figure;
}

void gt_energy_reading_show(const struct gt_energy_reading *reading, double *system, double *job)
{
    job[GT_ENERGY] = NAN;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        struct gt_energy energy = reading->device[i];
        if (!energy.is_measured)
            continue;
        for (int field = 0; field < FIELDS; field++) {
            enum gt_metric_id metric = part_metrics[i][field];
            double value = *field_of(&energy, field);
            if (metric != GT_METRIC_COUNT && (field != IDLE_JOB || !isnan(value)))
                (is_of_job(field) ? job : system)[metric] = value;
        }
        system[gt_energy_missing_metrics[i]] = reading->missing[i];
        job[GT_ENERGY] = (isnan(job[GT_ENERGY]) ? 0 : job[GT_ENERGY]) + energy.job;
    }
    show_known(&job[GT_CPU_ENERGY_SHARE_ERROR], reading->share_error);
    show_known(&job[GT_CPU_ENERGY_PLACEMENT_ERROR], reading->placement_error);
}

void gt_energy_reading_update(struct gt_energy_reading *last, const struct gt_energy_reading *now)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        struct gt_energy energy = now->device[i];
        last->device[i].is_measured |= energy.is_measured;
        for (int field = 0; field < FIELDS; field++)
            show_known(field_of(&last->device[i], field), *field_of(&energy, field));
        show_known(&last->missing[i], now->missing[i]);
    }
    show_known(&last->cpu_time, now->cpu_time);
    show_known(&last->share_error, now->share_error);
    show_known(&last->placement_error, now->placement_error);
    show_known(&last->platform, now->platform);
    show_known(&last->wall, now->wall);
}

enum gt_energy_device gt_energy_device_of(enum gt_metric_id metric)
{
    if (metric == GT_CPU_ENERGY_SHARE_ERROR || metric == GT_CPU_ENERGY_PLACEMENT_ERROR)
        return GT_ENERGY_CPU;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        for (int k = 0; k < FIELDS && metric != GT_METRIC_COUNT; k++)
            if (metric == part_metrics[i][k])
                return (enum gt_energy_device)i;
    return GT_ENERGY_DEVICES;
}

bool gt_energy_column(enum gt_scope scope, enum gt_metric_id metric, enum gt_energy_device *device,
                      enum gt_energy_part *part)
{
    bool is_job = scope == GT_SCOPE_COMBINED;
    *part = GT_ENERGY_JOB;
    *device = GT_ENERGY_DEVICES;
    if (is_job && metric == GT_ENERGY)
        return true;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        for (int k = 0; k < GT_ENERGY_PARTS; k++)
            if (metric == part_metrics[i][k] && (is_job ? k == GT_ENERGY_JOB : scope == GT_SCOPE_SYSTEM)) {
                *device = (enum gt_energy_device)i;
                *part = (enum gt_energy_part)k;
                return true;
            }
    return false;
}

/* ---- Processes by name ---------------------------------------------------------------------------------------------- */

int gt_process_records_add(struct gt_process_records *records, const struct gt_process_record *record)
{
    struct gt_process_record *added = GT_GROW_LIST(records, record);
    if (!added)
        return -ENOMEM;
    *added = *record;
    return 0;
}

/* Of pointers into one array: what stood behind stays behind. */
static int by_number_and_place(const void *a, const void *b)
{
    const struct gt_process_record *first = *(struct gt_process_record *const *)a,
                                   *second = *(struct gt_process_record *const *)b;
    return first->number != second->number ? GT_ORDER(first->number, second->number) : GT_ORDER(first, second);
}

static int by_begin(const void *a, const void *b)
{
    const struct gt_process_record *first = a, *second = b;
    int unknown = isnan(first->begin) - isnan(second->begin);
    if (unknown || isnan(first->begin) || first->begin == second->begin)
        return unknown ? unknown : GT_ORDER(first->number, second->number);
    return first->begin < second->begin ? -1 : 1;
}

int gt_process_records_unify(struct gt_process_records *records)
{
    size_t count = records->count;
    struct gt_process_record **sorted = malloc((count + 1) * sizeof *sorted);
    struct gt_process_records unified = {0};
    int status = sorted ? 0 : -ENOMEM;
    for (size_t i = 0; sorted && i < count; i++)
        sorted[i] = &records->record[i];
    if (count > 1 && sorted)
        qsort(sorted, count, sizeof *sorted, by_number_and_place);
    for (size_t i = 0; !status && i < count; i++)
        if (i + 1 == count || sorted[i]->number != sorted[i + 1]->number)
            status = gt_process_records_add(&unified, sorted[i]);
    free(sorted);
    if (status < 0) {
        gt_process_records_release(&unified);
        return status;
    }
    gt_process_records_release(records);
    *records = unified;
    return 0;
}

void gt_process_records_sort(struct gt_process_records *records)
{
    if (records->count > 1)
        qsort(records->record, records->count, sizeof *records->record, by_begin);
}

void gt_process_records_end(struct gt_process_records *records, double elapsed)
{
    for (size_t i = 0; i < records->count; i++) {
        struct gt_process_record *record = &records->record[i];
        record->begin = record->begin > elapsed ? elapsed : record->begin;
        record->end = record->end > elapsed ? elapsed : record->end;
    }
}

double gt_process_records_cpu(const struct gt_process_records *records)
{
    double seconds = 0;
    for (size_t i = 0; i < records->count; i++)
        seconds += isnan(records->record[i].cpu_time) ? 0 : records->record[i].cpu_time;
    return seconds;
}

/* The rest of an end takes as long as freeing this many bytes. */
static const double REST_BYTES = 4e6;

/* Weighs the end of a process. NaN: its CPU time is not known. */
static double end_weight(const struct gt_process_record *record, pid_t main)
{
    if (record->pid == main || isnan(record->end))
        return 0;
    return isnan(record->cpu_time) ? NAN : REST_BYTES + fmax(0, record->ram_peak); /* fmax passes over NaN */
}

void gt_process_records_share_ends(struct gt_process_records *records, pid_t main, double seconds)
{
    double sum = 0;
    for (size_t i = 0; i < records->count; i++)
        sum += end_weight(&records->record[i], main);
    for (size_t i = 0; i < records->count && sum > 0; i++)
        records->record[i].cpu_time += seconds * end_weight(&records->record[i], main) / sum;
}

void gt_process_records_release(struct gt_process_records *records)
{
    free(records->record);
    *records = (struct gt_process_records){0};
}

void gt_shorten(char *ret, size_t size, const char *text)
{
    static const char ellipsis[] = "...";
    size_t length = strlen(text), room = length < size ? size - 1 : size - sizeof ellipsis, used = 0;
    while (text[used]) {
        int step = gt_utf8_length(text + used);
        step = step ? step : 1;
        if (used + (size_t)step > room)
            break;
        used += (size_t)step;
    }
    memcpy(ret, text, used);
    strcpy(ret + used, text[used] ? ellipsis : "");
}

/* ---- Processes as a tree ----------------------------------------------------------------------------------------- */

/* Each process has its parent, its first child and its next sibling here; `count` stands for none, and for the root above all. */
struct links {
    size_t count;
    uint32_t *parent, *child, *next, *last;
};

static int find_parents(struct links *links, const struct gt_process_records *sorted)
{
    struct gt_map known = {0};
    int status = 0;
    for (size_t i = 0; !status && i < links->count; i++) {
        const struct gt_process_record *record = &sorted->record[i];
        uint32_t parent = record->parent ? gt_map_get(&known, (uint32_t)record->parent) : GT_MAP_ABSENT;
        links->parent[i] = parent == GT_MAP_ABSENT ? (uint32_t)links->count : parent;
        status = gt_map_put(&known, (uint32_t)record->pid, (uint32_t)i);
    }
    gt_map_release(&known);
    return status;
}

static void link_children(struct links *links)
{
    uint32_t none = (uint32_t)links->count;
    for (size_t i = 0; i <= links->count; i++)
        links->child[i] = links->next[i] = links->last[i] = none;
    for (uint32_t i = 0; i < none; i++) {
        uint32_t parent = links->parent[i];
        if (links->last[parent] == none)
            links->child[parent] = i;
        else
            links->next[links->last[parent]] = i;
        links->last[parent] = i;
    }
}

static uint64_t bit(unsigned depth)
{
    return depth < 64 ? UINT64_C(1) << depth : 0;
}

static void walk(const struct links *links, struct gt_process_tree_row *place)
{
    uint32_t none = (uint32_t)links->count, at = links->child[none];
    unsigned depth = 0;
    uint64_t open = 0;
    for (size_t used = 0; at != none; used++) {
        open = links->next[at] == none ? open & ~bit(depth) : open | bit(depth);
        place[used] = (struct gt_process_tree_row){at, depth, open};
        if (links->child[at] != none) {
            at = links->child[at];
            depth++;
            continue;
        }
        while (at != none && links->next[at] == none) {
            at = links->parent[at];
            depth -= depth > 0;
        }
        if (at != none)
            at = links->next[at];
    }
}

int gt_process_tree(struct gt_process_tree_row **ret, const struct gt_process_records *sorted)
{
    size_t count = sorted->count, room = count + 1;
    struct gt_process_tree_row *place = malloc(room * sizeof *place);
    uint32_t *memory = malloc(4 * room * sizeof *memory);
    struct links links = {count, memory, memory + room, memory + 2 * room, memory + 3 * room};
    int status = place && memory ? find_parents(&links, sorted) : -ENOMEM;
    if (!status) {
        link_children(&links);
        walk(&links, place);
        *ret = place;
    } else {
        free(place);
    }
    free(memory);
    return status;
}

void gt_process_tree_branch(char ret[GT_PROCESS_TREE_BRANCH_SIZE], const struct gt_process_tree_row *place)
{
    unsigned depth = place->depth < GT_PROCESS_TREE_DEPTH ? place->depth : GT_PROCESS_TREE_DEPTH;
    *ret = '\0';
    for (unsigned d = 1; d < depth; d++)
        strcat(ret, place->open & bit(d) ? "│ " : "  ");
    if (depth)
        strcat(ret, place->open & bit(place->depth) ? "├ " : "└ ");
}
