#!/usr/bin/env python3
"""Prove that outputs did not change: run every command and analysis on stored inputs, and compare a hash of each output.

    make replay                        all outputs; the names of those that differ, and where to see the difference
    make replay-accept NAMES='a b*'    keep the hashes of these outputs (shell patterns); '*': of all
    make replay-short                  one input of each kind, as in make test
    make replay-cost                   instructions and calls of the expensive builders by analysis (valgrind)

Hashes are in test/replay/hashes. The output itself lies in build/replay/now, and that of the last run that agreed with its hash in
build/replay/good: the difference of the two is shown. Inputs are the fixtures of the tests, the recordings of test/replay/recordings, and
jobs that are generated from seeds. Nothing is measured, so the clock, PIDs and the machine do not matter; the version is replaced by V.
"""
import argparse
import concurrent.futures
import difflib
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test"))
HASHES = ROOT / "test/replay/hashes"
FORMATS = ("text", "json", "csv", "markdown", "html", "summary")
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", "NO_COLOR": "1", "CI": "1"}
BUILDERS = {"gt_gpu_launches", "gt_gpu_launch_list", "gt_gpu_steps_find", "gt_collectives_find", "gt_call_tree_open_of", "gt_loader_spans",
            "gt_ranks_find", "gt_late_ranks_find", "gt_steps_assign"}


def without_age(text):
    """Replace the time since the last sample of a recording, and what depends on its width: padding, and offsets in a page."""
    text, count = re.subn(rb" *(?:(?<=\d)|\b)(?: running|no news for [\d:]+)", b" no news for TIME", text)
    if count:
        text = re.sub(rb"(?m)^(gpu-tracker|[^<\n]{0,80}?) +[^<\n]*(?=, no news for TIME)", rb"\1 ...", text)
        text = re.sub(rb"\bk\d{4,}\b", b"kN", text)
    return text


class Replay:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.inputs, self.now, self.good = folder / "inputs", folder / "now", folder / "good"
        self.version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]

    # ---- inputs ----

    def prepare(self):
        """Everything that the commands read, below one folder in which they run."""
        shutil.rmtree(self.inputs, ignore_errors=True)
        shutil.copytree(ROOT / "test/replay/recordings", self.inputs)
        for name in "traces", "sub_track", "original":
            shutil.copytree(ROOT / "test/fixture" / name, self.inputs / name)
        subprocess.run([sys.executable, ROOT / "test/traced_job.py", self.inputs / "ranks", "--ranks", "4", "--steps", "20", "--launches",
                        "20"], check=True)
        self.make_job()

    def make_job(self):
        """A folder with a recording of each rank, from the stored one of a short run."""
        import job_folder

        class Job(job_folder.JobFolder):
            def __init__(self, base, folder, ranks):
                import random
                self.folder, self.ranks, self.seconds, self.random = folder, ranks, 60, random.Random(7)
                folder.mkdir()
                for rank in range(ranks):
                    shutil.copy(base, self.path(rank))
                    self.change(rank, self.begin, rank, 4)

        job = Job(self.inputs / "short.sqlite", self.inputs / "job", 8)
        job.slow(5, 1.4)
        for rank in range(8):
            job.blocks(rank, [0.5 + 0.02 * ((rank * 7 + i) % 5) for i in range(20)])
            job.gpus(rank, lambda i, rank=rank: {"gpu_utilization": 0.9 if rank != 3 else 0.01, "gpu_clock": 1.9e9, "gpu_power": 300.0})

    # ---- cases ----

    def cases(self, is_short=False):
        """Name and words of each output."""
        recordings = ["gpu.sqlite"] if is_short else ["gpu.sqlite", "gpu.csv", "before.sqlite", "short.sqlite", "failed.sqlite",
                                                      "killed.sqlite", "original/tracking.csv", "original/tracking.sqlite"]
        formats = ("json", "text") if is_short else FORMATS
        yield from self.reports(recordings, formats)
        yield from self.analyses(formats, is_short)
        yield from self.profiles(formats if is_short else ("text", "json", "csv", "html", "markdown"), is_short)
        yield from self.texts()

    def reports(self, recordings, formats):
        for name in recordings:
            for form in formats:
                yield f"report/{name}.{form}", ["report", name, "-f", form]
            for charts in ([], ["--charts", "memory,cpu"]):
                yield f"plot/{name}{''.join(charts[1:])}.svg", ["plot", name, *charts, "-o", "OUT.svg"]
            for seek in ([], ["--seek", "0.5"]):
                yield f"top/{name}{''.join(seek[1:])}", ["top", "--once", *seek, name]
            for kind in "slurm", "k8s", "pbs", "lsf", "docker":
                yield f"request/{name}.{kind}", ["report", "--request", kind, name]
        for form in formats:
            units = ["--ram-unit", "MiB", "--time-unit", "min", "--price", "0.2 EUR"]
            yield f"report/units.{form}", ["report", "gpu.sqlite", *units, "-f", form]
            yield f"report/two.{form}", ["report", "before.sqlite", "after.sqlite", "-f", form]
            yield f"report/job.{form}", ["report", "./job", "-f", form]
        yield "report/rules", ["report", "gpu.sqlite", "--fail-if", "memory>1MB", "--fail-if", "gpu<99%"]
        yield "report/heat", ["report", "./job", "--heat", "gpu_utilization"]
        yield "request/job", ["report", "--request", "slurm", "./job"]

    def analyses(self, formats, is_short):
        sub = ["--tf=sub_track/tracking-A.sqlite", "--stf=sub_track/blocks-A.csv"]
        for form in formats:
            yield f"analyze/after.{form}", ["analyze", "after.sqlite", "-f", form]
            yield f"analyze/calls.{form}", ["analyze", "gpu.sqlite", "--calls", "-f", form]
            yield f"analyze/job.{form}", ["analyze", "./job", "-f", form]
            yield f"sub-track/analyze.{form}", ["sub-track", "analyze", *sub, "-f", form]
            yield f"compare/two.{form}", ["compare", "before.sqlite", "after.sqlite", "--fail-if", "memory>+5%", "-f", form]
            yield f"compare/runs.{form}", ["compare", "a=before.sqlite", "a=after.sqlite", "b=gpu.sqlite", "b=before.sqlite", "-f", form]
        for statistic in () if is_short else ("min", "max", "p95"):
            yield f"compare/{statistic}", ["compare", "before.sqlite", "after.sqlite", "--stat", statistic]
        yield "sub-track/compare", ["sub-track", "compare", "-m", "A=sub_track/analyze-A.csv.json", "-m", "B=sub_track/analyze-B.json"]

    def profiles(self, formats, is_short):
        listed = subprocess.run([self.program, "help", "profile"], capture_output=True, text=True, check=True,
                                env={**ENVIRONMENT, "COLUMNS": "200"}).stdout
        names = re.findall(r"^  ([a-z_]+)(?: |$)", listed.partition("[ANALYSIS]:")[2].partition("Options:")[0], re.MULTILINE)
        assert len(names) > 20, names
        inputs = {"torch": "traces/torch.json.gz", "ranks": "ranks", "job": "./job"}
        for name in names:
            for key, path in inputs.items():
                for form in formats:
                    paths = [path, path] if name == "diff" else [path]
                    yield f"profile/{name}/{key}.{form}", ["profile", name, *paths, "-f", form]
        files = sorted(path.name for path in (ROOT / "test/fixture/traces").iterdir())
        files = [name for name in files if not name.endswith(".py") and "averages" not in name]
        for name in files[:4] if is_short else files:
            yield f"timeline/info/{name}", ["timeline", "info", f"traces/{name}", "-f", "json"]
            yield f"timeline/merge/{name}", ["timeline", "merge", f"traces/{name}", "-o", "OUT.json"]
            for suffix in "html", "collapsed", "sqlite":
                yield f"timeline/export/{name}.{suffix}", ["timeline", "export", f"traces/{name}", "-o", f"OUT.{suffix}"]
            for analysis in "functions", "operators", "allocations":
                yield f"profile/{analysis}/{name}", ["profile", analysis, f"traces/{name}"]
        yield "timeline/merge/all", ["timeline", "merge", "ranks", "gpu.sqlite", "-o", "OUT.json"]
        yield "timeline/merge/path", ["timeline", "merge", "ranks", "--critical-path", "-o", "OUT.json"]

    def texts(self):
        commands = ["execute", "run", "attach", "block", "report", "plot", "runs", "top", "analyze", "compare", "profile", "timeline merge",
                    "timeline info", "timeline export", "push", "serve", "doctor", "sub-track analyze", "sub-track combine",
                    "sub-track compare", "energy-relay", "schema", "completion", "man", "help"]
        yield "help/overview", ["--help"]
        for command in commands:
            yield f"help/{command}", ["help", *command.split()]
            if command != "execute":
                yield f"help/{command}.short", [*command.split(), "--help"]
        yield "man", ["man"]
        for shell in "bash", "zsh", "fish":
            yield f"completion/{shell}", ["completion", shell]
        for form in "text", "json", "csv":
            yield f"schema.{form}", ["schema", "-f", form]
        yield "push/tables", ["push", "--init", "--explain"]

    # ---- outputs ----

    def run(self, name, words):
        """Status, standard output and error, and the file OUT.*, with paths and the version replaced."""
        place = self.folder / "files" / name.replace("/", "@")
        written = [word for word in words if word.startswith("OUT.")]
        words = [f"{place}{word[3:]}" if word.startswith("OUT.") else word for word in words]
        done = subprocess.run([self.program, *words], cwd=self.inputs, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=120)
        parts = [f"status {done.returncode}\n".encode(), done.stdout, b"---- standard error\n", done.stderr]
        for word in written:
            path = pathlib.Path(f"{place}{word[3:]}")
            if path.exists():
                parts += [b"---- file\n", dump(path)]
                path.unlink()
        text = b"".join(parts).replace(str(place).encode(), b"OUT").replace(str(self.inputs).encode(), b"INPUTS")
        text = text.replace(self.version.encode(), b"V")
        return without_age(text)

    def run_all(self, cases):
        """The hash of each output; the outputs are written below `now`."""
        shutil.rmtree(self.now, ignore_errors=True)
        (self.folder / "files").mkdir(parents=True, exist_ok=True)
        hashes = {}

        def one(case):
            name, words = case
            text = self.run(name, words)
            path = self.now / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_name(path.name + ".out").write_bytes(text)
            return name, hashlib.sha256(text).hexdigest()[:16]

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            hashes.update(pool.map(one, cases))
        return hashes

    def keep_good(self, names):
        for name in names:
            to = self.good / f"{name}.out"
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.now / f"{name}.out", to)

    def difference(self, name, most=12):
        """The first changed lines of an output, against that of the last run that agreed."""
        before, after = self.good / f"{name}.out", self.now / f"{name}.out"
        if not before.exists():
            return ["  (no earlier output here: run make replay at the last commit first)"]
        lines = difflib.unified_diff(*(path.read_text(errors="replace").splitlines() for path in (before, after)), lineterm="", n=0)
        return ["  " + line[:160] for line in list(lines)[2:most + 2]]


def dump(path):
    if path.suffix == ".sqlite":
        with sqlite3.connect(path) as database:
            return "\n".join(database.iterdump()).encode("utf-8", "surrogateescape")
    return path.read_bytes()


def read_hashes():
    return dict(reversed(line.split(" ", 1)) for line in HASHES.read_text().splitlines()) if HASHES.exists() else {}


def write_hashes(hashes):
    HASHES.write_text("".join(f"{value} {name}\n" for name, value in sorted(hashes.items())))


def check(replay, is_short):
    cases = list(replay.cases(is_short))
    known, now = read_hashes(), replay.run_all(cases)
    same = [name for name in now if known.get(name) == now[name]]
    replay.keep_good(same)
    changed = [name for name in now if name in known and known[name] != now[name]]
    new = [name for name in now if name not in known]
    gone = [] if is_short else [name for name in known if name not in now]
    for name in changed:
        print(f"changed: {name}", *replay.difference(name), sep="\n")
    for title, names in ("new", new), ("gone", gone):
        for name in names:
            print(f"{title}: {name}")
    print(f"{len(same)} of {len(now)} outputs are the same; {len(changed)} changed, {len(new)} new, {len(gone)} gone")
    if changed or new or gone:
        print("make replay-accept NAMES='...' keeps a change")
    return bool(changed or new or gone)


def accept(replay, patterns):
    now, known = replay.run_all(list(replay.cases())), read_hashes()
    chosen = [name for name in set(now) | set(known) if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
    changed = [name for name in chosen if known.get(name) != now.get(name)]
    for name in chosen:
        known.pop(name, None)
        if name in now:
            known[name] = now[name]
    write_hashes(known)
    replay.keep_good([name for name in chosen if name in now])
    print(f"{len(changed)} of {len(chosen)} hashes changed")
    return not chosen


def cost(replay):
    """Instructions by analysis on the generated job, and how often functions that build its tables ran."""
    listed = [words for name, words in replay.cases() if name.startswith("profile/") and name.endswith("/ranks.json")]
    for words in listed:
        out = replay.folder / "callgrind.out"
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", replay.program, *words, "--threads", "1"],
                       cwd=replay.inputs, env=ENVIRONMENT, capture_output=True, check=False)
        text = out.read_text()
        total = int(re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)[1])
        names = dict(re.findall(r"\((\d+)\) (\S+)", text))
        calls = {}
        for number, count in re.findall(r"^cfn=\((\d+)\).*\ncalls=(\d+)", text, re.MULTILINE):
            name = names.get(number, "")
            if name in BUILDERS:
                calls[name] = calls.get(name, 0) + int(count)
        print(f"{words[1]:16} {total / 1e6:8.1f} M instructions  {json.dumps(dict(sorted(calls.items())))}", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["check", "short", "accept", "cost"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--program", default=str(ROOT / "build/gpu-tracker"))
    parser.add_argument("--folder", default=str(ROOT / "build/replay"))
    options = parser.parse_args()
    replay = Replay(options.program, pathlib.Path(options.folder))
    replay.prepare()
    if options.action == "accept":
        sys.exit(accept(replay, options.names))
    sys.exit(cost(replay) if options.action == "cost" else check(replay, options.action == "short"))


if __name__ == "__main__":
    main()
