/* Code blocks: stretches of a program with a name, marked, and joined with recordings. Part of gpu_tracker.h. */
#ifndef GPU_TRACKER_BLOCK_H
#define GPU_TRACKER_BLOCK_H

#ifndef GPU_TRACKER_H
#error "include gpu_tracker.h"
#endif

/* Mark where a named stretch of the calling program begins and ends, from any thread, nested and recursive as you like.
 * Rows go to one file for each process: in the folder named by GPU_TRACKER_BLOCKS when it is set (`gpu-tracker run
 * --blocks` sets it), else <pid>.csv in the current folder. A file of that name left by an earlier process is kept, and
 * <pid>-2.csv is written instead. After fork the child writes a file of its own. A row survives kill -9 of the process, and
 * the file can be read at any moment: it ends with a whole row.
 * Marking never fails loudly: without a place to write it does nothing, and gt_block_trouble() tells why.
 * Not from signal handlers. */
#define GT_BLOCKS_ENVIRONMENT "GPU_TRACKER_BLOCKS"
/* "no": the CPU clock of the process is not read, which is two fifths of what a border costs, and blocks have no CPU time. Read at
 * the first block of a process. */
#define GT_BLOCKS_CPU_ENVIRONMENT "GPU_TRACKER_BLOCKS_CPU"

struct gt_block_file;

struct gt_block {
    const char *name;           /* borrowed until the end of the block */
    struct gt_block_file *file; /* NULL: nothing was written */
    uint64_t process;
    uint64_t call;
    pid_t thread;
};

/* A name of more than 1,000 bytes is cut off in files, and ends in a number made of the whole. */
struct gt_block gt_block_begin(const char *name);
/* The same where it is known how many calls of that name there will be, so that viewers tell how far the program is and how long it will
 * still take. 0: it is not known. */
struct gt_block gt_block_begin_of(const char *name, uint64_t total);
/* In a process forked since the beginning this does nothing: the block is its parent's. */
void gt_block_end(struct gt_block *block);
/* The same, with the CPU seconds of child processes that were the block's work and have been waited for. */
void gt_block_end_with_children(struct gt_block *block, double cpu_seconds);

/* NULL, or one sentence about why blocks of this process are not being recorded. */
const char *gt_block_trouble(void);

/* GT_BLOCK("name"); marks the rest of the enclosing scope; GT_BLOCK_OF("name", total); the same, as one of `total` calls;
 * GT_BLOCK_HERE(); the same as the first, named "file:line". */
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

/* Make the report of what each block used: a recording joined with sub-tracking files, ours or the original gpu_tracker's. */
struct gt_blocks_options {
    size_t size;
    const char *tracking_file;
    /* Files and folders, NULL-terminated; NULL or none: what the run collected. */
    const char *const *sub_tracking_files;
    int skip_bad_rows;   /* count malformed rows and warn of them; 0: the first one is an error */
    int calls;           /* add tables of every call and of every process */
    int blocks_optional; /* without any blocks, the overall figures alone instead of an error */
    const char *carbon_intensity, *carbon_file, *price;          /* as of a tracker; NULL: as recorded */
    void (*warn)(void *context, const char *sentence);           /* may be NULL */
    void (*progress)(void *context, unsigned long long samples); /* may be NULL; now and then while reading */
    void *context;
    int page; /* keep what HTML pages draw: each sample and each GPU over time */
};
/* -ENOENT: there is no such file, or there are no blocks; -EINVAL: a file is of another kind, or an option is wrong; -EBADMSG names a
 * row that cannot be read. */
int gt_blocks_analyze(const struct gt_blocks_options *options, struct gt_report **ret, struct gt_error *error);

/* Make one sub-tracking file of several, or of all in a folder. -EEXIST without `overwrite`. */
int gt_blocks_combine(const char *path, const char *const *files, int skip_bad_rows, int overwrite,
                      struct gt_error *error);

/* Results side by side. A session is "name=path": a result file of gt_blocks_analyze (JSON, or a pickle, also
 * of the original gpu_tracker), or a tracking file. A name given again is another run of that session, and runs are compared as
 * distributions. The first session is what the others are measured against. */
struct gt_compare_options {
    size_t size;
    const char *const *sessions; /* NULL-terminated */
    const char *statistic;       /* "min", "max", "mean", "std", "p50", "p95", "p99"; NULL: "mean" */
    int strict;                  /* blocks that do not match are an error, as in the original */
    const char *const *rules;    /* "combined_ram.max>+5%", ...; NULL-terminated, may be NULL */
    void (*warn)(void *context, const char *sentence); /* may be NULL; a broken rule is told here, too */
    void *context;
    int allow_partial; /* energy that was measured for a part of the time, and rules on runs that failed, count as they are; else they
                        * are missing, and that is told */
    int page; /* keep what HTML pages draw: the curves of sessions that are recordings */
};
/* Returns how many rules are broken. */
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
