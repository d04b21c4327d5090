"""profile critical_path: paths and what-ifs computed by hand."""
import json
import random
import subprocess

import pytest

BASE = 1_700_000_000_000_000
KINDS = ["loading", "operators", "calls", "synchronization", "compute", "communication", "copies", "waiting", "gaps", "other"]
CATEGORIES = {"step": "user_annotation", "op": "cpu_op", "call": "cuda_runtime", "kernel": "kernel", "copy": "gpu_memcpy"}


class Trace:
    """Times in us. Threads of the host are 1, 2, ...; streams 7, 8, ..."""

    def __init__(self, clock=0):
        self.events, self.clock = [], clock

    def add(self, kind, name, thread, begin, end, **args):
        is_gpu = kind in ("kernel", "copy", "cuda_sync")
        self.events.append({"ph": "X", "cat": CATEGORIES.get(kind, kind), "name": name, "pid": 0 if is_gpu else 100,
                            "tid": thread, "ts": BASE + self.clock + begin, "dur": end - begin, "args": args})

    def launch(self, call, begin, end, name, stream, start, stop, thread=1, kind="kernel", **args):
        self.add("call", "cudaMemcpyAsync" if kind == "copy" else "cudaLaunchKernel", thread, begin, end, correlation=call)
        self.add(kind, name, stream, start, stop, correlation=call, stream=stream, device=0, **args)

    def flow(self, phase, number, thread, time):
        self.events.append({"ph": phase, "cat": "fwdbwd", "name": "fwdbwd", "id": number, "pid": 100, "tid": thread,
                            "ts": BASE + self.clock + time, **({"bp": "e"} if phase == "f" else {})})

    def write(self, path, rank=0):
        path.write_text(json.dumps({
            "schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "H100"}],
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}, "traceEvents": self.events}))


@pytest.fixture
def report(gpu_tracker, tmp_path):
    def run(*traces, analysis=("critical_path",), words=()):
        for rank, trace in enumerate(traces):
            trace.write(tmp_path / f"rank{rank}.json", rank)
        done = subprocess.run([gpu_tracker, "profile", *analysis, tmp_path, "--format=json", *words], capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return run


def parts(step):
    return {kind: step[f"{kind}_us"] for kind in KINDS if step[f"{kind}_us"]}


def what_if(found, node, without):
    row = next(row for row in found["what_if"] if (row["node"], row["without"]) == (node, without))
    return row["mean_step_us"]


def synchronized():
    """An operator launches a kernel, the host waits for it, and another operator ends the step."""
    trace = Trace()
    trace.add("step", "ProfilerStep#1", 1, 0, 100)
    trace.add("op", "aten::mm", 1, 0, 10)
    trace.launch(1, 2, 5, "gemm", 7, 8, 88)
    trace.add("call", "cudaStreamSynchronize", 1, 10, 90)
    trace.add("op", "aten::add", 1, 90, 100)
    return trace


def test_a_path_goes_from_the_host_to_the_gpu_and_back(report):
    found = report(synchronized())
    step, = found["steps"]
    assert (step["node"], step["step"], step["duration_us"]) == ("rank 0", 1, 100)
    assert parts(step) == {"operators": 12, "calls": 6, "compute": 80, "synchronization": 2}
    row, = found["critical_path"]
    assert (row["steps"], row["mean_step_us"], row["compute_percent"], row["calls_percent"]) == (1, 100, 80, 6)
    assert [(row["name"], row["kind"], row["total_us"]) for row in found["names"]] == [
        ("gemm", "computing kernels", 80), ("aten::add", "operators", 10), ("cudaLaunchKernel", "calls and launches", 6),
        ("aten::mm", "operators", 2), ("cudaStreamSynchronize", "synchronization", 2)]
    assert "not_known" not in found


def test_without_the_kernel_the_host_is_the_longest_way(report):
    """The kernel would end at 8, the synchronization at 10, where it begins, and the step at 20."""
    found = report(synchronized())
    assert what_if(found, "rank 0", "computing kernels") == what_if(found, "rank 0", "gemm") == 20
    assert what_if(found, "rank 0", "operators") == 88
    assert what_if(found, "rank 0", "calls and launches") == 94
    assert what_if(found, "rank 0", "synchronization") == 98
    gains = [row["mean_step_us"] for row in found["what_if"]]
    assert gains == sorted(gains)
    assert next(row["shorter_percent"] for row in found["what_if"] if row["without"] == "gemm") == 80


def test_of_two_streams_beside_each_other_one_alone_wins_little(report):
    trace = Trace()
    trace.add("step", "ProfilerStep#1", 1, 0, 112)
    trace.launch(1, 0, 2, "long", 7, 5, 105)
    trace.launch(2, 2, 4, "short", 8, 7, 97)
    trace.add("call", "cudaDeviceSynchronize", 1, 4, 112)
    found = report(trace)
    assert parts(found["steps"][0]) == {"calls": 5, "compute": 100, "synchronization": 7}
    assert [row["without"] for row in found["what_if"] if row["is"] == "name"] == [
        "long", "cudaDeviceSynchronize", "cudaLaunchKernel"]
    assert what_if(found, "rank 0", "long") == 97 + 7
    assert what_if(found, "rank 0", "computing kernels") == 7 + 7


def test_a_stream_follows_what_it_waits_for(report):
    """Stream 8 waits for an event behind the first kernel of stream 7, which is not its last."""
    trace = Trace()
    trace.add("step", "ProfilerStep#1", 1, 0, 100)
    trace.launch(1, 0, 1, "first", 7, 5, 40)
    trace.add("call", "cudaEventRecord", 1, 1, 2, correlation=2)
    trace.launch(3, 2, 3, "second", 7, 41, 90)
    trace.add("call", "cudaStreamWaitEvent", 1, 3, 4, correlation=4)
    trace.add("cuda_sync", "Stream Wait Event", 8, 3, 4, correlation=4, stream=8, wait_on_stream=7,
              wait_on_cuda_event_record_corr_id=2, wait_on_cuda_event_id=1)
    trace.launch(5, 4, 5, "third", 8, 42, 99)
    trace.add("call", "cudaDeviceSynchronize", 1, 6, 100)
    found = report(trace)
    assert parts(found["steps"][0]) == {"calls": 5, "compute": 35 + 57, "gaps": 2, "synchronization": 1}
    # Without the first, the third would begin 5 us behind its call at 4, as the first did: 57 us more, and 1 us to return.
    assert what_if(found, "rank 0", "first") == 67
    assert "not_known" not in found


def test_without_records_a_stream_follows_what_ended_before(report):
    trace = Trace()
    trace.add("step", "ProfilerStep#1", 1, 0, 100)
    trace.launch(1, 0, 1, "first", 7, 5, 40)
    trace.add("call", "cudaEventRecord", 1, 1, 2, correlation=2)
    trace.add("call", "cudaStreamWaitEvent", 1, 3, 4, correlation=4)
    trace.launch(5, 4, 5, "second", 8, 42, 99)
    trace.add("call", "cudaDeviceSynchronize", 1, 6, 100)
    found = report(trace)
    assert parts(found["steps"][0]) == {"calls": 5, "compute": 35 + 57, "gaps": 2, "synchronization": 1}
    assert "1 waits are taken from the last work that ended before" in found["not_known"]


@pytest.mark.parametrize("end, expected", [(100, {"calls": 5, "compute": 95 + 89, "gaps": 1, "synchronization": 10}),
                                           (60, {"calls": 6, "other": 1, "compute": 13 + 89, "gaps": 81, "synchronization": 10})])
def test_a_pause_of_a_stream_while_another_computes_is_none(report, end, expected):
    """Launched long before, with no order to wait: the third begins when stream 7 has room, or late for no reason."""
    trace = Trace()
    trace.add("step", "ProfilerStep#1", 1, 0, 200)
    trace.launch(1, 0, 1, "first", 7, 5, end)
    trace.launch(2, 2, 3, "second", 8, 7, 20)
    trace.launch(3, 4, 5, "third", 8, 101, 190)
    trace.add("call", "cudaDeviceSynchronize", 1, 6, 200)
    assert parts(report(trace)["steps"][0]) == expected


@pytest.mark.parametrize("has_flow", [False, True])
def test_backward_goes_on_where_forward_stopped(report, has_flow):
    trace = Trace()
    trace.add("step", "ProfilerStep#1", 1, 0, 100)
    trace.add("op", "aten::mm", 1, 0, 20)
    trace.add("op", "MmBackward0", 2, 25, 75)
    trace.add("op", "aten::add_", 1, 80, 100)
    if has_flow:
        trace.flow("s", 1, 1, 0)
        trace.flow("f", 1, 2, 25)
    found = report(trace)
    assert parts(found["steps"][0]) == {"operators": 90, "other": 10}
    assert what_if(found, "rank 0", "MmBackward0") == 50
    assert what_if(found, "rank 0", "operators") == 10
    assert found["not_known"] == "no work of GPUs: paths are of the host alone"


def test_a_thread_that_works_beside_the_other_is_not_waited_for(report):
    trace = Trace()
    trace.add("step", "ProfilerStep#1", 1, 0, 100)
    trace.add("op", "aten::mm", 1, 0, 20)
    trace.add("op", "pin", 2, 10, 50)
    trace.add("op", "aten::add_", 1, 80, 100)
    assert parts(report(trace)["steps"][0]) == {"operators": 40, "other": 60}


def test_copies_of_pageable_memory_and_data_loading(report):
    trace = Trace()
    trace.add("step", "ProfilerStep#1", 1, 0, 100)
    trace.add("step", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, 0, 40)
    trace.add("op", "aten::stack", 1, 10, 30)
    trace.add("op", "aten::item", 1, 50, 100)
    trace.launch(1, 55, 95, "Memcpy DtoH (Device -> Pageable)", 7, 60, 90, kind="copy")
    step = report(trace)["steps"][0]
    assert parts(step) == {"loading": 40, "other": 10, "operators": 10, "calls": 5, "copies": 30, "synchronization": 5}


def steady(offset=0, steps=3):
    """The host is far ahead: each step it launches a kernel of 100 us in 10 us, and the GPU is never idle."""
    trace = Trace()
    for i in range(steps):
        trace.add("step", f"ProfilerStep#{i}", 1, 10 * i, 10 * i + 10)
        trace.launch(i + 1, 10 * i + 2, 10 * i + 6, "gemm", 7, 5 + 100 * i + offset, 105 + 100 * i + offset)
    return trace


def test_where_the_host_is_ahead_the_gpu_is_the_path_and_then_the_host(report):
    found = report(steady())
    assert [(step["duration_us"], step["start_us"]) for step in found["steps"]] == [(105, 0), (100, 105), (100, 205)]
    assert [parts(step) for step in found["steps"]] == [
        {"other": 2, "calls": 3, "compute": 100}, {"compute": 100}, {"compute": 100}]
    # Without kernels each step takes what its host does: 10 us.
    assert what_if(found, "rank 0", "gemm") == 10


def two_ranks(clock=0):
    """An allreduce of 20 us after a kernel of 30 us on rank 0, and of 70 us on rank 1."""
    traces = []
    for rank, compute in enumerate([30, 70]):
        trace = Trace(clock if rank else 0)
        for i in range(2):
            begin = 100 * i
            trace.add("step", f"ProfilerStep#{i}", 1, begin, begin + 100)
            trace.launch(2 * i + 1, begin, begin + 2, "gemm", 7, begin + 4, begin + 4 + compute)
            trace.launch(2 * i + 2, begin + 2, begin + 3, "ncclDevKernel_AllReduce_Sum", 7, begin + 5 + compute, begin + 95,
                         **{"Collective name": "allreduce", "Process Group Name": "0", "Process Group Ranks": "[0, 1]",
                            "Seq": i + 1, "Group size": 2, "In msg nelems": 1024, "Out msg nelems": 1024, "dtype": "Float"})
            trace.add("call", "cudaStreamSynchronize", 1, begin + 3, begin + 100)
        traces.append(trace)
    return traces


def test_communication_of_a_rank_alone_may_be_waiting(report):
    trace = Trace()
    trace.add("step", "ProfilerStep#1", 1, 0, 100)
    trace.launch(1, 2, 5, "ncclDevKernel_AllReduce_Sum", 7, 8, 88)
    trace.add("call", "cudaStreamSynchronize", 1, 10, 100)
    assert report(trace)["not_known"].startswith("in 1 collectives other ranks took part whose traces are not here")
    assert "if communication, with waiting for ranks whose traces are not here, took no time" in json.dumps(
        report(trace, analysis=("advice",)))


def test_a_rank_that_ends_early_is_not_without_a_trace(report):
    traces = two_ranks()
    traces[1].events = [event for event in traces[1].events if event["ts"] < BASE + 100]
    found = report(*traces)
    assert found["not_known"].startswith("in 1 collectives a rank has no part, because its trace ends earlier")
    found = report(*traces, analysis=())
    text = json.dumps(found)
    assert "not here" not in text and "no trace" not in text
    assert "whose traces end early" in text and "comes last to collectives: it spends" not in text


@pytest.mark.parametrize("late, named", [(0.1, False), (8, True)])
def test_waiting_for_late_ranks_is_named_from_one_percent_on(report, late, named):
    traces = []
    for rank in range(2):
        trace = Trace()
        for i in range(8):
            begin, wait = 100 * i, late * (i % 2 == rank)
            trace.add("step", f"ProfilerStep#{i}", 1, begin, begin + 100)
            trace.launch(2 * i + 1, begin, begin + 2, "gemm", 7, begin + 4, begin + 30 + wait)
            trace.launch(2 * i + 2, begin + 2, begin + 3, "ncclDevKernel_AllReduce_Sum", 7, begin + 31 + wait, begin + 95,
                         **{"Collective name": "allreduce", "Process Group Name": "0", "Process Group Ranks": "[0, 1]",
                            "Seq": i + 1, "Group size": 2, "In msg nelems": 1024, "Out msg nelems": 1024, "dtype": "Float"})
            trace.add("call", "cudaStreamSynchronize", 1, begin + 3, begin + 100)
        traces.append(trace)
    text = json.dumps(report(*traces, analysis=("advice",)))
    assert "in communication that no computation hides" in text
    assert ("apart from waiting for late ranks" in text) == named


def test_a_long_call_does_not_make_launches_of_others_longer(report):
    """The copy begins 1 us after its call of 5 us ended, so the kernel, whose call takes 2 us, would begin at 10 without the copy."""
    trace = Trace()
    trace.add("step", "ProfilerStep#1", 1, 0, 70)
    trace.launch(1, 0, 5, "Memcpy HtoD", 7, 6, 26, kind="copy")
    trace.launch(2, 7, 9, "gemm", 7, 27, 66)
    trace.add("call", "cudaStreamSynchronize", 1, 10, 70)
    assert what_if(report(trace), "rank 0", "copies and fills") == 10 + 39 + 4


@pytest.mark.parametrize("clock", [0, 1234, -987654])
def test_across_ranks_the_path_goes_to_who_came_last(report, clock):
    found = report(*two_ranks(clock))
    steps = {(step["node"], step["step"]): parts(step) for step in found["steps"]}
    assert len(steps) == 6
    assert steps["rank 0", 0] == {"calls": 4, "compute": 30, "gaps": 1, "waiting": 40, "communication": 20, "synchronization": 5}
    assert steps["rank 1", 1] == {"calls": 4, "compute": 70, "gaps": 1, "communication": 20, "synchronization": 5}
    assert steps["all ranks", 1] == {"calls": 4, "compute": 70, "gaps": 1, "communication": 20, "synchronization": 5}
    assert what_if(found, "rank 0", "waiting for other ranks") == 60
    # Launched from 2 to 3, the allreduce would begin at 5, as a launch takes 2 us from the end of its call.
    assert what_if(found, "rank 0", "gemm") == 5 + 40 + 20 + 5  # it would wait as long as it did
    assert what_if(found, "all ranks", "gemm") == 5 + 20 + 5  # nobody would wait
    ranks = {row["node"]: row["percent"] for row in found["ranks"]}
    assert ranks["rank 1"] > 65 and sum(ranks.values()) == pytest.approx(100)


def test_a_trace_without_steps_is_one_interval(report):
    trace = synchronized()
    del trace.events[0]
    found = report(trace)
    assert (found["critical_path"][0]["steps"], found["steps"][0]["duration_us"]) == (None, 100)
    assert parts(found["steps"][0]) == {"operators": 12, "calls": 6, "compute": 80, "synchronization": 2}
    assert found["not_known"] == "no steps: the whole trace is one interval"


def test_threads_beside_each_other_without_steps(report):
    trace = Trace()
    trace.add("op", "long", 1, 0, 100)
    trace.add("op", "short", 2, 0, 90)
    found = report(trace)
    assert what_if(found, "rank 0", "long") == 90


@pytest.mark.parametrize("make", [synchronized, steady, lambda: two_ranks()[1]])
def test_the_order_of_the_file_says_nothing(report, make):
    trace = make()
    trace.add("op", "aten::x", 3, 0, 50)
    trace.add("op", "aten::y", 3, 0, 50)
    trace.add("op", "aten::y", 3, 0, 50)
    first = report(trace)
    for seed in range(5):
        random.Random(seed).shuffle(trace.events)
        assert report(trace) == first


def test_damaged_times_make_no_path_longer_than_its_step(report):
    """Spans that overlap at random, calls behind their kernels, and ids that are used twice."""
    for seed in range(20):
        dice = random.Random(seed)
        trace = Trace()
        trace.add("step", "ProfilerStep#0", 1, 0, 500)
        trace.add("step", "ProfilerStep#1", 1, 480, 1000)
        for _ in range(80):
            begin = dice.randrange(1000)
            kind = dice.choice(["op", "call", "kernel", "copy", "cuda_sync"])
            name = {"op": "aten::a", "kernel": "k", "copy": "Memcpy DtoH", "cuda_sync": dice.choice(["Stream Wait Event", "Event Sync"]),
                    "call": dice.choice(["cudaLaunchKernel", "cudaMemcpy", "cudaStreamSynchronize", "cudaEventRecord",
                                         "cudaStreamWaitEvent", "cudaFree"])}[kind]
            trace.add(kind, name, dice.choice([1, 2]) if kind in ("op", "call") else dice.choice([7, 8]), begin,
                      begin + dice.choice([0, 1, 10, 300]), correlation=dice.randrange(30), wait_on_stream=dice.choice([7, 8, -1]),
                      wait_on_cuda_event_record_corr_id=dice.randrange(-1, 30))
        found = report(trace)
        for step in found["steps"]:
            assert sum(parts(step).values()) == pytest.approx(step["duration_us"])
        for row in found["what_if"]:
            assert 0 <= row["mean_step_us"] <= found["critical_path"][0]["mean_step_us"] * 1.000001


def findings(found):
    return {row["see"]: row["advice"] for row in found["findings"]}


def test_what_another_finding_tells_of_the_path_is_told_once(report):
    told = findings(report(*two_ranks(), analysis=()))
    assert "in communication that no computation hides" in told["breakdown"] and "critical_path" not in told


def test_the_report_of_a_rank_tells_it_too(report):
    trace = synchronized()
    trace.add("step", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 1, 100, 150)
    trace.events[0]["dur"] = 150
    assert findings(report(trace, analysis=()))["critical_path"] == (
        "rank 0: a step would be 33 % shorter if data loading took no time: that is 33 % of its critical path")


def unsynchronized(loading, pause=5):
    """Ranks that compute for 60 us and reduce for 10 us, on two streams; the first loads data for so long. No call that waits
    was recorded: the host pauses until `pause` behind the work of GPUs."""
    traces = []
    for rank in range(2):
        trace = Trace()
        own = loading if rank == 0 else 2
        length = 90 + max(loading, 2) + pause
        for i in range(10):
            begin, come = length * i, length * i + 72 + own
            trace.add("step", f"ProfilerStep#{i}", 1, begin, begin + length)
            trace.add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, begin, begin + own)
            trace.launch(2 * i + 1, begin + own + 2, begin + own + 5, "gemm", 7, begin + own + 10, come - 2)
            trace.launch(2 * i + 2, begin + own + 6, begin + own + 8, "ncclDevKernel_AllReduce_Sum", 20, come,
                         begin + length - pause,
                         **{"Collective name": "allreduce", "Process Group Name": "0", "Process Group Ranks": "[0, 1]",
                            "Seq": i, "Group size": 2, "In msg nelems": 1024, "Out msg nelems": 1024, "dtype": "Float"})
        traces.append(trace)
    return traces


def test_a_host_that_pauses_until_the_gpu_ends_waits_for_it(report):
    told = report(*unsynchronized(60), analysis=())["findings"]
    assert "rank 0 makes the others wait" in told[0]["advice"]
    assert "outside of operators" not in json.dumps(told)
    assert "outside of operators" not in json.dumps(report(*unsynchronized(2), analysis=())["findings"])


@pytest.mark.parametrize("pause", [5, 20, 200])
def test_without_the_pauses_of_the_host_no_more_is_won_than_gpus_are_idle(report, pause):
    found = report(*unsynchronized(2, pause))
    length = 92 + pause
    for node in ("rank 0", "rank 1", "all ranks"):
        assert length - pause - 12 <= what_if(found, node, "host outside operators") <= length - pause + 1


def test_computing_is_no_trouble(report):
    trace = steady(steps=30)
    assert "critical_path" not in findings(report(trace, analysis=()))


def merged(gpu_tracker, tmp_path, *traces, words=()):
    for rank, trace in enumerate(traces):
        trace.write(tmp_path / f"rank{rank}.json", rank)
    out = tmp_path / "merged.json"
    done = subprocess.run([gpu_tracker, "timeline", "merge", "-o", out, *words, *sorted(tmp_path.glob("rank*.json"))],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text())


def test_the_overlay_has_the_path_beside_the_events(gpu_tracker, tmp_path):
    events = merged(gpu_tracker, tmp_path, synchronized(), words=["--critical-path"])
    plain = [event for event in events if event.get("cat") != "critical_path" and event["ph"] == "X"]
    assert len(plain) == len(synchronized().events)
    path = [event for event in events if event.get("cat") == "critical_path" and event["ph"] == "X"]
    assert [(event["name"], event["args"]["kind"], event["ts"], event["dur"]) for event in path] == [
        ("aten::mm", "operators", 0, 2), ("cudaLaunchKernel", "calls and launches", 2, 6), ("gemm", "computing kernels", 8, 80),
        ("cudaStreamSynchronize", "synchronization", 88, 2), ("aten::add", "operators", 90, 10)]
    assert {event["args"]["step_num"] for event in path} == {1}
    assert next(event for event in events if event["name"] == "process_name" and event["pid"] == path[0]["pid"])["args"]["name"] == (
        "Critical path")
    starts, ends = ([(event["pid"], event["tid"], event["ts"]) for event in events
                     if event.get("cat") == "critical_path" and event["ph"] == phase] for phase in "sf")
    lane = {event["name"]: (event["pid"], event["tid"]) for event in plain}
    assert starts == [(*lane["aten::mm"], 0), (*lane["gemm"], 8)]
    assert ends == [(*lane["gemm"], 2), (*lane["aten::add"], 88)]


def test_the_overlay_of_ranks_has_the_path_of_all(gpu_tracker, tmp_path, report):
    events = merged(gpu_tracker, tmp_path, *two_ranks(), words=["--critical-path"])
    labels = [event["args"]["labels"] for event in events if event["name"] == "process_labels" and event["pid"] >= 3000000]
    assert labels == ["rank 0", "rank 1", "all ranks"]
    # Analyses of the merged file do not take the path for work.
    first = report(*two_ranks())
    for trace in tmp_path.glob("rank*.json"):
        trace.unlink()
    again = report()
    assert [parts(step) for step in again["steps"]] == [parts(step) for step in first["steps"]]


def test_without_the_option_there_is_no_overlay(gpu_tracker, tmp_path):
    assert not any(event.get("cat") == "critical_path" for event in merged(gpu_tracker, tmp_path, synchronized()))


def test_ends_that_differ_by_rounding_are_one(report):
    trace = synchronized()
    trace.events[-1]["dur"] += 0.5  # beyond the end of the step around it
    trace.events[-1]["ts"] -= 1_690_000_000_000_000  # as a double holds it exactly
    for event in trace.events[:-1]:
        event["ts"] -= 1_690_000_000_000_000
    assert parts(report(trace)["steps"][0]) == {"operators": 12, "calls": 6, "compute": 80, "synchronization": 2}


@pytest.mark.parametrize("end, expected", [
    (47, {"loading": 40, "other": 10, "operators": 50}),  # a profiler takes the times of functions apart from those of ranges
    (95, {"loading": 10, "other": 40, "operators": 50}),  # that is no part of it
])
def test_a_function_that_ends_behind_its_data_loader_is_loading(report, end, expected):
    trace = Trace()
    trace.add("step", "ProfilerStep#1", 1, 0, 100)
    trace.add("step", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 1, 0, 40)
    trace.add("python_function", "queue.py: get", 1, 10, end)
    trace.add("op", "aten::mm", 1, 50, 100)
    assert parts(report(trace)["steps"][0]) == expected


@pytest.mark.parametrize("record, expected", [
    (None, {"calls": 5, "compute": 58, "synchronization": 2}),  # the one that ended last
    (("Stream Sync", 7, {"stream": 7}), {"calls": 5, "compute": 55, "synchronization": 5}),
    (("Stream Sync", 9, {"stream": 9}), {"calls": 5, "synchronization": 60}),  # nothing ran there: the call itself took so long
    (("Event Sync", 0, {"stream": 0, "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 9}),
     {"calls": 5, "compute": 25, "synchronization": 35}),
    (("Context Sync", -1, {"stream": -1}), {"calls": 5, "compute": 58, "synchronization": 2}),
])
def test_the_record_of_a_synchronization_tells_its_stream(report, record, expected):
    trace = Trace()
    trace.add("step", "ProfilerStep#1", 1, 0, 65)
    trace.launch(1, 0, 1, "early", 7, 5, 30)
    trace.add("call", "cudaEventRecord", 1, 1, 2, correlation=9)
    trace.launch(2, 2, 3, "late", 7, 30, 60)
    trace.launch(3, 3, 5, "other", 8, 5, 63)
    trace.add("call", "cudaEventSynchronize", 1, 5, 65, correlation=10)
    if record:
        trace.add("cuda_sync", record[0], record[1], 5, 65, correlation=10, **record[2])
    assert parts(report(trace)["steps"][0]) == expected


def test_paths_lead_through_collectives_of_hosts(report):
    """Gloo works on a thread of its own; the thread that began it stands still until then."""
    traces = []
    for late in (0, 70):
        trace = Trace()
        trace.add("step", "ProfilerStep#1", 1, 0, 100)
        trace.add("op", "aten::mm", 1, 0, 10)
        trace.add("step", "slow", 1, 10, 10 + late)
        trace.add("op", "c10d::allreduce_", 1, 10 + late, 14 + late)
        trace.add("step", "gloo:all_reduce", 2, 12 + late, 90)
        trace.add("op", "aten::add_", 1, 92, 100)
        traces.append(trace)
    found = report(*traces)
    steps = {step["node"]: parts(step) for step in found["steps"]}
    assert steps["rank 0"] == {"operators": 20, "waiting": 70, "communication": 8, "other": 2}
    assert steps["rank 1"] == steps["all ranks"] == {"operators": 20, "communication": 8, "other": 72}
    assert what_if(found, "all ranks", "slow") == 30 and what_if(found, "rank 0", "waiting for other ranks") == 30
    assert "no work of GPUs" in found["not_known"]
