/* A fake of AMD SMI. The data: see fake.h; GT_FAKE_AMDSMI names the file.
 *
 *     version FIRST SECOND (words of the version: 24, 25, 26; 23 4), row NAME TAIL (sizes in the process list), init RESULT
 *     name, uuid, bdf DOMAIN BUS DEVICE FUNCTION, type N, vram TOTAL USED, activity GRAPHICS MEMORY, power CURRENT AVERAGE,
 *     temperature SENSOR CELSIUS, clock TYPE MHZ, energy COUNT UNIT [MW, by which it grows], process PID BYTES GRAPHICS_NS ENCODER_NS,
 *     errors BLOCK CORRECTED UNCORRECTED (a list), replays N
 *
 * Each device is a socket of its own. */
#include <stdint.h>

#include "fake.h"

enum { SUCCESS, NOT_SUPPORTED = 2, NOT_LOADED = 34, OUT_OF_RESOURCES = 15 };

static const char *id(void *device)
{
    return device;
}

static bool answer(void *device, const char *key, int word, unsigned long long *ret)
{
    fake_wait();
    return fake_number(id(device), key, word, ret);
}

static unsigned version(void)
{
    unsigned long long first = 26;
    fake_number("", "version", 0, &first);
    return (unsigned)first;
}

int amdsmi_init(uint64_t flags);
int amdsmi_init(uint64_t flags)
{
    unsigned long long result = 0;
    if (flags != 2 || fake_open("GT_FAKE_AMDSMI") < 0)
        return NOT_LOADED;
    if (fake_number("", "init", 0, &result) && result)
        fake_close();
    return (int)result;
}

int amdsmi_shut_down(void);
int amdsmi_shut_down(void)
{
    fake_close();
    return SUCCESS;
}

int amdsmi_get_lib_version(uint32_t *words);
int amdsmi_get_lib_version(uint32_t *words)
{
    unsigned long long second = 0;
    fake_number("", "version", 1, &second);
    words[0] = version();
    words[1] = (uint32_t)second;
    return SUCCESS;
}

int amdsmi_get_socket_handles(uint32_t *count, void **sockets);
int amdsmi_get_socket_handles(uint32_t *count, void **sockets)
{
    for (size_t i = 0; i < fake.device_count && i < *count; i++)
        sockets[i] = fake.device[i];
    *count = (uint32_t)fake.device_count;
    return SUCCESS;
}

int amdsmi_get_processor_handles(void *socket, uint32_t *count, void **processors);
int amdsmi_get_processor_handles(void *socket, uint32_t *count, void **processors)
{
    processors[0] = socket;
    *count = 1;
    return SUCCESS;
}

int amdsmi_get_processor_type(void *device, int *type);
int amdsmi_get_processor_type(void *device, int *type)
{
    unsigned long long value = 1;
    answer(device, "type", 0, &value);
    *type = (int)value;
    return SUCCESS;
}

int amdsmi_get_gpu_device_bdf(void *device, uint64_t *bdf);
int amdsmi_get_gpu_device_bdf(void *device, uint64_t *bdf)
{
    unsigned long long word[4] = {0};
    for (int i = 0; i < 4; i++)
        if (!answer(device, "bdf", i, &word[i]))
            return NOT_SUPPORTED;
    *bdf = word[0] << 16 | word[1] << 8 | word[2] << 3 | word[3];
    return SUCCESS;
}

int amdsmi_get_gpu_device_uuid(void *device, unsigned *length, char *text);
int amdsmi_get_gpu_device_uuid(void *device, unsigned *length, char *text)
{
    const char *uuid = fake_text(id(device), "uuid");
    if (!uuid)
        return NOT_SUPPORTED;
    snprintf(text, *length, "%s", uuid);
    return SUCCESS;
}

int amdsmi_get_gpu_asic_info(void *device, char *name);
int amdsmi_get_gpu_asic_info(void *device, char *name)
{
    const char *text = fake_text(id(device), "name");
    if (!text)
        return NOT_SUPPORTED;
    memset(name, 0, 704);
    snprintf(name, 256, "%s", text);
    return SUCCESS;
}

static int answer_u64(void *device, const char *key, int word, uint64_t *ret)
{
    unsigned long long value;
    if (!answer(device, key, word, &value))
        return NOT_SUPPORTED;
    *ret = value;
    return SUCCESS;
}

int amdsmi_get_gpu_memory_total(void *device, int type, uint64_t *bytes);
int amdsmi_get_gpu_memory_total(void *device, int type, uint64_t *bytes)
{
    return type == 0 ? answer_u64(device, "vram", 0, bytes) : NOT_SUPPORTED;
}

int amdsmi_get_gpu_memory_usage(void *device, int type, uint64_t *bytes);
int amdsmi_get_gpu_memory_usage(void *device, int type, uint64_t *bytes)
{
    return type == 0 ? answer_u64(device, "vram", 1, bytes) : NOT_SUPPORTED;
}

int amdsmi_get_gpu_activity(void *device, uint32_t words[16]);
int amdsmi_get_gpu_activity(void *device, uint32_t words[16])
{
    unsigned long long value;
    memset(words, 0xff, 3 * sizeof *words);
    for (int i = 0; i < 2; i++)
        if (answer(device, "activity", i, &value))
            words[i] = (uint32_t)value;
    return SUCCESS;
}

int amdsmi_get_temp_metric(void *device, int sensor, int metric, int64_t *celsius);
int amdsmi_get_temp_metric(void *device, int sensor, int metric, int64_t *celsius)
{
    unsigned long long which;
    if (metric != 0 || !answer(device, "temperature", 0, &which) || (int)which != sensor)
        return NOT_SUPPORTED;
    return answer_u64(device, "temperature", 1, (uint64_t *)celsius);
}

int amdsmi_get_clock_info(void *device, int type, uint32_t words[8]);
int amdsmi_get_clock_info(void *device, int type, uint32_t words[8])
{
    const char *text;
    struct fake_list list = fake_list(id(device), "clock");
    while ((text = fake_next(&list))) {
        unsigned long long which, value;
        if (fake_number_of(text, 0, &which) && (int)which == type && fake_number_of(text, 1, &value)) {
            memset(words, 0, 8 * sizeof *words);
            words[0] = (uint32_t)value;
            return SUCCESS;
        }
    }
    return NOT_SUPPORTED;
}

int amdsmi_get_power_info(void *device, unsigned char *info);
int amdsmi_get_power_info(void *device, unsigned char *info)
{
    unsigned long long value;
    uint32_t power[2];
    for (int i = 0; i < 2; i++) {
        if (!answer(device, "power", i, &value))
            return NOT_SUPPORTED;
        power[i] = (uint32_t)value;
    }
    memset(info, 0, version() >= 26 ? 192 : version() >= 25 ? 40 : 64);
    if (version() >= 25)
        memset(info, 0xff, 8);
    memcpy(info + (version() >= 25 ? 8 : 0), power, sizeof power);
    return SUCCESS;
}

int amdsmi_get_energy_count(void *device, uint64_t *count, float *unit, uint64_t *time);
int amdsmi_get_energy_count(void *device, uint64_t *count, float *unit, uint64_t *time)
{
    const char *text = fake_text(id(device), "energy");
    unsigned long long value, milliwatts;
    fake_wait();
    if (!text || sscanf(text, "%llu %f", &value, unit) != 2)
        return NOT_SUPPORTED;
    *count = value;
    if (fake_number_of(text, 2, &milliwatts))
        *count += (uint64_t)((double)milliwatts * 1e3 / (double)*unit * (fake_now() - fake.opened));
    *time = 0;
    return SUCCESS;
}

/* The third word is that of deferred errors, since ROCm 6.3. */
int amdsmi_get_gpu_ecc_count(void *device, uint64_t block, uint64_t *counts);
int amdsmi_get_gpu_ecc_count(void *device, uint64_t block, uint64_t *counts)
{
    memset(counts, 0xff, 8 * sizeof *counts);
    return fake_block(id(device), block, counts) ? SUCCESS : NOT_SUPPORTED;
}

int amdsmi_get_gpu_pci_replay_counter(void *device, uint64_t *count);
int amdsmi_get_gpu_pci_replay_counter(void *device, uint64_t *count)
{
    unsigned long long value;
    if (!answer(device, "replays", 0, &value))
        return NOT_SUPPORTED;
    *count = value;
    return SUCCESS;
}

int amdsmi_get_gpu_process_list(void *device, uint32_t *count, unsigned char *rows);
int amdsmi_get_gpu_process_list(void *device, uint32_t *count, unsigned char *rows)
{
    unsigned long long name = 256, tail = 48;
    uint32_t capacity = *count, found = 0;
    const char *text;
    struct fake_list list = fake_list(id(device), "process");
    fake_number("", "row", 0, &name);
    fake_number("", "row", 1, &tail);
    size_t size = 2 * name + 144 + tail;
    while ((text = fake_next(&list))) {
        unsigned long long word[4] = {0};
        for (int i = 0; i < 4; i++)
            fake_number_of(text, i, &word[i]);
        uint32_t pid = (uint32_t)word[0];
        if (found++ >= capacity)
            continue;
        unsigned char *row = rows + (found - 1) * size;
        memset(row, 0, size);
        memcpy(row, "python", 7);
        memcpy(row + name, &pid, sizeof pid);
        memcpy(row + name + 8, &word[1], 8);
        memcpy(row + name + 16, &word[2], 16);
        memcpy(row + name + 96, &word[1], 8);
    }
    *count = found;
    return found > capacity ? OUT_OF_RESOURCES : SUCCESS;
}
