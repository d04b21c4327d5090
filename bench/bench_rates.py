"""What sampling one sleeping process costs at other rates, start and end included: by the tracker's own account, and of a C loop
that does nothing but the kernel's reads."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from measure import BUILD, GPU_TRACKER, Tree, machine, table

SECONDS = 5


def tracked(period, folder):
    report = pathlib.Path(folder) / "report.json"
    line = [GPU_TRACKER, "run", "--disable-logs", "--output", report, "--sleep-time", str(period), "--"]
    subprocess.run([*line, "sleep", str(SECONDS)], check=True, stderr=subprocess.DEVNULL)
    return json.loads(report.read_text())["tracker"]


def read_alone(period, pid):
    """CPU seconds for a sample."""
    with tempfile.TemporaryFile("w+") as output:
        line = [BUILD / "bench/bench_floor", str(pid), str(period), "machine"]
        process = subprocess.Popen(line, stdout=output)
        time.sleep(SECONDS)
        process.send_signal(signal.SIGINT)
        _, _, usage = os.wait4(process.pid, 0)
        output.seek(0)
        return (usage.ru_utime + usage.ru_stime) / len(output.readlines())


def main():
    print(f"One process, by sampling period. {machine()}\n")
    rows = []
    with tempfile.TemporaryDirectory() as folder, Tree(1) as pid:
        for period in (1, 0.1, 0.01, 0.001):
            cost = tracked(period, folder)
            rows.append([period, cost["samples"], cost["missed"], f"{cost['cpu_time'] / cost['samples'] * 1e6:,.0f}",
                         f"{read_alone(period, pid) * 1e6:,.0f}", f"{cost['core_percent']:.2f}",
                         f"{cost['slowest_sample'] * 1e3:.2f}"])
    table(["period s", "samples", "missed", "CPU us per sample", "C loop", "% of a core", "slowest sample ms"], rows)


main()
