#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/program.h"
#include "base/file.h"
#include "gpu_tracker.h"
#include "message.h"
#include "option.h"

enum { PATIENCE = 60 };

static void say_result(const struct gt_push_result *result, const char *address)
{
    say("push: %zu of %zu recordings are at %s; %llu rows were sent in %llu requests, %.1f MB", result->shipped,
        result->recordings, address, result->rows, result->requests, (double)result->bytes / 1e6);
}

static volatile sig_atomic_t is_stopped;

static void stop(int number)
{
    (void)number;
    is_stopped = 1;
}

/* Whoever started the tracker may wait for all that holds its standard error. */
static void be_silent(void *context)
{
    (void)context;
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd >= 0)
        dup2(fd, STDERR_FILENO);
}

static int follow(const struct options *options, int count, char **operands)
{
    struct gt_error error = {0};
    const struct gt_push_request request = {
        .files = {options->netrc_file, options->token_file}, .warn = say_warning, .settled = be_silent};
    if (count != 2)
        return say_usage("push: --follow takes one folder and the address of a server");
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    int status = gt_engine_follow(operands[0], operands[1], &request, &is_stopped, &error);
    return status < 0 ? say_failure(status, &error) : 0;
}

struct paths {
    char **path;
    size_t count;
};

static int add_path(void *context, const char *path, struct gt_error *error)
{
    (void)error;
    struct paths *paths = context;
    char **grown = reallocarray(paths->path, paths->count + 1, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    paths->path = grown;
    paths->path[paths->count] = strdup(path);
    return paths->path[paths->count++] ? 0 : -ENOMEM;
}

/* A folder stands for the recordings in it. */
static int add_operand(struct paths *paths, const char *path, struct gt_error *error)
{
    if (!gt_is_folder(path))
        return add_path(paths, path, error);
    int count = gt_folder_recordings(path, add_path, paths, error);
    if (!count) {
        snprintf(error->text, sizeof error->text, "%s: there is no recording in this folder", path);
        return -EINVAL;
    }
    return count < 0 ? count : 0;
}

static int push(const char *address, const struct paths *paths, const struct gt_push_request *request,
                struct gt_error *error)
{
    struct gt_push_result result = {0};
    int status = gt_engine_push((const char *const *)paths->path, paths->count, address, request, &result, error);
    if (result.recordings)
        say_result(&result, address);
    return status < 0 ? status : result.shipped < result.recordings;
}

static int run(const struct options *options, int count, char **operands)
{
    struct gt_error error = {0};
    struct paths paths = {0};
    const char *address = operands[count - 1];
    struct gt_push_request request = {
        .files = {options->netrc_file, options->token_file},
        .patience = options->given[OPTION_NUMBER_patience] ? options->patience : PATIENCE,
        .warn = say_warning,
    };
    if (options->follow)
        return follow(options, count, operands);
    if (count < 2)
        return say_usage("push: FILE|FOLDER... and the address of a server, clickhouse://HOST/DATABASE");
    int status = 0;
    for (int i = 0; i < count - 1 && status >= 0; i++)
        status = add_operand(&paths, operands[i], &error);
    if (status >= 0)
        status = push(address, &paths, &request, &error);
    for (size_t i = 0; i < paths.count; i++)
        free(paths.path[i]);
    free(paths.path);
    return status < 0 ? say_failure(status, &error) : status ? EXIT_TRACKER : 0;
}

const struct command command_push = {
    .name = "push",
    .synopsis = "FILE|FOLDER... URL",
    .summary = "Send recordings to a ClickHouse server, each row once",
    .description =
        "URL is clickhouse://[USER@]HOST[:PORT]/DATABASE[/JOB][?OPTION=VALUE&...], with clickhouses:// for TLS. Without JOB a "
        "recording has the name of the job that it was made in. Options: ca=FILE, the certificates that are trusted. A password is read "
        "from ~/.netrc, or --netrc-file; --token-file is for what stands before a server.\n\n"
        "A folder stands for the recordings in it. The server is asked what it has, and gets the rest; in the end rows are counted. So the same line may be typed again after "
        "anything that went wrong, and for a recording that has grown. The status is 0 when the server has everything.\n\n"
        "With --follow, which run --tf URL starts, FILE is a folder: what is recorded there is sent as it grows, and removed when the server "
        "has all of it. Options of the address for this: flush=SECONDS (60), and keep=1, which puts it into the folder sent instead.",
    .operand = OPERAND_FILE,
    .least = 1,
    .most = -1,
    .run = run,
};
