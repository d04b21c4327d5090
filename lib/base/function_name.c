#include "base/function_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Does a bracket at `at` open arguments, or close them? */
static bool opens(const char *name, const char *at)
{
    return *at == '<' && at > name && is_letter(at[-1]);
}

static bool closes(const char *name, const char *at)
{
    return *at == '>' && at > name && at[-1] != '-';
}

static bool is_instance(const char *name)
{
    long depth = 0;
    bool any = false;
    for (const char *at = name; *at && depth >= 0; at++) {
        any |= opens(name, at);
        depth += opens(name, at) - closes(name, at);
    }
    return any && depth == 0;
}

static void cut(struct gt_buffer *out, size_t length)
{
    if (length >= out->length)
        return;
    out->length = length;
    out->data[length] = '\0';
}

struct reading {
    struct gt_buffer *out;
    const char *name, *ellipsis;
    size_t begin[2]; /* of the names that are being read at each depth, in `out` */
    int depth;
};

/* Takes one piece of the name; returns how long it is, 0 where the parameters begin. */
static size_t take(struct reading *reading, const char *at)
{
    static const char anonymous[] = "(anonymous namespace)", call[] = "operator()";
    struct gt_buffer *out = reading->out;
    if (strncmp(at, anonymous, sizeof anonymous - 1) == 0)
        return sizeof anonymous - 1;
    if (strncmp(at, call, sizeof call - 1) == 0) {
        gt_buffer_text(out, reading->depth < 2 ? call : "");
        return sizeof call - 1;
    }
    if (closes(reading->name, at) && --reading->depth < 2) {
        while (reading->depth == 0 && out->length && out->data[out->length - 1] == ' ')
            cut(out, out->length - 1);
        gt_buffer_char(out, '>');
    } else if (reading->depth < 2 && *at == '(' && !reading->depth) {
        return 0;
    } else if (reading->depth < 2 && strncmp(at, "::", 2) == 0) {
        cut(out, reading->begin[reading->depth]);
        return 2;
    } else if (reading->depth < 2 && !closes(reading->name, at)) {
        gt_buffer_char(out, *at);
        if (opens(reading->name, at) && ++reading->depth == 2)
            gt_buffer_text(out, reading->ellipsis);
        if (strchr("< ,)", *at) && reading->depth < 2)
            reading->begin[reading->depth] = out->length;
    } else {
        reading->depth += opens(reading->name, at);
    }
    return 1;
}

void gt_function_name(struct gt_buffer *out, const char *name, const char *ellipsis)
{
    struct reading reading = {.out = out, .name = name, .ellipsis = ellipsis};
    if (!is_instance(name)) {
        gt_buffer_text(out, name);
        return;
    }
    const char *at = strncmp(name, "void ", 5) == 0 ? name + 5 : name;
    reading.begin[0] = out->length;
    for (size_t length = 1; *at && length; at += length)
        length = take(&reading, at);
}
