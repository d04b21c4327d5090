/* A trace kept in memory, for the functions that make tables of it. */
#ifndef GT_API_PROFILE_H
#define GT_API_PROFILE_H

#include "analyse/trace/analysis.h"
#include "api/profile_data.h"

struct gt_profile {
    struct gt_trace *trace;
    int64_t origin; /* ns; the *_us columns count from here */
};

/* Arguments of events that are kept, in this order. */
enum { GT_PROFILE_WORKER_ID, GT_PROFILE_NUM_WORKERS, GT_PROFILE_PIN_MEMORY };

/* The rows that meet a caller's requests. */
struct gt_row_filter {
    const struct gt_profile *profile;
    struct gt_profile_rows *rows; /* copies */
    size_t count;
    unsigned char *verdict; /* of request and string: 0 not known yet */
    struct gt_row_span {
        int64_t start, end;
    } * hull; /* of each request by step */
};
/* -EINVAL: an expression is wrong. Strings of the trace must not grow meanwhile. */
int gt_row_filter_open(struct gt_row_filter *ret, const struct gt_profile *profile, const struct gt_profile_rows *rows,
                       size_t count, struct gt_error *error);
bool gt_row_filter_event(const struct gt_row_filter *filter, size_t event);
bool gt_row_filter_sample(const struct gt_row_filter *filter, size_t sample);
void gt_row_filter_release(struct gt_row_filter *filter);

/* An event that lasts, at a known time. */
bool gt_profile_is_row(const struct gt_trace *trace, size_t event);
/* The step an event bears itself. Of SMDebug's timelines that is what the file says; elsewhere the window it starts in. */
int32_t gt_profile_step(const struct gt_trace *trace, size_t event);

#endif
