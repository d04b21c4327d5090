#include "base/os/root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/file.h"

enum { MOST = 512 };

static struct {
    struct {
        char *name;
        int fd;
    } kept[MOST];
    int count;
    bool is_filling;
} early;

void gt_early_begin(void)
{
    early.is_filling = true;
}

void gt_early_end(void)
{
    early.is_filling = false;
}

static int find(const char *name)
{
    for (int i = 0; i < early.count; i++)
        if (!strcmp(early.kept[i].name, name))
            return i;
    return -1;
}

void gt_early_keep(const char *name, int fd)
{
    struct stat facts;
    if (!early.is_filling || early.count == MOST || find(name) >= 0)
        return;
    bool is_public = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_mode & S_IROTH;
    char *copy = is_public ? NULL : strdup(name);
    int own = copy ? fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
    if (own < 0) {
        free(copy);
        return;
    }
    early.kept[early.count].name = copy;
    early.kept[early.count++].fd = own;
}

int gt_early_open(const char *name)
{
    int i = early.count ? find(name) : -1;
    if (i < 0)
        return -ENOENT;
    int fd = fcntl(early.kept[i].fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return fd < 0 ? -errno : fd;
}

bool gt_early_has(const char *prefix)
{
    for (int i = 0; i < early.count; i++)
        if (!strncmp(early.kept[i].name, prefix, strlen(prefix)))
            return true;
    return false;
}

int gt_root_open(struct gt_root *root, const char *path, struct gt_error *error)
{
    bool machine = !path || !*path || !strcmp(path, "/");
    const char *directory = machine ? "/" : path;
    if (strlen(directory) >= sizeof root->path)
        return gt_error_set(error, ENAMETOOLONG, "machine root %.60s...: name too long", directory);
    int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return gt_error_system(error, errno, "machine root %s", directory);
    root->fd = fd;
    root->is_machine = machine;
    strcpy(root->path, machine ? "" : directory);
    return 0;
}

void gt_root_close(struct gt_root *root)
{
    if (root && root->fd >= 0) {
        close(root->fd);
        root->fd = -1;
    }
}

static const char *relative(const char *path)
{
    while (*path == '/')
        path++;
    return *path ? path : ".";
}

int gt_root_open_file(const struct gt_root *root, const char *path)
{
    int fd = root->is_machine ? gt_early_open(relative(path)) : -ENOENT;
    if (fd >= 0)
        return fd;
    fd = openat(root->fd, relative(path), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0 && root->is_machine)
        gt_early_keep(relative(path), fd);
    return fd < 0 ? -errno : fd;
}

int gt_root_open_to_write(const struct gt_root *root, const char *path)
{
    if (!root->is_machine)
        return -EROFS;
    int fd = openat(root->fd, relative(path), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

int gt_root_make_directory(const struct gt_root *root, const char *path)
{
    if (!root->is_machine)
        return -EROFS;
    return mkdirat(root->fd, relative(path), 0755) < 0 ? -errno : 0;
}

int gt_root_remove_directory(const struct gt_root *root, const char *path)
{
    if (!root->is_machine)
        return -EROFS;
    return unlinkat(root->fd, relative(path), AT_REMOVEDIR) < 0 ? -errno : 0;
}

int gt_root_open_directory(const struct gt_root *root, const char *path)
{
    int fd = openat(root->fd, relative(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

DIR *gt_root_list(const struct gt_root *root, const char *path)
{
    int fd = gt_root_open_directory(root, path);
    DIR *names = fd < 0 ? NULL : fdopendir(fd);
    int code = fd < 0 ? -fd : errno;
    if (!names && fd >= 0)
        close(fd);
    errno = code;
    return names;
}

ssize_t gt_root_reread(int fd, char *text, size_t size)
{
    size_t used = 0;
    while (used + 1 < size) {
        ssize_t got = pread(fd, text + used, size - 1 - used, (off_t)used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        used += (size_t)got;
    }
    text[used] = '\0';
    return (ssize_t)used;
}

ssize_t gt_root_reread_piece(int fd, char *text, size_t size)
{
    ssize_t length;
    do
        length = pread(fd, text, size - 1, 0);
    while (length < 0 && errno == EINTR);
    text[length < 0 ? 0 : length] = '\0';
    return length < 0 ? -errno : length;
}

ssize_t gt_root_read(const struct gt_root *root, const char *path, char *text, size_t size)
{
    int fd = gt_root_open_file(root, path);
    if (fd < 0)
        return fd;
    ssize_t length = gt_root_reread(fd, text, size);
    close(fd);
    return length;
}

ssize_t gt_root_read_line(const struct gt_root *root, char *text, size_t size, const char *format, ...)
{
    char path[PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    ssize_t length = gt_root_read(root, path, text, size);
    text[length > 0 ? strcspn(text, "\n") : 0] = '\0';
    return length;
}

char *gt_root_text(const struct gt_root *root, const char *path)
{
    enum { SIZE = 65536 };
    char *text = malloc(SIZE);
    if (text && gt_root_read(root, path, text, SIZE) > 0)
        return text;
    free(text);
    return NULL;
}

int gt_root_access(const struct gt_root *root, const char *path, int mode)
{
    return gt_access(root->fd, relative(path), mode);
}

int gt_root_group(const struct gt_root *root, const char *path, gid_t *ret)
{
    struct stat file;
    if (fstatat(root->fd, relative(path), &file, 0) < 0)
        return -errno;
    *ret = file.st_gid;
    return 0;
}

ssize_t gt_root_read_process(const struct gt_root *root, pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    struct gt_root machine;
    snprintf(path, sizeof path, "proc/%d/%s", (int)pid, name);
    if (root)
        return gt_root_read(root, path, text, size);
    int status = gt_root_open(&machine, NULL, NULL);
    if (status < 0)
        return status;
    ssize_t length = gt_root_read(&machine, path, text, size);
    gt_root_close(&machine);
    return length;
}

ssize_t gt_root_readlink(const struct gt_root *root, const char *path, char *text, size_t size)
{
    ssize_t length = readlinkat(root->fd, relative(path), text, size - 1);
    if (length < 0)
        return -errno;
    text[length] = '\0';
    return length;
}

static int one_number(const char *text, unsigned long long *ret)
{
    size_t digits = strspn(text, "0123456789");
    if (!digits || text[digits + strspn(text + digits, " \n")])
        return -EINVAL;
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    if (errno)
        return -errno;
    *ret = value;
    return 0;
}

int gt_root_read_u64(const struct gt_root *root, const char *path, unsigned long long *ret)
{
    char text[64];
    ssize_t length = gt_root_read(root, path, text, sizeof text);
    return length < 0 ? (int)length : one_number(text, ret);
}

int gt_root_reread_u64(int fd, unsigned long long *ret)
{
    char text[64];
    ssize_t length = gt_root_reread(fd, text, sizeof text);
    return length < 0 ? (int)length : one_number(text, ret);
}

/* Lines are "NAME:PASSWORD:NUMBER:...". */
int gt_root_name_of(const struct gt_root *root, const char *path, unsigned long number, char *ret, size_t size)
{
    char *text = gt_root_text(root, path);
    int status = -ENOENT;
    for (const char *line = text; line && *line && status < 0; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t name = strcspn(line, ":\n");
        const char *password = line[name] == ':' ? strpbrk(line + name + 1, ":\n") : NULL;
        if (!password || *password != ':' || password[1] < '0' || password[1] > '9' || name >= size ||
            strtoul(password + 1, NULL, 10) != number)
            continue;
        snprintf(ret, size, "%.*s", (int)name, line);
        status = 0;
    }
    free(text);
    return status;
}
