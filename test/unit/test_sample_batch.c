/* Samples that wait to be summed up: they come back as they were. */
#include "base/clock.h"
#include "store/sample_batch.h"
#include "support/test.h"

enum { ROWS = GT_FIXED_ROWS + 3, LIVES = 2 };

struct moment {
    struct gt_row row[ROWS];
    struct gt_process_record record[LIVES];
    struct gt_sample sample;
};

/* Each known in some of the rows, among them all and none. */
static void fill(struct moment *moment, int number)
{
    static const double special[] = {0, -0.0, INFINITY, -INFINITY, 5e-324, 0x1p62};
    memset(moment, 0, sizeof *moment);
    for (int i = 0; i < ROWS; i++) {
        struct gt_row *row = &moment->row[i];
        *row = (struct gt_row){.scope = (enum gt_scope)i, .pid = i, .start = UINT64_MAX, .rank = i, .device = i - 2};
        for (int id = 0; id < GT_METRIC_COUNT; id++)
            row->value[id] = (id + number) % (i + 1) ? NAN : id < 6 ? special[id] : number * 1000 + id + i / 8.0;
    }
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        moment->row[ROWS - 1].value[id] = NAN;
    strcpy(moment->record[0].name, "first");
    moment->record[1] = (struct gt_process_record){.number = (uint64_t)number, .pid = 7};
    moment->sample = (struct gt_sample){.real_ns = number,
                                        .monotonic_ns = number * GT_SECOND / 10,
                                        .row_count = ROWS - (size_t)(number % 2),
                                        .row = moment->row,
                                        .record_count = (size_t)(number % (LIVES + 1)),
                                        .record = moment->record};
}

static void assert_same(const struct gt_sample *is, const struct gt_sample *was)
{
    assert_int_equal(is->real_ns, was->real_ns);
    assert_int_equal(is->monotonic_ns, was->monotonic_ns);
    assert_int_equal(is->row_count, was->row_count);
    for (size_t i = 0; i < was->row_count; i++) {
        assert_memory_equal(&is->row[i], &was->row[i], offsetof(struct gt_row, value));
        for (int id = 0; id < GT_METRIC_COUNT; id++)
            if (isnan(was->row[i].value[id]))
                assert_true(isnan(is->row[i].value[id]));
            else
                assert_memory_equal(&is->row[i].value[id], &was->row[i].value[id], sizeof(double));
    }
    assert_int_equal(is->record_count, was->record_count);
    for (size_t i = 0; i < was->record_count; i++)
        assert_memory_equal(&is->record[i], &was->record[i], sizeof was->record[i]);
}

TEST(they_come_back_as_they_were)
{
    enum { SAMPLES = 12 };
    struct gt_sample_batch batch = {0};
    struct moment moment;
    struct gt_sample_copy copy = {0};
    assert_int_equal(gt_sample_batch_take(&batch, &copy), 0);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < SAMPLES; i++) {
            fill(&moment, i);
            assert_int_equal(gt_sample_batch_add(&batch, &moment.sample), 0);
        }
        for (int i = 0; i < SAMPLES; i++) {
            fill(&moment, i);
            assert_int_equal(gt_sample_batch_take(&batch, &copy), 1);
            assert_same(&copy.sample, &moment.sample);
        }
        assert_int_equal(gt_sample_batch_take(&batch, &copy), 0);
        gt_sample_batch_clear(&batch);
    }
    gt_sample_copy_release(&copy);
    free(batch.bytes);
}

/* Returns how many samples came together, by this period. */
static int waiting(int64_t period_ns)
{
    struct gt_sample_batch batch = {0};
    struct moment moment;
    int count = 0;
    int64_t now = 5 * GT_SECOND;
    fill(&moment, 1);
    do {
        moment.sample.monotonic_ns = now;
        assert_int_equal(gt_sample_batch_add(&batch, &moment.sample), 0);
        now += period_ns;
        count++;
    } while (!gt_sample_batch_is_due(&batch, now - period_ns, period_ns));
    free(batch.bytes);
    return count;
}

TEST(none_waits_for_longer_than_a_second)
{
    assert_int_equal(waiting(60 * GT_SECOND), 1);
    assert_int_equal(waiting(GT_SECOND), 1);
    assert_int_equal(waiting(GT_SECOND * 6 / 10), 2);
    assert_int_equal(waiting(GT_SECOND / 10), 10);
    assert_in_range(waiting(GT_SECOND / 10000), 100, 2000); /* more gain nothing */
}
