"""Recordings of the ranks of a parallel job, by the variables that launchers set."""
import csv
import itertools
import json
import os
import shutil
import sqlite3
import subprocess
import sys

import pytest

OPENMPI_IN_A_BATCH_SCRIPT = {"SLURM_JOB_ID": "42", "SLURM_PROCID": "0", "OMPI_COMM_WORLD_SIZE": "3"}


@pytest.fixture
def rank(gpu_tracker, tmp_path):
    def start(number, *words, **variables):
        environment = {**os.environ, **OPENMPI_IN_A_BATCH_SCRIPT, "OMPI_COMM_WORLD_RANK": str(number), **variables}
        return subprocess.Popen([gpu_tracker, "run", "--no-history", "--st", "0.02", *words], cwd=tmp_path, text=True,
                                env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return start


def test_each_rank_below_mpirun_in_a_batch_script_has_its_recording(rank, tmp_path):
    ranks = [rank(number, "--tf", "run-%j/%r.sqlite", "--", "sh", "-c", "sleep 0.2; exit 5") for number in range(3)]
    for process in ranks:
        _, complaints = process.communicate(timeout=60)
        assert process.returncode == 5 and "recorded" not in complaints, complaints
    assert sorted(name.name for name in (tmp_path / "run-42").iterdir()) == ["0.sqlite", "1.sqlite", "2.sqlite"]


@pytest.mark.parametrize("more", [[], ["--blocks"]])
def test_ranks_that_share_a_name_go_on(rank, tmp_path, more):
    ranks = [rank(number, "--tf", "run.sqlite", *more, "--", sys.executable, "-c", "print('done')") for number in range(3)]
    outputs = [process.communicate(timeout=60) for process in ranks]
    assert [process.returncode for process in ranks] == [0, 0, 0], outputs
    assert [output for output, _ in outputs] == ["done\n"] * 3
    assert sum("gpu-tracker: " in complaints and "run.sqlite" in complaints for _, complaints in outputs) >= 2, outputs
    assert not any("nothing is measured" in complaints for _, complaints in outputs)
    assert (tmp_path / "run.sqlite").exists()


def test_rank_0_tells_for_all_where_figures_are_kept(rank, tmp_path):
    ranks = [rank(number, "--tf", "run-%j/%r.sqlite", "--", "sh", "-c", "sleep 0.1; exit 5") for number in range(3)]
    said = [process.communicate(timeout=60)[1] for process in ranks]
    assert "all ranks: gpu-tracker report run-42\n" in said[0] and "request for the whole job" in said[0], said
    assert not any("cpu" in text or "control groups" in text for text in said[1:]), said
    for words in ([], ["--tf", "shared.sqlite", "-f", "summary"]):
        _, complaints = rank(1, *words, "--", "true").communicate(timeout=60)
        assert "gpu-tracker  true" in complaints, complaints
    _, complaints = rank(2, "--tf", "shared.sqlite", "--", "true").communicate(timeout=60)
    assert "%r in the name" in complaints and "nothing is recorded: shared.sqlite already exists" in complaints


STEP = {"SLURM_JOB_ID": "12", "SLURM_LOCALID": "0", "OMPI_COMM_WORLD_RANK": "", "OMPI_COMM_WORLD_SIZE": ""}


def begin_step(rank, step, *words, ranks=3, **variables):
    return [rank(number, *words, **{**STEP, "SLURM_PROCID": str(number), "SLURM_STEP_ID": str(step), "SLURM_STEP_NUM_TASKS": str(ranks),
                                    **variables}) for number in range(ranks)]


def end_step(processes, status=0):
    said = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [status] * len(processes), said
    return said


def report_of(gpu_tracker, tmp_path, folder):
    done = subprocess.run([gpu_tracker, "report", folder, "-f", "json"], cwd=tmp_path, text=True, capture_output=True, check=True)
    return json.loads(done.stdout)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("suffix", ["sqlite", "csv"])
def test_steps_of_a_batch_script_are_recorded_beside_each_other(rank, gpu_tracker, tmp_path, suffix):
    line = ["--tf", f"run-%j/%r.{suffix}", "--blocks", "--", "sh", "-c", "sleep 0.2; exit 5"]
    assert not any("exists" in text for text in end_step(begin_step(rank, 0, *line), 5))
    said = end_step(begin_step(rank, 1, *line), 5)
    assert [text.count("each rank records beside it, into run-%j/%r-2." + suffix) for text in said] == [1, 0, 0], said
    end_step(begin_step(rank, 2, *line, ranks=1), 5)  # a step of one task, too
    files = [f"{number}{more}.{suffix}" for number in range(3) for more in ("", "-2")] + [f"0-3.{suffix}"]
    assert names_in(tmp_path / "run-12") == sorted(files)
    job = report_of(gpu_tracker, tmp_path, "run-12")
    assert job["job"]["name"].split(", ") == ["12.0", "12.1", "12.2"]
    assert (job["job"]["recordings"], job["job"]["ranks"], job["job"]["missing"]) == (7, 7, 0)
    ranks = {(row["job"], row["rank"]) for row in job["ranks"]}
    assert ranks == {*itertools.product(("12.0", "12.1"), range(3)), ("12.2", 0)}


def test_steps_that_begin_at_once_get_names_of_their_own(rank, gpu_tracker, tmp_path):
    line = ["--tf", "run-%j/%r.sqlite", "--", sys.executable, "-c", "print('done')"]
    for text in end_step([process for step in range(4) for process in begin_step(rank, step, *line, ranks=2)]):
        assert "nothing is recorded" not in text
    job = report_of(gpu_tracker, tmp_path, "run-12")
    assert (job["job"]["recordings"], job["job"]["ranks"]) == (8, 8) and "left_out" not in job
    assert len(names_in(tmp_path / "run-12")) == 8


def test_attempts_of_a_job_have_the_same_ranks(rank, gpu_tracker, tmp_path):
    line = ["--tf", "run-%j/%r.sqlite", "--", "true"]
    end_step(begin_step(rank, 0, *line))
    end_step(begin_step(rank, 0, *line, SLURM_RESTART_COUNT="1"))
    said = subprocess.run([gpu_tracker, "report", "run-12", "-f", "summary"], cwd=tmp_path, text=True, capture_output=True, check=True)
    assert "3 ranks in 6 recordings on 1 node" in said.stdout
    whole = report_of(gpu_tracker, tmp_path, "run-12")
    job = whole["job"]
    assert (job["name"], job["recordings"], job["ranks"], job["missing"]) == ("12.0, 12.0+1", 6, 3, 0)
    assert [node["ranks"] for node in whole["nodes"]] == [3]


def test_a_name_that_is_not_used_is_given_back(rank, tmp_path):
    end_step(begin_step(rank, 0, "--tf", "run-%j/%r.sqlite", "--sleep-time", "0", "--", "true"), 2)
    assert not (tmp_path / "run-12").exists()
    end_step(begin_step(rank, 0, "--tf", "run-%j/%r.sqlite", "--", "no such program"), 127)
    assert not (tmp_path / "run-12").exists()
    end_step(begin_step(rank, 0, "--tf", "run-%j/%r.sqlite", "--blocks-from", "nothing", "--", "true"), 2)
    assert names_in(tmp_path / "run-12") == []


def test_what_was_asked_for_is_kept_to(rank, tmp_path):
    line = ["--tf", "run-%j/%r.sqlite", "--", "true"]
    end_step(begin_step(rank, 0, *line))
    for text in end_step(begin_step(rank, 1, "--strict-recording", *line), 125):
        assert ".sqlite already exists" in text
    end_step(begin_step(rank, 1, "--overwrite", *line))
    assert names_in(tmp_path / "run-12") == ["0.sqlite", "1.sqlite", "2.sqlite"]


def test_a_name_with_the_step(rank, tmp_path):
    line = ["--tf", "run-%j/%s-%r.sqlite", "--", "true"]
    for step in range(2):
        assert not any("exists" in text for text in end_step(begin_step(rank, step, *line)))
    assert names_in(tmp_path / "run-12") == [f"{step}-{number}.sqlite" for step in range(2) for number in range(3)]
    for text in end_step(begin_step(rank, "", *line), 2):
        assert "%s needs a step of Slurm: start it by srun" in text


def test_a_single_rank_that_cannot_be_recorded_is_refused(rank, tmp_path):
    (tmp_path / "run.sqlite").write_text("mine")
    for variables, words in (({"OMPI_COMM_WORLD_SIZE": "1"}, []), ({}, ["--strict-recording"])):
        process = rank(0, "--tf", "run.sqlite", *words, "--", "true", **variables)
        _, complaints = process.communicate(timeout=60)
        assert process.returncode == 125 and "run.sqlite already exists" in complaints


@pytest.mark.parametrize("more", [[], ["--blocks", "--python-blocks", "f"]])
def test_a_spool_that_cannot_be_made_ends_no_rank(rank, more):
    url = "clickhouse://127.0.0.1:1/default/x"
    process = rank(1, "--tf", url, *more, "--", "sh", "-c", "exit 5", TMPDIR="/proc/nodir", GPU_TRACKER_SPOOL="")
    _, complaints = process.communicate(timeout=60)
    assert process.returncode == 5 and "nothing is recorded: /proc/nodir" in complaints, complaints
    for variables, words in (({"OMPI_COMM_WORLD_SIZE": "1"}, []), ({}, ["--strict-recording"])):
        process = rank(0, "--tf", url, *words, "--", "true", GPU_TRACKER_SPOOL="/proc/nodir", **variables)
        _, complaints = process.communicate(timeout=60)
        assert process.returncode == 125 and "/proc/nodir" in complaints, complaints


def test_a_wrong_value_is_refused_in_each_rank(rank, tmp_path):
    process = rank(1, "--tf", "run.txt", "--", "true")
    _, complaints = process.communicate(timeout=60)
    assert process.returncode == 2 and "run.txt" in complaints


FACTS = ("job", "launcher", "rank", "local_rank", "world_size", "node", "node_name", "network_namespace", "control_group",
         "clock_error")


def facts_of(path):
    """What recordings of one job are joined by, as text, as the file has it."""
    if path.suffix == ".csv":
        with open(path, newline="", encoding="utf-8") as file:
            names, values = itertools.islice(csv.reader(file), 2)
        found = dict(zip(names, values))
        return {name: found[name] for name in FACTS}
    database = sqlite3.connect(path)
    row = database.execute(f"SELECT {', '.join(FACTS)} FROM static_data").fetchone()
    database.close()
    return {name: "" if value is None else str(value) for name, value in zip(FACTS, row)}


@pytest.mark.parametrize("suffix", ["sqlite", "csv"])
def test_a_recording_tells_its_place_in_the_job(rank, tmp_path, suffix):
    variables = {"OMPI_COMM_WORLD_LOCAL_RANK": "0", "SLURM_CLUSTER_NAME": "alps", "SLURM_RESTART_COUNT": "1",
                 "SLURMD_NODENAME": "n7"}
    process = rank(2, "--tf", f"run.{suffix}", "--", "sleep", "0.2", **variables)
    assert process.communicate(timeout=60) and process.returncode == 0
    found = facts_of(tmp_path / f"run.{suffix}")
    boot = open("/proc/sys/kernel/random/boot_id", encoding="ascii").read().strip()
    assert {name: found[name] for name in FACTS[:7]} == {
        "job": "alps:42+1", "launcher": "OpenMPI", "rank": "2", "local_rank": "0", "world_size": "3", "node": boot,
        "node_name": "n7"}
    assert f"net:[{found['network_namespace'].removesuffix('.0')}]" == os.readlink("/proc/self/ns/net")
    assert found["clock_error"] == "" or 0 < float(found["clock_error"]) < 16


def test_what_is_not_known_of_the_place_is_missing(gpu_tracker, tmp_path):
    for suffix in ("sqlite", "csv"):
        subprocess.run([gpu_tracker, "run", "--no-history", "--tf", f"run.{suffix}", "--", "true"], cwd=tmp_path, check=True,
                       capture_output=True)
        found = facts_of(tmp_path / f"run.{suffix}")
        assert [found[name] for name in ("job", "launcher", "rank", "local_rank", "world_size")] == [""] * 5


TORCHRUN = {"LOCAL_WORLD_SIZE": "2", "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "none"}


def launch(gpu_tracker, folder, variables):
    """Two ranks that a shell of its own starts, as a launcher does."""
    line = (f"for r in 0 1; do RANK=$r LOCAL_RANK=$r {gpu_tracker} run --no-history --st 0.02 --tf 'job-%j/%h-%r.sqlite' -- "
            "sh -c 'echo ran; sleep 0.1' & done; wait")
    environment = {name: value for name, value in os.environ.items() if name != "GPU_TRACKER_JOB"}
    return subprocess.run(["sh", "-c", line], cwd=folder, text=True, env={**environment, **variables}, capture_output=True,
                          check=True, timeout=60)


def jobs_in(folder):
    return [(part.name, {facts_of(path)["job"] for path in part.iterdir()}, len(list(part.iterdir())))
            for part in sorted(folder.iterdir())]


def test_ranks_without_a_number_are_the_job_of_their_launch(gpu_tracker, tmp_path):
    for _ in range(2):
        done = launch(gpu_tracker, tmp_path, TORCHRUN)
        assert done.stdout == "ran\nran\n" and done.stderr.count("GPU_TRACKER_JOB=NAME") == 2, done.stderr
    found = jobs_in(tmp_path)
    assert len(found) == 2 and all(name == f"job-{next(iter(jobs))}" and len(jobs) == 1 and count == 2
                                   for name, jobs, count in found), found


def test_a_second_attempt_is_recorded(gpu_tracker, tmp_path):
    for attempt in ("0", "1"):
        done = launch(gpu_tracker, tmp_path, {**TORCHRUN, "TORCHELASTIC_RUN_ID": "a b", "TORCHELASTIC_RESTART_COUNT": attempt})
        assert done.stdout == "ran\nran\n" and "GPU_TRACKER_JOB" not in done.stderr
    assert jobs_in(tmp_path) == [("job-a_b", {"a_b"}, 2), ("job-a_b+1", {"a_b+1"}, 2)]


@pytest.mark.skipif(not shutil.which("mpirun"), reason="there is no mpirun")
def test_ranks_of_mpirun_are_one_job(gpu_tracker, tmp_path):
    line = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", gpu_tracker, "run", "--no-history", "--st", "0.02",
            "--tf", "job-%j/%h-%r.sqlite", "--", "echo", "ran"]
    for _ in range(2):
        done = subprocess.run(line, cwd=tmp_path, text=True, capture_output=True, check=False, timeout=60)
        assert done.returncode == 0 and done.stdout.count("ran") == 2, done.stderr
    found = jobs_in(tmp_path)
    assert len(found) == 2 and all(jobs == {name.removeprefix("job-")} and count == 2 for name, jobs, count in found), found
