#include "base/secret.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A name holds one of these without regard to case, '-' and '_'. */
static const char *const telling[] = {"password", "passwd",     "passphrase", "token",      "secret",
                                      "apikey",   "accesskey",  "credential", "privatekey", "authorization",
                                      "bearer",   "sessionkey", "cookie",     "wandbkey",   "openaikey"};
/* The last word of a name: "--pass", "DB_PASS". Without a word before it, "PWD" is the working directory. */
static const char *const telling_last[] = {"pass", "pwd"};
/* Keys of services begin so. */
static const char *const beginnings[] = {"ghp_",  "gho_",  "ghs_", "ghu_", "github_pat_", "glpat-", "hf_",   "sk-",
                                         "xoxb-", "xoxp-", "AKIA", "ASIA", "AIza",        "npm_",   "pypi-", "eyJ"};

enum { SHORTEST_KEY = 12, SHORTEST_RANDOM = 24, SHORTEST_HEX = 32 };

/* Language models have tokens and tokenizers. */
static bool tells(const char *plain, const char *word)
{
    const char *found = strstr(plain, word);
    return found && strncmp(found, "tokens", 6) != 0 && strncmp(found, "tokeniz", 7) != 0;
}

/* "--ssl-key" ends in the word "key", "monkey" does not. */
static bool ends_in_word(const char *name, size_t length, const char *word)
{
    size_t own = strlen(word);
    return length > own && strncasecmp(name + length - own, word, own) == 0 && strchr("-_", name[length - own - 1]);
}

static bool names_secret(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof telling_last / sizeof *telling_last; i++)
        if (ends_in_word(name, length, telling_last[i]))
            return true;
    char plain[64];
    size_t used = 0;
    for (size_t i = 0; i < length && used + 1 < sizeof plain; i++)
        if (name[i] != '-' && name[i] != '_')
            plain[used++] = (char)tolower((unsigned char)name[i]);
    plain[used] = '\0';
    for (size_t i = 0; i < sizeof telling / sizeof *telling; i++)
        if (tells(plain, telling[i]))
            return true;
    return false;
}

static bool begins_as_key(const char *piece, size_t length)
{
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        size_t own = strlen(beginnings[i]);
        if (length >= SHORTEST_KEY && strncmp(piece, beginnings[i], own) == 0)
            return true;
    }
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
    bool next_may_be_secret; /* if it looks like a password: behind -p or --key */
    bool rest_is_secret;     /* of this word: behind "Authorization:" */
    bool is_database;        /* a program that takes passwords behind -p was named */
};

static void put_value(struct gt_buffer *out, const char *value, size_t length)
{
    size_t from, to;
    if (begins_as_key(value, length) || is_random(value, length))
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

/* A program whose -p takes a password without a blank: "mysql -pPASSWORD". */
static bool is_database(const char *word, size_t length)
{
    static const char *const programs[] = {"mysql", "mariadb", "mycli", "mongo", "sshpass", "7z", "login"};
    const char *slash = memrchr(word, '/', length), *name = slash ? slash + 1 : word;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (strncmp(name, programs[i], strlen(programs[i])) == 0)
            return true;
    return false;
}

/* "-phunter2": other programs' values of -p and options that begin so seldom mix letters with digits. */
static bool holds_password(const struct state *state, const char *piece, size_t length)
{
    enum { SHORTEST_PASSWORD = 6 };
    size_t letters = 0, digits = 0;
    if (length <= 2 || strncmp(piece, "-p", 2) != 0)
        return false;
    for (size_t i = 2; i < length; i++) {
        letters += isalpha((unsigned char)piece[i]) != 0;
        digits += isdigit((unsigned char)piece[i]) != 0;
    }
    bool is_plain = !memchr(piece, '/', length) && !memchr(piece, ':', length) && !memchr(piece, '=', length);
    return state->is_database || (is_plain && letters && digits && length - 2 >= SHORTEST_PASSWORD);
}

/* Some programs take a password or a key behind these, others a port, a path, a column or a partition. */
static bool may_name_secret(const char *name, size_t length)
{
    return (length == 2 && strncmp(name, "-p", 2) == 0) || ends_in_word(name, length, "key");
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

/* "pass:VALUE", behind -passin of openssl. */
static const char passed[] = "pass:";

/* A piece has no blanks. */
static void put_piece(struct gt_buffer *out, struct state *state, const char *piece, size_t length)
{
    const char *equals = memchr(piece, '=', length), *colon = find_heading(piece, length);
    size_t name = colon ? (size_t)(colon - piece) : equals ? (size_t)(equals - piece) : length;
    state->is_database |= is_database(piece, length);
    if (holds_password(state, piece, length)) {
        gt_buffer_text(out, "-p" GT_SECRET_HIDDEN);
        return;
    }
    if (state->next_is_secret && is_one_of(schemes, piece, length)) {
        gt_buffer_append(out, piece, length);
        return;
    }
    if (state->rest_is_secret || (state->next_is_secret && *piece != '-') ||
        (state->next_may_be_secret && may_be_secret(piece, length))) {
        gt_buffer_text(out, GT_SECRET_HIDDEN);
        state->next_is_secret = piece[length - 1] == ';'; /* more of a cookie */
        state->next_may_be_secret = false;
        return;
    }
    if (length > strlen(passed) && strncmp(piece, passed, strlen(passed)) == 0) {
        gt_buffer_text(out, passed);
        gt_buffer_text(out, GT_SECRET_HIDDEN);
        return;
    }
    bool has_value = name < length, tells = names_secret(piece, name), may_tell = may_name_secret(piece, name);
    state->rest_is_secret = colon || is_one_of((const char *const[]){"bearer", NULL}, piece, length);
    state->next_is_secret = state->rest_is_secret || (tells && !has_value && *piece == '-') ||
                            is_one_of(names_of_passwords, piece, length);
    state->next_may_be_secret = may_tell && !has_value;
    put_value(out, piece, name);
    if (!has_value)
        return;
    const char *value = piece + name + 1;
    gt_buffer_append(out, piece + name, 1);
    length -= name + 1;
    if (!colon && (tells || (may_tell && may_be_secret(value, length))))
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

/* "--user name:password", as curl has it. */
static bool is_user_option(const char *word)
{
    return !strcmp(word, "-u") || !strcmp(word, "--user") || !strcmp(word, "--auth");
}

static void put_word(struct gt_buffer *out, struct state *state, const char *word, const char *before)
{
    const char *colon = before && is_user_option(before) ? strchr(word, ':') : NULL;
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
