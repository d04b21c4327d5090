"""Tables, inserts and questions in the dialect of today's ClickHouse: make test-chdb fetches it."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import time

import pytest
from front import Front

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from simulate_job import make_job

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("chdb"), reason="there is no chdb: make test-chdb installs it")


@pytest.fixture(scope="module")
def front(tmp_path_factory):
    front = Front(tmp_path_factory.mktemp("chdb"))
    yield front
    front.close()


@pytest.fixture(scope="module")
def run(gpu_tracker):
    def run(*words, environment=None):
        done = subprocess.run([gpu_tracker, *map(str, words)], capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, **(environment or {})})
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def folders(front, run, tmp_path_factory):
    """Four jobs: 73 with processes and blocks, 74 with ranks below one tracker; 71 of seconds and 72 of more than an hour, a rank of each
    killed; on the server too."""
    folder = tmp_path_factory.mktemp("jobs")
    real = folder / "73" / "0.sqlite"
    block = f"{pathlib.Path(__file__).resolve().parents[2] / 'build/gpu-tracker'} block step -- true"
    run("run", "--no-history", "-q", "--detail", "--blocks", "--sleep-time", "0.02", "--tf", real, "--", "sh", "-c",
        f"{block}; sleep 0.3; {block}", environment={"SLURM_JOB_ID": "73", "SLURM_CLUSTER_NAME": "alps", "SLURM_STEP_ID": "0",
                                                    "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_STEP_NUM_TASKS": "1"})
    run("push", "--init", front.url)
    for job, period in (("71", 0.1), ("72", 10)):
        paths = make_job(real, folder / job, ranks=3, rows=400, period=period, job=f"alps:{job}.0", ranks_per_node=2, dead=[2],
                         start=time.time() - 5000)  # samples of last month would not stay
        run("push", *paths, front.url)
    ranks = " & ".join(f"RANK={i} LOCAL_RANK={i} LOCAL_WORLD_SIZE=2 WORLD_SIZE=2 sh -c 'sleep 0.2 & sleep 0.4; wait'" for i in range(2))
    run("run", "--no-history", "-q", "--detail", "--sleep-time", "0.02", "--tf", folder / "74" / "0.sqlite", "--", "sh", "-c",
        f"{ranks} & wait", environment={"GPU_TRACKER_JOB": "alps:74.0"})
    run("push", real, folder / "74", front.url)
    return folder


def test_the_printed_tables_are_made(front, run):
    for statement in filter(str.strip, run("push", "--init", "--explain").split(";\n")):
        front.ask(statement)
    run("push", "--init", front.url)
    assert "TTL" in run("push", "--init", "--explain", front.url)
    assert front.ask("SELECT DISTINCT type FROM system.columns WHERE name = 'moment'").strip() == b"DateTime64(9)"


REPORTS = [["report"], ["report", "--heat", "ram"], ["profile", "utilization"], ["profile", "health"]]
OF_BLOCKS = [["sub-track", "analyze", "--calls", "--tf"], ["profile", "stragglers"]]


@pytest.mark.parametrize(("job", "words"), [*((job, words) for job in ("71", "72", "73", "74") for words in REPORTS),
                                            *(("73", words) for words in OF_BLOCKS)])
def test_reports_are_those_of_the_folder(front, folders, run, gpu_tracker, job, words):
    def ask(name):
        done = subprocess.run([gpu_tracker, *words, name, "-f", "json"], capture_output=True, text=True, timeout=100, check=False)
        return done.returncode, done.stdout, done.stderr.replace(name, "NAME")

    assert ask(f"{front.url}/{job}") == ask(str(folders / job))
    for question in filter(str.strip, run(*words, f"{front.url}/{job}", "--explain").split(";\n")):
        front.ask(question)


def test_rows_are_there_once_and_jobs_are_listed(front, folders, run):
    run("push", *sorted((folders / "72").glob("*.sqlite")), front.url)
    assert front.ask("SELECT count(), uniqExact(source, number) FROM samples WHERE job = 'alps:72.0'") == b"1200\t1200\n"
    assert int(front.ask("SELECT count() FROM calls WHERE job = 'alps:73.0'")) == 2
    assert int(front.ask("SELECT count() FROM process_samples WHERE job = 'alps:73.0'")) > 2
    assert "alps:72.0" in run("report", front.url)
