/* Tables of reports in every format. */
#include "report/format.h"
#include "support/reports.h"
#include "support/test.h"

static struct gt_report *analysis_report(void)
{
    struct gt_report *report = report_of("sub_tracking_results");
    gt_report_layout(report, GT_LAYOUT_ANALYSIS);
    struct gt_node *root = gt_report_root(report);
    struct gt_table *table = gt_report_table(root, "overall", "Overall");
    gt_table_flags(table, GT_KEYED);
    gt_table_column(table, "column", "Column", GT_CELL_TEXT, "");
    gt_table_column(table, "min", "min", GT_CELL_NUMBER, "");
    gt_table_column(table, "std", "std", GT_CELL_NUMBER, "");
    gt_table_text(table, "main_ram");
    gt_table_number(table, 0.0662978564);
    gt_table_number(table, 0.00082189999);
    gt_table_text(table, "combined_n_threads");
    gt_table_number(table, 1.0);
    gt_table_number(table, 0.0);
    struct gt_node *machine = gt_report_section(root, "static_data", "Static Data");
    gt_node_flags(machine, GT_ROW);
    gt_report_text(machine, "ram_unit", "ram_unit", "gigabytes");
    gt_report_number(machine, "ram_system_capacity", "ram_system_capacity", 25.274793984, "");
    gt_report_integer(machine, "n", "n", 2, "");
    struct gt_node *blocks = gt_report_section(root, "code_block_results", "Code Block Results");
    gt_node_flags(blocks, GT_LIST);
    for (int i = 0; i < 2; i++) {
        struct gt_node *block = gt_report_section(blocks, "block", "");
        gt_report_text(block, "name", "Name", i ? "b" : "a");
        gt_report_integer(block, "num_timepoints", "Num Timepoints", i, "");
    }
    return report;
}

TEST(test_analysis_text)
{
    struct gt_report *report = analysis_report();
    assert_writes(report, "text",
                  "Overall:\n"
                  "\t                          min       std\n"
                  "\tmain_ram           0.06629786 0.0008219\n"
                  "\tcombined_n_threads        1.0       0.0\n"
                  "Static Data:\n"
                  "\t   ram_unit ram_system_capacity  n\n"
                  "\t  gigabytes         25.27479398  2\n"
                  "Code Block Results:\n"
                  "\tName:           a\n"
                  "\tNum Timepoints: 0\n"
                  "\n"
                  "\tName:           b\n"
                  "\tNum Timepoints: 1\n"
                  "\n");
    gt_report_free(report);
}

TEST(test_analysis_markdown)
{
    struct gt_report *report = analysis_report();
    assert_writes(
        report, "markdown",
        "## Overall\n\n"
        "|  | min | std |\n| --- | ---: | ---: |\n"
        "| main\\_ram | 0.06629786 | 0.0008219 |\n| combined\\_n\\_threads | 1.0 | 0.0 |\n\n"
        "## Static Data\n\n"
        "| ram\\_unit | ram\\_system\\_capacity | n |\n| --- | --- | --- |\n| gigabytes | 25.27479398 | 2 |\n\n"
        "## Code Block Results\n\n"
        "| Name | Num Timepoints |\n| --- | ---: |\n| a | 0 |\n| b | 1 |\n\n");
    gt_report_free(report);
}

TEST(test_analysis_json)
{
    struct gt_report *report = analysis_report();
    assert_writes(report, "json",
                  "{\n"
                  " \"overall\": {\n"
                  "  \"main_ram\": {\n"
                  "   \"min\": 0.0662978564,\n"
                  "   \"std\": 0.00082189999\n"
                  "  },\n"
                  "  \"combined_n_threads\": {\n"
                  "   \"min\": 1.0,\n"
                  "   \"std\": 0.0\n"
                  "  }\n"
                  " },\n"
                  " \"static_data\": {\n"
                  "  \"ram_unit\": \"gigabytes\",\n"
                  "  \"ram_system_capacity\": 25.274793984,\n"
                  "  \"n\": 2\n"
                  " },\n"
                  " \"code_block_results\": [\n"
                  "  {\n"
                  "   \"name\": \"a\",\n"
                  "   \"num_timepoints\": 0\n"
                  "  },\n"
                  "  {\n"
                  "   \"name\": \"b\",\n"
                  "   \"num_timepoints\": 1\n"
                  "  }\n"
                  " ]\n"
                  "}\n");
    gt_report_free(report);
}

TEST(test_csv_of_one_table)
{
    struct gt_report *report = report_of("timeline");
    struct gt_table *table = gt_report_table(gt_report_root(report), "calls", "Calls");
    gt_table_column(table, "name", "Name", GT_CELL_TEXT, "");
    gt_table_column(table, "time", "Time", GT_CELL_NUMBER, "seconds");
    gt_table_text(table, "x\ny");
    gt_table_number(table, 0.1);
    assert_writes(report, "csv", "name,time\n\"x\ny\",0.1\n");
    gt_report_free(report);
}

TEST(test_empty_columns_are_left_out)
{
    struct gt_report *report = report_of("sample");
    struct gt_table *table = gt_report_table(gt_report_root(report), "gpus", "GPUs");
    gt_table_column(table, "uuid", "UUID", GT_CELL_TEXT, "");
    gt_table_column(table, "power", "Power", GT_CELL_NUMBER, "watts");
    gt_table_column(table, "ram", "RAM", GT_CELL_NUMBER, "");
    gt_table_text(table, "a");
    gt_table_number(table, NAN);
    gt_table_number(table, 1.5);
    assert_writes(report, "text", "GPUs:\n   UUID  RAM\n   a     1.5\n");
    assert_writes(report, "csv", "uuid,power,ram\na,,1.5\n");
    gt_report_free(report);
}
