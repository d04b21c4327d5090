#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "api/program.h"
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

static int run(const struct options *options, int count, char **operands)
{
    struct gt_error error = {0};
    struct gt_push_result result = {0};
    const char *address = operands[count - 1];
    struct gt_push_request request = {
        .files = {options->netrc_file, options->token_file},
        .patience = options->given[OPTION_NUMBER_patience] ? options->patience : PATIENCE,
        .warn = say_warning,
    };
    if (options->follow)
        return follow(options, count, operands);
    if (count < 2)
        return say_usage("push: FILE... and the address of a server, clickhouse://HOST/DATABASE");
    int status = gt_engine_push((const char *const *)operands, (size_t)count - 1, address, &request, &result, &error);
    if (result.recordings)
        say_result(&result, address);
    if (status < 0)
        return say_failure(status, &error);
    return result.shipped < result.recordings ? EXIT_TRACKER : 0;
}

const struct command command_push = {
    .name = "push",
    .synopsis = "FILE... URL",
    .summary = "Send recordings to a ClickHouse server, each row once",
    .description =
        "URL is clickhouse://[USER@]HOST[:PORT]/DATABASE[/JOB][?OPTION=VALUE&...], with clickhouses:// for TLS. Without JOB a "
        "recording has the name of the job that it was made in. Options: ca=FILE, the certificates that are trusted. A password is read "
        "from ~/.netrc, or --netrc-file; --token-file is for what stands before a server.\n\n"
        "The server is asked what it has, and gets the rest; in the end rows are counted. So the same line may be typed again after "
        "anything that went wrong, and for a recording that has grown. The status is 0 when the server has everything.\n\n"
        "With --follow, which run --tf URL starts, FILE is a folder: what is recorded there is sent as it grows, and removed when the server "
        "has all of it. Options of the address for this: flush=SECONDS (60), and keep=1, which puts it into the folder sent instead.",
    .operand = OPERAND_FILE,
    .least = 1,
    .most = -1,
    .run = run,
};
