"""profile, heat map and blocks of a folder with a recording of each rank: how they were used, who is slow, which node is sick."""
import json
import os
import re
import shutil
import sqlite3
import subprocess

import pytest
from job_folder import BEGIN, JobFolder

RANKS = 40


@pytest.fixture
def profile(cli):
    def make(analysis, folder="job", *words):
        done = cli("profile", analysis, folder, "-f", "json", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return make


@pytest.fixture
def job(gpu_tracker, tmp_path):
    return JobFolder(gpu_tracker, tmp_path / "job", RANKS)


def test_the_spread_of_a_metric_over_the_ranks(job, profile, cli):
    job.slow(11, 0.8)
    report = profile("utilization")
    spread = report["spread"]["cpu_utilization"]
    assert spread["ranks"] == RANKS and spread["median"] == pytest.approx(1, abs=0.02)
    assert spread["least"] == pytest.approx(0.8, abs=0.02)
    ranks = {row["rank"]: row for row in report["ranks"]}
    assert len(ranks) == RANKS and [rank for rank, row in ranks.items() if row["off"]] == [11]
    assert ranks[11]["off"] == "alone" and ranks[11]["node"] == "n1"
    assert ranks[5]["p50"] == pytest.approx(1, abs=0.03) and ranks[5]["p95"] == pytest.approx(1.05, abs=0.03)
    assert ranks[5]["p95"] <= ranks[5]["most"]
    text = cli("profile", "utilization", "job").stdout
    assert len(text.splitlines()) < RANKS and len(cli("profile", "utilization", "job", "--all").stdout.splitlines()) > RANKS
    assert "ram" in report["spread"] and list(profile("utilization", "job", "--metric", "ram")["spread"]) == ["ram"]


def test_a_counter_is_told_as_what_it_rises_in_a_second(job, profile):
    for rank in range(RANKS):
        job.run(rank, f"UPDATE data SET combined_read_bytes = {rank + 1} * 1000 * (timestamp - 1790000040)")
    report = profile("utilization", "job", "--metric", "read_bytes")
    assert [row["mean"] for row in report["ranks"]] == pytest.approx([1000 * (rank + 1) for rank in range(RANKS)])


def test_a_metric_of_the_machine_is_told_once_a_node(job, profile):
    for rank in range(RANKS):
        job.run(rank, "UPDATE data SET system_ram = 2")
    job.run(9, "UPDATE outcome SET value = value + 1 WHERE key = 'samples'")
    report = profile("utilization", "job", "--metric", "system_ram")
    assert [row["node"] for row in report["ranks"]] == [f"n{node}" for node in range(RANKS // 8)]
    assert report["ranks"][1]["rank"] == 9  # the one with the most samples


def test_the_slow_rank_is_named_and_nobody_else(job, profile, cli):
    assert profile("stragglers")["stragglers"] == []
    assert "No rank is off" in cli("profile", "stragglers", "job").stdout
    job.slow(11, 0.8)
    found, = profile("stragglers")["stragglers"]
    assert (found["rank"], found["figure"], found["with_node"]) == (11, "cpu_utilization", "it is alone")
    assert found["ratio"] == pytest.approx(0.8, abs=0.02) and found["share_off"] > 0.9
    for rank in range(8, 16):
        if rank != 11:
            job.slow(rank, 0.8)
    assert {row["with_node"] for row in profile("stragglers")["stragglers"]} == {"its node is"}


def test_steps_are_compared_over_the_ranks(job, profile):
    for rank in range(RANKS):
        job.blocks(rank, [0.6 if rank == 3 and i != 2 else 0.9 if rank == 7 and i == 2 else 0.4 + 0.0001 * rank for i in range(10)])
    report = profile("stragglers")
    block, = report["blocks"]
    assert (block["name"], block["ranks"], block["calls"], block["rank"]) == ("step", RANKS, 10 * RANKS, 3)
    assert block["most"] == pytest.approx(9 * 0.6 + 0.4003, abs=1e-3) and block["cost"] == pytest.approx(1.71, abs=0.05)
    slowest = {row["rank"]: row for row in report["slowest"]}
    assert set(slowest) == {3, 7} and report["slowest"][0]["rank"] == 3
    assert (slowest[3]["times"], slowest[3]["steps"], slowest[7]["times"]) == (9, 10, 1)
    assert slowest[3]["lost"] == pytest.approx(9 * 0.2, abs=1e-3) and slowest[7]["lost"] == pytest.approx(0.5, abs=1e-3)
    assert {(row["rank"], row["figure"]) for row in report["stragglers"]} == {(3, "step"), (7, "step")}
    assert profile("stragglers", "job", "--select", "nothing")["blocks"] == []


def test_who_came_last_where_all_wait_for_each_other(job, profile, cli):
    """In such calls of MPI the rank with the shortest one is late; in a block of the user's own the longest is slow."""
    for rank in range(RANKS):
        job.blocks(rank, [0.1 if rank == (5 if i == 2 else 3) else 0.4 + 0.0001 * rank for i in range(10)], name="MPI_Allreduce")
        job.blocks(rank, [0.6 if rank == 3 else 0.3] * 10)
    report = profile("stragglers")
    last = [(row["name"], row["rank"], row["times"], row["steps"], round(row["lost"], 1)) for row in report["last"]]
    assert last == [("MPI_Allreduce", 3, 9, 10, 2.7), ("MPI_Allreduce", 5, 1, 10, 0.3)]
    assert [(row["name"], row["rank"], row["times"]) for row in report["slowest"]] == [("step", 3, 10)]
    assert "for which the others waited" in cli("profile", "stragglers", "job").stdout


def test_sick_nodes_and_gpus_are_named(job, profile, cli):
    assert profile("health")["findings"] == [] and "No check" in cli("profile", "health", "job").stdout

    def healthy(sample):
        return {"gpu_clock": 1.8e9 if sample % 2 else 0.3e9, "gpu_utilization": sample % 2, "gpu_throttle": 1, "gpu_temperature": 60}

    for rank in range(0, RANKS, 8):
        job.gpus(rank, healthy, healthy)
    job.run(8, "UPDATE gpu_data SET gpu_throttle = 4 WHERE device = 1 AND timestamp < 1790000043")
    job.run(16, "UPDATE gpu_data SET gpu_clock = gpu_clock * 0.9 WHERE device = 0")
    for rank in range(RANKS):
        job.run(rank, f"UPDATE data SET system_pressure_io = {0.4 if rank // 8 == 3 else 0.01} * (timestamp - 1790000040)")
    job.run(33, "UPDATE outcome SET value = 20 WHERE key = 'missed'")
    job.run(33, "UPDATE outcome SET value = 100 WHERE key = 'samples'")
    job.run(2, "UPDATE static_data SET clock_error = 0.5")
    for rank, metric, value in ((24, "gpu_ecc_uncorrected", 7), (8, "gpu_xgmi_errors", 0), (16, "gpu_remap_pending", 0),
                                (0, "gpu_remap_pending", 1)):
        job.run(rank, f"UPDATE data SET system_{metric} = {value} + (rowid > 30) * {int(rank in (8, 24))}")
    report = profile("health")
    found = {(row["node"], row["gpu"], row["check"]): row for row in report["findings"]}
    assert set(found) == {("n1", 1, "throttled"), ("n2", 0, "clock_under_load"), ("n3", None, "pressure_io"), ("n4", None, "missed"),
                          ("n0", None, "clock_error"), ("n3", None, "ecc_uncorrected"), ("n0", None, "remap_pending"),
                          ("n1", None, "xgmi_errors")}
    assert found["n1", 1, "throttled"]["value"] == pytest.approx(3 / 60) and found["n1", 1, "throttled"]["uuid"] == "GPU-8-1"
    assert found["n2", 0, "clock_under_load"]["value"] == pytest.approx(1.62e9)
    assert found["n2", 0, "clock_under_load"]["peers"] == pytest.approx(1.8e9)
    assert found["n4", None, "missed"]["value"] == pytest.approx(20 / 120)
    assert len(report["gpus"]) == 2 * RANKS // 8 and len(report["nodes"]) == RANKS // 8


def test_a_folder_with_traces_is_looked_at_as_before(job, cli, refused, tmp_path):
    assert cli("profile", "health", "job/0.sqlite").returncode == 2
    refused(2, "metric", "profile", "stragglers", "job", "--metric", "ram")
    assert cli("profile", "utilization", "job", "--by", "device").returncode == 0
    refused(2, "--metric", "profile", "utilization", "job", "--by", "device", "--metric", "ram")
    refused(2, "not a metric", "profile", "utilization", "job", "--metric", "wonder")
    refused(2, "--metric", "profile", "utilization", "job/0.sqlite", "--metric", "ram")
    (tmp_path / "job" / "trace.json").write_text('[{"name": "a", "ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]')
    done = cli("profile", "utilization", "job", "-f", "json")
    assert done.returncode == 0 and "spread" not in json.loads(done.stdout)


def test_steps_of_many_processes_are_numbered_as_they_began(job, profile):
    """As `gpu-tracker block` in a shell, where each call is the first of its process; their numbers are in no order."""
    for rank in range(RANKS):
        job.blocks(rank, [0.6 if rank == 3 else 0.4] * 10, process=lambda i: 100 + 7 * i % 10)
    slowest = {row["rank"]: row for row in profile("stragglers")["slowest"]}
    assert set(slowest) == {3} and (slowest[3]["times"], slowest[3]["steps"]) == (10, 10)


def test_blocks_of_all_ranks(job, cli, refused):
    for rank in range(RANKS):
        job.blocks(rank, [0.5 + (0.1 if rank == 3 else 0)] * 10)
    done = cli("sub-track", "analyze", "--tf", "job", "-f", "json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    block, = report["blocks"]
    assert (block["name"], block["ranks"], block["num_calls"]) == ("step", RANKS, 10 * RANKS)
    assert block["total"] == pytest.approx(10 * (0.5 * RANKS + 0.1)) and block["median_rank"] == pytest.approx(0.5)
    assert block["slowest_rank"] == pytest.approx(0.6) and block["imbalance"] == pytest.approx(0.6 / (0.5 + 0.1 / RANKS) - 1)
    assert [row["rank"] for row in report["ranks"]] == list(range(RANKS)) and report["ranks"][3]["p95"] == pytest.approx(0.6)
    assert len(cli("analyze", "job").stdout.splitlines()) < RANKS < len(cli("analyze", "job", "--calls").stdout.splitlines())
    refused(2, "folder", "analyze", "job", "--price", "1")


def test_blocks_of_all_ranks_where_there_are_none(job, cli):
    done = cli("analyze", "job")
    assert done.returncode == 2 and "no recording holds code blocks" in done.stderr


def test_a_merged_timeline_keeps_the_ranks_of_a_machine_apart(gpu_tracker, cli, tmp_path):
    job = JobFolder(gpu_tracker, tmp_path / "job", 3, seconds=5)
    for rank in range(3):
        job.run(rank, f"UPDATE data SET combined_ram = {rank + 1}")
        job.blocks(rank, [0.5, 0.5])

    def merged(*words):
        assert cli("timeline", "merge", "job", "-o", "m.json", "--overwrite", *words).returncode == 0
        return json.loads((tmp_path / "m.json").read_text())

    events = merged()
    for rank in range(3):
        values = {event["args"]["value"] for event in events if event["name"] == f"combined_ram_n0-{rank}"}
        assert values == {(rank + 1) * 1e9}
    assert {event["args"]["node"] for event in events if event["name"] == "process_name" and "node" in event["args"]} == \
        {"n0-0", "n0-1", "n0-2"}
    of_one = merged("--node", "1")
    assert {event["name"] for event in of_one if event["ph"] == "C" and "combined_ram" in event["name"]} == {"combined_ram_n0-1"}
    assert len([event for event in of_one if event["ph"] == "X"]) == 2


def heat(cli, *words):
    done = cli("report", "job", "--heat", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_people_see_words_and_amounts_and_programs_base_units(gpu_tracker, profile, cli, tmp_path):
    job = JobFolder(gpu_tracker, tmp_path / "job", 2)
    for rank in range(2):
        job.run(rank, "UPDATE static_data SET job = NULL")
        job.run(rank, "UPDATE data SET combined_ram = 0.024")
        job.run(rank, "UPDATE final SET value = 27131904 WHERE scope = 'combined' AND metric = 'ram_peak'")
        job.blocks(rank, [0.25, 0.25 + rank / 2])
    text = cli("report", "job", "--format", "text").stdout
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "Start: 2026-09-21T14:14:00Z" in lines and "Time: 1 min" in lines and "Clocks differ by at most: n/a" not in lines
    assert "Memory peak" + 6 * " 27.1 MB" in lines and "Time" + 6 * " 1 min" in lines
    assert not [word for word in ("n/a", "Name", "They are", "memory_peak", "elapsed", "bytes", "seconds") if word in text]
    page = cli("report", "job", "--format", "html").stdout
    assert ">They are<" not in page and ">memory_peak<" not in page and "2026-09-21T14:14:00Z" in page
    found = json.loads(cli("report", "job", "-f", "json").stdout)
    assert (found["job"]["name"], found["job"]["missing_ranks"], found["job"]["start"]) == (None, None, BEGIN)
    assert isinstance(found["job"]["start"], float)
    assert found["spread"]["memory_peak"] == dict.fromkeys(("least", "quarter", "median", "three_quarters", "most", "mean"), 27131904)
    used = cli("profile", "utilization", "job").stdout
    assert "24.0 MB" in used and "CPU utilization" in used and "cpu_utilization" not in used and "bytes" not in used
    assert profile("utilization")["spread"]["ram"]["unit"] == "bytes"
    slow = cli("profile", "stragglers", "job").stdout
    assert "step 2 4 375 ms 750 ms 1.00 s 1 n0" in " ".join(slow.split()), slow
    assert '"calls": 4,' in cli("profile", "stragglers", "job", "-f", "json").stdout
    assert "375 ms" in cli("analyze", "job").stdout
    assert "Memory over time, 1 s a character, from 24.0 MB (.) to 24.0 MB (@)" in heat(cli, "ram", "--format", "text")


def test_ranks_over_time(job, cli, refused, tmp_path):
    job.run(5, "UPDATE data SET cpu_combined_sum_utilization_percent = 30 WHERE timestamp > 1790000070")
    cells = json.loads(heat(cli, "cpu_utilization", "-f", "json"))["heat"]
    assert len(cells) == RANKS * 60
    of_five = [cell["cpu_utilization"] for cell in cells if cell["rank"] == 5]
    assert of_five[30:] == pytest.approx([0.3] * 30) and min(of_five[:30]) > 0.8
    assert [cell["time"] for cell in cells[:3]] == pytest.approx([0, 1, 2])
    drawn = next(line for line in heat(cli, "cpu_utilization").splitlines() if line.split()[:2] == ["5", "n0"]).split()[-1]
    assert len(drawn) == 60 and set(drawn[30:]) == {"."} and "." not in drawn[:30]
    assert cli("report", "job", "-o", "job.html").returncode == 0
    page = (tmp_path / "job.html").read_text()
    assert "Ranks over time" in page and page.count("<title>rank 5 on n0, ") == 60
    refused(2, "not a metric of a rank or a machine; the recordings have ram,", "report", "job", "--heat", "wonder")
    refused(2, "have cpu_utilization (", "report", "job", "--heat", "cpu_usage")
    refused(2, "have ram (", "report", "job", "--heat", "memory")
    refused(2, "no recording has gpu_utilization; they have ram, ", "report", "job", "--heat", "gpu_utilization")
    refused(2, "not a folder", "report", "job/0.sqlite", "--heat", "ram")


def test_zero_is_pale_where_there_is_nothing_else(gpu_tracker, cli, tmp_path):
    job = JobFolder(gpu_tracker, tmp_path / "job", 4)
    for rank in range(4):
        job.slow(rank, 0)
    assert cli("report", "job", "-o", "job.html").returncode == 0
    cells = re.findall(r': 0</title><rect [^>]*opacity="([^"]+)"', (tmp_path / "job.html").read_text())
    assert cells and set(cells) == {"0.05"}
    drawing = cli("report", "job", "--heat=cpu_utilization").stdout
    assert "...." in drawing and "====" not in drawing


def test_why_a_short_job_has_no_utilization(gpu_tracker, cli, refused, tmp_path):
    job = JobFolder(gpu_tracker, tmp_path / "job", 2, seconds=1)
    for rank in range(2):
        job.run(rank, "UPDATE data SET cpu_combined_sum_utilization_percent = NULL")
    refused(2, "from the second sample on, and no rank has two: 'gpu-tracker run --sleep-time 0.1'", "report", "job",
            "--heat", "cpu_utilization")
    refused(2, "no recording has gpu_utilization; they have ram", "report", "job", "--heat", "gpu_utilization")
    assert "No utilization: what was used" in cli("profile", "utilization", "job").stdout


def test_a_large_report_tells_both_ends_and_who_failed(job, cli):
    for rank in range(RANKS):
        job.run(rank, "DELETE FROM final WHERE metric = 'cpu_time'")
        job.run(rank, "INSERT INTO final VALUES ('combined', 'cpu_time', ?)", [(60 + 0.01 * rank,)])
    job.run(17, "UPDATE outcome SET value = 9 WHERE key = 'exit_status'")
    job.run(19, "DELETE FROM final WHERE metric = 'cpu_time'")
    job.run(19, "UPDATE outcome SET value = 0 WHERE key = 'complete'")
    lines = cli("report", "job").stdout.split("Ranks to look at")[1].splitlines()[2:25]
    ranks = [int(line.split()[0]) for line in lines if line.split()[0].isdigit()]
    assert ranks == [*range(10), 17, *range(30, 40), 19]
    assert len(cli("report", "job", "--all").stdout.splitlines()) > len(cli("report", "job").stdout.splitlines()) + 15


def test_a_long_job_is_read_by_its_minutes(gpu_tracker, cli, tmp_path):
    """Of two hours, a sample each ten seconds."""
    job, samples = JobFolder(gpu_tracker, tmp_path / "job", 2, seconds=720), range(720)
    use = [1 + (i // 6 % 7) / 10 + (i % 6) / 100 for i in samples]
    for rank in range(2):
        job.run(rank, f"UPDATE data SET timestamp = {BEGIN} + 10 * rowid - 10 + 0.5")
        job.run(rank, "UPDATE data SET cpu_combined_sum_utilization_percent = ?, combined_read_bytes = ? WHERE rowid = ?",
                [(100 * use[i], 6000 * i, i + 1) for i in samples])
        job.run(rank, "UPDATE outcome SET value = 7200 WHERE key = 'elapsed'")
        job.run(rank, "UPDATE static_data SET period = 10")
    by_samples = [heat(cli, metric, "-f", "json") for metric in ("cpu_utilization", "read_bytes")]
    spread = cli("profile", "utilization", "job", "-f", "json").stdout
    for rank in range(2):
        job.run(rank, "DELETE FROM minutes")
        columns = "time, number, statistic, weight, cpu_combined_sum_utilization_percent, combined_read_bytes"
        job.run(rank, f"INSERT INTO minutes ({columns}) VALUES (?, ?, ?, 6, ?, ?)",
                [(BEGIN + 60 * i, i, name, 100 * of(use[6 * i:6 * i + 6]), 6000 * (6 * i + 5) if name == "last" else None)
                 for i in range(120) for name, of in (("mean", lambda of: sum(of) / 6), ("min", min), ("max", max),
                                                      ("last", lambda of: of[-1]))])
        job.run(rank, "DELETE FROM data")
    for metric, before in zip(("cpu_utilization", "read_bytes"), by_samples):
        cells, known = (json.loads(text)["heat"] for text in (heat(cli, metric, "-f", "json"), before))
        assert len(cells) == len(known) and [cell["time"] for cell in cells] == pytest.approx([cell["time"] for cell in known])
        assert [cell[metric] for cell in cells] == pytest.approx([cell[metric] for cell in known])
    again, before = (json.loads(text) for text in (cli("profile", "utilization", "job", "-f", "json").stdout, spread))
    assert again["spread"]["cpu_utilization"] == pytest.approx(before["spread"]["cpu_utilization"])
    assert again["ranks"][0]["most"] == pytest.approx(max(use)) and again["ranks"][0]["p95"] == before["ranks"][0]["p95"]


def test_a_large_job_has_fewer_rows_than_ranks(gpu_tracker, cli, tmp_path):
    job = JobFolder(gpu_tracker, tmp_path / "job", 130, seconds=3)
    job.slow(77, 0.5)
    assert cli("report", "job", "-o", "job.html").returncode == 0
    page = (tmp_path / "job.html").read_text()
    assert page.count("<title>rank ") == 3 * 65 and page.count("<title>rank 77 on n9, ") == 3 and "the furthest" in heat(cli, "ram")
    assert len(heat(cli, "cpu_utilization").splitlines()) < 130 < len(heat(cli, "cpu_utilization", "--all").splitlines())


def test_a_job_is_watched_until_it_is_finished(job, gpu_tracker, cli, refused, tmp_path):
    assert cli("report", "job", "--watch", "0.1").stdout.count("Recordings: 40") == 1
    job.run(3, "UPDATE outcome SET value = 0 WHERE key = 'complete'")
    watching = subprocess.Popen([gpu_tracker, "report", "job", "--watch", "0.1"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    line = ""
    for _ in range(2):
        while not line.strip().startswith("Recordings not finished: 1"):
            line = watching.stdout.readline()
            assert line, "it ended"
        line = ""
    job.run(3, "UPDATE outcome SET value = 1 WHERE key = 'complete'")
    assert "Recordings not finished: 0" in watching.communicate(timeout=120)[0] and watching.returncode == 0
    refused(2, "not a folder", "report", "job/0.sqlite", "--watch", "1")


def test_a_watch_waits_for_ranks_that_are_missing(gpu_tracker, tmp_path):
    environment = {**os.environ, "SLURM_JOB_ID": "42", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"}
    watch = [gpu_tracker, "report", "run-42", "--watch", "0.1"]

    def run(rank):
        subprocess.run([gpu_tracker, "run", "--no-history", "-q", "--tf", "run-%j/%r.sqlite", "--", "true"], cwd=tmp_path, check=True,
                       timeout=100, env={**environment, "SLURM_PROCID": rank})

    run("0")
    watching = subprocess.Popen(watch, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    seen = 0
    while seen < 2:
        line = watching.stdout.readline()
        assert line, "it ended"
        seen += "Ranks without a recording: 1" in line
    run("1")
    assert "Ranks without a recording: 0" in watching.communicate(timeout=300)[0] and watching.returncode == 0
    (tmp_path / "run-42" / "1.sqlite").unlink()
    with sqlite3.connect(tmp_path / "run-42" / "0.sqlite") as database:
        database.execute("UPDATE static_data SET start = start - 3600")
    done = subprocess.run(watch, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout.count("Ranks without a recording: 1") == 1  # they do not come any more


def test_a_killed_attempt_is_not_watched_for_ever(gpu_tracker, tmp_path):
    job = JobFolder(gpu_tracker, tmp_path / "job", 2, seconds=3)
    job.run(0, "UPDATE outcome SET value = 0 WHERE key = 'complete'")
    shutil.copy(job.path(1), job.path(2))
    job.run(2, "UPDATE static_data SET rank = 0, job = job || '+1', pid = pid + 1")
    done = subprocess.run([gpu_tracker, "report", "job", "--watch", "0.1"], cwd=tmp_path, capture_output=True, text=True, timeout=100,
                          check=True)
    assert "Recordings not finished: 1" in done.stdout


def test_a_watch_may_begin_before_the_job(job, gpu_tracker, refused, tmp_path):
    """Before its folder, and before there is a recording in it."""
    (tmp_path / "empty").mkdir()
    refused(2, "no recording", "report", "empty")
    os.rename(tmp_path / "job", tmp_path / "kept")
    watching = subprocess.Popen([gpu_tracker, "report", "job", "--watch", "0.1"], cwd=tmp_path, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
    assert watching.stderr.readline() == "gpu-tracker: job: No such file or directory; waiting for it\n"
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "0.sqlite").write_bytes(b"")
    os.replace(tmp_path / "kept" / "1.sqlite", tmp_path / "job" / "1.sqlite")
    said, more = watching.communicate(timeout=120)
    assert watching.returncode == 0 and "Recordings: 1" in said and not more
