#include "report/page/base64.h"

#include <stdint.h>

static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put_group(char ret[4], const uint8_t *bytes, size_t count)
{
    uint32_t bits = (uint32_t)bytes[0] << 16;
    if (count > 1)
        bits |= (uint32_t)bytes[1] << 8;
    if (count > 2)
        bits |= bytes[2];
    for (size_t i = 0; i < 4; i++)
        ret[i] = i <= count ? DIGITS[bits >> (18 - 6 * i) & 63] : '=';
}

void gt_base64_append(struct gt_buffer *out, const void *bytes, size_t length)
{
    const uint8_t *from = bytes;
    char group[4];
    if (gt_buffer_reserve(out, (length + 2) / 3 * 4) < 0)
        return;
    gt_buffer_text(out, ""); /* nothing is a string, too */
    for (size_t i = 0; i < length; i += 3) {
        put_group(group, from + i, length - i < 3 ? length - i : 3);
        gt_buffer_append(out, group, sizeof group);
    }
}
