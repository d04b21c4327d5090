#include "base/os/file.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/number.h"
#include "base/os/system.h"

enum { BLOCK = 65536 };

/* Where the ceiling is reached, one byte more tells a file of that size from a longer one. */
static int read_some(int fd, struct gt_buffer *text)
{
    char more;
    bool is_full = text->ceiling && text->length == text->ceiling;
    size_t left = text->ceiling ? text->ceiling - text->length : BLOCK, room = left < BLOCK ? left : BLOCK;
    if (gt_buffer_reserve(text, room) < 0)
        return text->failed;
    ssize_t got = read(fd, is_full ? &more : text->data + text->length, is_full ? 1 : room);
    if (got < 0)
        return errno == EINTR ? 1 : -errno;
    if (is_full && got > 0)
        return text->failed = -EFBIG;
    text->length += (size_t)got;
    text->data[text->length] = '\0';
    return got > 0;
}

int gt_file_read_all(int fd, struct gt_buffer *text)
{
    int status;
    do
        status = read_some(fd, text);
    while (status > 0);
    return status;
}

int gt_file_line(FILE *file, struct gt_buffer *line, size_t most)
{
    int c;
    gt_buffer_clear(line);
    while ((c = getc_unlocked(file)) != EOF) {
        if (line->length == most)
            return -EFBIG;
        if (gt_buffer_char(line, (char)c) < 0)
            return line->failed;
        if (c == '\n')
            return 1;
    }
    return ferror(file) ? -EIO : line->length > 0;
}

int gt_file_write_all_at(int fd, const void *bytes, size_t length, off_t offset)
{
    const char *at = bytes;
    while (length) {
        ssize_t written = offset < 0 ? write(fd, at, length) : pwrite(fd, at, length, offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -EIO;
        at += written;
        offset += offset < 0 ? 0 : written;
        length -= (size_t)written;
    }
    return 0;
}

int gt_file_write_all(int fd, const void *bytes, size_t length)
{
    return gt_file_write_all_at(fd, bytes, length, -1);
}

/* Older container runtimes answer EPERM to system calls they do not know; faccessat2 is of Linux 5.8. The older one asks for the
 * real user and group. */
int gt_access(int folder, const char *path, int mode)
{
    if (faccessat(folder, path, mode, AT_EACCESS) == 0)
        return 0;
    int code = errno;
    bool is_same = getuid() == geteuid() && getgid() == getegid();
    if (code != EPERM || !is_same)
        return -code;
    return syscall(SYS_faccessat, folder, path, mode) < 0 ? -errno : 0; /* the C library's would ask the newer one */
}

/* Who writes to a pipe of a shell's was started for it, and may take its time. */
enum { MOST = 256 << 20, NAMED_SECONDS = 5, ANONYMOUS_SECONDS = 60 };

static int refuse(const char *path, mode_t mode, const char *wanted, struct gt_error *error)
{
    if (S_ISDIR(mode))
        return gt_error_system(error, EISDIR, "%s", path);
    const char *kind = S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                       : S_ISSOCK(mode)               ? "a socket"
                       : S_ISFIFO(mode)               ? "a pipe"
                                                      : "something else";
    return gt_error_set(error, EINVAL, "%s: this is %s, %s", path, kind, wanted);
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

/* 0, also at the end; or an errno. */
static int wait_for(int pipe, int seconds)
{
    int64_t until = gt_clock_ns(CLOCK_MONOTONIC) + seconds * GT_SECOND, left;
    while ((left = until - gt_clock_ns(CLOCK_MONOTONIC)) > 0) {
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
    char block[8192];
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

/* A copy of it. If the kernel has no files without a name, the pipe itself, from which reading then waits. */
static int take_pipe(int pipe, const char *path, struct gt_error *error)
{
    struct statfs facts;
    bool is_anonymous = fstatfs(pipe, &facts) == 0 && facts.f_type == PIPEFS_MAGIC;
    int seconds = is_anonymous ? ANONYMOUS_SECONDS : NAMED_SECONDS, copy = memfd_create("gpu-tracker", MFD_CLOEXEC);
    int code = copy < 0 ? wait_for(pipe, seconds) : copy_all(pipe, copy, seconds);
    if (!code && (copy >= 0 ? lseek(copy, 0, SEEK_SET) : fcntl(pipe, F_SETFL, fcntl(pipe, F_GETFL) & ~O_NONBLOCK)) < 0)
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

static int descriptor_of(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    int64_t number;
    if (!strcmp(path, "/dev/stdin"))
        return STDIN_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t length = strlen(folders[i]);
        if (!strncmp(path, folders[i], length) && gt_number_i64(path + length, &number) == 0 && number >= 0 &&
            number <= INT_MAX)
            return (int)number;
    }
    return -1;
}

int gt_given_file_keep(const char *path, struct gt_error *error)
{
    struct stat facts;
    int number = descriptor_of(path);
    if (number < 0 || fstat(number, &facts) < 0 || !S_ISFIFO(facts.st_mode))
        return 0;
    int flags = fcntl(number, F_GETFD), copy = gt_given_file_open(path, NULL, error);
    if (copy < 0)
        return copy;
    /* Who inherits it finds its end, as behind a pipe that was read. */
    if (fstat(copy, &facts) == 0 && S_ISREG(facts.st_mode) && lseek(copy, 0, SEEK_END) >= 0)
        dup3(copy, number, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
    close(copy);
    return 0;
}

int gt_given_file_check(const char *path, struct gt_error *error)
{
    struct stat facts;
    if (stat(path, &facts) < 0)
        return gt_error_system(error, errno, "%s", path);
    return S_ISREG(facts.st_mode) ? 0 : refuse(path, facts.st_mode, "and no regular file", error);
}

bool gt_is_folder(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

const char *gt_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Without permissions for others until it has those of the file that it replaces. The owner may always write: the caller does. */
static int open_hidden(const char *path, const struct stat *predecessor)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, predecessor ? 0600 : 0666);
    int code = fd < 0 || (predecessor && fchmod(fd, (predecessor->st_mode & 0777) | 0600) < 0) ? errno : 0;
    if (code && fd >= 0) {
        unlink(path);
        close(fd);
    }
    return code ? -code : fd;
}

static void find_predecessor(struct gt_new_file *file, const char *path, struct stat *facts)
{
    *file = (struct gt_new_file){.fd = -EEXIST, .path = path};
    file->has_predecessor = lstat(path, facts) == 0 && S_ISREG(facts->st_mode);
    file->replaces_content = file->has_predecessor && facts->st_size > 0;
}

/* A name in the same folder. A killed process may have left a file of that name. */
static int hidden_name(char ret[PATH_MAX], const char *path)
{
    static atomic_uint number;
    int length = snprintf(ret, PATH_MAX, "%.*s.gpu-tracker-%d-%u.part", (int)(gt_file_name(path) - path), path,
                          (int)getpid(), atomic_fetch_add(&number, 1));
    return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int gt_new_file_begin(struct gt_new_file *file, const char *path)
{
    struct stat facts;
    find_predecessor(file, path, &facts);
    for (int i = 0; file->fd == -EEXIST && i < 100; i++) {
        int status = hidden_name(file->hidden, path);
        if (status < 0)
            return status;
        file->fd = open_hidden(file->hidden, file->has_predecessor ? &facts : NULL);
    }
    return file->fd < 0 ? file->fd : 0;
}

/* The file gets its name by this link of /proc: without it the file cannot be named. */
static int link_of(const struct gt_new_file *file, char ret[32])
{
    snprintf(ret, 32, "/proc/self/fd/%d", file->fd);
    return access(ret, F_OK) < 0 ? -errno : 0;
}

int gt_new_file_begin_unnamed(struct gt_new_file *file, const char *path)
{
    struct stat facts;
    char folder[PATH_MAX], link[32];
    find_predecessor(file, path, &facts);
    int length = (int)(gt_file_name(path) - path);
    snprintf(folder, sizeof folder, "%.*s", length ? length : 1, length ? path : ".");
    file->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, file->has_predecessor ? 0600 : 0666);
    if (file->fd >= 0 && link_of(file, link) == 0 &&
        (!file->has_predecessor || fchmod(file->fd, (facts.st_mode & 0777) | 0600) == 0))
        return 0;
    if (file->fd >= 0)
        close(file->fd);
    return gt_new_file_begin(file, path);
}

static int name_as(const struct gt_new_file *file, const char *path)
{
    char link[32];
    int status = link_of(file, link);
    return status < 0 ? status : linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

static int name_hidden(struct gt_new_file *file)
{
    int status = -EEXIST;
    for (int i = 0; status == -EEXIST && i < 100; i++) {
        status = hidden_name(file->hidden, file->path);
        status = status < 0 ? status : name_as(file, file->hidden);
    }
    if (status < 0)
        *file->hidden = '\0';
    return status;
}

/* Where the file system knows no renaming that replaces nothing, or the system forbids it, the name is taken first. */
static int place_anew(const struct gt_new_file *file)
{
    if (renameat2(AT_FDCWD, file->hidden, AT_FDCWD, file->path, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != EPERM)
        return -errno;
    int fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    close(fd);
    return rename(file->hidden, file->path) < 0 ? -errno : 0;
}

int gt_new_file_place(struct gt_new_file *file, bool replace)
{
    int status = *file->hidden ? 0 : name_as(file, file->path);
    if (*file->hidden || (status == -EEXIST && replace)) {
        status = *file->hidden ? 0 : name_hidden(file);
        /* A file that cannot be synced (on FUSE without it) is complete, too. */
        if (status >= 0 && replace && file->replaces_content && fsync(file->fd) < 0 && errno != EINVAL &&
            errno != ENOSYS)
            status = -errno;
        else if (status >= 0 && replace)
            status = rename(file->hidden, file->path) < 0 ? -errno : 0;
        else if (status >= 0)
            status = place_anew(file);
    }
    if (status < 0)
        gt_new_file_drop(file);
    return status;
}

int gt_new_file_finish(struct gt_new_file *file, bool replace, struct gt_error *error)
{
    int status = gt_new_file_place(file, replace);
    if (status == 0 && close(file->fd) < 0)
        status = -errno;
    if (status == -EEXIST)
        return gt_error_exists(error, file->path);
    return status < 0 ? gt_error_system(error, -status, "%s", file->path) : 0;
}

void gt_new_file_drop(struct gt_new_file *file)
{
    if (*file->hidden)
        unlink(file->hidden);
    close(file->fd);
}

int gt_new_file_write(const char *path, const void *bytes, size_t length)
{
    struct gt_new_file file;
    int status = gt_new_file_begin_unnamed(&file, path);
    if (status < 0)
        return status;
    status = gt_file_write_all(file.fd, bytes, length);
    if (status < 0)
        gt_new_file_drop(&file);
    else
        status = gt_new_file_place(&file, true);
    if (status < 0)
        return status;
    return close(file.fd) < 0 ? -errno : 0;
}

/* A linker's name for the program itself may be relative to a folder that is no longer the current one. */
int gt_own_path(char ret[PATH_MAX])
{
    Dl_info info;
    static const char here;
    if (dladdr(&here, &info) && info.dli_fname && strchr(info.dli_fname, '/') && realpath(info.dli_fname, ret))
        return 0;
    ssize_t length = readlink("/proc/self/exe", ret, PATH_MAX - 1);
    if (length < 0)
        return -errno;
    ret[length] = '\0';
    return 0;
}

int gt_installed_file(char *ret, size_t size, const char *name)
{
    char path[PATH_MAX], *slash;
    int status = gt_own_path(path);
    while (status == 0 && (slash = strrchr(path, '/'))) {
        *slash = '\0';
        int length = snprintf(ret, size, "%s/%s", path, name);
        if (length > 0 && (size_t)length < size && access(ret, R_OK) == 0)
            return 0;
    }
    return status < 0 ? status : -ENOENT;
}

/* Those that the system lists; the list's own comes to its end with it. */
static int close_listed(int first)
{
    DIR *list = opendir("/proc/self/fd");
    const struct dirent *entry;
    if (!list)
        return -errno;
    while ((entry = readdir(list)))
        if (entry->d_name[0] != '.' && atoi(entry->d_name) >= first && atoi(entry->d_name) != dirfd(list))
            close(atoi(entry->d_name));
    closedir(list);
    return 0;
}

void gt_close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

void gt_close_from(int first)
{
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0) == 0 || close_listed(first) == 0)
        return;
    for (long fd = first; fd < sysconf(_SC_OPEN_MAX); fd++)
        close((int)fd);
}

size_t gt_reserve_take(struct gt_reserve *reserve, size_t wanted)
{
    reserve->count = 0;
    while (reserve->count < wanted && reserve->count < GT_RESERVE_MOST) {
        int fd = reserve->count ? fcntl(reserve->fd[0], F_DUPFD_CLOEXEC, 0) : open("/", O_PATH | O_CLOEXEC);
        if (fd < 0)
            break;
        reserve->fd[reserve->count++] = fd;
    }
    return reserve->count;
}

void gt_reserve_release(struct gt_reserve *reserve, size_t kept)
{
    while (reserve->count > kept)
        close(reserve->fd[--reserve->count]);
}
