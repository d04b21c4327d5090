#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http.h"
#include "message.h"

enum { FILE_MOST = 1 << 20, TOKEN_LEAST = 16 };

static char *read_all(int fd)
{
    char *text = calloc(1, FILE_MOST + 1);
    size_t length = 0;
    while (text && length < FILE_MOST) {
        ssize_t got = read(fd, text + length, FILE_MOST - length);
        if (got < 0) {
            free(text);
            return NULL;
        }
        if (got == 0)
            break;
        length += (size_t)got;
    }
    return text;
}

char *http_read_file(const char *path, const char *what)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    char *text = fd < 0 ? NULL : read_all(fd);
    if (!text)
        say("%s %s: %s", what, path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return text;
}

int http_token_read(struct http_token *token, const char *path)
{
    struct stat file;
    char *text = http_read_file(path, "--token-file");
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
    if (stat(path, &file) == 0 && file.st_mode & (S_IROTH | S_IWOTH))
        return say_usage("--token-file %s: every user of this machine may read or change it (chmod o-rw)", path);
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
