/* The memory of a job from made-up processes whose smaps_rollup and stat are of a stored machine; and of trees on the running kernel. */
#include "collect/process/process.h"
#include "sample/job_memory.h"
#include "support/fake_proc.h"
#include "support/folder.h"
#include "support/scenario.h"
#include "support/test.h"

#define MB 1048576.0
#define PATIENCE (120 * GT_SECOND)
enum { MAIN = 100, MOST = 8 };

struct job {
    char folder[64];
    struct gt_root root;
    struct gt_clock clock;
    int64_t now_ns;
    struct gt_job_memory *memory;
    struct gt_process *process[MOST], *list[MOST]; /* all; those that live */
    size_t count;
    struct gt_snapshot snapshot;
};

static int64_t set_time(void *context)
{
    return ((struct job *)context)->now_ns;
}

static struct job *begin_with(enum gt_memory_method best)
{
    static struct job job;
    job = (struct job){.now_ns = GT_SECOND};
    job.clock = (struct gt_clock){.real = set_time, .monotonic = set_time, .context = &job};
    job.snapshot.process = job.list;
    fake_proc_create(job.folder, &job.root);
    assert_int_equal(gt_job_memory_open(&job.memory, &job.root, &job.clock, best, NULL), 0);
    return &job;
}

static int begin(void **state)
{
    *state = begin_with(GT_MEMORY_GROUP);
    return 0;
}

static int finish(void **state)
{
    struct job *job = *state;
    gt_job_memory_close(job->memory);
    for (size_t i = 0; i < job->count; i++)
        gt_process_close(job->process[i]);
    fake_proc_destroy(job->folder, &job->root);
    return 0;
}

#define TEST_OF_JOB(name) TEST_OF(struct job *job, name, begin, finish)

/* All sizes are in MB, faults too: so many bytes of pages. */
static void show(const struct job *job, struct gt_process *process, double faults)
{
    char path[64], text[128];
    double page = (double)sysconf(_SC_PAGESIZE);
    unsigned long pages = (unsigned long)(faults * MB / page);
    fake_proc_write(job->folder, &(struct fake_process){.pid = process->pid,
                                                        .parent = process->parent,
                                                        .start = process->start,
                                                        .state = process->is_zombie ? 'Z' : 'S',
                                                        .minor_faults = pages,
                                                        .forked = process->is_forked});
    process->value[GT_MINOR_FAULTS] = (double)pages;
    snprintf(path, sizeof path, "proc/%d/statm", (int)process->pid);
    snprintf(text, sizeof text, "%d %.0f %.0f 1 0 20 0\n", !process->is_zombie, process->value[GT_RSS] / page,
             process->file_bytes / page);
    folder_put(job->folder, path, text);
}

static void set(const struct job *job, struct gt_process *process, double anonymous, double files, double faults)
{
    process->value[GT_RSS] = (anonymous + files) * MB;
    process->file_bytes = files * MB;
    show(job, process, faults);
}

/* A process that executed its program, or was forked by `parent` and goes on as a worker. */
static struct gt_process *add(struct job *job, struct gt_process *parent, double anonymous, double files)
{
    struct gt_process *process;
    struct gt_process named = {.pid = MAIN + (pid_t)job->count, .start = 50 + job->count, .is_forked = parent != NULL};
    named.parent = parent ? parent->pid : 1;
    show(job, &named, 0);
    assert_int_equal(gt_process_open(&process, &job->root, named.pid), 0);
    process->is_main = !job->count;
    process->is_worker = process->is_forked;
    process->alone_ns = process->is_forked;
    set(job, process, anonymous, files, 0);
    assert_int_equal(gt_job_memory_meet(job->memory, process, parent), 0);
    job->list[job->snapshot.process_count++] = job->process[job->count++] = process;
    return process;
}

static void end(struct job *job, const struct gt_process *process)
{
    size_t kept = 0;
    for (size_t i = 0; i < job->snapshot.process_count; i++)
        if (job->list[i] != process)
            job->list[kept++] = job->list[i];
    job->snapshot.process_count = kept;
}

/* What smaps_rollup says of a process. */
struct rollup {
    double anonymous, private_anonymous, pss_anonymous, files, private_files, pss_files;
};

static void show_rollup(const struct job *job, const struct gt_process *process, struct rollup rollup)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "proc/%d/smaps_rollup", (int)process->pid);
    double shared = rollup.anonymous + rollup.files - rollup.private_anonymous - rollup.private_files;
    snprintf(
        text, sizeof text,
        "Rss: %.0f kB\nPss: %.0f kB\nPss_Anon: %.0f kB\nPss_File: %.0f kB\nPss_Shmem: 0 kB\nShared_Dirty: %.0f kB\n"
        "Private_Clean: %.0f kB\nPrivate_Dirty: %.0f kB\nAnonymous: %.0f kB\n",
        (rollup.anonymous + rollup.files) * 1024, (rollup.pss_anonymous + rollup.pss_files) * 1024,
        rollup.pss_anonymous * 1024, rollup.pss_files * 1024, shared * 1024, rollup.private_files * 1024,
        rollup.private_anonymous * 1024, rollup.anonymous * 1024);
    folder_put(job->folder, path, text);
}

static void update_by(struct job *job, const struct gt_group_reading *group, bool is_own)
{
    assert_int_equal(gt_job_memory_update(job->memory, &job->snapshot, group, is_own, PATIENCE), 0);
}

/* So much later that another reading may be made. */
static void update(struct job *job)
{
    job->now_ns += 60 * GT_SECOND;
    update_by(job, NULL, false);
}

static const struct gt_scope_memory *scope_of(const struct job *job, enum gt_scope scope)
{
    return &gt_job_memory_figures(job->memory)->scope[scope];
}

static double ram(const struct job *job, enum gt_scope scope)
{
    return scope_of(job, scope)->ram / MB;
}

/* In MB. Page faults are whole pages, so that nothing has to be rounded. */
static void assert_ram(const struct job *job, double main, double descendants, double combined)
{
    assert_close(ram(job, GT_SCOPE_MAIN), main, 1e-9);
    assert_close(ram(job, GT_SCOPE_DESCENDANTS), descendants, 1e-9);
    assert_close(ram(job, GT_SCOPE_COMBINED), combined, 1e-9);
}

static void update_to(struct job *job, double main, double descendants, double combined)
{
    update(job);
    assert_ram(job, main, descendants, combined);
}

/* ---- resident sets and page faults ---- */

TEST_OF_JOB(a_single_process_has_its_resident_set)
{
    struct gt_process *main = add(job, NULL, 100, 20);
    update_to(job, 120, 0, 120);
    assert_int_equal(gt_job_memory_figures(job->memory)->method, GT_MEMORY_FAULTS);
    assert_close(main->value[GT_RAM_PRIVATE], 100 * MB, 0);
    show_rollup(job, main, (struct rollup){100, 100, 100, 20, 10, 15});
    update_to(job, 120, 0, 120); /* each page of it is there, also those of which others have a share */
    assert_close(main->value[GT_RAM], 120 * MB, 0);
    assert_close(main->value[GT_RAM_PRIVATE], 110 * MB, 0);
    assert_close(main->value[GT_RAM_SHARED], 10 * MB, 0);
    assert_close(scope_of(job, GT_SCOPE_COMBINED)->private_bytes, 110 * MB, 0);
    assert_close(scope_of(job, GT_SCOPE_COMBINED)->shared_bytes, 10 * MB, 0);
    set(job, main, 150, 20, 5);
    update_to(job, 170, 0, 170);
}

TEST_OF_JOB(a_fork_has_the_pages_that_it_copied)
{
    struct gt_process *main = add(job, NULL, 400, 0), *child = add(job, main, 400, 0);
    update_to(job, 400, 400, 400);
    assert_close(scope_of(job, GT_SCOPE_COMBINED)->rss, 800 * MB, 0);
    assert_close(child->value[GT_RAM_PRIVATE], 0, 0);
    set(job, child, 400, 0, 100);
    update_to(job, 400, 400, 500);
    assert_close(child->value[GT_RAM_PRIVATE], 100 * MB, 0);
    assert_close(main->value[GT_RAM_PRIVATE], 100 * MB, 0); /* of its 400 the child shares 300 */
    assert_close(scope_of(job, GT_SCOPE_COMBINED)->private_bytes, 200 * MB, 0);
    set(job, child, 400, 0, 900); /* never more than it has */
    update_to(job, 400, 400, 800);
}

TEST_OF_JOB(new_memory_counts_once_with_and_without_faults)
{
    struct gt_process *main = add(job, NULL, 400, 0), *child = add(job, main, 400, 0);
    set(job, child, 500, 0, 1); /* huge pages: one fault for each */
    update_to(job, 400, 500, 500);
    set(job, child, 600, 0, 101); /* one fault for each page, and one that copied */
    update_to(job, 400, 600, 600);
    set(job, child, 600, 0, 231); /* without growth: they copied */
    update_to(job, 400, 600, 600 + 129);
}

TEST_OF_JOB(freed_memory_is_new_memory_first)
{
    struct gt_process *main = add(job, NULL, 400, 0), *child = add(job, main, 400, 0);
    set(job, child, 500, 0, 100);
    update(job);
    set(job, child, 420, 0, 100);
    update_to(job, 400, 420, 420);
    set(job, child, 300, 0, 100); /* and then what it had from its parent */
    update_to(job, 400, 300, 400);
}

/* A fault maps 16 pages of a file. */
TEST_OF_JOB(faults_that_map_files_copy_nothing)
{
    struct gt_process *main = add(job, NULL, 400, 0), *child = add(job, main, 400, 0);
    set(job, child, 400, 160, 10);
    update_to(job, 400, 560, 560);
}

TEST_OF_JOB(pages_that_the_parent_writes_are_kept_by_its_children)
{
    struct gt_process *main = add(job, NULL, 400, 0), *one = add(job, main, 400, 0), *two = add(job, main, 400, 0);
    set(job, main, 400, 0, 50);
    update_to(job, 400, 400, 450); /* the same old pages for both */
    set(job, main, 500, 0, 150);   /* new memory replaces nothing */
    update_to(job, 500, 400, 550);
    set(job, main, 500, 0, 5000); /* at most what a child shares */
    update_to(job, 500, 400, 900);
    end(job, one);
    update_to(job, 500, 400, 900);
    end(job, two);
    update_to(job, 500, 0, 500);
    add(job, main, 500, 0); /* it shares the pages as they are by now */
    update_to(job, 500, 500, 500);
}

TEST_OF_JOB(pages_that_the_parent_frees_are_kept_by_its_children)
{
    struct gt_process *main = add(job, NULL, 400, 0);
    for (int i = 0; i < 2; i++)
        set(job, add(job, main, 400, 0), 400, 0, 100);
    set(job, main, 50, 0, 0);
    update_to(job, 50, 500, 500); /* 100 of each child and 300 that both have */
}

TEST_OF_JOB(new_memory_of_a_parent_that_freed_is_its_own)
{
    struct gt_process *main = add(job, NULL, 310, 0);
    struct gt_process *child[2];
    for (int i = 0; i < 2; i++)
        child[i] = add(job, main, 310, 0);
    set(job, main, 10, 0, 0);
    update_to(job, 10, 310, 310);
    set(job, main, 210, 0, 200);
    update_to(job, 210, 310, 510); /* 10 are shared */
    for (int i = 0; i < 2; i++)
        end(job, child[i]);
    update_to(job, 210, 0, 210);
}

TEST_OF_JOB(memory_of_a_parent_that_ended_stays_with_its_children)
{
    add(job, NULL, 10, 0);
    struct gt_process *middle = add(job, NULL, 400, 0), *one = add(job, middle, 400, 0),
                      *two = add(job, middle, 400, 0);
    update_to(job, 10, 400, 410);
    end(job, middle);
    set(job, one, 400, 0, 100);
    update_to(job, 10, 500, 510);
    end(job, two);
    update_to(job, 10, 400, 410);
    end(job, one);
    update_to(job, 10, 0, 10);
}

/* As a daemon begins. The process between them has copied 100 of the 400. */
TEST_OF_JOB(a_double_fork_shares_with_the_first)
{
    struct gt_process *main = add(job, NULL, 400, 0), *between = add(job, main, 400, 0);
    set(job, between, 400, 0, 100);
    struct gt_process *last = add(job, between, 400, 0);
    update_to(job, 400, 400, 500);
    between->is_zombie = true;
    update_to(job, 400, 400, 500);
    set(job, last, 400, 0, 50);
    update_to(job, 400, 400, 550);
    end(job, between);
    end(job, last);
    update_to(job, 400, 0, 400);
}

/* As a daemon begins, too, where the process between them has given back its memory when it is met. */
TEST_OF_JOB(a_parent_that_is_met_at_its_end_passes_memory_on)
{
    struct gt_process *main = add(job, NULL, 400, 0), *between = add(job, main, 30, 0);
    between->is_zombie = true;
    show(job, between, 0);
    struct gt_process *last = add(job, between, 400, 0);
    update_to(job, 400, 400, 400);
    set(job, last, 420, 0, 50);
    update_to(job, 400, 420, 450);
}

/* It had 400 when it was read before. */
TEST_OF_JOB(a_parent_that_has_ended_is_as_it_was_last)
{
    add(job, NULL, 10, 0);
    struct gt_process *middle = add(job, NULL, 400, 0);
    update(job);
    middle->is_zombie = true;
    set(job, middle, 0, 0, 0);
    add(job, middle, 400, 0);
    add(job, middle, 400, 0);
    update_to(job, 10, 400, 410);
}

/* It took most of its memory after the last look. */
TEST_OF_JOB(a_parent_is_read_when_it_has_forked)
{
    struct gt_process *main = add(job, NULL, 10, 0);
    update(job);
    set(job, main, 400, 20, 400);
    main->value[GT_RSS] = 10 * MB;
    main->file_bytes = main->value[GT_MINOR_FAULTS] = 0;
    add(job, main, 400, 20);
    update_to(job, 420, 420, 420);
}

TEST_OF_JOB(what_a_parent_frees_before_its_child_is_met_is_inherited)
{
    struct gt_process *main = add(job, NULL, 400, 0);
    add(job, main, 400, 0);
    update(job);
    set(job, main, 10, 0, 0);
    add(job, main, 400, 0);
    update_to(job, 10, 400, 400);
}

/* A process that was not seen to have memory of its own is in that of its parent. */
TEST_OF_JOB(a_vfork_has_no_memory)
{
    struct gt_process *main = add(job, NULL, 400, 30), *child = add(job, main, 400, 30);
    child->alone_ns = 0;
    child->is_worker = false;
    set(job, child, 400, 30, 70);
    update_to(job, 430, 0, 430);
    assert_close(child->value[GT_RAM_PRIVATE], 0, 0);
}

TEST_OF_JOB(a_fork_that_is_about_to_execute_has_no_memory_of_the_descendants)
{
    struct gt_process *main = add(job, NULL, 400, 30), *child = add(job, main, 400, 30);
    child->is_worker = false;
    update_to(job, 430, 0, 430);
    child->is_worker = true; /* it was none */
    update_to(job, 430, 430, 430);
}

TEST_OF_JOB(a_program_that_was_executed_owns_all)
{
    struct gt_process *main = add(job, NULL, 400, 0), *child = add(job, main, 400, 0);
    update(job);
    child->is_forked = child->is_worker = false;
    set(job, child, 70, 0, 100);
    update_to(job, 400, 70, 470);
}

/* ---- readings of smaps_rollup ---- */

TEST_OF_JOB(files_count_once)
{
    struct gt_process *main = add(job, NULL, 10, 20), *one = add(job, NULL, 10, 30), *two = add(job, NULL, 10, 40);
    update_to(job, 30, 20 + 40, 30 + 40); /* nothing is known: the same files */
    show_rollup(job, main, (struct rollup){10, 10, 10, 20, 5, 15});
    show_rollup(job, one, (struct rollup){10, 10, 10, 30, 5, 20});
    show_rollup(job, two, (struct rollup){10, 10, 10, 40, 5, 25});
    update_to(job, 30, 20 + 45, 30 + 60);
    set(job, two, 10, 90, 0); /* what one has more than any had at the reading */
    job->now_ns++;            /* too soon for another one */
    update_by(job, NULL, false);
    assert_ram(job, 30, 20 + 45 + 50, 30 + 60 + 50);
    set(job, two, 10, 20, 0); /* half of what was read */
    update_by(job, NULL, false);
    assert_ram(job, 30, 20 + 20 + 12.5, 30 + 15 + 20 + 12.5);
}

/* How much of a process's files is shared memory, and how much of it there is in the machine, in MB. */
static void show_shmem(const struct job *job, const struct gt_process *process, double own, double machine)
{
    char path[64], text[64];
    snprintf(path, sizeof path, "proc/%d/status", (int)process->pid);
    snprintf(text, sizeof text, "Name:\tx\nRssShmem:\t%.0f kB\n", own * 1024);
    folder_put(job->folder, path, text);
    snprintf(text, sizeof text, "MemTotal: 9 kB\nShmem: %.0f kB\n", machine * 1024);
    folder_put(job->folder, "proc/meminfo", text);
}

static void update_soon(struct job *job)
{
    job->now_ns++; /* too soon for a reading */
    update_by(job, NULL, false);
}

TEST_OF_JOB(shared_memory_that_is_made_in_parts_counts_in_parts)
{
    struct gt_process *worker[3];
    show_shmem(job, &(struct gt_process){.pid = MAIN}, 0, 1000);
    gt_job_memory_close(job->memory);
    assert_int_equal(gt_job_memory_open(&job->memory, &job->root, &job->clock, GT_MEMORY_GROUP, NULL), 0);
    add(job, NULL, 10, 0);
    for (int i = 0; i < 3; i++)
        worker[i] = add(job, NULL, 10, 0);
    update(job);
    for (int i = 0; i < 3; i++) { /* each writes to a third of it */
        set(job, worker[i], 10, 100, 0);
        show_shmem(job, worker[i], 100, 1300);
    }
    update_soon(job);
    assert_ram(job, 10, 30 + 300, 40 + 300);
    for (int i = 0; i < 3; i++) { /* and reads all, which makes no page */
        set(job, worker[i], 10, 300, 0);
        show_shmem(job, worker[i], 300, 1300);
    }
    update_soon(job);
    assert_ram(job, 10, 30 + 300, 40 + 300);
}

TEST_OF_JOB(shared_memory_that_others_make_is_no_growth_of_the_job)
{
    struct gt_process *main = add(job, NULL, 10, 0);
    show_shmem(job, main, 0, 1000);
    update(job);
    set(job, main, 10, 50, 0);
    show_shmem(job, main, 50, 5000);
    update_soon(job);
    assert_ram(job, 60, 0, 60);
}

TEST_OF_JOB(new_processes_and_other_files_are_read_soon)
{
    struct gt_process *main = add(job, NULL, 10, 20), *one;
    show_rollup(job, main, (struct rollup){10, 10, 10, 20, 20, 20});
    update(job);
    one = add(job, NULL, 10, 20);
    show_rollup(job, one, (struct rollup){10, 10, 10, 20, 20, 20});
    update_by(job, NULL, false);
    assert_close(ram(job, GT_SCOPE_COMBINED), 40, 1e-9); /* 50 ms apart, at least */
    job->now_ns += GT_SECOND / 2;                        /* 100 times what it took */
    update_by(job, NULL, false);
    assert_close(ram(job, GT_SCOPE_COMBINED), 60, 1e-9);
    show_rollup(job, one, (struct rollup){10, 10, 10, 40, 30, 30});
    set(job, one, 10, 40, 0);
    job->now_ns += GT_SECOND / 2;
    update_by(job, NULL, false); /* files have changed, and may change on */
    assert_close(ram(job, GT_SCOPE_COMBINED), 20 + 40 + 20, 1e-9);
    assert_false(gt_job_memory_figures(job->memory)->is_confirmed);
    job->now_ns += GT_SECOND / 20;
    update_by(job, NULL, false);
    assert_close(ram(job, GT_SCOPE_COMBINED), 70, 1e-9);
    assert_true(gt_job_memory_figures(job->memory)->is_confirmed);
    assert_close(gt_job_memory_figures(job->memory)->excess[GT_SCOPE_COMBINED], 10 * MB, 1e-9);
}

/* The child uses memory again and again: its faults bring new pages in the place of those that it gave back. */
TEST_OF_JOB(churn_lowers_the_weight_of_faults)
{
    struct gt_process *main = add(job, NULL, 400, 0), *child = add(job, main, 400, 0);
    set(job, child, 400, 0, 100);
    update_to(job, 400, 400, 500);
    show_rollup(job, main, (struct rollup){400, 25, 212.5, 0, 0, 0});
    show_rollup(job, child, (struct rollup){400, 25, 212.5, 0, 0, 0});
    update_to(job, 400, 400, 425);
    set(job, child, 400, 0, 200);
    update_by(job, NULL, false);
    assert_ram(job, 400, 400, 450); /* a quarter */
    show_rollup(job, main, (struct rollup){400, 125, 262.5, 0, 0, 0});
    show_rollup(job, child, (struct rollup){400, 125, 262.5, 0, 0, 0});
    update(job); /* this time all were copies */
    assert_ram(job, 400, 400, 525);
    set(job, child, 400, 0, 300);
    update_by(job, NULL, false);
    assert_ram(job, 400, 400, 625);
}

TEST_OF_JOB(churn_of_a_parent_lowers_the_weight_of_its_faults)
{
    struct gt_process *main = add(job, NULL, 400, 0), *child = add(job, main, 400, 0);
    set(job, main, 400, 0, 100);
    update_to(job, 400, 400, 500);
    show_rollup(job, main, (struct rollup){400, 0, 200, 0, 0, 0});
    show_rollup(job, child, (struct rollup){400, 0, 200, 0, 0, 0});
    update_to(job, 400, 400, 400);
    set(job, main, 400, 0, 300);
    update_by(job, NULL, false);
    assert_ram(job, 400, 400, 400);
}

TEST_OF_JOB(pages_kept_by_children_are_confirmed_by_a_reading)
{
    struct gt_process *main = add(job, NULL, 400, 0), *child = add(job, main, 400, 0);
    set(job, main, 400, 0, 100);
    show_rollup(job, main, (struct rollup){400, 100, 250, 0, 0, 0});
    show_rollup(job, child, (struct rollup){400, 100, 250, 0, 0, 0});
    update_to(job, 400, 400, 500);
}

/* ---- control groups ---- */

TEST_OF_JOB(the_jobs_own_group_is_exact)
{
    struct gt_process *main = add(job, NULL, 400, 20), *child = add(job, main, 400, 20);
    struct gt_group_reading group = {450 * MB, 10 * MB, NAN, 500 * MB, 500 * MB};
    set(job, child, 400, 20, 300); /* churn */
    update_by(job, &group, true);
    assert_int_equal(gt_job_memory_figures(job->memory)->method, GT_MEMORY_GROUP);
    assert_ram(job, 420, 420, 470); /* files were charged to another group before */
    assert_close(gt_job_memory_figures(job->memory)->uncharged, 10 * MB, 1e-6);
    group.mapped = 35 * MB;
    update_by(job, &group, true);
    assert_close(ram(job, GT_SCOPE_COMBINED), 485, 1e-9);
    assert_close(gt_job_memory_figures(job->memory)->uncharged, 10 * MB, 1e-6); /* the most ever */
    group.anonymous = 300 * MB; /* the kernel's counter may lag: never less than what one process has */
    group.mapped = 0;
    update_by(job, &group, true);
    assert_ram(job, 420, 420, 420);
    group.anonymous = 5000 * MB; /* nor more than the resident sets */
    update_by(job, &group, true);
    assert_ram(job, 420, 420, 840);
}

TEST_OF_JOB(the_groups_mark_tells_what_was_between_two_readings)
{
    struct gt_group_reading group = {100 * MB, 10 * MB, NAN, 150 * MB, 150 * MB};
    add(job, NULL, 100, 20);
    update_by(job, &group, true);
    assert_close(gt_job_memory_figures(job->memory)->between, 0, 0); /* it may be of a time before */
    update_by(job, &group, true);
    assert_close(gt_job_memory_figures(job->memory)->between, 0, 0);
    group.peak = 350 * MB; /* of which 40 are charged beside, and 10 of files are not charged */
    update_by(job, &group, true);
    assert_close(gt_job_memory_figures(job->memory)->between, (350 - 40 + 10) * MB, 1e-6);
    gt_job_memory_poll(job->memory, &group);
    assert_close(gt_job_memory_figures(job->memory)->between, 0, 0);
    group = (struct gt_group_reading){500 * MB, 10 * MB, NAN, 550 * MB, 550 * MB};
    gt_job_memory_poll(job->memory, &group); /* this reading has it all */
    assert_close(gt_job_memory_figures(job->memory)->between, 0, 0);
    group.peak = NAN;
    gt_job_memory_poll(job->memory, &group);
    assert_close(gt_job_memory_figures(job->memory)->between, 0, 0);
}

/* The libraries of a new process look like its own until they are read. */
TEST_OF_JOB(a_reading_of_pages_keeps_what_the_mark_tells)
{
    struct gt_group_reading group = {100 * MB, 20 * MB, NAN, 150 * MB, 150 * MB};
    struct gt_process *main = add(job, NULL, 100, 20), *one;
    show_rollup(job, main, (struct rollup){100, 100, 100, 20, 20, 20});
    update(job);
    update_by(job, &group, true);
    one = add(job, NULL, 10, 20);
    show_rollup(job, one, (struct rollup){10, 10, 10, 20, 0, 10});
    show_rollup(job, main, (struct rollup){100, 100, 100, 20, 0, 10});
    update_by(job, &group, true);
    assert_false(gt_job_memory_figures(job->memory)->is_confirmed);
    job->now_ns += GT_SECOND;
    group.peak = 350 * MB; /* of which 30 are charged beside */
    update_by(job, &group, true);
    assert_true(gt_job_memory_figures(job->memory)->is_confirmed);
    assert_close(gt_job_memory_figures(job->memory)->between, (350 - 30) * MB, 1e-6);
}

TEST_OF_JOB(polls_renew_the_whole_job_alone)
{
    struct gt_process *main = add(job, NULL, 400, 0);
    struct gt_group_reading group = {400 * MB, 0, NAN, 400 * MB, 400 * MB};
    add(job, main, 400, 0);
    update_by(job, &group, false);
    group.anonymous = 600 * MB;
    gt_job_memory_poll(job->memory, &group); /* it is not the job's own */
    assert_ram(job, 400, 400, 400);
    group.anonymous = 400 * MB;
    update_by(job, &group, true);
    group.anonymous = 600 * MB;
    gt_job_memory_poll(job->memory, &group);
    assert_ram(job, 400, 400, 600);
    group.anonymous = NAN;
    gt_job_memory_poll(job->memory, &group);
    assert_ram(job, 400, 400, 600);
}

TEST_OF_JOB(a_group_with_others_is_an_upper_bound)
{
    struct gt_process *main = add(job, NULL, 400, 20), *child = add(job, main, 400, 20);
    struct gt_group_reading group = {450 * MB, 10 * MB, NAN, 500 * MB, 500 * MB};
    set(job, child, 400, 20, 300);
    update_by(job, &group, false);
    assert_int_equal(gt_job_memory_figures(job->memory)->method, GT_MEMORY_FAULTS);
    assert_ram(job, 420, 420, 470);
    group.anonymous = 5000 * MB;
    update_by(job, &group, false);
    assert_ram(job, 420, 420, 720);
    group.anonymous = NAN;
    update_by(job, &group, true);
    assert_ram(job, 420, 420, 720);
    assert_int_equal(gt_job_memory_figures(job->memory)->method, GT_MEMORY_FAULTS);
}

TEST(a_method_that_was_asked_for_uses_no_better_one)
{
    struct job *job = *state = begin_with(GT_MEMORY_FAULTS);
    struct gt_group_reading group = {100 * MB, 0, NAN, 100 * MB, 100 * MB};
    add(job, NULL, 400, 0);
    update_by(job, &group, true);
    assert_int_equal(gt_job_memory_figures(job->memory)->method, GT_MEMORY_FAULTS);
    assert_ram(job, 400, 0, 400);
    finish(state);
}

TEST(the_sum_of_resident_sets_counts_shared_memory_again)
{
    struct job *job = *state = begin_with(GT_MEMORY_RSS);
    struct gt_group_reading group = {100 * MB, 0, NAN, 100 * MB, 100 * MB};
    struct gt_process *main = add(job, NULL, 400, 20), *child = add(job, main, 400, 20);
    show_rollup(job, main, (struct rollup){400, 0, 200, 20, 0, 10});
    update_by(job, &group, true);
    assert_int_equal(gt_job_memory_figures(job->memory)->method, GT_MEMORY_RSS);
    assert_ram(job, 420, 420, 840);
    assert_true(isnan(scope_of(job, GT_SCOPE_COMBINED)->private_bytes));
    assert_true(isnan(scope_of(job, GT_SCOPE_COMBINED)->shared_bytes));
    assert_true(isnan(main->value[GT_RAM_PRIVATE]) && isnan(child->value[GT_RAM_SHARED]));
    assert_close(child->value[GT_RAM], 420 * MB, 0);
    finish(state);
}

TEST(without_a_job_nothing_is_known)
{
    const struct gt_scope_memory *memory = &gt_job_memory_figures(NULL)->scope[GT_SCOPE_COMBINED];
    assert_true(isnan(memory->ram) && isnan(memory->rss) && isnan(memory->private_bytes));
}

/* ---- parts and the whole ---- */

static void assert_ordered(const struct job *job)
{
    double main = ram(job, GT_SCOPE_MAIN), descendants = ram(job, GT_SCOPE_DESCENDANTS),
           combined = ram(job, GT_SCOPE_COMBINED);
    assert_true(main <= combined && descendants <= combined);
    assert_true(combined <= main + descendants + 1e-6);
    for (int i = GT_SCOPE_MAIN; i <= GT_SCOPE_COMBINED; i++) {
        const struct gt_scope_memory *one = scope_of(job, (enum gt_scope)i);
        assert_true(one->ram >= 0 && one->ram <= one->rss);
        assert_true(one->private_bytes >= 0 && one->shared_bytes >= 0);
        assert_close(one->private_bytes + one->shared_bytes, one->ram, 1);
    }
}

static double some(double most)
{
    return (double)(rand() % 64) / 64 * most;
}

static void change(struct job *job, double faults[MOST])
{
    for (size_t i = 0; i < job->snapshot.process_count; i++) {
        struct gt_process *process = job->list[i];
        faults[process->pid - MAIN] += some(200);
        set(job, process, some(500), some(50), faults[process->pid - MAIN]);
        double anonymous = (process->value[GT_RSS] - process->file_bytes) / MB, files = process->file_bytes / MB;
        double own = some(anonymous), own_files = some(files);
        struct rollup rollup = {anonymous, own,       own + (anonymous - own) / 2,
                                files,     own_files, own_files + (files - own_files) / 3};
        if (rand() % 2)
            show_rollup(job, process, rollup);
    }
}

TEST(whatever_happens_parts_and_whole_agree)
{
    for (unsigned seed = 1; seed <= FEWER(60, 10); seed++) {
        struct job *job = begin_with(GT_MEMORY_GROUP);
        double faults[MOST] = {0};
        srand(seed);
        add(job, NULL, 400, 20);
        while (job->count < MOST) {
            struct gt_process *parent = job->process[(size_t)rand() % job->count];
            bool is_forked = rand() % 4;
            add(job, is_forked ? parent : NULL, is_forked ? parent->value[GT_RSS] / MB : some(100), some(20));
            change(job, faults);
            if (rand() % 4 == 0 && job->snapshot.process_count > 1)
                end(job, job->list[1]);
            double anonymous = some(2000) * MB, mapped = some(100) * MB, usage = anonymous + mapped + some(10) * MB;
            struct gt_group_reading group = {anonymous, mapped, NAN, usage, usage + some(100) * MB};
            job->now_ns += GT_SECOND;
            update_by(job, rand() % 2 ? &group : NULL, rand() % 2);
            assert_ordered(job);
        }
        void *opened = job;
        finish(&opened);
    }
}

/* ---- the running kernel ---- */

enum { MEGABYTES = 16 };

/* Trees that are met as they are, so that readings alone know what they share. */
static double measure(enum scenario_kind kind, size_t megabytes)
{
    struct scenario scenario;
    struct gt_process *process[MOST];
    struct gt_root root;
    struct gt_job_memory *memory;
    assert_return_code(gt_root_open(&root, NULL, NULL), 0);
    assert_int_equal(gt_job_memory_open(&memory, &root, &gt_clock_system, GT_MEMORY_FAULTS, NULL), 0);
    assert_true(scenario_begin(&scenario, kind, megabytes));
    for (size_t i = 0; i < scenario.count; i++) {
        assert_int_equal(gt_process_open(&process[i], &root, scenario.pid[i]), 0);
        assert_int_equal(gt_process_read(process[i], &root), 0);
        process[i]->is_main = i == 0;
        process[i]->is_worker = i > 0;
        process[i]->alone_ns = i > 0;
        assert_int_equal(gt_job_memory_meet(memory, process[i], i ? process[0] : NULL), 0);
    }
    struct gt_snapshot snapshot = {.process = process, .process_count = scenario.count};
    assert_int_equal(gt_job_memory_update(memory, &snapshot, NULL, false, PATIENCE), 0);
    double ret = gt_job_memory_figures(memory)->scope[GT_SCOPE_COMBINED].ram;
    gt_job_memory_close(memory);
    for (size_t i = 0; i < scenario.count; i++)
        gt_process_close(process[i]);
    scenario_end(&scenario);
    gt_root_close(&root);
    return ret;
}

TEST(trees_have_what_was_constructed)
{
    if (scenario_is_distorted()) {
        print_message("skipped: valgrind changes what processes have\n");
        skip();
    }
    for (enum scenario_kind kind = 0; kind < SCENARIO_COUNT; kind += FEWER(1, 3)) {
        /* What the root unmapped counts as far as the child that shares most of it has it: three quarters. */
        int units = kind == DISJOINT_WRITES ? 7 : scenario_truth[kind].units;
        double truth = units * MEGABYTES * MB;
        double value = measure(kind, MEGABYTES) - measure(kind, 0);
        if (fabs(value - truth) > 0.02 * truth + 0.5 * MB)
            fail_msg("%s: %.2f MB, truth %.2f MB", scenario_truth[kind].name, value / MB, truth / MB);
    }
}
