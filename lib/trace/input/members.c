#include "trace/input/members.h"

void gt_find_members(struct gt_span object, const struct gt_wanted_member *wanted, size_t count)
{
    struct gt_walk walk = gt_walk_object(object);
    struct gt_span key, value;
    while (gt_walk_member(&walk, &key, &value) > 0)
        for (size_t i = 0; i < count; i++)
            if (gt_span_is(key, wanted[i].key))
                *wanted[i].to = value;
}

bool gt_open_list(struct gt_walk *walk, struct gt_span list)
{
    return list.text && list.length && *list.text == '[' && gt_walk_open(walk, list) >= 0;
}

bool gt_open_object(struct gt_walk *walk, struct gt_span object)
{
    return object.text && object.length && *object.text == '{' && gt_walk_open(walk, object) >= 0;
}

/* At the end of a list and of an object that are empty. */
static struct gt_walk walk_nothing(const char *text)
{
    struct gt_walk walk;
    gt_walk_open(&walk, gt_span_of(text));
    return walk;
}

struct gt_walk gt_walk_list(struct gt_span list)
{
    struct gt_walk walk;
    return gt_open_list(&walk, list) ? walk : walk_nothing("[]");
}

struct gt_walk gt_walk_object(struct gt_span object)
{
    struct gt_walk walk;
    return gt_open_object(&walk, object) ? walk : walk_nothing("{}");
}

/* The value that the walk stands on. */
static bool take_value(struct gt_walk *walk, struct gt_span *value, bool *is_cut)
{
    const char *from = walk->at;
    if (gt_walk_value(walk, value) >= 0)
        return true;
    *value = (struct gt_span){from, (size_t)(walk->end - from)};
    walk->at = walk->end;
    *is_cut = true;
    return value->length > 0;
}

bool gt_next_member(struct gt_walk *walk, struct gt_span *key, struct gt_span *value, bool *is_cut)
{
    int more = walk->at < walk->end ? gt_walk_key(walk, key) : -1;
    *is_cut |= more < 0;
    return more > 0 && take_value(walk, value, is_cut);
}

bool gt_next_element(struct gt_walk *walk, struct gt_span *value, bool *is_cut)
{
    int more = gt_walk_element(walk, value);
    if (more >= 0)
        return more > 0;
    *value = (struct gt_span){walk->at, (size_t)(walk->end - walk->at)};
    walk->at = walk->end;
    *is_cut = true;
    return value->length > 0 && (*value->text == '{' || *value->text == '[');
}
