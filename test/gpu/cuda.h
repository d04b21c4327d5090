/* The part of the CUDA driver interface that the programs of make test-gpu call, declared by hand and loaded at run time, so that they
 * build without CUDA. Facts from the CUDA driver API reference. GT_CUDA_LIBRARY names another library. */
#ifndef TEST_GPU_CUDA_H
#define TEST_GPU_CUDA_H

#include <dlfcn.h>

#include "../truth/truth.h"

enum { CUDA_MULTIPROCESSORS = 16, CUDA_WAIT_ASLEEP = 4 };

static struct {
    int (*init)(unsigned flags);
    int (*device)(int *device, int index);
    int (*attribute)(int *value, int attribute, int device);
    int (*context_flags)(int device, unsigned flags);
    int (*context)(void **context, int device);
    int (*make_current)(void *context);
    int (*allocate)(unsigned long long *address, size_t bytes);
    int (*give_back)(unsigned long long address);
    int (*load)(void **module, const void *text);
    int (*function)(void **function, void *module, const char *name);
    int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                  unsigned block_z, unsigned shared_bytes, void *stream, void **arguments, void **extra);
    int (*wait)(void);
} cuda;

/* Status 97 says that there is no driver or no GPU, 96 that a call of it failed. */
static inline void cuda_check(int result, const char *what)
{
    if (result) {
        fprintf(stderr, "%s failed: CUDA error %d\n", what, result);
        exit(96);
    }
}

static inline void cuda_find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "the CUDA driver has no %s\n", name);
        exit(96);
    }
    memcpy(function, &found, sizeof found);
}

static inline void cuda_load(void)
{
    const char *path = getenv("GT_CUDA_LIBRARY");
    void *library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "no CUDA driver: %s\n", dlerror());
        exit(97);
    }
    cuda_find(library, "cuInit", &cuda.init);
    cuda_find(library, "cuDeviceGet", &cuda.device);
    cuda_find(library, "cuDeviceGetAttribute", &cuda.attribute);
    cuda_find(library, "cuDevicePrimaryCtxSetFlags_v2", &cuda.context_flags);
    cuda_find(library, "cuDevicePrimaryCtxRetain", &cuda.context);
    cuda_find(library, "cuCtxSetCurrent", &cuda.make_current);
    cuda_find(library, "cuMemAlloc_v2", &cuda.allocate);
    cuda_find(library, "cuMemFree_v2", &cuda.give_back);
    cuda_find(library, "cuModuleLoadData", &cuda.load);
    cuda_find(library, "cuModuleGetFunction", &cuda.function);
    cuda_find(library, "cuLaunchKernel", &cuda.launch);
    cuda_find(library, "cuCtxSynchronize", &cuda.wait);
}

/* A context on the first GPU that CUDA_VISIBLE_DEVICES leaves. Returns the device. */
static inline int cuda_open(void)
{
    void *context;
    int device;
    cuda_load();
    int result = cuda.init(0);
    if (result || cuda.device(&device, 0)) {
        fprintf(stderr, "no GPU for CUDA: cuInit gives %d\n", result);
        exit(97);
    }
    cuda_check(cuda.context_flags(device, CUDA_WAIT_ASLEEP), "cuDevicePrimaryCtxSetFlags");
    cuda_check(cuda.context(&context, device), "cuDevicePrimaryCtxRetain");
    cuda_check(cuda.make_current(context), "cuCtxSetCurrent");
    return device;
}

#endif
