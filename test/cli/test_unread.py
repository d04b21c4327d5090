"""What is not read is named, with what to do, and never passes for an empty trace."""
import gzip
import io
import json
import pathlib
import pickle
import shutil
import sqlite3
import subprocess
import tarfile

import pytest

FIXTURE = pathlib.Path(__file__).parent.parent / "fixture" / "traces"
PPROF = b"\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04\x12\x04\x0a\x00\x12\x00"
FILES = {
    "perf.data": (b"PERFILE2" + bytes(100), "perf script -i FILE"),
    "run.nsys-rep": (b"\x00\x01binary", "nsys export --type sqlite"),
    "run.ncu-rep": (b"NVR\x00", "Nsight Compute"),
    "memray.bin": (b"memray\x00\x0b" + bytes(50), "memray transform speedscope"),
    "memray-job.py.7.bin": (b"\x04\x22\x4d\x18rest", "memray transform speedscope"),
    "job.0.et": (b"\x07\x0a\x050.0.4rest", "export_chrome_trace"),
    "et.json": (json.dumps({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": []}).encode(), "export_chrome_trace"),
    "heap.pb.gz": (gzip.compress(PPROF), "speedscope.app"),
    "memory.prof": (gzip.compress(PPROF), "a profile of pprof: open it in speedscope.app"),
    "host.xplane.pb": (3 * b"\x0a\x02\x08\x01", "HOST.trace.json.gz"),
    "1_results.json": (json.dumps({"rocprofiler-sdk-tool": [{"metadata": {"pid": 1}}]}).encode(), "rocprofv3 --output-format pftrace"),
    "events.out.tfevents.17.host": (b"\x18\x00\x00\x00\x00\x00\x00\x00rest", "plugins/profile"),
    "flame.html": (b"<html><svg></svg></html>", "a page"),
    "other.pickle": (pickle.dumps({"a": [1, 2]}), "nothing of it is run"),
    "empty": (b"", "it is empty"),
    "kernel_trace.csv": (b'"Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
                         b'"KERNEL_DISPATCH",1,1,1,"k",1,1,2\n', "rocprofv3 --output-format pftrace"),
    "hip_api_trace.csv": (b'"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
                          b'"HIP","hipMalloc",1,1,1,1,2\n', "rocprofv3 --output-format pftrace"),
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


def test_planes_beside_a_trace_of_jax_are_ignored(gpu_tracker, tmp_path):
    folder = tmp_path / "plugins/profile/2026"
    folder.mkdir(parents=True)
    shutil.copy(FIXTURE / "jax.trace.json.gz", folder / "host.trace.json.gz")
    (folder / "host.xplane.pb").write_bytes(3 * b"\x0a\x02\x08\x01")
    out = subprocess.run([gpu_tracker, "timeline", "info", "-f", "json", tmp_path], check=True, stdout=subprocess.PIPE).stdout
    assert [source["format"] for source in json.loads(out)["sources"]] == ["tensorflow"]


def test_stacks_of_pythons_own_sampler(gpu_tracker, tmp_path):
    path = tmp_path / "tachyon.txt"
    path.write_text("tid:7;prog.py:<module>:9;prog.py:fib:3 12\ntid:7;prog.py:<module>:9 1\n")
    out = subprocess.run([gpu_tracker, "profile", "functions", "-f", "json", path], check=True, stdout=subprocess.PIPE).stdout
    assert {row["function"]: row["self"] for row in json.loads(out)["sampled"]} == {
        "prog.py:3(fib)": 12, "prog.py:9(<module>)": 1, "tid:7": 0}


def test_folders_without_traces(gpu_tracker, tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    for command in (["profile"], ["profile", "kernels"]):
        assert "the folder is empty" in refusal(gpu_tracker, tmp_path, command)
    (tmp_path / "a" / "b" / "notes.txt").write_text("hello")
    (tmp_path / "model.h5").write_bytes(b"\x89HDF\r\n\x1a\nrest")
    assert "none of the 2 files in this folder is a trace" in refusal(gpu_tracker, tmp_path, ["profile"])
