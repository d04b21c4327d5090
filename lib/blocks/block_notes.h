/* Notes that processes leave in the folder of a run beside their blocks, for the run to report at its end: a file
 * PID.notes for each process, a line for each note. A note begins with a word, which values follow:
 *
 *   source NAME                          something of this source was seen
 *   dropped PROGRAM CALLS NAMES LEVELS   ranges not kept: beyond --blocks-most, too many names, too many levels;
 *                                        the last note of each program in the process counts
 *   lost CALLS CAUSE                     calls that could not be written; the last counts
 *   memory A B C D BLOCK                 see inject/hooks.c
 *   python, without, off, matched, near, names   of hooks in interpreters, see block_injection.c */
#ifndef GT_BLOCKS_BLOCK_NOTES_H
#define GT_BLOCKS_BLOCK_NOTES_H

#include <stdbool.h>
#include <sys/types.h>

#define GT_BLOCK_NOTES_SUFFIX ".notes"

/* Leave a note; nothing outside of a run. It outlives kill -9 of the process, and keeps errno. */
void gt_block_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Is the open file one of notes, or empty? */
bool gt_block_notes_are(int fd);
/* Hand over all notes in a folder, those of one process after another. 0 or negative errno. */
int gt_block_notes_read(const char *folder, void (*take)(void *context, pid_t process, const char *line),
                        void *context);

#endif
