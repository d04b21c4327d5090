/* Members of JSON objects by their names, and what there is of values that were cut off. */
#ifndef GT_TRACE_INPUT_MEMBERS_H
#define GT_TRACE_INPUT_MEMBERS_H

#include "trace/input/walk.h"

struct gt_wanted_member {
    const char *key;
    struct gt_span *to;
};

/* Finds members of an object; those that are not there stay as they are, and so do all where it is no object. */
void gt_find_members(struct gt_span object, const struct gt_wanted_member *wanted, size_t count);
#define GT_FIND(object, ...)                                                \
    gt_find_members(object, (const struct gt_wanted_member[]){__VA_ARGS__}, \
                    sizeof((const struct gt_wanted_member[]){__VA_ARGS__}) / sizeof(struct gt_wanted_member))

/* Opens a walk over an array, or an object; false where it is none. */
bool gt_open_list(struct gt_walk *walk, struct gt_span list);
bool gt_open_object(struct gt_walk *walk, struct gt_span object);
/* Return a walk over an array, or an object, that finds nothing where it is none. */
struct gt_walk gt_walk_list(struct gt_span list);
struct gt_walk gt_walk_object(struct gt_span object);
/* Returns true for the next member or element. One that is cut off or damaged gets all of the text that is left, and
 * is the last; `is_cut` becomes true then, and where there is none although the text ends too early. */
bool gt_next_member(struct gt_walk *walk, struct gt_span *key, struct gt_span *value, bool *is_cut);
bool gt_next_element(struct gt_walk *walk, struct gt_span *value, bool *is_cut);

#endif
