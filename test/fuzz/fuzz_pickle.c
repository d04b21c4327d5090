/* Result files as pickles. */
#include <stdint.h>
#include <stdlib.h>

#include "analyse/blocks/results.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *tree = NULL;
    struct gt_error error = {0};
    int status = gt_results_unpickle(&tree, data, size, "input", &error);
    if ((status == 0) != (tree != NULL) || (status < 0) != (error.code != 0))
        abort();
    json_decref(tree);
    return 0;
}
