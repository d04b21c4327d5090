"""Commands where the kernel is as old as that of RHEL 8 (4.18), or 7: they give what they give here."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest
from patience import wait_until

FIXTURE = pathlib.Path(__file__).resolve().parents[1] / "fixture"
TRACE = FIXTURE / "traces/torch.json.gz"
TRACKING = FIXTURE / "sub_track/tracking-A.sqlite"
BLOCKS = FIXTURE / "sub_track/blocks-A.csv"
ORIGINAL = FIXTURE / "original/tracking.csv"

# All of them look at files, so that both answers are the same to the letter.
READING = [
    ["--version"], ["help"], ["man"], ["run", "--help"], ["schema"], ["schema", "--format", "json"], ["completion", "bash"],
    ["report", ORIGINAL], ["report", FIXTURE / "original/tracking.sqlite"], ["report", TRACKING, "--format", "json"],
    ["report", TRACKING, "--format", "md"], ["report", TRACKING, "--format", "csv"], ["report", "--request", "slurm", TRACKING],
    ["report", TRACKING, FIXTURE / "sub_track/tracking-B.sqlite"], ["plot", TRACKING, "-o", "-", "--format", "svg"],
    ["sub-track", "analyze", "--tracking-file", TRACKING, "--sub-tracking-file", BLOCKS],
    ["compare", TRACKING, FIXTURE / "sub_track/tracking-B.sqlite"], ["top", "--once", TRACKING],
    ["profile", TRACE], ["profile", "kernels", TRACE], ["profile", "operators", "--top", "5", TRACE], ["profile", "advice", TRACE],
    ["profile", "job", TRACE, "--format", "json"], ["timeline", "info", TRACE], ["timeline", "info", FIXTURE / "traces/perfetto.pftrace"],
    ["profile", "functions", FIXTURE / "traces/python3.13.prof"], ["profile", "functions", FIXTURE / "traces/py-spy.collapsed"],
    ["report", "missing.sqlite"], ["run", "--sleep-time", "none", "--", "true"],
]


@pytest.fixture(scope="module")
def launcher(gpu_tracker):
    return str(pathlib.Path(gpu_tracker).parent / "test/launch/old_kernel")


@pytest.fixture
def old(launcher, gpu_tracker, tmp_path):
    """old("run", ...): the completed process on the old kernel, in tmp_path."""

    def run(*words, **keywords):
        return subprocess.run([launcher, gpu_tracker, *map(str, words)], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                              check=False, **keywords)

    return run


def test_the_launcher_answers_as_that_kernel_does(launcher):
    code = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
for number in (434, 435, 436, 437, 439, 448):  # pidfd_open, clone3, close_range, openat2, faccessat2, process_mrelease
    assert libc.syscall(number, 0, 0, 0, 0, 0) == -1 and ctypes.get_errno() == errno.ENOSYS, number
"""
    subprocess.run([launcher, sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("words", READING, ids=lambda words: " ".join(pathlib.Path(word).name for word in words))
def test_what_reads_files_says_the_same(cli, old, words):
    here, there = cli(*words), old(*words)
    assert (there.returncode, there.stdout, there.stderr) == (here.returncode, here.stdout, here.stderr)


@pytest.mark.parametrize("suffix", ["sqlite", "csv"])
def test_a_job_is_measured(old, truth, tmp_path, suffix):
    done = old("run", "--tf", f"job.{suffix}", "--detail", "--blocks", "-o", "job.json", "--sleep-time", "0.05", "--",
               *truth("burn", 0.3, 1, 100))
    assert done.returncode == 0, done.stderr
    burnt = json.loads(done.stdout)["cpu_seconds"]
    report = json.loads((tmp_path / "job.json").read_text())
    assert report["cpu_time"]["combined"] == pytest.approx(burnt, abs=0.05)
    assert report["run"]["complete"] is True and report["max_ram"]["combined"]["total_rss"] > 0
    again = old("report", f"job.{suffix}", "--format", "json")
    assert json.loads(again.stdout)["cpu_time"]["combined"] == report["cpu_time"]["combined"]


def test_a_job_s_exit_status_and_its_descendants(old):
    done = old("run", "-o", "-", "--format", "json", "--time-unit", "seconds", "--wait", "all", "--", "sh", "-c", "sleep 0.3 & exit 7")
    assert done.returncode == 7
    assert json.loads(done.stdout)["compute_time"]["time"] >= 0.3


def test_code_blocks_are_collected(old, gpu_tracker):
    inner = [gpu_tracker, "block", "work", "--", "sleep", "0.2"]
    assert old("run", "--blocks", "--tf", "run.sqlite", "--sleep-time", "0.05", "--", *inner).returncode == 0
    [block] = json.loads(old("analyze", "run.sqlite", "--format", "json").stdout)["code_block_results"]
    assert block["name"] == "work" and block["compute_time"]["total"] >= 0.2


def test_attach_ends_with_the_process(launcher, gpu_tracker, tmp_path):
    """Not at once, for nothing tells of the end, but at the next sample."""
    with subprocess.Popen(["sleep", "600"]) as job:
        tracker = subprocess.Popen([launcher, gpu_tracker, "attach", "--sleep-time", "0.1", "-o", "a.json", "--tf", "a.csv", str(job.pid)],
                                   cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        wait_until((tmp_path / "a.csv").exists)
        job.kill()
        job.wait()
        _, errors = tracker.communicate(timeout=60)
    assert tracker.returncode == 0, errors
    assert json.loads((tmp_path / "a.json").read_text())["run"]["complete"] is True


def test_doctor_names_what_is_less_exact(cli, old):
    sources = {row["source"]: row for row in json.loads(old("doctor", "--format", "json").stdout)["sources"]}
    assert sources["kernel: pidfd"]["state"] == "absent" and "next sample" in sources["kernel: pidfd"]["reason"]
    here = {row["source"]: row for row in json.loads(cli("doctor", "--format", "json").stdout)["sources"]}
    assert here.keys() == sources.keys()


PACKAGE = """
import subprocess, sys
import gpu_tracker
with gpu_tracker.Tracker(sleep_time=0.05) as tracker:
    held = b"1" * 100_000_000
    now = tracker.current().ram
assert tracker.max_ram.combined.total_rss * 1e9 > 1e8 < now, tracker
job = subprocess.Popen([sys.executable, "-c", "held = b'1' * 100_000_000; import time; time.sleep(60)"])
with gpu_tracker.Tracker(sleep_time=0.05, process_id=job.pid, max_ram="50 MB", at_limit="kill", disable_logs=True):
    assert job.wait(60) == -15
"""


def test_the_package_tracks_and_ends_what_exceeds_a_limit(launcher, tmp_path):
    done = subprocess.run([launcher, sys.executable, "-c", PACKAGE], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_headers_of_that_kernel_are_enough():
    """Numbers of newer system calls, where the code has them, are in base/os/system.h, too."""
    here = subprocess.run(["gcc", "-dM", "-E", "-include", "asm/unistd.h", "-xc", "/dev/null"], capture_output=True, text=True, check=True)
    newer = {name for name, number in re.findall(r"#define __NR_(\w+) (\d+)\n", here.stdout) if int(number) >= 424}
    ours = pathlib.Path(__file__).resolve().parents[2]
    defined = set(re.findall(r"#define SYS_(\w+) \d+", (ours / "lib/base/os/system.h").read_text()))
    used = {}
    for folder in ("lib", "cli", "inject", "python"):
        for path in (ours / folder).rglob("*.[ch]"):
            if names := set(re.findall(r"\bSYS_(\w+)", path.read_text())) & newer:
                used[path] = names
                assert '#include "base/os/system.h"' in path.read_text() or path.name == "system.h", path
    assert set().union(*used.values()) <= defined and len(used) >= 5


ORPHAN = """
import os, time
import gpu_tracker
tracker = gpu_tracker.Tracker(sleep_time=0.05, disable_logs=True)
tracker.start()
if os.fork() == 0:  # it holds the socket to the sampler, and never reads it
    time.sleep(60)
os._exit(0)
"""


def samplers(folder):
    """Those that were started in a folder, by number."""
    found = set()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (process / "comm").read_text() == "gt-sampler\n" and os.readlink(process / "cwd") == str(folder):
                found.add(process.name)
        except OSError:
            continue
    return found


def test_the_sampler_ends_with_its_caller(launcher, tmp_path):
    with subprocess.Popen([launcher, sys.executable, "-c", ORPHAN], cwd=tmp_path, start_new_session=True) as caller:
        assert caller.wait(60) == 0
        try:
            wait_until(lambda: not samplers(tmp_path))
        finally:
            os.killpg(caller.pid, signal.SIGKILL)
