/* Reports as people see them: digits, lines that fit a terminal, parts that only some readers get. */
#include "gpu_tracker.h"
#include "support/reports.h"
#include "support/test.h"

/* Four significant digits, whatever the size. */
TEST(test_brief)
{
    struct gt_report *report = report_of("brief");
    struct gt_node *root = gt_report_root(report);
    gt_node_flags(gt_report_number(root, "price", "Price", 6.34795e-6, "EUR"), GT_BRIEF);
    gt_report_number(root, "other", "Other", 6.34795e-6, NULL);
    gt_node_flags(gt_report_number(root, "large", "Large", 123456.78, NULL), GT_BRIEF);
    struct gt_table *table = gt_report_table(root, "table", "Table");
    gt_table_column(table, "value", "Value", GT_CELL_NUMBER, NULL);
    gt_table_number(table, -0.0123456);
    gt_table_number(table, 99.999);
    gt_table_flags(table, GT_BRIEF);
    assert_writes(report, "text",
                  "Price: 6.348e-06 EUR\nOther: 0.0\nLarge: 123457.0\nTable:\n      Value\n   -0.01235\n      100.0\n");
    assert_writes(report, "json",
                  "{\n \"price\": 6.34795e-06,\n \"other\": 6.34795e-06,\n \"large\": 123456.78,\n \"table\": [\n  {\n"
                  "   \"value\": -0.0123456\n  },\n  {\n   \"value\": 99.999\n  }\n ]\n}\n");
    gt_report_free(report);
}

/* What belongs together has one unit; minima and maxima have that of the means, and what would be lost in it has its own. */
TEST(test_scaled_columns)
{
    struct gt_report *report = report_of("scaled");
    struct gt_table *table = gt_report_table(gt_report_root(report), "times", "Times");
    static const char *const keys[] = {"total_us", "self_us", "error_us", "mean_us", "max_us", "size_bytes"};
    static const double cells[2][6] = {{115057.899, 1600, 0.012, 386.3, 9115.2, 104857600}, {2, 0, NAN, 5, 5, 999}};
    for (int i = 0; i < 6; i++) {
        gt_table_column(table, keys[i], keys[i], GT_CELL_NUMBER, i < 5 ? "us" : "bytes");
        gt_table_column_flags(table, GT_COLUMN_SCALED);
    }
    for (int i = 0; i < 12; i++)
        gt_table_number(table, cells[i / 6][i % 6]);
    assert_writes(report, "text",
                  "Times:\n"
                  "   total_us (ms)  self_us (ms)  error_us (ns)  mean_us (us)  max_us (us)  size_bytes (MB)\n"
                  "         115.058           1.6           12.0         386.3       9115.2          104.858\n"
                  "           0.002           0.0            n/a           5.0          5.0         0.000999\n");
    assert_writes(
        report, "csv",
        "total_us,self_us,error_us,mean_us,max_us,size_bytes\n115057.899,1600.0,0.012,386.3,9115.2,104857600.0\n"
        "2.0,0.0,,5.0,5.0,999.0\n");
    gt_report_free(report);
}

/* On a terminal texts are broken between words and at joints of names, numbers and whole reports never. */
TEST(test_width)
{
    struct gt_report *report = report_of("wide");
    struct gt_table *table = gt_report_table(gt_report_root(report), "sources", "Sources");
    gt_table_column(table, "name", "Name", GT_CELL_TEXT, NULL);
    gt_table_column(table, "refresh", "Refresh", GT_CELL_NUMBER, "s");
    gt_table_column(table, "reason", "Reason", GT_CELL_TEXT, NULL);
    gt_table_text(table, "nvml");
    gt_table_number(table, 0.1);
    gt_table_text(table, "Kühlschränke können keine GPUs kühlen");
    gt_table_text(table, "a_name_of_more_than_sixteen_letters");
    gt_table_number(table, 1000);
    gt_table_text(table, "");
    gt_report_set_width(report, 55);
    assert_writes(report, "text",
                  "Sources:\n"
                  "   Name                  Refresh  Reason\n"
                  "                             (s)\n"
                  "   nvml                      0.1  Kühlschränke können\n"
                  "                                  keine GPUs kühlen\n"
                  "   a_name_of_more_        1000.0\n"
                  "   than_sixteen_letters\n");
    gt_report_set_width(report, 0);
    assert_writes(report, "text",
                  "Sources:\n"
                  "   Name                                 Refresh (s)  Reason\n"
                  "   nvml                                         0.1  Kühlschränke können keine GPUs kühlen\n"
                  "   a_name_of_more_than_sixteen_letters       1000.0  \n");
    gt_report_free(report);
}

/* Each reader sees what is for him. */
TEST(test_readers)
{
    struct gt_report *report = report_of("readers");
    struct gt_node *root = gt_report_root(report);
    static const struct {
        const char *key;
        unsigned flags;
    } parts[] = {
        {"data", GT_ONLY_DATA},
        {"people", GT_ONLY_PEOPLE},
        {"not_on_page", GT_NOT_ON_PAGE},
        {"not_in_text", GT_NOT_IN_TEXT},
        {"first", GT_ONLY_PEOPLE | GT_PAGE_FIRST},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct gt_node *part = gt_report_section(root, parts[i].key, parts[i].key);
        gt_report_integer(part, "n", "N", (int64_t)i, NULL);
        gt_node_flags(part, parts[i].flags);
    }
    assert_writes(report, "text", "people:\n   N: 1\nnot_on_page:\n   N: 2\nfirst:\n   N: 4\n");
    assert_writes(report, "csv", "key,value,unit\ndata.n,0,\nnot_on_page.n,2,\nnot_in_text.n,3,\n");
    assert_writes(report, "markdown",
                  "## first\n\n| | |\n| --- | ---: |\n| N | 4 |\n\n## people\n\n| | |\n| --- | ---: |\n| N | 1 |\n\n"
                  "## not\\_in\\_text\n\n| | |\n| --- | ---: |\n| N | 3 |\n\n");
    gt_report_free(report);
}

/* Data have base units; people see the unit that was chosen, in the row of a table, too. */
TEST(test_display_units)
{
    struct gt_report *report = report_of("units");
    struct gt_node *root = gt_report_root(report);
    gt_node_display(gt_report_number(root, "peak", "Peak", 2500, NULL), 0.001, "kilobytes");
    struct gt_table *table = gt_report_table(root, "usage", "Usage");
    gt_table_flags(table, GT_KEYED);
    gt_table_column(table, "column", "", GT_CELL_TEXT, NULL);
    gt_table_column_flags(table, GT_COLUMN_ONLY_DATA);
    gt_table_column(table, "column", "", GT_CELL_TEXT, NULL);
    gt_table_column_flags(table, GT_COLUMN_ONLY_PEOPLE);
    gt_table_column(table, "factor", "", GT_CELL_NUMBER, NULL);
    gt_table_column_flags(table, GT_COLUMN_FACTOR);
    gt_table_column(table, "no_device", "", GT_CELL_INTEGER, NULL);
    gt_table_column_flags(table, GT_COLUMN_NO_DEVICE);
    gt_table_column(table, "max", "max", GT_CELL_NUMBER, NULL);
    gt_table_column(table, "percent", "percent", GT_CELL_NUMBER, NULL);
    gt_table_column_flags(table, GT_COLUMN_AS_IS);
    gt_table_column(table, "n", "n", GT_CELL_INTEGER, NULL);
    for (int is_gpu = 0; is_gpu < 2; is_gpu++) {
        gt_table_text(table, is_gpu ? "gpu" : "ram");
        gt_table_text(table, is_gpu ? "gpu" : "ram (kilobytes)");
        gt_table_number(table, is_gpu ? 1 : 0.001);
        gt_table_integer(table, is_gpu);
        gt_table_number(table, is_gpu ? 0 : 1500);
        gt_table_number(table, 7);
        gt_table_integer(table, 3);
    }
    assert_writes(
        report, "text",
        "Peak: 2.5 kilobytes\nUsage:\n                    max  percent  n\n   ram (kilobytes)  1.5      7.0  3\n"
        "   gpu              0.0      7.0  3\n");
    assert_writes(report, "csv",
                  "key,value,unit\npeak,2500.0,\nusage.ram.max,1500.0,\nusage.ram.percent,7.0,\nusage.ram.n,3,\n"
                  "usage.gpu.max,,\nusage.gpu.percent,7.0,\nusage.gpu.n,3,\n");
    assert_writes(
        report, "json",
        "{\n \"peak\": 2500.0,\n \"usage\": {\n  \"ram\": {\n   \"max\": 1500.0,\n   \"percent\": 7.0,\n   \"n\": 3\n  },\n"
        "  \"gpu\": {\n   \"max\": 0.0,\n   \"percent\": 7.0,\n   \"n\": 3\n  }\n }\n}\n");
    assert_writes(report, "markdown",
                  "| | |\n| --- | ---: |\n| Peak | 2.5 kilobytes |\n\n## Usage\n\n|  | max | percent | n |\n"
                  "| --- | ---: | ---: | ---: |\n| ram (kilobytes) | 1.5 | 7.0 | 3 |\n| gpu | n/a | 7.0 | 3 |\n\n");
    gt_report_free(report);
}
