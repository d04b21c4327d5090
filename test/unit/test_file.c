/* Files that are read and written whole, arrays that grow, JSON trees. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/os/file.h"
#include "base/grow.h"
#include "base/json.h"
#include "support/folder.h"
#include "support/test.h"

enum { LARGE = 300000 };

static void write_large(const char *path)
{
    static char bytes[LARGE];
    memset(bytes, 'x', sizeof bytes);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(gt_file_write_all(fd, bytes, sizeof bytes), 0);
    assert_int_equal(gt_file_write_all_at(fd, "yz", 2, LARGE - 1), 0);
    assert_int_equal(close(fd), 0);
}

TEST_WITH(a_file_is_read_up_to_its_ceiling, folder_make, folder_remove)
{
    const char *path = folder_path("large");
    write_large(path);
    static const size_t ceilings[] = {0, LARGE + 1, LARGE + 2, LARGE + 100000};
    for (size_t i = 0; i < sizeof ceilings / sizeof *ceilings; i++) {
        struct gt_buffer text = {.ceiling = ceilings[i]};
        assert_int_equal(gt_given_file_read(path, &text, NULL), 0);
        assert_int_equal(text.length, LARGE + 1);
        assert_string_equal(text.data + LARGE - 2, "xyz");
        gt_buffer_release(&text);
    }
    static const size_t too_small[] = {1, 65536, LARGE};
    for (size_t i = 0; i < sizeof too_small / sizeof *too_small; i++) {
        struct gt_buffer text = {.ceiling = too_small[i]};
        assert_int_equal(gt_given_file_read(path, &text, NULL), -EFBIG);
        gt_buffer_release(&text);
    }
    struct gt_buffer text = {0};
    assert_int_equal(gt_given_file_read(folder_path("missing"), &text, NULL), -ENOENT);
    assert_int_equal(gt_given_file_read(test_folder, &text, NULL), -EISDIR);
    gt_buffer_release(&text);
}

TEST_WITH(an_empty_file_is_an_empty_text, folder_make, folder_remove)
{
    const char *path = folder_path("empty");
    struct gt_buffer text = {.ceiling = 10};
    close(open(path, O_WRONLY | O_CREAT, 0600));
    assert_int_equal(gt_given_file_read(path, &text, NULL), 0);
    assert_string_equal(text.data, "");
    gt_buffer_release(&text);
}

struct pipe_end {
    int fd, status;
    struct gt_buffer text;
};

static void *read_pipe(void *context)
{
    struct pipe_end *end = context;
    end->status = gt_file_read_all(end->fd, &end->text);
    return NULL;
}

/* A pipe takes 64 KiB at a time, so the write and the read both take several calls. */
TEST(a_pipe_takes_it_in_pieces)
{
    static char bytes[LARGE];
    int ends[2];
    pthread_t thread;
    assert_int_equal(pipe(ends), 0);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i % 251);
    struct pipe_end end = {.fd = ends[0]};
    assert_int_equal(pthread_create(&thread, NULL, read_pipe, &end), 0);
    assert_int_equal(gt_file_write_all(ends[1], bytes, sizeof bytes), 0);
    close(ends[1]);
    pthread_join(thread, NULL);
    assert_int_equal(end.status, 0);
    assert_int_equal(end.text.length, sizeof bytes);
    assert_memory_equal(end.text.data, bytes, sizeof bytes);
    close(ends[0]);
    gt_buffer_release(&end.text);
    assert_int_equal(gt_file_write_all(-1, "x", 1), -EBADF);
    assert_int_equal(gt_file_write_all(-1, NULL, 0), 0);
}

TEST(lines_have_a_ceiling)
{
    char text[] = "one\n\nlonger\nlast";
    FILE *file = fmemopen(text, strlen(text), "r");
    struct gt_buffer line = {0};
    assert_int_equal(gt_file_line(file, &line, 5), 1);
    assert_string_equal(line.data, "one\n");
    assert_int_equal(gt_file_line(file, &line, 5), 1);
    assert_string_equal(line.data, "\n");
    assert_int_equal(gt_file_line(file, &line, 5), -EFBIG);
    assert_int_equal(gt_file_line(file, &line, 5), 1);
    assert_int_equal(gt_file_line(file, &line, 5), 1);
    assert_string_equal(line.data, "last");
    assert_int_equal(gt_file_line(file, &line, 5), 0);
    fclose(file);
    gt_buffer_release(&line);
}

struct owner {
    uint32_t *number;
    size_t number_count, number_capacity;
};

TEST(arrays_keep_what_is_in_them)
{
    struct owner owner = {0};
    uint32_t *by_one = NULL;
    for (uint32_t i = 0; i < 1000; i++) {
        *GT_GROW(&owner, number) = i;
        *GT_GROW_BY_ONE(by_one, i) = i;
    }
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(owner.number[i], i);
        assert_int_equal(by_one[i], i);
    }
    assert_int_equal(owner.number_count, 1000);
    assert_int_equal(owner.number_capacity, 1024);
    assert_int_equal(GT_GROW_TO(owner.number, owner.number_capacity, 1025), 0);
    assert_int_equal(owner.number_capacity, 2048);
    assert_int_equal(GT_GROW_TO(owner.number, owner.number_capacity, 3), 0);
    assert_int_equal(owner.number_capacity, 2048);
    assert_int_equal(GT_GROW_TO(owner.number, owner.number_capacity, SIZE_MAX), -ENOMEM);
    assert_int_equal(GT_GROW_TO(owner.number, owner.number_capacity, SIZE_MAX / 4), -ENOMEM);
    assert_int_equal(owner.number[999], 999);
    free(owner.number);
    free(by_one);
}

TEST(a_stream_is_read_value_by_value)
{
    char text[] = "[1] {\"a\": 2}[\"a text that is too long\"]";
    json_error_t trouble;
    FILE *file = fmemopen(text, strlen(text), "r");
    json_t *first = gt_json_read(file, 20, JSON_DISABLE_EOF_CHECK, &trouble),
           *second = gt_json_read(file, 20, JSON_DISABLE_EOF_CHECK, &trouble);
    assert_int_equal(json_integer_value(json_array_get(first, 0)), 1);
    assert_int_equal(json_integer_value(json_object_get(second, "a")), 2);
    assert_null(gt_json_read(file, 20, JSON_DISABLE_EOF_CHECK, &trouble));
    assert_string_equal(trouble.text, "it is longer than 20 bytes");
    fclose(file);
    json_decref(first);
    json_decref(second);
}

/* As a kernel before 5.9 answers. */
static void lose_close_range(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
        _exit(77);
}

/* Without a list: no descriptor is left to open it with. Returns how many of those that should be closed are open. */
static int left_open(bool is_old, bool has_list)
{
    enum { FIRST = 5, COUNT = 40 };
    int left = 0;
    for (int fd = FIRST; fd < FIRST + COUNT; fd++)
        if (dup2(STDIN_FILENO, fd) < 0)
            return -1;
    if (is_old)
        lose_close_range();
    if (!has_list) {
        while (dup(STDIN_FILENO) >= 0)
            continue;
    }
    gt_close_from(FIRST);
    for (int fd = FIRST; fd < FIRST + COUNT; fd++)
        left += fcntl(fd, F_GETFD) >= 0;
    return fcntl(FIRST - 1, F_GETFD) >= 0 ? left : -1;
}

TEST(descriptors_are_closed_by_every_kernel)
{
    for (int way = 0; way < 3; way++) {
        pid_t child = fork();
        if (!child) {
            struct rlimit limit = {64, 64};
            setrlimit(RLIMIT_NOFILE, &limit);
            dup2(STDIN_FILENO, 4);
            _exit(left_open(way > 0, way < 2));
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77)
            skip();
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}
