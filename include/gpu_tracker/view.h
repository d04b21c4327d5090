/* A job as a picture of characters, from its recording: while it runs, after its end, and at any moment between. Part of
 * gpu_tracker.h. */
#ifndef GPU_TRACKER_VIEW_H
#define GPU_TRACKER_VIEW_H

#ifndef GPU_TRACKER_H
#error "include gpu_tracker.h"
#endif

/* How a character is shown; without colours all are told apart by words. */
enum gt_view_style {
    GT_VIEW_PLAIN,
    GT_VIEW_DIM,
    GT_VIEW_BOLD,
    GT_VIEW_TITLE,
    GT_VIEW_CURVE,
    GT_VIEW_GOOD,
    GT_VIEW_BAD,
    GT_VIEW_CHOSEN,
    GT_VIEW_STYLES
};

struct gt_view_cell {
    uint32_t character; /* Unicode; 0: the right half of a wide one */
    uint8_t style;      /* enum gt_view_style */
};

struct gt_view;
struct gt_view_options {
    size_t size;
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

/* One line about a job that this process tracks: how it is, how far, and how long it will still take. */
struct gt_status;
struct gt_status_options {
    size_t size;
    const char *blocks; /* the folder of its code blocks, of which some are counted, or NULL */
    char *const *words; /* its command, of which earlier runs tell how long it takes; NULL: none is asked */
    int ascii;          /* no other characters */
};
/* The tracker stays open until the line is closed. */
int gt_status_open(struct gt_status **ret, const struct gt_tracker *tracker, const struct gt_status_options *options,
                   struct gt_error *error);
/* Without control characters, of `columns` columns at most, and `size` bytes with the NUL at the end. */
void gt_status_text(struct gt_status *status, int columns, char *ret, size_t size);
/* How much of the job is done, from 0 to 1, as the last text tells; NaN: not known. */
double gt_status_share(const struct gt_status *status);
void gt_status_close(struct gt_status *status);

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
};
/* A key was pressed. 1: draw again; 0: it means nothing; -ECANCELED: the user wants to leave. */
int gt_view_key(struct gt_view *view, unsigned key);
/* A text is being typed, and every character belongs to it. */
int gt_view_takes_text(const struct gt_view *view);
/* Say something in the last line until it is called again; NULL: nothing. */
void gt_view_say(struct gt_view *view, const char *text);
/* Has the job ended, and its recording with it? */
int gt_view_has_ended(const struct gt_view *view);
void gt_view_close(struct gt_view *view);

#endif
