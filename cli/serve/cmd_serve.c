/* serve: a text of metrics for Prometheus, and pages of jobs. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zlib.h>

#include "base/os/clock.h"
#include "base/number.h"
#include "gpu_tracker.h"
#include "serve/http.h"
#include "message.h"
#include "option.h"
#include "job/launch.h"

#if __has_include(<microhttpd.h>)
enum { CONNECTIONS = 512, IDLE_SECONDS = 10, REQUEST = 8192 };

#define FUNCTION(name) GT_SYMBOL(functions, name, "MHD_" #name, true)
static const struct gt_symbol symbols[] = {
    FUNCTION(start_daemon),
    FUNCTION(stop_daemon),
    FUNCTION(get_daemon_info),
    FUNCTION(get_connection_info),
    FUNCTION(get_timeout),
    FUNCTION(run),
    FUNCTION(lookup_connection_value),
    FUNCTION(create_response_from_buffer),
    FUNCTION(create_response_from_callback),
    FUNCTION(add_response_header),
    FUNCTION(queue_response),
    FUNCTION(destroy_response),
    FUNCTION(is_feature_supported),
    FUNCTION(suspend_connection),
    FUNCTION(resume_connection),
};

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

enum MHD_Result http_send(const struct http *http, struct MHD_Connection *connection, unsigned status,
                          struct MHD_Response *response, const struct http_field *headers)
{
    if (!response)
        return MHD_NO;
    http->mhd.add_response_header(response, "Connection", "close");
    for (; headers->name; headers++)
        http->mhd.add_response_header(response, headers->name, headers->value);
    enum MHD_Result result = http->mhd.queue_response(connection, status, response);
    http->mhd.destroy_response(response);
    return result;
}

enum MHD_Result http_answer(const struct http *http, struct MHD_Connection *connection, unsigned status,
                            const char *text, const char *header, const char *value)
{
    const struct http_field headers[] = {{"Content-Type", "text/plain;charset=utf-8"}, {header, value}, {NULL, NULL}};
    return http_send(
        http, connection, status,
        http->mhd.create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY), headers);
}

const char *http_header(const struct http *http, struct MHD_Connection *connection, const char *name)
{
    return http->mhd.lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* ---- Metrics ----------------------------------------------------------------------------------------------------- */

static const struct form {
    const char *type, *version; /* in the header; version NULL: any */
    const char *content_type;
    enum gt_exposition form;
} forms[] = {
    {"application/openmetrics-text", "1.0.0", "application/openmetrics-text;version=1.0.0;charset=utf-8",
     GT_EXPOSITION_OPENMETRICS},
    {"application/openmetrics-text", "0.0.1", "application/openmetrics-text;version=0.0.1;charset=utf-8",
     GT_EXPOSITION_OPENMETRICS},
    {"text/plain", NULL, "text/plain;version=0.0.4;charset=utf-8", GT_EXPOSITION_TEXT},
};
enum { FORMS = sizeof forms / sizeof *forms };

/* The value of a parameter ";name=value" within a range of media ("text/plain;version=0.0.4;q=0.5"), or NULL. */
static const char *parameter(const char *range, size_t length, const char *name)
{
    size_t letters = strlen(name);
    for (const char *at = memchr(range, ';', length); at; at = memchr(at, ';', length - (size_t)(at - range))) {
        at++;
        at += strspn(at, " \t");
        if ((size_t)(at - range) + letters < length && !strncasecmp(at, name, letters) && at[letters] == '=')
            return at + letters + 1;
    }
    return NULL;
}

/* The quality from 0 to 1 that a range of media gives a form. */
static double quality_of(const char *range, size_t length, const struct form *form)
{
    const char *quality = parameter(range, length, "q"), *version = parameter(range, length, "version");
    size_t type = strlen(form->type);
    if (length < type || strncasecmp(range, form->type, type) || (range[type] && strchr("/-+", range[type])))
        return 0;
    if (version && form->version && strncmp(version + (*version == '"'), form->version, strlen(form->version)) != 0)
        return 0;
    double value = quality ? strtod(quality, NULL) : 1;
    return value > 0 && value <= 1 ? value : value > 1 ? 1 : 0;
}

/* The form that an Accept header wants most, of equal ones the earlier of the table. The last one is also for browsers and the like. */
static const struct form *accepted_form(const char *header)
{
    double best = 0;
    int chosen = FORMS - 1;
    for (const char *at = header ? header : ""; *at;) {
        at += strspn(at, ", \t");
        size_t length = strcspn(at, ",");
        for (int i = 0; i < FORMS; i++) {
            double value = quality_of(at, length, &forms[i]);
            if (value > best || (value == best && value > 0 && i < chosen)) {
                best = value;
                chosen = i;
            }
        }
        at += length;
    }
    return &forms[chosen];
}

/* "gzip;q=0" means that it is not wanted (RFC 9110, 12.5.3). */
static bool wants_gzip(const char *header)
{
    for (const char *item = header; item; item = strchr(item, ',')) {
        item += strspn(item, ", \t");
        size_t name = strcspn(item, ";, \t"), length = strcspn(item, ",");
        if ((name == 4 && !strncasecmp(item, "gzip", 4)) || (name == 6 && !strncasecmp(item, "x-gzip", 6))) {
            const char *quality = memmem(item, length, "q=", 2);
            return !quality || strtod(quality + 2, NULL) > 0;
        }
    }
    return false;
}

/* The text in gzip's form (RFC 1952), which for many groups is a tenth as long; NULL without memory. */
static char *gzip(const char *text, size_t length, size_t *ret_length)
{
    enum { GZIP_FRAME = 16, FAST = 1, MEMORY = 8 };
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)text, .avail_in = (uInt)length};
    if (deflateInit2(&stream, FAST, Z_DEFLATED, MAX_WBITS + GZIP_FRAME, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    size_t room = deflateBound(&stream, length);
    char *packed = malloc(room);
    stream.next_out = (unsigned char *)packed;
    stream.avail_out = (uInt)room;
    bool is_whole = packed && deflate(&stream, Z_FINISH) == Z_STREAM_END;
    *ret_length = stream.total_out;
    deflateEnd(&stream);
    if (is_whole)
        return packed;
    free(packed);
    return NULL;
}

static void drop_texts(const struct http *http, struct MHD_Response *response[PACKINGS])
{
    for (int packing = 0; packing < PACKINGS; packing++) {
        if (response[packing])
            http->mhd.destroy_response(response[packing]);
        response[packing] = NULL;
    }
}

static struct MHD_Response *make_metrics(const struct http *http, const char *type, int packing, const char *text,
                                         size_t length)
{
    char *packed = packing == GZIP ? gzip(text, length, &length) : NULL;
    if (packing == GZIP && !packed)
        return NULL;
    struct MHD_Response *response = http->mhd.create_response_from_buffer(
        length, packed ? packed : (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    free(packed);
    if (!response)
        return NULL;
    http->mhd.add_response_header(response, "Connection", "close");
    http->mhd.add_response_header(response, "Content-Type", type);
    http->mhd.add_response_header(response, "Vary", "Accept, Accept-Encoding");
    if (packing == GZIP)
        http->mhd.add_response_header(response, "Content-Encoding", "gzip");
    return response;
}

/* One response for all connections until there is another text, so that slow readers share one copy. */
static enum MHD_Result answer_metrics(struct http *http, struct MHD_Connection *connection)
{
    const struct form *form = accepted_form(http_header(http, connection, "Accept"));
    int packing = wants_gzip(http_header(http, connection, "Accept-Encoding")) ? GZIP : PLAIN;
    struct MHD_Response **response = http->text[form->form];
    const char *text = NULL;
    size_t length = 0;
    struct gt_error error = {0};
    int status = gt_exporter_text(http->exporter, form->form, &text, &length, &error);
    if (status < 0) {
        char complaint[sizeof error.text + 2];
        snprintf(complaint, sizeof complaint, "%s\n", error.text);
        return http_answer(http, connection, MHD_HTTP_INTERNAL_SERVER_ERROR, complaint, NULL, NULL);
    }
    if (status > 0)
        drop_texts(http, response);
    if (!response[packing])
        response[packing] = make_metrics(http, form->content_type, packing, text, length);
    return response[packing] ? http->mhd.queue_response(connection, MHD_HTTP_OK, response[packing]) : MHD_NO;
}

/* ---- Connections ------------------------------------------------------------------------------------------------- */

/* Half of the descriptors are for samples and pages. */
static unsigned connections_of(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 2 > CONNECTIONS)
        return CONNECTIONS;
    return (unsigned)(limit.rlim_cur / 2);
}

static void note(void *context, struct MHD_Connection *connection, void **memory,
                 enum MHD_ConnectionNotificationCode code)
{
    const struct http *http = context;
    (void)memory;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED)
        pages_forget(http->pages, connection);
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **memory)
{
    struct http *http = context;
    (void)version;
    (void)upload;
    bool is_get = !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);
    if (is_get && !*memory) { /* only the header has come; a body is not wanted */
        *memory = http;
        return MHD_YES;
    }
    if (*upload_size)
        return MHD_NO;
    bool is_scrape = !strcmp(path, "/metrics");
    if (http->has_token && !http_token_is(&http->token, http_header(http, connection, "Authorization")))
        return http_answer(http, connection, MHD_HTTP_UNAUTHORIZED, "a token is needed\n", "WWW-Authenticate",
                           is_scrape ? "Bearer" : "Basic realm=\"gpu-tracker: any name, and the token as password\"");
    if (!is_get)
        return http_answer(http, connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n", "Allow", "GET, HEAD");
    return is_scrape ? answer_metrics(http, connection) : pages_answer(http, connection, path);
}

/* ---- Messages for systemd: sd_notify(3), NOTIFY_SOCKET and WATCHDOG_USEC ------------------------------------------- */

struct notify {
    struct sockaddr_un address;
    unsigned length;          /* of the address; 0: nobody asks */
    int64_t every_ns, due_ns; /* of signs of life; 0: none are wanted */
};

static void send_text(const struct notify *notify, const char *text)
{
    int fd = notify->length ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0)
        return;
    sendto(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&notify->address,
           notify->length);
    close(fd);
}

/* Half of what systemd waits; 0 when it does not, or not for us. */
static int64_t period(void)
{
    const char *text = getenv("WATCHDOG_USEC"), *whose = getenv("WATCHDOG_PID");
    int64_t microseconds, pid;
    if (!text || gt_number_i64(text, &microseconds) < 0 || microseconds < 2 || microseconds > INT64_MAX / 1000)
        return 0;
    if (whose && (gt_number_i64(whose, &pid) < 0 || pid != getpid()))
        return 0;
    return microseconds * 1000 / 2;
}

/* A path, or "@" and an abstract name. */
static void find_address(struct notify *notify)
{
    const char *path = getenv("NOTIFY_SOCKET");
    size_t length = path ? strlen(path) : 0;
    if (length < 2 || length >= sizeof notify->address.sun_path || (*path != '/' && *path != '@'))
        return;
    notify->address.sun_family = AF_UNIX;
    memcpy(notify->address.sun_path, path, length);
    if (*path == '@')
        notify->address.sun_path[0] = '\0';
    notify->length = (unsigned)(offsetof(struct sockaddr_un, sun_path) + length);
}

/* Say that the service is ready. */
static void notify_ready(struct notify *notify)
{
    *notify = (struct notify){0};
    find_address(notify);
    notify->every_ns = notify->length ? period() : 0;
    send_text(notify, "READY=1");
}

/* Say that it is alive, when that is due. Milliseconds until it is due again; -1: never. */
static int notify_alive(struct notify *notify)
{
    int64_t time = gt_clock_ns(CLOCK_MONOTONIC);
    if (!notify->every_ns)
        return -1;
    if (time >= notify->due_ns) {
        send_text(notify, "WATCHDOG=1");
        notify->due_ns = time + notify->every_ns;
    }
    return (int)((notify->due_ns - time) / 1000000) + 1;
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

/* Milliseconds until something is due. After the limit of connections, the library listens again when it is called. */
static int timeout_of(const struct http *http, struct notify *notify, bool has_feeds)
{
    enum { IDLE_MS = 5000, FEEDS_MS = 250 };
    MHD_UNSIGNED_LONG_LONG library = IDLE_MS;
    bool has_timeout = http->mhd.get_timeout(http->daemon, &library) == MHD_YES;
    int alive = notify_alive(notify), least = has_timeout && library < IDLE_MS ? (int)library : IDLE_MS;
    if (has_feeds && least > FEEDS_MS)
        least = FEEDS_MS;
    return alive >= 0 && alive < least ? alive : least;
}

static int answer_all(struct http *http, const struct signals *signals)
{
    enum { OWN = 2 };
    int epoll = http->mhd.get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    siginfo_t signal;
    struct notify notify;
    notify_ready(&notify);
    while (!signals_next(signals, &signal)) {
        struct pollfd polled[OWN + PAGES_FEEDS] = {{.fd = signals->fd, .events = POLLIN},
                                                   {.fd = epoll, .events = POLLIN}};
        nfds_t feeds = pages_poll(http->pages, polled + OWN);
        if (poll(polled, OWN + feeds, timeout_of(http, &notify, feeds)) < 0 && errno != EINTR)
            return say_trouble("the server cannot wait for requests: %s", strerror(errno));
        pages_go_on(http);
        if (http->mhd.run(http->daemon) != MHD_YES)
            return say_trouble("the HTTP server cannot go on");
    }
    return 0;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* The library is loaded here, so that other commands do not need it. */
static int load(struct http *http)
{
    static const char *const names[] = {"libmicrohttpd.so.12", "libmicrohttpd.so", NULL};
    struct gt_error error = {0};
    int status = gt_library_open(&http->library, NULL, names, symbols, sizeof symbols / sizeof *symbols, &http->mhd,
                                 &error);
    if (status < 0)
        say("serve takes libmicrohttpd (Debian: libmicrohttpd12): %s", error.text);
    return status < 0 ? EXIT_TRACKER : 0;
}

static int read_secrets(struct http *http, const struct options *options)
{
    int status = options->token_file ? http_token_read(&http->token, options->token_file) : 0;
    http->has_token = options->token_file != NULL;
    if (status || (!options->tls_cert && !options->tls_key))
        return status;
    if (!options->tls_cert || !options->tls_key)
        return say_usage("--tls-cert and --tls-key belong together");
    if (http->mhd.is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return say_usage("--tls-cert: this machine's libmicrohttpd was built without TLS");
    http->certificate = http_read_file(options->tls_cert, "--tls-cert", false);
    http->key = http->certificate ? http_read_file(options->tls_key, "--tls-key", true) : NULL;
    return http->key ? 0 : EXIT_USAGE;
}

/* The socket is the library's from here on. */
static int start(struct http *http, int listening)
{
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, http->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, http->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {MHD_OPTION_END, 0, NULL},
    };
    if (!http->key)
        tls[0] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (http->key ? MHD_USE_TLS : 0);
    http->daemon = http->mhd.start_daemon(
        flags, 0, NULL, NULL, handle, http, MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_CONNECTION_LIMIT,
        connections_of(), MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)REQUEST, MHD_OPTION_NOTIFY_CONNECTION, note, http, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    if (http->daemon)
        return 0;
    if (http->key)
        return say_usage("--tls-cert and --tls-key: not a certificate and its key in PEM form");
    return say_trouble("the HTTP server could not be started");
}

static int open_server(struct http *http, const struct options *options)
{
    char shown[260] = "";
    int status = load(http);
    if (!status)
        status = read_secrets(http, options);
    if (status)
        return status;
    const char *address = options->listen ? options->listen : "127.0.0.1:9417";
    int listening = http_listen(address, http->has_token, http->key != NULL, shown, sizeof shown);
    snprintf(http->address, sizeof http->address, "http%s://%s/", http->key ? "s" : "", shown);
    return listening < 0 ? -listening : start(http, listening);
}

static void close_server(struct http *http)
{
    for (int i = 0; i < GT_EXPOSITION_COUNT; i++)
        drop_texts(http, http->text[i]);
    if (http->daemon) {
        pages_close(http);
        http->mhd.stop_daemon(http->daemon);
    }
    pages_release(http->pages);
    if (http->key)
        explicit_bzero(http->key, strlen(http->key));
    free(http->key);
    free(http->certificate);
    gt_library_close(&http->library);
    explicit_bzero(&http->token, sizeof http->token);
    free(http);
}

static int print_and_run(struct http *http)
{
    struct signals signals;
    signals_take_ending(&signals);
    if (signals.fd < 0)
        return say_trouble("signals cannot be read");
    printf("%smetrics\n%s\n", http->address, http->address);
    fflush(stdout);
    int status = answer_all(http, &signals);
    signals_close(&signals);
    return status;
}

static int open_exporter(struct gt_exporter **ret, const struct options *options);

/* Options and files of the server are checked before sources of metrics are opened and may warn. */
static int serve(const struct options *options)
{
    struct http *http = calloc(1, sizeof *http);
    struct pages *pages = http ? pages_open() : NULL;
    if (!pages) {
        free(http);
        return say_trouble("no memory");
    }
    http->pages = pages;
    int status = open_server(http, options);
    if (!status)
        status = open_exporter(&http->exporter, options);
    if (!status)
        status = print_and_run(http);
    struct gt_exporter *exporter = http->exporter;
    close_server(http);
    gt_exporter_close(exporter);
    return status;
}
#else
static int serve(const struct options *options)
{
    (void)options;
    return say_trouble(
        "this gpu-tracker was built without libmicrohttpd (Debian: libmicrohttpd-dev), which serve takes");
}
#endif

/* ---- The command ------------------------------------------------------------------------------------------------- */

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

static int run(const struct options *options, int count, char **operands)
{
    (void)count;
    (void)operands;
    signal(SIGPIPE, SIG_IGN); /* a client that leaves is none of our business */
    raise_descriptors();
    return serve(options);
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
