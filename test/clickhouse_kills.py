"""Kills of a ClickHouse server, and of what pushes to it, at random moments: nothing is lost, nothing is there twice.

    .venv/bin/python test/clickhouse_kills.py REAL.sqlite [KILLS]
"""
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from clickhouse import Server

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from simulate_job import make_job  # noqa: E402

PROGRAM = str(ROOT / "build" / "gpu-tracker")
RANKS, ROWS = 4, 2500


def push(paths, server):
    return subprocess.Popen([PROGRAM, "push", *paths, server.url, "--patience", "600"], stderr=subprocess.DEVNULL)


def one_job(server, paths, job, chance, kills):
    """Push under `kills` kills; returns lost rows, and those that are there twice, before and after merging."""
    pusher = push(paths, server)
    for _ in range(kills):
        time.sleep(chance.uniform(0, 1.5))
        if chance.random() < 0.5:
            server.stop(signal.SIGKILL)
            server.start()
        else:
            pusher.kill()
            pusher.wait()
            pusher = push(paths, server)
    assert pusher.wait(900) == 0
    assert push(paths, server).wait(900) == 0
    count = f"SELECT count() - uniqExact(source, number), {RANKS * ROWS} - uniqExact(source, number) FROM samples WHERE job = '{job}'"
    twice, lost = map(int, server.ask(count).split())
    return lost, twice


def main():
    kills, done, lost, twice = int(sys.argv[2]) if len(sys.argv) > 2 else 10, 0, 0, 0
    chance = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        server = Server(f"{folder}/clickhouse")
        subprocess.run([PROGRAM, "push", "--init", server.url], check=True, capture_output=True)
        paths = make_job(sys.argv[1], f"{folder}/job", ranks=RANKS, rows=ROWS, job="unnamed")
        start = time.monotonic()
        while done < kills:
            job = f"kills{done}"
            url, server.url = server.url, f"{server.url}/{job}"
            missing, doubled = one_job(server, paths, job, chance, min(4, kills - done))
            server.url = url
            done, lost, twice = done + 4, lost + missing, twice + doubled
            print(f"{done} kills, {time.monotonic() - start:.0f} s: {lost} rows lost, {twice} twice", flush=True)
        server.stop()
    return 1 if lost or twice else 0


if __name__ == "__main__":
    sys.exit(main())
