/* Sub-tracking files that somebody asks for by their names: who makes, joins or replaces them. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/os/clock.h"
#include "base/os/root.h"
#include "blocks/block.h"
#include "collect/process/process.h"

/* A family is the processes of one run of one program: those forked from each other, and those that multiprocessing starts. A
 * file made by one of them belongs to all; a file of that name from an earlier run does not.
 *
 * A file remembers who made it in an extended attribute. */

static const char attribute[] = "user.gpu_tracker.run";

enum { MOST_ANCESTORS = 64, ATTRIBUTE_SIZE = 512 };

/* Where the library was loaded, which processes forked since then share. */
static pid_t loaded_in;
static int64_t loaded_at_ns;
static atomic_int declared_parent;

__attribute__((constructor)) static void remember_loading(void)
{
    loaded_in = getpid();
    loaded_at_ns = gt_clock_ns(CLOCK_MONOTONIC);
}

void gt_block_parent(pid_t pid)
{
    atomic_store(&declared_parent, pid);
}

/* ---- who is who: one line for the machine and its process numbers, then one for each process ---- */

static void add_machine(struct gt_buffer *out, const struct gt_root *root)
{
    char boot[64], numbers[64] = "";
    gt_root_read_line(root, boot, sizeof boot, "proc/sys/kernel/random/boot_id");
    gt_root_readlink(root, "proc/self/ns/pid", numbers, sizeof numbers);
    gt_buffer_printf(out, "%s %s\nloaded %d %lld\n", boot, numbers, (int)loaded_in, (long long)loaded_at_ns);
}

/* Returns its parent, or 0 when there is no such process. */
static pid_t add_process(struct gt_buffer *out, const struct gt_root *root, pid_t pid)
{
    struct gt_process_stat stat;
    if (pid <= 0 || gt_process_stat_of(root, pid, &stat) < 0)
        return 0;
    gt_buffer_printf(out, "process %d %llu\n", (int)pid, (unsigned long long)stat.start);
    return stat.parent;
}

/* Remember in the file that this process makes it; quiet where the file system cannot. */
static void family_sign(int fd)
{
    struct gt_root root;
    struct gt_buffer text = {0};
    if (gt_root_open(&root, NULL, NULL) < 0)
        return;
    add_machine(&text, &root);
    add_process(&text, &root, getpid());
    add_process(&text, &root, atomic_load(&declared_parent));
    if (!text.failed)
        fsetxattr(fd, attribute, text.data, text.length, 0);
    gt_buffer_release(&text);
    gt_root_close(&root);
}

/* Is a line of `text` but for the first, which has to be the same, also one of `others`? */
static bool has_line_of(const char *text, const char *others)
{
    size_t length = strcspn(text, "\n");
    if (strncmp(text, others, length + 1) != 0)
        return false;
    for (const char *line = text + length; *line && *++line; line += length) {
        length = strcspn(line, "\n");
        for (const char *other = others; (other = strchr(other, '\n')) && *++other;)
            if (strncmp(line, other, length + 1) == 0)
                return true;
    }
    return false;
}

/* Returns 1 when a process of this run made the file, 0 when not; -ENOTSUP when the file system cannot say. */
static int family_made(const char *path)
{
    struct gt_root root;
    struct gt_buffer everybody = {0};
    char text[ATTRIBUTE_SIZE + 1];
    ssize_t length = getxattr(path, attribute, text, ATTRIBUTE_SIZE);
    if (length < 0)
        return errno == ENOTSUP ? -ENOTSUP : 0;
    text[length] = '\0';
    if (gt_root_open(&root, NULL, NULL) < 0)
        return -ENOTSUP;
    add_machine(&everybody, &root);
    add_process(&everybody, &root, atomic_load(&declared_parent));
    pid_t pid = getpid(); /* and all it descends from */
    for (int i = 0; pid > 0 && i < MOST_ANCESTORS; i++)
        pid = add_process(&everybody, &root, pid);
    bool is_ours = !everybody.failed && has_line_of(text, everybody.data);
    gt_buffer_release(&everybody);
    gt_root_close(&root);
    return is_ours;
}

static const struct gt_block_writer *const writers[] = {&gt_block_csv, &gt_block_sqlite};

const struct gt_block_writer *gt_block_writer_of(const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        size_t suffix = strlen(writers[i]->suffix);
        if (length > suffix && strcmp(path + length - suffix, writers[i]->suffix) == 0)
            return writers[i];
    }
    return NULL;
}

static int add(struct gt_block_file **ret, const char *path, bool is_new, struct gt_error *error)
{
    return gt_block_add_file(ret, gt_block_writer_of(path), path, path, is_new, error);
}

/* A file of that name is there. It is joined when it is this run's, or replaced when that is wanted. */
static int settle(struct gt_block_file **ret, const char *path, bool overwrite, struct gt_error *error)
{
    int made = family_made(path);
    if (made > 0)
        return add(ret, path, false, error);
    if (!overwrite)
        return gt_error_exists(error, path);
    bool is_part = atomic_load(&declared_parent) > 0 ||
                   loaded_in != getpid(); /* another process started or forked it */
    if (made < 0 && is_part)
        return gt_error_set(
            error, EEXIST,
            "%s exists; its file system does not tell whether this run of the program made it, so it is "
            "not replaced by a process that another one started",
            path);
    int status = gt_block_make(path, gt_block_writer_of(path), true, true, family_sign, error);
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    return add(ret, path, true, error);
}

/* A lock among all who make files in the folder, without which two would replace each other's. A descriptor to close, or
 * negative: not every file system has it, and nobody waits for ever. */
static int lock_folder(const char *path)
{
    char folder[PATH_MAX];
    const struct timespec pause = {.tv_nsec = 1000000};
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path + 1), path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < 2000 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK; i++)
        nanosleep(&pause, NULL);
    return fd;
}

static int open_anew(struct gt_block_file **ret, const char *path, bool overwrite, struct gt_error *error)
{
    struct stat facts;
    if (lstat(path, &facts) == 0)
        return settle(ret, path, overwrite, error);
    int status = gt_block_make(path, gt_block_writer_of(path), false, overwrite, family_sign, error);
    if (status == -EEXIST)
        return settle(ret, path, overwrite, error);
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    return add(ret, path, true, error);
}

static int open_file(struct gt_block_file **ret, struct gt_block_process *process, const char *path, bool overwrite,
                     struct gt_error *error)
{
    struct stat facts;
    *ret = gt_block_find_path(process->files, path);
    if (!*ret && stat(path, &facts) == 0) /* it may be open under another name, or through a link */
        for (*ret = process->files; *ret && ((*ret)->device != facts.st_dev || (*ret)->inode != facts.st_ino);)
            *ret = (*ret)->next;
    if (*ret)
        return 0;
    const struct gt_block_file *parents = atomic_load(&gt_block_known);
    while (parents && (!parents->is_shared || strcmp(parents->path, path) != 0))
        parents = parents->older;
    if (parents)
        return gt_block_join(ret, parents, error);
    int lock = lock_folder(path);
    int status = open_anew(ret, path, overwrite, error);
    if (lock >= 0) {
        flock(lock, LOCK_UN); /* closing is not enough when another thread has forked meanwhile */
        close(lock);
    }
    return status;
}

int gt_block_file_open(struct gt_block_file **ret, const char *path, int overwrite, struct gt_error *error)
{
    char origin[PATH_MAX];
    if (!gt_block_writer_of(path))
        return gt_error_set(error, EINVAL, "%s: a sub-tracking file ends in .csv or .sqlite", path);
    int status = gt_block_absolute_path(origin, path, error);
    if (status < 0)
        return status;
    struct gt_block_process *process = gt_block_process_begin();
    if (!process)
        return gt_error_system(error, ENOMEM, "%s", path);
    pthread_mutex_lock(&process->mutex);
    status = open_file(ret, process, origin, overwrite, error);
    pthread_mutex_unlock(&process->mutex);
    return status;
}
