/* gpu-tracker: finds the command, reads its options, runs it. */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/agent.h"
#include "analyse/export/export.h"
#include "api/program.h"
#include "command.h"
#include "gpu_tracker.h"
#include "job/launch.h"
#include "message.h"
#include "option.h"
#include "schema/unit.h"
#include "trace/source.h"
#include "job/track.h"

/* ---- the table of commands ---- */

const struct command *const commands[COMMAND_COUNT] = {
#define COMMAND(bit, entry, place) &command_##entry,
#include "command.def"
#undef COMMAND
};

bool command_is_listed(int number)
{
    enum { OTHER, LISTED };
    static const char places[COMMAND_COUNT] = {
#define COMMAND(bit, entry, place) place,
#include "command.def"
#undef COMMAND
    };
    return places[number] == LISTED;
}

/* Returns how many of `words` the name consists of; 0 when they are not it. */
static int match(const char *name, int count, char *const *words)
{
    for (int used = 0; used < count; used++) {
        size_t length = strcspn(name, " ");
        if (!length || strlen(words[used]) != length || strncmp(name, words[used], length) != 0)
            return 0;
        if (!name[length])
            return used + 1;
        name += length + 1;
    }
    return 0;
}

const struct command *command_find(int count, char *const *words, int *used)
{
    const struct command *found = NULL;
    *used = 0;
    for (int i = 0; i < COMMAND_COUNT; i++) {
        int length = match(commands[i]->name, count, words);
        if (length > *used) {
            found = commands[i];
            *used = length;
        }
    }
    return found;
}

int command_number(const struct command *command)
{
    int number = 0;
    while (commands[number] != command)
        number++;
    return number;
}

bool command_is_group(const char *word)
{
    size_t length = strlen(word);
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (!strncmp(commands[i]->name, word, length) && commands[i]->name[length] == ' ')
            return true;
    return false;
}

/* ---- files that a command reads ---- */

struct output_file {
    const char *path;
    bool is_there;
    struct stat facts;
};

/* A link to the file is the file. */
static bool is_file(const char *path, const struct output_file *output)
{
    struct stat facts;
    return *path && output->is_there && stat(path, &facts) == 0 && facts.st_dev == output->facts.st_dev &&
           facts.st_ino == output->facts.st_ino;
}

/* "run.csv" is several files: with "run.blocks.csv" and so on. */
static bool is_part(const char *path, const struct output_file *output)
{
    char name[PATH_MAX];
    bool is_one = false;
    for (size_t i = 0; !is_one && gt_recording_part(path, i, name, sizeof name) >= 0; i++)
        is_one = strcmp(name, output->path) == 0 || is_file(name, output);
    return is_one;
}

/* A path, "NAME=PATH", or "PATH:COLUMN,...". */
static bool names_file(const char *text, const struct output_file *output)
{
    char path[PATH_MAX];
    const char *equals = strchr(text, '='), *colon = strrchr(text, ':');
    if (is_file(text, output) || is_part(text, output))
        return true;
    if (equals && (is_file(equals + 1, output) || is_part(equals + 1, output)))
        return true;
    return colon && snprintf(path, sizeof path, "%.*s", (int)(colon - text), text) < (int)sizeof path &&
           is_file(path, output);
}

/* Returns true if the option names the file that the report would replace. */
static bool option_names_file(const struct options *options, const struct option *option,
                              const struct output_file *output)
{
    const char *place = (const char *)options + option->offset;
    const struct option_list *list = (const struct option_list *)place;
    for (size_t i = 0; option->type == OPTION_LIST && i < list->count; i++)
        if (names_file(list->value[i], output))
            return true;
    const char *text = option->type == OPTION_PATH ? *(const char *const *)place : NULL;
    return text && names_file(text, output);
}

/* Recordings and traces are data that nothing brings back. */
static int data_check(const struct options *options, const struct command *command)
{
    const char *path = options->output;
    bool may_overwrite = option_applies(&option_table[OPTION_NUMBER_overwrite], command);
    if (!path || strcmp(path, "-") == 0 || (may_overwrite && options->overwrite))
        return 0;
    const char *kind = gt_recording_is_at(path) ? "recording"
                       : gt_trace_is_at(path)   ? "trace or profile"
                       : gt_export_is_at(path)  ? "database"
                                                : NULL;
    if (!kind)
        return 0;
    return say_usage("--output: '%s' is a %s: give the report another name%s", path, kind,
                     may_overwrite ? ", or --overwrite" : "");
}

static int inputs_check(const struct options *options, const struct command *command, int count, char *const *operands)
{
    const char *path = options->output ? options->output : options->merged;
    struct output_file output = {.path = path};
    if (!path)
        return 0;
    output.is_there = stat(path, &output.facts) == 0;
    if (output.is_there && !S_ISREG(output.facts.st_mode))
        return 0;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &option_table[i];
        bool is_output = i == OPTION_NUMBER_output || i == OPTION_NUMBER_merged;
        if (!is_output && option_names_file(options, option, &output))
            return say_usage("--output: '%s' is the file of --%s: give the report another name", path, option->name);
    }
    for (int i = 0; i < count && command->operand != OPERAND_PROGRAM; i++)
        if (names_file(operands[i], &output))
            return say_usage("--output: '%s' is the file of the command: give the report another name", path);
    return data_check(options, command);
}

/* ---- the program ---- */

/* A descriptor 0, 1 or 2 that was closed must not become one of ours. */
static void occupy_standard_streams(void)
{
    while (true) {
        int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (fd > STDERR_FILENO || fd < 0) {
            close(fd);
            return;
        }
    }
}

/* "sub-track" alone, or with something that is none of its commands. */
static int incomplete_command(const char *group, const char *word)
{
    if (word && (!strcmp(word, "--help") || !strcmp(word, "-h"))) {
        help_print_group(stdout, group);
        return 0;
    }
    struct suggestion suggestion = {.word = word ? word : ""};
    size_t length = strlen(group);
    for (int i = 0; i < COMMAND_COUNT && word; i++)
        if (strncmp(commands[i]->name, group, length) == 0 && commands[i]->name[length] == ' ')
            suggest(&suggestion, commands[i]->name + length + 1);
    if (suggestion.nearest)
        return say_usage("%s: unknown command '%s': did you mean '%s %s'? (see gpu-tracker %s --help)", group, word,
                         group, suggestion.nearest, group);
    return say_usage("%s: %s%s%s (see gpu-tracker %s --help)", group, word ? "unknown command '" : "which command",
                     word ? word : "", word ? "'" : "?", group);
}

/* Returns the name of the command that people call so elsewhere. */
static const char *near_name(const char *word)
{
    static const char *const names[][2] = {{"diff", "compare"},
                                           {"show", "report"},
                                           {"export", "report"},
                                           {"summary", "report"},
                                           {"chart", "plot"},
                                           {"draw", "plot"},
                                           {"graph", "plot"},
                                           {"monitor", "top"},
                                           {"live", "top"},
                                           {"history", "runs"},
                                           {"list", "runs"},
                                           {"blocks", "analyze"},
                                           {"merge", "timeline merge"},
                                           {"start", "run"},
                                           {"exec", "run"},
                                           {"execute", "run"},
                                           {"track", "run"},
                                           {"record", "run"},
                                           {"follow", "attach"},
                                           {"check", "doctor"},
                                           {"info", "doctor"},
                                           {"exporter", "serve"},
                                           {"trace", "timeline info"},
                                           {"html", "report"},
                                           {"stats", "report"},
                                           {"view", "report"},
                                           {"open", "report"},
                                           {"status", "top"},
                                           {"watch", "top"},
                                           {"ps", "top"},
                                           {"request", "report --request"},
                                           {"version", "--version"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(word, names[i][0]) == 0)
            return names[i][1];
    return NULL;
}

static bool has_suffix(const char *word, const char *const *suffixes)
{
    const char *slash = strrchr(word, '/'), *suffix = strrchr(slash ? slash : word, '.');
    for (; suffix && *suffixes; suffixes++)
        if (strcmp(suffix, *suffixes) == 0)
            return true;
    return false;
}

static int unknown_command(const char *word)
{
    static const char *const recordings[] = {".sqlite", ".csv", NULL};
    if (has_suffix(word, recordings))
        return say_usage("unknown command '%s': did you mean 'report %s'? (see gpu-tracker --help)", word, word);
    struct suggestion suggestion = {.word = word, .nearest = near_name(word)};
    const char *analysis, *help;
    for (size_t i = 0; (analysis = command_profile.choice(i, &help)); i++)
        if (!suggestion.nearest && strcmp(analysis, word) == 0)
            return say_usage("unknown command '%s': did you mean 'profile %s'? (see gpu-tracker profile --help)", word,
                             word);
    for (int i = 0; i < COMMAND_COUNT && !near_name(word); i++)
        suggest(&suggestion, commands[i]->name);
    if (suggestion.nearest)
        return say_usage("unknown command '%s': did you mean '%s'? (see gpu-tracker --help)", word, suggestion.nearest);
    return say_usage("unknown command '%s' (gpu-tracker run -- %s ... tracks a program; see gpu-tracker --help)", word,
                     word);
}

/* A missing file with the suffix of a report or picture, after the input: probably meant for --output. */
static bool is_output(const struct command *command, const char *word)
{
    static const char *const made[] = {".html", ".md", ".txt", ".svg", ".png", ".pdf", NULL};
    bool takes_output = option_applies(&option_table[OPTION_NUMBER_output], command);
    return takes_output && command->operand == OPERAND_FILE && has_suffix(word, made) && access(word, F_OK) < 0;
}

/* A unit as a word of its own: "--sleep-time 100 ms". */
static bool is_unit_of_number(const struct options *options, const char *word)
{
    double factor;
    return options->typed[OPTION_NUMBER_sleep_time] && gt_unit_time(word, &factor, NULL) >= 0 && access(word, F_OK) < 0;
}

static int check_operands(const struct options *options, const struct command *command, int count, char **operands)
{
    char hint[80];
    help_hint(command, hint, sizeof hint);
    int used;
    pid_t pid;
    bool is_nameless = !*command->name, is_too_many = command->most >= 0 && count > command->most;
    const char *extra = is_too_many ? operands[command->most] : NULL;
    for (int i = 0; i < count && command->operand != OPERAND_PROGRAM; i++)
        if (is_unit_of_number(options, operands[i]))
            return say_usage("unexpected argument '%s': a number and its unit are one word: --sleep-time 100%s",
                             operands[i], operands[i]);
    if (is_too_many && is_nameless && command_find(count, operands, &used))
        return say_usage("'%s' is a command and comes before the options (%s)", operands[0], hint);
    if (count > command->least && count > 1 && is_output(command, operands[count - 1]))
        return say_usage("%s: %s: No such file or directory: did you mean -o %s? (%s)", command->name,
                         operands[count - 1], operands[count - 1], hint);
    if (is_too_many && is_nameless)
        return say_usage("unexpected argument '%s' (gpu-tracker run -- %s ... tracks a program; %s)", extra, extra,
                         hint);
    if (is_too_many && command == &command_serve)
        return say_usage("unexpected argument '%s': did you mean --listen 127.0.0.1:9417? (%s)", extra, hint);
    if (is_too_many && command == &command_attach && !option_pid(operands[0], &pid))
        return say_usage("'%s' is not a process number: did you mean gpu-tracker run -- %s %s? (%s)", operands[0],
                         operands[0], extra, hint);
    if (is_too_many && command_find(1, operands + command->most, &used))
        return say_usage("unexpected argument '%s': did you mean gpu-tracker %s --help? (%s)", extra, extra, hint);
    if (is_too_many)
        return say_usage("unexpected argument '%s' (%s)", extra, hint);
    if (count < command->least)
        return say_usage("%s: %s is missing (%s)", command->name, command->synopsis, hint);
    return 0;
}

static int run(struct options *options, const struct command *command, int count, char **words)
{
    int operands;
    int status = options_parse(options, command, count, words, &operands);
    if (status)
        return status;
    if (options->help || (options->execute && !strcmp(options->execute, "--help"))) { /* no program has such a name */
        bool is_overview = command == &command_execute && !options->execute;
        is_overview ? help_print_overview(stdout) : help_print(stdout, command);
        return 0;
    }
    if (options->version) {
        printf("gpu-tracker %s\n", gt_version());
        return 0;
    }
    memcpy(options->typed, options->given, sizeof options->typed);
    status = check_operands(options, command, operands, words);
    if (!status)
        status = config_apply(options, command);
    if (!status)
        status = past_resolve(options, command, operands, words);
    if (!status)
        status = inputs_check(options, command, operands, words);
    words[operands] = NULL;
    return status ? status : command->run(options, operands, words);
}

/* Before anything but the name of the command is looked at. NULL: the agent. */
static int give_up_privileges(const struct command *command)
{
    bool executes = command == &command_execute || command == &command_run || command == &command_block;
    bool follows = !command || command == &command_execute || command == &command_run || command == &command_attach ||
                   command == &command_doctor;
    return privilege_drop(follows, executes);
}

/* Threads of libraries (fonts, drivers) get the stack size of `ulimit -s`, and need more than 64 KiB. */
static void widen_stacks(void)
{
    enum { STACK = 1 << 20 };
    size_t size = 0;
    pthread_attr_t attributes;
    if (pthread_getattr_default_np(&attributes))
        return;
    if (pthread_attr_getstacksize(&attributes, &size) == 0 && size < STACK &&
        pthread_attr_setstacksize(&attributes, STACK) == 0)
        pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

int main(int count, char **words)
{
    struct options options = {0};
    const struct command *command = &command_execute;
    int used = 0;
    occupy_standard_streams();
    widen_stacks();
    if (count < 1)
        return EXIT_USAGE;
    count--;
    words++;
    bool is_agent = count && strcmp(words[0], "agent") == 0,
         asks_for_words = count && strcmp(words[0], "complete") == 0;
    bool is_named = count && !is_agent && !asks_for_words && words[0][0] != '-';
    if (!count) {
        help_print_overview(stderr);
        return EXIT_USAGE;
    }
    if (is_named)
        command = command_find(count, words, &used);
    int privilege = give_up_privileges(is_agent ? NULL : command);
    if (privilege)
        return privilege;
    if (is_agent)
        return agent_main(count - 1, words + 1);
    if (asks_for_words)
        return complete_main(count - 1, words + 1);
    if (is_named) {
        if (!command && command_is_group(words[0]))
            return incomplete_command(words[0], count > 1 ? words[1] : NULL);
        if (!command)
            return unknown_command(words[0]);
    }
    int status = run(&options, command, count - used, words + used);
    options_release(&options);
    if (fflush(stdout) != 0 && !status) {
        say("cannot write to standard output");
        status = EXIT_TRACKER;
    }
    return status;
}
