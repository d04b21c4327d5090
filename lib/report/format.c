#include "report/format.h"

#include <errno.h>
#include <string.h>

#define FORMAT(name) extern const struct gt_format gt_format_##name;
#include "report/format.def"
#undef FORMAT

const struct gt_format *const gt_formats[] = {
#define FORMAT(name) &gt_format_##name,
#include "report/format.def"
#undef FORMAT
};
const size_t gt_format_count = sizeof gt_formats / sizeof *gt_formats;

const struct gt_format *gt_format_find(const char *name)
{
    for (size_t i = 0; i < gt_format_count; i++)
        if (!strcmp(gt_formats[i]->name, name))
            return gt_formats[i];
    return NULL;
}

static int unknown_format(const char *name, struct gt_error *error)
{
    struct gt_buffer choices = {0};
    for (size_t i = 0; i < gt_format_count; i++) {
        gt_buffer_text(&choices, i == 0 ? "" : i + 1 == gt_format_count ? " or " : ", ");
        gt_buffer_text(&choices, gt_formats[i]->name);
    }
    int status = gt_error_set(error, EINVAL, "\"%s\" is not an output format; choose %s", name,
                              choices.data ? choices.data : "");
    gt_buffer_release(&choices);
    return status;
}

int gt_report_write(const struct gt_report *report, const char *name, struct gt_buffer *out, struct gt_error *error)
{
    const struct gt_format *format = gt_format_find(name);
    if (!format)
        return unknown_format(name, error);
    if (gt_report_failed(report))
        return gt_error_system(error, ENOMEM, "report %s", report->type);
    int status = format->write(report, out, error);
    if (status < 0)
        return status;
    if (out->failed)
        return gt_error_system(error, -out->failed, "report %s", report->type);
    return 0;
}
