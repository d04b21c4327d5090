"""Reports of a job's folder: time and memory by the number of recordings, which are made from one real one.

Each rank is moved by a part of a period and has noise of a page in each of its samples; one rank in the middle works less, by
which the report is checked.
"""
import argparse
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from measure import GPU_TRACKER, machine, table

RANKS_OF_A_NODE = 8
WORK = "import time; data = bytearray(20 << 20)\nfor _ in range(40):\n  t = time.process_time()\n" \
       "  while time.process_time() < t + 0.02: pass\n  time.sleep(0.08)"


def record(path):
    environment = {**os.environ, "GPU_TRACKER_JOB": "bench", "PMI_RANK": "0", "PMI_SIZE": "1"}
    subprocess.run([GPU_TRACKER, "run", "--no-history", "--st", "0.1", "--tf", path, "--", sys.executable, "-c", WORK],
                   env=environment, check=True, stderr=subprocess.DEVNULL)


def add_rank(source, folder, number, count):
    path = folder / f"{number}.sqlite"
    shutil.copy(source, path)
    database = sqlite3.connect(path)
    node, late, page = number // RANKS_OF_A_NODE, random.random() * 0.1, 4096e-9
    database.execute("PRAGMA synchronous = OFF")
    database.execute("UPDATE static_data SET rank = ?, pid = ?, node = ?, node_name = ?, world_size = ?, start = start + ?",
                     (number, 1000 + number, str(node), f"n{node}", count, late))
    database.executemany("UPDATE data SET timestamp = timestamp + ?, combined_ram = combined_ram + ? WHERE rowid = ?",
                         [(late, random.randrange(8) * page, row) for row, in
                          database.execute("SELECT rowid FROM data").fetchall()])
    factor = 0.5 if number == count // 2 else random.uniform(0.99, 1.01)
    database.execute("UPDATE final SET value = value * ? WHERE scope = 'combined' AND metric = 'cpu_time'", (factor,))
    database.commit()
    database.close()


QUESTIONS = (("report",), ("report", "--heat", "ram"), ("profile", "utilization"), ("profile", "stragglers"), ("profile", "health"))


def measure(question, folder, count):
    before = os.times()
    process = subprocess.Popen([GPU_TRACKER, *question, folder, "-f", "summary" if question == ("report",) else "json"],
                               stdout=subprocess.PIPE, text=True)
    answer = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0 and (question != ("report",) or f"rank {count // 2} on" in answer), answer
    return os.times().elapsed - before.elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts", nargs="*", type=int, default=[100, 300, 1000], help="numbers of recordings")
    rows = []
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        record(place / "one.sqlite")
        for count in parser.parse_args().counts:
            folder = place / str(count)
            folder.mkdir()
            for number in range(count):
                add_rank(place / "one.sqlite", folder, number, count)
            for question in QUESTIONS:
                elapsed, cpu, memory = measure(question, folder, count)
                rows.append([str(count), " ".join(question), f"{elapsed:.2f}", f"{cpu:.2f}", f"{memory:.0f}"])
            shutil.rmtree(folder)
    print(machine())
    table(["recordings", "question", "seconds", "CPU seconds", "MiB"], rows)


if __name__ == "__main__":
    main()
