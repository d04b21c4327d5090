#include "analyse/usage/usage_rule.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyse/usage/usage.h"
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
    bool is_swapped = one[0] == other[1] && one[1] == other[0];
    size_t changed = gt_letters_between(one + 1 + is_swapped, other + 1 + is_swapped, most - 1),
           removed = gt_letters_between(one + 1, other, most - 1), added = gt_letters_between(one, other + 1, most - 1);
    size_t least = changed < removed ? changed : removed;
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

static double cpu_time_of(const struct gt_usage *usage)
{
    return gt_usage_final(usage, GT_SCOPE_COMBINED, GT_CPU_TIME);
}

static double power_of(const struct gt_usage *usage)
{
    return energy_of(usage) / usage->outcome->elapsed;
}

/* The share of time in which the GPUs of the job were busy, as reports have it. */
static double gpu_of(const struct gt_usage *usage)
{
    int gpus = usage->machine->expected_gpus;
    double busy = gt_summary_mean(usage->summary, GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION);
    return usage->machine->gpu_count <= 0 || isnan(busy) ? NAN : fmin(1, busy / (gpus > 0 ? gpus : 1));
}

static double gpu_memory_of(const struct gt_usage *usage)
{
    return usage->machine->gpu_count <= 0 ? NAN : usage->summary->of[GT_SCOPE_COMBINED][GT_GPU_RAM].max;
}

#define CPU "cpu_combined_sum_utilization_percent"
#define CPU_TIME "combined_cpu_time"
#define GPU "gpu_hardware_utilization_percent"
#define GPU_RAM "combined_gpu_ram"

static const struct gt_rule_word words[] = {
    {.name = "memory",
     .other = "combined_ram_peak",
     .unit = GT_BYTES,
     .of = gt_usage_peak,
     .example = "2GB",
     .job = {"peaks", "combined_ram_peak"},
     .block = {"resource_usage", "combined_ram", "max"},
     .sampled = {"overall", "combined_ram", "max"}},
    {.name = "time",
     .other = "duration",
     .unit = GT_SECONDS,
     .of = time_of,
     .example = "10min",
     .job = {"duration"},
     .block = {"compute_time", "total"}},
    {.name = "cpu",
     .other = "",
     .unit = GT_COUNT,
     .of = cores_of,
     .example = "2cores",
     .job = {"overall_counters", CPU_TIME, "total"},
     .block = {"resource_usage", CPU, "mean"},
     .sampled = {"overall", CPU, "mean"},
     .is_rate = true},
    {.name = "cpu-time",
     .other = "counters.combined_cpu_time",
     .unit = GT_SECONDS,
     .of = cpu_time_of,
     .example = "10min",
     .job = {"overall_counters", CPU_TIME, "total"},
     .block = {"cpu_time", "total"}},
    {.name = "energy",
     .other = "energy.total",
     .unit = GT_JOULES,
     .of = energy_of,
     .example = "5kJ",
     .job = {"energy", "job"},
     .block = {"energy", "total", "energy"}},
    {.name = "power",
     .other = "",
     .unit = GT_WATTS,
     .of = power_of,
     .example = "300W",
     .job = {"energy", "job"},
     .is_rate = true},
    {.name = "gpu",
     .other = GPU ".mean",
     .unit = GT_RATIO,
     .of = gpu_of,
     .example = "50%",
     .job = {"overall", GPU, "mean"},
     .block = {"resource_usage", GPU, "mean"}},
    {.name = "gpu-memory",
     .other = GPU_RAM ".max",
     .unit = GT_BYTES,
     .of = gpu_memory_of,
     .example = "20GB",
     .job = {"overall", GPU_RAM, "max"},
     .block = {"resource_usage", GPU_RAM, "max"}},
};

enum { WORDS = sizeof words / sizeof *words };

const struct gt_rule_word *gt_rule_word(size_t index)
{
    return index < WORDS ? &words[index] : NULL;
}

static bool is_spelled(const char *name, const char *word)
{
    while (*name && (*name == *word || (*name == '_' && *word == '-') || (*name == '-' && *word == '_'))) {
        name++;
        word++;
    }
    return *name == *word;
}

const struct gt_rule_word *gt_rule_word_find(const char *name)
{
    for (size_t i = 0; i < WORDS; i++)
        if (*name && (is_spelled(name, words[i].name) || is_spelled(name, words[i].other)))
            return &words[i];
    return NULL;
}

const char *gt_rule_word_near(const char *name)
{
    enum { LETTERS = 2 };
    static const char *const elsewhere[][2] = {
        {"ram", "memory"}, {"rss", "memory"},    {"mem", "memory"},   {"vram", "gpu-memory"},
        {"wall", "time"},  {"walltime", "time"}, {"runtime", "time"}, {"elapsed", "time"},
    };
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (strcmp(name, elsewhere[i][0]) == 0)
            return elsewhere[i][1];
    for (size_t i = 0; i < WORDS; i++)
        if (strlen(name) > LETTERS && strlen(words[i].name) > LETTERS &&
            gt_letters_between(name, words[i].name, LETTERS) <= LETTERS)
            return words[i].name;
    return NULL;
}

void gt_rule_words(struct gt_buffer *out)
{
    for (size_t i = 0; i < WORDS; i++)
        gt_buffer_printf(out, "%s%s", i == 0 ? "" : i + 1 < WORDS ? ", " : " and ", words[i].name);
}

/* ---- reading ---- */

int gt_rule_split(struct gt_rule_parts *ret, const char *text, struct gt_error *error)
{
    const char *sign = NULL;
    for (const char *c = text; *c; c++)
        sign = *c == '<' || *c == '>' ? c : sign;
    if (!sign)
        return gt_error_set(error, EINVAL,
                            "rule '%s' has neither > nor <: write it in quotes, as in --fail-if 'memory>2GB'", text);
    if (sign[1] == '=')
        return gt_error_set(error, EINVAL, "rule '%s': rules know > and < without =: write '%.*s%s'", text,
                            (int)(sign + 1 - text), text, sign + 2);
    *ret = (struct gt_rule_parts){(size_t)(sign - text), *sign == '>', sign + 1 + strspn(sign + 1, " ")};
    while (ret->name_length && text[ret->name_length - 1] == ' ')
        ret->name_length--;
    return 0;
}

static int read_word(struct gt_usage_rule *rule, size_t length, struct gt_error *error)
{
    char name[48];
    struct gt_buffer all = {0};
    snprintf(name, sizeof name, "%.*s", (int)fmin((double)length, sizeof name), rule->text);
    rule->word = gt_rule_word_find(name);
    if (rule->word)
        return 0;
    if (strncmp(name, GT_RULE_BLOCK, strlen(GT_RULE_BLOCK)) == 0)
        return gt_error_set(error, EINVAL,
                            "rule '%s': only compare judges code blocks: use gpu-tracker compare FILE --fail-if "
                            "'%s'",
                            rule->text, rule->text);
    const char *near = gt_rule_word_near(name);
    gt_rule_words(&all);
    gt_error_set(error, EINVAL, "rule '%s': '%s' is not a figure; these are: %s%s%s", rule->text, name,
                 all.data ? all.data : "", near ? "; near: " : "", near ? near : "");
    gt_buffer_release(&all);
    return -EINVAL;
}

int gt_rule_wrong_unit(const char *rule, const struct gt_rule_word *word, const char *symbol, struct gt_error *error)
{
    struct gt_buffer known = {0};
    if (strcmp(symbol, "%") == 0)
        return gt_error_set(error, EINVAL,
                            "rule '%s': %s is not measured in '%%': write it as in %s, or with a sign in gpu-tracker "
                            "compare, as in +5%%, relative to the baseline",
                            rule, word->name, word->example);
    gt_unit_symbols(&known, word->unit);
    gt_error_set(error, EINVAL, "rule '%s': %s is not measured in '%s': write it as in %s; units are %s", rule,
                 word->name, symbol, word->example, known.data ? known.data : "");
    gt_buffer_release(&known);
    return -EINVAL;
}

static int read_limit(struct gt_usage_rule *rule, const char *text, struct gt_error *error)
{
    char number[32];
    enum gt_unit unit;
    int length = (int)strspn(text, "0123456789.");
    const char *symbol = text + length + strspn(text + length, " "), *example = rule->word->example;
    if (*text == '+' || *text == '-')
        return gt_error_set(error, EINVAL,
                            "rule '%s': '%s' is a change, and one run has no baseline: write a limit as %s, or use "
                            "gpu-tracker compare",
                            rule->text, text, example);
    if (length >= (int)sizeof number || strlen(symbol) > 16)
        return gt_error_set(error, EINVAL, "rule '%s': '%s' is not a limit", rule->text, text);
    snprintf(number, sizeof number, "%.*s", length, text);
    if (gt_number_double(number, &rule->limit) < 0)
        return gt_error_set(error, EINVAL, "rule '%s': '%s' is not a limit like %s", rule->text, text, example);
    if (!*symbol)
        return gt_error_set(error, EINVAL, "rule '%s': the limit has no unit: write it as in %s", rule->text, example);
    if (gt_unit_of_amount(symbol, &unit, &rule->factor) < 0 || unit != rule->word->unit)
        return gt_rule_wrong_unit(rule->text, rule->word, symbol, error);
    rule->limit *= rule->factor;
    snprintf(rule->written, sizeof rule->written, "%s %s", number, symbol);
    return 0;
}

int gt_usage_rule_read(struct gt_usage_rule *ret, const char *text, struct gt_error *error)
{
    struct gt_rule_parts parts;
    int status = gt_rule_split(&parts, text, error);
    if (status < 0)
        return status;
    *ret = (struct gt_usage_rule){.text = text, .above = parts.above};
    status = read_word(ret, parts.name_length, error);
    return status < 0 ? status : read_limit(ret, parts.limit, error);
}

/* ---- judgement ---- */

bool gt_usage_rule_is_broken(const struct gt_usage_rule *rule, const struct gt_usage *usage, char *sentence,
                             size_t size)
{
    const char *name = rule->word->name, *unit = strchr(rule->written, ' ');
    double value = rule->word->of(usage);
    char got[GT_NUMBER_SIZE + 20];
    if (isnan(value)) {
        bool is_partial = !isnan(gt_usage_final(usage, GT_SCOPE_COMBINED, GT_ENERGY)) && rule->word->of == energy_of;
        snprintf(sentence, size, "%s was not measured%s, which breaks '%s'", name, is_partial ? " all the time" : "",
                 rule->text);
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
