/* Files that appear whole: who opens one by its name finds all that it begins with.
 *
 * A file is written under another name in the same folder, and renamed. Nothing follows a symbolic link that lies there.
 * One that replaces a file has the permissions of that file from its first moment, and is on the disk before it takes the
 * name. */
#ifndef GT_BASE_NEW_FILE_H
#define GT_BASE_NEW_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct gt_new_file {
    int fd;                /* for writing; the caller's after gt_new_file_place */
    bool has_predecessor;  /* a regular file has the name when this one begins */
    const char *path;      /* where it shall be, borrowed */
    char hidden[PATH_MAX]; /* where it is until then, in the same folder */
};

/* Begin a file under a name of no concern. Returns 0 or negative errno. */
int gt_new_file_begin(struct gt_new_file *file, const char *path);
/* Let it appear. Returns 0 or negative errno, -EEXIST without `replace`; after any error the file is gone. */
int gt_new_file_place(struct gt_new_file *file, bool replace);
void gt_new_file_drop(struct gt_new_file *file);

/* Make or replace the file at `path` with these bytes. Returns 0 or negative errno, after which the old file is as it was. */
int gt_new_file_write(const char *path, const void *bytes, size_t length);

#endif
