#include "analyse/blocks/blocks.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/display.h"
#include "analyse/energy.h"
#include "analyse/usage/usage.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/number.h"
#include "blocks/block_run.h"
#include "report/brief.h"
#include "schema/human.h"
#include "schema/unit.h"

static struct gt_node *add_seconds(struct gt_node *section, const char *key, const char *title, double seconds)
{
    struct gt_node *number = gt_report_number(section, key, title, seconds, NULL);
    gt_node_measure(number, "seconds");
    return number;
}

/* Of times. */
static void add_statistics(struct gt_node *section, struct gt_distribution *distribution, bool with_total)
{
    for (int id = 0; id < GT_STATISTICS; id++) {
        if (id == GT_ORIGINAL_STATISTICS && with_total) /* the original ends here */
            add_seconds(section, "total", "total", gt_distribution_total(distribution));
        add_seconds(section, gt_statistic_names[id], gt_statistic_names[id],
                    gt_distribution_statistic(distribution, id));
    }
}

static struct gt_node *add_row(struct gt_node *parent, const char *key, const char *title,
                               struct gt_distribution *distribution)
{
    struct gt_node *row = gt_report_section(parent, key, title);
    gt_node_flags(row, GT_ROW);
    add_statistics(row, distribution, true);
    return row;
}

/* A table with a row for each measurement. Programs see its name and base units; people see a label with the unit
 * that the user chose. */
static struct gt_table *begin_table(struct gt_node *parent, const char *key, const char *title)
{
    struct gt_table *table = gt_report_table(parent, key, title);
    gt_table_flags(table, GT_KEYED);
    gt_display_column(table, "column", "", GT_CELL_TEXT, NULL, GT_COLUMN_ONLY_DATA);
    gt_display_column(table, "column", "", GT_CELL_TEXT, NULL, GT_COLUMN_ONLY_PEOPLE);
    gt_display_column(table, "factor", "", GT_CELL_NUMBER, NULL, GT_COLUMN_FACTOR);
    gt_display_column(table, "shown_in", "", GT_CELL_TEXT, NULL, GT_COLUMN_UNIT);
    return table;
}

static void begin_row(struct gt_table *table, const struct gt_block_analysis *analysis, const char *name)
{
    struct gt_display_unit display = gt_display_unit_as(analysis->columns, name, &analysis->machine);
    GT_CELLS(table, name, display.label, display.factor, display.unit);
}

/* One row for each gauge. A block without timepoints has none of them. Without a GPU the original has 0 in its
 * columns about them: nothing was measured. */
static void add_gauges(struct gt_node *parent, const char *key, const char *title,
                       const struct gt_block_analysis *analysis, const struct gt_block_total *total)
{
    struct gt_table *table = begin_table(parent, key, title);
    gt_display_column(table, "no_device", "", GT_CELL_INTEGER, NULL, GT_COLUMN_NO_DEVICE);
    for (int id = 0; id < GT_STATISTICS; id++)
        gt_table_column(table, gt_statistic_names[id], gt_statistic_names[id], GT_CELL_NUMBER, NULL);
    for (size_t i = 0; i < analysis->gauges; i++) {
        if (!analysis->gauge[i]->is_original && !(total->gauge && gt_distribution_count(&total->gauge[i])))
            continue;
        begin_row(table, analysis, analysis->gauge[i]->name);
        gt_table_integer(table, analysis->gauge[i]->is_zero);
        for (int id = 0; id < GT_STATISTICS; id++)
            gt_table_number(table, total->gauge ? gt_distribution_statistic(&total->gauge[i], id) : NAN);
    }
}

enum { WHOLE_JOB = -1 };

static void add_counters(struct gt_node *parent, const char *key, const char *title,
                         const struct gt_block_analysis *analysis, const struct gt_block_total *total, int block)
{
    struct gt_table *table = begin_table(parent, key, title);
    gt_table_column(table, "total", "total", GT_CELL_NUMBER, NULL);
    gt_table_column(table, "num_samples", "samples", GT_CELL_INTEGER, NULL);
    for (size_t i = 0; i < analysis->counters; i++) {
        double value = block == WHOLE_JOB ? total->counter[i] : gt_block_cpu_counter(analysis, (size_t)block, i);
        if (isnan(value))
            continue;
        begin_row(table, analysis, analysis->counter[i]->name);
        GT_CELLS(table, value, total->counter_samples);
    }
    if (!gt_table_rows(table))
        gt_table_flags(table, GT_KEYED | GT_ONLY_DATA);
}

static void add_static_data(struct gt_node *root, const struct gt_machine *machine)
{
    struct gt_node *data = gt_report_section(root, "static_data", "Static Data");
    double ram = 1, gpu_ram = 1;
    gt_unit_memory(machine->ram_unit, &ram, NULL);
    gt_unit_memory(machine->gpu_ram_unit, &gpu_ram, NULL);
    bool no_gpu = !machine->gpu_count && isnan(machine->gpu_ram_capacity);
    gt_node_flags(data, GT_ROW);
    gt_report_text(data, "ram_unit", "ram_unit", machine->ram_unit);
    gt_report_text(data, "gpu_ram_unit", "gpu_ram_unit", machine->gpu_ram_unit);
    gt_report_text(data, "time_unit", "time_unit", machine->time_unit);
    gt_node_measure(
        gt_report_number(data, "ram_system_capacity", "ram_system_capacity", machine->ram_capacity / ram, NULL),
        machine->ram_unit);
    gt_node_measure(gt_report_number(data, "gpu_ram_system_capacity", "gpu_ram_system_capacity",
                                     no_gpu ? 0 : machine->gpu_ram_capacity / gpu_ram, NULL),
                    machine->gpu_ram_unit);
    gt_report_integer(data, "system_core_count", "system_core_count", machine->core_count, NULL);
    gt_report_integer(data, "n_expected_cores", "n_expected_cores", machine->expected_cores, NULL);
    gt_report_integer(data, "system_gpu_count", "system_gpu_count", machine->gpu_count, NULL);
    gt_report_integer(data, "n_expected_gpus", "n_expected_gpus", machine->expected_gpus, NULL);
}

/* For people only where there is something to say. */
static void add_count(struct gt_node *parent, const char *key, const char *title, uint64_t value)
{
    struct gt_node *node = gt_report_integer(parent, key, title, (int64_t)value, NULL);
    if (!value)
        gt_node_flags(node, GT_ONLY_DATA);
}

static void add_cpu_time(struct gt_node *block, struct gt_call_total *calls, const struct gt_block_cpu *cpu)
{
    struct gt_node *row = gt_report_section(block, "cpu_time", "Cpu Time");
    bool recorded = calls->cpu_calls > 0;
    add_statistics(row, &calls->cpu, false);
    add_seconds(row, "total", "total", cpu->total);
    add_seconds(row, "process", "process", cpu->process);
    add_seconds(row, "others", "others", cpu->others);
    gt_report_text(row, "known", "known", cpu->known);
    gt_report_integer(row, "num_calls", "calls", (int64_t)calls->cpu_calls, NULL);
    gt_node_flags(row, recorded ? GT_ROW : GT_ROW | GT_ONLY_DATA);
}

static void add_block(struct gt_node *list, struct gt_block_analysis *analysis, size_t number)
{
    const char *name = gt_strings_text(&analysis->events.names, number);
    struct gt_call_total *calls = &analysis->block[number];
    struct gt_block_total total = gt_block_join_block(analysis->join, number);
    struct gt_node *block = gt_report_section(list, "code_block", name);
    gt_report_text(block, "name", "Name", name);
    gt_report_integer(block, "num_timepoints", "Num Timepoints", (int64_t)total.timepoints, NULL);
    gt_report_integer(block, "num_calls", "Num Calls", (int64_t)calls->calls, NULL);
    gt_report_integer(block, "num_non_empty_calls", "Num Non Empty Calls", (int64_t)calls->non_empty, NULL);
    add_row(block, "compute_time", "Compute Time", &calls->elapsed);
    add_gauges(block, "resource_usage", "Resource Usage", analysis, &total);
    add_row(block, "self_time", "Self Time", &calls->self);
    add_cpu_time(block, calls, &analysis->cpu[number]);
    add_counters(block, "counters", "Counters", analysis, &total, (int)number);
    gt_energy_table(block, &analysis->machine, analysis->energy[number].device, analysis->energy[number].by_cpu_time);
    add_seconds(block, "covered_time", "Covered Time", total.covered);
    /* calls that never ended, their time to the end of what is known, and the timepoints in it */
    add_count(block, "num_unfinished_calls", "Num Unfinished Calls", calls->unfinished);
    struct gt_node *time = add_seconds(block, "unfinished_time", "Unfinished Time", calls->unfinished_time);
    gt_node_flags(time, calls->unfinished ? 0 : GT_ONLY_DATA);
    add_count(block, "num_unfinished_timepoints", "Num Unfinished Timepoints",
              gt_block_join_unfinished(analysis->join, number).timepoints);
    add_count(block, "num_calls_of_unknown_length", "Num Calls Of Unknown Length", calls->stepped);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int add_blocks(struct gt_node *root, struct gt_block_analysis *analysis)
{
    const struct gt_strings *names = &analysis->events.names;
    struct gt_node *list = gt_report_section(root, "code_block_results", "Code Block Results");
    gt_node_flags(list, GT_LIST);
    const char **sorted = calloc(names->count + 1, sizeof *sorted);
    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < names->count; i++)
        sorted[i] = gt_strings_text(names, i);
    qsort(sorted, names->count, sizeof *sorted, compare_names);
    for (size_t i = 0; i < names->count; i++)
        add_block(list, analysis, (size_t)gt_strings_find(names, sorted[i], strlen(sorted[i])));
    free(sorted);
    return 0;
}

static void add_calls(struct gt_node *root, const struct gt_block_analysis *analysis)
{
    struct gt_table *table = gt_report_table(root, "calls", "Calls");
    gt_display_columns(table, "text:name integer:process_id integer:thread_id integer:call number:start number:stop "
                              "number:compute_time number:self_time number:cpu_time integer:num_timepoints "
                              "integer:unfinished");
    const struct gt_machine *machine = &analysis->machine;
    bool has_energy = gt_energy_curve_is_measured(&analysis->curve);
    unsigned marks = gt_energy_curve_marks(&analysis->curve);
    if (has_energy)
        gt_energy_columns(table, machine, marks);
    for (size_t i = 0; i < analysis->intervals.count; i++) {
        const struct gt_interval *call = &analysis->intervals.interval[i];
        GT_CELLS(table, gt_strings_text(&analysis->events.names, call->name), call->process);
        gt_integer_if(table, call->thread >= 0, call->thread);
        gt_integer_if(table, call->call >= 0, call->call);
        GT_CELLS(table, call->start, call->stop, call->elapsed, call->self, call->cpu_stop - call->cpu_start,
                 call->timepoints, call->unfinished);
        if (has_energy)
            gt_energy_cells(table, machine, marks, gt_blocks_energy_of_call(analysis, call));
    }
}

static void add_processes(struct gt_node *root, const struct gt_block_analysis *analysis)
{
    struct gt_table *table = gt_report_table(root, "processes", "Processes");
    gt_display_columns(table, "text:name integer:process_id integer:num_calls number:compute_time number:self_time "
                              "number:cpu_time integer:num_unfinished_calls number:unfinished_time");
    for (size_t i = 0; i < analysis->processes; i++) {
        const struct gt_process_total *process = &analysis->process[i];
        GT_CELLS(table, gt_strings_text(&analysis->events.names, process->name), process->process, process->calls,
                 process->elapsed, process->self, process->cpu_covered, process->unfinished, process->unfinished_time);
    }
}

/* What PyTorch's allocator held, of recordings that were asked for it. */
static int add_memory(struct gt_node *root, const char *tracking_file, struct gt_error *error)
{
    struct gt_block_memories memories;
    int status = gt_block_memory_load(&memories, tracking_file, error);
    struct gt_table *table = status >= 0 && memories.count
                                 ? gt_report_table(root, "pytorch_memory", "PyTorch's allocator")
                                 : NULL;
    static const char *const columns[][2] = {{"allocated", "Allocated at borders"},
                                             {"reserved", "Reserved at borders"},
                                             {"peak_at_least", "Peak at least"},
                                             {"peak_at_most", "Peak at most"}};
    if (table)
        gt_table_column(table, "name", "Block", GT_CELL_TEXT, NULL);
    for (size_t i = 0; table && i < sizeof columns / sizeof *columns; i++)
        gt_display_column(table, columns[i][0], columns[i][1], GT_CELL_INTEGER, "bytes", GT_COLUMN_SCALED);
    for (size_t i = 0; table && i < memories.count; i++) {
        gt_table_text(table, memories.memory[i].name);
        const int64_t bytes[] = {memories.memory[i].allocated, memories.memory[i].reserved, memories.memory[i].least,
                                 memories.memory[i].most};
        for (size_t k = 0; k < sizeof bytes / sizeof *bytes; k++)
            gt_integer_if(table, bytes[k] >= 0, bytes[k]);
    }
    gt_block_memory_release(&memories);
    return status;
}

static void add_energy(struct gt_node *root, const struct gt_block_analysis *analysis)
{
    const struct gt_outcome *outcome = gt_recording_outcome(analysis->recording);
    if (gt_energy_curve_is_measured(&analysis->curve))
        gt_energy_section(root, &(struct gt_energy_figures){.machine = &analysis->machine,
                                                            .outcome = outcome,
                                                            .end = &analysis->last,
                                                            .parts = GT_ENERGY_BY_CPU_TIME
                                                            " where blocks have it, else " GT_ENERGY_BY_TIME,
                                                            .seconds = outcome ? outcome->elapsed : NAN});
}

/* Reports how the join was made. */
static void add_method(struct gt_node *root, const struct gt_block_analysis *analysis)
{
    struct gt_node *section = gt_report_section(root, "sub_tracking", "Sub Tracking");
    gt_report_text(section, "clock", "Clock", analysis->use_monotonic ? "monotonic" : "wall");
    gt_report_integer(section, "num_rows", "Rows", (int64_t)analysis->events.rows, NULL);
    gt_report_integer(section, "num_files", "Files", (int64_t)analysis->events.files.count, NULL);
    gt_report_integer(section, "num_bad_rows", "Bad rows", (int64_t)(analysis->events.bad + analysis->bad_timepoints),
                      NULL);
    gt_report_integer(section, "num_torn_rows", "Torn rows", (int64_t)analysis->events.torn, NULL);
    gt_report_integer(section, "num_rows_without_start", "Rows without start", (int64_t)analysis->intervals.orphans,
                      NULL);
    gt_node_flags(section, GT_ONLY_DATA);
}

/* Exact where the kernel keeps high-water marks: samples see less. */
static void add_peaks(struct gt_node *root, const struct gt_block_analysis *analysis)
{
    const struct gt_outcome *outcome = gt_recording_outcome(analysis->recording);
    const struct gt_machine *machine = gt_recording_machine(analysis->recording);
    const struct gt_columns *columns = analysis->columns;
    struct gt_node *section = gt_report_section(root, "peaks", "Peaks");
    double unit = 1;
    size_t known = 0;
    gt_unit_memory(machine->ram_unit, &unit, NULL);
    for (size_t i = 0; outcome && i < columns->count; i++) {
        const struct gt_column *column = &columns->column[i];
        bool is_peak = !column->is_original && column->scope >= 0 && gt_metrics[column->metric].kind == GT_PEAK;
        double value = is_peak ? outcome->value[column->scope][column->metric] : NAN;
        if (isnan(value))
            continue;
        struct gt_node *number = gt_report_number(section, column->name, column->name, value, NULL);
        if (gt_metrics[column->metric].unit == GT_BYTES)
            gt_node_display(number, 1 / unit, machine->ram_unit);
        known++;
    }
    if (!known)
        gt_node_flags(section, GT_ONLY_DATA);
}

/* ---- the summary: one line for each block, the longest first ---- */

/* Columns of the recording add the largest or the mean value while the block ran to the table. */
static const struct figure {
    const char *column, *key, *title;
    enum gt_statistic_id statistic;
    bool is_of_gpus;
} figures[] = {
    {"combined_ram", "max_ram", "Max RAM", GT_STAT_MAX, false},
    {"cpu_combined_sum_utilization_percent", "mean_cpu_percent", "Mean CPU %", GT_STAT_MEAN, false},
    {"combined_gpu_ram", "max_gpu_ram", "Max GPU RAM", GT_STAT_MAX, true},
    {"gpu_sum_utilization_percent", "mean_gpu_percent", "Mean GPU %", GT_STAT_MEAN, true},
};

static double figure_of(const struct gt_block_analysis *analysis, const struct gt_block_total *total,
                        const struct figure *figure)
{
    size_t index = 0;
    while (index < analysis->gauges && strcmp(analysis->gauge[index]->name, figure->column) != 0)
        index++;
    bool is_absent = figure->is_of_gpus && !gt_recording_machine(analysis->recording)->gpu_count;
    if (index == analysis->gauges || !total->gauge || is_absent)
        return NAN;
    return gt_distribution_statistic(&total->gauge[index], figure->statistic);
}

/* Its job still runs, so that a call may yet end. */
static bool is_live(const struct gt_block_analysis *analysis)
{
    const struct gt_outcome *outcome = gt_recording_outcome(analysis->recording);
    const struct gt_machine *machine = gt_recording_machine(analysis->recording);
    int64_t now_ns = gt_clock_real(&gt_clock_system) - gt_recording_clock_set(machine, analysis->epoch_ns);
    double silence = gt_seconds(now_ns) - analysis->last_real;
    return !(outcome && outcome->complete) && silence <= gt_machine_overdue(machine->period);
}

static struct gt_table *add_summary_table(struct gt_node *root, const struct gt_block_analysis *analysis,
                                          const char *title)
{
    const struct gt_machine *machine = &analysis->machine;
    struct gt_table *table = gt_report_table(root, "summary", title);
    gt_table_column(table, "name", "Block", GT_CELL_TEXT, NULL);
    gt_table_column(table, "calls", "Calls", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "total", "Total", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "self", "Self", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "mean", "Mean", GT_CELL_NUMBER, "seconds");
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        const char *memory = figures[i].is_of_gpus ? machine->gpu_ram_unit : machine->ram_unit;
        gt_table_column(table, figures[i].key, figures[i].title, GT_CELL_NUMBER,
                        figures[i].statistic == GT_STAT_MEAN ? NULL : memory);
    }
    gt_energy_columns(table, machine, gt_energy_curve_marks(&analysis->curve));
    const char *unfinished = is_live(analysis) ? "Running now" : "Never ended";
    gt_table_column(table, "unfinished_calls", unfinished, GT_CELL_INTEGER, NULL);
    gt_table_column(table, "unfinished_time", "For", GT_CELL_NUMBER, "seconds");
    return table;
}

static void add_summary_row(struct gt_table *table, struct gt_block_analysis *analysis, size_t number,
                            bool has_unfinished)
{
    struct gt_call_total *calls = &analysis->block[number];
    struct gt_block_total total = gt_block_join_block(analysis->join, number);
    GT_CELLS(table, gt_strings_text(&analysis->events.names, number), calls->calls,
             gt_distribution_total(&calls->elapsed), gt_distribution_total(&calls->self),
             gt_distribution_statistic(&calls->elapsed, GT_STAT_MEAN));
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        gt_table_number(table, figure_of(analysis, &total, &figures[i]));
    gt_energy_cells(table, &analysis->machine, gt_energy_curve_marks(&analysis->curve),
                    gt_energy_sum(analysis->energy[number].device));
    gt_integer_if(table, has_unfinished, (int64_t)calls->unfinished); /* a column of nothing is left out */
    gt_table_number(table, calls->unfinished ? calls->unfinished_time : NAN);
}

struct rank {
    double total;
    size_t number;
};

static int by_total(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(y->total, x->total), GT_ORDER(x->number, y->number));
}

/* The blocks, the longest first: free it. NULL without blocks or memory. */
static struct rank *rank_blocks(const struct gt_block_analysis *analysis)
{
    size_t count = analysis->events.names.count;
    struct rank *rank = count ? calloc(count, sizeof *rank) : NULL;
    for (size_t i = 0; rank && i < count; i++)
        rank[i] = (struct rank){gt_distribution_total(&analysis->block[i].elapsed), i};
    if (rank)
        qsort(rank, count, sizeof *rank, by_total);
    return rank;
}

static void add_summary(struct gt_node *root, struct gt_block_analysis *analysis, const char *title)
{
    size_t count = analysis->events.names.count;
    struct rank *rank = rank_blocks(analysis);
    if (!rank)
        return;
    struct gt_table *table = add_summary_table(root, analysis, title);
    gt_table_flags(table, GT_ONLY_PEOPLE | GT_PAGE_FIRST | GT_BRIEF);
    bool has_unfinished = false;
    for (size_t i = 0; i < count; i++)
        has_unfinished |= analysis->block[i].unfinished > 0;
    for (size_t i = 0; i < count; i++)
        add_summary_row(table, analysis, rank[i].number, has_unfinished);
    free(rank);
}

/* ---- lanes: pages show calls above their charts, in a lane for each depth at which the calls of a thread nest ---- */

enum { LANES = 32, DEPTHS = 8, CALLS = 20000 };

/* Threads that follow each other share lanes, one for each depth: a script may begin a process for each of its blocks. */
struct track {
    int lane[DEPTHS]; /* -1: not begun */
    double stop;      /* of its last thread */
    size_t threads;
    bool has_length; /* a moment that somebody marked has none */
};

/* The calls that are open at a depth of a thread. */
struct thread {
    struct track *track;
    double stop[DEPTHS];
    int depth; /* of the call at hand */
};

struct lanes {
    const struct gt_block_analysis *analysis;
    struct gt_node *series;
    struct track *track;
    size_t tracks;
    int lanes;
    double shortest; /* shorter calls are left out where there are too many */
};

static double begin_of(const struct gt_block_analysis *analysis, const struct gt_interval *call)
{
    return (analysis->use_monotonic ? call->clock_start : call->start) - analysis->first;
}

static double end_of(const struct gt_block_analysis *analysis, const struct gt_interval *call)
{
    return (analysis->use_monotonic ? call->clock_stop : call->stop) - analysis->first;
}

/* How many calls, from the first on, are of its thread, and when the last of them ends. */
static size_t count_of_thread(const struct gt_block_analysis *analysis, const struct gt_interval *call, size_t calls,
                              double *ret_end, bool *ret_has_length)
{
    size_t count = 0;
    *ret_end = -INFINITY;
    *ret_has_length = false;
    for (; count < calls && gt_interval_is_of_thread(call, &call[count]); count++) {
        double end = end_of(analysis, &call[count]);
        *ret_end = fmax(*ret_end, end);
        *ret_has_length |= !(end <= begin_of(analysis, &call[count]));
    }
    return count;
}

/* Moments that were marked have a track of their own. */
static struct track *choose_track(struct lanes *lanes, double begin, double end, bool has_length)
{
    size_t at = 0; /* beyond LANES none is drawn: threads share the last then */
    while (at < lanes->tracks && at < LANES &&
           (lanes->track[at].has_length != has_length || !(lanes->track[at].stop <= begin)))
        at++;
    struct track *track = &lanes->track[at];
    if (at == lanes->tracks) {
        lanes->tracks++;
        track->has_length = has_length;
        for (int depth = 0; depth < DEPTHS; depth++)
            track->lane[depth] = -1;
    }
    track->stop = fmax(end, begin);
    track->threads++;
    return track;
}

static void name_lane(char *ret, size_t size, const struct lanes *lanes, const struct track *track,
                      const struct gt_interval *call)
{
    if (!track->has_length)
        snprintf(ret, size, "marks");
    else if (lanes->tracks == 1)
        snprintf(ret, size, "blocks");
    else if (track->threads > 1)
        snprintf(ret, size, "%zu in turn", track->threads);
    else if (call->thread >= 0 && call->thread != call->process)
        snprintf(ret, size, "%lld/%lld", (long long)call->process, (long long)call->thread);
    else
        snprintf(ret, size, "pid %lld", (long long)call->process);
}

static int lane_of(struct lanes *lanes, struct thread *thread, const struct gt_interval *call)
{
    char key[24], title[64] = "";
    int *lane = &thread->track->lane[thread->depth];
    if (*lane >= 0 || lanes->lanes == LANES)
        return *lane;
    snprintf(key, sizeof key, "lane_%d", lanes->lanes);
    if (thread->depth == 0)
        name_lane(title, sizeof title, lanes, thread->track, call);
    *lane = gt_series_line(lanes->series, key, title);
    lanes->lanes++;
    return *lane;
}

static void draw_call(struct lanes *lanes, struct thread *thread, const struct gt_interval *call)
{
    double from = begin_of(lanes->analysis, call), to = end_of(lanes->analysis, call);
    if (!(to >= from))
        return;
    while (thread->depth > 0 && thread->stop[thread->depth - 1] <= from)
        thread->depth--;
    int lane = thread->depth < DEPTHS && to - from >= lanes->shortest ? lane_of(lanes, thread, call) : -1;
    if (lane >= 0)
        gt_series_band(lanes->series, lane, gt_strings_text(&lanes->analysis->events.names, call->name), from, to);
    if (thread->depth < DEPTHS)
        thread->stop[thread->depth++] = to;
}

static int by_length(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return GT_ORDER(y, x);
}

/* Returns how long a call has to be to be among the longest CALLS. */
static double shortest_shown(const struct gt_block_analysis *analysis)
{
    size_t count = analysis->intervals.count;
    double *length = count > CALLS ? malloc(count * sizeof *length) : NULL;
    if (!length)
        return 0;
    for (size_t i = 0; i < count; i++) {
        const struct gt_interval *call = &analysis->intervals.interval[i];
        length[i] = end_of(analysis, call) - begin_of(analysis, call);
        length[i] = isnan(length[i]) ? -INFINITY : length[i];
    }
    qsort(length, count, sizeof *length, by_length);
    double shortest = length[CALLS];
    free(length);
    return fmax(shortest, 0);
}

/* The calls lie thread by thread, each thread's by time. All threads have a track before the first is named. */
static void add_lanes(struct gt_node *page, const struct gt_block_analysis *analysis)
{
    const struct gt_interval *call = analysis->intervals.interval;
    size_t count = analysis->intervals.count, *track = calloc(count + 1, sizeof *track), threads = 0;
    struct lanes lanes = {.analysis = analysis, .shortest = shortest_shown(analysis)};
    struct thread thread = {0};
    lanes.track = calloc(count + 1, sizeof *lanes.track);
    bool is_drawn = count && track && lanes.track;
    for (size_t i = 0; i < count && is_drawn;) {
        bool has_length;
        double end;
        size_t calls = count_of_thread(analysis, call + i, count - i, &end, &has_length);
        track[threads++] = (size_t)(choose_track(&lanes, begin_of(analysis, &call[i]), end, has_length) - lanes.track);
        i += calls;
    }
    if (is_drawn)
        lanes.series = gt_report_series(page, "blocks_over_time", "Code blocks", "seconds", "",
                                        GT_ONLY_PEOPLE | GT_LANES | GT_PAGE_FIRST);
    for (size_t i = 0, next = 0; i < count && is_drawn; i++) {
        if (i == 0 || !gt_interval_is_of_thread(&call[i - 1], &call[i]))
            thread = (struct thread){.track = &lanes.track[track[next++]]};
        draw_call(&lanes, &thread, &call[i]);
    }
    free(lanes.track);
    free(track);
}

/* ---- the report ---- */

/* The first blocks for the summary of text: "sort  590 ms  54 % of the time, 142 MB, 1.64 cores (1 call)". */
static void add_text_lines(struct gt_brief *brief, struct gt_block_analysis *analysis, double elapsed)
{
    enum { ROWS = 14 };
    struct rank *rank = rank_blocks(analysis);
    size_t count = rank ? analysis->events.names.count : 0;
    for (size_t i = 0; i < count && i < ROWS; i++) {
        struct gt_call_total *calls = &analysis->block[rank[i].number];
        struct gt_block_total total = gt_block_join_block(analysis->join, rank[i].number);
        double memory = figure_of(analysis, &total, &figures[0]), cpu = figure_of(analysis, &total, &figures[1]),
               factor = NAN;
        struct gt_buffer words = {0};
        char text[GT_HUMAN_SIZE], time[GT_HUMAN_SIZE];
        if (elapsed > 0 && rank[i].total <= elapsed)
            gt_buffer_printf(&words, "%s of the time", gt_human_percent(text, rank[i].total / elapsed));
        if (isfinite(memory) && gt_unit_memory(analysis->machine.ram_unit, &factor, NULL) >= 0)
            gt_buffer_printf(&words, "%s%s", words.length ? ", " : "", gt_human_bytes(text, memory * factor));
        if (isfinite(cpu))
            gt_buffer_printf(&words, "%s%s cores", words.length ? ", " : "", gt_human_number(text, cpu / 100));
        gt_buffer_printf(&words, "%s(%llu call%s)", words.length ? " " : "", (unsigned long long)calls->calls,
                         calls->calls == 1 ? "" : "s");
        gt_brief_text_line(brief, gt_strings_text(&analysis->events.names, rank[i].number),
                           gt_human_seconds(time, rank[i].total), "%s", words.data ? words.data : "");
        gt_buffer_release(&words);
    }
    if (count > ROWS)
        gt_brief_text_line(brief, "and", NULL, "%zu more code blocks", count - ROWS);
    free(rank);
}

/* A page begins with whose blocks these are, the time and the largest figures. */
static void add_head(struct gt_node *page, struct gt_block_analysis *analysis)
{
    char outcome[PATH_MAX], text[GT_HUMAN_SIZE];
    const struct gt_machine *machine = gt_recording_machine(analysis->recording);
    const struct gt_outcome *end = gt_recording_outcome(analysis->recording);
    const char *file = gt_file_name(analysis->options->tracking_file);
    snprintf(outcome, sizeof outcome, "code blocks of %s", file);
    struct gt_brief *brief = gt_brief_add(page, *machine->command ? machine->command : file, outcome, false);
    add_text_lines(brief, analysis, end ? end->elapsed : NAN);
    gt_brief_more(brief, "all values: --format text, or -o blocks.html");
    if (!end)
        return;
    double peak = end->value[GT_SCOPE_COMBINED][GT_RAM_PEAK];
    if (isfinite(end->elapsed))
        gt_brief_line(brief, "time", gt_human_seconds(text, end->elapsed), NULL, "%s", "");
    if (isfinite(peak))
        gt_brief_line(brief, "memory", gt_human_bytes(text, peak), NULL, "%s", "");
}

static int build(struct gt_report **ret, struct gt_block_analysis *analysis, struct gt_error *error)
{
    struct gt_report *report;
    int status = gt_report_new(&report, "sub_tracking_results", error);
    if (status < 0)
        return status;
    struct gt_node *root = &report->root;
    struct gt_block_total overall = gt_block_join_overall(analysis->join);
    report->layout = GT_LAYOUT_ANALYSIS;
    add_head(&report->page, analysis);
    add_lanes(&report->page, analysis);
    gt_over_time_add(
        &(struct gt_over_time){.course = &analysis->course, .machine = gt_recording_machine(analysis->recording)},
        &report->page);
    add_gauges(root, "overall", "Overall", analysis, &overall);
    add_static_data(root, gt_recording_machine(analysis->recording));
    status = add_blocks(root, analysis);
    add_counters(root, "overall_counters", "Overall Counters", analysis, &overall, WHOLE_JOB);
    add_peaks(root, analysis);
    if (analysis->options->calls) {
        add_processes(root, analysis);
        add_calls(root, analysis);
    }
    add_summary(root, analysis, "Summary");
    if (status >= 0)
        status = add_memory(root, analysis->options->tracking_file, error);
    add_energy(root, analysis);
    const struct gt_outcome *outcome = gt_recording_outcome(analysis->recording);
    double seconds = outcome ? outcome->elapsed : gt_block_join_last(analysis->join) - analysis->first;
    double exit_status = outcome && outcome->exit_status >= 0 ? outcome->exit_status : NAN;
    gt_node_flags(gt_report_number(root, "duration", "Duration", seconds, "seconds"), GT_ONLY_DATA);
    gt_node_flags(gt_report_count(root, "exit_status", "Exit status", exit_status, NULL), GT_ONLY_DATA);
    add_method(root, analysis);
    gt_node_flags(gt_report_integer(root, "results_version", "Results version", GT_RESULTS_VERSION, NULL),
                  GT_ONLY_DATA);
    return gt_display_end(ret, report, status, analysis->options->tracking_file, error);
}

int gt_blocks_page_add(struct gt_report *report, struct gt_block_analysis *analysis, struct gt_error *error)
{
    if (gt_block_cpu_count(analysis) < 0)
        return gt_error_system(error, ENOMEM, "%s", analysis->options->tracking_file);
    if (analysis->intervals.count) {
        add_lanes(&report->page, analysis);
        add_summary(&report->root, analysis, "Code blocks");
    }
    return 0;
}

int gt_blocks_page(struct gt_report *report, const struct gt_blocks_options *options, struct gt_error *error)
{
    struct gt_block_analysis analysis;
    char path[PATH_MAX];
    if (gt_block_event_collected(path, sizeof path, options->tracking_file) < 0)
        return 0;
    struct gt_error bad = {0};
    int status = gt_block_analysis_open(&analysis, options, true, &bad);
    if (status >= 0)
        status = gt_blocks_page_add(report, &analysis, &bad);
    gt_block_analysis_close(&analysis);
    if (status == -ENOENT) /* a job that runs has marked none yet */
        return 0;
    return status < 0 ? gt_error_copy(error, &bad) : 0;
}

int gt_blocks_report(struct gt_report **ret, const struct gt_blocks_options *options, bool optional,
                     struct gt_error *error)
{
    struct gt_block_analysis analysis;
    int status = gt_block_analysis_open(&analysis, options, optional, error);
    if (status >= 0 && gt_block_cpu_count(&analysis) < 0)
        status = gt_error_system(error, ENOMEM, "%s", options->tracking_file);
    if (status >= 0)
        status = build(ret, &analysis, error);
    gt_block_analysis_close(&analysis);
    return status < 0 ? status : 0;
}
