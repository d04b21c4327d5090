#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/energy/meter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever a file says, joules are a number or not known, and add up. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t begin = 1700000000000000000, middle = begin + 1500000000, end = begin + 3000000000;
    char path[64];
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct gt_meter *meter;
    struct gt_error error = {0};
    if (gt_meter_open(&meter, path, &error) == 0) {
        double all = gt_meter_joules(meter, begin, end);
        double parts = gt_meter_joules(meter, begin, middle) + gt_meter_joules(meter, middle, end);
        if (isinf(all) || (!isnan(all) && !isnan(parts) && fabs(all - parts) > 1e-6 * (1e9 + fabs(all))))
            abort();
        if (gt_meter_read(meter, NULL) != 0 || gt_meter_period(meter) < 0)
            abort(); /* nothing was appended */
        gt_meter_close(meter);
    } else if (!error.text[0]) {
        abort();
    }
    close(fd);
    return 0;
}
