/* Kernels of known length, as text that the driver compiles: spin has one thread wait, work keeps all of a GPU multiplying. */
#ifndef TEST_GPU_KERNEL_H
#define TEST_GPU_KERNEL_H

#include "cuda.h"

#define KERNEL_BEGIN(name)                               \
    ".visible .entry " name "(.param .u64 nanoseconds, " \
    ".param .u64 result)\n{\n"                           \
    ".reg .u64 %now, %end, %to;\n"                       \
    ".reg .pred %early;\n"                               \
    ".reg .f32 %a, %b, %c, %d, %x;\n"                    \
    "ld.param.u64 %end, [nanoseconds];\n"                \
    "mov.u64 %now, %globaltimer;\n"                      \
    "add.u64 %end, %end, %now;\n"
#define KERNEL_END                      \
    "mov.u64 %now, %globaltimer;\n"     \
    "setp.lt.u64 %early, %now, %end;\n" \
    "@%early bra again;\n"
#define MULTIPLY                   \
    "fma.rn.f32 %a, %a, %x, %x;\n" \
    "fma.rn.f32 %b, %b, %x, %x;\n" \
    "fma.rn.f32 %c, %c, %x, %x;\n" \
    "fma.rn.f32 %d, %d, %x, %x;\n"
#define MULTIPLY_4 MULTIPLY MULTIPLY MULTIPLY MULTIPLY
#define MULTIPLY_64 MULTIPLY_4 MULTIPLY_4 MULTIPLY_4 MULTIPLY_4

static const char kernels[] = ".version 6.0\n.target sm_50\n.address_size 64\n" //
    KERNEL_BEGIN("spin") "again:\n" KERNEL_END "ret;\n}\n"                      //
    KERNEL_BEGIN("work") "mov.f32 %x, 0f3F7FFF00;\n"
                         "mov.f32 %a, 0f3F800000;\nmov.f32 %b, %a;\nmov.f32 %c, %a;\nmov.f32 %d, %a;\n"
                         "again:\n" MULTIPLY_64 KERNEL_END
                         /* What nobody stores, the compiler leaves out. */
                         "add.f32 %a, %a, %b;\nadd.f32 %a, %a, %c;\nadd.f32 %a, %a, %d;\n"
                         "ld.param.u64 %to, [result];\ncvta.to.global.u64 %to, %to;\n"
                         "st.global.f32 [%to], %a;\nret;\n}\n";

struct kernel {
    void *function;
    unsigned blocks, threads;
    unsigned long long result; /* device memory that it writes to */
};

static inline struct kernel kernel_load(const char *name, int device)
{
    struct kernel kernel = {.blocks = 1, .threads = 1};
    void *module;
    int multiprocessors = 1;
    cuda_check(cuda.load(&module, kernels), "cuModuleLoadData");
    cuda_check(cuda.function(&kernel.function, module, name), "cuModuleGetFunction");
    cuda_check(cuda.allocate(&kernel.result, sizeof(float)), "cuMemAlloc");
    if (!strcmp(name, "work")) {
        cuda_check(cuda.attribute(&multiprocessors, CUDA_MULTIPROCESSORS, device), "cuDeviceGetAttribute");
        kernel.blocks = 8 * (unsigned)multiprocessors;
        kernel.threads = 256;
    }
    return kernel;
}

static inline void kernel_start(struct kernel *kernel, unsigned long long nanoseconds)
{
    void *arguments[] = {&nanoseconds, &kernel->result};
    cuda_check(cuda.launch(kernel->function, kernel->blocks, 1, 1, kernel->threads, 1, 1, 0, NULL, arguments, NULL),
               "cuLaunchKernel");
}

#endif
