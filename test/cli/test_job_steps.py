"""Jobs of several steps and attempts: each rank is held against those of its own step."""
import json
import subprocess

import pytest
from job_folder import BEGIN, JobFolder


@pytest.fixture
def tell(gpu_tracker):
    """What a command says of a folder or a server, as JSON where no other format is asked for."""
    def run(*words, form="json"):
        done = subprocess.run([gpu_tracker, *words, "-f", form], capture_output=True, text=True, check=True, timeout=100)
        return json.loads(done.stdout) if form == "json" else done.stdout
    return run


def steps_of(gpu_tracker, folder, *names, ranks=8, seconds=60):
    """A job with so many ranks in each of these steps, four on a node: those of step i from recording ranks * i on."""
    job = JobFolder(gpu_tracker, folder, ranks * len(names), seconds=seconds)
    for number in range(job.ranks):
        step, rank = divmod(number, ranks)
        job.run(number, f"UPDATE static_data SET job = '{names[step]}', rank = {rank}, world_size = {ranks}, start = {BEGIN} + {60 * step},"
                        f" node = 'boot-{rank // 4}', node_name = 'n{rank // 4}'")
        job.run(number, f"UPDATE data SET timestamp = timestamp + {60 * step}")
    return job


def test_steps_stand_in_the_order_of_their_numbers(gpu_tracker, tell, tmp_path):
    steps_of(gpu_tracker, tmp_path / "job", "c:42.10", "c:42.9+1", "c:42.0", "c:42.9", ranks=2, seconds=2)
    report = tell("report", tmp_path / "job")
    in_order = ["c:42.0", "c:42.9", "c:42.9+1", "c:42.10"]
    assert report["job"]["name"] == ", ".join(in_order) and report["job"]["ranks"] == 6
    assert [(row["rank"], row["job"]) for row in report["ranks"]] == [(rank, step) for rank in range(2) for step in in_order]
