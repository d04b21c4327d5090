/* SMDebug's system metrics: one JSON object a line, its time in seconds since the epoch. */
#include <math.h>

#include "trace/formats/smdebug_names.h"

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
    if (!read_row(line, &row) || gt_span_decimal(row.time, 9, &time) < 0 ||
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
    struct gt_trace_file *file = gt_reading_file(reading);
    struct gt_input *input = NULL;
    struct gt_scan *scan = NULL;
    struct gt_batch batch = {0};
    int status = gt_input_open(&input, path, reading->options->ceiling, error);
    if (status >= 0)
        status = gt_scan_open(&scan, input, GT_SCAN_LINES, reading->options->block);
    while (status >= 0 && (status = gt_scan_next(scan, &batch, error)) > 0)
        status = take_batch(reading, &batch);
    if (status >= 0) {
        file->clock = GT_CLOCK_RECORD;
        file->bytes = gt_scan_bytes(scan);
        const char *trouble = gt_input_trouble(input);
        if (trouble) {
            file->damage.cut_off = true;
            gt_damage_note(&file->damage, file->bytes, "%s", trouble);
        }
    }
    gt_batch_release(&batch);
    gt_scan_close(scan);
    gt_input_close(input);
    return status;
}

const struct gt_trace_format gt_trace_smdebug_system = {
    .name = "smdebug-system",
    .help = "SMDebug system metrics: lines of JSON",
    .probe = probe_system,
    .read = read_system,
};
