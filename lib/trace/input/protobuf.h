/* Protocol buffers are read field by field, without a schema (https://protobuf.dev/programming-guides/encoding). */
#ifndef GT_TRACE_INPUT_PROTOBUF_H
#define GT_TRACE_INPUT_PROTOBUF_H

#include "trace/input/input.h"
#include "trace/input/walk.h"

struct gt_proto {
    const unsigned char *at, *end;
};

struct gt_proto_field {
    uint32_t number;
    uint64_t value;       /* a varint, or four or eight bytes as they stand */
    struct gt_span bytes; /* a text or a message; {NULL} for numbers */
};

static inline struct gt_proto gt_proto_of(struct gt_span bytes)
{
    const unsigned char *at = (const unsigned char *)bytes.text;
    return (struct gt_proto){at, at ? at + bytes.length : at};
}
/* Returns 1 for a field, 0 at the end, -EBADMSG. */
int gt_proto_next(struct gt_proto *proto, struct gt_proto_field *field);
double gt_proto_double(const struct gt_proto_field *field);

/* A file is a message whose fields are read one at a time, in memory for the longest. */
struct gt_proto_file {
    struct gt_input *input;
    struct gt_buffer bytes;
    size_t at;
    uint64_t offset;
    bool at_end;
};

/* Returns 1 for a field, 0 at the end, -EBADMSG where it is cut off or damaged, or the negative errors of the input. */
int gt_proto_file_next(struct gt_proto_file *file, struct gt_proto_field *field, struct gt_error *error);
void gt_proto_file_release(struct gt_proto_file *file);

#endif
