"""The report of a parallel job, of which a folder has a recording for each rank."""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

import pytest
from job_folder import JobFolder
from mpi import mpirun

WORK = """
import sys, time
data = bytearray(int(sys.argv[1]) << 20)
for place in range(0, len(data), 4096):
    data[place] = 1
while time.process_time() < float(sys.argv[2]):
    pass
time.sleep(float(sys.argv[3]))
sys.exit(int(sys.argv[4]))
"""
MIB = 1 << 20


@pytest.fixture
def rank(gpu_tracker, tmp_path):
    """Starts rank `number` of `size`, which holds so many MiB, works and sleeps for seconds."""
    def start(number, size, mib=1, cpu=0.05, sleep=0.3, status=0, suffix="sqlite", folder="job", job="42"):
        environment = {**os.environ, "SLURM_JOB_ID": job, "SLURM_STEP_ID": "0", "SLURM_PROCID": str(number),
                       "SLURM_STEP_NUM_TASKS": str(size), "SLURMD_NODENAME": "n0"}
        command = [sys.executable, "-c", WORK, str(mib), str(cpu), str(sleep), str(status)]
        return subprocess.Popen([gpu_tracker, "run", "--no-history", "--st", "0.02", "--tf", f"{folder}/{number}.{suffix}",
                                 "--", *command], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    return start


@pytest.fixture
def report(gpu_tracker, tmp_path):
    def make(folder="job", style="json"):
        run = subprocess.run([gpu_tracker, "report", folder, "--format", style], cwd=tmp_path, text=True, capture_output=True,
                             check=False)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout) if style == "json" else run.stdout
    return make


def finish(*ranks):
    return [process.wait(timeout=120) for process in ranks]


def change(path, *statements):
    database = sqlite3.connect(path)
    for statement in statements:
        database.executescript(statement)
    database.commit()
    database.close()


def final(scope, metric, value):
    """Final figures that were not measured have no row."""
    return (f"DELETE FROM final WHERE scope = '{scope}' AND metric = '{metric}';"
            f"INSERT INTO final (scope, metric, value) VALUES ('{scope}', '{metric}', {value});")


def copies(tmp_path, count, *statements):
    """The folder "job" with copies of job/0.sqlite as further ranks, each another process."""
    for number in range(1, count):
        shutil.copy(tmp_path / "job" / "0.sqlite", tmp_path / "job" / f"{number}.sqlite")
        change(tmp_path / "job" / f"{number}.sqlite", f"UPDATE static_data SET rank = {number}, pid = pid + {number}")
    for number in range(count):
        change(tmp_path / "job" / f"{number}.sqlite", f"UPDATE static_data SET world_size = {count}", *statements)


def test_totals_are_those_of_all_ranks(rank, report, gpu_tracker, tmp_path):
    finish(*(rank(number, 3, mib=40 * (number + 1), cpu=0.3, sleep=3, suffix=suffix)
             for number, suffix in enumerate(("sqlite", "csv", "sqlite"))))
    job = report()
    assert job["job"]["name"] == "42.0" and job["job"]["recordings"] == 3 and job["job"]["missing"] == 0
    singles = [json.loads(subprocess.run([gpu_tracker, "report", tmp_path / "job" / name, "-f", "json"], text=True,
                                         capture_output=True, check=True).stdout)
               for name in ("0.sqlite", "1.csv", "2.sqlite")]
    assert [row["rank"] for row in job["ranks"]] == [0, 1, 2]
    assert job["totals"]["cpu_time"] == pytest.approx(sum(row["cpu_time"] for row in job["ranks"]))
    assert job["totals"]["cpu_time"] >= 3 * 0.3 and len(singles) == 3
    peak = job["totals"]["memory_peak"]
    held = (40 + 80 + 120) * MIB  # by all at once, while they slept
    assert held <= peak["at_least"] <= peak["at_most"] <= held + 3 * 60 * MIB
    assert len(job["nodes"]) == 1 and job["nodes"][0]["ranks"] == 3
    assert job["nodes"][0]["node"] == "n0"


def test_ranks_behind_each_other_are_not_added_up_in_memory(rank, report):
    for number in range(2):
        finish(rank(number, 2, mib=100))
    peak = report()["totals"]["memory_peak"]
    assert 100 * MIB <= peak["at_least"] <= peak["at_most"] < 190 * MIB


def test_a_file_that_a_rank_has_alone_may_be_that_of_another_soon(rank, report, tmp_path):
    """Trackers look only now and then how much strangers share: each still calls the file its own."""
    finish(rank(0, 2))
    copies(tmp_path, 2, "UPDATE data SET combined_ram = 0.5, combined_ram_private = 500e6, combined_ram_shared = 0,"
           " combined_ram_private_anonymous = 100e6", final("combined", "ram_peak", 5e8), final("combined", "ram_peak_bound", 5e8))
    peak = report()["totals"]["memory_peak"]
    assert peak == {"at_least": 600e6, "at_most": 1e9}  # each its own 100, and 400 that may be the same
    change(tmp_path / "job" / "1.sqlite", "UPDATE data SET combined_ram_private_anonymous = NULL")
    assert report()["totals"]["memory_peak"]["at_least"] == 600e6
    change(tmp_path / "job" / "0.sqlite", "UPDATE data SET combined_ram_private_anonymous = NULL")
    assert report()["totals"]["memory_peak"]["at_least"] == 500e6


def test_a_signal_is_told_from_an_exit_status(rank, report, tmp_path):
    finish(rank(0, 2))
    copies(tmp_path, 2, "UPDATE outcome SET value = 132 WHERE key = 'exit_status'")
    change(tmp_path / "job" / "1.sqlite", "UPDATE outcome SET value = 1 WHERE key = 'ended_by_signal'")
    assert [row["remark"] for row in report()["ranks"]] == ["failed with 132", "ended by signal 4"]


def test_steps_of_a_job_are_told(rank, report, tmp_path):
    finish(rank(0, 1), rank(1, 1))
    assert report()["job"]["name"] == "42.0" and "job" not in report()["ranks"][0]
    change(tmp_path / "job" / "1.sqlite", "UPDATE static_data SET job = '42.1'")
    job = report()
    assert job["job"]["name"] == "42.0, 42.1" and {row["job"] for row in job["ranks"]} == {"42.0", "42.1"}


def test_missing_failed_and_unreadable_are_named(rank, report, tmp_path):
    finish(rank(0, 7), rank(1, 7, status=3), rank(4, 7))
    (tmp_path / "job" / "5.sqlite").write_bytes(b"")
    (tmp_path / "job" / "notes.csv").write_text("a,b\n1,2\n")
    shutil.copy(tmp_path / "job" / "0.sqlite", tmp_path / "job" / "again.sqlite")
    job = report()
    assert (job["job"]["missing"], job["job"]["missing_ranks"]) == (4, "2-3, 5-6")
    assert job["job"]["failed"] == 1 and job["job"]["recordings"] == 3
    reasons = {os.path.basename(row["file"]): row["reason"] for row in job["left_out"]}
    assert set(reasons) == {"5.sqlite", "notes.csv", "again.sqlite"} and "same run" in reasons["again.sqlite"]
    summary = report(style="summary")
    assert "4 ranks: 2-3, 5-6" in summary and "rank 1 on n0: failed with 3" in summary and "3 files" in summary


def test_samples_that_recordings_lost_are_told(gpu_tracker, tmp_path):
    job = JobFolder(gpu_tracker, tmp_path / "lossy", 4)

    def ask(*words):
        return subprocess.run([gpu_tracker, *words], capture_output=True, text=True, check=True, timeout=100).stdout

    profiles = [["profile", name, job.folder] for name in ("utilization", "stragglers", "health")]
    for words in [["report", job.folder], *profiles]:
        assert json.loads(ask(*words, "-f", "json"))["job"]["dropped"] == 0 and "lost" not in ask(*words, "-f", "text")
    for rank, lost in ((1, 395), (3, 5)):
        job.run(rank, f"UPDATE outcome SET value = {lost} WHERE key = 'dropped'")
    for words in [["report", job.folder], *profiles]:
        assert json.loads(ask(*words, "-f", "json"))["job"]["dropped"] == 400
        assert re.search(r"Samples lost in recording:? +400", ask(*words, "-f", "text"))
    assert "2 recordings lost 400 samples" in ask("report", job.folder, "-f", "summary")


def test_a_killed_tracker_counts_with_what_it_saw(rank, report, tmp_path):
    finish(rank(0, 1, mib=50, sleep=2))
    change(tmp_path / "job" / "0.sqlite", "DELETE FROM outcome", "DELETE FROM final")
    job = report()
    assert job["job"]["unfinished"] == 1 and job["totals"]["memory_peak"]["at_least"] >= 50 * MIB
    assert job["totals"]["cpu_time"] > 0 and "not finished" in job["ranks"][0]["remark"]


def test_recordings_of_several_jobs_are_refused(rank, gpu_tracker, tmp_path):
    finish(rank(0, 2, job="42"), rank(1, 2, job="43"))
    run = subprocess.run([gpu_tracker, "report", "job"], cwd=tmp_path, text=True, capture_output=True, check=False)
    assert run.returncode and "42 and 43" in run.stderr
    (tmp_path / "empty").mkdir()
    run = subprocess.run([gpu_tracker, "report", "empty"], cwd=tmp_path, text=True, capture_output=True, check=False)
    assert run.returncode and "no recording" in run.stderr


def test_what_recordings_alone_have_is_refused(rank, gpu_tracker, tmp_path):
    finish(rank(0, 1))
    for words in (["--fail-if", "memory>1GB"], ["--ram-unit", "megabytes"], ["--plot", "all"]):
        run = subprocess.run([gpu_tracker, "report", "job", *words], cwd=tmp_path, text=True, capture_output=True, check=False)
        assert run.returncode == 2 and "job is a folder" in run.stderr


def test_a_network_counts_once_for_each_namespace(rank, report, tmp_path):
    finish(rank(0, 1))
    copies(tmp_path, 3, final("system", "network_namespace_received", 1000), final("system", "network_namespace_sent", 10))
    change(tmp_path / "job" / "2.sqlite", "UPDATE static_data SET network_namespace = 7")
    totals = report()["totals"]
    assert (totals["received"], totals["sent"]) == (2000, 20)  # ranks 0 and 1 have one namespace
    for number, node in enumerate("abb"):
        change(tmp_path / "job" / f"{number}.sqlite",
               f"UPDATE static_data SET node = '{node}', node_name = 'n{node}', network_namespace = 7")
    job = report()
    assert job["totals"]["received"] == 2000 and [row["node"] for row in job["nodes"]] == ["na", "nb"]
    assert [row["ranks"] for row in job["nodes"]] == [1, 2]


def test_a_gpu_counts_once_by_its_uuid(rank, report, tmp_path):
    finish(rank(0, 1))
    columns = "(device, uuid, name, brand, memory, selected)"
    copies(tmp_path, 3, "DELETE FROM gpu", f"INSERT INTO gpu {columns} VALUES (0, 'GPU-a', 'A', 'nvidia', 1, 1)")
    change(tmp_path / "job" / "2.sqlite", "UPDATE gpu SET uuid = 'GPU-b'")
    job = report()
    assert job["totals"]["gpus"] == 2 and job["nodes"][0]["gpus"] == 2


def plant_energy(path, job, other, idle, drawn=100):
    change(path, final("system", "cpu_energy", drawn), final("combined", "cpu_energy", job),
           final("system", "cpu_energy_other", other), final("system", "cpu_energy_idle", idle),
           final("system", "cpu_energy_unattributed", 0), final("combined", "energy", job),
           final("combined", "cpu_energy_share_error", 0), final("combined", "cpu_energy_placement_error", 0))


def test_energy_of_a_node_counts_once_and_is_conserved(rank, report, tmp_path):
    finish(rank(0, 1))
    copies(tmp_path, 2)
    # 100 J = 30 J rank 0 + 50 J rank 1 + 10 J others + 10 J idle: each tracker calls the other rank "other".
    plant_energy(tmp_path / "job" / "0.sqlite", 30, 60, 10)
    plant_energy(tmp_path / "job" / "1.sqlite", 50, 40, 10)
    cpu = report()["energy"]["cpu"]
    assert (cpu["drawn"], cpu["job_at_least"], cpu["job_at_most"], cpu["others"], cpu["idle"]) == (100, 80, 80, 10, 10)
    assert "does not add up" not in " ".join(report(style="summary").split())
    plant_energy(tmp_path / "job" / "1.sqlite", 95, 0, 5)
    cpu = report()["energy"]["cpu"]
    assert cpu["others"] is None and "more than it drew" in cpu["remark"] and (cpu["drawn"], cpu["job_at_most"]) == (100, 125)
    assert "does not add up" in " ".join(report(style="summary").split())


def test_a_row_has_one_unit(rank, report, tmp_path):
    finish(rank(0, 1))
    copies(tmp_path, 2)
    plant_energy(tmp_path / "job" / "0.sqlite", 3000, 39000, 9000, drawn=52000)
    plant_energy(tmp_path / "job" / "1.sqlite", 1000, 41000, 9000, drawn=52000)
    for number, peak in enumerate((9e8, 8e9)):
        change(tmp_path / "job" / f"{number}.sqlite", final("combined", "ram_peak", peak))
    rows = [re.sub(" +", " ", line).strip() for line in report(style="text").splitlines()]
    assert any(row.startswith("cpu 14.4 Wh 1.11 Wh 1.11 Wh 10.6 Wh 2.50 Wh 0 Wh") for row in rows), rows
    assert any(row.startswith("Memory peak 0.90 GB 2.67 GB 4.45 GB") for row in rows), rows


def test_idle_energy_charged_to_each_rank_makes_bounds(rank, report, tmp_path):
    finish(rank(0, 1))
    copies(tmp_path, 2, "UPDATE static_data SET idle_policy = 'all'")
    # 100 J = 20 J rank 0 + 30 J rank 1 + 50 J idle, which both were charged with.
    plant_energy(tmp_path / "job" / "0.sqlite", 70, 30, 0)
    plant_energy(tmp_path / "job" / "1.sqlite", 80, 20, 0)
    cpu = report()["energy"]["cpu"]
    assert (cpu["drawn"], cpu["job_at_least"], cpu["job_at_most"]) == (100, 80, 100)


def test_the_one_slow_rank_of_many_is_named(rank, report, tmp_path):
    finish(rank(0, 1))
    copies(tmp_path, 60)
    for number in range(60):
        busy = 1 + number % 7 / 1000 if number != 37 else 0.8
        change(tmp_path / "job" / f"{number}.sqlite", final("combined", "cpu_time", busy))
    summary = report(style="summary")
    assert "rank 37 on n0: least CPU, 0.798 times the median" in summary and summary.count("! rank") == 1, summary
    text = report(style="text")
    assert text.count("times the median") == 1 and "Ranks to look at" in text
    assert "rank 37" in report(style="markdown") and len(report()["ranks"]) == 60


def test_the_summary_names_the_worst_ranks_first(rank, report, tmp_path):
    finish(rank(0, 1))
    copies(tmp_path, 40)
    for number in range(40):
        busy = 10 + number % 7 / 1000 + {3: 1, 5: 2, 30: 9, 31: 8}.get(number, 0)
        change(tmp_path / "job" / f"{number}.sqlite", final("combined", "cpu_time", busy))
    change(tmp_path / "job" / "35.sqlite", "UPDATE outcome SET value = '3' WHERE key = 'exit_status'")
    summary = report(style="summary")
    odd = [line.split("! ")[1] for line in summary.splitlines() if "! rank" in line]
    assert [line.split(" on ")[0] for line in odd[:3]] == ["rank 35", "rank 30", "rank 31"] and "failed with 3" in odd[0], odd
    assert len(odd) == 3 and "2 more are in the whole report" in " ".join(summary.split()), summary
    change(tmp_path / "job" / "0.sqlite", "UPDATE static_data SET world_size = 42")
    summary = report(style="summary")
    assert "no recording of 2 ranks" in summary and "3 more are in the whole report" in " ".join(summary.split()), summary


def test_ranks_that_differ_by_nothing_to_speak_of_are_not_named(rank, report, tmp_path):
    finish(rank(0, 1))
    copies(tmp_path, 8)
    for number in range(8):
        change(tmp_path / "job" / f"{number}.sqlite",
               final("combined", "ram_peak", 1_400_000 + number * 100 - (90_000 if number == 1 else 0)))
    assert "memory" not in "".join(line for line in report(style="summary").splitlines() if "!" in line)


def test_steps_of_a_job_have_ranks_of_their_own(rank, report, tmp_path):
    finish(rank(0, 1))
    copies(tmp_path, 6)
    for number in range(6):
        step, place = divmod(number, 3)
        change(tmp_path / "job" / f"{number}.sqlite",
               f"UPDATE static_data SET job = '42.{step}', rank = {place}, world_size = {3 + step}")
    job = report()["job"]
    assert (job["name"], job["ranks"], job["missing"], job["missing_ranks"]) == ("42.0, 42.1", 7, 1, "42.1: 3")
    assert "6 ranks of 2 steps on 1 node" in report(style="summary")


def test_ranks_of_folders_are_runs_of_sessions(rank, gpu_tracker, tmp_path):
    finish(*(rank(number, 2, mib=20, folder="small") for number in range(2)),
           *(rank(number, 2, mib=120, folder="large") for number in range(2)))

    def compare(*operands):
        return subprocess.run([gpu_tracker, "compare", *operands, "-f", "json"], cwd=tmp_path, text=True, capture_output=True,
                              check=False)
    files = [f"{name}={name}/{number}.sqlite" for name in ("small", "large") for number in range(2)]
    by_folder = compare("small", "large")
    assert by_folder.returncode == 0 and by_folder.stdout == compare(*files).stdout == compare("small=small", "large=large").stdout
    ram = json.loads(by_folder.stdout)["overall_resource_usage"]["main_ram"]
    assert set(ram) >= {"small", "large"} and ram["large"] > ram["small"]
    (tmp_path / "empty").mkdir()
    assert "empty: no recording" in compare("small", "empty").stderr
    shutil.copy(tmp_path / "large" / "1.sqlite", tmp_path / "large" / "0-copy.sqlite")
    (tmp_path / "large" / "2.sqlite").write_bytes(b"")
    again = compare("small", "large")
    assert again.returncode == 0 and again.stdout == by_folder.stdout
    assert "2.sqlite is left out" in again.stderr and again.stderr.count("the same run as") == 1


def test_files_of_other_kinds_make_no_folder_of_traces(rank, report, gpu_tracker, tmp_path):
    finish(rank(0, 2), rank(1, 2))
    (tmp_path / "job" / "config.json").write_text('{"lr": 0.1}')
    (tmp_path / "job" / "checkpoints").mkdir()
    (tmp_path / "job" / "checkpoints" / "index.json").write_text('{"weight_map": {}}')
    (tmp_path / "job" / "report.json").write_text(json.dumps(report()))

    def first_line(*words):
        run = subprocess.run([gpu_tracker, *words, "job"], cwd=tmp_path, text=True, capture_output=True, check=False)
        return (run.stdout or run.stderr).splitlines()[0]
    assert {first_line("profile", name) for name in ("health", "stragglers", "utilization")} == {"Job:"}
    assert "no recording holds code blocks" in first_line("analyze")
    (tmp_path / "job" / "trace.json").write_text('{"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}')
    assert first_line("profile", "stragglers") != "Job:" and first_line("profile", "health") == "Job:"


def test_clocks_differ_by_the_sum_of_the_two_worst(rank, report, tmp_path):
    finish(rank(0, 1))
    copies(tmp_path, 3)
    for number, error in enumerate((0.001, 0.004, 0.002)):
        change(tmp_path / "job" / f"{number}.sqlite", f"UPDATE static_data SET node = '{number}', clock_error = {error}")
    assert report()["job"]["clock_difference"] == pytest.approx(0.006)
    change(tmp_path / "job" / "1.sqlite", "UPDATE static_data SET clock_error = NULL")
    assert report()["job"]["clock_difference"] is None


@pytest.mark.parametrize("launcher", ["OpenMPI", "PMI"])
def test_ranks_of_a_real_mpirun(gpu_tracker, tmp_path, report, launcher):
    subprocess.run([*mpirun(launcher, 3), gpu_tracker, "run", "--no-history", "--tf", "job/%h-%r.sqlite", "--", sys.executable, "-c", WORK,
                    "10", "0.1", "0.5", "0"], cwd=tmp_path, env={**os.environ, "GPU_TRACKER_JOB": "m7"}, check=True, capture_output=True,
                   timeout=120)
    job = report()
    assert (job["job"]["name"], job["job"]["launcher"], job["job"]["ranks"]) == ("m7", launcher, 3)
    assert job["job"]["missing"] == 0 and [row["rank"] for row in job["ranks"]] == [0, 1, 2]
    assert len(job["nodes"]) == 1
