"""Names from outside hold anything: no command, process, block or file adds a line or moves the cursor, and programs get them exactly."""
import contextlib
import csv
import io
import json
import os
import pickle
import pty
import re
import signal
import sqlite3
import subprocess
import sys

import pytest

QUIET = "--disable-logs"
EVIL = "x\n   Exit status: 99\r\x1b[2J\x07\u009b\u202e|end"
SHOWN = r"x\n   Exit status: 99\r\x1b[2J\x07\u009b\u202e|end"
ACTS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]")


@pytest.fixture(params=["csv", "sqlite"])
def recording(request, cli):
    name = f"{EVIL}.{request.param}"
    done = cli("run", QUIET, "--tf", name, "--", "sh", "-c", "sleep 0.1", EVIL)
    assert done.returncode == 0
    return name


def statuses(text):
    return [line.strip() for line in text.splitlines() if line.strip().startswith("Exit status")]


def test_a_command_adds_no_line(cli):
    done = cli("run", QUIET, "-f", "text", "--", "true", EVIL)
    assert statuses(done.stderr) == ["Exit status: 0"]
    assert f"   Command: true {SHOWN}\n" in done.stderr
    assert not ACTS.search(done.stderr)
    done = cli("run", QUIET, "--", "sh", "-c", "exit 3", EVIL)
    assert done.stderr.startswith("gpu-tracker  sh -c exit 3 ") and "\nexit" not in done.stderr
    assert not ACTS.search(done.stderr)


def test_bytes_that_are_no_text(gpu_tracker, tmp_path):
    done = subprocess.run([gpu_tracker, "run", QUIET, "-o", "-", "--", "true", b"\xff\xc3\xa9\xe2\x82"], cwd=tmp_path,
                          capture_output=True, check=True, timeout=120)
    assert "Command: true \\xffé\\xe2\\x82\n" in done.stdout.decode()
    for name in "json", "csv", "html", "markdown":
        done = subprocess.run([gpu_tracker, "run", QUIET, "-o", "-", "-f", name, "--", "true", b"\xff\xc3\xa9"], cwd=tmp_path,
                              capture_output=True, check=True, timeout=120)
        assert ("\ufffdé" if name in ("json", "csv") else "xffé") in done.stdout.decode()


@pytest.mark.parametrize("name", ["text", "markdown", "html"])
def test_reports_for_people(cli, recording, name):
    text = cli("report", "-f", name, recording, recording).stdout
    assert len(statuses(text)) == (2 if name == "text" else 0)
    assert not ACTS.search(text)
    shown = SHOWN.replace("\\", "\\\\").replace("[", "\\[").replace("|", "\\|") if name == "markdown" else SHOWN
    summary, processes = name == "markdown", recording.endswith(".sqlite")
    assert text.count(shown) == 2 * (2 + summary + processes), "each file, its command, in the summary, in the list of processes"


def test_reports_for_programs(cli, recording):
    report = json.loads(cli("report", "-f", "json", recording).stdout)
    assert report["run"]["command"].endswith(EVIL)
    done = cli("report", "-f", "csv", recording, text=False)
    rows = list(csv.reader(io.StringIO(done.stdout.decode(), newline="")))
    assert [row[1] for row in rows if row[0] == "run.command"] == [report["run"]["command"]]


def test_recordings_are_valid_text(gpu_tracker, tmp_path):
    for name in "a.csv", "a.sqlite":
        subprocess.run([gpu_tracker, "run", QUIET, "--tf", name, "--", "true", b"\xff" + EVIL.encode()], cwd=tmp_path,
                       capture_output=True, check=True, timeout=120)
    with open(tmp_path / "a.csv", newline="", encoding="utf-8") as file:
        assert next(csv.DictReader(file))["command"] == "true \ufffd" + EVIL
    with sqlite3.connect(tmp_path / "a.sqlite") as database:
        assert database.execute("SELECT command FROM static_data").fetchone() == ("true \ufffd" + EVIL,)


def test_complaints_are_one_line(refused, cli, tmp_path):
    line = refused(2, SHOWN, "report", EVIL + ".csv")
    assert not ACTS.search(line)
    assert not ACTS.search(refused(127, SHOWN, "run", "--", EVIL))
    assert not ACTS.search(refused(2, SHOWN, "-o", EVIL + ".png", "-e", "true"))


RENAMES = """
import ctypes, sys, time
ctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0)
time.sleep(20)
"""


def test_processes_that_still_run_are_named_in_one_line(cli):
    name = "a\nExit: 1\x1b[2J"
    done = cli("run", "--st", "0.1", "-o", "out", "--", "sh", "-c",
               '"$0" -c "$1" "$2" >/dev/null 2>&1 & sleep 1; echo $!', sys.executable, RENAMES, name)
    os.kill(int(done.stdout), signal.SIGKILL)
    [line] = [line for line in done.stderr.splitlines() if "still running" in line]
    assert r"(a\nExit: 1\x1b[2J)" in line and not ACTS.search(done.stderr)


def test_blocks_in_analyses_and_comparisons(cli, gpu_tracker, tmp_path):
    inner = [gpu_tracker, "block", EVIL, "--", "sleep", "0.2"]
    assert cli("run", QUIET, "--blocks", "--st=0.05", "--tf=a.sqlite", "--", *inner).returncode == 0
    words = {"analyze": ["--tf=a.sqlite"], "compare": ["-m", "a=a.sqlite", "-m", "b=a.sqlite"]}
    for command, options in words.items():
        for name in "text", "markdown", "html":
            text = cli("sub-track", command, *options, "-f", name).stdout
            assert "Exit status: 99" in text and not ACTS.search(text.replace("\t", " "))
        assert EVIL in json.dumps(json.loads(cli("sub-track", command, *options, "-f", "json").stdout), ensure_ascii=False).replace(
            "\\n", "\n").replace("\\r", "\r").replace("\\u001b", "\x1b").replace("\\u0007", "\x07")


def test_a_pickle_can_be_read(cli, gpu_tracker, tmp_path):
    pytest.importorskip("gpu_tracker")
    subprocess.run([gpu_tracker, "run", QUIET, "--blocks", "--st=0.05", "--tf=a.sqlite", "--", gpu_tracker, "block",
                    b"bad \xff", "--", "sleep", "0.2"], cwd=tmp_path, capture_output=True, check=True, timeout=120)
    assert cli("sub-track", "analyze", "--tf=a.sqlite", "-o", "a.pkl").returncode == 0
    results = pickle.loads((tmp_path / "a.pkl").read_bytes())
    assert results.code_block_results[0].name == "bad \ufffd"


BAD = b"=bad \xff\x1b[2J"


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_blocks_are_valid_text_wherever_they_lie(cli, gpu_tracker, tmp_path, suffix):
    """In the file of a process, in the recording, in a combined file; and recordings keep the name as it is."""
    expected = "=bad \ufffd\x1b[2J"
    (tmp_path / "own").mkdir()
    block = [gpu_tracker, "block", BAD, "--", "sleep", "0.2"]
    subprocess.run(block, cwd=tmp_path, check=True, timeout=120, env={**os.environ, "GPU_TRACKER_BLOCKS": str(tmp_path / "own")})
    run = [gpu_tracker, "run", QUIET, "-o", "out", "--blocks", "--st=0.05", f"--tf=run.{suffix}", "--"]
    subprocess.run([*run, *block], cwd=tmp_path, check=True, timeout=120)
    own = next((tmp_path / "own").iterdir())
    assert cli("sub-track", "combine", f"--stf=all.{suffix}", "-p", own).returncode == 0
    tables = {own: None}
    tables[tmp_path / ("run.blocks.csv" if suffix == "csv" else "run.sqlite")] = "blocks"
    tables[tmp_path / f"all.{suffix}"] = "blocks"
    for path, table in tables.items():
        if path.suffix == ".csv":
            with open(path, newline="", encoding="utf-8") as file:
                names = {row["code_block_name"] for row in csv.DictReader(file)}
        else:
            with sqlite3.connect(path) as database:
                names = {name for name, in database.execute(f"SELECT code_block_name FROM {table}")}
        assert names == {expected}, path
    results = json.loads(cli("sub-track", "analyze", f"--tf=run.{suffix}", "-f", "json").stdout)
    assert [block["name"] for block in results["code_block_results"]] == [expected]


def test_spreadsheets_compute_no_name(cli, gpu_tracker, tmp_path):
    """A cell of a report that begins as a formula is marked as text; numbers are not, and the recording is as it was."""
    assert cli("run", QUIET, "--blocks", "--st=0.05", "--tf=a.csv", "--", gpu_tracker, "block", "@SUM(1)", "--", "sleep",
               "0.2").returncode == 0
    for words in (["sub-track", "analyze", "--tf=a.csv", "--calls"], ["report", "a.csv"],
                  ["sub-track", "compare", "-m", "=1+1=a.csv", "-m", "-b=a.csv"]):
        text = cli(*words, "-f", "csv").stdout
        for row in csv.reader(io.StringIO(text, newline="")):
            for cell in row:
                assert cell[:1] not in "=+-@\t" or not cell or re.fullmatch(r"-[\d.e+-]+", cell), row
    assert "'@SUM(1)" in cli("sub-track", "analyze", "--tf=a.csv", "-f", "csv").stdout
    assert ",@SUM(1)," in (tmp_path / "a.blocks.csv").read_text()


def test_merged_traces_are_valid_text(cli, tmp_path):
    (tmp_path / "t.json").write_bytes(b'[{"ph":"X","name":"\xff","pid":1,"tid":1,"ts":1,"dur":2,"args":{"k\xfe":"v\xfd \xc3\xa9"}}]')
    assert cli("timeline", "merge", "t.json", "-o", "m.json").returncode == 0
    events = json.loads((tmp_path / "m.json").read_bytes().decode())
    [event] = [event for event in events if event["ph"] == "X"]
    assert event["args"]["k\ufffd"] == "v\ufffd \u00e9"


PYTHON = """
import sys
import gpu_tracker
try:
    gpu_tracker.SubTrackingAnalyzer("a.csv", "b.csv").sub_tracking_results()
except ValueError as error:
    print(error)
"""


def test_sentences_of_python_do_nothing_to_a_terminal(cli, tmp_path):
    """Those of the library repeat what stands in a file."""
    pytest.importorskip("gpu_tracker")
    assert cli("run", QUIET, "--tf=a.csv", "--", "true").returncode == 0
    (tmp_path / "b.csv").write_text("process_id,code_block_name,position,timestamp\n1,a,0,la\x1b[2Jte\n")
    done = subprocess.run([sys.executable, "-c", PYTHON], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120)
    assert r'la\x1b[2Jte' in done.stdout and not ACTS.search(done.stdout)


def in_terminal(words, folder):
    """What a terminal gets, without its own carriage returns."""
    master, slave = pty.openpty()
    with subprocess.Popen(words, cwd=folder, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        got = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while piece := os.read(master, 65536):
                got += piece
        os.close(master)
        assert process.wait(60) == 0
    return got.decode().replace("\r\r\n", "\r\n").replace("\r\n", "\n")


def test_csv_in_a_terminal_is_shown_and_elsewhere_exact(cli, gpu_tracker, recording, tmp_path):
    piped = cli("report", recording, "-f", "csv", text=False).stdout.decode()
    assert EVIL in piped
    cli("report", recording, "-f", "csv", "-o", "out.csv")
    assert (tmp_path / "out.csv").read_bytes().decode().replace("\r\n", "\n") == piped.replace("\r\n", "\n")
    seen = in_terminal([gpu_tracker, "report", recording, "-f", "csv"], tmp_path)
    assert not ACTS.search(seen)
    assert re.sub(r"\\r|\\x1b|\\x07|\\u009b|\\u202e", "", seen) == ACTS.sub("", piped)
    for words in (["run", QUIET, "-f", "csv", "--", "true", EVIL], ["schema", "-f", "csv"]):
        assert not ACTS.search(in_terminal([gpu_tracker, *words], tmp_path))
