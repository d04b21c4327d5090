#include "base/given_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

/* Who writes to a pipe of a shell's was started for it, and may take its time. */
enum { MOST = 256 << 20, NAMED_SECONDS = 5, ANONYMOUS_SECONDS = 60 };

static const char *kind(mode_t mode)
{
    return S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
           : S_ISSOCK(mode)               ? "a socket"
           : S_ISFIFO(mode)               ? "a pipe"
                                          : "something else";
}

static int refuse(const char *path, mode_t mode, const char *wanted, struct gt_error *error)
{
    if (S_ISDIR(mode))
        return gt_error_system(error, EISDIR, "%s", path);
    return gt_error_set(error, EINVAL, "%s: this is %s, %s", path, kind(mode), wanted);
}

/* Those that cannot be opened are told apart as well. */
static int open_named(const char *path, struct stat *facts, struct gt_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), code = errno;
    if (fd >= 0 && fstat(fd, facts) == 0 && (S_ISREG(facts->st_mode) || S_ISFIFO(facts->st_mode)))
        return fd;
    if (fd >= 0)
        close(fd);
    else if (code != ENXIO || stat(path, facts) < 0)
        return gt_error_system(error, code, "%s", path);
    return refuse(path, facts->st_mode, "neither a file nor a pipe", error);
}

/* ---- Pipes ---------------------------------------------------------------------------------------------------- */

static int64_t now(void)
{
    return gt_clock_monotonic(&gt_clock_system);
}

static int patience(int pipe)
{
    struct statfs facts;
    return fstatfs(pipe, &facts) == 0 && facts.f_type == PIPEFS_MAGIC ? ANONYMOUS_SECONDS : NAMED_SECONDS;
}

/* 0, also at the end; or an errno. */
static int wait_for(int pipe, int seconds)
{
    int64_t until = now() + seconds * GT_SECOND, left;
    while ((left = until - now()) > 0) {
        int ready = poll(&(struct pollfd){.fd = pipe, .events = POLLIN}, 1, (int)(left / 1000000) + 1);
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return errno;
    }
    return ETIMEDOUT;
}

static int copy_all(int pipe, int copy, int seconds)
{
    char block[65536];
    size_t total = 0;
    for (;;) {
        int code = wait_for(pipe, seconds);
        ssize_t got = code ? 0 : read(pipe, block, sizeof block);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (code || got <= 0)
            return got < 0 ? errno : code;
        total += (size_t)got;
        code = total > MOST ? EFBIG : -gt_file_write_all(copy, block, (size_t)got);
        if (code)
            return code;
    }
}

/* Where the kernel gives no file without a name, who reads waits for who writes. */
static int keep_pipe(int pipe, int seconds)
{
    int flags = fcntl(pipe, F_GETFL);
    int code = wait_for(pipe, seconds);
    return code ? code : fcntl(pipe, F_SETFL, flags & ~O_NONBLOCK) < 0 ? errno : 0;
}

/* What is refused is a wrong argument, as devices are. */
static int explain(const char *path, int code, int seconds, struct gt_error *error)
{
    if (code == ETIMEDOUT)
        return gt_error_set(error, EINVAL, "%s: nothing more was written to this pipe within %d seconds", path,
                            seconds);
    if (code == EFBIG)
        return gt_error_set(error, EINVAL, "%s: more than %d MiB came through this pipe, which is too large", path,
                            MOST >> 20);
    return gt_error_system(error, code, "%s", path);
}

static int take_pipe(int pipe, const char *path, struct gt_error *error)
{
    int seconds = patience(pipe), copy = memfd_create("gpu-tracker", MFD_CLOEXEC);
    int code = copy < 0 ? keep_pipe(pipe, seconds) : copy_all(pipe, copy, seconds);
    if (!code && copy >= 0 && lseek(copy, 0, SEEK_SET) < 0)
        code = errno;
    if (copy >= 0 || code)
        close(pipe);
    if (copy >= 0 && code)
        close(copy);
    return code ? explain(path, code, seconds, error) : copy >= 0 ? copy : pipe;
}

/* ---- What others call ----------------------------------------------------------------------------------------- */

int gt_given_file_open(const char *path, struct stat *facts, struct gt_error *error)
{
    struct stat own = {0};
    facts = facts ? facts : &own;
    int fd = open_named(path, facts, error);
    return fd >= 0 && S_ISFIFO(facts->st_mode) ? take_pipe(fd, path, error) : fd;
}

int gt_given_file_open_optional(const char *path, struct gt_error *error)
{
    struct gt_error problem = {0};
    int fd = gt_given_file_open(path, NULL, &problem);
    return fd >= 0 || fd == -ENOENT ? fd : gt_error_copy(error, &problem);
}

int gt_given_file_read(const char *path, struct gt_buffer *text, struct gt_error *error)
{
    int fd = gt_given_file_open(path, NULL, error);
    if (fd < 0)
        return fd;
    int status = gt_file_read_all(fd, text);
    close(fd);
    return status < 0 ? gt_error_system(error, -status, "%s", path) : 0;
}

int gt_given_file_check(const char *path, struct gt_error *error)
{
    struct stat facts;
    if (stat(path, &facts) < 0)
        return gt_error_system(error, errno, "%s", path);
    return S_ISREG(facts.st_mode) ? 0 : refuse(path, facts.st_mode, "and no regular file", error);
}
