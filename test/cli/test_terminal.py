"""On a terminal: Ctrl-C, Ctrl-Z and fg under a real shell with job control, standard input, the line of run --status."""
import contextlib
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest
from patience import states_of_children, takes_signal, wait_until


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

    def resize(self, columns, rows=24):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def foreground(self):
        """The name of the process that leads the group which has the terminal."""
        group, = struct.unpack("i", fcntl.ioctl(self.master, termios.TIOCGPGRP, bytes(4)))
        with contextlib.suppress(OSError):
            return pathlib.Path(f"/proc/{group}/comm").read_text().strip()
        return None

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
        return self.process.wait(100)

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
    shell.send(f"{gpu_tracker} run --disable-logs --status --st 0.1 --tu seconds -- {COUNT}\n")
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
    wait_until(lambda: states_of_children(shell.process.pid) == ["T"])
    shell.send("\n")
    shell.expect("Stopped")
    shell.send("fg\n")
    shell.expect("gpu.tracker.*\r\n")
    wait_until(lambda: shell.foreground() == "gpu-tracker")
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
    shell.send("sleep 300\n")
    wait_until(lambda: shell.foreground() == "sleep")
    shell.send("\x03")
    shell.expect(r"\^C[\s\S]*inner> ")
    shell.send("sleep 300\n")
    wait_until(lambda: shell.foreground() == "sleep")
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


KEPT_TITLE, TITLE_BACK = "\x1b[22;2t", "\x1b]2;\x1b\\\x1b[23;2t"
RESERVED, WHOLE = "\x1b[1;23r", "\x1b[r"
SHOWN = r"\x1b\[24;1H\x1b\[0;7m ([^\x1b]*)"


def test_status(terminal, gpu_tracker):
    screen = terminal(gpu_tracker, "run", "--disable-logs", "--status", "--st", "0.05", "--", "sh", "-c", "echo from the job; sleep 1.8")
    assert screen.finish() == 0
    lines = re.findall(SHOWN, screen.text)
    assert 2 <= len(lines) <= 8 and re.match(r"sh 0:01  mem [\d.]+ [kM]B of [\d.]+ [GT]B  cpu [\d.]+ of [\d.]+$", lines[-1])
    assert re.findall(r"\x1b\]2;(.*?)\x1b", screen.text)[:len(lines)] == lines, "the title of the window"
    assert screen.text.count(RESERVED) == 1 and screen.text.index("from the job") < screen.text.index(RESERVED)
    rest = screen.text[screen.text.rindex(WHOLE):]
    assert rest.startswith(WHOLE + "\x1b[24;1H\x1b[2K\x1b8") and "gpu-tracker  sh -c " in rest and not re.search(SHOWN, rest)
    assert not re.search(r"\x1b\]9;4;1", screen.text), "terminals that are not known to have it show it as a message"


def test_status_has_an_older_name_and_a_taskbar(terminal, gpu_tracker, monkeypatch):
    for name in ("TMUX", "STY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WT_SESSION", "1")
    script = f"for i in 1 2 3 4 5 6; do {gpu_tracker} block --total 6 part -- sleep 0.4; done"
    screen = terminal(gpu_tracker, "run", "--disable-logs", "--progress", "--blocks", "--tf", "a.sqlite", "--", "sh", "-c", script)
    assert screen.finish() == 0
    assert re.search(r"part [2-5]/6  ~\d+ s$", re.findall(SHOWN, screen.text)[-1])
    shares = [int(share) for share in re.findall(r"\x1b\]9;4;1;(\d+)\x1b", screen.text)]
    assert shares and shares == sorted(shares) and 30 < shares[-1] <= 100 and screen.text.count("\x1b]9;4;0\x1b") == 1


def test_earlier_runs_tell_how_long_it_takes(terminal, cli, gpu_tracker, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    cli("run", "--history", "--disable-logs", "--", "sleep", "2")
    screen = terminal(gpu_tracker, "run", "--status", "--disable-logs", "--", "sleep", "2")
    assert screen.finish() == 0
    assert re.search(r"  ~[012] s$", re.findall(SHOWN, screen.text)[0])
    screen = terminal(gpu_tracker, "run", "--status", "--no-history", "--disable-logs", "--", "sleep", "2")
    assert screen.finish() == 0
    assert "~" not in re.findall(SHOWN, screen.text)[0]


def test_status_fits_the_terminal(terminal, gpu_tracker):
    screen = terminal(gpu_tracker, "run", "--disable-logs", "--status", "--", "sleep", "4", columns=30)
    screen.expect(re.escape(RESERVED))
    screen.resize(20, 12)
    screen.expect(r"\x1b\[1;11r")
    screen.expect(r"\x1b\[12;1H")
    assert screen.finish() == 0
    lines = re.findall(r"\x1b\[\d+;1H\x1b\[0;7m([^\x1b]*)", screen.text)
    assert lines and all(len(line) < 30 for line in lines) and len(lines[-1]) < 20


@pytest.mark.parametrize("words", [[], ["--status"], ["TERM=dumb", "--status"], [">out", "--status"], ["2>err", "--status"]])
def test_status_takes_a_terminal_and_the_option(terminal, gpu_tracker, words):
    before = "".join(word + "; export TERM; " for word in words if word.startswith("TERM="))
    behind = "".join(word for word in words if ">" in word)
    wanted = "--status" if "--status" in words and words != ["--status"] else ""
    screen = terminal("sh", "-c", f"{before}{gpu_tracker} run {wanted} --disable-logs -o report -- sleep 1.2 {behind}")
    assert screen.finish() == 0
    assert "\x1b" not in screen.text


def test_status_leaves_the_screen_to_a_program_that_takes_it(terminal, gpu_tracker, tmp_path):
    """Who reads key by key draws as it likes."""
    script = "import pathlib, time, tty\nwhile not pathlib.Path('go').exists(): time.sleep(0.05)\n" \
             "tty.setraw(0)\nprint('raw', flush=True)\ntime.sleep(2)"
    screen = terminal(gpu_tracker, "run", "--disable-logs", "-o", "out", "--status", "--", sys.executable, "-c", script)
    screen.expect(SHOWN)
    (tmp_path / "go").touch()
    screen.expect("raw")
    screen.expect(re.escape("\x1b7" + WHOLE + "\x1b8"))
    assert screen.finish() == 0
    assert not re.search(SHOWN, screen.text[screen.seen:]), "for good"


def test_status_while_the_job_is_stopped_and_in_the_background(shell, gpu_tracker):
    shell.send(f"{gpu_tracker} run --disable-logs -o out --status -- {COUNT.replace('15', '40')}\n")
    shell.expect(SHOWN)
    shell.send("\x1a")
    shell.expect(re.escape(WHOLE) + r"\x1b\[24;1H\x1b\[2K\x1b8" + re.escape(TITLE_BACK))
    shell.expect("Stopped")
    seen = shell.seen
    shell.send("fg\n")
    shell.expect(re.escape(KEPT_TITLE))
    shell.expect(SHOWN)
    assert RESERVED in shell.text[seen:]
    shell.expect("counted")
    shell.expect(r"\$ ")
    shell.send(f"{gpu_tracker} run --disable-logs -o out2 --status -- sleep 1.2 &\n")
    shell.send("wait; echo wai''ted\n")
    seen = shell.seen
    shell.expect("waited")
    assert not re.search(SHOWN, shell.text[seen:])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_status_leaves_a_usable_terminal(terminal, gpu_tracker, number):
    """Also after kill -9 of the tracker: somebody else watches over it."""
    screen = terminal("sh", "-c", f"{gpu_tracker} run --disable-logs --status -- sleep 300; echo status $?")
    screen.expect(SHOWN)
    tracker = int(pathlib.Path(f"/proc/{screen.process.pid}/task/{screen.process.pid}/children").read_text().split()[0])
    job = int(pathlib.Path(f"/proc/{tracker}/task/{tracker}/children").read_text().split()[0])
    os.kill(tracker, number)
    screen.expect(re.escape(WHOLE) + r"\x1b\[(24|999);1H\x1b\[2K\x1b8" + re.escape(TITLE_BACK))
    assert screen.finish() == 0
    assert f"status {128 + number}" in screen.text
    with contextlib.suppress(ProcessLookupError):
        os.kill(job, signal.SIGKILL)


@pytest.mark.skipif(not shutil.which("tmux"), reason="no tmux")
def test_status_in_a_real_terminal(gpu_tracker, tmp_path):
    def tmux(*words):
        server = ["tmux", "-S", str(tmp_path / "tmux"), "-f", "/dev/null"]
        return subprocess.run([*server, *words], capture_output=True, text=True, check=False, timeout=60).stdout

    def lines():
        return tmux("capture-pane", "-p").rstrip("\n").split("\n")

    def region():
        return int(tmux("display-message", "-p", "#{scroll_region_lower}"))

    line = f"{gpu_tracker} run --disable-logs -o out --status -- sh -c 'seq 40; while ! test -e go; do sleep 0.1; done; echo last'"
    tmux("new-session", "-d", "-x", "70", "-y", "12", f"cd {tmp_path} && {line}; sleep 600")
    try:
        wait_until(lambda: re.match(r" sh 0:\d\d  mem ", lines()[-1]))
        assert lines()[:-1] == [*map(str, range(31, 41)), ""] and region() == 10
        tmux("resize-window", "-x", "50", "-y", "16")
        wait_until(lambda: region() == 14)
        tmux("resize-window", "-x", "60", "-y", "9")
        wait_until(lambda: region() == 7 and sum("  mem " in line for line in lines()) == 1)
        (tmp_path / "go").touch()
        wait_until(lambda: region() == 8)
        shown = [line for line in lines() if line]
        assert "last" in shown and "40" in shown and not any("  mem " in line for line in shown)
    finally:
        tmux("kill-server")


def test_tables_fit_the_terminal(terminal, cli, gpu_tracker):
    screen = terminal(gpu_tracker, "doctor", columns=110)
    assert screen.finish() == 0
    assert max(map(len, lines_of(re.sub(r"\x1b\[\d*m", "", screen.text)))) <= 110
    assert max(map(len, cli("doctor").stdout.splitlines())) > 110, "and nothing else"
