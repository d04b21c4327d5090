#include "base/os/system.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

/* The leak sanitizer, when there is one, does not look into mapped memory by itself. */
extern void __lsan_register_root_region(const void *memory, size_t size) __attribute__((weak));

void *gt_fork_memory(size_t size, void (*forget)(void))
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size = (size + page - 1) / page * page;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (__lsan_register_root_region)
        __lsan_register_root_region(memory, size);
    if (madvise(memory, size, MADV_WIPEONFORK) < 0)
        pthread_atfork(NULL, NULL, forget);
    return memory;
}
