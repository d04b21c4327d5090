#include "store/file_locks.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/vfs.h>

/* As statfs(2) tells them. What a FUSE file system lies on is not known. */
static const struct {
    unsigned type;
    const char *name;
} networks[] = {
    {0x6969, "NFS"},        {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"}, {0x19830326, "BeeGFS"},
    {0x00c36400, "CephFS"}, {0xff534d42, "CIFS"},   {0xfe534d42, "SMB2"}, {0x517b, "SMB"},
};

bool gt_file_is_on_network(int fd)
{
    struct statfs facts;
    if (fstatfs(fd, &facts) < 0)
        return false;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        if ((unsigned)facts.f_type == networks[i].type)
            return true;
    return false;
}

/* Bytes 2^30 to 2^30 + 511, https://www.sqlite.org/fileformat2.html#the_lock_byte_page. */
int gt_file_is_locked(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1 << 30, .l_len = 512};
    if (fcntl(fd, F_GETLK, &lock) < 0)
        return -errno;
    return lock.l_type != F_UNLCK;
}
