"""sub-track compare with several runs of each session: verdicts, intervals, and the units of what JSON has."""
import json
import random
import re

import pytest

from test_compare import compare, summary_of

STATISTICS = ("min", "max", "mean", "std")
BLOCKS = ("load", "fit", "save")


def results(duration=2.0, cpu=1.8, ram=0.1447, blocks=None, version=2):
    """Results as sub-track analyze writes them, of made-up figures; RAM in gigabytes."""
    gauges = {"combined_ram": ram * 0.9, "cpu_combined_sum_utilization_percent": cpu / duration * 100,
              "combined_rss": ram * 1e9}
    return {
        "overall": {name: dict.fromkeys(STATISTICS, value) for name, value in gauges.items()},
        "static_data": {"ram_unit": "gigabytes", "gpu_ram_unit": "gigabytes"},
        "code_block_results": [
            {"name": name, "num_timepoints": 3, "num_calls": 1, "num_non_empty_calls": 1,
             "compute_time": {**dict.fromkeys(STATISTICS, time), "total": time},
             "resource_usage": {"combined_ram": dict.fromkeys(STATISTICS, memory)},
             "counters": {"combined_cpu_time": {"total": time * 0.9, "num_samples": 3}}}
            for name, (time, memory) in (blocks or {}).items()],
        "overall_counters": {"combined_cpu_time": {"total": cpu, "num_samples": 3}},
        "peaks": {"combined_ram_peak": ram * 1e9 if version > 1 else ram, "combined_threads_peak": 3.0},
        "duration": duration,
        "results_version": version,
    }


@pytest.fixture
def sessions(tmp_path):
    """sessions(a=[results, ...], b=[...]): the words that name them all to the program."""

    def write(**named):
        words = []
        for name, runs in named.items():
            for number, run in enumerate(runs):
                (tmp_path / f"{name}{number}.json").write_text(json.dumps(run))
                words += ["-m", f"{name}={name}{number}.json"]
        return words

    return write


def one_run(chance, factor=1.0):
    """A run of a program of three blocks: what is slow is slow everywhere, and memory comes in pages, mostly."""
    slow = factor * (1 + 0.03 * chance.gauss(0, 1))
    times = {name: slow * (1 + 0.02 * chance.gauss(0, 1)) for name in BLOCKS}
    blocks = {name: (time, round(25000 + chance.gauss(0, 20)) * 4096e-9) for name, time in times.items()}
    duration = sum(times.values())
    return results(duration, duration * (0.9 + 0.01 * chance.gauss(0, 1)), chance.choice([0.1447, 0.1502]), blocks)


def significant(cli, words):
    return {(row["name"], row["figure"]): row["significant"] for row in compare(cli, *words)["significance"]}


def test_runs_of_one_program_are_seldom_called_different(cli, sessions):
    """12 runs, divided by chance 4 against 4: in 5 of 100 comparisons some row may be called significant."""
    chance = random.Random(12)
    runs = [one_run(chance) for _ in range(12)]
    comparisons, wrong = 60, 0
    for _ in range(comparisons):
        chosen = chance.sample(runs, 8)
        verdicts = significant(cli, sessions(a=chosen[:4], b=chosen[4:]))
        assert len(verdicts) == 4 + 3 * len(BLOCKS) and set(verdicts.values()) <= {"yes", "no"}
        wrong += "yes" in verdicts.values()
    assert wrong <= 7  # of 60: more than that with a probability below 1 %


def test_a_slower_program_is_found(cli, sessions):
    chance = random.Random(4)
    found = 0
    for _ in range(10):
        verdicts = significant(cli, sessions(a=[one_run(chance) for _ in range(5)],
                                             b=[one_run(chance, 1.3) for _ in range(5)]))
        found += verdicts[None, "duration"] == "yes" and verdicts[None, "counters.combined_cpu_time"] == "yes"
        assert verdicts[None, "combined_ram_peak"] == "no"
    assert found >= 9


@pytest.mark.parametrize("runs", [(1, 1), (2, 2), (3, 3), (3, 9)])
def test_few_runs_have_an_interval_and_no_verdict(cli, sessions, runs):
    words = sessions(a=[results(duration=1 + i / 100) for i in range(runs[0])],
                     b=[results(duration=2 + i / 100) for i in range(runs[1])])
    [row] = [row for row in compare(cli, *words)["significance"] if row["figure"] == "duration"]
    assert row["significant"] == "too few runs" and row["p"] is None
    assert (row["baseline_runs"], row["runs"]) == runs
    if min(runs) == 1:
        assert row["low"] is None and row["high"] is None
    else:
        assert row["low"] < row["difference"] < row["high"]
    assert summary_of(cli("sub-track", "compare", *words).stdout)["whole job", "Time (seconds)"][-1] == "too few runs"


def test_a_file_given_twice_counts_once(cli, sessions, tmp_path):
    words = sessions(a=[results(2.0)], b=[results(3.0)])
    (tmp_path / "link.json").symlink_to("a0.json")
    done = cli("sub-track", "compare", *words, *4 * ["-m", "a=link.json"], *3 * ["-m", "b=./b0.json"], "-f", "json")
    assert {row["significant"] for row in json.loads(done.stdout)["significance"]} == {"too few runs"}, done.stdout
    sentences = done.stderr.splitlines()
    assert 'gpu-tracker: link.json: session "a" has the same file already: it counts once' in sentences and len(sentences) == 7


def test_intervals_are_welchs(cli, sessions):
    words = sessions(a=[results(duration=x) for x in (1, 2, 3.5, 4)], b=[results(duration=x) for x in (5, 6.5, 9)])
    tree = compare(cli, *words)
    for row in tree["significance"][0], tree["overall_differences"][-1]:
        assert row.get("figure", row.get("measurement")) == "duration"
        assert [row["low"], row["high"]] == pytest.approx([0.1491818691880793, 8.267484797478588])  # scipy's
    assert compare(cli, *words) == tree, "the same random numbers every time"


def test_rows_that_a_run_lacks(cli, sessions):
    """The verdict counts the runs that have the figure."""
    runs = [results(duration=1 + i / 100) for i in range(4)]
    del runs[0]["peaks"]["combined_ram_peak"]
    rows = {row["figure"]: row for row in compare(cli, *sessions(a=runs, b=runs[1:] + [results()]))["significance"]}
    assert rows["combined_ram_peak"]["significant"] == "too few runs"
    assert (rows["combined_ram_peak"]["baseline_runs"], rows["combined_ram_peak"]["runs"]) == (3, 4)
    assert rows["duration"]["significant"] in ("yes", "no")


def test_json_has_bytes_where_its_neighbours_are_bytes(cli, sessions):
    words = sessions(a=[results(ram=0.1447, blocks={"fit": (1.0, 0.13)})], b=[results(ram=0.2, blocks={"fit": (1.0, 0.1)})])
    tree = compare(cli, *words)
    rows = {row["measurement"]: row for row in tree["overall_differences"]}
    for name in "combined_ram_peak", "combined_rss":
        assert [rows[name][key] for key in ("baseline", "value", "difference")] == pytest.approx([144.7e6, 200e6, 55.3e6])
        assert rows[name]["unit"] == "bytes"
    assert rows["combined_threads_peak"]["value"] == 3 and rows["combined_threads_peak"]["unit"] == "count"
    assert (rows["combined_ram"]["value"], rows["combined_ram"]["unit"]) == (pytest.approx(0.18), "gigabytes")
    assert tree["overall_resource_usage"]["combined_ram"]["b"] == pytest.approx(0.18), "the original's key"
    rows = {(row["name"], row["figure"]): row for row in tree["significance"]}
    assert {row["unit"] for row in rows.values()} == {"seconds", "percent", "bytes"}
    assert rows[None, "combined_ram_peak"]["value"] == pytest.approx(200e6)
    assert rows["fit", "combined_ram.max"]["value"] == pytest.approx(100e6)


def test_results_of_an_earlier_version(cli, sessions):
    """Their peaks are in the unit of the session."""
    words = sessions(old=[results(ram=0.1447, version=1)], new=[results(ram=0.1447)])
    tree = compare(cli, *words)
    [row] = [row for row in tree["overall_differences"] if row["measurement"] == "combined_ram_peak"]
    assert row["baseline"] == row["value"] == pytest.approx(144.7e6)
    compare(cli, *words, "--fail-if", "combined_ram_peak>0.2")
    compare(cli, *words, "--fail-if", "combined_ram_peak>100MB", status=3)


def test_rules_name_their_unit(cli, sessions):
    words = sessions(a=[results(ram=0.1447)], b=[results(ram=0.2)])
    limits = {"combined_ram_peak>+25%": (0.2, 0.180875, "gigabytes"), "combined_ram_peak>150MB": (0.2, 0.15, "gigabytes"),
              "combined_rss.max>150MB": (200e6, 150e6, "bytes"), "duration>1min": (2, 60, "seconds"),
              "combined_threads_peak>5": (3, 5, "count")}
    rules = [word for rule in limits for word in ("--fail-if", rule)]
    for row in compare(cli, *words, *rules, status=3)["rules"]:
        assert (row["value"], row["limit"], row["unit"]) == pytest.approx(limits[row["rule"]])


@pytest.mark.parametrize("rule, sentence", [
    ("memory>+25%", "memory 200 MB is above 181 MB"),
    ("memory>150MB", "memory 200 MB is above 150 MB"),
    ("combined_ram_peak>+25%", "200 MB is above 181 MB"),
    ("time>1s", "time 2.0 s is above 1.0 s"),
    ("cpu>0.5cores", "cpu 0.9 is above 0.5 cores"),
    ("cpu>0.3333333cores", "cpu 0.9 is above 0.33 cores"),
    ("memory>199999999B", "memory 0.2 is above 0.199999999 gigabytes"),
])
def test_rules_have_the_names_and_units_of_a_run(cli, sessions, rule, sentence):
    words = sessions(a=[results(ram=0.1447)], b=[results(ram=0.2)])
    done = cli("sub-track", "compare", *words, "--fail-if", rule, "-f", "json")
    assert (done.returncode, done.stderr) == (3, f"gpu-tracker: rule '{rule}' is broken by session \"b\": {sentence}\n")
    assert cli("sub-track", "compare", *words, "--fail-if", "memory>+60%", "--fail-if", "cpu>2cores").returncode == 0
    page = cli("sub-track", "compare", *words, "--fail-if", rule, "-f", "html").stdout.split("<h2>Rules</h2>")[1].split("</table>")[0]
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", page)
    assert sentence.endswith(f"{cells[2]} is above {cells[3]}") and "gigabytes" not in cells[2], cells


def test_cpu_is_exact_where_a_job_was_too_short_for_a_mean(cli, sessions):
    first, second = results(cpu=1.0), results(cpu=1.5)
    for short in (first, second):
        del short["overall"]["cpu_combined_sum_utilization_percent"]
    words = sessions(a=[first], b=[second])
    told = {"cpu>+20%": "cpu 0.75 is above 0.6 cores", "cpu_time>+20%": "1.5 s is above 1.2 s", "cpu_time>1.4s": "1.5 s is above 1.4 s"}
    for rule, sentence in told.items():
        done = cli("compare", *words, "--fail-if", rule)
        assert done.returncode == 3 and sentence in done.stderr, done.stderr
    assert cli("compare", *words, "--fail-if", "cpu_time>+60%").returncode == 0
    del first["overall_counters"], second["overall_counters"]
    assert "it was not measured" in cli("compare", *sessions(a=[first], b=[second]), "--fail-if", "cpu>+20%").stderr


def test_a_run_that_failed_keeps_no_rule(cli, sessions):
    whole, early = results(), results(duration=0.1, cpu=0.01, ram=0.001)
    early["exit_status"], whole["exit_status"] = 4, 0
    words = sessions(a=[whole, whole], b=[whole, early])
    done = cli("compare", *words, "--fail-if", "memory>+5%")
    assert done.returncode == 3 and 'session "b": 1 of 2 runs failed, the first with status 4' in done.stderr, done.stderr
    assert "rule 'memory>+5%' is broken by session \"b\": a run ended with status 4" in done.stderr
    assert cli("compare", *words, "--fail-if", "memory>+5%", "--allow-partial").returncode == 0
    assert json.loads(cli("compare", *words, "-f", "json").stdout)["failed"] == [
        {"session": "b", "runs": 2, "failed": 1, "exit_status": 4}]
    assert "Runs That Failed" in cli("compare", *words, "-f", "markdown").stdout
    both = sessions(a=[early], b=[early])
    assert cli("compare", *both, "--fail-if", "memory>+5%").returncode == 0
    assert cli("compare", *sessions(a=[early], b=[whole]), "--fail-if", "memory>+900000%").returncode == 3


def test_a_run_without_a_sample_has_its_cpu_time(cli):
    for number in range(2):
        assert cli("run", "--tf", f"{number}.sqlite", "--st=60", "--", "sh", "-c", ":").returncode == 0
    rows = json.loads(cli("compare", "0.sqlite", "1.sqlite", "-f", "json").stdout)["significance"]
    known = {row["figure"]: row["value"] for row in rows if row["name"] is None}
    assert known["counters.combined_cpu_time"] > 0 and known["cpu_combined_sum_utilization_percent.mean"] > 0


def test_results_without_peaks_have_memory(cli, sessions):
    run = {name: value for name, value in results().items() if name != "peaks"}
    done = cli("sub-track", "compare", *sessions(a=[run], b=[run]), "--fail-if", "memory>100MB")
    assert done.returncode == 3 and "memory 130 MB is above 100 MB" in done.stderr


@pytest.mark.parametrize("wrong, near", [("combined_rum.max", "; near: combined_ram.max, combined_rss.max"),
                                         ("ram_peak", "; near: combined_ram_peak"),
                                         ("speed", "")])
def test_a_wrong_name_tells_near_ones(sessions, refused, wrong, near):
    words = sessions(a=[results()], b=[results()])
    refused(2, f"power, gpu and gpu-memory, and those of the results{near}", "sub-track", "compare", *words, "--fail-if",
            f"{wrong}>5")


def test_the_cpu_time_of_short_runs(cli, truth):
    for name in "ab":
        assert cli("run", "-q", "--no-history", "--tf", f"{name}.sqlite", "--", *truth("burn", 0.2, 1, 1)).returncode == 0
    words = "compare", "a=a.sqlite", "b=b.sqlite", "--fail-if"
    assert cli(*words, "cpu_time>1min").returncode == 0 and cli(*words, "cpu>9cores").returncode == 0
    done = cli(*words, "cpu_time>1ms")
    assert done.returncode == 3 and re.search(r"\S+ m?s is above 1\.?0* ms", done.stderr), done.stderr


def test_peaks_of_an_analysis_are_in_bytes(cli, tmp_path):
    assert cli("run", "--disable-logs", "--tf", "x.sqlite", "--", "sleep", "0.2").returncode == 0
    words = ("sub-track", "compare", "-m", "a=x.sqlite", "-m", "b=x.sqlite")
    report = cli("report", "x.sqlite", "-f", "json", "--ram-unit", "bytes").stdout
    peak = json.loads(report)["max_ram"]["combined"]["total_rss"]
    [row] = [row for row in json.loads(cli(*words, "-f", "json").stdout)["overall_differences"]
             if row["measurement"] == "combined_ram_peak"]
    assert row["value"] == row["baseline"] == peak > 1e5


@pytest.mark.parametrize("rams, is_told", [((0.11, 0.15, 0.11, 0.15), True), ((0.14, 0.15, 0.14, 0.15), False)])
def test_a_broken_rule_says_when_it_may_be_chance(cli, sessions, rams, is_told):
    words = sessions(a=[results(ram=ram) for ram in (0.10, 0.14, 0.10, 0.10) if is_told or ram == 0.10],
                     b=[results(ram=ram) for ram in rams])
    done = cli("compare", *words, "--fail-if=memory>+10%", "--fail-if=memory>120MB")
    change, absolute = [line for line in done.stderr.splitlines() if "is broken" in line]
    assert done.returncode == 3 and ("may be chance" in change) == is_told and "may be chance" not in absolute


def test_runs_of_one_session_have_nothing_to_compare_with(refused, tmp_path):
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps(results()))
    refused(2, "'A=a.json' alone has nothing to be compared with", "compare", "A=a.json", "A=b.json")
