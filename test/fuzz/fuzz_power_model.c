#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/energy/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was understood is a curve from no use to full use, whose power is between its least and its most. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gt_model model;
    struct gt_error error = {0};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    int status = gt_model_parse(&model, "model", text, size, &error);
    free(text);
    if (status < 0) {
        if (!error.text[0] || strchr(error.text, '\n'))
            abort();
        return 0;
    }
    if (model.count < 2 || model.ratio[0] != 0 || model.ratio[model.count - 1] != 1 || model.dram_watts < 0)
        abort();
    for (int i = 1; i < model.count; i++)
        if (!(model.ratio[i - 1] < model.ratio[i]))
            abort();
    for (int i = -1; i <= 11; i++) {
        double watts = gt_model_watts(&model, i / 10.0), least = INFINITY, most = 0;
        for (int k = 0; k < model.count; k++) {
            least = fmin(least, model.watts[k]);
            most = fmax(most, model.watts[k]);
        }
        if (!(watts >= least * (1 - 1e-9) && watts <= most * (1 + 1e-9)))
            abort();
    }
    return 0;
}
