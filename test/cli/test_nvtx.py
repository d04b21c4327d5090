"""Ranges of NVTX as code blocks: a program that plays NVTX, which nobody has changed."""
import json
import os
import pathlib
import re
import sqlite3
import subprocess

import pytest
from patience import least

BUILD = pathlib.Path(__file__).parents[2] / "build"
LIBRARY = BUILD / "lib" / "gpu-tracker" / "libgputracker-blocks.so"
NVTX = str(BUILD / "test" / "truth" / "nvtx")


@pytest.fixture
def ranges(cli, tmp_path):
    """ranges("calls", "--blocks-names=x"): the completed run, what the program printed, and (begun, ended) by name."""

    def run(scenario, *options, **keywords):
        done = cli("run", "--quiet", "--no-history", "--overwrite", "--st=1", "--tf=run.sqlite",
                   *(options or ["--blocks-from=nvtx"]), "--", NVTX, *scenario.split(), **keywords)
        done.stderr = re.sub("^  !.*\n", "", done.stderr, flags=re.MULTILINE)  # of the machine, of the summary
        with sqlite3.connect(tmp_path / "run.sqlite") as file:
            is_any = file.execute("SELECT 1 FROM sqlite_master WHERE name = 'blocks'").fetchone()
            counted = "SELECT code_block_name, sum(position = 0), sum(position = 1) FROM blocks GROUP BY 1"
            rows = file.execute(counted).fetchall() if is_any else []
        assert not list(tmp_path.glob("*.blocks"))
        return done, done.stdout.split("\n")[:-1], {name: counts for name, *counts in rows}

    return run


@pytest.mark.parametrize("scenario", ["calls", "old"])
def test_ranges_are_blocks(ranges, scenario):
    done, printed, found = ranges(scenario)
    assert done.returncode == 0 and done.stderr == ""
    assert printed == ["1", "0 0", "1", "1", "0", "0", "-1 -1", "1", "1"]
    assert found == {"outer": [1, 1], 'inner, with "quotes"': [1, 1], "LIB:work": [1, 1], "LIB:named once": [2, 2], "wide ä😀": [1, 1],
                     "from anywhere": [1, 1], "aten::add": [1, 1], "never ends": [1, 0]}


def test_hostile_calls(ranges):
    done, _, found = ranges("hostile")
    assert done.returncode == 0 and done.stderr == ""
    assert found["���x"] == [3, 3] and found["�� text"] == [1, 1]
    [cut] = [name for name in found if name.startswith("yyy")]
    assert len(cut) == 1000


@pytest.mark.parametrize("scenario, answer", [("empty", "1"), ("without", "1")])
def test_tables_without_functions(ranges, scenario, answer):
    done, printed, found = ranges(scenario)
    assert done.returncode == 0 and printed == [answer] and not found
    assert "no NVTX range was seen" in done.stderr


def test_threads_and_ends_elsewhere(ranges):
    done, _, found = ranges("threads")
    assert done.returncode == 0 and done.stderr == ""
    assert found == {"a": [7000, 7000], "b": [7000, 7000], "handed over": [1000, 1000]}


def test_processes(ranges, tmp_path):
    assert ranges("forks")[2] == {"parent's": [1, 1], "parent's own": [1, 1], "child's": [1, 1]}
    with sqlite3.connect(tmp_path / "run.sqlite") as file:
        assert file.execute("SELECT count(DISTINCT process_id) FROM blocks").fetchone() == (2,)
    done, printed, found = ranges("exec")
    assert printed == ["1", "1"] or printed == ["1", "1", "1"]
    assert found == {"before": [1, 1], "once": [1, 1]}
    done, _, found = ranges("kill")
    assert done.returncode == 137 and found == {"killed": [1, 0], "inner": [1, 1]}


def test_self_time(ranges, cli):
    def error():
        outer, inner = map(float, ranges("nested")[1][1].split())
        report = json.loads(cli("analyze", "run.sqlite", "-f", "json").stdout)
        block = {block["name"]: block for block in report["code_block_results"]}["outer"]
        return max(abs(block["compute_time"]["total"] - outer), abs(block["self_time"]["total"] - (outer - inner)))

    assert least(error, 0.002) < 0.002


def test_selection(ranges):
    assert set(ranges("calls", "--blocks-from=nvtx", "--blocks-domains=^LIB$")[2]) == {"LIB:work", "LIB:named once"}
    assert set(ranges("calls", "--blocks-from=nvtx", "--blocks-domains=default")[2]) == {
        "outer", 'inner, with "quotes"', "wide ä😀", "from anywhere", "aten::add", "never ends"}
    assert set(ranges("calls", "--blocks-from=nvtx", "--blocks-names=er$|^LIB:w")[2]) == {"outer", "LIB:work"}
    done, _, found = ranges("calls", "--blocks-from=nvtx", "--blocks-names=nothing")
    assert not found and "no NVTX range of those domains and names was seen" in done.stderr


def test_limits(ranges):
    done, _, found = ranges("many 100 10", "--blocks-from=nvtx", "--blocks-most=30")
    assert sum(begun for begun, _ in found.values()) == 30
    assert "70 further ranges of process" in done.stderr and "(--blocks-most)" in done.stderr
    done, _, found = ranges("many 10005 10005", "--blocks-from=nvtx", "--blocks-cpu=no")
    assert len(found) == 10000 and "5 further ranges" in done.stderr and "10,000 names" in done.stderr
    done, printed, found = ranges("deep")
    assert found == {"level": [256, 256]} and printed == ["1", "-1"] and "44 further ranges" in done.stderr


def test_somebody_elses_variable_is_kept(ranges):
    done, printed, found = ranges("calls", env={**os.environ, "NVTX_INJECTION64_PATH": "/nonexistent/tool.so"})
    assert done.returncode == 0 and printed[0] == "-1" and not found
    assert done.stderr.count("NVTX_INJECTION64_PATH is set already") == 1 and "was seen" not in done.stderr


def test_by_hand(tmp_path):
    """Without a run around it; and where nothing can be written the program is as without a tool."""
    environment = {**os.environ, "NVTX_INJECTION64_PATH": str(LIBRARY)}
    for folder, answer in ((tmp_path, "1"), ("/dev/null/x", "0"), ("/proc/self", "0"), (None, "0")):
        if folder:
            environment["GPU_TRACKER_BLOCKS"] = str(folder)
        else:
            del environment["GPU_TRACKER_BLOCKS"]
        done = subprocess.run([NVTX, "twice"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.split("\n")[0] == answer and done.stderr == ""
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".notes"]


def test_defaults(ranges):
    """As a default it is for runs that keep a recording; a run inside of one begins no other."""
    environment = {**os.environ, "GPU_TRACKER_BLOCKS_FROM": "nvtx"}
    done, _, found = ranges("calls", "--st=1", env=environment)
    assert done.returncode == 0 and "outer" in found


def test_default_without_recording(cli):
    done = cli("run", "--quiet", "--no-history", "--", NVTX, "calls", env={**os.environ, "GPU_TRACKER_BLOCKS_FROM": "nvtx"})
    assert done.returncode == 0 and done.stdout.startswith("-1\n") and "block" not in done.stderr


@pytest.mark.parametrize("words, what", [
    (["--blocks-from=nvtx,vtune"], "'vtune' is not a source of code blocks; choose from nvtx, "),
    (["--blocks-from="], "''"),
    (["--blocks-from=nvtx itt"], "'nvtx itt': names of sources are parted by commas"),
    (["--blocks-from=nvtx", "--blocks-names=a("], "--blocks-names: 'a('"),
    (["--blocks-from=nvtx", "--blocks-domains=["], "--blocks-domains: '['"),
    (["--blocks-from=nvtx", "--blocks-most=0"], "--blocks-most"),
    (["--blocks-from=nvtx", "--blocks-most=many"], "'many'"),
])
def test_bad_words(refused, words, what):
    refused(2, what, "run", "--tf=run.sqlite", *words, "--", "touch", "started")


def test_needs_a_recording(refused):
    refused(2, "--blocks-from: the blocks are kept with a tracking file", "run", "--blocks-from=nvtx", "--", "touch", "started")


def test_library_missing(gpu_tracker, tmp_path):
    alone = tmp_path / "gpu-tracker"
    alone.write_bytes(open(gpu_tracker, "rb").read())
    alone.chmod(0o755)
    done = subprocess.run([alone, "run", "--tf=run.sqlite", "--blocks-from=nvtx", "--", "touch", "started"], cwd=tmp_path,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 125 and done.stderr.count("\n") == 1 and "lib/gpu-tracker/libgputracker-blocks.so" in done.stderr
    assert "a program that was copied alone does without" in done.stderr
    rows = json.loads(subprocess.run([alone, "doctor", "-f", "json"], capture_output=True, text=True, check=True).stdout)["sources"]
    assert [row["state"] for row in rows if row["source"] == "blocks: nvtx"] == ["absent"]
    assert [path.name for path in tmp_path.iterdir()] == ["gpu-tracker"]


def test_nothing_but_entry_points():
    """What the library offers and needs: it is a guest."""
    table = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
    alone = {"InitializeInjectionNvtx2", "__itt_api_init"}
    for name in (line.split()[-1] for line in table.splitlines()):
        assert name.startswith(("MPI_", "mpi_", "kokkosp_", "roctxRange", "gt_hook_")) or name in alone, name
    needed = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True, check=True).stdout
    libraries = {line.split("[")[1].rstrip("]") for line in needed.splitlines() if "(NEEDED)" in line}
    assert all(name.startswith(("libc.so", "ld-linux", "libpthread.so", "libdl.so")) for name in libraries)
    assert LIBRARY.stat().st_size < 150_000


def test_doctor(cli):
    def row(**keywords):
        sources = json.loads(cli("doctor", "-f", "json", **keywords).stdout)["sources"]
        return next(row for row in sources if row["source"] == "blocks: nvtx")

    assert (row()["state"], row()["interface"]) == ("ready", "NVTX_INJECTION64_PATH")
    taken = row(env={**os.environ, "NVTX_INJECTION64_PATH": "/opt/other.so"})
    assert taken["state"] == "absent" and "NVTX_INJECTION64_PATH is set already" in taken["reason"]


def test_killed_at_any_moment(ranges):
    """A range that had begun is there, and every row whole."""
    for moment in range(0, 100, 5 if os.environ.get("TEST_LONG") else 14):
        done, _, found = ranges(f"die {moment}")
        assert done.returncode == 137 and found.get("loop", [0, 0]) in ([moment, moment], [moment + 1, moment]), (moment, found)


def test_full_disk(tmp_path):
    """A limit of the size of files stands for it: the program goes on as if there were no tool."""
    words = ["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", NVTX, "many", "2000", "5"]
    done = subprocess.run(words, capture_output=True, text=True, check=False,
                          env={**os.environ, "NVTX_INJECTION64_PATH": str(LIBRARY), "GPU_TRACKER_BLOCKS": str(tmp_path)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    [rows] = tmp_path.glob("*.csv")
    assert 0 < rows.stat().st_size <= 8 * 1024 and rows.read_bytes().endswith(b"\r\n")
