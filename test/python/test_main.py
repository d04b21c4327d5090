"""python -m gpu_tracker is the command."""
import importlib.util
import shutil
import signal
import subprocess
import sys

import gpu_tracker._program
import pytest

MODULE = [sys.executable, "-m", "gpu_tracker"]


def run(program, words, **keywords):
    done = subprocess.run([*program, *words], capture_output=True, check=False, timeout=120, **keywords)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("words", [
    ["--version"], ["help"], ["help", "run"], ["schema", "--format", "json"], ["nonsense"], [], ["run", "--sleep-time", "x", "--", "true"],
    ["run", "--", "no such command"], ["sub-track", "combine", "--stf", "none.csv", "-p", "nowhere"], ["report", b"\xff.csv"]])
def test_the_same_streams_and_status(words):
    assert run(MODULE, words) == run([gpu_tracker._program.find()], words)


def test_status_and_input_of_the_tracked_command():
    status, printed, _ = run(MODULE, ["run", "--output", "report", "--", "sh", "-c", "cat; exit 7"], input=b"fed in")
    assert status == 7 and printed.startswith(b"fed in")
    assert open("report").read().startswith("Max RAM:")


def test_no_signal_is_ignored_for_pythons_sake():
    status, _, _ = run(MODULE, ["run", "-o", "report", "--", "sh", "-c", "kill -PIPE $$; exit 7"])
    assert status == 128 + signal.SIGPIPE


def test_a_package_without_its_program(monkeypatch, tmp_path):
    from gpu_tracker import __main__

    monkeypatch.setattr(gpu_tracker._program, "_candidates", lambda: [str(tmp_path)])
    with pytest.raises(SystemExit, match="^gpu-tracker: the gpu-tracker program of the gpu_tracker package is missing"):
        __main__.main()


def test_a_repaired_wheel_has_it_elsewhere(tmp_path):
    """auditwheel moves a program there that needs shared libraries, and leaves a script for Python in its place."""
    program = tmp_path / "libgputracker.scripts/gpu-tracker"
    program.parent.mkdir()
    program.symlink_to(gpu_tracker._program.find())
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gpu-tracker").write_text("#!/usr/bin/python3\n")
    (tmp_path / "gpu_tracker").mkdir()
    copy = shutil.copy(gpu_tracker._program.__file__, tmp_path / "gpu_tracker")
    spec = importlib.util.spec_from_file_location("_program", copy)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.find() == str(program)
