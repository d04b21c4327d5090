/* Files that appear whole. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "support/folder.h"

static int (*const begins[])(struct gt_new_file *file, const char *path) = {gt_new_file_begin,
                                                                            gt_new_file_begin_unnamed};
static int (*begin)(struct gt_new_file *file, const char *path);

static int make(const char *path, const char *text, bool replace)
{
    struct gt_new_file file;
    int status = begin(&file, path);
    if (status < 0)
        return status;
    assert_int_equal(access(path, F_OK), replace ? 0 : -1);
    assert_int_equal(write(file.fd, text, strlen(text)), strlen(text));
    status = gt_new_file_place(&file, replace);
    if (status == 0)
        close(file.fd);
    return status;
}

static void check(const char *path, const char *expected)
{
    char text[32] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, expected);
    assert_int_equal(folder_count(), 1); /* nothing of the making remains */
}

static void test_files(void **state)
{
    (void)state;
    const char *path = folder_path("a");
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        begin = begins[i];
        assert_int_equal(make(path, "first", false), 0);
        check(path, "first");
        assert_int_equal(make(path, "second", true), 0);
        check(path, "second");
        unlink(path);
    }
}

static void test_what_is_there_stays(void **state)
{
    (void)state;
    struct gt_new_file file;
    const char *path = folder_path("a");
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        begin = begins[i];
        assert_int_equal(begin(&file, path), 0);
        assert_int_equal(make(path, "meanwhile", false), 0);
        assert_int_equal(gt_new_file_place(&file, false), -EEXIST);
        check(path, "meanwhile");
        assert_int_equal(begin(&file, path), 0);
        gt_new_file_drop(&file);
        check(path, "meanwhile");
        unlink(path);
    }
}

static void test_what_is_no_place(void **state)
{
    (void)state;
    struct gt_new_file file;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        begin = begins[i];
        assert_int_equal(begin(&file, folder_path("missing/a")), -ENOENT);
        assert_int_equal(begin(&file, test_folder), 0); /* a folder is in the way */
        assert_int_equal(gt_new_file_place(&file, true), -EISDIR);
        assert_int_equal(folder_count(), 0);
    }
}

/* A killed process leaves nothing. */
static void test_what_has_no_name(void **state)
{
    (void)state;
    struct gt_new_file file;
    int fd = open(test_folder, O_TMPFILE | O_RDWR, 0600);
    if (fd < 0)
        skip();
    close(fd);
    assert_int_equal(gt_new_file_begin_unnamed(&file, folder_path("a")), 0);
    assert_int_equal(folder_count(), 0);
    gt_new_file_drop(&file);
}

static mode_t mode_of(const char *path)
{
    struct stat facts;
    assert_int_equal(lstat(path, &facts), 0);
    return facts.st_mode;
}

static void test_permissions_stay(void **state)
{
    (void)state;
    struct gt_new_file file;
    const char *path = folder_path("a");
    assert_int_equal(gt_new_file_write(path, "first", 5), 0);
    check(path, "first");
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(gt_new_file_begin(&file, path), 0);
    assert_int_equal(mode_of(file.hidden), S_IFREG | 0640);
    gt_new_file_drop(&file);
    assert_int_equal(gt_new_file_write(path, "second", 6), 0);
    check(path, "second");
    assert_int_equal(mode_of(path), S_IFREG | 0640);
    assert_int_equal(chmod(path, 04444), 0); /* who replaces it must be able to write, and no file runs as its owner */
    assert_int_equal(gt_new_file_write(path, "third", 5), 0);
    assert_int_equal(mode_of(path), S_IFREG | 0644);
}

/* The link is replaced, and what it points to stays. */
static void test_links_are_not_followed(void **state)
{
    (void)state;
    char text[32] = "";
    const char *path = folder_path("a"), *other = folder_path("other");
    assert_int_equal(gt_new_file_write(other, "other", 5), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(gt_new_file_write(path, "first", 5), 0);
    assert_true(S_ISREG(mode_of(path)));
    FILE *file = fopen(other, "r");
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "other");
}

/* Rows of 100 bytes, or so long that they fill the page. */
static void test_rows_and_pages(void **state)
{
    (void)state;
    off_t end = 0;
    for (int i = 0; i < 10000; i++) {
        off_t from = end;
        end += 100 + (off_t)gt_file_page_rest(end + 100, 100);
        assert_int_equal(from / GT_PAGE, (end - 1) / GT_PAGE);
    }
    assert_int_equal(gt_file_page_rest(GT_PAGE, 100), 0);
    assert_int_equal(gt_file_page_rest(GT_PAGE - 99, 100), 99);
    assert_int_equal(gt_file_page_rest(GT_PAGE - 1, GT_PAGE + 1), 0); /* such a row crosses whatever is done */
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_files),
        IN_FOLDER(test_what_is_there_stays),
        IN_FOLDER(test_what_is_no_place),
        IN_FOLDER(test_what_has_no_name),
        IN_FOLDER(test_permissions_stay),
        IN_FOLDER(test_links_are_not_followed),
        cmocka_unit_test(test_rows_and_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
