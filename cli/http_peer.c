/* Whose program is at the other end of a connection within this machine: the kernel tells (man 7 sock_diag). */
#include "http.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* Another site may name this machine as its own and have a browser ask for it. */
bool http_host_is_local(const char *host)
{
    size_t length = host ? *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":") : 0;
    return (length == 9 && !strncasecmp(host, "localhost", length)) ||
           (length == 5 && !strncmp(host, "[::1]", length)) ||
           (length > 4 && !strncmp(host, "127.", 4) && strspn(host, "0123456789.") == length);
}
