/* Text for a terminal, in the two layouts of the original gpu_tracker: its tracking report, and its analyses with tables
 * as pandas prints them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "report/format.h"
#include "report/human_text.h"

/* ---- Tables in a terminal, which are never wider than it ----
 *
 * What says nothing goes first: columns without a value, rows of zeros, columns that say the same in all rows; a line
 * names them. Then titles take several lines, then texts. What is still too wide is shown a row a paragraph. */

enum { NARROWEST = 16, NARROWEST_OF_FEW = 10, FEW = 60 };

/* Make the widest of the columns that may give way narrower until all together need no more than `available`, or none is
 * wider than 16, or than 10 where there are less than 60 columns. */
static void wrap_fit(size_t *width, const bool *gives_way, size_t columns, size_t available)
{
    size_t least = available < FEW ? NARROWEST_OF_FEW : NARROWEST;
    for (;;) {
        size_t total = 0, widest = columns;
        for (size_t i = 0; i < columns; i++) {
            total += width[i];
            if (gives_way[i] && width[i] > least && (widest == columns || width[i] > width[widest]))
                widest = i;
        }
        if (total <= available || widest == columns)
            return;
        width[widest]--;
    }
}

enum { LEAST_LAST = 16, GAP = 2, CARD_INDENT = 3, MOST_LINES = 3 };
enum { ELLIPSIS_COLUMNS = 3 };

static const char BOLD[] = "\033[1m", DIM[] = "\033[2m", RED[] = "\033[31m", YELLOW[] = "\033[33m", PLAIN[] = "\033[0m";

struct screen {
    struct gt_buffer *out;
    struct gt_grid *grid;
    size_t *width; /* of each column */
    size_t indent, room;
    bool is_coloured;
    bool *is_state; /* of each column: a word that may tell of trouble */
};

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

static void put_coloured(struct screen *screen, const char *colour, const char *text, size_t length)
{
    bool is_coloured = screen->is_coloured && *colour && length;
    gt_buffer_text(screen->out, is_coloured ? colour : "");
    gt_buffer_append(screen->out, text, length);
    gt_buffer_text(screen->out, is_coloured ? PLAIN : "");
}

/* The words of GT_COLUMN_STATE: an exit status that is not 0 is one of them. */
static const char *colour_of_state(const char *word)
{
    bool is_status = *word && !word[strspn(word, "0123456789")];
    if (strcmp(word, "broken") == 0 || (is_status && strcmp(word, "0") != 0))
        return RED;
    return strcmp(word, "denied") == 0 ? YELLOW : "";
}

static const char *colour_of(const struct screen *screen, size_t row, size_t column)
{
    if (row == 0)
        return DIM;
    return screen->is_state[column] ? colour_of_state(gt_grid_at(screen->grid, row, column)) : "";
}

/* A name of many lines, without its middle; NULL: it stays. */
static char *folded(const char *text, size_t width, bool is_ascii)
{
    struct gt_buffer out = {0};
    size_t room = MOST_LINES * width, columns = gt_text_columns(text), half = (room - ELLIPSIS_COLUMNS) / 2, taken = 0;
    if (columns <= room || strchr(text, ' ') || room < 4 * ELLIPSIS_COLUMNS)
        return NULL;
    const char *at = text;
    for (; *at && taken + gt_utf8_width(at) <= half; at++)
        taken += gt_utf8_width(at);
    gt_buffer_append(&out, text, (size_t)(at - text));
    gt_buffer_text(&out, is_ascii ? "..." : "…");
    for (taken = columns - taken; *at && (taken > half || (*at & 0xc0) == 0x80); at++)
        taken -= gt_utf8_width(at);
    gt_buffer_text(&out, at);
    return out.data;
}

/* ---- What goes --------------------------------------------------------------------------------------------------- */

/* Removes the cells of a row and a column; SIZE_MAX: of none. */
static void remove_cells(struct gt_grid *grid, size_t row, size_t column)
{
    size_t kept = 0, all = grid->columns * grid->rows;
    for (size_t i = 0; i < all; i++) {
        if (i / grid->columns == row || i % grid->columns == column)
            free(grid->text[i]);
        else
            grid->text[kept++] = grid->text[i];
    }
    memset(grid->text + kept, 0, (all - kept) * sizeof *grid->text);
}

static void remove_column(struct screen *screen, size_t column)
{
    struct gt_grid *grid = screen->grid;
    remove_cells(grid, SIZE_MAX, column);
    grid->columns--;
    for (; column < grid->columns; column++) {
        screen->width[column] = screen->width[column + 1];
        screen->is_state[column] = screen->is_state[column + 1];
        grid->is_text[column] = grid->is_text[column + 1];
        grid->of[column] = grid->of[column + 1];
    }
}

static bool says_nothing(const char *cell)
{
    return strcmp(cell, "n/a") == 0;
}

static bool is_empty_column(const struct gt_grid *grid, size_t column)
{
    for (size_t row = 1; row < grid->rows; row++)
        if (!says_nothing(gt_grid_at(grid, row, column)))
            return false;
    return grid->rows > 1;
}

/* Returns true where a row of a table whose rows have names holds nothing but zeros. */
static bool is_empty_row(const struct gt_grid *grid, size_t row)
{
    for (size_t column = 1; column < grid->columns; column++) {
        const char *cell = gt_grid_at(grid, row, column);
        bool is_zero = strcmp(cell, "0") == 0 || strcmp(cell, "0.0") == 0;
        if (grid->is_text[column] || !(says_nothing(cell) || is_zero))
            return false;
    }
    return grid->columns > 1;
}

static void put_note(struct gt_buffer *note, const char *intro, const char *name)
{
    gt_buffer_text(note, note->length ? ", " : intro);
    gt_buffer_text(note, name);
}

static void put_notes(struct screen *screen, struct gt_buffer *note)
{
    if (note->data && note->length) {
        gt_put_spaces(screen->out, screen->indent);
        gt_put_wrapped(screen->out, note->data, screen->indent, screen->indent + GAP, screen->indent + screen->room);
    }
    gt_buffer_release(note);
}

static void fold_columns(struct screen *screen, struct gt_buffer *note)
{
    for (size_t column = screen->grid->columns; column-- > 1;)
        if (is_empty_column(screen->grid, column)) {
            put_note(note, "not measured: ", gt_grid_at(screen->grid, 0, column));
            remove_column(screen, column);
        }
}

static void fold_rows(struct screen *screen, struct gt_buffer *note)
{
    for (size_t row = 1; screen->grid->keyed && row < screen->grid->rows;) {
        if (is_empty_row(screen->grid, row)) {
            put_note(note, "0 or not measured: ", gt_grid_at(screen->grid, row, 0));
            remove_cells(screen->grid, row, SIZE_MAX);
            screen->grid->rows--;
        } else {
            row++;
        }
    }
}

static void fold_same(struct screen *screen)
{
    const struct gt_grid *grid = screen->grid;
    for (size_t column = grid->columns; column-- > 0;)
        if (grid->columns > 2 && !(grid->keyed && column == 0) && grid->is_text[column] &&
            gt_grid_is_same(grid, column) && *gt_grid_at(grid, 1, column)) {
            struct gt_buffer note = {0};
            gt_buffer_printf(&note, "%s: %s, in all rows", gt_grid_at(grid, 0, column), gt_grid_at(grid, 1, column));
            put_notes(screen, &note);
            remove_column(screen, column);
        }
}

/* ---- Widths ------------------------------------------------------------------------------------------------------ */

static size_t longest_word(const char *text)
{
    size_t longest = 0;
    while (*text) {
        size_t length = strcspn(text, " "), columns = gt_utf8_width_of(text, length);
        longest = columns > longest ? columns : longest;
        text += length + (text[length] == ' ');
    }
    return longest;
}

static void measure(struct screen *screen, bool breaks_titles)
{
    const struct gt_grid *grid = screen->grid;
    for (size_t column = 0; column < grid->columns; column++) {
        const char *title = gt_grid_at(grid, 0, column);
        size_t width = breaks_titles ? longest_word(title) : gt_text_columns(title);
        for (size_t row = 1; row < grid->rows; row++) {
            size_t needed = gt_text_columns(gt_grid_at(grid, row, column));
            width = needed > width ? needed : width;
        }
        screen->width[column] = width;
    }
}

static size_t total(const struct screen *screen)
{
    size_t sum = 0;
    for (size_t column = 0; column < screen->grid->columns; column++)
        sum += screen->width[column] + (column ? GAP : 0);
    return sum;
}

/* The columns before the last go, from the right, until the rest fits. */
static void drop_columns(struct screen *screen)
{
    while (screen->grid->columns > 2) {
        size_t last = screen->width[screen->grid->columns - 1];
        if (total(screen) - last + (last < LEAST_LAST ? last : LEAST_LAST) <= screen->room)
            return;
        remove_column(screen, screen->grid->columns - 2);
    }
}

/* Returns false where no table is narrow enough. */
static bool fit(struct screen *screen, bool drops)
{
    measure(screen, false);
    if (total(screen) <= screen->room)
        return true;
    if (drops) {
        drop_columns(screen);
    } else {
        fold_same(screen);
        measure(screen, true);
    }
    size_t gaps = (screen->grid->columns - 1) * GAP;
    wrap_fit(screen->width, screen->grid->is_text, screen->grid->columns,
             screen->room > gaps ? screen->room - gaps : 0);
    return total(screen) <= screen->room;
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

/* One line of a row: what fits of each cell, which then begins behind it. Whether anything is left. */
static bool put_row_line(struct screen *screen, const char **cell, size_t row)
{
    bool is_more = false;
    size_t pending = screen->indent; /* spaces, which are not put at the end */
    for (size_t column = 0; column < screen->grid->columns; column++) {
        const char *next;
        bool is_text = screen->grid->is_text[column] || (screen->grid->keyed && column == 0);
        size_t length = gt_wrap_piece(cell[column], screen->width[column], &next);
        size_t taken = gt_utf8_width_of(cell[column], length);
        size_t space = screen->width[column] > taken ? screen->width[column] - taken : 0;
        pending += (column ? GAP : 0) + (is_text ? 0 : space);
        if (length) {
            gt_put_spaces(screen->out, pending);
            put_coloured(screen, colour_of(screen, row, column), cell[column], length);
            pending = 0;
        }
        pending += is_text ? space : 0;
        cell[column] = next;
        is_more |= *next != '\0';
    }
    gt_buffer_char(screen->out, '\n');
    return is_more;
}

static void fold_names(struct screen *screen, size_t row)
{
    bool is_ascii = screen->grid->report->style & GT_STYLE_ASCII;
    for (size_t column = 0; column < screen->grid->columns; column++) {
        char **cell = &screen->grid->text[row * screen->grid->columns + column];
        char *shorter = *cell ? folded(*cell, screen->width[column], is_ascii) : NULL;
        if (shorter) {
            free(*cell);
            *cell = shorter;
        }
    }
}

static int put_screen_rows(struct screen *screen)
{
    const char **cell = calloc(screen->grid->columns + 1, sizeof *cell);
    for (size_t row = 0; cell && row < screen->grid->rows; row++) {
        fold_names(screen, row);
        for (size_t column = 0; column < screen->grid->columns; column++)
            cell[column] = gt_grid_at(screen->grid, row, column);
        while (put_row_line(screen, cell, row))
            continue;
    }
    free(cell);
    return cell ? 0 : -ENOMEM;
}

/* ---- A row a paragraph --------------------------------------------------------------------------------------------- */

/* Puts "title: value" at column `at`, or on a line of its own. Returns the column behind it. */
static size_t put_card_field(struct screen *screen, size_t row, size_t column, size_t at)
{
    const char *title = gt_grid_at(screen->grid, 0, column), *cell = gt_grid_at(screen->grid, row, column);
    size_t indent = screen->indent + CARD_INDENT, end = screen->indent + screen->room;
    size_t name = gt_text_columns(title) + 2, needed = name + gt_text_columns(cell);
    bool is_first = at == indent;
    if (!is_first && at + GAP + needed > end) {
        gt_buffer_char(screen->out, '\n');
        is_first = true;
        at = indent;
    }
    gt_put_spaces(screen->out, is_first ? indent : GAP);
    at += is_first ? 0 : GAP;
    put_coloured(screen, DIM, title, strlen(title));
    gt_buffer_text(screen->out, ":");
    if (at + needed <= end) {
        gt_buffer_char(screen->out, ' ');
        put_coloured(screen, colour_of(screen, row, column), cell, strlen(cell));
        return at + needed;
    }
    bool is_below = at + name + LEAST_LAST > end;
    if (is_below)
        gt_buffer_char(screen->out, '\n');
    gt_put_spaces(screen->out, is_below ? indent + CARD_INDENT : 1);
    gt_put_wrapped(screen->out, cell, is_below ? indent + CARD_INDENT : at + name, indent + CARD_INDENT, end);
    return indent;
}

/* `name` is the column that names the rows; SIZE_MAX: there is none. */
static void put_card(struct screen *screen, size_t row, size_t name)
{
    size_t indent = screen->indent + CARD_INDENT, at = indent;
    if (name != SIZE_MAX) {
        gt_put_spaces(screen->out, screen->indent);
        gt_put_wrapped(screen->out, gt_grid_at(screen->grid, row, name), screen->indent, screen->indent + GAP,
                       screen->indent + screen->room);
    }
    for (size_t column = 0; column < screen->grid->columns; column++)
        if (column != name && *gt_grid_at(screen->grid, row, column))
            at = put_card_field(screen, row, column, at);
    if (at != indent)
        gt_buffer_char(screen->out, '\n');
}

/* A row of fields has no name. */
static size_t name_of(const struct screen *screen, const struct gt_table *table)
{
    const struct gt_grid *grid = screen->grid;
    for (size_t column = 0; table && column < grid->columns; column++)
        if (table->column[grid->of[column]].flags & GT_COLUMN_FUNCTION)
            return column;
    return table && (grid->keyed || grid->is_text[0]) ? 0 : SIZE_MAX;
}

static void put_cards(struct screen *screen, const struct gt_table *table)
{
    size_t name = name_of(screen, table);
    for (size_t row = 1; row < screen->grid->rows; row++) {
        if (name == SIZE_MAX && row > 1)
            gt_buffer_char(screen->out, '\n');
        put_card(screen, row, name);
    }
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

static int put_screen_table(struct screen *screen, const struct gt_table *table)
{
    struct gt_buffer columns = {0}, rows = {0};
    bool drops = table && table->flags & GT_FEWER_COLUMNS;
    for (size_t column = 0; table && column < screen->grid->columns; column++)
        screen->is_state[column] = table->column[screen->grid->of[column]].flags & GT_COLUMN_STATE;
    fold_columns(screen, &columns);
    fold_rows(screen, &rows);
    int status = 0;
    if (screen->grid->rows < 2)
        ;
    else if (fit(screen, drops))
        status = put_screen_rows(screen);
    else
        put_cards(screen, table);
    put_notes(screen, &rows);
    put_notes(screen, &columns);
    return status;
}

/* Appends the grid of `table` (NULL: a row of fields), indented, in the width and the style of the report. The grid
 * changes. Returns 0 or -ENOMEM. */
static int put_on_screen(struct gt_buffer *out, struct gt_grid *grid, const struct gt_table *table, size_t indent)
{
    size_t all = grid->report->width;
    struct screen screen = {
        .out = out,
        .grid = grid,
        .width = calloc(grid->columns + 1, sizeof *screen.width),
        .is_state = calloc(grid->columns + 1, sizeof *screen.is_state),
        .indent = indent,
        .room = all > indent + LEAST_LAST ? all - indent : LEAST_LAST,
        .is_coloured = grid->report->style & GT_STYLE_COLOUR,
    };
    int status = screen.width && screen.is_state ? put_screen_table(&screen, table) : -ENOMEM;
    free(screen.width);
    free(screen.is_state);
    return status;
}

/* ---- Text ------------------------------------------------------------------------------------------------------- */

enum { LEAST_ROOM = 8 }; /* columns for a value behind its title */

struct text {
    const struct gt_report *report;
    struct gt_buffer *out;
    const char *indent;
    bool pandas;       /* the analysis layout */
    bool is_on_screen; /* nothing may be wider than a terminal */
};

static void put_indent(struct text *text, int level)
{
    for (int i = 0; i < level; i++)
        gt_buffer_text(text->out, text->indent);
}

static bool is_row_name(const struct gt_grid *grid, size_t column)
{
    return grid->keyed && column == 0;
}

/* pandas reserves a space before the title of a number and before a text. */
static size_t reserved(const struct text *text, const struct gt_grid *grid, size_t row, size_t column)
{
    if (!text->pandas || is_row_name(grid, column))
        return 0;
    return grid->is_text[column] ? row > 0 : row == 0;
}

/* pandas gives every character one. */
static size_t columns_of(const struct text *text, const char *cell)
{
    return text->pandas ? gt_utf8_columns(cell) : gt_text_columns(cell);
}

static size_t column_width(const struct text *text, const struct gt_grid *grid, size_t column)
{
    size_t width = 0;
    for (size_t row = 0; row < grid->rows; row++) {
        size_t needed = columns_of(text, gt_grid_at(grid, row, column)) + reserved(text, grid, row, column);
        width = needed > width ? needed : width;
    }
    return width;
}

static size_t gap_before(const struct text *text, const struct gt_grid *grid, size_t column)
{
    if (text->pandas)
        return !is_row_name(grid, column);
    return column > 0 ? 2 : 0;
}

static void put_cell(struct text *text, const struct gt_grid *grid, size_t row, size_t column, size_t width)
{
    const char *cell = gt_grid_at(grid, row, column);
    size_t space = width - columns_of(text, cell);
    bool left = is_row_name(grid, column) || (grid->is_text[column] && !text->pandas);
    bool last = column + 1 == grid->columns;
    gt_put_spaces(text->out, gap_before(text, grid, column) + (left ? 0 : space));
    gt_buffer_text(text->out, cell);
    gt_put_spaces(text->out, left && !last ? space : 0);
}

static void put_rows(struct text *text, const struct gt_grid *grid, int level, const size_t *width)
{
    for (size_t row = 0; row < grid->rows; row++) {
        put_indent(text, level);
        for (size_t column = 0; column < grid->columns; column++)
            put_cell(text, grid, row, column, width[column]);
        gt_buffer_char(text->out, '\n');
    }
}

/* The lines of a tree before a name, which it has whatever the locale is. */
static void branches_to_ascii(char *text)
{
    static const char *const branch[] = {"│", "├", "└", " "};
    const char *from = text;
    for (size_t which = 0; which < 4;) {
        for (which = 0; which < 4 && strncmp(from, branch[which], strlen(branch[which])) != 0;)
            which++;
        if (which < 4) {
            *text++ = "|+` "[which];
            from += strlen(branch[which]);
        }
    }
    memmove(text, from, strlen(from) + 1);
}

static void grid_to_ascii(const struct gt_grid *grid)
{
    for (size_t i = grid->columns; i < grid->columns * grid->rows; i++)
        if (grid->text[i])
            branches_to_ascii(grid->text[i]);
}

static int put_grid(struct text *text, const struct gt_node *node, int level)
{
    struct gt_grid grid;
    int status = gt_grid_init(&grid, text->report, node, 1, text->is_on_screen ? GT_GRID_BRIEF : GT_GRID_ORIGINAL);
    if (status < 0)
        return status;
    if (text->report->style & GT_STYLE_ASCII)
        grid_to_ascii(&grid);
    size_t *width = text->is_on_screen ? NULL : calloc(grid.columns + 1, sizeof *width);
    for (size_t column = 0; width && column < grid.columns; column++)
        width[column] = column_width(text, &grid, column);
    if (text->is_on_screen)
        status = put_on_screen(text->out, &grid, gt_node_table(node), (size_t)level * strlen(text->indent));
    else if (width)
        put_rows(text, &grid, level, width);
    else
        status = -ENOMEM;
    gt_grid_release(&grid);
    free(width);
    return status;
}

static void put_series_line(struct text *text, const struct gt_series_line *line, int level)
{
    struct gt_buffer shown = {0};
    size_t indent = (size_t)level * strlen(text->indent);
    gt_utf8_show(&shown, line->title);
    gt_buffer_printf(&shown, ": %zu points", line->points);
    size_t width = text->is_on_screen ? text->report->width : SIZE_MAX;
    put_indent(text, level);
    gt_put_wrapped(text->out, shown.data ? shown.data : "", indent, indent, width);
    text->out->failed = text->out->failed ? text->out->failed : shown.failed;
    gt_buffer_release(&shown);
}

static int put_nodes(struct text *text, const struct gt_node *section, int level);

/* The line of a section, a table or a list; on a screen perhaps several, and bold where the report is coloured. */
static void put_title(struct text *text, const struct gt_node *node, int level)
{
    bool is_bold = text->is_on_screen && text->report->style & GT_STYLE_COLOUR;
    size_t indent = (size_t)level * strlen(text->indent), width = text->is_on_screen ? text->report->width : SIZE_MAX;
    struct gt_buffer title = {0}, lines = {0};
    gt_utf8_show(&title, node->title);
    gt_buffer_char(&title, ':');
    gt_put_wrapped(&lines, title.data ? title.data : "", indent, indent + GAP, width);
    put_indent(text, level);
    gt_buffer_text(text->out, is_bold ? BOLD : "");
    gt_buffer_append(text->out, lines.data, lines.length ? lines.length - 1 : 0);
    gt_buffer_text(text->out, is_bold ? PLAIN : "");
    gt_buffer_char(text->out, '\n');
    text->out->failed = text->out->failed ? text->out->failed : title.failed ? title.failed : lines.failed;
    gt_buffer_release(&title);
    gt_buffer_release(&lines);
}

static int put_list(struct text *text, const struct gt_node *list, int level)
{
    int status = 0;
    for (const struct gt_node *item = gt_node_seen(list->first); item && !status; item = gt_node_seen(item->next)) {
        bool has_title = *item->title && !text->pandas;
        if (has_title)
            put_title(text, item, level);
        status = put_nodes(text, item, level + has_title);
        gt_buffer_char(text->out, '\n');
    }
    return status;
}

static int put_body(struct text *text, const struct gt_node *node, int level)
{
    switch (node->kind) {
    case GT_NODE_TABLE: return put_grid(text, node, level);
    case GT_NODE_SERIES:
        for (size_t line = 0; line < node->series.lines; line++)
            put_series_line(text, &node->series.line[line], level);
        return 0;
    default:
        if (gt_node_flag_bits(node) & GT_ROW)
            return put_grid(text, node, level);
        if (gt_node_flag_bits(node) & GT_LIST)
            return put_list(text, node, level);
        return put_nodes(text, node, level);
    }
}

static bool is_left_out(const struct text *text, const struct gt_node *node)
{
    bool is_ours = gt_node_flag_bits(node) & GT_NOT_IN_ORIGINAL && text->report->style & GT_STYLE_ORIGINAL;
    bool is_picture = node->kind == GT_NODE_SERIES && gt_node_flag_bits(node) & GT_ONLY_PEOPLE;
    return is_picture || is_ours || gt_node_flag_bits(node) & GT_NOT_IN_TEXT;
}

static size_t widest_title(const struct text *text, const struct gt_node *section)
{
    size_t widest = 0;
    for (const struct gt_node *node = gt_node_seen(section->first); node; node = gt_node_seen(node->next)) {
        size_t width = is_left_out(text, node) ? 0 : gt_utf8_columns(node->title);
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void put_value(struct text *text, struct gt_buffer *out, const struct gt_node *field)
{
    if (gt_node_is_absent(field) && !(text->is_on_screen && text->report->layout == GT_LAYOUT_ANALYSIS))
        gt_buffer_text(out, "0.0");
    else
        gt_human_text_shown(out, text->report, field);
}

/* On a screen a title that leaves no room for its value is broken, too. */
static void put_field(struct text *text, const struct gt_node *field, int level, size_t widest)
{
    struct gt_buffer line = {0};
    size_t own = gt_utf8_columns(field->title), space = 1 + (widest > own ? widest - own : 0);
    size_t indent = (size_t)level * strlen(text->indent), width = text->is_on_screen ? text->report->width : SIZE_MAX;
    size_t column = indent;
    put_indent(text, level);
    gt_utf8_show(&line, field->title);
    gt_buffer_char(&line, ':');
    gt_put_spaces(&line, space);
    if (indent + own + 1 + space + LEAST_ROOM <= width) {
        column += own + 1 + space;
        gt_buffer_append(text->out, line.data, line.length);
        gt_buffer_clear(&line);
    }
    put_value(text, &line, field);
    gt_put_wrapped(text->out, line.data ? line.data : "", column, indent + strlen(text->indent), width);
    text->out->failed = text->out->failed ? text->out->failed : line.failed;
    gt_buffer_release(&line);
}

static int put_nodes(struct text *text, const struct gt_node *section, int level)
{
    size_t widest = text->pandas ? widest_title(text, section) : 0;
    int status = 0;
    for (const struct gt_node *node = gt_node_seen(section->first); node && !status; node = gt_node_seen(node->next)) {
        if (is_left_out(text, node))
            continue;
        if (gt_node_is_field(node)) {
            put_field(text, node, level, widest);
        } else {
            put_title(text, node, level);
            status = put_body(text, node, level + 1);
        }
    }
    return status;
}

static int write_text(const struct gt_report *report, struct gt_buffer *out, struct gt_error *error)
{
    bool analysis = report->layout == GT_LAYOUT_ANALYSIS;
    bool is_on_screen = report->width && !(report->style & GT_STYLE_ORIGINAL);
    bool pandas = analysis && !is_on_screen;
    struct text text = {report, out, pandas ? "\t" : "   ", pandas, is_on_screen};
    bool is_list = gt_node_flag_bits(&report->root) & GT_LIST;
    if (report->style & GT_STYLE_SUMMARY_FIRST && (is_list || report->page.brief)) {
        gt_format_find("summary")->write(report, out, error);
        gt_buffer_char(out, '\n');
    }
    int status = put_body(&text, &report->root, 0);
    return status < 0 ? gt_error_system(error, -status, "text") : 0;
}

const struct gt_format gt_format_text = {
    .name = "text",
    .help = "For reading in a terminal",
    .suffix = ".txt",
    .write = write_text,
};
