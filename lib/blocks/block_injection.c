#include "blocks/block_injection.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "blocks/block_memory.h"
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

/* ---- programs that cannot load the library ---- */

/* Read the dynamic linker of an ELF program of this machine's kind. False for others, and for static programs. */
static bool read_linker(int fd, char *ret, size_t size)
{
    ElfW(Ehdr) head;
    ElfW(Phdr) part;
    if (pread(fd, &head, sizeof head, 0) != sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != (sizeof head == sizeof(Elf64_Ehdr) ? ELFCLASS64 : ELFCLASS32))
        return false;
    for (int i = 0; i < head.e_phnum; i++) {
        if (pread(fd, &part, sizeof part, (off_t)(head.e_phoff + (ElfW(Off))i * head.e_phentsize)) != sizeof part)
            return false;
        if (part.p_type != PT_INTERP)
            continue;
        ssize_t length = pread(fd, ret, part.p_filesz < size ? part.p_filesz : size - 1, (off_t)part.p_offset);
        ret[length > 0 ? length : 0] = '\0';
        return length > 0;
    }
    return false;
}

/* Read the program of a script's first line. */
static bool read_script(int fd, char *ret, size_t size)
{
    ssize_t length = pread(fd, ret, size - 1, 0);
    ret[length > 0 ? length : 0] = '\0';
    if (strncmp(ret, "#!", 2) != 0)
        return false;
    char *begin = ret + 2 + strspn(ret + 2, " \t");
    begin[strcspn(begin, " \t\n")] = '\0';
    memmove(ret, begin, strlen(begin) + 1);
    return true;
}

/* musl's linker ends a program whose preloaded library needs another C library. */
static bool is_linked_with_musl(const char *program)
{
    char path[PATH_MAX];
    bool is_script = true;
    snprintf(path, sizeof path, "%s", program);
    for (int i = 0; i < 5 && is_script; i++) { /* the kernel follows as many scripts */
        int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
            return false;
        is_script = read_script(fd, path, sizeof path);
        bool has_linker = !is_script && read_linker(fd, path, sizeof path);
        close(fd);
        if (has_linker)
            return strncmp(gt_file_name(path), "ld-musl-", strlen("ld-musl-")) == 0;
    }
    return false;
}

void gt_block_injection_fit(struct gt_block_injection *injection, const char *program,
                            void (*warn)(void *context, const char *sentence), void *context)
{
    unsigned preloaded = 0;
    for (int i = 0; i < GT_BLOCK_SOURCES; i++)
        preloaded |= gt_block_sources[i].way == GT_BLOCK_WAY_PRELOAD ? injection->sources & 1u << i : 0;
    if (!preloaded || !is_linked_with_musl(program))
        return;
    gt_warn(warn, context,
            "%s is linked with musl, which cannot load the library of roctx and mpi: --blocks-from leaves them out",
            program);
    injection->sources &= ~preloaded;
}

/* A program that refuses a preloaded library ends before its main. */
static void explain_end(const struct gt_block_injection *injection, int status,
                        void (*warn)(void *context, const char *sentence), void *context)
{
    if (gt_clock_ns(CLOCK_MONOTONIC) - injection->set_ns > GT_SECOND / 5)
        return;
    if (status == 127)
        gt_warn(
            warn, context,
            "the command ended at once with status 127: if it is linked with musl, which cannot load a preloaded library, "
            "try it without roctx and mpi in --blocks-from");
    if (status == 1)
        gt_warn(
            warn, context,
            "the command ended at once with status 1: if it was built with AddressSanitizer, which refuses a preloaded "
            "library, try ASAN_OPTIONS=verify_asan_link_order=0");
}

/* ---- sources ---- */

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

void gt_block_injection_set(struct gt_block_injection *injection, void (*warn)(void *context, const char *sentence),
                            void *context)
{
    char most[16];
    injection->set_ns = gt_clock_ns(CLOCK_MONOTONIC);
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

bool gt_block_injection_end(const struct gt_block_injection *injection, const char *folder, int status,
                            void (*warn)(void *context, const char *sentence), void *context)
{
    struct gt_block_notes notes;
    bool is_any_seen = false, misses_preloaded = false;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    gt_block_notes_take(&notes, fd, warn, context);
    if (fd >= 0)
        close(fd);
    for (int i = 0; i < GT_BLOCK_SOURCES; i++) {
        is_any_seen |= notes.seen[i];
        if (notes.seen[i] || !is_missed(injection, i))
            continue;
        misses_preloaded |= gt_block_sources[i].way == GT_BLOCK_WAY_PRELOAD;
        bool is_older = i == GT_BLOCK_SOURCE_kokkos && !getenv(KOKKOS_BEFORE_3_7);
        gt_warn(warn, context, "no %s%s was seen (gpu-tracker run --help tells why that may be%s%s)",
                gt_block_sources[i].what, injection->domains || injection->names ? " of those domains and names" : "",
                is_older ? "; Kokkos before 3.7 takes " KOKKOS_BEFORE_3_7 "=" : "", is_older ? injection->library : "");
    }
    if (misses_preloaded)
        explain_end(injection, status, warn, context);
    return is_any_seen;
}

#define HOOKS "share/gpu-tracker/python/sitecustomize.py"

enum { NEAREST = 3, NAME = 200, MOST_TOLD = 3 };

/* ---- before the command ---- */

bool gt_python_hooks_are_wanted(const struct gt_python_hooks *hooks)
{
    return (hooks->patterns && hooks->patterns[0]) || hooks->sources[0];
}

static int find_folders(struct gt_python_hooks *hooks, struct gt_error *error)
{
    char own[PATH_MAX] = "?";
    int status = gt_block_library(hooks->libraries, sizeof hooks->libraries, error);
    if (status < 0)
        return status;
    if (gt_installed_file(hooks->folder, sizeof hooks->folder, HOOKS) < 0) {
        gt_own_path(own);
        return gt_error_set(error, ENOENT, HOOKS " is in no folder above %s: the installation is not whole", own);
    }
    *strrchr(hooks->libraries, '/') = *strrchr(hooks->folder, '/') = '\0';
    return 0;
}

int gt_python_hooks_check(struct gt_python_hooks *hooks, struct gt_error *error)
{
    int status = 0;
    if (!gt_python_hooks_are_wanted(hooks))
        return 0;
    for (size_t i = 0; status == 0 && hooks->patterns && hooks->patterns[i]; i++) {
        regex_t regex;
        if ((status = gt_name_pattern_compile(&regex, hooks->patterns[i], false, error)) == 0)
            regfree(&regex);
    }
    return status < 0 ? status : find_folders(hooks, error);
}

void gt_python_hooks_sources(struct gt_python_hooks *hooks, unsigned sources)
{
    size_t count = 0;
    for (size_t i = 0; i < GT_BLOCK_SOURCES; i++)
        if (sources >> i & 1 && gt_block_sources[i].way == GT_BLOCK_WAY_PYTHON)
            hooks->sources[count++] = gt_block_sources[i].name;
    hooks->sources[count] = NULL;
    hooks->is_any_enough = sources & GT_BLOCK_SOURCES_ANY;
}

static void set_words(const char *variable, const char *const *words, char between)
{
    struct gt_buffer text = {0};
    for (size_t i = 0; words && words[i]; i++)
        gt_buffer_printf(&text, "%.*s%s", i > 0, &between, words[i]);
    setenv(variable, text.data && !text.failed ? text.data : "", 1);
    gt_buffer_release(&text);
}

/* Before what is there; a run in the command of another finds it there already. */
static void set_path(const char *folder)
{
    const char *path = getenv("PYTHONPATH"), *const both[] = {folder, path && *path ? path : NULL, NULL};
    size_t length = strlen(folder);
    bool has = path && strncmp(path, folder, length) == 0 && (path[length] == ':' || !path[length]);
    if (!has)
        set_words("PYTHONPATH", both, ':');
}

void gt_python_hooks_set(const struct gt_python_hooks *hooks)
{
    if (!gt_python_hooks_are_wanted(hooks))
        return;
    set_words(GT_HOOKS_FUNCTIONS_ENVIRONMENT, hooks->patterns, '\n');
    set_words(GT_HOOKS_SOURCES_ENVIRONMENT, hooks->sources, ',');
    if (hooks->allocator)
        setenv(GT_BLOCKS_MEMORY_ENVIRONMENT, hooks->allocator, 1);
    set_path(hooks->folder);
    setenv(GT_HOOKS_ENVIRONMENT, hooks->libraries, 1);
}

/* The path of Python stays: what is on it does nothing without the others. */
void gt_python_hooks_unset(void)
{
    unsetenv(GT_HOOKS_ENVIRONMENT);
    unsetenv(GT_HOOKS_FUNCTIONS_ENVIRONMENT);
    unsetenv(GT_HOOKS_SOURCES_ENVIRONMENT);
    unsetenv(GT_BLOCKS_MEMORY_ENVIRONMENT);
}

/* ---- after it ---- */

struct near_name {
    unsigned distance;
    char name[NAME];
};

/* Of all processes. */
struct tally {
    const struct gt_python_hooks *hooks;
    size_t patterns;
    bool has_python, is_without, *is_matched;
    struct near_name (*near)[NEAREST]; /* of each pattern, the nearest first; "" is none */
    unsigned seen;                     /* bits: sources */
    unsigned told;
    struct {
        pid_t process;
        unsigned long long calls;
        char cause[NAME];
    } lost; /* of the process whose notes are read */
    void (*warn)(void *context, const char *sentence);
    void *context;
};

static void add_near(struct near_name near[NEAREST], unsigned distance, const char *name)
{
    size_t at = NEAREST;
    for (size_t i = 0; i < NEAREST; i++)
        if (strcmp(near[i].name, name) == 0)
            return;
    while (at && (!*near[at - 1].name || near[at - 1].distance > distance))
        at--;
    if (at == NEAREST)
        return;
    memmove(&near[at + 1], &near[at], (NEAREST - 1 - at) * sizeof *near);
    near[at].distance = distance;
    snprintf(near[at].name, NAME, "%s", name);
}

static void take_source(struct tally *tally, const char *name)
{
    for (unsigned i = 0; tally->hooks->sources[i]; i++)
        if (strcmp(tally->hooks->sources[i], name) == 0)
            tally->seen |= 1u << i;
}

/* A Python whose functions cannot be hooked; what other processes note still counts. */
static void take_without(struct tally *tally, const char *what)
{
    if (!tally->is_without)
        gt_warn(tally->warn, tally->context, "in Python %s", what);
    tally->is_without = true;
}

static void tell_lost(struct tally *tally)
{
    if (tally->lost.calls)
        gt_warn(tally->warn, tally->context, "%llu calls of blocks of process %d were not kept: %s", tally->lost.calls,
                (int)tally->lost.process, tally->lost.cause);
    tally->lost.calls = 0;
}

/* Of several notes of a process the last one counts. */
static void take_lost(struct tally *tally, pid_t process, unsigned long long calls, const char *cause)
{
    if (tally->lost.process != process)
        tell_lost(tally);
    tally->lost.process = process;
    tally->lost.calls = calls;
    snprintf(tally->lost.cause, sizeof tally->lost.cause, "%s", cause);
}

static void take_note(void *context, pid_t process, const char *line)
{
    struct tally *tally = context;
    size_t number;
    unsigned distance;
    unsigned long long calls;
    int end = 0;
    if (sscanf(line, "lost %llu %n", &calls, &end) == 1 && end)
        take_lost(tally, process, calls, line + end);
    else if (strncmp(line, "python ", 7) == 0)
        tally->has_python = true;
    else if (strncmp(line, "without ", 8) == 0)
        take_without(tally, line + 8);
    else if (strncmp(line, "source ", 7) == 0)
        take_source(tally, line + 7);
    else if (sscanf(line, "matched %zu", &number) == 1 && number < tally->patterns)
        tally->is_matched[number] = true;
    else if (sscanf(line, "near %zu %u %n", &number, &distance, &end) == 2 && end && number < tally->patterns)
        add_near(tally->near[number], distance, line + end);
    else if (strncmp(line, "names ", 6) == 0)
        gt_warn(tally->warn, tally->context,
                "process %d has more than %s names of blocks: calls of further ones were not kept", (int)process,
                line + 6);
    else if (strncmp(line, "off ", 4) == 0 && tally->told++ < MOST_TOLD)
        gt_warn(tally->warn, tally->context, "functions of process %d were not all recorded: %s", (int)process,
                line + 4);
}

static void tell_pattern(const struct tally *tally, size_t i)
{
    char nearest[NEAREST * (NAME + 2)] = "";
    const char *begin = *tally->near[i][1].name ? "; the nearest are " : "; the nearest is ";
    for (size_t j = 0; j < NEAREST && *tally->near[i][j].name; j++)
        snprintf(nearest + strlen(nearest), sizeof nearest - strlen(nearest), "%s%s", j ? ", " : begin,
                 tally->near[i][j].name);
    gt_warn(tally->warn, tally->context, "no function that was called matches --python-blocks '%s'%s",
            tally->hooks->patterns[i], nearest);
}

static void tell_sources(const struct tally *tally)
{
    char list[200] = "";
    for (unsigned i = 0; tally->hooks->sources[i]; i++)
        if (!(tally->seen >> i & 1))
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "",
                     tally->hooks->sources[i]);
    if (*list && !tally->hooks->is_any_enough)
        gt_warn(tally->warn, tally->context, "no Python process imported what --blocks-from asks for: %s", list);
}

static void tell(const struct tally *tally)
{
    if (!tally->has_python && (tally->is_without || (tally->hooks->is_any_enough && !tally->patterns)))
        return;
    if (!tally->has_python) {
        gt_warn(tally->warn, tally->context,
                "no Python process took part (python -I, -E, -S, a frozen program, or one of another user?): it has no "
                "code blocks");
        return;
    }
    for (size_t i = 0; i < tally->patterns; i++)
        if (!tally->is_matched[i] && !tally->is_without)
            tell_pattern(tally, i);
    tell_sources(tally);
}

bool gt_python_hooks_end(const struct gt_python_hooks *hooks, const char *folder,
                         void (*warn)(void *context, const char *sentence), void *context)
{
    struct tally tally = {.hooks = hooks, .warn = warn, .context = context};
    while (hooks->patterns && hooks->patterns[tally.patterns])
        tally.patterns++;
    tally.is_matched = calloc(tally.patterns + 1, sizeof *tally.is_matched);
    tally.near = calloc(tally.patterns + 1, sizeof *tally.near);
    if (tally.is_matched && tally.near && gt_hook_notes_read(folder, take_note, &tally) == 0) {
        tell_lost(&tally);
        if (gt_python_hooks_are_wanted(hooks))
            tell(&tally);
    }
    free(tally.is_matched);
    free(tally.near);
    gt_hook_notes_remove(folder);
    return tally.seen != 0;
}
