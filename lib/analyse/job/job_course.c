
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyse/job/job_analysis.h"
#include "base/number.h"
#include "schema/human.h"

/* ---- What there is ---- */

struct seen {
    const struct gt_job_question *question;
    bool *of; /* by metric */
};

static int take_seen(void *context, const struct gt_job_series *series)
{
    const struct seen *seen = context;
    for (size_t i = 0; i < seen->question->subjects; i++)
        seen->of[seen->question->subject[i].metric] |= gt_job_bucket(seen->question, series, i, 0)->count > 0;
    return 0;
}

/* Find the metrics of ranks that a recording has. */
static int find_seen(const struct gt_job *job, bool of[GT_METRIC_COUNT])
{
    int status = 0;
    for (int metric = 0; metric < GT_METRIC_COUNT && !status;) {
        struct gt_job_question question;
        gt_job_question_init(&question, job, 1);
        for (; metric < GT_METRIC_COUNT && question.subjects < GT_JOB_SUBJECTS; metric++)
            if (gt_metric_has((enum gt_metric_id)metric, GT_SCOPE_COMBINED))
                gt_job_ask(&question, (struct gt_job_subject){GT_SCOPE_COMBINED, (enum gt_metric_id)metric, 0});
        struct seen seen = {&question, of};
        status = job->source->series(job->source->state, job, &question, take_seen, &seen, NULL);
    }
    return status;
}

static bool has_word(const char *words, const char *word, size_t length)
{
    for (size_t size; *words; words += size + (words[size] != '\0')) {
        size = strcspn(words, "_ ");
        if (size == length && !strncasecmp(words, word, size))
            return true;
    }
    return false;
}

/* Returns how many words of `name` are in the name of a metric, or in its words. */
static int likeness(const char *name, enum gt_metric_id metric)
{
    char words[GT_JOB_WORDS];
    int count = 0;
    gt_job_metric_words(words, metric);
    for (size_t size; *name; name += size + (name[size] != '\0')) {
        size = strcspn(name, "_ ");
        count += has_word(gt_metrics[metric].name, name, size) || has_word(words, name, size);
    }
    return count;
}

/* Append the metrics of the job, or only those most similar to `name`. */
static void put_seen(struct gt_buffer *out, const struct gt_job *job, const char *name, const char *before)
{
    enum { NAMED = 12 };
    bool of[GT_METRIC_COUNT] = {0};
    int most = 0, count = 0;
    find_seen(job, of);
    for (int i = 0; i < GT_METRIC_COUNT; i++)
        most = of[i] && likeness(name, (enum gt_metric_id)i) > most ? likeness(name, (enum gt_metric_id)i) : most;
    for (int i = 0; i < GT_METRIC_COUNT; i++) {
        if (!of[i] || likeness(name, (enum gt_metric_id)i) < most)
            continue;
        if (count < NAMED)
            gt_buffer_printf(out, "%s%s", count ? ", " : before, gt_metrics[i].name);
        count++;
    }
    if (count > NAMED)
        gt_buffer_printf(out, " and %d more", count - NAMED);
}

const char *gt_job_too_short(const struct gt_job *job)
{
    for (size_t i = 0; i < job->count; i++)
        if (job->rank[i].samples > 1)
            return NULL;
    return "what was used meanwhile is known from the second sample on, and no rank has two: 'gpu-tracker run "
           "--sleep-time 0.1' takes more";
}

int gt_job_course_absent(const struct gt_job *job, const char *name, struct gt_error *error)
{
    bool is_use = strstr(name, "utilization") && (!strstr(name, "gpu") || job->gpus);
    const char *reason = is_use ? gt_job_too_short(job) : NULL;
    struct gt_buffer there = {0};
    put_seen(&there, job, "", "; they have ");
    const char *rest = reason ? reason : there.length ? there.data : "";
    int status = gt_error_set(error, ENOENT, "%s: no recording has %s%s%s", job->source->name, name, reason ? ": " : "",
                              rest);
    gt_buffer_release(&there);
    return status;
}

int gt_job_subject_named(struct gt_job_subject *ret, const struct gt_job *job, const char *name, struct gt_error *error)
{
    static const enum gt_scope scopes[] = {GT_SCOPE_COMBINED, GT_SCOPE_SYSTEM};
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        const char *scope = gt_scope_name(scopes[i]);
        size_t length = strlen(scope);
        bool has_scope = !strncmp(name, scope, length) && name[length] == '_';
        int metric = gt_metric_find(name + (has_scope ? length + 1 : 0));
        if (metric < 0 || !gt_metric_has((enum gt_metric_id)metric, scopes[i]))
            continue;
        *ret = (struct gt_job_subject){scopes[i], (enum gt_metric_id)metric, 0};
        return 0;
    }
    struct gt_buffer there = {0};
    put_seen(&there, job, name, "; the recordings have ");
    int status = gt_error_set(error, EINVAL,
                              "\"%s\" is not a metric of a rank or a machine%s (gpu-tracker schema lists all)", name,
                              there.length ? there.data : "");
    gt_buffer_release(&there);
    return status;
}

bool gt_job_tells_of_node(const struct gt_job *job, size_t rank)
{
    const struct gt_job_node *node = &job->node[job->rank[rank].node];
    for (size_t i = node->first; i < node->first + node->count; i++)
        if (job->rank[i].samples > job->rank[rank].samples ||
            (i < rank && job->rank[i].samples >= job->rank[rank].samples))
            return false;
    return true;
}

/* ---- Reading ---- */

struct reading {
    struct gt_job_course *course;
    size_t count;
    const struct gt_job_question *question;
    size_t *place; /* index into `course` for each subject of the question */
};

static void take_gauge(struct gt_job_course_row *row, const struct gt_job_bucket *bucket, size_t columns)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < columns; i++) {
        row->column[i] = bucket[i].count ? bucket[i].sum / bucket[i].count : NAN;
        sum += bucket[i].count ? bucket[i].sum : 0;
        count += bucket[i].count;
        row->least = bucket[i].count ? fmin(row->least, bucket[i].least) : row->least;
        row->most = bucket[i].count ? fmax(row->most, bucket[i].most) : row->most;
    }
    row->mean = sum / count;
}

/* The increase between the last samples of two buckets is spread over the buckets between them. */
static void take_counter(struct gt_job_course_row *row, const struct gt_job_bucket *bucket, size_t columns,
                         double width)
{
    double before = NAN, sum = 0, count = 0;
    size_t from = 0;
    for (size_t i = 0; i < columns; i++)
        row->column[i] = NAN;
    for (size_t i = 0; i < columns; i++) {
        if (!bucket[i].count)
            continue;
        double rate = (bucket[i].last - before) / ((double)(i + 1 - from) * width);
        for (size_t k = from; k <= i && !isnan(before); k++) {
            row->column[k] = rate;
            sum += rate;
            count++;
        }
        row->least = fmin(row->least, rate);
        row->most = fmax(row->most, rate);
        before = bucket[i].last;
        from = i + 1;
    }
    row->mean = sum / count;
}

static void take_row(struct gt_job_course *course, size_t member, const struct gt_job_bucket *bucket)
{
    double known = 0;
    for (size_t i = 0; i < course->columns; i++)
        known += bucket[i].count;
    if (known < 1)
        return;
    struct gt_job_course_row *row = &course->row[course->count];
    *row = (struct gt_job_course_row){member, NAN, NAN, NAN, course->columns_of_all + course->count * course->columns};
    course->count++;
    if (gt_metrics[course->subject.metric].kind == GT_COUNTER)
        take_counter(row, bucket, course->columns, course->width);
    else
        take_gauge(row, bucket, course->columns);
}

/* Returns true if ranks below it have rows. */
static bool is_told(const struct gt_job_course *course, const struct gt_job_rank *rank)
{
    for (size_t i = 0; rank->below_count && i < course->count; i++)
        if (course->row[i].member - rank->first_member < rank->below_count)
            return true;
    return false;
}

static int take_rank(void *context, const struct gt_job_series *series)
{
    const struct reading *reading = context;
    for (size_t i = 0; i < reading->count; i++) {
        struct gt_job_course *course = &reading->course[i];
        const struct gt_job_rank *rank = &course->job->rank[series->rank];
        bool is_of_node = course->subject.scope == GT_SCOPE_SYSTEM;
        if (is_of_node ? gt_job_tells_of_node(course->job, series->rank) : !is_told(course, rank))
            take_row(course, rank->whole, gt_job_bucket(reading->question, series, i, 0));
    }
    return 0;
}

static int take_below(void *context, const struct gt_job_series *series)
{
    const struct reading *reading = context;
    for (size_t i = 0; i < reading->question->subjects; i++) {
        struct gt_job_course *course = &reading->course[reading->place[i]];
        take_row(course, course->job->rank[series->rank].first_member + (size_t)series->part,
                 gt_job_bucket(reading->question, series, i, 0));
    }
    return 0;
}

/* Not more columns than the slowest tracker took samples. */
static size_t columns_for(const struct gt_job *job, size_t most)
{
    double period = 0;
    for (size_t i = 0; i < job->count; i++)
        period = fmax(period, job->rank[i].machine.period);
    double looks = period > 0 ? floor((job->end - job->begin) / period) : (double)most;
    return (size_t)fmin(fmax(looks, 1), (double)most);
}

static int begin(struct gt_job_course *course, const struct gt_job *job, const struct gt_job_question *question,
                 struct gt_job_subject subject)
{
    *course = (struct gt_job_course){.job = job,
                                     .subject = subject,
                                     .name = gt_metrics[subject.metric].name,
                                     .columns = question->buckets,
                                     .begin = question->begin,
                                     .width = question->width};
    course->row = calloc(job->all_members + 1, sizeof *course->row);
    course->columns_of_all = calloc(job->all_members * question->buckets + 1, sizeof *course->columns_of_all);
    return course->row && course->columns_of_all ? 0 : -ENOMEM;
}

static int read_below(struct gt_job_course *course, size_t count, const struct gt_job *job,
                      const struct gt_job_question *question, struct gt_error *error)
{
    struct gt_job_question below = *question;
    size_t place[GT_JOB_SUBJECTS];
    below.subjects = 0;
    for (size_t i = 0; i < count; i++) {
        const struct gt_job_subject *subject = &question->subject[i];
        /* Sums of counters fall when processes end, so only gauges are added up. */
        if (subject->scope != GT_SCOPE_COMBINED || gt_metrics[subject->metric].kind != GT_GAUGE ||
            !gt_metric_has(subject->metric, GT_SCOPE_PROCESS))
            continue;
        place[below.subjects] = i;
        gt_job_ask(&below, (struct gt_job_subject){GT_SCOPE_PROCESS, subject->metric, 0});
    }
    struct reading reading = {course, count, &below, place};
    return below.subjects && job->all_members > job->members
               ? job->source->series(job->source->state, job, &below, take_below, &reading, error)
               : 0;
}

static int compare_rows(const void *left, const void *right)
{
    return GT_ORDER(((const struct gt_job_course_row *)left)->member,
                    ((const struct gt_job_course_row *)right)->member);
}

static int put_in_order(struct gt_job_course *course)
{
    double *columns = calloc(course->count * course->columns + 1, sizeof *columns);
    if (!columns)
        return -ENOMEM;
    qsort(course->row, course->count, sizeof *course->row, compare_rows);
    for (size_t i = 0; i < course->count; i++) {
        memcpy(columns + i * course->columns, course->row[i].column, course->columns * sizeof *columns);
        course->row[i].column = columns + i * course->columns;
    }
    free(course->columns_of_all);
    course->columns_of_all = columns;
    return 0;
}

int gt_job_courses_read(struct gt_job_course *ret, size_t count, const struct gt_job *job,
                        const struct gt_job_subject *subjects, size_t most, struct gt_error *error)
{
    struct gt_job_question question;
    struct reading reading = {ret, count, &question, NULL};
    int status = 0;
    gt_job_question_init(&question, job, columns_for(job, most));
    for (size_t i = 0; i < count; i++) {
        gt_job_ask(&question, subjects[i]);
        if (begin(&ret[i], job, &question, subjects[i]) < 0)
            status = gt_error_system(error, ENOMEM, "%s", job->source->name);
    }
    if (status >= 0)
        status = read_below(ret, count, job, &question, error);
    if (status >= 0)
        status = job->source->series(job->source->state, job, &question, take_rank, &reading, error);
    for (size_t i = 0; i < count && status >= 0 && job->all_members > job->members; i++)
        if (put_in_order(&ret[i]) < 0)
            status = gt_error_system(error, ENOMEM, "%s", job->source->name);
    return status;
}

void gt_job_course_release(struct gt_job_course *course)
{
    free(course->row);
    free(course->columns_of_all);
    *course = (struct gt_job_course){0};
}

static const char *word_of(const char *word)
{
    static const char *const words[][2] = {{"cpu", "CPU"},   {"gpu", "GPU"},   {"ram", "memory"}, {"io", "I/O"},
                                           {"rss", "RSS"},   {"ecc", "ECC"},   {"pcie", "PCIe"},  {"nvlink", "NVLink"},
                                           {"xids", "XIDs"}, {"xgmi", "XGMI"}, {"dram", "DRAM"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i][0], word))
            return words[i][1];
    return word;
}

char *gt_job_metric_words(char ret[GT_JOB_WORDS], enum gt_metric_id metric)
{
    char name[GT_JOB_WORDS], *rest = name;
    size_t length = 0;
    snprintf(name, sizeof name, "%s", gt_metrics[metric].name);
    for (const char *word; (word = strsep(&rest, "_")) && length < GT_JOB_WORDS;)
        length += (size_t)snprintf(ret + length, GT_JOB_WORDS - length, "%s%s", length ? " " : "", word_of(word));
    *ret = (char)toupper((unsigned char)*ret);
    return ret;
}

const char *gt_job_course_unit(const struct gt_job_course *course)
{
    const struct gt_metric *metric = &gt_metrics[course->subject.metric];
    if (metric->kind == GT_COUNTER)
        return metric->unit == GT_BYTES ? "bytes/s" : metric->unit == GT_JOULES ? "watts" : "";
    return metric->unit == GT_RATIO || metric->unit == GT_COUNT || metric->unit == GT_BITS ? ""
                                                                                           : gt_unit_name(metric->unit);
}

/* ---- Ranks by time ---- */

enum { COLUMNS = 60, PAGE_ROWS = 128, TEXT_ROWS = 40 };

/* A large job has fewer rows than ranks. A row shows the one of several adjacent ranks that is furthest from the median
 * of its step. */
struct rows {
    size_t each;  /* ranks of a row */
    size_t count; /* rows */
    const struct gt_job_course_row **row;
};

/* Rows of machines are of no step. */
static size_t step_of(const struct gt_job_course *course, const struct gt_job_course_row *row)
{
    return course->subject.scope == GT_SCOPE_SYSTEM ? 0 : gt_job_member_launch(course->job, row->member);
}

/* The caller frees the rows, also after an error. */
static int choose_rows(struct rows *ret, const struct gt_job_course *course, size_t most)
{
    double *mean = calloc(course->count + 1, sizeof *mean);
    double *median = calloc(course->job->launches + 1, sizeof *median);
    *ret = (struct rows){(course->count + most - 1) / most, 0, calloc(course->count + 1, sizeof *ret->row)};
    int status = mean && median && ret->row ? 0 : -ENOMEM;
    for (size_t step = 0; step < course->job->launches && status >= 0; step++) {
        struct gt_spread spread;
        size_t count = 0;
        for (size_t i = 0; i < course->count; i++)
            if (step_of(course, &course->row[i]) == step)
                mean[count++] = course->row[i].mean;
        status = gt_spread_of(&spread, mean, count);
        median[step] = spread.median;
    }
    for (size_t first = 0; first < course->count && status >= 0; first += ret->each) {
        const struct gt_job_course_row *found = &course->row[first];
        for (size_t i = first; i < first + ret->each && i < course->count; i++) {
            const struct gt_job_course_row *row = &course->row[i];
            if (fabs(row->mean - median[step_of(course, row)]) > fabs(found->mean - median[step_of(course, found)]))
                found = row;
        }
        ret->row[ret->count++] = found;
    }
    free(mean);
    free(median);
    return status;
}

/* ---- For pages ---- */

static void add_bands(struct gt_node *series, const struct gt_job_course *course)
{
    double begin = course->begin - course->job->begin;
    for (size_t i = 0; i < course->columns; i++) {
        char time[GT_HUMAN_SIZE];
        double from = begin + (double)i * course->width;
        gt_series_band(series, gt_human_seconds(time, fmax(from, 0)), from, from + course->width);
    }
}

static int add_picture(struct gt_node *root, const struct gt_job_course *course, bool all)
{
    struct rows rows;
    struct gt_buffer text = {0};
    char words[GT_JOB_WORDS];
    int status = choose_rows(&rows, course, all ? course->count : PAGE_ROWS);
    if (status < 0) {
        free(rows.row);
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
    for (size_t i = 0; i < rows.count; i++) {
        const struct gt_job_course_row *row = rows.row[i];
        gt_buffer_clear(&text);
        if (course->subject.scope == GT_SCOPE_SYSTEM)
            gt_buffer_text(&text, gt_job_member_node_name(course->job, row->member));
        else
            gt_job_put_rank(&text, course->job, row->member);
        int line = gt_series_line(series, "", text.failed ? "" : text.data);
        for (size_t k = 0; k < course->columns; k++)
            if (!isnan(row->column[k]))
                gt_series_point(series, line, (double)k, row->column[k]);
    }
    free(rows.row);
    gt_buffer_release(&text);
    return 0;
}

/* ---- For terminals ---- */

/* Shades from the least to the greatest value of all; a blank if unknown. */
static void draw(char ret[COLUMNS + 1], const struct gt_job_course *course, const struct gt_job_course_row *row,
                 double least, double most)
{
    static const char shades[] = ".:-=+*#%@";
    for (size_t i = 0; i < course->columns; i++) {
        double part = most > least ? (row->column[i] - least) / (most - least) : most > 0 ? 0.5 : 0;
        ret[i] = isnan(row->column[i]) ? ' ' : shades[(size_t)fmin(part * (sizeof shades - 1), sizeof shades - 2)];
    }
    ret[course->columns] = '\0';
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
    double least = NAN, most = NAN;
    const char *unit = gt_job_course_unit(course);
    char drawing[COLUMNS + 1], words[GT_JOB_WORDS];
    struct gt_buffer title = {0};
    int status = choose_rows(&rows, course, all ? course->count : TEXT_ROWS);
    if (status < 0) {
        free(rows.row);
        return status;
    }
    for (size_t i = 0; i < course->count * course->columns; i++) {
        least = fmin(least, course->columns_of_all[i]);
        most = fmax(most, course->columns_of_all[i]);
    }
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
    for (size_t i = 0; i < rows.count; i++) {
        const struct gt_job_course_row *row = rows.row[i];
        draw(drawing, course, row, least, most);
        gt_job_rank_cells(table, course->job, row->member);
        gt_table_number(table, row->mean);
        gt_table_text(table, drawing);
    }
    free(rows.row);
    return 0;
}

/* ---- For programs ---- */

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

/* ---- All of it ---- */

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
    if (status >= 0 && found < count) {
        status = add_picture(root, &course[found], options->all);
        if (status >= 0 && !options->only_page) {
            add_figures(root, &course[found]);
            status = add_drawing(root, &course[found], options->all);
        }
    } else if (status >= 0 && options->metric)
        status = gt_job_course_absent(job, options->metric, error);
    gt_job_course_release(&course[0]);
    gt_job_course_release(&course[1]);
    return status;
}
