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

static struct gt_json_value *parse(const char *bytes, size_t length, const char *path)
{
    struct gt_json_trouble trouble;
    size_t left = MOST_ITEMS;
    struct gt_pickle *pickle = NULL;
    if ((unsigned char)*bytes != 0x80)
        return gt_json_parse(bytes, length, 0, &trouble);
    if (gt_pickle_read(&pickle, bytes, length, NULL, path, NULL) < 0)
        return NULL;
    struct gt_json_value *tree = gt_pickle_json(gt_pickle_root(pickle), &left, 0);
    gt_pickle_free(pickle);
    return tree;
}

/* ---- entries ---- */

/* The name and what it is for: "0", "default_pg". Older versions have neither. */
static void name_group(const struct gt_json_value *entry, struct gt_buffer *out)
{
    const struct gt_json_value *group = gt_json_member(entry, "process_group");
    const char *name = gt_json_text_of(gt_json_item(group, 0)), *about = gt_json_text_of(gt_json_item(group, 1));
    gt_buffer_clear(out);
    if (name)
        gt_buffer_printf(out, "%s%s%s", name, about && *about ? " " : "", about ? about : "");
    else
        gt_buffer_printf(out, "%" PRId64, gt_json_integer_of(gt_json_member(entry, "pg_id")));
}

/* Collectives and messages from rank to rank are numbered apart. */
static int64_t number_of(const struct gt_json_value *entry)
{
    bool is_message = gt_json_is_true(gt_json_member(entry, "is_p2p"));
    const struct gt_json_value *number = gt_json_member(entry, is_message ? "p2p_seq_id" : "collective_seq_id");
    number = number ? number : gt_json_member(entry, "seq_id");
    return gt_json_is_integer(number) ? gt_json_integer_of(number) : -1;
}

/* What the analysis needs, and what people see in a timeline. */
static void write_arguments(const struct gt_json_value *entry, const char *group, struct gt_buffer *out)
{
    static const char *const copied[] = {"input_sizes", "output_sizes", "input_dtypes", "timeout_ms", "retired"};
    const char *state = gt_json_text_of(gt_json_member(entry, "state"));
    gt_buffer_clear(out);
    gt_buffer_text(out, "{\"state\":");
    gt_json_quote(out, state ? state : "unknown");
    gt_buffer_text(out, ",\"process_group\":");
    gt_json_quote(out, group);
    gt_buffer_printf(out, ",\"number\":%" PRId64 ",\"is_p2p\":%s", number_of(entry),
                     gt_json_is_true(gt_json_member(entry, "is_p2p")) ? "true" : "false");
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        const struct gt_json_value *value = gt_json_member(entry, copied[i]);
        char *text = gt_json_is_array(value) ? gt_json_dump(value) : NULL;
        if (text)
            gt_buffer_printf(out, ",\"%s\":%s", copied[i], text);
        else if (gt_json_is_integer(value))
            gt_buffer_printf(out, ",\"%s\":%" PRId64, copied[i], gt_json_integer_of(value));
        free(text);
    }
    gt_buffer_char(out, '}');
}

/* Its time on the GPU, where that was measured, else from when it was seen to have begun until it was seen to have ended;
 * -1: it has not ended, or no one looked. */
static int64_t duration_of(const struct gt_json_value *entry, int64_t start)
{
    const struct gt_json_value *measured = gt_json_member(entry, "duration_ms"),
                               *end = gt_json_member(entry, "time_discovered_completed_ns");
    double ms = gt_json_number_of(measured);
    if (gt_json_is_number(measured) && ms >= 0 && ms < 1e12)
        return (int64_t)(ms * 1e6);
    return gt_json_is_integer(end) && gt_json_integer_of(end) >= start ? gt_json_integer_of(end) - start : -1;
}

struct texts {
    struct gt_buffer group, process, args;
};

static int take_entry(struct gt_reading *reading, const struct gt_json_value *entry, struct texts *texts)
{
    const struct gt_json_value *created = gt_json_member(entry, "time_created_ns"),
                               *started = gt_json_member(entry, "time_discovered_started_ns");
    const char *name = gt_json_text_of(gt_json_member(entry, "profiling_name")),
               *state = gt_json_text_of(gt_json_member(entry, "state"));
    const char *colon = name ? strchr(name, ':') : NULL;
    if (!name || !gt_json_is_integer(created) || number_of(entry) < 0) {
        gt_reading_bad(reading, 0, "an entry without a name, a number or a time");
        return 0;
    }
    int64_t start = gt_json_integer_of(gt_json_is_integer(started) ? started : created);
    int64_t duration = duration_of(entry, start);
    name_group(entry, &texts->group);
    write_arguments(entry, texts->group.data ? texts->group.data : "", &texts->args);
    gt_buffer_clear(&texts->process);
    gt_buffer_printf(&texts->process, "process group %s", texts->group.data ? texts->group.data : "");
    if (texts->args.failed || texts->process.failed)
        return -ENOMEM;
    bool is_message = gt_json_is_true(gt_json_member(entry, "is_p2p"));
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

static bool has_rank(const struct gt_json_value *ranks, int64_t rank)
{
    const char *text = gt_json_text_of(ranks); /* "[0, 1]", as it is written */
    struct gt_json_value *tree = text ? gt_json_parse_text(text, 0, NULL) : NULL;
    const struct gt_json_value *list = tree ? tree : ranks, *item;
    bool found = false;
    size_t i;
    gt_json_foreach_item (list, i, item)
        found |= gt_json_is_integer(item) && gt_json_integer_of(item) == rank;
    gt_json_free(tree);
    return found;
}

static int take_group(struct gt_reading *reading, const struct gt_json_value *group, const struct gt_json_value *first,
                      struct gt_buffer *args)
{
    const char *name = gt_json_text_of(gt_json_member(group, "name")),
               *about = gt_json_text_of(gt_json_member(group, "desc"));
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
    struct gt_raw_event item = gt_raw_event_of((struct gt_span){0}, gt_json_integer_of(first), 0);
    item.category = gt_span_of("nccl_group");
    item.args = (struct gt_span){args->data, args->length};
    item.phase = 'i';
    item.has = gt_json_is_integer(first) ? GT_RAW_EVENT_TIME : 0;
    return gt_reading_text_event(reading, &item, "process groups", NULL, "process group", 0);
}

static int take_groups(struct gt_reading *reading, const struct gt_json_value *document, int64_t rank,
                       struct gt_buffer *args)
{
    const struct gt_json_value *groups = gt_json_member(document, "pg_config");
    const struct gt_json_value *first = gt_json_item(gt_json_member(document, "entries"), 0);
    struct gt_json_value *group;
    const char *key;
    int status = 0;
    if (!gt_json_is_object(groups) || rank < 0)
        return 0;
    gt_json_foreach_member (groups, key, group)
        if (has_rank(gt_json_member(group, "ranks"), rank) &&
            (status = take_group(reading, group, gt_json_member(first, "time_created_ns"), args)) < 0)
            break;
    return status;
}

static int take_document(struct gt_reading *reading, const struct gt_json_value *document, const char *path)
{
    const struct gt_json_value *entries = gt_json_member(document, "entries"), *entry;
    struct texts texts = {0};
    size_t i;
    int64_t rank = gt_json_is_integer(gt_json_member(document, "rank"))
                       ? gt_json_integer_of(gt_json_member(document, "rank"))
                       : gt_path_rank(path);
    int status = gt_reading_rank(reading, rank);
    gt_reading_file(reading)->clock = GT_CLOCK_RECORD;
    if (status >= 0)
        status = take_groups(reading, document, rank, &texts.args);
    for (i = 0; status >= 0 && (entry = gt_json_item(entries, i)); i++)
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
    struct gt_json_value *document = parse(bytes, length, path);
    free(bytes);
    if (document)
        status = take_document(reading, document, gt_reading_file(reading)->path);
    else
        gt_reading_cut_off(reading, length, length, "the dump is cut off or damaged");
    gt_json_free(document);
    return status;
}

const struct gt_trace_format gt_trace_flight_recorder = {
    .name = "flight-recorder",
    .help = "dumps of PyTorch's NCCL flight recorder, JSON or pickle",
    .probe = probe_flight_recorder,
    .read = read_flight_recorder,
};
