/* Ranges that are open: those of each thread, nested, and those that end anywhere. */
#include <stdlib.h>

#include "base/grow.h"
#include "process.h"

/* Of one domain on one thread. */
struct gt_range_stack {
    struct gt_range_stack *next;
    const struct gt_range_domain *domain;
    size_t depth; /* also of those beyond GT_RANGE_LEVELS, which are only counted */
    size_t capacity;
    struct gt_block *level;
};

void gt_range_stacks_free(struct gt_range_stack **stacks)
{
    for (struct gt_range_stack *stack = *stacks, *next; stack; stack = next) {
        next = stack->next;
        free(stack->level);
        free(stack);
    }
    *stacks = NULL;
}

static struct gt_range_stack *find_stack(struct gt_range_thread *thread, const struct gt_range_domain *domain)
{
    struct gt_range_stack *stack = thread->stacks;
    while (stack && stack->domain != domain)
        stack = stack->next;
    return stack;
}

static struct gt_range_stack *stack_of(struct gt_range_thread *thread, const struct gt_range_domain *domain)
{
    struct gt_range_stack *stack = find_stack(thread, domain);
    if (stack || !(stack = calloc(1, sizeof *stack)))
        return stack;
    stack->domain = domain;
    stack->next = thread->stacks;
    return thread->stacks = stack;
}

static struct gt_block begin(struct gt_range_process *process, struct gt_range_thread *thread,
                             const struct gt_range_domain *domain, const struct gt_range_name *name)
{
    if (thread->sum_count)
        gt_range_write_sums(process, thread);
    if (!name)
        gt_range_drop(process, domain->source, LIMIT_NAMES);
    else if (!name->is_off && gt_range_admit(process, domain->source))
        return gt_block_begin(name->text);
    return (struct gt_block){0};
}

int gt_range_push(struct gt_range_domain *domain, struct gt_range_name *name)
{
    struct gt_range_process *process = gt_range_domain_is_on(domain) ? gt_range_process() : NULL;
    if (!process)
        return GT_RANGE_NO_LEVEL;
    struct gt_range_thread *thread = gt_range_thread(process);
    struct gt_range_stack *stack = thread ? stack_of(thread, domain) : NULL;
    if (!stack)
        return -1;
    size_t depth = stack->depth;
    if (depth >= GT_RANGE_LEVELS)
        gt_range_drop(process, domain->source, LIMIT_LEVELS);
    else if (GT_GROW_TO(stack->level, stack->capacity, depth + 1) < 0)
        return -1;
    else
        stack->level[depth] = begin(process, thread, domain, name);
    stack->depth++;
    return (int)depth;
}

int gt_range_pop(struct gt_range_domain *domain)
{
    struct gt_range_process *process = gt_range_domain_is_on(domain) ? gt_range_process() : NULL;
    if (!process)
        return GT_RANGE_NO_LEVEL;
    struct gt_range_thread *thread = gt_range_thread(process);
    struct gt_range_stack *stack = thread ? find_stack(thread, domain) : NULL;
    if (!stack || stack->depth == 0)
        return -1;
    size_t depth = --stack->depth;
    if (thread->sum_count)
        gt_range_write_sums(process, thread);
    if (depth < GT_RANGE_LEVELS)
        gt_block_end(&stack->level[depth]);
    return (int)depth;
}

/* ---- ranges that end anywhere ---- */

enum { OPEN_MOST = 1000000 };

/* Caller holds the mutex. */
static uint64_t keep(struct gt_range_process *process, const struct gt_block *block)
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
    struct gt_open_range *range = &process->open[number - 1];
    range->is_open = true;
    range->block = *block;
    return (uint64_t)range->generation << 32 | number;
}

/* Caller holds the mutex. */
static bool take(struct gt_range_process *process, struct gt_block *block, uint64_t id)
{
    uint32_t number = (uint32_t)id, generation = (uint32_t)(id >> 32);
    if (!number || number > process->open_count)
        return false;
    struct gt_open_range *range = &process->open[number - 1];
    if (!range->is_open || range->generation != generation)
        return false;
    *block = range->block;
    range->is_open = false;
    range->generation++;
    range->next_free = process->first_free;
    process->first_free = number;
    return true;
}

uint64_t gt_range_start(struct gt_range_domain *domain, struct gt_range_name *name)
{
    struct gt_range_process *process = gt_range_domain_is_on(domain) ? gt_range_process() : NULL;
    if (!process)
        return 0;
    struct gt_range_thread *thread = gt_range_thread(process);
    struct gt_block block = thread ? begin(process, thread, domain, name) : (struct gt_block){0};
    if (!block.file)
        return 0;
    pthread_mutex_lock(&process->mutex);
    uint64_t id = keep(process, &block);
    pthread_mutex_unlock(&process->mutex);
    return id;
}

void gt_range_end(uint64_t id)
{
    struct gt_block block;
    struct gt_range_process *process = gt_range_process();
    if (!process)
        return;
    pthread_mutex_lock(&process->mutex);
    bool is_known = take(process, &block, id);
    pthread_mutex_unlock(&process->mutex);
    if (is_known)
        gt_block_end(&block);
}
