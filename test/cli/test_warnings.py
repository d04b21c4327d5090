"""What is remarkable about a run: out of memory in a real control group, limits of schedulers, GPUs that idle, and where it is told."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest

LIMIT = 300_000_000
GROWS = "import time\ndata = []\nwhile True:\n    data.append(b'x' * 10_000_000)\n    time.sleep(0.01)\n"


def own_group(controller):
    """The folder of this process's control group, and whether it is of version 2."""
    lines = [line.split(":", 2) for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()]
    for _, controllers, path in lines:
        if controller in controllers.split(","):
            return pathlib.Path(f"/sys/fs/cgroup/{controller}{path}"), False
    return pathlib.Path("/sys/fs/cgroup" + lines[-1][2]), True


@pytest.fixture
def group():
    """group.run(words): in a control group of 300 MB without swap."""
    parent, is_unified = own_group("memory")
    folder = parent / f"gpu-tracker-test-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / ("memory.max" if is_unified else "memory.limit_in_bytes")).write_text(str(LIMIT))
    except OSError as error:
        with contextlib.suppress(OSError):
            folder.rmdir()
        pytest.skip(f"no control group with a limit can be made here: {error}")
    yield folder
    for _ in range(100):
        for left in [*folder.glob("*/"), folder]:  # by a tracker that was killed
            with contextlib.suppress(OSError):
                left.rmdir()
        if not folder.exists():
            break
        time.sleep(0.05)


@pytest.fixture
def limited(group, gpu_tracker, tmp_path, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C.UTF-8")

    def run(*words):
        """Once more where the kernel took the tracker, too, which lies in the same group: memory of who was killed goes late."""
        line = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh", gpu_tracker, "run", "--overwrite", "--st=0.05", *words]
        for _ in range(10):
            done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
            if done.returncode != -9:
                break
        return done

    return run


def test_killed_for_memory(limited, cli):
    done = limited("--tf=run.sqlite", "--", sys.executable, "-c", GROWS)
    assert done.returncode == 137, done.stderr
    head = done.stderr.splitlines()[0]
    assert re.search(r"   OUT OF MEMORY, killed at [\d.]+ m?s$", head), done.stderr
    assert re.search(r"^  ! the kernel killed \S+ \(pid \d+, (29|30)\d MB\) at the limit of 300 MB$", done.stderr, re.MULTILINE)
    assert re.search(r"^    memory grew by [\d.]+ [MG]B a second at the end$", done.stderr, re.MULTILINE), done.stderr
    assert re.search(r"^  memory    (29|30)\d MB .* peak, at the limit of 300 MB(,.*)?$", done.stderr, re.MULTILINE)
    report = json.loads(cli("report", "-f", "json", "run.sqlite").stdout)
    assert report["warnings"][0]["name"] == "out_of_memory"
    assert report["limits"]["memory_limit"] == pytest.approx(LIMIT, rel=0.001)
    assert report["limits"]["memory_limit_source"] in ("memory.max", "memory.limit_in_bytes")


def test_in_which_block(limited):
    pytest.importorskip("gpu_tracker")
    grows = "import gpu_tracker\nwith gpu_tracker.SubTracker('prepare'): pass\nwith gpu_tracker.SubTracker('load'):\n "
    grows += GROWS.replace("\n", "\n ")
    done = limited("--blocks", "--tf=run.sqlite", "--", sys.executable, "-c", grows)
    assert done.stderr.splitlines()[0].endswith("s") and "OUT OF MEMORY, killed at" in done.stderr, done.stderr
    assert re.search(r'^    memory grew by [\d.]+ [MG]B a second at the end, in block "load"$', done.stderr, re.MULTILINE), done.stderr


def test_a_child_is_killed_and_the_job_goes_on(limited):
    done = limited("--", "sh", "-c", f'"{sys.executable}" -c "$1"; sleep 0.2; exit 4', "sh", GROWS)
    assert done.returncode == 4
    assert "   OUT OF MEMORY, exit 4, " in done.stderr
    killed = r"^  ! the kernel killed \S+ \(pid \d+, (2[5-9]|30)\d MB\) at the limit of 300 MB$"
    assert re.search(killed, done.stderr, re.MULTILINE), done.stderr


@pytest.mark.parametrize("is_taken_away", [False, True])
def test_in_a_group_that_the_job_made(group, cli, is_taken_away):
    """As systemd-run and containers do: the job's own group has no limit and counts no kill of version 1. Where the folder goes with
    its last process, what is left is the machine's count."""
    away = f'rmdir "{group}"; sleep 0.2; exit 4' if is_taken_away else "sleep 0.2; exit 4"
    script = f'held=1; sh -c \'echo $$ > {group}/cgroup.procs && exec "$@"\' sh "{sys.executable}" -c "$1"; {away}'
    words = ["--st=0.05", "--blocks", "--disable-logs", "--no-history", "--tf=run.sqlite"]
    done = cli("run", *words, "--", "sh", "-c", script, "sh", GROWS)
    assert done.returncode == 4
    assert re.search("   (probably )?OUT OF MEMORY, exit 4, " if is_taken_away else "   OUT OF MEMORY, exit 4, ", done.stderr), done.stderr
    report = json.loads(cli("report", "-f", "json", "run.sqlite").stdout)
    killed = r"the kernel (probably )?killed python\S* \(pid \d+, \d+ MB\) at the limit of 300 MB"
    assert re.fullmatch(killed, report["warnings"][0]["sentence"]), report["warnings"]
    assert report["next_time"]["killed_at"] == pytest.approx(LIMIT, rel=0.001) and report["next_time"]["memory"] >= 2 * LIMIT * 0.999


def test_nobody_is_blamed_for_a_signal(limited):
    done = limited("--", "sh", "-c", "sleep 0.2; kill -9 $$")
    assert done.returncode == 137 and "exit 137 (SIGKILL)" in done.stderr and "MEMORY" not in done.stderr


SLURM = {"SLURM_JOB_ID": "1", "SLURM_MEM_PER_NODE": "65536", "SLURM_CPUS_PER_TASK": "16", "SLURM_GPUS_ON_NODE": "1"}


def test_no_more_than_all_of_the_cores_is_efficient(cli, monkeypatch):
    """Where nothing holds a job to what it asked for, it may use more: that is said instead of 190 % efficient."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two cores are needed")
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "1")
    work = "timeout 2 sh -c 'while :; do :; done'"
    done = cli("run", "--disable-logs", "--no-history", "--", "sh", "-c", f"{work} & {work} & {work} & wait; true")
    busy = float(re.search(r"^  cpu +([\d.]+) ", done.stderr, re.MULTILINE)[1])
    words = re.search(r"^  cpu .*(cores busy.*)$", done.stderr, re.MULTILINE)[1]
    assert words == "cores busy, more than the 1 asked for" if busy > 1.06 else re.search(r": (100|[\d.]{1,4}) % efficient", words)


def test_what_slurm_was_asked_for(cli, monkeypatch):
    for name, value in {**SLURM, "SLURM_JOB_END_TIME": str(int(time.time()) + 30)}.items():
        monkeypatch.setenv(name, value)
    done = cli("run", "--disable-logs", "--tf=run.sqlite", "--", "sh", "-c", "sleep 0.3; kill -TERM $$")
    assert re.search(r"^  memory .* peak; [\d.]+ % of 64G asked for", done.stderr, re.MULTILINE), done.stderr
    cores = min(16, len(os.sched_getaffinity(0)))  # as many as the machine has
    busy = rf"^  cpu .* cores busy(: [\d.]+ % of the {cores} here \(16 asked for\)| of 16: [\d.]+ % efficient)$"
    assert re.search(busy, done.stderr, re.MULTILINE), done.stderr
    assert "  ! the job was probably ended for its time: " in done.stderr
    assert re.search(r"^  ! 64G asked for, [\d.]+ MB used$", done.stderr, re.MULTILINE)
    limits = json.loads(cli("report", "-f", "json", "run.sqlite").stdout)["limits"]
    assert limits["scheduler"] == "slurm" and limits["memory"] == 65536 << 20 and limits["memory_source"] == "SLURM_MEM_PER_NODE"
    assert (limits["cores"], limits["gpus"]) == (16, 1) and 25 < limits["time"] <= 31


@pytest.fixture
def slurm(monkeypatch):
    for name, value in SLURM.items():
        monkeypatch.setenv(name, value)


def test_where_warnings_are(cli, slurm, tmp_path):
    words = ["--disable-logs", "--tf=run.sqlite", "--", "sleep", "0.2"]
    assert re.search(r"^  ! 64G asked for", cli("run", "--quiet", *words).stderr, re.MULTILINE)
    assert cli("run", "--overwrite", "-o", "a.txt", *words).returncode == 0
    for path in "a.csv", "a.md", "a.html", "a.json", "a.txt":
        assert cli("report", "run.sqlite", "-o", path).returncode == 0
        assert "64G asked for" in (tmp_path / path).read_text(), path
    original = cli("-e", "sleep 0.2", "--disable-logs").stdout
    assert "asked for" not in original and "Warnings" not in original


def test_a_recording_in_csv_knows_the_limits(cli, slurm):
    assert cli("run", "--disable-logs", "--tf=run.csv", "--", "sleep", "0.2").returncode == 0
    report = json.loads(cli("report", "-f", "json", "run.csv").stdout)
    assert report["limits"]["memory"] == 65536 << 20 and report["warnings"][0]["name"] == "memory_unused"


def test_gpus_that_idle_and_slow_down(cli, fake, slurm, tmp_path, monkeypatch):
    lines = ["version 12.550.54", "driver 550.54.15"]
    for device, use in (0, 80), (1, 1):
        lines += [f"device {device}", f"uuid GPU-{device}", "name Fake", "memory 80000000000 0 6000000000", f"utilization {use} 10",
                  "power_usage 300000", f"reasons {(1 - device) * 64}"]
    (tmp_path / "gpu.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("GT_FAKE_NVML", str(tmp_path / "gpu.txt"))
    text = cli("run", "--disable-logs", f"--library=nvml={fake('nvml')}", "--st=0.1", "--", "sleep", "1.5").stderr
    assert "  ! gpu 1 was idle: below 5 % for 100 % of the time\n" in text
    assert "  ! gpu 0 slowed down for 100 % of the time, by heat\n" in text
