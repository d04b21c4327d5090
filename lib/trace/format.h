/* A trace format keeps this contract, and its reader calls the functions below. Each format has one line in
 * trace.def. */
#ifndef GT_TRACE_FORMAT_H
#define GT_TRACE_FORMAT_H

#include <regex.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/input/input.h"
#include "trace/input/walk.h"
#include "trace/keys.h"
#include "trace/raw_event.h"
#include "trace/step_names.h"
#include "trace/trace.h"

struct gt_reading;
enum { GT_TRACK_CACHES = 64, GT_STRING_CACHES = 1024 };

/* A file is judged by these before it is read. */
struct gt_trace_probe {
    const char *path, *name; /* name: the last part of the path */
    const char *head;        /* the first bytes, inflated, followed by a NUL */
    size_t length;
    uint64_t size; /* of the file on the disk */
    bool is_whole; /* there is no more text than `head` */
};

static inline bool gt_path_ends(const char *path, const char *end)
{
    size_t length = strlen(path), wanted = strlen(end);
    return length >= wanted && strcmp(path + length - wanted, end) == 0;
}

/* Returns what a file of no known format is and what to use instead, NULL if unknown. */
const char *gt_unread_about(const struct gt_trace_probe *probe);

struct gt_trace_format {
    const char *name;
    const char *help;
    /* Returns 0 where it is not this format, else how sure it is: the surest of all wins, the first of equals. */
    int (*probe)(const struct gt_trace_probe *probe);
    /* Reads the whole file into the calls below. Damage is counted, not returned. */
    int (*read)(struct gt_reading *reading, const char *path, struct gt_error *error);
    /* Names the file or folder that is read with this file. Negative: there is none. May be NULL. */
    int (*companion)(char *ret, size_t size, const char *path);
};

/* An event is handed on with its place. It was made of `item`; for PAIRED ones item->args is the union of both
 * arguments. Phases are those of gt_trace_events.phase, and M for metadata that has no place of its own in a trace. */
struct gt_trace_event {
    const struct gt_raw_event *item;
    struct gt_span written;         /* the name of a copy of it */
    uint32_t track, name, category; /* of a sink that takes it raw name and category are GT_TRACE_NONE */
    int64_t start, duration;        /* absolute */
    uint64_t id;
    int32_t step;
    char phase;
    uint8_t flag;
};

/* A sink takes events and samples that passed the filters: the columns of a trace, a merged file. NULL functions
 * take nothing. */
struct gt_trace_sink {
    void *context;
    /* A file begins. It may begin again: the sink then forgets what came of it. */
    int (*file)(void *context, uint32_t file, struct gt_error *error);
    int (*event)(void *context, const struct gt_trace_event *event, struct gt_error *error);
    int (*sample)(void *context, uint32_t series, int64_t time, double value, struct gt_error *error);
    bool is_raw; /* names, categories and ids of events need not become strings */
};

/* This sink fills the columns of `trace`; `columns` lives as long as it is used. */
struct gt_columns_sink {
    struct gt_trace *trace;
    const struct gt_trace_options *options;
    bool has_begun;
    uint32_t file;
    size_t events, samples, arguments; /* when the file began */
};
struct gt_trace_sink gt_columns_sink(struct gt_columns_sink *columns);

struct gt_window {
    uint32_t node;
    int64_t start, end;
};

enum { GT_FILTER_VERDICTS = 1 << 14 };

/* The filter decides which events and samples are kept while files are read. */
struct gt_filter {
    const struct gt_trace_options *options;
    int64_t start, end;       /* absolute, inclusive */
    struct gt_window *window; /* by_step: sorted by node and start */
    size_t windows;
    bool has_select;
    regex_t select;
    struct gt_verdict { /* what the expression said of names lately, by hash */
        uint64_t hash;
        uint32_t length;
        bool known, passes;
    } * verdict;
};

/* `survey` has the steps and the time ranges of all files; NULL when the options need neither. -EINVAL: the expression
 * is wrong. */
int gt_filter_open(struct gt_filter *ret, const struct gt_trace_options *options, const struct gt_trace *survey,
                   struct gt_error *error);
bool gt_filter_needs_survey(const struct gt_trace_options *options);
void gt_filter_release(struct gt_filter *filter);

/* All files are read into one trace. Private to trace/. */
struct gt_reading {
    struct gt_trace *trace;
    const struct gt_trace_options *options;
    const struct gt_trace_sink *sink; /* NULL: only what describes the files: tracks, series, steps, counts */
    struct gt_filter *filter;
    struct gt_error *error;
    const int64_t *shift; /* ns added to the times of each file, or NULL */
    uint32_t file;        /* the one being read */
    bool has_begun;       /* events or samples of it were read */
    bool is_other_node;
    uint32_t first_step; /* steps of this file begin here */
    struct gt_buffer scratch, label;
    struct gt_keys tracks, processes, steps, series; /* to indices */
    struct gt_step_rounds rounds;                    /* of the file being read */
    struct gt_track_cache {
        struct gt_span pid, tid, real;
        char text[96];
        uint32_t track;
    } cache[GT_TRACK_CACHES];
    uint32_t string[GT_STRING_CACHES]; /* numbers of texts that came lately, and one; by a part of each */
};

struct gt_trace_file *gt_reading_file(struct gt_reading *reading);
/* Reads the whole file, of `most` bytes at most (-EFBIG), with a NUL behind it, and notes where its end came early. The caller
 * frees *ret. */
int gt_reading_whole(struct gt_reading *reading, const char *path, size_t most, char **ret, size_t *length,
                     struct gt_error *error);
/* Tell the file's clock base and node or rank. -EAGAIN: events were read without it. The reader returns it, and is
 * called again with the fact known from the start. */
int gt_reading_base(struct gt_reading *reading, int64_t base, enum gt_trace_clock clock);
int gt_reading_node(struct gt_reading *reading, const char *node, size_t length);
/* Finds out whether the file's node is the one asked for. */
void gt_reading_judge_node(struct gt_reading *reading);
int gt_reading_rank(struct gt_reading *reading, int64_t rank);
/* Return the index of the string, process or track that spans name, raw with their escapes; negative errno. */
int64_t gt_reading_string(struct gt_reading *reading, struct gt_span text);
int64_t gt_reading_process(struct gt_reading *reading, struct gt_span pid);
/* Tells that a process is one of a node, in a file of several; rank -1: not told. */
int gt_reading_process_node(struct gt_reading *reading, uint32_t process, struct gt_span node, int32_t rank,
                            int32_t recording);
int64_t gt_reading_track(struct gt_reading *reading, struct gt_span pid, struct gt_span tid, struct gt_span real_pid);
/* Takes an event at the file's own times; `label` is its name. Returns 0 or a negative errno. */
int gt_reading_event(struct gt_reading *reading, const struct gt_raw_event *item, struct gt_span label, uint32_t track,
                     uint8_t flag);
/* Take an event whose names are plain texts, which `item` need not have: its name, and the process and thread it is of. */
int gt_reading_text_event(struct gt_reading *reading, struct gt_raw_event *item, const char *pid, const char *tid,
                          const char *name, uint8_t flag);
int64_t gt_reading_series(struct gt_reading *reading, struct gt_span type, struct gt_span name,
                          struct gt_span dimension, struct gt_span node);
/* Takes a sample. `time` is absolute; a value of NaN is left out. */
int gt_reading_sample(struct gt_reading *reading, uint32_t series, int64_t time, double value);
/* Returns the number of threads for a file of this size. */
int gt_reading_threads(const struct gt_reading *reading, uint64_t size);
/* Adds a profile of this file, to be filled. NULL without memory. */
struct gt_trace_profile *gt_reading_profile(struct gt_reading *reading, enum gt_trace_profiler profiler,
                                            enum gt_profile_unit unit);
/* Counts an event that is none, and notes what is wrong with it. */
void gt_reading_bad(struct gt_reading *reading, uint64_t place, const char *what);
/* Notes that the file ends or is damaged at a place, and the number of lost bytes. */
void gt_reading_cut_off(struct gt_reading *reading, uint64_t place, uint64_t lost, const char *what);
/* Closes an input (NULL does nothing) of which so many bytes were read, and notes where its end came early. */
void gt_reading_end(struct gt_reading *reading, struct gt_input *input, uint64_t bytes);
/* Does the same for an input that was read by lines, and releases these. */
void gt_reading_end_lines(struct gt_reading *reading, struct gt_lines *lines);

/* Reads timelines of all kinds: metadata, pairing of B and E, and the rest. `labels_rename`: args.layer_name or args.name is the
 * event's name, args.pid and args.thread_id its place, as SMDebug writes them. */
int gt_timeline_read(struct gt_reading *reading, const char *path, bool labels_rename, struct gt_error *error);

#endif
