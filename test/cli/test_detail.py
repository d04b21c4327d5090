"""--detail: every process by name, from its beginning to its end, in reports and in recordings."""
import csv
import io
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys

import pandas
import pytest
from patience import children, least, wait_until

QUIET = "--disable-logs"
COLUMNS = ["number", "pid", "parent", "start", "name", "command", "began", "ended", "ram_peak", "cpu_time", "rank"]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="exit records take CAP_NET_ADMIN")


def has_events():
    """Whether the kernel tells forks and ends here: as root, and from Linux 6.6 to everybody."""
    done = subprocess.run([str(pathlib.Path(__file__).parents[2] / "build" / "gpu-tracker"), "doctor", "-f", "json"],
                          stdout=subprocess.PIPE, text=True, check=True, timeout=120)
    states = {row["source"]: row["state"] for row in json.loads(done.stdout)["sources"]}
    return states["events"] == "ready", states["exit records"] == "ready"


@pytest.fixture(scope="module")
def events():
    return has_events()


@pytest.fixture
def detail(track):
    """detail(script, *options): the list of processes of a shell script."""
    def run(script, *options, **keywords):
        done, report = track(["sh", "-c", script], QUIET, "--detail", "--ru", "megabytes", *options, **keywords)
        return report["process_list"], done
    return run


def named(processes, name):
    found = [process for process in processes if process["name"] == name]
    assert len(found) == 1, processes
    return found[0]


def test_names_beginnings_and_ends(detail):
    processes, _ = detail("sleep 0.5; exec sleep 0.7", "--st", "0.05")
    first, second = sorted((process for process in processes if process["name"] == "sleep"), key=lambda process: process["begin"])
    assert first["command"] == "sleep 0.7" and second["command"] == "sleep 0.5"  # the shell executed the other one in its place
    assert first["begin"] == 0 and second["parent"] == first["pid"]
    assert 0 <= second["begin"] < first["end"] - 0.5
    assert 0.5 <= second["end"] - second["begin"] < first["end"] and first["end"] >= 1.2
    assert first["begin"] <= second["begin"] < second["end"] <= first["end"]


def test_the_order_is_that_of_their_beginnings(detail):
    processes, _ = detail("for i in 1 2 3 4; do sleep 0.3 & sleep 0.1; done; wait", "--st", "0.05")
    begins = [process["begin"] for process in processes]
    assert begins == sorted(begins) and len(begins) >= 9


def test_memory_and_cpu_time_of_each(detail, truth):
    command = " ".join(truth("burn", 1, 0.5, 100))
    processes, _ = detail(f"{command} >/dev/null; {sys.executable} -c 'import time; x = bytearray(60_000_000); time.sleep(0.5)'",
                          "--st", "0.05")
    assert 0.45 <= named(processes, "burn")["cpu_time"] <= 0.7
    python = max(processes, key=lambda process: process["ram_peak"] or 0)
    assert 60 < python["ram_peak"] < 120 and python["command"].startswith(sys.executable)
    assert all(process["cpu_time"] != 0 for process in processes), "a process that ran has used time, or it is not known"


def test_processes_between_two_samples(detail, events):
    if not events[0]:
        pytest.skip("the kernel tells no forks here")
    processes, _ = detail("sleep 0.6; /bin/echo hi >/dev/null; sleep 0.6", "--st", "30")
    assert len(processes) == 4
    short = processes[2]
    assert 0.6 <= short["begin"] <= short["end"] < short["begin"] + 0.5
    assert short["parent"] == processes[0]["pid"]
    if events[1]:
        assert short["name"] == "echo" and short["ram_peak"] > 0.3
    else:
        assert short["name"] is None and short["ram_peak"] is None


def test_a_living_process_has_no_end(cli, tmp_path):
    done = cli("run", QUIET, "--detail", "--st=0.05", "-o", "out.json", "--", "sh", "-c",
               "sleep 20 >/dev/null 2>&1 & echo $!; sleep 0.3")
    os.kill(int(done.stdout), signal.SIGKILL)
    processes = json.loads((tmp_path / "out.json").read_text())["process_list"]
    [alive] = [process for process in processes if process["pid"] == int(done.stdout)]
    assert alive["end"] is None and alive["name"] == "sleep"
    assert [process["end"] is None for process in processes].count(True) == 1


def test_attached_to(cli, tmp_path):
    job = subprocess.Popen(["sh", "-c", "sleep 0.4; sleep 3; exit 0"])
    wait_until(lambda: b"3\0" in [pathlib.Path(f"/proc/{child}/cmdline").read_bytes()[6:] for child in children(job.pid)])
    assert cli("attach", QUIET, "--detail", "--st=0.05", "-o", "out.json", str(job.pid)).returncode == 0
    job.wait()
    processes = json.loads((tmp_path / "out.json").read_text())["process_list"]
    shell, sleep = named(processes, "sh"), named(processes, "sleep")
    assert -60 < shell["begin"] < -0.3, "it began before"
    assert shell["begin"] <= sleep["begin"] < 0 < sleep["end"] <= shell["end"]


def test_attached_to_what_had_children_before(cli, truth, tmp_path):
    job = subprocess.Popen(["sh", "-c", " ".join(truth("burn", 1, 0.5, 100)) + "; sleep 3; exit 0"], stdout=subprocess.DEVNULL)
    wait_until(lambda: b"3\0" in [pathlib.Path(f"/proc/{child}/cmdline").read_bytes()[6:] for child in children(job.pid)])
    assert cli("attach", QUIET, "--detail", "--st=0.05", "--tf=a.sqlite", "-o", "out.json", str(job.pid)).returncode == 0
    job.wait()
    processes = json.loads((tmp_path / "out.json").read_text())["process_list"]
    assert 0 <= named(processes, "sh")["cpu_time"] < 0.2, "its own, without what it had and what they had used before"
    [row] = sqlite3.connect(tmp_path / "a.sqlite").execute("SELECT min(cpu_time), max(cpu_time) FROM process_data")
    assert 0 <= row[0] <= row[1] < 0.2


@as_root
def test_threads_that_have_ended(detail, truth, events):
    if not events[1]:
        pytest.skip("the kernel tells no exit records here")
    processes, done = detail(" ".join(truth("short_threads", 300)) + "; exit 0", "--tu", "seconds", "--st=30")
    assert named(processes, "short_threads")["cpu_time"] > 0.7 * json.loads(done.stdout)["cpu_seconds"]


def test_without_detail_there_is_none(track):
    assert "process_list" not in track(["true"], QUIET)[1]


@pytest.fixture(params=["csv", "sqlite"])
def recording(request, cli, tmp_path):
    path = f"a.{request.param}"
    done = cli("run", QUIET, "--detail", "--st=0.05", "--tf", path, "-o", "run.json", "--", "sh", "-c",
               "sleep 0.2; ls >/dev/null; sleep 0.2", "a, \"b\"\nc")
    assert done.returncode == 0
    return path


def test_a_recording_has_the_same_list(cli, recording, tmp_path):
    live = json.loads((tmp_path / "run.json").read_text())["process_list"]
    assert len(live) >= 3
    assert json.loads(cli("report", "-f", "json", recording).stdout)["process_list"] == live
    text = cli("report", recording).stdout.split("Each process:\n")[1].splitlines()
    assert text[0].split()[:3] == ["PID", "Parent", "Name"]
    assert len([line for line in text[1:] if line.strip().split()[0] in {str(process["pid"]) for process in live}]) == len(live)
    rows = [row for row in csv.reader(io.StringIO(cli("report", "-f", "csv", recording).stdout)) if row[0].startswith("process_list.")]
    assert [row[1] for row in rows if row[0].endswith(".pid")] == [str(process["pid"]) for process in live]


def test_people_see_a_tree(cli, recording):
    text = cli("report", recording).stdout.split("Each process:\n")[1]
    assert re.search(r" sh +0\.0 ", text) and re.search(r" ├ sleep +0\.", text) and re.search(r" └ sleep +0\.", text)
    page = cli("report", "-f", "html", recording).stdout
    assert "└ sleep" in page and len(re.findall(r'<td class="t"[^>]*>sh<', page)) == 1
    assert "process_tree" not in cli("report", "-f", "json", recording).stdout + cli("report", "-f", "csv", recording).stdout


def test_others_can_read_the_list(recording, tmp_path):
    live = json.loads((tmp_path / "run.json").read_text())["process_list"]
    if recording.endswith(".csv"):
        table = pandas.read_csv(tmp_path / "a.process_list.csv")
    else:
        with sqlite3.connect(tmp_path / recording) as database:
            table = pandas.read_sql("SELECT * FROM process", database)
    assert list(table.columns) == COLUMNS
    assert sorted(table["pid"]) == sorted(process["pid"] for process in live)
    main = table[table["began"] == 0].iloc[0]
    assert main["name"] == "sh" and main["command"] == "sh -c sleep 0.2; ls >/dev/null; sleep 0.2 a, \"b\"\nc"


@pytest.mark.parametrize("path", ["a.csv", "a.sqlite"])
def test_a_killed_tracker_leaves_names(gpu_tracker, cli, tmp_path, path):
    line = [gpu_tracker, "run", QUIET, "--detail", "--st=0.05", "--tf", path, "--", "sh", "-c", "sleep 0.1; sleep 300"]
    tracker = subprocess.Popen(line, cwd=tmp_path, stderr=subprocess.DEVNULL)

    def lives():
        done = cli("report", "-f", "json", path)
        processes = json.loads(done.stdout).get("process_list", []) if not done.returncode else []
        return [(process["name"], process["end"] is None) for process in processes]

    wait_until(lambda: lives() == [("sh", True), ("sleep", False), ("sleep", True)])
    job = int(pathlib.Path(f"/proc/{tracker.pid}/task/{tracker.pid}/children").read_text().split()[0])
    tracker.kill()
    tracker.wait()
    os.kill(job, signal.SIGKILL)
    processes = json.loads(cli("report", "-f", "json", path).stdout)["process_list"]
    assert [process["name"] for process in processes] == ["sh", "sleep", "sleep"]
    assert [process["end"] is None for process in processes] == [True, False, True]


def test_samples_of_a_process_and_its_name(recording, tmp_path):
    """The rows of samples and the list have (pid, start) in common."""
    if recording.endswith(".csv"):
        rows, lives = (pandas.read_csv(tmp_path / name) for name in ("a.processes.csv", "a.process_list.csv"))
    else:
        with sqlite3.connect(tmp_path / recording) as database:
            rows, lives = (pandas.read_sql(f"SELECT * FROM {name}", database) for name in ("process_data", "process"))
    joined = rows.merge(lives, on=["pid", "start"], how="left")
    assert set(joined["name"]) >= {"sh", "sleep"} and joined["name"].notna().all()


@pytest.fixture
def as_nobody(gpu_tracker):
    """as_nobody(script, *options): the report on a shell script that an ordinary user tracks."""
    folder = pathlib.Path("/tmp") / f"gpu-tracker-detail-{os.getpid()}"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    program = shutil.copy(gpu_tracker, folder)

    def run(script, *options):
        line = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, "run", QUIET, "--detail", *options, "-o",
                "out.json", "--", "sh", "-c", script]
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads((folder / "out.json").read_text())

    yield run
    shutil.rmtree(folder)


@as_root
def test_an_ordinary_user(as_nobody):
    """Who sees less is told less, and nothing wrong."""
    processes = as_nobody("sleep 0.5; /bin/echo hi >/dev/null; exec sleep 0.4", "--st=0.05")["process_list"]
    assert {process["command"] for process in processes} >= {"sleep 0.4", "sleep 0.5"}
    assert all(process["end"] is not None for process in processes)
    assert all(process["name"] in (None, "sleep", "echo", "sh") for process in processes)


@as_root
def test_cpu_time_adds_up(track, tmp_path):
    """What processes need to end is not in their exit records."""
    script = "for i in 1 2 3 4 5 6 7 8; do seq 1 20000 | sort -n | tail -1; done >/dev/null; exit 0"
    path = tmp_path / "a.sqlite"

    def missing_share():  # a record may be late on a busy machine
        _, report = track(["sh", "-c", script], QUIET, "--detail", "--tf", path, "--overwrite")
        assert len(report["process_list"]) >= 25
        listed = sum(process["cpu_time"] or 0 for process in report["process_list"])
        recorded = sqlite3.connect(path).execute("SELECT sum(cpu_time) FROM process").fetchone()[0]
        return abs(1 - min(listed, recorded) / report["cpu_time"]["combined"])

    assert least(missing_share, 0.01) < 0.01


@as_root
def test_a_number_that_is_used_again_at_once(track, truth):
    for gap in (4, 6, 15, 25):
        done, report = track(truth("reuse", 20, 3, gap), QUIET, "--detail", "--st", "0.1")
        if "clone3" in done.stderr:
            pytest.skip("the kernel gives no chosen process numbers here")
        assert len(report["process_list"]) == report["processes"]["started"] == 21


@as_root
def test_what_a_parent_waited_for_as_an_ordinary_user(as_nobody):
    """No sample and no record tells what the children used at last, but their parent."""
    burn = "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; sleep 0.2; "
    report = as_nobody(burn + burn + "exit 0", "--st=30")
    if "every fork" not in str(report["provenance"]["processes.started"]["note"]):
        pytest.skip("the kernel tells no forks here")
    times = [process["cpu_time"] or 0 for process in report["process_list"]]
    assert 0.8 * report["cpu_time"]["combined"] < sum(times) <= 1.01 * report["cpu_time"]["combined"]
    assert len([seconds for seconds in times if seconds > 0.3 * report["cpu_time"]["combined"]]) == 2


def test_without_events_of_the_kernel(gpu_tracker, tmp_path):
    """In a network namespace of its own no process is heard of: what the samples see is listed."""
    apart = ["unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run([*apart, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this user may not make a namespace")
    subprocess.run([*apart, gpu_tracker, "run", QUIET, "--detail", "--st=0.05", "-o", "out.json", "--", "sh", "-c",
                    "sleep 0.5; exec sleep 0.6"], cwd=tmp_path, check=True, capture_output=True, timeout=120)
    processes = json.loads((tmp_path / "out.json").read_text())["process_list"]
    assert [process["command"] for process in processes] == ["sleep 0.6", "sleep 0.5"]
    assert 0.4 <= processes[1]["end"] - processes[1]["begin"] < 1


def test_a_stored_machine(gpu_tracker, tmp_path):
    """When it was started is not known there: neither is when its processes began."""
    folder = tmp_path / "machine" / "proc" / "7"
    folder.mkdir(parents=True)
    (folder / "stat").write_text("7 (job) S 1 7 7 0 -1 4194560 0 0 0 0 5 0 0 0 20 0 1 0 99 100000 100 184 0 0 0\n")
    (folder / "statm").write_text("200 100 10 1 0 20 0\n")
    (folder / "status").write_text("Name:\tjob\nVmHWM:\t    3000 kB\nVmSwap:\t       0 kB\nThreads:\t1\n")
    (folder / "comm").write_text("job\n")
    (folder / "cmdline").write_bytes(b"./job\0-x\0")
    tracker = subprocess.Popen([gpu_tracker, "attach", "7", "--root", "machine", "--detail", "--st=0.05", QUIET, "-o", "out.json",
                                "--tf=run.csv"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    wait_until(lambda: (tmp_path / "run.csv").exists() and len((tmp_path / "run.csv").read_text().splitlines()) > 3 + 6)
    (folder / "statm").write_text("")
    shutil.rmtree(folder)
    assert tracker.wait(120) == 0
    [process] = json.loads((tmp_path / "out.json").read_text())["process_list"]
    assert (process["pid"], process["parent"], process["name"], process["command"]) == (7, 1, "job", "./job -x")
    assert process["begin"] is None and 0.2 < process["end"]
    assert process["ram_peak"] == pytest.approx(100 * 4096 / 1e9)  # the mark may be of the time before


def test_a_recording_lists_processes_without_detail(track, tmp_path):
    _, report = track(["sh", "-c", "sleep 0.5 & sh -c 'exec sleep 0.7'; wait"], QUIET, "--tf", "r.sqlite", "--st", "0.05",
                      "--ru", "megabytes")
    processes = report["process_list"]
    assert sorted(process["name"] for process in processes) == ["sh", "sleep", "sleep"]
    assert all(0 <= process["begin"] < process["end"] for process in processes)
    assert {process["parent"] for process in processes[1:]} == {processes[0]["pid"]}
    assert {process["command"] for process in processes} > {"sleep 0.5", "sleep 0.7"}
    with sqlite3.connect(tmp_path / "r.sqlite") as database:
        tables = {name for name, in database.execute("SELECT name FROM sqlite_master")}
        assert "process" in tables and "process_data" not in tables, "no rows for each sample"


def test_a_recording_in_csv_stays_alone_without_detail(track, tmp_path):
    _, report = track(["sleep", "0.2"], QUIET, "--tf", "r.csv")
    assert "process_list" not in report and [path.name for path in tmp_path.glob("r.*")] == ["r.csv"]


def test_the_list_nobody_asked_for_is_short(cli, track, tmp_path):
    """It holds a thousand, and a long report shows forty."""
    _, report = track(["sh", "-c", "i=0; while [ $i -lt 1200 ]; do /bin/true; i=$((i+1)); done; sleep 0.3"], QUIET,
                      "--tf", "r.sqlite", "--st", "0.05")
    assert len(report["process_list"]) <= 1000
    assert "Each process" not in cli("report", "-f", "text", "r.sqlite").stdout
    assert (tmp_path / "r.sqlite").stat().st_size < 1_500_000
    page = tmp_path / "r.html"
    assert cli("report", "r.sqlite", "-o", page).returncode == 0 and "Each process" in page.read_text()


@pytest.mark.parametrize("name, options", [("r.sqlite", []), ("r.csv", ["--detail"])])
def test_figures_of_processes_are_current_without_an_end(gpu_tracker, cli, tmp_path, name, options):
    work = "import subprocess, time; p = subprocess.Popen(['sleep', '90']); time.sleep(.5); x = bytearray(150_000_000); time.sleep(90)"
    tracker = subprocess.Popen([gpu_tracker, "run", QUIET, "--st=0.1", f"--tf={name}", *options, "--", sys.executable, "-c", work],
                               cwd=tmp_path, stderr=subprocess.DEVNULL)

    def processes():
        done = cli("report", name, "-f", "json")
        return json.loads(done.stdout).get("process_list", []) if done.returncode == 0 else []

    try:
        wait_until(lambda: any(process["ram_peak"] and process["ram_peak"] > 0.15 for process in processes()))
    finally:
        tracker.kill()
        tracker.wait()
        for process in processes():
            os.kill(process["pid"], signal.SIGKILL)
    assert {process["name"] for process in processes()} > {"sleep"}
    assert re.search(r"^  biggest   \S+ 1[56]\d MB, sleep [\d.]+ MB", cli("report", "-f", "summary", name).stdout, re.M)


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_recordings_keep_no_secrets(cli, tmp_path, suffix):
    """Those of the command and of each process that it starts."""
    script = "import subprocess, sys; subprocess.run(['sleep', '0.4']); subprocess.run(['sh', '-c', 'sleep 0.4', 'x', '-p', 'geheim42'])"
    secrets = "--token", "geheim-1", "API_KEY=geheim-2"
    done = cli("run", "--detail", "--st=0.05", f"--tf=run.{suffix}", "--", "python3", "-c", script, *secrets)
    assert done.returncode == 0, done.stderr
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert b"-p ***" in files and b"--token *** API_KEY=***" in files and b"geheim-" not in files and b" geheim" not in files
