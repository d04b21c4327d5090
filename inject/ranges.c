#include "ranges.h"

#include <pthread.h>
#include <regex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/system.h"
#include "base/grow.h"
#include "base/map.h"
#include "base/utf8.h"
#include "blocks/block.h"
#include "blocks/block_notes.h"

struct gt_range_domain {
    struct gt_range_domain *next;
    enum gt_block_source_id source;
    bool is_off;
    atomic_bool has_ended;
    char name[]; /* "" for the default one */
};

struct gt_range_name {
    struct gt_range_domain *domain;
    uint64_t hash;
    bool is_off;
    size_t length;     /* of `given` */
    const char *given; /* by the program, without its changing end */
    char text[];       /* as written */
};

/* ---- the process ---- */

/* A range that ends anywhere. */
struct open_range {
    uint32_t generation, next_free;
    bool is_open, has_foreign;
    uint64_t foreign; /* its number in another library */
    struct gt_block block;
};

/* Why ranges were not kept. */
enum limit { LIMIT_CALLS, LIMIT_NAMES, LIMIT_LEVELS, LIMITS };

/* State of this process. A child made by fork finds it all zero, and begins its own. */
static struct process {
    atomic_uint_fast64_t identity; /* 0: not begun; else the moment of its beginning */
    bool can_write;
    unsigned sources;      /* asked for: bits */
    pthread_mutex_t mutex; /* domains, new names, open ranges */
    regex_t domains, names;
    bool selects_domains, selects_names;
    uint64_t most;
    atomic_uint_fast64_t calls, dropped[LIMITS];
    atomic_bool seen[GT_BLOCK_SOURCES];
    struct open_range *open;                        /* not freed in a child: another thread may have been growing it */
    uint32_t open_count, open_capacity, first_free; /* number + 1, 0: none */
} * process;

static pthread_once_t process_once = PTHREAD_ONCE_INIT;

static void forget(void)
{
    memset(process, 0, sizeof *process);
}

static void begin_library(void)
{
    process = gt_fork_memory(sizeof *process, forget);
}

static bool read_regex(regex_t *ret, const char *variable)
{
    const char *text = secure_getenv(variable);
    return text && *text && regcomp(ret, text, REG_EXTENDED | REG_NOSUB) == 0;
}

/* Without a list every source that calls is asked for: somebody has set its variable by hand. */
static void read_environment(void)
{
    const char *most = secure_getenv(GT_BLOCKS_MOST_ENVIRONMENT);
    const char *sources = secure_getenv(GT_BLOCKS_SOURCES_ENVIRONMENT);
    const char *folder = secure_getenv(GT_BLOCKS_ENVIRONMENT);
    struct stat facts;
    process->can_write = folder && stat(folder, &facts) == 0 && S_ISDIR(facts.st_mode) &&
                         access(folder, W_OK | X_OK) == 0;
    if (!sources || !*sources || gt_block_sources_read(sources, &process->sources, NULL) < 0)
        process->sources = ~0u;
    process->selects_domains = read_regex(&process->domains, GT_BLOCKS_DOMAINS_ENVIRONMENT);
    process->selects_names = read_regex(&process->names, GT_BLOCKS_NAMES_ENVIRONMENT);
    process->most = most && atoll(most) > 0 ? (uint64_t)atoll(most) : GT_RANGE_MOST;
}

/* Begin this process. False when nothing can be written. */
static bool begin_process(void)
{
    if (process && atomic_load_explicit(&process->identity, memory_order_acquire))
        return process->can_write;
    pthread_once(&process_once, begin_library);
    if (!process)
        return false;
    pthread_mutex_lock(&process->mutex);
    if (!atomic_load(&process->identity)) {
        read_environment();
        atomic_store(&process->identity, (uint64_t)gt_clock_ns(CLOCK_MONOTONIC) | 1);
    }
    pthread_mutex_unlock(&process->mutex);
    return process->can_write;
}

bool gt_ranges_begin(enum gt_block_source_id source)
{
    return begin_process() && (process->sources >> source & 1);
}

/* ---- limits ---- */

static void note_dropped(void)
{
    gt_block_note("dropped %llu %llu %llu %llu", (unsigned long long)atomic_load(&process->identity),
                  (unsigned long long)atomic_load(&process->dropped[LIMIT_CALLS]),
                  (unsigned long long)atomic_load(&process->dropped[LIMIT_NAMES]),
                  (unsigned long long)atomic_load(&process->dropped[LIMIT_LEVELS]));
}

/* Notes the count at powers of two: a process that is killed has noted at least half of it. */
static void drop(enum limit limit)
{
    uint64_t count = atomic_fetch_add(&process->dropped[limit], 1) + 1;
    if ((count & (count - 1)) == 0)
        note_dropped();
}

static void see(enum gt_block_source_id source)
{
    if (!atomic_load_explicit(&process->seen[source], memory_order_relaxed) &&
        !atomic_exchange(&process->seen[source], true))
        gt_block_note("source %s", gt_block_sources[source].name);
}

static bool admit_call(void)
{
    if (atomic_fetch_add_explicit(&process->calls, 1, memory_order_relaxed) < process->most)
        return true;
    drop(LIMIT_CALLS);
    return false;
}

/* A call of this source. */
static bool admit(enum gt_block_source_id source)
{
    see(source);
    return admit_call();
}

bool gt_range_admit_call(void)
{
    return !begin_process() || admit_call();
}

/* At a normal end of the process: the exact counts. */
__attribute__((destructor)) static void end_process(void)
{
    uint64_t dropped = 0;
    if (!process || !atomic_load(&process->identity) || !process->can_write)
        return;
    for (int limit = 0; limit < LIMITS; limit++)
        dropped += atomic_load(&process->dropped[limit]);
    if (dropped)
        note_dropped();
}

/* Caller holds the mutex. */
static bool is_domain_wanted(const char *name)
{
    return !process->selects_domains || regexec(&process->domains, *name ? name : "default", 0, NULL, 0) == 0;
}

static bool is_name_wanted(const char *written)
{
    return !process->selects_names || regexec(&process->names, written, 0, NULL, 0) == 0;
}

bool gt_range_is_wanted(const char *name)
{
    if (!begin_process())
        return true;
    pthread_mutex_lock(&process->mutex);
    bool is = is_domain_wanted("") && is_name_wanted(name);
    pthread_mutex_unlock(&process->mutex);
    return is;
}

/* ---- domains: each is taken once, judged once, and kept ---- */

enum { LONGEST = 65536, LONGEST_DOMAIN = 200, DOMAINS = 10000, NAME_SLOTS = 16384 };

/* Domains and names outlive a fork, as the program has them in its variables. Names are found by a hash; the slots
 * behind one may hold others of it. */
static _Atomic(struct gt_range_domain *) domains;
static atomic_int domain_count;
static _Atomic(struct gt_range_name *) names[NAME_SLOTS];
static atomic_int name_count;
/* Stands in beyond DOMAINS, because NULL means the default domain. */
static struct gt_range_domain too_many = {.is_off = true};

static struct gt_range_domain *find_domain(enum gt_block_source_id source, const char *name)
{
    struct gt_range_domain *domain = atomic_load(&domains);
    while (domain && (domain->source != source || strcmp(domain->name, name) != 0))
        domain = domain->next;
    return domain;
}

/* Caller holds the mutex. */
static struct gt_range_domain *add_domain(enum gt_block_source_id source, const char *name)
{
    struct gt_range_domain *domain = find_domain(source, name);
    if (domain || atomic_load(&domain_count) >= DOMAINS)
        return domain;
    domain = calloc(1, sizeof *domain + strlen(name) + 1);
    if (!domain)
        return NULL;
    domain->source = source;
    strcpy(domain->name, name);
    domain->is_off = !is_domain_wanted(name);
    domain->next = atomic_load(&domains);
    atomic_store(&domains, domain);
    atomic_fetch_add(&domain_count, 1);
    return domain;
}

struct gt_range_domain *gt_range_domain(enum gt_block_source_id source, const char *name)
{
    char cut[LONGEST_DOMAIN + 1];
    if (!begin_process())
        return NULL;
    size_t length = name ? strnlen(name, LONGEST_DOMAIN) : 0;
    memcpy(cut, name ? name : "", length);
    cut[length] = '\0';
    struct gt_range_domain *domain = find_domain(source, cut);
    if (!domain) {
        pthread_mutex_lock(&process->mutex);
        domain = add_domain(source, cut);
        pthread_mutex_unlock(&process->mutex);
    }
    domain = domain ? domain : &too_many;
    if (name)
        atomic_store(&domain->has_ended, false);
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

char *gt_range_narrow(const wchar_t *text)
{
    struct gt_buffer ret = {0};
    for (size_t i = 0; text && i < LONGEST && text[i]; i++) {
        uint32_t code = (uint32_t)text[i];
        char bytes[4];
        size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
            gt_buffer_text(&ret, "\xef\xbf\xbd");
            continue;
        }
        for (size_t k = length; k-- > 1; code >>= 6)
            bytes[k] = (char)(0x80 | (code & 0x3f));
        bytes[0] = (char)(lead[length] | code);
        gt_buffer_append(&ret, bytes, length);
    }
    return ret.data;
}

/* PyTorch appends numbers and sizes that differ in every call. */
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

/* The written name is valid, short enough, and begins with its domain. The bytes of the program follow it. */
static struct gt_range_name *make_name(const struct gt_range_domain *domain, const char *text, size_t length)
{
    char cut[GT_BLOCK_NAME_MAX + 1];
    struct gt_buffer whole = {0}, valid = {0};
    struct gt_range_name *name = NULL;
    if (*domain->name)
        gt_buffer_printf(&whole, "%s:", domain->name);
    gt_buffer_append(&whole, length ? text : "(unnamed)", length ? length : strlen("(unnamed)"));
    if (!whole.failed && gt_utf8_valid(&valid, whole.data) == 0) {
        const char *written = gt_block_name(valid.data, cut);
        size_t size = strlen(written) + 1;
        name = calloc(1, sizeof *name + size + length + 1);
        if (name) {
            name->given = memcpy(name->text + size, text, length);
            memcpy(name->text, written, size);
            name->is_off = !is_name_wanted(written);
        }
    }
    gt_buffer_release(&whole);
    gt_buffer_release(&valid);
    return name;
}

/* The name, or NULL, and then the slot behind those of its hash. */
static struct gt_range_name *find_name(const struct gt_range_domain *domain, uint64_t hash, const char *text,
                                       size_t length, size_t *ret_slot)
{
    struct gt_range_name *name;
    size_t slot = hash % NAME_SLOTS;
    for (; (name = atomic_load_explicit(&names[slot], memory_order_acquire)); slot = (slot + 1) % NAME_SLOTS)
        if (name->hash == hash && name->domain == domain && name->length == length &&
            memcmp(name->given, text, length) == 0)
            return name;
    *ret_slot = slot;
    return NULL;
}

/* Caller holds the mutex. Another thread may have added the name meanwhile. */
static struct gt_range_name *add_name(struct gt_range_domain *domain, uint64_t hash, const char *text, size_t length)
{
    size_t slot;
    struct gt_range_name *name = find_name(domain, hash, text, length, &slot);
    if (name || atomic_load(&name_count) >= GT_RANGE_NAMES || !(name = make_name(domain, text, length)))
        return name;
    name->domain = domain;
    name->hash = hash;
    name->length = length;
    atomic_store_explicit(&names[slot], name, memory_order_release);
    atomic_fetch_add(&name_count, 1);
    return name;
}

static struct gt_range_name *name_of(struct gt_range_domain *domain, const char *text, size_t length)
{
    size_t slot;
    if (!gt_range_domain_is_on(domain) || !begin_process())
        return NULL;
    length = without_tail(text, length);
    uint64_t hash = gt_hash(text, length) ^ (uint64_t)(uintptr_t)domain >> 4;
    struct gt_range_name *name = find_name(domain, hash, text, length, &slot);
    if (name)
        return name;
    pthread_mutex_lock(&process->mutex);
    name = add_name(domain, hash, text, length);
    pthread_mutex_unlock(&process->mutex);
    return name;
}

struct gt_range_name *gt_range_name(struct gt_range_domain *domain, const char *text)
{
    return name_of(domain, text ? text : "", text ? strnlen(text, LONGEST) : 0);
}

struct gt_range_name *gt_range_name_in(struct gt_range_domain *domain, struct gt_range_name *name)
{
    return !name || name->domain == domain ? name : name_of(domain, name->given, name->length);
}

/* ---- threads ---- */

enum { SUMS = 8, SUM_MOST_NS = 1000000000 /* from the first call to the last in a sum */ };

/* Open ranges of one domain on one thread. */
struct stack {
    struct stack *next;
    const struct gt_range_domain *domain;
    size_t depth; /* also of those beyond GT_RANGE_LEVELS, which are only counted */
    size_t capacity;
    struct gt_block *level;
};

/* Calls of one function on one thread that are added up. */
struct sum {
    const struct gt_range_name *name;
    int64_t ns;
};

struct thread {
    uint64_t identity; /* of the process */
    struct stack *stacks;
    struct sum sum[SUMS];
    int sum_count;
    int64_t sums_begin_ns; /* monotonic: of the first call in any of them */
};

static _Thread_local struct thread *current;
static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;
static bool has_key;

/* Writes the sums as calls that follow each other from the begin of the first one. */
static void write_sums(struct thread *thread)
{
    int64_t at = thread->sums_begin_ns;
    for (int i = 0; i < thread->sum_count; i++) {
        const struct sum *sum = &thread->sum[i];
        if (admit(sum->name->domain->source))
            gt_block_add_past(sum->name->text, at, at + sum->ns);
        at += sum->ns;
    }
    thread->sum_count = 0;
}

static void write_own_sums(void)
{
    if (begin_process() && current && current->identity == atomic_load(&process->identity))
        write_sums(current);
}

static void free_stacks(struct thread *thread)
{
    for (struct stack *stack = thread->stacks, *next; stack; stack = next) {
        next = stack->next;
        free(stack->level);
        free(stack);
    }
    thread->stacks = NULL;
}

static void leave_thread(void *argument)
{
    write_own_sums();
    current = NULL;
    free_stacks(argument);
    free(argument);
}

static void make_key(void)
{
    has_key = pthread_key_create(&thread_key, leave_thread) == 0;
    atexit(write_own_sums); /* before the blocks' own end */
}

/* Returns the calling thread, without ranges that were open before a fork. NULL without memory. */
static struct thread *enter_thread(void)
{
    uint64_t identity = atomic_load_explicit(&process->identity, memory_order_relaxed);
    struct thread *thread = current;
    if (thread && thread->identity == identity)
        return thread;
    if (thread) {
        free_stacks(thread);
        thread->sum_count = 0;
    } else {
        pthread_once(&thread_once, make_key);
        thread = has_key ? calloc(1, sizeof *thread) : NULL;
        if (!thread || pthread_setspecific(thread_key, thread) != 0) {
            free(thread);
            return NULL;
        }
        current = thread;
    }
    thread->identity = identity;
    return thread;
}

/* Does the same for a range of a domain, if that is recorded. */
static struct thread *enter(const struct gt_range_domain *domain, bool *ret_is_on)
{
    *ret_is_on = gt_range_domain_is_on(domain) && begin_process();
    return *ret_is_on ? enter_thread() : NULL;
}

void gt_range_sum(struct gt_range_domain *domain, struct gt_range_name *name, int64_t begin_ns, int64_t end_ns)
{
    bool is_on;
    int i = 0;
    struct thread *thread = name && !name->is_off ? enter(domain, &is_on) : NULL;
    if (!thread)
        return;
    if (thread->sum_count && end_ns - thread->sums_begin_ns > SUM_MOST_NS)
        write_sums(thread);
    if (!thread->sum_count)
        thread->sums_begin_ns = begin_ns;
    while (i < thread->sum_count && thread->sum[i].name != name)
        i++;
    if (i == SUMS)
        return;
    if (i == thread->sum_count)
        thread->sum[thread->sum_count++] = (struct sum){.name = name};
    thread->sum[i].ns += end_ns - begin_ns;
}

/* ---- nested ranges ---- */

static struct gt_block begin(struct thread *thread, const struct gt_range_domain *domain,
                             const struct gt_range_name *name)
{
    if (thread->sum_count)
        write_sums(thread);
    if (!name) {
        see(domain->source);
        drop(LIMIT_NAMES);
    } else if (!name->is_off && admit(domain->source)) {
        return gt_block_begin(name->text);
    }
    return (struct gt_block){0};
}

static struct stack *find_stack(struct thread *thread, const struct gt_range_domain *domain)
{
    struct stack *stack = thread->stacks;
    while (stack && stack->domain != domain)
        stack = stack->next;
    return stack;
}

int gt_range_push(struct gt_range_domain *domain, struct gt_range_name *name)
{
    bool is_on;
    struct thread *thread = enter(domain, &is_on);
    struct stack *stack = thread ? find_stack(thread, domain) : NULL;
    if (thread && !stack && (stack = calloc(1, sizeof *stack))) {
        *stack = (struct stack){.domain = domain, .next = thread->stacks};
        thread->stacks = stack;
    }
    if (!stack)
        return is_on ? -1 : GT_RANGE_NO_LEVEL;
    size_t depth = stack->depth;
    if (depth >= GT_RANGE_LEVELS) {
        see(domain->source);
        drop(LIMIT_LEVELS);
    } else if (GT_GROW_TO(stack->level, stack->capacity, depth + 1) < 0) {
        return -1;
    } else {
        stack->level[depth] = begin(thread, domain, name);
    }
    stack->depth++;
    return (int)depth;
}

int gt_range_pop(struct gt_range_domain *domain)
{
    bool is_on;
    struct thread *thread = enter(domain, &is_on);
    struct stack *stack = thread ? find_stack(thread, domain) : NULL;
    if (!stack || stack->depth == 0)
        return is_on ? -1 : GT_RANGE_NO_LEVEL;
    size_t depth = --stack->depth;
    if (thread->sum_count)
        write_sums(thread);
    if (depth < GT_RANGE_LEVELS)
        gt_block_end(&stack->level[depth]);
    return (int)depth;
}

/* ---- ranges that end anywhere ---- */

enum { OPEN_MOST = 1000000 };

/* Callers of these hold the mutex. */

static uint64_t id_of(uint32_t number)
{
    return (uint64_t)process->open[number - 1].generation << 32 | number;
}

static uint64_t keep(const struct gt_block *block)
{
    uint32_t number = process->first_free;
    if (number) {
        process->first_free = process->open[number - 1].next_free;
    } else {
        size_t capacity = process->open_capacity;
        if (process->open_count >= OPEN_MOST ||
            GT_GROW_TO(process->open, capacity, (size_t)process->open_count + 1) < 0)
            return 0;
        process->open_capacity = (uint32_t)capacity;
        number = ++process->open_count;
        process->open[number - 1].generation = 0;
    }
    struct open_range *range = &process->open[number - 1];
    range->is_open = true;
    range->has_foreign = false;
    range->block = *block;
    return id_of(number);
}

static struct open_range *find(uint64_t id)
{
    uint32_t number = (uint32_t)id;
    struct open_range *range = number && number <= process->open_count ? &process->open[number - 1] : NULL;
    return range && range->is_open && range->generation == id >> 32 ? range : NULL;
}

uint64_t gt_range_start(struct gt_range_domain *domain, struct gt_range_name *name)
{
    bool is_on;
    struct thread *thread = enter(domain, &is_on);
    struct gt_block block = thread ? begin(thread, domain, name) : (struct gt_block){0};
    if (!block.file)
        return 0;
    pthread_mutex_lock(&process->mutex);
    uint64_t id = keep(&block);
    pthread_mutex_unlock(&process->mutex);
    return id;
}

void gt_range_end(uint64_t id)
{
    struct gt_block block = {0};
    if (!begin_process())
        return;
    pthread_mutex_lock(&process->mutex);
    struct open_range *range = find(id);
    if (range) {
        block = range->block;
        range->is_open = false;
        range->generation++;
        range->next_free = process->first_free;
        process->first_free = (uint32_t)id;
    }
    pthread_mutex_unlock(&process->mutex);
    gt_block_end(&block);
}

void gt_range_set_foreign(uint64_t id, uint64_t foreign)
{
    if (!begin_process())
        return;
    pthread_mutex_lock(&process->mutex);
    struct open_range *range = find(id);
    if (range) {
        range->has_foreign = true;
        range->foreign = foreign;
    }
    pthread_mutex_unlock(&process->mutex);
}

uint64_t gt_range_of_foreign(uint64_t foreign)
{
    uint64_t id = 0;
    if (!begin_process())
        return 0;
    pthread_mutex_lock(&process->mutex);
    for (uint32_t number = process->open_count; number > 0 && !id; number--) {
        const struct open_range *range = &process->open[number - 1];
        if (range->is_open && range->has_foreign && range->foreign == foreign)
            id = id_of(number);
    }
    pthread_mutex_unlock(&process->mutex);
    return id;
}
