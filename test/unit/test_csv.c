#include <sys/mman.h>

#include "base/csv.h"
#include "support/test.h"

static int file_of(const char *bytes, size_t length)
{
    int fd = memfd_create("csv", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), length);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

/* The records of `text` as "a|b\n" for each; the error's sentence when there is one. */
static void assert_reads(const char *text, size_t length, const char *expected)
{
    int fd = file_of(text, length);
    struct gt_csv_reader *reader;
    struct gt_error error = {0};
    struct gt_buffer seen = {0};
    char **fields;
    size_t count;
    int status;
    assert_int_equal(gt_csv_open(&reader, fd, "file.csv", &error), 0);
    while ((status = gt_csv_next(reader, &fields, &count, &error)) == 1) {
        for (size_t i = 0; i < count; i++)
            gt_buffer_printf(&seen, "%s%s", i ? "|" : "", fields[i]);
        gt_buffer_text(&seen, gt_csv_is_complete(reader) ? "\n" : "<cut>");
    }
    if (status < 0)
        gt_buffer_printf(&seen, "%s", error.text);
    assert_string_equal(seen.data ? seen.data : "", expected);
    gt_csv_close(reader);
    gt_buffer_release(&seen);
    close(fd);
}

TEST(records_and_fields)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"", ""},
        {"a,b\r\nc,d\r\n", "a|b\nc|d\n"},
        {"a\rb\nc\r\n", "a\nb\nc\n"},
        {"a,\n,b\n,\n", "a|\n|b\n|\n"},
        {"\r\n\na\n\n", "a\n"},
        {"\"a,b\",\"c\"\"d\",\"\"\"\"\n", "a,b|c\"d|\"\n"},
        {"\"a\r\nb\",c\n", "a\r\nb|c\n"},
        {"a\"b,c\"\n", "a\"b|c\"\n"},
        {"a,b\nc", "a|b\nc<cut>"},
        {"a\n\"b,", "a\nfile.csv, line 2: a quoted field has no end"},
        {"x\n\"y\ny\"\n\"z", "x\ny\ny\nfile.csv, line 4: a quoted field has no end"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_reads(rows[i].text, strlen(rows[i].text), rows[i].expected);
    assert_reads("a\nb\0c\n", 6, "a\nfile.csv, line 2: a NUL byte");
}

TEST(records_across_blocks)
{
    struct gt_buffer text = {0}, expected = {0};
    for (int i = 0; i < 30000; i++) {
        gt_buffer_printf(&text, "%d,\"%d,\",x\r\n", i, i * 7);
        gt_buffer_printf(&expected, "%d|%d,|x\n", i, i * 7);
    }
    assert_int_equal(text.failed | expected.failed, 0);
    assert_reads(text.data, text.length, expected.data);
    gt_buffer_release(&text);
    gt_buffer_release(&expected);
}

TEST(a_record_has_a_ceiling)
{
    size_t length = (17u << 20);
    char *text = malloc(length);
    assert_non_null(text);
    memset(text, 'x', length);
    int fd = file_of(text, length);
    struct gt_csv_reader *reader;
    struct gt_error error = {0};
    char **fields;
    size_t count;
    assert_int_equal(gt_csv_open(&reader, fd, "file.csv", &error), 0);
    assert_int_equal(gt_csv_next(reader, &fields, &count, &error), -EFBIG);
    assert_non_null(strstr(error.text, "file.csv, line 1"));
    gt_csv_close(reader);
    close(fd);
    free(text);
}

TEST(what_is_written_reads_back)
{
    static const char *const fields[] = {"plain", "a,b", "a\"b", "a\r\nb", "", " ", "\"", "é,"};
    struct gt_buffer line = {0}, expected = {0};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        gt_buffer_text(&line, i ? "," : "");
        gt_csv_field(&line, fields[i]);
        gt_buffer_printf(&expected, "%s%s", i ? "|" : "", fields[i]);
    }
    gt_buffer_text(&line, "\r\n");
    gt_buffer_text(&expected, "\n");
    assert_reads(line.data, line.length, expected.data);
    gt_buffer_release(&line);
    gt_buffer_release(&expected);
}

static void check_split(const char *line, char separator, size_t count, const char *const expected[])
{
    char copy[64], *field[4];
    snprintf(copy, sizeof copy, "%s", line);
    assert_int_equal(gt_csv_split(copy, separator, field, 4), count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(field[i], expected[i]);
}

TEST(a_line_is_split_in_place)
{
    check_split("a,b", ',', 2, (const char *const[]){"a", "b"});
    check_split("", ',', 1, (const char *const[]){""});
    check_split(",", ',', 2, (const char *const[]){"", ""});
    check_split("1,5;2,5;", ';', 3, (const char *const[]){"1,5", "2,5", ""});
    check_split("\"a,b\",c", ',', 2, (const char *const[]){"a,b", "c"});
    check_split("\"a \"\"b\"\"\", \"c\"d,e", ',', 3, (const char *const[]){"a \"b\"", "cd", "e"});
    check_split("a\"b, c", ',', 2, (const char *const[]){"a\"b", " c"});
    check_split("\"a,b", ',', 1, (const char *const[]){"a,b"});
    check_split("1,2,3,4,5", ',', 4, (const char *const[]){"1", "2", "3", "4"});
}
