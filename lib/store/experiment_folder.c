#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json_tree.h"
#include "base/new_file.h"
#include "gpu_tracker.h"
#include "store/experiment_record.h"

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
    return mkdir(part, 0777) < 0 && errno != EEXIST ? -errno : 0;
}

static int write_metadata(const char *folder, const char *description, struct gt_error *error)
{
    char path[4200], date[64];
    struct gt_buffer text = {0};
    struct gt_json json;
    snprintf(path, sizeof path, "%s/metadata.json", folder);
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

int gt_experiment_folder_open(struct gt_experiment_folder *folder, const char *path, const char *description,
                              struct gt_error *error)
{
    *folder = (struct gt_experiment_folder){.fd = -1};
    if (snprintf(folder->path, sizeof folder->path, "%s/power_metrics.json", path) >= (int)sizeof folder->path)
        return gt_error_set(error, ENAMETOOLONG, "the name of the folder is too long");
    int status = make_folders(path);
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    status = write_metadata(path, description, error);
    if (status < 0)
        return status;
    folder->fd = open(folder->path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    status = folder->fd < 0 ? -errno : mend(folder->fd);
    if (status < 0) {
        gt_error_system(error, -status, "%s", folder->path);
        if (folder->fd >= 0)
            close(folder->fd);
        folder->fd = -1;
    }
    return status;
}

int gt_experiment_folder_write(struct gt_experiment_folder *folder, const struct gt_power *power,
                               struct gt_error *error)
{
    char date[64];
    struct gt_buffer line = {0};
    struct gt_json json;
    gt_experiment_date_text(date, sizeof date, power->end_real_ns, true);
    gt_json_init(&json, &line, 0);
    gt_json_object_begin(&json);
    gt_json_key(&json, "date");
    gt_json_text(&json, date);
    gt_json_key(&json, "window");
    gt_json_double(&json, power->seconds);
    gt_json_key(&json, "metrics");
    gt_experiment_write_metrics(&json, power);
    gt_json_object_end(&json);
    gt_buffer_char(&line, '\n');
    off_t before = lseek(folder->fd, 0, SEEK_END);
    int status = line.failed ? line.failed : gt_file_write_all(folder->fd, line.data, line.length);
    gt_buffer_release(&line);
    if (status < 0 && ftruncate(folder->fd, before) < 0)
        return gt_error_system(error, errno, "%s ends in half a line", folder->path);
    if (status < 0)
        return gt_error_system(error, -status, "%s", folder->path);
    folder->has_records = true;
    return 0;
}

int gt_experiment_folder_close(struct gt_experiment_folder *folder, struct gt_error *error)
{
    if (folder->fd < 0)
        return 0;
    int status = folder->has_records ? gt_file_write_all(folder->fd, SEGMENT_END, sizeof SEGMENT_END - 1) : 0;
    close(folder->fd);
    folder->fd = -1;
    return status < 0 ? gt_error_system(error, -status, "%s", folder->path) : 0;
}

/* ---- written by the program itself ------------------------------------------------------------------------------- */

static const struct kind {
    const char *name, *file;
    bool has_date;    /* {"date": now, "metrics": what was given} */
    bool is_replaced; /* a file with one value */
} kinds[] = {
    {"power", "power_metrics.json", true, false},
    {"end", "power_metrics.json", false, false},
    {"results", "results_exp.json", true, false},
    {"model", "model_summary.json", false, true},
};

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].name, name))
            return &kinds[i];
    return NULL;
}

/* The values as one line, which must be JSON. */
static int compose(struct gt_buffer *line, const struct kind *kind, const char *json, struct gt_error *error)
{
    struct gt_json_trouble trouble = {0};
    struct gt_json_value *value = json ? gt_json_parse_text(json, GT_JSON_ANY_VALUE | GT_JSON_NULS, &trouble) : NULL;
    char date[64], *compact = value ? gt_json_dump(value) : NULL;
    gt_json_free(value);
    if (json && !compact)
        return gt_error_set(error, EINVAL, "what is to be saved is no JSON: %s", trouble.text);
    gt_experiment_date_text(date, sizeof date, gt_clock_real(&gt_clock_system), true);
    if (kind->has_date)
        gt_buffer_printf(line, "{\"date\":\"%s\",\"metrics\":%s}\n", date, compact ? compact : "{}");
    else
        gt_buffer_printf(line, "%s%s", compact ? compact : SEGMENT_END, compact ? "\n" : "");
    free(compact);
    return line->failed ? gt_error_system(error, ENOMEM, "%s", kind->file) : 0;
}

static int append(const char *path, const struct gt_buffer *line)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    int status = gt_file_write_all(fd, line->data, line->length);
    close(fd);
    return status;
}

int gt_experiment_save(const char *folder, const char *name, const char *json, struct gt_error *error)
{
    char path[4200];
    struct gt_buffer line = {0};
    const struct kind *kind = find_kind(name);
    if (!kind)
        return gt_error_set(error, EINVAL, "\"%s\" is nothing that folders have", name);
    snprintf(path, sizeof path, "%.4096s/%s", folder, kind->file);
    int status = compose(&line, kind, json, error);
    if (status >= 0 && (status = make_folders(folder)) < 0)
        gt_error_system(error, -status, "%s", folder);
    if (status >= 0) {
        status = kind->is_replaced ? gt_new_file_write(path, line.data, line.length) : append(path, &line);
        if (status < 0)
            gt_error_system(error, -status, "%s", path);
    }
    gt_buffer_release(&line);
    return status;
}
