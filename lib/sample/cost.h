/* The cost is what energy comes to in carbon and money. Nothing is looked up on a network. */
#ifndef GT_SAMPLE_COST_H
#define GT_SAMPLE_COST_H

#include "sample/machine.h"

#define GT_CARBON_FILE "carbon-intensity.csv"

struct gt_cost {
    const char *carbon_intensity; /* grams of CO2 equivalent for each kWh, or a region of the file; NULL: as it is */
    const char *carbon_file;      /* CSV with columns region, name, year, grams_per_kwh, source; NULL: the installed */
    const char *price;            /* for each kWh, with or without a currency: "0.30 EUR"; NULL: as it is */
};

/* Set the machine's values. -EINVAL names what is neither a number nor a region; -ENOENT: no such file. */
int gt_cost_read(struct gt_machine *machine, const struct gt_cost *cost, struct gt_error *error);

#endif
