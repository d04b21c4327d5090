/* Domains and names: each is taken once, judged once, and kept. */
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/utf8.h"
#include "blocks/block.h"
#include "process.h"

enum { LONGEST = 65536, LONGEST_DOMAIN = 200, DOMAINS = 10000, NAME_SLOTS = 16384 };

/* They outlive a fork, as the program has them in its variables. Names are found by a hash; the slots behind one may hold others of it. */
static _Atomic(struct gt_range_domain *) domains;
static atomic_int domain_count;
static _Atomic(struct gt_range_name *) names[NAME_SLOTS];
static atomic_int name_count;
/* Where there are too many. NULL would be the default one. */
static struct gt_range_domain too_many = {.is_off = true};

bool gt_range_domain_is_wanted(const struct gt_range_process *process, const char *name)
{
    return !process->selects_domains || regexec(&process->domains, *name ? name : "default", 0, NULL, 0) == 0;
}

bool gt_range_name_is_wanted(const struct gt_range_process *process, const char *written)
{
    return !process->selects_names || regexec(&process->names, written, 0, NULL, 0) == 0;
}

/* ---- text ---- */

/* UTF-32 as UTF-8, U+FFFD for what is no character; `ret` is a buffer of the caller's. */
static void narrow(struct gt_buffer *ret, const wchar_t *text)
{
    for (size_t i = 0; i < LONGEST && text[i]; i++) {
        uint32_t code = (uint32_t)text[i];
        char bytes[4];
        size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
            gt_buffer_text(ret, "\xef\xbf\xbd");
            continue;
        }
        for (size_t k = length; k-- > 1; code >>= 6)
            bytes[k] = (char)(0x80 | (code & 0x3f));
        bytes[0] = (char)(lead[length] | code);
        gt_buffer_append(ret, bytes, length);
    }
}

/* PyTorch tells in its names what is different in every call. */
static size_t without_tail(const char *text, size_t length)
{
    static const char *const tails[] = {", seq = ", ", op_id = ", ", sizes = "};
    const char *end = text + length;
    for (const char *at = text; (at = memchr(at, ',', (size_t)(end - at))); at++)
        for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
            if (strncmp(at, tails[i], strlen(tails[i])) == 0)
                return (size_t)(at - text);
    return length;
}

/* ---- domains ---- */

static struct gt_range_domain *find_domain(enum gt_block_source_id source, const char *name)
{
    struct gt_range_domain *domain = atomic_load(&domains);
    while (domain && (domain->source != source || strcmp(domain->name, name) != 0))
        domain = domain->next;
    return domain;
}

/* Caller holds the mutex. */
static struct gt_range_domain *add_domain(struct gt_range_process *process, enum gt_block_source_id source,
                                          const char *name)
{
    struct gt_range_domain *domain = find_domain(source, name);
    if (domain || atomic_load(&domain_count) >= DOMAINS)
        return domain;
    domain = calloc(1, sizeof *domain + strlen(name) + 1);
    if (!domain)
        return NULL;
    domain->source = source;
    strcpy(domain->name, name);
    domain->is_off = !gt_range_domain_is_wanted(process, name);
    domain->next = atomic_load(&domains);
    atomic_store(&domains, domain);
    atomic_fetch_add(&domain_count, 1);
    return domain;
}

struct gt_range_domain *gt_range_domain(enum gt_block_source_id source, const char *name)
{
    char cut[LONGEST_DOMAIN + 1];
    struct gt_range_process *process = gt_range_process();
    if (!process)
        return NULL;
    size_t length = name ? strnlen(name, LONGEST_DOMAIN) : 0;
    memcpy(cut, name ? name : "", length);
    cut[length] = '\0';
    struct gt_range_domain *domain = find_domain(source, cut);
    if (!domain) {
        pthread_mutex_lock(&process->mutex);
        domain = add_domain(process, source, cut);
        pthread_mutex_unlock(&process->mutex);
    }
    domain = domain ? domain : &too_many;
    if (name)
        atomic_store(&domain->has_ended, false);
    return domain;
}

struct gt_range_domain *gt_range_domain_wide(enum gt_block_source_id source, const wchar_t *name)
{
    struct gt_buffer text = {0};
    if (name)
        narrow(&text, name);
    struct gt_range_domain *domain = gt_range_domain(source, text.data);
    gt_buffer_release(&text);
    return domain;
}

void gt_range_domain_end(struct gt_range_domain *domain)
{
    if (domain)
        atomic_store(&domain->has_ended, true);
}

bool gt_range_domain_is_on(const struct gt_range_domain *domain)
{
    return domain && !domain->is_off && !atomic_load_explicit(&domain->has_ended, memory_order_relaxed);
}

/* ---- names ---- */

static uint64_t hash_of(const struct gt_range_domain *domain, const char *text, size_t length)
{
    uint64_t hash = (uint64_t)(uintptr_t)domain ^ length, word;
    for (; length >= sizeof word; text += sizeof word, length -= sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    word = 0;
    memcpy(&word, text, length);
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* As it is written: valid, not too long, with its domain before it. The bytes that the program gave stand behind. */
static struct gt_range_name *make_name(const struct gt_range_process *process, struct gt_range_domain *domain,
                                       const char *text, size_t length)
{
    char cut[GT_BLOCK_NAME_MAX + 1];
    struct gt_buffer whole = {0};
    struct gt_range_name *name = NULL;
    if (*domain->name)
        gt_buffer_printf(&whole, "%s:", domain->name);
    gt_buffer_append(&whole, length ? text : "(unnamed)", length ? length : strlen("(unnamed)"));
    struct gt_buffer valid = {0};
    if (!whole.failed && gt_utf8_valid(&valid, whole.data) == 0) {
        const char *written = gt_block_name(valid.data, cut);
        size_t size = strlen(written) + 1;
        name = calloc(1, sizeof *name + size + length + 1);
        if (name) {
            name->given = memcpy(name->text + size, text, length);
            memcpy(name->text, written, size);
            name->is_off = !gt_range_name_is_wanted(process, written);
        }
    }
    gt_buffer_release(&whole);
    gt_buffer_release(&valid);
    return name;
}

static bool is_name(const struct gt_range_name *name, uint64_t hash, const struct gt_range_domain *domain,
                    const char *text, size_t length)
{
    return name->hash == hash && name->domain == domain && name->length == length &&
           memcmp(name->given, text, length) == 0;
}

/* Caller holds the mutex. Others may have added it since it was looked for. */
static struct gt_range_name *add_name(struct gt_range_process *process, struct gt_range_domain *domain, uint64_t hash,
                                      const char *text, size_t length)
{
    struct gt_range_name *name;
    size_t slot = hash % NAME_SLOTS;
    for (; (name = atomic_load(&names[slot])); slot = (slot + 1) % NAME_SLOTS)
        if (is_name(name, hash, domain, text, length))
            return name;
    if (atomic_load(&name_count) >= GT_RANGE_NAMES)
        return NULL;
    name = make_name(process, domain, text, length);
    if (!name)
        return NULL;
    name->domain = domain;
    name->hash = hash;
    name->length = length;
    atomic_store_explicit(&names[slot], name, memory_order_release);
    atomic_fetch_add(&name_count, 1);
    return name;
}

static struct gt_range_name *name_of(struct gt_range_domain *domain, const char *text, size_t length)
{
    struct gt_range_process *process = gt_range_domain_is_on(domain) ? gt_range_process() : NULL;
    struct gt_range_name *name;
    if (!process)
        return NULL;
    length = without_tail(text, length);
    uint64_t hash = hash_of(domain, text, length);
    for (size_t slot = hash % NAME_SLOTS; (name = atomic_load_explicit(&names[slot], memory_order_acquire));
         slot = (slot + 1) % NAME_SLOTS)
        if (is_name(name, hash, domain, text, length))
            return name;
    pthread_mutex_lock(&process->mutex);
    name = add_name(process, domain, hash, text, length);
    pthread_mutex_unlock(&process->mutex);
    return name;
}

struct gt_range_name *gt_range_name(struct gt_range_domain *domain, const char *text)
{
    return name_of(domain, text ? text : "", text ? strnlen(text, LONGEST) : 0);
}

struct gt_range_name *gt_range_name_wide(struct gt_range_domain *domain, const wchar_t *text)
{
    struct gt_buffer narrowed = {0};
    if (text && gt_range_domain_is_on(domain))
        narrow(&narrowed, text);
    struct gt_range_name *name = name_of(domain, narrowed.data ? narrowed.data : "", narrowed.length);
    gt_buffer_release(&narrowed);
    return name;
}

struct gt_range_name *gt_range_name_in(struct gt_range_domain *domain, struct gt_range_name *name)
{
    return !name || name->domain == domain ? name : name_of(domain, name->given, name->length);
}
