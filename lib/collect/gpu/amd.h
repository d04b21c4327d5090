/* One collector reads AMD GPUs by one of two libraries. Its files share this. */
#ifndef GT_COLLECT_GPU_AMD_H
#define GT_COLLECT_GPU_AMD_H

#include <stddef.h>
#include <stdint.h>

#include "base/library.h"
#include "collect/energy/power.h"
#include "collect/gpu/gpu.h"
#include "collect/gpu/gpu_pid.h"

/* The parts of AMD SMI and ROCm SMI that we call, declared by hand.
 *
 * Facts from the reference pages of both libraries (rocm.docs.amd.com, ROCm 5.6 to 7.13) and checked against the
 * structures of the amdsmi package 7.0.2. Their structures change from release to release, so only fields that kept
 * their place, or whose place can be told, are used, and the library always writes into a larger buffer of ours. */

enum { AMD_SUCCESS = 0 };

/* ---- AMD SMI ---- */

enum {
    AMDSMI_INIT_GPUS = 2,
    AMDSMI_NO_PERMISSION = 10,
    AMDSMI_OUT_OF_RESOURCES = 15, /* the caller's array is too small */
    AMDSMI_TYPE_GPU = 1,
    AMDSMI_TYPE_APU = 6,
    AMDSMI_MEMORY_VRAM = 0,
    AMDSMI_CLOCK_GRAPHICS = 0,
    AMDSMI_CLOCK_MEMORY = 4,
    AMDSMI_TEMPERATURE_EDGE = 0,
    AMDSMI_TEMPERATURE_HOTSPOT = 1,
    AMDSMI_TEMPERATURE_CURRENT = 0,
};

/* "Not available" in a field of 32 bits; smaller fields of the firmware are widened. */
#define AMDSMI_NOT_AVAILABLE UINT32_MAX
#define AMDSMI_NOT_AVAILABLE_16 UINT16_MAX

struct amdsmi_activity {
    uint32_t graphics, memory, media; /* percent */
    uint32_t reserved[61];
};

struct amdsmi_clock {
    uint32_t current; /* MHz */
    uint32_t reserved[63];
};

/* The first word is 23 for ROCm 5.7 and 6.0.0, 24 for 6.0.2 to 6.3, 25 for 6.4, 26 and more for 7: once the year, now the major
 * version. The second word was the major version then, 4 and more since ROCm 6. */
struct amdsmi_version {
    uint32_t first, second;
    uint32_t reserved[30];
};

/* Both libraries begin like this; releases add fields behind. */
struct amd_errors {
    uint64_t corrected, uncorrected;
    uint64_t reserved[14];
};

struct amdsmi_functions {
    int (*init)(uint64_t flags);
    int (*shutdown)(void);
    int (*version)(struct amdsmi_version *);
    int (*sockets)(uint32_t *count, void **sockets);
    int (*processors)(void *socket, uint32_t *count, void **processors);
    int (*type)(void *processor, int *type);
    int (*bdf)(void *processor, uint64_t *bdf); /* function 3 bits, device 5, bus 8, domain 48 */
    int (*uuid)(void *processor, unsigned *length, char *text);
    int (*asic)(void *processor, void *info); /* begins with the name */
    int (*memory_total)(void *processor, int type, uint64_t *bytes);
    int (*memory_usage)(void *processor, int type, uint64_t *bytes);
    int (*activity)(void *processor, struct amdsmi_activity *);
    int (*temperature)(void *processor, int sensor, int metric, int64_t *celsius);
    int (*clock)(void *processor, int type, struct amdsmi_clock *);
    int (*power)(void *processor, void *info);
    int (*energy)(void *processor, uint64_t *count, float *microjoules_per_count, uint64_t *time_ns);
    int (*processes)(void *processor, uint32_t *count, void *rows);
    int (*errors)(void *processor, uint64_t block, struct amd_errors *);
    int (*replays)(void *processor, uint64_t *count);
};

/* ---- ROCm SMI ---- */

enum {
    RSMI_PERMISSION = 4,
    RSMI_MEMORY_VRAM = 0,
    RSMI_CLOCK_SYSTEM = 0,
    RSMI_CLOCK_MEMORY = 4,
    RSMI_TEMPERATURE_EDGE = 0,
    RSMI_TEMPERATURE_JUNCTION = 1,
    RSMI_TEMPERATURE_CURRENT = 0,
};

/* One process on one device; releases add fields behind. */
struct rsmi_process {
    uint32_t pid, pasid;
    uint64_t vram; /* bytes */
    uint32_t reserved[60];
};

struct rsmi_functions {
    int (*init)(uint64_t flags);
    int (*shutdown)(void);
    int (*count)(uint32_t *count);
    int (*name)(uint32_t device, char *text, size_t size);
    int (*unique_id)(uint32_t device, uint64_t *id);
    int (*pci)(uint32_t device, uint64_t *bdf); /* domain from bit 32, bus 8, device 3, function 0 */
    int (*memory_total)(uint32_t device, int type, uint64_t *bytes);
    int (*memory_usage)(uint32_t device, int type, uint64_t *bytes);
    int (*busy)(uint32_t device, uint32_t *percent);
    int (*memory_busy)(uint32_t device, uint32_t *percent);
    int (*temperature)(uint32_t device, uint32_t sensor, int metric, int64_t *millicelsius);
    int (*clock)(uint32_t device, int type, void *frequencies);
    int (*power)(uint32_t device, uint64_t *microwatts, int *type);
    int (*power_average)(uint32_t device, uint32_t sensor, uint64_t *microwatts);
    int (*energy)(uint32_t device, uint64_t *count, float *microjoules_per_count, uint64_t *time_ns);
    int (*process)(uint32_t pid, uint32_t device, struct rsmi_process *);
    int (*errors)(uint32_t device, uint64_t block, struct amd_errors *);
    int (*replays)(uint32_t device, uint64_t *count);
};

/* A library tells this of a card at one moment; what it does not tell is NaN. */
struct amd_reading {
    double memory;            /* bytes in use */
    double busy, memory_busy; /* ratio */
    double celsius;
    double clock, memory_clock; /* Hz */
    double watts;
    double joules; /* the raw counter */
};

struct amd_row {
    struct gt_pid_entry id;
    double bytes;
    uint64_t graphics_ns, encoder_ns; /* engine time so far, 0: not counted */
    double graphics, encoder;         /* ratio over the last interval, NaN unknown */
};

struct amd_rows {
    struct amd_row *row;
    size_t count, capacity;
};

enum { AMD_ECC_CORRECTED, AMD_ECC_UNCORRECTED, AMD_XGMI_ERRORS, AMD_PCIE_REPLAYS, AMD_HEALTH };
enum { AMD_RESIDENCIES = 5 };

struct amd_card {
    void *handle;    /* AMD SMI */
    uint32_t number; /* ROCm SMI */
    int device;      /* index in the frame */
    struct gt_energy_counter energy;
    struct gt_energy_check check;
    struct gt_power_integral integral;
    bool is_apu;      /* cores and GPU on one package, whose power it tells */
    bool is_left_out; /* energy of a package whose cores are counted by another source */
    bool is_asleep;   /* it is not asked anything */
    double value[GT_METRIC_COUNT];
    struct amd_rows rows;
    int64_t rows_ns; /* when they were read */
    int64_t read_ns; /* the same of the values */
    double health[AMD_HEALTH];
    uint64_t uncounted;                  /* blocks of the chip whose errors nobody counts */
    uint32_t residency[AMD_RESIDENCIES]; /* as read last; UINT32_MAX: not known */
};

struct amd {
    const struct amd_library *kind;
    struct gt_library library;
    struct amdsmi_functions amdsmi;
    struct rsmi_functions rsmi;
    unsigned amdsmi_version;
    bool has_unknown_rows;
    const struct gt_clock *clock;
    struct amd_card *card;
    size_t card_count;
    struct gt_pace values, lists;
    int64_t health_ns; /* when health is read next; 0: it has not been */
    struct gt_gpu_pids pids;
    unsigned char *buffer;
    size_t buffer_size;
};

struct amd_library {
    const char *name; /* also of the --library option */
    const char *title;
    const char *const *files; /* NULL-terminated */
    const struct gt_symbol *symbols;
    size_t symbol_count;
    size_t functions;                                     /* offset in struct amd */
    int denied;                                           /* the result that means "no permission" */
    int (*start)(struct amd *amd);                        /* the library's result */
    int (*list)(struct amd *amd, struct gt_frame *frame); /* add the cards: 0, -ENOMEM */
    void (*read)(struct amd *amd, struct amd_card *card, struct amd_reading *reading);
    int (*read_rows)(struct amd *amd, struct amd_card *card, const struct gt_frame *frame, struct amd_rows *rows);
    /* These give the library's result. */
    int (*errors)(struct amd *amd, const struct amd_card *card, uint64_t block, struct amd_errors *ret);
    int (*replays)(struct amd *amd, const struct amd_card *card, uint64_t *ret);
    void (*stop)(struct amd *amd);
};

extern const struct gt_collector_type gt_collector_amd;
extern const struct amd_library gt_amdsmi_library, gt_rsmi_library;

/* The libraries add cards and rows. Returns a new card, whose device is the last of the frame, or NULL without memory. */
struct amd_card *gt_amd_add_card(struct amd *amd, struct gt_frame *frame);
int gt_amd_add_row(struct amd_rows *rows, struct amd_row row);
double gt_amd_percent(int result, uint32_t percent);
/* Read what the driver counts of errors, once a minute and at the end. */
void gt_amd_read_health(struct amd *amd, bool is_last);
/* Which of them there are; `state` is the collector's, or NULL. */
void gt_amd_survey_health(void *state, struct gt_availability *ret);
/* The reasons for which the chip is held back, or was since they were last asked for, as gpu_throttle has them; NaN: not known. */
double gt_amd_throttle(const struct amd *amd, struct amd_card *card, const char *pci);

#endif
