/* compare, and sub-track compare. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/program.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/json.h"
#include "config.h"
#include "gpu_tracker.h"
#include "message.h"
#include "option.h"
#include "output.h"

enum { LONGEST = 4 << 20 };

/* NAME=FILE texts, from the configuration file and the command line. */
struct sessions {
    const char **mapping;
    size_t count, capacity;
    struct gt_buffer *owned; /* texts made here */
    size_t owned_count;
};

static int add(struct sessions *sessions, const char *mapping)
{
    if (GT_GROW_TO(sessions->mapping, sessions->capacity, sessions->count + 2) < 0)
        return EXIT_TRACKER;
    sessions->mapping[sessions->count++] = mapping;
    sessions->mapping[sessions->count] = NULL;
    return 0;
}

static int add_pair(struct sessions *sessions, const char *name, const char *file)
{
    struct gt_buffer *text = GT_GROW_BY_ONE(sessions->owned, sessions->owned_count);
    if (!text)
        return EXIT_TRACKER;
    sessions->owned_count++;
    *text = (struct gt_buffer){0};
    if (gt_buffer_printf(text, "%s=%s", name, file) < 0)
        return EXIT_TRACKER;
    return add(sessions, text->data);
}

/* The name of the file without folder and suffix. It ends at a '=', which no name has. */
static void stem_of(const char *path, char *name, size_t size)
{
    const char *slash = strrchr(path, '/'), *base = slash && slash[1] ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    int length = dot && dot > base ? (int)(dot - base) : (int)strlen(base);
    snprintf(name, size, "%.*s", length, base);
    for (char *c = strchr(name, '='); c; c = strchr(c, '='))
        *c = '_';
}

static bool is_among(const char *const *mappings, size_t count, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < count; i++)
        if (strncmp(mappings[i], name, length) == 0 && mappings[i][length] == '=')
            return true;
    return false;
}

struct session {
    struct sessions *sessions;
    const char *name;
};

/* `trouble`: why a file of the folder does not count; NULL: it does. */
static int add_rank(void *context, const char *path, const char *trouble)
{
    const struct session *session = context;
    if (trouble)
        say("compare: %s is left out: %s", path, trouble);
    return trouble || !add_pair(session->sessions, session->name, path) ? 0 : -ENOMEM;
}

/* The recordings of a job's ranks are the runs of one session. */
static int add_files(struct sessions *sessions, const char *name, const char *path)
{
    struct gt_error error = {0};
    if (!gt_is_folder(path))
        return add_pair(sessions, name, path);
    int status = gt_folder_runs(path, add_rank, &(struct session){sessions, name}, &error);
    return status < 0 ? say_unread(status, &error, path) : 0;
}

/* NAME=FILE, with NAME=FOLDER as each of its recordings. */
static int add_mapping(struct sessions *sessions, const char *mapping)
{
    const char *sign = strchr(mapping, '=');
    char name[NAME_MAX + 1];
    if (!sign || sign == mapping || sign - mapping > NAME_MAX || !gt_is_folder(sign + 1))
        return add(sessions, mapping);
    snprintf(name, sizeof name, "%.*s", (int)(sign - mapping), mapping);
    return add_files(sessions, name, sign + 1);
}

/* NAME=FILE, or a file, which is a session of its own even where another folder has one of its name. */
static int add_operand(struct sessions *sessions, const char *text)
{
    char stem[NAME_MAX + 1], name[NAME_MAX + 32];
    if (strchr(text, '=') && access(text, F_OK) < 0)
        return add_mapping(sessions, text);
    stem_of(text, stem, sizeof stem);
    snprintf(name, sizeof name, "%s", stem);
    for (int number = 2; is_among(sessions->mapping, sessions->count, name); number++)
        snprintf(name, sizeof name, "%s (%d)", stem, number);
    return add_files(sessions, name, text);
}

static int add_configured(struct sessions *sessions, const struct options *options, const struct gt_json_value *map)
{
    const char *name;
    struct gt_json_value *value, *item;
    size_t i;
    int status = 0;
    gt_json_foreach_member (map, name, value) {
        if (is_among(options->map.value, options->map.count, name)) /* the command line wins */
            continue;
        bool is_right = gt_json_is_text(value) || gt_json_is_array(value);
        if (gt_json_is_text(value))
            status |= add_pair(sessions, name, gt_json_text_of(value));
        gt_json_foreach_item (value, i, item) {
            is_right = is_right && gt_json_is_text(item);
            status |= is_right ? add_pair(sessions, name, gt_json_text_of(item)) : 0;
        }
        if (!is_right)
            return say_usage("--cconfig: file_path_map: '%s' is neither a path nor a list of paths", name);
    }
    return status;
}

static int check_keys(const struct gt_json_value *config)
{
    const char *key;
    struct gt_json_value *value;
    gt_json_foreach_member (config, key, value)
        if (strcmp(key, "file_path_map") != 0 && strcmp(key, "statistic") != 0)
            return say_usage("--cconfig: unknown key '%s' (known: file_path_map, statistic)", key);
    value = gt_json_member(config, "statistic");
    if (value && !gt_json_is_text(value))
        return say_usage("--cconfig: statistic is not a text");
    value = gt_json_member(config, "file_path_map");
    if (value && !gt_json_is_object(value))
        return say_usage("--cconfig: file_path_map is not an object");
    return 0;
}

/* *ret keeps what `settings` points to. */
static int read_config(struct gt_json_value **ret, struct sessions *sessions, struct gt_compare_options *settings,
                       const struct options *options)
{
    int status = config_read(ret, options->cconfig);
    if (!status)
        status = check_keys(*ret);
    if (status)
        return status;
    settings->statistic = gt_json_text_of(gt_json_member(*ret, "statistic"));
    return add_configured(sessions, options, gt_json_member(*ret, "file_path_map"));
}

static int compare(const struct output *output, const struct gt_compare_options *settings)
{
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    int broken = gt_blocks_compare(settings, &report, &error);
    if (broken < 0)
        return say_unread(broken, &error, NULL); /* files alone are compared */
    int status = output_report(output, report);
    gt_report_free(report);
    return status ? status : broken ? EXIT_BROKEN_RULE : 0;
}

static int run(const struct options *options, int count, char **operands)
{
    struct output output;
    struct sessions sessions = {0};
    struct gt_compare_options settings = GT_INIT(struct gt_compare_options);
    struct gt_json_value *config = NULL;
    int status = output_prepare(&output, options, STDOUT_FILENO);
    if (!status && options->cconfig)
        status = read_config(&config, &sessions, &settings, options);
    for (size_t i = 0; i < options->map.count && !status; i++)
        status = add_mapping(&sessions, options->map.value[i]);
    for (int i = 0; i < count && !status; i++)
        status = add_operand(&sessions, operands[i]);
    if (!status && count == 1 && !options->map.count && !options->cconfig && !options->fail_if.count)
        status = say_usage("compare: '%s' alone has nothing to be compared with (see gpu-tracker compare --help)",
                           operands[0]);
    settings.sessions = sessions.mapping;
    settings.statistic = options->statistic ? options->statistic : settings.statistic;
    settings.strict = options->strict;
    settings.rules = options->fail_if.value;
    settings.allow_partial = options->allow_partial;
    settings.page = output_is_page(&output);
    settings.warn = say_warning;
    if (!status)
        status = compare(&output, &settings);
    for (size_t i = 0; i < sessions.owned_count; i++)
        gt_buffer_release(&sessions.owned[i]);
    free(sessions.owned);
    free(sessions.mapping);
    gt_json_free(config);
    return status;
}

const struct command command_compare = {
    .name = "compare",
    .synopsis = "[NAME=]FILE|FOLDER...",
    .summary = "Compare what sessions and their code blocks used",
    .description =
        "A session is the results of analyze (JSON or pickle) or a tracking file, by default with the name of its file. "
        "Files that are given one NAME are runs of one session, and so are the recordings in a folder, a job's ranks: its "
        "figures are the mean of a rank, see report FOLDER for totals. The first session is the "
        "baseline that differences are taken from. A session with several runs stands for their mean, and differences "
        "between two such sessions have a 95 % confidence interval (low, high), Welch's. From four runs of each on, the "
        "summary says which rows differ significantly: of comparisons of equal programs at most 5 in 100 have any.\n\n"
        "Code blocks match by name; those of one file whose names differ only in the line number match in order. Others "
        "are listed as added or removed.\n\n"
        "--fail-if takes FIGURE>LIMIT or FIGURE<LIMIT. A figure is COLUMN.STATISTIC, counters.COLUMN, a peak "
        "(combined_ram_peak, which short spikes reach, too), duration, energy.DEVICE (cpu, dram, gpu or total: joules of the job) or, behind block:NAME., also compute_time, self_time or cpu_time with .STATISTIC or .total. A limit is absolute (5GB, 30s, "
        "200), or with a sign relative to the baseline (+5%, +100MB). A session that lacks the figure breaks the rule, and so does one whose "
        "energy was measured for a part of the time only, but for --allow-partial. "
        "The exit status is 3 when a rule is broken, and each broken rule is named.",
    .operand = OPERAND_FILE,
    .most = -1,
    .run = run,
};

const struct command command_sub_track_compare = {
    .name = "sub-track compare",
    .synopsis = "-m NAME=FILE...",
    .summary = "The same as compare, as gpu_tracker spells it",
    .description = "See gpu-tracker compare --help, which tells of --fail-if, too.",
    .operand = OPERAND_FILE,
    .most = -1,
    .run = run,
};
