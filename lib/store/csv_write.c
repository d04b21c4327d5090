#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/number.h"
#include "store/csv.h"
#include "store/store.h"

/* Write a number as it stands in a field. Returns the length: 0 for NaN. */
static size_t number_text(char text[GT_NUMBER_SIZE], double value, bool integer)
{
    size_t length = isnan(value) ? 0 : gt_number_repr(text, value);
    return integer && length > 2 && !memcmp(text + length - 2, ".0", 2) ? length - 2 : length;
}

static void csv_number(struct gt_buffer *out, double value, bool integer)
{
    char text[GT_NUMBER_SIZE];
    gt_buffer_append(out, text, number_text(text, value, integer));
}

/* Most figures are as they were in the row before: their text is kept. */
struct shown {
    double value;
    size_t length; /* 0: none yet */
    char text[GT_NUMBER_SIZE];
};

struct output {
    int fd;
    char *path;
    off_t size; /* whole lines only */
    struct gt_columns *columns;
    struct shown *shown; /* of each column */
};

struct csv_writer {
    struct output data;
    struct output detail[GT_DETAIL_COUNT];
    struct output lives;
    bool has_detail;
    off_t outcome_at;
    struct gt_buffer line;
    struct gt_buffer rows; /* of samples, which csv_flush writes */
};

/* ---- Text ---------------------------------------------------------------------------------------------------- */

static void end_line(struct gt_buffer *out)
{
    if (!out->failed)
        out->data[out->length - 1] = '\r'; /* over the comma behind the last field */
    gt_buffer_char(out, '\n');
}

static void append_name(struct gt_buffer *out, const char *name)
{
    gt_csv_field(out, name);
    gt_buffer_char(out, ',');
}

static void append_field_names(struct gt_buffer *out, const struct gt_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++)
        append_name(out, fields[i].name);
}

static void append_fields(struct gt_buffer *out, const struct gt_field *fields, size_t count, const void *object)
{
    for (size_t i = 0; i < count; i++) {
        if (fields[i].kind == GT_FIELD_TEXT)
            gt_csv_field(out, gt_field_text(&fields[i], object));
        else
            csv_number(out, gt_field_number(&fields[i], object), fields[i].kind == GT_FIELD_INTEGER);
        gt_buffer_char(out, ',');
    }
}

/* The list of processes: rows are appended while it is written; a finished one has each process once. */
static void csv_lives_header(struct gt_buffer *out)
{
    append_field_names(out, gt_life_fields, gt_life_field_count);
    end_line(out);
}

static void csv_lives_rows(struct gt_buffer *out, const struct gt_life *life, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        append_fields(out, gt_life_fields, gt_life_field_count, &life[i]);
        end_line(out);
    }
}

static void append_column_names(struct gt_buffer *out, const struct gt_columns *columns)
{
    for (size_t i = 0; i < columns->count; i++)
        append_name(out, columns->column[i].name);
    end_line(out);
}

static void append_static_names(struct gt_buffer *out)
{
    append_field_names(out, gt_machine_fields, gt_machine_field_count);
    append_name(out, GT_CSV_GPUS_FIELD);
    append_name(out, GT_CSV_VERSION_FIELD);
    append_field_names(out, gt_outcome_fields, gt_outcome_field_count);
    char name[GT_CSV_FINAL_SIZE];
    for (struct gt_csv_final final = {0}; gt_csv_final_next(&final);) {
        gt_csv_final_name(&final, name);
        append_name(out, name);
    }
    end_line(out);
}

static void append_static_values(struct gt_buffer *out, const struct gt_machine *machine)
{
    append_fields(out, gt_machine_fields, gt_machine_field_count, machine);
    struct gt_buffer gpus = {0};
    gt_machine_gpus_write(machine, &gpus);
    append_name(out, gpus.data ? gpus.data : "");
    gt_buffer_release(&gpus);
    gt_buffer_printf(out, "%d,", GT_RECORDING_VERSION);
}

static void append_padded(struct gt_buffer *out, double value, bool integer)
{
    size_t end = out->length + GT_CSV_OUTCOME_WIDTH;
    csv_number(out, value, integer);
    gt_buffer_fill(out, ' ', out->length < end ? end - out->length : 0);
    gt_buffer_char(out, ',');
}

/* The fixed-width fields; NULL leaves them blank. */
static void append_outcome(struct gt_buffer *out, const struct gt_outcome *outcome)
{
    for (size_t i = 0; i < gt_outcome_field_count; i++)
        append_padded(out, outcome ? gt_field_number(&gt_outcome_fields[i], outcome) : NAN,
                      gt_outcome_fields[i].kind == GT_FIELD_INTEGER);
    for (struct gt_csv_final final = {0}; gt_csv_final_next(&final);)
        append_padded(out, outcome ? outcome->value[final.scope][final.metric] : NAN, false);
}

/* ---- Files --------------------------------------------------------------------------------------------------- */

/* All of the text in one write, or nothing of it: what a full disk cut off is taken back. */
static int write_lines(struct output *output, const struct gt_buffer *text, struct gt_error *error)
{
    if (text->failed)
        return gt_error_system(error, -text->failed, "%s", output->path);
    int status = gt_file_write_all(output->fd, text->data, text->length);
    if (status < 0) {
        if (ftruncate(output->fd, output->size) < 0)
            status = -errno;
        return gt_error_system(error, -status, "%s", output->path);
    }
    output->size += (off_t)text->length;
    return 0;
}

static int set_appending(int fd, bool appending)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return -errno;
    flags = appending ? flags | O_APPEND : flags & ~O_APPEND;
    return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

/* The file appears with these lines in it. */
static int open_output(struct output *output, const char *path, bool overwrite, const struct gt_buffer *lines,
                       struct gt_error *error)
{
    struct gt_new_file file;
    output->path = strdup(path);
    output->shown = calloc(output->columns ? output->columns->count : 1, sizeof *output->shown);
    int status = output->path && output->shown ? gt_new_file_begin(&file, path) : -ENOMEM;
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    output->fd = file.fd;
    status = write_lines(output, lines, error);
    if (!status && (status = set_appending(file.fd, true)) < 0)
        gt_error_system(error, -status, "%s", path);
    if (status < 0)
        gt_new_file_drop(&file);
    else
        status = gt_store_place(&file, path, overwrite, error);
    if (status < 0)
        output->fd = -1;
    return status;
}

static void close_output(struct output *output, bool unwanted)
{
    if (output->fd >= 0) {
        close(output->fd);
        if (unwanted)
            unlink(output->path);
    }
    free(output->path);
    free(output->columns);
    free(output->shown);
}

/* `unwanted`: nothing shall remain of the files. */
static void release(struct csv_writer *writer, bool unwanted)
{
    close_output(&writer->data, unwanted);
    close_output(&writer->lives, unwanted);
    for (size_t i = 0; i < GT_DETAIL_COUNT; i++)
        close_output(&writer->detail[i], unwanted);
    gt_buffer_release(&writer->line);
    gt_buffer_release(&writer->rows);
    free(writer);
}

static int open_beside(struct output *output, const struct gt_store_options *options, const char *suffix,
                       const struct gt_buffer *lines, struct gt_error *error)
{
    char path[PATH_MAX];
    if (gt_store_path_beside(path, sizeof path, options->path, suffix) < 0)
        return gt_error_system(error, ENAMETOOLONG, "%s", options->path);
    return open_output(output, path, options->overwrite, lines, error);
}

static int create_lives(struct csv_writer *writer, const struct gt_store_options *options, struct gt_error *error)
{
    gt_buffer_clear(&writer->line);
    csv_lives_header(&writer->line);
    return open_beside(&writer->lives, options, GT_LIFE_SUFFIX, &writer->line, error);
}

static int make_columns(struct output *output, const char *path, struct gt_error *error)
{
    output->columns = malloc(sizeof *output->columns);
    return output->columns ? 0 : gt_error_system(error, ENOMEM, "%s", path);
}

static int create_detail(struct csv_writer *writer, const struct gt_store_options *options, size_t index,
                         struct gt_error *error)
{
    struct output *output = &writer->detail[index];
    if (make_columns(output, options->path, error) < 0)
        return -ENOMEM;
    gt_detail_columns(output->columns, gt_details[index].scope);
    gt_buffer_clear(&writer->line);
    append_column_names(&writer->line, output->columns);
    return open_beside(output, options, gt_details[index].suffix, &writer->line, error);
}

/* The head is not much longer; it need not be moved as it grows. */
enum { HEAD_BYTES = 12 << 10 };

static int create_data(struct csv_writer *writer, const struct gt_store_options *options,
                       const struct gt_machine *machine, struct gt_error *error)
{
    struct output *output = &writer->data;
    if (make_columns(output, options->path, error) < 0)
        return -ENOMEM;
    gt_store_columns(output->columns, machine);
    gt_buffer_reserve(&writer->line, HEAD_BYTES);
    append_static_names(&writer->line);
    append_static_values(&writer->line, machine);
    writer->outcome_at = (off_t)writer->line.length;
    append_outcome(&writer->line, NULL);
    end_line(&writer->line);
    append_column_names(&writer->line, output->columns);
    return open_output(output, options->path, options->overwrite, &writer->line, error);
}

static int csv_create(void **ret, const struct gt_store_options *options, const struct gt_machine *machine,
                      struct gt_error *error)
{
    struct csv_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return gt_error_system(error, ENOMEM, "%s", options->path);
    writer->data.fd = writer->lives.fd = writer->detail[0].fd = writer->detail[1].fd = -1;
    writer->has_detail = options->detail;
    int status = create_data(writer, options, machine, error);
    for (size_t i = 0; !status && options->detail && i < GT_DETAIL_COUNT; i++)
        status = create_detail(writer, options, i, error);
    if (!status && options->detail)
        status = create_lives(writer, options, error);
    if (status < 0)
        release(writer, true);
    else
        *ret = writer;
    return status;
}

/* ---- Samples ------------------------------------------------------------------------------------------------- */

static size_t put_value(char *at, struct shown *shown, double value, bool integer)
{
    if (isnan(value))
        return 0;
    if (!shown->length || memcmp(&shown->value, &value, sizeof value) != 0) {
        shown->value = value;
        shown->length = number_text(shown->text, value, integer);
    }
    memcpy(at, shown->text, shown->length);
    return shown->length;
}

/* `row` NULL: the fixed rows, one line for the sample. */
static void append_row(struct output *output, struct gt_buffer *out, const struct gt_sample *sample,
                       const struct gt_row *row)
{
    if (gt_buffer_reserve(out, output->columns->count * (GT_NUMBER_SIZE + 1)) < 0)
        return;
    for (size_t i = 0; i < output->columns->count; i++) {
        const struct gt_column *column = &output->columns->column[i];
        double value = row ? gt_detail_value(column, sample, row) : gt_store_column_value(column, sample);
        out->length += put_value(out->data + out->length, &output->shown[i], value, column->is_integer);
        out->data[out->length++] = ',';
    }
    end_line(out);
}

static int write_detail(struct csv_writer *writer, size_t index, const struct gt_sample *sample, struct gt_error *error)
{
    struct output *output = &writer->detail[index];
    gt_buffer_clear(&writer->line);
    for (size_t r = GT_FIXED_ROWS; r < sample->row_count; r++)
        if (sample->row[r].scope == gt_details[index].scope)
            append_row(output, &writer->line, sample, &sample->row[r]);
    return write_lines(output, &writer->line, error);
}

/* All rows that wait in one write; where the disk has no room for all of them, as many as fit. */
static int csv_flush(void *state, struct gt_error *error)
{
    struct csv_writer *writer = state;
    struct gt_buffer rows = writer->rows;
    int status = rows.length || rows.failed ? write_lines(&writer->data, &rows, rows.failed ? error : NULL) : 0;
    for (const char *end; status < 0 && rows.length && (end = memchr(rows.data, '\n', rows.length));) {
        struct gt_buffer row = {.data = rows.data, .length = (size_t)(end + 1 - rows.data)};
        if (write_lines(&writer->data, &row, error) < 0)
            break;
        rows.data += row.length;
        rows.length -= row.length;
        status = rows.length || rows.failed ? status : 0;
    }
    gt_buffer_clear(&writer->rows);
    return status;
}

enum { MOST_ROWS_BYTES = 64 << 10 };

/* The details first: a sample whose row is there is complete. */
static int csv_write(void *state, const struct gt_sample *sample, struct gt_error *error)
{
    struct csv_writer *writer = state;
    int status = 0;
    for (size_t i = 0; !status && writer->has_detail && i < GT_DETAIL_COUNT; i++)
        status = write_detail(writer, i, sample, error);
    if (!status && sample->life_count) {
        gt_buffer_clear(&writer->line);
        csv_lives_rows(&writer->line, sample->life, sample->life_count);
        status = write_lines(&writer->lives, &writer->line, error);
    }
    if (status < 0) {
        csv_flush(writer, NULL);
        return status;
    }
    append_row(&writer->data, &writer->rows, sample, NULL);
    return writer->rows.length < MOST_ROWS_BYTES ? 0 : csv_flush(writer, error);
}

/* "complete" is the first field, and written last. */
static int fill_outcome(struct csv_writer *writer, const struct gt_outcome *outcome)
{
    const size_t first = GT_CSV_OUTCOME_WIDTH + 1;
    int fd = writer->data.fd;
    int status = set_appending(fd, false);
    if (status < 0)
        return status;
    gt_buffer_clear(&writer->line);
    append_outcome(&writer->line, outcome);
    if (writer->line.failed)
        return writer->line.failed;
    size_t length = writer->line.length - 1; /* without the last comma: the line's end is there */
    status = gt_file_write_all_at(fd, writer->line.data + first, length - first, writer->outcome_at + (off_t)first);
    return status < 0 ? status : gt_file_write_all_at(fd, writer->line.data, first, writer->outcome_at);
}

/* In place of the rows that were appended: a row for each process, in a new file, so that the old one stays when that fails. */
static int replace_lives(struct csv_writer *writer, const struct gt_lives *lives, struct gt_error *error)
{
    struct output output = {.fd = -1};
    gt_buffer_clear(&writer->line);
    csv_lives_header(&writer->line);
    csv_lives_rows(&writer->line, lives->life, lives->count);
    int status = open_output(&output, writer->lives.path, true, &writer->line, error);
    close_output(&output, false);
    return status;
}

static int csv_finish(void *state, const struct gt_outcome *outcome, bool whole, struct gt_error *error)
{
    (void)whole; /* the outcome has its place even on a full disk */
    struct csv_writer *writer = state;
    int status = outcome ? fill_outcome(writer, outcome) : 0;
    if (status < 0)
        gt_error_system(error, -status, "%s", writer->data.path);
    if (!status && outcome && writer->has_detail)
        status = replace_lives(writer, &outcome->lives, error);
    release(writer, false);
    return status;
}

bool gt_csv_final_next(struct gt_csv_final *final)
{
    while (final->next < GT_METRIC_COUNT * GT_FIXED_ROWS) {
        final->metric = final->next / GT_FIXED_ROWS;
        final->scope = final->next++ % GT_FIXED_ROWS;
        if (gt_metric_has(final->metric, final->scope) && gt_metrics[final->metric].kind != GT_GAUGE)
            return true;
    }
    return false;
}

void gt_csv_final_name(const struct gt_csv_final *final, char name[GT_CSV_FINAL_SIZE])
{
    snprintf(name, GT_CSV_FINAL_SIZE, GT_CSV_FINAL "%s_%s", gt_scope_name(final->scope),
             gt_metrics[final->metric].name);
}

const struct gt_store_type gt_store_csv = {
    .suffix = ".csv",
    .help = "Text, one line a sample; GPUs and processes in files beside it",
    .has_detail_files = true,
    .create = csv_create,
    .write = csv_write,
    .flush = csv_flush,
    .finish = csv_finish,
    .open = gt_csv_read_open,
    .has = gt_csv_read_has,
    .begin = gt_csv_read_begin,
    .next = gt_csv_read_next,
    .unfinished = gt_csv_read_unfinished,
    .close = gt_csv_read_close,
};
