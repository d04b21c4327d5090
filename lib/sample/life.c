#include "sample/life.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/map.h"
#include "base/number.h"
#include "base/utf8.h"

int gt_lives_add(struct gt_lives *lives, const struct gt_life *life)
{
    struct gt_life *added = GT_GROW_LIST(lives, life);
    if (!added)
        return -ENOMEM;
    *added = *life;
    return 0;
}

/* Of pointers into one array: what stood behind stays behind. */
static int by_number_and_place(const void *a, const void *b)
{
    const struct gt_life *first = *(struct gt_life *const *)a, *second = *(struct gt_life *const *)b;
    return first->number != second->number ? GT_ORDER(first->number, second->number) : GT_ORDER(first, second);
}

static int by_begin(const void *a, const void *b)
{
    const struct gt_life *first = a, *second = b;
    int unknown = isnan(first->begin) - isnan(second->begin);
    if (unknown || isnan(first->begin) || first->begin == second->begin)
        return unknown ? unknown : GT_ORDER(first->number, second->number);
    return first->begin < second->begin ? -1 : 1;
}

int gt_lives_unify(struct gt_lives *lives)
{
    size_t count = lives->count;
    struct gt_life **sorted = malloc((count + 1) * sizeof *sorted);
    struct gt_lives unified = {0};
    int status = sorted ? 0 : -ENOMEM;
    for (size_t i = 0; sorted && i < count; i++)
        sorted[i] = &lives->life[i];
    if (count > 1 && sorted)
        qsort(sorted, count, sizeof *sorted, by_number_and_place);
    for (size_t i = 0; !status && i < count; i++)
        if (i + 1 == count || sorted[i]->number != sorted[i + 1]->number)
            status = gt_lives_add(&unified, sorted[i]);
    free(sorted);
    if (status < 0) {
        gt_lives_release(&unified);
        return status;
    }
    gt_lives_release(lives);
    *lives = unified;
    return 0;
}

void gt_lives_sort(struct gt_lives *lives)
{
    if (lives->count > 1)
        qsort(lives->life, lives->count, sizeof *lives->life, by_begin);
}

void gt_lives_end(struct gt_lives *lives, double elapsed)
{
    for (size_t i = 0; i < lives->count; i++) {
        struct gt_life *life = &lives->life[i];
        life->begin = life->begin > elapsed ? elapsed : life->begin;
        life->end = life->end > elapsed ? elapsed : life->end;
    }
}

double gt_lives_cpu(const struct gt_lives *lives)
{
    double seconds = 0;
    for (size_t i = 0; i < lives->count; i++)
        seconds += isnan(lives->life[i].cpu_time) ? 0 : lives->life[i].cpu_time;
    return seconds;
}

/* The rest of an end takes as long as freeing this many bytes. */
static const double REST_BYTES = 4e6;

/* Weighs the end of a process. NaN: its CPU time is not known. */
static double end_weight(const struct gt_life *life, pid_t main)
{
    if (life->pid == main || isnan(life->end))
        return 0;
    return isnan(life->cpu_time) ? NAN : REST_BYTES + fmax(0, life->ram_peak); /* fmax passes over NaN */
}

void gt_lives_share_ends(struct gt_lives *lives, pid_t main, double seconds)
{
    double sum = 0;
    for (size_t i = 0; i < lives->count; i++)
        sum += end_weight(&lives->life[i], main);
    for (size_t i = 0; i < lives->count && sum > 0; i++)
        lives->life[i].cpu_time += seconds * end_weight(&lives->life[i], main) / sum;
}

void gt_lives_release(struct gt_lives *lives)
{
    free(lives->life);
    *lives = (struct gt_lives){0};
}

void gt_life_shorten(char *ret, size_t size, const char *text)
{
    static const char ellipsis[] = "...";
    size_t length = strlen(text), room = length < size ? size - 1 : size - sizeof ellipsis, used = 0;
    while (text[used]) {
        int step = gt_utf8_length(text + used);
        step = step ? step : 1;
        if (used + (size_t)step > room)
            break;
        used += (size_t)step;
    }
    memcpy(ret, text, used);
    strcpy(ret + used, text[used] ? ellipsis : "");
}

/* ---- Lives as a tree ---------------------------------------------------------------------------------------------- */

/* Each life has its parent, its first child and its next sibling here; `count` stands for none, and for the root above all. */
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
