#include "trace/formats/python_profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/number.h"

enum { MOST_BYTES = 256 << 20 };

int gt_python_profile_bytes(struct gt_reading *reading, const char *path, char **ret, size_t *length,
                            struct gt_error *error)
{
    struct gt_input *input = NULL;
    int status = gt_input_open(&input, path, reading->options->ceiling, error);
    if (status < 0)
        return status;
    size_t size = gt_input_size(input);
    ssize_t got = -EFBIG;
    char *bytes = NULL;
    if (size > MOST_BYTES || gt_input_is_compressed(input))
        gt_error_set(error, EFBIG, "%s: a Python profile of more than %d MB", path, MOST_BYTES >> 20);
    else if (!(bytes = malloc(size + 1)))
        got = gt_error_system(error, ENOMEM, "%s", path);
    else
        got = gt_input_read(input, bytes, size, error);
    gt_input_close(input);
    if (got < 0) {
        free(bytes);
        return (int)got;
    }
    gt_reading_file(reading)->bytes = *length = (size_t)got;
    *ret = bytes;
    return 0;
}

int64_t gt_profile_function(struct gt_profile_maker *maker, struct gt_span file, int64_t line, struct gt_span name)
{
    struct gt_strings *strings = &maker->reading->trace->strings;
    int64_t file_text = gt_strings_add(strings, file.text, file.length);
    int64_t name_text = file_text < 0 ? file_text : gt_strings_add(strings, name.text, name.length);
    if (name_text < 0)
        return name_text;
    struct gt_key key = {{(uint32_t)file_text, (uint32_t)name_text, (uint32_t)line, (uint32_t)((uint64_t)line >> 32)}};
    int64_t number = gt_keys_add(&maker->keys, key, (uint32_t)maker->function_count);
    if (number != (int64_t)maker->function_count)
        return number;
    struct gt_trace_function *function = GT_GROW(maker, function);
    if (!function)
        return -ENOMEM;
    *function = (struct gt_trace_function){.file = (uint32_t)file_text,
                                           .function = (uint32_t)name_text,
                                           .line = line,
                                           .primitive_calls = -1,
                                           .total_calls = -1,
                                           .total_time = NAN,
                                           .cumulative_time = NAN};
    return number;
}

struct place {
    const struct gt_trace *trace;
    const struct gt_trace_function *function;
    uint32_t number;
};

static int by_name(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = strcmp(gt_trace_text(x->trace, x->function->file), gt_trace_text(y->trace, y->function->file));
    if (!order)
        order = GT_ORDER(x->function->line, y->function->line);
    if (!order)
        order = strcmp(gt_trace_text(x->trace, x->function->function), gt_trace_text(y->trace, y->function->function));
    return order ? order : x->number < y->number ? -1 : 1;
}

static void renumber(struct gt_profile_maker *maker, const uint32_t *place_of)
{
    for (size_t i = 0; i < maker->caller_count; i++)
        maker->caller[i].function = place_of[maker->caller[i].function];
    for (size_t i = 0; i < maker->frame_count; i++)
        maker->frame[i].function = place_of[maker->frame[i].function];
}

int gt_profile_finish(struct gt_profile_maker *maker, struct gt_trace_profile *profile)
{
    size_t count = maker->function_count;
    struct place *place = calloc(count + 1, sizeof *place);
    uint32_t *place_of = calloc(count + 1, sizeof *place_of);
    struct gt_trace_function *sorted = calloc(count + 1, sizeof *sorted);
    int status = place && place_of && sorted ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && status >= 0; i++)
        place[i] = (struct place){maker->reading->trace, &maker->function[i], (uint32_t)i};
    if (status >= 0) {
        qsort(place, count, sizeof *place, by_name);
        for (size_t i = 0; i < count; i++) {
            sorted[i] = *place[i].function;
            place_of[place[i].number] = (uint32_t)i;
        }
        renumber(maker, place_of);
        profile->function = sorted;
        profile->function_count = count;
        profile->caller = maker->caller;
        profile->caller_count = maker->caller_count;
        profile->frame = maker->frame;
        profile->frame_count = maker->frame_count;
        maker->caller = NULL;
        maker->frame = NULL;
        sorted = NULL;
    }
    free(sorted);
    free(place);
    free(place_of);
    gt_profile_release(maker);
    return status;
}

void gt_profile_release(struct gt_profile_maker *maker)
{
    gt_keys_release(&maker->keys);
    free(maker->function);
    free(maker->caller);
    free(maker->frame);
    *maker = (struct gt_profile_maker){0};
}
