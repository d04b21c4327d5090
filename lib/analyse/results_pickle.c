/* The few opcodes of Python's pickle that our own files consist of (they are described in CPython's Lib/pickletools.py). A
 * file is: PROTO 2; GLOBAL gpu_tracker._results from_tree; a text; a tree of dicts, lists and plain values; TUPLE2; REDUCE;
 * STOP. No name but that one is accepted and nothing is called. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "analyse/results.h"

enum { DEEPEST = 64 };

struct pickle {
    const unsigned char *at, *end;
};

static const char beginning[] = "\x80\x02"
                                "cgpu_tracker._results\nfrom_tree\nX";

static const unsigned char *take(struct pickle *pickle, size_t length)
{
    if ((size_t)(pickle->end - pickle->at) < length)
        return NULL;
    const unsigned char *start = pickle->at;
    pickle->at += length;
    return start;
}

static uint64_t little_endian(const unsigned char *bytes, int count)
{
    uint64_t value = 0;
    for (int i = count - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

/* What follows the opcode BINUNICODE. */
static json_t *read_text(struct pickle *pickle)
{
    const unsigned char *size = take(pickle, 4);
    size_t length = size ? little_endian(size, 4) : 0;
    const unsigned char *text = size ? take(pickle, length) : NULL;
    return text ? json_stringn((const char *)text, length) : NULL;
}

static json_t *read_float(struct pickle *pickle)
{
    const unsigned char *bytes = take(pickle, 8);
    uint64_t bits = 0;
    double value;
    if (!bytes)
        return NULL;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | bytes[i];
    memcpy(&value, &bits, sizeof value);
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *read_long(struct pickle *pickle)
{
    const unsigned char *bytes = take(pickle, 9);
    return bytes && bytes[0] == 8 ? json_integer((json_int_t)little_endian(bytes + 1, 8)) : NULL;
}

static json_t *read_int(struct pickle *pickle)
{
    const unsigned char *bytes = take(pickle, 4);
    return bytes ? json_integer((int32_t)little_endian(bytes, 4)) : NULL;
}

static json_t *read_value(struct pickle *pickle, int depth);

static bool next_is(struct pickle *pickle, char opcode)
{
    if (pickle->at == pickle->end || *pickle->at != (unsigned char)opcode)
        return false;
    pickle->at++;
    return true;
}

static json_t *read_dict(struct pickle *pickle, int depth)
{
    json_t *dict = next_is(pickle, '(') ? json_object() : NULL;
    while (dict && !next_is(pickle, 'u')) {
        json_t *key = next_is(pickle, 'X') ? read_text(pickle) : NULL;
        json_t *value = key ? read_value(pickle, depth + 1) : NULL;
        if (!value || json_object_set_new(dict, json_string_value(key), value) < 0) {
            json_decref(dict);
            dict = NULL;
        }
        json_decref(key);
    }
    return dict;
}

static json_t *read_list(struct pickle *pickle, int depth)
{
    json_t *list = next_is(pickle, '(') ? json_array() : NULL;
    while (list && !next_is(pickle, 'e')) {
        json_t *value = read_value(pickle, depth + 1);
        if (!value || json_array_append_new(list, value) < 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static json_t *read_value(struct pickle *pickle, int depth)
{
    const unsigned char *opcode = depth < DEEPEST ? take(pickle, 1) : NULL;
    switch (opcode ? *opcode : 0) {
    case 'X': return read_text(pickle);
    case 'G': return read_float(pickle);
    case 'J': return read_int(pickle);
    case 0x8a: return read_long(pickle);
    case 'N': return json_null();
    case 0x88: return json_true();
    case 0x89: return json_false();
    case '}': return read_dict(pickle, depth);
    case ']': return read_list(pickle, depth);
    default: return NULL;
    }
}

int gt_results_unpickle(json_t **ret, const void *bytes, size_t length, const char *name, struct gt_error *error)
{
    struct pickle pickle = {bytes, (const unsigned char *)bytes + length};
    const unsigned char *start = take(&pickle, sizeof beginning - 1);
    if (!start || memcmp(start, beginning, sizeof beginning - 1) != 0)
        return gt_error_set(error, EBADMSG, "%s is a pickle that gpu-tracker did not write; it is not opened", name);
    json_t *type = read_text(&pickle);
    json_t *tree = type ? read_value(&pickle, 0) : NULL;
    const unsigned char *ending = tree ? take(&pickle, 3) : NULL;
    bool whole = ending && memcmp(ending, "\x86R.", 3) == 0 && pickle.at == pickle.end;
    json_decref(type);
    if (!whole) {
        json_decref(tree);
        return gt_error_set(error, EBADMSG, "%s is damaged, or a pickle that gpu-tracker did not write", name);
    }
    *ret = tree;
    return 0;
}
