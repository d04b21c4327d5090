#include "trace/profile_maker.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"

/* "<lambda>", "f.<locals>.<listcomp>": a file has several of that name. */
static bool is_anonymous(struct gt_span name)
{
    const char *dot = name.length ? memrchr(name.text, '.', name.length) : NULL;
    const char *last = dot ? dot + 1 : name.text;
    return name.length && last < name.text + name.length && *last == '<' && !gt_span_is(name, "<module>");
}

static void note_line(struct gt_trace_function *function, int64_t line)
{
    if (line > 0 && (function->line <= 0 || line < function->line))
        function->line = line;
}

int64_t gt_profile_function(struct gt_profile_maker *maker, struct gt_span file, int64_t line, struct gt_span name)
{
    struct gt_strings *strings = &maker->trace->strings;
    int64_t file_text = gt_strings_add(strings, file.text ? file.text : "", file.length);
    int64_t name_text = file_text < 0 ? file_text : gt_strings_add(strings, name.text ? name.text : "", name.length);
    if (name_text < 0)
        return name_text;
    bool is_told_by_line = !maker->lines_ran || is_anonymous(name);
    int64_t told = is_told_by_line ? line : 0;
    struct gt_key key = {{(uint32_t)file_text, (uint32_t)name_text, (uint32_t)told, (uint32_t)((uint64_t)told >> 32)}};
    int64_t number = gt_keys_add(&maker->keys, key, (uint32_t)maker->function_count);
    if (number >= 0 && number < (int64_t)maker->function_count && !is_told_by_line)
        note_line(&maker->function[number], line);
    if (number != (int64_t)maker->function_count)
        return number;
    struct gt_trace_function *function = GT_GROW(maker, function);
    if (!function)
        return -ENOMEM;
    *function = (struct gt_trace_function){.file = (uint32_t)file_text,
                                           .function = (uint32_t)name_text,
                                           .line = line,
                                           .primitive_calls = -1,
                                           .total_calls = -1,
                                           .total_time = NAN,
                                           .cumulative_time = NAN};
    return number;
}

/* ---- a function as tools write it ---- */

static bool read_line(struct gt_span digits, int64_t *ret)
{
    if (!digits.length || digits.length > 9)
        return false;
    for (size_t i = 0; i < digits.length; i++)
        if (digits.text[i] < '0' || digits.text[i] > '9')
            return false;
    return gt_span_decimal(digits, 0, ret) >= 0;
}

static const char *last_of(struct gt_span text, char wanted)
{
    return memrchr(text.text, wanted, text.length);
}

/* "fib (/tmp/short.py:2)" of viztracer and py-spy. */
static bool split_behind(struct gt_span text, struct gt_span *file, int64_t *line, struct gt_span *name)
{
    if (text.length < 4 || text.text[text.length - 1] != ')')
        return false;
    const char *colon = last_of(text, ':'), *end = text.text + text.length - 1, *open = NULL;
    for (const char *at = text.text; colon && at + 1 < colon; at++)
        if (at[0] == ' ' && at[1] == '(') {
            open = at;
            break;
        }
    if (!open || !read_line((struct gt_span){colon + 1, (size_t)(end - colon - 1)}, line))
        return false;
    *name = (struct gt_span){text.text, (size_t)(open - text.text)};
    *file = (struct gt_span){open + 2, (size_t)(colon - open - 2)};
    return name->length && file->length;
}

/* "torch/nn/modules/module.py(1501): _call_impl" of PyTorch. */
static bool split_before(struct gt_span text, struct gt_span *file, int64_t *line, struct gt_span *name)
{
    static const char between[] = "): ";
    const char *close = memmem(text.text, text.length, between, 3);
    if (!close)
        return false;
    struct gt_span head = {text.text, (size_t)(close - text.text)};
    const char *open = last_of(head, '(');
    if (!open || open == text.text || !read_line((struct gt_span){open + 1, (size_t)(close - open - 1)}, line))
        return false;
    *file = (struct gt_span){text.text, (size_t)(open - text.text)};
    *name = (struct gt_span){close + 3, (size_t)(text.text + text.length - close - 3)};
    return name->length > 0;
}

/* "prog.py:fib:3" of Python's sampling profiler and Austin. */
static bool split_between(struct gt_span text, struct gt_span *file, int64_t *line, struct gt_span *name)
{
    const char *last = last_of(text, ':');
    struct gt_span head = {text.text, last ? (size_t)(last - text.text) : 0};
    const char *first = head.length ? last_of(head, ':') : NULL;
    if (!first || !read_line((struct gt_span){last + 1, (size_t)(text.text + text.length - last - 1)}, line))
        return false;
    *file = (struct gt_span){text.text, (size_t)(first - text.text)};
    *name = (struct gt_span){first + 1, (size_t)(last - first - 1)};
    return file->length && name->length && first[-1] != ':';
}

int64_t gt_profile_function_of(struct gt_profile_maker *maker, struct gt_span text)
{
    struct gt_span file = {"~", 1}, name = text;
    int64_t line = 0;
    if (!text.text || (!split_behind(text, &file, &line, &name) && !split_before(text, &file, &line, &name) &&
                       !split_between(text, &file, &line, &name))) {
        file = gt_span_of("~");
        name = text.text ? text : gt_span_of("");
        line = 0;
    }
    return gt_profile_function(maker, file, line, name);
}

int64_t gt_profile_function_raw(struct gt_profile_maker *maker, struct gt_span file, int64_t line, struct gt_span name)
{
    struct gt_buffer file_text = {0}, name_text = {0};
    int64_t status = gt_span_plain(&file, &file_text);
    if (status >= 0)
        status = gt_span_plain(&name, &name_text);
    if (status >= 0)
        status = file.length ? gt_profile_function(maker, file, line, name) : gt_profile_function_of(maker, name);
    gt_buffer_release(&file_text);
    gt_buffer_release(&name_text);
    return status;
}

/* ---- units ---- */

enum gt_profile_unit gt_profile_unit_of(struct gt_span unit, double *factor)
{
    static const struct {
        const char *name;
        enum gt_profile_unit unit;
        double factor;
    } units[] = {{"nanoseconds", GT_PROFILE_SECONDS, 1e-9},  {"microseconds", GT_PROFILE_SECONDS, 1e-6},
                 {"milliseconds", GT_PROFILE_SECONDS, 1e-3}, {"seconds", GT_PROFILE_SECONDS, 1},
                 {"ns", GT_PROFILE_SECONDS, 1e-9},           {"us", GT_PROFILE_SECONDS, 1e-6},
                 {"ms", GT_PROFILE_SECONDS, 1e-3},           {"bytes", GT_PROFILE_BYTES, 1}};
    *factor = 1;
    for (size_t i = 0; unit.text && i < sizeof units / sizeof *units; i++)
        if (gt_span_is(unit, units[i].name)) {
            *factor = units[i].factor;
            return units[i].unit;
        }
    return GT_PROFILE_SAMPLES;
}

/* ---- the tree of stacks ---- */

static int64_t add_frame(struct gt_profile_maker *maker, uint32_t parent, uint32_t function)
{
    struct gt_trace_frame *frame = GT_GROW(maker, frame);
    struct gt_profile_own *own = frame ? GT_GROW(maker, own) : NULL;
    if (!own)
        return -ENOMEM;
    *frame = (struct gt_trace_frame){parent, function, 0};
    *own = (struct gt_profile_own){0};
    return (int64_t)maker->frame_count - 1;
}

int64_t gt_profile_frame(struct gt_profile_maker *maker, uint32_t parent, uint32_t function)
{
    struct gt_key key = {{parent, function, 0, 0}};
    if (maker->frame_count >= GT_TRACE_NONE - 1)
        return -EOVERFLOW;
    int64_t number = gt_keys_add(&maker->children, key, (uint32_t)maker->frame_count);
    return number == (int64_t)maker->frame_count ? add_frame(maker, parent, function) : number;
}

int64_t gt_profile_timed_frame(struct gt_profile_maker *maker, uint32_t parent, uint32_t function, double time,
                               double own)
{
    int64_t number = add_frame(maker, parent, function);
    if (number >= 0) {
        maker->frame[number].time = time;
        maker->own[number].weight = own;
    }
    return number;
}

int gt_profile_push(struct gt_profile_maker *maker, int64_t function)
{
    uint32_t *place = function < 0 ? NULL : GT_GROW(maker, stack);
    if (!place)
        return function < 0 ? (int)function : -ENOMEM;
    *place = (uint32_t)function;
    return 0;
}

int gt_profile_stack(struct gt_profile_maker *maker, bool is_outermost_last, double weight)
{
    int64_t frame = GT_TRACE_NONE;
    size_t depth = maker->stack_count;
    for (size_t i = 0; i < depth && i < GT_PROFILE_DEEPEST && frame >= 0; i++)
        frame = gt_profile_frame(maker, (uint32_t)frame, maker->stack[is_outermost_last ? depth - 1 - i : i]);
    if (frame < 0 || !depth)
        return frame < 0 ? (int)frame : 0;
    maker->own[frame].weight += weight;
    maker->own[frame].calls++;
    return 0;
}

int gt_profile_enter(struct gt_profile_maker *maker, uint32_t function, double time)
{
    uint32_t parent = maker->call_count ? maker->call[maker->call_count - 1].frame : GT_TRACE_NONE;
    int64_t frame = maker->call_count < GT_PROFILE_DEEPEST ? gt_profile_frame(maker, parent, function) : -E2BIG;
    struct gt_profile_call *call = frame < 0 ? NULL : GT_GROW(maker, call);
    if (!call)
        return frame < 0 ? (int)frame : -ENOMEM;
    *call = (struct gt_profile_call){(uint32_t)frame, function, time, 0};
    return 0;
}

void gt_profile_leave(struct gt_profile_maker *maker, double time)
{
    const struct gt_profile_call *call = &maker->call[--maker->call_count];
    double length = time - call->since;
    maker->own[call->frame].weight += fmax(length - call->of_callees, 0);
    maker->own[call->frame].calls++;
    if (maker->call_count)
        maker->call[maker->call_count - 1].of_callees += length;
}

static bool is_outermost(const struct gt_profile_maker *maker, size_t at)
{
    uint32_t function = maker->frame[at].function;
    for (uint32_t parent = maker->frame[at].parent; parent != GT_TRACE_NONE; parent = maker->frame[parent].parent)
        if (maker->frame[parent].function == function)
            return false;
    return true;
}

static int sum_frame(struct gt_profile_maker *maker, size_t at, bool counted)
{
    const struct gt_trace_frame *frame = &maker->frame[at];
    const struct gt_profile_own *own = &maker->own[at];
    struct gt_trace_function *function = &maker->function[frame->function];
    bool outermost = is_outermost(maker, at);
    function->total_time = (isnan(function->total_time) ? 0 : function->total_time) + own->weight;
    function->cumulative_time = (isnan(function->cumulative_time) ? 0 : function->cumulative_time) +
                                outermost * frame->time;
    if (counted) {
        function->total_calls = (function->total_calls < 0 ? 0 : function->total_calls) + own->calls;
        function->primitive_calls = (function->primitive_calls < 0 ? 0 : function->primitive_calls) +
                                    outermost * own->calls;
    }
    if (frame->parent == GT_TRACE_NONE)
        return 0;
    struct gt_profile_edge *edge = GT_GROW(maker, edge);
    if (!edge)
        return -ENOMEM;
    *edge = (struct gt_profile_edge){frame->function, maker->frame[frame->parent].function, counted ? own->calls : -1,
                                     own->weight, outermost * frame->time};
    return 0;
}

/* ---- callers ---- */

static int by_function(const void *a, const void *b)
{
    const struct gt_profile_edge *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->function, y->function), GT_ORDER(x->caller, y->caller));
}

static int make_callers(struct gt_profile_maker *maker)
{
    if (maker->edge_count)
        qsort(maker->edge, maker->edge_count, sizeof *maker->edge, by_function);
    for (size_t i = 0; i < maker->edge_count; i++) {
        const struct gt_profile_edge *edge = &maker->edge[i];
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
        if (edge->calls >= 0)
            caller->total_calls = (caller->total_calls < 0 ? 0 : caller->total_calls) + edge->calls;
        caller->total_time += edge->total_time;
        caller->cumulative_time += edge->cumulative_time;
    }
    return 0;
}

int gt_profile_sum_timed(struct gt_profile_maker *maker, bool counted)
{
    int status = 0;
    for (size_t i = 0; i < maker->frame_count && status >= 0; i++)
        status = sum_frame(maker, i, counted);
    return status < 0 ? status : make_callers(maker);
}

int gt_profile_sum(struct gt_profile_maker *maker, bool counted)
{
    for (size_t i = maker->frame_count; i-- > 0;) {
        struct gt_trace_frame *frame = &maker->frame[i];
        frame->time += maker->own[i].weight;
        if (frame->parent != GT_TRACE_NONE)
            maker->frame[frame->parent].time += frame->time;
    }
    return gt_profile_sum_timed(maker, counted);
}

/* ---- the profile ---- */

struct place {
    const struct gt_trace *trace;
    const struct gt_trace_function *function;
    uint32_t number;
};

static int by_name(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = strcmp(gt_trace_text(x->trace, x->function->file), gt_trace_text(y->trace, y->function->file));
    if (!order)
        order = GT_ORDER(x->function->line, y->function->line);
    if (!order)
        order = strcmp(gt_trace_text(x->trace, x->function->function), gt_trace_text(y->trace, y->function->function));
    return order ? order : GT_ORDER(x->number, y->number);
}

static void renumber(struct gt_profile_maker *maker, const uint32_t *place_of)
{
    for (size_t i = 0; i < maker->caller_count; i++)
        maker->caller[i].function = place_of[maker->caller[i].function];
    for (size_t i = 0; i < maker->frame_count; i++)
        maker->frame[i].function = place_of[maker->frame[i].function];
}

void gt_profile_maker_release(struct gt_profile_maker *maker)
{
    gt_keys_release(&maker->keys);
    free(maker->function);
    free(maker->caller);
    free(maker->frame);
    gt_keys_release(&maker->children);
    free(maker->own);
    free(maker->stack);
    free(maker->call);
    free(maker->edge);
    *maker = (struct gt_profile_maker){0};
}

int gt_profile_finish(struct gt_profile_maker *maker, struct gt_trace_profile *profile)
{
    size_t count = maker->function_count;
    struct place *place = calloc(count + 1, sizeof *place);
    uint32_t *place_of = calloc(count + 1, sizeof *place_of);
    struct gt_trace_function *sorted = calloc(count + 1, sizeof *sorted);
    int status = place && place_of && sorted ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && status >= 0; i++)
        place[i] = (struct place){maker->trace, &maker->function[i], (uint32_t)i};
    if (status >= 0) {
        qsort(place, count, sizeof *place, by_name);
        for (size_t i = 0; i < count; i++) {
            sorted[i] = *place[i].function;
            place_of[place[i].number] = (uint32_t)i;
        }
        renumber(maker, place_of);
        profile->function = sorted;
        profile->function_count = count;
        profile->lines_ran = maker->lines_ran;
        profile->caller = maker->caller;
        profile->caller_count = maker->caller_count;
        profile->frame = maker->frame;
        profile->frame_count = maker->frame_count;
        maker->caller = NULL;
        maker->frame = NULL;
        sorted = NULL;
    }
    free(sorted);
    free(place);
    free(place_of);
    gt_profile_maker_release(maker);
    return status;
}

int gt_profile_of_stacks(struct gt_reading *reading, struct gt_profile_maker *maker, enum gt_trace_profiler profiler,
                         enum gt_profile_unit unit, int64_t thread, bool counted)
{
    int status = thread < 0 ? (int)thread : gt_profile_sum(maker, counted);
    struct gt_trace_profile *profile = status < 0 ? NULL : gt_reading_profile(reading, profiler, unit);
    if (profile) {
        profile->thread = (uint32_t)thread;
        return gt_profile_finish(maker, profile);
    }
    gt_profile_maker_release(maker);
    return status < 0 ? status : -ENOMEM;
}

/* ---- lines of several profiles ---- */

struct same {
    struct gt_trace_function **function; /* of all profiles whose lines ran */
    size_t count, capacity;
};

static int by_texts(const void *a, const void *b)
{
    const struct gt_trace_function *x = *(struct gt_trace_function *const *)a;
    const struct gt_trace_function *y = *(struct gt_trace_function *const *)b;
    return GT_ORDER_BY(GT_ORDER(x->file, y->file), GT_ORDER(x->function, y->function), GT_ORDER(x->line, y->line));
}

static int collect_same(struct same *same, const struct gt_trace *trace, const struct gt_trace_profile *profile)
{
    for (size_t i = 0; profile->lines_ran && i < profile->function_count; i++) {
        const char *name = gt_trace_text(trace, profile->function[i].function);
        if (is_anonymous(gt_span_of(name)) || profile->function[i].line <= 0)
            continue;
        struct gt_trace_function **place = GT_GROW_LIST(same, function);
        if (!place)
            return -ENOMEM;
        *place = &profile->function[i];
    }
    return 0;
}

int gt_profiles_settle_lines(struct gt_trace *trace)
{
    struct same same = {0};
    int status = 0;
    for (size_t i = 0; i < trace->profile_count && status >= 0; i++)
        status = collect_same(&same, trace, &trace->profile[i]);
    if (same.count && status >= 0)
        qsort(same.function, same.count, sizeof *same.function, by_texts);
    for (size_t i = 1; i < same.count && status >= 0; i++)
        if (same.function[i]->file == same.function[i - 1]->file &&
            same.function[i]->function == same.function[i - 1]->function)
            same.function[i]->line = same.function[i - 1]->line;
    free(same.function);
    return status;
}

/* Categories of calls of Python functions: viztracer's, py-spy's, PyTorch's. */
static const char *const python[] = {"fee", "FEE", "py-spy", "python_function"};
/* Of what does not run on a thread, or says nothing of it. */
static const char *const others[] = {"kernel",     "Kernel",   "gpu_memcpy", "Memcpy",
                                     "gpu_memset", "Memset",   "gpu",        "gpu_user_annotation",
                                     "Trace",      "overhead", "ac2g",       "fwdbwd"};

static bool is_one_of(const struct gt_trace *trace, uint32_t category, const char *const *names, size_t count)
{
    const char *text = gt_trace_text(trace, category);
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0)
            return true;
    return false;
}

/* For each category, by its number, whether its events are calls. */
static unsigned char *find_categories(const struct gt_trace *trace, enum gt_calls calls)
{
    enum { PYTHON = sizeof python / sizeof *python, OTHERS = sizeof others / sizeof *others };
    unsigned char *is_call = calloc(trace->strings.count + (size_t)1, 1);
    for (uint32_t i = 0; is_call && i < trace->strings.count; i++)
        is_call[i] = calls == GT_CALLS_PYTHON ? is_one_of(trace, i, python, PYTHON)
                                              : !is_one_of(trace, i, others, OTHERS);
    return is_call;
}

static bool is_call(const struct gt_trace *trace, const unsigned char *categories, enum gt_calls calls, size_t event)
{
    uint32_t category = trace->events.category[event];
    if (!gt_trace_is_slice(trace, event))
        return false;
    return category == GT_TRACE_NONE ? calls == GT_CALLS_CPU : categories[category];
}

/* Of one interval, what was made of B and E ends innermost first; whole events stand outermost first. */
static int64_t place_in_interval(const struct gt_trace_events *events, uint32_t event)
{
    return events->flag[event] & GT_TRACE_PAIRED ? -(int64_t)event - 1 : (int64_t)event;
}

static int longer_first(const void *a, const void *b, void *context)
{
    const struct gt_trace_events *events = &((const struct gt_trace *)context)->events;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return GT_ORDER_BY(GT_ORDER(events->track[x], events->track[y]), GT_ORDER(events->start[x], events->start[y]),
                       GT_ORDER(gt_trace_duration(events, y), gt_trace_duration(events, x)),
                       GT_ORDER(place_in_interval(events, x), place_in_interval(events, y)));
}

static void leave_until(struct gt_profile_maker *maker, const int64_t *end, int64_t time)
{
    while (maker->call_count && end[maker->call_count - 1] <= time)
        gt_profile_leave(maker, (double)end[maker->call_count - 1]);
}

/* One that ends behind the one it began in is cut to that. Times are ns from the first on. */
static int nest(struct gt_profile_maker *maker, const uint32_t *event, size_t count)
{
    const struct gt_trace_events *events = &maker->trace->events;
    int64_t first = events->start[*event], *end = calloc(GT_PROFILE_DEEPEST, sizeof *end);
    int64_t status = end ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && status >= 0; i++) {
        int64_t start = events->start[event[i]] - first, until = start + gt_trace_duration(events, event[i]);
        leave_until(maker, end, start);
        if (maker->call_count == GT_PROFILE_DEEPEST)
            continue;
        if (maker->call_count && until > end[maker->call_count - 1])
            until = end[maker->call_count - 1];
        char *name = strdup(gt_trace_text(maker->trace, events->name[event[i]])); /* the texts may move */
        status = name ? gt_profile_function_of(maker, gt_span_of(name)) : -ENOMEM;
        free(name);
        if (status >= 0)
            status = gt_profile_enter(maker, (uint32_t)status, (double)start);
        if (status >= 0)
            end[maker->call_count - 1] = until;
    }
    if (status >= 0)
        leave_until(maker, end, INT64_MAX);
    for (size_t i = 0; i < maker->frame_count; i++)
        maker->own[i].weight /= 1e9;
    free(end);
    return status < 0 ? (int)status : 0;
}

static int add_profile(struct gt_trace *trace, const uint32_t *event, size_t count)
{
    struct gt_profile_maker maker = {.trace = trace};
    const struct gt_trace_track *track = &trace->track[trace->events.track[*event]];
    uint32_t file = trace->process[track->process].file;
    maker.lines_ran = strcmp(gt_trace_text(trace, trace->events.category[*event]), "py-spy") == 0;
    int status = nest(&maker, event, count);
    if (status >= 0)
        status = gt_profile_sum(&maker, !maker.lines_ran); /* its events are samples, not calls */
    struct gt_trace_profile *profile = status < 0 ? NULL : GT_GROW(trace, profile);
    if (profile) {
        gt_trace_profile_init(profile, file, trace->file[file].node);
        profile->profiler = GT_PROFILER_EVENTS;
        profile->thread = track->name != GT_TRACE_NONE ? track->name : track->tid;
        profile->start = trace->events.start[*event];
        profile->end = profile->start;
        for (size_t i = 0; i < count; i++) {
            int64_t end = trace->events.start[event[i]] + gt_trace_duration(&trace->events, event[i]);
            profile->end = end > profile->end ? end : profile->end;
        }
        status = gt_profile_finish(&maker, profile);
    } else if (status >= 0) {
        status = -ENOMEM;
    }
    gt_profile_maker_release(&maker);
    return status;
}

int gt_call_profiles(struct gt_trace *trace, enum gt_calls calls)
{
    unsigned char *categories = find_categories(trace, calls);
    uint32_t *event = malloc((trace->events.count + 1) * sizeof *event);
    size_t count = 0;
    int status = categories && event ? 0 : -ENOMEM;
    for (size_t i = 0; status >= 0 && i < trace->events.count; i++)
        if (is_call(trace, categories, calls, i))
            event[count++] = (uint32_t)i;
    free(categories);
    if (count)
        qsort_r(event, count, sizeof *event, longer_first, trace);
    for (size_t from = 0, to; from < count && status >= 0; from = to) {
        for (to = from; to < count && trace->events.track[event[to]] == trace->events.track[event[from]];)
            to++;
        status = add_profile(trace, event + from, to - from);
    }
    free(event);
    return status < 0 ? status : gt_profiles_settle_lines(trace);
}

bool gt_calls_alone(const struct gt_trace *trace)
{
    static const char *const tools[] = {"fee", "FEE", "py-spy"};
    bool found = false;
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        found |= gt_trace_find(trace, tools[i]) != GT_TRACE_NONE;
    return found && gt_trace_find(trace, "cpu_op") == GT_TRACE_NONE;
}
