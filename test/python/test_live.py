"""What a tracker tells while it runs, and limits that act."""
import logging
import math
import os
import signal
import subprocess
import sys
import time

import pytest

import gpu_tracker as gput

SIZE = 300_000_000
EAT = f"import time; held = b'x' * {SIZE}; print('held', flush=True); time.sleep(60)"


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing came"
        time.sleep(0.01)


def test_current_is_what_is_used_now():
    with gput.Tracker(sleep_time=0.05) as tracker:
        before = tracker.current()
        held = b"x" * SIZE
        now = tracker.current()
        assert now.ram - before.ram == pytest.approx(SIZE, rel=0.1)
        assert now.seconds > before.seconds >= 0 and now.processes >= 1
        assert len(held) == SIZE
    with pytest.raises(RuntimeError, match="is not running"):
        tracker.current()


def test_metrics_of_a_moment_leave_out_what_is_not_known():
    current = gput.Current(1.5, 1e6, 0.5, math.nan, math.nan, 3.0)
    assert current.metrics() == {"gpu_tracker/seconds": 1.5, "gpu_tracker/ram": 1e6, "gpu_tracker/cpu": 0.5, "gpu_tracker/processes": 3.0}
    assert current.metrics("")["ram"] == 1e6


def test_a_callback_gets_each_moment_and_may_fail(caplog):
    seen = []

    def note(current):
        seen.append(current)
        if len(seen) == 3:
            raise ValueError("enough")

    with caplog.at_level(logging.WARNING, "gpu_tracker"), gput.Tracker(sleep_time=0.02, on_sample=note):
        wait_for(lambda: "enough" in caplog.text)
        time.sleep(0.1)
    assert len(seen) == 3 and all(isinstance(current, gput.Current) for current in seen)
    assert "on_sample failed" in caplog.text and "ValueError" in caplog.text


def test_a_limit_warns_once(caplog):
    with caplog.at_level(logging.WARNING, "gpu_tracker"), gput.Tracker(sleep_time=0.02, max_ram="1 MB") as tracker:
        wait_for(lambda: "above the limit" in caplog.text)
        time.sleep(0.1)
    assert caplog.text.count("above the limit of 0.001 GB") == 1
    assert tracker.max_ram.combined.total_rss > 0


def test_a_limit_raises_where_the_tracker_was_started():
    tracker = gput.Tracker(sleep_time=0.02, max_ram=1_000_000, at_limit="raise", disable_logs=True)
    with pytest.raises(gput.LimitExceeded, match="memory .* GB is above the limit of 0.001 GB"):
        with tracker:
            wait_for(lambda: False)
    assert issubclass(gput.LimitExceeded, MemoryError)
    assert tracker.state is gput.Tracker.State.STOPPED and tracker.max_ram.combined.total_rss > 0


@pytest.mark.parametrize("deaf", [False, True])
def test_a_limit_ends_the_other_process(deaf, caplog):
    ignore = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " if deaf else ""
    child = subprocess.Popen([sys.executable, "-c", ignore + EAT], stdout=subprocess.PIPE)
    child.stdout.readline()
    with caplog.at_level(logging.WARNING, "gpu_tracker"):
        with gput.Tracker(sleep_time=0.05, process_id=child.pid, max_ram="100 MB", at_limit="kill"):
            assert child.wait(60) == (-signal.SIGKILL if deaf else -signal.SIGTERM)
    child.stdout.close()
    assert f"ending process {child.pid}" in caplog.text


@pytest.mark.parametrize("wrong", [{"max_ram": "much"}, {"max_ram": 0}, {"max_ram": "1.2.3 GB"}, {"max_gpu_ram": -1}, {"at_limit": "stop"},
                                   {"max_ram": 5, "at_limit": "kill"}, {"max_ram": 5, "at_limit": "kill", "process_id": os.getpid()}])
def test_wrong_limits_are_refused(wrong):
    with pytest.raises(ValueError):
        gput.Tracker(**wrong)


@pytest.mark.parametrize(("text", "size"), [("2 GB", 2e9), ("512MiB", 512 * 2**20), (" 1.5 kB ", 1500), (7, 7.0)])
def test_sizes(text, size):
    from gpu_tracker import live

    assert live.size_of("max_ram", text) == size


def test_on_sample_is_looked_at_when_it_is_given():
    with pytest.raises(TypeError, match="on_sample must be callable, not int"):
        gput.Tracker(on_sample=3)
