#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http.h"
#include "message.h"

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
