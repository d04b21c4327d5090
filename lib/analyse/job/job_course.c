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

/* Returns how many words of `name` are in the name of a metric, or in its words. */
static int likeness(const char *name, enum gt_metric_id metric)
{
    char words[GT_JOB_WORDS], word[GT_JOB_WORDS];
    int count = 0;
    gt_job_metric_words(words, metric);
    for (size_t size; *name; name += size + (name[size] != '\0')) {
        size = strcspn(name, "_ ");
        snprintf(word, sizeof word, "%.*s", (int)size, name);
        count += strcasestr(gt_metrics[metric].name, word) || strcasestr(words, word);
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

/* The values of one member. */
struct line {
    double mean, most, *column;
};

static void take_gauge(struct line *line, const struct gt_job_bucket *bucket, size_t columns)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < columns; i++) {
        if (!bucket[i].count)
            continue;
        line->column[i] = bucket[i].sum / bucket[i].count;
        line->most = fmax(line->most, bucket[i].most);
        sum += bucket[i].sum;
        count += bucket[i].count;
    }
    line->mean = sum / count;
}

/* The increase between the last samples of two buckets is spread over the buckets between them. */
static void take_counter(struct line *line, const struct gt_job_bucket *bucket, size_t columns, double width)
{
    double before = NAN, sum = 0, count = 0;
    size_t from = 0;
    for (size_t i = 0; i < columns; i++) {
        if (!bucket[i].count)
            continue;
        double rate = (bucket[i].last - before) / ((double)(i + 1 - from) * width);
        for (size_t k = from; k <= i && !isnan(before); k++) {
            line->column[k] = rate;
            sum += rate;
            count++;
        }
        line->most = fmax(line->most, rate);
        before = bucket[i].last;
        from = i + 1;
    }
    line->mean = sum / count;
}

static bool has_samples(const struct gt_job_bucket *bucket, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bucket[i].count >= 1)
            return true;
    return false;
}

/* While a course is read, it has a row for each member, and those without a value have no member. */
static void take_row(struct gt_job_course *course, size_t member, const struct gt_job_bucket *bucket)
{
    if (member >= course->rows.count || !has_samples(bucket, course->columns))
        return;
    struct line line = {NAN, NAN, course->column + member * course->columns};
    if (gt_metrics[course->subject.metric].kind == GT_COUNTER)
        take_counter(&line, bucket, course->columns, course->width);
    else
        take_gauge(&line, bucket, course->columns);
    gt_rows_keys(&course->rows, "member")[member] = (uint32_t)member;
    gt_rows_reals(&course->rows, "mean")[member] = line.mean;
    gt_rows_reals(&course->rows, "most")[member] = line.most;
}

/* Returns true if ranks below it have rows. */
static bool is_told(const struct gt_job_course *course, const struct gt_job_rank *rank)
{
    const uint32_t *member = gt_rows_keys(&course->rows, "member");
    for (size_t i = 0; i < rank->below_count && course->rows.count; i++)
        if (member[rank->first_member + i] != GT_NO_KEY)
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

static const char *unit_of(enum gt_metric_id id)
{
    const struct gt_metric *metric = &gt_metrics[id];
    if (metric->kind == GT_COUNTER)
        return metric->unit == GT_BYTES ? "bytes/s" : metric->unit == GT_JOULES ? "watts" : "";
    bool has_none = metric->unit == GT_RATIO || metric->unit == GT_COUNT || metric->unit == GT_BITS;
    return has_none ? "" : gt_unit_name(metric->unit);
}

static void begin(struct gt_job_course *course, const struct gt_job *job, const struct gt_job_question *question,
                  struct gt_job_subject subject)
{
    size_t cells = job->all_members * question->buckets;
    *course = (struct gt_job_course){.job = job,
                                     .subject = subject,
                                     .name = gt_metrics[subject.metric].name,
                                     .unit = unit_of(subject.metric),
                                     .columns = question->buckets,
                                     .begin = question->begin,
                                     .width = question->width,
                                     .rows = gt_rows_new(job->query, job->all_members),
                                     .column = gt_query_memory(job->query, cells, sizeof *course->column)};
    uint32_t *member = gt_rows_add_keys(&course->rows, "member", NULL);
    gt_rows_add_reals(&course->rows, "mean");
    gt_rows_add_reals(&course->rows, "most");
    for (size_t i = 0; i < course->rows.count; i++)
        member[i] = GT_NO_KEY;
    for (size_t i = 0; i < cells && course->column; i++)
        course->column[i] = NAN;
}

/* Leave members without a value out. */
static void end(struct gt_job_course *course)
{
    const uint32_t *member = gt_rows_keys(&course->rows, "member");
    bool *is_there = gt_query_memory(course->rows.query, course->rows.count, sizeof *is_there);
    size_t count = 0;
    for (size_t i = 0; i < course->rows.count && is_there; i++)
        if ((is_there[i] = member[i] != GT_NO_KEY))
            memmove(course->column + count++ * course->columns, course->column + i * course->columns,
                    course->columns * sizeof *course->column);
    course->rows = gt_rows_filter(&course->rows, is_there);
    gt_job_name_members(course->job, &course->rows);
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

int gt_job_courses_read(struct gt_job_course *ret, size_t count, const struct gt_job *job,
                        const struct gt_job_subject *subjects, size_t most, struct gt_error *error)
{
    struct gt_job_question question;
    struct reading reading = {ret, count, &question, NULL};
    gt_job_question_init(&question, job, columns_for(job, most));
    for (size_t i = 0; i < count; i++) {
        gt_job_ask(&question, subjects[i]);
        begin(&ret[i], job, &question, subjects[i]);
    }
    int status = read_below(ret, count, job, &question, error);
    if (status >= 0)
        status = job->source->series(job->source->state, job, &question, take_rank, &reading, error);
    for (size_t i = 0; i < count && status >= 0; i++)
        end(&ret[i]);
    return status;
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

/* ---- Ranks by time ---- */

enum { COLUMNS = 60, PAGE_ROWS = 128, TEXT_ROWS = 40 };

/* A large job has fewer rows than ranks. Returns for each of several adjacent ranks the one that is furthest from the median of its step,
 * with the column `line`, its row in the course. Rows of machines are of no step. */
static struct gt_rows choose_rows(const struct gt_job_course *course, size_t each)
{
    const char *keys = course->subject.scope == GT_SCOPE_SYSTEM ? "" : "job";
    struct gt_rows rows = course->rows, spread = gt_job_spread(&rows, keys, "mean"), with = rows;
    gt_rows_join(&with, &spread, keys, "median");
    const double *mean = gt_rows_reals(&with, "mean"), *median = gt_rows_reals(&with, "median");
    uint32_t *line = gt_rows_add_keys(&rows, "line", NULL), *group = gt_rows_add_keys(&rows, "group", NULL);
    double *distance = gt_rows_add_reals(&rows, "distance");
    for (size_t i = 0; i < rows.count; i++) {
        line[i] = (uint32_t)i;
        group[i] = (uint32_t)(i / each);
        distance[i] = fabs(mean[i] - median[i]);
    }
    return gt_rows_group(&rows, "group",
                         GT_AGGREGATES(GT_ARG_MAX("line", "distance", "line"),
                                       GT_ARG_MAX("member", "distance", "member"),
                                       GT_ARG_MAX("mean", "distance", "mean")));
}

/* Returns how many ranks have one row. */
static size_t ranks_of_row(const struct gt_job_course *course, bool all, size_t most)
{
    return all ? 1 : (course->rows.count + most - 1) / most;
}

/* ---- For pages ---- */

static void add_bands(struct gt_node *series, const struct gt_job_course *course)
{
    double begin = course->begin - course->job->begin;
    for (size_t i = 0; i < course->columns; i++) {
        double from = begin + (double)i * course->width;
        gt_series_band(series, 0, GT_HUMAN(seconds, fmax(from, 0)), from, from + course->width);
    }
}

static void add_picture(struct gt_node *root, const struct gt_job_course *course, bool all)
{
    bool is_of_nodes = course->subject.scope == GT_SCOPE_SYSTEM;
    size_t each = ranks_of_row(course, all, PAGE_ROWS);
    struct gt_rows rows = choose_rows(course, each);
    const uint32_t *member = gt_rows_keys(&rows, "member"), *of = gt_rows_keys(&rows, "line");
    struct gt_buffer text = {0};
    char words[GT_JOB_WORDS], few[100] = "";
    if (each > 1)
        snprintf(few, sizeof few, "; of %zu that follow each other the one that is furthest from the median", each);
    struct gt_node *series = gt_report_series(root, "heat_map", is_of_nodes ? "Nodes over time" : "Ranks over time",
                                              "seconds", course->unit, GT_ONLY_PEOPLE | GT_HEAT | GT_PAGE_FIRST);
    gt_series_note(series, "%s: each cell is the mean of a %s in %.3g s, the stronger the colour the greater%s.",
                   gt_job_metric_words(words, course->subject.metric), is_of_nodes ? "node" : "rank", course->width,
                   few);
    add_bands(series, course);
    for (size_t i = 0; i < rows.count; i++) {
        const double *column = course->column + of[i] * course->columns;
        gt_buffer_clear(&text);
        if (is_of_nodes)
            gt_buffer_text(&text, gt_job_member_node_name(course->job, member[i]));
        else
            gt_job_put_rank(&text, course->job, member[i]);
        int line = gt_series_line(series, "", text.failed ? "" : text.data);
        for (size_t k = 0; k < course->columns; k++)
            if (!isnan(column[k]))
                gt_series_point(series, line, (double)k, column[k]);
    }
    gt_buffer_release(&text);
}

/* ---- For terminals ---- */

/* Returns shades from the least to the greatest value of all; a blank if unknown. */
static const char *draw(const struct gt_job_course *course, const double *column, double least, double most)
{
    static const char shades[] = ".:-=+*#%@";
    char *ret = gt_query_memory(course->job->query, course->columns + 1, 1);
    for (size_t i = 0; i < course->columns && ret; i++) {
        double part = most > least ? (column[i] - least) / (most - least) : most > 0 ? 0.5 : 0;
        ret[i] = isnan(column[i]) ? ' ' : shades[(size_t)fmin(part * (sizeof shades - 1), sizeof shades - 2)];
    }
    if (ret)
        ret[course->columns] = '\0';
    return ret;
}

static void put_value(struct gt_buffer *out, double value, const char *unit)
{
    if (!strncmp(unit, "bytes", 5))
        gt_buffer_printf(out, "%s%s", GT_HUMAN(bytes, value), unit + 5); /* also of bytes/s */
    else if (!strcmp(unit, "watts"))
        gt_buffer_text(out, GT_HUMAN(power, value));
    else if (!strcmp(unit, "joules"))
        gt_buffer_text(out, GT_HUMAN(energy, value));
    else
        gt_buffer_printf(out, "%.4g%s%s", value, *unit ? " " : "", unit);
}

static void add_drawing(struct gt_node *root, const struct gt_job_course *course, bool all)
{
    const struct gt_job_column columns[] = {GT_JOB_RANK_COLUMNS,
                                            {"mean", "Mean", *course->unit ? course->unit : NULL, 0, NULL},
                                            {"course", "Over time", NULL, 0, NULL},
                                            {NULL, NULL, NULL, 0, NULL}};
    size_t each = ranks_of_row(course, all, TEXT_ROWS);
    struct gt_rows rows = choose_rows(course, each);
    double least = NAN, most = NAN;
    char words[GT_JOB_WORDS];
    struct gt_buffer title = {0};
    for (size_t i = 0; i < course->rows.count * course->columns; i++) {
        least = fmin(least, course->column[i]);
        most = fmax(most, course->column[i]);
    }
    const uint32_t *line = gt_rows_keys(&rows, "line");
    const char **drawing = gt_job_add_texts(&rows, "course");
    for (size_t i = 0; i < rows.count; i++)
        drawing[i] = draw(course, course->column + line[i] * course->columns, least, most);
    gt_job_name_members(course->job, &rows);
    gt_buffer_printf(&title, "%s over time, %.3g s a character, from ",
                     gt_job_metric_words(words, course->subject.metric), course->width);
    put_value(&title, least, course->unit);
    gt_buffer_text(&title, " (.) to ");
    put_value(&title, most, course->unit);
    gt_buffer_text(&title, " (@)");
    gt_buffer_text(&title, each > 1 ? "; of ranks that follow each other the furthest from the median" : "");
    gt_job_table(root, course->job, "heat_drawing", title.failed ? "" : title.data,
                 GT_BRIEF | GT_ONLY_PEOPLE | GT_NOT_ON_PAGE, &rows, columns);
    gt_buffer_release(&title);
}

/* ---- For programs ---- */

static void add_figures(struct gt_node *root, const struct gt_job_course *course)
{
    const struct gt_job_column columns[] = {
        GT_JOB_RANK_COLUMNS,
        {"time", "Time", "seconds", 0, NULL},
        {course->name, course->name, *course->unit ? course->unit : NULL, 0, "value"},
        {NULL, NULL, NULL, 0, NULL}};
    const uint32_t *member = gt_rows_keys(&course->rows, "member");
    struct gt_rows rows = gt_rows_new(course->job->query, course->rows.count * course->columns);
    uint32_t *of = gt_rows_add_keys(&rows, "member", NULL);
    double *time = gt_rows_add_reals(&rows, "time"), *value = gt_rows_add_reals(&rows, "value");
    for (size_t i = 0; i < rows.count; i++) {
        of[i] = member[i / course->columns];
        time[i] = course->begin - course->job->begin + (double)(i % course->columns) * course->width;
        value[i] = course->column[i];
    }
    rows = gt_rows_above(&rows, "value", -INFINITY);
    gt_job_name_members(course->job, &rows);
    gt_job_table(root, course->job, "heat", "Ranks over time", GT_ONLY_DATA, &rows, columns);
}

/* ---- All of it ---- */

int gt_job_heat(struct gt_node *root, const struct gt_job *job, const struct gt_job_heat_options *options,
                struct gt_error *error)
{
    struct gt_job_course course[2];
    struct gt_job_subject subject[2] = {{GT_SCOPE_COMBINED, GT_GPU_UTILIZATION, 0},
                                        {GT_SCOPE_COMBINED, GT_CPU_UTILIZATION, 0}};
    size_t count = options->metric ? 1 : 2, found = 0;
    int status = options->metric ? gt_job_subject_named(&subject[0], job, options->metric, error) : 0;
    if (status >= 0)
        status = gt_job_courses_read(course, count, job, subject, COLUMNS, error);
    if (status < 0)
        return status;
    while (found < count && !course[found].rows.count)
        found++;
    if (found == count)
        return options->metric ? gt_job_course_absent(job, options->metric, error) : 0;
    add_picture(root, &course[found], options->all);
    if (!options->only_page) {
        add_figures(root, &course[found]);
        add_drawing(root, &course[found], options->all);
    }
    return 0;
}
