#include "base/order.h"
#include "collect/gpu/nvml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* Which processes a device has. Three lists, several functions, three sizes of a row. */

enum { FIRST_ROWS = 64, MOST_ROWS = 1 << 20, TRIES = 16 };

static const struct gt_row_layout layouts[] = {
    {16, offsetof(struct nvml_process, pid), offsetof(struct nvml_process, bytes)},
    {24, offsetof(struct nvml_process, pid), offsetof(struct nvml_process, bytes)},
    {32, offsetof(struct nvml_process, pid), offsetof(struct nvml_process, bytes)},
};

int gt_nvml_buffer(struct nvml *nvml, size_t size)
{
    return GT_GROW_TO(nvml->buffer, nvml->buffer_size, size);
}

bool gt_nvml_lost(struct nvml_gpu *gpu, int result)
{
    if (result == NVML_GPU_IS_LOST || result == NVML_GPU_NOT_FOUND || result == NVML_RESET_REQUIRED)
        gpu->is_lost = true;
    return gpu->is_lost;
}

static int ask_old(const struct nvml *nvml, struct nvml_gpu *gpu, enum nvml_process_mode mode, unsigned *count)
{
    int (*ask)(struct nvml_device *, unsigned *, void *) = nvml->call.processes_v3[mode];
    if (!ask)
        ask = nvml->call.processes_v2[mode];
    if (!ask)
        ask = nvml->call.processes_v1[mode];
    return ask ? ask(gpu->handle, count, nvml->buffer) : NVML_FUNCTION_NOT_FOUND;
}

static int ask_detail(const struct nvml *nvml, struct nvml_gpu *gpu, enum nvml_process_mode mode, unsigned *count)
{
    if (!nvml->call.process_detail)
        return NVML_FUNCTION_NOT_FOUND;
    struct nvml_process_list list = {NVML_PROCESS_LIST_V1, mode, *count, (void *)nvml->buffer};
    int result = nvml->call.process_detail(gpu->handle, &list);
    *count = list.count;
    return result;
}

/* Call until the buffer is large enough: the list may grow between two calls. */
static int ask_until_it_fits(struct nvml *nvml, struct nvml_gpu *gpu, enum nvml_process_mode mode, unsigned *ret_count,
                             int (*ask)(const struct nvml *, struct nvml_gpu *, enum nvml_process_mode, unsigned *))
{
    size_t rows = nvml->buffer_size / sizeof(struct nvml_process);
    if (rows < FIRST_ROWS)
        rows = FIRST_ROWS;
    int result = NVML_INSUFFICIENT_SIZE;
    for (int try = 0; try < TRIES && result == NVML_INSUFFICIENT_SIZE && rows <= MOST_ROWS; try++) {
        if (gt_nvml_buffer(nvml, rows * sizeof(struct nvml_process)) < 0)
            return -ENOMEM;
        memset(nvml->buffer, GT_ROW_PATTERN, nvml->buffer_size);
        *ret_count = (unsigned)rows;
        result = ask(nvml, gpu, mode, ret_count);
        rows = rows * 2 > *ret_count ? rows * 2 : (size_t)*ret_count + *ret_count / 2;
    }
    return result;
}

static int add_row(struct nvml_rows *rows, struct nvml_row row)
{
    struct nvml_row *place = GT_GROW_LIST(rows, row);
    if (!place)
        return -ENOMEM;
    *place = row;
    return 0;
}

static int add_rows(struct nvml *nvml, unsigned count, const struct gt_row_layout *layout)
{
    int status = 0;
    for (unsigned i = 0; i < count && status == 0; i++) {
        const unsigned char *at = nvml->buffer + i * layout->size;
        struct nvml_row row = {
            .id.driver_pid = gt_row_u32(at, layout->pid), .gpu_instance = UINT32_MAX, .compute_instance = UINT32_MAX};
        uint64_t bytes = gt_row_u64(at, layout->bytes);
        row.bytes = bytes == NVML_NOT_AVAILABLE ? NAN : (double)bytes;
        if (layout->size > layouts[0].size) {
            row.gpu_instance = gt_row_u32(at, offsetof(struct nvml_process, gpu_instance));
            row.compute_instance = gt_row_u32(at, offsetof(struct nvml_process, compute_instance));
        }
        status = add_row(&nvml->fresh, row);
    }
    return status;
}

/* 0 and the rows added; else an NVML result, or -ENOMEM. */
static int add_list(struct nvml *nvml, struct nvml_gpu *gpu, enum nvml_process_mode mode)
{
    unsigned count = 0;
    const struct gt_row_layout *layout = &layouts[2];
    int result = ask_until_it_fits(nvml, gpu, mode, &count, ask_detail);
    if (result == NVML_FUNCTION_NOT_FOUND || result == NVML_NOT_SUPPORTED || result == NVML_ARGUMENT_VERSION_MISMATCH) {
        result = ask_until_it_fits(nvml, gpu, mode, &count, ask_old);
        layout = NULL;
    }
    if (result != NVML_SUCCESS || count == 0)
        return result;
    if (count > nvml->buffer_size / sizeof(struct nvml_process))
        return NVML_UNKNOWN;
    if (!layout)
        layout = gt_row_layout_find(nvml->buffer, nvml->buffer_size, count, 1, layouts,
                                    sizeof layouts / sizeof *layouts);
    if (!layout) {
        nvml->has_unknown_rows = true;
        return NVML_UNKNOWN;
    }
    return add_rows(nvml, count, layout);
}

static int compare_rows(const void *left, const void *right)
{
    const struct nvml_row *a = left, *b = right;
    if (a->id.driver_pid != b->id.driver_pid)
        return a->id.driver_pid < b->id.driver_pid ? -1 : 1;
    if (a->gpu_instance != b->gpu_instance)
        return a->gpu_instance < b->gpu_instance ? -1 : 1;
    return GT_ORDER(a->compute_instance, b->compute_instance);
}

/* A process that computes and draws is in two lists, each time with all of its memory. */
static void merge_rows(struct nvml_rows *rows)
{
    if (rows->count == 0)
        return;
    qsort(rows->row, rows->count, sizeof *rows->row, compare_rows);
    size_t kept = 0;
    for (size_t i = 1; i < rows->count; i++) {
        struct nvml_row *last = &rows->row[kept];
        if (compare_rows(last, &rows->row[i]) == 0)
            last->bytes = fmax(last->bytes, rows->row[i].bytes);
        else
            rows->row[++kept] = rows->row[i];
    }
    rows->count = kept + 1;
}

int gt_nvml_list(struct nvml *nvml, struct nvml_gpu *gpu)
{
    int answered = 0, unsupported = 0;
    nvml->fresh.count = 0;
    for (int mode = NVML_COMPUTE; mode < NVML_PROCESS_MODES; mode++) {
        int result = add_list(nvml, gpu, mode);
        if (result == -ENOMEM)
            return -ENOMEM;
        if (gt_nvml_lost(gpu, result))
            return -EIO;
        answered += result == NVML_SUCCESS;
        unsupported += result == NVML_NOT_SUPPORTED || result == NVML_FUNCTION_NOT_FOUND;
    }
    merge_rows(&nvml->fresh);
    if (!answered)
        return unsupported ? -ENOTSUP : -EIO;
    return 0;
}
