#include "base/buffer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum { FIRST = 256 };

int gt_buffer_reserve(struct gt_buffer *buffer, size_t more)
{
    if (buffer->failed)
        return buffer->failed;
    size_t needed = buffer->length + more + 1;
    if (needed < more || (buffer->ceiling && needed > buffer->ceiling + 1))
        return buffer->failed = -EFBIG;
    if (needed <= buffer->capacity)
        return 0;
    return buffer->failed = GT_GROW_TO(buffer->data, buffer->capacity, needed < FIRST ? FIRST : needed);
}

int gt_buffer_append(struct gt_buffer *buffer, const void *bytes, size_t length)
{
    int status = gt_buffer_reserve(buffer, length);
    if (status < 0)
        return status;
    if (length)
        memcpy(buffer->data + buffer->length, bytes, length);
    buffer->length += length;
    buffer->data[buffer->length] = '\0';
    return 0;
}

int gt_buffer_text(struct gt_buffer *buffer, const char *text)
{
    return gt_buffer_append(buffer, text, strlen(text));
}

int gt_buffer_char(struct gt_buffer *buffer, char c)
{
    return gt_buffer_append(buffer, &c, 1);
}

int gt_buffer_fill(struct gt_buffer *buffer, char c, size_t count)
{
    int status = gt_buffer_reserve(buffer, count);
    if (status < 0)
        return status;
    char *end = buffer->data + buffer->length;
    memset(end, c, count);
    end[count] = '\0';
    buffer->length += count;
    return 0;
}

int gt_buffer_printf(struct gt_buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        return buffer->failed = -EINVAL;
    int status = gt_buffer_reserve(buffer, (size_t)length);
    if (status < 0)
        return status;
    va_start(arguments, format);
    vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    buffer->length += (size_t)length;
    return 0;
}

void gt_buffer_clear(struct gt_buffer *buffer)
{
    buffer->length = 0;
    buffer->failed = 0;
    if (buffer->data)
        buffer->data[0] = '\0';
}

void gt_buffer_release(struct gt_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct gt_buffer){.ceiling = buffer->ceiling};
}

int gt_buffer_give(struct gt_buffer *buffer, int status, char **ret, size_t *length)
{
    if (status < 0) {
        gt_buffer_release(buffer);
        return status;
    }
    *ret = buffer->data;
    if (length)
        *length = buffer->length;
    return status;
}

size_t gt_buffer_absent(struct gt_buffer *buffer, const bool *is_there, size_t count)
{
    size_t absent = 0, begin = buffer->length;
    for (size_t i = 0; i < count; i++) {
        size_t first = i;
        while (i < count && !is_there[i])
            i++;
        if (i == first)
            continue;
        gt_buffer_printf(buffer, i - first > 1 ? "%s%zu-%zu" : "%s%zu", buffer->length > begin ? ", " : "", first,
                         i - 1);
        absent += i - first;
    }
    return absent;
}

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
