#include "sample/shared_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "collect/process/process.h"

static const int64_t RETRY_NS = GT_SECOND / 10;  /* of a process that was just ending, or executing another program */
static const int64_t SETTLED_NS = GT_SECOND / 5; /* without a change */
enum { SOONER = 4 };                             /* of the pause, for one that has settled */

static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

static double between(double value, double low, double high)
{
    return value > high ? high : value < low ? low : value;
}

/* Frames keep their order from sample to sample, so the search begins where the last one ended. */
static struct gt_shared_memory_record *find(struct gt_shared_memory *sharing, pid_t pid, uint64_t start, size_t *hint)
{
    for (size_t i = 0; i < sharing->count; i++) {
        size_t at = (*hint + i) % sharing->count;
        if (sharing->record[at].pid == pid && sharing->record[at].start == start) {
            *hint = at + 1;
            return &sharing->record[at];
        }
    }
    return NULL;
}

static int reserve(struct gt_shared_memory *sharing, size_t count)
{
    return GT_GROW_TO(sharing->record, sharing->capacity, count);
}

static void swap(struct gt_shared_memory_record *a, struct gt_shared_memory_record *b)
{
    struct gt_shared_memory_record kept = *a;
    *a = *b;
    *b = kept;
}

/* The memory that a walk saw is gone when the process has executed another program. */
static void take_fork(struct gt_shared_memory_record *record, const struct gt_process *process)
{
    if (record->is_forked && !process->is_forked)
        record->has_walk = false;
    record->is_forked = process->is_forked && !process->is_main;
    record->is_pending = gt_process_is_pending(process);
    record->heritage = process->heritage;
}

/* Records before `at` are settled; those behind are from the last frame, in any order. */
static void take_over(struct gt_shared_memory *sharing, size_t at, const struct gt_process *process, int64_t now_ns)
{
    size_t hint = at;
    struct gt_shared_memory_record *known = at < sharing->count ? find(sharing, process->pid, process->start, &hint)
                                                                : NULL;
    struct gt_shared_memory_record *record = &sharing->record[at];
    if (known) {
        swap(record, known);
    } else {
        if (sharing->count > at)
            sharing->record[sharing->count] = *record;
        sharing->count++;
        *record = (struct gt_shared_memory_record){.pid = process->pid, .start = process->start};
    }
    record->is_main = process->is_main;
    if (!record->has_walk)
        record->program = gt_hash(process->name, strnlen(process->name, sizeof process->name));
    double rss = or_zero(process->value[GT_RSS]);
    double faults = process->value[GT_MINOR_FAULTS] + process->value[GT_MAJOR_FAULTS];
    if (rss != record->rss || faults != record->faults)
        record->moved_ns = now_ns;
    record->rss = rss;
    record->file_bytes = or_zero(process->file_bytes);
    record->faults = faults;
    record->cpu_time = process->files ? gt_process_clock_at_stat(process) : NAN;
    take_fork(record, process);
}

/* Whose record stands for those that inherited from the same process. */
static int find_families(struct gt_shared_memory *sharing)
{
    int result = 0;
    bool has_any = false;
    for (size_t i = 0; i < sharing->count; i++) {
        sharing->record[i].family = GT_SHARED_MEMORY_NONE;
        has_any |= sharing->record[i].heritage.from != 0;
    }
    if (!has_any)
        return 0;
    gt_map_clear(&sharing->place);
    for (size_t i = 0; i < sharing->count && result >= 0; i++)
        result = gt_map_put(&sharing->place, sharing->record[i].pid, (uint32_t)i);
    for (size_t i = 0; i < sharing->count && result >= 0; i++) {
        struct gt_shared_memory_record *record = &sharing->record[i];
        if (!record->heritage.from)
            continue;
        uint32_t place = gt_map_get(&sharing->place, record->heritage.from);
        record->family = place == GT_MAP_ABSENT ? i : place;
        if (place == GT_MAP_ABSENT)
            result = gt_map_put(&sharing->place, record->heritage.from, (uint32_t)i);
    }
    return result;
}

int gt_shared_memory_follow(struct gt_shared_memory *sharing, const struct gt_frame *frame, int64_t now_ns)
{
    int result = reserve(sharing, sharing->count + frame->process_count);
    if (result < 0)
        return result;
    for (size_t i = 0; i < frame->process_count; i++)
        take_over(sharing, i, frame->process[i], now_ns);
    for (size_t i = frame->process_count; i < sharing->count; i++)
        sharing->has_left |= sharing->record[i].has_walk;
    sharing->count = frame->process_count;
    return find_families(sharing);
}

size_t gt_shared_memory_ask(struct gt_shared_memory *sharing, struct gt_memory_process *process, bool only_new)
{
    size_t count = 0;
    for (size_t i = 0; i < sharing->count; i++) {
        struct gt_shared_memory_record *record = &sharing->record[i];
        if (record->is_pending || (only_new && (record->has_walk || record->is_denied)))
            continue;
        record->asked_rss = record->rss;
        record->asked_faults = record->faults;
        process[count++] = (struct gt_memory_process){
            .pid = record->pid,
            .start = record->start,
            .is_main = record->is_main,
            .cpu_time = record->cpu_time,
            .faults = record->faults,
        };
    }
    return count;
}

static void learn_one(struct gt_shared_memory_record *record, const struct gt_memory_process *walked, bool is_whole)
{
    record->is_denied = walked->is_denied;
    record->has_walk = walked->ok;
    if (!walked->ok)
        return;
    record->is_alone = !is_whole;
    record->seen = walked->rss;
    record->seen_file = walked->file_bytes;
    record->seen_faults = isnan(walked->faults) ? record->asked_faults : walked->faults;
    record->walked_private = walked->private_bytes;
    record->walked_anonymous = walked->anonymous;
    record->walked_shared = walked->shared_bytes;
}

void gt_shared_memory_learn(struct gt_shared_memory *sharing, const struct gt_memory_process *process, size_t count,
                            const struct gt_memory_totals *totals, bool is_whole, int64_t end_ns, int pause)
{
    size_t hint = 0;
    for (size_t i = 0; i < count; i++) {
        struct gt_shared_memory_record *record = find(sharing, process[i].pid, process[i].start, &hint);
        if (!record)
            continue; /* it has ended meanwhile */
        learn_one(record, &process[i], is_whole);
        int64_t left_alone = pause * process[i].duration_ns;
        record->allowed_ns = end_ns + (record->has_walk ? left_alone : left_alone + RETRY_NS);
        record->settled_ns = record->allowed_ns - left_alone + left_alone / SOONER;
    }
    if (is_whole) {
        sharing->shared[GT_SCOPE_MAIN] = totals->main.shared_bytes;
        sharing->shared[GT_SCOPE_DESCENDANTS] = totals->descendants.shared_bytes;
        sharing->shared[GT_SCOPE_COMBINED] = totals->combined.shared_bytes;
        sharing->sure[GT_SCOPE_MAIN] = totals->main.sure_shared;
        sharing->sure[GT_SCOPE_DESCENDANTS] = totals->descendants.sure_shared;
        sharing->sure[GT_SCOPE_COMBINED] = totals->combined.sure_shared;
        sharing->files = totals->files;
        sharing->has_left = false;
        sharing->mapped_seen = totals->mapped;
    }
}

/* What a walk saw of a process on its way stays wrong when it has arrived: so that one is walked soon. */
int64_t gt_shared_memory_allowed(const struct gt_shared_memory_record *record, int64_t now_ns)
{
    bool has_moved = record->rss != record->asked_rss || record->faults != record->asked_faults;
    return has_moved && now_ns - record->moved_ns >= SETTLED_NS ? record->settled_ns : record->allowed_ns;
}

static double anonymous_bytes(const struct gt_shared_memory_record *record)
{
    return record->rss - record->file_bytes;
}

/* Each page that is written to is copied at a page fault, and new pages are made at others. A fault of a file may map several
 * pages, so this is rather too low. */
double gt_shared_memory_copied(const struct gt_shared_memory_record *record)
{
    if (!record->heritage.from)
        return 0;
    double before = record->has_walk ? record->seen - record->seen_file : record->heritage.bytes;
    double faults = record->faults - (record->has_walk ? record->seen_faults : 0);
    double file = record->file_bytes - (record->has_walk ? record->seen_file : 0);
    double made = fmax(0, anonymous_bytes(record) - before) + fmax(0, file);
    double left = record->has_walk ? record->shared_bytes - record->file_bytes : record->heritage.bytes;
    double copied = or_zero(faults) * (double)sysconf(_SC_PAGESIZE) - made;
    return between(copied, 0, fmax(0, left));
}

/* Bytes of files that the last whole walk did not see in it. */
static double grown_files(const struct gt_shared_memory_record *record)
{
    if (!record->has_walk)
        return record->file_bytes;
    return record->is_alone ? fmin(record->file_bytes, record->shared_bytes)
                            : fmax(0, record->file_bytes - record->seen_file);
}

void gt_shared_memory_update(struct gt_shared_memory *sharing)
{
    sharing->grown = 0;
    for (size_t i = 0; i < sharing->count; i++) {
        struct gt_shared_memory_record *record = &sharing->record[i];
        double more = record->rss - record->seen, more_file = record->file_bytes - record->seen_file;
        record->private_bytes = record->shared_bytes = record->anonymous = NAN;
        if (record->has_walk) {
            record->private_bytes = between(record->walked_private + more - more_file, 0, record->rss);
            record->shared_bytes = record->rss - record->private_bytes;
            record->anonymous = between(record->walked_anonymous + more - more_file, 0,
                                        fmin(record->private_bytes, anonymous_bytes(record)));
        }
        double alone = record->has_walk ? record->private_bytes
                                        : fmax(0, anonymous_bytes(record) - record->heritage.bytes);
        record->own = fmin(alone, record->rss);
        sharing->grown += record->is_pending ? 0 : grown_files(record);
    }
}

struct sums {
    double rss, largest, own, sure, anonymous, counted, files, most_files;
    double shared, largest_shared, more_shared, largest_file; /* of those that were part of a whole walk */
    double other_shared;                                      /* the largest of the others */
};

/* Files of programs that began since the last whole walk: what many processes of one program have are taken for the same, also those that
 * the walk saw. */
enum { PROGRAMS = 16 };
struct new_files {
    uint64_t program[PROGRAMS];
    double most[PROGRAMS], seen[PROGRAMS]; /* the last ones are of all that are left */
    size_t count;
};

static void add_new_files(struct new_files *files, const struct gt_shared_memory_record *record)
{
    size_t i = 0;
    while (i < files->count && i < PROGRAMS - 1 && files->program[i] != record->program)
        i++;
    if (i == files->count) {
        files->program[i] = record->program;
        files->count++;
    }
    if (record->has_walk && !record->is_alone)
        files->seen[i] = fmax(files->seen[i], fmax(record->seen_file, record->file_bytes));
    else if (!record->is_forked)
        files->most[i] = fmax(files->most[i], grown_files(record));
}

static double sum_new_files(const struct new_files *files)
{
    double sum = 0;
    for (size_t i = 0; i < files->count; i++)
        sum += fmax(0, files->most[i] - files->seen[i]);
    return sum;
}

/* The most bytes of files that one process had when it was walked, and the most that any other had. */
struct most_files {
    double most, second;
    const struct gt_shared_memory_record *of;
};

/* What came to a process since it was walked are first the files that others had then: such as memory that all of them share. */
static double newly_shared(const struct gt_shared_memory_record *record, const struct most_files *files)
{
    double others = record == files->of ? files->second : files->most;
    return fmax(0, record->shared_bytes - record->walked_shared - fmax(0, others - record->seen_file));
}

static void add_walked(struct sums *sums, const struct gt_shared_memory_record *record, const struct most_files *files)
{
    sums->sure += record->private_bytes;
    sums->anonymous += record->anonymous;
    sums->counted += fmin(record->private_bytes, record->walked_private);
    if (record->is_alone) {
        sums->other_shared = fmax(sums->other_shared, record->shared_bytes - record->heritage.bytes);
        return;
    }
    sums->shared += record->shared_bytes;
    sums->largest_file = fmax(sums->largest_file, record->file_bytes);
    sums->largest_shared = fmax(sums->largest_shared, record->shared_bytes);
    sums->more_shared = fmax(sums->more_shared, newly_shared(record, files));
}

static void add(struct sums *sums, const struct gt_shared_memory_record *record, const struct most_files *files)
{
    if (record->is_pending)
        return;
    sums->rss += record->rss;
    sums->largest = fmax(sums->largest, record->rss);
    sums->files += record->file_bytes;
    sums->most_files = fmax(sums->most_files, record->file_bytes);
    sums->own += record->own;
    if (record->has_walk) {
        add_walked(sums, record, files);
        return;
    }
    double inherited = record->heritage.from ? fmax(record->heritage.bound, record->heritage.bytes) : 0;
    double anonymous = fmax(0, anonymous_bytes(record) - inherited);
    sums->sure += anonymous;
    sums->anonymous += anonymous;
    sums->other_shared = fmax(sums->other_shared, record->file_bytes);
}

static bool is_in(const struct gt_shared_memory_record *record, enum gt_scope scope)
{
    return scope == GT_SCOPE_COMBINED || record->is_main == (scope == GT_SCOPE_MAIN);
}

/* Whoever stands for a process that has ended does not stand for what that one had from another that lives. */
static double counted_above(const struct gt_shared_memory *sharing, const struct gt_shared_memory_record *record,
                            enum gt_scope scope)
{
    uint32_t place = record->heritage.above ? gt_map_get(&sharing->place, record->heritage.above) : GT_MAP_ABSENT;
    bool is_there = place != GT_MAP_ABSENT && sharing->record[place].pid == record->heritage.above;
    return is_there && is_in(&sharing->record[place], scope) ? record->heritage.above_bytes : 0;
}

/* What was inherited is counted with the process it is from, or once where that one is not in the scope. */
static double inherited_memory(struct gt_shared_memory *sharing, enum gt_scope scope)
{
    double sum = 0;
    for (size_t i = 0; i < sharing->count; i++)
        sharing->record[i].inherited = 0;
    for (size_t i = 0; i < sharing->count; i++) {
        struct gt_shared_memory_record *record = &sharing->record[i];
        if (record->family == GT_SHARED_MEMORY_NONE || record->is_pending || !is_in(record, scope))
            continue;
        struct gt_shared_memory_record *family = &sharing->record[record->family];
        bool is_counted = family->inherited < 0 || (record->has_walk && !record->is_alone) ||
                          (family->pid == record->heritage.from && is_in(family, scope));
        double rest = fmin(record->heritage.bytes, anonymous_bytes(record) - record->own);
        rest -= is_counted ? 0 : counted_above(sharing, record, scope);
        family->inherited = is_counted ? -1 : fmax(family->inherited, rest);
    }
    for (size_t i = 0; i < sharing->count; i++)
        sum += fmax(0, sharing->record[i].inherited);
    return sum;
}

static struct most_files find_most_files(const struct gt_shared_memory *sharing, enum gt_scope scope)
{
    struct most_files ret = {0};
    for (size_t i = 0; i < sharing->count; i++) {
        const struct gt_shared_memory_record *record = &sharing->record[i];
        if (!is_in(record, scope) || record->is_pending || !record->has_walk || record->is_alone)
            continue;
        if (record->seen_file > ret.most)
            ret = (struct most_files){record->seen_file, ret.most, record};
        else
            ret.second = fmax(ret.second, record->seen_file);
    }
    return ret;
}

/* Returns how much more of files and shared memory the scope has than the last whole walk saw. What the machine has mapped more since is no
 * less than what came to the processes that were walked, and the files of programs that began then are not those of the others as far as it
 * has them more; other work on the machine maps files, too. Where it is not known, files of who was not walked are taken for those that the
 * others have. */
static double find_growth(const struct gt_shared_memory *sharing, enum gt_scope scope, const struct sums *sums,
                          const struct new_files *new_files)
{
    double others = fmax(0, sums->other_shared - sums->largest_file), more = sharing->mapped - sharing->mapped_seen;
    if (scope == GT_SCOPE_MAIN || isnan(more))
        return others + sums->more_shared;
    double walked = between(more, 0, sums->more_shared);
    return walked + between(more - walked, others, fmax(others, sum_new_files(new_files)));
}

struct gt_scope_memory gt_shared_memory_scope(struct gt_shared_memory *sharing, enum gt_scope scope)
{
    struct sums sums = {0};
    struct most_files files = find_most_files(sharing, scope);
    struct new_files new_files = {0};
    for (size_t i = 0; i < sharing->count; i++)
        if (is_in(&sharing->record[i], scope))
            add(&sums, &sharing->record[i], &files);
    for (size_t i = 0; i < sharing->count && !isnan(sharing->mapped); i++) {
        const struct gt_shared_memory_record *record = &sharing->record[i];
        if (is_in(record, scope) && !record->is_pending)
            add_new_files(&new_files, record);
    }
    double walked = fmin(sharing->sure[scope], sums.shared);
    double seen = between(sharing->shared[scope], 0, sums.shared),
           grown = find_growth(sharing, scope, &sums, &new_files);
    double shared = fmax(seen + grown, sums.largest_shared) + inherited_memory(sharing, scope);
    double ram = between(sums.own + shared, sums.largest, sums.rss);
    double private_bytes = fmin(sums.own, ram);
    return (struct gt_scope_memory){
        .rss = sums.rss,
        .ram = ram,
        .private_bytes = private_bytes,
        .anonymous = fmin(sums.anonymous, private_bytes),
        .shared_bytes = ram - private_bytes,
        .certain = between(sums.sure + walked, sums.largest, ram),
        .counted = fmin(sums.counted + walked, ram),
        .files = between(sharing->files + grown, sums.most_files, sums.files),
    };
}

/* Pages that come to be more are copies, which one process has alone. */
static void set_ram(struct gt_scope_memory *memory, double ram)
{
    double more = fmax(0, ram - memory->ram);
    memory->ram = ram;
    memory->private_bytes = fmin(memory->private_bytes + more, ram);
    memory->anonymous = fmin(memory->anonymous + more, memory->private_bytes);
    memory->shared_bytes = ram - memory->private_bytes;
    memory->counted = fmin(memory->counted, ram);
}

/* Bytes that page faults can have copied in any of the processes since its walk, or since it began: more cannot be copies. */
static double most_copied(const struct gt_shared_memory *sharing)
{
    double sum = 0;
    for (size_t i = 0; i < sharing->count; i++) {
        const struct gt_shared_memory_record *record = &sharing->record[i];
        double before = record->has_walk ? record->seen : record->heritage.bytes;
        double faults = record->faults - (record->has_walk ? record->seen_faults : 0);
        sum += fmax(0, or_zero(faults) * (double)sysconf(_SC_PAGESIZE) - fmax(0, record->rss - before));
    }
    return sum;
}

static bool has_inherited(const struct gt_shared_memory_record *record)
{
    return !record->is_main && !record->is_pending && record->heritage.from;
}

/* Of bytes that were copied since: what none of the descendants has any more as it was inherited. As page faults tell the part of each, and
 * as if all copied the same. */
static double given_up(const struct gt_shared_memory *sharing, double copied)
{
    double faults = 0, before = -INFINITY, after = -INFINITY;
    for (size_t i = 0; i < sharing->count; i++)
        faults += has_inherited(&sharing->record[i]) ? gt_shared_memory_copied(&sharing->record[i]) : 0;
    for (size_t i = 0; i < sharing->count && faults > 0; i++) {
        const struct gt_shared_memory_record *record = &sharing->record[i];
        if (!has_inherited(record))
            continue;
        double part = copied * gt_shared_memory_copied(record) / faults;
        double rest = fmin(record->heritage.bytes, anonymous_bytes(record) - record->own);
        before = fmax(before, rest);
        after = fmax(after, rest - part);
    }
    return before > after ? before - after : 0;
}

void gt_shared_memory_correct(const struct gt_shared_memory *sharing, struct gt_group_anonymous anonymous,
                              struct gt_scope_memory scope[GT_SCOPE_COMBINED + 1])
{
    struct gt_scope_memory *job = &scope[GT_SCOPE_COMBINED], *descendants = &scope[GT_SCOPE_DESCENDANTS];
    double main = 0, most_files = 0, all_files = 0, largest = 0, before = job->ram;
    for (size_t i = 0; i < sharing->count; i++) {
        const struct gt_shared_memory_record *record = &sharing->record[i];
        most_files = fmax(most_files, record->is_pending ? 0 : record->file_bytes);
        all_files += record->file_bytes;
        largest = fmax(largest, record->is_pending ? 0 : record->rss);
        main += record->is_main ? anonymous_bytes(record) : 0;
    }
    double least = anonymous.least;
    if (isinf(anonymous.most)) /* others are in the group, of which not all may have been seen */
        least = fmin(least, before - job->files + most_copied(sharing));
    double counted = between(before, least + job->files, anonymous.most + job->files);
    double most = fmax(largest,
                       anonymous.most + all_files); /* a walk may take parts of a huge page for pages of their own */
    job->certain = between(least + most_files, fmin(job->certain, most), job->rss);
    set_ram(job, between(counted, job->certain, job->rss));
    descendants->certain = between(least - main, descendants->certain, descendants->rss);
    double copied = fmax(0, job->ram - before);
    descendants->certain = fmin(descendants->certain, job->ram);
    most = fmax(descendants->certain, fmin(descendants->rss, job->ram));
    set_ram(descendants, between(descendants->ram + copied - given_up(sharing, copied), descendants->certain, most));
}

void gt_shared_memory_release(struct gt_shared_memory *sharing)
{
    free(sharing->record);
    gt_map_release(&sharing->place);
    *sharing = (struct gt_shared_memory){0};
}
