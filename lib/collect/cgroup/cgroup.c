#include "collect/cgroup/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/number.h"
#include "base/root.h"
#include "collect/collector.h"
#include "collect/cgroup/control_group.h"

/* Enabling controllers below a version 2 group that was given to the tracker alone.
 *
 * A version 2 group with processes cannot enable controllers for the groups below it. Where systemd marks the tracker's group as
 * delegated (xattr user.delegate or trusted.delegate; systemd.resource-control(5) Delegate=), or the group belongs to the user, to whom it
 * is delegated in the sense of the kernel (the user manager of systemd 252 sets no mark), and nobody but the tracker is in it, the
 * tracker moves into a leaf below and enables memory and pids for the job's group beside that leaf. This is what delegation is for, and all
 * of it is undone at the end. */

struct gt_cgroup_delegation {
    const struct gt_root *root;
    bool is_open;
    char group[GT_CGROUP_PATH]; /* the delegated group */
    char leaf[GT_CGROUP_PATH];  /* where the tracker lies meanwhile */
};

static int write_text(const struct gt_root *root, const char *group, const char *file, const char *text)
{
    char path[GT_CGROUP_PATH + 32];
    snprintf(path, sizeof path, "%s/%s", group, file);
    int fd = gt_root_open_to_write(root, path);
    if (fd < 0)
        return fd;
    int result = write(fd, text, strlen(text)) < 0 ? -errno : 0;
    close(fd);
    return result;
}

static int enter(const struct gt_root *root, const char *group)
{
    char number[16];
    snprintf(number, sizeof number, "%d", (int)getpid());
    return write_text(root, group, "cgroup.procs", number);
}

static bool is_delegated(const struct gt_root *root, const char *group)
{
    char value[4] = "";
    int fd = gt_root_open_directory(root, group);
    if (fd < 0)
        return false;
    struct stat stat;
    bool marked = fgetxattr(fd, "user.delegate", value, sizeof value) > 0 ||
                  fgetxattr(fd, "trusted.delegate", value, sizeof value) > 0;
    bool is_ours = geteuid() && fstat(fd, &stat) == 0 && stat.st_uid == geteuid();
    close(fd);
    return is_ours || (marked && *value == '1');
}

static bool is_alone(const struct gt_root *root, const char *group)
{
    char path[GT_CGROUP_PATH + 32], text[64];
    snprintf(path, sizeof path, "%s/cgroup.procs", group);
    if (gt_root_read(root, path, text, sizeof text) <= 0)
        return false;
    char *end;
    return strtol(text, &end, 10) == getpid() && !strcmp(end, "\n");
}

static bool lists(const struct gt_root *root, const char *group, const char *file, const char *controller)
{
    char path[GT_CGROUP_PATH + 32], text[512];
    snprintf(path, sizeof path, "%s/%s", group, file);
    if (gt_root_read(root, path, text, sizeof text) <= 0)
        return false;
    for (char *rest = text, *word; (word = strsep(&rest, " \n"));)
        if (!strcmp(word, controller))
            return true;
    return false;
}

/* Disable the controllers, and move back. The job's group must be gone. */
static void cgroup_delegation_close(struct gt_cgroup_delegation *delegation)
{
    if (!delegation->is_open)
        return;
    write_text(delegation->root, delegation->group, "cgroup.subtree_control", "-memory");
    write_text(delegation->root, delegation->group, "cgroup.subtree_control", "-pids");
    enter(delegation->root, delegation->group);
    gt_root_remove_directory(delegation->root, delegation->leaf);
    delegation->is_open = false;
}

/* `group` is the caller's own. 0: done; 1: not needed or not delegated; negative errno: refused, and undone. */
static int cgroup_delegation_open(struct gt_cgroup_delegation *delegation, const struct gt_root *root,
                                  const char *group, const char *leaf)
{
    *delegation = (struct gt_cgroup_delegation){.root = root};
    if (!lists(root, group, "cgroup.controllers", "memory") || lists(root, group, "cgroup.subtree_control", "memory") ||
        !is_delegated(root, group) || !is_alone(root, group))
        return 1;
    if (strlen(group) + 1 + strlen(leaf) >= GT_CGROUP_PATH)
        return -ENAMETOOLONG;
    strcpy(delegation->group, group);
    snprintf(delegation->leaf, GT_CGROUP_PATH, "%.*s/%s", (int)strlen(group), group, leaf);
    int result = gt_root_make_directory(root, delegation->leaf);
    if (result < 0 && result != -EEXIST)
        return result;
    result = enter(root, delegation->leaf);
    if (result == 0)
        result = write_text(root, group, "cgroup.subtree_control", "+memory");
    delegation->is_open = true;
    if (result < 0)
        cgroup_delegation_close(delegation);
    else if (lists(root, group, "cgroup.controllers", "pids"))
        write_text(root, group, "cgroup.subtree_control", "+pids");
    return result;
}

struct gt_cgroup {
    const struct gt_root *root;
    struct gt_cgroup_place place; /* the group's own directories */
    bool is_own;                  /* made by us */
    struct gt_cgroup_delegation delegation;
    int directory;                    /* version 2 */
    int entry[GT_CGROUP_HIERARCHIES]; /* version 1: "tasks", open for writing */
    int figure[GT_CGROUP_FIGURES];
    const struct source *source[GT_CGROUP_FIGURES];
};

static const struct source {
    enum gt_cgroup_figure figure;
    enum gt_cgroup_hierarchy hierarchy;
    const char *file, *key; /* the number stands after this word; NULL: it stands alone */
    double scale;
} sources[] = {
    /* the first that is there is taken */
    {GT_CGROUP_FIGURE_MEMORY, GT_CGROUP_UNIFIED, "memory.current", NULL, 1},
    {GT_CGROUP_FIGURE_MEMORY, GT_CGROUP_MEMORY, "memory.usage_in_bytes", NULL, 1},
    {GT_CGROUP_FIGURE_MEMORY_PEAK, GT_CGROUP_UNIFIED, "memory.peak", NULL, 1},
    {GT_CGROUP_FIGURE_MEMORY_PEAK, GT_CGROUP_MEMORY, "memory.max_usage_in_bytes", NULL, 1},
    {GT_CGROUP_FIGURE_CPU, GT_CGROUP_CPUACCT, "cpuacct.usage", NULL, 1e-9},
    {GT_CGROUP_FIGURE_CPU, GT_CGROUP_UNIFIED, "cpu.stat", "usage_usec", 1e-6},
    {GT_CGROUP_FIGURE_TASKS, GT_CGROUP_UNIFIED, "pids.current", NULL, 1},
    {GT_CGROUP_FIGURE_TASKS, GT_CGROUP_PIDS, "pids.current", NULL, 1},
    {GT_CGROUP_FIGURE_TASKS_PEAK, GT_CGROUP_UNIFIED, "pids.peak", NULL, 1},
    {GT_CGROUP_FIGURE_TASKS_PEAK, GT_CGROUP_PIDS, "pids.peak", NULL, 1},
};

/* "DIRECTORY/FILE" in `ret`; false when it is too long. */
static bool join(char ret[PATH_MAX], const char *directory, const char *file)
{
    return *directory && snprintf(ret, PATH_MAX, "%s/%s", directory, file) < PATH_MAX;
}

static int open_in(const struct gt_cgroup *cgroup, enum gt_cgroup_hierarchy hierarchy, const char *file)
{
    char path[PATH_MAX];
    return join(path, cgroup->place.path[hierarchy], file) ? gt_root_open_file(cgroup->root, path) : -ENOENT;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static struct gt_cgroup *new_group(const struct gt_root *root)
{
    struct gt_cgroup *cgroup = calloc(1, sizeof *cgroup);
    if (!cgroup)
        return NULL;
    cgroup->root = root;
    cgroup->directory = -1;
    for (int i = 0; i < GT_CGROUP_HIERARCHIES; i++)
        cgroup->entry[i] = -1;
    for (int i = 0; i < GT_CGROUP_FIGURES; i++)
        cgroup->figure[i] = -1;
    return cgroup;
}

static void open_figures(struct gt_cgroup *cgroup)
{
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const struct source *source = &sources[i];
        if (cgroup->figure[source->figure] >= 0)
            continue;
        cgroup->figure[source->figure] = open_in(cgroup, source->hierarchy, source->file);
        cgroup->source[source->figure] = source;
    }
}

int gt_cgroup_open(struct gt_cgroup **ret, const struct gt_root *root, const struct gt_cgroup_place *place,
                   struct gt_error *error)
{
    struct gt_cgroup *cgroup = new_group(root);
    if (!cgroup)
        return gt_error_system(error, ENOMEM, "control group");
    cgroup->place = *place;
    open_figures(cgroup);
    *ret = cgroup;
    return 0;
}

/* Limits of a version 1 group do not bind the groups below it unless it says 1 here. */
static bool passes_limits_on(const struct gt_root *root, const char *parent)
{
    char path[PATH_MAX];
    unsigned long long value;
    return !join(path, parent, "memory.use_hierarchy") || gt_root_read_u64(root, path, &value) < 0 || value;
}

static bool lists_cpu(const struct gt_root *root, const char *parent)
{
    char path[PATH_MAX], text[1024];
    if (!join(path, parent, "cgroup.subtree_control") || gt_root_read(root, path, text, sizeof text) < 0)
        return false;
    for (char *rest = text, *word; (word = strsep(&rest, " \n"));)
        if (!strcmp(word, "cpu"))
            return true;
    return false;
}

/* Make the group in one hierarchy; 0, or why not. What is left of a tracker that had the same number is replaced. */
static int make_in(struct gt_cgroup *cgroup, enum gt_cgroup_hierarchy hierarchy, const char *parent, const char *name)
{
    char path[PATH_MAX], *own = cgroup->place.path[hierarchy];
    if (!join(path, parent, name) || strlen(path) >= sizeof cgroup->place.path[hierarchy])
        return *parent ? -ENAMETOOLONG : -ENOENT;
    int result = gt_root_make_directory(cgroup->root, path);
    if (result == -EEXIST && gt_root_remove_directory(cgroup->root, path) == 0)
        result = gt_root_make_directory(cgroup->root, path);
    if (result < 0)
        return result;
    strcpy(own, path);
    if (hierarchy == GT_CGROUP_UNIFIED)
        result = cgroup->directory = gt_root_open_directory(cgroup->root, path);
    else
        result = cgroup->entry[hierarchy] = join(path, own, "tasks") ? gt_root_open_to_write(cgroup->root, path)
                                                                     : -ENAMETOOLONG;
    if (result < 0) {
        gt_root_remove_directory(cgroup->root, own);
        *own = '\0';
        return result;
    }
    return 0;
}

static bool would_change_the_job(const struct gt_root *root, const struct gt_cgroup_place *parent,
                                 enum gt_cgroup_hierarchy hierarchy)
{
    if (hierarchy == GT_CGROUP_UNIFIED)
        return lists_cpu(root, parent->path[hierarchy]);
    return parent->schedules[hierarchy] ||
           (hierarchy == GT_CGROUP_MEMORY && !passes_limits_on(root, parent->path[hierarchy]));
}

/* Where this fails the group still tells processor time and processes. */
static void delegate(struct gt_cgroup *cgroup, const char *parent, const char *name)
{
    char leaf[NAME_MAX];
    if (snprintf(leaf, sizeof leaf, "%s.tracker", name) < NAME_MAX)
        cgroup_delegation_open(&cgroup->delegation, cgroup->root, parent, leaf);
}

/* Fills in the groups made; the reason why the last one could not be. */
static int make_all(struct gt_cgroup *cgroup, const struct gt_cgroup_place *parent, const char *name, size_t *made)
{
    int reason = -ENOENT;
    bool counts_packets = geteuid() == 0;                  /* see job_network.c */
    for (int i = GT_CGROUP_HIERARCHIES - 1; i >= 0; i--) { /* version 2 last: only for what version 1 does not tell */
        enum gt_cgroup_hierarchy hierarchy = (enum gt_cgroup_hierarchy)i;
        bool is_told = hierarchy == GT_CGROUP_UNIFIED && *made == GT_CGROUP_HIERARCHIES - 1;
        if (!*parent->path[i] || (is_told && !counts_packets))
            continue;
        if (hierarchy == GT_CGROUP_UNIFIED && !*cgroup->place.path[GT_CGROUP_MEMORY])
            delegate(cgroup, parent->path[hierarchy], name);
        int result = would_change_the_job(cgroup->root, parent, hierarchy)
                         ? -EOPNOTSUPP
                         : make_in(cgroup, hierarchy, parent->path[i], name);
        if (result == 0)
            ++*made;
        else if (reason != -EACCES)
            reason = result;
    }
    return reason;
}

static void refuse(struct gt_availability *availability, int reason)
{
    if (reason == -EACCES || reason == -EPERM)
        gt_unavailable(availability, GT_DENIED, gt_remedy_delegate,
                       "this user may not make control groups below the present one");
    else if (reason == -EOPNOTSUPP)
        gt_unavailable(availability, GT_ABSENT, NULL,
                       "a control group of its own would change how the job is scheduled or limited here");
    else
        gt_unavailable(availability, GT_ABSENT, NULL, "no control group can be made: %s", strerror(-reason));
}

int gt_cgroup_create(struct gt_cgroup **ret, const struct gt_root *root, const char *name,
                     struct gt_availability *availability, struct gt_error *error)
{
    struct gt_cgroup_place parent;
    size_t made = 0;
    *ret = NULL;
    *availability = (struct gt_availability){.state = GT_READY, .source = "control group of the job"};
    if (!root->is_machine)
        return gt_unavailable(availability, GT_ABSENT, NULL, "a stored machine takes no control groups");
    int result = gt_cgroup_locate(&parent, root, getpid(), NULL);
    if (result < 0)
        return gt_unavailable(availability, GT_ABSENT, NULL, "no control groups here: %s", strerror(-result));
    struct gt_cgroup *cgroup = new_group(root);
    if (!cgroup)
        return gt_error_system(error, ENOMEM, "control group");
    cgroup->is_own = true;
    result = make_all(cgroup, &parent, name, &made);
    if (!made) {
        cgroup_delegation_close(&cgroup->delegation);
        gt_cgroup_close(cgroup);
        refuse(availability, result);
        return 0;
    }
    open_figures(cgroup);
    *ret = cgroup;
    return 0;
}

/* ---- Entering and leaving ---------------------------------------------------------------------------------------- */

int gt_cgroup_directory(const struct gt_cgroup *cgroup)
{
    return cgroup->directory;
}

/* The file "tasks" moves one thread, and moving the caller itself needs no grace period (cgroup_procs_write_start). */
int gt_cgroup_enter_self(const struct gt_cgroup *cgroup)
{
    int result = 0;
    for (int i = 0; i < GT_CGROUP_HIERARCHIES; i++)
        if (cgroup->entry[i] >= 0 && write(cgroup->entry[i], "0", 1) < 0 && result == 0)
            result = -errno;
    return result;
}

int gt_cgroup_remove(struct gt_cgroup *cgroup, struct gt_error *error)
{
    int failed = 0;
    for (int i = 0; cgroup->is_own && i < GT_CGROUP_HIERARCHIES; i++) {
        char *directory = cgroup->place.path[i];
        int result = *directory ? gt_root_remove_directory(cgroup->root, directory) : 0;
        if (result == 0 || result == -ENOENT)
            *directory = '\0';
        else
            failed = gt_error_system(error, -result, "control group /%s", directory);
    }
    if (!*cgroup->place.path[GT_CGROUP_UNIFIED])
        cgroup_delegation_close(&cgroup->delegation);
    return failed;
}

void gt_cgroup_close(struct gt_cgroup *cgroup)
{
    if (!cgroup)
        return;
    for (int i = 0; i < GT_CGROUP_HIERARCHIES; i++)
        if (cgroup->entry[i] >= 0)
            close(cgroup->entry[i]);
    for (int i = 0; i < GT_CGROUP_FIGURES; i++)
        if (cgroup->figure[i] >= 0)
            close(cgroup->figure[i]);
    if (cgroup->directory >= 0)
        close(cgroup->directory);
    free(cgroup);
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static double read_figure(int fd, const struct source *source)
{
    char text[4096];
    if (fd < 0 || gt_root_reread_piece(fd, text, sizeof text) <= 0)
        return NAN;
    const char *at = text;
    for (size_t length = source->key ? strlen(source->key) : 0; length; at += strcspn(at, "\n"), at += *at == '\n') {
        if (!*at)
            return NAN;
        if (!strncmp(at, source->key, length) && at[length] == ' ') {
            at += length + 1;
            break;
        }
    }
    char *end;
    errno = 0;
    unsigned long long value = strtoull(at, &end, 10);
    return end == at || errno ? NAN : (double)value * source->scale;
}

/* One of them. */
static double cgroup_read_one(const struct gt_cgroup *cgroup, enum gt_cgroup_figure figure)
{
    return read_figure(cgroup->figure[figure], cgroup->source[figure]);
}

void gt_cgroup_read(const struct gt_cgroup *cgroup, double ret[GT_CGROUP_FIGURES])
{
    for (int i = 0; i < GT_CGROUP_FIGURES; i++)
        ret[i] = cgroup_read_one(cgroup, (enum gt_cgroup_figure)i);
}

const char *gt_cgroup_source(const struct gt_cgroup *cgroup, enum gt_cgroup_figure figure)
{
    return cgroup->figure[figure] >= 0 ? cgroup->source[figure]->file : NULL;
}

const struct gt_cgroup_place *gt_cgroup_place(const struct gt_cgroup *cgroup)
{
    return &cgroup->place;
}

static bool is_left_behind(const char *name, const char *prefix)
{
    int64_t pid;
    size_t length = strlen(prefix);
    return !strncmp(name, prefix, length) && gt_number_i64(name + length, &pid) == 0 && pid > 0 && pid <= INT_MAX &&
           kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

static void sweep(const struct gt_root *root, const char *parent, const char *prefix)
{
    DIR *directory = gt_root_list(root, parent);
    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        char path[PATH_MAX];
        if (is_left_behind(entry->d_name, prefix) &&
            snprintf(path, sizeof path, "%s/%s", parent, entry->d_name) < (int)sizeof path)
            gt_root_remove_directory(root, path); /* fails when processes are still inside, and shall */
    }
    closedir(directory);
}

void gt_cgroup_sweep(const struct gt_root *root, const struct gt_cgroup_place *own, const char *prefix)
{
    for (int i = 0; i < GT_CGROUP_HIERARCHIES; i++) {
        char parent[PATH_MAX];
        snprintf(parent, sizeof parent, "%s", own->path[i]);
        char *slash = strrchr(parent, '/');
        if (!slash)
            continue;
        *slash = '\0';
        sweep(root, parent, prefix);
    }
}

/* Reads what the job's own control group tells of its memory. It is nothing when the job merely lies in a group with others. */

static const enum gt_metric_id metrics[] = {GT_CGROUP_RAM, GT_CGROUP_RAM_PEAK};

static int open_group(void **ret, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                      struct gt_availability *availability, struct gt_error *error)
{
    (void)snapshot;
    (void)error;
    *ret = NULL;
    *availability = (struct gt_availability){.state = GT_READY, .source = "control group of the job"};
    if (!options->cgroup)
        return gt_unavailable(availability, GT_ABSENT, NULL, "%s",
                              options->pid ? "the job has no control group of its own"
                                           : "a matter of each job: run makes a control group for it if it may");
    const char *memory = gt_cgroup_source(options->cgroup, GT_CGROUP_FIGURE_MEMORY);
    const char *peak = gt_cgroup_source(options->cgroup, GT_CGROUP_FIGURE_MEMORY_PEAK);
    if (!memory) /* as on most machines with version 2, so it is nothing to complain of at each start */
        return gt_unavailable(availability, GT_ABSENT, gt_remedy_delegate,
                              "the memory controller is not enabled for groups below the tracker's own");
    snprintf(availability->source, sizeof availability->source, "control group of the job: %s%s%s", memory,
             peak ? ", " : "", peak ? peak : "");
    *ret = (void *)options->cgroup; /* lent by the tracker, for as long as the collector is open */
    return 0;
}

static int collect(void *state, struct gt_snapshot *snapshot, struct gt_error *error)
{
    (void)error;
    if (!snapshot->is_last)
        snapshot->job[GT_CGROUP_RAM] = cgroup_read_one(state, GT_CGROUP_FIGURE_MEMORY);
    snapshot->job[GT_CGROUP_RAM_PEAK] = cgroup_read_one(state, GT_CGROUP_FIGURE_MEMORY_PEAK);
    return 0;
}

static void close_group(void *state)
{
    (void)state;
}

static const struct gt_origin origins[] = {
    {GT_CGROUP_RAM, GT_SAMPLED, "control group", "page cache included"},
    {GT_CGROUP_RAM_PEAK, GT_EXACT, "control group", "page cache included"},
};

const struct gt_collector_type gt_collector_cgroup = {
    .name = "cgroup",
    .help = "Memory charged to the job's own control group",
    .lags = true, /* the peak after the last sample */
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
    .origins = origins,
    .origin_count = sizeof origins / sizeof *origins,
    .open = open_group,
    .collect = collect,
    .close = close_group,
};
