/* The blocks of a job, while their processes still write them, and afterwards. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "blocks/block_event.h"
#include "view/view_model.h"

/* Calls from here on, whose blocks are in the model, in the order of their begin. */
struct reading {
    struct gt_view_model *model;
    const struct gt_block_event_list *list;
    struct gt_intervals *calls;
    double begin, at; /* seconds since the epoch: of the recording, and of the moment shown */
    uint32_t *number; /* of each name: its block in the model */
    uint32_t *parent; /* of each name: the name of what it lies in */
};

/* While a job runs, and where others put files there also afterwards, the folder of its processes is there. */
static int add_files(struct gt_block_event_list *list, const char *recording, struct gt_error *error)
{
    char folder[PATH_MAX], path[PATH_MAX];
    struct stat facts;
    list->skip_bad = list->skip_foreign = true;
    bool has_folder = gt_block_event_folder(folder, sizeof folder, recording) >= 0 && stat(folder, &facts) == 0;
    if (has_folder && (gt_block_event_list_add(list, folder, NULL) < 0 || list->count))
        return list->count > 0;
    if (gt_block_event_collected(path, sizeof path, recording) < 0 || (has_folder && !strcmp(path, folder)))
        return 0;
    return gt_block_event_list_add(list, path, error) < 0 ? 0 : 1;
}

static int by_start(const void *a, const void *b)
{
    const struct gt_interval *first = a, *second = b;
    if (first->start != second->start)
        return first->start < second->start ? -1 : 1;
    return (first->stop < second->stop) - (first->stop > second->stop); /* what holds the other before it */
}

/* What was not yet marked at the moment shown is not known then. */
static void cut(struct gt_block_event_list *list, double at)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->event[i].timestamp <= at)
            list->event[kept++] = list->event[i];
    list->count = kept;
}

/* The last ones are kept. */
static void note_length(struct gt_view_model *model, double elapsed)
{
    if (!model->call && !(model->call = calloc(GT_VIEW_CALLS, sizeof *model->call)))
        return;
    if (model->call_count == GT_VIEW_CALLS)
        memmove(model->call, model->call + 1, --model->call_count * sizeof *model->call);
    model->call[model->call_count++] = elapsed;
}

static void note_call(struct reading *reading, const struct gt_interval *call)
{
    struct gt_view_block *block = &reading->model->block[reading->number[call->name]];
    block->latest = call->start - reading->begin;
    block->latest_elapsed = call->unfinished ? NAN : call->elapsed;
    if (call->unfinished) {
        block->running++;
        block->now = fmax(0, reading->at - call->start);
        return;
    }
    if (isnan(call->elapsed))
        return;
    block->calls++;
    block->total += call->elapsed;
    block->least = fmin(block->least, call->elapsed);
    block->most = fmax(block->most, call->elapsed);
    if (!strcmp(block->name, reading->model->alone))
        note_length(reading->model, call->elapsed);
    if (block->last_count == GT_VIEW_LAST_CALLS)
        memmove(block->last, block->last + 1, sizeof block->last - sizeof *block->last);
    else
        block->last_count++;
    block->last[block->last_count - 1] = call->elapsed;
}

/* Calls of one thread follow each other here: what is still open when one begins holds it. Of each name the first call tells. */
static void find_parents(struct reading *reading)
{
    const struct gt_interval *open[64];
    size_t depth = 0;
    for (size_t i = 0; i < reading->calls->count; i++) {
        const struct gt_interval *call = &reading->calls->interval[i];
        bool is_same = i && call->source == call[-1].source && call->process == call[-1].process &&
                       call->thread == call[-1].thread;
        depth = is_same ? depth : 0;
        while (depth && open[depth - 1]->stop < call->stop)
            depth--;
        while (depth && open[depth - 1]->stop <= call->start)
            depth--;
        if (reading->parent[call->name] == GT_MAP_ABSENT && depth && open[depth - 1]->name != call->name)
            reading->parent[call->name] = open[depth - 1]->name;
        if (depth < sizeof open / sizeof *open)
            open[depth++] = call;
    }
}

/* Blocks of the model in the order in which they first began, as lives for the drawing of a tree. */
static int order(struct reading *reading, struct gt_life_place **place)
{
    struct gt_lives lives = {0};
    int status = 0;
    for (size_t i = 0; !status && i < reading->calls->count; i++) {
        const struct gt_interval *call = &reading->calls->interval[i];
        uint32_t parent = reading->parent[call->name];
        if (reading->number[call->name] != GT_MAP_ABSENT)
            continue;
        struct gt_life life = {.number = lives.count,
                               .pid = (pid_t)call->name + 1,
                               .parent = parent == GT_MAP_ABSENT ? 0 : (pid_t)parent + 1,
                               .begin = call->start};
        reading->number[call->name] = (uint32_t)lives.count;
        status = gt_lives_add(&lives, &life);
    }
    if (!status)
        status = gt_life_tree(place, &lives);
    struct gt_view_block *block = calloc(lives.count + 1, sizeof *block);
    reading->model->block = block;
    status = block ? status : -ENOMEM;
    for (size_t i = 0; !status && i < lives.count; i++) {
        const struct gt_life *life = &lives.life[(*place)[i].life];
        block[i] = (struct gt_view_block){
            .depth = (*place)[i].depth, .open = (*place)[i].open, .now = NAN, .least = NAN, .most = NAN};
        gt_life_shorten(block[i].name, sizeof block[i].name,
                        gt_strings_text(&reading->list->names, (size_t)life->pid - 1));
        reading->number[life->pid - 1] = (uint32_t)i;
    }
    reading->model->block_count = status < 0 ? 0 : lives.count;
    gt_lives_release(&lives);
    return status;
}

static int fill(struct reading *reading)
{
    size_t names = reading->list->names.count;
    struct gt_life_place *place = NULL;
    reading->number = malloc((names + 1) * sizeof *reading->number);
    reading->parent = malloc((names + 1) * sizeof *reading->parent);
    int status = reading->number && reading->parent ? 0 : -ENOMEM;
    for (size_t i = 0; !status && i < names; i++)
        reading->number[i] = reading->parent[i] = GT_MAP_ABSENT;
    if (!status) {
        find_parents(reading);
        qsort(reading->calls->interval, reading->calls->count, sizeof *reading->calls->interval, by_start);
        status = order(reading, &place);
    }
    for (size_t i = 0; !status && i < reading->calls->count; i++)
        note_call(reading, &reading->calls->interval[i]);
    free(place);
    free(reading->number);
    free(reading->parent);
    return status;
}

int gt_view_blocks_read(struct gt_view_model *model, const char *path, double begin, double at, struct gt_error *error)
{
    struct gt_block_event_list list = {0};
    struct gt_intervals calls = {0};
    struct reading reading = {.model = model, .list = &list, .calls = &calls, .begin = begin, .at = at};
    free(model->block);
    model->block = NULL;
    model->block_count = model->call_count = 0;
    int status = add_files(&list, path, error);
    if (status > 0) {
        if (model->is_past)
            cut(&list, at);
        status = gt_intervals_pair(&calls, list.event, list.count);
        if (status >= 0)
            status = gt_intervals_close(&calls, INFINITY, INFINITY);
        if (status >= 0 && calls.count)
            status = fill(&reading);
        if (status < 0)
            status = gt_error_system(error, -status, "%s", path);
    }
    gt_intervals_release(&calls);
    gt_block_event_list_release(&list);
    return status < 0 ? status : 0;
}
