/* Which blocks of several runs are the same.
 *
 * Names match names. Where names have the form path:line, the blocks of one path are matched in the order of their lines
 * when both runs have the same number of them, since editing a file moves its lines; else only equal names match. Strict
 * matching is the original's: all blocks in order, one for one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/compare/compare_parts.h"
#include "base/grow.h"
#include "base/order.h"

/* The digits after the last colon, or NULL. */
static const char *line_of(const char *name)
{
    const char *colon = strrchr(name, ':');
    return colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")] ? colon + 1 : NULL;
}

static size_t group_length(const char *name)
{
    const char *line = line_of(name);
    return line ? (size_t)(line - name) : strlen(name);
}

static int compare_groups(const char *a, const char *b)
{
    size_t x = group_length(a), y = group_length(b);
    int order = memcmp(a, b, x < y ? x : y);
    return order ? order : GT_ORDER(x, y);
}

static int compare_names(const char *a, const char *b)
{
    int order = compare_groups(a, b);
    const char *x = line_of(a), *y = line_of(b);
    if (order || !x || !y)
        return order ? order : (x != NULL) - (y != NULL);
    x += strspn(x, "0");
    y += strspn(y, "0");
    size_t length = strlen(x), other = strlen(y);
    return length != other ? GT_ORDER(length, other) : strcmp(x, y);
}

static int compare_slots(const void *a, const void *b)
{
    return compare_names(((const struct gt_slot *)a)->name, ((const struct gt_slot *)b)->name);
}

static const char *name_of(const struct gt_json_value *block)
{
    return gt_json_text_of(gt_json_member(block, "name"));
}

static int compare_blocks(const void *a, const void *b)
{
    return compare_names(name_of(*(const struct gt_json_value *const *)a),
                         name_of(*(const struct gt_json_value *const *)b));
}

struct blocks {
    const struct gt_json_value **block; /* sorted */
    size_t count;
};

static int sort_blocks(struct blocks *ret, const struct gt_json_value *run)
{
    const struct gt_json_value *list = gt_json_member(run, "code_block_results");
    ret->count = gt_json_count(list);
    ret->block = calloc(ret->count + 1, sizeof *ret->block);
    if (!ret->block)
        return -ENOMEM;
    for (size_t i = 0; i < ret->count; i++)
        ret->block[i] = gt_json_item(list, i);
    qsort(ret->block, ret->count, sizeof *ret->block, compare_blocks);
    return 0;
}

static const char *session_name(const struct gt_comparison *comparison, size_t run)
{
    return comparison->session[comparison->session_of_run[run]].name;
}

static void put(struct gt_comparison *comparison, struct gt_slot *slot, size_t reference, size_t run,
                const struct gt_json_value *block)
{
    slot->block[run] = block;
    if (strcmp(slot->name, name_of(block)) != 0)
        gt_compare_warn(
            comparison,
            "Code block name \"%s\" of tracking session \"%s\" matched with code block name \"%s\" of tracking "
            "session \"%s\" but they differ by line number. If these code blocks were not meant to match, their "
            "comparison will not be valid and their names must be disambiguated.",
            slot->name, session_name(comparison, reference), name_of(block), session_name(comparison, run));
}

static int add_slot(struct gt_comparison *comparison, size_t run, const struct gt_json_value *block)
{
    struct gt_slot *slot = GT_GROW_BY_ONE(comparison->slot, comparison->slots);
    if (!slot)
        return -ENOMEM;
    *slot = (struct gt_slot){.name = name_of(block), .block = calloc(comparison->runs, sizeof *slot->block)};
    if (!slot->block)
        return -ENOMEM;
    slot->block[run] = block;
    comparison->slots++;
    return 0;
}

static int match_strictly(struct gt_comparison *comparison, size_t reference, size_t run, const struct blocks *blocks,
                          struct gt_error *error)
{
    if (blocks->count != comparison->slots)
        return gt_error_set(
            error, EBADMSG,
            "All sub-tracking results must have the same number of code blocks. The first has %zu code blocks "
            "but tracking session \"%s\" has %zu code blocks.",
            comparison->slots, session_name(comparison, run), blocks->count);
    for (size_t i = 0; i < blocks->count; i++) {
        const char *one = comparison->slot[i].name, *other = name_of(blocks->block[i]);
        if (compare_groups(one, other) != 0 || !line_of(one) != !line_of(other))
            return gt_error_set(
                error, EBADMSG,
                "Code block name \"%s\" of tracking session \"%s\" does not match code block name \"%s\" of "
                "tracking session \"%s\"",
                one, session_name(comparison, reference), other, session_name(comparison, run));
        put(comparison, &comparison->slot[i], reference, run, blocks->block[i]);
    }
    return 0;
}

/* Two groups of the same path: slots [slot, slot_end) and blocks [block, block_end). */
static int match_group(struct gt_comparison *comparison, size_t reference, size_t run, const struct blocks *blocks,
                       size_t slot, size_t slot_end, size_t block, size_t block_end)
{
    bool in_order = slot_end - slot == block_end - block;
    int status = 0;
    while (block < block_end && status == 0) {
        int order = in_order          ? 0
                    : slot < slot_end ? compare_names(comparison->slot[slot].name, name_of(blocks->block[block]))
                                      : 1;
        if (order == 0)
            put(comparison, &comparison->slot[slot++], reference, run, blocks->block[block++]);
        else if (order < 0)
            slot++;
        else
            status = add_slot(comparison, run, blocks->block[block++]);
    }
    return status;
}

static int match_run(struct gt_comparison *comparison, size_t reference, size_t run, const struct blocks *blocks)
{
    size_t slots = comparison->slots, slot = 0, block = 0;
    int status = 0;
    while (block < blocks->count && status == 0) {
        const char *name = name_of(blocks->block[block]);
        size_t slot_end, block_end = block;
        while (slot < slots && compare_groups(comparison->slot[slot].name, name) < 0)
            slot++;
        for (slot_end = slot; slot_end < slots && compare_groups(comparison->slot[slot_end].name, name) == 0;)
            slot_end++;
        while (block_end < blocks->count && compare_groups(name_of(blocks->block[block_end]), name) == 0)
            block_end++;
        status = match_group(comparison, reference, run, blocks, slot, slot_end, block, block_end);
        slot = slot_end;
        block = block_end;
    }
    qsort(comparison->slot, comparison->slots, sizeof *comparison->slot, compare_slots);
    return status;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int make_label(struct gt_slot *slot, size_t runs)
{
    const char **name = calloc(runs, sizeof *name);
    struct gt_buffer label = {0};
    size_t count = 0;
    for (size_t i = 0; name && i < runs; i++)
        if (slot->block[i])
            name[count++] = name_of(slot->block[i]);
    if (name)
        qsort(name, count, sizeof *name, compare_texts);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(name[i], name[i - 1]) != 0)
            gt_buffer_printf(&label, "%s%s", i ? " -> " : "", name[i]);
    free(name);
    slot->label = label.data;
    return label.data && !label.failed ? 0 : -ENOMEM;
}

static int match(struct gt_comparison *comparison, size_t reference, size_t run, struct gt_error *error)
{
    struct blocks blocks;
    int status = sort_blocks(&blocks, comparison->run[run]);
    if (status < 0)
        return gt_error_system(error, ENOMEM, "code blocks");
    if (run == reference)
        for (size_t i = 0; i < blocks.count && status == 0; i++)
            status = add_slot(comparison, run, blocks.block[i]);
    else if (comparison->options->strict)
        status = match_strictly(comparison, reference, run, &blocks, error);
    else
        status = match_run(comparison, reference, run, &blocks);
    free(blocks.block);
    return status == -ENOMEM ? gt_error_system(error, ENOMEM, "code blocks") : status;
}

int gt_compare_match(struct gt_comparison *comparison, struct gt_error *error)
{
    size_t reference = 0; /* as in the original, the session whose name sorts first */
    for (size_t i = 1; i < comparison->runs; i++)
        if (strcmp(session_name(comparison, i), session_name(comparison, reference)) < 0)
            reference = i;
    int status = match(comparison, reference, reference, error);
    for (size_t i = 0; i < comparison->runs && status == 0; i++)
        if (i != reference)
            status = match(comparison, reference, i, error);
    for (size_t i = 0; i < comparison->slots && status == 0; i++)
        if (make_label(&comparison->slot[i], comparison->runs) < 0)
            status = gt_error_system(error, ENOMEM, "code blocks");
    return status;
}
