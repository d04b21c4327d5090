#include "blocks/block_injection.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "blocks/block_notes.h"
#include "blocks/block_source.h"

/* Later versions write a warning when they find it, so it is left to the user. */
#define KOKKOS_BEFORE_3_7 "KOKKOS_PROFILE_LIBRARY"
/* Wheels have it in the second: pip install --target leaves their lib out. */
#define LIBRARY "lib/gpu-tracker/libgputracker-blocks.so"
#define LIBRARY_OF_WHEELS "libexec/gpu-tracker/libgputracker-blocks.so"

int gt_block_library(char *ret, size_t size, struct gt_error *error)
{
    char own[PATH_MAX] = "?";
    if (gt_installed_file(ret, size, LIBRARY) == 0 || gt_installed_file(ret, size, LIBRARY_OF_WHEELS) == 0)
        return 0;
    gt_own_path(own);
    return gt_error_set(error, ENOENT,
                        LIBRARY " is in no folder above %s: packages and wheels have it, a program that was copied "
                                "alone does without",
                        own);
}

static int check_regex(const char *option, const char *text, struct gt_error *error)
{
    struct gt_error wrong = {0};
    regex_t regex;
    int status = text ? gt_name_pattern_compile(&regex, text, true, &wrong) : -ENOENT;
    if (status == 0)
        regfree(&regex);
    return text && status < 0 ? gt_error_set(error, -status, "%s: %s", option, wrong.text) : 0;
}

/* The list has no way to quote them. */
static int check_path(const struct gt_block_injection *injection, struct gt_error *error)
{
    for (int i = 0; i < GT_BLOCK_SOURCES; i++)
        if (injection->sources >> i & 1 && gt_block_sources[i].way == GT_BLOCK_WAY_PRELOAD &&
            strpbrk(injection->library, ": "))
            return gt_error_set(error, ENOENT, "%s cannot be preloaded: its path holds a space or a colon",
                                injection->library);
    return 0;
}

int gt_block_injection_check(struct gt_block_injection *injection, struct gt_error *error)
{
    if (!injection->sources)
        return 0;
    int status = check_regex("--blocks-domains", injection->domains, error);
    if (status >= 0)
        status = check_regex("--blocks-names", injection->names, error);
    if (status >= 0)
        status = gt_block_library(injection->library, sizeof injection->library, error);
    return status < 0 ? status : check_path(injection, error);
}

const char *gt_block_source_taken(enum gt_block_source_id id, const char *library)
{
    const struct gt_block_source *source = &gt_block_sources[id];
    const char *value = source->way == GT_BLOCK_WAY_LIBRARY ? getenv(source->variable) : NULL;
    return value && *value && strcmp(value, library) != 0 ? source->variable : NULL;
}

/* Where a path stands in a list that colons and spaces part, or NULL. */
static char *find_in_list(char *list, const char *path)
{
    size_t length = strlen(path);
    for (char *at = list; (at = strstr(at, path)); at += length)
        if ((at == list || strchr(": ", at[-1])) && strchr(": ", at[length])) /* the NUL, too */
            return at;
    return NULL;
}

/* Behind those of the user's, which keep their places. */
static void add_to_list(const char *variable, const char *path)
{
    char *list = NULL, *value = getenv(variable);
    if (value && *value && find_in_list(value, path))
        return;
    if (value && *value && asprintf(&list, "%s:%s", value, path) < 0)
        return;
    setenv(variable, list ? list : path, 1);
    free(list);
}

static void remove_from_list(const char *variable, const char *path)
{
    const char *value = getenv(variable);
    char *list = value ? strdup(value) : NULL, *at = list ? find_in_list(list, path) : NULL;
    if (at) {
        char *rest = at + strlen(path);
        if (at > list && !*rest)
            at--;
        memmove(at, rest + (*rest != '\0' ? 1 : 0), strlen(rest + (*rest != '\0' ? 1 : 0)) + 1);
        if (*list)
            setenv(variable, list, 1);
        else
            unsetenv(variable);
    }
    free(list);
}

static void set_source(enum gt_block_source_id id, const char *library,
                       void (*warn)(void *context, const char *sentence), void *context)
{
    const struct gt_block_source *source = &gt_block_sources[id];
    const char *variable = gt_block_source_taken(id, library);
    char sentence[200];
    if (source->way == GT_BLOCK_WAY_PYTHON)
        return;
    if (variable) {
        snprintf(sentence, sizeof sentence, "%s is set already (by another tool?): %ss are not recorded", variable,
                 source->what);
        warn(context, sentence);
    } else if (source->way == GT_BLOCK_WAY_PRELOAD) {
        add_to_list(source->variable, library);
    } else {
        setenv(source->variable, library, 1);
    }
}

static void set_list(unsigned sources)
{
    char list[200] = "";
    for (int i = 0; i < GT_BLOCK_SOURCES; i++)
        if (sources >> i & 1)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? "," : "",
                     gt_block_sources[i].name);
    setenv(GT_BLOCKS_SOURCES_ENVIRONMENT, list, 1);
}

void gt_block_injection_set(const struct gt_block_injection *injection,
                            void (*warn)(void *context, const char *sentence), void *context)
{
    char most[16];
    snprintf(most, sizeof most, "%d", injection->most);
    if (injection->most)
        setenv(GT_BLOCKS_MOST_ENVIRONMENT, most, 1);
    if (!injection->sources)
        return;
    for (int i = 0; i < GT_BLOCK_SOURCES; i++)
        if (injection->sources >> i & 1)
            set_source(i, injection->library, warn, context);
    set_list(injection->sources);
    if (injection->domains)
        setenv(GT_BLOCKS_DOMAINS_ENVIRONMENT, injection->domains, 1);
    if (injection->names)
        setenv(GT_BLOCKS_NAMES_ENVIRONMENT, injection->names, 1);
}

void gt_block_injection_unset(const struct gt_block_injection *injection)
{
    if (!injection->sources)
        return;
    for (int i = 0; i < GT_BLOCK_SOURCES; i++) {
        const char *variable = gt_block_sources[i].variable, *value = getenv(variable);
        if (injection->sources >> i & 1 && value && strcmp(value, injection->library) == 0)
            unsetenv(variable);
        else if (injection->sources >> i & 1 && gt_block_sources[i].way == GT_BLOCK_WAY_PRELOAD)
            remove_from_list(variable, injection->library);
    }
    unsetenv(GT_BLOCKS_SOURCES_ENVIRONMENT);
}

/* Should the user be told that nothing of it was seen? */
static bool is_missed(const struct gt_block_injection *injection, int id)
{
    enum gt_block_way way = gt_block_sources[id].way;
    bool is_enough = injection->sources & GT_BLOCK_SOURCES_ANY && way != GT_BLOCK_WAY_PRELOAD;
    return injection->sources >> id & 1 && way != GT_BLOCK_WAY_PYTHON && !is_enough &&
           !gt_block_source_taken(id, injection->library);
}

bool gt_block_injection_end(const struct gt_block_injection *injection, const char *folder,
                            void (*warn)(void *context, const char *sentence), void *context)
{
    struct gt_block_notes notes;
    bool is_any_seen = false;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    gt_block_notes_take(&notes, fd, warn, context);
    if (fd >= 0)
        close(fd);
    for (int i = 0; i < GT_BLOCK_SOURCES; i++) {
        is_any_seen |= notes.seen[i];
        if (notes.seen[i] || !is_missed(injection, i))
            continue;
        bool is_older = i == GT_BLOCK_SOURCE_kokkos && !getenv(KOKKOS_BEFORE_3_7);
        gt_warn(warn, context, "no %s%s was seen (gpu-tracker run --help tells why that may be%s%s)",
                gt_block_sources[i].what, injection->domains || injection->names ? " of those domains and names" : "",
                is_older ? "; Kokkos before 3.7 takes " KOKKOS_BEFORE_3_7 "=" : "", is_older ? injection->library : "");
    }
    return is_any_seen;
}
