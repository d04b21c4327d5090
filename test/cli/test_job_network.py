"""Bytes that the job's own sockets receive and send, counted in the kernel where root tracks it."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
from patience import wait_until

TALK = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
def take():
    connection = server.accept()[0]
    while connection.recv(1 << 20):
        pass
thread = threading.Thread(target=take)
thread.start()
with socket.create_connection(server.getsockname()) as connection:
    for _ in range(SIZE >> 20):
        connection.sendall(bytes(1 << 20))
thread.join()
"""
MEGABYTES = 32


def talk(size):
    return [sys.executable, "-c", TALK.replace("SIZE", str(size))]


def source(cli):
    return next(row for row in json.loads(cli("doctor", "-f", "json").stdout)["sources"] if row["source"] == "job_network")


@pytest.fixture
def counted(cli):
    if source(cli)["state"] != "ready":
        pytest.skip(source(cli)["reason"])


def test_bytes_of_the_job(counted, track):
    with subprocess.Popen(talk(64 << 20)):  # somebody else's
        done, report = track(talk(MEGABYTES << 20), "--disable-logs", "--tf=run.sqlite")
    assert done.returncode == 0
    for direction in "received", "sent":
        assert 1 <= report["job_network"][direction] / (MEGABYTES << 20) < 1.01
        assert report["provenance"][f"job_network.{direction}"]["exactness"] == "exact"


def test_short_job_and_its_children(counted, track):
    done, report = track(["sh", "-c", '"$@"; true', "sh", *talk(1 << 20)], "--disable-logs")
    assert done.returncode == 0 and 1 <= report["job_network"]["sent"] / (1 << 20) < 1.1
    assert track(["true"], "--disable-logs")[1]["job_network"] == {"received": 0, "sent": 0}


def test_nothing_stays_of_a_tracker_that_was_killed(counted, gpu_tracker, cli, tmp_path):
    def left():
        return glob.glob(f"/sys/fs/cgroup/**/gpu-tracker-{process.pid}", recursive=True)  # groups of others vanish meanwhile

    words = [gpu_tracker, "run", "--quiet", "--no-history", "--", "sh", "-c", "echo $$ >started; exec sleep 600"]
    with subprocess.Popen(words, cwd=tmp_path) as process:
        wait_until(lambda: (tmp_path / "started").exists() and (tmp_path / "started").read_text())
        assert left()
        process.kill()
    os.kill(int((tmp_path / "started").read_text()), signal.SIGKILL)
    wait_until(lambda: not (cli("run", "--quiet", "--no-history", "--", "true"), left())[1])


def test_without_the_right(gpu_tracker, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")
    tmp_path.chmod(0o777)
    words = [gpu_tracker, "run", "--disable-logs", "--no-history", "-o", "-", "-f", "json", "--", "true"]
    done = subprocess.run(words, cwd="/", capture_output=True, text=True, check=False, user="nobody", group="nogroup", extra_groups=[])
    if done.returncode in (126, 127):
        pytest.skip("this folder is not for others")
    report = json.loads(done.stdout)
    assert report["job_network"] == {"received": None, "sent": None} and "CAP" not in done.stderr


def test_attached_job(gpu_tracker, tmp_path):
    line = [gpu_tracker, "attach", "--disable-logs", "-f", "json", "-o", "out.json", "--tf", "run.csv"]
    with subprocess.Popen(["sleep", "600"]) as process, subprocess.Popen([*line, str(process.pid)], cwd=tmp_path) as tracker:
        wait_until((tmp_path / "run.csv").exists)
        process.kill()
    assert tracker.returncode == 0 and json.loads((tmp_path / "out.json").read_text())["job_network"]["sent"] is None


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="takes root, and setpriv")
def test_root_of_a_container_is_not_told_at_each_run(gpu_tracker):
    rights = "-bpf,-net_admin,-sys_admin"
    words = ["setpriv", f"--inh-caps={rights}", f"--bounding-set={rights}", gpu_tracker, "run", "-q", "--no-history", "--", "true"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "packets" not in done.stderr
