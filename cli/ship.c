#include "ship.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/program.h"
#include "base/file.h"
#include "base/rank.h"
#include "message.h"

enum { NICENESS = 10 };

struct ship {
    struct gt_spool *spool;
    const char *netrc_file, *token_file;
    int shipper; /* a pipe that ends with the process that sends; -1: nothing tells */
};

static void become_shipper(const struct ship *ship, const struct options *options, int life)
{
    char *words[12] = {"gpu-tracker", "push", "--follow", (char *)gt_engine_spool_folder(ship->spool),
                       (char *)gt_engine_spool_address(ship->spool)};
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

/* Its parent ends at once: it is nobody's child. */
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

/* Launchers end all ranks of a job when one of them fails. What is kept with a recording is not asked for then, either. */
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
    int has_job;
    struct gt_error error = {0};
    *ret = NULL;
    if (!options->tracking_file || !gt_server_is_address(options->tracking_file, &has_job))
        return 0;
    struct ship *ship = calloc(1, sizeof *ship);
    int status = ship ? gt_engine_spool_open(&ship->spool, options->tracking_file, &error) : -ENOMEM;
    if (status < 0) {
        free(ship);
        bool is_dispensable = exit_status_of(status) != EXIT_USAGE && !options->strict_recording;
        return is_dispensable && gt_rank_has_others() ? do_without(options, &error) : say_failure(status, &error);
    }
    options->tracking_file = (char *)gt_engine_spool_recording(ship->spool);
    ship->netrc_file = options->netrc_file;
    ship->token_file = options->token_file;
    start(ship, options);
    *ret = ship;
    return 0;
}

const char *ship_address(const struct ship *ship)
{
    return ship ? gt_engine_spool_address(ship->spool) : NULL;
}

/* The line to be typed logs in as this process did. */
static void say_unsent(const struct ship *ship, const char *saved)
{
    const char *netrc = ship->netrc_file, *token = ship->token_file, *end = "' ";
    say("the recording is not on the server yet; send it with: gpu-tracker push %s%s%s%s%s%s%s '%s'",
        netrc ? "--netrc-file '" : "", netrc ? netrc : "", netrc ? end : "", token ? "--token-file '" : "",
        token ? token : "", token ? end : "", saved, gt_engine_spool_address(ship->spool));
}

void ship_end(struct ship *ship)
{
    char saved[PATH_MAX];
    struct gt_error error = {0};
    if (!ship)
        return;
    int status = gt_engine_spool_end(ship->spool, ship->shipper, saved, sizeof saved, &error);
    if (status < 0)
        say("the recording is not on the server, and stays in %s: %s", gt_engine_spool_folder(ship->spool), error.text);
    else if (status == 0)
        say_unsent(ship, saved);
    if (ship->shipper >= 0)
        close(ship->shipper);
    gt_engine_spool_close(ship->spool);
    free(ship);
}
