#include "analyse/blocks/results.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyse/blocks/blocks.h"
#include "analyse/display.h"
#include "base/os/file.h"
#include "blocks/block_event.h"
#include "schema/unit.h"
#include "store/address.h"
#include "store/store.h"
#include "trace/input/pickle.h"

/* ---- files ---- */

enum { LARGEST = 256 << 20 };

static int parse(json_t **ret, const char *text, size_t length, const char *path, struct gt_error *error)
{
    json_error_t problem;
    *ret = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    return *ret ? 0 : gt_error_set(error, EBADMSG, "%s, line %d: %s", path, problem.line, problem.text);
}

/* ---- pickles: those of `--format pickle`, which call from_tree(type, tree). Nothing is called. ---- */

/* The Python beside this program, as in the environment that pip installed it into; else the one of PATH. */
static void find_python(char *ret, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", ret, size - sizeof "python3");
    char *name = length > 0 ? memrchr(ret, '/', (size_t)length) : NULL;
    if (name)
        strcpy(name + 1, "python3");
    if (!name || access(ret, X_OK) < 0)
        strcpy(ret, "python3");
}

/* Pickles with objects of Python and its packages are read by the Python package, which writes them as JSON, or a sentence to standard
 * error. Both come here. */
static int convert(struct gt_buffer *out, const char *path)
{
    static char code[] = "import sys; del sys.path[0]; from gpu_tracker._unpickle import _main; sys.exit(_main())";
    char python[PATH_MAX], c[] = "-c", block[1 << 14];
    char *const words[] = {python, c, code, (char *)path, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], status = 0;
    pid_t pid;
    find_python(python, sizeof python);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    int failed = posix_spawnp(&pid, python, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    for (ssize_t length; !failed && (length = read(ends[0], block, sizeof block)) > 0;)
        gt_buffer_append(out, block, (size_t)length);
    close(ends[0]);
    if (failed)
        return -failed;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EBADMSG;
}

int gt_results_unpickle(json_t **ret, const void *bytes, size_t length, const char *name, struct gt_error *error)
{
    struct gt_pickle *pickle;
    size_t left = 4 * length + 1024; /* a value is a byte at least, and few are shared */
    struct gt_error bad = {0};
    int status = gt_pickle_read(&pickle, bytes, length, "gpu_tracker._results.from_tree", name, &bad);
    if (status < 0)
        return gt_error_copy(error, &bad);
    const struct gt_pickle_value *root = gt_pickle_root(pickle);
    const struct gt_pickle_value *tree = root->kind == GT_PICKLE_OBJECT ? gt_pickle_item(root->arguments, 1) : NULL;
    *ret = tree ? gt_pickle_json(tree, &left, 0) : NULL;
    gt_pickle_free(pickle);
    return *ret ? 0 : gt_error_set(error, EBADMSG, "%s holds no results of analyze that can be read", name);
}

static int load_objects(json_t **ret, const char *path, struct gt_error *error)
{
    struct gt_buffer text = {.ceiling = 2 * LARGEST};
    int status = convert(&text, path);
    if (status == 0)
        status = parse(ret, text.data ? text.data : "", text.length, path, error);
    else if (!text.length || memmem(text.data, text.length, "Error: ", 7)) /* no Python, or without the package */
        gt_error_set(error, EBADMSG,
                     "%s holds objects of Python: install the Python package gpu-tracker, or write them as JSON", path);
    else
        gt_error_set(error, EBADMSG, "%.*s", (int)strcspn(text.data, "\n"), text.data);
    gt_buffer_release(&text);
    return status < 0 ? -EBADMSG : status;
}

static int load_file(json_t **ret, const char *path, struct gt_error *error)
{
    static const char class[] = "SubTrackingResults";
    struct gt_buffer text = {.ceiling = LARGEST};
    int status = gt_given_file_read(path, &text, error);
    if (status == 0 && !text.length)
        status = gt_error_set(error, EBADMSG, "%s is empty", path);
    else if (status == 0 && (unsigned char)text.data[0] == 0x80) {
        struct gt_error bad = {0};
        status = gt_results_unpickle(ret, text.data, text.length, path, &bad);
        if (status == -EBADMSG && memmem(text.data, text.length, class, sizeof class - 1))
            status = load_objects(ret, path, error);
        else if (status < 0)
            gt_error_copy(error, &bad);
    } else if (status == 0 && !strchr("{[", text.data[strspn(text.data, " \t\r\n")]))
        status = gt_error_set(error, EBADMSG, "%s is neither a pickle nor JSON: write one with analyze", path);
    else if (status == 0)
        status = parse(ret, text.data, text.length, path, error);
    gt_buffer_release(&text);
    return status;
}

static int analyse_recording(json_t **ret, const char *path, void (*warn)(void *context, const char *sentence),
                             void *context, struct gt_error *error)
{
    struct gt_blocks_options options = GT_INIT(struct gt_blocks_options);
    struct gt_report *report = NULL;
    struct gt_buffer text = {0};
    options.tracking_file = path;
    options.warn = warn;
    options.context = context;
    int status = gt_blocks_report(&report, &options, true, error);
    if (status >= 0)
        status = gt_report_write(report, "json", &text, error);
    if (status >= 0)
        status = parse(ret, text.data, text.length, path, error);
    gt_report_free(report);
    gt_buffer_release(&text);
    return status;
}

static int check(const json_t *tree, const char *path, struct gt_error *error)
{
    if (json_object_get(tree, "max_ram"))
        return gt_error_set(error, EBADMSG, "%s is a tracking report: name its tracking file instead", path);
    if (!json_is_object(json_object_get(tree, "overall")) ||
        !json_is_array(json_object_get(tree, "code_block_results")))
        return gt_error_set(error, EBADMSG, "%s does not hold the results of analyze", path);
    int64_t version = json_integer_value(json_object_get(tree, "results_version"));
    if (version > GT_RESULTS_VERSION)
        return gt_error_set(error, EBADMSG,
                            "%s was written by a newer gpu-tracker (version %lld of results, known is %d)", path,
                            (long long)version, GT_RESULTS_VERSION);
    size_t i;
    const json_t *block;
    json_array_foreach (json_object_get(tree, "code_block_results"), i, block)
        if (!json_is_string(json_object_get(block, "name")))
            return gt_error_set(error, EBADMSG, "%s: code block %zu has no name", path, i);
    return 0;
}

/* ---- results of earlier versions as those of this one ---- */

static int peaks_in_bytes(json_t *tree)
{
    const char *unit = json_string_value(json_object_get(json_object_get(tree, "static_data"), "ram_unit"));
    const char *name;
    double bytes;
    json_t *peak, *peaks = json_object_get(tree, "peaks");
    int status = 0;
    if (!unit || gt_unit_memory(unit, &bytes, NULL) < 0)
        return 0;
    gt_json_foreach_member (peaks, name, peak) {
        struct gt_column column;
        if (json_is_number(peak) && gt_store_column_named(&column, name, NULL) == 0 &&
            gt_metrics[column.metric].unit == GT_BYTES)
            status |= json_object_set_new(peaks, name, json_real(nearbyint(json_number_value(peak) * bytes)));
    }
    return status;
}

/* Columns that have another name now. */
static int rename_columns(json_t *counters)
{
    int status = 0;
    const char *next;
    json_t *value;
    for (const char *name = gt_json_next_member(counters, NULL, &value); name; name = next) {
        const char *now = gt_store_name_now(name);
        next = gt_json_next_member(counters, name, &value);
        if (now != name) {
            status |= json_object_set(counters, now, json_object_get(counters, name));
            json_object_del(counters, name);
        }
    }
    return status;
}

static int rename_all(json_t *tree)
{
    size_t i;
    const json_t *block;
    int status = rename_columns(json_object_get(tree, "overall_counters"));
    json_array_foreach (json_object_get(tree, "code_block_results"), i, block) {
        status |= rename_columns(json_object_get(block, "counters"));
    }
    return status;
}

int gt_results_load(json_t **ret, const char *path, const char *json, void (*warn)(void *context, const char *sentence),
                    void *context, struct gt_error *error)
{
    json_t *tree = NULL;
    if (!json && gt_block_writer_of(path))
        return analyse_recording(ret, path, warn, context, error);
    int status = gt_refuse_address(path, error);
    if (status == 0)
        status = json ? parse(&tree, json, strlen(json), path, error) : load_file(&tree, path, error);
    if (status == 0)
        status = check(tree, path, error);
    if (status == 0 && json_integer_value(json_object_get(tree, "results_version")) < 2 &&
        (peaks_in_bytes(tree) | rename_all(tree)))
        status = gt_error_system(error, ENOMEM, "results");
    if (status < 0)
        json_decref(tree);
    else
        *ret = tree;
    return status;
}

int gt_results_json(char **ret, const char *path, const char *json, struct gt_error *error)
{
    json_t *tree = NULL;
    int status = gt_results_load(&tree, path, json, NULL, NULL, error);
    *ret = status < 0 ? NULL : json_dumps(tree, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(tree);
    return status < 0 ? status : *ret ? 0 : gt_error_system(error, ENOMEM, "%s", path);
}

const json_t *gt_results_find(const json_t *results, const char *const keys[])
{
    for (; results && *keys; keys++)
        results = json_object_get(results, *keys);
    return results;
}

double gt_results_number(const json_t *results, const char *const keys[])
{
    return gt_json_number_or_nan(gt_results_find(results, keys));
}

const char *gt_results_static(const json_t *results, const char *key)
{
    return json_string_value(gt_results_find(results, (const char *const[]){"static_data", key, NULL}));
}

void gt_results_title(char *title, size_t size, const char *key)
{
    bool begins = true;
    size_t i = 0;
    for (; key[i] && i + 1 < size; i++) {
        char c = key[i] == '_' ? ' ' : key[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        title[i] = begins && c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
        begins = !is_letter;
    }
    title[i] = '\0';
}

/* ---- results as a report again ---- */

static void add_field(struct gt_node *parent, const char *key, const char *title, json_t *value)
{
    if (json_is_string(value))
        gt_report_text(parent, key, title, json_string_value(value));
    else if (json_is_integer(value))
        gt_report_integer(parent, key, title, json_integer_value(value), NULL);
    else
        gt_report_number(parent, key, title, gt_json_number_or_nan(value), NULL);
}

/* {"min": 1, "max": 2}: a row of fields. */
static void add_row(struct gt_node *parent, const char *key, const char *title, json_t *values)
{
    struct gt_node *row = gt_report_section(parent, key, title);
    const char *name;
    json_t *value;
    gt_node_flags(row, GT_ROW);
    gt_json_foreach_member (values, name, value) {
        add_field(row, name, name, value);
    }
}

/* {"main_ram": {"min": 1, "max": 2}}: a row for each measurement. */
static void add_frame(struct gt_node *parent, const char *key, const char *title, json_t *rows)
{
    struct gt_table *table = gt_report_table(parent, key, title);
    json_t *columns, *row, *ignored;
    const char *measurement, *name;
    gt_json_next_member(rows, NULL, &columns); /* every row has the same */
    gt_table_flags(table, GT_KEYED);
    gt_table_column(table, "column", "", GT_CELL_TEXT, NULL);
    gt_json_foreach_member (columns, name, ignored) {
        gt_table_column(table, name, name, GT_CELL_NUMBER, NULL);
    }
    gt_json_foreach_member (rows, measurement, row) {
        gt_table_text(table, measurement);
        gt_json_foreach_member (columns, name, ignored) {
            gt_table_number(table, gt_json_number_or_nan(json_object_get(row, name)));
        }
    }
}

/* {"my_block": {"a": 1, "b": 2}}: a row of fields for each block, or for each measurement. */
static void add_rows(struct gt_node *parent, const char *key, const char *title, json_t *rows)
{
    struct gt_node *section = gt_report_section(parent, key, title);
    bool are_measurements = strcmp(key, "overall_resource_usage") == 0;
    const char *name;
    json_t *values;
    gt_json_foreach_member (rows, name, values) {
        char own[128];
        gt_results_title(own, sizeof own, name);
        add_row(section, name, are_measurements ? own : name, values);
    }
}

/* {"main_ram": {"my_block": {"a": 1}}} */
static void add_sections(struct gt_node *parent, const char *key, const char *title, json_t *sections)
{
    struct gt_node *all = gt_report_section(parent, key, title);
    const char *name;
    json_t *rows;
    gt_json_foreach_member (sections, name, rows) {
        char own[128];
        gt_results_title(own, sizeof own, name);
        add_rows(all, name, own, rows);
    }
}

static bool add_parts(struct gt_node *parent, const char *type, json_t *tree);

static void add_blocks(struct gt_node *parent, const char *key, const char *title, json_t *blocks)
{
    struct gt_node *list = gt_report_section(parent, key, title);
    size_t i;
    json_t *block;
    gt_node_flags(list, GT_LIST);
    json_array_foreach (blocks, i, block) {
        add_parts(gt_report_section(list, "code_block", ""), "code_block_results", block);
    }
}

/* Returns false where there is no such type. */
static bool add_parts(struct gt_node *parent, const char *type, json_t *tree)
{
    static const struct {
        const char *type, *key;
        void (*add)(struct gt_node *parent, const char *key, const char *title, json_t *value);
    } parts[] = {
        {"sub_tracking_results", "overall", add_frame},
        {"sub_tracking_results", "static_data", add_row},
        {"sub_tracking_results", "code_block_results", add_blocks},
        {"code_block_results", "name", add_field},
        {"code_block_results", "num_timepoints", add_field},
        {"code_block_results", "num_calls", add_field},
        {"code_block_results", "num_non_empty_calls", add_field},
        {"code_block_results", "compute_time", add_row},
        {"code_block_results", "resource_usage", add_frame},
        {"comparison_results", "overall_resource_usage", add_rows},
        {"comparison_results", "code_block_resource_usage", add_sections},
        {"comparison_results", "code_block_compute_time", add_rows},
    };
    bool is_known = false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char title[64];
        if (strcmp(parts[i].type, type) != 0)
            continue;
        is_known = true;
        gt_results_title(title, sizeof title, parts[i].key);
        parts[i].add(parent, parts[i].key, title, json_object_get(tree, parts[i].key));
    }
    return is_known;
}

int gt_results_report(struct gt_report **ret, const char *type, const char *json, struct gt_error *error)
{
    json_error_t problem;
    struct gt_report *report = NULL;
    json_t *tree = json_loads(json, JSON_REJECT_DUPLICATES, &problem);
    if (!tree)
        return gt_error_set(error, EBADMSG, "the results are not JSON: %s", problem.text);
    int status = gt_report_new(&report, type, error);
    if (status >= 0)
        report->layout = GT_LAYOUT_ANALYSIS;
    bool is_known = status >= 0 && add_parts(&report->root, type, tree);
    json_decref(tree);
    if (is_known)
        return gt_display_end(ret, report, 0, "results", error);
    gt_report_free(report);
    return status < 0 ? status : gt_error_set(error, EINVAL, "unknown type of results: %s", type);
}
