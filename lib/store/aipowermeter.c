#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "store/aipowermeter.h"
#include "store/type.h"

#define SEGMENT_END "\"END OF RECORDING SEGMENT\"\n"

void gt_experiment_date_text(char *text, size_t size, int64_t real_ns, bool has_zone)
{
    time_t seconds = (time_t)(real_ns / GT_SECOND);
    struct tm local;
    localtime_r(&seconds, &local);
    size_t length = strftime(text, size, "%Y-%m-%d %H:%M:%S", &local);
    length += (size_t)snprintf(text + length, size - length, ".%06d", (int)(real_ns % GT_SECOND / 1000));
    long minutes = local.tm_gmtoff / 60, positive = minutes < 0 ? -minutes : minutes;
    if (has_zone)
        snprintf(text + length, size - length, "%c%02ld:%02ld", minutes < 0 ? '-' : '+', positive / 60, positive % 60);
}

static int make_folders(const char *path)
{
    char part[4096];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(part, 0777) < 0 && errno != EEXIST)
            return -errno;
        *slash = '/';
    }
    return *part && mkdir(part, 0777) < 0 && errno != EEXIST ? -errno : 0;
}

static int write_metadata(const char *folder, const char *description, struct gt_error *error)
{
    char path[4200], date[64];
    struct gt_buffer text = {0};
    struct gt_json json;
    snprintf(path, sizeof path, "%smetadata.json", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno == EEXIST ? 0 : gt_error_system(error, errno, "%s", path);
    gt_experiment_date_text(date, sizeof date, gt_clock_real(&gt_clock_system), false);
    gt_json_init(&json, &text, 0);
    gt_json_object_begin(&json);
    gt_json_key(&json, "description");
    gt_json_text(&json, description ? description : "");
    gt_json_key(&json, "date");
    gt_json_text(&json, date);
    gt_json_object_end(&json);
    gt_buffer_char(&text, '\n');
    int status = text.failed ? text.failed : gt_file_write_all(fd, text.data, text.length);
    close(fd);
    gt_buffer_release(&text);
    return status < 0 ? gt_error_system(error, -status, "%s", path) : 0;
}

/* How an earlier recording left the file: cut back to its last whole line, and its segment ended. */
static int mend(int fd)
{
    char tail[sizeof SEGMENT_END - 1];
    off_t end = lseek(fd, 0, SEEK_END), whole = end;
    char last = 0;
    while (whole > 0 && pread(fd, &last, 1, whole - 1) == 1 && last != '\n')
        whole--;
    if (whole < end && ftruncate(fd, whole) < 0)
        return -errno;
    if (whole == 0)
        return 0;
    ssize_t length = whole < (off_t)sizeof tail ? 0 : pread(fd, tail, sizeof tail, whole - (off_t)sizeof tail);
    bool has_ended = length == (ssize_t)sizeof tail && !memcmp(tail, SEGMENT_END, sizeof tail);
    return has_ended ? 0 : gt_file_write_all(fd, SEGMENT_END, sizeof SEGMENT_END - 1);
}

struct experiment {
    struct gt_experiment_window window;
    int fd;          /* of power_metrics.json, or -1: records are handed over */
    char path[4200]; /* of it */
    bool has_records;
    int64_t read_ns; /* the latest reading that was taken into the window */
    int64_t record_ns;
    int (*record)(void *context, const char *metrics);
    void *context;
};

static int open_folder(struct experiment *experiment, const char *folder, const char *description,
                       struct gt_error *error)
{
    if (snprintf(experiment->path, sizeof experiment->path, "%spower_metrics.json", folder) >= PATH_MAX)
        return gt_error_set(error, ENAMETOOLONG, "the name of the folder is too long");
    int status = make_folders(folder);
    if (status < 0)
        return gt_error_system(error, -status, "%s", folder);
    status = write_metadata(folder, description, error);
    if (status < 0)
        return status;
    experiment->fd = open(experiment->path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    status = experiment->fd < 0 ? -errno : mend(experiment->fd);
    return status < 0 ? gt_error_system(error, -status, "%s", experiment->path) : 0;
}

static void release(struct experiment *experiment)
{
    if (experiment->fd >= 0)
        close(experiment->fd);
    gt_experiment_window_release(&experiment->window);
    free(experiment);
}

static int64_t reading_of(const struct experiment *experiment)
{
    return experiment->window.sampler->frame.monotonic_ns;
}

static int create(void **ret, const struct gt_store_options *options, const struct gt_machine *machine,
                  struct gt_error *error)
{
    const struct gt_store_readings *from = options->readings;
    struct experiment *experiment = from ? calloc(1, sizeof *experiment) : NULL;
    if (!experiment)
        return gt_error_set(error, from ? ENOMEM : ENOTSUP, "%s: only a tracker records into a folder", options->path);
    experiment->fd = -1;
    experiment->record = from->record;
    experiment->context = from->context;
    /* A reading that comes a little early would double the window. */
    experiment->record_ns = (int64_t)((from->seconds - machine->period / 8) * 1e9);
    int status = gt_experiment_window_begin(&experiment->window, from->sampler, from->attribution, from->everyone);
    experiment->read_ns = status < 0 ? 0 : reading_of(experiment);
    if (status < 0)
        gt_error_system(error, ENOMEM, "%s", options->path);
    else if (!from->record)
        status = open_folder(experiment, options->path, machine->command, error);
    if (status < 0)
        release(experiment);
    else
        *ret = experiment;
    return status;
}

/* A line is written whole, or not at all. */
static int append(struct experiment *experiment, const struct gt_buffer *line, struct gt_error *error)
{
    off_t before = lseek(experiment->fd, 0, SEEK_END);
    int status = gt_file_write_all(experiment->fd, line->data, line->length);
    if (status < 0 && ftruncate(experiment->fd, before) < 0)
        return gt_error_system(error, errno, "%s ends in half a line", experiment->path);
    experiment->has_records |= status == 0;
    return status < 0 ? gt_error_system(error, -status, "%s", experiment->path) : 0;
}

static int write_line(struct experiment *experiment, struct gt_error *error)
{
    char date[64];
    struct gt_buffer line = {0};
    struct gt_json json;
    gt_experiment_date_text(date, sizeof date, experiment->window.end_real_ns, true);
    gt_json_init(&json, &line, 0);
    gt_json_object_begin(&json);
    gt_json_key(&json, "date");
    gt_json_text(&json, date);
    gt_json_key(&json, "window");
    gt_json_double(&json, experiment->window.seconds);
    gt_json_key(&json, "metrics");
    gt_experiment_write_metrics(&json, &experiment->window);
    gt_json_object_end(&json);
    gt_buffer_char(&line, '\n');
    int status = line.failed ? gt_error_system(error, ENOMEM, "%s", experiment->path)
                             : append(experiment, &line, error);
    gt_buffer_release(&line);
    return status;
}

static int hand_over(struct experiment *experiment, struct gt_error *error)
{
    struct gt_buffer text = {0};
    struct gt_json json;
    gt_json_init(&json, &text, 0);
    gt_experiment_write_metrics(&json, &experiment->window);
    int status = text.failed ? -ENOMEM : experiment->record(experiment->context, text.data);
    gt_buffer_release(&text);
    return status < 0 ? gt_error_system(error, -status, "a record was not taken") : 0;
}

/* After an error the next record tells of this time, too. */
static int write_record(struct experiment *experiment, struct gt_error *error)
{
    gt_experiment_window_conclude(&experiment->window);
    int status = experiment->record ? hand_over(experiment, error) : write_line(experiment, error);
    if (status == 0)
        gt_experiment_window_next(&experiment->window);
    return status;
}

static int take_reading(struct experiment *experiment, struct gt_error *error)
{
    if (reading_of(experiment) <= experiment->read_ns)
        return 0;
    experiment->read_ns = reading_of(experiment);
    return gt_experiment_window_read(&experiment->window) < 0 ? gt_error_system(error, ENOMEM, "experiment") : 0;
}

static int write_sample(void *state, const struct gt_sample *sample, struct gt_error *error)
{
    struct experiment *experiment = state;
    (void)sample; /* is of the reading */
    int status = take_reading(experiment, error);
    if (status < 0 || experiment->read_ns - experiment->window.begin_ns < experiment->record_ns)
        return status;
    return write_record(experiment, error);
}

/* Each record is in the page cache when it is written. */
static int flush(void *state, struct gt_error *error)
{
    (void)state;
    (void)error;
    return 0;
}

/* Records are not kept: of a file that was removed the earlier ones are lost. */
static bool is_in_place(const void *state)
{
    (void)state;
    return true;
}

static int finish(void *state, const struct gt_outcome *outcome, bool whole, struct gt_error *error)
{
    struct experiment *experiment = state;
    int status = outcome && whole ? take_reading(experiment, error) : 0;
    if (outcome && whole && status == 0 && experiment->read_ns > experiment->window.begin_ns)
        status = write_record(experiment, error);
    if (experiment->has_records) {
        int ended = gt_file_write_all(experiment->fd, SEGMENT_END, sizeof SEGMENT_END - 1);
        if (ended < 0)
            status = gt_error_system(error, -ended, "%s", experiment->path);
    }
    release(experiment);
    return status;
}

const struct gt_store_type gt_store_aipowermeter = {
    .suffix = "/",
    .help = "A folder as AIPowerMeter's",
    .is_direct = true,
    .create = create,
    .write = write_sample,
    .flush = flush,
    .is_in_place = is_in_place,
    .finish = finish,
};
