/* roctx of AMD's ROCm: the library is preloaded and stands before the functions of libroctx64 or librocprofiler-sdk-roctx, which are
 * called as well. */
#include "base/grow.h"
#include "next.h"
#include "process.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int roctxRangePushA(const char *text);
EXPORT int roctxRangePop(void);
EXPORT uint64_t roctxRangeStartA(const char *text);
EXPORT void roctxRangeStop(uint64_t id);

static int (*next_push)(const char *text);
static int (*next_pop)(void);
static uint64_t (*next_start)(const char *text);
static void (*next_stop)(uint64_t id);
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_next(void)
{
    static const char library[] = "libroc"; /* and its kin */
    next_push = (int (*)(const char *))gt_next("roctxRangePushA", library);
    next_pop = (int (*)(void))gt_next("roctxRangePop", library);
    next_start = (uint64_t(*)(const char *))gt_next("roctxRangeStartA", library);
    next_stop = (void (*)(uint64_t))gt_next("roctxRangeStop", library);
}

/* NULL when nobody asked for these ranges. */
static struct gt_range_domain *domain(void)
{
    static _Atomic(struct gt_range_domain *) kept;
    pthread_once(&once, find_next);
    if (!kept)
        kept = gt_ranges_begin(GT_BLOCK_SOURCE_roctx) ? gt_range_domain(GT_BLOCK_SOURCE_roctx, NULL) : NULL;
    return kept;
}

int roctxRangePushA(const char *text)
{
    int level = gt_range_push(domain(), gt_range_name(domain(), text));
    return next_push ? next_push(text) : level;
}

int roctxRangePop(void)
{
    int level = gt_range_pop(domain());
    return next_pop ? next_pop() : level;
}

/* ---- ranges that end anywhere: the program knows them by the numbers of the other library ---- */

struct gt_range_pair {
    uint64_t theirs, ours;
};

static void keep(uint64_t theirs, uint64_t ours)
{
    struct gt_range_process *process = gt_range_process();
    if (!process)
        return;
    pthread_mutex_lock(&process->mutex);
    if (GT_GROW_TO(process->pairs, process->pair_capacity, process->pair_count + 1) >= 0)
        process->pairs[process->pair_count++] = (struct gt_range_pair){theirs, ours};
    pthread_mutex_unlock(&process->mutex);
}

/* The newest are at the end. */
static uint64_t take(uint64_t theirs)
{
    uint64_t ours = 0;
    struct gt_range_process *process = gt_range_process();
    if (!process)
        return 0;
    pthread_mutex_lock(&process->mutex);
    for (size_t i = process->pair_count; i-- > 0;)
        if (process->pairs[i].theirs == theirs) {
            ours = process->pairs[i].ours;
            process->pairs[i] = process->pairs[--process->pair_count];
            break;
        }
    pthread_mutex_unlock(&process->mutex);
    return ours;
}

uint64_t roctxRangeStartA(const char *text)
{
    uint64_t ours = gt_range_start(domain(), gt_range_name(domain(), text));
    if (!next_start)
        return ours;
    uint64_t theirs = next_start(text);
    if (ours)
        keep(theirs, ours);
    return theirs;
}

void roctxRangeStop(uint64_t id)
{
    domain();
    gt_range_end(next_start ? take(id) : id);
    if (next_stop)
        next_stop(id);
}
