/* doctor and schema. */
#include <stdlib.h>
#include <unistd.h>

#include "api/program.h"
#include "base/buffer.h"
#include "gpu_tracker.h"
#include "message.h"
#include "option.h"
#include "output.h"

static int print_fixes(const struct options *options)
{
    struct gt_error error = {0};
    struct options as_text = *options; /* a script may have any suffix */
    struct output output;
    char *text = NULL;
    size_t length = 0;
    if (options->format)
        return say_usage("--fix prints lines for a shell, and has no --format");
    as_text.format = "text";
    int status = output_prepare(&output, &as_text, STDOUT_FILENO);
    if (status)
        return status;
    status = gt_doctor_fix(options->root, &text, &length, &error);
    if (status < 0)
        return say_failure(status, &error);
    status = output_text(&output, text, length);
    free(text);
    return status;
}

/* A missing folder counts as one: opening it reports the error. */
static bool is_root(const char *path)
{
    static const char *const parts[] = {"proc", "sys"};
    bool is_one = access(path, F_OK) < 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !is_one; i++) {
        struct gt_buffer part = {0};
        gt_buffer_printf(&part, "%s/%s", path, parts[i]);
        is_one = part.data && access(part.data, F_OK) == 0;
        gt_buffer_release(&part);
    }
    return is_one;
}

static int doctor(const struct options *options, int count, char **operands)
{
    (void)count;
    (void)operands;
    struct output output;
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    struct gt_tracker_options settings = settings_tracker(options);
    if (options->root && !is_root(options->root))
        return say_usage("--root %s: there is neither proc nor sys in it, as the root of a machine has", options->root);
    if (options->fix)
        return print_fixes(options);
    int status = output_prepare(&output, options, STDOUT_FILENO);
    if (status)
        return status;
    status = settings_keep_files(&settings, &error);
    if (status >= 0)
        status = gt_doctor_report(&settings, &report, &error);
    if (status < 0)
        return say_unread(status, &error, NULL);
    return output_result(&output, status, report, &error);
}

const struct command command_doctor = {
    .name = "doctor",
    .synopsis = "",
    .summary = "Show the source of each metric on this machine, and how to enable missing ones",
    .operand = OPERAND_NONE,
    .run = doctor,
};

static int schema(const struct options *options, int count, char **operands)
{
    struct output output;
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    (void)count;
    (void)operands;
    int status = output_prepare(&output, options, STDOUT_FILENO);
    if (status)
        return status;
    status = gt_schema_report(&report, &error);
    return output_result(&output, status, report, &error);
}

const struct command command_schema = {
    .name = "schema",
    .synopsis = "",
    .summary = "List all metrics and the columns of recordings",
    .operand = OPERAND_NONE,
    .run = schema,
};
