"""Folders with a recording of each rank of a job, made by hand from one real recording, so that their figures are known."""
import random
import shutil
import sqlite3
import subprocess

BEGIN = 1790000040  # the begin of a minute


class JobFolder:
    """`ranks` recordings of `seconds` samples, a second apart, `per_node` on a node."""

    def __init__(self, gpu_tracker, folder, ranks, seconds=60, per_node=8, seed=1):
        self.folder, self.ranks, self.seconds, self.random = folder, ranks, seconds, random.Random(seed)
        folder.mkdir()
        base = folder.parent / f"base-{folder.name}.sqlite"
        subprocess.run([gpu_tracker, "run", "--no-history", "--tf", base, "--", "true"], check=True, stderr=subprocess.DEVNULL)
        for rank in range(ranks):
            shutil.copy(base, self.path(rank))
            self.change(rank, self.begin, rank, per_node)

    def path(self, rank):
        return self.folder / f"{rank}.sqlite"

    def change(self, rank, how, *arguments):
        database = sqlite3.connect(self.path(rank))
        database.executescript("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY;")
        how(database, *arguments)
        database.commit()
        database.close()

    def run(self, rank, sql, rows=None):
        """Runs one statement, for each of the rows where there are some."""
        self.change(rank, lambda database: database.execute(sql) if rows is None else database.executemany(sql, rows))

    def begin(self, database, rank, per_node):
        node = rank // per_node
        database.execute("UPDATE static_data SET job = 'c:42.0', launcher = 'srun', rank = ?, world_size = ?, pid = ?, node = ?,"
                         " node_name = ?, start = ?, period = 1, clock_error = 0.001, scheduler = 'slurm'",
                         (rank, self.ranks, 1000 + rank, f"boot-{node}", f"n{node}", BEGIN))
        database.execute("UPDATE outcome SET value = ? WHERE key IN ('elapsed', 'samples')", (self.seconds,))
        database.execute("UPDATE outcome SET value = 0 WHERE key = 'missed'")
        for table in ("data", "minutes"):
            database.execute(f"DELETE FROM {table}")
        database.executemany("INSERT INTO data (timestamp, cpu_combined_sum_utilization_percent, combined_ram) VALUES (?, ?, 1)",
                             [(BEGIN + i + 0.5, 100 * self.random.gauss(1, 0.03)) for i in range(self.seconds)])

    def slow(self, rank, factor):
        self.run(rank, f"UPDATE data SET cpu_combined_sum_utilization_percent = {factor} * cpu_combined_sum_utilization_percent")

    def blocks(self, rank, lengths, process=lambda i: 7, name="step"):
        """A block of each of these lengths, one in each second, call i of process(i)."""
        self.run(rank, 'CREATE TABLE IF NOT EXISTS blocks ("process_id" INTEGER, "code_block_name" VARCHAR, "position" INTEGER,'
                       ' "timestamp" FLOAT, "thread_id" INTEGER, "call" INTEGER, "total" INTEGER, "monotonic" FLOAT, "cpu_time" FLOAT)')
        self.run(rank, "INSERT INTO blocks VALUES (?, ?, ?, ?, 1, ?, NULL, ?, NULL)",
                 [(process(i), name, position, BEGIN + i + position * length, i + 1, i + position * length)
                  for i, length in enumerate(lengths) for position in (0, 1)])

    def ranks_below(self, recording, first, cpu_times):
        """Ranks from `first` on below the tracker, by what each used; process 7 is the first of the first."""
        names = ("rank", "local_rank", "world_size", "launcher", "pid", "processes", "cpu_time", "ram_peak", "cpu_energy", "gpus")
        self.run(recording, f"CREATE TABLE ranks ({', '.join(names)})")
        self.run(recording, f"INSERT INTO ranks VALUES ({', '.join('?' * len(names))})",
                 [(first + i, i, 2 * len(cpu_times), "torchrun", 7 + i, 1, cpu_time, (i + 1) * 1e8, 5, "")
                  for i, cpu_time in enumerate(cpu_times)])

    def gpus(self, rank, *devices):
        """Each GPU is a function from the number of a sample to its metrics: {"gpu_clock": 1e9}."""
        names = sorted(devices[0](0))
        self.run(rank, f"CREATE TABLE gpu_data (timestamp FLOAT, device INTEGER, {', '.join(names)})")
        self.run(rank, "INSERT INTO gpu VALUES (?, ?, 'H', 'nvidia', 1, 1)",
                 [(device, f"GPU-{rank}-{device}") for device in range(len(devices))])
        self.run(rank, f"INSERT INTO gpu_data VALUES (?, ?{', ?' * len(names)})",
                 [(BEGIN + i + 0.5, device, *(of(i)[name] for name in names))
                  for i in range(self.seconds) for device, of in enumerate(devices)])
