#include "inputs.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "gpu_tracker.h"
#include "message.h"

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

static const char *find_in_list(const struct option_list *list, const struct output_file *output)
{
    for (size_t i = 0; i < list->count; i++)
        if (names_file(list->value[i], output))
            return list->value[i];
    return NULL;
}

/* Where the option names the file that the report would replace. */
static const char *find_in_option(const struct options *options, const struct option *option,
                                  const struct output_file *output)
{
    const char *place = (const char *)options + option->offset;
    if (option->type == OPTION_LIST)
        return find_in_list((const struct option_list *)place, output);
    const char *text = option->type == OPTION_PATH ? *(const char *const *)place : NULL;
    return text && names_file(text, output) ? text : NULL;
}

static int refuse(const char *output, const char *where)
{
    return say_usage("--output: '%s' is the file of %s: give the report another name", output, where);
}

int inputs_check(const struct options *options, const struct command *command, int count, char *const *operands)
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
        char where[80] = "";
        if (is_output || !find_in_option(options, option, &output))
            continue;
        snprintf(where, sizeof where, "--%s", option->name);
        return refuse(path, where);
    }
    for (int i = 0; i < count && command->operand != OPERAND_PROGRAM; i++)
        if (names_file(operands[i], &output))
            return refuse(path, "the command");
    return 0;
}
