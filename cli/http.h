/* An HTTP server: one text of metrics at /metrics, in the form that the client asks for, and pages of jobs (http_pages.c).
 *
 * It is single-threaded, and hard to wear out: each connection lasts HTTP_SECONDS however slowly it speaks and has one answer, a request
 * has up to HTTP_REQUEST bytes, and all connections share one copy of a text. */
#ifndef CLI_HTTP_H
#define CLI_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu_tracker.h"

enum { HTTP_CONNECTIONS = 512, HTTP_SECONDS = 10, HTTP_REQUEST = 8192 };

struct http_settings {
    const char *listen;     /* "127.0.0.1:9417", "[::1]:9417" */
    const char *token_file; /* NULL: anybody who can connect may read the metrics */
    const char *tls_cert, *tls_key;
};

/* Serve until a signal asks for the end. Prints the addresses first. Returns an exit status, after saying what is wrong. */
int http_serve(const struct http_settings *settings, struct gt_exporter *exporter);

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

#endif
