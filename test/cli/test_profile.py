"""profile: through the real readers, of other tools' files and of our own recordings."""
import contextlib
import json
import marshal
import os
import pathlib
import pstats
import re
import subprocess
import sys

import pytest
from patience import given_longer

BASE = 1_600_000_000_000_000


def profile(gpu_tracker, *arguments, status=0):
    result = subprocess.run([gpu_tracker, "profile", *map(str, arguments), "--format=json"], capture_output=True, text=True, check=False)
    assert result.returncode == status, result.stderr
    return json.loads(result.stdout) if status in (0, 4) else result.stderr


@pytest.fixture
def smdebug(tmp_path):
    """Two nodes, steps of two modes, samples every 100 ms, as SMDebug lays them out."""
    for number, node in enumerate(["algo-1", "algo-2"], 1):
        rows = []
        for i in range(11):
            for dimension, value in (("GPUUtilization", 50 + 10 * number), ("GPUMemoryUtilization", 10)):
                rows.append({"Type": "gpu", "Name": "gpu0", "Dimension": dimension, "Value": value, "NodeId": node,
                             "Timestamp": (BASE + i * 100_000) / 1e6})
        folder = tmp_path / "system/incremental/2020091312"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"1600000000.{node}.json").write_text("\n".join(map(json.dumps, rows)))
        events = [{"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros": BASE}}]
        for pid, (mode, begin) in enumerate((("TRAIN", 100_000), ("EVAL", 500_000)), 1):
            events.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": f"Step:ModeKeys.{mode}"}})
            events += [{"name": "Step", "ph": "X", "pid": pid, "ts": begin + 100_000 * step, "dur": 80_000 + number,
                        "args": {"step_num": str(step)}} for step in range(3)]
        folder = tmp_path / "framework/pevents/2020091312"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{BASE + 10**6}_{node}_pythontimeline.json").write_text(json.dumps(events))
    return tmp_path


def test_smdebug_folder(gpu_tracker, smdebug):
    steps = profile(gpu_tracker, "steps", smdebug)["steps"]
    assert [(row["node"], row["training_phase"][-5:], row["steps"], row["mean_us"]) for row in steps] == [
        ("algo-1", ".EVAL", 3, 80001), ("algo-1", "TRAIN", 3, 80001),
        ("algo-2", ".EVAL", 3, 80002), ("algo-2", "TRAIN", 3, 80002)]
    job = profile(gpu_tracker, "job", smdebug)["job"][-1]
    parts = job["initialization_us"], job["training_loop_us"], job["finalization_us"]
    assert parts == (100_000, 680_002, 219_998) and job["duration_us"] == sum(parts)
    use = profile(gpu_tracker, "utilization", smdebug, "--device", "gpu")["utilization"]
    assert {(row["node"], row["dimension"]): row["mean"] for row in use} == {
        ("algo-1", "GPUUtilization"): 60, ("algo-2", "GPUUtilization"): 70,
        ("algo-1", "GPUMemoryUtilization"): 10, ("algo-2", "GPUMemoryUtilization"): 10}
    phases = profile(gpu_tracker, "phases", smdebug, "--node", "algo-2")["phases"]
    assert [row["phase"].replace("Step:ModeKeys.", "") for row in phases] == [
        "Before TRAIN", "TRAIN", "Between EVAL and TRAIN", "EVAL", "After EVAL"]
    assert all(row["start_us"] < row["end_us"] for row in phases)


def test_own_recording_by_phase(gpu_tracker, tmp_path):
    def check(seconds):
        place = tmp_path / str(len(list(tmp_path.iterdir())))
        place.mkdir()
        busy = f"{sys.executable} -c 'import time\nwhile time.process_time() < {seconds}: pass'"
        subprocess.run([gpu_tracker, "run", "--blocks", "--sleep-time=0.05", f"--tracking-file={place / 't.csv'}", "--",
                        "bash", "-c", f"{gpu_tracker} block busy -- {busy}; {gpu_tracker} block calm -- sleep {seconds}"],
                       check=True, capture_output=True)
        wanted = ["utilization", "--by=phase", "--device=cpu_utilization"]
        rows = profile(gpu_tracker, *wanted, place / "t.csv")
        both = profile(gpu_tracker, *wanted, place / "t.csv", f"{place}/./t.blocks.csv")
        assert rows["utilization"] == both["utilization"] and rows["beside"] == str(place / "t.blocks.csv")
        assert "beside" not in both and "beside" not in profile(gpu_tracker, *wanted, place)
        use = {row["phase"]: row["mean"] for row in rows["utilization"] if row["resource"] == "combined"}
        assert use["busy"] > 4 * use["calm"]

    given_longer(check, 0.6, 3)


def test_python_profiles_are_kept_to_steps(gpu_tracker, tmp_path):
    folder = tmp_path / f"framework/pytorch/cprofile/algo-1/train-1-stepstart-{BASE}.0_train-3-stepend-{BASE + 10**6}.0"
    folder.mkdir(parents=True)
    subprocess.run(["python3", "-c", f"import cProfile; cProfile.run('len([])', {str(folder / 'python_stats')!r})"], check=True)
    for start, end, found in ((2, 2, True), (0, 1, True), (4, 9, False)):
        bounds = ("--unit=step", "--start", start, "--end", end)
        assert bool(profile(gpu_tracker, "functions", tmp_path, *bounds, status=0 if found else 4)["functions"]) == found
    for start, found in ((BASE + 200_000, True), (BASE + 2_000_000, False)):
        assert bool(profile(gpu_tracker, "functions", tmp_path, "--start", start, status=0 if found else 4)["functions"]) == found


@pytest.mark.parametrize("words, nodes, steps", [
    (["--node=algo-2"], ["algo-2"] * 2, 3),
    (["--unit=step", "--start=1"], ["algo-1"] * 2 + ["algo-2"] * 2, 2),
    (["--unit=step", "--start=2", "--end=2"], ["algo-1"] * 2 + ["algo-2"] * 2, 1),
    ([f"--start={BASE + 450_000}"], ["algo-1", "algo-2"], 3),
    (["--start=+0.55", "--end=+0.79"], ["algo-1", "algo-2"], 3),
    (["--start=+0.581", "--end=+0.65"], ["algo-1", "algo-2"], 1),
    (["--node=nobody"], [], 0),
])
def test_steps_are_kept_to_the_bounds(gpu_tracker, smdebug, words, nodes, steps):
    rows = profile(gpu_tracker, "steps", smdebug, *words, status=0 if nodes else 4)["steps"]
    assert [(row["node"], row["steps"]) for row in rows] == [(node, steps) for node in nodes]


def test_what_lies_before_and_behind_phases_is_kept_to_the_bounds(gpu_tracker, smdebug):
    def ends(*words):
        rows = profile(gpu_tracker, "phases", smdebug, "--node=algo-1", *words)["phases"]
        return [(row["phase"].replace("Step:ModeKeys.", ""), row["start_us"], row["end_us"]) for row in rows
                if row["phase"].startswith(("Before", "After"))]

    [file] = smdebug.glob("framework/pevents/*/*_algo-1_*")
    file.write_text(json.dumps(json.loads(file.read_text()) + [
        {"name": "other", "ph": "X", "pid": 9, "ts": time, "dur": 10_000} for time in (0, 990_000)]))
    assert ends() == [("Before TRAIN", 0, 100_000), ("After EVAL", 780_001, 1_000_000)]
    assert ends("--start=+0.05", "--end=+0.95") == [("Before TRAIN", 50_000, 100_000), ("After EVAL", 780_001, 950_000)]
    assert ends(f"--start={BASE + 150_000}", f"--end={BASE + 700_000}") == []


@pytest.fixture
def dumps(tmp_path):
    """Forward and backward pass of step 2 on one node, the whole of step 3 on another; run calls the backward pass."""
    def write(node, name, statistics):
        folder = tmp_path / "framework/pytorch/cprofile" / node / name
        folder.mkdir(parents=True)
        (folder / "python_stats").write_bytes(marshal.dumps(statistics))
    write("algo-1", f"train-2-stepstart-{BASE}.0_train-2-forwardpassend-{BASE + 1000}.0",
          {("m.py", 1, "forward"): (1, 2, 1.0, 4.0, {})})
    write("algo-1", f"train-2-forwardpassend-{BASE + 1000}.0_train-2-stepend-{BASE + 2000}.0",
          {("m.py", 2, "backward"): (1, 1, 2.0, 3.0, {("m.py", 9, "run"): (1, 1, 2.0, 3.0)})})
    write("algo-2", f"train-3-stepstart-{BASE + 3000}.0_eval-3-stepend-{BASE + 4000}.0",
          {("m.py", 3, "whole"): (5, 5, 3.0, 2.0, {})})
    return tmp_path


@pytest.mark.parametrize("words, found", [
    ([], ["whole", "backward", "forward"]),
    (["--unit=step", "--start=2", "--end=2", "--phase=stepstart-forwardpassend"], ["forward"]),
    (["--phase=forwardpassend"], ["backward"]),
    (["--phase=nothing"], []),
    ([f"--start={BASE + 500}", f"--end={BASE + 600}"], ["forward"]),
    (["--node=algo-2"], ["whole"]),
    (["--select=^back"], ["backward"]),
    (["--key=cumtime"], ["forward", "backward", "whole"]),
    (["--key=ncalls"], ["whole", "forward", "backward"]),
    (["--key=pcalls", "--top=1"], ["whole"]),
    (["--by=training_phase", "--top=1"], ["forward", "backward", "whole"]),
    (["--by=mode"], ["backward", "forward", "whole"]),
])
def test_python_profiles_are_chosen(gpu_tracker, dumps, words, found):
    rows = profile(gpu_tracker, "functions", dumps, *words)["functions"]
    assert [row["function"].split("(")[1].rstrip(")") for row in rows] == found


def test_dumps_are_rows(gpu_tracker, dumps):
    report = profile(gpu_tracker, "functions", dumps, "--by=dump")
    assert [(row["group"] == dump["file"], row["tottime_seconds"]) for row, dump in zip(
        sorted(report["functions"], key=lambda row: row["group"]), report["dumps"])] == [(True, 2), (True, 1), (True, 3)]
    assert report["callers"] == [{"group": report["dumps"][0]["file"], "function": "m.py:2(backward)", "caller": "m.py:9(run)",
                                  "ncalls": 1, "tottime_seconds": 2, "cumtime_seconds": 3}]


def test_a_terminal_gets_sixty_lines(gpu_tracker, tmp_path):
    for rank in range(6):
        events = [event for step in range(15) for event in (
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": 10 * step, "dur": 9},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10 * step + 1, "dur": 1,
             "args": {"correlation": step + 1}},
            {"ph": "X", "cat": "kernel", "name": "matmul", "pid": 0, "tid": 7, "ts": 10 * step + 3, "dur": 5,
             "args": {"device": 0, "stream": 7, "correlation": step + 1}})]
        (tmp_path / f"rank{rank}.json").write_text(json.dumps({"distributedInfo": {"rank": rank}, "traceEvents": events}))

    def lines(*words):
        ours, theirs = os.openpty()
        done = subprocess.Popen([gpu_tracker, "profile", "critical_path", *words, tmp_path], stdout=theirs, stderr=theirs)
        os.close(theirs)
        text = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while piece := os.read(ours, 65536):
                text += piece
        os.close(ours)
        assert done.wait() == 0
        return text.decode().splitlines()

    whole, short = lines("--all"), lines()
    assert len(whole) > 62 and short == [*whole[:60], f"... {len(whole) - 60} more lines: see --all"]
    assert lines("-f", "text") == whole


def test_a_rank_that_is_gone_is_not_the_last_one(gpu_tracker, tmp_path):
    """Three ranks make eight steps of 1 ms; then two of them wait 100 ms in a collective for the third, which ended."""
    for rank in range(3):
        events = []

        def launch(name, start, length, into=events, **arguments):
            number = len(into)
            into.extend([
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": start - 5, "dur": 4,
                 "args": {"correlation": number}},
                {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": start, "dur": length,
                 "args": {"device": 0, "stream": 7, "correlation": number, **arguments}}])

        collective = {"Collective name": "allreduce", "Process Group Name": "default_pg", "Group size": 3, "dtype": "Float",
                      "In msg nelems": 1000, "Out msg nelems": 1000}
        for step in range(8):
            events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
                           "ts": 1000 * step + 100, "dur": 1000})
            launch("matmul", 1000 * step + 110, 800)
            launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1000 * step + 910, 100, **collective)
        if rank != 2:
            launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 8110, 100_000, **collective)
        (tmp_path / f"rank{rank}.json").write_text(json.dumps({"distributedInfo": {"rank": rank, "world_size": 3}, "traceEvents": events}))
    report = profile(gpu_tracker, "overview", tmp_path)
    first = "the trace of rank 2 ends 100 ms before those of the other ranks, after the same 8 steps"
    assert report["findings"][0]["advice"].startswith(first)
    assert not [row for row in report["findings"] if "comes last" in row["advice"]]


def test_callers_of_a_recursive_function_have_all_its_calls(gpu_tracker, tmp_path):
    path = tmp_path / "fib.prof"
    code = "import cProfile\ndef fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\ncProfile.run('fib(12)', '" + str(path) + "')"
    subprocess.run([sys.executable, "-c", code], check=True)
    (_, calls, *_, callers), = [entry for key, entry in pstats.Stats(str(path)).stats.items() if key[2] == "fib"]
    rows = [row for row in profile(gpu_tracker, "functions", path)["callers"] if row["function"].endswith("(fib)")]
    assert sorted(row["ncalls"] for row in rows) == sorted(four[0] for four in callers.values()) == [1, calls - 1]


def test_a_damaged_trace_says_so(gpu_tracker, tmp_path):
    trace = tmp_path / "trace.json"
    whole = '[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":5}]'
    trace.write_text(whole)
    assert "damaged" not in profile(gpu_tracker, "kernels", trace)
    trace.write_text(whole.replace("]", ',{"ph":"X","cat":"kernel","name":"k","pid":0,"ti'))
    report = profile(gpu_tracker, "kernels", trace)
    assert report["kernels"][0]["count"] == 1 and "cut off" in report["damaged"] and str(trace) in report["damaged"]
    assert "cut off" in profile(gpu_tracker, "diff", trace, trace)["damaged_b"]


def test_the_summary_names_damaged_files_and_ranks_read_twice(gpu_tracker, tmp_path):
    event = '{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":5}'
    for name, rank, end in (("a", 0, "]}"), ("b", 0, "]}"), ("cut", 1, ', {"ph":"X","cat":"ker')):
        (tmp_path / f"{name}.json").write_text(f'{{"distributedInfo": {{"rank": {rank}}}, "traceEvents": [{event}{end}')
    for form, shown in (("text", True), ("summary", True), ("json", False)):
        done = subprocess.run([gpu_tracker, "profile", tmp_path, "-f", form], capture_output=True, text=True, check=True)
        words = " ".join((done.stdout if shown else done.stderr).split()).lower()
        assert "damaged" in words and "cut off" in words and "read twice" in words, (form, words)
        assert (done.stderr == "") == shown


def test_what_is_wrong_is_named(gpu_tracker, smdebug):
    assert "no analysis 'walk': there are overview, job, steps" in profile(gpu_tracker, "walk", smdebug, status=2)
    assert "no-such" in profile(gpu_tracker, "job", smdebug / "no-such", status=2)
    assert "by 'colour'" in profile(gpu_tracker, "steps", smdebug, "--by", "colour", status=2)
    for analysis, choices in (("phases", "phase, step"), ("utilization", "device, phase, training_phase"), (
            "functions", "function, dump, step, mode, training_phase, job_phase")):
        assert f"by 'colour': it is one of {choices}" in profile(gpu_tracker, analysis, smdebug, "--by=colour", status=2)
    for analysis, option, taken in (("kernels", "by", ", only key, top"), ("breakdown", "top", ""), ("job", "device", ", only phase"),
                                    ("steps", "key", ", only by, phase, top, carbon-intensity, carbon-file, price"),
                                    ("dataloader", "phase", ", only top"),
                                    ("devices", "by", ", only device, ranges, top"), ("memory", "ranges", ", only top")):
        said = profile(gpu_tracker, analysis, smdebug, f"--{option}=3", status=2)
        assert f"profile {analysis} does not take '{option}'{taken}\n" in said
    for unit, start, end in (("time", 5, 4), ("step", 3, 2), ("time", "+2", "+1")):
        said = profile(gpu_tracker, "steps", smdebug, f"--unit={unit}", f"--start={start}", f"--end={end}", status=2)
        assert f"{start} is behind " in said and str(end) in said
    assert "two paths" in profile(gpu_tracker, "diff", smdebug, status=2)


def test_help_lists_the_analyses(gpu_tracker):
    text = subprocess.run([gpu_tracker, "profile", "--help"], capture_output=True, text=True, check=True).stdout
    assert re.search("^  ranks +collectives, stragglers, ", text, re.MULTILINE) and len(text.splitlines()) < 45


def test_all_rows_may_be_asked_of_every_analysis(gpu_tracker, smdebug):
    assert profile(gpu_tracker, "steps", smdebug, "--all") == profile(gpu_tracker, "steps", smdebug)


def loader(epochs, batches, with_steps, iterator="SingleProcess", pause=5000):
    """Of each batch 10 us are fetching (with an operator where nothing else tells) and 80 us work; an epoch's end takes 2 us, and then
    there is a pause."""
    events, at, number, begin = [], 0, 0, 0

    def add(category, name, start, length):
        events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": start, "dur": length, "args": {}})
    for _ in range(epochs):
        for batch in range(batches + 1):
            is_end = batch == batches
            add("user_annotation", f"enumerate(DataLoader)#_{iterator}DataLoaderIter.__next__", at, 2 if is_end else 10)
            if is_end:
                at += pause
                continue
            if not with_steps:
                add("cpu_op", "aten::stack", at + 1, 5)
            add("cpu_op", "aten::mm", at + 10, 80)
            at += 90
            if with_steps:
                add("user_annotation", f"ProfilerStep#{number}", begin, at - begin)
                number, begin = number + 1, at
    return {"traceEvents": events}


@pytest.mark.parametrize("with_steps, iterator", [(True, "MultiProcessing"), (False, "SingleProcess")])
def test_the_end_of_an_epoch_is_no_fetch_and_its_pause_no_batch(gpu_tracker, tmp_path, with_steps, iterator):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(loader(3, 4, with_steps, iterator)))
    rows = {row["part"]: row for row in profile(gpu_tracker, "dataloader", path)["dataloader"]}
    last = 0 if with_steps else 1  # in no step, the last fetch could be one of a further batch
    assert (rows["get_next"]["count"], rows["batch"]["count"]) == (13 - last, 12)
    assert rows["batch"]["max_us"] == 90


def test_the_end_of_an_epoch_is_no_fetch_in_findings(gpu_tracker, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(loader(3, 4, False, pause=20)))
    count, = [row["count"] for row in profile(gpu_tracker, "dataloader", path)["dataloader"] if row["part"] == "get_next"]
    finding, = [row["advice"] for row in profile(gpu_tracker, "advice", path)["advice"] if row["see"] == "dataloader"]
    assert count == 12 and "in the median of 12 fetches" in finding


def test_a_timestep_is_no_step(gpu_tracker, tmp_path):
    path = tmp_path / "trace.json"
    names = ["timestep 8", "substep_2", "step 1", "train_step_3", "trainStep 4", "Iteration: 5"]
    events = [{"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5}
              for i, name in enumerate(names)]
    path.write_text(json.dumps({"traceEvents": events}))
    found = profile(gpu_tracker, "steps", path)["steps"]
    assert {row["training_phase"] for row in found} == {"step", "train_step", "trainStep", "Iteration"}


@pytest.mark.parametrize("names, modes", [
    (["Step 1", "my step 2", "epoch 1 step 3", "STEP-4", "[rank 0] step 5", "train step 6"], {"step": 5, "train step": 1}),
    ([f"Epoch {epoch}/3, step {step}" for epoch in range(3) for step in range(4)], {"step": 12}),
    ([f"{mode}step {step}" for epoch in range(3) for step in range(4) for mode in ("", "train ")], {"step": 12, "train step": 12}),
    (["epoch_1_train_step_0", "epoch_1_val_step_0", "epoch_2_train_step_0", "epoch_2_val_step_0"], {"train_step": 2, "val_step": 2}),
])
def test_names_of_steps_are_modes_where_they_tell_a_kind(gpu_tracker, tmp_path, names, modes):
    """Steps that are counted anew in each epoch stay apart, each of its own length."""
    path = tmp_path / "trace.json"
    events = [{"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5}
              for i, name in enumerate(names)]
    events += [{"ph": "X", "cat": "cpu_op", "name": "mm", "pid": 1, "tid": 1, "ts": 10 * i + 1, "dur": 2} for i in range(len(names))]
    path.write_text(json.dumps({"traceEvents": events}))
    found = profile(gpu_tracker, "steps", path)["steps"]
    assert {row["training_phase"]: row["steps"] for row in found} == modes
    assert {row["max_us"] for row in found} == {5}
    inside = [row for row in profile(gpu_tracker, "steps", "--by", "framework_metric", path)["steps"] if row["framework_metric"] == "mm"]
    assert {row["mode"]: row["steps"] for row in inside} == modes


def test_sources_tell_how_many_events_were_looked_at(cli):
    trace = pathlib.Path(__file__).parents[1] / "fixture/traces/torch.json.gz"
    assert "looked at" not in cli("profile", trace).stdout.split("Ranks")[0]
    head, row = cli("profile", "--start=+0.01", trace).stdout.splitlines()[1:3]
    assert "looked at" in head and 0 < int(row.split()[2]) < int(row.split()[1])
