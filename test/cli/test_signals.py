"""Signals: passed on to the command when they came from outside, and the report always comes."""
import csv
import errno
import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import time

import pytest
from patience import wait_until

SAYS_INT = ["sh", "-c", "trap 'echo told; exit 5' INT; echo ready; while :; do sleep 0.05; done"]
START = ["run", "--disable-logs", "--st=0.05", "--output=report.json", "--"]


class Tracked:
    """A command under the tracker that prints JSON lines: its pid, then the signals it gets."""

    def __init__(self, line, folder, **keywords):
        self.folder = folder
        self.tracker = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, **keywords)
        self.pid = json.loads(self.tracker.stdout.readline())["ready"]

    def next(self):
        return json.loads(self.tracker.stdout.readline())

    def end(self):
        """Exit status and report."""
        output, self.errors = self.tracker.communicate(timeout=120)
        assert output == ""
        return self.tracker.returncode, json.loads((self.folder / "report.json").read_text())


@pytest.fixture
def tracked(gpu_tracker, truth, tmp_path):
    started = []

    def start(*arguments, **keywords):
        started.append(Tracked([gpu_tracker, *START, *truth("signals", *arguments)], tmp_path, **keywords))
        return started[-1]

    yield start
    for each in started:
        for pid in (each.pid, each.tracker.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        each.tracker.wait()


@pytest.mark.parametrize("name", ["HUP", "INT", "QUIT", "USR1", "USR2", "TERM", "WINCH"])
def test_a_signal_from_outside_is_passed_on_once(tracked, name):
    job = tracked("TERM", 9)
    job.tracker.send_signal(signal.Signals["SIG" + name])
    assert job.next() == {"signal": name, "sender": job.tracker.pid}
    if name != "TERM":
        job.tracker.terminate()
        assert job.next()["signal"] == "TERM"
    status, report = job.end()
    assert status == 9
    assert report["compute_time"]["time"] > 0
    assert "status code: 9\n" in job.errors


def witness_of(tracker):
    with open(f"/proc/{tracker}/task/{tracker}/children") as file:
        [witness] = [pid for pid in map(int, file.read().split()) if command_line(pid).startswith("signals of:")]
    return witness


def command_line(pid):
    with open(f"/proc/{pid}/cmdline") as file:
        return file.read()


def send_to_group(tracker, number):
    os.killpg(tracker, number)


def send_to_each(tracker, number):
    """As systemd and schedulers do with the processes of a control group."""
    for pid in all_of(tracker)[::-1]:
        os.kill(pid, number)


def all_of(tracker):
    with open(f"/proc/{tracker}/task/{tracker}/children") as file:
        return [tracker, *map(int, file.read().split())]


@pytest.mark.parametrize("send", [send_to_group, send_to_each])
@pytest.mark.parametrize("name", ["HUP", "INT", "QUIT", "USR1", "USR2"])
def test_a_signal_to_all_reaches_the_job_once(tracked, send, name):
    """What came before a signal to the tracker alone is all that came: pending ones are taken by their number, WINCH at last."""
    job = tracked("TERM", 9, start_new_session=True)
    for _ in range(3):
        send(job.tracker.pid, signal.Signals["SIG" + name])
        assert job.next() == {"signal": name, "sender": os.getpid()}
        job.tracker.send_signal(signal.SIGWINCH)
        assert job.next() == {"signal": "WINCH", "sender": job.tracker.pid}
        job.tracker.send_signal(signal.Signals["SIG" + name])
        assert job.next() == {"signal": name, "sender": job.tracker.pid}
    send(job.tracker.pid, signal.SIGTERM)
    assert job.next() == {"signal": "TERM", "sender": os.getpid()}
    assert job.end()[0] == 9


def test_the_witness_may_be_sent_it_last(tracked):
    """Within moments: a busy machine may take longer, so one try in five is enough."""
    job = tracked("TERM", 9)
    came = []
    for _ in range(5):
        for pid in all_of(job.tracker.pid):
            os.kill(pid, signal.SIGUSR1)
        job.tracker.send_signal(signal.SIGWINCH)
        came.append([])
        while not came[-1] or came[-1][-1] != "WINCH":
            came[-1].append(job.next()["signal"])
    assert ["USR1", "WINCH"] in came
    job.tracker.terminate()
    assert job.next()["signal"] == "TERM" and job.end()[0] == 9


def test_a_job_that_left_the_group_gets_what_is_sent_to_it(gpu_tracker, tmp_path):
    program = "import json, os, signal; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}); os.setpgid(0, 0); " \
              "print(json.dumps({'ready': os.getpid()}), flush=True); signal.sigwait({signal.SIGTERM})"
    job = Tracked([gpu_tracker, *START, sys.executable, "-c", program], tmp_path, start_new_session=True)
    os.killpg(job.tracker.pid, signal.SIGTERM)
    assert job.end()[0] == 0


@pytest.fixture
def control_group():
    top = pathlib.Path("/sys/fs/cgroup")
    folder = (top / "pids" if (top / "pids").is_dir() else top) / f"of-a-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    yield folder
    wait_until(lambda: is_removed(folder))


def is_removed(folder):
    """The kernel lets go of the last process a moment after its end."""
    try:
        for each in [*folder.glob("*/"), folder]:
            each.rmdir()
    except OSError as error:
        assert error.errno == errno.EBUSY
        return False
    return True


@pytest.mark.parametrize("with_groups_below", [False, True])
def test_a_signal_to_a_control_group(control_group, tracked, with_groups_below):
    """The tracker may have made the job a group of its own, which not everybody looks into."""
    job = tracked("TERM", 9, preexec_fn=lambda: (control_group / "cgroup.procs").write_text(str(os.getpid())))
    lists = control_group.rglob("cgroup.procs") if with_groups_below else [control_group / "cgroup.procs"]
    numbers = {int(word) for file in lists for word in file.read_text().split()}
    for pid in sorted(numbers, reverse=True):
        os.kill(pid, signal.SIGUSR1)
    assert job.next()["signal"] == "USR1"
    job.tracker.send_signal(signal.SIGWINCH)
    assert job.next() == {"signal": "WINCH", "sender": job.tracker.pid}
    job.tracker.terminate()
    assert job.next()["signal"] == "TERM"
    assert job.end()[0] == 9


def test_the_terminal_reaches_a_job_that_left_the_group(gpu_tracker):
    """The shell would have given the terminal to timeout's group."""
    line = [gpu_tracker, "run", "-q", "--", "timeout", "60", *SAYS_INT]
    child, terminal = pty.fork()
    if not child:
        os.execv(line[0], line)
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    while b"told" not in said:
        said += os.read(terminal, 1000)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) in (5, 124, 130)
    os.close(terminal)


def test_the_witness_of_signals(tracked):
    """Who looks for the command finds it beside the command, who looks for gpu-tracker does not; it counts nowhere, and ends."""
    job = tracked("TERM", 9)
    witness = witness_of(job.tracker.pid)
    assert command_line(witness).rstrip("\0") == "signals of:\0" + command_line(job.pid).rstrip("\0")
    assert "gpu-tracker" not in command_line(witness).partition(command_line(job.pid))[0]
    assert os.listdir(f"/proc/{witness}/fd") == ["0"]
    os.kill(witness, signal.SIGSTOP)
    job.tracker.send_signal(signal.SIGUSR1)
    assert job.next() == {"signal": "USR1", "sender": job.tracker.pid}
    os.kill(witness, signal.SIGKILL)
    job.tracker.terminate()
    assert job.next() == {"signal": "TERM", "sender": job.tracker.pid}
    status, report = job.end()
    assert status == 9
    assert report["processes"] == {"max": 1, "started": 1}
    assert not os.path.exists(f"/proc/{witness}")


def test_the_witness_ends_with_a_killed_tracker(tracked):
    job = tracked()
    witness = witness_of(job.tracker.pid)
    job.tracker.kill()
    job.tracker.wait()
    while os.path.exists(f"/proc/{witness}") and state(witness) != "Z":
        time.sleep(0.01)


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP", "QUIT", "USR1"])
def test_a_command_that_dies_of_it(gpu_tracker, tmp_path, name):
    number = signal.Signals["SIG" + name]
    tracker = subprocess.Popen([gpu_tracker, *START, "sh", "-c", "echo; exec sleep 30"], cwd=tmp_path,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    tracker.stdout.readline()
    tracker.send_signal(number)
    _, errors = tracker.communicate(timeout=120)
    assert tracker.returncode == 128 + number
    assert f"status code: -{int(number)}\n" in errors
    assert json.loads((tmp_path / "report.json").read_text())


@pytest.mark.parametrize("start", ["sh -c", "setsid sh -c", "sh -c '(eval \"$0\")'"])
def test_a_signal_of_a_short_process_of_the_job_is_not_passed_back(gpu_tracker, tmp_path, start):
    """The sender lived between two samples. (One that has ended when the signal is read cannot be told from others.)"""
    script = f"trap 'echo got it' USR1; sleep 0.2; {start} \"kill -USR1 $PPID; sleep 0.6\"; echo end"
    line = [gpu_tracker, "run", "--disable-logs", "--st=60", "-o", "report.json", "--", "sh", "-c", script]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "end\n")


def test_a_signal_of_the_job_is_not_passed_back(gpu_tracker, tmp_path):
    program = """if True:
        import json, os, signal, time
        for number in (signal.SIGUSR1, signal.SIGTERM):
            signal.signal(number, lambda number, frame: print("got", number, flush=True))
        time.sleep(0.2)
        os.kill(os.getppid(), signal.SIGUSR1)
        os.kill(os.getppid(), signal.SIGTERM)
        time.sleep(0.2)
        print("end", flush=True)
    """
    done = subprocess.run([gpu_tracker, *START, sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True,
                          timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "end\n")


def test_stopped_and_continued_by_others(tracked):
    """Somebody stops and continues only the command: the tracker goes on."""
    job = tracked()
    os.kill(job.pid, signal.SIGSTOP)
    time.sleep(0.2)
    assert state(job.tracker.pid) != "T"
    os.kill(job.pid, signal.SIGCONT)
    assert job.next()["signal"] == "CONT"
    job.tracker.terminate()
    assert job.next()["signal"] == "TERM"
    assert job.end()[0] == 0


def state(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0]


def wait_state(pid, wanted):
    end = time.monotonic() + 60
    while state(pid) not in wanted:
        assert time.monotonic() < end, state(pid)
        time.sleep(0.01)


def test_stop_signal_to_the_tracker_stops_and_continues_both(gpu_tracker, tmp_path):
    """As a shell's `kill -TSTP` and `kill -CONT` of the tracker alone."""
    program = "import json, os, time; print(json.dumps({'ready': os.getpid()}), flush=True)\n" \
              "while not os.path.exists('go'): time.sleep(0.01)"
    job = Tracked([gpu_tracker, *START, sys.executable, "-c", program], tmp_path, process_group=0)
    job.tracker.send_signal(signal.SIGTSTP)
    wait_state(job.pid, "T")
    wait_state(job.tracker.pid, "T")
    time.sleep(0.2)
    job.tracker.send_signal(signal.SIGCONT)
    wait_state(job.pid, "SRD")
    (tmp_path / "go").touch()
    assert job.end()[0] == 0


def test_no_burst_of_samples_after_a_stop(gpu_tracker, tmp_path):
    line = [gpu_tracker, "run", "--disable-logs", "--st=0.01", "--tf=t.csv", "-o", "report.json", "--", sys.executable, "-c",
            "import json, os, time; print(json.dumps({'ready': os.getpid()}), flush=True); [time.sleep(0.02) for _ in range(20)]"]
    job = Tracked(line, tmp_path, process_group=0)
    os.killpg(job.tracker.pid, signal.SIGSTOP)
    time.sleep(1)
    os.killpg(job.tracker.pid, signal.SIGCONT)
    assert job.end()[0] == 0
    with open(tmp_path / "t.csv", newline="") as file:
        rows = list(csv.DictReader(file.readlines()[2:]))
    times = [float(row["timestamp"]) for row in rows]
    pause, resumed = max((later - earlier, later) for earlier, later in zip(times, times[1:]))
    assert pause > 0.8
    assert 1 <= sum(resumed <= moment < resumed + 0.1 for moment in times) <= 20


def test_killed_tracker_leaves_the_command_alone(tracked):
    job = tracked()
    job.tracker.kill()
    job.tracker.wait()
    os.kill(job.pid, signal.SIGTERM)
    assert job.next()["signal"] == "TERM"


def test_sigchld_storm(gpu_tracker, tmp_path):
    """Many orphans that end at once are all reaped."""
    script = "i=0; while [ $i -lt 200 ]; do (sleep 0.05 &) ; i=$((i+1)); done; " \
             "n=0; while ps --ppid $PPID -o comm= | grep -q sleep && [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done; " \
             "ps --ppid $PPID -o stat= | grep -c Z"
    done = subprocess.run([gpu_tracker, *START, "sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.stdout == "0\n"
