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
#include "base/os/clock.h"
#include "base/os/file.h"
#include "blocks/block_run.h"
#include "blocks/block_notes.h"

/* Later versions write a warning when they find it, so it is left to the user. */
#define KOKKOS_BEFORE_3_7 "KOKKOS_PROFILE_LIBRARY"
/* Wheels have it in the second: pip install --target leaves their lib out. */
#define LIBRARY "lib/gpu-tracker/libgputracker-blocks.so"
#define LIBRARY_OF_WHEELS "libexec/gpu-tracker/libgputracker-blocks.so"
#define HOOKS "share/gpu-tracker/python/sitecustomize.py"

enum { NEAREST = 3, NAME = 200, MOST_WARNINGS = 3, LIMITS = 3 };

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

static bool has_source(const struct gt_block_injection *injection, int id, enum gt_block_way way)
{
    return injection->sources >> id & 1 && gt_block_sources[id].way == way;
}

static bool has_way(const struct gt_block_injection *injection, enum gt_block_way way)
{
    for (int i = 0; i < GT_BLOCK_SOURCES; i++)
        if (has_source(injection, i, way))
            return true;
    return false;
}

bool gt_block_injection_hooks(const struct gt_block_injection *injection)
{
    return (injection->patterns && injection->patterns[0]) || has_way(injection, GT_BLOCK_WAY_PYTHON);
}

static int check_regex(const char *option, const char *text, bool is_part, struct gt_error *error)
{
    struct gt_error wrong = {0};
    regex_t regex;
    if (!text)
        return 0;
    int status = gt_name_pattern_compile(&regex, text, is_part, &wrong);
    if (status < 0)
        return gt_error_set(error, -status, "%s: %s", option, wrong.text);
    regfree(&regex);
    return 0;
}

int gt_block_injection_check(struct gt_block_injection *injection, struct gt_error *error)
{
    bool has_hooks = gt_block_injection_hooks(injection);
    if (!injection->sources && !has_hooks)
        return 0;
    int status = check_regex("--blocks-domains", injection->domains, true, error);
    if (status == 0)
        status = check_regex("--blocks-names", injection->names, true, error);
    for (size_t i = 0; status == 0 && injection->patterns && injection->patterns[i]; i++)
        status = check_regex("--python-blocks", injection->patterns[i], false, error);
    if (status == 0)
        status = gt_block_library(injection->library, sizeof injection->library, error);
    if (status == 0 && has_way(injection, GT_BLOCK_WAY_PRELOAD) && strpbrk(injection->library, ": "))
        status = gt_error_set(error, ENOENT, "%s cannot be preloaded: its path holds a space or a colon",
                              injection->library);
    if (status < 0 || !has_hooks)
        return status;
    char own[PATH_MAX] = "?";
    if (gt_installed_file(injection->hooks, sizeof injection->hooks, HOOKS) < 0) {
        gt_own_path(own);
        return gt_error_set(error, ENOENT, HOOKS " is in no folder above %s: the installation is not whole", own);
    }
    *strrchr(injection->hooks, '/') = '\0';
    return 0;
}

const char *gt_block_source_taken(enum gt_block_source_id id, const char *library)
{
    const struct gt_block_source *source = &gt_block_sources[id];
    const char *value = source->way == GT_BLOCK_WAY_LIBRARY ? getenv(source->variable) : NULL;
    return value && *value && strcmp(value, library) != 0 ? source->variable : NULL;
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

/* ---- variables ---- */

static void set(struct gt_block_injection *injection, const char *name, const char *value)
{
    const char *former = getenv(name);
    if (!value)
        return;
    injection->variable[injection->variables].name = name;
    injection->variable[injection->variables++].former = former ? strdup(former) : NULL;
    setenv(name, value, 1);
}

void gt_block_injection_unset(struct gt_block_injection *injection)
{
    while (injection->variables) {
        const char *name = injection->variable[--injection->variables].name;
        char *former = injection->variable[injection->variables].former;
        if (former)
            setenv(name, former, 1);
        else
            unsetenv(name);
        free(former);
    }
}

/* Is the path in a list that colons and spaces part? */
static bool is_listed(const char *list, const char *path)
{
    size_t length = strlen(path);
    for (const char *at = list; (at = strstr(at, path)); at += length)
        if ((at == list || strchr(": ", at[-1])) && strchr(": ", at[length])) /* the NUL, too */
            return true;
    return false;
}

/* Before or behind the user's, which keep their places. A run in the command of another finds it there already. */
static void add_to_list(struct gt_block_injection *injection, const char *name, const char *path, bool is_first)
{
    char *list = NULL;
    const char *value = getenv(name);
    bool has_others = value && *value;
    size_t length = strlen(path);
    bool is_there = is_first ? value && strncmp(value, path, length) == 0 && strchr(":", value[length])
                             : value && is_listed(value, path);
    if (is_there || (has_others && asprintf(&list, "%s:%s", is_first ? path : value, is_first ? value : path) < 0))
        return;
    set(injection, name, has_others ? list : path);
    free(list);
}

/* The names of sources, or with `only_python` of those that Python's hooks record. */
static void put_sources(char *list, size_t size, unsigned sources, bool only_python, const char *between)
{
    *list = '\0';
    for (int i = 0; i < GT_BLOCK_SOURCES; i++)
        if (sources >> i & 1 && (!only_python || gt_block_sources[i].way == GT_BLOCK_WAY_PYTHON))
            snprintf(list + strlen(list), size - strlen(list), "%s%s", *list ? between : "", gt_block_sources[i].name);
}

static void set_hooks(struct gt_block_injection *injection)
{
    char sources[200], libraries[PATH_MAX];
    struct gt_buffer patterns = {0};
    for (size_t i = 0; injection->patterns && injection->patterns[i]; i++)
        gt_buffer_printf(&patterns, "%s%s", i ? "\n" : "", injection->patterns[i]);
    put_sources(sources, sizeof sources, injection->sources, true, ",");
    snprintf(libraries, sizeof libraries, "%.*s", (int)(strrchr(injection->library, '/') - injection->library),
             injection->library);
    set(injection, GT_HOOKS_FUNCTIONS_ENVIRONMENT, patterns.data && !patterns.failed ? patterns.data : "");
    set(injection, GT_HOOKS_SOURCES_ENVIRONMENT, sources);
    set(injection, GT_BLOCKS_MEMORY_ENVIRONMENT, injection->allocator);
    add_to_list(injection, "PYTHONPATH", injection->hooks, true);
    set(injection, GT_HOOKS_ENVIRONMENT, libraries);
    gt_buffer_release(&patterns);
}

void gt_block_injection_set(struct gt_block_injection *injection, const char *program,
                            void (*warn)(void *context, const char *sentence), void *context)
{
    char text[200];
    injection->set_ns = gt_clock_ns(CLOCK_MONOTONIC);
    if (has_way(injection, GT_BLOCK_WAY_PRELOAD) && is_linked_with_musl(program)) {
        gt_warn(warn, context,
                "%s is linked with musl, which cannot load the library of roctx and mpi: --blocks-from leaves them out",
                program);
        for (int i = 0; i < GT_BLOCK_SOURCES; i++)
            injection->sources &= has_source(injection, i, GT_BLOCK_WAY_PRELOAD) ? ~(1u << i) : ~0u;
    }
    snprintf(text, sizeof text, "%d", injection->most);
    set(injection, GT_BLOCKS_MOST_ENVIRONMENT, injection->most ? text : NULL);
    if (gt_block_injection_hooks(injection))
        set_hooks(injection);
    if (!injection->sources)
        return;
    for (int i = 0; i < GT_BLOCK_SOURCES; i++) {
        const struct gt_block_source *source = &gt_block_sources[i];
        const char *taken = gt_block_source_taken(i, injection->library);
        if (!(injection->sources >> i & 1))
            continue;
        if (taken)
            gt_warn(warn, context, "%s is set already (by another tool?): %ss are not recorded", taken, source->what);
        else if (source->way == GT_BLOCK_WAY_PRELOAD)
            add_to_list(injection, source->variable, injection->library, false);
        else if (source->way == GT_BLOCK_WAY_LIBRARY)
            set(injection, source->variable, injection->library);
    }
    put_sources(text, sizeof text, injection->sources, false, ",");
    set(injection, GT_BLOCKS_SOURCES_ENVIRONMENT, text);
    set(injection, GT_BLOCKS_DOMAINS_ENVIRONMENT, injection->domains);
    set(injection, GT_BLOCKS_NAMES_ENVIRONMENT, injection->names);
}

/* ---- what the processes have noted ---- */

struct near_name {
    unsigned distance;
    char name[NAME];
};

struct tally {
    const struct gt_block_injection *injection;
    void (*warn)(void *context, const char *sentence);
    void *context;
    size_t patterns;
    bool has_python, is_without, *is_matched;
    struct near_name (*near)[NEAREST]; /* of each pattern, the nearest first; "" is none */
    unsigned seen, off_warnings;       /* seen: bits of sources */
    /* Of the process whose notes are read, and of the program in it now. */
    pid_t process;
    unsigned long long lost, program, dropped[LIMITS], dropped_before[LIMITS];
    char cause[NAME];
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

/* Of several notes of a process on one matter the last one counts. */
static void end_process(struct tally *tally, pid_t next)
{
    static const char *const limits[LIMITS] = {"--blocks-most", "more than 10,000 names", "more than 256 levels"};
    if (tally->process == next)
        return;
    for (int i = 0; i < LIMITS; i++) {
        unsigned long long dropped = tally->dropped_before[i] + tally->dropped[i];
        if (dropped)
            gt_warn(tally->warn, tally->context, "%llu further ranges of process %d were not kept (%s)", dropped,
                    (int)tally->process, limits[i]);
        tally->dropped_before[i] = tally->dropped[i] = 0;
    }
    if (tally->lost)
        gt_warn(tally->warn, tally->context, "%llu calls of blocks of process %d were not kept: %s", tally->lost,
                (int)tally->process, tally->cause);
    tally->lost = 0;
    tally->process = next;
}

static void take_note(void *context, pid_t process, const char *line)
{
    struct tally *tally = context;
    size_t number;
    unsigned distance;
    unsigned long long first, dropped[LIMITS];
    int end = 0;
    end_process(tally, process);
    if (sscanf(line, "lost %llu %n", &first, &end) == 1 && end) {
        tally->lost = first;
        snprintf(tally->cause, sizeof tally->cause, "%s", line + end);
    } else if (sscanf(line, "dropped %llu %llu %llu %llu", &first, &dropped[0], &dropped[1], &dropped[2]) == 4) {
        /* programs that follow each other in a process (exec) count from 0 each */
        for (int i = 0; i < LIMITS; i++) {
            tally->dropped_before[i] += first == tally->program ? 0 : tally->dropped[i];
            tally->dropped[i] = dropped[i];
        }
        tally->program = first;
    } else if (strncmp(line, "source ", 7) == 0) {
        for (int i = 0; i < GT_BLOCK_SOURCES; i++)
            tally->seen |= strcmp(gt_block_sources[i].name, line + 7) == 0 ? 1u << i : 0;
    } else if (strncmp(line, "python ", 7) == 0)
        tally->has_python = true;
    else if (strncmp(line, "without ", 8) == 0) { /* Python cannot hook functions; notes of other processes count */
        if (!tally->is_without)
            gt_warn(tally->warn, tally->context, "in Python %s", line + 8);
        tally->is_without = true;
    } else if (sscanf(line, "matched %zu", &number) == 1 && number < tally->patterns)
        tally->is_matched[number] = true;
    else if (sscanf(line, "near %zu %u %n", &number, &distance, &end) == 2 && end && number < tally->patterns)
        add_near(tally->near[number], distance, line + end);
    else if (strncmp(line, "names ", 6) == 0)
        gt_warn(tally->warn, tally->context,
                "process %d has more than %s names of blocks: calls of further ones were not kept", (int)process,
                line + 6);
    else if (strncmp(line, "off ", 4) == 0 && tally->off_warnings++ < MOST_WARNINGS)
        gt_warn(tally->warn, tally->context, "functions of process %d were not all recorded: %s", (int)process,
                line + 4);
}

/* ---- the end ---- */

/* A program that refuses a preloaded library ends before its main. */
static void explain_end(const struct gt_block_injection *injection, int status,
                        void (*warn)(void *context, const char *sentence), void *context)
{
    if (gt_clock_ns(CLOCK_MONOTONIC) - injection->set_ns > GT_SECOND / 5)
        return;
    if (status == 127)
        gt_warn(warn, context,
                "the command ended at once with status 127: if it is linked with musl, which cannot load a preloaded "
                "library, try it without roctx and mpi in --blocks-from");
    if (status == 1)
        gt_warn(
            warn, context,
            "the command ended at once with status 1: if it was built with AddressSanitizer, which refuses a preloaded "
            "library, try ASAN_OPTIONS=verify_asan_link_order=0");
}

/* Warn of each source outside of Python that was asked for and not seen; with "all" one of them is enough. */
static void warn_of_sources(const struct tally *tally, int status)
{
    const struct gt_block_injection *injection = tally->injection;
    bool misses_preloaded = false;
    for (int i = 0; i < GT_BLOCK_SOURCES; i++) {
        bool is_preloaded = has_source(injection, i, GT_BLOCK_WAY_PRELOAD);
        bool is_asked_for = is_preloaded || (has_source(injection, i, GT_BLOCK_WAY_LIBRARY) &&
                                             !(injection->sources & GT_BLOCK_SOURCES_ANY));
        if (!is_asked_for || tally->seen >> i & 1 || gt_block_source_taken(i, injection->library))
            continue;
        misses_preloaded |= is_preloaded;
        bool is_older = i == GT_BLOCK_SOURCE_kokkos && !getenv(KOKKOS_BEFORE_3_7);
        gt_warn(tally->warn, tally->context, "no %s%s was seen (gpu-tracker run --help tells why that may be%s%s)",
                gt_block_sources[i].what, injection->domains || injection->names ? " of those domains and names" : "",
                is_older ? "; Kokkos before 3.7 takes " KOKKOS_BEFORE_3_7 "=" : "", is_older ? injection->library : "");
    }
    if (misses_preloaded)
        explain_end(injection, status, tally->warn, tally->context);
}

static void warn_of_python(const struct tally *tally)
{
    char missing[200];
    bool is_any_enough = tally->injection->sources & GT_BLOCK_SOURCES_ANY;
    if (!tally->has_python) {
        if (!tally->is_without && (!is_any_enough || tally->patterns))
            gt_warn(tally->warn, tally->context,
                    "no Python process took part (python -I, -E, -S, a frozen program, or one of another user?): it "
                    "has no code blocks");
        return;
    }
    for (size_t i = 0; i < tally->patterns; i++) {
        char nearest[NEAREST * (NAME + 2)] = "";
        const struct near_name *near = tally->near[i];
        if (tally->is_matched[i] || tally->is_without)
            continue;
        for (size_t j = 0; j < NEAREST && *near[j].name; j++)
            snprintf(nearest + strlen(nearest), sizeof nearest - strlen(nearest), "%s%s",
                     j               ? ", "
                     : *near[1].name ? "; the nearest are "
                                     : "; the nearest is ",
                     near[j].name);
        gt_warn(tally->warn, tally->context, "no function that was called matches --python-blocks '%s'%s",
                tally->injection->patterns[i], nearest);
    }
    put_sources(missing, sizeof missing, tally->injection->sources & ~tally->seen, true, ", ");
    if (*missing && !is_any_enough)
        gt_warn(tally->warn, tally->context, "no Python process imported what --blocks-from asks for: %s", missing);
}

void gt_block_injection_end(const struct gt_block_injection *injection, const char *folder, int status,
                            void (*warn)(void *context, const char *sentence), void *context)
{
    struct tally tally = {.injection = injection, .warn = warn, .context = context};
    while (injection->patterns && injection->patterns[tally.patterns])
        tally.patterns++;
    tally.is_matched = calloc(tally.patterns + 1, sizeof *tally.is_matched);
    tally.near = calloc(tally.patterns + 1, sizeof *tally.near);
    if (tally.is_matched && tally.near && gt_block_notes_read(folder, take_note, &tally) == 0) {
        end_process(&tally, 0);
        warn_of_sources(&tally, status);
        if (gt_block_injection_hooks(injection))
            warn_of_python(&tally);
        if (injection->sources & GT_BLOCK_SOURCES_ANY && !(tally.seen & injection->sources))
            gt_warn(warn, context,
                    "--blocks-from all: nothing that any of them marks was seen (gpu-tracker run --help tells why "
                    "that may be)");
    }
    free(tally.is_matched);
    free(tally.near);
}
