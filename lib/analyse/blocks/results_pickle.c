/* Pickles of results: those of the original gpu_tracker 5, of our Python package, and of `--format pickle`. Only known names are
 * accepted and nothing is called; what they would make is put together here. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "analyse/blocks/results.h"
#include "analyse/blocks/results_frame.h"

enum { DEEPEST = 64 };

static const struct {
    enum gt_results_name number;
    const char *module, *name;
} names[] = {
#define NAME(number, module, name) {GT_NAME_##number, module, name},
#include "analyse/blocks/results_names.def"
#undef NAME
};

static bool is_text(const char *text, size_t length, const char *other)
{
    return strlen(other) == length && memcmp(text, other, length) == 0;
}

static int known(const char *module, size_t module_length, const char *name, size_t name_length)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_text(module, module_length, names[i].module) && is_text(name, name_length, names[i].name))
            return (int)names[i].number;
    return 0;
}

/* ---- trees as they are ---- */

static struct gt_json_value *tree_of(const struct gt_pickle_value *value, struct gt_results_budget *budget, int depth);

static struct gt_json_value *list_of(const struct gt_pickle_value *list, struct gt_results_budget *budget, int depth)
{
    struct gt_json_value *json = gt_json_new_array();
    for (uint32_t i = 0; json && i < list->count; i++) {
        struct gt_json_value *item = tree_of(list->item[i], budget, depth + 1);
        if (!item || gt_json_append(json, item) < 0) {
            gt_json_free(json);
            json = NULL;
        }
    }
    return json;
}

static struct gt_json_value *dict_of(const struct gt_pickle_value *dict, struct gt_results_budget *budget, int depth)
{
    struct gt_json_value *json = gt_json_new_object();
    for (uint32_t i = 0; json && i < dict->count; i += 2) {
        struct gt_json_value *key = gt_results_scalar(dict->item[i]);
        struct gt_json_value *item = gt_json_is_text(key) ? tree_of(dict->item[i + 1], budget, depth + 1) : NULL;
        if (!item || gt_json_set(json, gt_json_text_of(key), item) < 0) {
            gt_json_free(json);
            json = NULL;
        }
        gt_json_free(key);
    }
    return json;
}

static struct gt_json_value *tree_of(const struct gt_pickle_value *value, struct gt_results_budget *budget, int depth)
{
    if (depth >= DEEPEST || !budget->values--) {
        budget->values = 0;
        return NULL;
    }
    switch (value->kind) {
    case GT_PICKLE_LIST:
    case GT_PICKLE_TUPLE: return list_of(value, budget, depth);
    case GT_PICKLE_DICT: return dict_of(value, budget, depth);
    default: return gt_results_scalar(value);
    }
}

/* ---- objects ---- */

/* What our own package computed them from, and keeps beside the fields that the original knows. */
static const struct gt_pickle_value *report_of(const struct gt_pickle_value *state)
{
    const struct gt_pickle_value *report = gt_pickle_get(state, "_report");
    return report && report->kind == GT_PICKLE_DICT ? report : NULL;
}

static int put(struct gt_json_value *object, const char *key, struct gt_json_value *value)
{
    return value && gt_json_set(object, key, value) == 0 ? 0 : -EBADMSG;
}

static struct gt_json_value *finished(struct gt_json_value *object, int status)
{
    if (status == 0)
        return object;
    gt_json_free(object);
    return NULL;
}

static struct gt_json_value *block_of(const struct gt_pickle_value *value, struct gt_results_budget *budget)
{
    static const char *const plain[] = {"name", "num_timepoints", "num_calls", "num_non_empty_calls"};
    if (gt_pickle_made_by(value) != GT_NAME_BLOCK)
        return NULL;
    if (report_of(value->state))
        return tree_of(report_of(value->state), budget, 0);
    struct gt_json_value *block = gt_json_new_object();
    int status = block ? 0 : -ENOMEM;
    for (size_t i = 0; i < sizeof plain / sizeof *plain && status == 0; i++)
        status = put(block, plain[i], gt_results_scalar(gt_pickle_get(value->state, plain[i])));
    if (status == 0)
        status = put(block, "compute_time", gt_results_series(gt_pickle_get(value->state, "compute_time"), budget));
    if (status == 0)
        status = put(block, "resource_usage", gt_results_frame(gt_pickle_get(value->state, "resource_usage"), budget));
    return finished(block, status);
}

static struct gt_json_value *blocks_of(const struct gt_pickle_value *list, struct gt_results_budget *budget)
{
    struct gt_json_value *blocks = list && list->kind == GT_PICKLE_LIST ? gt_json_new_array() : NULL;
    int status = blocks ? 0 : -EBADMSG;
    for (uint32_t i = 0; status == 0 && i < list->count; i++) {
        struct gt_json_value *block = block_of(list->item[i], budget);
        status = block && gt_json_append(blocks, block) == 0 ? 0 : -EBADMSG;
    }
    return finished(blocks, status);
}

static struct gt_json_value *results_of(const struct gt_pickle_value *value, struct gt_results_budget *budget)
{
    if (gt_pickle_made_by(value) == GT_NAME_FROM_TREE && gt_pickle_item(value->arguments, 1))
        return tree_of(gt_pickle_item(value->arguments, 1), budget, 0);
    if (gt_pickle_made_by(value) != GT_NAME_RESULTS)
        return NULL;
    const struct gt_pickle_value *state = value->state;
    if (report_of(state))
        return tree_of(report_of(state), budget, 0);
    struct gt_json_value *results = gt_json_new_object();
    int status = results ? put(results, "overall", gt_results_frame(gt_pickle_get(state, "overall"), budget)) : -ENOMEM;
    if (status == 0)
        status = put(results, "static_data", gt_results_series(gt_pickle_get(state, "static_data"), budget));
    if (status == 0)
        status = put(results, "code_block_results", blocks_of(gt_pickle_get(state, "code_block_results"), budget));
    return finished(results, status);
}

int gt_results_unpickle(struct gt_json_value **ret, const void *bytes, size_t length, const char *name,
                        struct gt_error *error)
{
    struct gt_pickle *pickle;
    struct gt_results_budget budget = {4 * length + 1024}; /* a value is a byte at least, and few are shared */
    int status = gt_pickle_read(&pickle, bytes, length, known, name, error);
    if (status < 0)
        return status;
    struct gt_json_value *tree = results_of(gt_pickle_root(pickle), &budget);
    gt_pickle_free(pickle);
    if (!tree)
        return gt_error_set(error, EBADMSG, "%s holds no results of sub-track analyze that can be read", name);
    *ret = tree;
    return 0;
}
