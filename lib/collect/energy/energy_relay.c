#include "collect/energy/energy_relay.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/number.h"
#include "collect/collector.h"

const enum gt_metric_id gt_relay_metrics[GT_RELAY_FIGURES] = {GT_CPU_ENERGY, GT_CORE_ENERGY, GT_UNCORE_ENERGY,
                                                              GT_DRAM_ENERGY, GT_PLATFORM_ENERGY};

size_t gt_relay_write(char text[GT_RELAY_MESSAGE], const struct gt_relay_answer *answer)
{
    char period[GT_NUMBER_SIZE], quantum[GT_NUMBER_SIZE];
    gt_number_repr(period, answer->period);
    gt_number_repr(quantum, answer->quantum);
    int length = snprintf(text, GT_RELAY_MESSAGE, "energy 1 %" PRIu64 " %s %s", answer->instance, period, quantum);
    for (int k = 0; k < GT_RELAY_FIGURES; k++)
        if (answer->has[k])
            length += snprintf(text + length, GT_RELAY_MESSAGE - (size_t)length, " %s=%" PRIu64,
                               gt_metrics[gt_relay_metrics[k]].name, answer->count[k]);
    length += snprintf(text + length, GT_RELAY_MESSAGE - (size_t)length, "\n");
    return (size_t)length;
}

/* Digits alone, no sign, no blank. */
static bool read_count(const char *text, uint64_t *ret)
{
    char *end;
    errno = 0;
    *ret = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && errno == 0 && !*end;
}

static bool read_positive(const char *text, double most, double *ret)
{
    return text && gt_number_double(text, ret) == 0 && *ret > 0 && *ret <= most;
}

/* "cpu_energy=123": false when the number is none. */
static bool read_figure(char *word, struct gt_relay_answer *answer)
{
    uint64_t count;
    char *number = word;
    if (!strsep(&number, "=") || !number || !read_count(number, &count))
        return false;
    for (int k = 0; k < GT_RELAY_FIGURES; k++)
        if (!strcmp(word, gt_metrics[gt_relay_metrics[k]].name)) {
            if (answer->has[k])
                return false;
            answer->has[k] = true;
            answer->count[k] = count;
        }
    return true;
}

static int parse_words(char *text, struct gt_relay_answer *answer)
{
    char *rest = text, *word = strsep(&rest, " "), *version = strsep(&rest, " ");
    if (!version || strcmp(word, "energy"))
        return -EINVAL;
    if (strcmp(version, "1"))
        return -EPROTONOSUPPORT;
    char *instance = strsep(&rest, " "), *period = strsep(&rest, " "), *quantum = strsep(&rest, " ");
    if (!instance || !read_count(instance, &answer->instance) || !read_positive(period, 3600, &answer->period) ||
        !read_positive(quantum, 1e6, &answer->quantum))
        return -EINVAL;
    while ((word = strsep(&rest, " ")))
        if (!read_figure(word, answer))
            return -EINVAL;
    return 0;
}

int gt_relay_parse(const char *text, size_t length, struct gt_relay_answer *ret)
{
    char copy[GT_RELAY_MESSAGE];
    struct gt_relay_answer answer = {0};
    if (!length || length >= sizeof copy || text[length - 1] != '\n' || memchr(text, 0, length) ||
        memchr(text, '\n', length - 1))
        return -EINVAL;
    memcpy(copy, text, length - 1);
    copy[length - 1] = 0;
    int status = parse_words(copy, &answer);
    if (status == 0)
        *ret = answer;
    return status;
}

/* The collector "relay": energy counters that this user may not read, by way of an energy relay that may. It fills in what no
 * collector before it could read.
 *
 * A relay that died leaves its figures missing; one that is started again goes on from what was counted before. */

extern const struct gt_collector_type gt_collector_relay;

/* A relay that does not answer holds up a sample so long, and is left alone afterwards. */
enum { PATIENCE_MS = 50 };
static const int64_t AGAIN_NS = GT_SECOND;
/* A relay that was just started may have no value yet: a counter has one once it has moved. Values are new each period. */
enum { FIRST_LOOKS = 4 };
static const double LONGEST_WAIT = 0.25;

struct state {
    struct sockaddr_un address;
    const struct gt_clock *clock;
    int fd; /* negative: not connected */
    int64_t again_ns;
    bool is_wanted[GT_RELAY_FIGURES];
    struct gt_relay_answer last;
    double joules[GT_RELAY_FIGURES];
    unsigned failures;
};

/* Where no relay is, nothing is asked for. -ENOTSOCK: this process may make no socket, and errno says why. */
static int connect_to(const struct sockaddr_un *address)
{
    if (access(address->sun_path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
        return -ENOENT;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -ENOTSOCK;
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0)
        return fd;
    int status = -errno;
    close(fd);
    return status;
}

static int ask(int fd, struct gt_relay_answer *ret)
{
    char text[GT_RELAY_MESSAGE];
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    if (send(fd, GT_RELAY_REQUEST, strlen(GT_RELAY_REQUEST), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return -errno;
    if (poll(&polled, 1, PATIENCE_MS) <= 0)
        return -ETIMEDOUT;
    ssize_t length = recv(fd, text, sizeof text, MSG_DONTWAIT | MSG_TRUNC);
    if (length <= 0)
        return length < 0 ? -errno : -EPIPE;
    return (size_t)length > sizeof text ? -EMSGSIZE : gt_relay_parse(text, (size_t)length, ret);
}

/* Gets the first answer with a value. -ENODATA: none had one. */
static int ask_first(int fd, struct gt_relay_answer *ret)
{
    for (int look = 0; look < FIRST_LOOKS; look++) {
        int status = ask(fd, ret);
        bool has_any = false;
        for (int k = 0; k < GT_RELAY_FIGURES && status >= 0; k++)
            has_any |= ret->has[k];
        if (status < 0 || has_any)
            return status;
        nanosleep(&(struct timespec){.tv_nsec = (long)(fmin(ret->period, LONGEST_WAIT) * 1e9)}, NULL);
    }
    return -ENODATA;
}

static void relay_close(void *opaque)
{
    struct state *state = opaque;
    gt_close_fd(state->fd);
    state->fd = -1;
}

static int explain(struct gt_availability *availability, const char *path, int status, int code)
{
    char remedy[200];
    snprintf(remedy, sizeof remedy, "sudo usermod -aG \"$(stat -c %%G %.80s)\" \"$USER\"", path);
    switch (-status) {
    case ENOENT: return gt_unavailable(availability, GT_ABSENT, NULL, "no energy relay runs on this machine");
    case ENOTSOCK:
        return gt_unavailable(availability, GT_BROKEN, NULL, "this process may make no socket to ask it: %s",
                              strerror(code));
    case EPERM:
        return gt_unavailable(availability, GT_BROKEN, NULL, "the system forbids this process to connect to %.80s",
                              path);
    case EACCES: return gt_unavailable(availability, GT_DENIED, remedy, "this user may not connect to %.100s", path);
    case ECONNREFUSED: return gt_unavailable(availability, GT_BROKEN, NULL, "no relay answers at %.100s", path);
    case ENODATA:
        return gt_unavailable(availability, GT_BROKEN, NULL,
                              "the relay at %.80s has no figures: its counters stand still", path);
    case EPROTONOSUPPORT:
        return gt_unavailable(availability, GT_BROKEN, NULL, "the relay at %.80s is of another version", path);
    default: return gt_unavailable(availability, GT_BROKEN, NULL, "%.80s: %s", path, strerror(-status));
    }
}

static int relay_open(void *opaque, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                      struct gt_availability *availability, struct gt_error *error)
{
    const char *given = gt_collect_library(options, "energy-relay"), *path = given ? given : GT_ENERGY_RELAY_SOCKET;
    (void)error;
    struct state *state = opaque;
    state->fd = -1;
    if (!given && !options->root->is_machine)
        return gt_unavailable(availability, GT_ABSENT, NULL, "a stored machine has no energy relay");
    state->clock = options->clock;
    state->address.sun_family = AF_UNIX;
    snprintf(state->address.sun_path, sizeof state->address.sun_path, "%s", path);
    int status = strlen(path) < sizeof state->address.sun_path ? connect_to(&state->address) : -ENAMETOOLONG;
    state->fd = status;
    if (status >= 0)
        status = ask_first(state->fd, &state->last);
    if (status < 0)
        return explain(availability, path, status, errno);
    availability->refresh = state->last.period;
    bool any = false;
    for (int k = 0; k < GT_RELAY_FIGURES; k++) {
        size_t said = strlen(availability->reason);
        state->is_wanted[k] = state->last.has[k] &&
                              gt_snapshot_claim(snapshot, gt_relay_metrics[k], &gt_collector_relay);
        any |= state->is_wanted[k];
        if (!state->last.has[k])
            snprintf(availability->reason + said, sizeof availability->reason - said, "%s%s", said ? ", " : "without ",
                     gt_metrics[gt_relay_metrics[k]].name);
    }
    snprintf(availability->source, sizeof availability->source, "energy relay at %.100s", path);
    if (any)
        return 0;
    relay_close(state); /* collectors before could read all of it */
    state->again_ns = INT64_MAX;
    return 0;
}

static int relay_collect(void *opaque, struct gt_snapshot *snapshot, struct gt_error *error)
{
    (void)error;
    struct state *state = opaque;
    struct gt_relay_answer answer;
    int64_t now = gt_clock_monotonic(state->clock);
    if (state->fd < 0 && now >= state->again_ns)
        state->fd = connect_to(&state->address);
    if (state->fd < 0 || ask(state->fd, &answer) < 0) {
        relay_close(state);
        if (now >= state->again_ns)
            state->again_ns = now + AGAIN_NS;
        state->failures += state->again_ns != INT64_MAX;
        return 0;
    }
    bool goes_on = answer.instance == state->last.instance;
    state->last.instance = answer.instance;
    for (int k = 0; k < GT_RELAY_FIGURES; k++) {
        if (!answer.has[k])
            continue;
        if (goes_on && state->last.has[k] && answer.count[k] > state->last.count[k])
            state->joules[k] += (double)(answer.count[k] - state->last.count[k]) * answer.quantum;
        state->last.has[k] = true;
        state->last.count[k] = answer.count[k];
        if (state->is_wanted[k]) {
            /* A counter that does not move measures nothing. */
            snapshot->system[gt_relay_metrics[k]] = state->joules[k] > 0 ? state->joules[k] : NAN;
            snapshot->doubt[gt_relay_metrics[k]] = goes_on ? 0 : INFINITY;
        }
    }
    return 0;
}

static void relay_describe(const void *opaque, char *text, size_t size)
{
    const struct state *state = opaque;
    int length = snprintf(text, size, "in steps of %g J, new every %g s", state->last.quantum, state->last.period);
    if (state->failures && length > 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length, "; samples without an answer: %u", state->failures);
}

static void relay_explain(const void *opaque, enum gt_metric_id metric, char *text, size_t size)
{
    const struct state *state = opaque;
    bool is_still = false;
    for (int k = 0; k < GT_RELAY_FIGURES; k++)
        is_still |= gt_relay_metrics[k] == metric && state->fd >= 0 && state->last.has[k] && state->joules[k] <= 0;
    snprintf(text, size, "%s",
             is_still ? "the relay's energy counter does not change" : "the energy relay has no value for it");
}

const struct gt_collector_type gt_collector_relay = {
    .name = "relay",
    .libraries = (const char *const[]){"energy-relay", NULL},
    .help = "energy of the processors from an energy relay, where this user may not read the counters",
    .claims = true,
    .metrics = gt_relay_metrics,
    .metric_count = GT_RELAY_FIGURES,
    .source = "energy relay",
    .state_size = sizeof(struct state),
    .open = relay_open,
    .collect = relay_collect,
    .close = relay_close,
    .describe = relay_describe,
    .explain = relay_explain,
};
