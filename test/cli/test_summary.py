"""What people see when a run has ended: a summary on standard error, and the whole report where they ask for it."""
import contextlib
import json
import re
import sqlite3
import subprocess
import sys

import pytest

from test_terminal import Terminal, lines_of

HEADING = re.compile(r"gpu-tracker  (.*?)   +(.*)\n")


@pytest.fixture
def run(cli, monkeypatch):
    """run("--", "true"): standard error of gpu-tracker run, where UTF-8 is spoken."""
    monkeypatch.setenv("LC_ALL", "C.UTF-8")

    def call(*words):
        done = cli("run", *words)
        assert done.stdout == ""
        return done.stderr

    return call


def test_something_short_is_one_line(run):
    text = next(text for text in (run("--", "true") for _ in range(100)) if text.count("\n") == 1)
    command, outcome = HEADING.fullmatch(text).groups()
    assert command == "true"
    assert re.fullmatch(r"exit 0, [\d.]+ ms, [\d.]+ [kM]B", outcome)


@pytest.mark.parametrize("end, words", [("exit 3", "exit 3"), ("exit 132", "exit 132 (from a shell: SIGILL)"),
                                        ("exit 250", "exit 250"), ("kill -ILL $$", "exit 132 (SIGILL)")])
def test_how_it_ended(run, end, words):
    assert f"   {words}, " in run("--", "sh", "-c", end)


@pytest.mark.parametrize("kind", ["sqlite", "csv"])
def test_an_exit_status_is_told_from_a_signal(run, cli, tmp_path, kind):
    def told(name):
        return json.loads(cli("report", "-f", "json", name).stdout)["run"]["ended_by_signal"]

    run(f"--tf=own.{kind}", "--", "sh", "-c", "exit 132")
    run(f"--tf=signal.{kind}", "--", "sh", "-c", "kill -ILL $$")
    assert told(f"own.{kind}") is False and told(f"signal.{kind}") is True
    assert "exit 132 (from a shell: SIGILL)" in cli("top", "--once", f"own.{kind}").stdout
    assert "exit 132 (SIGILL)" in cli("top", "--once", f"signal.{kind}").stdout
    if kind == "sqlite":
        with contextlib.closing(sqlite3.connect(tmp_path / "own.sqlite")) as old, old:
            old.execute("DELETE FROM outcome WHERE key = 'ended_by_signal'")
        assert told("own.sqlite") is None


def test_lines(run):
    text = run("--st=0.05", "--tf=a run.sqlite", "--", "sh", "-c", "head -c 20000000 /dev/zero | tail -c 20000000 | wc -c >&2; sleep 0.5")
    lines = text.splitlines()[1:]
    assert 6 < len(lines) <= 25 and all(len(line) <= 78 for line in lines)
    assert re.search(r"^  memory    2\d\.\d MB   [▁-█]{20}   peak, of [\d.]+ [GT]B here", text, re.M)
    assert re.search(r"^  cpu       \d\.\d\d      [▁-█]{20}   cores busy of \d+", text, re.M)
    assert re.search(r"^  biggest   (tail|head|wc) .*  \d processes, \d at one time$", text, re.M)
    assert lines[-1] == "  all values: gpu-tracker report 'a run.sqlite' -o run.html"
    for absent in "gpu ", "swap", "energy", "n/a", "Resource tracking", "No GPU":
        assert absent not in text


def test_shared_memory_is_no_part_above_the_whole(run):
    work = "import os, sys, time\ndata = b'x' * 90_000_000\nif os.fork():\n os.wait()\nelse:\n sum(data[::4096]); time.sleep(0.6)"
    text = run("--st=0.05", "--tf=run.sqlite", "--", sys.executable, "-c", work)
    assert re.search(r"^  biggest   \S+ [\d.]+ MB, \S+ [\d.]+ MB, partly shared\n  processes 2, 2 at one time$", text, re.M), text


def test_without_a_recording_it_says_how_to_get_all_figures(run, cli):
    hint = "  all values: with -o run.html or --tracking-file run.sqlite"
    assert run("--", "sleep", "0.4").splitlines()[-1] == hint
    job = subprocess.Popen(["sleep", "1.5"])
    said = cli("attach", str(job.pid)).stderr
    job.wait()
    assert f"\n{hint}\n" in said, said


def test_blocks(run, cli, gpu_tracker):
    script = f"'{gpu_tracker}' block load -- sleep 0.3; '{gpu_tracker}' block train -- sleep 1"
    text = run("--blocks", "--tf=run.sqlite", "--", "sh", "-c", script)
    assert re.search(r"^  blocks    train \d\d %   load \d+ %$", text, re.MULTILINE), text
    again = cli("report", "-f", "summary", "run.sqlite").stdout
    assert re.search(r"^  blocks    .*", text, re.MULTILINE)[0] == re.search(r"^  blocks    .*", again, re.MULTILINE)[0]


def test_plain_ascii_where_no_more_is_spoken(cli, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C")
    text = cli("run", "--st=0.05", "--", "sleep", "0.6").stderr
    assert text.isascii() and re.search(r"^  memory    .*[_.=+*#@-]{20}   peak", text, re.M)


def test_quiet(run, cli, tmp_path):
    assert run("--quiet", "--", "sleep", "0.2") == ""
    assert cli("run", "-q", "-o", "report.json", "--", "true").stderr == ""
    assert json.loads((tmp_path / "report.json").read_text())["run"]["exit_status"] == 0


def test_whole_reports_where_they_are_asked_for(cli, tmp_path):
    assert cli("run", "-f", "text", "--", "true").stderr.startswith("Max RAM:")
    assert cli("run", "-o", "-", "--", "true").stdout.startswith("Max RAM:")
    cli("run", "-o", "report.txt", "--", "true")
    assert (tmp_path / "report.txt").read_text().startswith("Max RAM:")
    assert cli("-e", "true").stdout.splitlines()[1] == "Max RAM:"
    assert cli("run", "-f", "summary", "-o", "-", "--", "true").stdout.startswith("gpu-tracker  true ")


def test_report_in_a_terminal(cli, gpu_tracker, tmp_path, monkeypatch):
    assert cli("run", "--tf=run.sqlite", "--", "sleep", "0.2").returncode == 0
    assert cli("report", "run.sqlite").stdout.startswith("Max RAM:")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TERM", "xterm")
    for words, first in [([], "gpu-tracker  sleep 0.2 "), (["-f", "text"], "Max RAM:")]:
        screen = Terminal([gpu_tracker, "report", *words, "run.sqlite"], tmp_path)
        assert screen.finish() == 0
        assert lines_of(re.sub("\x1b\\[[0-9;]*m", "", screen.text))[0].startswith(first)
        assert not words or len(lines_of(screen.text)) > 80


def test_markdown_begins_with_it(cli):
    text = cli("run", "-f", "markdown", "-o", "-", "--", "sleep", "0.2").stdout
    head, rest = text.split("<details>")
    assert head.startswith("| | | |\n| --- | ---: | --- |\n| sleep 0.2 |  | exit 0, ")
    assert "\n| memory | " in head and head.count("\n|") <= 13
    assert "## Max RAM" in rest and rest.endswith("</details>\n")


def test_a_gpu_without_and_with_detail(cli, fake, tmp_path, monkeypatch):
    lines = ["version 12.550.54", "driver 550.54.15"]
    for device, use in (0, 80), (1, 1):
        lines += [f"device {device}", f"uuid GPU-{device}", "name Fake", "memory 80000000000 0 6000000000", f"utilization {use} 10",
                  "power_usage 300000"]
    (tmp_path / "gpu.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("GT_FAKE_NVML", str(tmp_path / "gpu.txt"))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    nvml = f"--library=nvml={fake('nvml')}"
    text = cli("run", nvml, "--st=0.1", "--tf=run.sqlite", "--", "sleep", "1").stderr
    assert re.search(r"^  gpu 0     80 %      ▇{20}   busy; 6.00 of 80 GB; 300 W$", text, re.M)
    assert re.search(r"^  gpu 1     1 %       ▁{20}   busy; 6.00 of 80 GB; 300 W$", text, re.M)
    text = cli("report", "-f", "summary", "run.sqlite").stdout
    assert re.search(r"^  2 gpus    4\d %      ▄{20}   busy; 12.0 of 160 GB; 600 W$", text, re.M), text


def test_a_recording_that_has_not_ended(cli, tmp_path):
    assert cli("run", "--st=0.05", "--tf=run.sqlite", "--", "sleep", "0.5").returncode == 0
    with sqlite3.connect(tmp_path / "run.sqlite") as database:
        database.execute("DELETE FROM outcome")
        database.execute("UPDATE static_data SET period = 1000")
    text = cli("report", "-f", "summary", "run.sqlite").stdout
    assert re.match(r"gpu-tracker  sleep 0.5 +\d+ ms so far\n", text), text


def test_a_recording_whose_tracker_is_gone(cli, tmp_path):
    assert cli("run", "--st=0.05", "--tf=run.sqlite", "--", "sleep", "0.5").returncode == 0
    with sqlite3.connect(tmp_path / "run.sqlite") as database:
        database.execute("DELETE FROM outcome")
        database.execute("UPDATE data SET timestamp = timestamp - 54")
    text = cli("report", "-f", "summary", "run.sqlite").stdout  # as if the clock had been set meanwhile
    assert re.match(r"gpu-tracker  sleep 0.5 +\d+ ms so far\n", text), text
    with sqlite3.connect(tmp_path / "run.sqlite") as database:
        database.execute("UPDATE data SET monotonic = monotonic - 54")
    text = cli("report", "-f", "summary", "run.sqlite").stdout
    assert re.match(r"gpu-tracker  sleep 0.5 +\d+ ms, no news for 0:5\d: the tracker is gone\n", text), text


def test_the_bound_of_a_peak_stays_beside_its_course(cli, tmp_path):
    assert cli("run", "-q", "--sleep-time", 0.05, "--tf=a.sqlite", "--", "sleep", 0.5).returncode == 0
    with sqlite3.connect(tmp_path / "a.sqlite") as recording:
        recording.execute("UPDATE final SET value = 938e6 WHERE metric = 'ram_peak_bound' AND scope = 'combined'")
        recording.execute("UPDATE static_data SET ram_system_capacity = 25.3")
    line, = [line for line in cli("report", "-f", "summary", "a.sqlite").stdout.splitlines() if line.startswith("  memory")]
    assert line.endswith("   peak, at most 938 MB") and len(line.split("   ")) > 3
