/* The processes of a job by name, each from its beginning to its end. All with detail, else the first thousand, in recordings
 * in SQLite. */
#ifndef GT_SAMPLE_LIFE_H
#define GT_SAMPLE_LIFE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { GT_LIFE_NAME = 32, GT_LIFE_COMMAND = 128 };

struct gt_life {
    uint64_t number; /* from 0, in the order in which they were heard of */
    pid_t pid;
    pid_t parent;                  /* the first that is known; 0: none is */
    uint64_t start;                /* as in rows of samples; 0: not known */
    char name[GT_LIFE_NAME];       /* as ps shows it, the last it had; "" not known */
    char command[GT_LIFE_COMMAND]; /* its words, the last it had, shortened; "" not known */
    double begin, end;             /* seconds since tracking began, negative before; NaN: not known, or it lives */
    double ram_peak;               /* bytes: its largest resident set */
    double cpu_time;               /* seconds, of those since tracking began */
    int rank;                      /* 1 more than that among those below the tracker; 0: it is of none */
};

struct gt_lives {
    struct gt_life *life;
    size_t count, capacity;
};

/* Append; 0 or -ENOMEM. */
int gt_lives_add(struct gt_lives *lives, const struct gt_life *life);
/* Of several with one number the last stays; in ascending order of numbers. 0 or -ENOMEM. */
int gt_lives_unify(struct gt_lives *lives);
/* In the order in which they began, those of which that is not known behind. */
void gt_lives_sort(struct gt_lives *lives);
/* The kernel tells of beginnings and ends a moment after them: none is later than the end of the job, `elapsed`. */
void gt_lives_end(struct gt_lives *lives, double elapsed);
/* Returns the CPU seconds of all of them, as far as they are known. */
double gt_lives_cpu(const struct gt_lives *lives);
/* Share out CPU seconds that the ends of all but the main process have taken. Ending takes longer the more memory a process has. Does
 * nothing where the CPU time of an ended process is not known, because these seconds may be its own. */
void gt_lives_share_ends(struct gt_lives *lives, pid_t main, double seconds);
void gt_lives_release(struct gt_lives *lives);

/* A text cut to fit into `size` bytes: never within a character, and with an ellipsis where something is missing. */
void gt_life_shorten(char *ret, size_t size, const char *text);

/* Processes as a tree: each below the one that started it. */

struct gt_life_place {
    size_t life;    /* index into the list */
    unsigned depth; /* 0: its parent is none of the list */
    uint64_t open;  /* bit d: what stands at depth d above it, or itself, has a sibling further down */
};

/* The lives in the order of a drawn tree: those that begin earlier before later ones, and each before its children. `sorted` is as
 * gt_lives_sort leaves it. A parent is the last process of that number that began before. *ret has one place for each, free with free().
 * Returns 0 or -ENOMEM. */
int gt_life_tree(struct gt_life_place **ret, const struct gt_lives *sorted);

enum { GT_LIFE_BRANCH_DEPTH = 12, GT_LIFE_BRANCH_SIZE = GT_LIFE_BRANCH_DEPTH * 4 + 1 };
/* Draw the lines before its name: "│ ├ ". Deeper ones are drawn as if at GT_LIFE_BRANCH_DEPTH. */
void gt_life_branch(char ret[GT_LIFE_BRANCH_SIZE], const struct gt_life_place *place);

#endif
