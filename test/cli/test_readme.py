"""The README's examples, typed as they stand into a copy of the project."""
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
from patience import takes_signal, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv" / "bin"
LONG_RUNNING = ("gpu-tracker serve", "gpu-tracker attach")  # until Ctrl-C
ELSEWHERE = ("make ", "pip ", "export PATH=", "python3 -m venv ", ". gput/")  # tested by the tests of installing and packaging


def examples():
    """The indented lines, without fenced output; an open quote goes on to the next line."""
    text = (ROOT / "README.md").read_text().split("## More")[0]
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    command = ""
    for line in text.splitlines():
        if line.startswith("    "):
            command += ("\n" if command else "") + line[4:]
            if command.count("'") % 2 == 0:
                yield command
                command = ""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("readme")
    for name in "examples", "test":
        (place / name).symlink_to(ROOT / name)
    return place


def run(command, folder, gpu_tracker):
    path = f"{pathlib.Path(gpu_tracker).parent}:{PYTHON}:{os.environ['PATH']}"
    command = re.sub(r"examples/train.py$", "examples/train.py --epochs 1", command)
    is_long = command.startswith(LONG_RUNNING)
    if is_long:
        command = "exec " + re.sub(r"\bPID\b", str(os.getpid()), command)
    environment = {**os.environ, "PATH": path, "XDG_STATE_HOME": str(folder / "state")}  # a list of runs that no other test kills
    line = ["bash", "-c", command]
    with subprocess.Popen(line, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        if is_long:
            wait_until(lambda: process.poll() is not None or is_ready(process.pid))
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=300)
        return subprocess.CompletedProcess(command, process.returncode, output, errors)


def is_ready(pid):
    with open(f"/proc/{pid}/comm") as name:
        return name.read() == "gpu-tracker\n" and takes_signal(pid, signal.SIGINT)


def test_examples(folder, gpu_tracker):
    commands = [command for command in examples() if not command.startswith(ELSEWHERE)]
    assert len(commands) > 15
    for command in commands:
        done = run(command, folder, gpu_tracker)
        assert done.returncode == 0, (command, done)
        assert done.stdout or "gpu-tracker  " in done.stderr or " -o " in command, command
    assert (folder / "report.json").stat().st_size > 1000 and (folder / "run.html").stat().st_size > 1000


def test_pictures_are_there_and_small():
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert len(pictures) >= 3
    assert all(0 < (ROOT / name).stat().st_size < 150_000 for name in pictures)


def test_commands_of_the_features_exist(cli):
    lines = (ROOT / "docs/features.md").read_text()
    commands = [text.split() for text in re.findall(r"`(gpu-tracker [^`]+)`", lines)]
    assert len(commands) > 35
    for _, *words in commands:
        own = words[:words.index("--")] if "--" in words else words
        help_of = cli(own[0], "--help")
        assert help_of.returncode == 0, words
        for word in own:
            assert not word.startswith("--") or word in help_of.stdout, (word, words)
