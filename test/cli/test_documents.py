"""The commands and programs of README.md and the pages below docs, run as a reader types them.

Blocks marked `sh` run line by line in a folder with the files that the pages name; a line that ends in `# status N` ends with N.
Blocks marked `sh elsewhere` need a cluster, a server or an installation: of these, the options of gpu-tracker are checked.
Blocks marked `python` run as one program for each page.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from job_folder import JobFolder
from patience import takes_signal, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LONG_RUNNING = re.compile(r"gpu-tracker (serve|attach|top(?!.*--once)|energy-relay)\b")  # until Ctrl-C


def name_of(page):
    return page.stem


def blocks(page, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def commands(block):
    """The lines of a block; an open quote, a backslash or a here-document goes on to the next line."""
    command, end = "", None
    for line in block.splitlines():
        command += ("\n" if command else "") + line
        here = re.search(r"<<-?\s*'?(\w+)'?", line)
        end = here[1] if here else end
        if end and line.strip() != end or command.count("'") % 2 or command.endswith("\\"):
            continue
        if command.strip() and not command.lstrip().startswith("#"):
            yield command
        command, end = "", None


@pytest.fixture(scope="session")
def prepared(tmp_path_factory, gpu_tracker):
    """The files that the pages name."""
    folder = tmp_path_factory.mktemp("documents")
    for name in "examples", "test":
        (folder / name).symlink_to(ROOT / name)
    for name in "train.py", "job.sh":
        shutil.copy(ROOT / "examples" / name, folder)
    shutil.copy(ROOT / "test/fixture/traces/torch.json.gz", folder / "trace.json.gz")
    subprocess.run([sys.executable, ROOT / "test/traced_job.py", folder / "traces", "--ranks", "4", "--steps", "12", "--launches", "12"],
                   check=True)
    JobFolder(gpu_tracker, folder / "job", ranks=4, per_node=2)
    (folder / "base-job.sqlite").unlink()
    for name in "run", "before", "after":
        done = run(f"gpu-tracker run -q --no-history --detail --blocks --st 0.1 --tf {name}.sqlite -- sh job.sh", folder, gpu_tracker)
        assert done.returncode == 0, done
    return folder


def run(command, folder, gpu_tracker):
    environment = {**os.environ, "PATH": f"{pathlib.Path(gpu_tracker).parent}:{ROOT / '.venv/bin'}:{os.environ['PATH']}",
                   "XDG_STATE_HOME": str(folder / "state")}  # a list of runs of its own
    is_long = LONG_RUNNING.match(command)
    if is_long:
        command = "exec " + re.sub(r"\bPID\b", str(os.getpid()), command)
    with subprocess.Popen(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        if is_long:
            wait_until(lambda: process.poll() is not None or is_ready(process.pid))
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=300)
        return subprocess.CompletedProcess(command, process.returncode, output, errors)


def is_ready(pid):
    with open(f"/proc/{pid}/comm") as name:
        return name.read() == "gpu-tracker\n" and takes_signal(pid, signal.SIGINT)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_run(page, prepared, tmp_path, gpu_tracker):
    folder = tmp_path / "folder"
    shutil.copytree(prepared, folder, symlinks=True)
    for block in blocks(page, "sh"):
        for command in commands(block):
            status = re.search(r"# status (\d+)$", command)
            done = run(command, folder, gpu_tracker)
            assert done.returncode == (int(status[1]) if status else 0), (command, done.stdout[-2000:], done.stderr[-2000:])


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_programs_run(page, prepared, tmp_path):
    code = "\n".join(blocks(page, "python"))
    if code:
        folder = tmp_path / "folder"
        shutil.copytree(prepared, folder, symlinks=True)
        (folder / "program.py").write_text(code)
        done = subprocess.run([ROOT / ".venv/bin/python", "program.py"], cwd=folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_options_exist(page, cli):
    text = "\n".join(blocks(page, "sh elsewhere")) + "\n" + "\n".join(re.findall(r"`(gpu-tracker [^`]+)`", page.read_text()))
    manual = cli("man").stdout.replace("\\-", "-")
    for line in re.findall(r"\bgpu-tracker ([a-z][^|;&\n]*)", text):
        words = line.split()
        own = words[:words.index("--")] if "--" in words else words
        help_of = cli("help", *own[:2])
        if help_of.returncode:
            help_of = cli("help", own[0])
        assert help_of.returncode == 0, line
        known = help_of.stdout + (manual if page.stem == "coming-from" else "")
        for word in own[1:]:
            option = re.match(r"--[a-z][a-z-]+", word)
            assert not option or option[0] in known, (word, line)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#:]*)(#[^)]+)?\)", page.read_text()):
        place = page.parent / target if target else page
        assert place.exists(), target
        if anchor and place.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", place.read_text(), re.MULTILINE)
            anchors = {"#" + re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in anchors, (target, anchor)


def test_pictures_are_there_and_small():
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert len(pictures) >= 3
    assert all(0 < (ROOT / name).stat().st_size < 150_000 for name in pictures)
