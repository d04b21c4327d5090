/* Sub-tracking files as CSV. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/number.h"
#include "blocks/block_event.h"

struct border_csv {
    struct gt_csv_reader *csv;
    char *path;
    int column[GT_BLOCK_EVENT_COLUMNS]; /* its place in the file, or -1 */
    size_t columns;
    bool has_returns; /* the header ended in \r\n, so a row that does not was torn apart */
    uint64_t torn;
};

static int bad_row(const struct border_csv *file, struct gt_error *error, const char *what, const char *value)
{
    return gt_error_set(error, EBADMSG, "%s, line %llu: %s%s%.60s%s", file->path,
                        (unsigned long long)gt_csv_line(file->csv), what, value ? " \"" : "", value ? value : "",
                        value ? "\"" : "");
}

static int read_header(struct border_csv *file, struct gt_error *error)
{
    char **field;
    int status = gt_csv_next(file->csv, &field, &file->columns, error);
    if (status < 0)
        return status;
    if (status == 0)
        return gt_error_set(error, EBADMSG, "%s is empty", file->path);
    file->has_returns = gt_csv_has_return(file->csv);
    for (int i = 0; i < GT_BLOCK_EVENT_COLUMNS; i++) {
        file->column[i] = -1;
        for (size_t j = 0; j < file->columns; j++)
            if (strcmp(field[j], gt_block_event_columns[i]) == 0)
                file->column[i] = (int)j;
        if (i < GT_BLOCK_EVENT_REQUIRED && file->column[i] < 0)
            return gt_error_set(error, EBADMSG, "%s is not a sub-tracking file: it has no column %s", file->path,
                                gt_block_event_columns[i]);
    }
    return 0;
}

/* A column that the file lacks, or an empty field, is left as it is. */
static int read_integer(struct border_csv *file, char **field, int column, int64_t *ret, struct gt_error *error)
{
    if (file->column[column] < 0)
        return 0;
    const char *text = field[file->column[column]];
    if (!*text && column >= GT_BLOCK_EVENT_REQUIRED)
        return 0;
    double value;
    if (gt_number_i64(text, ret) == 0)
        return 0;
    if (gt_number_double(text, &value) == 0 && value == floor(value) && fabs(value) < 9e15) { /* as pandas writes it */
        *ret = (int64_t)value;
        return 0;
    }
    return bad_row(file, error, gt_block_event_columns[column], text);
}

static int read_double(struct border_csv *file, char **field, int column, double *ret, struct gt_error *error)
{
    if (file->column[column] < 0)
        return 0;
    const char *text = field[file->column[column]];
    if (!*text && column >= GT_BLOCK_EVENT_REQUIRED)
        return 0;
    return gt_number_double(text, ret) == 0 ? 0 : bad_row(file, error, gt_block_event_columns[column], text);
}

static int read_row(struct border_csv *file, char **field, struct gt_block_event *ret, struct gt_error *error)
{
    int64_t position = 0;
    *ret = (struct gt_block_event){.thread = -1, .call = -1, .monotonic = NAN, .cpu_time = NAN};
    ret->row = gt_csv_line(file->csv);
    int status = read_integer(file, field, GT_BLOCK_EVENT_PROCESS, &ret->process, error);
    if (status == 0)
        status = read_integer(file, field, GT_BLOCK_EVENT_POSITION, &position, error);
    if (status == 0 && position != GT_START && position != GT_STOP)
        status = bad_row(file, error, "position is neither 0 nor 1:", field[file->column[GT_BLOCK_EVENT_POSITION]]);
    if (status == 0)
        status = read_double(file, field, GT_BLOCK_EVENT_TIMESTAMP, &ret->timestamp, error);
    if (status == 0)
        status = read_integer(file, field, GT_BLOCK_EVENT_THREAD, &ret->thread, error);
    if (status == 0)
        status = read_integer(file, field, GT_BLOCK_EVENT_CALL, &ret->call, error);
    if (status == 0)
        status = read_double(file, field, GT_BLOCK_EVENT_MONOTONIC, &ret->monotonic, error);
    if (status == 0)
        status = read_double(file, field, GT_BLOCK_EVENT_CPU_TIME, &ret->cpu_time, error);
    ret->position = (uint8_t)position;
    return status;
}

static int next_row(void *state, struct gt_block_event *ret, const char **name, struct gt_error *error)
{
    struct border_csv *file = state;
    for (;;) {
        char **field;
        size_t count;
        int status = gt_csv_next(file->csv, &field, &count, error);
        if (status <= 0)
            return status;
        if (file->has_returns && !gt_csv_has_return(file->csv)) {
            file->torn++;
            continue;
        }
        if (count != file->columns)
            return gt_error_set(error, EBADMSG, "%s, line %llu: %zu fields instead of %zu", file->path,
                                (unsigned long long)gt_csv_line(file->csv), count, file->columns);
        *name = field[file->column[GT_BLOCK_EVENT_NAME]];
        status = read_row(file, field, ret, error);
        return status < 0 ? status : 1;
    }
}

static uint64_t torn_rows(const void *state)
{
    return ((const struct border_csv *)state)->torn;
}

static void close_file(void *state)
{
    struct border_csv *file = state;
    gt_csv_close(file->csv);
    free(file->path);
    free(file);
}

static const struct gt_block_event_source source = {.next = next_row, .torn = torn_rows, .close = close_file};

int gt_block_event_csv_start(struct gt_block_event_reader *reader, int fd, const char *name, struct gt_error *error)
{
    struct border_csv *file = calloc(1, sizeof *file);
    if (!file)
        return gt_error_system(error, ENOMEM, "%s", name);
    file->path = strdup(name);
    int status = file->path ? gt_csv_open(&file->csv, fd, name, error) : gt_error_system(error, ENOMEM, "%s", name);
    if (status == 0)
        status = read_header(file, error);
    if (status < 0) {
        close_file(file);
        return status;
    }
    reader->source = &source;
    reader->state = file;
    return 0;
}

/* ---- writing ---- */

static void put_number(struct gt_buffer *out, double value)
{
    char text[GT_NUMBER_SIZE];
    if (!isnan(value))
        gt_buffer_append(out, text, gt_number_repr(text, value));
}

static void put_row(struct gt_buffer *out, const struct gt_block_event_list *list, const struct gt_block_event *event)
{
    gt_buffer_printf(out, "%lld,", (long long)event->process);
    gt_csv_field(out, gt_strings_text(&list->names, event->name));
    gt_buffer_printf(out, ",%d,", event->position);
    put_number(out, event->timestamp);
    gt_buffer_char(out, ',');
    if (event->thread >= 0)
        gt_buffer_printf(out, "%lld", (long long)event->thread);
    gt_buffer_char(out, ',');
    if (event->call >= 0)
        gt_buffer_printf(out, "%lld", (long long)gt_block_event_call(list, event));
    gt_buffer_char(out, ',');
    put_number(out, event->monotonic);
    gt_buffer_char(out, ',');
    put_number(out, event->cpu_time);
    gt_buffer_text(out, "\r\n");
}

static int flush(int fd, struct gt_buffer *out)
{
    int status = out->failed ? out->failed : gt_file_write_all(fd, out->data, out->length);
    gt_buffer_clear(out);
    return status;
}

int gt_block_event_write_csv(const struct gt_block_event_list *list, int fd, const char *name, struct gt_error *error)
{
    struct gt_buffer out = {0};
    int status = 0;
    for (int i = 0; i < GT_BLOCK_EVENT_COLUMNS; i++)
        gt_buffer_printf(&out, "%s%s", i ? "," : "", gt_block_event_columns[i]);
    gt_buffer_text(&out, "\r\n");
    for (size_t i = 0; i < list->count && status == 0; i++) {
        put_row(&out, list, &list->event[i]);
        if (out.length > 1 << 20)
            status = flush(fd, &out);
    }
    if (status == 0)
        status = flush(fd, &out);
    gt_buffer_release(&out);
    return status < 0 ? gt_error_system(error, -status, "%s", name) : 0;
}
