/* A report is a tree of fields, tables and series that any format can render. Analyses build it; formats print it.
 *
 * A node has a key (snake_case, for JSON and CSV) and a title (for people). Numbers carry their unit for people's sake;
 * a number that was not measured is NaN and prints as null, "n/a" or blank. */
#ifndef GT_REPORT_REPORT_H
#define GT_REPORT_REPORT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregate/course.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/table.h"

enum gt_node_kind {
    GT_NODE_SECTION,
    GT_NODE_NUMBER,
    GT_NODE_INTEGER,
    GT_NODE_TEXT,
    GT_NODE_BOOL,
    GT_NODE_TABLE,
    GT_NODE_SERIES
};

/* Flags say who sees a node, where on a page, and how. A node without any is for all. */
enum gt_node_flag {
    GT_ONLY_DATA = 1,    /* provenance, long lists: JSON, CSV and pickle have it */
    GT_ONLY_PEOPLE = 2,  /* advice, remarks: text and pages have it. Series of this kind are drawn by HTML alone */
    GT_PAGE_FIRST = 4,   /* pages begin with it */
    GT_NOT_ON_PAGE = 8,  /* pages have the same in another form */
    GT_NOT_IN_TEXT = 16, /* it is too long for a terminal */
    GT_KEYED = 32,  /* tables whose first column is unique text: JSON writes {first cell: {column: cell}} instead of a
                            list of objects; people see the first column without a title */
    GT_LIST = 64,   /* sections: JSON writes the children as a list, without their keys */
    GT_ROW = 128,   /* sections of fields: people see a table of one row */
    GT_BRIEF = 256, /* tables and numbers: people see four significant digits */
    GT_ALONE = 1048576, /* tables: the one that formats of one table have, if no other is asked for; else the first */
    GT_FEWER_COLUMNS =
        32768, /* tables: columns before the last are left out, from the right, where a terminal is too narrow */
    GT_SENTENCES = 65536, /* tables: pages tell each row as the sentence of its column "advice" */
    GT_NO_DEVICE = 512, /* numbers: the zero stands for a device that is not there. The original's formats (text, JSON,
                            pickle) have it; CSV and pages show that nothing was measured */
    GT_NOT_IN_ORIGINAL = 1024, /* text as the original prints it (GT_STYLE_ORIGINAL) is without it */
    /* How pages draw series: */
    GT_PEAKS = 2048,  /* the greatest value of what falls on one place, instead of the mean */
    GT_STRIPS = 4096, /* a strip for each line, the darker the greater, from 0 to 100 */
    GT_FOREST =
        16384, /* each line's points are the ends and the middle of an interval, in percent; y above 0: it is certain */
    GT_ALIKE = 524288, /* lines are of different runs: what is told of the first is told of all */
    GT_LANES = 8192,   /* the bands alone, each on the lane (the line) that it names */
    /* These two have a row for each line, and the bands as columns: the x of a point is the number of its band. */
    GT_HEAT = 131072,         /* cells that are the darker the greater; outlined above the limit */
    GT_WHOLE_SCALE = 2097152, /* of cells: the darkest is the greatest of all, however far above the others */
    GT_STACKS = 262144, /* lines of one key, which follow each other, are the parts of one row; one column is a bar */
};

/* Columns, too, are for all, for data or for people; one for data and one for people may have the same key. */
enum gt_column_flag {
    GT_COLUMN_ONLY_DATA = GT_ONLY_DATA,
    GT_COLUMN_ONLY_PEOPLE = GT_ONLY_PEOPLE,
    GT_COLUMN_AS_IS = 4,     /* not multiplied by a column with GT_COLUMN_FACTOR */
    GT_COLUMN_FUNCTION = 64, /* names of functions in C++, often long: people see them cut, behind the other columns */
    GT_COLUMN_THOUSANDS = 128, /* people see digits before the point in groups of three */
    GT_COLUMN_SCALED =
        256, /* people see the unit that suits the greatest number: of the column, or, of amounts, of the row */
    GT_COLUMN_FIGURE = 512, /* of texts: pages set them like numbers */
    GT_COLUMN_STATE = 32,   /* words and exit statuses, of which terminals colour those of trouble */
    /* Nobody sees these columns: */
    GT_COLUMN_FACTOR = 8,     /* people see the numbers of a row multiplied by it */
    GT_COLUMN_UNIT = 1024,    /* what the row's numbers that people see are in, where their columns have no unit */
    GT_COLUMN_NO_DEVICE = 16, /* 1 in rows whose zeros stand for a device that is not there: see GT_NO_DEVICE */
};

/* The layouts of what people read. The first two are the original's, of its tracking and its analysis. */
enum gt_layout {
    GT_LAYOUT_TRACKING, /* three spaces a level, three decimals */
    GT_LAYOUT_ANALYSIS, /* a tab a level, values of a section aligned, eight decimals */
    GT_LAYOUT_AMOUNTS,  /* as that of tracking, each amount in a unit chosen by its size */
};

struct gt_point {
    double x, y;
};

struct gt_band {
    const char *title;
    double from, to;
    int lane; /* with GT_LANES: the line that it lies on */
};

struct gt_series_line {
    const char *key, *title;
    struct gt_point *point;
    size_t points, capacity;
    struct gt_course *course; /* NULL: there is none */
    size_t course_line;
    double course_unit;
};

struct gt_series {
    const char *x_unit, *note; /* note: NULL: there is none */
    struct gt_series_line *line;
    size_t lines;
    struct gt_band *band;
    size_t bands, band_capacity;
    struct gt_mark {
        const char *title; /* NULL: there is none */
        double value;
    } limit;
    double peak; /* that the first line is known to have had, perhaps between two samples; 0: unknown */
};

/* Analyses build nodes by the functions below, formats read them. */
struct gt_node {
    struct gt_report *report;
    enum gt_node_kind kind;
    unsigned flags;                                          /* but see gt_node_flag_bits */
    const char *key, *title, *unit, *display_unit, *measure; /* unit may be "" */
    double display_factor;                                   /* 0: none */
    struct gt_node *first, *last, *next;                     /* children, and the next sibling */
    struct gt_brief *brief;                                  /* of sections; NULL: none */
    union {
        double number;
        int64_t integer;
        bool boolean;
        const char *text; /* NULL: missing */
        struct gt_table *table;
        struct gt_series series;
    };
};

struct gt_report {
    const char *type;
    enum gt_layout layout;   /* GT_LAYOUT_TRACKING unless set */
    size_t width, page_size; /* see gt_report_set_width and gt_report_set_page_size; 0: any, not told */
    const char *feed;        /* the address that pages ask for the states of a job that runs; NULL: none */
    unsigned style;          /* see gt_report_set_style */
    double picture_width;    /* see gt_report_set_picture; 0 and NULL: as usual */
    const char *picture_font;
    bool failed;
    struct gt_report_block *block;
    struct gt_node root;
    struct gt_node page; /* what pages alone show, above all else: a brief and charts */
};

/* `type` names the kind of result for readers of our files: "resource_usage", "sub_tracking_results",
 * "comparison_results", ... */
int gt_report_new(struct gt_report **ret, const char *type, struct gt_error *error);
void gt_report_free(struct gt_report *report);
/* Returns memory that is zero and lives as long as the report, which fails without; then NULL. */
void *gt_report_memory(struct gt_report *report, size_t size);
/* Returns a copy of a text, which may be NULL, that lives as long as the report; "" without memory. */
const char *gt_report_keep(struct gt_report *report, const char *text);
const char *gt_report_keep_format(struct gt_report *report, const char *format, va_list arguments);

/* Building. All return the new node, or NULL without memory (and then accept a NULL parent, so that a builder may check
 * once, with gt_report_failed). Strings are copied. */
struct gt_node *gt_report_section(struct gt_node *parent, const char *key, const char *title);
struct gt_node *gt_report_number(struct gt_node *parent, const char *key, const char *title, double value,
                                 const char *unit);
struct gt_node *gt_report_integer(struct gt_node *parent, const char *key, const char *title, int64_t value,
                                  const char *unit);
/* Adds a count that is held as a double: an integer, or a missing number when it is NaN. */
struct gt_node *gt_report_count(struct gt_node *parent, const char *key, const char *title, double value,
                                const char *unit);
/* A `value` of NULL is missing. */
struct gt_node *gt_report_text(struct gt_node *parent, const char *key, const char *title, const char *value);
/* Makes a sentence all that people see of a report; programs see its tables and figures, too. */
void gt_report_tell_alone(struct gt_node *root, const char *sentence);
struct gt_node *gt_report_bool(struct gt_node *parent, const char *key, const char *title, bool value);
/* Adds a table without columns, to be built by base/table.h. */
struct gt_table *gt_report_table(struct gt_node *parent, const char *key, const char *title);
void gt_node_flags(struct gt_node *node, unsigned flags);
/* Keeps fields of a section without a value, and sections of nothing else, from people. */
void gt_node_hide_missing(struct gt_node *section);
/* People see the number multiplied by `factor`, in `unit`; readers of data see it as it is. */
void gt_node_display(struct gt_node *node, double factor, const char *unit);
/* Tells the unit of a number without one of its own, whose section or title has it: pages choose another by the size. */
void gt_node_measure(struct gt_node *node, const char *unit);
/* Returns the title of a table that lies in `parent`. */
const char *gt_table_title(const struct gt_node *parent, const struct gt_table *table);
void gt_table_flags(struct gt_table *table, unsigned flags);
void gt_table_column_flags(struct gt_table *table, unsigned flags); /* of the last column */
bool gt_report_failed(const struct gt_report *report);

/* Series have x and named ys, for pictures (HTML) and data formats. */
struct gt_node *gt_report_series(struct gt_node *parent, const char *key, const char *title, const char *x_unit,
                                 const char *unit, unsigned flags);
int gt_series_line(struct gt_node *series, const char *key, const char *title); /* index of the new line, from 0 */
int gt_series_point(struct gt_node *series, int line, double x, double y);
/* Pages draw the line of the course instead of the points, which are for pictures that stay still. Values are divided by `unit`. */
void gt_series_course(struct gt_node *series, int line, struct gt_course *course, int of, double unit);
/* Adds a named range of x: a block, or with GT_LANES a bar on the lane of a line. */
int gt_series_band(struct gt_node *series, int lane, const char *title, double from, double to);
/* Marks a value that is not to be exceeded. NaN and infinities are none. */
void gt_series_limit(struct gt_node *series, const char *title, double value);
/* Says below the title how the picture is to be read. */
__attribute__((format(printf, 2, 3))) void gt_series_note(struct gt_node *series, const char *format, ...);

/* Keeps one table at the top of a report: that with this key, or the first where `name` is NULL; and, unless it is to be alone, why it is
 * empty. *rest gets a sentence about the others (free it), or NULL. Returns 0, also where there is no table and none was asked for; -EINVAL
 * names the tables there are. */
int gt_report_choose_table(struct gt_report *report, const char *name, bool is_alone, char **rest,
                           struct gt_error *error);

/* Reading, for formats. */
/* Returns the flags of a node, or of its table. */
unsigned gt_node_flag_bits(const struct gt_node *node);
/* Returns the first node from `node` on, itself included, with none of the flags `hidden`; NULL at the end. */
const struct gt_node *gt_node_visible(const struct gt_node *node, unsigned hidden);
bool gt_node_is_field(const struct gt_node *node); /* a number, integer, text or truth value */
const struct gt_node *gt_node_find(const struct gt_node *node, const char *key);
double gt_node_number(const struct gt_node *node); /* of a number or an integer; NaN: of another kind */
double gt_node_display_number(const struct gt_node *node);
const char *gt_node_display_unit(const struct gt_node *node);
const char *gt_node_measure_of(const struct gt_node *node); /* the unit that it is shown in, told or not; may be "" */
bool gt_node_is_absent(const struct gt_node *node);         /* a zero with GT_NO_DEVICE */
const char *gt_node_text(const struct gt_node *node);       /* NULL: missing */
struct gt_table *gt_node_table(const struct gt_node *node); /* NULL for other nodes */
/* Finds table number `index` of those at the top of a report, without columns that are for people alone; the caller then owns it, too.
 * Returns 0, -ENOENT or -ENOMEM. The key is borrowed. */
int gt_report_table_data(const struct gt_report *report, size_t index, const char **key, struct gt_table **ret,
                         struct gt_error *error);
/* Returns false for columns that are for others than `reader` (GT_ONLY_DATA or GT_ONLY_PEOPLE), or for nobody. */
bool gt_table_has_column_for(const struct gt_table *table, size_t column, unsigned reader);
/* Returns true for the zero of a device that is not there. */
bool gt_table_cell_is_absent(const struct gt_table *table, size_t row, size_t column);
/* Returns the unit of the number that people see; "" where there is none. It may lie in `scratch`. */
const char *gt_table_cell_unit(const struct gt_table *table, size_t row, size_t column, struct gt_buffer *scratch);
/* Returns the number that people see. */
double gt_table_cell_display(const struct gt_table *table, size_t row, size_t column);

/* Renders into `out`; the error of -EINVAL names the formats there are (format.def). */
int gt_report_write(const struct gt_report *report, const char *format, struct gt_buffer *out, struct gt_error *error);

#endif
