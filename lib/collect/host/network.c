/* The collector "network": bytes through the network namespace of the main process, loopback left out.
 *
 * Everything in the namespace counts, whoever sent it: on a machine without containers that is the whole machine. So these are no
 * figures of the job. The kept descriptor stays with
 * the namespace when the process ends. An interface that goes away keeps what it had counted while it was seen. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/number.h"
#include "collect/collector.h"

static const enum gt_metric_id metrics[] = {GT_NETWORK_NAMESPACE_RECEIVED, GT_NETWORK_NAMESPACE_SENT};

enum { NAME_BYTES = 16, TEXT_BYTES = 65536 };

struct interface {
    char name[NAME_BYTES];
    unsigned long long received, sent; /* as last read */
};

struct state {
    int fd;
    bool is_open; /* counts since open: the first reading is the base */
    double received, sent;
    const struct gt_clock *clock;
    int64_t read_ns;
    struct interface *interface;
    size_t count, capacity;
    char *text; /* TEXT_BYTES */
};

static struct interface *find(struct state *state, const char *name, size_t length)
{
    for (size_t i = 0; i < state->count; i++)
        if (strlen(state->interface[i].name) == length && !memcmp(state->interface[i].name, name, length))
            return &state->interface[i];
    struct interface *added = GT_GROW_LIST(state, interface);
    if (!added)
        return NULL;
    *added = (struct interface){0};
    memcpy(added->name, name, length);
    return added;
}

/* A counter below its last value began anew: the interface was removed and made again. */
static double advance(unsigned long long *last, unsigned long long now)
{
    unsigned long long more = now >= *last ? now - *last : now;
    *last = now;
    return (double)more;
}

static bool read_bytes(const char *fields, unsigned long long *received, unsigned long long *sent)
{
    enum { RECEIVED, SENT = 8, FIELDS };
    unsigned long long field[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        const char *end = fields;
        field[i] = gt_number_next(&end);
        if (end == fields)
            return false;
        fields = end;
    }
    *received = field[RECEIVED];
    *sent = field[SENT];
    return true;
}

/* Lines "  eth0: BYTES PACKETS ... (8 of receiving) BYTES ..." after two lines of headings. */
static void add_line(struct state *state, const char *line)
{
    line += strspn(line, " ");
    const char *colon = strchr(line, ':');
    size_t length = colon ? (size_t)(colon - line) : 0;
    unsigned long long received, sent;
    if (!length || length >= NAME_BYTES || (length == 2 && !memcmp(line, "lo", 2)) ||
        !read_bytes(colon + 1, &received, &sent))
        return;
    struct interface *interface = find(state, line, length);
    if (!interface)
        return;
    double more_received = advance(&interface->received, received), more_sent = advance(&interface->sent, sent);
    if (state->is_open) {
        state->received += more_received;
        state->sent += more_sent;
    }
}

static int read_interfaces(struct state *state)
{
    ssize_t length = gt_root_reread(state->fd, state->text, TEXT_BYTES);
    if (length <= 0)
        return length < 0 ? (int)length : -ENODATA;
    char *save;
    for (char *line = strtok_r(state->text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        add_line(state, line);
    state->is_open = true;
    return 0;
}

static void network_close(void *opaque)
{
    struct state *state = opaque;
    if (state && state->fd >= 0)
        close(state->fd);
    if (state) {
        free(state->interface);
        free(state->text);
    }
    free(state);
}

static int network_open(void **ret, const struct gt_collect_options *options, struct gt_frame *frame,
                        struct gt_availability *availability, struct gt_error *error)
{
    (void)frame;
    *ret = NULL;
    *availability = (struct gt_availability){.source = "/proc/PID/net/dev", .refresh = 1};
    char path[64] = "proc/self/net/dev";
    if (options->pid)
        snprintf(path, sizeof path, "proc/%d/net/dev", (int)options->pid);
    struct state *state = calloc(1, sizeof *state);
    char *text = malloc(TEXT_BYTES);
    if (!state || !text) {
        free(state);
        free(text);
        return gt_error_system(error, ENOMEM, "network collector");
    }
    state->text = text;
    state->clock = options->clock;
    state->read_ns = INT64_MIN / 2;
    state->fd = gt_root_open_file(options->root, path);
    int result = state->fd < 0 ? state->fd : read_interfaces(state);
    if (result < 0) {
        bool is_denied = result == -EACCES || result == -EPERM;
        network_close(state);
        return gt_unavailable(availability, is_denied ? GT_DENIED : GT_ABSENT, NULL, "/%s %s", path,
                              is_denied ? "may not be read" : "is not there");
    }
    *ret = state;
    return 0;
}

static int network_collect(void *opaque, struct gt_frame *frame, struct gt_error *error)
{
    (void)error;
    struct state *state = opaque;
    int64_t now = gt_clock_monotonic(state->clock);
    if (frame->is_last || now - state->read_ns >= GT_COLLECT_SLOW_NS) {
        if (read_interfaces(state) < 0)
            return 0;
        state->read_ns = now;
    }
    frame->system[GT_NETWORK_NAMESPACE_RECEIVED] = state->received;
    frame->system[GT_NETWORK_NAMESPACE_SENT] = state->sent;
    return 0;
}

static const struct gt_origin origins[] = {
    {GT_NETWORK_NAMESPACE_RECEIVED, GT_EXACT, "/proc/PID/net/dev",
     "of the whole network namespace, not of the job alone; rows read it once a second"},
    {GT_NETWORK_NAMESPACE_SENT, GT_EXACT, "/proc/PID/net/dev",
     "of the whole network namespace, not of the job alone; rows read it once a second"},
};

const struct gt_collector_type gt_collector_network = {
    .name = "network",
    .help = "bytes through the whole network namespace of the main process",
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
    .origins = origins,
    .origin_count = sizeof origins / sizeof *origins,
    .open = network_open,
    .collect = network_collect,
    .close = network_close,
    .lags = true,
};
