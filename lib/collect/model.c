#include "collect/model.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"

enum { MOST_BYTES = 16384 };

static const double MOST_WATTS = 1e5;

static char *strip(char *text)
{
    static const char blanks[] = " \t\r";
    text += strspn(text, blanks);
    for (size_t length = strlen(text); length && strchr(blanks, text[length - 1]); length--)
        text[length - 1] = '\0';
    return text;
}

static bool is_watts(double watts)
{
    return watts >= 0 && watts <= MOST_WATTS;
}

/* Keep the points sorted. False: there is one at that ratio, or there are too many. */
static bool add_point(struct gt_model *model, double ratio, double watts)
{
    int at = model->count;
    if (model->count == GT_MODEL_POINTS || !(ratio >= 0 && ratio <= 1) || !is_watts(watts))
        return false;
    for (int i = 0; i < model->count; i++)
        if (model->ratio[i] == ratio)
            return false;
    for (; at > 0 && model->ratio[at - 1] > ratio; at--) {
        model->ratio[at] = model->ratio[at - 1];
        model->watts[at] = model->watts[at - 1];
    }
    model->ratio[at] = ratio;
    model->watts[at] = watts;
    model->count++;
    return true;
}

static bool take(struct gt_model *model, const char *key, char *value)
{
    double number, watts;
    if (!strcmp(key, "name")) {
        snprintf(model->name, sizeof model->name, "%s", value);
        return true;
    }
    if (!strcmp(key, "point")) {
        char *second = value + strcspn(value, " \t");
        if (!*second)
            return false;
        *second++ = '\0';
        return gt_number_double(value, &number) == 0 && gt_number_double(strip(second), &watts) == 0 &&
               add_point(model, number, watts);
    }
    if (gt_number_double(value, &number) < 0 || !is_watts(number))
        return false;
    if (!strcmp(key, "dram_watts"))
        model->dram_watts = number;
    else if (!strcmp(key, "idle_watts"))
        return add_point(model, 0, number);
    else
        return !strcmp(key, "max_watts") && add_point(model, 1, number);
    return true;
}

static int parse(struct gt_model *model, const char *path, char *text, struct gt_error *error)
{
    int number = 1;
    for (char *line = text, *next; line; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        line[strcspn(line, "#")] = '\0';
        char *key = strip(line), *equals = strchr(key, '=');
        if (!*key)
            continue;
        if (!equals)
            return gt_error_set(error, EINVAL, "%s: line %d: \"%.60s\" is not KEY = VALUE", path, number, key);
        *equals = '\0';
        if (!take(model, strip(key), strip(equals + 1)))
            return gt_error_set(error, EINVAL,
                                "%s: line %d: \"%.40s\" is not a setting of a power model, or its value "
                                "is wrong",
                                path, number, key);
    }
    if (model->count < 2 || model->ratio[0] > 0 || model->ratio[model->count - 1] < 1)
        return gt_error_set(error, EINVAL, "%s: a power model needs idle_watts and max_watts", path);
    return 0;
}

static int read_file(struct gt_model *model, const char *path, struct gt_error *error)
{
    char text[MOST_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text);
    int code = errno;
    if (fd >= 0)
        close(fd);
    if (length < 0)
        return gt_error_system(error, code, "%s", path);
    if (length == sizeof text || memchr(text, 0, (size_t)length))
        return gt_error_set(error, EINVAL, "%s: this is not a power model", path);
    text[length] = '\0';
    return parse(model, path, text, error);
}

int gt_model_read(struct gt_model *ret, const char *path, double tdp, struct gt_error *error)
{
    *ret = (struct gt_model){.dram_watts = NAN};
    if (path) {
        int status = read_file(ret, path, error);
        if (status >= 0 && !*ret->name) {
            const char *slash = strrchr(path, '/');
            snprintf(ret->name, sizeof ret->name, "%.63s", slash ? slash + 1 : path);
        }
        return status;
    }
    if (!is_watts(tdp) || tdp <= 0)
        return gt_error_set(error, EINVAL, "the TDP must be a number of watts above 0");
    add_point(ret, 0, 0);
    add_point(ret, 1, tdp);
    snprintf(ret->name, sizeof ret->name, "TDP of %g W", tdp);
    return 0;
}

double gt_model_watts(const struct gt_model *model, double ratio)
{
    int i = 1;
    double at = fmin(fmax(ratio, 0), 1);
    while (i + 1 < model->count && model->ratio[i] < at)
        i++;
    double part = (at - model->ratio[i - 1]) / (model->ratio[i] - model->ratio[i - 1]);
    return model->watts[i - 1] + part * (model->watts[i] - model->watts[i - 1]);
}
