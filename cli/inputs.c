#include "inputs.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "message.h"

/* A link to the file is the file. */
static bool is_file(const char *path, const struct stat *output)
{
    struct stat facts;
    return *path && stat(path, &facts) == 0 && facts.st_dev == output->st_dev && facts.st_ino == output->st_ino;
}

/* A path, "NAME=PATH", or "PATH:COLUMN,...". */
static bool names_file(const char *text, const struct stat *output)
{
    char path[PATH_MAX];
    const char *equals = strchr(text, '='), *colon = strrchr(text, ':');
    if (is_file(text, output) || (equals && is_file(equals + 1, output)))
        return true;
    return colon && snprintf(path, sizeof path, "%.*s", (int)(colon - text), text) < (int)sizeof path &&
           is_file(path, output);
}

static const char *find_in_list(const struct option_list *list, const struct stat *output)
{
    for (size_t i = 0; i < list->count; i++)
        if (names_file(list->value[i], output))
            return list->value[i];
    return NULL;
}

/* Where the option names the file that the report would replace. */
static const char *find_in_option(const struct options *options, const struct option *option, const struct stat *output)
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
    struct stat output;
    if (!path || stat(path, &output) < 0 || !S_ISREG(output.st_mode))
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
