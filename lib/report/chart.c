#include "report/chart.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"

/* The picture's coordinates: the plot with room for the axes' numbers around it. */
enum { WIDTH = 760, HEIGHT = 260, LEFT = 64, RIGHT = 12, TOP = 10, BOTTOM = 30, BANDS_DRAWN = 500, NAMES_SHOWN = 12 };

struct range {
    double least, most;
};

struct chart {
    struct gt_buffer *out;
    const struct gt_node *series;
    struct range x, y;
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

static void put_number(struct gt_buffer *out, double value, int decimals)
{
    char text[GT_NUMBER_SIZE];
    size_t length = gt_number_rounded(text, value, decimals);
    if (length > 2 && !strcmp(text + length - 2, ".0"))
        length -= 2;
    gt_buffer_append(out, text, length);
}

static void widen(struct range *range, double value)
{
    if (!isfinite(value))
        return;
    range->least = fmin(range->least, value);
    range->most = fmax(range->most, value);
}

/* The y axis begins at zero, so that heights can be compared. */
static void find_ranges(struct chart *chart)
{
    chart->x = (struct range){INFINITY, -INFINITY};
    chart->y = (struct range){0, -INFINITY};
    for (size_t line = 0; line < gt_series_lines(chart->series); line++) {
        const struct gt_point *point;
        size_t count = gt_series_points(chart->series, line, &point);
        for (size_t i = 0; i < count; i++) {
            widen(&chart->x, point[i].x);
            widen(&chart->y, point[i].y);
        }
    }
    if (!(chart->x.most > chart->x.least))
        chart->x = (struct range){isfinite(chart->x.least) ? chart->x.least : 0,
                                  isfinite(chart->x.least) ? chart->x.least + 1 : 1};
    if (!(chart->y.most > chart->y.least))
        chart->y.most = chart->y.least + 1;
}

static double x_place(const struct chart *chart, double x)
{
    double share = (x - chart->x.least) / (chart->x.most - chart->x.least);
    return LEFT + fmin(fmax(share, 0), 1) * (WIDTH - LEFT - RIGHT);
}

static double y_place(const struct chart *chart, double y)
{
    return HEIGHT - BOTTOM - (y - chart->y.least) / (chart->y.most - chart->y.least) * (HEIGHT - TOP - BOTTOM);
}

/* A step of 1, 2 or 5 times a power of ten that gives at most `count` ticks. */
static double tick_step(struct range range, int count)
{
    double rough = (range.most - range.least) / count;
    double power = pow(10, floor(log10(rough)));
    double lead = rough / power;
    return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}

static int tick_decimals(double step)
{
    return step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);
}

static void put_point(struct gt_buffer *out, double x, double y)
{
    put_number(out, x, 1);
    gt_buffer_char(out, ' ');
    put_number(out, y, 1);
}

static void put_x_axis(const struct chart *chart)
{
    double step = tick_step(chart->x, 8);
    for (double x = ceil(chart->x.least / step) * step; x <= chart->x.most + step * 1e-6; x += step) {
        gt_buffer_text(chart->out, "<text text-anchor=\"middle\" x=\"");
        put_number(chart->out, x_place(chart, x), 1);
        gt_buffer_printf(chart->out, "\" y=\"%d\">", HEIGHT - BOTTOM + 18);
        put_number(chart->out, x, tick_decimals(step));
        gt_buffer_text(chart->out, "</text>\n");
    }
}

static void put_y_axis(const struct chart *chart)
{
    double step = tick_step(chart->y, 5);
    for (double y = ceil(chart->y.least / step) * step; y <= chart->y.most + step * 1e-6; y += step) {
        double place = y_place(chart, y);
        gt_buffer_text(chart->out, "<path class=\"grid\" d=\"M");
        put_point(chart->out, LEFT, place);
        gt_buffer_printf(chart->out, "H%d\"/><text text-anchor=\"end\" x=\"%d\" y=\"", WIDTH - RIGHT, LEFT - 6);
        put_number(chart->out, place + 4, 1);
        gt_buffer_text(chart->out, "\">");
        put_number(chart->out, y, tick_decimals(step));
        gt_buffer_text(chart->out, "</text>\n");
    }
}

/* Bands with the same name have the same colour: names are numbered as they come. */
static void number_bands(struct chart *chart)
{
    chart->bands = gt_series_bands(chart->series, &chart->band);
    if (chart->bands > BANDS_DRAWN)
        chart->bands = BANDS_DRAWN;
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
        put_number(chart->out, from, 1);
        gt_buffer_printf(chart->out, "\" y=\"%d\" height=\"%d\" width=\"", TOP, HEIGHT - TOP - BOTTOM);
        put_number(chart->out, fmax(to - from, 0.5), 1);
        gt_buffer_text(chart->out, "\"><title>");
        gt_html_escape(chart->out, band[i].title);
        gt_buffer_text(chart->out, "</title></rect>\n");
    }
}

/* Only the lowest and the highest of the points that fall on one column of the picture are drawn. */
static void put_line(const struct chart *chart, size_t line)
{
    const struct gt_point *point;
    size_t count = gt_series_points(chart->series, line, &point);
    size_t stride = count > 4 * WIDTH ? count / (2 * WIDTH) : 1;
    bool drawing = false;
    gt_buffer_printf(chart->out, "<path class=\"line%zu\" d=\"", line % GT_CHART_COLOURS);
    for (size_t i = 0; i < count; i += stride) {
        size_t low = i, high = i;
        for (size_t k = i; k < i + stride && k < count; k++) {
            low = point[k].y < point[low].y || isnan(point[low].y) ? k : low;
            high = point[k].y > point[high].y || isnan(point[high].y) ? k : high;
        }
        size_t ends[2] = {low < high ? low : high, low < high ? high : low};
        for (int end = 0; end < (low == high ? 1 : 2); end++) {
            const struct gt_point *p = &point[ends[end]];
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
    for (size_t line = 0; line < gt_series_lines(chart->series); line++)
        put_legend_entry(chart->out, "line", line, gt_series_line_title(chart->series, line));
    for (size_t i = 0; i < chart->bands && shown < NAMES_SHOWN; i++)
        if (chart->name[i] == shown)
            put_legend_entry(chart->out, "band", shown++, chart->band[i].title);
    gt_buffer_text(chart->out, "</ul>\n");
}

static void put_caption(const struct chart *chart)
{
    gt_buffer_text(chart->out, "<figcaption>");
    gt_html_escape(chart->out, gt_node_title(chart->series));
    if (*gt_node_unit(chart->series)) {
        gt_buffer_text(chart->out, ", ");
        gt_html_escape(chart->out, gt_node_unit(chart->series));
    }
    gt_buffer_text(chart->out, ", over time in ");
    gt_html_escape(chart->out, gt_series_x_unit(chart->series));
    gt_buffer_text(chart->out, "</figcaption>\n");
}

/* A reader who cannot see the picture gets the extremes of each line. */
static void put_description(const struct chart *chart)
{
    gt_buffer_text(chart->out, "<desc>");
    for (size_t line = 0; line < gt_series_lines(chart->series); line++) {
        const struct gt_point *point;
        size_t count = gt_series_points(chart->series, line, &point);
        struct range range = {INFINITY, -INFINITY};
        for (size_t i = 0; i < count; i++)
            widen(&range, point[i].y);
        gt_html_escape(chart->out, gt_series_line_title(chart->series, line));
        if (range.least > range.most) {
            gt_buffer_text(chart->out, ": no values. ");
            continue;
        }
        gt_buffer_text(chart->out, ": from ");
        put_number(chart->out, range.least, 3);
        gt_buffer_text(chart->out, " to ");
        put_number(chart->out, range.most, 3);
        gt_buffer_text(chart->out, ". ");
    }
    gt_buffer_text(chart->out, "</desc>\n");
}

void gt_chart_write(struct gt_buffer *out, const struct gt_node *series, int id)
{
    struct chart chart = {.out = out, .series = series};
    find_ranges(&chart);
    number_bands(&chart);
    gt_buffer_text(out, "<figure>\n");
    put_caption(&chart);
    gt_buffer_printf(out,
                     "<svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"chart%d\">\n"
                     "<title id=\"chart%d\">",
                     WIDTH, HEIGHT, id, id);
    gt_html_escape(out, gt_node_title(series));
    gt_buffer_text(out, "</title>\n");
    put_description(&chart);
    put_bands(&chart);
    put_y_axis(&chart);
    put_x_axis(&chart);
    for (size_t line = 0; line < gt_series_lines(series); line++)
        put_line(&chart, line);
    gt_buffer_text(out, "</svg>\n");
    put_legend(&chart);
    gt_buffer_text(out, "</figure>\n");
}
