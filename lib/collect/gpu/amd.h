/* The AMD collector's own state, shared by its files: one collector, two libraries behind it. */
#ifndef GT_COLLECT_AMD_H
#define GT_COLLECT_AMD_H

#include "base/library.h"
#include "collect/gpu/amd_api.h"
#include "collect/gpu/gpu.h"
#include "collect/gpu/gpu_pid.h"
#include "collect/energy/power.h"

/* One moment of one card as its library tells it; NaN what it does not. */
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
    void (*stop)(struct amd *amd);
};

extern const struct amd_library gt_amdsmi_library, gt_rsmi_library;

/* For the libraries. A new card and its device (the last of the frame); NULL without memory. */
struct amd_card *gt_amd_add_card(struct amd *amd, struct gt_frame *frame);
int gt_amd_add_row(struct amd_rows *rows, struct amd_row row);
double gt_amd_percent(int result, uint32_t percent);

#endif
