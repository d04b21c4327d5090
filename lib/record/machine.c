#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/provenance.h"
#include "collect/host/capacity.h"
#include "sample/cost.h"
#include "schema/unit.h"

static int copy_gpus(struct gt_recorder *recorder)
{
    const struct gt_frame *frame = &recorder->sampler.frame;
    struct gt_machine *machine = &recorder->machine;
    machine->gpu = calloc(frame->device_count ? frame->device_count : 1, sizeof *machine->gpu);
    if (!machine->gpu)
        return -ENOMEM;
    machine->gpu_length = frame->device_count;
    for (size_t i = 0; i < frame->device_count; i++) {
        const struct gt_device *device = &frame->device[i];
        struct gt_gpu *gpu = &machine->gpu[i];
        snprintf(gpu->uuid, sizeof gpu->uuid, "%s", device->uuid);
        snprintf(gpu->name, sizeof gpu->name, "%s", device->name);
        snprintf(gpu->brand, sizeof gpu->brand, "%s", device->brand);
        gpu->memory = device->memory;
        gpu->selected = device->selected;
        if (device->parent >= 0)
            continue; /* a slice is part of its board */
        machine->gpu_count++;
        machine->expected_gpus += device->selected;
        if (!isnan(device->memory))
            machine->gpu_ram_capacity += device->memory;
    }
    return 0;
}

/* The command line of the process, arguments separated by blanks. */
static void read_command(const struct gt_root *root, pid_t pid, char *text, size_t size)
{
    ssize_t length = gt_root_read_process(root, pid, "cmdline", text, size);
    if (length <= 0)
        *text = '\0';
    for (ssize_t i = 0; i + 1 < length; i++)
        if (!text[i])
            text[i] = ' ';
}

static void name_energy_sources(struct gt_recorder *recorder)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        const struct gt_sampler_source *source = gt_provenance_source(recorder, gt_energy_metrics[i]);
        struct gt_energy_source *ret = &recorder->machine.energy_source[i];
        if (!source || !source->state)
            continue;
        snprintf(ret->name, sizeof ret->name, "%.95s", source->availability.source);
        ret->refresh = isnan(source->availability.refresh) ? 0 : source->availability.refresh;
    }
}

static void tell_packages(struct gt_recorder *recorder)
{
    const struct gt_frame *frame = &recorder->sampler.frame;
    recorder->machine.cpu_packages = (int)frame->package_count;
    snprintf(recorder->machine.cpu_packages_missing, sizeof recorder->machine.cpu_packages_missing, "%s",
             recorder->sampler.topology.why_no_packages);
}

/* A stored machine has its own name, if that was stored. */
static void name_host(struct gt_recorder *recorder)
{
    struct gt_machine *machine = &recorder->machine;
    if (recorder->sampler.root.is_machine)
        gethostname(machine->host, sizeof machine->host - 1);
    else if (gt_root_read(&recorder->sampler.root, "proc/sys/kernel/hostname", machine->host, sizeof machine->host) > 0)
        machine->host[strcspn(machine->host, "\n")] = '\0';
    else
        *machine->host = '\0';
}

int gt_recorder_describe(struct gt_recorder *recorder, struct gt_error *error)
{
    const struct gt_tracker_options *options = recorder->options.tracker;
    struct gt_machine *machine = &recorder->machine;
    machine->pid = recorder->sampler.tree.main;
    machine->period = options->sleep_time;
    snprintf(machine->ram_unit, sizeof machine->ram_unit, "%s", gt_unit_full_name(options->ram_unit));
    snprintf(machine->gpu_ram_unit, sizeof machine->gpu_ram_unit, "%s", gt_unit_full_name(options->gpu_ram_unit));
    snprintf(machine->time_unit, sizeof machine->time_unit, "%s", gt_unit_full_name(options->time_unit));
    gt_watched_groups_find(&recorder->kernel.groups, &recorder->sampler.root, machine->pid);
    machine->ram_capacity = gt_capacity_memory(&recorder->sampler.root, &recorder->kernel.groups);
    int cores = gt_capacity_cores(&recorder->sampler.root);
    machine->core_count = cores > 0 ? cores : (int)sysconf(_SC_NPROCESSORS_ONLN);
    machine->expected_cores = options->expected_cores ? options->expected_cores : machine->core_count;
    snprintf(machine->ram_method, sizeof machine->ram_method, "%s", gt_walker_method(recorder->sampler.walker));
    snprintf(machine->idle_policy, sizeof machine->idle_policy, "%s", options->idle);
    name_energy_sources(recorder);
    tell_packages(recorder);
    int status = gt_cost_read(
        machine, &(struct gt_cost){options->carbon_intensity, options->carbon_file, options->price}, error);
    if (status < 0)
        return status;
    name_host(recorder);
    if (options->command)
        snprintf(machine->command, sizeof machine->command, "%s", options->command);
    else
        read_command(&recorder->sampler.root, machine->pid, machine->command, sizeof machine->command);
    if (copy_gpus(recorder) < 0)
        return gt_error_system(error, ENOMEM, "tracker");
    return 0;
}
