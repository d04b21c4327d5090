/* A ClickHouse server, asked by SQL over HTTP. */
#ifndef GT_ENGINE_SERVER_H
#define GT_ENGINE_SERVER_H

#include "base/buffer.h"
#include "engine/http.h"
#include "store/address.h"

struct gt_server;

/* Failures are of three kinds: refused for good (-EACCES: not this user, or he may not; -ENOENT: no such database or table; -EINVAL: it
 * does not understand), busy (-EAGAIN: it says that nothing was done) and all others, after which nobody knows what was done. */
bool gt_server_refused(int status);

/* Nothing is connected yet. */
int gt_server_open(struct gt_server **ret, const struct gt_address *address, const struct gt_login_files *files,
                   struct gt_error *error);
void gt_server_close(struct gt_server *server);
/* From now on somebody waits for the answers. A question may take long: while it does the server is asked for a sign of life, and given up
 * (-ETIMEDOUT) when it never gave one within the seconds that its address has for waiting, 5 at least, or gives none for a minute. */
void gt_server_watch(struct gt_server *server);
/* When requests are given up, from now on. */
void gt_server_limit(struct gt_server *server, const struct gt_http_limits *limits);
const char *gt_server_name(const struct gt_server *server);
const struct gt_address *gt_server_address(const struct gt_server *server);

/* What a server of a version can do. */
struct gt_dialect {
    int major, minor;
};
extern const struct gt_dialect gt_dialect_today;
/* It has codecs, texts of few values, times to live and tokens of inserts (22.8). */
bool gt_dialect_is_modern(const struct gt_dialect *dialect);
int gt_server_dialect(struct gt_server *server, struct gt_dialect *ret, struct gt_error *error);

/* From now on each question is told before it is asked. */
void gt_server_explain(struct gt_server *server, void (*tell)(void *context, const char *sql), void *context);
/* Ask, and put the answer into `ret`: lines of fields with tabs between them. */
int gt_server_ask(struct gt_server *server, const char *sql, struct gt_buffer *ret, struct gt_error *error);
/* Ask for one number. */
int gt_server_ask_number(struct gt_server *server, const char *sql, long long *ret, struct gt_error *error);
/* Run a statement whose answer nobody needs. */
int gt_server_run(struct gt_server *server, const char *sql, struct gt_error *error);
/* Insert rows, in the form RowBinary. `sql` is all in front of the rows. -EAGAIN also when an insert of this identity still runs. */
int gt_server_insert(struct gt_server *server, const char *sql, const struct gt_buffer *rows, const char *identity,
                     struct gt_error *error);
/* Seconds by which the server's clock is ahead of ours, and half the time of the answer, by which that may be wrong. */
int gt_server_clock(struct gt_server *server, double *offset, double *error_bound, struct gt_error *error);
/* Requests and bytes that were sent. */
void gt_server_traffic(const struct gt_server *server, unsigned long long *requests, unsigned long long *bytes);

/* ---- Answers ---- */

/* Goes through an answer. Fields are changed in place: what was escaped is as it was; NULL is a null pointer. */
struct gt_answer {
    char *next, *end;
};
void gt_answer_begin(struct gt_answer *answer, struct gt_buffer *text);
/* Returns true for another line, with its first `count` fields; a line with fewer has null pointers. */
bool gt_answer_next(struct gt_answer *answer, char *field[], size_t count);

/* Append 'text' with the quotes that SQL wants. */
void gt_sql_text(struct gt_buffer *sql, const char *text);

#endif
