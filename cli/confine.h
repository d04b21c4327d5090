/* Giving up what a program that answers others does not need. */
#ifndef CLI_CONFINE_H
#define CLI_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

struct confine {
    bool has_user; /* become this user and group */
    uid_t uid;
    gid_t gid;
};

/* Look up names; NULL: root becomes gpu-tracker, or nobody where there is no such user, and others stay who they are.
 * 0, or an exit status after saying what is wrong. */
int confine_find(struct confine *confine, const char *user);
/* The group of that name. */
int confine_find_group(gid_t *ret, const char *group);
/* Become the user, drop every capability for good, and allow no system calls but those of an answering loop over
 * descriptors that are open. There is no way back. 0, or an exit status after saying what is wrong. */
int confine_for_good(const struct confine *confine);

#endif
