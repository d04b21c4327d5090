"""Ranks that lose time in known ways: pauses of the host, traces that end early, work that is uneven, slow hosts."""
import json
import re

import pytest
from test_job_report import BASE, Rank, profile, report  # noqa: F401


def pause(rank, step, category, name, more=()):
    """Behind a synchronization that ends 55 us after the last kernel of the step, the host does something for 5 ms."""
    begin = step * 1000 + 990
    rank.add("cuda_runtime", "cudaDeviceSynchronize", 9, begin, 65)
    for event in rank.events:
        later = event["ts"] - BASE - rank.clock >= begin + 10
        event["ts"] += 5000 if later else 0
        if event["name"] == f"ProfilerStep#{step}":
            event["dur"] += 5000
    rank.add(category, name, 9, begin + 70, 4920)
    for inner, part in more:
        rank.add("cpu_op", inner, 9, begin + 80, part * 4900)


@pytest.mark.parametrize("category,name,more,words", [
    ("user_annotation", "save_checkpoint", (), "96 % of that in save_checkpoint, in 2 of 20 steps"),
    ("user_annotation", "save_checkpoint", [("aten::item", 0.9)], "86 % of that in aten::item within save_checkpoint, in 2 of 20 steps"),
    ("user_annotation", "save_checkpoint", [("aten::copy_", 0.4)], "96 % of that in save_checkpoint, in 2 of 20 steps"),
    ("python_function", "<built-in function collect>", (), "96 % of that in <built-in function collect>, in 2 of 20 steps"),
    ("cpu_op", "lock", (), "96 % of that in lock, in 2 of 20 steps"),
])
def test_a_pause_behind_a_synchronization_is_not_its_own(report, tmp_path, category, name, more, words):  # noqa: F811
    own = Rank(0, steps=range(20))
    for step in (12, 5):
        pause(own, step, category, name, more)
    own.write(tmp_path)
    found, = [row["advice"] for row in report("advice")["advice"] if row["see"] == "idle, operators"]
    assert f"({words}): do that less often" in found and "ynchroni" not in found


@pytest.mark.parametrize("gaps,remedy", [(1, "do that less often"), (20, "fewer synchronizations (.item(), .cpu()), larger batches")])
def test_a_range_of_many_launches_is_no_pause(report, tmp_path, gaps, remedy):  # noqa: F811
    """A range in each step in which the GPU waits 400 us: once, or before each of 20 kernels."""
    own = Rank(0, steps=range(1))
    own.events.clear()
    for step in range(10):
        begin = step * 1000
        own.add("user_annotation", f"ProfilerStep#{step}", 9, begin, 1000)
        own.kernel("gemm", 7, begin, 500)
        own.add("user_annotation", "forward", 9, begin + 510, 480)
        for i in range(gaps):
            own.kernel("gemm", 7, begin + 510 + (480 // gaps) * i + 400 // gaps, 80 // gaps)
    own.write(tmp_path)
    found, = [row["advice"] for row in report("advice")["advice"] if row["see"] == "idle, operators"]
    assert re.search(r"\(9\d % of that in forward\): ", found) and remedy in found


def test_a_rank_that_stops_early_is_named(profile, report, tmp_path):  # noqa: F811
    for rank in range(4):
        Rank(rank, steps=range(7 if rank == 2 else 12)).write(tmp_path)
    found = report()
    finding, = [row for row in found["findings"] if row["see"] == "steps"]
    assert finding["advice"] == ("1 of 4 ranks, rank 2: its trace ends after step 6, those of the other ranks after step 11: it has 7 of "
                                 "12 steps; the rank stopped early, or was recorded for a shorter time")
    assert "not_known" not in found and [row["steps"] for row in found["ranks"]] == [12, 12, 7, 12]
    text = profile().stdout
    assert "no trace" not in text and re.search(r"node +steps +step ", text)
    missing = report("collectives")["not_known"]
    assert missing.startswith("in 10 of 24 collectives a rank has no part, for its trace ends earlier") and "no trace" not in missing
    whole = (tmp_path / "rank2.json").read_text()
    (tmp_path / "rank2.json").write_text(whole[:-100])
    assert [row["advice"] for row in report("advice")["advice"] if row["see"] == "steps"][0].startswith("rank 2: its trace is cut off")


def write_ranks(folder, compute, ranks=4, steps=20):
    """compute(rank, step): how long the kernel of a step takes, in us."""
    for rank in range(ranks):
        own = Rank(rank, steps=range(1))
        own.events.clear()
        for step in range(steps):
            own.events += Rank(rank, compute=compute(rank, step), steps=range(step, step + 1)).events
        own.write(folder)


@pytest.mark.parametrize("compute,saved", [
    # The slowest rank less the mean of all: of 1000 us a step. Rank 1 computes 40 us more than its turn.
    (lambda rank, step: (400, 500, 600, 700)[(step + rank) % 4] + (40 if rank == 1 else 0), 15),
    (lambda rank, step: 700 if step % 4 == rank else 400, 22.5),
])
def test_where_ranks_take_turns_uneven_work_is_reported_alone(report, tmp_path, compute, saved):  # noqa: F811
    write_ranks(tmp_path, compute)
    finding, = [row for row in report()["findings"] if row["see"] == "collectives, stragglers"]
    assert "no rank stands out" in finding["advice"] and f"saves {finding['cost_percent']:.1f} % of the time" in finding["advice"]
    assert finding["cost_percent"] == pytest.approx(saved, rel=0.03)


def test_a_rank_that_is_late_beside_uneven_work_is_named(report, tmp_path):  # noqa: F811
    write_ranks(tmp_path, lambda rank, step: 800 if rank == 3 else 450 if step % 3 == rank else 300)
    named, uneven = [row for row in report()["findings"] if row["see"] == "collectives, stragglers"]
    assert named["advice"].startswith("rank 3 makes the others wait 35.0 % of each step")
    assert "no other rank stands out" in uneven["advice"] and uneven["cost_percent"] == pytest.approx(7.5)


@pytest.mark.parametrize("slow", [lambda rank, step: rank == 1 and step < 10, lambda rank, step: rank == (1 if step < 10 else 3)])
def test_a_rank_that_is_slow_in_some_steps_is_compared_in_these(report, tmp_path, slow):  # noqa: F811
    write_ranks(tmp_path, lambda rank, step: 600 if slow(rank, step) else 400)
    found = [row for row in report()["findings"] if "the others wait" in row["advice"]]
    assert [row["advice"].split()[1] for row in found] == (["1", "3"] if slow(3, 15) else ["1"])
    for row in found:
        assert "wait 10.0 % of the time of steps, mostly in 10 of 20 steps: " in row["advice"]
        assert row["advice"].endswith("in these steps its kernels are 50 % slower (on average 600 us, the others' 400 us)")


def test_the_cost_of_a_rank_is_what_the_others_would_win(report, tmp_path):  # noqa: F811
    """Rank 3 comes 200 us behind the next, which is itself 100 us late."""
    for rank in range(4):
        Rank(rank, compute=(400, 400, 500, 700)[rank]).write(tmp_path)
    finding, = [row for row in report()["findings"] if "rank 3 makes the others wait" in row["advice"]]
    assert finding["cost_percent"] == pytest.approx(20) and "wait 20.0 % of each step" in finding["advice"]
    uneven, = [row for row in report("advice")["advice"] if "stands out" in row["advice"]]
    assert uneven["cost_percent"] == pytest.approx(20 / 3, rel=1e-3)  # 500 us less the mean of 400, 400 and 500


@pytest.mark.parametrize("jitter", [0, 30])
def test_a_slow_host_is_named(report, tmp_path, jitter):  # noqa: F811
    for rank in range(8):
        folder = tmp_path / ("gpu01" if rank < 4 else "gpu02")
        folder.mkdir(exist_ok=True)
        own = Rank(rank, steps=range(1))
        own.events.clear()
        for step in range(12):
            own.events += Rank(rank, compute=(600 if rank > 3 else 400) + (step * 7 + rank * 13) % 4 * jitter / 3,
                               steps=range(step, step + 1)).events
        own.write(folder)
    sentence, = [row["advice"] for row in report()["findings"] if "the others wait" in row["advice"]]
    assert sentence.startswith("all ranks of gpu02 (rank 4, rank 5, rank 6 and 1 other) make the others wait")


def test_a_rank_that_is_once_very_late_stands_out_in_the_picture(profile, tmp_path):  # noqa: F811
    """All ranks come up to 9 us late, rank 2 once 300 us: no other cell has its colour."""
    for rank in range(4):
        own = Rank(rank, steps=range(1))
        own.events.clear()
        for step in range(60):
            late = 300 if (rank, step) == (2, 30) else (7 * step + 3 * rank) % 10
            own.events += Rank(rank, compute=500 + late, steps=range(step, step + 1)).events
        own.write(tmp_path)
    profile("-o", tmp_path / "job.html")
    picture = (tmp_path / "job.html").read_text().split("<h2>Who comes last to collectives</h2>")[1].split("</section>")[0]
    cells = [float(shade) for shade in re.findall(r'</title><rect[^>]* opacity="([^"]*)"', picture)]
    assert len(cells) > 100 and sorted(cells)[-1] == 1 and sorted(cells)[-2] < 0.1


def test_folders_with_equal_names_are_two_nodes(report, tmp_path):  # noqa: F811
    for folder in ("gpu01", "gpu02"):
        (tmp_path / folder).mkdir()
        for rank in range(2):
            event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": BASE, "dur": 10 + rank}
            (tmp_path / folder / f"rank{rank}.json").write_text(json.dumps({"traceEvents": [event]}))
    assert [row["node"] for row in report()["ranks"]] == ["gpu01 rank 0", "gpu01 rank 1", "gpu02 rank 0", "gpu02 rank 1"]
