#include "analyse/merge/merged_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/utf8.h"

enum { BLOCK = 1 << 20 };

struct gt_merged_file {
    struct gt_new_file new;
    bool has_new;
    char *path;
    struct gt_buffer text;
    bool is_gzip, overwrite;
    z_stream stream;
    unsigned char *packed;
};

static int start_gzip(struct gt_merged_file *file)
{
    file->packed = malloc(BLOCK);
    if (!file->packed || deflateInit2(&file->stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    file->is_gzip = true;
    return 0;
}

static void release(struct gt_merged_file *file)
{
    if (file->is_gzip)
        deflateEnd(&file->stream);
    if (file->has_new)
        gt_new_file_drop(&file->new);
    free(file->packed);
    free(file->path);
    gt_buffer_release(&file->text);
    free(file);
}

int gt_merged_file_open(struct gt_merged_file **ret, const char *path, bool overwrite, struct gt_error *error)
{
    if (!overwrite && access(path, F_OK) == 0)
        return gt_error_set(error, EEXIST, "%s exists already, and overwriting it was not asked for", path);
    struct gt_merged_file *file = calloc(1, sizeof *file);
    if (!file)
        return gt_error_system(error, ENOMEM, "%s", path);
    file->overwrite = overwrite;
    file->path = strdup(path);
    size_t length = strlen(path);
    int status = file->path ? 0 : -ENOMEM;
    if (!status && length > 3 && strcmp(path + length - 3, ".gz") == 0)
        status = start_gzip(file);
    if (!status)
        status = gt_new_file_begin(&file->new, file->path);
    file->has_new = !status;
    if (status < 0) {
        release(file);
        return gt_error_system(error, -status, "%s", path);
    }
    *ret = file;
    return 0;
}

struct gt_buffer *gt_merged_file_text(struct gt_merged_file *file)
{
    return &file->text;
}

static int write_all(struct gt_merged_file *file, const void *bytes, size_t length, struct gt_error *error)
{
    int status = gt_file_write_all(file->new.fd, bytes, length);
    return status < 0 ? gt_error_system(error, -status, "%s", file->path) : 0;
}

static int pack(struct gt_merged_file *file, int mode, struct gt_error *error)
{
    file->stream.next_in = (Bytef *)file->text.data;
    file->stream.avail_in = (uInt)file->text.length;
    do {
        file->stream.next_out = file->packed;
        file->stream.avail_out = BLOCK;
        deflate(&file->stream, mode);
        int status = write_all(file, file->packed, BLOCK - file->stream.avail_out, error);
        if (status < 0)
            return status;
    } while (!file->stream.avail_out);
    return 0;
}

/* Arguments of events are copied as they are in the traces. */
static void make_valid(struct gt_buffer *text)
{
    struct gt_buffer valid = {0};
    if (text->failed || !text->length || gt_utf8_are_valid(text->data, text->length))
        return;
    int status = gt_utf8_valid_bytes(&valid, text->data, text->length);
    gt_buffer_release(text);
    *text = valid;
    text->failed = status;
}

static int write_text(struct gt_merged_file *file, int mode, struct gt_error *error)
{
    make_valid(&file->text);
    if (file->text.failed)
        return gt_error_system(error, -file->text.failed, "%s", file->path);
    int status = file->is_gzip ? pack(file, mode, error) : write_all(file, file->text.data, file->text.length, error);
    gt_buffer_clear(&file->text);
    return status;
}

int gt_merged_file_flush(struct gt_merged_file *file, struct gt_error *error)
{
    return file->text.length < BLOCK && !file->text.failed ? 0 : write_text(file, Z_NO_FLUSH, error);
}

int gt_merged_file_close(struct gt_merged_file *file, bool whole, struct gt_error *error)
{
    if (!file)
        return 0;
    int status = whole ? write_text(file, Z_FINISH, error) : 0;
    if (whole && status >= 0) {
        file->has_new = false;
        status = gt_new_file_place(&file->new, file->overwrite);
        if (status == 0 && close(file->new.fd) < 0)
            status = -errno;
        if (status == -EEXIST)
            gt_error_set(error, EEXIST, "%s exists already, and overwriting it was not asked for", file->path);
        else if (status < 0)
            gt_error_system(error, -status, "%s", file->path);
    }
    release(file);
    return status;
}
