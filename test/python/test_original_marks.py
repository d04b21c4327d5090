"""What `SubTracker` and `sub_track` of the original gpu_tracker promise, of ours. Runs under either package: see test_original.py."""
import glob
import inspect
import os
import pathlib
import pickle
import time

import pytest
from gpu_tracker import SubTracker, sub_track
from original_data import (
    differs,
    own,
    rows,
    script,
)


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPU_TRACKER_BLOCKS", raising=False)


@pytest.fixture(params=["csv", "sqlite"])
def suffix(request):
    return request.param


# ---- SubTracker and sub_track ----

@pytest.mark.parametrize("name", ["fit", None])
def test_marks(name, suffix):
    before = time.time()
    for _ in range(5):
        with SubTracker(code_block_name=name, sub_tracking_file=own(f"marks.{suffix}")) as block: line = inspect.currentframe().f_lineno  # noqa: E701,E501
        wanted = name or f"{os.path.relpath(__file__)}:{line}"
        assert (block.code_block_name, block.process_id, block.sub_tracking_file) == (wanted, os.getpid(), own(f"marks.{suffix}"))
    found = rows(f"marks.{suffix}")
    assert [row[:3] for row in found] == [(os.getpid(), wanted, position) for _ in range(5) for position in (0, 1)]
    moments = [row[3] for row in found]
    assert before <= moments[0] and moments == sorted(moments) and moments[-1] <= time.time()


@pytest.mark.parametrize("attribute", ["part", 7])
def test_what_follows_the_file_in_a_default_name(attribute):
    block = SubTracker(code_block_attribute=attribute, sub_tracking_file=own("marks.csv"))
    assert block.code_block_name == f"{os.path.relpath(__file__)}:{attribute}"


@pytest.mark.parametrize("name", ["fit", None])
@pytest.mark.parametrize("attribute", ["part", None])
def test_decorated_functions(name, attribute):
    @sub_track(code_block_name=name, code_block_attribute=attribute, sub_tracking_file=own("marks.csv"))
    def combine(first, *rest, factor=1):
        """What it does."""
        return first, rest, factor

    assert combine(2, 3, 4, factor=5) == (2, (3, 4), 5) and combine(1) == (1, (), 1)
    assert (combine.__name__, combine.__doc__) == ("combine", "What it does.")
    wanted = name or f"{os.path.abspath(__file__)}:{attribute or 'combine'}"
    assert [row[1:3] for row in rows("marks.csv")] == [(wanted, 0), (wanted, 1)] * 2


def test_the_default_file():
    printed = script("""
import os
import gpu_tracker
@gpu_tracker.sub_track()
def work(): return 3
assert work() == 3
with gpu_tracker.SubTracker("direct") as block: pass
print(os.getpid(), os.path.basename(block.sub_tracking_file))
""")
    process, name = printed.split()
    assert name == f"{process}.csv"
    assert [row[:3] for row in rows(name)] == [
        (int(process), block, position) for block in (os.path.abspath("script.py:work"), "direct") for position in (0, 1)]


def test_an_old_default_file():
    script("""
import os
import gpu_tracker
open(f"{os.getpid()}.csv", "w").write("old")
open("name", "w").write(str(os.getpid()))
try:
    with gpu_tracker.SubTracker("x"): pass
except FileExistsError: pass
""")
    process = pathlib.Path("name").read_text()
    assert pathlib.Path(f"{process}.csv").read_text() == "old"
    assert os.path.exists(f"{process}-2.csv") is differs("default file")


def test_an_old_file(suffix):
    path = pathlib.Path(own(f"marks.{suffix}"))
    path.write_text("old")
    with pytest.raises(FileExistsError, match="marks"):
        with SubTracker("x", sub_tracking_file=str(path)):
            pass
    assert path.read_text() == "old"
    with SubTracker("x", sub_tracking_file=str(path), overwrite=True):
        pass
    with SubTracker("x", sub_tracking_file=str(path)):  # this process's own by now
        pass
    assert [row[1:3] for row in rows(str(path))] == [("x", 0), ("x", 1)] * 2


@pytest.mark.parametrize("name", ["marks.txt", "marks", "marks.csv.gz"])
def test_files_of_other_kinds(name):
    with pytest.raises(ValueError, match=name):
        SubTracker("x", sub_tracking_file=name)


def test_a_file_that_is_removed_meanwhile(suffix):
    name = own(f"gone.{suffix}")
    with SubTracker("x", sub_tracking_file=name):
        pass
    for path in glob.glob("gone.*"):
        os.unlink(path)
    with pytest.raises(FileNotFoundError, match="gone"):
        with SubTracker("x", sub_tracking_file=name):
            pass


@pytest.mark.parametrize("name, text", [(5, "5"), (2.5, "2.5"), (True, "True"), (("a", 1), "('a', 1)")])
def test_names_that_are_no_texts(name, text):
    with SubTracker(name, sub_tracking_file=own("marks.csv")) as block:
        assert block.code_block_name == name
    assert [row[1] for row in rows("marks.csv")] == [text] * 2


def test_a_new_name():
    block = SubTracker("before", sub_tracking_file=own("marks.csv"))
    block.code_block_name = "after"
    with block:
        pass
    assert [row[1] for row in rows("marks.csv")] == ["after"] * 2


def test_a_pickled_block():
    block = pickle.loads(pickle.dumps(SubTracker("x", sub_tracking_file=own("marks.csv"))))
    assert (block.code_block_name, block.process_id, block.sub_tracking_file) == ("x", os.getpid(), own("marks.csv"))
    with block:
        pass
    assert [row[1:3] for row in rows("marks.csv")] == [("x", 0), ("x", 1)]


def test_exceptions_pass_through():
    with pytest.raises(ZeroDivisionError):
        with SubTracker("x", sub_tracking_file=own("marks.csv")):
            1 / 0  # noqa: B018
    assert [row[2] for row in rows("marks.csv")] == [0, 1]
