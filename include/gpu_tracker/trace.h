/* Merge, export and analyze traces. Part of gpu_tracker.h. */
#ifndef GPU_TRACKER_TRACE_H
#define GPU_TRACKER_TRACE_H

#ifndef GPU_TRACKER_H
#error "include gpu_tracker.h"
#endif

/* ---- Traces ------------------------------------------------------------------------------------------------- */
/* The selected part of timelines, system metrics, Python profiles and recordings. */
struct gt_trace_request {
    size_t size;
    /* "123" microseconds since the epoch; "+1.5" seconds after the start of all files; with steps a number. NULL: no bound */
    const char *start, *end;
    int by_step;
    const char *const *suffixes; /* NULL-terminated: only files with names that end in one of these; NULL: all */
    const char *select;          /* extended regular expression on the names of events; NULL: all */
    const char *node;            /* one node by name, or a rank by number; NULL: all */
    int threads;                 /* 0: one for each core */
};

struct gt_merge_request {
    size_t size;
    double low_gpu;      /* percent of utilisation below which a GPU is marked; 0: no marks */
    const char *metrics; /* extended regular expression on NAME_DIMENSION_NODE of samples; NULL: all */
    const char *align;   /* an event that happened everywhere at the same time; NULL: the clocks of the files */
    const char *output;  /* .json or .json.gz; NULL: END_NODE_merged_timeline.json in the current folder */
    int overwrite;
    int critical_path; /* add the critical path of each step, as tracks and arrows; keeps the whole trace in memory */
    int not_empty;     /* do not write an empty file */
};

/* Report the contents of files and folders. -ENOENT: a path is missing; -EINVAL: an unknown format, or a wrong request. */
int gt_timeline_info(const char *const *paths, size_t count, const struct gt_trace_request *request,
                     struct gt_report **ret, struct gt_error *error);
/* Merge them into one Chrome trace, for Perfetto and chrome://tracing; the report lists the sources. Returns 1
 * if there was nothing to merge: the file, if written, is an empty list. Errors as in gt_timeline_info; -EEXIST: the output exists and
 * `overwrite` is 0. */
int gt_timeline_merge(const char *const *paths, size_t count, const struct gt_trace_request *request,
                      const struct gt_merge_request *merge, struct gt_report **ret, struct gt_error *error);

struct gt_export_request {
    size_t size;
    const char *output; /* .sqlite or .arrow: tables; .html: a flame graph; .collapsed: stacks */
    int overwrite;
};

/* Write traces in another form; the report lists the sources. Errors as in gt_timeline_merge; -EINVAL also for an unknown suffix of the
 * output. */
int gt_timeline_export(const char *const *paths, size_t count, const struct gt_trace_request *request,
                       const struct gt_export_request *what, struct gt_report **ret, struct gt_error *error);

/* ---- Profiles ------------------------------------------------------------------------------------------------ */
/* Analyses of traces. */
struct gt_profile_options {
    size_t size;
    const char *by;            /* the rows: the help of each analysis lists the choices. NULL: its default */
    const char *const *phases; /* only these training phases, NULL-terminated; NULL: all */
    const char *device;        /* only resources of this type or name: "gpu", "cpu", "gpu0"; NULL: all */
    const char *ranges;        /* percent, first match wins; NULL: "90-100,10-90,0-10" */
    const char *key;           /* the sort key of lists; NULL: the default of the analysis */
    int top;                   /* rows of long lists; 0: 20, negative: all */
    const char *carbon_intensity, *carbon_file, *price; /* steps, phases: the cost of their energy, as for a tracker */
    const char *peak_flops;    /* flops: operations per second of one GPU, "312T" or "989e12"; NULL: unknown */
    const char *operator_name; /* sequences: only of this operator or range; NULL: each operator */
    int length;                /* sequences: number of kernels; 0: all that one call launches */
};

/* Describe analysis number `index`. 0, or -ENOENT past the last. */
int gt_analysis_info(size_t index, const char **name, const char **help);
/* 1: the analysis rejects this option of struct gt_profile_options ("by", "phase", "key", ...); 0: it accepts it. */
int gt_analysis_refuses(const char *name, const char *option);
/* Read files and folders as one trace and analyze it; "diff" takes two paths and compares the second with the first. -EINVAL names the
 * analyses, or the wrong option. 1: the files have no data for the analysis; the report contains only that sentence. */
int gt_profile_report(const char *analysis, const char *const *paths, size_t count,
                      const struct gt_trace_request *request, const struct gt_profile_options *options,
                      struct gt_report **ret, struct gt_error *error);

#endif
