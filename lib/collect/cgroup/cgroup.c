#include "collect/cgroup/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/number.h"
#include "base/os/root.h"
#include "collect/collector.h"
#include "collect/cgroup/control_group.h"

/* Enabling controllers below a version 2 group that was given to the tracker alone.
 *
 * A version 2 group with processes cannot enable controllers for the groups below it. Where systemd marks the tracker's group as
 * delegated (xattr user.delegate or trusted.delegate; systemd.resource-control(5) Delegate=), or the group belongs to the user, to whom it
 * is delegated in the sense of the kernel (the user manager of systemd 252 sets no mark), and nobody but the tracker is in it, the
 * tracker moves into a leaf below and enables memory for the job's group beside that leaf. This is what delegation is for, and all
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
    char path[GT_CGROUP_PATH + 32], text[1024];
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
    return result;
}

struct gt_cgroup {
    const struct gt_root *root;
    struct gt_cgroup_place place; /* the group's own directories */
    bool is_own;                  /* made by us */
    struct gt_cgroup_delegation delegation;
    int directory; /* version 2 */
    int entry;     /* version 1: "tasks", open for writing */
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
};

/* "DIRECTORY/FILE" in `ret`; false when it is too long. */
static bool join(char ret[PATH_MAX], const char *directory, const char *file)
{
    return *directory && snprintf(ret, PATH_MAX, "%s/%s", directory, file) < PATH_MAX;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static struct gt_cgroup *new_group(const struct gt_root *root)
{
    struct gt_cgroup *cgroup = calloc(1, sizeof *cgroup);
    if (!cgroup)
        return NULL;
    cgroup->root = root;
    cgroup->directory = cgroup->entry = -1;
    for (int i = 0; i < GT_CGROUP_FIGURES; i++)
        cgroup->figure[i] = -1;
    return cgroup;
}

static void open_figures(struct gt_cgroup *cgroup)
{
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const struct source *source = &sources[i];
        char path[PATH_MAX];
        if (cgroup->figure[source->figure] >= 0 || !join(path, cgroup->place.path[source->hierarchy], source->file))
            continue;
        cgroup->figure[source->figure] = gt_root_open_file(cgroup->root, path);
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
        result = cgroup->entry = join(path, own, "tasks") ? gt_root_open_to_write(cgroup->root, path) : -ENAMETOOLONG;
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
        return lists(root, parent->path[hierarchy], "cgroup.subtree_control", "cpu");
    return parent->schedules[hierarchy] ||
           (hierarchy == GT_CGROUP_MEMORY && !passes_limits_on(root, parent->path[hierarchy]));
}

/* A group of version 2 beside one of version 1 only counts packets: see "Packets". Returns 0 where one was made at least, or why not. */
static int make_all(struct gt_cgroup *cgroup, const struct gt_cgroup_place *parent, const char *name)
{
    static const enum gt_cgroup_hierarchy order[] = {GT_CGROUP_MEMORY, GT_CGROUP_UNIFIED};
    int reason = -ENOENT;
    bool is_made = false;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (!*parent->path[order[i]] || (is_made && geteuid() != 0))
            continue;
        char leaf[NAME_MAX]; /* where delegation fails the group still tells processor time and processes */
        if (order[i] == GT_CGROUP_UNIFIED && !is_made &&
            snprintf(leaf, sizeof leaf, "%s.tracker", name) < (int)sizeof leaf)
            cgroup_delegation_open(&cgroup->delegation, cgroup->root, parent->path[order[i]], leaf);
        int result = would_change_the_job(cgroup->root, parent, order[i])
                         ? -EOPNOTSUPP
                         : make_in(cgroup, order[i], parent->path[order[i]], name);
        is_made |= result == 0;
        reason = result < 0 && reason != -EACCES ? result : reason;
    }
    return is_made ? 0 : reason;
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
    result = make_all(cgroup, &parent, name);
    if (result < 0) {
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
    return cgroup->entry >= 0 && write(cgroup->entry, "0", 1) < 0 ? -errno : 0;
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
    gt_close_fd(cgroup->entry);
    for (int i = 0; i < GT_CGROUP_FIGURES; i++)
        gt_close_fd(cgroup->figure[i]);
    gt_close_fd(cgroup->directory);
    free(cgroup);
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static double read_figure(const struct gt_cgroup *cgroup, enum gt_cgroup_figure figure)
{
    const struct source *source = cgroup->source[figure];
    int fd = cgroup->figure[figure];
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

void gt_cgroup_read(const struct gt_cgroup *cgroup, double ret[GT_CGROUP_FIGURES])
{
    for (int i = 0; i < GT_CGROUP_FIGURES; i++)
        ret[i] = read_figure(cgroup, (enum gt_cgroup_figure)i);
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

void gt_cgroup_sweep(const struct gt_root *root, const struct gt_cgroup_place *own, const char *prefix)
{
    for (int i = 0; i < GT_CGROUP_HIERARCHIES; i++) {
        char parent[PATH_MAX], path[PATH_MAX];
        snprintf(parent, sizeof parent, "%s", own->path[i]);
        char *slash = strrchr(parent, '/');
        if (!slash)
            continue;
        *slash = '\0';
        DIR *directory = gt_root_list(root, parent);
        for (struct dirent *entry; directory && (entry = readdir(directory));)
            if (is_left_behind(entry->d_name, prefix) && join(path, parent, entry->d_name))
                gt_root_remove_directory(root, path); /* fails when processes are still inside, and shall */
        if (directory)
            closedir(directory);
    }
}

/* Reads what the job's own control group tells of its memory. It is nothing when the job merely lies in a group with others. */

struct state {
    const struct gt_cgroup *cgroup; /* lent by the tracker, for as long as the collector is open */
};

static int open_group(void *opaque, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                      struct gt_availability *availability, struct gt_error *error)
{
    (void)snapshot, (void)error;
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
    ((struct state *)opaque)->cgroup = options->cgroup;
    return 0;
}

static int collect(void *opaque, struct gt_snapshot *snapshot, struct gt_error *error)
{
    (void)error;
    const struct state *state = opaque;
    if (!snapshot->is_last)
        snapshot->job[GT_CGROUP_RAM] = read_figure(state->cgroup, GT_CGROUP_FIGURE_MEMORY);
    snapshot->job[GT_CGROUP_RAM_PEAK] = read_figure(state->cgroup, GT_CGROUP_FIGURE_MEMORY_PEAK);
    return 0;
}

static const struct gt_origin origins[] = {
    {GT_CGROUP_RAM, GT_SAMPLED, "control group", "page cache included"},
    {GT_CGROUP_RAM_PEAK, GT_EXACT, "control group", "page cache included"},
};

const struct gt_collector_type gt_collector_cgroup = {
    .name = "cgroup",
    .help = "Memory charged to the job's own control group",
    .lags = true, /* the peak after the last sample */
    .source = "control group of the job",
    .state_size = sizeof(struct state),
    .origins = origins,
    .origin_count = sizeof origins / sizeof *origins,
    .open = open_group,
    .collect = collect,
};

/* ---- Packets ----------------------------------------------------------------------------------------------------- */

/* The collector "job_network": bytes of the job's own, by two small programs in the kernel on its control group.
 *
 * Each packet counts that a socket of the job receives or sends, with the headers of IP, over loopback as well. A socket is the job's when
 * a process of the job has made it. What does not go through IP is not counted: RDMA, sockets of one machine, a device that is given to
 * the job. The programs end with the descriptors that hold them, so nothing stays when the tracker is killed. */

enum { RECEIVED, SENT, DIRECTIONS };

struct packets {
    uint64_t *bytes; /* DIRECTIONS, shared with the kernel */
    int link[DIRECTIONS];
};

static int call_bpf(enum bpf_cmd command, union bpf_attr *attributes)
{
    int status = (int)syscall(SYS_bpf, command, attributes, sizeof *attributes);
    return status < 0 ? -errno : status;
}

static int make_map(void)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_type = BPF_MAP_TYPE_ARRAY;
    attributes.key_size = sizeof(uint32_t);
    attributes.value_size = DIRECTIONS * sizeof(uint64_t);
    attributes.max_entries = 1;
    attributes.map_flags = BPF_F_MMAPABLE;
    return call_bpf(BPF_MAP_CREATE, &attributes);
}

/* Add the packet's length to its direction's count, and let it pass. */
static int load_program(int map, int direction)
{
    enum { PACKET = BPF_REG_1, COUNT = BPF_REG_2, VERDICT = BPF_REG_0 };
    const int at = direction * (int)sizeof(uint64_t);
    const struct bpf_insn code[] = {
        {.code = BPF_LDX | BPF_MEM | BPF_W, PACKET, PACKET, offsetof(struct __sk_buff, len), 0},
        {.code = BPF_LD | BPF_DW | BPF_IMM, COUNT, BPF_PSEUDO_MAP_VALUE, 0, map},
        {.imm = at},
        {.code = BPF_STX | BPF_ATOMIC | BPF_DW, COUNT, PACKET, 0, BPF_ADD},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, VERDICT, 0, 0, 1},
        {.code = BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
    };
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.prog_type = BPF_PROG_TYPE_CGROUP_SKB;
    attributes.expected_attach_type = direction == SENT ? BPF_CGROUP_INET_EGRESS : BPF_CGROUP_INET_INGRESS;
    attributes.insns = (uint64_t)(uintptr_t)code;
    attributes.insn_cnt = sizeof code / sizeof *code;
    attributes.license = (uint64_t)(uintptr_t) "Apache-2.0";
    return call_bpf(BPF_PROG_LOAD, &attributes);
}

/* Beside programs of others, which decide as before. Returns a descriptor with which it ends. */
static int attach(int program, int group, int direction)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.link_create.prog_fd = (uint32_t)program;
    attributes.link_create.target_fd = (uint32_t)group;
    attributes.link_create.attach_type = direction == SENT ? BPF_CGROUP_INET_EGRESS : BPF_CGROUP_INET_INGRESS;
    return call_bpf(BPF_LINK_CREATE, &attributes);
}

static void network_close(void *opaque)
{
    struct packets *packets = opaque;
    for (int i = 0; i < DIRECTIONS; i++)
        gt_close_fd(packets->link[i]);
    if (packets->bytes)
        munmap(packets->bytes, DIRECTIONS * sizeof *packets->bytes);
}

/* A negative `group`: only find out whether it could be done. */
static int begin(struct packets *packets, int group)
{
    int map = make_map();
    if (map < 0)
        return map;
    void *bytes = mmap(NULL, DIRECTIONS * sizeof *packets->bytes, PROT_READ, MAP_SHARED, map, 0);
    int status = bytes == MAP_FAILED ? -errno : 0;
    packets->bytes = status < 0 ? NULL : bytes;
    for (int i = 0; i < DIRECTIONS && status >= 0; i++) {
        int program = load_program(map, i);
        status = program < 0 ? program : 0;
        if (program >= 0 && group >= 0)
            status = packets->link[i] = attach(program, group, i);
        gt_close_fd(program);
    }
    close(map);
    return status < 0 ? status : 0;
}

static int network_open(void *opaque, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                        struct gt_availability *availability, struct gt_error *error)
{
    (void)snapshot, (void)error;
    struct packets *packets = opaque;
    packets->link[RECEIVED] = packets->link[SENT] = -1;
    int group = options->cgroup ? gt_cgroup_directory(options->cgroup) : -1;
    if (!options->root->is_machine || (options->pid && !options->cgroup))
        return gt_unavailable(availability, GT_ABSENT, NULL, "the job has no control group of its own");
    bool has_version_2 = gt_root_access(options->root, "sys/fs/cgroup/cgroup.controllers", F_OK) == 0 ||
                         gt_root_access(options->root, "sys/fs/cgroup/unified/cgroup.controllers", F_OK) == 0;
    if (options->pid ? group < 0 : !has_version_2)
        return gt_unavailable(availability, GT_ABSENT, NULL, "the job has no control group of version 2");
    int status = begin(packets, group);
    if (status == -EPERM || status == -EACCES) /* root in a container: not told at each run, for nobody asked for it */
        return gt_unavailable(availability, GT_ABSENT, NULL,
                              "counting the job's packets takes CAP_BPF and CAP_NET_ADMIN");
    return status >= 0
               ? 0
               : gt_unavailable(availability, GT_ABSENT, NULL,
                                "the kernel counts no packets of control groups so (Linux 5.7): %s", strerror(-status));
}

static const struct gt_origin network_origins[DIRECTIONS] = {
    {GT_JOB_NETWORK_RECEIVED, GT_EXACT, "BPF on the control group", "headers of IP and loopback included; no RDMA"},
    {GT_JOB_NETWORK_SENT, GT_EXACT, "BPF on the control group", "headers of IP and loopback included; no RDMA"},
};

static int network_collect(void *opaque, struct gt_snapshot *snapshot, struct gt_error *error)
{
    (void)error;
    const struct packets *packets = opaque;
    for (int i = 0; i < DIRECTIONS; i++)
        if (packets->link[i] >= 0)
            snapshot->job[network_origins[i].metric] = (double)__atomic_load_n(&packets->bytes[i], __ATOMIC_RELAXED);
    return 0;
}

const struct gt_collector_type gt_collector_job_network = {
    .name = "job_network",
    .help = "bytes that the job's own sockets receive and send, where root tracks it",
    .source = "packets of the job's control group, counted by BPF",
    .state_size = sizeof(struct packets),
    .origins = network_origins,
    .origin_count = sizeof network_origins / sizeof *network_origins,
    .open = network_open,
    .collect = network_collect,
    .close = network_close,
    .lags = true, /* what the job sent last is counted when its processes have ended */
};
