/* The brief of a report in at most 25 lines, for the terminal in which a job has just ended. Of one
 * without it, text shows what its pages begin with. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/utf8.h"
#include "report/brief.h"
#include "report/format.h"
#include "report/human_text.h"

enum {
    MOST_LINES = 25,
    WIDEST = 78,
    NARROW = 60,
    NARROWEST = 24,
    TITLE = 10,
    WIDEST_TITLE = 28,
    VALUE = 10,
    GAP = 3,
    SHORTEST_NAME = 12
};

static const char NAME[] = "gpu-tracker  ";
static const char RED[] = "\033[31m", YELLOW[] = "\033[33m", PLAIN[] = "\033[0m";

struct page {
    struct gt_buffer *out;
    size_t width, title; /* columns: of all, of titles of lines */
    bool is_ascii, is_coloured, has_only_warnings;
};

/* ---- Pieces of text ---------------------------------------------------------------------------------------------- */

/* The text as it may be shown, in ASCII where the terminal has no more: malloc'ed, or NULL without memory. */
static char *shown(const struct page *page, const char *text)
{
    struct gt_buffer all = {0}, plain = {0};
    gt_buffer_text(&all, "");
    if (gt_utf8_show(&all, text) < 0 || !page->is_ascii)
        return all.data;
    gt_buffer_text(&plain, "");
    for (const char *at = all.data; *at; at++) {
        bool is_sign = strncmp(at, "±", strlen("±")) == 0;
        if (!(*at & 0x80))
            gt_buffer_char(&plain, *at);
        else if ((*at & 0xc0) == 0xc0)
            gt_buffer_text(&plain, is_sign ? "+-" : "?");
    }
    gt_buffer_release(&all);
    return plain.data;
}

/* Without the last words in brackets; false where there are none. */
static bool drop_brackets(char *text)
{
    char *open = strrchr(text, '('), *end = open ? strchr(open, ')') : NULL;
    if (!end)
        return false;
    char *begin = open;
    while (begin > text && begin[-1] == ' ')
        begin--;
    memmove(begin, end + 1, strlen(end + 1) + 1);
    return true;
}

/* Puts the text behind column `indent` of a line, and on further lines where it is longer. */
static void put_text(struct page *page, const char *text, size_t indent)
{
    char *own = shown(page, text);
    size_t room = page->width > indent + 8 ? page->width - indent : 8;
    while (own && gt_text_columns(own) > room && drop_brackets(own))
        continue;
    if (own)
        gt_put_wrapped(page->out, own, indent, indent, page->width);
    free(own);
}

/* ---- The first line ---------------------------------------------------------------------------------------------- */

/* Cut to so many columns, with a sign where something is missing. */
static void put_cut(struct page *page, const char *text, size_t columns)
{
    const char *sign = page->is_ascii ? "..." : "…";
    size_t room = columns, sign_columns = gt_text_columns(sign);
    if (gt_text_columns(text) > columns)
        room = columns > sign_columns ? columns - sign_columns : 0;
    const char *end = text;
    for (size_t taken = 0; *end && taken + gt_utf8_width(end) <= room; end++)
        taken += gt_utf8_width(end);
    gt_buffer_append(page->out, text, (size_t)(end - text));
    gt_buffer_text(page->out, *end ? sign : "");
}

static void put_outcome(struct page *page, const char *outcome, bool is_alarm)
{
    bool is_red = is_alarm && page->is_coloured;
    gt_buffer_text(page->out, is_red ? RED : "");
    gt_buffer_text(page->out, outcome);
    gt_buffer_text(page->out, is_red ? PLAIN : "");
    gt_buffer_char(page->out, '\n');
}

/* How it ended stands at the right, or below where the terminal is narrow. */
static void put_heading(struct page *page, const struct gt_brief *brief, bool is_alone)
{
    char *title = shown(page, brief->title), *outcome = shown(page, brief->outcome);
    size_t taken = strlen(NAME) + GAP + (outcome ? gt_text_columns(outcome) : 0);
    size_t needed = title ? gt_text_columns(title) : 0, least = needed < SHORTEST_NAME ? needed : SHORTEST_NAME;
    bool is_one_line = taken + least <= page->width;
    size_t room = page->width - (is_one_line ? taken : strlen(NAME));
    gt_buffer_text(page->out, NAME);
    if (title)
        put_cut(page, title, room);
    size_t pad = GAP + (is_alone || needed > room ? 0 : room - needed);
    if (!is_one_line)
        gt_buffer_text(page->out, "\n  ");
    else
        gt_put_spaces(page->out, pad);
    if (outcome && gt_text_columns(outcome) + 2 > page->width)
        put_text(page, outcome, 2);
    else
        put_outcome(page, outcome ? outcome : "", brief->is_alarm);
    free(title);
    free(outcome);
}

/* ---- Figures ----------------------------------------------------------------------------------------------------- */

/* Put a name in up to `columns`. A longer one loses its middle, because names of a program often begin alike. */
static void put_name(struct page *page, const char *name, size_t columns)
{
    size_t taken = gt_text_columns(name), head = columns / 3;
    if (taken <= columns || columns < 6) {
        put_cut(page, name, columns);
        return;
    }
    put_cut(page, name, head);
    while (*name && (taken > columns - head || !gt_utf8_width(name)))
        taken -= gt_utf8_width(name++);
    gt_buffer_text(page->out, name);
}

/* A text that is too wide stays whole, or is cut. */
static void put_padded(struct page *page, const char *text, size_t columns, bool is_cut)
{
    char *own = shown(page, text);
    size_t taken = own ? gt_text_columns(own) : 0;
    put_name(page, own ? own : "", is_cut ? columns - 1 : SIZE_MAX);
    gt_put_spaces(page->out, taken < columns ? columns - taken : 1);
    free(own);
}

static void put_line(struct page *page, const struct gt_brief_item *line)
{
    size_t indent = 2 + page->title + (*line->value ? VALUE : 0);
    bool has_curve = line->curve && page->width > NARROW;
    gt_put_spaces(page->out, 2);
    put_padded(page, line->title, page->title, true);
    if (*line->value && !has_curve && !*line->words)
        gt_buffer_text(page->out, line->value);
    else if (*line->value)
        put_padded(page, line->value, VALUE, false);
    if (has_curve) {
        gt_brief_draw(page->out, line->curve, page->is_ascii);
        gt_put_spaces(page->out, GAP);
        indent += GT_BRIEF_CELLS + GAP;
    }
    put_text(page, line->words, indent);
}

static void put_lines(struct page *page, const struct gt_brief *brief, size_t most)
{
    const struct gt_brief_item *lists[] = {brief->lines.first, brief->text_lines.first};
    if (lists[0] || lists[1])
        gt_buffer_char(page->out, '\n');
    for (size_t i = 0; i < 2; i++)
        for (const struct gt_brief_item *line = lists[i]; line && most; line = line->next, most--)
            put_line(page, line);
}

/* Gets the number of lines, and how wide their titles are: as the widest needs, within limits. */
static size_t measure_lines(struct page *page, const struct gt_brief *brief)
{
    size_t count = 0, widest = TITLE, limit = page->width / 3;
    const struct gt_brief_item *lists[] = {brief->lines.first, brief->text_lines.first};
    for (size_t i = 0; i < 2; i++)
        for (const struct gt_brief_item *line = lists[i]; line; line = line->next, count++)
            widest = gt_text_columns(line->title) + 1 > widest ? gt_text_columns(line->title) + 1 : widest;
    limit = limit > WIDEST_TITLE ? WIDEST_TITLE : limit < TITLE ? TITLE : limit;
    page->title = widest < limit ? widest : limit;
    return count;
}

/* ---- Remarks ----------------------------------------------------------------------------------------------------- */

static void put_mark(struct page *page)
{
    gt_buffer_text(page->out, "  ");
    gt_buffer_text(page->out, page->is_coloured ? YELLOW : "");
    gt_buffer_char(page->out, '!');
    gt_buffer_text(page->out, page->is_coloured ? PLAIN : "");
    gt_buffer_char(page->out, ' ');
}

static void put_warnings(struct page *page, const struct gt_brief *brief)
{
    const struct gt_brief_item *warning = brief->warnings.first;
    if (warning && !page->has_only_warnings)
        gt_buffer_char(page->out, '\n');
    for (size_t left = GT_BRIEF_WARNINGS; warning && left; warning = warning->next, left--) {
        if (page->has_only_warnings && warning->is_remark)
            continue;
        put_mark(page);
        put_text(page, warning->words, 4);
        if (*warning->detail) {
            gt_put_spaces(page->out, 4);
            put_text(page, warning->detail, 4);
        }
    }
}

/* Lines break between options alone, with the backslash of a shell. */
static void put_pasted(struct page *page, const char *text)
{
    char *copy = strdup(text), *rest = copy;
    for (const char *line; (line = strsep(&rest, "\n"));) {
        char *own = shown(page, line), *words = own;
        size_t column = 0;
        for (const char *word; words && (word = strsep(&words, " "));) {
            size_t needed = gt_text_columns(word);
            if (column && column + 1 + needed + 2 * !!words > page->width) {
                gt_buffer_text(page->out, " \\\n");
                column = 0;
            }
            gt_put_spaces(page->out, column ? 1 : 4);
            gt_buffer_text(page->out, word);
            column += (column ? 1 : 4) + needed;
        }
        gt_buffer_char(page->out, '\n');
        free(own);
    }
    free(copy);
}

static void put_requests(struct page *page, const struct gt_brief *brief)
{
    const struct gt_brief_item *request = brief->requests.first;
    if (request || *brief->more)
        gt_buffer_char(page->out, '\n');
    for (; request; request = request->next) {
        gt_put_spaces(page->out, 2);
        put_text(page, request->words, 2);
        if (*request->detail)
            put_pasted(page, request->detail);
    }
    if (*brief->more) {
        gt_put_spaces(page->out, 2);
        put_text(page, brief->more, 4);
    }
}

/* ---- The page ---------------------------------------------------------------------------------------------------- */

static void put_all(struct page *page, const struct gt_brief *brief, size_t most)
{
    bool is_alone = !brief->lines.first && !brief->text_lines.first && !brief->warnings.first && !brief->requests.first;
    if (page->has_only_warnings) {
        put_warnings(page, brief);
        return;
    }
    put_heading(page, brief, is_alone);
    put_lines(page, brief, most);
    put_warnings(page, brief);
    if (!is_alone)
        put_requests(page, brief);
}

static size_t lines_in(const char *text)
{
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* Where lines have to be broken to fit, the last figures give way. */
static void put_brief(const struct page *page, const struct gt_brief *brief)
{
    struct gt_buffer own = {0};
    struct page trial = *page;
    trial.out = &own;
    for (size_t most = measure_lines(&trial, brief) + 1; most--;) {
        gt_buffer_clear(&own);
        put_all(&trial, brief, most);
        if (own.failed || !own.length || lines_in(own.data) <= MOST_LINES)
            break;
    }
    gt_buffer_append(page->out, own.data ? own.data : "", own.length);
    page->out->failed = own.failed ? own.failed : page->out->failed;
    gt_buffer_release(&own);
}

/* ---- Several recordings: a row for each, the values of their lines as columns ------------------------------------- */

enum { MOST_COLUMNS = 6, MOST_ROWS = 18 };

struct columns {
    const char *title[MOST_COLUMNS];
    size_t width[MOST_COLUMNS], count, name, outcome;
};

/* Returns the value of the line with this title; "": there is none. */
static const char *value_of(const struct gt_brief *brief, const char *title)
{
    const struct gt_brief_item *line = brief->lines.first;
    while (line && (strcmp(line->title, title) != 0 || !*line->value))
        line = line->next;
    return line ? line->value : "";
}

static void widen(size_t *width, const char *text)
{
    size_t columns = gt_text_columns(text);
    *width = columns > *width ? columns : *width;
}

static void add_columns(struct columns *columns, const struct gt_brief *brief)
{
    for (const struct gt_brief_item *line = brief->lines.first; line; line = line->next) {
        size_t i = 0;
        while (i < columns->count && strcmp(columns->title[i], line->title) != 0)
            i++;
        if (!*line->value || i == MOST_COLUMNS)
            continue;
        if (i == columns->count)
            columns->title[columns->count++] = line->title;
        widen(&columns->width[i], line->title);
        widen(&columns->width[i], line->value);
    }
}

/* Returns the first part from `part` on, itself included, that has a brief; NULL at the end. */
static const struct gt_node *with_brief(const struct gt_node *part)
{
    while (part && !part->brief)
        part = part->next;
    return part;
}

static void put_row(struct page *page, const struct columns *columns, const char *name, const char *outcome,
                    const struct gt_brief *brief)
{
    char *own = shown(page, name);
    size_t taken = own ? gt_text_columns(own) : 0;
    gt_put_spaces(page->out, 2);
    put_cut(page, own ? own : "", columns->name);
    gt_put_spaces(page->out, (taken < columns->name ? columns->name - taken : 0) + 2);
    put_padded(page, outcome, columns->outcome, false);
    for (size_t i = 0; i < columns->count; i++) {
        const char *text = brief ? value_of(brief, columns->title[i]) : columns->title[i];
        gt_put_spaces(page->out, 2);
        if (i + 1 < columns->count)
            put_padded(page, text, columns->width[i], false);
        else
            gt_buffer_text(page->out, text);
    }
    gt_buffer_char(page->out, '\n');
    free(own);
}

/* Columns from the right give way until the row fits, then the name is cut. */
static void fit(struct columns *columns, size_t width)
{
    for (;; columns->count--) {
        size_t needed = 2 + 2 + columns->outcome, least = columns->name < SHORTEST_NAME ? columns->name : SHORTEST_NAME;
        for (size_t i = 0; i < columns->count; i++)
            needed += 2 + columns->width[i];
        if (needed + least <= width || !columns->count) {
            size_t room = width > needed ? width - needed : least;
            columns->name = columns->name < room ? columns->name : room;
            return;
        }
    }
}

static bool put_several(struct page *page, const struct gt_node *root)
{
    struct columns columns = {0};
    size_t rows = 0, row = 0, warnings = 0;
    const struct gt_node *first = with_brief(root->first), *part;
    for (part = first; part; part = with_brief(part->next), rows++) {
        add_columns(&columns, part->brief);
        widen(&columns.name, part->title);
        widen(&columns.outcome, part->brief->outcome);
    }
    if (!rows)
        return false;
    fit(&columns, page->width);
    gt_buffer_printf(page->out, "%s%zu recordings\n\n", NAME, rows);
    put_row(page, &columns, "", "", NULL);
    for (part = first; part && row < MOST_ROWS; part = with_brief(part->next), row++)
        put_row(page, &columns, part->title, part->brief->outcome, part->brief);
    if (rows > MOST_ROWS)
        gt_buffer_printf(page->out, "  and %zu more\n", rows - MOST_ROWS);
    for (part = first; part && warnings < GT_BRIEF_WARNINGS; part = with_brief(part->next)) {
        char text[600];
        if (!part->brief->warnings.first)
            continue;
        gt_buffer_text(page->out, warnings++ ? "" : "\n");
        snprintf(text, sizeof text, "%s: %s", part->title, part->brief->warnings.first->words);
        put_mark(page);
        put_text(page, text, 4);
    }
    gt_buffer_text(page->out, "\n  all values: --format text, or -o runs.html\n");
    return true;
}

/* Text of those parts alone that pages begin with; of a report without such a part, of all. */
static int write_first_parts(const struct gt_report *report, struct gt_buffer *out, struct gt_error *error)
{
    struct gt_report shown = *report;
    struct gt_node *part = NULL;
    size_t count = 0;
    for (const struct gt_node *node = gt_node_seen(report->root.first); node; node = gt_node_seen(node->next)) {
        /* What pages begin with, and text can show. */
        if (!(gt_node_flag_bits(node) & GT_PAGE_FIRST) || node->kind == GT_NODE_SERIES)
            continue;
        if (!GT_GROW_BY_ONE(part, count)) {
            free(part);
            return gt_error_system(error, ENOMEM, "summary");
        }
        part[count++] = *node;
    }
    for (size_t i = 0; i < count; i++)
        part[i].next = i + 1 < count ? &part[i + 1] : NULL;
    if (count)
        shown.root.first = part;
    int status = gt_format_find("text")->write(&shown, out, error);
    free(part);
    return status;
}

static int write_summary(const struct gt_report *report, struct gt_buffer *out, struct gt_error *error)
{
    const struct gt_node *root = &report->root;
    const struct gt_brief *brief = gt_brief_of_report(report);
    if (brief && !root->brief && !brief->text_lines.first)
        brief = NULL;
    size_t width = report->width;
    unsigned style = report->style;
    struct page page = {
        .out = out,
        .width = width == 0 || width > WIDEST ? WIDEST
                 : width < NARROWEST          ? NARROWEST
                                              : width,
        .is_ascii = style & GT_STYLE_ASCII,
        .is_coloured = style & GT_STYLE_COLOUR,
        .has_only_warnings = style & GT_STYLE_ONLY_WARNINGS,
    };
    if (brief)
        put_brief(&page, brief);
    else if (!(gt_node_flag_bits(root) & GT_LIST) || !put_several(&page, root))
        return write_first_parts(report, out, error);
    return 0;
}

const struct gt_format gt_format_summary = {
    .name = "summary",
    .help = "The most important in at most 25 lines, for a terminal",
    .suffix = ".summary",
    .write = write_summary,
};
