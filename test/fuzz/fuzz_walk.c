/* The scanner's three ways of finding braces agree, and the walk ends. */
#include <stdlib.h>
#include <string.h>

#include "trace/shapes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Once learnt, an event is read as before, and so are others of its shape or nearly so. */
static void read_shapes(const char *text, size_t length)
{
    struct gt_shapes *shapes;
    char *other = malloc(length + GT_SCAN_PAD);
    if (!other || gt_shapes_open(&shapes) < 0)
        abort();
    memcpy(other, text, length);
    memset(other + length, 0, GT_SCAN_PAD);
    for (size_t i = 0; i < length; i += 1 + length / 16) {
        struct gt_raw_event walked, met;
        struct gt_span span = {other, length};
        int status = gt_raw_event_parse(&walked, span);
        if (gt_shapes_parse(shapes, &met, span) != status)
            abort();
        if (status == 0 && (walked.start != met.start || walked.name.text != met.name.text ||
                            walked.id.text != met.id.text || walked.args.length != met.args.length ||
                            walked.external != met.external || walked.has_others != met.has_others))
            abort();
        other[i] = other[i] == '1' ? '"' : '1';
    }
    gt_shapes_close(shapes);
    free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + GT_SCAN_PAD + 1);
    if (!text)
        abort();
    text[0] = '{';
    memcpy(text + 1, data, size);
    memset(text + size + 1, 0, GT_SCAN_PAD);
    size_t end = gt_scan_object_end(text, 0, size + 1);
    if (end != gt_scan_object_end_plain(text, 0, size + 1) || end != gt_scan_object_end_narrow(text, 0, size + 1))
        abort();
    struct gt_raw_event item;
    struct gt_buffer plain = {0};
    int64_t number;
    double real;
    if (end && gt_raw_event_parse(&item, (struct gt_span){text, end}) == 0) {
        gt_span_unescape(item.name, &plain);
        gt_span_decimal(item.id.text ? item.id : item.text, 9, &number);
        gt_span_double(item.id.text ? item.id : item.text, &real);
    }
    gt_buffer_release(&plain);
    if (end)
        read_shapes(text, end);
    free(text);
    return 0;
}
