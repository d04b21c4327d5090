#include "http_visitors.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

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

/* Whether a newcomer can have a descriptor, from the reserve when there is no other. Who cannot is not accepted, and so waits. */
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
