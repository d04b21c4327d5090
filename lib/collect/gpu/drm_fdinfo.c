#include "collect/gpu/drm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The ways of telling memory, the best first: what is resident, the older name of the same, what is allocated. */
static const char *const memory_keys[] = {"drm-resident-", "drm-memory-", "drm-total-"};
enum { MEMORY_KEYS = sizeof memory_keys / sizeof *memory_keys };

struct memory {
    double local[MEMORY_KEYS], system[MEMORY_KEYS]; /* bytes, NaN not told */
};

static const char *after(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) ? NULL : text + length;
}

static double add(double sum, double value)
{
    return isnan(sum) ? value : sum + value;
}

/* "23992 KiB" */
static double bytes_of(const char *value)
{
    char *unit;
    double number = (double)strtoull(value, &unit, 10);
    unit += strspn(unit, " \t");
    if (unit == value)
        return NAN;
    return !strncmp(unit, "KiB", 3) ? number * 1024 : !strncmp(unit, "MiB", 3) ? number * 1048576 : number;
}

static bool is_local(const char *region)
{
    return after(region, "vram") || after(region, "local") || after(region, "lmem");
}

static void take_memory(struct memory *memory, const char *key, const char *value)
{
    for (int i = 0; i < MEMORY_KEYS; i++) {
        const char *region = after(key, memory_keys[i]);
        if (!region || after(region, "cycles-"))
            continue;
        double *sum = is_local(region) ? &memory->local[i] : &memory->system[i];
        *sum = add(*sum, bytes_of(value));
    }
}

static struct drm_engine *find_engine(struct drm_client *client, const char *name)
{
    for (size_t i = 0; i < client->engine_count; i++)
        if (!strcmp(client->engine[i].name, name))
            return &client->engine[i];
    if (client->engine_count == DRM_MOST_ENGINES)
        return NULL;
    struct drm_engine *engine = &client->engine[client->engine_count++];
    *engine = (struct drm_engine){.capacity = 1};
    snprintf(engine->name, sizeof engine->name, "%s", name);
    return engine;
}

static void take_engine(struct drm_client *client, const char *key, const char *value)
{
    uint64_t number = strtoull(value, NULL, 10);
    const char *name;
    struct drm_engine *engine;
    if ((name = after(key, "drm-engine-capacity-"))) {
        if ((engine = find_engine(client, name)) && number > 0)
            engine->capacity = (unsigned)number;
    } else if ((name = after(key, "drm-engine-")) || (name = after(key, "drm-cycles-"))) {
        if ((engine = find_engine(client, name)))
            engine->busy = number;
    } else if ((name = after(key, "drm-total-cycles-"))) {
        if ((engine = find_engine(client, name)))
            engine->total = number;
    }
}

static void take_line(struct drm_client *client, struct memory *memory, const char *key, const char *value)
{
    if (!strcmp(key, "drm-driver"))
        snprintf(client->driver, sizeof client->driver, "%.23s", value);
    else if (!strcmp(key, "drm-pdev"))
        snprintf(client->pci, sizeof client->pci, "%.15s", value);
    else if (!strcmp(key, "drm-client-id")) {
        client->id = strtoull(value, NULL, 10);
        client->has_id = true;
    } else {
        take_engine(client, key, value);
        take_memory(memory, key, value);
    }
}

static double held(const struct memory *memory)
{
    bool has_local = false;
    for (int i = 0; i < MEMORY_KEYS; i++)
        has_local |= !isnan(memory->local[i]);
    for (int i = 0; i < MEMORY_KEYS; i++) {
        double bytes = has_local ? memory->local[i] : memory->system[i];
        if (!isnan(bytes))
            return bytes;
    }
    return NAN;
}

bool gt_drm_parse(const char *text, struct drm_client *client)
{
    struct memory memory;
    *client = (struct drm_client){.bytes = NAN};
    for (int i = 0; i < MEMORY_KEYS; i++)
        memory.local[i] = memory.system[i] = NAN;
    while (*text) {
        char key[48], value[48];
        size_t length = strcspn(text, "\n");
        size_t colon = strcspn(text, ":\n");
        if (after(text, "drm-") && colon < length && colon < sizeof key) {
            const char *start = text + colon + 1;
            start += strspn(start, " \t");
            int rest = start < text + length ? (int)(text + length - start) : 0;
            snprintf(key, sizeof key, "%.*s", (int)colon, text);
            snprintf(value, sizeof value, "%.*s", rest < 47 ? rest : 47, start);
            take_line(client, &memory, key, value);
        }
        text += length + (text[length] == '\n');
    }
    client->bytes = held(&memory);
    return client->driver[0] && client->has_id;
}

enum engine_kind { GRAPHICS, ENCODER, DECODER, OTHER };

/* One engine of Intel's both encodes and decodes; it is told as the decoder. */
static enum engine_kind kind_of(const char *name)
{
    static const struct {
        const char *prefix;
        enum engine_kind kind;
    } table[] = {
        {"video-enhance", OTHER}, {"vecs", OTHER},  {"copy", OTHER},  {"bcs", OTHER},
        {"dma", OTHER},           {"vpe", OTHER},   {"other", OTHER}, {"enc", ENCODER},
        {"video", DECODER},       {"vcs", DECODER}, {"dec", DECODER}, {"jpeg", DECODER},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (after(name, table[i].prefix))
            return table[i].kind;
    return GRAPHICS;
}

static const struct drm_engine *find_older(const struct drm_client *client, const char *name)
{
    for (size_t i = 0; client && i < client->engine_count; i++)
        if (!strcmp(client->engine[i].name, name))
            return &client->engine[i];
    return NULL;
}

/* Counters may step back for a while; that is no use. */
static double engine_share(const struct drm_engine *now, const struct drm_engine *before, double seconds)
{
    uint64_t busy_before = before ? before->busy : 0;
    double busy = now->busy > busy_before ? (double)(now->busy - busy_before) : 0;
    double available = seconds * 1e9;
    if (now->total) {
        if (!before || now->total <= before->total)
            return NAN;
        available = (double)(now->total - before->total);
    }
    return fmin(busy / available / now->capacity, 1);
}

struct drm_usage gt_drm_usage(const struct drm_client *now, const struct drm_client *before, double seconds)
{
    double share[OTHER + 1] = {NAN, NAN, NAN, NAN};
    for (size_t i = 0; i < now->engine_count && seconds > 0; i++) {
        const struct drm_engine *engine = &now->engine[i];
        double *largest = &share[kind_of(engine->name)];
        *largest = fmax(*largest, engine_share(engine, find_older(before, engine->name), seconds));
    }
    return (struct drm_usage){share[GRAPHICS], share[ENCODER], share[DECODER]};
}
