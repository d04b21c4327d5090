"""A job runs, and as much of it as can be is measured, where the kernel gives us less than it usually does."""
import ctypes
import json
import os
import platform
import re
import resource
import signal
import sqlite3
import struct
import subprocess
import sys

import pytest

QUIET = "--disable-logs"
NUMBERS = {  # of system calls: x86-64, and the table that newer architectures share
    "timerfd_create": (283, 85), "socket": (41, 198), "pidfd_open": (434, 434), "clone3": (435, 435),
    "perf_event_open": (298, 241), "prctl": (157, 167), "getrandom": (318, 278),
    "sched_getaffinity": (204, 123), "sched_setaffinity": (203, 122), "sched_getscheduler": (145, 120), "statx": (332, 291),
    "process_vm_readv": (310, 270), "openat2": (437, 437), "memfd_create": (319, 279), "eventfd2": (290, 19),
    "timerfd_settime": (286, 86), "faccessat2": (439, 439), "readlinkat": (267, 78), "prlimit64": (302, 261),
    "pidfd_send_signal": (424, 424), "epoll_create1": (291, 20), "inotify_init1": (294, 26), "renameat2": (316, 276),
    "close_range": (436, 436), "epoll_ctl": (233, 21), "epoll_pwait2": (441, 441),
}
EPERM, ENOSYS = 1, 38


def forbid(names, error):
    """A preexec_fn after which these system calls fail: seccomp(2), a program of classic BPF."""
    column = 0 if platform.machine() == "x86_64" else 1

    def install():
        code = [(0x20, 0, 0, 0)]  # load the number
        for i, name in enumerate(names):
            number = {**NUMBERS, "clone": (56, 220)}[name][column]
            code.append((0x15, len(names) - i, 0, number))  # equal: to the last statement
        code += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050000 | error)]  # allow; fail
        text = b"".join(struct.pack("HBBI", *statement) for statement in code)
        buffer = ctypes.create_string_buffer(text, len(text))
        program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer))
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(38, 1, 0, 0, 0) < 0 or libc.prctl(22, 2, program, 0, 0) < 0:  # no_new_privs; a filter
            raise OSError(ctypes.get_errno(), "seccomp")

    return install


def limit_descriptors(count):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


def figures(path):
    tree = json.loads(path.read_text())
    return tree["max_ram"]["combined"]["total_rss"], tree["cpu_time"]["combined"], tree["processes"]["max"]


JOB = [sys.executable, "-c", """
import os, time
block = b"1" * 30_000_000
if os.fork() == 0:
    time.sleep(0.4)
    os._exit(0)
end = time.process_time() + 0.05
while time.process_time() < end: pass
os.wait()
os._exit(3)
"""]


@pytest.mark.parametrize("names, error", [*(([name], error) for name in NUMBERS for error in (EPERM, ENOSYS)),
                                          (list(NUMBERS), ENOSYS), (list(NUMBERS), EPERM)])
def test_system_calls_that_are_forbidden(cli, tmp_path, names, error):
    done = cli("run", "--tf", "run.sqlite", "--st=0.1", "-o", "out.json", "--", *JOB, preexec_fn=forbid(names, error))
    assert done.returncode == 3
    ram, cpu, processes = figures(tmp_path / "out.json")
    assert 0.03 < ram < 0.1 and 0.05 < cpu < 1 and processes >= 2
    assert sqlite3.connect(tmp_path / "run.sqlite").execute("SELECT count(*) FROM data").fetchone()[0] > 1


@pytest.mark.parametrize("words", [["run", "--tf", "run.csv", "--blocks", "-o", "out.json"], ["block", "work"]])
def test_no_process_can_be_made(cli, tmp_path, words):
    done = cli(*words, "--", "echo", "done", preexec_fn=forbid(["clone", "clone3"], EPERM))
    assert (done.returncode, done.stdout) == (125, "") and "cannot start 'echo': Operation not permitted" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("count", [24, 16])
def test_few_descriptors(cli, tmp_path, count):
    done = cli("run", "--tf", "run.sqlite", "--st=0.1", "-o", "out.json", "--", *JOB, preexec_fn=limit_descriptors(count))
    assert done.returncode == 3
    assert "descriptors are short (ulimit -n)" in done.stderr
    ram, cpu, processes = figures(tmp_path / "out.json")
    assert 0.03 < ram < 0.1 and 0.05 < cpu < 1 and processes >= 2
    assert sqlite3.connect(tmp_path / "run.sqlite").execute("SELECT count(*) FROM data").fetchone()[0] > 1


def test_a_small_stack(cli, tmp_path):
    """Of 64 KiB, as with ulimit -s 64."""
    def limit():
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 16, 1 << 16))

    job = ("sh", "-c", "sleep 0.3; exit 3")
    for name in ("run.sqlite", "run.csv"):
        done = cli("run", "--blocks", "--tf", name, "--st=0.05", "-o", name + ".json", "--", *job, preexec_fn=limit)
        assert done.returncode == 3 and (tmp_path / (name + ".json")).exists(), done.stderr
        for words in (("report", name), ("report", name, "-o", name + ".html"), ("plot", name, "-o", name + ".svg"),
                      ("plot", name, "-o", name + ".png"), ("plot", name, "-o", name + ".pdf"), ("compare", name, name)):
            done = cli(*words, preexec_fn=limit)
            assert done.returncode == 0, (words, done.stderr)
    assert cli("doctor", preexec_fn=limit).returncode >= 0


@pytest.mark.parametrize("count", [9, 8])
def test_a_job_that_cannot_be_measured_runs(cli, count):
    done = cli("run", "--", "sh", "-c", "echo done; exit 4", preexec_fn=limit_descriptors(count))
    assert (done.returncode, done.stdout) == (4, "done\n")
    assert "nothing is measured: " in done.stderr or "descriptors are short" in done.stderr
    strict = cli("run", "--strict-recording", "--", "sh", "-c", "echo done", preexec_fn=limit_descriptors(count))
    assert (strict.returncode, strict.stdout) in [(125, ""), (0, "done\n")]


@pytest.mark.parametrize("error, cause", [(EPERM, "Operation not permitted"), (ENOSYS, "Function not implemented")])
def test_who_may_make_no_socket_is_not_told_to_join_a_group(cli, tmp_path, error, cause):
    done = cli("run", "--", "true", preexec_fn=forbid(["socket"], error))
    assert done.returncode == 0 and "energy relay" not in done.stderr  # there is none
    if os.path.exists("/sys/bus/event_source/devices/power"):
        pytest.skip("the relay is asked only on machines without energy counters of the kernel")
    (tmp_path / "energy.sock").touch()
    done = cli("run", "--library", f"energy-relay={tmp_path}/energy.sock", "--", "true", preexec_fn=forbid(["socket"], error))
    assert done.returncode == 0 and "usermod" not in done.stderr
    assert f"energy relay: this process may make no socket to ask it: {cause}" in done.stderr


# ---- a recording that is removed meanwhile ----

@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
@pytest.mark.parametrize("strict, status", [([], 0), (["--strict-recording"], 125)])
def test_a_recording_that_is_removed(cli, tmp_path, suffix, strict, status):
    script = f"until [ -e gone/run.{suffix} ]; do sleep 0.01; done; sleep 0.3; rm -r gone; sleep 0.3"
    done = cli("run", *strict, "--tf", f"gone/run.{suffix}", "--st=0.1", "-o", "out.json", "--", "sh", "-c", script)
    assert done.returncode == status and figures(tmp_path / "out.json")[0] > 0
    assert f"gone/run.{suffix} was removed or replaced while it was written" in done.stderr
    assert f"report gone/run.{suffix}" not in done.stderr


def test_another_file_in_its_place_is_kept(cli, tmp_path):
    script = "sleep 0.4; rm run.csv; echo mine >run.csv; sleep 0.3"
    done = cli("run", "--tf=run.csv", "--st=0.1", "-o", "out.json", "--", "sh", "-c", script)
    assert done.returncode == 0 and (tmp_path / "run.csv").read_text() == "mine\n"
    assert "run.csv was removed or replaced while it was written" in done.stderr


def test_a_pipe_that_nobody_reads(cli, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = cli("run", "-o", "pipe", "--", "sh", "-c", "exit 3")
    assert done.returncode != 0 and "cannot write the report to 'pipe'" in done.stderr and "Max RAM" in done.stderr


def test_a_recording_that_is_empty_says_so(cli, tmp_path):
    tracker = ["run", QUIET, "--tf=run.sqlite", "--st=0.1", "-o", "out", "--", "sh", "-c", "sleep 0.4; kill -9 $PPID"]
    assert cli(*tracker).returncode == -9 and (tmp_path / "run.sqlite-wal").exists()
    os.truncate(tmp_path / "run.sqlite", 0)
    done = cli("report", "run.sqlite")
    assert done.returncode == 2 and done.stderr == "gpu-tracker: run.sqlite is empty\n"


@pytest.mark.parametrize("strict, status", [([], 0), (["--strict-recording"], 125)])
def test_a_full_disk(cli, tmp_path, strict, status):
    """A limit of the size of files stands for it; SIGXFSZ would end a program that does not take it."""
    filling = ["sh", "-c", "while [ $(stat -c %s run.csv 2>/dev/null || echo 0) -lt 25000 ]; do sleep 0.1; done; sleep 1.5"]
    signal_free = lambda: (resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000)), signal.signal(signal.SIGXFSZ, signal.SIG_IGN))  # noqa: E731
    done = cli("run", *strict, "--tf=run.csv", "--st=0.01", "-o", "-", "--", *filling, preexec_fn=signal_free)
    assert done.returncode == status
    assert "The recording has stopped: run.csv: File too large" in done.stderr
    assert "Max RAM:" in done.stdout
    assert os.path.getsize(tmp_path / "run.csv") <= 30_000
    assert cli("report", "run.csv").returncode == 0


@pytest.mark.parametrize("name", ["run.csv", "run.sqlite"])
def test_a_disk_without_room_for_more_files_says_so(gpu_tracker, tmp_path, name):
    """SQLite makes more beside the database, and would say of them that they are not there."""
    (tmp_path / "disk").mkdir()
    script = f"""for inodes in 2 3 4 5 6; do
        mount -t tmpfs -o size=1m,nr_inodes=$inodes tmpfs disk || exit 77
        {gpu_tracker} run --tf disk/{name} --st=0.05 -o /dev/null -- sh -c 'sleep 0.2; exit 3'
        [ $? = 3 ] || echo "status $?"
        umount disk
    done"""
    user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    done = subprocess.run(["unshare", *user, "--mount", "sh", "-c", script], cwd=tmp_path, capture_output=True, text=True,
                          timeout=60, check=False)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("this user may mount nothing")
    assert "No such file" not in done.stderr and "status" not in done.stdout, done.stderr
    assert name == "run.csv" or "No space left on device" in done.stderr


def test_a_disk_that_blocks_fill(gpu_tracker, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "job.py").write_text("def f(): pass\nfor _ in range(20000): f()\n")
    script = f"""mount -t tmpfs -o size=1m tmpfs disk || exit 77
        {gpu_tracker} run --quiet --no-history --python-blocks job.f --tf disk/run.sqlite -- {sys.executable} job.py
        {gpu_tracker} analyze disk/run.sqlite >/dev/null || echo "status $?"
        grep -c "^[0-9]*,job.f,1," disk/run.sqlite.blocks/*.csv"""
    user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    done = subprocess.run(["unshare", *user, "--mount", "sh", "-c", script], cwd=tmp_path, capture_output=True, text=True,
                          timeout=60, check=False)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("this user may mount nothing")
    if "which did not load" in done.stderr:
        pytest.skip("the helper was not built: no Python.h")
    lost = re.search(r"^gpu-tracker: (\d+) calls of blocks of process \d+ were not kept: .*: No space left on device$", done.stderr, re.M)
    assert f"; the blocks stay in {tmp_path}/disk/run.sqlite.blocks, where analyze reads them\n" in done.stderr
    assert int(done.stdout) + int(lost[1]) in (20000, 20001), done.stderr  # the last row may be torn


def test_a_link_instead_of_the_blocks_of_a_killed_tracker_is_not_followed(cli, gpu_tracker, tmp_path):
    script = f"{gpu_tracker} block work -- true; while [ ! -e run.csv ]; do sleep 0.01; done; kill -9 $PPID"
    assert cli("run", QUIET, "--blocks", "--st=0.05", "--tf=run.csv", "-o", "out", "--", "sh", "-c", script).returncode == -9
    words = ["sub-track", "analyze", "--tracking-file=run.csv"]
    assert "work" in cli(*words).stdout
    (tmp_path / "run.csv.blocks").rename(tmp_path / "away")
    (tmp_path / "run.csv.blocks").symlink_to("away")
    done = cli(*words)
    assert done.returncode == 2 and done.stdout == "" and "run.csv.blocks is a symbolic link, which is not followed" in done.stderr
    assert cli("timeline", "info", "run.csv").stdout.count("work") == 0
    assert "work" in cli(*words, "--sub-tracking-file=away").stdout


def test_a_job_killed_while_it_makes_its_first_file_of_blocks(cli, tmp_path):
    """What it was making has no block: there is nothing to say of it, and nothing to keep."""
    making = 'touch "$GPU_TRACKER_BLOCKS/.gpu-tracker-$$-0.part"; kill -9 $$'
    done = cli("run", "--quiet", "--no-history", "--tracking-file", "run.csv", "--blocks", "--", "sh", "-c", making)
    assert done.returncode == 137 and "blocks" not in done.stderr
    assert not (tmp_path / "run.csv.blocks").exists() and (tmp_path / "run.csv").exists()


@pytest.mark.parametrize("script, said", [
    ("rm -r run.csv.blocks", "run.csv.blocks was removed meanwhile: the code blocks in it are lost"),
    ("mv run.csv.blocks away", "run.csv.blocks was removed meanwhile"),
    ("rm -r run.csv.blocks; mkdir run.csv.blocks; echo mine >run.csv.blocks/mine",
     "run.csv.blocks was replaced meanwhile: its code blocks are lost"),
    ("mv run.csv.blocks away; ln -s away run.csv.blocks", "run.csv.blocks was replaced meanwhile"),
    ("mv run.csv.blocks away; cp -r away run.csv.blocks", "run.csv.blocks was replaced meanwhile"),
    ("rm -r run.csv.blocks; echo mine >run.csv.blocks", "run.csv.blocks was replaced meanwhile"),
])
@pytest.mark.parametrize("strict, status", [([], 0), (["--strict-recording"], 125)])
def test_a_folder_of_blocks_that_is_taken_away(cli, gpu_tracker, tmp_path, script, said, strict, status):
    done = cli("run", QUIET, *strict, "--blocks", "--st=0.05", "--tf=run.csv", "-o", "out", "--", "sh", "-c",
               f"{gpu_tracker} block work -- true; {script}")
    assert done.returncode == status and done.stderr.count(said) == 1, done.stderr
    assert not (tmp_path / "run.blocks.csv").exists()
    mine = [path for path in [tmp_path / "run.csv.blocks/mine", tmp_path / "run.csv.blocks"] if path.is_file()]
    assert all(path.read_text() == "mine\n" for path in mine)
