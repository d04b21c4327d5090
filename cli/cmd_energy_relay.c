#include <stdio.h>
#include <unistd.h>

#include "confine.h"
#include "gpu_tracker.h"
#include "message.h"
#include "option.h"
#include "relay_socket.h"

static int answer_clients(const char *path, int listening, const struct confine *confine, struct gt_energy_relay *relay)
{
    struct signals signals;
    signals_take_ending(&signals);
    if (signals.fd < 0) {
        say("signals cannot be read");
        return EXIT_TRACKER;
    }
    int status = confine_for_good(confine);
    if (!status) {
        printf("%s\n", path);
        fflush(stdout);
        status = relay_socket_run(listening, relay, &signals);
        unlink(path); /* where that is still allowed; the next relay clears it away otherwise */
    }
    signals_close(&signals);
    return status;
}

static int run(const struct options *options, int count, char **operands)
{
    (void)count;
    (void)operands;
    const char *path = options->socket ? options->socket : GT_ENERGY_RELAY_SOCKET;
    struct gt_energy_relay *relay = NULL;
    struct gt_error error = {0};
    struct confine confine;
    gid_t group = 0;
    int status = confine_find(&confine, options->user);
    if (!status && options->group)
        status = confine_find_group(&group, options->group);
    if (status)
        return status;
    status = gt_energy_relay_open(&relay, options->root, &error);
    if (status < 0)
        return say_failure(status, &error);
    bool has_group = options->group || confine.has_user;
    int listening = relay_socket_listen(path, has_group, options->group ? group : confine.gid);
    status = listening < 0 ? -listening : answer_clients(path, listening, &confine, relay);
    if (listening >= 0)
        close(listening);
    gt_energy_relay_close(relay);
    return status;
}

const struct command command_energy_relay = {
    .name = "energy-relay",
    .synopsis = "",
    .summary = "Give the energy counters of the processors, coarsely, to users who may not read them",
    .description =
        "For administrators. Opens the energy counters, becomes a user without any right, and answers over a Unix socket "
        "to members of a group: joules since its start, new ten times a second at most and in steps of 0.1 J. Trackers "
        "that may not read the counters themselves ask at /run/gpu-tracker/energy.sock.\n\n"
        "SIGINT and SIGTERM end it with status 0. docs/energy-relay.md says what it opens and what it does not, and has "
        "a unit for systemd.",
    .operand = OPERAND_NONE,
    .run = run,
};
