/* Making a Python profile out of functions in any order. */
#ifndef GT_TRACE_PYTHON_PROFILE_H
#define GT_TRACE_PYTHON_PROFILE_H

#include "trace/format.h"

/* The bytes of a whole file, to be freed. -EFBIG: it is larger than any profile, or compressed. */
int gt_python_profile_bytes(struct gt_reading *reading, const char *path, char **ret, size_t *length,
                            struct gt_error *error);

/* The number of a function of that file, line and name (texts without escapes), new or known. */
struct gt_profile_maker {
    struct gt_reading *reading;
    struct gt_keys keys;
    struct gt_trace_function *function;
    size_t function_count, function_capacity;
    struct gt_trace_caller *caller; /* in the order of adding; those of one function stand together */
    size_t caller_count, caller_capacity;
    struct gt_trace_frame *frame;
    size_t frame_count, frame_capacity;
};

int64_t gt_profile_function(struct gt_profile_maker *maker, struct gt_span file, int64_t line, struct gt_span name);
/* Sort the functions by file, line and name and give everything to the profile. Also releases the maker. */
int gt_profile_finish(struct gt_profile_maker *maker, struct gt_trace_profile *profile);
void gt_profile_release(struct gt_profile_maker *maker);

#endif
