#include "analyse/compare/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/course.h"
#include "base/number.h"
#include "report/brief.h"
#include "schema/human.h"
#include "store/store.h"

enum { ROWS = 40 };

/* ---- the forest plot: what changed for certain first, then by how much ---- */

struct change {
    const struct gt_compare_line *line;
    size_t session;
    double low, middle, high; /* percent of the baseline */
    bool is_certain, is_judged;
};

static int by_weight(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(y->is_certain, x->is_certain), GT_ORDER(fabs(y->middle), fabs(x->middle)));
}

static bool find_change(const struct gt_comparison *comparison, const struct gt_compare_line *line, size_t session,
                        struct change *ret)
{
    const struct gt_judgement *judgement = &line->judgement[session];
    double baseline = gt_compare_value(comparison, &line->figure, 0, NULL);
    double value = gt_compare_value(comparison, &line->figure, session, NULL), share = 100 / fabs(baseline);
    const char *verdict = gt_compare_verdict(judgement);
    *ret = (struct change){line,
                           session,
                           judgement->low * share,
                           (value - baseline) * share,
                           judgement->high * share,
                           verdict && !strcmp(verdict, "yes"),
                           isfinite(judgement->p)};
    return baseline != 0 && isfinite(ret->middle);
}

static void add_change(struct gt_node *series, const struct gt_comparison *comparison, const struct change *change)
{
    char title[200];
    const char *name = change->line->slot ? change->line->slot->label : "whole job";
    if (comparison->sessions > 2)
        snprintf(title, sizeof title, "%s, %s, %s", name, change->line->title,
                 comparison->session[change->session].name);
    else
        snprintf(title, sizeof title, "%s, %s", name, change->line->title);
    int row = gt_series_line(series, change->line->name, title);
    gt_series_point(series, row, change->low, 0);
    gt_series_point(series, row, change->middle, change->is_certain);
    gt_series_point(series, row, change->high, 0);
}

int gt_compare_forest(struct gt_node *page, const struct gt_comparison *comparison,
                      const struct gt_compare_lines *lines)
{
    bool is_judged = false, has_interval = false;
    int certain = 0;
    size_t count = 0, most = lines->count * comparison->sessions;
    struct change *change = calloc(most + 1, sizeof *change);
    for (size_t i = 0; change && i < lines->count; i++)
        for (size_t session = 1; session < comparison->sessions; session++)
            count += find_change(comparison, &lines->line[i], session, &change[count]);
    for (size_t i = 0; i < count; i++) {
        certain += change[i].is_certain;
        is_judged |= change[i].is_judged;
        has_interval |= isfinite(change[i].low) && isfinite(change[i].high);
    }
    if (count) {
        const char *title = has_interval ? "Change against the baseline, with its 95 % interval"
                                         : "Change against the baseline";
        struct gt_node *series = gt_report_series(page, "changes", title, "percent", "");
        gt_node_flags(series, GT_ONLY_PEOPLE | GT_FOREST | GT_PAGE_FIRST);
        qsort(change, count, sizeof *change, by_weight);
        for (size_t i = 0; i < count && i < ROWS; i++)
            add_change(series, comparison, &change[i]);
    }
    free(change);
    return is_judged ? certain : -1;
}

/* ---- curves ---- */

/* Results are no recordings, and have no course. */
static int read_course(struct gt_sample_course *ret, const char *path)
{
    struct gt_recording *recording = NULL;
    const struct gt_sample *sample;
    *ret = (struct gt_sample_course){.is_fine = true};
    int status = gt_recording_open(&recording, path, NULL);
    while (status >= 0 && (status = gt_recording_next(recording, &sample, NULL)) > 0)
        status = gt_sample_course_add(ret, sample);
    gt_recording_close(recording);
    if (status < 0)
        gt_sample_course_release(ret);
    return status == -ENOMEM ? status : 0;
}

static void add_curve(struct gt_node *series, const char *name, const struct gt_sample_course *of,
                      enum gt_metric_id metric, double unit)
{
    struct gt_course *course = of->course;
    int line = gt_sample_course_find(of, GT_SCOPE_COMBINED, metric, -1);
    if (line < 0 || course->line[line].known < 2)
        return;
    int index = gt_series_line(series, name, name);
    size_t step = course->spans / GT_COURSE_SPANS + 1;
    for (size_t from = 0; from < course->spans; from += step) {
        struct gt_course_span span = gt_course_over(course, (size_t)line, from, from + step);
        if (span.count)
            gt_series_point(series, index, ((double)from + 0.5) * gt_course_span_length(course), span.most / unit);
    }
    gt_series_course(series, index, course, line, unit);
}

/* The path of the first run of a session. */
static const char *path_of(const struct gt_comparison *comparison, size_t session)
{
    const char *const *given = comparison->options->sessions;
    size_t length = strlen(comparison->session[session].name);
    for (; given && *given; given++)
        if (!strncmp(*given, comparison->session[session].name, length) && (*given)[length] == '=')
            return *given + length + 1;
    return NULL;
}

int gt_compare_curves(struct gt_node *page, const struct gt_comparison *comparison)
{
    struct gt_node *memory = NULL, *cpu = NULL;
    int status = 0;
    for (size_t i = 0; i < comparison->sessions && status == 0; i++) {
        const char *path = path_of(comparison, i);
        struct gt_sample_course course = {0};
        status = path ? read_course(&course, path) : 0;
        if (!course.course)
            continue;
        if (!memory) {
            memory = gt_report_series(page, "memory_over_time", "Memory", "seconds", "gigabytes");
            gt_node_flags(memory, GT_ONLY_PEOPLE | GT_PEAKS | GT_ALIKE);
            cpu = gt_report_series(page, "cpu_over_time", "CPU in use", "seconds", "cores");
            gt_node_flags(cpu, GT_ONLY_PEOPLE | GT_ALIKE);
        }
        add_curve(memory, comparison->session[i].name, &course, GT_RAM, 1e9);
        add_curve(cpu, comparison->session[i].name, &course, GT_CPU_UTILIZATION, 1);
        gt_sample_course_release(&course);
    }
    return status;
}

/* ---- the verdict ---- */

static void add_broken_rules(struct gt_node *brief, const struct gt_node *rules, size_t *ret_broken)
{
    struct gt_table *table = rules ? gt_node_table(rules) : NULL;
    struct gt_buffer cell = {0};
    for (size_t row = 0; table && row < gt_table_rows(table); row++) {
        char sentence[400];
        const char *outcome = gt_table_cell_text(table, row, table->columns - 1, &cell);
        if (!outcome || strcmp(outcome, "broken") != 0)
            continue;
        const char *rule = gt_table_cell_text(table, row, 0, &cell);
        snprintf(sentence, sizeof sentence, "fails the rule %s", rule ? rule : "");
        gt_brief_warning(brief, sentence, NULL);
        ++*ret_broken;
    }
    gt_buffer_release(&cell);
}

static void put_value(struct gt_buffer *out, const struct gt_compare_line *line, double value)
{
    if (isnan(value))
        gt_buffer_text(out, "n/a");
    else if (!gt_human_amount(out, value, line->unit))
        gt_buffer_printf(out, "%.*f%s", fabs(value) < 10 ? 1 : 0, value, strcmp(line->unit, "percent") ? "" : " %");
}

/* "-17 % significant" */
static void put_change(struct gt_buffer *out, const struct gt_comparison *comparison,
                       const struct gt_compare_line *line, size_t session)
{
    double baseline = gt_compare_value(comparison, &line->figure, 0, NULL);
    double percent = (gt_compare_value(comparison, &line->figure, session, NULL) - baseline) / fabs(baseline) * 100;
    const char *verdict = gt_compare_verdict(&line->judgement[session]);
    if (isfinite(percent))
        gt_buffer_printf(out, "%+.*f %%%s", fabs(percent) < 9.95 ? 1 : 0, percent,
                         verdict && !strcmp(verdict, "yes") ? " significant" : "");
    else
        gt_buffer_text(out, "n/a");
}

/* With two sessions the value is that of the second; with more the words list all. */
static void add_text_line(struct gt_node *brief, const char *title, const struct gt_comparison *comparison,
                          const struct gt_compare_line *line)
{
    struct gt_buffer value = {0}, words = {0};
    if (comparison->sessions == 2) {
        put_value(&value, line, gt_compare_value(comparison, &line->figure, 1, NULL));
        put_change(&words, comparison, line, 1);
        gt_buffer_text(&words, " (was ");
        put_value(&words, line, gt_compare_value(comparison, &line->figure, 0, NULL));
        gt_buffer_text(&words, ")");
    }
    for (size_t i = 0; comparison->sessions != 2 && i < comparison->sessions; i++) {
        gt_buffer_printf(&words, "%s%s ", i ? ", " : "", comparison->session[i].name);
        put_value(&words, line, gt_compare_value(comparison, &line->figure, i, NULL));
        if (i) {
            gt_buffer_text(&words, " (");
            put_change(&words, comparison, line, i);
            gt_buffer_text(&words, ")");
        }
    }
    gt_brief_text_line(brief, &(struct gt_brief_line){.title = title, .value = value.data, .words = words.data});
    gt_buffer_release(&value);
    gt_buffer_release(&words);
}

/* The whole job by all its lines, the longest blocks by time and memory. */
static void add_text_lines(struct gt_node *brief, const struct gt_comparison *comparison,
                           const struct gt_compare_lines *lines)
{
    enum { BLOCKS = 6 };
    const struct gt_slot *slot = NULL;
    size_t blocks = 0;
    for (size_t i = 0; i < lines->count; i++) {
        const struct gt_compare_line *line = &lines->line[i];
        char title[160];
        blocks += line->slot && line->slot != slot;
        slot = line->slot;
        if (blocks > BLOCKS)
            continue;
        bool is_time = !strcmp(line->title, "Time"), is_memory = !strcmp(line->title, "Max RAM");
        if (slot && !is_time && !is_memory)
            continue;
        snprintf(title, sizeof title, "%s%s%s", slot ? slot->label : line->title, slot ? " " : "",
                 !slot     ? ""
                 : is_time ? "time"
                           : "memory");
        add_text_line(brief, title, comparison, line);
    }
    if (blocks > BLOCKS) {
        char words[60];
        snprintf(words, sizeof words, "%zu more code blocks", blocks - BLOCKS);
        gt_brief_text_line(brief, &(struct gt_brief_line){.title = "and", .words = words});
    }
}

void gt_compare_verdict_first(struct gt_report *report, const struct gt_comparison *comparison,
                              const struct gt_compare_lines *lines, int certain)
{
    char title[300] = "", outcome[160];
    const struct gt_node *rules = gt_node_find(&report->root, "rules");
    for (size_t i = 1; i < comparison->sessions; i++)
        snprintf(title + strlen(title), sizeof title - strlen(title), "%s%s", i > 1 ? ", " : "",
                 comparison->session[i].name);
    snprintf(title + strlen(title), sizeof title - strlen(title), " against %s", comparison->session[0].name);
    size_t broken = 0;
    add_broken_rules(NULL, rules, &broken);
    int length = certain < 0 ? snprintf(outcome, sizeof outcome, "too few runs to judge")
                             : snprintf(outcome, sizeof outcome, "%d significant difference%s", certain,
                                        certain == 1 ? "" : "s");
    if (rules && broken)
        snprintf(outcome + length, sizeof outcome - (size_t)length, "; fails %zu rule%s", broken,
                 broken == 1 ? "" : "s");
    else if (rules)
        snprintf(outcome + length, sizeof outcome - (size_t)length, "; all rules pass");
    struct gt_node *brief = gt_brief_add(gt_report_page(report), title, outcome, broken > 0);
    gt_node_flags(brief, 0);
    add_broken_rules(brief, rules, &broken);
    add_text_lines(brief, comparison, lines);
    gt_brief_more(brief, "all values: --format text, or -o compare.html");
}
