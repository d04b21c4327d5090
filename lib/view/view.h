/* A job as a picture of characters, from its recording: while it runs, after its end, and at any moment between. */
#ifndef GT_VIEW_VIEW_H
#define GT_VIEW_VIEW_H

#include "gpu_tracker.h"
#include "view/grid.h"
#include "view/view_brief.h"

struct gt_view;
struct gt_view_options {
    const char *against; /* the recording of an earlier run, drawn beneath; NULL: none */
    int ascii;           /* no other characters */
    double moment;       /* seconds after the begin; 0: the last moment there is */
    int is_still;        /* one frame that nobody steers: no line about keys */
};

/* The recording may still be written, also on another machine. It is opened for a moment at each update. */
int gt_view_open(struct gt_view **ret, const char *path, const struct gt_view_options *options, struct gt_error *error);
/* Read what is new. 1: there was something; 0: nothing. */
int gt_view_update(struct gt_view *view, struct gt_error *error);
/* Draw into rows * columns cells. */
void gt_view_draw(struct gt_view *view, int columns, int rows, struct gt_view_cell *cells);
/* The same as text: lines without control characters. Free with free(). As many lines as there is to tell, `rows` at most. */
int gt_view_text(struct gt_view *view, int columns, int rows, char **ret, struct gt_error *error);

/* Keys that are no characters. */
enum gt_view_key {
    GT_VIEW_KEY_UP = 0x110000,
    GT_VIEW_KEY_DOWN,
    GT_VIEW_KEY_LEFT,
    GT_VIEW_KEY_RIGHT,
    GT_VIEW_KEY_HOME,
    GT_VIEW_KEY_END,
    GT_VIEW_KEY_PAGE_UP,
    GT_VIEW_KEY_PAGE_DOWN,
    GT_VIEW_KEY_ENTER,
    GT_VIEW_KEY_ESCAPE,
    GT_VIEW_KEY_BACKSPACE,
    GT_VIEW_KEY_WHEEL_UP,
    GT_VIEW_KEY_WHEEL_DOWN,
};
/* A key was pressed. 1: draw again; 0: it means nothing; -ECANCELED: the user wants to leave. */
int gt_view_key(struct gt_view *view, unsigned key);
/* The first button of the mouse, on a row of the last picture. Results as of gt_view_key. */
int gt_view_click(struct gt_view *view, int row, int column);
/* The recording. */
const char *gt_view_path(const struct gt_view *view);
/* A text is being typed, and every character belongs to it. */
int gt_view_takes_text(const struct gt_view *view);
/* The job as a row of a list. */
void gt_view_brief(const struct gt_view *view, struct gt_view_brief *ret);
/* Say something in the last line until it is called again; NULL: nothing. */
void gt_view_say(struct gt_view *view, const char *text);
void gt_view_close(struct gt_view *view);

#endif
