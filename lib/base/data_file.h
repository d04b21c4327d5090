/* Files that are installed with the library. */
#ifndef GT_BASE_DATA_FILE_H
#define GT_BASE_DATA_FILE_H

#include <stddef.h>

/* Find share/gpu-tracker/NAME in the nearest folder above the library, or above the program that contains it. That is the
 * prefix of an installation, a Python environment, or the folder of a build. Returns 0, -ENOENT, or the errno of a look at
 * the program's own path. */
int gt_data_file(char *ret, size_t size, const char *name);

#endif
