#include "report/page/chart.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "schema/human.h"
#include "schema/unit.h"

enum {
    LEFT = GT_CHART_LEFT,
    RIGHT = GT_CHART_RIGHT,
    TOP = GT_CHART_TOP,
    BOTTOM = GT_CHART_BOTTOM,
    TICK_WIDTH = 64,
    TICK_HEIGHT = 36,
    PEAK_ROOM = 20,
    LETTER = 7,
    BANDS_DRAWN = 500,
    NAMES_SHOWN = 12
};

struct chart {
    struct gt_buffer *out;
    const struct gt_node *series;
    struct gt_chart_frame frame;
    struct gt_chart_range y;
    struct gt_chart_unit unit;      /* of the y axis */
    double step;                    /* between its ticks */
    const struct gt_point *highest; /* NULL: no peak is marked */
    double peak;
    struct names {
        const char *name[BANDS_DRAWN];
        size_t count;
    } names; /* of bands */
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

void gt_html(struct gt_buffer *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    for (const char *at; (at = strchr(format, '%')); format = at + 1) {
        int decimals;
        gt_buffer_append(out, format, (size_t)(at - format));
        switch (*++at) {
        case 's': gt_html_escape(out, va_arg(arguments, const char *)); break;
        case 'd': gt_buffer_printf(out, "%d", va_arg(arguments, int)); break;
        case 'z':
            gt_buffer_printf(out, "%zu", va_arg(arguments, size_t));
            at++;
            break;
        case '.':
            decimals = at[1] == '*' ? va_arg(arguments, int) : at[1] - '0';
            gt_chart_number(out, va_arg(arguments, double), decimals);
            at += 2;
            break;
        default: gt_buffer_char(out, '%');
        }
    }
    va_end(arguments);
    gt_buffer_text(out, format);
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

/* Returns a step that is round in this unit, and gives each tick `room` of the `length` of the axis. */
static double step_of(struct gt_chart_range range, struct gt_chart_unit unit, int length, int room)
{
    struct gt_chart_range shown = {range.least / unit.size, range.most / unit.size};
    return unit.size * gt_chart_tick_step(shown, length > 3 * room ? length / room : 3);
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

/* ---- units ---- */

static const struct gt_chart_unit times[] = {{1e-6, "us"}, {1e-3, "ms"}, {1, "s"}, {60, "min"}, {3600, "h"}},
                                  sizes[] = {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}},
                                  rates[] = {{1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}},
                                  powers[] = {{1e-3, "mW"}, {1, "W"}, {1e3, "kW"}};

/* Returns the largest unit of which `most`, in units of `base`, is at least `count`. */
static struct gt_chart_unit choose_unit(const struct gt_chart_unit *unit, size_t units, double base, double most,
                                        double count)
{
    size_t i = units - 1;
    while (i > 0 && most * base < unit[i].size * count)
        i--;
    return (struct gt_chart_unit){unit[i].size / base, unit[i].name};
}

#define CHOOSE_UNIT(units, base, most, count) choose_unit(units, sizeof(units) / sizeof *(units), base, most, count)

static struct gt_chart_unit time_unit(const struct gt_node *series, struct gt_chart_range x)
{
    const char *unit = series->series.x_unit;
    double base = !strcmp(unit, "seconds") ? 1 : !strcmp(unit, "us") ? 1e-6 : NAN;
    return isnan(base) ? (struct gt_chart_unit){1, unit} : CHOOSE_UNIT(times, base, x.most - x.least, 2);
}

/* Binary units are those that the user chose. */
static struct gt_chart_unit value_unit(const char *unit, double most)
{
    const char *symbol = gt_unit_symbol(unit);
    double base;
    if (gt_unit_memory(unit, &base, NULL) >= 0 && !strchr(symbol, 'i'))
        return CHOOSE_UNIT(sizes, base, most, 1);
    if (!strcmp(unit, "megabytes a second"))
        return CHOOSE_UNIT(rates, 1e6, most, 1);
    if (!strcmp(unit, "watts"))
        return CHOOSE_UNIT(powers, 1.0, most, 1);
    return (struct gt_chart_unit){1, symbol ? symbol : !strcmp(unit, "percent") ? "%" : unit};
}

/* ---- axes ---- */

static const struct gt_point *highest_point(const struct gt_node *series)
{
    const struct gt_series_line *line = series->series.line;
    const struct gt_point *ret = NULL;
    if (!series->series.lines || (gt_node_flag_bits(series) & (GT_PEAKS | GT_ALIKE)) != GT_PEAKS)
        return NULL;
    for (size_t i = 0; i < line->points; i++)
        if (isfinite(line->point[i].y) && (!ret || line->point[i].y > ret->y))
            ret = &line->point[i];
    return ret;
}

/* The y axis begins at zero, so that heights can be compared, and ends at a tick, with room for the label of the peak below it.
 * A limit that is far above is left out. */
static void find_ranges(struct chart *chart)
{
    struct gt_mark limit = chart->series->series.limit;
    struct gt_chart_range *x = &chart->frame.x, *y = &chart->y;
    *y = (struct gt_chart_range){0, -INFINITY};
    for (size_t line = 0; line < chart->series->series.lines; line++) {
        const struct gt_series_line *of = &chart->series->series.line[line];
        for (size_t i = 0; i < of->points; i++)
            widen(y, of->point[i].y);
    }
    if ((chart->highest = highest_point(chart->series))) {
        chart->peak = fmax(chart->highest->y, chart->series->series.peak);
        widen(y, chart->peak);
    }
    chart->unit = value_unit(chart->series->unit, y->most);
    if (chart->highest)
        widen(y, chart->peak * (1 + (double)PEAK_ROOM / (chart->frame.height - TOP - BOTTOM - PEAK_ROOM)));
    if (limit.title && limit.value <= y->most * 2.5)
        widen(y, limit.value);
    if (!(x->most > x->least))
        *x = (struct gt_chart_range){isfinite(x->least) ? x->least : 0, isfinite(x->least) ? x->least + 1 : 1};
    if (!(y->most > y->least))
        y->most = y->least + 1;
    chart->step = step_of(*y, chart->unit, chart->frame.height - TOP - BOTTOM, TICK_HEIGHT);
    y->most = ceil(y->most / chart->step - 1e-9) * chart->step;
}

static double place_of(const struct gt_chart_frame *frame, double x)
{
    double share = (x - frame->x.least) / (frame->x.most - frame->x.least);
    return LEFT + fmin(fmax(share, 0), 1) * (frame->width - LEFT - RIGHT);
}

static double x_place(const struct chart *chart, double x)
{
    return place_of(&chart->frame, x);
}

static int bottom_of(const struct chart *chart)
{
    return chart->frame.height - BOTTOM;
}

static double y_place(const struct chart *chart, double y)
{
    return bottom_of(chart) - (y - chart->y.least) / (chart->y.most - chart->y.least) * (bottom_of(chart) - TOP);
}

static void put_x_axis(struct gt_buffer *out, const struct gt_node *series, const struct gt_chart_frame *frame,
                       int height)
{
    struct gt_chart_unit unit = time_unit(series, frame->x);
    double step = step_of(frame->x, unit, frame->width - LEFT - RIGHT, TICK_WIDTH);
    for (double at = ceil(frame->x.least / step) * step; at <= frame->x.most + step * 1e-6; at += step)
        gt_html(out, "<text text-anchor=\"middle\" x=\"%.1f\" y=\"%d\">%.*f</text>\n", place_of(frame, at),
                height - BOTTOM + 18, gt_chart_tick_decimals(step / unit.size), at / unit.size);
    gt_html(out, "<text class=\"axis\" text-anchor=\"middle\" x=\"%d\" y=\"%d\">time (%s)</text>\n",
            (frame->width + LEFT - RIGHT) / 2, height - BOTTOM + 36, unit.name);
}

/* "memory (GB)", along the axis. A name that begins with capitals, as "CPU" does, keeps them. */
static void put_y_label(const struct chart *chart)
{
    const char *title = chart->series->title, *unit = chart->unit.name;
    size_t room = (size_t)(bottom_of(chart) / LETTER), used = strlen(unit) + 3;
    char first[] = {*title, '\0'};
    if (title[0] >= 'A' && title[0] <= 'Z' && !(title[1] >= 'A' && title[1] <= 'Z'))
        *first += 'a' - 'A';
    gt_html(chart->out, "<text class=\"axis\" text-anchor=\"middle\" transform=\"translate(12 %d)rotate(-90)\">%s",
            (bottom_of(chart) + TOP) / 2, first);
    gt_chart_cut(chart->out, title + (*title != 0), room > used + 1 ? room - used : 1);
    gt_html(chart->out, *unit ? " (%s)</text>\n" : "%s</text>\n", unit);
}

static void put_y_axis(const struct chart *chart)
{
    for (double y = ceil(chart->y.least / chart->step) * chart->step; y <= chart->y.most + chart->step * 1e-6;
         y += chart->step) {
        double place = y_place(chart, y);
        gt_html(chart->out,
                "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text text-anchor=\"end\" x=\"%d\" y=\"%.1f\">%.*f</text>\n",
                LEFT, place, chart->frame.width - RIGHT, LEFT - 6, place + 4,
                gt_chart_tick_decimals(chart->step / chart->unit.size), y / chart->unit.size);
    }
    put_y_label(chart);
}

/* Bands with the same name have the same colour: names are numbered as they come. */
static size_t number_of_name(struct names *names, const char *name)
{
    size_t i = 0;
    while (i < names->count && strcmp(names->name[i], name) != 0)
        i++;
    if (i == names->count && i < BANDS_DRAWN)
        names->name[names->count++] = name;
    return i;
}

static void put_bands(struct chart *chart)
{
    const struct gt_band *band = chart->series->series.band;
    for (size_t i = 0; i < chart->series->series.bands && i < BANDS_DRAWN; i++) {
        double from = x_place(chart, band[i].from), to = x_place(chart, band[i].to);
        gt_html(chart->out,
                "<rect class=\"fill%zu\" x=\"%.1f\" y=\"%d\" height=\"%d\" width=\"%.1f\"><title>%s</title></rect>\n",
                number_of_name(&chart->names, band[i].title) % GT_CHART_COLOURS, from, TOP, bottom_of(chart) - TOP,
                fmax(to - from, 0.5), band[i].title);
    }
}

/* Only the lowest and the highest of the points that fall on one column of the picture are drawn. */
static void put_line(const struct chart *chart, size_t line)
{
    const struct gt_series_line *of = &chart->series->series.line[line];
    size_t stride = of->points > 4 * GT_CHART_WIDTH ? of->points / (2 * GT_CHART_WIDTH) : 1;
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
            gt_html(chart->out, drawing ? "L%.1f %.1f" : "M%.1f %.1f", x_place(chart, p->x), y_place(chart, p->y));
            drawing = true;
        }
    }
    gt_buffer_text(chart->out, "\"/>\n");
}

/* "64 GB", "16 cores". Round numbers are those that people ask for. */
static void put_value(struct gt_buffer *out, const char *unit, double value, bool is_round)
{
    char number[GT_HUMAN_SIZE];
    double size;
    if (gt_unit_memory(unit, &size, NULL) >= 0) {
        gt_html_escape(out, (is_round ? gt_human_round_bytes : gt_human_bytes)(number, value * size));
        return;
    }
    gt_html(out, "%s %s", (is_round ? gt_human_round_number : gt_human_number)(number, value), unit);
}

/* "limit 64 GB", "16 cores". */
static void put_limit_words(struct gt_buffer *out, const struct gt_node *series, const struct gt_mark *limit)
{
    if (strcmp(limit->title, series->unit) != 0)
        gt_html(out, "%s ", limit->title);
    put_value(out, series->unit, limit->value, true);
}

static void put_legend_entry(struct gt_buffer *out, const char *class, size_t number, const char *title)
{
    gt_html(out,
            "<li><svg class=\"key\" viewBox=\"0 0 28 12\" aria-hidden=\"true\">"
            "<path class=\"%s%zu\" d=\"M0 6H28\"/></svg> %s</li>\n",
            class, number % GT_CHART_COLOURS, title);
}

static void put_legend(struct gt_buffer *out, const struct gt_node *node)
{
    const struct gt_series *series = &node->series;
    struct names names = {.count = 0};
    gt_buffer_text(out, "<ul class=\"legend\">\n");
    for (size_t line = 0; line < series->lines; line++)
        put_legend_entry(out, "line", line, series->line[line].title);
    for (size_t i = 0; i < series->bands && i < BANDS_DRAWN; i++)
        number_of_name(&names, series->band[i].title);
    for (size_t i = 0; i < names.count && i < NAMES_SHOWN; i++)
        put_legend_entry(out, "band", i, names.name[i]);
    if (series->limit.title) {
        gt_buffer_text(out, "<li><svg class=\"key\" viewBox=\"0 0 28 12\" aria-hidden=\"true\">"
                            "<path class=\"limit\" d=\"M0 6H28\"/></svg> ");
        put_limit_words(out, node, &series->limit);
        gt_buffer_text(out, "</li>\n");
    }
    gt_buffer_text(out, "</ul>\n");
}

/* The extremes of a line's data: its points are means over some time if it has a series. */
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
    for (size_t i = 0; i < series->series.lines; i++) {
        const struct gt_series_line *line = &series->series.line[i];
        struct gt_chart_range range = values_of(line);
        if (range.least > range.most)
            gt_html(out, "%s: no values. ", line->title);
        else
            gt_html(out, "%s: from %.3f to %.3f%s%s. ", line->title, range.least, range.most, *series->unit ? " " : "",
                    series->unit);
    }
    gt_buffer_text(out, "</desc>\n");
}

static void put_limit(const struct chart *chart)
{
    struct gt_mark limit = chart->series->series.limit;
    if (!limit.title || limit.value > chart->y.most)
        return;
    double y = y_place(chart, limit.value);
    int right = chart->frame.width - RIGHT;
    gt_html(chart->out,
            "<path class=\"limit\" d=\"M%d %.1fH%d\"/><text class=\"label\" text-anchor=\"end\" x=\"%d\" y=\"%.1f\">",
            LEFT, y, right, right - 4, y + 14);
    put_limit_words(chart->out, chart->series, &limit);
    gt_buffer_text(chart->out, "</text>\n");
}

/* The dot is at the value that the job is known to have had, at the time of the highest sample. */
static void put_peak(const struct chart *chart)
{
    double x = x_place(chart, chart->highest->x), y = y_place(chart, chart->peak);
    struct gt_buffer words = {0};
    gt_buffer_text(&words, "peak ");
    put_value(&words, chart->series->unit, chart->peak, false);
    if (chart->peak > chart->highest->y * 1.005)
        gt_buffer_text(&words, ", between samples");
    int half = (int)words.length * LETTER / 2, right = chart->frame.width - RIGHT;
    gt_html(chart->out,
            "<circle class=\"peak\" r=\"4\" cx=\"%.1f\" cy=\"%.1f\"/>"
            "<text class=\"label\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
            x, y, fmin(fmax(x, LEFT + half), right - half), y - 8, words.data ? words.data : "");
    gt_buffer_release(&words);
}

static void put_shapes(struct chart *chart)
{
    find_ranges(chart);
    put_bands(chart);
    put_y_axis(chart);
    put_x_axis(chart->out, chart->series, &chart->frame, chart->frame.height);
    for (size_t line = 0; line < chart->series->series.lines; line++)
        put_line(chart, line);
    put_limit(chart);
    if (chart->highest)
        put_peak(chart);
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

/* ---- Pictures with a row for each line: strips, darker where the value is greater, and lanes of named bands ---- */

enum { ROW = 18, STRIP_STEPS = 380, SHADES = 8, LANE_BANDS_DRAWN = 2000 };

struct rows {
    struct gt_buffer *out;
    const struct gt_node *series;
    struct gt_chart_frame frame;
    struct names names;
};

/* Letters are of many widths: a picture of its own cuts the name off at the end of its box. */
static void put_lane_name(const struct rows *rows, const char *name, double x, size_t row, double width)
{
    size_t letters = width > LETTER ? (size_t)(width / LETTER) : 0;
    if (gt_utf8_columns(name) <= letters)
        gt_html(rows->out,
                "<svg x=\"%.1f\" y=\"%zu\" height=\"%d\" width=\"%.1f\">"
                "<text class=\"in\" x=\"3\" y=\"12\">%s</text></svg>\n",
                x, row * ROW + 1, ROW - 2, width - 1, name);
}

static void put_lanes(struct rows *rows)
{
    const struct gt_series *series = &rows->series->series;
    for (size_t i = 0; i < series->bands && i < LANE_BANDS_DRAWN; i++) {
        const struct gt_band *band = &series->band[i];
        size_t row = (size_t)band->lane;
        double from = place_of(&rows->frame, band->from), to = place_of(&rows->frame, band->to);
        gt_html(rows->out,
                "<rect class=\"fill%zu\" x=\"%.1f\" y=\"%zu\" height=\"%d\" width=\"%.1f\"><title>%s</title></rect>\n",
                number_of_name(&rows->names, band->title) % GT_CHART_COLOURS, from, row * ROW + 1, ROW - 2,
                fmax(to - from - 0.5, 0.5), band->title);
        put_lane_name(rows, band->title, from, row, to - from);
    }
}

/* The mean of the points of each step, as one of SHADES; -1 where nothing is known. */
static void find_shades(const struct rows *rows, size_t line, int shade[STRIP_STEPS])
{
    const struct gt_series_line *of = &rows->series->series.line[line];
    size_t at = 0;
    double span = rows->frame.x.most - rows->frame.x.least, value = NAN;
    for (int step = 0; step < STRIP_STEPS; step++) {
        double until = rows->frame.x.least + span * (step + 1) / STRIP_STEPS, sum = 0;
        size_t begin = at;
        while (at < of->points && of->point[at].x < until)
            sum += of->point[at++].y;
        value = at > begin ? sum / (double)(at - begin) : at < of->points && at > 0 ? value : NAN;
        shade[step] = isnan(value) ? -1 : (int)lround(fmin(fmax(value / 100, 0), 1) * SHADES);
    }
}

static void put_strip(struct rows *rows, size_t line)
{
    int shade[STRIP_STEPS];
    double width = (double)(rows->frame.width - LEFT - RIGHT) / STRIP_STEPS;
    find_shades(rows, line, shade);
    for (int step = 0, next; step < STRIP_STEPS; step = next) {
        for (next = step + 1; next < STRIP_STEPS && shade[next] == shade[step];)
            next++;
        if (shade[step] > 0)
            gt_html(rows->out,
                    "<rect class=\"strip\" opacity=\"%.3f\" x=\"%.1f\" y=\"%zu\" height=\"%d\" width=\"%.1f\"/>\n",
                    (double)shade[step] / SHADES, LEFT + step * width, line * ROW + 1, ROW - 3, (next - step) * width);
    }
}

static void put_row_titles(const struct rows *rows)
{
    for (size_t line = 0; line < rows->series->series.lines; line++) {
        gt_buffer_printf(rows->out, "<text x=\"0\" y=\"%zu\">", line * ROW + 13);
        gt_chart_cut(rows->out, rows->series->series.line[line].title, LEFT / LETTER - 1);
        gt_buffer_printf(rows->out, "</text><path class=\"grid\" d=\"M%d %zuH%d\"/>\n", LEFT, line * ROW + ROW,
                         rows->frame.width - RIGHT);
    }
}

static int rows_height(const struct gt_node *series)
{
    return (int)series->series.lines * ROW + BOTTOM;
}

static void put_rows(struct gt_buffer *out, const struct gt_node *series, const struct gt_chart_frame *frame)
{
    struct rows rows = {.out = out, .series = series, .frame = *frame};
    if (!(rows.frame.x.most > rows.frame.x.least))
        rows.frame.x = (struct gt_chart_range){0, 1};
    put_row_titles(&rows);
    if (gt_node_flag_bits(series) & GT_LANES)
        put_lanes(&rows);
    for (size_t line = 0; gt_node_flag_bits(series) & GT_STRIPS && line < series->series.lines; line++)
        put_strip(&rows, line);
    put_x_axis(out, series, &rows.frame, rows_height(series));
}

/* ---- A chart with its legend ---- */

bool gt_chart_has_rows(const struct gt_node *series)
{
    return gt_node_flag_bits(series) & (GT_STRIPS | GT_LANES);
}

int gt_chart_height(const struct gt_node *series, const struct gt_chart_frame *frame)
{
    return gt_chart_has_rows(series) ? rows_height(series) : frame->height;
}

void gt_chart_shapes(struct gt_buffer *out, const struct gt_node *series, const struct gt_chart_frame *frame)
{
    struct chart chart = {.out = out, .series = series, .frame = *frame};
    if (gt_chart_has_rows(series))
        put_rows(out, series, frame);
    else
        put_shapes(&chart);
}

void gt_chart_title(struct gt_buffer *out, const struct gt_node *series)
{
    bool has_unit = gt_chart_has_rows(series) && *series->unit;
    gt_html(out, has_unit ? "%s, %s" : "%s", series->title, series->unit);
}

void gt_chart_write(struct gt_buffer *out, const struct gt_node *series, int id, struct gt_chart_range x)
{
    struct gt_chart_frame frame = {x, GT_CHART_WIDTH, GT_CHART_HEIGHT};
    gt_buffer_printf(out, "<figure id=\"figure%d\">\n<figcaption>", id);
    gt_chart_title(out, series);
    gt_html(out,
            "</figcaption>\n<svg class=\"chart%s\" viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"chart%d\">\n"
            "<title id=\"chart%d\">%s</title>\n",
            gt_chart_has_rows(series) ? "" : " lines", frame.width, gt_chart_height(series, &frame), id, id,
            series->title);
    put_description(out, series);
    gt_chart_shapes(out, series, &frame);
    gt_buffer_text(out, "</svg>\n");
    if (!gt_chart_has_rows(series))
        put_legend(out, series);
    gt_buffer_text(out, "</figure>\n");
}
