"""What sampling one sleeping process costs at other rates, by the tracker's own account, start and end included."""
import json
import pathlib
import subprocess
import tempfile

from measure import GPU_TRACKER, machine, table


def main():
    print(f"One process, by sampling period. {machine()}\n")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        for period in (1, 0.1, 0.01, 0.001):
            line = [GPU_TRACKER, "run", "--disable-logs", "--output", report, "--sleep-time", str(period), "--"]
            subprocess.run([*line, "sleep", "5"], check=True, stderr=subprocess.DEVNULL)
            cost = json.loads(report.read_text())["tracker"]
            rows.append([period, cost["samples"], cost["missed"], f"{cost['cpu_time'] / cost['samples'] * 1e6:,.0f}",
                         f"{cost['core_percent']:.2f}", f"{cost['slowest_sample'] * 1e3:.2f}"])
    table(["period s", "samples", "missed", "CPU us per sample", "% of a core", "slowest sample ms"], rows)


main()
