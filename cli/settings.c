#include "settings.h"

struct gt_tracker_options settings_tracker(const struct options *options)
{
    struct gt_tracker_options ret = GT_INIT(struct gt_tracker_options);
    ret.sleep_time = options->sleep_time;
    ret.ram_unit = options->ram_unit;
    ret.gpu_ram_unit = options->gpu_ram_unit;
    ret.time_unit = options->time_unit;
    ret.expected_cores = options->n_expected_cores;
    ret.gpu_uuids = options->gpu_uuids;
    ret.gpu_brand = options->gpu_brand;
    ret.tracking_file = options->tracking_file;
    ret.overwrite = options->overwrite;
    ret.detail = options->detail;
    ret.memory = options->memory;
    ret.idle = options->idle;
    ret.carbon_intensity = options->carbon_intensity;
    ret.carbon_file = options->carbon_file;
    ret.price = options->price;
    ret.power_meter = options->power_meter;
    ret.power_model = options->power_model;
    ret.cpu_tdp = options->cpu_tdp;
    ret.machine_root = options->root;
    ret.libraries = options->library.value;
    return ret;
}
