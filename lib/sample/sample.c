#include "sample/sample.h"

const char *gt_exactness_name(enum gt_exactness exactness)
{
    static const char *const names[] = {"missing", "sampled", "exact", "derived", "estimated"};
    return names[exactness];
}
