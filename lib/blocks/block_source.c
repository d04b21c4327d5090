#include "blocks/block_source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct gt_block_source gt_block_sources[GT_BLOCK_SOURCES] = {
#define SOURCE(name, way, variable, what) {#name, "blocks: " #name, GT_BLOCK_WAY_##way, variable, what},
#include "blocks/block_source.def"
#undef SOURCE
};

static unsigned sources_of(const char *word, size_t length)
{
    unsigned all = GT_BLOCK_SOURCES_ANY;
    for (int i = 0; i < GT_BLOCK_SOURCES; i++) {
        if (strlen(gt_block_sources[i].name) == length && strncmp(gt_block_sources[i].name, word, length) == 0)
            return 1u << i;
        all |= gt_block_sources[i].way == GT_BLOCK_WAY_PRELOAD ? 0 : 1u << i;
    }
    return length == 3 && strncmp(word, "all", 3) == 0 ? all : 0;
}

int gt_block_sources_read(const char *text, unsigned *ret, struct gt_error *error)
{
    char list[200] = "";
    *ret = 0;
    for (const char *word = text;; word++) {
        word += strspn(word, " ");
        size_t length = strcspn(word, ", ");
        unsigned found = sources_of(word, length);
        if (!found) {
            for (int i = 0; i < GT_BLOCK_SOURCES; i++)
                snprintf(list + strlen(list), sizeof list - strlen(list), "%s, ", gt_block_sources[i].name);
            return gt_error_set(error, EINVAL, "'%.*s' is no source of code blocks; these are: %sall", (int)length,
                                word, list);
        }
        *ret |= found;
        word += length;
        word += strspn(word, " ");
        if (*word && *word != ',')
            return gt_error_set(error, EINVAL, "'%s': names of sources are parted by commas", text);
        if (!*word)
            return 0;
    }
}

const char *gt_block_source_name(size_t index)
{
    return index < GT_BLOCK_SOURCES ? gt_block_sources[index].name : index == GT_BLOCK_SOURCES ? "all" : NULL;
}
