"""A sub-tracking file that several processes write, and that others read meanwhile."""
import csv
import os
import signal
import sqlite3
import subprocess
import sys
import time

import duckdb
import pandas
import polars
import pytest
from gpu_tracker import SubTracker, SubTrackingAnalyzer

PAIRS = 400

SHARE = """
import multiprocessing, os, sys
from gpu_tracker import SubTracker

file, method, who, first, overwrite = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4] == "True", sys.argv[5] == "True"

def make():
    return SubTracker("block", sub_tracking_file=file, overwrite=overwrite)

def work(_):
    with make() if who == "own" else block:
        pass

if __name__ == "__main__":
    if who == "inherited" or first:
        block = make()
    if first:
        with block:
            pass
    if method == "os.fork":
        for _ in range(4):
            if os.fork() == 0:
                for i in range(100):
                    work(i)
                os._exit(0)
        assert [os.wait()[1] for _ in range(4)] == [0, 0, 0, 0]
    else:
        with multiprocessing.get_context(method).Pool(4) as pool:
            pool.map(work, range(400), chunksize=5)
    if not first:
        with make():
            pass
"""

# An object can be inherited by fork alone.
WAYS = [(method, who, first) for method in ("fork", "os.fork", "spawn", "forkserver") for who in ("inherited", "own")
        for first in (True, False) if who == "own" or "fork" in method.split(".")]
# Each way with each file and each beginning; make test-long combines these with each other, too.
FILES = [("csv", False), ("sqlite", True), ("csv", True), ("sqlite", False)]
CASES = [pytest.param(*way, suffix, overwrite, marks=[pytest.mark.long] * (nth // 2 != number % 2))
         for number, way in enumerate(WAYS) for nth, (suffix, overwrite) in enumerate(FILES)]


def assert_all_pairs(file, pairs):
    if str(file).endswith(".csv"):
        rows = pandas.read_csv(file)  # as the original reads it
    else:
        with sqlite3.connect(file) as database:
            rows = pandas.read_sql("SELECT * FROM blocks", database)
    assert len(rows) == 2 * pairs
    assert set(rows.groupby(["process_id", "call"]).position.agg(tuple)) == {(0, 1)}
    found = SubTrackingAnalyzer(None, str(file)).load_timestamp_pairs("block")
    assert len(found) == pairs and all(start <= stop for start, stop in found)


@pytest.mark.parametrize("method, who, first, suffix, overwrite", CASES)
def test_all_pairs(python, tmp_path, method, who, first, suffix, overwrite):
    file = tmp_path / f"blocks.{suffix}"
    if overwrite:
        file.write_text("of an earlier run")
    python(SHARE, file.name, method, who, str(first), str(overwrite))
    assert_all_pairs(file, PAIRS + 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == [file.name, "script.py"]


def test_an_object_made_when_the_module_is_imported(python, tmp_path):
    """Each process of the start method "spawn" imports the program again, and with it makes the object again."""
    python("""
        import multiprocessing
        from gpu_tracker import SubTracker
        block = SubTracker("block", sub_tracking_file="blocks.csv", overwrite=True)
        def work(_):
            with block:
                pass
        if __name__ == "__main__":
            with block, multiprocessing.get_context("spawn").Pool(2) as pool:
                pool.map(work, range(20))
    """)
    assert_all_pairs(tmp_path / "blocks.csv", 21)


def test_processes_one_after_another(python, tmp_path):
    python("""
        import multiprocessing
        def work():
            from gpu_tracker import SubTracker
            with SubTracker("block", sub_tracking_file="blocks.csv", overwrite=True):
                pass
        if __name__ == "__main__":
            for method in "spawn", "forkserver", "fork":
                process = multiprocessing.get_context(method).Process(target=work)
                process.start()
                process.join()
                assert process.exitcode == 0
    """)
    assert_all_pairs(tmp_path / "blocks.csv", 3)


def test_a_decorated_function_in_a_pool(python, tmp_path):
    python("""
        import concurrent.futures, multiprocessing
        from gpu_tracker import sub_track
        @sub_track("block", sub_tracking_file="blocks.sqlite", overwrite=True)
        def work(number):
            return number
        if __name__ == "__main__":
            work(1)
            for method in "fork", "spawn":
                context = multiprocessing.get_context(method)
                with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
                    assert list(executor.map(work, range(30))) == list(range(30))
    """)
    assert_all_pairs(tmp_path / "blocks.sqlite", 61)


def test_the_next_run_is_another(python, tmp_path):
    code = """
        import sys
        from gpu_tracker import SubTracker
        with SubTracker("block", sub_tracking_file="blocks.csv", overwrite=sys.argv[1] == "overwrite"):
            pass
    """
    python(code, "keep")
    done = python(code, "keep", check=False)
    assert done.returncode == 1 and "FileExistsError" in done.stderr and "blocks.csv" in done.stderr
    python(code, "overwrite")
    assert_all_pairs(tmp_path / "blocks.csv", 1)


@pytest.mark.parametrize("away", [os.unlink, lambda path: os.rename(path, "elsewhere")])
@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_a_file_that_was_removed(suffix, away):
    file = f"blocks.{suffix}"
    block = SubTracker("block", sub_tracking_file=file)
    with block:
        pass
    time.sleep(0.001)
    away(file)
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match=f"{file} was removed in the middle of writing data to it"):
            block.__enter__()
    with pytest.raises(RuntimeError, match="has not been entered"):
        block.__exit__()


def test_a_file_that_was_removed_within_a_block():
    with pytest.raises(FileNotFoundError, match="blocks.csv was removed"):
        with SubTracker("block", sub_tracking_file="blocks.csv"):
            time.sleep(0.001)
            os.unlink("blocks.csv")


def test_the_default_file_was_removed(python):
    code = """
        import os, time
        from gpu_tracker import SubTracker
        with SubTracker("block") as block:
            pass
        time.sleep(0.001)
        os.unlink(block.sub_tracking_file)
        for _ in range(2):
            with SubTracker("block"):
                pass
    """
    done = python(code, check=False)
    assert done.returncode == 1 and "FileNotFoundError" in done.stderr and ".csv was removed in" in done.stderr
    os.mkdir("run.csv.blocks")  # as `gpu-tracker run --blocks` makes it, and takes it away at the end
    python(code, env={**os.environ, "GPU_TRACKER_BLOCKS": os.path.abspath("run.csv.blocks")})


def test_leaving_the_blocks_of_a_parent_makes_no_file(python, tmp_path):
    python("""
        import os
        from gpu_tracker import SubTracker
        with SubTracker("block"), SubTracker("block", sub_tracking_file="blocks.csv"):
            child = os.fork()
        if child:
            assert os.waitpid(child, 0)[1] == 0
    """)
    names = sorted(path.name for path in tmp_path.glob("*.csv"))
    assert len(names) == 2 and "blocks.csv" in names
    assert_all_pairs(tmp_path / "blocks.csv", 1)


# ---- read while it is written ----

def with_csv(path):
    with open(path, newline="") as file:
        return [row["code_block_name"] for row in csv.DictReader(file, strict=True)]


def with_pandas(path):
    rows = pandas.read_csv(path)
    assert not rows.drop(columns="total").isna().any().any() and rows.cpu_time.dtype == float
    return list(rows.code_block_name)


def with_polars(path):
    rows = polars.read_csv(path)
    assert rows["cpu_time"].dtype == polars.Float64 and not any(rows.drop("total").null_count().row(0))
    return list(rows["code_block_name"])


def with_duckdb(path):
    return [name for name, _ in duckdb.sql(f"SELECT code_block_name, sum(cpu_time) OVER () FROM '{path}'").fetchall()]


READERS = [with_csv, with_pandas, with_polars, with_duckdb]

MARK = """
import multiprocessing, sys, time
from gpu_tracker import SubTracker

def work(_):
    if sys.argv[1] == "named":
        blocks = [SubTracker(name, sub_tracking_file="blocks.csv") for name in NAMES]
    else:
        blocks = [SubTracker(name) for name in NAMES]
    for i in range(20000):
        with blocks[i % len(blocks)]:
            pass
        if i % 2 == 0:
            print("marked", flush=True)
    time.sleep(60)

NAMES = ["a", "folder/script.py:12", "b" * 100, 'say "x", twice', "line\\nbreak"]
if __name__ == "__main__":
    if sys.argv[1] == "named":
        for _ in range(2):
            multiprocessing.get_context("fork").Process(target=work, args=(0,), daemon=True).start()
    work(0)
"""


@pytest.fixture(params=["own", "named"])
def marking(request, tmp_path):
    """A program that marks: its process, and its file."""
    script = tmp_path / "mark.py"
    script.write_text(MARK)
    process = subprocess.Popen([sys.executable, script, request.param], cwd=tmp_path, stdout=subprocess.PIPE,
                               start_new_session=True)
    process.stdout.readline()
    yield process, tmp_path / ("blocks.csv" if request.param == "named" else f"{process.pid}.csv")
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    process.stdout.close()


def test_every_reader_at_any_moment(marking):
    process, file = marking
    names = {"a", "folder/script.py:12", "b" * 100, 'say "x", twice', "line\nbreak"}
    before = 0
    for _ in range(10):
        for _line in range(20):
            process.stdout.readline()
        for reader in READERS:
            found = reader(file)
            assert set(found) <= names and len(found) >= before
            before = len(found)
    assert before > 100
    process.send_signal(signal.SIGSTOP)  # between two marks, or within one
    counts = {reader.__name__: len(reader(file)) for reader in READERS}
    process.send_signal(signal.SIGCONT)
    assert "named" in process.args or len(set(counts.values())) == 1, counts


def test_every_reader_after_kill_9(marking):
    process, file = marking
    for _ in range(100):
        process.stdout.readline()
    os.killpg(process.pid, signal.SIGKILL)
    marked = 1 + 100 + len(process.stdout.readlines())  # the block that is told of comes after one that is not
    process.wait()
    counts = {len(reader(file)) for reader in READERS}
    assert len(counts) == 1
    assert counts.pop() >= 2 * (2 * marked - 3)
    assert len(SubTrackingAnalyzer(None, str(file)).calls_table()["start"]) >= 2 * marked - 3


def test_a_recording_while_it_is_written(gpu_tracker, tmp_path):
    file = tmp_path / "run.csv"
    process = subprocess.Popen([gpu_tracker, "run", "--tf", file, "--st", "0.002", "--detail", "--disable-logs", "--",
                                "sleep", "600"], stdout=subprocess.DEVNULL, start_new_session=True)
    beside = tmp_path / "run.processes.csv"
    while not beside.exists():
        time.sleep(0.01)
    before = 0
    while before < 300:
        counts = [len(pandas.read_csv(file, skiprows=2)), len(polars.read_csv(file, skip_rows=2)),
                  duckdb.sql(f"SELECT count(timestamp) FROM read_csv('{file}', skip=2)").fetchall()[0][0]]
        assert before <= counts[0] <= counts[1] <= counts[2]
        before = counts[2]
        if before:
            assert {"timestamp", "pid"} <= set(polars.read_csv(beside).columns)
            assert duckdb.sql(f"SELECT count(pid) FROM '{beside}'").fetchall()[0][0] > 0
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    rows = pandas.read_csv(file, skiprows=2)
    assert len(rows) == len(polars.read_csv(file, skip_rows=2)) and not rows.monotonic.isna().any()




@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_a_file_that_was_emptied(suffix):
    file = f"blocks.{suffix}"
    block = SubTracker("block", sub_tracking_file=file)
    with block:
        pass
    os.truncate(file, 0)
    with pytest.raises(FileNotFoundError) as raised:
        for _ in range(3):
            time.sleep(0.001)
            with block:
                pass
    assert raised.value.filename.endswith(file)


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_long_names_stay_different(suffix):
    names = ["f" * 1000, "f" * 1000 + "a", "f" * 1000 + "b", "\u00e4" * 600]
    for name in names:
        with SubTracker(name, sub_tracking_file=f"blocks.{suffix}"):
            pass
    analyzer = SubTrackingAnalyzer(None, f"blocks.{suffix}")
    written = analyzer.load_code_block_names()
    assert len(written) == 4 and written[0] in names and all(len(name.encode()) <= 1000 for name in written)
    assert all(len(analyzer.load_timestamp_pairs(name)) == 1 for name in names)


def test_a_full_disk_is_told_once(python):
    """A limit of the size of files stands for it."""
    done = python("""
        import resource, signal
        from gpu_tracker import SubTracker
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        import warnings
        warnings.simplefilter("always")
        for _ in range(300):
            with SubTracker("block", sub_tracking_file="blocks.csv"):
                pass
        print("end")
    """)
    assert done.stdout == "end\n"
    assert done.stderr.count("RuntimeWarning: code blocks are no longer recorded") == 1 and "blocks.csv" in done.stderr


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_a_file_that_failed_stops_no_other(python, tmp_path, suffix):
    python(f"""
        import os
        from gpu_tracker import SubTracker
        named = SubTracker("named", sub_tracking_file="own.{suffix}")
        with named, SubTracker("block"):
            pass
        os.unlink("own.{suffix}")
        for _ in range(3):
            try:
                with named:
                    pass
            except FileNotFoundError:
                pass
        for _ in range(5):
            with SubTracker("block"), SubTracker("block", sub_tracking_file="other.csv"):
                pass
    """)
    [standard] = [path for path in tmp_path.glob("*.csv") if path.stem.isdigit()]
    assert_all_pairs(standard, 6)
    assert_all_pairs(tmp_path / "other.csv", 5)
