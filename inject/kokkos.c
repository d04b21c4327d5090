/* Kokkos. It loads what KOKKOS_TOOLS_LIBS names when it is initialised, and calls the functions below by their names. */
#include <stdatomic.h>

#include "ranges.h"

#define EXPORT __attribute__((visibility("default")))

/* Prototypes of all, for nobody here calls them. */
EXPORT void kokkosp_init_library(int sequence, uint64_t version, uint32_t devices, const void *device);
EXPORT void kokkosp_finalize_library(void);
EXPORT void kokkosp_request_tool_settings(uint32_t count, bool *settings);
EXPORT void kokkosp_push_profile_region(const char *name);
EXPORT void kokkosp_pop_profile_region(void);
EXPORT void kokkosp_create_profile_section(const char *name, uint32_t *id);
EXPORT void kokkosp_start_profile_section(uint32_t id);
EXPORT void kokkosp_stop_profile_section(uint32_t id);
EXPORT void kokkosp_destroy_profile_section(uint32_t id);

static struct gt_range_domain *domain(void)
{
    static _Atomic(struct gt_range_domain *) kept;
    if (!kept)
        kept = gt_ranges_begin(GT_BLOCK_SOURCE_kokkos) ? gt_range_domain(GT_BLOCK_SOURCE_kokkos, NULL) : NULL;
    return kept;
}

void kokkosp_init_library(int sequence, uint64_t version, uint32_t devices, const void *device)
{
    (void)sequence;
    (void)version;
    (void)devices;
    (void)device;
    domain();
}

void kokkosp_finalize_library(void)
{
}

/* Whether to wait for the device around each kernel. That would be another program. */
void kokkosp_request_tool_settings(uint32_t count, bool *settings)
{
    if (count && settings)
        settings[0] = false;
}

/* ---- kernels: from any thread ---- */

#define KERNEL(kind)                                                                            \
    EXPORT void kokkosp_begin_parallel_##kind(const char *name, uint32_t device, uint64_t *id); \
    EXPORT void kokkosp_end_parallel_##kind(uint64_t id);                                       \
    void kokkosp_begin_parallel_##kind(const char *name, uint32_t device, uint64_t *id)         \
    {                                                                                           \
        (void)device;                                                                           \
        *id = gt_range_start(domain(), gt_range_name(domain(), name));                          \
    }                                                                                           \
    void kokkosp_end_parallel_##kind(uint64_t id)                                               \
    {                                                                                           \
        gt_range_end(id);                                                                       \
    }

KERNEL(for)
KERNEL(reduce)
KERNEL(scan)

/* ---- regions: nested ---- */

void kokkosp_push_profile_region(const char *name)
{
    gt_range_push(domain(), gt_range_name(domain(), name));
}

void kokkosp_pop_profile_region(void)
{
    gt_range_pop(domain());
}

/* ---- sections: of one name, begun and ended anywhere ---- */

enum { SECTIONS = 1024 };
static struct {
    _Atomic(struct gt_range_name *) name;
    atomic_uint_fast64_t open;
} sections[SECTIONS];
static atomic_uint section_count;

void kokkosp_create_profile_section(const char *name, uint32_t *id)
{
    *id = atomic_fetch_add(&section_count, 1);
    if (*id < SECTIONS)
        atomic_store(&sections[*id].name, gt_range_name(domain(), name));
}

void kokkosp_start_profile_section(uint32_t id)
{
    if (id < SECTIONS && atomic_load(&sections[id].name))
        gt_range_end(atomic_exchange(&sections[id].open, gt_range_start(domain(), atomic_load(&sections[id].name))));
}

void kokkosp_stop_profile_section(uint32_t id)
{
    if (id < SECTIONS)
        gt_range_end(atomic_exchange(&sections[id].open, 0));
}

void kokkosp_destroy_profile_section(uint32_t id)
{
    kokkosp_stop_profile_section(id);
    if (id < SECTIONS)
        atomic_store(&sections[id].name, NULL);
}
