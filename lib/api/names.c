#include "gpu_tracker.h"
#include "schema/unit.h"

static const char *name_at(const char *const names[], size_t index)
{
    for (size_t i = 0; names[i]; i++)
        if (i == index)
            return names[i];
    return NULL;
}

const char *gt_memory_unit(size_t index)
{
    return name_at(gt_memory_units, index);
}

const char *gt_time_unit(size_t index)
{
    return name_at(gt_time_units, index);
}
