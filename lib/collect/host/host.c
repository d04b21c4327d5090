/* The collector "host": memory, swap and CPU time of the whole machine.
 *
 * System RAM is MemTotal less what is free, buffers, page cache and reclaimable slab, as psutil 5.9 and 6.1 define `used`, which
 * is what the original gpu_tracker reports. It leaves tmpfs and shared anonymous memory out, for the kernel counts them as page
 * cache. In a container whose figures do not fit together it is MemTotal less what is free. */
#include "collect/host/host.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/grow.h"
#include "base/number.h"
#include "collect/collector.h"

/* Busy CPU time of the machine, and where the snapshot has packages, of each of them, from one reading of /proc/stat.
 *
 * A CPU that goes offline loses its line, and keeps its counter: what it had used until then is counted when it is back. One
 * that is new counts from its first reading on. */

struct gt_cpu_stat {
    struct gt_topology *topology;
    const struct gt_root *root;
    int fd; /* negative errno: it cannot be read */
    char *text;
    size_t size;
    double *last; /* of each CPU, seconds; NaN: not seen yet */
    size_t cpu_capacity;
    double busy[GT_PACKAGES]; /* seconds since opening */
    int cpus[GT_PACKAGES];    /* online at the last reading */
};

enum { FIRST_LINE = 256, MOST_TEXT = 1 << 24 };

/* "user nice system idle iowait irq softirq steal guest guest_nice": guest time is part of user and nice. Seconds. */
static double busy_time(const char *fields)
{
    enum { USER, NICE, SYSTEM, IDLE, WAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
    unsigned long long field[FIELDS] = {0};
    int count = 0;
    for (const char *end = fields; count < FIELDS; fields = end, count++) {
        field[count] = gt_number_next(&end);
        if (end == fields)
            break;
    }
    if (count <= IDLE)
        return NAN;
    unsigned long long busy = field[USER] + field[NICE] + field[SYSTEM] + field[IRQ] + field[SOFTIRQ] + field[STEAL];
    return (double)busy / (double)sysconf(_SC_CLK_TCK);
}

/* The lines of CPUs come first: all of them are there when another one follows. */
static bool has_all_cpus(const char *text)
{
    const char *line = text;
    while (line && !strncmp(line, "cpu", 3)) {
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return line && *line;
}

static bool read_text(struct gt_cpu_stat *stat)
{
    ssize_t length = gt_root_reread_piece(stat->fd, stat->text, stat->size);
    while (length == (ssize_t)stat->size - 1 && !has_all_cpus(stat->text) && stat->size < MOST_TEXT) {
        if (GT_GROW_TO(stat->text, stat->size, stat->size * 2) < 0)
            return false;
        length = gt_root_reread_piece(stat->fd, stat->text, stat->size);
    }
    return length > 0;
}

/* The package of the CPU, or what gt_package_learn has instead. */
static int count_cpu(struct gt_cpu_stat *stat, int cpu, double busy)
{
    int package = gt_package_learn(stat->topology, stat->root, cpu);
    size_t before = stat->cpu_capacity;
    if (package < 0 || isnan(busy))
        return package;
    if (GT_GROW_TO(stat->last, stat->cpu_capacity, (size_t)cpu + 1) < 0)
        return -ENOMEM;
    for (size_t i = before; i < stat->cpu_capacity; i++)
        stat->last[i] = NAN;
    stat->cpus[package]++;
    if (busy > stat->last[cpu])
        stat->busy[package] += busy - stat->last[cpu];
    stat->last[cpu] = busy;
    return package;
}

/* False: it is not known on which package a CPU is. */
static bool count_cpus(struct gt_cpu_stat *stat)
{
    bool is_whole = true;
    memset(stat->cpus, 0, sizeof stat->cpus);
    for (const char *line = strchr(stat->text, '\n'); line && !strncmp(line + 1, "cpu", 3);
         line = strchr(line + 1, '\n')) {
        char *end;
        int cpu = (int)strtol(line + 4, &end, 10);
        is_whole &= count_cpu(stat, cpu, busy_time(end)) >= 0;
    }
    return is_whole;
}

/* Forgets the snapshot's packages where it is not known on which every CPU is. -ENOMEM. */
static int cpu_stat_open(struct gt_cpu_stat *stat, const struct gt_collect_options *options,
                         struct gt_snapshot *snapshot)
{
    *stat = (struct gt_cpu_stat){
        .root = options->root, .topology = options->topology, .size = snapshot->package_count ? 16384 : FIRST_LINE};
    stat->fd = gt_root_open_file(options->root, "proc/stat");
    stat->text = malloc(stat->size);
    if (!stat->text)
        return -ENOMEM;
    if (!snapshot->package_count)
        return 0;
    bool is_whole = stat->fd >= 0 && read_text(stat) && count_cpus(stat);
    for (size_t i = 0; i < snapshot->package_count; i++)
        is_whole &= stat->cpus[i] > 0;
    if (is_whole)
        return 0;
    gt_packages_forget(snapshot, stat->topology, "the system does not tell on which package each CPU is");
    stat->size = FIRST_LINE;
    return 0;
}

/* Seconds since the machine started, NaN without. Counts the packages' time as well. */
static double cpu_stat_read(struct gt_cpu_stat *stat, struct gt_snapshot *snapshot)
{
    bool is_read = stat->fd >= 0 &&
                   (snapshot->package_count ? read_text(stat)
                                            : gt_root_reread_piece(stat->fd, stat->text, stat->size) > 0);
    if (is_read && snapshot->package_count)
        count_cpus(stat);
    return is_read && !strncmp(stat->text, "cpu ", 4) ? busy_time(stat->text + 4) : NAN;
}

/* The kernel counts CPU time of the machine in clock ticks: faster readings would have nothing new, and cost a third of a fast
 * sample. */
static const int64_t PERIOD_NS = GT_SECOND / 50 - GT_SECOND / 500;

struct state {
    int meminfo;
    struct gt_cpu_stat stat;
    double cpu_at_open;
    int64_t read_ns; /* last reading; 0: none */
    double last[GT_METRIC_COUNT];
};

/* "Name:   123 kB" as bytes; NaN when there is no such line. */
static double meminfo_bytes(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL)
        if (!strncmp(line, name, length) && line[length] == ':') {
            line += length + 1;
            return 1024.0 * (double)gt_number_next(&line);
        }
    return NAN;
}

static void read_memory(struct state *state)
{
    char text[8192];
    if (state->meminfo < 0 || gt_root_reread_piece(state->meminfo, text, sizeof text) <= 0)
        return;
    double total = meminfo_bytes(text, "MemTotal"), unused = meminfo_bytes(text, "MemFree");
    double reclaimable = meminfo_bytes(text, "SReclaimable");
    double cached = meminfo_bytes(text, "Cached") + (isnan(reclaimable) ? 0 : reclaimable);
    double used = total - unused - meminfo_bytes(text, "Buffers") - cached;
    state->last[GT_RAM] = used < 0 ? total - unused : used;
    state->last[GT_SWAP] = meminfo_bytes(text, "SwapTotal") - meminfo_bytes(text, "SwapFree");
}

static void host_close(void *opaque)
{
    struct state *state = opaque;
    gt_close_fd(state->meminfo);
    gt_close_fd(state->stat.fd);
    free(state->stat.text);
    free(state->stat.last);
}

static int host_open(void *opaque, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                     struct gt_availability *availability, struct gt_error *error)
{
    (void)error;
    struct state *state = opaque;
    gt_values_clear(state->last);
    state->meminfo = gt_root_open_file(options->root, "proc/meminfo");
    if (cpu_stat_open(&state->stat, options, snapshot) < 0)
        return -ENOMEM;
    state->cpu_at_open = cpu_stat_read(&state->stat, snapshot);
    if (state->meminfo < 0 && state->stat.fd < 0) {
        bool is_denied = state->meminfo == -EACCES;
        gt_unavailable(availability, is_denied ? GT_DENIED : GT_ABSENT, NULL, "/proc/meminfo %s",
                       is_denied ? "may not be read" : "is not there");
    }
    return 0;
}

static int host_collect(void *opaque, struct gt_snapshot *snapshot, struct gt_error *error)
{
    (void)error;
    struct state *state = opaque;
    if (!state->read_ns || snapshot->monotonic_ns - state->read_ns >= PERIOD_NS) {
        state->read_ns = snapshot->monotonic_ns;
        read_memory(state);
        state->last[GT_CPU_TIME] = cpu_stat_read(&state->stat, snapshot) - state->cpu_at_open;
    }
    for (size_t i = 0; i < snapshot->package_count; i++) {
        snapshot->package[i].cpus = state->stat.cpus[i];
        snapshot->package[i].value[GT_CPU_TIME] = state->stat.busy[i];
    }
    snapshot->system[GT_RAM] = state->last[GT_RAM];
    snapshot->system[GT_SWAP] = state->last[GT_SWAP];
    snapshot->system[GT_CPU_TIME] = state->last[GT_CPU_TIME];
    return 0;
}

static const struct gt_origin origins[] = {
    {GT_RAM, GT_SAMPLED, "/proc/meminfo", "memory in use on the whole machine"},
    {GT_SWAP, GT_SAMPLED, "/proc/meminfo", ""},
    {GT_CPU_TIME, GT_EXACT, "/proc/stat", "in steps of a clock tick"},
    {GT_CPU_UTILIZATION, GT_DERIVED, "/proc/stat", "busy time of an interval over its length"},
};

const struct gt_collector_type gt_collector_host = {
    .name = "host",
    .help = "memory, swap and CPU time of the whole machine",
    .source = "/proc/meminfo, /proc/stat",
    .state_size = sizeof(struct state),
    .origins = origins,
    .origin_count = sizeof origins / sizeof *origins,
    .is_of_machine = true,
    .open = host_open,
    .collect = host_collect,
    .close = host_close,
};

/* ---- Pressure ------------------------------------------------------------------------------------------------------ */

/* The collector "pressure": how long tasks waited for CPU, memory and storage, on the whole machine.
 * Source: Documentation/accounting/psi.rst in the kernel's sources; totals are microseconds. */

/* `full` is meaningless for the CPU of a whole machine: some task always runs there. */
static const struct resource {
    const char *path;
    enum gt_metric_id some, full;
} resources[] = {
    {"proc/pressure/cpu", GT_PRESSURE_CPU, GT_METRIC_COUNT},
    {"proc/pressure/memory", GT_PRESSURE_MEMORY, GT_PRESSURE_MEMORY_FULL},
    {"proc/pressure/io", GT_PRESSURE_IO, GT_PRESSURE_IO_FULL},
};

enum { RESOURCES = sizeof resources / sizeof *resources };

struct pressure {
    int fd[RESOURCES];
    const struct gt_clock *clock;
    int64_t read_ns;
    double at_open[GT_METRIC_COUNT], latest[GT_METRIC_COUNT];
};

/* Seconds from the line "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345". */
static double total(const char *text, const char *kind)
{
    const char *line = strstr(text, kind), *number = line ? strstr(line, "total=") : NULL;
    return number ? (double)strtoull(number + strlen("total="), NULL, 10) / 1e6 : NAN;
}

/* A machine started with psi=0 has the files, and reading them fails. */
static int read_totals(const struct pressure *state, double *values)
{
    int result = -ENOENT;
    for (int i = 0; i < RESOURCES; i++) {
        char text[256];
        ssize_t length = state->fd[i] < 0 ? state->fd[i] : gt_root_reread_piece(state->fd[i], text, sizeof text);
        if (length > 0) {
            values[resources[i].some] = total(text, "some ");
            if (resources[i].full != GT_METRIC_COUNT)
                values[resources[i].full] = total(text, "full ");
            result = 0;
        } else if (result < 0) {
            result = (int)length;
        }
    }
    return result;
}

static void pressure_close(void *opaque)
{
    struct pressure *state = opaque;
    for (int i = 0; i < RESOURCES; i++)
        gt_close_fd(state->fd[i]);
}

static int pressure_open(void *opaque, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                         struct gt_availability *availability, struct gt_error *error)
{
    (void)snapshot, (void)error;
    struct pressure *state = opaque;
    for (int i = 0; i < RESOURCES; i++)
        state->fd[i] = gt_root_open_file(options->root, resources[i].path);
    state->clock = options->clock;
    state->read_ns = INT64_MIN / 2;
    gt_values_clear(state->at_open);
    int result = read_totals(state, state->at_open);
    if (result == -EOPNOTSUPP)
        return gt_unavailable(availability, GT_ABSENT, NULL,
                              "switched off; psi=1 on the kernel's command line enables it");
    if (result == -EACCES || result == -EPERM)
        return gt_unavailable(availability, GT_DENIED, NULL, "/proc/pressure may not be read");
    return result < 0 ? gt_unavailable(availability, GT_ABSENT, NULL, "this kernel has no /proc/pressure") : 0;
}

static int pressure_collect(void *opaque, struct gt_snapshot *snapshot, struct gt_error *error)
{
    (void)error;
    struct pressure *state = opaque;
    int64_t now = gt_clock_monotonic(state->clock);
    if (snapshot->is_last || now - state->read_ns >= GT_COLLECT_SLOW_NS) {
        gt_values_clear(state->latest);
        read_totals(state, state->latest);
        state->read_ns = now;
    }
    for (int id = GT_PRESSURE_CPU; id <= GT_PRESSURE_IO_FULL; id++)
        snapshot->system[id] = state->latest[id] - state->at_open[id];
    return 0;
}

static const struct gt_origin pressure_origins[] = {
    {GT_PRESSURE_CPU, GT_EXACT, "/proc/pressure/cpu", "of the whole machine; rows read it once a second"},
    {GT_PRESSURE_MEMORY, GT_EXACT, "/proc/pressure/memory", "of the whole machine; rows read it once a second"},
    {GT_PRESSURE_MEMORY_FULL, GT_EXACT, "/proc/pressure/memory", "of the whole machine; rows read it once a second"},
    {GT_PRESSURE_IO, GT_EXACT, "/proc/pressure/io", "of the whole machine; rows read it once a second"},
    {GT_PRESSURE_IO_FULL, GT_EXACT, "/proc/pressure/io", "of the whole machine; rows read it once a second"},
};

const struct gt_collector_type gt_collector_pressure = {
    .name = "pressure",
    .help = "time in which tasks waited for CPU, memory or storage, on the whole machine",
    .source = "/proc/pressure",
    .refresh = 1,
    .state_size = sizeof(struct pressure),
    .origins = pressure_origins,
    .origin_count = sizeof pressure_origins / sizeof *pressure_origins,
    .open = pressure_open,
    .collect = pressure_collect,
    .close = pressure_close,
    .lags = true,
};

/* ---- Network --------------------------------------------------------------------------------------------------------- */

/* The collector "network": bytes through the network namespace of the main process, loopback left out.
 *
 * Everything in the namespace counts, whoever sent it: on a machine without containers that is the whole machine. So these are no
 * figures of the job. The kept descriptor stays with
 * the namespace when the process ends. An interface that goes away keeps what it had counted while it was seen. */

enum { NAME_BYTES = 16, TEXT_BYTES = 65536 };

struct interface {
    char name[NAME_BYTES];
    unsigned long long received, sent; /* as last read */
};

struct network {
    int fd;
    bool is_open; /* counts since open: the first reading is the base */
    double received, sent;
    const struct gt_clock *clock;
    int64_t read_ns;
    struct interface *interface;
    size_t count, capacity;
    char text[TEXT_BYTES];
};

static struct interface *find_interface(struct network *state, const char *name, size_t length)
{
    for (size_t i = 0; i < state->count; i++)
        if (strlen(state->interface[i].name) == length && !memcmp(state->interface[i].name, name, length))
            return &state->interface[i];
    struct interface *added = GT_GROW_LIST(state, interface);
    if (!added)
        return NULL;
    *added = (struct interface){0};
    memcpy(added->name, name, length);
    return added;
}

/* A counter below its last value began anew: the interface was removed and made again. */
static double advance(unsigned long long *last, unsigned long long now)
{
    unsigned long long more = now >= *last ? now - *last : now;
    *last = now;
    return (double)more;
}

static bool read_bytes(const char *fields, unsigned long long *received, unsigned long long *sent)
{
    enum { RECEIVED, SENT = 8, FIELDS };
    unsigned long long field[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        const char *end = fields;
        field[i] = gt_number_next(&end);
        if (end == fields)
            return false;
        fields = end;
    }
    *received = field[RECEIVED];
    *sent = field[SENT];
    return true;
}

/* Lines "  eth0: BYTES PACKETS ... (8 of receiving) BYTES ..." after two lines of headings. */
static void add_line(struct network *state, const char *line)
{
    line += strspn(line, " ");
    const char *colon = strchr(line, ':');
    size_t length = colon ? (size_t)(colon - line) : 0;
    unsigned long long received, sent;
    if (!length || length >= NAME_BYTES || (length == 2 && !memcmp(line, "lo", 2)) ||
        !read_bytes(colon + 1, &received, &sent))
        return;
    struct interface *interface = find_interface(state, line, length);
    if (!interface)
        return;
    double more_received = advance(&interface->received, received), more_sent = advance(&interface->sent, sent);
    if (state->is_open) {
        state->received += more_received;
        state->sent += more_sent;
    }
}

static int read_interfaces(struct network *state)
{
    ssize_t length = gt_root_reread(state->fd, state->text, sizeof state->text);
    if (length <= 0)
        return length < 0 ? (int)length : -ENODATA;
    char *save;
    for (char *line = strtok_r(state->text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        add_line(state, line);
    state->is_open = true;
    return 0;
}

static void network_close(void *opaque)
{
    struct network *state = opaque;
    gt_close_fd(state->fd);
    free(state->interface);
}

static int network_open(void *opaque, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                        struct gt_availability *availability, struct gt_error *error)
{
    (void)snapshot, (void)error;
    struct network *state = opaque;
    char path[64] = "proc/self/net/dev";
    if (options->pid)
        snprintf(path, sizeof path, "proc/%d/net/dev", (int)options->pid);
    state->clock = options->clock;
    state->read_ns = INT64_MIN / 2;
    state->fd = gt_root_open_file(options->root, path);
    int result = state->fd < 0 ? state->fd : read_interfaces(state);
    if (result < 0) {
        bool is_denied = result == -EACCES || result == -EPERM;
        gt_unavailable(availability, is_denied ? GT_DENIED : GT_ABSENT, NULL, "/%s %s", path,
                       is_denied ? "may not be read" : "is not there");
    }
    return 0;
}

static int network_collect(void *opaque, struct gt_snapshot *snapshot, struct gt_error *error)
{
    (void)error;
    struct network *state = opaque;
    int64_t now = gt_clock_monotonic(state->clock);
    if (snapshot->is_last || now - state->read_ns >= GT_COLLECT_SLOW_NS) {
        if (read_interfaces(state) < 0)
            return 0;
        state->read_ns = now;
    }
    snapshot->system[GT_NETWORK_NAMESPACE_RECEIVED] = state->received;
    snapshot->system[GT_NETWORK_NAMESPACE_SENT] = state->sent;
    return 0;
}

static const struct gt_origin network_origins[] = {
    {GT_NETWORK_NAMESPACE_RECEIVED, GT_EXACT, "/proc/PID/net/dev",
     "of the whole network namespace, not of the job alone; rows read it once a second"},
    {GT_NETWORK_NAMESPACE_SENT, GT_EXACT, "/proc/PID/net/dev",
     "of the whole network namespace, not of the job alone; rows read it once a second"},
};

const struct gt_collector_type gt_collector_network = {
    .name = "network",
    .help = "bytes through the whole network namespace of the main process",
    .source = "/proc/PID/net/dev",
    .refresh = 1,
    .state_size = sizeof(struct network),
    .origins = network_origins,
    .origin_count = sizeof network_origins / sizeof *network_origins,
    .open = network_open,
    .collect = network_collect,
    .close = network_close,
    .lags = true,
};

/* ---- Processor packages ------------------------------------------------------------------------------------------- */

enum { UNKNOWN = -1, MOST_CPUS = 1 << 16 };

int gt_packages_declare(struct gt_snapshot *snapshot, struct gt_topology *topology, const int *numbers, int count)
{
    gt_packages_release(snapshot, topology);
    snapshot->package = calloc((size_t)count, sizeof *snapshot->package);
    if (!snapshot->package)
        return -ENOMEM;
    snapshot->package_count = topology->package_count = (size_t)count;
    for (int i = 0; i < count; i++)
        snapshot->package[i].number = topology->number[i] = numbers[i];
    gt_packages_clear(snapshot);
    return 0;
}

void gt_packages_clear(struct gt_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->package_count; i++)
        gt_values_clear(snapshot->package[i].value);
}

void gt_packages_release(struct gt_snapshot *snapshot, struct gt_topology *topology)
{
    free(snapshot->package);
    snapshot->package = NULL;
    snapshot->package_count = topology->package_count = 0;
    free(topology->package_of_cpu);
    topology->package_of_cpu = NULL;
    topology->cpu_capacity = 0;
}

void gt_packages_forget(struct gt_snapshot *snapshot, struct gt_topology *topology, const char *why)
{
    gt_packages_release(snapshot, topology);
    snprintf(topology->why_no_packages, sizeof topology->why_no_packages, "%s", why);
}

int gt_package_of_cpu(const struct gt_topology *topology, int cpu)
{
    return cpu < 0 || (size_t)cpu >= topology->cpu_capacity ? UNKNOWN : topology->package_of_cpu[cpu];
}

int gt_package_number(const struct gt_root *root, int cpu)
{
    char path[128];
    unsigned long long number;
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    return gt_root_read_u64(root, path, &number) < 0 ? UNKNOWN : (int)number;
}

bool gt_packages_are_several(const struct gt_root *root)
{
    int first = gt_package_number(root, 0), number = first;
    for (int cpu = 1; cpu < MOST_CPUS && number == first && number != UNKNOWN; cpu++)
        number = gt_package_number(root, cpu);
    return number != first && number != UNKNOWN;
}

int gt_package_learn(struct gt_topology *topology, const struct gt_root *root, int cpu)
{
    if (cpu < 0 || cpu >= MOST_CPUS || gt_package_of_cpu(topology, cpu) != UNKNOWN)
        return gt_package_of_cpu(topology, cpu);
    int number = gt_package_number(root, cpu);
    if (number == UNKNOWN)
        return UNKNOWN;
    size_t before = topology->cpu_capacity;
    if (GT_GROW_TO(topology->package_of_cpu, topology->cpu_capacity, (size_t)cpu + 1) < 0)
        return -ENOMEM;
    memset(topology->package_of_cpu + before, UNKNOWN, topology->cpu_capacity - before);
    for (size_t i = 0; i < topology->package_count; i++)
        if (topology->number[i] == number)
            topology->package_of_cpu[cpu] = (signed char)i;
    return topology->package_of_cpu[cpu];
}

int gt_package_of_list(const struct gt_topology *topology, const char *list)
{
    int found = UNKNOWN;
    for (long first, last; gt_number_range_next(&list, &first, &last) > 0;) {
        for (long cpu = first; cpu <= last && cpu < MOST_CPUS; cpu++) {
            int package = gt_package_of_cpu(topology, (int)cpu);
            if (package != UNKNOWN && found != UNKNOWN && package != found)
                return UNKNOWN;
            found = package == UNKNOWN ? found : package;
        }
    }
    return found;
}

/* ---- Capacity ----------------------------------------------------------------------------------------------------- */

double gt_capacity_memory(const struct gt_root *root)
{
    char text[256]; /* MemTotal is the first line */
    return gt_root_read(root, "proc/meminfo", text, sizeof text) < 0 ? NAN : meminfo_bytes(text, "MemTotal");
}

int gt_capacity_list_length(const char *list)
{
    int count = 0;
    for (long first, last; gt_number_range_next(&list, &first, &last) > 0;)
        count += last >= first ? (int)(last - first + 1) : 0;
    return count;
}

int gt_capacity_cores(const struct gt_root *root)
{
    char text[4096];
    if (gt_root_read(root, "sys/devices/system/cpu/online", text, sizeof text) > 0)
        return gt_capacity_list_length(text);
    static char const line[] = "\ncpu";
    char *stat = gt_root_text(root, "proc/stat");
    int count = 0;
    for (const char *at = stat ? strstr(stat, line) : NULL; at; at = strstr(at + 1, line))
        count += at[sizeof line - 1] >= '0' && at[sizeof line - 1] <= '9';
    free(stat);
    return count;
}

/* ---- Temperatures ------------------------------------------------------------------------------------------------- */

static const char directory[] = "sys/class/hwmon";

enum { MOST_DEVICES = 256, MOST_SENSORS = 256 }; /* of a device */

static ssize_t read_sensor_text(const struct gt_root *root, int device, const char *file, char *text, size_t size)
{
    return gt_root_read_line(root, text, size, "%s/hwmon%d/%s", directory, device, file);
}

static double read_degrees(const struct gt_root *root, int device, int sensor, const char *what)
{
    char file[32], text[32], *end;
    snprintf(file, sizeof file, "temp%d_%s", sensor, what);
    if (read_sensor_text(root, device, file, text, sizeof text) <= 0)
        return NAN;
    double degrees = (double)strtoll(text, &end, 10) / 1000;
    return end == text ? NAN : degrees;
}

/* The numbers in names like "hwmon12" or "temp3_input", in order. */
static size_t list_numbers(const struct gt_root *root, const char *path, const char *format, int *numbers, size_t most)
{
    size_t count = 0;
    int number, length;
    DIR *listing = gt_root_list(root, path);
    if (!listing)
        return 0;
    for (struct dirent *entry; (entry = readdir(listing)) && count < most;) {
        length = -1;
        if (sscanf(entry->d_name, format, &number, &length) == 1 && length == (int)strlen(entry->d_name))
            numbers[count++] = number;
    }
    closedir(listing);
    qsort(numbers, count, sizeof *numbers, gt_order_ints);
    return count;
}

static size_t read_device(const struct gt_root *root, int device, struct gt_temperature *list, size_t most)
{
    char path[64], file[32];
    int sensor[MOST_SENSORS];
    size_t kept = 0;
    snprintf(path, sizeof path, "%s/hwmon%d", directory, device);
    size_t count = list_numbers(root, path, "temp%d_input%n", sensor, MOST_SENSORS);
    for (size_t i = 0; i < count && kept < most; i++) {
        struct gt_temperature *found = &list[kept];
        found->current = read_degrees(root, device, sensor[i], "input");
        if (isnan(found->current) || read_sensor_text(root, device, "name", found->chip, sizeof found->chip) <= 0)
            continue;
        snprintf(file, sizeof file, "temp%d_label", sensor[i]);
        read_sensor_text(root, device, file, found->label, sizeof found->label);
        found->high = read_degrees(root, device, sensor[i], "max");
        found->critical = read_degrees(root, device, sensor[i], "crit");
        kept++;
    }
    return kept;
}

size_t gt_temperatures_read(const struct gt_root *root, struct gt_temperature *list, size_t most)
{
    int device[MOST_DEVICES];
    size_t kept = 0, count = list_numbers(root, directory, "hwmon%d%n", device, MOST_DEVICES);
    for (size_t i = 0; i < count; i++)
        kept += read_device(root, device[i], list + kept, most - kept);
    return kept;
}
