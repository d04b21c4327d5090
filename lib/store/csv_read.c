#include "store/csv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/number.h"

/* A column of the file that is wanted. */
struct source {
    size_t field;
    const struct gt_column *column;
};

struct table {
    int fd;
    char *path;
    struct gt_csv_reader *csv;
    char **header; /* NULL when the file ends before it */
    size_t header_count;
    struct source source[sizeof((struct gt_columns *)0)->column / sizeof(struct gt_column)];
    size_t source_count;
};

struct detail_table {
    struct table table;
    struct gt_columns columns;
    struct gt_detail_cursor cursor;
    uint64_t unfinished;
};

struct csv_recording {
    struct table data;
    struct detail_table *detail[GT_DETAIL_COUNT]; /* NULL: not wanted, or not there */
    uint64_t unfinished;
};

/* ---- Tables -------------------------------------------------------------------------------------------------- */

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
    if (table->fd >= 0)
        close(table->fd);
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

static void choose_columns(struct table *table, const struct gt_columns *columns, const bool wanted[])
{
    bool taken[sizeof columns->column / sizeof *columns->column] = {false};
    for (size_t i = 0; i < table->header_count; i++) {
        int index = gt_store_column_find(columns, table->header[i]);
        if (index < 0 || taken[index] || (wanted && !wanted[index]))
            continue;
        taken[index] = true;
        table->source[table->source_count++] = (struct source){i, &columns->column[index]};
    }
}

/* 1 a whole row, 0 the end. */
static int next_row(struct table *table, char ***fields, uint64_t *unfinished, struct gt_error *error)
{
    size_t count;
    int status = table->header ? gt_csv_next(table->csv, fields, &count, error) : 0;
    if (status <= 0)
        return status == -EBADMSG ? -EINVAL : status; /* no row to go on behind */
    if (!gt_csv_is_complete(table->csv)) {
        ++*unfinished;
        return 0;
    }
    if (count != table->header_count)
        return gt_error_set(error, EBADMSG, "%s, line %llu: %zu fields where the columns are %zu", table->path,
                            (unsigned long long)gt_csv_line(table->csv), count, table->header_count);
    return 1;
}

static int bad_number(const struct table *table, const struct source *source, const char *text, struct gt_error *error)
{
    bool is_time = source->column->scope == GT_COLUMN_REAL && !*text;
    return gt_error_set(error, EBADMSG,
                        is_time ? "%s, line %llu, column %s: no time%s"
                                : "%s, line %llu, column %s: \"%s\" is not a number",
                        table->path, (unsigned long long)gt_csv_line(table->csv), source->column->name, text);
}

static int read_number(const struct table *table, const struct source *source, const char *text, double *ret,
                       struct gt_error *error)
{
    if (gt_number_double(text, ret) == 0)
        return 0;
    if (source->column->scope == GT_COLUMN_REAL || (*text && strcmp(text, "nan")))
        return bad_number(table, source, text, error);
    *ret = NAN;
    return 0;
}

/* ---- Static data --------------------------------------------------------------------------------------------- */

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
    const char *before = gt_store_name_before(name + sizeof GT_CSV_FINAL - 1);
    char former[GT_CSV_FINAL_SIZE];
    if (!before || find_static(data, name))
        return static_number(data, name);
    snprintf(former, sizeof former, GT_CSV_FINAL "%s", before);
    return static_number(data, former);
}

static void read_outcome(const struct static_data *data, struct gt_recorded *recorded)
{
    struct gt_outcome *outcome = &recorded->outcome;
    gt_outcome_init(outcome);
    recorded->has_outcome = static_number(data, gt_outcome_fields[0].name) >= 0;
    if (!recorded->has_outcome)
        return;
    for (size_t i = 0; i < gt_outcome_field_count; i++)
        gt_field_set_number(&gt_outcome_fields[i], outcome, static_number(data, gt_outcome_fields[i].name));
    char name[GT_CSV_FINAL_SIZE];
    for (struct gt_csv_final final = {0}; gt_csv_final_next(&final);) {
        gt_csv_final_name(&final, name);
        outcome->value[final.scope][final.metric] = final_number(data, name);
    }
}

static int read_static(const struct static_data *data, const char *path, struct gt_recorded *recorded,
                       struct gt_error *error)
{
    int status = gt_recording_version_check(static_number(data, GT_CSV_VERSION_FIELD), path, error);
    for (size_t i = 0; !status && i < gt_machine_field_count; i++)
        status = gt_machine_field_read(&recorded->machine, &gt_machine_fields[i],
                                       find_static(data, gt_machine_fields[i].name), path, error);
    const char *gpus = find_static(data, GT_CSV_GPUS_FIELD);
    if (!status && gpus)
        status = gt_machine_gpus_read(&recorded->machine, gpus, path, error);
    if (!status)
        read_outcome(data, recorded);
    return status;
}

static int check_static(const struct static_data *data, const char *path, struct gt_error *error)
{
    if (!data->name)
        return gt_error_set(error, EINVAL, "%s is empty", path);
    for (size_t i = 0; i < data->count; i++)
        if (!strcmp(data->name[i], gt_machine_fields[0].name))
            return data->value ? 0 : gt_error_set(error, EINVAL, "%s ends before its static data", path);
    return gt_error_set(error, EINVAL, "%s is not a tracking file: its first line does not name %s", path,
                        gt_machine_fields[0].name);
}

/* ---- The list of processes ------------------------------------------------------------------------------------ */

enum { COLUMNS = 32 };

struct life_columns {
    int field[COLUMNS]; /* of each field, or negative */
    size_t count;
};

static void read_life_columns(struct life_columns *columns, char **fields, size_t count)
{
    columns->count = count;
    for (size_t i = 0; i < count && i < COLUMNS; i++)
        columns->field[i] = gt_field_find(gt_life_fields, gt_life_field_count, fields[i]);
}

static int read_row(const struct life_columns *columns, char **fields, const char *path, uint64_t line,
                    struct gt_life *ret, struct gt_error *error)
{
    gt_life_init(ret);
    for (size_t i = 0; i < columns->count && i < COLUMNS; i++) {
        const struct gt_field *field = columns->field[i] < 0 ? NULL : &gt_life_fields[columns->field[i]];
        double value = NAN;
        if (!field)
            continue;
        if (field->kind != GT_FIELD_TEXT && *fields[i] && gt_number_double(fields[i], &value) < 0)
            return gt_error_set(error, EINVAL, "%s, line %llu, column %s: \"%s\" is not a number", path,
                                (unsigned long long)line, field->name, fields[i]);
        if (field->kind == GT_FIELD_TEXT)
            gt_field_set_text(field, ret, fields[i]);
        else
            gt_field_set_number(field, ret, value);
    }
    return 0;
}

/* What was not finished at the end, because the writer was killed or is at it, is left out: a row, or a text without its last
 * quote. */
static int read_rows(struct gt_csv_reader *csv, const char *path, struct gt_lives *ret, struct gt_error *error)
{
    struct life_columns columns = {.count = 0};
    struct gt_life life;
    char **fields;
    size_t count;
    int status;
    while ((status = gt_csv_next(csv, &fields, &count, NULL)) > 0 && gt_csv_is_complete(csv)) {
        if (!columns.count) {
            read_life_columns(&columns, fields, count);
            continue;
        }
        if (count != columns.count)
            return gt_error_set(error, EINVAL, "%s, line %llu: %zu fields where the columns are %zu", path,
                                (unsigned long long)gt_csv_line(csv), count, columns.count);
        status = read_row(&columns, fields, path, gt_csv_line(csv), &life, error);
        if (status >= 0 && gt_lives_add(ret, &life) < 0)
            status = gt_error_system(error, ENOMEM, "%s", path);
        if (status < 0)
            return status;
    }
    return status < 0 && status != -EBADMSG ? gt_error_system(error, -status, "%s", path) : 0;
}

/* Read the list beside the recording, if there is one. The last of several rows of a process counts. */
static int csv_lives_read(struct gt_lives *ret, const char *recording, struct gt_error *error)
{
    char path[PATH_MAX];
    struct gt_csv_reader *csv = NULL;
    if (gt_store_path_beside(path, sizeof path, recording, GT_LIFE_SUFFIX) < 0)
        return 0;
    int fd = gt_given_file_open_optional(path, error);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    int status = gt_csv_open(&csv, fd, path, error);
    if (status >= 0)
        status = read_rows(csv, path, ret, error);
    if (status >= 0 && gt_lives_unify(ret) < 0)
        status = gt_error_system(error, ENOMEM, "%s", path);
    gt_csv_close(csv);
    close(fd);
    return status;
}

/* ---- The recording -------------------------------------------------------------------------------------------- */

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

/* ---- Recordings ---------------------------------------------------------------------------------------------- */

int gt_csv_read_open(void **ret, const char *path, struct gt_recorded *recorded, struct gt_error *error)
{
    struct csv_recording *recording = calloc(1, sizeof *recording);
    if (!recording)
        return gt_error_system(error, ENOMEM, "%s", path);
    recording->data.fd = -1;
    int status = open_table(&recording->data, path, error);
    if (!status)
        status = read_head(&recording->data, recorded, error);
    if (!status)
        status = csv_lives_read(&recorded->outcome.lives, path, error);
    if (status < 0)
        gt_csv_read_close(recording);
    else
        *ret = recording;
    return status;
}

bool gt_csv_read_has(const void *state, const char *column)
{
    const struct csv_recording *recording = state;
    return has_column(&recording->data, column);
}

static int open_detail(struct csv_recording *recording, size_t index, struct gt_error *error)
{
    char path[PATH_MAX];
    if (gt_store_path_beside(path, sizeof path, recording->data.path, gt_details[index].suffix) < 0 ||
        access(path, F_OK) < 0)
        return 0;
    struct detail_table *detail = calloc(1, sizeof *detail);
    if (!detail)
        return gt_error_system(error, ENOMEM, "%s", path);
    recording->detail[index] = detail;
    detail->table.fd = -1;
    int status = open_table(&detail->table, path, error);
    if (!status)
        status = keep_line(&detail->table, &detail->table.header, &detail->table.header_count, error);
    if (status < 0)
        return status;
    detail->cursor.scope = gt_details[index].scope;
    gt_detail_columns(&detail->columns, gt_details[index].scope);
    choose_columns(&detail->table, &detail->columns, NULL);
    return 0;
}

int gt_csv_read_begin(void *state, const struct gt_columns *columns, const bool wanted[], bool detail,
                      struct gt_error *error)
{
    struct csv_recording *recording = state;
    choose_columns(&recording->data, columns, wanted);
    int status = 0;
    for (size_t i = 0; !status && detail && i < GT_DETAIL_COUNT; i++)
        status = open_detail(recording, i, error);
    return status;
}

static int read_detail(void *context, struct gt_detail_cursor *cursor, struct gt_error *error)
{
    struct detail_table *detail = context;
    char **fields;
    int status = next_row(&detail->table, &fields, &detail->unfinished, error);
    if (status <= 0)
        return status;
    gt_detail_begin_row(cursor);
    for (size_t i = 0; i < detail->table.source_count; i++) {
        const struct source *source = &detail->table.source[i];
        double value;
        if (read_number(&detail->table, source, fields[source->field], &value, error) < 0)
            return -EBADMSG;
        gt_detail_assign(source->column, value, &cursor->moment, &cursor->row);
    }
    return 1;
}

int gt_csv_read_next(void *state, struct gt_sample_copy *copy, struct gt_error *error)
{
    struct csv_recording *recording = state;
    const struct table *data = &recording->data;
    char **fields;
    int status = next_row(&recording->data, &fields, &recording->unfinished, error);
    if (status <= 0)
        return status;
    for (size_t i = 0; i < data->source_count; i++) {
        const struct source *source = &data->source[i];
        double value;
        if (read_number(data, source, fields[source->field], &value, error) < 0)
            return -EBADMSG;
        gt_store_column_assign(source->column, value, &copy->sample);
    }
    for (size_t i = 0; i < GT_DETAIL_COUNT; i++) {
        struct detail_table *detail = recording->detail[i];
        if (detail && (status = gt_detail_take(&detail->cursor, copy, read_detail, detail, error)) < 0)
            return status;
    }
    return 1;
}

uint64_t gt_csv_read_unfinished(const void *state)
{
    const struct csv_recording *recording = state;
    return recording->unfinished;
}

void gt_csv_read_close(void *state)
{
    struct csv_recording *recording = state;
    if (!recording)
        return;
    for (size_t i = 0; i < GT_DETAIL_COUNT; i++) {
        if (recording->detail[i])
            close_table(&recording->detail[i]->table);
        free(recording->detail[i]);
    }
    close_table(&recording->data);
    free(recording);
}
