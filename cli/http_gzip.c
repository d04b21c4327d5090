/* Texts in gzip's form (RFC 1952), for clients that ask for it: the text of many groups is a tenth as long. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <zlib.h>

#include "http.h"

/* "gzip;q=0" means that it is not wanted (RFC 9110, 12.5.3). */
static bool is_refused(const char *parameters, size_t length)
{
    const char *q = memmem(parameters, length, "q=", 2);
    return q && strtod(q + 2, NULL) <= 0;
}

bool http_wants_gzip(const char *header)
{
    for (const char *item = header; item; item = strchr(item, ',')) {
        item += strspn(item, ", \t");
        size_t name = strcspn(item, ";, \t"), length = strcspn(item, ",");
        bool is_gzip = (name == 4 && !strncasecmp(item, "gzip", 4)) || (name == 6 && !strncasecmp(item, "x-gzip", 6));
        if (is_gzip)
            return !is_refused(item, length);
    }
    return false;
}

char *http_gzip(const char *text, size_t length, size_t *ret_length)
{
    enum { GZIP_FRAME = 16, FAST = 1, MEMORY = 8 };
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)text, .avail_in = (uInt)length};
    if (deflateInit2(&stream, FAST, Z_DEFLATED, MAX_WBITS + GZIP_FRAME, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    size_t room = deflateBound(&stream, length);
    char *packed = malloc(room);
    stream.next_out = (unsigned char *)packed;
    stream.avail_out = (uInt)room;
    bool is_whole = packed && deflate(&stream, Z_FINISH) == Z_STREAM_END;
    *ret_length = stream.total_out;
    deflateEnd(&stream);
    if (is_whole)
        return packed;
    free(packed);
    return NULL;
}
