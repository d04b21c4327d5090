/* Process trees whose memory is known by construction, for tests on the running kernel. Processes are forked from the test,
 * so `megabytes` 0 gives the same tree without the memory: the difference of the two is what was constructed. */
#ifndef TEST_SUPPORT_SCENARIO_H
#define TEST_SUPPORT_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum scenario_kind {
    COPY_ON_WRITE,   /* 4 units written before the fork, 2 of tmpfs read by all, 1 private in each of 5 processes: 11 */
    WITH_STRANGER,   /* the same, and a process outside the tree maps the tmpfs: 11 */
    DISJOINT_WRITES, /* 4 written before the fork, each of 4 children overwrites another quarter, the root unmaps: 8 */
    SIBLINGS_SHARED, /* 4 of shared anonymous memory, touched by the children, unmapped in the root: 4 */
    SIBLINGS_FILE,   /* 4 of a file, read by the children alone: 4 */
    HUGE_PAGES,      /* 4 written in one range that asks for huge pages, forked four times: 4 */
    READ_ONLY_ZEROS, /* 8 read and never written, in small and huge zero pages: 0 */
    SPARSE,          /* 4 private, scattered over 1 TiB of address space in the root: 4 */
    SCENARIO_COUNT
};

struct scenario {
    pid_t root, stranger;
    pid_t pid[8]; /* the tree, root first */
    size_t count;
};

extern const struct scenario_truth {
    const char *name;
    int units; /* expected unique memory, in units of `megabytes` */
} scenario_truth[SCENARIO_COUNT];

/* Under valgrind every page has others beside it: what a tree has is not what was constructed. */
bool scenario_is_distorted(void);

bool scenario_begin(struct scenario *scenario, enum scenario_kind kind, size_t megabytes);
void scenario_end(struct scenario *scenario);

#endif
