#include "base/number.h"
#include "query/rows.h"
#include "support/test.h"

static int begin(void **state)
{
    *state = gt_query_new();
    return *state ? 0 : -1;
}

static int end(void **state)
{
    gt_query_free(*state);
    return 0;
}

struct sample {
    uint32_t node, name;
    int64_t start, end;
    double size;
};

static struct gt_rows rows_of(struct gt_query *query, const struct sample *sample, size_t count)
{
    struct gt_rows rows = gt_rows_new(query, count);
    uint32_t *node = gt_rows_add_keys(&rows, "node", NULL), *name = gt_rows_add_keys(&rows, "name", NULL);
    int64_t *start = gt_rows_add_wholes(&rows, "start"), *last = gt_rows_add_wholes(&rows, "end");
    int64_t *length = gt_rows_add_wholes(&rows, "length");
    double *size = gt_rows_add_reals(&rows, "size");
    for (size_t i = 0; i < count; i++) {
        node[i] = sample[i].node;
        name[i] = sample[i].name;
        start[i] = sample[i].start;
        last[i] = sample[i].end;
        length[i] = sample[i].end - sample[i].start;
        size[i] = sample[i].size;
    }
    return rows;
}

#define ROWS(query, ...)                                 \
    rows_of(query, (const struct sample[]){__VA_ARGS__}, \
            sizeof((const struct sample[]){__VA_ARGS__}) / sizeof(struct sample))

static struct gt_rows random_rows(struct gt_query *query, size_t count, unsigned seed)
{
    struct sample *sample = calloc(count, sizeof *sample);
    srand(seed);
    for (size_t i = 0; i < count; i++) {
        int64_t start = rand() % 100000 - 50000;
        sample[i] = (struct sample){(uint32_t)(rand() % 7), (uint32_t)(rand() % 50), start, start + rand() % 300,
                                    rand() % 5 ? rand() % 1000 - 500.5 : NAN};
    }
    struct gt_rows rows = rows_of(query, sample, count);
    free(sample);
    return rows;
}

/* ---- order -------------------------------------------------------------------------------------------------------- */

/* Few rows are compared, many are sorted by their digits. */
TEST_WITH(rows_are_sorted_by_several_columns, begin, end)
{
    for (size_t count = 1; count < FEWER(20000, 4000); count = count * 5 + 3) {
        struct gt_rows rows = random_rows(*state, count, (unsigned)count);
        uint32_t *number = gt_rows_add_keys(&rows, "number", NULL);
        for (size_t i = 0; i < count; i++)
            number[i] = (uint32_t)i;
        gt_rows_sort(&rows, "node -size start");
        const uint32_t *node = gt_rows_keys(&rows, "node");
        const double *size = gt_rows_reals(&rows, "size");
        const int64_t *start = gt_rows_wholes(&rows, "start");
        number = gt_rows_keys(&rows, "number");
        assert_int_equal(rows.count, count);
        for (size_t i = 1; i < count; i++) {
            bool is_same_size = size[i - 1] == size[i] || (isnan(size[i - 1]) && isnan(size[i]));
            assert_true(node[i - 1] <= node[i]);
            if (node[i - 1] < node[i])
                continue;
            assert_true(is_same_size || isnan(size[i - 1]) || size[i - 1] > size[i]);
            if (is_same_size)
                assert_true(start[i - 1] < start[i] || (start[i - 1] == start[i] && number[i - 1] < number[i]));
        }
    }
}

TEST_WITH(sorted_rows_stay_where_they_are, begin, end)
{
    struct gt_rows rows = ROWS(*state, {1, 1, 0, 1, 0}, {2, 1, 0, 1, 0});
    const uint32_t *node = gt_rows_keys(&rows, "node");
    gt_rows_sort(&rows, "node");
    assert_ptr_equal(gt_rows_keys(&rows, "node"), node);
}

TEST_WITH(filtered_rows_keep_their_order, begin, end)
{
    struct gt_rows rows = ROWS(*state, {3, 0, 0, 1, 0}, {2, 0, 0, 1, 0}, {1, 0, 0, 1, 0});
    struct gt_rows kept = gt_rows_filter(&rows, (const bool[]){true, false, true});
    assert_int_equal(kept.count, 2);
    assert_int_equal(gt_rows_keys(&kept, "node")[0], 3);
    assert_int_equal(gt_rows_keys(&kept, "node")[1], 1);
    assert_int_equal(rows.count, 3);
    assert_int_equal(gt_rows_run(&rows, "name", 0), 3);
    assert_int_equal(gt_rows_run(&rows, "node", 1), 2);
}

/* ---- groups ------------------------------------------------------------------------------------------------------- */

TEST_WITH(groups_have_all_aggregates, begin, end)
{
    struct gt_rows rows = ROWS(*state, {1, 5, 10, 14, 2}, {0, 7, 0, 1, NAN}, {1, 6, 20, 21, 8}, {1, 5, 30, 37, NAN});
    struct gt_rows groups = gt_rows_group(
        &rows, "node",
        GT_AGGREGATES(GT_COUNT("count"), GT_SUM("total", "length"), GT_SUM("sizes", "size"), GT_MEAN("mean", "length"),
                      GT_MEAN("mean_size", "size"), GT_MIN("min", "length"), GT_MAX("max", "length"),
                      GT_FIRST("first", "name"), GT_ARG_MIN("shortest", "length", "name"),
                      GT_ARG_MAX("largest", "size", "name"), GT_QUANTILE("p25", "length", 0.25),
                      GT_QUANTILE("median", "size", 0.5), GT_MEAN_US("mean_us", "length"),
                      GT_QUANTILE_US("p50_us", "length", 0.5)));
    assert_int_equal(gt_query_status(*state), 0);
    assert_int_equal(groups.count, 2);
    assert_int_equal(gt_rows_keys(&groups, "node")[1], 1);
    assert_int_equal(gt_rows_wholes(&groups, "count")[1], 3);
    assert_int_equal(gt_rows_wholes(&groups, "total")[1], 12);
    assert_close(gt_rows_reals(&groups, "sizes")[1], 10, 0);
    assert_close(gt_rows_reals(&groups, "mean")[1], 4, 0);
    assert_close(gt_rows_reals(&groups, "mean_size")[1], 5, 0); /* of those that are known */
    assert_close(gt_rows_reals(&groups, "mean_size")[0], NAN, 0);
    assert_int_equal(gt_rows_wholes(&groups, "min")[1], 1);
    assert_int_equal(gt_rows_wholes(&groups, "max")[1], 7);
    assert_int_equal(gt_rows_keys(&groups, "first")[1], 5);
    assert_int_equal(gt_rows_keys(&groups, "shortest")[1], 6);
    assert_int_equal(gt_rows_keys(&groups, "largest")[1], 6);
    assert_close(gt_rows_reals(&groups, "p25")[1], 2.5, 0);
    assert_close(gt_rows_reals(&groups, "median")[1], 5, 0);
    assert_close(gt_rows_reals(&groups, "median")[0], NAN, 0);
    assert_close(gt_rows_reals(&groups, "mean_us")[1], 0.004, 0);
    assert_close(gt_rows_reals(&groups, "p50_us")[1], 0.004, 0);
}

TEST_WITH(groups_agree_with_loops, begin, end)
{
    struct gt_rows rows = random_rows(*state, FEWER(30000, 3000), 7);
    const uint32_t *node = gt_rows_keys(&rows, "node"), *name = gt_rows_keys(&rows, "name");
    const int64_t *length = gt_rows_wholes(&rows, "length");
    int64_t sum[7][50] = {0}, count[7][50] = {0};
    for (size_t i = 0; i < rows.count; i++) {
        sum[node[i]][name[i]] += length[i];
        count[node[i]][name[i]]++;
    }
    struct gt_rows groups = gt_rows_group(&rows, "node name",
                                          GT_AGGREGATES(GT_COUNT("count"), GT_SUM("total", "length")));
    const uint32_t *of = gt_rows_keys(&groups, "node"), *with = gt_rows_keys(&groups, "name");
    for (size_t i = 0; i < groups.count; i++) {
        assert_int_equal(gt_rows_wholes(&groups, "total")[i], sum[of[i]][with[i]]);
        assert_int_equal(gt_rows_wholes(&groups, "count")[i], count[of[i]][with[i]]);
        assert_true(!i || of[i - 1] < of[i] || (of[i - 1] == of[i] && with[i - 1] < with[i]));
    }
}

TEST_WITH(an_empty_list_of_keys_is_one_group, begin, end)
{
    struct gt_rows rows = ROWS(*state, {1, 5, 10, 14, 2}, {0, 7, 0, 1, 3}), none = gt_rows_new(*state, 0);
    struct gt_rows all = gt_rows_group(&rows, "", GT_AGGREGATES(GT_COUNT("count")));
    assert_int_equal(all.count, 1);
    assert_int_equal(gt_rows_wholes(&all, "count")[0], 2);
    assert_int_equal(gt_rows_group(&none, "", GT_AGGREGATES(GT_COUNT("count"))).count, 0);
}

TEST_WITH(shares_are_of_their_group, begin, end)
{
    struct gt_rows rows = ROWS(*state, {1, 0, 0, 30, 0}, {2, 0, 0, 5, 0}, {1, 0, 0, 10, 0}, {3, 0, 0, 0, 0});
    gt_rows_share(&rows, "percent", "length", "node");
    const double *percent = gt_rows_reals(&rows, "percent");
    assert_close(percent[0], 75, 0);
    assert_close(percent[1], 100, 0);
    assert_close(percent[2], 25, 0);
    assert_close(percent[3], NAN, 0);
}

TEST_WITH(differences_choose_rows, begin, end)
{
    struct gt_rows rows = ROWS(*state, {1, 5, 10, 14, 2}, {0, 7, 0, 1, 3});
    gt_rows_wholes(&rows, "end")[1] = GT_NO_WHOLE;
    const int64_t *difference = gt_rows_difference(&rows, "difference", "end", "start");
    assert_int_equal(difference[0], gt_rows_wholes(&rows, "end")[0] - gt_rows_wholes(&rows, "start")[0]);
    assert_int_equal(difference[1], GT_NO_WHOLE);
    assert_int_equal(gt_rows_known(&rows, "difference").count, 1);
    assert_int_equal(gt_rows_above(&rows, "difference", (double)difference[0]).count, 0);
    assert_int_equal(gt_rows_above(&rows, "difference", (double)difference[0] - 1).count, 1);
}

TEST_WITH(a_value_chooses_rows, begin, end)
{
    struct gt_rows rows = ROWS(*state, {1, 5, 10, 14, 2}, {0, 7, 0, 1, NAN}, {1, 6, 3, 4, NAN});
    struct gt_rows of_one = gt_rows_where(&rows, "node", 1);
    assert_int_equal(of_one.count, 2);
    assert_int_equal(gt_rows_keys(&of_one, "name")[1], 6);
    assert_int_equal(gt_rows_where(&rows, "size", 2).count, 1);
    assert_int_equal(gt_rows_where(&rows, "size", NAN).count, 0);
    assert_int_equal(gt_rows_where(&rows, "start", GT_NO_WHOLE).count, 0);
    assert_int_equal(gt_rows_known(&rows, "size").count, 1);
}

TEST_WITH(sums_of_missing_values_are_missing, begin, end)
{
    struct gt_rows rows = ROWS(*state, {1, 5, 10, 14, 2}, {0, 7, 0, 1, NAN}, {1, 6, 20, 21, NAN});
    gt_rows_wholes(&rows, "length")[1] = GT_NO_WHOLE;
    struct gt_rows sums = gt_rows_group(&rows, "node",
                                        GT_AGGREGATES(GT_SUM("size", "size"), GT_SUM("length", "length")));
    assert_close(gt_rows_reals(&sums, "size")[0], NAN, 0);
    assert_close(gt_rows_reals(&sums, "size")[1], 2, 0);
    assert_true(gt_rows_wholes(&sums, "length")[0] == GT_NO_WHOLE);
    assert_int_equal(gt_rows_wholes(&sums, "length")[1], 5);
}

/* ---- tables that belong together ---------------------------------------------------------------------------------- */

TEST_WITH(a_join_finds_rows_by_their_keys, begin, end)
{
    static const char *const words[] = {"none", "some", "all"};
    struct gt_rows rows = ROWS(*state, {3, 0, 0, 0, 0}, {1, 0, 0, 0, 0}, {3, 0, 0, 0, 0}, {2, 0, 0, 0, 0});
    struct gt_rows with = gt_rows_new(*state, 2);
    uint32_t *node = gt_rows_add_keys(&with, "node", NULL), *kind = gt_rows_add_keys(&with, "kind", words);
    int64_t *count = gt_rows_add_wholes(&with, "count");
    double *mean = gt_rows_add_reals(&with, "mean");
    for (uint32_t i = 0; i < 2; i++) {
        node[i] = i + 2;
        kind[i] = i + 1;
        count[i] = 10 + i;
        mean[i] = 0.5 + i;
    }
    gt_rows_join(&rows, &with, "node", "kind count mean");
    assert_int_equal(gt_rows_wholes(&rows, "count")[0], 11);
    assert_true(gt_rows_wholes(&rows, "count")[1] == GT_NO_WHOLE);
    assert_int_equal(gt_rows_keys(&rows, "kind")[1], GT_NO_KEY);
    assert_int_equal(gt_rows_wholes(&rows, "count")[2], 11);
    assert_int_equal(gt_rows_wholes(&rows, "count")[3], 10);
    assert_close(gt_rows_reals(&rows, "mean")[1], NAN, 0);
    assert_close(gt_rows_reals(&rows, "mean")[3], 0.5, 0);
    assert_string_equal(gt_rows_find(&rows, "kind")->words[gt_rows_keys(&rows, "kind")[2]], "all");
    gt_rows_fill(&rows, "count mean");
    assert_int_equal(gt_rows_wholes(&rows, "count")[1], 0);
    assert_close(gt_rows_reals(&rows, "mean")[1], 0, 0);
    assert_close(gt_rows_percent(&rows, "percent", "mean", "count")[0], 100 * 1.5 / 11, 1e-12);
    assert_close(gt_rows_reals(&rows, "percent")[1], NAN, 0);
}

TEST_WITH(pairs_that_are_not_there_are_completed, begin, end)
{
    struct gt_rows rows = ROWS(*state, {2, 7, 0, 5, 0}, {1, 8, 0, 6, 0});
    struct gt_rows all = gt_rows_complete(&rows, "name", "node");
    const int64_t *length = gt_rows_wholes(&all, "length");
    assert_int_equal(all.count, 4);
    assert_int_equal(gt_rows_keys(&all, "name")[1], 7);
    assert_int_equal(gt_rows_keys(&all, "node")[1], 2);
    assert_int_equal(length[0], 0);
    assert_int_equal(length[1], 5);
    assert_int_equal(length[2], 6);
    assert_int_equal(length[3], 0);
}

TEST_WITH(a_union_has_each_key_once, begin, end)
{
    struct gt_rows rows = ROWS(*state, {5, 0, 0, 0, 0}, {1, 0, 0, 0, 0}),
                   others = ROWS(*state, {5, 0, 0, 0, 0}, {3, 0, 0, 0, 0});
    struct gt_rows all = gt_rows_union(&rows, &others, "node");
    assert_int_equal(all.count, 3);
    assert_int_equal(gt_rows_keys(&all, "node")[0], 1);
    assert_int_equal(gt_rows_keys(&all, "node")[1], 3);
    assert_int_equal(gt_rows_keys(&all, "node")[2], 5);
}

/* ---- intervals ---------------------------------------------------------------------------------------------------- */

TEST_WITH(intervals_that_touch_become_one, begin, end)
{
    struct gt_rows rows = ROWS(*state, {1, 0, 5, 9, 0}, {1, 0, 0, 5, 0}, {1, 0, 12, 20, 0}, {1, 0, 13, 14, 0},
                               {2, 0, 3, 4, 0});
    struct gt_rows united = gt_rows_unite(&rows, "node");
    const int64_t *start = gt_rows_wholes(&united, "start"), *last = gt_rows_wholes(&united, "end");
    assert_int_equal(united.count, 3);
    assert_true(start[0] == 0 && last[0] == 9 && start[1] == 12 && last[1] == 20 && start[2] == 3 && last[2] == 4);
}

TEST_WITH(gaps_lie_between_them, begin, end)
{
    struct gt_rows rows = ROWS(*state, {1, 40, 0, 10, 0}, {1, 41, 2, 4, 0}, {1, 42, 15, 16, 0}, {1, 43, 16, 20, 0},
                               {2, 44, 100, 200, 0});
    struct gt_rows gaps = gt_rows_gaps(&rows, "node", "name");
    assert_int_equal(gaps.count, 1);
    assert_int_equal(gt_rows_wholes(&gaps, "from")[0], 10);
    assert_int_equal(gt_rows_wholes(&gaps, "to")[0], 15);
    assert_int_equal(gt_rows_keys(&gaps, "name")[0], 42);
    assert_int_equal(gt_rows_keys(&gaps, "name_before")[0], 41);
}

/* What intervals cover and the gaps between them come to the whole; nanosecond by nanosecond. */
TEST_WITH(overlaps_agree_with_counting, begin, end)
{
    enum { FIRST = -50000, LAST = 50400 };
    struct gt_rows rows = random_rows(*state, 200, 3), other = random_rows(*state, 150, 4);
    struct gt_rows united = gt_rows_unite(&other, "node");
    const int64_t *overlap = gt_rows_overlap(&rows, "overlap", "start", "end", &united, "node");
    const uint32_t *node = gt_rows_keys(&rows, "node"), *of = gt_rows_keys(&other, "node");
    const int64_t *start = gt_rows_wholes(&rows, "start"), *last = gt_rows_wholes(&rows, "end");
    const int64_t *from = gt_rows_wholes(&other, "start"), *to = gt_rows_wholes(&other, "end");
    for (size_t i = 0; i < rows.count; i++) {
        int64_t covered = 0;
        for (int64_t time = start[i]; time < last[i]; time++) {
            bool is_covered = false;
            for (size_t k = 0; k < other.count; k++)
                is_covered |= of[k] == node[i] && from[k] <= time && time < to[k];
            covered += is_covered;
        }
        assert_int_equal(overlap[i], covered);
    }
    struct gt_rows spans = gt_rows_group(&other, "node",
                                         GT_AGGREGATES(GT_MIN("first", "start"), GT_MAX("last", "end")));
    struct gt_rows gaps = gt_rows_gaps(&other, "node", "name");
    int64_t whole = 0, parts = 0;
    for (size_t i = 0; i < spans.count; i++)
        whole += gt_rows_wholes(&spans, "last")[i] - gt_rows_wholes(&spans, "first")[i];
    for (size_t i = 0; i < united.count; i++)
        parts += gt_rows_wholes(&united, "end")[i] - gt_rows_wholes(&united, "start")[i];
    for (size_t i = 0; i < gaps.count; i++)
        parts += gt_rows_wholes(&gaps, "to")[i] - gt_rows_wholes(&gaps, "from")[i];
    assert_int_equal(whole, parts);
}

/* ---- failures ----------------------------------------------------------------------------------------------------- */

TEST_WITH(a_column_that_is_not_there_makes_the_query_fail, begin, end)
{
    struct gt_rows rows = ROWS(*state, {1, 0, 0, 1, 0});
    assert_null(gt_rows_find(&rows, "nothing"));
    assert_int_equal(gt_query_status(*state), 0);
    struct gt_rows groups = gt_rows_group(&rows, "nothing", GT_AGGREGATES(GT_SUM("sum", "nothing either")));
    assert_int_equal(groups.count, 0);
    assert_int_equal(gt_query_status(*state), -EINVAL);
    assert_int_equal(gt_rows_unite(&rows, "node").count, 0);
    gt_rows_sort(&rows, "node");
    assert_int_equal(rows.count, 0);
    gt_query_fail(*state, -ENOMEM); /* the first failure stays */
    assert_int_equal(gt_query_status(*state), -EINVAL);
}

/* Nobody reads cells behind the last one, whichever table the rows are counted by. */
TEST_WITH(rows_without_a_column_are_none, begin, end)
{
    struct gt_rows rows = random_rows(*state, 1000, 1), other = rows, again = rows;
    const int64_t *lengths = gt_rows_wholes(&rows, "lenght");
    assert_int_equal(rows.count, 0);
    for (size_t i = 0; i < other.count; i++)
        assert_int_equal(lengths[i], 0);
    assert_string_equal(gt_query_problem(*state), "gt_rows_wholes: no column 'lenght'");
    assert_int_equal(gt_rows_keys(&other, "start")[999], 0); /* of another type */
    assert_int_equal(other.count, 0);
    assert_int_equal(gt_rows_run(&again, "node", 5), again.count);
    gt_rows_join(&again, &other, "node", "nothing");
    assert_int_equal(again.count, 0);
}

TEST_WITH(others_have_the_median_without_the_row_itself, begin, end)
{
    static const double expected[] = {4.5, 4.5, 5, 5, NAN, 4.75};
    struct gt_rows rows = ROWS(*state, {1, 0, 0, 0, 5}, {1, 0, 0, 0, 9}, {1, 0, 0, 0, 4}, {1, 0, 0, 0, 4.5},
                               {2, 0, 0, 0, 7}, {1, 0, 0, 0, NAN});
    const double *others = gt_rows_others(&rows, "others", "size", "node");
    for (size_t i = 0; i < rows.count; i++)
        assert_true(isnan(expected[i]) ? isnan(others[i]) : fabs(others[i] - expected[i]) < 1e-9);
}

TEST(problems_name_operator_and_column)
{
    static const char *const problems[] = {"gt_rows_sort: no column 'lenght'",
                                           "gt_rows_group: no column 'lenght'",
                                           "gt_rows_where: no column 'lenght'",
                                           "gt_rows_unite: no column 'lenght'",
                                           "gt_rows_join: no column 'lenght'",
                                           "gt_rows_fill: no column 'lenght'",
                                           "gt_rows_reals: column 'node' is of another type"};
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        struct gt_query *query = gt_query_new();
        struct gt_rows rows = ROWS(query, {1, 5, 10, 14, 2}, {0, 7, 0, 1, 3});
        assert_null(gt_query_problem(query));
        switch (i) {
        case 0: gt_rows_sort(&rows, "node -lenght"); break;
        case 1: gt_rows_group(&rows, "node", GT_AGGREGATES(GT_SUM("sum", "lenght"))); break;
        case 2: gt_rows_where(&rows, "lenght", 1); break;
        case 3: gt_rows_unite(&rows, "lenght"); break;
        case 4: gt_rows_join(&rows, &rows, "node", "lenght"); break;
        case 5: gt_rows_fill(&rows, "lenght"); break;
        default: gt_rows_reals(&rows, "node");
        }
        assert_string_equal(gt_query_problem(query), problems[i]);
        gt_query_free(query);
    }
}

TEST_WITH(memory_that_cannot_be_had_makes_the_query_fail, begin, end)
{
    assert_null(gt_query_memory(*state, SIZE_MAX / 2, 16));
    assert_int_equal(gt_query_status(*state), -ENOMEM);
    struct gt_rows rows = gt_rows_new(*state, 5);
    gt_rows_add_wholes(&rows, "start");
    gt_rows_add_wholes(&rows, "end");
    assert_int_equal(rows.count, 0);
    assert_int_equal(gt_rows_gaps(&rows, "", "start").count, 0);
}
