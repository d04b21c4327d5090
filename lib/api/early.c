/* For programs with privileges of their own: what takes them is opened first, so that they can be given up at once. */
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/root.h"
#include "collect/collector.h"
#include "collect/process/events.h"
#include "collect/topology.h"

static void open_counters(const struct gt_root *root)
{
    struct gt_clock clock = gt_clock_system;
    struct gt_frame *frame = calloc(1, sizeof *frame);
    struct gt_topology topology = {0};
    struct gt_collect_options options = {
        .root = root, .clock = &clock, .topology = &topology, .period = 1, .pid = getpid()};
    gt_early_begin();
    for (size_t i = 0; frame && i < gt_collector_type_count; i++) {
        struct gt_availability availability;
        void *state = NULL;
        if (!gt_collector_is_of_energy(gt_collector_types[i]))
            continue;
        gt_collector_types[i]->open(&state, &options, frame, &availability, NULL);
        if (state)
            gt_collector_types[i]->close(state);
    }
    gt_early_end();
    if (frame) {
        gt_packages_release(frame, &topology);
        free(frame->device);
    }
    free(frame);
}

int gt_privileged_open(int events)
{
    struct gt_root root;
    if (!getauxval(AT_SECURE))
        return 0;
    if (gt_root_open(&root, NULL, NULL) < 0)
        return 1;
    open_counters(&root);
    if (events)
        gt_events_open_early(&root);
    gt_root_close(&root);
    return 1;
}
