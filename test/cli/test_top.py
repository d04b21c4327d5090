"""top: pictures of jobs that run and that have ended, and the list of those that run."""
import csv
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from patience import wait_until

JOB = "sleep 0.6 & sleep 0.8; wait"


@pytest.fixture(autouse=True)
def runtime(monkeypatch, tmp_path):
    folder = tmp_path / "runtime"
    folder.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    return folder / "gpu-tracker"


@pytest.fixture
def top(cli):
    """top("a.sqlite", columns=60): the lines of one picture."""
    def run(*words, columns=80):
        done = cli("top", "--once", *words, env={**os.environ, "COLUMNS": str(columns)})
        assert (done.returncode, done.stderr) == (0, ""), done
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", done.stdout), "no control characters"
        lines = done.stdout.splitlines()
        assert max(map(len, lines)) <= columns
        return lines

    return run


@pytest.fixture(params=["sqlite", "csv"])
def ended(request, cli):
    path = f"a.{request.param}"
    assert cli("run", "--disable-logs", "--detail", "--st=0.1", "--tf", path, "--", "sh", "-c", JOB).returncode == 0
    return path


@pytest.mark.parametrize("columns", [20, 40, 80, 120, 200])
def test_a_job_that_has_ended(top, ended, columns):
    lines = top(ended, columns=columns)
    assert lines[0].startswith(" sh") and lines[0].endswith(" exit 0")
    assert [line.split()[0] for line in lines[1:3]] == ["mem", "cpu"]
    if columns >= 40:
        assert re.search(r" of [\d.]+ [GT]B", lines[1])
    if columns == 40:
        assert any("pid process (3) " in line for line in lines)
    if columns >= 60:
        assert any("process (3 in all)" in line for line in lines)
        assert len([line for line in lines if "├ s" in line or "└ s" in line]) == 2


def test_walking_in_time(top, ended):
    lines = top(ended, "--seek", "0.3")
    assert re.search(r"  at 0:00 of 0:0\d$", lines[0])
    assert any("process (3)" in line for line in lines)
    assert top(ended, "--seek", "1000") == top(ended)
    assert top(ended, "--seek", "0.001")[0].endswith("at 0:00 of 0:00") or "of 0:0" in top(ended, "--seek", "0.001")[0]


@pytest.mark.parametrize("seconds", [1, 2, 3])
def test_the_nearest_sample_is_shown(top, tmp_path, seconds):
    """Samples come a little late: that at 3.002 s is the one of 3 s."""
    rows = [f"{1700000000 + i * 1.001},{i / 1000}" for i in range(5)]
    facts = {"ram_unit": "gigabytes", "gpu_ram_unit": "gigabytes", "time_unit": "hours", "ram_system_capacity": "8.0",
             "gpu_ram_system_capacity": "0.0", "system_core_count": "4", "n_expected_cores": "4", "system_gpu_count": "0",
             "n_expected_gpus": "0"}
    lines = [",".join(facts), ",".join(facts.values()), "timestamp,combined_ram", *rows]
    (tmp_path / "n.csv").write_text("\n".join(lines) + "\n")
    lines = top("n.csv", "--seek", str(seconds))
    assert f"  at 0:0{seconds} of 0:04" in lines[0] and re.match(rf" mem  {seconds}\.00 MB ", lines[1]), lines[:2]


def test_a_recording_without_samples(top, cli, tmp_path):
    cli("run", "--disable-logs", "--detail", "--tf", "b.sqlite", "--", "true")
    with sqlite3.connect(tmp_path / "b.sqlite") as database:
        database.execute("DELETE FROM data")
    text = "\n".join(top("b.sqlite"))
    assert " mem  n/a " in text and " cpu  n/a " in text and not re.search(r"\b0 (B|W|%)", text)


@pytest.mark.skipif(os.geteuid() != 0, reason="nothing tells of processes between two samples")
def test_processes_of_an_ended_job_add_up(top, cli):
    """Short ones by the CPU time they took: shares of their own short lives would add up to nonsense."""
    cli("run", "--disable-logs", "--detail", "--st=0.1", "--tf", "m.sqlite", "--",
        "sh", "-c", "for i in $(seq 80); do sed p /dev/null; done")
    whole = re.search(r"(\d+) more +([\d.]+) (m?s)$", "\n".join(top("m.sqlite")), re.MULTILINE)
    seconds = json.loads(cli("report", "-f", "json", "m.sqlite").stdout)["cpu_time"]["combined"]
    assert int(whole[1]) > 20 and 0 < float(whole[2]) / (1000 if whole[3] == "ms" else 1) <= seconds * 1.02 + 0.001


@pytest.mark.parametrize("name", ["b.csv", "b.sqlite"])
def test_a_recording_without_details(top, cli, name):
    """SQLite lists the processes all the same, with what they used in all, once the job has ended."""
    cli("run", "--disable-logs", "--st=0.1", "--tf", name, "--", "sleep", "0.4")
    for words in [name], [name, "--seek", "0.2"]:
        lines = top(*words)
        if words == ["b.sqlite"]:
            assert any("process (1 in all)" in line for line in lines)
        else:
            assert not any("process (" in line for line in lines) and lines[-1].endswith("run --detail")


def test_what_the_job_was_given(top, gpu_tracker, tmp_path):
    given = {"SLURM_JOB_ID": "7", "SLURM_MEM_PER_NODE": "4096", "SLURM_JOB_END_TIME": str(int(time.time()) + 3600)}
    line = [gpu_tracker, "run", "--disable-logs", "--st=0.1", "--tf", "s.sqlite", "--", "sleep", "300"]
    job = subprocess.Popen(line, cwd=tmp_path, env={**os.environ, **given}, stderr=subprocess.DEVNULL)
    wait_until(lambda: (tmp_path / "s.sqlite").exists())
    once = [gpu_tracker, "top", "--once", "s.sqlite"]
    wait_until(lambda: b" left" in subprocess.run(once, cwd=tmp_path, capture_output=True, check=False).stdout)
    lines = top("s.sqlite")
    job.terminate()
    job.wait()
    assert re.search(r"0:\d\d of (59:5\d|1:00:00)  59:[45]\d left$", lines[0]) and " of 4.29 GB" in lines[1]


def test_an_original_recording(top, tmp_path):
    """gpu_tracker's own columns alone."""
    cells = {"timestamp": ["1700000000.0", "1700000001.0"], "combined_ram": ["0.5", "0.7"],
             "cpu_combined_sum_utilization_percent": ["100.0", "150.0"]}
    facts = {"ram_unit": "gigabytes", "gpu_ram_unit": "gigabytes", "time_unit": "hours", "ram_system_capacity": "8.0",
             "gpu_ram_system_capacity": "0.0", "system_core_count": "4", "n_expected_cores": "4", "system_gpu_count": "0",
             "n_expected_gpus": "0"}
    with open(tmp_path / "o.csv", "w") as file:
        writer = csv.writer(file)
        writer.writerows([facts.keys(), facts.values(), cells.keys(), *zip(*cells.values())])
    lines = top("o.csv")
    assert re.match(r" mem  700 MB .* of 8.00 GB +peak 700 MB", lines[1]) and re.match(r" cpu  1.50 .*of 4 cores", lines[2])


def test_against_an_earlier_run(top, cli, ended):
    cli("run", "--disable-logs", "--tf", "b.sqlite", "--", "sleep", "0.3")
    lines = top("b.sqlite", "--against", ended)
    assert [line.split()[0] for line in lines[1:5]] == ["mem", "was", "cpu", "was"]
    assert re.search(r"peak [\d.]+ [kM]B by now; [\d.]+ m?s in all", lines[2])


def test_ascii(cli, ended):
    words = ["top", "--once", ended]
    for given, environment in (["--ascii"], {}), ([], {"LC_ALL": "C"}), ([], {"LC_ALL": "", "LC_CTYPE": "POSIX"}):
        done = cli(*words, *given, env={**os.environ, **environment})
        assert done.returncode == 0 and done.stdout.isascii() and "@" in done.stdout


@pytest.mark.parametrize("environment, is_ascii", [
    ({}, False), ({"LC_ALL": "no_WHERE.utf8"}, False), ({"LC_ALL": "C", "LANG": "C.UTF-8"}, True), ({"LANG": "de_DE"}, True)])
def test_every_format_has_the_same_characters(cli, tmp_path, environment, is_ascii):
    cli("run", "--disable-logs", "--detail", "--wait=all", "--st=0.05", "--tf=a.sqlite", "--", "sh", "-c", JOB)
    environment = {**{name: value for name, value in os.environ.items() if name != "LANG" and not name.startswith("LC_")}, **environment}
    for words in (["top", "--once"], ["report", "-f", "text"], ["report", "-f", "summary"]):
        done = cli(*words, "a.sqlite", env=environment)
        assert done.returncode == 0 and done.stdout.isascii() == is_ascii, (words, done)


def test_hostile_names(top, cli):
    words = ["sh", "-c", "sleep 0.3; :", "a\nforged line\x1b[31m\u202e", "\u6f22" * 50]
    cli("run", "--disable-logs", "--detail", "--st=0.05", "--tf", "h.sqlite", "--", *words)
    for columns in 40, 80, 200:
        lines = top("h.sqlite", columns=columns)
        assert not any(line.startswith("forged") for line in lines)
    assert "a\\nforged line\\x1b[31m\\u202e" in lines[0]


@pytest.mark.parametrize("words, naming", [
    (["nothing.sqlite"], "nothing.sqlite: No such file"), (["a.txt"], "a.txt"), (["--seek", "x", "a.sqlite"], "--seek"),
    (["a.sqlite", "b.sqlite"], "b.sqlite"), (["999999999"], "999999999")])
def test_what_cannot_be_shown(cli, words, naming):
    done = cli("top", *words)
    assert done.returncode in (2, 125) and done.stdout == ""
    assert naming in done.stderr and len(done.stderr.splitlines()) == 1


# ---- Running jobs -------------------------------------------------------------------------------------------------

@pytest.fixture
def running(gpu_tracker, tmp_path):
    """running("a.sqlite"): a tracked job that runs until the test ends."""
    jobs = []

    def start(path, *options):
        line = [gpu_tracker, "run", "--disable-logs", "--detail", "--st=0.1", "--tf", path, *options, "--", "sh", "-c", "sleep 300; :"]
        jobs.append(subprocess.Popen(line, cwd=tmp_path, stderr=subprocess.DEVNULL))
        wait_until(lambda: subprocess.run([gpu_tracker, "report", path], cwd=tmp_path, capture_output=True, check=False).returncode == 0)
        return jobs[-1]

    yield start
    for job in jobs:
        job.terminate()
        job.wait()


def test_the_job_that_runs(top, cli, running, runtime):
    done = cli("top")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "start one with gpu-tracker run --tracking-file FILE -- COMMAND" in done.stderr
    job = running("a.sqlite")
    assert os.readlink(runtime / str(job.pid)).endswith("/a.sqlite") and runtime.stat().st_mode & 0o777 == 0o700
    wait_until(lambda: any("process (2)" in line for line in top()))
    assert top()[0].endswith(" running")
    main = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()[0]
    assert "running" in top(str(job.pid))[0] and "running" in top(main)[0]
    job.terminate()
    job.wait()
    assert not runtime.exists()
    assert top("a.sqlite")[0].endswith(" exit 143 (SIGTERM)")


def test_a_job_that_has_just_begun(top, gpu_tracker, tmp_path, runtime):
    line = [gpu_tracker, "run", "--disable-logs", "--tf", "a.sqlite", "--", "sleep", "300"]
    job = subprocess.Popen(line, cwd=tmp_path, stderr=subprocess.DEVNULL)
    wait_until(lambda: (runtime / str(job.pid)).is_symlink())
    assert re.search("running$|no sample yet$", top()[0])
    job.terminate()
    job.wait()


def test_several_jobs(cli, running):
    pids = {str(running(path).pid) for path in ("a.sqlite", "b.sqlite")}
    for columns in 20, 40, 80, 200:
        done = cli("top", env={**os.environ, "COLUMNS": str(columns)})
        titles, *lines = done.stdout.splitlines()
        assert done.returncode == 0 and {line.split()[0] for line in lines} == pids
        assert "2 jobs run" in done.stderr and max(map(len, [titles, *lines])) <= columns
    assert titles.split() == ["job", "command", "time", "memory", "peak", "cpu", "gpu", "state"]
    size = r"[\d.]+ [kM]B"
    assert all(re.search(rf" sh -c sleep 300; : +0:\d\d +{size} +{size} [^a-z]*running$", line) for line in lines), lines


def test_a_killed_tracker(top, cli, running, runtime):
    job = running("a.sqlite")
    wait_until(lambda: "running" in top("a.sqlite")[0])
    child = int(pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()[0])
    job.kill()
    job.wait()
    os.kill(child, signal.SIGKILL)
    assert (runtime / str(job.pid)).is_symlink()
    assert cli("top").returncode == 2 and not (runtime / str(job.pid)).is_symlink()
    wait_until(lambda: "no news for" in top("a.sqlite")[0])


def test_what_the_tracker_does_is_not_held_up(top, running, tmp_path):
    """A viewer opens the file for a moment only: the finished recording is one file."""
    job = running("a.sqlite")
    while not (tmp_path / "a.sqlite").stat().st_size:
        time.sleep(0.05)
    for _ in range(5):
        top("a.sqlite")
    job.terminate()
    job.wait()
    assert sorted(path.name for path in tmp_path.glob("a.sqlite*")) == ["a.sqlite"]


def test_a_folder_of_somebody_else_is_not_used(cli, running, runtime, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    runtime.symlink_to(tmp_path / "elsewhere")
    running("a.sqlite")
    assert not list((tmp_path / "elsewhere").iterdir()) and cli("top").returncode == 2


def test_blocks_while_they_run(top, gpu_tracker, tmp_path):
    script = f"{gpu_tracker} block outer -- sh -c '{gpu_tracker} block inner -- sleep 0.1; {gpu_tracker} block inner -- sleep 300'"
    job = subprocess.Popen([gpu_tracker, "run", "--disable-logs", "--blocks", "--st=0.1", "--tf", "a.sqlite", "--", "sh", "-c", script],
                           cwd=tmp_path, stderr=subprocess.DEVNULL)
    wait_until(lambda: (tmp_path / "a.sqlite").exists() and any(re.match(r".*inner +\d+.* 1 ", line) for line in top("a.sqlite")))
    assert any(re.match(r" outer +\d", line) for line in top("a.sqlite"))
    job.terminate()
    job.wait()


def test_how_far_it_is_and_how_long_it_takes(top, gpu_tracker, tmp_path):
    """From blocks that are counted: each of `gpu-tracker block` is a process of its own."""
    script = f"for i in 1 2 3; do {gpu_tracker} block --total 4 part -- sleep 0.1; done; {gpu_tracker} block --total 4 part -- sleep 300"
    job = subprocess.Popen([gpu_tracker, "run", "--disable-logs", "--blocks", "--st=0.1", "--tf", "a.sqlite", "--", "sh", "-c", script],
                           cwd=tmp_path, stderr=subprocess.DEVNULL)
    wait_until(lambda: (tmp_path / "a.sqlite").exists() and re.search(r"\d  part 3 of 4  ~\d+ s left$", top("a.sqlite")[0]))
    job.terminate()
    job.wait()
    assert "left" not in top("a.sqlite")[0]


def test_a_process_that_nobody_follows(top, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    job = subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(0.1)"])
    try:
        lines = top(str(job.pid))
        assert "import time" in lines[0] and any("process (1)" in line for line in lines)
        assert job.poll() is None and not list(tmp_path.glob("gpu-tracker-top-*"))
    finally:
        job.kill()
        job.wait()


# ---- In a terminal ------------------------------------------------------------------------------------------------

@pytest.fixture
def screen(gpu_tracker, tmp_path):
    """A terminal of tmux in which top runs."""
    if not shutil.which("tmux"):
        pytest.skip("no tmux")
    server = ["tmux", "-S", str(tmp_path / "tmux"), "-f", "/dev/null"]

    def tmux(*words):
        return subprocess.run([*server, *words], capture_output=True, text=True, check=False, timeout=60).stdout

    def start(*words, columns=80, rows=24):
        line = " ".join([gpu_tracker, "top", *words])
        tmux("new-session", "-d", "-x", str(columns), "-y", str(rows), f"cd {tmp_path} && {line}; echo status $?; sleep 600")

    def shows(pattern):
        try:
            wait_until(lambda: re.search(pattern, tmux("capture-pane", "-p"), re.MULTILINE))
        except AssertionError:
            pytest.fail(f"{pattern} is not in\n" + tmux("capture-pane", "-p"))

    yield start, lambda *keys: tmux("send-keys", *keys), shows, tmux
    tmux("kill-server")


def test_keys(screen, running, tmp_path):
    start, press, shows, tmux = screen
    job = running("a.sqlite")
    start()
    shows(r"running$")
    shows(r"process \(2\)")
    press("3")
    wait_until(lambda: "process (2)" not in tmux("capture-pane", "-p"))
    press("3")
    shows(r"└ sleep")
    press("t")
    shows(r" \d+ sleep")
    press("/", "s", "h", "Enter")
    shows(r"process \(1 of 2\)")
    press("Escape")
    shows(r"process \(2\)")
    press("?")
    shows("no key here ends it")
    press("x")
    shows("^ mem")
    press("Home")
    shows(r"at 0:00 of \d:\d\d$")
    press("End")
    shows(r"running$")
    press("e")
    shows("written to gpu-tracker-top-")
    assert " mem " in next(tmp_path.glob("gpu-tracker-top-*.txt")).read_text()
    tmux("resize-window", "-x", "44", "-y", "12")
    shows(r"^ mem .{0,39}$")
    assert job.poll() is None
    press("q")
    shows("status 0")
    assert job.poll() is None, "no key ends the job"


MARKING = """
for i in 1 2 3; do {0} block --total 5 outer -- sh -c '{0} block inner -- sleep 0.2'; done
{0} block --total 5 outer -- sh -c '{0} block inner -- sleep 300'"""


@pytest.fixture
def marking(gpu_tracker, tmp_path):
    """A job that runs with blocks, of which two are open."""
    job = subprocess.Popen([gpu_tracker, "run", "--disable-logs", "--blocks", "--detail", "--st=0.1", "--tf", "a.sqlite", "--", "sh", "-c",
                            MARKING.format(gpu_tracker)], cwd=tmp_path, stderr=subprocess.DEVNULL)
    wait_until(lambda: (tmp_path / "a.sqlite").exists())
    yield job
    job.terminate()
    job.wait()


def test_keys_for_blocks_and_processes(screen, marking, cli, tmp_path):
    start, press, shows, tmux = screen
    start()
    shows(r"  outer 3 of 5")
    shows("^ inner")
    press("Down")
    shows("^>outer")
    press("Down")
    shows("^>inner")
    press("b")
    shows(r"  inner, call 4: \d:\d\d  outer 3 of 5")
    press("Enter")
    shows("^. block inner .*\n now .* 3 calls ")
    shows("how long each call took, up to ")
    press("Down")
    shows(r"^. process \d+ ")
    shows("^ memory, up to ")
    press("Enter", "b")
    shows(r"^>+ +\d+ sh")
    press("u")
    shows(r"^ mem +[\d.]+ [KM]iB ")
    press("Escape")
    wait_until(lambda: not re.search("^>", tmux("capture-pane", "-p"), re.MULTILINE))
    press("m")
    shows("mark this moment as: _")
    press("n", "o", "w", "Space", "q", "BSpace", "x", "Enter")
    shows("marked: now x$")
    shows("^ now x +1 ")
    press("b", "Left")
    shows(r" at \d:\d\d  outer, call \d: \d:\d\d$")
    press("m")
    shows("only this moment can be marked")
    press("h")
    shows(r"written to gpu-tracker-top-\d+-\d+.html")
    assert "<html" in next(tmp_path.glob("gpu-tracker-top-*.html")).read_text()
    assert marking.poll() is None
    marking.terminate()
    marking.wait()
    calls = json.loads(cli("analyze", "a.sqlite", "-f", "json", "--calls").stdout)["calls"]
    [mark] = [call for call in calls if call["name"] == "now x"]
    assert mark["compute_time"] < 0.1 and not mark["unfinished"]
    press("End")
    shows(r"exit 143 \(SIGTERM\)$")
    press("m")
    shows("the job has ended: no moment of it can be marked")


def test_a_job_without_blocks_cannot_be_marked(screen, running):
    start, press, shows, _ = screen
    running("a.sqlite")
    start()
    shows(r"running$")
    press("m")
    shows("this job keeps no blocks: gpu-tracker run --blocks")
    press("b")
    shows("no block runs")


def click(tmux, row, button=0):
    """As terminals tell it, each number as a character; rows from 0."""
    for what in (button, 3) if button == 0 else (button,):
        tmux("send-keys", "-l", f"\x1b[M{chr(32 + what)}{chr(32 + 10)}{chr(32 + row + 1)}")


def test_mouse(screen, running, tmp_path):
    start, press, shows, tmux = screen
    running("a.sqlite")
    start()
    shows(r"└ sleep")
    lines = tmux("capture-pane", "-p").splitlines()
    click(tmux, next(i for i, line in enumerate(lines) if "└ sleep" in line))
    shows(r"^> +\d+ └ sleep")
    click(tmux, 1, button=64)
    shows(r"^> +\d+ sh")
    click(tmux, 1, button=65)
    shows(r"^> +\d+ └ sleep")
    tmux("resize-window", "-x", "120", "-y", "20")
    shows(r"^ mem .{90}")
    lines = tmux("capture-pane", "-p").splitlines()
    click(tmux, next(i for i, line in enumerate(lines) if re.search(r"\d sh ", line)))
    shows(r"^> +\d+ sh")


def test_one_of_several_jobs(screen, running):
    start, press, shows, _ = screen
    pids = [running(path).pid for path in ("a.sqlite", "b.sqlite")]
    start()
    shows("Which job")
    shows(r"^> +\d+ sh -c sleep.* running$")
    press("?")
    shows("enter +show the chosen job")
    press("x")
    shows("Which job")
    press("Down")
    shows(r"^ +\d+ sh -c .*\n> +\d+ sh -c")
    press("Enter")
    shows("^ mem ")
    press("q")
    shows("status 0")
    start()
    assert pids


def test_recent_runs_follow_the_running_jobs(screen, running, cli, tmp_path, monkeypatch):
    start, press, shows, _ = screen
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name, command in ("old.sqlite", "true"), ("gone.sqlite", "true"), ("failed.csv", "false"):
        cli("run", "--history", "--quiet", "--tf", name, "--", command)
    (tmp_path / "gone.sqlite").unlink()
    for path in "a.sqlite", "b.sqlite":
        running(path)
    start(rows=7)
    shows(r"^>.* running\n.* running\n +@1 false +0:00 .* exit 1\n +@3 true +0:00 .* exit 0\n?$")
    press("Down", "Down", "Down", "Down", "Down")
    shows(r"^> +@3 true")
    press("Enter")
    shows(r"^ true .* exit 0$")
    press("Enter", "?")
    shows("gpu-tracker top: keys")
    press("x", "q")
    shows("status 0")


def test_keys_are_shown_where_a_process_is_alone(screen, running):
    start, press, shows, _ = screen
    running("a.sqlite")
    start()
    shows(r"└ sleep")
    press("Down", "Enter")
    shows(r"^. process \d+ ")
    press("?")
    shows("gpu-tracker top: keys")
    press("x")
    shows(r"^. process \d+ ")


def test_a_job_that_ends_while_it_is_watched(screen, running):
    start, press, shows, _ = screen
    job = running("a.sqlite")
    start("a.sqlite")
    shows(r"running$")
    job.terminate()
    shows(r"exit 143 \(SIGTERM\)$")
    press("Left", "Left", "Left")
    shows(r"at \d:\d\d of \d:\d\d$")
    press("q")
    shows("status 0")


@pytest.mark.parametrize("name", ["no-such-terminal", "dumb"])
def test_a_terminal_that_cannot_be_drawn_on(gpu_tracker, cli, tmp_path, name):
    cli("run", "--disable-logs", "--tf", "a.sqlite", "--", "true")
    done = subprocess.run(["script", "-qec", f"{gpu_tracker} top a.sqlite", "/dev/null"], capture_output=True, text=True, check=False,
                          cwd=tmp_path, env={**os.environ, "TERM": name}, stdin=subprocess.DEVNULL, timeout=60)
    assert done.returncode == 125
    assert f"(TERM is '{name}'): TERM=xterm-256color gpu-tracker top, or gpu-tracker top --once" in done.stdout


def test_a_folder_of_running_jobs_that_is_not_ours_is_reported(cli, runtime):
    runtime.mkdir(0o700)
    runtime.chmod(0o777)
    told = "is not a folder of yours alone, so 'gpu-tracker top' does not find running jobs by itself"
    done = cli("run", "--tf", "a.sqlite", "--", "true")
    assert done.returncode == 0 and f"gpu-tracker: {runtime} {told}" in done.stderr
    assert told not in cli("run", "--disable-logs", "--tf", "b.sqlite", "--", "true").stderr
    assert told in cli("top").stderr
    runtime.rmdir()
    assert told not in cli("run", "--tf", "c.sqlite", "--", "true").stderr
