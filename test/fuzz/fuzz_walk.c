/* The scanner's three ways of finding braces agree, and the walk ends. */
#include <stdlib.h>
#include <string.h>

#include "trace/raw_event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    free(text);
    return 0;
}
