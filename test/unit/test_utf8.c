/* Texts from outside: as people see them, and as programs get them, in every format. */
#include "base/csv.h"
#include "base/utf8.h"
#include "support/reports.h"
#include "support/test.h"

#define EVIL "a\nExit: 0\r\t\x1b[2J\a\x7f\xff\xc3\xa9\xe2\x80\xae\xc2\x9b|<"
#define SHOWN "a\\nExit: 0\\r\\t\\x1b[2J\\x07\\x7f\\xff\xc3\xa9\\u202e\\u009b|<"

static void check_shown(const char *text, const char *expected, size_t columns)
{
    struct gt_buffer out = {0};
    assert_int_equal(gt_utf8_show(&out, text), 0);
    assert_string_equal(out.data ? out.data : "", expected);
    assert_int_equal(gt_utf8_columns(text), columns);
    assert_int_equal(gt_utf8_columns(expected), columns);
    gt_buffer_release(&out);
}

TEST(what_acts_on_a_terminal_is_escaped)
{
    check_shown("", "", 0);
    check_shown("plain 'text' C:\\new", "plain 'text' C:\\new", 19);
    check_shown(EVIL, SHOWN, strlen(SHOWN) - 1);
    check_shown("\xf0\x9f\x98\x80\xe4\xb8\xad", "\xf0\x9f\x98\x80\xe4\xb8\xad", 2);
    check_shown("\xe2\x80\xa8\xef\xbb\xbf\xd8\x9c", "\\u2028\\ufeff\\u061c", 18);
    check_shown("fit\xe2\x80\x8b\xe2\x81\xa0\xc2\xad", "fit\\u200b\\u2060\\u00ad", 21);
    check_shown("tag\xf3\xa0\x81\x81\xf3\xa0\x84\x80", "tag\\U000e0041\xf3\xa0\x84\x80", 14);
    check_shown("\xed\xa0\x80\xc0\xaf", "\\xed\\xa0\\x80\\xc0\\xaf", 20);
    check_shown("cut \xe2\x82", "cut \\xe2\\x82", 12);
}

TEST(columns_are_those_of_unicode)
{
    static const struct {
        const char *text;
        size_t columns;
    } cases[] = {
        {"a~", 2},
        {"\xc3\xa9", 1},                     /* e with an acute accent */
        {"e\xcc\x81", 1},                    /* the same of two characters */
        {"\xe4\xb8\xad\xef\xbc\xa1", 4},     /* East Asia: wide and full width */
        {"\xce\xb1\xc2\xb1\xe2\x94\x80", 3}, /* ambiguous: narrow */
        {"\xf0\x9f\x98\x80\xe2\x9c\x85", 4}, /* emoji, also those of older blocks */
        {"\xf0\x9f\x8c\xa1", 1},             /* a picture that is no emoji unless told so */
        {"\xe0\xa4\x95\xe0\xa5\x81", 1},     /* a vowel of Devanagari below its consonant */
        {"\xe3\x81\x8b\xe3\x82\x99", 2},     /* a mark of voice on a letter of Hiragana */
        {"\xef\xbd\xb1", 1},                 /* half width */
        {"\xee\x80\x80\xf3\xbf\xbf\xbd", 2}, /* private use */
        {"\xcd\xb8", 1},                     /* not assigned */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(gt_utf8_width_of(cases[i].text, strlen(cases[i].text)), cases[i].columns);
}

/* No byte that a terminal takes as a command is left, whatever two bytes stand beside each other. */
TEST(nothing_that_acts_is_left)
{
    for (int first = 1; first < 256; first++)
        for (int second = 1; second < 256; second++) {
            struct gt_buffer out = {0};
            char text[] = {(char)first, (char)second, '\0'};
            gt_utf8_show(&out, text);
            assert_true(gt_utf8_is_valid(out.data));
            for (const unsigned char *c = (const unsigned char *)out.data; *c; c++)
                assert_false(*c < ' ' || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0));
            gt_buffer_release(&out);
        }
}

TEST(programs_get_valid_text)
{
    struct gt_buffer out = {0};
    assert_true(gt_utf8_is_valid("\xc3\xa9\n\x1b"));
    assert_false(gt_utf8_is_valid("a\xff"));
    assert_false(gt_utf8_is_valid("\xe2\x82"));
    assert_int_equal(gt_utf8_valid(&out, "\n\x1b\xff\xc3\xa9\xe2\x82"), 0);
    assert_string_equal(out.data, "\n\x1b\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd");
    gt_buffer_clear(&out);
    gt_csv_field(&out, "a\n\"\xff\"");
    assert_string_equal(out.data, "\"a\n\"\"\xef\xbf\xbd\"\"\"");
    gt_buffer_clear(&out);
    gt_csv_field(&out, "a\xff");
    assert_string_equal(out.data, "a\xef\xbf\xbd");
    gt_buffer_release(&out);
}

TEST(bytes_are_valid_text)
{
    struct gt_buffer out = {0};
    static const char bytes[] = "1234567890\0abcdefgh\xc3\xa9ijklmnopqrst\xe2\x82";
    assert_true(gt_utf8_are_valid(bytes, sizeof bytes - 3));
    assert_false(gt_utf8_are_valid(bytes, sizeof bytes - 1));
    assert_int_equal(gt_utf8_valid_bytes(&out, bytes, sizeof bytes - 1), 0);
    assert_int_equal(out.length, sizeof bytes - 3 + 6);
    assert_memory_equal(out.data, bytes, sizeof bytes - 3);
    assert_string_equal(out.data + sizeof bytes - 3, "\xef\xbf\xbd\xef\xbf\xbd");
    gt_buffer_release(&out);
}

TEST(spreadsheets_compute_no_text)
{
    static const char *const cells[][2] = {{"=1+1", "'=1+1"},
                                           {"+1", "'+1"},
                                           {"-1", "'-1"},
                                           {"@a", "'@a"},
                                           {"\t=1", "'\t=1"},
                                           {"a=1", "a=1"},
                                           {"", ""},
                                           {"'=1", "'=1"},
                                           {"=a,\"b\"", "\"'=a,\"\"b\"\"\""},
                                           {"\n=1", "\"'\n=1\""}};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        struct gt_buffer out = {0};
        gt_csv_field_for_people(&out, cells[i][0]);
        assert_string_equal(out.data ? out.data : "", cells[i][1]);
        gt_buffer_release(&out);
    }
    struct gt_report *report = report_of("sample");
    gt_report_text(&report->root, "name", "Name", "=cmd|' /C calc'!A0");
    gt_report_number(&report->root, "less", "Less", -1, "");
    assert_writes(report, "csv", "key,value,unit\nname,'=cmd|' /C calc'!A0,\nless,-1.0,\n");
    gt_report_free(report);
}

/* A fact, a section, a cell, and a column, all of a name from outside. */
static struct gt_report *evil_report(void)
{
    struct gt_report *report = report_of("evil");
    struct gt_node *root = &report->root;
    gt_report_text(root, "fact", "F\nF", "x\ny");
    gt_report_number(gt_report_section(root, "section", "S\x1bS"), "price", "Price", 1, "E\nR");
    struct gt_table *table = gt_report_table(root, "table", "T\nT");
    gt_table_column(table, "name", "N\nN", GT_CELL_TEXT, "u\xff");
    gt_table_column(table, "value", "Value", GT_CELL_INTEGER, "");
    gt_table_text(table, "a\nb");
    gt_table_integer(table, 1);
    gt_table_text(table, "longer than \xff");
    gt_table_integer(table, 22);
    return report;
}

TEST(every_format_for_people_shows_it)
{
    struct gt_report *report = evil_report();
    assert_writes(report, "text",
                  "F\\nF: x\\ny\n"
                  "S\\x1bS:\n   Price: 1.0 E\\nR\n"
                  "T\\nT:\n"
                  "   N\\nN (u\\xff)      Value\n"
                  "   a\\nb                  1\n"
                  "   longer than \\xff     22\n");
    assert_writes(report, "markdown",
                  "| | |\n| --- | ---: |\n| F\\\\nF | x\\\\ny |\n\n"
                  "## S\\\\x1bS\n\n| | |\n| --- | ---: |\n| Price | 1.0 E\\\\nR |\n\n"
                  "## T\\\\nT\n\n"
                  "| N\\\\nN (u\\\\xff) | Value |\n| --- | ---: |\n| a\\\\nb | 1 |\n| longer than \\\\xff | 22 |\n\n");
    struct gt_buffer page = {0};
    assert_int_equal(gt_report_write(report, "html", &page, NULL), 0);
    assert_true(gt_utf8_is_valid(page.data));
    assert_non_null(strstr(page.data, "<th scope=\"row\">F\\nF</th><td class=\"t\">x\\ny</td>"));
    assert_non_null(strstr(page.data, "<h2>S\\x1bS</h2>"));
    assert_non_null(strstr(page.data, ">longer than \\xff<"));
    assert_null(strchr(page.data, 0x1b));
    gt_buffer_release(&page);
    gt_report_free(report);
}

TEST(every_format_for_programs_keeps_it)
{
    struct gt_report *report = evil_report();
    assert_writes(report, "json",
                  "{\n \"fact\": \"x\\ny\",\n \"section\": {\n  \"price\": 1.0\n },\n \"table\": [\n"
                  "  {\n   \"name\": \"a\\nb\",\n   \"value\": 1\n  },\n"
                  "  {\n   \"name\": \"longer than \xef\xbf\xbd\",\n   \"value\": 22\n  }\n ]\n}\n");
    assert_writes(report, "csv",
                  "key,value,unit\nfact,\"x\ny\",\nsection.price,1.0,\"E\nR\"\n"
                  "table.0.name,\"a\nb\",u\xef\xbf\xbd\ntable.0.value,1,\n"
                  "table.1.name,longer than \xef\xbf\xbd,u\xef\xbf\xbd\ntable.1.value,22,\n");
    struct gt_buffer pickle = {0};
    assert_int_equal(gt_report_write(report, "pickle", &pickle, NULL), 0);
    static const char text[] = "X\x0f\0\0\0longer than \xef\xbf\xbd";
    assert_non_null(memmem(pickle.data, pickle.length, text, sizeof text - 1));
    gt_buffer_release(&pickle);
    gt_report_free(report);
}
