/* The driver's own high-water marks of what processes use of a device, where its accounting is on: nvmlDeviceGetAccountingStats of
 * the NVML API reference. Switching it on is the administrator's. It knows processes that ended, too, by numbers that may be another's:
 * one is believed that was running when it was asked about first, or that began to use the device after its process was met. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "collect/gpu/nvml.h"

static struct nvml_mark *find_mark(const struct nvml_marks *marks, pid_t pid)
{
    uint32_t number = gt_map_get(&marks->number, (uint32_t)pid);
    return number == GT_MAP_ABSENT ? NULL : &marks->mark[number];
}

static struct nvml_mark *add_mark(struct nvml_marks *marks, pid_t pid)
{
    if (gt_map_put(&marks->number, (uint32_t)pid, (uint32_t)marks->count) < 0)
        return NULL;
    struct nvml_mark *mark = GT_GROW_LIST(marks, mark);
    if (mark)
        *mark = (struct nvml_mark){.pid = pid, .bytes = NAN};
    return mark;
}

/* Processes that are met. In a container only the lists tell by which number the driver knows one. */
static int meet(struct nvml *nvml, struct nvml_gpu *gpu, const struct gt_frame *frame)
{
    struct nvml_marks *marks = &gpu->marks;
    for (size_t i = 0; i < frame->process_count; i++) {
        const struct gt_process *process = frame->process[i];
        struct nvml_mark *mark = find_mark(marks, process->pid);
        if (!mark && !(mark = add_mark(marks, process->pid)))
            return -ENOMEM;
        mark->is_there = !process->is_zombie;
        if (!mark->since_us)
            mark->since_us = nvml->collected_us;
        if (!mark->driver_pid && nvml->pids.is_initial)
            mark->driver_pid = (unsigned)process->pid;
    }
    for (size_t i = 0; i < gpu->rows.count; i++) {
        const struct gt_pid_entry *id = &gpu->rows.row[i].id;
        struct nvml_mark *mark = id->pid > 0 ? find_mark(marks, id->pid) : NULL;
        if (mark)
            mark->driver_pid = id->driver_pid;
    }
    return 0;
}

static bool is_listed(const struct nvml_gpu *gpu, unsigned driver_pid)
{
    for (size_t i = 0; i < gpu->rows.count; i++)
        if (gpu->rows.row[i].id.driver_pid == driver_pid)
            return true;
    return false;
}

static void ask(struct nvml *nvml, struct nvml_gpu *gpu, struct nvml_mark *mark)
{
    struct nvml_accounting account = {0};
    int result = mark->driver_pid ? nvml->call.accounting(gpu->handle, mark->driver_pid, &account) : NVML_NOT_FOUND;
    if (gt_nvml_lost(gpu, result) || result != NVML_SUCCESS || !account.most_bytes ||
        account.most_bytes == NVML_NOT_AVAILABLE)
        return;
    bool is_it = mark->start_us
                     ? account.start_us == mark->start_us
                     : (account.is_running && is_listed(gpu, mark->driver_pid)) || account.start_us >= mark->since_us;
    if (!is_it)
        return;
    if (!mark->start_us && account.start_us < nvml->opened_us)
        mark->before = (double)account.most_bytes;
    mark->start_us = account.start_us;
    mark->bytes = (double)account.most_bytes;
}

int gt_nvml_read_marks(struct nvml *nvml, struct nvml_gpu *gpu, const struct gt_frame *frame, bool is_due)
{
    struct nvml_marks *marks = &gpu->marks;
    if (!gpu->has_accounting || gpu->is_asleep)
        return 0;
    for (size_t i = 0; i < marks->count; i++)
        marks->mark[i].is_there = false;
    if (meet(nvml, gpu, frame) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < marks->count && !gpu->is_lost; i++)
        if (!marks->mark[i].is_there || frame->is_last || (is_due && is_listed(gpu, marks->mark[i].driver_pid)))
            ask(nvml, gpu, &marks->mark[i]);
    return 0;
}

/* ---- Processes that no look met ---------------------------------------------------------------------------------- */

static bool was_told(const struct nvml_marks *marks, pid_t pid, unsigned long long start_us)
{
    const struct nvml_mark *mark = find_mark(marks, pid);
    if (mark && mark->start_us == start_us)
        return true;
    for (size_t i = 0; i < marks->told_count; i++)
        if (marks->told[i].pid == pid && marks->told[i].start_us == start_us)
            return true;
    return false;
}

/* Did the process live at that moment? The driver's clock and the kernel's may differ by a little. */
static bool has_lived(const struct gt_clock *clock, const struct gt_past_process *past, unsigned long long us)
{
    int64_t moment_ns = (int64_t)us * 1000 - gt_clock_real(clock) + gt_clock_monotonic(clock);
    return moment_ns >= past->begin_ns - GT_SECOND / 50 && moment_ns <= past->end_ns + GT_SECOND / 50;
}

static int publish_past(const struct nvml *nvml, const struct nvml_gpu *gpu, const struct gt_past_process *past,
                        struct gt_frame *frame)
{
    struct nvml_accounting account = {0};
    if (nvml->call.accounting(gpu->handle, (unsigned)past->pid, &account) != NVML_SUCCESS || !account.most_bytes ||
        account.most_bytes == NVML_NOT_AVAILABLE || !has_lived(nvml->clock, past, account.start_us) ||
        was_told(&gpu->marks, past->pid, account.start_us))
        return 0;
    struct gt_gpu_mark *mark = GT_GROW(frame, mark);
    if (!mark)
        return -ENOMEM;
    double bytes = (double)account.most_bytes;
    *mark = (struct gt_gpu_mark){gpu->device, past->pid, account.start_us < nvml->opened_us ? NAN : bytes, bytes, true};
    return 0;
}

/* The processes of which the driver has accounts: 1; 0 where it does not tell; -ENOMEM. */
static int list_accounts(const struct nvml *nvml, const struct nvml_gpu *gpu, struct gt_map *ret)
{
    enum { MOST = 1 << 16 }; /* drivers keep some thousand */
    unsigned count = MOST, *pids = malloc(MOST * sizeof *pids);
    if (!pids)
        return -ENOMEM;
    int status = nvml->call.accounting_pids(gpu->handle, &count, pids) == NVML_SUCCESS && count <= MOST;
    for (unsigned i = 0; status > 0 && i < count; i++)
        if (gt_map_put(ret, pids[i], i) < 0)
            status = -ENOMEM;
    free(pids);
    return status;
}

/* In containers nothing tells by which number the driver knew a process that has ended. */
static int find_past(const struct nvml *nvml, const struct nvml_gpu *gpu, struct gt_frame *frame)
{
    if (!frame->is_last || !frame->past_count || !nvml->call.accounting_pids || !nvml->pids.is_initial ||
        !gpu->has_accounting || gpu->is_asleep || gpu->is_lost)
        return 0;
    struct gt_map accounts = {0};
    int status = list_accounts(nvml, gpu, &accounts);
    for (size_t i = 0; status > 0 && i < frame->past_count; i++)
        if (gt_map_get(&accounts, (uint32_t)frame->past[i].pid) != GT_MAP_ABSENT &&
            publish_past(nvml, gpu, &frame->past[i], frame) < 0)
            status = -ENOMEM;
    gt_map_release(&accounts);
    return status < 0 ? status : 0;
}

/* It has ended and is asked about no more. */
static int note_told(struct nvml_marks *marks, const struct nvml_mark *mark)
{
    struct nvml_told *told = isnan(mark->bytes) ? NULL : GT_GROW(marks, told);
    if (told)
        *told = (struct nvml_told){mark->pid, mark->start_us};
    return told || isnan(mark->bytes) ? 0 : -ENOMEM;
}

int gt_nvml_publish_marks(const struct nvml *nvml, struct nvml_gpu *gpu, struct gt_frame *frame)
{
    struct nvml_marks *marks = &gpu->marks;
    size_t kept = 0;
    if (find_past(nvml, gpu, frame) < 0)
        return -ENOMEM;
    gt_map_clear(&marks->number);
    for (size_t i = 0; i < marks->count; i++) {
        struct nvml_mark *mark = &marks->mark[i];
        struct gt_gpu_mark *told = isnan(mark->bytes) ? NULL : GT_GROW(frame, mark);
        if (told)
            *told = (struct gt_gpu_mark){gpu->device, mark->pid, mark->bytes > mark->before ? mark->bytes : NAN,
                                         mark->bytes, false};
        else if (!isnan(mark->bytes))
            return -ENOMEM;
        if (!mark->is_there) {
            if (note_told(marks, mark) < 0)
                return -ENOMEM;
            continue;
        }
        if (gt_map_put(&marks->number, (uint32_t)mark->pid, (uint32_t)kept) < 0)
            return -ENOMEM;
        marks->mark[kept++] = *mark;
    }
    marks->count = kept;
    return 0;
}

void gt_nvml_marks_release(struct nvml_marks *marks)
{
    free(marks->mark);
    free(marks->told);
    gt_map_release(&marks->number);
}

void gt_nvml_survey_marks(const void *state, struct gt_availability *ret)
{
    const struct nvml *nvml = state;
    size_t boards = 0, on = 0;
    *ret = (struct gt_availability){.state = GT_ABSENT, .refresh = NAN, .source = "accounting of the NVIDIA driver"};
    snprintf(ret->reason, sizeof ret->reason, "no GPU keeps accounts of its processes");
    for (size_t i = 0; nvml && i < nvml->gpu_count; i++) {
        const struct nvml_gpu *gpu = &nvml->gpu[i];
        boards += gpu->tells_accounting;
        on += gpu->has_accounting;
    }
    if (!boards)
        return;
    ret->state = on == boards ? GT_READY : GT_DENIED;
    ret->reason[0] = '\0';
    if (on < boards) {
        snprintf(ret->reason, sizeof ret->reason, "exact peaks of GPU memory are off on %zu of %zu GPUs", boards - on,
                 boards);
        snprintf(ret->remedy, sizeof ret->remedy, "sudo nvidia-smi -am 1");
    }
}
