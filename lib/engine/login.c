#include "engine/login.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

static int check_owner(const char *path, struct gt_error *error)
{
    struct stat facts;
    if (stat(path, &facts) < 0)
        return gt_error_system(error, errno, "%s", path);
    if (facts.st_mode & (S_IRGRP | S_IROTH | S_IWGRP | S_IWOTH))
        return gt_error_set(error, EPERM, "%s may be read or written by others, and is not used: chmod 600 %s", path,
                            path);
    return 0;
}

static int find_netrc(struct gt_login *ret, const char *given, struct gt_error *error)
{
    const char *home = getenv("HOME");
    if (!given && !(home && *home))
        return 0;
    if (snprintf(ret->netrc, sizeof ret->netrc, given ? "%s" : "%s/.netrc", given ? given : home) >=
        (int)sizeof ret->netrc)
        return gt_error_system(error, ENAMETOOLONG, "%s", given ? given : home);
    struct stat facts;
    if (!given && stat(ret->netrc, &facts) < 0) {
        ret->netrc[0] = '\0';
        return 0;
    }
    return check_owner(ret->netrc, error);
}

static int read_token(struct gt_login *ret, const char *path, struct gt_error *error)
{
    struct gt_buffer text = {.ceiling = sizeof ret->token - 1};
    int status = check_owner(path, error);
    if (status >= 0 && (status = gt_given_file_read(path, &text, error)) == -EFBIG)
        gt_error_set(error, EFBIG, "%s is too long for a token", path);
    if (status >= 0) {
        size_t length = text.data ? strcspn(text.data, "\r\n") : 0;
        memcpy(ret->token, text.data ? text.data : "", length);
        ret->token[length] = '\0';
        for (size_t i = 0; status >= 0 && i < length; i++)
            if ((unsigned char)ret->token[i] <= ' ')
                status = gt_error_set(error, EINVAL, "%s: the token in its first line has blanks", path);
        if (!length)
            status = gt_error_set(error, EINVAL, "%s: there is no token in its first line", path);
    }
    gt_buffer_release(&text);
    return status;
}

int gt_login_find(struct gt_login *ret, const struct gt_login_files *files, struct gt_error *error)
{
    *ret = (struct gt_login){0};
    if (files && files->token)
        return read_token(ret, files->token, error);
    return find_netrc(ret, files ? files->netrc : NULL, error);
}
