#include "support/marking.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "base/csv.h"
#include "base/number.h"
#include "blocks/block.h"
#include "support/folder.h"
#include "support/test.h"

int marking_run(void (*work)(void), pid_t *ret_pid)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (chdir(test_folder) < 0)
            _exit(99);
        setenv(GT_BLOCKS_ENVIRONMENT, test_folder, 1);
        work();
        exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    *ret_pid = pid;
    return status;
}

size_t marking_read(const char *name, struct marking_row *rows, size_t capacity)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", test_folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    struct gt_csv_reader *reader;
    struct gt_error error = {0};
    assert_int_equal(gt_csv_open(&reader, fd, name, &error), 0);
    char **field;
    size_t fields, count = 0;
    assert_int_equal(gt_csv_next(reader, &field, &fields, &error), 1);
    assert_int_equal(fields, GT_BLOCK_EVENT_COLUMNS);
    for (size_t i = 0; i < fields; i++)
        assert_string_equal(field[i], gt_block_event_columns[i]);
    int status;
    for (uint64_t line = 2; (status = gt_csv_next(reader, &field, &fields, &error)) == 1;) {
        assert_int_equal(fields, GT_BLOCK_EVENT_COLUMNS);
        assert_true(gt_csv_has_return(reader));
        assert_int_equal(gt_csv_line(reader), line);
        line += 1 + (strchr(field[GT_BLOCK_EVENT_NAME], '\n') != NULL);
        assert_true(count < capacity);
        struct marking_row *row = &rows[count++];
        snprintf(row->name, sizeof row->name, "%s", field[GT_BLOCK_EVENT_NAME]);
        assert_int_equal(gt_number_i64(field[GT_BLOCK_EVENT_PROCESS], &row->process), 0);
        assert_int_equal(gt_number_i64(field[GT_BLOCK_EVENT_POSITION], &row->position), 0);
        assert_int_equal(gt_number_i64(field[GT_BLOCK_EVENT_THREAD], &row->thread), 0);
        assert_int_equal(gt_number_i64(field[GT_BLOCK_EVENT_CALL], &row->call), 0);
        assert_int_equal(gt_number_double(field[GT_BLOCK_EVENT_TIMESTAMP], &row->timestamp), 0);
        assert_int_equal(gt_number_double(field[GT_BLOCK_EVENT_MONOTONIC], &row->monotonic), 0);
        row->cpu_time = NAN;
        assert_true(!*field[GT_BLOCK_EVENT_CPU_TIME] ||
                    gt_number_double(field[GT_BLOCK_EVENT_CPU_TIME], &row->cpu_time) == 0);
    }
    assert_int_equal(status, 0);
    gt_csv_close(reader);
    close(fd);
    return count;
}

char *marking_file_of(pid_t pid)
{
    static char name[32];
    snprintf(name, sizeof name, "%d.csv", (int)pid);
    return name;
}
