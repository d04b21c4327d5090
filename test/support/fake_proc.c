#include "support/fake_proc.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        abort();
    close(fd);
}

void fake_proc_create(char folder[64], struct gt_root *root)
{
    char path[96];
    strcpy(folder, "/tmp/fake_proc_XXXXXX");
    if (!mkdtemp(folder))
        abort();
    snprintf(path, sizeof path, "%s/proc", folder);
    if (mkdir(path, 0755) < 0 || gt_root_open(root, folder, NULL) < 0)
        abort();
}

static void write_thread_stat(const char *folder, const struct fake_process *p)
{
    char directory[160], text[512];
    snprintf(directory, sizeof directory, "%s/proc/%d/task/%d", folder, (int)p->pid, (int)p->pid);
    snprintf(
        text, sizeof text,
        "%d (a (b) c) S 1 1 1 0 -1 4194560 0 0 0 0 %lu 0 0 0 20 0 1 0 %llu 100000 100 184 1 1 0 0 0 0 0 0 0 0 0 0 17 "
        "%d 0 0 0 0 0\n",
        (int)p->pid, p->cpu_ticks, p->start, p->cpu);
    write_text(directory, "stat", text);
}

static void write_thread(const char *folder, const struct fake_process *p)
{
    char directory[160], text[512];
    snprintf(directory, sizeof directory, "%s/proc/%d/task", folder, (int)p->pid);
    mkdir(directory, 0755);
    snprintf(directory, sizeof directory, "%s/proc/%d/task/%d", folder, (int)p->pid, (int)p->pid);
    mkdir(directory, 0755);
    snprintf(text, sizeof text, "Name:\tjob\nCpus_allowed:\tff\nCpus_allowed_list:\t%s\n", p->allowed);
    write_text(directory, "status", text);
}

void fake_proc_run(const char *folder, const struct fake_process *p)
{
    char directory[128], text[1024];
    snprintf(directory, sizeof directory, "%s/proc/%d", folder, (int)p->pid);
    snprintf(text, sizeof text,
             "%d (%s) %c %d %d %d 0 -1 %d %lu %lu 0 0 %lu 0 %lu 0 20 0 %lu 0 %llu 100000 %lu 184 0 0 0\n", (int)p->pid,
             p->name ? p->name : "job", p->state ? p->state : 'S', (int)p->parent, (int)p->pid, (int)p->session,
             p->forked ? 4194368 : 4194304, p->minor_faults, p->reaped_minor_faults, p->cpu_ticks, p->reaped_cpu_ticks,
             p->threads ? p->threads : 1, p->start, p->resident_pages);
    write_text(directory, "stat", text);
    if (p->allowed)
        write_thread_stat(folder, p);
}

void fake_proc_write(const char *folder, const struct fake_process *p)
{
    char directory[128], text[1024];
    snprintf(directory, sizeof directory, "%s/proc/%d", folder, (int)p->pid);
    mkdir(directory, 0755);
    snprintf(text, sizeof text, "%lu %lu 10 1 0 20 0\n", p->state == 'Z' ? 0 : p->resident_pages + 100,
             p->resident_pages);
    write_text(directory, "statm", text);
    snprintf(text, sizeof text,
             "Name:\tjob\nVmHWM:\t%8lu kB\nVmSwap:\t%8lu kB\nThreads:\t%lu\nvoluntary_ctxt_switches:\t7\n"
             "nonvoluntary_ctxt_switches:\t3\n",
             p->peak_kib, p->swap_kib, p->threads ? p->threads : 1);
    write_text(directory, "status", text);
    if (p->allowed)
        write_thread(folder, p);
    fake_proc_run(folder, p);
    if (p->denied)
        return;
    snprintf(text, sizeof text,
             "rchar: 10\nwchar: 20\nsyscr: 1\nsyscw: 1\nread_bytes: %llu\nwrite_bytes: %llu\n"
             "cancelled_write_bytes: 0\n",
             p->read_bytes, p->written_bytes);
    write_text(directory, "io", text);
}

/* The files are emptied first: a kept descriptor of a process that ended gives nothing. */
void fake_proc_remove(const char *folder, pid_t pid)
{
    static const char *const names[] = {"stat", "statm", "status", "io"};
    char path[192];
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/proc/%d/task/%d/%s", folder, (int)pid, (int)pid, i ? "stat" : "status");
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/proc/%d/task/%d", folder, (int)pid, (int)pid);
    rmdir(path);
    snprintf(path, sizeof path, "%s/proc/%d/task", folder, (int)pid);
    rmdir(path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/proc/%d/%s", folder, (int)pid, names[i]);
        if (truncate(path, 0) == 0)
            unlink(path);
    }
    snprintf(path, sizeof path, "%s/proc/%d", folder, (int)pid);
    rmdir(path);
}

static int remove_one(const char *path, const struct stat *info, int flag, struct FTW *walk)
{
    (void)info, (void)flag, (void)walk;
    return remove(path);
}

void fake_proc_destroy(const char *folder, struct gt_root *root)
{
    gt_root_close(root);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
