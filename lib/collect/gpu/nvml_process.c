/* Processes on NVIDIA GPUs: which there are, what they use, and the driver's high-water marks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"
#include "collect/gpu/nvml.h"

/* The processes of a device come in three lists, by several functions, in rows of three sizes. */

enum { FIRST_ROWS = 64, MOST_ROWS = 1 << 20, TRIES = 16 };

static const struct gt_row_layout layouts[] = {
    {16, offsetof(struct nvml_process, pid), offsetof(struct nvml_process, bytes)},
    {24, offsetof(struct nvml_process, pid), offsetof(struct nvml_process, bytes)},
    {32, offsetof(struct nvml_process, pid), offsetof(struct nvml_process, bytes)},
};

bool gt_nvml_lost(struct nvml_gpu *gpu, int result)
{
    if (result == NVML_GPU_IS_LOST || result == NVML_GPU_NOT_FOUND || result == NVML_RESET_REQUIRED)
        gpu->is_lost = true;
    return gpu->is_lost;
}

static int ask_old(struct nvml *nvml, struct nvml_gpu *gpu, int mode, unsigned *count)
{
    for (int version = 0; version < NVML_PROCESS_VERSIONS; version++)
        if (nvml->call.processes[version][mode])
            return nvml->call.processes[version][mode](gpu->handle, count, nvml->buffer);
    return NVML_FUNCTION_NOT_FOUND;
}

static int ask_detail(struct nvml *nvml, struct nvml_gpu *gpu, int mode, unsigned *count)
{
    struct nvml_process_list list = {NVML_PROCESS_LIST_V1, (unsigned)mode, *count, (void *)nvml->buffer};
    int result = NVML_CALL(process_detail, gpu->handle, &list);
    *count = list.count;
    return result;
}

int gt_nvml_list(struct nvml *nvml, struct nvml_gpu *gpu, int which, size_t row, unsigned *ret_count,
                 int (*ask)(struct nvml *, struct nvml_gpu *, int which, unsigned *count))
{
    size_t rows = nvml->buffer_size / row > FIRST_ROWS ? nvml->buffer_size / row : FIRST_ROWS;
    int result = NVML_INSUFFICIENT_SIZE;
    for (int try = 0; try < TRIES && result == NVML_INSUFFICIENT_SIZE && rows <= MOST_ROWS; try++) {
        if (GT_GROW_TO(nvml->buffer, nvml->buffer_size, rows * row) < 0)
            return -ENOMEM;
        memset(nvml->buffer, GT_ROW_PATTERN, nvml->buffer_size);
        *ret_count = (unsigned)rows;
        result = ask(nvml, gpu, which, ret_count);
        if (result == NVML_SUCCESS && *ret_count > rows)
            return NVML_UNKNOWN;
        rows = rows * 2 > *ret_count ? rows * 2 : (size_t)*ret_count + *ret_count / 2;
    }
    return result;
}

static int add_rows(struct nvml *nvml, unsigned count, const struct gt_row_layout *layout)
{
    for (unsigned i = 0; i < count; i++) {
        const unsigned char *at = nvml->buffer + i * layout->size;
        struct nvml_rows *rows = &nvml->fresh;
        struct nvml_row *row = GT_GROW_LIST(rows, row);
        if (!row)
            return -ENOMEM;
        *row = (struct nvml_row){
            .id.driver_pid = gt_row_u32(at, layout->pid), .gpu_instance = UINT32_MAX, .compute_instance = UINT32_MAX};
        uint64_t bytes = gt_row_u64(at, layout->bytes);
        row->bytes = bytes == NVML_NOT_AVAILABLE ? NAN : (double)bytes;
        if (layout->size > layouts[0].size) {
            row->gpu_instance = gt_row_u32(at, offsetof(struct nvml_process, gpu_instance));
            row->compute_instance = gt_row_u32(at, offsetof(struct nvml_process, compute_instance));
        }
    }
    return 0;
}

/* 0 and the rows added; else an NVML result, or -ENOMEM. */
static int add_list(struct nvml *nvml, struct nvml_gpu *gpu, enum nvml_process_mode mode)
{
    unsigned count = 0;
    const struct gt_row_layout *layout = &layouts[2];
    int result = gt_nvml_list(nvml, gpu, mode, sizeof(struct nvml_process), &count, ask_detail);
    if (result == NVML_FUNCTION_NOT_FOUND || result == NVML_NOT_SUPPORTED || result == NVML_ARGUMENT_VERSION_MISMATCH) {
        result = gt_nvml_list(nvml, gpu, mode, sizeof(struct nvml_process), &count, ask_old);
        layout = NULL;
    }
    if (result != NVML_SUCCESS || count == 0)
        return result;
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
    return GT_ORDER_BY(GT_ORDER(a->id.driver_pid, b->id.driver_pid), GT_ORDER(a->gpu_instance, b->gpu_instance),
                       GT_ORDER(a->compute_instance, b->compute_instance));
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

/* Put the rows of all lists of a device, one for each process, into nvml->fresh: 0, -ENOTSUP, -ENOMEM, -EIO. */
static int list_rows(struct nvml *nvml, struct nvml_gpu *gpu)
{
    bool answered = false, unsupported = false;
    nvml->fresh.count = 0;
    for (int mode = NVML_COMPUTE; mode < NVML_PROCESS_MODES; mode++) {
        int result = add_list(nvml, gpu, mode);
        if (result == -ENOMEM)
            return -ENOMEM;
        if (gt_nvml_lost(gpu, result))
            return -EIO;
        answered |= result == NVML_SUCCESS;
        unsupported |= result == NVML_NOT_SUPPORTED || result == NVML_FUNCTION_NOT_FOUND;
    }
    merge_rows(&nvml->fresh);
    return answered ? 0 : unsupported ? -ENOTSUP : -EIO;
}

/* Reads what each process uses of a device: memory from the lists, shares of time from the driver's samples.
 *
 * The driver's samples have a row only for processes that were busy in its last period (1 s or less), so a process without
 * a new row keeps its figures for that long and is idle afterwards. */

static const int64_t sample_life_us = 1000000;
static const int64_t clock_slack_us = 1000000; /* a sample may not be newer than now by more than this */

static int64_t now_us(const struct nvml *nvml)
{
    return gt_clock_real(nvml->clock) / 1000;
}

/* Take over what is known of the processes that were in the list before. Both lists are sorted. */
static void carry_over(const struct nvml_rows *old, struct nvml_rows *fresh)
{
    size_t at = 0;
    for (size_t i = 0; i < fresh->count; i++) {
        struct nvml_row *row = &fresh->row[i];
        while (at < old->count && old->row[at].id.driver_pid < row->id.driver_pid)
            at++;
        if (at == old->count || old->row[at].id.driver_pid != row->id.driver_pid)
            continue;
        row->id.pid = old->row[at].id.pid;
        row->time_us = old->row[at].time_us;
        row->used = old->row[at].used;
    }
}

static struct nvml_row *find_row(const struct nvml_rows *rows, unsigned driver_pid)
{
    size_t at = GT_SEARCH(0, rows->count, i, rows->row[i].id.driver_pid < driver_pid);
    return at < rows->count && rows->row[at].id.driver_pid == driver_pid ? &rows->row[at] : NULL;
}

/* Percentages above 100, times before the one asked for and times to come are rows that the driver did not fill in. */
static bool is_plausible(const struct nvml_process_utilization *sample, unsigned long long asked, int64_t now)
{
    return sample->used.sm <= 100 && sample->used.memory <= 100 && sample->used.encoder <= 100 &&
           sample->used.decoder <= 100 && sample->time > asked &&
           sample->time <= (unsigned long long)(now + clock_slack_us);
}

static void take_samples(struct nvml *nvml, struct nvml_gpu *gpu, const struct nvml_process_utilization *samples,
                         unsigned count)
{
    unsigned long long newest = gpu->seen_process;
    int64_t now = now_us(nvml);
    for (unsigned i = 0; i < count; i++) {
        const struct nvml_process_utilization *sample = &samples[i];
        if (!is_plausible(sample, gpu->seen_process, now))
            continue;
        struct nvml_row *row = find_row(&gpu->rows, sample->pid);
        /* In a container samples may have other numbers than the list: one process and one unknown number are the same. */
        if (!row && gpu->rows.count == 1 && !nvml->pids.is_initial)
            row = gpu->rows.row;
        if (row && (int64_t)sample->time > row->time_us) {
            row->time_us = (int64_t)sample->time;
            row->used = sample->used;
        }
        newest = sample->time > newest ? sample->time : newest;
    }
    gpu->seen_process = newest;
}

/* The two functions fill the same part of nvml->buffer in the form of the older one. */
static int ask_new(struct nvml *nvml, struct nvml_gpu *gpu, int which, unsigned *count)
{
    struct nvml_process_utilization_v1 *rows = (void *)nvml->buffer;
    struct nvml_processes_utilization list = {NVML_PROCESSES_UTILIZATION_V1, *count, gpu->seen_process, rows};
    unsigned capacity = *count;
    int result = NVML_CALL(processes_utilization, gpu->handle, &list);
    (void)which;
    *count = list.count;
    for (unsigned i = 0; result == NVML_SUCCESS && i < list.count && i < capacity; i++) {
        struct nvml_process_utilization old = {rows[i].pid, rows[i].time, rows[i].used};
        memcpy(nvml->buffer + i * sizeof old, &old, sizeof old);
    }
    return result;
}

static int ask_old_samples(struct nvml *nvml, struct nvml_gpu *gpu, int which, unsigned *count)
{
    (void)which;
    return NVML_CALL(process_utilization, gpu->handle, (void *)nvml->buffer, count, gpu->seen_process);
}

static void read_samples(struct nvml *nvml, struct nvml_gpu *gpu)
{
    const size_t row = sizeof(struct nvml_process_utilization_v1);
    unsigned count = 0;
    if (gpu->seen_process == 0)
        gpu->seen_process = (unsigned long long)(now_us(nvml) - sample_life_us);
    int result = gt_nvml_list(nvml, gpu, 0, row, &count, ask_new);
    if (result != NVML_SUCCESS && result != NVML_NOT_FOUND)
        result = gt_nvml_list(nvml, gpu, 0, row, &count, ask_old_samples);
    gpu->utilization_unsupported = result != NVML_SUCCESS && result != NVML_NOT_FOUND;
    if (result == NVML_SUCCESS)
        take_samples(nvml, gpu, (void *)nvml->buffer, count);
    else
        gt_nvml_lost(gpu, result);
}

int gt_nvml_read_processes(struct nvml *nvml, struct nvml_gpu *gpu, const struct gt_snapshot *snapshot)
{
    if (gpu->lists_unsupported)
        return 0;
    int status = list_rows(nvml, gpu);
    if (status < 0) {
        gpu->rows.count = 0;
        gpu->lists_unsupported = status == -ENOTSUP;
        return status == -ENOMEM ? status : 0;
    }
    carry_over(&gpu->rows, &nvml->fresh);
    struct nvml_rows old = gpu->rows;
    gpu->rows = nvml->fresh;
    nvml->fresh = old;
    gt_gpu_pids_resolve(&nvml->pids, snapshot, gpu->file[0] ? gpu->file : NULL, gpu->rows.row, gpu->rows.count,
                        sizeof *gpu->rows.row);
    if (gpu->parent < 0 && !gpu->has_slices && gpu->rows.count > 0)
        read_samples(nvml, gpu);
    return 0;
}

static int slice_of(const struct nvml *nvml, const struct nvml_gpu *gpu, const struct nvml_row *row)
{
    for (size_t i = 0; gpu->has_slices && i < nvml->gpu_count; i++) {
        const struct nvml_gpu *slice = &nvml->gpu[i];
        if (slice->parent == (int)(gpu - nvml->gpu) && slice->gpu_instance == row->gpu_instance &&
            (row->compute_instance == UINT32_MAX || slice->compute_instance == row->compute_instance))
            return slice->gpu.device;
    }
    return gpu->gpu.device;
}

int gt_nvml_publish_processes(const struct nvml *nvml, const struct nvml_gpu *gpu, struct gt_snapshot *snapshot)
{
    int64_t now = now_us(nvml);
    bool has_utilization = gpu->parent < 0 && !gpu->has_slices && !gpu->utilization_unsupported;
    for (size_t i = 0; i < gpu->rows.count; i++) {
        const struct nvml_row *row = &gpu->rows.row[i];
        if (row->id.pid <= 0)
            continue;
        bool is_again = i > 0 && row[-1].id.driver_pid == row->id.driver_pid;
        int device = slice_of(nvml, gpu, row);
        struct gt_share *share = is_again ? gt_snapshot_share(snapshot, device, row->id.pid)
                                          : gt_snapshot_add_share(snapshot, device, row->id.pid);
        if (!share)
            return -ENOMEM;
        double bytes = share->value[GT_GPU_RAM];
        share->value[GT_GPU_RAM] = isnan(bytes) ? row->bytes : bytes + (isnan(row->bytes) ? 0 : row->bytes);
        if (!has_utilization)
            continue;
        bool is_current = row->time_us > 0 && now - row->time_us <= sample_life_us;
        share->value[GT_GPU_UTILIZATION] = is_current ? row->used.sm / 100.0 : 0;
        share->value[GT_GPU_MEMORY_UTILIZATION] = is_current ? row->used.memory / 100.0 : 0;
        share->value[GT_GPU_ENCODER] = is_current ? row->used.encoder / 100.0 : 0;
        share->value[GT_GPU_DECODER] = is_current ? row->used.decoder / 100.0 : 0;
    }
    return 0;
}

/* ---- High-water marks ---------------------------------------------------------------------------------------------- */

/* The driver's own high-water marks of what processes use of a device, where its accounting is on: nvmlDeviceGetAccountingStats of
 * the NVML API reference. Switching it on is the administrator's. It knows processes that ended, too, by numbers that may be another's:
 * one is believed that was running when it was asked about first, or that began to use the device after its process was met. */

static struct nvml_hwm *find_hwm(const struct nvml_hwms *hwms, pid_t pid)
{
    uint32_t number = gt_map_get(&hwms->number, (uint32_t)pid);
    return number == GT_MAP_ABSENT ? NULL : &hwms->hwm[number];
}

static struct nvml_hwm *add_hwm(struct nvml_hwms *hwms, pid_t pid)
{
    if (gt_map_put(&hwms->number, (uint32_t)pid, (uint32_t)hwms->count) < 0)
        return NULL;
    struct nvml_hwm *hwm = GT_GROW_LIST(hwms, hwm);
    if (hwm)
        *hwm = (struct nvml_hwm){.pid = pid, .bytes = NAN};
    return hwm;
}

/* Processes that are met. In a container only the lists have the number by which the driver knows one. */
static int meet(struct nvml *nvml, struct nvml_gpu *gpu, const struct gt_snapshot *snapshot)
{
    struct nvml_hwms *hwms = &gpu->hwms;
    for (size_t i = 0; i < snapshot->process_count; i++) {
        const struct gt_process *process = snapshot->process[i];
        struct nvml_hwm *hwm = find_hwm(hwms, process->pid);
        if (!hwm && !(hwm = add_hwm(hwms, process->pid)))
            return -ENOMEM;
        hwm->is_there = !process->is_zombie;
        if (!hwm->since_us)
            hwm->since_us = nvml->collected_us;
        if (!hwm->driver_pid && nvml->pids.is_initial)
            hwm->driver_pid = (unsigned)process->pid;
    }
    for (size_t i = 0; i < gpu->rows.count; i++) {
        const struct gt_pid_entry *id = &gpu->rows.row[i].id;
        struct nvml_hwm *hwm = id->pid > 0 ? find_hwm(hwms, id->pid) : NULL;
        if (hwm)
            hwm->driver_pid = id->driver_pid;
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

static int ask_account(const struct nvml *nvml, const struct nvml_gpu *gpu, unsigned pid, struct nvml_accounting *ret)
{
    int result = pid ? nvml->call.accounting(gpu->handle, pid, ret) : NVML_NOT_FOUND;
    bool is_empty = !ret->most_bytes || ret->most_bytes == NVML_NOT_AVAILABLE;
    return result == NVML_SUCCESS && is_empty ? NVML_NOT_FOUND : result;
}

static void read_account(struct nvml *nvml, struct nvml_gpu *gpu, struct nvml_hwm *hwm)
{
    struct nvml_accounting account = {0};
    int result = ask_account(nvml, gpu, hwm->driver_pid, &account);
    if (gt_nvml_lost(gpu, result) || result != NVML_SUCCESS)
        return;
    bool is_it = hwm->start_us
                     ? account.start_us == hwm->start_us
                     : (account.is_running && is_listed(gpu, hwm->driver_pid)) || account.start_us >= hwm->since_us;
    if (!is_it)
        return;
    if (!hwm->start_us && account.start_us < nvml->opened_us)
        hwm->before = (double)account.most_bytes;
    hwm->start_us = account.start_us;
    hwm->bytes = (double)account.most_bytes;
}

int gt_nvml_read_hwms(struct nvml *nvml, struct nvml_gpu *gpu, const struct gt_snapshot *snapshot, bool is_due)
{
    struct nvml_hwms *hwms = &gpu->hwms;
    if (!gpu->has_accounting || gpu->gpu.is_asleep)
        return 0;
    for (size_t i = 0; i < hwms->count; i++)
        hwms->hwm[i].is_there = false;
    if (meet(nvml, gpu, snapshot) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < hwms->count && !gpu->is_lost; i++)
        if (!hwms->hwm[i].is_there || snapshot->is_last || (is_due && is_listed(gpu, hwms->hwm[i].driver_pid)))
            read_account(nvml, gpu, &hwms->hwm[i]);
    return 0;
}

/* ---- Processes that no look met ---------------------------------------------------------------------------------- */

static bool was_published(const struct nvml_hwms *hwms, pid_t pid, unsigned long long start_us)
{
    const struct nvml_hwm *hwm = find_hwm(hwms, pid);
    if (hwm && hwm->start_us == start_us)
        return true;
    for (size_t i = 0; i < hwms->published_count; i++)
        if (hwms->published[i].pid == pid && hwms->published[i].start_us == start_us)
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
                        struct gt_snapshot *snapshot)
{
    struct nvml_accounting account = {0};
    if (ask_account(nvml, gpu, (unsigned)past->pid, &account) != NVML_SUCCESS ||
        !has_lived(nvml->clock, past, account.start_us) || was_published(&gpu->hwms, past->pid, account.start_us))
        return 0;
    double bytes = (double)account.most_bytes, own = account.start_us < nvml->opened_us ? NAN : bytes;
    return GT_APPEND_TO(snapshot, hwm, (struct gt_gpu_hwm){gpu->gpu.device, past->pid, own, bytes, true});
}

/* Lists the processes that the driver has accounts of. Returns 1, 0 if it does not answer, or -ENOMEM. */
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

/* In containers the driver's number of a process that has ended is unknown. */
static int find_past(const struct nvml *nvml, const struct nvml_gpu *gpu, struct gt_snapshot *snapshot)
{
    if (!snapshot->is_last || !snapshot->past_count || !nvml->call.accounting_pids || !nvml->pids.is_initial ||
        !gpu->has_accounting || gpu->gpu.is_asleep || gpu->is_lost)
        return 0;
    struct gt_map accounts = {0};
    int status = list_accounts(nvml, gpu, &accounts);
    for (size_t i = 0; status > 0 && i < snapshot->past_count; i++)
        if (gt_map_get(&accounts, (uint32_t)snapshot->past[i].pid) != GT_MAP_ABSENT &&
            publish_past(nvml, gpu, &snapshot->past[i], snapshot) < 0)
            status = -ENOMEM;
    gt_map_release(&accounts);
    return status < 0 ? status : 0;
}

/* It has ended and is asked about no more. */
int gt_nvml_publish_hwms(const struct nvml *nvml, struct nvml_gpu *gpu, struct gt_snapshot *snapshot)
{
    struct nvml_hwms *hwms = &gpu->hwms;
    size_t kept = 0;
    int status = find_past(nvml, gpu, snapshot);
    gt_map_clear(&hwms->number);
    for (size_t i = 0; i < hwms->count && status == 0; i++) {
        const struct nvml_hwm hwm = hwms->hwm[i];
        bool is_known = !isnan(hwm.bytes);
        if (is_known)
            status = GT_APPEND_TO(snapshot, hwm,
                                  (struct gt_gpu_hwm){gpu->gpu.device, hwm.pid,
                                                      hwm.bytes > hwm.before ? hwm.bytes : NAN, hwm.bytes, false});
        if (status == 0 && hwm.is_there)
            status = gt_map_put(&hwms->number, (uint32_t)hwm.pid, (uint32_t)kept);
        else if (status == 0 && is_known) /* it has ended and is asked about no more */
            status = GT_APPEND_TO(hwms, published, (struct nvml_published){hwm.pid, hwm.start_us});
        if (hwm.is_there)
            hwms->hwm[kept++] = hwm;
    }
    hwms->count = kept;
    return status;
}

void gt_nvml_hwms_release(struct nvml_hwms *hwms)
{
    free(hwms->hwm);
    free(hwms->published);
    gt_map_release(&hwms->number);
}

void gt_nvml_survey_hwms(const void *state, struct gt_availability *ret)
{
    const struct nvml *nvml = state;
    size_t boards = 0, on = 0;
    *ret = (struct gt_availability){.state = GT_ABSENT, .refresh = NAN, .source = "accounting of the NVIDIA driver"};
    snprintf(ret->reason, sizeof ret->reason, "no GPU keeps accounts of its processes");
    for (size_t i = 0; nvml && i < nvml->gpu_count; i++) {
        const struct nvml_gpu *gpu = &nvml->gpu[i];
        boards += gpu->reports_accounting;
        on += gpu->has_accounting;
    }
    if (!boards)
        return;
    ret->state = GT_READY;
    ret->reason[0] = '\0';
    if (on < boards)
        gt_unavailable(ret, GT_DENIED, "sudo nvidia-smi -am 1", "exact peaks of GPU memory are off on %zu of %zu GPUs",
                       boards - on, boards);
}
