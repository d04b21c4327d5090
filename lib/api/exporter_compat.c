/* The gauges that AIPowerMeter offered to Prometheus, by their names: of what is followed, or of the machine when nothing is. */
#include "api/exporter.h"

/* The sum over all rows of jobs; NaN when none has it. Without jobs what the machine has. */
static double of_jobs(const struct gt_exporter *exporter, enum gt_metric_id metric)
{
    double sum = NAN;
    bool has_jobs = false;
    for (size_t i = 0; i < exporter->row_count; i++) {
        const struct gt_exposition_row *row = &exporter->row[i];
        if (row->scope != GT_SCOPE_COMBINED)
            continue;
        has_jobs = true;
        if (!isnan(row->value[metric]))
            sum = (isnan(sum) ? 0 : sum) + row->value[metric];
    }
    return has_jobs ? sum : exporter->system[metric];
}

/* When the jobs have less than before, one of them is gone: the time up to here is not asked for. */
int gt_exporter_note_power(struct gt_exporter *exporter)
{
    double now = (double)exporter->sample.monotonic_ns / 1e9, since = exporter->energy.time;
    struct gt_energy_reading reading;
    struct gt_drawn drawn;
    gt_energy_reading_clear(&reading);
    reading.device[GT_ENERGY_CPU].total = exporter->system[GT_CPU_ENERGY];
    reading.device[GT_ENERGY_CPU].job = of_jobs(exporter, GT_CPU_ENERGY);
    if (!exporter->samples || reading.device[GT_ENERGY_CPU].job < exporter->job_joules) {
        gt_energy_curve_release(&exporter->energy);
        gt_energy_curve_follow(&exporter->energy, &(struct gt_machine){0}, now);
    }
    exporter->job_joules = reading.device[GT_ENERGY_CPU].job;
    int status = gt_energy_curve_add(&exporter->energy, now, &reading);
    gt_energy_curve_drawn(&exporter->energy, &drawn);
    exporter->cpu_watts = drawn.total / (now - since);
    exporter->job_watts = drawn.job / (now - since);
    return status;
}

void gt_exporter_write_aipowermeter(const struct gt_exporter *exporter, struct gt_buffer *out, enum gt_exposition form)
{
    double ram = of_jobs(exporter, GT_RAM);
    const struct {
        const char *name, *help;
        double value;
    } gauges[] = {
        {"power_draw_cpu", "Power of the processors drawn for the followed processes, watts", exporter->job_watts},
        {"intel_power", "Power of all processor packages, watts", exporter->cpu_watts},
        {"mem_used_cpu", "Memory of the followed processes, bytes", isnan(ram) ? of_jobs(exporter, GT_RSS) : ram},
        {"mem_used_gpu", "GPU memory of the followed processes, bytes", of_jobs(exporter, GT_GPU_RAM)},
        {"power_draw_gpu", "Power of all GPUs, watts", exporter->system[GT_GPU_POWER]},
    };
    for (size_t i = 0; i < sizeof gauges / sizeof *gauges; i++) {
        if (isnan(gauges[i].value))
            continue;
        gt_exposition_family(out, form, gauges[i].name, "gauge", NULL, gauges[i].help);
        gt_exposition_sample(out, gauges[i].name, "gauge", "", gauges[i].value);
    }
}
