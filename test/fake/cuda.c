/* A fake of the CUDA driver: what programs allocate and run is written where the fake of the management library finds it (live.h). A kernel
 * runs as long as its first argument says, in nanoseconds. */
#include "live.h"

enum { CUDA_NO_DEVICE = 100, CUDA_INVALID = 1, CUDA_OUT_OF_MEMORY = 2 };

static struct live *live;

int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    char path[4096];
    const char *folder = getenv("GT_FAKE_GPU");
    if (flags || !folder)
        return CUDA_NO_DEVICE;
    snprintf(path, sizeof path, "%s/%d", folder, getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *live) < 0)
        return CUDA_NO_DEVICE;
    live = mmap(NULL, sizeof *live, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return live == MAP_FAILED ? CUDA_NO_DEVICE : 0;
}

int cuDeviceGet(int *device, int index);
int cuDeviceGet(int *device, int index)
{
    *device = index;
    return index ? CUDA_INVALID : 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = 132;
    return attribute == 16 && !device ? 0 : CUDA_INVALID;
}

int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags);
int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
    return device || flags != 4 ? CUDA_INVALID : 0;
}

static void hold(uint64_t bytes)
{
    live->bytes += bytes;
    live->most = live->bytes > live->most ? live->bytes : live->most;
}

int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRetain(void **context, int device)
{
    struct timespec now;
    if (device || !live)
        return CUDA_INVALID;
    clock_gettime(CLOCK_REALTIME, &now);
    live->start_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    hold(LIVE_CONTEXT);
    *context = live;
    return 0;
}

int cuCtxSetCurrent(void *context);
int cuCtxSetCurrent(void *context)
{
    return context == live ? 0 : CUDA_INVALID;
}

/* The size lies before the address, in memory of the host. */
int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
int cuMemAlloc_v2(unsigned long long *address, size_t bytes)
{
    uint64_t *block = malloc(sizeof *block);
    if (!block)
        return CUDA_OUT_OF_MEMORY;
    *block = bytes;
    hold(bytes);
    *address = (uintptr_t)block;
    return 0;
}

int cuMemFree_v2(unsigned long long address);
int cuMemFree_v2(unsigned long long address)
{
    uint64_t *block = (uint64_t *)(uintptr_t)address;
    live->bytes -= *block;
    free(block);
    return 0;
}

int cuModuleLoadData(void **module, const void *text);
int cuModuleLoadData(void **module, const void *text)
{
    *module = live;
    return strstr(text, ".version") ? 0 : CUDA_INVALID;
}

int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleGetFunction(void **function, void *module, const char *name)
{
    *function = live;
    return module && (!strcmp(name, "spin") || !strcmp(name, "work")) ? 0 : CUDA_INVALID;
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **arguments,
                   void **extra);
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **arguments,
                   void **extra)
{
    double now = fake_now(), seconds = (double)*(unsigned long long *)arguments[0] / 1e9;
    if (!function || !grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z || shared_bytes || stream ||
        extra)
        return CUDA_INVALID;
    live->busy += seconds;
    live->busy_until = (live->busy_until > now ? live->busy_until : now) + seconds;
    return 0;
}

int cuCtxSynchronize(void);
int cuCtxSynchronize(void)
{
    double left = live->busy_until - fake_now();
    if (left > 0)
        usleep((useconds_t)(left * 1e6));
    return 0;
}
