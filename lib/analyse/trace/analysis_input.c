/* Questions that analyses ask of a trace, and tables as they make them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyse/trace/analysis.h"

uint32_t gt_analysis_place(const struct gt_analysis_input *input, uint32_t string)
{
    return string < input->trace->strings.count ? input->place[string] : GT_TRACE_NONE;
}

const char *gt_analysis_text(const struct gt_analysis_input *input, uint32_t place)
{
    return place < input->trace->strings.count ? gt_trace_text(input->trace, input->text[place]) : NULL;
}

uint32_t gt_analysis_node(const struct gt_analysis_input *input, size_t event)
{
    return input->node[gt_trace_process_of(input->trace, event)->file];
}

bool gt_analysis_is_host(const struct gt_analysis_input *input, uint32_t host, uint32_t node)
{
    const char *name = gt_analysis_text(input, host), *other = gt_analysis_text(input, node);
    if (host == node || !name || !other)
        return host == node;
    size_t length = strlen(name), longer = strlen(other);
    if (!length || longer < length + 2)
        return false;
    bool before = strncmp(other, name, length) == 0 && other[length] == '-';
    size_t rest = longer - length - 1;
    const char *id = before ? other + length + 1 : other;
    return (before || (other[rest] == '-' && strcmp(other + rest + 1, name) == 0)) && strspn(id, "0123456789") == rest;
}

enum gt_work gt_analysis_work(const struct gt_analysis_input *input, size_t event)
{
    uint32_t category = input->trace->events.category[event];
    return category < input->trace->strings.count ? (enum gt_work)input->work[category] : GT_WORK_OTHER;
}

bool gt_analysis_is_slice(const struct gt_analysis_input *input, size_t event)
{
    const struct gt_trace_events *events = &input->trace->events;
    return events->phase[event] == 'X' && !(events->flag[event] & GT_TRACE_NO_TIME);
}

double gt_analysis_us(const struct gt_analysis_input *input, int64_t time)
{
    return (double)(time - input->origin) / 1e3;
}

const char *gt_analysis_mode(const char *process)
{
    static const char *const prefixes[] = {"Step:ModeKeys.", "Step:"};
    for (size_t i = 0; process && i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(process, prefixes[i], strlen(prefixes[i])) == 0)
            return process + strlen(prefixes[i]);
    return process;
}

bool gt_analysis_wants_phase(const struct gt_analysis_input *input, const char *name)
{
    const char *const *phase = input->options->phases;
    if (!phase || !*phase)
        return true;
    for (; name && *phase; phase++)
        if (strcmp(*phase, name) == 0 || strcmp(*phase, gt_analysis_mode(name)) == 0)
            return true;
    return false;
}

static const char *take_unit(char *title)
{
    static const char *const units[][2] = {{"_us", "us"}, {"_bytes", "bytes"}, {"_seconds", "s"}, {"_percent", "%"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t length = strlen(title), suffix = strlen(units[i][0]);
        if (length > suffix && strcmp(title + length - suffix, units[i][0]) == 0) {
            title[length - suffix] = '\0';
            return units[i][1];
        }
    }
    return NULL;
}

static void add_column(struct gt_table *table, const char *key, enum gt_cell_kind kind)
{
    char title[64];
    snprintf(title, sizeof title, "%s", key);
    const char *unit = take_unit(title);
    for (char *c = title; *c; c++)
        if (*c == '_')
            *c = ' ';
    gt_table_column(table, key, title, kind, unit);
}

struct gt_table *gt_analysis_table(struct gt_node *parent, const char *key, const char *title, const char *columns)
{
    struct gt_table *table = gt_report_table(parent, key, title);
    char kind[8], name[48];
    int length;
    for (; sscanf(columns, " %7[a-z]:%47[a-z0-9_]%n", kind, name, &length) == 2; columns += length)
        add_column(table, name, *kind == 't' ? GT_CELL_TEXT : *kind == 'i' ? GT_CELL_INTEGER : GT_CELL_NUMBER);
    return table;
}

void gt_analysis_empty(struct gt_node *parent, struct gt_table *table, const char *reason)
{
    if (!table || gt_table_rows(table))
        return;
    gt_table_flags(table, GT_ONLY_DATA);
    gt_report_text(parent, "reason", gt_table_title(parent, table), reason);
}

int gt_analysis_by(const struct gt_analysis_input *input, const char *const *choices, struct gt_error *error)
{
    struct gt_buffer names = {0};
    for (int i = 0; choices[i]; i++) {
        if (!input->options->by || strcmp(choices[i], input->options->by) == 0) {
            gt_buffer_release(&names);
            return i;
        }
        gt_buffer_printf(&names, "%s%s", i ? ", " : "", choices[i]);
    }
    gt_error_set(error, EINVAL, "by '%s': it is one of %s", input->options->by, names.data ? names.data : "");
    gt_buffer_release(&names);
    return -EINVAL;
}
