#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/program.h"
#include "api/tracker.h"
#include "collect/collector.h"
#include "collect/energy/meter.h"
#include "collect/energy/model.h"
#include "collect/process/memory.h"
#include "collect/process/process.h"
#include "sample/machine.h"
#include "schema/unit.h"
#include "store/type.h"

#define TEXT_TEXT(member, fallback) {offsetof(struct gt_tracker_options, member), fallback},
#define TEXT_PATH(member, fallback) TEXT_TEXT(member, fallback)
#define TEXT_WORDS(member, fallback) TEXT_TEXT(member, fallback)
#define TEXT_CHOICE(member, fallback) TEXT_TEXT(member, fallback)
#define TEXT_NUMBER(...)
#define TEXT_INTEGER(...)
#define TEXT_FLAG(...)
#define TEXT_LIST(...)

/* Every text and its place, so that copying, filling in and freeing are one loop each. */
static const struct {
    size_t offset;
    const char *fallback;
} texts[] = {
#define GT_OPTION(member, key, type, ...) TEXT_##type(member, NULL)
#define GT_OPTION_OR(fallback, member, key, type, ...) TEXT_##type(member, #fallback)
#include "schema/option.def"
    TEXT_TEXT(machine_root, NULL) TEXT_TEXT(mark, NULL) TEXT_TEXT(command, NULL)};
enum { TEXTS = sizeof texts / sizeof *texts };

static const char **text_at(struct gt_tracker_options *options, int i)
{
    return (const char **)((char *)options + texts[i].offset);
}

void gt_tracker_options_release(struct gt_tracker_options *options)
{
    for (int i = 0; i < TEXTS; i++)
        free((char *)*text_at(options, i));
    for (const char *const *library = options->libraries; library && *library; library++)
        free((char *)*library);
    free((void *)options->libraries);
    free((void *)options->experiment);
    *options = (struct gt_tracker_options){0};
}

static int copy_libraries(struct gt_tracker_options *options)
{
    const char *const *given = options->libraries;
    size_t count = 0;
    while (given && given[count])
        count++;
    char **copy = calloc(count + 1, sizeof *copy);
    options->libraries = (const char *const *)copy;
    if (!copy)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (!(copy[i] = strdup(given[i])))
            return -ENOMEM;
    return 0;
}

#define FILL_NUMBER(member, fallback) \
    if (options->member == 0)         \
        options->member = fallback;
#define FILL_TEXT(...)
#define FILL_CHOICE(...)

static void fill_numbers(struct gt_tracker_options *options)
{
#define GT_OPTION(...)
#define GT_OPTION_OR(fallback, member, key, type, ...) FILL_##type(member, fallback)
#include "schema/option.def"
}

int gt_tracker_options_copy(struct gt_tracker_options *ret, const struct gt_tracker_options *options,
                            struct gt_error *error)
{
    gt_own(ret, sizeof *ret, options);
    int status = 0;
    for (int i = 0; i < TEXTS; i++) {
        const char **text = text_at(ret, i);
        const char *given = *text && **text ? *text : texts[i].fallback;
        *text = given ? strdup(given) : NULL;
        if (given && !*text)
            status = -ENOMEM;
    }
    struct gt_experiment_options *experiment = ret->experiment ? malloc(sizeof *experiment) : NULL;
    if (experiment)
        *experiment = *ret->experiment;
    if (copy_libraries(ret) < 0 || (ret->experiment && !experiment))
        status = -ENOMEM;
    ret->experiment = experiment;
    fill_numbers(ret);
    if (status < 0) {
        gt_tracker_options_release(ret);
        return gt_error_system(error, ENOMEM, "tracker options");
    }
    return 0;
}

/* Reads the files of meters and models once, so that errors are reported before the launch. */
static int check_power(const struct gt_tracker_options *options, struct gt_error *error)
{
    struct gt_model model;
    struct gt_meter *meter = NULL;
    int status = 0;
    if (options->power_model && options->cpu_tdp != 0)
        return gt_error_set(error, EINVAL, "a power model and a TDP exclude each other");
    if (options->power_model || options->cpu_tdp != 0)
        status = gt_model_read(&model, options->power_model, options->cpu_tdp, error);
    if (status >= 0 && options->power_meter)
        status = gt_meter_open(&meter, options->power_meter, error);
    gt_meter_close(meter);
    return status;
}

static int check_brand(const char *brand, struct gt_error *error)
{
    char known[200] = "";
    const char *last = NULL;
    for (size_t i = 0; i < gt_collector_type_count; i++) {
        const char *other = gt_collector_types[i]->brand;
        size_t length = strlen(known);
        if (!other)
            continue;
        if (!strcmp(other, brand))
            return 0;
        if (last)
            snprintf(known + length, sizeof known - length, "%s%s", length ? ", " : "", last);
        last = other;
    }
    return gt_error_set(error, EINVAL, "\"%s\" is not a GPU brand; choose %s or %s", brand, known, last);
}

static int check_values(const struct gt_tracker_options *options, struct gt_error *error)
{
    double factor;
    if (!(options->sleep_time >= 0.001 && options->sleep_time <= 86400))
        return gt_error_set(error, EINVAL, "the sleep time must be from 0.001 to 86400 seconds");
    const struct gt_experiment_options *experiment = options->experiment;
    if (experiment && (!(experiment->measurement_period > 0) || experiment->measurement_period > 1e9))
        return gt_error_set(error, EINVAL, "the measurement period must be a number of seconds");
    if (options->expected_cores < 0)
        return gt_error_set(error, EINVAL, "the number of expected cores must be at least 1");
    if (gt_idle_policy_find(options->idle) < 0)
        return gt_error_set(error, EINVAL, "\"%s\" is not a policy for idle energy; choose share, exclude or all",
                            options->idle);
    int status = gt_memory_method_find(options->memory, error);
    if (status >= 0 && options->gpu_brand)
        status = check_brand(options->gpu_brand, error);
    if (status >= 0)
        status = gt_collect_library_check(options->libraries, error);
    if (status >= 0)
        status = check_power(options, error);
    if (status >= 0)
        status = gt_unit_memory(options->ram_unit, &factor, error);
    if (status >= 0)
        status = gt_cost_read(&(struct gt_machine){0},
                              &(struct gt_cost){options->carbon_intensity, options->carbon_file, options->price},
                              error);
    if (status >= 0)
        status = gt_unit_memory(options->gpu_ram_unit, &factor, error);
    if (status >= 0)
        status = gt_unit_time(options->time_unit, &factor, error);
    return status;
}

/* A job in numbers that mean other processes cannot be tracked. */
static int check_machine(const struct gt_tracker_options *options, struct gt_error *error)
{
    struct gt_root root;
    int status = gt_root_open(&root, options->machine_root, error);
    if (status < 0)
        return status;
    status = gt_pid_namespace_check(&root, error);
    gt_root_close(&root);
    return status;
}

int gt_tracker_check_values(const struct gt_tracker_options *options, struct gt_error *error)
{
    struct gt_tracker_options copy;
    int status = gt_tracker_options_copy(&copy, options, error);
    if (status < 0)
        return status;
    status = check_values(&copy, error);
    gt_tracker_options_release(&copy);
    return status;
}

/* `path` is `name` with a suffix: the name alone is in use for something else. */
static int check_place(const char *name, const char *path, struct gt_error *error)
{
    struct stat facts;
    if (strcmp(name, path) == 0 || stat(name, &facts) < 0)
        return 0;
    if (S_ISDIR(facts.st_mode))
        return gt_error_set(error, EINVAL, "\"%s\" is a folder: name a file in it, as in %s/run.sqlite", name, name);
    return S_ISREG(facts.st_mode)
               ? 0
               : gt_error_set(error, EINVAL, "\"%s\" is a device: recordings are regular files", name);
}

static int check_recording(const struct gt_tracker_options *options, struct gt_error *error)
{
    char path[4096];
    struct gt_store_options store = {.path = path, .overwrite = options->overwrite, .detail = options->detail};
    int status = gt_recorder_path(options, 0, path, sizeof path, error);
    if (status >= 0 && !options->experiment)
        status = check_place(options->tracking_file, path, error);
    return status < 0 ? status : gt_store_check(&store, error);
}

/* The name is taken by an empty file, which no other gets. */
static int take_name(const char *pattern, struct gt_error *error)
{
    char path[4096];
    int status = gt_store_path(path, sizeof path, pattern, 0, error);
    if (status >= 0)
        status = gt_store_make_folder(path, error);
    if (status < 0)
        return status;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return gt_error_system(error, errno, "%s", path);
    close(fd);
    return 0;
}

int gt_recording_take_name(char *ret, size_t size, const struct gt_tracker_options *options, struct gt_error *error)
{
    enum { MOST = 10000 };
    char beside[16] = "";
    int status = -EEXIST;
    for (int i = 1; status == -EEXIST && i < MOST; i++) {
        struct gt_error problem = {0};
        struct gt_tracker_options one = *options;
        one.tracking_file = ret;
        if (i > 1)
            snprintf(beside, sizeof beside, "-%d", i);
        if (gt_store_path_beside(ret, size, options->tracking_file, beside) < 0)
            return gt_error_system(error, ENAMETOOLONG, "%s", options->tracking_file);
        status = check_recording(&one, &problem);
        if (status >= 0)
            status = take_name(ret, &problem);
        if (status < 0)
            *error = problem;
    }
    return status < 0 ? status : *beside != '\0';
}

void gt_recording_give_name_back(const char *pattern)
{
    char path[4096];
    struct stat facts;
    if (gt_store_path(path, sizeof path, pattern, 0, NULL) >= 0 && lstat(path, &facts) == 0 && S_ISREG(facts.st_mode) &&
        facts.st_size == 0)
        unlink(path);
}

int gt_tracker_check_copy(const struct gt_tracker_options *options, struct gt_error *error)
{
    int status = check_values(options, error);
    return status < 0 || !options->tracking_file ? status : check_recording(options, error);
}

int gt_tracker_check(const struct gt_tracker_options *options, struct gt_error *error)
{
    struct gt_tracker_options copy;
    int status = gt_tracker_options_copy(&copy, options, error);
    if (status < 0)
        return status;
    status = check_values(&copy, error);
    if (status >= 0)
        status = check_machine(&copy, error);
    if (status >= 0 && copy.tracking_file)
        status = check_recording(&copy, error);
    gt_tracker_options_release(&copy);
    return status;
}
