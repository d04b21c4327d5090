"""Jobs of Slurm, and other launchers whose work is not below them. With a Slurm of one node where one may be started."""
import json
import os
import pathlib
import shutil
import socket
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
    assert "Slurm keeps no control groups of this job here" in done.stderr
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
SlurmdPort={daemon}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}
SlurmdSpoolDir={folder}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
SelectType=select/cons_tres
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=500 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""

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
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """A controller and a node, on this machine."""
    if os.geteuid() != 0 or not all(map(shutil.which, PROGRAMS)):
        pytest.skip("no Slurm, or not root: make test-slurm")
    folder = tmp_path / "slurm"
    folder.mkdir(mode=0o755)
    (folder / "key").write_bytes(os.urandom(128))
    (folder / "key").chmod(0o400)
    host = socket.gethostname().split(".")[0]
    (folder / "cgroup.conf").write_text("CgroupPlugin=autodetect\n")
    (folder / "slurm.conf").write_text(CONFIGURATION.format(
        host=host, folder=folder, controller=free_port(), daemon=free_port(), cpus=os.cpu_count()))
    monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
    servers = [
        ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket", f"--key-file={folder}/key",
         f"--pid-file={folder}/munge.pid", f"--log-file={folder}/munge.log", f"--seed-file={folder}/seed"],
        ["slurmctld", "-D", "-f", str(folder / "slurm.conf")],
        ["slurmd", "-D", "-f", str(folder / "slurm.conf")],
    ]
    running = []
    try:
        for command in servers:
            running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            time.sleep(0.5)
        yield tmp_path
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait(timeout=120)


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "took too long"
        time.sleep(0.2)


def test_tasks_of_srun_belong_to_the_job(slurm, gpu_tracker):
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
