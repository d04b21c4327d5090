/* A job as a picture of characters: what its viewer has chosen, and the way from keys to that. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "blocks/block.h"
#include "blocks/block_event.h"
#include "view/view.h"
#include "view/view_draw.h"

struct gt_view {
    char *path;
    struct gt_view_reader *reader, *before; /* before: NULL when there is none */
    struct gt_view_choice choice;
    double until; /* the moment wanted; INFINITY: the last */
    bool is_ascii;
    struct gt_view_places places; /* of the last picture */
    char message[200];
};

static const double windows[] = {0, 1800, 300, 60};
enum { WINDOWS = sizeof windows / sizeof *windows, PAGE = 10, WHEEL = 3, STEPS = 100 };

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
    view->path = strdup(path);
    int status = view->path ? 0 : gt_error_system(error, ENOMEM, "%s", path);
    if (status >= 0)
        status = gt_view_reader_open(&view->reader, path, true, error);
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
    free(view->path);
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
    int needed = gt_view_draw_all(grid, gt_view_reader_model(view->reader), before, &view->choice, &view->places);
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

void gt_view_brief(const struct gt_view *view, struct gt_view_brief *ret)
{
    gt_view_brief_fill(ret, gt_view_reader_model(view->reader));
}

const char *gt_view_path(const struct gt_view *view)
{
    return view->path;
}

int gt_view_takes_text(const struct gt_view *view)
{
    return view->choice.is_filtering || view->choice.is_marking;
}

void gt_view_say(struct gt_view *view, const char *text)
{
    snprintf(view->message, sizeof view->message, "%s", text ? text : "");
    view->choice.message = text ? view->message : NULL;
}

/* ---- Time -------------------------------------------------------------------------------------------------------- */

static double step_of(const struct gt_view *view)
{
    const struct gt_view_model *model = gt_view_reader_model(view->reader);
    double whole = view->choice.window > 0 ? view->choice.window : model->whole;
    return fmax(whole / STEPS, fmax(model->period, 0.001));
}

/* Returns false when it is finished: with enter, or with escape, which leaves nothing. */
static bool edit(char *text, size_t size, unsigned key)
{
    size_t length = strlen(text);
    if (key == GT_VIEW_KEY_ESCAPE)
        *text = '\0';
    if (key == GT_VIEW_KEY_BACKSPACE && length)
        text[length - 1] = '\0';
    if (key >= ' ' && key < 0x7f && length + 1 < size) {
        text[length] = (char)key;
        text[length + 1] = '\0';
    }
    return key != GT_VIEW_KEY_ENTER && key != GT_VIEW_KEY_ESCAPE;
}

static void change_window(struct gt_view_choice *choice, int by)
{
    int index = 0;
    while (index + 1 < WINDOWS && windows[index] != choice->window)
        index++;
    index += by;
    choice->window = windows[index < 0 ? 0 : index < WINDOWS ? index : WINDOWS - 1];
}

/* ---- What is chosen ---------------------------------------------------------------------------------------------- */

/* The row so many below the chosen one; where none is, the first. */
static void choose_row(struct gt_view *view, long by)
{
    struct gt_view_item *item;
    const struct gt_view_picture picture = {.model = gt_view_reader_model(view->reader), .choice = &view->choice};
    long count = (long)gt_view_items(&picture, &item), at = -1;
    for (long i = 0; i < count; i++)
        if (gt_view_item_is(&item[i], &view->choice.chosen))
            at = i;
    at = at < 0 ? 0 : at + by < 0 ? 0 : at + by >= count ? count - 1 : at + by;
    if (count)
        view->choice.chosen = item[at];
    free(item);
}

/* A process has its course only where it is looked at. */
static void set_alone(struct gt_view *view, bool is_alone)
{
    const struct gt_view_item *chosen = &view->choice.chosen;
    view->choice.is_alone = is_alone && chosen->kind != GT_VIEW_NOTHING;
    gt_view_reader_look_at(view->reader, view->choice.is_alone ? chosen->name : "",
                           view->choice.is_alone ? chosen->pid : 0);
}

/* The chosen block, or else the outermost that runs; again: none. */
static void follow_block(struct gt_view *view)
{
    const struct gt_view_model *model = gt_view_reader_model(view->reader);
    struct gt_view_choice *choice = &view->choice;
    const char *name = choice->chosen.kind == GT_VIEW_BLOCK ? choice->chosen.name : "";
    bool ends = *choice->follow && (!*name || !strcmp(choice->follow, name));
    for (size_t i = 0; i < model->block_count && !*name && !ends; i++)
        name = model->block[i].running ? model->block[i].name : "";
    if (!ends && !*name)
        gt_view_say(view, "no block runs: choose one with the arrow keys");
    snprintf(choice->follow, sizeof choice->follow, "%s", ends ? "" : name);
}

int gt_view_click(struct gt_view *view, int row, int column)
{
    for (size_t i = 0; i < view->places.count; i++) {
        const struct gt_view_place *place = &view->places.place[i];
        if (place->row == row && column >= place->column && column < place->column + place->columns) {
            view->choice.chosen = place->item;
            return 1;
        }
    }
    return 0;
}

/* ---- Marks ------------------------------------------------------------------------------------------------------- */

/* PID.csv, as processes of the job leave it, in the folder that they share; another machine may have this number, too. */
static int open_marks(struct gt_block_file **ret, const char *folder, struct gt_error *error)
{
    char path[PATH_MAX];
    int status = -EEXIST;
    for (int number = 1; status == -EEXIST && number < 100; number++) {
        int length = number == 1 ? snprintf(path, sizeof path, "%s/%d.csv", folder, (int)getpid())
                                 : snprintf(path, sizeof path, "%s/%d-%d.csv", folder, (int)getpid(), number);
        status = length < (int)sizeof path ? gt_block_file_open(ret, path, 0, NULL) : -ENAMETOOLONG;
    }
    return status < 0 ? gt_error_system(error, -status, "%s", folder) : 0;
}

/* Why this moment cannot be marked, or NULL. */
static const char *mark_trouble(const struct gt_view *view, char *folder, size_t size)
{
    struct stat facts;
    if (isfinite(view->until))
        return "only this moment can be marked: end goes there";
    if (gt_view_reader_model(view->reader)->state == GT_VIEW_ENDED)
        return "the job has ended: no moment of it can be marked";
    if (gt_block_event_folder(folder, size, view->path) < 0 || stat(folder, &facts) < 0)
        return "this job keeps no blocks: gpu-tracker run --blocks";
    return access(folder, W_OK) < 0 ? "this job's blocks are kept where you may not write" : NULL;
}

/* A block of no length. */
static void mark_moment(struct gt_view *view, const char *name)
{
    char folder[PATH_MAX], text[sizeof view->message];
    struct gt_error error = {0};
    struct gt_block_file *file = NULL;
    const char *trouble = mark_trouble(view, folder, sizeof folder);
    int status = trouble ? gt_error_set(&error, EPERM, "%s", trouble) : open_marks(&file, folder, &error);
    if (status >= 0) {
        struct gt_block block = gt_block_begin_in(file, name, 0);
        gt_block_end(&block);
        status = gt_block_file_status(file, &error);
    }
    snprintf(text, sizeof text, status < 0 ? "not marked: %.150s" : "marked: %s", status < 0 ? error.text : name);
    gt_view_say(view, text);
}

static void begin_mark(struct gt_view *view)
{
    char folder[PATH_MAX];
    const char *trouble = mark_trouble(view, folder, sizeof folder);
    gt_view_say(view, trouble);
    view->choice.is_marking = !trouble;
    *view->choice.mark = '\0';
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

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
    case 'u': choice->is_binary = !choice->is_binary; return 1;
    case '?': choice->is_help = true; return 1;
    default: return 0;
    }
}

static int move(struct gt_view *view, unsigned key)
{
    double at = isfinite(view->until) ? view->until : gt_view_reader_model(view->reader)->at;
    switch (key) {
    case GT_VIEW_KEY_UP:
    case 'k': choose_row(view, -1); return 1;
    case GT_VIEW_KEY_DOWN:
    case 'j': choose_row(view, 1); return 1;
    case GT_VIEW_KEY_PAGE_UP: choose_row(view, -PAGE); return 1;
    case GT_VIEW_KEY_PAGE_DOWN: choose_row(view, PAGE); return 1;
    case GT_VIEW_KEY_WHEEL_UP: choose_row(view, -WHEEL); return 1;
    case GT_VIEW_KEY_WHEEL_DOWN: choose_row(view, WHEEL); return 1;
    case GT_VIEW_KEY_ENTER: set_alone(view, !view->choice.is_alone); return 1;
    case 'b': follow_block(view); return 1;
    case 'm': begin_mark(view); return 1;
    case GT_VIEW_KEY_LEFT: go_to(view, at - step_of(view)); return 1;
    case GT_VIEW_KEY_RIGHT: go_to(view, at + step_of(view)); return 1;
    case GT_VIEW_KEY_HOME: go_to(view, 0); return 1;
    case GT_VIEW_KEY_END: go_to(view, INFINITY); return 1;
    case ' ': go_to(view, view->choice.is_held ? INFINITY : at); return 1;
    default: return 0;
    }
}

static bool take_text(struct gt_view *view, unsigned key)
{
    struct gt_view_choice *choice = &view->choice;
    if (choice->is_filtering)
        choice->is_filtering = edit(choice->filter, sizeof choice->filter, key);
    else if (choice->is_marking)
        choice->is_marking = edit(choice->mark, sizeof choice->mark, key);
    else
        return false;
    if (key == GT_VIEW_KEY_ENTER && *choice->mark)
        mark_moment(view, choice->mark);
    if (key == GT_VIEW_KEY_ENTER)
        *choice->mark = '\0';
    return true;
}

/* One step back at a time. */
static void escape(struct gt_view *view)
{
    struct gt_view_choice *choice = &view->choice;
    if (choice->is_alone)
        set_alone(view, false);
    else if (*choice->filter)
        *choice->filter = '\0';
    else
        choice->chosen = (struct gt_view_item){.kind = GT_VIEW_NOTHING};
}

int gt_view_key(struct gt_view *view, unsigned key)
{
    struct gt_view_choice *choice = &view->choice;
    if (take_text(view, key))
        return 1;
    if (choice->is_help) {
        choice->is_help = false;
        return 1;
    }
    if (key == 'q')
        return -ECANCELED;
    if (key == GT_VIEW_KEY_ESCAPE)
        escape(view);
    int result = key == GT_VIEW_KEY_ESCAPE || choose(choice, key) || move(view, key);
    if (choice->is_alone)
        set_alone(view, true); /* another may be chosen by now */
    return result;
}
