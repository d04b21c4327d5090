#include "sample/job_memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "collect/process/process.h"

enum {
    PAUSE = 100,       /* after readings, in times of what they took */
    FAULT_AROUND = 16, /* pages of a file that one fault maps (fault_around_bytes of the kernel) */
};
static const int64_t SOONEST_NS = GT_SECOND / 20, LATER_NS = GT_SECOND / 5, PERIOD_NS = GT_SECOND - GT_SECOND / 20;
static const int64_t SAVED_NS = 10 * GT_SECOND; /* pauses that a quiet time saves for later readings */
static const double SPLIT =
    1 << 20; /* bytes by which files change before it is asked how much of them is shared memory */
static const double FEW_MADE = 0.25;                /* of what processes map more: other jobs have made it */
static const double CHANGE = 0.01;                  /* of a job's memory: files have changed by so much */
static const double MUCH = 16 << 20, MUCH_OF = 0.1; /* bytes of faults, and part of the memory, that give a weight */
static const double REUSED =
    0.1; /* a process that gave back so much of what its faults made uses memory again and again */

/* A process; or one that has ended, while a process forked from it lives. */
struct record {
    uint64_t id, parent; /* in the order in which processes were met; parent 0: it owns all it has */
    pid_t pid;
    uint64_t start;
    bool lives, is_main;
    bool is_settled;   /* not a fork that is about to execute a program */
    bool shares_space; /* of its parent (vfork) */
    bool is_denied;    /* its smaps_rollup may not be read */
    bool was_read;     /* its files */
    bool is_seen, is_needed;
    double anonymous, files, faults;
    double risen, fallen; /* all that `anonymous` has grown, as far as faults explain it, and fallen */
    double carry;         /* growth at the last look that its faults did not explain */
    /* When it was forked, or at the last reading: what was its own, and its counters then. */
    double own_before, anonymous_before, risen_before, fallen_before, faults_before, files_before;
    double lowest;                                     /* `anonymous` since */
    double parent_risen, parent_fallen, parent_faults; /* of its parent, then */
    double
        parent_part; /* part of the parent's pages that was its own, from 0 to 1: it shared the rest with those above it */
    double parent_lowest; /* `anonymous` of its parent since the fork: it can share no more */
    double weight;        /* the part of its other faults that copied a page; NaN: no reading confirmed any */
    double kept_before, kept_weight; /* of its children, by pages that it wrote to: as above */
    double shmem, split_files;       /* the part of `files` that is shared memory, and `files` when that was read */
    bool is_split;                   /* the kernel shows that part */
    double asked_regular;            /* the other part, when the last reading was asked for */
    double read_files, pss_files, private_files, read_faults, read_risen, read_fallen; /* at the last reading */
    double read_shmem, pss_shmem; /* the parts of read_files and pss_files that are shared memory */
    double own;                   /* anonymous bytes that it does not share with its parent */
    double kept, written;         /* written to or freed since its children were forked */
    double held;                  /* scratch: the most that one of its children shares with it */
    bool has_children;            /* scratch */
};

struct gt_job_memory {
    const struct gt_root *root;
    const struct gt_clock *clock;
    struct gt_memory_figures now;
    enum gt_memory_method best;
    double page;
    struct record *record; /* by id */
    size_t record_count, record_capacity;
    uint64_t last_id;
    double files;        /* of the whole job, at the last update */
    double largest;      /* resident set of one process */
    double beside, peak; /* of the group: charged that is no process's memory; high-water mark */
    struct gt_smaps_reader reader;
    bool is_reading;
    int64_t read_ns;              /* when the last reading ended; before the first: the opening */
    int64_t allowed_ns;           /* when the next may begin */
    double asked_sum, looked_sum; /* bytes of files when it was asked for; at the last update */
    int64_t agreed_ns;            /* when the last reading ended whose files count */
    /* Shared memory of the job's own group, or of the machine: now, and at the end of the last reading; NaN: unknown. */
    double shmem, read_shmem;
    bool is_shmem_of_group;
    bool has_changed; /* faults or resident sets, since it began */
};

int gt_job_memory_open(struct gt_job_memory **ret, const struct gt_root *root, const struct gt_clock *clock,
                       enum gt_memory_method best, struct gt_error *error)
{
    struct gt_job_memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return gt_error_system(error, ENOMEM, "memory accounting");
    memory->root = root;
    memory->clock = clock;
    memory->read_ns = memory->agreed_ns = gt_clock_monotonic(clock);
    memory->allowed_ns = memory->read_ns - SAVED_NS;
    memory->best = memory->now.method = best;
    memory->page = (double)sysconf(_SC_PAGESIZE);
    memory->beside = memory->peak = NAN;
    memory->shmem = memory->read_shmem = gt_smaps_machine_shmem(root);
    gt_smaps_reader_open(&memory->reader, root);
    *ret = memory;
    return 0;
}

void gt_job_memory_close(struct gt_job_memory *memory)
{
    if (!memory)
        return;
    gt_smaps_reader_close(&memory->reader);
    free(memory->record);
    free(memory);
}

/* Without a thread the estimate stays one. */
static void ask(struct gt_job_memory *memory)
{
    struct gt_smaps_reader *reader = &memory->reader;
    if (GT_GROW_TO(reader->reading, reader->capacity, memory->record_count) < 0)
        return;
    reader->count = 0;
    memory->asked_sum = 0;
    for (size_t i = 0; i < memory->record_count; i++) {
        struct record *record = &memory->record[i];
        memory->asked_sum += record->lives && !record->shares_space ? record->files : 0;
        record->asked_regular = record->files - record->shmem;
        if (record->lives && !record->is_denied && !record->shares_space)
            reader->reading[reader->count++] = (struct gt_smaps_reading){
                .id = record->id, .pid = record->pid, .start = record->start, .files = record->files};
    }
    memory->has_changed = false;
    memory->is_reading = gt_smaps_reader_start(reader) >= 0;
}

/* ---- Processes ---------------------------------------------------------------------------------------------------- */

static double known(double value)
{
    return isnan(value) ? 0 : value;
}

static double between(double value, double low, double high)
{
    return value > high ? high : value < low ? low : value;
}

static struct record *find(const struct gt_job_memory *memory, uint64_t id)
{
    size_t low = 0, high = memory->record_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (memory->record[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return id && low < memory->record_count && memory->record[low].id == id ? &memory->record[low] : NULL;
}

/* statm has one number for files and shared memory. */
static void split_files(struct record *record, const struct gt_process *process)
{
    char text[4096];
    record->shmem = fmin(record->shmem, record->files);
    if (fabs(record->files - record->split_files) <= SPLIT ||
        gt_process_read_text(process, "status", text, sizeof text) <= 0)
        return;
    double shmem = gt_process_number(text, "\nRssShmem:") * 1024;
    record->is_split = !isnan(shmem); /* before Linux 4.5 it is not shown */
    record->shmem = between(known(shmem), 0, record->files);
    record->split_files = record->files;
}

/* Growth by pages of 4 KiB takes a fault for each; growth by huge pages takes next to none, and the faults beside it
 * copied pages. Faults are counted a moment before the growth: those of the next look may explain a little of it. */
static void take_growth(struct record *record, double growth, double fault_bytes)
{
    double wanted = growth + record->carry, explained = fmin(wanted, fault_bytes);
    record->risen += explained;
    record->carry = fmin(wanted - explained, fault_bytes);
}

static void take(struct record *record, const struct gt_process *process, double page)
{
    double before = record->anonymous, faults_before = record->faults;
    record->anonymous = fmax(0, known(process->value[GT_RSS]) - known(process->file_bytes));
    record->fallen += fmax(0, before - record->anonymous);
    record->lowest = fmin(record->lowest, record->anonymous);
    record->files = known(process->file_bytes);
    split_files(record, process);
    record->faults = known(process->value[GT_MINOR_FAULTS]);
    take_growth(record, fmax(0, record->anonymous - before), fmax(0, record->faults - faults_before) * page);
    record->is_settled = !process->is_forked || process->is_worker;
    record->shares_space = process->is_forked && !process->is_main && !process->alone_ns;
    if (!record->parent || process->is_forked)
        return;
    record->parent = 0; /* it has executed a program: nothing of its parent's memory is left, or was read */
    record->was_read = false;
}

/* Bytes of inherited pages that a process may have copied since: by its faults, without those that mapped files and
 * new memory. */
static double copied_bytes(const struct gt_job_memory *memory, const struct record *record)
{
    double faults = (record->faults - record->faults_before) * memory->page;
    double of_files = fmax(0, record->files - record->files_before) / FAULT_AROUND;
    return fmax(0, faults - of_files - (record->risen - record->risen_before));
}

/* Returns the part of `bytes` of faults that copied pages. Until a reading confirms it, that is all; but nothing of
 * a process that has also given memory back, whose faults are those of memory used again. */
static double copied_part(double bytes, double weight, double fallen)
{
    return isnan(weight) ? (fallen > REUSED * bytes ? 0 : bytes) : weight * bytes;
}

/* New memory is its own, and is given back first. */
static void estimate_own(const struct gt_job_memory *memory, struct record *record)
{
    double left = fmax(0, record->own_before - (record->anonymous_before - record->lowest));
    double own = left + record->anonymous - record->lowest +
                 copied_part(copied_bytes(memory, record), record->weight, record->fallen - record->fallen_before);
    record->own = !record->parent ? record->anonymous : record->shares_space ? 0 : between(own, 0, record->anonymous);
}

/* Returns bytes that a parent may have written to since the fork of a child, or since the last reading. */
static double written_since(const struct gt_job_memory *memory, const struct record *parent, const struct record *child)
{
    double copied = (parent->faults - child->parent_faults) * memory->page - (parent->risen - child->parent_risen);
    return child->parent_part * fmax(0, copied);
}

/* Returns the record whose memory a process of so many anonymous bytes began with. A parent that has ended, or is
 * ending, is as it was read before. Where that is too little it was met late, and what it had came from one above
 * it. *ret_had: what the origin had at the fork, which it may have freed since. */
static struct record *read_origin(const struct gt_job_memory *memory, struct gt_process *parent, double anonymous,
                                  double *ret_had)
{
    struct record *origin = find(memory, parent->memory);
    double before = origin ? origin->anonymous : 0;
    bool has_ended = gt_process_read_faults(parent) < 0 || parent->is_zombie || parent->is_exiting ||
                     gt_process_read(parent, memory->root) < 0;
    if (origin && !has_ended)
        take(origin, parent, memory->page);
    for (struct record *above = has_ended ? origin : NULL; above && origin->anonymous < anonymous;
         above = find(memory, above->parent))
        if (above->anonymous > origin->anonymous)
            origin = above;
    *ret_had = origin ? fmax(before, origin->anonymous) : 0;
    return origin;
}

int gt_job_memory_meet(struct gt_job_memory *memory, struct gt_process *process, struct gt_process *parent)
{
    double anonymous = known(process->value[GT_RSS]) - known(process->file_bytes), had = 0;
    struct record *above = parent && process->is_forked ? read_origin(memory, parent, anonymous, &had) : NULL;
    struct record record = {.id = memory->last_id + 1,
                            .pid = process->pid,
                            .start = process->start,
                            .lives = true,
                            .is_main = process->is_main,
                            .weight = NAN,
                            .kept_weight = NAN};
    if (above) {
        record.parent = above->id;
        record.parent_risen = above->risen;
        record.parent_fallen = above->fallen;
        record.parent_faults = above->faults;
        record.parent_lowest = above->anonymous;
        estimate_own(memory, above);
        record.parent_part = above->anonymous > 0 ? above->own / above->anonymous : 1;
    }
    take(&record, process, memory->page);
    record.carry = 0;
    record.anonymous_before = record.lowest = above ? fmin(record.anonymous, had) : record.anonymous;
    record.risen = fmax(0, record.anonymous - record.lowest);
    record.files_before = record.files;
    struct record *place = GT_GROW(memory, record);
    if (!place)
        return -ENOMEM;
    *place = record;
    process->memory = memory->last_id = record.id;
    return 0;
}

static void estimate(struct gt_job_memory *memory)
{
    for (size_t i = 0; i < memory->record_count; i++) {
        struct record *record = &memory->record[i];
        if (record->lives)
            estimate_own(memory, record);
        record->kept = 0;
        record->has_children = false;
    }
    for (size_t i = 0; i < memory->record_count; i++) {
        struct record *record = &memory->record[i], *parent = find(memory, record->parent);
        if (!parent || !record->lives || record->shares_space)
            continue;
        double written = parent->lives ? written_since(memory, parent, record) : 0;
        double left = INFINITY;
        if (parent->lives) /* what the parent has more than at its lowest is new memory */
            left = record->parent_lowest = fmin(record->parent_lowest, parent->anonymous);
        double copied = copied_part(written, parent->kept_weight, parent->fallen - record->parent_fallen);
        parent->has_children = true;
        parent->kept = fmax(parent->kept, fmax(record->anonymous - record->own - left, parent->kept_before + copied));
    }
    for (size_t i = 0; i < memory->record_count; i++)
        if (!memory->record[i].has_children) {
            memory->record[i].kept_before = 0;
            memory->record[i].kept_weight = NAN;
        }
}

/* Processes that have ended stay while one that was forked from them lives. */
static void drop_ended(struct gt_job_memory *memory)
{
    size_t kept = 0;
    for (size_t i = 0; i < memory->record_count; i++)
        memory->record[i].is_needed = false;
    for (size_t i = memory->record_count; i-- > 0;) {
        struct record *record = &memory->record[i], *parent = find(memory, record->parent);
        if (parent && (record->lives || record->is_needed))
            parent->is_needed = true;
    }
    for (size_t i = 0; i < memory->record_count; i++) {
        struct record *record = &memory->record[i];
        if (!record->lives && !record->is_needed)
            continue;
        memory->record[kept++] = *record;
    }
    memory->record_count = kept;
}

static void follow(struct gt_job_memory *memory, const struct gt_snapshot *snapshot)
{
    for (size_t i = 0; i < memory->record_count; i++)
        memory->record[i].is_seen = false;
    for (size_t i = 0; i < snapshot->process_count; i++) {
        struct record *record = find(memory, snapshot->process[i]->memory);
        if (!record)
            continue;
        double anonymous = record->anonymous, faults = record->faults;
        if (!snapshot->process[i]->is_gone && !snapshot->process[i]->is_zombie)
            take(record, snapshot->process[i], memory->page);
        memory->has_changed |= anonymous != record->anonymous || faults != record->faults;
        record->is_seen = !snapshot->process[i]->is_gone && !snapshot->process[i]->is_zombie;
    }
    for (size_t i = 0; i < memory->record_count; i++) {
        struct record *record = &memory->record[i], *parent = find(memory, record->parent);
        if (record->lives && !record->is_seen && parent)
            parent->kept_before = 0; /* its children are others by now */
        record->lives = record->is_seen;
    }
    drop_ended(memory);
}

/* ---- Sums --------------------------------------------------------------------------------------------------------- */

static bool is_in(const struct record *record, enum gt_scope scope)
{
    return record->lives && (scope == GT_SCOPE_COMBINED || record->is_main == (scope == GT_SCOPE_MAIN));
}

/* A process in the address space of its parent (vfork), or with a copy of its parent's memory that the program that
 * it is about to execute will replace: it has no memory of its own in a scope without its parent. */
static bool is_guest(const struct gt_job_memory *memory, const struct record *record, enum gt_scope scope)
{
    const struct record *parent = find(memory, record->parent);
    return record->shares_space || (parent && parent->lives && !is_in(parent, scope) && !record->is_settled);
}

/* What a process has alone: of files as at the last reading, as far as they are still resident. */
static double private_bytes(const struct record *record)
{
    return fmax(0, record->own - record->held) + fmin(record->private_files, record->files);
}

/* Returns the anonymous pages of the scope, each once, and *ret_private all those that one process has alone. What a
 * process shares with its parent is the parent's; where that has ended or is not in the scope, it counts once for
 * all that share it. */
static double sum_anonymous(const struct gt_job_memory *memory, enum gt_scope scope, double *ret_private)
{
    double sum = 0;
    *ret_private = 0;
    for (size_t i = 0; i < memory->record_count; i++)
        memory->record[i].held = 0;
    for (size_t i = memory->record_count; i-- > 0;) {
        struct record *record = &memory->record[i], *parent = find(memory, record->parent);
        double shared;
        if (is_in(record, scope)) {
            sum += record->own + fmin(record->kept, record->held);
            *ret_private += private_bytes(record);
            shared = is_guest(memory, record, scope) ? 0 : record->anonymous - record->own;
        } else {
            double counted = parent ? fmin(record->own, record->held) : record->held;
            sum += counted;
            shared = record->held - counted;
        }
        if (parent)
            parent->held = fmax(parent->held, shared);
    }
    return sum;
}

/* ---- A reading ---------------------------------------------------------------------------------------------------- */

/* Returns the confirmed part of what faults made expect; as before where that is little. */
static double weigh(double confirmed, double expected, double memory, double before)
{
    return expected > fmax(MUCH, MUCH_OF * memory) ? between(confirmed / expected, 0, 1) : before;
}

static void learn_files(struct record *record, const struct gt_smaps *smaps)
{
    record->was_read = true;
    record->read_files = smaps->file_bytes;
    record->private_files = fmax(0, smaps->private_bytes - smaps->private_anonymous);
    record->pss_files = smaps->pss_files + smaps->pss_shmem;
    record->pss_shmem = record->is_split ? smaps->pss_shmem : 0;
    record->read_shmem = record->is_split ? fmax(0, smaps->file_bytes - record->asked_regular) : 0;
    if (!(record->pss_files > 0)) /* before Linux 5.4 */
        record->pss_files = fmin(smaps->pss, smaps->file_bytes);
}

static void learn_anonymous(const struct gt_job_memory *memory, struct record *record, const struct gt_smaps *smaps)
{
    record->read_risen = record->risen - fmax(0, record->anonymous - smaps->anonymous);
    record->read_fallen = record->fallen - fmax(0, smaps->anonymous - record->anonymous);
    record->read_faults = isnan(smaps->faults) ? record->faults : smaps->faults;
    if (!record->parent || record->has_children || isnan(smaps->faults))
        return;
    struct record then = *record;
    then.faults = smaps->faults;
    then.files = smaps->file_bytes;
    then.anonymous = smaps->anonymous;
    then.risen = record->read_risen;
    then.weight = 0;
    estimate_own(memory, &then);
    record->weight = weigh(smaps->private_anonymous - then.own, copied_bytes(memory, &then), smaps->anonymous,
                           record->weight);
    record->own_before = smaps->private_anonymous;
    record->anonymous_before = record->lowest = smaps->anonymous;
    record->risen_before = record->read_risen;
    record->fallen_before = record->read_fallen;
    record->faults_before = smaps->faults;
    record->files_before = smaps->file_bytes;
    estimate_own(memory, record);
}

/* All that was read together, each page once, is more than the rest by what children keep of pages that their
 * parents wrote to. */
static void learn_kept(struct gt_job_memory *memory, double total)
{
    double alone, expected = 0, kept = total - sum_anonymous(memory, GT_SCOPE_COMBINED, &alone);
    for (size_t i = 0; i < memory->record_count; i++) {
        const struct record *record = &memory->record[i];
        kept += record->lives ? fmin(record->kept, record->held) : 0; /* which is in the sum */
    }
    kept = fmax(0, kept);
    for (size_t i = 0; i < memory->record_count; i++) {
        struct record *record = &memory->record[i], *parent = find(memory, record->parent);
        struct record then = parent ? *parent : (struct record){0}; /* as it was read */
        then.faults = then.read_faults;
        then.risen = then.read_risen;
        record->written = 0;
        if (parent && record->lives)
            parent->written = fmax(parent->written, written_since(memory, &then, record));
    }
    for (size_t i = 0; i < memory->record_count; i++)
        if (memory->record[i].has_children && memory->record[i].lives)
            expected += memory->record[i].kept_before + memory->record[i].written;
    for (size_t i = 0; i < memory->record_count; i++) {
        struct record *record = &memory->record[i], *parent = find(memory, record->parent);
        if (record->has_children && record->lives) {
            double part = expected > 0 ? kept * (record->kept_before + record->written) / expected : 0;
            record->kept_weight = weigh(part - record->kept_before, record->written, record->anonymous,
                                        record->kept_weight);
            record->kept_before = part;
        }
        if (parent && parent->lives) {
            record->parent_risen = parent->read_risen;
            record->parent_fallen = parent->read_fallen;
            record->parent_faults = parent->read_faults;
        }
    }
    estimate(memory);
}

/* Returns true if files were the same before, during and after a reading, or have changed for long. */
static bool agrees(const struct gt_job_memory *memory, int64_t now_ns)
{
    double during = 0, now = 0, all = 0;
    for (size_t i = 0; i < memory->reader.count; i++)
        during += memory->reader.reading[i].status >= 0 ? memory->reader.reading[i].smaps.file_bytes
                                                        : memory->reader.reading[i].files;
    for (size_t i = 0; i < memory->record_count; i++) {
        const struct record *record = &memory->record[i];
        now += record->lives && !record->shares_space ? record->files : 0;
        all += record->lives && !record->shares_space ? record->files + record->anonymous : 0;
    }
    bool is_still = fmax(fabs(now - memory->asked_sum), fabs(during - memory->asked_sum)) <= CHANGE * all;
    return is_still || now_ns - memory->agreed_ns >= PERIOD_NS;
}

static void learn(struct gt_job_memory *memory, int64_t now_ns)
{
    struct gt_smaps_reader *reader = &memory->reader;
    double total = 0;
    size_t read = 0, living = 0;
    bool has_files = agrees(memory, now_ns);
    memory->is_reading = false;
    for (size_t i = 0; i < reader->count; i++) {
        const struct gt_smaps_reading *one = &reader->reading[i];
        struct record *record = find(memory, one->id);
        if (!record || !record->lives)
            continue;
        record->is_denied = one->status == -EACCES || one->status == -EPERM;
        if (one->status >= 0) {
            if (has_files)
                learn_files(record, &one->smaps);
            learn_anonymous(memory, record, &one->smaps);
            total += one->smaps.pss - one->smaps.pss_files - one->smaps.pss_shmem;
            read++;
        }
    }
    for (size_t i = 0; i < memory->record_count; i++)
        living += memory->record[i].lives && !memory->record[i].shares_space;
    if (read == living)
        learn_kept(memory, total);
    if (has_files) {
        memory->read_shmem = memory->is_shmem_of_group ? memory->shmem : reader->shmem;
        memory->agreed_ns = now_ns;
    }
    memory->read_ns = now_ns;
    if (memory->allowed_ns < now_ns - SAVED_NS)
        memory->allowed_ns = now_ns - SAVED_NS;
    memory->allowed_ns += PAUSE * reader->used_ns;
}

/* What a reading would correct. */
struct need {
    size_t living;
    double files, all; /* bytes */
    double estimated;  /* copies by forked processes since the last reading */
    double dismissed;  /* faults that may be copies, too, and are taken for those of memory that is used again */
    bool is_new, has_forked;
};

static struct need find_need(const struct gt_job_memory *memory)
{
    struct need need = {0};
    for (size_t i = 0; i < memory->record_count; i++) {
        const struct record *record = &memory->record[i];
        bool is_fork = record->parent && record->is_settled;
        if (!record->lives || record->shares_space)
            continue;
        need.living++;
        need.files += record->files;
        need.all += record->files + record->anonymous;
        need.has_forked |= is_fork;
        need.estimated += is_fork && !record->is_denied ? fmax(0, record->own - record->own_before) : 0;
        need.dismissed += is_fork && !record->is_denied ? copied_bytes(memory, record) : 0;
        need.is_new |= !record->was_read && !record->is_denied && record->is_settled;
    }
    return need;
}

static bool is_much(const struct need *need, double bytes)
{
    return bytes > fmax(MUCH, MUCH_OF * need->all);
}

/* Returns true if an estimate has taken the place of what a reading would say. */
static bool is_estimated(const struct gt_job_memory *memory, const struct need *need)
{
    bool has_files = need->is_new || fabs(need->files - memory->asked_sum) > CHANGE * need->all;
    return need->living && memory->best != GT_MEMORY_RSS && (has_files || is_much(need, need->estimated));
}

/* Returns how long after a reading the next one is due. While files change, processes that are read in turn do not
 * agree: the change is waited for. */
static int64_t next_reading(const struct gt_job_memory *memory, const struct need *need)
{
    bool is_still = fabs(need->files - memory->looked_sum) <= CHANGE * need->all;
    if (!need->living || memory->best == GT_MEMORY_RSS)
        return INT64_MAX;
    if (is_estimated(memory, need) && (is_still || is_much(need, need->estimated)))
        return need->living > 1 ? SOONEST_NS : LATER_NS;
    if (is_much(need, need->dismissed))
        return LATER_NS;
    return is_estimated(memory, need) || (need->has_forked && memory->has_changed) ? PERIOD_NS : INT64_MAX;
}

static bool is_due(const struct gt_job_memory *memory, int64_t now_ns)
{
    struct need need = find_need(memory);
    return now_ns >= memory->allowed_ns && now_ns - memory->read_ns >= next_reading(memory, &need);
}

bool gt_job_memory_is_due(const struct gt_job_memory *memory)
{
    return memory->is_reading || is_due(memory, gt_clock_monotonic(memory->clock));
}

/* ---- Scopes ----------------------------------------------------------------------------------------------------- */

/* The resident set of a fork that is about to execute a program is its parent's. */
static bool has_memory(const struct record *record)
{
    return !record->shares_space && (record->is_settled || !record->parent);
}

/* Pages of one kind in several processes, whose proportional set sizes were read. */
struct pages {
    double now, read, pss; /* of one process: its pages now, and at the reading; its share of these then */
};

struct page_sum {
    double all, largest;        /* pages of all processes, and of the one that has most */
    double shares;              /* of what was read, as far as it is still there */
    double growth, most_growth; /* since: of all, and of one process */
    double largest_read;
};

static void add_pages(struct page_sum *sum, struct pages pages)
{
    double left = fmin(pages.now, pages.read), growth = pages.now - left;
    sum->all += pages.now;
    sum->largest = fmax(sum->largest, pages.now);
    sum->shares += pages.read > 0 ? pages.pss * left / pages.read : 0;
    sum->growth += growth;
    sum->most_growth = fmax(sum->most_growth, growth);
    sum->largest_read = fmax(sum->largest_read, left);
}

/* Files that were not read yet are taken for those that another process has, as libraries are. Of shared memory no
 * more can have come than the whole machine has more since the reading: other pages that a process maps are those
 * that another one had made. */
static double sum_files(const struct gt_job_memory *memory, enum gt_scope scope)
{
    struct page_sum files = {0}, shmem = {0};
    for (size_t i = 0; i < memory->record_count; i++) {
        const struct record *record = &memory->record[i];
        if (!is_in(record, scope) || is_guest(memory, record, scope))
            continue;
        double read = record->was_read ? record->read_files - record->read_shmem : 0;
        add_pages(&files, (struct pages){record->files - record->shmem, read, record->pss_files - record->pss_shmem});
        add_pages(&shmem, (struct pages){record->shmem, record->was_read ? record->read_shmem : 0, record->pss_shmem});
    }
    double made = memory->shmem - memory->read_shmem;
    bool is_by_others = !memory->is_shmem_of_group && made < FEW_MADE * shmem.growth;
    double grown = isnan(made) ? shmem.most_growth : is_by_others ? 0 : fmin(shmem.growth, fmax(0, made));
    double most = memory->is_shmem_of_group || isnan(memory->shmem) ? shmem.all : fmin(shmem.all, memory->shmem);
    return between(files.shares + files.largest - files.largest_read, files.largest, files.all) +
           between(shmem.shares + grown, shmem.largest, fmax(most, shmem.largest));
}

/* `bound`: the anonymous and mapped memory of a control group that has all processes; NULL: there is none. */
static struct gt_scope_memory sum_up(const struct gt_job_memory *memory, enum gt_scope scope,
                                     const struct gt_group_reading *bound, double *ret_files)
{
    struct gt_scope_memory ret = {0};
    double largest = 0, most = INFINITY;
    for (size_t i = 0; i < memory->record_count; i++) {
        const struct record *record = &memory->record[i];
        if (!is_in(record, scope))
            continue;
        double rss = record->anonymous + record->files;
        ret.rss += has_memory(record) ? rss : 0;
        largest = fmax(largest, is_guest(memory, record, scope) ? 0 : rss);
    }
    *ret_files = sum_files(memory, scope);
    ret.anonymous = sum_anonymous(memory, scope, &ret.private_bytes);
    if (bound)
        most = bound->anonymous + fmax(*ret_files, known(bound->mapped));
    ret.ram = between(fmin(ret.anonymous + *ret_files, most), largest, fmax(ret.rss, largest));
    ret.guess = NAN;
    return ret;
}

static void count_by_group(struct gt_job_memory *memory, const struct gt_group_reading *group)
{
    double files = fmax(memory->files, known(group->mapped));
    memory->now.scope[GT_SCOPE_COMBINED].anonymous = group->anonymous;
    memory->now.scope[GT_SCOPE_COMBINED].ram = fmax(group->anonymous + files, memory->largest);
    memory->now.scope[GT_SCOPE_COMBINED].guess = files - known(group->mapped);
    memory->now.uncharged = fmax(memory->now.uncharged, files - fmax(known(group->mapped), known(group->shmem)));
}

/* A high-water mark of the group that rose above both readings was between them. What is charged beside the memory of processes was as
 * now. */
static void find_between(struct gt_job_memory *memory, const struct gt_group_reading *group)
{
    double mapped = known(group->mapped), beside = group->usage - group->anonymous - mapped;
    bool has_risen = group->peak > memory->peak && group->peak > group->usage;
    double most_beside = fmax(beside, memory->beside); /* fmax passes over NaN */
    memory->now.between = has_risen && !isnan(memory->beside)
                              ? fmax(0, group->peak - most_beside + fmax(memory->files, mapped) - mapped)
                              : 0;
    memory->beside = beside;
    memory->peak = group->peak;
}

/* The parts of one moment agree: no part has more than the whole, nor the whole more than its parts. */
static void order_scopes(struct gt_job_memory *memory)
{
    struct gt_scope_memory *main = &memory->now.scope[GT_SCOPE_MAIN], *combined = &memory->now.scope[GT_SCOPE_COMBINED],
                           *descendants = &memory->now.scope[GT_SCOPE_DESCENDANTS];
    combined->ram = fmin(fmax(combined->ram, fmax(main->ram, memory->largest)), combined->rss);
    descendants->ram = fmin(fmax(descendants->ram, combined->ram - main->ram), fmin(combined->ram, descendants->rss));
    for (int scope = GT_SCOPE_MAIN; scope <= GT_SCOPE_COMBINED; scope++) {
        struct gt_scope_memory *one = &memory->now.scope[scope];
        one->anonymous = fmin(one->anonymous, one->ram);
        one->private_bytes = fmin(one->private_bytes, one->ram);
        one->shared_bytes = one->ram - one->private_bytes;
    }
}

static void count(struct gt_job_memory *memory, const struct gt_group_reading *group, bool is_own)
{
    double files[GT_SCOPE_COMBINED + 1];
    bool has_group = group && !isnan(group->anonymous) && memory->best != GT_MEMORY_RSS;
    estimate(memory);
    memory->now.method = memory->best == GT_MEMORY_GROUP && !(has_group && is_own) ? GT_MEMORY_FAULTS : memory->best;
    memory->largest = 0;
    for (size_t i = 0; i < memory->record_count; i++)
        if (memory->record[i].lives && has_memory(&memory->record[i]))
            memory->largest = fmax(memory->largest, memory->record[i].anonymous + memory->record[i].files);
    for (int scope = GT_SCOPE_MAIN; scope <= GT_SCOPE_COMBINED; scope++) {
        memory->now.scope[scope] = sum_up(memory, (enum gt_scope)scope, has_group ? group : NULL, &files[scope]);
        double rss = memory->now.scope[scope].rss;
        if (memory->now.method == GT_MEMORY_RSS) /* what processes share counts for each */
            memory->now.scope[scope] = (struct gt_scope_memory){rss, rss, NAN, NAN, NAN, NAN};
    }
    memory->files = files[GT_SCOPE_COMBINED];
    if (memory->now.method == GT_MEMORY_RSS)
        return;
    if (memory->now.method == GT_MEMORY_GROUP)
        count_by_group(memory, group);
    order_scopes(memory);
}

static void fill_processes(struct gt_job_memory *memory, const struct gt_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->process_count; i++) {
        const struct record *record = find(memory, snapshot->process[i]->memory);
        double *value = snapshot->process[i]->value;
        bool is_known = record && memory->now.method != GT_MEMORY_RSS;
        value[GT_RAM] = value[GT_RSS];
        value[GT_RAM_PRIVATE] = is_known ? fmin(private_bytes(record), value[GT_RSS]) : NAN;
        value[GT_RAM_SHARED] = value[GT_RSS] - value[GT_RAM_PRIVATE];
    }
}

void gt_job_memory_read_faults(const struct gt_job_memory *memory, struct gt_process *process)
{
    const struct record *record = find(memory, process->memory);
    if (record && (record->parent || record->has_children))
        gt_process_read_faults(process);
}

/* The job's own group has the shared memory that the job has made; else the whole machine's is taken. */
static void read_shmem(struct gt_job_memory *memory, const struct gt_group_reading *group, bool is_own)
{
    bool is_of_group = is_own && group && !isnan(group->shmem);
    double sum = 0;
    for (size_t i = 0; i < memory->record_count; i++)
        sum += memory->record[i].lives ? memory->record[i].shmem : 0;
    if (is_of_group)
        memory->shmem = group->shmem;
    else if (sum > SPLIT || is_of_group != memory->is_shmem_of_group)
        memory->shmem = gt_smaps_machine_shmem(memory->root);
    if (is_of_group != memory->is_shmem_of_group)
        memory->read_shmem = is_of_group ? 0 : memory->shmem;
    memory->is_shmem_of_group = is_of_group;
}

/* Learn from a reading that has ended. What the estimates before it were too high by is its excess. */
static void finish(struct gt_job_memory *memory, const struct gt_group_reading *group, bool is_own, int64_t now_ns)
{
    count(memory, group, is_own);
    for (int scope = 0; scope <= GT_SCOPE_COMBINED; scope++)
        memory->now.excess[scope] += memory->now.scope[scope].ram;
    learn(memory, now_ns);
    count(memory, group, is_own);
    for (int scope = 0; scope <= GT_SCOPE_COMBINED; scope++)
        memory->now.excess[scope] -= memory->now.scope[scope].ram;
}

int gt_job_memory_update(struct gt_job_memory *memory, const struct gt_snapshot *snapshot,
                         const struct gt_group_reading *group, bool is_own, int64_t patience_ns)
{
    int64_t now_ns = gt_clock_monotonic(memory->clock);
    follow(memory, snapshot);
    estimate(memory);
    read_shmem(memory, group, is_own);
    if (memory->now.is_confirmed)
        memset(memory->now.excess, 0, sizeof memory->now.excess);
    if (memory->is_reading && gt_smaps_reader_await(&memory->reader, 0))
        finish(memory, group, is_own, now_ns);
    if (!memory->is_reading && is_due(memory, now_ns)) {
        ask(memory);
        if (memory->is_reading && gt_smaps_reader_await(&memory->reader, patience_ns))
            finish(memory, group, is_own, now_ns);
    }
    count(memory, group, is_own);
    memory->now.between = 0;
    if (memory->now.method == GT_MEMORY_GROUP)
        find_between(memory, group);
    struct need need = find_need(memory);
    memory->now.is_confirmed = !memory->is_reading && !is_estimated(memory, &need);
    memory->looked_sum = need.files;
    fill_processes(memory, snapshot);
    return 0;
}

void gt_job_memory_poll(struct gt_job_memory *memory, const struct gt_group_reading *group)
{
    if (memory->now.is_confirmed)
        memset(memory->now.excess, 0, sizeof memory->now.excess);
    if (memory->now.method != GT_MEMORY_GROUP || isnan(group->anonymous))
        return;
    count_by_group(memory, group);
    find_between(memory, group);
}

const struct gt_memory_figures *gt_job_memory_figures(const struct gt_job_memory *memory)
{
    static const struct gt_memory_figures unknown = {.scope = {
                                                         [GT_SCOPE_MAIN] = {NAN, NAN, NAN, NAN, NAN, NAN},
                                                         [GT_SCOPE_DESCENDANTS] = {NAN, NAN, NAN, NAN, NAN, NAN},
                                                         [GT_SCOPE_COMBINED] = {NAN, NAN, NAN, NAN, NAN, NAN},
                                                     }};
    return memory ? &memory->now : &unknown;
}
