#include <stdlib.h>

#include "trace/formats/marshal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is read lies within the bytes, and every child is a value. */
static void look(const struct gt_marshal *marshal, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < marshal->value_count; i++) {
        const struct gt_marshal_value *value = &marshal->value[i];
        if (value->type == GT_MARSHAL_TEXT && (value->text.text < (const char *)data ||
                                               value->text.text + value->text.length > (const char *)data + size))
            abort();
        if (value->type != GT_MARSHAL_TUPLE && value->type != GT_MARSHAL_DICT)
            continue;
        for (uint32_t j = 0; j < value->count; j++)
            if (value->first + j >= marshal->child_count || marshal->child[value->first + j] >= marshal->value_count)
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gt_marshal marshal;
    gt_marshal_open(&marshal, data, size);
    int64_t value = gt_marshal_enter_dict(&marshal);
    while (value >= 0) {
        value = gt_marshal_next(&marshal);
        if (value >= 0 && marshal.value[value].type == GT_MARSHAL_END)
            break;
    }
    if (value >= 0)
        look(&marshal, data, size);
    gt_marshal_close(&marshal);
    return 0;
}
