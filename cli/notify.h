/* Messages of a service go to systemd: see sd_notify(3), NOTIFY_SOCKET and WATCHDOG_USEC. Quiet where nobody asks. */
#ifndef CLI_NOTIFY_H
#define CLI_NOTIFY_H

#include <stdint.h>
#include <sys/un.h>

struct notify {
    struct sockaddr_un address;
    unsigned length;          /* of the address; 0: nobody asks */
    int64_t every_ns, due_ns; /* of signs of life; 0: none are wanted */
};

/* Say that the service is ready. */
void notify_ready(struct notify *notify);
/* Say that it is alive, when that is due. Milliseconds until it is due again; -1: never. */
int notify_alive(struct notify *notify);

#endif
