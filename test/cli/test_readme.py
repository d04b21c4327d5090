"""The README's examples, typed as they stand into a copy of the project."""
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv" / "bin"
LONG_RUNNING = ("gpu-tracker serve", "gpu-tracker attach")  # until Ctrl-C
ELSEWHERE = ("make ", "pip ")  # tested by the tests of installing and packaging


def examples():
    """The indented lines of "How to", without fenced output; an open quote goes on to the next line."""
    text = (ROOT / "README.md").read_text().split("## How to")[1].split("## More")[0]
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
    if command.startswith(LONG_RUNNING):
        command = "timeout --signal=INT --preserve-status 1 " + re.sub(r"\bPID\b", "$$", command)
    return subprocess.run(["bash", "-c", command], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True,
                          timeout=60, check=False)


def test_examples(folder, gpu_tracker):
    commands = [command for command in examples() if not command.startswith(ELSEWHERE)]
    assert len(commands) > 15
    for command in commands:
        done = run(command, folder, gpu_tracker)
        assert done.returncode == 0, (command, done)
        assert done.stdout or "Max RAM:" in done.stderr, command
    assert (folder / "report.json").stat().st_size > 1000
