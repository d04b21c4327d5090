"""profile without an analysis, and the collectives of ranks: traces of which every answer is known by arithmetic."""
import csv
import io
import json
import re
import subprocess
from pathlib import Path

import pytest

TRACES = Path(__file__).parents[1] / "fixture/traces"
BASE = 1_700_000_000_000_000
GROUP = {"Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1, 2, 3]",
         "Group size": 4, "dtype": "Float"}


class Rank:
    """Ten steps of 1000 us. In each a kernel computes, then an allreduce of 1 MB ends on all ranks at 900 us, and an allgather at
    1000 us. `compute`: how long the kernel takes; `clock`: how far the clock of the rank is ahead. All in us."""

    def __init__(self, rank, compute=500, clock=0, steps=range(10), has_arguments=True, host=0, sequence=True):
        self.rank, self.clock, self.events, self.correlation = rank, clock, [], 0
        self.has_arguments, self.sequence, self.number = has_arguments, sequence, steps[0] * 2
        for step in steps:
            begin = step * 1000
            self.add("user_annotation", f"ProfilerStep#{step}", 9, begin, 1000)
            if host:
                self.add("cpu_op", "aten::item", 9, begin, host)
                self.add("cuda_runtime", "cudaStreamSynchronize", 9, begin + 1, host - 2)
            self.kernel("gemm", 7, begin + host, compute)
            self.collective("allreduce", begin + host + compute, begin + 900, 262144, 262144)
            self.collective("_allgather_base", begin + 910, begin + 1000, 65536, 262144)

    def add(self, category, name, thread, begin, duration, **arguments):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 0 if category == "kernel" else 100, "tid": thread,
                            "ts": BASE + self.clock + begin, "dur": duration, "args": arguments})

    def kernel(self, name, stream, begin, duration, **arguments):
        self.correlation += 1
        self.add("cuda_runtime", "cudaLaunchKernel", 9, begin, 5, correlation=self.correlation)
        self.add("kernel", name, stream, begin, duration, correlation=self.correlation, stream=stream, device=0, **arguments)

    def collective(self, name, begin, end, elements_in, elements_out):
        kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL" if "reduce" in name else "ncclDevKernel_AllGather_RING_LL"
        self.number += 1
        arguments = {"Collective name": name, "In msg nelems": elements_in, "Out msg nelems": elements_out, **GROUP}
        if self.sequence:
            arguments["Seq"] = self.number
        self.kernel(kernel, 20, begin, end - begin, **(arguments if self.has_arguments else {}))

    def write(self, folder):
        (folder / f"rank{self.rank}.json").write_text(json.dumps({
            "schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "H100"}],
            "distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": 4}, "traceEvents": self.events}))


@pytest.fixture
def profile(gpu_tracker, tmp_path):
    def run(*words, status=0):
        done = subprocess.run([gpu_tracker, "profile", *words, tmp_path], capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stderr
        return done
    return run


@pytest.fixture
def report(profile):
    return lambda *words: json.loads(profile(*words, "--format=json").stdout)


def slow_rank_3(folder, **more):
    for rank in range(4):
        Rank(rank, compute=600 if rank == 3 else 500, **more).write(folder)


def test_who_comes_last_and_what_it_costs(report, tmp_path):
    slow_rank_3(tmp_path)
    rows = report("collectives")
    allreduce = next(row for row in rows["collectives"] if row["collective"] == "allreduce")
    assert (allreduce["communicator"], allreduce["ranks"], allreduce["count"]) == ("default_pg", 4, 10)
    assert (allreduce["size_bytes"], allreduce["transfer_us"], allreduce["mean_skew_us"]) == (1 << 20, 300, 100)
    assert (allreduce["last"], allreduce["last_percent"]) == ("rank 3", 100)
    bandwidth = (1 << 20) / 300e-6 / 1e9
    assert allreduce["algorithm_gb_per_s"] == pytest.approx(bandwidth)
    assert allreduce["bus_gb_per_s"] == pytest.approx(bandwidth * 2 * 3 / 4)
    allgather = next(row for row in rows["collectives"] if row["collective"] == "allgather")
    assert (allgather["size_bytes"], allgather["transfer_us"], allgather["max_skew_us"]) == (1 << 20, 90, 0)
    assert (allgather["last"], allgather["last_percent"]) == (None, 0)
    assert allgather["bus_gb_per_s"] == pytest.approx((1 << 20) / 90e-6 / 1e9 * 3 / 4)
    waits = [(row["last"], row["waited_us"], row["kept_waiting_us"]) for row in rows["arrivals"]]
    assert waits == [(0, 1000, 0)] * 3 + [(10, 0, 1000)]


def test_clocks_are_aligned_by_ends(report, tmp_path):
    for rank, clock in enumerate([0, 250, -4000, 123456]):
        Rank(rank, compute=600 if rank == 2 else 500, clock=clock).write(tmp_path)
    rows = report("collectives")
    assert [row["clock_ahead_us"] for row in rows["arrivals"]] == [0, 250, -4000, 123456]
    assert [row["clock_error_us"] for row in rows["arrivals"]] == [None, 0, 0, 0]
    assert [row["last"] for row in rows["arrivals"]] == [0, 0, 10, 0]
    [skew] = report("steps")["skew"]
    assert (skew["max_start_skew_us"], skew["mean_length_over_nodes_us"]) == (0, 1000)


def test_who_comes_last_within_the_error_is_not_named(report, tmp_path):
    """The ends lie up to 200 us apart, so 100 us of lateness tell nothing."""
    for rank in range(4):
        slow = Rank(rank, compute=600 if rank == 3 else 500)
        for i, event in enumerate(slow.events):
            if rank == 3 and event["cat"] == "kernel" and "AllReduce" in event["name"] and i % 2:
                event["dur"] += 200 * (i % 4 - 2)
        slow.write(tmp_path)
    rows = report("collectives")
    assert rows["arrivals"][3]["clock_error_us"] >= 100 and rows["arrivals"][3]["last"] == 0


@pytest.mark.parametrize("more", [{"has_arguments": False}, {"sequence": False}])
def test_a_trace_that_begins_later_is_matched_by_order_and_time(report, tmp_path, more):
    for rank in range(4):
        Rank(rank, compute=600 if rank == 3 else 500, steps=range(3, 10) if rank == 1 else range(10), **more).write(tmp_path)
    rows = report("collectives")
    assert [(row["collectives"], row["last"]) for row in rows["arrivals"]] == [(20, 0), (14, 0), (20, 0), (20, 10)]
    assert [row["clock_ahead_us"] for row in rows["arrivals"]] == [0, 0, 0, 0]
    assert {row["max_skew_us"] for row in rows["collectives"]} == {100, 0}


def test_what_has_no_match_is_counted(report, tmp_path):
    slow_rank_3(tmp_path)
    other = Rank(3)
    other.kernel("ncclDevKernel_SendRecv", 20, 20000, 10, **{"Collective name": "send", **GROUP})
    other.collective("allreduce", 21000, 21010, 1, 1)
    other.write(tmp_path)
    assert report("collectives")["left_out"] == (
        "kernels of communication: 1 in the trace of one rank alone, 0 that differ from the other ranks' at their place, "
        "1 sends and receives")


def test_rows_of_collectives_follow_the_names_of_communicators(report, tmp_path):
    """Not the order in which the files tell them."""
    for rank in range(4):
        slow = Rank(rank)
        for event in slow.events:
            if "Collective name" in event["args"]:
                name = "z" if event["args"]["Collective name"] == "allreduce" else "a"
                event["args"].update({"Process Group Name": name, "Process Group Description": name})
        slow.write(tmp_path)
    assert [row["communicator"] for row in report("collectives")["collectives"]] == ["a", "z"]


def test_where_ranks_have_no_trace_transfer_is_not_known(report, tmp_path):
    for rank in range(2):
        Rank(rank, compute=600 if rank == 1 else 500).write(tmp_path)
    found = report("collectives")
    for row in found["collectives"]:
        assert [row[name] for name in ("ranks", "transfer_us", "algorithm_gb_per_s", "bus_gb_per_s")] == [4, None, None, None]
    assert found["not_known"].startswith("in 20 of 20 collectives up to 2 of 4 ranks have no trace here")
    assert "in 20 collectives other ranks took part" in report("critical_path")["not_known"]


@pytest.mark.parametrize("has_arguments", [True, False])
def test_a_trace_that_ends_earlier_has_no_part_in_the_transfer(report, tmp_path, has_arguments):
    """In the last five steps rank 3 comes last, but its trace tells it no more."""
    for rank in range(4):
        Rank(rank, compute=600 if rank == 3 else 500, steps=range(5 if rank == 3 else 10), has_arguments=has_arguments).write(tmp_path)
    found = report("collectives")
    assert [(row["count"], row["transfer_us"]) for row in found["collectives"]] == [(10, 300), (10, 90)]
    assert found["not_known"].startswith("in 10 of 20 collectives a rank has no part")


def test_the_report_of_a_job_tells_who_makes_the_others_wait(report, tmp_path):
    slow_rank_3(tmp_path)
    found = report()
    assert [(row["node"], row["events"]) for row in found["sources"]] == [(f"rank {rank}", 70) for rank in range(4)]
    assert [(row["steps"], row["step_us"], row["worst"]) for row in found["ranks"]] == [
        (10, 1000, None)] * 3 + [(10, 1000, "compute, kernels")]
    assert [row["compute_us"] for row in found["ranks"]] == [5000, 5000, 5000, 6000]
    assert [row["exposed_communication_us"] for row in found["ranks"]] == [4900, 4900, 4900, 3900]
    assert (found["steps"][0]["median_us"], found["steps"][0]["mad_us"], found["steps"][0]["outliers"]) == (1000, 0, 0)
    sentence = next(row["advice"] for row in found["findings"] if "makes the others wait" in row["advice"])
    assert sentence == ("rank 3 makes the others wait 10.0 % of each step: it comes last to 10 of 20 collectives, there on average "
                        "100 us behind the median of the others; its kernels are 20 % slower (on average 600 us, the others' "
                        "500 us)")
    costs = [row["cost_percent"] for row in found["findings"]]
    assert costs == sorted(costs, reverse=True)


def test_waiting_for_a_slow_rank_is_no_communication(report, tmp_path):
    slow_rank_3(tmp_path)
    rows = [row for row in report("advice")["advice"] if row["see"] == "breakdown"]
    assert len(rows) == 4 and {row["could_win_us"] for row in rows} == {3900}  # of the others 4900, of which 1000 are waiting
    assert all(("apart from waiting" in row["advice"]) == (not row["advice"].startswith("rank 3")) for row in rows)


def test_a_loss_is_told_once(report, tmp_path):
    """Waiting for data is on the path, in the idle time of GPUs, and in the fetches."""
    for rank in range(2):
        own = Rank(rank, compute=200, host=200)
        for step in range(10):
            own.add("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 9, step * 1000, 200)
        own.write(tmp_path)
    told = [row["see"] for row in report()["findings"] if "data" in row["advice"]]
    assert told == ["idle, dataloader"]


def test_what_makes_a_straggler_is_told_with_it_alone(report, tmp_path):
    """All ranks wait for their GPU 100 us a step and launch late; rank 3 does so for 400 us, of which the others wait for 300."""
    for rank in range(4):
        own = Rank(rank, compute=300, host=400 if rank == 3 else 100)
        for event in own.events:
            if event["name"] in ("aten::item", "cudaStreamSynchronize"):  # begins while the GPU still works
                event["ts"], event["dur"] = event["ts"] - 20, event["dur"] + 20
        own.write(tmp_path)
    found = {row["see"]: row for row in report()["findings"]}
    late, synchronization = found["collectives, stragglers"], found["idle, operators"]
    assert late["cost_percent"] == pytest.approx(30) and "rank 3 makes the others wait 30.0 %" in late["advice"]
    assert re.search(r"for 3\d % of the time \(\d+ % of that in aten::item\), the others' for 1?\d %$", late["advice"])
    assert synchronization["ranks"] == 4 and synchronization["cost_percent"] == pytest.approx(9.9, rel=0.02)  # and not 37 of rank 3
    own, = [row for row in report("--node=3")["findings"] if row["see"] == "idle, operators"]
    assert "launch work (what makes the others wait apart)" in own["advice"]


def test_data_for_which_others_wait_is_told_once(report, tmp_path):
    """Without GPUs: rank 1 loads for 500 us a step, rank 0 for 200, and then waits for the other."""
    for rank in range(2):
        own = Rank(rank, steps=range(1))
        own.events.clear()
        for step in range(10):
            begin, load = step * 1000, 500 if rank else 200
            own.add("user_annotation", f"ProfilerStep#{step}", 9, begin, 1000)
            own.add("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 9, begin, load)
            own.add("cpu_op", "aten::mm", 9, begin + load, 400)
            own.add("user_annotation", "gloo:all_reduce", 10, begin + load + 400, 600 - load)
        own.write(tmp_path)
    found = {row["see"]: row for row in report()["findings"]}
    assert found["collectives, stragglers"]["cost_percent"] == pytest.approx(30)
    assert found["dataloader"]["ranks"] == 2 and found["dataloader"]["cost_percent"] == pytest.approx(20)


def test_a_few_late_arrivals_make_no_straggler(report, tmp_path):
    for rank in range(4):
        own = Rank(rank, compute=100)
        own.events = [event for event in own.events if event["cat"] == "user_annotation"]
        for step in range(10):  # rank 2 comes late by 700 us in one step, rank 3 in another
            late = 700 if (rank, step) in ((2, 4), (3, 7)) else 0
            own.add("user_annotation", "gloo:all_reduce", 10, step * 1000 + 100 + late, 800 - late)
        own.write(tmp_path)
    found, = [row["advice"] for row in report("advice")["advice"] if row["see"] == "collectives, stragglers"]
    assert found.startswith("a few long steps: for 14 % of the time ranks wait")
    assert "(mostly rank 2 in 1 of 10, rank 3 in 1 of 10)" in found


def test_a_rank_that_ends_early_makes_no_loss_of_the_job_greater(report, tmp_path):
    for rank in range(3):
        Rank(rank, steps=range(1 if rank == 2 else 10)).write(tmp_path)
    row, = [row for row in report("advice")["advice"] if row["see"] == "critical_path"]
    assert f"would be {row['cost_percent']:.0f} % shorter" in row["advice"]


def test_what_a_rank_costs_the_others_is_of_their_time(report, tmp_path):
    for rank in range(4):
        Rank(rank, compute=800 if rank == 3 else 500, steps=range(3 if rank == 3 else 10)).write(tmp_path)
    row, = [row for row in report()["findings"] if "rank 3 makes" in row["advice"]]
    assert row["cost_us"] == pytest.approx(900) and row["cost_percent"] == pytest.approx(9)


def test_a_trace_that_ends_early_makes_no_other_rank_the_worst(report, tmp_path):
    """Marks compare the shares that are shown, not times."""
    for rank in range(3):
        Rank(rank, compute=700 if rank == 2 else 500, steps=range(2 if rank == 2 else 10)).write(tmp_path)
    assert ["compute" in (row["worst"] or "") for row in report()["ranks"]] == [False, False, True]


def test_a_step_of_which_a_part_was_read_is_left_out(report, tmp_path):
    slow_rank_3(tmp_path)
    def held(*words):
        found = report("critical_path", *words)
        return [(row["node"], row["steps"], round(row["other_percent"])) for row in found["critical_path"]], found.get("not_known", "")
    paths, limits = held("--start=+0.0015", "--end=+0.0045")
    assert paths == [(node, 2, other) for node, _, other in held()[0]] and "a part" not in limits
    assert "only a part was read" in held("--start=+0.0013", "--end=+0.0016")[1]
    assert not [row for row in report("--start=+0.0013", "--end=+0.0016")["findings"] if row["see"] == "critical_path"]


def test_what_all_ranks_do_is_one_finding(report, tmp_path):
    for rank in range(4):
        Rank(rank, compute=400, host=200).write(tmp_path)
    found = report()
    idle = 9 * 200 + 10 * 10  # the host in aten::item, and between the two collectives of a step
    assert [row["host_us"] for row in found["ranks"]] == [idle] * 4
    finding = next(row for row in found["findings"] if "waiting for the host" in row["advice"])
    assert finding["ranks"] == 4 and finding["cost_percent"] == pytest.approx(100 * idle / 10_000)  # of the steps
    assert finding["advice"].startswith("4 of 4 ranks, most of all rank 0: GPU 0 idle 19 % of the time")
    assert "(95 % of that in aten::item)" in finding["advice"] and finding["see"] == "idle, operators"


def test_an_outlier_among_steps_is_named_with_its_rank(report, tmp_path):
    for rank in range(2):
        trace = Rank(rank)
        for event in trace.events:
            if event["name"] == "ProfilerStep#4" and rank == 1:
                event["dur"] = 1500
        trace.write(tmp_path)
    row = report()["steps"][0]
    assert (row["outliers"], row["outlier_steps"], row["max_us"]) == (1, "4 (rank 1, 1.50 ms)", 1500)


def test_traces_without_gpus_say_so(profile, report, tmp_path):
    (tmp_path / "rank0.json").write_text(json.dumps({"traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": BASE, "dur": 10}]}))
    assert report()["not_known"].startswith("no work of a GPU in the traces: all on CPUs")
    assert report()["reason"] == "none, in what the traces tell"
    assert "nothing that costs" not in profile().stdout
    (tmp_path / "rank0.json").write_text(json.dumps({"traceEvents": [
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": BASE, "dur": 10}]}))
    assert "kernels were not recorded" in report()["not_known"]
    (tmp_path / "rank0.json").write_text(json.dumps({"traceEvents": [
        {"ph": "X", "cat": "mtia_ccp_events", "name": "run", "pid": 1, "tid": 1, "ts": BASE, "dur": 10}]}))
    assert "a device that is not known here (mtia_ccp_events)" in report()["not_known"]


def test_what_is_left_out_is_counted(report, tmp_path):
    for rank in range(4):
        Rank(rank, compute=400, host=200).write(tmp_path)
    (tmp_path / "notes.txt").write_text("no trace")
    found = report("--top=1")
    assert len(found["findings"]) == 1 and "more findings (--all)" in found["left_out"]
    assert found["ignored"] == "1 other file in the folders that is not a trace"


def test_csv_is_one_table(profile, tmp_path):
    slow_rank_3(tmp_path)
    for words, columns, rows in ((["--table=sources"], "file,node,events", 4), (["--table=ranks"], "node,steps,step_us", 4),
                                 (["collectives"], "collective,communicator", 2), (["idle"], "node,device", 4),
                                 (["idle", "--table=streams"], "node,device,stream", 8)):
        done = profile(*words, "--format=csv")
        table = list(csv.reader(io.StringIO(done.stdout)))
        assert done.stdout.startswith(columns) and len(table) == rows + 1, words
        assert len({len(row) for row in table}) == 1
    assert "8 rows more with --table streams" in profile("idle", "--format=csv").stderr
    assert "unknown table 'x': choose one of devices, streams" in profile("idle", "--table=x", status=2).stderr


def test_horovod_tells_who_is_ready_last(report, tmp_path):
    """Two tensors, twice each. Rank 2 has them ready 40 us after the others, and the operation ends 60 us after that."""
    events = []
    for pid, tensor in ((1, "dense"), (2, "conv")):
        events.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": tensor}})
        for begin in (1000 * pid, 1000 * pid + 400):
            events += [{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "pid": pid, "ts": begin}]
            events += [{"ph": "X", "name": str(rank), "pid": pid, "ts": begin + (40 if rank == 2 else 0), "dur": 0} for rank in (0, 2, 1)]
            events += [{"ph": "E", "pid": pid, "ts": begin + 41}, {"ph": "B", "name": "ALLREDUCE", "pid": pid, "ts": begin + 45},
                       {"ph": "B", "name": "NCCL_ALLREDUCE", "pid": pid, "ts": begin + 50}, {"ph": "E", "pid": pid, "ts": begin + 90},
                       {"ph": "E", "pid": pid, "ts": begin + 100}]
    (tmp_path / "horovod.json").write_text(json.dumps(events))
    rows = report("collectives")
    row, = rows["collectives"]
    assert (row["collective"], row["communicator"], row["ranks"], row["count"]) == ("allreduce", None, 3, 4)
    assert (row["transfer_us"], row["mean_skew_us"], row["last"], row["last_percent"], row["bus_gb_per_s"]) == (60, 40, "2", 100, None)
    assert [(row["node"], row["last"], row["waited_us"], row["clock_ahead_us"]) for row in rows["arrivals"]] == [
        ("0", 0, 160, 0), ("1", 0, 160, 0), ("2", 4, 0, 0)]
    sentence = next(row["advice"] for row in report("advice")["advice"] if "makes the others wait" in row["advice"])
    assert sentence.startswith("rank 2 makes the others wait 10.7 % of the time: it comes last to 4 of 4 collectives, there on average "
                               "40.0 us")


def test_pauses_between_cycles_of_a_profiler_are_no_idle_time(profile, tmp_path):
    for rank in range(2):
        for cycle, steps in enumerate((range(3), range(1000, 1003))):
            own = Rank(rank, steps=steps)
            for step in steps:
                own.add("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 9, step * 1000, 1)
            own.write(tmp_path)
            (tmp_path / f"rank{rank}.json").rename(tmp_path / f"rank{rank}_{cycle}.json")

    def ask(name):
        return json.loads(profile(name, "--format=json").stdout)

    for row in ask("breakdown")["breakdown"] + ask("idle")["devices"]:
        assert row["span_us"] == 6000 and row["idle_us"] == 6 * 10
    assert [row["max_us"] for row in ask("dataloader")["dataloader"] if row["part"] == "batch"] == [1000, 1000]
    assert not any("waiting for the host" in row["advice"] or "stood still" in row["advice"] for row in ask("advice")["advice"])


def test_cycles_of_a_worker_without_a_rank_are_one_node(report, tmp_path):
    for cycle in range(2):
        event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": BASE + cycle * 1000, "dur": 10}
        (tmp_path / f"vm.local_77.170000000000000000{cycle}.pt.trace.json").write_text(json.dumps({"traceEvents": [event]}))
    assert [(row["node"], row["worst"]) for row in report()["ranks"]] == [("vm.local_77", None)]


def test_waiting_behind_computation_delays_what_follows(report, tmp_path):
    """The others compute while they wait for rank 3, but without it their collective and all that follows would be 100 us earlier."""
    for rank in range(4):
        own = Rank(rank, compute=600 if rank == 3 else 500)
        for step in range(10) if rank != 3 else ():
            own.kernel("hidden", 7, step * 1000 + 500, 60)  # of 100 us that the others wait
        own.write(tmp_path)
    finding, = [row for row in report()["findings"] if "makes the others wait" in row["advice"]]
    assert finding["advice"].startswith("rank 3 ") and finding["cost_percent"] == pytest.approx(10)
    arrivals = {row["node"]: row for row in report("stragglers")["stragglers"]}
    assert arrivals["rank 3"]["kept_waiting_us"] == 1000  # only the time without computation


def test_the_cost_of_a_straggler_is_of_its_steps(report, tmp_path):
    for rank in range(2):
        own = Rank(rank, compute=700 if rank else 500, steps=range(1))
        own.events[0]["dur"] = 2000
        own.write(tmp_path)
    finding = next(row for row in report()["findings"] if "makes the others wait" in row["advice"])
    assert finding["cost_percent"] == pytest.approx(10) and "10.0 % of each step" in finding["advice"]


def test_gpus_of_one_rank_share_the_cost(report, tmp_path):
    own, numbers = Rank(0, steps=range(1)), iter(range(100, 200))
    own.events.clear()
    for device, begins in ((0, (0, 50, 100)), (1, (0, 90, 100))):
        for begin in begins:  # 10 us each: of 110 us 80 are idle on both, for the host
            number = next(numbers)
            own.add("cuda_runtime", "cudaLaunchKernel", 9 + device, begin - 1, 1, correlation=number)
            own.add("kernel", "gemm", 7, begin, 40 if (device, begin) == (0, 50) else 10, correlation=number, device=device)
            own.events[-1]["pid"] = device
    own.write(tmp_path)
    found = report()
    rank, = found["ranks"]
    finding, = [row for row in found["findings"] if "waiting for the host" in row["advice"]]
    assert rank["idle_us"] == 50 + 80 and finding["cost_us"] == pytest.approx(65)
    assert finding["cost_percent"] == pytest.approx(rank["host_percent"]) == pytest.approx(100 * 130 / 220)
    assert finding["advice"].startswith("2 of 2 GPUs, most of all rank 0: GPU 1 idle 73 % of the time")


def test_a_merged_file_tells_the_same(gpu_tracker, tmp_path):
    job, merged = tmp_path / "job", tmp_path / "merged.json"
    job.mkdir()
    for rank in range(2):
        for cycle, steps in enumerate((range(3), range(1000, 1003))):
            own = Rank(rank, steps=steps, compute=400 + 100 * rank, host=100)
            for event in own.events:
                if event["cat"] == "kernel":
                    event["pid"] = rank
            own.write(job)
            (job / f"rank{rank}.json").rename(job / f"rank{rank}_{cycle}.json")
    subprocess.run([gpu_tracker, "timeline", "merge", "-o", merged, job], check=True, capture_output=True)

    def ask(path, *analysis):
        return json.loads(subprocess.run([gpu_tracker, "profile", *analysis, path, "--format=json"], capture_output=True,
                                         check=True).stdout)
    for key in ("ranks", "steps", "findings"):
        assert ask(merged)[key] == ask(job)[key]
    assert [row["node"] for row in ask(merged)["sources"]] == ["rank 0", "rank 0", "rank 1", "rank 1"]
    assert ask(merged, "breakdown")["breakdown"] == ask(job, "breakdown")["breakdown"]
    assert {row["device"] for row in ask(merged, "idle")["devices"]} == {"0", "1"}
    with_paths = tmp_path / "paths.json"
    subprocess.run([gpu_tracker, "timeline", "merge", "--critical-path", "-o", with_paths, job], check=True, capture_output=True)
    assert ask(with_paths)["ranks"] == ask(job)["ranks"]


def test_collectives_of_the_host_tell_who_comes_last(report, tmp_path):
    for rank in range(2):
        own = Rank(rank, steps=range(1))
        own.events.clear()
        for step in range(4):
            begin = step * 1000
            work = 700 if rank else 100
            own.add("user_annotation", f"ProfilerStep#{step}", 9, begin, 1000)
            own.add("cpu_op", "aten::mm", 9, begin, work)
            own.add("user_annotation", "gloo:all_reduce", 10, begin + work, 900 - work)
        own.write(tmp_path)
    finding, path = report()["findings"]
    assert path["see"] == "critical_path"
    assert path["advice"].startswith("a step of all ranks would be 20 % shorter if communication took no time: that is 20 % of the ")
    assert finding["advice"].startswith("rank 1 makes the others wait 60.0 % of each step: it comes last to 4 of 4 collectives")
    assert finding["advice"].endswith("; aten::mm takes 70 % of its time (2.80 ms), of the others' 10 %")
    assert finding["cost_us"] == 4 * 600
    row, = report("collectives")["collectives"]
    assert (row["collective"], row["ranks"], row["count"]) == ("allreduce", 2, 4)


def test_costs_have_one_base_and_data_loading_one_figure(gpu_tracker):
    """A recorded trace, in which steps are less than half of the time."""
    def words(*analysis):
        path = TRACES / "torch.json.gz"
        return subprocess.run([gpu_tracker, "profile", *analysis, path, "--format=json"], capture_output=True, check=True).stdout
    found, advice = json.loads(words()), json.loads(words("advice"))["advice"]
    assert [row["advice"] for row in found["findings"]] == [row["advice"] for row in advice]
    loading = [row for row in found["findings"] if "data" in row["advice"]]
    assert [row["cost_percent"] for row in loading] == [row["data_loading_percent"] for row in found["ranks"]]
    for row in found["findings"]:
        assert row["cost_percent"] == pytest.approx(100 * row["cost_us"] / found["sources"][0]["duration_us"], rel=1e-3)
    shown = subprocess.run([gpu_tracker, "profile", TRACES / "torch.json.gz"], capture_output=True, text=True, check=True).stdout
    assert "% of the time recorded" in shown and "GPUs;" not in shown


def test_nodes_share_the_rows_asked_for(gpu_tracker, tmp_path):
    """Rows of all ranks together go before those of ranks, of which there is one at least; a node alone has as many as asked for."""
    for rank in range(4):
        Rank(rank, steps=range(6)).write(tmp_path)

    def rows(analysis, *options):
        done = subprocess.run([gpu_tracker, "profile", analysis, tmp_path, "--format=json", *options], capture_output=True, check=True)
        found = json.loads(done.stdout)
        return {key: [row["node"] for row in table] for key, table in found.items() if isinstance(table, list)}, found.get("not_shown")

    path, left_out = rows("critical_path", "--top=3")
    assert path["steps"] == path["what_if"] == ["all ranks"] * 3 and len(path["critical_path"]) == 5
    assert '27 of 30 rows of "Steps"' in left_out
    for asked, of_each in ((3, 1), (6, 2), (12, 3)):
        steps, left_out = rows("roles", f"--top={asked}")
        assert steps["steps"] == [f"rank {rank}" for rank in range(4) for _ in range(of_each)]
        assert f'{24 - 4 * of_each} of 24 rows of "Steps"' in left_out
    assert len(rows("roles", "--top=3", "--node=rank 2")[0]["steps"]) == 3


def test_the_time_of_the_traces_is_by_aligned_clocks(gpu_tracker, tmp_path):
    for rank in range(4):
        Rank(rank, clock=50_000 * rank).write(tmp_path)
    page = subprocess.run([gpu_tracker, "profile", tmp_path, "--format=html"], capture_output=True, text=True, check=True).stdout
    assert re.search(r"traces</\w+>\s*(<[^>]*>)*10\.0 ms", page), page[page.index("traces") - 100:][:400]


def test_steps_of_ranks_are_compared_by_one_clock(report, tmp_path):
    """Also where one of them is shown."""
    for rank, clock in enumerate([0, 250, -4000, 123456]):
        Rank(rank, clock=clock).write(tmp_path)
    for words in ([], ["--node=1"], ["--select=gemm"]):
        (skew,) = report("steps", *words)["skew"]
        assert (skew["steps"], skew["mean_length_over_nodes_us"], skew["max_start_skew_us"]) == (10, 1000, 0)
    assert [row["node"] for row in report("steps", "--node=1")["steps"]] == ["rank 1"]


def test_ranks_without_a_trace_are_told(report, tmp_path):
    for rank in range(4):
        Rank(rank).write(tmp_path)
    assert "not_known" not in report()
    (tmp_path / "rank2.json").unlink()
    assert report()["not_known"] == ("1 of 4 ranks has no trace here (2): which part of the communication is waiting for them "
                                     "is not known")
    for rank in (0, 1):
        (tmp_path / f"rank{rank}.json").unlink()
        alone = Rank(rank + 2)
        alone.events = [event for event in alone.events if "Collective name" not in event["args"]]
        alone.write(tmp_path)
    assert report()["not_known"] == "2 of 4 ranks have no trace here (0-1)"


def test_ranks_that_come_last_as_often_are_all_named(report, tmp_path):
    for rank in range(4):
        halves = [Rank(rank, compute=600 if rank == late else 500, steps=steps) for late, steps in ((2, range(5)), (3, range(5, 10)))]
        halves[0].events += halves[1].events
        halves[0].write(tmp_path)
    row = next(row for row in report("collectives")["collectives"] if row["collective"] == "allreduce")
    assert (row["last"], row["last_percent"]) == ("rank 2, rank 3", 50)


def grouped(folder, slow, data_groups):
    """Five steps: ranks compute for 300 us (slow ones for 500), an allgather of ranks 0 and 1, and of 2 and 3, takes 40 us from the
    last of them on, and then an allreduce of each data group takes 60 us."""
    tensor_groups = [(0, 1), (2, 3)]
    ranks = [Rank(rank, steps=range(1)) for rank in range(4)]
    for own in ranks:
        own.events.clear()
    for step in range(5):
        ready = {own.rank: step * 1000 + (500 if own.rank in slow else 300) for own in ranks}
        for own in ranks:
            own.add("user_annotation", f"ProfilerStep#{step}", 9, step * 1000, 1000)
            own.kernel("gemm", 7, step * 1000, ready[own.rank] - step * 1000)
        for groups, kind, length in ((tensor_groups, "AllGather", 40), (data_groups, "AllReduce_Sum_f32", 60)):
            for group in groups:
                end = max(ready[rank] for rank in group) + length
                for rank in group:
                    arguments = {"Collective name": "_allgather_base" if kind == "AllGather" else "allreduce", "dtype": "Float",
                                 "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": len(group), "Seq": step,
                                 "Process Group Name": f"{kind}{group}", "Process Group Ranks": str(list(group))}
                    ranks[rank].kernel(f"ncclDevKernel_{kind}_RING_LL", 20, ready[rank], end - ready[rank], **arguments)
                    ready[rank] = end
    for own in ranks:
        own.write(folder)


def costs(found, matter):
    return [(row["advice"].split(" make")[0], row["could_win_us"]) for row in found("advice")["advice"] if matter in row["advice"]]


@pytest.mark.parametrize("data_groups", [[(0, 1, 2, 3)], [(0, 2), (1, 3)]])
def test_a_rank_that_another_held_is_not_to_blame(report, tmp_path, data_groups):
    """Rank 1 holds rank 0 in the allgather, and so ranks 2 and 3 in the allreduce: 200 us a step, once."""
    grouped(tmp_path, {1}, data_groups)
    assert costs(report, "the others wait") == [("rank 1", 5 * 200)]
    assert {cost for _, cost in costs(report, "in communication")} == {5 * (40 + 60)}
    assert not costs(report, "stands out")


def test_ranks_that_are_slow_alike_are_told_together(report, tmp_path):
    for rank in range(4):
        Rank(rank, compute=600 if rank > 1 else 500).write(tmp_path)
    sentence, = [row["advice"] for row in report()["findings"] if "the others wait" in row["advice"]]
    assert sentence == ("rank 2 and rank 3 make the others wait 10.0 % of each step: they come last to 10 of 20 collectives, there on "
                        "average 100 us behind the median of the others; of rank 2: its kernels are 20 % slower (on average 600 us, "
                        "the others' 500 us)")
    assert {cost for _, cost in costs(report, "in communication")} == {3900}


def test_waiting_for_most_ranks_is_no_communication(report, tmp_path):
    """No straggler: one rank is faster than the others, and waits for them."""
    for rank in range(4):
        Rank(rank, compute=700 if rank else 400).write(tmp_path)
    assert not costs(report, "the others wait")
    assert {cost for _, cost in costs(report, "in communication")} == {2900}
    (_, cost), = costs(report, "no rank stands out")
    assert cost == 10 * 300 / 4
