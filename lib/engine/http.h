/* Requests of HTTP, by libcurl, which is loaded when it is first needed. */
#ifndef GT_ENGINE_HTTP_H
#define GT_ENGINE_HTTP_H

#include <limits.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "store/address.h"

/* How a user proves to a server who he is: by a file in the form of .netrc, or by a token for what stands before the server. */

/* Names of files that users give; NULL: none. */
struct gt_login_files {
    const char *netrc; /* instead of ~/.netrc */
    const char *token;
};

struct gt_login {
    char netrc[PATH_MAX]; /* "": there is none */
    char token[4096];
};

/* -EPERM: a file may be read by others. */
int gt_login_find(struct gt_login *ret, const struct gt_login_files *files, struct gt_error *error);

struct gt_http;

/* When a request is given up. */
struct gt_http_limits {
    double seconds;                 /* in all; 0: 60 */
    bool (*is_vain)(void *context); /* asked every second at least: nobody wants the answer any more; may be NULL */
    void *context;
};

struct gt_http_request {
    const char *parameters; /* behind the "?", escaped; "" none */
    const struct gt_buffer *body;
    bool is_packed; /* the body, by gzip */
    bool is_once;   /* never sent again by itself */
    struct gt_http_limits limits;
};

/* -ENOENT: libcurl is not installed. Nothing is connected. */
int gt_http_open(struct gt_http **ret, const struct gt_address *address, const struct gt_login *login,
                 struct gt_error *error);
/* Post a request. The answer is put into `ret`, which is emptied before. Returns the status of HTTP, or negative errno: -ENOTCONN when
 * nobody answered, -EIO when the answer ended early, -ECANCELED when it was in vain. Whether the server did what was asked is not known
 * then. */
int gt_http_post(struct gt_http *http, const struct gt_http_request *request, struct gt_buffer *ret,
                 struct gt_error *error);
/* Append text as a part of an address: "%20" for a blank. */
void gt_http_escape(struct gt_buffer *out, const char *text);
void gt_http_close(struct gt_http *http);

#endif
