/* Lines of a file are read with memory for the longest of them. */
#ifndef GT_TRACE_INPUT_LINES_H
#define GT_TRACE_INPUT_LINES_H

#include "trace/input/input.h"
#include "trace/input/walk.h"

struct gt_lines {
    struct gt_input *input;
    struct gt_buffer text;
    size_t at, searched;
    uint64_t offset; /* of the text in the file */
    bool at_end;
    uint64_t too_long; /* lines that were left out because they are longer than 64 MB */
};

/* Returns 1 and a line without its end, 0 at the end, or the negative errors of the input. */
int gt_lines_next(struct gt_lines *lines, struct gt_span *ret, struct gt_error *error);
void gt_lines_release(struct gt_lines *lines);

#endif
