/* This is a small HTTP server for scrapes: one text at /metrics, in the form that the client asks for; and pages of jobs (http_pages.c).
 *
 * It is single-threaded, and hard to wear out (see http_visitors.h, too): at most HTTP_CONNECTIONS at a time, each for HTTP_SECONDS at
 * most however slowly it speaks, a request of HTTP_REQUEST bytes at most, one answer for each connection, one copy of a text for all
 * connections. libmicrohttpd is loaded when a server is opened, so that no other command pays for it. */
#ifndef CLI_HTTP_H
#define CLI_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "signals.h"

enum { HTTP_CONNECTIONS = 512, HTTP_SECONDS = 10, HTTP_REQUEST = 8192 };

struct http_form {
    const char *type; /* "text/plain;version=0.0.4;charset=utf-8" */
    int form;         /* for the source */
};

/* Where the text comes from: 1 another text than last time, 0 the same as last time (*text and *length are then not needed),
 * negative: `complaint` says why there is none. Texts are copied. */
struct http_source {
    int (*text)(void *context, int form, const char **text, size_t *length, char *complaint, size_t size);
    void *context;
};

struct http_settings {
    const char *listen;     /* "127.0.0.1:9417", "[::1]:9417" */
    const char *token_file; /* NULL: anybody who can connect may read */
    const char *tls_cert, *tls_key;
};

struct http;

/* 0, or an exit status after saying what is wrong. */
int http_open(struct http **ret, const struct http_settings *settings, const struct http_source *source);
/* "https://127.0.0.1:9417/" */
const char *http_address(const struct http *http);
/* Serve until a signal asks for the end. */
int http_run(struct http *http, const struct signals *signals);
void http_close(struct http *http);

/* Returns the form that an Accept header (NULL: none) wants most. */
struct http_form http_accept(const char *header);

/* Returns true where an Accept-Encoding header (NULL: none) asks for gzip; and the text in that form, NULL without memory. */
bool http_wants_gzip(const char *header);
char *http_gzip(const char *text, size_t length, size_t *ret_length);

/* Opens a listening socket, or returns a negative exit status after saying what is wrong: without a token only the machine
 * itself may reach it. `shown` gets the address with the port in use. */
int http_listen(const char *text, bool has_token, bool has_tls, char *shown, size_t size);

struct http_token {
    char text[513];
};
/* Reads the first line of the file. Returns 0, or an exit status after saying what is wrong. */
int http_token_read(struct http_token *token, const char *path);
/* Returns true where an Authorization header (NULL: none) has it, also as the password that a browser asks for; takes the same time
 * wherever the two differ. */
int http_token_is(const struct http_token *token, const char *header);
/* Returns true where the program at the other end of a connection within this machine is of this user, or root's. */
bool http_peer_is_own(int fd);
/* Returns true where a Host header (NULL: none) names this machine by its loopback address. */
bool http_host_is_local(const char *host);
/* A whole file of at most 1 MiB, or what comes through a pipe in time; NULL after saying what is wrong. A secret may not be everybody's. */
char *http_read_file(const char *path, const char *what, bool is_secret);

#endif
