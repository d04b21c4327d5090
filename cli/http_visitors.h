/* This knows who is connected to the HTTP server. We accept connections ourselves, so that nothing that visitors do ends the listening:
 *
 *  - When all places are taken, or descriptors are short, the address with the most half requests gives up its oldest ones. So
 *    neither many half-open connections nor many requests that never end keep others out, and no address is ended for another's.
 *  - Descriptors are held in reserve for visitors, and others are left free for taking a sample.
 *  - After an error of accepting we try again a moment later, whether or not somebody visits. */
#ifndef CLI_HTTP_VISITORS_H
#define CLI_HTTP_VISITORS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "http.h"

enum { HTTP_RESERVE = 16 };

struct visitor {
    int fd; /* negative: free */
    int64_t due_ns;
    uint64_t number;
    unsigned char address[8]; /* IPv4, or the network part of IPv6 */
    bool is_half;             /* its request is not whole yet */
    bool is_leaving;          /* the connection was shut down */
};

struct visitors {
    int listening;
    struct visitor visitor[HTTP_CONNECTIONS];
    uint64_t count; /* of all that ever came */
    int reserve[HTTP_RESERVE];
    int reserved;
    int64_t retry_ns; /* 0, or when accepting is tried again */
};

void visitors_open(struct visitors *visitors, int listening);
/* Takes in the next that waits, its descriptor in *fd. Returns its place, NULL when nobody can be taken in now. */
struct visitor *visitors_accept(struct visitors *visitors, int *fd, struct sockaddr_storage *address,
                                socklen_t *length);
/* Its connection has been closed. */
void visitors_leave(struct visitors *visitors, struct visitor *visitor);
/* Shuts down those who have been here for HTTP_SECONDS, however slowly they speak. */
void visitors_end_overdue(struct visitors *visitors);
/* A visitor may stay for so long from now on. */
void visitors_let_stay(struct visitor *visitor, int seconds);
/* Returns the descriptor to poll for newcomers; negative while there is no place. */
int visitors_poll(const struct visitors *visitors);
/* Returns the milliseconds until something is due; -1: nothing is. */
int visitors_patience(const struct visitors *visitors);
void visitors_close(struct visitors *visitors);

#endif
