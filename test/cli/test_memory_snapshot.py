"""PyTorch's memory snapshots: pickles in the layout of torch.cuda.memory._snapshot()."""
import itertools
import json
import pickle
import random
import resource
import struct
import subprocess

import pytest

MODEL = [{"filename": "/site-packages/torch/nn/linear.py", "line": 9, "name": "forward"},
         {"filename": "/job/model.py", "line": 40, "name": "block"}, {"filename": "/job/train.py", "line": 7, "name": "main"}]
LOADER = [{"filename": "/job/data.py", "line": 3, "name": "batch"}, {"filename": "/job/train.py", "line": 7, "name": "main"}]
MB = 1 << 20


def entry(action, addr, size, time, frames=(), **more):
    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": 1_700_000_000_000_000 + time,
            "frames": list(frames), **more}


def snapshot(trace, blocks, total):
    return {"segments": [{"device": 0, "address": 0, "total_size": total, "stream": 0, "segment_type": "large",
                          "allocated_size": sum(b["size"] for b in blocks if b["state"] == "active_allocated"),
                          "active_size": 0, "blocks": blocks}],
            "device_traces": [trace], "allocator_settings": {}, "external_annotations": []}


SMALL = snapshot(
    [entry("segment_alloc", 0, 20 * MB, 0), entry("alloc", 10 * MB, 4 * MB, 10, MODEL), entry("alloc", 14 * MB, 3 * MB, 20, LOADER),
     entry("free_requested", 0, 5 * MB, 30), entry("free_completed", 0, 5 * MB, 31), entry("alloc", 0, MB, 40, MODEL),
     entry("free_requested", 10 * MB, 4 * MB, 50), entry("oom", 0, 99 * MB, 60, LOADER, device_free=1), entry("snapshot", 0, 0, 70)],
    [{"size": MB, "state": "active_allocated", "frames": MODEL}, {"size": 13 * MB, "state": "inactive", "frames": []},
     {"size": 3 * MB, "state": "active_allocated", "frames": LOADER}, {"size": MB, "state": "active_awaiting_free", "frames": []},
     {"size": 2 * MB, "state": "active_allocated", "frames": LOADER}], 20 * MB)


@pytest.fixture
def report(gpu_tracker, tmp_path):
    def run(content, command=("profile", "allocations", "--all"), protocol=4):
        path = tmp_path / "snapshot.pickle"
        path.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content, protocol))
        out = subprocess.run([gpu_tracker, *command, "-f", "json", path], check=True, stdout=subprocess.PIPE).stdout
        return json.loads(out)
    return run


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_the_peak_and_who_holds_it(report, protocol):
    """5 MB were there before, and so were 2 MB that are never freed."""
    found = report(SMALL, protocol=protocol)
    [device] = found["devices"]
    assert device["peak_allocated_bytes"] == (5 + 2 + 4 + 3) * MB and device["peak_at_us"] == 20
    assert (device["allocated_bytes"], device["reserved_bytes"], device["free_in_segments_bytes"]) == (6 * MB, 20 * MB, 13 * MB)
    assert device["fragmented_percent"] == pytest.approx(65) and device["largest_free_block_bytes"] == 13 * MB
    assert [(row["allocated_bytes"] // MB, row["function"]) for row in found["peak"]] == [
        (5, "[allocated before the recording]"), (5, "batch (data.py:3)"), (4, "block (model.py:40)")]
    assert found["stacks"][2]["stack"] == "forward (linear.py:9) < block (model.py:40) < main (train.py:7)"


def test_allocations_are_events(gpu_tracker, tmp_path):
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps(SMALL))
    merged = tmp_path / "merged.json"
    subprocess.run([gpu_tracker, "timeline", "merge", "-o", merged, path], check=True, stdout=subprocess.DEVNULL)
    events = json.loads(merged.read_text())
    slices = {(event["name"], event["ts"] % 100, event["dur"]) for event in events if event["ph"] == "X"}
    assert ("block (/job/model.py:40)", 10, 40) in slices and ("batch (/job/data.py:3)", 20, 50) in slices
    assert ("allocation", 0, 30) in slices
    assert [event["name"] for event in events if event.get("cat") == "out of memory"] == ["batch (/job/data.py:3)"]
    assert any(event["ph"] == "C" and "allocated_bytes" in event["name"] for event in events)


def test_against_a_plain_reckoning(report):
    """Ten thousand random allocations, of which the oldest were forgotten by the recording."""
    chance = random.Random(3)
    live, trace, level, levels, addresses = {}, [], 0, [], itertools.count(1)
    for time in range(10_000):
        if live and chance.random() < 0.49:
            address = chance.choice(list(live))
            size, _ = live.pop(address)
            level -= size
            trace.append(entry("free_requested", address, size, time))
        else:
            address, size, frames = next(addresses) << 30, chance.randrange(1, 1 << 20), chance.choice([MODEL, LOADER])
            live[address] = (size, frames)
            level += size
            trace.append(entry("alloc", address, size, time, frames))
        levels.append(level)
    kept = 4000
    content = snapshot(trace[-kept:], [], 0)
    content["segments"] = [{"device": 0, "address": address, "total_size": size, "stream": 0, "blocks": [
        {"address": address, "size": size, "state": "active_allocated", "frames": frames}]} for address, (size, frames) in live.items()]
    found = report(content)
    [device] = found["devices"]
    assert device["peak_allocated_bytes"] == max(levels[-kept:])
    assert sum(row["allocated_bytes"] for row in found["peak"]) == max(levels[-kept:])
    assert device["allocated_bytes"] == level


def test_nothing_in_a_pickle_is_run(report, tmp_path):
    class Evil:
        def __reduce__(self):
            return open, (str(tmp_path / "made"), "w")
    found = report({**SMALL, "evil": Evil()}, ("timeline", "info"))
    assert found["sources"][0]["cut_off"] == "yes" and not (tmp_path / "made").exists()


def text(value):
    return b"\x8c" + bytes([len(value)]) + value.encode()


def plain(value):
    """A pickle's part without memos."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, int):
        return b"\x8a\x08" + struct.pack("<q", value)
    if isinstance(value, dict):
        return b"}(" + b"".join(plain(part) for pair in value.items() for part in pair) + b"u"
    return b"](" + b"".join(map(plain, value)) + b"e"


def kept(number):
    """The number-th value that MEMOIZE (b"\\x94") kept."""
    return b"j" + struct.pack("<I", number)


BEGIN = b"\x80\x04" + text("segments") + b"0" + text("device_traces") + b"0"


def endless_stack(count):
    """Few bytes, in which each of many entries has a stack of as many frames."""
    frame = plain({"filename": "/x/torch/a.py", "line": 1, "name": "f"}) + b"\x940](" + kept(0) * count + b"e\x940"
    entries = b"".join(plain(each) + b"(" + text("frames") + kept(1) + b"u\x940"
                       for each in (entry("alloc", 1, 5, 1), entry("free_requested", 1, 5, 2)))
    return BEGIN + frame + entries + b"}(" + text("segments") + b"]" + text("device_traces") + b"](](" \
        + (kept(2) + kept(3)) * count + b"eeu."


def endless_blocks(count):
    """The same for segments and their blocks."""
    block = plain({"size": 1, "state": "active_allocated", "frames": []}) + b"\x940"
    segment = plain({"device": 0, "address": 0, "total_size": 9}) + text("blocks") + b"](" + kept(0) * count + b"es\x940"
    return BEGIN + block + segment + b"}(" + text("device_traces") + b"]" + text("segments") + b"](" + kept(1) * count + b"eu."


@pytest.mark.parametrize("bomb, events", [(endless_stack, 100_000), (endless_blocks, 0)])
def test_what_refers_to_itself_costs_what_it_holds(gpu_tracker, tmp_path, bomb, events):
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(bomb(100_000))

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (10, 10))

    out = subprocess.run([gpu_tracker, "timeline", "info", "-f", "json", path], check=True, stdout=subprocess.PIPE,
                         preexec_fn=limit).stdout
    [source] = json.loads(out)["sources"]
    assert source["events"] == events and (events or source["lost"] == 1)


def test_a_cut_pickle_is_told(report):
    whole = pickle.dumps(SMALL)
    for cut in range(400, len(whole), 97):
        found = report(whole[:cut], ("timeline", "info"))
        assert found["sources"][0]["format"] == "memory-snapshot" and found["sources"][0]["cut_off"] == "yes"


def test_the_peak_as_a_flame_graph(gpu_tracker, tmp_path):
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps(SMALL))
    lines = tmp_path / "peak.collapsed"
    subprocess.run([gpu_tracker, "timeline", "export", "-o", lines, path], check=True, stdout=subprocess.DEVNULL)
    stacks = dict(line.rsplit(" ", 1) for line in lines.read_text().splitlines())
    assert stacks["main (/job/train.py:7);batch (/job/data.py:3)"] == str(5 * MB)
