#include "analyse/advice/job_brief.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/gpu/gpu.h"
#include "analyse/views.h"
#include "base/number.h"
#include "schema/human.h"

/* A picture has no more rows and columns than eyes can separate; the note says what is left out, and what is taken
 * together. */
enum { ROWS = 32, COLUMNS = 120, LENGTHS = 40, NAME = 120 };
static const double NARROWEST = 0.05; /* of the median: the range of lengths */
static const double MIN_SHARE = 0.05; /* of the time of a rank, as for findings */

enum part { COMPUTE, COMMUNICATION, COPIES, LOADING, OTHER, HOST, PARTS };
static const char *const part_title[PARTS] = {
    "compute", "exposed communication", "copies", "idle: data loading", "idle: other", "idle: host"};

struct job {
    const struct gt_analysis_input *input;
    const struct gt_findings *findings;
    struct gt_node *root;
    const struct gt_rank_figures *rank;
    size_t ranks;
    uint32_t *named; /* of each rank: which finding is the first that names it, or how many findings there are */
    const struct gt_collectives *collectives;
    size_t row[ROWS], rows; /* ranks that are shown */
};

/* ---- which ranks ---- */

/* What a rank is shown for: long steps, little computation, or collectives to which it comes last. */
static double step_of(const struct job *job, const struct gt_rank_figures *rank)
{
    (void)job;
    return rank->figure[GT_RANK_STEP];
}

static double lost_of(const struct job *job, const struct gt_rank_figures *rank)
{
    (void)job;
    return rank->has_gpu ? 1 - rank->figure[GT_RANK_COMPUTE] / rank->whole
                         : rank->figure[GT_RANK_LOADING] / rank->whole;
}

static double latest_of(const struct job *job, const struct gt_rank_figures *rank)
{
    const struct gt_rank_clock *clock = gt_collectives_rank(job->collectives, rank->node);
    return clock && (clock->latest || job->ranks <= ROWS) ? 0 : NAN;
}

/* Is a rank the place of a finding, or named by the sentence of one of the whole job? */
static bool names(const struct job *job, const struct gt_finding *finding, uint32_t node)
{
    const char *name = gt_analysis_text(job->input, node), *at = finding->sentence;
    size_t length = strlen(name);
    if (finding->where.node != GT_TRACE_NONE || !length)
        return finding->where.node == node;
    for (; (at = strstr(at, name)); at += length)
        if ((at == finding->sentence || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[length]))
            return true;
    return false;
}

/* Of ranks that have the same finding the first one is named. */
static void find_named(struct job *job)
{
    const struct gt_findings *findings = job->findings;
    bool is_told[GT_RULES] = {false};
    job->named = gt_query_memory(job->input->query, job->ranks, sizeof *job->named);
    for (size_t i = 0; i < job->ranks && job->named; i++)
        job->named[i] = (uint32_t)findings->count;
    for (size_t number = 0; number < findings->count && job->named; number++) {
        const struct gt_finding *finding = &findings->finding[number];
        if (finding->where.node != GT_TRACE_NONE && is_told[finding->rule])
            continue;
        is_told[finding->rule] = true;
        for (size_t i = 0; i < job->ranks; i++)
            if (job->named[i] > number && names(job, finding, job->rank[i].node))
                job->named[i] = (uint32_t)number;
    }
}

/* Takes the ranks that findings name, then those with the greatest cost, in their order. */
static void choose_rows(struct job *job, double (*cost)(const struct job *, const struct gt_rank_figures *))
{
    struct gt_rows ranks = gt_rows_new(job->input->query, job->ranks);
    uint32_t *rank = gt_rows_add_keys(&ranks, "rank", NULL);
    uint32_t *named = gt_rows_add_keys(&ranks, "named", NULL);
    double *of = gt_rows_add_reals(&ranks, "cost");
    for (size_t i = 0; i < ranks.count; i++) {
        rank[i] = (uint32_t)i;
        named[i] = job->named[i];
        of[i] = gt_analysis_shows(job->input, job->rank[i].node) ? cost(job, &job->rank[i]) : NAN;
    }
    ranks = gt_rows_above(&ranks, "cost", -INFINITY);
    gt_rows_sort(&ranks, "named -cost rank");
    ranks.count = ranks.count < ROWS ? ranks.count : ROWS;
    gt_rows_sort(&ranks, "rank");
    job->rows = ranks.count;
    for (size_t i = 0; i < ranks.count; i++)
        job->row[i] = gt_rows_keys(&ranks, "rank")[i];
}

static size_t row_of(const struct job *job, uint32_t node)
{
    size_t row = 0;
    while (row < job->rows && job->rank[job->row[row]].node != node)
        row++;
    return row;
}

static const char *row_name(const struct job *job, size_t row)
{
    return gt_analysis_text(job->input, job->rank[job->row[row]].node);
}

static bool is_any_worst(const struct job *job, enum gt_rank_figure from, enum gt_rank_figure to)
{
    bool any = false;
    for (int figure = from; figure <= (int)to; figure++)
        any |= job->findings->worst[figure] != SIZE_MAX;
    return any;
}

/* "rank 3 *": it is the worst in one of the figures. */
static const char *marked_name(const struct job *job, size_t row, enum gt_rank_figure from, enum gt_rank_figure to,
                               char *text, size_t size)
{
    bool is_worst = false;
    for (int figure = from; figure <= (int)to; figure++)
        is_worst |= job->findings->worst[figure] == job->row[row];
    snprintf(text, size, "%s%s", row_name(job, row), is_worst ? " *" : "");
    return text;
}

/* "; the 32 of 1000 ranks that findings name, and those with the longest steps". */
static void write_rows(const struct job *job, const char *which, char *text, size_t size)
{
    *text = '\0';
    bool any_named = false;
    for (size_t row = 0; row < job->rows; row++)
        any_named |= job->named[job->row[row]] < job->findings->count;
    if (job->rows < job->ranks && job->rows == ROWS)
        snprintf(text, size, "; the %zu of %zu ranks %s%s", job->rows, job->ranks,
                 any_named ? "that findings name, and those " : "", which);
}

static struct gt_node *picture(const struct job *job, const char *key, const char *title, const char *x_unit,
                               const char *unit, unsigned flags)
{
    return gt_report_series(job->root, key, title, x_unit, unit, GT_ONLY_PEOPLE | GT_PAGE_FIRST | flags);
}

/* ---- ranks and steps ---- */

/* The steps of the mode with the most of them. */
struct steps {
    struct gt_rows spans; /* by number: mode step node start end length */
    const uint32_t *number;
    struct gt_step_lengths lengths; /* of each number: the slowest rank's */
    size_t others;                  /* steps of other modes */
    size_t per;                     /* numbers in a column */
    bool is_dense;                  /* numbers follow each other, so that the axis can have them */
};

static void find_steps(const struct job *job, struct steps *steps)
{
    struct gt_rows all = gt_rows_of_steps(job->input);
    struct gt_rows modes = gt_rows_group(&all, "mode", GT_AGGREGATES(GT_COUNT("count")));
    bool *is_wanted = gt_query_memory(all.query, all.count, sizeof *is_wanted);
    const uint32_t *mode = gt_rows_keys(&all, "mode");
    gt_rows_sort(&modes, "-count mode");
    for (size_t i = 0; i < all.count && is_wanted; i++)
        is_wanted[i] = mode[i] == gt_rows_keys(&modes, "mode")[0];
    steps->spans = gt_rows_filter(&all, is_wanted);
    steps->others = all.count - steps->spans.count;
    gt_rows_sort(&steps->spans, "step node");
    struct gt_rows numbers = gt_rows_group(&steps->spans, "step", GT_AGGREGATES(GT_MAX("longest", "length")));
    steps->number = gt_rows_keys(&numbers, "step");
    steps->lengths = gt_step_lengths(&numbers, 0, numbers.count);
    steps->per = (numbers.count + COLUMNS - 1) / COLUMNS;
    if (numbers.count)
        steps->is_dense = steps->number[numbers.count - 1] - steps->number[0] < 2 * numbers.count;
}

/* Columns are steps, or some that follow each other. */
static void add_step_columns(const struct steps *steps, struct gt_node *series)
{
    size_t count = steps->lengths.count;
    for (size_t from = 0; from < count; from += steps->per) {
        size_t to = from + steps->per < count ? from + steps->per : count;
        uint32_t first = steps->number[from], last = steps->number[to - 1];
        char title[48];
        snprintf(title, sizeof title, first == last ? "step %" PRIu32 : "steps %" PRIu32 " to %" PRIu32, first, last);
        double begin = steps->is_dense ? first : (double)from, next = to < count ? steps->number[to] : last + 1.0;
        gt_series_band(series, 0, title, begin, steps->is_dense ? next : begin + (double)steps->per);
    }
}

static void add_step_cells(const struct job *job, const struct steps *steps, struct gt_node *series, double unit)
{
    const uint32_t *number = gt_rows_keys(&steps->spans, "step"), *node = gt_rows_keys(&steps->spans, "node");
    const int64_t *length = gt_rows_wholes(&steps->spans, "length");
    double(*cell)[COLUMNS] = gt_query_zeros(job->input->query, ROWS + 1, sizeof *cell); /* a row for others */
    char name[NAME];
    for (size_t i = 0, at = 0; i < steps->spans.count && cell; i++) {
        size_t row = row_of(job, node[i]);
        at += number[i] != steps->number[at];
        double *of = &cell[row][at / steps->per];
        if (row < job->rows)
            *of = fmax(*of, (double)length[i]);
    }
    for (size_t row = 0; row < job->rows && cell; row++) {
        int line = gt_series_line(series, "", marked_name(job, row, GT_RANK_STEP, GT_RANK_STEP, name, sizeof name));
        for (size_t column = 0; column < COLUMNS; column++)
            if (cell[row][column] > 0)
                gt_series_point(series, line, (double)column, cell[row][column] / unit);
    }
}

static void add_ranks_and_steps(struct job *job, const struct steps *steps)
{
    char which[120], bins[60] = "one step of a rank", others[60] = "";
    struct gt_time_unit unit = gt_time_unit_of(steps->lengths.outlier);
    choose_rows(job, step_of);
    write_rows(job, "with the longest steps", which, sizeof which);
    if (steps->per > 1)
        snprintf(bins, sizeof bins, "the longest of %zu steps of a rank", steps->per);
    if (steps->others)
        snprintf(others, sizeof others, "; %zu steps of other modes are not in it", steps->others);
    bool any_worst = is_any_worst(job, GT_RANK_STEP, GT_RANK_STEP);
    struct gt_node *series = picture(job, GT_JOB_STEPS, "Ranks and steps", steps->is_dense ? "step" : "th step",
                                     unit.name, GT_HEAT);
    gt_series_note(series, "Each cell is %s, the stronger the colour the longer%s%s%s.", bins,
                   any_worst ? "; * has the longest in the median" : "", which, others);
    gt_series_limit(series, "outlier", steps->lengths.outlier / unit.ns);
    add_step_columns(steps, series);
    add_step_cells(job, steps, series, unit.ns);
}

/* ---- the lengths of steps ---- */

/* The last column has all that is far above the others. Steps that differ by less than a twentieth are in few
 * columns. */
static void add_lengths(const struct job *job, const struct steps *steps)
{
    const struct gt_step_lengths *of = &steps->lengths;
    size_t count[LENGTHS] = {0};
    double end = of->p95 > of->median ? fmin(of->max, of->median + 4 * (of->p95 - of->median)) : of->max;
    double missing = fmax(NARROWEST * of->median - (end - of->min), 0), min = of->min - missing / 2;
    double width = (end + missing / 2 - min) / (LENGTHS - 1);
    char words[3][32], title[80];
    struct gt_time_unit unit = gt_time_unit_of(of->median);
    if (!(width > 0))
        return;
    for (size_t i = 0; i < of->count; i++)
        count[(size_t)fmin((of->longest[i] - min) / width, LENGTHS - 1)]++;
    struct gt_node *series = picture(job, GT_JOB_LENGTHS, "Lengths of steps", unit.name, "steps", GT_STACKS);
    gt_series_note(series, "Steps by their duration on the slowest rank: median %s, 95 %% within %s, the longest %s%s.",
                   gt_time_words(of->median, words[0]), gt_time_words(of->p95, words[1]),
                   gt_time_words(of->max, words[2]), of->max > end ? "; the last column has all that are longer" : "");
    int line = gt_series_line(series, "", "by the slowest rank");
    for (size_t i = 0; i < LENGTHS; i++) {
        double from = min + (double)i * width;
        snprintf(title, sizeof title, i + 1 < LENGTHS ? "%s to %s" : "%s and more", gt_time_words(from, words[0]),
                 gt_time_words(from + width, words[1]));
        gt_series_band(series, 0, title, from / unit.ns, (from + width) / unit.ns);
        gt_series_point(series, line, (double)i, (double)count[i]);
    }
}

/* ---- what each rank's time goes into ---- */

static void put_shares(struct gt_node *series, const char *name, const struct gt_rank_figures *rank)
{
    double share[PARTS] = {rank->figure[GT_RANK_COMPUTE],
                           rank->figure[GT_RANK_COMMUNICATION],
                           rank->memory,
                           rank->figure[GT_RANK_LOADING],
                           0,
                           rank->figure[GT_RANK_HOST]};
    share[OTHER] = rank->figure[GT_RANK_IDLE] - share[LOADING] - share[HOST];
    for (int part = 0; part < PARTS; part++)
        gt_series_point(series, gt_series_line(series, name, part_title[part]), 0,
                        gt_percent(share[part], rank->whole));
}

/* Of a rank without work of GPUs nothing is known but how long it waits for data. */
static void put_waiting(struct gt_node *series, const char *name, const struct gt_rank_figures *rank)
{
    double waiting = gt_percent(rank->figure[GT_RANK_LOADING], rank->whole);
    gt_series_point(series, gt_series_line(series, name, "not known"), 0, 100 - waiting);
    gt_series_point(series, gt_series_line(series, name, "waiting for data"), 0, waiting);
}

/* A picture of ranks that only wait for data is worth its place where one of them waits as long as a finding needs. */
static bool has_time(const struct job *job, bool has_gpu)
{
    bool is_shown = has_gpu;
    for (size_t i = 0; i < job->rows; i++)
        is_shown |= lost_of(job, &job->rank[job->row[i]]) >= MIN_SHARE;
    return job->rows && is_shown;
}

static void add_time_of_ranks(struct job *job)
{
    char which[120], name[NAME];
    bool has_gpu = false, all_have = true;
    choose_rows(job, lost_of);
    for (size_t i = 0; i < job->rows; i++) {
        has_gpu |= job->rank[job->row[i]].has_gpu;
        all_have &= job->rank[job->row[i]].has_gpu;
    }
    if (!has_time(job, has_gpu))
        return;
    write_rows(job, has_gpu ? "that compute least" : "that wait longest for data", which, sizeof which);
    struct gt_node *series = picture(job, GT_JOB_TIME, "Where the time of each rank goes", "", "%", GT_STACKS);
    gt_series_note(series, "%s, in percent%s%s%s.",
                   has_gpu ? "Time between the first and the last work of a rank's GPUs"
                           : "All time of a rank; what its GPU did is not in the traces",
                   has_gpu && !all_have ? "; of a rank without such work waiting for data alone is known" : "",
                   is_any_worst(job, GT_RANK_COMPUTE, GT_RANK_HOST) ? "; * is the worst in one of them" : "", which);
    gt_series_band(series, 0, "", 0, 100);
    for (size_t row = 0; row < job->rows; row++)
        (has_gpu ? put_shares : put_waiting)(
            series, marked_name(job, row, GT_RANK_COMPUTE, GT_RANK_HOST, name, sizeof name), &job->rank[job->row[row]]);
}

/* ---- what holds the steps of each rank ---- */

/* The parts have the colours of the picture above. */
static void put_held(struct gt_node *series, const char *name, const struct gt_held_steps *held)
{
    static const char *const title[PARTS] = {"compute",      "communication, waiting for ranks", "copies",
                                             "data loading", "pauses between work of a GPU",     "host"};
    static const enum part part_of[GT_PATH_KINDS] = {
        [GT_PATH_LOADING] = LOADING,      [GT_PATH_OPERATORS] = HOST,  [GT_PATH_CALLS] = HOST,
        [GT_PATH_SYNCHRONIZATION] = HOST, [GT_PATH_COMPUTE] = COMPUTE, [GT_PATH_COMMUNICATION] = COMMUNICATION,
        [GT_PATH_COPIES] = COPIES,        [GT_PATH_GAPS] = OTHER,      [GT_PATH_WAITING] = COMMUNICATION,
        [GT_PATH_OTHER] = HOST,
    };
    double sum[PARTS] = {0};
    for (int kind = 0; kind < GT_PATH_KINDS; kind++)
        sum[part_of[kind]] += held->part[kind];
    for (int part = 0; part < PARTS; part++)
        gt_series_point(series, gt_series_line(series, name, title[part]), 0, gt_percent(sum[part], held->whole));
}

/* That of all ranks stands above those of ranks. */
static void add_held_steps(struct job *job)
{
    const struct gt_findings *findings = job->findings;
    char which[120];
    choose_rows(job, step_of);
    if (!job->rows || !findings->held_count)
        return;
    write_rows(job, "with the longest steps", which, sizeof which);
    struct gt_node *series = picture(job, GT_JOB_PATH, "What holds the steps", "", "%", GT_STACKS);
    gt_series_note(
        series,
        "The critical path: what each moment of a step waited for in the end, in percent of the steps of a rank; of "
        "all ranks it leads through collectives to the rank that came last%s.",
        which);
    gt_series_band(series, 0, "", 0, 100);
    for (size_t i = findings->held_count; i-- > 0;)
        if (findings->held[i].node == GT_TRACE_NONE)
            put_held(series, "all ranks", &findings->held[i]);
    for (size_t i = 0; i < findings->held_count; i++)
        if (findings->held[i].node != GT_TRACE_NONE && row_of(job, findings->held[i].node) < job->rows)
            put_held(series, gt_analysis_text(job->input, findings->held[i].node), &findings->held[i]);
}

/* ---- the same over time ---- */

struct course {
    struct job *job;
    double (*time)[PARTS][COLUMNS]; /* ns of a row */
    double devices[ROWS];
    int64_t ahead[ROWS]; /* clocks of ranks, where collectives tell it */
    int64_t first, last;
};

static void add_time(struct course *course, size_t row, enum part part, int64_t from, int64_t to, double weight)
{
    double width = (double)(course->last - course->first) / COLUMNS;
    int64_t first = course->first + course->ahead[row];
    double begin = (double)(from - first), end = (double)(to - first);
    for (size_t column = (size_t)(begin / width); column < COLUMNS && (double)column * width < end; column++) {
        double inside = fmin(end, (double)(column + 1) * width) - fmax(begin, (double)column * width);
        course->time[row][part][column] += fmax(inside, 0) * weight;
    }
}

static void add_pieces(struct course *course)
{
    struct gt_rows pieces = gt_view_pieces(course->job->input);
    const uint32_t *node = gt_rows_keys(&pieces, "node"), *uses = gt_rows_keys(&pieces, "uses");
    const int64_t *start = gt_rows_wholes(&pieces, "start"), *end = gt_rows_wholes(&pieces, "end");
    for (size_t i = 0; i < pieces.count; i++) {
        size_t row = row_of(course->job, node[i]);
        enum part part = uses[i] & 1 << GT_USE_COMPUTE         ? COMPUTE
                         : uses[i] & 1 << GT_USE_COMMUNICATION ? COMMUNICATION
                                                               : COPIES;
        if (uses[i] && row < course->job->rows)
            add_time(course, row, part, start[i], end[i], 1);
    }
}

static void add_gaps(struct course *course)
{
    struct gt_rows gaps = gt_view_gaps(course->job->input, "node device");
    struct gt_rows devices = gt_view_idle(course->job->input, "node device");
    const uint32_t *node = gt_rows_keys(&gaps, "node"), *cause = gt_rows_keys(&gaps, "cause");
    const uint32_t *owner = gt_rows_keys(&devices, "node");
    const int64_t *from = gt_rows_wholes(&gaps, "from"), *to = gt_rows_wholes(&gaps, "to");
    const int64_t *idle = gt_rows_wholes(&gaps, "idle"), *loads = gt_rows_wholes(&gaps, "loading");
    for (size_t i = 0; i < gaps.count; i++) {
        size_t row = row_of(course->job, node[i]);
        if (!idle[i] || row == course->job->rows)
            continue;
        double loading = (double)loads[i] / (double)idle[i];
        add_time(course, row, LOADING, from[i], to[i], loading);
        add_time(course, row, cause[i] == GT_IDLE_HOST ? HOST : OTHER, from[i], to[i], 1 - loading);
    }
    for (size_t i = 0; i < devices.count; i++)
        if (row_of(course->job, owner[i]) < course->job->rows)
            course->devices[row_of(course->job, owner[i])]++;
}

/* Times from the begin of all traces. */
static void add_time_columns(const struct job *job, struct gt_node *series, int64_t first, int64_t last,
                             struct gt_time_unit unit)
{
    double begin = (double)(first - job->input->origin), width = (double)(last - first) / COLUMNS;
    for (size_t i = 0; i < COLUMNS; i++) {
        char title[80], words[2][32];
        double from = begin + (double)i * width;
        snprintf(title, sizeof title, "%s to %s", gt_time_words(from, words[0]), gt_time_words(from + width, words[1]));
        gt_series_band(series, 0, title, from / unit.ns, (from + width) / unit.ns);
    }
}

static void draw_course(const struct course *course)
{
    const struct job *job = course->job;
    struct gt_time_unit unit = gt_time_unit_of((double)(course->last - job->input->origin));
    double width = (double)(course->last - course->first) / COLUMNS;
    char which[120], words[32];
    struct gt_node *series = picture(job, GT_JOB_COURSE, "What GPUs do over time", unit.name, "%", GT_STACKS);
    write_rows(job, "that compute least", which, sizeof which);
    gt_series_note(series, "What the GPUs of each rank do, from the begin of the traces; a column is %s%s.",
                   gt_time_words(width, words), which);
    add_time_columns(job, series, course->first, course->last, unit);
    for (size_t row = 0; row < job->rows; row++)
        for (int part = 0; part < PARTS; part++) {
            int line = gt_series_line(series, row_name(job, row), part_title[part]);
            for (size_t column = 0; column < COLUMNS; column++)
                gt_series_point(series, line, (double)column,
                                gt_percent(course->time[row][part][column], width * course->devices[row]));
        }
}

static int find_course(struct course *course)
{
    const struct gt_collectives *all;
    struct gt_rows work = gt_view_work(course->job->input);
    int status = gt_collectives_find(course->job->input, GT_RULE_COLLECTIVES, &all);
    struct gt_rows nodes = gt_rows_group(&work, "node", GT_AGGREGATES(GT_MIN("first", "start"), GT_MAX("last", "end")));
    const uint32_t *node = gt_rows_keys(&nodes, "node");
    const int64_t *first = gt_rows_wholes(&nodes, "first"), *last = gt_rows_wholes(&nodes, "last");
    course->first = INT64_MAX;
    course->last = INT64_MIN;
    for (size_t i = 0; i < nodes.count && status >= 0; i++) {
        size_t row = row_of(course->job, node[i]);
        const struct gt_rank_clock *clock = gt_collectives_rank(all, node[i]);
        int64_t ahead = clock ? clock->offset : 0;
        if (row < course->job->rows)
            course->ahead[row] = ahead;
        course->first = first[i] - ahead < course->first ? first[i] - ahead : course->first;
        course->last = last[i] - ahead > course->last ? last[i] - ahead : course->last;
    }
    return status;
}

static int add_course(struct job *job)
{
    struct course course = {.job = job};
    choose_rows(job, lost_of);
    int status = find_course(&course);
    if (status < 0 || course.first >= course.last)
        return status;
    course.time = gt_query_zeros(job->input->query, ROWS, sizeof *course.time);
    if (course.time) {
        add_pieces(&course);
        add_gaps(&course);
        draw_course(&course);
    }
    return gt_query_status(job->input->query);
}

/* ---- collectives ---- */

struct arrivals {
    struct job *job;
    const struct gt_collectives *all;
    int64_t first, last; /* arrivals */
    double most;         /* skew */
};

static size_t column_of(const struct arrivals *arrivals, int64_t time)
{
    double part = (double)(time - arrivals->first) / (double)(arrivals->last - arrivals->first);
    return (size_t)fmin(part * COLUMNS, COLUMNS - 1);
}

static void find_bounds(struct arrivals *arrivals)
{
    arrivals->first = INT64_MAX;
    arrivals->last = INT64_MIN;
    for (size_t i = 0; i < arrivals->all->count; i++) {
        const struct gt_collective *collective = &arrivals->all->collective[i];
        arrivals->first = collective->first < arrivals->first ? collective->first : arrivals->first;
        arrivals->last = collective->end > arrivals->last ? collective->end : arrivals->last;
        arrivals->most = fmax(arrivals->most, (double)(collective->last - collective->first));
    }
}

/* The greatest skew of each column of time. */
static void add_skew(struct arrivals *arrivals)
{
    const struct job *job = arrivals->job;
    struct gt_time_unit x_unit = gt_time_unit_of((double)(arrivals->last - job->input->origin));
    struct gt_time_unit unit = gt_time_unit_of(arrivals->most);
    double most[COLUMNS] = {0};
    char words[32];
    for (size_t i = 0; i < arrivals->all->count; i++) {
        const struct gt_collective *collective = &arrivals->all->collective[i];
        double *column = &most[column_of(arrivals, collective->last)];
        *column = fmax(*column, (double)(collective->last - collective->first));
    }
    struct gt_node *series = picture(job, GT_JOB_SKEW, "Skew of collectives", x_unit.name, unit.name, GT_STACKS);
    gt_series_note(
        series,
        "How long after the first rank the last one comes; a column is %s, the greatest skew in it, of %zu collectives.",
        gt_time_words((double)(arrivals->last - arrivals->first) / COLUMNS, words), arrivals->all->count);
    add_time_columns(job, series, arrivals->first, arrivals->last, x_unit);
    int line = gt_series_line(series, "", "skew");
    for (size_t i = 0; i < COLUMNS; i++)
        gt_series_point(series, line, (double)i, most[i] / unit.ns);
}

/* How long each came behind the one before it, in columns of time. */
static void add_last(struct arrivals *arrivals)
{
    struct job *job = arrivals->job;
    double(*kept)[COLUMNS] = gt_query_zeros(job->input->query, ROWS + 1, sizeof *kept), most = 0;
    choose_rows(job, latest_of);
    for (size_t i = 0; i < arrivals->all->count && kept; i++) {
        const struct gt_collective *collective = &arrivals->all->collective[i];
        size_t row = row_of(job, collective->latest);
        double *of = &kept[row][column_of(arrivals, collective->last)];
        *of += (double)(collective->last - collective->next);
        most = row < job->rows ? fmax(most, *of) : most;
    }
    if (!(most > 0))
        return;
    struct gt_time_unit x_unit = gt_time_unit_of((double)(arrivals->last - job->input->origin)),
                        unit = gt_time_unit_of(most);
    char words[32];
    struct gt_node *series = picture(job, GT_JOB_LAST, "Who comes last to collectives", x_unit.name, unit.name,
                                     GT_HEAT | GT_WHOLE_SCALE);
    gt_series_note(
        series,
        "How long all others wait for a rank after the last of them has come; a column is %s, %zu of %zu ranks.",
        gt_time_words((double)(arrivals->last - arrivals->first) / COLUMNS, words), job->rows, job->ranks);
    add_time_columns(job, series, arrivals->first, arrivals->last, x_unit);
    for (size_t row = 0; row < job->rows; row++) {
        int line = gt_series_line(series, "", row_name(job, row));
        for (size_t column = 0; column < COLUMNS; column++)
            gt_series_point(series, line, (double)column, kept[row][column] / unit.ns);
    }
}

static int add_collectives(struct job *job)
{
    struct arrivals arrivals = {.job = job};
    int status = gt_collectives_find(job->input, GT_RULE_COLLECTIVES, &arrivals.all);
    job->collectives = arrivals.all;
    find_bounds(&arrivals);
    if (status < 0 || arrivals.all->count < 2 || arrivals.first >= arrivals.last)
        return status;
    if (arrivals.most > 0) {
        add_skew(&arrivals);
    } else {
        char text[120], missing[60] = "";
        size_t absent = 0;
        for (size_t i = 0; i < arrivals.all->count; i++)
            absent += arrivals.all->collective[i].absent > 0;
        if (absent)
            snprintf(missing, sizeof missing, "; in %zu others a rank has no part", absent);
        snprintf(text, sizeof text, "none: all ranks come to each of %zu collectives at once%s",
                 arrivals.all->count - absent, missing);
        gt_node_flags(gt_report_text(job->root, GT_JOB_SKEW, "Skew of collectives", text), GT_ONLY_PEOPLE);
    }
    add_last(&arrivals);
    return 0;
}

/* ---- the whole ---- */

int gt_job_figures(const struct gt_findings *findings, struct gt_node *root)
{
    struct job job = {
        .input = findings->input, .findings = findings, .root = root, .rank = findings->rank, .ranks = findings->ranks};
    struct steps steps = {0};
    find_named(&job);
    find_steps(&job, &steps);
    if (!job.named)
        return gt_query_status(job.input->query);
    if (steps.lengths.count)
        add_ranks_and_steps(&job, &steps);
    add_time_of_ranks(&job);
    add_held_steps(&job);
    int status = add_course(&job);
    status = status < 0 ? status : add_collectives(&job);
    if (status >= 0 && steps.lengths.count > 1)
        add_lengths(&job, &steps);
    return status < 0 ? status : gt_query_status(job.input->query);
}
