#include "sample/account.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "collect/process/memory.h"
#include "collect/process/process.h"
#include "sample/rank_finder.h"
#include "sample/process_history.h"

const enum gt_metric_id gt_accounted[GT_ACCOUNTED] = {
    GT_CPU_TIME,   GT_MINOR_FAULTS,  GT_MAJOR_FAULTS,    GT_VOLUNTARY_SWITCHES, GT_INVOLUNTARY_SWITCHES,
    GT_READ_BYTES, GT_WRITTEN_BYTES, GT_READ_CHARACTERS, GT_WRITTEN_CHARACTERS,
};

static bool is_io(int k)
{
    return k >= 5;
}

/* wait4 tells CPU time and faults as the kernel has them; its bytes are in blocks, and characters it does not tell. */
static bool is_exact_in_usage(int k)
{
    return k < 3;
}

void gt_account_init(struct gt_account *account, uint64_t start_tick)
{
    *account = (struct gt_account){.start_tick = start_tick};
}

/* Returns what the member and the children it waited for have used. */
static double inclusive(const struct gt_process *process, int k)
{
    double own = process->value[gt_accounted[k]];
    return (isnan(own) ? 0 : own) + process->reaped[gt_accounted[k]];
}

/* The part of `inclusive` in which a waited-for child shows up; for bytes the kernel does not tell it apart from the
 * process's own. */
static double absorbed(const struct gt_process *process, int k)
{
    return is_io(k) ? inclusive(process, k) : process->reaped[gt_accounted[k]];
}

void gt_account_admit(struct gt_account *account, struct gt_process *process)
{
    for (int k = 0; k < GT_ACCOUNTED; k++)
        account->measured[k] |= !isnan(process->value[gt_accounted[k]]);
    if (process->start < account->start_tick) {
        for (int k = 0; k < GT_ACCOUNTED; k++)
            process->baseline.base[k] = inclusive(process, k);
        process->baseline.own_base = isnan(process->value[GT_CPU_TIME]) ? 0 : process->value[GT_CPU_TIME];
        process->hwm_before = isnan(process->hwm) ? 0 : process->hwm;
        account->main_hwm_before = process->is_main ? process->hwm_before : account->main_hwm_before;
        process->value[GT_RAM_PEAK] = process->value[GT_RSS];
        process->is_worker = process->is_forked;
        process->alone_ns = process->is_forked ? process->met_ns : 0;
    }
    for (int k = 0; k < GT_ACCOUNTED; k++)
        process->baseline.absorbed[k] = absorbed(process, k);
    process->version++;
}

/* Used by children that the process did not wait for. */
static double lost(const struct gt_process *process, int k)
{
    double growth = absorbed(process, k) - process->baseline.absorbed[k];
    return fmax(0, process->baseline.left[k] - growth);
}

/* All that a member and its ended descendants have used. */
static double legacy(const struct gt_process *process, int k)
{
    return inclusive(process, k) + lost(process, k);
}

double gt_account_used(const struct gt_process *process, int k)
{
    return legacy(process, k) - process->baseline.base[k];
}

static void end_without_parent(struct gt_account *account, const struct gt_process *process)
{
    for (int k = 0; k < GT_ACCOUNTED; k++)
        account->ended[k] += gt_account_used(process, k);
}

static void leave_to(struct gt_process *parent, const struct gt_process *child)
{
    for (int k = 0; k < GT_ACCOUNTED; k++) {
        parent->baseline.left[k] += legacy(child, k);
        parent->baseline.base[k] += child->baseline.base[k];
    }
    parent->version++;
}

/* What a parent has taken over is known once it was read after the end. */
static void tell_rest(const struct gt_account *account, struct gt_tree *tree, const struct gt_process *child)
{
    struct gt_process *parent = gt_tree_find(tree, child->parent);
    if (!account->history || !parent || parent == child || parent->is_gone || !parent->is_fresh)
        return;
    double excess = absorbed(parent, 0) - parent->baseline.absorbed[0] - parent->baseline.left[0];
    double rest = tree->has_left_out ? NAN : excess - parent->baseline.excess; /* or it may be a sampler's */
    gt_process_history_took_over(account->history, parent->pid, child->pid, rest);
    parent->baseline.excess = excess;
}

/* Returns the nearest process above that is there still; NULL: none of the job is. */
static struct gt_process *find_above(const struct gt_tree *tree, const struct gt_process *process)
{
    struct gt_process *above = gt_tree_find(tree, process->parent);
    for (size_t step = 0; step < tree->count && above && above->is_gone; step++)
        above = gt_tree_find(tree, above->parent);
    return above && !above->is_gone && above != process ? above : NULL;
}

static bool may_be_orphan(const struct gt_tree *tree, const struct gt_process *process)
{
    const struct gt_process *parent = gt_tree_find(tree, process->parent);
    return parent && parent != process && (parent->is_gone || parent->is_zombie);
}

/* CPU time of children comes in clock ticks, in two parts. */
static bool has_taken_over(const struct gt_process *process, const struct gt_process *child)
{
    const double slack[] = {2.0 / (double)sysconf(_SC_CLK_TCK), 0};
    for (int k = 0; k < 2; k++)
        if (absorbed(process, k) - process->baseline.absorbed[k] - process->baseline.left[k] + slack[k] <
            legacy(child, k))
            return false;
    return true;
}

/* Returns the process to which one that vanished left what it used. If its parent vanished in the same moment, another one above may have
 * adopted it. What none of them took over counts as lost, to the nearest that is there. */
static struct gt_process *find_heir(const struct gt_tree *tree, const struct gt_process *process)
{
    struct gt_process *nearest = find_above(tree, process), *heir = gt_tree_find(tree, process->parent);
    if (!may_be_orphan(tree, process))
        return nearest;
    for (size_t step = 0; step < tree->count && heir && !has_taken_over(heir, process); step++)
        heir = find_above(tree, heir);
    return heir ? heir : nearest;
}

/* Older ones first: what a parent took over from one is not there for its children. */
static void settle_gone(struct gt_account *account, struct gt_tree *tree, struct gt_process **gone, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        struct gt_process *heir = find_heir(tree, gone[i]);
        if (gone[i]->rank && (!heir || heir->rank != gone[i]->rank))
            gone[i]->rank->ended_cpu += gt_account_used(gone[i], 0);
        if (heir)
            leave_to(heir, gone[i]);
        else
            end_without_parent(account, gone[i]);
    }
    for (size_t i = 0; i < count; i++)
        tell_rest(account, tree, gone[i]);
}

/* Reads a process and, for an orphan of it, those above. Returns false where one turns out to have vanished. */
static bool read_above(const struct gt_tree *tree, const struct gt_process *process)
{
    bool is_orphan = may_be_orphan(tree, process);
    struct gt_process *above = find_above(tree, process);
    for (size_t step = 0; step < tree->count && above; step++) {
        bool was_fresh = above->is_fresh;
        above->is_fresh = true;
        if (!was_fresh && gt_process_read_slowly(above) < 0)
            return false;
        above = is_orphan ? find_above(tree, above) : NULL;
    }
    return true;
}

/* The parents of vanished members must be read after that. One may turn out to have vanished, too. */
static void read_parents(struct gt_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        if (tree->process[i]->is_gone && !read_above(tree, tree->process[i]))
            i = (size_t)-1; /* its parent is to be read, too: start again */
}

static bool was_read_before(const struct gt_tree *tree, const struct gt_process *process,
                            const struct gt_process *other)
{
    return gt_map_get(&tree->places, process->pid) < gt_map_get(&tree->places, other->pid);
}

/* What a parent has taken over from a child that was read before it, and lived then, would count twice. `final` is read no more. Returns
 * true where such a child has ended. */
static bool read_children_again(struct gt_tree *tree, pid_t final)
{
    bool has_ended = false;
    for (size_t i = 0; i < tree->count; i++) {
        struct gt_process *process = tree->process[i], *parent = gt_tree_find(tree, process->parent);
        if (process->pid == final || process->is_gone || !parent || parent == process || parent->is_gone)
            continue;
        if ((!parent->is_fresh && !was_read_before(tree, process, parent)) || gt_process_read(process, tree->root) == 0)
            continue;
        has_ended = true;
        parent->is_fresh = parent->pid == final;
    }
    return has_ended;
}

/* A process's own bytes show up in what it has taken over from children, too, and so do those of children that nobody met: what it has by
 * now explains none that end later. */
static void explain_bytes(struct gt_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        struct gt_process *process = tree->process[i];
        for (int k = 0; k < GT_ACCOUNTED; k++)
            if (is_io(k))
                process->baseline.absorbed[k] = fmax(process->baseline.absorbed[k],
                                                     absorbed(process, k) - process->baseline.left[k]);
    }
}

/* A process that ends leaves its living children to another one, which takes over what they use. They may sleep, so that nothing else makes
 * them be read again. */
static void find_adopters(struct gt_tree *tree, pid_t final)
{
    for (size_t i = 0; i < tree->count; i++) {
        struct gt_process *process = tree->process[i], *parent = gt_tree_find(tree, process->parent);
        if (process->is_gone || process->pid == final || !parent || parent == process)
            continue;
        if (parent->is_gone || parent->is_zombie || parent->pid == final)
            gt_process_read_slowly(process);
    }
}

static void settle(struct gt_account *account, struct gt_tree *tree, pid_t final)
{
    struct gt_process **gone = NULL;
    size_t count = 0;
    do {
        find_adopters(tree, final);
        read_parents(tree);
    } while (read_children_again(tree, final));
    for (size_t i = 0; i < tree->count; i++) {
        if (!tree->process[i]->is_gone)
            continue;
        if (!gone && !(gone = malloc(tree->count * sizeof *gone)))
            return; /* settled in the next snapshot */
        gone[count++] = tree->process[i];
    }
    if (count > 1)
        qsort(gone, count, sizeof *gone, gt_process_younger_first);
    settle_gone(account, tree, gone, count);
    free(gone);
    gt_tree_drop_gone(tree);
    explain_bytes(tree);
    for (size_t i = 0; i < tree->count; i++)
        tree->process[i]->is_fresh = false;
}

void gt_account_settle(struct gt_account *account, struct gt_tree *tree)
{
    const struct gt_process *main = tree->count && tree->process[0]->is_main ? tree->process[0] : NULL;
    if (main)
        account->main_own_cpu = main->value[GT_CPU_TIME] - main->baseline.own_base;
    settle(account, tree, 0);
}

static void usage_values(const struct rusage *usage, double values[GT_ACCOUNTED])
{
    memset(values, 0, GT_ACCOUNTED * sizeof *values);
    values[0] = (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
                (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
    values[1] = (double)usage->ru_minflt;
    values[2] = (double)usage->ru_majflt;
    values[3] = (double)usage->ru_nvcsw;
    values[4] = (double)usage->ru_nivcsw;
    values[5] = (double)usage->ru_inblock * 512;
    values[6] = (double)usage->ru_oublock * 512;
}

/* Every process has page faults. */
static bool has_waited_for_none(const struct gt_process *process)
{
    return process->reaped[GT_MINOR_FAULTS] + process->reaped[GT_MAJOR_FAULTS] == 0;
}

/* Put what wait4 said in the place of what was read, as growth of the part taken over from children. */
static void make_exact(struct gt_process *process, const double exact[GT_ACCOUNTED])
{
    for (int k = 0; k < GT_ACCOUNTED; k++) {
        double more = exact[k] - inclusive(process, k);
        if (more > 0 || is_exact_in_usage(k))
            process->reaped[gt_accounted[k]] += more;
    }
    process->version++;
}

/* What a process that is held back may still touch before it executes its program. */
static const double BEFORE_EXECUTION = 256 * 1024;

/* wait4's maximum is that of the largest single process among the child and the children it waited for. It starts at what the child
 * had before it executed its program, so the main process's tells something only above that (or above our own mark where it was not
 * held back; our own ru_maxrss is of what executed us, too), and that of a descendant only above what any process of the job is known to
 * have had. A program that had less is taken to have had what wait4 tells: it is more by at most what the child had. */
static double floor_of(const struct gt_account *account)
{
    return account->main_hwm_held > 0 ? account->main_hwm_held + BEFORE_EXECUTION : gt_own_hwm();
}

static void note_peak(struct gt_account *account, const struct gt_tree *tree, struct gt_job_peak *peak, pid_t pid,
                      const struct rusage *usage)
{
    double bytes = (double)usage->ru_maxrss * 1024;
    const struct gt_process *process = gt_tree_find(tree, pid);
    bool is_main = pid == tree->main, waited_for_none = process && process->is_zombie && has_waited_for_none(process);
    if (process && process->peak != GT_PEAK_NONE)
        gt_job_peak_limit(peak, process->peak, bytes);
    if (is_main && waited_for_none)
        account->main_bound = bytes;
    if (is_main && !(bytes > floor_of(account))) {
        account->main_about = waited_for_none && account->main_hwm_held > 0 ? bytes : 0;
        return;
    }
    if (is_main || bytes > peak->largest_hwm)
        gt_job_peak_raise(peak, GT_PEAK_COMBINED, bytes);
    if (!is_main && bytes > peak->largest_hwm)
        gt_job_peak_raise(peak, GT_PEAK_DESCENDANTS, bytes);
    if (is_main && waited_for_none)
        account->main_peak = bytes;
}

void gt_account_reaped(struct gt_account *account, struct gt_tree *tree, struct gt_job_peak *peak, pid_t pid,
                       const struct rusage *usage)
{
    double exact[GT_ACCOUNTED];
    usage_values(usage, exact);
    for (int k = 0; k < 7; k++)
        account->measured[k] = true;
    note_peak(account, tree, peak, pid, usage);
    struct gt_process *process = gt_tree_find(tree, pid);
    if (!process) { /* it came and went between two samples */
        for (int k = 0; k < GT_ACCOUNTED; k++)
            account->ended[k] += exact[k];
        tree->started++;
        return;
    }
    for (size_t i = 0; i < tree->count; i++)
        if (tree->process[i] != process)
            gt_process_read(tree->process[i], tree->root);
    if (process->is_main && !isnan(process->value[GT_CPU_TIME]))
        account->main_own_cpu = process->value[GT_CPU_TIME] - process->baseline.own_base;
    bool is_own = process->is_main && process->is_zombie && has_waited_for_none(process);
    make_exact(process, exact);
    for (int k = 1; k < GT_ACCOUNTED && is_own; k++)
        account->main_own[k] = inclusive(process, k) - process->baseline.base[k];
    process->is_fresh = true; /* it cannot be read any more, and need not */
    settle(account, tree, process->pid);
    end_without_parent(account, process);
    process->is_gone = true;
    gt_tree_drop_gone(tree);
}

/* What has not changed is not touched. */
static const double *used_by(struct gt_process *process)
{
    struct gt_usage_baseline *baseline = &process->baseline;
    if (baseline->version != process->version)
        for (int k = 0; k < GT_ACCOUNTED; k++)
            baseline->used[k] = gt_account_used(process, k);
    baseline->version = process->version;
    return baseline->used;
}

/* A process that has ended and was not waited for is in its record already. Of the main process there is none. */
static void add_living(const struct gt_tree *tree, double total[GT_ACCOUNTED])
{
    for (size_t i = 0; i < tree->count; i++) {
        const struct gt_process *process = tree->process[i];
        int counted = !process->is_main && process->peak == GT_PEAK_NONE ? 0
                      : has_waited_for_none(process)                     ? GT_ACCOUNTED
                                                                         : GT_OWN;
        for (int k = 0; k < counted; k++)
            total[k] += fmax(0, process->value[gt_accounted[k]] - process->baseline.base[k]);
    }
}

/* Children that nobody waits for leave their parent nothing. What the living have read and written may be that of a child that was waited
 * for, which is in its record: it counts where there was none. */
void gt_account_hear(struct gt_account *account, const struct gt_tree *tree, const struct gt_exit_record *ended)
{
    double heard[GT_ACCOUNTED] = {
        (double)ended->ran_ns / 1e9,       (double)ended->minor_faults,         (double)ended->major_faults,
        (double)ended->voluntary_switches, (double)ended->involuntary_switches, (double)ended->read_bytes,
        (double)ended->written_bytes,      (double)ended->read_characters,      (double)ended->written_characters,
    };
    if (!ended->cpu_ns)
        return;
    bool has_main = gt_tree_find(tree, tree->main);
    heard[0] += has_main ? 0 : account->main_own_cpu;
    for (int k = 1; k < GT_ACCOUNTED && !has_main; k++)
        heard[k] += account->main_own[k];
    add_living(tree, heard);
    for (int k = 0; k < GT_ACCOUNTED; k++)
        account->heard[k] = fmax(account->heard[k], heard[k]);
}

/* Seconds. What falls by more was counted twice: a child whose parent had just taken over its time, and who was still there. */
static const double SMALL_FALL = 0.05;

void gt_account_keep(struct gt_account *account, const struct gt_tree *tree)
{
    double values[GT_METRIC_COUNT];
    account->others_cpu -= fmin(account->others_cpu, account->left_out - account->others_left_out);
    account->others_left_out = account->left_out;
    double before = account->others_cpu;
    account->others_cpu = 0;
    gt_account_totals(account, tree, values);
    double others = account->is_lone ? 0 : fmax(0, values[gt_accounted[0]] - account->main_own_cpu);
    account->others_cpu = others < before && before - others <= SMALL_FALL && !account->is_lone ? before : others;
    for (int k = 1; k < GT_ACCOUNTED; k++)
        account->kept[k] = tree->has_left_out ? 0 : fmax(account->kept[k], values[gt_accounted[k]]);
}

void gt_account_totals(const struct gt_account *account, const struct gt_tree *tree, double values[GT_METRIC_COUNT])
{
    double total[GT_ACCOUNTED];
    memcpy(total, account->ended, sizeof total);
    total[0] -= account->left_out;
    for (size_t i = 0; i < tree->count; i++) {
        const double *used = used_by(tree->process[i]);
        for (int k = 0; k < GT_ACCOUNTED; k++)
            total[k] += used[k];
    }
    /* What was left out is known to the nanosecond, what children left behind in clock ticks. */
    if (account->left_out > 0 && (account->is_lone || total[0] < account->main_own_cpu))
        total[0] = account->main_own_cpu;
    for (int k = 0; k < GT_ACCOUNTED; k++)
        total[k] = fmax(total[k], fmax(account->heard[k], account->kept[k]));
    total[0] = fmax(total[0], account->main_own_cpu + account->others_cpu);
    for (int k = 0; k < GT_ACCOUNTED; k++)
        values[gt_accounted[k]] = account->measured[k] ? total[k] : NAN;
}
