#include "analyse/blocks/results.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "analyse/blocks/blocks.h"
#include "base/given_file.h"
#include "blocks/block_event.h"

enum { LARGEST = 256 << 20 };

static bool has_suffix(const char *path, const char *suffix)
{
    size_t length = strlen(path), tail = strlen(suffix);
    return length > tail && strcmp(path + length - tail, suffix) == 0;
}

static int read_file(struct gt_buffer *text, const char *path, struct gt_error *error)
{
    text->ceiling = LARGEST;
    return gt_given_file_read(path, text, error);
}

static int parse_json(struct gt_json_value **ret, const struct gt_buffer *text, const char *path,
                      struct gt_error *error)
{
    struct gt_json_trouble problem;
    *ret = gt_json_parse(text->data, text->length, GT_JSON_UNIQUE_NAMES, &problem);
    if (*ret)
        return 0;
    return gt_error_set(error, EBADMSG, "%s, line %d: %s", path, problem.line, problem.text);
}

static int load_file(struct gt_json_value **ret, const char *path, struct gt_error *error)
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

static int analyse_recording(struct gt_json_value **ret, const char *path,
                             void (*warn)(void *context, const char *sentence), void *context, struct gt_error *error)
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

static int check(const struct gt_json_value *tree, const char *path, struct gt_error *error)
{
    if (gt_json_member(tree, "max_ram"))
        return gt_error_set(error, EBADMSG, "%s is a tracking report: name its tracking file instead", path);
    if (!gt_json_is_object(gt_json_member(tree, "overall")) ||
        !gt_json_is_array(gt_json_member(tree, "code_block_results")))
        return gt_error_set(error, EBADMSG, "%s does not hold the results of sub-track analyze", path);
    int64_t version = gt_json_integer_of(gt_json_member(tree, "results_version"));
    if (version > GT_RESULTS_VERSION)
        return gt_error_set(error, EBADMSG,
                            "%s was written by a newer gpu-tracker (version %lld of results, known is %d)", path,
                            (long long)version, GT_RESULTS_VERSION);
    size_t i;
    const struct gt_json_value *block;
    gt_json_foreach_item (gt_json_member(tree, "code_block_results"), i, block)
        if (!gt_json_is_text(gt_json_member(block, "name")))
            return gt_error_set(error, EBADMSG, "%s: code block %zu has no name", path, i);
    return 0;
}

int gt_results_load(struct gt_json_value **ret, const char *path, void (*warn)(void *context, const char *sentence),
                    void *context, struct gt_error *error)
{
    struct gt_json_value *tree = NULL;
    bool is_recording = has_suffix(path, gt_block_csv.suffix) || has_suffix(path, gt_block_sqlite.suffix);
    int status = is_recording ? analyse_recording(&tree, path, warn, context, error) : load_file(&tree, path, error);
    if (status == 0)
        status = check(tree, path, error);
    if (status == 0)
        status = gt_results_upgrade(tree, error);
    if (status < 0)
        gt_json_free(tree);
    else
        *ret = tree;
    return status;
}

double gt_results_number(const struct gt_json_value *tree, const char *const keys[])
{
    for (; *keys; keys++)
        tree = gt_json_member(tree, *keys);
    return gt_json_is_number(tree) ? gt_json_number_of(tree) : NAN;
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
