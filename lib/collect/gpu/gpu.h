/* The GPU collectors share a rate limit for slow drivers, rows of unknown layout, process numbers, and the choice of devices. */
#ifndef GT_COLLECT_GPU_GPU_H
#define GT_COLLECT_GPU_GPU_H

#include "collect/collector.h"
#include "collect/energy/power.h"

/* Some driver calls may use only a part of a core: after a call of t seconds the next one comes t / share later. In the first seconds
 * calls come more often: a short job would else have none. */
struct gt_rate_limit {
    double share;     /* of one core */
    int64_t cost_ns;  /* what a call costs, single outliers smoothed */
    int64_t next_ns;  /* not before this monotonic time */
    int64_t first_ns; /* of the first call; 0: none yet */
};

/* The last snapshot of a series is always due. */
bool gt_rate_limit_due(const struct gt_rate_limit *limit, const struct gt_snapshot *snapshot, int64_t now_ns);
void gt_rate_limit_spent(struct gt_rate_limit *limit, int64_t start_ns, int64_t end_ns);

/* A driver writes lists of rows. The size of a row differs between driver versions that export the same function. */
struct gt_row_layout {
    size_t size;
    size_t pid;   /* offsets in a row */
    size_t bytes; /* of the memory in use, 64 bits */
};

enum { GT_ROW_PATTERN = 0xA5 };

/* Find out which of `layouts` the driver wrote `count` rows with. `rows` was filled with GT_ROW_PATTERN before, so it shows how far the
 * driver wrote; the process numbers tell the rest. The last `slack` bytes of a row may be left unwritten. Returns NULL for none. */
const struct gt_row_layout *gt_row_layout_find(const unsigned char *rows, size_t capacity, size_t count, size_t slack,
                                               const struct gt_row_layout *layouts, size_t layout_count);
uint32_t gt_row_u32(const unsigned char *row, size_t offset);
uint64_t gt_row_u64(const unsigned char *row, size_t offset);

/* Process numbers that a GPU driver gives are translated to the tracker's own PID namespace.
 *
 * A driver may give numbers of the host, of the process' own namespace or of the caller's, by version and by function. So:
 * outside of containers a number that is visible is taken as it is; inside, it is when that process holds the device open;
 * else it is looked for among the namespace numbers (NSpid) of the job; and when one number is left and one process of the
 * job holds the device open without having been found, they belong together. */
enum gt_pid_method { GT_PID_SAME = 1, GT_PID_NAMESPACE = 2, GT_PID_EXCLUSIVE = 4 };

struct gt_gpu_pids {
    const struct gt_root *root;
    bool is_initial;  /* the tracker is in the machine's first PID namespace */
    unsigned methods; /* enum gt_pid_method, those that were needed so far */
    unsigned unknown; /* numbers that could not be placed in the last list */
};

struct gt_pid_entry {
    unsigned driver_pid;
    pid_t pid; /* 0: not known (yet) */
};

void gt_gpu_pids_open(struct gt_gpu_pids *map, const struct gt_root *root);
/* Fill in `pid` where there is none, of rows of `size` bytes that begin with a struct gt_pid_entry. `file` is the device's,
 * "/dev/nvidia0"; NULL when it is not known. */
void gt_gpu_pids_resolve(struct gt_gpu_pids *map, const struct gt_snapshot *snapshot, const char *file, void *rows,
                         size_t count, size_t size);
/* Write the methods that were needed: "as they are visible", "by NSpid", ... */
void gt_gpu_pids_describe(const struct gt_gpu_pids *map, char *text, size_t size);

/* Returns true where the user wants devices of this brand. */
bool gt_brand_wanted(const struct gt_collect_options *options, const char *brand);
/* Write an address like "0000:03:00.0". */
void gt_pci_name(char text[16], unsigned domain, unsigned bus, unsigned device, unsigned function);
/* Returns true for a device that sleeps or is about to, false if that is unknown. A driver would wake it to answer; this wakes nothing. */
bool gt_pci_is_asleep(const struct gt_root *root, const char *pci);
/* Returns true where the snapshot already has the device at this address. */
bool gt_pci_known(const struct gt_snapshot *snapshot, const char *pci);

/* What a counter and the power of one device come to over the same time. */
struct gt_energy_window {
    double counted, expected, seconds; /* joules */
};

/* The energy of a GPU. Some counters stand still, some count in a wrong unit, so a counter is held against the power. It is used, unless it
 * is wrong: once two windows in a row were off by more than a factor of 4 it is for good, and power is added up instead. So it is
 * while the counter is missing or off by that factor before it has ever agreed; the first seconds are right, too. A change from one to
 * the other does not step back. */
struct gt_gpu_meter {
    struct gt_energy_counter counter;
    struct gt_power_integral integral;
    double watts, joules; /* as compared last; joules is NaN before that */
    int64_t compared_ns;
    struct gt_energy_window window, all;
    int disagreements; /* windows in a row */
    bool has_agreed;   /* in one window at least */
    bool is_wrong;
    bool is_difference_reported, is_wrong_reported;
    double doubted;   /* joules of difference that were published as a doubt so far */
    double summed;    /* the integral at the last reading */
    uint32_t bridged; /* resets of the counter, for which power has stood in */
    double doubt;     /* INFINITY: there was no power to stand in */
    double shown;     /* the most that was ever returned */
    int64_t read_ns;
};

/* What each collector knows of a GPU. */
struct gt_gpu_base {
    int device;       /* index in the snapshot */
    bool is_asleep;   /* it is not asked anything: it has no values and draws nothing */
    bool is_left_out; /* its energy is that of a package or module whose CPU is counted by another source */
    struct gt_gpu_meter meter;
    double value[GT_METRIC_COUNT]; /* as last read */
};

/* Begins with the device that was added to the snapshot last. */
void gt_gpu_begin(struct gt_gpu_base *gpu, const struct gt_snapshot *snapshot);
/* Returns `is_asleep`. While it sleeps all values are NaN and the power is zero; counter and power are compared anew once it is awake. */
bool gt_gpu_rest(struct gt_gpu_base *gpu, bool is_asleep, int64_t now_ns);
/* Takes a reading of the counter and of power, each of which may be NaN. Returns joules since the first. */
double gt_gpu_energy(struct gt_gpu_base *gpu, int64_t now_ns, double joules, double watts);
/* Publishes the metrics of the collector. */
void gt_gpu_publish(struct gt_gpu_base *gpu, struct gt_snapshot *snapshot, const struct gt_collector_type *type,
                    bool is_new);
/* Returns -EIO with a sentence once the counter is taken as wrong, and again when it is used though it is off by more than a quarter;
 * else 0. */
int gt_gpu_report(struct gt_gpu_base *gpu, const struct gt_snapshot *snapshot, struct gt_error *error);
/* Write how far counter and power agree so far, or nothing before there is enough to compare. */
void gt_gpu_describe(const struct gt_gpu_base *gpu, char *text, size_t size);

/* Select exactly the devices that `text` names, separated by commas: full UUIDs, UUID prefixes that fit one device only,
 * indices, "MIG-<uuid>" and the older "MIG-GPU-<uuid>/<gpu instance>/<compute instance>". A board that is named brings
 * its slices. NULL or blank selects all. -EINVAL names the part that fits no device, or more than one, and the known ones;
 * the selection is then unchanged. */
int gt_device_select(struct gt_snapshot *snapshot, const char *text, struct gt_error *error);
/* Find the first 64 devices that such a list names, as bits. Returns 0, -EINVAL or -ENOMEM. */
int gt_devices_named(const struct gt_snapshot *snapshot, const char *text, uint64_t *ret);

/* Returns true for errors that programs cause (NVIDIA's XID catalogue). All others may be the GPU's or its driver's. */
bool gt_xid_is_of_program(double number);

/* Tell which kinds of errors no GPU counts. */
void gt_gpu_survey_errors(struct gt_availability *ret, const char *source, const char *const *names,
                          const bool *is_counted, size_t count);

/* The collector of AMD GPUs by AMD SMI. */

extern const struct gt_collector_type gt_collector_amd;

/* Reports which errors the driver counts; `state` is the collector's, or NULL. */
void gt_amd_survey_health(void *state, struct gt_availability *ret);

#endif
