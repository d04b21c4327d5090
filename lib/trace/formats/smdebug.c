#include "trace/formats/smdebug.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names of files and folders ---- */

struct gt_span gt_path_part(const char *path, int back)
{
    const char *end = path + strlen(path);
    for (;; back--) {
        const char *from = end;
        while (from > path && from[-1] != '/')
            from--;
        if (back == 0)
            return from == end ? (struct gt_span){0} : (struct gt_span){from, (size_t)(end - from)};
        if (from == path)
            return (struct gt_span){0};
        end = from - 1;
    }
}

static bool is_digits(struct gt_span text)
{
    for (size_t i = 0; i < text.length; i++)
        if (text.text[i] < '0' || text.text[i] > '9')
            return false;
    return text.length > 0;
}

/* Take what stands before the next `separator`, or the rest. */
static struct gt_span take(struct gt_span *rest, char separator)
{
    if (!rest->text)
        return (struct gt_span){0};
    const char *at = memchr(rest->text, separator, rest->length);
    struct gt_span part = {rest->text, at ? (size_t)(at - rest->text) : rest->length};
    *rest = at ? (struct gt_span){at + 1, rest->length - part.length - 1} : (struct gt_span){0};
    return part;
}

/* "<end us>_<node>_<suffix>": node and suffix; false for other names. */
static bool split_name(const char *name, struct gt_span *node, const char **suffix)
{
    struct gt_span rest = {name, strlen(name)};
    struct gt_span end = take(&rest, '_');
    *node = take(&rest, '_');
    *suffix = rest.text;
    return is_digits(end) && node->length && rest.text;
}

/* Sets the node; "<rank>-algo-<host>" becomes "algo-<host>-<rank>", which sorts by host. */
static int set_node(struct gt_reading *reading, struct gt_span node)
{
    static const char algorithm[] = "-algo-";
    const size_t length = sizeof algorithm - 1;
    const char *dash = node.text ? memchr(node.text, '-', node.length) : NULL;
    struct gt_span first = {node.text, dash ? (size_t)(dash - node.text) : 0};
    if (!node.length)
        return 0;
    char turned[128];
    if (!is_digits(first) || node.length - first.length <= length || node.length > sizeof turned - 1 ||
        memcmp(dash, algorithm, length) != 0)
        return gt_reading_node(reading, node.text, node.length);
    int size = snprintf(turned, sizeof turned, "%.*s-%.*s", (int)(node.length - first.length - 1), dash + 1,
                        (int)first.length, node.text);
    return gt_reading_node(reading, turned, (size_t)size);
}

/* Returns the folder by which a path differs from another with the same file name, the last that is not the same. Empty: none. */
static struct gt_span folder_apart(const char *path, const char *other, int cycles)
{
    struct gt_span own, others;
    bool is_same = true;
    for (int i = 0; is_same; i += i ? 1 : 1 + cycles) {
        own = gt_path_part(path, i);
        others = gt_path_part(other, i);
        is_same = own.text && own.length == others.length && memcmp(own.text, others.text, own.length) == 0;
        if (!i && !is_same)
            return (struct gt_span){0};
    }
    return own;
}

int gt_names_file(struct gt_reading *reading, struct gt_span node, int cycles)
{
    const struct gt_trace *trace = reading->trace;
    const char *path = gt_reading_file(reading)->path;
    struct gt_span folder = {0};
    bool is_smdebug = strstr(path, "/detailed_profiling/");
    for (size_t i = 0; i < trace->file_count && !folder.length && !is_smdebug; i++)
        if (trace->file[i].part_of == GT_TRACE_NONE && strcmp(trace->file[i].path, path) != 0)
            folder = folder_apart(path, trace->file[i].path, cycles);
    if (!folder.length || !node.length)
        return set_node(reading, node);
    char *name = NULL;
    int length = asprintf(&name, "%.*s %.*s", (int)folder.length, folder.text, (int)node.length, node.text);
    int status = length < 0 ? -ENOMEM : gt_reading_node(reading, name, (size_t)length);
    free(name);
    return status;
}

struct moment {
    struct gt_span mode, step, phase, time;
};

/* "train-10-forwardpassend-1599000000000000.5" */
static bool read_moment(struct gt_span text, struct moment *ret)
{
    ret->mode = take(&text, '-');
    ret->step = take(&text, '-');
    ret->phase = take(&text, '-');
    ret->time = text;
    return ret->mode.length && ret->step.length && ret->phase.length && ret->time.length;
}

static int keep_moment(struct gt_reading *reading, const struct moment *moment, double outside, uint32_t *mode,
                       double *step, uint32_t *phase, int64_t *time)
{
    int64_t number, when;
    int64_t mode_text = gt_reading_string(reading, moment->mode);
    int64_t phase_text = mode_text < 0 ? mode_text : gt_reading_string(reading, moment->phase);
    if (phase_text < 0)
        return (int)phase_text;
    if (gt_span_decimal(moment->time, 3, &when) < 0)
        return 0;
    if (gt_span_is(moment->step, "*"))
        *step = outside;
    else if (gt_span_decimal(moment->step, 0, &number) >= 0)
        *step = (double)number;
    *mode = (uint32_t)mode_text;
    *phase = (uint32_t)phase_text;
    *time = when;
    return 0;
}

/* The folder of a node is told as it is named, though events of "78-algo-2" are those of "algo-2-78". */
static int keep_node(struct gt_reading *reading, struct gt_span node, struct gt_trace_profile *profile)
{
    int64_t number = node.length ? gt_reading_string(reading, node) : (int64_t)GT_TRACE_NONE;
    if (number < 0)
        return (int)number;
    profile->node = (uint32_t)number;
    return set_node(reading, node);
}

/* "<start us>_<end us>_<node>_<step>", as older versions named it. */
static int read_old_folder(struct gt_reading *reading, struct gt_span folder, struct gt_trace_profile *profile)
{
    struct gt_span start = take(&folder, '_'), end = take(&folder, '_'), node = take(&folder, '_'), step = folder;
    int64_t first, last, number;
    if (!step.length || gt_span_decimal(start, 3, &first) < 0 || gt_span_decimal(end, 3, &last) < 0)
        return 0;
    profile->start = first;
    profile->end = last;
    if (gt_span_is(step, "*")) {
        profile->start_step = -1;
        profile->end_step = INFINITY;
    } else if (gt_span_decimal(step, 0, &number) >= 0) {
        profile->start_step = profile->end_step = (double)number;
    }
    return keep_node(reading, node, profile);
}

static bool is_profiler(struct gt_span name)
{
    return gt_span_is(name, "cprofile") || gt_span_is(name, "cProfile") || gt_span_is(name, "pyinstrument");
}

static int keep_place(struct gt_reading *reading, const char *path, bool below_node, struct gt_trace_profile *profile)
{
    struct gt_span framework = {0};
    int status = 0;
    struct gt_span above = gt_path_part(path, 2);
    if (is_profiler(above)) {
        framework = gt_path_part(path, 3);
    } else if (is_profiler(gt_path_part(path, 3))) {
        status = keep_node(reading, above, profile);
        framework = gt_path_part(path, 4);
    } else if (below_node) { /* taken out of SMDebug's tree */
        status = keep_node(reading, above, profile);
    }
    if (status < 0 || !framework.text)
        return status;
    int64_t number = gt_reading_string(reading, framework);
    profile->framework = (uint32_t)number;
    return number < 0 ? (int)number : 0;
}

int gt_names_profile(struct gt_reading *reading, const char *path, struct gt_trace_profile *profile)
{
    struct gt_span folder = gt_path_part(path, 1), rest = folder;
    struct moment start, end;
    int status = 0;
    if (!folder.text)
        return 0;
    struct gt_span first = take(&rest, '_');
    bool is_new = read_moment(first, &start) && rest.text && read_moment(rest, &end);
    if (is_new) {
        status = keep_moment(reading, &start, -1, &profile->start_mode, &profile->start_step, &profile->start_phase,
                             &profile->start);
        if (status >= 0)
            status = keep_moment(reading, &end, INFINITY, &profile->end_mode, &profile->end_step, &profile->end_phase,
                                 &profile->end);
    } else {
        status = read_old_folder(reading, folder, profile);
    }
    if (status >= 0)
        status = keep_place(reading, path, is_new, profile);
    struct gt_trace_file *file = gt_reading_file(reading);
    profile->node = profile->node == GT_TRACE_NONE ? file->node : profile->node;
    if (profile->start > -GT_TRACE_EVER && profile->end < GT_TRACE_EVER) {
        file->first = profile->start;
        file->last = profile->end;
        file->clock = GT_CLOCK_NAME;
    }
    return status;
}

/* ---- timelines ----
 * SMDebug's framework timelines: <end us>_<node>_<suffix>. Each phase is a process of its own; the base of the times is
 * an argument of a process_name event. */

/* SMDebug's own writers name the event and its real process in args (labels_rename); Horovod's do not. */
static const struct suffix {
    const char *name;
    bool labels_rename;
} suffixes[] = {
    {"pythontimeline.json", true},
    {"model_timeline.json", true},
    {"horovod_timeline.json", false},
    {"smdataparallel_timeline.json", false},
};

static const struct suffix *suffix_of(const char *name, struct gt_span *node)
{
    const char *text;
    if (!split_name(name, node, &text))
        return NULL;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const char *end = text + strlen(text) - strlen(suffixes[i].name); /* behind a further part of the node, too */
        if (gt_path_ends(text, suffixes[i].name) && (end == text || end[-1] == '_'))
            return &suffixes[i];
    }
    return NULL;
}

static int probe_smdebug(const struct gt_trace_probe *probe)
{
    struct gt_span node;
    const char *text = probe->head + strspn(probe->head, " \t\r\n");
    return (*text == '[' || !*text) && suffix_of(probe->name, &node) ? 80 : 0;
}

static int read_smdebug(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    struct gt_span node, name = gt_path_part(path, 0);
    const struct suffix *suffix = suffix_of(name.text, &node);
    int status = set_node(reading, node);
    return status < 0 ? status : gt_timeline_read(reading, path, suffix->labels_rename, error);
}

const struct gt_trace_format gt_trace_smdebug = {
    .name = "smdebug",
    .help = "SMDebug framework timelines: python, model, Horovod, SMDataParallel",
    .probe = probe_smdebug,
    .read = read_smdebug,
};

/* ---- system metrics ----
 * SMDebug's system metrics: one JSON object a line, its time in seconds since the epoch. */

static int probe_system(const struct gt_trace_probe *probe)
{
    const char *line = probe->head + strspn(probe->head, " \t\r\n"), *end = strchr(line, '\n');
    if (*line != '{')
        return 0;
    static const char *const keys[] = {"\"Type\"", "\"Dimension\"", "\"Value\"", "\"NodeId\"", "\"Timestamp\""};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *found = strstr(line, keys[i]);
        if (!found || (end && found > end))
            return 0;
    }
    return 85;
}

struct row {
    struct gt_span type, name, dimension, node, value, time;
};

static bool read_row(struct gt_span line, struct row *ret)
{
    struct gt_walk walk;
    struct gt_span key, value;
    int status = gt_walk_open(&walk, line);
    *ret = (struct row){0};
    if (status < 0 || *line.text != '{')
        return false;
    while ((status = gt_walk_member(&walk, &key, &value)) > 0) {
        struct gt_span *to = gt_span_is(key, "Type")        ? &ret->type
                             : gt_span_is(key, "Name")      ? &ret->name
                             : gt_span_is(key, "Dimension") ? &ret->dimension
                             : gt_span_is(key, "NodeId")    ? &ret->node
                             : gt_span_is(key, "Value")     ? &ret->value
                             : gt_span_is(key, "Timestamp") ? &ret->time
                                                            : NULL;
        if (to)
            *to = gt_span_is(value, "null") ? (struct gt_span){0} : gt_span_unquoted(value);
    }
    return status == 0 && gt_walk_at_end(&walk) && ret->time.text && ret->dimension.text;
}

/* 1: read; 0: bad; negative errno. */
static int take_line(struct gt_reading *reading, struct gt_span line)
{
    struct row row;
    int64_t time;
    double value = NAN;
    if (!read_row(line, &row) || gt_span_decimal(row.time, 6, &time) < 0 || __builtin_mul_overflow(time, 1000, &time) ||
        (row.value.text && gt_span_double(row.value, &value) < 0))
        return 0;
    int64_t series = gt_reading_series(reading, row.type, row.name, row.dimension, row.node);
    int status = series < 0 ? (int)series : gt_reading_sample(reading, (uint32_t)series, time, value);
    return status < 0 ? status : 1;
}

static int take_batch(struct gt_reading *reading, const struct gt_batch *batch)
{
    struct gt_trace_damage *damage = &gt_reading_file(reading)->damage;
    gt_damage_add(damage, &batch->damage);
    for (size_t i = 0; i < batch->count; i++) {
        struct gt_span line = {batch->text + batch->entry[i].value, batch->entry[i].value_length};
        int status = take_line(reading, line);
        if (status < 0)
            return status;
        if (!status) {
            damage->bad_samples++;
            damage->lost_bytes += line.length;
            gt_damage_note(damage, batch->offset + batch->entry[i].value, "no system metric: %.*s",
                           (int)(line.length < 100 ? line.length : 100), line.text);
        }
    }
    return 0;
}

static int read_system(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    struct gt_input *input = NULL;
    struct gt_scan *scan = NULL;
    struct gt_batch batch = {0};
    int status = gt_input_open(&input, path, reading->options->ceiling, error);
    if (status >= 0)
        status = gt_scan_open(&scan, input, GT_SCAN_LINES, reading->options->block);
    while (status >= 0 && (status = gt_scan_next(scan, &batch, error)) > 0)
        status = take_batch(reading, &batch);
    gt_reading_file(reading)->clock = GT_CLOCK_RECORD;
    gt_reading_end(reading, input, scan ? gt_scan_bytes(scan) : 0);
    gt_batch_release(&batch);
    gt_scan_close(scan);
    return status;
}

const struct gt_trace_format gt_trace_smdebug_system = {
    .name = "smdebug-system",
    .help = "SMDebug system metrics: lines of JSON",
    .probe = probe_system,
    .read = read_system,
};
