#include "serve/jobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message.h"
#include "option.h"
#include "job/launch.h"

/* A descriptor of the folder, which is this user's alone; negative: there is none, and errno is EPERM where something
 * else is in its place. */
static int open_folder(bool create, char *ret, size_t size)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    struct stat facts;
    errno = 0;
    if (privilege_is_raised())
        return -1;
    if (runtime && *runtime == '/')
        snprintf(ret, size, "%s/gpu-tracker", runtime);
    else /* a folder in memory is made and removed in no time */
        snprintf(ret, size, "%s/gpu-tracker-%u", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
                 (unsigned)geteuid());
    if (create)
        mkdir(ret, 0700);
    int folder = open(ret, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0 && fstat(folder, &facts) == 0 && facts.st_uid == geteuid() && !(facts.st_mode & 077))
        return folder;
    bool is_foreign = folder >= 0 || errno == ELOOP || errno == ENOTDIR || errno == EACCES;
    if (folder >= 0)
        close(folder);
    errno = is_foreign ? EPERM : ENOENT;
    return -1;
}

static void say_foreign(const char *folder_name)
{
    if (errno == EPERM)
        say("%s is not a folder of yours alone, so 'gpu-tracker top' does not find running jobs by itself: "
            "remove it, or set XDG_RUNTIME_DIR to a folder of yours",
            folder_name);
}

void jobs_check(void)
{
    char folder_name[PATH_MAX];
    int folder = open_folder(false, folder_name, sizeof folder_name);
    if (folder >= 0)
        close(folder);
    else
        say_foreign(folder_name);
}

static char *own_name(char *text, size_t size)
{
    snprintf(text, size, "%d", (int)getpid());
    return text;
}

void jobs_announce(const char *recording, bool is_quiet)
{
    char folder_name[PATH_MAX], name[24], here[PATH_MAX] = "", path[2 * PATH_MAX];
    int folder = recording ? open_folder(true, folder_name, sizeof folder_name) : -1;
    if (folder < 0) {
        if (recording && !is_quiet)
            say_foreign(folder_name);
        return;
    }
    if (*recording == '/' || getcwd(here, sizeof here)) {
        snprintf(path, sizeof path, "%s%s%s", here, *recording == '/' ? "" : "/", recording);
        own_name(name, sizeof name);
        unlinkat(folder, name, 0);
        if (symlinkat(path, folder, name) < 0)
            *name = '\0'; /* nothing to be done: it cannot be found by itself, only by its name */
    }
    close(folder);
}

void jobs_withdraw(void)
{
    char folder_name[PATH_MAX], name[24];
    int folder = open_folder(false, folder_name, sizeof folder_name);
    if (folder < 0)
        return;
    unlinkat(folder, own_name(name, sizeof name), 0);
    close(folder);
    rmdir(folder_name); /* unless others are in it */
}

static bool read_job(int folder, const char *name, struct job *job)
{
    if (!option_pid(name, &job->tracker))
        return false;
    if (kill(job->tracker, 0) < 0 && errno == ESRCH) {
        unlinkat(folder, name, 0);
        return false;
    }
    ssize_t length = readlinkat(folder, name, job->recording, sizeof job->recording - 1);
    job->recording[length > 0 ? length : 0] = '\0';
    return length > 0;
}

size_t jobs_list(struct job *ret, size_t most)
{
    char folder_name[PATH_MAX];
    int folder = open_folder(false, folder_name, sizeof folder_name);
    DIR *entries = folder < 0 ? NULL : fdopendir(folder);
    const struct dirent *entry;
    size_t count = 0;
    if (folder >= 0 && !entries)
        close(folder);
    while (entries && count < most && (entry = readdir(entries)))
        count += read_job(folder, entry->d_name, &ret[count]);
    if (entries)
        closedir(entries);
    return count;
}
