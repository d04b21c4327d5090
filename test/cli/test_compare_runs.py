"""sub-track compare with several runs of each session: verdicts and intervals."""
import json
import random

import pytest

from test_compare import compare, summary_of

STATISTICS = ("min", "max", "mean", "std")
BLOCKS = ("load", "fit", "save")


def results(duration=2.0, cpu=1.8, ram=0.1447, blocks=None, version=1):
    """Results as sub-track analyze writes them, of made-up figures; RAM in gigabytes."""
    gauges = {"combined_ram": ram * 0.9, "cpu_combined_sum_utilization_percent": cpu / duration * 100,
              "combined_rss": ram * 1e9}
    return {
        "overall": {name: dict.fromkeys(STATISTICS, value) for name, value in gauges.items()},
        "static_data": {"ram_unit": "gigabytes", "gpu_ram_unit": "gigabytes"},
        "code_block_results": [
            {"name": name, "num_timepoints": 3, "num_calls": 1, "num_non_empty_calls": 1,
             "compute_time": {**dict.fromkeys(STATISTICS, time), "total": time},
             "resource_usage": {"combined_ram": dict.fromkeys(STATISTICS, memory)},
             "counters": {"combined_cpu_time": {"total": time * 0.9, "num_samples": 3}}}
            for name, (time, memory) in (blocks or {}).items()],
        "overall_counters": {"combined_cpu_time": {"total": cpu, "num_samples": 3}},
        "peaks": {"combined_ram_peak": ram, "combined_threads_peak": 3.0},
        "duration": duration,
        "results_version": version,
    }


@pytest.fixture
def sessions(tmp_path):
    """sessions(a=[results, ...], b=[...]): the words that name them all to the program."""

    def write(**named):
        words = []
        for name, runs in named.items():
            for number, run in enumerate(runs):
                (tmp_path / f"{name}{number}.json").write_text(json.dumps(run))
                words += ["-m", f"{name}={name}{number}.json"]
        return words

    return write


def one_run(chance, factor=1.0):
    """A run of a program of three blocks: what is slow is slow everywhere, and memory comes in pages, mostly."""
    slow = factor * (1 + 0.03 * chance.gauss(0, 1))
    times = {name: slow * (1 + 0.02 * chance.gauss(0, 1)) for name in BLOCKS}
    blocks = {name: (time, round(25000 + chance.gauss(0, 20)) * 4096e-9) for name, time in times.items()}
    duration = sum(times.values())
    return results(duration, duration * (0.9 + 0.01 * chance.gauss(0, 1)), chance.choice([0.1447, 0.1502]), blocks)


def significant(cli, words):
    return {(row["name"], row["figure"]): row["significant"] for row in compare(cli, *words)["significance"]}


def test_runs_of_one_program_are_seldom_called_different(cli, sessions):
    """12 runs, divided by chance 4 against 4: in 5 of 100 comparisons some row may be called significant."""
    chance = random.Random(12)
    runs = [one_run(chance) for _ in range(12)]
    comparisons, wrong = 60, 0
    for _ in range(comparisons):
        chosen = chance.sample(runs, 8)
        verdicts = significant(cli, sessions(a=chosen[:4], b=chosen[4:]))
        assert len(verdicts) == 4 + 3 * len(BLOCKS) and set(verdicts.values()) <= {"yes", "no"}
        wrong += "yes" in verdicts.values()
    assert wrong <= 7  # of 60: more than that with a probability below 1 %


def test_a_slower_program_is_found(cli, sessions):
    chance = random.Random(4)
    found = 0
    for _ in range(10):
        verdicts = significant(cli, sessions(a=[one_run(chance) for _ in range(5)],
                                             b=[one_run(chance, 1.3) for _ in range(5)]))
        found += verdicts[None, "duration"] == "yes" and verdicts[None, "counters.combined_cpu_time"] == "yes"
        assert verdicts[None, "combined_ram_peak"] == "no"
    assert found >= 9


def test_the_summary_has_verdict_and_interval(cli, sessions):
    words = ["sub-track", "compare", *sessions(same=[results(duration=1 + i / 100) for i in range(4)],
                                               slow=[results(duration=2 + i / 100) for i in range(4)])]
    text = cli(*words).stdout
    change, low, high, verdict = summary_of(text)["whole job", "Time (seconds)"][2:]
    assert float(low) < float(change) < float(high) and verdict == "yes"
    assert summary_of(text)["whole job", "CPU time (seconds)"][2:] == ["0.0", "0.0", "0.0", "no"]
    assert "Certain" not in text
    page = cli(*words, "-f", "markdown").stdout
    assert "Significant" in page and "Low (%)" in page


@pytest.mark.parametrize("runs", [(1, 1), (2, 2), (3, 3), (3, 9)])
def test_few_runs_have_an_interval_and_no_verdict(cli, sessions, runs):
    words = sessions(a=[results(duration=1 + i / 100) for i in range(runs[0])],
                     b=[results(duration=2 + i / 100) for i in range(runs[1])])
    [row] = [row for row in compare(cli, *words)["significance"] if row["figure"] == "duration"]
    assert row["significant"] == "too few runs" and row["p"] is None
    assert (row["baseline_runs"], row["runs"]) == runs
    if min(runs) == 1:
        assert row["low"] is None and row["high"] is None
    else:
        assert row["low"] < row["difference"] < row["high"]
    assert summary_of(cli("sub-track", "compare", *words).stdout)["whole job", "Time (seconds)"][-1] == "too few runs"


def test_intervals_are_welchs(cli, sessions):
    words = sessions(a=[results(duration=x) for x in (1, 2, 3.5, 4)], b=[results(duration=x) for x in (5, 6.5, 9)])
    tree = compare(cli, *words)
    for row in tree["significance"][0], tree["overall_differences"][-1]:
        assert row.get("figure", row.get("measurement")) == "duration"
        assert [row["low"], row["high"]] == pytest.approx([0.1491818691880793, 8.267484797478588])  # scipy's
    assert compare(cli, *words) == tree, "the same random numbers every time"


def test_rows_that_a_run_lacks(cli, sessions):
    """The verdict counts the runs that have the figure."""
    runs = [results(duration=1 + i / 100) for i in range(4)]
    del runs[0]["peaks"]["combined_ram_peak"]
    rows = {row["figure"]: row for row in compare(cli, *sessions(a=runs, b=runs[1:] + [results()]))["significance"]}
    assert rows["combined_ram_peak"]["significant"] == "too few runs"
    assert (rows["combined_ram_peak"]["baseline_runs"], rows["combined_ram_peak"]["runs"]) == (3, 4)
    assert rows["duration"]["significant"] in ("yes", "no")
