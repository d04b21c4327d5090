#include "settings.h"

#include <stdio.h>

#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

#define VALUE_LIST(key) options->key.value
#define VALUE_TEXT(key) options->key
#define VALUE_PATH VALUE_TEXT
#define VALUE_WORDS VALUE_TEXT
#define VALUE_CHOICE VALUE_TEXT
#define VALUE_NUMBER VALUE_TEXT
#define VALUE_INTEGER VALUE_TEXT
#define VALUE_FLAG VALUE_TEXT

struct gt_tracker_options settings_tracker(const struct options *options)
{
    struct gt_tracker_options ret = GT_INIT(struct gt_tracker_options);
#define GT_OPTION(member, key, type, ...) ret.member = VALUE_##type(key);
#include "schema/option.def"
    ret.machine_root = options->root;
    return ret;
}

int settings_keep_files(const struct gt_tracker_options *settings, struct gt_error *error)
{
    int status = settings->power_model ? gt_given_file_keep(settings->power_model, error) : 0;
    return status < 0 || !settings->carbon_file ? status : gt_given_file_keep(settings->carbon_file, error);
}

struct gt_trace_request request_of(const struct options *options)
{
    struct gt_trace_request request = GT_INIT(struct gt_trace_request);
    request.start = options->start;
    request.end = options->end;
    request.by_step = options->unit && strcmp(options->unit, "step") == 0;
    request.suffixes = (const char *const *)options->suffix.value;
    request.select = options->select;
    request.node = options->node;
    request.threads = options->threads;
    return request;
}

void name_input(int count, char **operands)
{
    static char input[] = "/dev/stdin";
    for (int i = 0; i < count; i++)
        if (strcmp(operands[i], "-") == 0)
            operands[i] = input;
}

static void print_question(void *context, const char *sql)
{
    (void)context;
    printf("%s;\n", sql);
    fflush(stdout);
}

struct gt_folder_options settings_job(const struct options *options)
{
    struct gt_folder_options settings = GT_INIT(struct gt_folder_options);
    settings.netrc_file = options->netrc_file;
    settings.token_file = options->token_file;
    settings.explain = options->explain ? print_question : NULL;
    return settings;
}
