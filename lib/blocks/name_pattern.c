#include "blocks/name_pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

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

static int check(const char *pattern, struct gt_error *error)
{
    regex_t regex;
    char cause[128] = "Trailing backslash";
    int code = ends_in_backslash(pattern) ? REG_EESCAPE : regcomp(&regex, pattern, FLAGS);
    if (code == 0) {
        regfree(&regex);
        return 0;
    }
    if (code == REG_ESPACE)
        return gt_error_system(error, ENOMEM, "%s", pattern);
    size_t place = code == REG_EESCAPE ? strlen(pattern) : place_of_mistake(pattern);
    if (code != REG_EESCAPE)
        regerror(code, NULL, cause, sizeof cause);
    return gt_error_set(error, EINVAL, "'%s' is no extended regular expression: %s, at character %zu", pattern, cause,
                        place);
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
