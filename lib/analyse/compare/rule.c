#include "analyse/compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/blocks/results.h"
#include "analyse/display.h"
#include "analyse/usage/usage_rule.h"
#include "base/number.h"
#include "schema/human.h"
#include "schema/unit.h"
#include "store/store.h"

enum kind { ABSOLUTE, CHANGE, PERCENT };

struct rule {
    const char *text;
    char path[512]; /* what the figure's keys point into */
    struct gt_figure figure;
    bool above; /* broken by what lies above the limit, else below */
    enum kind kind;
    double limit;
    const char *unit; /* of figure and limit; NULL: a count */
    enum gt_unit base;
    double size;                     /* of the unit, in base units */
    const struct gt_rule_word *word; /* NULL: the figure is named as in results */
};

static bool is_time(const char *key)
{
    static const char *const times[] = {"compute_time", "self_time", "cpu_time", "covered_time"};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (strcmp(key, times[i]) == 0)
            return true;
    return false;
}

/* ---- figures ---- */

static const struct gt_slot *find_block(const struct gt_comparison *comparison, const char *text, const char **ret_rest)
{
    const struct gt_slot *found = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < comparison->slots; i++)
        for (size_t run = 0; run <= comparison->runs; run++) {
            const struct gt_slot *slot = &comparison->slot[i];
            const char *name = run < comparison->runs ? gt_compare_block_name(slot->block[run]) : slot->label;
            size_t length = name ? strlen(name) : 0;
            if (name && (!found || length > longest) && strncmp(text, name, length) == 0 && text[length] == '.') {
                found = slot;
                longest = length;
                *ret_rest = text + length + 1;
            }
        }
    return found;
}

/* The names that rules of a run have, too; false: it is none of them. */
static bool choose_word(struct rule *rule, const char *name)
{
    const struct gt_rule_word *word = gt_rule_word_find(name);
    const char *const *keys = !word ? NULL : rule->figure.slot ? word->block : word->job;
    if (!word || strcmp(name, word->other) == 0 || !*keys)
        return false;
    rule->word = word;
    memcpy(rule->figure.keys, keys, sizeof word->job);
    rule->figure.is_rate = !rule->figure.slot && word->is_rate;
    return true;
}

/* Keys of the results from the words of the rule; false when they make no sense. */
static bool choose_keys(struct rule *rule, const char *first, const char *second)
{
    const char **keys = rule->figure.keys;
    bool of_block = rule->figure.slot;
    size_t count = 0;
    if (strcmp(first, "energy") == 0) {
        rule->word = second ? NULL : gt_rule_word_find("energy");
        if (of_block)
            rule->figure = gt_compare_block_energy(rule->figure.slot, second ? second : "total");
        else
            rule->figure = gt_compare_job_energy(second && strcmp(second, "total") == 0 ? NULL : second);
        return true;
    }
    if (!second && choose_word(rule, first))
        return true;
    if (strcmp(first, "counters") == 0) {
        keys[count++] = of_block ? "counters" : "overall_counters";
        keys[count++] = second ? gt_store_name_now(second) : NULL;
        keys[count++] = "total";
        return second;
    }
    if (!second && !of_block && strcmp(first, "duration") != 0)
        keys[count++] = "peaks";
    if (!second) {
        keys[count++] = first; /* num_calls, covered_time */
        return true;
    }
    if (!of_block || !is_time(first))
        keys[count++] = of_block ? "resource_usage" : "overall";
    keys[count++] = first;
    keys[count++] = second;
    return true;
}

static bool is_known(const struct gt_comparison *comparison, const struct rule *rule)
{
    for (size_t i = 0; i < comparison->sessions; i++)
        if (!isnan(gt_compare_value(comparison, &rule->figure, i)) ||
            gt_compare_session_covered(comparison, &rule->figure, i) < 100)
            return true;
    return false;
}

/* "; near: combined_ram, ...", or nothing. */
static void list_near(struct gt_buffer *out, const struct gt_comparison *comparison, const char *name)
{
    static const char *const sections[] = {"overall", "peaks"};
    enum { LETTERS = 2, NAMES = 4 };
    int count = 0;
    const char *word = gt_rule_word_near(name), *key;
    json_t *value;
    if (word && count++ < NAMES)
        gt_buffer_printf(out, "; near: %s", word);
    for (int i = 0; i < 2; i++)
        gt_json_foreach_member (gt_compare_measurements(comparison, sections[i]), key, value) {
            bool is_near = strstr(key, name) || gt_letters_between(key, name, LETTERS) <= LETTERS;
            if (is_near && count++ < NAMES)
                gt_buffer_printf(out, "%s%s%s", count > 1 ? ", " : "; near: ", key, i ? "" : ".max");
        }
}

static int refuse_figure(const struct rule *rule, const struct gt_comparison *comparison, const char *name,
                         struct gt_error *error)
{
    struct gt_buffer near = {0};
    gt_rule_words(&near);
    gt_buffer_printf(&near, ", and those of the results");
    list_near(&near, comparison, name);
    gt_error_set(error, EINVAL, "rule '%s': '%s' is not a figure of any session; these are: %s", rule->text, name,
                 near.data ? near.data : "");
    gt_buffer_release(&near);
    return -EINVAL;
}

static int parse_figure(struct rule *rule, const struct gt_comparison *comparison, const char *text, size_t length,
                        struct gt_error *error)
{
    if (length >= sizeof rule->path)
        return gt_error_set(error, EINVAL, "rule '%s' is too long", rule->text);
    memcpy(rule->path, text, length);
    rule->path[length] = '\0';
    const char *rest = rule->path;
    if (strncmp(rest, GT_RULE_BLOCK, strlen(GT_RULE_BLOCK)) == 0) {
        rule->figure.slot = find_block(comparison, rest + strlen(GT_RULE_BLOCK), &rest);
        if (!rule->figure.slot)
            return gt_error_set(error, EINVAL, "rule '%s': no session has such a code block", rule->text);
    }
    char *first = rule->path + (rest - rule->path), *dot = strchr(first, '.');
    if (dot)
        *dot = '\0';
    bool has_keys = choose_keys(rule, first, dot ? dot + 1 : NULL);
    const char *const *keys = rule->figure.keys;
    if (has_keys && rule->figure.slot && !strcmp(keys[0], "cpu_time") && !strcmp(keys[1], "total"))
        rule->figure = gt_compare_block_cpu_time(comparison, rule->figure.slot);
    bool may_be_sampled = rule->word && *rule->word->sampled && !rule->figure.slot;
    if (may_be_sampled && !is_known(comparison, rule)) { /* foreign results have neither peaks nor counters */
        memcpy(rule->figure.keys, rule->word->sampled, sizeof rule->word->sampled);
        rule->figure.is_rate = false;
    }
    /* A known name without a value is a missing value, which breaks the rule. */
    struct gt_column column;
    bool is_name = rule->word || strcmp(first, "energy") == 0 || gt_store_column_named(&column, first, NULL) >= 0;
    return has_keys && (is_name || is_known(comparison, rule)) ? 0 : refuse_figure(rule, comparison, first, error);
}

/* ---- limits ---- */

/* Columns of the original are in the units that the sessions chose, and so are limits of peaks, which results have in
 * bytes. */
static bool unit_of_column(struct rule *rule, const struct gt_comparison *comparison, enum gt_unit *ret,
                           double *ret_factor)
{
    struct gt_column column;
    if (!rule->figure.keys[1] || gt_store_column_named(&column, rule->figure.keys[1], NULL) < 0)
        return false;
    bool is_peak = strcmp(rule->figure.keys[0], "peaks") == 0;
    *ret = gt_metrics[column.metric].unit;
    rule->unit = *ret == GT_RATIO && column.is_original ? "percent" : *ret == GT_COUNT ? NULL : gt_unit_name(*ret);
    if (*ret != GT_BYTES || !(column.is_original || is_peak))
        return true;
    rule->unit = gt_compare_memory_unit(comparison, 0, column.metric == GT_GPU_RAM ? "gpu_ram_unit" : "ram_unit",
                                        ret_factor);
    if (rule->unit && is_peak)
        rule->figure.factor = 1 / *ret_factor;
    return rule->unit;
}

/* Tells the unit of the figure, and how many base units one of its own units is. */
static bool unit_of(struct rule *rule, const struct gt_comparison *comparison, enum gt_unit *ret, double *ret_factor)
{
    const char *const *keys = rule->figure.keys;
    bool is_duration = !rule->figure.slot && strcmp(keys[0], "duration") == 0;
    *ret_factor = 1;
    if (rule->word && rule->word->unit == GT_COUNT) {
        *ret = GT_COUNT;
        rule->figure.factor = rule->figure.is_rate ? 0 : 0.01;
        rule->unit = "cores";
        return true;
    }
    if (is_duration || (is_time(keys[0]) && rule->figure.slot))
        *ret = GT_SECONDS;
    else if (strcmp(keys[0], "energy") == 0)
        *ret = rule->figure.is_rate ? GT_WATTS : GT_JOULES;
    else
        return unit_of_column(rule, comparison, ret, ret_factor);
    rule->unit = gt_unit_name(*ret);
    return true;
}

static int scale_limit(struct rule *rule, const struct gt_comparison *comparison, const char *name,
                       struct gt_error *error)
{
    enum gt_unit unit;
    double factor;
    bool has_unit = unit_of(rule, comparison, &unit, &factor);
    rule->base = has_unit ? unit : GT_COUNT;
    rule->size = factor;
    if (!*name || rule->kind == PERCENT)
        return 0;
    if (strcmp(name, "%") == 0 && has_unit && unit == GT_RATIO)
        return 0; /* these columns are percentages */
    enum gt_unit own;
    double size;
    if (has_unit && gt_unit_of_amount(name, &own, &size) >= 0 && own == unit) {
        rule->limit *= size / factor;
        return 0;
    }
    if (rule->word)
        return gt_rule_wrong_unit(rule->text, rule->word, name, error);
    return gt_error_set(error, EINVAL, "rule '%s': the value is not measured in '%s': write %s%s", rule->text, name,
                        rule->unit ? "the limit in " : "a number without a unit", rule->unit ? rule->unit : "");
}

static int parse_limit(struct rule *rule, const struct gt_comparison *comparison, const char *text,
                       struct gt_error *error)
{
    char number[64];
    bool is_change = *text == '+' || *text == '-';
    size_t length = strspn(text, "+-0123456789.");
    if (length >= sizeof number)
        length = sizeof number - 1;
    memcpy(number, text, length);
    number[length] = '\0';
    const char *unit = text + length + strspn(text + length, " ");
    if (gt_number_double(*number == '+' ? number + 1 : number, &rule->limit) < 0)
        return gt_error_set(error, EINVAL, "rule '%s': '%s' is not a limit", rule->text, text);
    rule->kind = !is_change ? ABSOLUTE : strcmp(unit, "%") == 0 ? PERCENT : CHANGE;
    if (rule->word && !*unit)
        return gt_error_set(error, EINVAL, "rule '%s': the limit has no unit: write it as in %s%s%s", rule->text,
                            is_change ? "+5% or +" : "", rule->word->example,
                            is_change ? ", relative to the baseline" : "");
    if (rule->kind != ABSOLUTE && comparison->sessions < 2)
        return gt_error_set(error, EINVAL, "rule '%s' compares, but there is only one session", rule->text);
    return scale_limit(rule, comparison, unit, error);
}

static int parse_rule(struct rule *rule, const struct gt_comparison *comparison, struct gt_error *error)
{
    struct gt_rule_parts parts;
    int status = gt_rule_split(&parts, rule->text, error);
    if (status < 0)
        return status;
    rule->above = parts.above;
    status = parse_figure(rule, comparison, rule->text, parts.name_length, error);
    return status < 0 ? status : parse_limit(rule, comparison, parts.limit, error);
}

/* ---- judgement ---- */

/* Calls of the rule's block that never ended: no figure of it has them, so a limit on them would be kept for
 * nothing. */
static double unended_calls(const struct gt_comparison *comparison, const struct rule *rule, size_t session)
{
    static const char key[] = "num_unfinished_calls";
    const struct gt_figure calls = {.slot = rule->figure.slot, .keys = {key}};
    bool is_asked_for = strstr(rule->figure.keys[0], "unfinished") != NULL;
    double sum = 0;
    for (size_t i = 0; rule->figure.slot && !is_asked_for && i < comparison->runs; i++)
        if (comparison->run[i].session == session)
            sum += fmax(0, gt_compare_run(comparison, &calls, i));
    return sum;
}

/* The end of a command that failed is the end of its figures: a limit is not known to be kept where only one of the two did. */
static int failure(const struct gt_comparison *comparison, size_t session)
{
    int own = comparison->options->allow_partial ? 0 : gt_compare_failure(comparison, session, 0);
    return own || comparison->options->allow_partial ? own : gt_compare_failure(comparison, 0, session);
}

/* As people read it, with as many digits as tell the two apart. */
static void describe(const struct rule *rule, char got[GT_HUMAN_SIZE + GT_NUMBER_SIZE],
                     char allowed[GT_HUMAN_SIZE + GT_NUMBER_SIZE], double value, double limit)
{
    char *(*const write)(char *, double) = rule->base == GT_BYTES     ? gt_human_bytes
                                           : rule->base == GT_SECONDS ? gt_human_seconds
                                           : rule->base == GT_JOULES  ? gt_human_energy
                                           : rule->base == GT_WATTS   ? gt_human_power
                                                                      : NULL;
    if (write && limit >= 0) {
        write(got, value * rule->size);
        write(allowed, limit * rule->size);
        if (strcmp(got, allowed) != 0)
            return;
    }
    const char *unit = rule->unit ? rule->unit : "";
    for (int decimals = 2; decimals <= 11; decimals += 3) {
        gt_number_rounded(got, value, decimals);
        gt_number_rounded(allowed, limit, decimals);
        if (strcmp(got, allowed) != 0)
            break;
    }
    size_t length = strlen(allowed);
    snprintf(allowed + length, GT_HUMAN_SIZE + GT_NUMBER_SIZE - length, "%s%s", *unit ? " " : "", unit);
}

/* Word why a session breaks a rule. */
static void explain_broken(struct gt_buffer *out, const struct gt_comparison *comparison, const struct rule *rule,
                           size_t session, double value, double limit)
{
    char got[GT_NUMBER_SIZE + GT_HUMAN_SIZE], allowed[sizeof got];
    const char *word = rule->word ? rule->word->name : "";
    double unended = unended_calls(comparison, rule, session);
    struct gt_compared own = gt_compare_session(comparison, &rule->figure, session);
    bool may_be_chance = rule->kind != ABSOLUTE && own.low <= 0 && own.high >= 0;
    int failed = failure(comparison, session);
    double covered = fmin(gt_compare_session_covered(comparison, &rule->figure, session),
                          gt_compare_session_covered(comparison, &rule->figure, 0));
    describe(rule, got, allowed, value, limit);
    if (unended > 0)
        gt_buffer_printf(out, "calls of the block never ended (%.0f), and are in no figure of it", unended);
    else if (isnan(value) && failed)
        gt_buffer_printf(out, "a run ended with status %d (--allow-partial judges it all the same)", failed);
    else if ((isnan(value) || isnan(limit)) && covered < 100)
        gt_buffer_printf(out, "energy was measured for %.3g %% of the time only", covered);
    else if (isnan(value) || isnan(limit))
        gt_buffer_text(out, "it was not measured");
    else
        gt_buffer_printf(out, "%s%s%s is %s %s%s", word, *word ? " " : "", got, rule->above ? "above" : "below",
                         allowed,
                         may_be_chance ? "; that may be chance, for the runs of each session differ as much" : "");
}

static void add_row(struct gt_table *table, const struct rule *rule, const char *session, double value, double limit,
                    const char *reason)
{
    char got[GT_NUMBER_SIZE + GT_HUMAN_SIZE], allowed[sizeof got];
    describe(rule, got, allowed, value, limit);
    GT_CELLS(table, rule->text, session, isnan(value) ? NULL : got, isnan(limit) ? NULL : allowed, value, limit,
             rule->unit ? rule->unit : gt_unit_name(GT_COUNT), reason ? "broken" : "kept", reason);
}

static int judge(const struct gt_comparison *comparison, const struct rule *rule, struct gt_table *table)
{
    double baseline = gt_compare_value(comparison, &rule->figure, 0);
    int broken = 0;
    for (size_t i = comparison->sessions > 1; i < comparison->sessions; i++) {
        bool is_unended = unended_calls(comparison, rule, i) > 0;
        double value = gt_compare_value(comparison, &rule->figure, i);
        if (is_unended || failure(comparison, i))
            value = NAN;
        double limit = rule->kind == PERCENT  ? baseline + fabs(baseline) * rule->limit / 100
                       : rule->kind == CHANGE ? baseline + rule->limit
                                              : rule->limit;
        bool breaks = isnan(value) || isnan(limit) || (rule->above ? value > limit : value < limit);
        const char *name = comparison->session[i].name;
        struct gt_buffer reason = {0};
        broken |= breaks;
        if (breaks) {
            explain_broken(&reason, comparison, rule, i, value, limit);
            GT_COMPARE_WARN(comparison, "rule '%s' is broken by session \"%s\": %s", rule->text, name, reason.data);
        }
        add_row(table, rule, name, value, limit, reason.data);
        gt_buffer_release(&reason);
    }
    return broken;
}

/* People read amounts, each in the unit that suits it. */
static void add_columns(struct gt_table *table)
{
    static const struct {
        const char *key, *title;
        enum gt_cell_kind kind;
        unsigned flags;
    } columns[] = {
        {"rule", "rule", GT_CELL_TEXT, 0},
        {"session", "session", GT_CELL_TEXT, 0},
        {"value", "value", GT_CELL_TEXT, GT_COLUMN_ONLY_PEOPLE | GT_COLUMN_FIGURE},
        {"limit", "limit", GT_CELL_TEXT, GT_COLUMN_ONLY_PEOPLE | GT_COLUMN_FIGURE},
        {"value", "value", GT_CELL_NUMBER, GT_COLUMN_ONLY_DATA},
        {"limit", "limit", GT_CELL_NUMBER, GT_COLUMN_ONLY_DATA},
        {"unit", "unit", GT_CELL_TEXT, GT_COLUMN_ONLY_DATA},
        {"outcome", "outcome", GT_CELL_TEXT, GT_COLUMN_STATE},
        {"reason", "reason", GT_CELL_TEXT, 0},
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        gt_display_column(table, columns[i].key, columns[i].title, columns[i].kind, NULL, columns[i].flags);
}

int gt_compare_judge(const struct gt_comparison *comparison, struct gt_node *root, struct gt_error *error)
{
    const char *const *text = comparison->options->rules;
    int broken = 0;
    if (!text || !*text)
        return 0;
    struct gt_table *table = gt_report_table(root, "rules", "Rules");
    gt_table_flags(table, GT_PAGE_FIRST);
    add_columns(table);
    for (; *text; text++) {
        struct rule rule = {.text = *text};
        int status = parse_rule(&rule, comparison, error);
        if (status < 0)
            return status;
        broken += judge(comparison, &rule, table);
    }
    return broken;
}
