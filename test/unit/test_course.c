/* Figures over time in bounded memory. */
#include "aggregate/course.h"
#include "base/os/clock.h"
#include "support/test.h"

static struct gt_sample_course course;
static struct gt_row row[GT_FIXED_ROWS + 1];

static int begin(bool is_fine)
{
    gt_sample_course_release(&course);
    course.is_fine = is_fine;
    return 0;
}

static int end(void **state)
{
    (void)state;
    return begin(false);
}

static void add(double seconds, enum gt_scope scope, enum gt_metric_id metric, double value)
{
    bool is_of_gpu = scope == GT_SCOPE_GPU;
    for (int i = 0; i <= GT_FIXED_ROWS; i++)
        gt_values_clear(row[i].value);
    row[GT_FIXED_ROWS] = (struct gt_row){.scope = GT_SCOPE_GPU, .device = 3};
    gt_values_clear(row[GT_FIXED_ROWS].value);
    row[is_of_gpu ? GT_FIXED_ROWS : (int)scope].value[metric] = value;
    struct gt_sample sample = {
        .monotonic_ns = 77 * GT_SECOND + (int64_t)(seconds * 1e9), .row_count = GT_FIXED_ROWS + is_of_gpu, .row = row};
    assert_int_equal(gt_sample_course_add(&course, &sample), 0);
}

static int line_of(enum gt_scope scope, enum gt_metric_id metric)
{
    int line = gt_sample_course_find(&course, scope, metric, scope == GT_SCOPE_GPU ? 3 : -1);
    assert_true(line >= 0);
    return line;
}

static const float *values_of(int line)
{
    return course.course->line[line].value;
}

/* ---- a course ---- */

TEST(lines_keep_their_peaks)
{
    struct gt_course *lines = gt_course_new(GT_SECOND / 100, GT_COURSE_SPANS, 2, false);
    for (int i = 0; i < 100000; i++)
        gt_course_take(lines, i * (GT_SECOND / 10), (const double[]){i == 54321 ? 100 : i % 2, NAN});
    struct gt_course_span all = gt_course_between(lines, 0, 0, 10000);
    assert_true(all.count == 100000 && all.least == 0 && all.most == 100);
    assert_true(gt_course_between(lines, 0, 5400, 5460).most == 100 && gt_course_between(lines, 0, 0, 5000).most == 1);
    assert_int_equal(gt_course_between(lines, 1, 0, 10000).count, 0);
    assert_int_equal(gt_course_between(lines, 0, 20000, 30000).count, 0);
    gt_course_take(lines, -5 * GT_SECOND, (const double[]){7, 7});
    assert_int_equal(gt_course_between(lines, 1, 0, 10000).count, 0);
    gt_course_release(lines);
    assert_int_equal(gt_course_between(NULL, 0, 0, 1).count, 0);
}

/* ---- of a recording, for small pictures ---- */

TEST(an_hour_at_ten_hertz_fits_and_keeps_its_peak_in_place)
{
    begin(false);
    for (int i = 0; i <= 36000; i++)
        add(i * 0.1, GT_SCOPE_COMBINED, GT_RAM, i == 12345 ? 9e9 : 1e9);
    int line = line_of(GT_SCOPE_COMBINED, GT_RAM);
    size_t peaks = 0, points = gt_sample_course_points(&course);
    assert_true(points > GT_COURSE_SPANS / 2 && points <= GT_COURSE_SPANS);
    for (size_t i = 0; i < points; i++) {
        bool is_peak = gt_sample_course_point(&course, line, i) > 1e9;
        peaks += is_peak;
        if (is_peak)
            assert_true(fabs(gt_sample_course_time(&course, i) - 1234.5) <= gt_course_span_length(course.course));
        else
            assert_true(gt_sample_course_point(&course, line, i) == 1e9);
    }
    assert_int_equal(peaks, 1);
}

/* 8 GPUs of 200 W whose counters are read every 1.1 s, and samples every 0.1 s. */
TEST(a_source_slower_than_the_samples_has_the_power_between_its_readings)
{
    begin(true);
    for (int i = 0; i < 100; i++)
        add(i * 0.1, GT_SCOPE_COMBINED, GT_GPU_ENERGY, i % 11 ? NAN : 1600 * i * 0.1);
    const float *value = values_of(line_of(GT_SCOPE_COMBINED, GT_GPU_ENERGY));
    for (int i = 0; i < 100; i++)
        assert_true(i < 11 ? isnan(value[i]) : fabsf(value[i] - 1600) < 0.1F);
}

TEST(a_counter_that_is_away_for_long_has_no_rate)
{
    begin(true);
    for (int i = 0; i < 20; i++)
        add(i, GT_SCOPE_SYSTEM, GT_CPU_ENERGY, i < 3 ? 10 * i : NAN);
    const float *value = values_of(line_of(GT_SCOPE_SYSTEM, GT_CPU_ENERGY));
    assert_true(value[6] == 10 && isnan(value[7]) && isnan(value[19]));
}

TEST(what_was_never_measured_is_unknown)
{
    begin(false);
    assert_int_equal(gt_sample_course_points(&course), 0);
    add(0, GT_SCOPE_SYSTEM, GT_RAM, 1);
    add(5, GT_SCOPE_SYSTEM, GT_RAM, 1);
    add(6, GT_SCOPE_COMBINED, GT_SWAP, 1); /* for pages alone */
    for (int scope = 0; scope < GT_SCOPE_COUNT; scope++)
        for (int metric = 0; metric < GT_METRIC_COUNT; metric++)
            assert_int_equal(gt_sample_course_find(&course, scope, metric, -1), -1);
}

/* ---- of a recording, for pages ---- */

TEST(each_sample_and_the_extremes_of_each_span_are_kept)
{
    begin(true);
    for (int i = 0; i < 40000; i++)
        add(i * 0.1, GT_SCOPE_COMBINED, GT_RAM, i == 12345 ? 9e9 : i % 2 ? 1e9 : 3e9);
    int line = line_of(GT_SCOPE_COMBINED, GT_RAM);
    assert_true(course.course->is_whole);
    assert_int_equal(course.course->samples, 40000);
    assert_int_equal(course.course->seen, 40000);
    assert_true(values_of(line)[12345] == 9e9F && values_of(line)[12346] == 3e9F);
    assert_true(fabs(course.course->time[12345] - 1234.5) < 1e-6);
    assert_true(course.course->spans > GT_COURSE_FINE_SPANS / 4 && course.course->spans <= GT_COURSE_FINE_SPANS);
    uint64_t samples = 0;
    size_t peaks = 0;
    for (size_t i = 0; i < course.course->spans; i++) {
        const struct gt_course_span *span = &course.course->line[line].span[i];
        samples += span->count;
        peaks += span->most > 3e9;
        assert_true(span->count && span->least >= 1e9 && span->sum <= span->count * span->most);
    }
    assert_int_equal(samples, 40000);
    assert_int_equal(peaks, 1);
}

TEST(beyond_a_number_of_values_the_first_lines_are_left)
{
    enum { LINES = 64, TAKEN = 2 * (GT_COURSE_VALUES / LINES) };
    double value[LINES];
    struct gt_course *lines = gt_course_new(GT_SECOND / 100, GT_COURSE_FINE_SPANS, LINES, true);
    for (int i = 0; i < TAKEN; i++) {
        for (int k = 0; k < LINES; k++)
            value[k] = k + i % 2;
        assert_int_equal(gt_course_take(lines, i * (GT_SECOND / 10), value), 0);
    }
    for (int i = 0; i < LINES; i++) {
        assert_int_equal(lines->line[i].values, i < LINES / 2 ? TAKEN : 0);
        assert_int_equal(lines->line[i].is_dropped, i >= LINES / 2);
        assert_int_equal(gt_course_between(lines, (size_t)i, 0, TAKEN).count, TAKEN);
    }
    assert_true(lines->is_whole && lines->line[1].value[TAKEN - 1] == 2.0F);
    gt_course_release(lines);
}

TEST(beyond_a_number_of_samples_spans_are_what_is_left)
{
    begin(true);
    for (int i = 0; i <= GT_COURSE_SAMPLES; i++)
        add(i * 0.001, GT_SCOPE_COMBINED, GT_RAM, i == 5000 ? 7 : 2);
    int line = line_of(GT_SCOPE_COMBINED, GT_RAM);
    assert_false(course.course->is_whole);
    assert_int_equal(course.course->samples, 0);
    assert_null(values_of(line));
    assert_int_equal(course.course->line[line].known, GT_COURSE_SAMPLES + 1);
    struct gt_course_span span = gt_course_between(course.course, (size_t)line, 4.9, 5.1);
    assert_true(span.most == 7 && span.least == 2);
}

ALL_TESTS(NULL, end);
