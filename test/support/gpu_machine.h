/* A made-up machine with GPUs: a root folder, a clock, a fake driver library, and one collector that reads them. */
#ifndef TEST_SUPPORT_GPU_MACHINE_H
#define TEST_SUPPORT_GPU_MACHINE_H

#include "collect/collector.h"
#include "collect/host/host.h"

enum { GPU_MACHINE_PROCESSES = 16 };

struct gpu_machine {
    char path[64];
    struct gt_root root;
    struct gt_clock clock;
    int64_t real_ns, monotonic_ns;
    int64_t call_ns; /* what each look at the monotonic clock takes: driver calls seem slow */
    struct gt_snapshot snapshot;
    struct gt_topology topology;
    struct gt_process process[GPU_MACHINE_PROCESSES];
    struct gt_process *processes[GPU_MACHINE_PROCESSES];
    struct gt_collect_options options;
    struct gt_availability availability;
    struct gt_error error;
    const char *libraries[4];
    char library_text[4][600];
    const struct gt_collector_type *type;
    void *state;
};

void gpu_machine_begin(struct gpu_machine *machine);
void gpu_machine_end(struct gpu_machine *machine);
/* The same around one test, as cmocka's setup and teardown; *state is the machine. */
int gpu_machine_setup(void **state);
int gpu_machine_teardown(void **state);
#define TEST_ON_MACHINE(name) TEST_OF(struct gpu_machine *machine, name, gpu_machine_setup, gpu_machine_teardown)

void gpu_machine_file(struct gpu_machine *machine, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void gpu_machine_link(struct gpu_machine *machine, const char *path, const char *target);
void gpu_machine_remove(struct gpu_machine *machine, const char *path);
/* A process of the job, visible in /proc. */
void gpu_machine_process(struct gpu_machine *machine, pid_t pid);
void gpu_machine_initial_namespace(struct gpu_machine *machine);

/* Use build/test/fake/lib<file>.so as library `name`, with `data` in the environment variable's file. */
void gpu_machine_library(struct gpu_machine *machine, const char *name, const char *file, const char *variable,
                         const char *data);
/* The state the collector answers with. */
enum gt_source_state gpu_machine_open(struct gpu_machine *machine, const struct gt_collector_type *type);
/* Step the fake library to frame `number`. */
void gpu_machine_step(const struct gpu_machine *machine, const char *file, int number);
/* Let `seconds` pass and take one snapshot. */
int gpu_machine_collect(struct gpu_machine *machine, double seconds);
/* The same, and what that snapshot says of the whole machine. */
double gpu_machine_system(struct gpu_machine *machine, double seconds, enum gt_metric_id metric);

double gpu_machine_device(const struct gpu_machine *machine, int device, enum gt_metric_id metric);
/* NaN also when there is no entry. */
double gpu_machine_share(const struct gpu_machine *machine, int device, pid_t pid, enum gt_metric_id metric);

#endif
