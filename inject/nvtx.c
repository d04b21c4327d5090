/* NVTX, versions 2 and 3. At the first call in each library of a program that contains NVTX, it loads what NVTX_INJECTION64_PATH names
 * and calls the function below, which puts ours into the slots of its functions. What stays empty costs the program nothing. */
#include "ranges.h"

enum { MODULE_CORE = 1, MODULE_CORE2 = 5, TABLE_CALLBACKS = 1 };

/* Numbers of functions in their modules. */
enum {
    START_EX = 4,
    START_A,
    START_W,
    END,
    PUSH_EX,
    PUSH_A,
    PUSH_W,
    POP,
};
enum {
    DOMAIN_START_EX = 2,
    DOMAIN_END,
    DOMAIN_PUSH_EX,
    DOMAIN_POP,
    DOMAIN_REGISTER_A = 10,
    DOMAIN_REGISTER_W,
    DOMAIN_CREATE_A,
    DOMAIN_CREATE_W,
    DOMAIN_DESTROY,
};

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

typedef void function(void); /* any of them */

struct callbacks {
    size_t size;
    int (*table)(uint32_t module, function ****slots, unsigned *count);
};

static struct gt_range_domain *default_domain(void)
{
    static _Atomic(struct gt_range_domain *) domain;
    if (!domain)
        domain = gt_range_domain(GT_BLOCK_SOURCE_nvtx, NULL);
    return domain;
}

static struct gt_range_name *message_of(struct gt_range_domain *domain, const struct attributes *attributes)
{
    if (!gt_range_domain_is_on(domain))
        return NULL;
    if (!attributes || attributes->size < sizeof *attributes || !attributes->message)
        return gt_range_name(domain, NULL);
    switch (attributes->message_type) {
    case MESSAGE_TEXT: return gt_range_name(domain, attributes->message);
    case MESSAGE_WIDE: return gt_range_name_wide(domain, attributes->message);
    case MESSAGE_REGISTERED: return gt_range_name_in(domain, (struct gt_range_name *)attributes->message);
    default: return gt_range_name(domain, NULL);
    }
}

/* ---- in a domain of the program's, or in the default one: NULL ---- */

static struct gt_range_domain *given(struct gt_range_domain *domain)
{
    return domain ? domain : default_domain();
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

static struct gt_range_name *register_text(struct gt_range_domain *domain, const char *text)
{
    return gt_range_name(given(domain), text);
}

static struct gt_range_name *register_wide(struct gt_range_domain *domain, const wchar_t *text)
{
    return gt_range_name_wide(given(domain), text);
}

static struct gt_range_domain *create(const char *name)
{
    return gt_range_domain(GT_BLOCK_SOURCE_nvtx, name ? name : "(unnamed)");
}

static struct gt_range_domain *create_wide(const wchar_t *name)
{
    return name ? gt_range_domain_wide(GT_BLOCK_SOURCE_nvtx, name) : create(NULL);
}

/* ---- in the default domain ---- */

static uint64_t start_default(const struct attributes *attributes)
{
    return start_ex(NULL, attributes);
}

static uint64_t start_text(const char *text)
{
    return gt_range_start(default_domain(), gt_range_name(default_domain(), text));
}

static uint64_t start_wide(const wchar_t *text)
{
    return gt_range_start(default_domain(), gt_range_name_wide(default_domain(), text));
}

static int push_default(const struct attributes *attributes)
{
    return push_ex(NULL, attributes);
}

static int push_text(const char *text)
{
    return gt_range_push(default_domain(), gt_range_name(default_domain(), text));
}

static int push_wide(const wchar_t *text)
{
    return gt_range_push(default_domain(), gt_range_name_wide(default_domain(), text));
}

static int pop_default(void)
{
    return gt_range_pop(default_domain());
}

/* ---- taking the calls ---- */

struct entry {
    unsigned number;
    function *function;
};

#define ENTRY(number, name)        \
    {                              \
        number, (function *)(name) \
    }

static void install(const struct callbacks *callbacks, uint32_t module, const struct entry *entry, size_t count)
{
    function ***slots = NULL;
    unsigned size = 0;
    if (!callbacks->table(module, &slots, &size) || !slots)
        return;
    for (size_t i = 0; i < count; i++)
        if (entry[i].number < size && slots[entry[i].number])
            *slots[entry[i].number] = entry[i].function;
}

/* Called once for each library that contains NVTX. 0: none of its functions does anything from then on. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void *(*get)(uint32_t number));

int InitializeInjectionNvtx2(const void *(*get)(uint32_t number))
{
    static const struct entry core[] = {
        ENTRY(START_EX, start_default), ENTRY(START_A, start_text),   ENTRY(START_W, start_wide),
        ENTRY(END, gt_range_end),       ENTRY(PUSH_EX, push_default), ENTRY(PUSH_A, push_text),
        ENTRY(PUSH_W, push_wide),       ENTRY(POP, pop_default),
    };
    static const struct entry core2[] = {
        ENTRY(DOMAIN_START_EX, start_ex),
        ENTRY(DOMAIN_END, end),
        ENTRY(DOMAIN_PUSH_EX, push_ex),
        ENTRY(DOMAIN_POP, pop),
        ENTRY(DOMAIN_REGISTER_A, register_text),
        ENTRY(DOMAIN_REGISTER_W, register_wide),
        ENTRY(DOMAIN_CREATE_A, create),
        ENTRY(DOMAIN_CREATE_W, create_wide),
        ENTRY(DOMAIN_DESTROY, gt_range_domain_end),
    };
    const struct callbacks *callbacks = get ? get(TABLE_CALLBACKS) : NULL;
    if (!gt_ranges_begin(GT_BLOCK_SOURCE_nvtx) || !callbacks || callbacks->size < sizeof *callbacks ||
        !callbacks->table)
        return 0;
    install(callbacks, MODULE_CORE, core, sizeof core / sizeof *core);
    install(callbacks, MODULE_CORE2, core2, sizeof core2 / sizeof *core2);
    return 1;
}
