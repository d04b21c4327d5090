/* Files that somebody named: what can be read is, and nothing else keeps us waiting. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "support/folder.h"
#include "support/test.h"
#include "support/valgrind.h"

static double now(void)
{
    return (double)gt_clock_monotonic(&gt_clock_system) / 1e9;
}

static void check_text(int fd, const char *text)
{
    char got[64] = "";
    assert_true(fd >= 0);
    assert_int_equal(read(fd, got, sizeof got - 1), strlen(text));
    assert_string_equal(got, text);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
}

static void check_refused(const char *path, int code, const char *words)
{
    struct gt_error error = {0};
    assert_int_equal(gt_given_file_open(path, NULL, &error), -code);
    assert_non_null(strstr(error.text, words));
    assert_int_equal(strncmp(error.text, path, strlen(path)), 0);
}

TEST_WITH(a_file_is_read_and_what_is_none_is_refused, folder_make, folder_remove)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", folder_path("socket"));
    assert_int_equal(bind(listening, (struct sockaddr *)&address, sizeof address), 0);
    folder_put(test_folder, "file", "text");
    check_text(gt_given_file_open(folder_path("file"), NULL, NULL), "text");
    check_refused("/dev/zero", EINVAL, "a device, neither a file nor a pipe");
    check_refused(folder_path("socket"), EINVAL, "a socket, neither a file nor a pipe");
    check_refused(test_folder, EISDIR, "directory");
    check_refused(folder_path("none"), ENOENT, "No such file");
    close(listening);
}

TEST_WITH(one_that_need_not_be_there_leaves_no_error, folder_make, folder_remove)
{
    struct gt_error error = {0};
    assert_int_equal(gt_given_file_open_optional(folder_path("none"), &error), -ENOENT);
    assert_int_equal(error.code, 0);
    assert_int_equal(gt_given_file_open_optional("/dev/zero", &error), -EINVAL);
    assert_int_equal(error.code, EINVAL);
}

TEST_WITH(only_files_are_for_who_opens_by_name, folder_make, folder_remove)
{
    struct gt_error error = {0};
    folder_put(test_folder, "file", "text");
    assert_int_equal(mkfifo(folder_path("pipe"), 0600), 0);
    assert_int_equal(gt_given_file_check(folder_path("file"), &error), 0);
    assert_int_equal(gt_given_file_check(folder_path("pipe"), &error), -EINVAL);
    assert_non_null(strstr(error.text, "a pipe, and no regular file"));
}

/* ---- Pipes ---------------------------------------------------------------------------------------------------- */

struct writing {
    const char *path;
    size_t bytes, written;
    int pause_ms; /* before each of two halves */
};

static void *write_to(void *context)
{
    struct writing *writing = context;
    static char piece[65536];
    int fd = open(writing->path, O_WRONLY | O_CLOEXEC);
    ssize_t put = 1;
    memset(piece, 'x', sizeof piece);
    while (put > 0 && writing->written < writing->bytes) {
        size_t left = writing->bytes - writing->written, length = left < sizeof piece ? left : sizeof piece;
        if (writing->pause_ms)
            nanosleep(&(struct timespec){writing->pause_ms / 1000, writing->pause_ms % 1000 * 1000000L}, NULL);
        put = write(fd, piece, writing->pause_ms ? length / 2 + length % 2 : length);
        writing->written += put > 0 ? (size_t)put : 0;
    }
    close(fd);
    return NULL;
}

static int read_while(struct writing *writing, struct gt_error *error)
{
    pthread_t writer;
    writing->path = folder_path("pipe");
    assert_int_equal(mkfifo(writing->path, 0600), 0);
    assert_int_equal(pthread_create(&writer, NULL, write_to, writing), 0);
    int fd = gt_given_file_open(writing->path, NULL, error);
    pthread_join(writer, NULL);
    assert_int_equal(unlink(writing->path), 0);
    return fd;
}

TEST_WITH(a_pipe_is_read_to_its_end, folder_make, folder_remove)
{
    struct writing slow = {.bytes = 6, .pause_ms = 300}, large = {.bytes = 5 << 20};
    check_text(read_while(&slow, NULL), "xxxxxx");
    int fd = read_while(&large, NULL);
    assert_int_equal(lseek(fd, 0, SEEK_END), 5 << 20);
    close(fd);
}

TEST_WITH(a_pipe_without_end_is_left, folder_make, folder_remove)
{
    SKIP_UNDER_VALGRIND();
    struct gt_error error = {0};
    struct writing endless = {.bytes = SIZE_MAX};
    assert_int_equal(read_while(&endless, &error), -EINVAL);
    assert_non_null(strstr(error.text, "more than 256 MiB"));
    assert_in_range(endless.written, 256 << 20, 258 << 20);
}

TEST_WITH(a_pipe_that_nobody_writes_to_is_left, folder_make, folder_remove)
{
    double begin = now();
    assert_int_equal(mkfifo(folder_path("pipe"), 0600), 0);
    check_refused(folder_path("pipe"), EINVAL, "nothing more was written to this pipe within 5 seconds");
    int writer = open(folder_path("pipe"), O_RDWR | O_CLOEXEC);
    check_refused(folder_path("pipe"), EINVAL, "nothing more was written");
    close(writer);
    assert_true(now() - begin >= 9.9 && now() - begin < 60);
}

static int ignore_closed_pipes(void **state)
{
    (void)state;
    return signal(SIGPIPE, SIG_IGN) == SIG_ERR;
}

ALL_TESTS(ignore_closed_pipes, NULL);
