/* pyinstrument's JSON: a tree of frames with the seconds spent in each and in what it called. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/json.h"
#include "base/number.h"
#include "trace/formats/python_profile.h"
#include "trace/formats/smdebug_names.h"

static int probe_pyinstrument(const struct gt_trace_probe *probe)
{
    const char *text = probe->head + strspn(probe->head, " \t\r\n");
    return *text == '{' && strstr(text, "\"root_frame\"") && strstr(text, "\"sample_count\"") ? 85 : 0;
}

/* Time that a function spent when called by another. */
struct edge {
    uint32_t function, caller;
    double total_time, cumulative_time;
};

struct tree {
    struct gt_profile_maker maker;
    struct edge *edge;
    size_t edge_count, edge_capacity;
    uint32_t *depth_of; /* how often each function is on the way to the frame, so that recursion counts once */
    size_t depths;
};

static struct gt_span text_of(const struct gt_json_value *object, const char *key)
{
    const char *text = gt_json_text_of(gt_json_member(object, key));
    return text ? (struct gt_span){text, strlen(text)} : (struct gt_span){"", 0};
}

static int note_depth(struct tree *tree, uint32_t function)
{
    size_t before = tree->depths;
    if (GT_GROW_TO(tree->depth_of, tree->depths, (size_t)function + 1) < 0)
        return -ENOMEM;
    memset(tree->depth_of + before, 0, (tree->depths - before) * sizeof *tree->depth_of);
    return 0;
}

/* The number of the frame's function, with the frame and what it adds to the function's times written down. */
static int64_t take_frame(struct tree *tree, const struct gt_json_value *frame, uint32_t parent, double time,
                          double own)
{
    struct gt_profile_maker *maker = &tree->maker;
    int64_t number = gt_profile_function(maker, text_of(frame, "file_path"),
                                         gt_json_integer_of(gt_json_member(frame, "line_no")),
                                         text_of(frame, "function"));
    if (number < 0 || note_depth(tree, (uint32_t)number) < 0)
        return number < 0 ? number : -ENOMEM;
    struct gt_trace_frame *added = GT_GROW(maker, frame);
    struct edge *edge = added ? GT_GROW(tree, edge) : NULL;
    if (!edge)
        return -ENOMEM;
    *added = (struct gt_trace_frame){parent, (uint32_t)number, time};
    bool is_outermost = tree->depth_of[number] == 0;
    struct gt_trace_function *function = &maker->function[number];
    function->total_time = (isnan(function->total_time) ? 0 : function->total_time) + own;
    function->cumulative_time = (isnan(function->cumulative_time) ? 0 : function->cumulative_time) +
                                is_outermost * time;
    uint32_t caller = parent == GT_TRACE_NONE ? GT_TRACE_NONE : maker->frame[parent].function;
    *edge = (struct edge){(uint32_t)number, caller, own, is_outermost * time};
    tree->edge_count -= caller == GT_TRACE_NONE;
    return number;
}

/* Newer versions write what a function did itself as a child of it. */
static bool is_own_time(const struct gt_json_value *frame)
{
    const char *function = gt_json_text_of(gt_json_member(frame, "function")),
               *path = gt_json_text_of(gt_json_member(frame, "file_path"));
    return function && strcmp(function, "[self]") == 0 && (!path || !*path);
}

/* Recursion is bounded by the depth that the JSON parser allows. */
static int walk(struct tree *tree, const struct gt_json_value *frame, uint32_t parent)
{
    const struct gt_json_value *children = gt_json_member(frame, "children"), *child;
    double time = gt_json_number_of(gt_json_member(frame, "time")), own = time;
    size_t i;
    gt_json_foreach_item (children, i, child)
        own -= is_own_time(child) ? 0 : gt_json_number_of(gt_json_member(child, "time"));
    uint32_t here = (uint32_t)tree->maker.frame_count;
    int64_t number = gt_json_is_object(frame) ? take_frame(tree, frame, parent, time, own > 0 ? own : 0) : -EBADMSG;
    if (number < 0)
        return (int)number;
    tree->depth_of[number]++;
    int status = 0;
    for (i = 0; i < gt_json_count(children) && status >= 0; i++)
        if (!is_own_time(gt_json_item(children, i)))
            status = walk(tree, gt_json_item(children, i), here);
    tree->depth_of[number]--;
    return status;
}

static int by_function(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    return GT_ORDER(x->caller, y->caller);
}

static int add_callers(struct tree *tree)
{
    struct gt_profile_maker *maker = &tree->maker;
    if (tree->edge_count)
        qsort(tree->edge, tree->edge_count, sizeof *tree->edge, by_function);
    for (size_t i = 0; i < tree->edge_count; i++) {
        const struct edge *edge = &tree->edge[i];
        struct gt_trace_function *function = &maker->function[edge->function];
        bool is_new = i == 0 || by_function(edge, edge - 1) != 0;
        struct gt_trace_caller *caller = is_new ? GT_GROW(maker, caller) : &maker->caller[maker->caller_count - 1];
        if (!caller)
            return -ENOMEM;
        if (is_new) {
            *caller = (struct gt_trace_caller){edge->caller, -1, -1, 0, 0};
            if (!function->callers++)
                function->caller = (uint32_t)maker->caller_count - 1;
        }
        caller->total_time += edge->total_time;
        caller->cumulative_time += edge->cumulative_time;
    }
    return 0;
}

/* A file that is no JSON is damage: 0 without a document. */
static int load(struct gt_reading *reading, const char *path, struct gt_json_value **ret, struct gt_error *error)
{
    struct gt_json_trouble problem;
    size_t length = 0;
    char *text = NULL;
    int status = gt_python_profile_bytes(reading, path, &text, &length, error);
    *ret = status < 0 ? NULL : gt_json_parse(text, length, 0, &problem);
    if (status >= 0 && !*ret) {
        struct gt_trace_damage *damage = &gt_reading_file(reading)->damage;
        damage->cut_off = true;
        damage->lost_bytes = length;
        gt_damage_note(damage, 0, "%s", problem.text);
    }
    free(text);
    return status;
}

/* The page that pyinstrument may have written beside it. */
static int find_page(struct gt_reading *reading, const char *path, struct gt_trace_profile *profile)
{
    size_t length = strlen(path);
    char *page = NULL;
    if (length < 5 || strcmp(path + length - 5, ".json") != 0)
        return 0;
    if (asprintf(&page, "%.*s.html", (int)length - 5, path) < 0)
        return -ENOMEM;
    int64_t number = GT_TRACE_NONE;
    if (access(page, R_OK) == 0)
        number = gt_strings_add(&reading->trace->strings, page, strlen(page));
    free(page);
    profile->report = (uint32_t)number;
    return number < 0 ? (int)number : 0;
}

static void take_times(struct gt_reading *reading, const struct gt_json_value *document,
                       struct gt_trace_profile *profile)
{
    const struct gt_json_value *start = gt_json_member(document, "start_time"),
                               *duration = gt_json_member(document, "duration");
    struct gt_trace_file *file = gt_reading_file(reading);
    double begin = gt_json_number_of(start), length = gt_json_number_of(duration);
    if (gt_json_is_number(duration))
        profile->duration = length;
    if (profile->start != -GT_TRACE_EVER || !gt_json_is_number(start) || !gt_json_is_number(duration) ||
        !(fabs(begin) < 9e9 && length >= 0 && length < 1e9))
        return;
    profile->start = file->first = (int64_t)(begin * 1e6) * 1000;
    profile->end = file->last = profile->start + (int64_t)(length * 1e9);
    file->clock = GT_CLOCK_RECORD;
}

static int read_tree(struct gt_reading *reading, const char *path, const struct gt_json_value *document)
{
    struct tree tree = {.maker = {.reading = reading}};
    const struct gt_json_value *root = gt_json_member(document, "root_frame");
    int status = gt_json_is_object(root) ? walk(&tree, root, GT_TRACE_NONE) : 0;
    if (status == -EBADMSG) {
        gt_reading_file(reading)->damage.bad_events++;
        gt_damage_note(&gt_reading_file(reading)->damage, 0, "a frame that is no object");
        status = 0;
    }
    gt_reading_file(reading)->read = tree.maker.frame_count;
    if (status >= 0)
        status = add_callers(&tree);
    struct gt_trace_profile *profile = status < 0 ? NULL : gt_reading_profile(reading);
    if (status >= 0)
        status = profile ? gt_names_profile(reading, path, profile) : -ENOMEM;
    if (status >= 0)
        status = find_page(reading, path, profile);
    if (status >= 0) {
        profile->profiler = GT_PROFILER_PYINSTRUMENT;
        take_times(reading, document, profile);
        status = gt_profile_finish(&tree.maker, profile);
    }
    gt_profile_release(&tree.maker);
    free(tree.edge);
    free(tree.depth_of);
    return status;
}

static int read_pyinstrument(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    struct gt_json_value *document;
    int status = load(reading, path, &document, error);
    if (document)
        status = read_tree(reading, path, document);
    gt_json_free(document);
    return status;
}

const struct gt_trace_format gt_trace_pyinstrument = {
    .name = "pyinstrument",
    .help = "pyinstrument JSON: python_stats.json of SMDebug, and other files",
    .probe = probe_pyinstrument,
    .read = read_pyinstrument,
};
