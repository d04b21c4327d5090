#include "blocks/block_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

const struct gt_block_source gt_block_sources[GT_BLOCK_SOURCES] = {
#define SOURCE(name, way, variable, what) {#name, "blocks: " #name, GT_BLOCK_WAY_##way, variable, what},
#include "blocks/block_source.def"
};

static unsigned sources_of(const char *word, size_t length)
{
    unsigned all = GT_BLOCK_SOURCES_ANY;
    for (int i = 0; i < GT_BLOCK_SOURCES; i++) {
        if (strlen(gt_block_sources[i].name) == length && strncmp(gt_block_sources[i].name, word, length) == 0)
            return 1u << i;
        all |= gt_block_sources[i].way == GT_BLOCK_WAY_PRELOAD ? 0 : 1u << i;
    }
    return length == 3 && strncmp(word, "all", 3) == 0 ? all : 0;
}

int gt_block_sources_read(const char *text, unsigned *ret, struct gt_error *error)
{
    char list[200] = "";
    *ret = 0;
    for (const char *word = text;; word++) {
        word += strspn(word, " ");
        size_t length = strcspn(word, ", ");
        unsigned found = sources_of(word, length);
        if (!found) {
            for (int i = 0; i < GT_BLOCK_SOURCES; i++)
                snprintf(list + strlen(list), sizeof list - strlen(list), "%s, ", gt_block_sources[i].name);
            return gt_error_set(error, EINVAL, "'%.*s' is not a source of code blocks; choose from %sall", (int)length,
                                word, list);
        }
        *ret |= found;
        word += length;
        word += strspn(word, " ");
        if (*word && *word != ',')
            return gt_error_set(error, EINVAL, "'%s': names of sources are parted by commas", text);
        if (!*word)
            return 0;
    }
}

const char *gt_block_source_name(size_t index)
{
    return index < GT_BLOCK_SOURCES ? gt_block_sources[index].name : index == GT_BLOCK_SOURCES ? "all" : NULL;
}

enum { FLAGS = REG_EXTENDED | REG_NOSUB };

/* regcomp does not tell where: it is behind the longest beginning that is a pattern. */
static size_t place_of_mistake(const char *pattern)
{
    size_t length = strlen(pattern);
    char *part = strdup(pattern);
    while (part && length) {
        regex_t regex;
        part[--length] = '\0';
        if (regcomp(&regex, part, FLAGS) == 0) {
            regfree(&regex);
            break;
        }
    }
    free(part);
    return length + 1;
}

/* glibc compiles "a\" and then no name matches it. */
static bool ends_in_backslash(const char *pattern)
{
    size_t backslashes = 0, length = strlen(pattern);
    while (backslashes < length && pattern[length - 1 - backslashes] == '\\')
        backslashes++;
    return backslashes % 2;
}

/* Past "[...]", in which a backslash stands for itself. */
static const char *behind_bracket(const char *at)
{
    at += at[1] == '^' ? 2 : 1;
    at += *at == ']';
    while (*at && *at != ']') {
        const char *end = at[0] == '[' && at[1] == ':' ? strstr(at, ":]") : NULL;
        at = end ? end + 2 : at + 1;
    }
    return at;
}

/* Returns where what other languages have stands, "\\d" for one: here it would be the letter alone. NULL: nowhere. */
static const char *foreign_escape(const char *pattern)
{
    for (const char *at = pattern; *at; at++) {
        if (*at == '[' && !*(at = behind_bracket(at)))
            return NULL;
        if (*at == '\\' && *++at && strchr("acdefghijklmnopqrtuvxyzACDEFGHIJKLMNOPQRTUVXYZ0", *at))
            return at - 1;
    }
    return NULL;
}

static int check(const char *pattern, struct gt_error *error)
{
    regex_t regex;
    char cause[128] = "Trailing backslash";
    int code = ends_in_backslash(pattern) ? REG_EESCAPE : regcomp(&regex, pattern, FLAGS);
    if (code == 0) {
        const char *foreign = foreign_escape(pattern);
        regfree(&regex);
        return !foreign ? 0
                        : gt_error_set(error, EINVAL,
                                       "'%s' is not an extended regular expression: it has no %.2s, at character %zu",
                                       pattern, foreign, (size_t)(foreign - pattern) + 1);
    }
    if (code == REG_ESPACE)
        return gt_error_system(error, ENOMEM, "%s", pattern);
    size_t place = code == REG_EESCAPE ? strlen(pattern) : place_of_mistake(pattern);
    if (code != REG_EESCAPE)
        regerror(code, NULL, cause, sizeof cause);
    return gt_error_set(error, EINVAL, "'%s' is not an extended regular expression: %s, at character %zu", pattern,
                        cause, place);
}

int gt_name_pattern_compile(regex_t *ret, const char *pattern, bool is_part, struct gt_error *error)
{
    struct gt_buffer whole = {0};
    int status = check(pattern, error); /* by itself: within other brackets ")(" would be right */
    if (status < 0)
        return status;
    gt_buffer_printf(&whole, is_part ? "%s" : "^(%s)$", pattern);
    status = whole.failed || regcomp(ret, whole.data, FLAGS) ? -ENOMEM : 0;
    gt_buffer_release(&whole);
    return status < 0 ? gt_error_system(error, -status, "%s", pattern) : 0;
}

bool gt_name_pattern_matches(const regex_t *pattern, const char *name)
{
    return regexec(pattern, name, 0, NULL, 0) == 0;
}
