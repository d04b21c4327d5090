"""profile sequences: what an operator has GPUs do, by kernels in the order in which they begin."""
import collections
import json
import random
import subprocess

import pytest


def event(category, name, start, duration, tid=1, pid=100, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": duration, "args": arguments}


@pytest.fixture
def sequences(gpu_tracker, tmp_path):
    def run(events, *options, status=0):
        path = tmp_path / "trace.json"
        path.write_text(json.dumps({"distributedInfo": {"rank": 0}, "traceEvents": events}))
        done = subprocess.run([gpu_tracker, "profile", "sequences", path, "--format=json", *options],
                              capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout)
    return run


def calls(name, *kernels, start=0, inside=None):
    """A call of an operator, which launches kernels (name, duration) one after another."""
    events = [event("cpu_op", name, start, 100)]
    if inside:
        events.append(event("cpu_op", inside, start + 1, 98))
    moment = start + 200
    for i, (kernel, duration) in enumerate(kernels):
        number = start * 10 + i + 1
        events += [event("cuda_runtime", "cudaLaunchKernel", start + 2 + i, 1, correlation=number),
                   event("kernel", kernel, moment, duration, 7, 0, device=0, stream=7, correlation=number)]
        moment += duration
    return events


def names(report):
    found = collections.defaultdict(list)
    for row in report["kernels"]:
        found[row["sequence"]].append((row["name"], row["mean_us"]))
    return found


def test_all_that_a_call_launches_is_a_sequence(sequences):
    """Three calls of layer: twice a, b and once a, c. A call within another one of that name belongs to that; others do not count."""
    report = sequences(calls("layer", ("a", 10), ("b", 20)) + calls("layer", ("a", 12), ("b", 24), start=1000, inside="layer")
                       + calls("layer", ("a", 30), ("c", 4), start=2000) + calls("other", ("a", 10), ("b", 20), start=3000)
                       + calls("layer", start=4000), "--operator", "layer")
    first, second = report["sequences"]
    assert (first["node"], first["sequence"], first["length"], first["count"]) == ("rank 0", 1, 2, 2)
    assert (first["total_us"], first["mean_us"], first["gpu_time_percent"], first["operator_us"]) == (66, 33, 66, 200)
    assert (second["sequence"], second["length"], second["count"], second["total_us"]) == (2, 2, 1, 34)
    assert names(report) == {1: [("a", 11), ("b", 22)], 2: [("a", 30), ("c", 4)]}


def test_runs_of_a_length_in_the_calls(sequences):
    """abab and ab: ab three times, ba once; none reaches from one call into the next."""
    events = calls("layer", ("a", 1), ("b", 2), ("a", 1), ("b", 2)) + calls("layer", ("a", 1), ("b", 2), start=1000)
    report = sequences(events, "--operator=layer", "--length=2")
    assert [(row["length"], row["count"], row["total_us"], row["operator_us"]) for row in report["sequences"]] == [
        (2, 3, 9, None), (2, 1, 3, None)]
    assert names(report) == {1: [("a", 1), ("b", 2)], 2: [("b", 2), ("a", 1)]}
    report = sequences(events, "--operator=layer", "--length=5", status=4)
    assert report["sequences"] == [] and report["reason"].startswith("no operator")
    report = sequences(events, "--operator=layer", "--length=2", "--top=1")
    assert [row["count"] for row in report["sequences"]] == [3] and len(report["kernels"]) == 2


def test_ranges_of_the_program_have_sequences(sequences):
    events = calls("layer", ("a", 10), ("b", 20))
    report = sequences([event("user_annotation", "forward", 0, 150)] + events, "--operator", "forward")
    assert [(row["count"], row["total_us"], row["operator_us"]) for row in report["sequences"]] == [(1, 30, 150)]


@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_runs_against_counting_each(sequences, length):
    chosen = random.Random(length)
    expected, events = collections.Counter(), []
    for call in range(40):
        kernels = [(chosen.choice("ab"), 1) for _ in range(chosen.randrange(12))]
        events += calls("layer", *kernels, start=1000 * call)
        for i in range(len(kernels) - length + 1):
            expected[tuple(kernels[i:i + length])] += 1
    chosen.shuffle(events)
    report = sequences(events, "--operator=layer", f"--length={length}", "--all")
    kernels = names(report)
    assert {tuple(kernels[row["sequence"]]): row["count"] for row in report["sequences"]} == expected


def test_without_an_operator_all_outermost_ones_are_told(sequences):
    """A range around them is none; the same kernels in another operator are another sequence."""
    report = sequences([event("user_annotation", "forward", 0, 3000)] + calls("layer", ("a", 10), ("b", 20), inside="part")
                       + calls("layer", ("a", 10), ("b", 30), start=1000) + calls("other", ("a", 10), ("b", 20), start=2000))
    assert [(row["operator"], row["sequence"], row["count"], row["total_us"], row["gpu_time_percent"]) for row in report["sequences"]] == [
        ("layer", 1, 2, 70, 70), ("other", 2, 1, 30, 30)]


def test_an_operator_of_another_name_has_none(sequences):
    report = sequences(calls("layer", ("a", 10)), "--operator", "nobody", status=4)
    assert report["reason"].startswith("no operator or range of that name")
    assert sequences([event("cpu_op", "layer", 0, 10)], status=4)["reason"].startswith("no operators")
