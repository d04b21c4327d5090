#include "hooks.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/grow.h"
#include "base/map.h"
#include "blocks/block.h"
#include "blocks/block_notes.h"
#include "blocks/block_source.h"
#include "ranges.h"

enum {
    MOST_NAMES = 10000,
    MOST_COMPARED = 20000,
    NEAREST = 3,
    LENGTH = 1000,
    COMPARED_LENGTH = 100,
    NOTE_NS = 1000000000
};

/* The greatest figures of an allocator at the borders of all calls of a block, in bytes; -1: not known. */
struct memory {
    long long allocated, reserved, least, most;
    bool is_changed; /* since the last note */
};

struct near_name {
    char *name; /* NULL: none */
    unsigned distance;
};

struct kept_name {
    char *text;
    bool is_judged, is_off; /* by --blocks-names */
    struct memory memory;
};

struct pattern {
    regex_t regex;
    char *text; /* without backslashes, for comparing */
    bool is_matched;
    unsigned compared;
    struct near_name near[NEAREST]; /* the nearest first */
};

/* Interpreters have one set of hooks in a process, and their callbacks no object to hand over. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct pattern *pattern;
static size_t pattern_count;
static struct kept_name *names;
static size_t name_count, name_capacity;
static struct gt_map numbers; /* of names, by hash */
static int64_t noted_ns;      /* the last notes on memory */

/* ---- names that stay ---- */

static bool is_name(const void *context, uint32_t number)
{
    return strcmp(names[number].text, context) == 0;
}

static struct kept_name *keep_name(const char *name)
{
    uint32_t hash = (uint32_t)gt_hash(name, strlen(name)), number = gt_map_find(&numbers, hash, is_name, name);
    if (number != GT_MAP_ABSENT)
        return &names[number];
    if (name_count == MOST_NAMES)
        return NULL;
    char *copy = GT_GROW_TO(names, name_capacity, name_count + 1) < 0 ? NULL : strdup(name);
    if (!copy || gt_map_add(&numbers, hash, (uint32_t)name_count) < 0) {
        free(copy);
        return NULL;
    }
    names[name_count++] = (struct kept_name){.text = copy};
    if (name_count == MOST_NAMES)
        gt_block_note("names %d", MOST_NAMES);
    return &names[name_count - 1];
}

const char *gt_hook_name(const char *name)
{
    pthread_mutex_lock(&mutex);
    struct kept_name *kept = keep_name(name);
    if (kept && !kept->is_judged) {
        kept->is_off = !gt_range_is_wanted(name);
        kept->is_judged = true;
    }
    const char *text = kept && !kept->is_off ? kept->text : NULL;
    pthread_mutex_unlock(&mutex);
    return text;
}

/* ---- patterns ---- */

/* Takes the line. */
static void add_pattern(char *line)
{
    regex_t regex;
    bool is_pattern = line && gt_name_pattern_compile(&regex, line, false, NULL) == 0;
    if (!is_pattern || !GT_GROW_BY_ONE(pattern, pattern_count)) {
        if (is_pattern)
            regfree(&regex);
        free(line);
        return;
    }
    char *at = line;
    for (const char *from = line; *from; from++)
        if (*from != '\\')
            *at++ = *from;
    *at = '\0';
    pattern[pattern_count++] = (struct pattern){.regex = regex, .text = line};
}

int gt_hook_patterns(const char *patterns)
{
    pthread_mutex_lock(&mutex);
    for (const char *line = pattern_count ? "" : patterns; *line;) {
        size_t length = strcspn(line, "\n");
        if (length)
            add_pattern(strndup(line, length));
        line += length + (line[length] == '\n');
    }
    int count = (int)pattern_count;
    pthread_mutex_unlock(&mutex);
    return count;
}

/* ---- what a pattern that matches nothing was near to ---- */

/* How many letters have to be changed, added or left out. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[COMPARED_LENGTH + 1], width = (unsigned)strnlen(b, COMPARED_LENGTH);
    for (unsigned i = 0; i <= width; i++)
        row[i] = i;
    for (unsigned i = 0; i < COMPARED_LENGTH && a[i]; i++) {
        unsigned diagonal = row[0];
        row[0] = i + 1;
        for (unsigned j = 1; j <= width; j++) {
            unsigned best = diagonal + (a[i] != b[j - 1]);
            diagonal = row[j];
            best = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
            row[j] = best < diagonal + 1 ? best : diagonal + 1;
        }
    }
    return row[width];
}

/* A name cannot be near whose length is not. */
static bool is_far(const struct pattern *with, const char *name)
{
    const struct near_name *last = &with->near[NEAREST - 1];
    size_t length = strlen(name), wanted = strlen(with->text);
    return last->name && (length > wanted ? length - wanted : wanted - length) >= last->distance;
}

static void compare(struct pattern *with, const char *full, const char *qualified)
{
    if (with->compared++ >= MOST_COMPARED || (is_far(with, full) && is_far(with, qualified)))
        return;
    unsigned by_full = distance(with->text, full), by_qualified = distance(with->text, qualified);
    struct near_name found = {.distance = by_full < by_qualified ? by_full : by_qualified};
    size_t at = NEAREST;
    for (size_t i = 0; i < NEAREST; i++)
        if (with->near[i].name && strcmp(with->near[i].name, full) == 0)
            return;
    while (at && (!with->near[at - 1].name || with->near[at - 1].distance > found.distance))
        at--;
    if (at == NEAREST || found.distance > strlen(with->text) / 2 + 1 || !(found.name = strdup(full)))
        return;
    free(with->near[NEAREST - 1].name);
    memmove(&with->near[at + 1], &with->near[at], (NEAREST - 1 - at) * sizeof found);
    with->near[at] = found;
}

/* ---- functions ---- */

/* The name is "outer.inner" for a function "outer.<locals>.inner". */
static void put_without_locals(char *at, const char *name)
{
    static const char locals[] = ".<locals>";
    for (const char *found; (found = strstr(name, locals)); name = found + strlen(locals)) {
        memcpy(at, name, (size_t)(found - name));
        at += found - name;
    }
    strcpy(at, name);
}

/* Bodies of modules and what comprehensions are made of, before 3.12, are no functions to those who wrote them. */
static bool is_part_of_function(const char *name)
{
    static const char *const parts[] = {"<module>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"};
    const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(last, parts[i]) == 0)
            return true;
    return false;
}

static bool is_chosen(const char *full, const char *qualified)
{
    bool is = false;
    for (size_t i = 0; i < pattern_count; i++) {
        struct pattern *one = &pattern[i];
        if (gt_name_pattern_matches(&one->regex, full) || gt_name_pattern_matches(&one->regex, qualified)) {
            if (!one->is_matched)
                gt_block_note("matched %zu", i);
            one->is_matched = is = true;
        } else if (!one->is_matched) {
            compare(one, full, qualified);
        }
    }
    return is;
}

const char *gt_hook_function(const char *module, const char *qualified_name)
{
    char full[2 * LENGTH + 2];
    size_t length = strlen(module);
    if (length > LENGTH || strlen(qualified_name) > LENGTH || is_part_of_function(qualified_name) ||
        strcmp(module, "sitecustomize") == 0 ||
        strncmp(module, "_frozen_importlib", strlen("_frozen_importlib")) == 0) /* these run while hooks begin */
        return NULL;
    memcpy(full, module, length);
    full[length] = '.';
    const char *qualified = full + length + (length > 0);
    put_without_locals(full + length + (length > 0), qualified_name);
    pthread_mutex_lock(&mutex);
    struct kept_name *name = is_chosen(full, qualified) ? keep_name(full) : NULL;
    const char *text = name ? name->text : NULL;
    pthread_mutex_unlock(&mutex);
    return text;
}

/* ---- calls ---- */

/* --blocks-most counts these with the ranges of other sources. */
struct gt_block gt_hook_begin(const char *name)
{
    return gt_range_admit_call() ? gt_block_begin(name) : (struct gt_block){0};
}

void *gt_hook_enter(const char *name)
{
    struct gt_block block = gt_hook_begin(name), *call = block.file ? malloc(sizeof block) : NULL;
    if (call)
        *call = block;
    else
        gt_block_end(&block);
    return call;
}

void gt_hook_leave(void *call)
{
    if (!call)
        return;
    gt_block_end(call);
    free(call);
}

void gt_hook_end(struct gt_block *block)
{
    gt_block_end(block);
}

struct gt_block gt_hook_begin_of(const char *name, uint64_t total)
{
    return gt_block_begin_of(name, total);
}

void gt_hook_end_with_children(struct gt_block *block, double cpu_seconds)
{
    gt_block_end_with_children(block, cpu_seconds);
}

void *gt_hook_symbol(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

void gt_hook_note(const char *line)
{
    gt_block_note("%s", line);
}

/* ---- memory: what PyTorch's allocator holds at the borders of calls ---- */

struct call {
    const char *name;
    long long allocated, reserved, peak;
};

void *gt_hook_memory_begin(const char *name, long long allocated, long long reserved, long long peak)
{
    struct call *call = malloc(sizeof *call);
    if (call)
        *call = (struct call){name, allocated, reserved, peak};
    return call;
}

static long long greater(long long a, long long b)
{
    return a > b ? a : b;
}

static void raise_to(struct memory *memory, long long *figure, long long value)
{
    memory->is_changed |= value > *figure;
    *figure = greater(*figure, value);
}

/* The peak is the program's, which may set it back. Where it has grown inside the call, it is the call's; else that
 * lies between what was seen at the borders and the old peak. Where it was set back inside, nobody knows what was
 * before. */
static void add_memory(struct memory *memory, const struct call *call, long long allocated, long long reserved,
                       long long peak)
{
    bool has_grown = peak > call->peak, was_reset = peak < call->peak;
    long long seen = greater(call->allocated, allocated);
    raise_to(memory, &memory->allocated, seen);
    raise_to(memory, &memory->reserved, greater(call->reserved, reserved));
    raise_to(memory, &memory->least, has_grown || was_reset ? greater(seen, peak) : seen);
    if (was_reset)
        memory->is_changed |= memory->most >= 0;
    if (was_reset || memory->most < 0)
        memory->most = -1;
    else
        raise_to(memory, &memory->most, peak);
}

/* Caller holds the mutex. */
static void note_memory(void)
{
    for (size_t i = 0; i < name_count; i++) {
        struct memory *memory = &names[i].memory;
        if (memory->is_changed)
            gt_block_note("memory %lld %lld %lld %lld %s", memory->allocated, memory->reserved, memory->least,
                          memory->most, names[i].text);
        memory->is_changed = false;
    }
}

void gt_hook_memory_end(void *call, long long allocated, long long reserved, long long peak)
{
    const struct call *begun = call;
    if (!begun)
        return;
    pthread_mutex_lock(&mutex);
    struct kept_name *name = peak || begun->peak ? keep_name(begun->name) : NULL; /* none before a GPU is used */
    int64_t now_ns = gt_clock_ns(CLOCK_MONOTONIC);
    if (name)
        add_memory(&name->memory, begun, allocated, reserved, peak);
    if (now_ns - noted_ns > NOTE_NS) { /* most are noted when the process is killed */
        noted_ns = now_ns;
        note_memory();
    }
    pthread_mutex_unlock(&mutex);
    free(call);
}

/* At a normal end of the process. */
__attribute__((destructor)) static void note_last(void)
{
    pthread_mutex_lock(&mutex);
    note_memory();
    for (size_t i = 0; i < pattern_count; i++)
        for (size_t j = 0; j < NEAREST && !pattern[i].is_matched && pattern[i].near[j].name; j++)
            gt_block_note("near %zu %u %s", i, pattern[i].near[j].distance, pattern[i].near[j].name);
    pthread_mutex_unlock(&mutex);
}
