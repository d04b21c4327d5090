"""Files made to harm the reader: refused or bounded, in little memory and time."""
import gzip
import json
import os
import resource
import sqlite3
import struct
import subprocess

import pytest

MEMORY = 384 << 20  # of address space, libraries and stacks of threads included


@pytest.fixture
def info(gpu_tracker):
    """info(path): the completed process of timeline info, which may take little memory and 20 s of CPU time."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))

    def run(*paths, command="timeline", what="info"):
        return subprocess.run([gpu_tracker, command, what, "--format", "json", "--threads", "2", *map(str, paths)],
                              capture_output=True, text=True, timeout=120, check=False, preexec_fn=limit)
    return run


def report(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(done, *words):
    assert done.returncode > 0 and done.stdout == "", (done.returncode, done.stderr)
    assert len(done.stderr.splitlines()) == 1
    assert all(word in done.stderr for word in words), done.stderr


GOOD = b'{"ph":"X","name":"good","ts":1,"dur":1}'
DEEP = 1_000_000


@pytest.mark.parametrize("bad", [
    pytest.param(b'{"ph":"X","ts":1,"args":' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}", id="deep objects"),
    pytest.param(b'{"ph":"X","ts":1,"args":{"a":' + b"[" * DEEP + b"]" * DEEP + b"}}", id="deep arrays"),
    pytest.param(b'{"ph":"X","ts":' + b"9" * DEEP + b"}", id="a number of a million digits"),
    pytest.param(b'{"ph":"X","ts":1e999999999999999999999}', id="a huge exponent"),
    pytest.param(b'{"ph":"X","ts":9223372036854775,"dur":9223372036854775}', id="an end behind the end of time"),
])
def test_a_bad_event_is_left_out(info, tmp_path, bad):
    path = tmp_path / "trace.json"
    path.write_bytes(b"[" + GOOD + b"," + bad + b"," + GOOD + b"]")
    result = report(info(path))
    assert (result["events"], result["lost"]) == (2, 1)


def sparse(path, head, size, tail=b""):
    with open(path, "wb") as file:
        file.write(head)
        file.seek(size)
        file.write(tail)


def test_a_string_without_end_is_damage(info, tmp_path):
    path = tmp_path / "trace.json"
    with open(path, "wb") as file:
        file.write(b"[" + GOOD + b',{"ph":"X","ts":1,"name":"')
        for _ in range(150):
            file.write(b"a" * (1 << 20))
    result = report(info(path))
    assert result["events"] == 1 and result["lost"] >= 1 and result["sources"][0]["cut_off"]
    assert result["sources"][0]["lost_bytes"] > 150 << 20


def test_a_hole_is_damage(info, tmp_path):
    path = tmp_path / "trace.json"
    sparse(path, b"[" + GOOD + b",", 200 << 20, b"," + GOOD + b"]")
    result = report(info(path))
    assert result["events"] == 2 and result["sources"][0]["lost_bytes"] > 199 << 20


def test_bombs_are_refused(info, tmp_path):
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b"[" + GOOD + b"," + b" " * (8 << 20)) * 40)
    refused(info(path), "bomb.json.gz", "1000 times")


def test_a_dump_that_claims_more_than_it_has_is_cut_off(info, tmp_path):
    for name, kind in (("tuple", b"("), ("text", b"s"), ("list", b"["), ("long", b"l")):
        path = tmp_path / f"{name}.prof"
        path.write_bytes(b"{(\3\0\0\0s\1\0\0\0a" + b"i\1\0\0\0" + kind + struct.pack("<i", 10**9))
        result = report(info(path))
        assert result["sources"][0]["cut_off"] and result["sources"][0]["format"] == "pstats"


def nsight(path, *statements):
    with sqlite3.connect(path) as database:
        for statement in ("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)",
                          'CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, "end" INT, deviceId INT, streamId INT, '
                          "correlationId INT, demangledName INT)",
                          "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0, 7, 1, 1)", *statements):
            database.execute(statement)
    database.close()
    return path


def test_views_are_no_tables(info, tmp_path):
    endless = ('CREATE VIEW {} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) '
               'SELECT i AS start, i AS "end", i AS id, \'x\' AS value, i AS utcEpochNs, \'x\' AS text, 1 AS globalTid, '
               "1 AS process_id, 'x' AS code_block_name, 0 AS position, i AS timestamp FROM n")
    path = nsight(tmp_path / "view.sqlite", endless.format("NVTX_EVENTS"),
                  endless.format("TARGET_INFO_SESSION_START_TIME"))
    assert report(info(path))["events"] == 1
    path = tmp_path / "ours.sqlite"
    with sqlite3.connect(path) as database:
        for table in ("data", "static_data", "blocks"):
            database.execute(endless.format(table))
    database.close()
    refused(info(path), "ours.sqlite")


def test_huge_texts_of_databases_are_damage(info, tmp_path):
    path = nsight(tmp_path / "huge.sqlite", "INSERT INTO StringIds VALUES (1, zeroblob(30000000))")
    result = report(info(path))
    assert result["sources"][0]["cut_off"] and result["events"] == 0
    path = nsight(tmp_path / "made.sqlite", "CREATE TABLE NVTX_EVENTS (start INT, \"end\" INT, globalTid INT, textId INT, "
                  "text TEXT AS (hex(zeroblob(400000000))))",
                  "INSERT INTO NVTX_EVENTS (start, \"end\", globalTid) VALUES (1, 2, 3)")
    result = report(info(path))
    assert result["sources"][0]["cut_off"] and result["events"] == 1


def test_triggers_do_not_run_and_nothing_is_written(info, tmp_path):
    path = nsight(tmp_path / "trigger.sqlite", "CREATE TRIGGER t AFTER INSERT ON StringIds BEGIN "
                  "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL; END")
    before = path.read_bytes()
    assert report(info(path))["events"] == 1
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["trigger.sqlite"]


@pytest.mark.parametrize("make", [lambda: b",".join(b"column%d" % i for i in range(1_000_000)) + b"\n1\n",
                                  lambda: b"process_id,code_block_name,position,timestamp" + b",x" * 1_000_000 + b"\n" +
                                  b"1,a,0,1.5" + b",1" * 1_000_000 + b"\n"], ids=["unknown", "blocks"])
def test_a_million_columns(info, tmp_path, make):
    path = tmp_path / "wide.csv"
    path.write_bytes(make())
    done = info(path)
    if done.returncode:
        refused(done, "wide.csv")
    else:
        assert report(done)["events"] <= 1


def test_a_line_without_end(info, tmp_path):
    path = tmp_path / "long.csv"
    head = b"process_id,code_block_name,position,timestamp\n1,a,0,1.5\n1,a,1,2.5\n1,"
    with open(path, "wb") as file:
        file.write(head)
        for _ in range(50):
            file.write(b"a" * (1 << 20))
    refused(info(path), "long.csv, line 4")
    sparse(path, head, 100 << 20, b"a\n1,b,0,1\n")
    result = report(info(path))
    assert (result["events"], result["sources"][0]["lost"]) == (2, 2)


NAMES = ["../../../../etc/passwd", "/etc/passwd", "%s%n%s", "a\nb", "\u202e", "x" * 4000, "", "\x1b[31m", "</script>"]


def test_names_are_only_names(gpu_tracker, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([{"ph": "M", "name": "process_name", "pid": name, "args": {"name": name}}
                                for name in NAMES] +
                               [{"ph": "X", "name": name, "pid": name, "tid": name, "cat": name, "ts": i, "dur": 1}
                                for i, name in enumerate(NAMES)]))
    out = tmp_path / "merged.json"
    subprocess.run([gpu_tracker, "timeline", "merge", "-o", out, path], check=True, capture_output=True)
    assert sorted(os.listdir(tmp_path)) == ["merged.json", "trace.json"]
    merged = [event["name"] for event in json.loads(out.read_text()) if event["ph"] == "X"]
    assert merged == NAMES


def test_folders_are_walked_once(info, tmp_path):
    folder = tmp_path / "train-0-stepstart-99999999999999999999_eval-*-end-1e999"
    folder.mkdir()
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.json")
    (folder / "python_stats").write_bytes(b"{0")
    (tmp_path / "99999999999999999999999_x_pythontimeline.json").write_bytes(b"[" + GOOD + b"]")
    result = report(info(tmp_path))
    assert result["events"] == 1 and result["profiles"] == 1
