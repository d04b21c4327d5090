"""On a terminal: Ctrl-C, Ctrl-Z and fg under a real shell with job control, standard input, the progress line."""
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest
from patience import takes_signal, wait_until


class Terminal:
    """A program as leader of a session with a terminal of its own."""

    def __init__(self, words, folder, columns=120):
        self.master, slave = pty.openpty()
        self.resize(columns)

        def take_terminal():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        environment = {**os.environ, "PS1": "$ ", "HISTFILE": "", "TERM": "xterm"}
        self.process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, cwd=folder, start_new_session=True,
                                        preexec_fn=take_terminal, env=environment)
        os.close(slave)
        self.text = ""
        self.seen = 0

    def resize(self, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def send(self, text):
        os.write(self.master, text.encode())

    def read(self, timeout):
        if not select.select([self.master], [], [], timeout)[0]:
            return False
        try:
            self.text += os.read(self.master, 65536).decode(errors="replace")
        except OSError:
            return False
        return True

    def expect(self, pattern, seconds=60):
        """Wait for `pattern` in what came since the last match."""
        end = time.monotonic() + seconds
        while not (match := re.search(pattern, self.text[self.seen:])):
            assert time.monotonic() < end, f"no {pattern!r} in {self.text[self.seen:]!r}"
            self.read(0.05)
        self.seen += match.end()
        return match

    def finish(self, seconds=60):
        """Everything up to the end; the exit status."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and (self.read(0.05) or self.process.poll() is None):
            pass
        return self.process.wait(10)

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def terminal(tmp_path):
    opened = []

    def start(*words, **keywords):
        opened.append(Terminal(list(map(str, words)), tmp_path, **keywords))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def test_ctrl_c_reaches_the_command_once(terminal, gpu_tracker, truth):
    screen = terminal(gpu_tracker, "run", "--disable-logs", "--", *truth("signals", "TERM", 3))
    screen.expect("ready")
    screen.send("\x03")
    assert screen.expect(r'"signal": "INT", "sender": (\d+)')[1] == "0"
    screen.send("\x1c")
    screen.expect(r'"signal": "QUIT", "sender": 0')
    screen.process.terminate()
    screen.expect('"signal": "TERM"')
    assert screen.finish() == 3
    assert screen.text.count('"INT"') == 1
    assert "gpu-tracker  " in screen.text


def test_ctrl_c_ends_a_command_that_dies_of_it(terminal, gpu_tracker):
    screen = terminal(gpu_tracker, "-e", "sh -c 'echo begun; exec sleep 30'", "--disable-logs")
    screen.expect("begun")
    screen.send("\x03")
    screen.expect(r"status code: -2\s+Max RAM:")
    assert screen.finish() == 130


def test_ctrl_c_ends_attach(terminal, gpu_tracker):
    process = subprocess.Popen(["sleep", "30"])
    screen = terminal(gpu_tracker, "attach", "--disable-logs", "--tf", "t.csv", process.pid)
    wait_until(lambda: takes_signal(screen.process.pid, signal.SIGINT))
    screen.send("\x03")
    screen.expect(r"gpu-tracker  sleep 30 [\s\S]*goes on\.")
    assert screen.finish() == 0
    process.kill()
    process.wait()


def test_standard_input_is_the_command_s(terminal, gpu_tracker):
    screen = terminal(gpu_tracker, "run", "--disable-logs", "--", "sh", "-c", "read line; echo got $line; stty size")
    screen.send("hello\n")
    screen.expect("got hello")
    screen.expect("24 120")
    assert screen.finish() == 0


def test_hangup_of_the_terminal_still_gives_a_report(gpu_tracker, tmp_path):
    screen = Terminal([gpu_tracker, "run", "--disable-logs", "-o", "out.txt", "--", "sleep", "30"], tmp_path)
    wait_until(lambda: takes_signal(screen.process.pid, signal.SIGHUP))
    os.close(screen.master)
    assert screen.process.wait(120) == 128 + signal.SIGHUP
    assert (tmp_path / "out.txt").read_text().startswith("Max RAM:")


@pytest.fixture
def shell(terminal):
    screen = terminal("bash", "--norc", "--noprofile", "-i")
    screen.expect(r"\$ ")
    return screen


COUNT = f"""{sys.executable} -c 'import time; print("begun"); [time.sleep(0.1) for _ in range(15)]; print("coun" "ted")'"""


def test_ctrl_z_and_fg(shell, gpu_tracker):
    shell.send(f"{gpu_tracker} run --disable-logs --progress --st 0.1 --tu seconds -- {COUNT}\n")
    shell.expect("begun\r\n")
    shell.send("\x1a")
    shell.expect(r"Stopped")
    shell.expect(r"\$ ")
    shell.send("jobs -l\n")
    assert shell.expect(r"(\d+) Stopped")
    before = len(shell.text)
    time.sleep(1.7)
    shell.read(0)
    assert "counted" not in shell.text[before:]
    shell.send("fg\n")
    shell.expect("counted")
    shell.expect("cores busy of")
    shell.send("echo status $?\n")
    shell.expect("status 0")


def test_bg_then_fg(shell, gpu_tracker):
    shell.send(f"{gpu_tracker} run --disable-logs -o out -- {COUNT}\n")
    shell.expect("begun\r\n")
    shell.send("\x1a")
    shell.expect("Stopped")
    shell.send("bg\n")
    shell.expect("counted")
    shell.send("wait; echo status $?\n")
    shell.expect("status 0")


def test_a_background_job_that_reads_stops_until_fg(shell, gpu_tracker):
    shell.send(f"{gpu_tracker} run --disable-logs -o out -- sh -c 'read line; echo got $line' &\n")
    shell.expect(r"\$ ")
    time.sleep(0.4)
    shell.send("\n")
    shell.expect("Stopped")
    shell.send("fg\n")
    shell.expect("gpu.tracker.*\r\n")
    time.sleep(0.2)
    shell.send("hello\n")
    shell.expect("got hello")


def test_a_command_that_stops_itself_gives_the_terminal_back(shell, gpu_tracker):
    shell.send(f"{gpu_tracker} run --disable-logs -o out -- sh -c 'kill -STOP $$; echo contin''ued'\n")
    shell.expect("Stopped")
    shell.expect(r"\$ ")
    shell.send("fg\n")
    shell.expect("continued")


def test_an_interactive_shell_inside(shell, gpu_tracker):
    shell.send(f"PS1='inner> ' {gpu_tracker} run --disable-logs -o out -- bash --norc --noprofile -i\n")
    shell.expect("inner> ")
    shell.send("sleep 30\n")
    time.sleep(0.3)
    shell.send("\x03")
    shell.expect("inner> ")
    shell.send("sleep 30\n")
    time.sleep(0.3)
    shell.send("\x1a")
    shell.expect("Stopped")
    shell.send("kill %1; exit 6\n")
    shell.send("exit 6\n")
    shell.expect("status code: 6")


def lines_of(text):
    """What a terminal shows: carriage return and erasure applied."""
    shown = []
    for line in text.split("\n"):
        line = line.rstrip("\r")
        shown.append(re.split(r"\r\x1b\[K|\r", line)[-1])
    return shown


def test_progress(terminal, gpu_tracker):
    screen = terminal(gpu_tracker, "run", "--disable-logs", "--progress", "--st", "0.05", "--", "sleep", "1.8")
    assert screen.finish() == 0
    drawn = re.findall(r"0:00:0\d  RAM [\d.]+ \w+  CPU \d+ %  GPU n/a|0:00:0\d  RAM [\d.]+ \w+  CPU \d+ %  GPU \d+ %", screen.text)
    assert 2 <= len(drawn) <= 8
    assert drawn[-1].startswith("0:00:01")
    assert lines_of(screen.text)[0].startswith("gpu-tracker  sleep 1.8 ")
    assert not any("RAM " in line and "CPU " in line for line in lines_of(screen.text) if line.startswith("0:00"))


def test_progress_fits_the_terminal(terminal, gpu_tracker):
    screen = terminal(gpu_tracker, "run", "--disable-logs", "--progress", "--", "sleep", "1.8", columns=30)
    screen.expect("RAM")
    screen.resize(20)
    assert screen.finish() == 0
    drawn = re.findall(r"(0:00:0\d[^\r]*)", screen.text)
    assert drawn and all(len(line) < 30 for line in drawn)
    assert len(drawn[-1]) < 20
    assert "\x1b[1A\x1b[J" in screen.text


def test_progress_needs_a_terminal_and_the_option(terminal, cli, gpu_tracker):
    assert "\r" not in cli("run", "--disable-logs", "--progress", "--", "sleep", "0.7").stderr
    screen = terminal(gpu_tracker, "run", "--disable-logs", "--", "sleep", "0.7")
    assert screen.finish() == 0
    assert "CPU n" not in screen.text and "0:00:0" not in screen.text.split("Resource")[0]


def test_tables_fit_the_terminal(terminal, cli, gpu_tracker):
    screen = terminal(gpu_tracker, "doctor", columns=110)
    assert screen.finish() == 0
    assert max(map(len, lines_of(re.sub(r"\x1b\[\d*m", "", screen.text)))) <= 110
    assert max(map(len, cli("doctor").stdout.splitlines())) > 110, "and nothing else"
