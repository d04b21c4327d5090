/* Recordings are sent to the tables of a server, each row once.
 *
 * Rows have numbers: their order in the recording. At the start and after every failure, push waits until none of
 * its inserts run on the server, asks for the highest number of each table, and sends the rest. When a recording has
 * ended, it asks again: rows that the server lost are sent again. The row of `trackers` with the final version comes
 * last. A lost reply proves nothing, so no insert is repeated without asking. */
#ifndef GT_ENGINE_PUSH_H
#define GT_ENGINE_PUSH_H

#include <signal.h>

#include "engine/server.h"
#include "engine/upload.h"

struct gt_push_options {
    const struct gt_login_files *files;
    bool is_live; /* recordings grow: report progress, and compare the clock with the server's */
    void (*warn)(void *context, const char *sentence); /* may be NULL */
    void (*settled)(void *context); /* gt_push_follow: called before it becomes silent; may be NULL */
    void *context;
    struct gt_request_limits limits;
};

struct gt_push_figures {
    unsigned long long rows, requests, bytes; /* sent; bytes after compression */
    size_t recordings, shipped;
};

struct gt_push_batch; /* rows for one insert into a table: private */

struct gt_push {
    struct gt_server *server;
    struct gt_push_options options;
    char job[sizeof((struct gt_address *)0)->jobs]; /* for all recordings; "": their own */
    struct gt_upload **upload;
    size_t count, capacity;
    struct gt_push_batch *batch[GT_ENGINE_TABLES]; /* NULL: not needed yet */
    unsigned repairs;                              /* of this round: how often the server lacked what it had taken */
    double clock_server, heartbeat;
    unsigned long long rows;
};

int gt_push_open(struct gt_push **ret, const struct gt_address *address, const struct gt_push_options *options,
                 struct gt_error *error);
/* Add a recording. -EEXIST: the same run was added before. The upload belongs to the push. */
int gt_push_add(struct gt_push *push, const char *path, struct gt_upload **ret, struct gt_error *error);
void gt_push_remove(struct gt_push *push, size_t index);
/* Send everything that the recordings have now. After an error, call it again later, unless gt_server_refused. */
int gt_push_round(struct gt_push *push, struct gt_error *error);
void gt_push_close(struct gt_push *push);

/* Push files, with pauses while the server fails, until `patience` seconds after the last success. Files that cannot be
 * read are reported and left out; the result is then -EBADMSG. */
int gt_push_files(const char *const *paths, size_t count, const char *address, const struct gt_push_options *options,
                  double patience, struct gt_push_figures *ret, struct gt_error *error);

/* Push the recordings of a spool while they grow, and remove those that the server has, until the spool is empty. One
 * process of several works; the others wait for its end. The first error is reported once. `stop` asks to end after one
 * more try. */
int gt_push_follow(const char *folder, const char *address, const struct gt_push_options *options,
                   const volatile sig_atomic_t *stop, struct gt_error *error);

/* Pauses between tries: 0.2 s, doubled each time up to a minute, each varied by half. */
struct gt_pause {
    double seconds;
    unsigned seed;
};
/* Returns the seconds to wait next. */
double gt_pause_next(struct gt_pause *pause);
void gt_sleep(double seconds);

#endif
