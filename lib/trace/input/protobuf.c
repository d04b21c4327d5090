#include "trace/input/protobuf.h"

#include <errno.h>

enum { VARINT = 0, EIGHT = 1, LENGTH = 2, FOUR = 5, BLOCK = 256 * 1024, LONGEST = 1 << 30, LONGEST_HEAD = 20 };

static bool read_varint(struct gt_proto *proto, uint64_t *ret)
{
    *ret = 0;
    for (int shift = 0; shift < 70 && proto->at < proto->end; shift += 7) {
        unsigned char byte = *proto->at++;
        if (shift < 64)
            *ret |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* Up to the length of a text or message, which may lie beyond the end. */
static bool read_head(struct gt_proto *proto, struct gt_proto_field *field, int *type, uint64_t *length)
{
    uint64_t tag;
    if (!read_varint(proto, &tag) || !(tag >> 3) || tag >> 3 > UINT32_MAX)
        return false;
    *field = (struct gt_proto_field){.number = (uint32_t)(tag >> 3)};
    *type = (int)(tag & 7);
    *length = *type == EIGHT ? 8 : *type == FOUR ? 4 : 0;
    if (*type == VARINT)
        return read_varint(proto, &field->value);
    if (*type == LENGTH)
        return read_varint(proto, length);
    return *type == EIGHT || *type == FOUR;
}

int gt_proto_next(struct gt_proto *proto, struct gt_proto_field *field)
{
    int type;
    uint64_t length;
    if (proto->at == proto->end)
        return 0;
    if (!read_head(proto, field, &type, &length) || length > (uint64_t)(proto->end - proto->at))
        return -EBADMSG;
    if (type == LENGTH)
        field->bytes = (struct gt_span){(const char *)proto->at, (size_t)length};
    else if (type != VARINT)
        memcpy(&field->value, proto->at, (size_t)length); /* little-endian, as all machines are that this runs on */
    proto->at += length;
    return 1;
}

double gt_proto_double(const struct gt_proto_field *field)
{
    double value;
    memcpy(&value, &field->value, sizeof value);
    return value;
}

/* ---- files ---- */

/* Makes `wanted` bytes be there, or as many as the file has. */
static int fill(struct gt_proto_file *file, size_t wanted, struct gt_error *error)
{
    struct gt_buffer *bytes = &file->bytes;
    if (bytes->length - file->at >= wanted || file->at_end)
        return 0;
    if (file->at) {
        memmove(bytes->data, bytes->data + file->at, bytes->length - file->at);
        bytes->length -= file->at;
        file->offset += file->at;
        file->at = 0;
    }
    size_t more = wanted - bytes->length > BLOCK ? wanted - bytes->length : BLOCK;
    if (gt_buffer_reserve(bytes, more) < 0)
        return gt_error_system(error, ENOMEM, "reading a message");
    ssize_t got = gt_input_read(file->input, bytes->data + bytes->length, more, error);
    if (got < 0)
        return (int)got;
    bytes->length += (size_t)got;
    file->at_end = (size_t)got < more;
    return 0;
}

/* Takes `head` bytes and the `length` that follow them; -EBADMSG where the file ends before. */
static int take(struct gt_proto_file *file, size_t head, uint64_t length, struct gt_span *ret, struct gt_error *error)
{
    if (length > LONGEST)
        return -EBADMSG;
    int status = fill(file, head + (size_t)length, error);
    if (status < 0)
        return status;
    if (file->bytes.length - file->at < head + length)
        return -EBADMSG;
    *ret = (struct gt_span){file->bytes.data + file->at, head + (size_t)length};
    file->at += head + (size_t)length;
    return 1;
}

/* What is there of the next head. */
static struct gt_proto head_of(const struct gt_proto_file *file)
{
    return gt_proto_of((struct gt_span){file->bytes.data + file->at, file->bytes.length - file->at});
}

int gt_proto_file_next(struct gt_proto_file *file, struct gt_proto_field *field, struct gt_error *error)
{
    int type, status = fill(file, LONGEST_HEAD, error);
    uint64_t length;
    struct gt_span whole;
    if (status < 0)
        return status;
    struct gt_proto proto = head_of(file);
    const unsigned char *begin = proto.at;
    if (proto.at == proto.end)
        return 0;
    if (!read_head(&proto, field, &type, &length))
        return -EBADMSG;
    status = take(file, (size_t)(proto.at - begin), length, &whole, error);
    if (status <= 0)
        return status;
    proto = gt_proto_of(whole);
    return gt_proto_next(&proto, field);
}

void gt_proto_file_release(struct gt_proto_file *file)
{
    gt_buffer_release(&file->bytes);
}
