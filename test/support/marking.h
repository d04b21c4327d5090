/* Processes that mark code blocks in `test_folder`, and the rows that they leave. */
#ifndef TEST_SUPPORT_MARKING_H
#define TEST_SUPPORT_MARKING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Run `work` in a new process whose blocks go to the folder; its wait status. */
int marking_run(void (*work)(void), pid_t *ret_pid);

struct marking_row {
    char name[64];
    int64_t process, position, thread, call;
    double timestamp, monotonic, cpu_time; /* cpu_time: NaN where the field is empty */
};

/* Of a CSV file in the folder, which must be whole: no row torn, no blank line. */
size_t marking_read(const char *name, struct marking_row *rows, size_t capacity);
/* "PID.csv" in a buffer of its own. */
char *marking_file_of(pid_t pid);

#endif
