/* The brief of a report in at most 25 lines, for the terminal in which a job has just ended. Of one
 * without it, text shows what its pages begin with. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
static void put_heading(struct page *page, const struct gt_node *brief, bool is_alone)
{
    char *title = shown(page, gt_brief_text(brief, "title")), *outcome = shown(page, gt_brief_text(brief, "outcome"));
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
        put_outcome(page, outcome ? outcome : "", gt_brief_is(brief, "alarm"));
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

static void put_line(struct page *page, const struct gt_node *line)
{
    const char *value = gt_brief_text(line, "value");
    struct gt_brief_curve curve;
    size_t indent = 2 + page->title + (*value ? VALUE : 0);
    bool has_curve = gt_brief_curve(line, &curve) && page->width > NARROW;
    gt_put_spaces(page->out, 2);
    put_padded(page, line->title, page->title, true);
    bool is_bare = *value && !has_curve && !*gt_brief_text(line, "words");
    if (is_bare)
        gt_buffer_text(page->out, value);
    else if (*value)
        put_padded(page, value, VALUE, false);
    if (has_curve) {
        gt_brief_draw(page->out, &curve, page->is_ascii);
        gt_put_spaces(page->out, GAP);
        indent += GT_BRIEF_CELLS + GAP;
    }
    put_text(page, gt_brief_text(line, "words"), indent);
}

static size_t count_of(const struct gt_node *first)
{
    size_t count = 0;
    for (; first; first = first->next)
        count++;
    return count;
}

static void put_lines(struct page *page, const struct gt_node *brief, size_t most)
{
    const struct gt_node *line = gt_brief_first_of(brief, "lines"), *more = gt_brief_first_of(brief, "text_lines");
    if (line || more)
        gt_buffer_char(page->out, '\n');
    for (; line && most; line = line->next, most--)
        put_line(page, line);
    for (; more && most; more = more->next, most--)
        put_line(page, more);
}

/* As wide as the widest title needs, within limits. */
static size_t title_columns(const struct page *page, const struct gt_node *brief)
{
    size_t widest = TITLE, limit = page->width / 3;
    const struct gt_node *lists[] = {gt_brief_first_of(brief, "lines"), gt_brief_first_of(brief, "text_lines")};
    for (size_t i = 0; i < 2; i++)
        for (const struct gt_node *line = lists[i]; line; line = line->next)
            widest = gt_text_columns(line->title) + 1 > widest ? gt_text_columns(line->title) + 1 : widest;
    limit = limit > WIDEST_TITLE ? WIDEST_TITLE : limit < TITLE ? TITLE : limit;
    return widest < limit ? widest : limit;
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

static void put_warnings(struct page *page, const struct gt_node *brief)
{
    const struct gt_node *warning = gt_brief_first_of(brief, "warnings");
    if (warning && !page->has_only_warnings)
        gt_buffer_char(page->out, '\n');
    for (size_t left = GT_BRIEF_WARNINGS; warning && left; warning = warning->next, left--) {
        if (page->has_only_warnings && gt_brief_is(warning, "remark"))
            continue;
        put_mark(page);
        put_text(page, gt_brief_text(warning, "words"), 4);
        if (*gt_brief_text(warning, "detail")) {
            gt_put_spaces(page->out, 4);
            put_text(page, gt_brief_text(warning, "detail"), 4);
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

static void put_requests(struct page *page, const struct gt_node *brief)
{
    const struct gt_node *request = gt_brief_first_of(brief, "requests");
    const char *more = gt_brief_text(brief, "more");
    if (request || *more)
        gt_buffer_char(page->out, '\n');
    for (; request; request = request->next) {
        gt_put_spaces(page->out, 2);
        put_text(page, gt_brief_text(request, "words"), 2);
        if (*gt_brief_text(request, "detail"))
            put_pasted(page, gt_brief_text(request, "detail"));
    }
    if (*more) {
        gt_put_spaces(page->out, 2);
        put_text(page, more, 4);
    }
}

/* ---- The page ---------------------------------------------------------------------------------------------------- */

static void put_all(struct page *page, const struct gt_node *brief, size_t most)
{
    if (page->has_only_warnings) {
        put_warnings(page, brief);
        return;
    }
    page->title = title_columns(page, brief);
    bool is_alone = !gt_brief_first_of(brief, "lines") && !gt_brief_first_of(brief, "text_lines") &&
                    !gt_brief_first_of(brief, "warnings") && !gt_brief_first_of(brief, "requests");
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
static void put_brief(const struct page *page, const struct gt_node *brief)
{
    struct gt_buffer own = {0};
    struct page trial = *page;
    trial.out = &own;
    for (size_t most =
             count_of(gt_brief_first_of(brief, "lines")) + count_of(gt_brief_first_of(brief, "text_lines")) + 1;
         most--;) {
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

static const struct gt_node *line_titled(const struct gt_node *brief, const char *title)
{
    const struct gt_node *line = gt_brief_first_of(brief, "lines");
    while (line && (strcmp(line->title, title) != 0 || !*gt_brief_text(line, "value")))
        line = line->next;
    return line;
}

static void widen(size_t *width, const char *text)
{
    size_t columns = gt_text_columns(text);
    *width = columns > *width ? columns : *width;
}

static void add_columns(struct columns *columns, const struct gt_node *brief)
{
    for (const struct gt_node *line = gt_brief_first_of(brief, "lines"); line; line = line->next) {
        size_t i = 0;
        while (i < columns->count && strcmp(columns->title[i], line->title) != 0)
            i++;
        if (!*gt_brief_text(line, "value") || i == MOST_COLUMNS)
            continue;
        if (i == columns->count)
            columns->title[columns->count++] = line->title;
        widen(&columns->width[i], line->title);
        widen(&columns->width[i], gt_brief_text(line, "value"));
    }
}

/* Returns the first part from `part` on, itself included, that has a brief; NULL at the end. */
static const struct gt_node *with_brief(const struct gt_node *part)
{
    while (part && (part->kind != GT_NODE_SECTION || !gt_brief_of(part)))
        part = part->next;
    return part;
}

static void put_row(struct page *page, const struct columns *columns, const char *name, const char *outcome,
                    const struct gt_node *brief)
{
    char *own = shown(page, name);
    size_t taken = own ? gt_text_columns(own) : 0;
    gt_put_spaces(page->out, 2);
    put_cut(page, own ? own : "", columns->name);
    gt_put_spaces(page->out, (taken < columns->name ? columns->name - taken : 0) + 2);
    put_padded(page, outcome, columns->outcome, false);
    for (size_t i = 0; i < columns->count; i++) {
        const char *title = columns->title[i];
        const char *text = brief ? gt_brief_text(line_titled(brief, title), "value") : title;
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

static void put_first_warning(struct page *page, const char *name, const struct gt_node *brief)
{
    const struct gt_node *warning = gt_brief_first_of(brief, "warnings");
    char text[600];
    if (!warning)
        return;
    snprintf(text, sizeof text, "%s: %s", name, gt_brief_text(warning, "words"));
    put_mark(page);
    put_text(page, text, 4);
}

static bool put_several(struct page *page, const struct gt_node *root)
{
    struct columns columns = {0};
    size_t rows = 0, row = 0, warnings = 0;
    const struct gt_node *first = with_brief(root->first), *part;
    for (part = first; part; part = with_brief(part->next), rows++) {
        add_columns(&columns, gt_brief_of(part));
        widen(&columns.name, part->title);
        widen(&columns.outcome, gt_brief_text(gt_brief_of(part), "outcome"));
    }
    if (!rows)
        return false;
    fit(&columns, page->width);
    gt_buffer_printf(page->out, "%s%zu recordings\n\n", NAME, rows);
    put_row(page, &columns, "", "", NULL);
    for (part = first; part && row < MOST_ROWS; part = with_brief(part->next), row++)
        put_row(page, &columns, part->title, gt_brief_text(gt_brief_of(part), "outcome"), gt_brief_of(part));
    if (rows > MOST_ROWS)
        gt_buffer_printf(page->out, "  and %zu more\n", rows - MOST_ROWS);
    for (part = first; part && warnings < GT_BRIEF_WARNINGS; part = with_brief(part->next)) {
        if (!gt_brief_first_of(gt_brief_of(part), "warnings"))
            continue;
        gt_buffer_text(page->out, warnings++ ? "" : "\n");
        put_first_warning(page, part->title, gt_brief_of(part));
    }
    gt_buffer_text(page->out, "\n  all values: --format text, or -o runs.html\n");
    return true;
}

/* What pages begin with, and text can show. */
static bool is_first(const struct gt_node *node)
{
    return gt_node_flag_bits(node) & GT_PAGE_FIRST && node->kind != GT_NODE_SERIES;
}

/* Text of those parts alone that pages begin with; of a report without such a part, of all. */
static int write_first_parts(const struct gt_report *report, struct gt_buffer *out, struct gt_error *error)
{
    struct gt_report shown = *report;
    size_t count = 0;
    struct gt_node *part = calloc(count_of(report->root.first) + 1, sizeof *part);
    if (!part)
        return gt_error_system(error, ENOMEM, "summary");
    for (const struct gt_node *node = gt_node_seen(report->root.first); node; node = gt_node_seen(node->next))
        if (is_first(node))
            part[count++] = *node;
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
    const struct gt_node *root = &report->root, *brief = gt_brief_of(root);
    const struct gt_node *of_page = gt_brief_of(&report->page);
    if (!brief && of_page && gt_brief_first_of(of_page, "text_lines"))
        brief = of_page;
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
