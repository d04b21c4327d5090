/* omegawatt.csv: an external meter. A line of its own first, then the header: #timestamp (seconds), #frame_is_ok, and a column of
 * watts for each of its channels. A last line that was cut off is left out, and so are frames that the meter calls bad. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/experiment/experiment.h"
#include "base/csv.h"
#include "base/given_file.h"
#include "base/number.h"

enum { MOST_CHANNELS = 256 };

struct meter {
    struct gt_csv_reader *reader;
    char *name[MOST_CHANNELS];
    size_t count, time, good; /* which column; good: count when there is none */
};

static int read_header(struct meter *meter, const char *path, struct gt_error *error)
{
    char **fields;
    size_t count;
    for (int line = 0; line < 2; line++) {
        int status = gt_csv_next(meter->reader, &fields, &count, error);
        if (status < 0)
            return status;
        if (status == 0)
            return gt_error_set(error, EBADMSG, "%s has no header in its second line", path);
    }
    if (count > MOST_CHANNELS)
        return gt_error_set(error, EBADMSG, "%s has %zu columns, and at most %d are read", path, count, MOST_CHANNELS);
    meter->time = meter->good = count;
    for (size_t i = 0; i < count; i++) {
        meter->name[i] = strdup(fields[i]);
        if (!meter->name[i])
            return gt_error_system(error, ENOMEM, "%s", path);
        meter->count = i + 1;
        if (!strcmp(fields[i], "#timestamp"))
            meter->time = i;
        if (!strcmp(fields[i], "#frame_is_ok"))
            meter->good = i;
    }
    if (meter->time == count)
        return gt_error_set(error, EBADMSG, "%s has no column \"#timestamp\"", path);
    return 0;
}

static int take_row(struct gt_experiment *experiment, const struct meter *meter, char *const *fields, size_t count)
{
    struct gt_experiment_point point;
    int status = 0;
    if (count != meter->count || gt_number_double(fields[meter->time], &point.date) < 0) {
        experiment->bad_rows++;
        return 0;
    }
    if (meter->good < count && strcasecmp(fields[meter->good], "true") != 0)
        return 0;
    for (size_t i = 0; i < count && status == 0; i++)
        if (i != meter->time && i != meter->good && gt_number_double(fields[i], &point.value) == 0)
            status = gt_experiment_add(experiment, GT_EXPERIMENT_METER, meter->name[i], NULL, point, NAN);
    return status;
}

int gt_experiment_read_meter(struct gt_experiment *experiment, const char *path, struct gt_error *error)
{
    struct meter meter = {0};
    char **fields;
    size_t count;
    int fd = gt_given_file_open_optional(path, error);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    uint32_t segment = experiment->segment;
    experiment->segment = 0; /* it goes on when recordings pause */
    int status = gt_csv_open(&meter.reader, fd, path, error);
    if (status >= 0)
        status = read_header(&meter, path, error);
    while (status >= 0 && (status = gt_csv_next(meter.reader, &fields, &count, error)) > 0)
        if (gt_csv_is_complete(meter.reader) && (status = take_row(experiment, &meter, fields, count)) < 0)
            gt_error_system(error, -status, "%s", path);
    experiment->segment = segment;
    gt_csv_close(meter.reader);
    close(fd);
    for (size_t i = 0; i < meter.count; i++)
        free(meter.name[i]);
    return status;
}
