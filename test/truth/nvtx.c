/* nvtx SCENARIO: plays a program that contains NVTX, as its headers do: it loads what NVTX_INJECTION64_PATH names, offers tables of
 * functions, and calls what was put there. "NVTX 2" is an older one, with fewer functions. Prints what calls returned, one a line. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

typedef void function(void);

enum { CORE = 1, CORE2 = 5, CORE_SIZE = 16, CORE2_SIZE = 16, CORE2_SIZE_OLD = 15 };

struct callbacks {
    size_t size;
    int (*table)(uint32_t, function ****, unsigned *);
};

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

static function *core[CORE_SIZE], *core2[CORE2_SIZE];
static unsigned core_size = CORE_SIZE, core2_size = CORE2_SIZE;
static int has_tables = 1;

static int table(uint32_t module, function ****ret, unsigned *size)
{
    static function **core_slots[CORE_SIZE], **core2_slots[CORE2_SIZE];
    if (module != CORE && module != CORE2)
        return 0;
    for (int i = 1; i < CORE_SIZE; i++)
        core_slots[i] = &core[i];
    for (int i = 1; i < CORE2_SIZE; i++)
        core2_slots[i] = &core2[i];
    *ret = has_tables ? (module == CORE ? core_slots : core2_slots) : NULL;
    *size = module == CORE ? core_size : core2_size;
    return 1;
}

static struct callbacks callbacks = {sizeof callbacks, table};
static const uint32_t version[] = {8, 3};
static int is_old;

static const void *get(uint32_t number)
{
    return number == 1 ? (const void *)&callbacks : number == 3 && !is_old ? version : NULL;
}

/* -1: there is no tool; else what it answered. */
static int attach(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*initialize)(const void *(*)(uint32_t));
    if (!library)
        return -1;
    *(void **)&initialize = dlsym(library, "InitializeInjectionNvtx2");
    if (!initialize)
        return -1;
    int status = initialize(get);
    if (!status) {
        for (int i = 0; i < CORE_SIZE; i++)
            core[i] = core2[i] = NULL;
    }
    return status;
}

/* ---- the functions of NVTX ---- */

#define CALL(slot, type, otherwise, ...) ((slot) ? ((type)(slot))(__VA_ARGS__) : (otherwise))

static int push(const char *text)
{
    return CALL(core[9], int (*)(const char *), -2, text);
}

static int push_wide(const wchar_t *text)
{
    return CALL(core[10], int (*)(const wchar_t *), -2, text);
}

static int push_ex(const struct attributes *what)
{
    return CALL(core[8], int (*)(const struct attributes *), -2, what);
}

static int pop(void)
{
    return core[11] ? ((int (*)(void))core[11])() : -2;
}

static uint64_t start(const char *text)
{
    return CALL(core[5], uint64_t(*)(const char *), 0, text);
}

static void end(uint64_t id)
{
    CALL(core[7], void (*)(uint64_t), (void)0, id);
}

static void *domain_of(const char *name)
{
    return CALL(core2[12], void *(*)(const char *), NULL, name);
}

static int domain_push(void *domain, const struct attributes *what)
{
    return CALL(core2[4], int (*)(void *, const struct attributes *), -2, domain, what);
}

static int domain_pop(void *domain)
{
    return CALL(core2[5], int (*)(void *), -2, domain);
}

static uint64_t domain_start(void *domain, const struct attributes *what)
{
    return CALL(core2[2], uint64_t(*)(void *, const struct attributes *), 0, domain, what);
}

static void domain_end(void *domain, uint64_t id)
{
    CALL(core2[3], void (*)(void *, uint64_t), (void)0, domain, id);
}

static const void *registered(void *domain, const char *text)
{
    return CALL(core2[10], const void *(*)(void *, const char *), NULL, domain, text);
}

static struct attributes message(int type, const void *text)
{
    return (struct attributes){.version = 3, .size = sizeof(struct attributes), .message_type = type, .message = text};
}

static int push_in(void *domain, const char *text)
{
    struct attributes what = message(1, text);
    return domain_push(domain, &what);
}

/* ---- scenarios ---- */

static void calls(void)
{
    void *domain = domain_of("LIB"), *other = domain_of("OTHER");
    printf("%d %d\n", push("outer"), push_in(domain, "work"));
    printf("%d\n", push("inner, with \"quotes\""));
    printf("%d\n", pop());
    printf("%d\n", pop()); /* before the domain's, which it does not touch */
    printf("%d\n", domain_pop(domain));
    printf("%d %d\n", pop(), domain_pop(other)); /* of nothing */
    struct attributes what = message(3, registered(domain, "named once"));
    domain_push(domain, &what);
    domain_pop(domain);
    push_wide(L"wide \u00e4\U0001f600");
    pop();
    uint64_t a = start("from anywhere"), b = domain_start(domain, &what);
    end(a);
    end(a); /* a second time */
    end(12345);
    end(0);
    domain_end(domain, b);
    push("aten::add, seq = 3, op_id = 7, sizes = [[2, 2]]");
    pop();
    printf("%d\n", core[1] == NULL && core2[1] == NULL); /* marks are not asked for */
    printf("%d\n", domain_of("LIB") == domain);
    CALL(core2[14], void (*)(void *), (void)0, domain);
    push_in(domain, "after the end");
    domain_pop(domain);
    push("never ends");
}

static void hostile(void)
{
    static char long_text[1 << 20], bytes[] = "\xff\xfe text";
    static const wchar_t wrong[] = {0x110000, 0xd800, -5, L'x', 0};
    memset(long_text, 'y', sizeof long_text - 1);
    for (int type = -2; type < 9; type++)
        for (int size = 0; size <= 48; size += 8) {
            struct attributes what = message(type, type == 1 || type == 2 ? (const void *)wrong : NULL);
            what.size = (uint16_t)size;
            push_ex(&what);
            domain_push(NULL, &what);
            pop();
            pop();
        }
    push_ex(NULL);
    domain_push(NULL, NULL);
    push(NULL);
    push_wide(NULL);
    push("");
    push(bytes);
    push(long_text);
    push_wide(wrong);
    for (int i = 0; i < 12; i++)
        pop();
    CALL(core2[12], void *(*)(const char *), NULL, NULL);
    CALL(core2[13], void *(*)(const wchar_t *), NULL, NULL);
    CALL(core2[14], void (*)(void *), (void)0, NULL);
    domain_of(long_text);
    struct attributes what = message(3, registered(NULL, NULL));
    push_ex(&what);
    pop();
}

static uint64_t handed[10000];

static void *nest(void *argument)
{
    (void)argument;
    for (int i = 0; i < 1000; i++) {
        push("a");
        push("b");
        pop();
        pop();
    }
    return NULL;
}

static void *end_all(void *argument)
{
    (void)argument;
    for (int i = 0; i < 1000; i++)
        end(handed[i]);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[8];
    for (int i = 0; i < 1000; i++)
        handed[i] = start("handed over");
    for (int i = 0; i < 8; i++)
        pthread_create(&thread[i], NULL, i ? nest : end_all, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
}

static void forks(void)
{
    push("parent's");
    uint64_t id = start("parent's own");
    if (fork() == 0) {
        pop();
        end(id);
        push("child's");
        pop();
        exit(0);
    }
    wait(NULL);
    end(id);
    pop();
}

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000l}, NULL);
}

static void nested(void)
{
    struct timespec moment[4];
    push("outer");
    clock_gettime(CLOCK_MONOTONIC, &moment[0]);
    pause_ms(30);
    clock_gettime(CLOCK_MONOTONIC, &moment[1]);
    push("inner");
    pause_ms(30);
    pop();
    clock_gettime(CLOCK_MONOTONIC, &moment[2]);
    pause_ms(10);
    clock_gettime(CLOCK_MONOTONIC, &moment[3]);
    pop();
    double at[4];
    for (int i = 0; i < 4; i++)
        at[i] = (double)moment[i].tv_sec + (double)moment[i].tv_nsec / 1e9;
    printf("%.9f %.9f\n", at[3] - at[0], at[2] - at[1]);
}

static void many(int count, int names)
{
    char name[40];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "name %d", i % names);
        push(name);
        pop();
    }
}

static void deep(void)
{
    for (int i = 0; i < 300; i++)
        push("level");
    for (int i = 0; i < 300; i++)
        pop();
    printf("%d\n", pop());
}

static void *kill_us(void *argument)
{
    (void)argument;
    kill(getpid(), SIGKILL);
    return NULL;
}

/* While other threads have ranges, too. */
static void die(int calls)
{
    pthread_t thread;
    pthread_create(&thread, NULL, nest, NULL);
    for (int i = 0; i < calls; i++) {
        push("loop");
        pop();
    }
    pthread_create(&thread, NULL, kill_us, NULL);
    push("loop");
    pause();
}

int main(int count, char **words)
{
    const char *scenario = count > 1 ? words[1] : "calls";
    is_old = strcmp(scenario, "old") == 0;
    core2_size = is_old ? CORE2_SIZE_OLD : CORE2_SIZE;
    if (strcmp(scenario, "empty") == 0)
        core_size = core2_size = 0;
    has_tables = strcmp(scenario, "without") != 0;
    printf("%d\n", attach());
    if (strcmp(scenario, "calls") == 0 || is_old)
        calls();
    else if (strcmp(scenario, "twice") == 0)
        printf("%d\n", attach()), push("once"), pop();
    else if (strcmp(scenario, "hostile") == 0)
        hostile();
    else if (strcmp(scenario, "threads") == 0)
        threads();
    else if (strcmp(scenario, "forks") == 0)
        forks();
    else if (strcmp(scenario, "nested") == 0)
        nested();
    else if (strcmp(scenario, "deep") == 0)
        deep();
    else if (strcmp(scenario, "many") == 0)
        many(atoi(words[2]), atoi(words[3]));
    else if (strcmp(scenario, "kill") == 0)
        push("killed"), push("inner"), pop(), raise(9);
    else if (strcmp(scenario, "die") == 0)
        die(atoi(words[2]));
    else if (strcmp(scenario, "exec") == 0)
        push("before"), pop(), execl(words[0], words[0], "twice", (char *)NULL);
    else
        push("any"), pop();
    return 0;
}
