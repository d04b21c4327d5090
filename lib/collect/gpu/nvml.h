/* The NVML collector: the part of NVIDIA's management library that it calls, and what its files share.
 *
 * Types, constants and functions are declared by hand. Facts from the NVML API reference (docs.nvidia.com/deploy/nvml-api) and
 * checked against the structures of the nvidia-ml-py package 13.615. Version words are the size of the structure, with the
 * version in the top byte. */
#ifndef GT_COLLECT_GPU_NVML_H
#define GT_COLLECT_GPU_NVML_H

#include <stdint.h>

#include "base/os/library.h"
#include "base/map.h"
#include "collect/gpu/gpu.h"

enum nvml_result {
    NVML_SUCCESS = 0,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_TIMEOUT = 10,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_VERSION_MISMATCH = 18, /* of library and kernel module */
    NVML_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_GPU_NOT_FOUND = 28,
    NVML_UNKNOWN = 999,
};

enum {
    NVML_TEMPERATURE_GPU = 0,
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEMORY = 2,
    NVML_SAMPLES_POWER = 0,
    NVML_SAMPLES_UTILIZATION = 1,
    NVML_FIELD_ECC_CORRECTED = 3, /* since the driver was loaded */
    NVML_FIELD_ECC_UNCORRECTED = 4,
    NVML_FIELD_ECC_CORRECTED_TOTAL = 5, /* in the life of the board */
    NVML_FIELD_ECC_UNCORRECTED_TOTAL = 6,
    NVML_FIELD_LINK_FLIT_ERRORS = 38, /* of all NVLinks */
    NVML_FIELD_LINK_DATA_ERRORS = 45,
    NVML_FIELD_LINK_REPLAYS = 52,
    NVML_FIELD_LINK_RECOVERIES = 59,
    NVML_FIELD_PCIE_REPLAYS = 94,
    NVML_FIELD_REMAPPED_CORRECTABLE = 142,
    NVML_FIELD_REMAPPED_UNCORRECTABLE = 143,
    NVML_FIELD_REMAP_PENDING = 144,
    NVML_FIELD_REMAP_FAILED = 145,
    NVML_FIELD_POWER_AVERAGE = 185, /* mW over one second */
    NVML_FIELD_POWER_INSTANT = 186, /* mW */
    NVML_SCOPE_GPU = 0,
    NVML_SCOPE_MODULE = 1, /* a whole Grace Hopper module, its CPU included */
    NVML_SCOPE_MEMORY = 2, /* a part of the GPU's */
    NVML_MIG_ENABLED = 1,
    NVML_ACCOUNTING_ENABLED = 1,
    NVML_ECC_CORRECTED = 0, /* kinds of errors, and what counts them */
    NVML_ECC_UNCORRECTED = 1,
    NVML_ECC_VOLATILE = 0,
    NVML_ECC_AGGREGATE = 1,
    NVML_EVENT_XID = 8,
};

/* Bits of the reasons for a lower clock. */
enum {
    NVML_REASON_IDLE = 0x1,
    NVML_REASON_POWER_CAP = 0x4,
    NVML_REASON_HARDWARE_SLOWDOWN = 0x8,
    NVML_REASON_HEAT_SOFTWARE = 0x20,
    NVML_REASON_HEAT_HARDWARE = 0x40,
    NVML_REASON_POWER_BRAKE = 0x80,
};

#define NVML_NOT_AVAILABLE UINT64_MAX

struct nvml_memory {
    unsigned long long total, free, used; /* bytes; what the driver reserves counts as used */
};

#define NVML_MEMORY_V2 ((unsigned)sizeof(struct nvml_memory_v2) | 2u << 24)
struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

struct nvml_utilization {
    unsigned gpu, memory; /* percent */
};

union nvml_value {
    double as_double;
    unsigned as_unsigned;
    unsigned long as_unsigned_long;
    unsigned long long as_unsigned_long_long;
    long long as_long_long;
    int as_int;
    unsigned short as_unsigned_short;
};

enum nvml_value_type {
    NVML_DOUBLE,
    NVML_UNSIGNED,
    NVML_UNSIGNED_LONG,
    NVML_UNSIGNED_LONG_LONG,
    NVML_LONG_LONG,
    NVML_INT,
    NVML_UNSIGNED_SHORT,
};

struct nvml_sample {
    unsigned long long time; /* microseconds since 1970 */
    union nvml_value value;
};

struct nvml_field {
    unsigned field, scope;
    long long time, latency;
    int type;   /* enum nvml_value_type */
    int result; /* enum nvml_result */
    union nvml_value value;
};

/* A row of the process lists: v1 ends after bytes (16), v2 and v3 after compute_instance (24), the list of R535's early
 * drivers and the detail list have all of it (32). */
struct nvml_process {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
    unsigned long long protected_bytes;
};

enum nvml_process_mode { NVML_COMPUTE, NVML_GRAPHICS, NVML_MPS, NVML_PROCESS_MODES };
enum { NVML_PROCESS_VERSIONS = 3 }; /* of the functions that list processes */

#define NVML_PROCESS_LIST_V1 ((unsigned)sizeof(struct nvml_process_list) | 1u << 24)
struct nvml_process_list {
    unsigned version, mode, count;
    struct nvml_process *process;
};

struct nvml_engines {
    unsigned sm, memory, encoder, decoder; /* percent */
};

struct nvml_process_utilization {
    unsigned pid;
    unsigned long long time; /* microseconds since 1970 */
    struct nvml_engines used;
};

struct nvml_process_utilization_v1 {
    unsigned long long time;
    unsigned pid;
    struct nvml_engines used;
    unsigned jpeg, optical_flow;
};

#define NVML_PROCESSES_UTILIZATION_V1 ((unsigned)sizeof(struct nvml_processes_utilization) | 1u << 24)
struct nvml_processes_utilization {
    unsigned version, count;
    unsigned long long last_seen;
    struct nvml_process_utilization_v1 *process;
};

/* What the driver keeps of a process, running or ended, while its accounting is on. */
struct nvml_accounting {
    unsigned gpu, memory;              /* percent */
    unsigned long long most_bytes;     /* all ones: not available */
    unsigned long long time, start_us; /* ms; us since 1970 */
    unsigned is_running, reserved[5];
};

struct nvml_pci {
    char old_bus_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

struct nvml_device; /* opaque */
struct nvml_events; /* opaque: a set of events that are waited for */

struct nvml_event {
    struct nvml_device *device;
    unsigned long long kind, number; /* number: of an XID */
    unsigned gpu_instance, compute_instance;
};

struct nvml_functions {
#define NVML(member, symbol, ...) int (*member)(__VA_ARGS__);
#include "collect/gpu/nvml.def"
#undef NVML
    const char *(*error_string)(int result);
    int (*processes[NVML_PROCESS_VERSIONS][NVML_PROCESS_MODES])(struct nvml_device *, unsigned *count, void *rows);
};

_Static_assert(sizeof(struct nvml_memory_v2) == 40, "nvmlMemory_v2_t");
_Static_assert(sizeof(struct nvml_field) == 40, "nvmlFieldValue_t");
_Static_assert(sizeof(struct nvml_process) == 32, "nvmlProcessDetail_v1_t");
_Static_assert(sizeof(struct nvml_process_list) == 24, "nvmlProcessDetailList_v1_t");
_Static_assert(sizeof(struct nvml_process_utilization) == 32, "nvmlProcessUtilizationSample_t");
_Static_assert(sizeof(struct nvml_processes_utilization) == 24, "nvmlProcessesUtilizationInfo_v1_t");
_Static_assert(sizeof(struct nvml_process_utilization_v1) == 40, "nvmlProcessUtilizationInfo_v1_t");
_Static_assert(sizeof(struct nvml_accounting) == 56, "nvmlAccountingStats_t");
_Static_assert(sizeof(struct nvml_event) == 32, "nvmlEventData_t");
_Static_assert(sizeof(struct nvml_pci) == 68, "nvmlPciInfo_t");

/* ---- The collector ------------------------------------------------------------------------------------------------- */

/* One process on one device, merged from the compute, graphics and MPS lists. Sorted by pid, then instances. */
struct nvml_row {
    struct gt_pid_entry id;
    unsigned gpu_instance, compute_instance;
    double bytes;    /* NaN: not available */
    int64_t time_us; /* of the utilisation; 0: none seen yet */
    struct nvml_engines used;
};

struct nvml_rows {
    struct nvml_row *row;
    size_t count, capacity;
};

/* The driver's high-water mark of one process of the job on one device. */
struct nvml_hwm {
    pid_t pid;
    unsigned driver_pid;
    uint64_t since_us; /* us since 1970: the process began later, unless it was listed when it was met; 0: it was */
    unsigned long long start_us; /* when it began to use the device, 0: not known */
    double bytes, before;        /* NaN: not known; before: when tracking began, 0: it did not use the device */
    bool is_there;               /* it lives */
};

/* A process whose mark has been published for the last time. */
struct nvml_published {
    pid_t pid;
    unsigned long long start_us;
};

struct nvml_hwms {
    struct nvml_hwm *hwm;
    size_t count, capacity;
    struct gt_map number; /* by PID */
    struct nvml_published *published;
    size_t published_count, published_capacity;
};

/* What the driver counts of a board's health, as last read. */
enum { NVML_HEALTH = GT_GPU_XID - GT_GPU_ECC_CORRECTED + 1 };

enum nvml_power { NVML_POWER_UNKNOWN, NVML_POWER_FIELD_INSTANT, NVML_POWER_USAGE, NVML_POWER_MODULE };

struct nvml_gpu {
    struct nvml_device *handle;
    struct gt_gpu_base gpu;
    int parent; /* index in nvml.gpu of a slice's board, else -1 */
    bool has_slices;
    unsigned gpu_instance, compute_instance; /* of a slice */
    bool is_lost, is_reported;
    unsigned unsupported; /* bits of readings that the device does not have */
    enum nvml_power power;
    unsigned memory_field;      /* of the memory's power; 0: the board does not report it */
    bool is_integrated;         /* there is no counter, or it counts the whole module: power is added up */
    int major, minor;           /* compute capability, 0: not known */
    char file[24];              /* "/dev/nvidia0", "" unknown */
    double health[NVML_HEALTH]; /* [metric - GT_GPU_ECC_CORRECTED] */
    bool was_registered;        /* for events, or the driver has none */
    bool lists_unsupported;
    bool utilization_unsupported;
    struct nvml_rows rows;
    bool reports_accounting; /* the driver says whether it is on, */
    bool has_accounting;     /* and it is */
    struct nvml_hwms hwms;
    unsigned long long seen_process, seen_power, seen_utilization; /* us: newest sample that was taken */
};

struct nvml {
    struct gt_library library;
    struct nvml_functions call;
    const struct gt_clock *clock;
    struct nvml_gpu *gpu;
    size_t gpu_count;
    struct gt_rate_limit values, lists, samples;
    int64_t health_ns;          /* when health is read again, */
    struct nvml_events *events; /* among them XIDs; NULL: the driver reports none */
    struct gt_gpu_pids pids;
    uint64_t opened_us;     /* us since 1970 */
    uint64_t collected_us;  /* us since 1970: when it was asked before, or opened */
    bool has_unknown_rows;  /* the driver's row layout is unknown */
    struct nvml_rows fresh; /* scratch of one listing */
    unsigned char *buffer;  /* what the driver writes lists into */
    size_t buffer_size;
    int sample_type; /* of the samples in it */
};

/* Functions that a driver lacks are not found. */
#define NVML_CALL(function, ...) (nvml->call.function ? nvml->call.function(__VA_ARGS__) : NVML_FUNCTION_NOT_FOUND)

extern const struct gt_collector_type gt_collector_nvml;

/* Write clauses, each ended by "; ", about how the boards' energy comes about. */
void gt_nvml_describe_energy(const struct nvml *nvml, char *text, size_t size);
/* Returns the refresh of the slowest board, seconds. */
double gt_nvml_energy_refresh(const struct nvml *nvml);
void gt_nvml_probe(struct nvml *nvml, struct nvml_gpu *gpu);
/* Read bytes of memory, NaN for a device that shares that of the machine: it has a total of 0 or does not answer. Version 2 of the
 * call separates what the driver reserves for itself from what is used. */
int gt_nvml_memory(struct nvml *nvml, struct nvml_device *handle, double *ret_total, double *ret_used);

/* Read all states and counters of the devices that do not sleep into gpu->value. */
void gt_nvml_read(struct nvml *nvml);
/* Take the peaks out of the driver's own samples since the last call. */
void gt_nvml_read_samples(struct nvml *nvml, struct nvml_gpu *gpu);

/* List the processes of a device, and keep what was known of those that are still there: 0, -ENOMEM. */
int gt_nvml_read_processes(struct nvml *nvml, struct nvml_gpu *gpu, const struct gt_snapshot *snapshot);
int gt_nvml_publish_processes(const struct nvml *nvml, const struct nvml_gpu *gpu, struct gt_snapshot *snapshot);

/* Keep up with the high-water marks of the job's processes on a device whose driver accounts for them: of those that live when `is_due`,
 * of the others at their end. 0 or -ENOMEM. */
int gt_nvml_read_hwms(struct nvml *nvml, struct nvml_gpu *gpu, const struct gt_snapshot *snapshot, bool is_due);
/* Publish them, those that ended for the last time; in the last snapshot those of snapshot->past, too, that no look met. 0 or -ENOMEM. */
int gt_nvml_publish_hwms(const struct nvml *nvml, struct nvml_gpu *gpu, struct gt_snapshot *snapshot);
void gt_nvml_hwms_release(struct nvml_hwms *hwms);
/* Tells whether the driver keeps such marks, and what would make it. `state` is the collector's, NULL when it is not open. */
void gt_nvml_survey_hwms(const void *state, struct gt_availability *ret);

/* Read the health of all boards: counters once a minute and at the end, XIDs with the other values. */
void gt_nvml_read_health(struct nvml *nvml, bool is_last, bool is_new);
/* Tells which of it there is, and reads it where that was not done. `state` is the collector's, NULL when it is not open. */
void gt_nvml_survey_health(void *state, struct gt_availability *ret);

/* Call `ask`, which fills nvml->buffer with up to *count rows of `row` bytes, until all rows fit: a list may grow between two calls.
 * Returns the result, NVML_UNKNOWN for an impossible count, or -ENOMEM. */
int gt_nvml_list(struct nvml *nvml, struct nvml_gpu *gpu, int which, size_t row, unsigned *ret_count,
                 int (*ask)(struct nvml *, struct nvml_gpu *, int which, unsigned *count));
static inline bool gt_nvml_can_ask(const struct nvml_gpu *gpu)
{
    return !gpu->is_lost && !gpu->gpu.is_asleep;
}

/* Note a result which means that the device is gone. Returns true once one did. */
bool gt_nvml_lost(struct nvml_gpu *gpu, int result);

#endif
