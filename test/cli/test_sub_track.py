"""sub-track and block: the original's own examples and outputs, and everything that can be wrong with the files."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import time

import pytest

FIXTURE = pathlib.Path(__file__).parent.parent / "fixture" / "sub_track"
HEADER = "process_id,code_block_name,position,timestamp\n"


@pytest.fixture
def files(tmp_path):
    """The fixture's files in the folder that commands run in."""
    for path in FIXTURE.iterdir():
        shutil.copy(path, tmp_path)
    return tmp_path


def assert_contains(ours, theirs, where=""):
    """All that the original says is there, first and in its order, to nine digits."""
    if isinstance(theirs, dict):
        assert list(ours)[: len(theirs)] == list(theirs), where
        for key, value in theirs.items():
            assert_contains(ours[key], value, f"{where}.{key}")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for i, value in enumerate(theirs):
            assert_contains(ours[i], value, f"{where}[{i}]")
    elif isinstance(theirs, (int, float)):
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12), where
    else:
        assert ours == theirs, where


def analyze(cli, *words):
    done = cli("sub-track", "analyze", *words, "-f", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("tracking", ["csv", "sqlite"])
@pytest.mark.parametrize("blocks", ["csv", "sqlite"])
def test_analyze_agrees_with_the_original(cli, files, tracking, blocks):
    results = analyze(cli, f"--tf=tracking-A.{tracking}", f"--stf=blocks-A.{blocks}")
    assert_contains(results, json.loads((files / f"analyze-A.{tracking}.json").read_text()))


def test_the_tracking_file_is_an_operand_of_analyze(cli, files):
    words = "--stf=blocks-A.csv", "-f", "json"
    done = cli("analyze", "tracking-A.csv", *words)
    assert done.returncode == 0 and done.stdout == cli("sub-track", "analyze", "--tf=tracking-A.csv", *words).stdout
    assert cli("sub-track", "analyze", "tracking-A.csv", *words).stdout == done.stdout


def test_analyze_several_files_is_analyze_of_their_combination(cli, files):
    several = analyze(cli, "--tf=tracking-A.csv", "--stf=111.csv", "--stf=222.csv")
    combined = analyze(cli, "--tf=tracking-A.csv", "--stf=blocks-A.csv")
    assert several["code_block_results"] == combined["code_block_results"]


def is_same_line(ours, theirs):
    """The same words and indentation; numbers but for the last digit; further columns may follow."""
    if len(ours) - len(ours.lstrip("\t")) != len(theirs) - len(theirs.lstrip("\t")):
        return False
    def is_same(word, other):
        is_number = other[0].isdigit() and other[-1].isdigit()
        return word == other or (is_number and float(word) == pytest.approx(float(other), abs=2e-8))

    words, others = ours.split(), theirs.split()
    return len(words) >= len(others) and all(is_same(*pair) for pair in zip(words, others))


def test_text_has_the_layout_of_the_original(cli, files):
    ours = cli("sub-track", "analyze", "--tf", "tracking-A.csv", "--stf", "blocks-A.csv").stdout.splitlines()
    theirs = (files / "analyze-A.txt").read_text().splitlines()
    assert ours[1].startswith(theirs[1]) and ours[2].startswith(theirs[2]), "columns are aligned as in the original"
    position = 0
    for line in theirs:
        while position < len(ours) and not is_same_line(ours[position], line):
            position += 1
        assert position < len(ours), line
        position += 1


def test_combine_a_folder(cli, files):
    (files / "parts").mkdir()
    for name in "111.csv", "222.csv":
        shutil.move(files / name, files / "parts")
    assert cli("sub-track", "combine", "--stf=all.csv", "-p", "parts").returncode == 0
    assert (analyze(cli, "--tf=tracking-A.csv", "--stf=all.csv")["code_block_results"] ==
            analyze(cli, "--tf=tracking-A.csv", "--stf=blocks-A.csv")["code_block_results"])


@pytest.mark.parametrize("name", ["it's", "x' OR '1'='1", 'a "quoted", name', "line\nbreak", "日本語 ✓", ":y", "5", ""])
@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_names(cli, files, name, suffix):
    database = sqlite3.connect(files / "names.sqlite")
    database.execute("CREATE TABLE data (process_id, code_block_name, position, timestamp)")
    database.executemany("INSERT INTO data VALUES (1, ?, ?, ?)", [(name, 0, 1700000001.0), (name, 1, 1700000003.0)])
    database.commit()
    database.close()
    if suffix == "csv":
        assert cli("sub-track", "combine", "--stf=names.csv", "-p", "names.sqlite", "-p", "111.csv").returncode == 0
    blocks = analyze(cli, "--tf=tracking-A.csv", f"--stf=names.{suffix}")["code_block_results"]
    block = next(block for block in blocks if block["name"] == name)
    assert block["num_calls"] == 1
    assert block["compute_time"]["total"] == 2.0


def test_calls_shorter_than_the_time_between_samples(cli, gpu_tracker):
    """It begins when the first sample is there."""
    script = f"until [ $(wc -l <brief.csv) -gt 3 ]; do sleep 0.02; done; {gpu_tracker} block brief -- true"
    cli("run", "--no-history", "--blocks", "--sleep-time=5", "--tf=brief.csv", "--", "sh", "-c", script)
    assert "they were 5 s apart, each call is shorter; 'gpu-tracker run --sleep-time 0.5'" in cli("analyze", "brief.csv").stderr


def test_a_block_without_timepoints(cli, files):
    (files / "short.csv").write_text(HEADER + "1,short,0,1700000000.3\n1,short,1,1700000000.31\n")
    done = cli("sub-track", "analyze", "--tf=tracking-A.sqlite", "--stf=short.csv", "-f", "json")
    assert done.returncode == 0
    assert "no timepoint of tracking-A.sqlite lies inside any code block" in done.stderr
    [block] = json.loads(done.stdout)["code_block_results"]
    assert (block["num_calls"], block["num_non_empty_calls"], block["num_timepoints"]) == (1, 0, 0)
    assert block["resource_usage"]["main_ram"]["max"] is None


@pytest.mark.parametrize("later,told", [(3600, "after its end"), (-3600, "before its start")])
def test_blocks_of_another_run(cli, files, later, told):
    (files / "other.csv").write_text(HEADER + f"1,other,0,{1700000000 + later}\n1,other,1,{1700000000.01 + later}\n")
    done = cli("analyze", "tracking-A.sqlite", "--stf=other.csv")
    assert "the code blocks and tracking-A.sqlite do not overlap in time: the nearest is" in done.stderr
    assert f"{told}: are they of one run?" in done.stderr and "lies inside" not in done.stderr and done.returncode == 0


def test_a_block_that_never_ended(cli, files):
    (files / "open.csv").write_text(HEADER + "1,open,0,1700000002.25\n")
    done = cli("sub-track", "analyze", "--tf=tracking-A.csv", "--stf=open.csv", "-f", "json")
    assert "1 call of a code block never ended: it is listed" in done.stderr
    results = json.loads(done.stdout)
    [block] = results["code_block_results"]
    assert (block["num_calls"], block["num_timepoints"], block["compute_time"]["total"]) == (0, 0, 0)
    assert (block["num_unfinished_calls"], block["num_unfinished_timepoints"]) == (1, 20)
    last = max(float(row.split(",")[-1]) for row in (files / "tracking-A.csv").read_text().splitlines()[3:])
    assert block["unfinished_time"] == pytest.approx(last - 1700000002.25, abs=1e-6)
    assert block["compute_time"]["max"] is None and block["resource_usage"]["main_ram"]["max"] is None
    text = cli("sub-track", "analyze", "--tf=tracking-A.csv", "--stf=open.csv").stdout
    assert "Num Unfinished Calls:" in text and re.search(r"Block +Calls .* Never ended +For \(seconds\)\n", text)


def test_a_block_that_runs_now(cli, files):
    """Beside one that has ended, in a recording that was written to a moment ago."""
    rows = (files / "tracking-A.csv").read_text().splitlines()
    shift = time.time() - float(rows[-1].split(",")[-1])
    times = [row.rsplit(",", 1) for row in rows[3:]]
    (files / "live.csv").write_text("\n".join(rows[:3] + [f"{row},{float(at) + shift}" for row, at in times]) + "\n")
    start = float(times[0][1]) + shift
    (files / "open.csv").write_text(HEADER + f"1,ended,0,{start}\n1,ended,1,{start + 1}\n1,open,0,{start + 2}\n")
    text = cli("sub-track", "analyze", "--tf=live.csv", "--stf=open.csv").stdout
    assert re.search(r"Block +Calls .* Running now +For \(seconds\)\n", text) and "Never ended" not in text
    assert re.search(r"\n\s*ended +1 .* 0 +n/a\n", text) and re.search(r"\n\s*open +0 .* 1 +[\d.]+\n", text), text


@pytest.mark.parametrize("tracking", ["csv", "sqlite"])
def test_calls_that_never_ended_are_beside_the_originals_figures(cli, files, tracking):
    """The original, asked with such rows, says what it says without them."""
    rows = (files / "blocks-A.csv").read_text().rstrip("\n")
    (files / "open.csv").write_text(rows + "\n111,load data,0,1700000010.0\n222,train.py:31,0,1700000011.7\n")
    done = cli("sub-track", "analyze", f"--tf=tracking-A.{tracking}", "--stf=open.csv", "--calls", "-f", "json")
    assert done.returncode == 0 and "2 calls of code blocks never ended" in done.stderr
    results = json.loads(done.stdout)
    assert_contains(results, json.loads((files / f"analyze-A.{tracking}.json").read_text()))
    plain = analyze(cli, f"--tf=tracking-A.{tracking}", "--stf=blocks-A.csv")["code_block_results"]
    keys = ("num_unfinished_calls", "unfinished_time", "num_unfinished_timepoints")
    for block, other in zip(results["code_block_results"], plain):
        assert {key: block[key] for key in block if key not in keys} == {key: other[key] for key in block if key not in keys}
        assert (block["num_unfinished_calls"] > 0) == (block["unfinished_time"] > 0) == (block["name"] != "train.py:9")
        assert all(other[key] == 0 for key in keys)
    open_calls = [call for call in results["calls"] if call["unfinished"]]
    assert {(call["name"], call["start"]) for call in open_calls} == {("load data", 1700000010.0), ("train.py:31", 1700000011.7)}
    for call in open_calls:
        [block] = [block for block in results["code_block_results"] if block["name"] == call["name"]]
        assert block["unfinished_time"] == call["compute_time"] and block["num_unfinished_timepoints"] == call["num_timepoints"]
    unfinished = {(row["name"], row["process_id"]): row["num_unfinished_calls"] for row in results["processes"]}
    assert sum(unfinished.values()) == 2 and unfinished["load data", 111] == 1


def test_more_calls_than_the_original_can_take(cli, files):
    rows = "".join(f"1,many,{i % 2},{1700000000 + i / 1000}\n" for i in range(20000))
    (files / "many.csv").write_text(HEADER + rows)
    [block] = analyze(cli, "--tf=tracking-A.sqlite", "--stf=many.csv")["code_block_results"]
    assert block["num_calls"] == 10000


@pytest.mark.parametrize("rows, message", [
    ("1,a,0,5\n1,a,7,6\n", "blocks.csv, line 3: position is neither 0 nor 1"),
    ("1,a,0\n", "blocks.csv, line 2: 3 fields instead of 4"),
    ("1,a,0,late\n", 'blocks.csv, line 2: timestamp "late"'),
])
def test_malformed_rows(cli, files, refused, rows, message):
    (files / "blocks.csv").write_text(HEADER + rows + "1,good,0,1700000001\n1,good,1,1700000002\n")
    refused(2, message, "sub-track", "analyze", "--tf=tracking-A.csv", "--stf=blocks.csv", "-o", "out.json")
    refused(2, message, "sub-track", "combine", "--stf=all.csv", "-p", "blocks.csv")
    done = cli("sub-track", "analyze", "--tf=tracking-A.csv", "--stf=blocks.csv", "--skip-bad-rows", "-f", "json")
    assert done.returncode == 0
    assert message in done.stderr
    results = json.loads(done.stdout)
    assert results["sub_tracking"]["num_bad_rows"] == 1
    assert results["code_block_results"][-1]["name"] == "good"


@pytest.mark.parametrize("status, message, words", [
    (2, "missing.sqlite", ("--tf=missing.sqlite", "--stf=111.csv")),
    (2, "missing.csv", ("--tf=tracking-A.csv", "--stf=missing.csv")),
    (2, "README.md", ("--tf=tracking-A.csv", "--stf=README.md")),
    (2, "has no column process_id", ("--tf=tracking-A.csv", "--stf=tracking-A.csv")),
    (2, "has no column process_id", ("--tf=tracking-A.csv", "--stf=tracking-A.sqlite")),
    (2, "111.csv is given twice", ("--tf=tracking-A.csv", "--stf=111.csv", "--stf=./111.csv")),
    (2, "holds no code blocks", ("--tf=tracking-A.csv",)),
    (2, "--tf FILE is missing", ()),
])
def test_refused(files, refused, status, message, words):
    refused(status, message, "sub-track", "analyze", *words)


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_run_collects_the_blocks_of_its_processes(cli, gpu_tracker, tmp_path, suffix):
    inner = f"'{gpu_tracker}' block nap -- sleep 0.2; '{gpu_tracker}' block \"it's\" -- sh -c 'exit 3'"
    done = cli("run", "--blocks", "--disable-logs", "--st=0.02", f"--tf=run.{suffix}", "--", "sh", "-c", inner)
    assert done.returncode == 3
    expected = ["run.blocks.csv", "run.csv"] if suffix == "csv" else ["run.sqlite"]
    assert sorted(path.name for path in tmp_path.iterdir()) == expected
    results = analyze(cli, f"--tf=run.{suffix}", "--calls")
    assert [block["name"] for block in results["code_block_results"]] == ["it's", "nap"]
    nap = results["code_block_results"][1]
    assert 0.2 <= nap["compute_time"]["total"] < 2
    assert nap["num_timepoints"] >= 1
    assert 0 < nap["cpu_time"]["total"] < 0.2
    assert {call["name"] for call in results["calls"]} == {"it's", "nap"}


def test_blocks_need_a_tracking_file(refused):
    refused(2, "--blocks", "run", "--blocks", "--", "true")


def test_block_without_a_run_only_runs(cli, tmp_path):
    done = cli("block", "alone", "--", "sh", "-c", "exit 7")
    assert done.returncode == 7
    assert "'alone' is not marked" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_blocks_without_cpu_time(gpu_tracker, cli, tmp_path, suffix):
    """What was not read is missing, and neither 0 nor a figure."""
    words = ["--blocks", f"--tf=run.{suffix}", "--", gpu_tracker, "block", "nap", "--", "sleep", "0.1"]
    assert cli("run", "--blocks-cpu", "no", *words).returncode == 0
    block, = json.loads(cli("analyze", f"run.{suffix}", "-f", "json").stdout)["code_block_results"]
    assert block["num_calls"] == 1 and block["compute_time"]["total"] >= 0.1
    assert block["cpu_time"]["num_calls"] == 0
    assert {value for key, value in block["cpu_time"].items() if key != "num_calls"} == {None}
    text = cli("analyze", f"run.{suffix}")
    assert text.returncode == 0 and "nap" in text.stdout
    assert cli("run", "--blocks-cpu", "maybe", *words).returncode == 2


def test_block_passes_signals_on(cli, gpu_tracker, tmp_path):
    folder = tmp_path / "blocks"
    folder.mkdir()
    process = subprocess.Popen([gpu_tracker, "block", "ended", "--", "sleep", "30"],
                               env={**os.environ, "GPU_TRACKER_BLOCKS": str(folder)})
    path = folder / f"{process.pid}.csv"
    while not path.exists() or b",0," not in path.read_bytes():
        time.sleep(0.01)
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == 128 + signal.SIGTERM
    rows = [row for row in path.read_text().splitlines() if row]
    assert [row.split(",")[1:3] for row in rows[1:]] == [["ended", "0"], ["ended", "1"]]


@pytest.fixture
def killed(gpu_tracker, tmp_path):
    """The folder of blocks of a run whose tracker was killed."""
    run = subprocess.Popen([gpu_tracker, "run", "--blocks", "--disable-logs", "--tf=run.csv", "--", gpu_tracker, "block", "b", "--",
                            "sleep", "30"], cwd=tmp_path)
    folder = tmp_path / "run.csv.blocks"
    while not (folder.exists() and [path for path in folder.glob("*.csv") if b",0," in path.read_bytes()]):
        time.sleep(0.01)
    children = subprocess.run(["pgrep", "-P", str(run.pid)], capture_output=True, text=True, check=True).stdout.split()
    run.kill()
    run.wait()
    for child in children:
        with contextlib.suppress(ProcessLookupError): # it has ended with its tracker
            os.kill(int(child), signal.SIGTERM)
    while any(os.path.exists(f"/proc/{child}/exe") for child in children):
        time.sleep(0.01)
    return folder


AGAIN = ("run", "--blocks", "--disable-logs", "--tf=run.csv", "--overwrite", "--", "true")


def test_blocks_of_an_earlier_run_are_kept(cli, refused, killed, tmp_path):
    (tmp_path / "run.csv").unlink()
    refused(125, "holds the code blocks of an earlier run", "run", "--blocks", "--disable-logs", "--tf=run.csv", "--", "true")
    assert cli(*AGAIN).returncode == 0
    assert not killed.exists()


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("name", ["2024.csv", "notes.txt", ".hidden", "1.csv"])
def test_people_s_files_among_blocks_are_kept(cli, refused, killed, name):
    (killed / name).write_text("1,2,3\n")
    before = contents(killed)
    refused(125, f"holds {name}", *AGAIN)
    assert contents(killed) == before and len(before) >= 3
    (killed / name).unlink()
    assert cli(*AGAIN).returncode == 0


def test_a_link_among_blocks_is_kept(refused, killed, tmp_path):
    (tmp_path / "precious").write_text((next(killed.glob("*.csv"))).read_text())
    (killed / "7.csv").symlink_to(tmp_path / "precious")
    refused(125, "holds 7.csv", *AGAIN)
    assert (killed / "7.csv").is_symlink()


@pytest.mark.parametrize("link", [False, True])
def test_a_folder_that_no_run_has_made_is_kept(refused, tmp_path, link):
    folder = tmp_path / ("elsewhere" if link else "run.csv.blocks")
    folder.mkdir()
    (folder / "1.csv").write_text("process_id,code_block_name,position,timestamp,thread_id,call_id,monotonic,cpu_time\r\n")
    (folder / "thesis.tex").write_text("years of work")
    if link:
        (tmp_path / "run.csv.blocks").symlink_to(folder)
    before = contents(folder)
    refused(125, "run.csv.blocks exists and is not a folder", *AGAIN)
    assert contents(folder) == before
    (folder / "thesis.tex").unlink()
    refused(125, "was left unchanged", *AGAIN)


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_combining_follows_no_link(cli, files, suffix):
    """The name of the file while it is made cannot be foreseen, and one that is there is left alone."""
    (files / "victim").write_bytes(b"")
    for pid in range(os.getpid(), os.getpid() + 300):
        (files / f"all.{suffix}.{pid}.part").symlink_to(files / "victim")
    assert cli("sub-track", "combine", f"--stf=all.{suffix}", "-p", "blocks-A.csv").returncode == 0
    assert (files / "victim").stat().st_size == 0
    assert (files / f"all.{suffix}").stat().st_size > 100



def test_ones_own_file_of_blocks_is_kept(cli, tmp_path):
    (tmp_path / "run.blocks.csv").write_text("mine")
    words = ["run", "--blocks", "--disable-logs", "--tf=run.csv", "--", "touch", "started"]
    done = cli(*words)
    assert done.returncode == 125 and "run.blocks.csv already exists" in done.stderr
    assert (tmp_path / "run.blocks.csv").read_text() == "mine" and not (tmp_path / "started").exists()
    assert cli(words[0], "--overwrite", *words[1:]).returncode == 0


DAMAGE = {
    "empty": lambda path: path.write_text(""),
    "garbage": lambda path: path.write_bytes(bytes(range(256)) * 9),
    "another table": lambda path: path.write_text("1,2,3\n"),
    "no database": lambda path: path.with_suffix(".sqlite").write_text("none"),
    "folder": lambda path: path.mkdir(),
    "link": lambda path: path.symlink_to("/etc/passwd"),
    "dangling link": lambda path: path.symlink_to("nowhere"),
    "device": lambda path: path.symlink_to("/dev/zero"),
    "pipe": lambda path: os.mkfifo(path),
    "socket": lambda path: socket.socket(socket.AF_UNIX).bind(str(path)),
}


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
@pytest.mark.parametrize("damage", [pytest.param(each, id=name) for name, each in DAMAGE.items()])
def test_foreign_files_among_blocks_cost_no_other_block(cli, gpu_tracker, tmp_path, monkeypatch, damage, suffix):
    monkeypatch.chdir(tmp_path)
    folder = pathlib.Path(f"run.{suffix}.blocks")
    script = f"{gpu_tracker} block mine -- true; echo >> go; while ! test -e done; do sleep 0.02; done; {gpu_tracker} block late -- true"
    with subprocess.Popen([gpu_tracker, "run", "--blocks", f"--tf=run.{suffix}", "--", "sh", "-c", script],
                          cwd=tmp_path, stderr=subprocess.PIPE, text=True) as run:
        while not pathlib.Path("go").exists():
            time.sleep(0.01)
        damage(folder / "1.csv")
        pathlib.Path("done").touch()
        told = run.communicate(timeout=120)[1]
    assert run.returncode == 0 and ".blocks/1." in told and ": left out" in told, told
    blocks = analyze(cli, f"--tf=run.{suffix}")["code_block_results"]
    assert sorted(block["name"] for block in blocks) == ["late", "mine"]
    assert [path.stem for path in folder.iterdir() if path.name[0] != "."] == ["1"]


def test_foreign_files_are_left_out_before_blocks_are_collected(cli, killed):
    os.mkfifo(killed / "1.csv")
    (killed / "2.csv").write_text("")
    done = cli("sub-track", "analyze", "--tf=run.csv", "-f", "json")
    assert done.returncode == 0 and "1.csv was not written by a process of the run: left out" in done.stderr
    assert "2.csv is empty: left out" in done.stderr
    assert [block["name"] for block in json.loads(done.stdout)["code_block_results"]] == ["b"]


@pytest.mark.parametrize("command", ["analyze", "report"])
def test_memory_does_not_grow_with_samples(cli, track, gpu_tracker, files, command):
    """Of 400,000 samples; each copy of one column would take 3.2 MB."""
    static = (files / "tracking-A.csv").read_text().splitlines()[:2]
    with open(files / "long.csv", "w") as recording:
        recording.write(f"{static[0]},period,start,pid,cpu_energy_source,cpu_energy_refresh\n{static[1]},0.1,1700000000,111,RAPL,0.001\n"
                        "combined_ram,timestamp,monotonic,main_cpu_time,descendants_cpu_time,combined_cpu_time,"
                        "system_cpu_energy,combined_cpu_energy,combined_read_bytes,combined_written_bytes\n")
        for i in range(1, 400001):
            at = i / 10
            recording.write(f"{100 + i % 7},{1700000000 + at},{50 + at},{at * .5},{at * .25},{at * .75},{i * 2},{i},{i * 512},{i * 4096}\n")
    (files / "long.blocks.csv").write_text(HEADER.replace("\n", ",monotonic,cpu_time\n") + "111,all,0,1700000003.5,53.5,1\n"
                                           "111,all,1,1700039000.25,39050.25,19001\n")
    done, measured = track([gpu_tracker, command, "long.csv", "-o", "long.html"])
    assert done.returncode == 0, done.stderr
    assert measured["max_ram"]["main"]["total_rss"] < .04  # gigabytes
    [block] = analyze(cli, "--tf=long.csv")["code_block_results"]
    assert block["num_timepoints"] == 389968 and block["cpu_time"]["process"] == 19000
    assert block["energy"]["cpu"]["energy"] == pytest.approx((19000 + .25 * 38996.75) / .75 * 10, rel=1e-9)
