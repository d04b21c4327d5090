/* A fake of ROCm SMI. The data: see fake.h; GT_FAKE_ROCM_SMI names the file.
 *
 *     flag 1 (frequencies begin with a flag, as since ROCm 6)
 *     name, unique N, bdf DOMAIN BUS DEVICE, vram TOTAL USED, busy N, memory_busy N, temperature SENSOR MILLICELSIUS,
 *     clock TYPE HZ, power MICROWATTS, power_average MICROWATTS, energy COUNT UNIT, process PID BYTES,
 *     errors BLOCK CORRECTED UNCORRECTED (a list), replays N */
#include <stdint.h>

#include "fake.h"

enum { SUCCESS, NOT_SUPPORTED = 2, INIT_ERROR = 8, NOT_FOUND = 9 };

static int answer(uint32_t device, const char *key, int word, uint64_t *ret)
{
    unsigned long long value;
    if (device >= fake.device_count || !fake_number(fake.device[device], key, word, &value))
        return NOT_SUPPORTED;
    *ret = value;
    return SUCCESS;
}

int rsmi_init(uint64_t flags);
int rsmi_init(uint64_t flags)
{
    return flags == 0 && fake_open("GT_FAKE_ROCM_SMI") == 0 ? SUCCESS : INIT_ERROR;
}

int rsmi_shut_down(void);
int rsmi_shut_down(void)
{
    fake_close();
    return SUCCESS;
}

int rsmi_num_monitor_devices(uint32_t *count);
int rsmi_num_monitor_devices(uint32_t *count)
{
    *count = (uint32_t)fake.device_count;
    return SUCCESS;
}

int rsmi_dev_name_get(uint32_t device, char *text, size_t size);
int rsmi_dev_name_get(uint32_t device, char *text, size_t size)
{
    const char *name = fake_text(fake.device[device], "name");
    if (!name)
        return NOT_SUPPORTED;
    snprintf(text, size, "%s", name);
    return SUCCESS;
}

int rsmi_dev_unique_id_get(uint32_t device, uint64_t *unique);
int rsmi_dev_unique_id_get(uint32_t device, uint64_t *unique)
{
    return answer(device, "unique", 0, unique);
}

int rsmi_dev_pci_id_get(uint32_t device, uint64_t *bdf);
int rsmi_dev_pci_id_get(uint32_t device, uint64_t *bdf)
{
    uint64_t word[3];
    for (int i = 0; i < 3; i++)
        if (answer(device, "bdf", i, &word[i]))
            return NOT_SUPPORTED;
    *bdf = word[0] << 32 | word[1] << 8 | word[2] << 3;
    return SUCCESS;
}

int rsmi_dev_memory_total_get(uint32_t device, int type, uint64_t *bytes);
int rsmi_dev_memory_total_get(uint32_t device, int type, uint64_t *bytes)
{
    return type == 0 ? answer(device, "vram", 0, bytes) : NOT_SUPPORTED;
}

int rsmi_dev_memory_usage_get(uint32_t device, int type, uint64_t *bytes);
int rsmi_dev_memory_usage_get(uint32_t device, int type, uint64_t *bytes)
{
    return type == 0 ? answer(device, "vram", 1, bytes) : NOT_SUPPORTED;
}

static int answer_u32(uint32_t device, const char *key, uint32_t *ret)
{
    uint64_t value;
    if (answer(device, key, 0, &value))
        return NOT_SUPPORTED;
    *ret = (uint32_t)value;
    return SUCCESS;
}

int rsmi_dev_busy_percent_get(uint32_t device, uint32_t *percent);
int rsmi_dev_busy_percent_get(uint32_t device, uint32_t *percent)
{
    return answer_u32(device, "busy", percent);
}

int rsmi_dev_memory_busy_percent_get(uint32_t device, uint32_t *percent);
int rsmi_dev_memory_busy_percent_get(uint32_t device, uint32_t *percent)
{
    return answer_u32(device, "memory_busy", percent);
}

int rsmi_dev_temp_metric_get(uint32_t device, uint32_t sensor, int metric, int64_t *value);
int rsmi_dev_temp_metric_get(uint32_t device, uint32_t sensor, int metric, int64_t *value)
{
    uint64_t which;
    if (metric != 0 || answer(device, "temperature", 0, &which) || which != sensor)
        return NOT_SUPPORTED;
    return answer(device, "temperature", 1, (uint64_t *)value);
}

/* Two frequencies, the second one current. */
int rsmi_dev_gpu_clk_freq_get(uint32_t device, int type, unsigned char *list);
int rsmi_dev_gpu_clk_freq_get(uint32_t device, int type, unsigned char *list)
{
    const uint32_t count = 2, current = 1;
    const uint64_t slow = 500000000;
    uint64_t which, hertz;
    unsigned long long flag = 0;
    if (answer(device, "clock", 0, &which) || (int)which != type || answer(device, "clock", 1, &hertz))
        return NOT_SUPPORTED;
    fake_number("", "flag", 0, &flag);
    if (flag)
        list[0] = 0;
    memcpy(list + (flag ? 4 : 0), &count, sizeof count);
    memcpy(list + (flag ? 8 : 4), &current, sizeof current);
    memcpy(list + (flag ? 16 : 8), &slow, sizeof slow);
    memcpy(list + (flag ? 24 : 16), &hertz, sizeof hertz);
    return SUCCESS;
}

int rsmi_dev_power_get(uint32_t device, uint64_t *microwatts, int *type);
int rsmi_dev_power_get(uint32_t device, uint64_t *microwatts, int *type)
{
    *type = 1;
    return answer(device, "power", 0, microwatts);
}

int rsmi_dev_power_ave_get(uint32_t device, uint32_t sensor, uint64_t *microwatts);
int rsmi_dev_power_ave_get(uint32_t device, uint32_t sensor, uint64_t *microwatts)
{
    return sensor == 0 ? answer(device, "power_average", 0, microwatts) : NOT_SUPPORTED;
}

int rsmi_dev_energy_count_get(uint32_t device, uint64_t *count, float *unit, uint64_t *time);
int rsmi_dev_energy_count_get(uint32_t device, uint64_t *count, float *unit, uint64_t *time)
{
    const char *text = fake_text(fake.device[device], "energy");
    unsigned long long value;
    if (!text || sscanf(text, "%llu %f", &value, unit) != 2)
        return NOT_SUPPORTED;
    *count = value;
    *time = 0;
    return SUCCESS;
}

int rsmi_dev_ecc_count_get(uint32_t device, uint64_t block, uint64_t *counts);
int rsmi_dev_ecc_count_get(uint32_t device, uint64_t block, uint64_t *counts)
{
    if (device >= fake.device_count)
        return NOT_SUPPORTED;
    return fake_block(fake.device[device], block, counts) ? SUCCESS : NOT_SUPPORTED;
}

int rsmi_dev_pci_replay_counter_get(uint32_t device, uint64_t *count);
int rsmi_dev_pci_replay_counter_get(uint32_t device, uint64_t *count)
{
    return answer(device, "replays", 0, count);
}

int rsmi_compute_process_info_by_device_get(uint32_t pid, uint32_t device, unsigned char *row);
int rsmi_compute_process_info_by_device_get(uint32_t pid, uint32_t device, unsigned char *row)
{
    const char *text;
    struct fake_list list = fake_list(fake.device[device], "process");
    while ((text = fake_next(&list))) {
        unsigned long long number = 0, bytes = 0;
        fake_number_of(text, 0, &number);
        fake_number_of(text, 1, &bytes);
        if (number != pid)
            continue;
        memset(row, 0, 32);
        memcpy(row, &pid, sizeof pid);
        memcpy(row + 8, &bytes, 8);
        return SUCCESS;
    }
    return NOT_FOUND;
}
