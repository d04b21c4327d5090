/* Ranges that a program marks for other tools, written as code blocks of ours. interfaces.c takes the calls of each interface (NVTX and so
 * on) to these functions.
 *
 * This lives in programs that know nothing of it: it prints nothing, handles no signals, starts no threads, needs the C library alone,
 * and does nothing until an interface calls. After fork the child begins anew: what its parent has open is the parent's. */
#ifndef INJECT_RANGES_H
#define INJECT_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocks/block_source.h"

/* Where names are in force, and pushes and pops belong together. They are never freed, for programs use them after their end. */
struct gt_range_domain;
/* A name as the program gives it, and as it is written; kept for good as well. */
struct gt_range_name;

enum {
    GT_RANGE_NAMES = 10000,
    GT_RANGE_LEVELS = 256,
    GT_RANGE_MOST = 1000000, /* calls of a process by default */
    GT_RANGE_NO_LEVEL = -2,  /* of a domain that is off */
};

/* Is this source asked for, and is there a folder to write to? The first call in each process reads that. */
bool gt_ranges_begin(enum gt_block_source_id source);
/* The domain of that name, NULL for the default one of a source; the same for the same name. One that is off, where there
 * are too many; NULL where nothing can be written. */
struct gt_range_domain *gt_range_domain(enum gt_block_source_id source, const char *name);
/* No range of it is kept from now on. */
void gt_range_domain_end(struct gt_range_domain *domain);
bool gt_range_domain_is_on(const struct gt_range_domain *domain);

/* A name of a domain; NULL for a domain that is off, or when there are too many names. */
struct gt_range_name *gt_range_name(struct gt_range_domain *domain, const char *text);
/* UTF-32 as UTF-8, U+FFFD for what is no character: free it. NULL for an empty text. */
char *gt_range_narrow(const wchar_t *text);
/* The name in another domain than the one it was made for. */
struct gt_range_name *gt_range_name_in(struct gt_range_domain *domain, struct gt_range_name *name);

/* Ranges that nest on their thread and in their domain: the level that begins or ends, from 0, or a negative number. */
int gt_range_push(struct gt_range_domain *domain, struct gt_range_name *name);
int gt_range_pop(struct gt_range_domain *domain);
/* Ranges that end anywhere: a number that is not 0, or 0 when none began. Unknown and ended ones are ignored. */
uint64_t gt_range_start(struct gt_range_domain *domain, struct gt_range_name *name);
void gt_range_end(uint64_t id);
/* The program knows the range by the number of another library. Returns the latest such range, or 0. */
void gt_range_set_foreign(uint64_t id, uint64_t foreign);
uint64_t gt_range_of_foreign(uint64_t foreign);

/* Calls that come in millions are added up: one call of up to a second stands for all of them on their thread, as long as no other range
 * begins or ends there. Moments of the monotonic clock. */
void gt_range_sum(struct gt_range_domain *domain, struct gt_range_name *name, int64_t begin_ns, int64_t end_ns);

/* For blocks of hooks: does the name suit --blocks-domains (they are in the default domain) and --blocks-names, and may one more call be
 * kept? Both are true where nothing can be written. */
bool gt_range_is_wanted(const char *name);
bool gt_range_admit_call(void);

#endif
