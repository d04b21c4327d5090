"""Exit statuses, what is printed where, whom is waited for, and what the command is given."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from patience import children, wait_until

QUIET = "--disable-logs"


@pytest.mark.parametrize("status", [0, 1, 7, 125, 255])
def test_status_of_the_command(cli, status):
    done = cli("-e", f"sh -c 'exit {status}'", QUIET)
    assert done.returncode == status
    assert done.stdout.startswith(f"Resource tracking complete. Process completed with status code: {status}\nMax RAM:")


@pytest.mark.parametrize("name", ["KILL", "TERM", "INT", "SEGV", "USR1"])
def test_a_signal_is_128_more(cli, name):
    number = int(signal.Signals["SIG" + name])
    done = cli("-e", f"sh -c 'kill -{name} $$'", QUIET)
    assert done.returncode == 128 + number
    assert f"status code: -{number}\n" in done.stdout


SENTENCE = "Resource tracking complete. Process completed with status code: 0\n"


def test_run_leaves_standard_output_to_the_command(gpu_tracker, tmp_path):
    """The same bytes come out, whatever they are."""
    data = bytes(range(256)) * 1000 + b"no newline"
    (tmp_path / "in.bin").write_bytes(data)
    done = subprocess.run([gpu_tracker, "run", "--", "cat", "in.bin"], cwd=tmp_path, capture_output=True, check=True, timeout=120)
    assert done.stdout == data
    assert done.stderr.startswith(b"gpu-tracker  cat in.bin")


def test_the_report_follows_on_standard_error_and_then_the_sentence(cli):
    done = cli("run", QUIET, "-f", "text", "--", "sh", "-c", "echo out; echo err >&2")
    assert done.stdout == "out\n"
    assert done.stderr.startswith("err\nMax RAM:") and done.stderr.endswith("\n" + SENTENCE)
    done = cli("run", QUIET, "-f", "json", "--", "true")
    assert json.loads(done.stderr.removesuffix(SENTENCE))["max_ram"]


def test_the_original_s_way_is_standard_output(cli):
    done = cli("-e", "sh -c 'echo out; echo err >&2'", QUIET)
    assert done.stdout.startswith("out\n" + SENTENCE + "Max RAM:")
    assert done.stderr == "err\n"


def test_report_in_a_file_leaves_only_the_sentence(cli):
    done = cli("-e", "echo hello", QUIET, "-o", "out.txt")
    assert done.stdout == "hello\nResource tracking complete. Process completed with status code: 0\n"


@pytest.mark.parametrize("status, naming, command", [
    (127, "'no-such-program': command not found", ["no-such-program"]),
    (127, "'./no-such-program': command not found", ["./no-such-program"]),
    (127, "words of their own, without quotes", ["./no-such-program --option"]),
    (127, "Not a directory", ["data.txt/x"]),
    (127, "'': command not found", [""]),
    (126, "Permission denied", ["./data.txt"]),
    (126, "Is a directory", ["./folder"]),
    (126, "Is a directory", ["/"]),
])
def test_what_cannot_be_executed(refused, tmp_path, status, naming, command):
    (tmp_path / "data.txt").write_text("x")
    (tmp_path / "folder").mkdir()
    refused(status, naming, "run", "--tf", "track.csv", "-o", "out.txt", "--", *command)


def test_what_fails_only_when_executed(refused, tmp_path):
    (tmp_path / "script").write_text("#!/no/such/interpreter\n")
    (tmp_path / "busy").write_bytes(pathlib.Path(shutil.which("true")).read_bytes())
    for name in ("script", "busy"):
        (tmp_path / name).chmod(0o755)
    refused(127, "'./script': cannot execute", "run", QUIET, "--tf", "t.csv", "-o", "o.txt", "--", "./script")
    with open(tmp_path / "busy", "r+b"):
        refused(126, "Text file busy", "run", QUIET, "--tf", "t.csv", "-o", "o.txt", "--", "./busy")


def test_path_is_searched_as_a_shell_does(cli, tmp_path, monkeypatch):
    for folder, mode in (("first", 0o644), ("second", 0o755)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tool").write_text(f"#!/bin/sh\necho {folder}\n")
        (tmp_path / folder / "tool").chmod(mode)
    monkeypatch.setenv("PATH", f"{tmp_path}/first:{tmp_path}/second:/usr/bin:/bin")
    assert cli("run", QUIET, "-o", "out", "--", "tool").stdout == "second\n"
    monkeypatch.setenv("PATH", f"{tmp_path}/first")
    assert cli("run", QUIET, "--", "tool").returncode == 126


def test_standard_input_reaches_the_command(cli):
    done = cli("run", QUIET, "-o", "out", "--", "cat", input="one\ntwo\n")
    assert done.stdout == "one\ntwo\n"


def test_closed_standard_streams(gpu_tracker, tmp_path):
    line = f"'{gpu_tracker}' run --disable-logs --tf t.csv -o o.json -- sh -c 'exit 3' <&- >&- 2>&-"
    assert subprocess.run(["sh", "-c", line], cwd=tmp_path, check=False, timeout=120).returncode == 3
    assert json.loads((tmp_path / "o.json").read_text())


SHOW_STATE = """
import json, os, signal
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({"blocked": int(status["SigBlk"], 16), "ignored": int(status["SigIgn"], 16),
                  "files": sorted(os.listdir("/proc/self/fd"))[:-1], "group": os.getpgrp(), "parent": os.getppid(),
                  "session": os.getsid(0), "slack": open("/proc/self/timerslack_ns").read().strip(),
                  "environment": sorted(os.environ)}))
"""


def state(line, **keywords):
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=120, **keywords)
    return json.loads(done.stdout.splitlines()[0])


@pytest.mark.parametrize("ignored", [[], [signal.SIGCHLD, signal.SIGHUP, signal.SIGINT]])
def test_the_command_is_given_what_it_would_have_without_the_tracker(gpu_tracker, tmp_path, ignored):
    def prepare():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)

    command = [sys.executable, "-c", SHOW_STATE]
    tracker = [gpu_tracker, "run", QUIET, "-o", str(tmp_path / "out"), "--tf", str(tmp_path / "t.sqlite"), "--"]
    without = state(command, preexec_fn=prepare)
    tracked = state(tracker + command, preexec_fn=prepare)
    assert tracked.pop("parent") != without.pop("parent")
    assert tracked == without


def test_warnings_are_one_line_each_and_can_be_disabled(cli):
    done = cli("run", "-o", "out", "--", "true")
    lines = done.stderr.splitlines()
    assert lines[-1].startswith("Resource tracking complete.")
    assert all(line.startswith("gpu-tracker: ") for line in lines[:-1])
    assert cli("run", QUIET, "-o", "out", "--", "true").stderr.splitlines() == lines[-1:]


def test_descendants_that_still_run_are_named(cli):
    began = time.monotonic()
    done = cli("run", "--st", "0.05", "--", "sh", "-c", "sleep 60 >/dev/null 2>&1 & sleep 0.2; echo $!")
    pid = int(done.stdout.splitlines()[0])
    assert f"still running: {pid} (sleep)" in done.stderr
    assert time.monotonic() - began < 60
    os.kill(pid, signal.SIGKILL)


def test_a_quiet_run_names_no_descendants(cli):
    done = cli("run", "--no-history", "-q", "--st", "0.05", "--", "sh", "-c", "sleep 60 >/dev/null 2>&1 & sleep 0.2; echo $!")
    os.kill(int(done.stdout), signal.SIGKILL)
    assert done.stderr == ""


def test_descendants_can_be_waited_for(cli, tmp_path):
    script = "(sleep 0.5; touch ended) >/dev/null 2>&1 & exit 4"
    done = cli("run", "--wait", "all", "--st", "0.05", "-f", "json", "--", "sh", "-c", script)
    assert (tmp_path / "ended").exists()
    assert done.returncode == 4
    assert "still running" not in done.stderr


def test_a_daemon_can_be_waited_for(cli, tmp_path):
    script = "setsid sh -c '(sleep 0.4; touch ended) & exit 0' >/dev/null 2>&1 & exit 0"
    assert cli("run", "--wait=all", "--", "sh", "-c", script).returncode == 0
    assert (tmp_path / "ended").exists()


def test_waiting_for_descendants_can_be_interrupted(gpu_tracker, tmp_path):
    line = [gpu_tracker, "run", "--wait=all", "--st=0.05", "--", "sh", "-c", "sleep 30 >/dev/null 2>&1 & echo $!; exit 5"]
    tracker = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    sleeper = int(tracker.stdout.readline())
    wait_until(lambda: children(tracker.pid) == [sleeper])  # the shell has been waited for
    tracker.terminate()
    output, errors = tracker.communicate(timeout=120)
    os.kill(sleeper, signal.SIGKILL)
    assert tracker.returncode == 5
    assert output == "" and "\ngpu-tracker  sh -c sleep 30" in errors
    assert f"{sleeper} (sleep)" in errors


def test_children_from_before_are_not_waited_for(gpu_tracker, tmp_path):
    script = f"sleep 60 >/dev/null 2>&1 & echo $!; exec '{gpu_tracker}' run --disable-logs --wait=all -o out -- sleep 0.2"
    began = time.monotonic()
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120)
    os.kill(int(done.stdout), signal.SIGKILL)
    assert time.monotonic() - began < 60


def test_attach_until_the_process_ends(cli):
    process = subprocess.Popen(["sleep", "2"])
    reaper = pathlib.Path(f"/proc/{process.pid}")
    assert reaper.exists()
    began = time.monotonic()
    done = cli("attach", QUIET, "--st", "0.1", "--tu", "seconds", "-f", "json", process.pid)
    elapsed = time.monotonic() - began  # where the machine is busy the end is seen late
    assert done.returncode == 0 and done.stdout == ""
    assert 0 < json.loads(done.stderr)["compute_time"]["time"] < elapsed  # no sentence follows it
    process.wait()


def test_attach_leaves_out_what_was_used_before(cli):
    """CPU time of the process itself and of children that it had waited for."""
    program = """if True:
        import subprocess, sys, time
        burn = "import time\\nwhile time.process_time() < 0.4: pass"
        subprocess.run([sys.executable, "-c", burn], check=True)
        exec(burn)
        print(flush=True)
        time.sleep(3)
    """
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    process.stdout.readline()
    report = json.loads(cli("attach", QUIET, "--st", "0.1", "-f", "json", "-o", "-", process.pid).stdout)
    process.communicate()
    for scope in ("main", "descendants", "combined"):
        assert 0 <= report["cpu_time"][scope] < 0.2
        assert 0 <= report["cpu_utilization"][scope]["mean_sum_percent"] < 30


def test_attach_counts_processes_that_were_forked_before(cli):
    program = """if True:
        import os, time
        ready, end = os.pipe(), os.pipe()
        for _ in range(3):
            if os.fork() == 0:
                os.close(end[1])
                held = bytearray(b"x" * (40 << 20))
                os.write(ready[1], b"x")
                os._exit(len(os.read(end[0], 1)))
        waiting = 3
        while waiting:
            waiting -= len(os.read(ready[0], 1))
        print(flush=True)
        time.sleep(3)
    """
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    process.stdout.readline()
    done = cli("attach", QUIET, "--st", "0.1", "--ru", "bytes", "-f", "json", "-o", "-", process.pid)
    process.communicate()
    memory = json.loads(done.stdout)["max_ram"]
    for scope in ("descendants", "combined"):
        assert memory[scope]["total_rss"] == pytest.approx(120 << 20, rel=0.2)
        assert memory[scope]["private_rss"] == pytest.approx(120 << 20, rel=0.2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_attach_until_a_signal(gpu_tracker, tmp_path, number):
    process = subprocess.Popen(["sleep", "30"])
    line = [gpu_tracker, "attach", QUIET, "--st=0.05", "--tf=t.csv", str(process.pid)]
    tracker = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    wait_until((tmp_path / "t.csv").exists)
    tracker.send_signal(number)
    output, errors = tracker.communicate(timeout=120)
    assert process.poll() is None
    process.kill()
    process.wait()
    assert tracker.returncode == 0 and output == ""
    assert re.match("gpu-tracker  sleep 30 +followed for ", errors)
    assert re.search(r"Process \d+ goes on\.$", errors)


def test_standard_output_that_nobody_reads(gpu_tracker, tmp_path):
    tracker = subprocess.Popen([gpu_tracker, "run", QUIET, "-o", "-", "--", "sleep", "0.2"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    tracker.stdout.close()
    assert tracker.stderr.read() == "Resource tracking complete. Process completed with status code: 0\n"
    assert tracker.wait() == 0


@pytest.mark.parametrize("words", [[], ["-o", "-"]])
def test_a_report_for_programs_stands_alone(cli, words):
    """On the stream that it has, no sentence follows it."""
    done = cli("run", "-f", "json", *words, "--", "true")
    assert done.returncode == 0 and "max_ram" in json.loads(done.stdout if words else done.stderr)
    assert not words or done.stderr.startswith("Resource tracking complete.")
