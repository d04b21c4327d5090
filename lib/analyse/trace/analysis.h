/* Each analysis of traces has one line in analysis.def, and makes a report of any format.
 *
 * An analysis sees the columns of a trace and adds tables to the root of a report. Nodes and ranks are kept apart,
 * steps are those of a (node, mode, number). Durations are shown in microseconds ("_us"), times ("start_us") in
 * microseconds from the first event or sample of all files, exact to the nanosecond for spans of a hundred days.
 * Results do not depend on the order of events: whatever is listed is sorted by what it is called or by a figure,
 * then by name. */
#ifndef GT_ANALYSE_TRACE_ANALYSIS_H
#define GT_ANALYSE_TRACE_ANALYSIS_H

#include <string.h>

#include "analyse/display.h"
#include "query/rows.h"
#include "report/report.h"
#include "trace/trace.h"

/* The category of an event tells its kind of work. */
enum gt_work {
    GT_WORK_OTHER,
    GT_WORK_KERNEL,
    GT_WORK_COPY,     /* gpu_memcpy */
    GT_WORK_SET,      /* gpu_memset */
    GT_WORK_RUNTIME,  /* a call of the CUDA or HIP runtime or driver */
    GT_WORK_OPERATOR, /* cpu_op */
    GT_WORK_ANNOTATION,
    GT_WORK_RECORDING, /* the span of the recording itself, which is no work */
};

/* GPUs are used for one of these. */
enum gt_use { GT_USE_COMPUTE, GT_USE_COMMUNICATION, GT_USE_MEMORY, GT_USES };

/* Views, see analyse/views.h. */
enum gt_view {
    GT_VIEW_WORK,
    GT_VIEW_LAUNCHED_WORK,
    GT_VIEW_DEVICE_TIMES,
    GT_VIEW_PIECES,
    GT_VIEW_GAPS,
    GT_VIEW_STEPS,
    GT_VIEW_LOADING,
    GT_VIEWS
};

/* What else is made once, and kept by the query. */
enum gt_kept { GT_KEPT_COLLECTIVES, GT_KEPT_HOST_WAITS, GT_KEPT_CALL_TREE };

struct gt_analysis_input {
    const struct gt_trace *trace;
    const struct gt_trace *other; /* diff: what is compared with `trace`; else NULL */
    const struct gt_profile_options *options;
    struct gt_error *error; /* says why an analysis fails; may be NULL */
    int64_t origin;         /* ns; times are shown from here */
    /* Filled by gt_analysis_open. Texts are known by their place in the order of all texts ("GPU 2" before "GPU
     * 10"). */
    uint32_t *place, *text;
    uint32_t *node;         /* of a file, as a place */
    unsigned char *work;    /* of a category: enum gt_work, by number of the string */
    unsigned char *usage;   /* of a kernel's name: enum gt_use, by number of the string */
    unsigned char *loader;  /* of a name: gt_loader_part's notes, 0 before it asks */
    unsigned char *hidden;  /* of a string: it is a node that is not shown */
    unsigned char *counted; /* of a file: its clock agrees with the others' */
    uint32_t *recording;    /* of a file: files of a node whose times overlap are one recording */
    bool has_whole_steps;   /* ("Step:...", ProfilerStep): only those count as steps */
    int64_t *pause;         /* of a file: ns before it in which nothing of its node was recorded */
    struct gt_query *query; /* owns the views of analyse/views.h, and the rows that analyses make */
    struct gt_rows *view;   /* without a query: not made yet */
};

/* An analysis takes these of struct gt_profile_options, and refuses the others. */
enum {
    GT_TAKES_BY = 1,
    GT_TAKES_PHASES = 2,
    GT_TAKES_DEVICE = 4,
    GT_TAKES_RANGES = 8,
    GT_TAKES_KEY = 16,
    GT_TAKES_TOP = 32,
    GT_TAKES_COST = 64,
    GT_TAKES_PEAK = 128,
    GT_TAKES_OPERATOR = 256,
};

struct gt_analysis {
    const char *name, *help;
    const char *group; /* of related analyses, by which the short help lists them */
    unsigned takes;
    const char *const *arguments;    /* of events, to be kept by the reader; NULL-terminated, may be NULL */
    const char *const *arguments_by; /* those to keep where options->by is given; NULL: the same */
    int inputs;                      /* traces it looks at; 0 counts as 1: all paths are one trace */
    bool of_profiles;                /* it looks at Python profiles, not at events */
    bool of_calls;                   /* at both, of tools that record nothing but calls of Python functions */
    bool joins;                      /* it joins events with others, which need not be selected */
    bool of_selected;                /* its shares and spans are of what is selected alone */
    bool of_all;                     /* it judges all that ran: no part of it can be selected by name */
    bool judges;                     /* that it finds nothing is a result */
    bool compares;                   /* it compares nodes with one another, also those that are not shown */
    int (*build)(const struct gt_analysis_input *input, struct gt_node *root);
};

extern const struct gt_analysis *const gt_analyses[];
extern const size_t gt_analysis_count;
/* Returns NULL where there is none of that name; the error then names those there are. */
const struct gt_analysis *gt_analysis_find(const char *name, struct gt_error *error);

/* Makes a report of type "profile_<name>". */
int gt_analysis_run(const struct gt_analysis *analysis, const struct gt_trace *trace, const struct gt_trace *other,
                    const struct gt_profile_options *options, struct gt_report **ret, struct gt_error *error);

/* Reads files and folders as one trace and analyses it. An analysis of two traces takes two paths. The error of
 * -EINVAL names the analyses there are, or the option that is wrong. Returns 1 where there is nothing to tell; the report says why. */
int gt_analysis_of_files(const char *name, const char *const *paths, size_t count,
                         const struct gt_trace_options *reading, const struct gt_profile_options *options,
                         struct gt_report **ret, struct gt_error *error);

/* Does the same with a trace that was read. */
int gt_analysis_of_trace(const struct gt_trace *trace, const char *name, const struct gt_profile_options *options,
                         struct gt_report **ret, struct gt_error *error);

int gt_analysis_open(struct gt_analysis_input *input, const struct gt_trace *trace,
                     const struct gt_profile_options *options);
void gt_analysis_close(struct gt_analysis_input *input);

/* Return the place of a string, GT_TRACE_NONE for itself; and the text at a place, NULL for GT_TRACE_NONE. */
uint32_t gt_analysis_place(const struct gt_analysis_input *input, uint32_t string);
const char *gt_analysis_text(const struct gt_analysis_input *input, uint32_t place);
uint32_t gt_analysis_node(const struct gt_analysis_input *input, size_t event); /* a place */
/* Returns true where samples of `host` tell of `node`; both are places. Where several processes run on a host,
 * SMDebug puts rank or pid beside its name: samples are of "algo-1", timelines of "algo-1-0". */
bool gt_analysis_is_host(const struct gt_analysis_input *input, uint32_t host, uint32_t node);
/* Returns true where what is of a node, a place, is shown. */
bool gt_analysis_shows(const struct gt_analysis_input *input, uint32_t node);
enum gt_work gt_analysis_work(const struct gt_analysis_input *input, size_t event);
/* Returns true for the names that PyTorch's profiler gives to steps. */
static inline bool gt_is_profiler_step(const char *name)
{
    return strncmp(name, "ProfilerStep", strlen("ProfilerStep")) == 0;
}
/* Return the text or the number of an argument; GT_TRACE_NONE and NaN where there is none. */
uint32_t gt_argument_text(const struct gt_trace *trace, size_t event, uint32_t key);
double gt_argument_number(const struct gt_trace *trace, size_t event, uint32_t key);
/* Returns the number of the recording that an event is in, and how much of from..to something of the node was recorded: cycles of
 * a profiler are files of their own, and what happened between them is not known. */
uint32_t gt_analysis_recording(const struct gt_analysis_input *input, size_t event);
int64_t gt_analysis_recorded(const struct gt_analysis_input *input, uint32_t node, int64_t from, int64_t to);
double gt_analysis_us(const struct gt_analysis_input *input, int64_t time); /* microseconds from the origin */

/* Returns true where options->phases has the name or its mode, or is empty. */
bool gt_analysis_wants_phase(const struct gt_analysis_input *input, const char *name);

/* Returns the number of options->by among the choices, which end with NULL; 0 where it is NULL. The error of -EINVAL
 * names them. */
int gt_analysis_by(const struct gt_analysis_input *input, const char *const *choices);

/* Adds a table with the columns "text:node kernel:name number:mean_us integer:count"; a kernel's name is a text, which people see cut.
 * Titles are the keys in words; keys that end in _us, _bytes, _seconds or _percent carry that unit. */
struct gt_table *gt_analysis_table(struct gt_node *parent, const char *key, const char *title, const char *columns);
/* Adds more columns, each with these flags, too. */
void gt_analysis_columns(struct gt_table *table, const char *columns, unsigned more_flags);
/* People see the sentence, or nothing where it is NULL, in place of an empty table. */
void gt_analysis_empty(struct gt_node *parent, struct gt_table *table, const char *reason);

#endif
