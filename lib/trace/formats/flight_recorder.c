/* Dumps of PyTorch's NCCL flight recorder, a file for each rank, as JSON or as a pickle of which nothing is run: each
 * collective is an event on the track of its process group. The layout: torch/csrc/distributed/c10d/FlightRecorder.hpp. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "trace/input/pickle.h"
#include "trace/format.h"
#include "trace/formats/smdebug.h"

#define MOST_BYTES ((size_t)256 << 20)
enum { MOST_ITEMS = 4 << 20 };

static int probe_flight_recorder(const struct gt_trace_probe *probe)
{
    bool is_pickle = probe->length > 4 && (unsigned char)probe->head[0] == 0x80;
    if (!is_pickle && *(probe->head + strspn(probe->head, " \t\r\n")) != '{')
        return 0;
    static const char *const keys[] = {"entries",        "pg_config", "collective_seq_id",
                                       "profiling_name", "pg_status", "time_discovered_completed_ns"};
    int found = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        found += memmem(probe->head, probe->length, keys[i], strlen(keys[i])) != NULL;
    return found >= 2 ? 88 : 0;
}

static json_t *parse(const char *bytes, size_t length, const char *path)
{
    json_error_t trouble;
    size_t left = MOST_ITEMS;
    struct gt_pickle *pickle = NULL;
    if ((unsigned char)*bytes != 0x80)
        return json_loadb(bytes, length, 0, &trouble);
    if (gt_pickle_read(&pickle, bytes, length, NULL, path, NULL) < 0)
        return NULL;
    json_t *tree = gt_pickle_json(gt_pickle_root(pickle), &left, 0);
    gt_pickle_free(pickle);
    return tree;
}

/* ---- entries ---- */

/* The name and what it is for: "0", "default_pg". Older versions have neither. */
static void name_group(const json_t *entry, struct gt_buffer *out)
{
    const json_t *group = json_object_get(entry, "process_group");
    const char *name = json_string_value(json_array_get(group, 0)),
               *about = json_string_value(json_array_get(group, 1));
    gt_buffer_clear(out);
    if (name)
        gt_buffer_printf(out, "%s%s%s", name, about && *about ? " " : "", about ? about : "");
    else
        gt_buffer_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(entry, "pg_id")));
}

/* Collectives and messages from rank to rank are numbered apart. */
static int64_t number_of(const json_t *entry)
{
    bool is_message = json_is_true(json_object_get(entry, "is_p2p"));
    const json_t *number = json_object_get(entry, is_message ? "p2p_seq_id" : "collective_seq_id");
    number = number ? number : json_object_get(entry, "seq_id");
    return json_is_integer(number) ? json_integer_value(number) : -1;
}

/* What the analysis needs, and what people see in a timeline. */
static void write_arguments(const json_t *entry, const char *group, struct gt_buffer *out)
{
    static const char *const copied[] = {"input_sizes", "output_sizes", "input_dtypes", "timeout_ms", "retired"};
    const char *state = json_string_value(json_object_get(entry, "state"));
    gt_buffer_clear(out);
    gt_buffer_text(out, "{\"state\":");
    gt_json_quote(out, state ? state : "unknown");
    gt_buffer_text(out, ",\"process_group\":");
    gt_json_quote(out, group);
    gt_buffer_printf(out, ",\"number\":%" PRId64 ",\"is_p2p\":%s", number_of(entry),
                     json_is_true(json_object_get(entry, "is_p2p")) ? "true" : "false");
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        const json_t *value = json_object_get(entry, copied[i]);
        char *text = json_is_array(value) ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
        if (text)
            gt_buffer_printf(out, ",\"%s\":%s", copied[i], text);
        else if (json_is_integer(value))
            gt_buffer_printf(out, ",\"%s\":%" JSON_INTEGER_FORMAT, copied[i], json_integer_value(value));
        free(text);
    }
    gt_buffer_char(out, '}');
}

/* Its time on the GPU, where that was measured, else from when it was seen to have begun until it was seen to have ended;
 * -1: it has not ended, or no one looked. */
static int64_t duration_of(const json_t *entry, int64_t start)
{
    const json_t *measured = json_object_get(entry, "duration_ms"),
                 *end = json_object_get(entry, "time_discovered_completed_ns");
    double ms = json_number_value(measured);
    if (json_is_number(measured) && ms >= 0 && ms < 1e12)
        return (int64_t)(ms * 1e6);
    return json_is_integer(end) && json_integer_value(end) >= start ? json_integer_value(end) - start : -1;
}

struct texts {
    struct gt_buffer group, process, args;
};

static int take_entry(struct gt_reading *reading, const json_t *entry, struct texts *texts)
{
    const json_t *created = json_object_get(entry, "time_created_ns"),
                 *started = json_object_get(entry, "time_discovered_started_ns");
    const char *name = json_string_value(json_object_get(entry, "profiling_name")),
               *state = json_string_value(json_object_get(entry, "state"));
    const char *colon = name ? strchr(name, ':') : NULL;
    if (!name || !json_is_integer(created) || number_of(entry) < 0) {
        gt_reading_bad(reading, 0, "an entry without a name, a number or a time");
        return 0;
    }
    int64_t start = json_integer_value(json_is_integer(started) ? started : created);
    int64_t duration = duration_of(entry, start);
    name_group(entry, &texts->group);
    write_arguments(entry, texts->group.data ? texts->group.data : "", &texts->args);
    gt_buffer_clear(&texts->process);
    gt_buffer_printf(&texts->process, "process group %s", texts->group.data ? texts->group.data : "");
    if (texts->args.failed || texts->process.failed)
        return -ENOMEM;
    bool is_message = json_is_true(json_object_get(entry, "is_p2p"));
    bool is_done = state && strcmp(state, "completed") == 0;
    struct gt_raw_event item = gt_raw_event_of((struct gt_span){0}, start, duration < 0 ? 0 : duration);
    item.category = gt_span_of("nccl_flight");
    item.args = (struct gt_span){texts->args.data, texts->args.length};
    return gt_reading_text_event(reading, &item, texts->process.data, is_message ? "messages" : "collectives",
                                 colon && strncmp(name, "nccl", 4) == 0 ? colon + 1 : name,
                                 is_done ? 0 : GT_TRACE_UNCLOSED);
}

/* ---- process groups that the rank belongs to, whether or not it called anything in them: an event for each, at
 * the time of the first entry ---- */

static bool has_rank(const json_t *ranks, int64_t rank)
{
    const char *text = json_string_value(ranks); /* "[0, 1]", as it is written */
    json_t *tree = text ? json_loads(text, 0, NULL) : NULL;
    const json_t *list = tree ? tree : ranks, *item;
    bool found = false;
    size_t i;
    json_array_foreach (list, i, item)
        found |= json_is_integer(item) && json_integer_value(item) == rank;
    json_decref(tree);
    return found;
}

static int take_group(struct gt_reading *reading, const json_t *group, const json_t *first, struct gt_buffer *args)
{
    const char *name = json_string_value(json_object_get(group, "name")),
               *about = json_string_value(json_object_get(group, "desc"));
    struct gt_buffer title = {0};
    gt_buffer_printf(&title, "%s%s%s", name ? name : "", about && *about ? " " : "", about ? about : "");
    gt_buffer_clear(args);
    gt_buffer_text(args, "{\"process_group\":");
    gt_json_quote(args, title.data ? title.data : "");
    gt_buffer_char(args, '}');
    bool has_failed = title.failed || args->failed;
    gt_buffer_release(&title);
    if (has_failed)
        return -ENOMEM;
    struct gt_raw_event item = gt_raw_event_of((struct gt_span){0}, json_integer_value(first), 0);
    item.category = gt_span_of("nccl_group");
    item.args = (struct gt_span){args->data, args->length};
    item.phase = 'i';
    item.has = json_is_integer(first) ? GT_RAW_EVENT_TIME : 0;
    return gt_reading_text_event(reading, &item, "process groups", NULL, "process group", 0);
}

static int take_groups(struct gt_reading *reading, const json_t *document, int64_t rank, struct gt_buffer *args)
{
    const json_t *groups = json_object_get(document, "pg_config");
    const json_t *first = json_array_get(json_object_get(document, "entries"), 0);
    json_t *group;
    const char *key;
    int status = 0;
    if (!json_is_object(groups) || rank < 0)
        return 0;
    gt_json_foreach_member (groups, key, group)
        if (has_rank(json_object_get(group, "ranks"), rank) &&
            (status = take_group(reading, group, json_object_get(first, "time_created_ns"), args)) < 0)
            break;
    return status;
}

static int take_document(struct gt_reading *reading, const json_t *document, const char *path)
{
    const json_t *entries = json_object_get(document, "entries"), *entry;
    struct texts texts = {0};
    size_t i;
    int64_t rank = json_is_integer(json_object_get(document, "rank"))
                       ? json_integer_value(json_object_get(document, "rank"))
                       : gt_path_rank(path);
    int status = gt_reading_rank(reading, rank);
    gt_reading_file(reading)->clock = GT_CLOCK_RECORD;
    if (status >= 0)
        status = take_groups(reading, document, rank, &texts.args);
    for (i = 0; status >= 0 && (entry = json_array_get(entries, i)); i++)
        status = take_entry(reading, entry, &texts);
    gt_buffer_release(&texts.group);
    gt_buffer_release(&texts.process);
    gt_buffer_release(&texts.args);
    return status;
}

static int read_flight_recorder(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    char *bytes = NULL;
    size_t length = 0;
    int status = gt_reading_whole(reading, path, MOST_BYTES, &bytes, &length, error);
    if (status < 0)
        return status;
    json_t *document = parse(bytes, length, path);
    free(bytes);
    if (document)
        status = take_document(reading, document, gt_reading_file(reading)->path);
    else
        gt_reading_cut_off(reading, length, length, "the dump is cut off or damaged");
    json_decref(document);
    return status;
}

const struct gt_trace_format gt_trace_flight_recorder = {
    .name = "flight-recorder",
    .help = "dumps of PyTorch's NCCL flight recorder, JSON or pickle",
    .probe = probe_flight_recorder,
    .read = read_flight_recorder,
};
