/* librsvg draws a picture, cairo writes it: both are opened when they are wanted. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/library.h"
#include "report/page/picture.h"

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

int gt_picture_convert(const struct gt_buffer *svg, const char *kind, struct gt_buffer *out, struct gt_error *error)
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
