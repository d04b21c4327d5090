/* A client's headers say in which form it wants the text, whether in gzip, and that it may read it. */
#include "http.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "gpu_tracker.h"
#include "message.h"

/* ---- Accept ---- */

static const struct {
    const char *type, *version; /* in the header; version NULL: any */
    struct http_form form;
} forms[] = {
    {"application/openmetrics-text",
     "1.0.0",
     {"application/openmetrics-text;version=1.0.0;charset=utf-8", GT_EXPOSITION_OPENMETRICS}},
    {"application/openmetrics-text",
     "0.0.1",
     {"application/openmetrics-text;version=0.0.1;charset=utf-8", GT_EXPOSITION_OPENMETRICS}},
    {"text/plain", NULL, {"text/plain;version=0.0.4;charset=utf-8", GT_EXPOSITION_TEXT}},
};
enum { FORMS = sizeof forms / sizeof *forms };

/* The value of a parameter ";name=value" within `range`, or NULL. */
static const char *parameter(const char *range, size_t length, const char *name)
{
    size_t letters = strlen(name);
    for (const char *at = memchr(range, ';', length); at; at = memchr(at, ';', length - (size_t)(at - range))) {
        at++;
        at += strspn(at, " \t");
        if ((size_t)(at - range) + letters < length && !strncasecmp(at, name, letters) && at[letters] == '=')
            return at + letters + 1;
    }
    return NULL;
}

/* Returns how much a media range ("text/plain;version=0.0.4;q=0.5") wants a form: 0 not at all. */
static double wish(const char *range, size_t length, int form)
{
    const char *quality = parameter(range, length, "q"), *version = parameter(range, length, "version");
    size_t type = strlen(forms[form].type);
    if (length < type || strncasecmp(range, forms[form].type, type) || (range[type] && strchr("/-+", range[type])))
        return 0;
    if (version && forms[form].version) {
        version += *version == '"';
        if (strncmp(version, forms[form].version, strlen(forms[form].version)))
            return 0;
    }
    double value = quality ? strtod(quality, NULL) : 1;
    return value > 0 && value <= 1 ? value : value > 1 ? 1 : 0;
}

/* The text form is also what anything else gets, such as a browser. Of equal wishes the earlier form of the table wins. */
struct http_form http_accept(const char *header)
{
    double best = 0;
    int chosen = FORMS - 1;
    for (const char *at = header ? header : ""; *at;) {
        at += strspn(at, ", \t");
        size_t length = strcspn(at, ",");
        for (int i = 0; i < FORMS; i++) {
            double value = wish(at, length, i);
            if (value > best || (value == best && value > 0 && i < chosen)) {
                best = value;
                chosen = i;
            }
        }
        at += length;
    }
    return forms[chosen].form;
}

/* ---- Accept-Encoding ----
 * Texts in gzip's form (RFC 1952), for clients that ask for it: the text of many groups is a tenth as long. */

/* "gzip;q=0" means that it is not wanted (RFC 9110, 12.5.3). */
static bool is_refused(const char *parameters, size_t length)
{
    const char *q = memmem(parameters, length, "q=", 2);
    return q && strtod(q + 2, NULL) <= 0;
}

bool http_wants_gzip(const char *header)
{
    for (const char *item = header; item; item = strchr(item, ',')) {
        item += strspn(item, ", \t");
        size_t name = strcspn(item, ";, \t"), length = strcspn(item, ",");
        bool is_gzip = (name == 4 && !strncasecmp(item, "gzip", 4)) || (name == 6 && !strncasecmp(item, "x-gzip", 6));
        if (is_gzip)
            return !is_refused(item, length);
    }
    return false;
}

char *http_gzip(const char *text, size_t length, size_t *ret_length)
{
    enum { GZIP_FRAME = 16, FAST = 1, MEMORY = 8 };
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)text, .avail_in = (uInt)length};
    if (deflateInit2(&stream, FAST, Z_DEFLATED, MAX_WBITS + GZIP_FRAME, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    size_t room = deflateBound(&stream, length);
    char *packed = malloc(room);
    stream.next_out = (unsigned char *)packed;
    stream.avail_out = (uInt)room;
    bool is_whole = packed && deflate(&stream, Z_FINISH) == Z_STREAM_END;
    *ret_length = stream.total_out;
    deflateEnd(&stream);
    if (is_whole)
        return packed;
    free(packed);
    return NULL;
}

/* ---- Authorization ---- */

enum { FILE_MOST = 1 << 20, TOKEN_LEAST = 16 };

/* 0 or an errno. */
static int read_all(int fd, char *text)
{
    size_t length = 0;
    ssize_t got = 1;
    while (got != 0 && length < FILE_MOST) {
        got = read(fd, text + length, FILE_MOST - length);
        if (got < 0 && errno != EINTR)
            return errno;
        length += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

char *http_read_file(const char *path, const char *what, bool is_secret)
{
    struct stat facts = {0};
    struct gt_error refusal = {0};
    int fd = gt_given_file_open(path, &facts, &refusal);
    char *text = fd < 0 ? NULL : calloc(1, FILE_MOST + 1);
    int code = fd < 0 ? -fd : text ? read_all(fd, text) : ENOMEM;
    if (fd >= 0)
        close(fd);
    bool is_open = is_secret && facts.st_mode & (S_IROTH | S_IWOTH);
    if (fd < 0)
        say("%s %s", what, refusal.text);
    else if (code)
        say("%s %s: %s", what, path, strerror(code));
    else if (is_open)
        say("%s %s: every user of this machine may read or change it (chmod o-rw)", what, path);
    if (!code && !is_open)
        return text;
    if (text)
        explicit_bzero(text, FILE_MOST);
    free(text);
    return NULL;
}

int http_token_read(struct http_token *token, const char *path)
{
    char *text = http_read_file(path, "--token-file", true);
    if (!text)
        return EXIT_USAGE;
    size_t length = strcspn(text, "\r\n");
    bool fits = length >= TOKEN_LEAST && length < sizeof token->text && strcspn(text, " \t") >= length;
    if (fits) {
        memcpy(token->text, text, length);
        token->text[length] = 0;
    }
    explicit_bzero(text, strlen(text));
    free(text);
    if (!fits)
        return say_usage("--token-file %s: the first line must be a token of %d to %zu characters without blanks", path,
                         TOKEN_LEAST, sizeof token->text - 1);
    return 0;
}

static int digit_of(char letter)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = letter ? strchr(digits, letter) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Writes what is behind the colon of "name:password" in base64 (RFC 7617). */
static const char *password_of(char *ret, size_t size, const char *text)
{
    uint32_t bits = 0;
    size_t length = 0;
    for (int count = 0; digit_of(*text) >= 0 && length + 1 < size; text++) {
        bits = bits << 6 | (uint32_t)digit_of(*text);
        count += 6;
        if (count >= 8) {
            count -= 8;
            ret[length++] = (char)(bits >> count);
        }
    }
    ret[length] = '\0';
    const char *colon = strchr(ret, ':');
    return colon ? colon + 1 : "";
}

int http_token_is(const struct http_token *token, const char *header)
{
    static const char scheme[] = "Bearer ", basic[] = "Basic ";
    char text[sizeof token->text + 256] = "";
    const char *given = "";
    if (header && !strncasecmp(header, scheme, strlen(scheme)))
        given = header + strlen(scheme);
    else if (header && !strncasecmp(header, basic, strlen(basic)))
        given = password_of(text, sizeof text, header + strlen(basic));
    size_t length = strlen(token->text), other = strlen(given);
    volatile unsigned difference = length != other;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned char)token->text[i] ^ (unsigned char)given[other ? i % other : 0];
    explicit_bzero(text, sizeof text);
    return difference == 0;
}
