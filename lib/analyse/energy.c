#include "analyse/energy.h"

#include <stdio.h>
#include <string.h>

#include "aggregate/attribute.h"
#include "analyse/display.h"

static const struct {
    const char *key, *title;
} parts[GT_ENERGY_PARTS] = {
    [GT_ENERGY_TOTAL] = {"total", "Device total"},
    [GT_ENERGY_JOB] = {"job", "This tree"},
    [GT_ENERGY_OTHER] = {"other", "Other processes"},
    [GT_ENERGY_IDLE] = {"idle", "Idle"},
    [GT_ENERGY_UNATTRIBUTED] = {"unattributed", "Unattributed"},
};

static const struct {
    const char *key, *title;
} devices[GT_ENERGY_DEVICES] = {
    [GT_ENERGY_CPU] = {"cpu", "CPU packages"},
    [GT_ENERGY_DRAM] = {"dram", "DRAM"},
    [GT_ENERGY_GPU] = {"gpu", "GPUs"},
};

static const double JOULES_PER_KWH = 3.6e6;

/* ---- the whole run ---- */

static double value_of(const struct gt_energy_figures *figures, enum gt_energy_device device, enum gt_energy_part part)
{
    return gt_energy_part(&figures->end->device[device], part);
}

static bool is_divided(const struct gt_energy_figures *figures, enum gt_energy_device device)
{
    return gt_energy_is_divided(&figures->end->device[device]);
}

static bool is_estimated(const struct gt_energy_figures *figures, enum gt_energy_device device)
{
    return gt_energy_is_estimated(&figures->machine->energy_source[device]);
}

/* The part of the time of which it is known what the device drew. */
static double covered(const struct gt_energy_figures *figures, enum gt_energy_device device)
{
    double missing = figures->end->missing[device];
    return missing > 0 ? fmax(0, 1 - missing / figures->seconds) : 1;
}

static double error_of(const struct gt_energy_figures *figures, enum gt_energy_device device, bool of_job)
{
    const struct gt_energy_run run = {
        .source = &figures->machine->energy_source[device],
        .counter = figures->outcome ? &figures->outcome->counter[device] : NULL,
        .device = device,
        .end = figures->end,
        .seconds = figures->seconds,
        .period = figures->machine->period,
    };
    return gt_energy_run_error(&run, of_job);
}

double gt_energy_job_error(const struct gt_energy_figures *figures)
{
    double sum = NAN;
    for (int device = 0; device < GT_ENERGY_DEVICES; device++) {
        double error = error_of(figures, device, true);
        if (is_divided(figures, device))
            sum = isnan(sum) ? error : sum + error;
        if (is_divided(figures, device) && isnan(error))
            return NAN;
    }
    return sum;
}

double gt_energy_known_part(const struct gt_energy_figures *figures)
{
    double least = 1;
    for (int device = 0; device < GT_ENERGY_DEVICES; device++)
        if (!isnan(value_of(figures, device, GT_ENERGY_TOTAL)) || figures->end->missing[device] > 0)
            least = fmin(least, covered(figures, device));
    return least;
}

static void add_errors(const struct gt_energy_figures *figures, struct gt_node *line, enum gt_energy_device device,
                       bool is_known)
{
    bool is_cpu = device == GT_ENERGY_CPU;
    double placement = is_cpu ? figures->end->placement_error : NAN, share = is_cpu ? figures->end->share_error : NAN;
    gt_report_number(line, "error", "Uncertainty of the total (+-)", error_of(figures, device, false), "joules");
    gt_report_number(line, "job_error", "Uncertainty of this tree (+-)",
                     is_known ? error_of(figures, device, true) : NAN, "joules");
    if (!isnan(share))
        gt_report_number(line, "share_error", "Of it, for clock ticks and who takes turns (+-)", share, "joules");
    if (!isnan(placement))
        gt_report_number(line, "placement_error", "Of it, for packages that are not known (+-)", placement, "joules");
}

static void describe_gap(const struct gt_energy_figures *figures, enum gt_energy_device device, char *text, size_t size)
{
    const struct gt_counter_fields *counter = figures->outcome ? &figures->outcome->counter[device] : NULL;
    static const struct gt_gap none = {NAN, NAN, NAN, NAN, NAN, NAN};
    gt_gap_describe(counter ? &counter->gap : &none, text, size);
}

/* "for 51 % of the time: from 12.3 s on: its counter could not be read" */
static void add_coverage(const struct gt_energy_figures *figures, struct gt_node *line, enum gt_energy_device device)
{
    double part = covered(figures, device);
    char text[220], gap[140];
    describe_gap(figures, device, gap, sizeof gap);
    gt_node_flags(gt_report_number(line, "covered", "Measured for", 100 * part, "percent"), GT_ONLY_DATA);
    if (part < 1)
        gt_node_flags(gt_report_text(line, "gap", "Not known", *gap ? gap : NULL), GT_ONLY_DATA);
    snprintf(text, sizeof text, "for %.3g %% of the time%s%s", 100 * part, *gap ? "; not known " : "", gap);
    if (part < 1)
        gt_node_flags(gt_report_text(line, "partial", "Measured", text), GT_ONLY_PEOPLE);
}

/* Adds what the source says against the figure: "counter 900 J, power added up 1500 J in 5 s: they disagree, ..." */
static void add_contradiction(const struct gt_energy_figures *figures, struct gt_node *line,
                              enum gt_energy_device device)
{
    size_t count = figures->outcome ? figures->outcome->provenance_count : 0;
    for (size_t i = 0; i < count; i++) {
        const struct gt_provenance *entry = &figures->outcome->provenance[i];
        const char *said = strstr(entry->note, "disagree");
        if (entry->scope != GT_SCOPE_SYSTEM || entry->metric != gt_energy_metrics[device] || !said)
            continue;
        while (said > entry->note && said[-1] != ';')
            said--;
        char clause[sizeof entry->note];
        said += strspn(said, " ");
        snprintf(clause, sizeof clause, "%.*s", (int)strcspn(said, ";"), said);
        gt_report_text(line, "contradiction", "But", clause);
    }
}

static void add_method(const struct gt_machine *machine, struct gt_node *line, enum gt_energy_device device)
{
    char text[300];
    bool is_one = device == GT_ENERGY_CPU && *machine->cpu_packages_missing;
    snprintf(text, sizeof text, "%s%s%s", gt_energy_method(device, machine->cpu_packages > 0),
             is_one ? "; several packages count as one: " : "", is_one ? machine->cpu_packages_missing : "");
    gt_report_text(line, "method", "Share of this tree", text);
}

static double add_device(const struct gt_energy_figures *figures, struct gt_node *section, enum gt_energy_device device)
{
    const struct gt_energy_source *source = &figures->machine->energy_source[device];
    struct gt_node *line = gt_report_section(section, devices[device].key, devices[device].title);
    bool is_known = is_divided(figures, device), is_measured = !isnan(value_of(figures, device, GT_ENERGY_TOTAL));
    for (int part = 0; part < GT_ENERGY_PARTS; part++) {
        double value = is_known || part == GT_ENERGY_TOTAL ? value_of(figures, device, part) : NAN;
        gt_report_number(line, parts[part].key, parts[part].title, value, "joules");
    }
    add_errors(figures, line, device, is_known);
    if (is_measured || figures->end->missing[device] > 0)
        add_coverage(figures, line, device);
    gt_report_text(line, "source", "Source", is_measured && *source->name ? source->name : NULL);
    gt_node_flags(gt_report_text(line, "certainty", "Certainty",
                                 !is_measured                    ? NULL
                                 : is_estimated(figures, device) ? "estimated, not measured"
                                                                 : "measured"),
                  is_estimated(figures, device) ? 0 : GT_ONLY_DATA);
    add_contradiction(figures, line, device);
    gt_report_number(line, "refresh", "Counter refresh", source->refresh > 0 ? source->refresh : NAN, "seconds");
    if (is_known)
        add_method(figures->machine, line, device);
    else
        gt_report_text(line, "method", "Share of this tree", NULL);
    if (!is_measured)
        gt_node_flags(line, GT_ONLY_DATA);
    return is_known ? value_of(figures, device, GT_ENERGY_JOB) : NAN;
}

/* ---- packages ---- */

static const struct {
    enum gt_package_figure figure;
    const char *title, *unit;
} package_columns[] = {
    {GT_PACKAGE_TOTAL, "Total", "joules"},
    {GT_PACKAGE_JOB, "This tree", "joules"},
    {GT_PACKAGE_OTHER, "Other processes", "joules"},
    {GT_PACKAGE_IDLE, "Idle", "joules"},
    {GT_PACKAGE_UNATTRIBUTED, "Unattributed", "joules"},
    {GT_PACKAGE_CORE, "Its cores", "joules"},
    {GT_PACKAGE_UNCORE, "Its graphics unit", "joules"},
    {GT_PACKAGE_DRAM, "DRAM", "joules"},
    {GT_PACKAGE_BUSY_TIME, "Busy", "seconds"},
    {GT_PACKAGE_JOB_TIME, "Busy for this tree", "seconds"},
    {GT_PACKAGE_BOUND_TIME, "Bound to it", "seconds"},
};
enum { PACKAGE_COLUMNS = sizeof package_columns / sizeof *package_columns };

static bool has_figure(const struct gt_outcome *outcome, enum gt_package_figure figure)
{
    for (size_t i = 0; i < outcome->package_count; i++)
        if (!isnan(outcome->package[i].value[figure]))
            return true;
    return false;
}

static void add_packages(const struct gt_outcome *outcome, struct gt_node *section)
{
    struct gt_table *table = gt_report_table(section, "packages", "CPU packages, each on its own");
    gt_table_column(table, "package", "Package", GT_CELL_INTEGER, NULL);
    for (int i = 0; i < PACKAGE_COLUMNS; i++)
        if (has_figure(outcome, package_columns[i].figure))
            gt_table_column(table, gt_package_figure_names[package_columns[i].figure], package_columns[i].title,
                            GT_CELL_NUMBER, package_columns[i].unit);
    for (size_t k = 0; k < outcome->package_count; k++) {
        gt_table_integer(table, outcome->package[k].number);
        for (int i = 0; i < PACKAGE_COLUMNS; i++)
            if (has_figure(outcome, package_columns[i].figure))
                gt_table_number(table, outcome->package[k].value[package_columns[i].figure]);
    }
}

static const char *currency_of(const struct gt_machine *machine)
{
    return *machine->currency ? machine->currency : NULL;
}

static void add_cost(const struct gt_machine *machine, struct gt_node *section, double joules)
{
    double kwh = joules / JOULES_PER_KWH;
    gt_report_number(section, "job", "This tree in all", joules, "joules");
    if (machine->carbon_intensity > 0) {
        gt_node_flags(gt_report_number(section, "carbon", "CO2 equivalent of this tree",
                                       kwh * machine->carbon_intensity, "grams"),
                      GT_BRIEF);
        gt_report_number(section, "carbon_intensity", "CO2 equivalent of a kWh", machine->carbon_intensity, "grams");
        gt_report_text(section, "carbon_source", "CO2 equivalent from",
                       *machine->carbon_source ? machine->carbon_source : "given by the user");
    }
    if (machine->price > 0)
        gt_node_flags(gt_report_number(section, "price", "Price of this tree's energy", kwh * machine->price,
                                       currency_of(machine)),
                      GT_BRIEF);
}

/* All devices together are known no better than the one that is known the least. */
static void add_partial(struct gt_node *section, double part)
{
    char text[80];
    gt_node_flags(gt_report_number(section, "covered", "Measured for", 100 * part, "percent"), GT_ONLY_DATA);
    if (!(part < 1))
        return;
    snprintf(text, sizeof text, "%.3g %% of the time", 100 * part);
    gt_node_flags(gt_report_text(section, "partial", "This tree in all is for", text), GT_ONLY_PEOPLE);
}

/* "CPU packages: 120.0 J = 80.0 J this tree + 30.0 J other processes + 10.0 J idle + 0.0 J unattributed" */
static void add_conservation(const struct gt_energy_figures *figures, struct gt_node *section)
{
    struct gt_node *lines = gt_report_section(section, "conservation", "Conservation");
    bool any = false;
    for (int device = 0; device < GT_ENERGY_DEVICES; device++) {
        double v[GT_ENERGY_PARTS];
        char text[200];
        for (int part = 0; part < GT_ENERGY_PARTS; part++)
            v[part] = value_of(figures, device, part);
        if (!is_divided(figures, device))
            continue;
        double apart = v[GT_ENERGY_TOTAL] - v[GT_ENERGY_JOB] - v[GT_ENERGY_OTHER] - v[GT_ENERGY_IDLE] -
                       v[GT_ENERGY_UNATTRIBUTED];
        snprintf(text, sizeof text,
                 "%.3f J = %.3f J this tree + %.3f J other processes + %.3f J idle + %.3f J unattributed%s%s%s",
                 v[GT_ENERGY_TOTAL], v[GT_ENERGY_JOB], v[GT_ENERGY_OTHER], v[GT_ENERGY_IDLE], v[GT_ENERGY_UNATTRIBUTED],
                 fabs(apart) > 1e-6 * v[GT_ENERGY_TOTAL] + 1e-6 ? " (does not add up)" : "",
                 is_estimated(figures, device) ? " (estimated)" : "",
                 covered(figures, device) < 1 ? " (of a part of the time)" : "");
        gt_report_text(lines, devices[device].key, devices[device].title, text);
        any = true;
    }
    if (!any)
        gt_node_flags(lines, GT_ONLY_DATA);
}

static void tell_why_not(const struct gt_energy_figures *figures, struct gt_node *root, struct gt_node *section)
{
    char text[300], gap[140] = "", why[200] = "";
    for (int device = 0; device < GT_ENERGY_DEVICES && !*why; device++)
        if (figures->end->missing[device] > 0 && (describe_gap(figures, device, gap, sizeof gap), *gap))
            snprintf(why, sizeof why, "%s not known %s", devices[device].title, gap);
    const char *reason = *why ? why : figures->reason;
    snprintf(text, sizeof text, "n/a: %s", reason ? reason : "not measured");
    gt_node_flags(section, GT_ONLY_DATA);
    gt_report_text(section, "reason", "Reason", reason);
    gt_node_flags(gt_report_text(root, "energy_missing", "Energy", text), GT_ONLY_PEOPLE);
}

void gt_energy_section(struct gt_node *root, const struct gt_energy_figures *figures)
{
    struct gt_node *section = gt_report_section(root, "energy", "Energy");
    const char *policy = figures->machine->idle_policy;
    double job = NAN, platform = figures->end->platform;
    double wall = figures->end->wall;
    bool any = !isnan(platform) || !isnan(wall), estimates = false;
    for (int device = 0; device < GT_ENERGY_DEVICES; device++) {
        double joules = add_device(figures, section, device);
        bool is_measured = !isnan(value_of(figures, device, GT_ENERGY_TOTAL));
        any |= is_measured;
        estimates |= is_estimated(figures, device) && is_measured;
        job = isnan(job) ? joules : isnan(joules) ? job : job + joules;
    }
    struct gt_node *whole = gt_report_number(section, "platform", "Whole platform, processors included", platform,
                                             "joules");
    gt_node_flags(whole, isnan(platform) ? GT_ONLY_DATA : 0);
    double error = figures->outcome && !isnan(platform) ? figures->outcome->platform_error : NAN;
    whole = gt_report_number(section, "platform_error", "Uncertainty of the platform (+-)", error, "joules");
    gt_node_flags(whole, isnan(error) ? GT_ONLY_DATA : 0);
    whole = gt_report_number(section, "wall", "At the wall, by an external meter", wall, "joules");
    gt_node_flags(whole, isnan(wall) ? GT_ONLY_DATA : 0);
    if (estimates)
        gt_report_text(section, "estimated", "This tree in all rests on", "estimates, not measurements");
    add_partial(section, isnan(job) ? NAN : gt_energy_known_part(figures));
    add_cost(figures->machine, section, job);
    gt_report_text(section, "idle_policy", "Idle energy", *policy ? policy : NULL);
    if (figures->parts)
        gt_report_text(section, "parts", "Parts of the run by", figures->parts);
    add_conservation(figures, section);
    if (figures->outcome && figures->outcome->package_count)
        add_packages(figures->outcome, section);
    if (!any)
        tell_why_not(figures, root, section);
}

/* ---- parts of a run ---- */

void gt_energy_columns(struct gt_table *table, const struct gt_machine *machine, unsigned marks)
{
    gt_table_column(table, "energy", "Energy", GT_CELL_NUMBER, "joules");
    gt_table_column(table, "energy_error", "Energy +-", GT_CELL_NUMBER, "joules");
    if (marks & GT_ENERGY_IS_ESTIMATED)
        gt_table_column(table, "energy_certainty", "Energy is", GT_CELL_TEXT, NULL);
    if (marks & GT_ENERGY_IS_PARTIAL)
        gt_table_column(table, "energy_covered", "Of the time", GT_CELL_NUMBER, "percent");
    if (machine->carbon_intensity > 0)
        gt_table_column(table, "carbon", "CO2 equivalent", GT_CELL_NUMBER, "grams");
    if (machine->price > 0)
        gt_table_column(table, "price", "Price", GT_CELL_NUMBER, currency_of(machine));
}

void gt_energy_cells(struct gt_table *table, const struct gt_machine *machine, unsigned marks, struct gt_spent spent)
{
    double kwh = spent.joules / JOULES_PER_KWH;
    GT_CELLS(table, spent.joules, spent.error);
    if (marks & GT_ENERGY_IS_ESTIMATED)
        gt_table_text(table, isnan(spent.joules) ? NULL : spent.is_estimated ? "estimated" : "measured");
    if (marks & GT_ENERGY_IS_PARTIAL)
        gt_table_number(table, isnan(spent.joules) ? NAN : 100 * (1 - spent.missing));
    if (machine->carbon_intensity > 0)
        gt_table_number(table, kwh * machine->carbon_intensity);
    if (machine->price > 0)
        gt_table_number(table, kwh * machine->price);
}

struct gt_spent gt_energy_sum(const struct gt_spent spent[GT_ENERGY_DEVICES])
{
    struct gt_spent sum = {.joules = NAN, .error = NAN};
    for (int device = 0; device < GT_ENERGY_DEVICES; device++)
        gt_spent_add(&sum, spent[device]);
    return sum;
}

struct gt_table *gt_energy_table(struct gt_node *parent, const struct gt_machine *machine,
                                 const struct gt_spent spent[GT_ENERGY_DEVICES], bool by_cpu_time)
{
    struct gt_spent sum = gt_energy_sum(spent);
    unsigned marks = (sum.is_estimated ? GT_ENERGY_IS_ESTIMATED : 0u) | (sum.missing > 0 ? GT_ENERGY_IS_PARTIAL : 0u);
    if (isnan(sum.joules))
        return NULL;
    struct gt_table *table = gt_report_table(parent, "energy", "Energy");
    gt_table_flags(table, GT_KEYED);
    gt_table_column(table, "device", "", GT_CELL_TEXT, NULL);
    gt_energy_columns(table, machine, marks);
    gt_table_column(table, "method", "Method", GT_CELL_TEXT, NULL);
    for (int device = 0; device < GT_ENERGY_DEVICES; device++) {
        if (isnan(spent[device].joules))
            continue;
        gt_table_text(table, devices[device].key);
        gt_energy_cells(table, machine, marks, spent[device]);
        gt_table_text(table, device == GT_ENERGY_CPU && by_cpu_time ? GT_ENERGY_BY_CPU_TIME : GT_ENERGY_BY_TIME);
    }
    gt_table_text(table, "total");
    gt_energy_cells(table, machine, marks, sum);
    gt_table_text(table, NULL);
    return table;
}
