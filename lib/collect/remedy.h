/* A remedy is a line by which an administrator would let this user read something that is denied. The folder that reads it also knows its
 * remedies. They are only shown, never carried out. */
#ifndef GT_COLLECT_REMEDY_H
#define GT_COLLECT_REMEDY_H

#include <stdbool.h>

#include "base/error.h"
#include "base/root.h"

/* The numbers are those of linux/capability.h; see capabilities(7). */
enum gt_capability {
    GT_NO_CAPABILITY = -1,
    GT_CAPABILITY_NET_ADMIN = 12,
    GT_CAPABILITY_SYS_PTRACE = 19,
    GT_CAPABILITY_SYS_ADMIN = 21,
    GT_CAPABILITY_PERFMON = 38,
};

/* This process has these rights on a machine. */
struct gt_rights {
    const struct gt_root *root;
    unsigned long long capabilities; /* in effect */
    char group[64];                  /* of the device that may not be opened, once that was found */
};

/* Read the capabilities of this process. Returns 0, or -EIO where the system does not tell them. */
int gt_access_read(struct gt_rights *access, const struct gt_root *root, struct gt_error *error);
bool gt_access_has(const struct gt_rights *access, enum gt_capability capability);
bool gt_access_is_denied(const struct gt_rights *access, const char *path, int mode);
bool gt_access_exists(const struct gt_rights *access, const char *path);

/* "%s" in a command stands for the group of the device. A remedy without a command becomes a part of the one setcap line. */
struct gt_remedy {
    bool (*is_denied)(struct gt_rights *access);
    const char *what, *command, *opens, *risk;
    enum gt_capability capability;
};

/* Each table ends with an entry without is_denied. */
extern const struct gt_remedy gt_energy_remedies[], gt_process_remedies[], gt_gpu_remedies[];

#endif
