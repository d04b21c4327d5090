#include "engine/http.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/library.h"

static int check_owner(const char *path, struct gt_error *error)
{
    struct stat facts;
    if (stat(path, &facts) < 0)
        return gt_error_system(error, errno, "%s", path);
    if (facts.st_mode & (S_IRGRP | S_IROTH | S_IWGRP | S_IWOTH))
        return gt_error_set(error, EPERM, "%s may be read or written by others, and is not used: chmod 600 %s", path,
                            path);
    return 0;
}

static int find_netrc(struct gt_login *ret, const char *given, struct gt_error *error)
{
    const char *home = getenv("HOME");
    if (!given && !(home && *home))
        return 0;
    if (snprintf(ret->netrc, sizeof ret->netrc, given ? "%s" : "%s/.netrc", given ? given : home) >=
        (int)sizeof ret->netrc)
        return gt_error_system(error, ENAMETOOLONG, "%s", given ? given : home);
    struct stat facts;
    if (!given && stat(ret->netrc, &facts) < 0) {
        ret->netrc[0] = '\0';
        return 0;
    }
    return check_owner(ret->netrc, error);
}

static int read_token(struct gt_login *ret, const char *path, struct gt_error *error)
{
    struct gt_buffer text = {.ceiling = sizeof ret->token - 1};
    int status = check_owner(path, error);
    if (status >= 0 && (status = gt_given_file_read(path, &text, error)) == -EFBIG)
        gt_error_set(error, EFBIG, "%s is too long for a token", path);
    if (status >= 0) {
        size_t length = text.data ? strcspn(text.data, "\r\n") : 0;
        memcpy(ret->token, text.data ? text.data : "", length);
        ret->token[length] = '\0';
        for (size_t i = 0; status >= 0 && i < length; i++)
            if ((unsigned char)ret->token[i] <= ' ')
                status = gt_error_set(error, EINVAL, "%s: the token in its first line has blanks", path);
        if (!length)
            status = gt_error_set(error, EINVAL, "%s: its first line has no token", path);
    }
    gt_buffer_release(&text);
    return status;
}

int gt_login_find(struct gt_login *ret, const struct gt_login_files *files, struct gt_error *error)
{
    *ret = (struct gt_login){0};
    if (files && files->token)
        return read_token(ret, files->token, error);
    return find_netrc(ret, files ? files->netrc : NULL, error);
}

/* Numbers of libcurl's interface, which it never changes: https://curl.se/libcurl/c/symbols-in-versions.html. Its headers are not needed
 * to build. */
enum {
    CURL_LONG = 0,
    CURL_OBJECT = 10000,
    CURL_FUNCTION = 20000,
    CURL_LARGE = 30000,
    WRITE_TO = CURL_OBJECT + 1,
    ADDRESS = CURL_OBJECT + 2,
    PORT = CURL_LONG + 3,
    COMPLAINT = CURL_OBJECT + 10,
    WRITE = CURL_FUNCTION + 11,
    BODY = CURL_OBJECT + 15,
    HEADERS = CURL_OBJECT + 23,
    HEADER_TO = CURL_OBJECT + 29,
    POST = CURL_LONG + 47,
    NO_PROGRESS = CURL_LONG + 43,
    NETRC = CURL_LONG + 51,
    PROGRESS_TO = CURL_OBJECT + 57,
    CERTIFICATES = CURL_OBJECT + 65,
    HEADER = CURL_FUNCTION + 79,
    FRESH_CONNECTION = CURL_LONG + 74,
    NO_SIGNALS = CURL_LONG + 99,
    HTTP_AUTHENTICATION = CURL_LONG + 107,
    NETRC_FILE = CURL_OBJECT + 118,
    BODY_SIZE = CURL_LARGE + 120,
    PATIENCE_MS = CURL_LONG + 155,
    CONNECT_PATIENCE_MS = CURL_LONG + 156,
    PROGRESS = CURL_FUNCTION + 219,
    NETRC_OPTIONAL = 1,
    BASIC = 1,
    STATUS_CODE = 0x200000 + 2,
    GLOBAL_DEFAULT = 3,
    COULD_NOT_RESOLVE = 6,
    COULD_NOT_CONNECT = 7,
    TIMED_OUT = 28,
    GIVEN_UP = 42,
    CERTIFICATE_TROUBLE = 60,
    CERTIFICATE_FILE_TROUBLE = 77,
    COMPLAINT_SIZE = 256,
};

struct functions {
    int (*global_init)(long flags);
    void *(*easy_init)(void);
    int (*easy_setopt)(void *handle, int option, ...);
    int (*easy_perform)(void *handle);
    int (*easy_getinfo)(void *handle, int what, ...);
    void (*easy_cleanup)(void *handle);
    const char *(*easy_strerror)(int code);
    void *(*slist_append)(void *list, const char *text);
    void (*slist_free_all)(void *list);
};

#define FUNCTION(name) GT_SYMBOL(functions, name, "curl_" #name, true)
static const struct gt_symbol symbols[] = {
    FUNCTION(global_init),   FUNCTION(easy_init),    FUNCTION(easy_setopt),
    FUNCTION(easy_perform),  FUNCTION(easy_getinfo), FUNCTION(easy_cleanup),
    FUNCTION(easy_strerror), FUNCTION(slist_append), FUNCTION(slist_free_all),
};

struct gt_http {
    struct gt_library library;
    struct functions curl;
    void *handle;
    struct gt_address address;
    struct gt_login login;
    char name[800]; /* of the server, in messages */
    char complaint[COMPLAINT_SIZE];
};

static int set_up(struct gt_http *http)
{
    const struct functions *curl = &http->curl;
    const struct gt_address *address = &http->address;
    int code = curl->easy_setopt(http->handle, PORT, (long)address->port);
    code = code ? code : curl->easy_setopt(http->handle, NO_SIGNALS, 1L);
    code = code ? code : curl->easy_setopt(http->handle, CONNECT_PATIENCE_MS, 5000L);
    code = code ? code : curl->easy_setopt(http->handle, COMPLAINT, http->complaint);
    if (*http->login.token)
        return code;
    code = code ? code : curl->easy_setopt(http->handle, HTTP_AUTHENTICATION, (long)BASIC);
    if (*http->login.netrc) {
        code = code ? code : curl->easy_setopt(http->handle, NETRC, (long)NETRC_OPTIONAL);
        code = code ? code : curl->easy_setopt(http->handle, NETRC_FILE, http->login.netrc);
    }
    if (*address->ca)
        code = code ? code : curl->easy_setopt(http->handle, CERTIFICATES, address->ca);
    return code;
}

int gt_http_open(struct gt_http **ret, const struct gt_address *address, const struct gt_login *login,
                 struct gt_error *error)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4", "libcurl.so", NULL};
    struct gt_http *http = calloc(1, sizeof *http);
    if (!http)
        return gt_error_system(error, ENOMEM, "%s", address->host);
    http->address = *address;
    http->login = *login;
    gt_address_name(http->name, sizeof http->name, address);
    int status = gt_library_open(&http->library, NULL, names, symbols, sizeof symbols / sizeof *symbols, &http->curl,
                                 NULL);
    if (status < 0) {
        gt_error_set(error, ENOENT, "%s is asked by libcurl, which is not installed (Debian: libcurl4)", http->name);
        free(http);
        return -ENOENT;
    }
    int code = http->curl.global_init(GLOBAL_DEFAULT);
    if (!code && (http->handle = http->curl.easy_init()))
        code = set_up(http);
    if (code || !http->handle)
        status = gt_error_set(error, ENOMEM, "%s: libcurl cannot be prepared: %s", http->name,
                              http->curl.easy_strerror(code));
    if (status < 0)
        gt_http_close(http);
    else
        *ret = http;
    return status;
}

static size_t take(char *bytes, size_t size, size_t count, void *answer)
{
    return gt_buffer_append(answer, bytes, size * count) < 0 ? 0 : size * count;
}

/* What the headers of an answer have told. */
struct framing {
    bool has_end; /* of the headers */
    bool
        is_told; /* how long the body is, or it comes in chunks: by its connection's end alone nobody knows that it is whole */
};

static bool is_header(const char *line, size_t length, const char *begin)
{
    size_t size = strlen(begin);
    return length >= size && strncasecmp(line, begin, size) == 0;
}

static size_t take_header(char *line, size_t size, size_t count, void *context)
{
    struct framing *framing = context;
    size_t length = size * count;
    if (is_header(line, length, "HTTP/")) /* there may be several answers, the first ones without a body */
        *framing = (struct framing){.is_told = !is_header(line, length, "HTTP/1")};
    framing->has_end |= length && (*line == '\r' || *line == '\n');
    framing->is_told |= is_header(line, length, "Content-Length:") || is_header(line, length, "Transfer-Encoding:");
    return length;
}

/* What libcurl calls now and then, also while nothing moves. */
static int go_on(void *context, long long expected, long long received, long long to_send, long long sent)
{
    const struct gt_http_limits *limits = context;
    (void)expected, (void)received, (void)to_send, (void)sent;
    return limits->is_vain && limits->is_vain(limits->context);
}

/* NULL without memory. */
static void *make_headers(struct gt_http *http, bool is_packed)
{
    char token[sizeof http->login.token + 32];
    void *list = http->curl.slist_append(NULL, "Expect:"); /* not two turns for one request */
    if (list && is_packed)
        list = http->curl.slist_append(list, "Content-Encoding: gzip");
    if (list)
        list = http->curl.slist_append(list, "Content-Type: application/octet-stream");
    snprintf(token, sizeof token, "Authorization: Bearer %s", http->login.token);
    if (list && *http->login.token)
        list = http->curl.slist_append(list, token);
    return list;
}

static int failure_of(const struct gt_http *http, int code, struct gt_error *error)
{
    const char *text = *http->complaint ? http->complaint : http->curl.easy_strerror(code);
    bool is_refused = code == CERTIFICATE_TROUBLE || code == CERTIFICATE_FILE_TROUBLE;
    bool is_unreachable = code == COULD_NOT_RESOLVE || code == COULD_NOT_CONNECT;
    return gt_error_set(error,
                        is_refused          ? EACCES
                        : is_unreachable    ? ENOTCONN
                        : code == TIMED_OUT ? ETIMEDOUT
                        : code == GIVEN_UP  ? ECANCELED
                                            : EIO,
                        "%s: %s", http->name, text);
}

int gt_http_post(struct gt_http *http, const struct gt_http_request *request, struct gt_buffer *ret,
                 struct gt_error *error)
{
    const struct functions *curl = &http->curl;
    struct gt_buffer url = {0};
    const struct gt_address *address = &http->address;
    bool has_user = *address->user && !*http->login.token; /* in the address, so that his password is looked for */
    gt_buffer_printf(&url, "%s://%s%s%s/%s%s", address->is_encrypted ? "https" : "http", has_user ? address->user : "",
                     has_user ? "@" : "", address->host, *request->parameters ? "?" : "", request->parameters);
    void *headers = make_headers(http, request->is_packed);
    gt_buffer_clear(ret);
    http->complaint[0] = '\0';
    if (url.failed || !headers) {
        gt_buffer_release(&url);
        curl->slist_free_all(headers);
        return gt_error_system(error, ENOMEM, "%s", http->name);
    }
    long status = 0;
    struct framing framing = {0};
    double patience = request->limits.seconds > 0 ? request->limits.seconds : 60;
    int code = curl->easy_setopt(http->handle, ADDRESS, url.data);
    code = code ? code : curl->easy_setopt(http->handle, HEADERS, headers);
    code = code ? code : curl->easy_setopt(http->handle, POST, 1L);
    code = code ? code : curl->easy_setopt(http->handle, BODY, request->body->data ? request->body->data : "");
    code = code ? code : curl->easy_setopt(http->handle, BODY_SIZE, (long long)request->body->length);
    code = code ? code : curl->easy_setopt(http->handle, HEADER, take_header);
    code = code ? code : curl->easy_setopt(http->handle, HEADER_TO, &framing);
    code = code ? code : curl->easy_setopt(http->handle, WRITE, take);
    code = code ? code : curl->easy_setopt(http->handle, WRITE_TO, ret);
    code = code ? code : curl->easy_setopt(http->handle, PATIENCE_MS, (long)(patience * 1000));
    code = code ? code : curl->easy_setopt(http->handle, PROGRESS, go_on);
    code = code ? code : curl->easy_setopt(http->handle, PROGRESS_TO, &request->limits);
    code = code ? code : curl->easy_setopt(http->handle, NO_PROGRESS, 0L);
    /* On a connection that was used before, libcurl repeats what got no answer. */
    code = code ? code : curl->easy_setopt(http->handle, FRESH_CONNECTION, (long)request->is_once);
    code = code ? code : curl->easy_perform(http->handle);
    code = code ? code : curl->easy_getinfo(http->handle, STATUS_CODE, &status);
    curl->easy_setopt(http->handle, HEADERS, NULL);
    curl->slist_free_all(headers);
    gt_buffer_release(&url);
    if (ret->failed)
        return gt_error_set(error, -ret->failed, "%s: its answer is too long", http->name);
    if (!code && (!framing.has_end || (!framing.is_told && status == 200)))
        return gt_error_set(error, EIO, "%s: its answer ended early", http->name);
    return code ? failure_of(http, code, error) : (int)status;
}

void gt_http_escape(struct gt_buffer *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 128 && (isalnum(c) || strchr("-._~", c)))
            gt_buffer_char(out, (char)c);
        else
            gt_buffer_printf(out, "%%%02X", c);
    }
}

void gt_http_close(struct gt_http *http)
{
    if (!http)
        return;
    if (http->handle)
        http->curl.easy_cleanup(http->handle);
    free(http); /* libcurl stays: what it began for the whole process is not ended */
}
