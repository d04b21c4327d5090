#include "engine/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/number.h"

struct gt_server {
    struct gt_http *http;
    struct gt_address address;
    char name[800];
    struct gt_http_limits limits;
    struct gt_login login;
    struct gt_http *other; /* a connection of its own for signs of life; NULL: not needed yet */
    double asked,
        next_try;   /* when the question was asked, and when a sign of life will be asked for; of the monotonic clock */
    bool is_heard;  /* it has answered something */
    bool is_silent; /* it does not even give a sign of life */
    struct gt_dialect dialect; /* major 0: not asked yet */
    struct gt_buffer body, answer;
    unsigned long long requests, bytes;
    void (*tell)(void *context, const char *sql);
    void *context;
};

/* Codes of ClickHouse's exceptions: src/Common/ErrorCodes.cpp. */
enum {
    UNKNOWN_IDENTIFIER = 47,
    SYNTAX_ERROR = 62,
    NO_SUCH_COLUMN = 16,
    TYPE_MISMATCH = 53,
    UNKNOWN_TABLE = 60,
    UNKNOWN_DATABASE = 81,
    UNKNOWN_SETTING = 115,
    READONLY = 164,
    UNKNOWN_USER = 192,
    WRONG_PASSWORD = 193,
    REQUIRED_PASSWORD = 194,
    NO_ADDRESS_ALLOWED = 195,
    TOO_MANY_QUERIES = 202,
    QUERY_RUNS_ALREADY = 216,
    TOO_MANY_PARTS = 252,
    DATABASE_DENIED = 291,
    ACCESS_DENIED = 497,
    AUTHENTICATION_FAILED = 516,
};

const struct gt_dialect gt_dialect_today = {24, 8};

bool gt_dialect_is_modern(const struct gt_dialect *dialect)
{
    return dialect->major > 22 || (dialect->major == 22 && dialect->minor >= 8);
}

bool gt_server_refused(int status)
{
    return status == -EACCES || status == -ENOENT || status == -EINVAL;
}

/* A plain table: what a code of an exception means for us; EIO: nothing is known of what was done. */
static int meaning_of(int code)
{
    switch (code) {
    case UNKNOWN_USER:
    case WRONG_PASSWORD:
    case REQUIRED_PASSWORD:
    case NO_ADDRESS_ALLOWED:
    case DATABASE_DENIED:
    case READONLY:
    case ACCESS_DENIED:
    case AUTHENTICATION_FAILED: return EACCES;
    case UNKNOWN_TABLE:
    case UNKNOWN_DATABASE: return ENOENT;
    case UNKNOWN_IDENTIFIER:
    case NO_SUCH_COLUMN:
    case TYPE_MISMATCH:
    case UNKNOWN_SETTING:
    case SYNTAX_ERROR: return EINVAL;
    case TOO_MANY_QUERIES:
    case QUERY_RUNS_ALREADY:
    case TOO_MANY_PARTS: return EAGAIN;
    default: return EIO;
    }
}

#define WORD_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

/* How long the first clause is. In names of tables there are points. */
static int clause_of(const char *sentence)
{
    size_t length = strcspn(sentence, "\n,(.");
    while (sentence[length] == '.' && sentence[length + 1] && strchr(WORD_LETTERS "`", sentence[length + 1]))
        length += 1 + strcspn(sentence + length + 1, "\n,(.");
    return (int)length;
}

static int judge_missing(const struct gt_server *server, int code, const char *sentence, struct gt_error *error)
{
    int length = clause_of(sentence);
    const char *database = server->address.database, *quote = database[strspn(database, WORD_LETTERS)] ? "`" : "";
    if (code == UNKNOWN_DATABASE)
        return gt_error_set(
            error, ENOENT,
            "%s: %.*s; an administrator creates it by CREATE DATABASE %s%s%s, then runs gpu-tracker push --init %s",
            server->name, length, sentence, quote, database, quote, server->name);
    return gt_error_set(error, ENOENT, "%s: %.*s; an administrator creates the tables with gpu-tracker push --init %s",
                        server->name, length, sentence, server->name);
}

/* "Code: 60, e.displayText() = DB::Exception: Table ..." */
static int judge_answer(const struct gt_server *server, int status, struct gt_buffer *answer, struct gt_error *error)
{
    const char *text = answer->data ? answer->data : "";
    const char *code = strstr(text, "Code: ");
    int number = code ? atoi(code + strlen("Code: ")) : 0;
    int meaning = number                           ? meaning_of(number)
                  : status == 401 || status == 403 ? EACCES
                  : status == 404                  ? ENOENT
                  : status == 429 || status == 503 ? EAGAIN
                                                   : EIO;
    const char *sentence = code ? strstr(code, "DB::Exception: ") : NULL;
    sentence = sentence ? sentence + strlen("DB::Exception: ") : *text && number ? text : "it gives no reason";
    const char *what = strstr(sentence, ", e.what()");
    int length = what ? (int)(what - sentence) : (int)strcspn(sentence, "\n");
    if (meaning == ENOENT && number)
        return judge_missing(server, number, sentence, error);
    return gt_error_set(error, meaning, "%s refuses with status %d: %.*s", server->name, status, length, sentence);
}

/* ---- Signs of life ---- */

static const double DAY = 86400, SHORTEST = 5, MINUTE = 60;

static double now(void)
{
    return gt_seconds(gt_clock_monotonic(&gt_clock_system));
}

/* Half of it goes by before a sign of life is asked for, which has the other half. */
static double patience_of(const struct gt_server *server)
{
    return server->address.wait > SHORTEST ? server->address.wait : SHORTEST;
}

static bool gives_sign(struct gt_server *server)
{
    struct gt_buffer question = {0}, answer = {0};
    const struct gt_http_limits limits = {.seconds = server->is_heard ? MINUTE : patience_of(server) / 2};
    int status = gt_buffer_text(&question, "SELECT 1");
    if (status >= 0 && !server->other)
        status = gt_http_open(&server->other, &server->address, &server->login, NULL);
    if (status >= 0)
        status = gt_http_post(server->other,
                              &(struct gt_http_request){.parameters = "", .body = &question, .limits = limits}, &answer,
                              NULL);
    gt_buffer_release(&question);
    gt_buffer_release(&answer);
    return status >= 0; /* a refusal is one, too */
}

static bool is_silent(void *context)
{
    struct gt_server *server = context;
    if (now() < server->next_try)
        return false;
    server->is_silent = !gives_sign(server);
    server->is_heard = true;
    server->next_try = now() + patience_of(server) / 2;
    return server->is_silent;
}

void gt_server_watch(struct gt_server *server)
{
    server->limits = (struct gt_http_limits){.seconds = DAY, .is_vain = is_silent, .context = server};
}

int gt_server_open(struct gt_server **ret, const struct gt_address *address, const struct gt_login_files *files,
                   struct gt_error *error)
{
    struct gt_server *server = calloc(1, sizeof *server);
    if (!server)
        return gt_error_system(error, ENOMEM, "%s", address->host);
    server->address = *address;
    gt_address_name(server->name, sizeof server->name, address);
    int status = gt_login_find(&server->login, files, error);
    if (status >= 0)
        status = gt_http_open(&server->http, address, &server->login, error);
    if (status < 0)
        gt_server_close(server);
    else
        *ret = server;
    return status;
}

void gt_server_close(struct gt_server *server)
{
    if (!server)
        return;
    gt_http_close(server->http);
    gt_http_close(server->other);
    gt_buffer_release(&server->body);
    gt_buffer_release(&server->answer);
    free(server);
}

void gt_server_limit(struct gt_server *server, const struct gt_http_limits *limits)
{
    server->limits = *limits;
}

const char *gt_server_name(const struct gt_server *server)
{
    return server->name;
}

const struct gt_address *gt_server_address(const struct gt_server *server)
{
    return &server->address;
}

void gt_server_traffic(const struct gt_server *server, unsigned long long *requests, unsigned long long *bytes)
{
    *requests = server->requests;
    *bytes = server->bytes;
}

/* ---- Requests ---- */

static int post(struct gt_server *server, struct gt_http_request *request, struct gt_buffer *ret,
                struct gt_error *error)
{
    server->requests++;
    request->limits = server->limits;
    server->bytes += request->body->length;
    struct gt_error problem = {0};
    server->asked = now();
    server->next_try = server->asked + patience_of(server) / 2;
    int status = gt_http_post(server->http, request, ret, &problem);
    server->is_heard |= status >= 0;
    if (status == -ECANCELED && server->is_silent)
        return gt_error_set(
            error, ETIMEDOUT,
            "%s does not answer: no whole answer came within %.0f s (?wait=SECONDS in its address waits longer)",
            server->name, now() - server->asked);
    if (status < 0)
        return gt_error_set(error, -status, "%s", problem.text);
    return status != 200 ? judge_answer(server, status, ret, error) : 0;
}

void gt_server_explain(struct gt_server *server, void (*tell)(void *context, const char *sql), void *context)
{
    server->tell = tell;
    server->context = context;
}

int gt_server_ask(struct gt_server *server, const char *sql, struct gt_buffer *ret, struct gt_error *error)
{
    struct gt_buffer parameters = {0};
    if (server->tell)
        server->tell(server->context, sql);
    gt_buffer_text(&parameters,
                   "wait_end_of_query=1&database="); /* else a failure midway would come behind status 200 */
    gt_http_escape(&parameters, server->address.database);
    gt_buffer_clear(&server->body);
    int failed = gt_buffer_text(&server->body, sql);
    int status = failed || parameters.failed
                     ? gt_error_system(error, ENOMEM, "%s", server->name)
                     : post(server, &(struct gt_http_request){.parameters = parameters.data, .body = &server->body},
                            ret, error);
    gt_buffer_release(&parameters);
    return status;
}

int gt_server_run(struct gt_server *server, const char *sql, struct gt_error *error)
{
    return gt_server_ask(server, sql, &server->answer, error);
}

int gt_server_ask_number(struct gt_server *server, const char *sql, long long *ret, struct gt_error *error)
{
    int status = gt_server_ask(server, sql, &server->answer, error);
    if (status >= 0 && server->answer.length)
        *ret = atoll(server->answer.data);
    else if (status >= 0)
        status = gt_error_set(error, EIO, "%s gives an empty answer", server->name);
    return status;
}

int gt_server_dialect(struct gt_server *server, struct gt_dialect *ret, struct gt_error *error)
{
    int status = server->dialect.major ? 0 : gt_server_ask(server, "SELECT version()", &server->answer, error);
    if (status < 0)
        return status;
    if (!server->dialect.major && sscanf(server->answer.data ? server->answer.data : "", "%d.%d",
                                         &server->dialect.major, &server->dialect.minor) != 2)
        return gt_error_set(error, EINVAL, "%s does not tell its version as ClickHouse does", server->name);
    *ret = server->dialect;
    return 0;
}

int gt_server_clock(struct gt_server *server, double *offset, double *error_bound, struct gt_error *error)
{
    struct gt_dialect dialect;
    int status = gt_server_dialect(server, &dialect, error);
    if (status < 0)
        return status;
    bool has_fractions = gt_dialect_is_modern(&dialect);
    double theirs;
    int64_t before = gt_clock_real(&gt_clock_system);
    status = gt_server_ask(server,
                           has_fractions ? "SELECT toUnixTimestamp64Nano(now64(9)) / 1e9" : "SELECT toUInt32(now())",
                           &server->answer, error);
    int64_t after = gt_clock_real(&gt_clock_system);
    if (status < 0)
        return status;
    if (server->answer.data)
        server->answer.data[strcspn(server->answer.data, "\n")] = '\0';
    if (gt_number_double(server->answer.data ? server->answer.data : "", &theirs) < 0)
        return gt_error_set(error, EIO, "%s does not tell the time", server->name);
    double middle = (gt_seconds(before) + gt_seconds(after)) / 2, half = gt_seconds(after - before) / 2;
    *offset = theirs + (has_fractions ? 0 : 0.5) - middle;
    *error_bound = half + (has_fractions ? 0 : 0.5); /* whole seconds alone */
    return 0;
}

/* ---- Inserts ---- */

/* One member of gzip holds the statement and the rows behind it. */
static int pack(struct gt_buffer *out, const char *sql, const struct gt_buffer *rows)
{
    z_stream stream = {0};
    size_t length = strlen(sql);
    gt_buffer_clear(out);
    if (deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    size_t most = deflateBound(&stream, length + rows->length) + 64;
    int status = gt_buffer_reserve(out, most);
    if (status >= 0) {
        stream.next_out = (Bytef *)out->data;
        stream.avail_out = (uInt)most;
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
    struct gt_dialect dialect;
    struct gt_buffer parameters = {0};
    int status = gt_server_dialect(server, &dialect, error);
    if (status < 0)
        return status;
    gt_buffer_text(&parameters, "database=");
    gt_http_escape(&parameters, server->address.database);
    gt_buffer_text(&parameters, "&query_id=");
    gt_http_escape(&parameters, identity);
    if (gt_dialect_is_modern(&dialect)) { /* what is under way has to be seen under its name, and is not sent twice */
        gt_buffer_text(&parameters, "&async_insert=0&insert_deduplication_token=");
        gt_http_escape(&parameters, identity);
    }
    if (parameters.failed || pack(&server->body, sql, rows) < 0)
        status = gt_error_system(error, ENOMEM, "%s", server->name);
    else
        status = post(server,
                      &(struct gt_http_request){
                          .parameters = parameters.data, .body = &server->body, .is_packed = true, .is_once = true},
                      &server->answer, error);
    gt_buffer_release(&parameters);
    return status;
}

/* ---- Answers ---- */

void gt_answer_begin(struct gt_answer *answer, struct gt_buffer *text)
{
    answer->next = text->data;
    answer->end = text->data ? text->data + text->length : NULL;
}

static char letter_of(char escaped)
{
    switch (escaped) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'b': return '\b';
    case 'f': return '\f';
    case '0': return ' '; /* a NUL: no text of ours has one */
    default: return escaped;
    }
}

static char *unescape(char *field)
{
    if (!strcmp(field, "\\N"))
        return NULL;
    char *to = field;
    for (const char *from = field; *from; from++)
        *to++ = *from == '\\' && from[1] ? letter_of(*++from) : *from;
    *to = '\0';
    return field;
}

bool gt_answer_next(struct gt_answer *answer, char *field[], size_t count)
{
    if (answer->next >= answer->end)
        return false;
    char *line = answer->next, *stop = memchr(line, '\n', (size_t)(answer->end - line));
    answer->next = stop ? stop + 1 : answer->end;
    if (stop)
        *stop = '\0';
    for (size_t i = 0; i < count; i++) {
        char *one = strsep(&line, "\t");
        field[i] = one ? unescape(one) : NULL;
    }
    return true;
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
