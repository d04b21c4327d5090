"""Ranks that mpirun and torchrun start below one tracker."""
import json
import os
import pathlib
import sqlite3
import subprocess
import sys

import pytest
from job_folder import JobFolder
from mpi import mpirun

WORK = """
import subprocess, sys, time
data = bytearray(int(sys.argv[1]) << 20)
for place in range(0, len(data), 4096):
    data[place] = 1
if len(sys.argv) > 4:  # a child that knows nothing of ranks
    subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.3: pass\\ntime.sleep(0.3)"], env={}, check=True)
while time.process_time() < float(sys.argv[2]):
    pass
time.sleep(float(sys.argv[3]))
"""
TORCHRUN = {"LOCAL_WORLD_SIZE": "2", "WORLD_SIZE": "2"}
SRUN = {"SLURM_JOB_ID": "42", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}
STARTER = """
import json, os, subprocess, sys, time
ranks = [subprocess.Popen([sys.executable, "-c", *words], env={**os.environ, **more}) for words, more in json.loads(sys.argv[1])]
print(*[rank.pid for rank in ranks], flush=True)
sys.exit(max(rank.wait() for rank in ranks))
"""


def starter(*ranks):
    """A launcher of ranks, each with (words, variables)."""
    return [sys.executable, "-c", STARTER, json.dumps(ranks)]


def torchrun(number, *words, **variables):
    return (WORK, *words), {**TORCHRUN, "RANK": str(number), "LOCAL_RANK": str(number), **variables}


@pytest.fixture
def ranks(gpu_tracker, tmp_path):
    """The ranks of a report, by number, and those of processes in the recording."""
    def run(command, *options, **variables):
        done = subprocess.run([gpu_tracker, "run", "--no-history", "--st", "0.05", "--tf", "run.sqlite", *options, "--", *command],
                              cwd=tmp_path, env={**os.environ, **variables}, text=True, capture_output=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        report = json.loads(subprocess.run([gpu_tracker, "report", "run.sqlite", "-f", "json"], cwd=tmp_path, text=True,
                                           capture_output=True, timeout=120, check=True).stdout)
        with sqlite3.connect(tmp_path / "run.sqlite") as database:
            processes = database.execute("SELECT pid, parent, rank FROM process").fetchall()
        return {row["rank"]: row for row in report.get("ranks", [])}, processes
    return run


def check_family(found, processes):
    """Each process of a rank is the first one of it, or below one."""
    rank_of = {pid: rank for pid, _, rank in processes}
    firsts = {row["pid"]: number for number, row in found.items()}
    for pid, parent, rank in processes:
        assert rank is None or firsts.get(pid, rank_of.get(parent)) == rank


@pytest.mark.parametrize("launcher, variable", [("OpenMPI", "OMPI_COMM_WORLD_RANK"), ("PMI", "PMI_RANK")])
def test_mpirun(ranks, tmp_path, launcher, variable):
    script = tmp_path / "work.py"
    script.write_text(f"import os, sys\nnumber = int(os.environ['{variable}'])\n"
                      "sys.argv = ['', str(30 + 30 * number), str(0.1 + 0.3 * number), '0.4', *['child'] * (number == 1)]\n" + WORK)
    found, processes = ranks([*mpirun(launcher, 3), sys.executable, str(script)], "--detail")
    assert sorted(found) == [0, 1, 2]
    assert all(row["launcher"] == launcher and row["local_rank"] == number for number, row in found.items())
    assert 0.1 <= found[0]["cpu_time"] < 0.4 <= found[2]["cpu_time"] <= 1.5
    assert 0.65 <= found[1]["cpu_time"] <= 1.5 and found[1]["processes"] >= 2  # with its child's
    megabytes = [1000 * found[number]["ram_peak"] for number in range(3)]
    assert megabytes[0] > 30 and megabytes[1] > megabytes[0] + 20 and megabytes[2] > megabytes[0] + 50
    check_family(found, processes)
    with sqlite3.connect(tmp_path / "run.sqlite") as database:
        rows = dict(database.execute("SELECT rank, count(*) FROM process_data GROUP BY rank"))
    assert set(rows) >= {None, 0, 1, 2} and min(rows.values()) > 3


def test_torchrun_below_srun(ranks, tmp_path):
    """The tracker's own place, which all inherit, is none below it; ranks have their parts of the job's energy."""
    found, processes = ranks(starter(torchrun(0, "1", "0.1", "0.4"), torchrun(1, "40", "0.3", "0.4", "child")), "--cpu-tdp", "100", **SRUN)
    assert sorted(found) == [0, 1]
    assert {row["launcher"] for row in found.values()} == {"torchrun"}
    assert found[1]["cpu_time"] >= 0.55 and found[1]["ram_peak"] > found[0]["ram_peak"] + 0.03
    check_family(found, processes)
    with sqlite3.connect(tmp_path / "run.sqlite") as database:
        job, = database.execute("SELECT value FROM final WHERE scope = 'combined' AND metric = 'energy'").fetchone()
    assert 0 < found[0]["energy"] < found[1]["energy"] and found[0]["energy"] + found[1]["energy"] <= job * 1.000001


def test_a_tracker_of_one_rank_has_none_below(ranks):
    found, processes = ranks(starter(((WORK, "1", "0.1", "0.2"), {})), **SRUN)
    assert found == {} and all(rank is None for _, _, rank in processes)


def test_gpus_of_a_rank(gpu_tracker, fake, tmp_path):
    """Where its processes hold memory, else what it was told to use."""
    told = starter(torchrun(0, "1", "0", "2"), torchrun(1, "1", "0", "2", CUDA_VISIBLE_DEVICES="1"))
    job = subprocess.Popen(told, stdout=subprocess.PIPE, text=True)
    first, _ = job.stdout.readline().split()
    data = tmp_path / "data"
    data.write_text("".join(f"device {i}\nuuid GPU-{i}\nname Fake\nmemory 80000000000 0 2000000000\n" for i in range(2)) +
                    f"device 0\nprocess 0 {first} 1000000000\n")
    environment = {**os.environ, "GT_FAKE_NVML": str(data)}
    subprocess.run([gpu_tracker, "attach", "--library", f"nvml={fake('nvml')}", "--st", "0.1", "--tf", "run.sqlite", str(job.pid)],
                   cwd=tmp_path, env=environment, capture_output=True, timeout=120, check=True)
    job.wait()
    with sqlite3.connect(pathlib.Path(tmp_path / "run.sqlite")) as database:
        rows = database.execute("SELECT rank, gpus, gpus_are_told, gpu_ram_peak FROM ranks ORDER BY rank").fetchall()
    assert rows == [(0, "GPU-0", 0, 1e9), (1, "GPU-1", 1, None)]


def test_ranks_below_trackers_are_the_ranks_of_a_job(gpu_tracker, tmp_path):
    """Two nodes with a tracker and four ranks each; one of the ranks does little."""
    folder = JobFolder(gpu_tracker, tmp_path / "job", 2, per_node=1)
    folder.ranks_below(0, 0, [60, 61, 59.5, 60.5])
    folder.ranks_below(1, 4, [60.2, 30, 59.8, 60.3])
    folder.blocks(0, [0.1, 0.1])

    def ask(*words):
        done = subprocess.run([gpu_tracker, *words, "job", "-f", "json"], cwd=tmp_path, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    job = ask("report")
    assert [(row["rank"], row["node"]) for row in job["ranks"]] == [(i, f"n{i // 4}") for i in range(8)]
    assert [row["cpu_time"] for row in job["ranks"]][3:6] == [60.5, 60.2, 30] and job["ranks"][5]["cores"] == 0.5
    assert [row["memory_peak"] for row in job["ranks"]] == [1e8, 2e8, 3e8, 4e8] * 2 and job["ranks"][0]["energy"] == 5
    assert (job["job"]["recordings"], job["job"]["ranks"], job["job"]["missing"], job["job"]["launcher"]) == (2, 8, 0, "torchrun")
    assert [node["ranks"] for node in job["nodes"]] == [4, 4]
    [off] = ask("profile", "stragglers")["stragglers"]
    assert (off["rank"], off["node"], off["figure"], off["value"]) == (5, "n1", "cpu_utilization", 0.5)
    [calls] = ask("analyze")["ranks"]
    assert (calls["rank"], calls["num_calls"]) == (0, 2)


def test_ranks_below_trackers_over_time(gpu_tracker, tmp_path):
    for node in range(2):
        command = [gpu_tracker, "run", "--no-history", "-q", "--st", "0.05", "--detail", "--tf", f"job/{node}.sqlite", "--",
                   *starter(*(torchrun(2 * node + i, str(10 + 40 * i), "0.1", "0.6", WORLD_SIZE="4") for i in range(2)))]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=120, stderr=subprocess.DEVNULL,
                       env={**os.environ, **SRUN, "SLURM_PROCID": str(node), "SLURM_STEP_NUM_TASKS": "2"})
    heat = json.loads(subprocess.run([gpu_tracker, "report", "job", "--heat", "ram", "-f", "json"], cwd=tmp_path, text=True,
                                     capture_output=True, check=True).stdout)["heat"]
    most = {rank: max(row["ram"] for row in heat if row["rank"] == rank) for rank in {row["rank"] for row in heat}}
    assert set(most) == {0, 1, 2, 3} and all(row["node"] for row in heat)
    for rank in (0, 2):
        assert most[rank] > 10e6 and most[rank + 1] > most[rank] + 30e6


def test_it_is_not_told_which_rank_made_the_command_fail(gpu_tracker, tmp_path):
    fails = ("import sys, time; time.sleep(0.5); sys.exit(3)",), {**TORCHRUN, "RANK": "1", "LOCAL_RANK": "1"}
    done = subprocess.run([gpu_tracker, "run", "--no-history", "-q", "--st", "0.05", "--tf", "job/0.sqlite", "--",
                           *starter(torchrun(0, "10", "0.1", "0.5"), fails)], cwd=tmp_path, timeout=120, check=False)
    assert done.returncode == 3

    def report(style):
        return subprocess.run([gpu_tracker, "report", "job", "-f", style], cwd=tmp_path, text=True, capture_output=True, check=False).stdout
    job = json.loads(report("json"))
    assert len(job["ranks"]) == 2 and job["job"]["failed"] == 1 and not any("failed" in row["remark"] for row in job["ranks"])
    summary = report("summary")
    assert "the command of 2 ranks on" in summary and "failed with 3" in summary and "! rank" not in summary
