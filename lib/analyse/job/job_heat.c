#include "analyse/job/job_heat.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/job_analysis.h"
#include "analyse/job/job_course.h"
#include "schema/human.h"

enum { COLUMNS = 60, PAGE_ROWS = 128, TEXT_ROWS = 40 };

/* A large job has fewer rows than ranks: of those that follow each other the one that is furthest from the median of its step is shown. */
struct rows {
    const struct gt_job_course *course;
    size_t each;    /* ranks of a row */
    double *median; /* of each step */
};

/* Rows of machines are of no step. */
static size_t step_of(const struct gt_job_course *course, const struct gt_job_course_row *row)
{
    return course->subject.scope == GT_SCOPE_SYSTEM ? 0 : gt_job_member_launch(course->job, row->member);
}

static int choose_rows(struct rows *ret, const struct gt_job_course *course, size_t most)
{
    double *mean = calloc(course->count + 1, sizeof *mean);
    *ret = (struct rows){course, (course->count + most - 1) / most,
                         calloc(course->job->launches + 1, sizeof *ret->median)};
    int status = mean && ret->median ? 0 : -ENOMEM;
    for (size_t step = 0; step < course->job->launches && status >= 0; step++) {
        struct gt_spread spread;
        size_t count = 0;
        for (size_t i = 0; i < course->count; i++)
            if (step_of(course, &course->row[i]) == step)
                mean[count++] = course->row[i].mean;
        status = gt_spread_of(&spread, mean, count);
        ret->median[step] = spread.median;
    }
    free(mean);
    return status;
}

static void release_rows(struct rows *rows)
{
    free(rows->median);
}

static double distance_of(const struct rows *rows, const struct gt_job_course_row *row)
{
    return fabs(row->mean - rows->median[step_of(rows->course, row)]);
}

static const struct gt_job_course_row *row_from(const struct rows *rows, size_t first)
{
    const struct gt_job_course_row *found = &rows->course->row[first];
    for (size_t i = first; i < first + rows->each && i < rows->course->count; i++)
        if (distance_of(rows, &rows->course->row[i]) > distance_of(rows, found))
            found = &rows->course->row[i];
    return found;
}

/* ---- For pages --------------------------------------------------------------------------------------------------- */

static void put_row_name(struct gt_buffer *out, const struct rows *rows, const struct gt_job_course_row *row)
{
    gt_buffer_clear(out);
    if (rows->course->subject.scope == GT_SCOPE_SYSTEM)
        gt_buffer_text(out, gt_job_member_node_name(rows->course->job, row->member));
    else
        gt_job_put_rank(out, rows->course->job, row->member);
}

static void add_bands(struct gt_node *series, const struct gt_job_course *course)
{
    double begin = course->begin - course->job->begin;
    for (size_t i = 0; i < course->columns; i++) {
        char time[GT_HUMAN_SIZE], title[GT_HUMAN_SIZE + 8];
        double from = begin + (double)i * course->width;
        snprintf(title, sizeof title, "%s", gt_human_seconds(time, fmax(from, 0)));
        gt_series_band(series, title, from, from + course->width);
    }
}

static int add_picture(struct gt_node *root, const struct gt_job_course *course, bool all)
{
    struct rows rows;
    struct gt_buffer text = {0};
    char words[GT_JOB_WORDS];
    int status = choose_rows(&rows, course, all ? course->count : PAGE_ROWS);
    if (status < 0) {
        release_rows(&rows);
        return status;
    }
    gt_job_metric_words(words, course->subject.metric);
    gt_buffer_printf(&text, "%s: each cell is the mean of a %s in %.3g s, the stronger the colour the greater", words,
                     course->subject.scope == GT_SCOPE_SYSTEM ? "node" : "rank", course->width);
    if (rows.each > 1)
        gt_buffer_printf(&text, "; of %zu that follow each other the one that is furthest from the median", rows.each);
    gt_buffer_text(&text, ".");
    struct gt_node *series = gt_report_series(
        root, "heat_map", course->subject.scope == GT_SCOPE_SYSTEM ? "Nodes over time" : "Ranks over time", "seconds",
        gt_job_course_unit(course));
    gt_node_flags(series, GT_ONLY_PEOPLE | GT_HEAT | GT_PAGE_FIRST);
    gt_series_note(series, text.failed ? "" : text.data);
    add_bands(series, course);
    for (size_t first = 0; first < course->count; first += rows.each) {
        const struct gt_job_course_row *row = row_from(&rows, first);
        put_row_name(&text, &rows, row);
        int line = gt_series_line(series, "", text.failed ? "" : text.data);
        for (size_t i = 0; i < course->columns; i++)
            if (!isnan(row->column[i]))
                gt_series_point(series, line, (double)i, row->column[i]);
    }
    release_rows(&rows);
    gt_buffer_release(&text);
    return 0;
}

/* ---- For terminals ----------------------------------------------------------------------------------------------- */

/* From the least to the greatest of all; a blank where nothing is known. */
static void draw(char ret[COLUMNS + 1], const struct gt_job_course *course, const struct gt_job_course_row *row,
                 double least, double most)
{
    static const char shades[] = ".:-=+*#%@";
    for (size_t i = 0; i < course->columns; i++) {
        double part = most > least ? (row->column[i] - least) / (most - least) : 0.5;
        ret[i] = isnan(part) ? ' ' : shades[(size_t)fmin(part * (sizeof shades - 1), sizeof shades - 2)];
    }
    ret[course->columns] = '\0';
}

static void find_range(const struct gt_job_course *course, double *least, double *most)
{
    *least = *most = NAN;
    for (size_t i = 0; i < course->count * course->columns; i++) {
        *least = fmin(*least, course->columns_of_all[i]);
        *most = fmax(*most, course->columns_of_all[i]);
    }
}

static void put_value(struct gt_buffer *out, double value, const char *unit)
{
    char text[GT_HUMAN_SIZE];
    if (!strncmp(unit, "bytes", 5))
        gt_buffer_printf(out, "%s%s", gt_human_bytes(text, value), unit + 5); /* also of bytes/s */
    else if (!strcmp(unit, "watts"))
        gt_buffer_text(out, gt_human_power(text, value));
    else if (!strcmp(unit, "joules"))
        gt_buffer_text(out, gt_human_energy(text, value));
    else
        gt_buffer_printf(out, "%.4g%s%s", value, *unit ? " " : "", unit);
}

static int add_drawing(struct gt_node *root, const struct gt_job_course *course, bool all)
{
    struct rows rows;
    double least, most;
    const char *unit = gt_job_course_unit(course);
    char drawing[COLUMNS + 1], words[GT_JOB_WORDS];
    struct gt_buffer title = {0};
    int status = choose_rows(&rows, course, all ? course->count : TEXT_ROWS);
    if (status < 0) {
        release_rows(&rows);
        return status;
    }
    find_range(course, &least, &most);
    gt_buffer_printf(&title, "%s over time, %.3g s a character, from ",
                     gt_job_metric_words(words, course->subject.metric), course->width);
    put_value(&title, least, unit);
    gt_buffer_text(&title, " (.) to ");
    put_value(&title, most, unit);
    gt_buffer_text(&title, " (@)");
    gt_buffer_text(&title, rows.each > 1 ? "; of ranks that follow each other the furthest from the median" : "");
    struct gt_table *table = gt_report_table(root, "heat_drawing", title.failed ? "" : title.data);
    gt_buffer_release(&title);
    gt_table_flags(table, GT_BRIEF | GT_ONLY_PEOPLE | GT_NOT_ON_PAGE);
    gt_job_rank_columns(table, course->job);
    gt_table_column(table, "mean", "Mean", GT_CELL_NUMBER, *unit ? unit : NULL);
    gt_table_column(table, "course", "Over time", GT_CELL_TEXT, NULL);
    for (size_t first = 0; first < course->count; first += rows.each) {
        const struct gt_job_course_row *row = row_from(&rows, first);
        draw(drawing, course, row, least, most);
        gt_job_rank_cells(table, course->job, row->member);
        gt_table_number(table, row->mean);
        gt_table_text(table, drawing);
    }
    release_rows(&rows);
    return 0;
}

/* ---- For programs ------------------------------------------------------------------------------------------------ */

static void add_figures(struct gt_node *root, const struct gt_job_course *course)
{
    struct gt_table *table = gt_report_table(root, "heat", "Ranks over time");
    const char *unit = gt_job_course_unit(course);
    gt_table_flags(table, GT_ONLY_DATA);
    gt_job_rank_columns(table, course->job);
    gt_table_column(table, "time", "Time", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, course->name, course->name, GT_CELL_NUMBER, *unit ? unit : NULL);
    for (size_t i = 0; i < course->count; i++)
        for (size_t k = 0; k < course->columns; k++) {
            if (isnan(course->row[i].column[k]))
                continue;
            gt_job_rank_cells(table, course->job, course->row[i].member);
            gt_table_number(table, course->begin - course->job->begin + (double)k * course->width);
            gt_table_number(table, course->row[i].column[k]);
        }
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static int add_course(struct gt_node *root, const struct gt_job_course *course,
                      const struct gt_job_heat_options *options)
{
    int status = add_picture(root, course, options->all);
    if (status < 0 || options->only_page)
        return status;
    add_figures(root, course);
    return add_drawing(root, course, options->all);
}

int gt_job_heat(struct gt_node *root, const struct gt_job *job, const struct gt_job_heat_options *options,
                struct gt_error *error)
{
    struct gt_job_course course[2] = {0};
    struct gt_job_subject subject[2] = {{GT_SCOPE_COMBINED, GT_GPU_UTILIZATION, 0},
                                        {GT_SCOPE_COMBINED, GT_CPU_UTILIZATION, 0}};
    size_t count = options->metric ? 1 : 2, found = 0;
    int status = options->metric ? gt_job_subject_named(&subject[0], job, options->metric, error) : 0;
    if (status >= 0)
        status = gt_job_courses_read(course, count, job, subject, COLUMNS, error);
    while (found < count && !course[found].count)
        found++;
    if (status >= 0 && found < count)
        status = add_course(root, &course[found], options);
    else if (status >= 0 && options->metric)
        status = gt_job_course_absent(job, options->metric, error);
    gt_job_course_release(&course[0]);
    gt_job_course_release(&course[1]);
    return status;
}
