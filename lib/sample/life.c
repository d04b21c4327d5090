#include "sample/life.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
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
