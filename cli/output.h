/* Where a report goes and in which format: checked before the command starts, written when it has ended. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "gpu_tracker.h"
#include "option.h"

struct output {
    const char *format;
    const char *path; /* NULL: `fd` */
    int fd;
    size_t page_size; /* see gt_report_set_page_size */
    const char *plot; /* charts that are drawn as a picture, of the kind `format`; NULL: there is none */
    double width;     /* of the picture: see gt_report_set_picture */
    const char *font;
    size_t lines;  /* of text that a terminal gets at most; 0: all */
    bool is_brief; /* the summary alone */
    bool as_original, is_summary_first;
    bool is_explained; /* the questions that a server was asked stand for the report */
    bool is_quiet;     /* nor for more of it than its warnings */
};

/* From --output and --format. Without --output it goes to `fd`, standard output or standard error; --output=- is
 * standard output anyway. 0, or an exit status after saying why it could not be written. */
int output_prepare(struct output *output, const struct options *options, int fd);
/* May this file, which `option` named, be written? 0, or an exit status after saying why not. */
int output_check(const char *option, const char *path);
/* Check that the file of a report of traces is none of those that are read for it. 0, or -EINVAL. */
int output_spare_inputs(const struct output *output, const char *const *paths, size_t count,
                        const struct options *options, struct gt_error *error);
/* Does the locale name characters other than UTF-8? Then only ASCII is drawn, here and in reports. */
bool output_is_ascii(void);
/* Is it HTML, or a picture? Then a report keeps what can be zoomed into. */
bool output_is_page(const struct output *output);
/* The summary, unless a format, a file or standard output was asked for. */
void output_prefer_summary(struct output *output, const struct options *options);
/* In a terminal the summary, as above; elsewhere text begins with it. */
void output_begin_with_summary(struct output *output, const struct options *options);
/* Render and write. A file is written beside and renamed; when that fails the report goes to standard error. */
int output_report(const struct output *output, struct gt_report *report);
/* The same for what a call of the library gave, which is freed: a report, or a failure to say. */
int output_result(const struct output *output, int status, struct gt_report *report, const struct gt_error *error);
/* The same of a command that reads `path`, see say_unread. */
int output_reading(const struct output *output, int status, struct gt_report *report, const struct gt_error *error,
                   const char *path);
/* The same for text that is already rendered. */
int output_text(const struct output *output, const char *text, size_t length);

#endif
