/* Damage in JSON text is found where it is: an event that was torn off is told from one that has not ended yet, by the first
 * place at which no JSON goes on; and the next event is found behind it. Every byte is looked at a bounded number of times. */
#ifndef GT_TRACE_INPUT_TORN_H
#define GT_TRACE_INPUT_TORN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_torn_look {
    size_t end;     /* behind the object; 0: it does not end in this text */
    bool is_torn;   /* it is no JSON, or another event stands in an array of it: it never ends */
    bool has_phase; /* it has a member "ph" so far */
};

/* Looks at the object that begins at `from`. */
struct gt_torn_look gt_torn_look_at(const char *text, size_t from, size_t length);
/* Looks at the rest of an object, from the key at `from` on. */
struct gt_torn_look gt_torn_look_inside(const char *text, size_t from, size_t length);

#define GT_TORN_UNKNOWN SIZE_MAX

/* Returns the begin of the first event at `from` or behind it that begins a line or follows a comma; 0: there is none;
 * GT_TORN_UNKNOWN: more text would tell, which never is `at_end`. `*end` is where it ends, 0 where that is not in this
 * text. Torn events on the way are added to `*torn`. */
size_t gt_torn_next(const char *text, size_t from, size_t length, bool at_end, size_t *end, uint64_t *torn);

#endif
