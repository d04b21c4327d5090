/* A view is shown on the terminal, and takes its keys there. */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>

#include "view/view.h"

/* Is it there? It is not where ncurses was missing when this program was built. */
bool screen_is_built(void);
/* What the locale's characters are, where it says so, is no UTF-8: nothing else than ASCII is drawn, here and in reports. */
bool screen_is_ascii(void);
/* Has the C library a locale with which screen_run() can draw other characters? */
bool screen_takes_utf8(void);
/* Show it until its user leaves. Returns an exit status. */
int screen_run(struct gt_view *view);
/* A row of a list of jobs. */
struct screen_job {
    struct gt_view *view; /* of a running job; NULL: it has ended */
    struct gt_view_brief brief;
    const char *recording;
};
/* Let the user choose among several; *ret is `count` when they leave without. 0 or an exit status. */
int screen_choose(struct screen_job *jobs, size_t count, bool is_ascii, size_t *ret);

#endif
