/* Where power can be measured, and what stands in the way. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/python.h"
#include "base/buffer.h"
#include "sample/sampler.h"

/* A sentence for each source of the metric that is here; 1 when one of them is ready. */
static int describe(const struct gt_sampler *sampler, enum gt_metric_id metric, struct gt_buffer *text)
{
    int ready = 0;
    for (size_t i = 0; i < sampler->source_count; i++) {
        const struct gt_availability *found = &sampler->source[i].availability;
        if (!gt_collector_fills(sampler->source[i].type, metric))
            continue;
        bool is_ready = found->state == GT_READY;
        ready |= is_ready;
        if (text->length)
            gt_buffer_text(text, "; ");
        gt_buffer_printf(text, "%s%s%s", found->source, found->reason[0] ? ": " : "", found->reason);
        if (!is_ready && found->remedy[0])
            gt_buffer_printf(text, " (%s)", found->remedy);
    }
    return ready;
}

int gt_power_source(const char *device, const char *machine_root, char **ret, struct gt_error *error)
{
    const struct gt_sampler_options settings = {.machine_root = machine_root};
    struct gt_sampler sampler;
    struct gt_buffer text = {0};
    bool is_cpu = !strcmp(device, "cpu");
    if (!is_cpu && strcmp(device, "gpu") != 0)
        return gt_error_set(error, EINVAL, "\"%s\" is neither \"cpu\" nor \"gpu\"", device);
    int status = gt_sampler_probe(&sampler, &settings, error);
    if (status < 0)
        return status;
    status = describe(&sampler, is_cpu ? GT_CPU_ENERGY : GT_GPU_POWER, &text);
    gt_sampler_close(&sampler);
    if (text.failed || !text.data)
        status = gt_error_system(error, ENOMEM, "power source");
    return gt_buffer_give(&text, status, ret, NULL);
}
