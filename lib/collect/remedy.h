/* Remedies: the lines by which an administrator would let this user read what is denied. Who reads it knows them; nothing is done. */
#ifndef GT_COLLECT_REMEDY_H
#define GT_COLLECT_REMEDY_H

#include <stdbool.h>

#include "base/error.h"
#include "base/root.h"

/* Numbers of capabilities(7), in linux/capability.h. */
enum gt_capability {
    GT_NO_CAPABILITY = -1,
    GT_CAPABILITY_NET_ADMIN = 12,
    GT_CAPABILITY_SYS_PTRACE = 19,
    GT_CAPABILITY_SYS_ADMIN = 21,
    GT_CAPABILITY_PERFMON = 38,
};

/* The rights of this process on a machine. */
struct gt_access {
    const struct gt_root *root;
    unsigned long long capabilities; /* in effect */
    char group[64];                  /* of the device that may not be opened, once that was found */
};

/* -EIO: the system does not tell. */
int gt_access_read(struct gt_access *access, const struct gt_root *root, struct gt_error *error);
bool gt_access_has(const struct gt_access *access, enum gt_capability capability);
bool gt_access_is_denied(const struct gt_access *access, const char *path, int mode);
bool gt_access_exists(const struct gt_access *access, const char *path);

/* "%s" in a command is the group of the device. A remedy without a command is a part of the one setcap line. */
struct gt_remedy {
    bool (*is_denied)(struct gt_access *access);
    const char *what, *command, *opens, *risk;
    enum gt_capability capability;
};

/* Tables end with an entry without is_denied. */
extern const struct gt_remedy gt_energy_remedies[], gt_process_remedies[], gt_gpu_remedies[];

#endif
