"""Folders as SMDebug's writers lay them out, for tests."""
import json

MINUTE = 1_600_000_020  # seconds, a full one: in the name of the file of system metrics
BASE = (MINUTE + 10) * 10**6  # microseconds: where the timelines begin


def write_system(root, rows, minute=MINUTE, node="algo-1"):
    """Rows: (seconds after BASE, type, name, dimension, value)."""
    folder = root / "system/incremental/2020091312"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"Type": kind, "Name": name, "Dimension": dimension, "Value": value, "NodeId": node,
                         "Timestamp": BASE / 1e6 + seconds}) for seconds, kind, name, dimension, value in rows]
    path = folder / f"{minute}.{node}.json"
    path.write_text("".join(line + "\n" for line in lines))
    return path


def write_timeline(root, phases, node="algo-1", suffix="pythontimeline.json", end=BASE + 60 * 10**6, base=BASE, closed=True):
    """Phases: {process: [(name, start us, length us, args)]}."""
    events = [{"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros": base}}]
    for pid, (process, slices) in enumerate(phases.items()):
        events.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": process}})
        events += [{"name": name, "ph": "X", "pid": pid, "ts": start, "dur": length, "args": args}
                   for name, start, length, args in slices]
    folder = root / "framework/pevents/2020091312"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{end}_{node}_{suffix}"
    path.write_text("[\n" + ",\n".join(map(json.dumps, events)) + ("\n]" if closed else ",\n"))
    return path


def steps(mode, starts, length):
    """A phase of steps: {process: slices}."""
    name = f"Step:ModeKeys.{mode}"
    return {name: [(name, start, length, {"step_num": str(number)}) for number, start in enumerate(starts)]}


def write_job(root):
    """Two nodes; TRAIN 0..2, EVAL 0..2, TRAIN again as one more run on the same numbers is left out; samples each 100 ms."""
    for number, node in enumerate(("algo-1", "algo-2")):
        rows = []
        for i in range(11):
            rows += [(i / 10, "gpu", "gpu0", "GPUUtilization", 50 + 10 * number),
                     (i / 10, "gpu", "gpu1", "GPUUtilization", 95.0),
                     (i / 10, "gpu", "gpu0", "GPUMemoryUtilization", 10),
                     (i / 10, "cpu", "cpu0", "CPUUtilization", 5)]
        write_system(root, rows, node=node)
        write_timeline(root, {
            **steps("TRAIN", [100_000, 200_000, 300_000], 80_000 + number),
            **steps("EVAL", [500_000, 600_000, 700_000], 50_000),
            "DataIterator": [("get", 110_000 + 100_000 * i, 262, {"step_num": str(i), "bytes_fetched": 4096})
                             for i in range(3)],
            "DataLoaderWorker": [("DataLoaderWorker", 5_000, 2_000, {"worker_id": 1})],
        }, node=node)
    return root
