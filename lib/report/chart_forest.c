/* A forest plot: for each line, whose three points are the low end, the middle and the high end, a dot and its interval against nought. */
#include <math.h>

#include "report/chart.h"

enum { ROW = 26, NAMES = 250, LETTERS = 34, WHOLE = 100, STEPS = 5, LABEL = 80 };

struct forest {
    struct gt_buffer *out;
    const struct gt_node *series;
    double least, most; /* of the axis */
    double step;        /* between its marks */
};

static double place(const struct forest *forest, double x)
{
    double left = NAMES, width = GT_CHART_WIDTH - GT_CHART_RIGHT - NAMES;
    double share = (x - forest->least) / (forest->most - forest->least);
    return left + fmin(fmax(share, 0), 1) * width;
}

/* Wide intervals end at the border: what is known better is to be seen. */
static double most_of(const struct gt_node *series)
{
    double most = 1;
    for (size_t line = 0; line < gt_series_lines(series); line++) {
        const struct gt_point *point;
        if (gt_series_points(series, line, &point) == 3 && isfinite(point[1].x))
            most = fmax(most, fabs(point[1].x) * 1.5);
    }
    return most;
}

/* Round steps; nothing falls by more than all of it. */
static void find_axis(struct forest *forest)
{
    double most = most_of(forest->series), least = fmax(-most, -WHOLE);
    double rough = (most - least) / STEPS, power = pow(10, floor(log10(rough))), lead = rough / power;
    forest->step = power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
    forest->most = ceil(most / forest->step - 1e-9) * forest->step;
    forest->least = fmax(-forest->most, -WHOLE);
}

static void put_name(const struct forest *forest, const char *name, size_t row)
{
    gt_buffer_printf(forest->out, "<text class=\"in\" text-anchor=\"end\" x=\"%d\" y=\"%zu\">", NAMES - 10,
                     row * ROW + ROW / 2 + 4);
    gt_chart_cut(forest->out, name, LETTERS);
    gt_buffer_text(forest->out, "</text>\n");
}

static void put_interval(const struct forest *forest, const struct gt_point *point, size_t row, size_t colour)
{
    double y = (double)(row * ROW) + ROW / 2;
    if (isfinite(point[0].x) && isfinite(point[2].x)) {
        gt_buffer_printf(forest->out, "<path class=\"interval%zu\" d=\"M", colour);
        gt_chart_number(forest->out, place(forest, point[0].x), 1);
        gt_buffer_printf(forest->out, " %gH", y);
        gt_chart_number(forest->out, place(forest, point[2].x), 1);
        gt_buffer_text(forest->out, "\"/>\n");
    }
    gt_buffer_printf(forest->out, "<circle class=\"fill%zu\" r=\"4\" cy=\"%g\" cx=\"", colour, y);
    gt_chart_number(forest->out, place(forest, point[1].x), 1);
    gt_buffer_text(forest->out, "\"><title>");
    gt_chart_number(forest->out, point[1].x, 2);
    gt_buffer_text(forest->out, " %</title></circle>\n");
}

static void put_axis(const struct forest *forest, int height)
{
    int first = (int)ceil(forest->least / forest->step - 1e-9), last = (int)lround(forest->most / forest->step);
    for (int i = first; i <= last; i++) {
        double x = place(forest, i * forest->step);
        bool is_at_border = x > GT_CHART_WIDTH - LABEL / 2;
        gt_buffer_text(forest->out, i == 0 ? "<path class=\"limit\" d=\"M" : "<path class=\"grid\" d=\"M");
        gt_chart_number(forest->out, x, 1);
        gt_buffer_printf(forest->out, " 0V%d\"/><text text-anchor=\"%s\" y=\"%d\" x=\"", height - GT_CHART_BOTTOM,
                         is_at_border ? "end" : "middle", height - GT_CHART_BOTTOM + 18);
        gt_chart_number(forest->out, is_at_border ? GT_CHART_WIDTH : x, 1);
        gt_buffer_text(forest->out, i > 0 ? "\">+" : "\">");
        gt_chart_number(forest->out, i * forest->step, forest->step < 1 ? 1 : 0);
        gt_buffer_text(forest->out, " %</text>\n");
    }
}

int gt_chart_forest_height(const struct gt_node *series)
{
    return (int)gt_series_lines(series) * ROW + GT_CHART_BOTTOM;
}

/* A value of y above 0 marks a line whose change is certain. */
void gt_chart_forest(struct gt_buffer *out, const struct gt_node *series)
{
    struct forest forest = {.out = out, .series = series};
    find_axis(&forest);
    put_axis(&forest, gt_chart_forest_height(series));
    for (size_t line = 0; line < gt_series_lines(series); line++) {
        const struct gt_point *point;
        if (gt_series_points(series, line, &point) != 3)
            continue;
        put_name(&forest, gt_series_line_title(series, line), line);
        put_interval(&forest, point, line, point[1].y > 0 ? 1 : 0);
    }
}
