/* What a fake driver library answers, from a text file that an environment variable names.
 *
 *     frame                     the next frame begins; the first one needs no such line
 *     frame 2.5                 ... and comes by itself 2.5 seconds after the library was opened
 *     frame when PATH           ... and comes when there is such a file; who has been told of its processes leaves PATH.PID
 *     device 0                  the lines that follow are of this device; "device 0.1" is slice 1 of device 0
 *     KEY VALUE ...             one answer; several lines with the same key are a list
 *     fail FUNCTION RESULT      the function answers with this result
 *     hang FUNCTION             the function does not return
 *     slow MICROSECONDS         every call takes this long; of the library as a whole
 *
 * A frame keeps what the one before said, but a key that it names for a device replaces all earlier lines of that key and
 * device. "-" as the value empties a list. Lines before the first "device" of a frame are of the library as a whole, device "".
 * Tests step by hand with fake_frame(number). Blank lines and lines that begin with # do not count. */
#ifndef TEST_FAKE_FAKE_H
#define TEST_FAKE_FAKE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FAKE_DEVICES = 64, FAKE_FRAMES = 64 };

struct fake_line {
    int frame;
    char device[16];
    char key[32];
    char text[160];
};

static struct {
    struct fake_line *line;
    size_t count;
    char device[FAKE_DEVICES][16];
    size_t device_count;
    double start[FAKE_FRAMES];   /* seconds after opening; negative: by hand */
    char when[FAKE_FRAMES][256]; /* "": by time */
    int frames;
    int forced; /* -1: by time */
    double opened;
} fake = {.forced = -1};

static inline double fake_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Called by tests through dlsym. */
void fake_frame(int number);
void fake_frame(int number)
{
    fake.forced = number;
}

static inline void fake_add_device(const char *name)
{
    for (size_t i = 0; i < fake.device_count; i++)
        if (!strcmp(fake.device[i], name))
            return;
    if (fake.device_count < FAKE_DEVICES)
        snprintf(fake.device[fake.device_count++], sizeof fake.device[0], "%.15s", name);
}

static inline void fake_add_line(int frame, const char *device, const char *key, const char *text)
{
    fake.line = realloc(fake.line, (fake.count + 1) * sizeof *fake.line);
    if (!fake.line)
        abort();
    struct fake_line *line = &fake.line[fake.count++];
    line->frame = frame;
    snprintf(line->device, sizeof line->device, "%s", device);
    snprintf(line->key, sizeof line->key, "%.31s", key);
    snprintf(line->text, sizeof line->text, "%.159s", text);
}

static inline void fake_read(FILE *file)
{
    char text[256], device[16] = "";
    int frame = 0;
    while (fgets(text, sizeof text, file)) {
        char key[32] = "";
        int used = 0;
        text[strcspn(text, "\n")] = '\0';
        if (sscanf(text, " %31s %n", key, &used) < 1 || *key == '#')
            continue;
        if (!strcmp(key, "frame") && frame + 1 < FAKE_FRAMES) {
            bool has_path = !strncmp(text + used, "when ", 5);
            *device = '\0';
            fake.start[++frame] = text[used] && !has_path ? strtod(text + used, NULL) : -1;
            snprintf(fake.when[frame], sizeof fake.when[0], "%s", has_path ? text + used + 5 : "");
        } else if (!strcmp(key, "device")) {
            snprintf(device, sizeof device, "%.15s", text + used);
            fake_add_device(device);
        } else {
            fake_add_line(frame, device, key, text + used);
        }
    }
    fake.frames = frame + 1;
}

/* 0, or -1 when there is no such file. */
static inline int fake_open(const char *variable)
{
    const char *path = getenv(variable);
    FILE *file = path ? fopen(path, "re") : NULL;
    if (!file)
        return -1;
    free(fake.line);
    memset(&fake, 0, sizeof fake);
    fake.forced = -1;
    fake.opened = fake_now();
    fake_read(file);
    fclose(file);
    return 0;
}

static inline void fake_close(void)
{
    free(fake.line);
    fake.line = NULL;
    fake.count = fake.device_count = 0;
}

static inline int fake_current(void)
{
    int current = 0;
    if (fake.forced >= 0)
        return fake.forced;
    for (int i = 1; i < fake.frames; i++)
        if ((fake.start[i] >= 0 && fake_now() - fake.opened >= fake.start[i]) ||
            (*fake.when[i] && access(fake.when[i], F_OK) == 0))
            current = i;
    return current;
}

static inline bool fake_is_list_of(const struct fake_line *line, const char *device, const char *key)
{
    return !strcmp(line->device, device) && !strcmp(line->key, key);
}

/* The lines of a list that are in force now, one after the other. */
struct fake_list {
    const char *device, *key;
    int frame;
    size_t next;
};

static inline struct fake_list fake_list(const char *device, const char *key)
{
    struct fake_list list = {device, key, -1, 0};
    int current = fake_current();
    for (size_t i = 0; i < fake.count; i++)
        if (fake_is_list_of(&fake.line[i], device, key) && fake.line[i].frame <= current)
            list.frame = fake.line[i].frame;
    return list;
}

/* So that tests know when a sampler has seen a frame. */
static inline void fake_leave_trace(int frame)
{
    char path[sizeof fake.when[0] + 16];
    if (frame <= 0 || frame >= FAKE_FRAMES || !*fake.when[frame])
        return;
    snprintf(path, sizeof path, "%s.%d", fake.when[frame], (int)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

/* NULL at the end. */
static inline const char *fake_next(struct fake_list *list)
{
    while (list->next < fake.count) {
        const struct fake_line *line = &fake.line[list->next++];
        if (line->frame == list->frame && fake_is_list_of(line, list->device, list->key) && strcmp(line->text, "-"))
            return line->text;
    }
    return NULL;
}

static inline const char *fake_text(const char *device, const char *key)
{
    struct fake_list list = fake_list(device, key);
    return fake_next(&list);
}

/* Word `word` of a line as a number; "n/a" is all ones. False when it is not there. */
static inline bool fake_number_of(const char *text, int word, unsigned long long *ret)
{
    for (; text && *text && word > 0; word--) {
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
    if (!text || !*text)
        return false;
    *ret = strncmp(text, "n/a", 3) ? strtoull(text, NULL, 0) : ~0ull;
    return true;
}

static inline bool fake_number(const char *device, const char *key, int word, unsigned long long *ret)
{
    return fake_number_of(fake_text(device, key), word, ret);
}

/* The two counts of the line "errors BLOCK CORRECTED UNCORRECTED". False where there is none. */
static inline bool fake_block(const char *device, unsigned long long block, uint64_t *counts)
{
    const char *text;
    unsigned long long number;
    struct fake_list list = fake_list(device, "errors");
    while ((text = fake_next(&list))) {
        if (!fake_number_of(text, 0, &number) || number != block)
            continue;
        for (int i = 0; i < 2; i++) {
            fake_number_of(text, i + 1, &number);
            counts[i] = number;
        }
        return true;
    }
    return false;
}

static inline void fake_wait(void)
{
    unsigned long long microseconds = 0;
    if (fake_number("", "slow", 0, &microseconds))
        usleep((useconds_t)microseconds);
}

/* Returns the result that the data gives for a failing function, else 0. */
static inline int fake_failure(const char *device, const char *function)
{
    char name[64];
    int result;
    const char *text;
    struct fake_list list = fake_list(device, "hang");
    fake_wait();
    while ((text = fake_next(&list)))
        while (!strcmp(text, function))
            pause();
    list = fake_list(device, "fail");
    while ((text = fake_next(&list)))
        if (sscanf(text, "%63s %d", name, &result) == 2 && !strcmp(name, function))
            return result;
    return 0;
}

#endif
