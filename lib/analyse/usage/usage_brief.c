#include "analyse/usage/usage.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/coverage.h"
#include "analyse/display.h"
#include "analyse/energy.h"
#include "base/os/clock.h"
#include "report/brief.h"
#include "schema/human.h"
#include "store/store.h"

enum { TEXT = 400, LEAST_SPANS = 4, GPUS_ALONE = 4, NAMED = 2 };

/* Less is what every program reads. */
static const double LITTLE = 1e6;
/* This allows for what processes share, and for what was freed between two looks. */
static const double LITTLE_ABOVE = 1.2;

/* Appends to a text, as much as fits. */
__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

/* ---- How it ended ------------------------------------------------------------------------------------------------ */

/* Returns for how many seconds there has been no sample. */
static double silence_of(const struct gt_usage *usage)
{
    int64_t last_ns = usage->summary->last_real_ns, epoch_ns = last_ns - usage->summary->course.last_ns;
    int64_t now_ns = gt_clock_real(&gt_clock_system) - gt_recording_clock_set(usage->machine, epoch_ns);
    return (double)(now_ns - last_ns) / GT_SECOND;
}

static void describe_outcome(const struct gt_usage *usage, char *text, size_t size)
{
    const struct gt_outcome *outcome = usage->outcome;
    char time[GT_HUMAN_SIZE], status[GT_HUMAN_STATUS_SIZE];
    enum gt_out_of_memory memory = gt_usage_out_of_memory(usage);
    gt_human_seconds(time, outcome->elapsed);
    gt_human_status(status, outcome->exit_status, outcome->ending == GT_ENDED_BY_ITSELF);
    if (memory != GT_MEMORY_SUFFICED && outcome->exit_status == 128 + SIGKILL)
        snprintf(text, size, "%sOUT OF MEMORY, killed at %s", memory == GT_MEMORY_RAN_OUT ? "" : "probably ", time);
    else if (memory != GT_MEMORY_SUFFICED && outcome->exit_status >= 0)
        snprintf(text, size, "%sOUT OF MEMORY, %s, %s", memory == GT_MEMORY_RAN_OUT ? "" : "probably ", status, time);
    else if (outcome->exit_status >= 0)
        snprintf(text, size, "%s, %s", status, time);
    else if (outcome->complete)
        snprintf(text, size, "followed for %s", time);
    else if (silence_of(usage) > gt_machine_overdue(usage->machine->period))
        snprintf(text, size, "%s, no news for %s: the tracker is gone", time, GT_HUMAN(clock, silence_of(usage)));
    else
        snprintf(text, size, "%s so far", time);
}

/* ---- Courses ----------------------------------------------------------------------------------------------------- */

/* Where no sample tells of it, a value stays as it was before. `device` is that of a GPU or -1. `scale` is the top; NaN: the largest cell
 * is. Returns the curve; NULL: too little is known. */
static const struct gt_brief_curve *draw(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric,
                                         int device, double scale, struct gt_brief_curve *curve)
{
    const struct gt_sample_course *course = &usage->summary->course;
    int line = gt_sample_course_find(course, scope, metric, device);
    size_t known = 0, spans = line < 0 ? 0 : course->course->spans;
    double top = scale, *cell = curve->cell;
    for (size_t i = 0; i < GT_BRIEF_CELLS; i++) {
        size_t from = (i * spans + GT_BRIEF_CELLS - 1) / GT_BRIEF_CELLS,
               to = ((i + 1) * spans + GT_BRIEF_CELLS - 1) / GT_BRIEF_CELLS;
        cell[i] = from < to ? gt_sample_course_value(course, line, from, to) : NAN;
        known += !isnan(cell[i]);
        top = isnan(scale) ? fmax(top, cell[i]) : scale;
    }
    for (int i = 0; i < GT_BRIEF_CELLS; i++)
        cell[i] = isnan(cell[i]) ? i ? cell[i - 1] : NAN : fmin(top > 0 ? cell[i] / top : cell[i], 1);
    for (int i = GT_BRIEF_CELLS - 1; i > 0; i--)
        cell[i - 1] = isnan(cell[i - 1]) ? cell[i] : cell[i - 1];
    return known >= LEAST_SPANS ? curve : NULL;
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

/* More above the limit than exactness and rounding explain. */
static const double FILES_BESIDE = 1.01;

/* Says of what the peak is a share: of the limit that it met, of what was asked for, or of what there is; then the upper
 * bound, if it is far above. If the words are too long, those in brackets go: a bound stays, and the size of the machine
 * goes before it. */
static void describe_memory(const struct gt_usage *usage, double peak, char *words, size_t size)
{
    double limit = gt_usage_given(usage, GT_LIMIT_GROUP_MEMORY), asked = gt_usage_given(usage, GT_LIMIT_MEMORY);
    double capacity = usage->machine->ram_capacity, met = gt_usage_memory_limit_met(usage);
    double bound = usage->outcome->value[GT_SCOPE_COMBINED][GT_RAM_PEAK_BOUND];
    bool is_at_limit = met > 0 && peak < LITTLE_ABOVE * met; /* a part of the job may have one of its own */
    bool is_bounded = bound > 1.25 * peak, is_of_machine = false;
    snprintf(words, size, "peak");
    if (gt_usage_out_of_memory(usage) != GT_MEMORY_SUFFICED && is_at_limit)
        append(words, size, ", at the limit of %s%s", GT_HUMAN(round_bytes, met),
               peak > FILES_BESIDE * met ? " (pages of shared files do not count)" : "");
    else if (asked > 0)
        append(words, size, "; %s of %s %s", GT_HUMAN(percent, peak / asked), GT_HUMAN(round_bytes, asked),
               asked == limit ? "limit" : "asked for");
    else
        is_of_machine = capacity > 0;
    if (is_of_machine && is_bounded)
        append(words, size, ", at most %s (of %s here)", GT_HUMAN(bytes, bound), GT_HUMAN(round_bytes, capacity));
    else if (is_of_machine)
        append(words, size, ", of %s here", GT_HUMAN(round_bytes, capacity));
    else if (is_bounded)
        append(words, size, " (at most %s)", GT_HUMAN(bytes, bound));
}

/* Shared memory that no process maps is in no process's memory, and still counts towards a limit. */
static void add_memory(const struct gt_usage *usage, struct gt_brief *brief)
{
    static const double MUCH = 64e6;
    char words[TEXT];
    struct gt_brief_curve curve = {0};
    double peak = gt_usage_peak(usage), unmapped = gt_usage_unmapped(usage);
    double swap = usage->summary->of[GT_SCOPE_COMBINED][GT_SWAP].max;
    if (!isnan(peak)) {
        describe_memory(usage, peak, words, sizeof words);
        gt_brief_line(brief, "memory", GT_HUMAN(bytes, peak), draw(usage, GT_SCOPE_COMBINED, GT_RAM, -1, peak, &curve),
                      "%s", words);
    }
    if (swap > 0)
        gt_brief_line(brief, "swap", GT_HUMAN(bytes, swap), NULL, "swapped out at most");
    if (unmapped > MUCH)
        gt_brief_line(brief, "tmpfs", GT_HUMAN(bytes, unmapped), NULL,
                      "unmapped shared memory, which also counts towards limits");
}

static const double MORE_THAN_GIVEN = 1.05; /* of which less is exactness */

static void add_cores(const struct gt_usage *usage, struct gt_brief *brief)
{
    char words[TEXT];
    struct gt_brief_curve curve = {0};
    double cores = gt_usage_cores(usage, GT_SCOPE_COMBINED), given = gt_usage_given(usage, GT_LIMIT_CORES);
    int count = usage->machine->core_count;
    bool is_more_than_there_is = given > count && count > 0;
    double usable = is_more_than_there_is ? count : given;
    if (isnan(cores))
        return;
    if (usable > 0 && cores > MORE_THAN_GIVEN * usable)
        snprintf(words, sizeof words, "cores busy, more than the %s asked for", GT_HUMAN(round_number, usable));
    else if (is_more_than_there_is)
        snprintf(words, sizeof words, "cores busy: %s of the %d here (%s asked for)",
                 GT_HUMAN(percent, fmin(cores / usable, 1)), count, GT_HUMAN(round_number, given));
    else if (given > 0)
        snprintf(words, sizeof words, "cores busy of %s: %s efficient", GT_HUMAN(round_number, given),
                 GT_HUMAN(percent, fmin(cores / given, 1)));
    else
        snprintf(words, sizeof words, "cores busy of %d", count);
    bool is_bound = gt_usage_exactness(usage, GT_SCOPE_COMBINED, GT_CPU_TIME) == GT_AT_LEAST;
    gt_brief_line(brief, "cpu", GT_HUMAN(number, cores),
                  draw(usage, GT_SCOPE_COMBINED, GT_CPU_UTILIZATION, -1, NAN, &curve), "%s%s", words,
                  is_bound ? ", at least" : "");
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

static double mean(const struct gt_statistic *statistic)
{
    return statistic->count ? statistic->sum / (double)statistic->count : NAN;
}

/* `use`: of the time in which they were busy. */
static void add_gpu_line(const struct gt_usage *usage, struct gt_brief *brief, const char *title, double use,
                         const struct gt_brief_curve *curve, const struct gt_statistic *of, double capacity)
{
    char memory[2 * GT_HUMAN_SIZE], words[TEXT] = "busy";
    double ram = of[GT_GPU_RAM].max, watts = mean(&of[GT_GPU_POWER]);
    const struct gt_gap *gap = &usage->outcome->counter[GT_ENERGY_GPU].gap;
    if (!isnan(ram))
        append(words, sizeof words, "; %s", gt_human_part(memory, ram, capacity));
    if (!isnan(watts))
        append(words, sizeof words, "; %s", GT_HUMAN(power, watts));
    if (gt_gap_is_silence(gap))
        append(words, sizeof words, "; until %.3g s", gap->began);
    gt_brief_line(brief, title, GT_HUMAN(percent, use), curve, "%s", words);
}

static void add_gpus_together(const struct gt_usage *usage, struct gt_brief *brief)
{
    const struct gt_machine *machine = usage->machine;
    char title[24] = "gpu";
    struct gt_brief_curve curve = {0};
    int count = machine->expected_gpus > 0 ? machine->expected_gpus : 1;
    double use = gt_summary_mean(usage->summary, GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION) / count;
    if (isnan(use))
        return;
    if (count > 1)
        snprintf(title, sizeof title, "%d gpus", count);
    add_gpu_line(usage, brief, title, use, draw(usage, GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION, -1, count, &curve),
                 usage->summary->of[GT_SCOPE_SYSTEM], machine->gpu_ram_capacity > 0 ? machine->gpu_ram_capacity : NAN);
}

/* Recordings without detail tell of all GPUs together. */
static void add_gpus(const struct gt_usage *usage, struct gt_brief *brief)
{
    const struct gt_machine *machine = usage->machine;
    size_t selected = 0, known = usage->summary->gpu_count;
    for (size_t i = 0; i < machine->gpu_length; i++)
        selected += machine->gpu[i].selected;
    if (machine->gpu_count == 0)
        return;
    if (selected > GPUS_ALONE || known < machine->gpu_length) {
        add_gpus_together(usage, brief);
        return;
    }
    for (size_t i = 0; i < machine->gpu_length; i++) {
        const struct gt_statistic *of = usage->summary->gpu[i];
        struct gt_brief_curve curve = {0};
        double use = mean(&of[GT_GPU_UTILIZATION]);
        char title[32];
        snprintf(title, sizeof title, "gpu %zu", i);
        if (machine->gpu[i].selected && !(isnan(use) && isnan(of[GT_GPU_RAM].max)))
            add_gpu_line(usage, brief, title, use, draw(usage, GT_SCOPE_GPU, GT_GPU_UTILIZATION, (int)i, 1, &curve), of,
                         machine->gpu[i].memory);
    }
}

/* ---- The rest ---------------------------------------------------------------------------------------------------- */

static void add_storage(const struct gt_usage *usage, struct gt_brief *brief)
{
    char words[TEXT] = "";
    double read = gt_usage_final(usage, GT_SCOPE_COMBINED, GT_READ_BYTES);
    double written = gt_usage_final(usage, GT_SCOPE_COMBINED, GT_WRITTEN_BYTES);
    double waited = gt_usage_share(usage, GT_SCOPE_SYSTEM, GT_PRESSURE_IO);
    if (read >= LITTLE)
        append(words, sizeof words, "%s read", GT_HUMAN(bytes, read));
    if (written >= LITTLE)
        append(words, sizeof words, "%s%s written", *words ? ", " : "", GT_HUMAN(bytes, written));
    if (*words && waited >= 0.01)
        append(words, sizeof words, "; %s of the time waiting for it", GT_HUMAN(percent, waited));
    if (*words)
        gt_brief_line(brief, "disk", NULL, NULL, "%s", words);
}

/* " ± 1.2" as the reports have it, or " for 48 % of the time", which has no error. */
static void add_energy_error(const struct gt_usage *usage, double joules, char *words, size_t size)
{
    struct gt_energy_reading end;
    gt_usage_energy(usage, &end);
    const struct gt_energy_figures figures = {
        .machine = usage->machine, .outcome = usage->outcome, .end = &end, .seconds = usage->outcome->elapsed};
    double error = gt_energy_job_error(&figures), part = gt_energy_known_part(&figures);
    if (part < 1)
        append(words, size, " for %.3g %% of the time", 100 * part);
    else if (error >= 0.005 * joules)
        append(words, size, " ± %s", GT_HUMAN(energy_part, error, joules));
}

static void add_energy_parts(const struct gt_usage *usage, double whole, char *words, size_t size)
{
    static const char *const names[GT_ENERGY_DEVICES] = {"cpu", "dram", "gpu"};
    size_t begin = strlen(words);
    int known = 0;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        double joules = gt_usage_final(usage, GT_SCOPE_COMBINED, gt_energy_metrics[i]);
        if (!(joules > 0))
            continue;
        append(words, size, "%s%s %s", known++ ? ", " : " (", names[i], GT_HUMAN(energy_part, joules, whole));
    }
    if (known < 2)
        words[begin] = '\0';
    else
        append(words, size, ")");
}

static void add_energy_cost(const struct gt_machine *machine, double joules, char *words, size_t size)
{
    double kwh = joules / 3.6e6;
    if (machine->carbon_intensity > 0)
        append(words, size, "   %s CO2e", GT_HUMAN(mass, kwh * machine->carbon_intensity));
    double price = kwh * machine->price;
    if (price >= 0.005)
        append(words, size, "   %.2f %s", price, machine->currency);
    else if (price > 0)
        append(words, size, "   under 0.01 %s", machine->currency);
}

static void add_energy(const struct gt_usage *usage, struct gt_brief *brief)
{
    char words[TEXT] = "";
    double joules = gt_usage_final(usage, GT_SCOPE_COMBINED, GT_ENERGY);
    if (!(joules > 0))
        return;
    add_energy_error(usage, joules, words, sizeof words);
    if (gt_display_unit_is_estimated(GT_ENERGY, usage->machine))
        append(words, sizeof words, ", estimated");
    add_energy_parts(usage, joules, words, sizeof words);
    add_energy_cost(usage->machine, joules, words, sizeof words);
    gt_brief_line(brief, "energy", GT_HUMAN(energy, joules), NULL, "%s", words + strspn(words, " ,"));
}

/* The largest process but those that are named already; NULL: there is none. */
static const struct gt_process_record *next_largest(const struct gt_process_records *records,
                                                    const struct gt_process_record *const *named, size_t count)
{
    const struct gt_process_record *largest = NULL;
    for (size_t i = 0; i < records->count; i++) {
        const struct gt_process_record *record = &records->record[i];
        bool is_named = false;
        for (size_t k = 0; k < count; k++)
            is_named |= named[k] == record;
        if (!is_named && *record->name && record->ram_peak > (largest ? largest->ram_peak : 0))
            largest = record;
    }
    return largest;
}

/* Each has all of the pages that it shares, as forked workers do with their parent: then the two are more than the job. */
static bool have_shared(const struct gt_usage *usage, const struct gt_process_record *one,
                        const struct gt_process_record *other)
{
    bool is_at_one_time = !(one->begin >= other->end) && !(other->begin >= one->end); /* NaN: it lives */
    double peak = gt_usage_peak(usage);
    bool is_large = other->ram_peak > peak / 4; /* every small process has libraries that others have, too */
    return is_at_one_time && is_large && one->ram_peak + other->ram_peak > 1.05 * peak;
}

static void name_largest(const struct gt_usage *usage, char *words, size_t size)
{
    const struct gt_process_record *named[NAMED];
    size_t count = 0;
    while (count < NAMED && (named[count] = next_largest(&usage->outcome->records, named, count))) {
        append(words, size, "%s%s %s", count ? ", " : "", named[count]->name, GT_HUMAN(bytes, named[count]->ram_peak));
        count++;
    }
    if (count == NAMED && have_shared(usage, named[0], named[1]))
        append(words, size, ", partly shared");
}

static void add_processes(const struct gt_usage *usage, struct gt_brief *brief)
{
    enum { ROOM = 66 };
    char words[TEXT] = "", count[TEXT];
    double all = gt_usage_final(usage, GT_SCOPE_COMBINED, GT_PROCESSES_STARTED);
    double most = gt_usage_final(usage, GT_SCOPE_COMBINED, GT_PROCESSES_PEAK);
    if (!(all > 1) || !(most >= 1))
        return;
    name_largest(usage, words, sizeof words);
    snprintf(count, sizeof count, "   %.0f processes, %.0f at one time", all, most);
    bool fits = *words && strlen(words) + strlen(count) <= ROOM;
    if (*words)
        gt_brief_line(brief, "biggest", NULL, NULL, "%s%s", words, fits ? count : "");
    if (!fits)
        gt_brief_line(brief, "processes", NULL, NULL, "%.0f, %.0f at one time", all, most);
}

/* As a shell has to be given it. */
static void quote(char *ret, size_t size, const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./%+=:@,-";
    struct gt_buffer quoted = {0};
    bool is_plain = strspn(path, plain) == strlen(path);
    gt_buffer_text(&quoted, is_plain ? "" : "'");
    for (const char *at = path; *at; at++)
        if (*at == '\'')
            gt_buffer_text(&quoted, "'\\''");
        else
            gt_buffer_char(&quoted, *at);
    gt_buffer_text(&quoted, is_plain ? "" : "'");
    snprintf(ret, size, "%s", quoted.data ? quoted.data : path);
    gt_buffer_release(&quoted);
}

/* Get the folder in which the other ranks of a job have their recordings, too; false where it is not told. */
static bool folder_of_ranks(const struct gt_usage *usage, char *ret, size_t size)
{
    const char *slash = usage->recording && !usage->address ? strrchr(usage->recording, '/') : NULL;
    if (usage->machine->world < 2 || !slash || slash == usage->recording)
        return false;
    return snprintf(ret, size, "%.*s", (int)(slash - usage->recording), usage->recording) < (int)size;
}

/* If a scheduler is asked, or a limit hid the need. One rank of several has no request of its own: the job has one. */
static void add_request(const struct gt_usage *usage, struct gt_brief *brief)
{
    struct gt_next_time next;
    char folder[4096], path[4096 + 2], whole[sizeof path + 80];
    if (usage->machine->world > 1) {
        if (*usage->machine->scheduler && folder_of_ranks(usage, folder, sizeof folder)) {
            quote(path, sizeof path, folder);
            snprintf(whole, sizeof whole, "request for the whole job: gpu-tracker report %s --request %s", path,
                     usage->machine->scheduler);
            gt_brief_request(brief, whole, NULL);
        }
        return;
    }
    struct gt_buffer heading = {0}, doubt = {0}, request = {0};
    gt_next_time_init(&next);
    gt_next_time_add(&next, usage);
    gt_next_time_doubt(&doubt, &next);
    if (doubt.data)
        gt_buffer_printf(&heading, "next time: %s. Try", doubt.data);
    else
        gt_buffer_text(&heading, "next time, from this one run:");
    if (gt_next_time_request(&request, &next, usage->machine->scheduler) < 0)
        gt_next_time_try(&request, &next);
    if (request.data && heading.data)
        gt_brief_request(brief, heading.data, request.data);
    gt_buffer_release(&heading);
    gt_buffer_release(&doubt);
    gt_buffer_release(&request);
}

/* The recording may have been removed, with its folder, while it was written. */
static void add_more(const struct gt_usage *usage, struct gt_brief *brief)
{
    char path[4096], folder[4096], more[sizeof path + TEXT];
    bool is_of_ranks = folder_of_ranks(usage, folder, sizeof folder);
    const char *place = is_of_ranks ? folder : usage->address ? usage->address : usage->recording;
    bool is_there = place && *place && (is_of_ranks || usage->address || access(place, F_OK) == 0);
    if (is_there)
        quote(path, sizeof path, place);
    if (is_of_ranks)
        snprintf(more, sizeof more, "all ranks: gpu-tracker report %s", path);
    else if (is_there)
        snprintf(more, sizeof more, "all values: gpu-tracker report %s -o run.html", path);
    else
        snprintf(more, sizeof more, "all values: with -o run.html or --tracking-file run.sqlite");
    gt_brief_more(brief, more);
}

static void add_warnings(const struct gt_usage *usage, struct gt_brief *brief)
{
    struct gt_warning warning[GT_WARNINGS];
    size_t count = gt_warnings(usage, warning);
    for (size_t i = 0; i < count; i++) {
        struct gt_brief_item *item = gt_brief_warning(brief, warning[i].detail, NULL, "%s", warning[i].sentence);
        if (item)
            item->is_remark = warning[i].is_of_others;
    }
}

void gt_usage_brief(const struct gt_usage *usage, struct gt_node *root)
{
    char outcome[200];
    struct gt_block_brief blocks;
    const char *command = *usage->machine->command ? usage->machine->command : "(command not known)";
    bool is_short = usage->outcome->elapsed < GT_BRIEF_SHORTEST;
    describe_outcome(usage, outcome, sizeof outcome);
    if (is_short && !isnan(gt_usage_peak(usage)))
        append(outcome, sizeof outcome, ", %s", GT_HUMAN(bytes, gt_usage_peak(usage)));
    bool is_alarm = gt_usage_out_of_memory(usage) != GT_MEMORY_SUFFICED;
    struct gt_brief *brief = gt_brief_add(root, command, outcome, is_alarm);
    add_warnings(usage, brief);
    if (is_short)
        return;
    add_memory(usage, brief);
    add_cores(usage, brief);
    add_gpus(usage, brief);
    add_storage(usage, brief);
    add_energy(usage, brief);
    add_processes(usage, brief);
    gt_block_brief(&blocks, usage);
    if (*blocks.shares)
        gt_brief_line(brief, "blocks", NULL, NULL, "%s", blocks.shares);
    add_request(usage, brief);
    add_more(usage, brief);
}
