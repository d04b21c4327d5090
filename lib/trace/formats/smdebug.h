/* SMDebug writes nodes, steps and times into the names of its files and folders. */
#ifndef GT_TRACE_FORMATS_SMDEBUG_H
#define GT_TRACE_FORMATS_SMDEBUG_H

#include "trace/format.h"

/* Returns component `back` of a path from its end (0: the name); {NULL} when there are fewer. */
struct gt_span gt_path_part(const char *path, int back);
/* Returns the number behind "rank" in the file's name: "rank3.json", "trace_rank-12.json.gz". -1 without. */
int64_t gt_path_rank(const char *path);
/* Returns "<host>_<pid>" of a file that tensorboard_trace_handler writes for each cycle of a worker:
 * "<host>_<pid>.<time in ns>.pt.trace.json"; {NULL} for other names. */
struct gt_span gt_path_worker(const char *path);

/* Tells the reading its node by the name of its file. Where files of the same name lie in different folders, which are different nodes,
 * the folder is part of it: "host1 rank 0". The `cycles` folders around the file are of cycles of one node. SMDebug's are, too. */
int gt_names_file(struct gt_reading *reading, struct gt_span node, int cycles);
/* Reads mode, step, phase and time from the folder of a Python profile, node and framework from those above. Names
 * that follow another grammar change nothing. */
int gt_names_profile(struct gt_reading *reading, const char *path, struct gt_trace_profile *profile);

#endif
