"""Jobs of Slurm, and other launchers whose work is not below them. With a Slurm of one node where one may be started."""
import contextlib
import json
import os
import pathlib
import random
import shlex
import shutil
import socket
import sqlite3
import subprocess
import time

import pytest

PROGRAMS = ["slurmctld", "slurmd", "munged", "sbatch", "squeue"]


def stand_in(tmp_path, name):
    program = tmp_path / name
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("name, advice", [
    ("srun", "on other machines"), ("sbatch", "inside the script"), ("docker", "inside the container"), ("ssh", "ssh HOST gpu-tracker"),
])
def test_launchers_are_told_of(cli, tmp_path, name, advice):
    done = cli("run", "--", stand_in(tmp_path, name), "x")
    assert done.returncode == 0
    line, = [line for line in done.stderr.splitlines() if line.startswith("gpu-tracker: ") and name in line]
    assert line.startswith(f"gpu-tracker: {name} starts its work ") and advice in line
    assert name not in cli("run", "--disable-logs", "-o", "out", "--", tmp_path / name, "x").stderr


def test_others_are_not(cli, tmp_path):
    assert "starts its work" not in cli("run", "--", stand_in(tmp_path, "srunner")).stderr
    assert "starts its work" not in cli("run", "--", stand_in(tmp_path, "systemd-run"), "--scope", "x").stderr


def test_a_job_whose_tasks_cannot_be_found(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "4000000000")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "1")
    done = cli("run", "--", stand_in(tmp_path, "srun"))
    assert "Slurm has no control groups of this job on this node" in done.stderr
    assert "starts its work" not in done.stderr
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    assert "on other machines" in cli("run", "--", tmp_path / "srun").stderr


def test_marks_of_trackers_inside_trackers(cli, gpu_tracker, monkeypatch):
    show = "echo mark:$GPU_TRACKER_RUN"
    assert "mark:\n" in cli("run", "--", "sh", "-c", show).stdout
    monkeypatch.setenv("SLURM_JOB_ID", "4000000000")
    done = cli("run", "--", gpu_tracker, "run", "--", "sh", "-c", show)
    marks, = [line.split(":")[1].split() for line in done.stdout.splitlines() if line.startswith("mark:")]
    assert len(set(marks)) == 2


CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SelectType=select/cons_tres
ReturnToService=2
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory=500 State=UNKNOWN\n"
WITH_GROUPS = "ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup\n"
WITHOUT_GROUPS = "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"  # several nodes of a machine would share theirs

JOB = """#!/bin/bash
#SBATCH --ntasks=2 --output=out.txt
srun --ntasks=1 --overlap python3 -c 'import time; other = bytearray(300_000_000); time.sleep(5)' &
{tracker} run --format json --output report.json --st 0.1 -- srun --ntasks=2 --overlap python3 -c '
import time
held = bytearray(100_000_000)
while time.process_time() < 2:
    pass'
wait
"""


def free_port():
    """Below those that the kernel gives to connections: none of these takes it before the daemon is there."""
    lowest = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in random.sample(range(max(1024, lowest - 16384), lowest), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError(f"no port below {lowest} is free")


@pytest.fixture
def start_slurm(tmp_path, monkeypatch):
    """A controller, and nodes of these names, on this machine."""
    if os.geteuid() != 0 or not all(map(shutil.which, PROGRAMS)):
        pytest.skip("no Slurm, or not root: make test-slurm")
    folder = tmp_path / "slurm"
    folder.mkdir(mode=0o755)
    (folder / "key").write_bytes(os.urandom(128))
    (folder / "key").chmod(0o400)
    (folder / "cgroup.conf").write_text("CgroupPlugin=autodetect\n")
    monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
    running = []

    def start(nodes, groups):
        host = socket.gethostname().split(".")[0]
        lines = [NODE.format(name=name, host=host, port=free_port(), cpus=os.cpu_count()) for name in nodes]
        (folder / "slurm.conf").write_text(CONFIGURATION.format(host=host, folder=folder, controller=free_port()) + groups +
                                           "".join(lines))
        servers = [
            ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket", f"--key-file={folder}/key",
             f"--pid-file={folder}/munge.pid", f"--log-file={folder}/munge.log", f"--seed-file={folder}/seed"],
            ["slurmctld", "-D", "-f", str(folder / "slurm.conf")],
            *(["slurmd", "-D", "-N", name, "-f", str(folder / "slurm.conf")] for name in nodes)]
        for command in servers:
            running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            time.sleep(0.5)
        return tmp_path

    try:
        yield start
    finally:
        if running:  # else steps outlive the daemons
            subprocess.run(["scancel", "--user=root"], stdin=subprocess.DEVNULL, timeout=60, check=False)
            with contextlib.suppress(AssertionError):
                wait_until(lambda: not subprocess.run(["squeue", "--noheader"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                                                      check=False).stdout, 10)
        for process in reversed(running):
            process.terminate()
            process.wait(timeout=120)


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "took too long"
        time.sleep(0.2)


def test_tasks_of_srun_belong_to_the_job(start_slurm, gpu_tracker):
    slurm = start_slurm([socket.gethostname().split(".")[0]], WITH_GROUPS)
    (slurm / "job.sh").write_text(JOB.format(tracker=pathlib.Path(gpu_tracker).resolve()))

    def submits():
        return subprocess.run(["sbatch", "job.sh"], cwd=slurm, capture_output=True, check=False).returncode == 0

    wait_until(submits, 20)
    wait_until((slurm / "report.json").exists, 60)
    wait_until(lambda: (slurm / "report.json").stat().st_size, 5)
    report = json.loads((slurm / "report.json").read_text())
    descendants = report["max_ram"]["descendants"]["private_rss"] * 1e9
    assert 2e8 < descendants < 3e8, "both tasks, and not the other step's"
    assert report["cpu_time"]["combined"] == pytest.approx(4, abs=1)


def ask(gpu_tracker, *words):
    done = subprocess.run([gpu_tracker, *map(str, words), "-f", "json"], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_ranks_of_four_nodes_are_a_job(start_slurm, gpu_tracker):
    """Eight ranks that srun starts, rank 5 of which fails; then a tracker on each node with two ranks below it."""
    nodes = ["n0", "n1", "n2", "n3"]
    slurm = start_slurm(nodes, WITHOUT_GROUPS)
    tracker = [str(pathlib.Path(gpu_tracker).resolve()), "run", "--no-history", "-q", "--st", "0.1", "--tf", "run-%j/%r.sqlite", "--"]
    srun = ["srun", "--nodes=4", "--overcommit", "--immediate=10"]

    def runs():
        return subprocess.run([*srun, "--ntasks=4", "true"], cwd=slurm, capture_output=True, timeout=100, check=False).returncode == 0

    wait_until(runs, 60)
    line = [*srun, "--ntasks=8", *tracker, "sh", "-c", "sleep 1; test $SLURM_PROCID != 5"]
    done = subprocess.run(line, cwd=slurm, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 1, done.stderr
    folder, = slurm.glob("run-*")
    job = ask(gpu_tracker, "report", folder)
    assert job["job"]["name"] == f"test:{folder.name.removeprefix('run-')}.0" and job["job"]["launcher"] == "srun"
    assert [row["rank"] for row in job["ranks"]] == list(range(8)) and job["job"]["missing"] == 0
    assert [row["rank"] for row in job["ranks"] if row["exit_status"]] == [5]
    assert {place_of(path) for path in folder.iterdir()} == {(rank, f"n{rank // 2}", 8) for rank in range(8)}

    start = "for i in 0 1; do RANK=$((2 * SLURM_PROCID + i)) LOCAL_RANK=$i LOCAL_WORLD_SIZE=2 WORLD_SIZE=8 sleep 1 & done; wait"
    subprocess.run([*srun, "--ntasks-per-node=1", *tracker, "sh", "-c", start], cwd=slurm, check=True, timeout=200, capture_output=True)
    below, = set(slurm.glob("run-*")) - {folder}
    job = ask(gpu_tracker, "report", below)
    assert [row["rank"] for row in job["ranks"]] == list(range(8)) and job["job"]["recordings"] == 4
    assert job["job"]["launcher"] == "torchrun" and job["job"]["missing"] == 0

    before = set(slurm.glob("run-*"))
    step = shlex.join(["srun", "--ntasks=8", "--overcommit", *tracker, "sleep", "1"])
    (slurm / "steps.sh").write_text(f"#!/bin/sh\n{step}\n{step}\n")
    batch = ["sbatch", "--wait", "--nodes=4", "--ntasks=8", "--overcommit", "--output=steps.txt", "steps.sh"]
    subprocess.run(batch, cwd=slurm, check=True, timeout=200, capture_output=True)
    both, = set(slurm.glob("run-*")) - before
    job = ask(gpu_tracker, "report", both)
    number = f"test:{both.name.removeprefix('run-')}"
    assert job["job"]["name"].split(", ") == [f"{number}.0", f"{number}.1"], (slurm / "steps.txt").read_text()
    assert (job["job"]["recordings"], job["job"]["ranks"], job["job"]["missing"]) == (16, 16, 0)
    assert {(place_of(path)[0], path.name) for path in both.iterdir()} == {
        (rank, f"{rank}{more}.sqlite") for rank in range(8) for more in ("", "-2")}


def place_of(path):
    with sqlite3.connect(path) as database:
        return database.execute("SELECT rank, node_name, world_size FROM static_data").fetchone()
