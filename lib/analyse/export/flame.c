#include "analyse/export/export.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/file.h"
#include "base/json.h"
#include "base/number.h"
#include "trace/profile_maker.h"

/* ---- the tree in the order of arrival ---- */

struct tree {
    struct gt_flame *flame;
    struct gt_profile_maker maker; /* its frames, whose functions are names of the flame */
    uint32_t *order;               /* of the frames: by the frame that they grow from, then by name */
    size_t *first;                 /* of each frame, the first in that order that grows from it */
};

static int64_t add_frame(struct tree *tree, uint32_t parent, const char *name)
{
    int64_t number = gt_strings_add(&tree->flame->names, name, strlen(name));
    return number < 0 ? number : gt_profile_frame(&tree->maker, parent, (uint32_t)number);
}

/* "fib (prog.py:3)"; functions of no file have their name alone. */
static void write_name(const struct gt_trace *trace, const struct gt_trace_function *function, struct gt_buffer *out)
{
    const char *file = gt_trace_text(trace, function->file);
    gt_buffer_clear(out);
    gt_buffer_text(out, gt_trace_text(trace, function->function));
    if (strcmp(file, "~") == 0 || !*file)
        return;
    if (function->line)
        gt_buffer_printf(out, " (%s:%lld)", file, (long long)function->line);
    else
        gt_buffer_printf(out, " (%s)", file);
}

static int64_t add_root(struct tree *tree, const struct gt_trace *trace, const struct gt_trace_profile *profile,
                        bool several)
{
    struct gt_buffer name = {0};
    const char *path = trace->file[profile->file].path, *slash = strrchr(path, '/');
    int64_t root = add_frame(tree, GT_TRACE_NONE, "all");
    if (root < 0 || !several)
        return root;
    gt_buffer_text(&name, trace->file_count > 1 ? slash ? slash + 1 : path : "");
    if (profile->thread != GT_TRACE_NONE)
        gt_buffer_printf(&name, "%s%s", name.length ? ", " : "", gt_trace_text(trace, profile->thread));
    if (!name.length)
        gt_buffer_printf(&name, "%s", slash ? slash + 1 : path);
    int64_t branch = name.failed ? name.failed : add_frame(tree, (uint32_t)root, name.data);
    gt_buffer_release(&name);
    return branch;
}

static int add_profile(struct tree *tree, const struct gt_trace *trace, const struct gt_trace_profile *profile,
                       bool several)
{
    uint32_t *place = calloc(profile->frame_count + 1, sizeof *place);
    struct gt_buffer name = {0};
    int64_t root = place ? add_root(tree, trace, profile, several) : -ENOMEM, branch = root;
    for (size_t i = 0; i < profile->frame_count && branch >= 0; i++) {
        const struct gt_trace_frame *frame = &profile->frame[i];
        write_name(trace, &profile->function[frame->function], &name);
        uint32_t parent = frame->parent == GT_TRACE_NONE ? (uint32_t)root : place[frame->parent];
        branch = name.failed ? name.failed : add_frame(tree, parent, name.data);
        if (branch < 0)
            break;
        place[i] = (uint32_t)branch;
        tree->maker.frame[branch].time += frame->time;
        if (frame->parent != GT_TRACE_NONE)
            continue;
        for (uint32_t above = parent; above != GT_TRACE_NONE; above = tree->maker.frame[above].parent)
            tree->maker.frame[above].time += frame->time;
    }
    gt_buffer_release(&name);
    free(place);
    return branch < 0 ? (int)branch : 0;
}

/* ---- the tree in order ---- */

static int by_parent(const void *a, const void *b, void *context)
{
    const struct tree *tree = context;
    const struct gt_trace_frame *x = &tree->maker.frame[*(const uint32_t *)a];
    const struct gt_trace_frame *y = &tree->maker.frame[*(const uint32_t *)b];
    return GT_ORDER_BY(GT_ORDER(x->parent, y->parent), strcmp(gt_strings_text(&tree->flame->names, x->function),
                                                              gt_strings_text(&tree->flame->names, y->function)));
}

/* Adds a frame and what it calls. Trees are no deeper than GT_PROFILE_DEEPEST and the root above. */
static void lay_out(const struct tree *tree, uint32_t at, uint32_t parent, uint32_t depth)
{
    const struct gt_trace_frame *frame = tree->maker.frame;
    uint32_t place = (uint32_t)tree->flame->count++;
    tree->flame->node[place] = (struct gt_flame_node){parent, frame[at].function, depth, frame[at].time};
    for (size_t i = tree->first[at]; i < tree->maker.frame_count && frame[tree->order[i]].parent == at; i++)
        lay_out(tree, tree->order[i], place, depth + 1);
}

static int order_tree(struct tree *tree)
{
    size_t count = tree->maker.frame_count;
    tree->order = calloc(count + 1, sizeof *tree->order);
    tree->first = calloc(count + 1, sizeof *tree->first);
    tree->flame->node = calloc(count + 1, sizeof *tree->flame->node);
    if (!tree->order || !tree->first || !tree->flame->node)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        tree->order[i] = i;
        tree->first[i] = count;
    }
    if (!count)
        return 0;
    qsort_r(tree->order, count, sizeof *tree->order, by_parent, tree);
    for (size_t i = count - 1; i-- > 0;) /* the root comes last */
        tree->first[tree->maker.frame[tree->order[i]].parent] = i;
    lay_out(tree, 0, GT_TRACE_NONE, 0);
    return 0;
}

static enum gt_profile_unit choose_unit(const struct gt_trace *trace)
{
    enum gt_profile_unit unit = GT_PROFILE_UNITS;
    for (size_t i = 0; i < trace->profile_count; i++)
        if (trace->profile[i].frame_count && trace->profile[i].unit < unit)
            unit = trace->profile[i].unit;
    return unit;
}

int gt_flame_make(struct gt_flame *ret, const struct gt_trace *trace)
{
    struct tree tree = {.flame = ret};
    int status = 0;
    *ret = (struct gt_flame){.unit = choose_unit(trace)};
    for (size_t i = 0; i < trace->profile_count; i++) {
        bool is_in = trace->profile[i].frame_count && trace->profile[i].unit == ret->unit;
        ret->profiles += is_in;
        ret->without += !is_in;
    }
    for (size_t i = 0; i < trace->profile_count && status >= 0; i++)
        if (trace->profile[i].frame_count && trace->profile[i].unit == ret->unit)
            status = add_profile(&tree, trace, &trace->profile[i], ret->profiles > 1);
    if (status >= 0)
        status = order_tree(&tree);
    gt_profile_maker_release(&tree.maker);
    free(tree.order);
    free(tree.first);
    if (status < 0)
        gt_flame_release(ret);
    return status;
}

static double self_of(const struct gt_flame *flame, size_t node)
{
    double self = flame->node[node].total;
    for (size_t i = node + 1; i < flame->count && flame->node[i].depth > flame->node[node].depth; i++)
        self -= flame->node[i].parent == node ? flame->node[i].total : 0;
    return self > 0 ? self : 0;
}

void gt_flame_release(struct gt_flame *flame)
{
    gt_strings_release(&flame->names);
    free(flame->node);
    *flame = (struct gt_flame){0};
}

/* ---- collapsed stacks ---- */

/* What separates frames and lines is replaced. */
static void write_frame(struct gt_buffer *out, const char *name)
{
    for (; *name; name++)
        gt_buffer_char(out, *name == ';' ? ':' : *name == '\n' || *name == '\r' ? ' ' : *name);
}

void gt_flame_collapsed(const struct gt_flame *flame, struct gt_buffer *out)
{
    uint32_t *way = calloc(flame->count + 1, sizeof *way);
    double factor = flame->unit == GT_PROFILE_SECONDS ? 1e6 : 1;
    if (!way)
        out->failed = -ENOMEM;
    for (size_t i = 0; i < flame->count && !out->failed; i++) {
        const struct gt_flame_node *node = &flame->node[i];
        long long self = llround(self_of(flame, i) * factor);
        way[node->depth] = node->name;
        if (!self || !node->depth)
            continue;
        for (uint32_t depth = 1; depth <= node->depth; depth++) {
            if (depth > 1)
                gt_buffer_char(out, ';');
            write_frame(out, gt_strings_text(&flame->names, way[depth]));
        }
        gt_buffer_printf(out, " %lld\n", self);
    }
    free(way);
}

/* ---- the page ---- */

GT_EMBED(gt_flame_html, "lib/analyse/export/flame.html")

enum { MOST_NODES = 200000 };

/* The least total that is drawn, so that a browser can hold the page. */
static double least_drawn(const struct gt_flame *flame)
{
    double least = 0;
    for (size_t kept = flame->count; kept > MOST_NODES;) {
        least = least > 0 ? least * 2 : flame->node[0].total / 1e7;
        kept = 0;
        for (size_t i = 0; i < flame->count; i++)
            kept += flame->node[i].total >= least;
    }
    return least;
}

static void quote(struct gt_buffer *out, const char *text)
{
    struct gt_buffer quoted = {0};
    gt_json_quote(&quoted, text);
    for (size_t i = 0; i < quoted.length; i++)
        if (quoted.data[i] == '<') /* nothing in a name ends the script */
            gt_buffer_text(out, "\\u003c");
        else
            gt_buffer_char(out, quoted.data[i]);
    if (quoted.failed)
        out->failed = quoted.failed;
    gt_buffer_release(&quoted);
}

static void write_numbers(struct gt_buffer *out, const struct gt_flame *flame, double least, const char *key,
                          int column)
{
    bool has_one = false;
    gt_buffer_printf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < flame->count; i++) {
        const struct gt_flame_node *node = &flame->node[i];
        if (node->total < least && i)
            continue;
        gt_buffer_text(out, has_one ? "," : "");
        has_one = true;
        if (column == 2)
            gt_buffer_printf(out, "%.9g", node->total);
        else
            gt_buffer_printf(out, "%u", column ? node->name : node->depth);
    }
    gt_buffer_char(out, ']');
}

static void write_data(const struct gt_flame *flame, const char *title, struct gt_buffer *out)
{
    double least = least_drawn(flame);
    size_t left_out = 0;
    for (size_t i = 0; i < flame->count; i++)
        left_out += flame->node[i].total < least;
    gt_buffer_text(out, "{\"title\":");
    quote(out, title);
    gt_buffer_printf(out, ",\"unit\":\"%s\",\"note\":\"", gt_trace_unit_name(flame->unit));
    if (left_out)
        gt_buffer_printf(out, "%zu frames below %.3g %s are left out", left_out, least,
                         gt_trace_unit_name(flame->unit));
    gt_buffer_text(out, "\",\"names\":[");
    for (uint32_t i = 0; i < flame->names.count; i++) {
        gt_buffer_text(out, i ? "," : "");
        quote(out, gt_strings_text(&flame->names, i));
    }
    gt_buffer_char(out, ']');
    write_numbers(out, flame, least, "depth", 0);
    write_numbers(out, flame, least, "name", 1);
    write_numbers(out, flame, least, "total", 2);
    gt_buffer_char(out, '}');
}

void gt_flame_page(const struct gt_flame *flame, const char *title, struct gt_buffer *out)
{
    static const char mark[] = "@DATA@";
    const char *data = strstr(gt_flame_html, mark);
    gt_buffer_append(out, gt_flame_html, (size_t)(data - gt_flame_html));
    write_data(flame, title, out);
    gt_buffer_text(out, data + strlen(mark));
}
