/* Descriptors that a program with privileges of its own (setuid, or file capabilities) opened before it gave them up. Figures come
 * from these, so the privileges need not be kept. They are collected once, before there are threads, and only looked up later.
 *
 * Names are those of files on this machine, without a leading slash, and "perf/TYPE/CONFIG/CPU" of counters. */
#ifndef GT_BASE_EARLY_H
#define GT_BASE_EARLY_H

#include <stdbool.h>

/* From begin to end, files that are opened for reading are kept unless everybody may read them. */
void gt_early_begin(void);
void gt_early_end(void);
/* Keep a duplicate of `fd`, which has just been opened. Outside of begin and end this does nothing. */
void gt_early_keep(const char *name, int fd);
/* Returns a duplicate of the kept descriptor, for the caller to close, -ENOENT, or the errno of the duplication. */
int gt_early_open(const char *name);
/* Is one kept whose name begins with `prefix`? */
bool gt_early_has(const char *prefix);

#endif
