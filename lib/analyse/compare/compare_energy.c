#include <errno.h>
#include <math.h>

#include "analyse/compare/compare_parts.h"

static const struct {
    const char *key, *title; /* as the results have them */
} devices[] = {{"cpu", "CPU packages"}, {"dram", "DRAM"}, {"gpu", "GPUs"}, {"total", "All"}};

static const struct {
    const char *key, *title, *unit;
} costs[] = {{"carbon", "CO2 equivalent (grams)", "grams"}, {"price", "Price", NULL}};

enum { DEVICES = sizeof devices / sizeof *devices, TOTAL = DEVICES - 1 };

struct gt_figure gt_compare_job_energy(const char *device)
{
    return device ? (struct gt_figure){.keys = {"energy", device, "job"}}
                  : (struct gt_figure){.keys = {"energy", "job"}};
}

struct gt_figure gt_compare_block_energy(const struct gt_slot *slot, const char *device)
{
    return (struct gt_figure){.slot = slot, .keys = {"energy", device, "energy"}};
}

static bool is_known(const struct gt_comparison *comparison, const struct gt_figure *figure)
{
    for (size_t i = 0; i < comparison->sessions; i++)
        if (!isnan(gt_compare_value(comparison, figure, i, NULL)))
            return true;
    return false;
}

static bool session_is_estimated(const struct gt_comparison *comparison, size_t session)
{
    bool any = false;
    for (size_t i = 0; i < comparison->runs; i++)
        if (comparison->session_of_run[i] == session)
            any |= gt_json_is_text(gt_json_member(gt_json_member(comparison->run[i], "energy"), "estimated"));
    return any;
}

bool gt_compare_is_estimated(const struct gt_comparison *comparison)
{
    bool any = false;
    for (size_t i = 0; i < comparison->sessions; i++)
        any |= session_is_estimated(comparison, i);
    return any;
}

/* Which sessions' energy is measured, where some is not. */
static void add_certainty(struct gt_node *root, const struct gt_comparison *comparison)
{
    struct gt_node *rows = gt_report_section(root, "energy_certainty", "Energy Is");
    for (size_t i = 0; i < comparison->sessions; i++)
        gt_report_text(rows, comparison->session[i].name, comparison->session[i].name,
                       session_is_estimated(comparison, i) ? "estimated" : "measured");
}

static int add_jobs(struct gt_node *root, const struct gt_comparison *comparison)
{
    struct gt_node *rows = gt_report_section(
        root, "energy", gt_compare_is_estimated(comparison) ? "Energy (joules, estimated)" : "Energy (joules)");
    struct gt_node *differences = gt_compare_differences(root, "energy_differences", "Energy Differences", false);
    int status = 0;
    for (int i = 0; i < DEVICES && status == 0; i++) {
        struct gt_figure figure = gt_compare_job_energy(i == TOTAL ? NULL : devices[i].key);
        if (!is_known(comparison, &figure))
            continue;
        status |= gt_compare_row(rows, devices[i].key, devices[i].title, comparison, &figure, 0);
        status |= gt_compare_difference(differences, comparison, &figure, devices[i].key, "joules");
    }
    for (size_t i = 0; i < sizeof costs / sizeof *costs && status == 0; i++) {
        struct gt_figure figure = {.keys = {"energy", costs[i].key}};
        if (!is_known(comparison, &figure))
            continue;
        status |= gt_compare_row(rows, costs[i].key, costs[i].title, comparison, &figure, 0);
        status |= gt_compare_difference(differences, comparison, &figure, costs[i].key, costs[i].unit);
    }
    if (!gt_table_rows(differences))
        gt_node_flags(differences, GT_ONLY_DATA);
    return status;
}

static int add_blocks(struct gt_node *root, const struct gt_comparison *comparison)
{
    struct gt_node *rows = gt_report_section(
        root, "code_block_energy",
        gt_compare_is_estimated(comparison) ? "Code Block Energy (joules, estimated)" : "Code Block Energy (joules)");
    struct gt_node *differences = gt_compare_differences(root, "code_block_energy_differences",
                                                         "Code Block Energy Differences", true);
    int status = 0;
    for (size_t i = 0; i < comparison->slots && status == 0; i++) {
        const struct gt_slot *slot = &comparison->slot[i];
        struct gt_figure total = gt_compare_block_energy(slot, devices[TOTAL].key);
        if (!is_known(comparison, &total))
            continue;
        status |= gt_compare_row(rows, slot->label, slot->label, comparison, &total, 0);
        for (int k = 0; k < DEVICES && status == 0; k++) {
            struct gt_figure figure = gt_compare_block_energy(slot, devices[k].key);
            status |= gt_compare_difference(differences, comparison, &figure, devices[k].key, "joules");
        }
    }
    gt_node_flags(differences, GT_ONLY_DATA);
    return status;
}

/* Joules of a part of the time look like savings. */
static void tell_partial(const struct gt_comparison *comparison, const struct gt_figure *figure)
{
    for (size_t i = 0; i < comparison->sessions; i++) {
        double percent = gt_compare_session_covered(comparison, figure, i);
        if (percent < 100)
            gt_compare_warn(
                comparison, "session \"%s\": energy was measured for %.3g %% of the time only%s",
                comparison->session[i].name, percent,
                comparison->options->allow_partial ? "" : "; it is left out (--allow-partial compares it as it is)");
    }
}

int gt_compare_energy(struct gt_node *root, const struct gt_comparison *comparison)
{
    struct gt_figure all = gt_compare_job_energy(NULL);
    tell_partial(comparison, &all);
    if (!is_known(comparison, &all))
        return 0;
    int status = add_jobs(root, comparison);
    if (gt_compare_is_estimated(comparison))
        add_certainty(root, comparison);
    if (comparison->slots)
        status |= add_blocks(root, comparison);
    return status ? -ENOMEM : 0;
}
