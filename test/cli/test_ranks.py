"""Recordings of the ranks of a parallel job, by the variables that launchers set."""
import csv
import itertools
import os
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


def test_a_single_rank_that_cannot_be_recorded_is_refused(rank, tmp_path):
    (tmp_path / "run.sqlite").write_text("mine")
    for variables, words in (({"OMPI_COMM_WORLD_SIZE": "1"}, []), ({}, ["--strict-recording"])):
        process = rank(0, "--tf", "run.sqlite", *words, "--", "true", **variables)
        _, complaints = process.communicate(timeout=60)
        assert process.returncode == 125 and "run.sqlite exists already" in complaints


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
