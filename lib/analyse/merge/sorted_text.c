#include "analyse/merge/sorted_text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"

enum { DEFAULT_MEMORY = 16 << 20, READ_MEMORY = 32 << 20, LEAST_BLOCK = 16 << 10, MOST_BLOCK = 256 << 10 };

/* Pieces follow one another by time, then by rank. */
struct place {
    int64_t time, rank;
};

struct piece {
    struct place place;
    size_t from, length;
};

/* In the file a piece is its head and its text. */
struct head {
    struct place place;
    uint64_t length;
};

/* A run that is read back; the next piece lies whole in the block. */
struct run {
    off_t from, to; /* of what was not yet read */
    char *block;
    size_t at, length, capacity;
    struct head next;
    bool is_at_end;
};

struct gt_sorted_text {
    struct gt_buffer text;
    size_t memory;
    struct piece *piece, *other; /* `other` has room for as many, to merge into */
    size_t count, capacity, other_capacity;
    size_t known;      /* bytes of text that are pieces, with the head of the next */
    struct place last; /* of the last run */
    char folder[PATH_MAX];
    int fd;
    off_t end;
    struct run *run;
    size_t run_count, run_capacity;
    uint32_t *heap; /* runs that have a piece, the earliest on top */
    size_t heap_count;
};

static bool is_up(struct place x, struct place y)
{
    return x.time != y.time ? x.time < y.time : x.rank <= y.rank;
}

/* Its head is filled in when it is whole. */
static void begin_piece(struct gt_sorted_text *sorted)
{
    static const struct head none;
    gt_buffer_append(&sorted->text, &none, sizeof none);
    sorted->known = sorted->text.length;
}

int gt_sorted_text_open(struct gt_sorted_text **ret, const char *beside, size_t memory, struct gt_error *error)
{
    struct gt_sorted_text *sorted = calloc(1, sizeof *sorted);
    const char *slash = strrchr(beside, '/');
    if (!sorted)
        return gt_error_system(error, ENOMEM, "merging");
    snprintf(sorted->folder, sizeof sorted->folder, "%.*s", slash ? (int)(slash - beside) + 1 : 1,
             slash ? beside : ".");
    sorted->memory = memory ? memory : DEFAULT_MEMORY;
    sorted->fd = -1;
    *ret = sorted;
    begin_piece(sorted);
    return 0;
}

void gt_sorted_text_close(struct gt_sorted_text *sorted)
{
    if (!sorted)
        return;
    for (size_t i = 0; i < sorted->run_count; i++)
        free(sorted->run[i].block);
    if (sorted->fd >= 0)
        close(sorted->fd);
    gt_buffer_release(&sorted->text);
    free(sorted->piece);
    free(sorted->other);
    free(sorted->run);
    free(sorted->heap);
    free(sorted);
}

struct gt_buffer *gt_sorted_text_end(struct gt_sorted_text *sorted)
{
    return &sorted->text;
}

/* ---- the pieces in memory ---- */

/* Behind the pieces that follow one another in time from `from` on. */
static size_t ascent_end(const struct piece *piece, size_t from, size_t count)
{
    while (from + 1 < count && is_up(piece[from].place, piece[from + 1].place))
        from++;
    return from + 1 < count ? from + 1 : count;
}

/* Merge two neighbouring ascents a..b and b..c. */
static void merge_pieces(const struct piece *from, struct piece *to, size_t a, size_t b, size_t c)
{
    for (size_t i = a, j = b, k = a; k < c; k++)
        to[k] = j == c || (i < b && is_up(from[i].place, from[j].place)) ? from[i++] : from[j++];
}

/* Traces are sorted in long stretches: neighbours are merged until one ascent is left. */
static int sort(struct gt_sorted_text *sorted)
{
    size_t count = sorted->count;
    if (ascent_end(sorted->piece, 0, count) == count)
        return 0;
    if (GT_GROW_TO(sorted->other, sorted->other_capacity, sorted->capacity) < 0)
        return -ENOMEM;
    for (bool is_sorted = false; !is_sorted;) {
        is_sorted = true;
        for (size_t a = 0, c; a < count; a = c) {
            size_t b = ascent_end(sorted->piece, a, count);
            c = b < count ? ascent_end(sorted->piece, b, count) : b;
            merge_pieces(sorted->piece, sorted->other, a, b, c);
            is_sorted = is_sorted && a == 0 && c == count;
        }
        struct piece *piece = sorted->piece;
        size_t capacity = sorted->capacity;
        sorted->piece = sorted->other;
        sorted->capacity = sorted->other_capacity;
        sorted->other = piece;
        sorted->other_capacity = capacity;
    }
    return 0;
}

/* ---- runs ---- */

static int open_file(struct gt_sorted_text *sorted, struct gt_error *error)
{
    char path[PATH_MAX + 32];
    if (sorted->fd >= 0)
        return 0;
    sorted->fd = open(sorted->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (sorted->fd < 0) { /* not every file system knows files without names */
        snprintf(path, sizeof path, "%s/.gpu-tracker-merge-XXXXXX", sorted->folder);
        sorted->fd = mkostemp(path, O_CLOEXEC);
        if (sorted->fd >= 0)
            unlink(path);
    }
    return sorted->fd < 0 ? gt_error_system(error, errno, "%s: a file for sorting", sorted->folder) : 0;
}

static int write_pieces(struct gt_sorted_text *sorted, struct gt_buffer *out)
{
    int status = 0;
    for (size_t i = 0; i < sorted->count && status >= 0; i++) {
        const struct piece *piece = &sorted->piece[i];
        gt_buffer_append(out, sorted->text.data + piece->from - sizeof(struct head),
                         piece->length + sizeof(struct head));
        if (out->failed || (out->length < MOST_BLOCK && i + 1 < sorted->count))
            continue;
        status = gt_file_write_all_at(sorted->fd, out->data, out->length, sorted->end);
        sorted->end += (off_t)out->length;
        gt_buffer_clear(out);
    }
    return out->failed ? out->failed : status;
}

/* Pieces that are in order lie as they are to be written. */
static int write_text(struct gt_sorted_text *sorted)
{
    size_t length = sorted->known - sizeof(struct head);
    int status = 0;
    for (size_t at = 0, most; at < length && status >= 0; at += most) {
        most = length - at < MOST_BLOCK ? length - at : MOST_BLOCK;
        status = gt_file_write_all_at(sorted->fd, sorted->text.data + at, most, sorted->end);
        sorted->end += (off_t)most;
    }
    return status;
}

/* The last run goes on where the pieces follow its last one; else they begin another. */
static struct run *run_for(struct gt_sorted_text *sorted)
{
    if (sorted->run_count && is_up(sorted->last, sorted->piece[0].place))
        return &sorted->run[sorted->run_count - 1];
    struct run *run = GT_GROW(sorted, run);
    if (run)
        *run = (struct run){.from = sorted->end};
    return run;
}

/* Lay all pieces aside. */
static int spill(struct gt_sorted_text *sorted, struct gt_error *error)
{
    struct gt_buffer out = {0};
    int status = open_file(sorted, error);
    if (status < 0)
        return status;
    bool is_sorted = ascent_end(sorted->piece, 0, sorted->count) == sorted->count;
    status = sort(sorted);
    struct run *run = status < 0 ? NULL : run_for(sorted);
    if (!run)
        status = -ENOMEM;
    if (status >= 0)
        status = is_sorted ? write_text(sorted) : write_pieces(sorted, &out);
    if (run)
        run->to = sorted->end;
    sorted->last = sorted->piece[sorted->count - 1].place;
    gt_buffer_release(&out);
    sorted->count = 0;
    gt_buffer_clear(&sorted->text);
    begin_piece(sorted);
    return status < 0 ? gt_error_system(error, -status, "%s: a file for sorting", sorted->folder) : 0;
}

int gt_sorted_text_add(struct gt_sorted_text *sorted, int64_t time, int64_t rank, struct gt_error *error)
{
    struct piece *piece = sorted->text.failed ? NULL : GT_GROW_LIST(sorted, piece);
    if (!piece)
        return gt_error_system(error, ENOMEM, "merging");
    *piece = (struct piece){{time, rank}, sorted->known, sorted->text.length - sorted->known};
    struct head head = {piece->place, piece->length};
    memcpy(sorted->text.data + piece->from - sizeof head, &head, sizeof head);
    begin_piece(sorted);
    return sorted->known < sorted->memory ? 0 : spill(sorted, error);
}

/* ---- merging runs ---- */

static bool is_before(const struct gt_sorted_text *sorted, uint32_t a, uint32_t b)
{
    struct place x = sorted->run[a].next.place, y = sorted->run[b].next.place;
    return a < b ? is_up(x, y) : !is_up(y, x);
}

static void sink(struct gt_sorted_text *sorted, size_t at)
{
    uint32_t *heap = sorted->heap, moving = heap[at];
    for (size_t child; (child = 2 * at + 1) < sorted->heap_count; at = child) {
        child += child + 1 < sorted->heap_count && is_before(sorted, heap[child + 1], heap[child]);
        if (!is_before(sorted, heap[child], moving))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moving;
}

/* Bring `wanted` bytes of the run into its block. */
static int fill(const struct gt_sorted_text *sorted, struct run *run, size_t wanted, size_t block)
{
    if (run->length - run->at >= wanted)
        return 0;
    if (run->at && run->length > run->at)
        memmove(run->block, run->block + run->at, run->length - run->at);
    run->length -= run->at;
    run->at = 0;
    size_t room = wanted > block ? wanted : block;
    if (GT_GROW_TO(run->block, run->capacity, room) < 0)
        return -ENOMEM;
    while (run->length < wanted || (run->length < room && run->from < run->to)) {
        size_t left = (size_t)(run->to - run->from), most = room - run->length < left ? room - run->length : left;
        ssize_t got = pread(sorted->fd, run->block + run->length, most, run->from);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -EIO;
        run->length += (size_t)got;
        run->from += got;
    }
    return 0;
}

/* Go to the next piece of the run. */
static int advance(const struct gt_sorted_text *sorted, struct run *run, size_t block)
{
    if (run->from == run->to && run->at == run->length) {
        run->is_at_end = true;
        return 0;
    }
    int status = fill(sorted, run, sizeof run->next, block);
    if (status < 0)
        return status;
    memcpy(&run->next, run->block + run->at, sizeof run->next);
    run->at += sizeof run->next;
    return fill(sorted, run, run->next.length, block);
}

static int open_runs(struct gt_sorted_text *sorted, size_t block)
{
    sorted->heap = malloc((sorted->run_count + 1) * sizeof *sorted->heap);
    if (!sorted->heap)
        return -ENOMEM;
    for (uint32_t i = 0; i < sorted->run_count; i++) {
        int status = advance(sorted, &sorted->run[i], block);
        if (status < 0)
            return status;
        if (!sorted->run[i].is_at_end)
            sorted->heap[sorted->heap_count++] = i;
    }
    for (size_t i = sorted->heap_count; i-- > 0;)
        sink(sorted, i);
    return 0;
}

static int take_memory(struct gt_sorted_text *sorted,
                       int (*take)(void *context, const char *text, size_t length, struct gt_error *error),
                       void *context, struct gt_error *error)
{
    int status = sort(sorted) < 0 ? gt_error_system(error, ENOMEM, "merging") : 0;
    for (size_t i = 0; i < sorted->count && status >= 0; i++)
        status = take(context, sorted->text.data + sorted->piece[i].from, sorted->piece[i].length, error);
    return status;
}

int gt_sorted_text_take(struct gt_sorted_text *sorted,
                        int (*take)(void *context, const char *text, size_t length, struct gt_error *error),
                        void *context, struct gt_error *error)
{
    if (!sorted->run_count)
        return take_memory(sorted, take, context, error);
    int status = sorted->count ? spill(sorted, error) : 0;
    if (status < 0)
        return status;
    gt_buffer_release(&sorted->text);
    size_t block = READ_MEMORY / sorted->run_count;
    block = block < LEAST_BLOCK ? LEAST_BLOCK : block > MOST_BLOCK ? MOST_BLOCK : block;
    status = open_runs(sorted, block);
    while (status >= 0 && sorted->heap_count) {
        struct run *run = &sorted->run[sorted->heap[0]];
        int taken = take(context, run->block + run->at, run->next.length, error);
        if (taken < 0)
            return taken;
        run->at += run->next.length;
        status = advance(sorted, run, block);
        if (run->is_at_end)
            sorted->heap[0] = sorted->heap[--sorted->heap_count];
        sink(sorted, 0);
    }
    return status < 0 ? gt_error_system(error, -status, "%s: a file for sorting", sorted->folder) : 0;
}
