#include "launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct launcher {
    const char *program, *where; /* where its work runs */
    const char *instead;
    bool is_local_in_slurm;   /* inside a job of one node its tasks are found */
    const char *local_option; /* with it the work is a descendant */
} launchers[] = {
    {"srun", "on other machines", "srun gpu-tracker run --tracking-file run-%j-%r.sqlite -- ...", true, NULL},
    {"sbatch", "later and elsewhere", "gpu-tracker run inside the script", false, NULL},
    {"qsub", "later and elsewhere", "gpu-tracker run inside the script", false, NULL},
    {"bsub", "later and elsewhere", "bsub gpu-tracker run -- ...", false, NULL},
    {"docker", "in a container of the daemon's", "gpu-tracker run inside the container", false, NULL},
    {"kubectl", "in a pod", "gpu-tracker run inside the pod", false, NULL},
    {"ssh", "on another machine", "ssh HOST gpu-tracker run -- ...", false, NULL},
    {"systemd-run", "below systemd", "systemd-run --scope", false, "--scope"},
};

/* A job of one node, from inside of which tasks are found. */
static bool is_in_slurm(void)
{
    const char *nodes = getenv("SLURM_JOB_NUM_NODES");
    return getenv("SLURM_JOB_ID") && nodes && strcmp(nodes, "1") == 0;
}

static bool has_option(char *const *words, const char *option)
{
    for (; option && *words; words++)
        if (strcmp(*words, option) == 0)
            return true;
    return false;
}

bool launcher_note(char *const *words, char *sentence, size_t size)
{
    const char *slash = strrchr(words[0], '/'), *program = slash ? slash + 1 : words[0];
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const struct launcher *launcher = &launchers[i];
        if (strcmp(program, launcher->program) != 0 || has_option(words, launcher->local_option) ||
            (launcher->is_local_in_slurm && is_in_slurm()))
            continue;
        snprintf(sentence, size, "%s starts its work %s, where these figures do not reach: try %s", program,
                 launcher->where, launcher->instead);
        return true;
    }
    return false;
}
