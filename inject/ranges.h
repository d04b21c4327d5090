/* Ranges that a program marks for other tools, written as code blocks of ours. interfaces.c takes the calls of each
 * interface (NVTX and so on) to these functions.
 *
 * This lives in programs that know nothing of it: it prints nothing, handles no signals, starts no threads, needs the C
 * library alone, and does nothing until an interface calls. After fork the child begins anew: what its parent has open
 * is the parent's. */
#ifndef INJECT_RANGES_H
#define INJECT_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocks/block_source.h"

/* A domain has its own names and its own nesting of ranges. It is never freed, because programs use domains after their
 * end. */
struct gt_range_domain;
/* A name as the program gives it, and as it is written. It is never freed either. */
struct gt_range_name;

enum {
    GT_RANGE_NAMES = 10000,
    GT_RANGE_LEVELS = 256,
    GT_RANGE_MOST = 1000000, /* calls of a process by default */
    GT_RANGE_NO_LEVEL = -2,  /* of a domain that is off */
};

/* Is this source asked for, and is there a folder to write to? The first call in each process reads that. */
bool gt_ranges_begin(enum gt_block_source_id source);
/* Returns the domain of that name (NULL: the default one of the source); the same name has the same domain. Beyond
 * 10,000 domains it is one that is off. NULL: nothing can be written. */
struct gt_range_domain *gt_range_domain(enum gt_block_source_id source, const char *name);
/* Ends the domain: its further ranges are not kept. */
void gt_range_domain_end(struct gt_range_domain *domain);
bool gt_range_domain_is_on(const struct gt_range_domain *domain);

/* Returns a name of a domain; NULL if the domain is off, or beyond GT_RANGE_NAMES. */
struct gt_range_name *gt_range_name(struct gt_range_domain *domain, const char *text);
/* Returns UTF-32 as UTF-8, to be freed; invalid characters become U+FFFD. NULL for an empty text. */
char *gt_range_narrow(const wchar_t *text);
/* Returns the same name in another domain. */
struct gt_range_name *gt_range_name_in(struct gt_range_domain *domain, struct gt_range_name *name);

/* Begin and end ranges that nest on their thread and in their domain. Both return the level, from 0, or a negative
 * number. */
int gt_range_push(struct gt_range_domain *domain, struct gt_range_name *name);
int gt_range_pop(struct gt_range_domain *domain);
/* Begin and end ranges that do not nest. The number is 0 when no range began. Unknown and ended numbers are ignored. */
uint64_t gt_range_start(struct gt_range_domain *domain, struct gt_range_name *name);
void gt_range_end(uint64_t id);
/* Remember the number by which another library knows the range; find the latest range with that number, or 0. */
void gt_range_set_foreign(uint64_t id, uint64_t foreign);
uint64_t gt_range_of_foreign(uint64_t foreign);

/* Adds up calls that come in millions: one call of up to a second is written for all of them on their thread, until
 * another range begins or ends there. Times are of the monotonic clock. */
void gt_range_sum(struct gt_range_domain *domain, struct gt_range_name *name, int64_t begin_ns, int64_t end_ns);

/* For blocks of hooks, which are in the default domain. Returns true if --blocks-domains and --blocks-names select the
 * name. */
bool gt_range_is_wanted(const char *name);
/* Counts a call. Returns false beyond --blocks-most. */
bool gt_range_admit_call(void);

#endif
