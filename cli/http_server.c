#include "http.h"

#include "message.h"

#if __has_include(<microhttpd.h>)
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "http_private.h"
#include "notify.h"

#define FUNCTION(name) GT_SYMBOL(functions, name, "MHD_" #name, true)
static const struct gt_symbol symbols[] = {
    FUNCTION(start_daemon),
    FUNCTION(stop_daemon),
    FUNCTION(get_daemon_info),
    FUNCTION(get_connection_info),
    FUNCTION(get_timeout),
    FUNCTION(run),
    FUNCTION(add_connection),
    FUNCTION(lookup_connection_value),
    FUNCTION(create_response_from_buffer),
    FUNCTION(add_response_header),
    FUNCTION(queue_response),
    FUNCTION(destroy_response),
    FUNCTION(is_feature_supported),
    FUNCTION(create_response_from_callback),
    FUNCTION(suspend_connection),
    FUNCTION(resume_connection),
};

enum { PATIENCE_MS = 60000, OWN_POLLED = 3 };

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

struct MHD_Response *http_response(const struct http *http, const char *text, size_t length)
{
    struct MHD_Response *response = http->mhd.create_response_from_buffer(length, (void *)text, MHD_RESPMEM_MUST_COPY);
    if (response)
        http->mhd.add_response_header(response, "Connection", "close");
    return response;
}

enum MHD_Result http_answer(const struct http *http, struct MHD_Connection *connection, unsigned status,
                            const char *text, const char *header, const char *value)
{
    struct MHD_Response *response = http_response(http, text, strlen(text));
    if (!response)
        return MHD_NO;
    http->mhd.add_response_header(response, "Content-Type", "text/plain;charset=utf-8");
    if (header)
        http->mhd.add_response_header(response, header, value);
    enum MHD_Result result = http->mhd.queue_response(connection, status, response);
    http->mhd.destroy_response(response);
    return result;
}

const char *http_header(const struct http *http, struct MHD_Connection *connection, const char *name)
{
    return http->mhd.lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static void drop(const struct http *http, struct MHD_Response *response[PACKINGS])
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
    size_t packed_length = 0;
    char *packed = packing == GZIP ? http_gzip(text, length, &packed_length) : NULL;
    if (packing == GZIP && !packed)
        return NULL;
    struct MHD_Response *response = http_response(http, packed ? packed : text, packed ? packed_length : length);
    free(packed);
    if (!response)
        return NULL;
    http->mhd.add_response_header(response, "Content-Type", type);
    http->mhd.add_response_header(response, "Vary", "Accept, Accept-Encoding");
    if (packing == GZIP)
        http->mhd.add_response_header(response, "Content-Encoding", "gzip");
    return response;
}

/* One response for all connections until there is another text, so that slow readers share one copy. */
static enum MHD_Result answer_metrics(struct http *http, struct MHD_Connection *connection)
{
    struct http_form form = http_accept(http_header(http, connection, "Accept"));
    const char *text = NULL;
    size_t length = 0;
    char complaint[600] = "";
    int status = http->source.text(http->source.context, form.form, &text, &length, complaint, sizeof complaint);
    if (status < 0)
        return http_answer(http, connection, MHD_HTTP_INTERNAL_SERVER_ERROR, complaint, NULL, NULL);
    int packing = http_wants_gzip(http_header(http, connection, "Accept-Encoding")) ? GZIP : PLAIN;
    struct MHD_Response **response = http->text[form.form];
    if (status > 0)
        drop(http, response);
    if (!response[packing])
        response[packing] = make_metrics(http, form.type, packing, text, length);
    return response[packing] ? http->mhd.queue_response(connection, MHD_HTTP_OK, response[packing]) : MHD_NO;
}

struct visitor *http_visitor(const struct http *http, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = http->mhd.get_connection_info(connection,
                                                                         MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/* The header of a request has come. */
static void note_request(const struct http *http, struct MHD_Connection *connection)
{
    struct visitor *visitor = http_visitor(http, connection);
    if (visitor)
        visitor->is_half = false;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **memory)
{
    struct http *http = context;
    (void)version;
    (void)upload;
    note_request(http, connection);
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

/* ---- Connections ------------------------------------------------------------------------------------------------- */

static void note(void *context, struct MHD_Connection *connection, void **memory,
                 enum MHD_ConnectionNotificationCode code)
{
    struct http *http = context;
    struct visitor *visitor = *memory;
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        *memory = http->arriving;
    else
        pages_forget(&http->pages, connection);
    if (code != MHD_CONNECTION_NOTIFY_STARTED && visitor)
        visitors_leave(&http->visitors, visitor);
}

static void accept_visitors(struct http *http)
{
    struct sockaddr_storage address;
    socklen_t length;
    int fd;
    for (int i = 0; i < HTTP_CONNECTIONS; i++) {
        http->arriving = visitors_accept(&http->visitors, &fd, &address, &length);
        if (!http->arriving)
            return;
        if (http->mhd.add_connection(http->daemon, fd, (struct sockaddr *)&address, length) != MHD_YES)
            visitors_leave(&http->visitors, http->arriving); /* the library has closed it */
    }
}

/* Milliseconds until something is due; -1: nothing. */
static int patience(const struct http *http, struct notify *notify)
{
    MHD_UNSIGNED_LONG_LONG library = 0;
    bool has_library = http->mhd.get_timeout(http->daemon, &library) == MHD_YES;
    int waits[] = {visitors_patience(&http->visitors), notify_alive(notify), pages_patience(&http->pages),
                   !has_library            ? -1
                   : library < PATIENCE_MS ? (int)library
                                           : PATIENCE_MS};
    int least = PATIENCE_MS;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        least = waits[i] >= 0 && waits[i] < least ? waits[i] : least;
    return least;
}

int http_run(struct http *http, const struct signals *signals)
{
    const union MHD_DaemonInfo *info = http->mhd.get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    siginfo_t signal;
    struct notify notify;
    notify_ready(&notify);
    while (!signals_next(signals, &signal)) {
        struct pollfd polled[OWN_POLLED + PAGES_FEEDS] = {{.fd = signals->fd, .events = POLLIN},
                                                          {.fd = info ? info->epoll_fd : -1, .events = POLLIN},
                                                          {.fd = visitors_poll(&http->visitors), .events = POLLIN}};
        nfds_t count = OWN_POLLED; /* no more than there are: the kernel refuses more than the limit of descriptors */
        for (int i = 0; i < PAGES_FEEDS; i++)
            if (http->pages.feed[i].fd >= 0)
                polled[count++] = (struct pollfd){.fd = http->pages.feed[i].fd, .events = POLLIN};
        if (poll(polled, count, patience(http, &notify)) < 0 && errno != EINTR) {
            say("the server cannot wait for requests: %s", strerror(errno));
            return EXIT_TRACKER;
        }
        visitors_end_overdue(&http->visitors);
        accept_visitors(http);
        pages_go_on(http);
        if (http->mhd.run(http->daemon) != MHD_YES) {
            say("the HTTP server cannot go on");
            return EXIT_TRACKER;
        }
    }
    return 0;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

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

static int start(struct http *http)
{
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, http->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, http->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {MHD_OPTION_END, 0, NULL},
    };
    if (!http->key)
        tls[0] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
                     (http->key ? MHD_USE_TLS : 0);
    http->daemon = http->mhd.start_daemon(
        flags, 0, NULL, NULL, handle, http, MHD_OPTION_CONNECTION_LIMIT, 2u * HTTP_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_REQUEST,
        MHD_OPTION_NOTIFY_CONNECTION, note, http, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    if (http->daemon)
        return 0;
    if (http->key)
        return say_usage("--tls-cert and --tls-key: not a certificate and its key in PEM form");
    say("the HTTP server could not be started");
    return EXIT_TRACKER;
}

int http_open(struct http **ret, const struct http_settings *settings, const struct http_source *source)
{
    char shown[260] = "";
    struct http *http = calloc(1, sizeof *http);
    if (!http) {
        say("no memory");
        return EXIT_TRACKER;
    }
    http->source = *source;
    http->visitors.listening = -1;
    pages_open(&http->pages);
    int status = load(http);
    if (!status)
        status = read_secrets(http, settings);
    if (!status) {
        int listening = http_listen(settings->listen, http->has_token, http->key != NULL, shown, sizeof shown);
        status = listening < 0 ? -listening : 0;
        if (!status)
            visitors_open(&http->visitors, listening);
    }
    if (!status)
        status = start(http);
    snprintf(http->address, sizeof http->address, "http%s://%s/", http->key ? "s" : "", shown);
    if (status) {
        http_close(http);
        return status;
    }
    *ret = http;
    return 0;
}

const char *http_address(const struct http *http)
{
    return http->address;
}

static void forget(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

void http_close(struct http *http)
{
    if (!http)
        return;
    for (int i = 0; i < GT_EXPOSITION_COUNT; i++)
        drop(http, http->text[i]);
    pages_close(http);
    if (http->daemon)
        http->mhd.stop_daemon(http->daemon);
    pages_release(&http->pages);
    visitors_close(&http->visitors);
    forget(http->key);
    free(http->certificate);
    gt_library_close(&http->library);
    explicit_bzero(&http->token, sizeof http->token);
    free(http);
}
#else
int http_open(struct http **ret, const struct http_settings *settings, const struct http_source *source)
{
    (void)ret;
    (void)settings;
    (void)source;
    say("this gpu-tracker was built without libmicrohttpd (Debian: libmicrohttpd-dev), which serve takes");
    return EXIT_TRACKER;
}

const char *http_address(const struct http *http)
{
    (void)http;
    return "";
}

int http_run(struct http *http, const struct signals *signals)
{
    (void)http;
    (void)signals;
    return EXIT_TRACKER;
}

void http_close(struct http *http)
{
    (void)http;
}
#endif
