#include "analyse/blocks/results.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "analyse/blocks/blocks.h"
#include "analyse/blocks/results_pickle.h"
#include "blocks/block_event.h"
#include "schema/unit.h"
#include "store/store.h"

/* ---- files ---- */

enum { LARGEST = 256 << 20 };

static bool has_suffix(const char *path, const char *suffix)
{
    size_t length = strlen(path), tail = strlen(suffix);
    return length > tail && strcmp(path + length - tail, suffix) == 0;
}

static int read_file(struct gt_buffer *text, const char *path, struct gt_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return gt_error_system(error, errno, "%s", path);
    ssize_t got = 1;
    text->ceiling = LARGEST;
    while (got > 0 && gt_buffer_reserve(text, 65536) == 0) {
        got = read(fd, text->data + text->length, 65536);
        text->length += got > 0 ? (size_t)got : 0;
    }
    int status = got < 0 ? -errno : text->failed;
    close(fd);
    return status < 0 ? gt_error_system(error, -status, "%s", path) : 0;
}

static int parse_json(json_t **ret, const struct gt_buffer *text, const char *path, struct gt_error *error)
{
    json_error_t problem;
    *ret = json_loadb(text->data, text->length, JSON_REJECT_DUPLICATES, &problem);
    if (*ret)
        return 0;
    return gt_error_set(error, EBADMSG, "%s, line %d: %s", path, problem.line, problem.text);
}

static int load_file(json_t **ret, const char *path, struct gt_error *error)
{
    struct gt_buffer text = {0};
    int status = read_file(&text, path, error);
    if (status == 0 && !text.length)
        status = gt_error_set(error, EBADMSG, "%s is empty", path);
    else if (status == 0 && (unsigned char)text.data[0] == 0x80)
        status = gt_results_unpickle(ret, text.data, text.length, path, error);
    else if (status == 0)
        status = parse_json(ret, &text, path, error);
    gt_buffer_release(&text);
    return status;
}

static int analyse_recording(json_t **ret, const char *path, void (*warn)(void *context, const char *sentence),
                             void *context, struct gt_error *error)
{
    struct gt_blocks_options options = GT_INIT(struct gt_blocks_options);
    options.tracking_file = path;
    options.warn = warn;
    options.context = context;
    struct gt_report *report = NULL;
    struct gt_buffer text = {0};
    int status = gt_blocks_report(&report, &options, true, error);
    if (status == 0)
        status = gt_report_write(report, "json", &text, error);
    if (status == 0)
        status = parse_json(ret, &text, path, error);
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
        return gt_error_set(error, EBADMSG, "%s does not hold the results of sub-track analyze", path);
    json_int_t version = json_integer_value(json_object_get(tree, "results_version"));
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

static bool is_in_bytes(const struct gt_columns *columns, const char *name)
{
    int index = gt_store_column_find(columns, name);
    return index >= 0 && gt_metrics[columns->column[index].metric].unit == GT_BYTES;
}

static int peaks_in_bytes(json_t *tree)
{
    const char *unit = json_string_value(json_object_get(json_object_get(tree, "static_data"), "ram_unit"));
    struct gt_columns columns;
    const char *name;
    double bytes;
    json_t *peak, *peaks = json_object_get(tree, "peaks");
    int status = 0;
    if (!unit || gt_unit_memory(unit, &bytes, NULL) < 0)
        return 0;
    gt_store_columns(&columns, NULL);
    json_object_foreach (peaks, name, peak) {
        if (json_is_number(peak) && is_in_bytes(&columns, name))
            status |= json_object_set_new(peaks, name, json_real(nearbyint(json_number_value(peak) * bytes)));
    }
    return status;
}

/* Columns that have another name now. */
static int rename_columns(json_t *counters)
{
    int status = 0;
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(counters, next, name, value)
    {
        const char *now = gt_store_name_now(name);
        if (now == name)
            continue;
        status |= json_object_set(counters, now, value);
        json_object_del(counters, name);
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

static int upgrade(json_t *tree, struct gt_error *error)
{
    json_int_t version = json_integer_value(json_object_get(tree, "results_version"));
    int status = version < 2 ? peaks_in_bytes(tree) | rename_all(tree) : 0;
    return status ? gt_error_system(error, ENOMEM, "results") : 0;
}

int gt_results_load(json_t **ret, const char *path, void (*warn)(void *context, const char *sentence), void *context,
                    struct gt_error *error)
{
    json_t *tree = NULL;
    bool is_recording = has_suffix(path, gt_block_csv.suffix) || has_suffix(path, gt_block_sqlite.suffix);
    int status = is_recording ? analyse_recording(&tree, path, warn, context, error) : load_file(&tree, path, error);
    if (status == 0)
        status = check(tree, path, error);
    if (status == 0)
        status = upgrade(tree, error);
    if (status < 0)
        json_decref(tree);
    else
        *ret = tree;
    return status;
}

double gt_results_number(const json_t *tree, const char *const keys[])
{
    for (; *keys; keys++)
        tree = json_object_get(tree, *keys);
    return json_is_number(tree) ? json_number_value(tree) : NAN;
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

static double number_of(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void add_fact(struct gt_node *parent, const char *key, const char *title, const json_t *value)
{
    if (json_is_string(value))
        gt_report_text(parent, key, title, json_string_value(value));
    else if (json_is_integer(value))
        gt_report_integer(parent, key, title, json_integer_value(value), NULL);
    else
        gt_report_number(parent, key, title, number_of(value), NULL);
}

/* {"min": 1, "max": 2}: a row of facts. */
static void add_row(struct gt_node *parent, const char *key, const char *title, json_t *values)
{
    struct gt_node *row = gt_report_section(parent, key, title);
    const char *name;
    json_t *value;
    gt_node_flags(row, GT_ROW);
    json_object_foreach (values, name, value) {
        add_fact(row, name, name, value);
    }
}

/* {"main_ram": {"min": 1, "max": 2}}: a row for each measurement. */
static void add_frame(struct gt_node *parent, const char *key, const char *title, json_t *rows)
{
    struct gt_node *table = gt_report_table(parent, key, title);
    json_t *columns = json_object_iter_value(json_object_iter(rows)), *row, *ignored;
    const char *measurement, *name;
    gt_node_flags(table, GT_KEYED);
    gt_table_column(table, "column", "", GT_CELL_TEXT, NULL);
    json_object_foreach (columns, name, ignored) {
        gt_table_column(table, name, name, GT_CELL_NUMBER, NULL);
    }
    json_object_foreach (rows, measurement, row) {
        gt_table_text(table, measurement);
        json_object_foreach (columns, name, ignored) {
            gt_table_number(table, number_of(json_object_get(row, name)));
        }
    }
}

static void add_block(struct gt_node *parent, json_t *block)
{
    static const char *const facts[] = {"name", "num_timepoints", "num_calls", "num_non_empty_calls"};
    char title[32];
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        gt_results_title(title, sizeof title, facts[i]);
        add_fact(parent, facts[i], title, json_object_get(block, facts[i]));
    }
    add_row(parent, "compute_time", "Compute Time", json_object_get(block, "compute_time"));
    add_frame(parent, "resource_usage", "Resource Usage", json_object_get(block, "resource_usage"));
}

static void add_session(struct gt_node *root, json_t *tree)
{
    size_t i;
    json_t *block;
    add_frame(root, "overall", "Overall", json_object_get(tree, "overall"));
    add_row(root, "static_data", "Static Data", json_object_get(tree, "static_data"));
    struct gt_node *list = gt_report_section(root, "code_block_results", "Code Block Results");
    gt_node_flags(list, GT_LIST);
    json_array_foreach (json_object_get(tree, "code_block_results"), i, block) {
        add_block(gt_report_section(list, "code_block", ""), block);
    }
}

static void add_rows(struct gt_node *parent, json_t *rows, bool are_measurements)
{
    const char *name;
    json_t *values;
    json_object_foreach (rows, name, values) {
        char title[128];
        gt_results_title(title, sizeof title, name);
        add_row(parent, name, are_measurements ? title : name, values);
    }
}

static void add_comparison(struct gt_node *root, json_t *tree)
{
    const char *measurement;
    json_t *blocks;
    add_rows(gt_report_section(root, "overall_resource_usage", "Overall Resource Usage"),
             json_object_get(tree, "overall_resource_usage"), true);
    struct gt_node *usage = gt_report_section(root, "code_block_resource_usage", "Code Block Resource Usage");
    json_object_foreach (json_object_get(tree, "code_block_resource_usage"), measurement, blocks) {
        char title[128];
        gt_results_title(title, sizeof title, measurement);
        add_rows(gt_report_section(usage, measurement, title), blocks, false);
    }
    add_rows(gt_report_section(root, "code_block_compute_time", "Code Block Compute Time"),
             json_object_get(tree, "code_block_compute_time"), false);
}

static const struct {
    const char *type;
    void (*add)(struct gt_node *root, json_t *tree);
} types[] = {
    {"sub_tracking_results", add_session},
    {"code_block_results", add_block},
    {"comparison_results", add_comparison},
};

static int build_report(struct gt_report **ret, const char *type, json_t *tree, struct gt_error *error)
{
    struct gt_report *report = NULL;
    size_t i = 0;
    while (i < sizeof types / sizeof *types && strcmp(types[i].type, type) != 0)
        i++;
    if (i == sizeof types / sizeof *types)
        return gt_error_set(error, EINVAL, "there are no results of the type %s", type);
    int status = gt_report_new(&report, type, error);
    if (status < 0)
        return status;
    gt_report_layout(report, GT_LAYOUT_ANALYSIS);
    types[i].add(gt_report_root(report), tree);
    if (gt_report_failed(report)) {
        gt_report_free(report);
        return gt_error_system(error, ENOMEM, "results");
    }
    *ret = report;
    return 0;
}

int gt_results_report(struct gt_report **ret, const char *type, const char *json, struct gt_error *error)
{
    json_error_t problem;
    json_t *tree = json_loads(json, JSON_REJECT_DUPLICATES, &problem);
    if (!tree)
        return gt_error_set(error, EBADMSG, "the results are not JSON: %s", problem.text);
    int status = build_report(ret, type, tree, error);
    json_decref(tree);
    return status;
}
