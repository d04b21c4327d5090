"""report --request: what to ask a scheduler for next time."""
import re

import pytest

from test_warnings import GROWS, LIMIT, group, limited, slurm  # noqa: F401


@pytest.fixture
def recording(cli):
    assert cli("run", "--disable-logs", "--tf=run.sqlite", "--", "sleep", "0.2").returncode == 0
    return "run.sqlite"


@pytest.mark.parametrize("kind, expected", [
    ("slurm", "--mem=512M --cpus-per-task=1 --time=0:10:00\n"),
    ("pbs", "-l select=1:ncpus=1:mem=512mb -l walltime=0:10:00\n"),
    ("k8s", "requests: {cpu: 100m, memory: 512Mi}\nlimits: {memory: 512Mi}\n"),
    ("docker", "--memory=512m --cpus=1\n"),
])
def test_kinds(cli, recording, kind, expected):
    done = cli("report", "--request", kind, recording)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


def test_the_largest_of_several_runs(cli, recording):
    work = "import time; data = b'x' * 2_000_000_000; time.sleep(0.1)"
    assert cli("run", "--disable-logs", "--tf=large.sqlite", "--", "python3", "-c", work).returncode == 0
    assert cli("report", "--request=slurm", recording, "large.sqlite", recording).stdout == "--mem=2560M --cpus-per-task=1 --time=0:10:00\n"


def test_after_a_kill(cli, limited):  # noqa: F811
    limited("--tf=run.sqlite", "--", "python3", "-c", GROWS)
    done = cli("report", "--request=slurm", "run.sqlite")
    memory = int(re.fullmatch(r"--mem=(\d+)M --cpus-per-task=1\n", done.stdout)[1])
    assert memory * 2 ** 20 >= 2 * LIMIT
    assert done.stderr == "gpu-tracker: next time: more than 300 MB; this run cannot tell how much\n"


def test_in_the_summary(cli, slurm):  # noqa: F811
    text = cli("run", "--disable-logs", "--", "sleep", "0.2").stderr
    assert "\n  next time, from this one run:\n    --mem=512M --cpus-per-task=1 --time=0:10:00\n  all figures: " in text
    assert "next time" not in cli("run", "--disable-logs", "--", "sleep", "0.2", env={}).stderr


def test_what_is_refused(refused, cli, recording):
    refused(2, "'sun' is not one of slurm, k8s, pbs, docker", "report", "--request=sun", recording)
    refused(2, "neither --at nor --format", "report", "--request=slurm", "-f", "json", recording)
    refused(125, "none.sqlite", "report", "--request=slurm", "none.sqlite")
