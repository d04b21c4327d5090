/* The GPU collectors share a pace for slow drivers, counters that restart, rows of unknown layout, and the choice of devices. */
#ifndef GT_COLLECT_GPU_GPU_H
#define GT_COLLECT_GPU_GPU_H

#include "collect/collector.h"

/* Some driver calls may use only a part of a core: after a call of t seconds the next one comes t / share later. In the first seconds
 * calls come more often: a short job would else have none. */
struct gt_pace {
    double share;     /* of one core */
    int64_t cost_ns;  /* what a call costs, single outliers smoothed */
    int64_t next_ns;  /* not before this monotonic time */
    int64_t first_ns; /* of the first call; 0: none yet */
};

/* The last reading of a frame series is always due. */
bool gt_pace_due(const struct gt_pace *pace, const struct gt_frame *frame, int64_t now_ns);
void gt_pace_spent(struct gt_pace *pace, int64_t start_ns, int64_t end_ns);

/* An energy counter of a driver: joules since the driver was loaded. A drop means that it was loaded again. */
struct gt_energy_counter {
    double last; /* NaN before the first reading: set it so */
    double total;
    uint32_t resets;
    uint32_t told; /* of them, to those who asked for the doubt */
};

/* Returns joules since the first reading. For NaN it returns NaN, and the counter goes on at the next reading. */
double gt_energy_counter_read(struct gt_energy_counter *counter, double joules);

/* Returns the doubt as a frame has it: INFINITY where the counter was set back since the last call, else 0. */
double gt_energy_counter_doubt(struct gt_energy_counter *counter);

/* An energy counter held against the power of the same device. Some counters stand still, some count in a wrong unit. */
struct gt_energy_check {
    double watts, joules;     /* of the last look; joules is NaN before the first */
    double counted, expected; /* joules in this window */
    double seconds;
    int64_t last_ns;
    int disagreements; /* windows in a row */
    bool has_agreed;   /* in one window at least */
    bool is_wrong;
    double all_counted, all_expected, all_seconds; /* since the first look */
    double shown;                                  /* the most that was ever chosen */
    bool is_wrong_told, is_difference_told;
    double doubted; /* joules of difference that gt_energy_check_doubt returned so far */
};

/* `joules` is what gt_energy_counter_read said. Once two windows in a row were off by more than a factor of 4 the counter is
 * taken as wrong for good. */
void gt_energy_check_add(struct gt_energy_check *check, int64_t now_ns, double joules, double watts);
/* Returns the better of the counter and the power added up. That is the counter, unless it is wrong, or missing or off by that factor
 * before it has ever agreed; so the first seconds are right, too. A change from one to the other does not step back. */
double gt_energy_choose(struct gt_energy_check *check, double counted, double summed);
/* Returns -EIO with a sentence once the counter is taken as wrong, and again when it is used though it is off by more than a quarter;
 * else 0. */
int gt_energy_check_report(struct gt_energy_check *check, const struct gt_device *device, struct gt_error *error);
/* Returns the joules by which counter and power have come to disagree since the last call; 0 while they agree. */
double gt_energy_check_doubt(struct gt_energy_check *check);
/* Write how far counter and power agree so far, or nothing before there is enough to tell. Returns the length, as snprintf. */
int gt_energy_check_describe(const struct gt_energy_check *check, char *text, size_t size);

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

/* Returns true where the user wants devices of this brand. */
bool gt_brand_wanted(const struct gt_collect_options *options, const char *brand);
/* Write an address like "0000:03:00.0". */
void gt_pci_name(char text[16], unsigned domain, unsigned bus, unsigned device, unsigned function);
/* Returns true for a device that sleeps or is about to, false where that is not told. A driver would wake it to answer; this look wakes
 * nothing. */
bool gt_pci_is_asleep(const struct gt_root *root, const char *pci);
/* Returns true where the frame already has the device at this address. */
bool gt_pci_known(const struct gt_frame *frame, const char *pci);

/* Select exactly the devices that `text` names, separated by commas: full UUIDs, UUID prefixes that fit one device only,
 * indices, "MIG-<uuid>" and the older "MIG-GPU-<uuid>/<gpu instance>/<compute instance>". A board that is named brings
 * its slices. NULL or blank selects all. -EINVAL names the part that fits no device, or more than one, and the known ones;
 * the selection is then unchanged. */
int gt_device_select(struct gt_frame *frame, const char *text, struct gt_error *error);
/* Find the first 64 devices that such a list names, as bits. Returns 0, -EINVAL or -ENOMEM. */
int gt_devices_named(const struct gt_frame *frame, const char *text, uint64_t *ret);

/* Returns true for errors that programs cause (NVIDIA's XID catalogue). All others may be the GPU's or its driver's. */
bool gt_xid_is_of_program(double number);

/* Tell which kinds of errors no GPU counts. */
void gt_gpu_survey_errors(struct gt_availability *ret, const char *source, const char *const *names,
                          const bool *is_told, size_t count);

#endif
