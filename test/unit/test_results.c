/* Results in JSON that are not in a file, as a report again. */
#include "api/python.h"
#include "gpu_tracker.h"
#include "support/test.h"

static char *text_of(const char *type, const char *json)
{
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    char *text = NULL;
    size_t length = 0;
    assert_int_equal(gt_results_report(&report, type, json, &error), 0);
    assert_int_equal(gt_report_render(report, "text", &text, &length, &error), 0);
    gt_report_free(report);
    return text;
}

static void check(const char *type, const char *json, const char *expected)
{
    char *text = text_of(type, json);
    assert_string_equal(text, expected);
    free(text);
}

TEST(test_a_block)
{
    check("code_block_results",
          "{\"name\": \"a\", \"num_timepoints\": 2, \"num_calls\": 1, \"num_non_empty_calls\": 1,"
          "\"compute_time\": {\"min\": 0.5, \"max\": null},"
          "\"resource_usage\": {\"main_ram\": {\"min\": 1, \"max\": 2.5}, \"threads\": {\"min\": 3.0}}}",
          "Name:                a\nNum Timepoints:      2\nNum Calls:           1\nNum Non Empty Calls: 1\n"
          "Compute Time:\n\t  min  max\n\t  0.5  n/a\n"
          "Resource Usage:\n\t          min  max\n\tmain_ram  1.0  2.5\n\tthreads   3.0  n/a\n");
}

TEST(test_a_comparison)
{
    char *text = text_of("comparison_results",
                         "{\"overall_resource_usage\": {\"main_ram\": {\"new\": 1.5, \"old\": 2.0}},"
                         "\"code_block_resource_usage\": {\"main_ram\": {\"my_block\": {\"new\": 1.0}}},"
                         "\"code_block_compute_time\": {\"my_block\": {\"new\": 0.25}}}");
    assert_non_null(strstr(text, "Overall Resource Usage:\n\tMain Ram:\n\t\t  new  old\n\t\t  1.5  2.0\n"));
    assert_non_null(strstr(text, "Code Block Compute Time:\n\tmy_block:\n"));
    free(text);
}

/* Anybody may have put the object together. */
TEST(test_trees_of_other_shapes)
{
    static const char *const trees[] = {
        "{}", "[]", "{\"overall\": 3, \"static_data\": [], \"code_block_results\": {}}",
        "{\"overall\": {\"a\": 1, \"b\": {\"min\": \"x\"}}, \"code_block_results\": [1, null, {\"name\": 5}]}",
        "{\"overall_resource_usage\": {\"a\": 1}, \"code_block_resource_usage\": {\"a\": {\"b\": 1}}}"};
    static const char *const types[] = {"sub_tracking_results", "code_block_results", "comparison_results"};
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++)
        for (size_t k = 0; k < sizeof types / sizeof *types; k++)
            free(text_of(types[k], trees[i]));
}

TEST(test_what_is_refused)
{
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    assert_int_equal(gt_results_report(&report, "comparison_results", "{", &error), -EBADMSG);
    assert_non_null(strstr(error.text, "not JSON"));
    error = (struct gt_error){0};
    assert_int_equal(gt_results_report(&report, "resource_usage", "{}", &error), -EINVAL);
    assert_non_null(strstr(error.text, "resource_usage"));
    assert_null(report);
}
