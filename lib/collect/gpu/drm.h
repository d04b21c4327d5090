/* The kernel's graphics drivers describe each client in the fdinfo files of open devices.
 *
 * The form is Documentation/gpu/drm-usage-stats.rst of the kernel; xe counts cycles, the others nanoseconds. */
#ifndef GT_COLLECT_GPU_DRM_H
#define GT_COLLECT_GPU_DRM_H

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
    double bytes; /* memory it holds: the card's own, or the machine's when the card has none; NaN: missing */
    struct drm_engine engine[DRM_MOST_ENGINES];
    size_t engine_count;
    int card; /* the collector's own: which card, whose client, as of when */
    pid_t pid;
};

/* Engines were busy for this share of the time since an older reading; NaN: the driver does not count it. */
struct drm_usage {
    double graphics, encoder, decoder;
};

/* Parse the text of an fdinfo file. Returns false for one that is not of a DRM device, or has no client. */
bool gt_drm_parse(const char *text, struct drm_client *client);
/* `before` NULL: the client was opened since then, its counters began at 0. */
struct drm_usage gt_drm_usage(const struct drm_client *now, const struct drm_client *before, double seconds);

#endif
