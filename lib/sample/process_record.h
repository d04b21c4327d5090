/* The processes of a job by name, each from its beginning to its end. All with detail, else the first thousand, in recordings
 * in SQLite. */
#ifndef GT_SAMPLE_PROCESS_RECORD_H
#define GT_SAMPLE_PROCESS_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { GT_PROCESS_RECORD_NAME = 32, GT_PROCESS_RECORD_COMMAND = 128 };

struct gt_process_record {
    uint64_t number; /* from 0, in the order in which they were heard of */
    pid_t pid;
    pid_t parent;                            /* the first that is known; 0: none is */
    uint64_t start;                          /* as in rows of samples; 0: not known */
    char name[GT_PROCESS_RECORD_NAME];       /* as ps shows it, the last it had; "" not known */
    char command[GT_PROCESS_RECORD_COMMAND]; /* its words, the last it had, shortened; "" not known */
    double begin, end; /* seconds since tracking began, negative before; NaN: not known, or it lives */
    double ram_peak;   /* bytes: its largest resident set */
    double cpu_time;   /* seconds, of those since tracking began */
    int rank;          /* 1 more than that among those below the tracker; 0: it is of none */
};

struct gt_process_records {
    struct gt_process_record *record;
    size_t count, capacity;
};

/* Append; 0 or -ENOMEM. */
int gt_process_records_add(struct gt_process_records *records, const struct gt_process_record *record);
/* Of several with one number the last stays; in ascending order of numbers. 0 or -ENOMEM. */
int gt_process_records_unify(struct gt_process_records *records);
/* In the order in which they began, those of which that is not known behind. */
void gt_process_records_sort(struct gt_process_records *records);
/* The kernel tells of beginnings and ends a moment after them: none is later than the end of the job, `elapsed`. */
void gt_process_records_end(struct gt_process_records *records, double elapsed);
/* Returns the CPU seconds of all of them, as far as they are known. */
double gt_process_records_cpu(const struct gt_process_records *records);
/* Share out CPU seconds that the ends of all but the main process have taken. Ending takes longer the more memory a process has. Does
 * nothing where the CPU time of an ended process is not known, because these seconds may be its own. */
void gt_process_records_share_ends(struct gt_process_records *records, pid_t main, double seconds);
void gt_process_records_release(struct gt_process_records *records);

/* A text cut to fit into `size` bytes: never within a character, and with an ellipsis where something is missing. */
void gt_shorten(char *ret, size_t size, const char *text);

/* Processes as a tree: each below the one that started it. */

struct gt_process_tree_row {
    size_t record;  /* index into the list */
    unsigned depth; /* 0: its parent is none of the list */
    uint64_t open;  /* bit d: what stands at depth d above it, or itself, has a sibling further down */
};

/* List the processes in the order of a drawn tree: those that begin earlier before later ones, and each before its children.
 * `sorted` is as gt_process_records_sort leaves it. A parent is the last process of that number that began before. *ret has one
 * row for each, free with free(). Returns 0 or -ENOMEM. */
int gt_process_tree(struct gt_process_tree_row **ret, const struct gt_process_records *sorted);

enum { GT_PROCESS_TREE_DEPTH = 12, GT_PROCESS_TREE_BRANCH_SIZE = GT_PROCESS_TREE_DEPTH * 4 + 1 };
/* Draw the lines before its name: "│ ├ ". Deeper ones are drawn as if at GT_PROCESS_TREE_DEPTH. */
void gt_process_tree_branch(char ret[GT_PROCESS_TREE_BRANCH_SIZE], const struct gt_process_tree_row *place);

#endif
