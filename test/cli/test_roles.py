"""profile roles: each moment of a step belongs to one role, as in the overview of TensorBoard's plugin for PyTorch."""
import json
import random
import subprocess

import pytest

ROLES = ["kernel", "memcpy", "memset", "communication", "runtime", "dataloader", "cpu", "other"]


def event(category, name, start, duration, tid=1, pid=100, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": duration, "args": arguments}


def gpu(category, name, start, duration, stream=7, correlation=0, **arguments):
    return event(category, name, start, duration, stream, 0, device=0, stream=stream, correlation=correlation, **arguments)


@pytest.fixture
def roles(gpu_tracker, tmp_path):
    def run(*events, status=0):
        path = tmp_path / "trace.json"
        path.write_text(json.dumps({"distributedInfo": {"rank": 0}, "traceEvents": list(events)}))
        done = subprocess.run([gpu_tracker, "profile", "roles", path, "--format=json"], capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout)
    return run


def parts(row):
    return {role: row[f"{role}_us"] for role in ROLES if row[f"{role}_us"]}


def test_each_moment_belongs_to_the_first_role(roles):
    """From 0 to 100: loader 0-20 (an operator inside it counts to it), cpu 20-30, runtime 30-40, kernel 35-60 (also over the runtime
    call and over a copy 50-70), fill 70-75, collective 75-85, the host's collective 85-90, nothing until 100."""
    report = roles(
        event("user_annotation", "ProfilerStep#4", 0, 100),
        event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 20),
        event("cpu_op", "aten::stack", 5, 10), event("cpu_op", "aten::mm", 20, 30),
        event("cuda_runtime", "cudaLaunchKernel", 30, 10, correlation=1),
        gpu("kernel", "gemm", 35, 25, correlation=1), gpu("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 50, 20, 8),
        gpu("gpu_memset", "Memset (Device)", 70, 5), gpu("kernel", "ncclDevKernel_AllReduce", 75, 10, 20),
        event("user_annotation", "nccl:all_reduce", 80, 10))
    (row,) = report["steps"]
    assert (row["step"], row["mode"], row["duration_us"], row["gpu_work"]) == (4, "ProfilerStep", 100, 1)
    assert parts(row) == {"kernel": 25, "memcpy": 10, "memset": 5, "communication": 15, "runtime": 5, "dataloader": 20, "cpu": 10,
                          "other": 10}
    (row,) = report["roles"]
    assert (row["steps"], row["mean_step_us"], row["kernel_percent"], row["other_percent"]) == (1, 100, 25, 10)


def test_a_step_ends_with_the_work_it_launched(roles):
    """Step 1 launches a kernel that ends at 130: step 2 begins there. What was launched before step 1 and ended at 10 delays it."""
    report = roles(
        event("user_annotation", "ProfilerStep#1", 0, 100), event("user_annotation", "ProfilerStep#2", 101, 99),
        gpu("kernel", "early", 2, 8),
        event("cuda_runtime", "cudaLaunchKernel", 20, 5, correlation=1), gpu("kernel", "gemm", 30, 100, correlation=1),
        event("cuda_runtime", "cudaLaunchKernel", 140, 5, correlation=2), gpu("kernel", "gemm", 150, 20, correlation=2))
    one, two = report["steps"]
    assert (one["start_us"], one["duration_us"], parts(one)) == (10, 120, {"kernel": 100, "runtime": 5, "other": 15})
    assert (two["start_us"], two["duration_us"], parts(two)) == (130, 70, {"kernel": 20, "runtime": 5, "other": 45})
    assert report["roles"][0]["mean_step_us"] == 95


def test_without_steps_the_whole_is_one(roles):
    report = roles(event("cpu_op", "aten::mm", 10, 30), event("cpu_op", "aten::add", 60, 40))
    (row,) = report["steps"]
    assert (row["step"], row["mode"], row["duration_us"], parts(row)) == (None, None, 90, {"cpu": 70, "other": 20})


def test_nothing_to_tell_says_why(roles):
    report = roles(event("thing", "x", 10, 30), status=4)
    assert report["steps"] == report["roles"] == [] and report["reason"].startswith("no operators")


def test_every_step_against_counting_each_microsecond(roles):
    chosen = random.Random(5)
    kinds = [("kernel", "gemm"), ("gpu_memcpy", "Memcpy DtoH"), ("gpu_memset", "Memset"), ("kernel", "ncclKernel_X"),
             ("cuda_runtime", "cudaLaunchKernel"), ("user_annotation", "enumerate(DataLoader)#X.__next__"), ("cpu_op", "aten::x")]
    events, role = [], [7] * 1000
    for number in range(10):
        events.append(event("user_annotation", f"ProfilerStep#{number}", 100 * number, 100))
    for _ in range(120):
        which, start, length = chosen.randrange(7), chosen.randrange(1000), chosen.randrange(1, 12)
        length = min(length, 1000 - start)
        category, name = kinds[which]
        events.append(event(category, name, start, length, tid=chosen.randrange(3), pid=0 if which < 4 else 100))
        for moment in range(start, start + length):
            role[moment] = min(role[moment], which)
    rows = roles(*events)["steps"]
    assert len(rows) == 10
    for number, row in enumerate(rows):
        counted = role[100 * number:100 * number + 100]
        assert [row[f"{name}_us"] for name in ROLES] == [counted.count(which) for which in range(8)]


def test_efficiency_occupancy_and_tensor_cores(roles):
    """Of the 100 us of the step: 0.5 blocks on each SM for 20 us, 0.5 + 2 for 10 us (counts as 1), 2 for 10 us; 10 us without. Occupancy
    is the mean over the time of kernels that tell it, in the step."""
    occupancy = "est. achieved occupancy %"
    report = roles(
        event("user_annotation", "ProfilerStep#1", 0, 100),
        gpu("kernel", "ampere_fp16_s16816gemm_fp16_128x64", 10, 30, **{"blocks per SM": 0.5, "warps per SM": 4, occupancy: 20}),
        gpu("kernel", "elementwise", 30, 20, 8, **{"blocks per SM": 2, "warps per SM": 14, occupancy: 45}),
        gpu("kernel", "untold", 60, 10), gpu("kernel", "ampere_sgemm_128x64", 500, 60, **{occupancy: 100}))
    (row,) = report["devices"]
    assert row["kernel_percent"] == 50
    assert row["sm_efficiency_percent"] == pytest.approx(20 * 0.5 + 20)
    assert row["achieved_occupancy_percent"] == pytest.approx((30 * 20 + 20 * 45) / 50)
    assert row["blocks_per_sm"] == pytest.approx((30 * 0.5 + 20 * 2) / 50)
    assert row["warps_per_sm"] == pytest.approx((30 * 4 + 20 * 14) / 50)
    assert row["tensor_core_percent"] == pytest.approx(100 * 30 / 120)
    report = roles(gpu("kernel", "untold", 60, 10))
    assert report["devices"][0]["sm_efficiency_percent"] is None and report["devices"][0]["achieved_occupancy_percent"] is None
