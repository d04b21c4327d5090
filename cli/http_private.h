/* The server, for the files that it consists of. */
#ifndef CLI_HTTP_PRIVATE_H
#define CLI_HTTP_PRIVATE_H

#include <microhttpd.h>
#include <stdint.h>

#include "base/library.h"
#include "http.h"
#include "job_feed.h"

/* The functions of the library that are used, by their names without the prefix. */
struct functions {
    __typeof__(&MHD_start_daemon) start_daemon;
    __typeof__(&MHD_stop_daemon) stop_daemon;
    __typeof__(&MHD_get_daemon_info) get_daemon_info;
    __typeof__(&MHD_get_connection_info) get_connection_info;
    __typeof__(&MHD_get_timeout) get_timeout;
    __typeof__(&MHD_run) run;
    __typeof__(&MHD_lookup_connection_value) lookup_connection_value;
    __typeof__(&MHD_create_response_from_buffer) create_response_from_buffer;
    __typeof__(&MHD_create_response_from_callback) create_response_from_callback;
    __typeof__(&MHD_add_response_header) add_response_header;
    __typeof__(&MHD_queue_response) queue_response;
    __typeof__(&MHD_destroy_response) destroy_response;
    __typeof__(&MHD_is_feature_supported) is_feature_supported;
    __typeof__(&MHD_suspend_connection) suspend_connection;
    __typeof__(&MHD_resume_connection) resume_connection;
};

struct connection {
    int fd; /* negative: free */
    int64_t due_ns;
    uint64_t number;
    uint64_t address; /* IPv4, or the network part of IPv6 */
    bool is_half;     /* its request is not complete */
    bool is_ending;   /* it was shut down, and the library will close it */
};

enum { PAGES_FEEDS = 16, PAGES_FOLLOWERS = 64 };

/* A connection that waits for the list or the page of a job, or gets the states of a job. */
struct follower {
    enum { NO_FOLLOWER, FOLLOWS_PAGE, FOLLOWS_STATES, FOLLOWER_KINDS } kind;
    struct http *http;
    struct MHD_Connection *connection;
    struct job_feed *feed; /* NULL: the list */
    struct job_text *text; /* states: the one that was sent last or is being sent */
    const char *rest;      /* of what is being sent */
    size_t rest_length;
    bool is_suspended, has_end;
};

struct pages {
    struct job_feed feed[PAGES_FEEDS];
    struct follower follower[2 * PAGES_FOLLOWERS]; /* up to PAGES_FOLLOWERS of each kind */
    bool is_closing;
};

enum { PLAIN, GZIP, PACKINGS };

struct http {
    struct gt_library library;
    struct functions mhd;
    struct MHD_Daemon *daemon;
    struct gt_exporter *exporter;
    struct http_token token;
    bool has_token;
    char *certificate, *key;
    char address[300];
    struct connection connection[2 * HTTP_CONNECTIONS]; /* more only until those that give way are closed */
    int connection_count;
    uint64_t connection_number;                               /* of all that ever came */
    struct MHD_Response *text[GT_EXPOSITION_COUNT][PACKINGS]; /* of the latest sample */
    struct pages pages;
};

struct http_field {
    const char *name, *value;
};
/* Queues a response (NULL: no memory) with these headers, up to one without a name, and destroys it. */
enum MHD_Result http_send(const struct http *http, struct MHD_Connection *connection, unsigned status,
                          struct MHD_Response *response, const struct http_field *headers);
/* Answers with plain text, and a header unless it is NULL. */
enum MHD_Result http_answer(const struct http *http, struct MHD_Connection *connection, unsigned status,
                            const char *text, const char *header, const char *value);
const char *http_header(const struct http *http, struct MHD_Connection *connection, const char *name);
/* Returns NULL for a connection that the server knows nothing about. */
struct connection *http_connection(const struct http *http, struct MHD_Connection *connection);
/* The connection may last for so many seconds from now on. */
void http_let_stay(const struct http *http, struct MHD_Connection *connection, int seconds);

/* Pages of the running jobs of this user: "/" lists them, "/job/PID" is the page of one. "/job/PID/states" feeds it with server-sent
 * events. Each is the whole state, so clients that come late, come back or read slowly get the latest one.
 *
 * A state is made only while somebody follows, at most one a second, and in up to a tenth of the time; all followers read one copy. The
 * page of a job that has ended is kept for a while, for its followers.
 *
 * Only the user may see his jobs: with a token its owner may; without one, programs of the same user on this machine. */

void pages_open(struct pages *pages);
enum MHD_Result pages_answer(struct http *http, struct MHD_Connection *connection, const char *path);
/* The connection has been closed. */
void pages_forget(struct pages *pages, const struct MHD_Connection *connection);
/* Take what has been made, hand it on, and ask for more. */
void pages_go_on(struct http *http);
/* All connections go on, to their end; what they read stays until it is released. */
void pages_close(struct http *http);
void pages_release(struct pages *pages);

#endif
