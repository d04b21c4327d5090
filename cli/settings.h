/* The command's options become the library's. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "api/program.h"
#include "gpu_tracker.h"
#include "option.h"

struct gt_tracker_options settings_tracker(const struct options *options);
/* Files that are read when they are checked, and again by each tracker: what comes through a pipe is kept for that. */
int settings_keep_files(const struct gt_tracker_options *settings, struct gt_error *error);
struct gt_trace_request request_of(const struct options *options); /* the part of traces to be read */
/* How a job on a server is asked; the questions are printed with --explain. */
struct gt_folder_options settings_job(const struct options *options);
bool is_folder(const char *path);
/* Gives "-" among the operands the path of standard input. */
void name_input(int count, char **operands);

#endif
