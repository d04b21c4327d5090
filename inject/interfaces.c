/* The interfaces by which programs mark ranges: NVTX, ITT, Kokkos, roctx and MPI. Each has a table of its functions
 * that are ours, with their names or numbers.
 *
 * Programs load the library for NVTX, ITT and Kokkos themselves. For roctx and MPI it is preloaded and stands before
 * their functions, which are called as well. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "ranges.h"

#define EXPORT __attribute__((visibility("default")))

typedef void function(void); /* any of them */

/* The default domain of a source; NULL when nobody asked for it. */
static struct gt_range_domain *domain_of(enum gt_block_source_id source)
{
    static _Atomic(struct gt_range_domain *) kept[GT_BLOCK_SOURCES];
    struct gt_range_domain *domain = atomic_load_explicit(&kept[source], memory_order_acquire);
    if (!domain && gt_ranges_begin(source)) {
        domain = gt_range_domain(source, NULL);
        atomic_store_explicit(&kept[source], domain, memory_order_release);
    }
    return domain;
}

/* ---- NVTX, versions 2 and 3 ---- */

/* At its first call, each library of a program that contains NVTX loads NVTX_INJECTION64_PATH and calls
 * InitializeInjectionNvtx2, which puts our functions into its slots. Slots that stay empty cost the program nothing. */

enum message_type { MESSAGE_TEXT = 1, MESSAGE_WIDE, MESSAGE_REGISTERED };

struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

/* A domain of the program's, or the default one: NULL. */
static struct gt_range_domain *given(struct gt_range_domain *domain)
{
    return domain ? domain : domain_of(GT_BLOCK_SOURCE_nvtx);
}

static struct gt_range_name *register_text(struct gt_range_domain *domain, const char *text)
{
    return gt_range_name(given(domain), text);
}

static struct gt_range_name *register_wide(struct gt_range_domain *domain, const wchar_t *text)
{
    char *narrow = gt_range_domain_is_on(given(domain)) ? gt_range_narrow(text) : NULL;
    struct gt_range_name *name = register_text(domain, narrow);
    free(narrow);
    return name;
}

static struct gt_range_name *message_of(struct gt_range_domain *domain, const struct attributes *attributes)
{
    if (!gt_range_domain_is_on(domain))
        return NULL;
    if (!attributes || attributes->size < sizeof *attributes || !attributes->message)
        return gt_range_name(domain, NULL);
    switch (attributes->message_type) {
    case MESSAGE_TEXT: return gt_range_name(domain, attributes->message);
    case MESSAGE_WIDE: return register_wide(domain, attributes->message);
    case MESSAGE_REGISTERED: return gt_range_name_in(domain, (struct gt_range_name *)attributes->message);
    default: return gt_range_name(domain, NULL);
    }
}

static uint64_t start_ex(struct gt_range_domain *domain, const struct attributes *attributes)
{
    domain = given(domain);
    return gt_range_start(domain, message_of(domain, attributes));
}

static void end(struct gt_range_domain *domain, uint64_t id)
{
    (void)domain;
    gt_range_end(id);
}

static int push_ex(struct gt_range_domain *domain, const struct attributes *attributes)
{
    domain = given(domain);
    return gt_range_push(domain, message_of(domain, attributes));
}

static int pop(struct gt_range_domain *domain)
{
    return gt_range_pop(given(domain));
}

static struct gt_range_domain *create(const char *name)
{
    return gt_range_domain(GT_BLOCK_SOURCE_nvtx, name ? name : "(unnamed)");
}

static struct gt_range_domain *create_wide(const wchar_t *name)
{
    char *narrow = gt_range_narrow(name);
    struct gt_range_domain *domain = create(name && !narrow ? "" : narrow);
    free(narrow);
    return domain;
}

/* Begin a range of the default domain, with a message of this kind. */
#define DEFAULT_RANGE(kind, type, name_of)                    \
    static uint64_t start_##kind(type message)                \
    {                                                         \
        return gt_range_start(given(NULL), name_of(message)); \
    }                                                         \
    static int push_##kind(type message)                      \
    {                                                         \
        return gt_range_push(given(NULL), name_of(message));  \
    }
#define ATTRIBUTES_NAME(message) message_of(given(NULL), message)
#define TEXT_NAME(message) register_text(NULL, message)
#define WIDE_NAME(message) register_wide(NULL, message)

DEFAULT_RANGE(default, const struct attributes *, ATTRIBUTES_NAME)
DEFAULT_RANGE(text, const char *, TEXT_NAME)
DEFAULT_RANGE(wide, const wchar_t *, WIDE_NAME)

static int pop_default(void)
{
    return pop(NULL);
}

enum { TABLE_CALLBACKS = 1, MODULE_CORE = 1, MODULE_CORE2 = 5 };

struct callbacks {
    size_t size;
    int (*table)(uint32_t module, function ****slots, unsigned *count);
};

/* The numbers of functions in their modules. */
static const struct {
    uint32_t module, number;
    function *function;
} nvtx_functions[] = {
#define ENTRY(module, number, name) {module, number, (function *)(name)},
    ENTRY(MODULE_CORE, 4, start_default)         /* RangeStartEx */
    ENTRY(MODULE_CORE, 5, start_text)            /* RangeStartA */
    ENTRY(MODULE_CORE, 6, start_wide)            /* RangeStartW */
    ENTRY(MODULE_CORE, 7, gt_range_end)          /* RangeEnd */
    ENTRY(MODULE_CORE, 8, push_default)          /* RangePushEx */
    ENTRY(MODULE_CORE, 9, push_text)             /* RangePushA */
    ENTRY(MODULE_CORE, 10, push_wide)            /* RangePushW */
    ENTRY(MODULE_CORE, 11, pop_default)          /* RangePop */
    ENTRY(MODULE_CORE2, 2, start_ex)             /* DomainRangeStartEx */
    ENTRY(MODULE_CORE2, 3, end)                  /* DomainRangeEnd */
    ENTRY(MODULE_CORE2, 4, push_ex)              /* DomainRangePushEx */
    ENTRY(MODULE_CORE2, 5, pop)                  /* DomainRangePop */
    ENTRY(MODULE_CORE2, 10, register_text)       /* DomainRegisterStringA */
    ENTRY(MODULE_CORE2, 11, register_wide)       /* DomainRegisterStringW */
    ENTRY(MODULE_CORE2, 12, create)              /* DomainCreateA */
    ENTRY(MODULE_CORE2, 13, create_wide)         /* DomainCreateW */
    ENTRY(MODULE_CORE2, 14, gt_range_domain_end) /* DomainDestroy */
#undef ENTRY
};

/* Called once for each library that contains NVTX. 0: none of its functions does anything from then on. */
EXPORT int InitializeInjectionNvtx2(const void *(*get)(uint32_t number))
{
    const struct callbacks *callbacks = get ? get(TABLE_CALLBACKS) : NULL;
    if (!gt_ranges_begin(GT_BLOCK_SOURCE_nvtx) || !callbacks || callbacks->size < sizeof *callbacks ||
        !callbacks->table)
        return 0;
    for (size_t i = 0; i < sizeof nvtx_functions / sizeof *nvtx_functions; i++) {
        function ***slots = NULL;
        unsigned size = 0, number = nvtx_functions[i].number;
        if (callbacks->table(nvtx_functions[i].module, &slots, &size) && slots && number < size && slots[number])
            *slots[number] = nvtx_functions[i].function;
    }
    return 1;
}

/* ---- Intel's ITT ---- */

/* At its first call, each library of a program that contains ITT loads INTEL_LIBITTNOTIFY64 and calls __itt_api_init
 * with a list of functions and the slots of those that are called. */

/* As its headers have them; a program looks into the first three members of a domain itself, and calls nothing while
 * `flags` is 0. */
struct domain {
    volatile int flags;
    const char *name;
    void *wide;
    int extra1;
    _Atomic(struct gt_range_domain *) ours;
    void *next;
};

struct handle {
    const char *text;
    void *wide;
    int extra1;
    _Atomic(struct gt_range_name *) ours; /* of the domain that used it last */
    void *next;
};

struct id {
    unsigned long long part[3];
};

/* Domains that another tool or the program made have none of ours yet. */
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
    struct gt_range_domain *ours = domain ? ours_of(domain) : NULL;
    if (gt_range_domain_is_on(ours))
        gt_range_push(ours, name_of(ours, handle));
}

static void task_end(struct domain *domain)
{
    if (domain)
        gt_range_pop(ours_of(domain));
}

/* Domains and handles that we made: one for each name, never freed. */
struct kept {
    struct kept *next;
    char *name;
    union {
        struct domain domain;
        struct handle handle;
    } of;
};
static _Atomic(struct kept *) domains, handles;
enum { MOST_KEPT = 10000 };
static atomic_int kept_count;

static struct kept *keep(_Atomic(struct kept *) *list, const char *name)
{
    struct kept *first = atomic_load(list), *kept = first;
    name = name ? name : "";
    while (kept && strcmp(kept->name, name) != 0)
        kept = kept->next;
    if (kept || atomic_load(&kept_count) >= MOST_KEPT || !(kept = calloc(1, sizeof *kept)))
        return kept;
    if (!(kept->name = strdup(name))) {
        free(kept);
        return NULL;
    }
    if (list == &domains) {
        kept->of.domain.name = kept->name;
        kept->of.domain.flags = gt_range_domain_is_on(ours_of(&kept->of.domain));
    } else {
        kept->of.handle.text = kept->name;
    }
    atomic_fetch_add(&kept_count, 1);
    kept->next = first;
    while (!atomic_compare_exchange_weak(list, &kept->next, kept))
        continue;
    return kept;
}

static struct domain *create_domain(const char *name)
{
    struct kept *kept = keep(&domains, name);
    return kept ? &kept->of.domain : NULL;
}

static struct handle *create_handle(const char *text)
{
    struct kept *kept = keep(&handles, text);
    return kept ? &kept->of.handle : NULL;
}

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

static const struct {
    const char *name;
    function *function;
} itt_functions[] = {
    {"__itt_task_begin", (function *)task_begin},
    {"__itt_task_end", (function *)task_end},
    {"__itt_domain_create", (function *)create_domain},
    {"__itt_string_handle_create", (function *)create_handle},
};

EXPORT void __itt_api_init(struct global *global, int groups)
{
    (void)groups;
    if (!global || !global->list || !gt_ranges_begin(GT_BLOCK_SOURCE_itt))
        return;
    for (const struct listed *listed = global->list; listed->name; listed++)
        for (size_t i = 0; i < sizeof itt_functions / sizeof *itt_functions; i++)
            if (listed->slot && strcmp(listed->name, itt_functions[i].name) == 0)
                *listed->slot = itt_functions[i].function;
}

/* ---- Kokkos ---- */

/* Kokkos loads KOKKOS_TOOLS_LIBS when it is initialised, and calls these functions by their names. */

static struct gt_range_name *kokkos_name(const char *name)
{
    return gt_range_name(domain_of(GT_BLOCK_SOURCE_kokkos), name);
}

EXPORT void kokkosp_init_library(int sequence, uint64_t version, uint32_t devices, const void *device)
{
    (void)sequence, (void)version, (void)devices, (void)device;
    domain_of(GT_BLOCK_SOURCE_kokkos);
}

EXPORT void kokkosp_finalize_library(void)
{
}

/* Never wait for the device around each kernel: that would change the program. */
EXPORT void kokkosp_request_tool_settings(uint32_t count, bool *settings)
{
    if (count && settings)
        settings[0] = false;
}

/* Kernels begin and end on any thread. */

#define KERNEL(kind)                                                                           \
    EXPORT void kokkosp_begin_parallel_##kind(const char *name, uint32_t device, uint64_t *id) \
    {                                                                                          \
        (void)device;                                                                          \
        *id = gt_range_start(domain_of(GT_BLOCK_SOURCE_kokkos), kokkos_name(name));            \
    }                                                                                          \
    EXPORT void kokkosp_end_parallel_##kind(uint64_t id)                                       \
    {                                                                                          \
        gt_range_end(id);                                                                      \
    }

KERNEL(for)
KERNEL(reduce)
KERNEL(scan)

/* Regions nest. */

EXPORT void kokkosp_push_profile_region(const char *name)
{
    gt_range_push(domain_of(GT_BLOCK_SOURCE_kokkos), kokkos_name(name));
}

EXPORT void kokkosp_pop_profile_region(void)
{
    gt_range_pop(domain_of(GT_BLOCK_SOURCE_kokkos));
}

/* Sections have one name, and begin and end anywhere. */

enum { SECTIONS = 1024 };
static struct {
    _Atomic(struct gt_range_name *) name;
    atomic_uint_fast64_t open;
} sections[SECTIONS];
static atomic_uint section_count;

EXPORT void kokkosp_create_profile_section(const char *name, uint32_t *id)
{
    *id = atomic_fetch_add(&section_count, 1);
    if (*id < SECTIONS)
        atomic_store(&sections[*id].name, kokkos_name(name));
}

EXPORT void kokkosp_start_profile_section(uint32_t id)
{
    if (id < SECTIONS && atomic_load(&sections[id].name))
        gt_range_end(atomic_exchange(
            &sections[id].open, gt_range_start(domain_of(GT_BLOCK_SOURCE_kokkos), atomic_load(&sections[id].name))));
}

EXPORT void kokkosp_stop_profile_section(uint32_t id)
{
    if (id < SECTIONS)
        gt_range_end(atomic_exchange(&sections[id].open, 0));
}

EXPORT void kokkosp_destroy_profile_section(uint32_t id)
{
    kokkosp_stop_profile_section(id);
    if (id < SECTIONS)
        atomic_store(&sections[id].name, NULL);
}

/* ---- the functions before which ours stand when the library is preloaded ---- */

enum { LIBRARIES = 8 };

struct search {
    const char *library;
    char path[LIBRARIES][512];
    int count;
};

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *search = context;
    const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
    (void)size;
    if (search->count < LIBRARIES && strncmp(name, search->library, strlen(search->library)) == 0)
        snprintf(search->path[search->count++], sizeof search->path[0], "%s", info->dlpi_name);
    return 0;
}

/* The function of this name that the program would have called, also of a library that only a part of the program sees
 * and whose name begins so; NULL: there is none. The loader's lock is held while `look` is called. */
static function *next_function(const char *name, const char *library)
{
    struct search search = {.library = library};
    function *ret;
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        dl_iterate_phdr(look, &search);
    for (int i = 0; i < search.count && !found; i++) {
        void *handle = dlopen(search.path[i], RTLD_LAZY | RTLD_NOLOAD);
        found = handle ? dlsym(handle, name) : NULL;
        if (handle)
            dlclose(handle);
    }
    memcpy(&ret, &found, sizeof ret);
    return ret;
}

/* ---- roctx of AMD's ROCm: libroctx64 or librocprofiler-sdk-roctx ---- */

static struct {
    int (*push)(const char *text);
    int (*pop)(void);
    uint64_t (*start)(const char *text);
    void (*stop)(uint64_t id);
} roctx;
static pthread_once_t roctx_once = PTHREAD_ONCE_INIT;

static void find_roctx(void)
{
    static const char library[] = "libroc"; /* and its kin */
    roctx.push = (int (*)(const char *))next_function("roctxRangePushA", library);
    roctx.pop = (int (*)(void))next_function("roctxRangePop", library);
    roctx.start = (uint64_t(*)(const char *))next_function("roctxRangeStartA", library);
    roctx.stop = (void (*)(uint64_t))next_function("roctxRangeStop", library);
}

static struct gt_range_domain *roctx_domain(void)
{
    pthread_once(&roctx_once, find_roctx);
    return domain_of(GT_BLOCK_SOURCE_roctx);
}

EXPORT int roctxRangePushA(const char *text)
{
    int level = gt_range_push(roctx_domain(), gt_range_name(roctx_domain(), text));
    return roctx.push ? roctx.push(text) : level;
}

EXPORT int roctxRangePop(void)
{
    int level = gt_range_pop(roctx_domain());
    return roctx.pop ? roctx.pop() : level;
}

EXPORT uint64_t roctxRangeStartA(const char *text)
{
    uint64_t id = gt_range_start(roctx_domain(), gt_range_name(roctx_domain(), text));
    if (!roctx.start)
        return id;
    uint64_t theirs = roctx.start(text);
    gt_range_set_foreign(id, theirs);
    return theirs;
}

EXPORT void roctxRangeStop(uint64_t id)
{
    roctx_domain();
    gt_range_end(roctx.start ? gt_range_of_foreign(id) : id);
    if (roctx.stop)
        roctx.stop(id);
}

/* ---- MPI of any kind ---- */

/* Ours stand before the functions that wait or move data. These take integers and pointers alone, and return one, so on
 * these machines a function of twelve integers passes on what it was given without knowing what it is. */

#if defined __x86_64__ || defined __aarch64__

#define TAKEN long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l
#define PASSED a, b, c, d, e, f, g, h, i, j, k, l

typedef long any_function(TAKEN);

/* In C, in Fortran as most compilers name it, and by the module mpi_f08 of Open MPI. */
enum language { IN_C, IN_FORTRAN, IN_FORTRAN_2008, LANGUAGES };

enum call {
#define CALL(name, small) CALL_##name,
#include "mpi.def"
    CALLS
};

static const struct {
    const char *name, *small;
    bool is_summed;
} calls[CALLS] = {
#define CALL(name, small) {"MPI_" #name, "mpi_" #small, false},
#define SUM(name, small) {"MPI_" #name, "mpi_" #small, true},
#include "mpi.def"
};

/* A function that calls others of MPI for its own work is one call. */
static _Thread_local bool is_inside;

static struct gt_range_name *call_name(enum call call)
{
    static _Atomic(struct gt_range_name *) names[CALLS];
    if (!names[call])
        names[call] = gt_range_name(domain_of(GT_BLOCK_SOURCE_mpi), calls[call].name);
    return names[call];
}

/* The one the program would have called, else that which tools that measure MPI are meant to call. */
static any_function *find(enum call call, enum language language)
{
    static const char *const ends[LANGUAGES] = {"", "_", "_f08_"};
    char name[64];
    snprintf(name, sizeof name, "%c%s%s", language == IN_C ? 'P' : 'p',
             language == IN_C ? calls[call].name : calls[call].small, ends[language]);
    function *next = next_function(name + 1, "libmpi");
    return (any_function *)(next ? next : next_function(name, "libmpi"));
}

static any_function *next_of(enum call call, enum language language)
{
    static _Atomic(any_function *) kept[CALLS][LANGUAGES];
    any_function *next = atomic_load_explicit(&kept[call][language], memory_order_relaxed);
    if (!next) {
        next = find(call, language);
        atomic_store_explicit(&kept[call][language], next, memory_order_relaxed);
    }
    return next;
}

enum { MPI_ERROR = 16 }; /* MPI_ERR_OTHER of some; nobody calls a function that is nowhere */

static __attribute__((noinline)) long pass_on(enum call call, enum language language, TAKEN)
{
    any_function *next = next_of(call, language);
    if (!next)
        return MPI_ERROR;
    struct gt_range_domain *kept = is_inside ? NULL : domain_of(GT_BLOCK_SOURCE_mpi);
    if (!gt_range_domain_is_on(kept))
        return next(PASSED);
    is_inside = true;
    int64_t begin = 0;
    if (calls[call].is_summed)
        begin = gt_clock_ns(CLOCK_MONOTONIC);
    else
        gt_range_push(kept, call_name(call));
    long result = next(PASSED);
    if (calls[call].is_summed)
        gt_range_sum(kept, call_name(call), begin, gt_clock_ns(CLOCK_MONOTONIC));
    else
        gt_range_pop(kept);
    is_inside = false;
    return result;
}

#define STAND_BEFORE(symbol, call, language)    \
    EXPORT long symbol(TAKEN)                   \
    {                                           \
        return pass_on(call, language, PASSED); \
    }
#define CALL(name, small)                                 \
    STAND_BEFORE(MPI_##name, CALL_##name, IN_C)           \
    STAND_BEFORE(mpi_##small##_, CALL_##name, IN_FORTRAN) \
    STAND_BEFORE(mpi_##small##_f08_, CALL_##name, IN_FORTRAN_2008)
#include "mpi.def"

#endif
