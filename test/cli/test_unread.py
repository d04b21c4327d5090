"""What is not read is named, with what to do, and never passes for an empty trace."""
import io
import json
import pathlib
import pickle
import shutil
import sqlite3
import struct
import subprocess
import tarfile

import pytest

FIXTURE = pathlib.Path(__file__).parent.parent / "fixture" / "traces"
FILES = {
    "perf.data": (b"PERFILE2" + bytes(100), "perf script -i FILE"),
    "run.nsys-rep": (b"\x00\x01binary", "nsys export --type sqlite"),
    "run.ncu-rep": (b"NVR\x00", "Nsight Compute"),
    "memray.bin": (b"memray\x00\x0b" + bytes(50), "memray transform csv"),
    "memray-job.py.7.bin": (b"\x04\x22\x4d\x18rest", "a recording of memray"),
    "memray.html": (b"<!DOCTYPE html><html><title>memray</title><svg></svg></html>", "memray transform csv"),
    "events.out.tfevents.17.host": (b"\x18\x00\x00\x00\x00\x00\x00\x00rest", "plugins/profile"),
    "job.0.et": (b"\x07\x0a\x050.0.4rest", "Chakra"),
    "run.pyisession": (b'{"session": {}, "frame_records": []}', "pyinstrument --load FILE -r json"),
    "little.json": ('{"traceEvents": []}'.encode("utf-16"), "iconv -f UTF-16"),
    "big.json": (b"\xfe\xff" + '{"traceEvents": []}'.encode("utf-16-be"), "iconv -f UTF-16"),
    "x.h5": (b"\x89HDF\r\n\x1a\nrest", "HDF5"),
    "x.parquet": (b"PAR1rest", "Parquet"),
    "cpu.prof": (struct.pack("<6Q", 0, 3, 0, 10000, 0, 1), "pprof --collapsed"),
    "flame.html": (b"<html><svg></svg></html>", "a page"),
    "other.pickle": (pickle.dumps({"a": [1, 2]}), "nothing of it is run"),
    "et.json": (json.dumps({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": []}).encode(), "without times"),
    "firefox.json": (json.dumps({"meta": {}, "threads": [{"stackTable": {}}]}).encode(), "profiler.firefox.com"),
    "flame.svg": (b"<?xml version='1.0'?><svg xmlns='x'></svg>", "a picture"),
    "x.lz4": (b"\x04\x22\x4d\x18rest", "lz4 -d"),
    "empty": (b"", "it is empty"),
}


def refusal(gpu_tracker, path, command):
    done = subprocess.run([gpu_tracker, *command, path], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1 and str(path) in done.stderr
    return done.stderr


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", [["timeline", "info"], ["profile", "functions"]])
def test_other_programs_files(gpu_tracker, tmp_path, name, command):
    content, words = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    assert words in refusal(gpu_tracker, path, command)


def test_archives_and_databases(gpu_tracker, tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("rank0.json"))
    path = tmp_path / "t.tar"
    path.write_bytes(out.getvalue())
    assert "unpack it" in refusal(gpu_tracker, path, ["timeline", "info"])
    database = tmp_path / "other.sqlite"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE other(a)")
    assert "neither a recording nor" in refusal(gpu_tracker, database, ["timeline", "info"])
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE rocpd_string_0001(id INTEGER)")
    assert "rocpd convert" in refusal(gpu_tracker, database, ["timeline", "info"])


def test_a_profile_that_xla_wrote_twice_counts_once(gpu_tracker, tmp_path):
    def sources(folder):
        out = subprocess.run([gpu_tracker, "timeline", "info", "-f", "json", folder], check=True, stdout=subprocess.PIPE).stdout
        return [(source["format"], source["events"]) for source in json.loads(out)["sources"]]
    for name in ("job/plugins/profile/2026", "smdebug/framework/tensorflow/detailed_profiling/1/plugins/profile/2026"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        for suffix in (".xplane.pb", ".trace.json.gz"):
            shutil.copy(FIXTURE / f"jax{suffix}", folder / f"host{suffix}")
    [(plane, events)] = sources(tmp_path / "job")
    assert (plane, sources(tmp_path / "smdebug")) == ("xplane", [("tensorflow", events)])
    (tmp_path / "job/plugins/profile/2026/host.xplane.pb").unlink()
    assert sources(tmp_path / "job") == [("tensorflow", events)]


def test_stacks_of_pythons_own_sampler(gpu_tracker, tmp_path):
    path = tmp_path / "tachyon.txt"
    path.write_text("tid:7;prog.py:<module>:9;prog.py:fib:3 12\ntid:7;prog.py:<module>:9 1\n")
    out = subprocess.run([gpu_tracker, "profile", "functions", "-f", "json", path], check=True, stdout=subprocess.PIPE).stdout
    assert {row["function"]: row["self"] for row in json.loads(out)["sampled"]} == {
        "prog.py:3(fib)": 12, "prog.py:9(<module>)": 1, "tid:7": 0}


def test_folders_without_traces(gpu_tracker, tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    for command in (["profile"], ["profile", "kernels"]):
        assert "there are no files in this folder" in refusal(gpu_tracker, tmp_path, command)
    (tmp_path / "a" / "b" / "notes.txt").write_text("hello")
    (tmp_path / "model.h5").write_bytes(b"\x89HDF\r\n\x1a\nrest")
    assert "none of the 2 files in this folder is a trace" in refusal(gpu_tracker, tmp_path, ["profile"])
