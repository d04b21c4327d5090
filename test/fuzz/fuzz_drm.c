/* What graphics drivers tell of a client: any text gives numbers that are in range or missing. */
#include <stdlib.h>
#include <string.h>

#include "collect/gpu/drm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(double share)
{
    if (share < 0)
        abort();
}

/* The text up to its first NUL is an earlier reading, what follows a later one. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct drm_client before, now;
    char *text = malloc(size + 2);
    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = text[size + 1] = '\0';
    bool has_before = gt_drm_parse(text, &before);
    if (gt_drm_parse(text + strlen(text) + (strlen(text) < size), &now)) {
        struct drm_usage usage = gt_drm_usage(&now, has_before ? &before : NULL, 0.5);
        if (now.engine_count > DRM_MOST_ENGINES || now.bytes < 0)
            abort();
        check(usage.graphics);
        check(usage.encoder);
        check(usage.decoder);
    }
    free(text);
    return 0;
}
