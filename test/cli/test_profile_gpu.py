"""profile over GPU traces of two ranks, against what Holistic Trace Analysis 0.5.0 says of the same files."""
import json
import subprocess

import pytest

BASE = 1_700_000_000_000_000


class Rank:
    """A Kineto trace of one GPU: a data loader, launches in order on two streams, collectives that wait for the computation, a
    synchronization at the end of each step. All times are whole microseconds: that is what HTA keeps."""

    def __init__(self, rank):
        self.rank, self.state, self.now, self.correlation = rank, 12345 + rank, 1000, 1000
        self.free = {7: 1000, 20: 1000}
        self.events = [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "ts": BASE, "args": {"name": "python"}}
                       for pid in (0, 100)]

    def choose(self, *choices):
        self.state = (self.state * 1103515245 + 12345) % 2**31
        return choices[(self.state >> 16) % len(choices)]

    def add(self, category, name, pid, tid, start, duration, **arguments):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": BASE + start,
                            "dur": duration, "args": arguments})

    def launch(self, category, name, stream, duration, after=None):
        self.correlation += 1
        number = {"correlation": self.correlation, "External id": self.correlation}
        call = {"kernel": "cudaLaunchKernel", "gpu_memcpy": "cudaMemcpyAsync", "gpu_memset": "cudaMemsetAsync"}[category]
        took = self.choose(3, 4, 5, 7)
        start = max(self.now + self.choose(2, 4, 6), self.free[stream] + self.choose(0, 0, 1, 2))
        start = start if after is None else max(start, self.free[after] + 1)
        self.add("cpu_op", "aten::op", 100, 100, self.now - 1, took + 2, **{"External id": self.correlation})
        self.add("cuda_runtime", call, 100, 100, self.now, took, cbid=211, **number)
        self.add(category, name, 0, stream, start, duration, stream=stream, device=0, **number)
        for phase, pid, tid, time in (("s", 100, 100, self.now), ("f", 0, stream, start)):
            self.events.append({"ph": phase, "id": self.correlation, "pid": pid, "tid": tid, "ts": BASE + time,
                                "cat": "ac2g", "name": "ac2g", "bp": "e"})
        self.free[stream] = start + duration
        self.now += took + self.choose(1, 2, 3, 30)

    def step(self, number):
        begin = self.now
        self.add("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 100, 100, begin,
                 40 + number % 2 * 10)
        self.now += 60
        self.launch("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 7, 20)
        self.launch("gpu_memset", "Memset (Device)", 7, 2)
        for i in range(30):
            self.launch("kernel", self.choose("ampere_sgemm_128x64", "void at::native::vectorized_elementwise_kernel<4>"), 7,
                        self.choose(1, 5, 20, 40))
            if i % 6 == 5:
                self.launch("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20, 50, after=7)
        self.correlation += 1
        end = max(self.free.values())
        self.add("cuda_runtime", "cudaDeviceSynchronize", 100, 100, self.now, max(1, end - self.now), cbid=165,
                 correlation=self.correlation)
        self.now = max(self.now + 1, end) + 5
        self.add("user_annotation", f"ProfilerStep#{number}", 100, 100, begin, self.now - begin)
        self.now += 7

    def text(self):
        for number in range(6):
            self.step(number)
        return json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}],
                           "distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": 2},
                           "traceEvents": self.events})


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    for rank in range(2):
        (folder / f"rank{rank}.json").write_text(Rank(rank).text())
    return folder


@pytest.fixture
def profile(gpu_tracker, ranks):
    def run(analysis, *options):
        words = [gpu_tracker, "profile", analysis, ranks, "--format=json", *options]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return run


def test_breakdown_is_that_of_hta(profile):
    """get_temporal_breakdown and get_comm_comp_overlap; HTA counts communication and memory together."""
    rows = [(row["span_us"], row["idle_us"], row["compute_us"], row["communication_us"] + row["memory_us"],
             round(row["communication_overlap_percent"], 2)) for row in profile("breakdown")["breakdown"]]
    assert rows == [(4032, 608, 2823, 601, 68.73), (4436, 719, 3030, 687, 63.00)]


def test_idle_time_is_that_of_hta(profile):
    """get_idle_time_breakdown: HTA's bound between kernels is told in ns and compared with us, so what it calls kernel_wait lies
    within our other."""
    rows = [(row["node"], row["stream"], row["host_wait_us"], row["between_kernels_us"] + row["other_us"])
            for row in profile("idle")["streams"]]
    assert rows == [("rank 0", "7", 879, 147 + 0), ("rank 0", "20", 1662, 44 + 676), ("rank 1", "7", 1096, 127 + 0),
                    ("rank 1", "20", 2112, 29 + 702)]


def test_kernels_are_those_of_hta(profile):
    """get_gpu_kernel_breakdown."""
    rows = {(row["node"][-1], row["name"].split("_")[0]): (row["total_us"], row["max_us"], row["min_us"], round(row["mean_us"], 6))
            for row in profile("kernels", "--all")["kernels"]}
    assert rows == {
        ("0", "ncclDevKernel"): (1500, 50, 50, 50), ("1", "ncclDevKernel"): (1500, 50, 50, 50),
        ("0", "ampere"): (1368, 40, 1, 15.032967), ("1", "ampere"): (1475, 40, 1, 18.4375),
        ("0", "void at::native::vectorized"): (1455, 40, 1, 16.348315), ("1", "void at::native::vectorized"): (1555, 40, 1, 15.55),
        ("0", "Memcpy HtoD (Pinned -> Device)"): (120, 20, 20, 20), ("1", "Memcpy HtoD (Pinned -> Device)"): (120, 20, 20, 20),
        ("0", "Memset (Device)"): (12, 2, 2, 2), ("1", "Memset (Device)"): (12, 2, 2, 2)}


def test_launches_are_those_of_hta(profile):
    """get_cuda_kernel_launch_stats of rank 0, and the longest queues of get_queue_length_summary, whose mean is over changes and not
    over time as ours."""
    report = profile("launches")
    row = report["launches"][0]
    assert (row["count"], round(row["mean_us"], 6), row["min_us"], row["p50_us"], row["max_us"]) == (222, 45.594595, 0, 38, 161)
    assert round(row["call_total_us"] / 222, 6) == 4.810811 and round(row["gpu_total_us"] / 222, 6) == 20.067568
    assert [(queue["stream"], queue["longest"]) for queue in report["queues"]] == [("7", 8), ("20", 2), ("7", 11), ("20", 2)]


def test_types_are_compared_over_ranks(profile):
    """Sums of the kernels above; the spread is the distance of the ranks over their mean."""
    compute, communication, memory = profile("kernels")["types"]
    assert (compute["type"], compute["ranks"], compute["total_us"], compute["mean_us"]) == ("compute", 2, 5853, 2926.5)
    assert (compute["min_us"], compute["min_node"], compute["max_us"], compute["max_node"]) == (2823, "rank 0", 3030, "rank 1")
    assert compute["spread_percent"] == pytest.approx(100 * 207 / 2926.5)
    assert (communication["total_us"], communication["count"], communication["spread_percent"]) == (3000, 60, 0)
    assert (memory["total_us"], memory["count"]) == (264, 24)
    assert compute["percent"] + communication["percent"] + memory["percent"] == pytest.approx(100)


def test_a_rank_without_a_type_has_none_of_it(gpu_tracker, tmp_path):
    for rank, name in ((0, "gemm"), (1, "ncclDevKernel_AllReduce")):
        kernel = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": BASE, "dur": 10, "args": {}}
        (tmp_path / f"rank{rank}.json").write_text(json.dumps({"distributedInfo": {"rank": rank}, "traceEvents": [kernel]}))
    done = subprocess.run([gpu_tracker, "profile", "kernels", tmp_path, "--format=json"], capture_output=True, text=True, check=True)
    rows = [(row["type"], row["min_us"], row["min_node"], row["max_us"], row["max_node"], row["spread_percent"])
            for row in json.loads(done.stdout)["types"]]
    assert rows == [("compute", 0, "rank 1", 10, "rank 0", 200), ("communication", 0, "rank 0", 10, "rank 1", 200)]


def test_streams_have_one_name(gpu_tracker, tmp_path):
    """Older versions of Kineto write "stream 7" for the thread 7."""
    for number, name in enumerate(("7", "stream 7")):
        rank = Rank(number)
        rank.step(0)
        for event in rank.events:
            event["tid"] = name if event["tid"] == 7 else event["tid"]
        (tmp_path / f"rank{number}.json").write_text(json.dumps({"traceEvents": rank.events}))
    for analysis, table in (("idle", "streams"), ("launches", "queues")):
        done = subprocess.run([gpu_tracker, "profile", analysis, "-f", "json", tmp_path], capture_output=True, text=True, check=True)
        assert {row["stream"] for row in json.loads(done.stdout)[table]} == {"7", "20"}


@pytest.mark.parametrize("stray", [0, 9000])
def test_a_stray_event_far_from_all_steps_is_no_idle_time(gpu_tracker, tmp_path, stray):
    """Four steps of 100 us, of which the GPU works 60."""
    rank = Rank(0)
    rank.add("kernel", "stray", 0, 7, stray, 5, device=0, stream=7)
    for step in range(4):
        begin = 4000 + 100 * step
        rank.add("user_annotation", f"ProfilerStep#{step}", 100, 100, begin, 100)
        rank.add("cuda_runtime", "cudaLaunchKernel", 100, 100, begin + 10, 5, correlation=step + 1)
        rank.add("kernel", "gemm", 0, 7, begin + 30, 60, device=0, stream=7, correlation=step + 1)
    (tmp_path / "trace.json").write_text(json.dumps({"distributedInfo": {"rank": 0}, "traceEvents": rank.events}))

    def row(analysis, table=None):
        done = subprocess.run([gpu_tracker, "profile", analysis, tmp_path, "--format=json"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)[table or analysis][0]
    whole = 5 + (390 if stray == 0 else 370)
    assert (row("breakdown")["span_us"], row("breakdown")["idle_us"]) == (whole, whole - 245)
    assert (row("idle", "devices")["span_us"], row("idle", "devices")["idle_us"]) == (whole, whole - 245)
