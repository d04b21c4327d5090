#include "collect/gpu/gpu.h"
#include "support/test.h"

static void add(struct gt_snapshot *snapshot, const char *uuid, const char *brand, int index)
{
    struct gt_device *device = gt_snapshot_device(snapshot);
    assert_non_null(device);
    snprintf(device->uuid, sizeof device->uuid, "%s", uuid);
    snprintf(device->brand, sizeof device->brand, "%s", brand);
    device->index = index;
}

static void add_slice(struct gt_snapshot *snapshot, const char *uuid, int parent, int gpu_instance)
{
    add(snapshot, uuid, "nvidia", 0);
    struct gt_device *device = &snapshot->device[snapshot->device_count - 1];
    device->parent = parent;
    device->gpu_instance = gpu_instance;
    device->compute_instance = 0;
}

static int setup(void **state)
{
    struct gt_snapshot *snapshot = calloc(1, sizeof *snapshot);
    add(snapshot, "GPU-11111111-aaaa", "nvidia", 0);
    add(snapshot, "GPU-11112222-bbbb", "nvidia", 1);
    add_slice(snapshot, "MIG-99999999-cccc", 1, 7);
    add_slice(snapshot, "MIG-88888888-dddd", 1, 9);
    add(snapshot, "pci-0000:03:00.0", "amd", 2);
    *state = snapshot;
    return 0;
}

static int teardown(void **state)
{
    struct gt_snapshot *snapshot = *state;
    free(snapshot->device);
    free(snapshot);
    return 0;
}

/* "10110": which devices are selected. */
static void expect(struct gt_snapshot *snapshot, const char *list, const char *selected)
{
    char got[16] = "";
    struct gt_error error = {0};
    assert_int_equal(gt_device_select(snapshot, list, &error), 0);
    for (size_t i = 0; i < snapshot->device_count; i++)
        strcat(got, snapshot->device[i].selected ? "1" : "0");
    assert_string_equal(got, selected);
}

static void refused(struct gt_snapshot *snapshot, const char *list, const char *part)
{
    struct gt_error error = {0};
    assert_int_equal(gt_device_select(snapshot, list, &error), -EINVAL);
    assert_non_null(strstr(error.text, part));
}

TEST_WITH(selects_by_name, setup, teardown)
{
    expect(*state, "GPU-11111111-aaaa", "10000");
    expect(*state, "gpu-11111111-AAAA", "10000");
    expect(*state, "GPU-1111111", "10000");
    expect(*state, "pci-0000:03:00.0, GPU-11111111-aaaa", "10001");
}

TEST_WITH(selects_by_index, setup, teardown)
{
    expect(*state, "0", "10000");
    expect(*state, "2,0", "10001");
}

TEST_WITH(selects_slices, setup, teardown)
{
    expect(*state, "MIG-99999999-cccc", "00100");
    expect(*state, "MIG-GPU-11112222-bbbb/9/0", "00010");
    expect(*state, "1", "01110");
}

TEST_WITH(selects_all_when_blank, setup, teardown)
{
    expect(*state, "0", "10000");
    expect(*state, "", "11111");
    expect(*state, "0", "10000");
    expect(*state, NULL, "11111");
}

TEST_WITH(names_what_is_wrong, setup, teardown)
{
    struct gt_snapshot *snapshot = *state;
    expect(snapshot, "0", "10000");
    refused(snapshot, "0,GPU-1111", "\"GPU-1111\" fits more than one");
    refused(snapshot, "7", "\"7\" is not there; known: GPU-11111111-aaaa, ");
    refused(snapshot, "1111", "\"1111\" is not there");
    refused(snapshot, "0,,1", "a name is missing");
    refused(snapshot, "1,", "a name is missing");
    refused(snapshot, "MIG-GPU-11112222-bbbb/9/1", "is not there");
    assert_true(snapshot->device[0].selected);
    assert_false(snapshot->device[1].selected);
    refused(&(struct gt_snapshot){0}, "0", "known: none");
}

TEST_WITH(refuses_index_of_two_brands, setup, teardown)
{
    struct gt_snapshot *snapshot = *state;
    snapshot->device[4].index = 0;
    refused(snapshot, "0", "fits more than one");
}
