#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/file.h"
#include "gpu_tracker.h"
#include "http.h"
#include "message.h"
#include "option.h"

static void print_warning(void *context, const char *sentence)
{
    const struct options *options = context;
    if (!options->disable_logs)
        say("%s", sentence);
}

static int read_pids(const struct option_list *words, pid_t **ret)
{
    pid_t *pids = calloc(words->count + 1, sizeof *pids);
    if (!pids)
        return -ENOMEM;
    for (size_t i = 0; i < words->count; i++) {
        if (option_pid(words->value[i], &pids[i]))
            continue;
        free(pids);
        return say_usage("--pid %s: not a process number", words->value[i]);
    }
    *ret = pids;
    return 0;
}

static int open_exporter(struct gt_exporter **ret, const struct options *options)
{
    struct gt_exporter_options settings = GT_INIT(struct gt_exporter_options);
    struct gt_error error = {0};
    pid_t *pids = NULL;
    int status = read_pids(&options->pid, &pids);
    if (status)
        return status;
    settings.pids = pids;
    settings.pid_count = options->pid.count;
    settings.all_processes = options->all_processes;
    settings.slurm = options->slurm;
    settings.most = options->max_jobs;
    settings.sleep_time = options->sleep_time;
    settings.aipowermeter = options->compat != NULL;
    settings.gpu_brand = options->gpu_brand;
    settings.memory = options->memory;
    settings.idle = options->idle;
    settings.machine_root = options->root;
    settings.libraries = options->library.value;
    settings.warn = print_warning;
    settings.context = (void *)options;
    status = gt_exporter_open(ret, &settings, &error);
    free(pids);
    return status < 0 ? say_failure(status, &error) : 0;
}

/* Enough descriptors for those kept of each process and for all connections. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* For its library, who listens, who waits and the first visitor. */
static int check_descriptors(void)
{
    enum { LEAST = 4 };
    struct gt_reserve reserve;
    size_t left = gt_reserve_take(&reserve, LEAST);
    gt_reserve_release(&reserve, 0);
    if (left == LEAST)
        return 0;
    say("serve: descriptors are short (ulimit -n): %zu are left, and it takes %d more", left, LEAST);
    return EXIT_TRACKER;
}

static int run(const struct options *options, int count, char **operands)
{
    (void)count;
    (void)operands;
    struct gt_exporter *exporter = NULL;
    struct http_settings settings = {
        .listen = options->listen ? options->listen : "127.0.0.1:9417",
        .token_file = options->token_file,
        .tls_cert = options->tls_cert,
        .tls_key = options->tls_key,
    };
    signal(SIGPIPE, SIG_IGN); /* a client that leaves is none of our business */
    raise_descriptors();
    int status = open_exporter(&exporter, options);
    if (!status)
        status = check_descriptors();
    if (!status)
        status = http_serve(&settings, exporter);
    gt_exporter_close(exporter);
    return status;
}

const struct command command_serve = {
    .name = "serve",
    .synopsis = "",
    .summary = "Serve metrics to Prometheus, and live pages of running jobs",
    .description =
        "Answers at http://127.0.0.1:9417/metrics in OpenMetrics 1.0 or the text format 0.0.4, as the client requests. By default it exports the machine and its GPUs; --pid, --all and --slurm add processes and jobs. A request takes a new sample if the last one is older than --sleep-time. Missing values have no line.\n\n"
        "/ lists the running recorded jobs of this user with their memory, CPU, GPU use and state. /job/PID is the page of one, updated until its end. Without a token only programs of the same user can read these pages.\n\n"
        "An address that other machines can reach needs --token-file, and should have --tls-cert and --tls-key. SIGINT and SIGTERM end it with status 0. docs/cluster.md lists names and labels and has a unit for systemd.",
    .operand = OPERAND_NONE,
    .run = run,
};
