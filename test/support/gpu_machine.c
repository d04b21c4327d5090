#include "support/gpu_machine.h"

#include <dlfcn.h>
#include <ftw.h>
#include <sys/stat.h>

#include "collect/host/host.h"
#include "support/test.h"

static int64_t real(void *context)
{
    return ((struct gpu_machine *)context)->real_ns;
}

static int64_t monotonic(void *context)
{
    struct gpu_machine *machine = context;
    return machine->monotonic_ns += machine->call_ns;
}

void gpu_machine_begin(struct gpu_machine *machine)
{
    *machine = (struct gpu_machine){
        .path = "/dev/shm/gpu-machine-XXXXXX", .real_ns = 1700000000 * GT_SECOND, .monotonic_ns = 1000 * GT_SECOND};
    if (!mkdtemp(machine->path)) { /* files are written often: in memory where that can be */
        strcpy(machine->path, "/tmp/gpu-machine-XXXXXX");
        assert_non_null(mkdtemp(machine->path));
    }
    assert_int_equal(gt_root_open(&machine->root, machine->path, NULL), 0);
    machine->clock = (struct gt_clock){.real = real, .monotonic = monotonic, .context = machine};
    machine->options = (struct gt_collect_options){.root = &machine->root,
                                                   .clock = &machine->clock,
                                                   .topology = &machine->topology,
                                                   .pid = 1,
                                                   .period = 1,
                                                   .library = machine->libraries};
    machine->snapshot.process = machine->processes;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

void gpu_machine_end(struct gpu_machine *machine)
{
    if (machine->state)
        gt_collector_close(machine->type, machine->state);
    free(machine->snapshot.device);
    free(machine->snapshot.share);
    free(machine->snapshot.hwm);
    gt_packages_release(&machine->snapshot, &machine->topology);
    gt_root_close(&machine->root);
    assert_int_equal(nftw(machine->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

int gpu_machine_setup(void **state)
{
    static struct gpu_machine machine;
    gpu_machine_begin(&machine);
    *state = &machine;
    return 0;
}

int gpu_machine_teardown(void **state)
{
    gpu_machine_end(*state);
    return 0;
}

static void full_path(const struct gpu_machine *machine, const char *path, char text[512])
{
    snprintf(text, 512, "%s/%s", machine->path, path);
    for (char *at = text + strlen(machine->path) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(text, 0755);
        *at = '/';
    }
}

void gpu_machine_file(struct gpu_machine *machine, const char *path, const char *format, ...)
{
    char text[512];
    full_path(machine, path, text);
    FILE *file = fopen(text, "we");
    assert_non_null(file);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    assert_int_equal(fclose(file), 0);
}

void gpu_machine_link(struct gpu_machine *machine, const char *path, const char *target)
{
    char text[512];
    full_path(machine, path, text);
    unlink(text);
    assert_int_equal(symlink(target, text), 0);
}

void gpu_machine_remove(struct gpu_machine *machine, const char *path)
{
    char text[512];
    full_path(machine, path, text);
    assert_int_equal(unlink(text), 0);
}

void gpu_machine_process(struct gpu_machine *machine, pid_t pid)
{
    char path[64];
    size_t i = machine->snapshot.process_count++;
    assert_true(i < GPU_MACHINE_PROCESSES);
    machine->process[i] = (struct gt_process){.pid = pid, .start = (uint64_t)pid, .is_main = i == 0};
    machine->processes[i] = &machine->process[i];
    snprintf(path, sizeof path, "proc/%d/status", (int)pid);
    gpu_machine_file(machine, path, "Name:\tjob\nNSpid:\t%d\nThreads:\t1\n", (int)pid);
    snprintf(path, sizeof path, "proc/%d/fd/0", (int)pid);
    gpu_machine_link(machine, path, "/dev/null");
}

void gpu_machine_initial_namespace(struct gpu_machine *machine)
{
    gpu_machine_link(machine, "proc/self/ns/pid", "pid:[4026531836]");
}

static void library_path(const char *file, char text[500])
{
    snprintf(text, 500, "%s/fake/lib%s.so", TEST_BUILD_DIR, file);
}

void gpu_machine_library(struct gpu_machine *machine, const char *name, const char *file, const char *variable,
                         const char *data)
{
    char path[500], data_path[512];
    size_t i = 0;
    while (machine->libraries[i])
        i++;
    library_path(file, path);
    snprintf(machine->library_text[i], sizeof machine->library_text[i], "%s=%s", name, path);
    machine->libraries[i] = machine->library_text[i];
    gpu_machine_file(machine, variable, "%s", data);
    full_path(machine, variable, data_path);
    assert_int_equal(setenv(variable, data_path, 1), 0);
}

enum gt_source_state gpu_machine_open(struct gpu_machine *machine, const struct gt_collector_type *type)
{
    machine->type = type;
    assert_int_equal(gt_collector_open(type, &machine->state, &machine->options, &machine->snapshot,
                                       &machine->availability, &machine->error),
                     0);
    assert_int_equal(machine->state != NULL, machine->availability.state == GT_READY);
    return machine->availability.state;
}

void gpu_machine_step(const struct gpu_machine *machine, const char *file, int number)
{
    char path[500];
    (void)machine;
    library_path(file, path);
    void *handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(handle);
    void *address = dlsym(handle, "fake_frame");
    void (*step)(int);
    assert_non_null(address);
    memcpy(&step, &address, sizeof step);
    step(number);
    dlclose(handle);
}

int gpu_machine_collect(struct gpu_machine *machine, double seconds)
{
    machine->real_ns += (int64_t)(seconds * 1e9);
    machine->monotonic_ns += (int64_t)(seconds * 1e9);
    machine->snapshot.real_ns = machine->real_ns;
    machine->snapshot.share_count = machine->snapshot.hwm_count = 0;
    machine->error = (struct gt_error){0};
    for (size_t i = 0; i < machine->snapshot.device_count; i++)
        gt_values_clear(machine->snapshot.device[i].value);
    return machine->type->collect(machine->state, &machine->snapshot, &machine->error);
}

double gpu_machine_system(struct gpu_machine *machine, double seconds, enum gt_metric_id metric)
{
    gt_values_clear(machine->snapshot.system);
    assert_int_equal(gpu_machine_collect(machine, seconds), 0);
    return machine->snapshot.system[metric];
}

double gpu_machine_device(const struct gpu_machine *machine, int device, enum gt_metric_id metric)
{
    assert_true((size_t)device < machine->snapshot.device_count);
    return machine->snapshot.device[device].value[metric];
}

double gpu_machine_share(const struct gpu_machine *machine, int device, pid_t pid, enum gt_metric_id metric)
{
    double value = NAN;
    int found = 0;
    for (size_t i = 0; i < machine->snapshot.share_count; i++)
        if (machine->snapshot.share[i].device == device && machine->snapshot.share[i].pid == pid) {
            value = machine->snapshot.share[i].value[metric];
            found++;
        }
    assert_true(found <= 1);
    return value;
}
