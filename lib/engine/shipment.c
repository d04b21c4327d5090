#include "engine/shipment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"

static const uint32_t own_sources = 1u << 31;

enum { DAY = 86400 };

/* Names have letters that need no quotes anywhere. */
static void clean(char *name)
{
    for (; *name; name++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:+-", *name))
            *name = '_';
}

static const char *node_of(const struct gt_machine *machine)
{
    return *machine->node ? machine->node : machine->host;
}

void gt_shipment_name_job(char *ret, size_t size, const struct gt_machine *machine, const char *job)
{
    if (*job || *machine->job)
        snprintf(ret, size, "%s", *job ? job : machine->job);
    else
        snprintf(ret, size, "%s-%d-%lld", *machine->host ? machine->host : "host", (int)machine->pid,
                 (long long)(machine->start_real_ns / GT_SECOND));
    clean(ret);
}

static void name_job(struct gt_shipment *shipment, const char *job)
{
    const struct gt_machine *machine = &shipment->machine;
    gt_shipment_name_job(shipment->job, sizeof shipment->job, machine, job);
    snprintf(shipment->node, sizeof shipment->node, "%s", *node_of(machine) ? node_of(machine) : "node");
    clean(shipment->node);
}

uint32_t gt_shipment_own_source(const struct gt_shipment *shipment)
{
    char text[300];
    int length = snprintf(text, sizeof text, "%s %d %lld", node_of(&shipment->machine), (int)shipment->machine.pid,
                          (long long)shipment->machine.start_real_ns);
    return own_sources | (uint32_t)gt_hash(text, (size_t)length);
}

static bool has_rank(const struct gt_machine *machine)
{
    return *machine->launcher && machine->rank > 0;
}

static int take_machine(struct gt_shipment *shipment, struct gt_recording *recording, struct gt_error *error)
{
    const struct gt_machine *machine = gt_recording_machine(recording);
    shipment->machine = *machine;
    shipment->machine.gpu = calloc(machine->gpu_length + 1, sizeof *machine->gpu);
    if (!shipment->machine.gpu)
        return gt_error_system(error, ENOMEM, "%s", shipment->path);
    if (machine->gpu_length)
        memcpy(shipment->machine.gpu, machine->gpu, machine->gpu_length * sizeof *machine->gpu);
    return 0;
}

/* The original's files do not tell when they began. */
static int find_start(struct gt_shipment *shipment, struct gt_recording *recording, struct gt_error *error)
{
    const struct gt_sample *sample;
    if (shipment->machine.start_real_ns)
        return 0;
    int status = gt_recording_next(recording, &sample, error);
    if (status > 0)
        shipment->machine.start_real_ns = sample->real_ns;
    return status < 0 ? status : status > 0 ? 0 : gt_error_set(error, EINVAL, "%s: it has no samples", shipment->path);
}

int gt_shipment_open(struct gt_shipment **ret, const char *path, const char *job, struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    struct gt_shipment *shipment = calloc(1, sizeof *shipment);
    if (!shipment || !(shipment->path = strdup(path))) {
        free(shipment);
        return gt_error_system(error, ENOMEM, "%s", path);
    }
    int status = gt_recording_open(&recording, path, error);
    if (status >= 0)
        status = take_machine(shipment, recording, error);
    if (status >= 0)
        status = find_start(shipment, recording, error);
    gt_recording_close(recording);
    if (status < 0) {
        gt_shipment_close(shipment);
        return status;
    }
    name_job(shipment, job);
    shipment->heard = shipment->machine.start_real_ns;
    shipment->day = (uint16_t)(shipment->machine.start_real_ns / GT_SECOND / DAY);
    shipment->source = has_rank(&shipment->machine) ? (uint32_t)shipment->machine.rank - 1
                                                    : gt_shipment_own_source(shipment);
    *ret = shipment;
    return 0;
}

void gt_shipment_close(struct gt_shipment *shipment)
{
    if (!shipment)
        return;
    if (shipment->live)
        gt_summary_release(shipment->live);
    free(shipment->live);
    for (int table = 0; table < GT_ENGINE_TABLES; table++)
        free(shipment->hole[table]);
    free(shipment->machine.gpu);
    free(shipment->path);
    free(shipment);
}

void gt_shipment_doubt(struct gt_shipment *shipment)
{
    memcpy(shipment->read, shipment->sure, sizeof shipment->read);
    shipment->place = shipment->sure_place;
}
