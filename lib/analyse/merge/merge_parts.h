/* What the files of the merge share. Private to them. */
#ifndef GT_ANALYSE_MERGE_PARTS_H
#define GT_ANALYSE_MERGE_PARTS_H

#include <regex.h>

#include "analyse/merge/merge.h"
#include "analyse/merge/merged_file.h"
#include "trace/source.h"

/* Processes and threads of the merged file. */
struct gt_merge_lane {
    int64_t pid, tid;
    uint32_t first; /* the first track of this pid and tid; its is_told counts for all */
    bool is_told;   /* the thread's name was written */
};

struct gt_merge_process {
    int64_t pid;
    uint32_t first; /* the first process of this pid */
    bool is_told;
};

struct gt_merge {
    const struct gt_merge_options *options;
    const char *output; /* where the file goes; from `name` when the options do not tell */
    struct gt_buffer name;
    const regex_t *metrics; /* NULL: all */
    struct gt_trace_source *source;
    struct gt_trace *trace;
    struct gt_merged_file *file;
    int64_t base;                     /* ns that the merged file's times count from; whole microseconds */
    int64_t *shift;                   /* ns by which each file is moved */
    const char **clock;               /* for each file: how its times became absolute */
    struct gt_merge_lane *lane;       /* of each track */
    struct gt_merge_process *process; /* of each process */
    size_t nodes;                     /* how many there are: ids are kept apart when more than one */
    struct gt_columns_sink columns;   /* takes the samples */
    uint64_t events, counters, marks;
    int64_t first, last; /* of what was written */
};

/* Pids by class of phase, in SMDebug's order, and thread ids that JavaScript can hold. */
int gt_merge_number(struct gt_merge *merge);
int64_t gt_merge_pid(int64_t next[], const char *phase); /* `next` holds GT_MERGE_CLASSES numbers, 0 at first */
enum { GT_MERGE_CLASSES = 11 };

/* Writing. */
int gt_merge_event(void *merge, const struct gt_trace_event *event, struct gt_error *error);
void gt_merge_time(struct gt_buffer *out, int64_t ns); /* as microseconds, exact */
void gt_merge_begin_event(struct gt_merge *merge);     /* the comma and line break before one */
void gt_merge_process(struct gt_merge *merge, int64_t pid, const char *name, const char *label);
void gt_merge_touch(struct gt_merge *merge, int64_t start, int64_t end);
/* Counters and low-GPU marks of all samples collected. */
int gt_merge_samples(struct gt_merge *merge, struct gt_error *error);

#endif
