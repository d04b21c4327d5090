#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pwd.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "api/program.h"
#include "base/os/clock.h"
#include "gpu_tracker.h"
#include "message.h"
#include "option.h"
#include "job/launch.h"

/* ---- giving up what a program that answers others does not need ---- */

#if defined(__x86_64__)
static const unsigned ARCHITECTURE = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
static const unsigned ARCHITECTURE = AUDIT_ARCH_AARCH64;
#else
static const unsigned ARCHITECTURE = 0; /* not known */
#endif

struct confine {
    bool has_user; /* become this user and group */
    uid_t uid;
    gid_t gid;
};

/* Look up a user. NULL: root becomes gpu-tracker, or nobody if that user is missing; other users stay themselves.
 * 0, or an exit status after a message. */
static int confine_find(struct confine *confine, const char *user)
{
    *confine = (struct confine){0};
    if (!user && geteuid() != 0)
        return 0;
    const struct passwd *found = getpwnam(user ? user : "gpu-tracker");
    if (!found && !user)
        found = getpwnam("nobody");
    if (!found)
        return say_usage("--user %s: unknown user", user ? user : "nobody");
    if (found->pw_uid == 0)
        return say_usage("--user %s: the relay does not stay root", found->pw_name);
    *confine = (struct confine){.has_user = true, .uid = found->pw_uid, .gid = found->pw_gid};
    return 0;
}

static int fail(const char *what)
{
    return say_trouble("%s: %s", what, strerror(errno));
}

static int become(const struct confine *confine)
{
    if (!confine->has_user || (geteuid() == confine->uid && getuid() == confine->uid))
        return 0;
    if (setgroups(0, NULL) < 0 || setresgid(confine->gid, confine->gid, confine->gid) < 0 ||
        setresuid(confine->uid, confine->uid, confine->uid) < 0)
        return fail("becoming another user");
    return 0;
}

/* The bounding set can be emptied only by who still has CAP_SETPCAP; without a capability there is nothing it could
 * bound. */
static int drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capset, &header, none) < 0)
        return fail("dropping capabilities");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return fail("giving up new privileges");
    return 0;
}

/* The loop, the C library and an orderly end take these calls; everything else is refused with EPERM. */
static const unsigned allowed[] = {
    SYS_read,     SYS_pread64,    SYS_write,           SYS_close,        SYS_ppoll,          SYS_accept4,
    SYS_recvfrom, SYS_recvmsg,    SYS_sendto,          SYS_sendmsg,      SYS_getsockopt,     SYS_clock_gettime,
    SYS_exit,     SYS_exit_group, SYS_rt_sigreturn,    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_restart_syscall,
    SYS_brk,      SYS_mmap,       SYS_munmap,          SYS_mremap,       SYS_madvise,        SYS_futex,
    SYS_unlinkat, SYS_getrandom,  SYS_clock_nanosleep, SYS_fcntl,        SYS_newfstatat,     SYS_lseek,
#ifdef SYS_poll
    SYS_poll,     SYS_unlink,
#endif
};
enum { ALLOWED = sizeof allowed / sizeof *allowed };

static int filter_calls(void)
{
    struct sock_filter code[ALLOWED + 6];
    unsigned short length = 0;
    if (!ARCHITECTURE)
        return say_trouble("system calls cannot be filtered on this processor, and the relay does not run without");
    code[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < ALLOWED; i++)
        code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i],
                                                      (unsigned char)(ALLOWED - i), 0);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = length, .filter = code};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
        return fail(
            "system calls cannot be filtered, and the relay does not run without"); /* EINVAL: a kernel that cannot */
    return 0;
}

/* Becomes the user, drop every capability for good, and allow no system calls but those of an answering loop over
 * descriptors that are open. There is no way back. 0, or an exit status after saying what is wrong. */
static int confine_for_good(const struct confine *confine)
{
    for (int capability = 0; geteuid() == 0 && prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    int status = become(confine);
    if (!status)
        status = drop_capabilities();
    return status ? status : filter_calls();
}

/* ---- the socket ---- */

/* Clients at a time; of one user; answers for a client before it has to wait for the rest of a tenth of a second. */
enum { RELAY_CLIENTS = 128, RELAY_CLIENTS_OF_USER = 32, RELAY_ANSWERS = 256 };

static const int64_t TURN_NS = 100000000;

/* ---- Listening --------------------------------------------------------------------------------------------------- */

static int complain(const char *path, int code)
{
    say("--socket %s: %s", path, strerror(code));
    return -EXIT_TRACKER;
}

/* Removes the socket of a relay that has ended: connecting to it fails. */
static int clear_place(const char *path, const struct sockaddr_un *address)
{
    struct stat file;
    if (lstat(path, &file) < 0)
        return errno == ENOENT ? 0 : complain(path, errno);
    if (!S_ISSOCK(file.st_mode))
        return -say_usage("--socket %s: it exists and is not a socket", path);
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

/* Listens at `path`, which a relay that is gone may have left behind; its folder is made when only that is missing.
 * Members of `group` (of the owner's own, when `has_group` is false) may connect. Returns the descriptor, or a negative
 * exit status after saying what is wrong. */
static int relay_socket_listen(const char *path, bool has_group, gid_t group)
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
    mode_t mask = umask(S_IXUSR | S_IRWXG | S_IRWXO); /* private from its creation on */
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

/* Begins a turn if it is time: all clients may ask again. Milliseconds until the next; -1: no client waits for it. */
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

/* Answers until a signal asks for the end; 0 or an exit status. */
static int relay_socket_run(int listening, struct gt_energy_relay *relay, const struct signals *signals)
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

/* ---- the command ---- */

static int answer_clients(const char *path, int listening, const struct confine *confine, struct gt_energy_relay *relay)
{
    struct signals signals;
    signals_take_ending(&signals);
    if (signals.fd < 0)
        return say_trouble("signals cannot be read");
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
    const struct group *group = options->group ? getgrnam(options->group) : NULL;
    if (options->group && !group)
        return say_usage("--group %s: unknown group", options->group);
    gid_t gid = group ? group->gr_gid : 0;
    int status = confine_find(&confine, options->user);
    if (status)
        return status;
    status = gt_energy_relay_open(&relay, options->root, &error);
    if (status < 0)
        return say_failure(status, &error);
    bool has_group = options->group || confine.has_user;
    int listening = relay_socket_listen(path, has_group, options->group ? gid : confine.gid);
    status = listening < 0 ? -listening : answer_clients(path, listening, &confine, relay);
    if (listening >= 0)
        close(listening);
    gt_energy_relay_close(relay);
    return status;
}

const struct command command_energy_relay = {
    .name = "energy-relay",
    .synopsis = "",
    .summary = "Share the energy counters of the processors with users who cannot read them",
    .description =
        "For administrators. It opens the energy counters, drops all rights, and answers over a Unix socket to the members of a group. The answer is the joules since its start, in steps of 0.1 J, updated at most ten times a second. A tracker that cannot read the counters connects to /run/gpu-tracker/energy.sock.\n\n"
        "SIGINT and SIGTERM end it with status 0. docs/energy.md has a unit for systemd.",
    .operand = OPERAND_NONE,
    .run = run,
};
