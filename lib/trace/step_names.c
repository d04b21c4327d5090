#include "trace/step_names.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"

static bool is_digit(char letter)
{
    return (unsigned char)(letter - '0') <= 9;
}

static bool ends_with_word(struct gt_span text, const char *word)
{
    size_t length = strlen(word);
    if (text.length < length || strncasecmp(text.text + text.length - length, word, length) != 0)
        return false;
    const char *begin = text.text + text.length - length;
    return begin == text.text || !isalpha((unsigned char)begin[-1]) || isupper((unsigned char)*begin);
}

static bool names_steps(struct gt_span text)
{
    return ends_with_word(text, "step") || ends_with_word(text, "iteration") || ends_with_word(text, "iter");
}

int32_t gt_step_number(struct gt_span label, struct gt_span *before)
{
    struct gt_span mode = label;
    int64_t number;
    while (mode.length && is_digit(mode.text[mode.length - 1]))
        mode.length--;
    struct gt_span digits = {label.text + mode.length, label.length - mode.length};
    while (mode.length && strchr(" #_:=-", mode.text[mode.length - 1]))
        mode.length--;
    if (!digits.length || gt_span_decimal(digits, 0, &number) < 0 || number > INT32_MAX || !names_steps(mode))
        return GT_TRACE_NO_STEP;
    *before = mode;
    return (int32_t)number;
}

/* ---- "epoch 1 my step": the kind of step, and what counts around it ---- */

struct cursor {
    const char *at, *end;
};

static struct gt_span next_word(struct cursor *cursor)
{
    while (cursor->at < cursor->end && !isalnum((unsigned char)*cursor->at) && !(*cursor->at & 0x80))
        cursor->at++;
    struct gt_span word = {cursor->at, 0};
    while (cursor->at < cursor->end && (isalpha((unsigned char)*cursor->at) || *cursor->at & 0x80))
        cursor->at++;
    word.length = (size_t)(cursor->at - word.text);
    return word;
}

/* "12", "=12", " 12/100"; -1: there is none. */
static int64_t next_number(struct cursor *cursor)
{
    const char *at = cursor->at;
    int64_t number = -1;
    while (at < cursor->end && strchr(" #_:=-", *at))
        at++;
    struct gt_span digits = {at, 0};
    while (at < cursor->end && is_digit(*at))
        at++;
    digits.length = (size_t)(at - digits.text);
    if (!digits.length || gt_span_decimal(digits, 0, &number) < 0)
        return -1;
    if (at + 1 < cursor->end && *at == '/' && is_digit(at[1]))
        for (at++; at < cursor->end && is_digit(*at);)
            at++;
    cursor->at = at;
    return number;
}

static bool is_one_of(struct gt_span word, const char *const *words)
{
    for (; *words; words++)
        if (word.length == strlen(*words) && strncasecmp(word.text, *words, word.length) == 0)
            return true;
    return false;
}

/* Words in front that tell no kind of step go. The last word stays. Returns the epoch, or -1 without one. */
static int64_t split(struct gt_span before, struct gt_span *kind)
{
    static const char *const epochs[] = {"epoch", "episode", NULL};
    static const char *const empty[] = {"my", "our", "the", "this", "a", "global", "rank", NULL};
    struct cursor cursor = {before.text, before.text + before.length};
    int64_t epoch = -1;
    for (*kind = before;;) {
        struct gt_span word = next_word(&cursor);
        bool is_epoch = is_one_of(word, epochs);
        kind->text = word.text;
        if (cursor.at == cursor.end || (!is_epoch && !is_one_of(word, empty)))
            break;
        int64_t number = next_number(&cursor);
        epoch = is_epoch && number >= 0 ? number : epoch;
    }
    kind->length = (size_t)(cursor.end - kind->text);
    return epoch;
}

bool gt_step_is_of_epoch(struct gt_span before)
{
    struct gt_span kind;
    return split(before, &kind) >= 0;
}

uint32_t gt_step_kind(const struct gt_trace *trace, uint32_t label)
{
    const char *text = gt_trace_text(trace, label);
    struct gt_span before, kind;
    if (gt_step_number((struct gt_span){text, strlen(text)}, &before) == GT_TRACE_NO_STEP)
        return GT_TRACE_NONE;
    split(before, &kind);
    char *name = strndup(kind.text, kind.length);
    uint32_t string = name ? gt_trace_find(trace, name) : GT_TRACE_NONE;
    free(name);
    return string;
}

/* ---- numbers that begin anew ---- */

int64_t gt_step_round(struct gt_step_rounds *rounds, struct gt_step_round step, int64_t start)
{
    struct gt_step_round *known = NULL;
    for (size_t i = 0; i < rounds->count && !known; i++)
        if (rounds->round[i].track == step.track && rounds->round[i].mode == step.mode)
            known = &rounds->round[i];
    if (!known) {
        known = GT_GROW_LIST(rounds, round);
        if (!known)
            return -ENOMEM;
        *known = step;
        return known->round = 0;
    }
    known->round += step.number < known->number && start >= known->end;
    known->number = step.number;
    known->end = step.end > known->end ? step.end : known->end;
    return known->round;
}

/* ---- modes ---- */

struct mode {
    uint32_t text, kind; /* strings: as it stands before the numbers, and the mode that it becomes */
    int64_t epoch;       /* -1: none is told */
    int32_t first, last; /* numbers of its steps */
    int32_t offset;      /* this is added to them */
    bool is_named;       /* by a range of the program */
};

struct modes {
    struct mode *mode;
    size_t count, capacity;
};

static struct mode *find_mode(const struct modes *modes, uint32_t text)
{
    for (size_t i = 0; i < modes->count; i++)
        if (modes->mode[i].text == text)
            return &modes->mode[i];
    return NULL;
}

static struct mode *add_mode(struct modes *modes, struct gt_trace *trace, const struct gt_trace_step *step)
{
    const char *text = gt_trace_text(trace, step->mode);
    struct gt_span before = {text, strlen(text)}, kind;
    bool is_named = names_steps(before) && !gt_steps_is_whole(trace, step);
    struct mode *mode = GT_GROW_LIST(modes, mode);
    if (!mode)
        return NULL;
    *mode = (struct mode){step->mode, step->mode, -1, step->step, step->step, 0, is_named};
    if (!is_named)
        return mode;
    mode->epoch = split(before, &kind);
    char *copy = strndup(kind.text, kind.length); /* the texts may move */
    int64_t string = copy ? gt_strings_add(&trace->strings, copy, strlen(copy)) : -ENOMEM;
    free(copy);
    mode->kind = (uint32_t)string;
    return string < 0 ? NULL : mode;
}

static int collect_modes(struct modes *modes, struct gt_trace *trace)
{
    struct mode *mode = NULL;
    for (size_t i = 0; i < trace->step_count; i++) {
        const struct gt_trace_step *step = &trace->step[i];
        if (step->start > step->end) /* of a reading that was begun again */
            continue;
        if (!mode || mode->text != step->mode)
            mode = find_mode(modes, step->mode);
        mode = mode ? mode : add_mode(modes, trace, step);
        if (!mode)
            return -ENOMEM;
        mode->first = step->step < mode->first ? step->step : mode->first;
        mode->last = step->step > mode->last ? step->step : mode->last;
    }
    return 0;
}

/* "Step" and "step" are one: of spellings the one in small letters, whatever the order of files. */
static void unite_spellings(struct modes *modes, const struct gt_trace *trace)
{
    for (size_t i = 0; i < modes->count; i++)
        for (size_t j = 0; j < modes->count && modes->mode[i].is_named; j++) {
            const char *one = gt_trace_text(trace, modes->mode[i].kind);
            const char *other = gt_trace_text(trace, modes->mode[j].kind);
            if (modes->mode[j].is_named && strcasecmp(one, other) == 0 && strcmp(one, other) < 0)
                modes->mode[i].kind = modes->mode[j].kind;
        }
}

static int by_epoch(const void *a, const void *b)
{
    const struct mode *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->kind, y->kind), GT_ORDER(x->epoch, y->epoch), GT_ORDER(x->text, y->text));
}

/* An epoch that begins to count anew goes on behind the one before it. */
static void number_epochs(struct modes *modes)
{
    int64_t so_far = -1;
    for (size_t from = 0, to; from < modes->count; from = to) {
        const struct mode *mode = &modes->mode[from];
        int64_t first = mode->first;
        for (to = from; to < modes->count && modes->mode[to].kind == mode->kind && modes->mode[to].epoch == mode->epoch;
             to++)
            first = modes->mode[to].first < first ? modes->mode[to].first : first;
        so_far = from && mode[-1].kind == mode->kind ? so_far : -1;
        int64_t offset = mode->epoch >= 0 && first <= so_far ? so_far + 1 - first : 0;
        for (size_t i = from; i < to; i++) {
            int64_t end = modes->mode[i].last + offset;
            modes->mode[i].offset = end <= INT32_MAX ? (int32_t)offset : 0;
            so_far = end > so_far ? end : so_far;
        }
    }
}

int gt_steps_name(struct gt_trace *trace)
{
    struct modes modes = {0};
    struct mode *mode = NULL;
    int status = collect_modes(&modes, trace);
    if (status >= 0 && modes.count) {
        unite_spellings(&modes, trace);
        qsort(modes.mode, modes.count, sizeof *modes.mode, by_epoch);
        number_epochs(&modes);
    }
    for (size_t i = 0; i < trace->step_count && status >= 0; i++) {
        struct gt_trace_step *step = &trace->step[i];
        if (!mode || mode->text != step->mode)
            mode = find_mode(&modes, step->mode);
        if (!mode)
            continue;
        step->mode = mode->kind;
        step->step += mode->offset;
    }
    free(modes.mode);
    return status;
}
