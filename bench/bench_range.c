/* What a range of NVTX costs that becomes a block, beside one that is marked with GT_BLOCK, by turns: bench_range CALLS LIBRARY, where
 * GPU_TRACKER_BLOCKS is a folder. Prints the least nanoseconds of CPU time of each, a line each. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "gpu_tracker.h"

enum { ROUNDS = 10, SLOTS = 16, KINDS = 6 };

typedef void function(void);

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

static function *slot[2][SLOTS];

static int table(uint32_t module, function ****ret, unsigned *size)
{
    static function **slots[2][SLOTS];
    for (int i = 0; i < SLOTS; i++)
        slots[module != 1][i] = &slot[module != 1][i];
    *ret = slots[module != 1];
    *size = SLOTS;
    return 1;
}

static const void *get(uint32_t number)
{
    static const struct callbacks callbacks = {sizeof callbacks, table};
    return number == 1 ? &callbacks : NULL;
}

static double cpu_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void one(int kind, void *domain, const struct attributes *registered)
{
    struct gt_block block;
    int (*push)(const char *) = (int (*)(const char *))slot[0][9];
    int (*pop)(void) = (int (*)(void))slot[0][11];
    switch (kind) {
    case 0:
        block = gt_block_begin("inner block");
        gt_block_end(&block);
        return;
    case 1:
    case 2:
        push(kind == 1 ? "inner block" : "inner, block");
        pop();
        return;
    case 3: ((void (*)(uint64_t))slot[0][7])(((uint64_t(*)(const char *))slot[0][5])("inner block")); return;
    default:
        ((int (*)(void *, const struct attributes *))slot[1][4])(domain, registered);
        ((int (*)(void *))slot[1][5])(domain);
    }
}

int main(int count, char **words)
{
    static const char *const names[KINDS] = {
        "GT_BLOCK",          "push and pop", "a name with a comma", "start and end", "registered, in a domain",
        "domain that is off"};
    double least[KINDS];
    long calls = count > 2 ? atol(words[1]) : 0;
    void *library = calls > 0 ? dlopen(words[2], RTLD_LAZY) : NULL;
    int (*initialize)(const void *(*)(uint32_t));
    if (!library)
        return fprintf(stderr, "bench_range CALLS LIBRARY\n"), 2;
    *(void **)&initialize = dlsym(library, "InitializeInjectionNvtx2");
    if (!initialize || !initialize(get))
        return fprintf(stderr, "%s takes no part\n", words[2]), 1;
    void *domain[2];
    struct attributes registered[2];
    for (int i = 0; i < 2; i++) {
        domain[i] = ((void *(*)(const char *))slot[1][12])(i ? "OFF" : "ON");
        registered[i] = (struct attributes){.version = 3, .size = sizeof *registered, .message_type = 3};
        registered[i].message = ((const void *(*)(void *, const char *))slot[1][10])(domain[i], "inner block");
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int kind = 0; kind < KINDS; kind++) {
            double begin = cpu_seconds();
            for (long i = 0; i < calls; i++)
                one(kind, domain[kind == 5], &registered[kind == 5]);
            double each = (cpu_seconds() - begin) / (double)calls * 1e9;
            least[kind] = round == 0 || each < least[kind] ? each : least[kind];
        }
    for (int kind = 0; kind < KINDS; kind++)
        printf("%s\t%.0f\n", names[kind], least[kind]);
    return 0;
}
