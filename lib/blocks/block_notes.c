#include "blocks/block_notes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu_tracker.h"

enum { REASONS = 3 };

/* One process. */
struct notes {
    unsigned long long program, seen[GT_BLOCK_SOURCES], dropped[REASONS]; /* of the program in it now */
    unsigned long long all_seen[GT_BLOCK_SOURCES], all_dropped[REASONS];  /* of those before */
};

static void settle(struct notes *notes)
{
    for (int i = 0; i < GT_BLOCK_SOURCES; i++)
        notes->all_seen[i] += notes->seen[i];
    for (int i = 0; i < REASONS; i++)
        notes->all_dropped[i] += notes->dropped[i];
    memset(notes->seen, 0, sizeof notes->seen);
    memset(notes->dropped, 0, sizeof notes->dropped);
}

static void take_line(struct notes *notes, const char *line)
{
    unsigned long long program, seen, dropped[REASONS];
    char name[32];
    if (sscanf(line, "%llu %31s %llu %llu %llu %llu", &program, name, &seen, &dropped[0], &dropped[1], &dropped[2]) !=
        6)
        return;
    if (program != notes->program)
        settle(notes);
    notes->program = program;
    memcpy(notes->dropped, dropped, sizeof dropped);
    for (int i = 0; i < GT_BLOCK_SOURCES; i++)
        if (strcmp(gt_block_sources[i].name, name) == 0)
            notes->seen[i] = seen;
}

static void read_file(struct notes *notes, int folder, const char *name)
{
    char line[256];
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while (fgets(line, sizeof line, file))
        take_line(notes, line);
    fclose(file);
    settle(notes);
}

static void tell(const struct notes *notes, const char *pid, void (*warn)(void *context, const char *sentence),
                 void *context)
{
    static const char *const reasons[REASONS] = {"--blocks-most", "more than 10,000 names", "more than 256 levels"};
    for (int i = 0; i < REASONS; i++) {
        char sentence[200];
        if (!notes->all_dropped[i])
            continue;
        snprintf(sentence, sizeof sentence, "%llu further ranges of process %s were not kept (%s)",
                 notes->all_dropped[i], pid, reasons[i]);
        warn(context, sentence);
    }
}

void gt_block_notes_take(struct gt_block_notes *ret, int folder, void (*warn)(void *context, const char *sentence),
                         void *context)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    *ret = (struct gt_block_notes){0};
    if (!listing) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(listing));) {
        char pid[24];
        size_t digits = strspn(entry->d_name, "0123456789");
        if (!digits || digits >= sizeof pid || strcmp(entry->d_name + digits, GT_BLOCK_NOTE_SUFFIX) != 0)
            continue;
        struct notes notes = {0};
        read_file(&notes, folder, entry->d_name);
        snprintf(pid, sizeof pid, "%.*s", (int)digits, entry->d_name);
        tell(&notes, pid, warn, context);
        for (int i = 0; i < GT_BLOCK_SOURCES; i++)
            ret->seen[i] += notes.all_seen[i];
        unlinkat(folder, entry->d_name, 0);
    }
    closedir(listing);
}

enum { LINE = 2000, MOST_BYTES = 1 << 24 };

void gt_hook_notes_add(const char *format, ...)
{
    char path[PATH_MAX], line[LINE + 1];
    const char *folder = secure_getenv(GT_BLOCKS_ENVIRONMENT);
    if (!folder || !*folder ||
        snprintf(path, sizeof path, "%s/%d%s", folder, (int)getpid(), GT_HOOK_NOTES_SUFFIX) >= (int)sizeof path)
        return;
    va_list arguments;
    int length = (int)strlen(GT_HOOK_NOTES_BEGIN);
    memcpy(line, GT_HOOK_NOTES_BEGIN, (size_t)length);
    va_start(arguments, format);
    length += vsnprintf(line + length, LINE - (size_t)length, format, arguments);
    va_end(arguments);
    length = length < LINE ? length : LINE - 1;
    for (int i = 0; i < length; i++)
        line[i] = line[i] == '\n' ? ' ' : line[i];
    line[length++] = '\n';
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    off_t end = lseek(fd, 0, SEEK_END);
    if (write(fd, line, (size_t)length) != length && ftruncate(fd, end) < 0)
        unlink(path); /* the disk is full: what is torn is not told */
    close(fd);
}

static void read_lines(int fd, pid_t process, void (*take)(void *context, pid_t process, const char *line),
                       void *context)
{
    char *text = malloc(MOST_BYTES + 1), *end;
    ssize_t length = text ? read(fd, text, MOST_BYTES) : 0;
    if (length > 0) {
        text[length] = '\0';
        for (char *line = text; (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            if (strncmp(line, GT_HOOK_NOTES_BEGIN, strlen(GT_HOOK_NOTES_BEGIN)) == 0)
                take(context, process, line + strlen(GT_HOOK_NOTES_BEGIN));
        }
    }
    free(text);
}

bool gt_hook_notes_are(int fd)
{
    char text[sizeof GT_HOOK_NOTES_BEGIN - 1];
    ssize_t length = pread(fd, text, sizeof text, 0);
    return length == 0 || (length == sizeof text && memcmp(text, GT_HOOK_NOTES_BEGIN, sizeof text) == 0);
}

/* Go through the files. */
static int each(const char *path, void (*look)(int folder, const char *name, pid_t process, void *context),
                void *context)
{
    DIR *listing = opendir(path);
    if (!listing)
        return -errno;
    for (struct dirent *entry; (entry = readdir(listing));) {
        char *end;
        long process = strtol(entry->d_name, &end, 10);
        if (end != entry->d_name && strcmp(end, GT_HOOK_NOTES_SUFFIX) == 0)
            look(dirfd(listing), entry->d_name, (pid_t)process, context);
    }
    closedir(listing);
    return 0;
}

struct reading {
    void (*take)(void *context, pid_t process, const char *line);
    void *context;
};

static int open_notes(int folder, const char *name)
{
    return openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static void read_notes(int folder, const char *name, pid_t process, void *context)
{
    const struct reading *reading = context;
    int fd = open_notes(folder, name);
    if (fd < 0)
        return;
    read_lines(fd, process, reading->take, reading->context);
    close(fd);
}

static void remove_notes(int folder, const char *name, pid_t process, void *context)
{
    (void)process, (void)context;
    int fd = open_notes(folder, name);
    if (fd < 0)
        return;
    if (gt_hook_notes_are(fd))
        unlinkat(folder, name, 0);
    close(fd);
}

int gt_hook_notes_read(const char *folder, void (*take)(void *context, pid_t process, const char *line), void *context)
{
    return each(folder, read_notes, &(struct reading){take, context});
}

void gt_hook_notes_remove(const char *folder)
{
    each(folder, remove_notes, NULL);
}
