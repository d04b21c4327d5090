#include "engine/server.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/os/library.h"
#include "base/number.h"

bool gt_server_refused(int status)
{
    return status == -EACCES || status == -ENOENT || status == -EINVAL;
}

/* ---- Credentials ---- */

struct login {
    char netrc[PATH_MAX]; /* "": none */
    char token[4096];     /* "": none */
};

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

static int read_token(struct login *ret, const char *path, struct gt_error *error)
{
    struct gt_buffer text = {.ceiling = sizeof ret->token - 1};
    int status = check_owner(path, error);
    if (status >= 0 && (status = gt_given_file_read(path, &text, error)) == -EFBIG)
        gt_error_set(error, EFBIG, "%s is too long for a token", path);
    if (status >= 0) {
        snprintf(ret->token, sizeof ret->token, "%.*s", text.data ? (int)strcspn(text.data, "\r\n") : 0, text.data);
        for (const char *letter = ret->token; status >= 0 && *letter; letter++)
            if ((unsigned char)*letter <= ' ')
                status = gt_error_set(error, EINVAL, "%s: the token in its first line has blanks", path);
        if (!*ret->token)
            status = gt_error_set(error, EINVAL, "%s: its first line has no token", path);
    }
    gt_buffer_release(&text);
    return status;
}

static int find_login(struct login *ret, const struct gt_login_files *files, struct gt_error *error)
{
    const char *home = getenv("HOME"), *given = files ? files->netrc : NULL;
    if (files && files->token)
        return read_token(ret, files->token, error);
    if (!given && !(home && *home))
        return 0;
    if (snprintf(ret->netrc, sizeof ret->netrc, given ? "%s" : "%s/.netrc", given ? given : home) >=
        (int)sizeof ret->netrc)
        return gt_error_system(error, ENAMETOOLONG, "%s", given ? given : home);
    struct stat facts;
    if (given || stat(ret->netrc, &facts) == 0)
        return check_owner(ret->netrc, error);
    ret->netrc[0] = '\0';
    return 0;
}

/* ---- libcurl ---- */

/* Numbers of libcurl's interface, which are stable: https://curl.se/libcurl/c/symbols-in-versions.html. The build needs
 * none of its headers. */
enum {
    CURL_LONG = 0,
    CURL_OBJECT = 10000,
    CURL_FUNCTION = 20000,
    CURL_LARGE = 30000,
    WRITE_TO = CURL_OBJECT + 1,
    URL = CURL_OBJECT + 2,
    PORT = CURL_LONG + 3,
    ERROR_TEXT = CURL_OBJECT + 10,
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
    TIMEOUT_MS = CURL_LONG + 155,
    CONNECT_TIMEOUT_MS = CURL_LONG + 156,
    PROGRESS = CURL_FUNCTION + 219,
    NETRC_OPTIONAL = 1,
    BASIC = 1,
    STATUS_CODE = 0x200000 + 2,
    GLOBAL_DEFAULT = 3,
    COULD_NOT_RESOLVE = 6,
    COULD_NOT_CONNECT = 7,
    TIMED_OUT = 28,
    ABORTED_BY_CALLBACK = 42,
    CERTIFICATE_INVALID = 60,
    CERTIFICATE_FILE_INVALID = 77,
    ERROR_TEXT_SIZE = 256,
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

struct gt_connection {
    struct gt_library library;
    struct functions curl;
    void *handle;
    void *second;      /* handle for SELECT 1 while the first one waits; NULL: not opened */
    double asked;      /* when the request began, seconds of the monotonic clock */
    double next_check; /* when to send SELECT 1 */
    bool has_answered; /* at least once */
    bool is_silent;    /* SELECT 1 failed, too */
    struct login login;
    int major, minor; /* of the server's version; 0: unknown */
    struct gt_buffer body;
    char error_text[ERROR_TEXT_SIZE];
};

static int open_handle(const struct gt_server *server, void **ret, struct gt_error *error)
{
    struct gt_connection *connection = server->connection;
    const struct functions *curl = &connection->curl;
    void *handle = *ret = curl->easy_init();
    int code = 0;
#define SET(option, ...) (code = code ? code : curl->easy_setopt(handle, option, __VA_ARGS__))
    if (handle) {
        SET(PORT, (long)server->address.port);
        SET(NO_SIGNALS, 1L);
        SET(CONNECT_TIMEOUT_MS, 5000L);
        SET(ERROR_TEXT, connection->error_text);
        SET(POST, 1L);
        SET(NO_PROGRESS, 0L);
        if (!*connection->login.token)
            SET(HTTP_AUTHENTICATION, (long)BASIC);
        if (*connection->login.netrc) {
            SET(NETRC, (long)NETRC_OPTIONAL);
            SET(NETRC_FILE, connection->login.netrc);
        }
        if (*server->address.ca)
            SET(CERTIFICATES, server->address.ca);
    }
    return handle && !code ? 0
                           : gt_error_set(error, ENOMEM, "%s: libcurl cannot be prepared: %s", server->name,
                                          curl->easy_strerror(code));
}

int gt_server_open(struct gt_server **ret, const struct gt_address *address, const struct gt_login_files *files,
                   struct gt_error *error)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4", "libcurl.so", NULL};
    struct gt_server *server = calloc(1, sizeof *server);
    struct gt_connection *connection = calloc(1, sizeof *connection);
    if (!server || !connection) {
        free(server);
        free(connection);
        return gt_error_system(error, ENOMEM, "%s", address->host);
    }
    server->connection = connection;
    server->address = *address;
    gt_address_name(server->name, sizeof server->name, address);
    int status = find_login(&connection->login, files, error);
    if (status >= 0 && gt_library_open(&connection->library, NULL, names, symbols, sizeof symbols / sizeof *symbols,
                                       &connection->curl, NULL) < 0)
        status = gt_error_set(error, ENOENT, "%s is asked by libcurl, which is not installed (Debian: libcurl4)",
                              server->name);
    if (status >= 0 && connection->curl.global_init(GLOBAL_DEFAULT) != 0)
        status = gt_error_set(error, ENOMEM, "%s: libcurl cannot be prepared", server->name);
    if (status >= 0)
        status = open_handle(server, &connection->handle, error);
    if (status < 0)
        gt_server_close(server);
    else
        *ret = server;
    return status;
}

/* The library stays loaded, because global_init is not undone. */
void gt_server_close(struct gt_server *server)
{
    if (!server)
        return;
    struct gt_connection *connection = server->connection;
    if (connection->handle)
        connection->curl.easy_cleanup(connection->handle);
    if (connection->second)
        connection->curl.easy_cleanup(connection->second);
    gt_buffer_release(&connection->body);
    free(connection);
    free(server);
}

static size_t take(char *bytes, size_t size, size_t count, void *answer)
{
    return gt_buffer_append(answer, bytes, size * count) < 0 ? 0 : size * count;
}

/* What the headers of an answer say. A body without a length or chunks may be cut off. */
struct framing {
    bool is_complete; /* the empty line was read */
    bool has_length;
};

static size_t take_header(char *line, size_t size, size_t count, void *context)
{
    struct framing *framing = context;
    size_t length = size * count;
#define BEGINS(text) (length >= strlen(text) && strncasecmp(line, text, strlen(text)) == 0)
    if (BEGINS("HTTP/")) /* there may be several answers, the first ones without a body */
        *framing = (struct framing){.has_length = !BEGINS("HTTP/1")};
    framing->is_complete |= length && (*line == '\r' || *line == '\n');
    framing->has_length |= BEGINS("Content-Length:") || BEGINS("Transfer-Encoding:");
    return length;
}

/* libcurl calls this often, also while no bytes arrive. */
static int is_vain(void *context, long long expected, long long received, long long to_send, long long sent)
{
    const struct gt_request_limits *limits = context;
    (void)expected, (void)received, (void)to_send, (void)sent;
    return limits->is_vain && limits->is_vain(limits->context);
}

/* Returns NULL without memory. */
static void *make_headers(const struct gt_connection *connection, bool is_insert)
{
    char token[sizeof connection->login.token + 32];
    void *list = connection->curl.slist_append(NULL, "Expect:"); /* saves a round trip */
    if (list && is_insert)
        list = connection->curl.slist_append(list, "Content-Encoding: gzip");
    if (list)
        list = connection->curl.slist_append(list, "Content-Type: application/octet-stream");
    snprintf(token, sizeof token, "Authorization: Bearer %s", connection->login.token);
    if (list && *connection->login.token)
        list = connection->curl.slist_append(list, token);
    return list;
}

static int judge_failure(const struct gt_server *server, int code, struct gt_error *error)
{
    const struct gt_connection *connection = server->connection;
    int meaning = code == CERTIFICATE_INVALID || code == CERTIFICATE_FILE_INVALID ? EACCES
                  : code == COULD_NOT_RESOLVE || code == COULD_NOT_CONNECT        ? ENOTCONN
                  : code == TIMED_OUT                                             ? ETIMEDOUT
                  : code == ABORTED_BY_CALLBACK                                   ? ECANCELED
                                                                                  : EIO;
    return gt_error_set(error, meaning, "%s: %s", server->name,
                        *connection->error_text ? connection->error_text : connection->curl.easy_strerror(code));
}

/* Post a request. `ret` gets the answer. Returns the status of HTTP, or negative errno: -ENOTCONN without a connection,
 * -EIO if the answer is incomplete, -ECANCELED if it became vain. */
static int post(const struct gt_server *server, void *handle, const char *parameters, const struct gt_buffer *body,
                bool is_insert, const struct gt_request_limits *limits, struct gt_buffer *ret, struct gt_error *error)
{
    struct gt_connection *connection = server->connection;
    const struct functions *curl = &connection->curl;
    const struct gt_address *address = &server->address;
    struct gt_buffer url = {0};
    struct framing framing = {0};
    long http = 0;
    bool has_user = *address->user && !*connection->login.token; /* libcurl looks up the password of this user */
    gt_buffer_printf(&url, "%s://%s%s%s/%s%s", address->is_encrypted ? "https" : "http", has_user ? address->user : "",
                     has_user ? "@" : "", address->host, *parameters ? "?" : "", parameters);
    void *headers = make_headers(connection, is_insert);
    gt_buffer_clear(ret);
    connection->error_text[0] = '\0';
    bool has_memory = !url.failed && headers;
    int code = 0;
    if (has_memory) {
        SET(URL, url.data);
        SET(HEADERS, headers);
        SET(BODY, body->data ? body->data : "");
        SET(BODY_SIZE, (long long)body->length);
        SET(HEADER, take_header);
        SET(HEADER_TO, &framing);
        SET(WRITE, take);
        SET(WRITE_TO, ret);
        SET(TIMEOUT_MS, (long)((limits->seconds > 0 ? limits->seconds : 60) * 1000));
        SET(PROGRESS, is_vain);
        SET(PROGRESS_TO, limits);
        SET(FRESH_CONNECTION, (long)is_insert); /* on a used one, libcurl repeats a request without an answer */
        code = code ? code : curl->easy_perform(handle);
        code = code ? code : curl->easy_getinfo(handle, STATUS_CODE, &http);
        curl->easy_setopt(handle, HEADERS, NULL);
    }
    curl->slist_free_all(headers);
    gt_buffer_release(&url);
    if (!has_memory)
        return gt_error_system(error, ENOMEM, "%s", server->name);
    if (ret->failed)
        return gt_error_set(error, -ret->failed, "%s: its answer is too long", server->name);
    if (!code && (!framing.is_complete || (!framing.has_length && http == 200)))
        return gt_error_set(error, EIO, "%s: its answer ended early", server->name);
    return code ? judge_failure(server, code, error) : (int)http;
}

/* ---- Refusals ---- */

/* Codes of ClickHouse's exceptions (src/Common/ErrorCodes.cpp) by their meaning. */
enum { UNKNOWN_DATABASE = 81 };
static const struct {
    int meaning, code[9];
} exceptions[] = {
    {EINVAL, {16, 47, 53, 62, 115}},                    /* unknown columns, types, syntax, settings */
    {ENOENT, {60, UNKNOWN_DATABASE}},                   /* unknown tables */
    {EACCES, {164, 192, 193, 194, 195, 291, 497, 516}}, /* read-only, users, passwords, addresses, rights */
    {EAGAIN, {202, 216, 252}},                          /* too many queries, the same is running, too many parts */
};

/* EIO: the server may have done a part. */
static int meaning_of(int code, int http)
{
    for (size_t i = 0; code && i < sizeof exceptions / sizeof *exceptions; i++)
        for (int k = 0; exceptions[i].code[k]; k++)
            if (exceptions[i].code[k] == code)
                return exceptions[i].meaning;
    return code                         ? EIO
           : http == 401 || http == 403 ? EACCES
           : http == 404                ? ENOENT
           : http == 429 || http == 503 ? EAGAIN
                                        : EIO;
}

#define WORD_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

/* Quote the first clause of the server's sentence, which may contain names with points. */
static int judge_missing(const struct gt_server *server, int code, const char *sentence, struct gt_error *error)
{
    size_t length = strcspn(sentence, "\n,(.");
    while (sentence[length] == '.' && sentence[length + 1] && strchr(WORD_LETTERS "`", sentence[length + 1]))
        length += 1 + strcspn(sentence + length + 1, "\n,(.");
    const char *database = server->address.database, *quote = database[strspn(database, WORD_LETTERS)] ? "`" : "";
    if (code == UNKNOWN_DATABASE)
        return gt_error_set(
            error, ENOENT,
            "%s: %.*s; an administrator creates it by CREATE DATABASE %s%s%s, then runs gpu-tracker push --init %s",
            server->name, (int)length, sentence, quote, database, quote, server->name);
    return gt_error_set(error, ENOENT, "%s: %.*s; an administrator creates the tables with gpu-tracker push --init %s",
                        server->name, (int)length, sentence, server->name);
}

/* "Code: 60, e.displayText() = DB::Exception: Table ..." */
static int judge_answer(const struct gt_server *server, int http, const struct gt_buffer *answer,
                        struct gt_error *error)
{
    const char *text = answer->data ? answer->data : "", *code = strstr(text, "Code: ");
    int number = code ? atoi(code + strlen("Code: ")) : 0, meaning = meaning_of(number, http);
    const char *sentence = code ? strstr(code, "DB::Exception: ") : NULL;
    sentence = sentence ? sentence + strlen("DB::Exception: ") : *text && number ? text : "it gives no reason";
    const char *what = strstr(sentence, ", e.what()");
    if (meaning == ENOENT && number)
        return judge_missing(server, number, sentence, error);
    return gt_error_set(error, meaning, "%s refuses with status %d: %.*s", server->name, http,
                        what ? (int)(what - sentence) : (int)strcspn(sentence, "\n"), sentence);
}

/* ---- Silence ---- */

static double now(void)
{
    return gt_seconds(gt_clock_monotonic(&gt_clock_system));
}

/* SELECT 1 is sent after half of this time and has the other half. */
static double wait_of(const struct gt_server *server)
{
    return server->address.wait > 5 ? server->address.wait : 5;
}

static bool is_silent(void *context)
{
    struct gt_server *server = context;
    struct gt_connection *connection = server->connection;
    struct gt_buffer question = {0}, answer = {0};
    if (now() < connection->next_check)
        return false;
    int status = gt_buffer_text(&question, "SELECT 1");
    if (status >= 0 && !connection->second)
        status = open_handle(server, &connection->second, NULL);
    const struct gt_request_limits limits = {.seconds = connection->has_answered ? 60 : wait_of(server) / 2};
    if (status >= 0)
        status = post(server, connection->second, "", &question, false, &limits, &answer, NULL);
    gt_buffer_release(&question);
    gt_buffer_release(&answer);
    connection->is_silent = status < 0; /* a refusal is an answer */
    connection->has_answered = true;
    connection->next_check = now() + wait_of(server) / 2;
    return connection->is_silent;
}

void gt_server_watch(struct gt_server *server)
{
    server->limits = (struct gt_request_limits){.seconds = 86400, .is_vain = is_silent, .context = server};
}

/* ---- Requests ---- */

/* Post the body. The parameters are released. */
static int request(struct gt_server *server, struct gt_buffer *parameters, bool is_insert, struct gt_buffer *ret,
                   struct gt_error *error)
{
    struct gt_connection *connection = server->connection;
    struct gt_error problem = {0};
    if (parameters->failed || connection->body.failed) {
        gt_buffer_release(parameters);
        return gt_error_system(error, ENOMEM, "%s", server->name);
    }
    server->requests++;
    server->bytes += connection->body.length;
    connection->asked = now();
    connection->next_check = connection->asked + wait_of(server) / 2;
    int status = post(server, connection->handle, parameters->data, &connection->body, is_insert, &server->limits, ret,
                      &problem);
    gt_buffer_release(parameters);
    connection->has_answered |= status >= 0;
    if (status == -ECANCELED && connection->is_silent)
        return gt_error_set(
            error, ETIMEDOUT,
            "%s does not answer: no whole answer came within %.0f s (?wait=SECONDS in its address waits longer)",
            server->name, now() - connection->asked);
    if (status < 0)
        return gt_error_copy(error, &problem);
    return status != 200 ? judge_answer(server, status, ret, error) : 0;
}

/* Append "name=value" with escapes of a URL. */
static void add_parameter(struct gt_buffer *out, const char *name, const char *value)
{
    gt_buffer_printf(out, "%s%s=", out->length ? "&" : "", name);
    for (; *value; value++) {
        unsigned char c = (unsigned char)*value;
        if (c < 128 && (isalnum(c) || strchr("-._~", c)))
            gt_buffer_char(out, (char)c);
        else
            gt_buffer_printf(out, "%%%02X", c);
    }
}

int gt_server_query(struct gt_server *server, struct gt_buffer *sql, struct gt_answer *ret, struct gt_error *error)
{
    struct gt_buffer parameters = {0};
    *ret = (struct gt_answer){0};
    if (server->explain && !sql->failed)
        server->explain(server->context, sql->data);
    add_parameter(&parameters, "wait_end_of_query", "1"); /* else status 200 may precede a failure */
    add_parameter(&parameters, "database", server->address.database);
    gt_buffer_release(&server->connection->body);
    server->connection->body = *sql;
    *sql = (struct gt_buffer){0};
    int status = request(server, &parameters, false, &ret->text, error);
    ret->next = status < 0 ? NULL : ret->text.data;
    return status;
}

int gt_server_run(struct gt_server *server, struct gt_buffer *sql, struct gt_error *error)
{
    struct gt_answer answer;
    int status = gt_server_query(server, sql, &answer, error);
    gt_answer_release(&answer);
    return status;
}

/* Ask for one value. */
static int ask_value(struct gt_server *server, const char *text, char *ret, size_t size, struct gt_error *error)
{
    struct gt_buffer sql = {0};
    struct gt_answer answer;
    char *field = NULL;
    gt_buffer_text(&sql, text);
    int status = gt_server_query(server, &sql, &answer, error);
    if (status >= 0)
        gt_answer_next(&answer, &field, 1);
    snprintf(ret, size, "%s", field ? field : "");
    gt_answer_release(&answer);
    return status;
}

int gt_server_is_modern(struct gt_server *server, bool *ret, struct gt_error *error)
{
    struct gt_connection *connection = server->connection;
    char version[64];
    int status = connection->major ? 0 : ask_value(server, "SELECT version()", version, sizeof version, error);
    if (status >= 0 && !connection->major && sscanf(version, "%d.%d", &connection->major, &connection->minor) != 2)
        status = gt_error_set(error, EINVAL, "%s does not tell its version as ClickHouse does", server->name);
    *ret = connection->major > 22 || (connection->major == 22 && connection->minor >= 8);
    return status;
}

int gt_server_clock(struct gt_server *server, double *ret, struct gt_error *error)
{
    bool is_modern; /* else only whole seconds */
    char text[64];
    double theirs;
    int status = gt_server_is_modern(server, &is_modern, error);
    if (status < 0)
        return status;
    int64_t before = gt_clock_real(&gt_clock_system);
    status = ask_value(server, is_modern ? "SELECT toUnixTimestamp64Nano(now64(9)) / 1e9" : "SELECT toUInt32(now())",
                       text, sizeof text, error);
    int64_t after = gt_clock_real(&gt_clock_system);
    if (status >= 0 && gt_number_double(text, &theirs) < 0)
        status = gt_error_set(error, EIO, "%s does not tell the time", server->name);
    if (status >= 0)
        *ret = theirs + (is_modern ? 0 : 0.5) - (gt_seconds(before) + gt_seconds(after)) / 2;
    return status;
}

/* Put the statement and the rows after it into one gzip member. */
static int pack(struct gt_buffer *out, const char *sql, const struct gt_buffer *rows)
{
    z_stream stream = {0};
    size_t length = strlen(sql);
    gt_buffer_clear(out);
    if (deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    size_t size = deflateBound(&stream, length + rows->length) + 64;
    int status = gt_buffer_reserve(out, size);
    if (status >= 0) {
        stream.next_out = (Bytef *)out->data;
        stream.avail_out = (uInt)size;
        stream.next_in = (Bytef *)(uintptr_t)sql;
        stream.avail_in = (uInt)length;
        deflate(&stream, Z_NO_FLUSH);
        stream.next_in = (Bytef *)rows->data;
        stream.avail_in = (uInt)rows->length;
        status = deflate(&stream, Z_FINISH) == Z_STREAM_END ? 0 : -ENOMEM;
        out->length = stream.total_out;
    }
    deflateEnd(&stream);
    return status;
}

int gt_server_insert(struct gt_server *server, const char *sql, const struct gt_buffer *rows, const char *identity,
                     struct gt_error *error)
{
    bool is_modern;
    struct gt_buffer parameters = {0}, answer = {0};
    int status = gt_server_is_modern(server, &is_modern, error);
    if (status < 0)
        return status;
    add_parameter(&parameters, "database", server->address.database);
    add_parameter(&parameters, "query_id", identity);
    if (is_modern) { /* synchronous inserts are visible in system.processes */
        add_parameter(&parameters, "async_insert", "0");
        add_parameter(&parameters, "insert_deduplication_token", identity);
    }
    if (pack(&server->connection->body, sql, rows) < 0)
        parameters.failed = -ENOMEM;
    status = request(server, &parameters, true, &answer, error);
    gt_buffer_release(&answer);
    return status;
}

/* ---- Answers ---- */

/* Remove the escapes in place. */
static char *unescape(char *field)
{
    static const char escaped[] = "ntrbf0", meant[] = "\n\t\r\b\f "; /* the texts contain no NUL */
    if (!strcmp(field, "\\N"))
        return NULL;
    char *to = field;
    for (const char *from = field; *from; from++) {
        const char *letter = *from == '\\' && from[1] ? strchr(escaped, from[1]) : NULL;
        from += *from == '\\' && from[1];
        *to++ = letter ? meant[letter - escaped] : *from;
    }
    *to = '\0';
    return field;
}

bool gt_answer_next(struct gt_answer *answer, char *field[], size_t count)
{
    char *line = answer->next, *end = answer->text.data ? answer->text.data + answer->text.length : NULL;
    if (!line || line >= end)
        return false;
    char *stop = memchr(line, '\n', (size_t)(end - line));
    answer->next = stop ? stop + 1 : end;
    if (stop)
        *stop = '\0';
    for (size_t i = 0; i < count; i++) {
        char *one = strsep(&line, "\t");
        field[i] = one ? unescape(one) : NULL;
    }
    return true;
}

void gt_answer_release(struct gt_answer *answer)
{
    gt_buffer_release(&answer->text);
    answer->next = NULL;
}

void gt_sql_text(struct gt_buffer *sql, const char *text)
{
    gt_buffer_char(sql, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            gt_buffer_char(sql, '\\');
        gt_buffer_char(sql, *text);
    }
    gt_buffer_char(sql, '\'');
}
