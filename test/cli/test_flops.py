"""profile flops: operations from the shapes of inputs, of operators, steps and ranks; what has no formula is named."""
import json
import subprocess

import pytest


def event(category, name, start, duration, tid=1, pid=100, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": duration, "args": arguments}


def operator(name, start, duration, dims=None, values=None, tid=1):
    arguments = {} if dims is None else {"Input Dims": dims}
    if values is not None:
        arguments["Concrete Inputs"] = values
    return event("cpu_op", name, start, duration, tid, **arguments)


def launch(number, called, start, duration, device=0):
    """A call, and the kernel that it launches."""
    return [event("cuda_runtime", "cudaLaunchKernel", called, 1, correlation=number),
            event("kernel", f"kernel{number}", start, duration, 7, device, device=device, stream=7, correlation=number)]


@pytest.fixture
def flops(gpu_tracker, tmp_path):
    def run(*events, options=(), fails=False):
        path = tmp_path / "trace.json"
        path.write_text(json.dumps({"distributedInfo": {"rank": 0}, "traceEvents": list(events)}))
        done = subprocess.run([gpu_tracker, "profile", "flops", path, "--format=json", *options],
                              capture_output=True, text=True, check=False)
        if fails:
            assert done.returncode != 0
            return done.stderr
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return run


def count(flops, *events):
    return {row["name"]: round(row["gflop"] * 1e9) for row in flops(*events)["operators"]}


CONVOLUTION = ["", "", "", "[2, 1]", "[1, 0]", "[1, 2]", "False", "[0, 0]", "2"]


@pytest.mark.parametrize("name, dims, values, expected", [
    ("aten::mm", [[2, 3], [3, 5]], None, 2 * 2 * 3 * 5),
    ("aten::mm", [[2, 3], [3, 5], [2, 5]], None, 2 * 2 * 3 * 5),  # with an output to write to
    ("aten::addmm", [[5], [2, 3], [3, 5], [], []], ["", "", "", "1", "1"], 2 * 2 * 3 * 5),
    ("aten::addmm_", [[2, 5], [2, 3], [3, 5], [], []], None, 2 * 2 * 3 * 5),
    ("aten::_scaled_mm", [[2, 3], [3, 5], [], []], None, 2 * 2 * 3 * 5),
    ("aten::bmm", [[4, 2, 3], [4, 3, 5]], None, 4 * 2 * 2 * 3 * 5),
    ("aten::baddbmm", [[4, 2, 5], [4, 2, 3], [4, 3, 5], [], []], None, 4 * 2 * 2 * 3 * 5),
    ("aten::linear", [[7, 2, 3], [5, 3], [5]], None, 7 * 2 * 2 * 3 * 5),
    # 4 images of 6 channels, filters of 3 x 3 in 2 groups: rows (9 + 2 - 3) / 2 + 1 = 5, columns 9 - 5 + 1 = 5
    ("aten::convolution", [[4, 6, 9, 9], [8, 3, 3, 3], [8], [], [], [], [], [], []], CONVOLUTION, 2 * 4 * 25 * 8 * 3 * 9),
    ("aten::cudnn_convolution", [[4, 6, 9, 9], [8, 3, 3, 3], [], [], [], []], ["", "", "[1, 0]", "[2, 1]", "[1, 2]", "2"],
     2 * 4 * 25 * 8 * 3 * 9),
    ("aten::convolution", [[4, 6, 9], [6, 8, 3], [], [], [], [], [], [], []],
     ["", "", "", "[2]", "[1]", "[1]", "True", "[0]", "1"], 2 * 4 * 9 * 6 * 8 * 3),
    ("aten::convolution", [[4, 2, 9, 8, 7], [8, 2, 3, 3, 3], [], [], [], [], [], [], []],
     ["", "", "", "[1]", "[0]", "[1]", "False", "[0]", "1"], 2 * 4 * 7 * 6 * 5 * 8 * 2 * 27),
    ("aten::convolution_backward", [[4, 8, 5, 5], [4, 6, 9, 9], [8, 3, 3, 3], *[[]] * 8],
     ["", "", "", "[8]", "[2, 1]", "[1, 0]", "[1, 2]", "False", "[0, 0]", "2", "[True, True, True]"], 2 * 2 * 4 * 25 * 8 * 3 * 9),
    ("aten::convolution_backward", [[4, 8, 5, 5], [4, 6, 9, 9], [8, 3, 3, 3], *[[]] * 8],
     ["", "", "", "[8]", "[2, 1]", "[1, 0]", "[1, 2]", "False", "[0, 0]", "2", "[False, True, False]"], 2 * 4 * 25 * 8 * 3 * 9),
    ("aten::_scaled_dot_product_flash_attention", [[2, 4, 10, 16], [2, 4, 20, 16], [2, 4, 20, 8]], None,
     2 * 2 * 4 * 10 * 20 * (16 + 8)),
    ("aten::_scaled_dot_product_efficient_attention_backward", [[2, 4, 10, 8], [2, 4, 10, 16], [2, 1, 20, 16], [2, 1, 20, 8]], None,
     2 * 2 * 4 * 10 * 20 * (3 * 16 + 2 * 8)),
    ("aten::_flash_attention_forward", [[2, 10, 4, 16], [2, 20, 4, 16], [2, 20, 4, 8], [], []], None,
     2 * 2 * 4 * 10 * 20 * (16 + 8)),
    ("aten::_efficient_attention_forward", [[2, 10, 4, 16], [2, 20, 4, 16], [2, 20, 4, 8], [], [], []], None,
     2 * 2 * 4 * 10 * 20 * (16 + 8)),
])
def test_formulas(flops, name, dims, values, expected):
    assert count(flops, operator(name, 0, 10, dims, values)) == {name: expected}


@pytest.mark.parametrize("name, dims, values", [
    ("aten::mm", None, None),
    ("aten::mm", [[2, 3], [4, 5]], None),
    ("aten::mm", [[2, 3]], None),
    ("aten::mm", "all", None),
    ("aten::mm", [[-2, 3], [3, 5]], None),
    ("aten::mm", [["2", 3], [3, 5]], None),
    ("aten::convolution", [[4, 6, 9, 9], [8, 3, 3, 3], [8], [], [], [], [], [], []],
     ["", "", "", "[0, 0]", "[1, 0]", "[1, 2]", "False", "[0, 0]", "2"]),
    ("aten::convolution", [[4, 6, 9, 9], [8, 3, 3, 3], [], [], [], [], [], [], []], None),  # PyTorch before 2.1
    ("aten::_flash_attention_forward", [[30, 4, 16], [30, 4, 16], [30, 4, 16], [3], [3]], None),
    ("aten::_efficient_attention_forward", [[1, 30, 4, 16], [1, 30, 4, 16], [1, 30, 4, 16], [], [3], [3]], None),
])
def test_without_shapes_an_operator_does_not_count(flops, name, dims, values):
    report = flops(operator(name, 0, 10, dims, values))
    assert report["operators"] == report["ranks"] == report["steps"] == [] and "record_shapes" in report["reason"]
    (row,) = report["uncounted"]
    assert (row["name"], row["reason"], row["count"], row["time_us"], row["time_percent"]) == (name, "no shapes", 1, 10, 100)


def test_operators_inside_do_not_count_again(flops):
    """aten::linear is made of aten::addmm; a convolution of that of a library; the second linear of nothing."""
    dims = [[4, 6, 9, 9], [8, 3, 3, 3], [8], [], [], [], [], [], []]
    assert count(flops,
                 operator("aten::linear", 0, 20, [[2, 3], [5, 3], [5]]), operator("aten::addmm", 5, 10, [[5], [2, 3], [3, 5]]),
                 operator("aten::conv2d", 30, 30, dims), operator("aten::convolution", 31, 28, dims, CONVOLUTION),
                 operator("aten::_convolution", 32, 26, dims, CONVOLUTION),
                 operator("aten::cudnn_convolution", 33, 20, dims, ["", "", "[1, 0]", "[2, 1]", "[1, 2]", "2"]),
                 operator("aten::linear", 70, 20, [[2, 3], [7, 3], [7]]),
                 ) == {"aten::addmm": 60, "aten::convolution": 43200, "aten::linear": 84}


def test_few_operations_are_not_none(gpu_tracker, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([operator("aten::mm", 0, 150, [[2, 3], [3, 5]])]))
    shown = subprocess.run([gpu_tracker, "profile", "flops", "--table", "operators", path], capture_output=True, text=True, check=True)
    assert "0.00000006" in shown.stdout or "6e-08" in shown.stdout
    shown = subprocess.run([gpu_tracker, "timeline", "info", path], capture_output=True, text=True, check=True)
    assert "Duration: 0.00015 seconds" in shown.stdout


@pytest.mark.parametrize("told_by", ["flow", "sequence"])
def test_backward_is_known_without_the_engine(flops, told_by):
    """On another thread, in no call of the engine: 60 operations forward, 120 in the backward function."""
    forward, backward = operator("aten::mm", 0, 10, [[2, 3], [3, 5]]), operator("MmBackward0", 20, 10, tid=2)
    inside = operator("aten::mm", 22, 5, [[2, 3], [3, 10]], tid=2)
    if told_by == "flow":
        more = [{"ph": phase, "cat": "fwdbwd", "name": "fwdbwd", "id": 7, "pid": 100, "tid": tid, "ts": time, "bp": "e"}
                for phase, tid, time in (("s", 1, 0), ("f", 2, 20))]
    else:
        more = []
        forward["args"]["Sequence number"] = backward["args"]["Sequence number"] = 3
        backward["args"]["Fwd thread id"] = 1
    (rank,) = flops(forward, backward, inside, *more)["ranks"]
    assert rank["backward_percent"] == pytest.approx(100 * 120 / 180)


def test_steps_utilization_and_what_is_not_counted(flops):
    """Two steps of 100 us; the kernels of the first last until 150, so that the second is 50 us. A product of matrices of 2e9 operations
    in each, in the first its backward with twice as many. 60 us of 130 are of other operators or of none."""
    mm, more = [[1000, 1000], [1000, 1000]], [[1000, 1000], [1000, 2000]]
    events = [event("user_annotation", "ProfilerStep#1", 0, 100), event("user_annotation", "ProfilerStep#2", 100, 100),
              operator("aten::mm", 10, 10, mm), *launch(1, 11, 20, 30),
              operator("autograd::engine::evaluate_function: MmBackward0", 30, 20, tid=2), operator("MmBackward0", 31, 18, tid=2),
              operator("aten::mm", 32, 10, more, tid=2),
              event("cuda_runtime", "cudaLaunchKernel", 33, 1, 2, correlation=2),
              event("kernel", "kernel2", 50, 20, 7, 0, device=0, stream=7, correlation=2),
              operator("aten::gelu", 60, 10), *launch(3, 61, 110, 40),
              operator("aten::mm", 110, 10, mm), *launch(4, 111, 160, 20),
              event("kernel", "of a graph", 185, 20, 7, 0, device=0, stream=7, correlation=99)]
    report = flops(*events, options=["--peak-flops", "80T"])
    one, two = report["steps"]
    assert (one["step"], one["duration_us"], one["gflop"], one["tflop_per_second"], one["utilization_percent"]) == (1, 150, 6, 40, 50)
    assert (two["step"], two["duration_us"], two["gflop"], two["tflop_per_second"], two["utilization_percent"]) == (2, 50, 2, 40, 50)
    (rank,) = report["ranks"]
    assert (rank["node"], rank["gpus"], rank["steps"], rank["mean_step_us"], rank["gflop_per_step"]) == ("rank 0", 1, 2, 100, 4)
    assert (rank["tflop_per_second"], rank["utilization_percent"], rank["backward_percent"]) == (40, 50, 50)
    assert rank["counted_gpu_time_percent"] == pytest.approx(100 * 70 / 130)
    (row,) = report["operators"]
    assert (row["name"], row["count"], row["gflop"], row["share_percent"], row["time_us"]) == ("aten::mm", 3, 8, 100, 70)
    assert row["tflop_per_second"] == pytest.approx(8e3 / 70) and row["utilization_percent"] == pytest.approx(8e3 / 70 / 0.8)
    gelu, graph = report["uncounted"]
    assert (gelu["name"], gelu["reason"], gelu["count"], gelu["time_us"]) == ("aten::gelu", "no formula", 1, 40)
    assert (graph["name"], graph["reason"], graph["count"], graph["time_us"]) == (None, "no operator", None, 20)
    assert gelu["time_percent"] == pytest.approx(100 * 40 / 130)
    by_shape = flops(*events, options=["--by", "shape"])["operators"]
    assert {row["shape"]: row["gflop"] for row in by_shape} == {
        "[[1000, 1000], [1000, 1000]]": 4, "[[1000, 1000], [1000, 2000]]": 4}
    assert by_shape[0]["utilization_percent"] is None


def test_the_peak_is_that_of_each_gpu(flops):
    mm = [[1000, 1000], [1000, 1000]]
    report = flops(operator("aten::mm", 0, 10, mm), *launch(1, 1, 50, 50), operator("aten::mm", 10, 10, mm), *launch(2, 11, 50, 50, 1),
                   options=["--peak-flops=40e12"])
    (rank,) = report["ranks"]
    assert (rank["gpus"], rank["steps"], rank["mean_step_us"], rank["tflop_per_second"]) == (2, None, 100, 40)
    assert rank["utilization_percent"] == 50 and report["operators"][0]["utilization_percent"] == 100


@pytest.mark.parametrize("peak", ["fast", "0", "-5T", "312TF", "1e400", "T", "nan", "1" * 60])
def test_a_peak_that_is_none(flops, peak):
    assert f"peak-flops '{peak}'" in flops(operator("aten::mm", 0, 10, [[2, 3], [3, 5]]), options=[f"--peak-flops={peak}"], fails=True)


def test_select_filters_what_is_shown_not_what_is_counted(flops):
    report = flops(operator("aten::linear", 0, 20, [[2, 3], [5, 3], [5]]), operator("aten::addmm", 5, 10, [[5], [2, 3], [3, 5]]),
                   operator("aten::mm", 30, 10, [[2, 3], [3, 5]]), options=["--select", "linear|addmm"])
    assert [row["name"] for row in report["operators"]] == ["aten::addmm"]
    assert report["operators"][0]["share_percent"] == 50 and report["ranks"][0]["gflop_per_step"] == 120 / 1e9


def test_beside_gpus_only_what_launched_counts(flops):
    """The second product of matrices was given up, or captured: nothing ran. Where no launch is known, all count."""
    mm = [[1000, 1000], [1000, 1000]]
    events = [operator("aten::mm", 0, 10, mm), *launch(1, 1, 50, 50), operator("aten::mm", 20, 10, mm)]
    (row,) = flops(*events)["operators"]
    assert (row["count"], row["gflop"], row["time_us"]) == (1, 2, 50)
    (row,) = flops(*(item for item in events if item["cat"] != "cuda_runtime"))["operators"]
    assert (row["count"], row["gflop"]) == (2, 4)
