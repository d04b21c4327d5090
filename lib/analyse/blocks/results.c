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
    int fd = gt_given_file_open(path, NULL, error);
    if (fd < 0)
        return fd;
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

int gt_results_load(json_t **ret, const char *path, void (*warn)(void *context, const char *sentence), void *context,
                    struct gt_error *error)
{
    json_t *tree = NULL;
    bool is_recording = has_suffix(path, gt_block_csv.suffix) || has_suffix(path, gt_block_sqlite.suffix);
    int status = is_recording ? analyse_recording(&tree, path, warn, context, error) : load_file(&tree, path, error);
    if (status == 0)
        status = check(tree, path, error);
    if (status == 0)
        status = gt_results_upgrade(tree, error);
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
