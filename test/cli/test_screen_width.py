"""Nothing is wider than the terminal that it goes to; files and pipes get it whole."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import unicodedata
from pathlib import Path

import pytest
from job_folder import JobFolder

TRACES = Path(__file__).parents[1] / "fixture/traces"
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(words, columns, statuses=(0, 3), **environment):
    """What the command writes to a terminal of so many columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(list(map(str, words)), stdin=slave, stdout=slave, stderr=slave,
                               env={**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environment})
    os.close(slave)
    parts = []
    try:
        while part := os.read(master, 65536):
            parts.append(part)
    except OSError:
        pass
    finally:
        os.close(master)
    assert process.wait(60) in statuses
    return b"".join(parts).decode().replace("\r\n", "\n")


def width(line):
    wide = {"W": 2, "F": 2}
    return sum(wide.get(unicodedata.east_asian_width(each), 1) for each in ESCAPE.sub("", line))


@pytest.fixture(scope="module")
def runs(gpu_tracker, tmp_path_factory):
    """Two recordings with blocks, one named in letters of two columns, and a job."""
    folder = tmp_path_factory.mktemp("runs")
    for name in "before", "after":
        subprocess.run([gpu_tracker, "run", "--blocks", "--quiet", "--no-history", "--sleep-time", "0.05", "--tracking-file",
                        folder / f"{name}.sqlite", "--", gpu_tracker, "block", "a block of 学習 with a name that is long/and longer",
                        "--", "sleep", "0.3"], check=True)
    JobFolder(gpu_tracker, folder / "job", 4, per_node=2)
    return folder


COMMANDS = {
    "overview": ["--help"], "run": ["run", "--help"], "execute": ["help", "execute"], "profile": ["profile", "--help"],
    "group": ["timeline", "--help"], "schema": ["schema"], "doctor": ["doctor"],
    "analyze": ["analyze", "{runs}/after.sqlite"], "compare": ["compare", "{runs}/before.sqlite", "{runs}/after.sqlite"],
    "rules": ["compare", "{runs}/before.sqlite", "{runs}/after.sqlite", "--fail-if", "combined_ram_peak>+900%"],
    "text": ["report", "-f", "text", "{runs}/after.sqlite"], "summary": ["report", "{runs}/after.sqlite"],
    "ranks": ["report", "-f", "text", "{runs}/job"],
    **{f"{name} of ranks": ["profile", name, "{runs}/job"] for name in ("utilization", "stragglers", "health")},
    "info": ["timeline", "info", "{traces}/torch.json.gz"],
    **{name: ["profile", name, "{traces}/torch.json.gz"]
       for name in ("job", "steps", "phases", "dataloader", "operators", "memory", "advice")},
    "report of a job": ["profile", "{traces}/torch.json.gz"],
    "functions": ["profile", "functions", "{traces}/python3.13.prof"],
    "diff": ["profile", "diff", "{traces}/torch.json.gz", "{traces}/torch.json.gz"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_wider_than_the_terminal(gpu_tracker, runs, command):
    words = [word.format(runs=runs, traces=TRACES) for word in COMMANDS[command]]
    for columns in 40, 60, 80, 120, 200:
        lines = on_terminal([gpu_tracker, *words], columns).split("\n")
        assert not [line for line in lines if width(line) > columns], columns
        assert len(lines) > 3


def test_the_empty_list_of_runs_fits(gpu_tracker, tmp_path):
    assert width(on_terminal([gpu_tracker, "runs"], 40, XDG_STATE_HOME=tmp_path).strip()) <= 40


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colours_the_same_is_said(gpu_tracker, runs, environment):
    for words in COMMANDS["doctor"], [*COMMANDS["analyze"], "-f", "text"], [*COMMANDS["compare"], "-f", "text"]:
        words = [gpu_tracker, *[word.format(runs=runs) for word in words]]
        coloured, plain = on_terminal(words, 80), on_terminal(words, 80, **environment)
        assert ESCAPE.search(coloured) and not ESCAPE.search(plain)
        assert ESCAPE.sub("", coloured) == plain


def test_what_is_piped_is_whole(cli, runs):
    printed = cli("analyze", runs / "after.sqlite").stdout
    assert "\n\tmain_gpu_ram " in printed and max(map(len, printed.splitlines())) > 120
    assert "\x1b" not in printed
