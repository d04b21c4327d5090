/* Recordings are pushed into the tables of a server: each row is there once in the end, whatever happens on the way.
 *
 * Nobody trusts an answer that did not come. At the begin and after every failure the server is asked what it has, when nothing of ours
 * runs there any more; then it goes on behind that. In the end rows are counted, and what is missing is sent again. */
#ifndef GT_ENGINE_PUSH_H
#define GT_ENGINE_PUSH_H

#include <signal.h>

#include "engine/http.h"
#include "engine/shipment.h"

struct gt_push;

struct gt_push_options {
    const struct gt_login_files *files;
    bool is_live; /* recordings grow meanwhile; the server's clock is compared with ours */
    void (*warn)(void *context, const char *sentence); /* may be NULL */
    void (*settled)(void *context); /* gt_push_follow: from now on there is nothing to be told; may be NULL */
    void *context;
    struct gt_http_limits limits;
};

struct gt_push_figures {
    unsigned long long rows, requests, bytes; /* that were sent; packed */
    size_t recordings, shipped;
};

int gt_push_open(struct gt_push **ret, const struct gt_address *address, const struct gt_push_options *options,
                 struct gt_error *error);
/* Add a recording. -EEXIST: it is there already. The shipment belongs to the push. */
int gt_push_add(struct gt_push *push, const char *path, struct gt_shipment **ret, struct gt_error *error);
void gt_push_remove(struct gt_push *push, struct gt_shipment *shipment);
/* Ask whether the server answers, and takes rows from this user. */
int gt_push_check(struct gt_push *push, struct gt_error *error);
/* Send what there is. After a failure this is called again, later, unless gt_server_refused. */
int gt_push_round(struct gt_push *push, struct gt_error *error);
void gt_push_figures(const struct gt_push *push, struct gt_push_figures *ret);
void gt_push_close(struct gt_push *push);

/* Recordings that somebody names are pushed, by hand. */

/* Push files until the server has all of them, with pauses while it cannot be asked; `patience` seconds after the last success it is
 * given up. What cannot be read is told and left out: -EBADMSG then, when the others are there. */
int gt_push_files(const char *const *paths, size_t count, const char *address, const struct gt_push_options *options,
                  double patience, struct gt_push_figures *ret, struct gt_error *error);

/* Wait before trying again: a fifth of a second at first, twice as long each time up to a minute, each a little different. */
struct gt_pause {
    double seconds;
    unsigned seed;
};
/* Returns the seconds to wait next. */
double gt_pause_next(struct gt_pause *pause);
void gt_sleep(double seconds);

/* One process of a node ships the recordings of its spool while they are written. */

/* Push every recording in a folder, as long as there is one, and remove what the server has. Of several processes on one folder one works,
 * and the others wait for its end. The first trouble is told once. `stop`, when it is set, asks to end after one more try. */
int gt_push_follow(const char *folder, const char *address, const struct gt_push_options *options,
                   const volatile sig_atomic_t *stop, struct gt_error *error);

#endif
