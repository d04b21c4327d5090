#include "http_visitors.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "http.h"
#include "message.h"

/* ---- Whose program is at the other end of a connection within this machine: the kernel tells (man 7 sock_diag) ---- */

struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 about;
};

/* The other end's own port and address come first. */
static bool name_ends(struct inet_diag_sockid *ret, int fd, uint8_t *family)
{
    struct sockaddr_storage own, other;
    socklen_t length = sizeof own, other_length = sizeof other;
    if (getsockname(fd, (struct sockaddr *)&own, &length) < 0 ||
        getpeername(fd, (struct sockaddr *)&other, &other_length) < 0 || own.ss_family != other.ss_family)
        return false;
    *family = (uint8_t)own.ss_family;
    memset(ret->idiag_cookie, 0xff, sizeof ret->idiag_cookie);
    if (own.ss_family == AF_INET) {
        const struct sockaddr_in *here = (const void *)&own, *there = (const void *)&other;
        ret->idiag_sport = there->sin_port;
        ret->idiag_dport = here->sin_port;
        memcpy(ret->idiag_src, &there->sin_addr, sizeof there->sin_addr);
        memcpy(ret->idiag_dst, &here->sin_addr, sizeof here->sin_addr);
        return true;
    }
    const struct sockaddr_in6 *here = (const void *)&own, *there = (const void *)&other;
    ret->idiag_sport = there->sin6_port;
    ret->idiag_dport = here->sin6_port;
    memcpy(ret->idiag_src, &there->sin6_addr, sizeof there->sin6_addr);
    memcpy(ret->idiag_dst, &here->sin6_addr, sizeof here->sin6_addr);
    return own.ss_family == AF_INET6;
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

bool http_peer_is_own(int fd)
{
    struct question question = {
        .head = {.nlmsg_len = sizeof question, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .about = {.sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u},
    };
    uid_t uid = 0;
    if (!name_ends(&question.about.id, fd, &question.about.sdiag_family))
        return false;
    int kernel = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    bool is_told = kernel >= 0 && ask(kernel, &question, &uid);
    if (kernel >= 0)
        close(kernel);
    return is_told && (uid == geteuid() || uid == 0);
}

/* ---- Who is connected ---- */

/* Another site may name this machine as its own and have a browser ask for it. */
bool http_host_is_local(const char *host)
{
    size_t length = host ? *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":") : 0;
    return (length == 9 && !strncasecmp(host, "localhost", length)) ||
           (length == 5 && !strncmp(host, "[::1]", length)) ||
           (length > 4 && !strncmp(host, "127.", 4) && strspn(host, "0123456789.") == length);
}

/* ---- listening ---- */

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

/* ---- visitors ---- */

enum { LEFT_FREE = 32, ENDED_AT_ONCE = 16 };
static const int64_t SECOND = 1000000000, RETRY_NS = 100000000;

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */

/* A sample takes some, too, for a moment. */
static bool is_too_high(int fd)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return false;
    rlim_t left_free = limit.rlim_cur / 4 < LEFT_FREE ? limit.rlim_cur / 4 : LEFT_FREE;
    return (rlim_t)fd + left_free >= limit.rlim_cur;
}

static void refill(struct visitors *visitors)
{
    while (visitors->reserved < HTTP_RESERVE) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return;
        if (is_too_high(fd)) {
            close(fd);
            return;
        }
        visitors->reserve[visitors->reserved++] = fd;
    }
}

/* Returns true where a newcomer can have a descriptor, from the reserve when there is no other. Who cannot is not accepted, and so
 * waits. */
static bool has_descriptor(struct visitors *visitors)
{
    int fd = fcntl(visitors->listening, F_DUPFD_CLOEXEC, 0);
    bool has = fd >= 0 && !is_too_high(fd);
    if (fd >= 0)
        close(fd);
    if (!has && visitors->reserved) {
        close(visitors->reserve[--visitors->reserved]);
        has = true;
    }
    return has;
}

/* A descriptor, or negative errno. */
static int accept_one(struct visitors *visitors, struct sockaddr_storage *address, socklen_t *length)
{
    int fd;
    do {
        *length = sizeof *address;
        fd = accept4(visitors->listening, (struct sockaddr *)address, length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    } while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    return fd < 0 ? -errno : fd;
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */

static void end(struct visitor *visitor)
{
    shutdown(visitor->fd, SHUT_RDWR); /* the library then closes it */
    visitor->is_leaving = true;
    visitor->due_ns = INT64_MAX;
}

static bool may_be_ended(const struct visitor *visitor)
{
    return visitor->fd >= 0 && visitor->is_half && !visitor->is_leaving;
}

static int count_of(const struct visitors *visitors, const unsigned char address[8])
{
    int count = 0;
    for (int i = 0; i < HTTP_CONNECTIONS; i++)
        count += may_be_ended(&visitors->visitor[i]) && !memcmp(visitors->visitor[i].address, address, 8);
    return count;
}

static struct visitor *oldest_of(struct visitors *visitors, const unsigned char address[8])
{
    struct visitor *oldest = NULL;
    for (int i = 0; i < HTTP_CONNECTIONS; i++) {
        struct visitor *visitor = &visitors->visitor[i];
        if (may_be_ended(visitor) && !memcmp(visitor->address, address, 8) &&
            (!oldest || visitor->number < oldest->number))
            oldest = visitor;
    }
    return oldest;
}

/* Several at once, since looking takes a while; but none of an address that has few. */
static void make_room(struct visitors *visitors)
{
    unsigned char busiest[8];
    int most = 0;
    for (int i = 0; i < HTTP_CONNECTIONS; i++) {
        const struct visitor *visitor = &visitors->visitor[i];
        int count = !may_be_ended(visitor) || (most && !memcmp(visitor->address, busiest, 8))
                        ? 0
                        : count_of(visitors, visitor->address);
        if (count > most) {
            most = count;
            memcpy(busiest, visitor->address, sizeof busiest);
        }
    }
    for (int ended = 0; ended < ENDED_AT_ONCE && ended <= most / 8 && most; ended++) {
        struct visitor *oldest = oldest_of(visitors, busiest);
        if (!oldest)
            return;
        end(oldest);
    }
}

static struct visitor *free_place(struct visitors *visitors)
{
    for (int i = 0; i < HTTP_CONNECTIONS; i++)
        if (visitors->visitor[i].fd < 0)
            return &visitors->visitor[i];
    return NULL;
}

static void note_address(unsigned char ret[8], const struct sockaddr_storage *address)
{
    memset(ret, 0, 8);
    if (address->ss_family == AF_INET)
        memcpy(ret, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    else if (address->ss_family == AF_INET6)
        memcpy(ret, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 8);
}

static bool is_waiting_to_retry(const struct visitors *visitors)
{
    return visitors->retry_ns > gt_clock_ns(CLOCK_MONOTONIC);
}

/* Those who leave make places a moment later. */
static bool is_anybody_leaving(const struct visitors *visitors)
{
    for (int i = 0; i < HTTP_CONNECTIONS; i++)
        if (visitors->visitor[i].fd >= 0 && visitors->visitor[i].is_leaving)
            return true;
    return false;
}

static bool waits_anybody(const struct visitors *visitors)
{
    return poll(&(struct pollfd){.fd = visitors->listening, .events = POLLIN}, 1, 0) > 0;
}

struct visitor *visitors_accept(struct visitors *visitors, int *fd, struct sockaddr_storage *address, socklen_t *length)
{
    if (is_waiting_to_retry(visitors) || !waits_anybody(visitors))
        return NULL;
    visitors->retry_ns = 0;
    refill(visitors);
    struct visitor *place = free_place(visitors);
    *fd = place && has_descriptor(visitors) ? accept_one(visitors, address, length) : -EMFILE;
    if (*fd == -EAGAIN)
        return NULL;
    if (*fd < 0) {
        if (!is_anybody_leaving(visitors))
            make_room(visitors);
        visitors->retry_ns = gt_clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
        return NULL;
    }
    *place = (struct visitor){.fd = *fd,
                              .due_ns = gt_clock_ns(CLOCK_MONOTONIC) + HTTP_SECONDS * SECOND,
                              .number = visitors->count++,
                              .is_half = true};
    note_address(place->address, address);
    return place;
}

void visitors_leave(struct visitors *visitors, struct visitor *visitor)
{
    visitor->fd = -1;
    visitors->retry_ns = 0;
    refill(visitors);
}

/* ---- Time -------------------------------------------------------------------------------------------------------- */

void visitors_end_overdue(struct visitors *visitors)
{
    int64_t time = gt_clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < HTTP_CONNECTIONS; i++)
        if (visitors->visitor[i].fd >= 0 && visitors->visitor[i].due_ns <= time)
            end(&visitors->visitor[i]);
}

void visitors_let_stay(struct visitor *visitor, int seconds)
{
    if (visitor && !visitor->is_leaving)
        visitor->due_ns = gt_clock_ns(CLOCK_MONOTONIC) + seconds * SECOND;
}

int visitors_poll(const struct visitors *visitors)
{
    return is_waiting_to_retry(visitors) ? -1 : visitors->listening;
}

int visitors_patience(const struct visitors *visitors)
{
    int64_t least = visitors->retry_ns ? visitors->retry_ns : INT64_MAX, time = gt_clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < HTTP_CONNECTIONS; i++)
        if (visitors->visitor[i].fd >= 0 && visitors->visitor[i].due_ns < least)
            least = visitors->visitor[i].due_ns;
    if (least == INT64_MAX)
        return -1;
    return least <= time ? 0 : (int)((least - time) / 1000000) + 1;
}

void visitors_open(struct visitors *visitors, int listening)
{
    visitors->listening = listening;
    for (int i = 0; i < HTTP_CONNECTIONS; i++)
        visitors->visitor[i].fd = -1;
    refill(visitors);
}

void visitors_close(struct visitors *visitors)
{
    while (visitors->reserved)
        close(visitors->reserve[--visitors->reserved]);
    if (visitors->listening >= 0)
        close(visitors->listening);
    visitors->listening = -1;
}
