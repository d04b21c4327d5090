"""What every pytest here shares: where the built programs are, and how to run them."""
import gc
import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
GPU_TRACKER = pathlib.Path(os.environ.get("GPU_TRACKER", BUILD / "gpu-tracker"))

# What pytest makes of the test files is kept for its other workers and the next run; programs under test leave nothing there.
sys.dont_write_bytecode = False

# Each worker reads all files: nothing of that is garbage.
gc.disable()

# A shell that starts the tests in the background ignores these, and every program under test would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# No test writes to the list of runs of whoever runs the tests, or shows them a job of theirs.
STATE = BUILD / "test" / "state"
STATE.mkdir(parents=True, exist_ok=True)
os.environ["XDG_STATE_HOME"] = os.environ["XDG_RUNTIME_DIR"] = str(STATE)


def pytest_make_parametrize_id(val, argname):
    """Bytes may hold the time of day (gzip does), and then the workers of one run would not agree on the names of the tests."""
    return f"{argname} of {len(val)} bytes" if isinstance(val, bytes) else None


def pytest_terminal_summary(terminalreporter):
    """List the tests that were skipped, and files skipped as a whole, in the file that TEST_SKIPPED names."""
    if path := os.environ.get("TEST_SKIPPED"):
        names = sorted({report.nodeid for report in terminalreporter.stats.get("skipped", [])})
        pathlib.Path(path).write_text("".join(f"{name}\n" for name in names))


@pytest.fixture(scope="session")
def gpu_tracker():
    """Path of the program under test."""
    return str(GPU_TRACKER)


@pytest.fixture(scope="session")
def truth():
    """truth("burn", 1, 0.5, 100): path and arguments of a program of known behaviour, as a list of strings."""
    return lambda name, *arguments: [str(BUILD / "test" / "truth" / name), *map(str, arguments)]


@pytest.fixture(scope="session")
def fake():
    """fake("nvml"): path of a stand-in for a driver library."""
    return lambda name: str(BUILD / "test" / "fake" / f"lib{name}.so")


@pytest.fixture
def track(gpu_tracker, tmp_path):
    """track(command, *options): run `gpu-tracker run`; the completed process and the JSON report (None without one)."""

    def run(command, *options, **keywords):
        report = tmp_path / "report.json"
        line = [gpu_tracker, "run", "--format", "json", "--output", str(report), *options, "--", *command]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False, **keywords)
        return done, json.loads(report.read_text()) if report.exists() else None

    return run


# Files whose tests take longest, together or the longest of them: they begin first, so that no processor waits for the last.
LONG = ["test_shortage.py", "test_energy_partial.py", "test_truth.py", "test_push.py", "test_page.py", "test_terminal.py", "test_serve.py",
        "test_original_command.py", "test_notebook.py", "test_detail.py", "test_top.py", "test_energy_relay.py", "test_job_folder.py",
        "test_tracker.py", "test_silent_server.py", "test_slurm.py", "test_original_tracker.py", "test_serve_pages.py",
        "test_python_blocks.py", "test_gpu_kit.py", "test_gpu.py", "test_given_files.py", "test_readme.py", "test_package.py",
        "test_warnings.py", "test_power_drivers.py", "test_sub_tracker_shared.py", "test_pytest_plugin.py", "test_hostile.py"]


def pytest_collection_modifyitems(config, items):
    """Repetitions marked `long` run with TEST_LONG in the environment only: make test-long."""
    if not os.environ.get("TEST_LONG"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


def pytest_configure(config):
    config.addinivalue_line("markers", "long: one more repetition (make test-long)")
    config.addinivalue_line("markers", "sanitize: also run with the sanitizers (make python-sanitize)")
    config.addinivalue_line("markers", "sanitize_long: what it adds is Python: with the sanitizers not in make test")
    config.addinivalue_line("markers", "plain_heap: not with them, which are slow, and keep freed memory")
