/* A trace holds events, system samples and Python profiles of other tools' files, and of our recordings, in columns.
 *
 * gt_trace_load reads files and folders of every format in trace.def into one struct gt_trace. Nothing is kept as
 * objects: an event is 38 bytes and its names are numbers of `strings`. Times are ns since 1970-01-01 UTC where
 * the file tells (gt_trace_file.clock), whole and exact; durations are ns. Filters apply while files are read, so
 * memory is for what is kept. What a file lost is counted in gt_trace_file.damage and never an error, unless nothing of
 * it could be read.
 *
 * The result depends on the files alone: not on their order on the command line, on threads or on block sizes. Files
 * are sorted by path; events stand in file order, paired B/E events at the place of their E. */
#ifndef GT_TRACE_TRACE_H
#define GT_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"

#define GT_TRACE_NO_ID UINT64_MAX /* no correlation, flow or external id */
#define GT_TRACE_NONE UINT32_MAX  /* no string, no index */
#define GT_TRACE_NO_STEP (-1)     /* the event lies in no step */
#define GT_TRACE_EVER INT64_MAX   /* no upper bound; the lower one is -INT64_MAX */

/* Bits of gt_trace_events.flag. */
enum gt_trace_flag {
    GT_TRACE_UNCLOSED = 1, /* a B without E: lasts to the last time seen on its track */
    GT_TRACE_PAIRED = 2,   /* made of B and E */
    GT_TRACE_TEXT_ID = 4,  /* `id` was not a number in the file: it is the string's number */
    GT_TRACE_NO_TIME = 8,  /* the file gave no time: start is that of the file's clock base */
    GT_TRACE_IN_STEP = 16, /* the file gave no step: it is that of the window in which the event starts */
    GT_TRACE_HIDDEN = 32,  /* its name is not selected: kept for others to be joined with, and shown nowhere */
};

/* Values of the few events that have one, by their number. */
struct gt_trace_rare {
    uint32_t *event; /* ascending */
    int64_t *value;
    size_t count, capacity;
};

/* One event is one index into these columns. What is mostly small or mostly not there is kept so: see the functions
 * below, gt_trace_duration to gt_trace_bytes. */
struct gt_trace_events {
    size_t count, capacity;
    int64_t *start;                      /* ns */
    uint32_t *short_duration;            /* GT_TRACE_LONG: among the long ones */
    uint32_t *short_id, *short_external; /* likewise; GT_TRACE_NONE: none */
    uint32_t *name;                      /* args.layer_name or args.name of SMDebug win over the event's own name */
    uint32_t *category;                  /* "kernel", "cuda_runtime", ...; GT_TRACE_NONE */
    uint32_t *track;                     /* index into gt_trace.track */
    int32_t *step;      /* args.step_num, or the step whose window on the same node holds the start; GT_TRACE_NO_STEP */
    uint32_t *argument; /* first of its kept arguments; they end where the next event's begin. NULL: none has any */
    char *phase;        /* letter of the Trace Event Format: X i C s t f b n e P ... Never B, E or M */
    uint8_t *flag;
    struct gt_trace_rare long_duration, long_id, long_external, bytes;
};
#define GT_TRACE_LONG (GT_TRACE_NONE - 1)

/* An argument that options.arguments asked for. */
struct gt_trace_argument {
    uint32_t key;  /* index into options.arguments */
    uint32_t text; /* GT_TRACE_NONE for numbers; else the string, or the raw JSON of an array or object */
    double number; /* NaN for texts; true 1, false 0 */
};

/* A lane of events: a thread, a CUDA stream, a named phase of SMDebug. */
struct gt_trace_track {
    uint32_t process;      /* index into gt_trace.process */
    uint32_t tid;          /* as text: "17", "stream 7", "" when the file gave none */
    uint32_t name;         /* thread_name, or GT_TRACE_NONE */
    uint32_t real_process; /* SMDebug's args.pid as text, or GT_TRACE_NONE */
    int64_t sort;          /* thread_sort_index, or INT64_MAX */
    uint64_t read;         /* events on it, before filters */
};

/* A process of one file. In SMDebug's timelines it is a phase ("Step:ModeKeys.TRAIN"), in Horovod's a tensor. */
struct gt_trace_process {
    uint32_t file;  /* index into gt_trace.file */
    uint32_t pid;   /* as text */
    uint32_t own;   /* the pid before a merge gave it another; else the pid */
    uint32_t name;  /* process_name, or GT_TRACE_NONE */
    uint32_t label; /* process_labels ("CPU", "GPU 0"), or GT_TRACE_NONE */
    int64_t sort;   /* process_sort_index, or INT64_MAX */
};

/* The times of a file come from one of these. */
enum gt_trace_clock {
    GT_CLOCK_UNKNOWN, /* no base: times count from an unknown moment (raw Horovod, a trace without base) */
    GT_CLOCK_RECORD,  /* the file says so itself: base record, baseTimeNanoseconds, seconds since the epoch */
    GT_CLOCK_NAME,    /* the base is in a name: TensorFlow's .metadata, python stats' folder */
};

struct gt_trace_damage {
    uint64_t bad_events;  /* objects that were no event, or no JSON */
    uint64_t lost_bytes;  /* bytes that belonged to nothing that could be read */
    uint64_t mended;      /* events read although strings held control characters, or numbers were NaN or Infinity */
    uint64_t unclosed;    /* B without E */
    uint64_t unopened;    /* E without B: left out */
    uint64_t bad_samples; /* lines of system metrics, rows of recordings */
    bool cut_off;         /* the file ends in the middle */
    char first[160];      /* what the first of them was, with its place; "" when nothing is damaged */
    uint64_t first_place; /* its byte in the text */
};

struct gt_trace_file {
    char *path;
    const char *format; /* name in trace.def */
    uint32_t node;      /* string; GT_TRACE_NONE when nothing tells */
    int32_t rank;       /* distributedInfo.rank, or from the file's name; -1 */
    int32_t world;      /* distributedInfo.world_size: ranks of the job; 0 not told */
    enum gt_trace_clock clock;
    int64_t base;        /* ns added to the file's own times */
    int64_t first, last; /* time range of events and samples read, before filters; INT64_MAX, INT64_MIN when none */
    uint64_t read;       /* events read, before filters */
    uint64_t kept;
    uint64_t samples;       /* samples read, before filters */
    uint64_t bytes;         /* of text, inflated */
    int64_t device_bytes;   /* memory of the smallest GPU that deviceProperties name; 0 not told */
    uint32_t track, tracks; /* its first track, and how many follow one another */
    uint32_t part_of;       /* a merged file has a part for each node that it tells of, with its events: the file; else
                               GT_TRACE_NONE */
    int32_t recording;      /* of a part: which of the merged files it was; -1: not told */
    struct gt_trace_damage damage;
};

/* A series holds samples over time: one dimension of one device of one node. */
struct gt_trace_series {
    uint32_t type;      /* "cpu", "gpu", "memory", "i/o", "network"; of our recordings the scope: "main", "gpu", ... */
    uint32_t name;      /* "gpu0", "cpu3", "MemoryUsedPercent"; of our recordings "gpu0", a pid, or the scope again */
    uint32_t dimension; /* "GPUUtilization", "GPUMemoryUtilization", ...; of our recordings the metric: "ram" */
    uint32_t node;
    uint32_t file; /* the first that had it; series of SMDebug go on from file to file */
};

struct gt_trace_samples {
    size_t count, capacity;
    int64_t *time;    /* ns */
    double *value;    /* in the file's unit (percent 0..100 in SMDebug), in base units from our recordings; not NaN */
    uint32_t *series; /* index into gt_trace.series */
};

/* The window of one step on one node: hull of the events that bear its number. */
struct gt_trace_step {
    uint32_t node; /* string of the node, or of the file when nothing tells the node */
    uint32_t mode; /* process name ("Step:ModeKeys.TRAIN"), or the event's name without its number ("ProfilerStep") */
    int32_t step;
    int64_t start, end; /* ns */
};

enum gt_trace_profiler {
    GT_PROFILER_CPROFILE,
    GT_PROFILER_PYINSTRUMENT,
    GT_PROFILER_STACKS,     /* collapsed stacks */
    GT_PROFILER_SPEEDSCOPE, /* its JSON, of any tool */
    GT_PROFILER_PERF,
    GT_PROFILER_EVENTS,   /* calls that are events of a timeline */
    GT_PROFILER_SNAPSHOT, /* what was allocated at the peak */
    GT_PROFILERS
};

/* The times of a profile are one of these. */
enum gt_profile_unit {
    GT_PROFILE_SECONDS,
    GT_PROFILE_SAMPLES,
    GT_PROFILE_BYTES,       /* it is not told of what */
    GT_PROFILE_HELD,        /* bytes at the peak */
    GT_PROFILE_ALLOCATIONS, /* how many */
    GT_PROFILE_UNITS
};

/* One function of a Python profile. One that is only named as a caller has calls of -1 and times of NaN. */
struct gt_trace_function {
    uint32_t file, function; /* strings; "~" is the file of built-in functions */
    int64_t line;
    int64_t primitive_calls, total_calls; /* -1: the profiler does not count calls */
    double total_time, cumulative_time;   /* in the unit, in the function alone and with what it called */
    uint32_t caller, callers;             /* first and number of its callers in gt_trace_profile.caller */
};

struct gt_trace_caller {
    uint32_t function; /* index into gt_trace_profile.function */
    int64_t primitive_calls, total_calls;
    double total_time, cumulative_time;
};

/* A frame of a tree of calls; parents stand before their children. */
struct gt_trace_frame {
    uint32_t parent;   /* index, GT_TRACE_NONE for the root */
    uint32_t function; /* index into gt_trace_profile.function */
    double time;       /* in the unit, with its children */
};

/* One dump. Step and time come from the folder's name in SMDebug's grammar, else they are not known. */
struct gt_trace_profile {
    uint32_t file;
    enum gt_trace_profiler profiler;
    enum gt_profile_unit unit;
    uint32_t thread;                 /* what of the file it is of: a thread, a process; GT_TRACE_NONE: all */
    uint32_t framework, node;        /* strings, GT_TRACE_NONE outside of SMDebug's folders */
    uint32_t start_mode, end_mode;   /* "train", "eval", "global", "prestepzero", "posthookclose"...; GT_TRACE_NONE */
    uint32_t start_phase, end_phase; /* "start", "stepstart", "forwardpassend", "stepend", "end"; GT_TRACE_NONE */
    double start_step, end_step;     /* -1 before step 0, INFINITY after the last; NaN unknown */
    int64_t start, end;              /* ns; -GT_TRACE_EVER and GT_TRACE_EVER when not known */
    uint32_t report;                 /* path of pyinstrument's .html beside it, or GT_TRACE_NONE */
    bool lines_ran;                  /* lines of functions are the first that ran, not where they begin */
    size_t function_count, caller_count, frame_count;
    struct gt_trace_function *function; /* ordered by file, line, name */
    struct gt_trace_caller *caller;
    struct gt_trace_frame *frame;
};

enum { GT_TRACE_NAMED = 3 }; /* files in gt_trace.doubtful.first */
/* Files and folders below the paths asked for that the system does not let us read. */
struct gt_trace_unreadable {
    uint64_t count;
    char first[512]; /* the path of one of them, or of the first few, and why */
};

struct gt_trace {
    struct gt_strings strings;
    struct gt_trace_events events;
    struct gt_trace_samples samples;
    struct gt_trace_file *file;
    struct gt_trace_process *process;
    struct gt_trace_track *track;
    struct gt_trace_series *series;
    struct gt_trace_step *step; /* sorted by node, start; all steps, filters or not */
    struct gt_trace_profile *profile;
    struct gt_trace_argument *argument;
    size_t file_count, process_count, track_count, series_count, step_count, profile_count, argument_count;
    size_t file_capacity, process_capacity, track_capacity, series_capacity, step_capacity, profile_capacity,
        argument_capacity;
    uint64_t ignored; /* files of folders that are no trace */
    struct gt_trace_unreadable unreadable;
    struct gt_trace_unreadable doubtful; /* no traces, but broken, or called like those that are */
    bool is_bounded;                     /* only what lies in a stretch of time was asked for: */
    int64_t bound_first, bound_last;     /* ns since the epoch */
    const char *shown_node;              /* borrowed: all nodes were read, and this one is to be shown; NULL all */
};

/* Options choose what is read; GT_TRACE_OPTIONS is everything. Bounds are inclusive: events that overlap them,
 * samples between them. */
struct gt_trace_options {
    int64_t start, end; /* ns since the epoch */
    bool from_first;    /* start and end count from the first event or sample of all files */
    bool by_step;       /* instead keep what overlaps the windows of steps start_step..end_step, node by node */
    int32_t start_step, end_step;
    const char *select;                      /* extended regular expression on the names of events; NULL all */
    bool keep_hidden;                        /* keep events that are not selected, as GT_TRACE_HIDDEN */
    const char *node;                        /* one node by name, or a rank by number; NULL all */
    const char *const *suffixes;             /* NULL-terminated: only files whose names end so; NULL all */
    const char *const *arguments;            /* NULL-terminated: arguments of events to keep; NULL none */
    bool no_events, no_samples, no_profiles; /* count them, do not keep them */
    int threads;                             /* 0: one for each core */
    size_t block;                            /* bytes read at a time; 0: 256 KiB */
    uint64_t ceiling;                        /* bytes of text that one file may inflate to; 0: 1 TiB */
};
#define GT_TRACE_OPTIONS ((struct gt_trace_options){.start = -GT_TRACE_EVER, .end = GT_TRACE_EVER})

/* Reads files, and the traces in folders. The errors of -ENOENT and -EACCES name the path; -EINVAL: a file that was
 * named is no trace, or an option is wrong; -EFBIG: a file inflates without end. */
int gt_trace_load(struct gt_trace **ret, const char *const paths[], size_t count,
                  const struct gt_trace_options *options, struct gt_error *error);
void gt_trace_close(struct gt_trace *trace);

/* Returns a text, "" for GT_TRACE_NONE. */
const char *gt_trace_text(const struct gt_trace *trace, uint32_t string);
/* The names of profilers and units. */
extern const char *const gt_trace_profiler_names[GT_PROFILERS];
extern const char *const gt_trace_clock_names[]; /* where the time comes from */
const char *gt_trace_unit_name(enum gt_profile_unit unit);
const char *gt_trace_measure_name(enum gt_profile_unit unit); /* "bytes held at the peak" */
/* Returns the number of a text, GT_TRACE_NONE when no event has it. */
uint32_t gt_trace_find(const struct gt_trace *trace, const char *text);
/* Return the process and the file that an event belongs to. */
const struct gt_trace_process *gt_trace_process_of(const struct gt_trace *trace, size_t event);
const struct gt_trace_file *gt_trace_file_of(const struct gt_trace *trace, size_t event);
/* Return true for an event that lasts, at a known time; gt_trace_is_slice only where it is not hidden. */
bool gt_trace_lasts(const struct gt_trace *trace, size_t event);
bool gt_trace_is_slice(const struct gt_trace *trace, size_t event);
/* Returns the node of a file, or its path when nothing tells the node: it tells ranks and hosts apart. */
uint32_t gt_trace_node_of(const struct gt_trace *trace, uint32_t file);
/* Returns true where a file is of a node, by its name or by the number of its rank. */
bool gt_is_node(const struct gt_trace *trace, const struct gt_trace_file *file, const char *wanted);
/* Returns the indices of all events by start, longer ones first, then in file order. The caller frees them. NULL
 * without memory. */
uint32_t *gt_trace_order(const struct gt_trace *trace);
/* Returns the kept argument number `key` of an event, or NULL. */
const struct gt_trace_argument *gt_trace_argument(const struct gt_trace *trace, size_t event, uint32_t key);

/* Returns ns in microseconds: whole ones exactly, others to the nearest that a double holds. */
static inline double gt_trace_us(int64_t ns)
{
    return (double)(ns / 1000) + (double)(ns % 1000) / 1e3;
}

/* Return a value of a list, `otherwise` where the event has none. */
int64_t gt_trace_rare(const struct gt_trace_rare *rare, size_t event, int64_t otherwise);

/* Returns ns; 0 for all but X. */
static inline int64_t gt_trace_duration(const struct gt_trace_events *events, size_t event)
{
    uint32_t value = events->short_duration[event];
    return value < GT_TRACE_LONG ? value : gt_trace_rare(&events->long_duration, event, 0);
}

/* X: args.correlation; others: the event's id (flow, async, counter); GT_TRACE_NO_ID. */
static inline uint64_t gt_trace_id(const struct gt_trace_events *events, size_t event)
{
    uint32_t value = events->short_id[event];
    return value < GT_TRACE_LONG    ? value
           : value == GT_TRACE_NONE ? GT_TRACE_NO_ID
                                    : (uint64_t)gt_trace_rare(&events->long_id, event, -1);
}

/* args."External id": joins a GPU or runtime event with the operator that caused it; GT_TRACE_NO_ID. */
static inline uint64_t gt_trace_external(const struct gt_trace_events *events, size_t event)
{
    uint32_t value = events->short_external[event];
    return value < GT_TRACE_LONG    ? value
           : value == GT_TRACE_NONE ? GT_TRACE_NO_ID
                                    : (uint64_t)gt_trace_rare(&events->long_external, event, -1);
}

/* args.bytes_fetched, bytes or Bytes; -1 none. */
static inline int64_t gt_trace_bytes(const struct gt_trace_events *events, size_t event)
{
    return gt_trace_rare(&events->bytes, event, -1);
}

/* Make room for one more event, with room for the number of its first argument where there is an argument; add a
 * sample. Return 0, -ENOMEM or -EOVERFLOW. */
int gt_trace_event_room(struct gt_trace_events *events);
int gt_trace_argument_room(struct gt_trace_events *events);
/* Set values of an event, whose others have values already. Return 0 or -ENOMEM. */
int gt_trace_set_duration(struct gt_trace_events *events, size_t event, int64_t duration);
int gt_trace_set_ids(struct gt_trace_events *events, size_t event, uint64_t id, uint64_t external);
int gt_trace_set_bytes(struct gt_trace_events *events, size_t event, int64_t bytes);
/* Forgets all events but the first ones. */
void gt_trace_events_cut(struct gt_trace_events *events, size_t count);
int gt_trace_add_sample(struct gt_trace_samples *samples, uint32_t series, int64_t time, double value);
/* Adds a file of which nothing else is known; NULL without memory. */
struct gt_trace_file *gt_trace_add_file(struct gt_trace *trace, const char *path, const char *format);
/* Widens the file's range of time to this one. */
void gt_trace_file_widen(struct gt_trace_file *file, int64_t start, int64_t end);
/* Makes an empty profile of which nothing is known. */
void gt_trace_profile_init(struct gt_trace_profile *profile, uint32_t file, uint32_t node);
void gt_trace_profile_release(struct gt_trace_profile *profile);
/* Keeps the sentence if nothing is noted for an earlier place. */
void gt_damage_note(struct gt_trace_damage *damage, uint64_t place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns how many events and samples were lost. */
static inline uint64_t gt_damage_lost(const struct gt_trace_damage *damage)
{
    return damage->bad_events + damage->bad_samples + damage->unopened;
}
void gt_damage_add(struct gt_trace_damage *damage, const struct gt_trace_damage *more);

/* While files are read, trace->step holds windows by file, with the file's number as node. This puts those of one
 * node together, and sorts them. Returns 0 or -ENOMEM. */
int gt_steps_combine(struct gt_trace *trace);
/* What stands before numbers becomes modes: of "epoch 1 step", "my step" and "Step" it is "step", where numbers go on from
 * epoch to epoch. `trace->step` is ordered so that those of one mode stand together. Returns 0 or -ENOMEM. */
int gt_steps_name(struct gt_trace *trace);
/* Puts files without steps, of SMDebug, Horovod and TensorFlow, to the node of their host that has steps: to the same rank
 * or process where there is one, else the first. Horovod's own timeline, which names no node, goes to rank 0. */
void gt_nodes_join(struct gt_trace *trace);
/* Gives events without a step that of the window their start lies in. Windows of whole steps (processes "Step:...",
 * "ProfilerStep") go before those made of parts. Returns 0 or -ENOMEM. */
int gt_steps_assign(struct gt_trace *trace);
/* These windows do so for events that are not kept. They are copied from the steps; all zero holds none. */
struct gt_step_windows {
    struct gt_trace_step *step;
    int64_t *latest; /* the latest end up to each */
    size_t count;
};
int gt_step_windows_open(struct gt_step_windows *ret, const struct gt_trace *trace); /* 0 or -ENOMEM */
int32_t gt_step_windows_find(const struct gt_step_windows *windows, uint32_t node, int64_t time);
void gt_step_windows_release(struct gt_step_windows *windows);
bool gt_steps_is_whole(const struct gt_trace *trace, const struct gt_trace_step *step);

#endif
