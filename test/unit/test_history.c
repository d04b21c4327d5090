#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "aggregate/history.h"
#include "base/clock.h"

static struct gt_history history;
static struct gt_row row[GT_FIXED_ROWS];

static void add(double seconds, enum gt_scope scope, enum gt_metric_id metric, double value)
{
    for (int i = 0; i < GT_FIXED_ROWS; i++)
        gt_values_clear(row[i].value);
    row[scope].value[metric] = value;
    struct gt_sample sample = {
        .monotonic_ns = 77 * GT_SECOND + (int64_t)(seconds * 1e9), .row_count = GT_FIXED_ROWS, .row = row};
    gt_history_add(&history, &sample);
}

static size_t line_of(enum gt_scope scope, enum gt_metric_id metric)
{
    for (size_t line = 0; line < GT_HISTORY_LINES; line++)
        if (gt_history_line[line].scope == scope && gt_history_line[line].metric == metric)
            return line;
    fail_msg("no such line");
    return 0;
}

static void an_hour_at_ten_hertz_fits_and_keeps_its_peak_in_place(void **state)
{
    (void)state;
    gt_history_release(&history);
    gt_history_init(&history);
    for (int i = 0; i <= 36000; i++)
        add(i * 0.1, GT_SCOPE_COMBINED, GT_RAM, i == 12345 ? 9e9 : 1e9);
    size_t line = line_of(GT_SCOPE_COMBINED, GT_RAM), peaks = 0;
    assert_true(history.spans > GT_HISTORY_SPANS / 2 && history.spans <= GT_HISTORY_SPANS);
    for (size_t span = 0; span < history.spans; span++) {
        bool is_peak = gt_history_value(&history, line, span) > 1e9;
        peaks += is_peak;
        if (is_peak)
            assert_true(fabs(gt_history_time(&history, span) - 1234.5) <= (double)history.span_ns / GT_SECOND);
        else
            assert_true(gt_history_value(&history, line, span) == 1e9);
    }
    assert_int_equal(peaks, 1);
}

static void rates_are_averaged_over_all_their_samples(void **state)
{
    (void)state;
    gt_history_release(&history);
    gt_history_init(&history);
    for (int i = 0; i < 4096; i++)
        add(i * 0.001, GT_SCOPE_COMBINED, GT_CPU_UTILIZATION, i % 2 ? 2.0 : 1.0);
    size_t line = line_of(GT_SCOPE_COMBINED, GT_CPU_UTILIZATION);
    for (size_t span = 0; span < history.spans; span++)
        assert_true(fabs(gt_history_value(&history, line, span) - 1.5) < 1e-9);
}

static void a_counter_shows_its_growth(void **state)
{
    (void)state;
    gt_history_release(&history);
    gt_history_init(&history);
    size_t line = line_of(GT_SCOPE_SYSTEM, GT_CPU_ENERGY);
    add(0, GT_SCOPE_SYSTEM, GT_CPU_ENERGY, 100);
    add(0.1, GT_SCOPE_SYSTEM, GT_CPU_ENERGY, 103);
    add(0.2, GT_SCOPE_SYSTEM, GT_CPU_ENERGY, NAN);
    add(0.3, GT_SCOPE_SYSTEM, GT_CPU_ENERGY, 110);
    assert_true(isnan(gt_history_value(&history, line, 0)));
    assert_true(fabs(gt_history_value(&history, line, 100) - 30) < 1e-6);
    assert_true(isnan(gt_history_value(&history, line, 200)));
    assert_true(isnan(gt_history_value(&history, line, 300)));
}

static void what_was_never_measured_is_unknown(void **state)
{
    (void)state;
    gt_history_release(&history);
    gt_history_init(&history);
    add(0, GT_SCOPE_SYSTEM, GT_RAM, 1);
    add(5, GT_SCOPE_SYSTEM, GT_RAM, 1);
    for (size_t line = 0; line < GT_HISTORY_LINES; line++)
        for (size_t span = 0; span < history.spans; span++)
            assert_true(isnan(gt_history_value(&history, line, span)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_hour_at_ten_hertz_fits_and_keeps_its_peak_in_place),
        cmocka_unit_test(rates_are_averaged_over_all_their_samples),
        cmocka_unit_test(a_counter_shows_its_growth),
        cmocka_unit_test(what_was_never_measured_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
