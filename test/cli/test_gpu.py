"""GPUs from end to end, with stand-ins for the driver libraries (test/fake/fake.h says what their data means)."""
import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import time

import pytest
from patience import least, wait_until

NVIDIA = """version 12.550.54
driver 550.54.15
device 0
uuid GPU-11111111-aaaa
name Fake H100
minor 0
memory 80000000000 500000000 1000000000
utilization 37 12
temperature 41
field 186 0 350500
energy 5000000
device 1
uuid GPU-22222222-bbbb
name Fake H100
minor 1
memory 80000000000 500000000 0
utilization 80 0
temperature 30
field 186 0 60000
energy 1000
"""


@pytest.fixture
def nvidia(fake, tmp_path, monkeypatch):
    """nvidia(data): options that make the program see these GPUs."""

    def write(data):
        path = tmp_path / "nvml.txt"
        path.write_text(data)
        monkeypatch.setenv("GT_FAKE_NVML", str(path))
        return f"--library=nvml={fake('nvml')}"

    return write


def test_two_gpus(track, nvidia):
    done, report = track(["sleep", "0.5"], nvidia(NVIDIA), "--st", "0.1", "--detail")
    assert done.returncode == 0, done.stderr
    assert report["max_gpu_ram"]["system_capacity"] == 160
    assert report["max_gpu_ram"]["system"] == 1
    assert report["gpu_utilization"]["system_gpu_count"] == 2
    assert report["gpu_utilization"]["gpu_percentages"]["max_sum_percent"] == pytest.approx(117)
    assert [gpu["uuid"] for gpu in report["gpus"]] == ["GPU-11111111-aaaa", "GPU-22222222-bbbb"]
    assert [gpu["max_power"] for gpu in report["gpus"]] == [350.5, 60]


def test_rules_about_gpus(cli, nvidia):
    """The same words for a run, its recording and a comparison."""
    option = nvidia(NVIDIA)
    words = ["gpu<90%", "gpu>10%", "gpu-memory>20GB", "gpu_memory < 1GB", "combined_gpu_ram.max>20GB", "duration>1h"]
    rules = [word for rule in words for word in ("--fail-if", rule)]
    broken = {"gpu 58.5 % is below 90 %", "gpu 58.5 % is above 10 %", "gpu-memory 0.0 GB is below 1 GB"}
    done = cli("run", option, "--st", "0.1", "--tf=run.sqlite", *rules, "--", "sleep", "0.5")
    assert done.returncode == 3 and broken == set(re.findall("^gpu-tracker: (gpu.*)$", done.stderr, re.MULTILINE)), done.stderr
    done = cli("report", "run.sqlite", *rules)
    assert done.returncode == 3 and broken == set(re.findall("^gpu-tracker: (gpu.*)$", done.stderr, re.MULTILINE)), done.stderr
    done = cli("compare", "a=run.sqlite", "b=run.sqlite", *rules, "-f", "json")
    outcomes = [row["outcome"] for row in json.loads(done.stdout)["rules"]]
    assert done.returncode == 3 and outcomes == ["broken", "broken", "kept", "broken", "kept", "kept"]
    assert cli("run", option, "--fail-if", "gpu<10%", "--fail-if", "gpu-memory>20GB", "--", "sleep", "0.5").returncode == 0


def test_rules_about_energy_and_power(cli, nvidia):
    """A sleep uses no GPU, so the energy of the job is 0."""
    words = ["power<1kW", "power>1W", "energy<1kWh", "energy.total>5J"]
    rules = [word for rule in words for word in ("--fail-if", rule)]
    for command in (["run", nvidia(NVIDIA), "--st", "0.1", "--tf=run.sqlite", *rules, "--", "sleep", "0.5"],
                    ["report", "run.sqlite", *rules], ["compare", "a=run.sqlite", "b=run.sqlite", *rules]):
        done = cli(*command)
        assert done.returncode == 3
        assert re.findall(r"(\w+) 0[^ ]* [mkWhJ]+ is (\w+)", done.stderr) == [("power", "below"), ("energy", "below")]


def test_memory_of_the_job(gpu_tracker, nvidia, tmp_path):
    """The driver names the process; its memory is the job's, that of a stranger is not."""
    job, stranger = subprocess.Popen(["sleep", "1"]), subprocess.Popen(["sleep", "20"])
    report = tmp_path / "report.json"
    without_files = NVIDIA.replace("minor 0\n", "").replace("minor 1\n", "")  # sleep does not hold /dev/nvidia0 open
    option = nvidia(without_files + f"process 0 {job.pid} 3000000000\nprocess 1 {job.pid} 3000000000\n"
                    f"process 0 {stranger.pid} 5000000000\nused {job.pid} -1000 55 5 0 0\n")
    words = ["attach", "-f", "json", "-o", str(report), option, "--st", "0.1", str(job.pid)]
    tracker = subprocess.Popen([gpu_tracker, *words])
    job.wait()
    assert tracker.wait(timeout=120) == 0
    stranger.kill()
    stranger.wait()
    document = json.loads(report.read_text())
    assert document["max_gpu_ram"]["main"] == pytest.approx(3)
    assert document["max_gpu_ram"]["combined"] == pytest.approx(3)
    assert document["provenance"]["max_gpu_ram.main"]["note"] == "process numbers as the driver gives them"


def test_the_drivers_own_high_water_mark(gpu_tracker, nvidia, tmp_path):
    """The peak that no sample saw: exact for one process, between two bounds for one on two GPUs."""
    job = subprocess.Popen(["sleep", "1"])
    report = tmp_path / "report.json"
    data = NVIDIA.replace("minor 0\n", "accounting 1\n").replace("minor 1\n", "accounting 1\n")
    first, second = data.split("device 1\n")
    row = f"process 0 {job.pid} 1000000000\n"
    option = nvidia(f"{first}{row}account {job.pid} 4000000000 99999999999999999 1\ndevice 1\n"
                    f"{second}{row}account {job.pid} 3000000000 99999999999999998 1\n")
    tracker = subprocess.Popen([gpu_tracker, "attach", "-f", "json", "-o", str(report), option, "--st", "0.1", str(job.pid)])
    job.wait()
    assert tracker.wait(timeout=120) == 0
    document = json.loads(report.read_text())
    assert document["max_gpu_ram"]["main"] == pytest.approx(2)
    peak = document["gpu_memory_peak"]
    assert peak["unit"] == document["max_gpu_ram"]["unit"]
    assert peak["main"] == peak["combined"] == {"at_least": pytest.approx(4), "at_most": pytest.approx(7)}
    assert peak["descendants"] == {"at_least": None, "at_most": None}
    assert document["provenance"]["gpu_memory_peak.main.at_least"]["exactness"] == "sampled"


@pytest.mark.parametrize("start, least, exactness", [(99999999999999999, 4, "exact"), (7, 1, "sampled")], ids=["during", "before"])
def test_the_high_water_mark_of_one_process(gpu_tracker, nvidia, cli, tmp_path, start, least, exactness):
    """It is exact, unless it may be of the time before tracking began."""
    job = subprocess.Popen(["sleep", "1"])
    data = NVIDIA.split("device 1\n")[0].replace("minor 0\n", "accounting 1\n")
    option = nvidia(f"{data}process 0 {job.pid} 1000000000\naccount {job.pid} 4000000000 {start} 1\n")
    words = ["attach", "-f", "json", "-o", "report.json", "--tf", "run.sqlite", option, "--st", "0.1", str(job.pid)]
    tracker = subprocess.Popen([gpu_tracker, *words], cwd=tmp_path)
    job.wait()
    assert tracker.wait(timeout=120) == 0
    document = json.loads((tmp_path / "report.json").read_text())
    assert document["gpu_memory_peak"]["main"] == {"at_least": pytest.approx(least), "at_most": pytest.approx(4)}
    assert document["provenance"]["gpu_memory_peak.main.at_least"]["exactness"] == exactness
    assert "accounting" in document["provenance"]["gpu_memory_peak.main.at_least"]["source"]
    again = json.loads(cli("report", "run.sqlite", "-f", "json").stdout)
    assert again["gpu_memory_peak"] == document["gpu_memory_peak"]
    assert "GPU memory peak" in cli("report", "run.sqlite", "-f", "text").stdout


def test_high_water_marks_are_compared(gpu_tracker, nvidia, cli, tmp_path):
    data = NVIDIA.split("device 1\n")[0].replace("minor 0\n", "accounting 1\n")
    for name, gigabytes in ("before", 40), ("after", 45):
        job = subprocess.Popen(["sleep", "0.5"])
        option = nvidia(f"{data}process 0 {job.pid} 1000000000\naccount {job.pid} {gigabytes}00000000 99999999999999999 1\n")
        tracker = subprocess.Popen([gpu_tracker, "attach", "--tf", f"{name}.csv", option, "--st", "0.1", str(job.pid)],
                                   cwd=tmp_path, stdout=subprocess.DEVNULL)
        job.wait()
        assert tracker.wait(timeout=120) == 0
    words = ["compare", "before=before.csv", "after=after.csv", "--fail-if"]
    assert cli(*words, "combined_gpu_ram_peak>+5%").returncode == 3
    assert cli(*words, "combined_gpu_ram_peak>+20%").returncode == 0


def test_without_accounts_there_is_no_high_water_mark(track, nvidia, cli):
    """And doctor tells what would make one; nobody switches it on."""
    option = nvidia(NVIDIA.replace("minor 0\n", "accounting 0\n"))
    _, report = track(["sleep", "0.3"], option, "--st", "0.1")
    assert report["gpu_memory_peak"]["combined"] == {"at_least": None, "at_most": None}
    told = cli("doctor", option).stdout
    assert "nvml: accounting" in told and "nvidia-smi -am 1" in told


def test_errors_of_the_driver_are_recorded(gpu_tracker, nvidia, cli, tmp_path):
    """Also those that come when no sample follows, and in recordings without detail."""
    option = nvidia(NVIDIA.split("device 1\n")[0] + "field 4 0 3\nframe when end\ndevice 0\nxid 79\n")
    run = [gpu_tracker, "run", "--tf", "run.sqlite", option, "--st", "0.1", "--", "sh", "-c", "sleep 0.3; touch end"]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    with sqlite3.connect(tmp_path / "run.sqlite") as database:
        final = dict(database.execute("SELECT metric, value FROM final WHERE scope = 'system'"))
        assert database.execute("SELECT max(system_gpu_ecc_uncorrected), min(system_gpu_xids) FROM data").fetchone() == (3, 0)
    assert final["gpu_ecc_uncorrected"] == 3 and final["gpu_xids"] == 1
    assert "gpu_nvlink_errors" not in final
    told = [line for line in cli("doctor", option).stdout.splitlines() if "nvml: health" in line]
    assert len(told) == 1 and "missing: remapped rows, PCIe replays, NVLink errors" in told[0], told


def test_errors_of_amds_driver_are_recorded(gpu_tracker, cli, fake, tmp_path, monkeypatch):
    """Also those that come when no sample follows."""
    library = "amdsmi"
    (tmp_path / "amd.txt").write_text("device 0\nerrors 1 7 1\nerrors 0x80 0 0\nreplays 2\nframe when end\ndevice 0\nreplays 5\n"
                                      "errors 1 7 1\nerrors 0x80 0 3\n")
    monkeypatch.setenv(f"GT_FAKE_{library.upper()}", str(tmp_path / "amd.txt"))
    run = [gpu_tracker, "run", "--no-history", "--tf", "run.sqlite", f"--library={library}={fake(library)}", "--st", "0.1", "--",
           "sh", "-c", "sleep 0.3; touch end"]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    with sqlite3.connect(tmp_path / "run.sqlite") as database:
        final = dict(database.execute("SELECT metric, value FROM final WHERE scope = 'system'"))
    told = {name: final.get(f"gpu_{name}") for name in ("ecc_corrected", "ecc_uncorrected", "xgmi_errors", "pcie_replays", "nvlink_errors")}
    assert told == {"ecc_corrected": 7, "ecc_uncorrected": 1, "xgmi_errors": 3, "pcie_replays": 5, "nvlink_errors": None}
    for data, expected in ("errors 1 7 1", "missing: XGMI errors, PCIe replays"), ("vram 1 1", "no GPU counts its errors"):
        (tmp_path / "amd.txt").write_text(f"device 0\n{data}\n")
        row, = [line for line in cli("doctor", run[5]).stdout.splitlines() if "amd: health" in line]
        assert expected in row


def test_the_old_library_of_amd_is_not_read(cli, fake, tmp_path):
    (tmp_path / "root/sys/module/amdgpu").mkdir(parents=True)
    (tmp_path / "librocm_smi64.so").symlink_to(fake("amdsmi"))
    shown = cli("doctor", "--root", str(tmp_path / "root"), "-f", "json", env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}).stdout
    row, = [row for row in json.loads(shown)["sources"] if row["source"] == "amd"]
    assert row["state"] == "absent" and "only ROCm SMI is installed" in row["reason"] and "amd-smi-lib" in row["remedy"]


@pytest.mark.parametrize("choice, percent", [("1", 80), ("GPU-1111", 37), ("GPU-22222222-bbbb,0", 117)])
def test_chosen_gpus(track, nvidia, choice, percent):
    _, report = track(["sleep", "0.3"], nvidia(NVIDIA), "--st", "0.1", "--guuids", choice)
    assert report["gpu_utilization"]["gpu_percentages"]["max_sum_percent"] == pytest.approx(percent)


def test_unknown_gpu(track, nvidia, tmp_path):
    done, report = track(["touch", str(tmp_path / "started")], nvidia(NVIDIA), "--guuids", "GPU-3333")
    assert done.returncode != 0 and report is None
    assert "\"GPU-3333\" is not there; known: GPU-11111111-aaaa, GPU-22222222-bbbb" in done.stderr
    assert not (tmp_path / "started").exists()


def test_lost_gpu(track, nvidia):
    """One GPU falls off the bus: one warning, and everything else goes on."""
    lost = "frame 0.4\ndevice 0\nfail nvmlDeviceGetTotalEnergyConsumption 15\n"
    done, report = track(["sleep", "1.2"], nvidia(NVIDIA + lost), "--st", "0.1")
    assert done.returncode == 0
    assert done.stderr.count("is lost to its driver") == 1
    assert "no more samples" not in done.stderr
    assert report["tracker"]["samples"] > 4
    assert report["gpus"][1]["max_utilization_percent"] == pytest.approx(80)


def test_what_ended_a_job_is_reported(gpu_tracker, nvidia, cli, tmp_path):
    """A GPU fails after the last sample: the first warning, figures of the report, a finding, and a sentence that names all."""
    data = (eight_boards(0).replace("temperature", "field 4 0 0\ntemperature") + "frame when end\ndevice 2\nxid 79\n"
            + "".join(f"device {lost}\nfail nvmlDeviceGetTotalEnergyConsumption 15\n" for lost in (2, 5, 6))
            + "device 7\nfield 4 0 250\nfield 145 0 1\n")
    command = [gpu_tracker, "run", "--tf", "run.sqlite", nvidia(data), "--st", "1", "--", "sh", "-c", "sleep 0.3; touch end"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=120)
    assert "GPU 2 (Fake, GPU-2), GPU 5 (Fake, GPU-5), GPU 6 (Fake, GPU-6) are lost to their driver" in done.stderr
    first = done.stderr.split("  ! ")[1]
    assert "gpu 2: lost to its driver, XID 79; gpu 5: lost" in first and "gpu 7: 250 memory errors" in " ".join(first.split())
    report = json.loads(cli("report", "--format", "json", "run.sqlite", cwd=tmp_path).stdout)
    found = {name: report["gpu_totals"][name] for name in ("xids", "ecc_uncorrected", "lost")}
    assert found == {"xids": 1, "ecc_uncorrected": 250, "lost": 3}
    assert report["warnings"][0]["name"] == "gpu_failed"
    found = json.loads(cli("profile", "health", "--format", "json", ".", cwd=tmp_path).stdout)["findings"]
    assert {row["check"] for row in found} >= {"xids", "ecc_uncorrected", "lost", "remap_failed"}


def test_a_driver_that_hangs_has_no_energy(track, nvidia):
    """Its counters were read once, at the start: joules are missing, not 0, and the first warning names the driver."""
    data = eight_boards(0, "frame 0.5\ndevice 5\nhang nvmlDeviceGetTotalEnergyConsumption\n")
    _, report = track(["sleep", "2"], nvidia(data), "--st", "1")
    energy = report["energy"]
    assert (energy["gpu"]["total"], energy["gpu"]["job"], energy["gpu"]["covered"]) == (None, None, 0)
    assert energy["gpu"]["gap"] == "from 0 s on: its driver did not answer" and energy["gpu"]["gap"] in energy["reason"]
    assert report["gpu_totals"]["energy"] is None and {gpu["energy"] for gpu in report["gpus"]} == {None}
    assert report["warnings"][0]["name"] == "gpu_silent"
    assert re.search(r"not measured from 0 s on: NVML .* did not answer", report["warnings"][0]["sentence"])


def test_one_lost_gpu_of_eight(track, nvidia):
    """The others were measured all the time; the sentence names the board."""
    failing = ("GetTotalEnergyConsumption", "GetMemoryInfo_v2", "GetUtilizationRates", "GetFieldValues", "GetSamples")
    data = eight_boards(0, "frame 0.5\ndevice 3\n" + "".join(f"fail nvmlDevice{name} 15\n" for name in failing))
    done, report = track(["sleep", "2"], nvidia(data), "--st", "1")
    gpu = report["energy"]["gpu"]
    assert 100 * 7 / 8 - 0.1 <= gpu["covered"] < 95 and report["energy"]["covered"] == gpu["covered"]
    assert re.fullmatch(r"of gpu 3 from 0(\.\d+)? s on: its counter could not be read", gpu["gap"])
    assert "a part of the run only, not " + gpu["gap"] in done.stderr


@pytest.mark.parametrize("detail", [[], ["--detail"]])
def test_top_shows_errors(track, nvidia, cli, tmp_path, detail):
    data = (eight_boards(0).replace("temperature", "field 4 0 0\ntemperature") + "frame 0.3\ndevice 2\nxid 31\ndevice 5\n"
            "fail nvmlDeviceGetTotalEnergyConsumption 15\ndevice 7\nfield 4 0 250\n")
    done, _ = track(["sleep", "1.5"], nvidia(data), "--st", "0.1", *detail, "--tracking-file", str(tmp_path / "run.sqlite"))
    assert done.returncode == 0
    picture = cli("top", "--once", "run.sqlite", env={**os.environ, "COLUMNS": "120"}).stdout
    assert "! GPUs: 1 lost, XID 31" in picture, picture
    report = cli("report", "run.sqlite").stdout
    assert "XID 31" in report and json.loads(cli("report", "--format", "json", "run.sqlite").stdout)["gpu_totals"]["xid"] == 31


@pytest.mark.parametrize("library", ["nvml", "nvml=", "foo=/x.so", "/x.so"])
def test_a_library_without_a_name(cli, library):
    done = cli("run", "--library", library, "--", "true")
    assert done.returncode == 2 and "energy-relay, nvml, amdsmi" in done.stderr and done.stderr.count("\n") == 1


def test_energy_since_the_start(track, nvidia, tmp_path):
    data = NVIDIA + f"frame when {tmp_path}/later\ndevice 0\nenergy 5250000\ndevice 1\nenergy 31000\n"
    _, report = track(["sh", "-c", f"sleep 0.1; touch {tmp_path}/later; sleep 0.4"], nvidia(data), "--st", "0.1")
    assert report["gpus"][0]["energy"] == pytest.approx(250)
    assert report["gpus"][1]["energy"] == pytest.approx(30)


def test_power_is_added_up_where_the_counter_stands_still(track, nvidia):
    _, report = track(["sleep", "0.8"], nvidia(NVIDIA), "--st", "0.1")
    elapsed = report["compute_time"]["time"] * 3600
    assert elapsed >= 0.8
    assert report["gpus"][0]["energy"] == pytest.approx(350.5 * elapsed, rel=0.25)
    assert report["gpus"][1]["energy"] == pytest.approx(60 * elapsed, rel=0.25)


def eight_boards(slow, more=""):
    """Data of eight GPUs of 250 W, whose driver takes so many microseconds for each call."""
    boards = (f"device {number}\nuuid GPU-{number}\nname Fake\nmemory 80000000000 0 1000000000\nutilization 37 12\ntemperature 41\n"
              f"field 186 0 250000\nenergy 5000000 250000\n" for number in range(8))
    return f"slow {slow}\n" + "".join(boards) + more


@pytest.mark.parametrize("slow", [400, 2000])
def test_energy_of_a_slow_driver(track, nvidia, tmp_path, slow):
    def run():
        option = nvidia(eight_boards(slow))
        _, report = track(["sleep", "2"], option, "--st", "0.1", "--tracking-file", str(tmp_path / "run.sqlite"), "--overwrite")
        energy, watts = report["energy"]["gpu"], 8 * 250
        assert energy["covered"] == 100
        return abs(energy["total"] - watts * report["compute_time"]["time"] * 3600) / energy["error"]

    assert least(run, 1) <= 1
    rows = sqlite3.connect(tmp_path / "run.sqlite").execute("SELECT monotonic, system_gpu_energy FROM data").fetchall()
    read = [row for row in rows if row[1] is not None]
    assert 2 <= len(read) < len(rows)  # a row has joules only where the counter was read


def test_time_of_a_job_beside_a_slow_driver(track, nvidia, tmp_path):
    """The job ends while a reading goes on: neither its time nor its energy include the rest of the reading."""
    def run():
        job = f"date +%s.%N > {tmp_path}/begin; sleep 1; date +%s.%N > {tmp_path}/end"
        _, report = track(["sh", "-c", job], nvidia(eight_boards(2000)), "--st", "1")
        seconds, energy = report["compute_time"]["time"] * 3600, report["energy"]["gpu"]
        assert abs(energy["total"] - 8 * 250 * seconds) <= energy["error"]
        begin, end = (float((tmp_path / name).read_text()) for name in ("begin", "end"))
        return seconds - (end - begin)

    assert least(run, 0.06) <= 0.06


@pytest.mark.parametrize("job", ["sleep 0.7; ", "sleep 1; ", "sleep 2 & sleep 0.7; "])
def test_time_of_a_parent_beside_a_very_slow_driver(track, nvidia, tmp_path, job):
    """Its child has ended with it, or before, while a reading went on; or lives on: the time is that of the parent."""
    def run():
        words = f"date +%s.%N > {tmp_path}/begin; {job} date +%s.%N > {tmp_path}/end"
        two_boards = eight_boards(20000).split("device 2\n")[0]
        _, report = track(["sh", "-c", words], nvidia(two_boards), "--st", "0.5")
        begin, end = (float((tmp_path / name).read_text()) for name in ("begin", "end"))
        return report["compute_time"]["time"] * 3600 - (end - begin)

    assert least(run, 0.1) <= 0.1


def test_gpus_that_a_slow_driver_never_measured(track, nvidia):
    _, report = track(["sleep", "0.7"], nvidia(eight_boards(100000)), "--st", "0.5")
    first = report["warnings"][0]
    assert first["name"] == "gpu_silent" and re.search("not measured: .* did not answer in time", first["sentence"])


def eight_cards(slow):
    """The same of AMD."""
    return f"slow {slow}\n" + "".join(
        f"device {number}\nuuid {number}\nname Fake\nbdf 0 {number + 1} 0 0\nvram 80000 1000\nactivity 50 10\npower 250 250\n"
        f"temperature 0 41\nenergy 1000 15.3 250000\n" for number in range(8))


@pytest.fixture
def library(fake, tmp_path, monkeypatch):
    """library(name, data): options that make the program see these GPUs of NVIDIA or AMD."""

    def write(name, data):
        path = tmp_path / "gpus.txt"
        path.write_text(data)
        monkeypatch.setenv(f"GT_FAKE_{name.upper()}", str(path))
        return f"--library={name}={fake(name)}"

    return write


def test_energy_of_amd_has_an_error(track, library):
    _, report = track(["sleep", "1"], library("amdsmi", eight_cards(0)), "--st", "0.1")
    energy = report["energy"]["gpu"]
    assert energy["covered"] == 100 and 0 < energy["error"] < energy["total"] / 4
    assert abs(energy["total"] - 8 * 250 * report["compute_time"]["time"] * 3600) <= energy["error"]


@pytest.mark.parametrize("name", ["nvml", "amdsmi"])
def test_energy_of_a_tracker_that_was_killed(gpu_tracker, cli, library, tmp_path, name):
    """What was drawn since the last reading of a slow driver is not known."""
    recording = tmp_path / "run.sqlite"
    option = library(name, (eight_boards if name == "nvml" else eight_cards)(2000))
    tracker = subprocess.Popen([gpu_tracker, "run", option, "--st", "0.1", "--tracking-file", str(recording),
                                "--", "sleep", "60"], stderr=subprocess.DEVNULL, start_new_session=True)
    question = "SELECT max(system_gpu_energy_missing) FROM data WHERE monotonic = (SELECT max(monotonic) FROM data)"

    def is_missing():
        with contextlib.suppress(sqlite3.OperationalError):  # it is being made
            return recording.exists() and (sqlite3.connect(recording).execute(question).fetchone()[0] or 0) > 0.5
        return False

    wait_until(is_missing)
    os.killpg(tracker.pid, signal.SIGKILL)
    tracker.wait()
    report = json.loads(cli("report", "--format", "json", str(recording)).stdout)
    energy, drawn = report["energy"]["gpu"], 8 * 250 * report["compute_time"]["time"] * 3600
    assert energy["covered"] < 100 and energy["error"] is None
    assert energy["total"] == pytest.approx(drawn * energy["covered"] / 100, rel=0.1)


HANGS = {
    "in a sample": "frame 0.5\ndevice 3\nhang nvmlDeviceGetTotalEnergyConsumption\n",
    "in a list": "frame 0.5\ndevice 3\nhang nvmlDeviceGetRunningProcessDetailList\n",
    "at the end": "frame when PATH/ends\ndevice 3\nhang nvmlDeviceGetTotalEnergyConsumption\n",
}


@pytest.mark.parametrize("when", HANGS)
def test_a_driver_call_that_never_returns(track, nvidia, tmp_path, when):
    """The job's status comes back soon after its end, with what was measured until then."""
    option = nvidia(eight_boards(0, HANGS[when].replace("PATH", str(tmp_path))))

    def run():
        done, report = track(["sh", "-c", f"sleep 2; touch {tmp_path}/ends; date +%s.%N > {tmp_path}/ended; exit 3"], option, "--st", "0.1")
        late = time.time() - float((tmp_path / "ended").read_text())
        (tmp_path / "ends").unlink()
        assert done.returncode == 3
        assert done.stderr.count("does not answer: its GPUs are not measured until it does") == 1, done.stderr
        assert report["energy"]["gpu"]["total"] > 0
        return late

    assert least(run, 2) < 2


def test_a_signal_while_a_driver_call_does_not_return(gpu_tracker, nvidia, tmp_path):
    option = nvidia(eight_boards(0, HANGS["in a sample"]))
    line = [gpu_tracker, "run", option, "--st", "0.1", "--", "sh", "-c", f"touch {tmp_path}/began; exec sleep 60"]
    tracker = subprocess.Popen(line, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    wait_until((tmp_path / "began").exists)
    time.sleep(1)
    tracker.terminate()
    assert tracker.wait(timeout=30) == 128 + signal.SIGTERM, tracker.stderr.read()


OPENING_HANGS = "device 0\nhang nvmlDeviceGetHandleByIndex_v2\n"


def test_a_driver_that_hangs_while_it_is_opened(gpu_tracker, cli, nvidia, tmp_path):
    """The job starts soon, and its status comes soon after its end; a signal does not wait either."""
    command = [gpu_tracker, "run", nvidia(eight_boards(0, OPENING_HANGS)), "--st", "0.1", "--tracking-file", "run.sqlite",
               "--overwrite", "--"]

    def run():
        began = time.time()
        done = subprocess.run([*command, "sh", "-c", "date +%s.%N > began; date +%s.%N > ended; exit 3"], cwd=tmp_path, text=True,
                              capture_output=True, timeout=60, check=False)
        assert done.returncode == 3 and done.stderr.count("the driver did not answer until the end") == 1, done.stderr
        return max(float((tmp_path / "began").read_text()) - began, time.time() - float((tmp_path / "ended").read_text()))

    assert least(run, 2) < 2
    assert json.loads(cli("report", "--format", "json", "run.sqlite", cwd=tmp_path).stdout)["gpu_utilization"]["system_gpu_count"] == 0
    (tmp_path / "began").unlink()
    tracker = subprocess.Popen([*command, "sh", "-c", "touch began; exec sleep 60"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    wait_until((tmp_path / "began").exists)
    tracker.terminate()
    assert tracker.wait(timeout=8) == 128 + signal.SIGTERM


def test_a_driver_that_is_opened_late(track, nvidia, cli, tmp_path):
    """Its GPUs are measured from then on, and the recording names them."""
    recording = str(tmp_path / "run.sqlite")
    option = nvidia(eight_boards(20000, "frame 1.5\nslow 0\n"))
    _, report = track(["sleep", "4"], option, "--st", "0.1", "--tracking-file", recording)
    stored = json.loads(cli("report", "--format", "json", recording).stdout)
    for told in report, stored:
        energy, drawn = told["energy"]["gpu"], 8 * 250 * told["compute_time"]["time"] * 3600
        assert told["gpu_utilization"]["system_gpu_count"] == 8
        assert 10 < energy["covered"] < 100 and "from 0 s" in energy["gap"]
        assert energy["total"] == pytest.approx(drawn * energy["covered"] / 100, rel=0.1)


def test_a_driver_that_answers_late_is_measured_again(track, nvidia):
    """One call takes 2 s; the energy counter has counted meanwhile."""
    late = "frame 0.5\nslow 2000000\nframe 0.6\nslow 0\n"
    done, report = track(["sleep", "4"], nvidia(late.join([eight_boards(0), ""])), "--st", "0.1")
    assert report["energy"]["gpu"]["covered"] == 100, done.stderr
    assert report["energy"]["gpu"]["total"] == pytest.approx(8 * 250 * report["compute_time"]["time"] * 3600, rel=0.1)


def test_another_brand(track, nvidia):
    done, report = track(["true"], nvidia(NVIDIA), "--gb", "amd")
    assert done.returncode == 0
    assert report["gpu_utilization"]["system_gpu_count"] == 0
    assert "No GPU was found" in done.stderr


def test_library_that_is_not_there(track):
    done, _ = track(["true"], "--library=nvml=/nowhere/libnvml.so")
    assert done.returncode == 0
    assert "/nowhere/libnvml.so" in done.stderr
