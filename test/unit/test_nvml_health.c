/* What NVIDIA's driver counts of errors: ECC, remapped rows, replays, links, XIDs. */
#include "support/gpu_machine.h"
#include "support/test.h"

extern const struct gt_collector_type gt_collector_nvml;

static struct gpu_machine machine;

static int setup(void **state)
{
    *state = &machine;
    gpu_machine_begin(&machine);
    gpu_machine_initial_namespace(&machine);
    return 0;
}

static void open_with(const char *file, const char *data)
{
    gpu_machine_library(&machine, "nvml", file, "GT_FAKE_NVML", data);
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_nvml), GT_READY);
}

static void expect(int device, const double expected[])
{
    for (int metric = GT_GPU_ECC_CORRECTED; metric <= GT_GPU_XID; metric++)
        if (metric != GT_GPU_XGMI_ERRORS) /* of AMD's alone */
            assert_close(gpu_machine_device(&machine, device, metric), *expected++, 0);
}

TEST_WITH(fields_tell_them_in_one_call, setup, gpu_machine_teardown)
{
    open_with("nvml", "device 0\nuuid GPU-a\nfield 3 0 12\nfield 4 0 1\nfield 5 0 400\nfield 6 0 2\n"
                      "field 142 0 3\nfield 143 0 1\nfield 144 0 1\nfield 145 0 0\nfield 94 0 17\n"
                      "field 38 0 5\nfield 45 0 6\nfield 52 0 7\nfield 59 0 8\necc 0 0 999\nreplays 999\n"
                      "remapped 999 0 1 1\n");
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    expect(0, (double[]){12, 1, 400, 2, 4, 1, 0, 17, 26, 0, 0});
}

TEST_WITH(functions_tell_what_fields_do_not, setup, gpu_machine_teardown)
{
    open_with("nvml", "device 0\nuuid GPU-a\necc 0 0 12\necc 1 0 1\necc 0 1 400\necc 1 1 2\nremapped 3 1 0 1\n"
                      "replays 17\nfield 52 0 7\n");
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    expect(0, (double[]){12, 1, 400, 2, 4, 0, 1, 17, 7, 0, 0});
}

/* Missing is missing: of a board that counts nothing, of a slice, of a driver without the functions. */
TEST_WITH(what_is_not_counted_is_missing, setup, gpu_machine_teardown)
{
    static const double nothing[] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    open_with("nvml", "device 0\nuuid GPU-a\nfail nvmlDeviceRegisterEvents 3\n"
                      "device 1\nuuid GPU-b\nmig 1\nfield 3 0 5\ndevice 1.0\nuuid MIG-b\ninstance 1 0\nfield 3 0 6\n");
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    expect(0, nothing);
    expect(1, (double[]){5, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0, 0});
    expect(2, nothing);
}

TEST_WITH(older_drivers_have_none_of_it, setup, gpu_machine_teardown)
{
    static const double nothing[] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    open_with("nvml_minimal", "device 0\nuuid GPU-a\nfield 3 0 12\n");
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    expect(0, nothing);
}

TEST_WITH(they_are_read_once_a_minute_and_at_the_end, setup, gpu_machine_teardown)
{
    open_with("nvml", "device 0\nuuid GPU-a\nfield 4 0 1\nframe\ndevice 0\nfield 4 0 2\n");
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    gpu_machine_step(&machine, "nvml", 1);
    assert_int_equal(gpu_machine_collect(&machine, 58), 0);
    assert_close(gpu_machine_device(&machine, 0, GT_GPU_ECC_UNCORRECTED), 1, 0);
    assert_int_equal(gpu_machine_collect(&machine, 3), 0);
    assert_close(gpu_machine_device(&machine, 0, GT_GPU_ECC_UNCORRECTED), 2, 0);
    gpu_machine_step(&machine, "nvml", 0);
    machine.snapshot.is_last = true;
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    assert_close(gpu_machine_device(&machine, 0, GT_GPU_ECC_UNCORRECTED), 1, 0);
}

TEST_WITH(xids_count_on_their_board, setup, gpu_machine_teardown)
{
    open_with("nvml", "device 0\nuuid GPU-a\ndevice 1\nuuid GPU-b\nfield 3 0 1\n"
                      "frame\ndevice 1\nxid 48\nframe\ndevice 1\nxid 79\n");
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    for (int i = 1; i <= 2; i++) {
        gpu_machine_step(&machine, "nvml", i);
        assert_int_equal(gpu_machine_collect(&machine, 61), 0);
        assert_close(gpu_machine_device(&machine, 0, GT_GPU_XIDS), 0, 0);
        assert_close(gpu_machine_device(&machine, 1, GT_GPU_XIDS), i, 0);
        assert_close(gpu_machine_device(&machine, 1, GT_GPU_XID), i == 1 ? 48 : 79, 0);
    }
}
