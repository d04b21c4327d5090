/* ClickHouse's RowBinary: numbers as they lie in memory, texts behind their length, a byte of 1 for NULL.
 * https://clickhouse.com/docs/interfaces/formats/RowBinary */
#ifndef GT_ENGINE_ROW_BINARY_H
#define GT_ENGINE_ROW_BINARY_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"

static inline void gt_row_u8(struct gt_buffer *out, uint8_t value)
{
    gt_buffer_append(out, &value, sizeof value);
}

static inline void gt_row_u16(struct gt_buffer *out, uint16_t value)
{
    gt_buffer_append(out, &value, sizeof value);
}

static inline void gt_row_u32(struct gt_buffer *out, uint32_t value)
{
    gt_buffer_append(out, &value, sizeof value);
}

static inline void gt_row_i32(struct gt_buffer *out, int32_t value)
{
    gt_buffer_append(out, &value, sizeof value);
}

static inline void gt_row_u64(struct gt_buffer *out, uint64_t value)
{
    gt_buffer_append(out, &value, sizeof value);
}

static inline void gt_row_i64(struct gt_buffer *out, int64_t value)
{
    gt_buffer_append(out, &value, sizeof value);
}

static inline void gt_row_double(struct gt_buffer *out, double value)
{
    gt_buffer_append(out, &value, sizeof value);
}

static inline void gt_row_text(struct gt_buffer *out, const char *text)
{
    size_t length = strlen(text);
    for (size_t rest = length;; rest >>= 7) {
        gt_row_u8(out, (uint8_t)((rest & 127) | (rest > 127 ? 128 : 0)));
        if (rest <= 127)
            break;
    }
    gt_buffer_append(out, text, length);
}

/* Returns true where a value follows. */
static inline bool gt_row_has(struct gt_buffer *out, bool has)
{
    gt_row_u8(out, !has);
    return has;
}

/* Nullable(Float64) */
static inline void gt_row_known(struct gt_buffer *out, double value)
{
    if (gt_row_has(out, isfinite(value)))
        gt_row_double(out, value);
}

/* Nullable(Int64), or Nullable(Decimal64) times its scale; what has more than 18 digits is not known. */
static inline void gt_row_scaled(struct gt_buffer *out, double value, double scale)
{
    double scaled = nearbyint(value * scale);
    if (gt_row_has(out, fabs(scaled) < 1e18))
        gt_row_i64(out, (int64_t)scaled);
}

#endif
