"""What profile and timeline are given: files that would be written over, that cannot be read, that stand there twice, and filters
that leave nothing."""
import bz2
import gzip
import json
import lzma
import marshal
import os
import pathlib
import zipfile

import pytest

BASE = 1_700_000_000_000_000


def event(category, name, begin, duration, **more):
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": BASE + begin, "dur": duration, "args": {}, **more}


def write(path, rank, *events):
    path.write_text(json.dumps({"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": list(events) or [
        event("cpu_op", "aten::mm", 0, 10), event("cpu_op", "aten::add", 20, 10), event("user_annotation", "ProfilerStep#1", 0, 40)]}))
    return path


@pytest.fixture
def job(tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    for rank in range(2):
        write(folder / f"rank{rank}.json", rank)
    return folder


@pytest.fixture
def traces():
    return pathlib.Path(__file__).parents[1] / "fixture" / "traces"


@pytest.mark.parametrize("words", [["profile"], ["profile", "operators"], ["timeline", "info"], ["timeline", "merge", "--overwrite"]])
@pytest.mark.parametrize("inputs", [["traces"], ["traces/rank0.json", "traces/rank1.json"]])
def test_an_input_is_not_written_over(cli, job, words, inputs):
    before = (job / "rank0.json").read_bytes()
    (job / "link.json").symlink_to("rank0.json")
    for name in ("rank0.json", "link.json"):
        done = cli(*words, "-o", f"traces/{name}", *inputs)
        assert done.returncode and len(done.stderr.splitlines()) == 1 and name in done.stderr
        assert (job / "rank0.json").read_bytes() == before
    (job / "link.json").unlink()
    assert cli(*words, "-o", "traces/report.json", *inputs).returncode == 0
    if words != ["timeline", "merge", "--overwrite"]:
        assert cli(*words, "-o", "traces/report.json", *inputs).returncode == 0


@pytest.mark.parametrize("words", [["profile"], ["timeline", "info"], ["run", "--sleep-time=0.1"], ["report"]])
def test_no_other_trace_is_written_over(cli, refused, job, traces, tmp_path, words):
    """That a report made is replaced, what a profiler made is not: not by its name, but by what it holds."""
    text = (job / "rank1.json").read_bytes()
    assert cli("run", "--quiet", "--disable-logs", "--tracking-file=own.csv", "--", "true").returncode == 0
    source = {"profile": [job / "rank0.json"], "timeline": [job], "run": ["--", "touch", "begun"], "report": ["own.csv"]}[words[0]]
    kept = {"rank1.json": text, "zipped.json": gzip.compress(text), "stats.json": (traces / "python3.13.prof").read_bytes()}
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("rank1.json", text)
    kept["archive.json"] = (tmp_path / "archive.zip").read_bytes()
    for name, data in kept.items():
        (tmp_path / name).write_bytes(data)
        sentence = refused(2, "is a trace or profile: give the report another name", *words, "-o", name, "-f", "json", *source)
        assert name in sentence and (tmp_path / name).read_bytes() == data
    for suffix in ("json", "csv", "txt"):
        for _ in range(2):
            form = [] if suffix != "txt" else ["-f", "text"]
            assert cli(*words, "-o", f"again.{suffix}", *form, *source).returncode == 0


def test_no_exported_table_is_written_over(cli, refused, job, tmp_path):
    path = tmp_path / "events.sqlite"
    assert cli("timeline", "export", job, "-o", path).returncode == 0
    before = path.read_bytes()
    refused(2, "is a database: give the report another name", "profile", "kernels", job, "-f", "json", "-o", path)
    assert path.read_bytes() == before
    assert cli("timeline", "export", job, "-o", path, "--overwrite").returncode == 0


def test_a_file_that_cannot_be_read_is_told(cli, profiled, job):
    os.symlink("rank2.json", job / "rank2.json")
    for words in ([], ["operators"]):
        assert "rank2.json: Too many levels" in profiled(*words, "traces")["unreadable"]
    assert "ignored" not in profiled("traces")
    assert json.loads(cli("timeline", "info", "traces", "--format=json").stdout)["unreadable"] == 1
    for rank in range(2):
        (job / f"rank{rank}.json").unlink()
    done = cli("profile", "traces")
    assert done.returncode and "rank2.json: Too many levels" in done.stderr


@pytest.mark.parametrize("data, why", [
    (b"", "it is empty"), (bytes(range(200, 250)), "no trace"), (b"<html>404</html>", "a page"),
    (b"PK\3\4", "a zip archive that is cut off"),
    *[(pack(b"[" + b" " * 999)[:10], "cut off") for pack in (gzip.compress, lzma.compress, bz2.compress)],
    (b'{"schedule": 1}', "no trace"),
])
def test_a_lost_rank_is_named(cli, profiled, job, data, why):
    (job / "rank12.json").write_bytes(data)
    for name in ("README", "train.py", "config.json"):
        (job / name).write_text("x")
    found = profiled("traces")
    assert found["doubtful"].startswith("traces/rank12.json: ") and why in found["doubtful"], found
    assert found["ignored"].startswith("3 other files")
    assert json.loads(cli("timeline", "info", "traces", "--format=json").stdout)["doubtful"] == 1
    for words in (["profile"], ["profile", "operators", "-f", "csv"], ["profile", "--table=sources"]):
        done = cli(*words, "traces")
        assert done.returncode == 0 and done.stderr.count("rank12.json: ") == 1 and "README" not in done.stderr
    (job / "rank12.json").unlink()
    assert cli("profile", "traces").stderr == "" and "doubtful" not in profiled("traces")


def test_a_rank_without_events_is_lost(cli, profiled, job):
    (job / "rank12.json").write_text("[]")
    (job / "notes.json").write_text("[]")
    assert profiled("traces")["doubtful"] == "traces/rank12.json: it holds no events"
    assert "rank12.json: it holds no events" in cli("profile", "traces", "-f", "csv").stderr


def test_lost_ranks_are_named_up_to_three(profiled, job):
    for rank in range(2, 9):
        (job / f"rank{rank}.json").touch()
    named = profiled("operators", "traces")["doubtful"]
    assert named.count("it is empty") == 3 and named.endswith("rank4.json: it is empty, and 4 more")


def test_a_rank_that_is_read_twice_is_told(profiled, job, tmp_path):
    assert "twice" not in profiled("operators", "traces")
    (tmp_path / "copy.json").write_bytes((job / "rank0.json").read_bytes())
    for words in ([], ["operators"]):
        told = profiled(*words, "copy.json", "traces")["twice"]
        assert told.startswith("rank 0 is in ") and "copy.json" in told and "rank0.json" in told and "overlap" in told
    write(tmp_path / "later.json", 1, event("cpu_op", "aten::mm", 1000, 10))
    assert "twice" not in profiled("later.json", "traces")


@pytest.mark.parametrize("words, naming", [
    (["operators", "--node", "rank 33"], "no node 'rank 33': there are rank 0, rank 1"),
    (["--node", "33"], "no node '33': there are rank 0, rank 1"),
    (["operators", "--select", "nomatch"], 'matches "nomatch"'),
    (["steps", "--start", "+1000"], "times from start to end"),
    (["operators", "--unit", "step", "--start", "7"], "steps from start to end"),
    (["steps", "--phase", "TRAIN"], "no phase 'TRAIN': there is ProfilerStep"),
])
def test_a_filter_that_matches_nothing_is_named(profiled, job, words, naming):
    assert naming in profiled(*words, "traces", status=4)["reason"]
    assert "reason" not in profiled("steps", "--phase", "ProfilerStep", "--node", "1", "--start", "+0", "traces")


@pytest.mark.parametrize("words, naming", [
    (["kernel", "traces"], "no analysis 'kernel': did you mean 'kernels'?"),
    (["traces", "kernels"], "an ANALYSIS comes before the paths: profile kernels PATH"),
    (["nosuch.json"], "'nosuch.json' is neither a file nor an analysis"),
    (["nosuch"], "'nosuch' is neither a file nor an analysis"),
    (["nosuch", "traces"], "no analysis 'nosuch': there are overview"),
])
def test_a_mistyped_analysis_leads_on(refused, job, words, naming):
    refused(2, naming, "profile", *words)


def test_negative_durations_are_damage(profiled, tmp_path):
    write(tmp_path / "a.json", 0, event("kernel", "gemm", 0, -50), event("kernel", "gemm", 1000, -50))
    found = profiled("a.json", status=4)
    assert found["findings"] == []
    assert "2 events or samples lost" in found["damaged"] and "duration is negative: gemm" in found["damaged"]


def test_damage_without_lost_events_is_not_counted_as_none(profiled, tmp_path):
    (tmp_path / "text.json").write_text('{"traceEvents": [1, "a", null]}')
    (tmp_path / "cut.json").write_text('{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1}')
    for name in ("text.json", "cut.json"):
        found = profiled(name, status=4 if name == "text.json" else 0)
        assert "damaged" in found and ": 0 " not in found["damaged"] and found["sources"][0]["trouble"]


@pytest.mark.parametrize("text", ['{"traceEvents": []}', "[]"])
def test_a_trace_without_events_says_so(cli, profiled, tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    found = profiled("a.json", status=4)
    assert found["sources"][0]["trouble"] == "no events" and found["findings"] == []
    for words in ([], ["kernels"], ["functions"], ["diff", "a.json"]):
        done = cli("profile", *words, "a.json")
        assert done.stdout == "No result: a.json: no events, samples or functions\n" and done.returncode == 4
        assert cli("profile", *words, "a.json", "-f", "json").stderr.endswith("a.json: no events, samples or functions\n")
    done = cli("profile", "-o", "page.html", "a.json")
    assert done.returncode == 4 and "no events" in done.stderr and "no events" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("analysis", [[], ["collectives"], ["kernels"], ["operators"], ["critical_path"], ["advice"]])
def test_a_node_that_is_not_there_is_one_sentence(cli, profiled, job, analysis):
    sentence = "no node 'rank1': there are rank 0, rank 1"
    for form in ([], ["--format=summary"]):
        done = cli("profile", *analysis, "traces", "--node=rank1", *form)
        assert (done.stdout, done.stderr, done.returncode) == (f"No result: {sentence}\n", "", 4)
    found = profiled(*analysis, "traces", "--node=rank1", status=4)
    assert found.pop("reason") == sentence and not any(found[table] for table in found if table != "sources")


def test_a_node_is_called_as_tables_call_it(profiled, tmp_path):
    """A file that names no node is one by its path."""
    for name in ("one.json", "two.json"):
        (tmp_path / name).write_text(json.dumps([event("cpu_op", "aten::mm", 0, 10)]))
    assert [row["node"] for row in profiled("operators", "one.json", "two.json", "--node=one.json")["operators"]] == ["one.json"]
    assert [row["node"] for row in profiled("one.json", "two.json", "--node=two.json")["ranks"]] == ["two.json"]
    assert profiled("one.json", "two.json", "--node=0", status=4)["reason"] == "no node '0': there are one.json, two.json"


def test_a_peak_without_its_unit_is_doubted(profiled, job):
    assert profiled("flops", "--peak-flops", "312", "traces")["warning"].endswith("is 312T meant?")
    assert "warning" not in profiled("flops", "--peak-flops", "312T", "traces")


def test_ranks_without_gpus_have_no_share_of_their_time(cli, job):
    assert "Ranks (% of their time):" in cli("profile", "traces").stdout


def test_a_small_chance_is_not_shown_as_none(cli, profiled, tmp_path):
    for name, duration in (("a.json", 100), ("b.json", 120)):
        write(tmp_path / name, 0, *(event(*what) for step in range(30) for what in (
            ("user_annotation", f"ProfilerStep#{step}", step * 1000, 900), ("cpu_op", "aten::mm", step * 1000 + 5, duration + step % 3))))
    assert "< 0.001" in cli("profile", "diff", "a.json", "b.json").stdout
    assert 0 < profiled("diff", "a.json", "b.json")["differences"][0]["p"] < 0.001


def test_functions_of_two_profiles_are_compared(cli, profiled, tmp_path):
    """A function whose line has moved is the same one; of two that share a name each is compared with its own."""
    for name, first, calls, slow in (("a.prof", 3, 1, 2.0), ("b.prof", 5, 4, 3.0)):
        functions = {("m.py", first, "f"): (calls, calls, slow, 9.0, {}), ("m.py", first + 9, "__init__"): (1, 1, 0.25, 1.0, {}),
                     ("m.py", first + 20, "__init__"): (1, 1, 0.5, 1.0, {}), ("m.py", 1, f"only_{name[0]}"): (1, 1, 1.0, 1.0, {})}
        (tmp_path / name).write_bytes(marshal.dumps(functions))
    found = profiled("diff", "a.prof", "b.prof")
    assert found["words"].startswith("Functions take 4.75 s in B, 3.75 s in A (+27 %): ")
    rows = {row["name"]: row for row in found["differences"]}
    assert {name: row["change"] for name, row in rows.items()} == {
        "m.py:5(f)": "changed", "m.py:14(__init__)": "same", "m.py:25(__init__)": "same", "m.py:1(only_a)": "removed",
        "m.py:1(only_b)": "added"}
    changed = rows["m.py:5(f)"]
    assert [changed[key] for key in ("count_a", "count_b", "total_a_us", "difference_percent")] == [1, 4, 2e6, 50]
    assert "m.py:5(f) takes 1 s more (+50 %)" in cli("profile", "diff", "a.prof", "b.prof").stdout


def test_equal_intervals_nest_alike_after_a_merge(cli, profiled, tmp_path):
    """The one that is begun first is around the other, whatever they are called."""
    (tmp_path / "pairs.json").write_text(json.dumps([
        {"ph": phase, "name": name, "cat": "cpu_op", "pid": 1, "tid": 1, "ts": time}
        for phase, name, time in (("B", "z_outer", 0), ("B", "a_inner", 0), ("E", "a_inner", 10), ("E", "z_outer", 10))]))
    assert cli("timeline", "merge", "pairs.json", "-o", "merged.json").returncode == 0
    for name in ("pairs.json", "merged.json"):
        rows = {row["name"]: row["self_us"] for row in profiled("operators", name)["operators"]}
        assert rows == {"z_outer": 0, "a_inner": 10}, name


def write_steps(path, count, loading, start=0):
    write(path, 0, *(event(*what) for at in range(count) for step in [at * 3000 + start] for what in (
        ("user_annotation", f"ProfilerStep#{at}", step, 800 + loading), ("user_annotation", "enumerate(DataLoader)#next", step, loading),
        ("kernel", "gemm", step + loading, 700))))


def test_waiting_for_a_slower_kernel_is_no_difference_of_the_host(cli, tmp_path):
    for name, length in (("a", 700), ("b", 900)):
        write(tmp_path / f"{name}.json", 0, *(event(*what) for step in range(6) for what in (
            ("user_annotation", f"ProfilerStep#{step}", 3000 * step, 100 + length), ("kernel", "gemm", 3000 * step + 50, length),
            ("cuda_runtime", "cudaStreamSynchronize", 3000 * step + 50, length))))
    said = cli("profile", "diff", "a.json", "b.json").stdout.splitlines()[0]
    assert said == ("What changed: A step takes 1 ms in B, 800 us in A (+25 %). "
                    "GPUs work 900 us a step in B, 700 us in A (+29 %): gemm takes 200 us more a step (+29 %)")


def test_more_steps_are_no_difference(cli, profiled, tmp_path):
    write_steps(tmp_path / "a.json", 8, 200)
    write_steps(tmp_path / "b.json", 6, 200)
    rows = profiled("diff", "a.json", "b.json")["differences"]
    assert [(row["change"], row["count_a"], row["count_b"], row["step_difference_us"], row["step_difference_percent"])
            for row in rows] == [("same", 8, 6, 0, 0)] * 3
    gemm = next(row for row in rows if row["name"] == "gemm")
    assert (gemm["total_a_us"], gemm["total_b_us"], gemm["step_a_us"], gemm["step_b_us"]) == (5600, 4200, 700, 700)
    said = cli("profile", "diff", "a.json", "b.json").stdout
    assert "step a (" in said and "total a" not in said


@pytest.mark.parametrize("suffix", ["gz", "xz", "bz2", "zst"])
def test_a_compressed_rank_is_named_beside_plain_ones(profiled, job, suffix):
    (job / f"rank2.json.{suffix}").write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\0")
    assert f"rank2.json.{suffix}" in json.dumps(profiled(job))
