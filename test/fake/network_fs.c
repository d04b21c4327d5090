/* A file system of a network, as gpu-tracker meets one, for programs that preload this:
 *     FAKE_FILE_SYSTEM=6969     what fstatfs tells, hexadecimal
 *     FAKE_LOCKS=0              there are no locks: fcntl answers ENOLCK
 *     FAKE_SHARED_MEMORY=0      files cannot be mapped so that others see what is written */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>

static bool lacks(const char *name)
{
    const char *value = getenv(name);
    return value && !strcmp(value, "0");
}

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

int fstatfs(int fd, struct statfs *facts)
{
    int (*real)(int, struct statfs *);
    *(void **)&real = next("fstatfs");
    int status = real(fd, facts);
    const char *type = getenv("FAKE_FILE_SYSTEM");
    if (status == 0 && type)
        facts->f_type = (__typeof__(facts->f_type))strtoul(type, NULL, 16);
    return status;
}

static int control(const char *name, int fd, int command, void *argument)
{
    int (*real)(int, int, ...);
    *(void **)&real = next(name);
    bool is_lock = command == F_SETLK || command == F_SETLKW || command == F_GETLK;
    if (is_lock && lacks("FAKE_LOCKS")) {
        errno = ENOLCK;
        return -1;
    }
    return real(fd, command, argument);
}

int fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return control("fcntl", fd, command, argument);
}

int fcntl64(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return control("fcntl64", fd, command, argument);
}

static void *map(const char *name, void *address, size_t length, int access, int flags, int fd, off_t offset)
{
    void *(*real)(void *, size_t, int, int, int, off_t);
    *(void **)&real = next(name);
    if (fd >= 0 && (flags & MAP_SHARED) && (access & PROT_WRITE) && lacks("FAKE_SHARED_MEMORY")) {
        errno = ENODEV;
        return MAP_FAILED;
    }
    return real(address, length, access, flags, fd, offset);
}

void *mmap(void *address, size_t length, int access, int flags, int fd, off_t offset)
{
    return map("mmap", address, length, access, flags, fd, offset);
}

void *mmap64(void *address, size_t length, int access, int flags, int fd, off_t offset)
{
    return map("mmap64", address, length, access, flags, fd, offset);
}
