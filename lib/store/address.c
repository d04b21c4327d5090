#include "store/address.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

static const char *const schemes[] = {"clickhouse://", "clickhouses://"};

enum { PLAIN_PORT = 8123, ENCRYPTED_PORT = 8443 };

#define NAME_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:+-"

static int scheme_of(const char *text)
{
    for (int i = 0; i < 2; i++)
        if (!strncmp(text, schemes[i], strlen(schemes[i])))
            return i;
    return -1;
}

bool gt_is_address(const char *text)
{
    return scheme_of(text) >= 0;
}

int gt_refuse_address(const char *name, struct gt_error *error)
{
    return gt_is_address(name)
               ? gt_error_set(
                     error, EINVAL,
                     "%s: this reads recordings and no server: name those of the job (?keep=1 keeps them in the spool); of a "
                     "job on a server there are report, profile utilization|stragglers|health, sub-track analyze",
                     name)
               : 0;
}

/* Copy a part of the text. `what` names it in errors, `letters` are those it may have; what may hold a password is not told. */
static int copy_part(char *ret, size_t size, const char *begin, size_t length, const char *what, const char *letters,
                     bool is_secret, struct gt_error *error)
{
    if (length >= size)
        return gt_error_set(error, EINVAL, "the address of a server has %s of more than %zu letters", what, size - 1);
    memcpy(ret, begin, length);
    ret[length] = '\0';
    size_t good = strspn(ret, letters);
    if (good < length && is_secret)
        return gt_error_set(error, EINVAL,
                            "%s in the address of a server has a '%c'; letters, digits and %s are possible", what,
                            ret[good], letters + 62);
    if (good < length)
        return gt_error_set(error, EINVAL,
                            "%s \"%s\" in the address of a server has a '%c'; letters, digits and %s are possible",
                            what, ret, ret[good], letters + 62);
    return 0;
}

static int read_port(int *ret, const char *begin, size_t length, struct gt_error *error)
{
    char text[8] = "";
    int64_t port = 0;
    if (length && length < sizeof text) {
        memcpy(text, begin, length);
        if (gt_number_i64(text, &port) == 0 && port > 0 && port < 65536) {
            *ret = (int)port;
            return 0;
        }
    }
    return gt_error_set(error, EINVAL, "\"%.*s\" in the address of a server is not a port", (int)length, begin);
}

static int refuse_password(struct gt_error *error)
{
    return gt_error_set(error, EINVAL,
                        "a password in the address of a server is seen by everybody who lists processes: write it into "
                        "~/.netrc, or a file for --netrc-file or --token-file");
}

/* "[USER@]HOST[:PORT]"; an address of IPv6 has brackets. */
static int read_host(struct gt_address *ret, const char *text, size_t length, struct gt_error *error)
{
    const char *end = text + length, *at = memrchr(text, '@', length), *host = at ? at + 1 : text;
    if (at && memchr(text, ':', (size_t)(at - text)))
        return refuse_password(error);
    int status = at ? copy_part(ret->user, sizeof ret->user, text, (size_t)(at - text), "the user", NAME_LETTERS, true,
                                error)
                    : 0;
    bool has_brackets = host < end && *host == '[';
    const char *close = has_brackets ? memchr(host, ']', (size_t)(end - host)) : NULL;
    const char *colon = memchr(close ? close : host, ':', (size_t)(end - (close ? close : host)));
    const char *host_end = colon ? colon : end;
    if (status >= 0 && host == host_end)
        return gt_error_set(error, EINVAL, "the address of a server names no host: %sHOST/DATABASE", schemes[0]);
    if (status >= 0)
        status = copy_part(ret->host, sizeof ret->host, host, (size_t)(host_end - host), "the host",
                           has_brackets ? NAME_LETTERS "[]" : NAME_LETTERS, false, error);
    if (status >= 0 && colon)
        status = read_port(&ret->port, colon + 1, (size_t)(end - colon - 1), error);
    return status;
}

/* "DATABASE[/JOB[,JOB...]]" */
static int read_names(struct gt_address *ret, const char *text, size_t length, struct gt_error *error)
{
    const char *slash = memchr(text, '/', length);
    size_t database = slash ? (size_t)(slash - text) : length;
    if (!database)
        return gt_error_set(error, EINVAL, "the address of a server names no database: %sHOST/DATABASE", schemes[0]);
    int status = copy_part(ret->database, sizeof ret->database, text, database, "the database", NAME_LETTERS, false,
                           error);
    if (status >= 0 && slash)
        status = copy_part(ret->jobs, sizeof ret->jobs, slash + 1, length - database - 1, "the job", NAME_LETTERS ",",
                           false, error);
    return status;
}

/* ---- Options ------------------------------------------------------------------------------------------------------ */

static int bad_option(const char *name, const char *value, const char *wanted, struct gt_error *error)
{
    return gt_error_set(error, EINVAL, "\"%s=%s\" in the address of a server: %s", name, value, wanted);
}

static int read_number(double *ret, double least, const char *name, const char *value, struct gt_error *error)
{
    double number;
    if (gt_number_double(value, &number) < 0 || !(number >= least))
        return bad_option(name, value, "not a number, or too small", error);
    *ret = number;
    return 0;
}

static int read_path(char ret[PATH_MAX], const char *name, const char *value, struct gt_error *error)
{
    if (!*value || snprintf(ret, PATH_MAX, "%s", value) >= PATH_MAX)
        return bad_option(name, value, "not a file name", error);
    return 0;
}

static int read_option(struct gt_address *ret, char *option, struct gt_error *error)
{
    char *value = strchrnul(option, '=');
    if (*value)
        *value++ = '\0';
    if (!strcmp(option, "flush"))
        return read_number(&ret->flush, 0.1, option, value, error);
    if (!strcmp(option, "wait"))
        return read_number(&ret->wait, 0, option, value, error);
    if (!strcmp(option, "spool-limit"))
        return read_number(&ret->spool_limit, 0, option, value, error);
    if (!strcmp(option, "spool"))
        return read_path(ret->spool, option, value, error);
    if (!strcmp(option, "ca"))
        return read_path(ret->ca, option, value, error);
    if (strcmp(option, "keep") != 0)
        return gt_error_set(error, EINVAL,
                            "\"%s\" is not an option of a server address; use flush, wait, spool, "
                            "spool-limit, keep and ca",
                            option);
    if (strcmp(value, "1") != 0 && strcmp(value, "0") != 0)
        return bad_option(option, value, "0 and 1 are possible", error);
    ret->keep = *value == '1';
    return 0;
}

int gt_address_read(struct gt_address *ret, const char *text, struct gt_error *error)
{
    int scheme = scheme_of(text);
    *ret = (struct gt_address){.flush = 60, .wait = 10, .spool_limit = 1e9};
    if (scheme < 0)
        return gt_error_set(error, EINVAL, "%s is not the address of a server, %s[USER@]HOST[:PORT]/DATABASE", text,
                            schemes[0]);
    ret->is_encrypted = scheme == 1;
    ret->port = scheme == 1 ? ENCRYPTED_PORT : PLAIN_PORT;
    text += strlen(schemes[scheme]);
    const char *question = strchrnul(text, '?'), *slash = memchr(text, '/', (size_t)(question - text));
    const char *host_end = slash ? slash : question, *names = slash ? slash + 1 : question;
    const char *late = strchr(host_end, '@'); /* behind a password with one of these letters */
    if (late && (late < question || !slash))
        return refuse_password(error);
    int status = read_host(ret, text, (size_t)(host_end - text), error);
    if (status >= 0)
        status = read_names(ret, names, (size_t)(question - names), error);
    char options[2 * PATH_MAX], *rest = options, *option;
    if (status >= 0 && snprintf(options, sizeof options, "%s", *question ? question + 1 : "") >= (int)sizeof options)
        return gt_error_set(error, EINVAL, "the options in the address of a server are too long");
    while (status >= 0 && *question && question[1] && (option = strsep(&rest, "&")))
        status = read_option(ret, option, error);
    return status;
}

void gt_address_name(char *ret, size_t size, const struct gt_address *address)
{
    snprintf(ret, size, "%s%s%s%s:%d/%s", schemes[address->is_encrypted], address->user, *address->user ? "@" : "",
             address->host, address->port, address->database);
}
