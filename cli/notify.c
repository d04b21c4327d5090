#include "notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"

static void send_text(const struct notify *notify, const char *text)
{
    int fd = notify->length ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0)
        return;
    sendto(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&notify->address,
           notify->length);
    close(fd);
}

/* Half of what systemd waits; 0 when it does not, or not for us. */
static int64_t period(void)
{
    const char *text = getenv("WATCHDOG_USEC"), *whose = getenv("WATCHDOG_PID");
    int64_t microseconds, pid;
    if (!text || gt_number_i64(text, &microseconds) < 0 || microseconds < 2 || microseconds > INT64_MAX / 1000)
        return 0;
    if (whose && (gt_number_i64(whose, &pid) < 0 || pid != getpid()))
        return 0;
    return microseconds * 1000 / 2;
}

/* A path, or "@" and an abstract name. */
static void find_address(struct notify *notify)
{
    const char *path = getenv("NOTIFY_SOCKET");
    size_t length = path ? strlen(path) : 0;
    if (length < 2 || length >= sizeof notify->address.sun_path || (*path != '/' && *path != '@'))
        return;
    notify->address.sun_family = AF_UNIX;
    memcpy(notify->address.sun_path, path, length);
    if (*path == '@')
        notify->address.sun_path[0] = '\0';
    notify->length = (unsigned)(offsetof(struct sockaddr_un, sun_path) + length);
}

void notify_ready(struct notify *notify)
{
    *notify = (struct notify){0};
    find_address(notify);
    notify->every_ns = notify->length ? period() : 0;
    send_text(notify, "READY=1");
}

int notify_alive(struct notify *notify)
{
    int64_t time = gt_clock_ns(CLOCK_MONOTONIC);
    if (!notify->every_ns)
        return -1;
    if (time >= notify->due_ns) {
        send_text(notify, "WATCHDOG=1");
        notify->due_ns = time + notify->every_ns;
    }
    return (int)((notify->due_ns - time) / 1000000) + 1;
}
