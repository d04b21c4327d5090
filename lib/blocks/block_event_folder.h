/* The folder in which the processes of a run leave their code blocks until it ends. It holds a mark, so that only a folder that was
 * made so is ever emptied; and of what lies in it only what processes wrote there goes. Links are never followed. */
#ifndef GT_STORE_BLOCK_EVENT_FOLDER_H
#define GT_STORE_BLOCK_EVENT_FOLDER_H

#include <stdbool.h>

#include "base/error.h"

/* Make it. One of that name is -EEXIST, or emptied with `overwrite` where nothing but such files of an earlier run is in it. */
int gt_block_event_folder_make(const char *path, bool overwrite, struct gt_error *error);
/* Is it still the one that this process made? A negative errno and a sentence: it was removed, or another is there. */
int gt_block_event_folder_check(const char *path, struct gt_error *error);
/* Remove it if no process left anything: 1 it is gone, 0 there is something in it. */
int gt_block_event_folder_drop_unused(const char *path);
/* Remove the files that processes left, and the folder where nothing else is in it. */
void gt_block_event_folder_drop(const char *path);

#endif
