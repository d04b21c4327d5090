/* The kernel's graphics drivers tell of each client in the fdinfo files of open devices.
 *
 * The form is Documentation/gpu/drm-usage-stats.rst of the kernel; xe counts cycles, the others nanoseconds. */
#ifndef GT_COLLECT_DRM_H
#define GT_COLLECT_DRM_H

#include "collect/gpu/gpu.h"
#include "collect/energy/power.h"

enum { DRM_MOST_ENGINES = 16 };

struct drm_engine {
    char name[24];
    uint64_t busy;     /* nanoseconds, or cycles when total is not 0 */
    uint64_t total;    /* cycles that went by */
    unsigned capacity; /* how many of this engine there are */
};

/* One client: an open device file, shared by duplicated and inherited descriptors. */
struct drm_client {
    char driver[24];
    char pci[16]; /* empty when the device is not on PCI */
    uint64_t id;
    bool has_id;
    double bytes; /* memory it holds: the card's own, or the machine's when the card has none; NaN not told */
    struct drm_engine engine[DRM_MOST_ENGINES];
    size_t engine_count;
    int card; /* the collector's own: which card, whose client, as of when */
    pid_t pid;
};

/* Share of the time since an older reading; NaN what the driver does not count. */
struct drm_usage {
    double graphics, encoder, decoder;
};

/* Parse the text of an fdinfo file. False when it is not of a DRM device that tells a client. */
bool gt_drm_parse(const char *text, struct drm_client *client);
/* `before` NULL: the client was opened since then, its counters began at 0. */
struct drm_usage gt_drm_usage(const struct drm_client *now, const struct drm_client *before, double seconds);

/* The collector's own state. */
struct drm_driver {
    const char *name;
    const char *brand;
};

enum { DRM_MOST_CARDS = 64, DRM_DIRECTORY = 48, DRM_HWMON = 96 };

struct drm_card {
    char directory[DRM_DIRECTORY]; /* "sys/class/drm/card0" */
    char hwmon[DRM_HWMON];         /* "sys/class/drm/card0/device/hwmon/hwmon3", empty when it has none */
    const struct drm_driver *driver;
    int device;       /* index in the frame */
    unsigned missing; /* bits of the sources that are not there */
    struct gt_energy_counter energy;
    struct gt_power_integral integral; /* where there is no counter */
    int64_t read_ns;
    bool is_asleep;  /* it was not asked */
    bool is_package; /* its power is that of a processor with a graphics unit: counted there */
    double value[GT_METRIC_COUNT];
};

struct drm_clients {
    struct drm_client *client;
    size_t count, capacity;
};

struct drm {
    const struct gt_root *root;
    const struct gt_clock *clock;
    struct drm_card card[DRM_MOST_CARDS];
    size_t card_count;
    struct gt_pace values, lists;
    struct drm_clients clients, previous;
    struct drm_usage *usage; /* one for each client */
    size_t usage_capacity;
    int64_t clients_ns; /* 0: not read yet */
};

/* drm_card.c: the cards that are not measured by another collector; how many graphics cards there are at all. */
int gt_drm_add_cards(struct drm *drm, const struct gt_collect_options *options, struct gt_frame *frame, int *ret_found);
void gt_drm_read_card(struct drm *drm, struct drm_card *card);

#endif
