"""Perfetto's traces in protobuf: one that its own library wrote, and small ones in which each byte is ours."""
import json
import pathlib
import sqlite3
import struct
import subprocess

import pytest

FIXTURE = pathlib.Path(__file__).parent.parent / "fixture" / "traces" / "perfetto.pftrace"


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def packet(*fields):
    return field(1, b"".join(fields))


def event(kind, time, *fields):
    return packet(field(10, 5), field(8, time), field(11, field(9, kind) + field(11, 2) + b"".join(fields)))


THREAD = packet(field(60, field(1, 2) + field(4, field(1, 7) + field(2, 8) + field(5, "worker"))))


@pytest.fixture
def events(gpu_tracker, tmp_path):
    """events(bytes): rows of name, start, duration, arguments."""
    def run(content, columns="name, start_ns, duration_ns, args", view="events"):
        path, out = tmp_path / "t.pftrace", tmp_path / "t.sqlite"
        path.write_bytes(content)
        subprocess.run([gpu_tracker, "timeline", "export", "--overwrite", "-o", out, path], check=True, stdout=subprocess.DEVNULL)
        return sqlite3.connect(out).execute(f"SELECT {columns} FROM {view} ORDER BY 2, 1").fetchall()
    return run


def info(gpu_tracker, path):
    out = subprocess.run([gpu_tracker, "timeline", "info", "-f", "json", path], check=True, stdout=subprocess.PIPE).stdout
    [source] = json.loads(out)["sources"]
    return source


def test_what_perfettos_library_wrote(events):
    """Interned names, times that count on from each other in microseconds, tracks below a process."""
    base = 1_700_000_000_000_000_000
    rows = events(FIXTURE.read_bytes(), "name, start_ns, duration_ns, category, pid, process, tid, thread, phase, correlation, args")
    assert [(row[0], row[1] - base, row[2], row[3], row[8]) for row in rows] == [
        ("step", 12000, 18000, "user_annotation", "X"), ('aten::"mm"', 17000, 7000, "cpu_op", "X"), ("mark", 18000, None, None, "i"),
        ('aten::"mm"', 20000, 8000, None, "X"), ("step", 36000, 7000, None, "X"), ("last", 43000, None, None, "i")]
    assert {row[4:6] for row in rows} == {("42", "train")} and {row[6:8] for row in rows} == {("43", "main"), ("track 4", "stream 7")}
    assert rows[1][9] == 9 and json.loads(rows[2][10]) == {"why": 'a "quoted" word'}
    assert events(FIXTURE.read_bytes(), "name, time_ns, value", "counters") == [
        ("memory", base + 21000, 4096), ("memory", base + 31000, -1)]


def test_names_given_anew(events):
    def name(text, cleared=0):
        return packet(field(10, 5), field(13, cleared), field(12, field(2, field(1, 1) + field(2, text))))
    rows = events(THREAD + name("old", 1) + event(3, 10, field(10, 1)) + name("new", 1) + event(3, 20, field(10, 1))
                  + packet(field(10, 5), field(41, 1)) + event(3, 30, field(10, 1)))
    assert [row[0] for row in rows] == ["old", "new", ""]


def test_nesting_and_what_is_not_closed(events, gpu_tracker, tmp_path):
    rows = events(THREAD + event(1, 10, field(23, "out")) + event(1, 20, field(23, "in")) + event(2, 25) + event(1, 30, field(23, "left"))
                  + event(2, 40) + event(2, 50) + event(2, 60) + event(1, 70, field(23, "open")) + event(3, 90, field(23, "i")))
    assert [row[:3] for row in rows] == [("out", 10, 40), ("in", 20, 5), ("left", 30, 10), ("open", 70, 20), ("i", 90, None)]
    source = info(gpu_tracker, tmp_path / "t.pftrace")
    assert (source["unclosed"], source["unopened"]) == (1, 1)


def test_every_cut_is_told(gpu_tracker, tmp_path):
    whole, before = FIXTURE.read_bytes(), 0
    path = tmp_path / "cut.pftrace"
    for cut in range(60, len(whole)):
        path.write_bytes(whole[:cut])
        done = subprocess.run([gpu_tracker, "timeline", "info", "-f", "json", path], capture_output=True, check=False)
        if done.returncode:
            assert not before
            continue
        [source] = json.loads(done.stdout)["sources"]
        assert source["format"] == "perfetto" and before <= source["events"] <= 6
        before = source["events"]
    assert before >= 5


def test_a_trace_of_the_kernel_alone_is_not_empty(gpu_tracker, tmp_path):
    path = tmp_path / "ftrace.pftrace"
    path.write_bytes(packet(field(1, field(1, 3))) * 5)
    source = info(gpu_tracker, path)
    assert source["lost"] == 1 and "ftrace" in source["damage"]


def test_what_rocprofv3_writes(events, gpu_tracker, tmp_path):
    """Kernels and copies on tracks that are streams of GPUs, with the calls that launched them."""
    def track(uuid, name):
        return packet(field(60, field(1, uuid) + field(2, name)))

    def slice_of(uuid, category, name, start, end, **annotations):
        notes = b"".join(field(4, field(10, key) + field(3, value)) for key, value in annotations.items())
        begin = field(9, 1) + field(11, uuid) + field(22, category) + field(23, name) + notes
        return packet(field(10, 5), field(8, start), field(11, begin)) \
            + packet(field(10, 5), field(8, end), field(11, field(9, 2) + field(11, uuid)))

    content = b"".join([
        THREAD, track(5, "COMPUTE AGENT [1] STREAM [3] (GPU)"), track(6, "COPY to AGENT [1] STREAM [3] (GPU)"),
        track(7, "COPY to AGENT [0] STREAM [3] (CPU)"),
        slice_of(2, "hip_api", "hipLaunchKernel", 100, 200, corr_id=7), slice_of(2, "marker_api", "step 4", 50, 900, corr_id=6),
        slice_of(5, "kernel_dispatch", "gemm(float*)", 300, 800, corr_id=7),
        slice_of(6, "memory_copy", "MEMORY_COPY_HOST_TO_DEVICE", 220, 280, corr_id=8, copy_bytes=4096),
        slice_of(7, "memory_copy", "MEMORY_COPY_DEVICE_TO_HOST", 810, 820, corr_id=9, copy_bytes=10),
        slice_of(2, "hip_api", "other", 201, 202)])
    assert events(content, "name, start_ns, category, pid, tid, correlation, bytes") == [
        ("step 4", 50, "user_annotation", "7", "8", 6, None), ("hipLaunchKernel", 100, "hip_runtime", "7", "8", 7, None),
        ("other", 201, "hip_api", "7", "8", None, None), ("Memcpy HtoD", 220, "gpu_memcpy", "agent 1", "3", 8, 4096),
        ("gemm(float*)", 300, "kernel", "agent 1", "3", 7, None), ("Memcpy DtoH", 810, "memory_copy", "0", "track 7", 9, 10)]
    out = subprocess.run([gpu_tracker, "profile", "launches", "-f", "json", tmp_path / "t.pftrace"], check=True,
                         stdout=subprocess.PIPE).stdout
    [row] = json.loads(out)["launches"]
    assert (row["device"], row["count"], row["mean_us"]) == ("agent 1", 1, 0.1)
