/* push, and the process that pushes what run and attach record for a server. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/os/rank.h"
#include "job/track.h"
#include "engine/push.h"
#include "engine/spool.h"
#include "engine/tables.h"
#include "gpu_tracker.h"
#include "message.h"
#include "option.h"

enum { PATIENCE = 60 };

static void say_result(const struct gt_push_figures *result, const char *address)
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

/* Closes standard error: the parent of the tracker may wait for its end. */
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
    const struct gt_login_files files = {options->netrc_file, options->token_file};
    const struct gt_push_options request = {
        .files = &files, .is_live = true, .warn = say_warning, .settled = be_silent};
    if (count != 2)
        return say_usage("push: --follow takes one folder and the address of a server");
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    int status = gt_push_follow(operands[0], operands[1], &request, &is_stopped, &error);
    return status < 0 ? say_failure(status, &error) : 0;
}

/* Creates the tables of a server and prints the statements; with --explain they are only printed, for a current
 * server. */
static int init(const struct options *options, int count, char **operands)
{
    const struct gt_login_files files = {options->netrc_file, options->token_file};
    struct gt_error error = {0};
    struct gt_address address;
    struct gt_server *server = NULL;
    struct gt_buffer sql = {0};
    if (count > 1 || (!count && !options->explain))
        return say_usage(
            "push: --init takes the address of one server, as in gpu-tracker push --init clickhouse://HOST/DATABASE");
    int status = count ? gt_address_read(&address, operands[0], &error) : 0;
    if (status >= 0 && !options->explain)
        status = gt_server_open(&server, &address, &files, &error);
    if (server)
        gt_server_watch(server);
    if (status >= 0)
        status = gt_engine_make(&sql, server, &error);
    if (status >= 0)
        fputs(sql.data, stdout);
    gt_server_close(server);
    gt_buffer_release(&sql);
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

/* A folder means all recordings in it. */
static int add_operand(struct paths *paths, const char *path, struct gt_error *error)
{
    if (!gt_is_folder(path))
        return add_path(paths, path, error);
    int count = gt_folder_recordings(path, add_path, paths, error);
    if (!count) {
        snprintf(error->text, sizeof error->text, "%s: no recording in this folder", path);
        return -EINVAL;
    }
    return count < 0 ? count : 0;
}

static int push(const struct options *options, const char *address, const struct paths *paths, struct gt_error *error)
{
    const struct gt_login_files files = {options->netrc_file, options->token_file};
    const struct gt_push_options wanted = {.files = &files, .warn = say_warning};
    double patience = options->given[OPTION_NUMBER_patience] ? options->patience : PATIENCE;
    struct gt_push_figures result = {0};
    int status = gt_push_files((const char *const *)paths->path, paths->count, address, &wanted, patience, &result,
                               error);
    if (result.recordings)
        say_result(&result, address);
    return status < 0 ? status : result.shipped < result.recordings;
}

static int run(const struct options *options, int count, char **operands)
{
    struct gt_error error = {0};
    struct paths paths = {0};
    const char *address = count ? operands[count - 1] : NULL;
    if (options->init)
        return init(options, count, operands);
    if (options->explain)
        return say_usage("push: --explain needs --init");
    if (options->follow)
        return follow(options, count, operands);
    if (!count)
        return say_usage(
            "push: a recording and the address of a server are missing, as in gpu-tracker push run.sqlite clickhouse://HOST/DATABASE");
    if (count < 2 && gt_is_address(address))
        return say_usage("push: a recording is missing, as in gpu-tracker push run.sqlite %s", address);
    if (count < 2)
        return say_usage(
            "push: the address of a server is missing, as in gpu-tracker push %s clickhouse://HOST/DATABASE", address);
    int status = 0;
    for (int i = 0; i < count - 1 && status >= 0; i++)
        status = add_operand(&paths, operands[i], &error);
    if (status >= 0)
        status = push(options, address, &paths, &error);
    for (size_t i = 0; i < paths.count; i++)
        free(paths.path[i]);
    free(paths.path);
    return status < 0 ? say_failure(status, &error) : status ? EXIT_TRACKER : 0;
}

const struct command command_push = {
    .name = "push",
    .synopsis = "FILE|FOLDER... URL",
    .summary = "Send recordings to a ClickHouse server",
    .description =
        "URL is clickhouse://[USER@]HOST[:PORT]/DATABASE[/JOB][?OPTION=VALUE&...], with clickhouses:// for TLS. Without JOB, a recording keeps the name of its own job. ca=FILE names the trusted certificates. The password is read from ~/.netrc or --netrc-file. --token-file is for a proxy before the server.\n\n"
        "A folder means all recordings in it. Each row is stored once: push asks the server which rows it has, sends the others, and counts the rows at the end. Repeat the command after an error, or for a recording that has grown. The status is 0 if the server has all rows.\n\n"
        "With --init, it creates the missing tables of URL.\n\n"
        "With --follow, which run --tf URL starts, FILE is a folder: recordings are sent while they grow, and removed when the server has them. Options in the address: flush=SECONDS (60), and keep=1, which moves them to the folder sent instead.",
    .operand = OPERAND_FILE,
    .most = -1,
    .run = run,
};

enum { NICENESS = 10 };

struct ship {
    struct gt_spool spool;
    const char *netrc_file, *token_file;
    int shipper; /* a pipe that ends with the sending process; -1: none */
};

static void become_shipper(const struct ship *ship, const struct options *options, int life)
{
    char *words[12] = {"gpu-tracker", "push", "--follow", (char *)ship->spool.folder, (char *)ship->spool.url};
    size_t count = 5;
    if (options->netrc_file) {
        words[count++] = "--netrc-file";
        words[count++] = (char *)options->netrc_file;
    }
    if (options->token_file) {
        words[count++] = "--token-file";
        words[count++] = (char *)options->token_file;
    }
    int fd = open("/dev/null", O_RDWR);
    dup2(fd, STDIN_FILENO);
    dup2(fd, STDOUT_FILENO);
    setpriority(PRIO_PROCESS, 0, NICENESS);
    if (life != STDERR_FILENO + 1)
        dup2(life, STDERR_FILENO + 1);
    fcntl(STDERR_FILENO + 1, F_SETFD, 0); /* it stays open as long as this process lives */
    gt_close_from(STDERR_FILENO + 2);
    execv("/proc/self/exe", words);
    _exit(EXIT_TRACKER);
}

/* Forks twice, so that init adopts the sender. */
static void start(struct ship *ship, const struct options *options)
{
    int life[2] = {-1, -1};
    ship->shipper = pipe2(life, O_CLOEXEC) < 0 ? -1 : life[0];
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        if (fork() == 0)
            become_shipper(ship, options, life[1]);
        _exit(0);
    }
    if (pid < 0)
        say("the recording is not sent while it is made: %s", strerror(errno));
    else
        waitpid(pid, NULL, 0);
    if (life[1] >= 0)
        close(life[1]);
}

/* Launchers end all ranks of a job when one of them fails. What is kept with a recording is not asked for then,
 * either. */
static int do_without(struct options *options, const struct gt_error *error)
{
    say("nothing is recorded: %s", error->text);
    options->tracking_file = NULL;
    options->blocks = false;
    options->blocks_from = NULL;
    options->blocks_memory = NULL;
    options->python_blocks.count = 0;
    return 0;
}

int ship_begin(struct ship **ret, struct options *options)
{
    struct gt_error error = {0};
    *ret = NULL;
    if (!options->tracking_file || !gt_is_address(options->tracking_file))
        return 0;
    struct ship *ship = calloc(1, sizeof *ship);
    int status = ship ? gt_spool_begin(&ship->spool, options->tracking_file, &error) : -ENOMEM;
    if (status < 0) {
        free(ship);
        bool is_dispensable = exit_status_of(status) != EXIT_USAGE && !options->strict_recording;
        return is_dispensable && gt_rank_has_others() ? do_without(options, &error) : say_failure(status, &error);
    }
    options->tracking_file = ship->spool.recording;
    ship->netrc_file = options->netrc_file;
    ship->token_file = options->token_file;
    start(ship, options);
    *ret = ship;
    return 0;
}

const char *ship_address(const struct ship *ship)
{
    return ship ? ship->spool.url : NULL;
}

/* The line to be typed logs in as this process did. */
static void say_unsent(const struct ship *ship, const char *saved)
{
    const char *netrc = ship->netrc_file, *token = ship->token_file, *end = "' ";
    say("the recording is not on the server yet; send it with: gpu-tracker push %s%s%s%s%s%s%s '%s'",
        netrc ? "--netrc-file '" : "", netrc ? netrc : "", netrc ? end : "", token ? "--token-file '" : "",
        token ? token : "", token ? end : "", saved, ship->spool.url);
}

void ship_end(struct ship *ship)
{
    char saved[PATH_MAX];
    struct gt_error error = {0};
    if (!ship)
        return;
    gt_spool_end(&ship->spool);
    bool is_sent = gt_spool_wait(&ship->spool, ship->spool.address.wait, ship->shipper);
    int status = is_sent ? 0 : gt_spool_save(&ship->spool, saved, sizeof saved, &error);
    if (status < 0)
        say("the recording is not on the server, and stays in %s: %s", ship->spool.folder, error.text);
    else if (!is_sent)
        say_unsent(ship, saved);
    if (ship->shipper >= 0)
        close(ship->shipper);
    free(ship);
}
