#include "collect/host/temperature.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"

static const char directory[] = "sys/class/hwmon";

enum { MOST_DEVICES = 256, MOST_SENSORS = 256 }; /* of a device */

static ssize_t read_text(const struct gt_root *root, int device, const char *file, char *text, size_t size)
{
    char path[96];
    snprintf(path, sizeof path, "%s/hwmon%d/%s", directory, device, file);
    ssize_t length = gt_root_read(root, path, text, size);
    text[length > 0 ? strcspn(text, "\n") : 0] = 0;
    return length;
}

static double read_degrees(const struct gt_root *root, int device, int sensor, const char *what)
{
    char file[32], text[32], *end;
    snprintf(file, sizeof file, "temp%d_%s", sensor, what);
    if (read_text(root, device, file, text, sizeof text) <= 0)
        return NAN;
    double degrees = (double)strtoll(text, &end, 10) / 1000;
    return end == text ? NAN : degrees;
}

/* The numbers in names like "hwmon12" or "temp3_input", in order. */
static size_t list_numbers(const struct gt_root *root, const char *path, const char *format, int *numbers, size_t most)
{
    size_t count = 0;
    int number, length;
    DIR *listing = gt_root_list(root, path);
    if (!listing)
        return 0;
    for (struct dirent *entry; (entry = readdir(listing)) && count < most;) {
        length = -1;
        if (sscanf(entry->d_name, format, &number, &length) == 1 && length == (int)strlen(entry->d_name))
            numbers[count++] = number;
    }
    closedir(listing);
    qsort(numbers, count, sizeof *numbers, gt_order_ints);
    return count;
}

static size_t read_device(const struct gt_root *root, int device, struct gt_temperature *list, size_t most)
{
    char path[64], file[32];
    int sensor[MOST_SENSORS];
    size_t kept = 0;
    snprintf(path, sizeof path, "%s/hwmon%d", directory, device);
    size_t count = list_numbers(root, path, "temp%d_input%n", sensor, MOST_SENSORS);
    for (size_t i = 0; i < count && kept < most; i++) {
        struct gt_temperature *found = &list[kept];
        found->current = read_degrees(root, device, sensor[i], "input");
        if (isnan(found->current) || read_text(root, device, "name", found->chip, sizeof found->chip) <= 0)
            continue;
        snprintf(file, sizeof file, "temp%d_label", sensor[i]);
        read_text(root, device, file, found->label, sizeof found->label);
        found->high = read_degrees(root, device, sensor[i], "max");
        found->critical = read_degrees(root, device, sensor[i], "crit");
        kept++;
    }
    return kept;
}

size_t gt_temperatures_read(const struct gt_root *root, struct gt_temperature *list, size_t most)
{
    int device[MOST_DEVICES];
    size_t kept = 0, count = list_numbers(root, directory, "hwmon%d%n", device, MOST_DEVICES);
    for (size_t i = 0; i < count; i++)
        kept += read_device(root, device[i], list + kept, most - kept);
    return kept;
}
