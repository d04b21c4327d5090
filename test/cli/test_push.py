"""Recordings pushed to a real ClickHouse server: each row is there once, whatever the network and the server do meanwhile."""
import gzip
import json
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import ssl
import subprocess
import sys
import threading
import time

import pytest
from bad_network import BadNetwork
from clickhouse import PASSWORD, SERVER, Server, free_port
from job_folder import JobFolder
from patience import wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from simulate_job import make_job

pytestmark = pytest.mark.skipif(not SERVER, reason="there is no clickhouse-server: make test-clickhouse installs it")
ROWS = 300


@pytest.fixture(scope="module")
def server(tmp_path_factory, gpu_tracker):
    server = Server(tmp_path_factory.mktemp("clickhouse"))
    subprocess.run([gpu_tracker, "push", "--init", server.url], check=True, capture_output=True)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def real(tmp_path_factory, gpu_tracker):
    """A recording with processes and code blocks."""
    path = tmp_path_factory.mktemp("real") / "real.sqlite"
    line = [gpu_tracker, "block", "step", "--", "true"]
    command = [gpu_tracker, "run", "--no-history", "-q", "--detail", "--blocks", "--sleep-time", "0.02", "--tracking-file", str(path)]
    subprocess.run([*command, "--", "sh", "-c", f"{' '.join(line)}; sleep 0.3; {' '.join(line)}"], check=True, capture_output=True,
                   timeout=100)
    return path


@pytest.fixture
def push(gpu_tracker, tmp_path):
    def run(*arguments, expected=0, **keywords):
        done = subprocess.run([gpu_tracker, "push", *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False,
                              cwd=tmp_path, **keywords)
        assert done.returncode == expected, done.stderr
        return done.stderr

    return run


def counts(server, job, table="samples"):
    return server.ask(f"SELECT count(), uniqExact(source, number) FROM {table} WHERE job = '{job}'").split()


def rows_of(path, table):
    with sqlite3.connect(path) as database:
        return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def test_all_of_a_recording_is_there_once(server, real, push):
    url = f"{server.url}/whole"
    said = push(real, url)
    assert "1 of 1 recordings are at" in said
    samples, details = rows_of(real, "data"), rows_of(real, "process_data")
    for _ in range(2):
        assert counts(server, "whole") == [str(samples)] * 2
        assert counts(server, "whole", "process_samples") == [str(details)] * 2
        assert counts(server, "whole", "calls") == ["2", "2"]
        assert counts(server, "whole", "minutes") == [str(rows_of(real, "minutes"))] * 2
        assert server.number("SELECT count() FROM finals WHERE job = 'whole'") == server.number(
            "SELECT uniqExact(scope, metric) FROM finals WHERE job = 'whole'") > 10
        assert server.ask("SELECT count(), max(complete) FROM trackers WHERE job = 'whole'") == "2\t1\n"  # its begin and its end
        assert "; 0 rows were sent" in push(real, url)  # again: nothing new
    with sqlite3.connect(real) as database:
        theirs = server.ask("SELECT time, toString(combined_cpu_time), combined_ram_private FROM samples WHERE job = 'whole'"
                            " ORDER BY number")
        ours = database.execute("SELECT timestamp, combined_cpu_time, combined_ram_private FROM data").fetchall()
        for line, row in zip(theirs.splitlines(), ours, strict=True):
            moment, cpu, ram = line.split("\t")
            assert abs(int(moment) / 1e9 - row[0]) < 1e-6
            assert abs(float(cpu) - row[1]) <= 0.5000001e-6
            assert ram == str(row[2])
        final = database.execute("SELECT value FROM final WHERE scope = 'combined' AND metric = 'cpu_time'").fetchone()[0]
    assert float(server.ask("SELECT value FROM finals WHERE job = 'whole' AND scope = 'combined' AND metric = 'cpu_time'")) == final


def test_a_recording_that_grows_and_one_without_an_end(server, real, push, tmp_path):
    path = make_job(real, tmp_path, ranks=1, rows=ROWS, job="grows", dead=[0])[0]
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT * FROM data").fetchall()
        database.execute("DELETE FROM data WHERE rowid > 100")
    push(path, server.url)
    assert counts(server, "grows") == ["100", "100"]
    assert server.ask("SELECT argMax(complete, version), argMax(samples, version) FROM trackers WHERE job = 'grows'") == "0\t100\n"
    with sqlite3.connect(path) as database:
        database.executemany(f"INSERT INTO data VALUES ({','.join('?' * len(rows[0]))})", rows[100:])
    push(path, server.url)
    assert counts(server, "grows") == [str(ROWS)] * 2
    assert server.ask("SELECT argMax(samples, version) FROM trackers WHERE job = 'grows'") == f"{ROWS}\n"


def test_two_recordings_of_one_rank(server, real, push, tmp_path):
    first = make_job(real, tmp_path / "a", ranks=1, rows=20, job="twice")[0]
    second = make_job(real, tmp_path / "b", ranks=1, rows=30, job="twice", seed=2)[0]
    third = make_job(real, tmp_path / "c", ranks=1, rows=30, job="twice", seed=3, start=1.6e9)[0]
    push(first, server.url)
    push(second, first, server.url)
    assert server.ask("SELECT count() FROM samples WHERE job = 'twice' GROUP BY source ORDER BY 1") == "20\n30\n"
    assert "days apart" in push(third, server.url, expected=125)
    assert counts(server, "twice") == ["50", "50"]


def test_a_recording_pushed_under_a_wrong_name_is_named(server, real, push, gpu_tracker, tmp_path):
    good = make_job(real, tmp_path / "good", ranks=2, rows=20, job="alps:91.0")
    strange = make_job(real, tmp_path / "strange", ranks=1, rows=20, job="alps:92.0", seed=5)[0]
    push(*good, f"{server.url}/alps:91")
    push(strange, f"{server.url}/alps:91")
    job = json.loads(report_of(gpu_tracker, ["report"], f"{server.url}/91"))
    [left_out] = job["left_out"]
    assert job["job"]["recordings"] == 2 and left_out["file"] == str(strange) and "job alps:92.0 by its own word" in left_out["reason"]
    server.ask("INSERT INTO trackers (job, source, version, facts) VALUES ('alps:91', 77, 1, 'no')")
    job = json.loads(report_of(gpu_tracker, ["report"], f"{server.url}/91"))
    assert job["job"]["recordings"] == 2 and "invalid JSON" in " ".join(row["reason"] for row in job["left_out"])
    push(*make_job(real, tmp_path / "other", ranks=1, rows=20, job="alps:93.0", seed=6), f"{server.url}/renamed")
    push(strange, f"{server.url}/renamed")  # who names both so means it
    assert json.loads(report_of(gpu_tracker, ["report"], f"{server.url}/renamed"))["job"]["recordings"] == 2


def test_many_recordings_are_asked_for_at_once(server, real, push, tmp_path):
    said = push(*make_job(real, tmp_path, ranks=20, rows=5, job="many"), server.url)
    assert "20 of 20 recordings" in said and int(re.search(r"in (\d+) requests", said)[1]) < 40
    assert server.ask("SELECT uniqExact(source), sum(complete) FROM trackers WHERE job = 'many'") == "20\t20\n"


@pytest.mark.parametrize("words", [["timeline", "merge", "-o", "all.json", "URL"], ["timeline", "info", "URL"], ["compare", "URL", "URL"],
                                   ["profile", "critical_path", "URL"],
                                   ["sub-track", "compare", "-m", "a=URL", "-m", "b=URL", "--fail-if", "energy.total>+5%"]], ids=" ".join)
def test_what_reads_recordings_alone_says_so(gpu_tracker, tmp_path, words):
    line = [gpu_tracker, *(word.replace("URL", "clickhouse://127.0.0.1:1/jobs/7") for word in words)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=100, check=False, cwd=tmp_path)
    assert done.returncode in (1, 2, 125) and "reads recordings and no server: name those of the job" in done.stderr
    assert done.stderr.count("\n") == 1 and not list(tmp_path.iterdir())


@pytest.mark.parametrize("seed", range(3))
def test_bad_networks_lose_nothing(server, real, push, tmp_path, seed):
    chance = random.Random(seed)
    job = f"bad{seed}"
    paths = make_job(real, tmp_path, ranks=3, rows=ROWS, job=job, seed=seed)
    bad = dict(zip(chance.sample(range(30), 4), [503, ("cut", 40), "swallow", "swallow"]))
    with BadNetwork(server.port, lambda number, body: bad.get(number, "pass")) as network:
        push(*paths, network.url, "--patience", "300")
    assert counts(server, job) == [str(3 * ROWS)] * 2
    assert server.number(f"SELECT countIf(complete = 1) FROM trackers WHERE job = '{job}'") == 3


def test_an_insert_without_an_answer_is_not_repeated_unasked(server, real, push, tmp_path):
    path = make_job(real, tmp_path, ranks=1, rows=20, job="once")[0]
    seen = []

    def swallow_some(_, body):
        if not body.startswith(b"\x1f\x8b") or body in seen:
            return "pass"
        seen.append(body)
        return "swallow" if len(seen) in (2, 4) else "pass"

    with BadNetwork(server.port, swallow_some) as network:
        push(path, network.url)
    assert counts(server, "once") == ["20", "20"]
    assert len(set(server.ask("SELECT count(), uniqExact(scope, metric) FROM finals WHERE job = 'once'").split())) == 1


def test_half_an_answer_about_rows_is_none(server, real, push, tmp_path):
    """Of what a server has: to take it as nothing would send all once more."""
    paths = make_job(real, tmp_path, ranks=2, rows=20, job="halves")
    push(*paths, server.url)
    with BadNetwork(server.port, lambda number, body: "pass") as network:
        push(*paths, network.url)
    for bad in range(network.requests):
        with BadNetwork(server.port, lambda number, body, bad=bad: "behead" if number == bad else "pass") as network:
            push(*paths, network.url, "--patience", "300")
        for table in ("samples", "minutes", "process_samples", "calls"):
            assert len(set(counts(server, "halves", table))) == 1, (bad, table)


def test_two_pushers_of_the_same_recordings(server, real, gpu_tracker, tmp_path):
    paths = make_job(real, tmp_path, ranks=3, rows=5 * ROWS, job="both")
    line = [gpu_tracker, "push", *map(str, paths), server.url, "--patience", "300"]
    both = [subprocess.Popen(line, stderr=subprocess.DEVNULL) for _ in range(2)]
    assert [pusher.wait(300) for pusher in both] == [0, 0]

    def is_merged():  # where the server merges parts already, OPTIMIZE does nothing
        server.ask("OPTIMIZE TABLE samples FINAL")
        return counts(server, "both") == [str(15 * ROWS)] * 2

    wait_until(is_merged)
    assert server.ask("SELECT uniqExact(source) FROM trackers WHERE job = 'both' AND complete = 1") == "3\n"


def test_rows_that_a_server_lost_are_sent_again(server, real, push, tmp_path):
    """It has acknowledged them, as before a power cut: here they never reach it."""
    paths = make_job(real, tmp_path, ranks=2, rows=ROWS, job="lost")
    lost = []

    def plan(_, body):
        if body[:2] == b"\x1f\x8b" and not lost and b"INSERT INTO samples" in gzip.decompress(body)[:40]:
            lost.append(body)
            return 200
        return "pass"

    with BadNetwork(server.port, plan) as network:
        push(*paths, network.url)
    assert lost
    assert counts(server, "lost") == [str(2 * ROWS)] * 2


def test_only_the_rows_that_are_missing_are_sent_again(server, real, push, gpu_tracker, tmp_path):
    server.ask("CREATE DATABASE holes")
    url = f"clickhouse://127.0.0.1:{server.port}/holes"
    subprocess.run([gpu_tracker, "push", "--init", url], check=True, capture_output=True)
    paths = make_job(real, tmp_path, ranks=2, rows=ROWS, job="holes")
    push(*paths, url)
    for statement in ("CREATE TABLE holes.kept AS holes.samples",
                      "INSERT INTO holes.kept SELECT * FROM holes.samples WHERE source = 0 OR number < 100 OR number >= 150",
                      "DROP TABLE holes.samples", "RENAME TABLE holes.kept TO holes.samples"):
        server.ask(statement)
    assert "; 50 rows were sent" in push(*paths, url)
    assert server.ask("SELECT count(), uniqExact(source, number) FROM holes.samples") == f"{2 * ROWS}\t{2 * ROWS}\n"


def test_a_killed_server_loses_nothing(tmp_path, real, push, gpu_tracker):
    server = Server(tmp_path / "clickhouse")
    try:
        subprocess.run([gpu_tracker, "push", "--init", server.url], check=True, capture_output=True)
        paths = make_job(real, tmp_path / "job", ranks=4, rows=4 * ROWS, job="killed")

        def kill():
            time.sleep(0.1)
            server.stop(signal.SIGKILL)
            server.start()

        killer = threading.Thread(target=kill)
        killer.start()
        push(*paths, server.url, "--patience", "300")
        killer.join()
        assert "4 of 4" in push(*paths, server.url, "--patience", "300")
        assert counts(server, "killed")[1] == str(16 * ROWS)
        server.ask("OPTIMIZE TABLE samples FINAL")
        assert counts(server, "killed") == [str(16 * ROWS)] * 2
    finally:
        server.stop()


def test_passwords_and_tokens(server, real, push, tmp_path):
    netrc = tmp_path / "secret"
    url = f"clickhouse://tracker@127.0.0.1:{server.port}/default/secret"
    assert "Password required for user tracker" in push(real, url, expected=125)
    netrc.write_text(f"machine 127.0.0.1 login tracker password {PASSWORD}\n")
    netrc.chmod(0o644)
    assert "may be read or written by others" in push(real, url, "--netrc-file", netrc, expected=125)
    netrc.chmod(0o600)
    push(real, url, "--netrc-file", netrc)
    assert server.number("SELECT count() FROM trackers WHERE job = 'secret'") == 2
    token = tmp_path / "token"
    token.write_text("abc.def\n")
    token.chmod(0o600)
    seen = []
    with BadNetwork(server.port, lambda number, body: 403) as network:
        handler = network.server.RequestHandlerClass
        answer = handler.do_POST
        handler.do_POST = lambda self: (seen.append(self.headers["Authorization"]), answer(self))
        assert "refuses with status 403" in push(real, network.url, "--token-file", token, expected=125)
    assert seen == ["Bearer abc.def"]


def test_what_cannot_be_done_is_said_once(server, real, push, tmp_path):
    assert "a password in the address" in push(real, "clickhouse://me:secret@127.0.0.1/default", expected=2)
    assert "doesn't exist" in push(real, f"clickhouse://127.0.0.1:{server.port}/nowhere", expected=125)
    assert "in readonly mode" in push(real, f"clickhouse://looker@127.0.0.1:{server.port}/default", expected=125)
    assert "not an option" in push(real, f"{server.url}?flash=1", expected=2)
    assert "1 of 2 recordings could not be read" in push(real, tmp_path / "none.sqlite", f"{server.url}/some", expected=125)
    assert counts(server, "some")[0] == str(rows_of(real, "data"))
    said = push(real, f"clickhouse://127.0.0.1:{free_port()}/default", "--patience", "0.1", expected=125)
    assert "gpu-tracker: clickhouse://127.0.0.1:" in said.splitlines()[-1]


@pytest.mark.parametrize(("database", "said"), [
    ("bare", "Table bare.trackers doesn't exist; an administrator creates the tables with gpu-tracker push --init URL"),
    ("gone", "Database gone doesn't exist; an administrator creates it by CREATE DATABASE gone, then runs gpu-tracker push --init URL"),
    ("not-there", "creates it by CREATE DATABASE `not-there`, then runs gpu-tracker push --init URL")])
def test_what_a_server_lacks_is_named_with_the_remedy(server, gpu_tracker, database, said):
    url = f"clickhouse://127.0.0.1:{server.port}/{database}"
    server.ask("CREATE DATABASE IF NOT EXISTS bare")
    for words in (["report"], ["push", "--init"])[: 1 if database == "bare" else 2]:
        done = subprocess.run([gpu_tracker, *words, url], capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 125 and said.replace("URL", url) in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_folder_is_pushed(server, real, push, tmp_path):
    make_job(real, tmp_path / "run", ranks=2, rows=5, job="folder")
    assert "2 of 2 recordings are at" in push(tmp_path / "run", server.url)
    (tmp_path / "empty").mkdir()
    assert "no recording in this folder" in push(tmp_path / "empty", server.url, expected=2)
    assert "No such file" in push(tmp_path / "gone", server.url, expected=125)


def test_columns_of_a_new_version(server, real, push, gpu_tracker):
    server.ask("CREATE DATABASE older")
    url = f"clickhouse://127.0.0.1:{server.port}/older"
    subprocess.run([gpu_tracker, "push", "--init", url], check=True, capture_output=True)
    server.ask("ALTER TABLE older.samples DROP COLUMN combined_swap")
    push(real, f"{url}/columns")
    whole = report_of(gpu_tracker, ["report", "-f", "json"], f"{url}/columns")
    server.ask("ALTER TABLE older.samples DROP COLUMN combined_ram_private_anonymous")
    lacks = json.loads(report_of(gpu_tracker, ["report", "-f", "json"], f"{url}/columns"))
    assert json.loads(whole)["totals"]["cpu_time"] == lacks["totals"]["cpu_time"] and lacks["totals"]["memory_peak"]["at_least"] > 1e5
    assert server.number("SELECT count() FROM system.columns WHERE database = 'older' AND name = 'combined_swap' AND table = 'samples'"
                         ) == 1


def test_statements(server, gpu_tracker):
    todays = subprocess.run([gpu_tracker, "push", "--init", "--explain", server.url], check=True, capture_output=True, text=True).stdout
    assert "CODEC(Delta(8), ZSTD(1))" in todays and "TTL day + INTERVAL 30 DAY" in todays
    tables = {re.search(r"EXISTS (\w+)", text)[1]: text for text in todays.split(";\n") if text.strip()}
    for name, text in tables.items():
        assert ("PARTITION BY toYYYYMM(day)" in text) == ("TTL" not in text) and "job String" in text, name
    columns = re.findall(r"^  (\w+) (.*?),?$", tables["calls"], re.MULTILINE)
    assert all("CODEC(" in of for _, of in columns[:-1]) and columns[-1][0] == "moment"
    assert "moment DateTime64(9) ALIAS" in tables["samples"]


@pytest.fixture(scope="module")
def job(server, gpu_tracker, tmp_path_factory):
    """A folder of four ranks on two nodes with processes and blocks, one of them killed; all are on the server."""
    folder = tmp_path_factory.mktemp("job")
    ranks = []
    for rank in range(3):
        place = {"SLURM_JOB_ID": "77", "SLURM_CLUSTER_NAME": "alps", "SLURM_STEP_ID": "0", "SLURM_PROCID": str(rank),
                 "SLURM_LOCALID": str(rank), "SLURM_STEP_NUM_TASKS": "4"}
        block = f"{gpu_tracker} block step -- sleep 0.{rank + 1}"
        ranks.append(subprocess.Popen([gpu_tracker, "run", "--no-history", "-q", "--detail", "--blocks", "--sleep-time", "0.05", "--tf",
                                       str(folder / f"{rank}.sqlite"), "--", "sh", "-c", f"{block}; {block}"],
                                      env={**os.environ, **place}, stderr=subprocess.DEVNULL))
    assert [rank.wait(100) for rank in ranks] == [0, 0, 0]
    with sqlite3.connect(folder / "2.sqlite") as database:
        database.execute("DELETE FROM outcome")
        database.execute("DELETE FROM final")
        database.execute("UPDATE static_data SET node = 'other', node_name = 'n2', host = 'n2'")
    subprocess.run([gpu_tracker, "push", *map(str, sorted(folder.glob("*.sqlite"))), server.url], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("words", [["report"], ["report", "--heat", "cpu_utilization"], ["profile", "utilization"],
                                   ["profile", "stragglers"], ["profile", "health"],
                                   ["sub-track", "analyze", "--calls", "--tf"]], ids=" ".join)
def test_a_folder_and_a_server_give_the_same_report(server, job, gpu_tracker, words, form):
    def ask(name):
        done = subprocess.run([gpu_tracker, *words, name, "--format", form], capture_output=True, text=True, timeout=100, check=False)
        return done.returncode, done.stdout, done.stderr.replace(name, "NAME")

    of_folder = ask(str(job))
    assert of_folder[0] == 0 and len(of_folder[1]) > 300
    assert ask(f"{server.url}/77") == of_folder


def test_a_clock_that_the_server_knows_to_be_wrong_is_corrected_and_told(server, job, gpu_tracker, tmp_path):
    """That of the second node is 300 s ahead; the database is another, as its rows are of the same job."""
    folder = shutil.copytree(job, tmp_path / "job")
    with sqlite3.connect(folder / "2.sqlite") as database:
        database.execute("UPDATE static_data SET start = start + 300")
        for table in ("data", "process_data", "blocks"):
            database.execute(f"UPDATE {table} SET timestamp = timestamp + 300")
        database.execute("UPDATE minutes SET time = time + 300")
    server.ask("CREATE DATABASE clocks")
    url = server.url.replace("/default", "/clocks")
    subprocess.run([gpu_tracker, "push", "--init", url], check=True, capture_output=True)
    subprocess.run([gpu_tracker, "push", *map(str, sorted(folder.glob("*.sqlite"))), url], check=True, capture_output=True)

    def ask(name, *words):
        return json.loads(subprocess.run([gpu_tracker, *words, name, "-f", "json"], capture_output=True, text=True, timeout=100,
                                         check=True).stdout)

    assert ask(f"{url}/77", "report")["job"]["elapsed"] > 299
    names = server.ask("SELECT name FROM system.columns WHERE database = 'clocks' AND table = 'trackers'").split()
    known = {"clock_server": "if(host = 'n2', -300, 0.25)", "version": "version + 1"}
    server.ask(f"INSERT INTO clocks.trackers SELECT {', '.join(known.get(name, name) for name in names)} FROM clocks.trackers")
    right, corrected = ask(str(job), "report"), ask(f"{url}/77", "report")
    assert corrected["job"]["elapsed"] == pytest.approx(right["job"]["elapsed"], abs=1e-6)
    assert {node["node"]: node["clock_shift"] for node in corrected["nodes"] if node["clock_shift"]} == {"n2": -300}
    for words, keys in ((["report", "--heat", "cpu_utilization"], ["heat"]), (["profile", "stragglers"], ["blocks", "slowest", "last"])):
        ours, theirs = ask(f"{url}/77", *words), ask(str(job), *words)
        assert [ours[key] for key in keys] == [theirs[key] for key in keys], words
    assert [row["node"] for row in ask(f"{url}/77", "profile", "health")["findings"] if row["check"] == "clock_error"] == ["n2"]
    text = subprocess.run([gpu_tracker, "report", "-f", "summary", f"{url}/77"], capture_output=True, text=True, check=True).stdout
    assert "the clock of n2 is 5 min ahead of that of the server" in text and "its times are corrected" in text


def test_ranks_below_trackers_are_those_of_the_folder(server, gpu_tracker, push, tmp_path):
    job = JobFolder(gpu_tracker, tmp_path / "below", 2, per_node=1)
    for node in range(2):
        job.ranks_below(node, 4 * node, [60, 61, 59.5, 30 if node else 60.5])
        job.blocks(node, [0.1, 0.1])
    push(job.folder, f"{server.url}/below")
    for words in (["report"], ["profile", "stragglers"], ["sub-track", "analyze", "--tf"]):
        of_folder = json.loads(report_of(gpu_tracker, words, str(job.folder)))
        of_folder["job" if "job" in of_folder else "blocks"] = None  # it has the name that was given to it
        of_server = json.loads(report_of(gpu_tracker, words, f"{server.url}/below"))
        of_server["job" if "job" in of_server else "blocks"] = None
        assert of_server == of_folder and (words != ["report"] or [row["rank"] for row in of_server["ranks"]] == list(range(8)))


@pytest.fixture(scope="module")
def ranks_below(gpu_tracker, tmp_path_factory):
    """Two trackers, each with two ranks of two processes below it, and a process of none; one of them wrote no single processes."""
    folder = tmp_path_factory.mktemp("ranks") / "below"
    rank = "sh -c 'sleep 0.4 & sleep 0.5; wait'"
    for node, words in enumerate((["--detail"], ["--detail"], [])):
        ranks = " & ".join(f"RANK={2 * node + i} LOCAL_RANK={i} LOCAL_WORLD_SIZE=2 WORLD_SIZE=6 {rank}" for i in range(2))
        subprocess.run([gpu_tracker, "run", "--no-history", "-q", *words, "--st", "0.05", "--tf", str(folder / f"{node}.sqlite"), "--",
                        "sh", "-c", f"{ranks} & wait"], check=True, timeout=100, stderr=subprocess.DEVNULL,
                       env={**os.environ, "GPU_TRACKER_JOB": "below-2"})
    return folder


OVER_TIME = [["report", "--heat", "ram"], ["report", "--heat", "cpu_utilization"], ["profile", "utilization"],
             ["profile", "utilization", "--metric", "ram"], ["profile", "stragglers"]]


def test_processes_tell_their_ranks(server, ranks_below, gpu_tracker, push):
    push(ranks_below, server.url)
    assert server.ask("SELECT groupUniqArray(rank) FROM process_samples WHERE job = 'below-2' AND source IN (SELECT source FROM trackers"
                      " WHERE job = 'below-2' AND rank = -1) AND isNotNull(rank)").count(",") == 3
    for words in OVER_TIME:
        of_folder = report_of(gpu_tracker, words, str(ranks_below))
        assert report_of(gpu_tracker, words, f"{server.url}/below-2").replace(f"{server.url}/below-2", str(ranks_below)) == of_folder, words
    heat = json.loads(report_of(gpu_tracker, ["report", "--heat", "ram"], f"{server.url}/below-2"))["heat"]
    assert {row["rank"] for row in heat} == {0, 1, 2, 3, None}


def test_tables_of_a_version_without_ranks_of_processes(server, ranks_below, gpu_tracker, push):
    """They gain the column where the user may; where not, rows go without it, and a tracker stands for its ranks."""
    for name, user in (("mayalter", ""), ("maynot", "sender@")):
        server.ask(f"CREATE DATABASE {name}")
        url = f"clickhouse://127.0.0.1:{server.port}/{name}"
        subprocess.run([gpu_tracker, "push", "--init", url], check=True, capture_output=True)
        server.ask(f"ALTER TABLE {name}.process_samples DROP COLUMN rank")
        said = push(ranks_below, f"clickhouse://{user}127.0.0.1:{server.port}/{name}")
        heat = json.loads(report_of(gpu_tracker, ["report", "--heat", "ram"], f"{url}/below-2"))["heat"]
        assert ("process_samples.rank" in said) == bool(user), said
        assert server.number(f"SELECT count() FROM {name}.process_samples") == sum(rows_of(path, "process_data")
                                                                                  for path in sorted(ranks_below.glob("*.sqlite"))[:2])
        assert {row["rank"] for row in heat} == ({None} if user else {0, 1, 2, 3, None})


def test_calls_of_all_ranks_are_asked_for_at_once(server, gpu_tracker, push, tmp_path):
    """A question that is too large for one answer is divided; a rank without calls is not asked for."""
    job = JobFolder(gpu_tracker, tmp_path / "calls", 12, seconds=10, per_node=3)
    for rank in range(11):
        job.blocks(rank, [0.01 * (rank + 1)] * 9)
    push(job.folder, f"{server.url}/calls")
    columns = "job, source, day, number, name, pid, thread, call, start, stop, self, cpu_time"
    for words in (["sub-track", "analyze", "--calls", "--tf"], ["profile", "stragglers"]):
        line = [gpu_tracker, *words, f"{server.url}/calls"]
        questions = subprocess.run([*line, "--explain"], capture_output=True, text=True, check=True).stdout
        assert questions.count(" FROM calls ") == 2
        assert report_of(gpu_tracker, words, f"{server.url}/calls").replace(f"{server.url}/calls", str(job.folder)).replace(
            '"calls"', '"c:42.0"') == report_of(gpu_tracker, words, str(job.folder)).replace('"calls"', '"c:42.0"')
    server.ask(f"INSERT INTO calls SELECT {columns.replace('number', 'number + 10 + n AS number')} FROM (SELECT * FROM calls WHERE job ="
               " 'calls' AND source IN (3, 7) AND number = 0) CROSS JOIN (SELECT number AS n FROM system.numbers LIMIT 100000)")
    questions = subprocess.run([*line, "--explain"], capture_output=True, text=True, check=True).stdout
    assert questions.count(" FROM calls ") == 3
    blocks = json.loads(report_of(gpu_tracker, ["sub-track", "analyze", "--tf"], f"{server.url}/calls"))["ranks"]
    assert [row["num_calls"] for row in blocks] == [100009 if row["rank"] in (3, 7) else 9 for row in blocks] and len(blocks) == 11


def test_lost_samples_are_told_as_of_the_folder(server, gpu_tracker, push, tmp_path):
    job = JobFolder(gpu_tracker, tmp_path / "lossy", 2)
    job.run(1, "DELETE FROM data WHERE rowid > 20")
    job.run(1, "UPDATE outcome SET value = 40 WHERE key = 'dropped'")
    push(job.folder, f"{server.url}/c:42.0")
    for words in (["report"], ["profile", "utilization"]):
        report = report_of(gpu_tracker, words, f"{server.url}/c:42.0")
        assert json.loads(report)["job"]["dropped"] == 40 and report == report_of(gpu_tracker, words, str(job.folder))
    assert server.ask("SELECT countIf(heard >= ended), count() FROM trackers WHERE job = 'c:42.0' AND complete = 1") == "2\t2\n"


@pytest.mark.parametrize("kind", ["slurm", "k8s"])
def test_a_request_is_that_of_the_folder(server, job, gpu_tracker, kind):
    def ask(name):
        done = subprocess.run([gpu_tracker, "report", name, "--request", kind], capture_output=True, text=True, timeout=100, check=False)
        return done.returncode, done.stdout, done.stderr.replace(name, "NAME")

    of_folder = ask(str(job))
    assert of_folder[0] == 0 and "mem" in of_folder[1]
    assert ask(f"{server.url}/77") == of_folder


def test_a_rank_without_samples_counts(server, gpu_tracker, tmp_path, push):
    subprocess.run([gpu_tracker, "run", "--no-history", "-q", "--tf", "short/a.sqlite", "--", "true"], cwd=tmp_path, check=True,
                   env={**os.environ, "GPU_TRACKER_JOB": "short"}, capture_output=True)
    with sqlite3.connect(tmp_path / "short" / "a.sqlite") as database:  # as where the command ended before the first
        database.executescript("UPDATE outcome SET value = 0 WHERE key = 'samples'; DELETE FROM data")
    push(tmp_path / "short" / "a.sqlite", server.url)
    assert server.ask("SELECT max(samples), max(complete) FROM trackers WHERE job = 'short'") == "0\t1\n"
    assert report_of(gpu_tracker, ["report"], f"{server.url}/short") == report_of(gpu_tracker, ["report"], str(tmp_path / "short"))


def report_of(gpu_tracker, words, name):
    done = subprocess.run([gpu_tracker, *words, name, "-f", "json"], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("how", ["behead", "halve"])
def test_half_an_answer_is_none(server, job, gpu_tracker, how):
    """A report that could be made of less than all is none."""
    assert job
    for words in (["report"], ["sub-track", "analyze", "--tf"]):
        with BadNetwork(server.port, lambda number, body: "pass") as network:
            whole = report_of(gpu_tracker, words, f"{network.url}/77")
            count = network.requests
        failed = 0
        for bad in range(count):
            with BadNetwork(server.port, lambda number, body, bad=bad: how if number == bad else "pass") as network:
                done = subprocess.run([gpu_tracker, *words, f"{network.url}/77", "-f", "json"], capture_output=True, text=True,
                                      timeout=100, check=False)
            failed += done.returncode != 0
            assert ("its answer ended early" in done.stderr) if done.returncode else done.stdout == whole, (words, bad, done.stderr)
        assert failed >= count - 1  # which columns there are may be unknown


HEAT = ["report", "--heat", "ram"]


@pytest.mark.parametrize("dead", [[2], []])
def test_minutes_answer_for_hours(server, real, gpu_tracker, push, tmp_path, dead):
    """For trackers that ended, also when samples are gone; samples do for one that was killed."""
    url, folder, day = f"{server.url}/{78 + len(dead)}", tmp_path / "hours", 19000 + len(dead)
    push(*make_job(real, folder, ranks=3, rows=400, job=f"alps:{78 + len(dead)}.0", period=10, ranks_per_node=2, dead=dead,
                   start=86400.0 * day + 1000), server.url)
    questions = subprocess.run([gpu_tracker, *HEAT, "--explain", url], capture_output=True, text=True, check=True).stdout
    assert "FROM minutes" in questions and ("FROM samples" in questions) == bool(dead)
    if not dead:
        server.ask(f"ALTER TABLE samples DROP PARTITION '{server.ask(f'SELECT toDate({day})').strip()}'")
    for words in (["report"], HEAT, ["report", "--heat", "cpu_utilization"], ["profile", "utilization"], ["profile", "health"]):
        assert report_of(gpu_tracker, words, url) == report_of(gpu_tracker, words, str(folder)), words


def test_jobs_are_found_and_questions_shown(server, job, gpu_tracker):
    def ask(*words, expected=0):
        done = subprocess.run([gpu_tracker, *words], capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == expected, done.stderr
        return done.stdout, done.stderr

    listed = ask("report", server.url, "-f", "json")[0]
    mine = json.loads(listed)["jobs"]["alps:77.0"]
    assert (mine["trackers"], mine["ended"]) == (3, 2)
    whole = ask("report", f"{server.url}/alps:77.0")[0]
    assert whole == ask("report", f"{server.url}/alps:77")[0] == ask("report", f"{server.url}/77")[0]
    assert "unknown job" in ask("report", f"{server.url}/7", expected=125)[1]
    questions = ask("report", f"{server.url}/77", "--explain")[0]
    for question in filter(str.strip, questions.split(";\n")):
        assert question.startswith("SELECT")
        server.ask(question)
    assert "FROM samples" in questions
    assert "is not a job on a server" in ask("report", str(job), "--explain", expected=2)[1]


def test_a_run_is_sent_while_it_is_made(server, gpu_tracker, tmp_path):
    """Two ranks on a node, and the process that sends killed: the other rank's goes on, and all is there once."""
    spool = tmp_path / "spool"  # is made
    url = f"{server.url}/live?flush=0.2&wait=60&spool={spool}"
    line = [gpu_tracker, "run", "--no-history", "-q", "--sleep-time", "0.05", "--tf", url, "--", "sleep", "2"]
    ranks = [subprocess.Popen(line, cwd=tmp_path, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "SLURM_JOB_ID": "5", "SLURM_STEP_ID": "0", "SLURM_PROCID": str(rank)})
             for rank in range(2)]
    end = time.monotonic() + 60
    while not int(counts(server, "live")[0]) and time.monotonic() < end:
        time.sleep(0.05)
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
            holds = any(os.readlink(fd).endswith(".shipper") for fd in (process / "fd").iterdir())
        except OSError:
            continue
        if holds and b"--follow" in words and str(spool).encode() in words:
            os.kill(int(process.name), signal.SIGKILL)
            break
    for rank in ranks:
        assert rank.wait(100) == 0, rank.stderr.read()
        assert "not on the server" not in rank.stderr.read()
    assert server.ask("SELECT count(), sum(rows = next), sum(complete) FROM (SELECT source, count() AS rows, max(number) + 1 AS next"
                      " FROM samples WHERE job = 'live' GROUP BY source) ANY INNER JOIN"
                      " (SELECT source, max(complete) AS complete FROM trackers"
                      " WHERE job = 'live' GROUP BY source) USING source") == "2\t2\t2\n"
    assert not list(spool.glob("**/*.sqlite")) and not (tmp_path / "gpu-tracker-unsent").exists()


def test_a_job_never_waits_for_a_server_that_is_not_there(real, gpu_tracker, tmp_path, server, push):
    url = f"clickhouse://127.0.0.1:{free_port()}/default/away?wait=0.1&spool={tmp_path}"
    line = [gpu_tracker, "run", "--no-history", "-q", "--tf", url, "--", "sh", "-c", "sleep 0.3; exit 7"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 7
    assert "recordings wait in" in done.stderr
    saved = [word for word in done.stderr.split() if word.startswith("gpu-tracker-unsent/")]
    assert f"send it with: gpu-tracker push {saved[0]} '{url}'" in done.stderr
    push(tmp_path / saved[0], f"{server.url}/away")
    assert server.number("SELECT max(complete) FROM trackers WHERE job = 'away'") == 1
    refused = subprocess.run([*line[:5], f"{url}&flash=1", *line[6:]], cwd=tmp_path, capture_output=True, text=True, timeout=100,
                             check=False)
    assert refused.returncode == 2 and '"flash" is not an option' in refused.stderr


def test_a_spool_that_grows_is_bounded(gpu_tracker, tmp_path):
    """Samples are left out once there is no room for them, which is told; minutes and final figures are whole."""
    url = f"clickhouse://127.0.0.1:{free_port()}/default/full?flush=0.2&wait=0.1&spool-limit=0&spool={tmp_path}"
    said = tmp_path / "said"
    until_told = ("import sys, time\nend = time.monotonic() + 60\n"
                  "while 'its spool is full' not in open(sys.argv[1]).read() and time.monotonic() < end: time.sleep(0.02)")
    line = [gpu_tracker, "run", "--no-history", "--sleep-time", "0.05", "--tf", url, "--", sys.executable, "-c", until_told, said]
    with open(said, "w") as errors:
        done = subprocess.run(line, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=errors, timeout=100, check=False)
    assert done.returncode == 0 and said.read_text().count("its spool is full") == 1, said.read_text()
    [saved] = (tmp_path / "gpu-tracker-unsent").glob("*/*.sqlite")
    with sqlite3.connect(saved) as database:
        outcome = dict(database.execute("SELECT key, value FROM outcome"))
        weight = database.execute("SELECT sum(weight) FROM minutes WHERE statistic = 'mean'").fetchone()[0]
    assert outcome["dropped"] > 0 and rows_of(saved, "data") + outcome["dropped"] == outcome["samples"] == weight
    report = subprocess.run([gpu_tracker, "report", saved], capture_output=True, text=True, check=True).stdout
    assert "its spool full" in report


def test_a_run_names_its_job_on_the_server(server, gpu_tracker, tmp_path):
    line = [gpu_tracker, "run", "--no-history", "--tf", f"{server.url}?flush=0.2&wait=60&spool={tmp_path}", "--", "sleep", "0.1"]
    for name in ("named", ""):
        done = subprocess.run(line, capture_output=True, text=True, timeout=100, check=True, env={**os.environ, "GPU_TRACKER_JOB": name})
        job = re.search(r"all values: gpu-tracker report\s+(\S+)\s+-o", done.stderr)[1].strip("'")
        assert job.startswith(f"{server.url}/{name}"), done.stderr
        subprocess.run([gpu_tracker, "report", job], check=True, capture_output=True)


def test_a_server_that_refuses_is_not_waited_for(server, gpu_tracker, tmp_path):
    (tmp_path / "my netrc").write_text("machine 127.0.0.1 login tracker password wrong")
    (tmp_path / "my netrc").chmod(0o600)
    for user, database, words in (("", "nowhere", []), ("tracker@", "default", ["--netrc-file", "my netrc"])):
        url = f"clickhouse://{user}127.0.0.1:{server.port}/{database}/refused?wait=300&spool={tmp_path}"
        done = subprocess.run([gpu_tracker, "run", "--no-history", "-q", *words, "--tf", url, "--", "sh", "-c", "exit 7"], cwd=tmp_path,
                              capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 7
        option = "--netrc-file 'my netrc' " if words else ""
        assert f"send it with: gpu-tracker push {option}gpu-tracker-unsent/" in done.stderr, done.stderr


def test_certificates_are_checked(server, real, push, tmp_path):
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=here", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with BadNetwork(server.port, lambda number, body: "pass") as network:
        network.server.socket = context.wrap_socket(network.server.socket, server_side=True)
        url = f"clickhouses://127.0.0.1:{network.port}/default/tls"
        said = push(real, url, expected=125)
        assert "certificate" in said and "trying again" not in said
        push(real, f"{url}?ca={certificate}")
    assert server.number("SELECT max(complete) FROM trackers WHERE job = 'tls'") == 1
