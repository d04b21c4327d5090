/* Files of one process, opened so that a reused number cannot deceive, and read line by line. */
#ifndef GT_COLLECT_PROCESS_PROCESS_FILE_H
#define GT_COLLECT_PROCESS_PROCESS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"

/* Open proc/PID/NAME; a descriptor or negative errno, -ESRCH when there is no such process. */
int gt_process_file_open(const struct gt_root *root, pid_t pid, const char *name);
/* True when the process that has this number now started at `start`, or `start` is 0. Asked after a file was opened, it also
 * holds for that file, which stays with the process it was opened for. `faults`: its page faults so far, minor and major; NaN when its
 * CPU clock still stands at `cpu_time`, so that nothing need be read. */
bool gt_process_file_is_of(const struct gt_root *root, pid_t pid, uint64_t start, double cpu_time, double *faults);
/* The process has not run since its CPU clock stood at `cpu_time`, seconds; 0 or NaN: not known. */
bool gt_process_file_has_rested(pid_t pid, double cpu_time);

struct gt_line_reader {
    int fd;
    char *buffer;
    size_t size, begin, end;
};

/* 1 and the next line without its end, 0 at the end of the file, or negative errno. Overlong lines come in pieces. */
int gt_line_reader_next(struct gt_line_reader *reader, char **ret);

#endif
