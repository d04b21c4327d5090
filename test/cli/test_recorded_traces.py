"""Traces and profiles recorded by PyTorch, cProfile and pyinstrument: our numbers are those of their own readers."""
import collections
import gzip
import json
import pathlib
import subprocess

import pytest

FIXTURE = pathlib.Path(__file__).parent.parent / "fixture" / "traces"


@pytest.fixture
def profile(gpu_tracker):
    """profile(analysis, path): the report as JSON."""
    def run(*words):
        out = subprocess.run([gpu_tracker, "profile", "--format", "json", *map(str, words)], check=True,
                             stdout=subprocess.PIPE)
        return json.loads(out.stdout)
    return run


def torch_events():
    with gzip.open(FIXTURE / "torch.json.gz") as file:
        return json.load(file)["traceEvents"]


def test_operators_are_those_of_key_averages(profile):
    averages = {row["name"]: row for row in json.loads((FIXTURE / "torch.averages.json").read_text())}
    names = {event["name"] for event in torch_events() if event.get("cat") == "cpu_op"}
    ours = {row["name"]: row for row in profile("operators", "--all", FIXTURE / "torch.json.gz")["operators"]}
    assert set(ours) == names and len(names) > 30
    for name in names:
        truth = averages[name]
        assert ours[name]["count"] == truth["count"]
        assert ours[name]["total_us"] == pytest.approx(truth["total_us"], abs=0.01 * truth["count"])
        assert ours[name]["self_us"] == pytest.approx(truth["self_us"], abs=0.02 * truth["count"])


def self_times(events):
    """By the operators, ranges and calls directly inside, thread by thread."""
    own, above = {}, []
    calls = [event for event in events if event.get("cat") in ("cpu_op", "user_annotation", "cuda_runtime")]
    for event in sorted(calls, key=lambda event: (event["tid"], event["ts"], -event["dur"], event["args"]["External id"])):
        while above and (above[-1]["tid"] != event["tid"] or above[-1]["ts"] + above[-1]["dur"] < event["ts"] + event["dur"]):
            above.pop()
        own[id(event)] = event["dur"]
        if above:
            own[id(above[-1])] -= event["dur"]
        above.append(event)
    return own


def test_ranges_of_the_program_are_a_table_of_their_own(profile, tmp_path):
    def event(category, name, start, duration, tid=1, **arguments):
        return {"ph": "X", "cat": category, "name": name, "pid": 9, "tid": tid, "ts": start, "dur": duration, "args": arguments}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([
        event("user_annotation", "ProfilerStep#3", 0, 100), event("user_annotation", "fwd", 10, 50),
        event("user_annotation", "fwd", 70, 20), event("cpu_op", "aten::mm", 20, 30),
        event("cuda_runtime", "cudaLaunchKernel", 25, 5, correlation=1),
        event("kernel", "gemm", 60, 15, 7, correlation=1, device=0, stream=7)]))
    found = profile("operators", path)
    names = ("name", "count", "total_us", "self_us", "gpu_us", "gpu_total_us")
    assert [[row[name] for name in names] for row in found["ranges"]] == [["fwd", 2, 70, 40, 0, 15]]
    assert [row["name"] for row in found["operators"]] == ["aten::mm"]


def test_operators_by_the_shapes_of_their_inputs(profile):
    events = torch_events()
    own, expected = self_times(events), collections.defaultdict(list)
    for event in events:
        if event.get("cat") == "cpu_op":
            expected[event["name"], json.dumps(event["args"].get("Input Dims"))].append(event)
    rows = profile("operators", "--all", "--by", "shape", FIXTURE / "torch.json.gz")["operators"]
    ours = {(row["name"], row["shape"] or "null"): row for row in rows}
    assert set(ours) == set(expected) and len(expected) > 50
    for key, events in expected.items():
        assert ours[key]["count"] == len(events)
        assert ours[key]["total_us"] == pytest.approx(sum(event["dur"] for event in events), abs=0.01)
        assert ours[key]["self_us"] == pytest.approx(sum(own[id(event)] for event in events), abs=0.02 * len(events))


def test_steps_of_pytorch(profile):
    steps = [event for event in torch_events() if event["name"].startswith("ProfilerStep#")]
    [row] = profile("steps", FIXTURE / "torch.json.gz")["steps"]
    assert row["steps"] == len(steps) == 2
    assert row["max_us"] == pytest.approx(max(event["dur"] for event in steps))
    assert row["min_us"] == pytest.approx(min(event["dur"] for event in steps))


def test_memory_of_pytorch(profile):
    changes = [event["args"] for event in torch_events() if event["name"] == "[memory]"]
    [row] = profile("memory", FIXTURE / "torch.json.gz")["memory"]
    assert row["changes"] == len(changes) > 50
    assert row["peak_allocated_bytes"] == max(change["Total Allocated"] for change in changes)


def test_numbers_of_steps_are_no_difference(profile):
    differences = profile("diff", "--all", FIXTURE / "torch.json.gz", FIXTURE / "torch.json.gz")["differences"]
    assert [row["count_a"] for row in differences if row["name"] == "ProfilerStep"] == [2]
    assert {row["change"] for row in differences} == {"same"}


def displayed(file, line, function):
    if (file, line) == ("~", 0):
        return "{" + function[1:-1] + "}" if function[0] == "<" else function
    return f"{file}:{line}({function})"


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.13"])
def test_functions_are_those_of_pstats(profile, version):
    truth = json.loads((FIXTURE / f"python{version}.json").read_text())
    report = profile("functions", "--all", FIXTURE / f"python{version}.prof")
    ours = {row["function"]: row for row in report["functions"]}
    assert len(ours) == len(truth) > 10
    for row in truth:
        mine = ours[displayed(*row["function"])]
        assert [mine[key] for key in ("pcalls", "ncalls", "tottime_seconds", "cumtime_seconds")] == row["values"]
    callers = {(row["function"], row["caller"]) for row in report["callers"]}
    assert callers == {(displayed(*row["function"]), displayed(*caller)) for row in truth for caller in row["callers"]}


def test_functions_of_pyinstrument(profile):
    own, total = collections.Counter(), collections.Counter()

    def walk(frame, above):
        name = f"{frame['file_path']}:{frame['line_no']}({frame['function']})"
        children = [child for child in frame["children"] if child["function"] != "[self]"]
        own[name] += frame["time"] - sum(child["time"] for child in children)
        total[name] += frame["time"] * (name not in above)
        for child in children:
            walk(child, above | {name})

    walk(json.loads((FIXTURE / "pyinstrument.json").read_text())["root_frame"], frozenset())
    ours = {row["function"]: row for row in profile("functions", "--all", FIXTURE / "pyinstrument.json")["functions"]}
    assert set(ours) == set(total) and len(ours) > 2
    for name, row in ours.items():
        assert row["tottime_seconds"] == pytest.approx(own[name], abs=1e-6)
        assert row["cumtime_seconds"] == pytest.approx(total[name], abs=1e-6)
