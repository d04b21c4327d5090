#include "analyse/merge/merged_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/path/critical_path.h"
#include "base/json.h"

enum { FIRST_PROCESS = 3000000 }; /* behind those of counters */

struct overlay {
    struct gt_merged_trace *merged;
    const struct gt_trace *trace; /* as it was read for the path */
    const struct gt_analysis_input *input;
    const struct gt_critical_path *path;
    const int64_t *shift;
    int64_t start, end; /* of what is merged */
    int64_t pid;
    uint64_t arrows;
};

static int64_t time_of(const struct overlay *overlay, const struct gt_path_piece *piece, int64_t time, bool of_job)
{
    const struct gt_path_lane *lane = &overlay->path->graph.lane[piece->lane];
    return time + (of_job ? 0 : lane->ahead) + overlay->shift[lane->file];
}

static bool is_seen(const struct overlay *overlay, const struct gt_path_piece *piece)
{
    return time_of(overlay, piece, piece->start, false) <= overlay->end &&
           time_of(overlay, piece, piece->end, false) >= overlay->start;
}

/* Where a piece lies: the thread or stream, and in the path of the job the rank. */
static void write_place(const struct overlay *overlay, struct gt_buffer *out, const struct gt_path_piece *piece)
{
    const struct gt_path_lane *lane = &overlay->path->graph.lane[piece->lane];
    const struct gt_trace_track *track = &overlay->trace->track[lane->track];
    const char *node = gt_analysis_text(overlay->input, lane->node);
    gt_buffer_text(out, ", \"thread\": ");
    gt_json_quote(out, gt_trace_text(overlay->trace, track->name != GT_TRACE_NONE ? track->name : track->tid));
    if (!node)
        return;
    gt_buffer_text(out, ", \"node\": ");
    gt_json_quote(out, node);
}

static int write_piece(struct overlay *overlay, const struct gt_path_step *step, const struct gt_path_piece *piece,
                       bool of_job, struct gt_error *error)
{
    struct gt_merged_trace *merged = overlay->merged;
    struct gt_buffer *out = &merged->out;
    const char *kind = gt_path_kind_name(piece->kind);
    int64_t start = time_of(overlay, piece, piece->start, of_job);
    gt_buffer_text(out, ",\n{\"name\": ");
    gt_json_quote(out, piece->name == GT_TRACE_NONE ? kind : gt_trace_text(overlay->trace, piece->name));
    gt_buffer_printf(
        out, ", \"cat\": \"critical_path\", \"ph\": \"X\", \"pid\": %" PRId64 ", \"tid\": 1, \"ts\": ", overlay->pid);
    gt_merged_time(out, start - merged->base);
    gt_buffer_text(out, ", \"dur\": ");
    gt_merged_time(out, piece->end - piece->start);
    gt_buffer_printf(out, ", \"args\": {\"kind\": \"%s\"", kind);
    write_place(overlay, out, piece);
    if (!step->is_whole_node)
        gt_buffer_printf(out, ", \"step_num\": %d", (int)(int32_t)step->span.key[2]);
    gt_buffer_text(out, "}}");
    merged->events++;
    return gt_merged_end(merged, error);
}

/* The lane of a piece in the merged file, or NULL. */
static const struct gt_merged_lane *lane_of(const struct overlay *overlay, const struct gt_path_piece *piece)
{
    uint32_t track = overlay->path->graph.lane[piece->lane].track;
    const struct gt_trace *merged = overlay->merged->trace;
    bool is_same = track < merged->track_count &&
                   strcmp(gt_trace_text(merged, merged->track[track].tid),
                          gt_trace_text(overlay->trace, overlay->trace->track[track].tid)) == 0;
    return is_same ? &overlay->merged->lane[track] : NULL;
}

static int write_end(struct overlay *overlay, char phase, const struct gt_merged_lane *lane, int64_t time,
                     struct gt_error *error)
{
    struct gt_merged_trace *merged = overlay->merged;
    struct gt_buffer *out = &merged->out;
    gt_buffer_printf(
        out,
        ",\n{\"name\": \"critical path\", \"cat\": \"critical_path\", \"ph\": \"%c\", \"id\": \"critical %" PRIu64
        "\", \"pid\": %" PRId64 ", \"tid\": %" PRId64 ", \"ts\": ",
        phase, overlay->arrows, lane->pid, lane->tid);
    gt_merged_time(out, time - merged->base);
    gt_buffer_text(out, phase == 'f' ? ", \"bp\": \"e\"}" : "}");
    merged->events++;
    return gt_merged_end(merged, error);
}

/* An arrow from what the path lies on to what it goes on with, on another thread or stream. */
static int write_arrow(struct overlay *overlay, const struct gt_path_piece *from, const struct gt_path_piece *to,
                       struct gt_error *error)
{
    const struct gt_merged_lane *begin = lane_of(overlay, from), *end = lane_of(overlay, to);
    if (from->lane == to->lane || !begin || !end)
        return 0;
    overlay->arrows++;
    int status = write_end(overlay, 's', begin, time_of(overlay, from, from->start, false), error);
    return status < 0 ? status : write_end(overlay, 'f', end, time_of(overlay, to, to->start, false), error);
}

static int write_step(struct overlay *overlay, const struct gt_path_step *step, bool of_job, bool has_arrows,
                      struct gt_error *error)
{
    int status = 0;
    for (size_t i = step->piece; i < step->piece_end && status >= 0; i++) {
        const struct gt_path_piece *piece = &overlay->path->piece[i];
        if (!is_seen(overlay, piece))
            continue;
        status = write_piece(overlay, step, piece, of_job, error);
        if (status >= 0 && has_arrows && i > step->piece && is_seen(overlay, piece - 1))
            status = write_arrow(overlay, piece - 1, piece, error);
    }
    return status;
}

/* Where ranks have a path in common, the arrows are those of that. */
static int write_paths(struct overlay *overlay, struct gt_error *error)
{
    const struct gt_critical_path *path = overlay->path;
    bool has_job = path->steps > path->ranks;
    int status = 0;
    overlay->pid = FIRST_PROCESS - 1;
    for (size_t i = 0; i < path->steps && status >= 0; i++) {
        const struct gt_path_step *step = &path->step[i];
        bool of_job = i >= path->ranks;
        if (!i || i == path->ranks || step->span.key[0] != step[-1].span.key[0]) {
            const char *node = gt_analysis_text(overlay->input, step->span.key[0]);
            const char *label = of_job ? "all ranks" : node ? node : "";
            overlay->pid++;
            gt_merged_name(overlay->merged, "process_name", "name", "Critical path", overlay->pid, -1);
            gt_merged_name(overlay->merged, "process_labels", "labels", label, overlay->pid, -1);
            gt_merged_sort_index(overlay->merged, "process_sort_index", -1, overlay->pid, -1);
        }
        status = write_step(overlay, step, of_job, of_job == has_job, error);
    }
    return status;
}

int gt_merged_critical_path(struct gt_merged_trace *merged, const char *const paths[], size_t count,
                            const struct gt_trace_options *options, const int64_t *shift, struct gt_error *error)
{
    static const char *const arguments[] = {GT_PATH_ARGUMENTS, NULL};
    static const struct gt_profile_options defaults = {.size = sizeof defaults};
    struct gt_trace_options reading = *options;
    struct gt_trace *trace = NULL;
    struct gt_analysis_input input = {0};
    struct gt_critical_path path = {0};
    reading.start = -GT_TRACE_EVER; /* what lies before may hold what is merged */
    reading.end = GT_TRACE_EVER;
    reading.select = NULL;
    reading.no_samples = reading.no_profiles = true;
    reading.arguments = arguments;
    int status = gt_trace_load(&trace, paths, count, &reading, error);
    if (status < 0)
        return status;
    status = gt_analysis_open(&input, trace, &defaults);
    status = status < 0 ? status : gt_critical_path_find(&path, &input, 0);
    if (status < 0)
        gt_error_system(error, -status, "merging");
    struct overlay overlay = {.merged = merged,
                              .trace = trace,
                              .input = &input,
                              .path = &path,
                              .shift = shift,
                              .start = options->start,
                              .end = options->end};
    if (status >= 0)
        status = write_paths(&overlay, error);
    gt_critical_path_close(&path);
    gt_analysis_close(&input);
    gt_trace_close(trace);
    return status;
}
