/* A client of a ClickHouse server: SQL over HTTP, through libcurl, which is loaded at the first use. */
#ifndef GT_ENGINE_SERVER_H
#define GT_ENGINE_SERVER_H

#include <limits.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "store/address.h"

/* Files with credentials. NULL: not given. */
struct gt_login_files {
    const char *netrc; /* instead of ~/.netrc */
    const char *token; /* for a proxy in front of the server */
};

/* When a request is given up. */
struct gt_request_limits {
    double seconds;                 /* in total; 0: 60 */
    bool (*is_vain)(void *context); /* called every second or more often; true: the answer is not needed. May be NULL */
    void *context;
};

struct gt_connection; /* to the server: private */

struct gt_server {
    struct gt_address address;
    char name[800]; /* in messages */
    /* The owner may set these between requests. */
    struct gt_request_limits limits;
    void (*explain)(void *context, const char *sql); /* called before each question; may be NULL */
    void *context;
    /* The owner may read these. */
    unsigned long long requests, bytes; /* sent */
    struct gt_connection *connection;
};

/* Returns true for a refusal that a retry does not change: -EACCES (login, rights), -ENOENT (database, table), -EINVAL.
 * -EAGAIN: the server is busy and did nothing. After all other errors, it may have executed the request. */
bool gt_server_refused(int status);

/* Prepare a client without connecting. -ENOENT: libcurl is not installed. -EPERM: others may read a file with
 * credentials. */
int gt_server_open(struct gt_server **ret, const struct gt_address *address, const struct gt_login_files *files,
                   struct gt_error *error);
void gt_server_close(struct gt_server *server);
/* Replace the limits by those for a waiting user. A question may take a day if the server answers SELECT 1 meanwhile.
 * -ETIMEDOUT: it never answered within the seconds of `address.wait` (at least 5), or it was silent for a minute. */
void gt_server_watch(struct gt_server *server);

/* An answer: lines of fields. */
struct gt_answer {
    struct gt_buffer text;
    char *next;
};

/* Ask. The statement is released. The answer is released by gt_answer_release, also after an error. */
int gt_server_query(struct gt_server *server, struct gt_buffer *sql, struct gt_answer *ret, struct gt_error *error);
/* The same without an answer. */
int gt_server_run(struct gt_server *server, struct gt_buffer *sql, struct gt_error *error);
/* Insert rows in the format RowBinary. `sql` precedes the rows. -EAGAIN, too, if an insert with this identity is
 * running. */
int gt_server_insert(struct gt_server *server, const char *sql, const struct gt_buffer *rows, const char *identity,
                     struct gt_error *error);
/* Find out whether the version has codecs, LowCardinality, TTL and deduplication tokens (22.8). */
int gt_server_is_modern(struct gt_server *server, bool *ret, struct gt_error *error);
/* Get the seconds by which the server's clock is ahead. */
int gt_server_clock(struct gt_server *server, double *ret, struct gt_error *error);

/* Get the first `count` fields of the next line, without escapes. NULL in SQL and missing fields are NULL. Returns
 * false at the end. */
bool gt_answer_next(struct gt_answer *answer, char *field[], size_t count);
void gt_answer_release(struct gt_answer *answer);

/* Append 'text' in the quotes of SQL. */
void gt_sql_text(struct gt_buffer *sql, const char *text);

#endif
