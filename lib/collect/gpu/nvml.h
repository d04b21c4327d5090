/* The files of the NVML collector share this. */
#ifndef GT_COLLECT_GPU_NVML_H
#define GT_COLLECT_GPU_NVML_H

#include "base/library.h"
#include "base/map.h"
#include "collect/gpu/gpu.h"
#include "collect/gpu/gpu_pid.h"
#include "collect/gpu/nvml_api.h"
#include "collect/energy/power.h"

/* One process on one device, merged from the compute, graphics and MPS lists. Sorted by pid, then instances. */
struct nvml_row {
    struct gt_pid_entry id;
    unsigned gpu_instance, compute_instance;
    double bytes;                          /* NaN: not available */
    int64_t time_us;                       /* of the utilisation; 0: none seen yet */
    unsigned sm, memory, encoder, decoder; /* percent */
};

struct nvml_rows {
    struct nvml_row *row;
    size_t count, capacity;
};

/* The driver's high-water mark of one process of the job on one device. */
struct nvml_mark {
    pid_t pid;
    unsigned driver_pid;
    uint64_t since_us; /* us since 1970: the process began later, unless it was listed when it was met; 0: it was */
    unsigned long long start_us; /* when it began to use the device, 0: not known */
    double bytes, before;        /* NaN: not known; before: when tracking began, 0: it did not use the device */
    bool is_there;               /* it lives */
};

/* A process whose mark has been told for the last time. */
struct nvml_told {
    pid_t pid;
    unsigned long long start_us;
};

struct nvml_marks {
    struct nvml_mark *mark;
    size_t count, capacity;
    struct gt_map number; /* by PID */
    struct nvml_told *told;
    size_t told_count, told_capacity;
};

/* What the driver counts of a board's health, as last read. */
enum { NVML_HEALTH = GT_GPU_XID - GT_GPU_ECC_CORRECTED + 1 };

enum nvml_power { NVML_POWER_UNKNOWN, NVML_POWER_FIELD_INSTANT, NVML_POWER_USAGE, NVML_POWER_MODULE };

struct nvml_gpu {
    struct nvml_device *handle;
    int device; /* index in the frame */
    int parent; /* index in nvml.gpu of a slice's board, else -1 */
    bool has_slices;
    unsigned gpu_instance, compute_instance; /* of a slice */
    bool is_asleep;                          /* it is not asked anything */
    bool is_lost, is_reported;
    unsigned unsupported; /* bits of readings that the device does not have */
    enum nvml_power power;
    struct gt_energy_counter energy;
    struct gt_energy_check check;
    struct gt_power_integral integral; /* where no counter is, or it counts the whole module; else to check it */
    double summed;                     /* what that was at the last reading */
    uint32_t resets;                   /* of the counter, for which power has stood in */
    int64_t read_ns;                   /* when its values were read */
    double doubt;                      /* INFINITY: there was no power to stand in; see struct gt_device */
    unsigned memory_field;             /* by which the memory tells its power; 0: it does not */
    bool is_integrated;
    bool has_module;               /* a superchip: its counter, and power of the scope "module", contain its CPU */
    bool is_left_out;              /* energy of a module whose CPU is counted by another source */
    int major, minor;              /* compute capability, 0: not known */
    char file[24];                 /* "/dev/nvidia0", "" unknown */
    double value[GT_METRIC_COUNT]; /* as last read */
    double health[NVML_HEALTH];    /* [metric - GT_GPU_ECC_CORRECTED] */
    bool was_registered;           /* for events, or the driver has none */
    bool lists_unsupported;
    bool utilization_unsupported;
    struct nvml_rows rows;
    bool tells_accounting; /* the driver says whether it is on, */
    bool has_accounting;   /* and it is */
    struct nvml_marks marks;
    unsigned long long seen_process, seen_power, seen_utilization; /* us: newest sample that was taken */
};

struct nvml {
    struct gt_library library;
    struct nvml_functions call;
    const struct gt_clock *clock;
    struct nvml_gpu *gpu;
    size_t gpu_count;
    struct gt_pace values, lists, samples;
    int64_t health_ns;          /* when health is read again, */
    struct nvml_events *events; /* which XIDs are a part of; NULL: they are not told */
    struct gt_gpu_pids pids;
    uint64_t opened_us;     /* us since 1970 */
    uint64_t collected_us;  /* us since 1970: when it was asked before, or opened */
    bool has_unknown_rows;  /* the driver's row layout could not be told */
    struct nvml_rows fresh; /* scratch of one listing */
    unsigned char *buffer;  /* what the driver writes lists into */
    size_t buffer_size;
};

extern const struct gt_collector_type gt_collector_nvml;

/* Set all figures to NaN and the power to zero while the board sleeps. */
void gt_nvml_rest(struct nvml *nvml, struct nvml_gpu *gpu);
/* Append clauses, each ended by "; ", about how the boards' energy comes about. */
int gt_nvml_describe_energy(const struct nvml *nvml, char *text, size_t size);
/* Returns the seconds by which the figures of the least sharp board lag behind. */
double gt_nvml_energy_refresh(const struct nvml *nvml);
void gt_nvml_probe(struct nvml *nvml, struct nvml_gpu *gpu);

/* Read all states and counters of the devices that do not sleep into gpu->value. */
void gt_nvml_read(struct nvml *nvml);
/* Take the peaks out of the driver's own samples since the last call. */
void gt_nvml_read_samples(struct nvml *nvml, struct nvml_gpu *gpu);

/* List the processes of a device, and keep what was known of those that are still there: 0, -ENOMEM. */
int gt_nvml_read_processes(struct nvml *nvml, struct nvml_gpu *gpu, const struct gt_frame *frame);
int gt_nvml_publish_processes(const struct nvml *nvml, const struct nvml_gpu *gpu, struct gt_frame *frame);

/* Keep up with the high-water marks of the job's processes on a device whose driver accounts for them: of those that live when `is_due`,
 * of the others at their end. 0 or -ENOMEM. */
int gt_nvml_read_marks(struct nvml *nvml, struct nvml_gpu *gpu, const struct gt_frame *frame, bool is_due);
/* Publish them, those that ended for the last time; in the last frame those of frame->past, too, that no look met. 0 or -ENOMEM. */
int gt_nvml_publish_marks(const struct nvml *nvml, struct nvml_gpu *gpu, struct gt_frame *frame);
void gt_nvml_marks_release(struct nvml_marks *marks);
/* Tells whether the driver keeps such marks, and what would make it. `state` is the collector's, NULL when it is not open. */
void gt_nvml_survey_marks(const void *state, struct gt_availability *ret);

/* Read the health of all boards: counters once a minute and at the end, XIDs with the other values. */
void gt_nvml_read_health(struct nvml *nvml, bool is_last, bool is_new);
void gt_nvml_close_health(struct nvml *nvml);
/* Tells which of it there is, and reads it where that was not done. `state` is the collector's, NULL when it is not open. */
void gt_nvml_survey_health(void *state, struct gt_availability *ret);

/* Returns the number that a field or a sample holds, NaN for a type that is not known. */
double gt_nvml_number(const union nvml_value *value, int type);
/* Make room for at least `size` bytes in nvml->buffer. */
int gt_nvml_buffer(struct nvml *nvml, size_t size);
/* Note a result that tells that the device is gone. Returns true once one did. */
bool gt_nvml_lost(struct nvml_gpu *gpu, int result);

#endif
