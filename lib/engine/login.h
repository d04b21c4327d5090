/* How a user proves to a server who he is: by a file in the form of .netrc, or by a token for what stands before the server. */
#ifndef GT_ENGINE_LOGIN_H
#define GT_ENGINE_LOGIN_H

#include <limits.h>

#include "base/error.h"

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

#endif
