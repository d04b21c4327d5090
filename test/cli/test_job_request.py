"""What a job of several ranks is to ask for next time."""
import json

import pytest
from job_folder import JobFolder

GIB = 1 << 30


@pytest.fixture
def job(gpu_tracker, tmp_path):
    """Two nodes of four ranks; a rank has 2 GiB at most, and 2.5 cores in a tenth of the time, else 1.5."""
    job = JobFolder(gpu_tracker, tmp_path / "job", 8, per_node=4)
    for rank in range(8):
        job.run(rank, "UPDATE data SET combined_ram = 1, combined_ram_private_anonymous = 1000000000")
        job.run(rank, "UPDATE data SET cpu_combined_sum_utilization_percent = CASE WHEN rowid <= 6 THEN 250 ELSE 150 END")
        job.run(rank, "DELETE FROM final WHERE metric IN ('cpu_time', 'ram_peak', 'ram_peak_bound')")
        job.run(rank, "INSERT INTO final VALUES ('combined', ?, ?)",
                [("cpu_time", 90), ("ram_peak", 2 * GIB), ("ram_peak_bound", 2 * GIB)])
        job.run(rank, "UPDATE static_data SET memory_asked = 500e9, memory_asked_source = 'SLURM_MEM_PER_NODE', cores_asked = 64,"
                      " time_asked = 86400")
    return job


@pytest.mark.parametrize("kind, line", [
    ("slurm", "--mem=10G --cpus-per-task=3 --time=0:10:00"),
    ("auto", "--mem=10G --cpus-per-task=3 --time=0:10:00"),
    ("pbs", "-l select=2:ncpus=10:mem=10gb -l walltime=0:10:00"),
    ("lsf", '-n 20 -M 10GB -R "span[ptile=10] rusage[mem=10GB]" -W 0:10'),
    ("k8s", "resources: {requests: {cpu: 2500m, memory: 2560Mi}, limits: {memory: 2560Mi}}"),
    ("docker", "--memory=2560m --cpus=3"),
])
def test_as_each_scheduler_counts(job, cli, kind, line):
    done = cli("report", "job", "--request", kind)
    assert (done.returncode, done.stdout, done.stderr) == (0, line + "\n", "")


def test_the_report_tells_what_was_asked_for_and_used(job, cli):
    summary = " ".join(cli("report", "job", "-f", "summary").stdout.split())
    assert "of 500 GB of memory a node used 4.00 GB, at most 8.59 GB; of 64 cores the busiest rank 2.50; of 1 d it ran 1 min" in summary
    section = json.loads(cli("report", "job", "-f", "json").stdout)["next_time"]
    assert (section["memory"], section["memory_asked"], section["time_asked"]) == (10 * GIB, 500e9, 86400)
    assert section["cores"] == pytest.approx(2.5) and section["pbs"].startswith("-l select=2")


def test_what_a_run_cannot_tell(job, cli):
    job.run(3, "UPDATE outcome SET value = 3 WHERE key = 'exit_status'")
    assert "--time" not in cli("report", "job", "--request", "slurm").stdout
    job.run(3, "UPDATE outcome SET value = 0 WHERE key = 'complete'")
    assert "has no end" in cli("report", "job", "--request", "slurm").stderr
    job.run(2, "INSERT OR REPLACE INTO outcome VALUES ('oom_kills', 1), ('memory_limit_met', ?)", [(20 * GIB,)])
    done = cli("report", "job", "--request", "slurm")
    assert "--mem=40G" in done.stdout and "more than 21.5 GB" in done.stderr


def test_gpus_that_never_worked_are_not_asked_for(job, cli):
    for rank in range(8):
        job.gpus(rank, lambda sample: {"gpu_utilization": 0.5}, lambda sample, rank=rank: {"gpu_utilization": rank // 4})
    assert "--gpus=12" in cli("report", "job", "--request", "slurm").stdout
    assert "of 16 GPUs 4 never worked" in " ".join(cli("report", "job", "-f", "summary").stdout.split())
    assert "ngpus=6" in cli("report", "job", "--request", "pbs").stdout


def test_mistakes(job, cli, refused):
    refused(2, "one job", "report", "--request", "slurm", "job", "job")
    for rank in range(8):
        job.run(rank, "UPDATE static_data SET scheduler = NULL")
    refused(2, "has no scheduler", "report", "job", "--request", "auto")
