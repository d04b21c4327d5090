/* Files of folders that no format knows: a rank of the job may be among them. */
#ifndef GT_TRACE_PASSED_H
#define GT_TRACE_PASSED_H

#include "trace/format.h"
#include "trace/trace.h"

/* Returns what a file is that no format knows, and what to do; NULL where nothing tells. */
const char *gt_unread_about(const struct gt_trace_probe *probe);

struct gt_passed_file {
    char *path;
    const char *about; /* what it is, where something tells */
    bool is_broken;
};

struct gt_passed_files {
    struct gt_passed_file *file;
    size_t count, capacity;
    uint64_t more; /* only so many are kept, the others are counted */
};

int gt_passed_add(struct gt_passed_files *passed, const char *path, const char *about, bool is_broken,
                  struct gt_error *error);
/* By path, each once. */
void gt_passed_sort(struct gt_passed_files *passed);
void gt_passed_release(struct gt_passed_files *passed);
/* Counts a file, and names it where it is one of the first. */
void gt_passed_name(struct gt_trace_unreadable *doubtful, const struct gt_passed_file *file);
/* Returns whether two paths differ by numbers and compression alone: rank2.json is like rank10.json.gz. */
bool gt_paths_alike(const char *a, const char *b);

#endif
