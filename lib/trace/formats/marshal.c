#include "trace/formats/marshal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

enum { DEEPEST = 16, REFERENCE_FLAG = 0x80 };

void gt_marshal_open(struct gt_marshal *marshal, const void *bytes, size_t length)
{
    *marshal = (struct gt_marshal){.at = bytes, .end = (const unsigned char *)bytes + length};
}

void gt_marshal_close(struct gt_marshal *marshal)
{
    free(marshal->value);
    free(marshal->child);
    free(marshal->reference);
    free(marshal->stack);
    free(marshal->interned);
}

static int push(uint32_t **array, size_t *count, size_t *capacity, uint32_t number)
{
    uint32_t *place = gt_grow((void **)(void *)array, count, capacity, sizeof **array);
    if (!place)
        return -ENOMEM;
    *place = number;
    return 0;
}

static int64_t new_value(struct gt_marshal *marshal)
{
    if (marshal->value_count >= GT_MARSHAL_MOST_VALUES)
        return -E2BIG;
    struct gt_marshal_value *value = GT_GROW(marshal, value);
    if (!value)
        return -ENOMEM;
    *value = (struct gt_marshal_value){.type = GT_MARSHAL_NONE};
    return (int64_t)marshal->value_count - 1;
}

static int take_bytes(struct gt_marshal *marshal, size_t length, const unsigned char **ret)
{
    if ((size_t)(marshal->end - marshal->at) < length)
        return -EBADMSG;
    *ret = marshal->at;
    marshal->at += length;
    return 0;
}

/* Little-endian, `length` bytes, signed. */
static int take_integer(struct gt_marshal *marshal, size_t length, int64_t *ret)
{
    const unsigned char *bytes;
    if (take_bytes(marshal, length, &bytes) < 0)
        return -EBADMSG;
    uint64_t number = 0;
    for (size_t i = 0; i < length; i++)
        number |= (uint64_t)bytes[i] << (8 * i);
    if (length < 8 && length > 1 && number >> (8 * length - 1))
        number |= UINT64_MAX << (8 * length);
    *ret = (int64_t)number;
    return 0;
}

/* "l": digits of 15 bits, their number's sign is that of the whole. What is beyond 63 bits is its largest. */
static int take_long(struct gt_marshal *marshal, int64_t *ret)
{
    int64_t count, digit;
    if (take_integer(marshal, 4, &count) < 0)
        return -EBADMSG;
    uint64_t number = 0;
    int64_t digits = count < 0 ? -count : count;
    bool is_large = false;
    for (int64_t i = 0; i < digits; i++) {
        if (take_integer(marshal, 2, &digit) < 0)
            return -EBADMSG;
        if (i * 15 < 60)
            number |= (uint64_t)(digit & 0x7fff) << (i * 15);
        else
            is_large |= (digit & 0x7fff) >> (i == 4 ? 3 : 0) != 0 || i > 4;
        if (i == 4)
            number |= (uint64_t)(digit & 7) << 60;
    }
    if (is_large || number > INT64_MAX)
        number = INT64_MAX;
    *ret = count < 0 ? -(int64_t)number : (int64_t)number;
    return 0;
}

static int take_text(struct gt_marshal *marshal, size_t size_bytes, struct gt_span *ret)
{
    int64_t length;
    const unsigned char *bytes;
    if (take_integer(marshal, size_bytes, &length) < 0 || length < 0 || take_bytes(marshal, (size_t)length, &bytes) < 0)
        return -EBADMSG;
    *ret = (struct gt_span){(const char *)bytes, (size_t)length};
    return 0;
}

static int take_double(struct gt_marshal *marshal, double *ret)
{
    int64_t bits;
    if (take_integer(marshal, 8, &bits) < 0)
        return -EBADMSG;
    memcpy(ret, &bits, sizeof *ret);
    return 0;
}

static int64_t take_value(struct gt_marshal *marshal, int depth);

/* `most` values, or up to the end of a dictionary. */
static int take_children(struct gt_marshal *marshal, int64_t most, int depth, uint32_t *first, uint32_t *count)
{
    size_t base = marshal->stack_count;
    int status = 0;
    for (int64_t i = 0; i < most && status >= 0; i++) {
        int64_t child = take_value(marshal, depth + 1);
        if (child < 0)
            status = (int)child;
        else if (marshal->value[child].type == GT_MARSHAL_END)
            break;
        else
            status = push(&marshal->stack, &marshal->stack_count, &marshal->stack_capacity, (uint32_t)child);
    }
    *first = (uint32_t)marshal->child_count;
    *count = (uint32_t)(marshal->stack_count - base);
    for (size_t i = base; i < marshal->stack_count && status >= 0; i++)
        status = push(&marshal->child, &marshal->child_count, &marshal->child_capacity, marshal->stack[i]);
    marshal->stack_count = base;
    return status;
}

static int take_container(struct gt_marshal *marshal, int64_t number, char type, int depth)
{
    int64_t size = INT64_MAX;
    uint32_t first, count;
    if (depth >= DEEPEST)
        return -EBADMSG;
    if (type != '{' && (take_integer(marshal, type == ')' ? 1 : 4, &size) < 0 || size < 0))
        return -EBADMSG;
    int status = take_children(marshal, size, depth, &first, &count);
    if (status < 0)
        return status;
    struct gt_marshal_value *value = &marshal->value[number]; /* it may have moved */
    value->first = first;
    value->count = count;
    bool is_whole = type == '{' ? count % 2 == 0 : (int64_t)count == size;
    return is_whole ? 0 : -EBADMSG;
}

/* A plain switch. */
static int take_scalar(struct gt_marshal *marshal, char type, struct gt_marshal_value *value)
{
    int64_t size;
    const unsigned char *bytes;
    switch (type) {
    case 'N': return 0;
    case 'T':
    case 'F':
        value->type = GT_MARSHAL_INTEGER;
        value->integer = type == 'T';
        return 0;
    case '0': value->type = GT_MARSHAL_END; return 0;
    case 'i': value->type = GT_MARSHAL_INTEGER; return take_integer(marshal, 4, &value->integer);
    case 'I': value->type = GT_MARSHAL_INTEGER; return take_integer(marshal, 8, &value->integer);
    case 'l': value->type = GT_MARSHAL_INTEGER; return take_long(marshal, &value->integer);
    case 'g': value->type = GT_MARSHAL_DOUBLE; return take_double(marshal, &value->number);
    case 'f':
        value->type = GT_MARSHAL_DOUBLE;
        if (take_integer(marshal, 1, &size) < 0 || take_bytes(marshal, (size_t)size, &bytes) < 0)
            return -EBADMSG;
        return gt_span_double((struct gt_span){(const char *)bytes, (size_t)size}, &value->number);
    case 'z':
    case 'Z': value->type = GT_MARSHAL_TEXT; return take_text(marshal, 1, &value->text);
    case 'a':
    case 'A':
    case 'u':
    case 't':
    case 's': value->type = GT_MARSHAL_TEXT; return take_text(marshal, 4, &value->text);
    default: return -EBADMSG;
    }
}

static int64_t take_reference(struct gt_marshal *marshal, const uint32_t *known, size_t count)
{
    int64_t number;
    if (take_integer(marshal, 4, &number) < 0 || number < 0 || (size_t)number >= count)
        return -EBADMSG;
    return known[number];
}

static int64_t take_value(struct gt_marshal *marshal, int depth)
{
    const unsigned char *byte;
    if (take_bytes(marshal, 1, &byte) < 0)
        return -EBADMSG;
    char type = (char)(*byte & ~REFERENCE_FLAG);
    if (type == 'r')
        return take_reference(marshal, marshal->reference, marshal->reference_count);
    if (type == 'R')
        return take_reference(marshal, marshal->interned, marshal->interned_count);
    int64_t number = new_value(marshal);
    int status = number < 0 ? (int)number : 0;
    if (status >= 0 && *byte & REFERENCE_FLAG)
        status = push(&marshal->reference, &marshal->reference_count, &marshal->reference_capacity, (uint32_t)number);
    else if (status >= 0 && type == 't')
        status = push(&marshal->interned, &marshal->interned_count, &marshal->interned_capacity, (uint32_t)number);
    if (status < 0)
        return status;
    if (type == '(' || type == ')' || type == '[' || type == '{') {
        status = take_container(marshal, number, type, depth);
        marshal->value[number].type = type == '{' ? GT_MARSHAL_DICT : GT_MARSHAL_TUPLE; /* none refers to itself */
    } else {
        status = take_scalar(marshal, type, &marshal->value[number]);
    }
    return status < 0 ? status : number;
}

int gt_marshal_enter_dict(struct gt_marshal *marshal)
{
    const unsigned char *byte;
    if (take_bytes(marshal, 1, &byte) < 0 || (*byte & ~REFERENCE_FLAG) != '{')
        return -EBADMSG;
    int64_t number = new_value(marshal);
    if (number < 0)
        return (int)number;
    return *byte & REFERENCE_FLAG
               ? push(&marshal->reference, &marshal->reference_count, &marshal->reference_capacity, (uint32_t)number)
               : 0;
}

int64_t gt_marshal_next(struct gt_marshal *marshal)
{
    return take_value(marshal, 0);
}
