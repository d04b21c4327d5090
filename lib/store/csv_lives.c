/* The list of processes beside a CSV recording: rows are appended while it is written; a finished one has each process once. */
#include "store/csv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/number.h"

static void append(struct gt_buffer *out, const struct gt_field *fact, const struct gt_life *life)
{
    if (fact->kind == GT_FIELD_TEXT)
        gt_csv_field(out, gt_field_text(fact, life));
    else
        gt_csv_number(out, gt_life_number(fact, life), fact->kind == GT_FIELD_INTEGER);
}

void gt_csv_lives_header(struct gt_buffer *out)
{
    for (size_t i = 0; i < gt_life_field_count; i++)
        gt_buffer_printf(out, "%s%s", i ? "," : "", gt_life_fields[i].name);
    gt_buffer_text(out, "\r\n");
}

void gt_csv_lives_rows(struct gt_buffer *out, const struct gt_life *life, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < gt_life_field_count; i++) {
            gt_buffer_text(out, i ? "," : "");
            append(out, &gt_life_fields[i], &life[k]);
        }
        gt_buffer_text(out, "\r\n");
    }
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

enum { COLUMNS = 32 };

struct header {
    int fact[COLUMNS]; /* of each field, or negative */
    size_t count;
};

static void read_header(struct header *header, char **fields, size_t count)
{
    header->count = count;
    for (size_t i = 0; i < count && i < COLUMNS; i++)
        header->fact[i] = gt_field_find(gt_life_fields, gt_life_field_count, fields[i]);
}

static int read_row(const struct header *header, char **fields, const char *path, uint64_t line, struct gt_life *ret,
                    struct gt_error *error)
{
    gt_life_init(ret);
    for (size_t i = 0; i < header->count && i < COLUMNS; i++) {
        const struct gt_field *fact = header->fact[i] < 0 ? NULL : &gt_life_fields[header->fact[i]];
        double value = NAN;
        if (!fact)
            continue;
        if (fact->kind != GT_FIELD_TEXT && *fields[i] && gt_number_double(fields[i], &value) < 0)
            return gt_error_set(error, EINVAL, "%s, line %llu, column %s: \"%s\" is not a number", path,
                                (unsigned long long)line, fact->name, fields[i]);
        if (fact->kind == GT_FIELD_TEXT)
            gt_field_set_text(fact, ret, fields[i]);
        else
            gt_field_set_number(fact, ret, value);
    }
    return 0;
}

/* What was not finished at the end, because the writer was killed or is at it, is left out: a row, or a text without its last
 * quote. */
static int read_rows(struct gt_csv_reader *csv, const char *path, struct gt_lives *ret, struct gt_error *error)
{
    struct header header = {.count = 0};
    struct gt_life life;
    char **fields;
    size_t count;
    int status;
    while ((status = gt_csv_next(csv, &fields, &count, NULL)) > 0 && gt_csv_is_complete(csv)) {
        if (!header.count) {
            read_header(&header, fields, count);
            continue;
        }
        if (count != header.count)
            return gt_error_set(error, EINVAL, "%s, line %llu: %zu fields where the columns are %zu", path,
                                (unsigned long long)gt_csv_line(csv), count, header.count);
        status = read_row(&header, fields, path, gt_csv_line(csv), &life, error);
        if (status >= 0 && gt_lives_add(ret, &life) < 0)
            status = gt_error_system(error, ENOMEM, "%s", path);
        if (status < 0)
            return status;
    }
    return status < 0 && status != -EBADMSG ? gt_error_system(error, -status, "%s", path) : 0;
}

int gt_csv_lives_read(struct gt_lives *ret, const char *recording, struct gt_error *error)
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
