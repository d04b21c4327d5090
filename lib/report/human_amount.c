#include "report/human_amount.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "schema/human.h"
#include "schema/unit.h"

/* Times below a minute have three digits, for tables compare them. */
static char *write_time(char text[GT_HUMAN_SIZE], double seconds)
{
    static const struct {
        double size;
        const char *name;
    } steps[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    enum { STEPS = sizeof steps / sizeof *steps };
    if (seconds >= 59.5)
        return gt_human_seconds(text, seconds);
    size_t at = 0;
    while (seconds && at + 1 < STEPS && seconds < steps[at].size * 0.9995)
        at++;
    char digits[GT_HUMAN_SIZE];
    snprintf(text, GT_HUMAN_SIZE, "%.20s %s", gt_human_number(digits, seconds / steps[at].size), steps[at].name);
    return text;
}

/* Returns NULL for a unit of another kind. */
static const char *write_size(char text[GT_HUMAN_SIZE], double size, const char *unit)
{
    double factor;
    if (gt_unit_memory(unit, &factor, NULL) >= 0)
        return gt_human_bytes(text, size * factor);
    if (gt_unit_time(unit, &factor, NULL) >= 0)
        return write_time(text, size * factor);
    if (!strcmp(unit, "bytes/s"))
        return strcat(gt_human_bytes(text, size), "/s");
    if (!strcmp(unit, "joules"))
        return gt_human_energy(text, size);
    if (!strcmp(unit, "watts"))
        return gt_human_power(text, size);
    return strcmp(unit, "grams") != 0 ? NULL : gt_human_mass(text, size);
}

bool gt_human_amount(struct gt_buffer *out, double value, const char *unit)
{
    char text[GT_HUMAN_SIZE];
    if (!unit || !isfinite(value) || !write_size(text, fabs(value), unit))
        return false;
    gt_buffer_text(out, value < 0 ? "-" : "");
    gt_buffer_text(out, text);
    return true;
}

void gt_human_amount_title(struct gt_buffer *out, const char *title, const char *unit)
{
    const char *bracket = strrchr(title, '(');
    size_t length = strlen(unit);
    bool has_unit = bracket && bracket > title && length && !strncmp(bracket + 1, unit, length);
    const char *end = has_unit ? bracket + 1 + length : "";
    if (!strcmp(end, ")")) {
        gt_buffer_append(out, title, (size_t)(bracket - 1 - title));
    } else if (!strncmp(end, ", ", 2)) {
        gt_buffer_append(out, title, (size_t)(bracket + 1 - title));
        gt_buffer_text(out, end + 2);
    } else {
        gt_buffer_text(out, title);
    }
}
