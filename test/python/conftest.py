"""Running the installed package, also in processes of its own."""
import os
import subprocess
import sys
import textwrap
import threading

import hypothesis
import pytest
from power_machine import Machine

# The same examples each time, for what fails must not depend on chance; others each time in make test-long.
if not os.environ.get("TEST_LONG"):
    hypothesis.settings.register_profile("same", derandomize=True, database=None)
    hypothesis.settings.load_profile("same")


@pytest.fixture(autouse=True)
def in_empty_folder(monkeypatch, tmp_path):
    """Files of a test lie in a folder of its own, and no setting of the tester reaches it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPU_TRACKER_BLOCKS", raising=False)


@pytest.fixture
def python(tmp_path):
    """python(code): the completed process of a script; it must succeed unless check=False."""

    def run(code, *arguments, check=True, timeout=120, **keywords):
        script = tmp_path / "script.py"
        script.write_text(textwrap.dedent(code))
        done = subprocess.run([sys.executable, str(script), *arguments], cwd=tmp_path, capture_output=True, text=True,
                              timeout=timeout, check=False, **keywords)
        if check:
            assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture
def one_gpu(tmp_path, monkeypatch):
    """one_gpu(bytes): the fake NVML has one GPU, of which this process uses so much."""

    def describe(used):
        file = tmp_path / "gpu"
        file.write_text(f"""
            version 12.550
            driver 550.1
            device 0
            uuid GPU-11111111-2222-3333-4444-555555555555
            name Test GPU
            memory 80000000000 0 1000000000
            utilization 50 10
            process 0 {os.getpid()} {used}
        """)
        monkeypatch.setenv("GT_FAKE_NVML", str(file))

    return describe


@pytest.fixture
def machine(tmp_path):
    """A `power_machine.Machine`: the real processes, and energy counters of known power that stand still until they are set."""
    return Machine(tmp_path / "machine")


@pytest.fixture
def running(machine):
    """Path of the same with counters that advance."""
    stopped = threading.Event()
    thread = threading.Thread(target=machine.run, args=[stopped])
    thread.start()
    yield str(machine.root)
    stopped.set()
    thread.join()
