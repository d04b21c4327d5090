/* Text to values, with the checks that the option table asks for. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/grow.h"
#include "base/number.h"
#include "message.h"
#include "option.h"

static void *place(struct options *options, const struct option *option)
{
    return (char *)options + option->offset;
}

static int below(const struct option *option, const char *text, const char *origin)
{
    return say_usage("%s: %s is too small: at least %g", origin, text, option->minimum);
}

static int store_number(double *ret, const struct option *option, const char *text, const char *origin)
{
    double value;
    if (gt_number_double(text, &value) < 0)
        return say_usage("%s: '%s' is not a number", origin, text);
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

static int store_choice(const char **ret, const struct option *option, const char *text, const char *origin)
{
    char list[300] = "";
    struct suggestion suggestion = {.word = text};
    const char *name;
    for (size_t i = 0; (name = option->choice(i)); i++) {
        if (strcmp(name, text) == 0) {
            *ret = name;
            return 0;
        }
        suggest(&suggestion, name);
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "", name);
    }
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
    if (GT_GROW_TO(list->value, list->capacity, list->count + 2) < 0) {
        say("%s: out of memory", origin);
        return EXIT_TRACKER;
    }
    list->value[list->count++] = text;
    list->value[list->count] = NULL;
    options->given[option - option_table] = true;
    return 0;
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
