/* Files that appear whole. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/os/file.h"
#include "support/folder.h"
#include "support/test.h"

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

TEST_WITH(test_files, folder_make, folder_remove)
{
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

TEST_WITH(test_what_is_there_stays, folder_make, folder_remove)
{
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

TEST_WITH(test_what_is_no_place, folder_make, folder_remove)
{
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
TEST_WITH(test_what_has_no_name, folder_make, folder_remove)
{
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

TEST_WITH(test_permissions_stay, folder_make, folder_remove)
{
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
TEST_WITH(test_links_are_not_followed, folder_make, folder_remove)
{
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
TEST(test_rows_and_pages)
{
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
