"""Running the command line: without the tester's own configuration, and with errors looked at in one way."""
import json
import os
import signal
import subprocess

import pytest
from serving import Server


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, tmp_path):
    """No configuration of the machine's user reaches a test."""
    for name in list(os.environ):
        if name.startswith("GPU_TRACKER_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))


@pytest.fixture
def cli(gpu_tracker, tmp_path):
    """cli("run", "--", "true"): the completed process, run in tmp_path."""

    def run(*words, **keywords):
        keywords = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 120, **keywords}
        return subprocess.run([gpu_tracker, *map(str, words)], check=False, **keywords)

    return run


@pytest.fixture
def refused(cli, tmp_path):
    """refused(2, "what", "run", ...): ended with status 2, one line that names "what", and nothing started."""

    def run(status, naming, *words, **keywords):
        before = sorted(path.name for path in tmp_path.iterdir())
        done = cli(*words, **keywords)
        assert done.returncode == status, done
        lines = done.stderr.splitlines()
        assert len(lines) == 1 and lines[0].startswith("gpu-tracker: "), done.stderr
        assert naming in lines[0]
        assert done.stdout == ""
        assert sorted(path.name for path in tmp_path.iterdir()) == before
        return lines[0]

    return run


@pytest.fixture
def profiled(cli):
    """What `profile` says of files, from its JSON."""

    def run(*words, status=0):
        done = cli("profile", *words, "--format=json")
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture
def serve(gpu_tracker, tmp_path):
    """serve("--all"): a Server on a free port, ended after the test with SIGTERM and status 0."""
    running = []

    def start(*options, **keywords):
        process = subprocess.Popen([gpu_tracker, "serve", "--listen", "127.0.0.1:0", "--disable-logs", *options],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, **keywords)
        running.append(process)
        address = process.stdout.readline().strip()
        assert address, process.stderr.read()
        return Server(process, address)

    yield start
    for process in running:
        process.send_signal(signal.SIGTERM)
        _, complaint = process.communicate(timeout=120)
        assert (process.returncode, complaint) == (0, "")
