"""Pickles of results as JSON for `gpu-tracker sub-track compare`: nothing of them is run, neither pandas nor sqlalchemy is needed."""
import json
import os
import pathlib
import pickle
import pickletools
import struct
import subprocess
import sys

import pytest
from gpu_tracker import SubTrackingAnalyzer, TrackingComparison, _unpickle

FIXTURE = pathlib.Path(__file__).parent.parent / "fixture"
PICKLES = {"sub_track/A.pkl": "csv", "results/pyarrow.pkl": "csv", "results/sqlite.pkl": "sqlite",
           "results/pandas-2.2.pkl": "sqlite", "results/protocol-2.pkl": "sqlite", "results/protocol-5.pkl": "sqlite"}


@pytest.fixture
def compare(gpu_tracker):
    """compare(file, *words): what the program prints of one session, or the lines of its refusal. It gets pickles as JSON."""

    def run(file, *words):
        if pathlib.Path(file).suffix == ".pkl":
            read = subprocess.run([sys.executable, "-m", "gpu_tracker._unpickle", file], capture_output=True, text=True,
                                  check=False, timeout=120)
            if read.returncode:
                return read.returncode, read.stderr.splitlines()
            file = f"{pathlib.Path(file).stem}.read.json"
            pathlib.Path(file).write_text(read.stdout)
        done = subprocess.run([gpu_tracker, "sub-track", "compare", "-m", f"A={file}", "-f", "json", *words],
                              capture_output=True, text=True, check=False, timeout=120)
        return json.loads(done.stdout) if done.returncode == 0 else (done.returncode, done.stderr.splitlines())

    return run


def approximately(value):
    """Sums depend on the version of pandas in their last digit."""
    if isinstance(value, dict):
        return {key: approximately(item) for key, item in value.items()}
    return pytest.approx(value, rel=1e-12) if isinstance(value, float) else value


@pytest.mark.parametrize("statistic", ["min", "max", "mean", "std"])
@pytest.mark.parametrize("file", PICKLES)
def test_the_originals(compare, file, statistic):
    found = compare(FIXTURE / file, "--stat", statistic)
    expected = compare(FIXTURE / "sub_track" / f"analyze-A.{PICKLES[file]}.json", "--stat", statistic)
    assert len(expected["overall_resource_usage"]) == 21 and len(expected["code_block_compute_time"]) == 3
    assert found == approximately(expected)


PICKLE_OUR_OWN = """
import pickle, sys
if sys.argv[1] == "without":
    sys.modules["pandas"] = None
from gpu_tracker import SubTrackingAnalyzer
results = SubTrackingAnalyzer(sys.argv[2], sys.argv[3]).sub_tracking_results()
for protocol in range(2, 6):
    pickle.dump(results, open(f"{protocol}.pkl", "wb"), protocol)
"""


@pytest.mark.parametrize("pandas", ["with", "without"])
@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_our_own(python, compare, gpu_tracker, pandas, suffix):
    files = [str(FIXTURE / "sub_track" / f"{kind}-A.{suffix}") for kind in ("tracking", "blocks")]
    python(PICKLE_OUR_OWN, pandas, *files)
    for style in "json", "pickle":
        subprocess.run([gpu_tracker, "sub-track", "analyze", "--tf", files[0], "--stf", files[1], "-f", style, "-o",
                        f"program.{style}"], check=True)
    expected = compare("program.json", "--stat", "p95")
    assert expected["overall_resource_usage"]["main_ram"]["A"] > 0
    for name in "program.pickle", "2.pkl", "3.pkl", "4.pkl", "5.pkl":
        assert compare(name, "--stat", "p95") == expected, name


def test_the_originals_pickled_again(compare):
    """With the original's fields alone, by our classes and this pandas."""
    with open(FIXTURE / "sub_track" / "A.pkl", "rb") as file:
        results = pickle.load(file)
    with open("again.pkl", "wb") as file:
        pickle.dump(results, file)
    assert compare("again.pkl") == compare(FIXTURE / "sub_track" / "A.pkl")


def test_in_python_without_what_it_was_made_with(python, tmp_path):
    done = python(f"""
        import sys
        for name in "pandas", "numpy", "sqlalchemy":
            sys.modules[name] = None
        from gpu_tracker import TrackingComparison
        comparison = TrackingComparison({{"A": {str(FIXTURE / "results" / "sqlite.pkl")!r}}})
        print(comparison.compare("max").to_json()["overall_resource_usage"]["main_ram"]["A"])
    """)
    expected = json.loads((FIXTURE / "sub_track" / "analyze-A.sqlite.json").read_text())["overall"]["main_ram"]["max"]
    assert float(done.stdout) == expected


def test_other_objects_in_python_are_not_made(tmp_path):
    (tmp_path / "other.pkl").write_bytes(b"\x80\x02cnot_there\nName\n.")
    with pytest.raises(ValueError, match="not_there.Name, which does not belong in results"):
        TrackingComparison({"A": str(tmp_path / "other.pkl")})


# ---- what is refused ----

class Call:
    """An object that makes whoever unpickles it call something."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def text(value):
    return b"\x8c" + bytes([len(value)]) + value.encode()


def results(overall, **others):
    """The pickle of results with this as the pickle of one of its fields."""
    fields = {"overall": overall, "static_data": b"}", "code_block_results": b"]", **others}
    state = b"".join(text(key) + value for key, value in fields.items())
    return (b"\x80\x04" + text("gpu_tracker.sub_tracker") + text("SubTrackingResults") + b"\x93)\x81}(" + state + b"ub.")


def name(module, function):
    return text(module) + text(function) + b"\x93"


NESTED = b"\x80\x04" + b"]" * 1_000_000 + b"a" * 999_999 + b"."
# Each list holds the one before twice: 2^60 values in all.
DOUBLED = b"\x80\x04" + name("gpu_tracker._results", "from_tree") + text("sub_tracking_results") + b"]\x94" + b"".join(
    b"0](h" + bytes([i]) + b"h" + bytes([i]) + b"e\x94" for i in range(60)) + b"\x86R."
ENDLESS = (b"\x80\x04" + name("gpu_tracker._results", "from_tree") + text("sub_tracking_results") +
           b"]\x94(" + b"h\x00" * 10 + b"e\x86R.")

HOSTILE = {
    "os.system": (lambda: pickle.dumps(Call(os.system, "touch executed")), "system, which does not belong in results"),
    "eval": (lambda: pickle.dumps(Call(eval, "open('executed', 'w')")), "names builtins.eval"),
    "path": (lambda: pickle.dumps(Call(pathlib.Path.touch, pathlib.Path("executed")), 2), "does not belong in results"),
    "getattr": (lambda: pickle.dumps(Call(getattr, Call(SubTrackingAnalyzer, None, "x"), "x")), "names builtins.getattr"),
    "within": (lambda: results(name("posix", "system") + text("touch executed") + b"\x85R"), "names posix.system"),
    "nested names": (lambda: results(name("gpu_tracker.sub_tracker", "os.system") + b")R"), "sub_tracker.os.system"),
    "nested": (lambda: NESTED, "holds no results"),
    "doubled": (lambda: DOUBLED, "holds no results"),
    "endless": (lambda: ENDLESS, "holds no results"),
    "huge text": (lambda: b"\x80\x04\x8d" + struct.pack("<Q", 2**62) + b"x.", "is damaged"),
    "huge bytes": (lambda: b"\x80\x04B" + struct.pack("<I", 2**32 - 1) + b"x.", "is damaged"),
    "huge frame": (lambda: b"\x80\x04\x95" + struct.pack("<Q", 2**63) + b"N.", "is damaged"),
    "huge memo": (lambda: b"\x80\x04Nr" + struct.pack("<I", 2**32 - 1) + b".", "holds no results"),
    "a long": (lambda: pickle.dumps(2**70, 4), "holds no results"),
    "a set": (lambda: pickle.dumps({1}, 4), "holds no results"),
    "a persistent name": (lambda: b"\x80\x04NQ.", "is damaged"),
    "a buffer elsewhere": (lambda: b"\x80\x05\x97.", "is damaged"),
    "an extension": (lambda: b"\x80\x04\x82\x01.", "is damaged"),
    "protocol 9": (lambda: b"\x80\x09N.", "is damaged"),
    "empty": (lambda: b"\x80\x04.", "is damaged"),
    "a mark": (lambda: b"\x80\x04N(.", "is damaged"),
    "below the mark": (lambda: b"\x80\x04](Na.", "is damaged"),
    "odd dict": (lambda: b"\x80\x04}(Nu.", "is damaged"),
    "built twice": (lambda: results(name("pandas", "DataFrame") + b")\x81}b}b"), "holds no results"),
    "no frame": (lambda: results(b"N"), "holds no results"),
    "a bare frame": (lambda: results(name("pandas", "DataFrame") + b")\x81}b"), "holds no results"),
    "a tree of numbers": (lambda: DOUBLED[:DOUBLED.index(b"]\x94")] + b"K\x01\x86R.", "holds no results"),
    "usage": (lambda: (FIXTURE / "python" / "usage.pkl").read_bytes(), "names gpu_tracker.tracker.ResourceUsage"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_refused_in_one_sentence(compare, tmp_path, what):
    make, message = HOSTILE[what]
    (tmp_path / "hostile.pkl").write_bytes(make())
    status, lines = compare("hostile.pkl")
    assert status == 2 and len(lines) == 1
    assert "hostile.pkl" in lines[0] and message in lines[0]
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("file", PICKLES)
def test_every_cut_and_many_changes(file):
    """Read, or refused in a sentence."""
    whole = (FIXTURE / file).read_bytes()
    ends = [position for _, _, position in pickletools.genops(whole)]
    changed = [whole[:end] for end in ends[::199]]
    changed += [whole[:end] + bytes([whole[end] ^ 1 << end % 8]) + whole[end + 1:] for end in ends[::97]]
    for data in changed:
        try:
            json.dumps(_unpickle.loads(data, "x.pkl"), allow_nan=False)
        except ValueError as error:
            assert str(error).startswith("x.pkl "), error


@pytest.mark.parametrize("has_package", [True, False])
def test_the_program_asks_the_package(gpu_tracker, tmp_path, has_package):
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} {"" if has_package else "-S"} "$@"\n')
    python.chmod(0o755)
    words = ["compare", *(f"{name}={FIXTURE / 'sub_track/A.pkl'}" for name in "AB"), "-f", "json"]
    done = subprocess.run([gpu_tracker, *words], capture_output=True, text=True, check=False, timeout=120,
                          env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    if has_package:
        assert done.returncode == 0 and set(json.loads(done.stdout)["overall_resource_usage"]["main_ram"]) == {"A", "B"}
    else:
        assert done.returncode == 2 and "install the Python package gpu-tracker" in done.stderr
