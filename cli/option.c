#include "option.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "aggregate/attribute.h"
#include "analyse/usage/usage.h"
#include "base/os/file.h"
#include "base/grow.h"
#include "base/number.h"
#include "blocks/block_source.h"
#include "blocks/distribution.h"
#include "collect/process/memory.h"
#include "message.h"
#include "schema/unit.h"

/* ---- values ----
 * Text to values, with the checks that the option table asks for. */

static void *place(struct options *options, const struct option *option)
{
    return (char *)options + option->offset;
}

static int below(const struct option *option, const char *text, const char *origin)
{
    return say_usage("%s: %s is too small: at least %g", origin, text, option->minimum);
}

/* "0.5", or "500ms" for an option in seconds. */
static bool read_number(const struct option *option, const char *text, double *ret)
{
    char number[32];
    const char *unit = text + strspn(text, "0123456789.");
    if (gt_number_double(text, ret) >= 0)
        return true;
    if (strcmp(option->argument, "SECONDS") != 0 ||
        snprintf(number, sizeof number, "%.*s", (int)(unit - text), text) >= (int)sizeof number)
        return false;
    double factor;
    if (gt_number_double(number, ret) < 0 || gt_unit_time(unit + strspn(unit, " "), &factor, NULL) < 0)
        return false;
    *ret *= factor;
    return true;
}

static int store_number(double *ret, const struct option *option, const char *text, const char *origin)
{
    double value;
    int digits = (int)strspn(text, "0123456789.");
    bool is_time = strcmp(option->argument, "SECONDS") == 0, is_read = read_number(option, text, &value);
    if (!is_read && digits && !is_time)
        return say_usage("%s: '%s' is not a number: write %.*s, in %s", origin, text, digits, text, option->argument);
    if (!is_read)
        return say_usage("%s: '%s' is not a number%s", origin, text,
                         is_time ? ", nor one with ms, s, min, h or d" : "");
    if (value < option->minimum)
        return below(option, text, origin);
    *ret = value;
    return 0;
}

static int store_integer(int *ret, const struct option *option, const char *text, const char *origin)
{
    int64_t value;
    int status = gt_number_i64(text, &value);
    if (status == -EINVAL)
        return say_usage("%s: '%s' is not a whole number", origin, text);
    if (status == 0 && value < (int64_t)option->minimum)
        return below(option, text, origin);
    if (status < 0 || value > INT_MAX)
        return say_usage("%s: %s is out of range", origin, text);
    *ret = (int)value;
    return 0;
}

static int store_flag(bool *ret, const char *text, const char *origin)
{
    static const char *const words[][2] = {{"false", "true"}, {"no", "yes"}, {"off", "on"}, {"0", "1"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (int value = 0; value < 2; value++)
            if (strcasecmp(text, words[i][value]) == 0) {
                *ret = value;
                return 0;
            }
    return say_usage("%s: '%s' is neither true nor false", origin, text);
}

/* People call values so elsewhere; the first that an option has is suggested. */
static const char *other_name(const struct option *option, const char *text)
{
    static const char *const names[][2] = {
        {"median", "p50"},   {"average", "mean"}, {"avg", "mean"},       {"kubernetes", "k8s"}, {"kube", "k8s"},
        {"sbatch", "slurm"}, {"srun", "slurm"},   {"qsub", "pbs"},       {"podman", "docker"},  {"md", "markdown"},
        {"htm", "html"},     {"txt", "text"},     {"pkl", "pickle"},     {"yaml", "json"},      {"gbs", "gigabytes"},
        {"sec", "seconds"},  {"secs", "seconds"}, {"second", "seconds"}, {"mins", "minutes"},   {"minute", "minutes"},
        {"hr", "hours"},     {"hrs", "hours"},    {"hour", "hours"},     {"day", "days"},
    };
    const char *name;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; strcasecmp(text, names[i][0]) == 0 && (name = option->choice(k)); k++)
            if (strcmp(name, names[i][1]) == 0)
                return name;
    return NULL;
}

static int store_choice(const char **ret, const struct option *option, const char *text, const char *origin)
{
    char list[300] = "";
    struct suggestion suggestion = {.word = text};
    const char *name, *other = other_name(option, text);
    const char *unit = gt_unit_full_name(text);
    for (size_t i = 0; (name = option->choice(i)); i++) {
        if (strcmp(name, text) == 0 || strcmp(name, unit) == 0) {
            *ret = name;
            return 0;
        }
        const char *symbol = gt_unit_symbol(name);
        suggest(&suggestion, name);
        if (symbol)
            suggest(&suggestion, symbol);
        if (strcasecmp(name, text) == 0 || (symbol && strcasecmp(symbol, text) == 0))
            other = name;
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, symbol ? "%s%s (%s)" : "%s%s", i ? ", " : "", name, symbol);
    }
    if (other)
        suggestion.nearest = other;
    if (suggestion.nearest)
        return say_usage("%s: '%s' is not one of %s: did you mean %s?", origin, text, list, suggestion.nearest);
    return say_usage("%s: '%s' is not one of %s", origin, text, list);
}

static int convert(struct options *options, const struct option *option, const char *text, const char *origin)
{
    void *value = place(options, option);
    switch (option->type) {
    case OPTION_NUMBER: return store_number(value, option, text, origin);
    case OPTION_INTEGER: return store_integer(value, option, text, origin);
    case OPTION_FLAG: return store_flag(value, text, origin);
    case OPTION_CHOICE: return store_choice(value, option, text, origin);
    case OPTION_LIST: return option_add(options, option, text, origin);
    case OPTION_PATH:
        if (!*text)
            return say_usage("%s: the name is empty", origin);
        break;
    case OPTION_TEXT:
    case OPTION_WORDS: break;
    }
    *(const char **)value = text;
    return 0;
}

int option_store(struct options *options, const struct option *option, const char *text, const char *origin)
{
    int status = convert(options, option, text, origin);
    if (!status)
        options->given[option - option_table] = true;
    return status;
}

int option_add(struct options *options, const struct option *option, const char *text, const char *origin)
{
    struct option_list *list = place(options, option);
    if (!*text)
        return say_usage("%s: the value is empty", origin);
    if (GT_GROW_TO(list->value, list->capacity, list->count + 2) < 0)
        return say_trouble("%s: out of memory", origin);
    list->value[list->count++] = text;
    list->value[list->count] = NULL;
    options->given[option - option_table] = true;
    return 0;
}

bool option_pid(const char *text, pid_t *ret)
{
    int64_t number;
    bool is_pid = gt_number_i64(text, &number) >= 0 && number >= 1 && number <= INT_MAX;
    *ret = is_pid ? (pid_t)number : 0;
    return is_pid;
}

char *options_own(struct options *options, char *memory)
{
    char **place = memory ? GT_GROW_BY_ONE(options->owned, options->owned_count) : NULL;
    if (!place) {
        free(memory);
        return NULL;
    }
    *place = memory;
    options->owned_count++;
    return memory;
}

void options_release(struct options *options)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].type == OPTION_LIST)
            free(((struct option_list *)place(options, &option_table[i]))->value);
    for (size_t i = 0; i < options->owned_count; i++)
        free(options->owned[i]);
    free(options->owned);
    *options = (struct options){0};
}

/* ---- options ---- */

static const char *choice_format(size_t index)
{
    const char *name, *suffix, *help;
    return gt_format_info(index, &name, &suffix, &help) < 0 ? NULL : name;
}

#define CHOICES(what, ...)                                                 \
    static const char *choice_##what(size_t index)                         \
    {                                                                      \
        static const char *const names[] = {__VA_ARGS__};                  \
        return index < sizeof names / sizeof *names ? names[index] : NULL; \
    }

/* A list of the library's as the choices of an option. */
#define NAMES(what, names, count)                       \
    static const char *choice_##what(size_t index)      \
    {                                                   \
        return index < (count) ? (names)[index] : NULL; \
    }
NAMES(statistic, gt_statistic_names, GT_STATISTICS)
NAMES(idle, gt_idle_policy_names, GT_IDLE_POLICIES)

/* The kinds of the library, and auto. */
static const char *choice_request(size_t index)
{
    size_t count = 0;
    while (gt_request_kinds[count])
        count++;
    return index < count ? gt_request_kinds[index] : index == count ? "auto" : NULL;
}

CHOICES(wait, "main", "all")
CHOICES(yes, "yes", "no")
CHOICES(allocator, "torch")
CHOICES(font, "sans", "serif")
CHOICES(unit, "time", "step")
CHOICES(compat, "aipowermeter")
/* Several may be named, with commas. */
CHOICES(chart, "memory", "cpu", "gpu-memory", "gpu", "power", "swap", "disk", "network", "blocks", "processes", "all")

enum command_set {
#define COMMAND(bit, entry, place) bit = 1ul << COMMAND_##bit,
#include "command.def"
#undef COMMAND
    ANALYZE = ANALYZE_FILE | SUB_ANALYZE,
    COMPARE = COMPARE_FILES | SUB_COMPARE,
    LAUNCHING = EXECUTE | RUN,
    TRACKING = LAUNCHING | ATTACH,
    TRACES = MERGE | INFO | EXPORT | PROFILE,
    REPORTING = TRACKING | REPORT | RUNS | DOCTOR | SCHEMA | ANALYZE | COMPARE | INFO | PROFILE,
    ASKING = REPORT | PROFILE | ANALYZE,
    SERVER = PUSH | ASKING,
    EVERY = (1ul << COMMAND_COUNT) - 1,
    UNLISTED = 1ul << COMMAND_COUNT, /* no command, but a property of the option */
};

const struct option option_table[OPTION_COUNT] = {
#define OPTION(option_key, option_type, long, ...)   \
    {.key = #option_key,                             \
     .type = OPTION_##option_type,                   \
     .name = long,                                   \
     .offset = offsetof(struct options, option_key), \
     __VA_ARGS__},
#define GT_OPTION(member, ...) TRACKER_OPTION(__VA_ARGS__)
#define TRACKER_OPTION(option_key, option_type, long, ...) \
    OPTION(option_key, option_type, long, .configurable = true, __VA_ARGS__)
#define GT_OPTION_OR(fallback, member, ...) TRACKER_OPTION(__VA_ARGS__ " Default: " #fallback ".")
#include "schema/option.def"
};

bool option_applies(const struct option *option, const struct command *command)
{
    return option->commands >> command_number(command) & 1;
}

bool option_is_listed(const struct option *option, const struct command *command)
{
    return option_applies(option, command) &&
           !(option->commands & UNLISTED && 1ul << command_number(command) & TRACKING);
}

const char *help_hint(const struct command *command, char *text, size_t size)
{
    snprintf(text, size, "see gpu-tracker %s%s--help", command->name, *command->name ? " " : "");
    return text;
}

/* The words still to be read, and where operands go. */
struct parser {
    struct options *options;
    const struct command *command;
    char **words;
    int count, next;
    int operands;
};

static bool begins(const char *name, const char *word, size_t length)
{
    return name && strncmp(name, word, length) == 0;
}

static bool equals(const char *name, const char *word, size_t length)
{
    return begins(name, word, length) && !name[length];
}

const struct option *option_find(const struct command *command, const char *name, size_t length)
{
    const struct option *found = NULL;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &option_table[i];
        bool is_named = length == 1 ? option->letter == *name
                                    : equals(option->name, name, length) || equals(option->short_word, name, length);
        if (is_named && (!found || option_applies(option, command)))
            found = option;
    }
    return found;
}

/* The option that people call so elsewhere: the first that the command has, with a value where that is meant; NULL:
 * none. */
static const char *other_option(const struct parser *parser, const char *word)
{
    static const char *const names[][2] = {{"V", "version"},
                                           {"u", "ram-unit"},
                                           {"unit", "ram-unit"},
                                           {"memory-unit", "ram-unit"},
                                           {"i", "sleep-time"},
                                           {"interval", "sleep-time"},
                                           {"period", "sleep-time"},
                                           {"s", "sleep-time"},
                                           {"gpus", "gpu-uuids"},
                                           {"live", "status"},
                                           {"port", "listen"},
                                           {"p", "listen"},
                                           {"limit", "top"},
                                           {"n", "top"},
                                           {"n", "n-expected-cores"},
                                           {"verbose", "status"},
                                           {"tdp", "cpu-tdp"},
                                           {"silent", "quiet"},
                                           {"cpus", "n-expected-cores"},
                                           {"cores", "n-expected-cores"},
                                           {"json", "format json"},
                                           {"html", "format html"},
                                           {"gpu", "gpu-uuids"},
                                           {"csv", "tracking-file"},
                                           {"file", "tracking-file"},
                                           {"log", "tracking-file"},
                                           {"output-file", "output"},
                                           {"threshold", "fail-if"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int k = 0; strcmp(word, names[i][0]) == 0 && k < OPTION_COUNT; k++)
            if (option_applies(&option_table[k], parser->command) &&
                equals(option_table[k].name, names[i][1], strcspn(names[i][1], " ")))
                return names[i][1];
    return NULL;
}

/* What to do instead of an option that a command lacks on purpose; NULL: nothing is known. */
static const char *advice_for(const struct command *command, const char *word)
{
    static const struct {
        const struct command *command;
        const char *word, *advice;
    } advices[] = {
        {&command_schema, "sql", "use gpu-tracker push --init --explain to print the statements"},
        {&command_top, "interval", "the tracker chooses it: gpu-tracker run --sleep-time SECONDS"},
        {&command_top, "sleep-time", "it is an option of the tracker: gpu-tracker run --sleep-time SECONDS"},
        {&command_report, "at",
         "ExpResults.interpolate in Python and gt_recording_interpolate in C return values at given times"},
        {&command_report, "overwrite", "--output replaces an earlier report without it"},
        {&command_profile, "overwrite", "--output replaces an earlier report without it"},
        {&command_analyze, "overwrite", "--output replaces an earlier report without it"},
        {&command_compare, "overwrite", "--output replaces an earlier report without it"},
    };
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++)
        if (command == advices[i].command && strcmp(word, advices[i].word) == 0)
            return advices[i].advice;
    return NULL;
}

static int unknown(const struct parser *parser, const char *word)
{
    struct suggestion suggestion = {.word = word};
    const char *dashes = word[0] && word[1] ? "--" : "-";
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (!option_applies(&option_table[i], parser->command))
            continue;
        suggest(&suggestion, option_table[i].name);
        if (option_table[i].short_word)
            suggest(&suggestion, option_table[i].short_word);
    }
    char hint[80];
    help_hint(parser->command, hint, sizeof hint);
    const char *other = other_option(parser, word), *command = parser->command->name;
    bool is_recording = strcmp(word, "tf") == 0 || strcmp(word, "tracking-file") == 0;
    if (is_recording && parser->command->operand == OPERAND_FILE)
        return say_usage(
            "%s has no option '--%s': the recording is a word of its own, as in gpu-tracker %s run.sqlite (%s)",
            command, word, command, hint);
    if (strcmp(word, "pid") == 0 || (strcmp(word, "p") == 0 && strcmp(command, "attach") == 0))
        return say_usage("unknown option '%s%s': a process is a word of its own, as in gpu-tracker %s 1234 (%s)",
                         dashes, word, strcmp(command, "top") == 0 ? command : "attach", hint);
    const char *advice = advice_for(parser->command, word);
    if (advice)
        return say_usage("unknown option '--%s': %s (%s)", word, advice, hint);
    if (strcmp(word, "timeout") == 0 && parser->command->operand == OPERAND_PROGRAM)
        return say_usage(
            "unknown option '--timeout': timeout limits the time, as in gpu-tracker %s -- timeout 5 COMMAND "
            "(%s)",
            command, hint);
    if (other || suggestion.nearest)
        return say_usage("unknown option '%s%s': did you mean '--%s'? (%s)", dashes, word,
                         other ? other : suggestion.nearest, hint);
    return say_usage("unknown option '%s%s' (%s)", dashes, word, hint);
}

/* The option that `length` letters of `word` name: exactly, or as the beginning of one option's names alone. */
static int find_long(const struct parser *parser, const char *word, size_t length, const struct option **ret)
{
    const struct option *found = length > 1 ? option_find(parser->command, word, length) : NULL;
    char name[64];
    if (found && option_applies(found, parser->command)) {
        *ret = found;
        return 0;
    }
    found = NULL;
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    for (int i = 0; i < OPTION_COUNT && !other_option(parser, name); i++) {
        const struct option *option = &option_table[i];
        if (!option_applies(option, parser->command))
            continue;
        if (!begins(option->name, word, length) && !begins(option->short_word, word, length))
            continue;
        if (found)
            return say_usage("option '--%.*s' is ambiguous: '--%s' or '--%s'", (int)length, word, found->name,
                             option->name);
        found = option;
    }
    *ret = found;
    return found ? 0 : unknown(parser, name);
}

static int take_value(struct parser *parser, const struct option *option, const char *value, const char *origin)
{
    if (!value && option->type == OPTION_FLAG)
        value = "true";
    if (!value && parser->next < parser->count)
        value = parser->words[parser->next++];
    if (!value) {
        char hint[80];
        return say_usage("%s needs a value, %s (%s)", origin, option->argument,
                         help_hint(parser->command, hint, sizeof hint));
    }
    const char *earlier = option->type == OPTION_PATH ? *(const char **)place(parser->options, option) : NULL;
    if (earlier && strcmp(earlier, value) != 0)
        return say_usage("%s is given twice, as '%s' and '%s': one file is meant", origin, earlier, value);
    return option_store(parser->options, option, value, origin); /* a list grows, of others the last one counts */
}

static int parse_long(struct parser *parser, const char *word)
{
    size_t length = strcspn(word, "=");
    const struct option *option;
    int status = find_long(parser, word, length, &option);
    if (status)
        return status;
    char origin[72];
    snprintf(origin, sizeof origin, "--%s", option->name);
    return take_value(parser, option, word[length] ? word + length + 1 : NULL, origin);
}

/* "-o FILE", "-oFILE", "-o=FILE" as the original's parser has it, "-hv". */
static int parse_letters(struct parser *parser, const char *letters)
{
    char hint[80];
    size_t length = strcspn(letters, "=");
    if (length > 1 && option_find(parser->command, letters, length)) /* "-tf" */
        return say_usage("unknown option '-%s': did you mean '--%s'? (%s)", letters, letters,
                         help_hint(parser->command, hint, sizeof hint));
    for (; *letters; letters++) {
        const struct option *option = option_find(parser->command, letters, 1);
        const char origin[] = {'-', *letters, '\0'};
        if (!option || !option_applies(option, parser->command))
            return unknown(parser, origin + 1);
        if (option->type != OPTION_FLAG)
            return take_value(parser, option,
                              letters[1] == '=' ? letters + 2
                              : letters[1]      ? letters + 1
                                                : NULL,
                              origin);
        int status = take_value(parser, option, NULL, origin);
        if (status)
            return status;
    }
    return 0;
}

static void take_operands(struct parser *parser, int how_many)
{
    while (how_many-- > 0)
        parser->words[parser->operands++] = parser->words[parser->next++];
}

int options_parse(struct options *options, const struct command *command, int count, char **words, int *operands)
{
    struct parser parser = {options, command, words, count, 0, 0};
    while (parser.next < count) {
        const char *word = words[parser.next];
        int status = 0;
        if (strcmp(word, "--") == 0) {
            parser.next++;
            take_operands(&parser, count - parser.next);
        } else if (strncmp(word, "--", 2) == 0) {
            parser.next++;
            status = parse_long(&parser, word + 2);
        } else if (word[0] == '-' && word[1]) {
            parser.next++;
            status = parse_letters(&parser, word + 1);
        } else {
            take_operands(&parser, command->operand == OPERAND_PROGRAM ? count - parser.next : 1);
        }
        if (status)
            return status;
    }
    *operands = parser.operands;
    return 0;
}

#define VALUE_LIST(key) options->key.value
#define VALUE_TEXT(key) options->key
#define VALUE_PATH VALUE_TEXT
#define VALUE_WORDS VALUE_TEXT
#define VALUE_CHOICE VALUE_TEXT
#define VALUE_NUMBER VALUE_TEXT
#define VALUE_INTEGER VALUE_TEXT
#define VALUE_FLAG VALUE_TEXT

struct gt_tracker_options settings_tracker(const struct options *options)
{
    struct gt_tracker_options ret = GT_INIT(struct gt_tracker_options);
#define GT_OPTION(member, key, type, ...) ret.member = VALUE_##type(key);
#include "schema/option.def"
    ret.machine_root = options->root;
    return ret;
}

int settings_keep_files(const struct gt_tracker_options *settings, struct gt_error *error)
{
    int status = settings->power_model ? gt_given_file_keep(settings->power_model, error) : 0;
    return status < 0 || !settings->carbon_file ? status : gt_given_file_keep(settings->carbon_file, error);
}

struct gt_trace_request request_of(const struct options *options)
{
    struct gt_trace_request request = GT_INIT(struct gt_trace_request);
    request.start = options->start;
    request.end = options->end;
    request.by_step = options->unit && strcmp(options->unit, "step") == 0;
    request.suffixes = (const char *const *)options->suffix.value;
    request.select = options->select;
    request.node = options->node;
    request.threads = options->threads;
    return request;
}

void name_input(int count, char **operands)
{
    static char input[] = "/dev/stdin";
    for (int i = 0; i < count; i++)
        if (strcmp(operands[i], "-") == 0)
            operands[i] = input;
}

static void print_question(void *context, const char *sql)
{
    (void)context;
    printf("%s;\n", sql);
    fflush(stdout);
}

struct gt_job_server_options settings_job(const struct options *options)
{
    return (struct gt_job_server_options){.files = {options->netrc_file, options->token_file},
                                          .explain = options->explain ? print_question : NULL};
}
