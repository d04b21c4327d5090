/* A forest plot: for each line, whose three points are the low end, the middle and the high end, a dot and its interval against nought. */
#include <math.h>

#include "report/page/chart.h"

enum { LETTERS = 34, WHOLE = 100, STEPS = 5, LABEL = 80 };

/* Beside its name, or on a phone below it. */
static const struct shape {
    int width, row, left, name, dot; /* the last two: how far below the begin of the row */
} wide = {GT_CHART_WIDTH, 26, 250, 17, 13}, narrow = {480, 46, 30, 16, 30};

struct forest {
    struct gt_buffer *out;
    const struct shape *shape;
    const struct gt_node *series;
    double least, most; /* of the axis */
    double step;        /* between its marks */
};

static double place(const struct forest *forest, double x)
{
    double left = forest->shape->left, width = forest->shape->width - GT_CHART_RIGHT - left;
    double share = (x - forest->least) / (forest->most - forest->least);
    return left + fmin(fmax(share, 0), 1) * width;
}

/* Wide intervals end at the border: what is known better is to be seen. */
static double most_of(const struct gt_node *series)
{
    double most = 1;
    for (size_t line = 0; line < series->series.lines; line++) {
        const struct gt_series_line *of = &series->series.line[line];
        if (of->points == 3 && isfinite(of->point[1].x))
            most = fmax(most, fabs(of->point[1].x) * 1.5);
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
    bool is_narrow = forest->shape == &narrow;
    gt_buffer_printf(forest->out, "<text class=\"in\" text-anchor=\"%s\" x=\"%d\" y=\"%d\">",
                     is_narrow ? "start" : "end", is_narrow ? 0 : forest->shape->left - 10,
                     (int)row * forest->shape->row + forest->shape->name);
    gt_chart_cut(forest->out, name, LETTERS);
    gt_buffer_text(forest->out, "</text>\n");
}

static void put_interval(const struct forest *forest, const struct gt_point *point, size_t row, size_t colour)
{
    double y = (int)row * forest->shape->row + forest->shape->dot;
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
        bool is_at_border = x > forest->shape->width - LABEL / 2;
        gt_buffer_text(forest->out, i == 0 ? "<path class=\"limit\" d=\"M" : "<path class=\"grid\" d=\"M");
        gt_chart_number(forest->out, x, 1);
        gt_buffer_printf(forest->out, " 0V%d\"/><text text-anchor=\"%s\" y=\"%d\" x=\"", height - GT_CHART_BOTTOM,
                         is_at_border ? "end" : "middle", height - GT_CHART_BOTTOM + 18);
        gt_chart_number(forest->out, is_at_border ? forest->shape->width : x, 1);
        gt_buffer_text(forest->out, i > 0 ? "\">+" : "\">");
        gt_chart_number(forest->out, i * forest->step, forest->step < 1 ? 1 : 0);
        gt_buffer_text(forest->out, " %</text>\n");
    }
}

int gt_chart_forest_width(bool is_narrow)
{
    return is_narrow ? narrow.width : wide.width;
}

int gt_chart_forest_height(const struct gt_node *series, bool is_narrow)
{
    return (int)series->series.lines * (is_narrow ? narrow.row : wide.row) + GT_CHART_BOTTOM;
}

/* A value of y above 0 marks a line whose change is certain. */
void gt_chart_forest(struct gt_buffer *out, const struct gt_node *series, bool is_narrow)
{
    struct forest forest = {.out = out, .shape = is_narrow ? &narrow : &wide, .series = series};
    find_axis(&forest);
    put_axis(&forest, gt_chart_forest_height(series, is_narrow));
    for (size_t line = 0; line < series->series.lines; line++) {
        const struct gt_series_line *of = &series->series.line[line];
        if (of->points != 3)
            continue;
        put_name(&forest, of->title, line);
        put_interval(&forest, of->point, line, of->point[1].y > 0 ? 1 : 0);
    }
}
