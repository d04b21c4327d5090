"""SubTracker and sub_track: what they write, and how entries and exits pair."""
import asyncio
import contextlib
import copy
import csv
import functools
import os
import pathlib
import pickle
import random
import re
import sqlite3
import threading
import time

import pytest
from gpu_tracker import SubTracker, SubTrackingAnalyzer, TrackingComparison, sub_track
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.sanitize


def rows(file):
    """Rows of a file that its process has finished or still writes."""
    with open(file, newline="") as lines:
        return [row for row in csv.DictReader(lines) if row["call"]]


def calls(file, name):
    """(start, stop) of each call, paired by process and call number."""
    found = {}
    for row in rows(file):
        if row["code_block_name"] == name:
            call = found.setdefault((row["process_id"], row["call"]), [None, None])
            call[int(row["position"])] = float(row["timestamp"])
    return list(found.values())


def test_how_many_there_will_be():
    for _ in range(2):
        with SubTracker("epoch", sub_tracking_file="t.csv", total=20), SubTracker("step", sub_tracking_file="t.csv"):
            pass
    assert [row["total"] for row in rows("t.csv")] == ["20", "", "", ""] * 2
    block = pickle.loads(pickle.dumps(SubTracker("epoch", sub_tracking_file="t.csv", total=7)))
    with block:
        pass
    assert rows("t.csv")[-2]["total"] == "7"
    for wrong in (0, -1, 2.5, "3"):
        with pytest.raises((ValueError, TypeError)):
            SubTracker("epoch", total=wrong)


def test_how_many_there_will_be_in_sqlite():
    with SubTracker("epoch", sub_tracking_file="t.sqlite", total=20):
        pass
    with contextlib.closing(sqlite3.connect("t.sqlite")) as database:
        assert database.execute("SELECT total FROM blocks").fetchall() == [(20,), (None,)]


@pytest.mark.parametrize("first, second, files", [
    (False, False, 2), (True, False, 1), (True, True, 1),
    (False, True, 2)])  # the first goes to <pid>-2.csv, as the old file is in the way
def test_an_old_default_file(python, tmp_path, first, second, files):
    python(f"""
        import os
        from gpu_tracker import SubTracker
        open(f"{{os.getpid()}}.csv", "w").write("old")
        with SubTracker("x", overwrite={first}), SubTracker("y", overwrite={second}) as last:
            pass
        open("name", "w").write(last.sub_tracking_file)
    """)
    found = list(tmp_path.glob("*.csv"))
    assert len(found) == files
    assert len(calls(open("name").read(), "y")) == 1
    assert any(path.read_text() == "old" for path in found) is not (first or second)


def test_a_folder_for_all_processes(python, tmp_path):
    (tmp_path / "blocks").mkdir()
    python("""
        from gpu_tracker import SubTracker
        with SubTracker("x"):
            pass
    """, env={**os.environ, "GPU_TRACKER_BLOCKS": str(tmp_path / "blocks")})
    [file] = (tmp_path / "blocks").iterdir()
    assert len(calls(file, "x")) == 1


class Nameless:
    def __str__(self):
        raise KeyError("no text")


@pytest.mark.parametrize("arguments, error", [
    ({"sub_tracking_file": "x.txt"}, ValueError), ({"code_block_name": Nameless()}, KeyError)])
def test_wrong_arguments(arguments, error):
    with pytest.raises(error):
        SubTracker(**{"code_block_name": "x", **arguments})
    assert os.listdir() == []


@pytest.mark.parametrize("call, named", [
    (lambda: SubTracker("x", sub_tracking_file=5), "sub_tracking_file"), (lambda: SubTracker("x", total="x"), "total"),
    (lambda: SubTracker("x", total=2**70), "total"), (lambda: sub_track(lambda: 1), "needs parentheses: @sub_track()"),
    (lambda: sub_track("x")(5), "sub_track decorates functions"), (lambda: sub_track()(int), "set code_block_name"),
    (lambda: SubTrackingAnalyzer(5, "x.csv"), "tracking_file"), (lambda: SubTrackingAnalyzer(None, None), "sub_tracking_file"),
    (lambda: SubTrackingAnalyzer(None, "x.csv").combine_sub_tracking_files("y.csv"), "files"),
    (lambda: SubTrackingAnalyzer("x.csv", "x.csv").timepoints_table([1]), "timestamp_pairs"),
    (lambda: TrackingComparison(["x.pkl"]), "file_path_map"), (lambda: TrackingComparison({"x": 5}), "file_path_map")])
def test_the_argument_that_is_wrong_is_named(call, named):
    with pytest.raises((TypeError, ValueError), match=re.escape(named)):
        call()
    assert os.listdir() == []


def test_a_text_that_is_called_a_pickle(tmp_path):
    (tmp_path / "hi.pkl").write_text("hi\n")
    with pytest.raises(ValueError, match="hi.pkl is neither a pickle nor JSON"):
        TrackingComparison({"hi": "hi.pkl"})


@pytest.mark.parametrize("name, text", [
    (3, "3"), (2.5, "2.5"), (True, "True"), (pathlib.Path("a/b"), "a/b"), (b"x", "b'x'"), (("a", 1), "('a', 1)")])
@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_names_that_are_no_texts(name, text, suffix):
    with SubTracker(name, sub_tracking_file=f"names.{suffix}") as block:
        assert block.code_block_name is name
    sub_track(name, sub_tracking_file=f"names.{suffix}")(int)()
    analyzer = SubTrackingAnalyzer(None, f"names.{suffix}")
    assert analyzer.load_code_block_names() == [text] and len(analyzer.load_timestamp_pairs(text)) == 2


def test_a_new_name():
    block = SubTracker("first" * 20, sub_tracking_file="names.csv")
    assert block.process_id == os.getpid()
    with block:
        for name in ("second", "third", 4):
            block.code_block_name = name
            with block:
                assert block.code_block_name == name
    with pytest.raises(AttributeError):
        del block.code_block_name
    with pytest.raises(KeyError):
        block.code_block_name = Nameless()
    with block:
        pass
    assert [(row["code_block_name"], row["position"]) for row in rows("names.csv")] == [
        ("first" * 20, "0"), ("second", "0"), ("second", "1"), ("third", "0"), ("third", "1"), ("4", "0"), ("4", "1"),
        ("first" * 20, "1"), ("4", "0"), ("4", "1")]


class Labelled(SubTracker):
    label = None


COPIES = [copy.copy, copy.deepcopy, *(functools.partial(lambda protocol, block: pickle.loads(pickle.dumps(block, protocol)), protocol)
                                      for protocol in range(pickle.HIGHEST_PROTOCOL + 1))]


@pytest.mark.parametrize("duplicate", COPIES)
@pytest.mark.parametrize("arguments", [
    {"sub_tracking_file": "named.csv"}, {"sub_tracking_file": "named.sqlite"}, {}, {"overwrite": True}])
def test_copies_mark_in_the_same_file(duplicate, arguments):
    block = Labelled("x", **arguments)
    block.label = ["kept"]
    os.mkdir("elsewhere")
    os.chdir("elsewhere")
    twin = duplicate(block)
    os.chdir("..")
    assert type(twin) is Labelled and twin.label == ["kept"]
    assert (twin.code_block_name, twin.process_id) == ("x", os.getpid())
    assert twin.sub_tracking_file == block.sub_tracking_file
    before = len(SubTrackingAnalyzer(None, block.sub_tracking_file).load_timestamp_pairs("x")) if arguments else 0
    with block, twin:
        pass
    if arguments:
        assert len(SubTrackingAnalyzer(None, block.sub_tracking_file).load_timestamp_pairs("x")) == before + 2


def test_what_is_no_state():
    block = SubTracker("x", sub_tracking_file="x.csv")
    state = block.__getstate__()
    for wrong in (3, {}, {key: (1,) for key in state}, state):
        with pytest.raises(TypeError):
            (block if wrong is state else SubTracker.__new__(SubTracker)).__setstate__(wrong)
    with pytest.raises(RuntimeError, match="__init__"):
        copy.copy(SubTracker.__new__(SubTracker))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("name", ["named.csv", "named.sqlite", None])
def test_pickled_to_the_workers_of_a_pool(python, tmp_path, method, name):
    python(f"""
        import multiprocessing
        from gpu_tracker import SubTracker

        def work(block):
            with block:
                pass

        if __name__ == "__main__":
            block = SubTracker("x", sub_tracking_file={name!r}, overwrite=True)
            with block, multiprocessing.get_context("{method}").Pool(2) as pool:
                pool.map(work, [block] * 100, chunksize=10)
                pool.close()
                pool.join()
    """)
    analyzer = SubTrackingAnalyzer(None, "all.csv")
    analyzer.combine_sub_tracking_files([str(path) for path in tmp_path.glob("*.csv" if name is None else f"*{name[-4:]}")])
    assert len(analyzer.load_timestamp_pairs("x")) == 101


def test_names_of_any_characters():
    names = ["", "a,b", 'say "x"', "two\nlines", "ü🙂", "\udcff"]
    for name in names:
        with SubTracker(name, sub_tracking_file="names.csv"):
            pass
    written = {row["code_block_name"] for row in rows("names.csv")}
    assert {"(unnamed)", "a,b", 'say "x"', "ü🙂", "\\udcff"} <= written
    assert len(written) == len(names)


def test_one_object_recursively():
    block = SubTracker("r", sub_tracking_file="r.csv")

    def descend(depth):
        with block:
            if depth:
                descend(depth - 1)

    descend(9)
    intervals = sorted(calls("r.csv", "r"))
    assert len(intervals) == 10
    assert [stop for _, stop in intervals] == sorted((stop for _, stop in intervals), reverse=True)


def assert_as_noted(file, name, notes):
    """Each note has the time before and after a block was entered, and before and after it was left: its own lie between."""
    intervals = calls(file, name)
    assert len(intervals) == len(notes)
    for before, inside, leaving, after in notes:
        assert any(before - 1e-4 <= start <= inside + 1e-4 and leaving - 1e-4 <= stop <= after + 1e-4 for start, stop in intervals)


@contextlib.contextmanager
def noted(block, notes):
    before = time.time()
    with block:
        inside = time.time()
        yield
        leaving = time.time()
    notes.append((before, inside, leaving, time.time()))


def test_one_object_in_tasks_that_overlap():
    block, notes = SubTracker("t", sub_tracking_file="t.csv"), []

    async def work(seconds):
        with noted(block, notes):
            await asyncio.sleep(seconds)

    async def main():
        await asyncio.gather(work(0.3), work(0.1), work(0.2))

    asyncio.run(main())
    assert_as_noted("t.csv", "t", notes)


def test_one_object_in_generators_that_overlap():
    block, notes = SubTracker("g", sub_tracking_file="g.csv"), []

    def steps():
        with noted(block, notes):
            yield

    first, second = steps(), steps()
    next(first), time.sleep(0.1), next(second)
    assert list(first) == []
    time.sleep(0.3)
    assert list(second) == []
    assert_as_noted("g.csv", "g", notes)


def test_one_object_in_threads():
    block, notes = SubTracker("t", sub_tracking_file="t.csv"), []

    def work(seconds):
        with noted(block, notes):
            time.sleep(seconds)

    threads = [threading.Thread(target=work, args=(seconds,)) for seconds in (0.3, 0.1, 0.2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_as_noted("t.csv", "t", notes)
    assert len({row["thread_id"] for row in rows("t.csv")}) == 3


def test_through_exit_stacks():
    block = SubTracker("s", sub_tracking_file="s.csv")
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(block)
    assert all(None not in call for call in calls("s.csv", "s")) and len(calls("s.csv", "s")) == 3
    with pytest.raises(RuntimeError, match="not been entered"):
        block.__exit__(None, None, None)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32))
def test_every_exit_ends_the_entry_of_its_frame(seed, tmp_path_factory):
    """Hundreds of generators at once that enter once or twice and leave in random order."""
    chance = random.Random(seed)
    file = tmp_path_factory.mktemp("blocks") / "b.csv"
    block = SubTracker("b", sub_tracking_file=file)

    def once():
        with block:
            yield
        yield

    def twice():
        with block:
            with block:
                yield
            yield
        yield

    running, expected, calls_made = [], [], 0
    for _ in range(chance.randrange(600)):
        if chance.random() < chance.choice([0.3, 0.6]) or not running:
            generator = chance.choice([once, twice])()
            entered = list(range(calls_made, calls_made + (2 if generator.__name__ == "twice" else 1)))
            calls_made += len(entered)
            expected += [("0", call) for call in entered]
            running.append((generator, entered))
        else:
            generator, entered = running[chance.choice([0, -1, chance.randrange(len(running))])]
            expected.append(("1", entered.pop()))
            running = [pair for pair in running if pair[1]]
        next(generator)
    found = [(row["position"], row["call"]) for row in rows(file)]
    names = {call: number for number, call in enumerate(call for position, call in found if position == "0")}
    assert [(position, names[call]) for position, call in found] == expected


def test_subclasses():
    class Loud(SubTracker):
        def __enter__(self):
            self.entered = True
            return super().__enter__()

    with Loud("x", sub_tracking_file="x.csv") as block:
        assert block.entered
    assert len(calls("x.csv", "x")) == 1


def test_decorated_functions_of_every_kind():
    mark = sub_track("f", sub_tracking_file="f.csv")

    @mark
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    @mark
    async def wait():
        await asyncio.sleep(0.05)
        return "waited"

    @mark
    def echo():
        got = None
        while got != "end":
            got = yield got
        return "returned"

    @mark
    async def asynchronous():
        try:
            got = yield 1
            yield got
        except KeyError:
            yield "caught"

    async def drive():
        generator = asynchronous()
        assert await anext(generator) == 1
        assert await generator.asend("sent") == "sent"
        assert await generator.athrow(KeyError()) == "caught"
        assert [item async for item in generator] == []
        other = asynchronous()
        await anext(other)
        await other.aclose()
        return await wait()

    assert factorial(4) == 24
    assert asyncio.run(drive()) == "waited"
    generator = echo()
    assert next(generator) is None and generator.send("x") == "x"
    with pytest.raises(StopIteration, match="returned"):
        generator.send("end")
    assert echo.__name__ == "echo"
    found = calls("f.csv", "f")
    assert len(found) == 4 + 1 + 1 + 2 and all(None not in call for call in found)
    assert max(stop - start for start, stop in found) >= 0.05
