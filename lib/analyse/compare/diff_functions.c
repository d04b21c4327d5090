#include "analyse/compare/diff_functions.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/calls/functions.h"
#include "base/number.h"

struct function {
    const char *file, *name;
    char *title;
    uint32_t line;
    double calls, us;
};

struct side {
    struct function *function;
    size_t count;
};

static int by_name(const struct function *x, const struct function *y)
{
    int order = strcmp(x->file, y->file);
    return order ? order : strcmp(x->name, y->name);
}

static int by_place(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    int order = by_name(x, y);
    return order ? order : GT_ORDER(x->line, y->line);
}

static const char *text_at(const struct gt_analysis_input *input, uint32_t place)
{
    const char *text = gt_analysis_text(input, place);
    return text ? text : "";
}

/* Their titles are the result's. */
static int collect(const struct gt_analysis_input *input, struct side *side, struct gt_diff_functions *ret)
{
    struct gt_function_sums sums = {0};
    struct gt_buffer title = {0};
    int status = gt_functions_sum(input, GT_DUMPS_ALL, GT_PROFILE_SECONDS, NULL, &sums);
    char **titles = status < 0 ? NULL : realloc(ret->title, (ret->titles + sums.count + 1) * sizeof *titles);
    side->function = status < 0 ? NULL : calloc(sums.count + 1, sizeof *side->function);
    ret->title = titles ? titles : ret->title;
    if (status >= 0 && (!titles || !side->function))
        status = -ENOMEM;
    for (size_t i = 0; i < sums.count && status >= 0; i++) {
        const struct gt_function_sum *sum = &sums.sum[i];
        char *text = strdup(gt_function_title(input, sum, &title));
        if (!text)
            status = -ENOMEM;
        else
            ret->title[ret->titles++] = text;
        ret->is_counted &= !isnan(sum->figure[GT_TOTAL_CALLS]);
        side->function[side->count++] = (struct function){
            text_at(input, sum->key[2]), text_at(input, sum->key[3]),     text, sum->key[4],
            sum->figure[GT_TOTAL_CALLS], 1e6 * sum->figure[GT_TOTAL_TIME]};
    }
    gt_buffer_release(&title);
    gt_functions_release(&sums);
    if (status >= 0 && side->count)
        qsort(side->function, side->count, sizeof *side->function, by_place);
    return status;
}

static void take(struct gt_diff_change *change, const struct function *function, int side)
{
    change->name = function->title;
    change->count[side] = isnan(function->calls) ? 1 : (size_t)function->calls;
    change->us[side] = isnan(function->us) ? 0 : function->us;
}

static size_t end_of_name(const struct side *side, size_t from, const struct function *like)
{
    while (from < side->count && by_name(&side->function[from], like) == 0)
        from++;
    return from;
}

static void match(const struct side side[2], struct gt_diff_functions *ret)
{
    size_t at[2] = {0, 0};
    while (at[0] < side[0].count || at[1] < side[1].count) {
        const struct function *first[2];
        for (int i = 0; i < 2; i++)
            first[i] = at[i] < side[i].count ? &side[i].function[at[i]] : NULL;
        int order = !first[0] ? 1 : !first[1] ? -1 : by_name(first[0], first[1]);
        const struct function *like = order <= 0 ? first[0] : first[1];
        size_t end[2] = {end_of_name(&side[0], at[0], like), end_of_name(&side[1], at[1], like)};
        bool is_in_order = end[0] - at[0] == end[1] - at[1];
        while (at[0] < end[0] || at[1] < end[1]) {
            uint32_t line[2] = {at[0] < end[0] ? side[0].function[at[0]].line : UINT32_MAX,
                                at[1] < end[1] ? side[1].function[at[1]].line : UINT32_MAX};
            struct gt_diff_change *change = &ret->change[ret->count++];
            for (int i = 0; i < 2; i++)
                if (at[i] < end[i] && (is_in_order || line[i] <= line[!i]))
                    take(change, &side[i].function[at[i]++], i);
        }
    }
}

int gt_diff_functions_find(const struct gt_analysis_input *const inputs[2], struct gt_diff_functions *ret)
{
    struct side side[2] = {{0}};
    int status = 0;
    *ret = (struct gt_diff_functions){.is_counted = true};
    for (int i = 0; i < 2 && status >= 0; i++)
        status = collect(inputs[i], &side[i], ret);
    if (status >= 0 && !(ret->change = calloc(side[0].count + side[1].count + 1, sizeof *ret->change)))
        status = -ENOMEM;
    if (status >= 0)
        match(side, ret);
    free(side[0].function);
    free(side[1].function);
    return status;
}

void gt_diff_functions_release(struct gt_diff_functions *functions)
{
    for (size_t i = 0; i < functions->titles; i++)
        free(functions->title[i]);
    free(functions->title);
    free(functions->change);
    *functions = (struct gt_diff_functions){0};
}
