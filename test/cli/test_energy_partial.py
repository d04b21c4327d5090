"""Energy counters that fail while a job runs: figures say for how much of the time they are, and nobody compares them by mistake."""
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

WATTS, SECONDS, GOOD = 50, 3.0, 1.5  # the counter fails after `GOOD`

BUSY = [sys.executable, "-c", f"""
import time
end = time.monotonic() + {SECONDS}
while time.monotonic() < end:
    slice = time.process_time() + 0.02  # a fifth of a processor: enough to have a share of what is drawn
    while time.process_time() < slice: pass
    time.sleep(0.08)
"""]
LEFT = {"set back": 1, "set to half": 500}  # joules that the counter shows then


class Counter:
    """The real processes, and one RAPL package that draws 50 W; `fail` says what becomes of it."""

    def __init__(self, root):
        zone = root / "sys/class/powercap/intel-rapl:0"
        zone.mkdir(parents=True)
        (root / "proc").symlink_to("/proc")
        (zone / "name").write_text("package-0\n")
        (zone / "max_energy_range_uj").write_text("262143328850\n")
        self.root, self.fail, self.back = root, None, 0.0
        self.path = zone / "energy_uj"
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT)
        self.begin = time.monotonic()
        self.set(1000)

    def set(self, joules):
        os.pwrite(self.file, b"%020d\n" % int(joules * 1e6), 0)

    def replace(self):
        """As a driver does that is loaded anew: the old file fails, and another has its name."""
        old = self.file
        self.path.unlink()
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT)
        os.ftruncate(old, 0)
        os.close(old)

    def live(self, stopped):
        while not stopped.wait(0.005):
            joules = 1000 + WATTS * (time.monotonic() - self.begin)
            if self.fail == "unreadable":
                os.ftruncate(self.file, 0)
            elif self.fail in LEFT:
                self.back, self.fail = joules - LEFT[self.fail], None
            elif not self.fail:
                self.set(joules - self.back)


@pytest.fixture
def counter(tmp_path):
    made, stopped = Counter(tmp_path / "root"), threading.Event()
    thread = threading.Thread(target=made.live, args=[stopped])
    thread.start()
    yield made
    stopped.set()
    thread.join()
    os.close(made.file)


def track(gpu_tracker, tmp_path, counter, fail, *options, job=("sleep", str(SECONDS))):
    """A job with a counter that fails: its recording, report and what was said."""
    recording = tmp_path / "run.sqlite" if callable(fail) else tmp_path / f"{fail}.sqlite"
    tracked = subprocess.Popen(job)
    running = subprocess.Popen([gpu_tracker, "attach", str(tracked.pid), "--root", counter.root, "--sleep-time", "0.1",
                                "--tracking-file", recording, "-f", "json", "-o", tmp_path / "report.json", *options],
                               stderr=subprocess.PIPE, text=True)
    time.sleep(GOOD)
    if callable(fail):
        fail()
    else:
        counter.fail = fail
    tracked.wait()
    said = running.communicate(timeout=120)[1]
    return recording, json.loads((tmp_path / "report.json").read_text())["energy"], said


@pytest.mark.parametrize("fail", ["unreadable", "stands still"])
def test_a_counter_that_fails_is_known_for_a_part_of_the_time(cli, gpu_tracker, tmp_path, counter, fail):
    recording, energy, said = track(gpu_tracker, tmp_path, counter, fail)
    assert energy["cpu"]["covered"] == pytest.approx(100 * GOOD / SECONDS, abs=25)
    assert energy["covered"] == energy["cpu"]["covered"]
    assert energy["cpu"]["error"] is None and energy["cpu"]["job_error"] is None
    [begin] = re.findall(r"^from ([\d.]+)", energy["cpu"]["gap"])
    assert f"Energy of the CPU packages is known for a part of the run only, not from {begin}" in said
    assert f"its counter {'could not be read' if fail == 'unreadable' else 'stood still'}\n" in said
    text = cli("report", recording).stdout
    assert f"% of the time; not known from {begin}" in text and "(of a part of the time)" in text


@pytest.mark.parametrize("fail, back", [("stands still", "known again, for "), ("unreadable", "known for the whole run again")])
def test_a_counter_that_comes_back_is_told(cli, gpu_tracker, tmp_path, counter, fail, back):
    """One that could not be read has counted on; what one that stood still has counted is not known."""
    def away():
        counter.fail = fail
        threading.Timer(1.5, lambda: setattr(counter, "fail", None)).start()

    recording, energy, said = track(gpu_tracker, tmp_path, counter, away, job=("sleep", str(SECONDS + 1.5)))
    [begin] = re.findall(r"part of the run only, not from ([\d.]+) s on", said)
    [returned] = re.findall(rf"{back}.* from {begin} s to ([\d.]+) s", said)
    text = cli("report", recording).stdout
    if fail == "unreadable":
        assert energy["cpu"]["covered"] == 100 and "gap" not in energy["cpu"] and "% of the time" not in text
    else:
        assert 40 < energy["cpu"]["covered"] < 85
        assert energy["cpu"]["gap"] == f"from {begin} s to {returned} s: its counter stood still"
        assert f"% of the time; not known from {begin} s to {returned} s: its counter stood still" in text


def test_a_counter_file_that_is_made_anew_is_read_on(gpu_tracker, tmp_path, counter):
    _, energy, _ = track(gpu_tracker, tmp_path, counter, counter.replace, job=("sleep", str(SECONDS + 2)))
    assert energy["cpu"]["covered"] == 100
    assert energy["cpu"]["total"] == pytest.approx(WATTS * (SECONDS + 2), rel=0.25)


@pytest.mark.parametrize("fail", LEFT)
def test_a_counter_that_was_set_back_misses_a_little(gpu_tracker, tmp_path, counter, fail):
    """What it shows afterwards was not drawn then."""
    _, energy, said = track(gpu_tracker, tmp_path, counter, fail)
    assert 80 < energy["cpu"]["covered"] < 99.5
    assert energy["cpu"]["total"] < 1.2 * WATTS * SECONDS
    assert energy["cpu"]["error"] is None
    assert re.search(r"a part of the run only, not from [\d.]+ s to [\d.]+ s: its counter was set back$", said, re.MULTILINE)


def test_a_whole_run_says_nothing(cli, gpu_tracker, tmp_path, counter):
    _, energy, said = track(gpu_tracker, tmp_path, counter, None)
    assert energy["cpu"]["covered"] == 100 and energy["cpu"]["error"] > 0
    assert "a part of the" not in said


def test_a_counter_that_stands_still_at_first(gpu_tracker, tmp_path, counter):
    counter.fail = "stands still"
    _, energy, said = track(gpu_tracker, tmp_path, counter, lambda: setattr(counter, "fail", None))
    assert energy["cpu"]["covered"] == pytest.approx(100 * (1 - GOOD / SECONDS), abs=25)
    assert energy["cpu"]["error"] is None and energy["cpu"]["gap"].startswith("from 0 s to ")
    assert "known for a part of the run only" in said or "known again" in said


def summary_of(cli, recording):
    [line] = re.findall(r"^  energy +(.*)$", cli("report", recording, "-f", "summary").stdout, re.MULTILINE)
    return line


def test_the_summary_has_the_error_of_the_reports(cli, gpu_tracker, tmp_path, counter):
    recording, energy, _ = track(gpu_tracker, tmp_path, counter, None, job=BUSY)
    [shown] = re.findall(r"± ([\d.]+)", summary_of(cli, recording))
    assert float(shown) == pytest.approx(energy["cpu"]["job_error"], rel=0.05)


def test_a_summary_says_that_it_is_of_a_part(cli, gpu_tracker, tmp_path, counter):
    recording, energy, _ = track(gpu_tracker, tmp_path, counter, "stands still", job=BUSY)
    summary = summary_of(cli, recording)
    assert f" for {energy['covered']:.3g} % of the time" in summary and "±" not in summary


def test_the_list_of_runs_keeps_no_energy_of_a_part(cli, gpu_tracker, tmp_path, counter, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "energy.sock"
    relay = subprocess.Popen([gpu_tracker, "energy-relay", "--root", counter.root, "--socket", path], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
    words = ["run", "--history", "--sleep-time", "0.1", "--library", f"energy-relay={path}", "-f", "json", "-o", "report.json",
             "--", *BUSY]
    try:
        assert relay.stdout.readline()
        assert cli(*words).returncode == 0
        if not json.loads((tmp_path / "report.json").read_text())["energy"]["cpu"]["source"].startswith("energy relay"):
            pytest.skip("this machine has counters of its own")
        threading.Timer(GOOD, relay.kill).start()
        assert cli(*words).returncode == 0
    finally:
        relay.kill()
        relay.wait()
    part, whole = json.loads(cli("runs", "-f", "json").stdout)["runs"]
    assert whole["energy"] > 0 and part["energy"] is None


def test_comparisons_and_rules_refuse_what_is_partial(cli, gpu_tracker, tmp_path, counter):
    whole = track(gpu_tracker, tmp_path, counter, None, job=BUSY)[0]
    part = track(gpu_tracker, tmp_path, counter, "unreadable", job=BUSY)[0]
    words = ["sub-track", "compare", "-m", f"a={whole}", "-m", f"b={part}", "--fail-if", "energy.cpu>+5000%", "-f", "json"]
    refused = cli(*words)
    assert refused.returncode == 3, refused.stderr
    assert 'session "b": energy was measured for' in refused.stderr and "--allow-partial" in refused.stderr
    assert "rule 'energy.cpu>+5000%' is broken by session \"b\": energy was measured for" in refused.stderr
    assert json.loads(refused.stdout)["energy"]["cpu"]["b"] is None
    allowed = cli(*words, "--allow-partial")
    assert allowed.returncode == 0, allowed.stderr
    assert json.loads(allowed.stdout)["energy"]["cpu"]["b"] > 0


def test_blocks_say_for_which_part_of_their_time_they_know(cli, gpu_tracker, tmp_path, counter):
    script = tmp_path / "job.sh"
    blocks = tmp_path / "blocks.csv"
    folder = tmp_path / "blocks"
    folder.mkdir()
    block = f"GPU_TRACKER_BLOCKS={folder} {gpu_tracker} block"
    script.write_text(f"{block} early -- sleep 0.7\n{block} middle -- sleep {SECONDS - 1.4}\n{block} late -- sleep 0.7\n")
    recording, _, _ = track(gpu_tracker, tmp_path, counter, "stands still", job=("sh", script))
    assert cli("sub-track", "combine", "--stf", blocks, "-p", folder).returncode == 0
    done = cli("sub-track", "analyze", "--tf", recording, "--stf", blocks, "-f", "json")
    assert done.returncode == 0, done.stderr
    blocks = {block["name"]: block.get("energy") for block in json.loads(done.stdout)["code_block_results"]}
    assert "energy_covered" not in blocks["early"]["cpu"] and blocks["early"]["cpu"]["energy_error"] is not None
    assert blocks["middle"]["cpu"]["energy_covered"] == pytest.approx(50, abs=20)
    assert blocks["middle"]["cpu"]["energy_error"] is None
    assert blocks["late"] is None


def test_blocks_of_a_counter_that_cannot_be_read_any_more(cli, gpu_tracker, tmp_path, counter):
    folder, script, blocks = tmp_path / "blocks", tmp_path / "job.sh", tmp_path / "blocks.csv"
    folder.mkdir()
    block = f"GPU_TRACKER_BLOCKS={folder} {gpu_tracker} block"
    script.write_text(f"{block} middle -- sleep {SECONDS - 0.7}\n{block} late -- sleep 0.7\n{block} late -- sleep 0.1\n")
    recording, energy, _ = track(gpu_tracker, tmp_path, counter, "unreadable", job=("sh", script))
    assert energy["covered"] < 80
    assert cli("sub-track", "combine", "--stf", blocks, "-p", folder).returncode == 0
    done = cli("sub-track", "analyze", "--tf", recording, "--stf", blocks, "-f", "json")
    found = {block["name"]: block.get("energy") for block in json.loads(done.stdout)["code_block_results"]}
    assert found["middle"]["cpu"]["energy_covered"] == pytest.approx(100 * GOOD / (SECONDS - 0.7), abs=20)
    assert found["middle"]["cpu"]["energy_error"] is None
    assert found["late"] is None


def test_nothing_is_covered_where_nothing_is_known(cli, gpu_tracker, tmp_path, counter):
    counter.fail = "unreadable"
    recording, energy, _ = track(gpu_tracker, tmp_path, counter, "unreadable")
    assert energy["job"] is None and energy["covered"] is None
    assert " inf" not in cli("report", recording).stdout


def test_a_relay_that_dies_midway(gpu_tracker, tmp_path, counter):
    path = tmp_path / "energy.sock"
    relay = subprocess.Popen([gpu_tracker, "energy-relay", "--root", counter.root, "--socket", path], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
    try:
        assert relay.stdout.readline()
        hidden = tmp_path / "hidden"
        hidden.mkdir()
        (hidden / "proc").symlink_to("/proc")
        visible, counter.root = counter.root, hidden
        _, energy, said = track(gpu_tracker, tmp_path, counter, lambda: relay.send_signal(signal.SIGKILL), "--library",
                                f"energy-relay={path}")
        counter.root = visible
    finally:
        relay.kill()
        relay.wait()
    assert energy["cpu"]["covered"] == pytest.approx(100 * GOOD / SECONDS, abs=20)
    assert energy["cpu"]["error"] is None and "could not be read" in said


def test_a_counter_that_contradicts_its_power_is_told_in_text(cli, fake, tmp_path, monkeypatch):
    lines = ["version 12.550.54", "driver 550.54.15", "device 0", "uuid GPU-1", "name Fake", "memory 80000000000 0 6000000000",
             "power_usage 300000", "energy 1000000"]
    for step in range(1, 80):
        lines += [f"frame {step / 10}", "device 0", f"energy {1000000 + step * 17200}"]
    (tmp_path / "gpu.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("GT_FAKE_NVML", str(tmp_path / "gpu.txt"))
    done = cli("run", "--library", f"nvml={fake('nvml')}", "--sleep-time", "0.2", "--tracking-file", "run.sqlite", "-f", "text", "--",
               "sleep", "6")
    assert done.returncode == 0, done.stderr
    assert "its energy counter has" in done.stderr and "the counter is used" in done.stderr
    for text in (done.stderr, cli("report", "run.sqlite").stdout):
        assert "But: counter" in text and "they disagree, the counter is used" in text
