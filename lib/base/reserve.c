#include "base/reserve.h"

#include <fcntl.h>
#include <unistd.h>

size_t gt_reserve_take(struct gt_reserve *reserve, size_t wanted)
{
    reserve->count = 0;
    while (reserve->count < wanted && reserve->count < GT_RESERVE_MOST) {
        int fd = reserve->count ? fcntl(reserve->fd[0], F_DUPFD_CLOEXEC, 0) : open("/", O_PATH | O_CLOEXEC);
        if (fd < 0)
            break;
        reserve->fd[reserve->count++] = fd;
    }
    return reserve->count;
}

void gt_reserve_release(struct gt_reserve *reserve, size_t kept)
{
    while (reserve->count > kept)
        close(reserve->fd[--reserve->count]);
}
