#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "http.h"
#include "message.h"

enum { FILE_MOST = 1 << 20, TOKEN_LEAST = 16, PIPE_MS = 5000 };

static int64_t now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000) + time.tv_nsec / 1000000;
}

/* A pipe, as of <(...), may be slow, and one that nobody writes to never ends. */
static int wait_for(int fd, int64_t until_ms)
{
    int64_t left = until_ms - now_ms();
    int ready = left > 0 ? poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, (int)left) : 0;
    return ready > 0 ? 0 : ready == 0 ? ETIMEDOUT : errno;
}

/* 0 or an errno. */
static int read_all(int fd, char *text)
{
    int64_t until_ms = now_ms() + PIPE_MS;
    size_t length = 0;
    while (length < FILE_MOST) {
        int code = wait_for(fd, until_ms);
        ssize_t got = code ? -1 : read(fd, text + length, FILE_MOST - length);
        if (got < 0 && !code && (errno == EAGAIN || errno == EINTR))
            continue;
        if (got < 0)
            return code ? code : errno;
        if (got == 0)
            break;
        length += (size_t)got;
    }
    return 0;
}

/* Opening waits for no writer of a FIFO. */
static int open_secret(const char *path, struct stat *facts)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, facts) == 0 && (S_ISREG(facts->st_mode) || S_ISFIFO(facts->st_mode)))
        return fd;
    int code = fd < 0 ? errno : S_ISDIR(facts->st_mode) ? EISDIR : EINVAL;
    if (fd >= 0)
        close(fd);
    return -code;
}

char *http_read_file(const char *path, const char *what, bool is_secret)
{
    struct stat facts = {0};
    int fd = open_secret(path, &facts);
    char *text = fd < 0 ? NULL : calloc(1, FILE_MOST + 1);
    int code = fd < 0 ? -fd : text ? read_all(fd, text) : ENOMEM;
    if (fd >= 0)
        close(fd);
    bool is_open = is_secret && facts.st_mode & (S_IROTH | S_IWOTH);
    if (code == EINVAL)
        say("%s %s: neither a file nor a pipe", what, path);
    else if (code == ETIMEDOUT)
        say("%s %s: nothing more was written to this pipe within %d seconds", what, path, PIPE_MS / 1000);
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
