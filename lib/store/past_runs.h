/* The list of a user's runs: one row for each in an SQLite file that nobody else may read. */
#ifndef GT_STORE_PAST_RUNS_H
#define GT_STORE_PAST_RUNS_H

#include <stdint.h>

#include "base/error.h"

enum { GT_PAST_RUNS_MOST = 10000 };

/* NULL: not known, and of the recording: there was none. NaN: not measured. */
struct gt_past_run {
    int64_t back; /* 1 is the latest, which people call @1 */
    double start; /* seconds since the epoch */
    char *command, *folder, *host, *recording;
    int exit_status;
    double elapsed, ram_peak, cpu_time, gpu_ram_peak, energy;
};

struct gt_past_runs {
    struct gt_past_run *run; /* the latest first */
    size_t count, capacity;
};

/* The file: $XDG_STATE_HOME/gpu-tracker/runs.sqlite, or ~/.local/state/... -ENOENT without a home. */
int gt_past_runs_path(char *ret, size_t size, struct gt_error *error);
/* Add a row to the file, which is made with its folder where it is not there; of more than GT_PAST_RUNS_MOST the oldest go. It waits half a
 * second at most for others that write. */
int gt_past_runs_add(const char *path, const struct gt_past_run *run, struct gt_error *error);

struct gt_past_runs_filter {
    const char *const *words; /* all of them occur in the command or the folder, whatever the case; NULL: any */
    size_t word_count;
    /* Not NULL: of this very command, folder, host and status. */
    const struct gt_past_run *like;
    int64_t back; /* the run that @1, @2 and so on name; 0: any */
    size_t most;  /* 0: all */
};
/* No file: no runs. Released by the caller also after an error. */
int gt_past_runs_read(struct gt_past_runs *ret, const char *path, const struct gt_past_runs_filter *filter,
                      struct gt_error *error);
void gt_past_runs_release(struct gt_past_runs *runs);

#endif
