#include "analyse/usage/usage_rule.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyse/usage/figures.h"
#include "base/number.h"
#include "schema/unit.h"

size_t gt_letters_between(const char *one, const char *other, size_t most)
{
    while (*one && *one == *other) {
        one++;
        other++;
    }
    if (!*one || !*other || most == 0)
        return strlen(one) + strlen(other);
    size_t replaced = gt_letters_between(one + 1, other + 1, most - 1),
           removed = gt_letters_between(one + 1, other, most - 1), added = gt_letters_between(one, other + 1, most - 1);
    size_t least = replaced < removed ? replaced : removed;
    return 1 + (least < added ? least : added);
}

/* ---- figures ---- */

static double time_of(const struct gt_usage *usage)
{
    return usage->outcome->elapsed;
}

/* Energy that was counted for a part of the time is more than it says. */
static double energy_of(const struct gt_usage *usage)
{
    struct gt_energy_reading end;
    gt_usage_energy(usage, &end);
    for (int device = 0; device < GT_ENERGY_DEVICES; device++)
        if (end.missing[device] > 0)
            return NAN;
    return gt_usage_final(usage, GT_SCOPE_COMBINED, GT_ENERGY);
}

static double cores_of(const struct gt_usage *usage)
{
    return gt_usage_cores(usage, GT_SCOPE_COMBINED);
}

static const struct {
    const char *name, *other; /* what compare calls it, too */
    enum gt_unit unit;
    double (*of)(const struct gt_usage *usage);
    const char *example;
} figures[] = {
    {"memory", "combined_ram_peak", GT_BYTES, gt_usage_peak, "2GB"},
    {"time", "duration", GT_SECONDS, time_of, "10min"},
    {"energy", "energy.total", GT_JOULES, energy_of, "5kJ"},
    {"cpu", "", GT_COUNT, cores_of, "2cores"},
};

const char *gt_usage_rule_figure(size_t index)
{
    return index < sizeof figures / sizeof *figures ? figures[index].name : NULL;
}

const char *gt_usage_rule_near(const char *name)
{
    enum { LETTERS = 2 };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (strlen(name) > LETTERS && gt_letters_between(name, figures[i].name, LETTERS) <= LETTERS)
            return figures[i].name;
    return NULL;
}

/* ---- reading ---- */

static int find_figure(const char *name)
{
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (*name && (strcmp(figures[i].name, name) == 0 || strcmp(figures[i].other, name) == 0))
            return (int)i;
    return -1;
}

const char *gt_usage_rule_example(const char *name)
{
    int figure = find_figure(name);
    return figure < 0 ? NULL : figures[figure].example;
}

static int read_figure(struct gt_usage_rule *rule, size_t length, struct gt_error *error)
{
    char name[48];
    while (length && rule->text[length - 1] == ' ')
        length--;
    snprintf(name, sizeof name, "%.*s", (int)fmin((double)length, sizeof name), rule->text);
    rule->figure = find_figure(name);
    if (rule->figure >= 0)
        return 0;
    const char *near = gt_usage_rule_near(name);
    return gt_error_set(error, EINVAL, "rule '%s' names no figure: memory, time, energy and cpu are%s%s", rule->text,
                        near ? "; near: " : "", near ? near : "");
}

static int read_limit(struct gt_usage_rule *rule, const char *text, struct gt_error *error)
{
    char number[32];
    enum gt_unit unit;
    int length = (int)strspn(text, "0123456789.");
    const char *symbol = text + length + strspn(text + length, " "), *example = figures[rule->figure].example;
    if (length >= (int)sizeof number || strlen(symbol) > 16)
        return gt_error_set(error, EINVAL, "rule '%s': '%s' is no limit", rule->text, text);
    snprintf(number, sizeof number, "%.*s", length, text);
    if (gt_number_double(number, &rule->limit) < 0)
        return gt_error_set(error, EINVAL, "rule '%s': '%s' is no limit, as %s is", rule->text, text, example);
    if (!*symbol)
        return gt_error_set(error, EINVAL, "rule '%s': the limit has no unit: write it as in %s", rule->text, example);
    if (gt_unit_of_amount(symbol, &unit, &rule->factor) < 0 || unit != figures[rule->figure].unit)
        return gt_error_set(error, EINVAL, "rule '%s': %s is not measured in '%s': write it as in %s", rule->text,
                            figures[rule->figure].name, symbol, example);
    rule->limit *= rule->factor;
    snprintf(rule->written, sizeof rule->written, "%s %s", number, symbol);
    return 0;
}

int gt_usage_rule_read(struct gt_usage_rule *ret, const char *text, struct gt_error *error)
{
    size_t length = strcspn(text, "<>");
    *ret = (struct gt_usage_rule){.text = text, .above = text[length] == '>'};
    if (!text[length])
        return gt_error_set(error, EINVAL, "rule '%s' has neither > nor <", text);
    const char *amount = text + length + 1;
    int status = read_figure(ret, length, error);
    return status < 0 ? status : read_limit(ret, amount + strspn(amount, " "), error);
}

/* ---- judgement ---- */

bool gt_usage_rule_is_broken(const struct gt_usage_rule *rule, const struct gt_usage *usage, char *sentence,
                             size_t size)
{
    const char *name = figures[rule->figure].name, *unit = strchr(rule->written, ' ');
    double value = figures[rule->figure].of(usage);
    char got[GT_NUMBER_SIZE + 20];
    if (isnan(value)) {
        bool is_partial = !isnan(gt_usage_final(usage, GT_SCOPE_COMBINED, GT_ENERGY)) &&
                          figures[rule->figure].of == energy_of;
        snprintf(sentence, size, "%s was not measured%s, so '%s' is not known to be kept", name,
                 is_partial ? " all the time" : "", rule->text);
        return true;
    }
    /* With so few digits that they can be read, but enough to see the difference. */
    for (int decimals = 1; decimals <= 9; decimals += 4) {
        char number[GT_NUMBER_SIZE];
        gt_number_rounded(number, value / rule->factor, decimals);
        snprintf(got, sizeof got, "%s%s", number, unit);
        if (strcmp(got, rule->written) != 0)
            break;
    }
    snprintf(sentence, size, "%s %s is %s %s", name, got, rule->above ? "above" : "below", rule->written);
    return rule->above ? value > rule->limit : value < rule->limit;
}
