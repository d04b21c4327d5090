/* Python's marshal format, versions 0 to 4 and as far as profiles need it: numbers, texts, tuples, dictionaries,
 * references. The format: CPython, Python/marshal.c. Sizes that the text claims cost nothing before they are there. */
#ifndef GT_TRACE_FORMATS_MARSHAL_H
#define GT_TRACE_FORMATS_MARSHAL_H

#include <stddef.h>
#include <stdint.h>

#include "trace/input/walk.h"

enum gt_marshal_type {
    GT_MARSHAL_NONE,
    GT_MARSHAL_INTEGER,
    GT_MARSHAL_DOUBLE,
    GT_MARSHAL_TEXT,
    GT_MARSHAL_TUPLE,
    GT_MARSHAL_DICT,
    GT_MARSHAL_END
};

struct gt_marshal_value {
    enum gt_marshal_type type;
    uint32_t first, count; /* TUPLE and DICT: in gt_marshal.child; a DICT has key, value, key, value ... */
    union {
        int64_t integer;
        double number;
        struct gt_span text;
    };
};

struct gt_marshal {
    const unsigned char *at, *end;
    struct gt_marshal_value *value;
    uint32_t *child, *reference;
    size_t value_count, value_capacity, child_count, child_capacity, reference_count, reference_capacity;
    uint32_t *stack, *interned; /* interned: the texts that Python 2 refers to, apart from Python 3's references */
    size_t stack_count, stack_capacity, interned_count, interned_capacity;
};

#define GT_MARSHAL_MOST_VALUES (16u << 20)

void gt_marshal_open(struct gt_marshal *marshal, const void *bytes, size_t length);
/* Goes behind the type byte of an outermost dictionary, and keeps its reference. -EBADMSG: there is none. */
int gt_marshal_enter_dict(struct gt_marshal *marshal);
/* Returns the number of the next value, whose type is END at the end of a dictionary. -EBADMSG, -E2BIG, -ENOMEM. */
int64_t gt_marshal_next(struct gt_marshal *marshal);
void gt_marshal_close(struct gt_marshal *marshal);

#endif
