"""Recordings of a job of many ranks, made from a real one. No row is repeated: every rank has its own noise, of the size that the figures
of the real one have from row to row, for repeated rows would pack much better than real ones.

    .venv/bin/python bench/simulate_job.py REAL.sqlite FOLDER --ranks 1000 --rows 600
"""
import argparse
import itertools
import os
import pathlib
import random
import sqlite3

SECOND = 10**9


def shapes_of(database):
    """For each column of data: name, integer or not, and how it goes: None, "time", or first value and steps from row to row."""
    names = [row[1] for row in database.execute("PRAGMA table_info(data)")]
    integers = [row[2] == "INTEGER" for row in database.execute("PRAGMA table_info(data)")]
    rows = database.execute("SELECT * FROM data").fetchall()
    shapes = []
    for number, name in enumerate(names):
        values = [row[number] for row in rows if row[number] is not None]
        if name in ("timestamp", "monotonic"):
            shapes.append((name, False, "time", values[0], None))
        elif len(values) < 2:
            shapes.append((name, False, None, None, None))
        else:
            steps = [after - before for before, after in itertools.pairwise(values)]
            kind = "counter" if min(steps) >= 0 and any(steps) else "gauge"
            shapes.append((name, integers[number], kind, values, steps))
    return shapes


class Rank:
    def __init__(self, shapes, chance, start, period):
        self.shapes, self.chance, self.start, self.period = shapes, chance, start, period
        self.last = [shape[3][0] if shape[2] in ("counter", "gauge") else None for shape in shapes]

    def value(self, number, time):
        _, is_integer, kind, values, steps = self.shapes[number]
        chance = self.chance
        if kind is None:
            return None
        if kind == "time":
            return round(time if self.shapes[number][0] == "timestamp" else time - self.start + values, 6)
        if kind == "counter":
            self.last[number] += chance.choice(steps) * chance.uniform(0.5, 1.5)
        else:
            self.last[number] = chance.choice(values) * chance.uniform(0.98, 1.02)
        return int(self.last[number]) if is_integer else round(self.last[number], 9)

    def rows(self, count):
        for row in range(count):
            time = self.start + (row + self.chance.uniform(0, 0.05)) * self.period
            yield [self.value(number, time) for number in range(len(self.shapes))]


def mean_columns(database, shapes):
    """Columns that minutes have a mean of: the real recording's have."""
    names = ", ".join(f'count("{shape[0]}")' for shape in shapes)
    return [bool(count) for count in database.execute(f"SELECT {names} FROM minutes WHERE statistic = 'mean'").fetchone()]


def minutes_of(rows, time, has_mean):
    """The rows of the table of minutes. `time` is the column that has the moment."""
    statistics = {"mean": lambda values: sum(values) / len(values), "min": min, "max": max, "last": lambda values: values[-1]}
    for number, (minute, group) in enumerate(itertools.groupby(rows, key=lambda row: int(row[time] // 60))):
        group = list(group)
        columns = [[value for value in column if value is not None] for column in zip(*group)]
        for name, figure in statistics.items():
            yield [60 * minute, number, name, len(group), *(figure(values) if values and (mean or name == "last") else None
                                                            for values, mean in zip(columns, has_mean))]


def make_recording(real, path, shapes, rank, options):
    """A copy of the real recording without its rows, and with those of the rank."""
    pathlib.Path(path).unlink(missing_ok=True)
    chance = random.Random(f"{options.seed} {rank}")
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA synchronous=OFF")
    database.execute("BEGIN")
    database.execute("ATTACH ? AS real", (str(real),))
    node = rank // options.ranks_per_node
    for name, sql in database.execute("SELECT name, sql FROM real.sqlite_master WHERE type = 'table'").fetchall():
        database.execute(sql)
        is_empty = name in ("data", "minutes", "gpu_data", "process_data", "process", "blocks")
        database.execute(f"INSERT INTO {name} SELECT * FROM real.{name}{' WHERE 0' if is_empty else ''}")
    start = options.start + chance.uniform(0, 1)
    database.execute(
        "UPDATE static_data SET job = ?, launcher = 'srun', rank = ?, local_rank = ?, world_size = ?, node = ?, node_name = ?, host = ?,"
        " pid = ?, start = ?, period = ?",
        (options.job, rank, rank % options.ranks_per_node, options.ranks, f"00000000-0000-0000-0000-{node:012d}", f"n{node}", f"n{node}",
         1000 + rank, round(start, 6), options.period))
    places = ",".join("?" * len(shapes))
    rows = list(Rank(shapes, chance, start, options.period).rows(options.rows))
    database.executemany(f"INSERT INTO data VALUES ({places})", rows)
    time = [shape[0] for shape in shapes].index("timestamp")
    database.executemany(f"INSERT INTO minutes VALUES (?,?,?,?,{places})", minutes_of(rows, time, options.has_mean))
    if rank in options.dead:
        database.execute("DELETE FROM outcome")
        database.execute("DELETE FROM final")
    else:
        database.execute("UPDATE outcome SET value = ? WHERE key = 'samples'", (options.rows,))
        database.execute("UPDATE outcome SET value = ? WHERE key = 'elapsed'", (options.rows * options.period,))
        database.execute("UPDATE final SET value = value * ?", (chance.uniform(0.98, 1.02),))
    database.execute("COMMIT")
    database.execute("PRAGMA journal_mode=DELETE")
    database.close()


def make_job(real, folder, **given):
    options = argparse.Namespace(**{"ranks": 8, "rows": 100, "ranks_per_node": 8, "job": "sim:1", "seed": 1, "dead": (),
                                    "start": 1.7e9, "period": 0.1, **given})
    os.makedirs(folder, exist_ok=True)
    with sqlite3.connect(real) as database:
        shapes = shapes_of(database)
        options.has_mean = mean_columns(database, shapes)
    paths = []
    for rank in range(options.ranks):
        paths.append(str(pathlib.Path(folder) / f"{rank}.sqlite"))
        make_recording(real, paths[-1], shapes, rank, options)
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real")
    parser.add_argument("folder")
    for name, default in (("ranks", 8), ("rows", 600), ("ranks-per-node", 8), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--job", default="sim:1")
    options = vars(parser.parse_args())
    make_job(options.pop("real"), options.pop("folder"), **options)


if __name__ == "__main__":
    main()
