#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gpu_tracker.h"
#include "http.h"

static const struct {
    const char *type, *version; /* in the header; version NULL: any */
    struct http_form form;
} forms[] = {
    {"application/openmetrics-text",
     "1.0.0",
     {"application/openmetrics-text;version=1.0.0;charset=utf-8", GT_EXPOSITION_OPENMETRICS}},
    {"application/openmetrics-text",
     "0.0.1",
     {"application/openmetrics-text;version=0.0.1;charset=utf-8", GT_EXPOSITION_OPENMETRICS}},
    {"text/plain", NULL, {"text/plain;version=0.0.4;charset=utf-8", GT_EXPOSITION_TEXT}},
};
enum { FORMS = sizeof forms / sizeof *forms };

/* The value of a parameter ";name=value" within `range`, or NULL. */
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

/* How much a media range ("text/plain;version=0.0.4;q=0.5") wants a form: 0 not at all. */
static double wish(const char *range, size_t length, int form)
{
    const char *quality = parameter(range, length, "q"), *version = parameter(range, length, "version");
    size_t type = strlen(forms[form].type);
    if (length < type || strncasecmp(range, forms[form].type, type) || (range[type] && strchr("/-+", range[type])))
        return 0;
    if (version && forms[form].version) {
        version += *version == '"';
        if (strncmp(version, forms[form].version, strlen(forms[form].version)))
            return 0;
    }
    double value = quality ? strtod(quality, NULL) : 1;
    return value > 0 && value <= 1 ? value : value > 1 ? 1 : 0;
}

/* The text form is also what anything else gets, such as a browser. Of equal wishes the earlier form of the table wins. */
struct http_form http_accept(const char *header)
{
    double best = 0;
    int chosen = FORMS - 1;
    for (const char *at = header ? header : ""; *at;) {
        at += strspn(at, ", \t");
        size_t length = strcspn(at, ",");
        for (int i = 0; i < FORMS; i++) {
            double value = wish(at, length, i);
            if (value > best || (value == best && value > 0 && i < chosen)) {
                best = value;
                chosen = i;
            }
        }
        at += length;
    }
    return forms[chosen].form;
}
