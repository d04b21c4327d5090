#include "words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* Copy a quoted part, quotes taken away; `text` is after the opening quote. Returns what follows the closing one. */
static const char *take_single(const char *text, char **out)
{
    while (*text && *text != '\'')
        *(*out)++ = *text++;
    return *text ? text + 1 : NULL;
}

/* Inside double quotes a backslash is itself unless it is before one of these. */
static const char *take_double(const char *text, char **out)
{
    while (*text && *text != '"') {
        if (*text == '\\' && text[1] == '\n') {
            text += 2;
            continue;
        }
        if (*text == '\\' && text[1] && strchr("$`\"\\", text[1]))
            text++;
        *(*out)++ = *text++;
    }
    return *text ? text + 1 : NULL;
}

/* One word from `text` into `out`; returns the rest, or NULL after setting *complaint. */
static const char *take_word(const char *text, char *out, const char **complaint)
{
    while (text && *text && !is_blank(*text)) {
        if (*text == '\'') {
            text = take_single(text + 1, &out);
            *complaint = "a single quote is not closed";
        } else if (*text == '"') {
            text = take_double(text + 1, &out);
            *complaint = "a double quote is not closed";
        } else if (*text == '\\' && !text[1]) {
            text = NULL;
            *complaint = "a backslash at the end escapes nothing";
        } else if (*text == '\\' && text[1] == '\n') {
            text += 2;
        } else {
            text += *text == '\\';
            *out++ = *text++;
        }
    }
    *out = '\0';
    return text;
}

static const char *skip_blanks(const char *text)
{
    while (is_blank(*text) || (*text == '\\' && text[1] == '\n'))
        text += *text == '\\' ? 2 : 1;
    return text;
}

void words_free(char **words)
{
    if (!words)
        return;
    free(words[0]);
    free(words);
}

/* One block holds every word: no word is longer than its text, and each ends where at least a blank was. */
char **words_split(const char *text, const char **complaint)
{
    size_t length = strlen(text);
    char **words = calloc(length / 2 + 2, sizeof *words);
    char *storage = malloc(length + 1);
    size_t count = 0;
    char *out = storage;
    *complaint = "out of memory";
    if (!words || !storage)
        goto fail;
    for (text = skip_blanks(text); *text; text = skip_blanks(text)) {
        text = take_word(text, out, complaint);
        if (!text)
            goto fail;
        words[count++] = out;
        out += strlen(out) + 1;
    }
    *complaint = "it is empty";
    if (count)
        return words;
fail:
    free(storage);
    free(words);
    return NULL;
}
