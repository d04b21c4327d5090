"""Energy in reports: recordings of known power, joined with blocks, and what the figures come to."""
import csv
import json
import os
import pathlib
import shutil
import subprocess

import pytest

START = 1_700_000_000
STATIC = {"ram_unit": "megabytes", "gpu_ram_unit": "gigabytes", "time_unit": "seconds", "ram_system_capacity": 1000,
          "gpu_ram_system_capacity": 0, "system_core_count": 4, "n_expected_cores": 4, "system_gpu_count": 0,
          "n_expected_gpus": 0, "start": START, "idle_policy": "share", "cpu_energy_source": "RAPL by powercap",
          "cpu_energy_refresh": 0.001, "gpu_energy_source": "NVML", "gpu_energy_refresh": 0.1, "layout": 1}


def write(path, *tables):
    """One CSV file of tables, each a list of dictionaries."""
    with open(path, "w", newline="") as file:
        for rows in tables:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    return str(path)


def sample(second, *, cpu=20.0, share=0.5, gpu=100.0, cpu_time=1.0):
    """A machine that draws these watts from the start, and a job with that share of its CPU energy."""
    joules = cpu * second
    return {"timestamp": START + second, "main_ram": 1, "combined_ram": 1, "combined_cpu_time": cpu_time * second,
            "system_cpu_energy": joules, "combined_cpu_energy": joules * share,
            "system_cpu_energy_other": joules * (1 - share) - second, "system_cpu_energy_idle": second,
            "system_cpu_energy_unattributed": 0, "system_gpu_energy": gpu * second,
            "combined_gpu_energy": gpu * second, "system_gpu_energy_other": 0, "system_gpu_energy_idle": 0,
            "system_gpu_energy_unattributed": 0}


def blocks(path, *calls):
    """Calls of (name, start, stop, CPU seconds at start and stop)."""
    rows = []
    for number, (name, start, stop, *cpu) in enumerate(calls):
        for position, time in ((0, start), (1, stop)):
            row = {"process_id": 7, "thread_id": 7, "code_block_name": name, "position": position,
                   "timestamp": START + time, "call": number}
            rows.append({**row, "cpu_time": cpu[position]} if cpu else row)
    return write(path, rows)


@pytest.fixture
def recording(tmp_path):
    """recording(seconds, NAME=VALUE of the static data): path of a tracking file with a sample every second."""

    def make(seconds=4, name="tracking.csv", samples=None, **static):
        rows = samples or [sample(second) for second in range(seconds + 1)]
        return write(tmp_path / name, [{**STATIC, **static}], rows)

    return make


def results(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_report_tells_source_method_and_uncertainty(cli, recording):
    energy = results(cli("report", recording(4), "-f", "json"))["energy"]
    cpu = energy["cpu"]
    assert cpu["total"] == 80 and cpu["job"] == 40 and cpu["other"] == 36 and cpu["idle"] == 4
    assert cpu["source"] == "RAPL by powercap" and "busy CPU time" in cpu["method"] and cpu["refresh"] == 0.001
    tick = 1 / os.sysconf("SC_CLK_TCK")
    assert cpu["error"] == pytest.approx(0.001 * 2 * 20)  # between samples that are far apart power may be twice the mean
    assert cpu["job_error"] == pytest.approx((0.001 + tick) * 2 * 10)
    assert energy["gpu"]["error"] == pytest.approx(0.1 * 2 * 100)
    assert energy["dram"]["total"] is None and energy["dram"]["source"] is None
    assert energy["job"] == 440 and energy["idle_policy"] == "share"


def test_what_does_not_add_up_is_told(cli, recording):
    rows = [sample(second) for second in range(3)]
    rows[-1]["system_cpu_energy_other"] = 7
    done = cli("report", recording(samples=rows))
    assert "(does not add up)" in done.stdout


def test_without_a_counter_there_is_one_line_and_no_zero(cli, recording):
    rows = [{key: value for key, value in sample(second).items() if "energy" not in key} for second in range(3)]
    tracking = recording(samples=rows, cpu_energy_source="", gpu_energy_source="")
    text = cli("report", tracking).stdout
    assert [line for line in text.splitlines() if "nergy" in line] == ["Energy: n/a: not in the recording"]
    energy = results(cli("report", tracking, "-f", "json"))["energy"]
    assert energy["job"] is None and energy["cpu"]["total"] is None and energy["cpu"]["error"] is None
    analyzed = cli("sub-track", "analyze", "--tf", tracking, "--stf", blocks(tracking + ".blocks.csv", ("a", 1, 2)))
    assert " 0 J" not in analyzed.stdout and "onservation" not in analyzed.stdout


def analyze(cli, tracking, *calls, words=()):
    done = cli("sub-track", "analyze", "--tf", tracking, "--stf", blocks(tracking + ".blocks.csv", *calls), "-f",
               "json", *words)
    return {block["name"]: block["energy"] for block in results(done)["code_block_results"]}, results(done)


def test_blocks_by_time(cli, recording):
    energy, whole = analyze(cli, recording(4), ("whole", 1, 3), ("edge", 1, 2.5), ("twice", 0, 1), ("twice", 2, 3))
    assert energy["whole"]["cpu"]["energy"] == pytest.approx(20)
    assert energy["whole"]["cpu"]["energy_error"] == pytest.approx(0.01)
    assert energy["whole"]["gpu"]["energy"] == pytest.approx(200)
    assert energy["whole"]["total"]["energy"] == pytest.approx(220)
    assert energy["edge"]["cpu"]["energy"] == pytest.approx(15)
    assert energy["edge"]["cpu"]["energy_error"] == pytest.approx(5 + 0.01)
    assert energy["twice"]["cpu"]["energy"] == pytest.approx(20)
    assert "dram" not in energy["whole"] and energy["whole"]["cpu"]["method"] == "share of time"
    assert whole["energy"]["job"] == 440


def test_a_block_shorter_than_the_counters_refresh_is_not_zero(cli, recording):
    energy, _ = analyze(cli, recording(4), ("tiny", 1.5, 1.50001))
    tiny = energy["tiny"]["gpu"]
    assert tiny["energy"] == pytest.approx(0.001, rel=1e-2)
    assert tiny["energy_error"] == pytest.approx(100 + 10, rel=1e-3)


def test_overlapping_calls_count_once(cli, recording):
    energy, _ = analyze(cli, recording(4), ("outer", 1, 3), ("outer", 1.5, 2.5), ("inner", 2, 3))
    assert energy["outer"]["gpu"]["energy"] == pytest.approx(200)
    assert energy["inner"]["gpu"]["energy"] == pytest.approx(100)


def test_blocks_by_cpu_time(cli, recording):
    # The job's second of CPU time in the gap from 1 to 2 is all the block's, though it took a quarter of it.
    energy, _ = analyze(cli, recording(4), ("busy", 1.25, 1.5, 5.0, 6.0), ("quiet", 2.1, 2.9, 6.0, 6.05))
    assert energy["busy"]["cpu"]["method"] == "share of CPU time"
    assert energy["busy"]["cpu"]["energy"] == pytest.approx(10)
    assert energy["busy"]["cpu"]["energy_error"] == pytest.approx(0.01)
    assert energy["quiet"]["cpu"]["energy"] == pytest.approx(0.5)
    assert energy["busy"]["gpu"]["energy"] == pytest.approx(25)


def test_energy_of_others_is_in_a_block_as_their_cpu_time_is(cli, recording):
    rows = [{**sample(second), "main_cpu_time": second / 2, "descendants_cpu_time": second / 2} for second in range(5)]
    found, report = analyze(cli, recording(samples=rows, pid=7), ("waits", 1, 3, 0.0, 0.0), ("works", 3, 4, 0.0, 0.5))
    cpu = {block["name"]: block["cpu_time"] for block in report["code_block_results"]}
    assert cpu["waits"]["others"] == pytest.approx(1) and cpu["waits"]["known"] == "estimated"
    assert found["waits"]["cpu"]["energy"] == pytest.approx(10)
    assert found["waits"]["cpu"]["energy_error"] >= 10  # it may as well have been none of it
    assert found["waits"]["cpu"]["method"] == "share of CPU time"
    assert found["works"]["cpu"]["energy"] == pytest.approx(10)


def test_a_counter_that_stood_still_between_two_samples_is_interpolated(cli, recording):
    rows = [sample(second) for second in range(5)]
    for key in rows[2]:
        if "gpu_energy" in key:
            rows[2][key] = rows[1][key]
    energy, _ = analyze(cli, recording(samples=rows), ("a", 1, 2))
    assert energy["a"]["gpu"]["energy"] == pytest.approx(100)
    assert energy["a"]["gpu"]["energy_error"] == pytest.approx(100 + 10)


def test_calls_and_cost(cli, recording):
    tracking = recording(4, carbon_intensity=360, carbon_source="Utopia, 2023, a table", price=0.36, currency="EUR")
    energy, whole = analyze(cli, tracking, ("a", 1, 2), ("a", 2, 4), words=["--calls"])
    assert [call["energy"] for call in whole["calls"]] == pytest.approx([110, 220])
    assert [call["energy_error"] for call in whole["calls"]] == pytest.approx([10.01, 10.01])
    assert [call["carbon"] for call in whole["calls"]] == pytest.approx([0.011, 0.022])
    assert [call["price"] for call in whole["calls"]] == pytest.approx([1.1e-5, 2.2e-5])
    assert energy["a"]["total"]["carbon"] == pytest.approx(0.033)
    assert whole["energy"]["carbon_source"] == "Utopia, 2023, a table"
    assert "EUR" in cli("report", tracking).stdout


def test_the_end_of_the_run_counts_though_no_sample_was_there(cli, recording):
    tracking = recording(samples=[sample(0), sample(1)], complete=1, elapsed=1.5, final_system_cpu_energy=40,
                         final_combined_cpu_energy=30, final_combined_cpu_time=2)
    energy, _ = analyze(cli, tracking, ("end", 1, 1.5))
    assert energy["end"]["cpu"]["energy"] == pytest.approx(20)


def test_compare_shows_energy_and_judges_it(cli, recording, tmp_path):
    for name, watts in (("old", 20), ("new", 30)):
        tracking = recording(name=f"{name}.csv", samples=[sample(second, cpu=watts) for second in range(5)])
        done = cli("sub-track", "analyze", "--tf", tracking, "--stf", blocks(tmp_path / "b.csv", ("train", 1, 3)), "-f",
                   "json", "-o", f"{name}.json")
        assert done.returncode == 0, done.stderr
    sessions = ["sub-track", "compare", "-m", "old=old.json", "-m", "new=new.json"]
    compared = results(cli(*sessions, "-f", "json"))
    assert compared["energy"]["cpu"] == {"old": 40, "new": 60}
    assert compared["energy"]["total"] == {"old": 440, "new": 460}
    assert compared["code_block_energy"]["train"] == pytest.approx({"old": 220, "new": 230})
    cpu = next(row for row in compared["energy_differences"] if row["measurement"] == "cpu")
    assert cpu["difference"] == 20 and cpu["percent"] == 50
    kept = ["energy.cpu>+51%", "energy.total>+30J", "energy.total>1kJ", "block:train.energy.total>+5%"]
    broken = ["energy.cpu>+49%", "energy.total>0.0001kWh", "block:train.energy.cpu>+4J", "energy.gpu<500J"]
    assert cli(*sessions, *(f"--fail-if={rule}" for rule in kept)).returncode == 0
    for rule in broken:
        assert cli(*sessions, f"--fail-if={rule}").returncode == 3, rule
    refused = cli(*sessions, "--fail-if=energy.dram>5J")
    assert refused.returncode == 3 and "it was not measured" in refused.stderr


def test_carbon_of_a_region_and_price_with_a_currency(cli, recording, tmp_path):
    tracking = recording(4)
    energy = results(cli("report", tracking, "-f", "json", "--carbon-intensity", "fr", "--price", "0.36 EUR"))["energy"]
    assert energy["carbon_intensity"] == 56 and energy["carbon_source"].startswith("France, 2023, Ember")
    assert energy["carbon"] == pytest.approx(440 / 3.6e6 * 56)
    assert energy["price"] == pytest.approx(440 / 3.6e6 * 0.36)
    assert "EUR" in cli("report", tracking, "--price=0.36 EUR").stdout
    (tmp_path / "own.csv").write_text("grams_per_kwh,source,year,name,region\n7.5,our meter,2026,The Roof,HOME\n")
    energy, whole = analyze(cli, tracking, ("a", 1, 2), words=["--carbon-intensity=HOME", "--carbon-file=own.csv"])
    assert energy["a"]["total"]["carbon"] == pytest.approx(110 / 3.6e6 * 7.5)
    assert whole["energy"]["carbon_source"] == "The Roof, 2026, our meter"
    number = results(cli("report", tracking, "-f", "json", "--carbon-intensity=100"))["energy"]
    assert number["carbon_intensity"] == 100 and number["carbon_source"] == "given by the user"


def test_every_region_that_is_installed_has_a_year_and_a_source(cli, recording):
    path = pathlib.Path(__file__).parents[2] / "share" / "gpu-tracker" / "carbon-intensity.csv"
    regions = list(csv.DictReader(path.open()))
    assert len(regions) == len({row["region"] for row in regions}) > 10
    for row in regions:
        assert 2020 <= int(row["year"]) <= 2026 and len(row["source"]) > 3 and 0 < float(row["grams_per_kwh"]) < 1500
    tracking = recording(1)
    for row in regions:
        energy = results(cli("report", tracking, "-f", "json", "--carbon-intensity", row["region"]))["energy"]
        assert energy["carbon_intensity"] == float(row["grams_per_kwh"])


def test_a_program_that_was_copied_alone_knows_the_regions(gpu_tracker, cli, recording, tmp_path):
    (tmp_path / "bin").mkdir()
    alone = shutil.copy(gpu_tracker, tmp_path / "bin")
    installed = results(cli("report", recording(1), "-f", "json", "--carbon-intensity", "FR"))["energy"]
    words = [alone, "report", recording(1), "-f", "json", "--carbon-intensity"]
    assert results(subprocess.run([*words, "FR"], capture_output=True, text=True, check=True))["energy"] == installed
    done = subprocess.run([*words, "Swe"], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and done.stderr.endswith("a region of carbon-intensity.csv; near are SE (Sweden)\n")


@pytest.mark.parametrize("words, naming", [
    (["--carbon-intensity=Atlantis"], "\"Atlantis\" is neither a number nor a region of"),
    (["--carbon-intensity=Swe"], "; near are SE (Sweden)"),
    (["--carbon-intensity=United"], "; near are AE (United Arab Emirates), GB (United Kingdom), UK (United Kingdom), US (United States)"),
    (["--carbon-intensity=FRA"], "; near are FR (France)"),
    (["--carbon-intensity=-5"], "from 0"),
    (["--carbon-intensity=nan"], "nan"),
    (["--carbon-intensity=FR", "--carbon-file=absent.csv"], "absent.csv"),
    (["--carbon-intensity=FR", "--carbon-file=wrong.csv"], "no column \"source\""),
    (["--carbon-intensity=FR", "--carbon-file=bad.csv"], "bad.csv, line 2: \"many\" is not a number"),
    (["--price=cheap"], "\"cheap\" must begin with a number"),
    (["--price=-1"], "from 0"),
    (["--price=1 EURO-OR-SOMETHING-LIKE-IT"], "too long"),
])
def test_bad_costs_are_refused(cli, recording, tmp_path, words, naming):
    (tmp_path / "wrong.csv").write_text("region,name,year,grams_per_kwh\nFR,France,2023,5\n")
    (tmp_path / "bad.csv").write_text("region,name,year,grams_per_kwh,source\nFR,France,2023,many,us\n")
    tracking = recording(1)
    for command in (["report", tracking], ["run", *words, "--", "true"]):
        done = cli(*command, *(words if command[0] == "report" else []))
        assert done.returncode != 0 and naming in done.stderr and len(done.stderr.splitlines()) == 1, done


def test_costs_come_from_configuration_too(cli, recording, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"carbon_intensity": 50, "price": "2 CHF", "idle": "exclude"}))
    done = cli("run", "--tconfig=config.json", "--tracking-file=t.csv", "--", "true")
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "t.csv", newline="") as file:
        static = next(csv.DictReader(file))
    assert static["carbon_intensity"] == "50.0" and static["price"] == "2.0" and static["currency"] == "CHF"
    assert static["idle_policy"] == "exclude"


def test_phases_and_steps_of_a_trace(cli, recording, tmp_path):
    tracking = recording(4, host="here")
    blocks(tmp_path / "blocks.csv", ("train", 1, 3), ("eval", 3, 3.5))
    found = results(cli("profile", "phases", tracking, tmp_path / "blocks.csv", "-f", "json"))
    phases = {row["phase"]: row for row in found["phases"]}
    assert phases["train"]["energy"] == pytest.approx(220)
    assert phases["train"]["energy_error"] == pytest.approx(10.01)
    assert phases["eval"]["energy"] == pytest.approx(55)
    assert phases["eval"]["energy_error"] == pytest.approx(55 + 10.01)
    assert found["energy"]["parts"] == "share of time" and found["energy"]["gpu"]["refresh"] == 0.1
    assert found["energy"]["job"] == 440
    trace = [{"name": f"ProfilerStep#{step}", "ph": "X", "pid": 1, "tid": 1, "ts": (START + 1 + step) * 1e6,
              "dur": 500000, "cat": "user_annotation"} for step in range(2)]
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": trace}))
    words = ["--carbon-intensity=36", "--price=36 EUR"]
    done = cli("profile", "steps", tracking, tmp_path / "trace.json", "-f", "json", *words)
    [steps] = results(done)["steps"]
    assert steps["steps"] == 2 and steps["energy"] == pytest.approx(110)
    assert steps["energy_error"] == pytest.approx(110 + 2 * 10.01) and steps["carbon"] == pytest.approx(110 / 1e5)
    assert steps["price"] == pytest.approx(110 / 1e5)
    text = cli("profile", "steps", tracking, tmp_path / "trace.json").stdout
    assert "J this tree" in text.splitlines()[-1] or "J this tree" in text
    assert "does not take 'price'" in cli("profile", "kernels", tracking, "--price=3").stderr


def test_the_same_stretch_is_as_sure_as_a_block_a_call_and_a_phase(cli, recording, tmp_path):
    tracking = recording(4, host="here")
    energy, whole = analyze(cli, tracking, ("train", 1.25, 3), words=["--calls"])
    blocks(tmp_path / "blocks.csv", ("train", 1.25, 3))
    found = results(cli("profile", "phases", tracking, tmp_path / "blocks.csv", "-f", "json"))
    [phase] = [row for row in found["phases"] if row["phase"] == "train"]
    for figure in (energy["train"]["total"], whole["calls"][0], phase):
        assert figure["energy_error"] == pytest.approx(0.75 * 110 + 10.01)


def test_parts_of_an_estimate_are_marked_and_have_no_error(cli, recording, tmp_path):
    tracking = recording(4, host="here", cpu_energy_source="estimated by CPU use: 65 W with all cores busy",
                         cpu_energy_refresh="")
    energy, whole = analyze(cli, tracking, ("a", 1, 2), words=["--calls"])
    certainty = {device: row["energy_certainty"] for device, row in energy["a"].items()}
    assert certainty == {"cpu": "estimated", "gpu": "measured", "total": "estimated"}
    assert energy["a"]["cpu"]["energy_error"] is None and energy["a"]["gpu"]["energy_error"] == pytest.approx(10)
    assert whole["calls"][0]["energy_certainty"] == "estimated"
    blocks(tmp_path / "blocks.csv", ("train", 1, 3))
    for format in ("text", "markdown", "csv", "html", "json"):
        done = cli("profile", "phases", tracking, tmp_path / "blocks.csv", "-f", format)
        assert done.returncode == 0 and "estimated" in done.stdout


def test_compare_shows_units_and_estimates(cli, recording, tmp_path):
    for name, private in (("old", 1_500_000), ("new", 2_500_000)):
        rows = [{**sample(second), "main_ram_private": private} for second in range(4)]
        source = "estimated by CPU use: 65 W with all cores busy" if name == "new" else "RAPL by powercap"
        tracking = recording(name=f"{name}.csv", samples=rows, cpu_energy_source=source)
        done = cli("sub-track", "analyze", "--tf", tracking, "--stf", blocks(tracking + ".blocks.csv", ("a", 1, 2)),
                   "-o", tmp_path / f"{name}.json")
        assert done.returncode == 0, done.stderr
    words = ["sub-track", "compare", "-m", f"old={tmp_path / 'old.json'}", "-m", f"new={tmp_path / 'new.json'}"]
    tree = results(cli(*words, "-f", "json"))
    [row] = [row for row in tree["overall_differences"] if row["measurement"] == "main_ram_private"]
    assert row["value"] == 2_500_000 and tree["energy_certainty"] == {"old": "measured", "new": "estimated"}
    for format in ("text", "markdown", "html"):
        shown = cli(*words, "-f", format).stdout.replace("\\_", "_")
        assert "main_ram_private (megabytes)" in shown and "2500000" not in shown
        assert "Energy (joules, estimated)" in shown
    assert "energy_certainty.new,estimated" in cli(*words, "-f", "csv").stdout
