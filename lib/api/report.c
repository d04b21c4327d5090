#include <errno.h>

#include "base/utf8.h"
#include "report/brief.h"
#include "report/format.h"
#include "report/picture.h"

char *gt_text_show(const char *text)
{
    struct gt_buffer out = {0};
    gt_buffer_text(&out, "");
    if (gt_utf8_show(&out, text) < 0) {
        gt_buffer_release(&out);
        return NULL;
    }
    return out.data;
}

int gt_report_note(struct gt_report *report, const char *title, const char *text)
{
    struct gt_node *brief = (struct gt_node *)gt_brief_of(gt_report_root(report));
    if (!brief)
        return 0;
    gt_brief_line(brief, &(struct gt_brief_line){.title = title, .words = text});
    return gt_report_failed(report) ? gt_error_system(NULL, ENOMEM, "summary") : 1;
}

int gt_format_info(size_t index, const char **name, const char **suffix, const char **help)
{
    if (index >= gt_format_count)
        return -ENOENT;
    *name = gt_formats[index]->name;
    *suffix = gt_formats[index]->suffix;
    *help = gt_formats[index]->help;
    return 0;
}

int gt_report_render(const struct gt_report *report, const char *format, char **ret, size_t *length,
                     struct gt_error *error)
{
    struct gt_buffer text = {0};
    int status = gt_report_write(report, format, &text, error);
    if (status < 0) {
        gt_buffer_release(&text);
        return status;
    }
    *ret = text.data;
    *length = text.length;
    return 0;
}

int gt_report_picture(const struct gt_report *report, const char *charts, const char *kind, char **ret, size_t *length,
                      struct gt_error *error)
{
    struct gt_buffer picture = {0};
    int status = gt_picture_write(report, charts, kind, &picture, error);
    if (status < 0) {
        gt_buffer_release(&picture);
        return status;
    }
    *ret = picture.data;
    *length = picture.length;
    return 0;
}
