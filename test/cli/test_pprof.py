"""pprof's profiles: stacks of numbered locations, whose lines, functions and texts stand in tables."""
import gzip
import json
import pathlib
import subprocess

import pytest

from test_perfetto import field, varint

FIXTURE = pathlib.Path(__file__).parent.parent / "fixture" / "traces"
STRINGS = ["", "samples", "count", "cpu", "nanoseconds", "main.work", "/job/work.go", "main.main", "/job/main.go", "runtime.memmove"]


def packed(number, *values):
    return field(number, b"".join(varint(value) for value in values))


def profile(**changes):
    parts = {
        "sorts": field(1, field(1, 1) + field(2, 2)) + field(1, field(1, 3) + field(2, 4)),
        "samples": field(2, packed(1, 1, 2) + packed(2, 3, 30_000_000))  # memmove, inlined into work, called by main
        + field(2, field(1, 2) + field(2, 1) + field(2, 10_000_000))  # numbers one a field
        + field(2, packed(1, 3) + packed(2, 1, 10_000_000)),  # nothing is known of it but an address
        "mapping": field(3, field(1, 1)),
        "locations": field(4, field(1, 1) + field(3, 0x401000) + field(4, field(1, 9) + field(2, 70))
                           + field(4, field(1, 1) + field(2, 12)))
        + field(4, field(1, 2) + field(4, field(1, 2) + field(2, 33))) + field(4, field(1, 3) + field(3, 0x7F12)),
        "functions": field(5, field(1, 1) + field(2, 5) + field(4, 6) + field(5, 10))
        + field(5, field(1, 2) + field(2, 7) + field(4, 8) + field(5, 30))
        + field(5, field(1, 9) + field(3, 9)),
        "strings": b"".join(field(6, text.encode()) for text in STRINGS),
        "rest": field(9, 1_700_000_000_000_000_000) + field(10, 2_000_000_000)
        + field(11, field(1, 3) + field(2, 4)) + field(12, 10_000_000)}
    return b"".join({**parts, **changes}.values())


@pytest.fixture
def functions(gpu_tracker, tmp_path):
    def run(data, table="functions", analysis="functions"):
        path = tmp_path / "profile.pb.gz"
        path.write_bytes(data)
        out = subprocess.run([gpu_tracker, "profile", analysis, "-f", "json", path], check=True, stdout=subprocess.PIPE).stdout
        return json.loads(out)[table]
    return run


TIMES = {"runtime.memmove": (0.03, 0.03), "/job/work.go:10(main.work)": (0, 0.03), "/job/main.go:30(main.main)": (0.01, 0.04),
         "0x7f12": (0.01, 0.01)}


@pytest.mark.parametrize("pack", [gzip.compress, bytes], ids=["gzip", "plain"])
def test_stacks_and_their_times(functions, pack):
    rows = functions(pack(profile()))
    assert {row["function"]: (row["tottime_seconds"], row["cumtime_seconds"]) for row in rows} == {
        name: pytest.approx(times) for name, times in TIMES.items()}


def test_the_default_sort_of_sample_wins(functions):
    rows = functions(profile(rest=field(14, 1)), "sampled")
    assert {row["function"]: (row["self"], row["unit"]) for row in rows}["runtime.memmove"] == (3, "samples")


def test_tables_may_stand_before_the_samples(functions):
    parts = profile(samples=b"")
    rows = functions(parts + profile(sorts=b"", mapping=b"", locations=b"", functions=b"", strings=b"", rest=b""))
    assert {row["function"]: row["tottime_seconds"] for row in rows} == {
        name: pytest.approx(own) for name, (own, _) in TIMES.items()}


def test_what_jax_holds_in_memory(gpu_tracker, functions):
    """Two arrays of 500 x 500 and 300 x 300 floats, saved by jax.profiler.save_device_memory_profile."""
    data = (FIXTURE / "jax.memory.prof").read_bytes()
    assert {row["unit"] for row in functions(data, "sampled")} == {"bytes"}
    assert sum(row["self"] for row in functions(data, "sampled")) == 4 * (500 * 500 + 300 * 300)
    [holder] = functions(data, "peak", "allocations")
    assert (holder["device"], holder["allocated_bytes"], holder["function"]) == ("space", 1_360_000, "make (<stdin>:2)")


def test_damage(gpu_tracker, tmp_path):
    path, whole = tmp_path / "p.pb", profile()
    for cut in range(len(whole) - 90, len(whole)):
        path.write_bytes(whole[:cut])
        done = subprocess.run([gpu_tracker, "timeline", "info", "-f", "json", path], capture_output=True, text=True, check=False)
        assert done.returncode in (0, 2) and (done.returncode == 2 or json.loads(done.stdout)["sources"][0]["format"] == "pprof")
    path.write_bytes(profile(samples=field(2, packed(1, 1)) + field(2, packed(1, 99) + packed(2, 1, 5))))
    out = subprocess.run([gpu_tracker, "timeline", "info", "-f", "json", path], check=True, stdout=subprocess.PIPE).stdout
    assert json.loads(out)["sources"][0]["lost"] == 1


def test_other_protocol_buffers_are_none(gpu_tracker, tmp_path):
    for name, data in (("a.pb", field(1, 5) + field(6, b"")), ("b.pb", field(1, b"text") + field(6, b"")), ("c.pb", field(200, 1))):
        path = tmp_path / name
        path.write_bytes(data)
        done = subprocess.run([gpu_tracker, "timeline", "info", path], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "known format" in done.stderr
