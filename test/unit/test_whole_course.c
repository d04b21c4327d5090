#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>

#include "aggregate/whole_course.h"
#include "base/clock.h"

static struct gt_row row[GT_FIXED_ROWS + 1];

static void add(struct gt_whole_course *course, double seconds, enum gt_scope scope, enum gt_metric_id metric,
                double value)
{
    bool is_of_gpu = scope == GT_SCOPE_GPU;
    for (int i = 0; i <= GT_FIXED_ROWS; i++)
        gt_values_clear(row[i].value);
    row[GT_FIXED_ROWS] = (struct gt_row){.scope = GT_SCOPE_GPU, .device = 3};
    gt_values_clear(row[GT_FIXED_ROWS].value);
    row[is_of_gpu ? GT_FIXED_ROWS : (int)scope].value[metric] = value;
    struct gt_sample sample = {
        .monotonic_ns = 77 * GT_SECOND + (int64_t)(seconds * 1e9), .row_count = GT_FIXED_ROWS + is_of_gpu, .row = row};
    assert_int_equal(gt_whole_course_add(course, &sample), 0);
}

static void each_sample_and_the_extremes_of_each_span_are_kept(void **state)
{
    (void)state;
    struct gt_whole_course *course = gt_whole_course_new();
    for (int i = 0; i < 40000; i++)
        add(course, i * 0.1, GT_SCOPE_COMBINED, GT_RAM, i == 12345 ? 9e9 : i % 2 ? 1e9 : 3e9);
    const struct gt_whole_course_line *line = gt_whole_course_find(course, GT_SCOPE_COMBINED, GT_RAM, -1);
    assert_non_null(line);
    assert_true(course->is_whole);
    assert_int_equal(course->samples, 40000);
    assert_int_equal(course->seen, 40000);
    assert_true(line->value[12345] == 9e9F && line->value[12346] == 3e9F);
    assert_true(fabs(course->time[12345] - 1234.5) < 1e-6);
    assert_true(course->spans > GT_WHOLE_COURSE_SPANS / 4 && course->spans <= GT_WHOLE_COURSE_SPANS);
    uint64_t samples = 0;
    size_t peaks = 0;
    for (size_t i = 0; i < course->spans; i++) {
        const struct gt_whole_course_span *span = &line->span[i];
        samples += span->count;
        peaks += span->most > 3e9F;
        assert_true(span->count && span->least >= 1e9F && span->sum <= span->count * (double)span->most);
    }
    assert_int_equal(samples, 40000);
    assert_int_equal(peaks, 1);
    gt_whole_course_release(course);
}

static void counters_become_rates_and_what_is_missing_stays_so(void **state)
{
    (void)state;
    struct gt_whole_course *course = gt_whole_course_new();
    static const double counted[] = {100, 300, NAN, 500, 900};
    for (int i = 0; i < 5; i++)
        add(course, i * 2, GT_SCOPE_COMBINED, GT_READ_BYTES, counted[i]);
    const struct gt_whole_course_line *line = gt_whole_course_find(course, GT_SCOPE_COMBINED, GT_READ_BYTES, -1);
    assert_non_null(line);
    assert_true(isnan(line->value[0]) && line->value[1] == 100.0F);
    assert_true(isnan(line->value[2]) && isnan(line->value[3]) && line->value[4] == 200.0F);
    assert_null(gt_whole_course_find(course, GT_SCOPE_COMBINED, GT_WRITTEN_BYTES, -1));
    assert_null(gt_whole_course_find(course, GT_SCOPE_COMBINED, GT_RAM, -1));
    gt_whole_course_release(course);
}

static void a_gpu_has_a_line_of_its_own(void **state)
{
    (void)state;
    struct gt_whole_course *course = gt_whole_course_new();
    add(course, 0, GT_SCOPE_COMBINED, GT_RAM, 1);
    add(course, 1, GT_SCOPE_GPU, GT_GPU_UTILIZATION, 0.25);
    add(course, 2, GT_SCOPE_COMBINED, GT_RAM, 1); /* without rows of GPUs */
    add(course, 3, GT_SCOPE_GPU, GT_GPU_UTILIZATION, 0.75);
    const struct gt_whole_course_line *line = gt_whole_course_find(course, GT_SCOPE_GPU, GT_GPU_UTILIZATION, 3);
    assert_non_null(line);
    assert_null(gt_whole_course_find(course, GT_SCOPE_GPU, GT_GPU_UTILIZATION, 0));
    assert_int_equal(line->values, 4);
    assert_true(isnan(line->value[0]) && line->value[1] == 0.25F && isnan(line->value[2]) && line->value[3] == 0.75F);
    gt_whole_course_release(course);
}

static void beyond_a_number_of_samples_spans_are_what_is_left(void **state)
{
    (void)state;
    struct gt_whole_course *course = gt_whole_course_new();
    for (int i = 0; i <= GT_WHOLE_COURSE_SAMPLES; i++)
        add(course, i * 0.001, GT_SCOPE_COMBINED, GT_RAM, i == 5000 ? 7 : 2);
    const struct gt_whole_course_line *line = gt_whole_course_find(course, GT_SCOPE_COMBINED, GT_RAM, -1);
    assert_false(course->is_whole);
    assert_int_equal(course->samples, 0);
    assert_null(line->value);
    assert_int_equal(line->known, GT_WHOLE_COURSE_SAMPLES + 1);
    size_t span = (size_t)(5.0 / gt_course_span_length(course));
    assert_true(line->span[span].most == 7.0F && line->span[span].least == 2.0F);
    gt_whole_course_release(course);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sample_and_the_extremes_of_each_span_are_kept),
        cmocka_unit_test(counters_become_rates_and_what_is_missing_stays_so),
        cmocka_unit_test(a_gpu_has_a_line_of_its_own),
        cmocka_unit_test(beyond_a_number_of_samples_spans_are_what_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
