#include <stdbool.h>
#include <stdlib.h>

#include "trace/input/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is read lies within the bytes. Values may be shared, and hold themselves. */
static void look(const struct gt_pickle_value *value, const uint8_t *data, size_t size, int depth)
{
    bool is_list = value->kind == GT_PICKLE_TUPLE || value->kind == GT_PICKLE_DICT;
    if (value->kind == GT_PICKLE_TEXT &&
        (value->text < (const char *)data || value->text + value->length > (const char *)data + size))
        abort();
    for (uint32_t i = 0; is_list && i < value->count && depth < 4; i++)
        look(value->item[i], data, size, depth + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gt_pickle *dump = NULL;
    size_t end = 0;
    if (gt_marshal_read(&dump, data, size, &end) < 0)
        return 0;
    if (end > size)
        abort();
    look(gt_pickle_root(dump), data, size, 0);
    gt_pickle_free(dump);
    return 0;
}
