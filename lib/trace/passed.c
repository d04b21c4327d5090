#include "trace/passed.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "trace/format.h"

enum { MOST_PASSED = 10000 };

int gt_passed_add(struct gt_passed_files *passed, const char *path, const char *about, bool is_broken,
                  struct gt_error *error)
{
    bool is_full = passed->count >= MOST_PASSED;
    struct gt_passed_file *file = is_full ? NULL : GT_GROW_LIST(passed, file);
    passed->more += is_full;
    if (is_full)
        return 0;
    if (!file)
        return gt_error_system(error, ENOMEM, "%s", path);
    *file = (struct gt_passed_file){strdup(path), about, is_broken};
    return file->path ? 0 : gt_error_system(error, ENOMEM, "%s", path);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct gt_passed_file *)a)->path, ((const struct gt_passed_file *)b)->path);
}

void gt_passed_sort(struct gt_passed_files *passed)
{
    size_t count = 0;
    if (passed->count)
        qsort(passed->file, passed->count, sizeof *passed->file, by_path);
    for (size_t i = 0; i < passed->count; i++) {
        if (count && strcmp(passed->file[count - 1].path, passed->file[i].path) == 0)
            free(passed->file[i].path);
        else
            passed->file[count++] = passed->file[i];
    }
    passed->count = count;
}

void gt_passed_release(struct gt_passed_files *passed)
{
    for (size_t i = 0; i < passed->count; i++)
        free(passed->file[i].path);
    free(passed->file);
}

void gt_passed_name(struct gt_trace_unreadable *doubtful, const struct gt_passed_file *file)
{
    size_t used = strlen(doubtful->first);
    const char *about = file->about       ? file->about
                        : file->is_broken ? "damaged"
                                          : "no trace or profile of a known format";
    if (doubtful->count++ < GT_TRACE_NAMED)
        snprintf(doubtful->first + used, sizeof doubtful->first - used, "%s%s: %s", used ? "; " : "", file->path,
                 about);
}

/* One of several traces may be compressed. */
static size_t length_uncompressed(const char *path)
{
    static const char *const suffixes[] = {".gz", ".xz", ".bz2", ".zst"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (gt_path_ends(path, suffixes[i]))
            return strlen(path) - strlen(suffixes[i]);
    return strlen(path);
}

bool gt_paths_alike(const char *a, const char *b)
{
    const char *end_a = a + length_uncompressed(a), *end_b = b + length_uncompressed(b);
    while (a < end_a && b < end_b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, "0123456789");
            b += strspn(b, "0123456789");
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return a == end_a && b == end_b;
}
