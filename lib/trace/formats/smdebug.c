/* SMDebug's framework timelines: <end us>_<node>_<suffix>. Each phase is a process of its own; the base of the times is
 * an argument of a process_name event. */
#include "trace/formats/smdebug_names.h"

/* Whether args name the event and its real process, as SMDebug's own writers have it; Horovod's do not. */
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
    if (gt_names_timeline(name, node, &text))
        for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
            if (strcmp(text, suffixes[i].name) == 0)
                return &suffixes[i];
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
    int status = gt_names_node(reading, node);
    struct gt_timeline_options options = {.labels_rename = suffix->labels_rename};
    return status < 0 ? status : gt_timeline_read(reading, path, &options, error);
}

const struct gt_trace_format gt_trace_smdebug = {
    .name = "smdebug",
    .help = "SMDebug framework timelines: python, model, Horovod, SMDataParallel",
    .probe = probe_smdebug,
    .read = read_smdebug,
};
