/* Files that appear whole: whoever finds one under its name finds all that it begins with. */
#ifndef GT_BASE_NEW_FILE_H
#define GT_BASE_NEW_FILE_H

#include <limits.h>
#include <stdbool.h>

struct gt_new_file {
    int fd;                /* for writing; the caller's after gt_new_file_place */
    const char *path;      /* where it shall be, borrowed */
    char hidden[PATH_MAX]; /* where it is until then, in the same folder */
};

/* Begin a file, as yet under a name of no concern. 0 or negative errno. */
int gt_new_file_begin(struct gt_new_file *file, const char *path);
/* Let it appear. -EEXIST without `replace`; after any error the file is gone. */
int gt_new_file_place(struct gt_new_file *file, bool replace);
void gt_new_file_drop(struct gt_new_file *file);

#endif
