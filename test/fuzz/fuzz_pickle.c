/* Result files as pickles. */
#include <stdint.h>
#include <stdlib.h>

#include "analyse/blocks/results.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gt_json_value *tree = NULL;
    struct gt_error error = {0};
    int status = gt_results_unpickle(&tree, data, size, "input", &error);
    if ((status == 0) != (tree != NULL) || (status < 0) != (error.code != 0))
        abort();
    gt_json_free(tree);
    return 0;
}
