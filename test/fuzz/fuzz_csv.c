#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    struct gt_csv_reader *reader;
    if (gt_csv_open(&reader, fd, "input", NULL) == 0) {
        char **fields;
        size_t count, length = 0;
        uint64_t line = 0;
        while (gt_csv_next(reader, &fields, &count, NULL) == 1) {
            for (size_t i = 0; i < count; i++)
                for (const char *c = fields[i]; *c; c++)
                    length++;
            if (!count || length > size || gt_csv_line(reader) < line)
                abort();
            line = gt_csv_line(reader);
        }
        gt_csv_close(reader);
    }
    close(fd);
    return 0;
}
