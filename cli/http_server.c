#include "http.h"

#include "message.h"

#if __has_include(<microhttpd.h>)
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include "base/clock.h"
#include "http_private.h"
#include "notify.h"
#include "signals.h"

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

/* ---- Connections -------------------------------------------------------------------------------------------------
 * The library accepts connections and closes silent ones. This ends those that speak slowly, too, and those that give way to newcomers:
 * neither many half-open connections nor many requests that never end keep others out. */

enum { LEFT_FREE = 32 };

struct connection *http_connection(const struct http *http, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = http->mhd.get_connection_info(connection,
                                                                         MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

void http_let_stay(const struct http *http, struct MHD_Connection *connection, int seconds)
{
    struct connection *found = http_connection(http, connection);
    if (found && !found->is_ending)
        found->due_ns = gt_clock_ns(CLOCK_MONOTONIC) + seconds * GT_SECOND;
}

static void end(struct connection *connection)
{
    shutdown(connection->fd, SHUT_RDWR);
    connection->is_ending = true;
}

static bool gives_way(const struct connection *connection)
{
    return connection->fd >= 0 && connection->is_half && !connection->is_ending;
}

static int by_address(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Ends the oldest half request of the address with most of them, so that no address gives way to another with more. Returns false if there
 * is none. */
static bool make_room(struct http *http)
{
    uint64_t address[2 * HTTP_CONNECTIONS], busiest = 0;
    struct connection *oldest = NULL;
    int count = 0, most = 0;
    for (int i = 0; i < 2 * HTTP_CONNECTIONS; i++)
        if (gives_way(&http->connection[i]))
            address[count++] = http->connection[i].address;
    qsort(address, (size_t)count, sizeof *address, by_address);
    for (int i = 0, equal = 0; i < count; i++) {
        equal = i && address[i] == address[i - 1] ? equal + 1 : 1;
        if (equal > most) {
            most = equal;
            busiest = address[i];
        }
    }
    for (int i = 0; i < 2 * HTTP_CONNECTIONS; i++) {
        struct connection *one = &http->connection[i];
        if (gives_way(one) && one->address == busiest && (!oldest || one->number < oldest->number))
            oldest = one;
    }
    if (oldest)
        end(oldest);
    return oldest;
}

/* The library accepts up to 11 connections before it closes those that were ended, and samples need some descriptors for a moment. */
static bool is_too_high(int fd)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return false;
    rlim_t left_free = limit.rlim_cur / 2 < LEFT_FREE ? limit.rlim_cur / 2 : LEFT_FREE;
    return (rlim_t)fd + left_free >= limit.rlim_cur;
}

static struct connection *add_connection(struct http *http, struct MHD_Connection *connection)
{
    __typeof__(&MHD_get_connection_info) info = http->mhd.get_connection_info;
    int fd = info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    const struct sockaddr *address = info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    struct connection *place = http->connection;
    if (http->connection_count >= HTTP_CONNECTIONS || is_too_high(fd))
        make_room(http);
    while (place->fd >= 0) /* the library has a limit of as many */
        place++;
    *place = (struct connection){.fd = fd,
                                 .due_ns = gt_clock_ns(CLOCK_MONOTONIC) + HTTP_SECONDS * GT_SECOND,
                                 .number = http->connection_number++,
                                 .is_half = true};
    if (address->sa_family == AF_INET)
        memcpy(&place->address, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    else if (address->sa_family == AF_INET6)
        memcpy(&place->address, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 8);
    http->connection_count++;
    return place;
}

static void note(void *context, struct MHD_Connection *connection, void **memory,
                 enum MHD_ConnectionNotificationCode code)
{
    struct http *http = context;
    struct connection *known = *memory;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *memory = add_connection(http, connection);
        return;
    }
    pages_forget(&http->pages, connection);
    known->fd = -1;
    http->connection_count--;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **memory)
{
    struct http *http = context;
    (void)version;
    (void)upload;
    http_connection(http, connection)->is_half = false;
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

/* ---- Running ----------------------------------------------------------------------------------------------------- */

/* Without a free descriptor, the library tries to accept without a pause, or not again until a connection ends. */
static bool has_descriptor(int any)
{
    int fd = fcntl(any, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Milliseconds until something is due. */
static int timeout_of(const struct http *http, struct notify *notify)
{
    enum { IDLE_MS = 60000, CONNECTED_MS = 1000, FEEDS_MS = 250 };
    MHD_UNSIGNED_LONG_LONG library = IDLE_MS;
    bool has_timeout = http->mhd.get_timeout(http->daemon, &library) == MHD_YES;
    int alive = notify_alive(notify), least = has_timeout && library < IDLE_MS ? (int)library : IDLE_MS;
    if (http->connection_count && least > CONNECTED_MS)
        least = CONNECTED_MS;
    for (int i = 0; i < PAGES_FEEDS; i++)
        if (http->pages.feed[i].fd >= 0 && least > FEEDS_MS)
            least = FEEDS_MS;
    return alive >= 0 && alive < least ? alive : least;
}

static void end_overdue(struct http *http)
{
    int64_t time = gt_clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < 2 * HTTP_CONNECTIONS; i++)
        if (http->connection[i].fd >= 0 && !http->connection[i].is_ending && http->connection[i].due_ns <= time)
            end(&http->connection[i]);
}

static int run(struct http *http, const struct signals *signals)
{
    enum { OWN = 2, SHORT_MS = 100, ENDED_AT_ONCE = 16 };
    int epoll = http->mhd.get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    siginfo_t signal;
    struct notify notify;
    notify_ready(&notify);
    for (bool is_short = false, was_short; !signals_next(signals, &signal);) {
        was_short = is_short;
        is_short = !has_descriptor(epoll);
        int ended = 0;
        while (is_short && ended < ENDED_AT_ONCE && make_room(http))
            ended++;
        struct pollfd polled[OWN + PAGES_FEEDS] = {{.fd = signals->fd, .events = POLLIN},
                                                   {.fd = is_short && !ended ? -1 : epoll, .events = POLLIN}};
        nfds_t count = OWN; /* no more than there are: the kernel refuses more than the limit of descriptors */
        for (int i = 0; i < PAGES_FEEDS; i++)
            if (http->pages.feed[i].fd >= 0)
                polled[count++] = (struct pollfd){.fd = http->pages.feed[i].fd, .events = POLLIN};
        if (poll(polled, count, is_short || was_short ? SHORT_MS : timeout_of(http, &notify)) < 0 && errno != EINTR) {
            say("the server cannot wait for requests: %s", strerror(errno));
            return EXIT_TRACKER;
        }
        end_overdue(http);
        pages_go_on(http);
        if (http->mhd.run(http->daemon) != MHD_YES) {
            say("the HTTP server cannot go on");
            return EXIT_TRACKER;
        }
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

static int read_secrets(struct http *http, const struct http_settings *settings)
{
    int status = settings->token_file ? http_token_read(&http->token, settings->token_file) : 0;
    http->has_token = settings->token_file != NULL;
    if (status || (!settings->tls_cert && !settings->tls_key))
        return status;
    if (!settings->tls_cert || !settings->tls_key)
        return say_usage("--tls-cert and --tls-key belong together");
    if (http->mhd.is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return say_usage("--tls-cert: this machine's libmicrohttpd was built without TLS");
    http->certificate = http_read_file(settings->tls_cert, "--tls-cert", false);
    http->key = http->certificate ? http_read_file(settings->tls_key, "--tls-key", true) : NULL;
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
        2u * HTTP_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_REQUEST, MHD_OPTION_NOTIFY_CONNECTION, note, http,
        MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    if (http->daemon)
        return 0;
    if (http->key)
        return say_usage("--tls-cert and --tls-key: not a certificate and its key in PEM form");
    say("the HTTP server could not be started");
    return EXIT_TRACKER;
}

static int open_server(struct http *http, const struct http_settings *settings)
{
    char shown[260] = "";
    int status = load(http);
    if (!status)
        status = read_secrets(http, settings);
    if (status)
        return status;
    int listening = http_listen(settings->listen, http->has_token, http->key != NULL, shown, sizeof shown);
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
    pages_release(&http->pages);
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
    if (signals.fd < 0) {
        say("signals cannot be read");
        return EXIT_TRACKER;
    }
    printf("%smetrics\n%s\n", http->address, http->address);
    fflush(stdout);
    int status = run(http, &signals);
    signals_close(&signals);
    return status;
}

int http_serve(const struct http_settings *settings, struct gt_exporter *exporter)
{
    struct http *http = calloc(1, sizeof *http);
    if (!http) {
        say("no memory");
        return EXIT_TRACKER;
    }
    http->exporter = exporter;
    for (int i = 0; i < 2 * HTTP_CONNECTIONS; i++)
        http->connection[i].fd = -1;
    pages_open(&http->pages);
    int status = open_server(http, settings);
    if (!status)
        status = print_and_run(http);
    close_server(http);
    return status;
}
#else
int http_serve(const struct http_settings *settings, struct gt_exporter *exporter)
{
    (void)settings;
    (void)exporter;
    say("this gpu-tracker was built without libmicrohttpd (Debian: libmicrohttpd-dev), which serve takes");
    return EXIT_TRACKER;
}
#endif
