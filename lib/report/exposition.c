#include "report/exposition.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"

/* Scopes in the order of the text, and their names in it. */
static const struct {
    enum gt_scope scope;
    const char *name;
} scopes[] = {{GT_SCOPE_SYSTEM, "system"}, {GT_SCOPE_COMBINED, "job"}, {GT_SCOPE_GPU, "gpu"}};
enum { SCOPES = sizeof scopes / sizeof *scopes };

/* Counts and bits have no unit. */
static const char *unit_of(const struct gt_metric *metric)
{
    return metric->unit == GT_COUNT || metric->unit == GT_BITS ? NULL : gt_unit_name(metric->unit);
}

static const char *type_of(const struct gt_metric *metric)
{
    return metric->kind == GT_COUNTER ? "counter" : "gauge";
}

static bool ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);
    return length > tail && text[length - tail - 1] == '_' && !strcmp(text + length - tail, suffix);
}

enum { NAME_SIZE = 96 };

/* The name is without _total: "gpu_tracker_job_cpu_time_seconds". */
static void put_name(char text[NAME_SIZE], enum gt_scope scope, const struct gt_metric *metric)
{
    const char *name = metric->name, *unit = unit_of(metric), *prefix = "";
    for (int i = 0; i < SCOPES; i++)
        if (scopes[i].scope == scope)
            prefix = scopes[i].name;
    size_t length = strlen(prefix);
    bool is_said = !strncmp(name, prefix, length) && name[length] == '_'; /* gpu_ram of a GPU */
    bool has_unit = unit && !ends_with(name, unit);
    snprintf(text, NAME_SIZE, "gpu_tracker_%s%s%s%s%s", is_said ? "" : prefix, is_said ? "" : "_", name,
             has_unit ? "_" : "", has_unit ? unit : "");
}

/* Quotes need no escape in the help of the older form, and may not have one there. */
static void escape(struct gt_buffer *out, const char *text, bool quotes)
{
    for (const char *at = text; *at;) {
        int length = gt_utf8_length(at);
        if (length == 0)
            gt_buffer_text(out, "\xef\xbf\xbd");
        else if (*at == '\n')
            gt_buffer_text(out, "\\n");
        else if (*at == '\\' || (*at == '"' && quotes))
            gt_buffer_printf(out, "\\%c", *at);
        else
            gt_buffer_append(out, at, (size_t)length);
        at += length ? length : 1;
    }
}

void gt_exposition_label(struct gt_buffer *labels, const char *name, const char *value)
{
    if (!*value)
        return;
    gt_buffer_printf(labels, "%s%s=\"", labels->length ? "," : "", name);
    escape(labels, value, true);
    gt_buffer_char(labels, '"');
}

/* Returns the end of a sample's name, behind the family's. */
static const char *suffix_of(const char *type)
{
    return !strcmp(type, "counter") ? "_total" : !strcmp(type, "info") ? "_info" : "";
}

void gt_exposition_family(struct gt_buffer *out, enum gt_exposition form, const char *name, const char *type,
                          const char *unit, const char *help)
{
    bool is_new = form == GT_EXPOSITION_OPENMETRICS;
    const char *suffix = is_new ? "" : suffix_of(type); /* the older form knows samples, not families */
    gt_buffer_printf(out, "# TYPE %s%s %s\n", name, suffix, !is_new && !strcmp(type, "info") ? "gauge" : type);
    if (is_new && unit)
        gt_buffer_printf(out, "# UNIT %s %s\n", name, unit);
    gt_buffer_printf(out, "# HELP %s%s ", name, suffix);
    escape(out, help, is_new);
    gt_buffer_char(out, '\n');
}

void gt_exposition_sample(struct gt_buffer *out, const char *name, const char *type, const char *labels, double value)
{
    char number[GT_NUMBER_SIZE];
    gt_number_repr(number, value);
    gt_buffer_text(out, name);
    gt_buffer_text(out, suffix_of(type));
    if (*labels) {
        gt_buffer_char(out, '{');
        gt_buffer_text(out, labels);
        gt_buffer_char(out, '}');
    }
    gt_buffer_char(out, ' ');
    gt_buffer_text(out, number);
    gt_buffer_char(out, '\n');
}

/* Number `id` of the metrics, or of the capacities. */
static void write_family(struct gt_buffer *out, enum gt_exposition form, enum gt_scope scope, int id, bool is_capacity,
                         const struct gt_exposition_row *rows, size_t count)
{
    const struct gt_metric *metric = is_capacity ? &gt_capacities[id] : &gt_metrics[id];
    char name[NAME_SIZE];
    bool is_begun = false;
    for (size_t i = 0; i < count; i++) {
        double value = is_capacity ? rows[i].capacity[id] : rows[i].value[id];
        if (rows[i].scope != scope || !isfinite(value) || (is_capacity && !(value > 0 && metric->scopes & 1u << scope)))
            continue;
        if (!is_begun) {
            put_name(name, scope, metric);
            gt_exposition_family(out, form, name, type_of(metric), unit_of(metric), metric->help);
        }
        is_begun = true;
        gt_exposition_sample(out, name, type_of(metric), rows[i].labels, value);
    }
}

void gt_exposition_metrics(struct gt_buffer *out, enum gt_exposition form, const struct gt_exposition_row *rows,
                           size_t count)
{
    for (int i = 0; i < SCOPES; i++) {
        for (int metric = 0; metric < GT_METRIC_COUNT; metric++)
            write_family(out, form, scopes[i].scope, metric, false, rows, count);
        for (int capacity = 0; capacity < GT_CAPACITY_COUNT; capacity++)
            write_family(out, form, scopes[i].scope, capacity, true, rows, count);
    }
}

void gt_exposition_end(struct gt_buffer *out, enum gt_exposition form)
{
    if (form == GT_EXPOSITION_OPENMETRICS)
        gt_buffer_text(out, "# EOF\n");
}
