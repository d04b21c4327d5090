/* Pictures with a row for each line: strips, which are the darker the greater the value, and lanes of named stretches. */
#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "report/page/chart.h"

enum { ROW = 18, STEPS = 380, SHADES = 8, BANDS_DRAWN = 2000, NAMES = 64, LETTER = 7 };

struct rows {
    struct gt_buffer *out;
    const struct gt_node *series;
    struct gt_chart_frame frame;
    const char *name[NAMES]; /* the first that came: each has a colour */
    size_t names;
};

/* Letters are of many widths: a picture of its own cuts the name off at the end of its box. */
static void put_name(const struct rows *rows, const char *name, double x, size_t row, double width)
{
    size_t letters = width > LETTER ? (size_t)(width / LETTER) : 0;
    if (gt_utf8_columns(name) > letters)
        return;
    gt_buffer_printf(rows->out, "<svg x=\"");
    gt_chart_number(rows->out, x, 1);
    gt_buffer_printf(rows->out, "\" y=\"%zu\" height=\"%d\" width=\"", row * ROW + 1, ROW - 2);
    gt_chart_number(rows->out, width - 1, 1);
    gt_buffer_text(rows->out, "\"><text class=\"in\" x=\"3\" y=\"12\">");
    gt_html_escape(rows->out, name);
    gt_buffer_text(rows->out, "</text></svg>\n");
}

static size_t colour_of(struct rows *rows, const char *name)
{
    size_t i = 0;
    while (i < rows->names && strcmp(rows->name[i], name) != 0)
        i++;
    if (i == rows->names && i < NAMES)
        rows->name[rows->names++] = name;
    return i % GT_CHART_COLOURS;
}

static void put_lanes(struct rows *rows)
{
    const struct gt_series *series = &rows->series->series;
    for (size_t i = 0; i < series->bands && i < BANDS_DRAWN; i++) {
        const struct gt_band *band = &series->band[i];
        size_t row = (size_t)band->lane;
        double from = gt_chart_place(&rows->frame, band->from), to = gt_chart_place(&rows->frame, band->to);
        gt_buffer_printf(rows->out, "<rect class=\"fill%zu\" x=\"", colour_of(rows, band->title));
        gt_chart_number(rows->out, from, 1);
        gt_buffer_printf(rows->out, "\" y=\"%zu\" height=\"%d\" width=\"", row * ROW + 1, ROW - 2);
        gt_chart_number(rows->out, fmax(to - from - 0.5, 0.5), 1);
        gt_buffer_text(rows->out, "\"><title>");
        gt_html_escape(rows->out, band->title);
        gt_buffer_text(rows->out, "</title></rect>\n");
        put_name(rows, band->title, from, row, to - from);
    }
}

/* The mean of the points of each step, as one of SHADES; -1 where nothing is known. */
static void find_shades(const struct rows *rows, size_t line, int shade[STEPS])
{
    const struct gt_series_line *of = &rows->series->series.line[line];
    size_t at = 0;
    double span = rows->frame.x.most - rows->frame.x.least, value = NAN;
    for (int step = 0; step < STEPS; step++) {
        double until = rows->frame.x.least + span * (step + 1) / STEPS, sum = 0;
        size_t begin = at;
        while (at < of->points && of->point[at].x < until)
            sum += of->point[at++].y;
        value = at > begin ? sum / (double)(at - begin) : at < of->points && at > 0 ? value : NAN;
        shade[step] = isnan(value) ? -1 : (int)lround(fmin(fmax(value / 100, 0), 1) * SHADES);
    }
}

static void put_strip(struct rows *rows, size_t line)
{
    int shade[STEPS];
    double width = (double)(rows->frame.width - GT_CHART_LEFT - GT_CHART_RIGHT) / STEPS;
    find_shades(rows, line, shade);
    for (int step = 0, next; step < STEPS; step = next) {
        for (next = step + 1; next < STEPS && shade[next] == shade[step];)
            next++;
        if (shade[step] <= 0)
            continue;
        gt_buffer_printf(rows->out, "<rect class=\"strip\" opacity=\"");
        gt_chart_number(rows->out, (double)shade[step] / SHADES, 3);
        gt_buffer_text(rows->out, "\" x=\"");
        gt_chart_number(rows->out, GT_CHART_LEFT + step * width, 1);
        gt_buffer_printf(rows->out, "\" y=\"%zu\" height=\"%d\" width=\"", line * ROW + 1, ROW - 3);
        gt_chart_number(rows->out, (next - step) * width, 1);
        gt_buffer_text(rows->out, "\"/>\n");
    }
}

static void put_titles(const struct rows *rows)
{
    for (size_t line = 0; line < rows->series->series.lines; line++) {
        gt_buffer_printf(rows->out, "<text x=\"0\" y=\"%zu\">", line * ROW + 13);
        gt_chart_cut(rows->out, rows->series->series.line[line].title, GT_CHART_LEFT / LETTER - 1);
        gt_buffer_printf(rows->out, "</text><path class=\"grid\" d=\"M%d %zuH%d\"/>\n", GT_CHART_LEFT, line * ROW + ROW,
                         rows->frame.width - GT_CHART_RIGHT);
    }
}

int gt_chart_rows_height(const struct gt_node *series)
{
    return (int)series->series.lines * ROW + GT_CHART_BOTTOM;
}

void gt_chart_rows(struct gt_buffer *out, const struct gt_node *series, const struct gt_chart_frame *frame)
{
    struct rows rows = {.out = out, .series = series, .frame = *frame};
    if (!(rows.frame.x.most > rows.frame.x.least))
        rows.frame.x = (struct gt_chart_range){0, 1};
    put_titles(&rows);
    if (gt_node_flag_bits(series) & GT_LANES)
        put_lanes(&rows);
    for (size_t line = 0; gt_node_flag_bits(series) & GT_STRIPS && line < series->series.lines; line++)
        put_strip(&rows, line);
    gt_chart_x_axis(out, series, &rows.frame, gt_chart_rows_height(series));
}
