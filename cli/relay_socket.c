#include "relay_socket.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "message.h"

static const int64_t TURN_NS = 100000000;

/* ---- Listening --------------------------------------------------------------------------------------------------- */

static int complain(const char *path, int code)
{
    say("--socket %s: %s", path, strerror(code));
    return -EXIT_TRACKER;
}

/* A socket at which nobody answers was left by a relay that is gone. */
static int clear_place(const char *path, const struct sockaddr_un *address)
{
    struct stat file;
    if (lstat(path, &file) < 0)
        return errno == ENOENT ? 0 : complain(path, errno);
    if (!S_ISSOCK(file.st_mode))
        return -say_usage("--socket %s: there is a file that is no socket", path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool answers = fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 || errno == EAGAIN);
    if (fd >= 0)
        close(fd);
    if (answers)
        return -say_usage("--socket %s: an energy relay answers there already", path);
    return unlink(path) < 0 ? complain(path, errno) : 0;
}

static void make_folder(const char *path)
{
    char folder[sizeof((struct sockaddr_un *)0)->sun_path];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash && slash != folder) {
        *slash = 0;
        mkdir(folder, 0755);
    }
}

int relay_socket_listen(const char *path, bool has_group, gid_t group)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return -say_usage("--socket %s: longer than %zu bytes", path, sizeof address.sun_path - 1);
    strcpy(address.sun_path, path);
    make_folder(path);
    int status = clear_place(path, &address);
    if (status < 0)
        return status;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask = umask(S_IXUSR | S_IRWXG | S_IRWXO); /* nobody else's from its first moment */
    status = fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ? errno : 0;
    umask(mask);
    if (!status && has_group && chown(path, (uid_t)-1, group) < 0)
        status = errno;
    if (!status && (chmod(path, S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP) < 0 || listen(fd, RELAY_CLIENTS) < 0))
        status = errno;
    if (!status)
        return fd;
    if (fd >= 0)
        close(fd);
    return complain(path, status);
}

/* ---- Answering --------------------------------------------------------------------------------------------------- */

struct client {
    int fd; /* negative: free */
    uid_t uid;
    unsigned answers; /* in this turn */
};

struct loop {
    struct gt_energy_relay *relay;
    struct client client[RELAY_CLIENTS];
    int64_t turn_ns;
};

static void leave(struct client *client)
{
    close(client->fd);
    client->fd = -1;
}

static void accept_one(struct loop *loop, int listening)
{
    int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t length = sizeof peer;
    struct client *place = NULL;
    int of_user = 0;
    if (fd < 0)
        return;
    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    for (int i = 0; i < RELAY_CLIENTS; i++) {
        of_user += loop->client[i].fd >= 0 && loop->client[i].uid == peer.uid;
        if (loop->client[i].fd < 0)
            place = &loop->client[i];
    }
    if (place && of_user < RELAY_CLIENTS_OF_USER)
        *place = (struct client){.fd = fd, .uid = peer.uid};
    else
        close(fd);
}

/* Who says something else, or does not take its answer, is sent away. */
static void answer(struct loop *loop, struct client *client)
{
    char request[16];
    const char *text;
    size_t length;
    ssize_t got = recv(client->fd, request, sizeof request, MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0 || (size_t)got > sizeof request ||
        gt_energy_relay_answer(loop->relay, request, (size_t)got, &text, &length) < 0 ||
        send(client->fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        leave(client);
        return;
    }
    client->answers++;
}

/* A turn is over: everybody may ask again. Milliseconds until the next, -1 when nobody waits for it. */
static int take_turn(struct loop *loop)
{
    int64_t time = gt_clock_ns(CLOCK_MONOTONIC);
    bool waits = false;
    if (time - loop->turn_ns >= TURN_NS) {
        loop->turn_ns = time;
        for (int i = 0; i < RELAY_CLIENTS; i++)
            loop->client[i].answers = 0;
    }
    for (int i = 0; i < RELAY_CLIENTS; i++)
        waits |= loop->client[i].fd >= 0 && loop->client[i].answers >= RELAY_ANSWERS;
    return waits ? (int)((loop->turn_ns + TURN_NS - time) / 1000000) + 1 : -1;
}

int relay_socket_run(int listening, struct gt_energy_relay *relay, const struct signals *signals)
{
    struct loop loop = {.relay = relay};
    siginfo_t signal;
    for (int i = 0; i < RELAY_CLIENTS; i++)
        loop.client[i].fd = -1;
    while (!signals_next(signals, &signal)) {
        struct pollfd polled[RELAY_CLIENTS + 2];
        int wait = take_turn(&loop);
        for (int i = 0; i < RELAY_CLIENTS; i++) {
            bool may_ask = loop.client[i].answers < RELAY_ANSWERS;
            polled[i] = (struct pollfd){.fd = may_ask ? loop.client[i].fd : -1, .events = POLLIN};
        }
        polled[RELAY_CLIENTS] = (struct pollfd){.fd = listening, .events = POLLIN};
        polled[RELAY_CLIENTS + 1] = (struct pollfd){.fd = signals->fd, .events = POLLIN};
        if (poll(polled, RELAY_CLIENTS + 2, wait) < 0 && errno != EINTR)
            return EXIT_TRACKER;
        for (int i = 0; i < RELAY_CLIENTS; i++)
            if (polled[i].fd >= 0 && polled[i].revents)
                answer(&loop, &loop.client[i]);
        if (polled[RELAY_CLIENTS].revents)
            accept_one(&loop, listening);
    }
    for (int i = 0; i < RELAY_CLIENTS; i++)
        if (loop.client[i].fd >= 0)
            leave(&loop.client[i]);
    return 0;
}
