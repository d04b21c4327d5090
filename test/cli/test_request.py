"""report --request: what to ask a scheduler for next time."""
import json
import os
import re
import shutil
import subprocess
import sys
import time

import pytest
from test_warnings import GROWS, LIMIT, group, limited, slurm  # noqa: F401


@pytest.fixture
def recording(cli):
    assert cli("run", "--disable-logs", "--tf=run.sqlite", "--", "sleep", "0.2").returncode == 0
    return "run.sqlite"


@pytest.mark.parametrize("kind, expected", [
    ("slurm", "--mem=512M --cpus-per-task=1 --time=0:10:00\n"),
    ("pbs", "-l select=1:ncpus=1:mem=512mb -l walltime=0:10:00\n"),
    ("k8s", "resources: {requests: {cpu: 100m, memory: 512Mi}, limits: {memory: 512Mi}}\n"),
    ("docker", "--memory=512m --cpus=1\n"),
    ("lsf", '-n 1 -M 512MB -R "span[hosts=1] rusage[mem=512MB]" -W 0:10\n'),
])
def test_kinds(cli, recording, kind, expected):
    done = cli("report", "--request", kind, recording)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


def test_a_file_of_it_ends_its_line(cli, recording, tmp_path):
    assert cli("report", "--request", "slurm", "-o", "asked", recording).returncode == 0
    assert (tmp_path / "asked").read_text() == "--mem=512M --cpus-per-task=1 --time=0:10:00\n"


def test_the_largest_of_several_runs(cli, recording):
    work = "import time; data = b'x' * 630_000_000; time.sleep(0.1)"
    assert cli("run", "--disable-logs", "--tf=large.sqlite", "--", sys.executable, "-c", work).returncode == 0
    assert cli("report", "--request=slurm", recording, "large.sqlite", recording).stdout == "--mem=1G --cpus-per-task=1 --time=0:10:00\n"


def test_after_a_kill(cli, limited):  # noqa: F811
    summary = limited("--tf=run.sqlite", "--", sys.executable, "-c", GROWS).stderr
    assert re.search(r"\n  next time: more than 300 MB; the limit ended the run before its peak. Try\n    (768M|1G)\n", summary), summary
    done = cli("report", "--request=slurm", "run.sqlite")
    memory = int(re.fullmatch(r"--mem=(\d+)M --cpus-per-task=1\n", done.stdout)[1])
    assert memory * 2 ** 20 >= 2 * LIMIT
    assert done.stderr == "gpu-tracker: next time: more than 300 MB; the limit ended the run before its peak\n"


def test_after_the_tracker_was_killed(cli, recording, gpu_tracker, tmp_path):
    line = [gpu_tracker, "run", "--disable-logs", "--st=0.05", "--tf=gone.sqlite", "--", "sh", "-c", "touch began; sleep 1"]
    tracker = subprocess.Popen(line, cwd=tmp_path, stderr=subprocess.DEVNULL)
    while not (tmp_path / "began").exists():
        time.sleep(0.02)
    time.sleep(0.4)
    tracker.kill()
    tracker.wait()
    doubt = "has no end: the job may have used more later"
    done = cli("report", "--request=slurm", "gone.sqlite")
    assert done.returncode == 0 and done.stdout.startswith("--mem=512M")
    assert done.stderr == f"gpu-tracker: next time: this recording {doubt}\n"
    assert cli("report", "--request=slurm", recording, "gone.sqlite").stderr == f"gpu-tracker: next time: a recording {doubt}\n"


def test_after_a_failure(cli, recording):
    assert cli("run", "--disable-logs", "--tf=failed.sqlite", "--", "sh", "-c", "exit 4").returncode == 4
    told = "failed with status 4: a whole run may need more"
    done = cli("report", "--request=docker", "failed.sqlite")
    assert (done.returncode, done.stdout) == (0, "--memory=512m --cpus=1\n")
    assert done.stderr == f"gpu-tracker: next time: this run {told}\n"
    assert cli("report", "--request=docker", recording, "failed.sqlite").stderr == f"gpu-tracker: next time: a run {told}\n"


def test_in_the_summary(cli, slurm):  # noqa: F811
    text = cli("run", "--disable-logs", "--", "sleep", "0.2").stderr
    assert "\n  next time, from this one run:\n    --mem=512M --cpus-per-task=1 --time=0:10:00\n  all values: " in text
    assert "next time" not in cli("run", "--disable-logs", "--", "sleep", "0.2", env={}).stderr


def test_what_is_refused(refused, cli, recording):
    refused(2, "'sun' is not one of slurm, k8s, pbs, lsf, docker", "report", "--request=sun", recording)
    refused(2, "without --format", "report", "--request=slurm", "-f", "json", recording)
    refused(2, "none.sqlite", "report", "--request=slurm", "none.sqlite")


@pytest.fixture(scope="module")
def recorded(gpu_tracker, tmp_path_factory):
    """Runs that hold 30 MB for each of their size, which their names and commands tell."""
    folder = tmp_path_factory.mktemp("recorded")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GPU_TRACKER_")}
    for size in 1, 2, 3, 5, 8:
        work = [sys.executable, "-c", f"data = b'x' * {size * 30_000_000}", f"--size={size}"]
        subprocess.run([gpu_tracker, "run", "--disable-logs", f"--tf=run-a{size}.sqlite", "--", *work], cwd=folder, check=True,
                       capture_output=True, env={**environment, "XDG_CONFIG_HOME": str(folder / "xdg")})
    return sorted(folder.glob("*.sqlite"))


@pytest.fixture
def runs(recorded, tmp_path):
    return [os.path.basename(shutil.copy(path, tmp_path)) for path in recorded]


@pytest.mark.parametrize("variable", ["name", "name:a", "command:--size"])
def test_by_size(cli, runs, variable):
    report = json.loads(cli("report", "--by", variable, "--for=16", "-f", "json", *runs).stdout)
    assert [row["size"] for row in report["runs"]] == [1, 2, 3, 5, 8]
    memory = report["memory"]
    assert not memory["is_power"] and memory["slope"] == pytest.approx(30e6, rel=0.05)
    assert memory["slope_low"] <= memory["slope"] <= memory["slope_high"]
    assert memory["low"] < memory["expected"] < memory["high"] and memory["expected"] == pytest.approx(500e6, rel=0.1)
    asked = int(re.match(r"--mem=(\d+)M --cpus-per-task=\d --time=", report["next_time"]["slurm"])[1])
    assert asked * 2 ** 20 >= memory["high"]


def test_by_size_in_words(cli, runs):
    text = cli("report", "--by=name", "--for=100", *runs).stdout
    law, expected = re.search(r"^Memory, at most:\n   Law: (.*)\n   Expected: (.*)$", text, re.MULTILINE).groups()
    assert re.fullmatch(r"[\d.]+ MB \+ \d\d\.\d MB for each \(.* to .*\)", law), law
    assert re.fullmatch(r"[\d.]+ GB \(.*\), far from all runs", expected), expected


def test_by_the_size_of_files(cli, tmp_path):
    names = []
    for size in 1, 2, 4, 8:
        (tmp_path / f"in-{size}").write_bytes(b"x" * size * 1000)
        assert cli("run", "--disable-logs", f"--tf={size}.sqlite", "--", "cat", f"in-{size}", "/dev/null").returncode == 0
        names.append(f"{size}.sqlite")
    report = json.loads(cli("report", "--by=size", "-f", "json", *names).stdout)
    assert [row["size"] for row in report["runs"]] == [1000, 2000, 4000, 8000]


def test_runs_of_one_size_have_too_few_sizes(cli, refused, tmp_path):
    names = [f"{number}.sqlite" for number in range(4)]
    (tmp_path / "in").write_bytes(b"x" * 1000)
    for name in names:
        assert cli("run", "--disable-logs", f"--tf={name}", "--", "cat", "in").returncode == 0
    refused(2, "the 4 runs that ended well have too few sizes", "report", "--by=size", *names)


def test_failed_runs_tell_nothing(cli, runs):
    assert cli("run", "--disable-logs", "--tf=run-a9.sqlite", "--", "sh", "-c", "exit 3").returncode == 3
    report = json.loads(cli("report", "--by=name", "-f", "json", *runs, "run-a9.sqlite").stdout)
    assert report["runs"][-1]["remark"] == "failed: left out" and report["memory"]["slope"] == pytest.approx(30e6, rel=0.05)


def test_what_by_refuses(refused, runs):
    refused(2, "3 runs that ended well are too few", "report", "--by=name", *runs[:3])
    refused(2, "run-a1.sqlite: \"command:--rows\" names no size of this run", "report", "--by=command:--rows", *runs)
    refused(2, "--for needs --by", "report", "--for=3", *runs)
    refused(2, "--by does not take --request", "report", "--by=name", "--request=slurm", *runs)
