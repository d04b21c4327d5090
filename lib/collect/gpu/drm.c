#include "collect/gpu/drm.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"

/* GPUs by what the kernel's own drivers tell in /sys and in the fdinfo files of the job's processes; no library. */

static const enum gt_metric_id metrics[] = {
    GT_GPU_RAM,         GT_GPU_UTILIZATION, GT_GPU_MEMORY_UTILIZATION, GT_GPU_ENCODER, GT_GPU_DECODER,
    GT_GPU_TEMPERATURE, GT_GPU_CLOCK,       GT_GPU_MEMORY_CLOCK,       GT_GPU_POWER,   GT_GPU_ENERGY,
};

static void drm_close(void *state)
{
    struct drm *drm = state;
    if (!drm)
        return;
    free(drm->clients.client);
    free(drm->previous.client);
    free(drm->usage);
    free(drm);
}

static int drm_open(void **ret, const struct gt_collect_options *options, struct gt_frame *frame,
                    struct gt_availability *availability, struct gt_error *error)
{
    int found = 0;
    *ret = NULL;
    *availability = (struct gt_availability){
        .state = GT_ABSENT, .source = "/sys/class/drm, /proc/PID/fdinfo", .refresh = NAN};
    struct drm *drm = calloc(1, sizeof *drm);
    if (!drm)
        return gt_error_set(error, ENOMEM, "DRM: no memory");
    drm->root = options->root;
    drm->clock = options->clock;
    drm->values.share = 0.004;
    drm->lists.share = 0.006; /* of a core: together 1 % */
    int status = gt_drm_add_cards(drm, options, frame, &found);
    if (status == 0 && drm->card_count > 0) {
        availability->state = GT_READY;
        *ret = drm;
        return 0;
    }
    drm_close(drm);
    snprintf(availability->reason, sizeof availability->reason, "%s",
             found ? "the kernel's graphics drivers here tell no use, or their GPUs are measured by a library already"
                   : "there is no graphics card");
    return status < 0 ? gt_error_set(error, ENOMEM, "DRM: no memory") : 0;
}

static int find_card(const struct drm *drm, const struct gt_frame *frame, const struct drm_client *client)
{
    int found = -1, count = 0;
    for (size_t i = 0; i < drm->card_count; i++) {
        const char *pci = frame->device[drm->card[i].device].pci;
        bool fits = client->pci[0] ? !strcmp(client->pci, pci)
                                   : !pci[0] && !strcmp(client->driver, drm->card[i].driver->name);
        if (fits) {
            found = (int)i;
            count++;
        }
    }
    return count == 1 ? found : -1;
}

static struct drm_client *find_client(const struct drm_clients *clients, const struct drm_client *wanted)
{
    for (size_t i = 0; i < clients->count; i++)
        if (clients->client[i].id == wanted->id && clients->client[i].card == wanted->card)
            return &clients->client[i];
    return NULL;
}

/* Duplicated and inherited descriptors are one client; it counts for the first process that has it. */
static int add_client(struct drm_clients *clients, const struct drm_client *client)
{
    if (find_client(clients, client))
        return 0;
    struct drm_client *place = GT_GROW_LIST(clients, client);
    if (!place)
        return -ENOMEM;
    *place = *client;
    return 0;
}

static bool is_drm_file(int directory, const char *name)
{
    static const char prefix[] = "/dev/dri/";
    char link[64];
    ssize_t length = readlinkat(directory, name, link, sizeof link);
    return length >= (ssize_t)strlen(prefix) && !memcmp(link, prefix, strlen(prefix));
}

static int read_process(struct drm *drm, const struct gt_frame *frame, pid_t pid)
{
    char path[64], text[8192];
    int status = 0;
    snprintf(path, sizeof path, "proc/%d/fd", (int)pid);
    int fd = gt_root_open_directory(drm->root, path);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory) {
        if (fd >= 0)
            close(fd);
        return 0; /* it ended, or it is not ours to read */
    }
    for (struct dirent *entry; status == 0 && (entry = readdir(directory));) {
        struct drm_client client;
        if (!isdigit((unsigned char)entry->d_name[0]) || !is_drm_file(fd, entry->d_name))
            continue;
        snprintf(path, sizeof path, "proc/%d/fdinfo/%.16s", (int)pid, entry->d_name);
        if (gt_root_read(drm->root, path, text, sizeof text) < 0 || !gt_drm_parse(text, &client))
            continue;
        client.pid = pid;
        client.card = find_card(drm, frame, &client);
        if (client.card >= 0)
            status = add_client(&drm->clients, &client);
    }
    closedir(directory);
    return status;
}

static int read_clients(struct drm *drm, const struct gt_frame *frame)
{
    int64_t now_ns = gt_clock_monotonic(drm->clock);
    int status = 0;
    if (!gt_pace_due(&drm->lists, now_ns))
        return 0;
    struct drm_clients old = drm->previous;
    drm->previous = drm->clients;
    drm->clients = old;
    drm->clients.count = 0;
    for (size_t i = 0; i < frame->process_count && status == 0; i++)
        status = read_process(drm, frame, frame->process[i]->pid);
    if (status == 0)
        status = GT_GROW_TO(drm->usage, drm->usage_capacity, drm->clients.count);
    if (status < 0) {
        drm->clients.count = 0;
        return -ENOMEM;
    }
    double seconds = drm->clients_ns ? (double)(now_ns - drm->clients_ns) / 1e9 : 0;
    for (size_t i = 0; i < drm->clients.count; i++) {
        const struct drm_client *client = &drm->clients.client[i];
        drm->usage[i] = gt_drm_usage(client, find_client(&drm->previous, client), seconds);
    }
    drm->clients_ns = now_ns;
    gt_pace_spent(&drm->lists, now_ns, gt_clock_monotonic(drm->clock));
    return 0;
}

static void add_share(double *sum, double value, double most)
{
    if (!isnan(value))
        *sum = fmin(isnan(*sum) ? value : *sum + value, most);
}

static int publish(struct drm *drm, struct gt_frame *frame, bool is_new)
{
    for (size_t i = 0; i < drm->card_count; i++) {
        struct drm_card *card = &drm->card[i];
        struct gt_device *device = &frame->device[card->device];
        for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++)
            device->value[metrics[m]] = card->value[metrics[m]];
        device->is_resting = card->is_asleep;
        device->is_old = !is_new;
        device->read_ns = card->read_ns;
        device->doubt = gt_energy_counter_doubt(&card->energy) + gt_power_doubt(&card->integral);
    }
    for (size_t i = 0; i < drm->clients.count; i++) {
        const struct drm_client *client = &drm->clients.client[i];
        struct gt_share *share = gt_frame_share(frame, drm->card[client->card].device, client->pid);
        if (!share)
            return -ENOMEM;
        add_share(&share->value[GT_GPU_RAM], client->bytes, INFINITY);
        add_share(&share->value[GT_GPU_UTILIZATION], drm->usage[i].graphics, 1);
        add_share(&share->value[GT_GPU_ENCODER], drm->usage[i].encoder, 1);
        add_share(&share->value[GT_GPU_DECODER], drm->usage[i].decoder, 1);
    }
    return 0;
}

static int drm_collect(void *state, struct gt_frame *frame, struct gt_error *error)
{
    struct drm *drm = state;
    int64_t start = gt_clock_monotonic(drm->clock);
    bool is_due = gt_pace_due(&drm->values, start);
    if (is_due) {
        for (size_t i = 0; i < drm->card_count; i++)
            gt_drm_read_card(drm, &drm->card[i]);
        gt_pace_spent(&drm->values, start, gt_clock_monotonic(drm->clock));
    }
    int status = read_clients(drm, frame);
    if (status == 0)
        status = publish(drm, frame, is_due);
    return status < 0 ? gt_error_set(error, ENOMEM, "DRM: no memory") : 0;
}

const struct gt_collector_type gt_collector_drm = {
    .name = "drm",
    .help = "AMD, Intel and other GPUs, by the kernel's graphics drivers",
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
    .open = drm_open,
    .collect = drm_collect,
    .close = drm_close,
};
