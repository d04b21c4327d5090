"""The list of runs: what run keeps, gpu-tracker runs, and names like @1."""
import csv
import fcntl
import io
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def at_home(monkeypatch, tmp_path):
    """Not in CI, and with a list of its own."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "gpu-tracker" / "runs.sqlite"


@pytest.fixture
def runs(cli):
    return lambda *words: json.loads(cli("runs", "-f", "json", *words).stdout)["runs"]


def test_a_run_is_kept(cli, runs, path, tmp_path):
    assert cli("run", "--tf", "a.sqlite", "--", "sh", "-c", "exit 3").returncode == 3
    [run] = runs()
    assert (run["run"], run["command"], run["exit_status"]) == (1, "sh -c exit 3", 3)
    assert run["folder"] == str(tmp_path) and run["recording"] == str(tmp_path / "a.sqlite")
    assert run["ram_peak"] > 1e5 and run["elapsed"] > 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("words, environment", [
    (["--no-history"], {}), ([], {"GPU_TRACKER_HISTORY": "false"}), ([], {"CI": "true"}),
    (["--no-history", "--history"], {}), (["--history=false"], {})])
def test_it_can_be_switched_off(cli, path, words, environment):
    assert cli("run", *words, "--", "true", env={**os.environ, **environment}).returncode == 0
    assert not path.exists()


def test_a_configuration_switches_it_off(cli, path, tmp_path):
    (tmp_path / "config.json").write_text('{"history": false}')
    assert cli("run", "--tconfig", "config.json", "--", "true").returncode == 0
    assert not path.exists()
    assert cli("run", "--tconfig", "config.json", "--history", "--", "true").returncode == 0
    assert path.exists()


def test_in_ci_it_is_kept_on_demand(cli, path):
    assert cli("run", "--history", "--", "true", env={**os.environ, "CI": "1"}).returncode == 0
    assert path.exists()


def test_only_run_keeps(cli, path, tmp_path):
    assert cli("-e", "true").returncode == 0
    job = subprocess.Popen(["sleep", "0.2"])
    assert cli("attach", str(job.pid)).returncode == 0
    job.wait()
    script = "import gpu_tracker\nwith gpu_tracker.Tracker(disable_logs=True): pass"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path, capture_output=True, timeout=120)
    assert not path.exists()


def test_secrets_are_not_kept(cli, path):
    cli("run", "--", "true", "--token=hunter2", "--password", "hunter2", "https://me:hunter2@host/")
    assert b"hunter2" not in path.read_bytes() and b"--token=***" in path.read_bytes()


def test_names_of_recordings(cli, tmp_path):
    cli("run", "--tf", "a.csv", "--", "true")
    cli("run", "--", "true")
    cli("run", "--tf", "b.sqlite", "--", "sh", "-c", "exit 4")
    assert json.loads(cli("report", "-f", "json", "@1").stdout)["run"]["exit_status"] == 4
    assert json.loads(cli("report", "-f", "json", "@3").stdout)["run"]["exit_status"] == 0
    done = cli("report", "@2")
    assert done.returncode == 2 and "kept no recording" in done.stderr and len(done.stderr.splitlines()) == 1
    done = cli("report", "@4")
    assert done.returncode == 2 and "unknown run @4" in done.stderr
    assert cli("sub-track", "compare", "-m", "a=@1", "-m", "b=@3").returncode == 0
    (tmp_path / "b.sqlite").unlink()
    done = cli("report", "@1")
    assert done.returncode == 2 and "b.sqlite: No such file" in done.stderr


def test_words_choose(cli, runs):
    for word in "one", "two", "three":
        cli("run", "--", "true", word)
    assert [run["command"] for run in runs()] == ["true three", "true two", "true one"]
    assert [run["run"] for run in runs("TW")] == [2]
    assert [run["run"] for run in runs("--top", "1")] == [1]
    assert runs("true", "nothing") == []
    assert cli("runs", "nothing").stdout == "Runs: none is listed\n"
    rows = csv.DictReader(io.StringIO(cli("runs", "-f", "csv").stdout))
    assert [row["command"] for row in rows] == ["true three", "true two", "true one"]


@pytest.mark.parametrize("width, titles", [
    (100, "Run Began Exit Time Memory Cores Kept Command"), (60, "Run Began Exit Time Memory Command"), (40, "Run Began Command"),
    (24, "Run Command")])
def test_the_table_fits_a_terminal(gpu_tracker, cli, tmp_path, width, titles):
    cli("run", "--", "true", "a name\n\x1b[31m\u202e", *["words"] * 100)
    script = f"stty cols {width}; NO_COLOR=1 {gpu_tracker} runs"
    text = subprocess.run(["script", "-qec", script, "/dev/null"], capture_output=True, text=True, check=True, cwd=tmp_path,
                          timeout=60).stdout
    lines = text.splitlines()
    assert max(map(len, lines)) <= width and "\x1b" not in text
    assert [word for word in lines[1].split() if word != "Energy"] == titles.split()
    command = "".join(line[lines[1].index("Command"):] for line in lines[2:])
    assert "aname\\n\\x1b[31m\\u202e" in "".join(command.split())
    assert ("today" in text) == (width > 24)


def test_only_so_many_are_kept(cli, runs, path):
    cli("run", "--", "true", "first")
    with sqlite3.connect(path) as database:
        database.execute("UPDATE runs SET number = 10000")
        database.execute("UPDATE sqlite_sequence SET seq = 10000")
        database.execute("INSERT INTO runs (number, command) VALUES (1, 'old')")
    cli("run", "--", "true", "second")
    assert [(run["run"], run["command"]) for run in runs()] == [(1, "true second"), (2, "true first")]


def told(done):
    return [line for line in done.stderr.splitlines() if "list of runs" in line]


def test_a_file_that_cannot_be_used_is_no_failure(cli, path, tmp_path):
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database" * 1000)
    done = cli("run", "--", "sh", "-c", "exit 5")
    assert done.returncode == 5 and len(told(done)) == 1 and "runs.sqlite" in told(done)[0]
    assert path.read_bytes() == b"no database" * 1000
    assert not told(cli("run", "--disable-logs", "--", "true"))
    path.unlink()
    (tmp_path / "other").write_text("")
    path.symlink_to(tmp_path / "other")
    done = cli("run", "--", "true")
    assert done.returncode == 0 and len(told(done)) == 1 and (tmp_path / "other").read_text() == ""


def test_a_locked_file_does_not_hold_the_run_up(cli, path):
    cli("run", "--", "true")
    with sqlite3.connect(path, isolation_level=None) as database:
        database.execute("BEGIN EXCLUSIVE")
        done = cli("run", "--", "true")
        assert done.returncode == 0 and len(told(done)) == 1 and "locked" in told(done)[0]
        database.execute("ROLLBACK")


@pytest.mark.parametrize("state", ["/dev/null/x", "/proc/x", "/nonexistent"])
def test_no_place_for_the_list_is_quiet(cli, state):
    if state == "/nonexistent" and os.geteuid() == 0:
        pytest.skip("root may make it")
    done = cli("run", "--", "true", env={**os.environ, "XDG_STATE_HOME": state})
    assert done.returncode == 0 and not told(done)
    done = cli("run", "--history", "--", "true", env={**os.environ, "XDG_STATE_HOME": state})
    assert done.returncode == 0 and len(told(done)) == 1


def test_a_home_that_is_not_there_is_not_made(cli, tmp_path):
    environment = {**os.environ, "HOME": str(tmp_path / "nobody"), "XDG_STATE_HOME": ""}
    done = cli("run", "--", "true", env=environment)
    assert done.returncode == 0 and not told(done) and not (tmp_path / "nobody").exists()
    done = cli("runs", env=environment)
    assert done.returncode == 125 and "nobody: No such file" in done.stderr


def test_a_full_disk(gpu_tracker, tmp_path):
    mount = "mount -t tmpfs -o size=4k none full && dd if=/dev/zero of=full/x bs=4k count=1 2>/dev/null; "
    (tmp_path / "full").mkdir()
    apart = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    if subprocess.run([*apart, mount], check=False, capture_output=True, cwd=tmp_path).returncode:
        pytest.skip("this user may not make a namespace")
    done = subprocess.run([*apart, f"{mount} XDG_STATE_HOME=$PWD/full/state {gpu_tracker} run --history -- sh -c 'exit 6'"], check=False,
                          capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 6 and len(told(done)) == 1, done.stderr


def test_what_has_changed_is_said(cli, path):
    for _ in range(3):
        assert "against" not in cli("run", "--", "sleep", "0.1").stderr
    with sqlite3.connect(path) as database:
        database.execute("UPDATE runs SET elapsed = 100 + number, ram_peak = 1e9")
    done = cli("run", "--", "sleep", "0.1")
    [line] = [line for line in done.stderr.splitlines() if "against" in line]
    assert line.split() == "change peak memory -100 %, time -100 % against your last 3 runs".split()
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM runs WHERE number > 3")
    done = cli("run", "-o", "report.json", "--", "sleep", "0.1")
    assert [line for line in done.stderr.splitlines() if "against" in line] == [f"gpu-tracker: {' '.join(line.split()[1:])}"]
    assert "against" not in cli("run", "--", "sleep", "0.11").stderr


def test_many_at_once(gpu_tracker, runs, tmp_path):
    lock = open(tmp_path / "lock", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    jobs = [subprocess.Popen([gpu_tracker, "run", "--disable-logs", "--", "flock", "-s", "lock", "true"], cwd=tmp_path,
                             stderr=subprocess.DEVNULL) for _ in range(8)]
    lock.close()
    assert [job.wait() for job in jobs] == [0] * 8
    assert len(runs("--all")) == 8


def test_a_name_never_shows_another_run(cli, runs, tmp_path):
    cli("run", "--tf", "same.sqlite", "--", "sh", "-c", "exit 4")
    cli("run", "--tf", "a.csv", "--", "true")
    assert [bool(run["recording"]) for run in runs()] == [True, True]
    cli("run", "--overwrite", "--tf", "same.sqlite", "--", "true")
    assert [bool(run["recording"]) for run in runs()] == [True, True, False]
    assert json.loads(cli("report", "-f", "json", "@1").stdout)["run"]["exit_status"] == 0
    done = cli("report", "@3")
    assert done.returncode == 2 and done.stdout == "" and "same.sqlite holds another run now" in done.stderr
    (tmp_path / "same.sqlite").unlink()
    assert [bool(run["recording"]) for run in runs()] == [False, True, False]


def race_for(name, gpu_tracker, tmp_path):
    """What two runs that begin at once with one name of a file say, once both commands have run."""
    for number in range(20):
        command = [gpu_tracker, "run", f"--tf={number}-{name}", "--", "sleep", "0.3"]
        jobs = [subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) for _ in range(2)]
        said = [job.communicate(timeout=60)[1] for job in jobs]
        if not any(job.returncode for job in jobs):
            return f"{number}-{name}", said
    return pytest.skip("they never began at the same moment")


def test_a_recording_that_could_not_be_made_is_not_kept(gpu_tracker, cli, runs, tmp_path):
    name, said = race_for("tw.sqlite", gpu_tracker, tmp_path)
    [loser] = [text for text in said if "another run has made it" in text or "already exists" in text]
    assert len([line for line in loser.splitlines() if line.startswith("gpu-tracker: ")]) == 1, loser
    assert f"report {name}" not in loser and "with -o run.html" in loser
    assert sorted(bool(run["recording"]) for run in runs("--top", "2")) == [False, True]


@pytest.mark.parametrize("words", [
    ["report", "@999"], ["analyze", "@999"], ["analyze", "--tf", "@999"], ["compare", "@999", "@1"],
    ["sub-track", "compare", "-m", "a=@999"],
    ["top", "--once", "@999"], ["plot", "@999", "-o", "x.svg"], ["profile", "job", "@999"], ["timeline", "info", "@999"],
    ["report", "@0"]])
def test_a_number_that_is_not_there_ends_every_command_alike(cli, words):
    cli("run", "--", "true")
    done = cli(*words)
    number = next(word for word in words if "@" in word).split("=")[-1]
    assert (done.returncode, done.stderr) == (2, f"gpu-tracker: unknown run {number}: gpu-tracker runs lists all\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_a_list_that_may_not_be_written_is_told(gpu_tracker, request):
    home = Path(tempfile.mkdtemp())
    request.addfinalizer(lambda: shutil.rmtree(home))
    path = home / "gpu-tracker" / "runs.sqlite"
    path.parent.mkdir()
    path.touch(0o400)
    for each in home, path.parent, path:
        os.chown(each, 1000, 1000)
    done = subprocess.run(["setpriv", "--reuid", "1000", "--clear-groups", gpu_tracker, "run", "--", "true"], capture_output=True,
                          text=True, check=True, cwd="/", env={**os.environ, "XDG_STATE_HOME": str(home)})
    assert done.stderr.count(f"the list of runs does not have this one: {path} may not be written (chmod u+w, or --no-history)") == 1


def test_the_name_of_a_run_is_no_word(refused):
    refused(2, "gpu-tracker report @1 prints it", "runs", "@1")
