"""Traces that were compressed: whole, in several members, cut off, damaged, in archives and through pipes."""
import bz2
import gzip
import io
import json
import lzma
import subprocess
import zipfile

import pytest

COUNT = 12000
TEXT = json.dumps([{"ph": "X", "name": f"step {i * 7919 % 1000}", "pid": 1, "tid": i % 7, "ts": 1_700_000_000_000_000 + i * 977,
                    "dur": i % 613} for i in range(COUNT)]).encode()


def zstd(text):
    return subprocess.run(["zstd", "-q", "-c"], input=text, stdout=subprocess.PIPE, check=True).stdout


COMPRESS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstd}


@pytest.fixture
def info(gpu_tracker):
    """info(path): the one source of a file, as JSON."""
    def run(path, **more):
        done = subprocess.run([gpu_tracker, "timeline", "info", "-f", "json", str(path)], capture_output=True, timeout=120,
                              check=False, **more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["sources"]
    return run


def packed(text, method=zipfile.ZIP_DEFLATED, names=("rank0.json",)):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name in names:
            archive.writestr(name, text if name != "README" else b"read me")
    return out.getvalue()


@pytest.mark.parametrize("kind", COMPRESS)
def test_members_are_read_one_after_another(info, tmp_path, kind):
    path = tmp_path / "no suffix tells"
    path.write_bytes(COMPRESS[kind](TEXT[:100_000]) + COMPRESS[kind](TEXT[100_000:]))
    [source] = info(path)
    assert (source["format"], source["events"], source["lost"]) == ("chrome", COUNT, 0)


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_cut_costs_what_was_cut_off(info, tmp_path, kind):
    """Twelve members: those before the cut are whole."""
    pieces = [COMPRESS[kind](TEXT[i * len(TEXT) // 12:(i + 1) * len(TEXT) // 12]) for i in range(12)]
    path = tmp_path / "cut"
    path.write_bytes(b"".join(pieces[:9]) + pieces[9][:-30])
    [source] = info(path)
    assert 0.74 * COUNT < source["events"] < 0.84 * COUNT
    assert source["cut_off"] == "yes"


@pytest.mark.parametrize("kind", ["bzip2", "xz", "zstd"])
def test_damage_is_told(info, tmp_path, kind):
    whole = bytearray(COMPRESS[kind](TEXT[:len(TEXT) // 2]) + COMPRESS[kind](TEXT[len(TEXT) // 2:]))
    for i in range(20):
        whole[len(whole) * 3 // 4 + i] ^= 0x55
    path = tmp_path / "damaged"
    path.write_bytes(whole)
    [source] = info(path)
    assert 0.4 * COUNT < source["events"] < COUNT
    assert source["cut_off"] == "yes" and (source["lost"] or source["damage"])


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_each_file_of_an_archive_is_one(info, tmp_path, method):
    path = tmp_path / "traces.zip"
    path.write_bytes(packed(TEXT, method, ["a/rank0.json", "rank1.json", "README"]))
    sources = {source["file"]: source for source in info(path)}
    assert set(sources) == {f"{path}/{name}" for name in ["a/rank0.json", "rank1.json"]}
    assert all(source["events"] == COUNT and source["lost"] == 0 for source in sources.values())
    [one] = info(path / "rank1.json")
    assert one["events"] == COUNT


def test_an_archive_without_its_directory_is_refused(gpu_tracker, tmp_path):
    whole = packed(TEXT, names=["rank0.json", "rank1.json", "rank2.json"])
    path = tmp_path / "cut.zip"
    path.write_bytes(whole[:len(whole) * 5 // 6])
    done = subprocess.run([gpu_tracker, "timeline", "info", path], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "zip -FF" in done.stderr


def test_an_archive_written_to_a_pipe(info, tmp_path):
    """Lengths are behind the bytes then."""
    (tmp_path / "rank0.json").write_bytes(TEXT)
    (tmp_path / "rank1.json").write_bytes(TEXT)
    whole = subprocess.run("zip -q - rank0.json rank1.json | cat", shell=True, cwd=tmp_path, stdout=subprocess.PIPE,
                           check=True).stdout
    assert info("-", input=whole)[0]["events"] == COUNT


def test_a_checksum_that_differs_is_told(info, tmp_path):
    whole = bytearray(packed(TEXT, zipfile.ZIP_STORED))
    at = whole.index(b"step 500")
    whole[at:at + 4] = b"stop"
    path = tmp_path / "changed.zip"
    path.write_bytes(whole)
    [source] = info(path)
    assert source["events"] == COUNT and "checksum" in json.dumps(source)


def test_archives_without_traces_are_refused(gpu_tracker, tmp_path):
    path = tmp_path / "other.zip"
    path.write_bytes(packed(b"no trace"))
    done = subprocess.run([gpu_tracker, "timeline", "info", path], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "no file in this archive" in done.stderr


@pytest.mark.parametrize("kind", COMPRESS)
def test_standard_input(gpu_tracker, tmp_path, kind):
    merged = tmp_path / "merged.json"
    subprocess.run([gpu_tracker, "timeline", "merge", "-o", merged, "-"], input=COMPRESS[kind](TEXT), check=True)
    assert sum(event["ph"] == "X" for event in json.loads(merged.read_bytes())) == COUNT
    out = subprocess.run([gpu_tracker, "profile", "advice", "-f", "json", "-"], input=COMPRESS[kind](TEXT), check=True,
                         stdout=subprocess.PIPE).stdout
    assert "advice" in json.loads(out)


def test_memory_does_not_grow_with_the_file(gpu_tracker, tmp_path):
    """A hundred times the text takes no more memory to count."""
    peaks = []
    for times in (1, 60):
        path = tmp_path / f"{times}.zst"
        path.write_bytes(zstd(b"[" + b",".join([TEXT[1:-1]] * times) + b"]"))
        out = subprocess.run(["/usr/bin/python3", "-c", ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], "
                              "check=True, stdout=subprocess.DEVNULL); "
                              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"), gpu_tracker, "timeline",
                              "info", path], stdout=subprocess.PIPE, check=True).stdout
        peaks.append(int(out))
    assert peaks[1] < peaks[0] + 30_000
