/* The server, for the files that it is made of. */
#ifndef CLI_HTTP_PRIVATE_H
#define CLI_HTTP_PRIVATE_H

#include <microhttpd.h>

#include "base/library.h"
#include "gpu_tracker.h"
#include "http.h"
#include "http_visitors.h"
#include "job_feed.h"

/* These functions of the library are used, by their names without the prefix. */
struct functions {
    __typeof__(&MHD_start_daemon) start_daemon;
    __typeof__(&MHD_stop_daemon) stop_daemon;
    __typeof__(&MHD_get_daemon_info) get_daemon_info;
    __typeof__(&MHD_get_connection_info) get_connection_info;
    __typeof__(&MHD_get_timeout) get_timeout;
    __typeof__(&MHD_run) run;
    __typeof__(&MHD_add_connection) add_connection;
    __typeof__(&MHD_lookup_connection_value) lookup_connection_value;
    __typeof__(&MHD_create_response_from_buffer) create_response_from_buffer;
    __typeof__(&MHD_add_response_header) add_response_header;
    __typeof__(&MHD_queue_response) queue_response;
    __typeof__(&MHD_destroy_response) destroy_response;
    __typeof__(&MHD_is_feature_supported) is_feature_supported;
    __typeof__(&MHD_create_response_from_callback) create_response_from_callback;
    __typeof__(&MHD_suspend_connection) suspend_connection;
    __typeof__(&MHD_resume_connection) resume_connection;
};

enum { PLAIN, GZIP, PACKINGS };

enum { PAGES_FEEDS = 16, PAGES_STREAMS = 64, PAGES_WAITING = 64 };

struct page_stream; /* who follows a job */

struct pages {
    struct job_feed feed[PAGES_FEEDS];
    struct page_stream *stream[PAGES_STREAMS];
    struct page_waiting {
        struct MHD_Connection *connection; /* NULL: nobody */
        struct job_feed *feed;             /* NULL: the list */
    } waiting[PAGES_WAITING];              /* for a page that is being made, or rows of the list */
    bool is_closing;
};

struct http {
    struct gt_library library;
    struct functions mhd;
    struct MHD_Daemon *daemon;
    struct visitors visitors;
    struct visitor *arriving; /* while the library is told of it */
    struct http_source source;
    struct http_token token;
    bool has_token;
    char *certificate, *key;
    char address[300];
    struct MHD_Response *text[GT_EXPOSITION_COUNT][PACKINGS]; /* of the latest sample */
    struct pages pages;
};

/* An answer of plain text, with a header or without (NULL). */
enum MHD_Result http_answer(const struct http *http, struct MHD_Connection *connection, unsigned status,
                            const char *text, const char *header, const char *value);
/* Copies the text. NULL without memory. */
struct MHD_Response *http_response(const struct http *http, const char *text, size_t length);
const char *http_header(const struct http *http, struct MHD_Connection *connection, const char *name);
enum MHD_Result pages_answer(struct http *http, struct MHD_Connection *connection, const char *path);
struct visitor *http_visitor(const struct http *http, struct MHD_Connection *connection);

/* Pages of the running jobs of this user: "/" lists them, "/job/PID" is the page of one, fed by "/job/PID/states", server-sent events
 * of which each is all that the page takes to become that of now. So who comes late, comes back, or reads slowly gets the
 * latest state, and nothing is kept for anybody.
 *
 * A state is made only while somebody follows, at most one a second and so that making it takes a tenth of the time; all who follow read
 * one copy. The page of a job that has ended is kept for a while, for those who followed it.
 *
 * What jobs do is its user's business: with a token, who has it may see; without one, programs of the same user on this machine. */

struct http;
struct MHD_Connection;

struct pages;

void pages_open(struct pages *pages);
/* The connection has been closed. */
void pages_forget(struct pages *pages, const struct MHD_Connection *connection);
/* Take what has been made, hand it on, and ask for more. */
void pages_go_on(struct http *http);
/* Milliseconds until something is due; -1: nothing is. */
int pages_patience(const struct pages *pages);
/* All connections go on, to their end; what they read stays until it is released. */
void pages_close(struct http *http);
void pages_release(struct pages *pages);

#endif
