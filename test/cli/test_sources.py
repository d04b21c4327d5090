"""Sources of energy from the command line: models and external meters, live and afterwards."""
import json
import time

import pytest

WAIT = "import time; time.sleep(0.6)"


def results(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def machine(tmp_path):
    """A stored machine has no counters: sources are only what an option gives."""
    model = tmp_path / "laptop.model"
    model.write_text("name = a laptop\nidle_watts = 10\nmax_watts = 30\ndram_watts = 2\n")
    return model


def run(cli, *words):
    return cli("run", "--st", "0.1", "-f", "json", "-o", "-", *words, "--", "python3", "-c", WAIT)


def exactness(report, figure):
    return report["provenance"][figure]["exactness"]


def test_every_estimated_figure_says_so(cli, machine):
    report = results(run(cli, "--power-model", str(machine)))
    energy = report["energy"]
    if energy["cpu"]["source"].startswith("RAPL"):
        pytest.skip("a counter has the energy of the processors here: nothing is estimated")
    assert energy["cpu"]["source"] == "estimated by use of the CPU: a laptop"
    assert energy["cpu"]["certainty"] == "estimated, not measured" and energy["cpu"]["error"] is None
    elapsed = report["compute_time"]["time"] * 3600
    assert 0.6 <= elapsed and 10 * 0.9 * elapsed <= energy["cpu"]["total"] <= 30 * 1.1 * elapsed
    assert energy["cpu"]["total"] == pytest.approx(sum(energy["cpu"][part] for part in
                                                       ("job", "other", "idle", "unattributed")))
    for figure in ("energy.cpu.total", "energy.cpu.job", "energy.dram.total", "energy.job"):
        assert exactness(report, figure) == "estimated"
    assert energy["conservation"]["cpu"].endswith("(estimated)")


def test_a_model_may_be_json(cli, tmp_path):
    model = tmp_path / "desk.json"
    model.write_text('{"name": "a desk", "idle_watts": 10, "points": [[0.5, 20]], "max_watts": 30}')
    report = results(run(cli, "--power-model", str(model)))
    energy, elapsed = report["energy"], report["compute_time"]["time"] * 3600
    if energy["cpu"]["source"].startswith("RAPL"):
        pytest.skip("a counter has the energy of the processors here: nothing is estimated")
    assert energy["cpu"]["source"] == "estimated by use of the CPU: a desk"
    assert 0.6 <= elapsed and 10 * 0.9 * elapsed <= energy["cpu"]["total"] <= 30 * 1.1 * elapsed
    model.write_text('{"idle_watts": 10, "max_wats": 30}')
    done = cli("run", "--power-model", str(model), "--", "true")
    assert done.returncode != 0 and '"max_wats" is not a setting' in done.stderr and done.stderr.count("\n") == 1


def test_nothing_is_estimated_unasked(cli):
    report = results(run(cli))
    assert not report["energy"]["cpu"]["source"] or "estimated" not in report["energy"]["cpu"]["source"]
    assert all(entry["exactness"] != "estimated" for entry in report["provenance"].values())


@pytest.mark.parametrize("words, message", [
    (["--cpu-tdp", "-5"], "--cpu-tdp"),
    (["--cpu-tdp", "many"], "--cpu-tdp"),
    (["--power-model", "missing.model"], "missing.model: No such file"),
    (["--power-model", "/dev/null"], "/dev/null: this is a device"),
    (["--power-meter", "missing.csv"], "power meter missing.csv: No such file"),
    (["--power-meter", "/bin/sh"], "power meter /bin/sh: this is not a CSV file"),
])
def test_bad_input_is_one_line_and_nothing_is_launched(cli, tmp_path, words, message):
    mark = tmp_path / "launched"
    done = cli("run", *words, "--", "touch", str(mark))
    assert done.returncode != 0 and message in done.stderr and done.stderr.count("\n") == 1
    assert not mark.exists()


def test_a_model_and_a_tdp_exclude_each_other(cli, machine):
    done = cli("run", "--cpu-tdp", "65", "--power-model", str(machine), "--", "true")
    assert done.returncode != 0 and "exclude each other" in done.stderr


def write_meter(path, watts, before=3, after=60):
    now = time.time()
    path.write_text("".join(["time,watts\n"] + [f"{now + second / 10:.3f},{watts}\n"
                                                for second in range(-10 * before, 10 * after)]))
    return str(path)


def test_the_wall_is_recorded_and_reported(cli, tmp_path):
    recording = tmp_path / "run.csv"
    report = results(run(cli, "--power-meter", write_meter(tmp_path / "meter.csv", 200), "--tf", str(recording)))
    elapsed = report["compute_time"]["time"] * 3600
    assert report["energy"]["wall"] == pytest.approx(200 * elapsed, rel=0.2)
    assert "meter.csv" in report["provenance"]["energy.wall"]["source"]
    assert "system_wall_energy" in recording.read_text() and "system_wall_power" in recording.read_text()
    text = cli("report", str(recording)).stdout
    assert "At the wall, by an external meter" in text


def test_a_meter_joins_a_recording_afterwards(cli, tmp_path):
    recording = str(tmp_path / "run.sqlite")
    meter = write_meter(tmp_path / "meter.csv", 150)
    ran = results(run(cli, "--tf", recording))
    assert ran["energy"]["wall"] is None
    joined = results(cli("report", recording, "--power-meter", meter, "-f", "json"))
    elapsed = ran["compute_time"]["time"] * 3600
    assert joined["energy"]["wall"] == pytest.approx(150 * elapsed, rel=0.01)
    assert "meter.csv" in joined["provenance"]["energy.wall"]["source"]
    other = tmp_path / "other.csv"
    other.write_text("time,watts\n1500000000,5\n1500000001,5\n")
    done = cli("report", recording, "--power-meter", str(other))
    assert done.returncode != 0 and "no lines of the time" in done.stderr and done.stderr.count("\n") == 1


def test_doctor_lists_every_source(cli, tmp_path):
    report = results(cli("doctor", "--cpu-tdp", "65", "-f", "json"))
    sources = {row["source"]: row for row in report["sources"]} if isinstance(report["sources"], list) \
        else report["sources"]
    for name in ("rapl", "rapl: perf", "rapl: powercap", "hwmon", "battery", "nvml", "amd", "drm", "meter",
                 "estimate"):
        row = sources[name]
        assert row["state"] in ("ready", "absent", "denied", "broken")
        assert row["state"] == "ready" or row["reason"], name


def test_doctor_tells_whether_perf_events_and_powercap_can_be_compared(cli, tmp_path):
    zone = tmp_path / "sys/class/powercap/intel-rapl:0"
    zone.mkdir(parents=True)
    for name, text in {"name": "package-0", "energy_uj": "5", "max_energy_range_uj": "9"}.items():
        (zone / name).write_text(text + "\n")
    report = results(cli("doctor", "--root", str(tmp_path), "-f", "json"))
    row = {row["source"]: row for row in report["sources"]}["rapl: perf against powercap"]
    assert row["state"] == "absent" and row["reason"] == "only powercap can read the processor packages"
