#include "report/page/chart.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "schema/human.h"
#include "schema/unit.h"

enum {
    WIDTH = GT_CHART_WIDTH,
    HEIGHT = GT_CHART_HEIGHT,
    LEFT = GT_CHART_LEFT,
    RIGHT = GT_CHART_RIGHT,
    TOP = GT_CHART_TOP,
    BOTTOM = GT_CHART_BOTTOM,
    BANDS_DRAWN = 500,
    NAMES_SHOWN = 12
};

struct chart {
    struct gt_buffer *out;
    const struct gt_node *series;
    struct gt_chart_range x, y;
    const struct gt_band *band;
    size_t bands, names;
    size_t name[BANDS_DRAWN]; /* number of each band's name */
};

void gt_html_escape(struct gt_buffer *out, const char *text)
{
    char piece[GT_UTF8_SHOWN];
    while (*text) {
        size_t length = gt_utf8_show_next(&text, piece);
        switch (*piece) {
        case '&': gt_buffer_text(out, "&amp;"); break;
        case '<': gt_buffer_text(out, "&lt;"); break;
        case '>': gt_buffer_text(out, "&gt;"); break;
        case '"': gt_buffer_text(out, "&quot;"); break;
        default: gt_buffer_append(out, piece, length);
        }
    }
}

void gt_chart_number(struct gt_buffer *out, double value, int decimals)
{
    char text[GT_NUMBER_SIZE];
    size_t length = gt_number_rounded(text, value, decimals);
    if (length > 2 && !strcmp(text + length - 2, ".0"))
        length -= 2;
    gt_buffer_append(out, text, length);
}

static void widen(struct gt_chart_range *range, double value)
{
    if (!isfinite(value))
        return;
    range->least = fmin(range->least, value);
    range->most = fmax(range->most, value);
}

void gt_chart_widen(struct gt_chart_range *range, const struct gt_node *node)
{
    const struct gt_series *series = &node->series;
    for (const struct gt_series_line *line = series->line; line < series->line + series->lines; line++) {
        for (size_t i = 0; i < line->points; i++)
            widen(range, line->point[i].x);
        if (line->course) {
            widen(range, 0);
            widen(range, line->course->last);
        }
    }
    for (size_t i = 0; i < series->bands; i++) {
        widen(range, series->band[i].from);
        widen(range, series->band[i].to);
    }
}

/* The y axis begins at zero, so that heights can be compared. A limit that is far above is left out. */
static void find_ranges(struct chart *chart, struct gt_chart_range x)
{
    struct gt_mark limit = chart->series->series.limit;
    chart->x = x;
    chart->y = (struct gt_chart_range){0, -INFINITY};
    for (size_t line = 0; line < chart->series->series.lines; line++) {
        const struct gt_series_line *of = &chart->series->series.line[line];
        for (size_t i = 0; i < of->points; i++)
            widen(&chart->y, of->point[i].y);
    }
    if (limit.title && limit.value <= chart->y.most * 2.5)
        widen(&chart->y, limit.value);
    if (!(chart->x.most > chart->x.least))
        chart->x = (struct gt_chart_range){isfinite(chart->x.least) ? chart->x.least : 0,
                                           isfinite(chart->x.least) ? chart->x.least + 1 : 1};
    if (!(chart->y.most > chart->y.least))
        chart->y.most = chart->y.least + 1;
}

double gt_chart_place(struct gt_chart_range range, double x)
{
    double share = (x - range.least) / (range.most - range.least);
    return LEFT + fmin(fmax(share, 0), 1) * (WIDTH - LEFT - RIGHT);
}

static double x_place(const struct chart *chart, double x)
{
    return gt_chart_place(chart->x, x);
}

static double y_place(const struct chart *chart, double y)
{
    return HEIGHT - BOTTOM - (y - chart->y.least) / (chart->y.most - chart->y.least) * (HEIGHT - TOP - BOTTOM);
}

double gt_chart_tick_step(struct gt_chart_range range, int count)
{
    double rough = (range.most - range.least) / count;
    double power = pow(10, floor(log10(rough)));
    double lead = rough / power;
    return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}

int gt_chart_tick_decimals(double step)
{
    return step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);
}

static void put_point(struct gt_buffer *out, double x, double y)
{
    gt_chart_number(out, x, 1);
    gt_buffer_char(out, ' ');
    gt_chart_number(out, y, 1);
}

void gt_chart_x_axis(struct gt_buffer *out, struct gt_chart_range x, int height)
{
    double step = gt_chart_tick_step(x, 8);
    for (double at = ceil(x.least / step) * step; at <= x.most + step * 1e-6; at += step) {
        gt_buffer_text(out, "<text text-anchor=\"middle\" x=\"");
        gt_chart_number(out, gt_chart_place(x, at), 1);
        gt_buffer_printf(out, "\" y=\"%d\">", height - BOTTOM + 18);
        gt_chart_number(out, at, gt_chart_tick_decimals(step));
        gt_buffer_text(out, "</text>\n");
    }
}

static void put_y_axis(const struct chart *chart)
{
    double step = gt_chart_tick_step(chart->y, 5);
    for (double y = ceil(chart->y.least / step) * step; y <= chart->y.most + step * 1e-6; y += step) {
        double place = y_place(chart, y);
        gt_buffer_text(chart->out, "<path class=\"grid\" d=\"M");
        put_point(chart->out, LEFT, place);
        gt_buffer_printf(chart->out, "H%d\"/><text text-anchor=\"end\" x=\"%d\" y=\"", WIDTH - RIGHT, LEFT - 6);
        gt_chart_number(chart->out, place + 4, 1);
        gt_buffer_text(chart->out, "\">");
        gt_chart_number(chart->out, y, gt_chart_tick_decimals(step));
        gt_buffer_text(chart->out, "</text>\n");
    }
}

/* Bands with the same name have the same colour: names are numbered as they come. */
static void number_bands(struct chart *chart)
{
    chart->band = chart->series->series.band;
    chart->bands = chart->series->series.bands < BANDS_DRAWN ? chart->series->series.bands : BANDS_DRAWN;
    for (size_t i = 0; i < chart->bands; i++) {
        chart->name[i] = chart->names;
        for (size_t k = 0; k < i; k++)
            if (!strcmp(chart->band[k].title, chart->band[i].title)) {
                chart->name[i] = chart->name[k];
                break;
            }
        chart->names += chart->name[i] == chart->names;
    }
}

static void put_bands(const struct chart *chart)
{
    const struct gt_band *band = chart->band;
    for (size_t i = 0; i < chart->bands; i++) {
        double from = x_place(chart, band[i].from), to = x_place(chart, band[i].to);
        gt_buffer_printf(chart->out, "<rect class=\"fill%zu\" x=\"", chart->name[i] % GT_CHART_COLOURS);
        gt_chart_number(chart->out, from, 1);
        gt_buffer_printf(chart->out, "\" y=\"%d\" height=\"%d\" width=\"", TOP, HEIGHT - TOP - BOTTOM);
        gt_chart_number(chart->out, fmax(to - from, 0.5), 1);
        gt_buffer_text(chart->out, "\"><title>");
        gt_html_escape(chart->out, band[i].title);
        gt_buffer_text(chart->out, "</title></rect>\n");
    }
}

/* Only the lowest and the highest of the points that fall on one column of the picture are drawn. */
static void put_line(const struct chart *chart, size_t line)
{
    const struct gt_series_line *of = &chart->series->series.line[line];
    size_t stride = of->points > 4 * WIDTH ? of->points / (2 * WIDTH) : 1;
    bool drawing = false;
    gt_buffer_printf(chart->out, "<path class=\"line%zu\" d=\"", line % GT_CHART_COLOURS);
    for (size_t i = 0; i < of->points; i += stride) {
        size_t low = i, high = i;
        for (size_t k = i; k < i + stride && k < of->points; k++) {
            low = of->point[k].y < of->point[low].y || isnan(of->point[low].y) ? k : low;
            high = of->point[k].y > of->point[high].y || isnan(of->point[high].y) ? k : high;
        }
        size_t ends[2] = {low < high ? low : high, low < high ? high : low};
        for (int end = 0; end < (low == high ? 1 : 2); end++) {
            const struct gt_point *p = &of->point[ends[end]];
            if (!isfinite(p->x) || !isfinite(p->y)) {
                drawing = false;
                continue;
            }
            gt_buffer_char(chart->out, drawing ? 'L' : 'M');
            put_point(chart->out, x_place(chart, p->x), y_place(chart, p->y));
            drawing = true;
        }
    }
    gt_buffer_text(chart->out, "\"/>\n");
}

/* "limit 64 GB", "16 cores". */
static void put_limit_words(struct gt_buffer *out, const struct gt_node *series, const struct gt_mark *limit)
{
    char number[GT_HUMAN_SIZE];
    double size;
    const char *unit = series->unit;
    bool is_memory = gt_unit_memory(unit, &size, NULL) >= 0, is_named = !strcmp(limit->title, unit);
    gt_html_escape(out, is_named ? "" : limit->title);
    gt_buffer_text(out, is_named ? "" : " ");
    gt_html_escape(out, is_memory ? gt_human_round_bytes(number, limit->value * size)
                                  : gt_human_round_number(number, limit->value));
    gt_buffer_text(out, is_memory ? "" : " ");
    gt_html_escape(out, is_memory ? "" : unit);
}

static void put_legend_entry(struct gt_buffer *out, const char *class, size_t number, const char *title)
{
    gt_buffer_printf(out,
                     "<li><svg class=\"key\" viewBox=\"0 0 28 12\" aria-hidden=\"true\">"
                     "<path class=\"%s%zu\" d=\"M0 6H28\"/></svg> ",
                     class, number % GT_CHART_COLOURS);
    gt_html_escape(out, title);
    gt_buffer_text(out, "</li>\n");
}

static void put_legend(const struct chart *chart)
{
    size_t shown = 0;
    gt_buffer_text(chart->out, "<ul class=\"legend\">\n");
    for (size_t line = 0; line < chart->series->series.lines; line++)
        put_legend_entry(chart->out, "line", line, chart->series->series.line[line].title);
    for (size_t i = 0; i < chart->bands && shown < NAMES_SHOWN; i++)
        if (chart->name[i] == shown)
            put_legend_entry(chart->out, "band", shown++, chart->band[i].title);
    struct gt_mark limit = chart->series->series.limit;
    if (limit.title) {
        gt_buffer_text(chart->out, "<li><svg class=\"key\" viewBox=\"0 0 28 12\" aria-hidden=\"true\">"
                                   "<path class=\"limit\" d=\"M0 6H28\"/></svg> ");
        put_limit_words(chart->out, chart->series, &limit);
        gt_buffer_text(chart->out, "</li>\n");
    }
    gt_buffer_text(chart->out, "</ul>\n");
}

static void put_caption(struct gt_buffer *out, const struct gt_node *series)
{
    gt_buffer_text(out, "<figcaption>");
    gt_html_escape(out, series->title);
    if (*series->unit) {
        gt_buffer_text(out, ", ");
        gt_html_escape(out, series->unit);
    }
    if (!(gt_node_flag_bits(series) & GT_FOREST)) {
        gt_buffer_text(out, ", over time in ");
        gt_html_escape(out, series->series.x_unit);
    }
    gt_buffer_text(out, "</figcaption>\n");
}

/* The extremes of a line's data: its points are means over some time where it has a course. */
static struct gt_chart_range values_of(const struct gt_series_line *line)
{
    struct gt_chart_range range = {INFINITY, -INFINITY};
    struct gt_course_span all = {0};
    if (line->course)
        all = gt_course_over(line->course, line->course_line, 0, line->course->spans);
    if (all.count)
        return (struct gt_chart_range){all.least / line->course_unit, all.most / line->course_unit};
    for (size_t i = 0; i < line->points; i++)
        widen(&range, line->point[i].y);
    return range;
}

/* A reader who cannot see the picture gets the extremes of each line. */
static void put_description(struct gt_buffer *out, const struct gt_node *series)
{
    gt_buffer_text(out, "<desc>");
    for (size_t line = 0; line < series->series.lines; line++) {
        struct gt_chart_range range = values_of(&series->series.line[line]);
        gt_html_escape(out, series->series.line[line].title);
        if (range.least > range.most) {
            gt_buffer_text(out, ": no values. ");
            continue;
        }
        gt_buffer_text(out, ": from ");
        gt_chart_number(out, range.least, 3);
        gt_buffer_text(out, " to ");
        gt_chart_number(out, range.most, 3);
        gt_buffer_text(out, ". ");
    }
    gt_buffer_text(out, "</desc>\n");
}

static void put_limit(const struct chart *chart)
{
    struct gt_mark limit = chart->series->series.limit;
    if (!limit.title || limit.value > chart->y.most)
        return;
    gt_buffer_text(chart->out, "<path class=\"limit\" d=\"M");
    put_point(chart->out, LEFT, y_place(chart, limit.value));
    gt_buffer_printf(chart->out, "H%d\"/><text text-anchor=\"end\" x=\"%d\" y=\"", WIDTH - RIGHT, WIDTH - RIGHT - 4);
    gt_chart_number(chart->out, y_place(chart, limit.value) + 14, 1);
    gt_buffer_text(chart->out, "\">");
    put_limit_words(chart->out, chart->series, &limit);
    gt_buffer_text(chart->out, "</text>\n");
}

static void put_shapes(struct chart *chart, struct gt_chart_range x)
{
    find_ranges(chart, x);
    number_bands(chart);
    put_bands(chart);
    put_y_axis(chart);
    gt_chart_x_axis(chart->out, chart->x, HEIGHT);
    put_limit(chart);
    for (size_t line = 0; line < chart->series->series.lines; line++)
        put_line(chart, line);
}

void gt_chart_cut(struct gt_buffer *out, const char *name, size_t letters)
{
    size_t seen = 0;
    char piece[GT_UTF8_SHOWN];
    const char *rest = name;
    struct gt_buffer shown = {0};
    for (; *rest && seen < letters; seen++)
        gt_buffer_append(&shown, piece, gt_utf8_show_next(&rest, piece));
    gt_html_escape(out, shown.data ? shown.data : "");
    if (*rest)
        gt_buffer_text(out, "\xe2\x80\xa6");
    gt_buffer_release(&shown);
}

/* ---- Forest plots (GT_FOREST): for each line, whose three points are low end, middle and high end, a dot and its interval ---- */

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

static int forest_width(bool is_narrow)
{
    return is_narrow ? narrow.width : wide.width;
}

static int forest_height(const struct gt_node *series, bool is_narrow)
{
    return (int)series->series.lines * (is_narrow ? narrow.row : wide.row) + GT_CHART_BOTTOM;
}

/* Also for phones, with names above. A value of y above 0 marks a line whose change is certain. */
static void put_forest(struct gt_buffer *out, const struct gt_node *series, bool is_narrow)
{
    struct forest forest = {.out = out, .shape = is_narrow ? &narrow : &wide, .series = series};
    find_axis(&forest);
    put_axis(&forest, forest_height(series, is_narrow));
    for (size_t line = 0; line < series->series.lines; line++) {
        const struct gt_series_line *of = &series->series.line[line];
        if (of->points != 3)
            continue;
        put_name(&forest, of->title, line);
        put_interval(&forest, of->point, line, of->point[1].y > 0 ? 1 : 0);
    }
}

/* ---- A chart with its legend ---- */

static bool is_forest(const struct gt_node *series)
{
    return gt_node_flag_bits(series) & GT_FOREST;
}

static bool has_rows(const struct gt_node *series)
{
    return gt_node_flag_bits(series) & (GT_STRIPS | GT_LANES);
}

int gt_chart_height(const struct gt_node *series)
{
    return is_forest(series) ? forest_height(series, false) : has_rows(series) ? gt_chart_rows_height(series) : HEIGHT;
}

void gt_chart_shapes(struct gt_buffer *out, const struct gt_node *series, struct gt_chart_range x)
{
    struct chart chart = {.out = out, .series = series};
    if (is_forest(series))
        put_forest(out, series, false);
    else if (has_rows(series))
        gt_chart_rows(out, series, x);
    else
        put_shapes(&chart, x);
}

/* The same for phones, where names beside it would be cut or too small. */
static void put_narrow_forest(struct gt_buffer *out, const struct gt_node *series)
{
    gt_buffer_printf(out, "<svg class=\"chart narrow\" viewBox=\"0 0 %d %d\" aria-hidden=\"true\">\n",
                     forest_width(true), forest_height(series, true));
    put_forest(out, series, true);
    gt_buffer_text(out, "</svg>\n");
}

void gt_chart_write(struct gt_buffer *out, const struct gt_node *series, int id, struct gt_chart_range x)
{
    struct chart chart = {.out = out, .series = series};
    gt_buffer_printf(out, "<figure id=\"figure%d\">\n", id);
    put_caption(out, series);
    gt_buffer_printf(out,
                     "<svg class=\"chart%s\" viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"chart%d\">\n"
                     "<title id=\"chart%d\">",
                     is_forest(series) ? " wide" : "", WIDTH, gt_chart_height(series), id, id);
    gt_html_escape(out, series->title);
    gt_buffer_text(out, "</title>\n");
    put_description(out, series);
    gt_chart_shapes(out, series, x);
    gt_buffer_text(out, "</svg>\n");
    if (is_forest(series))
        put_narrow_forest(out, series);
    number_bands(&chart);
    if (!has_rows(series) && !is_forest(series))
        put_legend(&chart);
    gt_buffer_text(out, "</figure>\n");
}
