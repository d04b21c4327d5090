#include "blocks/block_family.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/root.h"
#include "collect/process/process.h"

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

bool gt_family_is_child(void)
{
    return atomic_load(&declared_parent) > 0 || loaded_in != getpid();
}

/* ---- who is who: one line for the machine and its process numbers, then one for each process ---- */

static void add_machine(struct gt_buffer *out, const struct gt_root *root)
{
    char boot[64] = "", numbers[64] = "";
    gt_root_read(root, "proc/sys/kernel/random/boot_id", boot, sizeof boot);
    gt_root_readlink(root, "proc/self/ns/pid", numbers, sizeof numbers);
    boot[strcspn(boot, "\n")] = '\0';
    gt_buffer_printf(out, "%s %s\n", boot, numbers);
}

static void add_loading(struct gt_buffer *out)
{
    gt_buffer_printf(out, "loaded %d %lld\n", (int)loaded_in, (long long)loaded_at_ns);
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

void gt_family_sign(int fd)
{
    struct gt_root root;
    struct gt_buffer text = {0};
    if (gt_root_open(&root, NULL, NULL) < 0)
        return;
    add_machine(&text, &root);
    add_loading(&text);
    add_process(&text, &root, getpid());
    add_process(&text, &root, atomic_load(&declared_parent));
    if (!text.failed)
        fsetxattr(fd, attribute, text.data, text.length, 0);
    gt_buffer_release(&text);
    gt_root_close(&root);
}

/* This process and all it descends from. */
static void add_everybody(struct gt_buffer *out, const struct gt_root *root)
{
    add_machine(out, root);
    add_loading(out);
    add_process(out, root, atomic_load(&declared_parent));
    pid_t pid = getpid();
    for (int i = 0; pid > 0 && i < MOST_ANCESTORS; i++)
        pid = add_process(out, root, pid);
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

int gt_family_made(const char *path)
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
    add_everybody(&everybody, &root);
    bool is_ours = !everybody.failed && has_line_of(text, everybody.data);
    gt_buffer_release(&everybody);
    gt_root_close(&root);
    return is_ours;
}
