#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/program.h"
#include "gpu_tracker.h"
#include "message.h"
#include "option.h"
#include "output.h"

static int print_statements(const struct options *options, struct output *output, const char *address)
{
    const struct gt_login_files files = {options->netrc_file, options->token_file};
    struct gt_error error = {0};
    char *sql = NULL;
    int status = gt_engine_schema(address, &files, options->create, &sql, &error);
    if (status < 0)
        return say_failure(status, &error);
    status = output_text(output, sql, strlen(sql));
    free(sql);
    return status;
}

static int check(const struct options *options, int count, char **operands)
{
    if (count && !options->sql)
        return say_usage("schema: unexpected argument '%s': a server is asked with --sql", operands[0]);
    if (options->create && (!options->sql || !count))
        return say_usage("schema: --create needs --sql and the address of a server");
    if (options->sql && options->format)
        return say_usage("schema: --sql prints statements, and has no other format");
    return 0;
}

static int run(const struct options *options, int count, char **operands)
{
    struct output output;
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    int status = check(options, count, operands);
    if (!status)
        status = output_prepare(&output, options, STDOUT_FILENO);
    if (status)
        return status;
    if (options->sql)
        return print_statements(options, &output, count ? operands[0] : NULL);
    status = gt_schema_report(&report, &error);
    return output_result(&output, status, report, &error);
}

const struct command command_schema = {
    .name = "schema",
    .synopsis = "[URL]",
    .summary = "List the metrics, and the columns of tracking files and of servers",
    .description =
        "With --sql the statements that make the tables of a ClickHouse server, for its administrator, who may add to them. URL is "
        "clickhouse://[USER@]HOST[:PORT]/DATABASE, and clickhouses:// where the server is asked by TLS.",
    .operand = OPERAND_NONE,
    .most = 1,
    .run = run,
};
