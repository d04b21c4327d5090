#include <stdlib.h>
#include <string.h>

#include "collect/energy/energy_relay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was understood is written so that it is understood again, and means the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gt_relay_answer answer, again;
    char text[GT_RELAY_MESSAGE];
    if (gt_relay_parse((const char *)data, size, &answer) < 0)
        return 0;
    size_t length = gt_relay_write(text, &answer);
    if (length >= sizeof text || gt_relay_parse(text, length, &again) < 0 || again.instance != answer.instance ||
        again.period != answer.period || again.quantum != answer.quantum)
        abort();
    for (int k = 0; k < GT_RELAY_FIGURES; k++)
        if (again.has[k] != answer.has[k] || again.count[k] != answer.count[k])
            abort();
    return 0;
}
