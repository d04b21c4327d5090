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

static json_t *tree_of(const struct gt_pickle_value *value, struct gt_results_budget *budget, int depth);

static json_t *list_of(const struct gt_pickle_value *list, struct gt_results_budget *budget, int depth)
{
    json_t *json = json_array();
    for (uint32_t i = 0; json && i < list->count; i++) {
        json_t *item = tree_of(list->item[i], budget, depth + 1);
        if (!item || json_array_append_new(json, item) < 0) {
            json_decref(json);
            json = NULL;
        }
    }
    return json;
}

static json_t *dict_of(const struct gt_pickle_value *dict, struct gt_results_budget *budget, int depth)
{
    json_t *json = json_object();
    for (uint32_t i = 0; json && i < dict->count; i += 2) {
        json_t *key = gt_results_scalar(dict->item[i]);
        json_t *item = json_is_string(key) ? tree_of(dict->item[i + 1], budget, depth + 1) : NULL;
        if (!item || json_object_set_new(json, json_string_value(key), item) < 0) {
            json_decref(json);
            json = NULL;
        }
        json_decref(key);
    }
    return json;
}

static json_t *tree_of(const struct gt_pickle_value *value, struct gt_results_budget *budget, int depth)
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

static int put(json_t *object, const char *key, json_t *value)
{
    return value && json_object_set_new(object, key, value) == 0 ? 0 : -EBADMSG;
}

static json_t *finished(json_t *object, int status)
{
    if (status == 0)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *block_of(const struct gt_pickle_value *value, struct gt_results_budget *budget)
{
    static const char *const plain[] = {"name", "num_timepoints", "num_calls", "num_non_empty_calls"};
    if (gt_pickle_made_by(value) != GT_NAME_BLOCK)
        return NULL;
    if (report_of(value->state))
        return tree_of(report_of(value->state), budget, 0);
    json_t *block = json_object();
    int status = block ? 0 : -ENOMEM;
    for (size_t i = 0; i < sizeof plain / sizeof *plain && status == 0; i++)
        status = put(block, plain[i], gt_results_scalar(gt_pickle_get(value->state, plain[i])));
    if (status == 0)
        status = put(block, "compute_time", gt_results_series(gt_pickle_get(value->state, "compute_time"), budget));
    if (status == 0)
        status = put(block, "resource_usage", gt_results_frame(gt_pickle_get(value->state, "resource_usage"), budget));
    return finished(block, status);
}

static json_t *blocks_of(const struct gt_pickle_value *list, struct gt_results_budget *budget)
{
    json_t *blocks = list && list->kind == GT_PICKLE_LIST ? json_array() : NULL;
    int status = blocks ? 0 : -EBADMSG;
    for (uint32_t i = 0; status == 0 && i < list->count; i++) {
        json_t *block = block_of(list->item[i], budget);
        status = block && json_array_append_new(blocks, block) == 0 ? 0 : -EBADMSG;
    }
    return finished(blocks, status);
}

static json_t *results_of(const struct gt_pickle_value *value, struct gt_results_budget *budget)
{
    if (gt_pickle_made_by(value) == GT_NAME_FROM_TREE && gt_pickle_item(value->arguments, 1))
        return tree_of(gt_pickle_item(value->arguments, 1), budget, 0);
    if (gt_pickle_made_by(value) != GT_NAME_RESULTS)
        return NULL;
    const struct gt_pickle_value *state = value->state;
    if (report_of(state))
        return tree_of(report_of(state), budget, 0);
    json_t *results = json_object();
    int status = results ? put(results, "overall", gt_results_frame(gt_pickle_get(state, "overall"), budget)) : -ENOMEM;
    if (status == 0)
        status = put(results, "static_data", gt_results_series(gt_pickle_get(state, "static_data"), budget));
    if (status == 0)
        status = put(results, "code_block_results", blocks_of(gt_pickle_get(state, "code_block_results"), budget));
    return finished(results, status);
}

int gt_results_unpickle(json_t **ret, const void *bytes, size_t length, const char *name, struct gt_error *error)
{
    struct gt_pickle *pickle;
    struct gt_results_budget budget = {4 * length + 1024}; /* a value is a byte at least, and few are shared */
    int status = gt_pickle_read(&pickle, bytes, length, known, name, error);
    if (status < 0)
        return status;
    json_t *tree = results_of(gt_pickle_root(pickle), &budget);
    gt_pickle_free(pickle);
    if (!tree)
        return gt_error_set(error, EBADMSG, "%s holds no results of sub-track analyze that can be read", name);
    *ret = tree;
    return 0;
}
