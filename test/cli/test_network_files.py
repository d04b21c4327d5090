"""Recordings where locks and shared memory are not what SQLite wants: file systems of a network, of which a preloaded library plays one."""
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import time

import pytest

NFS, LUSTRE = "6969", "0bd00bd0"
PLACES = {
    "network": {"FAKE_FILE_SYSTEM": NFS},
    "network without locks": {"FAKE_FILE_SYSTEM": LUSTRE, "FAKE_LOCKS": "0"},
    "no locks": {"FAKE_LOCKS": "0"},
    "no shared memory": {"FAKE_SHARED_MEMORY": "0"},
    "neither": {"FAKE_LOCKS": "0", "FAKE_SHARED_MEMORY": "0"},
}


@pytest.fixture(params=PLACES.values(), ids=PLACES)
def place(request, fake):
    """The environment of programs that meet such a file system."""
    return {**os.environ, **request.param, "LD_PRELOAD": fake("network_fs")}


@pytest.fixture
def start(gpu_tracker, place, tmp_path):
    def run(name, *command):
        return subprocess.Popen([gpu_tracker, "run", "--no-history", "--disable-logs", "--st", "0.02", "--tf", name, "--", *command],
                                cwd=tmp_path, env=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return run


@pytest.fixture
def samples(gpu_tracker, tmp_path):
    """How many samples a recording has, in a report made in such a place."""
    def read(name, environment):
        done = subprocess.run([gpu_tracker, "report", name, "-f", "json"], cwd=tmp_path, env=environment, text=True, capture_output=True,
                              timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["tracker"]["samples"]
    return read


def test_a_killed_tracker_leaves_what_can_be_read(start, samples, place, tmp_path):
    tracker = start("run.sqlite", "sleep", "60")
    try:
        seen, until = 0, time.monotonic() + 60
        while seen < 5 and time.monotonic() < until:  # the second writing, a second after the first
            time.sleep(0.1)
            if (tmp_path / "run.sqlite").exists():
                seen = samples("run.sqlite", place)
        assert seen >= 5
        assert not (tmp_path / "run.sqlite-wal").exists()
    finally:
        tracker.send_signal(signal.SIGKILL)
        tracker.wait()
    assert samples("run.sqlite", place) >= seen
    assert samples("run.sqlite", os.environ) >= seen  # as when it was copied to a disk of our own


def test_a_finished_recording_is_one_file(start, samples, place, tmp_path):
    tracker = start("run.sqlite", "sleep", "0.3")
    assert "recording" not in tracker.communicate(timeout=120)[1]
    assert tracker.returncode == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.sqlite"]
    assert samples("run.sqlite", place) > 3
    with sqlite3.connect(pathlib.Path(tmp_path / "run.sqlite")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("SELECT value FROM outcome WHERE key = 'complete'").fetchone() == (1,)
