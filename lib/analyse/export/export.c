#include "analyse/export/export.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/export/tables.h"
#include "base/os/file.h"
#include "trace/profile_maker.h"
#include "trace/source.h"

/* ---- What is written ---- */

struct counts {
    uint64_t events, samples, stacks;
};

static int write_tables(struct gt_trace_source *source, const struct gt_new_file *file, struct counts *counts,
                        struct gt_error *error)
{
    int status = gt_trace_source_read(source, NULL, NULL, error); /* steps and tracks */
    if (status < 0)
        return status;
    gt_nodes_join(gt_trace_source_trace(source)); /* whose steps their events lie in */
    return gt_export_sqlite(source, file->hidden, &counts->events, &counts->samples, error);
}

/* ---- stacks ---- */

static bool has_stacks(const struct gt_trace *trace)
{
    for (size_t i = 0; i < trace->profile_count; i++)
        if (trace->profile[i].frame_count)
            return true;
    return false;
}

/* Timelines without functions have what lies within one another. */
static int find_stacks(struct gt_trace *trace, struct gt_error *error)
{
    int status = gt_call_profiles(trace, GT_CALLS_PYTHON);
    if (status >= 0 && !has_stacks(trace))
        status = gt_call_profiles(trace, GT_CALLS_CPU);
    return status < 0 ? gt_error_system(error, -status, "reading traces") : 0;
}

static int write_flame(const struct gt_trace *trace, const struct gt_new_file *file, bool is_page, const char *path,
                       struct counts *counts, struct gt_error *error)
{
    struct gt_flame flame;
    struct gt_buffer text = {0};
    int status = gt_flame_make(&flame, trace);
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    const char *first = trace->file_count ? trace->file[0].path : "", *slash = strrchr(first, '/');
    counts->stacks = flame.count;
    if (!flame.count)
        status = gt_error_set(error, EINVAL, "%s: nothing to draw: %s", path,
                              trace->profile_count ? "these profiles tell of functions, but hold no stacks"
                                                   : "neither stacks nor calls of functions in these files");
    else if (is_page)
        gt_flame_page(&flame, slash ? slash + 1 : first, &text);
    else
        gt_flame_collapsed(&flame, &text);
    int failed = text.failed || status < 0 ? text.failed : gt_file_write_all(file->fd, text.data, text.length);
    if (status >= 0 && failed)
        status = gt_error_system(error, -failed, "%s", path);
    gt_buffer_release(&text);
    gt_flame_release(&flame);
    return status;
}

/* ---- the file, and what is told of it ---- */

enum kind { SQLITE, PAGE, COLLAPSED, KINDS };

static enum kind kind_of(const char *path)
{
    static const struct {
        const char *suffix;
        enum kind kind;
    } kinds[] = {
        {".sqlite", SQLITE}, {".db", SQLITE}, {".html", PAGE}, {".collapsed", COLLAPSED}, {".folded", COLLAPSED}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (gt_path_ends(path, kinds[i].suffix))
            return kinds[i].kind;
    return KINDS;
}

static int report(struct gt_report **ret, const struct gt_trace *trace, const char *path, const struct counts *counts,
                  enum kind kind, struct gt_error *error)
{
    int status = gt_report_new(ret, "export", error);
    if (status < 0)
        return status;
    struct gt_node *root = &(*ret)->root;
    uint64_t lost = 0;
    for (size_t i = 0; i < trace->file_count; i++)
        lost += gt_damage_lost(&trace->file[i].damage);
    gt_report_text(root, "file", "File", path);
    gt_report_integer(root, "sources", "Sources", (int64_t)trace->file_count, "");
    if (kind == SQLITE) {
        gt_report_integer(root, "events", "Events", (int64_t)counts->events, "");
        gt_report_integer(root, "samples", "Samples", (int64_t)counts->samples, "");
    } else
        gt_report_integer(root, "frames", "Frames", (int64_t)counts->stacks, "");
    gt_report_integer(root, "lost", "Lost events and samples", (int64_t)lost, "");
    return gt_report_failed(*ret) ? gt_error_system(error, ENOMEM, "report") : 0;
}

static int read_flame(const char *const paths[], size_t count, const struct gt_export_options *options,
                      const struct gt_new_file *file, enum kind kind, struct counts *counts, struct gt_report **ret,
                      struct gt_error *error)
{
    struct gt_trace *trace = NULL;
    int status = gt_trace_load(&trace, paths, count, &options->trace, error);
    if (status >= 0)
        status = find_stacks(trace, error);
    if (status >= 0)
        status = write_flame(trace, file, kind == PAGE, options->request.output, counts, error);
    if (status >= 0)
        status = report(ret, trace, options->request.output, counts, kind, error);
    gt_trace_close(trace);
    return status;
}

static bool has_recording(const struct gt_trace *trace)
{
    bool found = false;
    for (size_t i = 0; i < trace->file_count; i++)
        found |= strcmp(trace->file[i].format, "gpu-tracker") == 0;
    return found;
}

static int read_tables(const char *const paths[], size_t count, const struct gt_export_options *options,
                       const struct gt_new_file *file, enum kind kind, struct counts *counts, struct gt_report **ret,
                       struct gt_error *error)
{
    struct gt_trace_source *source = NULL;
    int status = gt_trace_source_open(&source, paths, count, &options->trace, error);
    if (status >= 0)
        status = write_tables(source, file, counts, error);
    const struct gt_trace *trace = status < 0 ? NULL : gt_trace_source_trace(source);
    if (trace && !counts->events && !counts->samples && trace->profile_count)
        status = gt_error_set(error, EINVAL,
                              "%s: no events to be written: these files hold profiles (.html and .collapsed)",
                              options->request.output);
    else if (trace && !counts->events && !counts->samples && has_recording(trace))
        status = gt_error_set(error, ENODATA, "%s: no events to be written: recordings have samples, and these none",
                              options->request.output);
    if (status >= 0)
        status = report(ret, trace, options->request.output, counts, kind, error);
    gt_trace_source_close(source);
    return status;
}

int gt_export(struct gt_report **ret, const char *const paths[], size_t count, const struct gt_export_options *options,
              struct gt_error *error)
{
    struct gt_new_file file;
    struct gt_report *made = NULL;
    struct counts counts = {0};
    const char *path = options->request.output;
    enum kind kind = path ? kind_of(path) : KINDS;
    if (!path)
        return gt_error_set(error, EINVAL, "output: the file to write is missing (-o FILE)");
    if (kind == KINDS)
        return gt_error_set(error, EINVAL,
                            "output: \"%s\" does not end in .sqlite (tables), .html (a flame graph) or .collapsed "
                            "(stacks)%s",
                            path,
                            gt_path_ends(path, ".arrow") || gt_path_ends(path, ".feather")
                                ? "; in Python, pyarrow.feather.write_feather(trace.events().to_arrow(), FILE) "
                                  "writes Arrow"
                                : "");
    if (!options->request.overwrite && access(path, F_OK) == 0)
        return gt_error_exists(error, path);
    int status = gt_trace_spare_inputs(path, paths, count, options->trace.suffixes, error);
    if (status < 0)
        return status;
    status = (kind == SQLITE ? gt_new_file_begin : gt_new_file_begin_unnamed)(&file, path); /* SQLite needs a name */
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    status = (kind == SQLITE ? read_tables : read_flame)(paths, count, options, &file, kind, &counts, &made, error);
    if (status < 0)
        gt_new_file_drop(&file);
    else
        status = gt_new_file_finish(&file, options->request.overwrite, error);
    if (status >= 0)
        *ret = made;
    else
        gt_report_free(made);
    return status;
}

bool gt_export_is_at(const char *path)
{
    static const char begin[] = "SQLite format 3";
    char text[16] = "";
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return false;
    bool is_regular = fstat(file, &about) == 0 && S_ISREG(about.st_mode);
    ssize_t length = is_regular ? pread(file, text, sizeof text - 1, 0) : 0;
    close(file);
    return length > 0 && strcmp(text, begin) == 0;
}
