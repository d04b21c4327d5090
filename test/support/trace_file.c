#include "support/trace_file.h"
#include "support/test.h"

#include <sys/stat.h>
#include <zlib.h>

const char *trace_write(const char *folder, const char *path, const void *text, size_t length)
{
    static char kept[8][700];
    static int next;
    char *full = kept[next++ % 8];
    snprintf(full, sizeof kept[0], "%s/%s", folder, path);
    for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    return full;
}

const char *trace_write_text(const char *folder, const char *path, const char *text)
{
    return trace_write(folder, path, text, strlen(text));
}

const char *trace_write_gzip(const char *folder, const char *path, const char *text, int members)
{
    const char *full = trace_write(folder, path, "", 0);
    size_t length = strlen(text), part = length / (size_t)members;
    for (int i = 0; i < members; i++) {
        gzFile file = gzopen(full, i ? "ab" : "wb");
        assert_non_null(file);
        size_t from = part * (size_t)i, size = i == members - 1 ? length - from : part;
        assert_int_equal(gzwrite(file, text + from, (unsigned)size), size);
        assert_int_equal(gzclose(file), Z_OK);
    }
    return full;
}

struct gt_trace *trace_load(const char *path, const struct gt_trace_options *options)
{
    struct gt_trace *trace = NULL;
    struct gt_error error = {0};
    struct gt_trace_options everything = GT_TRACE_OPTIONS;
    if (gt_trace_load(&trace, &path, 1, options ? options : &everything, &error) < 0)
        fail_msg("%s", error.text);
    return trace;
}

size_t trace_event(const struct gt_trace *trace, const char *name)
{
    for (size_t i = 0; i < trace->events.count; i++)
        if (strcmp(gt_trace_text(trace, trace->events.name[i]), name) == 0)
            return i;
    fail_msg("no event \"%s\"", name);
    return 0;
}
