/* Code blocks: named parts of a program that are joined with recordings. Part of gpu_tracker.h. */
#ifndef GPU_TRACKER_BLOCK_H
#define GPU_TRACKER_BLOCK_H

#ifndef GPU_TRACKER_H
#error "include gpu_tracker.h"
#endif

/* Mark the begin and the end of a named part of the program, from any thread, also nested and recursive.
 * Rows go to one file for each process: in the folder named by GPU_TRACKER_BLOCKS when it is set (`gpu-tracker run
 * --blocks` sets it), else <pid>.csv in the current folder. If an earlier process left a file of that name,
 * <pid>-2.csv is written instead. After fork the child writes its own file. Rows survive kill -9 of the process, and
 * the file always ends with a whole row. Marking reports no errors: if it cannot write, it does nothing, and gt_block_trouble() returns the
 * reason. Do not call it from signal handlers. */
#define GT_BLOCKS_ENVIRONMENT "GPU_TRACKER_BLOCKS"
/* "no": blocks have no CPU time, which saves two fifths of their cost. Read at the first block of a process. */
#define GT_BLOCKS_CPU_ENVIRONMENT "GPU_TRACKER_BLOCKS_CPU"

struct gt_block_file;

struct gt_block {
    const char *name;           /* borrowed until the end of the block */
    struct gt_block_file *file; /* NULL: not written */
    uint64_t process;
    uint64_t call;
    pid_t thread;
};

/* Files cut a name of more than 1,000 bytes and append a hash of the whole name. */
struct gt_block gt_block_begin(const char *name);
/* The same with the total number of calls of that name, from which viewers derive progress and remaining time. 0: unknown. */
struct gt_block gt_block_begin_of(const char *name, uint64_t total);
/* In a process that was forked after the begin this does nothing: the block belongs to the parent. */
void gt_block_end(struct gt_block *block);
/* The same, with the CPU seconds of reaped child processes that belong to the block. */
void gt_block_end_with_children(struct gt_block *block, double cpu_seconds);

/* Returns NULL, or one sentence with the reason why blocks of this process are not recorded. */
const char *gt_block_trouble(void);

/* GT_BLOCK("name"); marks the rest of the enclosing scope. GT_BLOCK_OF("name", total); also gives the number of calls.
 * GT_BLOCK_HERE(); uses "file:line" as the name. */
#define GT_BLOCK_JOIN_(a, b) a##b
#define GT_BLOCK_JOIN(a, b) GT_BLOCK_JOIN_(a, b)
#define GT_BLOCK_TEXT_(a) #a
#define GT_BLOCK_TEXT(a) GT_BLOCK_TEXT_(a)
#ifdef __cplusplus
#define GT_BLOCK_OF(name, total) const gt_block_scope GT_BLOCK_JOIN(gt_block_, __LINE__)(name, total)
#else
/* clang-format off */
#define GT_BLOCK_OF(name, total) \
    __attribute__((unused, cleanup(gt_block_end))) \
    struct gt_block GT_BLOCK_JOIN(gt_block_, __LINE__) = gt_block_begin_of(name, total)
/* clang-format on */
#endif
#define GT_BLOCK(name) GT_BLOCK_OF(name, 0)
#define GT_BLOCK_HERE() GT_BLOCK(__FILE__ ":" GT_BLOCK_TEXT(__LINE__))

/* Report the use of each block: a recording joined with sub-tracking files, also of the original gpu_tracker. */
struct gt_blocks_options {
    size_t size;
    const char *tracking_file;
    /* Files and folders, NULL-terminated; NULL or empty: the blocks that the run recorded. */
    const char *const *sub_tracking_files;
    int skip_bad_rows;   /* count malformed rows and warn of them; 0: the first one is an error */
    int calls;           /* add tables of every call and of every process */
    int blocks_optional; /* without blocks: only the values of the whole job, not an error */
    const char *carbon_intensity, *carbon_file, *price;          /* as for a tracker; NULL: as recorded */
    void (*warn)(void *context, const char *sentence);           /* may be NULL */
    void (*progress)(void *context, unsigned long long samples); /* may be NULL; now and then while reading */
    void *context;
    int page; /* keep the series of HTML pages: each sample and each GPU over time */
};
/* -ENOENT: a file or all blocks are missing; -EINVAL: a file of another kind, or a wrong option; -EBADMSG names an unreadable row. */
int gt_blocks_analyze(const struct gt_blocks_options *options, struct gt_report **ret, struct gt_error *error);

/* Combine several sub-tracking files, or all files of a folder. -EEXIST without `overwrite`. */
int gt_blocks_combine(const char *path, const char *const *files, int skip_bad_rows, int overwrite,
                      struct gt_error *error);

/* Results side by side. A session is "name=path": a result file of gt_blocks_analyze (JSON, or the pickle that
 * it writes), or a tracking file. A repeated name is another run of that session; runs are compared as
 * distributions. The first session is the baseline. */
struct gt_compare_options {
    size_t size;
    const char *const *sessions; /* NULL-terminated */
    const char *statistic;       /* "min", "max", "mean", "std", "p50", "p95", "p99"; NULL: "mean" */
    int strict;                  /* blocks that do not match are an error, as in the original */
    const char *const *rules;    /* "combined_ram.max>+5%", ...; NULL-terminated, may be NULL */
    void (*warn)(void *context, const char *sentence); /* may be NULL; also called for each broken rule */
    void *context;
    int allow_partial; /* use energy that was measured part of the time, and runs that failed; 0: both are missing, with a
                        * warning */
    int page;          /* keep the series of HTML pages, for sessions that are recordings */
};
/* Returns the number of broken rules. */
int gt_blocks_compare(const struct gt_compare_options *options, struct gt_report **ret, struct gt_error *error);

#ifdef __cplusplus
class gt_block_scope
{
public:
    explicit gt_block_scope(const char *name, uint64_t total = 0) : block(gt_block_begin_of(name, total)) {}
    ~gt_block_scope() { gt_block_end(&block); }
    gt_block_scope(const gt_block_scope &) = delete;
    gt_block_scope &operator=(const gt_block_scope &) = delete;

private:
    struct gt_block block;
};
#endif

#endif
