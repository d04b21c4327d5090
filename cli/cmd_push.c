#include <stdio.h>

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
        "URL is clickhouse://[USER@]HOST[:PORT]/DATABASE[/JOB][?OPTION=VALUE&...], with clickhouses:// for TLS. Without JOB a recording has "
        "the name of the job that it was made in. Options: ca=FILE, the certificates that are trusted. A password is read from ~/.netrc, or "
        "--netrc-file; --token-file is for what stands before a server.\n\n"
        "The server is asked what it has, and gets the rest; in the end rows are counted. So the same line may be typed again after "
        "anything that went wrong, and for a recording that has grown. The status is 0 when the server has everything.",
    .operand = OPERAND_FILE,
    .least = 1,
    .most = -1,
    .run = run,
};
