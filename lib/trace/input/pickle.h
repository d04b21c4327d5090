/* Python's pickles, protocols 2 to 5, read as a tree of what they say. Nothing is called and no module is looked for: a
 * class or function stays a name, and an object is its name with the arguments that were written. The opcodes
 * are described in CPython's Lib/pickletools.py. */
#ifndef GT_TRACE_INPUT_PICKLE_H
#define GT_TRACE_INPUT_PICKLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

enum gt_pickle_kind {
    GT_PICKLE_NONE,
    GT_PICKLE_BOOL,
    GT_PICKLE_INTEGER,
    GT_PICKLE_FLOAT,
    GT_PICKLE_TEXT,
    GT_PICKLE_BYTES,
    GT_PICKLE_TUPLE,
    GT_PICKLE_LIST,
    GT_PICKLE_DICT,
    GT_PICKLE_NAME,
    GT_PICKLE_OBJECT
};

/* Values may be shared, and a list or dict may hold itself: who walks through them counts depth and steps. */
struct gt_pickle_value {
    enum gt_pickle_kind kind;
    uint32_t count, capacity; /* items; of a dict keys and values: two for each entry */
    union {
        int64_t integer; /* also of BOOL */
        double number;
        struct {
            const char *text; /* TEXT is UTF-8, not NUL-terminated; BYTES */
            size_t length;
        };
        struct gt_pickle_value **item;
        struct gt_pickle_value *arguments; /* of OBJECT: a TUPLE */
    };
};

struct gt_pickle;

/* `known` is the only name that may occur, "module.function" (NULL: none may); any other ends the reading. The bytes stay the
 * caller's and are borrowed. -EBADMSG for what is no such pickle, with a sentence that begins with `file`. */
int gt_pickle_read(struct gt_pickle **ret, const void *bytes, size_t length, const char *known, const char *file,
                   struct gt_error *error);
/* Reads a dictionary of Python's marshal format, versions 0 to 4, as far as profiles need it: numbers, texts, tuples, dictionaries,
 * references. *end is where it ends or is damaged; what came before is there. Returns 0, 1 if it is damaged, -ENOMEM or -EFBIG. */
int gt_marshal_read(struct gt_pickle **ret, const void *bytes, size_t length, size_t *end);
struct gt_pickle_value *gt_pickle_root(const struct gt_pickle *pickle);
void gt_pickle_free(struct gt_pickle *pickle);

/* Returns the value of a key of text; NULL when there is none, or `dict` is no dict. */
const struct gt_pickle_value *gt_pickle_get(const struct gt_pickle_value *dict, const char *key);
/* Returns item `index` of a tuple or list; NULL beyond its end, or when `list` is neither. */
const struct gt_pickle_value *gt_pickle_item(const struct gt_pickle_value *list, size_t index);
/* Returns the value as JSON: numbers that are not finite are null, integers that are keys are texts. NULL: it holds anything else,
 * is deeper than GT_PICKLE_DEEPEST, has more than *left values (shared ones make a small pickle a large tree), or no memory. */
enum { GT_PICKLE_DEEPEST = 64 };
json_t *gt_pickle_json(const struct gt_pickle_value *value, size_t *left, int depth);

#endif
