/* share CASE UNIT_MB HOLD_MS [PATH]: a root and four children that share memory in a known way. Prints the truth when all
 * of it is mapped, then holds. PATH is the file behind the tmpfs and file mappings (default: a memfd, a file in TMPDIR).
 *
 *   cow        4 units written before the fork, read by all
 *   anonymous  2 units shared and anonymous, mapped by all
 *   tmpfs      2 units of a tmpfs file, mapped by all
 *   siblings   2 units of a tmpfs file, mapped by the children only
 *   file       2 units of an ordinary file, mapped private and only read by all
 *   mixed      cow and tmpfs, and 1 unit of its own in each child
 *   dirty      mixed, but each child has written another quarter of the cow region, which the root has unmapped and which
 *              is two mappings in the children
 *   stranger   only map PATH and hold, no children
 */
#include <fcntl.h>
#include <stdatomic.h>

#include "truth.h"

#define CHILDREN 4

enum part { COW = 1, ANONYMOUS = 2, TMPFS = 4, FILE_BACKED = 8, PRIVATE = 16, NOT_ROOT = 32, DIRTY = 64, ALONE = 128 };

static const struct {
    const char *name;
    unsigned parts;
    int units; /* resident in the tree, each page once */
} cases[] = {
    {"cow", COW, 4},
    {"anonymous", ANONYMOUS, 2},
    {"tmpfs", TMPFS, 2},
    {"siblings", TMPFS | NOT_ROOT, 2},
    {"file", FILE_BACKED, 2},
    {"mixed", COW | TMPFS | PRIVATE, 4 + 2 + CHILDREN},
    {"dirty", COW | TMPFS | PRIVATE | DIRTY, 4 + 4 + 2 + CHILDREN},
    {"stranger", TMPFS | ALONE, 2},
};

static int open_backing(unsigned parts, const char *path, size_t size)
{
    char name[] = "/tmp/gpu-tracker-share-XXXXXX";
    int fd = path                  ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)
             : parts & FILE_BACKED ? mkstemp(name)
                                   : memfd_create("share", MFD_CLOEXEC);
    if (fd < 0)
        fail(path ? path : "backing file");
    if (!path && parts & FILE_BACKED)
        unlink(name);
    if (ftruncate(fd, (off_t)size) < 0)
        fail("ftruncate");
    char *memory = map(size, MAP_SHARED, fd); /* fill it, so that no page of it is a hole */
    write_pages(memory, size);
    munmap(memory, size);
    return fd;
}

static void map_backing(unsigned parts, int fd, size_t size)
{
    if (parts & (TMPFS | FILE_BACKED))
        read_pages(map(size, parts & FILE_BACKED ? MAP_PRIVATE : MAP_SHARED, fd), size);
}

static void live_as_child(unsigned parts, int number, char *cow, char *anonymous, int fd, size_t unit)
{
    map_backing(parts, fd, 2 * unit);
    if (parts & ANONYMOUS)
        read_pages(anonymous, 2 * unit);
    if (parts & PRIVATE)
        written(unit, MAP_PRIVATE);
    if (parts & DIRTY) {
        write_pages(cow + (size_t)number * unit, unit);
        mprotect(cow, 2 * unit, PROT_READ);
    }
}

int main(int argc, char **argv)
{
    const char *usage = "CASE UNIT_MB HOLD_MS [PATH]";
    size_t which = 0, unit = megabytes(argument(argc, argv, 2, usage));
    double hold = argument(argc, argv, 3, usage);
    while (which < sizeof cases / sizeof *cases && strcmp(cases[which].name, argv[1]) != 0)
        which++;
    if (which == sizeof cases / sizeof *cases)
        return fprintf(stderr, "share: no such case: %s\n", argv[1]), 98;
    unsigned parts = cases[which].parts;
    int fd = parts & (TMPFS | FILE_BACKED) ? open_backing(parts, argc > 4 ? argv[4] : NULL, 2 * unit) : -1;
    atomic_int *ready = map(PAGE, MAP_SHARED | MAP_ANONYMOUS, -1);
    char *cow = parts & COW ? written(4 * unit, MAP_PRIVATE) : NULL;
    char *anonymous = parts & ANONYMOUS ? written(2 * unit, MAP_SHARED) : NULL;
    int end[2], children = parts & ALONE ? 0 : CHILDREN;
    if (pipe(end) < 0)
        fail("pipe");
    for (int i = 0; i < children; i++) {
        if (start() > 0)
            continue;
        close(end[1]);
        live_as_child(parts, i, cow, anonymous, fd, unit);
        atomic_fetch_add(ready, 1);
        _exit(read(end[0], &(char){0}, 1) != 0);
    }
    if (!(parts & NOT_ROOT))
        map_backing(parts, fd, 2 * unit);
    while (atomic_load(ready) < children)
        sleep_ms(1);
    if (parts & DIRTY)
        munmap(cow, 4 * unit);
    printf("{\"bytes\": %zu, \"processes\": %d}\n", unit * (size_t)cases[which].units, children + 1);
    fflush(stdout);
    sleep_ms(hold);
    close(end[1]);
    while (wait(NULL) > 0)
        ;
    return 0;
}
