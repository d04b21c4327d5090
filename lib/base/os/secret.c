#include "base/os/secret.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What the name of a value says about it. */
enum meaning { UNKNOWN, IDENTIFIER, MAYBE_SECRET, SECRET };

/* Where a word is in a name: the last part behind one of separators[], or the whole name behind '-', '?', '&' or ';'.
 * ANYWHERE and END ignore '-' and '_'. */
enum place { ANYWHERE, END, LAST, WHOLE };

/* A plain table, without regard to case: the first line that matches decides. */
static const struct {
    const char *word;
    enum place place;
    enum meaning meaning;
} names[] = {
    {"password", ANYWHERE, SECRET},
    {"passwd", ANYWHERE, SECRET},
    {"passphrase", ANYWHERE, SECRET},
    {"secret", ANYWHERE, SECRET},
    {"apikey", ANYWHERE, SECRET},
    {"accesskey", ANYWHERE, SECRET},
    {"credential", ANYWHERE, SECRET},
    {"privatekey", ANYWHERE, SECRET},
    {"authorization", ANYWHERE, SECRET},
    {"bearer", ANYWHERE, SECRET},
    {"sessionkey", ANYWHERE, SECRET},
    {"cookie", ANYWHERE, SECRET},
    {"wandbkey", ANYWHERE, SECRET},
    {"openaikey", ANYWHERE, SECRET},
    {"token", END, SECRET},
    {"tokens", ANYWHERE, UNKNOWN}, /* of language models */
    {"tokeniz", ANYWHERE, UNKNOWN},
    {"token", ANYWHERE, MAYBE_SECRET}, /* "--token-dropout" */
    {"signature", LAST, SECRET},
    {"pass", LAST, SECRET},
    {"pwd", LAST, SECRET}, /* "PWD" alone is the working directory */
    {"auth", WHOLE, SECRET},
    {"otp", WHOLE, SECRET},
    {"pin", WHOLE, SECRET},
    {"sig", WHOLE, SECRET},
    {"key", LAST, MAYBE_SECRET},
    {"commit", END, IDENTIFIER},
    {"revision", END, IDENTIFIER},
    {"sha", END, IDENTIFIER},
    {"sha256", END, IDENTIFIER},
};
static const char separators[] = "-_.+?&;", parts[] = "?&;";
/* Keys of services begin so. */
static const char *const beginnings[] = {"ghp_",  "gho_",  "ghs_", "ghu_", "github_pat_", "glpat-", "hf_",   "sk-",
                                         "xoxb-", "xoxp-", "AKIA", "ASIA", "AIza",        "npm_",   "pypi-", "eyJ"};

enum { SHORTEST_KEY = 12, SHORTEST_RANDOM = 24, SHORTEST_HEX = 32 };

static bool matches(const char *name, size_t length, const char *plain, const char *word, enum place place)
{
    size_t own = strlen(word), all = strlen(plain), before = length > own ? length - own : 0;
    if (place == ANYWHERE)
        return strstr(plain, word) != NULL;
    if (place == END)
        return all >= own && strcmp(plain + all - own, word) == 0;
    if (!before || strncasecmp(name + before, word, own) != 0)
        return false; /* "--ssl-key" ends in the word "key", "monkey" does not */
    return place == LAST ? strchr(separators, name[before - 1]) != NULL
                         : strchr(parts, name[before - 1]) || strspn(name, "-") == before;
}

static enum meaning meaning_of(const char *name, size_t length)
{
    char plain[64];
    size_t used = 0, from = length;
    while (from > 0 && length - from < sizeof plain - 1 && !strchr(parts, name[from - 1]))
        from--;
    for (size_t i = from; i < length; i++)
        if (name[i] != '-' && name[i] != '_')
            plain[used++] = (char)tolower((unsigned char)name[i]);
    plain[used] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (matches(name, length, plain, names[i].word, names[i].place))
            return names[i].meaning;
    return UNKNOWN;
}

static bool names_secret(const char *name, size_t length)
{
    return meaning_of(name, length) == SECRET;
}

static bool begins_as_key(const char *piece, size_t length)
{
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (length >= SHORTEST_KEY && strncmp(piece, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

static int class_of(char c)
{
    return isdigit((unsigned char)c) ? 1 : islower((unsigned char)c) ? 2 : isupper((unsigned char)c) ? 3 : 0;
}

/* Names made by people change between digits, small and capital letters seldom; keys at every second character. */
static bool is_random(const char *piece, size_t length)
{
    size_t changes = 0, digits = 0, hex = 0;
    int before = 0;
    for (size_t i = 0; i < length; i++) {
        if (!class_of(piece[i]) && !strchr("+/=_-", piece[i]))
            return false;
        digits += class_of(piece[i]) == 1;
        hex += isxdigit((unsigned char)piece[i]) != 0;
        changes += before && class_of(piece[i]) && class_of(piece[i]) != before;
        before = class_of(piece[i]) ? class_of(piece[i]) : before;
    }
    if (length >= SHORTEST_HEX && hex == length && digits)
        return true;
    return length >= SHORTEST_RANDOM && digits >= 2 && changes * 3 >= length && !memchr(piece, '/', length);
}

/* "https://user:password@host" -> where the password begins and ends. */
static bool find_password(const char *piece, size_t length, size_t *from, size_t *to)
{
    const char *end = piece + length, *scheme = memmem(piece, length, "://", 3);
    const char *at = scheme ? memchr(scheme + 3, '@', (size_t)(end - scheme - 3)) : NULL;
    const char *colon = at ? memchr(scheme + 3, ':', (size_t)(at - scheme - 3)) : NULL;
    if (!at)
        return false;
    *from = (size_t)((colon ? colon + 1 : scheme + 3) - piece);
    *to = (size_t)(at - piece);
    return true;
}

/* What came before and what it means for the next piece. */
struct state {
    bool next_is_secret;
    bool next_may_be_secret; /* if it looks like a password: behind --key */
    bool next_is_identifier; /* behind --commit */
    bool next_is_short;      /* behind -p */
    bool rest_is_secret;     /* of this word: behind "Authorization:" */
    bool is_database;        /* a program that takes passwords behind -p was named */
    bool is_curl;            /* its -b takes a cookie */
};

static void put_value(struct gt_buffer *out, const char *value, size_t length, bool is_identifier)
{
    size_t from, to;
    if (begins_as_key(value, length) || (!is_identifier && is_random(value, length)))
        gt_buffer_text(out, GT_SECRET_HIDDEN);
    else if (find_password(value, length, &from, &to)) {
        gt_buffer_append(out, value, from);
        gt_buffer_text(out, GT_SECRET_HIDDEN);
        gt_buffer_append(out, value + to, length - to);
    } else {
        gt_buffer_append(out, value, length);
    }
}

static bool is_one_of(const char *const *words, const char *piece, size_t length)
{
    for (; *words; words++)
        if (strlen(*words) == length && strncasecmp(piece, *words, length) == 0)
            return true;
    return false;
}

/* What stands between "Authorization:" and what it hands over. */
static const char *const schemes[] = {"bearer", "basic", "digest", "token", "negotiate", NULL};
/* "password VALUE", as in a request or a dialogue. */
static const char *const names_of_passwords[] = {"password", "passwd", "passphrase", NULL};

/* Programs whose -p takes a password: "mysql -pPASSWORD". */
static const char *const databases[] = {"mysql", "mariadb", "mycli", "mongo", "sshpass", "7z", "login", NULL};

static bool is_program(const char *word, size_t length, const char *const *programs)
{
    const char *slash = memrchr(word, '/', length), *name = slash ? slash + 1 : word;
    for (; *programs; programs++)
        if (strncmp(name, *programs, strlen(*programs)) == 0)
            return true;
    return false;
}

/* "-phunter2", "-p hunter2": other programs' values of -p and options that begin so seldom mix letters with digits. */
static bool is_password(const struct state *state, const char *value, size_t length)
{
    enum { SHORTEST_PASSWORD = 6 };
    size_t letters = 0, digits = 0;
    for (size_t i = 0; i < length; i++) {
        letters += isalpha((unsigned char)value[i]) != 0;
        digits += isdigit((unsigned char)value[i]) != 0;
    }
    bool is_plain = !memchr(value, '/', length) && !memchr(value, ':', length) && !memchr(value, '=', length);
    return length && (state->is_database || (is_plain && letters && digits && length >= SHORTEST_PASSWORD));
}

static bool may_be_secret(const char *value, size_t length)
{
    enum { LONGEST_NUMBER = 5 };
    size_t digits = 0;
    while (digits < length && isdigit((unsigned char)value[digits]))
        digits++;
    bool is_number = digits && digits <= LONGEST_NUMBER && (digits == length || strchr(",.", value[digits]));
    return length && *value != '-' && *value != '/' && !is_number && !memchr(value, ':', length);
}

/* "Authorization:VALUE" -> the colon; NULL for a path, and for "test_token.py::test". */
static const char *find_heading(const char *piece, size_t length)
{
    const char *colon = memchr(piece, ':', length);
    size_t name = colon ? (size_t)(colon - piece) : 0;
    bool is_plain = name && !memchr(piece, '/', name) && !memchr(piece, '.', name) && !memchr(piece, '=', name);
    return is_plain && colon[1] != ':' && names_secret(piece, name) ? colon : NULL;
}

/* "pass:VALUE" behind -passin of openssl, "/p:VALUE" of xfreerdp; "/p:NAME=VALUE" sets a property. */
static size_t passed(const char *piece, size_t length)
{
    static const char *const prefixes[] = {"pass:", "/p:"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t own = strlen(prefixes[i]);
        if (length > own && strncmp(piece, prefixes[i], own) == 0 && (*piece != '/' || !memchr(piece, '=', length)))
            return own;
    }
    return 0;
}

/* Set what the name of an option, variable or heading says about the next piece. */
static void expect_next(struct state *state, const char *name, size_t length, bool has_value, bool is_heading)
{
    enum meaning meaning = has_value ? UNKNOWN : meaning_of(name, length);
    bool is_cookie = state->is_curl && length == 2 && strncmp(name, "-b", 2) == 0;
    state->rest_is_secret = is_heading || is_one_of((const char *const[]){"bearer", NULL}, name, length);
    state->next_is_secret = state->rest_is_secret || is_cookie || (meaning == SECRET && *name == '-') ||
                            (!has_value && is_one_of(names_of_passwords, name, length));
    state->next_may_be_secret = meaning == MAYBE_SECRET && *name == '-';
    state->next_is_identifier = meaning == IDENTIFIER;
    state->next_is_short = length == 2 && strncmp(name, "-p", 2) == 0;
}

static void put_hidden_after(struct gt_buffer *out, const char *piece, size_t length)
{
    gt_buffer_append(out, piece, length);
    gt_buffer_text(out, GT_SECRET_HIDDEN);
}

/* A piece has no blanks. */
static void put_piece(struct gt_buffer *out, struct state *state, const char *piece, size_t length)
{
    const char *equals = memchr(piece, '=', length), *colon = find_heading(piece, length);
    size_t name = colon ? (size_t)(colon - piece) : equals ? (size_t)(equals - piece) : length;
    bool has_value = name < length, is_identifier = state->next_is_identifier;
    state->is_database |= is_program(piece, length, databases);
    state->is_curl |= is_program(piece, length, (const char *const[]){"curl", NULL});
    if (length > 2 && strncmp(piece, "-p", 2) == 0 && is_password(state, piece + 2, length - 2)) {
        put_hidden_after(out, piece, 2);
        return;
    }
    if (state->next_is_secret && is_one_of(schemes, piece, length)) {
        gt_buffer_append(out, piece, length);
        return;
    }
    if (state->rest_is_secret || (state->next_is_secret && *piece != '-') ||
        (state->next_may_be_secret && may_be_secret(piece, length)) ||
        (state->next_is_short && may_be_secret(piece, length) && is_password(state, piece, length))) {
        gt_buffer_text(out, GT_SECRET_HIDDEN);
        state->next_is_secret = piece[length - 1] == ';'; /* more of a cookie */
        state->next_may_be_secret = state->next_is_short = false;
        return;
    }
    if (passed(piece, length)) {
        put_hidden_after(out, piece, passed(piece, length));
        return;
    }
    expect_next(state, piece, name, has_value, colon != NULL);
    put_value(out, piece, name, is_identifier);
    if (!has_value)
        return;
    const char *value = piece + name + 1;
    enum meaning meaning = colon ? UNKNOWN : meaning_of(piece, name);
    gt_buffer_append(out, piece + name, 1);
    length -= name + 1;
    state->next_is_identifier = meaning == IDENTIFIER;
    if (meaning == SECRET || (meaning == MAYBE_SECRET && may_be_secret(value, length)))
        gt_buffer_text(out, GT_SECRET_HIDDEN);
    else if (length)
        put_piece(out, state, value, length);
}

#define QUOTES "\"'"

static const char blanks[] = " \t\r\n";

/* {"password": "VALUE"} -> where the value begins and ends. */
static bool find_json_secret(const char *text, const char **from, const char **to)
{
    for (const char *quote = strpbrk(text, QUOTES); quote; quote = strpbrk(quote + 1, QUOTES)) {
        const char *end = strchr(quote + 1, *quote), *value = end ? end + 1 + strspn(end + 1, blanks) : "";
        if (*value != ':' || !names_secret(quote + 1, (size_t)(end - quote - 1)))
            continue;
        value += 1 + strspn(value + 1, blanks);
        bool is_text = *value == '"' || *value == '\'';
        *from = value + is_text;
        *to = *from + strcspn(*from, is_text ? (char[]){*value, '\0'} : ",}] \t\r\n");
        return *to > *from;
    }
    return false;
}

static void put_word(struct gt_buffer *out, struct state *state, const char *word, const char *before)
{
    bool is_user = before && (!strcmp(before, "-u") || !strcmp(before, "--user")); /* of curl: name:password */
    const char *colon = is_user ? strchr(word, ':') : NULL;
    state->rest_is_secret = false;
    if (colon && !state->next_is_secret) {
        gt_buffer_append(out, word, (size_t)(colon + 1 - word));
        gt_buffer_text(out, GT_SECRET_HIDDEN);
        return;
    }
    for (const char *from, *to; find_json_secret(word, &from, &to); word = to) {
        gt_buffer_append(out, word, (size_t)(from - word));
        gt_buffer_text(out, GT_SECRET_HIDDEN);
    }
    while (*word) {
        size_t length = strcspn(word, blanks);
        if (length)
            put_piece(out, state, word, length);
        word += length;
        length = strspn(word, blanks);
        gt_buffer_append(out, word, length);
        word += length;
    }
}

int gt_secret_hide(struct gt_buffer *out, char *const words[])
{
    struct state state = {0};
    gt_buffer_text(out, "");
    for (size_t i = 0; words[i]; i++) {
        gt_buffer_text(out, i ? " " : "");
        put_word(out, &state, words[i], i ? words[i - 1] : NULL);
    }
    return out->failed;
}

int gt_secret_hide_line(struct gt_buffer *out, char *text, size_t length)
{
    size_t count = 0;
    while (length && !text[length - 1])
        length--; /* a program that gave itself a title */
    char **word = calloc(length + 2, sizeof *word);
    if (!word)
        return out->failed = -ENOMEM;
    for (char *at = text; length && at < text + length; at += strlen(at) + 1)
        word[count++] = at;
    int status = gt_secret_hide(out, word);
    free(word);
    return status;
}
