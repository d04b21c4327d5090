#!/usr/bin/env python3
"""What a scrape costs: CPU time, bytes and time to the answer, beside the exporters of Prometheus that are on the path.

Debian's packages are prometheus-node-exporter (the machine) and prometheus-process-exporter (groups of processes); both also
start a service when installed, so `dpkg -x` into a folder on the path does as well.
"""
import contextlib
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

from measure import Tree, cpu_seconds, machine, status_bytes, table

GPU_TRACKER = pathlib.Path(__file__).resolve().parent.parent / "build" / "gpu-tracker"
SCRAPES = 20


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def scrape(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
        return answer.read()


@contextlib.contextmanager
def running(command, port):
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with contextlib.suppress(OSError):
                scrape(port)
                break
            time.sleep(0.05)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def measure(pids):
    """{port: (CPU us, ms to the answer, bytes, RSS MB) of a scrape}, all of them asked once a second, as servers ask."""
    begin, times = {port: cpu_seconds(pid) for port, pid in pids.items()}, {port: [] for port in pids}
    size = {}
    for _ in range(SCRAPES):
        second = time.monotonic()
        for port in pids:
            asked = time.monotonic()
            size[port] = len(scrape(port))
            times[port].append(time.monotonic() - asked)
        time.sleep(max(0, second + 1 - time.monotonic()))
    return {port: (f"{(cpu_seconds(pid) - begin[port]) / SCRAPES * 1e6:,.0f}",
                   f"{statistics.median(times[port]) * 1e3:.2f}", f"{size[port]:,}",
                   f"{status_bytes(pid, 'VmRSS') / 1e6:.0f}") for port, pid in pids.items()}


def candidates(folder, pid):
    """(name, command, port) of what can be measured here."""
    serve, every = [GPU_TRACKER, "serve", "--disable-logs", "--listen"], ["--sleep-time", "0.001"]
    ports = [free_port() for _ in range(6)]
    yield "gpu-tracker serve", [*serve, f"127.0.0.1:{ports[0]}", *every], ports[0]
    yield "gpu-tracker serve --all", [*serve, f"127.0.0.1:{ports[1]}", "--all", *every], ports[1]
    yield "gpu-tracker serve --pid", [*serve, f"127.0.0.1:{ports[2]}", "--pid", pid, *every], ports[2]
    yield "gpu-tracker serve --all, shared sample", [*serve, f"127.0.0.1:{ports[3]}", "--all", "--sleep-time", "3600"], \
        ports[3]
    if found := shutil.which("prometheus-process-exporter"):
        config = folder / "process.yml"
        config.write_text('process_names:\n  - name: "{{.Comm}}"\n    cmdline: [".+"]\n')
        yield ("process-exporter, by name",
               [found, "-config.path", config, "-web.listen-address", f"127.0.0.1:{ports[4]}"], ports[4])
    if found := shutil.which("prometheus-node-exporter"):
        yield "node_exporter", [found, f"--web.listen-address=127.0.0.1:{ports[5]}"], ports[5]


def main():
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for count in (1, 100):
            with Tree(count) as pid, contextlib.ExitStack() as stack:
                exporters = [(name, port, stack.enter_context(running(command, port)))
                             for name, command, port in candidates(pathlib.Path(folder), pid)]
                figures = measure({port: server for _, port, server in exporters})
                rows += [(count, name, *figures[port]) for name, port, _ in exporters]
    print("# A scrape\n\n" + machine() + "\n")
    table(["processes", "exporter", "CPU us per scrape", "ms to the answer", "bytes", "RSS MB"], rows)


if __name__ == "__main__":
    sys.exit(main())
