#include "collect/energy/energy_relay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

const enum gt_metric_id gt_relay_metrics[GT_RELAY_FIGURES] = {GT_CPU_ENERGY, GT_CORE_ENERGY, GT_UNCORE_ENERGY,
                                                              GT_DRAM_ENERGY, GT_PLATFORM_ENERGY};

size_t gt_relay_write(char text[GT_RELAY_MESSAGE], const struct gt_relay_answer *answer)
{
    char period[GT_NUMBER_SIZE], quantum[GT_NUMBER_SIZE];
    gt_number_repr(period, answer->period);
    gt_number_repr(quantum, answer->quantum);
    int length = snprintf(text, GT_RELAY_MESSAGE, "energy 1 %" PRIu64 " %s %s", answer->instance, period, quantum);
    for (int k = 0; k < GT_RELAY_FIGURES; k++)
        if (answer->has[k])
            length += snprintf(text + length, GT_RELAY_MESSAGE - (size_t)length, " %s=%" PRIu64,
                               gt_metrics[gt_relay_metrics[k]].name, answer->count[k]);
    length += snprintf(text + length, GT_RELAY_MESSAGE - (size_t)length, "\n");
    return (size_t)length;
}

/* Digits alone, no sign, no blank. */
static bool read_count(const char *text, uint64_t *ret)
{
    size_t digits = strspn(text, "0123456789");
    if (!digits || text[digits] || digits > 20)
        return false;
    errno = 0;
    *ret = strtoull(text, NULL, 10);
    return errno == 0;
}

static bool read_positive(const char *text, double most, double *ret)
{
    return text && gt_number_double(text, ret) == 0 && *ret > 0 && *ret <= most;
}

/* "cpu_energy=123": false when the number is none. */
static bool read_figure(char *word, struct gt_relay_answer *answer)
{
    char *number = strchr(word, '=');
    uint64_t count;
    if (!number)
        return false;
    *number++ = 0;
    if (!read_count(number, &count))
        return false;
    for (int k = 0; k < GT_RELAY_FIGURES; k++)
        if (!strcmp(word, gt_metrics[gt_relay_metrics[k]].name)) {
            if (answer->has[k])
                return false;
            answer->has[k] = true;
            answer->count[k] = count;
        }
    return true;
}

static int parse_words(char *text, struct gt_relay_answer *answer)
{
    char *rest = text, *word = strsep(&rest, " "), *version = strsep(&rest, " ");
    if (!version || strcmp(word, "energy"))
        return -EINVAL;
    if (strcmp(version, "1"))
        return -EPROTONOSUPPORT;
    char *instance = strsep(&rest, " "), *period = strsep(&rest, " "), *quantum = strsep(&rest, " ");
    if (!instance || !read_count(instance, &answer->instance) || !read_positive(period, 3600, &answer->period) ||
        !read_positive(quantum, 1e6, &answer->quantum))
        return -EINVAL;
    while ((word = strsep(&rest, " ")))
        if (!read_figure(word, answer))
            return -EINVAL;
    return 0;
}

int gt_relay_parse(const char *text, size_t length, struct gt_relay_answer *ret)
{
    char copy[GT_RELAY_MESSAGE];
    struct gt_relay_answer answer = {0};
    if (!length || length >= sizeof copy || text[length - 1] != '\n' || memchr(text, 0, length) ||
        memchr(text, '\n', length - 1))
        return -EINVAL;
    memcpy(copy, text, length - 1);
    copy[length - 1] = 0;
    int status = parse_words(copy, &answer);
    if (status == 0)
        *ret = answer;
    return status;
}
