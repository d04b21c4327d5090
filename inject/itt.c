/* Intel's ITT. At the first call in each library of a program that contains it, it loads what INTEL_LIBITTNOTIFY64 names and calls the
 * function below with the list of its functions, each with the slot that holds what is called. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ranges.h"

/* As its headers have them; a program looks into the first three members of a domain itself, and calls nothing while `flags` is 0. */
struct domain {
    volatile int flags;
    const char *name;
    void *wide;
    int extra1;
    _Atomic(struct gt_range_domain *) ours;
    struct domain *next;
};

struct handle {
    const char *text;
    void *wide;
    int extra1;
    _Atomic(struct gt_range_name *) ours; /* of the domain that used it last */
    struct handle *next;
};

struct id {
    unsigned long long part[3];
};

typedef void function(void);

struct listed {
    const char *name; /* "__itt_task_begin" */
    function **slot;
    function *first, *none;
    int group;
};

struct global {
    unsigned char magic[8];
    unsigned long version[3];
    volatile long initialized, mutex_initialized, counter;
    pthread_mutex_t mutex;
    void *library, *handler;
    const char **path;
    const struct listed *list; /* ends with one without a name */
};

/* One that another tool, or the program's part of ITT, has made has none of ours yet. */
static struct gt_range_domain *ours_of(struct domain *domain)
{
    struct gt_range_domain *ours = atomic_load_explicit(&domain->ours, memory_order_acquire);
    if (!ours) {
        ours = gt_range_domain(GT_BLOCK_SOURCE_itt, domain->name);
        atomic_store_explicit(&domain->ours, ours, memory_order_release);
    }
    return ours;
}

static struct gt_range_name *name_of(struct gt_range_domain *domain, struct handle *handle)
{
    struct gt_range_name *name = handle ? atomic_load_explicit(&handle->ours, memory_order_acquire) : NULL;
    struct gt_range_name *here = name ? gt_range_name_in(domain, name) : NULL;
    if (!here)
        here = gt_range_name(domain, handle ? handle->text : NULL);
    if (handle && here != name)
        atomic_store_explicit(&handle->ours, here, memory_order_release);
    return here;
}

static void task_begin(struct domain *domain, struct id task, struct id parent, struct handle *handle)
{
    (void)task;
    (void)parent;
    if (!domain)
        return;
    struct gt_range_domain *ours = ours_of(domain);
    if (gt_range_domain_is_on(ours))
        gt_range_push(ours, name_of(ours, handle));
}

static void task_end(struct domain *domain)
{
    if (domain)
        gt_range_pop(ours_of(domain));
}

/* ---- the same for the same name, and kept for good ---- */

static _Atomic(struct domain *) domains;
static _Atomic(struct handle *) handles;
enum { HANDLES = 10000 };
static atomic_int handle_count;

static struct domain *create_domain(const char *name)
{
    struct domain *first = atomic_load(&domains), *domain = first;
    name = name ? name : "";
    while (domain && strcmp(domain->name, name) != 0)
        domain = domain->next;
    if (domain || !(domain = calloc(1, sizeof *domain)))
        return domain;
    domain->name = strdup(name);
    if (!domain->name) {
        free(domain);
        return NULL;
    }
    domain->flags = gt_range_domain_is_on(ours_of(domain));
    domain->next = first;
    while (!atomic_compare_exchange_weak(&domains, &domain->next, domain))
        continue;
    return domain;
}

static struct handle *create_handle(const char *text)
{
    struct handle *first = atomic_load(&handles), *handle = first;
    text = text ? text : "";
    while (handle && strcmp(handle->text, text) != 0)
        handle = handle->next;
    if (handle || atomic_load(&handle_count) >= HANDLES || !(handle = calloc(1, sizeof *handle)))
        return handle;
    handle->text = strdup(text);
    if (!handle->text) {
        free(handle);
        return NULL;
    }
    atomic_fetch_add(&handle_count, 1);
    handle->next = first;
    while (!atomic_compare_exchange_weak(&handles, &handle->next, handle))
        continue;
    return handle;
}

__attribute__((visibility("default"))) void __itt_api_init(struct global *global, int groups);

void __itt_api_init(struct global *global, int groups)
{
    static const struct {
        const char *name;
        function *function;
    } taken[] = {
        {"__itt_task_begin", (function *)task_begin},
        {"__itt_task_end", (function *)task_end},
        {"__itt_domain_create", (function *)create_domain},
        {"__itt_string_handle_create", (function *)create_handle},
    };
    (void)groups;
    if (!global || !global->list || !gt_ranges_begin(GT_BLOCK_SOURCE_itt))
        return;
    for (const struct listed *listed = global->list; listed->name; listed++)
        for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
            if (listed->slot && strcmp(listed->name, taken[i].name) == 0)
                *listed->slot = taken[i].function;
}
