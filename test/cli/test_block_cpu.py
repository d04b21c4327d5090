"""The CPU time of a block: one figure wherever it stands, by the clock of the process that calls it and by what its children did."""
import json
import sqlite3

import pytest

BUSY = "import time\nwhile time.process_time() < 0.8: pass"
OWN = 0.0005  # seconds, of the block, by the clock of the process


@pytest.fixture
def recorded(cli, tmp_path):
    """A recording of a busy process, and rows of a block in which it slept; what the block had is known without a sample."""
    assert cli("run", "-q", "--sleep-time", 0.2, "--tf=a.sqlite", "--", "/usr/bin/python3", "-c", BUSY).returncode == 0
    with sqlite3.connect(tmp_path / "a.sqlite") as recording:
        pid, start = recording.execute("SELECT pid, start FROM static_data").fetchone()
    rows = [f"{pid},idle,{position},{start + at!r},{cpu!r}" for position, at, cpu in ((0, 0.2, 0.1), (1, 0.5, 0.1 + OWN))]
    (tmp_path / "a.csv").write_text("\n".join(["process_id,code_block_name,position,timestamp,cpu_time", *rows, ""]))
    return tmp_path / "a.sqlite"


def add_child(path, began, ended, seconds, is_listed=True):
    with sqlite3.connect(path) as recording:
        pid, = recording.execute("SELECT pid FROM static_data").fetchone()
        if is_listed:
            recording.execute("INSERT INTO process (number, pid, parent, name, began, ended, cpu_time) VALUES (9, ?, ?, 'child', ?, ?, ?)",
                              (pid + 1, pid, began, ended, seconds))
        recording.execute("UPDATE final SET value = value + ? WHERE metric = 'cpu_time' AND scope IN ('descendants', 'combined')",
                          (seconds,))


def figures(cli, tmp_path):
    """The CPU time of the block as analyze has it; the other places agree with it."""
    assert cli("analyze", "--tf=a.sqlite", "--stf=a.csv", "-f", "json", "-o", "a.json").returncode == 0
    block, = json.loads((tmp_path / "a.json").read_text())["code_block_results"]
    cpu, counters = block["cpu_time"], block["counters"]
    assert counters["combined_cpu_time"]["total"] == pytest.approx(cpu["total"], abs=1e-12)
    assert counters["main_cpu_time"]["total"] + counters["descendants_cpu_time"]["total"] == pytest.approx(cpu["total"], abs=1e-12)
    assert cpu["process"] == pytest.approx(OWN) and cpu["total"] == pytest.approx(cpu["process"] + cpu["others"])
    rules = [f"--fail-if=block:idle.{name}>1us" for name in ("cpu_time", "cpu_time.total", "counters.combined_cpu_time")]
    done = cli("compare", "a=a.json", "b=a.json", *rules, "-f", "json")
    compared = json.loads(done.stdout)
    assert {row["value"] for row in compared["rules"]} == {cpu["total"]} and done.returncode == 3
    line, = [row for row in compared["significance"] if row["name"] == "idle" and row["figure"] == "cpu_time.total"]
    assert line["value"] == cpu["total"]
    title = "CPU time (seconds)" if cpu["known"] == "exact" else "CPU time (seconds, estimated)"
    text = cli("compare", "a=a.json", "b=a.json", "-f", "markdown").stdout
    assert [title in row for row in text.splitlines() if "idle" in row and "CPU time" in row] == [True]
    return cpu


def test_a_process_alone_has_its_clock(cli, tmp_path, recorded):
    cpu = figures(cli, tmp_path)
    assert (cpu["others"], cpu["known"]) == (0, "exact")


def test_a_child_that_lived_inside_is_exact(cli, tmp_path, recorded):
    add_child(recorded, 0.25, 0.45, 0.15)
    cpu = figures(cli, tmp_path)
    assert cpu["others"] == pytest.approx(0.15) and cpu["known"] == "exact"


def test_a_child_that_lived_outside_is_none_of_it(cli, tmp_path, recorded):
    add_child(recorded, 0.51, 0.7, 0.15)
    cpu = figures(cli, tmp_path)
    assert (cpu["others"], cpu["known"]) == (0, "exact")


def test_a_child_that_went_on_is_estimated(cli, tmp_path, recorded):
    add_child(recorded, 0.3, 0.7, 0.15)
    cpu = figures(cli, tmp_path)
    assert 0 <= cpu["others"] <= 0.15 and cpu["known"] == "estimated"


def test_children_that_are_not_listed_are_estimated(cli, tmp_path, recorded):
    with sqlite3.connect(recorded) as recording:
        recording.execute("UPDATE data SET descendants_cpu_time = 0.5 * (monotonic - (SELECT min(monotonic) FROM data))")
    add_child(recorded, 0.2, 0.5, 0.15, is_listed=False)
    cpu = figures(cli, tmp_path)
    assert 0 < cpu["others"] <= 0.3 and cpu["known"] == "estimated"


def test_without_the_clock_samples_tell(cli, tmp_path, recorded):
    text = (tmp_path / "a.csv").read_text().splitlines()
    (tmp_path / "a.csv").write_text("\n".join([line.rpartition(",")[0] for line in text] + [""]))
    assert cli("analyze", "--tf=a.sqlite", "--stf=a.csv", "-f", "json", "-o", "a.json").returncode == 0
    block, = json.loads((tmp_path / "a.json").read_text())["code_block_results"]
    assert block["cpu_time"]["total"] is None and block["counters"]["combined_cpu_time"]["total"] > 0.01
    done = cli("compare", "a=a.json", "b=a.json", "--fail-if=block:idle.cpu_time>1us", "-f", "json")
    rule, = json.loads(done.stdout)["rules"]
    assert rule["value"] == block["counters"]["combined_cpu_time"]["total"] and done.returncode == 3
    assert "CPU time (seconds, estimated)" in cli("compare", "a=a.json", "b=a.json", "-f", "markdown").stdout


# A busy block, an idle one behind it and a pause; the samples tell only that all was used between the first of them and the last.
BLOCKS = (("busy", 101, 0.2, 0.5, 0.4), ("idle", 102, 0.5, 0.7, OWN))
UNTOLD = 0.006  # seconds, that no clock tells


def write_blocks(path, pid, start, blocks):
    rows = [f"{number or pid},{name},{position},{start + at!r},{'' if seconds is None else 0.001 + position * seconds}"
            for name, number, begin, end, seconds in blocks for position, at in enumerate((begin, end))]
    path.write_text("\n".join(["process_id,code_block_name,position,timestamp,cpu_time", *rows, ""]))


def change_sqlite(path, seconds, is_listed):
    with sqlite3.connect(path) as recording:
        first, last = recording.execute("SELECT min(timestamp), max(timestamp) FROM data").fetchone()
        recording.execute("DELETE FROM data WHERE timestamp NOT IN (?, ?)", (first, last))
        recording.execute("UPDATE data SET main_cpu_time = 0, descendants_cpu_time = iif(timestamp = ?, ?, 0)", (last, seconds))
        recording.execute("UPDATE final SET value = iif(scope = 'main', 0, ?) WHERE metric = 'cpu_time' AND scope != 'system'", (seconds,))
        recording.execute("DELETE FROM process" if is_listed else "DROP TABLE process")
        return recording.execute("SELECT pid, start FROM static_data").fetchone()


def change_csv(path, seconds):
    names, values, columns, *samples = [line.split(",") for line in path.read_text().splitlines()]
    for scope, value in ("main", 0), ("descendants", seconds), ("combined", seconds):
        values[names.index(f"final_{scope}_cpu_time")] = f"{value!r:24}"
        samples[0][columns.index(f"{scope}_cpu_time")], samples[-1][columns.index(f"{scope}_cpu_time")] = "0", str(value)
    path.write_text("\n".join(",".join(row) for row in (names, values, columns, samples[0], samples[-1])) + "\n")
    return int(values[names.index("pid")]), float(values[names.index("start")])


@pytest.fixture(params=["a.csv", "a.sqlite", "without a list"])
def sampled(request, cli, tmp_path):
    """A recording of which only samples tell what its processes used, and a function that writes blocks of it and analyzes them."""
    name = request.param if request.param == "a.csv" else "a.sqlite"
    assert cli("run", "-q", "--sleep-time", 0.2, f"--tf={name}", "--", "sleep", 0.9).returncode == 0

    def analyze(seconds, blocks):
        path, is_listed = tmp_path / name, request.param == name
        pid, start = change_csv(path, seconds) if name == "a.csv" else change_sqlite(path, seconds, is_listed)
        write_blocks(tmp_path / "blocks.csv", pid, start, blocks)
        assert cli("analyze", f"--tf={name}", "--stf=blocks.csv", "-f", "json", "-o", "a.json").returncode == 0
        return {block["name"]: block for block in json.loads((tmp_path / "a.json").read_text())["code_block_results"]}
    return analyze


def test_what_a_block_is_known_to_have_used_is_none_of_the_next(sampled):
    blocks = sampled(0.4 + OWN + UNTOLD, BLOCKS)
    busy, idle = (blocks[name]["cpu_time"] for name in ("busy", "idle"))
    assert busy["total"] == pytest.approx(0.4, abs=UNTOLD) and idle["total"] == pytest.approx(OWN, abs=UNTOLD)
    assert 0 < busy["others"] < UNTOLD and 0 < idle["others"] < UNTOLD
    for name in ("total", "combined_cpu_time"):
        parts = sum((block["cpu_time"] if name == "total" else block["counters"][name])["total"] for block in blocks.values())
        assert parts <= 0.4 + OWN + UNTOLD + 1e-9


def test_a_block_of_the_main_process_has_what_others_used_in_it(sampled):
    blocks = sampled(0.4 + OWN + UNTOLD, [*BLOCKS, ("outer", None, 0.1, 0.5, 0.0), ("after", None, 0.51, 0.7, 0.0)])
    assert blocks["outer"]["cpu_time"]["others"] == pytest.approx(0.4, abs=UNTOLD)
    assert blocks["after"]["cpu_time"]["total"] == pytest.approx(OWN, abs=UNTOLD)


def test_blocks_at_the_same_time_share_what_no_clock_tells(sampled):
    blocks = sampled(0.9, [("a", 101, 0.2, 0.7, 0.3), ("b", 102, 0.2, 0.7, 0.4)])
    a, b = (blocks[name]["cpu_time"] for name in "ab")
    assert a["others"] == pytest.approx(b["others"]) and 0 < a["others"] < 0.1
    assert a["total"] + b["total"] <= 0.9


def test_a_block_without_a_clock_has_nothing_that_others_are_known_to_have_used(sampled):
    blocks = sampled(0.4 + UNTOLD, [BLOCKS[0], ("idle", 102, 0.5, 0.7, None)])
    assert blocks["idle"]["cpu_time"]["total"] is None
    assert blocks["idle"]["counters"]["combined_cpu_time"]["total"] < UNTOLD
