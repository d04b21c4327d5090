#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "http.h"
#include "message.h"

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

int http_token_is(const struct http_token *token, const char *header)
{
    static const char scheme[] = "Bearer ";
    bool has_scheme = header && !strncasecmp(header, scheme, strlen(scheme));
    const char *given = has_scheme ? header + strlen(scheme) : "";
    size_t length = strlen(token->text), other = strlen(given);
    volatile unsigned difference = length != other;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned char)token->text[i] ^ (unsigned char)given[other ? i % other : 0];
    return difference == 0;
}
