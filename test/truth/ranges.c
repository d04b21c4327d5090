/* ranges kokkos | itt | roctx LIBRARY: plays a program that contains one of these interfaces, as its own part in programs does: it finds
 * the tool as that does, and calls it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library;

static void *symbol(const char *name)
{
    return library ? dlsym(library, name) : NULL;
}

/* ---- Kokkos: functions that are not there are not called ---- */

static void kernel(const char *kind, const char *name, uint64_t *id)
{
    char text[64];
    void (*begin)(const char *, uint32_t, uint64_t *);
    snprintf(text, sizeof text, "kokkosp_begin_parallel_%s", kind);
    *(void **)&begin = symbol(text);
    if (begin)
        begin(name, 0, id);
}

static void end_kernel(const char *kind, uint64_t id)
{
    char text[64];
    void (*end)(uint64_t);
    snprintf(text, sizeof text, "kokkosp_end_parallel_%s", kind);
    *(void **)&end = symbol(text);
    if (end)
        end(id);
}

static void call_section(const char *what, uint32_t id)
{
    char text[64];
    void (*call)(uint32_t);
    snprintf(text, sizeof text, "kokkosp_%s_profile_section", what);
    *(void **)&call = symbol(text);
    if (call)
        call(id);
}

static void kokkos(void)
{
    const char *path = getenv("KOKKOS_TOOLS_LIBS");
    uint64_t outer = 0, inner = 0;
    uint32_t section = 0;
    unsigned char settings[256] = {1};
    library = path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
    void (*initialize)(int, uint64_t, uint32_t, void *), (*push)(const char *), (*pop)(void),
        (*create)(const char *, uint32_t *);
    void (*ask)(uint32_t, unsigned char *);
    *(void **)&initialize = symbol("kokkosp_init_library");
    *(void **)&push = symbol("kokkosp_push_profile_region");
    *(void **)&pop = symbol("kokkosp_pop_profile_region");
    *(void **)&create = symbol("kokkosp_create_profile_section");
    *(void **)&ask = symbol("kokkosp_request_tool_settings");
    if (!initialize)
        return;
    initialize(0, 20240906, 0, NULL);
    ask(1, settings);
    printf("%d\n", settings[0]); /* whether to wait for the device around each kernel */
    push("solve");
    kernel("for", "Axpy", &outer);
    kernel("reduce", "Dot", &inner);
    end_kernel("for", outer); /* they overlap */
    end_kernel("reduce", inner);
    pop();
    pop();
    create("section", &section);
    for (int i = 0; i < 2; i++) {
        call_section("start", section);
        call_section("stop", section);
    }
    call_section("stop", section);
    call_section("start", 99999);
    call_section("destroy", section);
}

/* ---- ITT ---- */

typedef void function(void);

struct domain {
    volatile int flags;
    const char *name;
    void *wide;
    int extra1;
    void *extra2;
    struct domain *next;
};

struct handle {
    const char *text;
    void *wide;
    int extra1;
    void *extra2;
    struct handle *next;
};

struct id {
    unsigned long long part[3];
};

static struct listed {
    const char *name;
    function **slot;
    function *first, *none;
    int group;
} list[6];

static struct {
    unsigned char magic[8];
    unsigned long version[3];
    volatile long initialized, mutex_initialized, counter;
    pthread_mutex_t mutex;
    void *library, *handler;
    const char **path;
    const struct listed *list;
} global;

static function *slots[5];

static void itt(void)
{
    static const char *const names[] = {"__itt_task_begin", "__itt_task_end", "__itt_domain_create",
                                        "__itt_string_handle_create", "__itt_marker"};
    const char *path = getenv("INTEL_LIBITTNOTIFY64");
    void (*initialize)(void *, int);
    library = path ? dlopen(path, RTLD_LAZY) : NULL;
    *(void **)&initialize = symbol("__itt_api_init");
    for (int i = 0; i < 5; i++)
        list[i] = (struct listed){.name = names[i], .slot = &slots[i]};
    global.list = list;
    if (!initialize)
        return;
    initialize(&global, 0);
    initialize(&global, 0); /* of a second library */
    struct domain *(*create)(const char *) = (struct domain * (*)(const char *)) slots[2];
    struct handle *(*name)(const char *) = (struct handle * (*)(const char *)) slots[3];
    void (*begin)(struct domain *, struct id, struct id,
                  struct handle *) = (void (*)(struct domain *, struct id, struct id, struct handle *))slots[0];
    void (*end)(struct domain *) = (void (*)(struct domain *))slots[1];
    if (!create)
        return;
    struct domain *domain = create("app"), *other = create("other"), own = {.flags = 1, .name = "made before"};
    struct handle *handle = name("step");
    printf("%d %d %d %d\n", domain->flags, other->flags, domain == create("app"), handle == name("step"));
    begin(domain, (struct id){{0}}, (struct id){{0}}, handle);
    begin(&own, (struct id){{0}}, (struct id){{0}}, handle);
    end(domain);
    end(&own);
    begin(domain, (struct id){{0}}, (struct id){{0}}, NULL);
    end(domain);
    end(domain);
    end(NULL);
    printf("%d\n", slots[4] == NULL);
}

/* ---- roctx: of a library that comes later than what is preloaded ---- */

static void roctx(const char *path)
{
    int (*push)(const char *), (*pop)(void);
    uint64_t (*start)(const char *);
    void (*stop)(uint64_t);
    if (path && !dlopen(path, RTLD_NOW | RTLD_GLOBAL))
        return;
    *(void **)&push = dlsym(RTLD_DEFAULT, "roctxRangePushA");
    *(void **)&pop = dlsym(RTLD_DEFAULT, "roctxRangePop");
    *(void **)&start = dlsym(RTLD_DEFAULT, "roctxRangeStartA");
    *(void **)&stop = dlsym(RTLD_DEFAULT, "roctxRangeStop");
    if (!push)
        return;
    int levels[2] = {push("forward"), push("inner")};
    int popped = pop();
    uint64_t id = start("anywhere");
    printf("%d %d %d %d %llu\n", levels[0], levels[1], popped, pop(), (unsigned long long)id);
    stop(id);
    stop(id);
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    if (strcmp(what, "kokkos") == 0)
        kokkos();
    else if (strcmp(what, "itt") == 0)
        itt();
    else
        roctx(count > 2 ? words[2] : NULL);
    return 0;
}
