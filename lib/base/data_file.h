/* Files that are installed with the library. */
#ifndef GT_BASE_DATA_FILE_H
#define GT_BASE_DATA_FILE_H

#include <stddef.h>

/* The path of share/gpu-tracker/NAME in the nearest folder above the library, or above the program that contains it: below
 * the prefix it was installed under, a Python environment, or the folder it was built in. -ENOENT. */
int gt_data_file(char *ret, size_t size, const char *name);

#endif
