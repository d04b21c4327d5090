/* Files for tests of traces, below a temporary folder. */
#ifndef TEST_SUPPORT_TRACE_FILE_H
#define TEST_SUPPORT_TRACE_FILE_H

#include <stddef.h>

#include "trace/trace.h"

/* Write a file, with the folders on its way; returns its path, which lasts until eight more were asked for. */
const char *trace_write(const char *folder, const char *path, const void *text, size_t length);
const char *trace_write_text(const char *folder, const char *path, const char *text);
const char *trace_write_gzip(const char *folder, const char *path, const char *text, int members);
/* Load one path; a failure fails the test. Close with gt_trace_close. */
struct gt_trace *trace_load(const char *path, const struct gt_trace_options *options);
/* The number of the first event of that name; fails the test when there is none. */
size_t trace_event(const struct gt_trace *trace, const char *name);

#endif
