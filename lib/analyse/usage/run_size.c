#include "analyse/usage/run_size.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "store/field.h"

/* The number that begins there: "1000", "1e6", "0.5"; NaN: none does. */
static double number_at(const char *text)
{
    return isdigit((unsigned char)*text) ? strtod(text, NULL) : NAN;
}

static double last_number(const char *name)
{
    const char *end = strrchr(name, '.'), *at = end && end > name ? end : name + strlen(name);
    while (at > name && !isdigit((unsigned char)at[-1]))
        at--;
    while (at > name &&
           (isdigit((unsigned char)at[-1]) || (at[-1] == '.' && at - 1 > name && isdigit((unsigned char)at[-2]))))
        at--;
    return number_at(at);
}

static double number_behind(const char *text, const char *word)
{
    double value = NAN;
    for (const char *at = text; *word && isnan(value) && (at = strstr(at, word)); at++)
        value = number_at(at + strlen(word) + strspn(at + strlen(word), " ="));
    return value;
}

/* The command's words are divided by blanks: names that hold some are not found. */
static double bytes_of_files(const char *command)
{
    char words[sizeof((struct gt_machine *)0)->command], *rest = words;
    double bytes = 0;
    struct stat about;
    snprintf(words, sizeof words, "%s", command);
    strsep(&rest, " "); /* the program */
    for (const char *word; (word = strsep(&rest, " "));)
        if (*word && stat(word, &about) == 0 && S_ISREG(about.st_mode))
            bytes += (double)about.st_size;
    return bytes > 0 ? bytes : NAN;
}

static double field_of(const char *name, const struct gt_machine *machine)
{
    int index = gt_field_find(gt_machine_fields, gt_machine_field_count, name);
    return index < 0 || gt_machine_fields[index].kind == GT_FIELD_TEXT
               ? NAN
               : gt_field_number(&gt_machine_fields[index], machine);
}

int gt_run_size(double *ret, const char *variable, const char *path, const struct gt_machine *machine,
                struct gt_error *error)
{
    if (!strcmp(variable, "name"))
        *ret = last_number(gt_file_name(path));
    else if (!strncmp(variable, "name:", 5))
        *ret = number_behind(gt_file_name(path), variable + 5);
    else if (!strncmp(variable, "command:", 8))
        *ret = number_behind(machine->command, variable + 8);
    else if (!strcmp(variable, "size"))
        *ret = bytes_of_files(machine->command);
    else
        *ret = field_of(variable, machine);
    if (*ret > 0)
        return 0;
    return gt_error_set(error, EINVAL,
                        "%s: \"%s\" names no size of this run: name, name:TEXT, command:WORD, size or a static field",
                        path, variable);
}
