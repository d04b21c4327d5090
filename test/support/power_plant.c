#include "support/power_plant.h"

#include "base/buffer.h"
#include "support/fake_proc.h"
#include "support/test.h"

static const double SLOT = 0.1, TICK = 0.01;                  /* seconds */
static const double DRAM = 12, GPU_IDLE = 50, GPU_FULL = 250; /* watts */
static const double UNTOLD[2] = {0.6, 0.4};                   /* of what the processors draw together */
/* Watts of each package; the first are those of the processors that count as one. */
static const double CPU_IDLE[4] = {40, 25, 20, 10}, CPU_CORE[4] = {3, 4.5, 2, 6};
static const unsigned long long RANGE = 262143328; /* microjoules: 262 J, about three seconds */
static const unsigned long RESIDENT_PAGES = 10000;
static const int QUIET = 20; /* slots in which nothing runs */

static enum plant_layout layout;
static int packages; /* that are told apart; 1: none */
static int mains;    /* of the job */

/* ---- the script ---- */

/* A tenth of the job's processes ends in the middle of a second. */
static int end_slot(int process)
{
    bool ends = process > 10 && process < PLANT_JOB && process % 10 == 3;
    return ends ? 100 + 4 * process + 5 : PLANT_SLOTS + 1;
}

bool plant_lives(int process, double second)
{
    return second * 10 < end_slot(process);
}

/* Ticks of CPU time that a process uses in a slot, 0 to 5: any fixed numbers would do. */
static unsigned load(int process, int slot)
{
    uint32_t mixed = (uint32_t)process * 2654435761u ^ (uint32_t)slot * 40503u;
    mixed ^= mixed >> 13;
    mixed *= 1274126177u;
    return slot < QUIET || slot >= end_slot(process) ? 0 : (mixed >> 16) % 6;
}

static bool is_bound(int process)
{
    return layout == PLANT_APART || process % 3 == 0;
}

/* The package on which a process is in a slot. */
static int place_of(int process, int slot)
{
    if (layout == PLANT_APART)
        return process < PLANT_JOB ? 0 : 1 + process % (packages - 1);
    bool moves = layout == PLANT_MIGRATING && process % 3 == 1;
    return (process / 3 + (moves ? (slot + 7 * process) / 37 : 0)) % packages;
}

/* Boards 0 to 3 belong to the job alone, 4 and 5 are shared, 6 is a stranger's, 7 is idle. On board 5 the job's process ends. */
static const struct user {
    int board, process;
    double from, until;
    unsigned percent;
} users[] = {
    {0, 0, 2, 50, 90},   {1, 1, 2, 50, 40},   {2, 2, 2, 50, 100},  {3, 4, 2, 50, 10},   {4, 5, 2, 50, 45},
    {4, 120, 2, 50, 30}, {5, 6, 2, 30.5, 45}, {5, 121, 2, 50, 45}, {6, 122, 2, 50, 80},
};
enum { USERS = sizeof users / sizeof *users };

static bool is_on(const struct user *user, int board, double second)
{
    return user->board == board && second >= user->from && second < user->until;
}

/* ---- the truth ---- */

struct share {
    double total, job, other, idle;
};

/* Of the job, and of all; every truth is made of them. */
static double job_ticks[4][PLANT_SLOTS], all_ticks[4][PLANT_SLOTS];

static void count_ticks(void)
{
    memset(job_ticks, 0, sizeof job_ticks);
    memset(all_ticks, 0, sizeof all_ticks);
    for (int slot = 0; slot < PLANT_SLOTS; slot++)
        for (int process = 0; process < PLANT_PROCESSES; process++) {
            int package = place_of(process, slot);
            all_ticks[package][slot] += load(process, slot);
            job_ticks[package][slot] += process < PLANT_JOB ? load(process, slot) : 0;
        }
}

static struct share divide(enum gt_idle_policy policy, double idle, double active, double ratio, bool is_used,
                           bool is_ours)
{
    struct share share = {.total = idle + active, .job = active * ratio, .other = active * (1 - ratio)};
    if (policy == GT_IDLE_SHARE && is_used) {
        share.job += idle * ratio;
        share.other += idle * (1 - ratio);
    } else if (policy == GT_IDLE_ALL && (is_ours || !is_used)) {
        share.job += idle;
    } else {
        share.idle = idle;
    }
    return share;
}

/* Watts in a slot. */
static struct share package_in(enum gt_idle_policy policy, int package, int slot)
{
    double job = job_ticks[package][slot], busy = all_ticks[package][slot];
    return divide(policy, CPU_IDLE[package], CPU_CORE[package] * busy * TICK / SLOT, busy > 0 ? job / busy : 0,
                  busy > 0, true);
}

static void add_share(struct share *sum, struct share part)
{
    sum->total += part.total;
    sum->job += part.job;
    sum->other += part.other;
    sum->idle += part.idle;
}

static struct share dram_in(int slot)
{
    double job = 0;
    for (int process = 0; process < PLANT_JOB; process++)
        job += slot < end_slot(process);
    double ratio = job / (2 * PLANT_PROCESSES);
    return (struct share){.total = DRAM, .job = DRAM * ratio, .other = DRAM * (1 - ratio)};
}

static struct share gpu_in(enum gt_idle_policy policy, int board, int slot)
{
    double job = 0, all = 0;
    for (int i = 0; i < USERS; i++)
        if (is_on(&users[i], board, slot * SLOT + SLOT / 2)) {
            all += users[i].percent / 100.0;
            job += users[i].process < PLANT_JOB ? users[i].percent / 100.0 : 0;
        }
    return divide(policy, GPU_IDLE, GPU_FULL * all, all > 0 ? job / all : 0, all > 0, job > 0);
}

static struct share watts(enum gt_energy_device device, enum gt_idle_policy policy, int slot)
{
    struct share sum = {0};
    if (device == GT_ENERGY_DRAM)
        return dram_in(slot);
    for (int package = 0; package < packages && device == GT_ENERGY_CPU; package++)
        add_share(&sum, package_in(policy, package, slot));
    for (int board = 0; board < PLANT_GPUS && device == GT_ENERGY_GPU; board++)
        add_share(&sum, gpu_in(policy, board, slot));
    return sum;
}

/* The part of a slot that lies before `second`, seconds. */
static double part_of(int slot, double second)
{
    return fmin(SLOT, fmax(0, second - slot * SLOT));
}

static void add_slot(struct gt_energy *energy, struct share share, double seconds)
{
    energy->total += share.total * seconds;
    energy->job += share.job * seconds;
    energy->other += share.other * seconds;
    energy->idle += share.idle * seconds;
}

struct gt_energy plant_truth(enum gt_energy_device device, enum gt_idle_policy policy, double second)
{
    struct gt_energy energy = {.is_measured = true};
    for (int slot = 0; slot < PLANT_SLOTS && slot * SLOT < second; slot++)
        add_slot(&energy, watts(device, policy, slot), part_of(slot, second));
    return energy;
}

struct gt_energy plant_package_truth(int package, enum gt_idle_policy policy, double second)
{
    struct gt_energy energy = {.is_measured = true};
    for (int slot = 0; slot < PLANT_SLOTS && slot * SLOT < second; slot++)
        add_slot(&energy, package_in(policy, package, slot), part_of(slot, second));
    return energy;
}

double plant_truth_of(int process, double second)
{
    double joules = 0;
    for (int slot = 0; slot < PLANT_SLOTS && slot * SLOT < second; slot++) {
        int package = place_of(process, slot);
        double busy = all_ticks[package][slot];
        if (busy > 0)
            joules += package_in(GT_IDLE_SHARE, package, slot).total * part_of(slot, second) * load(process, slot) /
                      busy;
    }
    return joules;
}

double plant_cpu_seconds(int process, double second)
{
    double seconds = 0;
    for (int slot = 0; slot < PLANT_SLOTS && slot * SLOT < second; slot++)
        seconds += load(process, slot) * TICK * part_of(slot, second) / SLOT;
    return seconds;
}

/* ---- the machine's files ---- */

static void write_zone(struct power_plant *plant, const char *zone, const char *name, double joules)
{
    char path[96];
    snprintf(path, sizeof path, "sys/class/powercap/%s/energy_uj", zone);
    gpu_machine_file(&plant->machine, path, "%llu\n", (unsigned long long)(joules * 1e6 + 200e6) % RANGE);
    if (plant->second > 0)
        return;
    snprintf(path, sizeof path, "sys/class/powercap/%s/name", zone);
    gpu_machine_file(&plant->machine, path, "%s\n", name);
    snprintf(path, sizeof path, "sys/class/powercap/%s/max_energy_range_uj", zone);
    gpu_machine_file(&plant->machine, path, "%llu\n", RANGE);
}

static double package_joules(const struct power_plant *plant, int package)
{
    if (layout == PLANT_UNTOLD)
        return UNTOLD[package] * plant_truth(GT_ENERGY_CPU, GT_IDLE_SHARE, plant->second).total;
    return plant_package_truth(package, GT_IDLE_SHARE, plant->second).total;
}

static void write_counters(struct power_plant *plant)
{
    int count = layout == PLANT_UNTOLD ? 2 : packages;
    double dram = plant_truth(GT_ENERGY_DRAM, GT_IDLE_SHARE, plant->second).total;
    for (int package = 0; package < count; package++) {
        char zone[32], name[32];
        snprintf(zone, sizeof zone, "intel-rapl:%d", package);
        snprintf(name, sizeof name, "package-%d", package);
        write_zone(plant, zone, name, package_joules(plant, package));
        snprintf(zone, sizeof zone, "intel-rapl:%d:0", package);
        write_zone(plant, zone, "dram", dram / count);
    }
}

/* The first and the last CPU of a package have all of its busy time between them; CPUs are numbered around the packages. */
static int cpu_of(int package, bool is_last)
{
    return is_last ? PLANT_CORES - packages + package : package;
}

static void write_topology(struct power_plant *plant)
{
    for (int cpu = 0; cpu < PLANT_CORES && layout != PLANT_UNTOLD; cpu++) {
        char path[96];
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
        gpu_machine_file(&plant->machine, path, "%d\n", cpu % packages);
    }
}

static void write_stat(struct power_plant *plant)
{
    struct gt_buffer text = {0};
    gt_buffer_printf(&text, "cpu  %llu 0 0 %llu 0 0 0 0 0 0\n", plant->busy_ticks,
                     (unsigned long long)plant->second * PLANT_CORES * 100 - plant->busy_ticks);
    for (int cpu = 0; cpu < PLANT_CORES && layout != PLANT_UNTOLD; cpu++) {
        unsigned long long ticks = plant->package_ticks[cpu % packages];
        unsigned long long part = cpu == cpu_of(cpu % packages, false)  ? ticks / 3
                                  : cpu == cpu_of(cpu % packages, true) ? ticks - ticks / 3
                                                                        : 0;
        gt_buffer_printf(&text, "cpu%d 0 0 %llu %d 0 0 0 0 0 0\n", cpu, part, plant->second * 100);
    }
    gt_buffer_printf(&text, "intr 12345 0 0\n");
    gpu_machine_file(&plant->machine, "proc/stat", "%s", text.data);
    gt_buffer_release(&text);
}

/* Who has ended is waited for by its main process, which then has its CPU time. */
static unsigned long reaped_ticks(const struct power_plant *plant, int main)
{
    unsigned long ticks = 0;
    for (int process = main + mains; process < PLANT_JOB; process += mains)
        ticks += plant_lives(process, plant->second) ? 0 : plant->ticks[process];
    return ticks;
}

static const char *allowed_of(int process, char text[16])
{
    if (layout == PLANT_UNTOLD)
        return NULL;
    int package = place_of(process, 0);
    if (is_bound(process))
        snprintf(text, 16, "%d,%d", cpu_of(package, false), cpu_of(package, true));
    else
        snprintf(text, 16, "0-%d", PLANT_CORES - 1);
    return text;
}

static void write_process(struct power_plant *plant, int process)
{
    pid_t pid = PLANT_FIRST + process;
    char allowed[16];
    int last_slot = plant->second ? plant->second * 10 - 1 : 0;
    if (!plant_lives(process, plant->second)) {
        if (plant_lives(process, plant->second - 1))
            fake_proc_remove(plant->machine.path, pid);
        return;
    }
    struct fake_process now = {
        .pid = pid,
        .parent = process >= mains && process < PLANT_JOB ? PLANT_FIRST + process % mains : 1,
        .start = (1ull << 50) + (unsigned)process,
        .cpu_ticks = plant->ticks[process],
        .reaped_cpu_ticks = process < mains ? reaped_ticks(plant, process) : 0,
        .resident_pages = RESIDENT_PAGES,
        .cpu = cpu_of(place_of(process, last_slot), process % 2),
        .allowed = allowed_of(process, allowed),
    };
    (plant->second ? fake_proc_run : fake_proc_write)(plant->machine.path, &now);
}

static void write_files(struct power_plant *plant)
{
    double used = 2.0 * PLANT_PROCESSES * RESIDENT_PAGES * 4;
    for (int process = 0; process < PLANT_PROCESSES; process++)
        write_process(plant, process);
    write_stat(plant);
    gpu_machine_file(&plant->machine, "proc/meminfo",
                     "MemTotal: %.0f kB\nMemFree: %.0f kB\nBuffers: 0 kB\nCached: 0 kB\nSReclaimable: 0 kB\n"
                     "SwapTotal: 0 kB\nSwapFree: 0 kB\n",
                     used * 4, used * 3);
    write_counters(plant);
}

/* ---- the driver's script ---- */

static double gpu_joules(int board, int second)
{
    double joules = 0;
    for (int slot = 0; slot < second * 10; slot++)
        joules += gpu_in(GT_IDLE_SHARE, board, slot).total * SLOT;
    return joules;
}

static void script_board(struct gt_buffer *script, const struct power_plant *plant, int board, int second)
{
    unsigned busy = 0, count = 0;
    gt_buffer_printf(script, "device %d\n", board);
    if (second == 0)
        gt_buffer_printf(script, "uuid GPU-%d\nname Plant\nmemory 80000000000 0 0\n", board);
    gt_buffer_printf(script, "energy %.0f\n", 1000 * (5000 + gpu_joules(board, second)));
    for (int i = 0; i < USERS; i++) {
        if (!is_on(&users[i], board, second))
            continue;
        pid_t pid = PLANT_FIRST + users[i].process;
        int64_t now_us = plant->machine.real_ns / 1000 + second * INT64_C(1000000);
        gt_buffer_printf(script, "process 0 %d 1000000000\nused %d %lld %u 0 0 0\n", pid, pid, (long long)now_us,
                         users[i].percent);
        busy += users[i].percent;
        count++;
    }
    gt_buffer_printf(script, "%sutilization %u 0\n", count ? "" : "process -\nused -\n", busy < 100 ? busy : 100);
}

static void write_script(struct power_plant *plant)
{
    struct gt_buffer script = {0};
    gt_buffer_printf(&script, "driver 550.54.15\n");
    for (int second = 0; second <= PLANT_SECONDS; second++) {
        if (second)
            gt_buffer_printf(&script, "frame\n");
        for (int board = 0; board < PLANT_GPUS; board++)
            script_board(&script, plant, board, second);
    }
    gpu_machine_library(&plant->machine, "nvml", "nvml", "GT_FAKE_NVML", script.data);
    gt_buffer_release(&script);
}

/* ---- time ---- */

void plant_begin_with(struct power_plant *plant, enum plant_layout how, int count)
{
    plant_begin_ranks(plant, how, count, 1);
}

void plant_begin_ranks(struct power_plant *plant, enum plant_layout how, int count, int main_count)
{
    mains = main_count;
    layout = how;
    packages = count;
    count_ticks();
    *plant = (struct power_plant){0};
    gpu_machine_begin(&plant->machine);
    gpu_machine_initial_namespace(&plant->machine);
    write_script(plant);
    write_topology(plant);
    write_files(plant);
}

void plant_step(struct power_plant *plant)
{
    for (int slot = plant->second * 10; slot < (plant->second + 1) * 10; slot++)
        for (int process = 0; process < PLANT_PROCESSES; process++) {
            plant->ticks[process] += load(process, slot);
            plant->busy_ticks += load(process, slot);
            plant->package_ticks[place_of(process, slot)] += load(process, slot);
        }
    plant->second++;
    plant->machine.real_ns += GT_SECOND;
    plant->machine.monotonic_ns += GT_SECOND;
    gpu_machine_step(&plant->machine, "nvml", plant->second);
    write_files(plant);
}

void plant_end(struct power_plant *plant)
{
    gpu_machine_end(&plant->machine);
}
