/* A fake of NVIDIA's management library. The data: see fake.h; GT_FAKE_NVML names the file.
 *
 *     version TEXT, driver TEXT, row_size BYTES (of the v3 lists), understate 1 (list sizes told are too small), init RESULT
 *     uuid, name, pci DOMAIN BUS DEVICE, minor N, mig 1, instance GI CI (of a slice)
 *     memory TOTAL RESERVED USED, utilization GPU MEMORY, encoder N, decoder N, temperature N, clock SM MEMORY (MHz)
 *     reasons BITS, power_usage MW, field FIELD SCOPE MW, energy MJ [MW, by which it grows], capability MAJOR MINOR
 *     ecc ERROR COUNTER COUNT, remapped CORRECTABLE UNCORRECTABLE PENDING FAILED, replays N, xid NUMBER (in its frame, once)
 *     accounting MODE, account PID BYTES START RUNNING (START as the TIME of samples)
 *     process MODE PID BYTES [GI CI], used PID TIME SM MEMORY ENCODER DECODER, sample WHICH TIME VALUE
 *     live PERCENT (what programs do with the fake CUDA driver counts, see live.h; that much of their memory is told)
 *
 * FAKE_LISTS is the newest form of the process lists that the library has: 1, 2, 3, or 4 for the detail list;
 * 0 leaves out all that is optional. */
#include <stddef.h>
#include <stdint.h>

#include "collect/gpu/nvml.h"
#include "live.h"

#ifndef FAKE_LISTS
#define FAKE_LISTS 4
#endif

#define ANSWER_FAILURE(device)                        \
    do {                                              \
        int result_ = fake_failure(device, __func__); \
        if (result_)                                  \
            return result_;                           \
    } while (0)

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    unsigned long long result = 0;
    if (fake_open("GT_FAKE_NVML") < 0)
        return NVML_DRIVER_NOT_LOADED;
    fake_number("", "init", 0, &result);
    if (result)
        fake_close();
    return (int)result;
}

int nvmlShutdown(void);
int nvmlShutdown(void)
{
    fake_close();
    return NVML_SUCCESS;
}

static bool is_board(size_t i)
{
    return !strchr(fake.device[i], '.');
}

int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 0;
    for (size_t i = 0; i < fake.device_count; i++)
        *count += is_board(i);
    return NVML_SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvml_device **handle);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvml_device **handle)
{
    for (size_t i = 0; i < fake.device_count; i++)
        if (is_board(i) && index-- == 0) {
            ANSWER_FAILURE(fake.device[i]);
            *handle = (struct nvml_device *)fake.device[i];
            return NVML_SUCCESS;
        }
    return NVML_NOT_FOUND;
}

#if FAKE_LISTS > 0

static const char *id(struct nvml_device *device)
{
    return (const char *)device;
}

/* Percent of the memory that is told; 0: what live.h has does not count. */
static unsigned long long live_percent(struct nvml_device *device)
{
    unsigned long long percent = 0;
    fake_number(id(device), "live", 0, &percent);
    return percent;
}

static int answer_text(const char *device, const char *key, char *text, unsigned size)
{
    const char *answer = fake_text(device, key);
    fake_wait();
    if (!answer)
        return NVML_NOT_SUPPORTED;
    snprintf(text, size, "%s", answer);
    return NVML_SUCCESS;
}

static int answer_number(struct nvml_device *device, const char *key, int word, unsigned *ret)
{
    unsigned long long value;
    fake_wait();
    if (!fake_number(id(device), key, word, &value))
        return NVML_NOT_SUPPORTED;
    *ret = (unsigned)value;
    return NVML_SUCCESS;
}

const char *nvmlErrorString(int result);
const char *nvmlErrorString(int result)
{
    return result == NVML_VERSION_MISMATCH ? "Driver/library version mismatch" : "Some error";
}

int nvmlSystemGetDriverVersion(char *text, unsigned size);
int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    return answer_text("", "driver", text, size);
}

int nvmlSystemGetNVMLVersion(char *text, unsigned size);
int nvmlSystemGetNVMLVersion(char *text, unsigned size)
{
    return answer_text("", "version", text, size);
}

int nvmlDeviceGetName(struct nvml_device *device, char *text, unsigned size);
int nvmlDeviceGetName(struct nvml_device *device, char *text, unsigned size)
{
    return answer_text(id(device), "name", text, size);
}

int nvmlDeviceGetUUID(struct nvml_device *device, char *text, unsigned size);
int nvmlDeviceGetUUID(struct nvml_device *device, char *text, unsigned size)
{
    return answer_text(id(device), "uuid", text, size);
}

int nvmlDeviceGetPciInfo_v3(struct nvml_device *device, struct nvml_pci *pci);
int nvmlDeviceGetPciInfo_v3(struct nvml_device *device, struct nvml_pci *pci)
{
    memset(pci, 0, sizeof *pci);
    if (answer_number(device, "pci", 0, &pci->domain) || answer_number(device, "pci", 1, &pci->bus))
        return NVML_NOT_SUPPORTED;
    return answer_number(device, "pci", 2, &pci->device);
}

int nvmlDeviceGetMinorNumber(struct nvml_device *device, unsigned *minor);
int nvmlDeviceGetMinorNumber(struct nvml_device *device, unsigned *minor)
{
    return answer_number(device, "minor", 0, minor);
}

int nvmlDeviceGetMigMode(struct nvml_device *device, unsigned *current, unsigned *pending);
int nvmlDeviceGetMigMode(struct nvml_device *device, unsigned *current, unsigned *pending)
{
    *pending = 0;
    return answer_number(device, "mig", 0, current);
}

int nvmlDeviceGetMaxMigDeviceCount(struct nvml_device *device, unsigned *most);
int nvmlDeviceGetMaxMigDeviceCount(struct nvml_device *device, unsigned *most)
{
    (void)device;
    *most = 7;
    return NVML_SUCCESS;
}

int nvmlDeviceGetMigDeviceHandleByIndex(struct nvml_device *device, unsigned index, struct nvml_device **slice);
int nvmlDeviceGetMigDeviceHandleByIndex(struct nvml_device *device, unsigned index, struct nvml_device **slice)
{
    char name[32];
    snprintf(name, sizeof name, "%s.%u", id(device), index);
    for (size_t i = 0; i < fake.device_count; i++)
        if (!strcmp(fake.device[i], name)) {
            *slice = (struct nvml_device *)fake.device[i];
            return NVML_SUCCESS;
        }
    return NVML_NOT_FOUND;
}

int nvmlDeviceGetGpuInstanceId(struct nvml_device *device, unsigned *instance);
int nvmlDeviceGetGpuInstanceId(struct nvml_device *device, unsigned *instance)
{
    return answer_number(device, "instance", 0, instance);
}

int nvmlDeviceGetComputeInstanceId(struct nvml_device *device, unsigned *instance);
int nvmlDeviceGetComputeInstanceId(struct nvml_device *device, unsigned *instance)
{
    return answer_number(device, "instance", 1, instance);
}

static int answer_memory(struct nvml_device *device, unsigned long long memory[3])
{
    for (int word = 0; word < 3; word++)
        if (!fake_number(id(device), "memory", word, &memory[word]))
            return NVML_NOT_SUPPORTED;
    return NVML_SUCCESS;
}

int nvmlDeviceGetMemoryInfo(struct nvml_device *device, struct nvml_memory *memory);
int nvmlDeviceGetMemoryInfo(struct nvml_device *device, struct nvml_memory *memory)
{
    unsigned long long words[3];
    ANSWER_FAILURE(id(device));
    if (answer_memory(device, words) != NVML_SUCCESS)
        return NVML_NOT_SUPPORTED;
    *memory = (struct nvml_memory){words[0], words[0] - words[1] - words[2], words[1] + words[2]};
    return NVML_SUCCESS;
}

#if FAKE_LISTS > 1
int nvmlDeviceGetMemoryInfo_v2(struct nvml_device *device, struct nvml_memory_v2 *memory);
int nvmlDeviceGetMemoryInfo_v2(struct nvml_device *device, struct nvml_memory_v2 *memory)
{
    unsigned long long words[3];
    ANSWER_FAILURE(id(device));
    if (memory->version != 0x02000028)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    if (answer_memory(device, words) != NVML_SUCCESS)
        return NVML_NOT_SUPPORTED;
    *memory = (struct nvml_memory_v2){memory->version, words[0], words[1], words[0] - words[1] - words[2], words[2]};
    return NVML_SUCCESS;
}
#endif

int nvmlDeviceGetUtilizationRates(struct nvml_device *device, struct nvml_utilization *utilization);
int nvmlDeviceGetUtilizationRates(struct nvml_device *device, struct nvml_utilization *utilization)
{
    ANSWER_FAILURE(id(device));
    if (live_percent(device)) {
        *utilization = (struct nvml_utilization){(unsigned)(100 * live_share(0) + 0.5), 0};
        return NVML_SUCCESS;
    }
    if (answer_number(device, "utilization", 0, &utilization->gpu))
        return NVML_NOT_SUPPORTED;
    return answer_number(device, "utilization", 1, &utilization->memory);
}

int nvmlDeviceGetEncoderUtilization(struct nvml_device *device, unsigned *percent, unsigned *period);
int nvmlDeviceGetEncoderUtilization(struct nvml_device *device, unsigned *percent, unsigned *period)
{
    *period = 167000;
    return answer_number(device, "encoder", 0, percent);
}

int nvmlDeviceGetDecoderUtilization(struct nvml_device *device, unsigned *percent, unsigned *period);
int nvmlDeviceGetDecoderUtilization(struct nvml_device *device, unsigned *percent, unsigned *period)
{
    *period = 167000;
    return answer_number(device, "decoder", 0, percent);
}

int nvmlDeviceGetTemperature(struct nvml_device *device, int sensor, unsigned *celsius);
int nvmlDeviceGetTemperature(struct nvml_device *device, int sensor, unsigned *celsius)
{
    return sensor == 0 ? answer_number(device, "temperature", 0, celsius) : NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetClockInfo(struct nvml_device *device, int which, unsigned *megahertz);
int nvmlDeviceGetClockInfo(struct nvml_device *device, int which, unsigned *megahertz)
{
    return which == 1 || which == 2 ? answer_number(device, "clock", which - 1, megahertz) : NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_device *device, unsigned long long *bits);
int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_device *device, unsigned long long *bits)
{
    return fake_number(id(device), "reasons", 0, bits) ? NVML_SUCCESS : NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetPowerUsage(struct nvml_device *device, unsigned *milliwatts);
int nvmlDeviceGetPowerUsage(struct nvml_device *device, unsigned *milliwatts)
{
    if (live_percent(device)) {
        *milliwatts = (unsigned)(LIVE_IDLE_MW + LIVE_BUSY_MW * live_share(0));
        return NVML_SUCCESS;
    }
    return answer_number(device, "power_usage", 0, milliwatts);
}

int nvmlDeviceGetTotalEnergyConsumption(struct nvml_device *device, unsigned long long *millijoules);
int nvmlDeviceGetTotalEnergyConsumption(struct nvml_device *device, unsigned long long *millijoules)
{
    ANSWER_FAILURE(id(device));
    if (live_percent(device)) {
        *millijoules = live_millijoules();
        return NVML_SUCCESS;
    }
    if (!fake_number(id(device), "energy", 0, millijoules))
        return NVML_NOT_SUPPORTED;
    unsigned long long milliwatts;
    if (fake_number(id(device), "energy", 1, &milliwatts))
        *millijoules += (unsigned long long)((double)milliwatts * (fake_now() - fake.opened));
    return NVML_SUCCESS;
}

int nvmlDeviceGetCudaComputeCapability(struct nvml_device *device, int *major, int *minor);
int nvmlDeviceGetCudaComputeCapability(struct nvml_device *device, int *major, int *minor)
{
    unsigned numbers[2];
    int result = answer_number(device, "capability", 0, &numbers[0]);
    if (result == NVML_SUCCESS)
        result = answer_number(device, "capability", 1, &numbers[1]);
    if (result == NVML_SUCCESS) {
        *major = (int)numbers[0];
        *minor = (int)numbers[1];
    }
    return result;
}

int nvmlDeviceGetFieldValues(struct nvml_device *device, int count, struct nvml_field *fields);
int nvmlDeviceGetFieldValues(struct nvml_device *device, int count, struct nvml_field *fields)
{
    ANSWER_FAILURE(id(device));
    for (int i = 0; i < count; i++) {
        const char *text;
        fields[i].result = NVML_NOT_SUPPORTED;
        struct fake_list list = fake_list(id(device), "field");
        while ((text = fake_next(&list))) {
            unsigned field, scope, value;
            if (sscanf(text, "%u %u %u", &field, &scope, &value) == 3 && field == fields[i].field &&
                scope == fields[i].scope) {
                fields[i].result = NVML_SUCCESS;
                fields[i].type = NVML_UNSIGNED;
                fields[i].value.as_unsigned = value;
            }
        }
    }
    return NVML_SUCCESS;
}

/* "-500000" is half a second before now; other numbers are microseconds since 1970. */
static unsigned long long time_of(const char *text)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    long long base = *text == '-' || *text == '+' ? (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000 : 0;
    return (unsigned long long)(base + strtoll(text, NULL, 10));
}

int nvmlDeviceGetSamples(struct nvml_device *device, int which, unsigned long long last_seen, int *type,
                         unsigned *count, struct nvml_sample *samples);
int nvmlDeviceGetSamples(struct nvml_device *device, int which, unsigned long long last_seen, int *type,
                         unsigned *count, struct nvml_sample *samples)
{
    const char *text;
    unsigned found = 0, capacity = *count;
    ANSWER_FAILURE(id(device));
    *type = NVML_UNSIGNED;
    struct fake_list list = fake_list(id(device), "sample");
    while ((text = fake_next(&list))) {
        int kind;
        char time[32];
        unsigned value;
        if (sscanf(text, "%d %31s %u", &kind, time, &value) != 3 || kind != which || time_of(time) <= last_seen)
            continue;
        if (samples && found < capacity) {
            samples[found].time = time_of(time);
            samples[found].value.as_unsigned = value;
        }
        found++;
    }
    *count = found;
    if (found == 0)
        return NVML_NOT_FOUND;
    return samples && found > capacity ? NVML_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

int nvmlDeviceGetTotalEccErrors(struct nvml_device *device, int error, int counter, unsigned long long *count);
int nvmlDeviceGetTotalEccErrors(struct nvml_device *device, int error, int counter, unsigned long long *count)
{
    const char *text;
    struct fake_list list = fake_list(id(device), "ecc");
    while ((text = fake_next(&list))) {
        int of_error, of_counter;
        if (sscanf(text, "%d %d %llu", &of_error, &of_counter, count) == 3 && of_error == error &&
            of_counter == counter)
            return NVML_SUCCESS;
    }
    return NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetRemappedRows(struct nvml_device *device, unsigned *correctable, unsigned *uncorrectable,
                              unsigned *is_pending, unsigned *has_failed);
int nvmlDeviceGetRemappedRows(struct nvml_device *device, unsigned *correctable, unsigned *uncorrectable,
                              unsigned *is_pending, unsigned *has_failed)
{
    unsigned *const answers[] = {correctable, uncorrectable, is_pending, has_failed};
    int result = NVML_SUCCESS;
    for (int i = 0; i < 4 && result == NVML_SUCCESS; i++)
        result = answer_number(device, "remapped", i, answers[i]);
    return result;
}

int nvmlDeviceGetPcieReplayCounter(struct nvml_device *device, unsigned *count);
int nvmlDeviceGetPcieReplayCounter(struct nvml_device *device, unsigned *count)
{
    return answer_number(device, "replays", 0, count);
}

static struct nvml_device *registered[FAKE_DEVICES];
static unsigned long long told_xid[FAKE_DEVICES];
static size_t registered_count;

int nvmlEventSetCreate(struct nvml_events **events);
int nvmlEventSetCreate(struct nvml_events **events)
{
    registered_count = 0;
    *events = (void *)registered;
    return NVML_SUCCESS;
}

int nvmlEventSetFree(struct nvml_events *events);
int nvmlEventSetFree(struct nvml_events *events)
{
    (void)events;
    registered_count = 0;
    return NVML_SUCCESS;
}

int nvmlDeviceRegisterEvents(struct nvml_device *device, unsigned long long kinds, struct nvml_events *events);
int nvmlDeviceRegisterEvents(struct nvml_device *device, unsigned long long kinds, struct nvml_events *events)
{
    (void)events;
    ANSWER_FAILURE(id(device));
    if (kinds != NVML_EVENT_XID)
        return NVML_NOT_SUPPORTED;
    told_xid[registered_count] = 0;
    registered[registered_count++] = device;
    return NVML_SUCCESS;
}

/* Each number is told once. */
int nvmlEventSetWait_v2(struct nvml_events *events, struct nvml_event *event, unsigned timeout_ms);
int nvmlEventSetWait_v2(struct nvml_events *events, struct nvml_event *event, unsigned timeout_ms)
{
    (void)events, (void)timeout_ms;
    for (size_t i = 0; i < registered_count; i++) {
        unsigned long long number;
        if (!fake_number(id(registered[i]), "xid", 0, &number) || number == told_xid[i])
            continue;
        told_xid[i] = number;
        *event = (struct nvml_event){.device = registered[i], .kind = NVML_EVENT_XID, .number = number};
        return NVML_SUCCESS;
    }
    return NVML_TIMEOUT;
}

int nvmlDeviceGetAccountingMode(struct nvml_device *device, unsigned *mode);
int nvmlDeviceGetAccountingMode(struct nvml_device *device, unsigned *mode)
{
    ANSWER_FAILURE(id(device));
    return answer_number(device, "accounting", 0, mode);
}

int nvmlDeviceGetAccountingStats(struct nvml_device *device, unsigned pid, struct nvml_accounting *account);
int nvmlDeviceGetAccountingStats(struct nvml_device *device, unsigned pid, struct nvml_accounting *account)
{
    const char *text;
    ANSWER_FAILURE(id(device));
    struct fake_list list = fake_list(id(device), "account");
    while ((text = fake_next(&list))) {
        unsigned of, running;
        unsigned long long bytes;
        char start[32];
        if (sscanf(text, "%u %llu %31s %u", &of, &bytes, start, &running) != 4 || of != pid)
            continue;
        *account = (struct nvml_accounting){.most_bytes = bytes, .start_us = time_of(start), .is_running = running};
        return NVML_SUCCESS;
    }
    struct live_process process[LIVE_PROCESSES];
    size_t count = live_percent(device) ? live_processes(process) : 0;
    for (size_t i = 0; i < count; i++)
        if (process[i].pid == (int)pid) {
            *account = (struct nvml_accounting){.most_bytes = process[i].live.most * live_percent(device) / 100,
                                                .start_us = process[i].live.start_us,
                                                .is_running = process[i].is_running};
            return NVML_SUCCESS;
        }
    return NVML_NOT_FOUND;
}

/* As the data has them; then those of live.h. */
int nvmlDeviceGetAccountingPids(struct nvml_device *device, unsigned *count, unsigned *pids);
int nvmlDeviceGetAccountingPids(struct nvml_device *device, unsigned *count, unsigned *pids)
{
    ANSWER_FAILURE(id(device));
    unsigned capacity = *count, found = 0;
    const char *text;
    unsigned long long pid;
    struct fake_list list = fake_list(id(device), "account");
    while ((text = fake_next(&list)))
        if (fake_number_of(text, 0, &pid) && found++ < capacity)
            pids[found - 1] = (unsigned)pid;
    struct live_process process[LIVE_PROCESSES];
    size_t live = live_percent(device) ? live_processes(process) : 0;
    for (size_t i = 0; i < live; i++)
        if (found++ < capacity)
            pids[found - 1] = (unsigned)process[i].pid;
    *count = found;
    return found > capacity ? NVML_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

/* Field by field: the driver leaves the padding alone. */
static void write_row(unsigned char *to, const struct nvml_process *row, size_t size)
{
    memcpy(to, &row->pid, sizeof row->pid);
    memcpy(to + 8, &row->bytes, size - 8);
}

static unsigned answer_live(struct nvml_device *device, unsigned found, unsigned capacity, unsigned char *rows,
                            size_t size)
{
    struct live_process process[LIVE_PROCESSES];
    size_t count = live_percent(device) ? live_processes(process) : 0;
    for (size_t i = 0; i < count; i++) {
        struct nvml_process row = {(unsigned)process[i].pid, process[i].live.bytes * live_percent(device) / 100,
                                   UINT32_MAX, UINT32_MAX, 0};
        if (process[i].is_running && found++ < capacity)
            write_row(rows + (found - 1) * size, &row, size);
    }
    return found;
}

/* Write the rows of one list, each `size` bytes long. */
static int answer_list(struct nvml_device *device, int mode, unsigned *count, unsigned char *rows, size_t size)
{
    unsigned capacity = *count, found = 0;
    unsigned long long understate = 0;
    const char *text;
    struct fake_list list = fake_list(id(device), "process");
    while ((text = fake_next(&list))) {
        unsigned long long word[5] = {0, 0, 0, UINT32_MAX, UINT32_MAX};
        for (int i = 0; i < 5; i++)
            fake_number_of(text, i, &word[i]);
        if ((int)word[0] != mode)
            continue;
        struct nvml_process row = {(unsigned)word[1], word[2], (unsigned)word[3], (unsigned)word[4], 0};
        if (found++ < capacity)
            write_row(rows + (found - 1) * size, &row, size);
    }
    if (mode == 0) {
        found = answer_live(device, found, capacity, rows, size);
        fake_leave_trace(list.frame);
    }
    fake_number("", "understate", 0, &understate);
    *count = found > capacity && understate ? capacity + 1 : found;
    return found > capacity ? NVML_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

#define PROCESS_LIST(function, mode, row_size)                             \
    int function(struct nvml_device *device, unsigned *count, void *rows); \
    int function(struct nvml_device *device, unsigned *count, void *rows)  \
    {                                                                      \
        ANSWER_FAILURE(id(device));                                        \
        return answer_list(device, mode, count, rows, row_size);           \
    }

PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses, 0, 16)
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses, 1, 16)

#if FAKE_LISTS > 1
PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses_v2, 0, 24)
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, 1, 24)
PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, 2, 24)
#endif

#if FAKE_LISTS > 2
static size_t row_size(void)
{
    unsigned long long size = 24;
    fake_number("", "row_size", 0, &size);
    return size;
}

PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses_v3, 0, row_size())
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, 1, row_size())
PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, 2, row_size())
#endif

#if FAKE_LISTS > 3
int nvmlDeviceGetRunningProcessDetailList(struct nvml_device *device, struct nvml_process_list *list);
int nvmlDeviceGetRunningProcessDetailList(struct nvml_device *device, struct nvml_process_list *list)
{
    ANSWER_FAILURE(id(device));
    if (list->version != 0x01000018)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    return answer_list(device, (int)list->mode, &list->count, (void *)list->process, 32);
}
#endif

/* Rows newer than `last_seen`, or all when the data says so: drivers do that. */
static unsigned read_used(struct nvml_device *device, unsigned long long last_seen,
                          struct nvml_process_utilization *rows, unsigned capacity)
{
    const char *text;
    unsigned found = 0;
    struct fake_list list = fake_list(id(device), "used");
    while ((text = fake_next(&list))) {
        struct nvml_process_utilization row = {0};
        char time[32];
        if (sscanf(text, "%u %31s %u %u %u %u", &row.pid, time, &row.used.sm, &row.used.memory, &row.used.encoder,
                   &row.used.decoder) != 6)
            continue;
        row.time = time_of(time);
        if (row.time <= last_seen && !fake_text(id(device), "used_always"))
            continue;
        if (found < capacity)
            rows[found] = row;
        found++;
    }
    struct live_process process[LIVE_PROCESSES];
    size_t count = live_percent(device) ? live_processes(process) : 0;
    for (size_t i = 0; i < count; i++)
        if (process[i].is_running && found++ < capacity)
            rows[found - 1] = (struct nvml_process_utilization){
                (unsigned)process[i].pid, time_of("-0"), {(unsigned)(100 * live_share(process[i].pid) + 0.5), 0, 0, 0}};
    return found;
}

int nvmlDeviceGetProcessUtilization(struct nvml_device *device, struct nvml_process_utilization *rows, unsigned *count,
                                    unsigned long long last_seen);
int nvmlDeviceGetProcessUtilization(struct nvml_device *device, struct nvml_process_utilization *rows, unsigned *count,
                                    unsigned long long last_seen)
{
    ANSWER_FAILURE(id(device));
    unsigned capacity = rows ? *count : 0;
    unsigned found = read_used(device, last_seen, rows, capacity);
    *count = found;
    if (found == 0)
        return NVML_NOT_FOUND;
    return found > capacity ? NVML_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

#if FAKE_LISTS > 3
int nvmlDeviceGetProcessesUtilizationInfo(struct nvml_device *device, struct nvml_processes_utilization *list);
int nvmlDeviceGetProcessesUtilizationInfo(struct nvml_device *device, struct nvml_processes_utilization *list)
{
    static struct nvml_process_utilization rows[8192];
    ANSWER_FAILURE(id(device));
    if (list->version != 0x01000018)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    unsigned capacity = list->process ? list->count : 0;
    unsigned found = read_used(device, list->last_seen, rows, capacity);
    list->count = found;
    if (found == 0)
        return NVML_NOT_FOUND;
    for (unsigned i = 0; i < found && i < capacity; i++)
        list->process[i] = (struct nvml_process_utilization_v1){rows[i].time, rows[i].pid, rows[i].used, 0, 0};
    return found > capacity ? NVML_INSUFFICIENT_SIZE : NVML_SUCCESS;
}
#endif

#endif
