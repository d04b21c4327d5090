#include "option.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/os/file.h"
#include "base/json.h"
#include "message.h"
#include "job/launch.h"

enum { LONGEST = 4 << 20 };

struct config {
    struct options *options;
    const struct command *command;
    const char *path;
};

static int out_of_memory(const char *origin)
{
    return say_trouble("%s: out of memory", origin);
}

/* A scalar as text, in memory that `options` owns; NULL without memory. */
static char *scalar_text(struct options *options, const json_t *value)
{
    char number[64];
    const char *text = number;
    if (json_is_string(value))
        text = json_string_value(value);
    else if (json_is_boolean(value))
        text = json_is_true(value) ? "true" : "false";
    else if (json_is_integer(value))
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
    else
        snprintf(number, sizeof number, "%.17g", json_number_value(value));
    return options_own(options, strdup(text));
}

/* What a value of an option has to be, or NULL: it is. */
static const char *mismatch(enum option_type type, const json_t *value)
{
    bool is_text = json_is_string(value);
    switch (type) {
    case OPTION_NUMBER: return json_is_number(value) ? NULL : "a number";
    case OPTION_INTEGER: return json_is_integer(value) ? NULL : "a whole number";
    case OPTION_FLAG: return json_is_boolean(value) ? NULL : "true or false";
    case OPTION_LIST:
    case OPTION_WORDS: return is_text ? NULL : "a list of strings";
    case OPTION_TEXT: return is_text || json_is_number(value) ? NULL : "a string"; /* a price, a number of grams */
    default: return is_text ? NULL : "a string";
    }
}

/* ["a", "b"] -> "a,b" */
static int store_words(struct config *config, const struct option *option, const json_t *list, const char *origin)
{
    struct gt_buffer words = {0};
    size_t i;
    json_t *word;
    gt_buffer_text(&words, "");
    json_array_foreach (list, i, word)
        gt_buffer_printf(&words, "%s%s", i ? "," : "", json_string_value(word));
    char *text = NULL;
    gt_buffer_give(&words, words.failed, &text, NULL);
    text = options_own(config->options, text);
    return text ? option_store(config->options, option, text, origin) : out_of_memory(origin);
}

static int store_list(struct config *config, const struct option *option, const json_t *list, const char *origin)
{
    size_t i;
    json_t *item;
    json_array_foreach (list, i, item)
        if (!json_is_string(item))
            return say_usage("%s: must be a list of strings", origin);
    if (option->type == OPTION_WORDS)
        return store_words(config, option, list, origin);
    json_array_foreach (list, i, item) {
        char *text = scalar_text(config->options, item);
        int status = text ? option_add(config->options, option, text, origin) : out_of_memory(origin);
        if (status)
            return status;
    }
    return 0;
}

static int store_value(struct config *config, const struct option *option, const json_t *value)
{
    char origin[PATH_MAX + 64];
    snprintf(origin, sizeof origin, "%s: %s", config->path, option->key);
    if (json_is_array(value) && (option->type == OPTION_LIST || option->type == OPTION_WORDS))
        return store_list(config, option, value, origin);
    const char *wanted = mismatch(option->type, value);
    if (wanted)
        return say_usage("%s: must be %s", origin, wanted);
    char *text = scalar_text(config->options, value);
    return text ? option_store(config->options, option, text, origin) : out_of_memory(origin);
}

static int unknown_key(const struct config *config, const char *key)
{
    /* The original's measuring process, which these set up, does not exist here: files for it serve as they are. */
    static const char *const without_meaning[] = {"resource_usage_file", "n_join_attempts", "join_timeout"};
    for (size_t i = 0; i < sizeof without_meaning / sizeof *without_meaning; i++)
        if (strcmp(key, without_meaning[i]) == 0) {
            say("%s: the key '%s' has no meaning for this command, and is ignored", config->path, key);
            return 0;
        }
    if (strcmp(key, "process_id") == 0)
        return say_usage("%s: the key '%s' has no meaning for this command: remove it", config->path, key);
    struct suggestion suggestion = {.word = key};
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].configurable)
            suggest(&suggestion, option_table[i].key);
    if (suggestion.nearest)
        return say_usage("%s: unknown key '%s': did you mean '%s'?", config->path, key, suggestion.nearest);
    return say_usage("%s: unknown key '%s'", config->path, key);
}

static int apply_key(struct config *config, const char *key, const json_t *value)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &option_table[i];
        if (!option->configurable || strcmp(option->key, key) != 0)
            continue;
        if (json_is_null(value) || config->options->given[i] || !option_applies(option, config->command))
            return 0;
        return store_value(config, option, value);
    }
    return unknown_key(config, key);
}

int config_read(json_t **ret, const char *path)
{
    struct gt_error refusal = {0};
    json_error_t error;
    int fd = gt_given_file_open(path, NULL, &refusal);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file)
        return say_usage("cannot read this configuration file: %s", fd < 0 ? refusal.text : strerror(errno));
    json_t *document = gt_json_read(file, LONGEST, JSON_REJECT_DUPLICATES, &error);
    fclose(file);
    if (!document)
        return say_usage("%s:%d: not valid JSON: %s", path, error.line, error.text);
    if (!json_is_object(document)) {
        json_decref(document);
        return say_usage("%s: must be one JSON object of settings", path);
    }
    *ret = document;
    return 0;
}

static int apply_file(struct options *options, const struct command *command, const char *path)
{
    struct config config = {options, command, path};
    json_t *document = NULL, *value;
    int status = config_read(&document, path);
    const char *key;
    gt_json_foreach_member (document, key, value)
        if (!status)
            status = apply_key(&config, key, value);
    json_decref(document);
    return status;
}

const char *config_variable(const struct option *option, char text[CONFIG_VARIABLE_SIZE])
{
    snprintf(text, CONFIG_VARIABLE_SIZE, CONFIG_ENVIRONMENT_PREFIX "%s", option->key);
    for (char *c = text; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return text;
}

static int apply_environment(struct options *options, const struct command *command)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &option_table[i];
        if (!option->configurable || options->given[i] || !option_applies(option, command))
            continue;
        char name[CONFIG_VARIABLE_SIZE];
        const char *value = getenv(config_variable(option, name));
        if (!value || !*value)
            continue;
        int status = option_store(options, option, value, name);
        if (status)
            return status;
    }
    return 0;
}

/* $XDG_CONFIG_HOME/gpu-tracker/config.json; false when there is none. */
static bool user_file(char *path, size_t size)
{
    const char *folder = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    int length;
    if (folder && *folder == '/')
        length = snprintf(path, size, "%s/gpu-tracker/config.json", folder);
    else if (home && *home == '/')
        length = snprintf(path, size, "%s/.config/gpu-tracker/config.json", home);
    else
        return false;
    return (size_t)length < size && access(path, F_OK) == 0;
}

int config_apply(struct options *options, const struct command *command)
{
    char user[PATH_MAX];
    const char *project = secure_getenv(CONFIG_PROJECT_VARIABLE);
    int status = 0;
    if (options->tconfig)
        status = apply_file(options, command, options->tconfig);
    if (!status && !privilege_is_raised()) /* the user's words are in the command, not in what surrounds it */
        status = apply_environment(options, command);
    if (!status && project && *project)
        status = apply_file(options, command, project);
    if (!status && user_file(user, sizeof user))
        status = apply_file(options, command, user);
    if (!status && options->library.count && privilege_is_raised())
        status = say_usage(
            "--library %s: a program with privileges of its own (setuid, setcap) loads no library by path",
            options->library.value[0]);
    return status;
}
