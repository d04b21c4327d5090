"""A few of the random jobs of known use, tracked: make truth-random has more of them, and more bounds."""
import pathlib
import subprocess
import sys

import pytest

RANDOM_JOBS = pathlib.Path(__file__).resolve().parents[1] / "truth" / "random_jobs.py"


@pytest.mark.parametrize("seed, options", [
    (5, ["--format", "sqlite"]),
    (14, ["--format", "csv"]),  # the main process loses its first thread
    pytest.param(57, ["--format", "sqlite"], marks=pytest.mark.long),
    pytest.param(112, ["--format", "csv"], marks=pytest.mark.long),
])
def test_figures_of_random_jobs(seed, options):
    line = [sys.executable, str(RANDOM_JOBS), str(seed), "--sure", "--way", "run", "--sleep-time", "0.1", "--stills", "0", *options]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
