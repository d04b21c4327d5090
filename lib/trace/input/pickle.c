#include "trace/input/pickle.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "trace/input/walk.h"

enum { ARENA = 1024, MOST_VALUES = 16 << 20, LOWEST_PROTOCOL = 2, HIGHEST_PROTOCOL = 5 };

struct arena {
    struct arena *next;
    struct gt_pickle_value value[ARENA];
};

struct gt_pickle {
    const unsigned char *at, *end;
    const char *known; /* the name that may occur; NULL: none may */
    const char *file;
    struct gt_error *error;

    struct arena *arenas; /* the first is filled up to `used` */
    size_t used, value_count;
    struct gt_pickle_value **stack, **memo;
    size_t stack_count, stack_capacity, memo_count, memo_capacity;
    struct gt_pickle_value **interned; /* texts that Python 2's marshal refers to */
    size_t interned_count, interned_capacity;
    size_t *mark;
    size_t mark_count, mark_capacity;
    bool stopped;
};

static int damaged(const struct gt_pickle *pickle)
{
    return gt_error_set(pickle->error, EBADMSG, "%s is damaged, or a pickle of something else than results",
                        pickle->file);
}

static int no_memory(const struct gt_pickle *pickle)
{
    if (pickle->value_count == MOST_VALUES)
        return gt_error_set(pickle->error, EFBIG, "%s holds more than %d values", pickle->file, MOST_VALUES);
    return gt_error_system(pickle->error, ENOMEM, "%s", pickle->file);
}

/* ---- values ---- */

static struct gt_pickle_value *new_value(struct gt_pickle *pickle, enum gt_pickle_kind kind)
{
    if (pickle->value_count == MOST_VALUES)
        return NULL;
    if (!pickle->arenas || pickle->used == ARENA) {
        struct arena *arena = malloc(sizeof *arena);
        if (!arena)
            return NULL;
        arena->next = pickle->arenas;
        pickle->arenas = arena;
        pickle->used = 0;
    }
    pickle->value_count++;
    struct gt_pickle_value *value = &pickle->arenas->value[pickle->used++];
    *value = (struct gt_pickle_value){.kind = kind};
    return value;
}

static int push(struct gt_pickle *pickle, struct gt_pickle_value *value)
{
    struct gt_pickle_value **place = value ? GT_GROW(pickle, stack) : NULL;
    if (!place)
        return no_memory(pickle);
    *place = value;
    return 0;
}

static int push_new(struct gt_pickle *pickle, enum gt_pickle_kind kind)
{
    return push(pickle, new_value(pickle, kind));
}

/* What lies below a mark is not reached. */
static struct gt_pickle_value *top(const struct gt_pickle *pickle)
{
    size_t bottom = pickle->mark_count ? pickle->mark[pickle->mark_count - 1] : 0;
    return pickle->stack_count > bottom ? pickle->stack[pickle->stack_count - 1] : NULL;
}

static struct gt_pickle_value *pop(struct gt_pickle *pickle)
{
    struct gt_pickle_value *value = top(pickle);
    pickle->stack_count -= value != NULL;
    return value;
}

static int add_items(struct gt_pickle *pickle, struct gt_pickle_value *list, struct gt_pickle_value *const *items,
                     size_t count)
{
    size_t needed = list->count + count;
    if (needed > UINT32_MAX / 2)
        return damaged(pickle);
    if (needed > list->capacity) {
        size_t capacity = list->capacity;
        if (GT_GROW_TO(list->item, capacity, needed) < 0)
            return no_memory(pickle);
        list->capacity = (uint32_t)capacity;
    }
    memcpy(list->item + list->count, items, count * sizeof *items);
    list->count = (uint32_t)needed;
    return 0;
}

/* ---- bytes ---- */

static const unsigned char *take(struct gt_pickle *pickle, uint64_t length)
{
    if ((uint64_t)(pickle->end - pickle->at) < length)
        return NULL;
    const unsigned char *start = pickle->at;
    pickle->at += length;
    return start;
}

static int take_number(struct gt_pickle *pickle, int bytes, uint64_t *ret)
{
    const unsigned char *start = take(pickle, (uint64_t)bytes);
    *ret = 0;
    if (!start)
        return damaged(pickle);
    for (int i = bytes - 1; i >= 0; i--)
        *ret = *ret << 8 | start[i];
    return 0;
}

static int push_integer(struct gt_pickle *pickle, int bytes, bool is_signed)
{
    uint64_t bits;
    int status = take_number(pickle, bytes, &bits);
    if (status == 0)
        status = push_new(pickle, GT_PICKLE_INTEGER);
    if (status < 0)
        return status;
    int unused = bytes ? 64 - 8 * bytes : 0;
    int64_t value = (int64_t)(bits << unused);
    top(pickle)->integer = is_signed ? value >> unused : (int64_t)bits;
    return 0;
}

/* LONG1: how many bytes the number has, then they. */
static int push_long(struct gt_pickle *pickle)
{
    const unsigned char *size = take(pickle, 1);
    return size && *size <= 8 ? push_integer(pickle, *size, true) : damaged(pickle);
}

static int push_float(struct gt_pickle *pickle)
{
    const unsigned char *bytes = take(pickle, 8);
    uint64_t bits = 0;
    if (!bytes)
        return damaged(pickle);
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | bytes[i];
    int status = push_new(pickle, GT_PICKLE_FLOAT);
    if (status == 0)
        memcpy(&top(pickle)->number, &bits, sizeof bits);
    return status;
}

static int push_bool(struct gt_pickle *pickle, bool truth)
{
    int status = push_new(pickle, GT_PICKLE_BOOL);
    if (status == 0)
        top(pickle)->integer = truth;
    return status;
}

static int push_text(struct gt_pickle *pickle, enum gt_pickle_kind kind, int size_bytes)
{
    uint64_t length;
    int status = take_number(pickle, size_bytes, &length);
    const unsigned char *bytes = status == 0 ? take(pickle, length) : NULL;
    if (!bytes)
        return damaged(pickle);
    status = push_new(pickle, kind);
    if (status == 0) {
        top(pickle)->text = (const char *)bytes;
        top(pickle)->length = length;
    }
    return status;
}

/* ---- containers ---- */

static int push_mark(struct gt_pickle *pickle)
{
    size_t *place = GT_GROW(pickle, mark);
    if (!place)
        return no_memory(pickle);
    *place = pickle->stack_count;
    return 0;
}

/* Where the topmost mark is, which is taken away; the values above it stay for now. */
static int pop_mark(struct gt_pickle *pickle, size_t *ret)
{
    if (!pickle->mark_count)
        return damaged(pickle);
    *ret = pickle->mark[--pickle->mark_count];
    return 0;
}

/* The topmost values as one of `kind`. */
static int push_container(struct gt_pickle *pickle, enum gt_pickle_kind kind, size_t from)
{
    struct gt_pickle_value *container = new_value(pickle, kind);
    if (!container)
        return no_memory(pickle);
    size_t count = pickle->stack_count - from;
    if (kind == GT_PICKLE_DICT && count % 2)
        return damaged(pickle);
    int status = count ? add_items(pickle, container, pickle->stack + from, count) : 0;
    pickle->stack_count = from;
    return status < 0 ? status : push(pickle, container);
}

static int push_tuple_of(struct gt_pickle *pickle, size_t count)
{
    size_t bottom = pickle->mark_count ? pickle->mark[pickle->mark_count - 1] : 0;
    if (pickle->stack_count - bottom < count)
        return damaged(pickle);
    return push_container(pickle, GT_PICKLE_TUPLE, pickle->stack_count - count);
}

static int push_container_of_mark(struct gt_pickle *pickle, enum gt_pickle_kind kind)
{
    size_t from = 0;
    int status = pop_mark(pickle, &from);
    return status < 0 ? status : push_container(pickle, kind, from);
}

/* The topmost values go into the list or dict below them. */
static int extend(struct gt_pickle *pickle, enum gt_pickle_kind kind, size_t from)
{
    size_t bottom = pickle->mark_count ? pickle->mark[pickle->mark_count - 1] : 0;
    size_t count = pickle->stack_count - from;
    if (from <= bottom || pickle->stack[from - 1]->kind != kind || (kind == GT_PICKLE_DICT && count % 2))
        return damaged(pickle);
    pickle->stack_count = from;
    return count ? add_items(pickle, pickle->stack[from - 1], pickle->stack + from, count) : 0;
}

static int extend_by_mark(struct gt_pickle *pickle, enum gt_pickle_kind kind)
{
    size_t from = 0;
    int status = pop_mark(pickle, &from);
    return status < 0 ? status : extend(pickle, kind, from);
}

static int extend_by(struct gt_pickle *pickle, enum gt_pickle_kind kind, size_t count)
{
    return pickle->stack_count < count ? damaged(pickle) : extend(pickle, kind, pickle->stack_count - count);
}

/* ---- memo ---- */

/* Python numbers what it remembers one after another; nobody else gets room for more. */
static int remember(struct gt_pickle *pickle, uint64_t number)
{
    struct gt_pickle_value *value = top(pickle);
    if (!value || number > pickle->memo_count + 1)
        return damaged(pickle);
    while (pickle->memo_count <= number) {
        struct gt_pickle_value **place = GT_GROW(pickle, memo);
        if (!place)
            return no_memory(pickle);
        *place = NULL;
    }
    pickle->memo[number] = value;
    return 0;
}

static int remember_at(struct gt_pickle *pickle, int bytes)
{
    uint64_t number;
    int status = take_number(pickle, bytes, &number);
    return status < 0 ? status : remember(pickle, number);
}

static int recall(struct gt_pickle *pickle, int bytes)
{
    uint64_t number;
    int status = take_number(pickle, bytes, &number);
    if (status < 0)
        return status;
    bool is_known = number < pickle->memo_count && pickle->memo[number];
    return is_known ? push(pickle, pickle->memo[number]) : damaged(pickle);
}

/* ---- names and objects ---- */

static int push_name(struct gt_pickle *pickle, struct gt_span module, struct gt_span name)
{
    const char *known = pickle->known;
    if (known && strlen(known) == module.length + 1 + name.length && !memcmp(known, module.text, module.length) &&
        known[module.length] == '.' && !memcmp(known + module.length + 1, name.text, name.length))
        return push_new(pickle, GT_PICKLE_NAME);
    return gt_error_set(pickle->error, EBADMSG, "%s names %.*s.%.*s, which does not belong in results; it was not run",
                        pickle->file, module.length < 100 ? (int)module.length : 100, module.text,
                        name.length < 100 ? (int)name.length : 100, name.text);
}

static int push_global(struct gt_pickle *pickle)
{
    const char *module = (const char *)pickle->at, *end = (const char *)pickle->end;
    const char *middle = memchr(module, '\n', (size_t)(end - module));
    const char *last = middle ? memchr(middle + 1, '\n', (size_t)(end - middle - 1)) : NULL;
    if (!last)
        return damaged(pickle);
    pickle->at = (const unsigned char *)last + 1;
    return push_name(pickle, (struct gt_span){module, (size_t)(middle - module)},
                     (struct gt_span){middle + 1, (size_t)(last - middle - 1)});
}

static int push_stack_global(struct gt_pickle *pickle)
{
    const struct gt_pickle_value *name = pop(pickle), *module = pop(pickle);
    if (!name || !module || name->kind != GT_PICKLE_TEXT || module->kind != GT_PICKLE_TEXT)
        return damaged(pickle);
    return push_name(pickle, (struct gt_span){module->text, module->length},
                     (struct gt_span){name->text, name->length});
}

static int push_object(struct gt_pickle *pickle)
{
    struct gt_pickle_value *arguments = pop(pickle), *callable = pop(pickle);
    if (!callable || callable->kind != GT_PICKLE_NAME || arguments->kind != GT_PICKLE_TUPLE)
        return damaged(pickle);
    int status = push_new(pickle, GT_PICKLE_OBJECT);
    if (status == 0)
        top(pickle)->arguments = arguments;
    return status;
}

/* ---- the machine ---- */

static int check_protocol(struct gt_pickle *pickle)
{
    const unsigned char *protocol = take(pickle, 1);
    if (!protocol || *protocol < LOWEST_PROTOCOL || *protocol > HIGHEST_PROTOCOL)
        return damaged(pickle);
    return 0;
}

static int stop(struct gt_pickle *pickle)
{
    pickle->stopped = true;
    return pickle->stack_count == 1 && !pickle->mark_count ? 0 : damaged(pickle);
}

/* A plain switch. */
static int step(struct gt_pickle *pickle, unsigned char opcode)
{
    switch (opcode) {
    case 0x80: return check_protocol(pickle);
    case 0x95: /* FRAME: how much follows, which the reader of a stream wants to know */
        return take(pickle, 8) ? 0 : damaged(pickle);
    case '.': return stop(pickle);
    case 'N': return push_new(pickle, GT_PICKLE_NONE);
    case 0x88: return push_bool(pickle, true);
    case 0x89: return push_bool(pickle, false);
    case 'J': return push_integer(pickle, 4, true);
    case 'K': return push_integer(pickle, 1, false);
    case 'M': return push_integer(pickle, 2, false);
    case 0x8a: return push_long(pickle);
    case 'G': return push_float(pickle);
    case 0x8c: return push_text(pickle, GT_PICKLE_TEXT, 1);
    case 'X': return push_text(pickle, GT_PICKLE_TEXT, 4);
    case 0x8d: return push_text(pickle, GT_PICKLE_TEXT, 8);
    case 'C': return push_text(pickle, GT_PICKLE_BYTES, 1);
    case 'B': return push_text(pickle, GT_PICKLE_BYTES, 4);
    case 0x8e:
    case 0x96: return push_text(pickle, GT_PICKLE_BYTES, 8);
    case '(': return push_mark(pickle);
    case ')': return push_new(pickle, GT_PICKLE_TUPLE);
    case 't': return push_container_of_mark(pickle, GT_PICKLE_TUPLE);
    case 0x85: return push_tuple_of(pickle, 1);
    case 0x86: return push_tuple_of(pickle, 2);
    case 0x87: return push_tuple_of(pickle, 3);
    case ']': return push_new(pickle, GT_PICKLE_LIST);
    case 'l': return push_container_of_mark(pickle, GT_PICKLE_LIST);
    case 'a': return extend_by(pickle, GT_PICKLE_LIST, 1);
    case 'e': return extend_by_mark(pickle, GT_PICKLE_LIST);
    case '}': return push_new(pickle, GT_PICKLE_DICT);
    case 'd': return push_container_of_mark(pickle, GT_PICKLE_DICT);
    case 's': return extend_by(pickle, GT_PICKLE_DICT, 2);
    case 'u': return extend_by_mark(pickle, GT_PICKLE_DICT);
    case 'q': return remember_at(pickle, 1);
    case 'r': return remember_at(pickle, 4);
    case 0x94: return remember(pickle, pickle->memo_count);
    case 'h': return recall(pickle, 1);
    case 'j': return recall(pickle, 4);
    case '0': return pop(pickle) ? 0 : damaged(pickle);
    case 'c': return push_global(pickle);
    case 0x93: return push_stack_global(pickle);
    case 'R':
    case 0x81: return push_object(pickle); /* a function's result, an instance of a class */
    default: return damaged(pickle); /* what results are never made of: references out of the file, sets, Python 2 */
    }
}

static int read_all(struct gt_pickle *pickle)
{
    int status = 0;
    while (status == 0 && !pickle->stopped) {
        const unsigned char *opcode = take(pickle, 1);
        status = opcode ? step(pickle, *opcode) : damaged(pickle);
    }
    return status;
}

int gt_pickle_read(struct gt_pickle **ret, const void *bytes, size_t length, const char *known, const char *file,
                   struct gt_error *error)
{
    struct gt_pickle *pickle = calloc(1, sizeof *pickle);
    if (!pickle)
        return gt_error_system(error, ENOMEM, "%s", file);
    pickle->at = bytes;
    pickle->end = pickle->at + length;
    pickle->known = known;
    pickle->file = file;
    pickle->error = error;
    int status = read_all(pickle);
    if (status < 0)
        gt_pickle_free(pickle);
    else
        *ret = pickle;
    return status;
}

struct gt_pickle_value *gt_pickle_root(const struct gt_pickle *pickle)
{
    return pickle->stack[0];
}

static void free_items(struct arena *arena, size_t used)
{
    for (size_t i = 0; i < used; i++) {
        enum gt_pickle_kind kind = arena->value[i].kind;
        if (kind == GT_PICKLE_TUPLE || kind == GT_PICKLE_LIST || kind == GT_PICKLE_DICT)
            free(arena->value[i].item);
    }
}

void gt_pickle_free(struct gt_pickle *pickle)
{
    if (!pickle)
        return;
    for (size_t used = pickle->used; pickle->arenas; used = ARENA) {
        struct arena *arena = pickle->arenas;
        pickle->arenas = arena->next;
        free_items(arena, used);
        free(arena);
    }
    free(pickle->stack);
    free(pickle->memo);
    free(pickle->interned);
    free(pickle->mark);
    free(pickle);
}

/* ---- marshal: values of a letter each. The format: CPython, Python/marshal.c ---- */

enum { MARSHAL_DEEPEST = 16, REFERENCE_FLAG = 0x80 };
__extension__ typedef unsigned __int128 wide; /* the digits of a number */

/* Sizes of one byte have no sign. */
static int marshal_integer(struct gt_pickle *pickle, int bytes, int64_t *ret)
{
    uint64_t bits = 0;
    int status = take_number(pickle, bytes, &bits), unused = bytes == 1 ? 0 : 64 - 8 * bytes;
    *ret = (int64_t)(bits << unused) >> unused;
    return status;
}

/* Digits of 15 bits, the sign of whose number is that of the whole. What is beyond 63 bits is its largest. */
static int marshal_long(struct gt_pickle *pickle, int64_t *ret)
{
    int64_t count, digit;
    wide number = 0;
    int status = marshal_integer(pickle, 4, &count);
    int64_t digits = count < 0 ? -count : count;
    for (int64_t i = 0; i < digits && status >= 0; i++) {
        status = marshal_integer(pickle, 2, &digit);
        if (i < 7)
            number |= (wide)(digit & 0x7fff) << (i * 15);
        else if (digit)
            number = INT64_MAX;
    }
    number = number > INT64_MAX ? INT64_MAX : number;
    *ret = count < 0 ? -(int64_t)number : (int64_t)number;
    return status;
}

static int marshal_bytes(struct gt_pickle *pickle, int size_bytes, struct gt_pickle_value *value)
{
    int64_t length = 0;
    int status = marshal_integer(pickle, size_bytes, &length);
    value->text = status < 0 || length < 0 ? NULL : (const char *)take(pickle, (uint64_t)length);
    value->length = (size_t)length;
    return value->text ? 0 : damaged(pickle);
}

/* A number in eight bytes, or as text. */
static int marshal_float(struct gt_pickle *pickle, bool is_text, struct gt_pickle_value *value)
{
    uint64_t bits;
    struct gt_pickle_value text;
    int status = is_text ? marshal_bytes(pickle, 1, &text) : take_number(pickle, 8, &bits);
    if (status < 0)
        return status;
    if (is_text)
        return gt_span_double((struct gt_span){text.text, text.length}, &value->number);
    memcpy(&value->number, &bits, sizeof bits);
    return 0;
}

static int marshal_value(struct gt_pickle *pickle, int depth, struct gt_pickle_value **ret);

static int marshal_container(struct gt_pickle *pickle, char type, int depth, struct gt_pickle_value *value)
{
    int64_t size = INT64_MAX, count = 0;
    size_t from = pickle->stack_count;
    struct gt_pickle_value *child;
    int status = type == '{' ? 1 : marshal_integer(pickle, type == ')' ? 1 : 4, &size);
    if (status < 0 || depth >= MARSHAL_DEEPEST || size < 0)
        return damaged(pickle);
    for (status = 1; count < size && status > 0; count += status > 0) {
        status = marshal_value(pickle, depth + 1, &child);
        if (status > 0 && push(pickle, child) < 0)
            status = -ENOMEM;
    }
    if (status >= 0 && (type == '{' ? count % 2 : count != size))
        return damaged(pickle);
    if (status >= 0 && count)
        status = add_items(pickle, value, pickle->stack + from, (size_t)count);
    pickle->stack_count = from;
    return status < 0 ? status : 0;
}

static enum gt_pickle_kind marshal_kind(char type)
{
    return strchr("([)", type)       ? GT_PICKLE_TUPLE
           : type == '{'             ? GT_PICKLE_DICT
           : strchr("TFiIl", type)   ? GT_PICKLE_INTEGER
           : strchr("gf", type)      ? GT_PICKLE_FLOAT
           : strchr("zZaAuts", type) ? GT_PICKLE_TEXT
                                     : GT_PICKLE_NONE;
}

/* A plain switch. */
static int marshal_content(struct gt_pickle *pickle, char type, int depth, struct gt_pickle_value *value)
{
    switch (type) {
    case 'N': return 0;
    case 'T':
    case 'F': value->integer = type == 'T'; return 0;
    case 'i': return marshal_integer(pickle, 4, &value->integer);
    case 'I': return marshal_integer(pickle, 8, &value->integer);
    case 'l': return marshal_long(pickle, &value->integer);
    case 'g':
    case 'f': return marshal_float(pickle, type == 'f', value);
    case 'z':
    case 'Z': return marshal_bytes(pickle, 1, value);
    case 'a':
    case 'A':
    case 'u':
    case 't':
    case 's': return marshal_bytes(pickle, 4, value);
    case '(':
    case ')':
    case '[':
    case '{': return marshal_container(pickle, type, depth, value);
    default: return damaged(pickle);
    }
}

static int marshal_reference(struct gt_pickle *pickle, char type, struct gt_pickle_value **ret)
{
    int64_t number = 0;
    struct gt_pickle_value **known = type == 'r' ? pickle->memo : pickle->interned;
    size_t count = type == 'r' ? pickle->memo_count : pickle->interned_count;
    if (marshal_integer(pickle, 4, &number) < 0 || number < 0 || (size_t)number >= count)
        return damaged(pickle);
    *ret = known[number];
    return 1;
}

/* Returns 1 for a value, 0 for the mark at the end of a dictionary. */
static int marshal_value(struct gt_pickle *pickle, int depth, struct gt_pickle_value **ret)
{
    const unsigned char *byte = take(pickle, 1);
    char type = byte ? (char)(*byte & ~REFERENCE_FLAG) : '\0';
    if (!type || type == '0')
        return type ? 0 : damaged(pickle);
    if (type == 'r' || type == 'R')
        return marshal_reference(pickle, type, ret);
    struct gt_pickle_value *value = new_value(pickle, marshal_kind(type)), **place = &value;
    if (value && *byte & REFERENCE_FLAG)
        place = GT_GROW(pickle, memo);
    else if (value && type == 't')
        place = GT_GROW(pickle, interned);
    if (!value || !place)
        return no_memory(pickle);
    *ret = *place = value;
    int status = marshal_content(pickle, type, depth, value);
    return status < 0 ? status : 1;
}

int gt_marshal_read(struct gt_pickle **ret, const void *bytes, size_t length, size_t *end)
{
    struct gt_pickle *pickle = calloc(1, sizeof *pickle);
    struct gt_pickle_value *pair[2], *root = pickle ? new_value(pickle, GT_PICKLE_DICT) : NULL;
    int status = root ? push(pickle, root) : -ENOMEM;
    if (status >= 0) {
        pickle->file = "";
        pickle->at = bytes;
        pickle->end = pickle->at + length;
        const unsigned char *byte = take(pickle, 1);
        status = byte && (*byte & ~REFERENCE_FLAG) == '{' ? 1 : -EBADMSG;
        if (status > 0 && *byte & REFERENCE_FLAG)
            status = remember(pickle, 0) < 0 ? -ENOMEM : 1;
    }
    while (status > 0) {
        *end = (size_t)(pickle->at - (const unsigned char *)bytes);
        status = marshal_value(pickle, 0, &pair[0]);
        if (status > 0 && (status = marshal_value(pickle, 0, &pair[1])) == 0)
            status = -EBADMSG;
        if (status > 0)
            status = add_items(pickle, root, pair, 2) < 0 ? -ENOMEM : 1;
        pickle->stack_count = 1;
    }
    if (!status)
        *end = length;
    if (status < 0 && status != -EBADMSG)
        gt_pickle_free(pickle);
    else
        *ret = pickle;
    return status == -EBADMSG ? 1 : status;
}

/* ---- looking into it ---- */

const struct gt_pickle_value *gt_pickle_get(const struct gt_pickle_value *dict, const char *key)
{
    size_t length = strlen(key);
    for (uint32_t i = 0; dict && dict->kind == GT_PICKLE_DICT && i < dict->count; i += 2) {
        const struct gt_pickle_value *name = dict->item[i];
        if (name->kind == GT_PICKLE_TEXT && name->length == length && memcmp(name->text, key, length) == 0)
            return dict->item[i + 1];
    }
    return NULL;
}

const struct gt_pickle_value *gt_pickle_item(const struct gt_pickle_value *list, size_t index)
{
    bool is_list = list && (list->kind == GT_PICKLE_TUPLE || list->kind == GT_PICKLE_LIST);
    return is_list && index < list->count ? list->item[index] : NULL;
}

json_t *gt_pickle_json(const struct gt_pickle_value *value, size_t *left, int depth)
{
    json_t *json = NULL;
    int status = 0;
    if (depth >= GT_PICKLE_DEEPEST || !*left)
        return NULL;
    --*left;
    switch (value->kind) {
    case GT_PICKLE_NONE: return json_null();
    case GT_PICKLE_BOOL: return json_boolean(value->integer);
    case GT_PICKLE_INTEGER: return json_integer(value->integer);
    case GT_PICKLE_FLOAT: return isfinite(value->number) ? json_real(value->number) : json_null();
    case GT_PICKLE_TEXT: return json_stringn(value->text, value->length);
    case GT_PICKLE_TUPLE:
    case GT_PICKLE_LIST:
        json = json_array();
        for (uint32_t i = 0; json && status == 0 && i < value->count; i++)
            status = json_array_append_new(json, gt_pickle_json(value->item[i], left, depth + 1));
        break;
    case GT_PICKLE_DICT:
        json = json_object();
        for (uint32_t i = 0; json && status == 0 && i < value->count; i += 2) {
            const struct gt_pickle_value *key = value->item[i];
            json_t *name = gt_pickle_json(key, left, depth + 1);
            char number[24];
            snprintf(number, sizeof number, "%" PRId64, key->kind == GT_PICKLE_INTEGER ? key->integer : 0);
            const char *text = key->kind == GT_PICKLE_INTEGER ? number : json_string_value(name);
            status = text ? json_object_set_new(json, text, gt_pickle_json(value->item[i + 1], left, depth + 1))
                          : -EBADMSG;
            json_decref(name);
        }
        break;
    default: break;
    }
    if (status == 0)
        return json;
    json_decref(json);
    return NULL;
}
