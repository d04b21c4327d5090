/* The HTML format draws series as SVG pictures. The classes that the pictures use are in its style sheet, page.css. */
#ifndef GT_REPORT_PAGE_CHART_H
#define GT_REPORT_PAGE_CHART_H

#include "report/report.h"

enum { GT_CHART_COLOURS = 6 };

/* The picture's coordinates: the plot with room for the numbers and labels of the axes around it. */
enum {
    GT_CHART_WIDTH = 760,
    GT_CHART_HEIGHT = 276,
    GT_CHART_LEFT = 64,
    GT_CHART_RIGHT = 12,
    GT_CHART_TOP = 10,
    GT_CHART_BOTTOM = 46
};

struct gt_chart_range {
    double least, most;
};

/* What the x axis shows, and the size of a chart of lines. */
struct gt_chart_frame {
    struct gt_chart_range x;
    int width, height;
};

/* One unit of an axis, in the unit of its series. */
struct gt_chart_unit {
    double size;
    const char *name; /* "min", "GB", "cores" */
};

/* Widens `range`, which begins as {INFINITY, -INFINITY}, to all that a series has on the x axis. */
void gt_chart_widen(struct gt_chart_range *range, const struct gt_node *series);
/* Appends the picture with its caption and legend. `id` is unique in the page; `x`: what the axis shows. */
void gt_chart_write(struct gt_buffer *out, const struct gt_node *series, int id, struct gt_chart_range x);
bool gt_chart_has_rows(const struct gt_node *series); /* strips or lanes, without a y axis that names them */
/* Appends the title, with the unit of rows, which have no axis for it. */
void gt_chart_title(struct gt_buffer *out, const struct gt_node *series);
/* Appends what is inside the picture alone, and tells how high it is. */
void gt_chart_shapes(struct gt_buffer *out, const struct gt_node *series, const struct gt_chart_frame *frame);
int gt_chart_height(const struct gt_node *series, const struct gt_chart_frame *frame);
/* Appends at most so many letters of a name, escaped, with an ellipsis where there are more. */
void gt_chart_cut(struct gt_buffer *out, const char *name, size_t letters);
/* Appends `text` with HTML's special characters escaped, as attribute values in double quotes need it, too. */
void gt_html_escape(struct gt_buffer *out, const char *text);
/* Appends markup with escaped texts (%s) and numbers without zeros at their end (%.1f). It also knows %d, %zu, %.*f and %%. */
void gt_html(struct gt_buffer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For both kinds of picture. */
void gt_chart_number(struct gt_buffer *out, double value, int decimals);
/* A step of 1, 2 or 5 times a power of ten that gives at most `count` ticks, and the decimals that tell them. */
double gt_chart_tick_step(struct gt_chart_range range, int count);
int gt_chart_tick_decimals(double step);

#endif
