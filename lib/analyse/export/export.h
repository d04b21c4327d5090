/* Traces are written in other forms: tables for SQL, and call stacks as a flame graph. */
#ifndef GT_ANALYSE_EXPORT_EXPORT_H
#define GT_ANALYSE_EXPORT_EXPORT_H

#include "base/buffer.h"
#include "report/report.h"
#include "trace/trace.h"

struct gt_export_options {
    struct gt_trace_options trace;
    struct gt_export_request request;
};

/* Writes the file, and reports what went into it. -EINVAL: the suffix says nothing, or there is nothing to be written. */
int gt_export(struct gt_report **ret, const char *const paths[], size_t count, const struct gt_export_options *options,
              struct gt_error *error);
/* Returns true for a regular file that begins like a database of SQLite. */
bool gt_export_is_at(const char *path);

/* ---- Call stacks of a trace are added up to one tree ---- */

struct gt_flame_node {
    uint32_t parent, name; /* GT_TRACE_NONE for the root; a text of `names` */
    uint32_t depth;
    double total; /* with what it calls */
};

/* Nodes stand parents first, each followed by what it calls, in the order of names. */
struct gt_flame {
    struct gt_strings names;
    struct gt_flame_node *node;
    size_t count;
    enum gt_profile_unit unit;
    size_t profiles, without; /* that went into it; that have no stacks, or count in another unit */
};

/* Adds up the profiles that have stacks; those of several threads or files stand beside one another. Units are not mixed:
 * seconds go before samples, samples before bytes. Returns 0 or -ENOMEM; a flame without nodes has no stacks. */
int gt_flame_make(struct gt_flame *ret, const struct gt_trace *trace);
/* Append the tree as lines "main;work;fib 12" (microseconds, samples or bytes), and as an HTML page. */
void gt_flame_collapsed(const struct gt_flame *flame, struct gt_buffer *out);
void gt_flame_page(const struct gt_flame *flame, const char *title, struct gt_buffer *out);
void gt_flame_release(struct gt_flame *flame);

#endif
