#include "serve/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/os/file.h"
#include "message.h"

/* ---- Listening --------------------------------------------------------------------------------------------------- */

enum { BACKLOG = 512 };

/* "HOST:PORT" or "[HOST]:PORT". */
static bool split(const char *text, char *host, size_t size, const char **port)
{
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    bool brackets = length > 1 && text[0] == '[' && text[length - 1] == ']';
    if (brackets) {
        text++;
        length -= 2;
    }
    if (!length || length >= size || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
        (!brackets && memchr(text, ':', length)))
        return false;
    memcpy(host, text, length);
    host[length] = 0;
    *port = colon + 1;
    return strlen(*port) <= 5 && strtol(*port, NULL, 10) <= 65535;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static int open_socket(const struct addrinfo *address)
{
    int yes = 1;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, address->ai_addr, address->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
        int status = -errno;
        close(fd);
        return status;
    }
    return fd;
}

static void show(int fd, char *text, size_t size)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
    if (getsockname(fd, (struct sockaddr *)&address, &length) == 0)
        getnameinfo((struct sockaddr *)&address, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV);
    bool brackets = strchr(host, ':') != NULL;
    snprintf(text, size, "%s%s%s:%s", brackets ? "[" : "", host, brackets ? "]" : "", port);
}

int http_listen(const char *text, bool has_token, bool has_tls, char *shown, size_t size)
{
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found = NULL;
    char host[256];
    const char *port;
    if (!split(text, host, sizeof host, &port))
        return -say_usage("--listen %s: ADDRESS:PORT is expected, as in 127.0.0.1:9417 or [::1]:9417", text);
    int status = getaddrinfo(host, port, &wanted, &found);
    if (status)
        return -say_usage("--listen %s: %s", text, gai_strerror(status));
    bool is_open = !is_loopback(found->ai_addr);
    if (is_open && !has_token) {
        freeaddrinfo(found);
        return -say_usage("--listen %s: other machines can reach this address; it takes --token-file as well", text);
    }
    int fd = open_socket(found);
    freeaddrinfo(found);
    if (fd < 0) {
        say("--listen %s: %s", text, strerror(-fd));
        return -EXIT_TRACKER;
    }
    if (is_open && !has_tls)
        say("--listen %s: whoever hears the network can read the token; --tls-cert and --tls-key prevent that", text);
    show(fd, shown, size);
    return fd;
}

/* ---- Clients within this machine --------------------------------------------------------------------------------- */

struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 about;
};

static bool put_end(__be32 address[4], __be16 *port, const struct sockaddr_storage *end)
{
    const struct sockaddr_in *four = (const void *)end;
    const struct sockaddr_in6 *six = (const void *)end;
    *port = end->ss_family == AF_INET ? four->sin_port : six->sin6_port;
    if (end->ss_family == AF_INET)
        memcpy(address, &four->sin_addr, sizeof four->sin_addr);
    else
        memcpy(address, &six->sin6_addr, sizeof six->sin6_addr);
    return end->ss_family == AF_INET || end->ss_family == AF_INET6;
}

/* The client's own port and address come first. */
static bool put_ends(struct inet_diag_req_v2 *about, int fd)
{
    struct sockaddr_storage own, other;
    socklen_t length = sizeof own, other_length = sizeof other;
    if (getsockname(fd, (struct sockaddr *)&own, &length) < 0 ||
        getpeername(fd, (struct sockaddr *)&other, &other_length) < 0 || own.ss_family != other.ss_family)
        return false;
    about->sdiag_family = (uint8_t)own.ss_family;
    memset(about->id.idiag_cookie, 0xff, sizeof about->id.idiag_cookie);
    return put_end(about->id.idiag_src, &about->id.idiag_sport, &other) &&
           put_end(about->id.idiag_dst, &about->id.idiag_dport, &own);
}

static bool ask(int kernel, const struct question *question, uid_t *ret)
{
    _Alignas(struct nlmsghdr) char text[1024];
    if (send(kernel, question, sizeof *question, 0) != (ssize_t)sizeof *question)
        return false;
    ssize_t length = recv(kernel, text, sizeof text, 0);
    const struct nlmsghdr *head = (const void *)text;
    if (length < (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg)) || head->nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    *ret = ((const struct inet_diag_msg *)NLMSG_DATA(head))->idiag_uid;
    return true;
}

/* The kernel knows the user of a socket of this machine (man 7 sock_diag). */
bool http_peer_is_own(int fd)
{
    struct question question = {
        .head = {.nlmsg_len = sizeof question, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .about = {.sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u},
    };
    uid_t uid = 0;
    if (!put_ends(&question.about, fd))
        return false;
    int kernel = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    bool is_known = kernel >= 0 && ask(kernel, &question, &uid);
    if (kernel >= 0)
        close(kernel);
    return is_known && (uid == geteuid() || uid == 0);
}

/* Another site may name this machine as its own and have a browser ask for it. */
bool http_host_is_local(const char *host)
{
    size_t length = host ? *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":") : 0;
    return (length == 9 && !strncasecmp(host, "localhost", length)) ||
           (length == 5 && !strncmp(host, "[::1]", length)) ||
           (length > 4 && !strncmp(host, "127.", 4) && strspn(host, "0123456789.") == length);
}

/* ---- Tokens ------------------------------------------------------------------------------------------------------ */

enum { FILE_MOST = 1 << 20, TOKEN_LEAST = 16 };

char *http_read_file(const char *path, const char *what, bool is_secret)
{
    struct stat facts = {0};
    struct gt_error refusal = {0};
    struct gt_buffer text = {.ceiling = FILE_MOST};
    int fd = gt_given_file_open(path, &facts, &refusal), status = fd;
    if (fd >= 0) /* all at once: freed memory would keep a part of a secret */
        status = gt_buffer_reserve(&text, FILE_MOST);
    if (status >= 0)
        status = gt_file_read_all(fd, &text);
    if (fd >= 0)
        close(fd);
    bool is_open = is_secret && facts.st_mode & (S_IROTH | S_IWOTH);
    if (fd < 0)
        say("%s %s", what, refusal.text);
    else if (status < 0)
        say("%s %s: %s", what, path, strerror(-status));
    else if (is_open)
        say("%s %s: every user of this machine may read or change it (chmod o-rw)", what, path);
    if (status >= 0 && !is_open)
        return text.data;
    if (text.data)
        explicit_bzero(text.data, text.length);
    gt_buffer_release(&text);
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

bool http_token_is(const struct http_token *token, const char *header)
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
