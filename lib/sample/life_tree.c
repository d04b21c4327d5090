#include "sample/life_tree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* Of each life: its parent, its first child and its next sibling; `count` stands for none, and for the root above all. */
struct links {
    size_t count;
    uint32_t *parent, *child, *next, *last;
};

static int find_parents(struct links *links, const struct gt_lives *sorted)
{
    struct gt_map known = {0};
    int status = 0;
    for (size_t i = 0; !status && i < links->count; i++) {
        const struct gt_life *life = &sorted->life[i];
        uint32_t parent = life->parent ? gt_map_get(&known, (uint32_t)life->parent) : GT_MAP_ABSENT;
        links->parent[i] = parent == GT_MAP_ABSENT ? (uint32_t)links->count : parent;
        status = gt_map_put(&known, (uint32_t)life->pid, (uint32_t)i);
    }
    gt_map_release(&known);
    return status;
}

static void link_children(struct links *links)
{
    uint32_t none = (uint32_t)links->count;
    for (size_t i = 0; i <= links->count; i++)
        links->child[i] = links->next[i] = links->last[i] = none;
    for (uint32_t i = 0; i < none; i++) {
        uint32_t parent = links->parent[i];
        if (links->last[parent] == none)
            links->child[parent] = i;
        else
            links->next[links->last[parent]] = i;
        links->last[parent] = i;
    }
}

static uint64_t bit(unsigned depth)
{
    return depth < 64 ? UINT64_C(1) << depth : 0;
}

static void walk(const struct links *links, struct gt_life_place *place)
{
    uint32_t none = (uint32_t)links->count, at = links->child[none];
    unsigned depth = 0;
    uint64_t open = 0;
    for (size_t used = 0; at != none; used++) {
        open = links->next[at] == none ? open & ~bit(depth) : open | bit(depth);
        place[used] = (struct gt_life_place){at, depth, open};
        if (links->child[at] != none) {
            at = links->child[at];
            depth++;
            continue;
        }
        while (at != none && links->next[at] == none) {
            at = links->parent[at];
            depth -= depth > 0;
        }
        if (at != none)
            at = links->next[at];
    }
}

int gt_life_tree(struct gt_life_place **ret, const struct gt_lives *sorted)
{
    size_t count = sorted->count, room = count + 1;
    struct gt_life_place *place = malloc(room * sizeof *place);
    uint32_t *memory = malloc(4 * room * sizeof *memory);
    struct links links = {count, memory, memory + room, memory + 2 * room, memory + 3 * room};
    int status = place && memory ? find_parents(&links, sorted) : -ENOMEM;
    if (!status) {
        link_children(&links);
        walk(&links, place);
        *ret = place;
    } else {
        free(place);
    }
    free(memory);
    return status;
}

void gt_life_branch(char ret[GT_LIFE_BRANCH_SIZE], const struct gt_life_place *place)
{
    unsigned depth = place->depth < GT_LIFE_BRANCH_DEPTH ? place->depth : GT_LIFE_BRANCH_DEPTH;
    *ret = '\0';
    for (unsigned d = 1; d < depth; d++)
        strcat(ret, place->open & bit(d) ? "│ " : "  ");
    if (depth)
        strcat(ret, place->open & bit(place->depth) ? "├ " : "└ ");
}
