/* Defaults come from files and from the environment. Who wins, first to last:
 *   the command line
 *   the file of --tconfig
 *   the environment: GPU_TRACKER_SLEEP_TIME, ...
 *   the project's file, named by the environment variable GPU_TRACKER_CONFIG
 *   the user's file, $XDG_CONFIG_HOME/gpu-tracker/config.json (~/.config/gpu-tracker/config.json)
 * A file is one JSON object; its keys are those of option.def that are configurable; null leaves the default. */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "base/json.h"
#include "option.h"

#define CONFIG_ENVIRONMENT_PREFIX "GPU_TRACKER_"
#define CONFIG_PROJECT_VARIABLE CONFIG_ENVIRONMENT_PREFIX "CONFIG"

enum { CONFIG_VARIABLE_SIZE = 80 };

/* The environment variable of an option: "GPU_TRACKER_SLEEP_TIME". */
const char *config_variable(const struct option *option, char text[CONFIG_VARIABLE_SIZE]);

/* The object of settings in a file. 0 or an exit status, after saying what is wrong. */
int config_read(struct gt_json_value **ret, const char *path);

/* Fill in what the command line left open, for the options that `command` takes. 0 or an exit status, after saying what
 * is wrong. */
int config_apply(struct options *options, const struct command *command);

#endif
