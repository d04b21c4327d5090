/* What a program with privileges of its own (setuid, or file capabilities) opened before it gave them up. It is filled once, before
 * there are threads, and then only looked up: so the figures come from descriptors, and the privileges need not be kept.
 *
 * Names are those of files on this machine, without a leading slash, and "perf/TYPE/CONFIG/CPU" of counters. */
#ifndef GT_BASE_EARLY_H
#define GT_BASE_EARLY_H

#include <stdbool.h>

/* From here to the end what is opened for reading is kept, as far as not everybody may read it. */
void gt_early_begin(void);
void gt_early_end(void);
/* Keep a duplicate of what has just been opened; nothing outside begin and end. */
void gt_early_keep(const char *name, int fd);
/* A duplicate of what was kept, the caller's to close, or -ENOENT. */
int gt_early_open(const char *name);
/* Whether anything was kept whose name begins so. */
bool gt_early_has(const char *prefix);
/* Forget all of it. */
void gt_early_close(void);

#endif
