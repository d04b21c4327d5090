"""Jobs of several steps and attempts: each rank is held against those of its own step."""
import json
import subprocess

import pytest
from clickhouse import SERVER, Server
from job_folder import BEGIN, JobFolder


@pytest.fixture(scope="module")
def server(tmp_path_factory, gpu_tracker):
    if not SERVER:
        pytest.skip("there is no clickhouse-server: make test-clickhouse installs it")
    server = Server(tmp_path_factory.mktemp("clickhouse"))
    subprocess.run([gpu_tracker, "push", "--init", server.url], check=True, capture_output=True)
    yield server
    server.stop()


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


@pytest.fixture
def uneven(gpu_tracker, tmp_path):
    """Two steps: the ranks of the second work twice as much, but for its rank 5."""
    job = steps_of(gpu_tracker, tmp_path / "job", "c:42.0", "c:42.1")
    for number in range(16):
        cores = 0.5 if number < 8 else 0.6 if number == 13 else 1
        job.slow(number, cores)
        job.run(number, "DELETE FROM final WHERE metric = 'cpu_time' AND scope = 'combined'")
        job.run(number, f"INSERT INTO final (scope, metric, value) VALUES ('combined', 'cpu_time', {60 * cores + 0.01 * (number % 8)})")
        job.blocks(number, [0.1 * cores + 0.0001 * number + (0.02 if number == 3 else 0)] * (5 if number < 8 else 9))
    return job


def test_a_rank_is_compared_with_those_of_its_step(uneven, tell):
    found = tell("profile", "stragglers", uneven.folder)
    off = {(row["rank"], row["job"], row["figure"]): row["ratio"] for row in found["stragglers"]}
    assert set(off) == {(5, "c:42.1", "cpu_utilization"), (3, "c:42.0", "step"), (5, "c:42.1", "step")}
    assert off[5, "c:42.1", "cpu_utilization"] == pytest.approx(0.6, abs=0.02)
    assert [(row["job"], row["ranks"], row["calls"], row["rank"]) for row in found["blocks"]] == [
        ("c:42.0", 8, 40, 3), ("c:42.1", 8, 72, 7)]
    assert {(row["job"], row["rank"], row["times"], row["steps"]) for row in found["slowest"]} == {
        ("c:42.0", 3, 5, 5), ("c:42.1", 7, 9, 9)}
    use = {(row["rank"], row["job"]) for row in tell("profile", "utilization", uneven.folder)["ranks"] if row["off"]}
    assert use == {(5, "c:42.1")}
    blocks = tell("analyze", uneven.folder)["blocks"]
    assert [(row["job"], row["ranks"], row["num_calls"]) for row in blocks] == [("c:42.0", 8, 40), ("c:42.1", 8, 72)]
    assert blocks[0]["median_rank"] == pytest.approx(0.05, abs=0.002) and blocks[1]["median_rank"] == pytest.approx(0.1, abs=0.002)


def test_steps_are_told_alike_of_a_folder_and_a_server(uneven, server, gpu_tracker, tell):
    uneven.run(9, "DELETE FROM outcome")
    subprocess.run([gpu_tracker, "push", uneven.folder, server.url], check=True, capture_output=True, timeout=100)
    for words in [["report"], ["report", "--heat", "ram"], ["profile", "utilization"], ["profile", "stragglers"], ["analyze"]]:
        for form in ["text", "json"] + ["summary"] * (words == ["report"]):
            assert tell(*words, f"{server.url}/42", form=form) == tell(*words, uneven.folder, form=form)


def test_no_step_has_five_ranks(gpu_tracker, tell, tmp_path):
    job = steps_of(gpu_tracker, tmp_path / "job", "c:42.0", "c:42.1", ranks=4, seconds=10)
    assert "Too few ranks in a step" in tell("profile", "stragglers", job.folder, form="text")


def test_a_short_step_makes_no_rank_odd(gpu_tracker, tell, tmp_path):
    job = steps_of(gpu_tracker, tmp_path / "job", "c:42.0", "c:42.1", "c:42.2", "c:42.3", ranks=5, seconds=10)
    for number in range(20):
        seconds = 10 if number < 15 else 3
        job.run(number, f"UPDATE outcome SET value = {seconds + 0.001 * number} WHERE key = 'elapsed'")
        job.run(number, "DELETE FROM final WHERE metric = 'cpu_time' AND scope = 'combined'")
        job.run(number, f"INSERT INTO final (scope, metric, value) VALUES ('combined', 'cpu_time', {2 + 0.001 * number})")
    report = tell("report", job.folder)
    assert {row["remark"] for row in report["ranks"]} == {""}
    of_steps = {(row["job"], row["figure"]): row["median"] for row in report["spread_of_steps"]}
    assert of_steps["c:42.0", "elapsed"] == pytest.approx(10, abs=0.1) and of_steps["c:42.3", "elapsed"] == pytest.approx(3, abs=0.1)
    assert report["totals"]["imbalance"] < 0.01 and report["spread"]["elapsed"]["least"] == pytest.approx(3, abs=0.1)
    assert " ! " not in tell("report", job.folder, form="summary")


def test_who_is_odd_is_told_with_the_step(uneven, tell):
    uneven.run(1, "UPDATE outcome SET value = 3 WHERE key = 'exit_status'")
    for number in range(8):
        uneven.run(number, "UPDATE static_data SET job = 'c:42.1+1'")
    summary = " ".join(tell("report", uneven.folder, form="summary").split())
    assert "rank 1 of 42.1+1 on n0: failed with 3" in summary and "rank 5 of 42.1 on n1: least CPU, 0.60" in summary
    assert summary.count(" ! ") == 2 and "0.60 to 1.00 of a rank of 42.1, the most uneven step" in summary


def running(job, samples):
    """None of its recordings is finished, and each has so many samples."""
    for number in range(job.ranks):
        job.run(number, "UPDATE outcome SET value = 0 WHERE key = 'complete'")
        job.run(number, f"UPDATE outcome SET value = {samples} WHERE key = 'samples'")
        cpu_time = 60 + 0.01 * number
        job.run(number, "DELETE FROM final WHERE metric = 'cpu_time' AND scope = 'combined'")
        job.run(number, f"INSERT INTO final (scope, metric, value) VALUES ('combined', 'cpu_time', {cpu_time})")


def test_ranks_that_run_are_no_alarm(gpu_tracker, tell, tmp_path):
    job = JobFolder(gpu_tracker, tmp_path / "job", 40)
    running(job, samples=3)
    for number, elapsed in ((7, 12), (8, 90)):
        job.run(number, f"UPDATE outcome SET value = {elapsed} WHERE key = 'elapsed'")
    summary = tell("report", job.folder, form="summary")
    assert "40 not finished" in summary and " ! " not in summary
    whole = tell("report", job.folder)
    assert whole["job"]["unfinished"] == 40 and {row["remark"] for row in whole["ranks"]} == {"recording not finished"}


def test_a_rank_that_runs_is_compared_with_those_that_run(gpu_tracker, tell, tmp_path):
    job = JobFolder(gpu_tracker, tmp_path / "job", 12)
    running(job, samples=60)
    job.run(3, "UPDATE final SET value = 30 WHERE metric = 'cpu_time' AND scope = 'combined'")
    job.run(4, "UPDATE outcome SET value = 12 WHERE key = 'elapsed'")
    job.run(4, "UPDATE final SET value = 12 WHERE metric = 'cpu_time' AND scope = 'combined'")
    job.run(5, "UPDATE outcome SET value = 1 WHERE key = 'complete'")
    remarks = {row["rank"]: row["remark"] for row in tell("report", job.folder)["ranks"]}
    assert remarks[3].startswith("recording not finished; least CPU, 0.5") and remarks[4] == "recording not finished" and remarks[5] == ""
    summary = tell("report", job.folder, form="summary")
    assert "rank 3 on n0" in summary and summary.count(" ! ") == 1


def test_a_rank_that_fell_silent_is_an_alarm(gpu_tracker, tell, tmp_path):
    job = JobFolder(gpu_tracker, tmp_path / "job", 8)
    running(job, samples=60)
    for number in range(8):
        job.run(number, f"UPDATE outcome SET value = {100 if number == 6 else 300} WHERE key = 'elapsed'")
        job.run(number, f"UPDATE final SET value = value * {1 / 3 if number == 6 else 1} WHERE metric = 'cpu_time' AND scope = 'combined'")
    summary = tell("report", job.folder, form="summary")
    assert "8 not finished" in summary and "rank 6 on n0: recording not finished" in summary and summary.count(" ! ") == 1


def test_of_a_server_there_is_no_file(gpu_tracker, tell, server, tmp_path):
    job = JobFolder(gpu_tracker, tmp_path / "job", 2)
    for number in range(2):
        job.run(number, "UPDATE static_data SET job = 'c:52.0'")
    subprocess.run([gpu_tracker, "push", job.folder, server.url], check=True, capture_output=True, timeout=100)
    row = json.loads(server.ask("SELECT job, source, day, toUInt32(version) AS version, facts FROM trackers WHERE job = 'c:52.0'"
                                " ORDER BY version DESC, source DESC LIMIT 1 FORMAT JSONEachRow"))
    facts = json.loads(row["facts"])  # as of a tracker that has just begun
    facts["outcome"].update(complete=0, samples=0)
    server.ask("INSERT INTO trackers (job, source, day, version, facts) FORMAT JSONEachRow "
               + json.dumps({**row, "version": row["version"] + 1000, "facts": json.dumps(facts)}))
    assert "1 tracker was left out" in tell("report", f"{server.url}/52", form="summary")
    text = tell("report", f"{server.url}/52", form="text")
    assert "Trackers left out" in text and "ile was left" not in text and "Files" not in text
    job.path(1).write_bytes(b"")
    assert "1 file was left out" in tell("report", job.folder, form="summary")


def test_steps_have_rows_of_their_own_in_a_timeline(gpu_tracker, tmp_path):
    job = steps_of(gpu_tracker, tmp_path / "job", "c:42.0", "c:42.1", "c:42.1+1", ranks=1, seconds=5)
    for number in range(3):
        job.run(number, f"UPDATE data SET combined_ram = {number + 1}")
    subprocess.run([gpu_tracker, "timeline", "merge", job.folder, "-o", tmp_path / "m.json"], check=True, capture_output=True, timeout=100)
    events = json.loads((tmp_path / "m.json").read_text())
    names = ["n0-0", "n0-0 of 42.1", "n0-0 of 42.1+1"]
    assert {event["args"]["node"] for event in events if event["name"] == "process_name" and "node" in event["args"]} == set(names)
    for number, name in enumerate(names):
        assert {event["args"]["value"] for event in events if event["name"] == f"combined_ram_{name}"} == {(number + 1) * 1e9}


def test_few_rows_over_time_show_who_is_off_in_its_step(gpu_tracker, tell, tmp_path):
    """All 24 ranks of the first step work less than the slow rank of the second."""
    job = steps_of(gpu_tracker, tmp_path / "job", "c:42.0", "c:42.1", ranks=24, seconds=10)
    for number in range(48):
        job.slow(number, 0.1 if number < 24 else 0.5 if number == 31 else 1)
    drawing = tell("report", job.folder, "--heat", "cpu_utilization", form="text").split("over time")[1].split("\n\n")[0]
    assert ["7", "n1", "c:42.1"] in [line.split()[:3] for line in drawing.splitlines()]
