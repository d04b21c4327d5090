#include "report/page/picture.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/os/library.h"
#include "report/brief.h"
#include "report/page/chart.h"

/* ---- librsvg draws a picture, cairo writes it: both are opened when they are wanted ---- */

enum { DENSITY = 2 }; /* pixels of a PNG for each of the picture's */

/* As <cairo.h> and <librsvg/rsvg.h> declare them. */
typedef int (*write_function)(void *closure, const unsigned char *data, unsigned length);

struct rectangle {
    double x, y, width, height;
};

struct cairo {
    void *(*image_create)(int format, int width, int height);
    void *(*pdf_create)(write_function write, void *closure, double width, double height);
    int (*write_png)(void *surface, write_function write, void *closure);
    int (*status)(void *surface);
    void (*finish)(void *surface);
    void (*surface_destroy)(void *surface);
    void *(*create)(void *surface);
    void (*scale)(void *context, double x, double y);
    void (*destroy)(void *context);
};

struct rsvg {
    void *(*handle)(const uint8_t *data, size_t length, void **error);
    int (*size)(void *handle, double *width, double *height);
    int (*render)(void *handle, void *context, const struct rectangle *viewport, void **error);
    void (*release)(void *handle);
};

static const struct gt_symbol cairo_symbols[] = {
    GT_SYMBOL(cairo, image_create, "cairo_image_surface_create", true),
    GT_SYMBOL(cairo, pdf_create, "cairo_pdf_surface_create_for_stream", true),
    GT_SYMBOL(cairo, write_png, "cairo_surface_write_to_png_stream", true),
    GT_SYMBOL(cairo, status, "cairo_surface_status", true),
    GT_SYMBOL(cairo, finish, "cairo_surface_finish", true),
    GT_SYMBOL(cairo, surface_destroy, "cairo_surface_destroy", true),
    GT_SYMBOL(cairo, create, "cairo_create", true),
    GT_SYMBOL(cairo, scale, "cairo_scale", true),
    GT_SYMBOL(cairo, destroy, "cairo_destroy", true),
};

static const struct gt_symbol rsvg_symbols[] = {
    GT_SYMBOL(rsvg, handle, "rsvg_handle_new_from_data", true),
    GT_SYMBOL(rsvg, size, "rsvg_handle_get_intrinsic_size_in_pixels", true),
    GT_SYMBOL(rsvg, render, "rsvg_handle_render_document", true),
    GT_SYMBOL(rsvg, release, "g_object_unref", true),
};

struct drawing {
    struct gt_library cairo_library, rsvg_library;
    struct cairo cairo;
    struct rsvg rsvg;
    void *handle, *surface;
    double width, height;
};

static int take(void *closure, const unsigned char *data, unsigned length)
{
    enum { NO_MEMORY = 1 };
    return gt_buffer_append(closure, data, length) < 0 ? NO_MEMORY : 0;
}

static int open_libraries(struct drawing *drawing, const char *kind, struct gt_error *error)
{
    static const char *const cairo_names[] = {"libcairo.so.2", NULL};
    static const char *const rsvg_names[] = {"librsvg-2.so.2", NULL};
    int status = gt_library_open(&drawing->rsvg_library, NULL, rsvg_names, rsvg_symbols,
                                 sizeof rsvg_symbols / sizeof *rsvg_symbols, &drawing->rsvg, NULL);
    if (status >= 0)
        status = gt_library_open(&drawing->cairo_library, NULL, cairo_names, cairo_symbols,
                                 sizeof cairo_symbols / sizeof *cairo_symbols, &drawing->cairo, NULL);
    return status < 0
               ? gt_error_set(error, -status,
                              "a picture as %s needs librsvg (2.52 or later) and cairo, which are not installed here "
                              "(Debian: librsvg2-2); SVG needs neither",
                              kind)
               : 0;
}

static int draw(struct drawing *drawing, double scale)
{
    void *context = drawing->cairo.create(drawing->surface);
    struct rectangle whole = {0, 0, drawing->width, drawing->height};
    drawing->cairo.scale(context, scale, scale);
    int drawn = drawing->rsvg.render(drawing->handle, context, &whole, NULL);
    drawing->cairo.destroy(context);
    return drawn && drawing->cairo.status(drawing->surface) == 0 ? 0 : -EIO;
}

static int convert(struct drawing *drawing, const struct gt_buffer *svg, bool is_pdf, struct gt_buffer *out)
{
    drawing->handle = drawing->rsvg.handle((const uint8_t *)svg->data, svg->length, NULL);
    if (!drawing->handle || !drawing->rsvg.size(drawing->handle, &drawing->width, &drawing->height))
        return -EIO;
    drawing->surface = is_pdf ? drawing->cairo.pdf_create(take, out, drawing->width * 0.75, drawing->height * 0.75)
                              : drawing->cairo.image_create(0, (int)ceil(drawing->width * DENSITY),
                                                            (int)ceil(drawing->height * DENSITY));
    if (draw(drawing, is_pdf ? 0.75 : DENSITY) < 0)
        return -EIO;
    if (!is_pdf && drawing->cairo.write_png(drawing->surface, take, out) != 0)
        return -EIO;
    drawing->cairo.finish(drawing->surface);
    return drawing->cairo.status(drawing->surface) == 0 ? 0 : -EIO;
}

/* Turns an SVG picture into PNG or PDF. */
static int convert_as(const struct gt_buffer *svg, const char *kind, struct gt_buffer *out, struct gt_error *error)
{
    struct drawing drawing = {.handle = NULL};
    int status = open_libraries(&drawing, kind, error);
    if (status >= 0 && (status = convert(&drawing, svg, !strcmp(kind, "pdf"), out)) < 0)
        gt_error_set(error, EIO, "the picture could not be drawn as %s", kind);
    if (drawing.surface)
        drawing.cairo.surface_destroy(drawing.surface);
    if (drawing.handle)
        drawing.rsvg.release(drawing.handle);
    return status; /* the libraries stay open: GLib does not bear being unloaded */
}

/* ---- The picture ---- */

enum { MOST = 64, TITLE = 30, HEADING = 24, LEGEND = 24, MARGIN = 12, KEY = 34, LETTER = 7, HEAD_LETTER = 9 };

static const char SUFFIX[] = "_over_time";

/* A picture stands on paper or on any page: light, with all that it needs. */
static const char style[] =
    "text{font-size:12px;fill:#59636e}.head{font-size:15px;font-weight:bold;fill:#1b1f24}.caption{font-size:13px;fill:#1b1f24}"
    "text.in,.axis,.label,.peak{fill:#1b1f24}.label{stroke:#fff;stroke-width:3px;paint-order:stroke}.grid{stroke:#d1d9e0}.limit{stroke:#59636e;stroke-dasharray:6 4}.strip{fill:#0060a8}"
    "path{fill:none}.line0,.line1,.line2,.line3,.line4,.line5{stroke-width:2;stroke-linejoin:round}"
    ".line0{stroke:#0060a8}.line1{stroke:#b84300;stroke-dasharray:6 3}.line2{stroke:#00735a;stroke-dasharray:2 3}"
    ".line3{stroke:#8a3fa0;stroke-dasharray:10 3 2 3}.line4{stroke:#6f5a00;stroke-dasharray:12 4}"
    ".line5{stroke:#a3123f;stroke-dasharray:4 2 1 2}"
    "rect.fill0,rect.fill1,rect.fill2,rect.fill3,rect.fill4,rect.fill5{opacity:.38}.fill0{fill:#0060a8}.fill1{fill:#b84300}"
    ".fill2{fill:#00735a}.fill3{fill:#8a3fa0}.fill4{fill:#6f5a00}.fill5{fill:#a3123f}";

enum { LEAST_WIDTH = 6, MOST_WIDTH = 100 }; /* centimetres */

struct chosen {
    const struct gt_node *series[MOST];
    size_t count;
    struct gt_chart_range x;
};

/* ---- which charts ---- */

static bool is_series(const struct gt_node *node)
{
    size_t length = strlen(node->key), end = sizeof SUFFIX - 1;
    return node->kind == GT_NODE_SERIES && length > end && !strcmp(node->key + length - end, SUFFIX);
}

static int name_length(const struct gt_node *series)
{
    return (int)(strlen(series->key) - (sizeof SUFFIX - 1));
}

/* "gpu-memory" is "gpu_memory". */
static bool is_named(const struct gt_node *series, const char *name, size_t length)
{
    const char *key = series->key;
    size_t i = 0;
    while (i < length && (key[i] == name[i] || (key[i] == '_' && name[i] == '-')))
        i++;
    return i == length && length == (size_t)name_length(series);
}

/* What is drawn of every recording that holds enough samples. */
static bool has_samples(const struct gt_report *report)
{
    const struct gt_node *node = report->page.first;
    while (node && !(is_series(node) && (is_named(node, "memory", 6) || is_named(node, "cpu", 3))))
        node = node->next;
    return node;
}

#define TOO_SHORT \
    "it holds fewer than two samples: the run was too short for them, a shorter --sleep-time (--st) takes more"

static int unknown_chart(const struct gt_report *report, const char *name, int length, struct gt_error *error)
{
    struct gt_buffer known = {0};
    const struct gt_node *node = report->page.first;
    for (; node; node = node->next)
        if (is_series(node))
            gt_buffer_printf(&known, "%s%.*s", known.length ? ", " : "", name_length(node), node->key);
    int status = gt_error_set(error, EINVAL, "no chart \"%.*s\" of this recording%s%s%s", length, name,
                              has_samples(report) ? "" : ": " TOO_SHORT, known.data ? "; there are " : "",
                              known.data ? known.data : "");
    gt_buffer_release(&known);
    return status;
}

/* Charts come in the order in which they are named. */
static int choose_one(struct chosen *chosen, const struct gt_report *report, const char *name, size_t length,
                      struct gt_error *error)
{
    const struct gt_node *node = report->page.first;
    for (; node; node = node->next)
        if (is_series(node) && is_named(node, name, length))
            break;
    if (!node)
        return unknown_chart(report, name, (int)length, error);
    if (chosen->count < MOST)
        chosen->series[chosen->count++] = node;
    return 0;
}

static int choose(struct chosen *chosen, const struct gt_report *report, const char *names, struct gt_error *error)
{
    const struct gt_node *node = report->page.first;
    int status = 0;
    for (; !names && node && chosen->count < MOST; node = node->next)
        if (is_series(node))
            chosen->series[chosen->count++] = node;
    while (names && status == 0) {
        size_t length = strcspn(names, ",");
        status = choose_one(chosen, report, names, length, error);
        names = names[length] ? names + length + 1 : NULL;
    }
    if (status == 0 && !chosen->count)
        status = gt_error_set(error, EINVAL, "this recording has no charts: " TOO_SHORT);
    chosen->x = (struct gt_chart_range){INFINITY, -INFINITY};
    for (size_t i = 0; i < chosen->count; i++)
        gt_chart_widen(&chosen->x, chosen->series[i]);
    return status;
}

/* ---- the picture ---- */

/* A picture as it is laid out. It is drawn larger or smaller by `scale`, so that its text keeps a size that can be read. */
struct layout {
    struct gt_chart_frame frame;
    double scale;
    const char *font;
};

/* Text of 12 pixels, 9 points, becomes 8 to 12 points; charts are as wide as the rest of the width allows, and high in proportion. */
static struct layout layout_of(const struct gt_report *report, struct gt_chart_range x)
{
    enum { PLOT_HEIGHT = GT_CHART_HEIGHT - GT_CHART_TOP - GT_CHART_BOTTOM, LEAST_PLOT_HEIGHT = 110 };
    double usual = GT_CHART_WIDTH + 2 * MARGIN,
           pixels = report->picture_width > 0 ? report->picture_width / 2.54 * 96 : usual;
    double scale = fmin(fmax(pixels / usual, 8.0 / 9), 12.0 / 9);
    int width = (int)lround(pixels / scale) - 2 * MARGIN;
    int plot = PLOT_HEIGHT * width / GT_CHART_WIDTH;
    plot = plot > LEAST_PLOT_HEIGHT ? plot : LEAST_PLOT_HEIGHT;
    return (struct layout){
        {x, width, plot + GT_CHART_TOP + GT_CHART_BOTTOM}, scale, report->picture_font ? report->picture_font : "sans"};
}

/* Writes a legend, whose lines break where the picture ends, and returns how high it is. `out` may be NULL. */
static int put_legend(struct gt_buffer *out, const struct layout *layout, const struct gt_node *series, int y)
{
    int x = GT_CHART_LEFT, rows = 1;
    for (size_t line = 0; line < series->series.lines; line++) {
        const char *title = series->series.line[line].title;
        int width = KEY + LETTER * (int)strlen(title);
        if (x > GT_CHART_LEFT && x + width > layout->frame.width) {
            x = GT_CHART_LEFT;
            rows++;
        }
        int base = y + LEGEND * (rows - 1) + 14;
        if (out)
            gt_html(out,
                    "<path class=\"line%zu\" d=\"M%d %dh28\"/>\n"
                    "<text class=\"key\" x=\"%d\" y=\"%d\">%s</text>\n",
                    line % GT_CHART_COLOURS, x, base - 4, x + KEY, base, title);
        x += width + 20;
    }
    return rows * LEGEND;
}

/* Writes a chart, and returns how high it is. `out` may be NULL. */
static int put_chart(struct gt_buffer *out, const struct layout *layout, const struct gt_node *series, int y)
{
    int top = gt_chart_has_rows(series) ? HEADING : 0, height = top + gt_chart_height(series, &layout->frame);
    if (out && top) {
        gt_buffer_printf(out, "<text class=\"caption\" x=\"0\" y=\"%d\">", y + 16);
        gt_chart_title(out, series);
        gt_buffer_text(out, "</text>\n");
    }
    if (out) {
        gt_buffer_printf(out, "<g transform=\"translate(0 %d)\">\n", y + top);
        gt_chart_shapes(out, series, &layout->frame);
        gt_buffer_text(out, "</g>\n");
    }
    return height + (top ? 0 : put_legend(out, layout, series, y + height)) + MARGIN;
}

static int put_charts(struct gt_buffer *out, const struct layout *layout, const struct chosen *chosen, int y)
{
    for (size_t i = 0; i < chosen->count; i++)
        y += put_chart(out, layout, chosen->series[i], y);
    return y;
}

static void put_picture(struct gt_buffer *out, const struct gt_report *report, const struct chosen *chosen)
{
    const struct gt_brief *brief = report->root.brief;
    struct layout layout = layout_of(report, chosen->x);
    int top = brief ? TITLE : 0, height = put_charts(NULL, &layout, chosen, top),
        width = layout.frame.width + 2 * MARGIN;
    gt_html(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.2f\" height=\"%.2f\"", width * layout.scale,
            height * layout.scale);
    gt_buffer_printf(out, " viewBox=\"-%d 0 %d %d\">\n<style>text{font-family:%s}%s</style>\n", MARGIN, width, height,
                     !strcmp(layout.font, "serif") ? "serif" : "sans-serif", style);
    gt_buffer_printf(out, "<rect x=\"-%d\" width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", MARGIN, width, height);
    if (brief) {
        gt_buffer_printf(out, "<text class=\"head\" x=\"0\" y=\"%d\">", TITLE - 10);
        gt_chart_cut(out, brief->title, (size_t)(layout.frame.width / HEAD_LETTER));
        gt_buffer_text(out, "</text>\n");
    }
    put_charts(out, &layout, chosen, top);
    gt_buffer_text(out, "</svg>\n");
}

int gt_picture_write(const struct gt_report *report, const char *charts, const char *kind, struct gt_buffer *out,
                     struct gt_error *error)
{
    struct chosen chosen = {.count = 0};
    struct gt_buffer svg = {0};
    if (strcmp(kind, "svg") != 0 && strcmp(kind, "png") != 0 && strcmp(kind, "pdf") != 0)
        return gt_error_set(error, EINVAL, "\"%s\" is not a picture format; choose svg, png or pdf", kind);
    if (report->picture_width != 0 && !(report->picture_width >= LEAST_WIDTH && report->picture_width <= MOST_WIDTH))
        return gt_error_set(error, EINVAL, "a picture cannot be %g cm wide; choose %d to %d", report->picture_width,
                            LEAST_WIDTH, MOST_WIDTH);
    if (report->picture_font && strcmp(report->picture_font, "sans") != 0 && strcmp(report->picture_font, "serif") != 0)
        return gt_error_set(error, EINVAL, "a picture cannot have the font \"%s\"; choose sans or serif",
                            report->picture_font);
    int status = choose(&chosen, report, charts, error);
    if (status < 0)
        return status;
    bool is_svg = !strcmp(kind, "svg");
    put_picture(is_svg ? out : &svg, report, &chosen);
    if (!is_svg && !svg.failed)
        status = convert_as(&svg, kind, out, error);
    int failed = is_svg ? out->failed : svg.failed;
    gt_buffer_release(&svg);
    return failed ? gt_error_system(error, -failed, "picture") : status;
}
