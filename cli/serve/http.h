/* The server of serve: the text of metrics at /metrics (cmd_serve.c), and pages of jobs (http_pages.c). One thread answers all.
 *
 * libmicrohttpd accepts connections, limits their number and the size of requests, and closes idle ones. Each connection has one answer,
 * and all share one copy of a text. */
#ifndef CLI_SERVE_HTTP_H
#define CLI_SERVE_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu_tracker.h"

/* ---- Access (http_access.c) ---- */

/* Opens a listening socket, or returns a negative exit status after saying what is wrong: without a token, other machines must not reach
 * it. `shown` gets the address with the port in use. */
int http_listen(const char *text, bool has_token, bool has_tls, char *shown, size_t size);

struct http_token {
    char text[513];
};
/* Reads the first line of the file. Returns 0, or an exit status after saying what is wrong. */
int http_token_read(struct http_token *token, const char *path);
/* Returns true if an Authorization header (NULL: none) has it, also as the password that a browser asks for. Takes the same time wherever
 * the two differ. */
bool http_token_is(const struct http_token *token, const char *header);
/* Returns true if the program at the other end of a connection within this machine is of this user, or root's. */
bool http_peer_is_own(int fd);
/* Returns true if a Host header (NULL: none) names this machine by its loopback address. */
bool http_host_is_local(const char *host);
/* Returns a file of up to 1 MiB, or what comes through a pipe in time; NULL after saying what is wrong. A secret must not be readable for
 * everybody. */
char *http_read_file(const char *path, const char *what, bool is_secret);

#if __has_include(<microhttpd.h>)
#include <microhttpd.h>
#include <poll.h>

#include "base/os/library.h"

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
    struct MHD_Response *text[GT_EXPOSITION_COUNT][PACKINGS]; /* of the latest sample */
    struct pages *pages;
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

/* Pages of the running jobs of this user: "/" lists them, "/job/PID" is the page of one. "/job/PID/states" feeds it with server-sent
 * events. Each is the whole state, so clients that come late, come back or read slowly get the latest one.
 *
 * A state is made only while somebody follows, at most one a second, and in up to a tenth of the time; all followers read one copy. The
 * page of a job that has ended is kept for a while, for its followers.
 *
 * Only the user may see his jobs: with a token its owner may; without one, programs of the same user on this machine. */

enum { PAGES_FEEDS = 16 };

/* NULL: no memory. */
struct pages *pages_open(void);
enum MHD_Result pages_answer(struct http *http, struct MHD_Connection *connection, const char *path);
/* The connection has been closed. */
void pages_forget(struct pages *pages, const struct MHD_Connection *connection);
/* Fill in the descriptors to wait for, up to PAGES_FEEDS. Returns their number. */
nfds_t pages_poll(const struct pages *pages, struct pollfd *ret);
/* Take what has been made, hand it on, and ask for more. */
void pages_go_on(struct http *http);
/* All connections go on, to their end; what they read stays until it is released. */
void pages_close(struct http *http);
void pages_release(struct pages *pages);
#endif

#endif
