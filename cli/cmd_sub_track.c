/* analyze and compare, and sub-track analyze, combine and compare. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/program.h"
#include "base/os/file.h"
#include "base/grow.h"
#include "base/json.h"
#include "blocks/block_event.h"
#include "gpu_tracker.h"
#include "message.h"
#include "option.h"
#include "output.h"
#include "store/address.h"
#include "store/store.h"

static void show_progress(void *context, unsigned long long samples)
{
    bool *drawn = context;
    *drawn = true;
    dprintf(STDERR_FILENO, "\rgpu-tracker: %llu timepoints", samples);
}

/* All ranks of a job: what belongs to one recording is refused. */
static int analyze_job(const struct options *options, const struct output *output, const char *folder)
{
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    const struct gt_job_server_options server = settings_job(options);
    const struct gt_job_options wanted = {.top = options->calls ? -1 : 0};
    if (options->sub_tracking_file.count || options->skip_bad_rows || options->carbon_intensity ||
        options->carbon_file || options->price)
        return say_usage("%s is a folder: sub-tracking files, bad rows and costs are for its files", folder);
    int status = gt_folder_analyse(&gt_job_blocks, folder, &server, &wanted, &report, &error);
    return output_reading(output, status, report, &error, folder);
}

/* Starts and stops of code blocks without samples: a sub-tracking file. */
static bool is_blocks(const char *path)
{
    struct gt_block_event_reader *blocks = NULL;
    struct gt_recording *recording = NULL;
    struct stat facts;
    bool is_one = stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && gt_recording_open(&recording, path, NULL) < 0 &&
                  gt_block_event_open(&blocks, path, NULL) >= 0;
    gt_recording_close(recording);
    gt_block_event_close(blocks);
    return is_one;
}

/* Files of code blocks are given with --stf; swapped files are put right. */
static int say_order(const char *first, const char *second)
{
    bool is_swapped = is_blocks(first);
    const char *recording = is_swapped ? second : first, *blocks = is_swapped ? first : second;
    if (!is_blocks(blocks))
        return say_usage("analyze: unexpected argument '%s': one tracking file is analyzed", second);
    return say_usage("analyze: code blocks are given with --stf, as in gpu-tracker analyze %s --stf %s", recording,
                     blocks);
}

/* `is_original`: the text has the layout of the original gpu_tracker alone. */
static int analyze_as(const struct options *options, int count, char **operands, bool is_original)
{
    struct output output;
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    bool drawn = false;
    if (!options->recording && !count)
        return say_usage("analyze: FILE or --tf FILE is missing (see gpu-tracker analyze --help)");
    if (options->recording && count)
        return say_usage("analyze: '%s' and --tracking-file: there is one tracking file", operands[0]);
    if (count > 1)
        return say_order(operands[0], operands[1]);
    int status = output_prepare(&output, options, STDOUT_FILENO);
    if (status)
        return status;
    if (!is_original && !options->calls)
        output_begin_with_summary(&output, options);
    const char *path = count ? operands[0] : options->recording;
    if (gt_is_address(path) || gt_is_folder(path))
        return analyze_job(options, &output, path);
    struct gt_blocks_options settings = GT_INIT(struct gt_blocks_options);
    settings.tracking_file = path;
    settings.sub_tracking_files = options->sub_tracking_file.value;
    settings.skip_bad_rows = options->skip_bad_rows;
    settings.calls = options->calls;
    settings.page = output_is_page(&output);
    settings.carbon_intensity = options->carbon_intensity;
    settings.carbon_file = options->carbon_file;
    settings.price = options->price;
    settings.warn = say_warning;
    settings.progress = isatty(STDERR_FILENO) ? show_progress : NULL;
    settings.context = &drawn;
    status = gt_blocks_analyze(&settings, &report, &error);
    if (drawn)
        dprintf(STDERR_FILENO, "\r\033[K");
    if (status == -EINVAL && is_blocks(path))
        return say_order(path, "RECORDING");
    return output_reading(&output, status, report, &error, path);
}

static int analyze(const struct options *options, int count, char **operands)
{
    return analyze_as(options, count, operands, false);
}

static int sub_track_analyze(const struct options *options, int count, char **operands)
{
    return analyze_as(options, count, operands, true);
}

static int combine(const struct options *options, int count, char **operands)
{
    (void)count;
    (void)operands;
    struct gt_error error = {0};
    if (options->sub_tracking_file.count != 1)
        return say_usage("sub-track combine: --stf FILE is wanted once (see gpu-tracker sub-track combine --help)");
    if (!options->path.count)
        return say_usage("sub-track combine: -p FILE is missing (see gpu-tracker sub-track combine --help)");
    int status = output_check("--stf", options->sub_tracking_file.value[0]);
    if (status)
        return status;
    status = gt_blocks_combine(options->sub_tracking_file.value[0], options->path.value, options->skip_bad_rows,
                               options->overwrite, &error);
    return status < 0 ? say_unread(status, &error, options->path.value[0]) : 0;
}

const struct command command_analyze = {
    .name = "analyze",
    .synopsis = "FILE|FOLDER|URL",
    .summary = "Report what each code block used",
    .description =
        "Joins a recording with the starts and stops of code blocks, of this program or of the original gpu_tracker, in CSV or SQLite. A sample belongs to a block if it lies between its start and its stop. Standard deviations are those of the population. Times are in seconds.\n\n"
        "For a folder with a recording of each rank, or a job on a server, it reports the calls of all ranks. --calls lists each block of each rank.\n\n"
        "A malformed row ends the analysis with status 2 and is named with file and line, unless --skip-bad-rows is given.",
    .operand = OPERAND_FILE,
    .most = 2,
    .run = analyze,
};

const struct command command_sub_track_analyze = {
    .name = "sub-track analyze",
    .synopsis = "--tf=FILE|FOLDER|URL [--stf=FILE...]",
    .summary = "Like analyze, with the options of the original gpu_tracker",
    .description = "See gpu-tracker help analyze.",
    .operand = OPERAND_FILE,
    .most = 2,
    .run = sub_track_analyze,
};

const struct command command_sub_track_combine = {
    .name = "sub-track combine",
    .synopsis = "--stf=FILE -p FILE...",
    .summary = "Combine several sub-tracking files into one",
    .description = "The files are CSV or SQLite. The suffix of the result chooses its format.",
    .operand = OPERAND_NONE,
    .run = combine,
};

/* ---- compare, and sub-track compare ---- */

enum { LONGEST = 4 << 20 };

/* NAME=FILE texts, from the configuration file and the command line. */
struct sessions {
    char **mapping; /* NULL-terminated; NULL when empty */
    size_t count, capacity;
};

/* `mapping`: malloc'ed, or NULL without memory. 0 or an exit status. */
static int add(struct sessions *sessions, char *mapping)
{
    if (!mapping || GT_GROW_TO(sessions->mapping, sessions->capacity, sessions->count + 2) < 0) {
        free(mapping);
        return EXIT_TRACKER;
    }
    sessions->mapping[sessions->count++] = mapping;
    sessions->mapping[sessions->count] = NULL;
    return 0;
}

static int add_pair(struct sessions *sessions, const char *name, const char *file)
{
    char *text;
    return add(sessions, asprintf(&text, "%s=%s", name, file) < 0 ? NULL : text);
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

/* Returns true if all files are runs of one session. */
static bool is_one(const struct sessions *sessions)
{
    for (size_t i = 1; i < sessions->count; i++) {
        size_t length = strcspn(sessions->mapping[0], "=") + 1;
        if (strncmp(sessions->mapping[i], sessions->mapping[0], length) != 0)
            return false;
    }
    return true;
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
        return add(sessions, strdup(mapping));
    snprintf(name, sizeof name, "%.*s", (int)(sign - mapping), mapping);
    return add_files(sessions, name, sign + 1);
}

/* NAME=FILE, or a file, which is a session of its own even where another folder has one of its name. */
static int add_operand(struct sessions *sessions, const char *text)
{
    char stem[NAME_MAX + 1], name[NAME_MAX + 32];
    if (strpbrk(text, "<>") && access(text, F_OK) < 0)
        return say_usage("compare: %s: No such file or directory: did you mean --fail-if '%s'?", text, text);
    if (strchr(text, '=') && access(text, F_OK) < 0)
        return add_mapping(sessions, text);
    stem_of(text, stem, sizeof stem);
    snprintf(name, sizeof name, "%s", stem);
    for (int number = 2; is_among((const char *const *)sessions->mapping, sessions->count, name); number++)
        snprintf(name, sizeof name, "%s (%d)", stem, number);
    return add_files(sessions, name, text);
}

static int add_configured(struct sessions *sessions, const struct options *options, const json_t *map)
{
    const char *name;
    json_t *value, *item;
    size_t i;
    int status = 0;
    gt_json_foreach_member (map, name, value) {
        if (is_among(options->map.value, options->map.count, name)) /* the command line wins */
            continue;
        bool is_right = json_is_string(value) || json_is_array(value);
        if (json_is_string(value))
            status |= add_pair(sessions, name, json_string_value(value));
        json_array_foreach (value, i, item) {
            is_right = is_right && json_is_string(item);
            status |= is_right ? add_pair(sessions, name, json_string_value(item)) : 0;
        }
        if (!is_right)
            return say_usage("--cconfig: file_path_map: '%s' is neither a path nor a list of paths", name);
    }
    return status;
}

static int check_keys(const json_t *config)
{
    const char *key;
    json_t *value;
    gt_json_foreach_member (config, key, value)
        if (strcmp(key, "file_path_map") != 0 && strcmp(key, "statistic") != 0)
            return say_usage("--cconfig: unknown key '%s' (known: file_path_map, statistic)", key);
    value = json_object_get(config, "statistic");
    if (value && !json_is_string(value))
        return say_usage("--cconfig: statistic is not a text");
    value = json_object_get(config, "file_path_map");
    if (value && !json_is_object(value))
        return say_usage("--cconfig: file_path_map is not an object");
    return 0;
}

/* *ret keeps what `settings` points to. */
static int read_config(json_t **ret, struct sessions *sessions, struct gt_compare_options *settings,
                       const struct options *options)
{
    int status = config_read(ret, options->cconfig);
    if (!status)
        status = check_keys(*ret);
    if (status)
        return status;
    settings->statistic = json_string_value(json_object_get(*ret, "statistic"));
    return add_configured(sessions, options, json_object_get(*ret, "file_path_map"));
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

static int compare_as(const struct options *options, int count, char **operands, bool is_original)
{
    struct output output;
    struct sessions sessions = {0};
    struct gt_compare_options settings = GT_INIT(struct gt_compare_options);
    json_t *config = NULL;
    int status = output_prepare(&output, options, STDOUT_FILENO);
    if (!is_original)
        output_begin_with_summary(&output, options);
    if (!status && options->cconfig)
        status = read_config(&config, &sessions, &settings, options);
    for (size_t i = 0; i < options->map.count && !status; i++)
        status = add_mapping(&sessions, options->map.value[i]);
    for (int i = 0; i < count && !status; i++)
        status = add_operand(&sessions, operands[i]);
    if (!status && !is_original && count && !options->fail_if.count && is_one(&sessions))
        status = say_usage("compare: '%s' alone has nothing to be compared with: give files of another session too",
                           operands[0]);
    settings.sessions = (const char *const *)sessions.mapping;
    settings.statistic = options->statistic ? options->statistic : settings.statistic;
    settings.strict = options->strict;
    settings.rules = options->fail_if.value;
    settings.allow_partial = options->allow_partial;
    settings.page = output_is_page(&output);
    settings.warn = say_warning;
    if (!status)
        status = compare(&output, &settings);
    for (size_t i = 0; i < sessions.count; i++)
        free(sessions.mapping[i]);
    free(sessions.mapping);
    json_decref(config);
    return status;
}

static int run(const struct options *options, int count, char **operands)
{
    return compare_as(options, count, operands, false);
}

static int sub_track_compare(const struct options *options, int count, char **operands)
{
    return compare_as(options, count, operands, true);
}

const struct command command_compare = {
    .name = "compare",
    .synopsis = "[NAME=]FILE|FOLDER...",
    .summary = "Compare runs and their code blocks; fail if a rule is broken",
    .description =
        "A session is a recording or the results of analyze (JSON or pickle). Its name is that of the file unless NAME= is given. Files with the same NAME, and the recordings of a folder, are runs of one session; their mean counts. The first session is the baseline.\n\n"
        "With several runs on both sides, a difference has a 95 % confidence interval (Welch). With four runs or more on both sides, the summary marks significant differences: equal programs have one in at most 5 of 100 comparisons.\n\n"
        "Code blocks match by name. Blocks of one file with names that differ only in the line number match in order. Other blocks are listed as added or removed.\n\n"
        "A rule is VALUE>LIMIT or VALUE<LIMIT. memory>2GB is broken above 2 GB. VALUE is one of these:\n"
        "memory, gpu-memory, time, cpu-time, cpu, gpu, energy, power;\n"
        "energy.cpu, energy.dram, energy.gpu, energy.total;\n"
        "a peak: combined_ram_peak;\n"
        "COLUMN.STATISTIC, counters.COLUMN;\n"
        "block:NAME.VALUE, such as block:sort.memory;\n"
        "block:NAME.compute_time, block:NAME.self_time or block:NAME.cpu_time, with .STATISTIC or .total.\n\n"
        "LIMIT is absolute (2GB, 200) or, with a sign, relative to the baseline (+5%, +100MB). A missing value breaks its rule. So does energy measured part of the time, unless --allow-partial is given. If a rule is broken, the exit status is 3. Each broken rule is named.",
    .operand = OPERAND_FILE,
    .most = -1,
    .run = run,
};

const struct command command_sub_track_compare = {
    .name = "sub-track compare",
    .synopsis = "-m NAME=FILE...",
    .summary = "Like compare, with the options of the original gpu_tracker",
    .description = "See gpu-tracker help compare.",
    .operand = OPERAND_FILE,
    .most = -1,
    .run = sub_track_compare,
};
