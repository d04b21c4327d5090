/* A job as a picture of characters: what its viewer has chosen, and the way from keys to that. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "view/view_draw.h"

struct gt_view {
    struct gt_view_reader *reader, *before; /* before: NULL when there is none */
    struct gt_view_choice choice;
    double until; /* the moment wanted; INFINITY: the last */
    bool is_ascii;
    char message[200];
};

static const double windows[] = {0, 1800, 300, 60};
enum { WINDOWS = sizeof windows / sizeof *windows, PAGE = 10, STEPS = 100 };

/* Past the end it goes on with the job. */
static void go_to(struct gt_view *view, double moment)
{
    const struct gt_view_model *model = gt_view_reader_model(view->reader);
    view->until = moment >= model->whole ? INFINITY : fmax(moment, 0);
    view->choice.is_held = isfinite(view->until);
}

int gt_view_open(struct gt_view **ret, const char *path, const struct gt_view_options *options, struct gt_error *error)
{
    struct gt_view *view = calloc(1, sizeof *view);
    if (!view)
        return gt_error_system(error, ENOMEM, "%s", path);
    view->choice.is_still = options->is_still;
    view->is_ascii = options->ascii;
    view->until = INFINITY;
    int status = gt_view_reader_open(&view->reader, path, true, error);
    if (status >= 0 && options->against)
        status = gt_view_reader_open(&view->before, options->against, false, error);
    if (status >= 0)
        status = gt_view_update(view, error); /* it is known then how long the recording is */
    if (status >= 0 && options->moment > 0) {
        go_to(view, options->moment);
        status = gt_view_update(view, error);
    }
    if (status < 0)
        gt_view_close(view);
    else
        *ret = view;
    return status;
}

void gt_view_close(struct gt_view *view)
{
    if (!view)
        return;
    gt_view_reader_close(view->reader);
    gt_view_reader_close(view->before);
    free(view);
}

int gt_view_update(struct gt_view *view, struct gt_error *error)
{
    int64_t now = gt_clock_ns(CLOCK_REALTIME);
    int status = gt_view_reader_update(view->reader, view->until, now, error);
    if (status < 0 || !view->before)
        return status;
    int other = gt_view_reader_update(view->before, gt_view_reader_model(view->reader)->at, now, error);
    return other < 0 ? other : status;
}

static int draw(struct gt_view *view, const struct gt_view_grid *grid)
{
    const struct gt_view_model *before = view->before ? gt_view_reader_model(view->before) : NULL;
    int needed = gt_view_draw_all(grid, gt_view_reader_model(view->reader), before, &view->choice);
    if (view->is_ascii)
        gt_cells_to_ascii(grid);
    return needed;
}

void gt_view_draw(struct gt_view *view, int columns, int rows, struct gt_view_cell *cells)
{
    draw(view, &(struct gt_view_grid){columns, rows, cells});
}

int gt_view_text(struct gt_view *view, int columns, int rows, char **ret, struct gt_error *error)
{
    struct gt_buffer text = {0};
    struct gt_view_grid grid = {columns, rows, calloc((size_t)columns * (size_t)rows, sizeof *grid.cell)};
    if (!grid.cell)
        return gt_error_system(error, ENOMEM, "view");
    int needed = draw(view, &grid);
    if (needed < rows) {
        grid.rows = needed;
        draw(view, &grid);
    }
    int status = gt_cells_write(&grid, &text);
    free(grid.cell);
    if (status < 0) {
        gt_buffer_release(&text);
        return gt_error_system(error, -status, "view");
    }
    *ret = text.data;
    return 0;
}

int gt_view_takes_text(const struct gt_view *view)
{
    return view->choice.is_filtering;
}

void gt_view_say(struct gt_view *view, const char *text)
{
    snprintf(view->message, sizeof view->message, "%s", text ? text : "");
    view->choice.message = text ? view->message : NULL;
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

static double step_of(const struct gt_view *view)
{
    const struct gt_view_model *model = gt_view_reader_model(view->reader);
    double whole = view->choice.window > 0 ? view->choice.window : model->whole;
    return fmax(whole / STEPS, fmax(model->period, 0.001));
}

static void edit_filter(struct gt_view_choice *choice, unsigned key)
{
    size_t length = strlen(choice->filter);
    if (key == GT_VIEW_KEY_ENTER || key == GT_VIEW_KEY_ESCAPE)
        choice->is_filtering = false;
    if (key == GT_VIEW_KEY_ESCAPE)
        *choice->filter = '\0';
    if (key == GT_VIEW_KEY_BACKSPACE && length)
        choice->filter[length - 1] = '\0';
    if (key >= ' ' && key < 0x7f && length + 1 < sizeof choice->filter) {
        choice->filter[length] = (char)key;
        choice->filter[length + 1] = '\0';
    }
}

static void change_window(struct gt_view_choice *choice, int by)
{
    int index = 0;
    while (index + 1 < WINDOWS && windows[index] != choice->window)
        index++;
    index += by;
    choice->window = windows[index < 0 ? 0 : index < WINDOWS ? index : WINDOWS - 1];
}

static void scroll(struct gt_view *view, long by)
{
    size_t count = gt_view_reader_model(view->reader)->process_count, *at = &view->choice.scroll;
    if (by < 0)
        *at = *at > (size_t)-by ? *at - (size_t)-by : 0;
    else
        *at = *at + (size_t)by < count ? *at + (size_t)by : count ? count - 1 : 0;
}

static int choose(struct gt_view_choice *choice, unsigned key)
{
    switch (key) {
    case '1': choice->hides_gpus = !choice->hides_gpus; return 1;
    case '2': choice->hides_blocks = !choice->hides_blocks; return 1;
    case '3': choice->hides_processes = !choice->hides_processes; return 1;
    case '4': choice->hides_curves = !choice->hides_curves; return 1;
    case 't': choice->is_flat = !choice->is_flat; return 1;
    case 's':
        choice->sort = choice->is_flat ? (choice->sort + 1) % GT_VIEW_SORTS : choice->sort;
        choice->is_flat = true;
        return 1;
    case 'S': choice->is_backwards = !choice->is_backwards; return 1;
    case 'c': choice->shows_command = !choice->shows_command; return 1;
    case '/': choice->is_filtering = true; return 1;
    case '+':
    case '=': change_window(choice, 1); return 1;
    case '-': change_window(choice, -1); return 1;
    case '?': choice->is_help = true; return 1;
    default: return 0;
    }
}

static int move(struct gt_view *view, unsigned key)
{
    double at = isfinite(view->until) ? view->until : gt_view_reader_model(view->reader)->at;
    switch (key) {
    case GT_VIEW_KEY_UP:
    case 'k': scroll(view, -1); return 1;
    case GT_VIEW_KEY_DOWN:
    case 'j': scroll(view, 1); return 1;
    case GT_VIEW_KEY_PAGE_UP: scroll(view, -PAGE); return 1;
    case GT_VIEW_KEY_PAGE_DOWN: scroll(view, PAGE); return 1;
    case GT_VIEW_KEY_LEFT: go_to(view, at - step_of(view)); return 1;
    case GT_VIEW_KEY_RIGHT: go_to(view, at + step_of(view)); return 1;
    case GT_VIEW_KEY_HOME: go_to(view, 0); return 1;
    case GT_VIEW_KEY_END: go_to(view, INFINITY); return 1;
    case ' ': go_to(view, view->choice.is_held ? INFINITY : at); return 1;
    default: return 0;
    }
}

int gt_view_key(struct gt_view *view, unsigned key)
{
    struct gt_view_choice *choice = &view->choice;
    if (choice->is_filtering) {
        edit_filter(choice, key);
        return 1;
    }
    if (choice->is_help) {
        choice->is_help = false;
        return 1;
    }
    if (key == 'q')
        return -ECANCELED;
    if (key == GT_VIEW_KEY_ESCAPE)
        *choice->filter = '\0';
    return key == GT_VIEW_KEY_ESCAPE || choose(choice, key) || move(view, key);
}
