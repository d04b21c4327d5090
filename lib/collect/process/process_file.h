/* Files of one process, opened so that a reused number cannot deceive, and read line by line. */
#ifndef GT_COLLECT_PROCESS_PROCESS_FILE_H
#define GT_COLLECT_PROCESS_PROCESS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"

/* Open proc/PID/NAME; a descriptor or negative errno, -ESRCH when there is no such process. */
int gt_process_file_open(const struct gt_root *root, pid_t pid, const char *name);
struct gt_line_reader {
    int fd;
    char *buffer;
    size_t size, begin, end;
};

/* 1 and the next line without its end, 0 at the end of the file, or negative errno. Overlong lines come in pieces. */
int gt_line_reader_next(struct gt_line_reader *reader, char **ret);

#endif
