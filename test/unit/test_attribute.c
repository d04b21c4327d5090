#include "aggregate/attribute.h"
#include "collect/process/placement.h"
#include "support/gpu_machine.h"
#include "support/test.h"

static struct gt_attribution attribution;
static const int64_t START = 1000 * GT_SECOND;

static void begin_with(enum gt_idle_policy policy, int cores)
{
    gt_attribution_release(&attribution);
    gt_attribution_init(&attribution, policy, cores, START);
}

static int begin(void **state)
{
    (void)state;
    begin_with(GT_IDLE_SHARE, 4);
    return 0;
}

static int end(void **state)
{
    (void)state;
    gt_attribution_release(&attribution);
    return 0;
}

static double sum_of_parts(const struct gt_energy *energy)
{
    return energy->job + energy->other + energy->idle + energy->unattributed;
}

static void cpu(double seconds, double joules, double busy, double job)
{
    gt_attribute_cpu(&attribution, joules,
                     (struct gt_cpu_use){START + (int64_t)llround(seconds * 1e9), busy, job, 0, 0, 0, 0});
}

static void expect(enum gt_energy_device device, double job, double other, double idle, double unattributed)
{
    const struct gt_energy *energy = &attribution.energy[device];
    assert_close(energy->job, job, 1e-9);
    assert_close(energy->other, other, 1e-9);
    assert_close(energy->idle, idle, 1e-9);
    assert_close(energy->unattributed, unattributed, 1e-9);
    assert_close(energy->total, sum_of_parts(energy), 1e-9);
}

/* ---- CPU ---- */

TEST_WITH(energy_follows_busy_time_of_its_own_window, begin, end)
{
    cpu(1, 100, 2, 0.5);
    expect(GT_ENERGY_CPU, 25, 75, 0, 0);
    cpu(2, 140, 3, 1.5);
    expect(GT_ENERGY_CPU, 65, 75, 0, 0);
}

TEST_WITH(time_without_a_user_is_idle, begin, end)
{
    cpu(1, 10, 0, 0);
    expect(GT_ENERGY_CPU, 0, 0, 10, 0);
}

TEST_WITH(idle_energy_goes_where_the_policy_says, begin, end)
{
    static const double job[GT_IDLE_POLICIES] = {25, 22.5, 32.5}, idle[GT_IDLE_POLICIES] = {0, 10, 0};
    for (int policy = 0; policy < GT_IDLE_POLICIES; policy++) {
        begin_with(policy, 4);
        cpu(1, 10, 0, 0); /* 10 W while idle */
        double before = attribution.energy[GT_ENERGY_CPU].job;
        double idle_before = attribution.energy[GT_ENERGY_CPU].idle;
        cpu(2, 110, 2, 0.5);
        assert_close(attribution.energy[GT_ENERGY_CPU].job - before, job[policy], 1e-9);
        assert_close(attribution.energy[GT_ENERGY_CPU].idle - idle_before, idle[policy], 1e-9);
        assert_close(sum_of_parts(&attribution.energy[GT_ENERGY_CPU]), 110, 1e-9);
    }
}

TEST_WITH(idle_power_that_was_never_seen_is_not_guessed, begin, end)
{
    begin_with(GT_IDLE_EXCLUDE, 4);
    cpu(1, 100, 2, 1);
    expect(GT_ENERGY_CPU, 50, 50, 0, 0);
}

TEST_WITH(without_busy_time_nothing_is_attributed, begin, end)
{
    cpu(1, 100, NAN, 1);
    expect(GT_ENERGY_CPU, 0, 0, 0, 100);
}

TEST_WITH(a_gap_is_covered_by_the_next_reading, begin, end)
{
    cpu(1, NAN, 2, 0.5);
    assert_false(attribution.energy[GT_ENERGY_CPU].is_measured);
    cpu(2, 100, 4, 3);
    expect(GT_ENERGY_CPU, 75, 25, 0, 0);
}

TEST_WITH(nobody_has_more_than_all, begin, end)
{
    cpu(1, 100, 1, 1.5); /* the machine's ticks come late */
    expect(GT_ENERGY_CPU, 100, 0, 0, 0);
    cpu(2, 200, 3, 2.5);
    assert_close(attribution.energy[GT_ENERGY_CPU].job, 100 + 75, 1e-9); /* 1 s and the 0.5 s from before, of 2 s */
}

/* A machine of 16 cores: 40 W and 5 W for each busy core. The job is busy in bursts; the machine's busy time comes in ticks. */
TEST_WITH(figures_keep_to_the_truth_at_any_period, begin, end)
{
    static const double periods[] = {0.001, 0.01, 0.1, 1, 10};
    for (size_t p = 0; p < sizeof periods / sizeof *periods; p++) {
        begin_with(GT_IDLE_SHARE, 16);
        double joules = 0, busy = 0, job = 0, truth = 0, time = 0;
        while (time < 200) {
            double step = 0.001;
            for (double until = time + periods[p]; time < until - step / 2; time += step) {
                double mine = fmod(time, 20) < 10 ? 2 : 6, others = fmod(time, 40) < 20 ? 4 : 1;
                double drawn = (40 + 5 * (mine + others)) * step;
                joules += drawn;
                truth += drawn * mine / (mine + others);
                busy += (mine + others) * step;
                job += mine * step;
            }
            cpu(time, joules, floor(busy * 100 + 1e-6) / 100, job);
        }
        const struct gt_energy *energy = &attribution.energy[GT_ENERGY_CPU];
        assert_close(sum_of_parts(energy), joules, 1e-6 * joules);
        assert_close(energy->job, truth, 0.005 * truth);
    }
}

/* ---- Packages ---- */

struct sockets {
    struct gt_package package[2];
    struct gt_placement placement;
    struct gt_process process;
    struct gt_process *list[1];
    struct gt_snapshot snapshot;
    struct gt_tree tree;
};

/* Two packages of 4 CPUs, each of which drew 10 J and was busy for so long; the job's only process, where it seems to have been. */
static struct sockets *sockets(double first_busy, double second_busy, double on_first, double on_second)
{
    static struct sockets all;
    const double busy[2] = {first_busy, second_busy}, on[2] = {on_first, on_second};
    all = (struct sockets){.placement.is_known = true, .process.placement = &all.placement, .list = {&all.process}};
    all.snapshot = (struct gt_snapshot){.package = all.package, .package_count = 2, .monotonic_ns = START + GT_SECOND};
    all.tree = (struct gt_tree){.process = all.list, .count = 1};
    all.snapshot.system[GT_CPU_ENERGY] = 20;
    for (int i = 0; i < 2; i++) {
        all.package[i] = (struct gt_package){.number = i, .cpus = 4};
        all.package[i].value[GT_CPU_ENERGY] = 10;
        all.package[i].value[GT_CPU_TIME] = busy[i];
        all.placement.recent[i] = on[i];
    }
    return &all;
}

static void charge(const struct sockets *both, double job, double first, double second)
{
    assert_int_equal(gt_attribute_packages(&attribution, &both->snapshot, &both->tree, job), 0);
    assert_close(attribution.package[0].cpu.energy.job, first, 1e-9);
    assert_close(attribution.package[1].cpu.energy.job, second, 1e-9);
    assert_close(sum_of_parts(&attribution.energy[GT_ENERGY_CPU]), 20, 1e-9);
}

TEST_WITH(each_package_is_divided_by_its_own_busy_time, begin, end)
{
    charge(sockets(2, 1, 1, 1), 2, 5, 10);
    assert_close(attribution.placement_error, 0, 1e-9);
}

TEST_WITH(nobody_was_where_nothing_was_busy, begin, end)
{
    charge(sockets(0, 2, 1, 0), 1, 0, 5);
}

TEST_WITH(bound_time_that_is_known_late_stays_where_it_is, begin, end)
{
    struct sockets *both = sockets(0.5, 2, 1, 0);
    both->placement.recent_bound[0] = 1;
    charge(both, 1, 10, 0);
    assert_close(attribution.package[0].job, 1, 1e-9);
}

TEST_WITH(time_that_nobody_showed_is_as_that_of_who_ended, begin, end)
{
    struct sockets *both = sockets(2, 2, 1, 0);
    both->tree.left_on[1] = 1;
    charge(both, 2, 5, 5);
}

TEST_WITH(what_moved_may_have_been_where_it_costs_most_or_least, begin, end)
{
    struct sockets *both = sockets(1, 2, 0.5, 0.5);
    both->placement.recent_moved[0] = both->placement.recent_moved[1] = 0.5;
    charge(both, 1, 5, 2.5);
    assert_close(attribution.placement_error, 2.5, 1e-9); /* 10 J or 5 J instead of 7.5 J */
}

TEST_WITH(without_cpu_times_packages_are_unattributed, begin, end)
{
    charge(sockets(1, 1, 0, 0), NAN, 0, 0);
    assert_close(attribution.energy[GT_ENERGY_CPU].unattributed, 20, 1e-9);
}

/* ---- Memory ---- */

TEST_WITH(memory_follows_what_is_in_use, begin, end)
{
    gt_attribute_memory(&attribution, 10, 1e9, 4e9);
    expect(GT_ENERGY_DRAM, 2.5, 7.5, 0, 0);
    gt_attribute_memory(&attribution, 20, 3e9, 4e9); /* half of it on the way from one to three */
    expect(GT_ENERGY_DRAM, 7.5, 12.5, 0, 0);
    gt_attribute_memory(&attribution, 30, NAN, 4e9); /* the job has ended in this window */
    expect(GT_ENERGY_DRAM, 15, 15, 0, 0);
}

TEST_WITH(memory_without_figures_is_not_attributed, begin, end)
{
    gt_attribute_memory(&attribution, 10, NAN, NAN);
    expect(GT_ENERGY_DRAM, 0, 0, 0, 10);
}

/* ---- GPUs ---- */

enum { OURS = 100, OURS_TOO = 101, STRANGER = 900 };

struct board {
    struct gpu_machine machine;
    struct gt_tree tree;
};

static int begin_board(void **state)
{
    static struct board board;
    begin(NULL);
    gpu_machine_begin(&board.machine);
    for (pid_t pid = OURS; pid <= OURS_TOO; pid++) {
        char path[64];
        snprintf(path, sizeof path, "proc/%d/stat", (int)pid);
        gpu_machine_file(
            &board.machine, path,
            "%d (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
            (int)pid, (int)pid);
    }
    assert_int_equal(gt_tree_open(&board.tree, &board.machine.root, OURS, false, NULL), 0);
    assert_int_equal(gt_tree_add(&board.tree, OURS_TOO), 1);
    *state = &board;
    return 0;
}

static int end_board(void **state)
{
    struct board *board = *state;
    gt_tree_close(&board->tree);
    gpu_machine_end(&board->machine);
    return end(NULL);
}

#define TEST_OF_BOARD(name) TEST_OF(struct board *board, name, begin_board, end_board)

static void add_devices(struct board *board, int count)
{
    for (int i = 0; i < count; i++)
        assert_non_null(gt_snapshot_device(&board->machine.snapshot));
}

static void use(struct board *board, int device, pid_t pid, double sm)
{
    struct gt_share *share = gt_snapshot_share(&board->machine.snapshot, device, pid);
    assert_non_null(share);
    share->value[GT_GPU_UTILIZATION] = sm;
}

static void gpus(struct board *board, double seconds)
{
    board->machine.snapshot.monotonic_ns = START + (int64_t)(seconds * 1e9);
    assert_int_equal(gt_attribute_gpus(&attribution, &board->machine.snapshot, &board->tree), 0);
    board->machine.snapshot.share_count = 0;
}

static void set_energy(struct board *board, int device, double joules, double utilization)
{
    board->machine.snapshot.device[device].value[GT_GPU_ENERGY] = joules;
    board->machine.snapshot.device[device].value[GT_GPU_UTILIZATION] = utilization;
}

TEST_OF_BOARD(a_gpu_of_ones_own_is_charged_whole)
{
    add_devices(board, 1);
    set_energy(board, 0, 300, 0.2);
    use(board, 0, OURS, 0.2);
    gpus(board, 1);
    expect(GT_ENERGY_GPU, 300, 0, 0, 0);
    assert_close(attribution.share_joules[0], 300, 1e-9);
}

TEST_OF_BOARD(a_shared_gpu_is_divided_by_sm_time)
{
    add_devices(board, 1);
    set_energy(board, 0, 300, 0.9);
    use(board, 0, OURS, 0.1);
    use(board, 0, OURS_TOO, 0.2);
    use(board, 0, STRANGER, 0.6);
    gpus(board, 1);
    expect(GT_ENERGY_GPU, 100, 200, 0, 0);
    assert_close(attribution.share_joules[0], 100.0 / 3, 1e-9);
    assert_close(attribution.share_joules[1], 200.0 / 3, 1e-9);
}

TEST_OF_BOARD(gpus_are_divided_one_by_one)
{
    add_devices(board, 3);
    set_energy(board, 0, 300, 0.5);
    set_energy(board, 1, 500, 0.5);
    set_energy(board, 2, 50, 0);
    use(board, 0, OURS, 0.5);
    use(board, 1, STRANGER, 0.5);
    gpus(board, 1);
    expect(GT_ENERGY_GPU, 300, 500, 50, 0);
}

TEST_OF_BOARD(without_shares_of_sm_time_users_cannot_be_told_apart)
{
    add_devices(board, 1);
    set_energy(board, 0, 300, 0.9);
    use(board, 0, OURS, NAN);
    use(board, 0, STRANGER, NAN);
    gpus(board, 1);
    expect(GT_ENERGY_GPU, 0, 0, 0, 300);
}

TEST_OF_BOARD(a_user_that_ended_in_the_window_keeps_its_share)
{
    add_devices(board, 1);
    set_energy(board, 0, 100, 0.9);
    use(board, 0, OURS, 0.9);
    gpus(board, 1);
    set_energy(board, 0, 180, 0.4);
    gpus(board, 2);
    expect(GT_ENERGY_GPU, 180, 0, 0, 0);
    set_energy(board, 0, 190, 0);
    gpus(board, 3);
    expect(GT_ENERGY_GPU, 180, 0, 10, 0);
}

TEST_OF_BOARD(users_between_two_readings_of_the_counter_count)
{
    add_devices(board, 1);
    set_energy(board, 0, 0, 0);
    gpus(board, 1);
    board->machine.snapshot.device[0].is_old = true;
    use(board, 0, OURS, 0.9);
    gpus(board, 2);
    gpus(board, 3); /* it has ended */
    expect(GT_ENERGY_GPU, 0, 0, 0, 0);
    board->machine.snapshot.device[0].is_old = false;
    set_energy(board, 0, 900, 0.4);
    gpus(board, 10);
    expect(GT_ENERGY_GPU, 900, 0, 0, 0);
}

TEST_OF_BOARD(work_of_users_that_cannot_be_seen_is_not_attributed)
{
    add_devices(board, 1);
    set_energy(board, 0, 300, 0.9);
    gpus(board, 1);
    expect(GT_ENERGY_GPU, 0, 0, 0, 300);
}

TEST_OF_BOARD(users_of_a_slice_use_its_board)
{
    add_devices(board, 2);
    board->machine.snapshot.device[1].parent = 0;
    set_energy(board, 0, 300, NAN);
    use(board, 1, OURS, NAN);
    gpus(board, 1);
    expect(GT_ENERGY_GPU, 300, 0, 0, 0);
}

TEST_OF_BOARD(idle_power_of_a_gpu_is_kept_apart)
{
    begin_with(GT_IDLE_EXCLUDE, 4);
    add_devices(board, 1);
    set_energy(board, 0, 70, 0);
    gpus(board, 1);
    set_energy(board, 0, 470, 0.9);
    use(board, 0, OURS, 0.9);
    gpus(board, 2);
    expect(GT_ENERGY_GPU, 330, 0, 140, 0);
}

/* 70 W while idle, 400 W in use, under a counter that is new each tenth of a second; tracking begins on an idle board, whose counter
 * shows 0 at its first reading. */
TEST_OF_BOARD(idle_power_is_not_taken_from_a_window_without_a_move)
{
    static const double periods[] = {0.01, 0.05, 0.1, 1}, refresh[GT_ENERGY_DEVICES] = {0.001, 0.001, 0.1};
    add_devices(board, 1);
    for (int i = 0; i < 8; i++) {
        bool is_all = i % 2;
        begin_with(is_all ? GT_IDLE_ALL : GT_IDLE_EXCLUDE, 4);
        gt_attribution_refresh(&attribution, refresh);
        for (int step = 0; step * periods[i / 2] <= 6; step++) {
            double time = step * periods[i / 2], counted = floor(time * 10 + 1e-6) / 10;
            set_energy(board, 0, counted < 2 ? 70 * counted : 140 + 400 * (counted - 2), time < 2 ? 0 : 0.9);
            if (time >= 2)
                use(board, 0, OURS, 0.9);
            gpus(board, time + 0.001);
        }
        double idle = is_all ? attribution.energy[GT_ENERGY_GPU].total - attribution.energy[GT_ENERGY_GPU].job
                             : attribution.energy[GT_ENERGY_GPU].idle;
        assert_close(idle, is_all ? 0 : 6 * 70, 25);
    }
}

/* 20 W while idle, counted in steps of 0.1 J that come each tenth of a second, as an energy relay has them. */
TEST_WITH(idle_power_of_coarse_counters_is_right_at_short_periods, begin, end)
{
    static const double refresh[GT_ENERGY_DEVICES] = {0.1, 0.1, 0.1};
    begin_with(GT_IDLE_EXCLUDE, 8);
    gt_attribution_refresh(&attribution, refresh);
    for (int step = 1; step <= 600; step++) {
        double time = step * 0.01, counted = floor(time * 10 + 1e-6) / 10, busy = floor(fmax(0, time - 3) * 800) / 100;
        double joules = 20 * counted + 80 * fmax(0, counted - 3);
        cpu(time, floor(joules * 10 + 1e-6) / 10, busy, busy);
    }
    assert_close(attribution.cpu.idle.watts, 20, 1);
    assert_close(attribution.energy[GT_ENERGY_CPU].idle, 6 * 20, 8);
    assert_close(attribution.energy[GT_ENERGY_CPU].job, 3 * 80, 8);
}

/* Eight boards, 25 processes each, of which two are ours; random loads and powers. */
TEST_OF_BOARD(eight_gpus_and_two_hundred_processes_add_up)
{
    enum { BOARDS = 8, EACH = 25 };
    double joules[BOARDS] = {0}, truth = 0;
    add_devices(board, BOARDS);
    srand(7);
    for (int step = 1; step <= 500; step++) {
        for (int device = 0; device < BOARDS; device++) {
            double load[EACH], sum = 0, drawn = 70 + rand() % 600;
            for (int i = 0; i < EACH; i++)
                sum += load[i] = (1 + rand() % 100) / 10000.0;
            for (int i = 0; i < EACH; i++)
                use(board, device, i < 2 ? OURS + i : STRANGER + device * EACH + i, load[i]);
            joules[device] += drawn;
            truth += drawn * (load[0] + load[1]) / sum;
            set_energy(board, device, joules[device], fmin(1, sum));
        }
        gpus(board, step);
    }
    const struct gt_energy *energy = &attribution.energy[GT_ENERGY_GPU];
    double all = 0;
    for (int device = 0; device < BOARDS; device++)
        all += joules[device];
    assert_close(sum_of_parts(energy), all, 1e-9 * all);
    assert_close(energy->total, all, 1e-9 * all);
    assert_close(energy->job, truth, 1e-9 * truth);
}
