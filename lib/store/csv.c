/* Recordings as CSV. Lines 1 and 2 hold the names and values of the static data, line 3 the names of columns, and each
 * further line a sample; all end in \r\n. Our static data come after gpu_tracker's own. The outcome follows them in fields of
 * fixed width, which are blank until the recording is finished. GPUs and processes go to NAME.gpus.csv and NAME.processes.csv, which
 * begin with a line of columns. The list of processes is NAME.process_list.csv: see gt_process_record_fields. */
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
#include "base/os/file.h"
#include "base/number.h"
#include "store/store.h"
#include "store/type.h"

#define VERSION_FIELD "layout"
#define GPUS_FIELD "gpus"
#define FINAL "final_"

enum { OUTCOME_WIDTH = 24 /* the longest double */, FINAL_SIZE = 64 };
/* The head is not much longer; it need not be moved as it grows. */
enum { HEAD_BYTES = 12 << 10 };

/* The final values that the last row lacks, those of counters and peaks. */
struct final {
    enum gt_scope scope;
    enum gt_metric_id metric;
    char name[FINAL_SIZE]; /* "final_main_ram_peak" */
    int next;
};

/* Find the next one, the first after a `final` of zeros. Returns false at the end. */
static bool final_next(struct final *final)
{
    while (final->next < GT_METRIC_COUNT * GT_FIXED_ROWS) {
        final->metric = final->next / GT_FIXED_ROWS;
        final->scope = final->next++ % GT_FIXED_ROWS;
        if (!gt_metric_has(final->metric, final->scope) || gt_metrics[final->metric].kind == GT_GAUGE)
            continue;
        snprintf(final->name, sizeof final->name, FINAL "%s_%s", gt_scope_name(final->scope),
                 gt_metrics[final->metric].name);
        return true;
    }
    return false;
}

/* ---- Writing: text ------------------------------------------------------------------------------------------- */

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

static void end_line(struct gt_buffer *out)
{
    if (!out->failed)
        out->data[out->length - 1] = '\r'; /* over the comma behind the last field */
    gt_buffer_char(out, '\n');
}

static void append_text(struct gt_buffer *out, const char *text)
{
    gt_csv_field(out, text);
    gt_buffer_char(out, ',');
}

static void append_names(struct gt_buffer *out, const struct gt_fields *fields)
{
    for (size_t i = 0; i < fields->count; i++)
        append_text(out, fields->field[i].name);
}

static void append_values(struct gt_buffer *out, const struct gt_fields *fields, const void *object)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct gt_field *field = &fields->field[i];
        const char *text = field->kind == GT_FIELD_TEXT ? gt_field_text(field, object) : NULL;
        if (text)
            gt_csv_field(out, text);
        else if (field->kind != GT_FIELD_TEXT)
            csv_number(out, gt_field_number(field, object), field->kind == GT_FIELD_INTEGER);
        gt_buffer_char(out, ',');
    }
}

static void append_records(struct gt_buffer *out, const struct gt_process_record *record, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        append_values(out, &gt_process_record_fields, &record[i]);
        end_line(out);
    }
}

static void append_columns(struct gt_buffer *out, const struct gt_columns *columns)
{
    for (size_t i = 0; i < columns->count; i++)
        append_text(out, columns->column[i].name);
}

static void append_padded(struct gt_buffer *out, double value, bool integer)
{
    size_t end = out->length + OUTCOME_WIDTH;
    csv_number(out, value, integer);
    gt_buffer_fill(out, ' ', out->length < end ? end - out->length : 0);
    gt_buffer_char(out, ',');
}

/* The fixed-width fields; NULL leaves them blank. */
static void append_outcome(struct gt_buffer *out, const struct gt_outcome *outcome)
{
    for (size_t i = 0; i < gt_outcome_fields.count; i++) {
        const struct gt_field *field = &gt_outcome_fields.field[i];
        append_padded(out, outcome ? gt_field_number(field, outcome) : NAN, field->kind == GT_FIELD_INTEGER);
    }
    for (struct final final = {0}; final_next(&final);)
        append_padded(out, outcome ? outcome->value[final.scope][final.metric] : NAN, false);
}

/* ---- Writing: files ------------------------------------------------------------------------------------------ */

/* Most figures are as they were in the row before: their text is kept. */
struct shown {
    double value;
    size_t length; /* 0: none yet */
    char text[GT_NUMBER_SIZE];
};

enum part { SAMPLES, DETAILS, RECORDS = DETAILS + GT_DETAIL_COUNT, PARTS };

struct output {
    int fd;
    char *path;
    off_t size; /* whole lines only */
    struct gt_columns columns;
    struct shown *shown; /* of each column */
};

struct csv_writer {
    struct output output[PARTS];
    size_t parts; /* all of them with detail */
    off_t outcome_at;
    struct gt_buffer line;
    struct gt_buffer rows; /* of samples, which csv_flush writes */
};

/* All of the text in one write, or nothing of it: what a full disk cut off is taken back. */
static int write_lines(struct output *output, const struct gt_buffer *text, struct gt_error *error)
{
    int status = text->failed;
    if (!status && (status = gt_file_write_all_at(output->fd, text->data, text->length, output->size)) < 0 &&
        ftruncate(output->fd, output->size) < 0)
        status = -errno;
    if (status < 0)
        return gt_error_system(error, -status, "%s", output->path);
    output->size += (off_t)text->length;
    return 0;
}

/* `unwanted`: nothing shall remain of the files. */
static void release(struct csv_writer *writer, bool unwanted)
{
    for (size_t i = 0; i < PARTS; i++) {
        struct output *output = &writer->output[i];
        if (output->fd >= 0 && unwanted)
            unlink(output->path);
        gt_close_fd(output->fd);
        free(output->path);
        free(output->shown);
    }
    gt_buffer_release(&writer->line);
    gt_buffer_release(&writer->rows);
    free(writer);
}

/* What the file of a part begins with. */
static void put_head(struct csv_writer *writer, enum part part, const struct gt_machine *machine)
{
    struct gt_buffer *out = &writer->line, gpus = {0};
    struct gt_columns *columns = &writer->output[part].columns;
    gt_buffer_clear(out);
    if (part == RECORDS) {
        append_names(out, &gt_process_record_fields);
    } else if (part != SAMPLES) {
        gt_detail_columns(columns, gt_details[part - DETAILS].scope);
    } else {
        gt_buffer_reserve(out, HEAD_BYTES);
        append_names(out, &gt_machine_fields);
        append_text(out, GPUS_FIELD);
        append_text(out, VERSION_FIELD);
        append_names(out, &gt_outcome_fields);
        for (struct final final = {0}; final_next(&final);)
            append_text(out, final.name);
        end_line(out);
        append_values(out, &gt_machine_fields, machine);
        gt_machine_gpus_write(machine, &gpus);
        append_text(out, gpus.data ? gpus.data : "");
        gt_buffer_release(&gpus);
        gt_buffer_printf(out, "%d,", GT_RECORDING_VERSION);
        writer->outcome_at = (off_t)out->length;
        append_outcome(out, NULL);
        end_line(out);
        gt_store_columns(columns, machine);
    }
    append_columns(out, columns);
    end_line(out);
}

/* The file appears with its head. */
static int create_part(struct csv_writer *writer, enum part part, const struct gt_store_options *options,
                       const struct gt_machine *machine, struct gt_error *error)
{
    struct output *output = &writer->output[part];
    char path[PATH_MAX];
    struct gt_new_file file;
    const char *suffix = part == SAMPLES ? "" : gt_store_part(part - DETAILS);
    if (gt_store_path_beside(path, sizeof path, options->path, suffix) < 0)
        return gt_error_system(error, ENAMETOOLONG, "%s", options->path);
    put_head(writer, part, machine);
    output->path = strdup(path);
    output->shown = calloc(output->columns.count + 1, sizeof *output->shown);
    int status = output->path && output->shown ? gt_new_file_begin(&file, output->path) : -ENOMEM;
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    output->fd = file.fd;
    status = write_lines(output, &writer->line, error);
    if (status < 0)
        gt_new_file_drop(&file);
    else
        status = gt_store_place(&file, output->path, options->overwrite, error);
    if (status < 0)
        output->fd = -1;
    return status;
}

static int csv_create(void **ret, const struct gt_store_options *options, const struct gt_machine *machine,
                      struct gt_error *error)
{
    struct csv_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return gt_error_system(error, ENOMEM, "%s", options->path);
    for (int i = 0; i < PARTS; i++)
        writer->output[i].fd = -1;
    writer->parts = options->detail ? PARTS : 1;
    int status = 0;
    for (size_t i = 0; !status && i < writer->parts; i++)
        status = create_part(writer, (enum part)i, options, machine, error);
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
    if (gt_buffer_reserve(out, output->columns.count * (GT_NUMBER_SIZE + 1)) < 0)
        return;
    for (size_t i = 0; i < output->columns.count; i++) {
        const struct gt_column *column = &output->columns.column[i];
        double value = row ? gt_detail_value(column, sample, row) : gt_store_column_value(column, sample);
        out->length += put_value(out->data + out->length, &output->shown[i], value, column->is_integer);
        out->data[out->length++] = ',';
    }
    end_line(out);
}

/* All rows that wait in one write; where the disk has no room for all of them, as many as fit. */
static int csv_flush(void *state, struct gt_error *error)
{
    struct csv_writer *writer = state;
    struct gt_buffer rows = writer->rows;
    int status = rows.length || rows.failed ? write_lines(&writer->output[SAMPLES], &rows, rows.failed ? error : NULL)
                                            : 0;
    for (const char *end; status < 0 && rows.length && (end = memchr(rows.data, '\n', rows.length));) {
        struct gt_buffer row = {.data = rows.data, .length = (size_t)(end + 1 - rows.data)};
        if (write_lines(&writer->output[SAMPLES], &row, error) < 0)
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
    for (size_t i = DETAILS; !status && i < writer->parts; i++) {
        gt_buffer_clear(&writer->line);
        for (size_t r = GT_FIXED_ROWS; i < RECORDS && r < sample->row_count; r++)
            if (sample->row[r].scope == gt_details[i - DETAILS].scope)
                append_row(&writer->output[i], &writer->line, sample, &sample->row[r]);
        if (i == RECORDS)
            append_records(&writer->line, sample->record, sample->record_count);
        status = write_lines(&writer->output[i], &writer->line, error);
    }
    if (status < 0) {
        csv_flush(writer, NULL);
        return status;
    }
    append_row(&writer->output[SAMPLES], &writer->rows, sample, NULL);
    return writer->rows.length < MOST_ROWS_BYTES ? 0 : csv_flush(writer, error);
}

/* "complete" is the first field, and written last. */
static int fill_outcome(struct csv_writer *writer, const struct gt_outcome *outcome)
{
    const size_t first = OUTCOME_WIDTH + 1;
    const struct gt_buffer *line = &writer->line;
    int fd = writer->output[SAMPLES].fd;
    gt_buffer_clear(&writer->line);
    append_outcome(&writer->line, outcome);
    if (line->failed)
        return line->failed;
    size_t rest = line->length - 1 - first; /* without the last comma: the line's end is there */
    int status = gt_file_write_all_at(fd, line->data + first, rest, writer->outcome_at + (off_t)first);
    return status < 0 ? status : gt_file_write_all_at(fd, line->data, first, writer->outcome_at);
}

static int csv_finish(void *state, const struct gt_outcome *outcome, bool whole, struct gt_error *error)
{
    (void)whole; /* the outcome has its place even on a full disk */
    struct csv_writer *writer = state;
    struct gt_buffer *text = &writer->line;
    int status = outcome ? fill_outcome(writer, outcome) : 0;
    if (status < 0)
        gt_error_system(error, -status, "%s", writer->output[SAMPLES].path);
    if (!status && outcome &&
        writer->parts > RECORDS) { /* a row for each process, instead of those that were appended */
        const char *path = writer->output[RECORDS].path;
        put_head(writer, RECORDS, NULL);
        append_records(text, outcome->records.record, outcome->records.count);
        status = text->failed ? text->failed : gt_new_file_write(path, text->data, text->length);
        if (status < 0)
            gt_error_system(error, -status, "%s", path);
    }
    release(writer, false);
    return status;
}

/* ---- Reading: tables ----------------------------------------------------------------------------------------- */

struct table {
    int fd;
    char *path;
    struct gt_csv_reader *csv;
    char **header; /* NULL when the file ends before it */
    size_t header_count;
    const struct gt_column **source;                                                 /* the columns that are read */
    size_t field[sizeof((struct gt_columns *)0)->column / sizeof(struct gt_column)]; /* where each lies in a line */
    size_t source_count;
    uint64_t unfinished;
};

struct csv_recording {
    struct table table[GT_TABLES];
};

static int open_table(struct table *table, const char *path, struct gt_error *error)
{
    table->path = strdup(path);
    table->fd = table->path ? gt_given_file_open(path, NULL, error) : -ENOMEM;
    if (table->fd < 0)
        return gt_error_system(error, -table->fd, "%s", path);
    return gt_csv_open(&table->csv, table->fd, path, error);
}

static void free_line(char **line, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(line[i]);
    free(line);
}

static void close_table(struct table *table)
{
    free_line(table->header, table->header_count);
    gt_csv_close(table->csv);
    gt_close_fd(table->fd);
    free(table->path);
}

/* The next line as texts of its own. 1, 0 at the end of the file or when the line is unfinished. */
static int keep_line(struct table *table, char ***ret, size_t *ret_count, struct gt_error *error)
{
    char **fields;
    size_t count;
    int status = gt_csv_next(table->csv, &fields, &count, error);
    if (status <= 0 || !gt_csv_is_complete(table->csv))
        return status < 0 ? status : 0;
    char **kept = calloc(count, sizeof *kept);
    *ret = kept;
    *ret_count = kept ? count : 0;
    bool whole = kept;
    for (size_t i = 0; whole && i < count; i++)
        whole = (kept[i] = strdup(fields[i]));
    return whole ? 1 : gt_error_system(error, ENOMEM, "%s", table->path);
}

static bool has_column(const struct table *table, const char *name)
{
    for (size_t i = 0; i < table->header_count; i++)
        if (!strcmp(table->header[i], name))
            return true;
    return false;
}

/* 1 a whole row, 0 the end. */
static int next_row(struct table *table, char ***fields, struct gt_error *error)
{
    size_t count;
    int status = table->header ? gt_csv_next(table->csv, fields, &count, error) : 0;
    if (status <= 0)
        return status == -EBADMSG ? -EINVAL : status; /* no row to go on behind */
    if (!gt_csv_is_complete(table->csv)) {
        table->unfinished++;
        return 0;
    }
    if (count != table->header_count)
        return gt_error_set(error, EBADMSG, "%s, line %llu: %zu fields where the columns are %zu", table->path,
                            (unsigned long long)gt_csv_line(table->csv), count, table->header_count);
    return 1;
}

static int read_number(const struct table *table, const struct gt_column *column, const char *text, double *ret,
                       struct gt_error *error)
{
    bool is_time = column->scope == GT_COLUMN_REAL;
    if (gt_number_double(text, ret) == 0)
        return 0;
    *ret = NAN;
    if (!is_time && (!*text || !strcmp(text, "nan")))
        return 0;
    return gt_error_set(error, EBADMSG,
                        is_time && !*text ? "%s, line %llu, column %s: no time%s"
                                          : "%s, line %llu, column %s: \"%s\" is not a number",
                        table->path, (unsigned long long)gt_csv_line(table->csv), column->name, text);
}

/* ---- Reading: static data --------------------------------------------------------------------------------------------- */

static char *trim(char *text)
{
    text += strspn(text, " ");
    size_t length = strlen(text);
    while (length && text[length - 1] == ' ')
        length--;
    text[length] = '\0';
    return text;
}

struct static_data {
    char **name, **value;
    size_t count, value_count;
};

static char *find_static(const struct static_data *data, const char *name)
{
    for (size_t i = 0; i < data->count && i < data->value_count; i++)
        if (!strcmp(data->name[i], name))
            return data->value[i];
    return NULL;
}

static double static_number(const struct static_data *data, const char *name)
{
    double value = NAN;
    char *text = find_static(data, name);
    if (text)
        gt_number_double(trim(text), &value);
    return value;
}

/* Also by the name that earlier versions had for it. */
static double final_number(const struct static_data *data, const char *name)
{
    const char *before = gt_store_name_before(name + sizeof FINAL - 1);
    char former[FINAL_SIZE];
    if (!before || find_static(data, name))
        return static_number(data, name);
    snprintf(former, sizeof former, FINAL "%s", before);
    return static_number(data, former);
}

static void read_outcome(const struct static_data *data, struct gt_recorded *recorded)
{
    struct gt_outcome *outcome = &recorded->outcome;
    gt_outcome_init(outcome);
    recorded->has_outcome = static_number(data, gt_outcome_fields.field[0].name) >= 0;
    if (!recorded->has_outcome)
        return;
    for (size_t i = 0; i < gt_outcome_fields.count; i++) {
        const struct gt_field *field = &gt_outcome_fields.field[i];
        gt_field_set_number(field, outcome, static_number(data, field->name));
    }
    for (struct final final = {0}; final_next(&final);)
        outcome->value[final.scope][final.metric] = final_number(data, final.name);
}

static int read_static(const struct static_data *data, const char *path, struct gt_recorded *recorded,
                       struct gt_error *error)
{
    int status = gt_recording_version_check(static_number(data, VERSION_FIELD), path, error);
    for (size_t i = 0; !status && i < gt_machine_fields.count; i++) {
        const struct gt_field *field = &gt_machine_fields.field[i];
        status = gt_machine_field_read(&recorded->machine, field, find_static(data, field->name), path, error);
    }
    const char *gpus = find_static(data, GPUS_FIELD);
    if (!status && gpus)
        status = gt_machine_gpus_read(&recorded->machine, gpus, path, error);
    if (!status)
        read_outcome(data, recorded);
    return status;
}

static int check_static(const struct static_data *data, const char *path, struct gt_error *error)
{
    const char *first = gt_machine_fields.field[0].name;
    if (!data->name)
        return gt_error_set(error, EINVAL, "%s is empty", path);
    for (size_t i = 0; i < data->count; i++)
        if (!strcmp(data->name[i], first))
            return data->value ? 0 : gt_error_set(error, EINVAL, "%s ends before its static data", path);
    return gt_error_set(error, EINVAL, "%s is not a tracking file: its first line does not name %s", path, first);
}

/* ---- Reading: the list of processes ------------------------------------------------------------------------------------ */

/* `fields`: NULL for columns that are not known. */
static int read_record(char **texts, const struct gt_field *const *fields, size_t count, const struct table *table,
                       struct gt_process_record *ret, struct gt_error *error)
{
    gt_process_record_init(ret);
    for (size_t i = 0; i < count; i++) {
        const struct gt_field *field = fields[i];
        double value = NAN;
        if (!field)
            continue;
        if (field->kind == GT_FIELD_TEXT)
            gt_field_set_text(field, ret, texts[i]);
        else if (*texts[i] && gt_number_double(texts[i], &value) < 0)
            return gt_error_set(error, EINVAL, "%s, line %llu, column %s: \"%s\" is not a number", table->path,
                                (unsigned long long)gt_csv_line(table->csv), field->name, texts[i]);
        else
            gt_field_set_number(field, ret, value);
    }
    return 0;
}

/* A row that was not finished at the end, because the writer was killed or is at work, is left out; so is a text without its last quote. */
static int read_records(struct table *table, struct gt_process_records *ret, struct gt_error *error)
{
    enum { MOST = 32 };
    struct gt_process_record record;
    struct gt_error bad = {0};
    char **texts;
    size_t columns = table->header_count < MOST ? table->header_count : MOST;
    const struct gt_field *fields[MOST];
    int status;
    for (size_t i = 0; i < columns; i++)
        fields[i] = gt_field_find(&gt_process_record_fields, table->header[i]);
    while (columns && (status = next_row(table, &texts, &bad)) != 0 && status != -EINVAL) {
        if (status < 0)
            return status == -EBADMSG ? gt_error_set(error, EINVAL, "%s", bad.text)
                                      : gt_error_system(error, -status, "%s", table->path);
        status = read_record(texts, fields, columns, table, &record, error);
        if (status >= 0 && gt_process_records_add(ret, &record) < 0)
            status = gt_error_system(error, ENOMEM, "%s", table->path);
        if (status < 0)
            return status;
    }
    return 0;
}

/* Read the list beside the recording, if there is one. The last of several rows of a process counts. */
static int csv_process_records_read(struct gt_process_records *ret, const char *recording, struct gt_error *error)
{
    char path[PATH_MAX];
    if (gt_store_path_beside(path, sizeof path, recording, GT_PROCESS_RECORD_SUFFIX) < 0 || access(path, F_OK) < 0)
        return 0;
    struct table *table = calloc(1, sizeof *table);
    if (!table)
        return gt_error_system(error, ENOMEM, "%s", path);
    int status = open_table(table, path, error);
    if (!status) /* whose first line may be unfinished */
        status = keep_line(table, &table->header, &table->header_count, NULL);
    if (status > 0)
        status = read_records(table, ret, error);
    if (status >= 0 && gt_process_records_unify(ret) < 0)
        status = gt_error_system(error, ENOMEM, "%s", path);
    close_table(table);
    free(table);
    return status;
}

/* ---- Reading: the recording ----------------------------------------------------------------------------------- */

static int read_head(struct table *table, struct gt_recorded *recorded, struct gt_error *error)
{
    struct static_data data = {0};
    int status = keep_line(table, &data.name, &data.count, error);
    if (status > 0)
        status = keep_line(table, &data.value, &data.value_count, error);
    if (status >= 0)
        status = check_static(&data, table->path, error);
    if (status >= 0)
        status = read_static(&data, table->path, recorded, error);
    if (status >= 0)
        status = keep_line(table, &table->header, &table->header_count, error);
    free_line(data.name, data.count);
    free_line(data.value, data.value_count);
    if (status > 0 && !has_column(table, "timestamp"))
        status = gt_error_set(error, EINVAL, "%s, line %llu: no column timestamp", table->path,
                              (unsigned long long)gt_csv_line(table->csv));
    return status < 0 ? status : 0;
}

static void csv_close(void *state)
{
    struct csv_recording *recording = state;
    for (int i = 0; recording && i < GT_TABLES; i++)
        close_table(&recording->table[i]);
    free(recording);
}

static int csv_open(void **ret, const char *path, struct gt_recorded *recorded, struct gt_error *error)
{
    struct csv_recording *recording = calloc(1, sizeof *recording);
    if (!recording)
        return gt_error_system(error, ENOMEM, "%s", path);
    for (int i = 0; i < GT_TABLES; i++)
        recording->table[i].fd = -1;
    int status = open_table(&recording->table[GT_TABLE_SAMPLES], path, error);
    if (!status)
        status = read_head(&recording->table[GT_TABLE_SAMPLES], recorded, error);
    if (!status)
        status = csv_process_records_read(&recorded->outcome.records, path, error);
    if (status < 0)
        csv_close(recording);
    else
        *ret = recording;
    return status;
}

static bool csv_has(const void *state, const char *column)
{
    const struct csv_recording *recording = state;
    return has_column(&recording->table[GT_TABLE_SAMPLES], column);
}

static int open_detail(struct csv_recording *recording, enum gt_stored_table index, struct gt_error *error)
{
    struct table *table = &recording->table[index];
    char path[PATH_MAX];
    if (gt_store_path_beside(path, sizeof path, recording->table[GT_TABLE_SAMPLES].path, gt_details[index - 1].suffix) <
            0 ||
        access(path, F_OK) < 0)
        return 0;
    int status = open_table(table, path, error);
    return status < 0 ? status : keep_line(table, &table->header, &table->header_count, error);
}

static int csv_begin(void *state, enum gt_stored_table index, const struct gt_columns *columns, const bool wanted[],
                     int64_t after, const struct gt_column *source[], struct gt_error *error)
{
    struct csv_recording *recording = state;
    struct table *table = &recording->table[index];
    bool taken[sizeof columns->column / sizeof *columns->column] = {false};
    (void)after;
    table->source = source;
    int status = index == GT_TABLE_SAMPLES ? 0 : open_detail(recording, index, error);
    for (size_t i = 0; status >= 0 && i < table->header_count; i++) {
        int found = gt_store_column_find(columns, table->header[i]);
        if (found < 0 || taken[found] || (wanted && !wanted[found]))
            continue;
        taken[found] = true;
        source[table->source_count] = &columns->column[found];
        table->field[table->source_count++] = i;
    }
    return status < 0 ? status : (int)table->source_count;
}

static int csv_row(void *state, enum gt_stored_table index, double value[], struct gt_error *error)
{
    struct csv_recording *recording = state;
    struct table *table = &recording->table[index];
    char **fields;
    int status = next_row(table, &fields, error);
    for (size_t i = 0; status > 0 && i < table->source_count; i++)
        if (read_number(table, table->source[i], fields[table->field[i]], &value[i], error) < 0)
            return -EBADMSG;
    return status;
}

static uint64_t csv_unfinished(const void *state)
{
    const struct csv_recording *recording = state;
    return recording->table[GT_TABLE_SAMPLES].unfinished;
}

const struct gt_store_type gt_store_csv = {
    .suffix = ".csv",
    .create = csv_create,
    .write = csv_write,
    .flush = csv_flush,
    .finish = csv_finish,
    .open = csv_open,
    .has = csv_has,
    .begin = csv_begin,
    .row = csv_row,
    .unfinished = csv_unfinished,
    .close = csv_close,
};
