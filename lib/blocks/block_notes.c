#include "blocks/block_notes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
