/* Traces are merged into one timeline, and analysed. Part of gpu_tracker.h. */
#ifndef GPU_TRACKER_TRACE_H
#define GPU_TRACKER_TRACE_H

#ifndef GPU_TRACKER_H
#error "include gpu_tracker.h"
#endif

/* ---- Traces ------------------------------------------------------------------------------------------------- */
/* The part that is wanted of timelines, system metrics, Python profiles and recordings. */
struct gt_trace_request {
    size_t size;
    /* "123" microseconds since the epoch; "+1.5" seconds after the begin of all; with steps a number. NULL: no bound */
    const char *start, *end;
    int by_step;
    const char *const *suffixes; /* NULL-terminated: only files whose names end so; NULL: all */
    const char *select;          /* extended regular expression on the names of events; NULL: all */
    const char *node;            /* one node by name, or a rank by number; NULL: all */
    int threads;                 /* 0: one for each core */
};

struct gt_merge_request {
    size_t size;
    double low_gpu;      /* percent of utilisation below which a GPU is marked; 0: no marks */
    const char *metrics; /* extended regular expression on NAME_DIMENSION_NODE of samples; NULL: all */
    const char *align;   /* an event that happened at one moment everywhere; NULL: clocks as the files tell them */
    const char *output;  /* .json or .json.gz; NULL: END_NODE_merged_timeline.json in the current folder */
    int overwrite;
    int critical_path; /* add the critical path of each step, as tracks and arrows; then the whole trace is kept in memory */
    int not_empty; /* where there is nothing to merge, make no file */
};

/* Report what files and folders hold. -ENOENT: there is no such path; -EINVAL: a file is of no known format, or the request is wrong. */
int gt_timeline_info(const char *const *paths, size_t count, const struct gt_trace_request *request,
                     struct gt_report **ret, struct gt_error *error);
/* Merge them into one Chrome trace, for Perfetto and chrome://tracing; the report says what went into it. Returns 1
 * where there was nothing to merge: the file is an empty list, if it is made. Errors are those of gt_timeline_info; -EEXIST: there is such
 * an output and `overwrite` is 0. */
int gt_timeline_merge(const char *const *paths, size_t count, const struct gt_trace_request *request,
                      const struct gt_merge_request *merge, struct gt_report **ret, struct gt_error *error);

struct gt_export_request {
    size_t size;
    const char *output; /* .sqlite or .arrow: tables; .html: a flame graph; .collapsed: stacks */
    int overwrite;
};

/* Write them in another form; the report says what went into the file. Errors as of gt_timeline_merge; -EINVAL also for an output of
 * another suffix. */
int gt_timeline_export(const char *const *paths, size_t count, const struct gt_trace_request *request,
                       const struct gt_export_request *what, struct gt_report **ret, struct gt_error *error);

/* ---- Profiles ------------------------------------------------------------------------------------------------ */
/* Analyses of traces. */
struct gt_profile_options {
    size_t size;
    const char *by;            /* what rows are made of; each analysis says which there are. NULL: its default */
    const char *const *phases; /* only these training phases, NULL-terminated; NULL: all */
    const char *device;        /* only resources of this type or name: "gpu", "cpu", "gpu0"; NULL: all */
    const char *ranges;        /* percent, first match wins: "90-100,10-90,0-10", which NULL is too */
    const char *key;           /* what lists are ordered by; NULL: the analysis's default */
    int top;                   /* rows of long lists; 0: 20, negative: all */
    const char *carbon_intensity, *carbon_file, *price; /* steps, phases: what their energy comes to, as of a tracker */
    const char *peak_flops;    /* flops: operations per second of one GPU, "312T" or "989e12"; NULL: not told */
    const char *operator_name; /* sequences: of the work that this operator or range launches; NULL: each operator */
    int length;                /* sequences: of so many kernels; 0: all that one call launches */
};

/* Describe analysis number `index`. 0, or -ENOENT past the last. */
int gt_analysis_info(size_t index, const char **name, const char **help);
/* 1 when an analysis is told nothing by an option of struct gt_profile_options ("by", "phase", "key", ...), and so refuses it; else 0. */
int gt_analysis_refuses(const char *name, const char *option);
/* Read files and folders as one trace and analyse it; "diff" takes two paths, and compares the second with the first. -EINVAL names
 * the analyses there are, or the option that is wrong. 1: there was nothing in the files, or nothing that was asked for; the report then
 * says so and nothing else. */
int gt_profile_report(const char *analysis, const char *const *paths, size_t count,
                      const struct gt_trace_request *request, const struct gt_profile_options *options,
                      struct gt_report **ret, struct gt_error *error);

#endif
