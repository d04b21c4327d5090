"""The conservation of energy on a machine of known power, from its counters to the report: sampler, sharing, recording, report."""
import json
import re
import shutil
import sqlite3
import subprocess
import threading
import time

import pytest
from patience import undisturbed

TICK, CPUS = 100, 8
MAIN, CHILD, STRANGER = 4000, 4002, 4001
QUIET, BUSY = 0.6, 2.0  # seconds: nobody computes, all do, nobody does
IDLE_WATTS, BUSY_WATTS, DRAM_WATTS = 2, 80, 10
PACKAGE_RANGE = 25.0  # joules after which the counter wraps: 0.3 s
GPU_STEP, GPU_STEPS = 30.0, 12  # joules each 0.1 s
GPU_SHARES = {MAIN: 60, STRANGER: 20}
FIELDS = " 1" * 13 + " 17 0 0 0 0 0\n"


class Machine:
    """A stored machine that lives. While it is busy the job computes on one CPU, in a child that ends half-way and then itself,
    and a stranger on three."""

    def __init__(self, root):
        self.root, self.begin = root, time.monotonic()
        self.package, self.dram, self.history = 0.0, 0.0, []
        self.used = {MAIN: 0.0, CHILD: 0.0, STRANGER: 0.0}
        self.write("proc/meminfo", "MemTotal: 8000000 kB\nMemFree: 4000000 kB\nMemAvailable: 4000000 kB\nBuffers: 0 kB\nCached: 0 kB\n")
        for zone, name, most in (("intel-rapl:0", "package-0", PACKAGE_RANGE), ("intel-rapl:0:0", "dram", 1e5),
                                 ("intel-rapl:1", "psys", 1e5)):
            self.write(f"sys/class/powercap/{zone}/name", f"{name}\n")
            self.write(f"sys/class/powercap/{zone}/max_energy_range_uj", f"{int(most * 1e6)}\n")
        self.last = self.begin
        self.step()
        self.thread = threading.Thread(target=self.live)
        self.thread.start()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "r+" if path.exists() else "w") as file:  # in place: counters are kept open
            file.write(text)
            file.truncate()

    def busy_until(self, now):
        """Seconds of load up to that moment."""
        return min(max(now - self.begin - QUIET, 0.0), BUSY)

    def step(self):
        now = time.monotonic()
        load = self.busy_until(now)
        seconds, worked, self.last = now - self.last, load - self.busy_until(self.last), now
        self.package += IDLE_WATTS * (seconds - worked) + BUSY_WATTS * worked
        self.dram += DRAM_WATTS * seconds
        self.used = {CHILD: min(load, BUSY / 2), MAIN: max(load - BUSY / 2, 0), STRANGER: 3 * load}
        has_ended = load >= BUSY / 2
        self.write_process(MAIN, 1, self.used[CHILD] if has_ended else 0)
        if has_ended and (self.root / f"proc/{CHILD}").exists():  # as the kernel: first its parent has its time
            shutil.rmtree(self.root / f"proc/{CHILD}")
        self.write_process(STRANGER, 1, 0)
        if not has_ended:
            self.write_process(CHILD, MAIN, 0)
        self.write("proc/stat", f"cpu  {int(4 * load * TICK)} 0 0 100 0 0 0 0 0 0\n" + "".join(
            f"cpu{cpu} {int(load * TICK) if cpu < 4 else 0} 0 0 100 0 0 0 0 0 0\n" for cpu in range(CPUS)))
        self.write("sys/class/powercap/intel-rapl:0/energy_uj", f"{int(self.package % PACKAGE_RANGE * 1e6):015d}\n")
        self.write("sys/class/powercap/intel-rapl:0:0/energy_uj", f"{int(self.dram * 1e6):015d}\n")
        self.write("sys/class/powercap/intel-rapl:1/energy_uj", f"{int(self.package + self.dram) * 1000000:015d}\n")  # whole joules
        self.history.append((time.time(), self.package, self.dram))

    def write_process(self, pid, parent, reaped):
        fields = (f"S {parent} {pid} {pid} 0 -1 0 0 0 0 0 {int(self.used[pid] * TICK)} 0 {int(reaped * TICK)} 0 20 0 1 0 "
                  f"{1 << 50} 1000 100" + FIELDS)
        for folder in (f"proc/{pid}", f"proc/{pid}/task/{pid}"):
            self.write(f"{folder}/stat", f"{pid} (job) {fields}")
            self.write(f"{folder}/status", "Name:\tjob\nVmHWM:\t400 kB\nVmSwap:\t0 kB\nThreads:\t1\nCpus_allowed_list:\t0-7\n")
        self.write(f"proc/{pid}/statm", "1000 100 10 1 0 20 0\n")

    def live(self):
        while time.monotonic() < self.begin + QUIET + BUSY + QUIET:
            self.step()
            time.sleep(0.01)
        shutil.rmtree(self.root / f"proc/{MAIN}")

    def drawn(self, moment, device):
        """Joules up to that moment."""
        before = [entry for entry in self.history if entry[0] <= moment] or self.history[:1]
        return before[-1][device]


def gpu(steps):
    lines = ["version 12.550.54", "driver 550.54.15", "device 0", "uuid GPU-1", "name Fake", "memory 80000000000 0 6000000000",
             "used_always 1", "energy 1000"]
    lines += [f"process 0 {pid} 3000000000" for pid in GPU_SHARES]
    lines += [f"used {pid} -1000 {percent} 5 0 0" for pid, percent in GPU_SHARES.items()]
    for step in range(1, steps + 1):
        lines += [f"frame {0.6 + step / 10}", "device 0", f"energy {int(1000 + step * GPU_STEP * 1000)}"]
    return "\n".join(lines) + "\n"


@pytest.fixture
def run(cli, fake, tmp_path, monkeypatch):
    """The report of a run on that machine, its text, the machine, and the time of the first sample."""
    return undisturbed(lambda: attempt(cli, fake, tmp_path, monkeypatch))


def attempt(cli, fake, tmp_path, monkeypatch):
    for name in ("root", "run.sqlite"):
        subprocess.run(["rm", "-rf", tmp_path / name], check=True)
    (tmp_path / "gpu.txt").write_text(gpu(GPU_STEPS))
    monkeypatch.setenv("GT_FAKE_NVML", str(tmp_path / "gpu.txt"))
    machine = Machine(tmp_path / "root")
    recording = tmp_path / "run.sqlite"
    done = cli("attach", MAIN, "--root", tmp_path / "root", "--library", f"nvml={fake('nvml')}", "--sleep-time", "0.05",
               "--tracking-file", recording, "-f", "json", "-o", "-")
    machine.thread.join()
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(recording) as connection:
        times = [moment for [moment] in connection.execute("SELECT timestamp FROM data ORDER BY timestamp")]
    moments = [entry[0] for entry in machine.history]
    pauses = [max((later - earlier for earlier, later in zip(of, of[1:])), default=1) for of in (times, moments)]
    result = json.loads(done.stdout)["energy"], cli("report", recording).stdout, machine, times[0]
    return result, pauses[0] > 0.1 or pauses[1] > 0.05


def test_the_report_conserves_the_energy_that_was_drawn(run):
    energy, text, machine, first = run
    for key, device in (("cpu", 1), ("dram", 2)):
        truth = machine.history[-1][device] - machine.drawn(first, device)
        assert energy[key]["total"] == pytest.approx(truth, rel=0.01), key  # 30 ms, for which a sampler may be held up
    truth = sum(machine.history[-1][device] - machine.drawn(first, device) for device in (1, 2))
    assert 1 <= energy["platform_error"] < 0.02 * truth + 3
    assert energy["platform"] == pytest.approx(truth, abs=energy["platform_error"] + 0.01 * truth)
    cpu, board = energy["cpu"], energy["gpu"]
    tolerance = 0.03 * cpu["total"]  # quiet: 0.005; beside other tests the sampler is held up between two files
    assert cpu["job"] == pytest.approx(BUSY_WATTS * BUSY / 4, abs=tolerance)
    assert cpu["other"] == pytest.approx(BUSY_WATTS * BUSY * 3 / 4, abs=tolerance)
    assert cpu["unattributed"] == pytest.approx(0, abs=tolerance)
    drawn = GPU_STEP * GPU_STEPS
    assert board["total"] == pytest.approx(drawn, rel=0.005)
    assert board["job"] == pytest.approx(drawn * 0.75, abs=0.005 * drawn)
    assert board["other"] == pytest.approx(drawn * 0.25, abs=0.005 * drawn)
    for device in (cpu, board, energy["dram"]):
        parts = sum(device[part] for part in ("job", "other", "idle", "unattributed"))
        assert parts == pytest.approx(device["total"], rel=1e-9)
    lines = re.findall(r"(CPU packages|DRAM|GPUs): ([\d.]+) J = ([\d.]+) J this tree", text)
    assert {name: float(total) for name, total, _ in lines} == {
        name: pytest.approx(energy[key]["total"], abs=1e-3)
        for name, key in (("CPU packages", "cpu"), ("DRAM", "dram"), ("GPUs", "gpu"))}
    assert "does not add up" not in text
