#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/process/process.h"
#include "sample/walker.h"
#include "support/figures.h"
#include "support/scenario.h"
#include "support/sanitized.h"

#define MB 1048576.0
enum { MEGABYTES = 16, PATIENCE_S = 120 };

/* ---- what a walk says later, without a machine ---- */

struct job {
    struct gt_process process[8];
    struct gt_process *list[8];
    struct gt_frame frame;
    struct gt_shared_memory sharing;
};

static void add_process(struct job *job, pid_t pid, pid_t parent, double rss, double file)
{
    size_t i = job->frame.process_count++;
    job->process[i] = (struct gt_process){.pid = pid, .parent = parent, .start = 7, .is_main = i == 0};
    job->process[i].value[GT_RSS] = rss;
    job->process[i].file_bytes = file;
    job->list[i] = &job->process[i];
    job->frame.process = job->list;
}

static void remove_first(struct job *job)
{
    job->frame.process++;
    job->frame.process_count--;
}

static void learn(struct job *job, const double private_bytes[], double main_shared, double descendants_shared,
                  double combined_shared)
{
    struct gt_memory_process walked[8];
    size_t count = gt_shared_memory_ask(&job->sharing, walked, false);
    for (size_t i = 0; i < count; i++) {
        walked[i].ok = !isnan(private_bytes[i]);
        walked[i].is_denied = !walked[i].ok;
        walked[i].rss = job->frame.process[i]->value[GT_RSS];
        walked[i].file_bytes = job->frame.process[i]->file_bytes;
        walked[i].private_bytes = private_bytes[i];
        walked[i].anonymous = private_bytes[i] / 2;
        walked[i].shared_bytes = walked[i].rss - private_bytes[i];
        walked[i].faults = NAN;
    }
    const struct gt_memory_totals totals = {
        .main = {.shared_bytes = main_shared, .sure_shared = main_shared},
        .descendants = {.shared_bytes = descendants_shared, .sure_shared = descendants_shared},
        .combined = {.shared_bytes = combined_shared, .sure_shared = combined_shared},
        .mapped = NAN};
    gt_shared_memory_learn(&job->sharing, walked, count, &totals, true, 0, 100);
}

static struct gt_scope_memory combined(struct job *job)
{
    assert_int_equal(gt_shared_memory_follow(&job->sharing, &job->frame, 0), 0);
    gt_shared_memory_update(&job->sharing);
    return gt_shared_memory_scope(&job->sharing, GT_SCOPE_COMBINED);
}

/* A root and three children that share 400, with 100 of their own each. */
static void begin_family(struct job *job)
{
    *job = (struct job){0};
    for (pid_t pid = 10; pid < 14; pid++)
        add_process(job, pid, pid == 10 ? 1 : 10, 500, 300);
    combined(job);
    const double private_bytes[] = {100, 100, 100, 100};
    learn(job, private_bytes, 400, 400, 400);
    struct gt_scope_memory memory = combined(job);
    assert_close(memory.ram, 800, 0);
    assert_close(memory.rss, 2000, 0);
    assert_close(memory.private_bytes, 400, 0);
    assert_close(memory.shared_bytes, 400, 0);
}

/* The children have copied 250 of what they share, which no resident set tells. */
static void the_control_group_tells_what_was_copied(void **state)
{
    (void)state;
    struct job job;
    struct gt_scope_memory scope[GT_SCOPE_COMBINED + 1];
    static const struct {
        struct gt_group_anonymous anonymous;
        double ram, certain, descendants;
    } cases[] = {
        {{750, 750}, 1050, 1050, 950},    /* and 300 of files */
        {{700, 800}, 1000, 1000, 900},    /* the kernel may be late */
        {{460, 500}, 800, 800, 700},      /* nothing else is known */
        {{5000, 5000}, 2000, 2000, 1500}, /* never more than the resident sets */
        {{0, 0}, 800, 800, 700},          /* never less than what is certain */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin_family(&job);
        for (int k = GT_SCOPE_MAIN; k <= GT_SCOPE_COMBINED; k++)
            scope[k] = gt_shared_memory_scope(&job.sharing, (enum gt_scope)k);
        gt_shared_memory_correct(&job.sharing, cases[i].anonymous, scope);
        assert_close(scope[GT_SCOPE_COMBINED].ram, cases[i].ram, 0);
        assert_close(scope[GT_SCOPE_COMBINED].certain, cases[i].certain, 0);
        assert_close(scope[GT_SCOPE_COMBINED].private_bytes, cases[i].ram - 400, 0);
        assert_close(scope[GT_SCOPE_COMBINED].shared_bytes, 400, 0);
        assert_close(scope[GT_SCOPE_DESCENDANTS].ram, cases[i].descendants, 0);
        gt_shared_memory_release(&job.sharing);
    }
}

static bool may_walk(struct job *job, int64_t now_ns)
{
    assert_int_equal(gt_shared_memory_follow(&job->sharing, &job->frame, now_ns), 0);
    return now_ns >= gt_shared_memory_allowed(&job->sharing.record[0], now_ns);
}

/* A walk of 10 ms is followed by 1 s of peace. */
static void who_changed_and_has_settled_is_walked_sooner(void **state)
{
    (void)state;
    static const int64_t MS = GT_SECOND / 1000;
    struct gt_memory_process walked[1];
    const struct gt_memory_totals totals = {0};
    struct job job = {0};
    add_process(&job, 10, 1, 500, 0);
    combined(&job);
    assert_int_equal(gt_shared_memory_ask(&job.sharing, walked, false), 1);
    walked[0].ok = true;
    walked[0].duration_ns = 10 * MS;
    gt_shared_memory_learn(&job.sharing, walked, 1, &totals, true, 0, 100);
    assert_false(may_walk(&job, 900 * MS)); /* it is as the walk saw it */
    assert_true(may_walk(&job, 1000 * MS));
    job.process[0].value[GT_MINOR_FAULTS]++;
    assert_false(may_walk(&job, 200 * MS));
    assert_false(may_walk(&job, 300 * MS)); /* there may be more to come */
    assert_true(may_walk(&job, 400 * MS));
    for (int64_t now = 400; now < 1000; now += 100) { /* there is */
        job.process[0].value[GT_RSS]++;
        assert_false(may_walk(&job, now * MS));
    }
    assert_true(may_walk(&job, 1000 * MS));
    gt_shared_memory_release(&job.sharing);
}

static void a_process_takes_only_its_own_away(void **state)
{
    (void)state;
    struct job job;
    begin_family(&job);
    for (double left = 700; job.frame.process_count > 1; left -= 100) {
        remove_first(&job);
        assert_close(combined(&job).ram, left, 0);
        assert_true(job.sharing.has_left);
    }
    remove_first(&job);
    struct gt_scope_memory memory = combined(&job);
    assert_close(memory.ram, 0, 0);
    assert_close(memory.private_bytes, 0, 0);
    gt_shared_memory_release(&job.sharing);
}

static void anonymous_growth_is_private_and_shared_growth_counts_once(void **state)
{
    (void)state;
    struct job job;
    begin_family(&job);
    for (int i = 1; i < 4; i++)
        job.process[i].value[GT_RSS] += 50;
    assert_close(combined(&job).ram, 950, 0);
    assert_close(job.sharing.record[1].private_bytes, 150, 0);
    for (int i = 1; i < 4; i++) {
        job.process[i].value[GT_RSS] += 30;
        job.process[i].file_bytes += 30;
    }
    assert_close(combined(&job).ram, 980, 0);
    assert_close(job.sharing.record[1].shared_bytes, 430, 0);
    gt_shared_memory_release(&job.sharing);
}

/* The first has all of a memory of 400, as three workers come to have it by and by. */
static void what_one_had_already_does_not_count_again_as_others_map_it(void **state)
{
    (void)state;
    struct job job = {0};
    const double private_bytes[] = {10, 10, 10, 10};
    for (pid_t pid = 10; pid < 14; pid++)
        add_process(&job, pid, pid == 10 ? 1 : 10, pid == 10 ? 410 : 60, pid == 10 ? 400 : 50);
    combined(&job);
    learn(&job, private_bytes, 400, 50, 400);
    assert_close(combined(&job).ram, 440, 0);
    for (int i = 1; i < 4; i++) {
        job.process[i].value[GT_RSS] += 100 * i;
        job.process[i].file_bytes += 100 * i;
    }
    assert_close(combined(&job).ram, 440, 0);
    assert_close(combined(&job).certain, 440, 0);
    gt_shared_memory_release(&job.sharing);
}

/* Two programs of 10 and 150 of files begin after the walk. */
static void files_of_new_programs_are_as_many_as_the_machine_maps_more(void **state)
{
    (void)state;
    struct job job = {0};
    const double private_bytes[] = {10};
    add_process(&job, 10, 1, 30, 20);
    combined(&job);
    learn(&job, private_bytes, 20, 0, 20);
    assert_close(combined(&job).ram, 30, 0);
    for (pid_t pid = 11; pid < 13; pid++) {
        add_process(&job, pid, 10, 160, 150);
        snprintf(job.process[pid - 10].name, sizeof job.process->name, "program%d", (int)pid);
    }
    assert_close(combined(&job).ram, 50 + 130, 0); /* not known: the same files, with those of the first */
    job.sharing.mapped_seen = 1000;
    job.sharing.mapped = 1300;
    assert_close(combined(&job).ram, 50 + 300, 0);
    job.sharing.mapped = 1200;
    assert_close(combined(&job).ram, 50 + 200, 0);
    job.sharing.mapped = 5000; /* others map as well */
    assert_close(combined(&job).ram, 50 + 300, 0);
    assert_close(combined(&job).certain, 160, 0);
    strcpy(job.process[2].name, job.process[1].name); /* one program, which maps the same */
    assert_close(combined(&job).ram, 50 + 150, 0);
    const double both[] = {10, 10};
    job.frame.process_count = 2;
    combined(&job);
    learn(&job, both, 20, 150, 150);
    job.frame.process_count = 3;
    combined(&job);
    job.sharing.mapped_seen = 1000;
    job.sharing.mapped = 5000;
    assert_close(combined(&job).ram, 30 + 150, 0); /* which the walk saw */
    gt_shared_memory_release(&job.sharing);
}

/* The walk was asked for when it had 400 of files, and saw it when it had let go of 300. */
static void files_are_as_the_walk_saw_them(void **state)
{
    (void)state;
    struct job job = {0};
    struct gt_memory_process walked[1];
    const struct gt_memory_totals totals = {.combined.shared_bytes = 100};
    add_process(&job, 10, 1, 410, 400);
    combined(&job);
    gt_shared_memory_ask(&job.sharing, walked, false);
    walked[0] = (struct gt_memory_process){
        .pid = 10, .start = 7, .ok = true, .rss = 110, .file_bytes = 100, .private_bytes = 10, .shared_bytes = 100};
    gt_shared_memory_learn(&job.sharing, walked, 1, &totals, true, 0, 100);
    job.process[0].value[GT_RSS] = 110;
    job.process[0].file_bytes = 100;
    assert_close(combined(&job).private_bytes, 10, 0);
    gt_shared_memory_release(&job.sharing);
}

/* Of 100 private bytes 50 are of files. */
static void what_strangers_may_come_to_share_is_told_apart(void **state)
{
    (void)state;
    struct job job = {0};
    const double private_bytes[] = {100};
    add_process(&job, 10, 1, 500, 400);
    assert_close(combined(&job).anonymous, 100, 0); /* what files have is known without a walk */
    learn(&job, private_bytes, 400, 0, 400);
    assert_close(combined(&job).anonymous, 50, 0);
    job.process[0].value[GT_RSS] += 70; /* of which 30 of files */
    job.process[0].file_bytes += 30;
    assert_close(combined(&job).anonymous, 90, 0);
    struct gt_memory_process late[1];
    const struct gt_memory_totals totals = {.combined.shared_bytes = 0};
    assert_int_equal(gt_shared_memory_ask(&job.sharing, late, false), 1);
    late[0] = (struct gt_memory_process){
        .pid = 10, .start = 7, .ok = true, .rss = 60, .private_bytes = 60, .anonymous = 60};
    gt_shared_memory_learn(&job.sharing, late, 1, &totals, true, 0, 100); /* it had let go of its files meanwhile */
    job.process[0].value[GT_RSS] = 440;
    assert_close(combined(&job).anonymous, 10, 0);
    gt_shared_memory_release(&job.sharing);
}

static void a_fork_counts_at_what_it_has_more_than_its_parent(void **state)
{
    (void)state;
    struct job job;
    begin_family(&job);
    add_process(&job, 20, 10, 500, 300);
    job.process[4].is_forked = job.process[4].is_worker = true;
    job.process[4].heritage = (struct gt_heritage){.from = 10, .from_start = 7, .bytes = 200, .bound = 500};
    assert_close(combined(&job).ram, 800, 0);
    assert_true(isnan(job.sharing.record[4].private_bytes));
    job.process[4].value[GT_RSS] = 530;
    assert_close(combined(&job).ram, 830, 0);
    gt_shared_memory_release(&job.sharing);
}

static void denied_processes_count_whole(void **state)
{
    (void)state;
    struct job job = {0};
    add_process(&job, 10, 1, 500, 0);
    add_process(&job, 11, 10, 300, 0);
    combined(&job);
    learn(&job, (const double[]){500, NAN}, 0, 0, 0);
    assert_close(combined(&job).ram, 800, 0);
    assert_true(job.sharing.record[1].is_denied);
    gt_shared_memory_release(&job.sharing);
}

static void never_outside_the_bounds(void **state)
{
    (void)state;
    struct job job;
    begin_family(&job);
    for (int i = 0; i < 4; i++) { /* everything but 20 was unmapped */
        job.process[i].value[GT_RSS] = 20 + i;
        job.process[i].file_bytes = 0;
    }
    struct gt_scope_memory memory = combined(&job);
    assert_true(memory.ram >= 23 && memory.ram <= memory.rss);
    assert_true(memory.private_bytes >= 0 && memory.shared_bytes >= 0);
    gt_shared_memory_release(&job.sharing);
}

/* A number used again is another process. */
static void reused_number_starts_anew(void **state)
{
    (void)state;
    struct job job;
    begin_family(&job);
    job.process[3].start = 8;
    combined(&job);
    assert_false(job.sharing.record[3].has_walk);
    assert_true(job.sharing.has_left);
    gt_shared_memory_release(&job.sharing);
}

/* ---- the running kernel ---- */

struct live {
    struct gt_root root;
    _Atomic int64_t now, cpu_ns; /* read by the walking thread, too */
    _Atomic int64_t walk_ns;     /* what a walk costs by the clock; below 0: what it does */
    struct gt_clock clock;
    struct gt_walker *walker;
    struct scenario scenario;
    struct gt_process *process[8];
    struct gt_frame frame;
};

static int64_t set_time(void *context)
{
    return ((struct live *)context)->now;
}

/* It is read before and after a walk. */
static int64_t set_cpu(void *context)
{
    struct live *live = context;
    return live->walk_ns < 0 ? gt_clock_ns(CLOCK_THREAD_CPUTIME_ID) : atomic_fetch_add(&live->cpu_ns, live->walk_ns);
}

static void read_all(struct live *live)
{
    for (size_t i = 0; i < live->frame.process_count; i++)
        gt_process_read(live->process[i], &live->root);
}

static bool begin_live(struct live *live, enum scenario_kind kind, size_t megabytes, const char *method)
{
    if (scenario_is_distorted()) {
        print_message("skipped: valgrind changes what processes have\n");
        skip();
    }
    struct gt_availability availability;
    *live = (struct live){.now = GT_SECOND, .walk_ns = -1};
    live->clock = (struct gt_clock){.real = set_time, .monotonic = set_time, .context = live, .thread_cpu = set_cpu};
    assert_return_code(gt_root_open(&live->root, NULL, NULL), 0);
    if (gt_walker_open(&live->walker, &live->root, &live->clock, method, &availability, NULL) < 0) {
        gt_root_close(&live->root);
        return false;
    }
    assert_true(scenario_begin(&live->scenario, kind, megabytes));
    for (size_t i = 0; i < live->scenario.count; i++) {
        assert_int_equal(gt_process_open(&live->process[i], &live->root, live->scenario.pid[i]), 0);
        live->process[i]->is_main = i == 0;
    }
    live->frame.process = live->process;
    live->frame.process_count = live->scenario.count;
    read_all(live);
    return true;
}

static void end_live(struct live *live)
{
    gt_walker_close(live->walker);
    for (size_t i = 0; i < live->scenario.count; i++)
        gt_process_close(live->process[i]);
    scenario_end(&live->scenario);
    gt_root_close(&live->root);
}

static struct gt_walker_result apply(struct live *live, int64_t patience_ns)
{
    struct gt_walker_result result;
    assert_int_equal(
        gt_walker_apply(live->walker, &live->frame, (struct gt_group_anonymous){NAN, NAN}, patience_ns, &result), 0);
    return result;
}

static double measured(enum scenario_kind kind, size_t megabytes)
{
    struct live live;
    assert_true(begin_live(&live, kind, megabytes, NULL));
    struct gt_walker_result result = apply(&live, PATIENCE_S * GT_SECOND);
    assert_int_equal(result.walks, 1);
    assert_true(!result.is_estimate || !megabytes); /* a small tree still changes by more than a hundredth */
    assert_true(result.moment_ns == live.now);
    end_live(&live);
    return result.scope[GT_SCOPE_COMBINED].ram;
}

static void the_default_is_right(void **state)
{
    (void)state;
    const enum scenario_kind kinds[] = {COPY_ON_WRITE, WITH_STRANGER, DISJOINT_WRITES, SIBLINGS_SHARED, SIBLINGS_FILE};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i += FEWER(1, 2)) {
        double truth = scenario_truth[kinds[i]].units * MEGABYTES * MB;
        double value = measured(kinds[i], MEGABYTES) - measured(kinds[i], 0);
        if (fabs(value - truth) > 0.02 * truth)
            fail_msg("%s: %.2f MB, truth %.2f MB", scenario_truth[kinds[i]].name, value / MB, truth / MB);
    }
}

static void walks_keep_their_pauses(void **state)
{
    (void)state;
    struct live live;
    assert_true(begin_live(&live, COPY_ON_WRITE, MEGABYTES, NULL));
    struct gt_walker_result result = apply(&live, PATIENCE_S * GT_SECOND);
    assert_int_equal(result.walks, 1);
    live.now += GT_SECOND / 2; /* nothing has changed */
    assert_int_equal(apply(&live, PATIENCE_S * GT_SECOND).walks, 1);
    live.now += 60 * GT_SECOND;
    assert_int_equal(apply(&live, PATIENCE_S * GT_SECOND).walks, 2);
    live.process[0]->value[GT_RSS] += 40 * MB; /* something has, but too soon */
    live.now += 1000000;
    result = apply(&live, PATIENCE_S * GT_SECOND);
    assert_int_equal(result.walks, 2);
    assert_true(result.is_estimate);
    live.now += 60 * GT_SECOND;
    assert_int_equal(apply(&live, PATIENCE_S * GT_SECOND).walks, 3);
    end_live(&live);
}

/* What strangers share with the job may change all the same, and PSS with it. */
static void still_page_frames_are_walked_less_often(void **state)
{
    (void)state;
    struct live live;
    /* Enough memory for what the kernel counts late to stay below a hundredth, and little of files. */
    assert_true(begin_live(&live, DISJOINT_WRITES, 32, NULL));
    live.walk_ns = GT_SECOND / 1000;
    bool has_frames = !strcmp(gt_walker_method(live.walker), "unique page frames");
    uint64_t walks = 1;
    assert_int_equal(apply(&live, PATIENCE_S * GT_SECOND).walks, walks);
    live.now += 6 * GT_SECOND;
    assert_int_equal(apply(&live, PATIENCE_S * GT_SECOND).walks, walks += !has_frames);
    live.process[2]->value[GT_MINOR_FAULTS]++;
    live.now += 2 * GT_SECOND;
    assert_int_equal(apply(&live, PATIENCE_S * GT_SECOND).walks, ++walks);
    live.process[2]->value[GT_RSS] += 4096;
    live.now += 6 * GT_SECOND;
    live.walk_ns = GT_SECOND / 50; /* one that takes long is done more seldom still */
    assert_int_equal(apply(&live, PATIENCE_S * GT_SECOND).walks, ++walks);
    live.walk_ns = GT_SECOND / 1000;
    live.now += 11 * GT_SECOND;
    assert_int_equal(apply(&live, PATIENCE_S * GT_SECOND).walks, walks += !has_frames);
    live.now += 10 * GT_SECOND;
    assert_int_equal(apply(&live, PATIENCE_S * GT_SECOND).walks, ++walks);
    live.now += 6 * GT_SECOND;
    assert_int_equal(apply(&live, PATIENCE_S * GT_SECOND).walks, walks += !has_frames);
    live.now += 5 * GT_SECOND;
    assert_int_equal(apply(&live, PATIENCE_S * GT_SECOND).walks, ++walks);
    end_live(&live);
}

static void still_files_are_walked_more_often(void **state)
{
    (void)state;
    struct live live;
    assert_true(begin_live(&live, COPY_ON_WRITE, 16, NULL));
    live.walk_ns = GT_SECOND / 1000;
    assert_int_equal(apply(&live, PATIENCE_S * GT_SECOND).walks, 1);
    live.now += 3 * GT_SECOND;
    assert_int_equal(apply(&live, PATIENCE_S * GT_SECOND).walks, 2);
    end_live(&live);
}

static void a_new_process_is_walked_alone_at_once(void **state)
{
    (void)state;
    struct live live;
    assert_true(begin_live(&live, COPY_ON_WRITE, MEGABYTES, NULL));
    live.frame.process_count = 4;
    double before = apply(&live, PATIENCE_S * GT_SECOND).scope[GT_SCOPE_COMBINED].ram;
    live.frame.process_count = 5;
    live.process[4]->is_worker = true;
    live.process[4]->value[GT_MINOR_FAULTS] = live.process[4]->value[GT_MAJOR_FAULTS] = 0;
    live.process[4]->heritage = (struct gt_heritage){
        .from = live.process[0]->pid, .from_start = live.process[0]->start, .bytes = 1e15};
    struct gt_walker_result result = apply(&live, 0);
    assert_close(result.scope[GT_SCOPE_COMBINED].ram, before, 2 * MB); /* what it has may all be inherited */
    int64_t moment = result.moment_ns;
    for (int i = 0; i < 30000 && result.walks < 2; i++) {
        usleep(2000);
        live.now += 2000000; /* the 1 % of a process that took a millisecond is over after a tenth of a second */
        result = apply(&live, 0);
    }
    assert_int_equal(result.walks, 2);
    assert_true(result.scope[GT_SCOPE_COMBINED].ram - before > (MEGABYTES - 1) * MB);
    assert_true(result.scope[GT_SCOPE_COMBINED].ram - before < (MEGABYTES + 1) * MB);
    assert_true(!isnan(live.process[4]->value[GT_RAM_PRIVATE]));
    assert_true(result.moment_ns >= moment);
    end_live(&live);
}

static void no_patience_no_delay(void **state)
{
    (void)state;
    struct live live;
    assert_true(begin_live(&live, COPY_ON_WRITE, FEWER(4, 1) * MEGABYTES, NULL));
    struct gt_walker_result result = apply(&live, 0);
    assert_int_equal(result.walks, 0);
    assert_int_equal(result.moment_ns, 0);
    assert_true(result.is_estimate);
    assert_close(live.process[0]->value[GT_RAM], live.process[0]->value[GT_RSS], 0);
    for (int i = 0; i < 30000 && !result.walks; i++) {
        usleep(2000);
        result = apply(&live, 0);
    }
    assert_int_equal(result.walks, 1);
    assert_false(result.is_estimate);
    end_live(&live); /* also while a walk may be in progress */
    assert_true(begin_live(&live, SPARSE, FEWER(4, 1) * MEGABYTES, NULL));
    apply(&live, 0);
    end_live(&live);
}

static void sums_of_resident_sets_need_no_walk(void **state)
{
    (void)state;
    struct live live;
    assert_true(begin_live(&live, COPY_ON_WRITE, MEGABYTES, "rss"));
    struct gt_walker_result result = apply(&live, PATIENCE_S * GT_SECOND);
    assert_int_equal(result.walks, 0);
    assert_true(result.is_estimate);
    assert_close(result.scope[GT_SCOPE_COMBINED].ram, result.scope[GT_SCOPE_COMBINED].rss, 0);
    assert_true(isnan(result.scope[GT_SCOPE_COMBINED].private_bytes));
    assert_string_equal(gt_walker_method(live.walker), "sum of resident set sizes");
    end_live(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_control_group_tells_what_was_copied),
        cmocka_unit_test(who_changed_and_has_settled_is_walked_sooner),
        cmocka_unit_test(a_process_takes_only_its_own_away),
        cmocka_unit_test(anonymous_growth_is_private_and_shared_growth_counts_once),
        cmocka_unit_test(what_one_had_already_does_not_count_again_as_others_map_it),
        cmocka_unit_test(files_of_new_programs_are_as_many_as_the_machine_maps_more),
        cmocka_unit_test(files_are_as_the_walk_saw_them),
        cmocka_unit_test(what_strangers_may_come_to_share_is_told_apart),
        cmocka_unit_test(a_fork_counts_at_what_it_has_more_than_its_parent),
        cmocka_unit_test(denied_processes_count_whole),
        cmocka_unit_test(never_outside_the_bounds),
        cmocka_unit_test(reused_number_starts_anew),
        cmocka_unit_test(the_default_is_right),
        cmocka_unit_test(walks_keep_their_pauses),
        cmocka_unit_test(still_page_frames_are_walked_less_often),
        cmocka_unit_test(still_files_are_walked_more_often),
        cmocka_unit_test(a_new_process_is_walked_alone_at_once),
        cmocka_unit_test(no_patience_no_delay),
        cmocka_unit_test(sums_of_resident_sets_need_no_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
