#include "base/early.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
