/* Notes that processes leave in the folder of a run beside their blocks, for the run to tell at its end. */
#ifndef GT_BLOCKS_BLOCK_NOTES_H
#define GT_BLOCKS_BLOCK_NOTES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "blocks/block_source.h"

/* What the library in a program tells: how many ranges it saw, and how many it did not keep. A file PID.notes, to which each process adds
 * lines; of each program in it the last counts. */

#define GT_BLOCK_NOTE_SUFFIX ".notes"
/* The program in the process, the source, ranges seen; and not kept beyond --blocks-most, the number of names, that of levels. */
#define GT_BLOCK_NOTE_FORMAT "%llu %s %llu %llu %llu %llu\n"

struct gt_block_notes {
    uint64_t seen[GT_BLOCK_SOURCES]; /* in all processes */
};

/* Read and remove all in a folder, telling what was not kept. */
void gt_block_notes_take(struct gt_block_notes *ret, int folder, void (*warn)(void *context, const char *sentence),
                         void *context);

/* What hooks tell: a file PID.hooks, a line for each note. */

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
