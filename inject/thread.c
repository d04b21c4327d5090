/* What the library keeps for each thread, and the sums of calls that are too many to list. */
#include <stdlib.h>

#include "blocks/block.h"
#include "process.h"

enum { SUM_MOST_NS = 1000000000 }; /* so far apart are the first call and the last in a sum */

static _Thread_local struct gt_range_thread *current;
static pthread_key_t thread_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_key;

static void write_mine(void)
{
    struct gt_range_process *process = gt_range_process();
    struct gt_range_thread *thread = current;
    if (process && thread && thread->identity == atomic_load(&process->identity))
        gt_range_write_sums(process, thread);
}

static void leave_thread(void *argument)
{
    struct gt_range_thread *thread = argument;
    write_mine();
    current = NULL;
    gt_range_stacks_free(&thread->stacks);
    free(thread);
}

static void make_key(void)
{
    has_key = pthread_key_create(&thread_key, leave_thread) == 0;
    atexit(write_mine); /* before the blocks' own end */
}

struct gt_range_thread *gt_range_thread(struct gt_range_process *process)
{
    uint64_t identity = atomic_load_explicit(&process->identity, memory_order_relaxed);
    struct gt_range_thread *thread = current;
    if (thread && thread->identity == identity)
        return thread;
    if (thread) {
        gt_range_stacks_free(&thread->stacks);
        thread->sum_count = 0;
    } else {
        pthread_once(&once, make_key);
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

/* ---- sums ---- */

void gt_range_write_sums(struct gt_range_process *process, struct gt_range_thread *thread)
{
    int64_t at = thread->sums_begin_ns;
    for (int i = 0; i < thread->sum_count; i++) {
        const struct gt_range_sum *sum = &thread->sum[i];
        if (gt_range_admit(process, sum->name->domain->source))
            gt_block_add_past(sum->name->text, at, at + sum->ns);
        at += sum->ns;
    }
    thread->sum_count = 0;
}

static struct gt_range_sum *sum_of(struct gt_range_thread *thread, const struct gt_range_name *name)
{
    for (int i = 0; i < thread->sum_count; i++)
        if (thread->sum[i].name == name)
            return &thread->sum[i];
    if (thread->sum_count == GT_RANGE_SUMS)
        return NULL;
    thread->sum[thread->sum_count] = (struct gt_range_sum){.name = name};
    return &thread->sum[thread->sum_count++];
}

void gt_range_sum(struct gt_range_domain *domain, struct gt_range_name *name, int64_t begin_ns, int64_t end_ns)
{
    struct gt_range_process *process = name && !name->is_off && gt_range_domain_is_on(domain) ? gt_range_process()
                                                                                              : NULL;
    struct gt_range_thread *thread = process ? gt_range_thread(process) : NULL;
    if (!thread)
        return;
    if (thread->sum_count && end_ns - thread->sums_begin_ns > SUM_MOST_NS)
        gt_range_write_sums(process, thread);
    if (!thread->sum_count)
        thread->sums_begin_ns = begin_ns;
    struct gt_range_sum *sum = sum_of(thread, name);
    if (sum)
        sum->ns += end_ns - begin_ns;
}
