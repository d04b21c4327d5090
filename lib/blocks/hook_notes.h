/* Notes that processes leave in the folder of a run beside their blocks, for the run to tell at its end: a line each. */
#ifndef GT_BLOCKS_HOOK_NOTES_H
#define GT_BLOCKS_HOOK_NOTES_H

#include <stdbool.h>
#include <sys/types.h>

#define GT_HOOK_NOTES_SUFFIX ".hooks"
#define GT_HOOK_NOTES_BEGIN "gpu-tracker " /* of each line in a file */

/* Leave one; nothing outside of a run. It outlives kill -9 of the process. */
void gt_hook_notes_add(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Is the open file one of notes, or empty? */
bool gt_hook_notes_are(int fd);
/* Hand over all notes in a folder. 0 or negative errno. */
int gt_hook_notes_read(const char *folder, void (*take)(void *context, pid_t process, const char *line), void *context);
void gt_hook_notes_remove(const char *folder);

#endif
