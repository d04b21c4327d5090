#include "report/page/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/chart.h"

enum { WIDTH = 1200, HEIGHT = 100, TICKS = 6, SHADES = 8, LEAST_NAMED = 7, WHOLE = 100 };

struct rows {
    struct gt_buffer *out;
    const struct gt_node *series;
    const struct gt_band *column;
    size_t columns;
    struct gt_chart_range x, y; /* of stacks y is the sum of their parts, of cells what colours tell apart */
    struct gt_chart_range seen; /* of cells: all values */
    struct gt_mark limit;
};

/* ---- numbers ---- */

/* Three digits; counts are whole. */
static void put_number(struct gt_buffer *out, double value)
{
    double digits = value != 0 ? floor(log10(fabs(value))) : 0;
    bool is_whole = value >= floor(value) && value <= floor(value);
    gt_chart_number(out, value, is_whole ? 0 : (int)fmin(fmax(2 - digits, 0), 9));
}

/* "1 step", "2 steps", "1 ms". */
static void put_value(const struct rows *rows, double value)
{
    char unit[64];
    snprintf(unit, sizeof unit, "%s", rows->series->unit);
    size_t length = strlen(unit);
    bool is_one = value >= 1 && value <= 1;
    if (is_one && length > 3 && unit[length - 1] == 's')
        unit[length - 1] = '\0';
    put_number(rows->out, value);
    gt_html(rows->out, *unit ? " %s" : "%s", unit);
}

static double place_of(const struct rows *rows, double x)
{
    return (x - rows->x.least) / (rows->x.most - rows->x.least) * WIDTH;
}

static double width_of(const struct rows *rows, const struct gt_band *column)
{
    return (column->to - column->from) / (rows->x.most - rows->x.least) * WIDTH;
}

/* ---- cells ---- */

static void widen(struct gt_chart_range *range, double value)
{
    range->least = fmin(range->least, value);
    range->most = fmax(range->most, value);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A few far outliers would leave one colour for everything else: the scale ends where most values do. */
static void cut_scale(struct rows *rows)
{
    struct gt_buffer all = {0};
    for (size_t line = 0; line < rows->series->series.lines; line++) {
        const struct gt_series_line *of = &rows->series->series.line[line];
        for (size_t i = 0; i < of->points; i++)
            gt_buffer_append(&all, (const char *)&of->point[i].y, sizeof of->point[i].y);
    }
    size_t count = all.length / sizeof(double);
    if (count && !all.failed) {
        double *value = (double *)all.data;
        qsort(value, count, sizeof *value, by_value);
        double low = value[count * 5 / 100], middle = value[count / 2], high = value[count * 95 / 100];
        if (high > middle)
            rows->y.most = fmin(rows->y.most, middle + 3 * (high - middle));
        if (low < middle)
            rows->y.least = fmax(rows->y.least, middle - 3 * (middle - low));
    }
    gt_buffer_release(&all);
}

/* What differs by less than a twentieth is of nearly one colour. Where all is one value there is no scale. */
static void stretch_scale(struct gt_chart_range *range)
{
    double missing = 0.05 * fmax(fabs(range->least), fabs(range->most)) - (range->most - range->least);
    if (missing <= 0 || range->most <= range->least)
        return;
    range->least -= missing / 2;
    range->most += missing / 2;
}

static void find_scale(struct rows *rows)
{
    rows->y = (struct gt_chart_range){INFINITY, -INFINITY};
    for (size_t line = 0; line < rows->series->series.lines; line++) {
        const struct gt_series_line *of = &rows->series->series.line[line];
        for (size_t i = 0; i < of->points; i++)
            widen(&rows->y, of->point[i].y);
    }
    rows->seen = rows->y;
    if (!(gt_node_flag_bits(rows->series) & GT_WHOLE_SCALE))
        cut_scale(rows);
    stretch_scale(&rows->y);
}

static double shade_of(const struct rows *rows, double value)
{
    double range = rows->y.most - rows->y.least;
    double alone = value < 0 || value > 0 ? 0.3 : 0; /* zero is pale, also where there is nothing else */
    return range > 0 ? fmin(fmax((value - rows->y.least) / range, 0), 1) : alone;
}

static void put_cell(const struct rows *rows, const char *row, const struct gt_point *point)
{
    const struct gt_band *column = &rows->column[(size_t)point->x];
    double place = place_of(rows, column->from), width = width_of(rows, column);
    gt_html(rows->out, "<g><title>%s, %s: ", row, column->title);
    put_value(rows, point->y);
    gt_html(rows->out, "</title><rect x=\"%.1f\" height=\"%d\" width=\"%.1f\" opacity=\"%.2f\"/>", place, HEIGHT, width,
            0.05 + 0.95 * shade_of(rows, point->y));
    /* A mark is drawn inside its cell, so that cells beside it do not hide it. */
    if (rows->limit.title && point->y > rows->limit.value)
        gt_html(rows->out, "<rect class=\"mark\" x=\"%.1f\" height=\"%d\" width=\"%.1f\"/>", place, HEIGHT,
                fmax(width, 3));
    gt_buffer_text(rows->out, "</g>\n");
}

static void put_cells(const struct rows *rows, size_t line)
{
    const struct gt_series_line *of = &rows->series->series.line[line];
    for (size_t i = 0; i < of->points; i++)
        if (isfinite(of->point[i].y) && of->point[i].x >= 0 && (size_t)of->point[i].x < rows->columns)
            put_cell(rows, of->title, &of->point[i]);
}

/* ---- stacks ---- */

/* Lines from..end are the parts of one row. */
static size_t end_of_row(const struct gt_node *series, size_t from)
{
    size_t end = from + 1;
    if (!(gt_node_flag_bits(series) & GT_STACKS))
        return end;
    while (end < series->series.lines && !strcmp(series->series.line[end].key, series->series.line[from].key))
        end++;
    return end;
}

static double value_at(const struct rows *rows, size_t line, size_t column)
{
    const struct gt_series_line *of = &rows->series->series.line[line];
    bool is_there = column < of->points && (size_t)of->point[column].x == column && isfinite(of->point[column].y);
    return is_there ? fmax(of->point[column].y, 0) : 0;
}

static double sum_to(const struct rows *rows, size_t from, size_t to, size_t column)
{
    double sum = 0;
    for (size_t line = from; line < to; line++)
        sum += value_at(rows, line, column);
    return sum;
}

static void find_sums(struct rows *rows)
{
    rows->y = (struct gt_chart_range){0, 0};
    for (size_t from = 0, to; from < rows->series->series.lines; from = to) {
        to = end_of_row(rows->series, from);
        for (size_t column = 0; column < rows->columns; column++)
            widen(&rows->y, sum_to(rows, from, to, column));
    }
    if (rows->y.most <= 0)
        rows->y.most = 1;
}

/* Parts below a millionth of the whole are what a difference leaves of sums. */
static void put_parts_title(const struct rows *rows, size_t from, size_t to, size_t column)
{
    double least = 1e-6 * sum_to(rows, from, to, column);
    const char *row = rows->series->series.line[from].key, *name = rows->column[column].title;
    bool begun = false;
    gt_html(rows->out, "<title>%s%s%s", row, *row && *name ? ", " : "", name);
    for (size_t line = from; line < to; line++) {
        double value = value_at(rows, line, column);
        if (value <= least)
            continue;
        gt_html(rows->out, "%s%s ", begun ? ", " : ": ", rows->series->series.line[line].title);
        begun = true;
        put_value(rows, value);
    }
    gt_buffer_text(rows->out, "</title>");
}

/* One column: its parts lie beside one another. */
static void put_bar(const struct rows *rows, size_t from, size_t to)
{
    gt_buffer_text(rows->out, "<g>");
    put_parts_title(rows, from, to, 0);
    for (size_t line = from; line < to; line++) {
        double begin = sum_to(rows, from, line, 0), end = begin + value_at(rows, line, 0);
        if (end > begin)
            gt_html(rows->out, "<rect class=\"part%zu\" x=\"%.1f\" height=\"%d\" width=\"%.1f\"/>",
                    (line - from) % GT_CHART_COLOURS, begin / rows->y.most * WIDTH, HEIGHT,
                    (end - begin) / rows->y.most * WIDTH);
    }
    gt_buffer_text(rows->out, "</g>\n");
}

/* Figures in the bar, where they have room. */
static void put_bar_figures(const struct rows *rows, size_t from, size_t to)
{
    for (size_t line = from; line < to; line++) {
        double value = value_at(rows, line, 0), begin = sum_to(rows, from, line, 0);
        if (value / rows->y.most * 100 < LEAST_NAMED)
            continue;
        gt_html(rows->out, line == from ? "<b class=\"first\" style=\"left:%.2f%%\">" : "<b style=\"left:%.2f%%\">",
                begin / rows->y.most * 100);
        put_number(rows->out, value);
        gt_buffer_text(rows->out, "</b>");
    }
}

/* Many columns: their parts lie upon one another. Each area reaches to the ground, and those of lower parts lie before it. */
static void put_area(const struct rows *rows, size_t from, size_t to)
{
    double last = NAN;
    gt_buffer_printf(rows->out, "<path class=\"part%zu\" d=\"M0 %d", (to - from - 1) % GT_CHART_COLOURS, HEIGHT);
    for (size_t column = 0; column < rows->columns; column++) {
        double top = HEIGHT - sum_to(rows, from, to, column) / rows->y.most * HEIGHT;
        if (!(top >= last && top <= last))
            gt_html(rows->out, "H%.1fV%.1f", place_of(rows, rows->column[column].from), top);
        last = top;
    }
    gt_buffer_printf(rows->out, "H%dV%dZ\"/>\n", WIDTH, HEIGHT);
}

static void put_hover(const struct rows *rows, size_t from, size_t to, size_t column)
{
    const struct gt_band *band = &rows->column[column];
    if (sum_to(rows, from, to, column) <= 0)
        return;
    gt_html(rows->out, "<rect class=\"hover\" x=\"%.1f\" height=\"%d\" width=\"%.1f\">", place_of(rows, band->from),
            HEIGHT, width_of(rows, band));
    put_parts_title(rows, from, to, column);
    gt_buffer_text(rows->out, "</rect>\n");
}

static void put_areas(const struct rows *rows, size_t from, size_t to)
{
    for (size_t end = to; end > from; end--)
        put_area(rows, from, end);
    for (size_t column = 0; column < rows->columns; column++)
        put_hover(rows, from, to, column);
}

/* One row with many columns is higher, and tells its greatest value. */
static bool is_alone(const struct gt_node *series)
{
    return gt_node_flag_bits(series) & GT_STACKS && series->series.bands > 1 &&
           end_of_row(series, 0) == series->series.lines;
}

/* ---- changes: the three points of a line are low end, middle and high end, in percent ---- */

static bool is_forest(const struct gt_node *series)
{
    return gt_node_flag_bits(series) & GT_FOREST;
}

/* Wide intervals end at the border: what is known better is to be seen. Nothing falls by more than all of it. */
static void find_changes(struct rows *rows)
{
    double most = 1;
    for (size_t line = 0; line < rows->series->series.lines; line++) {
        const struct gt_series_line *of = &rows->series->series.line[line];
        if (of->points == 3 && isfinite(of->point[1].x))
            most = fmax(most, fabs(of->point[1].x) * 1.5);
    }
    double step = gt_chart_tick_step((struct gt_chart_range){fmax(-most, -WHOLE), most}, TICKS - 1);
    rows->x.most = ceil(most / step - 1e-9) * step;
    rows->x.least = fmax(-rows->x.most, -WHOLE);
}

static double percent_of_row(const struct rows *rows, double x)
{
    return fmin(fmax(place_of(rows, x) / WIDTH, 0), 1) * 100;
}

/* A value of y above 0 marks a line whose change is certain. */
static void put_change(const struct rows *rows, const struct gt_series_line *line)
{
    const struct gt_point *point = line->point;
    gt_html(rows->out, "<i class=\"zero\" style=\"left:%.2f%%\"></i>", percent_of_row(rows, 0));
    if (line->points != 3)
        return;
    const char *class = point[1].y > 0 ? " certain" : "";
    double low = percent_of_row(rows, point[0].x), high = percent_of_row(rows, point[2].x);
    bool has_interval = isfinite(point[0].x) && isfinite(point[2].x);
    if (has_interval)
        gt_html(rows->out, "<i class=\"interval%s\" style=\"left:%.2f%%;width:%.2f%%\"></i>", class, low, high - low);
    gt_html(rows->out, "<i class=\"dot%s\" style=\"left:%.2f%%\" title=\"%.2f %%", class,
            percent_of_row(rows, point[1].x), point[1].x);
    if (has_interval)
        gt_html(rows->out, ", from %.2f to %.2f %%", point[0].x, point[2].x);
    gt_buffer_text(rows->out, "\"></i>");
}

/* ---- axis and legend ---- */

static void put_axis(const struct rows *rows, struct gt_chart_range range, const char *unit)
{
    double step = gt_chart_tick_step(range, TICKS), last = 0, end = range.most + step * 1e-6;
    bool is_word = strlen(unit) > 2, begun = false; /* "step 10" and "10 ms" */
    if (strstr(unit, "step")) {                     /* they are whole, and the last one begins one before the end */
        step = fmax(step, 1);
        end = range.most - 1 + step * 1e-6;
    }
    gt_buffer_text(rows->out, "<div class=\"row axis\"><span></span><div>");
    for (double at = ceil(range.least / step) * step; at <= end; at += step)
        last = at;
    for (double at = ceil(range.least / step) * step; at <= end; at += step) {
        gt_html(rows->out, "<i style=\"left:%.2f%%\">", (at - range.least) / (range.most - range.least) * 100);
        if (is_word && !begun)
            gt_html(rows->out, "%s ", unit);
        begun = true;
        gt_chart_number(rows->out, at, gt_chart_tick_decimals(step));
        if (at >= last && *unit && !is_word)
            gt_html(rows->out, " %s", unit);
        gt_buffer_text(rows->out, "</i>");
    }
    gt_buffer_text(rows->out, "</div></div>\n");
}

static void put_shades(const struct rows *rows)
{
    put_value(rows, rows->y.least);
    gt_buffer_text(rows->out, rows->seen.least < rows->y.least ? " and less" : "");
    gt_buffer_text(rows->out, " <svg class=\"scale heat\" viewBox=\"0 0 80 12\" aria-hidden=\"true\">");
    for (int i = 0; i < SHADES; i++)
        gt_buffer_printf(rows->out, "<rect x=\"%d\" width=\"10\" height=\"12\" opacity=\"%.2f\"/>", i * 10,
                         0.05 + 0.95 * i / (SHADES - 1));
    gt_buffer_text(rows->out, "</svg> ");
    put_value(rows, rows->y.most);
    gt_buffer_text(rows->out, rows->seen.most > rows->y.most ? " and more</li>" : "</li>");
}

/* The colours of cells from the least to the greatest value. */
static void put_scale(const struct rows *rows)
{
    gt_buffer_text(rows->out, "<ul class=\"legend\"><li>");
    if (rows->y.most > rows->y.least) {
        put_shades(rows);
    } else {
        gt_buffer_text(rows->out, "all ");
        put_value(rows, rows->y.most);
        gt_buffer_text(rows->out, "</li>");
    }
    if (rows->limit.title) {
        gt_html(rows->out,
                "<li><svg class=\"key\" viewBox=\"0 0 28 12\" aria-hidden=\"true\">"
                "<rect class=\"mark\" x=\"1\" y=\"1\" width=\"26\" height=\"10\"/></svg> %s: above ",
                rows->limit.title);
        put_value(rows, rows->limit.value);
        gt_buffer_text(rows->out, "</li>");
    }
    gt_buffer_text(rows->out, "</ul>\n");
}

static void put_part_names(const struct rows *rows)
{
    size_t to = rows->series->series.lines ? end_of_row(rows->series, 0) : 0;
    if (to < 2)
        return;
    gt_buffer_text(rows->out, "<ul class=\"legend\">\n");
    for (size_t line = 0; line < to; line++)
        gt_html(rows->out,
                "<li><svg class=\"key\" viewBox=\"0 0 28 12\" aria-hidden=\"true\">"
                "<rect class=\"part%zu\" width=\"28\" height=\"12\"/></svg> %s</li>\n",
                line % GT_CHART_COLOURS, rows->series->series.line[line].title);
    gt_buffer_text(rows->out, "</ul>\n");
}

/* ---- the whole ---- */

static void put_row(const struct rows *rows, size_t from, size_t to)
{
    bool is_heat = gt_node_flag_bits(rows->series) & GT_HEAT, is_bar = !is_heat && rows->columns == 1;
    const char *name = is_heat || is_forest(rows->series) ? rows->series->series.line[from].title
                                                          : rows->series->series.line[from].key;
    gt_html(rows->out, "<div class=\"row\"><span>%s</span><div>", name);
    if (is_forest(rows->series)) {
        put_change(rows, &rows->series->series.line[from]);
        gt_buffer_text(rows->out, "</div></div>\n");
        return;
    }
    gt_buffer_printf(rows->out, "<svg%s viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\">\n",
                     is_heat ? " class=\"heat\"" : "", WIDTH, HEIGHT);
    if (is_heat)
        put_cells(rows, from);
    else if (is_bar)
        put_bar(rows, from, to);
    else
        put_areas(rows, from, to);
    gt_buffer_text(rows->out, "</svg>");
    if (is_bar)
        put_bar_figures(rows, from, to);
    if (is_alone(rows->series)) {
        gt_buffer_text(rows->out, "<em>");
        put_value(rows, rows->y.most);
        gt_buffer_text(rows->out, "</em>");
    }
    gt_buffer_text(rows->out, "</div></div>\n");
}

static void put_caption(const struct rows *rows)
{
    const char *note = rows->series->series.note, *unit = rows->series->unit;
    if (is_forest(rows->series))
        note = rows->series->title;
    if (note || *unit)
        gt_html(rows->out, "<figcaption>%s</figcaption>\n", note ? note : unit);
}

static bool prepare(struct rows *rows)
{
    bool is_heat = gt_node_flag_bits(rows->series) & GT_HEAT;
    rows->column = rows->series->series.band;
    rows->columns = rows->series->series.bands;
    rows->limit = rows->series->series.limit;
    if (is_forest(rows->series))
        find_changes(rows);
    if (is_forest(rows->series) || !rows->columns || !rows->series->series.lines)
        return is_forest(rows->series);
    rows->x = (struct gt_chart_range){INFINITY, -INFINITY};
    for (size_t i = 0; i < rows->columns; i++) {
        widen(&rows->x, rows->column[i].from);
        widen(&rows->x, rows->column[i].to);
    }
    if (is_heat)
        find_scale(rows);
    else
        find_sums(rows);
    return rows->x.most > rows->x.least && rows->y.least <= rows->y.most;
}

void gt_page_rows(struct gt_buffer *out, const struct gt_node *series)
{
    struct rows rows = {.out = out, .series = series};
    if (!prepare(&rows))
        return;
    bool is_heat = gt_node_flag_bits(series) & GT_HEAT, is_bar = !is_heat && rows.columns == 1;
    size_t lines = series->series.lines;
    gt_html(out, "<figure class=\"rows%s\">\n", is_alone(series) ? " alone" : is_forest(series) ? " forest" : "");
    put_caption(&rows);
    for (size_t from = 0, to; from < lines; from = to) {
        to = end_of_row(series, from);
        put_row(&rows, from, to);
    }
    put_axis(&rows, is_bar ? (struct gt_chart_range){0, rows.y.most} : rows.x,
             is_bar              ? series->unit
             : is_forest(series) ? "%"
                                 : series->series.x_unit);
    if (is_heat)
        put_scale(&rows);
    else if (!is_forest(series))
        put_part_names(&rows);
    gt_buffer_text(out, "</figure>\n");
}
