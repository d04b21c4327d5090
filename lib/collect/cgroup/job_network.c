/* The collector "job_network": bytes of the job's own, by two small programs in the kernel on its control group.
 *
 * Each packet counts that a socket of the job receives or sends, with the headers of IP, over loopback as well. A socket is the job's when
 * a process of the job has made it. What does not go through IP is not counted: RDMA, sockets of one machine, a device that is given to
 * the job. The programs end with the descriptors that hold them, so nothing stays when the tracker is killed. */
#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/cgroup/cgroup.h"

static const enum gt_metric_id metrics[] = {GT_JOB_NETWORK_RECEIVED, GT_JOB_NETWORK_SENT};

enum { RECEIVED, SENT, DIRECTIONS };

struct state {
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
    struct state *state = opaque;
    if (!state)
        return;
    for (int i = 0; i < DIRECTIONS; i++)
        if (state->link[i] >= 0)
            close(state->link[i]);
    if (state->bytes)
        munmap(state->bytes, DIRECTIONS * sizeof *state->bytes);
    free(state);
}

/* A negative `group`: only find out whether it could be done. */
static int begin(struct state *state, int group)
{
    int map = make_map();
    if (map < 0)
        return map;
    void *bytes = mmap(NULL, DIRECTIONS * sizeof *state->bytes, PROT_READ, MAP_SHARED, map, 0);
    int status = bytes == MAP_FAILED ? -errno : 0;
    state->bytes = status < 0 ? NULL : bytes;
    for (int i = 0; i < DIRECTIONS && status >= 0; i++) {
        int program = load_program(map, i);
        status = program < 0 ? program : 0;
        if (program >= 0 && group >= 0)
            status = state->link[i] = attach(program, group, i);
        if (program >= 0)
            close(program);
    }
    close(map);
    return status < 0 ? status : 0;
}

static bool has_version_2(const struct gt_root *root)
{
    return gt_root_access(root, "sys/fs/cgroup/cgroup.controllers", F_OK) == 0 ||
           gt_root_access(root, "sys/fs/cgroup/unified/cgroup.controllers", F_OK) == 0;
}

static int refuse(struct gt_availability *availability, int status)
{
    if (status == -EPERM || status == -EACCES) /* root in a container: not told at each run, for nobody asked for it */
        return gt_unavailable(availability, GT_ABSENT, NULL,
                              "counting the job's packets takes CAP_BPF and CAP_NET_ADMIN");
    return gt_unavailable(availability, GT_ABSENT, NULL,
                          "the kernel counts no packets of control groups so (Linux 5.7): %s", strerror(-status));
}

static int network_open(void **ret, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                        struct gt_availability *availability, struct gt_error *error)
{
    (void)snapshot;
    *ret = NULL;
    *availability = (struct gt_availability){.source = "packets of the job's control group, counted by BPF"};
    int group = options->cgroup ? gt_cgroup_directory(options->cgroup) : -1;
    if (!options->root->is_machine || (options->pid && !options->cgroup))
        return gt_unavailable(availability, GT_ABSENT, NULL, "the job has no control group of its own");
    if (options->pid ? group < 0 : !has_version_2(options->root))
        return gt_unavailable(availability, GT_ABSENT, NULL, "the job has no control group of version 2");
    struct state *state = calloc(1, sizeof *state);
    if (!state)
        return gt_error_system(error, ENOMEM, "job network collector");
    for (int i = 0; i < DIRECTIONS; i++)
        state->link[i] = -1;
    int status = begin(state, group);
    if (status < 0) {
        network_close(state);
        return refuse(availability, status);
    }
    *ret = state;
    return 0;
}

static int network_collect(void *opaque, struct gt_snapshot *snapshot, struct gt_error *error)
{
    (void)error;
    const struct state *state = opaque;
    for (int i = 0; i < DIRECTIONS; i++)
        if (state->link[i] >= 0)
            snapshot->job[metrics[i]] = (double)__atomic_load_n(&state->bytes[i], __ATOMIC_RELAXED);
    return 0;
}

static const struct gt_origin origins[] = {
    {GT_JOB_NETWORK_RECEIVED, GT_EXACT, "BPF on the control group", "headers of IP and loopback included; no RDMA"},
    {GT_JOB_NETWORK_SENT, GT_EXACT, "BPF on the control group", "headers of IP and loopback included; no RDMA"},
};

const struct gt_collector_type gt_collector_job_network = {
    .name = "job_network",
    .help = "bytes that the job's own sockets receive and send, where root tracks it",
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
    .origins = origins,
    .origin_count = sizeof origins / sizeof *origins,
    .open = network_open,
    .collect = network_collect,
    .close = network_close,
    .lags = true, /* what the job sent last is counted when its processes have ended */
};
